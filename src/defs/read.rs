//! From the text of a dialect file to [`File`]. Syntax errors do not end the reading: the item that holds one is left
//! out and the rest is read, so that one run reports them all.

use crate::ast::{File, Item};
use pest::Parser;
use pest::error::{ErrorVariant, InputLocation};
use rinductor_support::{Diagnostic, SourceId, SourceMap, Span};

mod assembly;
mod expr;
mod items;
mod signature;

/// What pest makes of the grammar. A module of its own, since the names of the rules have no documentation.
#[allow(missing_docs, reason = "generated from grammar/dialect.pest, whose comments are the documentation")]
mod grammar {
    #[derive(pest_derive::Parser)]
    #[grammar = "../../grammar/dialect.pest"]
    pub(super) struct Grammar;
}
use grammar::{Grammar, Rule};

pub(crate) type Pair<'i> = pest::iterators::Pair<'i, Rule>;
pub(crate) type Pairs<'i> = pest::iterators::Pairs<'i, Rule>;

/// How deep expressions and patterns may nest.
pub const MAX_DEPTH: u32 = 100;
/// How many syntax errors are looked for in one file.
const MAX_ERRORS: usize = 20;

/// Reads a file of a source map. What is returned is what could be read; it is not checked
/// (see [`crate::check`]).
pub fn read(sources: &SourceMap, id: SourceId) -> (File, Vec<Diagnostic>) {
    let text = sources.text(id).clone();
    let mut reader = Reader { source: id, base: 0, diagnostics: Vec::new(), depth: 0 };
    // Items that hold a syntax error are overwritten with spaces, which keeps every position.
    let mut patched: Option<String> = None;
    loop {
        let input = patched.as_deref().unwrap_or(&text);
        match Grammar::parse(Rule::file, input) {
            Ok(pairs) => {
                let file = reader.file(pairs);
                return (file, reader.diagnostics);
            }
            Err(error) => {
                let at = match error.location {
                    InputLocation::Pos(at) => at,
                    InputLocation::Span((start, _)) => start,
                };
                reader.diagnostics.push(syntax_error(&text, id, at, &error.variant));
                let next = without_item(input, at);
                if next == input || reader.diagnostics.len() >= MAX_ERRORS {
                    return (File::default(), reader.diagnostics);
                }
                patched = Some(next);
            }
        }
    }
}

/// Reads one item of a file again, by itself, after the whole file was read and checked without an error.
///
/// # Panics
/// The text is not the one that was checked.
pub fn read_item(sources: &SourceMap, item: &Item) -> File {
    let mut reader =
        Reader { source: item.span.source, base: item.span.start as usize, diagnostics: Vec::new(), depth: 0 };
    let pairs = Grammar::parse(Rule::file, sources.slice(item.span));
    reader.file(pairs.unwrap_or_else(|e| panic!("'{}' was checked, and now: {e}", item.name)))
}

/// The text with the item around `at` replaced by spaces. Items begin at the start of a line.
fn without_item(text: &str, at: usize) -> String {
    const WORDS: [&str; 7] = ["op ", "rule ", "set ", "decompose ", "dialect ", "extern ", "///"];
    // Where items start; documentation starts the item after it.
    let mut starts = vec![0];
    let mut offset = 0;
    let mut in_doc = false;
    for line in text.split_inclusive('\n') {
        if !in_doc && WORDS.iter().any(|w| line.starts_with(w)) {
            starts.push(offset);
        }
        in_doc = line.starts_with("///");
        offset += line.len();
    }
    starts.push(text.len());
    starts.dedup();
    let mut item = starts.partition_point(|&s| s <= at).clamp(1, starts.len() - 1) - 1;
    // An error right at the first word belongs to the item before, which does not end.
    let before = text[starts[item]..].get(..at.saturating_sub(starts[item])).unwrap_or("");
    if item > 0 && !before.contains('\n') && before.split_whitespace().count() <= 1 {
        item -= 1;
    }
    let (start, end) = (starts[item], starts[item + 1]);
    let blank: String = text[start..end].bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }).collect();
    [&text[..start], &blank, &text[end..]].concat()
}

