//! Loops: the parallel axes around the body, counted loops with carried values, and the steps of the tiled axis, full ones and a partial one.

use rinductor_index::Expr;
use rinductor_support::Diagnostic;

use super::build::{Binary, Build, Convert, Counted, IntPredicate, Math, V};
use super::emit::Emitter;
use crate::codegen::kernel::Axis;

/// What a loop body does: the emitter, the carried values, and the new ones.
pub(super) type LoopBody<'x, 'a, B> = dyn FnMut(&mut Emitter<'a, B>, Vec<V<B>>) -> Result<Vec<V<B>>, Diagnostic> + 'x;

/// A loop over an axis: positions `first`, `first + step`, … below `end`.
#[derive(Clone, Copy)]
pub(super) struct Range<X> {
    pub axis: usize,
    pub first: X,
    pub end: X,
    pub step: i64,
    /// From the last to the first.
    pub reverse: bool,
    /// Code that has to be executed only if the loop has a step may go before it.
    pub runs: bool,
}

impl<'a, B: Build> Emitter<'a, B> {
    /// A counted loop with carried values.
    pub fn counted_loop(
        &mut self,
        range: Range<V<B>>,
        carried: Vec<V<B>>,
        body: &mut LoopBody<'_, 'a, B>,
    ) -> Result<Vec<V<B>>, Diagnostic> {
        let b = self.b;
        let Range { axis, first, end, step, reverse, runs } = range;
        let known = b.as_const(first).zip(b.as_const(end));
        if known.is_some_and(|(f, e)| f >= e) {
            return Ok(carried);
        }
        let start = if reverse {
            // The first position of the last step.
            let points = b.isub(b.isub(end, first), b.i64(1));
            let steps = b.binop(Binary::SDiv, points, b.i64(step));
            b.iadd(first, b.imul(steps, b.i64(step)))
        } else {
            first
        };
        let once = known.is_some_and(|(f, e)| e - f <= step);
        let Axis { tile, unroll, .. } = self.kernel.axes[axis];
        let enough = known.is_none_or(|(f, e)| e - f >= step * i64::from(unroll));
        if unroll > 1 && step == i64::from(tile) && enough && !reverse {
            return self.unrolled_loop(range, unroll, carried, body);
        }
        let counted = Counted { first, start, end, step, reverse, runs: known.is_some(), once };
        self.looped(axis, counted, runs, carried, body)
    }

    /// The loop that a count describes.
    fn looped(
        &mut self,
        axis: usize,
        counted: Counted<V<B>>,
        runs: bool,
        carried: Vec<V<B>>,
        body: &mut LoopBody<'_, 'a, B>,
    ) -> Result<Vec<V<B>>, Diagnostic> {
        let b = self.b;
        let runs = runs || counted.runs;
        let loop_ = b.open_loop(&self.kernel.axes[axis].name, counted, &carried);
        self.open_scope(Some(loop_.enter), runs);
        let level = self.level();
        let saved = self.axes[axis].replace((loop_.at, level));
        let new = body(self, loop_.carried)?;
        self.axes[axis] = saved;
        self.close_scope();
        Ok(b.close_loop(loop_.open, &new))
    }

    /// A counted loop that takes `unroll` steps at a time, and one that takes those that are left.
    fn unrolled_loop(
        &mut self,
        range: Range<V<B>>,
        unroll: u32,
        carried: Vec<V<B>>,
        body: &mut LoopBody<'_, 'a, B>,
    ) -> Result<Vec<V<B>>, Diagnostic> {
        let b = self.b;
        let Range { axis, first, end, step, runs, .. } = range;
        let wide = step * i64::from(unroll);
        let points = b.math(Math::SMax, &[b.isub(end, first), b.i64(0)]);
        let many = b.imul(b.binop(Binary::SDiv, points, b.i64(wide)), b.i64(wide));
        let stop = b.iadd(first, many);
        let carried = self.counted_loop(Range { end: stop, step: wide, ..range }, carried, &mut |e, mut c| {
            let (at, _) = e.axes[axis].expect("the loop around gives the axis a position");
            for k in 0..i64::from(unroll) {
                let at = e.b.iadd(at, e.b.i64(k * step));
                c = e.step(axis, at, at, true, true, c, body)?;
            }
            Ok(c)
        })?;
        let known = b.as_const(stop).zip(b.as_const(end));
        if known.is_some_and(|(s, e)| s >= e) {
            return Ok(carried);
        }
        // Fewer steps than those that are taken at a time.
        let once = known.is_some_and(|(s, e)| e - s <= step);
        let counted = Counted { first: stop, start: stop, end, step, reverse: false, runs: known.is_some(), once };
        self.looped(axis, counted, runs, carried, body)
    }

    /// One step, at `at` of `axis`, if `at` is below `end`.
    pub fn one_step(
        &mut self,
        axis: usize,
        at: V<B>,
        end: V<B>,
        runs: bool,
        carried: Vec<V<B>>,
        body: &mut LoopBody<'_, 'a, B>,
    ) -> Result<Vec<V<B>>, Diagnostic> {
        // A loop whose second position lies beyond the end: the jump back is never taken, so it is not emitted.
        let b = self.b;
        let known = b.as_const(at).zip(b.as_const(end));
        if known.is_some_and(|(f, e)| f >= e) {
            return Ok(carried);
        }
        self.step(axis, at, end, known.is_some(), runs || known.is_some(), carried, body)
    }

    /// One step, at `at` of `axis`: if `at` is below `end`, or `known` to be. `runs`: what is asked for before it runs with it.
    #[allow(clippy::too_many_arguments)] // two call sites; a struct would only rename the parts
    fn step(
        &mut self,
        axis: usize,
        at: V<B>,
        end: V<B>,
        known: bool,
        runs: bool,
        carried: Vec<V<B>>,
        body: &mut LoopBody<'_, 'a, B>,
    ) -> Result<Vec<V<B>>, Diagnostic> {
        let b = self.b;
        let (open, enter) = b.open_step(&self.kernel.axes[axis].name, at, end, known, &carried);
        self.open_scope(Some(enter), runs);
        let level = self.level();
        let saved = self.axes[axis].replace((at, level));
        let new = body(self, carried)?;
        self.axes[axis] = saved;
        self.close_scope();
        Ok(b.close_step(open, &new))
    }

    /// Runs `f` with `width` lanes; with `masked`, those beyond the extent of `axis` are inactive. The axis has its position already.
    pub fn with_lanes<R>(&mut self, axis: usize, width: u32, masked: bool, f: impl FnOnce(&mut Self) -> R) -> R {
        let saved = (self.width, self.mask, self.mask_count);
        self.width = width;
        (self.mask, self.mask_count) = (None, None);
        if masked && width > 1 {
            let (at, level) = self.axes[axis].expect("the axis is walked here");
            let end = self.lower(self.kernel.axes[axis].extent);
            let known = self.b.as_const(at).zip(self.b.as_const(end));
            self.mask_count = known.and_then(|(a, e)| u32::try_from(e - a).ok());
            let mask = self.at_level(level, |s| {
                let b = s.b;
                // Narrow lane numbers: the mask then has the shape of 32-bit elements.
                let bits = 32;
                let most = b.math(Math::SMin, &[b.isub(end, at), b.i64(width.into())]);
                let left = b.cast(Convert::Trunc, most, b.int_type(bits, 1));
                b.icmp(IntPredicate::SLT, b.iota(bits, width), b.splat(left, width))
            });
            self.mask = Some((mask, level));
        }
        let r = f(self);
        (self.width, self.mask, self.mask_count) = saved;
        r
    }

    /// The steps of the tiled axis from `first` on, up to its extent: full ones, then a partial one if there may be one.
    pub fn tiled_steps(
        &mut self,
        axis: usize,
        first: Expr,
        runs: bool,
        reverse: bool,
        carried: Vec<V<B>>,
        body: &mut LoopBody<'_, 'a, B>,
    ) -> Result<Vec<V<B>>, Diagnostic> {
        let tile = self.kernel.axes[axis].tile;
        let extent = self.kernel.axes[axis].extent;
        let t = self.exprs.int(tile.into());
        let full = self.exprs.floordiv(extent, t);
        let full = self.exprs.mul(full, t);
        let (start, stop, end) = (self.lower(first), self.lower(full), self.lower(extent));
        let range = Range { axis, first: start, end: stop, step: tile.into(), reverse, runs };
        let partial = |e: &mut Self, carried: Vec<V<B>>, body: &mut LoopBody<'_, 'a, B>| {
            if full == extent {
                return Ok(carried);
            }
            e.one_step(axis, stop, end, runs, carried, &mut |e, c| e.with_lanes(axis, tile, true, |e| body(e, c)))
        };
        if reverse {
            let carried = partial(self, carried, body)?;
            return self.counted_loop(range, carried, &mut |e, c| e.with_lanes(axis, tile, false, |e| body(e, c)));
        }
        let carried = self.counted_loop(range, carried, &mut |e, c| e.with_lanes(axis, tile, false, |e| body(e, c)))?;
        partial(self, carried, body)
    }

    /// The whole function after its entry: steps `begin` to `end` of the parallel axes, the body in each.
    pub fn parallel_steps(&mut self, begin: V<B>, end: V<B>) -> Result<(), Diagnostic> {
        let b = self.b;
        let mut nest: Vec<(usize, Expr)> = Vec::new();
        for axis in self.parallel_axes() {
            let tile = self.exprs.int(self.kernel.axes[axis].tile.into());
            let steps = self.exprs.ceildiv(self.kernel.axes[axis].extent, tile);
            if self.exprs.as_int(steps) == Some(1) {
                self.axes[axis] = Some((b.i64(0), 0));
                if self.kernel.row_axis() == Some(axis) {
                    // One step has a number of points that is known.
                    let rows = self.exprs.as_int(self.kernel.axes[axis].extent);
                    self.rows = rows.map_or(1, |n| n as u32);
                }
            } else {
                nest.push((axis, steps));
            }
        }
        let enter = b.open_steps(begin, end);
        self.open_scope(Some(enter), true);
        match nest.split_last() {
            None => self.step_body(None)?,
            Some((&(last, _), [])) => self.inner_steps(last, begin, end)?,
            Some((&(last, last_steps), outer)) => self.rows(outer, last, last_steps, begin, end)?,
        }
        self.close_scope();
        b.close_steps();
        Ok(())
    }

    /// Runs of the innermost axis, one after the other, for each point of the outer ones.
    fn rows(
        &mut self,
        outer: &[(usize, Expr)],
        last: usize,
        last_steps: Expr,
        begin: V<B>,
        end: V<B>,
    ) -> Result<(), Diagnostic> {
        let b = self.b;
        // Where the first step stands.
        let mut left = begin;
        let mut start = Vec::new();
        for &(_, steps) in outer.iter().skip(1).chain([&(last, last_steps)]).rev() {
            let n = self.lower(steps);
            start.push(b.binop(Binary::URem, left, n));
            left = b.binop(Binary::UDiv, left, n);
        }
        start.push(left);
        start.reverse();
        let rows = b.open_rows(begin, &start);
        let positions = rows.carried;
        self.open_scope(Some(rows.enter), true);
        let level = self.level();
        for (&(axis, _), &at) in outer.iter().zip(&positions) {
            let tile = self.kernel.axes[axis].tile;
            let position = b.imul(at, b.i64(tile.into()));
            self.axes[axis] = Some((b.named(position, Some(&self.kernel.axes[axis].name)), level));
        }
        let inner = positions[outer.len()];
        let n = self.lower(last_steps);
        let left = b.isub(end, rows.at);
        let count = b.math(Math::SMin, &[left, b.isub(n, inner)]);
        let stop = b.iadd(inner, count);
        self.inner_steps(last, inner, stop)?;
        let next = b.iadd(rows.at, count);
        // The next row: add one to the outer positions, as to the digits of a number.
        let mut new = vec![b.i64(0)];
        let mut carry = b.int(b.int_type(1, 1), 1);
        for (k, &(_, steps)) in outer.iter().enumerate().rev() {
            let n = self.lower(steps);
            let one = b.cast(Convert::ZExt, carry, b.int_type(64, 1));
            let moved = b.iadd(positions[k], one);
            if k == 0 {
                new.push(moved);
            } else {
                carry = b.icmp(IntPredicate::EQ, moved, n);
                new.push(b.select(carry, b.i64(0), moved));
            }
        }
        new.reverse();
        for &(axis, _) in outer {
            self.axes[axis] = None;
        }
        self.close_scope();
        b.close_rows(rows.open, next, &new, end);
        Ok(())
    }

    /// Steps `first` to `stop` of the innermost parallel axis.
    fn inner_steps(&mut self, axis: usize, first: V<B>, stop: V<B>) -> Result<(), Diagnostic> {
        let b = self.b;
        let tile = self.kernel.axes[axis].tile;
        if tile == 1 {
            let range = |step| Range { axis, first, end: stop, step, reverse: false, runs: true };
            return self.steps_together(
                axis,
                (first, stop),
                &mut |e, lanes| {
                    let group = &mut |e: &mut Self, _| e.turned_steps(axis, lanes).map(|()| Vec::new());
                    e.counted_loop(range(lanes.into()), Vec::new(), group).map(|_| ())
                },
                &mut |e| {
                    let step = &mut |e: &mut Self, _| e.step_body(None).map(|()| Vec::new());
                    e.counted_loop(range(1), Vec::new(), step).map(|_| ())
                },
            );
        }
        if self.kernel.row_axis() == Some(axis) {
            let (first, stop) = (b.imul(first, b.i64(tile.into())), b.imul(stop, b.i64(tile.into())));
            return self.row_steps(axis, first, stop, &mut |e, _| e.step_body(None).map(|()| Vec::new()));
        }
        let extent = self.kernel.axes[axis].extent;
        let t = self.exprs.int(tile.into());
        let full_steps = self.exprs.floordiv(extent, t);
        let full = self.exprs.mul(full_steps, t);
        let divides = full == extent;
        let (first, stop) = (b.imul(first, b.i64(tile.into())), b.imul(stop, b.i64(tile.into())));
        let full = self.lower(full);
        let end = if divides { stop } else { b.math(Math::SMin, &[stop, full]) };
        let range = Range { axis, first, end, step: tile.into(), reverse: false, runs: true };
        self.counted_loop(range, Vec::new(), &mut |e, _| e.step_body(Some((axis, false))).map(|()| Vec::new()))?;
        if !divides {
            let partial = &mut |e: &mut Self, _| e.step_body(Some((axis, true))).map(|()| Vec::new());
            self.one_step(axis, full, stop, true, Vec::new(), partial)?;
        }
        Ok(())
    }

    /// The body at one step. `inner` says whether the innermost axis is the tiled one, and whether the step is partial.
    fn step_body(&mut self, inner: Option<(usize, bool)>) -> Result<(), Diagnostic> {
        if let Some((axis, partial)) = inner {
            let tile = self.kernel.axes[axis].tile;
            return self.with_lanes(axis, tile, partial, |e| e.emit_block(e.kernel.body));
        }
        let tiled = self.kernel.tile_axis().filter(|&a| self.axes[a].is_some());
        let Some(axis) = tiled else {
            return self.emit_block(self.kernel.body);
        };
        // The tiled axis lies outside, or has one step: which kind of step this is, is asked here.
        let tile = self.kernel.axes[axis].tile;
        let extent = self.kernel.axes[axis].extent;
        let t = self.exprs.int(tile.into());
        let rest = self.exprs.modulo(extent, t);
        if self.exprs.as_int(rest) == Some(0) {
            return self.with_lanes(axis, tile, false, |e| e.emit_block(e.kernel.body));
        }
        let (at, level) = self.axes[axis].expect("the axis is walked around here");
        let b = self.b;
        let end = self.lower(extent);
        let whole = b.icmp(IntPredicate::SLE, b.iadd(at, b.i64(tile.into())), end);
        if let Some(whole) = b.as_truth(whole) {
            return self.with_lanes(axis, tile, !whole, |e| e.emit_block(e.kernel.body));
        }
        let (open, enter) = b.open_full(whole);
        for partial in [false, true] {
            if partial {
                b.otherwise(&open);
            }
            self.open_scope(Some(enter), true);
            self.axes[axis] = Some((at, if partial { self.level() } else { level }));
            self.full_level = if partial { 0 } else { self.level() };
            self.with_lanes(axis, tile, partial, |e| e.emit_block(e.kernel.body))?;
            self.full_level = 0;
            self.close_scope();
        }
        self.axes[axis] = Some((at, level));
        b.close_full(open);
        Ok(())
    }
}
