//! Reads the keyword lines of a test: RUN, XFAIL, REQUIRES, UNSUPPORTED, ALLOW_RETRIES, DEFINE, REDEFINE and END.
//!
//! A keyword counts wherever it stands in a line, and the rest of the line is its text, as in lit.

use crate::boolean;

/// A line of the script proper, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Directive {
    /// `RUN:` a command line; the name says where it comes from (`RUN: at line 3`).
    Command {
        /// Where the command comes from, for logs.
        origin: String,
        /// The command, continuation lines joined.
        text: String,
    },
    /// `DEFINE:` or `REDEFINE:` a substitution.
    Substitution(Substitution),
}

/// A substitution that a test defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Substitution {
    /// True for DEFINE, false for REDEFINE.
    pub new: bool,
    /// `%{name}`.
    pub name: String,
    /// The text in its place.
    pub value: String,
    /// The lines where it stands, for messages: `at line 3` or `from line 3 to 5`.
    pub location: String,
}

/// All that a test says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// RUN, DEFINE and REDEFINE.
    pub directives: Vec<Directive>,
    /// Expressions of XFAIL.
    pub xfail: Vec<String>,
    /// Expressions of REQUIRES.
    pub requires: Vec<String>,
    /// Expressions of UNSUPPORTED.
    pub unsupported: Vec<String>,
    /// The number after ALLOW_RETRIES.
    pub allowed_retries: Option<u32>,
}

const KEYWORDS: [&str; 8] =
    ["RUN:", "XFAIL:", "REQUIRES:", "UNSUPPORTED:", "ALLOW_RETRIES:", "END.", "DEFINE:", "REDEFINE:"];

/// A RUN or (RE)DEFINE under construction.
struct Open {
    keyword: &'static str,
    first: usize,
    last: usize,
    text: String,
}

impl Open {
    fn continues(&self) -> bool {
        if self.keyword == "RUN:" { self.text.ends_with('\\') } else { self.text.trim_end().ends_with('\\') }
    }

    fn location(&self) -> String {
        if self.first == self.last {
            format!("at line {}", self.first)
        } else {
            format!("from line {} to {}", self.first, self.last)
        }
    }
}

/// Parses the script of a test. With `need_run`, a test without RUN line is an error.
pub fn parse(data: &[u8], need_run: bool) -> Result<Script, String> {
    let mut script = Script::default();
    let mut open: Vec<Open> = Vec::new();
    for (index, line) in data.split(|&b| b == b'\n').enumerate() {
        let number = index + 1;
        let Some((keyword, rest)) = find_keyword(line) else { continue };
        let Ok(rest) = std::str::from_utf8(rest) else {
            return Err(format!("the {keyword} line is not UTF-8\nin {keyword} directive on test line {number}"));
        };
        let rest = rest.trim_end_matches('\r');
        let located = |message: String| format!("{message}\nin {keyword} directive on test line {number}");
        match keyword {
            "RUN:" | "DEFINE:" | "REDEFINE:" => {
                add_directive(&mut open, keyword, number, &with_line_numbers(rest, number)).map_err(located)?
            }
            "XFAIL:" => add_expressions(&mut script.xfail, rest).map_err(located)?,
            "REQUIRES:" => add_expressions(&mut script.requires, rest).map_err(located)?,
            "UNSUPPORTED:" => add_expressions(&mut script.unsupported, rest).map_err(located)?,
            "ALLOW_RETRIES:" => {
                let count = rest
                    .trim()
                    .parse()
                    .map_err(|_| located(format!("INTEGER parser requires the input to be an integer (got {rest})")))?;
                if script.allowed_retries.replace(count).is_some() {
                    return Err("Test has more than one ALLOW_RETRIES lines".to_string());
                }
            }
            _ if rest.trim().is_empty() => break,
            _ => {}
        }
    }
    if need_run && !open.iter().any(|d| d.keyword == "RUN:") {
        return Err("Test has no 'RUN:' line".to_string());
    }
    for directive in open {
        if directive.continues() {
            let (keyword, location) = (directive.keyword, directive.location());
            return Err(format!("Test has unterminated '{keyword}' directive (with '\\') {location}"));
        }
        script.directives.push(finish(directive)?);
    }
    for (keyword, list) in
        [("XFAIL:", &script.xfail), ("REQUIRES:", &script.requires), ("UNSUPPORTED:", &script.unsupported)]
    {
        if list.last().is_some_and(|e| e.ends_with('\\')) {
            return Err(format!("Test has unterminated '{keyword}' lines (with '\\')"));
        }
    }
    Ok(script)
}

