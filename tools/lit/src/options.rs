//! The command line of `rinductor-lit`: lit's options, and `--bless`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Parser, ValueEnum};
use regex::{Regex, RegexBuilder};

/// Runs tests with RUN lines, like LLVM's lit, with the project's tools and FileCheck in its own process.
#[derive(Debug, Parser)]
#[command(name = "rinductor-lit", version, args_override_self = true)]
pub struct Options {
    /// Test files, and directories to search for tests.
    #[arg(required = true, value_name = "TEST_PATH")]
    pub paths: Vec<PathBuf>,

    /// Number of tests to run at the same time.
    #[arg(short = 'j', long = "workers", alias = "threads", value_name = "N", value_parser = positive, env = "LIT_MAX_WORKERS")]
    pub jobs: Option<usize>,
    /// Prefix of the names of setting files.
    #[arg(long, value_name = "NAME", default_value = "lit")]
    pub config_prefix: String,
    /// Set a parameter of the run.
    #[arg(short = 'D', long = "param", value_name = "NAME=VAL", action = ArgAction::Append)]
    pub params: Vec<String>,

    /// Rewrite the golden texts of exact tests to what the tools write now. Refused where the variable CI is set.
    #[arg(long, alias = "update-tests", help_heading = "Golden texts")]
    pub bless: bool,
    /// With --bless, write drafts of CHECK lines into tests that have none.
    #[arg(long, requires = "bless", help_heading = "Golden texts")]
    pub draft: bool,

    /// Show the log of failed tests, and a line for every test.
    #[arg(short, long, action = ArgAction::Count, help_heading = "Output")]
    pub verbose: u8,
    /// The same as -v.
    #[arg(long, help_heading = "Output")]
    pub echo_all_commands: bool,
    /// Show the log of all tests.
    #[arg(short = 'a', long, help_heading = "Output")]
    pub show_all: bool,
    /// Show only failed tests, without logs.
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
    /// Show a progress bar and only failed tests.
    #[arg(short, long, help_heading = "Output")]
    pub succinct: bool,
    /// Which logs are shown.
    #[arg(long, value_enum, help_heading = "Output")]
    pub test_output: Option<Level>,
    /// Which result lines are shown.
    #[arg(long, value_enum, help_heading = "Output")]
    pub print_result_after: Option<Level>,
    /// Which messages of the runner are shown.
    #[arg(long, value_enum, default_value = "note", help_heading = "Output")]
    pub diagnostic_level: Diagnostics,
    /// Show only numbers of failed tests in the summary.
    #[arg(long, help_heading = "Output", overrides_with = "no_terse_summary")]
    pub terse_summary: bool,
    /// The full summary (the default).
    #[arg(long, help_heading = "Output", overrides_with = "terse_summary")]
    pub no_terse_summary: bool,
    /// Show a progress bar (the default on a terminal).
    #[arg(long, help_heading = "Output", overrides_with = "no_progress_bar")]
    pub progress_bar: bool,
    /// Show no progress bar.
    #[arg(long, help_heading = "Output", overrides_with = "progress_bar")]
    pub no_progress_bar: bool,
    /// Colours.
    #[arg(long, value_enum, default_value = "auto", help_heading = "Output")]
    pub color: Color,
    /// Show paths in the summary instead of the names of tests.
    #[arg(short, long, help_heading = "Output")]
    pub relative_paths: bool,
    /// Write the results as JSON.
    #[arg(short, long, alias = "json", value_name = "PATH", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Write the results as xUnit XML.
    #[arg(long, value_name = "PATH", help_heading = "Output")]
    pub xunit_xml_output: Option<PathBuf>,
    /// Write the times of tests for chrome://tracing.
    #[arg(long, value_name = "PATH", help_heading = "Output")]
    pub time_trace_output: Option<PathBuf>,
    /// Report only failed tests in files.
    #[arg(long, help_heading = "Output")]
    pub report_failures_only: bool,
    /// List tests that were not selected.
    #[arg(long, help_heading = "Output")]
    pub show_excluded: bool,
    /// List tests that the end of the run has skipped.
    #[arg(long, help_heading = "Output")]
    pub show_skipped: bool,
    /// List tests that are unsupported here.
    #[arg(long, help_heading = "Output")]
    pub show_unsupported: bool,
    /// List tests that passed.
    #[arg(long, help_heading = "Output")]
    pub show_pass: bool,
    /// List tests that passed after a failure.
    #[arg(long, help_heading = "Output")]
    pub show_flakypass: bool,
    /// List tests whose golden text was rewritten.
    #[arg(long, help_heading = "Output")]
    pub show_fixed: bool,
    /// List tests that failed as expected.
    #[arg(long, help_heading = "Output")]
    pub show_xfail: bool,

