//! C++ from `kernels.func`s and the function that launches them.
//!
//! | file | holds |
//! |---|---|
//! | `build`, `arith`, `node`, `print` | what `codegen::vector` builds with: values, and their text |
//! | `names`, `prelude`, `masks`, `half`, `library` | identifiers; what stands before the kernels |
//! | `module`, `host`, `ops`, `signature` | a file with the kernels of an `Ir`; the function that launches them, extern ops, its header |
//! | `flags`, `machine` | how it is compiled, and for what |
//! | `compile`, `load` | the compiler that is found; its libraries in memory |

mod arith;
mod build;
pub mod compile;
pub mod flags;
mod half;
mod host;
mod library;
mod load;
pub mod machine;
mod masks;
mod module;
mod names;
mod node;
mod ops;
mod prelude;
mod print;
mod signature;

pub use compile::Compiler;
pub use module::{Extent, Program, emit};
pub use signature::Signature;
