//! Reading a check file: finding the directives and grouping them by the positive match that each belongs to.

use std::rc::Rc;

use memchr::memmem;

use crate::block::{BlockParser, Cursor, is_blank};
use crate::directive::{Directive, Kind, Suffix, suffix};
use crate::expression::{Fault, NoValue};
use crate::message::{Report, Severity};
use crate::options::Options;
use crate::pattern::{Pattern, Target, parse};
use crate::source::{BufferId, CHECK_FILE, Loc, Sources, Span};
use crate::variables::Variables;

/// A positive directive with what is to be checked between the match before and its own.
#[derive(Debug)]
pub struct Check {
    /// The pattern.
    pub pattern: Pattern,
    /// The -DAG and -NOT patterns before it, in order.
    pub before: Vec<Rc<Pattern>>,
}

/// A check file that has been read.
#[derive(Debug)]
pub struct CheckFile {
    /// The positive directives in order.
    pub checks: Vec<Check>,
    /// The prefixes that patterns refer to.
    pub prefixes: Vec<String>,
    /// Buffers of the implicit patterns.
    pub implicit: Vec<BufferId>,
}

/// Reading stopped at a fault, which is in the report.
#[derive(Clone, Copy, Debug)]
pub struct Unreadable {
    /// Whether LLVM leaves with the exit code of a mismatch here.
    pub exits_as_mismatch: bool,
}

const FAULTY: Unreadable = Unreadable { exits_as_mismatch: false };

const IMPLICIT_PREFIX: &str = "IMPLICIT-CHECK";

/// Checks the prefixes that the user gives; a fault goes to the report.
pub fn validate_prefixes(options: &Options, report: &mut Report) -> Result<(), Unreadable> {
    let defaults = |given: &[String], default: &[&str]| -> Vec<String> {
        if given.is_empty() { default.iter().map(|prefix| (*prefix).to_owned()).collect() } else { Vec::new() }
    };
    let mut seen = defaults(&options.check_prefixes, &["CHECK"]);
    seen.extend(defaults(&options.comment_prefixes, &["COM", "RUN"]));
    for (kind, prefixes) in [("check", &options.check_prefixes), ("comment", &options.comment_prefixes)] {
        for prefix in prefixes {
            let is_valid = prefix.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
            let fault = if prefix.is_empty() {
                format!("error: supplied {kind} prefix must not be the empty string\n")
            } else if !is_valid {
                format!(
                    "error: supplied {kind} prefix must start with a letter and contain only alphanumeric characters, \
                     hyphens, and underscores: '{prefix}'\n"
                )
            } else if seen.contains(prefix) {
                format!("error: supplied {kind} prefix must be unique among check and comment prefixes: '{prefix}'\n")
            } else {
                seen.push(prefix.clone());
                continue;
            };
            report.push(fault);
            return Err(FAULTY);
        }
    }
    Ok(())
}

/// Puts a fault into the report.
fn report_fault(sources: &Sources<'_>, report: &mut Report, fault: &Fault) -> Unreadable {
    report.message(sources, Severity::Error, fault.loc, &fault.text, None);
    if fault.spaced {
        report.push("\n");
    }
    Unreadable { exits_as_mismatch: fault.exits_as_mismatch }
}

