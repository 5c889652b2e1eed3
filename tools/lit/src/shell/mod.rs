//! The shell of RUN lines: words and operators, pipelines, and their execution.

pub mod exec;
pub mod glob;
pub mod lexer;
pub mod parser;
pub mod process;
pub mod redirect;
