//! One graph through everything: what the interpreter makes of it at the graph level is what each later level and the machine code must give.

use crate::graph::{Argument, Built, Graph};
use rinductor::codegen::cpu::Cpu;
use rinductor::driver::compiled::Compiled;
use rinductor::driver::pipelines::catalog;
use rinductor::driver::reference;
use rinductor::driver::session::Dialects;
use rinductor::interp::rounding::Rounding;
use rinductor::interp::value::{Array, for_each_point};
use rinductor::interp::{Input, Output};
use rinductor::ir::{Ir, Op};
use rinductor::pass::OpInfos;
use rinductor::pass::manager::{Config, Manager, Sink};
use rinductor::pass::pipeline;
use rinductor::scalar::{DType, Kind, Scalar};
use rinductor::support::{Diagnostic, Severity, SourceMap};
use rinductor::text::{self, ParseOptions, PrintOptions};
use std::cell::RefCell;

/// How often a graph runs with random rounding: enough to see which digits count.
const ROUNDINGS: u64 = 5;

/// How often where a result is beyond what these say: of many elements, some have roundings that all fall alike.
const MORE_ROUNDINGS: u64 = 60;

/// How many times further than the random roundings are apart a result may lie.
const FACTOR: f64 = 6.0;

/// What a graph that is right gives.
pub enum Outcome {
    /// All levels agree on elements that were compared, of so many.
    Agrees { compared: u64, elements: u64 },
    /// The graph itself stops: an index out of range, a division by zero, sizes that an extern op refuses.
    Traps,
}

/// What the graph gives, and how far from it a right result may lie.
pub struct Reference {
    pub results: Vec<Array>,
    /// For each element of each result; None where anything is right.
    pub tolerance: Vec<Vec<Option<f64>>>,
    /// The arguments after the run: none may change.
    inputs: Vec<Vec<Scalar>>,
}

fn copies(arguments: &[Argument]) -> Vec<Input> {
    let copy = |a: &Array| {
        let out = Array::with_strides(a.dtype, &a.sizes, &a.strides).expect("it was made before");
        for_each_point(&a.sizes, |i| a.get(i).is_some_and(|v| out.set(i, v)));
        out
    };
    arguments
        .iter()
        .map(|a| match a {
            Argument::Int(n) => Input::Int(*n),
            Argument::Tensor(a) => Input::Tensor(copy(a)),
        })
        .collect()
}

fn tensors(outputs: Vec<Output>) -> Vec<Array> {
    let tensor = |o| match o {
        Output::Tensor(a) => a,
        Output::Int(n) => Array::scalar(Scalar::i64(n)),
        Output::None => Array::scalar(Scalar::bool(false)),
    };
    outputs.into_iter().map(tensor).collect()
}

fn elements(inputs: &[Input]) -> Vec<Vec<Scalar>> {
    let list = |i: &Input| match i {
        Input::Tensor(a) => a.elements(),
        Input::Int(n) => vec![Scalar::i64(*n)],
    };
    inputs.iter().map(list).collect()
}

fn parts(s: Scalar) -> [f64; 2] {
    if s.dtype().is_complex() { [s.to_complex().re, s.to_complex().im] } else { [s.to_f64(), 0.0] }
}

fn distance(a: f64, b: f64) -> f64 {
    if a == b || a.is_nan() && b.is_nan() { 0.0 } else { (a - b).abs() }
}

fn scalar_distance(a: Scalar, b: Scalar) -> f64 {
    if a.dtype().kind() != Kind::Float && !a.dtype().is_complex() {
        return if a.to_bits() == b.to_bits() { 0.0 } else { f64::NAN };
    }
    let (a, b) = (parts(a), parts(b));
    let d = distance(a[0], b[0]).max(distance(a[1], b[1]));
    if distance(a[0], b[0]).is_nan() || distance(a[1], b[1]).is_nan() { f64::NAN } else { d }
}

/// The least that a right result may be off: a few units in the last place, also among numbers without full precision.
fn least(s: Scalar) -> f64 {
    let Some(epsilon) = s.dtype().real().epsilon() else { return 0.0 };
    let magnitude = parts(s).into_iter().filter(|x| x.is_finite()).fold(0.0, |m: f64, x| m.max(x.abs()));
    let tiny = match s.dtype().real() {
        DType::F64 => 1e-323,
        DType::F16 => 6e-8 * 2.0,
        DType::BF16 => 1e-40 * 2.0,
        _ => 3e-45 * 2.0,
    };
    4.0 * epsilon * magnitude + tiny
}

