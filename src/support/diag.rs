//! Diagnostics: what went wrong, where, and what to do. Rendering stands in [`render`].

use crate::source::{SourceMap, Span};
use serde::Serialize;

pub mod render;

/// How bad it is. Only `Error` makes a run fail.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The input is wrong; nothing is written.
    Error,
    /// Probably not what was meant.
    Warning,
    /// What a pass did or did not do, and why.
    Remark,
    /// Belongs to the diagnostic before it.
    Note,
}

impl Severity {
    /// The word that is printed.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Remark => "remark",
            Severity::Note => "note",
        }
    }
}

/// A place where a diagnostic points.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Place {
    /// Nowhere: an option, an environment.
    #[default]
    None,
    /// A span of a text that was read.
    Span(Span),
    /// A position that a location names (`loc("model.py":12:3)`), whose text is not at hand. Lines and columns from 1.
    File {
        /// Name of the file.
        file: String,
        /// Line, from 1.
        line: u32,
        /// Column, from 1.
        column: u32,
    },
}

impl From<Span> for Place {
    fn from(span: Span) -> Self {
        Place::Span(span)
    }
}

/// A second place that explains a diagnostic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// Where.
    pub place: Place,
    /// What.
    pub message: String,
}

/// One message to the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Where.
    pub place: Place,
    /// What: one sentence with the facts in it, without a full stop.
    pub message: String,
    /// Second places.
    pub notes: Vec<Note>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A diagnostic of a severity.
    pub fn new(severity: Severity, place: impl Into<Place>, message: impl Into<String>) -> Self {
        Self { severity, place: place.into(), message: message.into(), notes: Vec::new(), help: None }
    }
    /// An error.
    pub fn error(place: impl Into<Place>, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, place, message)
    }
    /// An error that no place in a text causes.
    pub fn error_nowhere(message: impl Into<String>) -> Self {
        Self::new(Severity::Error, Place::None, message)
    }
    /// Adds a second place.
    #[must_use]
    pub fn note(mut self, place: impl Into<Place>, message: impl Into<String>) -> Self {
        self.notes.push(Note { place: place.into(), message: message.into() });
        self
    }
    /// Says what to do.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }
    /// `file:line:col: error: message`, without notes: for logs and tests.
    pub fn headline(&self, sources: &SourceMap) -> String {
        format!("{}{}: {}", render::position(&self.place, sources), self.severity.word(), self.message)
    }
}
