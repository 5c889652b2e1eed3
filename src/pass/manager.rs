//! The manager: runs a pipeline over a module, with everything that happens around each pass.

use super::bisect::Bisect;
use super::dump::{self, ChangeStyle, DumpConfig};
use super::execution::{Checker, Executor};
use super::pipeline::{PassStep, Pipeline, Step};
use super::report::{Statistics, Timing};
use super::{Changed, OpInfos, PassContext, guard, level};
use crate::ir::registry::Registry;
use crate::ir::{Ir, Op};
use crate::support::{Diagnostic, Severity};
use crate::text::{PrintOptions, print, print_op};
use std::path::PathBuf;
use std::time::Instant;

/// Where messages and prints go.
pub trait Sink {
    /// A message.
    fn diagnostic(&self, diagnostic: Diagnostic);
    /// Text that is shown as it is.
    fn text(&self, text: &str);
}

/// What happens around each pass.
#[derive(Clone, Default)]
pub struct Config {
    /// Verify after each pass.
    pub verify_each: bool,
    /// What is printed.
    pub dump: DumpConfig,
    /// How.
    pub print: PrintOptions,
    /// How many executions of passes happen; see [`Bisect`].
    pub bisect_limit: Option<i64>,
    /// Whether anybody reads remarks.
    pub remarks: bool,
    /// Whether anybody reads counters.
    pub statistics: bool,
    /// Whether a failure keeps the IR that it happened on.
    pub keep_before: bool,
    /// Whether times are taken; ops are counted then.
    pub timing: bool,
    /// The folder that names of files in options of passes are relative to; that of the process if it is empty.
    pub folder: PathBuf,
}

/// A pass failed.
#[derive(Debug)]
pub struct Failure {
    /// One sentence.
    pub message: String,
    /// A pipeline that fails on `before`.
    pub pipeline: String,
    /// The printed module before the pass that failed, if it was kept.
    pub before: Option<String>,
}

/// Runs pipelines.
pub struct Manager<'a> {
    /// What the printer needs to know of ops.
    pub registry: &'a Registry,
    /// What passes need to know of ops.
    pub infos: &'a dyn OpInfos,
    /// What happens around each pass.
    pub config: &'a Config,
    /// Where messages go.
    pub sink: &'a dyn Sink,
    /// Runs functions before and after each pass, with inputs of a seed.
    pub executor: Option<(&'a dyn Executor, u64)>,
    /// Times taken so far.
    pub timing: Timing,
    /// Counters so far.
    pub statistics: Statistics,
    /// Which part of the input this is, if it has several: prints into a folder go into a folder of the part.
    pub part: Option<usize>,
    bisect: Bisect,
    executions: u64,
}

impl<'a> Manager<'a> {
    /// A manager; `sink` hears of everything at once.
    pub fn new(registry: &'a Registry, infos: &'a dyn OpInfos, config: &'a Config, sink: &'a dyn Sink) -> Self {
        Self {
            registry,
            infos,
            config,
            sink,
            executor: None,
            timing: Timing::default(),
            statistics: Statistics::default(),
            part: None,
            bisect: Bisect::new(config.bisect_limit),
            executions: 0,
        }
    }

    /// Runs a pipeline over the module of an IR, which has been verified.
    ///
    /// # Errors
    /// A pass failed or left IR that does not verify: the sink has heard why. The IR is not to be used further.
    pub fn run(&mut self, ir: &mut Ir, pipeline: &Pipeline) -> Result<Changed, Failure> {
        let mut checker = None;
        if let Some((executor, seed)) = self.executor {
            let (made, warnings) = Checker::new(executor, seed, ir);
            warnings.into_iter().for_each(|w| self.sink.diagnostic(w));
            checker = Some(made);
        }
        // The steps that are still to run, the next one last. A list instead of recursion, since it is also what `Failure` needs.
        let mut work = Vec::new();
        let mut changed = Changed::No;
        let mut number = 0;
        let root = ir.module();
        push_steps(&pipeline.steps, root, &mut number, &mut work);
        while let Some(Todo { step, op, number }) = work.pop() {
            if !ir.is_live(op) {
                continue;
            }
            match step {
                Step::Pass(step) => {
                    let targets = match step.pass.on() {
                        Some(name) if !ir.is_op(op, name) => children(ir, op, name),
                        _ => vec![op],
                    };
                    let alone = op == root && targets.len() == 1;
                    for target in targets {
                        if ir.is_live(target) {
                            changed |= self.execute(ir, step, number, target, alone, checker.as_mut())?;
                        }
                    }
                }
                Step::Nested { anchor, steps } => {
                    let targets = if op == root && ir.is_op(op, anchor) { vec![op] } else { children(ir, op, anchor) };
                    for target in targets.into_iter().rev() {
                        let mut n = number;
                        push_steps(steps, target, &mut n, &mut work);
                    }
                }
            }
        }
        Ok(changed)
    }

