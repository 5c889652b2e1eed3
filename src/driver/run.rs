//! `rinductor-run`: runs a function of an IR file, compiled through LLVM or C++, or interpreted, and shows, writes or compares its results.

use super::args::{self, flag, value};
use super::compiled::Compiled;
use super::inputs::{self, Callee, Source};
use super::model::Model;
use super::program::{self, Problem, Program};
use super::reference::{self, Argument};
use super::{Io, pipelines, schedule, session};
use crate::codegen::cpu::Cpu;
use crate::dialects::func;
use crate::ir::{Ir, Op};
use crate::pass::manager::Config;
use crate::pass::pipeline::Pipeline;
use crate::pass::{Level, level};
use crate::runtime::compare::{compare_named, compare_tensors};
use crate::runtime::{Tensor, npz, safetensor};
use crate::support::{Diagnostic, Severity};
use clap::{Arg, ArgAction, Command};
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

fn command() -> Command {
    args::remarks(args::common(Command::new("rinductor-run")))
        .about("Runs a function of an IR file at any level: compiled through LLVM or C++, or interpreted")
        .override_usage("rinductor-run [OPTIONS] [INPUT]")
        .arg(args::input())
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
        .arg(value("schedule", "FILE", "A schedule in the place of the passes whose decisions it says (docs/schedules.md)"))
        .arg(value("schedules", "FILE", "A file of rinductor-tune: kernels that it knows are computed as it says"))
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
        .arg(value("cache", "DIR", "Take what was compiled before from this folder, and keep there what is compiled"))
}

/// The program. Gives its exit code: 1 when anything failed, or when results are not as expected.
pub fn main_run(args: &[String], io: &mut Io, cwd: &Path) -> i32 {
    program::main(command(), args, io, cwd, &mut run)
}

fn run(program: &mut Program, io: &mut Io) -> Result<i32, Problem> {
    let (mut ir, part) = program.module(io)?;
    let func = function(&ir, program.text("function"))?;
    let name = ir.symbol_name(func).unwrap_or_default().to_string();

    // Inputs are made from the types as they were read: passes keep the arguments.
    let spec = program.text("inputs").unwrap_or("seed:0");
    let source = inputs::read_source(spec, program.text("graph"), program.input(), program.cwd)?;
    let symbols = program.matches.get_many::<String>("bind").into_iter().flatten();
    let symbols = symbols.map(|text| inputs::parse_binding(text)).collect::<Result<Vec<_>, _>>()?;
    let mut callee = Callee::new(&ir, func)?.advising("; --bind {}=N gives it one");
    let arguments = callee.arguments(&source, &symbols)?;
    callee.admit(&program.dialects.library)?;
    let comparison = Comparison::new(program, &ir, func, &source)?;
    let result_names = result_names(&ir, func);

    let interpret = program.matches.get_flag("interpret");
    let interpreted = interpret || program.text("backend") == Some("interpret");
    let cpu = if interpreted { Cpu::default() } else { Cpu::parse(program.text("backend").unwrap_or(BACKENDS[0]))? };
    let threads = program.matches.get_one::<usize>("threads").copied().unwrap_or(0);
    let texts = scheduled(passes(&ir, interpret, program), program)?;
    let text = program.sources.text(part).clone();
    let cache = if interpreted { None } else { kept::Kept::new(program, &text, &texts, &name, cpu) };
    let mut times = [Duration::ZERO; 2];
    let start = Instant::now();
    let executor = match cache.as_ref().and_then(|c| c.find(program)) {
        Some(compiled) => Executor::Compiled(Box::new(compiled.with_threads(threads))),
        None => {
            lower(&mut ir, &texts, program, io)?;
            times[0] = start.elapsed();
            Executor::new(ir, &name, (!interpreted).then_some(cpu), threads, cache.as_ref(), program)?
        }
    };
    times[1] = start.elapsed() - times[0];
    let [passes, compiling] = times;
    if let Some(cache) = cache {
        program.show(&cache.warnings(), io);
    }

    let results = executor.run(&arguments, &program.dialects)?;
    let mut report = String::new();
    if program.matches.get_flag("timing") {
        let _ = writeln!(report, "passes {:.3} s, code {:.3} s", passes.as_secs_f64(), compiling.as_secs_f64());
    }
    let outputs = named(&results, &result_names);
    let mut code = 0;
    if let Some(comparison) = comparison {
        let wrong = comparison.judge(&arguments, &results, &outputs)?;
        code = i32::from(!wrong.is_empty());
        for line in &wrong {
            let _ = writeln!(report, "{line}");
        }
        let verdict = if wrong.is_empty() { "agree with" } else { "do NOT agree with" };
        let _ = writeln!(report, "{} outputs {verdict} {}", outputs.len(), comparison.name);
    } else if program.text("outputs").is_none() {
        report.push_str(&show(&outputs));
    }
    if let Some(file) = program.text("outputs") {
        write(&outputs, file, program.cwd)?;
    }
    if let Some(&n) = program.matches.get_one::<u32>("repeat") {
        let mut times = Vec::new();
        for _ in 0..n {
            let start = Instant::now();
            executor.run(&arguments, &program.dialects)?;
            times.push(start.elapsed());
        }
        let _ = writeln!(report, "{}", median(times));
    }
    program.write("-", &report, io)?;
    Ok(code)
}

