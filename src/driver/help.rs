//! `--list-passes`, `--list-dialects` and the help of a pass, made from the tables.

use super::pipelines::PIPELINES;
use super::session::Dialects;
use crate::pass::{AnyPass, Level, doc, summary};
use crate::passes::TABLE;
use std::fmt::Write;

/// All passes and named pipelines with what they do.
pub fn list_passes() -> String {
    let width = TABLE.iter().map(|p| p.name().len()).chain(PIPELINES.iter().map(|p| p.name.len())).max().unwrap_or(0);
    let mut out = String::from("Passes:\n");
    for pass in TABLE {
        let _ = writeln!(out, "  {:width$}  {}", pass.name(), summary(*pass));
    }
    out.push_str("Pipelines:\n");
    for p in PIPELINES {
        let _ = writeln!(out, "  {:width$}  {}", p.name, p.summary);
        let _ = writeln!(out, "  {:width$}  = {}", "", p.text);
    }
    out
}

/// All known dialects with what they are for.
pub fn list_dialects(dialects: &Dialects) -> String {
    let mut out = String::from("Dialects:\n");
    for dialect in dialects.library.dialects() {
        let (name, doc) = (&dialect.name.text, &dialect.doc);
        let prefix = format!("{name}.");
        let ops = dialects.registry.op_names().iter().filter(|n| n.starts_with(&prefix)).count();
        let _ = writeln!(out, "  {name:10} {ops:>5} ops  {}", first_sentence(doc));
    }
    out
}

/// The first sentence of a documentation, without its full stop.
pub fn first_sentence(doc: &str) -> String {
    let line = doc.replace('\n', " ");
    line.split_once(". ").map_or(line.as_str(), |s| s.0).trim().trim_end_matches('.').to_string()
}

/// Everything about one pass or named pipeline; None when there is none of this name.
pub fn topic(name: &str) -> Option<String> {
    if let Some(p) = PIPELINES.iter().find(|p| p.name == name) {
        return Some(format!("{name}: {}\n\n  {}\n", p.summary, p.text));
    }
    crate::passes::find(name).map(pass)
}

/// A page about all passes, in Markdown.
pub fn pass_docs() -> String {
    let mut out = String::from("# Passes\n\nMade by `rinductor-translate --to=pass-docs`.\n");
    for pass in TABLE {
        let _ = write!(out, "\n## {}\n\n{}\n", pass.name(), doc(*pass));
        let options = pass.options();
        if !options.is_empty() {
            out.push_str("\n| option | values | default | |\n|---|---|---|---|\n");
        }
        for o in options {
            let _ = writeln!(out, "| `{}` | {} | `{}` | {} |", o.name, o.kind.replace('|', "\\|"), o.default, o.help);
        }
    }
    out
}

fn pass(pass: &dyn AnyPass) -> String {
    let mut out = format!("{}: {}\n", pass.name(), doc(pass));
    let levels = |list: &[Level]| match list {
        [] => "any".to_string(),
        _ => list.iter().map(|l| l.word()).collect::<Vec<_>>().join(" or "),
    };
    let _ = writeln!(out, "\nWorks on: {}", pass.on().unwrap_or("any op"));
    let _ = writeln!(out, "Level before: {}; after: {}", levels(pass.needs()), levels(pass.leaves()));
    let options = pass.options();
    if options.is_empty() {
        out.push_str("It takes no options.\n");
    } else {
        out.push_str("Options:\n");
        for o in options {
            let default = if o.default.is_empty() { "empty" } else { &o.default };
            let _ = writeln!(out, "  {}=<{}>  {} (default: {default})", o.name, o.kind, o.help);
        }
    }
    if !pass.statistics().is_empty() {
        out.push_str("Statistics:\n");
        for (name, meaning) in pass.statistics() {
            let _ = writeln!(out, "  {name}: {meaning}");
        }
    }
    out
}
