//! The tiles of a kernel for a GPU: how many points of each axis one program takes.
//!
//! A program takes about a thousand points, so that each of its 128 threads has eight: enough for accesses of 16 bytes, few enough for all
//! multiprocessors to have work. Its lanes run along the axis along which memory is contiguous. Where two axes are contiguous in different
//! accesses (a transpose) the tile is a square of both. A reduction whose axes fit one tile is taken in one step, which reads each element once.

use super::cost;
use super::tile::in_order;
use crate::dialects::kernels::{self, Axis};
use crate::ir::{Ir, Op, TypeData};
use rinductor_support::FxHashSet;

/// Points of a program where nothing is reduced; twice as many where no element has more than two bytes.
const POINTS: i64 = 1024;
/// Points of a program that reduces short rows.
const ROWS: i64 = 2048;
/// Points of a step of a reduction that is walked in several.
const STEP: i64 = 4096;
/// The same where there are so few programs that each must have more of memory on its way.
const LARGE_STEP: i64 = 8192;
/// The longest axis that is reduced in one step.
const WHOLE: i64 = 8192;
/// Programs that keep all multiprocessors of a large GPU busy: two for each of 132.
const PROGRAMS: i64 = 264;
/// Axes with a tile above 1: what is emitted has tensors of as many dimensions.
const RANK: usize = 3;

/// The choice for one kernel.
#[derive(Clone, Debug)]
pub struct Tiles {
    /// The tile of each axis, a power of two.
    pub tiles: Vec<i64>,
    /// Why: a sentence for remarks.
    pub why: String,
}

/// Chooses for a kernel whose tiles are all 1.
pub fn choose(ir: &mut Ir, func: Op, axes: &[Axis]) -> Tiles {
    let n = axes.len();
    let extents: Vec<i64> = axes.iter().map(|a| (cost::estimate(ir, a.extent) as i64).max(1)).collect();
    let fixed: Vec<bool> = axes.iter().map(|a| ir.exprs.as_int(a.extent).is_some()).collect();
    let usable: Vec<bool> = (0..n).map(|a| extents[a] > 1 && !in_order(ir, func, axes, a)).collect();
    let accesses = accesses(ir, func, axes);
    let short = has_short_elements(ir, func);
    let walks = ir.ops_named(func, kernels::ReduceOp::NAME);
    let exponentials = walks.into_iter().any(|walk| ir.nested_ops(walk).into_iter().any(|op| ir.is_op(op, "math.exp")));
    let mut plan = Plan { axes, extents, fixed, usable, accesses, short, exponentials, tiles: vec![1; n] };
    let why = if axes.iter().any(|a| a.reduced) { plan.reduction(ir, func) } else { plan.pointwise() };
    Tiles { tiles: plan.tiles, why }
}

/// A load or a store.
struct Access {
    /// The step along each axis in elements; None where it is not a number.
    steps: Vec<Option<i64>>,
    /// A store counts double.
    weight: i64,
}

/// The accesses of a kernel; what is loaded again counts once.
fn accesses(ir: &mut Ir, func: Op, axes: &[Axis]) -> Vec<Access> {
    let varying: Vec<_> = (0..axes.len()).map(|a| super::tile::varying_values(ir, func, axes, a)).collect();
    let mut list = Vec::new();
    let mut seen = FxHashSet::default();
    for op in ir.nested_ops(func) {
        if kernels::address_operands(ir.op_name(op)).is_none() {
            continue;
        }
        let store = !ir.is_op(op, kernels::LoadOp::NAME);
        let steps: Vec<Option<i64>> = (0..axes.len())
            .map(|a| {
                let step = kernels::step_along(ir, axes, op, a, &|v| varying[a].contains(&v))?;
                ir.exprs.as_int(step)
            })
            .collect();
        let buffer = ir.operand(op, usize::from(store));
        if seen.insert((buffer, store, steps.clone())) {
            list.push(Access { steps, weight: if store { 2 } else { 1 } });
        }
    }
    list
}

/// Whether all buffers of a kernel have elements of two bytes or fewer.
fn has_short_elements(ir: &Ir, func: Op) -> bool {
    let args = ir.body(func).map(|b| ir.block_args(b).to_vec()).unwrap_or_default();
    let types = args.into_iter().map(|a| ir.value_type(a)).filter(|&t| matches!(ir.ty(t), TypeData::MemRef { .. }));
    types.map(|t| ir.element_type(t)).all(|t| match ir.ty(t) {
        TypeData::Float(kind) => kind.bits() <= 16,
        _ => ir.int_width(t).is_some_and(|w| w.0 <= 16),
    })
}

