//! Pretty forms: an op's format, item by item, over the text. A region suspends the op; the end of the region goes on with it.

mod custom;
mod finish;

use super::structure::{Frame, Kind};
use super::{Parser, after_trivia, scan};
use crate::ir::format::{Custom, Format, Item, Many, Spelled};
use crate::ir::{Attr, AttrData, Block, Dict, Loc, OpSpec, Region, Type};
use crate::text::grammar::{IrGrammar, Rule};
use finish::spread;
use pest::Parser as _;
use pest::iterators::Pair;
use rinductor_support::near::did_you_mean;
use rinductor_support::{Diagnostic, Name};
use smallvec::SmallVec;

/// An op in pretty form, as far as it was read.
pub struct PrettyOp<'a> {
    format: &'a Format,
    name: Name,
    full_name: &'a str,
    results: &'a str,
    offset: usize,
    /// The items that are left, innermost group last.
    work: Vec<(&'a [Item], usize)>,
    operands: Vec<Vec<&'a str>>,
    operand_types: Vec<Option<Vec<Type>>>,
    result_types: Vec<Option<Vec<Type>>>,
    /// The operands and types where the form has them all together.
    all_operands: Option<Vec<&'a str>>,
    all_types: Option<(Vec<Type>, Vec<Type>)>,
    all_operand_types: Option<Vec<Type>>,
    props: Vec<(Name, Attr)>,
    attrs: Vec<(Name, Attr)>,
    successors: SmallVec<[Block; 2]>,
    regions: Vec<Option<Region>>,
    /// Arguments that the form gave for the first block of each region.
    args: Vec<Vec<RegionArg<'a>>>,
    /// Which region is open.
    open: usize,
    /// All regions in a row.
    many_regions: bool,
}

/// An argument that a pretty form gives for the first block of a region.
#[derive(Clone)]
struct RegionArg<'a> {
    /// `%name`, or nothing for a function without a body.
    id: &'a str,
    ty: Type,
    /// Where it comes from, if the text says so.
    loc: Option<Loc>,
}

impl<'a> PrettyOp<'a> {
    /// `dialect.op`.
    pub fn full_name(&self) -> &'a str {
        self.full_name
    }
}

/// Why the loop over items stopped.
enum Step {
    Done,
    Region,
}

impl<'a> Parser<'a> {
    /// Reads an op in pretty form at the cursor; false if nothing here looks like one.
    pub fn pretty_op(&mut self) -> bool {
        let start = self.pos;
        let Ok(mut pairs) = IrGrammar::parse(Rule::pretty_head, &self.text[start..]) else { return false };
        let (mut results, mut word) = ("", "");
        for part in pairs.next().into_iter().flat_map(Pair::into_inner) {
            match part.as_rule() {
                Rule::results => results = part.as_str(),
                _ => word = part.as_str(),
            }
        }
        let Some((full_name, format)) = self.format_of(word) else {
            let at = self.offset(word);
            let known = self.options.registry.op(word).is_some();
            let place = self.span(at);
            self.report(if known {
                Diagnostic::error(place, format!("'{word}' has no pretty form; write it as \"{word}\"(…)"))
            } else {
                // Ops of two dialects are also written without the dialect's name.
                let short = |n: &'a str| n.strip_prefix("func.").or_else(|| n.strip_prefix("builtin."));
                let names = self.options.registry.op_names();
                let help = did_you_mean(word, names.into_iter().flat_map(|n| [Some(n), short(n)]).flatten());
                Diagnostic { help, ..Diagnostic::error(place, format!("unknown operation '{word}'")) }
            });
            self.define_broken(results);
            self.recover(start);
            return true;
        };
        self.pos = self.offset(word) + word.len();
        let name = self.ir.name(full_name);
        let op = PrettyOp {
            format,
            name,
            full_name,
            results,
            offset: start,
            work: vec![(&format.items[..], 0)],
            operands: vec![Vec::new(); format.operands.len()],
            operand_types: vec![None; format.operands.len()],
            result_types: vec![None; format.results.len()],
            all_operands: None,
            all_types: None,
            all_operand_types: None,
            props: Vec::new(),
            attrs: Vec::new(),
            successors: SmallVec::new(),
            regions: vec![None; format.regions.len()],
            args: vec![Vec::new(); format.regions.len().max(1)],
            open: 0,
            many_regions: false,
        };
        self.advance(Box::new(op));
        true
    }

