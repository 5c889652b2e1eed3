//! Machine code from `kernels.func`s through LLVM.
//!
//! | file | holds |
//! |---|---|
//! | `abi` | how a kernel is called |
//! | `emit`, `axes`, `body` | the state of emitting a kernel, its loops, its ops |
//! | `index`, `access`, `atomic` | index expressions; loads and stores; what is combined in memory |
//! | `arith`, `math`, `reduce` | scalar ops, functions, combiners |
//! | `build`, `target` | the layer over LLVM's builder; the machine |
//! | `module` | a module with the kernels of an `Ir` |
//! | `jit`, `object` | code in memory; objects, shared libraries |
//! | `loader`, `kept` | linking in memory; the module that is kept beside objects |

pub mod abi;
mod access;
mod arith;
mod atomic;
mod axes;
mod body;
mod build;
mod emit;
mod index;
pub mod jit;
mod kept;
mod loader;
mod math;
mod module;
pub mod object;
mod reduce;
pub mod target;

pub use jit::{CompiledKernel, CompiledKernels};
pub use kept::without_bodies;
pub use module::emit_llvm_ir;
pub use object::{emit_assembly, emit_object, emit_optimized_llvm_ir, emit_shared_library};
pub use target::Options;

#[cfg(test)]
mod tests;
