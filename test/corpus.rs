//! Whole models: every graph of `test/models` is read, printed and read again, and computes what eager PyTorch computed, at every level and as
//! machine code.
//!
//! `expected.json` beside the graphs says how inputs are made and what comes out. A graph that draws random numbers has no expected values:
//! what its levels compute is held against what the graph computes.

use rinductor::driver::model::Model;
use rinductor::driver::reference::{self, Argument};
use rinductor::driver::session::Dialects;
use rinductor::driver::{inputs, pipelines};
use rinductor::ir::{Ir, Op};
use rinductor::pass::OpInfos;
use rinductor::pass::manager::{Config, Manager, Sink};
use rinductor::pass::pipeline::{self, Pipeline, Step};
use rinductor::runtime::compare::{Summary, compare_tensors, read_expected};
use rinductor::support::diag::render;
use rinductor::support::{Diagnostic, Severity, SourceMap};
use rinductor::text::{ParseOptions, PrintOptions, parse, print};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Tolerances between two levels of a graph without expected values: relative to an element, and to the greatest element of its tensor, since
/// sums are taken in another order and what cancels leaves an error of the size of what was added.
const RTOL: f64 = 1e-4;
const RTOL_OF_GREATEST: f64 = 1e-5;

fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("test/models")
}

/// All graphs, the largest first, so that no thread is left with one at the end.
fn graphs() -> Vec<PathBuf> {
    let mut list = Vec::new();
    for model in std::fs::read_dir(models()).expect("the folder is in the repository") {
        let model = model.expect("it can be read").path();
        for file in std::fs::read_dir(&model).expect("it holds folders only") {
            let file = file.expect("it can be read").path();
            if file.extension().is_some_and(|e| e == "ir") {
                list.push(file);
            }
        }
    }
    list.sort_by_key(|f| std::cmp::Reverse(f.metadata().map_or(0, |m| m.len())));
    list
}

/// Runs `check` on every graph, on all processors; fails with what all of them say.
fn for_each_graph(check: fn(&Path, &Dialects) -> Result<(), String>) {
    let graphs = graphs();
    assert!(graphs.len() >= 36, "only {} graphs were found", graphs.len());
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let dialects = Dialects::builtin();
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(file) = graphs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(why) = check(file, &dialects) {
                        let name = file.strip_prefix(models()).unwrap_or(file).display().to_string();
                        wrong.lock().expect("no thread panics while it holds it").push(format!("{name}: {why}"));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no thread panics while it holds it");
    assert!(wrong.is_empty(), "{} of {} graphs:\n{}", wrong.len(), graphs.len(), wrong.join("\n"));
}

fn show(wrong: &[Diagnostic], sources: &SourceMap) -> String {
    render::render(wrong, sources, render::Style::Short, false)
}

/// Parses and verifies.
fn read(name: &str, text: &str, dialects: &Dialects) -> Result<Ir, String> {
    let mut sources = dialects.library.sources().clone();
    let id = sources.add(name, text)?;
    let (ir, wrong) = parse(&sources, id, &ParseOptions::new(&dialects.registry));
    let Some(mut ir) = ir.filter(|_| wrong.is_empty()) else { return Err(show(&wrong, &sources)) };
    let root = ir.module();
    let wrong = dialects.verify(&mut ir, root);
    if wrong.is_empty() { Ok(ir) } else { Err(show(&wrong, &sources)) }
}

/// Prints, reads what was printed, and prints that: the same text, and IR that verifies.
fn round_trip(ir: &Ir, what: &str, dialects: &Dialects) -> Result<Ir, String> {
    let print_and_read = |generic: bool| {
        let options = PrintOptions { generic, ..PrintOptions::default() };
        let first = print(ir, &dialects.registry, &options);
        let again = read(what, &first, dialects)?;
        let second = print(&again, &dialects.registry, &options);
        let differs = first.lines().zip(second.lines()).find(|(a, b)| a != b);
        match differs {
            Some((a, b)) => Err(format!("{what} is printed as\n{a}\nand after reading it as\n{b}")),
            None if first.len() != second.len() => Err(format!("{what} is printed again with another length")),
            None => Ok(again),
        }
    };
    print_and_read(true)?;
    print_and_read(false)
}

fn text_of(file: &Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|e| e.to_string())
}

#[test]
fn graphs_print_as_they_are_read() {
    for_each_graph(|file, dialects| {
        let ir = read("graph", &text_of(file)?, dialects)?;
        round_trip(&ir, "the graph", dialects).map(|_| ())
    });
}

#[derive(Default)]
struct Messages(RefCell<Vec<Diagnostic>>);

impl Sink for Messages {
    fn diagnostic(&self, d: Diagnostic) {
        if d.severity == Severity::Error {
            self.0.borrow_mut().push(d);
        }
    }
    fn text(&self, _: &str) {}
}

/// The steps of the `cpu` pipeline that lead to the loop level, and those that lead on to the kernel level.
fn halves() -> Result<[Pipeline; 2], String> {
    let mut sources = SourceMap::new();
    let id = sources.add("cpu", "cpu")?;
    let mut upper = pipeline::parse("cpu", id, &pipelines::catalog()).map_err(|d| d.message)?;
    let forms = |s: &Step| matches!(s, Step::Pass(p) if p.pass.name() == "form-kernels");
    let at = upper.steps.iter().position(forms).ok_or("the pipeline has no form-kernels")?;
    let lower = Pipeline { steps: upper.steps.split_off(at) };
    Ok([upper, lower])
}

