//! `rinductor-run`: runs a function of an IR file, compiled through LLVM or interpreted, and shows, writes or compares its results.

use super::args::{self, fail, flag, show};
use super::inputs::{self, Bindings, Source};
use super::reference::{self, Argument};
use super::{Io, opt, pipelines, session};
use crate::dialects::func;
use crate::ir::{Ir, Op};
use crate::pass::Level;
use crate::pass::manager::{Config, Manager};
use crate::pass::pipeline;
use crate::runtime::compare::{compare_named, compare_tensors};
use crate::runtime::exec::{self, Executable};
use crate::runtime::{Tensor, npz, safetensor};
use crate::support::diag::render::Style;
use crate::support::{Diagnostic, SourceMap};
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

fn command() -> Command {
    let value = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    args::common(Command::new("rinductor-run"))
        .about("Runs a function of an IR file at any level: compiled through LLVM, or interpreted")
        .override_usage("rinductor-run [OPTIONS] [INPUT]")
        .arg(Arg::new("input").value_name("INPUT").default_value("-").help("File to read; - for standard input"))
        .arg(
            value("inputs", "SOURCE", "Where the arguments come from: seed:N, a .npz, .npy or .safetensors file by argument name, or a .json file that describes them")
                .default_value("seed:0"),
        )
        .arg(value("graph", "ID", "Which graph of the .json file; by default the one whose file is the input"))
        .arg(value("outputs", "FILE", "Write the results to an .npz or .safetensors file"))
        .arg(
            value("compare", "EXPECTED", "Compare the results with an .npz or .safetensors file, or with a .json file; `expected` means that of --inputs")
        )
        .arg(value("rtol", "X", "Relative tolerance of --compare with tensors").default_value("1e-4").value_parser(clap::value_parser!(f64)))
        .arg(value("atol", "X", "Absolute tolerance of --compare with tensors").default_value("1e-5").value_parser(clap::value_parser!(f64)))
        .arg(flag("interpret", "Run the reference interpreter on what is read, at its own level"))
        .arg(value("backend", "NAME", "What runs kernels").default_value(BACKENDS[0]).value_parser(BACKENDS.to_vec()))
        .arg(
            value("threads", "N", "Threads that a kernel may use; 0 for as many as there are")
                .default_value("0")
                .value_parser(clap::value_parser!(usize)),
        )
        .arg(
            Arg::new("passes")
                .short('p')
                .long("pipeline")
                .action(ArgAction::Append)
                .value_name("PIPELINE")
                .help("Passes to run first, by text or by the name of a pipeline; above the kernel level `cpu` if not given"),
        )
        .arg(value("function", "NAME", "The function to run; the only public one if not given"))
        .arg(
            value("bind", "SYMBOL=N", "The value of a symbolic size, where the inputs do not say it; may be given several times")
                .action(ArgAction::Append),
        )
        .arg(
            value("repeat", "N", "Run N times more and show the median time")
                .value_parser(clap::value_parser!(u32).range(1..)),
        )
        .arg(flag("timing", "Show how long compilation took"))
}

/// The program. Gives its exit code: 1 when anything failed, or when results are not as expected.
pub fn main_run(args: &[String], io: &mut Io, cwd: &Path) -> i32 {
    let mut command = command();
    let (matches, style) = match args::start(&mut command, args, io, cwd) {
        Ok(started) => started,
        Err(code) => return code,
    };
    let mut sources = SourceMap::new();
    match run(&matches, &mut sources, style, io, cwd) {
        Ok((report, code)) => match opt::output("-", &report, cwd, style, io) {
            0 => code,
            failed => failed,
        },
        Err(Problem::Diagnostics(list)) => {
            show(&list, &sources, style, io);
            1
        }
        Err(Problem::Sentence(text)) => fail(text, style, io),
        Err(Problem::Shown) => 1,
    }
}

/// Why a run stopped.
enum Problem {
    /// Errors with places in the sources of the run.
    Diagnostics(Vec<Diagnostic>),
    /// An error without a place.
    Sentence(String),
    /// Already shown.
    Shown,
}

impl From<String> for Problem {
    fn from(text: String) -> Self {
        Problem::Sentence(text)
    }
}

impl From<Diagnostic> for Problem {
    fn from(d: Diagnostic) -> Self {
        Problem::Diagnostics(vec![d])
    }
}

fn text<'m>(matches: &'m ArgMatches, id: &str) -> Option<&'m str> {
    matches.get_one::<String>(id).map(String::as_str)
}

