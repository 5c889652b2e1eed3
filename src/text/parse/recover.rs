//! After an error: what was expected, and where reading goes on.

use super::structure::Kind;
use super::{Parser, line_end};
use crate::text::grammar::Rule;

/// A sentence from the rules that would have matched.
pub fn expected(rules: &[Rule]) -> String {
    let mut words: Vec<&str> = rules.iter().filter_map(|r| describe(*r)).collect();
    words.sort_unstable();
    words.dedup();
    match words[..] {
        [] => "this is not an operation".to_string(),
        [one] => format!("expected {one}"),
        [ref most @ .., last] if words.len() <= 4 => format!("expected {} or {last}", most.join(", ")),
        _ if words.contains(&"a type") => "expected an attribute or a type".to_string(),
        _ => "expected an attribute".to_string(),
    }
}

fn describe(rule: Rule) -> Option<&'static str> {
    Some(match rule {
        Rule::run | Rule::piece | Rule::op | Rule::op_name | Rule::label | Rule::results => "an operation",
        Rule::region_next | Rule::region_end => "the end of a region",
        Rule::region_start => "a region `({`",
        Rule::uses => "operands `(…)`",
        Rule::successors => "successors `[…]`",
        Rule::props => "properties `<{…}>`",
        Rule::attrs | Rule::dict => "attributes `{…}`",
        Rule::signature | Rule::types => "a signature `(…) -> …`",
        Rule::location | Rule::loc_leaf => "a location `loc(…)`",
        Rule::string | Rule::string_attr => "a string",
        Rule::bare_id | Rule::entry => "a name",
        Rule::digits | Rule::number | Rule::number_text | Rule::element => "a number",
        Rule::block_id => "a block label",
        Rule::value_id | Rule::value_use | Rule::block_arg => "a value `%name`",
        Rule::word_type | Rule::function_type | Rule::tensor_type | Rule::type_parens | Rule::dims | Rule::dim => {
            "a type"
        }
        Rule::EOI => "the end of this",
        Rule::alias_body | Rule::array | Rule::symbol | Rule::dialect_attr | Rule::bool_attr => "an attribute",
        Rule::expr => "an index expression",
        Rule::affine_text => "an affine map",
        _ => return None,
    })
}

impl<'a> Parser<'a> {
    /// Goes to the next line that may begin something, after an error in what begins at `start`. An op that seems to open a region gets a
    /// frame, so that the end of the region does not close another.
    pub fn recover(&mut self, start: usize) {
        let mut at = line_end(self.text, start);
        let line = without_comment(&self.text[start..at]).trim_end();
        if line.starts_with('}') && self.frames.len() > 1 {
            // A malformed end of a region still ends it.
            self.close_region();
            self.frames.pop();
        }
        if line.ends_with('{') {
            let name =
                line.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_'))).find(|w| w.contains('.'));
            self.push_frame(Kind::Broken, name.unwrap_or(""), at);
        } else {
            while at < self.text.len() {
                let next = line_end(self.text, at + 1);
                let line = self.text[at + 1..next].trim_start();
                if line.is_empty() || line.starts_with(|c: char| c.is_ascii_alphabetic() || "%\"^}#!".contains(c)) {
                    break;
                }
                at = next;
            }
        }
        self.pos = at;
    }
}

/// A line up to its comment.
fn without_comment(line: &str) -> &str {
    let bytes = line.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        match bytes[i] {
            b'"' => {
                i += 1;
                while i < bytes.len() && bytes[i] != b'"' {
                    i += 1 + usize::from(bytes[i] == b'\\');
                }
            }
            b'/' if bytes.get(i + 1) == Some(&b'/') => return &line[..i],
            _ => {}
        }
        i += 1;
    }
    line
}
