//! What the supervisor and the worker process say to each other, one JSON value a line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::result::TestResult;

/// What the command line says about all tests.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Flags {
    /// Rewrite golden texts to what the tools write now.
    pub bless: bool,
    /// With `bless`, write drafts of CHECK lines into tests that have none.
    pub draft: bool,
    /// Do not run tests; take them as passed.
    pub no_execute: bool,
    /// Colours in logs.
    pub color: bool,
    /// Run tools as processes of their own.
    pub no_in_process: bool,
    /// Most bytes of one output in a log.
    pub output_limit: usize,
    /// The words to run the runner again with, for hints.
    pub command: String,
}

/// What the command line says about one test.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Marks {
    /// Expected to fail.
    pub xfail: bool,
    /// Not expected to fail, whatever it says itself.
    pub xfail_not: bool,
    /// Not to be run if it is expected to fail.
    pub exclude_xfail: bool,
    /// Unsupported.
    pub unsupported: bool,
    /// Supported, whatever it says itself.
    pub unsupported_not: bool,
}

/// The first message to a worker.
#[derive(Serialize, Deserialize)]
pub struct Setup {
    /// Number of threads.
    pub threads: usize,
    /// The settings that jobs refer to.
    pub configs: Vec<Config>,
    /// Parameters of the run, for features.
    pub params: BTreeMap<String, String>,
    /// What holds for all tests.
    pub flags: Flags,
}

/// A test to run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Names the test in the answer.
    pub id: usize,
    /// Index in [`Setup::configs`].
    pub config: usize,
    /// The path in the suite.
    pub path: Vec<String>,
    /// What the command line says about it.
    pub marks: Marks,
    /// Run its tools as processes, since a worker died while this test was running.
    pub isolated: bool,
}

/// The answer to a job.
#[derive(Debug, Serialize, Deserialize)]
pub struct Done {
    /// The job.
    pub id: usize,
    /// What became of it.
    pub result: TestResult,
}
