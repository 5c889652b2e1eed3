//! What a kernel touches of each of its buffers, and how often it does so again.

use super::cost;
use super::traffic::{BufferUse, Sizes};
use crate::dialects::kernels::{self, Axis};
use crate::dialects::loops::{Access, sizes_of};
use crate::ir::{Block, Ir, Op, Value};
use rinductor_index::{Atom, Expr, Ranges};
use rinductor_support::FxHashMap;

/// A set of axes.
type Set = u64;

fn of(axis: usize) -> Set {
    1u64.checked_shl(axis as u32).unwrap_or(0)
}

/// One access, or several of one buffer together.
#[derive(Clone, Debug)]
struct Touch {
    buffer: usize,
    write: bool,
    /// The walk that it stands in: 0 outside of all.
    walk: usize,
    /// Where it is.
    places: Vec<Vec<Expr>>,
    /// The least and greatest position along each dimension of the buffer.
    bounds: Vec<(i64, i64)>,
    /// The axes that it varies along.
    varies: Set,
    /// How many elements it touches.
    elements: u64,
}

/// A kernel with numbers for all sizes.
pub struct Kernel {
    /// Points of each axis.
    extents: Vec<u64>,
    /// Axes from the outermost: those of the launch.
    parallel: Vec<usize>,
    /// The axes of each walk, with those of the walks around it.
    walks: Vec<Vec<usize>>,
    /// In the order of the program.
    touches: Vec<Touch>,
    /// Elements of each buffer, and the bytes of one.
    buffers: Vec<(u64, u64)>,
}

/// The state of reading a kernel.
struct Reader<'a> {
    axes: Vec<Axis>,
    buffers: Vec<Value>,
    env: Ranges,
    sizes: &'a mut Sizes,
    varies: FxHashMap<Value, Set>,
    kernel: Kernel,
}

impl Kernel {
    /// Reads a kernel; None if it is not one that the verifier lets pass.
    pub fn read(ir: &mut Ir, func: Op, sizes: &mut Sizes) -> Option<Kernel> {
        let axes = kernels::axes_of(ir, func)?;
        let body = ir.body(func)?;
        let extents: Vec<u64> = axes.iter().map(|a| sizes.number(ir, a.extent)).collect();
        let mut env = Ranges::new();
        for (k, &n) in extents.iter().enumerate() {
            env.set_dim(k as u32, 0, Some(i64::try_from(n).unwrap_or(i64::MAX).max(1) - 1));
        }
        let buffers = ir.block_args(body).to_vec();
        let measured = buffers
            .iter()
            .map(|&b| {
                let ty = ir.value_type(b);
                let element = ir.element_type(ty);
                (sizes.elements(ir, ty), cost::element_bytes(ir, element))
            })
            .collect();
        let parallel = (0..axes.len()).filter(|&a| !axes[a].reduced).collect();
        let kernel = Kernel { extents, parallel, walks: vec![Vec::new()], touches: Vec::new(), buffers: measured };
        let mut reader = Reader { axes, buffers, env, sizes, varies: FxHashMap::default(), kernel };
        reader.block(ir, body, 0);
        Some(reader.kernel)
    }

    /// What it does with each argument, with a cache of so many bytes.
    pub fn uses(&self, cache: u64) -> Vec<BufferUse> {
        if self.parallel.iter().any(|&a| self.extents[a] == 0) {
            return vec![BufferUse::default(); self.buffers.len()];
        }
        let row = self.touched_by(|_| true, |axis| !self.parallel.contains(&axis));
        let shared = row <= cache;
        (0..self.buffers.len()).map(|b| self.buffer(b, shared, cache)).collect()
    }

