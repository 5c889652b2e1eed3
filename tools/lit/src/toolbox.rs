//! Finds what a command name stands for: a tool in this process, a program of the suite, or one in `PATH`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::shell::process;
use crate::tool::{Environment, InProcessTool, Registry};

/// The argument by which the runner's own program becomes one of its tools: `--as-tool NAME ARGUMENTS…`.
pub const AS_TOOL: &str = "--as-tool";

/// What runs for a command name.
pub enum Found {
    /// A tool, called in this process.
    InProcess(Arc<dyn InProcessTool>),
    /// A program, and the arguments that come before the command's own.
    Program(PathBuf, Vec<String>),
}

/// All that commands of a test can be.
#[derive(Clone)]
pub struct Toolbox {
    /// The tools that this process has.
    pub registry: Registry,
    /// Whether tools run as processes of their own, because one of them may have crashed this one.
    pub isolated: bool,
    /// The program of the runner, which can run each of its tools as a process.
    pub runner: Option<PathBuf>,
    /// Names of programs that the suite maps to paths.
    pub programs: Vec<(String, PathBuf)>,
}

impl Toolbox {
    /// What `name` stands for. With `own_process`, a tool is given as a program too.
    pub fn find(
        &self,
        name: &str,
        cwd: &Path,
        env: &Environment,
        default_path: &str,
        own_process: bool,
    ) -> Option<Found> {
        if let Some(tool) = self.registry.get(name) {
            if !self.isolated && !own_process {
                return Some(Found::InProcess(tool));
            }
            if let Some(runner) = &self.runner {
                return Some(Found::Program(runner.clone(), vec![AS_TOOL.to_string(), name.to_string()]));
            }
        }
        if let Some((_, path)) = self.programs.iter().find(|(n, _)| n == name) {
            return Some(Found::Program(path.clone(), Vec::new()));
        }
        let path = env.get("PATH").map_or(default_path, String::as_str);
        process::find(name, cwd, path).map(|path| Found::Program(path, Vec::new()))
    }
}
