//! Steps on how the steps of a kernel's axes are taken: as lanes of vectors, several in a row, by threads.

use super::axes::{permute, positions, reshape, set_over};
use super::refusal::{Dependence, Refusal, kept_in_order};
use crate::dialects::kernel_verify::{MAX_TILE, MAX_UNROLL};
use crate::dialects::kernels::{self, Axis};
use crate::ir::{InsertPoint, Ir, Op, OpSpec};
use crate::passes::kernels_tile;

/// Takes `by` points of an axis at once; 1 at once for `by` 1.
///
/// # Errors
/// The order of its points must be kept.
pub fn vectorize(ir: &mut Ir, func: Op, axes: &mut [Axis], axis: usize, by: i64) -> Result<(), Refusal> {
    if !(1..=MAX_TILE).contains(&by) || by.count_ones() != 1 {
        return Err(Refusal::new(format!("a vector has a power of two lanes, up to {MAX_TILE}, not {by}")));
    }
    if axes[axis].tile == by {
        return Ok(());
    }
    if let Some(&local) = ir.ops_named(func, kernels::LocalOp::NAME).first().filter(|_| !axes[axis].reduced) {
        let text =
            format!("the memory of a step is for {} points of {}: vectorize before", axes[axis].tile, axes[axis].name);
        return Err(Refusal::new(text).note(ir, local, "here"));
    }
    narrow(ir, func, axes, axis);
    if by == 1 {
        return Ok(());
    }
    for walk in ir.nested_ops(func) {
        if kernels::walked_axes(ir, walk).contains(&axes[axis].name.as_str())
            && let Some(dependence) = kept_in_order(ir, axes, walk, false)
        {
            let text = format!("the points of {} are taken one after the other", axes[axis].name);
            return Err(Refusal::new(text).forbidden(ir, &dependence));
        }
    }
    axes[axis].tile = by;
    kernels_tile::widen(ir, func, axes, axis);
    Ok(())
}

/// Takes one point of an axis at a time.
pub fn narrow(ir: &mut Ir, func: Op, axes: &mut [Axis], axis: usize) {
    if axes[axis].tile == 1 {
        return;
    }
    axes[axis].tile = 1;
    let single = |shape: &[i64]| shape.iter().enumerate().map(|(k, &n)| if k == axis { 1 } else { n }).collect();
    reshape(ir, func, axes.len(), &single);
    for op in ir.ops_named(func, kernels::BroadcastOp::NAME) {
        let value = kernels::BroadcastOp(op).value(ir);
        if ir.value_type(value) == ir.value_type(ir.result(op, 0)) {
            ir.replace_op(op, &[value]);
        }
    }
}

/// Takes `by` steps of an axis in a row.
///
/// # Errors
/// So many are too many.
pub fn unroll(axes: &mut [Axis], axis: usize, by: i64) -> Result<(), Refusal> {
    if !(1..=MAX_UNROLL).contains(&by) {
        return Err(Refusal::new(format!("a loop is unrolled by 1 to {MAX_UNROLL} steps, not {by}")));
    }
    axes[axis].unroll = by;
    Ok(())
}

/// Makes a walked axis one whose steps are independent.
///
/// # Errors
/// They are not.
pub fn parallel(ir: &mut Ir, func: Op, axes: &mut Vec<Axis>, axis: usize) -> Result<(), Refusal> {
    if !axes[axis].reduced {
        return Ok(());
    }
    let name = axes[axis].name.clone();
    let walks: Vec<Op> =
        ir.nested_ops(func).into_iter().filter(|&op| kernels::walked_axes(ir, op).contains(&name.as_str())).collect();
    let refuse = |ir: &Ir, why: String, dependence: &Dependence| {
        Err(Refusal::new(format!("the steps over {name} depend on each other: {why}")).forbidden(ir, dependence))
    };
    for &walk in &walks {
        if ir.is_op(walk, kernels::ReduceOp::NAME) {
            let end = ir.body(walk).and_then(|b| ir.last_op(b));
            let source = end.and_then(|e| ir.operands(e).find_map(|v| ir.def_op(v))).unwrap_or(walk);
            let why = "each point is combined with the others".to_string();
            return refuse(ir, "they are combined".into(), &Dependence { source, sink: walk, why });
        }
        if let Some(dependence) = kept_in_order(ir, axes, walk, true) {
            return refuse(ir, "they are taken in order".into(), &dependence);
        }
    }
    let &[walk] = &walks[..] else {
        if let [first, second, ..] = walks[..] {
            let why = "a walk begins when the one before it has ended".to_string();
            return refuse(ir, "several loops walk it".into(), &Dependence { source: first, sink: second, why });
        }
        axes[axis].reduced = false;
        return to_front(ir, func, axes);
    };
    if ir.parent_op(walk) != Some(func) {
        return Err(Refusal::new(format!("the loop over {name} lies inside of another")).note(ir, walk, "here"));
    }
    let written = |ir: &Ir, op: Op| match ir.op_name(op) {
        kernels::StoreOp::NAME => Some(kernels::StoreOp(op).buffer(ir)),
        kernels::AtomicOp::NAME => Some(kernels::AtomicOp(op).buffer(ir)),
        _ => None,
    };
    let (inside, outside): (Vec<Op>, Vec<Op>) =
        ir.nested_ops(func).into_iter().partition(|&op| op != walk && ir.is_inside(op, walk));
    for op in outside {
        if written(ir, op).is_some() {
            let why = format!("it is done once, not once for each step over {name}");
            return refuse(ir, "something is written beside them".into(), &Dependence { source: op, sink: walk, why });
        }
        if ir.is_op(op, kernels::LoadOp::NAME) {
            let buffer = kernels::LoadOp(op).buffer(ir);
            if let Some(&store) = inside.iter().find(|&&s| written(ir, s) == Some(buffer)) {
                let why = "it reads what was there before any step".to_string();
                return refuse(
                    ir,
                    "they overwrite what is read before".into(),
                    &Dependence { source: op, sink: store, why },
                );
            }
        }
    }
    let rest: Vec<String> =
        kernels::walked_axes(ir, walk).into_iter().filter(|n| **n != name).map(str::to_string).collect();
    if rest.is_empty() {
        let body = ir.body(walk).map(|b| ir.block_op_list(b)).unwrap_or_default();
        for op in body {
            if ir.is_op(op, kernels::YieldOp::NAME) {
                ir.erase(op);
            } else {
                ir.move_op(op, InsertPoint::Before(walk));
            }
        }
        ir.erase(walk);
    } else {
        set_over(ir, walk, &rest);
    }
    axes[axis].reduced = false;
    to_front(ir, func, axes)
}