    /// The op that a word names: in full, or without the dialects `builtin` and `func`.
    fn format_of(&self, word: &'a str) -> Option<(&'a str, &'a Format)> {
        let registry = self.options.registry;
        let full = if word.contains('.') {
            registry.op_key(word)
        } else {
            ["builtin", "func"].iter().find_map(|d| registry.op_key(&format!("{d}.{word}")))
        }?;
        Some((full, registry.op(full)?.format.as_deref()?))
    }

    /// Goes on with an op after one of its regions.
    pub fn pretty_region_end(&mut self) {
        self.close_region();
        self.pos += 1;
        let Some(Frame { kind: Kind::Pretty(mut op), regions, .. }) = self.frames.pop() else { return };
        let Some(&region) = regions.last() else { return };
        self.implicit_terminator(&op, region);
        if op.many_regions {
            op.regions.push(Some(region));
            if self.lit(",") {
                if !self.require("{") {
                    self.give_up(&op);
                    return;
                }
                self.open_pretty(op);
                return;
            }
        } else {
            let open = op.open;
            op.regions[open] = Some(region);
        }
        self.advance(op);
    }

    /// Ends the blocks of a region that need a terminator and have none.
    fn implicit_terminator(&mut self, op: &PrettyOp<'a>, region: Region) {
        let Some(terminator) = self.info(op.name).and_then(|i| i.implicit_terminator.as_deref()) else { return };
        if self.ir.blocks_of(region).is_empty() {
            self.ir.add_block(region);
        }
        let Some(&block) = self.ir.blocks_of(region).last() else { return };
        let ended = self.ir.last_op(block).is_some_and(|last| {
            let name = self.ir.op(last).name;
            self.info(name).is_some_and(|i| i.terminator) || !self.ir.successors(last).is_empty()
        });
        if !ended {
            let name = self.ir.name(terminator);
            let loc = self.loc_at(self.pos.saturating_sub(1));
            let last = self.ir.create_detached(OpSpec::named(name).loc(loc));
            self.ir.insert(last, crate::ir::InsertPoint::End(block));
        }
    }

    fn give_up(&mut self, op: &PrettyOp<'a>) {
        self.define_broken(op.results);
        // Go on at the line of the error, which may open a region.
        let at = self.pos.max(op.offset).min(self.text.len());
        let line_start = self.text[..at].rfind('\n').map_or(0, |n| n + 1);
        self.recover(line_start.max(op.offset));
    }

    fn advance(&mut self, mut op: Box<PrettyOp<'a>>) {
        match self.items(&mut op) {
            None => self.give_up(&op),
            Some(Step::Region) => self.open_pretty(op),
            Some(Step::Done) => {
                let loc =
                    if self.word_ahead("loc") { self.prefix(Rule::location).map(|p| p.as_str()) } else { Some("") };
                let results = op.results;
                if loc.is_none() || self.finish_pretty(*op, loc.unwrap_or("")).is_none() {
                    self.define_broken(results);
                }
            }
        }
    }

    fn open_pretty(&mut self, mut op: Box<PrettyOp<'a>>) {
        let args = op.args.get_mut(op.open).map(std::mem::take).unwrap_or_default();
        let (name, at) = (op.full_name, self.pos);
        self.push_frame(Kind::Pretty(op), name, at);
        if !args.is_empty() {
            let block = self.block_here();
            for RegionArg { id, ty, loc } in args {
                let value = self.ir.add_block_arg(block, ty);
                if let Some(loc) = loc {
                    self.ir.set_arg_loc(value, loc);
                }
                if !id.is_empty() {
                    self.define_value(id, value);
                }
            }
        }
    }

