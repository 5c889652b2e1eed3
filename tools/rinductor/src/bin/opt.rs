//! Reads a text, verifies it and writes it: what `rinductor-opt` does without passes.

use rinductor::ir::registry::Registry;
use rinductor::ir::verify::verify;
use rinductor::support::{Diagnostic, SourceMap, Span};
use rinductor::text::{self, ParseOptions, PrintOptions};
use std::io::{Read, Write};

/// What to do with a text.
#[derive(Clone, Debug, Default)]
struct Options {
    /// Whether ops of unknown dialects are read.
    allow_unregistered: bool,
    /// Whether `// -----` separates parts that are read one by one.
    split: bool,
    /// Leaves the verifier out.
    no_verify: bool,
    /// How it is written.
    print: PrintOptions,
}

/// Reads, verifies and prints a file's bytes. All parts are read even if one is wrong; the text is what the right ones print.
fn parse_and_print(
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

/// `rinductor-opt [FILE] [--allow-unregistered-dialect] [--split-input-file] [--mlir-print-op-generic] [--mlir-print-debuginfo] [--no-verify]`
fn main() -> std::process::ExitCode {
    let mut options = Options::default();
    let mut file = "-".to_string();
    for arg in std::env::args().skip(1) {
        match &*arg {
            "--allow-unregistered-dialect" => options.allow_unregistered = true,
            "--split-input-file" => options.split = true,
            "--mlir-print-op-generic" => options.print.generic = true,
            "--mlir-print-debuginfo" => options.print.debuginfo = true,
            "--no-verify" => options.no_verify = true,
            _ if arg.starts_with("--") => {}
            _ => file = arg,
        }
    }
    let bytes = if file == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(&file)
    };
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(e) => {
            eprintln!("{file}: {e}");
            return std::process::ExitCode::FAILURE;
        }
    };
    let registry = match rinductor::dialects::library::Library::builtin() {
        Ok(library) => library.registry(),
        Err((library, wrong)) => {
            wrong.iter().for_each(|d| eprintln!("{}", d.headline(&library.sources)));
            return std::process::ExitCode::FAILURE;
        }
    };
    let (registry, wrong) = registry;
    wrong.iter().for_each(|d| eprintln!("{}", d.message));
    let mut sources = SourceMap::new();
    let (out, diagnostics) = parse_and_print(&mut sources, &file, bytes, &registry, &options);
    for d in &diagnostics {
        eprintln!("{}", d.headline(&sources));
    }
    if std::io::stdout().lock().write_all(out.as_bytes()).is_err() || !diagnostics.is_empty() {
        return std::process::ExitCode::FAILURE;
    }
    std::process::ExitCode::SUCCESS
}
