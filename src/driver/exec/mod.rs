//! `rinductor-exec`: runs what the `// run:` lines of a file ask for, at every level and on every back end, and says where results are wrong.
//!
//! One file, one line, every executor: `// run: @forward(seed 7) ~= interp`. The language of the lines is [`line`], the places where they run
//! are [`stage`]'s, and [`judge`] holds results against what they must be.

pub mod judge;
pub mod line;
pub mod stage;

use super::inputs::{Callee, Kind, Source};
use super::program::{self, Problem, Program};
use super::reference::{self, Argument};
use super::{Io, args, session};
use crate::dialects::dtype_of;
use crate::ir::{Ir, Op};
use crate::runtime::{Tensor, npy};
use crate::scalar::DType;
use crate::support::{Diagnostic, SourceId, SourceMap, Span};
use clap::Command;
use judge::Tolerance;
use line::{Expected, RunLine, Value};
use stage::{PLACES, Stage};
use std::fmt::Write;
use std::path::Path;

fn command() -> Command {
    let targets = stage::targets();
    let all = || PLACES.iter().chain(&targets);
    let places: Vec<String> = all().map(|(name, what)| format!("  {name:9} {what}")).collect();
    args::common(Command::new("rinductor-exec"))
        .about("Runs the `// run:` lines of an IR file at every level and on every back end")
        .override_usage("rinductor-exec [OPTIONS] INPUT")
        .after_help(format!(
            "Places (those from x86-64-v3 on only where --at names them):\n{}\n\nExit status: 0 if all runs agree with their lines, 1 if not.",
            places.join("\n")
        ))
        .arg(args::required_input())
        .arg(
            args::value("at", "PLACE,…", "Run only here")
                .value_delimiter(',')
                .value_parser(all().map(|p| p.0).collect::<Vec<_>>()),
        )
}

/// The program. Gives its exit code: 1 when a run is not as its line says, or when there is nothing to run.
pub fn main_exec(args: &[String], io: &mut Io, cwd: &Path) -> i32 {
    program::main(command(), args, io, cwd, &mut run)
}

fn run(program: &mut Program, io: &mut Io) -> Result<i32, Problem> {
    let dialects = program.dialects.clone();
    let only: Vec<String> = program.matches.get_many::<String>("at").into_iter().flatten().cloned().collect();
    let only: Vec<&str> = only.iter().map(String::as_str).collect();
    let mut file = File::read(program, &only, &dialects, io)?;
    let name = program.input();
    if file.lines.is_empty() {
        return Err(format!("'{name}' has no `// run:` line").into());
    }
    let mut report = String::new();
    let mut wrong = Vec::new();
    let mut runs = 0;
    for i in 0..file.lines.len() {
        file.line(i, &only, &program.sources, &mut report, &mut wrong, &mut runs);
    }
    if runs == 0 && wrong.is_empty() {
        wrong.push(Diagnostic::error_nowhere(format!("no line of '{name}' runs at {}", only.join(", "))));
    }
    let verdict = if wrong.is_empty() { "all agree".to_string() } else { format!("{} do NOT agree", wrong.len()) };
    let lines = counted(file.lines.len(), "line");
    let _ = writeln!(report, "{} of {lines}: {verdict}", counted(runs, "run"));
    program.show(&wrong, io);
    program.write("-", &report, io)?;
    Ok(i32::from(!wrong.is_empty()))
}

/// A file with its lines, and the places where they run.
struct File<'a> {
    ir: Ir,
    source: SourceId,
    lines: Vec<(Span, RunLine)>,
    stages: Vec<Stage<'a>>,
    dialects: &'a session::Dialects,
    /// The folder that `.npy` files are relative to.
    folder: std::path::PathBuf,
}

/// What a run came to.
type Ran = Result<(Vec<Argument>, Vec<Argument>), Vec<Diagnostic>>;