    /// Directories to search for programs before PATH.
    #[arg(long, value_name = "DIR", action = ArgAction::Append, help_heading = "Execution")]
    pub path: Vec<PathBuf>,
    /// Run no commands; take tests as passed.
    #[arg(long, help_heading = "Execution")]
    pub no_execute: bool,
    /// Run each tool as a process of its own.
    #[arg(long, help_heading = "Execution")]
    pub no_in_process: bool,
    /// Most seconds for one test; 0 is no limit.
    #[arg(long, value_name = "SECONDS", help_heading = "Execution")]
    pub timeout: Option<u64>,
    /// How often a failed test is tried again.
    #[arg(long, value_name = "N", help_heading = "Execution")]
    pub max_retries_per_test: Option<u32>,
    /// Stop after this number of failures.
    #[arg(long, value_name = "N", value_parser = positive, help_heading = "Execution")]
    pub max_failures: Option<usize>,
    /// Exit with 0 even if no test is selected.
    #[arg(long, help_heading = "Execution")]
    pub allow_empty_runs: bool,
    /// Exit with 0 even if tests fail.
    #[arg(long, help_heading = "Execution")]
    pub ignore_fail: bool,
    /// Do not record the times of tests.
    #[arg(long, help_heading = "Execution", conflicts_with = "time_tests")]
    pub skip_test_time_recording: bool,
    /// Show the slowest tests and a histogram of times.
    #[arg(
        long, value_name = "N|all", num_args = 0..=1, require_equals = true, default_missing_value = "20",
        value_parser = slowest, help_heading = "Execution"
    )]
    pub time_tests: Option<usize>,

    /// Most tests to run.
    #[arg(long, value_name = "N", value_parser = positive, help_heading = "Selection")]
    pub max_tests: Option<usize>,
    /// Most seconds for the whole run.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Selection")]
    pub max_time: Option<u64>,
    /// The order of tests.
    #[arg(long, value_enum, default_value = "smart", help_heading = "Selection")]
    pub order: Order,
    /// The same as --order=random.
    #[arg(long, help_heading = "Selection")]
    pub shuffle: bool,
    /// The same as --order=smart.
    #[arg(short, long, help_heading = "Selection")]
    pub incremental: bool,
    /// Run only tests whose name matches.
    #[arg(long, value_name = "REGEX", value_parser = pattern, env = "LIT_FILTER", help_heading = "Selection")]
    pub filter: Option<Regex>,
    /// Do not run tests whose name matches.
    #[arg(long, value_name = "REGEX", value_parser = pattern, env = "LIT_FILTER_OUT", help_heading = "Selection")]
    pub filter_out: Option<Regex>,
    /// Run only tests that failed the last time.
    #[arg(long, help_heading = "Selection")]
    pub filter_failed: bool,
    /// Tests that are expected to fail, separated by semicolons.
    #[arg(long, value_name = "LIST", value_delimiter = ';', env = "LIT_XFAIL", help_heading = "Selection")]
    pub xfail: Vec<String>,
    /// Tests that are not expected to fail.
    #[arg(long, value_name = "LIST", value_delimiter = ';', env = "LIT_XFAIL_NOT", help_heading = "Selection")]
    pub xfail_not: Vec<String>,
    /// Do not run tests that are expected to fail.
    #[arg(long, help_heading = "Selection")]
    pub exclude_xfail: bool,
    /// Tests that are unsupported.
    #[arg(long, value_name = "LIST", value_delimiter = ';', env = "LIT_UNSUPPORTED", help_heading = "Selection")]
    pub unsupported: Vec<String>,
    /// Tests that are not unsupported.
    #[arg(long, value_name = "LIST", value_delimiter = ';', env = "LIT_UNSUPPORTED_NOT", help_heading = "Selection")]
    pub unsupported_not: Vec<String>,
    /// Run only the N-th of M parts: N/M.
    #[arg(long, value_name = "N/M", value_parser = shard, help_heading = "Selection", conflicts_with = "run_shard")]
    pub shard: Option<(usize, usize)>,
    /// The number of parts, for --run-shard.
    #[arg(
        long, value_name = "M", value_parser = positive, env = "LIT_NUM_SHARDS", requires = "run_shard",
        help_heading = "Selection"
    )]
    pub num_shards: Option<usize>,
    /// The part to run, for --num-shards.
    #[arg(
        long, value_name = "N", value_parser = positive, env = "LIT_RUN_SHARD", requires = "num_shards",
        help_heading = "Selection"
    )]
    pub run_shard: Option<usize>,

    /// Show the suites that are found, and exit.
    #[arg(long, help_heading = "Information")]
    pub show_suites: bool,
    /// Show the tests that are found, and exit.
    #[arg(long, help_heading = "Information")]
    pub show_tests: bool,
    /// Show the features that the tests name, and exit.
    #[arg(long, help_heading = "Information")]
    pub show_used_features: bool,
}

