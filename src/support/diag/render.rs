//! Three ways to show diagnostics: `rich` for people (ariadne), `short` for editors, `json` for tools (serde).

use super::{Diagnostic, Note, Place, Severity};
use crate::source::{SourceId, SourceMap};
use serde::Serialize;
use std::fmt::Write;

/// The style of `--diagnostics`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Style {
    /// `file:line:col: error: message`, then the source line with a caret.
    #[default]
    Rich,
    /// One line a message, notes and help too: `file:line:col: note: message`.
    Short,
    /// One JSON object a line.
    Json,
}

/// `file:line:col: ` or nothing.
pub fn position(place: &Place, sources: &SourceMap) -> String {
    match resolve(place, sources) {
        Some((file, line, column)) => format!("{file}:{line}:{column}: "),
        None => String::new(),
    }
}

/// File, line and column of a place, the last two from 1.
pub fn resolve(place: &Place, sources: &SourceMap) -> Option<(String, u32, u32)> {
    match place {
        Place::None => None,
        Place::Span(s) => {
            let (line, column) = sources.line_col(s.source, s.start);
            Some((sources.name(s.source).to_string(), line, column))
        }
        Place::File { file, line, column } => Some((file.clone(), *line, *column)),
    }
}

/// Renders diagnostics as text that ends in a newline (empty for none).
pub fn render(diagnostics: &[Diagnostic], sources: &SourceMap, style: Style, color: bool) -> String {
    let mut out = String::new();
    for d in diagnostics {
        match style {
            Style::Rich => rich(d, sources, color, &mut out),
            Style::Short => short(d, sources, &mut out),
            Style::Json => json(d, sources, &mut out),
        }
    }
    out
}

fn rich(d: &Diagnostic, sources: &SourceMap, color: bool, out: &mut String) {
    message(d.severity, &d.place, &d.message, sources, color, out);
    for Note { place, message: text } in &d.notes {
        message(Severity::Note, place, text, sources, color, out);
    }
    if let Some(help) = &d.help {
        let _ = writeln!(out, "  help: {help}");
    }
}

fn message(severity: Severity, place: &Place, text: &str, sources: &SourceMap, color: bool, out: &mut String) {
    let (on, off) = match (color, severity) {
        (false, _) => ("", ""),
        (_, Severity::Error) => ("\x1b[1;31m", "\x1b[0m"),
        (_, Severity::Warning) => ("\x1b[1;33m", "\x1b[0m"),
        (_, _) => ("\x1b[1;36m", "\x1b[0m"),
    };
    let _ = writeln!(out, "{}{on}{}{off}: {text}", position(place, sources), severity.word());
    if let Place::Span(span) = place {
        snippet(severity, span.source, span.start, span.end, sources, color, out);
    }
}

/// The longest source line that is shown whole; of a longer one, a window around the place.
const WINDOW: usize = 160;

/// The source line with the place underlined, drawn by ariadne. Only the line (or a window of a very long one) is handed over, so
/// that the cost does not grow with the file.
fn snippet(severity: Severity, id: SourceId, start: u32, end: u32, sources: &SourceMap, color: bool, out: &mut String) {
    let text = sources.text(id);
    let start = (start as usize).min(text.len());
    let line_start = text.as_bytes()[..start].iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
    let line = sources.line_text(id, start as u32);
    let mut from = 0;
    if line.len() > 2 * WINDOW {
        from = (start - line_start).saturating_sub(WINDOW);
        while !line.is_char_boundary(from) {
            from -= 1;
        }
    }
    let mut to = line.len().min(from + 2 * WINDOW);
    while !line.is_char_boundary(to) {
        to += 1;
    }
    let shown: String = line[from..to].chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let before = line.get(from..start - line_start).map_or(0, |s| s.chars().count());
    let inside_end = (end as usize).saturating_sub(line_start).clamp(start - line_start, to);
    let width = line.get(start - line_start..inside_end).map_or(1, |s| s.chars().count().max(1));
    let (number, _) = sources.line_col(id, start as u32);
    let kind = match severity {
        Severity::Error => ariadne::ReportKind::Error,
        Severity::Warning => ariadne::ReportKind::Warning,
        Severity::Remark | Severity::Note => ariadne::ReportKind::Advice,
    };
    let mark = match severity {
        Severity::Error => ariadne::Color::Red,
        Severity::Warning => ariadne::Color::Yellow,
        Severity::Remark | Severity::Note => ariadne::Color::Cyan,
    };
    // A caret at the end of a line, and the empty line, need something to stand under.
    let shown = if before + width > shown.chars().count() { shown + " " } else { shown };
    let report = ariadne::Report::build(kind, ((), before..before + width))
        .with_config(ariadne::Config::default().with_color(color).with_underlines(true))
        // ariadne underlines only what it has something to say about.
        .with_label(ariadne::Label::new(((), before..before + width)).with_color(mark).with_message(" "))
        .finish();
    let source = ariadne::Source::from(shown);
    let mut bytes = Vec::new();
    if report.write(source, &mut bytes).is_err() {
        return; // Writing to a vector does not fail; without a picture the message still stands.
    }
    // Of the picture, the line and what underlines it are taken; the margin is ours, since ariadne counts from the text that it was given.
    let picture = String::from_utf8_lossy(&bytes);
    let number = number.to_string();
    let blank = " ".repeat(number.len());
    let rows = picture.lines().filter_map(|l| l.split_once('│'));
    let rows = rows.skip_while(|(margin, _)| !margin.contains(|c: char| c.is_ascii_digit()));
    for (line, margin) in rows.zip([&number, &blank]) {
        let _ = writeln!(out, " {margin} │{}", line.1.trim_end());
    }
}

