//! Transposes in registers: where the tiled axis is stepped outside another axis, whose neighbours lie side by side in memory that has a stride along the tile,
//! as many steps of that axis as there are lanes are taken together. What they read there is read along it and turned, and what they write is turned and
//! written along it, whole vectors either way instead of an element at a time.

use rinductor_index::{Atom, Expr};
use rinductor_support::{Diagnostic, FxHashMap};

use super::access::{Access, memory_type};
use super::build::{Binary, Build, IntPredicate, V};
use super::emit::{Emitter, LANE};
use super::index::Linear;
use crate::codegen::kernel::Arg;
use crate::dialects::kernels;
use crate::ir::Op;

/// Steps that are taken together.
pub(super) struct Turn<B: Build> {
    /// The axis that is stepped.
    axis: usize,
    /// Its position at the first step, and the level at which it is known.
    at: (V<B>, usize),
    /// Steps taken together: the lanes of the tile.
    lanes: u32,
    /// The step at hand.
    step: u32,
    /// What loads give at each step, as memory holds it.
    loads: FxHashMap<Op, Vec<V<B>>>,
    /// What stores are given at each step.
    stores: Vec<(Op, Access, Linear, Vec<V<B>>)>,
}

/// Ops of a body that may be emitted once for each lane.
const MOST_OPS: usize = 32;

impl<'a, B: Build> Emitter<'a, B> {
    /// The number of steps of `axis`, the innermost, to take together, if that may pay.
    fn turns(&self, axis: usize) -> Option<u32> {
        let tiled = self.kernel.tile_axis().filter(|&t| t != axis && self.axes[t].is_some())?;
        let lanes = self.kernel.axes[tiled].tile;
        let extent = self.exprs.as_int(self.kernel.axes[axis].extent)?;
        let ops = self.ir.block_op_list(self.kernel.body);
        let plain = |&op: &Op| self.ir.regions_of(op).is_empty() && !self.ir.is_op(op, kernels::PositionOp::NAME);
        let all = self.b.turns()
            && lanes.is_power_of_two()
            && (4..=16).contains(&lanes)
            && extent % i64::from(lanes) == 0
            && ops.len() <= MOST_OPS
            && ops.iter().all(plain);
        all.then_some(lanes)
    }

    /// Steps `first` to `stop` of the innermost axis, taken together where all of them can be; otherwise by `singly`.
    pub(super) fn steps_together(
        &mut self,
        axis: usize,
        (first, stop): (V<B>, V<B>),
        together: &mut dyn FnMut(&mut Self, u32) -> Result<(), Diagnostic>,
        singly: &mut dyn FnMut(&mut Self) -> Result<(), Diagnostic>,
    ) -> Result<(), Diagnostic> {
        let Some(lanes) = self.turns(axis) else { return singly(self) };
        let b = self.b;
        let tiled = self.kernel.tile_axis().expect("turning asks for a tiled axis");
        let (at, level) = self.axes[tiled].expect("the tiled axis is stepped outside");
        let low = b.i64(i64::from(lanes) - 1);
        let broken = b.binop(Binary::And, b.binop(Binary::Or, first, stop), low);
        let mut whole = b.icmp(IntPredicate::EQ, broken, b.i64(0));
        let extent = self.kernel.axes[tiled].extent;
        let t = self.exprs.int(lanes.into());
        let rest = self.exprs.modulo(extent, t);
        let divides = self.exprs.as_int(rest) == Some(0);
        if !divides {
            let end = self.lower(extent);
            whole = b.and(whole, b.icmp(IntPredicate::SLE, b.iadd(at, b.i64(lanes.into())), end));
        }
        let (open, enter) = b.open_full(whole);
        self.open_scope(Some(enter), true);
        self.full_level = if divides { 0 } else { self.level() };
        let done = self.with_lanes(tiled, lanes, false, |e| together(e, lanes));
        self.full_level = 0;
        self.close_scope();
        done?;
        b.otherwise(&open);
        self.open_scope(Some(enter), true);
        self.axes[tiled] = Some((at, level));
        let done = singly(self);
        self.close_scope();
        b.close_full(open);
        done
    }