/// Of which tests something is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Level {
    /// Of none.
    Off,
    /// Of those that failed.
    Failed,
    /// Of those that failed at any attempt.
    FailedOrFlaky,
    /// Of all.
    All,
}

/// Which messages of the runner are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Diagnostics {
    /// Errors.
    Error,
    /// Warnings too.
    Warning,
    /// Notes too.
    Note,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal.
    Auto,
    /// In any case.
    Always,
    /// In no case.
    Never,
}

/// The order of tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// By name.
    Lexical,
    /// In any order.
    Random,
    /// What failed the last time first, then what took longest.
    Smart,
}

impl Options {
    /// Parses the arguments, with those of `LIT_OPTS` after them. `@FILE` stands for the lines of a file, each an argument.
    pub fn parse_with_environment(args: impl IntoIterator<Item = OsString>) -> Result<Options, clap::Error> {
        let args = with_files(args)?;
        let more = std::env::var("LIT_OPTS").unwrap_or_default();
        let more = shell_words::split(&more).unwrap_or_else(|_| more.split_whitespace().map(str::to_string).collect());
        Options::try_parse_from(args.into_iter().chain(more.into_iter().map(OsString::from)))
    }

    /// The part to run and the number of parts.
    pub fn shard(&self) -> Result<Option<(usize, usize)>, String> {
        let shard = self.shard.or_else(|| self.run_shard.zip(self.num_shards));
        if shard.is_some_and(|(run, count)| run > count) {
            return Err("--run-shard must be between 1 and --num-shards (inclusive)".to_string());
        }
        Ok(shard)
    }

    /// Of which tests the log is shown.
    pub fn log_level(&self) -> Level {
        let asked = if self.show_all {
            Some(Level::All)
        } else if self.verbose > 0 || self.echo_all_commands {
            Some(Level::Failed)
        } else if self.quiet {
            Some(Level::Off)
        } else {
            None
        };
        self.test_output.or(asked).unwrap_or(Level::Failed)
    }

    /// Of which tests a result line is shown.
    pub fn line_level(&self) -> Level {
        let asked = if self.succinct || self.quiet {
            Level::Failed
        } else if self.show_all || self.verbose > 0 || self.echo_all_commands {
            Level::All
        } else {
            Level::Failed
        };
        // A log without the line of its test would be of no use.
        self.print_result_after.unwrap_or(asked).max(self.log_level())
    }
}

