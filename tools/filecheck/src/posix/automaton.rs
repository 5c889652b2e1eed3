//! The same expression for `regex-automata`, for long searches.
//!
//! Only where its leftmost match begins is used: that is the same for the longest match as for the first alternative.

use regex_automata::meta;
use regex_automata::util::syntax;
use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, Hir, Look, Repetition};

use super::parse::Item;

/// Builds the automaton; `None` if the expression is too large for it.
pub fn build(items: &[Item]) -> Option<meta::Regex> {
    let config = meta::Config::new().utf8_empty(false).nfa_size_limit(Some(1 << 24));
    meta::Builder::new()
        .configure(config)
        .syntax(syntax::Config::new().utf8(false))
        .build_from_hir(&sequence(items))
        .ok()
}

fn sequence(items: &[Item]) -> Hir {
    Hir::concat(items.iter().map(convert).collect())
}

fn convert(item: &Item) -> Hir {
    match item {
        Item::Byte(byte) => Hir::literal([*byte]),
        Item::Set(set) => {
            Hir::class(Class::Bytes(ClassBytes::new(set.iter().map(|byte| ClassBytesRange::new(byte, byte)))))
        }
        Item::LineStart => Hir::look(Look::StartLF),
        Item::LineEnd => Hir::look(Look::EndLF),
        Item::WordStart => Hir::look(Look::WordStartAscii),
        Item::WordEnd => Hir::look(Look::WordEndAscii),
        // Groups are found afterwards.
        Item::Open(_) | Item::Close(_) => Hir::empty(),
        Item::Either(branches) => Hir::alternation(branches.iter().map(|branch| sequence(branch)).collect()),
        Item::Plus(body) => {
            Hir::repetition(Repetition { min: 1, max: None, greedy: true, sub: Box::new(sequence(body)) })
        }
        Item::Maybe(body) => {
            Hir::repetition(Repetition { min: 0, max: Some(1), greedy: true, sub: Box::new(sequence(body)) })
        }
        Item::Back(_, content) => sequence(content),
    }
}
