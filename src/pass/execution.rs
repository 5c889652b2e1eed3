//! `--check-execution`: what functions compute before and after each pass, compared element by element.

use crate::dialects::func;
use crate::ir::{Ir, Op};
use crate::support::{Diagnostic, Severity};
use std::any::Any;

/// Runs functions: the interpreter, handed in by who may know it.
pub trait Executor {
    /// Inputs for a function, the same for the same seed.
    ///
    /// # Errors
    /// No inputs can be made for its arguments.
    fn inputs(&self, ir: &Ir, func: Op, seed: u64) -> Result<Box<dyn Any>, Diagnostic>;

    /// What a function gives for inputs made by [`Executor::inputs`]: its results, then its arguments that it changed.
    ///
    /// # Errors
    /// It cannot be run.
    fn run(&self, ir: &Ir, func: Op, inputs: &dyn Any) -> Result<Vec<Output>, Diagnostic>;
}

/// One result.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Its name, `result 0`.
    pub name: String,
    /// The element type as the text spells it.
    pub dtype: String,
    /// Sizes.
    pub shape: Vec<usize>,
    /// The elements, in row-major order.
    pub elements: Elements,
}

/// The elements of an output.
#[derive(Clone, Debug, PartialEq)]
pub enum Elements {
    /// Integers and bools.
    Int(Vec<i64>),
    /// Floats.
    Float(Vec<f64>),
    /// Complex numbers: real and imaginary part.
    Complex(Vec<(f64, f64)>),
}

/// What a pipeline's functions compute, and whether that stays so.
pub struct Checker<'a> {
    executor: &'a dyn Executor,
    seed: u64,
    functions: Vec<Watched>,
}

struct Watched {
    name: String,
    inputs: Box<dyn Any>,
    outputs: Vec<Output>,
}

impl<'a> Checker<'a> {
    /// Runs every public function of the module. One that cannot be run is not watched: the warnings say so.
    pub fn new(executor: &'a dyn Executor, seed: u64, ir: &Ir) -> (Self, Vec<Diagnostic>) {
        let mut warnings = Vec::new();
        let mut functions = Vec::new();
        for (name, func) in public_functions(ir) {
            let first =
                executor.inputs(ir, func, seed).and_then(|inputs| Ok((executor.run(ir, func, &*inputs)?, inputs)));
            match first {
                Ok((outputs, inputs)) => functions.push(Watched { name, inputs, outputs }),
                Err(mut why) => {
                    why.severity = Severity::Warning;
                    why.message = format!("the execution of '{name}' is not checked: {}", why.message);
                    warnings.push(why);
                }
            }
        }
        (Self { executor, seed, functions }, warnings)
    }

    /// Runs the functions again after a pass.
    ///
    /// # Errors
    /// The first function that gives something else, with the output, element and both values.
    pub fn check(&mut self, ir: &Ir, pass: &str) -> Result<(), Diagnostic> {
        for watched in &mut self.functions {
            let place = |op: Option<Op>| op.map(|op| ir.place(ir.op(op).loc)).unwrap_or_default();
            let name = &watched.name;
            let Some((_, func)) = public_functions(ir).find(|f| f.0 == *name) else {
                return Err(Diagnostic::error(place(None), format!("'{pass}' removed the public function '{name}'")));
            };
            let outputs = self.executor.run(ir, func, &*watched.inputs).map_err(|why| {
                let message =
                    format!("'{pass}' changed what '{name}' computes: it ran before, and now fails: {}", why.message);
                Diagnostic { message, ..why }
            })?;
            if let Some(difference) = difference(&watched.outputs, &outputs) {
                return Err(Diagnostic::error(
                    place(Some(func)),
                    format!("'{pass}' changed what '{name}' computes (inputs of seed {}): {difference}", self.seed),
                ));
            }
            watched.outputs = outputs;
        }
        Ok(())
    }
}

/// The functions of the module that others may call and that have a body.
fn public_functions(ir: &Ir) -> impl Iterator<Item = (String, Op)> + '_ {
    ir.block_ops(ir.module_body()).filter_map(|op| {
        let func = func::FuncOp::cast(ir, op)?;
        let private = func.sym_visibility(ir) == Some("private");
        let has_body = !ir.blocks_of(func.body(ir)).is_empty();
        (has_body && !private).then(|| (func.sym_name(ir).to_string(), op))
    })
}

/// Relative tolerance for elements of a type: passes may reorder sums, and compute in a wider type in between.
fn tolerance(dtype: &str) -> f64 {
    match dtype {
        "f64" | "complex<f64>" => 1e-9,
        "f32" | "complex<f32>" => 1e-4,
        "f16" => 4e-3,
        "bf16" => 2e-2,
        _ => 0.13,
    }
}

