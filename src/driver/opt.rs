//! `rinductor-opt`: reads IR, verifies it, runs passes, prints.

use super::args::{self, fail, style};
use super::interpret::Checking;
use super::program::{self, Program, output};
use super::{Io, expected, help, io, opt_args, pipelines, session};
use crate::pass::OpInfos;
use crate::pass::dump::{DumpConfig, Which};
use crate::pass::execution::Executor;
use crate::pass::manager::{Config, Failure, Manager, Sink};
use crate::pass::pipeline::Pipeline;
use crate::pass::reproducer::Reproducer;
use crate::support::diag::render::{Style, render};
use crate::support::{Diagnostic, Severity, SourceId, SourceMap};
use crate::text::{PrintOptions, print};
use clap::ArgMatches;
use regex::Regex;
use std::cell::RefCell;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// The program. Gives its exit code: 0, or 1 when anything failed; then nothing was written to the output file.
pub fn main_opt(args: &[String], io: &mut Io, cwd: &Path) -> i32 {
    let mut command = opt_args::command();
    let matches = match args::parse(&mut command, args, io) {
        Ok(matches) => matches,
        Err(code) => return code,
    };
    let style = style(&matches);
    if let Some(text) = information(&matches, &mut command) {
        return match text {
            Ok(text) => output("-", &text, cwd, style, io),
            Err(message) => fail(message, style, io),
        };
    }
    program::run(matches, style, io, cwd, &mut |program: &mut Program, io: &mut Io| {
        let dialects = program.dialects.clone();
        if program.matches.get_flag("list-dialects") {
            program.write("-", help::list_dialects(&dialects), io)?;
            return Ok(0);
        }
        let start = Instant::now();
        let name = program.input().to_string();
        let (text, bad_bytes) = crate::text::decode(io::read_input(&name, cwd, io.stdin)?);
        if program.matches.get_flag("run-reproducer") {
            let args = reproducer_args(&text, args).map_err(|why| format!("'{}' {why}", io::display_name(&name)))?;
            return Ok(main_opt(&args, &mut Io { stdin: &mut text.as_bytes(), ..io.reborrow() }, cwd));
        }
        let split = program.matches.get_flag("split-input-file");
        let input = session::add(io::display_name(&name), &text, bad_bytes, split, &mut program.sources)?;
        drop(text);
        let pipeline = read_pipeline(&program.matches, &mut program.sources)?;
        let run = Run::new(&program.matches, style, cwd)?;
        Ok(run.all(program, &pipeline, &input, start.elapsed(), io))
    })
}

/// The text of `--help`, `--version` and `--list-passes`, if one of them is asked for.
fn information(matches: &ArgMatches, command: &mut clap::Command) -> Option<Result<String, String>> {
    if matches.get_flag("version") {
        return Some(Ok(args::version("rinductor-opt")));
    }
    if matches.get_flag("list-passes") {
        return Some(Ok(help::list_passes()));
    }
    let topic = matches.get_one::<String>("help")?;
    let flagged = opt_args::flagged_passes(matches);
    if !topic.is_empty() {
        let text = help::topic(topic);
        return Some(text.ok_or_else(|| format!("there is no pass or pipeline '{topic}'; --list-passes lists them")));
    }
    if flagged.is_empty() {
        return Some(Ok(command.render_help().to_string()));
    }
    Some(Ok(flagged.into_iter().filter_map(help::topic).collect::<Vec<_>>().join("\n")))
}

/// The pieces of pipeline on the command line as one pipeline.
fn read_pipeline(matches: &ArgMatches, sources: &mut SourceMap) -> Result<Pipeline, Diagnostic> {
    let mut all = Pipeline::default();
    for piece in opt_args::pieces(matches) {
        all.steps.extend(pipelines::read(&piece.option, &piece.text, sources)?.steps);
    }
    Ok(all)
}

/// The command line that a reproducer stands for: its options and pipeline, then what else the user said.
fn reproducer_args(text: &str, args: &[String]) -> Result<Vec<String>, String> {
    let head = Reproducer::read(text).ok_or("is no reproducer: it does not begin with the line that says so")?;
    let mut list = head.options;
    list.push(format!("--pass-pipeline={}", head.pipeline));
    let others = args.iter().filter(|a| !matches!(a.as_str(), "--run-reproducer" | "-run-reproducer"));
    list.extend(others.cloned());
    Ok(list)
}

