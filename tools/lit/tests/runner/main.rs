//! The test runner, tested from outside: small suites in temporary directories.

#[path = "../common/mod.rs"]
mod common;

mod bless;
mod docs;
mod options;
mod shell;
