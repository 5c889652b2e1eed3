//! The leaves of the structure: types, signatures, dictionaries, locations. Each distinct text is read once.

use super::Parser;
use crate::ir::{Attr, Dict, Loc, Type};
use crate::text::grammar::{IrGrammar, Rule};
use pest::Parser as _;
use pest::error::{ErrorVariant, InputLocation};
use pest::iterators::Pair;
use rinductor_support::FxHashMap;

/// How deep types, attributes and locations may be nested, through aliases too: what walks over them recurses.
pub const MAX_DEPTH: usize = 200;

/// How many aliases may stand for each other before they are defined: each takes a good deal of stack.
const MAX_ALIASES: usize = 100;

/// The operand and result types of a signature, as ranges of [`Leaves::lists`].
#[derive(Clone, Copy)]
pub struct Sig {
    /// Operands: start and end.
    pub inputs: (u32, u32),
    /// Results: start and end.
    pub results: (u32, u32),
}

/// What a `#name` or `!name` stands for.
pub struct Alias<'a> {
    /// The text after `=`.
    pub body: &'a str,
    /// Its state.
    pub state: AliasState,
}

/// How far an alias is known.
#[derive(Clone, Copy)]
pub enum AliasState {
    /// Not read yet.
    Unread,
    /// Being read: a use now would be of itself.
    Reading,
    /// Wrong: already reported.
    Wrong,
    /// Read.
    Known {
        /// What it is.
        attr: Attr,
        /// How deep it is nested.
        height: usize,
        /// How many bytes it has when all aliases in it are written out.
        weight: u64,
    },
}

/// What was read already.
#[derive(Default)]
pub struct Leaves<'a> {
    pub sigs: FxHashMap<&'a str, Sig>,
    pub lists: Vec<Type>,
    pub dicts: FxHashMap<&'a str, Dict>,
    pub props: FxHashMap<&'a str, Dict>,
    pub types: FxHashMap<&'a str, Type>,
    pub locs: FxHashMap<&'a str, Loc>,
    pub aliases: FxHashMap<&'a str, Alias<'a>>,
    /// Bytes that aliases add to what is being read.
    pub weight: u64,
    /// The same for texts that were read before.
    pub heavy: FxHashMap<&'a str, u64>,
    /// The sum over the file.
    pub total_weight: u64,
    /// The deepest nesting met since it was last set to 0.
    pub deepest: usize,
}

impl<'a> Parser<'a> {
    /// Where a piece of the text stands in it.
    pub fn offset(&self, piece: &str) -> usize {
        (piece.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize).min(self.text.len())
    }

