//! `rinductor-exec`: runs what the `// run:` lines of a file ask for, at every level and on every back end, and says where results are wrong.
//!
//! One file, one line, every executor: `// run: @forward(seed 7) ~= interp`. The language of the lines is [`line`], the places where they run
//! are [`stage`]'s, and [`judge`] holds results against what they must be.

pub mod judge;
pub mod line;
pub mod stage;

use super::args::{self, fail, show};
use super::inputs::{self, Bindings, Source};
use super::reference::{self, Argument};
use super::{Io, opt, session};
use crate::dialects::dtype_of;
use crate::ir::{Ir, Op};
use crate::runtime::{Tensor, npy};
use crate::scalar::DType;
use crate::support::{Diagnostic, SourceId, SourceMap, Span};
use clap::{Arg, ArgMatches, Command};
use judge::Tolerance;
use line::{Expected, RunLine, Value};
use stage::{PLACES, Stage};
use std::fmt::Write;
use std::path::Path;

fn command() -> Command {
    let places: Vec<String> = PLACES.iter().map(|(name, what)| format!("  {name:8} {what}")).collect();
    args::common(Command::new("rinductor-exec"))
        .about("Runs the `// run:` lines of an IR file at every level and on every back end")
        .override_usage("rinductor-exec [OPTIONS] INPUT")
        .after_help(format!(
            "Places:\n{}\n\nExit status: 0 if all runs agree with their lines, 1 if not.",
            places.join("\n")
        ))
        .arg(Arg::new("input").value_name("INPUT").required(true).help("File to read; - for standard input"))
        .arg(
            Arg::new("at")
                .long("at")
                .value_name("PLACE,…")
                .value_delimiter(',')
                .value_parser(PLACES.iter().map(|p| p.0).collect::<Vec<_>>())
                .help("Run only here"),
        )
}

