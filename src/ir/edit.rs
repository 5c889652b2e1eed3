//! Changing the IR: placing, moving, erasing and cloning ops; replacing values.

use super::{ARG_BIT, Block, InsertPoint, Ir, Op, OpSpec, Region, Slice, Use, Value};
use rinductor_support::{EntityId, FxHashMap};

/// Which value stands for which in a copy.
pub type ValueMap = FxHashMap<Value, Value>;

impl Ir {
    /// Puts a detached op at a place.
    pub fn insert(&mut self, op: Op, at: InsertPoint) {
        debug_assert!(self.ops[op].parent.is_none(), "{op:?} stands in a block already");
        let (block, prev, next) = match at {
            InsertPoint::Before(o) => (self.ops[o].parent, self.ops[o].prev, Some(o)),
            InsertPoint::After(o) => (self.ops[o].parent, Some(o), self.ops[o].next),
            InsertPoint::Start(b) => (Some(b), None, self.blocks[b].first),
            InsertPoint::End(b) => (Some(b), self.blocks[b].last, None),
        };
        let block = block.expect("an op to insert beside stands in a block");
        let data = &mut self.ops[op];
        (data.parent, data.prev, data.next) = (Some(block), prev, next);
        match prev {
            Some(p) => self.ops[p].next = Some(op),
            None => self.blocks[block].first = Some(op),
        }
        match next {
            Some(n) => {
                self.ops[n].prev = Some(op);
                self.blocks[block].ordered = false;
            }
            None => {
                // An op added at the end keeps the numbering valid: parsers and builders append.
                self.blocks[block].last = Some(op);
                let order = prev.map_or(0, |p| self.ops[p].order + 1);
                if prev.is_none() {
                    self.blocks[block].ordered = true;
                }
                self.ops[op].order = order;
            }
        }
    }

    /// Takes an op out of its block; it can be inserted again.
    pub fn detach(&mut self, op: Op) {
        let (parent, prev, next) = {
            let d = &mut self.ops[op];
            (d.parent.take(), d.prev.take(), d.next.take())
        };
        let Some(block) = parent else { return };
        match prev {
            Some(p) => self.ops[p].next = next,
            None => self.blocks[block].first = next,
        }
        match next {
            Some(n) => self.ops[n].prev = prev,
            None => self.blocks[block].last = prev,
        }
    }

    /// Moves an op.
    pub fn move_op(&mut self, op: Op, to: InsertPoint) {
        if to == InsertPoint::Before(op) || to == InsertPoint::After(op) {
            return;
        }
        self.detach(op);
        self.insert(op, to);
    }

    /// Whether `a` stands before `b` in their common block.
    pub fn is_before(&mut self, a: Op, b: Op) -> bool {
        let block = self.ops[a].parent.expect("an op whose place is asked for stands in a block");
        debug_assert_eq!(self.ops[b].parent, Some(block));
        if !self.blocks[block].ordered {
            let mut next = self.blocks[block].first;
            let mut order = 0;
            while let Some(op) = next {
                self.ops[op].order = order;
                order += 1;
                next = self.ops[op].next;
            }
            self.blocks[block].ordered = true;
        }
        self.ops[a].order < self.ops[b].order
    }

    /// Erases an op with its regions. Its results must be unused (checked in debug builds), but for uses inside what is erased.
    pub fn erase(&mut self, op: Op) {
        self.detach(op);
        // Nested ops first lose their operands, so that uses among them do not matter; then all die. A work list, since nesting may be deep.
        let mut list = vec![op];
        let mut i = 0;
        while i < list.len() {
            let current = list[i];
            i += 1;
            self.drop_operands(current);
            for r in self.regions_of(current).to_vec() {
                for b in self.blocks_of(r).to_vec() {
                    list.extend(self.block_op_list(b));
                }
            }
        }
        for &dead in &list {
            debug_assert!(
                self.results(dead).all(|v| self.is_unused(v)),
                "{} is erased while its result is used",
                self.op_name(dead)
            );
        }
        for dead in list {
            self.ops[dead].dead = true;
        }
    }

