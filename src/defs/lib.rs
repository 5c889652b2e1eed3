//! Dialect files: the reader and checker of `.dialect` and `.rules` files, and the evaluator of what they say.
//!
//! A definition is data. Given one op of a graph as an [`Instance`], the evaluator gives the requirements that it breaks or the types of its
//! results ([`verify`]), and what it computes ([`instantiate`]). Nothing here knows of the IR, so
//! the build script, the interpreter, the lowering and the verifier use it alike.
//! docs/dialect-files.md is the reference of the language.
//!
//! [`verify`]: crate::eval::verify
//! [`instantiate`]: crate::eval::instantiate

pub mod assembly;
pub mod ast;
pub mod builtins;
pub mod check;
pub mod eval;
pub mod instance;
pub mod library;
pub mod print;
pub mod read;
pub mod schema;
pub mod semantics;
pub mod types;
pub mod views;

pub use ast::{File, OpDef, RuleDef, Signature};
pub use eval::{EvalError, Externs, Setting, Value, arguments, dtype_of_word, eval_expr, instantiate, verify};
pub use instance::{Arg, Instance, Number, ResultType, TensorArg, TensorType};
pub use library::{CheckedFile, Library};
pub use semantics::{
    Body, Bounds, Combiner, Indirect, Nest, NestKind, Node, NodeId, NodeKind, Output, ScatterMode, Semantics, Source,
};