/// The program. Gives its exit code: 1 when a run is not as its line says, or when there is nothing to run.
pub fn main_exec(args: &[String], io: &mut Io, cwd: &Path) -> i32 {
    let mut command = command();
    if args.iter().any(|a| matches!(a.as_str(), "--help" | "-h" | "--version")) {
        command = command.mut_arg("input", |a| a.required(false));
    }
    let (matches, style) = match args::start(&mut command, args, io, cwd) {
        Ok(started) => started,
        Err(code) => return code,
    };
    let mut sources = SourceMap::new();
    let dialects = match session::Dialects::load(&matches, cwd, &mut sources) {
        Ok(dialects) => dialects,
        Err(errors) => {
            show(&errors, &sources, style, io);
            return 1;
        }
    };
    let name = matches.get_one::<String>("input").map_or("-", String::as_str);
    let mut run = match File::read(name, &matches, &dialects, &mut sources, io, cwd) {
        Ok(run) => run,
        Err(errors) => {
            show(&errors, &sources, style, io);
            return 1;
        }
    };
    if run.lines.is_empty() {
        return fail(format!("'{name}' has no `// run:` line"), style, io);
    }
    let only: Vec<&str> = matches.get_many::<String>("at").into_iter().flatten().map(String::as_str).collect();
    let mut report = String::new();
    let mut wrong = Vec::new();
    let mut runs = 0;
    for i in 0..run.lines.len() {
        run.line(i, &only, &sources, &mut report, &mut wrong, &mut runs);
    }
    if runs == 0 {
        wrong.push(Diagnostic::error_nowhere(format!("no line of '{name}' runs at {}", only.join(", "))));
    }
    let verdict = if wrong.is_empty() { "all agree".to_string() } else { format!("{} do NOT agree", wrong.len()) };
    let lines = run.lines.len();
    let _ = writeln!(report, "{runs} runs of {lines} line{}: {verdict}", if lines == 1 { "" } else { "s" });
    show(&wrong, &sources, style, io);
    match opt::output("-", &report, cwd, style, io) {
        0 => i32::from(!wrong.is_empty()),
        failed => failed,
    }
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
        name: &str,
        matches: &ArgMatches,
        dialects: &'a session::Dialects,
        sources: &mut SourceMap,
        io: &mut Io,
        cwd: &Path,
    ) -> Result<File<'a>, Vec<Diagnostic>> {
        let allow = matches.get_flag("allow-unregistered-dialect");
        let (ir, source) = session::read_with_source(name, cwd, io, dialects, allow, sources)?;
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
            return Err(wrong);
        }
        let (mut ir, mut stages) = (ir, Vec::new());
        if !lines.is_empty() {
            stages = stage::all(&ir, dialects, sources)?;
            ir = stage::reference(ir, dialects, sources)?;
        }
        let folder = cwd.join(name).parent().map(Path::to_path_buf).unwrap_or_default();
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
                    let asked = line.at.as_ref().is_none_or(|l| l.iter().any(|n| n == stage.name));
                    if !asked || !(only.is_empty() || only.contains(&stage.name)) {
                        continue;
                    }
                    *runs += 1;
                    let ran = self.arguments(&line, &prepared).map_err(|why| vec![Diagnostic::error(span, why)]);
                    let ran = ran.and_then(|arguments| Ok((stage.run(&line.function, &arguments)?, arguments)));
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
        let mut ir = self.ir.clone();
        let func = ir.lookup_symbol(&line.function).filter(|&f| ir.is_op(f, "func.func"));
        let func = func.ok_or_else(|| format!("there is no function '{}'", line.function))?;
        let signature = inputs::signature(&mut ir, func)?;
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
                inputs::Kind::Tensor { dtype, .. } => dtype,
                inputs::Kind::Symbol(_) => DType::I64,
            };
            let wrong = |why| format!("the argument %{}: {why}", parameter.name);
            tensors.push((parameter.name.clone(), self.tensor(value, dtype).map_err(wrong)?));
        }
        let results = result_types(&ir, func);
        let mut prepared = Prepared { ir, func, signature, tensors, expected: Vec::new(), after: None };
        match &line.expected {
            Expected::Failure(_) => {}
            Expected::Interpreter(_) => {
                let arguments = self.arguments(line, &prepared)?;
                let ran = reference::run(&prepared.ir, func, &arguments, &*self.dialects.library);
                prepared.expected = ran.map_err(|d| format!("the reference interpreter: {}", d.message))?;
                prepared.after = Some(arguments);
            }
            Expected::Values(values, _) => {
                if values.len() != results.len() {
                    let (n, all) = (values.len(), results.len());
                    return Err(format!("@{} has {all} results, {n} are written", line.function));
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

    /// The arguments of a line; each run gets its own, since it may change them.
    fn arguments(&self, line: &RunLine, prepared: &Prepared) -> Result<Vec<Argument>, String> {
        let mut ir = prepared.ir.clone();
        let symbols: Vec<String> = line.symbols.iter().map(|(name, n)| format!("{name}={n}")).collect();
        let mut bindings = Bindings::parse(&mut ir, symbols.iter())?;
        let tensors = prepared.tensors.clone();
        let source = match line.seed {
            Some(seed) => Source::Mixed { tensors, seed: seed.seed, range: seed.range },
            None => Source::Tensors(tensors),
        };
        // What was written or read is shared, what runs get is not.
        let made = inputs::make(&mut ir, prepared.func, &prepared.signature, &source, &mut bindings)?;
        made.iter().map(reference::copy).collect()
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
    ir: Ir,
    func: Op,
    signature: Vec<inputs::Parameter>,
    /// The arguments that are written in the line.
    tensors: Vec<(String, Tensor)>,
    /// What must come out.
    expected: Vec<Argument>,
    /// The arguments as they must be after the run, where that is known.
    after: Option<Vec<Argument>>,
}

impl Prepared {
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
            return Err(plain(format!("{} results instead of {}", results.len(), self.expected.len())));
        }
        let layout = self.after.is_some();
        let mut off = 0.0_f64;
        for (k, (got, want)) in results.iter().zip(&self.expected).enumerate() {
            let held = judge::hold(got, want, tolerance, layout);
            off = off.max(held.map_err(|why| plain(format!("result {k}: {why}")))?);
        }
        for (parameter, (got, want)) in self.signature.iter().zip(arguments.iter().zip(self.after.iter().flatten())) {
            let held = judge::hold(got, want, tolerance, false);
            off = off.max(held.map_err(|why| plain(format!("argument %{} after the run: {why}", parameter.name)))?);
        }
        Ok(off)
    }
}

fn messages(list: &[Diagnostic]) -> String {
    list.iter().map(|d| d.message.as_str()).collect::<Vec<_>>().join("; ")
}