/// The arguments, with the lines of a file in the place of its `@FILE`.
fn with_files(args: impl IntoIterator<Item = OsString>) -> Result<Vec<OsString>, clap::Error> {
    let mut all = Vec::new();
    for arg in args {
        let Some(name) = arg.to_str().and_then(|a| a.strip_prefix('@')) else {
            all.push(arg);
            continue;
        };
        let text = std::fs::read_to_string(name).map_err(|e| {
            let message = format!("cannot read the arguments in '{name}': {e}\n");
            clap::Error::raw(clap::error::ErrorKind::Io, message)
        })?;
        all.extend(text.lines().map(OsString::from));
    }
    Ok(all)
}

fn positive(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&n| n > 0).ok_or(format!("requires positive integer, but found '{text}'"))
}

fn slowest(text: &str) -> Result<usize, String> {
    if text.eq_ignore_ascii_case("all") { Ok(usize::MAX) } else { positive(text) }
}

fn pattern(text: &str) -> Result<Regex, String> {
    RegexBuilder::new(text).case_insensitive(true).build().map_err(|e| format!("invalid regular expression: {e}"))
}

fn shard(text: &str) -> Result<(usize, usize), String> {
    let (run, count) = text.split_once('/').ok_or(format!("requires N/M, but found '{text}'"))?;
    let (run, count) = (positive(run)?, positive(count)?);
    if run > count { Err(format!("there is no part {run} of {count}")) } else { Ok((run, count)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(args: &[&str]) -> Result<Options, clap::Error> {
        Options::try_parse_from(["lit"].iter().chain(args))
    }

    #[test]
    fn levels() {
        for (args, log, line) in [
            (vec!["t"], Level::Failed, Level::Failed),
            (vec!["-v", "t"], Level::Failed, Level::All),
            (vec!["-sv", "t"], Level::Failed, Level::Failed),
            (vec!["-a", "t"], Level::All, Level::All),
            (vec!["-q", "t"], Level::Off, Level::Failed),
            (vec!["-q", "-v", "t"], Level::Failed, Level::Failed),
        ] {
            let options = options(&args).expect("parses");
            assert_eq!((options.log_level(), options.line_level()), (log, line), "{args:?}");
        }
    }

    #[test]
    fn shards() {
        assert_eq!(options(&["--shard", "2/3", "t"]).expect("parses").shard(), Ok(Some((2, 3))));
        assert_eq!(options(&["--num-shards=3", "--run-shard=1", "t"]).expect("parses").shard(), Ok(Some((1, 3))));
        assert!(options(&["--num-shards=3", "--run-shard=4", "t"]).expect("parses").shard().is_err());
        assert!(options(&["--shard", "4/3", "t"]).is_err());
        assert!(options(&["--num-shards=3", "t"]).is_err());
    }

    #[test]
    fn times() {
        assert_eq!(options(&["--time-tests", "t"]).expect("parses").time_tests, Some(20));
        assert_eq!(options(&["--time-tests=all", "t"]).expect("parses").time_tests, Some(usize::MAX));
    }

    #[test]
    fn files_of_arguments() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("args");
        std::fs::write(&path, "-j\n3\na b.test\n").expect("writes");
        let args = ["lit".into(), format!("@{}", path.display()).into(), "t".into()];
        let options = Options::parse_with_environment(args).expect("parses");
        assert_eq!((options.jobs, options.paths), (Some(3), vec!["a b.test".into(), "t".into()]));
        assert!(Options::parse_with_environment(["lit".into(), "@/none".into()]).is_err());
    }

    #[test]
    fn numbers_that_leave_nothing_to_do_are_refused() {
        for args in [["-j0", "t"], ["--max-time=0", "t"], ["--max-tests=0", "t"], ["--max-failures=0", "t"]] {
            assert!(options(&args).is_err(), "{args:?}");
        }
    }
}
