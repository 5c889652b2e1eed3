//! Why something at run time could not be done.

use crate::codegen::backend::KernelFault;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// An error at run time: a sentence for people, and where it comes from.
#[derive(Debug)]
pub enum RuntimeError {
    /// A file could not be opened, read, written or renamed.
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file is not what its name says.
    Format {
        /// The file (or member of an archive).
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// An operation was called with tensors or attributes it does not take.
    Call {
        /// The operation's name.
        op: &'static str,
        /// What is wrong.
        what: String,
    },
    /// A tensor cannot be made or seen as asked.
    Tensor(String),
    /// An index read from a tensor is outside what it points into.
    Index {
        /// The operation's name.
        op: &'static str,
        /// The index.
        index: i64,
        /// The size it must be below.
        size: usize,
    },
    /// A kernel did not run to its end.
    Kernel(KernelFault),
    /// An op that the caller of a function computes itself has failed: the caller's own error.
    Host {
        /// The operation's name.
        op: String,
        /// What the caller says.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl RuntimeError {
    /// An error of a call.
    pub fn call(op: &'static str, what: impl Into<String>) -> RuntimeError {
        RuntimeError::Call { op, what: what.into() }
    }

    /// An error of a file's contents.
    pub fn format(path: impl Into<PathBuf>, what: impl Into<String>) -> RuntimeError {
        RuntimeError::Format { path: path.into(), what: what.into() }
    }

    /// An error of a tensor.
    pub fn tensor(what: impl Into<String>) -> RuntimeError {
        RuntimeError::Tensor(what.into())
    }

    /// Whether an index is out of range.
    pub fn is_index(&self) -> bool {
        matches!(self, RuntimeError::Index { .. } | RuntimeError::Kernel(KernelFault::Index { .. }))
    }

    /// A system's error on a file.
    pub fn io(path: impl Into<PathBuf>, source: io::Error) -> RuntimeError {
        RuntimeError::Io { path: path.into(), source }
    }
}

impl fmt::Display for RuntimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuntimeError::Io { path, source } => write!(f, "{}: {source}", path.display()),
            RuntimeError::Format { path, what } => write!(f, "{}: {what}", path.display()),
            RuntimeError::Call { op, what } => write!(f, "{op}: {what}"),
            RuntimeError::Tensor(what) => f.write_str(what),
            RuntimeError::Index { op, index, size } => {
                write!(f, "{op}: index {index} is out of range for a dimension of {size}")
            }
            RuntimeError::Kernel(fault) => fault.fmt(f),
            RuntimeError::Host { op, source } => write!(f, "{op}: {source}"),
        }
    }
}

impl std::error::Error for RuntimeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RuntimeError::Io { source, .. } => Some(source),
            RuntimeError::Host { source, .. } => Some(&**source),
            _ => None,
        }
    }
}

/// The result of work at run time.
pub type Result<T> = std::result::Result<T, RuntimeError>;
