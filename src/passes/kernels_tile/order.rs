//! The order in which the axes of a kernel are stepped.
//!
//! The tiled axis steps fastest, so that neighbouring steps touch neighbouring memory; but where a kernel also reads or writes with a stride along it
//! (a transpose), the cache lines that one step touches there hold what steps along another axis want. That axis is cut into blocks, and a block is
//! stepped within each tile: of `y = 1024, x = 1280 tile 16` becomes `y = 32, x = 1280 tile 16, yb = 32`.

use crate::dialects::kernels::{self, Axis};
use crate::ir::{Ir, Op};
use crate::passes::apply_schedule::{block_name, split};
use crate::sched::tile;

/// Sizes of blocks, the best first: a few cache lines for each lane of a tile stay in the nearest cache.
const BLOCKS: [i64; 4] = [32, 64, 16, 8];

/// An axis of fewer points is not worth a block.
const LEAST: i64 = 16;

/// Orders the axes, of which `tiled` is to get a tile while all tiles are still 1; gives its new place.
pub fn order(ir: &mut Ir, func: Op, axes: &mut Vec<Axis>, tiled: usize) -> usize {
    if axes[tiled].reduced {
        return tiled;
    }
    let across = across(ir, func, axes, tiled);
    let moved = axes[tiled].clone();
    let last = |axes: &[Axis]| axes.iter().rposition(|a| !a.reduced).map_or(0, |k| k + 1);
    let Some(across) = across else {
        axes.remove(tiled);
        let at = last(axes);
        axes.insert(at, moved);
        return at;
    };
    let inner = match block(ir, func, axes, across, &BLOCKS) {
        Some(inner) => inner,
        None => axes[across].clone(),
    };
    let whole = inner.name == axes[across].name;
    axes.retain(|a| a.name != moved.name && !(whole && a.name == inner.name));
    let at = last(axes);
    axes.insert(at, inner);
    axes.insert(at, moved);
    at
}

/// The parallel axis along which accesses are contiguous that have a stride along the tiled one.
fn across(ir: &mut Ir, func: Op, axes: &[Axis], tiled: usize) -> Option<usize> {
    let small = |ir: &Ir, a: &Axis| ir.exprs.as_int(a.extent).is_some_and(|n| n < LEAST);
    if small(ir, &axes[tiled]) {
        return None;
    }
    let varying = tile::varying_values(ir, func, axes, tiled);
    let mut votes = vec![0; axes.len()];
    for op in ir.nested_ops(func) {
        let step = kernels::step_along(ir, axes, op, tiled, &|v| varying.contains(&v));
        if step.is_none_or(|e| matches!(ir.exprs.as_int(e), Some(0 | 1))) {
            continue;
        }
        for (k, vote) in votes.iter_mut().enumerate().filter(|(k, _)| *k != tiled && !axes[*k].reduced) {
            let step = kernels::step_along(ir, axes, op, k, &|v| varying.contains(&v));
            *vote += i32::from(step.is_some_and(|e| ir.exprs.as_int(e) == Some(1)));
        }
    }
    let best = (0..axes.len()).max_by_key(|&k| (votes[k], k))?;
    (votes[best] > 0 && !small(ir, &axes[best])).then_some(best)
}

/// Cuts an axis into blocks, if its extent is a multiple of one of the sizes and all that is done with its position can be said of two: the axis becomes
/// that of the blocks, and the axis within a block is given.
pub fn block(ir: &mut Ir, func: Op, axes: &mut Vec<Axis>, axis: usize, sizes: &[i64]) -> Option<Axis> {
    let extent = ir.exprs.as_int(axes[axis].extent)?;
    let size = *sizes.iter().find(|&&b| extent % b == 0 && extent > b)?;
    let (outer, inner) = (axes[axis].name.clone(), block_name(axes, &axes[axis].name));
    split(ir, func, axes, axis, size, (&outer, &inner)).ok()?;
    axes.pop()
}
