//! Which axis of a kernel is taken several points at a step, and how many: the one along which most accesses are contiguous.

use super::cost;
use crate::dialects::kernels::{self, Axis};
use crate::ir::{FloatKind, Ir, Op, TypeData, Value};
use rinductor_support::FxHashSet;

/// The choice for one kernel.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Which axis.
    pub axis: usize,
    /// Points a step, a power of two.
    pub tile: i64,
    /// Why: a sentence for remarks.
    pub why: String,
}

/// Chooses for a kernel whose tiles are all 1. `vector_bytes`: the width of the target's vector registers. None: no axis pays.
pub fn choose(ir: &mut Ir, func: Op, axes: &[Axis], vector_bytes: i64) -> Option<Choice> {
    let accesses: Vec<Op> =
        ir.nested_ops(func).into_iter().filter(|&op| kernels::address_operands(ir.op_name(op)).is_some()).collect();
    let lanes = lanes(ir, func, vector_bytes);
    let mut best: Option<(i64, usize, String)> = None;
    for a in 0..axes.len() {
        let extent = cost::estimate(ir, axes[a].extent) as i64;
        if extent < 2 || in_order(ir, func, axes, a) {
            continue;
        }
        let varying = varying_values(ir, func, axes, a);
        let (mut score, mut contiguous, mut fixed, mut scattered) = (0i64, 0, 0, 0);
        for &op in &accesses {
            let store = !ir.is_op(op, kernels::LoadOp::NAME);
            let step = kernels::step_along(ir, axes, op, a, &|v| varying.contains(&v));
            match step.and_then(|e| ir.exprs.as_int(e)) {
                Some(1) => {
                    contiguous += 1;
                    score += if store { 4 } else { 3 };
                }
                Some(0) => fixed += 1,
                _ => {
                    scattered += 1;
                    score -= if store { 5 } else { 3 };
                }
            }
        }
        // Lanes that a short axis leaves empty are lost.
        let filled = extent.min(lanes) as f64 / lanes as f64;
        let score = if score > 0 { (score as f64 * filled * 100.0) as i64 } else { score * 100 };
        // A reduction across lanes costs a little; all else equal a parallel axis is better.
        let score = score - i64::from(axes[a].reduced) * 10;
        let why = format!(
            "axis {} of {extent} points: {contiguous} contiguous accesses, {fixed} fixed, {scattered} scattered",
            axes[a].name
        );
        if best.as_ref().is_none_or(|b| score > b.0) {
            best = Some((score, a, why));
        }
    }
    let (score, axis, why) = best?;
    let work = ir.nested_ops(func).iter().filter(|&&op| ir.op_name(op).starts_with("math.")).count() as i64;
    if score <= 0 && work == 0 {
        return None;
    }
    let extent = ir.exprs.as_int(axes[axis].extent).unwrap_or(lanes);
    let tile = lanes.min((extent.max(1) as u64).next_power_of_two() as i64);
    let (tile, why) = match vectors(ir, func, axes, axis, tile) {
        1 => (tile, why),
        n => (tile * n, format!("{why}; {n} vectors a step, whose lines lie side by side in each row that is reduced")),
    };
    (tile > 1).then_some(Choice { axis, tile, why })
}

/// How many vectors wide a step is. Columns that are reduced are read a few lines at a time in each row: one line a row uses neither what is fetched
/// beside it nor the page. Each takes accumulators, and more where functions are computed between.
fn vectors(ir: &mut Ir, func: Op, axes: &[Axis], axis: usize, tile: i64) -> i64 {
    if axes[axis].reduced {
        return 1;
    }
    let varying = varying_values(ir, func, axes, axis);
    let walks = ir.ops_named(func, kernels::ReduceOp::NAME);
    let mut rows = false;
    for &walk in &walks {
        let names = kernels::walked_axes(ir, walk);
        let walked: Vec<usize> = (0..axes.len()).filter(|&a| names.contains(&axes[a].name.as_str())).collect();
        for load in ir.ops_named(walk, kernels::LoadOp::NAME) {
            let mut step = |a: usize| {
                kernels::step_along(ir, axes, load, a, &|v| varying.contains(&v)).map(|e| ir.exprs.as_int(e))
            };
            let side_by_side = step(axis) == Some(Some(1));
            rows |= side_by_side && walked.iter().all(|&a| !matches!(step(a), None | Some(Some(0 | 1))));
        }
    }
    if !rows {
        return 1;
    }
    let results: usize = walks.iter().map(|&w| ir.results(w).count()).sum();
    let functions = ir.nested_ops(func).iter().any(|&op| ir.op_name(op).starts_with("math."));
    let most = match results {
        _ if functions => 2,
        1 => 8,
        2..=3 => 4,
        _ => 2,
    };
    // Enough steps stay for the threads.
    let other = |a: &Axis| if a.reduced { 1 } else { cost::estimate(ir, a.extent) as i64 };
    let steps: i64 = axes.iter().map(other).fold(1, i64::saturating_mul) / tile.max(1);
    let extent = cost::estimate(ir, axes[axis].extent) as i64;
    let mut n = most;
    while n > 1 && (steps / n < 8 || extent < tile * n) {
        n /= 2;
    }
    n
}