/// Puts the parallel axes before the others.
fn to_front(ir: &mut Ir, func: Op, axes: &mut Vec<Axis>) -> Result<(), Refusal> {
    let mut order: Vec<usize> = (0..axes.len()).collect();
    order.sort_by_key(|&a| axes[a].reduced);
    permute(ir, func, axes, &order)
}

/// Takes the steps of a parallel axis one after the other, innermost in the loop of the kernel.
///
/// # Errors
/// The kernel does more than what one loop does.
pub fn sequential(ir: &mut Ir, func: Op, axes: &mut Vec<Axis>, axis: usize) -> Result<(), Refusal> {
    if axes[axis].reduced {
        return Ok(());
    }
    let name = axes[axis].name.clone();
    let walks: Vec<Op> = ir.nested_ops(func).into_iter().filter(|&op| !ir.regions_of(op).is_empty()).collect();
    let walk = match walks[..] {
        [] => wrap(ir, func)?,
        [walk] if ir.is_op(walk, kernels::ForOp::NAME) && ir.num_operands(walk) == 0 => walk,
        [walk, ..] => {
            let text = format!("the steps over {name} hold more than one loop without values that it hands on");
            return Err(Refusal::new(text).note(ir, walk, "here"));
        }
    };
    for op in ir.nested_ops(func) {
        if op == walk || ir.is_inside(op, walk) {
            continue;
        }
        let writes = matches!(ir.op_name(op), kernels::StoreOp::NAME | kernels::AtomicOp::NAME);
        let outside = |v| ir.uses(v).any(|(user, _)| !ir.is_inside(user, walk));
        let varies = ir.results(op).any(|v| kernels::axis_of(ir, axes, v) == Some(axis) && outside(v));
        if writes || varies {
            return Err(Refusal::new(format!("not all that depends on {name} stands in the loop")).note(
                ir,
                op,
                "this does not",
            ));
        }
    }
    let body = ir.body(walk).ok_or_else(|| Refusal::new("the loop has no body"))?;
    for v in positions(ir, func, axes, axis) {
        if let Some(op) = ir.def_op(v).filter(|&op| ir.parent_op(op) != Some(walk)) {
            ir.move_op(op, InsertPoint::Start(body));
        }
    }
    let mut over: Vec<String> = kernels::walked_axes(ir, walk).into_iter().map(str::to_string).collect();
    over.push(name);
    set_over(ir, walk, &over);
    axes[axis].reduced = true;
    let order: Vec<usize> = (0..axes.len()).filter(|&a| a != axis).chain([axis]).collect();
    permute(ir, func, axes, &order)
}

/// Puts all that a kernel does into a loop, over no axis yet.
fn wrap(ir: &mut Ir, func: Op) -> Result<Op, Refusal> {
    let block = ir.body(func).ok_or_else(|| Refusal::new("the kernel has no body"))?;
    let ops = ir.block_op_list(block);
    let (loc, name) = (ir.op(func).loc, ir.name(kernels::ForOp::NAME));
    let walk = ir.create(OpSpec::named(name).regions(1).loc(loc), InsertPoint::Start(block));
    let region = ir.regions_of(walk)[0];
    let body = ir.add_block(region);
    let kept: Vec<Op> = ops.into_iter().filter(|&op| !ir.is_op(op, kernels::ReturnOp::NAME)).collect();
    for op in kept {
        ir.move_op(op, InsertPoint::End(body));
    }
    ir.create_op(kernels::YieldOp::NAME, &[], &[], &[], loc, InsertPoint::End(body));
    Ok(walk)
}
