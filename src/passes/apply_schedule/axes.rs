//! Steps on the axes of a kernel: cutting one in two, and putting them in another order.

use super::refusal::{Dependence, Refusal, kept_in_order};
use crate::dialects::kernels::{self, Axis};
use crate::dialects::loops::{self, Access, Dims};
use crate::ir::{AttrData, InsertPoint, Ir, Loc, Op, Type, TypeData, Value};
use rinductor_index::{Atom, Expr};

/// The number of the operands before the indices, of an op with an index map.
pub fn leading_operands(name: &str) -> Option<usize> {
    match name {
        kernels::IndexOp::NAME => Some(0),
        name => kernels::address_operands(name),
    }
}

/// The axis of a name.
///
/// # Errors
/// There is none.
pub fn find(axes: &[Axis], name: &str) -> Result<usize, Refusal> {
    axes.iter().position(|a| a.name == name).ok_or_else(|| {
        let names: Vec<&str> = axes.iter().map(|a| a.name.as_str()).collect();
        Refusal::new(format!("the kernel has no axis {name}; it has {}", names.join(", ")))
    })
}

/// Cuts an axis without a tile into blocks of `size` points. The axis becomes that of the blocks; that of the points of a block, which it gives, has the
/// last number, and steps right inside of it. `names` are those of the two.
///
/// # Errors
/// Positions are used otherwise than in index expressions, or what is beyond the last point cannot be left out.
pub fn split(
    ir: &mut Ir,
    func: Op,
    axes: &mut Vec<Axis>,
    axis: usize,
    size: i64,
    names: (&str, &str),
) -> Result<usize, Refusal> {
    let old = axes[axis].clone();
    let (outer, inner) = names;
    let others = |name: &str| axes.iter().any(|a| a.name == name && a.name != old.name);
    if let Some(name) = [outer, inner].into_iter().find(|n| others(n)).or((outer == inner).then_some(outer)) {
        return Err(Refusal::new(format!("two axes would have the name {name}")));
    }
    if old.tile != 1 {
        return Err(Refusal::new(format!("the axis {} has a tile already: split before vectorize", old.name)));
    }
    let positions = positions(ir, func, axes, axis);
    for &v in &positions {
        if let Some((user, _)) = ir.uses(v).find(|(user, _)| leading_operands(ir.op_name(*user)).is_none()) {
            let text =
                format!("the position on {} is used by '{}', not in an index expression", old.name, ir.op_name(user));
            return Err(Refusal::new(text).note(ir, user, "here"));
        }
    }
    let factor = ir.exprs.int(size);
    let (blocks, whole) = (ir.exprs.ceildiv(old.extent, factor), ir.exprs.modulo(old.extent, factor));
    let divides = ir.exprs.as_int(whole) == Some(0);
    if !divides {
        may_leave_out(ir, func, &old, size)?;
    }
    for outer_position in positions {
        cut_position(ir, outer_position, size, (outer, inner), (!divides).then_some(old.extent));
    }
    add_dimension(ir, func, axes.len());
    for walk in ir.nested_ops(func) {
        let over: Vec<String> = kernels::walked_axes(ir, walk).into_iter().map(str::to_string).collect();
        if over.contains(&old.name) {
            let both =
                |n: &String| if *n == old.name { vec![outer.to_string(), inner.to_string()] } else { vec![n.clone()] };
            set_over(ir, walk, &over.iter().flat_map(both).collect::<Vec<_>>());
        }
    }
    axes[axis] = Axis { name: outer.to_string(), extent: blocks, ..old.clone() };
    axes.push(Axis { name: inner.to_string(), extent: factor, ..old });
    Ok(axes.len() - 1)
}

/// Whether points beyond the last one can be left out by guards: nothing is combined or handed on over them, and nothing stops the run at them.
fn may_leave_out(ir: &Ir, func: Op, axis: &Axis, size: i64) -> Result<(), Refusal> {
    for op in ir.nested_ops(func) {
        let name = ir.op_name(op);
        let combines = name == kernels::ReduceOp::NAME || ir.num_operands(op) > 0;
        let why = if kernels::walked_axes(ir, op).contains(&axis.name.as_str()) && combines {
            "this combines what lies beyond them"
        } else if name == kernels::PositionOp::NAME || is_division(name) {
            "this may stop the run beyond them"
        } else {
            continue;
        };
        let extent = ir.exprs.display(axis.extent);
        let text = format!("the {extent} points of {} are no multiple of {size}", axis.name);
        return Err(Refusal::new(text).note(ir, op, why));
    }
    Ok(())
}