/// The function to run.
pub(super) fn function(ir: &Ir, name: Option<&str>) -> Result<Op, String> {
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

/// The texts of the passes that are asked for; without any, of those that a compiled run needs.
fn passes(ir: &Ir, interpret: bool, program: &Program) -> Vec<String> {
    let given: Vec<String> = program.matches.get_many::<String>("passes").into_iter().flatten().cloned().collect();
    let above_kernels = Level::of(ir, ir.module()) != Some(Level::Kernel);
    match given.is_empty() {
        true if !interpret && above_kernels => vec!["cpu".to_string()],
        _ => given,
    }
}

/// The passes with the schedules of the command line in their places.
fn scheduled(texts: Vec<String>, program: &Program) -> Result<Vec<String>, Problem> {
    let read = |name: &str| {
        let bytes = super::io::read_input(name, program.cwd, &mut std::io::empty())?;
        String::from_utf8(bytes).map_err(|_| format!("cannot read '{name}': it is not UTF-8"))
    };
    let mut out = texts;
    if let Some(file) = program.text("schedule") {
        let text = read(file)?;
        let with = |t: String| schedule::pipeline_with(&t, file, &text, &program.dialects);
        out = out.into_iter().map(with).collect::<Result<_, _>>()?;
    }
    if let Some(file) = program.text("schedules") {
        let text = read(file)?;
        let with = |t: String| schedule::pipeline_with_database(&t, file, &text);
        out = out.into_iter().map(with).collect::<Result<_, _>>()?;
    }
    Ok(out)
}

/// Runs passes.
fn lower(ir: &mut Ir, texts: &[String], program: &mut Program, io: &mut Io) -> Result<(), Problem> {
    if texts.is_empty() {
        return Ok(());
    }
    let mut pipeline = Pipeline::default();
    for text in texts {
        pipeline.steps.extend(pipelines::read("<pipeline>", text, &mut program.sources)?.steps);
    }
    let remarks = args::wanted_remarks(&program.matches)?;
    let statistics = program.text("statistics").map(|style| style == "json");
    let config = Config {
        verify_each: cfg!(debug_assertions),
        remarks: remarks.is_some(),
        statistics: statistics.is_some(),
        folder: program.cwd.to_path_buf(),
        ..Config::default()
    };
    let (mut said, counted) = pipelines::run_counting(ir, &pipeline, &program.dialects, &config)?;
    said.retain(|d| d.severity != Severity::Remark || remarks.as_ref().is_some_and(|r| r.is_match(&d.message)));
    program.show(&said, io);
    if let Some(json) = statistics {
        let text = if json { counted.json() } else { counted.table() };
        // An error stream that is closed takes no report.
        let _ = io.stderr.write_all(text.as_bytes());
    }
    Ok(())
}

/// What can run kernels in this build; the first is the default.
const BACKENDS: &[&str] = if cfg!(feature = "llvm") { &["llvm", "cpp", "interpret"] } else { &["cpp", "interpret"] };

mod kept {
    use super::{Compiled, Cpu, Diagnostic, Ir, Program};
    use crate::driver::cached::{self, Cached};
    use crate::runtime::cache::{Key, Settings};
    use crate::support::Severity;
    use crate::support::diag::Place;

    /// Where what is compiled is kept.
    pub struct Kept {
        cached: Cached,
        key: Key,
        cpu: Cpu,
    }

    impl Kept {
        /// As the command line says.
        pub fn new(program: &Program, text: &str, passes: &[String], function: &str, cpu: Cpu) -> Option<Kept> {
            let folder = program.cwd.join(program.text("cache")?);
            let cached = Cached::new(Settings::of(folder));
            let passes: Vec<&str> = passes.iter().map(String::as_str).collect();
            let key = cached::key(text, &passes, function, cpu, &program.dialects);
            Some(Kept { cached, key, cpu })
        }

        /// What was compiled before.
        pub fn find(&self, program: &Program) -> Option<Compiled> {
            let found = self.cached.find(&self.key, self.cpu, &program.dialects)?;
            Compiled::of(&found.ir, &found.name, std::sync::Arc::new(found.kernels))
                .map_err(|d| self.cached.cache().remove(&self.key, &d.message))
                .ok()
        }

        /// Compiles, and keeps what that gives.
        pub fn compile(&self, ir: &Ir, name: &str, program: &Program) -> Result<Compiled, Diagnostic> {
            let (compiled, objects) = Compiled::with_objects(ir, name, self.cpu)?;
            self.cached.keep(&self.key, ir, name, &objects, &program.dialects);
            Ok(compiled)
        }

        /// What the user should know.
        pub fn warnings(&self) -> Vec<Diagnostic> {
            let warning = |text| Diagnostic::new(Severity::Warning, Place::None, text);
            self.cached.cache().warnings().into_iter().map(warning).collect()
        }
    }
}

/// Something that runs.
enum Executor {
    Interpreted(Box<Ir>, Op),
    Compiled(Box<Compiled>),
}

impl Executor {
    fn new(
        ir: Ir,
        name: &str,
        cpu: Option<Cpu>,
        threads: usize,
        cache: Option<&kept::Kept>,
        program: &Program,
    ) -> Result<Executor, Problem> {
        let func = ir.lookup_symbol(name).ok_or_else(|| format!("the passes removed the function '{name}'"))?;
        let Some(cpu) = cpu else {
            return Ok(Executor::Interpreted(Box::new(ir), func));
        };
        // A function without ops is of every level.
        if !level::fits(&ir, ir.module(), Level::Kernel) {
            return Err("the passes leave ops above the kernel level, which only --interpret runs".to_string().into());
        }
        let compiled = match cache {
            Some(cache) => cache.compile(&ir, name, program)?,
            None => Compiled::new(&ir, name, cpu)?,
        };
        Ok(Executor::Compiled(Box::new(compiled.with_threads(threads))))
    }

    fn run(&self, arguments: &[Argument], dialects: &session::Dialects) -> Result<Vec<Argument>, Problem> {
        Ok(match self {
            Executor::Interpreted(ir, func) => reference::run(ir, *func, arguments, &*dialects.library)?,
            Executor::Compiled(compiled) => compiled.run(arguments)?,
        })
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

/// The results that are tensors or numbers, by name.
fn named(results: &[Argument], names: &[String]) -> Vec<(String, Tensor)> {
    let tensor = |r: &Argument| match r {
        Argument::Tensor(t) => Some(t.clone()),
        Argument::Int(n) => Tensor::scalar(crate::scalar::Scalar::i64(*n)).ok(),
        Argument::None => None,
    };
    results.iter().zip(names).filter_map(|(r, n)| Some((n.clone(), tensor(r)?))).collect()
}

/// One line for each result.
fn show(outputs: &[(String, Tensor)]) -> String {
    let mut out = String::new();
    for (name, t) in outputs {
        let values = t.to_vec::<f64>().unwrap_or_default();
        let shown: Vec<String> = values.iter().take(8).map(|v| format!("{v:.6}")).collect();
        let more = if values.len() > 8 { ", …" } else { "" };
        let _ = writeln!(out, "%{name}: {}{:?} = [{}{more}]", t.dtype(), t.sizes(), shown.join(", "));
    }
    out
}

fn write(outputs: &[(String, Tensor)], file: &str, cwd: &Path) -> Result<(), String> {
    let path = cwd.join(file);
    let tensors = outputs.iter().map(|(n, t)| (n.as_str(), t));
    match path.extension().and_then(|e| e.to_str()) {
        Some("npz") => npz::write_npz(&path, tensors).map_err(|e| e.to_string()),
        Some("safetensors") => safetensor::write_safetensors(&path, tensors).map_err(|e| e.to_string()),
        _ => Err(format!("--outputs: '{file}' is neither an .npz nor a .safetensors file")),
    }
}

/// What `--compare` asks for.
struct Comparison {
    /// Where it stands.
    name: String,
    wanted: Wanted,
    rtol: f64,
    atol: f64,
}

enum Wanted {
    /// A description of results.
    Model(Box<Model>),
    /// Tensors by name.
    Tensors(Vec<(String, Tensor)>),
}

impl Comparison {
    /// The comparison of the command line, if it has one, for a function as it was read.
    fn new(program: &Program, ir: &Ir, func: Op, source: &Source) -> Result<Option<Comparison>, String> {
        let inputs = program.text("inputs").unwrap_or("seed:0");
        let Some(name) = program.text("compare").map(|name| if name == "expected" { inputs } else { name }) else {
            return Ok(None);
        };
        let wanted = if name.ends_with(".json") {
            let graph = match source {
                Source::Expected(graph) if name == inputs => (**graph).clone(),
                _ => inputs::expected_graph(name, program.text("graph"), program.input(), program.cwd)?,
            };
            Wanted::Model(Box::new(Model::new(ir, func, graph)?))
        } else {
            Wanted::Tensors(inputs::read_tensors(name, program.cwd)?)
        };
        let number = |id: &str| program.matches.get_one::<f64>(id).copied().unwrap_or(0.0);
        Ok(Some(Comparison { name: name.to_string(), wanted, rtol: number("rtol"), atol: number("atol") }))
    }

    /// One sentence for each disagreement.
    fn judge(
        &self,
        arguments: &[Argument],
        results: &[Argument],
        outputs: &[(String, Tensor)],
    ) -> Result<Vec<String>, String> {
        let wanted = match &self.wanted {
            Wanted::Model(model) => return Ok(model.judge(arguments, results)?.wrong),
            Wanted::Tensors(wanted) => wanted,
        };
        if let ([(_, got)], [(name, want)]) = (outputs, &wanted[..])
            && name == "arg0"
        {
            // A single tensor without a name.
            let d = compare_tensors(got, want, self.rtol, self.atol).map_err(|e| e.to_string())?;
            return Ok(match d.beyond {
                0 => Vec::new(),
                n => vec![format!("{n} elements differ, most by {:e}", d.max_abs)],
            });
        }
        compare_named(outputs, wanted, self.rtol, self.atol).map_err(|e| e.to_string())
    }
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
