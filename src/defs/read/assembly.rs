//! The `assembly` clause.

use super::{Pair, Reader, Rule};
use crate::assembly::{AsmDirective, AsmItem, Assembly};
use crate::ast::Str;
use rinductor_support::Span;

impl Reader {
    pub(super) fn assembly(&mut self, pair: Pair<'_>, span: Span) -> Assembly {
        let items = pair
            .into_inner()
            .filter(|p| p.as_rule() == Rule::asm_string)
            .flat_map(Pair::into_inner)
            .flat_map(Pair::into_inner)
            .filter_map(|p| self.asm_item(p))
            .collect();
        Assembly { items, span }
    }

    fn asm_items<'i>(&mut self, pairs: impl Iterator<Item = Pair<'i>>) -> Vec<AsmItem> {
        pairs.filter_map(|p| self.asm_item(p)).collect()
    }

    /// An item, or an argument of a directive.
    fn asm_item(&mut self, pair: Pair<'_>) -> Option<AsmItem> {
        let span = self.span(&pair);
        let text = pair.as_str().trim();
        match pair.as_rule() {
            Rule::asm_item | Rule::asm_arg | Rule::asm_literal => self.asm_item(pair.into_inner().next()?),
            Rule::asm_quoted => Some(AsmItem::Literal(Str::from(text.trim_matches('`')), span)),
            Rule::asm_punct => Some(AsmItem::Literal(Str::from(text), span)),
            // A directive without arguments, or a keyword.
            Rule::asm_word => Some(match AsmDirective::of_word(text) {
                Some(
                    kind @ (AsmDirective::AttrDict
                    | AsmDirective::AttrDictWithKeyword
                    | AsmDirective::PropDict
                    | AsmDirective::Operands
                    | AsmDirective::Results
                    | AsmDirective::Regions
                    | AsmDirective::Successors),
                ) => AsmItem::Directive { kind, args: Vec::new(), anchor: false, span },
                _ => AsmItem::Literal(Str::from(text), span),
            }),
            Rule::asm_var => {
                let anchor = has_anchor(&pair);
                let name = Str::from(pair.into_inner().next()?.as_str());
                Some(AsmItem::Var { name, anchor, span })
            }
            Rule::asm_custom => {
                let anchor = has_anchor(&pair);
                let mut inner = pair.into_inner();
                let name = Str::from(inner.next()?.as_str());
                let args = self.asm_items(inner.filter(|p| p.as_rule() == Rule::asm_arg));
                Some(AsmItem::Custom { name, args, anchor, span })
            }
            Rule::asm_directive => {
                let anchor = has_anchor(&pair);
                let mut inner = pair.into_inner();
                let word = inner.next()?;
                let args = self.asm_items(inner.filter(|p| p.as_rule() == Rule::asm_arg));
                match AsmDirective::of_word(word.as_str()) {
                    Some(kind) => Some(AsmItem::Directive { kind, args, anchor, span }),
                    None => {
                        self.error(
                            span,
                            format!("'{}' is not a directive; a literal parenthesis is written `(`", word.as_str()),
                        );
                        None
                    }
                }
            }
            Rule::asm_group => {
                if !self.enter(span) {
                    return None;
                }
                let mut items = Vec::new();
                let mut otherwise = Vec::new();
                for part in pair.into_inner() {
                    match part.as_rule() {
                        Rule::asm_else => otherwise = self.asm_items(part.into_inner()),
                        _ => items.extend(self.asm_item(part)),
                    }
                }
                self.leave();
                if !items.iter().any(is_anchor) {
                    self.error(
                        span,
                        "an optional group needs an anchor: put '^' after what decides whether it is printed",
                    );
                }
                Some(AsmItem::Group { items, otherwise, span })
            }
            _ => None,
        }
    }
}

fn has_anchor(pair: &Pair<'_>) -> bool {
    pair.clone().into_inner().any(|p| p.as_rule() == Rule::anchor)
}

fn is_anchor(item: &AsmItem) -> bool {
    match item {
        AsmItem::Var { anchor, .. } | AsmItem::Directive { anchor, .. } | AsmItem::Custom { anchor, .. } => *anchor,
        AsmItem::Literal(..) | AsmItem::Group { .. } => false,
    }
}
