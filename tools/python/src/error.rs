//! `RinductorError` and `Diagnostic`: what is wrong with an input, as Python sees it.

use pyo3::exceptions::{PyException, PyIndexError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use rinductor::runtime::RuntimeError;
use rinductor::support::diag::Place;
use rinductor::support::diag::render::{Style, render, resolve};
use rinductor::support::{self, SourceMap};

pyo3::create_exception!(
    rinductor,
    RinductorError,
    PyException,
    "Something is wrong with an input: a text, a pipeline, a module, arguments of a call.\n\n\
     `str()` gives what the programs print, with lines of the source and carets; `diagnostics` has the parts."
);

/// One message about an input: what is wrong, and where.
#[pyclass(frozen, get_all, module = "rinductor")]
pub struct Diagnostic {
    /// `error`, `warning`, `remark` or `note`.
    severity: &'static str,
    /// One sentence.
    message: String,
    /// The name of the text that it points into, or None.
    file: Option<String>,
    /// The line in that text, from 1, or None.
    line: Option<u32>,
    /// The column in that line, from 1, or None.
    column: Option<u32>,
    /// Second places that explain it: a tuple of diagnostics.
    notes: Py<PyTuple>,
    /// What to do about it, or None.
    help: Option<String>,
}

#[pymethods]
impl Diagnostic {
    fn __repr__(&self) -> String {
        let at = match (&self.file, self.line, self.column) {
            (Some(file), Some(line), Some(column)) => format!("{file}:{line}:{column}: "),
            _ => String::new(),
        };
        format!("<Diagnostic {at}{}: {}>", self.severity, self.message)
    }
}

impl Diagnostic {
    /// From the compiler's.
    pub fn of(py: Python<'_>, d: &support::Diagnostic, sources: &SourceMap) -> PyResult<Diagnostic> {
        Diagnostic::new(py, d.severity, &d.place, &d.message, &d.notes, d.help.as_deref(), sources)
    }

    fn new(
        py: Python<'_>,
        severity: support::Severity,
        place: &Place,
        message: &str,
        notes: &[support::diag::Note],
        help: Option<&str>,
        sources: &SourceMap,
    ) -> PyResult<Diagnostic> {
        let at = resolve(place, sources);
        let notes = notes
            .iter()
            .map(|n| Diagnostic::new(py, support::Severity::Note, &n.place, &n.message, &[], None, sources))
            .collect::<PyResult<Vec<_>>>()?;
        Ok(Diagnostic {
            severity: severity.word(),
            message: message.to_string(),
            line: at.as_ref().map(|p| p.1),
            column: at.as_ref().map(|p| p.2),
            file: at.map(|p| p.0),
            notes: PyTuple::new(py, notes)?.unbind(),
            help: help.map(str::to_string),
        })
    }
}

/// The exception for diagnostics.
pub fn error(py: Python<'_>, list: &[support::Diagnostic], sources: &SourceMap) -> PyErr {
    let text = render(list, sources, Style::Rich, false);
    let e = RinductorError::new_err(text.trim_end().to_string());
    let parts = list.iter().map(|d| Diagnostic::of(py, d, sources)).collect::<PyResult<Vec<_>>>();
    match parts.and_then(|p| PyList::new(py, p)).and_then(|p| e.value(py).setattr("diagnostics", p)) {
        Ok(()) => e,
        Err(other) => other,
    }
}

/// The exception for one sentence.
pub fn sentence(py: Python<'_>, text: impl Into<String>) -> PyErr {
    error(py, &[support::Diagnostic::error_nowhere(text)], &SourceMap::new())
}

/// The exception for an error of a call: `IndexError` for an index that is out of range, and what a function of Python raised as it is.
pub fn of_call(py: Python<'_>, e: RuntimeError) -> PyErr {
    if e.is_index() {
        return PyIndexError::new_err(e.to_string());
    }
    match e {
        RuntimeError::Host { op, source } => match source.downcast::<PyErr>() {
            Ok(raised) => *raised,
            Err(source) => sentence(py, format!("{op}: {source}")),
        },
        e => sentence(py, e.to_string()),
    }
}