fn run(
    matches: &ArgMatches,
    sources: &mut SourceMap,
    style: Style,
    io: &mut Io,
    cwd: &Path,
) -> Result<(String, i32), Problem> {
    let dialects = session::Dialects::load(matches, cwd, sources).map_err(Problem::Diagnostics)?;
    let file = text(matches, "input").unwrap_or("-");
    let allow = matches.get_flag("allow-unregistered-dialect");
    let mut ir = session::read_one(file, cwd, io, &dialects, allow, sources).map_err(Problem::Diagnostics)?;
    let func = function(&ir, text(matches, "function"))?;
    let name = ir.symbol_name(func).unwrap_or_default().to_string();

    // Inputs are made from the types as they were read: passes keep the arguments.
    let spec = text(matches, "inputs").unwrap_or("seed:0");
    let source = inputs::read_source(spec, text(matches, "graph"), file, cwd)?;
    let mut bindings = Bindings::parse(&mut ir, matches.get_many::<String>("bind").into_iter().flatten())?;
    let signature = inputs::signature(&mut ir, func)?;
    let arguments = inputs::make(&mut ir, func, &signature, &source, &mut bindings)?;
    bindings.admit(&mut ir, func, &dialects.library).map_err(Problem::Diagnostics)?;
    let result_names = result_names(&ir, func);
    let visible = ir.attr_of(func, "aten.user_visible_outputs").and_then(|a| ir.as_ints(a));

    let interpret = matches.get_flag("interpret");
    let start = Instant::now();
    lower(&mut ir, matches, interpret, &dialects, sources, style, io)?;
    let passes = start.elapsed();
    let start = Instant::now();
    let interpreted = interpret || text(matches, "backend") == Some("interpret");
    let threads = matches.get_one::<usize>("threads").copied().unwrap_or(0);
    let mut program = Program::new(ir, &name, interpreted, threads)?;
    let compiling = start.elapsed();

    let results = program.run(&arguments, &dialects)?;
    let mut report = String::new();
    if matches.get_flag("timing") {
        let _ = writeln!(report, "passes {:.3} s, code {:.3} s", passes.as_secs_f64(), compiling.as_secs_f64());
    }
    let outputs = Outputs::new(&results, &result_names, &arguments, &signature, visible);
    let mut code = 0;
    match text(matches, "compare") {
        None if text(matches, "outputs").is_none() => report.push_str(&outputs.show()),
        None => {}
        Some(expected) => {
            let expected = if expected == "expected" { spec } else { expected };
            let wrong = compare(&outputs, expected, matches, &source, file, cwd)?;
            code = i32::from(!wrong.is_empty());
            for line in &wrong {
                let _ = writeln!(report, "{line}");
            }
            let verdict = if wrong.is_empty() { "agree with" } else { "do NOT agree with" };
            let _ = writeln!(report, "{} outputs {verdict} {expected}", outputs.named.len());
        }
    }
    if let Some(file) = text(matches, "outputs") {
        outputs.write(file, cwd)?;
    }
    if let Some(&n) = matches.get_one::<u32>("repeat") {
        let mut times = Vec::new();
        for _ in 0..n {
            let start = Instant::now();
            program.run(&arguments, &dialects)?;
            times.push(start.elapsed());
        }
        let _ = writeln!(report, "{}", median(times));
    }
    Ok((report, code))
}

/// The function to run.
fn function(ir: &Ir, name: Option<&str>) -> Result<Op, String> {
    let functions: Vec<Op> = ir.block_ops(ir.module_body()).filter(|&op| ir.is_op(op, func::FuncOp::NAME)).collect();
    let public = |&op: &Op| func::FuncOp(op).sym_visibility(ir) != Some("private");
    let names = || functions.iter().filter_map(|&f| ir.symbol_name(f)).collect::<Vec<_>>().join(", ");
    match name {
        Some(name) => {
            let found = functions.iter().find(|&&f| ir.symbol_name(f) == Some(name)).copied();
            found.ok_or_else(|| format!("there is no function '{name}'; there are: {}", names()))
        }
        None => match functions.iter().copied().filter(public).collect::<Vec<_>>()[..] {
            [only] => Ok(only),
            [] => Err("there is no function to run".into()),
            _ => Err(format!("there are several functions; --function=NAME says which to run: {}", names())),
        },
    }
}

