//! One step on one kernel.

use super::axes::{find, last_after, permute, split};
use super::cache::{Way, cache};
use super::lanes::{parallel, sequential, unroll, vectorize};
use super::refusal::Refusal;
use super::script::KernelStep;
use crate::dialects::kernels::{self, Axis};
use crate::ir::{Ir, Op};

/// Does a step.
///
/// # Errors
/// It is not to be done. The kernel may be changed in part.
pub fn apply(ir: &mut Ir, func: Op, step: &KernelStep) -> Result<(), Refusal> {
    let mut axes = kernels::axes_of(ir, func).ok_or_else(|| Refusal::new("the axes of the kernel are malformed"))?;
    match step {
        KernelStep::Split(name, by, into) => {
            let axis = find(&axes, name)?;
            let default = (name.clone(), block_name(&axes, name));
            let (outer, inner) = into.as_ref().unwrap_or(&default);
            cut(ir, func, &mut axes, axis, *by, (outer, inner))?;
            let order = last_after(axes.len(), axis);
            permute(ir, func, &mut axes, &order)?;
        }
        KernelStep::Tile(blocks) => tile(ir, func, &mut axes, blocks)?,
        KernelStep::Reorder(names) => {
            let order = places(&axes, names)?;
            permute(ir, func, &mut axes, &order)?;
        }
        KernelStep::Vectorize(name, by) => {
            let axis = find(&axes, name)?;
            vectorize(ir, func, &mut axes, axis, *by)?;
        }
        KernelStep::Unroll(name, by) => {
            let axis = find(&axes, name)?;
            unroll(&mut axes, axis, *by)?;
        }
        KernelStep::Parallel(name) => {
            let axis = find(&axes, name)?;
            parallel(ir, func, &mut axes, axis)?;
        }
        KernelStep::Sequential(name) => {
            let axis = find(&axes, name)?;
            sequential(ir, func, &mut axes, axis)?;
        }
        KernelStep::CacheRead(buffer) => cache(ir, func, &axes, buffer, Way::Read)?,
        KernelStep::CacheWrite(buffer) => cache(ir, func, &axes, buffer, Way::Write)?,
    }
    kernels::set_axes(ir, func, &axes);
    Ok(())
}

/// Cuts an axis if that can be.
fn cut(
    ir: &mut Ir,
    func: Op,
    axes: &mut Vec<Axis>,
    axis: usize,
    by: i64,
    names: (&str, &str),
) -> Result<usize, Refusal> {
    if by < 2 {
        return Err(Refusal::new(format!("an axis is cut into blocks of 2 points or more, not {by}")));
    }
    split(ir, func, axes, axis, by, names)
}

/// A name for the axis of the points of a block: `xb` for `x`, or one that is still free.
pub fn block_name(axes: &[Axis], name: &str) -> String {
    let taken = |n: &String| axes.iter().any(|a| a.name == *n);
    (1..).map(|k| format!("{name}{}", "b".repeat(k))).find(|n| !taken(n)).unwrap_or_default()
}

/// Cuts axes, and steps through one block after the other: the new axes lie inside of all others of their kind.
fn tile(ir: &mut Ir, func: Op, axes: &mut Vec<Axis>, blocks: &[(String, i64)]) -> Result<(), Refusal> {
    let before = axes.len();
    for (name, by) in blocks {
        let axis = find(axes, name)?;
        let inner = block_name(axes, name);
        cut(ir, func, axes, axis, *by, (name, &inner))?;
    }
    let mut order: Vec<usize> = (0..before).collect();
    for inner in before..axes.len() {
        let last = order.iter().rposition(|&a| axes[a].reduced == axes[inner].reduced);
        order.insert(last.map_or(order.len(), |k| k + 1), inner);
    }
    permute(ir, func, axes, &order)
}

/// The order of all axes when those that are named take their places in this order.
fn places(axes: &[Axis], names: &[String]) -> Result<Vec<usize>, Refusal> {
    let mut named = Vec::new();
    for name in names {
        let axis = find(axes, name)?;
        if named.contains(&axis) {
            return Err(Refusal::new(format!("the axis {name} is named twice")));
        }
        named.push(axis);
    }
    let mut next = named.iter();
    Ok((0..axes.len()).map(|a| if named.contains(&a) { *next.next().unwrap_or(&a) } else { a }).collect())
}
