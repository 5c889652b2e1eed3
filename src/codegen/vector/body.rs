//! The ops of a kernel: each is emitted at the outermost level at which its operands are known.

use crate::dialects::kernels;
use rinductor_scalar::{DType, ScalarOp, from_ir};
use rinductor_support::Diagnostic;

use super::arith;
use super::axes::{LoopBody, Range};
use super::build::{Build, Convert, IntPredicate, Math, V};
use super::emit::{Emitter, LANE, is_supported};
use super::reduce::rounded;
use crate::codegen::combiner::Combiner;
use crate::codegen::literal;
use crate::ir::{Block, Op, Value};

/// How many steps of a sum are taken one after the other.
const RUN: i64 = 128;

/// The most lanes of a step that takes several.
const WIDEST: u32 = 1024;

/// A `kernels.reduce` or a `kernels.for`.
struct Walk {
    op: Op,
    axes: Vec<usize>,
    body: Block,
    /// The combiners with the element types of what they combine; none for `kernels.for`.
    combiners: Vec<(Combiner, DType)>,
    reverse: bool,
    /// Whether the tiled axis is walked.
    tiled: bool,
    /// How many steps of the tiled axis are taken at once.
    unroll: u32,
    /// How many rows are reduced side by side: for each there are carried values.
    rows: u32,
}

impl<'a, B: Build> Emitter<'a, B> {
    /// The ops of a block up to its terminator.
    pub fn emit_block(&mut self, block: Block) -> Result<(), Diagnostic> {
        let ops = self.ir.block_op_list(block);
        if self.rows > 1 {
            return self.emit_in_rows(&ops);
        }
        for op in ops {
            self.emit_op(op)?;
        }
        Ok(())
    }

    /// Whether all results of an op were emitted before, in a scope that is still open.
    fn is_done(&self, op: Op) -> bool {
        let results = self.ir.results(op);
        results.len() > 0
            && results.into_iter().all(|r| {
                let v = self.env.get(&self.key(r));
                v.is_some_and(|v| self.is_valid(v) && v.level < self.level() && self.b.lanes(v.v) == 1)
            })
    }

    /// Emits an op, for the current row.
    pub fn emit_op(&mut self, op: Op) -> Result<(), Diagnostic> {
        if self.fused.contains(&op) {
            return Ok(());
        }
        let name = self.ir.op_name(op);
        self.b.about(self.ir, op);
        match name {
            kernels::ReturnOp::NAME | kernels::YieldOp::NAME | kernels::LocalOp::NAME => return Ok(()),
            kernels::StoreOp::NAME => return self.emit_store(op),
            kernels::AtomicOp::NAME => return self.emit_atomic(op),
            kernels::ReduceOp::NAME | kernels::ForOp::NAME => return self.emit_walk(op),
            _ => {}
        }
        for r in self.ir.results(op) {
            let element = self.ir.element_type(self.ir.value_type(r));
            if !crate::codegen::kernel::dtype_of(self.ir, element).is_some_and(is_supported) {
                return Err(
                    self.error(op, format!("the {} back end has no values of the result's element type", B::NAME))
                );
            }
        }
        if self.is_done(op) {
            return Ok(());
        }
        match name {
            kernels::AxisOp::NAME => {
                let axis = self.kernel.axis(kernels::AxisOp(op).axis(self.ir));
                let axis = axis.ok_or_else(|| self.error(op, "no such axis"))?;
                if self.axes[axis].is_none() {
                    let name = &self.kernel.axes[axis].name;
                    return Err(self.error(op, format!("the reduce axis '{name}' is not walked here")));
                }
                let mut e = self.exprs.dim(axis as u32);
                if self.is_tiled(axis) {
                    let lane = self.exprs.dim(LANE);
                    e = self.exprs.add(e, lane);
                } else if self.row > 0 && self.kernel.row_axis() == Some(axis) {
                    let row = self.exprs.int(self.row.into());
                    e = self.exprs.add(e, row);
                }
                let key = self.key(self.ir.result(op, 0));
                self.index.insert(key, e);
                Ok(())
            }
            kernels::IndexOp::NAME => {
                let e = self.mapped(op, 0).and_then(|m| m.first().copied());
                let e = e.ok_or_else(|| self.error(op, "no index expression"))?;
                let key = self.key(self.ir.result(op, 0));
                self.index.insert(key, e);
                Ok(())
            }
            kernels::BroadcastOp::NAME => {
                let broadcast = kernels::BroadcastOp(op);
                let (from, result) = (broadcast.value(self.ir), broadcast.result(self.ir));
                if let Some(&e) = self.index.get(&self.key(from)) {
                    let key = self.key(result);
                    self.index.insert(key, e);
                    return Ok(());
                }
                let v = self.get(from);
                self.define(result, v.v, v.dtype, v.level);
                Ok(())
            }
            kernels::LoadOp::NAME => self.emit_load(op),
            kernels::PositionOp::NAME => self.emit_position(op),
            "arith.constant" => {
                let result = self.ir.result(op, 0);
                let dtype = self.dtype(result);
                let value = self.ir.attr_of(op, "value").and_then(|a| literal::splat(self.ir, a, dtype));
                let value = value.ok_or_else(|| self.error(op, "the constant must have one value in all lanes"))?;
                let t = self.held(dtype, 1);
                let v = match value {
                    literal::Number::Int(i) => self.b.int(t, i),
                    literal::Number::Float(x) => self.b.float(t, x),
                };
                self.define(result, v, dtype, 0);
                Ok(())
            }
            _ => self.emit_scalar(op),
        }
    }

