//! What is reported when a pattern is found, or is not.

use crate::expression::Fault;
use crate::finding::{Finding, FindingKind};
use crate::fuzzy::nearest;
use crate::message::Severity;
use crate::pattern::{Pattern, Target};
use crate::run::{Match, NoMatch, Run, escaped};
use crate::source::{Loc, Span};

/// A pattern's result is an error, which is in the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed;

/// Whether a pattern should be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// It should.
    Yes,
    /// It should not.
    No,
}

impl Run<'_, '_> {
    fn add_finding(&mut self, kind: FindingKind, pattern: &Pattern, span: Span, note: Vec<u8>) {
        let finding = Finding { kind, directive: pattern.directive, check: pattern.loc, span, note };
        if let Some(findings) = &mut self.findings {
            findings.push(finding);
        }
    }

    /// Changes the kind of the last pattern's findings.
    pub fn change_last_findings(&mut self, kind: FindingKind) {
        let Some(findings) = &mut self.findings else { return };
        let Some(check) = findings.last().map(|finding| finding.check) else { return };
        findings.iter_mut().rev().take_while(|finding| finding.check == check).for_each(|finding| finding.kind = kind);
    }

    /// Notes a match on a wrong line.
    pub fn found_on_wrong_line(&mut self, pattern: &Pattern, span: Span) {
        if self.verbose() {
            self.change_last_findings(FindingKind::WrongLine);
        } else {
            self.add_finding(FindingKind::WrongLine, pattern, span, Vec::new());
        }
    }

    fn message(&mut self, severity: Severity, loc: Loc, text: impl AsRef<[u8]>, range: Option<Span>) {
        self.report.message(self.sources, severity, loc, text, range);
        let is_error = severity == Severity::Error;
        if let Some(problem) = self.report.pending.last_mut().filter(|_| is_error) {
            let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let values = self.variables.values().map(|(name, text, number)| {
                let value = number.map(ToString::to_string);
                let text = || text.map(|span| show(&escaped(self.sources.bytes(span)))).unwrap_or_default();
                (show(name), value.unwrap_or_else(|| format!("\"{}\"", text())))
            });
            problem.values = values.collect();
        }
    }

    /// Adds a note at a place of the input.
    pub fn note(&mut self, at: usize, text: &str) {
        let loc = self.span(at, at).loc();
        self.message(Severity::Note, loc, text, None);
    }

    /// Adds an error at a pattern.
    pub fn error(&mut self, pattern: &Pattern, text: &str) {
        self.message(Severity::Error, pattern.loc, text, None);
    }

    /// Reports a result of looking for `pattern` between `start` and `end`.
    pub fn report_result(
        &mut self,
        wanted: Wanted,
        pattern: &Pattern,
        count: u32,
        (start, end): (usize, usize),
        result: Result<Match, NoMatch>,
    ) -> Result<Match, Failed> {
        match result {
            Ok(found) => self.report_match(wanted, pattern, count, found).map(|()| found),
            Err(cause) => {
                let faults = match cause {
                    NoMatch::NotFound => Vec::new(),
                    NoMatch::Invalid(faults) => faults,
                };
                self.report_no_match(wanted, pattern, count, self.span(start, end), &faults)?;
                // The caller of a pattern that should not be found does not look at the match.
                Ok(Match { start, end: start })
            }
        }
    }

    fn title(&self, pattern: &Pattern, count: u32, what: &str) -> String {
        let name = pattern.directive.describe(&self.prefixes[pattern.prefix]);
        match pattern.directive.count {
            1 => format!("{name}: {what} in input"),
            total => format!("{name}: {what} in input ({count} out of {total})"),
        }
    }

