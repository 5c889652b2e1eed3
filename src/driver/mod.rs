//! The programs as functions: named pipelines, and the mains of `rinductor-opt`, `rinductor-translate` and `rinductor-run`.
//!
//! A main takes its arguments, its streams and its directory as values, keeps no global state and never exits, so that a test runner calls
//! it in its own process.

pub mod args;
#[cfg(feature = "llvm")]
pub mod compiled;
pub mod docs;
pub mod expected;
pub mod help;
pub mod inputs;
pub mod interpret;
pub mod io;
pub mod model;
pub mod opt;
pub mod opt_args;
pub mod pipelines;
pub mod quickstart;
pub mod reference;
pub mod run;
pub mod session;
pub mod translate;

pub use io::Io;
pub use opt::main_opt;
pub use quickstart::main_quickstart;
pub use run::main_run;
pub use translate::main_translate;
