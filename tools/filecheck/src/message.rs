//! Messages with a place in a text, in the form that compilers use: `file:line:column: error: what`, the line, a caret.

use crate::options::Diagnostics;
use crate::source::{Loc, Sources, Span};
use crate::styles::{Problem, render};

/// How grave a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The check fails by it.
    Error,
    /// Said on request only.
    Remark,
    /// Explains the message before it.
    Note,
}

/// Terminal styles, as escape sequences.
pub mod style {
    /// Back to plain text.
    pub const RESET: &str = "\x1b[0m";
    /// Bold.
    pub const BOLD: &str = "\x1b[1m";
    /// Errors.
    pub const RED: &str = "\x1b[0;1;31m";
    /// Good matches and carets.
    pub const GREEN: &str = "\x1b[0;1;32m";
    /// Guesses.
    pub const MAGENTA: &str = "\x1b[0;1;35m";
    /// Remarks.
    pub const BLUE: &str = "\x1b[0;1;34m";
    /// Discarded matches.
    pub const CYAN: &str = "\x1b[0;1;36m";
    /// Notes and line numbers.
    pub const GREY: &str = "\x1b[0;1;90m";
    /// Input that nothing has matched.
    pub const ON_CYAN: &str = "\x1b[0;1;46m";
}

/// Where messages go, in the order in which they come up.
#[derive(Debug, Default)]
pub struct Report {
    /// The text so far.
    pub text: Vec<u8>,
    /// Whether to use styles.
    pub color: bool,
    /// The style of messages.
    pub diagnostics: Diagnostics,
    /// Messages that are still to be written in a style other than LLVM's.
    pub pending: Vec<Problem>,
}

impl Report {
    /// Adds plain text.
    pub fn push(&mut self, text: impl AsRef<[u8]>) {
        self.text.extend_from_slice(text.as_ref());
    }

    /// Adds a style, if styles are in use.
    pub fn style(&mut self, style: &str) {
        if self.color {
            self.push(style);
        }
    }

    /// Adds a message about a place, with a line under `range` where that is given.
    pub fn message(
        &mut self,
        sources: &Sources<'_>,
        severity: Severity,
        loc: Loc,
        text: impl AsRef<[u8]>,
        range: Option<Span>,
    ) {
        if self.diagnostics != Diagnostics::Llvm {
            let text = String::from_utf8_lossy(text.as_ref()).into_owned();
            self.pending.push(Problem { severity, loc, range, text, values: Vec::new() });
            return;
        }
        let position = sources.position(loc);
        self.style(style::BOLD);
        self.push(format!("{}:{}:{}: ", sources.buffer(loc.buffer).name, position.line, position.column));
        let (name, color) = match severity {
            Severity::Error => ("error: ", style::RED),
            Severity::Remark => ("remark: ", style::BLUE),
            Severity::Note => ("note: ", style::GREY),
        };
        self.style(style::RESET);
        self.style(color);
        self.push(name);
        self.style(style::RESET);
        self.style(style::BOLD);
        self.push(text);
        self.push("\n");
        self.style(style::RESET);
        self.snippet(sources, loc, range);
    }

    /// Writes the messages that are pending.
    pub fn flush(&mut self, sources: &Sources<'_>) {
        if !self.pending.is_empty() {
            let text = render(self.diagnostics, self.color, sources, &self.pending);
            self.push(text);
            self.pending.clear();
        }
    }

    fn snippet(&mut self, sources: &Sources<'_>, loc: Loc, range: Option<Span>) {
        let line_span = sources.line(loc);
        let line = sources.bytes(line_span);
        let mut shown = Vec::with_capacity(line.len() + 1);
        for &byte in line {
            match byte {
                b'\t' => shown.resize(shown.len() / TAB * TAB + TAB, b' '),
                byte => shown.push(byte),
            }
        }
        shown.push(b'\n');
        self.push(&shown);
        // Columns of text that is not ASCII are not known, so nothing is pointed at there.
        if !line.is_ascii() {
            return;
        }
        let mut marks = vec![b' '; line.len() + 1];
        if let Some(range) = range.filter(|r| r.start <= line_span.end && r.end >= line_span.start) {
            let start = range.start.max(line_span.start) - line_span.start;
            let end = range.end.min(line_span.end) - line_span.start;
            marks[start..end.max(start)].fill(b'~');
        }
        marks[loc.offset - line_span.start] = b'^';
        let used = marks.iter().rposition(|&mark| mark != b' ').map_or(0, |last| last + 1);
        let mut caret_line = Vec::with_capacity(used + 1);
        for (column, &mark) in marks[..used].iter().enumerate() {
            let width = if line.get(column) == Some(&b'\t') { TAB - caret_line.len() % TAB } else { 1 };
            caret_line.resize(caret_line.len() + width, mark);
        }
        self.style(style::GREEN);
        caret_line.push(b'\n');
        self.push(&caret_line);
        self.style(style::RESET);
    }
}

/// Width of a tab.
const TAB: usize = 8;
