//! Buffers that take the memory of others that are used no more: what torch's allocator would give back and forth stays where it is.

use super::external;
use super::module::Host;
use crate::codegen::kernel::BufferLayout;
use crate::dialects::{func, kernels};
use crate::ir::{Op, Value};
use rinductor_support::{FxHashMap, FxHashSet};

/// How many ops further on a buffer is looked for that can take the memory of one that is free: it is not kept for longer.
const AHEAD: usize = 40;

/// What takes whose memory.
#[derive(Default)]
pub(super) struct Reuse {
    /// The first op that needs each buffer.
    first: FxHashMap<Value, usize>,
    /// Buffers whose memory nothing else refers to.
    own: FxHashSet<Value>,
    /// For a buffer the one whose memory it takes.
    takes: FxHashMap<Value, Value>,
    /// Buffers that are kept for others.
    kept: FxHashSet<Value>,
}

impl Host<'_> {
    /// Looks at the ops of the function.
    pub(super) fn plan_reuse(&mut self, ops: &[Op]) {
        let mut reuse = Reuse::default();
        let mut shared: FxHashSet<Value> = FxHashSet::default();
        for (k, &op) in ops.iter().enumerate() {
            let plain = match self.ir.op_name(op) {
                kernels::LaunchOp::NAME | kernels::ViewOp::NAME | kernels::SizeOp::NAME | kernels::CopyOp::NAME => true,
                kernels::ExternOp::NAME => external::makes_memory(kernels::ExternOp(op).callee(&self.ir)),
                kernels::AllocOp::NAME => {
                    if kernels::AllocOp(op).arena(&self.ir).is_none() {
                        reuse.own.insert(self.ir.result(op, 0));
                    }
                    true
                }
                _ => false,
            };
            if self.ir.is_op(op, kernels::ViewOp::NAME) {
                continue;
            }
            for v in self.ir.operand_list(op) {
                let root = self.root(v);
                reuse.first.entry(root).or_insert(k);
                if !plain || self.ir.is_op(op, func::ReturnOp::NAME) {
                    shared.insert(root);
                }
            }
        }
        reuse.own.retain(|v| !shared.contains(v));
        self.reuse = reuse;
    }

    /// Of buffers that are used no more behind an op, those that are given back to torch.
    pub(super) fn given_back(&mut self, ops: &[Op], at: usize, dead: &[Value]) -> Vec<Value> {
        let mut back = Vec::new();
        for &v in dead {
            match self.taker(ops, at, v) {
                Some(taker) => {
                    self.reuse.takes.insert(taker, v);
                    self.reuse.kept.insert(v);
                }
                None => back.push(v),
            }
        }
        // What was kept for a buffer that has got other memory meanwhile.
        let missed: Vec<(Value, Value)> = self.reuse.takes.iter().map(|(&t, &v)| (t, v)).collect();
        for (taker, v) in missed {
            if self.reuse.first.get(&taker).is_some_and(|&k| k <= at) {
                self.reuse.takes.remove(&taker);
                back.push(v);
            }
        }
        back.sort();
        back
    }

    /// The next buffer that may take the memory of one.
    fn taker(&mut self, ops: &[Op], at: usize, v: Value) -> Option<Value> {
        if !self.reuse.own.contains(&v) || !self.vars.contains_key(&v) || self.is_waiting(v) {
            return None;
        }
        let layout = self.layout(v)?;
        for (k, &op) in ops.iter().enumerate().take(ops.len().min(at + AHEAD)).skip(at + 1) {
            if !self.ir.is_op(op, kernels::LaunchOp::NAME) || self.done.contains(&op) {
                continue;
            }
            for u in self.ir.operand_list(op) {
                let root = self.root(u);
                let free = self.reuse.first.get(&root) == Some(&k) && !self.reuse.takes.contains_key(&root);
                if !free || self.ir.def_op(root).is_none_or(|d| !self.ir.is_op(d, kernels::AllocOp::NAME)) {
                    continue;
                }
                if self.vars.contains_key(&root) && !self.is_waiting(root) {
                    continue;
                }
                if self.layout(root).is_some_and(|other| self.is_alike(&layout, &other)) {
                    return Some(root);
                }
            }
        }
        None
    }

    /// Whether two layouts are of as many elements of one type, without gaps.
    fn is_alike(&self, a: &BufferLayout, b: &BufferLayout) -> bool {
        let elements = |l: &BufferLayout| -> Option<(i64, i64)> {
            let (mut count, mut last) = (1i64, 0i64);
            for (&n, &stride) in l.sizes.iter().zip(&l.strides) {
                let (n, stride) = (self.ir.exprs.as_int(n)?, self.ir.exprs.as_int(stride)?);
                count = count.checked_mul(n)?;
                last = last.checked_add(n.checked_sub(1)?.checked_mul(stride)?)?;
            }
            Some((count, last + 1))
        };
        let zero = |l: &BufferLayout| self.ir.exprs.as_int(l.offset) == Some(0);
        let (Some(p), Some(q)) = (elements(a), elements(b)) else { return false };
        a.dtype == b.dtype && zero(a) && zero(b) && p == q && p.0 == p.1 && p.0 > 0
    }

    /// The lines that give a buffer the memory that is kept for it; None if none is.
    pub(super) fn taken(&mut self, v: Value) -> Option<Vec<String>> {
        let from = self.reuse.takes.remove(&v)?;
        let (old, new) = (self.vars.get(&from)?.clone(), self.vars.get(&v)?.clone());
        let (a, b) = (self.layout(from)?, self.layout(v)?);
        let made = if a.sizes == b.sizes && a.strides == b.strides {
            format!("{new} = {old}")
        } else {
            let (sizes, strides) = (self.tuple(&b.sizes), self.tuple(&b.strides));
            format!("{new} = reinterpret({old}, {sizes}, {strides})")
        };
        Some(vec![made, format!("del {old}")])
    }
}