    /// Removes an empty or dead block from its region: its ops are erased.
    pub fn erase_block(&mut self, block: Block) {
        for op in self.block_op_list(block).into_iter().rev() {
            self.drop_operands(op);
        }
        for op in self.block_op_list(block).into_iter().rev() {
            self.erase(op);
        }
        if let Some(region) = self.blocks[block].parent.take() {
            self.regions[region].blocks.retain(|b| *b != block);
        }
    }

    fn unlink_use(&mut self, u: Use) {
        let (value, prev, next) = {
            let d = &mut self.uses[u];
            (d.value, d.prev.take(), d.next.take())
        };
        match prev {
            Some(p) => self.uses[p].next = next,
            None => self.values[value].first_use = next,
        }
        if let Some(n) = next {
            self.uses[n].prev = prev;
        }
    }

    fn drop_operands(&mut self, op: Op) {
        for i in self.ops[op].operands.range() {
            self.unlink_use(Use::from_index(i));
        }
        self.ops[op].operands.len = 0;
    }

    /// Sets operand `i`.
    pub fn set_operand(&mut self, op: Op, i: usize, value: Value) {
        let u = self.operand_use(op, i);
        self.unlink_use(u);
        let next = self.values[value].first_use;
        let data = &mut self.uses[u];
        (data.value, data.next) = (value, next);
        if let Some(n) = next {
            self.uses[n].prev = Some(u);
        }
        self.values[value].first_use = Some(u);
    }

    /// Replaces the whole operand list (the caller keeps `operandSegmentSizes` right).
    pub fn set_operands(&mut self, op: Op, operands: &[Value]) {
        if operands.len() == self.num_operands(op) {
            for (i, &v) in operands.iter().enumerate() {
                self.set_operand(op, i, v);
            }
            return;
        }
        self.drop_operands(op);
        self.ops[op].operands = Slice { start: self.uses.len() as u32, len: operands.len() as u32 };
        for &v in operands {
            self.add_use(v, op);
        }
    }

    /// Puts `to` wherever `from` is used.
    pub fn replace_all_uses(&mut self, from: Value, to: Value) {
        if from == to {
            return;
        }
        while let Some(u) = self.values[from].first_use {
            let owner = self.uses[u].owner;
            let i = u.index() - self.ops[owner].operands.start as usize;
            self.set_operand(owner, i, to);
        }
    }

    /// Puts `values` in place of the results of an op, and erases it. A value without a name takes the name of the result it replaces.
    pub fn replace_op(&mut self, op: Op, values: &[Value]) {
        for (i, &to) in values.iter().enumerate() {
            let from = self.result(op, i);
            if self.values[to].name.is_none() {
                self.copy_value_name(from, to);
            }
            self.replace_all_uses(from, to);
        }
        self.erase(op);
    }

    /// Renames an op.
    pub fn rename_op(&mut self, op: Op, name: &str) {
        self.ops[op].name = self.names.intern(name);
    }

    /// Removes argument `i` of a block; it must be unused.
    pub fn remove_block_arg(&mut self, block: Block, i: usize) {
        let arg = self.blocks[block].args.remove(i);
        debug_assert!(self.is_unused(arg), "a removed block argument is used");
        for (k, &a) in self.blocks[block].args.clone().iter().enumerate().skip(i) {
            self.values[a].index = k as u32 | ARG_BIT;
        }
    }

    /// Moves all blocks of a region to the end of another.
    pub fn take_blocks(&mut self, from: Region, to: Region) {
        let blocks = std::mem::take(&mut self.regions[from].blocks);
        for &b in &blocks {
            self.blocks[b].parent = Some(to);
        }
        self.regions[to].blocks.extend(blocks);
    }