    /// An op of the scalar vocabulary.
    fn emit_scalar(&mut self, op: Op) -> Result<(), Diagnostic> {
        let name = self.ir.op_name(op).to_string();
        if self.ir.num_results(op) != 1 || self.ir.num_operands(op) == 0 {
            return Err(self.error(op, "no op of a kernel"));
        }
        let (vals, level, lanes) = self.operands(op);
        let result = self.ir.result(op, 0);
        let to = self.dtype(result);
        let from = vals[0].dtype;
        let value_type = if name == "arith.select" { vals[1].dtype } else { from };
        let predicate = self.ir.attr_of(op, "predicate").and_then(|a| self.ir.as_int(a));
        let args: Vec<V<B>> = vals.iter().map(|v| v.v).collect();
        if !vals.iter().all(|v| is_supported(v.dtype)) {
            return Err(self.error(op, format!("the {} back end has no values of the operand's element type", B::NAME)));
        }
        let scalar_op = match from_ir(&name, None, value_type) {
            Some(ScalarOp::Bitcast) => None,
            op => op,
        };
        let v = self.at_level(level, |e| {
            let b = e.b;
            let args: Vec<V<B>> = args.iter().map(|&a| b.splat(a, lanes)).collect();
            match (name.as_str(), predicate) {
                ("arith.cmpf", Some(p)) => arith::compare_floats(b, p, args[0], args[1]),
                ("arith.cmpi", Some(p)) => arith::compare_ints(b, p, args[0], args[1]),
                _ => match scalar_op {
                    Some(s) => arith::scalar(b, s, value_type, &args),
                    None => arith::convert_by_name(b, &name, args[0], from, to),
                },
            }
        });
        let v = v.ok_or_else(|| self.error(op, format!("the {} back end has no such op on {value_type}", B::NAME)))?;
        self.define(result, v, to, level);
        Ok(())
    }

