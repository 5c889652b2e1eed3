//! The frame of the programs that read a module: the command line, the dialects, the input, and why a program stops.

use super::args::{self, fail, show};
use super::session::{self, Dialects};
use super::{Io, io};
use crate::ir::Ir;
use crate::pass::OpInfos;
use crate::support::diag::render::Style;
use crate::support::{Diagnostic, Severity, SourceId, SourceMap};
use crate::text::decode;
use clap::{ArgMatches, Command};
use std::path::Path;
use std::sync::Arc;

/// Why a program stops.
pub enum Problem {
    /// Errors, with places in the sources of the program if they have any.
    Diagnostics(Vec<Diagnostic>),
    /// The user has been told already.
    Shown,
}

impl From<String> for Problem {
    fn from(sentence: String) -> Self {
        Problem::Diagnostics(vec![Diagnostic::error_nowhere(sentence)])
    }
}

impl From<Diagnostic> for Problem {
    fn from(d: Diagnostic) -> Self {
        Problem::Diagnostics(vec![d])
    }
}

impl From<Vec<Diagnostic>> for Problem {
    fn from(list: Vec<Diagnostic>) -> Self {
        Problem::Diagnostics(list)
    }
}

/// A program whose command line is read and whose dialects are loaded.
pub struct Program<'a> {
    /// The command line.
    pub matches: ArgMatches,
    /// How diagnostics are shown.
    pub style: Style,
    /// The directory that names of files are relative to.
    pub cwd: &'a Path,
    /// All texts that diagnostics may point into.
    pub sources: SourceMap,
    /// The dialects that come with the compiler, and those of the command line.
    pub dialects: Arc<Dialects>,
}

/// What a program does: gives its exit code.
pub type Body<'b> = &'b mut dyn FnMut(&mut Program, &mut Io) -> Result<i32, Problem>;

/// Runs a program: reads the command line and shows what it asks to know, or else does what `body` says. Gives the exit code, which is 1 when
/// the program stops at a problem.
pub fn main(mut command: Command, args: &[String], io: &mut Io, cwd: &Path, body: Body) -> i32 {
    match args::start(&mut command, args, io, cwd) {
        Ok((matches, style)) => run(matches, style, io, cwd, body),
        Err(code) => code,
    }
}

/// As [`main`], with a command line that is read already.
pub fn run(matches: ArgMatches, style: Style, io: &mut Io, cwd: &Path, body: Body) -> i32 {
    let mut sources = SourceMap::new();
    let dialects = match Dialects::load(&matches, cwd, &mut sources) {
        Ok(dialects) => dialects,
        Err(errors) => {
            show(&errors, &sources, style, io);
            return 1;
        }
    };
    let mut program = Program { matches, style, cwd, sources, dialects };
    match body(&mut program, io) {
        Ok(code) => code,
        Err(problem) => {
            if let Problem::Diagnostics(list) = problem {
                show(&list, &program.sources, style, io);
            }
            1
        }
    }
}

impl Program<'_> {
    /// The value of an option, if it has one.
    pub fn text(&self, id: &str) -> Option<&str> {
        self.matches.get_one::<String>(id).map(String::as_str)
    }

    /// The name of the input, as the command line has it.
    pub fn input(&self) -> &str {
        self.text("input").unwrap_or("-")
    }

    /// Reads the input as one module and verifies it. The text that it was read from comes with it. Warnings are shown.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn module(&mut self, io: &mut Io) -> Result<(Ir, SourceId), Problem> {
        let name = self.input().to_string();
        let (text, bad_bytes) = decode(io::read_input(&name, self.cwd, io.stdin)?);
        let input = session::add(io::display_name(&name), &text, bad_bytes, false, &mut self.sources)?;
        let mut said: Vec<Diagnostic> = input.wrong.into_iter().map(|w| w.1).collect();
        let allow = self.matches.get_flag("allow-unregistered-dialect");
        let part = input.parts[0];
        let ir = match session::parse_part(&self.sources, part, &self.dialects, allow) {
            Ok((mut ir, more)) => {
                let root = ir.module();
                said.extend(more);
                said.extend(self.dialects.verify(&mut ir, root));
                Some(ir)
            }
            Err(more) => {
                said.extend(more);
                None
            }
        };
        match ir {
            Some(ir) if said.iter().all(|d| d.severity != Severity::Error) => {
                self.show(&said, io);
                Ok((ir, part))
            }
            _ => Err(said.into()),
        }
    }

    /// Writes an output: a file, or standard output for `-`.
    ///
    /// # Errors
    /// A sentence that names the file.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>, io: &mut Io) -> Result<(), String> {
        io::write_output(name, bytes.as_ref(), self.cwd, io.stdout)
    }

    /// Shows diagnostics.
    pub fn show(&self, list: &[Diagnostic], io: &mut Io) {
        show(list, &self.sources, self.style, io);
    }
}

/// Writes text to an output and gives the exit code.
pub fn output(name: &str, text: impl AsRef<[u8]>, cwd: &Path, style: Style, io: &mut Io) -> i32 {
    match io::write_output(name, text.as_ref(), cwd, io.stdout) {
        Ok(()) => 0,
        Err(message) => fail(message, style, io),
    }
}
