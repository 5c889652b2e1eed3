//! The binary interface of a kernel.
//!
//! ```c
//! void kernel(char *const *buffers, const int64_t *symbols, int64_t begin, int64_t end, struct error *error);
//! int64_t kernel_steps(const int64_t *symbols);            // in objects and libraries
//! struct error { int64_t set; int64_t check; int64_t value; int64_t bound; };
//! ```
//!
//! - `buffers[i]` is the start of the allocation of buffer argument `i`; the kernel adds the offset that the argument's type says.
//!   It is aligned as its elements are. `symbols[j]` is the value of index argument `j`.
//! - The call runs steps `begin` to `end` (exclusive) of the parallel axes, numbered row by row in the order in which the axes are
//!   written. Calls for disjoint ranges may run at the same time; all steps together are `0` to the product of the step counts.
//! - Buffers that a kernel writes may overlap others only where each step reads what it then writes itself.
//! - When an index of `kernels.position` is out of range, the call writes (1, number of the check in the kernel, the value, the bound)
//!   into `error`, if no other thread did before, and returns; what it had not yet written stays as it was.

/// What a kernel says when an index is out of range.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelError {
    /// 1 when there was an error.
    pub set: i64,
    /// Which `kernels.position` of the kernel, in the order of the text.
    pub check: i64,
    /// The index that was out of range.
    pub value: i64,
    /// The bound that it had to stay below.
    pub bound: i64,
}

/// A kernel as a function that is called.
pub type KernelFn = unsafe extern "C" fn(*const *mut u8, *const i64, i64, i64, *mut KernelError);