/// Runs the graph as it is.
///
/// # Errors
/// It stops.
pub fn reference(built: &Built, dialects: &Dialects) -> Result<Reference, String> {
    reference_of(built, dialects, ROUNDINGS)
}

fn reference_of(built: &Built, dialects: &Dialects, roundings: u64) -> Result<Reference, String> {
    let run = |rounding: Option<Rounding>| {
        let inputs = copies(&built.arguments);
        let outputs = reference::interpret(&built.ir, built.func, &inputs, &*dialects.library, rounding);
        outputs.map(|o| (tensors(o), elements(&inputs))).map_err(|d| d.message)
    };
    let (results, inputs) = run(None)?;
    let mut tolerance: Vec<Vec<Option<f64>>> =
        results.iter().map(|r| r.elements().into_iter().map(|e| Some(least(e))).collect()).collect();
    for seed in 0..roundings {
        let Ok((other, _)) = run(Some(Rounding::new(seed))) else {
            // Whether it stops depends on rounding.
            tolerance.iter_mut().flatten().for_each(|t| *t = None);
            break;
        };
        for ((result, other), tolerance) in results.iter().zip(&other).zip(&mut tolerance) {
            for ((a, b), t) in result.elements().into_iter().zip(other.elements()).zip(tolerance) {
                let d = scalar_distance(a, b);
                // NaN: one is infinite or no number, or they are no floats.
                *t = if d.is_finite() { t.map(|t| t.max(FACTOR * d)) } else { None };
            }
        }
    }
    // A number may round to infinity where the reference is near the end of the range, and the other way round.
    Ok(Reference { results, tolerance, inputs })
}

/// The first difference from the reference.
fn difference(reference: &Reference, now: &[Array]) -> Option<String> {
    if reference.results.len() != now.len() {
        return Some(format!("{} results, not {}", now.len(), reference.results.len()));
    }
    for (k, ((right, now), tolerance)) in reference.results.iter().zip(now).zip(&reference.tolerance).enumerate() {
        if right.dtype != now.dtype || right.sizes != now.sizes {
            return Some(format!("result {k} is {}{:?}, not {}{:?}", now.dtype, now.sizes, right.dtype, right.sizes));
        }
        let strides = |a: &Array| {
            // Where a dimension has one point or there are no elements, its stride says nothing.
            let some = a.sizes.iter().all(|&n| n > 0);
            let list = a.sizes.iter().zip(&a.strides);
            list.map(|(&n, &s)| if some && n > 1 { s } else { 0 }).collect::<Vec<_>>()
        };
        if strides(right) != strides(now) {
            return Some(format!("result {k} has strides {:?}, not {:?}", now.strides, right.strides));
        }
        for (i, ((a, b), t)) in right.elements().into_iter().zip(now.elements()).zip(tolerance).enumerate() {
            let Some(t) = t else { continue };
            let d = scalar_distance(a, b);
            if d.is_nan() || d > *t {
                let value = |s: Scalar| match s.dtype().kind() {
                    Kind::Float => format!("{:?}", s.to_f64()),
                    Kind::Complex => format!("{:?}", s.to_complex()),
                    _ => s.to_i64().to_string(),
                };
                return Some(format!(
                    "result {k}, element {i} ({}): {}, not {} (±{t:e})",
                    a.dtype(),
                    value(b),
                    value(a)
                ));
            }
        }
    }
    None
}

/// Errors that passes report.
#[derive(Default)]
struct Heard(RefCell<Vec<String>>);

impl Sink for Heard {
    fn diagnostic(&self, d: Diagnostic) {
        if d.severity == Severity::Error {
            self.0.borrow_mut().push(d.message);
        }
    }
    fn text(&self, _: &str) {}
}

fn forward(ir: &Ir) -> Option<Op> {
    ir.lookup_symbol("forward")
}