fn lower(ir: &mut Ir, steps: &Pipeline, dialects: &Dialects) -> Result<(), String> {
    let (config, messages) = (Config { verify_each: true, ..Config::default() }, Messages::default());
    let failed = Manager::new(&dialects.registry, dialects, &config, &messages).run(ir, steps).is_err();
    if failed { Err(show(&messages.0.take(), dialects.library.sources())) } else { Ok(()) }
}

/// What runs a function: the interpreter, or machine code.
type Runner<'a> = &'a dyn Fn(&[Argument]) -> Result<Vec<Argument>, Diagnostic>;

/// What results are held against.
enum Reference {
    Expected(Box<Model>),
    /// Of a graph without expected values: its own results and arguments after the run, at the level of the graph.
    Graph {
        ir: Box<Ir>,
        func: Op,
        results: Vec<Argument>,
    },
}

impl Reference {
    fn of(file: &Path, ir: &Ir, dialects: &Dialects) -> Result<Reference, String> {
        let func = ir.lookup_symbol("forward").ok_or("there is no function @forward")?;
        let graphs = read_expected(&file.with_file_name("expected.json")).map_err(|e| e.to_string())?;
        if let Some(graph) = graphs.into_iter().find(|g| file.ends_with(&g.file)) {
            return Ok(Reference::Expected(Box::new(Model::new(ir, func, graph)?)));
        }
        let arguments = seeded(ir, func)?;
        let results = reference::run(ir, func, &arguments, &*dialects.library).map_err(|d| d.message)?;
        Ok(Reference::Graph { ir: Box::new(ir.clone()), func, results })
    }

    fn hold(&self, what: &str, run: Runner) -> Result<(), String> {
        let failed = |d: Diagnostic| format!("{what}: {}", d.message);
        let wrong = match self {
            Reference::Expected(model) => {
                let arguments = model.arguments()?;
                let results = run(&arguments).map_err(failed)?;
                model.judge(&arguments, &results)?.wrong
            }
            Reference::Graph { ir, func, results } => {
                let got = run(&seeded(ir, *func)?).map_err(failed)?;
                differences(results, &got)?
            }
        };
        if wrong.is_empty() { Ok(()) } else { Err(format!("{what}:\n  {}", wrong.join("\n  "))) }
    }
}

/// Arguments of the generator.
fn seeded(ir: &Ir, func: Op) -> Result<Vec<Argument>, String> {
    inputs::Callee::new(ir, func)?.arguments(&inputs::Source::Seed(7), &[])
}

fn differences(want: &[Argument], got: &[Argument]) -> Result<Vec<String>, String> {
    if want.len() != got.len() {
        return Ok(vec![format!("{} results, {} are expected", got.len(), want.len())]);
    }
    let mut wrong = Vec::new();
    for (i, pair) in want.iter().zip(got).enumerate() {
        match pair {
            (Argument::Tensor(want), Argument::Tensor(got)) => {
                let greatest = Summary::of(want).map_err(|e| e.to_string())?.max_abs;
                let d = compare_tensors(got, want, RTOL, RTOL_OF_GREATEST * greatest).map_err(|e| e.to_string())?;
                if d.beyond > 0 {
                    let (n, most) = (d.beyond, d.max_abs);
                    wrong.push(format!(
                        "result {i}: {n} elements differ, most by {most:e} (the greatest is {greatest:e})"
                    ));
                }
            }
            (Argument::Int(want), Argument::Int(got)) if want == got => {}
            (Argument::None, Argument::None) => {}
            (want, got) => wrong.push(format!("result {i} is {got:?}, expected {want:?}")),
        }
    }
    Ok(wrong)
}

#[test]
fn models_compute_what_pytorch_computes_at_every_level() {
    for_each_graph(|file, dialects| {
        let mut ir = read("graph", &text_of(file)?, dialects)?;
        let wanted = Reference::of(file, &ir, dialects)?;
        let interpret = |ir: &Ir, level: &str| {
            let func = ir.lookup_symbol("forward").ok_or_else(|| format!("the {level} level has no @forward"))?;
            wanted.hold(&format!("interpreted at the {level} level"), &|a| {
                reference::run(ir, func, a, &*dialects.library)
            })
        };
        interpret(&ir, "graph")?;
        let [upper, lower_half] = halves()?;
        lower(&mut ir, &upper, dialects)?;
        interpret(&round_trip(&ir, "the loop level", dialects)?, "loop")?;
        lower(&mut ir, &lower_half, dialects)?;
        let ir = round_trip(&ir, "the kernel level", dialects)?;
        interpret(&ir, "kernel")?;
        machine_code(&ir, &wanted)
    });
}

#[cfg(feature = "llvm")]
fn machine_code(ir: &Ir, wanted: &Reference) -> Result<(), String> {
    let compiled =
        rinductor::driver::compiled::Compiled::new(ir, "forward", Default::default()).map_err(|d| d.message)?;
    wanted.hold("as machine code", &|a| compiled.run(a))
}

/// Without LLVM there is no machine code.
#[cfg(not(feature = "llvm"))]
fn machine_code(_: &Ir, _: &Reference) -> Result<(), String> {
    Ok(())
}
