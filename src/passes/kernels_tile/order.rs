//! The order in which the axes of a kernel are stepped.
//!
//! The tiled axis steps fastest, so that neighbouring steps touch neighbouring memory; but where a kernel also reads or writes with a stride along it
//! (a transpose), the cache lines that one step touches there hold what steps along another axis want. That axis is cut into blocks, and a block is
//! stepped within each tile: of `y = 1024, x = 1280 tile 16` becomes `y = 32, x = 1280 tile 16, yb = 32`.

use crate::dialects::kernels::{self, Axis};
use crate::dialects::loops::{self, Access, Dims};
use crate::ir::{AttrData, InsertPoint, Ir, Op, Type, TypeData, Value};
use crate::sched::tile;
use rinductor_index::Atom;

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

/// The values of a kernel that are the position on an axis.
pub fn positions(ir: &Ir, func: Op, axes: &[Axis], axis: usize) -> Vec<Value> {
    let all = ir.ops_named(func, kernels::AxisOp::NAME).into_iter().map(|op| ir.result(op, 0));
    all.filter(|&v| kernels::axis_of(ir, axes, v) == Some(axis)).collect()
}

/// Cuts an axis into blocks, if its extent is a multiple of one of the sizes and all that is done with its position can be said of two: the axis becomes
/// that of the blocks, and the axis within a block is given.
pub fn block(ir: &mut Ir, func: Op, axes: &mut [Axis], axis: usize, sizes: &[i64]) -> Option<Axis> {
    let extent = ir.exprs.as_int(axes[axis].extent)?;
    let size = *sizes.iter().find(|&&b| extent % b == 0 && extent > b)?;
    let positions = positions(ir, func, axes, axis);
    let leading = |name: &str| match name {
        kernels::IndexOp::NAME => Some(0),
        name => kernels::address_operands(name),
    };
    if positions.iter().any(|&v| ir.uses(v).any(|(user, _)| leading(ir.op_name(user)).is_none())) {
        return None;
    }
    let name =
        (1..).map(|k| format!("{}{}", axes[axis].name, "b".repeat(k))).find(|n| axes.iter().all(|a| a.name != *n))?;
    for outer in positions {
        let op = ir.def_op(outer)?;
        let (loc, ty, word) = (ir.op(op).loc, ir.value_type(outer), ir.string_attr(&name));
        let within = ir.create_value(kernels::AxisOp::NAME, &[], ty, &[("axis", word)], loc, InsertPoint::After(op));
        let shown = ir.name(&format!("{name}i"));
        ir.set_value_name(within, Some(shown));
        for user in ir.users(outer) {
            let n = leading(ir.op_name(user))?;
            let access = Access::of(ir, user, n);
            let mut dims = Dims::default();
            let exprs = access.in_dims(ir, &mut dims);
            let (a, b) = (dims.number(outer), dims.number(within));
            let (a_dim, b_dim, factor) = (ir.exprs.dim(a), ir.exprs.dim(b), ir.exprs.int(size));
            let product = ir.exprs.mul(a_dim, factor);
            let position = ir.exprs.add(product, b_dim);
            let exprs: Vec<_> = exprs.into_iter().map(|e| ir.exprs.subst(e, &[(Atom::Dim(a), position)])).collect();
            let (map, index) = loops::index_map(ir, &dims, &exprs);
            let operands: Vec<Value> = access.leading.iter().copied().chain(index).chain(access.guard).collect();
            loops::set_index_map(ir, &access, map, &operands);
            ir.set_operands(user, &operands);
        }
    }
    add_dimension(ir, func, axes.len());
    let inner = Axis { name, extent: ir.exprs.int(size), tile: 1, reduced: false };
    axes[axis].extent = ir.exprs.int(extent / size);
    Some(inner)
}

/// Gives every value of a kernel with `rank` axes, all of tile 1, a dimension for one more axis.
fn add_dimension(ir: &mut Ir, func: Op, rank: usize) {
    let wider = |ir: &mut Ir, ty: Type| match ir.ty(ty) {
        TypeData::Vector { shape, element, .. } if shape.len() == rank => {
            let (shape, element) = (vec![1; rank + 1], *element);
            Some(ir.vector_type(&shape, element))
        }
        _ => None,
    };
    for op in ir.nested_ops(func) {
        let carried = ir.body(op).map(|b| ir.block_args(b).to_vec()).unwrap_or_default();
        let values: Vec<Value> = ir.results(op).chain(carried).collect();
        for v in values {
            let ty = ir.value_type(v);
            if let Some(ty) = wider(ir, ty) {
                ir.set_value_type(v, ty);
            }
        }
        let constant = ir.attr_of(op, "value").map(|a| ir.attr(a).clone());
        if let Some(AttrData::Dense { text, ty }) = constant
            && let Some(ty) = wider(ir, ty)
        {
            let value = ir.make_attr(AttrData::Dense { text, ty });
            ir.set_prop(op, "value", Some(value));
        }
    }
}
