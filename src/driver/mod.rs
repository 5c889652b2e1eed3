//! The programs as functions: named pipelines, and the mains of `rinductor-opt`, `rinductor-translate`, `rinductor-run` and the others.
//!
//! A main takes its arguments, its streams and its directory as values, keeps no global state and never exits, so that a test runner calls
//! it in its own process.

pub mod args;
pub mod cached;
pub mod compiled;
pub mod database;
pub mod docs;
pub mod exec;
pub mod expected;
pub mod help;
pub mod inputs;
pub mod interpret;
pub mod io;
pub mod model;
pub mod opt;
pub mod opt_args;
pub mod package;
pub mod pipelines;
pub mod program;
pub mod quickstart;
pub mod reduce;
pub mod reference;
pub mod run;
pub mod schedule;
pub mod session;
#[cfg(feature = "llvm")]
pub mod targets;
pub mod translate;
#[cfg(feature = "llvm")]
pub mod tune;

pub use exec::main_exec;
pub use io::{Io, Main};
pub use opt::main_opt;
pub use quickstart::main_quickstart;
pub use reduce::main_reduce;
pub use run::main_run;
pub use translate::main_translate;
#[cfg(feature = "llvm")]
pub use tune::main_tune;

/// All programs by their names.
pub static PROGRAMS: &[(&str, Main)] = &[
    ("rinductor-exec", main_exec),
    ("rinductor-opt", main_opt),
    ("rinductor-quickstart", main_quickstart),
    ("rinductor-reduce", main_reduce),
    ("rinductor-run", main_run),
    ("rinductor-translate", main_translate),
    #[cfg(feature = "llvm")]
    ("rinductor-tune", main_tune),
];
