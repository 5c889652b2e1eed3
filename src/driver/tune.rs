//! `rinductor-tune`: tries schedules for each kernel of a module on this machine, and keeps the fastest in a file that compiles use.

mod space;

use super::args::{self, flag, value};
use super::compiled::Compiled;
use super::database::{Database, Found};
use super::inputs::{self, Callee, Source};
use super::program::{self, Problem, Program};
use super::reference::{self, Argument};
use super::session::Dialects;
use super::{Io, io, pipelines, schedule};
use crate::codegen::cpu::Cpu;
use crate::dialects::{func, kernels};
use crate::ir::{InsertPoint, Ir, Op, OpSpec};
use crate::pass::pipeline::Pipeline;
use crate::pass::{Level, OpInfos, PassContext};
use crate::passes::apply_schedule::{KernelStep, apply_to_kernel, is_plain, kernel_key};
use crate::passes::kernels_tile;
use crate::runtime::compare::compare_tensors;
use crate::support::Diagnostic;
use clap::{ArgAction, Command};
use space::Space;
use std::path::Path;
use std::time::{Duration, Instant};

/// The function that launches a kernel by itself.
const ALONE: &str = "rinductor_tune_alone";
/// Rounds of a first look, and of a comparison.
const ROUNDS: [usize; 2] = [5, 15];
/// A run that is measured takes at least so long, by repetition.
const LEAST: Duration = Duration::from_micros(200);
/// What is faster by less is not kept: it may be chance.
const GAIN: f64 = 0.97;
/// What a first look finds slower by so much is given up.
const HOPELESS: f64 = 1.2;

fn command() -> Command {
    args::common(Command::new("rinductor-tune"))
        .about("Tries schedules for each kernel of a module on this machine, and keeps the fastest in a file for --schedules")
        .override_usage("rinductor-tune [OPTIONS] INPUT --schedules=FILE")
        .arg(args::input())
        .arg(args::required(value("schedules", "FILE", "The file that what is found is put into; made if it is not there")))
        .arg(
            value("budget", "SECONDS", "How long to look, all kernels together")
                .default_value("60")
                .value_parser(clap::value_parser!(f64)),
        )
        .arg(
            value("candidates", "N", "How many schedules to try for a kernel")
                .default_value("200")
                .value_parser(clap::value_parser!(usize)),
        )
        .arg(value("seed", "N", "Which schedules are tried, and on which inputs").default_value("0").value_parser(clap::value_parser!(u64)))
        .arg(
            value("threads", "N", "Threads that a kernel may use; 0 for as many as there are")
                .default_value("0")
                .value_parser(clap::value_parser!(usize)),
        )
        .arg(value("kernel", "NAME", "Only this kernel; may be given several times").action(ArgAction::Append))
        .arg(flag("again", "Also kernels that the file has a schedule for"))
        .arg(
            value("bind", "SYMBOL=N", "The value of a symbolic size; may be given several times").action(ArgAction::Append),
        )
}

/// The program. Gives its exit code.
pub fn main_tune(args: &[String], io: &mut Io, cwd: &Path) -> i32 {
    program::main(command(), args, io, cwd, &mut run)
}

/// What is asked for.
struct Settings {
    seed: u64,
    candidates: usize,
    threads: usize,
    symbols: Vec<(String, i64)>,
    end: Instant,
}

