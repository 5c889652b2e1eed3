//! A test runner in the manner of LLVM's lit, which runs the project's tools and FileCheck in its own process.
//!
//! A program becomes the runner with [`main`], to which it gives the tools that it has linked in:
//!
//! ```no_run
//! use rinductor_lit::{Extensions, ToolCall};
//!
//! let mut extensions = Extensions::default();
//! extensions.tools.register("hello", |call: ToolCall<'_>| i32::from(call.stdout.write_all(b"hello\n").is_err()));
//! std::process::exit(rinductor_lit::main(std::env::args_os(), extensions));
//! ```
//!
//! The parts, from the outside in: [`options`] and [`discovery`] find out what to run, [`run`] runs it, each test by the
//! format that [`config`] names, [`display`] and [`report`] show it. The format of RUN lines is [`script`] (what a test
//! says about itself), [`substitute`], [`shell`] and its [`builtins`].

pub mod bless;
pub mod boolean;
pub mod builtins;
pub mod config;
pub mod discovery;
pub mod display;
pub mod draft;
mod features;
mod filecheck;
pub mod files;
pub mod options;
pub mod report;
pub mod result;
pub mod run;
mod runner;
pub mod script;
pub mod shell;
pub mod substitute;
pub mod times;
pub mod tool;
pub mod toolbox;

use std::sync::Arc;

pub use features::{Features, Probe};
pub use run::case::{Context, TestCase, TestFormat};
pub use runner::main;
pub use tool::{InProcessTool, Registry, ToolCall};

/// What a program adds to the runner: tools that run in its process, and formats of tests.
#[derive(Clone)]
pub struct Extensions {
    /// The tools.
    pub tools: Registry,
    /// The formats.
    pub formats: Vec<Arc<dyn TestFormat>>,
}

impl Default for Extensions {
    /// FileCheck and the other check tools, and the format of RUN lines.
    fn default() -> Extensions {
        Extensions { tools: Registry::with_check_tools(), formats: vec![Arc::new(run::sh::ShFormat)] }
    }
}