    /// `kernels.position`: an index from data, checked.
    fn emit_position(&mut self, op: Op) -> Result<(), Diagnostic> {
        let position = kernels::PositionOp(op);
        let bound = *position.bound(self.ir).first().ok_or_else(|| self.error(op, "no bound"))?;
        let wrap = position.wrap(self.ir);
        let value = self.get(position.value(self.ir));
        let guard = position.guard(self.ir).map(|g| self.get(g));
        let n = self.lower(bound);
        let varies = self.b.lanes(value.v) > 1 || guard.is_some_and(|g| self.b.lanes(g.v) > 1);
        let mut level = value.level.max(guard.map_or(0, |g| g.level)).max(self.expr_level(bound));
        if varies {
            level = level.max(self.lanes_level());
        }
        let level = level.max(self.lowest_safe_level());
        let number = self.checks.iter().position(|&o| o == op).unwrap_or(0);
        let mask = self.mask.filter(|_| varies).map(|m| m.0);
        let lanes = if varies { self.width } else { 1 };
        let v = self.at_level(level, |e| {
            let b = e.b;
            let unsigned = matches!(value.dtype, DType::U8 | DType::I1);
            let t = b.int_type(64, b.lanes(value.v));
            let op = if unsigned { Convert::ZExt } else { Convert::SExt };
            let raw = b.splat(b.cast(op, value.v, t), lanes);
            let n = b.splat(n, lanes);
            let zero = b.int(b.type_of(raw), 0);
            let at = if wrap { b.select(b.icmp(IntPredicate::SLT, raw, zero), b.add(raw, n), raw) } else { raw };
            let mut bad = b.icmp(IntPredicate::UGE, at, n);
            let active = match (guard, mask) {
                (None, None) => None,
                (Some(g), None) => Some(b.splat(g.v, lanes)),
                (None, Some(m)) => Some(m),
                (Some(g), Some(m)) => Some(b.and(b.splat(g.v, lanes), m)),
            };
            if let Some(a) = active {
                bad = b.and(bad, a);
            }
            b.fail_if(bad, e.reports, number as i64, raw, n);
            match active {
                Some(a) => e.b.select(a, at, zero),
                None => at,
            }
        });
        self.define(self.ir.result(op, 0), v, DType::Index, level);
        Ok(())
    }

    // ---- walks ----

    fn emit_walk(&mut self, op: Op) -> Result<(), Diagnostic> {
        let axes: Option<Vec<usize>> =
            kernels::walked_axes(self.ir, op).into_iter().map(|n| self.kernel.axis(n)).collect();
        let axes = axes.filter(|a| !a.is_empty()).ok_or_else(|| self.error(op, "walks no axis of the kernel"))?;
        let body = self.ir.body(op).ok_or_else(|| self.error(op, "the body must be one block"))?;
        let tiled = axes.iter().any(|&a| self.is_tiled(a));
        let yielded: Vec<Value> = self.ir.last_op(body).map(|y| self.ir.operand_list(y).to_vec()).unwrap_or_default();
        let mut walk = Walk { op, axes, body, combiners: Vec::new(), reverse: false, tiled, unroll: 1, rows: 1 };
        let mut carried = Vec::new();
        if let Some(reduce) = kernels::ReduceOp::cast(self.ir, op) {
            let mut at = 0;
            for name in reduce.combiners(self.ir) {
                let c = Combiner::parse(name).ok_or_else(|| self.error(op, format!("no combiner '{name}'")))?;
                let first = *yielded.get(at).ok_or_else(|| self.error(op, "too few values yielded"))?;
                walk.combiners.push((c, self.dtype(first)));
                at += c.takes();
            }
            let results: usize = walk.combiners.iter().map(|c| c.0.width()).sum();
            if results != self.ir.num_results(op) || at != yielded.len() {
                return Err(self.error(op, "the combiners do not fit the values yielded and the results"));
            }
            if self.ir.results(op).any(|r| self.differs_by_row(r)) {
                walk.rows = self.rows;
            }
            for (&c, &y) in walk.combiners.iter().zip(&yielded).filter(|(c, _)| c.0.takes() == 1) {
                self.fused.extend(self.product_of_sum(body, c, y));
            }
            walk.unroll = self.unroll(&walk);
            let lanes = self.kept_lanes(&walk);
            carried = self.identities(&walk, lanes);
        } else {
            if self.rows > 1 {
                return Err(self.error(op, "a kernel with rows has no such walk"));
            }
            walk.reverse = kernels::ForOp(op).reverse(self.ir);
            let args = self.ir.block_args(body).to_vec();
            if args.len() != self.ir.num_operands(op)
                || (self.ir.num_results(op) != 0 && self.ir.num_results(op) != args.len())
            {
                return Err(self.error(op, "carried values do not fit the operands and results"));
            }
            for (v, arg) in self.ir.operand_list(op).into_iter().zip(args) {
                let lanes = self.lanes_of_type(arg);
                let v = self.get(v).v;
                carried.push(self.b.splat(v, lanes));
            }
        }
        let kept = self.walk_axes(&walk, 0, carried)?;
        let level = self.level();
        if walk.combiners.is_empty() {
            for (r, v) in self.ir.results(op).zip(kept) {
                let dtype = self.dtype(r);
                self.define(r, v, dtype, level);
            }
            return Ok(());
        }
        let mut kept = &kept[..];
        for row in 0..walk.rows {
            self.row = row;
            let mut results = self.ir.results(op);
            for &(c, dtype) in &walk.combiners {
                let (mine, rest) = kept.split_at(c.width());
                kept = rest;
                let mine = if walk.tiled { c.across(self.b, dtype, mine) } else { mine.to_vec() };
                for (v, d) in mine.into_iter().zip(c.kept(dtype)) {
                    let r = results.next().expect("the number of results was compared");
                    let v = rounded(self.b, v, d);
                    self.define(r, v, d, level);
                }
            }
        }
        self.row = 0;
        Ok(())
    }

