//! Locations from their pairs.

use super::Parser;
use crate::ir::{AttrData, Loc, LocData};
use crate::text::grammar::Rule;
use pest::iterators::Pair;

impl<'a> Parser<'a> {
    /// A location, without the `loc(…)` around it.
    pub fn loc(&mut self, pair: Pair<'a, Rule>, depth: usize) -> Option<Loc> {
        let text = pair.as_str();
        self.depth(depth, text)?;
        let rule = pair.as_rule();
        let mut inner = pair.into_inner();
        let data = match rule {
            Rule::loc_unknown => return Some(Loc::Unknown),
            Rule::loc_alias => {
                let name = text.trim_end();
                let attr = self.alias(name, depth)?;
                if let AttrData::Loc(loc) = self.ir.attr(attr) {
                    return Some(*loc);
                }
                let at = self.offset(text);
                self.error(at, format!("'{name}' is not a location"));
                return None;
            }
            Rule::loc_dialect => LocData::Dialect(self.expand(text, depth)?),
            Rule::loc_callsite => {
                let callee = self.loc(inner.next()?, depth + 1)?;
                let caller = self.loc(inner.next()?, depth + 1)?;
                LocData::CallSite { callee, caller }
            }
            Rule::loc_fused => {
                let (mut metadata, mut locs) = (None, Vec::new());
                for part in inner {
                    if part.as_rule() == Rule::fused_meta {
                        metadata = Some(self.attr(part.into_inner().next()?, depth + 1)?);
                    } else {
                        locs.push(self.loc(part, depth + 1)?);
                    }
                }
                LocData::Fused { metadata, locs: locs.into() }
            }
            Rule::loc_name => {
                let name = self.utf8_string(inner.next()?.as_str())?;
                let name = self.ir.name(&name);
                let child = match inner.next() {
                    Some(p) => self.loc(p, depth + 1)?,
                    None => Loc::Unknown,
                };
                LocData::Named { name, child }
            }
            Rule::loc_file => {
                let file = self.utf8_string(inner.next()?.as_str())?;
                let file = self.ir.name(&file);
                let line = self.small_number(inner.next()?.as_str())?;
                let column = self.small_number(inner.next()?.as_str())?;
                let end = match inner.next() {
                    None => None,
                    Some(to) => {
                        let numbers: Vec<u32> =
                            to.into_inner().map(|n| self.small_number(n.as_str())).collect::<Option<_>>()?;
                        match numbers[..] {
                            [l, c] => Some((l, c)),
                            [c] => Some((line, c)),
                            _ => None,
                        }
                    }
                };
                LocData::File { file, line, column, end }
            }
            rule => {
                let at = self.offset(text);
                self.error(at, format!("{rule:?} is not a location"));
                return None;
            }
        };
        Some(Loc::Id(self.ir.locs.intern(data)))
    }

    /// A number below 2^32.
    pub fn small_number(&mut self, text: &'a str) -> Option<u32> {
        let value = text.parse().ok();
        if value.is_none() {
            let at = self.offset(text);
            self.error(at, format!("'{text}' is too large a number"));
        }
        value
    }
}
