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
//! | `online` | the maximum of rows and the sum of their exponentials in one walk |
//! | `scalar`, `helpers` | the scalar vocabulary; functions that Triton lacks |
//! | `same` | which kernels are the same but for names |
//! | `reuse` | which buffers take the memory of others |
//! | `together` | launches of one kernel on several sets of buffers as one |
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
mod online;
mod reduce;
mod reuse;
mod same;
mod scalar;
mod together;

pub use module::{Extent, emit};