/// Reads the check file, which is the first buffer of `sources`, and the definitions and implicit patterns of the options.
pub fn read(
    options: &Options,
    sources: &mut Sources<'_>,
    variables: &mut Variables,
    report: &mut Report,
) -> Result<CheckFile, Unreadable> {
    define_all(options, sources, variables, report)?;
    let line = variables.name(b"@LINE");
    variables.number_or_insert(line, crate::format::Format::new(crate::format::Kind::Unsigned), None);

    let or_default = |given: &[String], default: &[&str]| -> Vec<String> {
        if given.is_empty() { default.iter().map(|prefix| (*prefix).to_owned()).collect() } else { given.to_vec() }
    };
    let check_prefixes = or_default(&options.check_prefixes, &["CHECK"]);
    let comment_prefixes = or_default(&options.comment_prefixes, &["COM", "RUN"]);
    let implicit_prefix = check_prefixes.len();

    let mut implicit = Vec::new();
    let mut implicit_patterns = Vec::new();
    for text in &options.implicit_check_not {
        let before = "-implicit-check-not='";
        let buffer = sources.add("command line", format!("{before}{text}'").into_bytes().into());
        let span = Span { buffer, start: before.len(), end: before.len() + text.len() };
        let mut pattern = Pattern::new(Directive::new(Kind::Not), implicit_prefix, span.loc(), None);
        let bytes = sources.buffer(buffer).text.clone();
        // A fault here is reported, but the run goes on with what was read of the pattern.
        if let Err(fault) = parse(&mut pattern, &bytes, span, IMPLICIT_PREFIX, options, variables) {
            let unreadable = report_fault(sources, report, &fault);
            if unreadable.exits_as_mismatch {
                return Err(unreadable);
            }
        }
        implicit.push(buffer);
        implicit_patterns.push(Rc::new(pattern));
    }

    let mut reader = Reader {
        options,
        text: &sources.buffer(CHECK_FILE).text,
        at: 0,
        line: 1,
        used: vec![false; check_prefixes.len()],
        checks: Vec::new(),
        before: implicit_patterns.clone(),
        implicit: &implicit_patterns,
    };
    if let Err(fault) = reader.read_all(&check_prefixes, &comment_prefixes, variables) {
        return Err(report_fault(sources, report, &fault));
    }
    let Reader { at, line, used, mut checks, before, .. } = reader;

    let nothing_used = !used.contains(&true);
    let something_unused = !options.allow_unused_prefixes && used.contains(&false);
    let is_default = options.check_prefixes.is_empty();
    if (nothing_used || something_unused) && (implicit_patterns.is_empty() || !is_default) {
        let mut missing: Vec<&String> =
            check_prefixes.iter().zip(&used).filter(|(_, used)| !**used).map(|(prefix, _)| prefix).collect();
        missing.sort();
        let names: Vec<String> = missing.iter().map(|prefix| format!("'{prefix}:'")).collect();
        let plural = if names.len() > 1 { "es" } else { "" };
        report.push(format!("error: no check strings found with prefix{plural} {}\n", names.join(", ")));
        return Err(FAULTY);
    }
    if !before.is_empty() {
        let loc = Loc { buffer: CHECK_FILE, offset: at };
        let mut pattern = Pattern::new(Directive::new(Kind::End), 0, loc, Some(line + 1));
        pattern.target = Target::End;
        checks.push(Check { pattern, before });
    }
    let mut prefixes = check_prefixes;
    prefixes.push(IMPLICIT_PREFIX.to_owned());
    Ok(CheckFile { checks, prefixes, implicit })
}

struct Reader<'a> {
    options: &'a Options,
    text: &'a [u8],
    /// How far the text has been read.
    at: usize,
    /// The line there, as far as line breaks between patterns tell.
    line: usize,
    /// For each check prefix whether a directive has it.
    used: Vec<bool>,
    checks: Vec<Check>,
    /// The -DAG and -NOT patterns since the last positive one.
    before: Vec<Rc<Pattern>>,
    implicit: &'a [Rc<Pattern>],
}

/// A prefix with its next place in the text.
struct PrefixSearch<'a> {
    /// Its number, or none for a comment's.
    check: Option<usize>,
    finder: memmem::Finder<'a>,
    next: Option<usize>,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