    /// Reads items until the end or a region; None if something is wrong.
    fn items(&mut self, op: &mut PrettyOp<'a>) -> Option<Step> {
        while let Some((items, next)) = op.work.last_mut() {
            let Some(item) = items.get(*next) else {
                op.work.pop();
                continue;
            };
            *next += 1;
            let followed_by_region = matches!(items.get(*next), Some(Item::Region { .. } | Item::AllRegions));
            if self.item(op, item, followed_by_region)? {
                return Some(Step::Region);
            }
        }
        Some(Step::Done)
    }

    /// Reads one item; true if a region was opened.
    fn item(&mut self, op: &mut PrettyOp<'a>, item: &'a Item, followed_by_region: bool) -> Option<bool> {
        let format = op.format;
        match item {
            Item::Lit(text) => self.expect(text)?,
            Item::Space | Item::Newline | Item::NoSpace => {}
            Item::Operands(i) => op.operands[*i] = self.uses(format.operands[*i].many)?,
            Item::AllOperands => op.all_operands = Some(self.uses(Many::Any)?),
            Item::Prop(i) => {
                let prop = &format.props[*i];
                let value = self.prop(prop)?;
                let name = self.ir.name(&prop.name);
                op.props.push((name, value));
            }
            Item::Region { index, .. } => {
                op.open = *index;
                if self.lit("{") {
                    return Some(true);
                }
                if !format.regions[*index].optional {
                    return self.expect("{").map(|()| false);
                }
                op.args[*index].clear();
                op.regions[*index] = Some(self.ir.new_region());
            }
            Item::AllRegions => {
                op.many_regions = true;
                op.open = 0;
                if self.lit("{") {
                    return Some(true);
                }
            }
            Item::Successor(_) => {
                let id = self.prefix(Rule::block_id)?.as_str();
                op.successors.push(self.successor(id)?);
            }
            Item::AllSuccessors => loop {
                let id = self.prefix(Rule::block_id)?.as_str();
                op.successors.push(self.successor(id)?);
                if !self.lit(",") {
                    break;
                }
            },
            Item::OperandTypes(i) => {
                let many = op.operands[*i].len();
                op.operand_types[*i] = Some(self.type_list_of(format.operands[*i].many, Some(many))?);
            }
            Item::ResultTypes(i) => op.result_types[*i] = Some(self.type_list_of(format.results[*i].many, None)?),
            Item::AllOperandTypes => {
                let many = op.all_operands.as_ref().map(Vec::len);
                op.all_operand_types = Some(self.type_list_of(Many::Any, many)?);
            }
            Item::AllResultTypes => {
                let types = self.type_list_of(Many::Any, None)?;
                self.spread_results(op, types)?;
            }
            Item::FunctionalType => {
                let sig = self.prefix(Rule::signature)?.as_str();
                let sig = self.signature(sig)?;
                let list = |p: &Self, (a, b): (u32, u32)| p.leaves.lists[a as usize..b as usize].to_vec();
                op.all_types = Some((list(self, sig.inputs), list(self, sig.results)));
            }
            Item::AttrDict { keyword } => {
                let there = if *keyword { self.word("attributes") } else { self.ahead("{") };
                if there && (*keyword || self.dict_ahead(followed_by_region)) {
                    let dict = self.dict_here()?;
                    self.spread_dict(op, dict);
                }
            }
            Item::PropDict => {
                if self.ahead("<{") {
                    let text = self.prefix(Rule::props)?.as_str();
                    let dict = self.props_leaf(text)?;
                    op.props.extend_from_slice(self.ir.dict(dict));
                }
            }
            Item::Group { items, otherwise, .. } => {
                let list = if self.group_ahead(op, items, followed_by_region) { items } else { otherwise };
                op.work.push((list, 0));
            }
            Item::Args { region, .. } => {
                self.expect("(")?;
                if !self.lit(")") {
                    loop {
                        let id = self.prefix(Rule::value_id)?.as_str();
                        let ty = if self.lit(":") { self.type_here()? } else { self.ir.index_type() };
                        op.args[*region].push(RegionArg { id, ty, loc: None });
                        if !self.lit(",") {
                            break;
                        }
                    }
                    self.expect(")")?;
                }
            }
            Item::Subscript { operands, map } => {
                let (dims, attr) = self.subscript()?;
                op.operands[*operands] = dims;
                let name = self.ir.name(&format.props[*map].name);
                op.props.push((name, attr));
            }
            Item::Custom(Custom::Signature) => self.function_signature(op)?,
            Item::Custom(Custom::Axes(prop)) => {
                let attr = self.axes()?;
                let name = self.ir.name(&format.props[*prop].name);
                op.props.push((name, attr));
            }
            Item::Custom(Custom::SelectType(condition)) => {
                let first = self.type_here()?;
                let (condition_type, result) =
                    if self.lit(",") { (first, self.type_here()?) } else { (self.ir.int_type(1), first) };
                op.operand_types[*condition] = Some(vec![condition_type]);
                op.result_types[0] = Some(vec![result]);
            }
            Item::Custom(Custom::Carry(operands, region)) => self.carry(op, *operands, *region)?,
        }
        Some(false)
    }