impl<'a> File<'a> {
    fn read(
        program: &mut Program,
        only: &[&str],
        dialects: &'a session::Dialects,
        io: &mut Io,
    ) -> Result<File<'a>, Problem> {
        let (ir, source) = program.module(io)?;
        let folder = program.cwd.join(program.input()).parent().map(Path::to_path_buf).unwrap_or_default();
        let sources = &mut program.sources;
        let text = sources.text(source).clone();
        let mut lines = Vec::new();
        let mut wrong = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let start = at;
            at += line.len();
            let Some(comment) = line.trim_start().strip_prefix("//") else { continue };
            let Some(rest) = comment.trim_start().strip_prefix("run:") else { continue };
            let begins = start + (rest.as_ptr() as usize - line.as_ptr() as usize);
            match line::parse(rest.trim_end()) {
                Ok(parsed) => {
                    let skipped = rest.len() - rest.trim_start().len();
                    lines.push((Span::new(source, begins + skipped, begins + rest.trim_end().len()), parsed));
                }
                Err((column, why)) => {
                    let place = begins + column;
                    let end = begins + rest.trim_end().len();
                    wrong.push(Diagnostic::error(Span::new(source, place, (place + 1).min(end.max(place))), why));
                }
            }
        }
        for (span, line) in &lines {
            let known = |name: &String| PLACES.iter().any(|p| p.0 == name);
            if let Some(name) = line.at.iter().flatten().find(|n| !known(n)) {
                let list: Vec<&str> = PLACES.iter().map(|p| p.0).collect();
                wrong.push(Diagnostic::error(
                    *span,
                    format!("there is no place '{name}'; there are {}", list.join(", ")),
                ));
            }
        }
        if !wrong.is_empty() {
            return Err(wrong.into());
        }
        let (mut ir, mut stages) = (ir, Vec::new());
        if !lines.is_empty() {
            stages = stage::all(&ir, only, dialects, sources)?;
            ir = stage::reference(ir, dialects, sources)?;
        }
        Ok(File { ir, source, lines, stages, dialects, folder })
    }

    /// Runs one line everywhere.
    fn line(
        &mut self,
        i: usize,
        only: &[&str],
        sources: &SourceMap,
        report: &mut String,
        wrong: &mut Vec<Diagnostic>,
        runs: &mut usize,
    ) {
        let (span, line) = self.lines[i].clone();
        let number = sources.line_col(self.source, span.start).0;
        let _ = writeln!(report, "{}:{number}: {}", sources.name(self.source), sources.slice(span));
        let mut stages = std::mem::take(&mut self.stages);
        let mut words = Vec::new();
        match self.prepare(&line) {
            Err(why) => wrong.push(Diagnostic::error(span, why)),
            Ok(prepared) => {
                for stage in &mut stages {
                    let asked = line.at.as_ref().is_none_or(|l| l.iter().any(|n| stage.is(n)));
                    if !asked || !(only.is_empty() || only.contains(&stage.name)) {
                        continue;
                    }
                    *runs += 1;
                    let run = || {
                        let arguments = prepared.fresh().map_err(|why| vec![Diagnostic::error(span, why)])?;
                        Ok((stage.run(&line.function, &arguments)?, arguments))
                    };
                    let ran = prepared.refused.clone().map_or_else(run, Err);
                    match prepared.hold(&line, ran) {
                        Ok(0.0) => words.push(format!("{} ok", stage.name)),
                        Ok(off) => words.push(format!("{} ok (off by {off:.1e})", stage.name)),
                        Err((why, notes)) => {
                            words.push(format!("{} FAILED", stage.name));
                            let mut d = Diagnostic::error(span, format!("at {}: {why}", stage.name));
                            d.notes.extend(notes);
                            wrong.push(d);
                        }
                    }
                }
            }
        }
        self.stages = stages;
        let words = if words.is_empty() { "not run".to_string() } else { words.join(", ") };
        let _ = writeln!(report, "  {words}");
    }

    /// What a line needs before it runs anywhere.
    fn prepare(&self, line: &RunLine) -> Result<Prepared, String> {
        let ir = &self.ir;
        let func = ir.lookup_symbol(&line.function).filter(|&f| ir.is_op(f, "func.func"));
        let func = func.ok_or_else(|| format!("there is no function '{}'", line.function))?;
        let mut callee = Callee::new(ir, func)?.advising("; {} = N among the arguments gives it one");
        let signature = &callee.parameters;
        let mut tensors = Vec::new();
        let mut position = 0;
        let named: Vec<&String> = line.arguments.iter().filter_map(|a| a.0.as_ref()).collect();
        for (name, value) in &line.arguments {
            let parameter = match name {
                Some(name) => signature.iter().find(|p| p.name == *name),
                None => {
                    // The next argument that has no value by its name.
                    while signature.get(position).is_some_and(|p| named.contains(&&p.name)) {
                        position += 1;
                    }
                    position += 1;
                    signature.get(position - 1)
                }
            };
            let takes = || signature.iter().map(|p| format!("%{}", p.name)).collect::<Vec<_>>().join(", ");
            let parameter = parameter.ok_or_else(|| match name {
                Some(name) => format!("@{} has no argument %{name}; it has {}", line.function, takes()),
                None => format!("there are more values than arguments; @{} has {}", line.function, takes()),
            })?;
            let dtype = match parameter.kind {
                Kind::Tensor { dtype, .. } => dtype,
                Kind::Symbol(_) => DType::I64,
            };
            let wrong = |why| format!("the argument %{}: {why}", parameter.name);
            tensors.push((parameter.name.clone(), self.tensor(value, dtype).map_err(wrong)?));
        }
        let results = result_types(ir, func);
        let source = match line.seed {
            Some(seed) => Source::Mixed { tensors, seed: seed.seed, range: seed.range },
            None => Source::Tensors(tensors),
        };
        if let Some((name, _)) = line.symbols.iter().find(|(name, _)| !callee.has_symbol(name)) {
            return Err(format!("@{} has no symbol {name}", line.function));
        }
        // Arguments that do not fit are wrong whatever is expected: the function would not be called.
        let arguments = callee.arguments(&source, &line.symbols)?;
        let refused = callee.admit(&self.dialects.library).err();
        let mut prepared = Prepared { callee, arguments, refused, expected: Vec::new(), after: None };
        match &line.expected {
            Expected::Failure(_) => {}
            _ if prepared.refused.is_some() => {}
            Expected::Interpreter(_) => {
                let arguments = prepared.fresh()?;
                let ran = reference::run(ir, func, &arguments, &*self.dialects.library);
                prepared.expected = ran.map_err(|d| format!("the reference interpreter: {}", d.message))?;
                prepared.after = Some(arguments);
            }
            Expected::Values(values, _) => {
                if values.len() != results.len() {
                    let (all, n) = (counted(results.len(), "result"), counted(values.len(), "value"));
                    return Err(format!("@{} has {all}, the line has {n}", line.function));
                }
                for (k, (value, dtype)) in values.iter().zip(results).enumerate() {
                    let wrong = |why| format!("result {k}: {why}");
                    prepared.expected.push(match (value, dtype) {
                        (_, Some(dtype)) => Argument::Tensor(self.tensor(value, dtype).map_err(wrong)?),
                        (Value::Literal(literal), None) => match literal.numbers[..] {
                            [line::Number::Int(n)] => Argument::Int(n),
                            _ => return Err(wrong("a whole number is wanted".to_string())),
                        },
                        (Value::File(_), None) => return Err(wrong("a whole number is wanted".to_string())),
                    });
                }
            }
        }
        Ok(prepared)
    }

    fn tensor(&self, value: &Value, dtype: DType) -> Result<Tensor, String> {
        match value {
            Value::Literal(literal) => judge::tensor(literal, dtype),
            Value::File(name) => {
                let path = self.folder.join(name);
                npy::read_npy(&path).map_err(|e| e.to_string())
            }
        }
    }
}