    /// Matches a rule over a whole leaf.
    pub fn leaf(&mut self, rule: Rule, text: &'a str) -> Option<Pair<'a, Rule>> {
        match IrGrammar::parse(rule, text) {
            Ok(mut pairs) => pairs.next(),
            Err(e) => {
                let at = self.offset(text);
                self.grammar_error(&e, at, text.len());
                None
            }
        }
    }

    /// Reports what pest says about a text of `len` bytes that begins at `base`. To say where it stands, pest goes over the text again.
    pub fn grammar_error(&mut self, e: &pest::error::Error<Rule>, base: usize, len: usize) {
        let reached = match e.location {
            InputLocation::Pos(p) | InputLocation::Span((p, _)) => p,
        };
        let at = base + reached;
        self.budget = self.budget.saturating_sub(reached + len / 8);
        let message = match &e.variant {
            ErrorVariant::CustomError { message } if message.contains("limit") => "nested too deeply".to_string(),
            ErrorVariant::CustomError { message } => message.clone(),
            ErrorVariant::ParsingError { positives, .. } => super::recover::expected(positives),
        };
        self.error(at, message);
        if self.budget == 0 {
            self.fatal(at, "too many errors in long operations; the rest is not read");
        }
    }

    fn weigh<T: Copy>(&mut self, text: &'a str, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let before = std::mem::take(&mut self.leaves.weight);
        let value = read(self);
        let weight = std::mem::replace(&mut self.leaves.weight, before);
        self.leaves.weight += weight;
        if weight > 0 {
            self.leaves.heavy.insert(text, weight);
            self.charge(text, weight)?;
        }
        value
    }

    fn known(&mut self, text: &'a str) -> Option<()> {
        if self.leaves.heavy.is_empty() {
            return Some(());
        }
        match self.leaves.heavy.get(text).copied() {
            Some(weight) => self.charge(text, weight),
            None => Some(()),
        }
    }

    fn charge(&mut self, text: &'a str, weight: u64) -> Option<()> {
        self.leaves.total_weight = self.leaves.total_weight.saturating_add(weight);
        if self.leaves.total_weight > (256 << 20) + 4 * self.text.len() as u64 {
            let at = self.offset(text);
            self.fatal(at, "the aliases of this text stand for too much: written out it would have more than 256 MiB");
            return None;
        }
        Some(())
    }

    /// `(t, t) -> t`.
    pub fn signature(&mut self, text: &'a str) -> Option<Sig> {
        if let Some(&sig) = self.leaves.sigs.get(text) {
            self.known(text)?;
            return Some(sig);
        }
        let sig = self.weigh(text, |p| {
            let pair = p.leaf(Rule::types, text)?;
            let mut lists = [(0, 0); 2];
            for (i, part) in pair.into_inner().filter(|p| p.as_rule() != Rule::EOI).enumerate() {
                let types = p.type_list(part)?;
                let start = p.leaves.lists.len() as u32;
                p.leaves.lists.extend(types);
                lists[i.min(1)] = (start, p.leaves.lists.len() as u32);
            }
            Some(Sig { inputs: lists[0], results: lists[1] })
        })?;
        self.leaves.sigs.insert(text, sig);
        Some(sig)
    }

    fn type_list(&mut self, pair: Pair<'a, Rule>) -> Option<Vec<Type>> {
        if pair.as_rule() == Rule::type_parens {
            pair.into_inner().map(|t| self.ty(t, 1)).collect()
        } else {
            Some(vec![self.ty(pair, 0)?])
        }
    }

    /// One type.
    pub fn type_leaf(&mut self, text: &'a str) -> Option<Type> {
        if let Some(&ty) = self.leaves.types.get(text) {
            self.known(text)?;
            return Some(ty);
        }
        let ty = self.weigh(text, |p| {
            let pair = p.leaf(Rule::type_only, text)?.into_inner().next()?;
            p.ty(pair, 0)
        })?;
        self.leaves.types.insert(text, ty);
        Some(ty)
    }

    /// `{a = 1}`.
    pub fn dict_leaf(&mut self, text: &'a str) -> Option<Dict> {
        if let Some(&dict) = self.leaves.dicts.get(text) {
            self.known(text)?;
            return Some(dict);
        }
        let dict = self.weigh(text, |p| {
            let pair = p.leaf(Rule::dict_leaf, text)?.into_inner().next()?;
            p.dict(pair, 0)
        })?;
        self.leaves.dicts.insert(text, dict);
        Some(dict)
    }

    /// `<{a = 1}>`.
    pub fn props_leaf(&mut self, text: &'a str) -> Option<Dict> {
        if let Some(&dict) = self.leaves.props.get(text) {
            self.known(text)?;
            return Some(dict);
        }
        let dict = self.weigh(text, |p| {
            let pair = p.leaf(Rule::props_leaf, text)?.into_inner().next()?;
            p.dict(pair, 0)
        })?;
        self.leaves.props.insert(text, dict);
        Some(dict)
    }

    /// `loc(…)`.
    pub fn loc_leaf(&mut self, text: &'a str) -> Option<Loc> {
        if let Some(&loc) = self.leaves.locs.get(text) {
            self.known(text)?;
            return Some(loc);
        }
        let loc = self.weigh(text, |p| {
            let pair = p.leaf(Rule::loc_leaf, text)?.into_inner().next()?;
            p.loc(pair, 0)
        })?;
        self.leaves.locs.insert(text, loc);
        Some(loc)
    }

    /// Reports nesting that is too deep; notes how deep it is.
    pub fn depth(&mut self, depth: usize, at: &str) -> Option<()> {
        self.leaves.deepest = self.leaves.deepest.max(depth);
        if depth > MAX_DEPTH {
            let at = self.offset(at);
            self.error(at, format!("nested too deeply: types and attributes may have {MAX_DEPTH} levels"));
            return None;
        }
        Some(())
    }

    /// What `#name` or `!name` (with its mark) stands for, if such an alias is defined.
    pub fn alias(&mut self, name: &'a str, depth: usize) -> Option<Attr> {
        let at = self.offset(name);
        let Some(alias) = self.leaves.aliases.get_mut(name) else {
            self.error(at, format!("'{name}' is not defined"));
            return None;
        };
        match alias.state {
            AliasState::Known { attr, height, weight } => {
                self.leaves.weight = self.leaves.weight.saturating_add(weight);
                self.depth(depth + height, name)?;
                Some(attr)
            }
            AliasState::Wrong => None,
            AliasState::Reading => {
                self.error(at, format!("'{name}' is defined by itself"));
                None
            }
            AliasState::Unread => {
                alias.state = AliasState::Reading;
                let body = alias.body;
                self.depth(depth, name)?;
                let (deepest, weight) =
                    (std::mem::take(&mut self.leaves.deepest), std::mem::take(&mut self.leaves.weight));
                self.alias_depth += 1;
                let attr = if self.alias_depth > MAX_ALIASES {
                    self.error(at, "aliases stand for aliases too many times");
                    None
                } else {
                    let pair = self.leaf(Rule::attr_only, body).and_then(|p| p.into_inner().next());
                    pair.and_then(|p| self.attr(p, 0))
                };
                self.alias_depth -= 1;
                let height = self.leaves.deepest + 1;
                let own = self.leaves.weight.saturating_add(body.len() as u64);
                self.leaves.deepest = deepest.max(depth + height);
                self.leaves.weight = weight.saturating_add(own);
                let attr = attr.filter(|_| {
                    let fits = own <= (64 << 20) + self.text.len() as u64;
                    if !fits {
                        self.error(
                            at,
                            format!("'{name}' stands for too much: written out it would have more than 64 MiB"),
                        );
                    }
                    fits
                });
                let state = attr.map_or(AliasState::Wrong, |attr| AliasState::Known { attr, height, weight: own });
                if let Some(alias) = self.leaves.aliases.get_mut(name) {
                    alias.state = state;
                }
                self.depth(depth + height, name)?;
                attr
            }
        }
    }
}
