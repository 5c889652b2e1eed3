//! The pattern of a directive: fixed text, `{{regular expressions}}`, `[[string blocks]]` and `[[#numeric blocks]]`.

use logos::Logos;

use crate::block::{BlockParser, Cursor, is_blank};
use crate::directive::{Directive, Kind};
use crate::expression::{Expression, Fault};
use crate::format::Format;
use crate::options::Options;
use crate::posix::Regex;
use crate::source::{Loc, Span};
use crate::variables::{Name, Variables};

/// Most groups that a block can refer back to on its own line.
const MAX_BACK_REFERENCE: u32 = 9;

/// What a pattern looks for.
#[derive(Clone, Debug)]
pub enum Target {
    /// This text.
    Fixed(Span),
    /// What matches this expression, once the substitutions are put into it.
    Regex(Vec<u8>),
    /// An empty line.
    EmptyLine,
    /// The end of the input.
    End,
}

/// What is put into an expression when it is matched.
#[derive(Clone, Debug)]
pub struct Substitution {
    /// Where it goes.
    pub at: usize,
    /// The block that it comes from.
    pub span: Span,
    /// The value.
    pub value: Value,
}

/// What a block stands for.
#[derive(Clone, Debug)]
pub enum Value {
    /// The text of a string variable.
    Text(Name),
    /// A number.
    Number(Expression, Format),
}

/// A parsed pattern.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// Its directive.
    pub directive: Directive,
    /// Which prefix the directive has.
    pub prefix: usize,
    /// Where it starts.
    pub loc: Loc,
    /// Its line in the check file; none for a pattern from the options.
    pub line: Option<usize>,
    /// What it looks for.
    pub target: Target,
    /// What is put in, in the order of places.
    pub substitutions: Vec<Substitution>,
    /// String variables that it defines, by name, with the group that captures each.
    pub texts: Vec<(Name, u32)>,
    /// Numeric variables that it defines, with the group that captures each.
    pub numbers: Vec<(Name, u32)>,
}

impl Pattern {
    /// A pattern that is still to be parsed.
    pub fn new(directive: Directive, prefix: usize, loc: Loc, line: Option<usize>) -> Pattern {
        Pattern {
            directive,
            prefix,
            loc,
            line,
            target: Target::Regex(Vec::new()),
            substitutions: Vec::new(),
            texts: Vec::new(),
            numbers: Vec::new(),
        }
    }

    /// Whether it uses a variable or defines a string variable.
    pub fn has_variable(&self) -> bool {
        !self.substitutions.is_empty() || !self.texts.is_empty()
    }
}

/// Where an expression has got to.
struct Builder<'t, 'p> {
    text: &'t [u8],
    pattern: &'p mut Pattern,
    regex: Vec<u8>,
    /// Number of the next group.
    next_group: u32,
}

/// Parses the text in `span` of the buffer with the bytes `text` into `pattern`. After a fault `pattern` is what was read
/// before it, which is what LLVM goes on with where it ignores the fault.
pub fn parse(
    pattern: &mut Pattern,
    text: &[u8],
    mut span: Span,
    prefix: &str,
    options: &Options,
    variables: &mut Variables,
) -> Result<(), Fault> {
    let kind = pattern.directive.kind;
    let full_lines = options.match_full_lines && kind != Kind::Not;
    if !(options.strict_whitespace && options.match_full_lines) {
        span.end -= text[span.start..span.end].iter().rev().take_while(|&&b| is_blank(b)).count();
    }
    let bytes = &text[span.start..span.end];
    match (kind == Kind::Empty, bytes.is_empty()) {
        (true, true) => {
            pattern.target = Target::EmptyLine;
            return Ok(());
        }
        (false, true) => {
            let message = format!("found empty check string with prefix '{prefix}:'");
            return Err(Fault::new(span.loc(), message));
        }
        (true, false) => {
            let message = format!("found non-empty check string for empty check with prefix '{prefix}:'");
            return Err(Fault::new(span.loc(), message));
        }
        (false, false) => {}
    }
    let has_blocks = memchr::memmem::find(bytes, b"{{").is_some() || memchr::memmem::find(bytes, b"[[").is_some();
    if pattern.directive.is_literal || (!full_lines && !has_blocks) {
        pattern.target = Target::Fixed(span);
        return Ok(());
    }
    let mut builder = Builder { text, pattern, regex: Vec::new(), next_group: 1 };
    let blanks: &[u8] = if options.strict_whitespace { b"" } else { b" *" };
    if full_lines {
        builder.regex.push(b'^');
        builder.regex.extend(blanks);
    }
    let result = builder.pieces(span, variables);
    if full_lines && result.is_ok() {
        builder.regex.extend(blanks);
        builder.regex.push(b'$');
    }
    let regex = builder.regex;
    pattern.target = Target::Regex(regex);
    // By name, as the order in which captures are noted; a later definition of a name replaces an earlier one.
    pattern.texts.sort_by_key(|&(name, _)| variables.spelling(name).to_vec());
    result
}

