//! Scatters write rows: of a walk over the rows, `x = 256 parallel, r = 2048 reduce` with `kernels.for r`, every step on `x` goes down all rows, a cache
//! line at a time. Cut into blocks, `x = 4 parallel, r = 2048 reduce, xb = 64 tile 16 reduce` with `kernels.for r, xb`, it takes a run of each row.

use super::{order, parallel};
use crate::dialects::kernels::{self, Axis};
use crate::ir::{InsertPoint, Ir, Op};
use crate::passes::apply_schedule::positions;
use crate::sched::cost;
use crate::sched::tile::{self, Choice};

/// Sizes of runs, the best first.
const RUNS: [i64; 6] = [1024, 512, 256, 128, 64, 32];

/// Cuts the axis that is chosen for tiles into blocks, one or more for each of the `threads`, whose points are walked in each row; gives the place of the
/// axis in a block.
pub fn in_rows(ir: &mut Ir, func: Op, axes: &mut Vec<Axis>, choice: &Choice, threads: i64) -> Option<usize> {
    let tiled = choice.axis;
    let walk = parallel::only_walk(ir, func)?;
    if axes[tiled].reduced || kernels::ForOp(walk).reverse(ir) {
        return None;
    }
    let varying = tile::varying_values(ir, func, axes, tiled);
    // Something lies side by side along the axis, and what is written there does not meet.
    let mut rows = false;
    for op in ir.nested_ops(walk) {
        let step = kernels::step_along(ir, axes, op, tiled, &|v| varying.contains(&v));
        rows |= step.is_some_and(|e| ir.exprs.as_int(e) == Some(1));
        let writes = matches!(ir.op_name(op), kernels::AtomicOp::NAME | kernels::StoreOp::NAME);
        if writes && !kernels::told_axes(ir, axes, op).contains(&tiled) {
            return None;
        }
    }
    if !rows {
        return None;
    }
    let at = positions(ir, func, axes, tiled);
    let inside = |op: Op| std::iter::successors(ir.parent_op(op), |&o| ir.parent_op(o)).any(|o| o == walk);
    if at.iter().any(|&v| ir.uses(v).any(|(user, _)| !inside(user))) {
        return None;
    }
    let extent = ir.exprs.as_int(axes[tiled].extent)?;
    let others = axes.iter().enumerate().filter(|(k, a)| *k != tiled && !a.reduced);
    let others: i64 = others.map(|(_, a)| cost::estimate(ir, a.extent) as i64).fold(1, i64::saturating_mul);
    let sizes = RUNS.into_iter().filter(|&run| run >= choice.tile && (extent / run).saturating_mul(others) >= threads);
    let mut inner = order::block(ir, func, axes, tiled, &sizes.collect::<Vec<_>>())?;
    let body = ir.body(walk)?;
    inner.reduced = true;
    let mut over: Vec<String> = kernels::walked_axes(ir, walk).into_iter().map(str::to_string).collect();
    over.push(inner.name.clone());
    let names: Vec<_> = over.iter().map(|n| ir.string_attr(n)).collect();
    let over = ir.array_attr(&names);
    ir.set_prop(walk, "over", Some(over));
    axes.push(inner);
    for v in positions(ir, func, axes, axes.len() - 1) {
        if let Some(op) = ir.def_op(v).filter(|&op| ir.parent_op(op) != Some(walk)) {
            ir.move_op(op, InsertPoint::Start(body));
        }
    }
    Some(axes.len() - 1)
}
