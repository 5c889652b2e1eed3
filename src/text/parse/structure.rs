//! The stack of open ops, and what each piece of the structure does to it.

use super::pretty::PrettyOp;
use super::scan::Tail;
use super::{Parser, after_trivia};
use crate::ir::registry::OpInfo;
use crate::ir::{Block, Dict, InsertPoint, Loc, Op, OpSpec, Region, Type, Value};
use crate::text::grammar::Rule;
use pest::iterators::Pair;
use rinductor_support::near::did_you_mean;
use rinductor_support::{Diagnostic, EntityId, FxHashMap, Name};
use smallvec::SmallVec;

/// What stands before the regions of an op in generic form.
#[derive(Clone, Copy, Default)]
pub struct Head<'a> {
    /// `%a, %b:2 =` or nothing.
    pub results: &'a str,
    /// `"dialect.op"` with its quotes.
    pub name: &'a str,
    /// `(%x, %y)`.
    pub uses: &'a str,
    /// `[^a, ^b]` or nothing.
    pub successors: &'a str,
    /// `<{…}>` or nothing.
    pub props: &'a str,
    /// Where the op begins.
    pub offset: usize,
}

/// What an open region belongs to.
pub enum Kind<'a> {
    /// The file.
    File,
    /// An op in generic form.
    Generic(Head<'a>),
    /// An op in pretty form, as far as it was read.
    Pretty(Box<PrettyOp<'a>>),
    /// An op that was not understood: its region is read for its errors and dropped.
    Broken,
}

struct Label {
    block: Block,
    defined: bool,
    offset: usize,
}

/// An open op with its open region.
pub struct Frame<'a> {
    pub kind: Kind<'a>,
    /// The region that is being read.
    pub region: Region,
    /// Those of the op that were read before.
    pub regions: SmallVec<[Region; 1]>,
    /// The block that ops are added to; none before the first op or label.
    pub block: Option<Block>,
    /// How far the names of the region are forgotten at its end.
    pub mark: usize,
    /// Whether the region sees no names from outside.
    pub isolated: bool,
    labels: Option<Box<FxHashMap<&'a str, Label>>>,
    /// Where the region was opened.
    pub offset: usize,
}

impl<'a> Frame<'a> {
    /// A frame whose first region is open.
    pub fn new(kind: Kind<'a>, region: Region, block: impl Into<Option<Block>>, mark: usize, offset: usize) -> Self {
        let block = block.into();
        Self { kind, region, regions: SmallVec::new(), block, mark, isolated: false, labels: None, offset }
    }

    /// Whether an op in pretty form waits for the end of its region.
    pub fn is_pretty(&self) -> bool {
        matches!(self.kind, Kind::Pretty(_))
    }
}

/// What an op is made of, however it was written.
pub struct Parts<'a> {
    pub name: Name,
    pub results: &'a str,
    pub operands: SmallVec<[Value; 4]>,
    pub types: SmallVec<[Type; 2]>,
    pub props: Dict,
    pub attrs: Dict,
    pub successors: SmallVec<[Block; 2]>,
    pub loc: Loc,
    pub offset: usize,
}

/// Whether a property says what holds without it: it is left out then.
pub fn is_default(ir: &crate::ir::Ir, format: &crate::ir::format::Format, name: Name, value: crate::ir::Attr) -> bool {
    let text = ir.text(name);
    let default = format.props.iter().find(|p| &*p.name == text).and_then(|p| p.default.as_deref());
    default.is_some_and(|d| crate::text::print::AttrText::of_attr(ir, value).to_string() == d)
}

impl<'a> Parser<'a> {
    /// Takes one piece; false if it belongs to a pretty form, which reads it itself.
    pub fn piece(&mut self, piece: Pair<'a, Rule>) -> bool {
        let offset = self.offset(piece.as_str());
        match piece.as_rule() {
            Rule::op => self.generic_op(piece, offset),
            Rule::label => {
                let mut inner = piece.into_inner();
                if let Some(id) = inner.next() {
                    let args = inner.next();
                    self.label(id.as_str(), args.map_or("", |a| a.as_str()));
                }
            }
            Rule::region_next | Rule::region_end => {
                match self.frames.last().map(|f| &f.kind) {
                    Some(Kind::Pretty(_)) => return false,
                    Some(Kind::File) | None => {
                        self.error(offset, "`}` without the `{` that it closes");
                        return true;
                    }
                    _ => {}
                }
                self.close_region();
                if piece.as_rule() == Rule::region_next {
                    let at = offset + piece.as_str().len();
                    self.open_region(at);
                } else {
                    self.generic_end(piece);
                }
            }
            _ => {}
        }
        true
    }