/// Runs the passes that are asked for; without any, those that a compiled run needs.
fn lower(
    ir: &mut Ir,
    matches: &ArgMatches,
    interpret: bool,
    dialects: &session::Dialects,
    sources: &mut SourceMap,
    style: Style,
    io: &mut Io,
) -> Result<(), Problem> {
    let given: Vec<String> = matches.get_many::<String>("passes").into_iter().flatten().cloned().collect();
    let above_kernels = Level::of(ir, ir.module()) != Some(Level::Kernel);
    let texts = match given.is_empty() {
        false => given,
        true if !interpret && above_kernels => vec!["cpu".to_string()],
        true => return Ok(()),
    };
    let config = Config { verify_each: cfg!(debug_assertions), ..Config::default() };
    let mut steps = pipeline::Pipeline::default();
    for text in texts {
        let id = sources.add("<pipeline>", text.as_str())?;
        steps.steps.extend(pipeline::parse(&text, id, &pipelines::catalog()).map_err(Problem::from)?.steps);
    }
    let messages = session::Messages::default();
    let failed = Manager::new(&dialects.registry, dialects, &config, &messages).run(ir, &steps).is_err();
    show(&messages.0.take(), sources, style, io);
    if failed { Err(Problem::Shown) } else { Ok(()) }
}

/// Machine code for the kernels of a module, and the plan of its host function.
#[cfg(feature = "llvm")]
fn compile(ir: &Ir, name: &str) -> Result<Executable, Problem> {
    let code = crate::codegen::llvm::jit::CompiledKernels::compile(ir, &Default::default())?;
    Ok(Executable::new(ir, name, std::sync::Arc::new(code))?)
}

#[cfg(not(feature = "llvm"))]
fn compile(_: &Ir, _: &str) -> Result<Executable, Problem> {
    Err(Problem::Sentence(
        "this build has no LLVM: run with --backend=interpret, or build with the feature 'llvm'".into(),
    ))
}

/// What can run kernels in this build; the first is the default.
const BACKENDS: &[&str] = if cfg!(feature = "llvm") { &["llvm", "interpret"] } else { &["interpret"] };

/// Something that runs.
enum Program {
    Interpreted(Box<Ir>, Op),
    Compiled(Box<Executable>),
}

impl Program {
    fn new(ir: Ir, name: &str, interpreted: bool, threads: usize) -> Result<Program, Problem> {
        let func = ir.lookup_symbol(name).ok_or_else(|| format!("the passes removed the function '{name}'"))?;
        if interpreted {
            return Ok(Program::Interpreted(Box::new(ir), func));
        }
        if Level::of(&ir, ir.module()) != Some(Level::Kernel) {
            return Err(Problem::Sentence(
                "the passes leave ops above the kernel level, which only --interpret runs".into(),
            ));
        }
        compile(&ir, name).map(|e| Program::Compiled(Box::new(e.with_threads(threads))))
    }

    fn run(&mut self, arguments: &[Argument], dialects: &session::Dialects) -> Result<Vec<Argument>, Problem> {
        match self {
            Program::Interpreted(ir, func) => Ok(reference::run(ir, *func, arguments, &*dialects.library)?),
            Program::Compiled(executable) => {
                let arguments = arguments.iter().map(|a| match a {
                    Argument::Tensor(t) => Ok(exec::Argument::Tensor(t.clone())),
                    Argument::Int(n) => Ok(exec::Argument::Int(*n)),
                    Argument::None => Err("an argument is None".to_string()),
                });
                let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
                let results = executable.run(&arguments).map_err(|e| e.to_string())?;
                Ok(results
                    .into_iter()
                    .map(|r| match r {
                        exec::Returned::Tensor(t) => Argument::Tensor(t),
                        exec::Returned::Int(n) => Argument::Int(n),
                        exec::Returned::Nothing => Argument::None,
                    })
                    .collect())
            }
        }
    }
}

/// The names of the returned values, or `result0` and so on.
fn result_names(ir: &Ir, func: Op) -> Vec<String> {
    let last = ir.body(func).and_then(|b| ir.last_op(b));
    let values = last.map(|op| ir.operand_list(op)).unwrap_or_default();
    let mut names: Vec<String> = Vec::new();
    for (i, &v) in values.iter().enumerate() {
        let name = ir.value_name(v).map_or_else(|| format!("result{i}"), |n| n.replace('#', "_"));
        names.push(if names.contains(&name) { format!("result{i}") } else { name });
    }
    names
}

/// Results, and arguments that were changed.
struct Outputs {
    /// Results by position; None for one that is None.
    results: Vec<Option<Tensor>>,
    /// Results that are tensors, by name.
    named: Vec<(String, Tensor)>,
    /// All arguments that are tensors, by name, as they are after the run.
    arguments: Vec<(String, Tensor)>,
    /// Which results the user sees (`aten.user_visible_outputs`): the others may have any strides.
    visible: Option<Vec<i64>>,
}