impl Reader<'_> {
    fn read_all(
        &mut self,
        check_prefixes: &[String],
        comment_prefixes: &[String],
        variables: &mut Variables,
    ) -> Result<(), Fault> {
        let checks = check_prefixes.iter().enumerate().map(|(number, prefix)| (Some(number), prefix));
        let comments = comment_prefixes.iter().map(|prefix| (None, prefix));
        let mut searches: Vec<PrefixSearch<'_>> = checks
            .chain(comments)
            .map(|(check, prefix)| {
                let finder = memmem::Finder::new(prefix.as_bytes());
                PrefixSearch { check, next: finder.find(self.text), finder }
            })
            .collect();
        // Of two prefixes at one place the longer counts.
        searches.sort_by_key(|search| std::cmp::Reverse(search.finder.needle().len()));
        while self.at < self.text.len() {
            for search in &mut searches {
                if search.next.is_some_and(|next| next < self.at) {
                    search.next = search.finder.find(&self.text[self.at..]).map(|at| self.at + at);
                }
            }
            let first = searches.iter().filter(|search| search.next.is_some()).min_by_key(|search| search.next);
            let Some((search, start)) = first.and_then(|search| search.next.map(|next| (search, next))) else {
                return Ok(());
            };
            self.line += memchr::memchr_iter(b'\n', &self.text[self.at..start]).count();
            let stands_alone = start == self.at || !is_word(self.text[start - 1]);
            self.at = start;
            let length = search.finder.needle().len();
            let check = search.check;
            let found = stands_alone && self.directive(start, length, check, check_prefixes, variables)?;
            if !found {
                let word = self.text[start + length..].iter().take_while(|&&b| is_word(b)).count();
                self.at = start + length + word;
            }
        }
        Ok(())
    }

    /// Reads what follows a prefix; says whether it is a directive or a comment.
    fn directive(
        &mut self,
        start: usize,
        length: usize,
        check: Option<usize>,
        prefixes: &[String],
        variables: &mut Variables,
    ) -> Result<bool, Fault> {
        let after_prefix = start + length;
        let rest = &self.text[after_prefix..];
        let Some(number) = check else {
            if rest.first() != Some(&b':') {
                return Ok(false);
            }
            self.skip_to(after_prefix, 1);
            self.take_pattern();
            return Ok(true);
        };
        let prefix = &prefixes[number];
        let found = suffix(rest);
        if found == Suffix::None {
            return Ok(false);
        }
        self.used[number] = true;
        let place = |offset| Loc { buffer: CHECK_FILE, offset };
        let directive = match found {
            Suffix::None => return Ok(false),
            Suffix::Misspelled(end) => {
                let mut text = b"misspelled directive '".to_vec();
                text.extend_from_slice(&self.text[start..after_prefix + end]);
                text.push(b'\'');
                return Err(Fault::new(place(start), text));
            }
            Suffix::BadNot(at) => {
                let text = format!("unsupported -NOT combo on prefix '{prefix}'");
                self.skip_to(after_prefix, at);
                return Err(Fault::new(place(self.at), text));
            }
            Suffix::BadCount(at) => {
                let text = format!("invalid count in -COUNT specification on prefix '{prefix}'");
                self.skip_to(after_prefix, at);
                return Err(Fault::new(place(self.at), text));
            }
            Suffix::Directive(directive, end) => {
                self.skip_to(after_prefix, end);
                directive
            }
        };
        let span = self.take_pattern();
        let mut pattern = Pattern::new(directive, number, span.loc(), Some(self.line));
        parse(&mut pattern, self.text, span, prefix, self.options, variables)?;
        if directive.kind == Kind::Label && pattern.has_variable() {
            let text = format!("found '{prefix}-LABEL:' with variable definition or use");
            return Err(Fault::new(place(start), text));
        }
        let needs_one_before = match directive.kind {
            Kind::Next => Some("NEXT"),
            Kind::Same => Some("SAME"),
            Kind::Empty => Some("EMPTY"),
            _ => None,
        };
        if let (Some(name), true) = (needs_one_before, self.checks.is_empty()) {
            let text = format!("found '{prefix}-{name}' without previous '{prefix}: line");
            return Err(Fault::new(place(start), text));
        }
        if matches!(directive.kind, Kind::Dag | Kind::Not) {
            self.before.push(Rc::new(pattern));
        } else {
            let before = std::mem::replace(&mut self.before, self.implicit.to_vec());
            self.checks.push(Check { pattern, before });
        }
        Ok(true)
    }

    /// Goes on after a suffix of this length. As in LLVM, where nothing follows it the suffix itself is the pattern.
    fn skip_to(&mut self, after_prefix: usize, suffix: usize) {
        let end = after_prefix + suffix;
        self.at = if end == self.text.len() { after_prefix } else { end };
    }

    /// Takes the pattern, which is the rest of the line.
    fn take_pattern(&mut self) -> Span {
        let mut start = self.at;
        if !(self.options.strict_whitespace && self.options.match_full_lines) {
            start += self.text[start..].iter().take_while(|&&b| is_blank(b)).count();
        }
        let length = memchr::memchr2(b'\n', b'\r', &self.text[start..]).unwrap_or(self.text.len() - start);
        self.at = start + length;
        Span { buffer: CHECK_FILE, start, end: self.at }
    }
}

