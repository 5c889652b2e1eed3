//! What runs kernels: compiled code, or anything that can stand in for it.

/// Kernels that can be run.
pub trait KernelCode: Send + Sync {
    /// The number of a kernel by its symbol.
    fn find(&self, name: &str) -> Option<usize>;

    /// Runs a kernel on at most `threads` threads (0: as many as there are).
    ///
    /// # Errors
    /// A sentence, for example when an index is out of range.
    ///
    /// # Safety
    /// `buffers` are the starts of allocations that hold what the kernel's argument types say for these `symbols`.
    unsafe fn run(&self, kernel: usize, buffers: &[*mut u8], symbols: &[i64], threads: usize) -> Result<(), String>;
}
