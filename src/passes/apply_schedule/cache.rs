//! Steps that give what a step of the parallel axes reads or writes of a buffer a place of its own.

use super::axes::set_over;
use super::refusal::{Dependence, Refusal, coordinates};
use crate::dialects::kernel_verify::MAX_LOCAL_BYTES;
use crate::dialects::kernels::{self, Axis};
use crate::dialects::loops::{Access, Dims, index_map, set_index_map};
use crate::ir::{Block, InsertPoint, Ir, Loc, Op, OpSpec, Type, TypeData, Value};
use rinductor_index::{Atom, Expr};

/// Which way what is cached goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Copied before all else, and read.
    Read,
    /// Written, and copied after all else.
    Write,
}

/// What of a buffer a step touches: one element at each position on some axes.
struct Footprint {
    /// The accesses, in the order of the text.
    accesses: Vec<Op>,
    /// One expression a coordinate, over the axes.
    place: Vec<Expr>,
    /// The walked axes on which the place depends.
    walked: Vec<usize>,
    /// The parallel axes with a tile on which it depends.
    lanes: Vec<usize>,
}

/// Puts a copy between a buffer and what the kernel does with it.
///
/// # Errors
/// It touches the buffer at several places, reads what was there before, or too much of it.
pub fn cache(ir: &mut Ir, func: Op, axes: &[Axis], name: &str, way: Way) -> Result<(), Refusal> {
    let body = ir.body(func).ok_or_else(|| Refusal::new("the kernel has no body"))?;
    let buffer = argument(ir, body, name)?;
    let footprint = footprint(ir, func, axes, buffer, name, way)?;
    let (local, ty) = local(ir, axes, &footprint, body, buffer)?;
    for &op in &footprint.accesses {
        redirect(ir, axes, &footprint, op, local);
    }
    let shape: Vec<i64> = (0..axes.len())
        .map(|a| if footprint.walked.contains(&a) || footprint.lanes.contains(&a) { axes[a].tile } else { 1 })
        .collect();
    // What the place does not depend on by a tile still varies along it in no lane.
    let tile = ir.vector_type(&shape, ty);
    copy(ir, axes, &footprint, (buffer, local), tile, body, way);
    Ok(())
}

fn argument(ir: &Ir, body: Block, name: &str) -> Result<Value, Refusal> {
    let args = ir.block_args(body);
    let found = args.iter().copied().find(|&v| ir.value_name(v) == Some(name));
    let buffer = found.filter(|&v| matches!(ir.ty(ir.value_type(v)), TypeData::MemRef { .. }));
    buffer.ok_or_else(|| {
        let names: Vec<&str> = args.iter().filter_map(|&v| ir.value_name(v)).collect();
        Refusal::new(format!("the kernel has no buffer {name}; it has {}", names.join(", ")))
    })
}