    fn buffer(&self, buffer: usize, shared: bool, cache: u64) -> BufferUse {
        let mine: Vec<&Touch> = self.touches.iter().filter(|t| t.buffer == buffer).collect();
        let mut used = BufferUse::default();
        // What was written a moment ago is read from the cache.
        let fresh = shared && mine.first().is_some_and(|t| t.write);
        for write in [false, true] {
            let sort: Vec<&Touch> = mine.iter().copied().filter(|t| t.write == write).collect();
            let Some(all) = self.together(&sort) else { continue };
            let moved = match shared {
                true if fresh && !write => 0,
                true => self.times(&all, cache),
                false => {
                    let mut walks: Vec<usize> = sort.iter().map(|t| t.walk).collect();
                    walks.dedup();
                    walks.sort_unstable();
                    walks.dedup();
                    let of_walk = |w: usize| sort.iter().copied().filter(|t| t.walk == w).collect::<Vec<_>>();
                    let parts = walks.into_iter().filter_map(|w| self.together(&of_walk(w)));
                    parts.fold(0u64, |n, part| n.saturating_add(self.times(&part, cache)))
                }
            };
            let touched = all.elements.saturating_mul(self.buffers[buffer].1);
            match write {
                true => (used.moved.written, used.touched.written) = (moved, touched),
                false => (used.moved.read, used.touched.read) = (moved, if fresh { 0 } else { touched }),
            }
        }
        used
    }

    /// Several accesses of one buffer as one: no more elements than they touch together, than lie between their bounds, and than there are.
    fn together(&self, list: &[&Touch]) -> Option<Touch> {
        let (first, rest) = list.split_first()?;
        let mut all = (*first).clone();
        for t in rest {
            for place in &t.places {
                if !all.places.contains(place) {
                    all.places.push(place.clone());
                    all.elements = all.elements.saturating_add(t.elements);
                }
            }
            all.varies |= t.varies;
            for (a, b) in all.bounds.iter_mut().zip(&t.bounds) {
                *a = (a.0.min(b.0), a.1.max(b.1));
            }
        }
        let between = all.bounds.iter().fold(1u64, |n, &(lo, hi)| n.saturating_mul(hi.abs_diff(lo).saturating_add(1)));
        all.elements = all.elements.min(between).min(self.buffers[all.buffer].0);
        Some(all)
    }

    /// The bytes that an access moves, with those that it moves again.
    fn times(&self, t: &Touch, cache: u64) -> u64 {
        let mut bytes = t.elements.saturating_mul(self.buffers[t.buffer].1);
        let around: Vec<usize> = self.parallel.iter().chain(&self.walks[t.walk]).copied().collect();
        for (k, &axis) in around.iter().enumerate() {
            if t.varies & of(axis) != 0 || self.extents[axis] <= 1 {
                continue;
            }
            let walked = k >= self.parallel.len();
            let inside = |a: usize| around[k + 1..].contains(&a) || !walked && !self.parallel.contains(&a);
            let between = self.touched_by(|other| !walked || other.walk == t.walk, inside);
            if between > cache {
                bytes = bytes.saturating_mul(self.extents[axis]);
            }
        }
        bytes
    }

    /// The bytes that some accesses touch while only some axes move.
    fn touched_by(&self, which: impl Fn(&Touch) -> bool, moves: impl Fn(usize) -> bool) -> u64 {
        let mut seen: Vec<(usize, u64, Set)> = Vec::new();
        for t in self.touches.iter().filter(|t| which(t)) {
            let moving = (0..self.extents.len()).filter(|&a| t.varies & of(a) != 0 && moves(a));
            let points = moving.fold(1u64, |n, a| n.saturating_mul(self.extents[a])).min(t.elements);
            match seen.iter_mut().find(|s| s.0 == t.buffer && s.2 == t.varies) {
                Some(s) => s.1 = s.1.max(points),
                None => seen.push((t.buffer, points, t.varies)),
            }
        }
        seen.iter().fold(0u64, |n, &(b, points, _)| n.saturating_add(points.saturating_mul(self.buffers[b].1)))
    }
}

