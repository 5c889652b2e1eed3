//! `rinductor-reduce`: makes an IR file smaller as long as a script says that it is still interesting.
//!
//! The script gets the path of a file as its last argument. It exits with 0 if the file is interesting, that is, if it still shows what is looked
//! for, as for creduce, cvise and llvm-reduce; mlir-reduce's scripts exit with 1 then, and run with `--interesting-status=1`.

use super::args::{self, required, value};
use super::program::{self, Problem, Program};
use super::{Io, io, session};
use crate::ir::Ir;
use crate::pass::OpInfos;
use crate::reduce::{Progress, Surroundings, reduce};
use crate::support::{Diagnostic, Severity, SourceMap};
use crate::text::{PrintOptions, print};
use clap::{ArgAction, Command};
use rustix::process::{Pid, Signal, kill_process_group};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

fn command() -> Command {
    args::common(Command::new("rinductor-reduce"))
        .about("Makes an IR file smaller as long as a script says that it is still interesting")
        .override_usage("rinductor-reduce --test SCRIPT [OPTIONS] INPUT")
        .after_help(
            "The script is called with the path of a file as its last argument, in the current directory; what it writes is dropped.\n\
             It exits with 0 if the file is interesting (as for creduce and llvm-reduce). It is called for several files at a time.\n\n\
             A script for a pass that panics:\n\n    #!/bin/sh\n    rinductor-opt \"$1\" -p loops-fuse 2>&1 | grep -q 'panicked'\n",
        )
        .arg(args::required_input())
        .arg(required(value("test", "SCRIPT", "The program that says whether a file is interesting")))
        .arg(value("test-arg", "ARG", "An argument for the script, before the file; may be given several times").action(ArgAction::Append).allow_hyphen_values(true))
        .arg(
            value("interesting-status", "N", "The exit status of the script for an interesting file")
                .default_value("0")
                .value_parser(clap::value_parser!(i32).range(0..256)),
        )
        .arg(value("output", "FILE", "Where the smallest file goes, each time that a smaller one is found; - for standard output, at the end").short('o').default_value("-"))
        .arg(
            value("jobs", "N", "How many scripts run at a time; 0 for as many as there are processors")
                .short('j')
                .default_value("0")
                .value_parser(clap::value_parser!(usize)),
        )
        .arg(
            value("timeout", "SECONDS", "A script that takes longer is ended, and its file is not interesting; 0 for no limit")
                .default_value("300")
                .value_parser(seconds),
        )
        .arg(args::flag("quiet", "Show no progress"))
}

/// A time limit in seconds.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().map_err(|e| e.to_string())?;
    Duration::try_from_secs_f64(seconds).map_err(|_| "a number of seconds from 0 is wanted".to_string())
}

/// The program. Gives its exit code: 1 when the input is wrong or not interesting, or the output cannot be written.
pub fn main_reduce(args: &[String], io: &mut Io, cwd: &Path) -> i32 {
    program::main(command(), args, io, cwd, &mut run)
}

/// Reduces and writes what is left.
fn run(program: &mut Program, io: &mut Io) -> Result<i32, Problem> {
    let (ir, _) = program.module(io)?;
    let Program { matches, cwd, dialects, .. } = &*program;
    let name = program.input();
    let allow = matches.get_flag("allow-unregistered-dialect");
    let text = |id: &str| matches.get_one::<String>(id).map_or("", String::as_str);
    let number = |id: &str| matches.get_one::<usize>(id).copied().unwrap_or(0);
    let timeout = matches.get_one::<Duration>("timeout").copied().unwrap_or_default();
    let folder =
        tempfile::tempdir().map_err(|e| format!("cannot make a folder for files to test: {}", io::plain(&e)))?;
    // A name with a slash is a path from here, another is looked for in PATH, unless there is such a file here.
    let given = text("test");
    let here = cwd.join(given);
    let file = if given.contains('/') || here.is_file() { here } else { PathBuf::from(given) };
    let script = Script {
        program: file,
        args: matches.get_many::<String>("test-arg").into_iter().flatten().cloned().collect(),
        interesting: matches.get_one::<i32>("interesting-status").copied().unwrap_or(0),
        timeout: (!timeout.is_zero()).then_some(timeout),
        cwd,
        folder: folder.path().to_path_buf(),
        file: Path::new(name).file_name().map_or("input.ir".into(), |n| n.to_string_lossy().into_owned()),
        calls: AtomicUsize::new(0),
    };
    let jobs = match number("jobs") {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    };
    let output = text("output");
    let quiet = matches.get_flag("quiet");
    let whole = print(&ir, &dialects.registry, &PrintOptions::default());
    match script.run(&whole)? {
        Ended::Status(status) if status == script.interesting => {}
        ended => return Err(not_interesting(name, given, &ended, script.interesting).into()),
    }
    let (size, ops) = (whole.len(), ir.count_ops());
    let work = Work { dialects, allow, script: &script, output, failure: Mutex::default() };
    let mut shown = Instant::now();
    let mut progress = |p: &Progress| {
        // A terminal has one line that changes; a file gets a line from time to time.
        let (pause, start, end) = if io.color { (0.1, "\r\x1b[K", "") } else { (2.0, "", "\n") };
        if quiet || shown.elapsed().as_secs_f64() < pause {
            return;
        }
        shown = Instant::now();
        let line =
            format!("{start}{} ops, {} bytes; {} scripts ran; leaving out {}{end}", p.ops, p.bytes, p.judged, p.edit);
        // An error stream that is closed takes no report.
        let _ = io.stderr.write_all(line.as_bytes());
    };
    let reduced = reduce(ir, jobs, &work, &mut progress)?;
    if let Some(why) = work.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(why.into());
    }
    if !quiet {
        let clear = if io.color { "\r\x1b[K" } else { "" };
        let line = format!(
            "{clear}{name}: {ops} ops, {size} bytes -> {} ops, {} bytes; the script ran {} times\n",
            reduced.ops,
            reduced.text.len(),
            reduced.judged + 1
        );
        // An error stream that is closed takes no report.
        let _ = io.stderr.write_all(line.as_bytes());
    }
    program.write(output, &reduced.text, io)?;
    Ok(0)
}