/// Runs the passes of a pipeline one by one, and the interpreter after each.
fn lower(ir: &mut Ir, passes: &str, built: &Built, reference: &Reference, dialects: &Dialects) -> Result<(), String> {
    let config = Config { verify_each: true, ..Config::default() };
    let heard = Heard::default();
    let mut manager = Manager::new(&dialects.registry, dialects, &config, &heard);
    let mut sources = SourceMap::new();
    let id = sources.add("passes", passes)?;
    let whole = pipeline::parse(passes, id, &catalog()).map_err(|d| d.message)?;
    for step in whole.steps {
        let one = pipeline::Pipeline { steps: vec![step] };
        let name = one.text();
        let tell = |what: String| format!("{name}: {what}");
        if manager.run(ir, &one).is_err() {
            return Err(tell(heard.0.take().join("; ")));
        }
        let func = forward(ir).ok_or_else(|| tell("@forward is gone".into()))?;
        let inputs = copies(&built.arguments);
        let now = reference::interpret(ir, func, &inputs, &*dialects.library, None).map_err(|d| tell(d.message))?;
        if let Some(what) = difference(reference, &tensors(now)) {
            return Err(tell(what));
        }
        if elements(&inputs) != reference.inputs {
            return Err(tell("an argument is changed".into()));
        }
    }
    Ok(())
}

/// Writes the IR and reads it back: what is compared from there on is what a file would hold.
fn through_text(ir: &Ir, dialects: &Dialects) -> Result<Ir, String> {
    let written = text::print(ir, &dialects.registry, &PrintOptions::default());
    let mut sources = SourceMap::new();
    let id = sources.add("forward.ir", written.as_str())?;
    let (read, wrong) = text::parse(&sources, id, &ParseOptions::new(&dialects.registry));
    let read = read.ok_or_else(|| format!("the text is not read: {}", wrong[0].message))?;
    if text::print(&read, &dialects.registry, &PrintOptions::default()) != written {
        return Err("the text reads as something else".into());
    }
    Ok(read)
}

/// Runs a graph through a pipeline.
///
/// # Errors
/// What is wrong.
pub fn check(graph: &Graph, passes: &str, dialects: &Dialects) -> Result<Outcome, String> {
    check_with(graph, passes, dialects, ROUNDINGS).or_else(|_| check_with(graph, passes, dialects, MORE_ROUNDINGS))
}

fn check_with(graph: &Graph, passes: &str, dialects: &Dialects, roundings: u64) -> Result<Outcome, String> {
    let built = graph.build(&dialects.library).ok_or("the graph cannot be built")?;
    let mut ir = through_text(&built.ir, dialects)?;
    let module = ir.module();
    if let Some(wrong) = dialects.verify(&mut ir, module).first() {
        return Err(format!("the graph does not verify: {}", wrong.message));
    }
    let Ok(reference) = reference_of(&built, dialects, roundings) else { return Ok(Outcome::Traps) };
    if elements(&copies(&built.arguments)) != reference.inputs {
        return Err("the interpreter changes an argument".into());
    }
    lower(&mut ir, passes, &built, &reference, dialects)?;
    let ir = through_text(&ir, dialects).map_err(|e| format!("after the passes: {e}"))?;
    let compiled = Compiled::new(&ir, "forward", Cpu::default()).map_err(|d| format!("machine code: {}", d.message))?;
    let arguments: Vec<reference::Argument> = copies(&built.arguments)
        .iter()
        .map(|i| match i {
            Input::Int(n) => Ok(reference::Argument::Int(*n)),
            Input::Tensor(a) => reference::to_tensor(a).map(reference::Argument::Tensor),
        })
        .collect::<Result<_, _>>()?;
    // Twice: what a run leaves behind must not matter.
    for _ in 0..2 {
        let results = compiled.run(&arguments).map_err(|d| format!("machine code: {}", d.message))?;
        let mut now = Vec::new();
        for r in &results {
            now.push(match r {
                reference::Argument::Tensor(t) => reference::to_array(t)?,
                reference::Argument::Int(n) => Array::scalar(Scalar::i64(*n)),
                reference::Argument::None => Array::scalar(Scalar::bool(false)),
            });
        }
        if let Some(what) = difference(&reference, &now) {
            return Err(format!("machine code: {what}"));
        }
    }
    let all = reference.tolerance.iter().flatten();
    Ok(Outcome::Agrees { compared: all.clone().filter(|t| t.is_some()).count() as u64, elements: all.count() as u64 })
}
