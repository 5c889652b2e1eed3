//! What a check comes to.

/// The verdict of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every directive is met.
    Match,
    /// A directive is not met.
    Mismatch,
    /// The check cannot be made: the check file, the input or the options are at fault.
    Error,
}

/// The verdict with all that there is to print about it.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Whether the input passed.
    pub verdict: Verdict,
    /// The text for the error stream, with its last newline: errors, notes, remarks and the annotated input. Empty for a
    /// plain success.
    pub report: Vec<u8>,
    /// Whether LLVM leaves with the exit code of a mismatch though the check file is at fault.
    pub(crate) exits_as_mismatch: bool,
}

impl Outcome {
    pub(crate) fn new(verdict: Verdict, report: Vec<u8>) -> Outcome {
        Outcome { verdict, report, exits_as_mismatch: false }
    }

    /// Whether the input passed.
    pub fn passed(&self) -> bool {
        self.verdict == Verdict::Match
    }

    /// LLVM's exit code: 0 for a match, 1 for a mismatch, 2 where the check could not be made.
    pub fn exit_code(&self) -> i32 {
        match self.verdict {
            Verdict::Match => 0,
            Verdict::Mismatch => 1,
            Verdict::Error => {
                if self.exits_as_mismatch {
                    1
                } else {
                    2
                }
            }
        }
    }
}