    /// Takes a piece that looks as usual; false if it belongs to a pretty form, or to none.
    pub fn scanned(&mut self, piece: super::scan::Piece<'a>, end: usize) -> bool {
        use super::scan::Piece;
        match piece {
            Piece::Op(head, tail) => self.finish_generic(head, tail, &[]),
            Piece::Label(id, args) => self.label(id, args),
            Piece::Start(head) => self.push_frame(Kind::Generic(head), head.name, end),
            Piece::End(tail) => {
                if !matches!(self.frames.last().map(|f| &f.kind), Some(Kind::Generic(_))) {
                    return false;
                }
                self.close_region();
                self.end_generic(tail);
            }
        }
        true
    }

    fn generic_op(&mut self, piece: Pair<'a, Rule>, offset: usize) {
        let mut head = Head { offset, ..Head::default() };
        let mut tail = Tail::default();
        for part in piece.into_inner() {
            let text = part.as_str();
            match part.as_rule() {
                Rule::results => head.results = text,
                Rule::op_name => head.name = text,
                Rule::uses => head.uses = text,
                Rule::successors => head.successors = text,
                Rule::props => head.props = text,
                Rule::attrs => tail.attrs = text,
                Rule::signature => tail.signature = text,
                Rule::location => tail.location = text,
                _ => {
                    self.push_frame(Kind::Generic(head), head.name, self.offset(text) + text.len());
                    return;
                }
            }
        }
        self.finish_generic(head, tail, &[]);
    }

    fn generic_end(&mut self, piece: Pair<'a, Rule>) {
        let mut tail = Tail::default();
        for part in piece.into_inner() {
            match part.as_rule() {
                Rule::attrs => tail.attrs = part.as_str(),
                Rule::signature => tail.signature = part.as_str(),
                _ => tail.location = part.as_str(),
            }
        }
        self.end_generic(tail);
    }

    fn end_generic(&mut self, tail: Tail<'a>) {
        let Some(frame) = self.frames.pop() else { return };
        if let Kind::Generic(head) = frame.kind {
            self.finish_generic(head, tail, &frame.regions);
        }
    }

    /// The name of an op, as written in quotes.
    fn generic_name(&mut self, literal: &'a str) -> Option<Name> {
        let body = &literal[1..literal.len() - 1];
        if body.contains('\\') {
            let text = self.utf8_string(literal)?;
            return Some(self.ir.name(&text));
        }
        if body.is_empty() {
            let at = self.offset(literal);
            self.error(at, "an operation has a name");
            return None;
        }
        Some(self.ir.name(body))
    }

