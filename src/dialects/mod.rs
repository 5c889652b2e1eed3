//! Typed views of the dialects that passes work on, and the `extern fn`s of dialect files.

pub mod loops;