    /// What a reduction keeps before its first point, row by row.
    fn identities(&self, walk: &Walk, lanes: u32) -> Vec<V<B>> {
        let row = || walk.combiners.iter().flat_map(|&(c, d)| c.identity(self.b, d, lanes));
        (0..walk.rows).flat_map(|_| row()).collect()
    }

    /// Lanes of a value of a type that varies along the tiled axis, or 1.
    fn lanes_of_type(&self, v: Value) -> u32 {
        let axis = self.kernel.tile_axis();
        let shape = self.ir.shape(self.ir.value_type(v));
        let varies = axis.zip(shape).is_some_and(|(a, s)| s.get(a).is_some_and(|&n| n > 1));
        if varies { self.width } else { 1 }
    }

    /// Lanes of what a reduction keeps while it walks.
    fn kept_lanes(&self, walk: &Walk) -> u32 {
        if walk.tiled {
            let axis = walk.axes.iter().copied().find(|&a| self.is_tiled(a));
            return axis.map_or(1, |a| self.kernel.axes[a].tile);
        }
        self.lanes_of_type(self.ir.result(walk.op, 0))
    }

    /// How many steps of the tiled axis to take at once, so that the combiners need not wait for each other: as many as fill four
    /// registers, for bodies that are short beside them.
    fn unroll(&mut self, walk: &Walk) -> u32 {
        if !walk.tiled || walk.rows > 1 || walk.combiners.iter().any(|c| c.0.width() == 2) {
            return 1;
        }
        let axis = walk.axes.iter().copied().find(|&a| self.is_tiled(a)).expect("a tiled axis is walked");
        let mut weight = 0;
        for op in self.ir.block_ops(walk.body) {
            weight += match self.ir.op_name(op) {
                kernels::AxisOp::NAME
                | kernels::BroadcastOp::NAME
                | kernels::YieldOp::NAME
                | "arith.constant"
                | kernels::IndexOp::NAME => 0,
                kernels::ReduceOp::NAME
                | kernels::ForOp::NAME
                | kernels::AtomicOp::NAME
                | kernels::PositionOp::NAME => return 1,
                name if name.starts_with("math.") || name.starts_with("scalar.") => 12,
                _ => 1,
            };
        }
        let bits = walk.combiners.iter().map(|c| if c.1 == DType::F64 || c.1.bits() == 64 { 64 } else { 32 }).max();
        let tile = self.kernel.axes[axis].tile;
        let room = (4 * self.b.machine().vector_bits) / (tile * bits.unwrap_or(32)).max(1);
        let asked = self.kernel.axes[axis].unroll;
        let mut n = if weight > 12 { room.min(2) } else { room.min(4) };
        if asked > 1 {
            // A step is at most one vector of the greatest size.
            n = asked.min(WIDEST / tile.max(1)).max(1);
        }
        let extent = self.exprs.as_int(self.kernel.axes[axis].extent);
        while n > 1 && (!n.is_power_of_two() || extent.is_some_and(|e| e < i64::from(n * tile))) {
            n -= 1;
        }
        n.max(1)
    }

