//! The test runner, tested from outside: small suites in temporary directories.

#[path = "../../../lit/tests/common/mod.rs"]
mod common;

mod bless;
mod docs;
mod in_process;
mod options;
mod shell;