/// The settings of one run.
struct Run {
    style: Style,
    config: Config,
    allow_unregistered: bool,
    remarks: Option<Regex>,
    /// Compare diagnostics with comments; whether unexpected ones are let pass.
    verify_diagnostics: Option<bool>,
}

impl Run {
    fn new(matches: &ArgMatches, style: Style, folder: &Path) -> Result<Self, String> {
        let mut dump = DumpConfig {
            before: opt_args::which(matches, "print-ir-before")?,
            after: opt_args::which(matches, "print-ir-after")?,
            after_change: opt_args::change_style(matches),
            after_failure: matches.get_flag("print-ir-after-failure"),
            module_scope: matches.get_flag("print-ir-module-scope"),
            tree_dir: None,
        };
        if let Some(dir) = matches.get_one::<String>("print-ir-tree-dir") {
            if !dump.is_on() {
                dump.after = Which::All;
            }
            dump.tree_dir = Some(dir.into());
        }
        let remarks = args::wanted_remarks(matches)?;
        let config = Config {
            verify_each: matches.get_one::<bool>("verify-each").copied().unwrap_or(true),
            dump,
            print: PrintOptions {
                generic: matches.get_flag("print-generic"),
                debuginfo: matches.get_flag("print-debuginfo"),
                ..PrintOptions::default()
            },
            bisect_limit: matches.get_one::<i64>("bisect-limit").copied(),
            remarks: remarks.is_some(),
            statistics: matches.contains_id("statistics"),
            keep_before: matches.contains_id("reproducer"),
            timing: matches.contains_id("timing"),
            folder: folder.to_path_buf(),
        };
        Ok(Self {
            style,
            config,
            allow_unregistered: matches.get_flag("allow-unregistered-dialect"),
            remarks,
            verify_diagnostics: matches.get_one::<String>("verify-diagnostics").map(|w| w == "only-expected"),
        })
    }

    fn all(
        mut self,
        program: &Program,
        pipeline: &Pipeline,
        input: &session::Input,
        reading: Duration,
        io: &mut Io,
    ) -> i32 {
        let Program { matches, sources, cwd, .. } = program;
        let dialects = &*program.dialects;
        if let Some(dir) = &mut self.config.dump.tree_dir {
            *dir = cwd.join(&*dir);
        }
        let console = Console {
            sources,
            style: self.style,
            color: io.color,
            remarks: self.remarks.as_ref(),
            stderr: RefCell::new(&mut *io.stderr),
            collected: self.verify_diagnostics.map(|_| RefCell::default()),
        };
        let mut manager = Manager::new(&dialects.registry, dialects, &self.config, &console);
        let checking = Checking { library: &dialects.library };
        manager.executor = matches.get_one::<u64>("check-execution").map(|&seed| (&checking as &dyn Executor, seed));
        manager.timing.add("read", reading, None);
        let mut failed = false;
        let mut reproduced = false;
        let mut out = String::new();
        for (i, &part) in input.parts.iter().enumerate() {
            manager.part = (input.parts.len() > 1).then_some(i);
            if i > 0 {
                out.push_str("// -----\n");
            }
            let wrong = input.wrong.iter().filter(|w| w.0 == part).map(|w| w.1.clone());
            let result = self.part(&mut manager, pipeline, dialects, sources, part, wrong.collect());
            if let Ok(text) = &result {
                out.push_str(text);
            }
            match (&console.collected, self.verify_diagnostics) {
                (Some(collected), Some(only_expected)) => {
                    let complaints = expected::compare(sources, part, &collected.take(), only_expected);
                    failed |= !complaints.is_empty();
                    console.show(&complaints);
                }
                _ => failed |= result.is_err(),
            }
            if let (Err(Some(failure)), Some(file), false) =
                (result, matches.get_one::<String>("reproducer"), reproduced)
            {
                reproduced = true;
                self.reproduce(&failure, file, matches, cwd, &console);
            }
        }
        let (mut timing, statistics) = (manager.timing.clone(), manager.statistics.clone());
        drop(console);
        if !failed {
            let start = Instant::now();
            let name = matches.get_one::<String>("output").map_or("-", String::as_str);
            failed = output(name, &out, cwd, self.style, io) != 0;
            timing.add("write", start.elapsed(), None);
        }
        let as_json = |id: &str| matches.get_one::<String>(id).map(|v| v == "json");
        let statistics = as_json("statistics").map(|json| if json { statistics.json() } else { statistics.table() });
        let timing = as_json("timing").map(|json| if json { timing.json() } else { timing.table() });
        for text in [statistics, timing].into_iter().flatten() {
            // An error stream that is closed takes no report.
            let _ = io.stderr.write_all(text.as_bytes());
        }
        failed.into()
    }

