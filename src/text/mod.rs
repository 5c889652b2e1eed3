//! The text of the IR: parser, printer, pretty forms.
//!
//! The syntax is MLIR's (grammar/ir.pest). [`parse`] reports every error of a file, not the first alone; [`print`] writes what [`parse`]
//! reads back to the same IR, with the SSA names and block labels that the text had.
//!
//! | file | holds |
//! |---|---|
//! | `grammar` | the parser that pest makes of the grammar |
//! | `parse` | structure of a file, ops, regions, recovery after errors |
//! | `parse::scan` | the usual look of the structure, found without the grammar |
//! | `parse::scope` | SSA names, forward references |
//! | `parse::leaf` | types, attributes, dictionaries, signatures: each distinct text once |
//! | `parse::attrs`, `parse::types`, `parse::locs` | the leaves themselves |
//! | `parse::pretty`, `print::pretty` | the pretty forms, by the op's format |
//! | `print` | the printer |
//! | `number` | integer and float literals |
//! | `split` | `// -----` |

pub mod dense;
mod grammar;
pub mod number;
mod parse;
mod print;
pub mod split;
#[cfg(test)]
mod tests;

pub use print::{AttrText, PrintOptions, in_printed_order};

use crate::ir::registry::Registry;
use crate::ir::{Attr, Ir};
use rinductor_support::{Diagnostic, SourceId, SourceMap};

/// How a text is read.
#[derive(Clone)]
pub struct ParseOptions<'a> {
    /// What is known of ops: pretty forms, isolation, which dialects exist.
    pub registry: &'a Registry,
    /// Whether an op of an unknown dialect is read instead of refused.
    pub allow_unregistered: bool,
    /// After this many errors the rest of the text is not read.
    pub max_errors: usize,
    /// Whether the grammar matches also what can be read without it: slower, and the same.
    pub by_grammar_alone: bool,
}

impl<'a> ParseOptions<'a> {
    /// The usual options: unknown dialects are refused, up to 1000 errors are reported.
    pub fn new(registry: &'a Registry) -> Self {
        Self { registry, allow_unregistered: false, max_errors: 1000, by_grammar_alone: false }
    }
    /// Sets whether unknown dialects are read.
    #[must_use]
    pub fn allow_unregistered(mut self, allow: bool) -> Self {
        self.allow_unregistered = allow;
        self
    }
}

/// Reads a text. The IR is there if nothing is wrong; it is not verified yet (`ir::verify`). A text that is not one `builtin.module` is put
/// into one.
pub fn parse(sources: &SourceMap, source: SourceId, options: &ParseOptions<'_>) -> (Option<Ir>, Vec<Diagnostic>) {
    parse::parse(sources, source, options)
}

/// Reads a text that is one attribute (or a type) into an IR that is there already.
///
/// # Errors
/// What is wrong with it.
pub fn parse_attr(
    ir: &mut Ir,
    sources: &SourceMap,
    source: SourceId,
    registry: &Registry,
) -> Result<Attr, Vec<Diagnostic>> {
    parse::parse_attr(ir, sources, source, &ParseOptions::new(registry))
}

/// The names, without `%`, with which the values in the regions of an op are printed.
pub fn names_in<'a>(
    ir: &'a Ir,
    registry: &Registry,
    op: crate::ir::Op,
) -> impl Fn(crate::ir::Value) -> String + use<'a> {
    let mut naming = print::Naming::default();
    naming.scope(ir, registry, op);
    move |v| naming.value_text(ir, v).into_owned()
}

/// Writes the module of an IR.
pub fn print(ir: &Ir, registry: &Registry, options: &PrintOptions) -> String {
    let mut out = String::new();
    print::print(ir, registry, options, ir.module(), &mut out);
    out
}

/// Writes one op with what is nested in it; operands from outside show their names.
pub fn print_op(ir: &Ir, registry: &Registry, options: &PrintOptions, op: crate::ir::Op) -> String {
    let mut out = String::new();
    print::print(ir, registry, options, op, &mut out);
    out
}

/// The text of bytes that a file holds. Bytes that are not UTF-8 are reported, each run of them once, and read as U+FFFD.
pub fn decode(bytes: Vec<u8>) -> (String, Vec<(u32, String)>) {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return (text, Vec::new()),
        Err(e) => e.into_bytes(),
    };
    let mut text = String::with_capacity(bytes.len());
    let mut wrong = Vec::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            let shown: String = chunk.invalid().iter().map(|b| format!("\\{b:02X}")).collect();
            let at = u32::try_from(text.len()).unwrap_or(u32::MAX);
            wrong.push((at, format!("the text is not UTF-8 here; in a string write these bytes as {shown}")));
            text.push('\u{FFFD}');
        }
    }
    (text, wrong)
}