    /// Runs one pass on one op; `alone` says that it runs on no other.
    fn execute(
        &mut self,
        ir: &mut Ir,
        step: &PassStep,
        number: usize,
        op: Op,
        alone: bool,
        checker: Option<&mut Checker>,
    ) -> Result<Changed, Failure> {
        let name = step.pass.name();
        let (runs, line) = self.bisect.ask(&format!("{name} on {}", describe(ir, op)));
        if let Some(line) = line {
            self.sink.text(&line);
        }
        if !runs {
            return Ok(Changed::No);
        }
        let execution = self.executions;
        self.executions += 1;
        let kept = self.config.keep_before.then(|| print(ir, self.registry, &self.config.print));
        let text = step.text();
        let pipeline = wrap(ir, op, &text);
        let fail = move |message: String| Failure { message, pipeline, before: kept };
        if let Err(d) = level::check(ir, op, step.pass.needs(), &format!("the pass '{name}' needs")) {
            return Err(fail(self.report(d)));
        }
        let dump = &self.config.dump;
        let before = dump.wants_before(name).then(|| self.print(ir, op));
        if let Some(text) = before.as_ref().filter(|_| dump.before.has(name)) {
            self.dump("Before", name, false, ir, op, execution, text);
        }

        let cx = PassContext::new(step.pass, self.infos, self.config.remarks);
        let mut cx = cx.with_statistics(self.config.statistics).reading(self.registry, &self.config.folder);
        let start = Instant::now();
        let result = guard::catch(|| (step.run)(ir, op, &mut cx));
        let time = start.elapsed();
        let (diagnostics, counts) = cx.finish();
        let failed = diagnostics.iter().find(|d| d.severity == Severity::Error).map(|d| d.message.clone());
        diagnostics.into_iter().for_each(|d| self.sink.diagnostic(d));
        self.statistics.add(number, &text, step.pass, &counts);
        let outcome = match result {
            Err(panic) => {
                let d = Diagnostic::error_nowhere(format!("the pass '{name}' panicked: {panic}"));
                // The IR may be half changed: it is not looked at again.
                return Err(fail(
                    self.report(d.help("this is a fault of the pass; --reproducer=FILE writes a file that shows it")),
                ));
            }
            Ok(Err(d)) => Err(self.report(d)),
            Ok(Ok(changed)) => failed.map_or(Ok(changed), Err),
        };
        let outcome = outcome.and_then(|changed| {
            if let Err(d) = level::check(ir, op, step.pass.leaves(), &format!("the pass '{name}' should leave")) {
                return Err(self.report(d));
            }
            // A pass may make ops beside the one that it runs on. Where it runs on many, each is looked at by itself: all of them each time would be too much.
            let root = if alone || !ir.is_live(op) { ir.module() } else { op };
            self.verify(ir, root, name)?;
            Ok(changed)
        });
        if self.config.timing {
            self.timing.add(&text, time, Some(ir.count_ops()));
        }
        self.dump_after(ir, op, name, execution, before.as_deref(), outcome.is_err());
        if let (Ok(_), Some(checker)) = (&outcome, checker) {
            let start = Instant::now();
            let checked = checker.check(ir, &text);
            self.timing.add("check-execution", start.elapsed(), None);
            if let Err(d) = checked {
                return Err(fail(self.report(d)));
            }
        }
        outcome.map_err(fail)
    }

    /// Sends an error to the sink and gives back its message.
    fn report(&self, d: Diagnostic) -> String {
        let message = d.message.clone();
        self.sink.diagnostic(d);
        message
    }

    fn verify(&mut self, ir: &mut Ir, root: Op, pass: &str) -> Result<(), String> {
        if !self.config.verify_each {
            return Ok(());
        }
        let start = Instant::now();
        let errors = self.infos.verify(ir, root);
        self.timing.add("verify", start.elapsed(), None);
        let Some(first) = errors.first() else { return Ok(()) };
        let message = format!("the IR that '{pass}' left does not verify: {}", first.message);
        for d in errors {
            self.sink
                .diagnostic(Diagnostic { help: Some(format!("the pass '{pass}' left this; it verified before")), ..d });
        }
        Err(message)
    }

