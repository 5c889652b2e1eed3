//! Pages about dialects, in Markdown, made from the dialect files.

use crate::defs::OpDef;
use crate::dialects::library::Library;
use crate::support::Span;
use std::fmt::Write;

/// The line below the title of a page that is made from a source.
const MADE: &str = "Made from the dialect files: `RINDUCTOR_BLESS=1 cargo test --test docs` writes it again.";

/// The page about a dialect: its ops with what they compute, its decompositions and its rules.
pub fn dialect_page(library: &Library, name: &str) -> String {
    let doc = library.dialects().find(|d| &*d.name.text == name).map_or("", |d| d.doc.trim());
    let mut out = format!("# The dialect `{name}`\n\n{MADE}\n\n{doc}\n");
    let mut ops: Vec<&OpDef> = library.ops_of(name).collect();
    ops.sort_by(|a, b| a.name.text.cmp(&b.name.text));
    for op in &ops {
        let text = source(library, op.span);
        let _ = write!(out, "\n## `{}`\n\n{}\n", op.name.text, if op.doc.is_empty() { "" } else { op.doc.trim() });
        let _ = write!(out, "{}```dialect\n{text}\n```\n", if op.doc.is_empty() { "" } else { "\n" });
    }
    for (title, decomposition) in [("Decompositions", true), ("Rules", false)] {
        let prefix = format!("{name}.");
        let rules: Vec<_> = library
            .rules()
            .iter()
            .filter(|r| r.decomposition == decomposition && r.pattern.op.text.starts_with(&prefix))
            .collect();
        if rules.is_empty() {
            continue;
        }
        let _ = write!(out, "\n## {title}\n\n```dialect\n");
        for rule in rules {
            for line in rule.doc.trim().lines() {
                let _ = writeln!(out, "/// {line}");
            }
            let _ = writeln!(out, "{}", source(library, rule.span));
        }
        out.push_str("```\n");
    }
    out
}

/// The page that lists the dialects.
pub fn dialect_list(library: &Library) -> String {
    let mut out = format!("# Dialects\n\n{MADE}\n\n| dialect | ops | |\n|---|---|---|\n");
    for dialect in library.dialects() {
        let name = &dialect.name.text;
        let n = library.ops_of(name).count();
        let doc = dialect.doc.trim().replace('\n', " ");
        let first = doc.split_once(". ").map_or(doc.as_str(), |(first, _)| first).trim_end_matches('.');
        let _ = writeln!(out, "| [`{name}`]({name}.md) | {n} | {} |", first.replace('|', "\\|"));
    }
    out.push_str("\nAn op that computes something says so in its definition: [dialect-files.md](../dialect-files.md) has the language.\n");
    out
}

/// What stands at a span, without the documentation before it.
fn source(library: &Library, span: Span) -> String {
    let text = library.sources().text(span.source);
    let item = text.get(span.start as usize..span.end as usize).unwrap_or("");
    let lines: Vec<&str> = item.trim().lines().skip_while(|l| l.starts_with("//")).collect();
    lines.join("\n")
}
