//! Result codes of a test, as lit has them, and the result itself.

use serde::{Deserialize, Serialize};

/// What became of a test. The order is the order of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Code {
    /// Not selected by the filters.
    Excluded,
    /// Selected, but the run ended before it.
    Skipped,
    /// A feature that it needs is missing, or one that it does not support is there.
    Unsupported,
    /// All commands did what they should.
    Pass,
    /// Passed, but not at the first attempt.
    FlakyPass,
    /// Passed after its golden text was rewritten (`--bless`).
    Fixed,
    /// Failed, as its XFAIL line says.
    XFail,
    /// The test itself is wrong: it could not be run.
    Unresolved,
    /// Took longer than it may.
    Timeout,
    /// A command failed.
    Fail,
    /// Passed in spite of its XFAIL line.
    XPass,
}

impl Code {
    /// All codes, in the order of the summary.
    pub const ALL: [Code; 11] = [
        Code::Excluded,
        Code::Skipped,
        Code::Unsupported,
        Code::Pass,
        Code::FlakyPass,
        Code::Fixed,
        Code::XFail,
        Code::Unresolved,
        Code::Timeout,
        Code::Fail,
        Code::XPass,
    ];

    /// The word that begins a result line.
    pub fn name(self) -> &'static str {
        match self {
            Code::Excluded => "EXCLUDED",
            Code::Skipped => "SKIPPED",
            Code::Unsupported => "UNSUPPORTED",
            Code::Pass => "PASS",
            Code::FlakyPass => "FLAKYPASS",
            Code::Fixed => "FIXED",
            Code::XFail => "XFAIL",
            Code::Unresolved => "UNRESOLVED",
            Code::Timeout => "TIMEOUT",
            Code::Fail => "FAIL",
            Code::XPass => "XPASS",
        }
    }

    /// The words of the summary.
    pub fn label(self) -> &'static str {
        match self {
            Code::Excluded => "Excluded",
            Code::Skipped => "Skipped",
            Code::Unsupported => "Unsupported",
            Code::Pass => "Passed",
            Code::FlakyPass => "Passed With Retry",
            Code::Fixed => "Passed After Update",
            Code::XFail => "Expectedly Failed",
            Code::Unresolved => "Unresolved",
            Code::Timeout => "Timed Out",
            Code::Fail => "Failed",
            Code::XPass => "Unexpectedly Passed",
        }
    }

    /// Whether a test with this code makes the run fail.
    pub fn is_failure(self) -> bool {
        matches!(self, Code::Unresolved | Code::Timeout | Code::Fail | Code::XPass)
    }

    /// Whether a test with this code ran and did what it should.
    pub fn is_pass(self) -> bool {
        matches!(self, Code::Pass | Code::FlakyPass | Code::Fixed | Code::XFail)
    }
}

/// The result of one test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestResult {
    /// What became of it.
    pub code: Code,
    /// The log for people: commands, what they wrote, what went wrong.
    pub output: String,
    /// Notes shown even without the log: files rewritten by `--bless`.
    pub notes: Vec<String>,
    /// Wall time in seconds; none for a test that was not run.
    pub elapsed: Option<f64>,
    /// Start of the test in seconds since the Unix epoch; 0 when it was not run.
    pub start: f64,
    /// How many attempts were made.
    pub attempts: u32,
    /// How many attempts were allowed.
    pub max_attempts: u32,
    /// The features missing from REQUIRES, for reports.
    pub missing_features: Vec<String>,
    /// How many processes the test started.
    pub processes: u32,
    /// How many tools it called in the process of the runner.
    pub calls: u32,
}

impl TestResult {
    /// A result with this code and log.
    pub fn new(code: Code, output: impl Into<String>) -> TestResult {
        TestResult {
            code,
            output: output.into(),
            notes: Vec::new(),
            elapsed: None,
            start: 0.0,
            attempts: 1,
            max_attempts: 1,
            missing_features: Vec::new(),
            processes: 0,
            calls: 0,
        }
    }

    /// The same result with an XFAIL expectation applied: a pass becomes XPASS, a failure XFAIL.
    pub fn with_expected_failure(mut self, expected: bool) -> TestResult {
        if expected {
            self.code = match self.code {
                Code::Pass => Code::XPass,
                Code::Fail => Code::XFail,
                other => other,
            };
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expectation_turns_pass_and_fail_only() {
        for (code, turned) in [
            (Code::Pass, Code::XPass),
            (Code::Fail, Code::XFail),
            (Code::Timeout, Code::Timeout),
            (Code::Unresolved, Code::Unresolved),
            (Code::Unsupported, Code::Unsupported),
        ] {
            assert_eq!(TestResult::new(code, "").with_expected_failure(true).code, turned);
            assert_eq!(TestResult::new(code, "").with_expected_failure(false).code, code);
        }
    }
}
