//! Runs the command lines of a test: pipelines of built-in commands, of tools in this process, and of programs.
//!
//! Stages in this process run one after the other on byte buffers; neighbouring programs run at the same time, joined by
//! pipes of the system. So a pipeline that only has the project's tools starts no process and no thread.

use std::fs::File;
use std::io::{self, PipeReader, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::Stdio;
use std::thread::JoinHandle;

use crate::builtins::{self, Output, diff::Mismatch};
use crate::config::normal;
use crate::files::{self, MOST, TOO_LONG};
use crate::shell::glob;
use crate::shell::lexer::Word;
use crate::shell::parser::{Command, CommandLine, Join, Pipeline};
use crate::shell::process::{self, Control, Setting};
use crate::shell::redirect::{self, RedirectError, Stream, Streams, Written};
use crate::tool::{Collected, Environment, SharedBuffer, ToolCall};
use crate::toolbox::{Found, Toolbox};

/// What one command did, for the log.
#[derive(Clone, Debug, Default)]
pub struct CommandResult {
    /// The words as the script has them.
    pub words: Vec<String>,
    /// What it wrote to standard output that went nowhere else.
    pub stdout: Vec<u8>,
    /// The same for standard error.
    pub stderr: Vec<u8>,
    /// The exit status; negative for a signal.
    pub exit: i32,
    /// What a failed command wrote to files by redirection: name and text.
    pub outputs: Vec<(String, Vec<u8>)>,
    /// Whether the time of the test was over.
    pub timed_out: bool,
    /// The texts that a `diff` found to differ.
    pub mismatch: Option<Mismatch>,
    /// The check file and the input of a FileCheck that found no directive, where `--draft` may write some.
    pub unchecked: Option<Vec<u8>>,
}

/// Why a script cannot go on.
#[derive(Debug)]
pub enum ShellError {
    /// A command that the shell cannot run; the test fails with status 127.
    Command(Vec<String>, String),
    /// Something about the test that makes it impossible to run; it is unresolved.
    Unresolved(String),
}

/// The state of the shell between the lines of a test.
pub struct Shell<'a> {
    /// The working directory.
    pub cwd: PathBuf,
    /// The environment.
    pub env: Environment,
    /// What commands stand for.
    pub toolbox: &'a Toolbox,
    /// How the test is stopped.
    pub control: &'a Control,
    /// Whether a pipeline fails when any of its commands does.
    pub pipefail: bool,
    /// The commands that were run so far.
    pub results: Vec<CommandResult>,
    /// Calls of split-file so far: the file that was split and the directory of its parts.
    pub splits: Vec<(PathBuf, PathBuf)>,
    directories: Vec<PathBuf>,
    umask: Option<String>,
    limits: Vec<(char, String)>,
}

/// `not`, `not --crash` and `!` before a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Negation {
    Not,
    NotCrash,
    Bang,
}

/// What a stage leaves for the next one to read.
enum Flow {
    Nothing,
    Bytes(Vec<u8>),
    Pipe(PipeReader),
}

/// A stage that has been started, or is done.
struct Stage {
    result: CommandResult,
    negations: Vec<Negation>,
    written: Vec<Written>,
    process: Option<process::Running>,
    stdout: Option<JoinHandle<Collected>>,
    stderr: Option<JoinHandle<Collected>>,
    /// Whether it wrote more than is kept.
    cut: bool,
}

/// The names that the shell runs itself when they stand alone.
const ALONE: [&str; 10] = ["cd", "export", "mkdir", "popd", "pushd", "rm", "ulimit", "umask", ":", "@echo"];

impl<'a> Shell<'a> {
    /// A shell at the beginning of a test.
    pub fn new(cwd: PathBuf, env: Environment, toolbox: &'a Toolbox, control: &'a Control, pipefail: bool) -> Self {
        let (results, splits, directories, umask, limits) = Default::default();
        Shell { cwd, env, toolbox, control, pipefail, results, splits, directories, umask, limits }
    }