    /// What is known of an op.
    pub fn info(&mut self, name: Name) -> Option<&'a OpInfo> {
        if let Some(&info) = self.infos.get(&name) {
            return info;
        }
        let info = self.options.registry.op(self.ir.text(name));
        self.infos.insert(name, info);
        info
    }

    fn finish_generic(&mut self, head: Head<'a>, tail: Tail<'a>, regions: &[Region]) {
        let Tail { attrs, signature: sig, location: loc } = tail;
        let name = self.generic_name(head.name);
        // Each of these may report errors of its own: read all before giving up.
        let sig = self.signature(sig);
        let attrs = if attrs.is_empty() { Some(Dict::default()) } else { self.dict_leaf(attrs) };
        let props = if head.props.is_empty() { Some(Dict::default()) } else { self.props_leaf(head.props) };
        let loc = if loc.is_empty() { Some(self.loc_at(head.offset)) } else { self.loc_leaf(loc) };
        let operands = match sig {
            Some(sig) => self.operands(head.uses, sig.inputs),
            None => None,
        };
        let successors = self.successors(head.successors);
        let (Some(name), Some(sig), Some(attrs), Some(props), Some(loc), Some(operands), Some(successors)) =
            (name, sig, attrs, props, loc, operands, successors)
        else {
            self.define_broken(head.results);
            return;
        };
        let (props, attrs) = self.known_props(name, props, attrs);
        let types = self.leaves.lists[sig.results.0 as usize..sig.results.1 as usize].into();
        let parts =
            Parts { name, results: head.results, operands, types, props, attrs, successors, loc, offset: head.offset };
        self.finish_op(parts, regions);
    }

    /// Moves entries that the op's definition names from the attributes to the properties: generic text may give them in either place.
    fn known_props(&mut self, name: Name, props: Dict, attrs: Dict) -> (Dict, Dict) {
        if attrs == Dict::default() && props == Dict::default() {
            return (props, attrs);
        }
        let Some(format) = self.info(name).and_then(|i| i.format.as_deref()) else { return (props, attrs) };
        if let Some(&known) = self.known.get(&(name, props, attrs)) {
            return known;
        }
        let made = self.spread_props(format, props, attrs);
        self.known.insert((name, props, attrs), made);
        made
    }

    fn spread_props(&mut self, format: &crate::ir::format::Format, props: Dict, attrs: Dict) -> (Dict, Dict) {
        let ir = &mut self.ir;
        let is_prop = |n: Name, ir: &crate::ir::Ir| {
            let text = ir.text(n);
            text == "operandSegmentSizes" && format.segments || format.props.iter().any(|p| &*p.name == text)
        };
        let (mine, rest): (Vec<_>, Vec<_>) = ir.dict(attrs).iter().copied().partition(|&(n, _)| is_prop(n, ir));
        let all = mine.into_iter().chain(ir.dict(props).iter().copied());
        let all: Vec<_> = all.filter(|&(n, a)| !is_default(ir, format, n, a)).collect();
        (ir.make_dict(all), ir.make_dict(rest))
    }

    /// The location of an op that gives none.
    pub fn loc_at(&self, offset: usize) -> Loc {
        Loc::at(self.source, offset as u32)
    }

    /// Makes an op, puts it at the end of the open block, and defines its names.
    pub fn finish_op(&mut self, parts: Parts<'a>, regions: &[Region]) -> Option<Op> {
        let Parts { name, results, operands, types, props, attrs, successors, loc, offset } = parts;
        if self.info(name).is_none() && !self.options.allow_unregistered {
            self.report_unknown(name, offset);
        }
        let spec = OpSpec { name, operands, results: types, props, attrs, regions: 0, successors, loc };
        let op =
            if regions.is_empty() { self.ir.create_detached(spec) } else { self.ir.create_with_regions(spec, regions) };
        let block = self.block_here();
        self.ir.insert(op, InsertPoint::End(block));
        self.define_results(op, results);
        Some(op)
    }

    /// Reports an op without a definition.
    fn report_unknown(&mut self, name: Name, offset: usize) {
        let text = self.ir.text(name);
        let dialect = text.split('.').next().unwrap_or(text);
        let registry = self.options.registry;
        let (message, help) = if registry.has_dialect(dialect) {
            let near = did_you_mean(text, registry.op_names());
            let help = near.unwrap_or_else(|| "--allow-unregistered-dialect reads it anyway".into());
            (format!("the dialect '{dialect}' has no operation '{text}'"), help)
        } else {
            let help = "load the file that defines the dialect with --load-dialect, or read it anyway with --allow-unregistered-dialect";
            (format!("operation '{text}' belongs to the unknown dialect '{dialect}'"), help.into())
        };
        let place = self.span(offset);
        self.report(Diagnostic::error(place, message).help(help));
    }

    /// The block to which ops are added: the entry of the region, if it has none yet.
    pub fn block_here(&mut self) -> Block {
        let frame = self.frames.last_mut().expect("the frame of the file is open until its end");
        let (region, ir) = (frame.region, &mut self.ir);
        *frame.block.get_or_insert_with(|| ir.add_block(region))
    }

    // ---- regions and blocks ----

    /// Opens the first region of an op.
    pub fn push_frame(&mut self, kind: Kind<'a>, quoted_name: &str, at: usize) {
        let name = quoted_name.trim_matches('"');
        let isolated = self.options.registry.op(name).is_some_and(|i| i.isolated);
        let region = self.ir.new_region();
        let mut frame = Frame::new(kind, region, None, self.scopes.mark(), at);
        frame.isolated = isolated;
        if isolated {
            self.scopes.push_isolated();
        }
        self.frames.push(frame);
    }

    /// Opens another region of the op on top of the stack.
    pub fn open_region(&mut self, at: usize) {
        let region = self.ir.new_region();
        let mark = self.scopes.mark();
        let Some(frame) = self.frames.last_mut() else { return };
        frame.region = region;
        frame.block = None;
        frame.mark = mark;
        frame.offset = at;
        if frame.isolated {
            self.scopes.push_isolated();
        }
    }

    /// Ends the open region of the op on top of the stack.
    pub fn close_region(&mut self) {
        self.needs_block();
        let Some(frame) = self.frames.last_mut() else { return };
        frame.regions.push(frame.region);
        let (mark, isolated) = (frame.mark, frame.isolated);
        if let Some(labels) = frame.labels.take() {
            let mut missing: Vec<_> = labels.iter().filter(|(_, l)| !l.defined).map(|(n, l)| (l.offset, *n)).collect();
            missing.sort_unstable();
            for (at, label) in missing {
                self.error(at, format!("block '{label}' is not defined in this region"));
            }
        }
        self.scopes.pop(mark);
        if isolated {
            self.undeclared();
        }
    }

    /// Gives an empty region of an op that always has a block one.
    fn needs_block(&mut self) {
        let Some(frame) = self.frames.last() else { return };
        let name = match &frame.kind {
            Kind::Generic(head) => head.name.trim_matches('"'),
            Kind::Pretty(op) => op.full_name(),
            Kind::File | Kind::Broken => return,
        };
        if frame.block.is_none() && self.options.registry.op(name).is_some_and(|i| i.single_block) {
            self.block_here();
        }
    }

    /// Reports the names that were used but never defined in the isolated scope that ends.
    fn undeclared(&mut self) {
        for ((name, index), forward) in self.scopes.pop_isolated() {
            let name = self.ir.text(name);
            let shown = if index == 0 { format!("'%{name}'") } else { format!("'%{name}#{index}'") };
            self.error(forward.offset as usize, format!("use of the undefined value {shown}"));
        }
    }

    /// Ends everything that is still open.
    pub fn end_of_file(&mut self) {
        while self.frames.len() > 1 {
            if let Some(frame) = self.frames.last()
                && !self.stop
                && !matches!(frame.kind, Kind::Broken)
            {
                let at = frame.offset.saturating_sub(1);
                self.error(at, "the region that is opened here is not closed");
            }
            self.close_region();
            self.frames.pop();
        }
        self.undeclared();
    }

    fn label(&mut self, id: &'a str, args: &'a str) {
        let at = self.offset(id);
        let Some(frame) = self.frames.last_mut() else { return };
        if matches!(frame.kind, Kind::File) {
            self.error(at, "a block label stands inside a region");
            return;
        }
        let region = frame.region;
        let labels = frame.labels.get_or_insert_default();
        let block = match labels.get_mut(id) {
            Some(l) if l.defined => {
                let before = l.offset;
                let (here, there) = (self.span(at), self.span(before));
                self.report(
                    Diagnostic::error(here, format!("redefinition of block '{id}'")).note(there, "it was defined here"),
                );
                // What follows is read into a block of its own.
                self.ir.new_block()
            }
            Some(l) => {
                l.defined = true;
                l.offset = at;
                l.block
            }
            None => {
                let block = self.ir.new_block();
                labels.insert(id, Label { block, defined: true, offset: at });
                block
            }
        };
        self.ir.append_block(region, block);
        let name = self.ir.name(&id[1..]);
        self.ir.set_block_name(block, Some(name));
        if let Some(frame) = self.frames.last_mut() {
            frame.block = Some(block);
        }
        if after_trivia(args, 0) < args.len() {
            self.block_args(block, args);
        }
    }

    fn block_args(&mut self, block: Block, args: &'a str) {
        let usual = if self.options.by_grammar_alone { None } else { super::scan::arguments(args) };
        if let Some(list) = usual {
            for (id, ty) in list {
                let Some(ty) = self.type_leaf(ty) else { continue };
                let value = self.ir.add_block_arg(block, ty);
                self.define_value(id, value);
            }
            return;
        }
        let Some(pair) = self.leaf(Rule::block_args, args) else { return };
        for arg in pair.into_inner().filter(|p| p.as_rule() == Rule::block_arg) {
            let mut inner = arg.into_inner();
            let (Some(id), Some(ty)) = (inner.next(), inner.next()) else { continue };
            let Some(ty) = self.type_leaf(ty.as_str().trim_end()) else { continue };
            let loc = inner.next().and_then(|loc| self.loc_leaf(loc.as_str()));
            let value = self.ir.add_block_arg(block, ty);
            if let Some(loc) = loc {
                self.ir.set_arg_loc(value, loc);
            }
            self.define_value(id.as_str(), value);
        }
    }

    /// Names one value (`%x`) that is now defined.
    pub fn define_value(&mut self, id: &'a str, value: Value) {
        let at = self.offset(id);
        let name = self.ir.name(&id[1..]);
        self.ir.set_value_name(value, Some(name));
        self.define(name, value, 1, at);
    }

    /// The successors `[^a, ^b]`.
    pub fn successors(&mut self, text: &'a str) -> Option<SmallVec<[Block; 2]>> {
        let mut list = SmallVec::new();
        let mut rest = text;
        while let Some(i) = rest.find('^') {
            let end = rest[i + 1..].find(|c: char| !is_id(c)).map_or(rest.len(), |n| i + 1 + n);
            list.push(self.successor(&rest[i..end])?);
            rest = &rest[end..];
        }
        Some(list)
    }

    /// The block that `^label` names in the open region.
    pub fn successor(&mut self, id: &'a str) -> Option<Block> {
        let offset = self.offset(id);
        if self.frames.last().is_some_and(|f| matches!(f.kind, Kind::File)) {
            self.error(offset, "there are no blocks outside of regions");
            return None;
        }
        let frame = self.frames.last_mut()?;
        let labels = frame.labels.get_or_insert_default();
        let ir = &mut self.ir;
        Some(labels.entry(id).or_insert_with(|| Label { block: ir.new_block(), defined: false, offset }).block)
    }

    // ---- values ----

    /// The values of `(%a, %b#1)`, whose types stand at a range of the lists of types.
    fn operands(&mut self, uses: &'a str, types: (u32, u32)) -> Option<SmallVec<[Value; 4]>> {
        let mut list = SmallVec::new();
        let mut right = true;
        let count = (types.1 - types.0) as usize;
        let mut n = 0;
        for id in ids(uses) {
            if n < count {
                let ty = self.leaves.lists[types.0 as usize + n];
                match self.operand(id, ty) {
                    Some(v) => list.push(v),
                    None => right = false,
                }
            }
            n += 1;
        }
        if n != count {
            let at = self.offset(uses);
            self.error(at, format!("{n} operands, but {count} operand types"));
            right = false;
        }
        right.then_some(list)
    }

    /// The value of `%x` or `%x#1`, which has a type.
    pub fn operand(&mut self, id: &'a str, ty: Type) -> Option<Value> {
        let (name, index) = self.use_of(id)?;
        match self.lookup(id, name, index)? {
            Some(value) => {
                self.check_type(id, value, ty)?;
                Some(value)
            }
            None => {
                let offset = self.offset(id) as u32;
                let value = self.scopes.forward(&mut self.ir, name, index, ty, offset);
                self.check_type(id, value, ty)?;
                Some(value)
            }
        }
    }

    /// The name and number of a use.
    pub fn use_of(&mut self, id: &'a str) -> Option<(Name, u32)> {
        match id.split_once('#') {
            None => Some((self.ir.name(&id[1..]), 0)),
            Some((name, number)) => {
                let name = self.ir.name(&name[1..]);
                Some((name, self.small_number(number)?))
            }
        }
    }

    /// The value that is defined already, if it is.
    pub fn lookup(&mut self, id: &'a str, name: Name, index: u32) -> Option<Option<Value>> {
        match self.scopes.find(name, index) {
            Ok(found) => Some(found),
            Err(super::scope::Missing::NoSuchResult { count }) => {
                let at = self.offset(id);
                let name = self.ir.text(name);
                let message = format!("'%{name}' has {count} results, no number {index}");
                self.error(at, message);
                None
            }
            Err(super::scope::Missing::Broken) => None,
        }
    }

    fn check_type(&mut self, id: &'a str, value: Value, ty: Type) -> Option<()> {
        let is = self.ir.value_type(value);
        if is == ty {
            return Some(());
        }
        let at = self.offset(id);
        let text = |t| crate::text::print::AttrText::of_type(&self.ir, t).to_string();
        let message = format!("'{id}' is used as {}, but it has the type {}", text(ty), text(is));
        self.error(at, message);
        None
    }

    fn define(&mut self, name: Name, first: Value, count: u32, at: usize) {
        if let Err(before) = self.scopes.define(name, first, count, at as u32) {
            let (here, there) = (self.span(at), self.span(before as usize));
            let message = format!("redefinition of '%{}'", self.ir.text(name));
            self.report(Diagnostic::error(here, message).note(there, "it was defined here"));
            return;
        }
        for i in 0..count {
            if let Some(forward) = self.scopes.resolve(name, i) {
                let value = Value::from_index(first.index() + i as usize);
                let (used, is) = (self.ir.value_type(forward.value), self.ir.value_type(value));
                if used == is {
                    self.ir.replace_all_uses(forward.value, value);
                } else {
                    let text = |t| crate::text::print::AttrText::of_type(&self.ir, t).to_string();
                    let message = format!(
                        "'%{}' is used as {}, but it has the type {}",
                        self.ir.text(name),
                        text(used),
                        text(is)
                    );
                    self.error(forward.offset as usize, message);
                }
            }
        }
    }

    /// Names the results of an op as `%a, %b:2 =` says.
    fn define_results(&mut self, op: Op, results: &'a str) {
        let total = self.ir.num_results(op) as u64;
        let mut next = 0u64;
        for (id, count) in groups(results) {
            let at = self.offset(id);
            let Some(count) = count.map_or(Some(1), |c| self.small_number(c)) else { return };
            if count == 0 {
                self.error(at, "a name stands for at least one result");
                return;
            }
            if next + u64::from(count) > total {
                next += u64::from(count);
                continue;
            }
            let name = self.ir.name(&id[1..]);
            let first = self.ir.result(op, next as usize);
            for i in 0..count as usize {
                let value = self.ir.result(op, next as usize + i);
                self.ir.set_value_name(value, Some(name));
            }
            self.define(name, first, count, at);
            next += u64::from(count);
        }
        if !results.is_empty() && next != total {
            let at = self.offset(results);
            self.error(at, format!("{next} results are named, but the operation has {total}"));
        }
    }

    /// Defines the names of an op that was not understood, so that its uses are not reported as well.
    pub fn define_broken(&mut self, results: &'a str) {
        for (id, count) in groups(results) {
            let count = count.and_then(|c| c.parse::<u32>().ok()).unwrap_or(1).min(1 << 16);
            let at = self.offset(id) as u32;
            let name = self.ir.name(&id[1..]);
            self.scopes.define_broken(name, count, at);
        }
    }
}

