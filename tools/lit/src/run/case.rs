//! A test to run, and the interface of a test format.

use std::path::PathBuf;
use std::sync::Arc;

use crate::config::Config;
use crate::features::Features;
use crate::result::TestResult;
use crate::run::protocol::{Flags, Marks};
use crate::shell::process::Control;
use crate::toolbox::Toolbox;

/// One test.
pub struct TestCase {
    /// `suite :: path`.
    pub name: String,
    /// The path in the suite, `/` between its parts.
    pub path: String,
    /// The test file.
    pub source: PathBuf,
    /// Where it would lie below the directory of temporary files.
    pub exec: PathBuf,
    /// The settings that hold for it.
    pub config: Arc<Config>,
    /// The features that are there.
    pub features: Arc<Features>,
    /// What the command line says about it.
    pub marks: Marks,
}

/// What a format has to run a test with.
pub struct Context<'a> {
    /// What commands stand for.
    pub toolbox: &'a Toolbox,
    /// How the test is stopped; a format looks at it between steps and gives it the processes it starts.
    pub control: &'a Control,
    /// What the command line says about all tests.
    pub flags: &'a Flags,
}

/// A kind of test files. The format of a test is chosen by `[[format]]` in `lit.toml`; else it is `sh`, RUN lines.
pub trait TestFormat: Send + Sync {
    /// The name that `kind` in `lit.toml` refers to.
    fn kind(&self) -> &str;

    /// Runs a test. A panic is taken as an unresolved test.
    fn run(&self, test: &TestCase, context: &Context<'_>) -> TestResult;
}