/// Whether an op is a division of integers, which has no value where the divisor is 0.
fn is_division(name: &str) -> bool {
    let whole = name.ends_with('i') || name.starts_with("scalar.");
    whole && (name.contains("div") || name.contains("rem") || name.contains("mod"))
}

/// The results of `kernels.axis` for an axis.
pub fn positions(ir: &Ir, func: Op, axes: &[Axis], axis: usize) -> Vec<Value> {
    let all = ir.ops_named(func, kernels::AxisOp::NAME).into_iter().map(|op| ir.result(op, 0));
    all.filter(|&v| kernels::axis_of(ir, axes, v) == Some(axis)).collect()
}

/// Makes a position that of a block, and `size` times it and a position in the block what it was. With an extent, what is beyond that is left out.
fn cut_position(ir: &mut Ir, outer: Value, size: i64, names: (&str, &str), extent: Option<Expr>) {
    let Some(op) = ir.def_op(outer) else { return };
    let (loc, ty) = (ir.op(op).loc, ir.value_type(outer));
    let (outer_word, word) = (ir.string_attr(names.0), ir.string_attr(names.1));
    ir.set_prop(op, "axis", Some(outer_word));
    let within = ir.create_value(kernels::AxisOp::NAME, &[], ty, &[("axis", word)], loc, InsertPoint::After(op));
    let shown = ir.name(&format!("{}i", names.1));
    ir.set_value_name(within, Some(shown));
    let users = ir.users(outer);
    let guard = extent.and_then(|extent| inside(ir, (outer, within), size, extent, loc));
    for user in users {
        let Some(n) = leading_operands(ir.op_name(user)) else { continue };
        let mut access = Access::of(ir, user, n);
        let mut dims = Dims::default();
        let exprs = access.in_dims(ir, &mut dims);
        let (a, b) = (dims.number(outer), dims.number(within));
        let position = cut_expr(ir, a, b, size);
        let exprs: Vec<_> = exprs.into_iter().map(|e| ir.exprs.subst(e, &[(Atom::Dim(a), position)])).collect();
        let (map, index) = loops::index_map(ir, &dims, &exprs);
        if n > 0
            && let Some(guard) = guard
        {
            access.guard = Some(match access.guard {
                Some(own) => {
                    let (ty, at) = (ir.value_type(own), InsertPoint::Before(user));
                    let guard = match ir.value_type(guard) == ty {
                        true => guard,
                        false => ir.create_value(kernels::BroadcastOp::NAME, &[guard], ty, &[], loc, at),
                    };
                    ir.create_value("arith.andi", &[own, guard], ty, &[], loc, at)
                }
                None => guard,
            });
        }
        let operands: Vec<Value> = access.leading.iter().copied().chain(index).chain(access.guard).collect();
        loops::set_index_map(ir, &access, map, &operands);
        ir.set_operands(user, &operands);
    }
}

fn cut_expr(ir: &mut Ir, outer: u32, inner: u32, size: i64) -> Expr {
    let (a, b, factor) = (ir.exprs.dim(outer), ir.exprs.dim(inner), ir.exprs.int(size));
    let product = ir.exprs.mul(a, factor);
    ir.exprs.add(product, b)
}

/// Whether the point of a block at a position is one of the axis.
fn inside(ir: &mut Ir, (outer, within): (Value, Value), size: i64, extent: Expr, loc: Loc) -> Option<Value> {
    let mut dims = Dims::default();
    let (a, b) = (dims.number(outer), dims.number(within));
    let position = cut_expr(ir, a, b, size);
    let (i64, i1) = (ir.int_type(64), ir.int_type(1));
    let index = ir.value_type(outer);
    let (number, truth) = (ir.with_element(index, i64), ir.with_element(index, i1));
    let mut last = ir.def_op(within)?;
    let mut make = |ir: &mut Ir, name: &str, operands: &[Value], ty: Type, props: &[(&str, crate::ir::Attr)]| {
        let v = ir.create_value(name, operands, ty, props, loc, InsertPoint::After(last));
        last = ir.def_op(v).unwrap_or(last);
        v
    };
    let (map, operands) = loops::index_map(ir, &dims, &[position]);
    let point = make(ir, kernels::IndexOp::NAME, &operands, number, &[("map", map)]);
    let (map, _) = loops::index_map(ir, &Dims::default(), &[extent]);
    let end = make(ir, kernels::IndexOp::NAME, &[], number, &[("map", map)]);
    // MLIR's number of the predicate slt.
    let predicate = ir.i64_attr(2);
    Some(make(ir, "arith.cmpi", &[point, end], truth, &[("predicate", predicate)]))
}

