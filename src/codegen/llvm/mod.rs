//! Machine code from `kernels.func`s through LLVM.
//!
//! | file | holds |
//! |---|---|
//! | `abi` | how a kernel is called |
//! | `build`, `vector` | the layer over LLVM's builder; what `codegen::vector` builds with it |
//! | `target` | the machine |
//! | `module` | a module with the kernels of an `Ir` |
//! | `jit`, `object` | code in memory; objects, shared libraries |
//! | `loader`, `kept` | linking in memory; the module that is kept beside objects |

pub mod abi;
mod build;
pub mod jit;
mod kept;
mod loader;
mod module;
pub mod object;
pub mod target;
mod vector;

pub use jit::{CompiledKernel, CompiledKernels};
pub use kept::without_bodies;
pub use module::emit_llvm_ir;
pub use object::{emit_assembly, emit_object, emit_optimized_llvm_ir, emit_shared_library};
pub use target::Options;

#[cfg(test)]
mod tests;