impl Reader<'_> {
    fn block(&mut self, ir: &mut Ir, block: Block, walk: usize) {
        for op in ir.block_op_list(block) {
            let mut varies = ir.operands(op).fold(0, |set, v| set | self.varies.get(&v).copied().unwrap_or(0));
            match ir.op_name(op) {
                kernels::AxisOp::NAME => {
                    let name = kernels::AxisOp(op).axis(ir);
                    varies = self.axes.iter().position(|a| a.name == name).map_or(0, of);
                }
                kernels::LoadOp::NAME => self.access(ir, op, walk, &[false]),
                kernels::StoreOp::NAME => self.access(ir, op, walk, &[true]),
                kernels::AtomicOp::NAME => self.access(ir, op, walk, &[false, true]),
                kernels::ReduceOp::NAME | kernels::ForOp::NAME => varies = self.walk(ir, op, walk, varies),
                _ => {}
            }
            for r in ir.results(op) {
                self.varies.insert(r, varies);
            }
        }
    }

    /// A walk: what it yields varies along the other axes only.
    fn walk(&mut self, ir: &mut Ir, op: Op, around: usize, carried: Set) -> Set {
        let Some(body) = ir.body(op) else { return carried };
        let over = kernels::walked_axes(ir, op);
        let walked: Vec<usize> = (0..self.axes.len()).filter(|&a| over.contains(&self.axes[a].name.as_str())).collect();
        let mut axes = self.kernel.walks[around].clone();
        axes.extend(&walked);
        self.kernel.walks.push(axes);
        for &arg in ir.block_args(body) {
            self.varies.insert(arg, carried);
        }
        self.block(ir, body, self.kernel.walks.len() - 1);
        let end = ir.last_op(body);
        let yielded = end.into_iter().flat_map(|end| ir.operands(end)).filter_map(|v| self.varies.get(&v));
        let all = yielded.fold(carried, |set, v| set | v);
        all & !walked.iter().fold(0, |set, &a| set | of(a))
    }

    fn access(&mut self, ir: &mut Ir, op: Op, walk: usize, writes: &[bool]) {
        let Some(leading) = kernels::address_operands(ir.op_name(op)) else { return };
        let access = Access::of(ir, op, leading);
        let Some(&target) = access.leading.last() else { return };
        let Some(buffer) = self.buffers.iter().position(|&b| b == target) else { return };
        let Some(sizes) = sizes_of(ir, ir.value_type(target)) else { return };
        let mut with = Vec::new();
        let mut varies = 0;
        for (k, v) in access.index.iter().enumerate() {
            let axis = kernels::axis_of(ir, &self.axes, *v);
            varies |= self.varies.get(v).copied().unwrap_or(0);
            // An index from data is a dimension of its own, of which nothing is known.
            let n = axis.unwrap_or(self.axes.len() + 64 * self.kernel.touches.len() + k);
            with.push((Atom::Dim(k as u32), ir.exprs.dim(n as u32)));
        }
        let place: Vec<Expr> = access.exprs.iter().map(|&e| ir.exprs.subst(e, &with)).collect();
        let mut bounds = Vec::with_capacity(place.len());
        for (&e, &size) in place.iter().zip(&sizes) {
            for atom in ir.exprs.atoms(e) {
                if let Some(n) = self.sizes.symbol(ir, atom) {
                    self.env.set(atom, rinductor_index::Range::new(n, n));
                }
            }
            let range = ir.exprs.range(e, &self.env);
            let last = i64::try_from(self.sizes.number(ir, size)).unwrap_or(i64::MAX).max(1) - 1;
            bounds.push((range.lo.unwrap_or(0).clamp(0, last), range.hi.unwrap_or(last).clamp(0, last)));
        }
        let points = (0..self.axes.len()).filter(|&a| varies & of(a) != 0);
        let elements = points.fold(1u64, |n, a| n.saturating_mul(self.kernel.extents[a]));
        for &write in writes {
            let (places, bounds) = (vec![place.clone()], bounds.clone());
            let touch = Touch { buffer, write, walk, places, bounds, varies, elements };
            let capped = self.kernel.together(&[&touch]).map_or(0, |t| t.elements);
            self.kernel.touches.push(Touch { elements: capped, ..touch });
        }
    }
}
