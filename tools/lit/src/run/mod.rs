//! Running tests: formats, the worker process with its pool of threads, and the supervisor that survives it.

pub mod case;
pub mod log;
pub mod panics;
pub mod protocol;
pub mod sh;
pub mod supervisor;
pub mod worker;
