//! What a check has found, for the annotated input: the results of patterns in the order in which they came up.

use crate::directive::Directive;
use crate::source::{Loc, Span};

/// The kind of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingKind {
    /// Found, as it should be.
    Found,
    /// Found though it should not be.
    Excluded,
    /// Found, but on a wrong line.
    WrongLine,
    /// Found, but overlapping an earlier -DAG match.
    Discarded,
    /// Not found, as it should be.
    Absent,
    /// Not found though it should be.
    Missing,
    /// Not looked for, since the pattern has no meaning.
    Invalid,
    /// Not found, but this is near.
    Nearest,
}

/// A result, or a note on one.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The kind.
    pub kind: FindingKind,
    /// The directive.
    pub directive: Directive,
    /// The pattern's place.
    pub check: Loc,
    /// The range of the input.
    pub span: Span,
    /// The note; empty where the kind says all.
    pub note: Vec<u8>,
}