fn footprint(ir: &mut Ir, func: Op, axes: &[Axis], buffer: Value, name: &str, way: Way) -> Result<Footprint, Refusal> {
    let touches = |ir: &Ir, op: Op| {
        kernels::address_operands(ir.op_name(op)).is_some_and(|leading| ir.operand(op, leading - 1) == buffer)
    };
    let accesses: Vec<Op> = ir.nested_ops(func).into_iter().filter(|&op| touches(ir, op)).collect();
    let is_load = |ir: &Ir, op: Op| ir.is_op(op, kernels::LoadOp::NAME);
    let Some(&first) = accesses.first() else {
        return Err(Refusal::new(format!("the kernel does not use {name}")));
    };
    if let Some(&atomic) = accesses.iter().find(|&&op| ir.is_op(op, kernels::AtomicOp::NAME)) {
        return Err(Refusal::new(format!("steps combine into {name} together")).note(ir, atomic, "here"));
    }
    let store = accesses.iter().copied().find(|&op| !is_load(ir, op));
    match (way, store) {
        (Way::Read, Some(store)) => {
            let load = accesses.iter().copied().find(|&op| is_load(ir, op)).unwrap_or(store);
            let (source, sink) = if first == store { (store, load) } else { (load, store) };
            let why = "a copy that is made before would hold what is no longer there".to_string();
            return Err(
                Refusal::new(format!("the kernel writes {name}")).forbidden(ir, &Dependence { source, sink, why })
            );
        }
        (Way::Write, None) => return Err(Refusal::new(format!("the kernel does not write {name}"))),
        (Way::Write, Some(store)) if store != first => {
            let why = "it reads what was there before".to_string();
            return Err(Refusal::new(format!("the kernel reads {name} before it writes it"))
                .forbidden(ir, &Dependence { source: first, sink: store, why }));
        }
        _ => {}
    }
    let mut data = Vec::new();
    let place = coordinates(ir, axes, first, &mut data);
    for &op in &accesses {
        let leading = kernels::address_operands(ir.op_name(op)).unwrap_or(1);
        if Access::of(ir, op, leading).guard.is_some() {
            return Err(Refusal::new(format!("{name} is used under a guard")).note(ir, op, "here"));
        }
        if coordinates(ir, axes, op, &mut data) != place {
            let why = "it is at another place in the same step".to_string();
            return Err(Refusal::new(format!("{name} is used at several places"))
                .forbidden(ir, &Dependence { source: first, sink: op, why }));
        }
    }
    if !data.is_empty() {
        return Err(Refusal::new(format!("where {name} is used is read from data")).note(ir, first, "here"));
    }
    let occurs = |ir: &Ir, a: usize| place.iter().any(|&e| ir.exprs.contains(e, Atom::Dim(a as u32)));
    let used: Vec<usize> = (0..axes.len()).filter(|&a| occurs(ir, a)).collect();
    let (walked, parallel): (Vec<usize>, Vec<usize>) = used.into_iter().partition(|&a| axes[a].reduced);
    if walked.is_empty() {
        let text = format!("a step uses one element of {name}: there is nothing to keep from one use to the next");
        return Err(Refusal::new(text).note(ir, first, "here"));
    }
    let told = kernels::told_axes(ir, axes, first);
    if way == Way::Write && walked.iter().any(|a| !told.contains(a)) {
        let why = "two points of a step write one place".to_string();
        return Err(Refusal::new(format!("{name} is written several times"))
            .forbidden(ir, &Dependence { source: first, sink: first, why }));
    }
    let lanes = parallel.into_iter().filter(|&a| axes[a].tile > 1).collect();
    Ok(Footprint { accesses, place, walked, lanes })
}

/// Makes the memory; gives it and the type of its elements.
fn local(
    ir: &mut Ir,
    axes: &[Axis],
    footprint: &Footprint,
    body: Block,
    buffer: Value,
) -> Result<(Value, Type), Refusal> {
    let mut shape = Vec::new();
    for &a in &footprint.walked {
        let extent = ir.exprs.as_int(axes[a].extent);
        let text = || format!("how many points {} has is not known before a call", axes[a].name);
        shape.push(extent.ok_or_else(|| Refusal::new(text()))?);
    }
    shape.extend(footprint.lanes.iter().map(|&a| axes[a].tile));
    let element = ir.element_type(ir.value_type(buffer));
    let bytes = crate::dialects::dtype_of(ir, element).map_or(8, |d| i64::from(d.bits().div_ceil(8)));
    let all = shape.iter().try_fold(bytes, |n, &s| n.checked_mul(s)).filter(|&n| n <= MAX_LOCAL_BYTES);
    if all.is_none() {
        let sizes: Vec<String> = shape.iter().map(i64::to_string).collect();
        let text = format!(
            "{} elements of {bytes} bytes are more than the {MAX_LOCAL_BYTES} that a step may keep",
            sizes.join(" x ")
        );
        return Err(Refusal::new(text));
    }
    let ty = ir.memref_type(&shape, element, None);
    let loc = footprint.accesses.first().map(|&op| ir.op(op).loc).unwrap_or_default();
    let local = ir.create_value(kernels::LocalOp::NAME, &[], ty, &[], loc, InsertPoint::Start(body));
    let name = format!("{}_kept", ir.value_name(buffer).unwrap_or("buffer"));
    let name = ir.name(&name);
    ir.set_value_name(local, Some(name));
    Ok((local, element))
}

/// The coordinates in the memory, over the axes.
fn kept_at(ir: &mut Ir, axes: &[Axis], footprint: &Footprint) -> Vec<Expr> {
    let mut place: Vec<Expr> = footprint.walked.iter().map(|&a| ir.exprs.dim(a as u32)).collect();
    for &a in &footprint.lanes {
        let (position, tile) = (ir.exprs.dim(a as u32), ir.exprs.int(axes[a].tile));
        place.push(ir.exprs.modulo(position, tile));
    }
    place
}