impl Outputs {
    fn new(
        results: &[Argument],
        names: &[String],
        arguments: &[Argument],
        signature: &[inputs::Parameter],
        visible: Option<Vec<i64>>,
    ) -> Self {
        let tensor = |r: &Argument| match r {
            Argument::Tensor(t) => Some(t.clone()),
            Argument::Int(n) => Tensor::scalar(crate::scalar::Scalar::i64(*n)).ok(),
            Argument::None => None,
        };
        let results: Vec<Option<Tensor>> = results.iter().map(tensor).collect();
        let named = results.iter().zip(names).filter_map(|(r, n)| Some((n.clone(), r.clone()?))).collect();
        let arguments = arguments.iter().zip(signature).filter_map(|(a, s)| match a {
            Argument::Tensor(t) => Some((s.name.clone(), t.clone())),
            Argument::Int(_) | Argument::None => None,
        });
        Self { results, named, arguments: arguments.collect(), visible }
    }

    /// One line for each result.
    fn show(&self) -> String {
        let mut out = String::new();
        for (name, t) in &self.named {
            let values = t.to_vec::<f64>().unwrap_or_default();
            let shown: Vec<String> = values.iter().take(8).map(|v| format!("{v:.6}")).collect();
            let more = if values.len() > 8 { ", …" } else { "" };
            let _ = writeln!(out, "%{name}: {}{:?} = [{}{more}]", t.dtype(), t.sizes(), shown.join(", "));
        }
        out
    }

    fn write(&self, file: &str, cwd: &Path) -> Result<(), String> {
        let path = cwd.join(file);
        let tensors = self.named.iter().map(|(n, t)| (n.as_str(), t));
        match path.extension().and_then(|e| e.to_str()) {
            Some("npz") => npz::write_npz(&path, tensors).map_err(|e| e.to_string()),
            Some("safetensors") => safetensor::write_safetensors(&path, tensors).map_err(|e| e.to_string()),
            _ => Err(format!("--outputs: '{file}' is neither an .npz nor a .safetensors file")),
        }
    }
}

/// Compares the outputs: one sentence for each disagreement.
fn compare(
    outputs: &Outputs,
    expected: &str,
    matches: &ArgMatches,
    source: &Source,
    file: &str,
    cwd: &Path,
) -> Result<Vec<String>, String> {
    let number = |id: &str| matches.get_one::<f64>(id).copied().unwrap_or(0.0);
    if !expected.ends_with(".json") {
        let wanted = inputs::read_tensors(expected, cwd)?;
        if let ([(_, got)], [(name, want)]) = (&outputs.named[..], &wanted[..])
            && name == "arg0"
        {
            // A single tensor without a name.
            let d = compare_tensors(got, want, number("rtol"), number("atol")).map_err(|e| e.to_string())?;
            return Ok(if d.beyond > 0 {
                vec![format!("{} elements differ, most by {:e}", d.beyond, d.max_abs)]
            } else {
                vec![]
            });
        }
        return compare_named(&outputs.named, &wanted, number("rtol"), number("atol")).map_err(|e| e.to_string());
    }
    let read;
    let graph = match source {
        Source::Expected(graph) if text(matches, "inputs") == Some(expected) => graph,
        _ => {
            read = Box::new(inputs::expected_graph(expected, text(matches, "graph"), file, cwd)?);
            &read
        }
    };
    if graph.outputs.len() != outputs.results.len() {
        return Ok(vec![format!("{} results, {} are expected", outputs.results.len(), graph.outputs.len())]);
    }
    let mut wrong = Vec::new();
    for (i, (want, got)) in graph.outputs.iter().zip(&outputs.results).enumerate() {
        let list = match &outputs.visible {
            Some(visible) if !visible.contains(&(i as i64)) => want.check_values(got.as_ref()),
            _ => want.check(got.as_ref()),
        };
        wrong.extend(list.map_err(|e| e.to_string())?.into_iter().map(|w| format!("result {i}: {w}")));
    }
    for (name, want) in &graph.mutated_inputs {
        let got = outputs.arguments.iter().find(|a| a.0 == *name).map(|a| &a.1);
        let list = want.check(got).map_err(|e| e.to_string())?;
        wrong.extend(list.into_iter().map(|w| format!("argument {name} after the run: {w}")));
    }
    Ok(wrong)
}

/// `median 1.234 ms of 10 runs (least 1.1 ms)`.
fn median(mut times: Vec<Duration>) -> String {
    times.sort();
    let ms = |t: Duration| t.as_secs_f64() * 1e3;
    let n = times.len();
    let middle = (ms(times[(n - 1) / 2]) + ms(times[n / 2])) / 2.0;
    format!("median {middle:.3} ms of {n} runs (least {:.3} ms)", ms(times[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let times = [3, 1, 2, 10].map(Duration::from_millis).to_vec();
        assert_eq!(median(times), "median 2.500 ms of 4 runs (least 1.000 ms)");
    }
}