    fn walk_axes(&mut self, walk: &Walk, depth: usize, carried: Vec<V<B>>) -> Result<Vec<V<B>>, Diagnostic> {
        // The axes of a backward walk are walked backward each, the outermost first as ever.
        let Some(&axis) = walk.axes.get(depth) else {
            return self.walk_body(walk, carried);
        };
        let zero = self.exprs.int(0);
        if !self.is_tiled(axis) {
            let end = self.lower(self.kernel.axes[axis].extent);
            let range = Range { axis, first: self.b.i64(0), end, step: 1, reverse: walk.reverse, runs: false };
            return self.summed_loop(walk, range, carried, &mut |e, c| e.walk_axes(walk, depth + 1, c));
        }
        if walk.unroll == 1 {
            return self
                .tiled_steps(axis, zero, false, walk.reverse, carried, &mut |e, c| e.walk_axes(walk, depth + 1, c));
        }
        // Several steps at once as one step of more lanes, folded onto what is kept; then the rest.
        let tile = self.kernel.axes[axis].tile;
        let width = tile * walk.unroll;
        let extent = self.kernel.axes[axis].extent;
        let w = self.exprs.int(width.into());
        let wide = self.exprs.floordiv(extent, w);
        let wide = self.exprs.mul(wide, w);
        let stop = self.lower(wide);
        let range = Range { axis, first: self.b.i64(0), end: stop, step: width.into(), reverse: false, runs: false };
        let fresh = walk.combiners.iter().flat_map(|&(c, d)| c.identity(self.b, d, width)).collect();
        let many = self.summed_loop(walk, range, fresh, &mut |e, c| {
            e.with_lanes(axis, width, false, |e| e.walk_axes(walk, depth + 1, c))
        })?;
        let (mut narrowed, mut many) = (Vec::new(), &many[..]);
        for &(c, dtype) in &walk.combiners {
            let (m, rest) = many.split_at(c.width());
            many = rest;
            narrowed.extend(c.narrow(self.b, dtype, m, tile));
        }
        // What was kept before is the identity, unless an outer axis is walked too.
        let all = if depth == 0 { narrowed } else { self.combined(walk, &carried, &narrowed) };
        if wide == extent {
            return Ok(all);
        }
        let t = self.exprs.int(tile.into());
        let rest = self.exprs.modulo(extent, t);
        let divides = self.exprs.as_int(rest) == Some(0);
        let end = self.lower(extent);
        let range = Range { axis, first: stop, end, step: tile.into(), reverse: false, runs: false };
        self.counted_loop(range, all, &mut |e, c| {
            e.with_lanes(axis, tile, !divides, |e| e.walk_axes(walk, depth + 1, c))
        })
    }

    /// A counted loop of a reduction. Sums of floats are taken in runs, and these are summed: the error of a sum of n numbers, one after the other,
    /// grows with n, that of runs with the length of a run and their number.
    fn summed_loop(
        &mut self,
        walk: &Walk,
        range: Range<V<B>>,
        carried: Vec<V<B>>,
        body: &mut LoopBody<'_, 'a, B>,
    ) -> Result<Vec<V<B>>, Diagnostic> {
        let b = self.b;
        let rounds = |&(c, d): &(Combiner, DType)| matches!(c, Combiner::Add | Combiner::Welford) && d.is_float();
        let run = RUN * range.step;
        // Sums of rows take the registers that there are: they are summed as the products of matrices of libraries are.
        let rows = self.kernel.row_axis().is_some();
        let short = b.as_const(range.first).zip(b.as_const(range.end)).is_some_and(|(f, e)| e - f <= 2 * run);
        if short || rows || range.reverse || walk.combiners.is_empty() || !walk.combiners.iter().all(rounds) {
            return self.counted_loop(range, carried, body);
        }
        self.counted_loop(Range { step: run, ..range }, carried, &mut |e, kept| {
            let (first, _) = e.axes[range.axis].expect("the loop has just set its axis");
            let next = b.iadd(first, b.i64(run));
            let end = b.select(b.icmp(IntPredicate::SLT, next, range.end), next, range.end);
            let lanes = kept.first().map_or(1, |&v| b.lanes(v));
            let fresh = walk.combiners.iter().flat_map(|&(c, d)| c.identity(b, d, lanes)).collect();
            let part = e.counted_loop(Range { first, end, runs: true, ..range }, fresh, body)?;
            Ok(e.combined(walk, &kept, &part))
        })
    }