fn run(program: &mut Program, io: &mut Io) -> Result<i32, Problem> {
    let start = Instant::now();
    let (ir, _) = program.module(io)?;
    let ir = untiled(ir, &program.dialects, &mut program.sources)?;
    let file = program.text("schedules").unwrap_or_default().to_string();
    let mut database = read(program, &file)?;
    let symbols = program.matches.get_many::<String>("bind").into_iter().flatten();
    let number = |id: &str| program.matches.get_one::<usize>(id).copied().unwrap_or(0);
    let budget = program.matches.get_one::<f64>("budget").copied().unwrap_or(60.0).clamp(0.0, 1e9);
    let settings = Settings {
        seed: program.matches.get_one::<u64>("seed").copied().unwrap_or(0),
        candidates: number("candidates"),
        threads: number("threads"),
        symbols: symbols.map(|text| inputs::parse_binding(text)).collect::<Result<_, _>>()?,
        end: start + Duration::from_secs_f64(budget),
    };
    let machine = schedule::machine();
    let only: Vec<&String> = program.matches.get_many::<String>("kernel").into_iter().flatten().collect();
    let again = program.matches.get_flag("again");
    let mut seen: Vec<String> = Vec::new();
    let mut todo: Vec<Op> = Vec::new();
    for kernel in ir.ops_named(ir.module(), kernels::FuncOp::NAME) {
        let (name, key) = (kernels::FuncOp(kernel).sym_name(&ir).to_string(), kernel_key(&ir, kernel));
        let wanted = only.is_empty() || only.iter().any(|n| **n == name);
        let known = !again && database.has(&key, &machine);
        if wanted && !known && is_plain(&ir, kernel) && !seen.contains(&key) {
            seen.push(key);
            todo.push(kernel);
        }
    }
    let mut left = todo.len() as u32;
    for kernel in todo {
        let now = Instant::now();
        // Each kernel gets its share of the time that is left.
        let share = settings.end.saturating_duration_since(now) / left.max(1);
        left -= 1;
        let name = kernels::FuncOp(kernel).sym_name(&ir).to_string();
        let line = match tune(&ir, kernel, &program.dialects, &settings, now + share) {
            Ok(tuned) => {
                let line = tuned.line(&name);
                if let Some(steps) = &tuned.steps {
                    let key = kernel_key(&ir, kernel);
                    let found = Found {
                        kernel: &key,
                        machine: &machine,
                        name: &name,
                        steps,
                        times: (tuned.best, tuned.untuned),
                    };
                    // Another run may have put its own there in the meantime.
                    database = read(program, &file)?;
                    database.put(&found);
                    program.write(&file, database.text(), io)?;
                }
                line
            }
            Err(d) => format!("@{name}: left as it is: {}\n", d.message),
        };
        program.write("-", line, io)?;
    }
    Ok(0)
}

fn read(program: &mut Program, file: &str) -> Result<Database, Problem> {
    let text = match std::fs::read_to_string(program.cwd.join(file)) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(e) => return Err(format!("cannot read '{file}': {}", io::plain(&e)).into()),
    };
    let dialects = program.dialects.clone();
    Ok(Database::read(file, &text, &dialects, &mut program.sources)?)
}

/// A module with the kernels that `kernels-tile` would be given.
fn untiled(mut ir: Ir, dialects: &Dialects, sources: &mut crate::support::SourceMap) -> Result<Ir, Vec<Diagnostic>> {
    if Level::of(&ir, ir.module()) == Some(Level::Kernel) {
        return Ok(ir);
    }
    let mut steps = pipelines::read("<pipeline>", "cpu", sources).map_err(|d| vec![d])?.steps;
    let end = steps.iter().position(|s| schedule::pass_name(s) == "kernels-tile").unwrap_or(steps.len());
    steps.truncate(end);
    pipelines::run(&mut ir, &Pipeline { steps }, dialects, false)?;
    Ok(ir)
}

/// What came of a kernel.
struct Tuned {
    /// The fastest schedule, if that is another than the automatic one.
    steps: Option<Vec<KernelStep>>,
    /// Microseconds of it.
    best: f64,
    /// Microseconds of the automatic one.
    untuned: f64,
    /// How many schedules ran.
    tried: usize,
}

