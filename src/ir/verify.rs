//! The structural verifier: what must hold of any IR, whatever its dialects, and then what the definitions of its ops require.
//!
//! Dominance, terminators, symbols, isolation, successors. All that is wrong is reported. Nothing here recurses, and every check takes
//! time linear in what it looks at.

use super::dominance::Dominance;
use super::registry::{OpInfo, Registry};
use super::{Attr, AttrData, Block, Def, Ir, Op, Region, Value};
use rinductor_support::{Diagnostic, EntityId, FxHashMap, FxHashSet, Name};

/// Reports all that is wrong with an op and what is nested in it.
pub fn verify(ir: &Ir, registry: &Registry, root: Op) -> Vec<Diagnostic> {
    let mut v =
        Verifier { ir, registry, diagnostics: Vec::new(), infos: FxHashMap::default(), symbol_users: Vec::new() };
    v.structure(root);
    v.symbols();
    v.dominance(root);
    v.diagnostics
}

struct Verifier<'a> {
    ir: &'a Ir,
    registry: &'a Registry,
    diagnostics: Vec<Diagnostic>,
    infos: FxHashMap<Name, Option<&'a OpInfo>>,
    /// Ops that refer to symbols, each with the nearest symbol table around it.
    symbol_users: Vec<(Op, Op)>,
}