    /// One part, from text to text. The error carries what a reproducer needs, if a pass failed.
    fn part(
        &self,
        manager: &mut Manager,
        pipeline: &Pipeline,
        dialects: &session::Dialects,
        sources: &SourceMap,
        part: SourceId,
        wrong: Vec<Diagnostic>,
    ) -> Result<String, Option<Failure>> {
        let mut bad = !wrong.is_empty();
        let tell = |list: Vec<Diagnostic>| {
            let any = list.iter().any(|d| d.severity == Severity::Error);
            list.into_iter().for_each(|d| manager.sink.diagnostic(d));
            any
        };
        tell(wrong);
        let start = Instant::now();
        let loaded = session::parse_part(sources, part, dialects, self.allow_unregistered);
        let parsing = start.elapsed();
        let mut ir = match loaded {
            Ok((ir, list)) => {
                bad |= tell(list);
                ir
            }
            Err(list) => {
                tell(list);
                return Err(None);
            }
        };
        let start = Instant::now();
        let root = ir.module();
        bad |= tell(dialects.verify(&mut ir, root));
        let verifying = start.elapsed();
        let ops = self.config.timing.then(|| ir.count_ops());
        manager.timing.add("parse", parsing, ops);
        manager.timing.add("verify", verifying, None);
        if bad {
            return Err(None);
        }
        manager.run(&mut ir, pipeline).map_err(Some)?;
        let start = Instant::now();
        let text = print(&ir, manager.registry, &self.config.print);
        manager.timing.add("print", start.elapsed(), None);
        Ok(text)
    }

    fn reproduce(&self, failure: &Failure, file: &str, matches: &ArgMatches, cwd: &Path, console: &Console) {
        let Some(before) = &failure.before else { return };
        let mut options = Vec::new();
        for id in ["load-dialect", "load-rules"] {
            options.extend(matches.get_many::<String>(id).into_iter().flatten().map(|v| format!("--{id}={v}")));
        }
        if self.allow_unregistered {
            options.push("--allow-unregistered-dialect".into());
        }
        if !self.config.verify_each {
            options.push("--verify-each=false".into());
        }
        options.extend(matches.get_one::<u64>("check-execution").map(|seed| format!("--check-execution={seed}")));
        let reproducer = Reproducer { pipeline: failure.pipeline.clone(), options, failure: failure.message.clone() };
        let text = reproducer.write(before);
        match io::write_output(file, text.as_bytes(), cwd, &mut std::io::sink()) {
            Ok(()) => console.show(&[Diagnostic::new(
                Severity::Note,
                crate::support::diag::Place::None,
                format!("wrote '{file}', which shows this again: rinductor-opt --run-reproducer {file}"),
            )]),
            Err(message) => console.show(&[Diagnostic::error_nowhere(message)]),
        }
    }
}

/// Messages and prints, to standard error.
struct Console<'a> {
    sources: &'a SourceMap,
    style: Style,
    color: bool,
    /// Only remarks that match are shown.
    remarks: Option<&'a Regex>,
    stderr: RefCell<&'a mut dyn Write>,
    /// Diagnostics are kept instead of shown.
    collected: Option<RefCell<Vec<Diagnostic>>>,
}

impl Console<'_> {
    fn show(&self, list: &[Diagnostic]) {
        self.text(&render(list, self.sources, self.style, self.color));
    }
}

impl Sink for Console<'_> {
    fn diagnostic(&self, d: Diagnostic) {
        if d.severity == Severity::Remark && !self.remarks.is_some_and(|r| r.is_match(&d.message)) {
            return;
        }
        match &self.collected {
            Some(list) => list.borrow_mut().push(d),
            None => self.show(&[d]),
        }
    }

    fn text(&self, text: &str) {
        // An error stream that is closed takes no message.
        let _ = self.stderr.borrow_mut().write_all(text.as_bytes());
    }
}
