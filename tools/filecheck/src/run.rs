//! One check as it runs: matching single patterns against a part of the input, and capturing variables.

use crate::directive::Kind;
use crate::expression::{Fault, NoValue};
use crate::finding::Finding;
use crate::message::Report;
use crate::options::Options;
use crate::pattern::{Pattern, Target, Value, escape};
use crate::posix::{Captures, Regex, Scratch};
use crate::source::{BufferId, Sources, Span};
use crate::variables::Variables;

/// Where a pattern has matched: places in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// Its start.
    pub start: usize,
    /// Its end.
    pub end: usize,
}

/// Why a pattern has not matched.
#[derive(Debug)]
pub enum NoMatch {
    /// It is not there.
    NotFound,
    /// It has no meaning now: a variable is undefined, or a number cannot be written.
    Invalid(Vec<Fault>),
}

/// The state of a check.
pub struct Run<'r, 's> {
    /// All texts.
    pub sources: &'r Sources<'s>,
    /// The buffer of the input.
    pub input: BufferId,
    /// The options.
    pub options: &'r Options,
    /// The prefixes that patterns refer to.
    pub prefixes: &'r [String],
    /// The variables.
    pub variables: Variables,
    /// What is reported.
    pub report: Report,
    /// What the annotated input will show; absent where none is wanted.
    pub findings: Option<Vec<Finding>>,
    /// Memory for matching.
    pub scratch: Scratch,
    /// The last expression that was matched: -COUNT and -DAG match one several times, and implicit patterns return.
    compiled: Vec<(Vec<u8>, Option<Regex>)>,
}

/// How many expressions are kept compiled.
const KEPT: usize = 8;

impl<'r, 's> Run<'r, 's> {
    /// Begins a check.
    pub fn new(
        sources: &'r Sources<'s>,
        input: BufferId,
        options: &'r Options,
        prefixes: &'r [String],
        variables: Variables,
        report: Report,
    ) -> Run<'r, 's> {
        let findings = (options.dump_input != crate::DumpInput::Never).then(Vec::new);
        Run {
            sources,
            input,
            options,
            prefixes,
            variables,
            report,
            findings,
            scratch: Scratch::default(),
            compiled: Vec::new(),
        }
    }

