//! Reads a text, verifies it and writes it: what `rinductor-opt` does without passes.

use crate::ir::registry::Registry;
use crate::ir::verify::verify;
use crate::text::{self, ParseOptions, PrintOptions};
use rinductor_support::{Diagnostic, SourceMap, Span};

/// What to do with a text.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether ops of unknown dialects are read.
    pub allow_unregistered: bool,
    /// Whether `// -----` separates parts that are read one by one.
    pub split: bool,
    /// Leaves the verifier out.
    pub no_verify: bool,
    /// How it is written.
    pub print: PrintOptions,
}

/// Reads, verifies and prints a file's bytes. All parts are read even if one is wrong; the text is what the right ones print.
pub fn parse_and_print(
    sources: &mut SourceMap,
    name: &str,
    bytes: Vec<u8>,
    registry: &Registry,
    options: &Options,
) -> (String, Vec<Diagnostic>) {
    let (whole, wrong) = text::decode(bytes);
    let mut out = String::new();
    let mut diagnostics = Vec::new();
    let parts = if options.split { text::split::split(&whole) } else { vec![(1, &whole[..])] };
    for (i, (line, part)) in parts.iter().enumerate() {
        let source = match sources.add_part(name, *part, *line) {
            Ok(source) => source,
            Err(message) => {
                diagnostics.push(Diagnostic::error_nowhere(message));
                continue;
            }
        };
        let begin = part.as_ptr() as usize - whole.as_ptr() as usize;
        let before = diagnostics.len();
        for (at, message) in wrong.iter().filter(|(at, _)| (begin..begin + part.len()).contains(&(*at as usize))) {
            let at = *at as usize - begin;
            diagnostics.push(Diagnostic::error(Span::new(source, at, at + '\u{FFFD}'.len_utf8()), message.clone()));
        }
        let parse = ParseOptions::new(registry).allow_unregistered(options.allow_unregistered);
        let (ir, problems) = text::parse(sources, source, &parse);
        diagnostics.extend(problems);
        if let Some(ir) = ir {
            if !options.no_verify {
                diagnostics.extend(verify(&ir, registry, ir.module()));
            }
            if diagnostics.len() == before {
                if i > 0 {
                    out.push_str("\n// -----\n");
                }
                out.push_str(&text::print(&ir, registry, &options.print));
            }
        }
    }
    (out, diagnostics)
}