/// Writes `text` so that an expression matches just it.
pub fn escape(text: &[u8], regex: &mut Vec<u8>) {
    for &byte in text {
        if b"()^$|*+?.[]\\{}".contains(&byte) {
            regex.push(b'\\');
        }
        regex.push(byte);
    }
}

impl Builder<'_, '_> {
    fn pieces(&mut self, mut rest: Span, variables: &mut Variables) -> Result<(), Fault> {
        while !rest.is_empty() {
            let bytes = &self.text[rest.start..rest.end];
            if bytes.starts_with(b"{{") {
                let Some(end) = memchr::memmem::find(bytes, b"}}") else {
                    return Err(Fault::new(rest.loc(), "found start of regex string with no end '}}'"));
                };
                // As a whole the expression may be an alternative, and then is one group; LLVM looks at the rest of the line.
                let is_group = bytes.contains(&b'|');
                if is_group {
                    self.regex.push(b'(');
                    self.next_group += 1;
                }
                self.regex_piece(rest.part(2, end.max(2)))?;
                if is_group {
                    self.regex.push(b')');
                }
                rest.start += end + 2;
            } else if bytes.starts_with(b"[[") && !bytes.starts_with(b"[[[") {
                let inside = rest.part(2, bytes.len());
                let Some(length) = block_length(self.text, inside)? else {
                    return Err(Fault::new(rest.loc(), "Invalid substitution block, no ]] found"));
                };
                self.block(inside.part(0, length), variables)?;
                rest.start += 2 + length + 2;
            } else {
                let later = &bytes[1..];
                let next = [&b"{{"[..], b"[["].into_iter().filter_map(|start| memchr::memmem::find(later, start)).min();
                let length = next.map_or(bytes.len(), |at| at + 1);
                escape(&bytes[..length], &mut self.regex);
                rest.start += length;
            }
        }
        Ok(())
    }

    /// Adds an expression that stands in the check file.
    fn regex_piece(&mut self, span: Span) -> Result<(), Fault> {
        let piece = &self.text[span.start..span.end];
        self.add_regex(piece, span)
    }

    fn add_regex(&mut self, piece: &[u8], span: Span) -> Result<(), Fault> {
        match Regex::count_groups(piece) {
            Ok(groups) => {
                self.regex.extend_from_slice(piece);
                self.next_group += groups;
                Ok(())
            }
            Err(error) => Err(Fault::new(span.loc(), format!("invalid regex: {error}"))),
        }
    }

    fn block(&mut self, inside: Span, variables: &mut Variables) -> Result<(), Fault> {
        match self.text[inside.start..inside.end].first() {
            Some(b'#') => {
                let inside = inside.part(1, inside.end - inside.start);
                self.numeric_block(inside, false, variables)
            }
            _ => self.string_block(inside, variables),
        }
    }

