//! The other styles of a report: snippets for people, one line a message for editors, JSON for tools.
//!
//! LLVM's style, which [`crate::message`] writes, is for those who look for its words. Here a failure is one diagnostic: the
//! directive, the places in the input that bear on it, and the values of the variables at that time.

use codespan_reporting::diagnostic::{Diagnostic, Label, Severity as Level};
use codespan_reporting::files::SimpleFiles;
use codespan_reporting::term::{
    Chars, Config, DisplayStyle, Styles, StylesWriter, emit_into_string, emit_to_write_style, termcolor,
};
use serde::Serialize;

use crate::message::Severity;
use crate::options::Diagnostics;
use crate::source::{Loc, Sources, Span};

/// A message that is kept until the report is written.
#[derive(Clone, Debug)]
pub struct Problem {
    /// How grave it is.
    pub severity: Severity,
    /// Where.
    pub loc: Loc,
    /// What it is about, where that is a range.
    pub range: Option<Span>,
    /// What.
    pub text: String,
    /// Names and values of the variables at that time.
    pub values: Vec<(String, String)>,
}

/// A message for tools.
#[derive(Serialize)]
struct Entry<'p> {
    severity: &'static str,
    message: &'p str,
    file: &'p str,
    line: usize,
    column: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<Entry<'p>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    variables: Vec<Variable<'p>>,
}

/// A variable for tools.
#[derive(Serialize)]
struct Variable<'p> {
    name: &'p str,
    value: &'p str,
}

/// Writes the messages; each error or remark takes the notes after it along.
pub fn render(style: Diagnostics, color: bool, sources: &Sources<'_>, problems: &[Problem]) -> Vec<u8> {
    let mut result = Vec::new();
    let mut rest = problems;
    let files = if style == Diagnostics::Json { SimpleFiles::new() } else { as_files(sources) };
    while let Some((first, after)) = rest.split_first() {
        let notes = after.iter().take_while(|problem| problem.severity == Severity::Note).count();
        let (notes, next) = after.split_at(notes);
        rest = next;
        match style {
            Diagnostics::Llvm | Diagnostics::Rich => {
                emit(&mut result, DisplayStyle::Rich, color, &files, &diagnostic(sources, first, notes));
            }
            Diagnostics::Short => {
                for problem in std::iter::once(first).chain(notes) {
                    emit(&mut result, DisplayStyle::Short, color, &files, &diagnostic(sources, problem, &[]));
                }
            }
            Diagnostics::Json => {
                let mut main = entry(sources, first);
                main.notes = notes.iter().map(|note| entry(sources, note)).collect();
                let line = serde_json::to_string(&main).unwrap_or_else(|error| error.to_string());
                result.extend_from_slice(line.as_bytes());
                result.push(b'\n');
            }
        }
    }
    result
}

fn entry<'p>(sources: &'p Sources<'_>, problem: &'p Problem) -> Entry<'p> {
    let position = sources.position(problem.loc);
    Entry {
        severity: match problem.severity {
            Severity::Error => "error",
            Severity::Remark => "remark",
            Severity::Note => "note",
        },
        message: &problem.text,
        file: &sources.buffer(problem.loc.buffer).name,
        line: position.line,
        column: position.column,
        notes: Vec::new(),
        variables: problem.values.iter().map(|(name, value)| Variable { name, value }).collect(),
    }
}

/// The texts, byte for byte as long as they are: what is not UTF-8 shows as question marks.
fn as_files(sources: &Sources<'_>) -> SimpleFiles<String, String> {
    let mut files = SimpleFiles::new();
    for buffer in sources.iter() {
        let mut text = String::with_capacity(buffer.text.len());
        for chunk in buffer.text.utf8_chunks() {
            text.push_str(chunk.valid());
            text.extend(chunk.invalid().iter().map(|_| '?'));
        }
        files.add(buffer.name.clone(), text);
    }
    files
}

/// The range of a problem: its own, or the rest of the line in the check file, or the character in the input.
fn range(sources: &Sources<'_>, problem: &Problem) -> Span {
    let line = sources.line(problem.loc);
    let from = Span { start: problem.loc.offset, ..line };
    match problem.range {
        Some(range) => range,
        None if problem.severity == Severity::Note => Span { end: line.end.min(from.start + 1), ..from },
        None => from,
    }
}

fn diagnostic(sources: &Sources<'_>, main: &Problem, notes: &[Problem]) -> Diagnostic<usize> {
    let level = match main.severity {
        Severity::Error => Level::Error,
        Severity::Remark => Level::Help,
        Severity::Note => Level::Note,
    };
    let label = |problem: &Problem| {
        let span = range(sources, problem);
        (span.buffer.0 as usize, span.start..span.end)
    };
    let (file, place) = label(main);
    let mut labels = vec![Label::primary(file, place)];
    labels.extend(notes.iter().map(|note| {
        let (file, place) = label(note);
        Label::secondary(file, place).with_message(&note.text)
    }));
    let values = main.values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    Diagnostic::new(level).with_message(&main.text).with_labels(labels).with_notes(values)
}

fn emit(
    result: &mut Vec<u8>,
    style: DisplayStyle,
    color: bool,
    files: &SimpleFiles<String, String>,
    diagnostic: &Diagnostic<usize>,
) {
    let config = Config { display_style: style, chars: Chars::ascii(), ..Config::default() };
    // Every range is one of the files', so that nothing can go wrong but for memory.
    if color {
        let styles = Styles::default();
        let mut buffer = termcolor::Buffer::ansi();
        if emit_to_write_style(&mut StylesWriter::new(&mut buffer, &styles), &config, files, diagnostic).is_ok() {
            result.extend_from_slice(buffer.as_slice());
        }
    } else if let Ok(text) = emit_into_string(&config, files, diagnostic) {
        result.extend_from_slice(text.as_bytes());
    }
}