    /// Copies an op with its regions to a place. Operands are taken through `map` (a value that is not in it stays), and the copies'
    /// results and block arguments are added to it. Names are kept.
    pub fn clone_op(&mut self, op: Op, map: &mut ValueMap, at: InsertPoint) -> Op {
        // Successor blocks are mapped when they are inside what is copied.
        let mut blocks = FxHashMap::default();
        let copy = self.clone_shell(op, map);
        self.insert(copy, at);
        let mut work = vec![(op, copy)];
        let mut pairs = vec![(op, copy)];
        while let Some((old, new)) = work.pop() {
            let (old_regions, new_regions) = (self.regions_of(old).to_vec(), self.regions_of(new).to_vec());
            for (ro, rn) in old_regions.into_iter().zip(new_regions) {
                for bo in self.blocks_of(ro).to_vec() {
                    let bn = self.add_block(rn);
                    self.blocks[bn].name = self.blocks[bo].name;
                    blocks.insert(bo, bn);
                    for arg in self.block_args(bo).to_vec() {
                        let new_arg = self.add_block_arg(bn, self.value_type(arg));
                        self.copy_value_name(arg, new_arg);
                        map.insert(arg, new_arg);
                    }
                    for o in self.block_op_list(bo) {
                        let n = self.clone_shell(o, map);
                        self.insert(n, InsertPoint::End(bn));
                        work.push((o, n));
                        pairs.push((o, n));
                    }
                }
            }
        }
        // Uses that were met before their definition (graph regions, loops between blocks).
        for &(_, new) in &pairs {
            for i in 0..self.num_operands(new) {
                let v = self.operand(new, i);
                if let Some(&m) = map.get(&v) {
                    self.set_operand(new, i, m);
                }
            }
            for i in self.ops[new].successors.range() {
                if let Some(&b) = blocks.get(&self.successor_lists[i]) {
                    self.successor_lists[i] = b;
                }
            }
        }
        copy
    }

    fn clone_shell(&mut self, op: Op, map: &mut ValueMap) -> Op {
        let d = self.op(op).clone();
        let spec = OpSpec {
            name: d.name,
            operands: self.operands(op).map(|v| map.get(&v).copied().unwrap_or(v)).collect(),
            results: self.results(op).map(|v| self.value_type(v)).collect(),
            props: d.props,
            attrs: d.attrs,
            regions: d.regions.len as usize,
            successors: self.successors(op).iter().copied().collect(),
            loc: d.loc,
        };
        let copy = self.create_detached(spec);
        for i in 0..self.num_results(op) {
            let (from, to) = (self.result(op, i), self.result(copy, i));
            self.copy_value_name(from, to);
            map.insert(from, to);
        }
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Loc;

    #[test]
    fn replacing_and_erasing_keeps_the_use_lists_right() {
        let mut ir = Ir::with_module();
        let body = ir.module_body();
        let i32 = ir.int_type(32);
        let end = InsertPoint::End(body);
        let a = ir.create_value("t.a", &[], i32, &[], Loc::Unknown, end);
        let b = ir.create_value("t.b", &[a, a], i32, &[], Loc::Unknown, end);
        let c = ir.create_value("t.c", &[b, a], i32, &[], Loc::Unknown, end);
        assert_eq!(ir.uses(a).count(), 3);
        ir.replace_all_uses(b, a);
        assert_eq!((ir.uses(a).count(), ir.is_unused(b)), (4, true));
        let b_op = ir.def_op(b).unwrap();
        ir.erase(b_op);
        assert_eq!(ir.uses(a).count(), 2);
        let (a_op, c_op) = (ir.def_op(a).unwrap(), ir.def_op(c).unwrap());
        assert!(ir.is_before(a_op, c_op) && !ir.is_before(c_op, a_op));
        ir.set_operands(c_op, &[a]);
        assert_eq!((ir.uses(a).count(), ir.num_operands(c_op)), (1, 1));
        let mut map = ValueMap::default();
        let copy = ir.clone_op(c_op, &mut map, InsertPoint::Start(body));
        assert_eq!(ir.operand(copy, 0), a);
        assert!(ir.is_before(copy, a_op));
    }
}
