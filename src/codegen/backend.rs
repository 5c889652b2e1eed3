//! What runs kernels: compiled code, or anything that can stand in for it.

use std::fmt;

/// Why a kernel did not run to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelFault {
    /// An index read from a buffer is outside what it points into.
    Index {
        /// The kernel's symbol.
        kernel: String,
        /// The index.
        index: i64,
        /// The size it must be below.
        size: i64,
        /// Which check of the kernel found it, in the order of the text.
        check: i64,
    },
    /// It was not called as its type says.
    Call(String),
}

impl From<String> for KernelFault {
    fn from(what: String) -> Self {
        KernelFault::Call(what)
    }
}

impl fmt::Display for KernelFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelFault::Index { kernel, index, size, check } => {
                write!(f, "kernel @{kernel}: index {index} is out of range for size {size} (check {check})")
            }
            KernelFault::Call(what) => f.write_str(what),
        }
    }
}

/// Kernels that can be run.
pub trait KernelCode: Send + Sync {
    /// The number of a kernel by its symbol.
    fn find(&self, name: &str) -> Option<usize>;

    /// Runs a kernel on at most `threads` threads (0: as many as there are).
    ///
    /// # Errors
    /// An index is out of range, or the call is not as the kernel's type says.
    ///
    /// # Safety
    /// `buffers` are the starts of allocations that hold what the kernel's argument types say for these `symbols`.
    unsafe fn run(
        &self,
        kernel: usize,
        buffers: &[*mut u8],
        symbols: &[i64],
        threads: usize,
    ) -> Result<(), KernelFault>;
}