impl<'a> Verifier<'a> {
    fn info(&mut self, op: Op) -> Option<&'a OpInfo> {
        let (registry, ir) = (self.registry, self.ir);
        *self.infos.entry(ir.op(op).name).or_insert_with(|| registry.op(ir.op_name(op)))
    }

    fn error(&mut self, op: Op, message: impl std::fmt::Display) {
        let d = Diagnostic::error(self.ir.place(self.ir.op(op).loc), format!("'{}': {message}", self.ir.op_name(op)));
        self.diagnostics.push(d);
    }

    // ---- structure ----

    fn structure(&mut self, root: Op) {
        let mut work: Vec<(Op, Option<Op>)> = vec![(root, None)];
        while let Some((op, table)) = work.pop() {
            let info = self.info(op);
            self.one(op, info);
            if info.is_some_and(|i| !i.symbol_uses.is_empty())
                && let Some(table) = table
            {
                self.symbol_users.push((op, table));
            }
            let is_table = info.is_some_and(|i| i.symbol_table);
            if is_table {
                self.unique_symbols(op);
            }
            // An op of which nothing is known may be a symbol table: what its region refers to is not looked for.
            let inner = if is_table { Some(op) } else { info.and(table) };
            let at = work.len();
            for i in 0..self.ir.regions_of(op).len() {
                let region = self.ir.regions_of(op)[i];
                self.region(op, info, region);
                for &block in self.ir.blocks_of(region) {
                    work.extend(self.ir.block_ops(block).map(|o| (o, inner)));
                }
            }
            work[at..].reverse();
        }
    }

    fn one(&mut self, op: Op, info: Option<&'a OpInfo>) {
        if !self.ir.successors(op).is_empty() {
            if self.ir.next_op(op).is_some() {
                self.error(op, "an operation with successors ends its block");
            }
            let region = self.ir.parent_block(op).and_then(|b| self.ir.block_region(b));
            for i in 0..self.ir.successors(op).len() {
                let s = self.ir.successors(op)[i];
                if self.ir.block_region(s) != region {
                    self.error(op, "a successor is a block of another region");
                }
            }
        }
        let Some(info) = info else { return };
        if info.terminator && self.ir.parent_block(op).is_some() && self.ir.next_op(op).is_some() {
            self.error(op, "an operation that ends a block is followed by others");
        }
    }

    fn region(&mut self, op: Op, info: Option<&'a OpInfo>, region: Region) {
        let blocks = self.ir.blocks_of(region);
        let Some(info) = info else { return };
        if info.single_block && blocks.len() > 1 {
            self.error(op, format!("has a region of one block at most, not of {}", blocks.len()));
        }
        if info.no_terminator {
            return;
        }
        for &block in blocks {
            self.terminator(op, block);
        }
    }

    /// In the regions of a known op a block ends with what may end it: unknown ops get the benefit of the doubt.
    fn terminator(&mut self, op: Op, block: Block) {
        let Some(last) = self.ir.last_op(block) else {
            self.error(op, "a block of its region is empty; it needs an operation that ends it");
            return;
        };
        let known = self.info(last);
        if known.is_some_and(|i| !i.terminator) && self.ir.successors(last).is_empty() {
            self.error(last, "ends a block, but is not an operation that may; a return or branch is missing after it");
        }
    }

    // ---- symbols ----

    fn unique_symbols(&mut self, table: Op) {
        let mut seen: FxHashMap<Attr, Op> = FxHashMap::default();
        for &region in self.ir.regions_of(table) {
            for &block in self.ir.blocks_of(region) {
                for op in self.ir.block_ops(block) {
                    let Some(name) = self.ir.attr_of(op, "sym_name") else { continue };
                    if let Some(first) = seen.get(&name) {
                        let text = self.ir.as_str(name).unwrap_or("");
                        let d = Diagnostic::error(
                            self.ir.place(self.ir.op(op).loc),
                            format!("redefinition of symbol '@{text}'"),
                        );
                        self.diagnostics.push(d.note(self.ir.place(self.ir.op(*first).loc), "it was defined here"));
                    } else {
                        seen.insert(name, op);
                    }
                }
            }
        }
    }

    /// A known op that refers to a symbol refers to one that exists. Symbols are looked for in the symbol tables around the op.
    fn symbols(&mut self) {
        let mut tables: FxHashMap<Op, FxHashMap<Box<str>, Op>> = FxHashMap::default();
        for (op, table) in std::mem::take(&mut self.symbol_users) {
            let uses = self.info(op).map_or(&[][..], |i| &i.symbol_uses);
            let mut missing: Vec<String> = Vec::new();
            for attr in uses.iter().filter_map(|key| self.ir.attr_of(op, key)) {
                symbols_of(self.ir, attr, &mut |root, nested| {
                    let mut around = Some(table);
                    let found = loop {
                        let Some(t) = around else { break false };
                        if self.find(&mut tables, t, root, nested) {
                            break true;
                        }
                        around = self.outer_table(t);
                    };
                    if !found {
                        let names: Vec<&str> =
                            std::iter::once(root).chain(nested.iter().copied()).map(|n| self.ir.text(n)).collect();
                        missing.push(format!("@{}", names.join("::@")));
                    }
                });
            }
            for m in missing {
                self.error(op, format!("no symbol '{m}' is defined"));
            }
        }
    }

    fn outer_table(&self, table: Op) -> Option<Op> {
        std::iter::successors(self.ir.parent_op(table), |&o| self.ir.parent_op(o))
            .find(|&o| self.registry.op(self.ir.op_name(o)).is_some_and(|i| i.symbol_table))
    }

    fn find(
        &self,
        tables: &mut FxHashMap<Op, FxHashMap<Box<str>, Op>>,
        table: Op,
        root: Name,
        nested: &[Name],
    ) -> bool {
        let mut current = table;
        for (i, &name) in std::iter::once(&root).chain(nested).enumerate() {
            let map = tables.entry(current).or_insert_with(|| {
                let mut map = FxHashMap::default();
                for &region in self.ir.regions_of(current) {
                    for &block in self.ir.blocks_of(region) {
                        for op in self.ir.block_ops(block) {
                            if let Some(n) = self.ir.symbol_name(op) {
                                map.insert(n.into(), op);
                            }
                        }
                    }
                }
                map
            });
            match map.get(self.ir.text(name)) {
                // An unknown op may hold symbols in a way that is not known.
                Some(&op) if i < nested.len() && self.registry.op(self.ir.op_name(op)).is_none() => return true,
                Some(&op) => current = op,
                None => return false,
            }
        }
        true
    }

    // ---- dominance ----

    /// Goes over all ops with the path of regions around them at hand, so that a use finds the definition's region in one step.
    fn dominance(&mut self, root: Op) {
        let ir = self.ir;
        let mut walk = Walk {
            path: Vec::new(),
            depth: FxHashMap::default(),
            position: vec![0; ir.ops.len()],
            trees: FxHashMap::default(),
            outside: FxHashSet::default(),
        };
        let mut around = Some(root);
        while let Some(op) = around {
            walk.outside.extend(ir.parent_block(op).and_then(|b| ir.block_region(b)));
            around = ir.parent_op(op);
        }
        let mut steps: Vec<Step> = ir.regions_of(root).iter().rev().map(|&r| Step::Enter(r, root)).collect();
        while let Some(step) = steps.pop() {
            match step {
                Step::Enter(region, owner) => {
                    let blocks = ir.blocks_of(region);
                    let Some(&first) = blocks.first() else { continue };
                    let info = self.info(owner);
                    let depth = walk.path.len() as u32;
                    let around = walk.path.last().map_or(0, |l: &Level| l.isolated);
                    // The root's own surroundings are not looked at.
                    let isolated = if info.is_some_and(|i| i.isolated) && depth > 0 { depth } else { around };
                    let ordered = info.is_some_and(|i| !i.graph_region);
                    walk.path.push(Level { region, op: None, block: first, isolated, ordered, owner });
                    walk.depth.insert(region, depth);
                    for &block in blocks {
                        for (i, op) in ir.block_ops(block).enumerate() {
                            walk.position[op.index()] = i as u32;
                        }
                    }
                    steps.push(Step::Leave);
                    steps.extend(blocks.iter().rev().map(|&b| Step::Ops(ir.first_op(b))));
                }
                Step::Leave => {
                    if let Some(level) = walk.path.pop() {
                        walk.depth.remove(&level.region);
                    }
                }
                Step::Ops(first) => {
                    let mut next = first;
                    while let Some(op) = next {
                        next = ir.next_op(op);
                        if let (Some(level), Some(block)) = (walk.path.last_mut(), ir.parent_block(op)) {
                            level.op = Some(op);
                            level.block = block;
                        }
                        for (i, value) in ir.operands(op).enumerate() {
                            if let Some(problem) = walk.problem(ir, value) {
                                self.use_error(op, i, value, problem);
                            }
                        }
                        if !ir.regions_of(op).is_empty() {
                            steps.push(Step::Ops(next));
                            steps.extend(ir.regions_of(op).iter().rev().map(|&r| Step::Enter(r, op)));
                            break;
                        }
                    }
                }
            }
        }
    }

    fn use_error(&mut self, op: Op, i: usize, value: Value, problem: Problem) {
        let ir = self.ir;
        let name = ir.value_name(value).map_or(format!("operand {i}"), |n| format!("operand {i}, '%{n}',"));
        let message = match problem {
            Problem::Later => format!("{name} does not dominate this use: it is defined later or on another path"),
            Problem::Inside => {
                format!("{name} does not dominate this use: it is defined in a region that this operation is not in")
            }
            Problem::Isolated(around) => {
                format!("{name} is defined outside of '{}', whose regions see nothing from outside", ir.op_name(around))
            }
        };
        let mut d = Diagnostic::error(ir.place(ir.op(op).loc), format!("'{}': {message}", ir.op_name(op)));
        if let Def::Result(def, _) = ir.def(value) {
            d = d.note(ir.place(ir.op(def).loc), "it is defined here");
        }
        self.diagnostics.push(d);
    }
}

