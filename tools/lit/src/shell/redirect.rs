//! Redirections of a command: what they mean, and the files that they open.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use crate::shell::glob;
use crate::shell::parser::{Command, Redirect};

/// Where one of the streams of a command goes.
#[derive(Debug, Default)]
pub enum Stream {
    /// Where it goes without redirection: the next command, or the log.
    #[default]
    Default,
    /// Standard error into standard output.
    ToStdout,
    /// A file.
    File(File),
}

/// A file that a command writes because of a redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The name as the command line has it.
    pub name: String,
    /// The file.
    pub path: PathBuf,
}

/// The streams of a command.
#[derive(Debug, Default)]
pub struct Streams {
    /// Standard input; `Default` or `File`.
    pub stdin: Stream,
    /// Standard output; `Default` or `File`.
    pub stdout: Stream,
    /// Standard error.
    pub stderr: Stream,
    /// The files written.
    pub written: Vec<Written>,
}

/// Why redirections cannot be set up.
#[derive(Debug, PartialEq, Eq)]
pub enum RedirectError {
    /// The shell does not do this; the command fails with status 127.
    Unsupported(String),
    /// A file cannot be opened; the test is unresolved.
    Open(String),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Plan {
    /// The stream of this number, as it is without redirection.
    Stream(usize),
    /// An entry of the list of files.
    File(usize),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Read,
    Write,
    Append,
}

/// Opens the files that a command's redirections name.
pub fn open(command: &Command, cwd: &Path) -> Result<Streams, RedirectError> {
    let mut plan = [Plan::Stream(0), Plan::Stream(1), Plan::Stream(2)];
    let mut files: Vec<(&Redirect, Mode)> = Vec::new();
    for redirect in &command.redirects {
        let mut file = |mode| {
            files.push((redirect, mode));
            Plan::File(files.len() - 1)
        };
        match (redirect.op, redirect.fd, redirect.target.text.as_str()) {
            (">", Some(2), _) => plan[2] = file(Mode::Write),
            (">>", Some(2), _) => plan[2] = file(Mode::Append),
            (">&", Some(2), "0") => plan[2] = plan[0],
            (">&", Some(2), "1") => plan[2] = plan[1],
            (">&", Some(2), "2") => {}
            (">&" | "&>", None, _) => {
                plan[1] = file(Mode::Write);
                plan[2] = plan[1];
            }
            (">", None, _) => plan[1] = file(Mode::Write),
            (">>", None, _) => plan[1] = file(Mode::Append),
            ("<", None, _) => plan[0] = file(Mode::Read),
            (op, fd, target) => {
                let fd = fd.map_or_else(String::new, |n| n.to_string());
                return Err(RedirectError::Unsupported(format!("Unsupported redirect: '{fd}{op}{target}'")));
            }
        }
    }
    let mut opened: Vec<Option<File>> = files.iter().map(|_| None).collect();
    let mut written = Vec::new();
    let mut streams = [Stream::Default, Stream::Default, Stream::Default];
    for (index, plan) in plan.into_iter().enumerate() {
        streams[index] = match plan {
            Plan::Stream(0) if index == 0 => Stream::Default,
            Plan::Stream(1) if index == 1 => Stream::Default,
            Plan::Stream(2) if index == 2 => Stream::Default,
            Plan::Stream(1) if index == 2 => Stream::ToStdout,
            Plan::Stream(_) => return Err(RedirectError::Unsupported("Bad redirect".to_string())),
            Plan::File(number) => {
                let failed = |e: std::io::Error, name: &str| RedirectError::Open(format!("cannot open '{name}': {e}"));
                let (redirect, mode) = files[number];
                let name = &redirect.target.text;
                if opened[number].is_none() {
                    opened[number] = Some(open_file(redirect, mode, cwd, &mut written)?);
                }
                match &opened[number] {
                    Some(file) => Stream::File(file.try_clone().map_err(|e| failed(e, name))?),
                    None => Stream::Default,
                }
            }
        };
    }
    let [stdin, stdout, stderr] = streams;
    Ok(Streams { stdin, stdout, stderr, written })
}

fn open_file(redirect: &Redirect, mode: Mode, cwd: &Path, written: &mut Vec<Written>) -> Result<File, RedirectError> {
    let mut name = redirect.target.text.clone();
    if redirect.target.glob {
        let mut names = glob::expand(&name, cwd);
        if names.len() != 1 {
            let message = "Unsupported: glob in redirect expanded to multiple files";
            return Err(RedirectError::Unsupported(message.to_string()));
        }
        name = names.remove(0);
    }
    let path = cwd.join(&name);
    let mut options = OpenOptions::new();
    match mode {
        Mode::Read => options.read(true),
        Mode::Write => options.write(true).create(true).truncate(true),
        Mode::Append => options.append(true).create(true),
    };
    let file = options.open(&path).map_err(|e| RedirectError::Open(format!("cannot open '{name}': {e}")))?;
    if mode != Mode::Read {
        written.push(Written { name: redirect.target.text.clone(), path });
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::parser::parse;

    fn streams(text: &str, cwd: &Path) -> Result<Streams, RedirectError> {
        open(&parse(text).expect(text).first[0], cwd)
    }

    #[test]
    fn meanings() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let cwd = directory.path();
        let both = streams("a > x 2>&1", cwd).expect("opens");
        assert!(matches!((&both.stdout, &both.stderr), (Stream::File(_), Stream::File(_))));
        assert_eq!(both.written.len(), 1, "one file for both");
        let crossed = streams("a 2>&1 > x", cwd).expect("opens");
        assert!(matches!((&crossed.stdout, &crossed.stderr), (Stream::File(_), Stream::ToStdout)));
        assert!(matches!(streams("a 1>&2", cwd), Err(RedirectError::Unsupported(_))));
        assert!(matches!(streams("a < nothing", cwd), Err(RedirectError::Open(_))));
        assert!(matches!(streams("a > no/where", cwd), Err(RedirectError::Open(_))));
    }
}