/// The first difference between two lists of outputs, in words.
pub fn difference(before: &[Output], after: &[Output]) -> Option<String> {
    if before.len() != after.len() {
        return Some(format!("{} outputs before, {} after", before.len(), after.len()));
    }
    before.iter().zip(after).find_map(|(b, a)| output_difference(b, a))
}

fn output_difference(before: &Output, after: &Output) -> Option<String> {
    let name = &before.name;
    if before.dtype != after.dtype || before.shape != after.shape {
        let show = |o: &Output| format!("{}{:?}", o.dtype, o.shape);
        return Some(format!("{name} is {} before, {} after", show(before), show(after)));
    }
    let rtol = tolerance(&before.dtype);
    let unequal: Vec<usize> = match (&before.elements, &after.elements) {
        (Elements::Int(b), Elements::Int(a)) => unequal(b, a, |x, y| x == y),
        (Elements::Float(b), Elements::Float(a)) => {
            let scale = scale(b.iter().copied());
            unequal(b, a, |x, y| close(*x, *y, rtol, scale))
        }
        (Elements::Complex(b), Elements::Complex(a)) => {
            let scale = scale(b.iter().flat_map(|&(re, im)| [re, im]));
            unequal(b, a, |x, y| close(x.0, y.0, rtol, scale) && close(x.1, y.1, rtol, scale))
        }
        _ => return Some(format!("{name} has elements of another kind")),
    };
    let &first = unequal.first()?;
    let show = |o: &Output| match &o.elements {
        Elements::Int(v) => v[first].to_string(),
        Elements::Float(v) => format!("{:?}", v[first]),
        Elements::Complex(v) => format!("{:?}{:+?}i", v[first].0, v[first].1),
    };
    Some(format!(
        "{name}, element {:?}: {} before, {} after ({} of {} elements differ)",
        position(first, &before.shape),
        show(before),
        show(after),
        unequal.len(),
        before.shape.iter().product::<usize>()
    ))
}

fn unequal<T>(before: &[T], after: &[T], same: impl Fn(&T, &T) -> bool) -> Vec<usize> {
    before.iter().zip(after).enumerate().filter(|(_, (b, a))| !same(b, a)).map(|(i, _)| i).collect()
}

/// The largest finite magnitude: what cancels to almost nothing is judged by it.
fn scale(values: impl Iterator<Item = f64>) -> f64 {
    values.filter(|v| v.is_finite()).fold(0.0, |m, v| v.abs().max(m))
}

fn close(x: f64, y: f64, rtol: f64, scale: f64) -> bool {
    if x.is_nan() || y.is_nan() {
        return x.is_nan() && y.is_nan();
    }
    if x.is_infinite() || y.is_infinite() {
        return x == y;
    }
    (x - y).abs() <= rtol * x.abs().max(y.abs()) + 0.1 * rtol * scale
}

/// The index of element number `i` in a shape.
fn position(mut i: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (place, &size) in index.iter_mut().zip(shape).rev() {
        *place = i % size.max(1);
        i /= size.max(1);
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(values: &[f64]) -> Output {
        Output {
            name: "result 0".into(),
            dtype: "f32".into(),
            shape: vec![2, values.len() / 2],
            elements: Elements::Float(values.to_vec()),
        }
    }

    #[test]
    fn the_first_different_element_is_named() {
        let before = floats(&[1.0, f64::NAN, f64::INFINITY, 0.0]);
        assert_eq!(
            difference(std::slice::from_ref(&before), &[floats(&[1.00001, f64::NAN, f64::INFINITY, -0.0])]),
            None
        );
        assert_eq!(
            difference(std::slice::from_ref(&before), &[floats(&[1.0, f64::NAN, f64::NEG_INFINITY, 0.5])]).as_deref(),
            Some("result 0, element [1, 0]: inf before, -inf after (2 of 4 elements differ)")
        );
        assert_eq!(difference(&[before], &[]).as_deref(), Some("1 outputs before, 0 after"));
    }

    #[test]
    fn integers_are_exact_and_types_count() {
        let int = |dtype: &str, v: i64| Output {
            name: "result 1".into(),
            dtype: dtype.into(),
            shape: vec![],
            elements: Elements::Int(vec![v]),
        };
        assert_eq!(
            difference(&[int("i64", 1)], &[int("i64", 2)]).as_deref(),
            Some("result 1, element []: 1 before, 2 after (1 of 1 elements differ)")
        );
        assert_eq!(
            difference(&[int("i64", 1)], &[int("i32", 1)]).as_deref(),
            Some("result 1 is i64[] before, i32[] after")
        );
    }
}
