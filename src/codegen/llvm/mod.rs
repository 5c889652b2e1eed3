//! Machine code from `kernels.func`s through LLVM.
//!
//! | file | holds |
//! |---|---|
//! | `abi` | the functions of the binary interface |
//! | `build`, `vector` | the layer over LLVM's builder; what `codegen::vector` builds with it |
//! | `target` | the machine |
//! | `module` | a module with the kernels of an `Ir` |
//! | `jit`, `object` | code in memory; objects, shared libraries |
//! | `loader` | linking in memory |

mod abi;
mod build;
mod jit;
mod loader;
mod module;
pub mod object;
pub mod target;
mod vector;

pub use crate::codegen::compiled::{CompiledKernel, CompiledKernels};
pub use module::{emit_llvm_ir, functions};
pub use object::{emit_assembly, emit_object, emit_optimized_llvm_ir, emit_shared_library};
pub use target::{Options, host_cpu};

#[cfg(test)]
mod tests;
