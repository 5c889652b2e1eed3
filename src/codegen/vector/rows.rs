//! Rows: where two axes of a kernel have a tile, the points of one are lanes of a vector and those of the other are rows, a vector each.
//!
//! A product of matrices keeps a block of sums in registers in this way: of `acc[m, n] += a[m, k] * b[k, n]` each step of `k` reads the lanes of `b`
//! once for all rows, and one element of `a` for each. What does not differ from row to row is emitted once. Between walks the rows are emitted one
//! after the other, so that what is computed of one sum needs registers for one row.

use crate::dialects::kernels;
use rinductor_scalar::DType;
use rinductor_support::Diagnostic;

use super::axes::{LoopBody, Range};
use super::build::{Build, IntPredicate, Math, V};
use super::emit::Emitter;
use crate::codegen::combiner::Combiner;
use crate::ir::{Block, Op, Value};

impl<'a, B: Build> Emitter<'a, B> {
    /// Under which key what was emitted for a value is kept: its own row's, if it differs from row to row.
    pub fn key(&self, value: Value) -> (Value, u32) {
        (value, if self.rows > 1 && self.differs_by_row(value) { self.row } else { 0 })
    }

    /// Whether a value differs from row to row.
    pub fn differs_by_row(&self, value: Value) -> bool {
        let Some(axis) = self.kernel.row_axis() else { return false };
        self.ir.shape(self.ir.value_type(value)).is_some_and(|s| s.get(axis).is_some_and(|&n| n > 1))
    }

    /// Whether an op must be emitted for each row.
    fn is_by_row(&self, op: Op) -> bool {
        self.ir.results(op).any(|v| self.differs_by_row(v)) || self.ir.operands(op).any(|v| self.differs_by_row(v))
    }

    /// Emits ops for all rows of the step.
    pub fn emit_in_rows(&mut self, mut ops: &[Op]) -> Result<(), Diagnostic> {
        let is_walk = |e: &Self, op: Op| matches!(e.ir.op_name(op), kernels::ReduceOp::NAME | kernels::ForOp::NAME);
        while !ops.is_empty() {
            let n = ops.iter().position(|&op| is_walk(self, op)).unwrap_or(ops.len());
            let (straight, rest) = ops.split_at(n);
            for row in 0..self.rows {
                self.row = row;
                for &op in straight.iter().filter(|&&op| row == 0 || self.is_by_row(op)).collect::<Vec<_>>() {
                    self.emit_op(op)?;
                }
            }
            self.row = 0;
            ops = rest;
            if let Some((&walk, rest)) = ops.split_first() {
                self.emit_op(walk)?;
                ops = rest;
            }
        }
        Ok(())
    }

    /// The factors of a yielded value that is to be added by a fused multiply-add: in a kernel with rows, a product of floats that is used for nothing
    /// else. Eager's products of matrices are computed so as well.
    pub fn product_of_sum(&self, body: Block, combiner: (Combiner, DType), yielded: Value) -> Option<Op> {
        let float = matches!(combiner.1, DType::F32 | DType::F64);
        if self.kernel.row_axis().is_none() || combiner.0 != Combiner::Add || !float || !self.b.machine().fma {
            return None;
        }
        let op = self.ir.def_op(yielded).filter(|&op| self.ir.is_op(op, "arith.mulf"))?;
        (self.ir.parent_block(op) == Some(body) && self.ir.uses(yielded).count() == 1).then_some(op)
    }

    /// Runs `f` with so many rows.
    pub fn with_rows<R>(&mut self, rows: u32, f: impl FnOnce(&mut Self) -> R) -> R {
        let saved = (self.rows, self.row);
        (self.rows, self.row) = (rows, 0);
        let r = f(self);
        (self.rows, self.row) = saved;
        r
    }

    /// Steps `first` to `stop`, in points, of the row axis: full ones, then what is left, by as many rows as there are, or, if that depends on symbols, in
    /// parts of a power of two of rows.
    pub fn row_steps(
        &mut self,
        axis: usize,
        first: V<B>,
        stop: V<B>,
        body: &mut LoopBody<'_, 'a, B>,
    ) -> Result<(), Diagnostic> {
        let b = self.b;
        let (tile, extent) = (self.kernel.axes[axis].tile, self.kernel.axes[axis].extent);
        let t = self.exprs.int(tile.into());
        let (full, rest) = (self.exprs.floordiv(extent, t), self.exprs.modulo(extent, t));
        let full = self.exprs.mul(full, t);
        let rest = self.exprs.as_int(rest);
        let end = self.lower(extent);
        let full = self.lower(full);
        let whole = if rest == Some(0) { stop } else { b.math(Math::SMin, &[stop, full]) };
        let range = Range { axis, first, end: whole, step: tile.into(), reverse: false, runs: true };
        self.counted_loop(range, Vec::new(), &mut |e, c| e.with_rows(tile, |e| body(e, c)))?;
        match rest {
            Some(0) => {}
            Some(rows) => {
                let rows = rows as u32;
                self.one_step(axis, full, stop, true, Vec::new(), &mut |e, c| e.with_rows(rows, |e| body(e, c)))?;
            }
            None => {
                let last = b.math(Math::SMin, &[stop, end]);
                let mut at = full;
                let mut part = (tile.next_power_of_two() / 2).max(1);
                while part > 0 {
                    let next = b.iadd(at, b.i64(part.into()));
                    // Where there are fewer points left than the part has, its end is put before its start.
                    let fits = b.icmp(IntPredicate::SLE, next, last);
                    let until = b.select(fits, next, at);
                    self.one_step(axis, at, until, true, Vec::new(), &mut |e, c| e.with_rows(part, |e| body(e, c)))?;
                    at = until;
                    part /= 2;
                }
            }
        }
        Ok(())
    }
}