    /// The bytes of the input.
    pub fn text(&self) -> &'r [u8] {
        &self.sources.buffer(self.input).text
    }

    /// A range of the input.
    pub fn span(&self, start: usize, end: usize) -> Span {
        Span { buffer: self.input, start, end }
    }

    /// Whether matches are reported too.
    pub fn verbose(&self) -> bool {
        self.options.verbose || self.options.very_verbose
    }

    /// Looks for `pattern` between two places of the input, and captures its variables if it is there.
    pub fn find(&mut self, pattern: &Pattern, start: usize, end: usize) -> Result<Match, NoMatch> {
        let text = &self.text()[start..end];
        let found = |at: usize, length: usize| Match { start: start + at, end: start + at + length };
        match &pattern.target {
            Target::End => Ok(found(text.len(), 0)),
            Target::EmptyLine => {
                let at = memchr::memchr_iter(b'\n', text).find(|&at| text.get(at + 1).is_none_or(|&b| b == b'\n'));
                // The line break before the empty line is not part of the match.
                at.map(|at| found(at + 1, 0)).ok_or(NoMatch::NotFound)
            }
            Target::Fixed(span) => {
                let fixed = self.sources.bytes(*span);
                let at = match self.options.ignore_case {
                    true => find_ignoring_case(text, fixed),
                    false => memchr::memmem::find(text, fixed),
                };
                at.map(|at| found(at, fixed.len())).ok_or(NoMatch::NotFound)
            }
            Target::Regex(regex) if pattern.substitutions.is_empty() => self.find_regex(pattern, regex, start, end),
            Target::Regex(regex) => {
                let regex = self.substitute(pattern, regex)?;
                self.find_regex(pattern, &regex, start, end)
            }
        }
    }

    fn find_regex(&mut self, pattern: &Pattern, regex: &[u8], start: usize, end: usize) -> Result<Match, NoMatch> {
        let text = &self.text()[start..end];
        let with_groups = !pattern.texts.is_empty() || !pattern.numbers.is_empty();
        let index = match self.compiled.iter().position(|(known, _)| known == regex) {
            Some(index) => index,
            None => {
                if self.compiled.len() == KEPT {
                    self.compiled.remove(0);
                }
                // An expression whose parts are valid but which itself is not matches nothing.
                self.compiled.push((regex.to_vec(), Regex::new(regex, self.options.ignore_case).ok()));
                self.compiled.len() - 1
            }
        };
        let compiled = self.compiled[index].1.as_ref();
        let captures = compiled.and_then(|compiled| compiled.find(text, with_groups, &mut self.scratch));
        if pattern.directive.kind == Kind::Not && index + 1 < self.compiled.len() {
            let kept = self.compiled.remove(index);
            self.compiled.push(kept);
        }
        let Some((captures, Some(whole))) = captures.map(|captures| (captures[0], captures)).map(|(w, c)| (c, w))
        else {
            return Err(NoMatch::NotFound);
        };
        self.capture(pattern, &captures, start);
        Ok(Match { start: start + whole.0, end: start + whole.1 })
    }

    fn capture(&mut self, pattern: &Pattern, captures: &Captures, start: usize) {
        let span_of = |group: u32| {
            let (from, to) = captures.get(group as usize).copied().flatten().unwrap_or((0, 0));
            Span { buffer: self.input, start: start + from, end: start + to.max(from) }
        };
        for &(name, group) in &pattern.texts {
            self.variables.set_text(name, span_of(group));
        }
        for &(name, group) in &pattern.numbers {
            let span = span_of(group);
            let format = self.variables.number(name).map(|number| number.format).unwrap_or_default();
            if let Some(value) = format.read(self.sources.bytes(span)) {
                self.variables.set_number(name, value, Some(span));
            }
        }
    }

    /// The expression with the values that its blocks have now.
    fn substitute(&mut self, pattern: &Pattern, regex: &[u8]) -> Result<Vec<u8>, NoMatch> {
        if let Some(line) = pattern.line {
            let name = self.variables.name(b"@LINE");
            self.variables.set_number(name, line.into(), None);
        }
        let mut faults = Vec::new();
        let mut result = Vec::with_capacity(regex.len() + 32);
        let mut done = 0;
        for substitution in &pattern.substitutions {
            result.extend_from_slice(&regex[done..substitution.at]);
            done = substitution.at;
            let undefined = |name: Span| {
                let message = [b"undefined variable: ", self.sources.bytes(name)].concat();
                Fault::new(name.loc(), message)
            };
            match &substitution.value {
                Value::Text(name) => match self.variables.text(*name) {
                    Some(span) => escape(self.sources.bytes(span), &mut result),
                    None => faults.push(undefined(substitution.span)),
                },
                Value::Number(expression, format) => {
                    let value = expression.value(&self.variables);
                    let written = value.and_then(|value| format.write(&value).ok_or_else(|| vec![NoValue::Overflow]));
                    match written {
                        Ok(digits) => result.extend_from_slice(digits.as_bytes()),
                        Err(causes) => faults.extend(causes.into_iter().map(|cause| match cause {
                            NoValue::Undefined(name) => undefined(name),
                            NoValue::Overflow => {
                                let text = "unable to substitute variable or numeric expression: overflow error";
                                Fault::new(substitution.span.loc(), text)
                            }
                        })),
                    }
                }
            }
        }
        result.extend_from_slice(&regex[done..]);
        if faults.is_empty() { Ok(result) } else { Err(NoMatch::Invalid(faults)) }
    }

    /// The value of a substitution for a note, quoted; absent where it has none.
    pub fn describe(&self, value: &Value) -> Option<Vec<u8>> {
        match value {
            Value::Text(name) => {
                let text = self.sources.bytes(self.variables.text(*name)?);
                let needs_escape = text.iter().any(|&b| !(b' '..=b'~').contains(&b) || b == b'"');
                let mut shown = vec![b'"'];
                if needs_escape {
                    shown.extend(escaped(text));
                    shown.extend_from_slice(b"\" (escaped value)");
                } else {
                    shown.extend_from_slice(text);
                    shown.push(b'"');
                }
                Some(shown)
            }
            Value::Number(expression, format) => {
                let written = format.write(&expression.value(&self.variables).ok()?)?;
                Some(format!("\"{written}\"").into_bytes())
            }
        }
    }
}

/// Text with what is not printable, and backslashes and quotes, as escapes.
pub fn escaped(text: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(text.len());
    for &byte in text {
        match byte {
            b'\\' => result.extend_from_slice(b"\\\\"),
            b'\t' => result.extend_from_slice(b"\\t"),
            b'\n' => result.extend_from_slice(b"\\n"),
            b'"' => result.extend_from_slice(b"\\\""),
            b' '..=b'~' => result.push(byte),
            _ => result.extend(format!("\\{:03o}", byte).bytes()),
        }
    }
    result
}

/// The first place of `needle` without regard to ASCII case.
fn find_ignoring_case(text: &[u8], needle: &[u8]) -> Option<usize> {
    let (&first, rest) = needle.split_first()?;
    let (lower, upper) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
    let last = text.len().checked_sub(needle.len())?;
    memchr::memchr2_iter(lower, upper, &text[..=last])
        .find(|&at| text[at + 1..at + needle.len()].eq_ignore_ascii_case(rest))
}
