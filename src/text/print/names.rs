//! Which name each value and block is printed with: the one that it has, changed only where two clash.

use crate::ir::registry::Registry;
use crate::ir::{Block, Ir, Op, Region, Value};
use rinductor_support::{EntityId, FxHashMap, FxHashSet, Name};
use std::fmt::Write;

/// The names that differ from what values and blocks are called.
#[derive(Default)]
pub struct Naming {
    /// Values whose text is not simply their name: unnamed, renamed, or one of several results (`x#1`).
    special: FxHashMap<Value, Box<str>>,
    /// How the results of an op with several are introduced: `x:2, y`.
    heads: FxHashMap<Op, Box<str>>,
    /// Labels that differ from the block's name; None for a block without a label.
    labels: FxHashMap<Block, Box<str>>,
    /// Ops that use a value before its definition.
    pub forward: FxHashSet<Op>,
    marks: Marks,
}

/// Facts about names and values by their numbers; a stamp is the number of the scope for which it holds.
#[derive(Default)]
struct Marks {
    stamp: u32,
    /// Names that are visible now.
    active: Vec<u32>,
    /// Names that occur anywhere in the scope.
    ever: Vec<u32>,
    /// Values whose definition was met, a bit each.
    seen: Vec<u64>,
}

impl Marks {
    fn begin(&mut self, ir: &Ir) {
        self.stamp += 1;
        self.active.resize(ir.names.len(), 0);
        self.ever.resize(ir.names.len(), 0);
        self.seen.resize(ir.values.len() / 64 + 1, 0);
    }
    fn see(&mut self, v: Value) {
        self.seen[v.index() / 64] |= 1 << (v.index() % 64);
    }
    fn saw(&self, v: Value) -> bool {
        self.seen[v.index() / 64] >> (v.index() % 64) & 1 == 1
    }
}

/// Values of one name: the first, how many, the name.
type Group = (Value, u32, Option<Name>);

enum Work {
    Ops(Option<Op>),
    Results(Op),
    Args(Block),
    Region(Region),
    Leave(usize),
}

#[derive(Default)]
struct Scope {
    undo: Vec<Name>,
    /// Values that need another name, in order.
    pending: Vec<Group>,
    /// Ops with several results.
    multi: Vec<Op>,
    regions: Vec<Region>,
    /// Whether a value is used before its definition.
    forward: bool,
}

/// The results of an op, those of one name together.
fn groups(ir: &Ir, op: Op) -> Vec<Group> {
    let mut list: Vec<Group> = Vec::new();
    for v in ir.results(op) {
        let name = ir.value(v).name;
        match list.last_mut() {
            Some(g) if g.2 == name => g.1 += 1,
            _ => list.push((v, 1, name)),
        }
    }
    list
}

impl Scope {
    fn add(&mut self, marks: &mut Marks, group: Group, unique: bool) {
        let Some(name) = group.2 else { return self.pending.push(group) };
        let i = name.index();
        let was_ever = std::mem::replace(&mut marks.ever[i], marks.stamp) == marks.stamp;
        let was_active = std::mem::replace(&mut marks.active[i], marks.stamp) == marks.stamp;
        if was_active || (unique && was_ever) {
            self.pending.push(group);
        } else {
            self.undo.push(name);
        }
    }

    /// Goes over the regions of an op in the order in which the parser meets definitions: results after the regions of their op.
    fn walk(
        ir: &Ir,
        registry: &Registry,
        root: Op,
        unique: bool,
        marks: &mut Marks,
        forward: &mut FxHashSet<Op>,
    ) -> Scope {
        marks.begin(ir);
        let mut scope = Scope::default();
        let mut unseen: Vec<(Op, Value)> = Vec::new();
        let track = !unique;
        let mut work: Vec<Work> = ir.regions_of(root).iter().rev().map(|&r| Work::Region(r)).collect();
        while let Some(item) = work.pop() {
            match item {
                Work::Leave(mark) => {
                    for name in scope.undo.drain(mark..) {
                        marks.active[name.index()] = 0;
                    }
                }
                Work::Region(region) => {
                    scope.regions.push(region);
                    work.push(Work::Leave(scope.undo.len()));
                    for &block in ir.blocks_of(region).iter().rev() {
                        work.push(Work::Ops(ir.first_op(block)));
                        // Arguments are defined when their block begins.
                        if ir.blocks_of(region).len() == 1 || !ir.block_args(block).is_empty() {
                            work.push(Work::Args(block));
                        }
                    }
                }
                Work::Args(block) => {
                    for &arg in ir.block_args(block) {
                        if track {
                            marks.see(arg);
                        }
                        scope.add(marks, (arg, 1, ir.value(arg).name), unique);
                    }
                }
                Work::Ops(first) => {
                    let mut next = first;
                    while let Some(op) = next {
                        next = ir.next_op(op);
                        if track {
                            for v in ir.operands(op) {
                                if !marks.saw(v) {
                                    unseen.push((op, v));
                                }
                            }
                        }
                        let regions = ir.regions_of(op);
                        let open = !regions.is_empty() && !registry.op(ir.op_name(op)).is_some_and(|i| i.isolated);
                        if open {
                            work.push(Work::Ops(next));
                            work.push(Work::Results(op));
                            work.extend(regions.iter().rev().map(|&r| Work::Region(r)));
                            break;
                        }
                        scope.results(ir, marks, op, unique);
                        if track {
                            ir.results(op).for_each(|v| marks.see(v));
                        }
                    }
                }
                Work::Results(op) => {
                    scope.results(ir, marks, op, unique);
                    if track {
                        ir.results(op).for_each(|v| marks.see(v));
                    }
                }
            }
        }
        // What was not met at all comes from outside.
        for (op, v) in unseen {
            if marks.saw(v) {
                forward.insert(op);
                scope.forward = true;
            }
        }
        scope
    }

