//! Tools that run inside the test runner: the trait they implement, what a call carries, and the table of them.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::files::{MOST, TOO_LONG};

/// The environment variables of a command.
pub type Environment = BTreeMap<String, String>;

/// One call of a tool, as a shell would make it.
pub struct ToolCall<'a> {
    /// The arguments, without the name of the program.
    pub args: &'a [String],
    /// All of standard input.
    pub stdin: &'a [u8],
    /// Standard output.
    pub stdout: &'a mut (dyn Write + Send),
    /// Standard error.
    pub stderr: &'a mut (dyn Write + Send),
    /// The directory that relative paths are relative to; never the directory of the process.
    pub cwd: &'a Path,
    /// The environment of the command; tools that read it say so with [`InProcessTool::reads_environment`].
    pub env: &'a Environment,
}

/// A program that can be called as a function: no global state, no exit, no use of the process's own standard streams.
///
/// A panic in [`InProcessTool::run`] counts as a crash of the tool, that is as if the program had died of `SIGABRT`;
/// so the `main` of the same tool should abort when it panics, for both ways of running it to have one verdict.
pub trait InProcessTool: Send + Sync {
    /// Runs the tool and returns its exit status.
    fn run(&self, call: ToolCall<'_>) -> i32;

    /// Whether the tool takes environment variables from [`ToolCall::env`]. Where it does not, a test that sets
    /// variables for it gets it as a process of its own.
    fn reads_environment(&self) -> bool {
        false
    }
}

impl<F> InProcessTool for F
where
    F: Fn(ToolCall<'_>) -> i32 + Send + Sync,
{
    fn run(&self, call: ToolCall<'_>) -> i32 {
        self(call)
    }
}

/// The tools that the runner can call as functions, by the name that RUN lines use.
#[derive(Clone, Default)]
pub struct Registry {
    tools: BTreeMap<String, Arc<dyn InProcessTool>>,
}

impl Registry {
    /// A table with no tools.
    pub fn empty() -> Registry {
        Registry::default()
    }

    /// The tools that this crate brings: FileCheck under its names, and `rinductor-draft-checks`.
    pub fn with_check_tools() -> Registry {
        let mut registry = Registry::empty();
        for name in ["FileCheck", "rinductor-filecheck"] {
            registry.register(name, crate::filecheck::FileCheckTool);
        }
        registry.register("rinductor-draft-checks", crate::draft::run_tool);
        registry
    }

    /// Adds a tool, in place of one of the same name.
    pub fn register(&mut self, name: &str, tool: impl InProcessTool + 'static) -> &mut Registry {
        self.tools.insert(name.to_string(), Arc::new(tool));
        self
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<Arc<dyn InProcessTool>> {
        self.tools.get(name).cloned()
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }
}

/// A byte buffer that several writers share, so that standard output and standard error can be one stream.
#[derive(Clone, Default)]
pub struct SharedBuffer(Arc<Mutex<Collected>>);

/// What was collected of a stream.
#[derive(Clone, Debug, Default)]
pub struct Collected {
    /// The bytes, at most [`MOST`].
    pub bytes: Vec<u8>,
    /// Whether there were more.
    pub cut: bool,
}

impl SharedBuffer {
    /// Takes what was written so far.
    pub fn take(&self) -> Collected {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut collected = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MOST - collected.bytes.len();
        if room < bytes.len() {
            collected.cut = true;
        }
        if room == 0 && !bytes.is_empty() {
            return Err(io::Error::new(io::ErrorKind::StorageFull, TOO_LONG));
        }
        let taken = &bytes[..bytes.len().min(room)];
        collected.bytes.extend_from_slice(taken);
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