    /// Runs a line and gives its exit status; none if the time ran out before.
    pub fn run(&mut self, line: &CommandLine) -> Result<Option<i32>, ShellError> {
        if line.rest.iter().any(|(join, _)| *join == Join::Background) {
            return Err(ShellError::Unresolved("unsupported shell operator: '&'".to_string()));
        }
        let mut status = self.pipeline(&line.first)?;
        for (join, pipeline) in &line.rest {
            let run = match join {
                Join::Then => true,
                Join::And => status == Some(0),
                Join::Or => status.is_some_and(|s| s != 0),
                Join::Background => false,
            };
            if run {
                status = self.pipeline(pipeline)?;
            }
        }
        Ok(status)
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Result<Option<i32>, ShellError> {
        if self.control.timed_out() {
            return Ok(None);
        }
        let mut stages = Vec::new();
        let mut flow = Flow::Nothing;
        for (index, command) in pipeline.iter().enumerate() {
            let takes_stdin = |c: &Command| !c.redirects.iter().any(|r| r.op == "<");
            let feeds_next = pipeline.get(index + 1).is_some_and(takes_stdin);
            let words: Vec<String> = command.words.iter().map(|w| w.text.clone()).collect();
            let stage = self.stage(command, &words, pipeline.len() == 1, feeds_next, &mut flow);
            match stage {
                Ok(stage) => stages.push(stage),
                Err(error) => {
                    // What was started is not left behind.
                    drop(flow);
                    self.finish(stages);
                    return match error {
                        StageError::Command(message) => Err(ShellError::Command(words, message)),
                        StageError::Unresolved(message) => Err(ShellError::Unresolved(message)),
                        StageError::Environment(lines) => {
                            let stdout = lines.into_bytes();
                            self.results.push(CommandResult { words, stdout, ..CommandResult::default() });
                            Ok(Some(0))
                        }
                    };
                }
            }
        }
        drop(flow);
        let exits = self.finish(stages);
        let last_failure = exits.iter().rev().find(|&&e| e != 0);
        Ok(Some(if self.pipefail { last_failure.copied().unwrap_or(0) } else { *exits.last().unwrap_or(&0) }))
    }

    /// Waits for all stages, records their results, and gives their exit statuses.
    fn finish(&mut self, stages: Vec<Stage>) -> Vec<i32> {
        let mut exits = Vec::new();
        for mut stage in stages {
            let mut cut = stage.cut;
            let mut collected = |thread: Option<JoinHandle<Collected>>, into: &mut Vec<u8>| {
                if let Some(collected) = thread.and_then(|t| t.join().ok()) {
                    into.extend_from_slice(&collected.bytes);
                    cut |= collected.cut;
                }
            };
            collected(stage.stdout.take(), &mut stage.result.stdout);
            collected(stage.stderr.take(), &mut stage.result.stderr);
            if let Some(process) = stage.process.take() {
                stage.result.exit = process.wait(self.control);
            }
            stage.result.exit = negated(stage.result.exit, &stage.negations);
            if cut {
                // What nobody has seen cannot be as it should.
                stage.result.exit = stage.result.exit.max(1);
                stage.result.stderr.extend_from_slice(format!("error: the output was cut: {TOO_LONG}\n").as_bytes());
            }
            stage.result.timed_out = self.control.timed_out();
            if stage.result.exit != 0 {
                // A device may have no end.
                for written in stage.written.iter().filter(|w| w.path.is_file()) {
                    if let Ok(text) = files::read(&written.path) {
                        stage.result.outputs.push((written.name.clone(), text));
                    }
                }
            }
            exits.push(stage.result.exit);
            self.results.push(stage.result);
        }
        exits
    }

    fn stage(
        &mut self,
        command: &Command,
        shown: &[String],
        alone: bool,
        feeds_next: bool,
        flow: &mut Flow,
    ) -> Result<Stage, StageError> {
        let (words, env, negations) = self.prefixes(command)?;
        let mut stage = Stage {
            result: CommandResult { words: shown.to_vec(), ..CommandResult::default() },
            negations,
            written: Vec::new(),
            process: None,
            stdout: None,
            stderr: None,
            cut: false,
        };
        let Some((first, rest)) = words.split_first() else {
            // As in lit, `env` without a command shows the environment in the log, and the pipeline ends there.
            let env = env.as_ref().unwrap_or(&self.env);
            let lines: String = env.iter().map(|(k, v)| format!("{k}={v}\n")).collect();
            return Err(StageError::Environment(lines));
        };
        let name = self.expanded(first).into_iter().next().unwrap_or_default();
        // `echo` is as strict as the others where it stands alone, so that a test means the same for lit.
        if ALONE.contains(&name.as_str()) || (name == "echo" && alone) {
            if env.is_some() {
                return Err(StageError::Command(format!("Error: 'env' cannot call '{name}'")));
            }
            if stage.negations.contains(&Negation::NotCrash) {
                return Err(StageError::Command(format!("Error: 'not --crash' cannot call '{name}'")));
            }
            if !alone {
                return Err(StageError::Command(format!("Unsupported: '{name}' cannot be part of a pipeline")));
            }
            let rest = rest.iter().map(|w| w.text.clone()).collect::<Vec<_>>();
            let globbed: Vec<String> = words[1..].iter().flat_map(|w| self.expanded(w)).collect();
            // As in lit, only `echo` looks at its redirections.
            let streams = if name.ends_with("echo") { self.streams(command)? } else { Streams::default() };
            stage.written = streams.written.clone();
            if !matches!((&streams.stdin, &streams.stderr), (Stream::Default, Stream::Default)) {
                return Err(StageError::Command(format!("stdin and stderr redirects not supported for {name}")));
            }
            let output = self.alone(&name, &rest, &globbed).map_err(StageError::Command)?;
            self.deliver(&mut stage, output, streams, feeds_next, flow);
            return Ok(stage);
        }
        let streams = self.streams(command)?;
        stage.written = streams.written.clone();
        let mut args = vec![name];
        args.extend(rest.iter().flat_map(|w| self.expanded(w)));
        if matches!(args[0].as_str(), "cat" | "diff" | "echo" | "count" | "split-file" | "true" | "false") {
            let stdin = self.input(&streams, flow)?;
            let control = self.control;
            let output = control.in_process(|| self.stream_builtin(&args, &stdin, &mut stage.result));
            self.deliver(&mut stage, output, streams, feeds_next, flow);
            return Ok(stage);
        }
        let own_environment =
            env.as_ref().is_some_and(|e| *e != self.env) || self.umask.is_some() || !self.limits.is_empty();
        let command_env = env.as_ref().unwrap_or(&self.env);
        let crash = stage.negations.contains(&Negation::NotCrash);
        let default_path = self.env.get("PATH").map_or("", String::as_str);
        let find = |own_process| self.toolbox.find(&args[0], &self.cwd, command_env, default_path, own_process);
        let found = match find(crash) {
            // A tool that does not read the environment it is called with cannot see what the test sets for it.
            Some(Found::InProcess(tool)) if own_environment && !tool.reads_environment() => find(true),
            found => found,
        };
        match found {
            None => Err(StageError::Command(format!("'{}': command not found", args[0]))),
            Some(Found::InProcess(tool)) => {
                let stdin = self.input(&streams, flow)?;
                let stdout = SharedBuffer::default();
                let merged = matches!(streams.stderr, Stream::ToStdout) && matches!(streams.stdout, Stream::Default);
                let stderr = if merged { stdout.clone() } else { SharedBuffer::default() };
                let (mut out, mut err) = (stdout.clone(), stderr.clone());
                let call = ToolCall {
                    args: &args[1..],
                    stdin: &stdin,
                    stdout: &mut out,
                    stderr: &mut err,
                    cwd: &self.cwd,
                    env: command_env,
                };
                self.control.count_call();
                let code = self.control.in_process(|| catch_unwind(AssertUnwindSafe(|| tool.run(call))));
                let code = code.unwrap_or_else(|panic| {
                    let text = crate::run::panics::describe(panic.as_ref());
                    let _ = writeln!(err, "{}: crashed: {text}", args[0]);
                    -6
                });
                let (stdout, stderr) = (stdout.take(), stderr.take());
                stage.cut = stdout.cut || stderr.cut;
                let output = Output { code, stdout: stdout.bytes, stderr: stderr.bytes };
                if code == 2 && output.stderr.windows(22).any(|w| w == b"no check strings found") {
                    stage.result.unchecked = Some(stdin);
                }
                self.deliver(&mut stage, output, streams, feeds_next, flow);
                Ok(stage)
            }
            Some(Found::Program(path, before)) => {
                if !before.is_empty() {
                    args.splice(0..1, [path.to_string_lossy().into_owned()].into_iter().chain(before));
                }
                let setting =
                    Setting { cwd: &self.cwd, env: command_env, umask: self.umask.as_deref(), limits: &self.limits };
                start(&mut stage, &path, &args, &setting, streams, feeds_next, flow, self.control)?;
                Ok(stage)
            }
        }
    }

    fn streams(&self, command: &Command) -> Result<Streams, StageError> {
        redirect::open(command, &self.cwd).map_err(|error| match error {
            RedirectError::Unsupported(message) => StageError::Command(message),
            RedirectError::Open(message) => StageError::Unresolved(message),
        })
    }

    fn expanded(&self, word: &Word) -> Vec<String> {
        if word.glob { glob::expand(&word.text, &self.cwd) } else { vec![word.text.clone()] }
    }

    /// Takes `env`, `not` and `!` off the front. The environment is there if `env` was.
    #[allow(clippy::type_complexity, reason = "the three parts are named where they are taken apart")]
    fn prefixes(&self, command: &Command) -> Result<(Vec<Word>, Option<Environment>, Vec<Negation>), StageError> {
        let mut words: Vec<Word> = Vec::new();
        for word in &command.words {
            words.push(Word { text: read_files(&word.text, &self.cwd).map_err(StageError::Command)?, glob: word.glob });
        }
        let mut env: Option<Environment> = None;
        let mut negations = Vec::new();
        let need = |words: &[Word], name: &str| {
            if words.is_empty() {
                return Err(StageError::Command(format!("Error: '{name}' requires a subcommand")));
            }
            Ok(())
        };
        loop {
            match words.first().map(|w| w.text.as_str()) {
                Some("env") => {
                    let used = set_variables(env.get_or_insert_with(|| self.env.clone()), &words[1..]);
                    words.drain(..1 + used);
                    if words.is_empty() {
                        break;
                    }
                }
                Some("not") => {
                    words.remove(0);
                    if words.first().is_some_and(|w| w.text == "--crash") {
                        words.remove(0);
                        negations.push(Negation::NotCrash);
                    } else {
                        negations.push(Negation::Not);
                    }
                    need(&words, "not")?;
                }
                Some("!") => {
                    words.remove(0);
                    negations.push(Negation::Bang);
                    need(&words, "!")?;
                }
                _ => break,
            }
        }
        Ok((words, env, negations))
    }

    /// The built-in commands that cannot be part of a pipeline.
    fn alone(&mut self, name: &str, args: &[String], globbed: &[String]) -> Result<Output, String> {
        let one = || args.first().filter(|_| args.len() == 1).ok_or(format!("'{name}' supports only one argument"));
        match name {
            "cd" => self.cwd = normal(&self.cwd.join(one()?)),
            "pushd" => {
                let target = normal(&self.cwd.join(one()?));
                self.directories.push(std::mem::replace(&mut self.cwd, target));
            }
            "popd" => {
                if !args.is_empty() {
                    return Err("'popd' does not support arguments".to_string());
                }
                self.cwd = self.directories.pop().ok_or("popd: directory stack empty")?;
            }
            "export" => {
                let word = Word { text: one()?.clone(), glob: false };
                set_variables(&mut self.env, &[word]);
            }
            "mkdir" => return builtins::files::mkdir(globbed, &self.cwd),
            "rm" => return builtins::files::rm(globbed, &self.cwd),
            "umask" => {
                let mask = one()?;
                if mask.is_empty() || !mask.bytes().all(|b| (b'0'..=b'7').contains(&b)) {
                    return Err(format!("Error: 'umask': invalid octal number '{mask}'"));
                }
                self.umask = Some(mask.clone());
            }
            "ulimit" => {
                let [option, value] = args else { return Err("'ulimit' requires two arguments".to_string()) };
                let letter = match option.as_str() {
                    "-v" => 'v',
                    "-n" => 'n',
                    "-s" => 's',
                    "-f" => 'f',
                    _ => return Err(format!("'ulimit' does not support option: {option}")),
                };
                let number: Option<u64> = value.parse().ok();
                // Here -f counts bytes; the command of the system shell counts blocks of 512.
                let value = match (number, letter) {
                    (Some(bytes), 'f') => bytes.div_ceil(512).to_string(),
                    (Some(number), _) => number.to_string(),
                    (None, _) if value == "unlimited" => value.clone(),
                    _ => return Err(format!("Error: 'ulimit': invalid number '{value}'")),
                };
                self.limits.retain(|(l, _)| *l != letter);
                self.limits.push((letter, value));
            }
            "echo" | "@echo" => return Ok(Output::text(builtins::echo::alone(globbed))),
            _ => {}
        }
        Ok(Output::default())
    }

    /// The built-in commands that read and write streams.
    fn stream_builtin(&mut self, args: &[String], stdin: &[u8], result: &mut CommandResult) -> Output {
        let (name, args) = (args[0].as_str(), &args[1..]);
        match name {
            "cat" => builtins::files::cat(args, stdin, &self.cwd),
            "echo" => Output::text(builtins::echo::piped(args)),
            "count" => builtins::count::count(args, stdin),
            "false" => Output { code: 1, ..Output::default() },
            "diff" => {
                let (output, mismatch) = builtins::diff::diff(args, stdin, &self.cwd);
                result.mismatch = mismatch.map(|mut m| {
                    // The names are made independent of the working directory, for whoever mends the files.
                    for name in [&mut m.left, &mut m.right] {
                        if name != "-" {
                            *name = self.cwd.join(&*name).to_string_lossy().into_owned();
                        }
                    }
                    m
                });
                output
            }
            "split-file" => {
                let output = builtins::split_file::split_file(args, stdin, &self.cwd);
                let mut files = args.iter().filter(|a| !a.starts_with('-'));
                if let (Some(source), Some(parts)) = (files.next(), files.next()) {
                    self.splits.push((self.cwd.join(source), self.cwd.join(parts)));
                }
                output
            }
            _ => Output::default(),
        }
    }

    /// All of a stage's standard input.
    fn input(&self, streams: &Streams, flow: &mut Flow) -> Result<Vec<u8>, StageError> {
        let flow = std::mem::replace(flow, Flow::Nothing);
        let unreadable = |e: io::Error| StageError::Unresolved(format!("cannot read standard input: {e}"));
        match (&streams.stdin, flow) {
            (Stream::File(file), _) => files::read_all(file).map_err(unreadable),
            (_, Flow::Bytes(ready)) => Ok(ready),
            (_, Flow::Pipe(pipe)) => files::read_all(pipe).map_err(unreadable),
            (_, Flow::Nothing) => Ok(Vec::new()),
        }
    }

    /// Sends what a stage in this process wrote where its redirections say.
    fn deliver(&self, stage: &mut Stage, output: Output, streams: Streams, feeds_next: bool, flow: &mut Flow) {
        stage.result.exit = output.code;
        let (mut stdout, mut stderr) = (output.stdout, output.stderr);
        let mut lost = None;
        let mut to_file = |mut file: File, bytes: &[u8]| {
            if let Err(e) = file.write_all(bytes) {
                lost = Some(e);
            }
        };
        // Standard error that follows standard output is appended to it; a tool whose two streams were one stream all
        // along has written nothing here.
        let mut flows_to_next = None;
        match (streams.stdout, streams.stderr) {
            (Stream::File(out), Stream::ToStdout) => {
                to_file(out, &stdout);
                // As in lit: standard error takes the place that standard output had.
                flows_to_next = Some(std::mem::take(&mut stderr));
                stdout.clear();
            }
            (Stream::File(out), err) => {
                to_file(out, &stdout);
                stdout.clear();
                if let Stream::File(err) = err {
                    to_file(err, &stderr);
                    stderr.clear();
                }
            }
            (_, Stream::ToStdout) => {
                stdout.append(&mut stderr);
                flows_to_next = Some(std::mem::take(&mut stdout));
            }
            (_, Stream::File(err)) => {
                to_file(err, &stderr);
                stderr.clear();
                flows_to_next = Some(std::mem::take(&mut stdout));
            }
            (_, Stream::Default) => flows_to_next = Some(std::mem::take(&mut stdout)),
        }
        let flowing = flows_to_next.unwrap_or_default();
        if feeds_next {
            *flow = Flow::Bytes(flowing);
        } else {
            *flow = Flow::Nothing;
            stdout = flowing;
        }
        if let Some(e) = lost {
            stderr.extend_from_slice(format!("cannot write redirected output: {e}\n").as_bytes());
            stage.result.exit = 1;
        }
        stage.result.stdout = stdout;
        stage.result.stderr = stderr;
    }
}

/// Why a stage does not run; as [`ShellError`], which knows the words of the command too, or `env` without a command.
enum StageError {
    Environment(String),
    Command(String),
    Unresolved(String),
}

/// Starts a program as a stage of a pipeline.
#[allow(clippy::too_many_arguments, reason = "the parts of one stage, which the caller holds apart")]
fn start(
    stage: &mut Stage,
    program: &std::path::Path,
    args: &[String],
    setting: &Setting<'_>,
    streams: Streams,
    feeds_next: bool,
    flow: &mut Flow,
    control: &Control,
) -> Result<(), StageError> {
    let failed =
        |e: io::Error| StageError::Command(format!("Could not create process ({}) due to {e}", program.display()));
    let mut feed: Option<(io::PipeWriter, Vec<u8>)> = None;
    let stdin = match (streams.stdin, std::mem::replace(flow, Flow::Nothing)) {
        (Stream::File(file), _) => Stdio::from(file),
        (_, Flow::Pipe(pipe)) => Stdio::from(pipe),
        (_, Flow::Bytes(bytes)) if !bytes.is_empty() => {
            let (reader, writer) = io::pipe().map_err(failed)?;
            feed = Some((writer, bytes));
            Stdio::from(reader)
        }
        _ => Stdio::null(),
    };
    let pipe = || io::pipe().map_err(failed);
    // `flowing` is what the next stage reads: standard output, or standard error where that was put in its place.
    let mut flowing = None;
    let mut error_pipe = None;
    let (stdout, stderr) = match (streams.stdout, streams.stderr) {
        (Stream::File(out), Stream::File(err)) => (Stdio::from(out), Stdio::from(err)),
        (Stream::File(out), Stream::ToStdout) => {
            let (reader, writer) = pipe()?;
            flowing = Some(reader);
            (Stdio::from(out), Stdio::from(writer))
        }
        (Stream::File(out), Stream::Default) => {
            let (reader, writer) = pipe()?;
            error_pipe = Some(reader);
            (Stdio::from(out), Stdio::from(writer))
        }
        (_, err) => {
            let (reader, writer) = pipe()?;
            flowing = Some(reader);
            let err = match err {
                Stream::File(err) => Stdio::from(err),
                Stream::ToStdout => Stdio::from(writer.try_clone().map_err(failed)?),
                Stream::Default => {
                    let (reader, writer) = pipe()?;
                    error_pipe = Some(reader);
                    Stdio::from(writer)
                }
            };
            (Stdio::from(writer), err)
        }
    };
    let process = process::start(program, args, setting, (stdin, stdout, stderr), control).map_err(failed)?;
    stage.process = Some(process);
    if let Some((mut writer, bytes)) = feed {
        // The program may end without reading all of it.
        std::thread::spawn(move || drop(writer.write_all(&bytes)));
    }
    let collect = |mut reader: PipeReader| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = (&mut reader).take(MOST as u64).read_to_end(&mut bytes);
            // The end of the reader ends a program that goes on writing.
            let cut = bytes.len() == MOST && reader.read(&mut [0]).is_ok_and(|n| n > 0);
            Collected { bytes, cut }
        })
    };
    stage.stderr = error_pipe.map(collect);
    match flowing {
        Some(reader) if feeds_next => *flow = Flow::Pipe(reader),
        Some(reader) => stage.stdout = Some(collect(reader)),
        None => {}
    }
    Ok(())
}