/// Makes an access one of the memory.
fn redirect(ir: &mut Ir, axes: &[Axis], footprint: &Footprint, op: Op, local: Value) {
    let leading = kernels::address_operands(ir.op_name(op)).unwrap_or(1);
    let mut access = Access::of(ir, op, leading);
    let mut dims = Dims::default();
    let mut with = Vec::new();
    for &v in &access.index {
        if let Some(a) = kernels::axis_of(ir, axes, v) {
            let n = dims.number(v);
            with.push((Atom::Dim(a as u32), ir.exprs.dim(n)));
        }
    }
    let exprs: Vec<Expr> = kept_at(ir, axes, footprint).into_iter().map(|e| ir.exprs.subst(e, &with)).collect();
    let (map, index) = index_map(ir, &dims, &exprs);
    if let Some(buffer) = access.leading.last_mut() {
        *buffer = local;
    }
    let operands: Vec<Value> = access.leading.iter().copied().chain(index).collect();
    set_index_map(ir, &access, map, &operands);
    ir.set_operands(op, &operands);
}

/// Copies one into the other: before all that uses the memory, or after it.
fn copy(
    ir: &mut Ir,
    axes: &[Axis],
    footprint: &Footprint,
    (buffer, local): (Value, Value),
    tile: Type,
    body: Block,
    way: Way,
) {
    let loc: Loc = footprint.accesses.first().map(|&op| ir.op(op).loc).unwrap_or_default();
    let name = ir.name(kernels::ForOp::NAME);
    let made = ir.def_op(local);
    let at = match (way, made, ir.last_op(body)) {
        (Way::Read, Some(made), _) => InsertPoint::After(made),
        (_, _, Some(end)) => InsertPoint::Before(end),
        _ => InsertPoint::End(body),
    };
    let walk = ir.create(OpSpec::named(name).regions(1).loc(loc), at);
    let over: Vec<String> = footprint.walked.iter().map(|&a| axes[a].name.clone()).collect();
    set_over(ir, walk, &over);
    let region = ir.regions_of(walk)[0];
    let block = ir.add_block(region);
    let end = InsertPoint::End(block);
    let index = ir.index_type();
    let mut dims = Dims::default();
    let mut with = Vec::new();
    for (a, axis) in axes.iter().enumerate() {
        if !footprint.place.iter().any(|&e| ir.exprs.contains(e, Atom::Dim(a as u32))) {
            continue;
        }
        let shape: Vec<i64> = (0..axes.len()).map(|k| if k == a { axis.tile } else { 1 }).collect();
        let (ty, word) = (ir.vector_type(&shape, index), ir.string_attr(&axis.name));
        let position = ir.create_value(kernels::AxisOp::NAME, &[], ty, &[("axis", word)], loc, end);
        let shown = ir.name(&format!("{}i", axis.name));
        ir.set_value_name(position, Some(shown));
        let n = dims.number(position);
        with.push((Atom::Dim(a as u32), ir.exprs.dim(n)));
    }
    let there: Vec<Expr> = footprint.place.clone();
    let kept = kept_at(ir, axes, footprint);
    let (from, to) = if way == Way::Read { ((buffer, there), (local, kept)) } else { ((local, kept), (buffer, there)) };
    let access = |ir: &mut Ir, exprs: &[Expr]| {
        let exprs: Vec<Expr> = exprs.iter().map(|&e| ir.exprs.subst(e, &with)).collect();
        index_map(ir, &dims, &exprs)
    };
    let (map, index) = access(ir, &from.1);
    let operands: Vec<Value> = std::iter::once(from.0).chain(index).collect();
    let value = ir.create_value(kernels::LoadOp::NAME, &operands, tile, &[("map", map)], loc, end);
    let (map, index) = access(ir, &to.1);
    let operands: Vec<Value> = [value, to.0].into_iter().chain(index).collect();
    ir.create_op(kernels::StoreOp::NAME, &operands, &[], &[("map", map)], loc, end);
    ir.create_op(kernels::YieldOp::NAME, &[], &[], &[], loc, end);
}