fn short(d: &Diagnostic, sources: &SourceMap, out: &mut String) {
    let mut line = |place: &Place, word: &str, text: &str| {
        let _ = writeln!(out, "{}{word}: {}", position(place, sources), text.replace('\n', " "));
    };
    line(&d.place, d.severity.word(), &d.message);
    for note in &d.notes {
        line(&note.place, Severity::Note.word(), &note.message);
    }
    if let Some(help) = &d.help {
        line(&d.place, "help", help);
    }
}

#[derive(Serialize)]
struct JsonMessage<'a> {
    severity: Severity,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    message: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<JsonMessage<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
}

fn json(d: &Diagnostic, sources: &SourceMap, out: &mut String) {
    let one = |severity, place: &Place, message| {
        let at = resolve(place, sources);
        JsonMessage {
            severity,
            line: at.as_ref().map(|p| p.1),
            column: at.as_ref().map(|p| p.2),
            file: at.map(|p| p.0),
            message,
            notes: Vec::new(),
            help: None,
        }
    };
    let mut message = one(d.severity, &d.place, d.message.as_str());
    message.notes = d.notes.iter().map(|n| one(Severity::Note, &n.place, n.message.as_str())).collect();
    message.help = d.help.as_deref();
    if let Ok(text) = serde_json::to_string(&message) {
        let _ = writeln!(out, "{text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;

    fn example() -> (SourceMap, Diagnostic) {
        let mut map = SourceMap::new();
        let id = map.add("m.ir", "first\n  %0 = foo %x\n").unwrap();
        let d = Diagnostic::error(Span::new(id, 13, 16), "unknown op 'foo'").note(Span::new(id, 0, 5), "see here");
        (map, d.help("load its dialect"))
    }

    #[test]
    fn rich_shows_the_line_and_a_caret() {
        let (map, d) = example();
        let text = render(&[d], &map, Style::Rich, false);
        assert!(text.starts_with("m.ir:2:8: error: unknown op 'foo'\n"), "{text}");
        assert!(text.contains("\n 2 │   %0 = foo %x\n   │        ─┬─\n"), "{text}");
        assert!(text.contains("m.ir:1:1: note: see here"), "{text}");
        assert!(text.ends_with("help: load its dialect\n"), "{text}");
    }

    #[test]
    fn short_is_a_line_for_each_part() {
        let (map, mut d) = example();
        let text = render(std::slice::from_ref(&d), &map, Style::Short, false);
        let expected =
            "m.ir:2:8: error: unknown op 'foo'\nm.ir:1:1: note: see here\nm.ir:2:8: help: load its dialect\n";
        assert_eq!(text, expected);
        d = Diagnostic::new(Severity::Remark, Place::None, "two\nlines");
        assert_eq!(render(&[d], &map, Style::Short, false), "remark: two lines\n");
    }

    #[test]
    fn json_is_an_object() {
        let (map, d) = example();
        let value: serde_json::Value = serde_json::from_str(&render(&[d], &map, Style::Json, false)).unwrap();
        assert_eq!((value["line"].as_u64(), value["notes"][0]["line"].as_u64()), (Some(2), Some(1)));
    }
}