    fn dump_after(&mut self, ir: &Ir, op: Op, name: &str, execution: u64, before: Option<&str>, failed: bool) {
        let dump = &self.config.dump;
        if failed {
            if dump.after_failure || dump.after.has(name) {
                let text = self.print(ir, op);
                self.dump("After", name, true, ir, op, execution, &text);
            }
            return;
        }
        // A pass may have replaced the op that it ran on.
        if !ir.is_live(op) || !(dump.after.has(name) || dump.after_change.is_some()) {
            return;
        }
        let text = self.print(ir, op);
        match (dump.after_change, before) {
            (Some(style), Some(before)) if before != text => match style {
                ChangeStyle::Full => self.dump("After", name, false, ir, op, execution, &text),
                ChangeStyle::Diff => {
                    self.dump("After", name, false, ir, op, execution, &dump::diff(before, &text));
                }
            },
            (Some(_), Some(_)) => {}
            _ => self.dump("After", name, false, ir, op, execution, &text),
        }
    }

    fn print(&self, ir: &Ir, op: Op) -> String {
        if self.config.dump.module_scope || op == ir.module() {
            print(ir, self.registry, &self.config.print)
        } else {
            print_op(ir, self.registry, &self.config.print, op)
        }
    }

    #[allow(clippy::too_many_arguments)] // the parts of one title and one file name
    fn dump(&mut self, when: &str, pass: &str, failed: bool, ir: &Ir, op: Op, execution: u64, text: &str) {
        let newline = if text.ends_with('\n') { "" } else { "\n" };
        let Some(dir) = &self.config.dump.tree_dir else {
            self.sink.text(&format!("{}{text}{newline}\n", dump::title(when, pass, failed, ir, op)));
            return;
        };
        let part = self.part.map(|n| format!("part{n}")).unwrap_or_default();
        let path = dir.join(part).join(dump::tree_path(ir, op, execution, when, pass));
        let written = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let title = dump::title(when, pass, failed, ir, op);
        if let Err(e) = written.and_then(|()| std::fs::write(&path, format!("{title}{text}{newline}"))) {
            let message = format!("cannot write {}: {e}", path.display());
            self.sink.diagnostic(Diagnostic::new(Severity::Warning, crate::support::diag::Place::None, message));
        }
    }
}

struct Todo<'p> {
    step: &'p Step,
    op: Op,
    number: usize,
}

/// Puts steps on the list of what is to run on an op, the first one last, and numbers them from `number + 1` in the order of the text.
fn push_steps<'p>(steps: &'p [Step], op: Op, number: &mut usize, work: &mut Vec<Todo<'p>>) {
    let at = work.len();
    for step in steps {
        match step {
            Step::Pass(_) => {
                *number += 1;
                work.push(Todo { step, op, number: *number });
            }
            // Steps inside are numbered when they are reached: from the number before them.
            Step::Nested { steps, .. } => {
                work.push(Todo { step, op, number: *number });
                *number += count_passes(steps);
            }
        }
    }
    work[at..].reverse();
}

fn count_passes(steps: &[Step]) -> usize {
    steps.iter().map(|s| if let Step::Nested { steps, .. } = s { count_passes(steps) } else { 1 }).sum()
}

/// The ops of a name (`any`: all with regions) directly in the regions of an op.
fn children(ir: &Ir, op: Op, name: &str) -> Vec<Op> {
    let blocks = ir.regions_of(op).iter().flat_map(|&r| ir.blocks_of(r));
    let fits = |&o: &Op| if name == "any" { !ir.regions_of(o).is_empty() } else { ir.is_op(o, name) };
    blocks.flat_map(|&b| ir.block_ops(b)).filter(fits).collect()
}

/// `'func.func' @forward`, or only the name of the op.
fn describe(ir: &Ir, op: Op) -> String {
    match ir.symbol_name(op) {
        Some(symbol) => format!("'{}' @{symbol}", ir.op_name(op)),
        None => format!("'{}'", ir.op_name(op)),
    }
}

/// A pipeline that runs a pass on an op of this kind: `builtin.module(func.func(cse))`.
fn wrap(ir: &Ir, op: Op, pass: &str) -> String {
    std::iter::successors(Some(op), |&o| ir.parent_op(o))
        .fold(pass.to_string(), |inner, o| format!("{}({inner})", ir.op_name(o)))
}