    /// The steps of one group: the body for each, then what they store. The axis stands at the first of them.
    pub(super) fn turned_steps(&mut self, axis: usize, lanes: u32) -> Result<(), Diagnostic> {
        let b = self.b;
        let at = self.axes[axis].expect("the axis stands at the first step");
        self.turn = Some(Turn { axis, at, lanes, step: 0, loads: FxHashMap::default(), stores: Vec::new() });
        for step in 0..lanes {
            let here = b.iadd(at.0, b.i64(step.into()));
            let (open, enter) = b.open_step(&self.kernel.axes[axis].name, here, here, true, &[]);
            self.open_scope(Some(enter), true);
            self.axes[axis] = Some((here, self.level()));
            if let Some(turn) = &mut self.turn {
                turn.step = step;
            }
            self.emit_block(self.kernel.body)?;
            self.close_scope();
            b.close_step(open, &[]);
        }
        self.axes[axis] = Some(at);
        let stores = self.turn.take().map(|t| t.stores).unwrap_or_default();
        for (op, a, linear, rows) in stores {
            let rows = b.turned(&rows).ok_or_else(|| self.error(op, "the builder turns no such vectors"))?;
            let to = self.lane_addresses(&a, Some(linear));
            for (row, p) in rows.into_iter().zip(to) {
                b.store(row, p, a.dtype.size() as u32);
            }
        }
        Ok(())
    }

    /// What a load gives at this step, where steps are taken together and it can be read along them.
    pub(super) fn turned_load(&mut self, op: Op, a: &Access, linear: Option<Linear>) -> Option<V<B>> {
        let turn = self.turn.as_ref()?;
        let (step, lanes, axis, at) = (turn.step, turn.lanes, turn.axis, turn.at);
        if let Some(rows) = turn.loads.get(&op) {
            return Some(rows[step as usize]);
        }
        let linear = linear.filter(|_| step == 0 && !self.written[a.buffer])?;
        if !self.runs_along(a, linear, axis) {
            return None;
        }
        let b = self.b;
        let here = self.axes[axis].replace(at);
        let from = self.lane_addresses(a, Some(linear));
        let t = memory_type(b, a.dtype, lanes);
        let rows = self.at_level(at.1, |s| {
            let rows: Vec<V<B>> = from.iter().map(|&p| s.b.load(t, p, a.dtype.size() as u32)).collect();
            s.b.turned(&rows)
        });
        self.axes[axis] = here;
        let rows = rows?;
        let first = rows[0];
        self.turn.as_mut()?.loads.insert(op, rows);
        Some(first)
    }

    /// Whether a store of `v` is one of those that are written when all steps are there.
    pub(super) fn turned_store(&mut self, op: Op, a: &Access, linear: Option<Linear>, v: V<B>) -> bool {
        let Some(turn) = &mut self.turn else { return false };
        if let Some((.., rows)) = turn.stores.iter_mut().find(|s| s.0 == op) {
            rows.push(v);
            return true;
        }
        let (step, axis) = (turn.step, turn.axis);
        let alone = self.kernel.args.iter().any(|(value, arg)| {
            matches!(arg, Arg::Buffer(k, _) if *k == a.buffer) && self.ir.uses(*value).count() == 1
        });
        let Some(linear) = linear.filter(|_| step == 0 && alone) else { return false };
        if !self.runs_along(a, linear, axis) {
            return false;
        }
        if let Some(turn) = &mut self.turn {
            turn.stores.push((op, a.clone(), linear, vec![v]));
        }
        true
    }

    /// Whether an access that nothing guards has a stride along the lanes, and along the axis its places lie side by side.
    fn runs_along(&mut self, a: &Access, linear: Linear, axis: usize) -> bool {
        let dim = Atom::Dim(axis as u32);
        let (x, one) = (self.exprs.dim(axis as u32), self.exprs.int(1));
        let next = self.exprs.add(x, one);
        let moved = self.exprs.subst(linear.base, &[(dim, next)]);
        let step = self.exprs.sub(moved, linear.base);
        let strided =
            !matches!(self.exprs.as_int(linear.stride), Some(0 | 1)) && !self.exprs.contains(linear.stride, dim);
        let plain = |e: Expr| {
            self.exprs.atoms(e).all(|atom| matches!(atom, Atom::Sym(_)) || matches!(atom, Atom::Dim(d) if d < LANE))
        };
        a.guard.is_none() && strided && self.exprs.as_int(step) == Some(1) && plain(linear.base) && plain(linear.stride)
    }
}