fn is_id(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.' | '-')
}

fn id_end(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let mut i = from;
    while bytes.get(i).is_some_and(|&b| is_id(b as char)) {
        i += 1;
    }
    i
}

/// The `%x`, `%x#1` of a list.
pub fn ids(text: &str) -> impl Iterator<Item = &str> {
    let mut i = 0;
    std::iter::from_fn(move || {
        let bytes = text.as_bytes();
        while i < bytes.len() && bytes[i] != b'%' {
            i = if bytes[i] == b'/' { super::line_end(text, i) } else { i + 1 };
        }
        let start = i;
        if start >= bytes.len() {
            return None;
        }
        i = id_end(text, i + 1);
        if bytes.get(i) == Some(&b'#') {
            i = id_end(text, i + 1);
        }
        Some(&text[start..i])
    })
}

/// The `%x`, `%x:2` of a list of results.
fn groups(text: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let mut i = 0;
    std::iter::from_fn(move || {
        let bytes = text.as_bytes();
        while i < bytes.len() && bytes[i] != b'%' {
            i = if bytes[i] == b'/' { super::line_end(text, i) } else { i + 1 };
        }
        let start = i;
        if start >= bytes.len() {
            return None;
        }
        i = id_end(text, i + 1);
        let id = &text[start..i];
        let colon = after_trivia(text, i);
        if bytes.get(colon) != Some(&b':') {
            return Some((id, None));
        }
        let digits = after_trivia(text, colon + 1);
        i = id_end(text, digits);
        Some((id, Some(&text[digits..i])))
    })
}