    fn results(&mut self, ir: &Ir, marks: &mut Marks, op: Op, unique: bool) {
        match ir.num_results(op) {
            0 => {}
            1 => {
                let v = ir.result(op, 0);
                self.add(marks, (v, 1, ir.value(v).name), unique);
            }
            _ => {
                self.multi.push(op);
                for group in groups(ir, op) {
                    self.add(marks, group, unique);
                }
            }
        }
    }
}

impl Naming {
    /// Names the values in the regions of an op, but not in those of isolated ops inside.
    pub fn scope(&mut self, ir: &Ir, registry: &Registry, op: Op) {
        let mut scope = Scope::walk(ir, registry, op, false, &mut self.marks, &mut self.forward);
        if scope.forward {
            // A value that is used before its definition must not share its name with anything in a region beside it.
            scope = Scope::walk(ir, registry, op, true, &mut self.marks, &mut self.forward);
        }
        let mut next_number = 0u64;
        let mut suffixes: FxHashMap<Name, u64> = FxHashMap::default();
        let mut made: FxHashSet<Box<str>> = FxHashSet::default();
        let mut given: FxHashMap<Value, Box<str>> = FxHashMap::default();
        for &(first, _, name) in &scope.pending {
            let base = name.map(|n| (n, ir.text(n))).filter(|(_, t)| !t.bytes().all(|b| b.is_ascii_digit()));
            let text = loop {
                let (k, prefix) = match base {
                    Some((n, text)) => (suffixes.entry(n).or_insert(0), format!("{text}_")),
                    None => (&mut next_number, String::new()),
                };
                let text = format!("{prefix}{k}");
                *k += 1;
                let taken = ir.names.find(&text).is_some_and(|n| self.marks.ever[n.index()] == self.marks.stamp);
                if !taken && (base.is_none() || made.insert(text.as_str().into())) {
                    break text;
                }
            };
            given.insert(first, text.into());
        }
        for &op in &scope.multi {
            let mut head = String::new();
            for (first, count, name) in groups(ir, op) {
                let text = given.remove(&first).unwrap_or_else(|| name.map_or("", |n| ir.text(n)).into());
                let comma = if head.is_empty() { "" } else { ", " };
                let number = if count > 1 { format!(":{count}") } else { String::new() };
                write!(head, "{comma}%{text}{number}").expect("a string takes all text");
                for i in 0..count as usize {
                    let value = Value::from_index(first.index() + i);
                    let shown = if count > 1 { format!("{text}#{i}").into() } else { text.clone() };
                    self.special.insert(value, shown);
                }
            }
            self.heads.insert(op, head.into());
        }
        self.special.extend(given);
        for &region in &scope.regions {
            self.label(ir, region);
        }
    }

    /// Gives labels to the blocks of a region that have none, or that of another block.
    fn label(&mut self, ir: &Ir, region: Region) {
        let blocks = ir.blocks_of(region);
        if blocks.len() == 1 && ir.block(blocks[0]).name.is_some() {
            return;
        }
        let names: FxHashSet<Name> = blocks.iter().filter_map(|&b| ir.block(b).name).collect();
        let mut used: FxHashSet<Name> = FxHashSet::default();
        let mut next = 0u64;
        for &block in blocks {
            if ir.block(block).name.is_some_and(|n| used.insert(n)) {
                continue;
            }
            let text = loop {
                let text = format!("bb{next}");
                next += 1;
                if ir.names.find(&text).is_none_or(|n| !names.contains(&n)) {
                    break text;
                }
            };
            self.labels.insert(block, text.into());
        }
    }

    /// Writes `%name`.
    pub fn value(&self, ir: &Ir, value: Value, out: &mut String) {
        out.push('%');
        out.push_str(&self.value_text(ir, value));
    }

    /// The name without `%`.
    pub fn value_text<'a>(&'a self, ir: &'a Ir, value: Value) -> std::borrow::Cow<'a, str> {
        if !self.special.is_empty()
            && let Some(text) = self.special.get(&value)
        {
            return std::borrow::Cow::Borrowed(text);
        }
        match ir.value(value).name {
            Some(name) => std::borrow::Cow::Borrowed(ir.text(name)),
            None => std::borrow::Cow::Owned(format!("<unnamed value {}>", value.index())),
        }
    }

    /// Writes what stands before `=` of an op with results.
    pub fn head(&self, ir: &Ir, op: Op, out: &mut String) {
        match self.heads.get(&op) {
            Some(head) => out.push_str(head),
            None => self.value(ir, ir.result(op, 0), out),
        }
    }

    /// Writes `^label`.
    pub fn block(&self, ir: &Ir, block: Block, out: &mut String) {
        out.push('^');
        match (self.labels.get(&block), ir.block(block).name) {
            (Some(text), _) => out.push_str(text),
            (None, Some(name)) => out.push_str(ir.text(name)),
            (None, None) => out.push_str("bb"),
        }
    }
}