/// The first keyword in a line, and what follows it.
fn find_keyword(line: &[u8]) -> Option<(&'static str, &[u8])> {
    let mut best: Option<(usize, &'static str)> = None;
    for (at, &byte) in line.iter().enumerate() {
        if byte != b':' && byte != b'.' {
            continue;
        }
        // All keywords end in `:` or `.`, so look back from there; of those that end here the longest starts first.
        for keyword in KEYWORDS {
            if line[..=at].ends_with(keyword.as_bytes()) {
                let start = at + 1 - keyword.len();
                if best.is_none_or(|(s, _)| start < s) {
                    best = Some((start, keyword));
                }
            }
        }
        if best.is_some() {
            break;
        }
    }
    best.map(|(start, keyword)| (keyword, &line[start + keyword.len()..]))
}

fn add_directive(open: &mut Vec<Open>, keyword: &'static str, line: usize, text: &str) -> Result<(), String> {
    if let Some(last) = open.last_mut().filter(|d| d.keyword == keyword && d.continues()) {
        last.last = line;
        if keyword == "RUN:" {
            last.text.pop();
            last.text.push_str(text.trim_end());
        } else {
            if text.trim().is_empty() {
                return Err("Substitution's continuation is empty".to_string());
            }
            let head = last.text.trim_end();
            last.text = format!("{} {}", head[..head.len() - 1].trim_end(), text.trim_start());
            check_definition(last)?;
        }
        return Ok(());
    }
    let text = if keyword == "RUN:" { text.trim_end() } else { text };
    let directive = Open { keyword, first: line, last: line, text: text.to_string() };
    if keyword != "RUN:" {
        check_definition(&directive)?;
    }
    open.push(directive);
    Ok(())
}

/// Splits a complete definition into name and value.
fn definition(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("Substitution's definition does not contain '='")?;
    let (name, value) = (name.trim(), value.trim());
    let well_formed = name.strip_prefix("%{").and_then(|n| n.strip_suffix('}')).is_some_and(|inner| {
        inner.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
            && inner.chars().all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c))
    });
    if !well_formed {
        return Err(format!(
            "Substitution name '{name}' is malformed as it must start with '%{{', it must end with '}}', and the rest must \
             start with a letter or underscore and contain only alphanumeric characters, hyphens, underscores, and colons"
        ));
    }
    Ok((name.to_string(), value.to_string()))
}

fn check_definition(directive: &Open) -> Result<(), String> {
    if directive.continues() { Ok(()) } else { definition(&directive.text).map(|_| ()) }
}

fn finish(directive: Open) -> Result<Directive, String> {
    if directive.keyword == "RUN:" {
        return Ok(Directive::Command { origin: format!("RUN: at line {}", directive.first), text: directive.text });
    }
    let (name, value) = definition(&directive.text)?;
    let location = directive.location();
    Ok(Directive::Substitution(Substitution { new: directive.keyword == "DEFINE:", name, value, location }))
}

fn add_expressions(list: &mut Vec<String>, text: &str) -> Result<(), String> {
    let mut parts = text.split(',').map(str::trim).filter(|s| !s.is_empty());
    if let Some(last) = list.last_mut().filter(|e| e.ends_with('\\')) {
        last.pop();
        last.push_str(parts.next().unwrap_or(""));
    }
    list.extend(parts.map(str::to_string));
    for expression in list.iter() {
        if expression != "*" && !expression.ends_with('\\') {
            boolean::evaluate(expression, &[] as &[&str])?;
        }
    }
    Ok(())
}