    /// What two parts of a reduction come to, each as its combiners keep it.
    fn combined(&self, walk: &Walk, mut x: &[V<B>], mut y: &[V<B>]) -> Vec<V<B>> {
        let mut all = Vec::new();
        for &(c, dtype) in &walk.combiners {
            let ((a, rest_x), (b, rest_y)) = (x.split_at(c.width()), y.split_at(c.width()));
            (x, y) = (rest_x, rest_y);
            all.extend(c.combine(self.b, dtype, a, b));
        }
        all
    }

    fn walk_body(&mut self, walk: &Walk, carried: Vec<V<B>>) -> Result<Vec<V<B>>, Diagnostic> {
        let level = self.level();
        if walk.combiners.is_empty() {
            for (&arg, &v) in self.ir.block_args(walk.body).iter().zip(&carried) {
                let dtype = self.dtype(arg);
                self.define(arg, v, dtype, level);
            }
        }
        self.emit_block(walk.body)?;
        let terminator = self.ir.last_op(walk.body).ok_or_else(|| self.error(walk.op, "the body is empty"))?;
        let yielded = self.ir.operand_list(terminator);
        if walk.combiners.is_empty() {
            if yielded.len() != carried.len() {
                return Err(self.error(walk.op, "the body must yield the carried values"));
            }
            let pairs = yielded.into_iter().zip(carried);
            return Ok(pairs
                .map(|(y, c)| {
                    let v = self.get(y).v;
                    self.b.splat(v, self.b.lanes(c))
                })
                .collect());
        }
        let mask = self.mask.filter(|_| walk.tiled).map(|m| m.0);
        // After a partial step lanes have different numbers of points: where an outer axis is walked too, full steps follow.
        let even = mask.is_none() && (!walk.tiled || walk.axes.len() == 1);
        let mut new = Vec::new();
        let mut kept = &carried[..];
        for row in 0..walk.rows {
            self.row = row;
            let mut at = 0;
            for &(c, dtype) in &walk.combiners {
                let (mine, rest) = kept.split_at(c.width());
                kept = rest;
                let values = &yielded[at..at + c.takes()];
                at += c.takes();
                let b = self.b;
                let lanes = b.lanes(mine[0]);
                if let Some(product) = self.ir.def_op(values[0]).filter(|op| self.fused.contains(op)) {
                    let factors = self.ir.operand_list(product);
                    let (x, y) = (self.get(factors[0]).v, self.get(factors[1]).v);
                    let sum = b.math(Math::Fma, &[b.splat(x, lanes), b.splat(y, lanes), mine[0]]);
                    new.push(mask.map_or(sum, |m| b.select(m, sum, mine[0])));
                    continue;
                }
                let mut point = Vec::new();
                for &y in values {
                    let v = self.get(y).v;
                    point.push(b.splat(v, lanes));
                }
                let reciprocal = (c == Combiner::Welford && even).then(|| {
                    let n = b.extract(mine[2], 0);
                    let one = b.float(b.type_of(n), 1.0);
                    b.fdiv(one, b.fadd(n, one))
                });
                new.extend(c.step(b, dtype, mine, &point, mask, reciprocal));
            }
        }
        self.row = 0;
        Ok(new)
    }
}