/// Gives every value of a kernel with `rank` axes a dimension of 1 for one more axis.
fn add_dimension(ir: &mut Ir, func: Op, rank: usize) {
    reshape(ir, func, rank, &|shape| shape.iter().copied().chain([1]).collect());
}

/// Gives the vectors of a kernel with `rank` axes other shapes.
pub fn reshape(ir: &mut Ir, func: Op, rank: usize, shape_of: &dyn Fn(&[i64]) -> Vec<i64>) {
    let other = |ir: &mut Ir, ty: Type| match ir.ty(ty) {
        TypeData::Vector { shape, element, .. } if shape.len() == rank => {
            let (shape, element) = (shape_of(shape), *element);
            Some(ir.vector_type(&shape, element))
        }
        _ => None,
    };
    for op in ir.nested_ops(func) {
        let carried = ir.body(op).map(|b| ir.block_args(b).to_vec()).unwrap_or_default();
        let values: Vec<Value> = ir.results(op).chain(carried).collect();
        for v in values {
            let ty = ir.value_type(v);
            if let Some(ty) = other(ir, ty) {
                ir.set_value_type(v, ty);
            }
        }
        let constant = ir.attr_of(op, "value").map(|a| ir.attr(a).clone());
        if let Some(AttrData::Dense { text, ty }) = constant
            && let Some(ty) = other(ir, ty)
        {
            let value = ir.make_attr(AttrData::Dense { text, ty });
            ir.set_prop(op, "value", Some(value));
        }
    }
}

/// Puts the axes in the order in which `order` names them.
///
/// # Errors
/// A loop over a reduced axis would lie outside of the steps, or an order that must be kept would change.
pub fn permute(ir: &mut Ir, func: Op, axes: &mut Vec<Axis>, order: &[usize]) -> Result<(), Refusal> {
    if order.iter().enumerate().all(|(k, &a)| k == a) {
        return Ok(());
    }
    let new: Vec<Axis> = order.iter().map(|&a| axes[a].clone()).collect();
    let first_reduced = new.iter().position(|a| a.reduced).unwrap_or(new.len());
    if let Some(inside) = new[first_reduced..].iter().find(|a| !a.reduced) {
        let walked = &new[first_reduced].name;
        let refusal = Refusal::new(format!("the loops over {walked} lie inside of the steps of {}", inside.name));
        return Err(match consumer(ir, func, walked) {
            Some(dependence) => refusal.forbidden(ir, &dependence),
            None => refusal,
        });
    }
    let place = |name: &str| new.iter().position(|a| a.name == name);
    let mut walks = Vec::new();
    for walk in ir.nested_ops(func) {
        let over: Vec<String> = kernels::walked_axes(ir, walk).into_iter().map(str::to_string).collect();
        let mut sorted = over.clone();
        sorted.sort_by_key(|name| place(name));
        if sorted == over {
            continue;
        }
        if let Some(dependence) = kept_in_order(ir, axes, walk, false) {
            let text = format!("the loop over {} keeps its order", over.join(", "));
            return Err(Refusal::new(text).forbidden(ir, &dependence));
        }
        walks.push((walk, sorted));
    }
    for (walk, over) in walks {
        set_over(ir, walk, &over);
    }
    let rank = axes.len();
    reshape(ir, func, rank, &|shape| order.iter().map(|&a| shape[a]).collect());
    *axes = new;
    Ok(())
}

/// What a walk over an axis computes, and what in the same step needs it.
fn consumer(ir: &Ir, func: Op, axis: &str) -> Option<Dependence> {
    let walks = ir.nested_ops(func).into_iter().filter(|&op| kernels::walked_axes(ir, op).contains(&axis));
    walks.into_iter().find_map(|walk| {
        let sink = ir.results(walk).find_map(|r| ir.uses(r).next())?.0;
        Some(Dependence { source: walk, sink, why: format!("what is combined over {axis} is needed whole") })
    })
}

/// Writes which axes a walk walks.
pub fn set_over(ir: &mut Ir, walk: Op, names: &[String]) {
    let words: Vec<_> = names.iter().map(|n| ir.string_attr(n)).collect();
    let over = ir.array_attr(&words);
    ir.set_prop(walk, "over", Some(over));
}

/// Where the axis with the last number goes so that it steps right inside of another: the order of all.
pub fn last_after(count: usize, axis: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count - 1).collect();
    order.insert(axis + 1, count - 1);
    order
}
