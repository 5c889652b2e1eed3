//! rinductor: a tensor compiler that you can read.
//!
//! The layers, in the order in which they may use each other, are the modules below; `docs/architecture.md` says what each holds.

pub use rinductor_defs as defs;
pub use rinductor_index as index;
pub use rinductor_scalar as scalar;
pub use rinductor_support as support;

pub mod ir;

pub mod text;

pub mod dialects;

pub mod rewrite;

pub mod interp;

pub mod pass;

pub mod sched;

pub mod passes;

pub mod codegen;

pub mod runtime;

pub mod reduce;

pub mod driver;
