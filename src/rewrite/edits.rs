//! The IR while it is rewritten: every change notes which ops are to be looked at again.

use crate::dialects::infos::OpInfos;
use crate::ir::{InsertPoint, Ir, Op, OpSpec, Value};
use rinductor_support::{EntityId, FxHashSet};
use std::collections::VecDeque;

/// What tries to rewrite one op at a time.
pub trait Rewriter {
    /// Rewrites `op` if it can, through `edits`; true when it did.
    fn rewrite(&mut self, edits: &mut Edits<'_>, op: Op) -> bool;
}

/// The IR with the list of ops to look at.
pub struct Edits<'a> {
    /// The IR. What is changed past the methods below is not noticed; see [`Edits::changed`].
    pub ir: &'a mut Ir,
    /// Facts about ops.
    pub infos: &'a dyn OpInfos,
    work: VecDeque<Op>,
    queued: FxHashSet<usize>,
    erased: u64,
}

impl<'a> Edits<'a> {
    /// Everything below `root` is to be looked at, in the order of the text.
    pub fn new(ir: &'a mut Ir, root: Op, infos: &'a dyn OpInfos) -> Self {
        let work: VecDeque<Op> = ir.nested_ops(root).into();
        let queued = work.iter().map(|op| op.index()).collect();
        Self { ir, infos, work, queued, erased: 0 }
    }

    /// How many ops are waiting.
    pub fn waiting(&self) -> usize {
        self.work.len()
    }

    /// How many dead ops were erased.
    pub fn erased(&self) -> u64 {
        self.erased
    }

    /// The next op to look at. Ops without effects whose results nobody uses are erased on the way.
    pub fn next(&mut self) -> Option<Op> {
        while let Some(op) = self.work.pop_front() {
            self.queued.remove(&op.index());
            if self.ir.is_live(op) && !self.erase_if_dead(op) {
                return Some(op);
            }
        }
        None
    }

    /// Has an op looked at again.
    pub fn visit(&mut self, op: Op) {
        if self.queued.insert(op.index()) {
            self.work.push_back(op);
        }
    }

    /// Has the users of a value looked at again.
    pub fn visit_users(&mut self, value: Value) {
        for user in self.ir.users(value) {
            self.visit(user);
        }
    }

    /// Notes that an op was changed in place: it and its users are looked at again.
    pub fn changed(&mut self, op: Op) {
        self.visit(op);
        for r in self.ir.results(op) {
            self.visit_users(r);
        }
    }

    /// Makes an op.
    pub fn create(&mut self, spec: OpSpec, at: InsertPoint) -> Op {
        let op = self.ir.create(spec, at);
        self.visit(op);
        op
    }

    /// Puts values in place of an op's results, and erases it.
    pub fn replace(&mut self, op: Op, values: &[Value]) {
        let operands = self.ir.operand_list(op);
        for r in self.ir.results(op) {
            self.visit_users(r);
        }
        self.ir.replace_op(op, values);
        self.released(&operands);
    }

    /// Sets an operand; what defined the old one is looked at again.
    pub fn set_operand(&mut self, op: Op, i: usize, value: Value) {
        let old = self.ir.operand(op, i);
        self.ir.set_operand(op, i, value);
        self.released(&[old]);
        self.changed(op);
    }

    /// Replaces the operand list (the caller keeps `operandSegmentSizes` right).
    pub fn set_operands(&mut self, op: Op, operands: &[Value]) {
        let old = self.ir.operand_list(op);
        self.ir.set_operands(op, operands);
        self.released(&old);
        self.changed(op);
    }

    /// Values lost a use: what defines them may be dead, or have become simpler to match.
    fn released(&mut self, values: &[Value]) {
        for &v in values {
            if let Some(op) = self.ir.def_op(v)
                && self.ir.is_live(op)
            {
                self.visit(op);
            }
        }
    }

    /// Erases an op whose results nobody uses.
    pub fn erase(&mut self, op: Op) {
        let operands = self.ir.operand_list(op);
        self.ir.erase(op);
        self.released(&operands);
    }

    /// Erases an op without effects whose results nobody uses.
    pub fn erase_if_dead(&mut self, op: Op) -> bool {
        let unused = self.ir.results(op).all(|v| self.ir.is_unused(v));
        if !unused || self.ir.parent_block(op).is_none() {
            return false;
        }
        if self.infos.of(self.ir, op).terminator || !self.infos.is_pure(self.ir, op) {
            return false;
        }
        let mut used = Vec::new();
        self.ir.walk(op, &mut |inner| used.extend(self.ir.operands(inner)));
        self.ir.erase(op);
        self.erased += 1;
        self.released(&used);
        true
    }
}