/// Defines the variables of the options.
fn define_all(
    options: &Options,
    sources: &mut Sources<'_>,
    variables: &mut Variables,
    report: &mut Report,
) -> Result<(), Unreadable> {
    if options.defines.is_empty() {
        return Ok(());
    }
    // A text that shows each definition on a line of its own, numbers spelled as a check file spells them.
    let mut shown = String::new();
    let mut places = Vec::new();
    for (number, define) in options.defines.iter().enumerate() {
        let Some(equals) = define.find('=') else {
            places.push((shown.len(), 0));
            continue;
        };
        shown.push_str(&format!("Global define #{}: ", number + 1));
        if define.starts_with('#') {
            shown.push_str(&format!("{define} (parsed as: [["));
            places.push((shown.len(), define.len()));
            shown.push_str(&format!("{}:{}]])\n", &define[..equals], &define[equals + 1..]));
        } else {
            places.push((shown.len(), define.len()));
            shown.push_str(&format!("{define}\n"));
        }
    }
    let text = shown.into_bytes();
    let buffer = sources.add("Global defines", text.clone().into());
    let mut result = Ok(());
    for (start, length) in places {
        let span = Span { buffer, start, end: start + length };
        let defined = match text[span.start..span.end].first() {
            None => Err(vec![Fault::in_block(span, "missing equal sign in global definition")]),
            Some(b'#') => define_number(&text, span.part(1, length), variables),
            Some(_) => define_text(&text, span, variables).map_err(|fault| vec![fault]),
        };
        for fault in defined.err().into_iter().flatten() {
            if fault.loc.offset == usize::MAX {
                report.push(&fault.text);
                report.push("\n");
            } else {
                report_fault(sources, report, &fault);
            }
            result = Err(FAULTY);
        }
    }
    result
}

fn define_number(text: &[u8], span: Span, variables: &mut Variables) -> Result<(), Vec<Fault>> {
    let block = BlockParser::new(variables, text, None).block(span, false).map_err(|fault| vec![fault])?;
    let Some(expression) = &block.expression else {
        return Err(vec![Fault::in_block(span, "missing value in global definition")]);
    };
    // LLVM says these without a place.
    let unplaced = |text: Vec<u8>| Fault { text, ..Fault::new(Loc { buffer: span.buffer, offset: usize::MAX }, "") };
    let value = expression.value(variables).map_err(|causes| {
        let faults = causes.into_iter().map(|cause| match cause {
            NoValue::Overflow => unplaced(b"overflow error".to_vec()),
            NoValue::Undefined(name) => unplaced([b"undefined variable: ", &text[name.start..name.end]].concat()),
        });
        faults.collect::<Vec<_>>()
    })?;
    if let Some(name) = block.defines {
        variables.set_number(name, value, None);
    }
    Ok(())
}

fn define_text(text: &[u8], span: Span, variables: &mut Variables) -> Result<(), Fault> {
    let equals = memchr::memchr(b'=', &text[span.start..span.end]).unwrap_or(span.end - span.start);
    let name_span = span.part(0, equals);
    let mut cursor = Cursor::new(text, name_span);
    let variable = cursor.variable()?;
    if variable.is_pseudo || !cursor.rest.is_empty() {
        let mut message = b"invalid name in string variable definition '".to_vec();
        message.extend_from_slice(&text[name_span.start..name_span.end]);
        message.push(b'\'');
        return Err(Fault::in_block(name_span, message));
    }
    let name = variables.name(&text[name_span.start..name_span.end]);
    if variables.number(name).is_some() {
        let mut message = b"numeric variable with name '".to_vec();
        message.extend_from_slice(&text[name_span.start..name_span.end]);
        message.extend_from_slice(b"' already exists");
        return Err(Fault::in_block(name_span, message));
    }
    // The first of several definitions of a name counts.
    if variables.text(name).is_none() {
        variables.set_text(name, Span { start: name_span.end + 1, ..span });
    }
    variables.declare_text(name);
    Ok(())
}