    /// Reports a match.
    pub fn report_match(&mut self, wanted: Wanted, pattern: &Pattern, count: u32, found: Match) -> Result<(), Failed> {
        let is_error = wanted == Wanted::No;
        let is_end = matches!(pattern.target, Target::End);
        if !is_error && (!self.verbose() || (is_end && !self.options.very_verbose)) {
            return Ok(());
        }
        let span = self.span(found.start, found.end);
        let kind = if is_error { FindingKind::Excluded } else { FindingKind::Found };
        let with_findings = self.findings.is_some();
        if with_findings {
            self.add_finding(kind, pattern, span, Vec::new());
            for note in self.substitution_notes(pattern) {
                self.add_finding(kind, pattern, span.at_start(), note);
            }
            for (note, captured) in self.capture_notes(pattern) {
                self.add_finding(kind, pattern, captured, note);
            }
            if !is_error {
                return Ok(());
            }
        }
        let (severity, what) = match is_error {
            true => (Severity::Error, "excluded string found"),
            false => (Severity::Remark, "expected string found"),
        };
        let title = self.title(pattern, count, what);
        self.message(severity, pattern.loc, title, None);
        self.message(Severity::Note, span.loc(), "found here", Some(span));
        for note in self.substitution_notes(pattern) {
            self.message(Severity::Note, span.loc(), note, None);
        }
        for (note, captured) in self.capture_notes(pattern) {
            self.message(Severity::Note, captured.loc(), note, Some(captured));
        }
        if is_error { Err(Failed) } else { Ok(()) }
    }

    fn report_no_match(
        &mut self,
        wanted: Wanted,
        pattern: &Pattern,
        count: u32,
        searched: Span,
        faults: &[Fault],
    ) -> Result<(), Failed> {
        let is_invalid = !faults.is_empty();
        let is_error = wanted == Wanted::Yes || is_invalid;
        for fault in faults {
            self.message(Severity::Error, fault.loc, &fault.text, None);
        }
        if !is_error && !self.options.very_verbose {
            return Ok(());
        }
        let kind = match wanted {
            _ if is_invalid => FindingKind::Invalid,
            Wanted::Yes => FindingKind::Missing,
            Wanted::No => FindingKind::Absent,
        };
        if self.findings.is_some() {
            self.add_finding(kind, pattern, searched, Vec::new());
            for fault in faults {
                self.add_finding(kind, pattern, searched.at_start(), fault.text.clone());
            }
            for note in self.substitution_notes(pattern) {
                self.add_finding(kind, pattern, searched.at_start(), note);
            }
            if !is_error {
                return Ok(());
            }
        }
        if !is_invalid {
            let (severity, what) = match wanted {
                Wanted::Yes => (Severity::Error, "expected string not found"),
                Wanted::No => (Severity::Remark, "excluded string not found"),
            };
            let title = self.title(pattern, count, what);
            self.message(severity, pattern.loc, title, None);
            self.message(Severity::Note, searched.loc(), "scanning from here", None);
        }
        for note in self.substitution_notes(pattern) {
            self.message(Severity::Note, searched.loc(), note, None);
        }
        if wanted == Wanted::Yes {
            self.report_nearest(pattern, searched);
        }
        if is_error { Err(Failed) } else { Ok(()) }
    }

    fn report_nearest(&mut self, pattern: &Pattern, searched: Span) {
        let sources = self.sources;
        let example: &[u8] = match &pattern.target {
            Target::Fixed(span) => sources.bytes(*span),
            Target::Regex(regex) => regex,
            Target::EmptyLine => b"(\n$)",
            Target::End => b"",
        };
        if let Some(at) = nearest(sources.bytes(searched), example) {
            let span = searched.part(at, at);
            self.add_finding(FindingKind::Nearest, pattern, span, Vec::new());
            self.message(Severity::Note, span.loc(), "possible intended match here", None);
        }
    }

    /// What was put into the pattern.
    fn substitution_notes(&self, pattern: &Pattern) -> Vec<Vec<u8>> {
        let notes = pattern.substitutions.iter().filter_map(|substitution| {
            let value = self.describe(&substitution.value)?;
            let block = escaped(self.sources.bytes(substitution.span));
            Some([b"with \"", &block[..], b"\" equal to ", &value].concat())
        });
        notes.collect()
    }

    /// What the pattern has captured, in the order of places.
    fn capture_notes(&self, pattern: &Pattern) -> Vec<(Vec<u8>, Span)> {
        let texts = pattern.texts.iter().filter_map(|&(name, _)| Some((name, self.variables.text(name)?)));
        let numbers =
            pattern.numbers.iter().filter_map(|&(name, _)| Some((name, self.variables.number(name)?.captured?)));
        let mut captures: Vec<_> = texts.chain(numbers).collect();
        captures.sort_by_key(|(_, span)| span.start);
        let note = |name| [b"captured var \"", self.variables.spelling(name), b"\""].concat();
        captures.into_iter().map(|(name, span)| (note(name), span)).collect()
    }
}