fn not_interesting(name: &str, script: &str, ended: &Ended, wanted: i32) -> String {
    let what = match ended {
        Ended::Status(status) => format!("exits with {status}"),
        Ended::Signal => "is ended by a signal".to_string(),
        Ended::TimedOut => "takes longer than --timeout allows".to_string(),
    };
    format!(
        "there is nothing to reduce: for '{name}' itself, '{script}' {what}; a file is interesting when it exits with {wanted}"
    )
}

/// How a script ended.
enum Ended {
    Status(i32),
    Signal,
    TimedOut,
}

/// The script that judges files.
struct Script<'a> {
    program: PathBuf,
    args: Vec<String>,
    /// The exit status for an interesting file.
    interesting: i32,
    timeout: Option<Duration>,
    cwd: &'a Path,
    /// Where files to judge go, each in a folder of its own.
    folder: PathBuf,
    /// The name that they have there.
    file: String,
    calls: AtomicUsize,
}

impl Script<'_> {
    /// Calls the script for a text.
    ///
    /// # Errors
    /// It cannot be called at all.
    fn run(&self, text: &str) -> Result<Ended, String> {
        use std::os::unix::process::CommandExt;
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let folder = self.folder.join(number.to_string());
        let file = folder.join(&self.file);
        let write = std::fs::create_dir(&folder).and_then(|()| std::fs::write(&file, text));
        write.map_err(|e| format!("cannot write a file to test: {}", io::plain(&e)))?;
        let mut command = std::process::Command::new(&self.program);
        command.args(&self.args).arg(&file).current_dir(self.cwd);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // A group of its own, so that what the script starts ends with it.
        command.process_group(0);
        let ended = self.wait(&mut command);
        // What cannot be removed goes with the folder of all.
        let _ = std::fs::remove_dir_all(&folder);
        ended
    }

    fn wait(&self, command: &mut std::process::Command) -> Result<Ended, String> {
        let begun = Instant::now();
        let failed =
            |e: std::io::Error| format!("the script '{}' cannot be run: {}", self.program.display(), io::plain(&e));
        let mut child = command.spawn().map_err(failed)?;
        let Some(limit) = self.timeout else {
            return child.wait().map(ended).map_err(failed);
        };
        let mut pause = Duration::from_micros(200);
        loop {
            if let Some(status) = child.try_wait().map_err(failed)? {
                return Ok(ended(status));
            }
            if begun.elapsed() > limit {
                if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                    // It may have ended by itself just now.
                    let _ = kill_process_group(group, Signal::KILL);
                }
                return child.wait().map(|_| Ended::TimedOut).map_err(failed);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }
}

fn ended(status: std::process::ExitStatus) -> Ended {
    status.code().map_or(Ended::Signal, Ended::Status)
}

/// What the reduction asks for.
struct Work<'a> {
    dialects: &'a session::Dialects,
    allow: bool,
    script: &'a Script<'a>,
    /// Where smaller files go while the work goes on; `-` for nowhere.
    output: &'a str,
    /// Why the script could not be called, if it could not.
    failure: Mutex<Option<String>>,
}

impl Surroundings for Work<'_> {
    fn read(&self, text: &str) -> Option<Ir> {
        let mut sources = SourceMap::new();
        let part = sources.add("<candidate>", text).ok()?;
        let (mut ir, warnings) = session::parse_part(&sources, part, self.dialects, self.allow).ok()?;
        let root = ir.module();
        let wrong = warnings.iter().any(is_error) || self.dialects.verify(&mut ir, root).iter().any(is_error);
        (!wrong).then_some(ir)
    }

    fn print(&self, ir: &Ir) -> String {
        print(ir, &self.dialects.registry, &PrintOptions::default())
    }

    fn is_interesting(&self, text: &str) -> bool {
        match self.script.run(text) {
            Ok(Ended::Status(status)) => status == self.script.interesting,
            Ok(_) => false,
            Err(why) => {
                self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
                false
            }
        }
    }

    fn keep(&self, text: &str) -> Result<(), String> {
        if self.output != "-" {
            io::write_output(self.output, text.as_bytes(), self.script.cwd, &mut std::io::sink())?;
        }
        Ok(())
    }
}

fn is_error(d: &Diagnostic) -> bool {
    d.severity == Severity::Error
}
