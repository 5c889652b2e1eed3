//! `--verify-diagnostics`: compares the diagnostics of a file with the comments that expect them, as MLIR's do.
//!
//! `// expected-error@+1 {{text}}` expects an error with this text in it on the next line; `-warning`, `-remark` and `-note` likewise. The place is
//! `@+N`, `@-N`, `@above` or `@below` (the nearest line without such a comment), `@unknown` (no place), or nothing for the same line. After
//! `-re` what stands in `{{…}}` inside the text is a regular expression.

use crate::support::diag::Place;
use crate::support::diag::render::resolve;
use crate::support::{Diagnostic, Severity, SourceId, SourceMap, Span};
use regex::Regex;
use std::sync::LazyLock;

/// One expectation.
#[derive(Debug)]
struct Expected {
    severity: Severity,
    /// The line that the diagnostic must point at; None for `@unknown`.
    line: Option<u32>,
    matcher: Matcher,
    /// The comment.
    span: Span,
    text: String,
    met: bool,
}

#[derive(Debug)]
enum Matcher {
    Substring(String),
    Regex(Regex),
}

impl Matcher {
    fn matches(&self, message: &str) -> bool {
        match self {
            Matcher::Substring(s) => message.contains(s),
            Matcher::Regex(r) => r.is_match(message),
        }
    }
}

static COMMENT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"expected-(error|note|remark|warning)(-re)? *(@([+-][0-9]+|above|below|unknown))? *\{\{(.*)\}\}\s*$")
        .expect("the pattern is a constant that a test reads")
});

/// Compares. Gives the complaints: diagnostics that nothing expected (unless `only_expected`), and expectations that nothing met.
pub fn compare(
    sources: &SourceMap,
    source: SourceId,
    diagnostics: &[Diagnostic],
    only_expected: bool,
) -> Vec<Diagnostic> {
    let mut complaints = Vec::new();
    let mut expected = read(sources, source, &mut complaints);
    for d in diagnostics {
        let notes = d.notes.iter().map(|n| (Severity::Note, &n.place, &n.message));
        for (severity, place, message) in std::iter::once((d.severity, &d.place, &d.message)).chain(notes) {
            let line = line_in(sources, source, place);
            let fits =
                |e: &&mut Expected| !e.met && e.severity == severity && e.line == line && e.matcher.matches(message);
            match expected.iter_mut().find(fits) {
                Some(e) => e.met = true,
                None if only_expected => {}
                None => complaints
                    .push(Diagnostic::error(place.clone(), format!("unexpected {}: {message}", severity.word()))),
            }
        }
    }
    for e in expected.iter().filter(|e| !e.met) {
        complaints
            .push(Diagnostic::error(e.span, format!("expected {} \"{}\" was not produced", e.severity.word(), e.text)));
    }
    complaints
}

/// The line of a place that lies in this source.
fn line_in(sources: &SourceMap, source: SourceId, place: &Place) -> Option<u32> {
    let (file, line, _) = resolve(place, sources)?;
    (file == sources.name(source)).then_some(line)
}

fn read(sources: &SourceMap, source: SourceId, complaints: &mut Vec<Diagnostic>) -> Vec<Expected> {
    let text = sources.text(source).clone();
    let (first, _) = sources.line_col(source, 0);
    let mut found: Vec<Expected> = Vec::new();
    // Expectations of `@below` wait for the next line without a comment.
    let mut below: Vec<usize> = Vec::new();
    let mut last_plain = None;
    let mut at = 0;
    for (i, line) in text.split('\n').enumerate() {
        let number = first + i as u32;
        let start = at;
        at += line.len() + 1;
        let Some(c) = line.contains("expected-").then(|| COMMENT.captures(line)).flatten() else {
            for k in below.drain(..) {
                found[k].line = Some(number);
            }
            last_plain = Some(number);
            continue;
        };
        let whole = c.get(0).map_or(0..0, |m| m.range());
        let span = Span::new(source, start + whole.start, start + whole.end);
        let severity = match &c[1] {
            "error" => Severity::Error,
            "note" => Severity::Note,
            "remark" => Severity::Remark,
            _ => Severity::Warning,
        };
        let mut waits = false;
        let target = match c.get(4).map(|m| m.as_str()) {
            None => Some(number),
            Some("unknown") => None,
            Some("below") => {
                waits = true;
                Some(0)
            }
            Some("above") => match last_plain {
                Some(line) => Some(line),
                None => {
                    complaints.push(Diagnostic::error(span, "there is no line above this comment"));
                    continue;
                }
            },
            Some(offset) => {
                let line = offset.parse::<i64>().ok().and_then(|n| u32::try_from(i64::from(number) + n).ok());
                match line.filter(|&l| l > 0) {
                    Some(line) => Some(line),
                    None => {
                        complaints.push(Diagnostic::error(span, format!("there is no line at {offset} from here")));
                        continue;
                    }
                }
            }
        };
        let matcher = if c.get(2).is_some() {
            match regex_of(&c[5]) {
                Ok(regex) => Matcher::Regex(regex),
                Err(why) => {
                    complaints.push(Diagnostic::error(span, why));
                    continue;
                }
            }
        } else {
            Matcher::Substring(c[5].to_string())
        };
        if waits {
            below.push(found.len());
        }
        found.push(Expected { severity, line: target, matcher, span, text: c[5].to_string(), met: false });
    }
    for &k in &below {
        complaints.push(Diagnostic::error(found[k].span, "there is no line below this comment"));
    }
    found
}