    // ---- words ----

    fn ahead(&mut self, text: &str) -> bool {
        self.skip_trivia();
        self.text[self.pos..].starts_with(text)
    }

    fn word_ahead(&mut self, text: &str) -> bool {
        self.ahead(text)
            && !self.text[self.pos + text.len()..].starts_with(|c: char| c.is_ascii_alphanumeric() || "_$.".contains(c))
    }

    fn word(&mut self, text: &str) -> bool {
        let there = self.word_ahead(text);
        if there {
            self.pos += text.len();
        }
        there
    }

    /// Takes a keyword or punctuation if it is there.
    fn lit(&mut self, text: &str) -> bool {
        let wordy = text.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let there = if wordy { self.word_ahead(text) } else { self.ahead(text) };
        if there {
            self.pos += text.len();
        }
        there
    }

    fn require(&mut self, text: &str) -> bool {
        let there = self.lit(text);
        if !there {
            self.error(self.pos, format!("expected `{text}`"));
        }
        there
    }

    fn expect(&mut self, text: &str) -> Option<()> {
        self.require(text).then_some(())
    }

    /// Matches a rule at the cursor and goes over it.
    fn prefix(&mut self, rule: Rule) -> Option<Pair<'a, Rule>> {
        self.skip_trivia();
        let text: &'a str = self.text;
        match IrGrammar::parse(rule, &text[self.pos..]) {
            Ok(mut pairs) => {
                let pair = pairs.next()?;
                self.pos += pair.as_str().len();
                Some(pair)
            }
            Err(e) => {
                self.grammar_error(&e, self.pos, text.len() - self.pos);
                None
            }
        }
    }

    /// Whether the use of a value stands at the cursor, and not the results of the next op.
    fn use_ahead(&mut self) -> bool {
        self.ahead("%") && scan::after_results(self.text, self.pos).is_none()
    }

    fn uses(&mut self, many: Many) -> Option<Vec<&'a str>> {
        let mut list = Vec::new();
        match many {
            Many::One => list.push(self.prefix(Rule::value_use)?.as_str()),
            Many::Optional | Many::Any if !self.use_ahead() => {}
            Many::Optional => list.push(self.prefix(Rule::value_use)?.as_str()),
            Many::Any => loop {
                list.push(self.prefix(Rule::value_use)?.as_str());
                if !self.lit(",") {
                    break;
                }
            },
        }
        Some(list)
    }

    /// A type at the cursor.
    fn type_here(&mut self) -> Option<Type> {
        let text = self.prefix(Rule::type_prefix)?.as_str().trim_end();
        self.type_leaf(text)
    }

    fn type_list_of(&mut self, many: Many, count: Option<usize>) -> Option<Vec<Type>> {
        if many == Many::One {
            return Some(vec![self.type_here()?]);
        }
        let mut list = Vec::new();
        if count == Some(0) {
            return Some(list);
        }
        loop {
            list.push(self.type_here()?);
            if many == Many::Optional || !self.lit(",") {
                return Some(list);
            }
        }
    }

    fn prop(&mut self, prop: &'a crate::ir::format::Prop) -> Option<Attr> {
        if let Some((width, words)) = &prop.words {
            let text = self.prefix(Rule::bare_id)?.as_str();
            let Some(i) = words.iter().position(|w| &**w == text) else {
                let at = self.offset(text);
                self.error(at, format!("expected one of {}, found '{text}'", words.join(", ")));
                return None;
            };
            let ty = self.ir.int_type(*width);
            return Some(self.ir.int_attr(i as i64, ty));
        }
        match prop.spelled {
            Spelled::Attr => self.attr_here(),
            Spelled::Int(1) if self.word("true") => Some(self.ir.bool_attr(true)),
            Spelled::Int(1) if self.word("false") => Some(self.ir.bool_attr(false)),
            Spelled::Int(width) => {
                let text = self.prefix(Rule::number_text)?.as_str();
                let ty = self.ir.int_type(width);
                self.number_of_type(text, ty)
            }
            Spelled::IndexInt => {
                let text = self.prefix(Rule::number_text)?.as_str();
                let ty = self.ir.index_type();
                self.number_of_type(text, ty)
            }
            Spelled::Word => {
                let text = self.prefix(Rule::bare_id)?.as_str();
                Some(self.ir.string_attr(text))
            }
            Spelled::Words => {
                let mut items = Vec::new();
                loop {
                    let text = self.prefix(Rule::bare_id)?.as_str();
                    items.push(self.ir.string_attr(text));
                    if !self.lit(",") {
                        break;
                    }
                }
                Some(self.ir.array_attr(&items))
            }
            Spelled::Unit => Some(self.ir.unit_attr()),
            Spelled::Flags => {
                let flags = self.prefix(Rule::flags)?.as_str();
                let words: Vec<&str> = flags.trim_matches(['<', '>']).split(',').map(str::trim).collect();
                let prefix = prop.prefix.as_deref().unwrap_or("#");
                let text = format!("{prefix}<{}>", words.join(", "));
                Some(self.ir.make_attr(AttrData::Dialect(text.into())))
            }
            Spelled::SymbolName => {
                let text = self.prefix(Rule::symbol_name)?.as_str();
                let name = self.symbol_name(text)?;
                let text = self.ir.text(name).to_string();
                Some(self.ir.string_attr(&text))
            }
            Spelled::Type => {
                let ty = self.type_here()?;
                Some(self.ir.type_attr(ty))
            }
        }
    }

    fn attr_here(&mut self) -> Option<Attr> {
        let pair = self.prefix(Rule::attr_prefix)?.into_inner().next()?;
        self.attr(pair, 0)
    }

    fn dict_here(&mut self) -> Option<Dict> {
        let text = self.prefix(Rule::dict_prefix)?.as_str().trim_end();
        self.dict_leaf(text)
    }

    /// Whether the `{` at the cursor begins a dictionary, not the region that the form has next.
    fn dict_ahead(&mut self, followed_by_region: bool) -> bool {
        if !followed_by_region {
            return true;
        }
        // What a match that fails costs depends on all that follows, so what cannot be an entry is not tried.
        let rest = &self.text[self.pos..];
        let name = after_trivia(rest, 1);
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.');
        let end = match rest[name..].strip_prefix('"') {
            Some(string) => string.find('"').map_or(rest.len(), |n| name + n + 2),
            None => rest[name..].find(|c| !word(c)).map_or(rest.len(), |n| name + n),
        };
        if !rest[after_trivia(rest, end)..].starts_with(['=', ',', '}']) || self.budget == 0 {
            return false;
        }
        match IrGrammar::parse(Rule::dict_prefix, rest) {
            Ok(pairs) => rest[after_trivia(rest, pairs.as_str().len())..].starts_with('{'),
            Err(_) => {
                self.budget = self.budget.saturating_sub(rest.len());
                false
            }
        }
    }

    fn spread_dict(&mut self, op: &mut PrettyOp<'a>, dict: Dict) {
        for &(name, attr) in self.ir.dict(dict) {
            let text = self.ir.text(name);
            let is_prop = op.format.props.iter().any(|p| &*p.name == text) || text == "operandSegmentSizes";
            if is_prop { op.props.push((name, attr)) } else { op.attrs.push((name, attr)) }
        }
    }

    fn group_ahead(&mut self, op: &PrettyOp<'a>, items: &'a [Item], followed_by_region: bool) -> bool {
        let Some(first) = items.iter().find(|i| !matches!(i, Item::Space | Item::Newline | Item::NoSpace)) else {
            return false;
        };
        match first {
            Item::Lit(text) => {
                if text.ends_with(|c: char| c.is_ascii_alphanumeric()) {
                    self.word_ahead(text)
                } else {
                    self.ahead(text)
                }
            }
            Item::Operands(_) | Item::AllOperands => self.use_ahead(),
            Item::Successor(_) | Item::AllSuccessors => self.ahead("^"),
            Item::Region { .. } | Item::AllRegions => self.ahead("{"),
            Item::AttrDict { keyword: true } => self.word_ahead("attributes"),
            Item::AttrDict { keyword: false } => self.ahead("{") && self.dict_ahead(followed_by_region),
            Item::PropDict => self.ahead("<{"),
            Item::Args { .. } => self.ahead("("),
            Item::Prop(i) => {
                let prop = &op.format.props[*i];
                self.skip_trivia();
                let rest = &self.text[self.pos..];
                match prop.spelled {
                    _ if prop.words.is_some() => {
                        let word = rest.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or("");
                        prop.words.as_ref().is_some_and(|(_, ws)| ws.iter().any(|w| &**w == word))
                    }
                    Spelled::SymbolName => rest.starts_with('@'),
                    Spelled::Word => {
                        rest.starts_with(|c: char| c.is_ascii_alphabetic())
                            && IrGrammar::parse(Rule::pretty_head, rest).is_ok()
                    }
                    Spelled::Int(_) | Spelled::IndexInt => rest.starts_with(|c: char| c.is_ascii_digit() || c == '-'),
                    Spelled::Unit => true,
                    Spelled::Words => rest.starts_with(|c: char| c.is_ascii_alphabetic()),
                    Spelled::Flags => rest.starts_with('<'),
                    Spelled::Attr | Spelled::Type => {
                        !rest.starts_with([':', ')', ']', '}', ',', '=', '%', '^']) && !rest.is_empty()
                    }
                }
            }
            Item::OperandTypes(_)
            | Item::ResultTypes(_)
            | Item::AllOperandTypes
            | Item::AllResultTypes
            | Item::FunctionalType => {
                self.skip_trivia();
                self.text[self.pos..].starts_with(|c: char| c.is_ascii_alphabetic() || "!(".contains(c))
            }
            Item::Group { .. } | Item::Custom(_) | Item::Subscript { .. } => true,
            Item::Space | Item::Newline | Item::NoSpace => false,
        }
    }

    fn spread_results(&mut self, op: &mut PrettyOp<'a>, types: Vec<Type>) -> Option<()> {
        let rest = spread(&types, op.format.results.iter().map(|v| v.many))?;
        for (i, list) in rest.into_iter().enumerate() {
            op.result_types[i] = Some(list);
        }
        Some(())
    }
}