enum Problem {
    /// Defined later, or on another path.
    Later,
    /// Defined in a region that does not hold the use.
    Inside,
    /// Defined outside of this isolated op.
    Isolated(Op),
}

enum Step {
    Enter(Region, Op),
    Leave,
    Ops(Option<Op>),
}

/// A region around the op that is looked at.
struct Level {
    region: Region,
    /// The op in this region that the walk is at, or inside of.
    op: Option<Op>,
    block: Block,
    /// The number of the innermost level, up to this one, that belongs to an isolated op.
    isolated: u32,
    /// Whether the order of ops counts.
    ordered: bool,
    owner: Op,
}

struct Walk {
    path: Vec<Level>,
    /// The numbers of the levels of the path.
    depth: FxHashMap<Region, u32>,
    /// Place of each op in its block.
    position: Vec<u32>,
    trees: FxHashMap<Region, Dominance>,
    /// The regions around the root.
    outside: FxHashSet<Region>,
}

impl Walk {
    /// What is wrong with a use by the op that the walk is at.
    fn problem(&mut self, ir: &Ir, value: Value) -> Option<Problem> {
        let def_block = ir.def_block(value)?;
        let def_region = ir.block_region(def_block)?;
        let innermost = self.path.last()?;
        let k = if innermost.region == def_region {
            self.path.len() - 1
        } else {
            match self.depth.get(&def_region) {
                Some(&k) => k as usize,
                None => return (!self.outside.contains(&def_region)).then_some(Problem::Inside),
            }
        };
        if (k as u32) < innermost.isolated {
            return Some(Problem::Isolated(self.path[innermost.isolated as usize].owner));
        }
        let level = &self.path[k];
        // In a graph region, and in one of which nothing is known, the order says nothing.
        if !level.ordered {
            return None;
        }
        let single = ir.blocks_of(def_region).len() == 1;
        if level.block != def_block {
            let tree = self.trees.entry(def_region).or_insert_with(|| Dominance::new(ir, def_region));
            return (!tree.dominates(def_block, level.block)).then_some(Problem::Later);
        }
        let (Def::Result(def, _), Some(at)) = (ir.def(value), level.op) else { return None };
        // A use inside the op that defines the value is before its definition too.
        if self.position[def.index()] < self.position[at.index()] {
            return None;
        }
        let reachable = single
            || self.trees.entry(def_region).or_insert_with(|| Dominance::new(ir, def_region)).is_reachable(def_block);
        reachable.then_some(Problem::Later)
    }
}

/// Calls `f` for every symbol reference in an attribute.
fn symbols_of(ir: &Ir, attr: Attr, f: &mut dyn FnMut(Name, &[Name])) {
    let mut work = vec![attr];
    let mut seen: FxHashSet<Attr> = FxHashSet::default();
    while let Some(attr) = work.pop() {
        if !seen.insert(attr) {
            continue;
        }
        match ir.attr(attr) {
            AttrData::Symbol { root, nested } => f(*root, nested),
            AttrData::Array(items) => work.extend_from_slice(items),
            AttrData::Dict(d) => work.extend(ir.dict(*d).iter().map(|e| e.1)),
            _ => {}
        }
    }
}