/// `text {{regex}} text` as one regular expression.
fn regex_of(text: &str) -> Result<Regex, String> {
    let mut pattern = String::new();
    let mut rest = text;
    while let Some((plain, after)) = rest.split_once("{{") {
        pattern += &regex::escape(plain);
        let (regex, after) = after.split_once("}}").ok_or("'{{' without '}}' in the expected text")?;
        pattern += &format!("(?:{regex})");
        rest = after;
    }
    pattern += &regex::escape(rest);
    Regex::new(&pattern).map_err(|e| format!("the expected text is no regular expression: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The complaints about a text for diagnostics given as (line, severity, message).
    fn complaints(text: &str, diagnostics: &[(u32, Severity, &str)]) -> Vec<String> {
        let mut sources = SourceMap::new();
        let id = sources.add_part("t.ir", text, 10).unwrap();
        let starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        let list: Vec<Diagnostic> = diagnostics
            .iter()
            .map(|&(line, severity, message)| {
                let place = match line {
                    0 => Place::None,
                    _ => Span::new(id, starts[line as usize - 1], starts[line as usize - 1]).into(),
                };
                Diagnostic::new(severity, place, message)
            })
            .collect();
        compare(&sources, id, &list, false).iter().map(|d| d.headline(&sources)).collect()
    }

    #[test]
    fn every_kind_of_place_is_found() {
        let text = "// expected-error@+1 {{one}}\nx // expected-warning {{two}}\n// expected-remark@above {{three}}\n\
                    // expected-note @below {{four}}\n// expected-error@unknown {{five}}\ny\n// expected-error@-2 {{six}}\n";
        let all = [
            (2, Severity::Error, "it is one"),
            (2, Severity::Warning, "two"),
            (0, Severity::Error, "five"),
            (5, Severity::Error, "six"),
            (6, Severity::Note, "four"),
        ];
        // The line `x` has a comment, so that `above` finds none.
        assert_eq!(complaints(text, &all), ["t.ir:12:4: error: there is no line above this comment"]);
    }

    #[test]
    fn what_is_missing_and_what_is_too_much_is_said() {
        let text = "x\n// expected-error@above {{one}}\n";
        assert_eq!(
            complaints(text, &[(1, Severity::Warning, "one")]),
            ["t.ir:10:1: error: unexpected warning: one", "t.ir:11:4: error: expected error \"one\" was not produced"]
        );
        // One comment expects one diagnostic.
        assert_eq!(complaints(text, &[(1, Severity::Error, "one"); 2]), ["t.ir:10:1: error: unexpected error: one"]);
    }

    #[test]
    fn regular_expressions_stand_in_inner_braces() {
        let text = "x\n// expected-error-re@above {{has {{[0-9]+}} of (x)}}\n";
        assert!(complaints(text, &[(1, Severity::Error, "it has 12 of (x)")]).is_empty());
        assert_eq!(complaints(text, &[(1, Severity::Error, "it has two of (x)")]).len(), 2);
        let bad = "x\n// expected-error-re@above {{has {{[}}}}\n";
        assert!(complaints(bad, &[])[0].contains("is no regular expression"));
    }
}