/// Whether the steps of an axis must be taken one after the other: a loop over it hands values on, or may write one place twice: where data
/// says, or where its axes do not say it one by one.
pub fn in_order(ir: &Ir, func: Op, axes: &[Axis], axis: usize) -> bool {
    ir.ops_named(func, kernels::ForOp::NAME).into_iter().any(|walk| {
        let walked = kernels::walked_axes(ir, walk);
        if !walked.contains(&axes[axis].name.as_str()) {
            return false;
        }
        let may_write_twice = |op: Op| match ir.op_name(op) {
            kernels::AtomicOp::NAME => true,
            kernels::StoreOp::NAME => {
                let told = kernels::told_axes(ir, axes, op);
                walked.iter().any(|name| told.iter().all(|&a| axes[a].name != *name))
            }
            _ => false,
        };
        ir.num_operands(walk) > 0 || ir.nested_ops(walk).into_iter().any(may_write_twice)
    })
}

/// Lanes of a vector: by the widest float that is computed with, else by the widest element that is stored.
fn lanes(ir: &Ir, func: Op, vector_bytes: i64) -> i64 {
    let mut bytes = 4;
    for op in ir.nested_ops(func) {
        for r in ir.results(op) {
            let element = ir.element_type(ir.value_type(r));
            if matches!(ir.ty(element), TypeData::Float(FloatKind::f64)) {
                bytes = 8;
            }
        }
    }
    (vector_bytes / bytes).max(1)
}

/// The values of a kernel that differ along an axis.
pub fn varying_values(ir: &Ir, func: Op, axes: &[Axis], axis: usize) -> FxHashSet<Value> {
    let mut set: FxHashSet<Value> = FxHashSet::default();
    // Carried values may vary only by what the loop's end gives back: repeat until nothing changes (at most once more a nesting level).
    loop {
        let before = set.len();
        for op in ir.nested_ops(func) {
            let name = ir.op_name(op);
            if name == kernels::AxisOp::NAME {
                if kernels::axis_of(ir, axes, ir.result(op, 0)) == Some(axis) {
                    set.insert(ir.result(op, 0));
                }
                continue;
            }
            if name == kernels::ReduceOp::NAME || name == kernels::ForOp::NAME {
                if name == kernels::ReduceOp::NAME && kernels::walked_axes(ir, op).contains(&axes[axis].name.as_str()) {
                    continue;
                }
                let Some(body) = ir.body(op) else { continue };
                let ends = ir.last_op(body).map(|end| ir.operand_list(end)).unwrap_or_default();
                if name == kernels::ReduceOp::NAME {
                    // Which results a yielded value reaches depends on the combiners; all vary if one does.
                    if ends.iter().any(|v| set.contains(v)) {
                        set.extend(ir.results(op));
                    }
                } else {
                    for (k, end) in ends.iter().enumerate() {
                        let start = ir.operand(op, k);
                        if set.contains(end) || set.contains(&start) {
                            set.insert(ir.block_args(body)[k]);
                            set.insert(ir.result(op, k));
                        }
                    }
                }
                continue;
            }
            if ir.operands(op).any(|v| set.contains(&v)) {
                set.extend(ir.results(op));
            }
        }
        if set.len() == before {
            return set;
        }
    }
}