/// The exit status after `not`, `not --crash` and `!`.
fn negated(exit: i32, negations: &[Negation]) -> i32 {
    let crash = negations.contains(&Negation::NotCrash);
    if !crash && negations != [Negation::Not] {
        // Only the number of negations counts; a crash is a failure like others.
        return match negations.len() {
            0 => exit,
            count if count % 2 == 1 => i32::from(exit == 0),
            _ => i32::from(exit != 0),
        };
    }
    negations.iter().rev().fold(exit, |exit, negation| match negation {
        Negation::NotCrash => i32::from(exit >= 0),
        // A crash is no failure that a test may expect without saying so.
        Negation::Not => i32::from(exit <= 0),
        Negation::Bang => i32::from(exit == 0),
    })
}

/// Applies the arguments of `env` or `export` and gives how many they were.
fn set_variables(env: &mut Environment, words: &[Word]) -> usize {
    let mut unset = false;
    for (index, word) in words.iter().enumerate() {
        match word.text.as_str() {
            "-u" => unset = true,
            "-i" => env.clear(),
            name if unset => {
                unset = false;
                env.remove(name);
            }
            assignment => match assignment.split_once('=') {
                Some((name, value)) => drop(env.insert(name.to_string(), value.to_string())),
                None => return index,
            },
        }
    }
    words.len()
}

/// Replaces `%{readfile:NAME}` by the text of the file.
fn read_files(text: &str, cwd: &std::path::Path) -> Result<String, String> {
    const START: &str = "%{readfile:";
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(START) {
        let tail = &rest[at + START.len()..];
        let Some(end) = tail.find('}') else { break };
        let path = cwd.join(&tail[..end]);
        let content = std::fs::read_to_string(&path)
            .map_err(|_| format!("File specified in readfile substitution does not exist: {}", path.display()))?;
        out.push_str(&rest[..at]);
        out.push_str(&content);
        rest = &tail[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}