/// The element types of what a function returns; None for a number.
fn result_types(ir: &Ir, func: Op) -> Vec<Option<DType>> {
    let last = ir.body(func).and_then(|b| ir.last_op(b));
    let values = last.map(|op| ir.operand_list(op)).unwrap_or_default();
    let dtype = |ty| if ir.shape(ty).is_some() { dtype_of(ir, ir.element_type(ty)) } else { None };
    values.iter().map(|&v| dtype(ir.value_type(v))).collect()
}

/// A line that can run.
struct Prepared {
    callee: Callee,
    /// What it is called with.
    arguments: Vec<Argument>,
    /// Why it cannot be computed at these sizes, if so: as every run would say.
    refused: Option<Vec<Diagnostic>>,
    /// What must come out.
    expected: Vec<Argument>,
    /// The arguments as they must be after the run, where that is known.
    after: Option<Vec<Argument>>,
}

impl Prepared {
    /// Arguments for one run, which may change them.
    fn fresh(&self) -> Result<Vec<Argument>, String> {
        self.arguments.iter().map(reference::copy).collect()
    }

    /// Whether a run is as the line says: the greatest difference, or why not.
    fn hold(&self, line: &RunLine, ran: Ran) -> Result<f64, (String, Vec<crate::support::diag::Note>)> {
        let plain = |why: String| (why, Vec::new());
        if let Expected::Failure(text) = &line.expected {
            return match ran {
                Ok(_) => Err(plain(format!("it does not fail with '{text}'"))),
                Err(list) if list.iter().any(|d| d.message.contains(text.as_str())) => Ok(0.0),
                Err(list) => Err(plain(format!("it fails, but not with '{text}': {}", messages(&list)))),
            };
        }
        let (results, arguments) = ran.map_err(|list| {
            let notes = list.first().map(|d| d.notes.clone()).unwrap_or_default();
            (messages(&list), notes)
        })?;
        let exact = matches!(line.expected, Expected::Interpreter(true) | Expected::Values(_, true));
        let tolerance = Tolerance { exact, rtol: line.rtol, atol: line.atol };
        if results.len() != self.expected.len() {
            return Err(plain(format!("{} instead of {}", counted(results.len(), "result"), self.expected.len())));
        }
        let layout = self.after.is_some();
        let mut off = 0.0_f64;
        for (k, (got, want)) in results.iter().zip(&self.expected).enumerate() {
            let held = judge::hold(got, want, tolerance, layout);
            off = off.max(held.map_err(|why| plain(format!("result {k}: {why}")))?);
        }
        for (parameter, (got, want)) in
            self.callee.parameters.iter().zip(arguments.iter().zip(self.after.iter().flatten()))
        {
            let held = judge::hold(got, want, tolerance, false);
            off = off.max(held.map_err(|why| plain(format!("argument %{} after the run: {why}", parameter.name)))?);
        }
        Ok(off)
    }
}

/// `1 result`, `2 results`.
fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn messages(list: &[Diagnostic]) -> String {
    list.iter().map(|d| d.message.as_str()).collect::<Vec<_>>().join("; ")
}