impl Tuned {
    fn line(&self, name: &str) -> String {
        let Tuned { best, untuned, tried, .. } = self;
        match &self.steps {
            None => format!("@{name}: {untuned:.1} us, the best of {tried} others is no faster\n"),
            Some(steps) => {
                let steps: Vec<String> =
                    steps.iter().map(|s| s.to_string().replace("schedule.", "").replace("%k ", "")).collect();
                let how = if steps.is_empty() { "no steps".to_string() } else { steps.join("; ") };
                format!("@{name}: {untuned:.1} us -> {best:.1} us, the best of {tried}: {how}\n")
            }
        }
    }
}

/// A module that does nothing but launch one kernel.
fn alone(ir: &Ir, kernel: Op) -> Option<(Ir, Op)> {
    let mut ir = ir.clone();
    for op in ir.block_op_list(ir.module_body()) {
        if op != kernel {
            ir.erase(op);
        }
    }
    // The function takes what the kernel takes: symbols with their attributes too.
    let loc = ir.op(kernel).loc;
    let body = ir.body(kernel)?;
    let types: Vec<_> = ir.block_args(body).iter().map(|&v| ir.value_type(v)).collect();
    let names: Vec<_> = ir.block_args(body).iter().map(|&v| ir.value(v).name).collect();
    let ty = ir.function_type(&types, &[]);
    let mut props = vec![(ir.name("sym_name"), ir.string_attr(ALONE)), (ir.name("function_type"), ir.type_attr(ty))];
    if let Some(attrs) = ir.attr_of(kernel, "arg_attrs") {
        props.push((ir.name("arg_attrs"), attrs));
    }
    let (props, name) = (ir.make_dict(props), ir.name(func::FuncOp::NAME));
    let function = ir.create(OpSpec::named(name).props(props).regions(1).loc(loc), InsertPoint::After(kernel));
    let region = ir.regions_of(function)[0];
    let block = ir.add_block(region);
    let args: Vec<_> = types.iter().map(|&ty| ir.add_block_arg(block, ty)).collect();
    for (&arg, name) in args.iter().zip(names) {
        ir.set_value_name(arg, name);
    }
    let symbol = ir.symbol_name(kernel)?.to_string();
    let callee = ir.symbol_attr(&symbol);
    ir.create_op(kernels::LaunchOp::NAME, &args, &[], &[("callee", callee)], loc, InsertPoint::End(block));
    ir.create_op(func::ReturnOp::NAME, &[], &[], &[], loc, InsertPoint::End(block));
    Some((ir, function))
}

/// A schedule that runs.
struct Candidate {
    compiled: Compiled,
    arguments: Vec<Argument>,
}

impl Candidate {
    /// How long a run takes, in microseconds, when it is repeated so often.
    fn time(&self, repeat: u32) -> Result<f64, Diagnostic> {
        let start = Instant::now();
        for _ in 0..repeat {
            self.compiled.run(&self.arguments)?;
        }
        Ok(start.elapsed().as_secs_f64() * 1e6 / f64::from(repeat))
    }
}