/// Replaces `%(line)`, `%(line+n)` and `%(line-n)`.
fn with_line_numbers(text: &str, line: usize) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("%(line") {
        out.push_str(&rest[..start]);
        let tail = &rest[start + "%(line".len()..];
        let number = tail.find(')').and_then(|end| {
            let inner = tail[..end].trim_start_matches(' ');
            let value = match inner.chars().next() {
                None if end == 0 => Some(line as i64),
                Some(sign @ ('+' | '-')) => {
                    let digits = inner[1..].trim_start_matches(' ');
                    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
                    let offset = if plain { digits.parse::<i64>().ok() } else { None };
                    offset.map(|o| if sign == '+' { line as i64 + o } else { line as i64 - o })
                }
                _ => None,
            };
            value.map(|v| (v, end))
        });
        match number {
            Some((value, end)) => {
                out.push_str(&value.to_string());
                rest = &tail[end + 1..];
            }
            None => {
                out.push_str("%(line");
                rest = tail;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(text: &str) -> Vec<(String, String)> {
        let script = parse(text.as_bytes(), true).expect(text);
        let command = |d: Directive| match d {
            Directive::Command { origin, text } => Some((origin, text)),
            Directive::Substitution(_) => None,
        };
        script.directives.into_iter().filter_map(command).collect()
    }

    #[test]
    fn run_lines_are_joined_and_numbered() {
        let found =
            commands("// RUN: a \\\n// text between\n//   RUN:  b %(line) %(line+2) %(line - 1)\n// RUN: c\r\n");
        let expected = [("RUN: at line 1", " a   b 3 5 2"), ("RUN: at line 4", " c")];
        assert_eq!(found, expected.map(|(a, b)| (a.to_string(), b.to_string())));
    }

    #[test]
    fn end_stops_the_script() {
        assert_eq!(commands("RUN: a\nEND.\nRUN: b\n").len(), 1);
        assert_eq!(commands("RUN: a\nEND. of this\nRUN: b\n").len(), 2);
    }

    #[test]
    fn definitions_span_lines() {
        let script =
            parse(b"DEFINE: %{x} = one \\\nDEFINE:   two\nREDEFINE: %{x}=\nRUN: %{x}\n", true).expect("parses");
        let Directive::Substitution(first) = &script.directives[0] else { panic!("a DEFINE comes first") };
        assert_eq!((first.new, first.value.as_str(), first.location.as_str()), (true, "one two", "from line 1 to 2"));
        let Directive::Substitution(second) = &script.directives[1] else { panic!("a REDEFINE comes second") };
        assert_eq!((second.new, second.value.as_str()), (false, ""));
    }

    #[test]
    fn errors() {
        for (text, message) in [
            ("nothing", "Test has no 'RUN:' line"),
            ("RUN: a \\\nXFAIL: *\n", "Test has unterminated 'RUN:' directive (with '\\') at line 1"),
            ("RUN: a\nXFAIL: b, \\\n", "Test has unterminated 'XFAIL:' lines (with '\\')"),
            ("RUN: a\nALLOW_RETRIES: 1\nALLOW_RETRIES: 1\n", "Test has more than one ALLOW_RETRIES lines"),
            ("RUN: a\nREQUIRES: b c\n", "expected: <end of expression>"),
            ("RUN: a\nDEFINE: %{x}\n", "does not contain '='"),
            ("RUN: a\nDEFINE: %x = 1\n", "Substitution name '%x' is malformed"),
        ] {
            let error = parse(text.as_bytes(), true).expect_err(text);
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn expressions_are_lists() {
        let script = parse(b"RUN: a\nREQUIRES: x, y && \\\nREQUIRES: z\nXFAIL: *\n", true).expect("parses");
        assert_eq!(script.requires, ["x", "y && z"]);
        assert_eq!(script.xfail, ["*"]);
    }
}