struct Plan<'a> {
    axes: &'a [Axis],
    extents: Vec<i64>,
    /// Whether the extent is a number.
    fixed: Vec<bool>,
    /// Whether the steps of the axis may be taken at once.
    usable: Vec<bool>,
    accesses: Vec<Access>,
    /// Whether all elements in memory have two bytes or fewer.
    short: bool,
    /// Whether a walk takes exponentials.
    exponentials: bool,
    tiles: Vec<i64>,
}

impl Plan<'_> {
    fn parallel(&self) -> Vec<usize> {
        (0..self.axes.len()).filter(|&a| !self.axes[a].reduced).collect()
    }

    /// How many accesses are contiguous along an axis, of those that vary along one of `also`.
    fn contiguous(&self, axis: usize, also: &[usize]) -> i64 {
        let counts = |a: &&Access| a.steps[axis] == Some(1) && also.iter().any(|&o| a.steps[o] != Some(0));
        self.accesses.iter().filter(counts).map(|a| a.weight).sum()
    }

    /// The axis of these along which most accesses are contiguous; the innermost of equals.
    fn lead(&self, among: &[usize]) -> Option<usize> {
        let usable = among.iter().copied().filter(|&a| self.usable[a]);
        usable.max_by_key(|&a| (self.contiguous(a, &[a]), a))
    }

    fn tiled(&self) -> usize {
        self.tiles.iter().filter(|&&t| t > 1).count()
    }

    /// The programs that the tiles so far give.
    fn programs(&self) -> i64 {
        let steps = self.parallel().into_iter().map(|a| (self.extents[a] as u64).div_ceil(self.tiles[a] as u64));
        steps.fold(1u64, u64::saturating_mul).min(i64::MAX as u64) as i64
    }

    /// Points of a step of a walk. What takes exponentials needs registers.
    fn step(&self) -> i64 {
        if self.exponentials {
            return STEP / 2;
        }
        if self.programs() < 4 * PROGRAMS { LARGE_STEP } else { STEP }
    }

    /// A tile of at most `room` points for an axis: as large as can be while the last step wastes little.
    fn fit(&self, axis: usize, room: i64) -> i64 {
        let extent = self.extents[axis];
        let whole = power_above(extent);
        if whole <= room && (self.fixed[axis] && whole * 8 <= extent * 9 || whole <= 16) {
            return whole;
        }
        if !self.fixed[axis] {
            return room;
        }
        let room = room.min(whole);
        let waste = |t: i64| (extent + t - 1) / t * t * 100 / extent;
        let candidates = [room, room / 2, room / 4, room / 8];
        let good = candidates.into_iter().filter(|&t| t >= 32.min(room)).find(|&t| waste(t) <= 110);
        good.or_else(|| candidates.into_iter().filter(|&t| t >= 32.min(room)).min_by_key(|&t| waste(t))).unwrap_or(room)
    }

    /// Gives what room is left to further parallel axes, from the innermost on.
    fn fill(&mut self, mut room: i64) {
        for a in self.parallel().into_iter().rev() {
            if room <= 1 || self.tiled() >= RANK {
                break;
            }
            if self.tiles[a] == 1 && self.usable[a] {
                self.tiles[a] = self.fit(a, room).min(room);
                room /= self.tiles[a];
            }
        }
    }

    fn pointwise(&mut self) -> String {
        let parallel = self.parallel();
        let points = self.programs();
        // Few points: smaller programs, so that more of the GPU works.
        let mut room = POINTS;
        while room > 128 && points / room < PROGRAMS {
            room /= 2;
        }
        let Some(lead) = self.lead(&parallel) else { return "no axis can be taken several points at a time".into() };
        let second =
            parallel.iter().copied().filter(|&a| a != lead && self.usable[a] && self.contiguous(a, &[lead]) > 0);
        if let Some(other) = second.max_by_key(|&a| self.contiguous(a, &[lead])) {
            // Whole lines of memory on both sides, as long as there is work for all.
            let (side, room) = match points / PROGRAMS {
                16384.. => (64, 4096),
                POINTS.. => (32, POINTS),
                _ => (16, room.max(256)),
            };
            self.tiles[lead] = side.min(power_above(self.extents[lead]));
            self.tiles[other] = (room / self.tiles[lead]).min(power_above(self.extents[other]));
            self.fill(room / (self.tiles[lead] * self.tiles[other]));
            return format!(
                "accesses are contiguous along {} and along {}: a tile of both",
                self.axes[lead].name, self.axes[other].name
            );
        }
        if room == POINTS && self.short && self.extents[lead] >= 2 * POINTS {
            room *= 2;
        }
        self.tiles[lead] = self.fit(lead, room);
        self.fill(room / self.tiles[lead]);
        format!("lanes along {}, {} points", self.axes[lead].name, self.extents[lead])
    }

    fn reduction(&mut self, ir: &Ir, func: Op) -> String {
        let parallel = self.parallel();
        let reduced: Vec<usize> = (0..self.axes.len()).filter(|&a| self.axes[a].reduced).collect();
        let lead_r = self.lead(&reduced);
        let lead_p = self.lead(&parallel);
        let Some(r) = lead_r else {
            // The steps of the walk must be taken in order: lanes along a parallel axis, or, of a scan that is contiguous in memory, along the walk.
            let along =
                reduced.iter().any(|&r| self.contiguous(r, &parallel) > 0 || parallel.iter().all(|&p| !self.usable[p]));
            let scans =
                ir.ops_named(func, kernels::ForOp::NAME).into_iter().all(|op| super::scan::scan_of(ir, op).is_some());
            if along && scans {
                return "the scan goes along memory".into();
            }
            if let Some(p) = lead_p {
                self.tiles[p] = self.fit(p, 128);
                while self.tiles[p] > 32 && self.programs() < PROGRAMS {
                    self.tiles[p] /= 2;
                }
            }
            return "the walk goes in order".into();
        };
        // What is read at every step says along which axis lanes go.
        let outer = lead_p.filter(|&p| self.contiguous(p, &reduced) > self.contiguous(r, &reduced));
        if let Some(p) = outer {
            // Rows of neighbouring columns: lanes along the columns first.
            let mut columns = power_above(self.extents[p]).min(64);
            self.tiles[p] = columns;
            while columns > 32 && self.programs() < PROGRAMS {
                columns /= 2;
                self.tiles[p] = columns;
            }
            let mut room = (self.step() / columns).max(1);
            for &a in reduced.iter().rev().filter(|&&a| self.usable[a]) {
                if room > 1 && self.tiled() < RANK {
                    self.tiles[a] = power_above(self.extents[a]).min(room);
                    room /= self.tiles[a];
                }
            }
            return format!("lanes along {} and the reduced {}", self.axes[p].name, self.axes[r].name);
        }
        let points = reduced.iter().map(|&a| power_above(self.extents[a])).fold(1i64, i64::saturating_mul);
        let whole = reduced.iter().all(|&a| self.fixed[a] && self.usable[a]) && points <= WHOLE && reduced.len() < RANK;
        if whole {
            for &a in &reduced {
                self.tiles[a] = power_above(self.extents[a]);
            }
        } else {
            let mut room = self.step();
            for &a in [r].iter().chain(reduced.iter().rev().filter(|&&a| a != r)) {
                if room > 1 && self.usable[a] && self.tiled() < RANK {
                    self.tiles[a] = if self.fixed[a] { power_above(self.extents[a]).min(room) } else { room };
                    room /= self.tiles[a];
                }
            }
        }
        // Short rows: several a program, as long as there are enough programs.
        let taken: i64 = reduced.iter().map(|&a| self.tiles[a]).product();
        let mut rows = ROWS / taken.max(1);
        if let Some(p) = lead_p.or_else(|| parallel.iter().copied().rev().find(|&a| self.usable[a])) {
            while rows > 1 && self.programs() / rows < 2 * PROGRAMS && rows * taken > 128 {
                rows /= 2;
            }
            if rows > 1 && self.tiled() < RANK {
                self.tiles[p] = power_above(self.extents[p]).min(rows);
            }
        }
        let how = if whole { "in one step" } else { "in steps" };
        format!("{} is reduced {how}", self.axes[r].name)
    }
}

/// The least power of two that is not below a number.
fn power_above(n: i64) -> i64 {
    (n.clamp(1, 1 << 40) as u64).next_power_of_two() as i64
}
