//! Commands that the shell of RUN lines has built in.

pub mod count;
pub mod diff;
pub mod echo;
pub mod files;
pub mod options;
pub mod split_file;

/// What a built-in command wrote, and its exit status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The exit status.
    pub code: i32,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
}

impl Output {
    /// Success with this on standard output.
    pub fn text(stdout: impl Into<Vec<u8>>) -> Output {
        Output { stdout: stdout.into(), ..Output::default() }
    }

    /// A failure with this on standard error.
    pub fn failed(code: i32, message: impl std::fmt::Display) -> Output {
        Output { code, stderr: format!("{message}\n").into_bytes(), ..Output::default() }
    }
}