fn syntax_error(text: &str, source: SourceId, at: usize, variant: &ErrorVariant<Rule>) -> Diagnostic {
    let rest = text.get(at..).unwrap_or("");
    let found_len = rest
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(rest.len())
        .max(rest.chars().next().map_or(0, char::len_utf8));
    let found = match &rest[..found_len] {
        "" => "the end of the file".to_owned(),
        "\n" => "the end of the line".to_owned(),
        word => format!("'{word}'"),
    };
    let span = Span::new(source, at, at + found_len);
    match variant {
        // Where an expression could go on, pest tells all the ways in which it could.
        ErrorVariant::ParsingError { positives, .. } if positives.contains(&Rule::subscript) => {
            Diagnostic::error(span, format!("expected an operator or the end of the expression, found {found}"))
        }
        ErrorVariant::ParsingError { positives, .. } if !positives.is_empty() => {
            let mut wanted: Vec<String> = positives.iter().map(|r| describe(*r)).collect();
            wanted.sort();
            wanted.dedup();
            let wanted = match wanted.len() {
                1 => wanted.remove(0),
                n if n <= 6 => format!("{} or {}", wanted[..n - 1].join(", "), wanted[n - 1]),
                _ => format!("one of {}", wanted.join(", ")),
            };
            Diagnostic::error(span, format!("expected {wanted}, found {found}"))
        }
        ErrorVariant::CustomError { message } => Diagnostic::error(span, message.clone()),
        ErrorVariant::ParsingError { .. } => Diagnostic::error(span, format!("{found} does not belong here")),
    }
}

/// What a rule of the grammar is to the reader of an error.
fn describe(wanted: Rule) -> String {
    let name = format!("{wanted:?}");
    if let Some(word) = name.strip_prefix("kw_") {
        return format!("'{word}'");
    }
    match wanted {
        Rule::EOI => "the end of the file".to_owned(),
        Rule::doc | Rule::item => "a definition".to_owned(),
        Rule::ident => "a name".to_owned(),
        Rule::op_name => "the name of an op".to_owned(),
        Rule::clause => "a clause".to_owned(),
        Rule::compare_op | Rule::sum_op | Rule::product_op => "an operator".to_owned(),
        Rule::subscript => "'['".to_owned(),
        Rule::field => "'.'".to_owned(),
        Rule::aggregate => "'=>'".to_owned(),
        Rule::expr
        | Rule::unary
        | Rule::primary
        | Rule::minus
        | Rule::negated
        | Rule::range
        | Rule::sum
        | Rule::product
        | Rule::and_expr
        | Rule::or_expr
        | Rule::not_expr
        | Rule::list_item
        | Rule::compare
        | Rule::power
        | Rule::postfix
        | Rule::arg
        | Rule::args
        | Rule::call
        | Rule::op_call
        | Rule::literal
        | Rule::paren
        | Rule::list
        | Rule::spread => "an expression".to_owned(),
        _ => format!(
            "{} {}",
            if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" },
            name.replace('_', " ")
        ),
    }
}

/// Builds the data from the pairs that pest gives, and keeps the errors that the grammar cannot find.
pub(crate) struct Reader {
    pub(crate) source: SourceId,
    /// Where the text that is read begins in its source.
    pub(crate) base: usize,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) depth: u32,
}

impl Reader {
    pub(crate) fn span(&self, pair: &Pair<'_>) -> Span {
        let span = pair.as_span();
        // pest's spans of rules that end in optional parts include the white space after them.
        let text = span.as_str().trim_end();
        let start = self.base + span.start();
        Span::new(self.source, start, start + text.len())
    }
    pub(crate) fn error(&mut self, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error(span, message));
    }
}

#[cfg(test)]
mod tests;