fn tune(ir: &Ir, kernel: Op, dialects: &Dialects, settings: &Settings, end: Instant) -> Result<Tuned, Diagnostic> {
    let nowhere = |message: String| Diagnostic::error_nowhere(message);
    let (plain, function) = alone(ir, kernel).ok_or_else(|| nowhere("the kernel is malformed".into()))?;
    let inputs = arguments(&plain, function, settings).map_err(nowhere)?;
    let mut tiled = plain.clone();
    let before = kernels::axes_of(&tiled, kernel).unwrap_or_default();
    let mut cx = PassContext::new(&kernels_tile::PASS, dialects, false);
    kernels_tile::tile(&mut tiled, kernel, &kernels_tile::Options::default(), &mut cx)?;
    let after = kernels::axes_of(&tiled, kernel).unwrap_or_default();
    let automatic = schedule::difference(&mut tiled.clone(), &before, &after);

    let mut best = candidate(&tiled, &inputs, settings)?;
    best.compiled.run(&best.arguments)?;
    let expected = copies(&best.arguments).map_err(nowhere)?;
    let repeat = (LEAST.as_secs_f64() * 1e6 / best.time(1)?.max(0.1)).ceil().clamp(1.0, 10_000.0) as u32;
    let lanes = kernels_tile::host_vector_bytes() / 4;
    let mut result = Tuned { steps: None, best: median(&best, repeat)?, untuned: 0.0, tried: 0 };
    result.untuned = result.best;
    for steps in Space::of(&plain, kernel, lanes).candidates(&automatic, settings.seed, settings.candidates) {
        if Instant::now() >= end {
            break;
        }
        let mut other = plain.clone();
        let root = other.module();
        let legal = steps.iter().all(|step| apply_to_kernel(&mut other, kernel, step).is_ok());
        if !legal || !dialects.verify(&mut other, root).is_empty() {
            continue;
        }
        // What the emitter cannot say is no candidate.
        let Ok(other) = candidate(&other, &inputs, settings) else { continue };
        if other.compiled.run(&other.arguments).is_err() || !agree(&other.arguments, &expected) {
            continue;
        }
        result.tried += 1;
        let [look, rounds] = ROUNDS;
        let (mine, theirs) = interleaved(&other, &best, repeat, look)?;
        if mine > theirs * HOPELESS {
            continue;
        }
        let (mine, theirs) = interleaved(&other, &best, repeat, rounds)?;
        if mine < theirs * GAIN {
            (best, result.best, result.steps) = (other, mine, Some(steps));
        }
    }
    if result.steps.is_some() {
        // Both once more, side by side: what is written down was measured at one time.
        let untuned = candidate(&tiled, &inputs, settings)?;
        untuned.compiled.run(&untuned.arguments)?;
        (result.best, result.untuned) = interleaved(&best, &untuned, repeat, ROUNDS[1] * 2)?;
        if result.best >= result.untuned * GAIN {
            result.steps = None;
        }
    }
    Ok(result)
}

/// Arguments with which the kernel runs: whole numbers are 0 or 1, so that they can be indices.
fn arguments(ir: &Ir, function: Op, settings: &Settings) -> Result<Vec<Argument>, String> {
    let mut callee = Callee::new(ir, function)?.advising("; --bind {}=N gives it one");
    let source = Source::Mixed { tensors: Vec::new(), seed: settings.seed, range: Some((0.0, 1.0)) };
    callee.arguments(&source, &settings.symbols)
}

fn copies(arguments: &[Argument]) -> Result<Vec<Argument>, String> {
    arguments.iter().map(reference::copy).collect()
}

fn candidate(ir: &Ir, inputs: &[Argument], settings: &Settings) -> Result<Candidate, Diagnostic> {
    let compiled = Compiled::new(ir, ALONE, Cpu::default())?.with_threads(settings.threads);
    Ok(Candidate { compiled, arguments: copies(inputs).map_err(Diagnostic::error_nowhere)? })
}

/// Whether arguments that a kernel has written are as they must be.
fn agree(have: &[Argument], want: &[Argument]) -> bool {
    have.iter().zip(want).all(|pair| match pair {
        (Argument::Tensor(a), Argument::Tensor(b)) => {
            let (rtol, atol) = match a.dtype().bits() {
                bits if bits <= 16 && a.dtype().is_float() => (2e-2, 2e-2),
                _ => (1e-4, 1e-5),
            };
            compare_tensors(a, b, rtol, atol).is_ok_and(|d| d.beyond == 0)
        }
        _ => true,
    })
}

fn middle(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::INFINITY)
}

fn median(one: &Candidate, repeat: u32) -> Result<f64, Diagnostic> {
    (0..ROUNDS[1]).map(|_| one.time(repeat)).collect::<Result<Vec<_>, _>>().map(middle)
}

/// The medians of two, which take turns.
fn interleaved(a: &Candidate, b: &Candidate, repeat: u32, rounds: usize) -> Result<(f64, f64), Diagnostic> {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        first.push(a.time(repeat)?);
        second.push(b.time(repeat)?);
    }
    Ok((middle(first), middle(second)))
}
