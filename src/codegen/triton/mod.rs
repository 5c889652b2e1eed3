//! A Python module with a Triton kernel for every `kernels.func`, and the function that runs them.
//!
//! | file | holds |
//! |---|---|
//! | `module` | the module: what it imports, and `call`, which allocates, launches and returns |
//! | `launch` | what launches kernels: the functions above them |
//! | `external` | calls of extern ops through `torch.ops` |
//! | `alone` | what makes the module a program: random arguments, `--check`, `--bench` |
//! | `kernel` | a kernel: parameters, axes, the state of writing it |
//! | `body`, `access`, `reduce` | its ops; loads, stores, checks of indices; walks |
//! | `scalar`, `helpers` | the scalar vocabulary; functions that Triton lacks |
//! | `same` | which kernels are the same but for names |
//! | `expr`, `names` | index expressions and names as Python |

mod access;
mod alone;
mod body;
mod expr;
mod external;
mod helpers;
mod kernel;
mod launch;
mod module;
mod names;
mod reduce;
mod same;
mod scalar;

pub use module::{Extent, emit};