    fn string_block(&mut self, inside: Span, variables: &mut Variables) -> Result<(), Fault> {
        let bytes = &self.text[inside.start..inside.end];
        let colon = memchr::memchr(b':', bytes);
        if let Some(blank) = bytes[..colon.unwrap_or(bytes.len())].iter().position(|&b| is_blank(b)) {
            return Err(Fault::new(inside.part(blank, blank).loc(), "unexpected whitespace"));
        }
        let mut cursor = Cursor::new(self.text, inside);
        let variable = cursor.variable()?;
        let spelling = &self.text[variable.span.start..variable.span.end];
        if colon.is_none() {
            if variable.is_pseudo {
                return self.numeric_block(inside, true, variables);
            }
            if !cursor.rest.is_empty() {
                return Err(Fault::new(variable.span.loc(), "invalid name in string variable use"));
            }
            let name = variables.name(spelling);
            return self.use_text(name, variable.span);
        }
        if variable.is_pseudo || !cursor.eat(b":") {
            return Err(Fault::new(variable.span.loc(), "invalid name in string variable definition"));
        }
        let name = variables.name(spelling);
        if variables.number(name).is_some() {
            let message = [b"numeric variable with name '", spelling, b"' already exists"].concat();
            return Err(Fault::new(variable.span.loc(), message));
        }
        variables.declare_text(name);
        define(&mut self.pattern.texts, name, self.next_group);
        self.regex.push(b'(');
        self.next_group += 1;
        if !cursor.rest.is_empty() {
            self.regex_piece(cursor.rest)?;
        }
        self.regex.push(b')');
        Ok(())
    }

    /// Uses a string variable: by its value, or by reference back where this pattern defines it.
    fn use_text(&mut self, name: Name, span: Span) -> Result<(), Fault> {
        match self.pattern.texts.iter().find(|(defined, _)| *defined == name) {
            Some(&(_, group)) if group > MAX_BACK_REFERENCE => {
                let message = format!("Can't back-reference more than {MAX_BACK_REFERENCE} variables");
                Err(Fault::new(span.loc(), message))
            }
            Some((_, group)) => {
                self.regex.extend(format!("\\{group}").bytes());
                Ok(())
            }
            None => {
                let at = self.regex.len();
                self.pattern.substitutions.push(Substitution { at, span, value: Value::Text(name) });
                Ok(())
            }
        }
    }

    fn numeric_block(&mut self, inside: Span, is_old_line: bool, variables: &mut Variables) -> Result<(), Fault> {
        let block = BlockParser::new(variables, self.text, self.pattern.line).block(inside, is_old_line)?;
        if let Some(name) = block.defines {
            define(&mut self.pattern.numbers, name, self.next_group);
            self.regex.push(b'(');
            self.next_group += 1;
        }
        match block.expression {
            Some(expression) => {
                let at = self.regex.len();
                let value = Value::Number(expression, block.format);
                self.pattern.substitutions.push(Substitution { at, span: inside, value });
            }
            None => self.add_regex(block.format.wildcard().as_bytes(), inside)?,
        }
        if block.defines.is_some() {
            self.regex.push(b')');
        }
        Ok(())
    }
}

fn define(definitions: &mut Vec<(Name, u32)>, name: Name, group: u32) {
    definitions.retain(|(defined, _)| *defined != name);
    definitions.push((name, group));
}

#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(utf8 = false)]
enum BlockToken {
    #[regex(r"(?s-u:\\.)")]
    Escaped,
    #[token("[")]
    Open,
    #[token("]")]
    Close,
    #[regex(r"(?s-u:[^\\\[\]])")]
    #[token("\\", priority = 1)]
    Other,
}

/// Length of a block up to its `]]`; brackets inside nest, and a backslash hides the next byte.
fn block_length(text: &[u8], inside: Span) -> Result<Option<usize>, Fault> {
    let bytes = &text[inside.start..inside.end];
    let mut depth = 0usize;
    let mut lexer = BlockToken::lexer(bytes);
    while let Some(token) = lexer.next() {
        match token {
            Ok(BlockToken::Open) => depth += 1,
            Ok(BlockToken::Close) if depth > 0 => depth -= 1,
            Ok(BlockToken::Close) => {
                let at = lexer.span().start;
                if bytes.get(at + 1) == Some(&b']') {
                    return Ok(Some(at));
                }
                let fault = Fault::new(inside.part(at, at).loc(), "missing closing \"]\" for regex variable");
                return Err(Fault { exits_as_mismatch: true, ..fault });
            }
            _ => {}
        }
    }
    Ok(None)
}
