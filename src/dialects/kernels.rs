//! Typed views of the `kernels` dialect: axes of a kernel, and which axes an access walks.

use super::loops::{Access, strides_of};
use crate::ir::{AttrData, Def, Ir, Op, Value};
use rinductor_index::{Atom, Expr, Node};

views!("kernels_views.rs");

/// One axis of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// How many points it has, over symbols.
    pub extent: Expr,
    /// How many of them one step takes.
    pub tile: i64,
    /// How many steps a loop over it takes before it asks whether it is done; 1: as the emitter likes.
    pub unroll: i64,
    /// Whether loops of the body walk it; else it is parallel.
    pub reduced: bool,
}

/// The axes of a `kernels.func`; None if the property is malformed (the verifier says how).
pub fn axes_of(ir: &Ir, func: Op) -> Option<Vec<Axis>> {
    FuncOp::cast(ir, func)?
        .axes(ir)
        .iter()
        .map(|&item| {
            let AttrData::Dict(d) = *ir.attr(item) else { return None };
            let AttrData::IndexMap { exprs, .. } = ir.attr(ir.dict_get(d, "extent")?) else { return None };
            Some(Axis {
                name: ir.as_str(ir.dict_get(d, "name")?)?.to_string(),
                extent: *exprs.first()?,
                tile: ir.as_int(ir.dict_get(d, "tile")?).filter(|&t| t >= 1)?,
                unroll: match ir.dict_get(d, "unroll") {
                    Some(n) => ir.as_int(n).filter(|&n| n >= 1)?,
                    None => 1,
                },
                reduced: match ir.as_str(ir.dict_get(d, "kind")?)? {
                    "parallel" => false,
                    "reduce" => true,
                    _ => return None,
                },
            })
        })
        .collect()
}

/// Writes the axes of a `kernels.func`.
pub fn set_axes(ir: &mut Ir, func: Op, axes: &[Axis]) {
    let mut items = Vec::new();
    for a in axes {
        let mut entries = vec![
            (ir.name("name"), ir.string_attr(&a.name)),
            (ir.name("extent"), ir.index_map_attr(0, &[a.extent])),
            (ir.name("tile"), ir.i64_attr(a.tile)),
            (ir.name("kind"), ir.string_attr(if a.reduced { "reduce" } else { "parallel" })),
        ];
        if a.unroll != 1 {
            entries.push((ir.name("unroll"), ir.i64_attr(a.unroll)));
        }
        let dict = ir.make_dict(entries);
        items.push(ir.make_attr(AttrData::Dict(dict)));
    }
    let axes = ir.array_attr(&items);
    ir.set_prop(func, "axes", Some(axes));
}

/// Of a kernel whose body was left out, the numbers of the arguments that it writes.
pub const WRITES: &str = "kernels.writes";

/// Which arguments a kernel writes: those that something in it stores to, and those of which [`WRITES`] says so.
pub fn written(ir: &Ir, func: Op) -> Vec<bool> {
    let args = ir.body(func).map_or(&[][..], |b| ir.block_args(b));
    let said = ir.attr_of(func, WRITES).and_then(|a| ir.as_ints(a)).unwrap_or_default();
    let stored = |a| ir.uses(a).any(|(op, _)| ir.is_op(op, StoreOp::NAME) || ir.is_op(op, AtomicOp::NAME));
    args.iter().enumerate().map(|(k, &a)| said.contains(&(k as i64)) || stored(a)).collect()
}

/// The axis whose position a value is (`kernels.axis`).
pub fn axis_of(ir: &Ir, axes: &[Axis], value: Value) -> Option<usize> {
    let Def::Result(op, _) = ir.def(value) else { return None };
    let name = AxisOp::cast(ir, op)?.axis(ir);
    axes.iter().position(|a| a.name == name)
}

/// The index of the first index operand of an access op; None for an op that has no addresses.
pub fn address_operands(name: &str) -> Option<usize> {
    match name {
        LoadOp::NAME => Some(1),
        StoreOp::NAME | AtomicOp::NAME => Some(2),
        _ => None,
    }
}

/// For each coordinate of an access the axis whose position it is, if it is that alone.
pub fn coordinate_axes(ir: &Ir, axes: &[Axis], op: Op) -> Vec<Option<usize>> {
    let Some(leading) = address_operands(ir.op_name(op)) else { return Vec::new() };
    let access = Access::of(ir, op, leading);
    let axis = |&e| match ir.exprs.as_atom(e)? {
        Atom::Dim(k) => axis_of(ir, axes, *access.index.get(k as usize)?),
        Atom::Sym(_) => None,
    };
    access.exprs.iter().map(axis).collect()
}

/// The memory that a value of the host shows: views are followed.
pub fn memory_of(ir: &Ir, mut v: Value) -> Value {
    while let Some(op) = ir.def_op(v).filter(|&op| ViewOp::cast(ir, op).is_some()) {
        v = ir.operand(op, 0);
    }
    v
}

/// The axes whose positions the coordinates of an access tell: accesses at different positions on them are at different places. A coordinate tells an axis
/// that it is the position of, and all of those that it adds up like the digits of a number (`32*%yi + %ybi` with 32 points on `yb`).
pub fn told_axes(ir: &Ir, axes: &[Axis], op: Op) -> Vec<usize> {
    let Some(leading) = address_operands(ir.op_name(op)) else { return Vec::new() };
    let access = Access::of(ir, op, leading);
    let axis = |e| match ir.exprs.as_atom(e)? {
        Atom::Dim(k) => axis_of(ir, axes, *access.index.get(k as usize)?),
        Atom::Sym(_) => None,
    };
    let mut told = Vec::new();
    for &e in access.exprs.iter() {
        if let Some(a) = axis(e) {
            told.push(a);
            continue;
        }
        let Node::Sum(terms, _) = ir.exprs.node(e) else { continue };
        let digits: Option<Vec<(i64, usize)>> =
            terms.iter().map(|t| Some((t.coefficient, axis(t.monomial)?))).collect();
        let Some(mut digits) = digits else { continue };
        digits.sort_unstable();
        // The largest number that the lower digits make.
        let mut below = Some(0i64);
        for &(weight, a) in &digits {
            let last = ir.exprs.as_int(axes[a].extent).map(|n| n - 1);
            let fits = below.is_some_and(|b| weight > b);
            below = below.zip(last).filter(|_| fits).and_then(|(b, n)| n.checked_mul(weight)?.checked_add(b));
            if !fits {
                digits.clear();
                break;
            }
        }
        told.extend(digits.iter().map(|d| d.1));
    }
    told
}

/// The step in elements of an access along one axis: None where it is not linear in the axis, or where the place is read from data that varies along it.
pub fn step_along(ir: &mut Ir, axes: &[Axis], op: Op, axis: usize, varies: &dyn Fn(Value) -> bool) -> Option<Expr> {
    let leading = address_operands(ir.op_name(op))?;
    let access = Access::of(ir, op, leading);
    let buffer = *access.leading.last()?;
    let (strides, offset) = strides_of(ir, ir.value_type(buffer))?;
    let mut with = Vec::new();
    for (k, &v) in access.index.iter().enumerate() {
        let e = match axis_of(ir, axes, v) {
            Some(a) => ir.exprs.dim(a as u32),
            None if varies(v) => return None,
            None => ir.exprs.dim((axes.len() + k) as u32),
        };
        with.push((Atom::Dim(k as u32), e));
    }
    let mut sum = offset;
    for (&e, &stride) in access.exprs.iter().zip(&strides) {
        let e = ir.exprs.subst(e, &with);
        let term = ir.exprs.mul(e, stride);
        sum = ir.exprs.add(sum, term);
    }
    let sum = ir.exprs.expand(sum);
    let (step, _) = ir.exprs.linear_in(sum, Atom::Dim(axis as u32))?;
    Some(step)
}

/// The names of the axes that a `kernels.reduce` or `kernels.for` walks.
pub fn walked_axes(ir: &Ir, op: Op) -> Vec<&str> {
    match (ReduceOp::cast(ir, op), ForOp::cast(ir, op)) {
        (Some(reduce), _) => reduce.over(ir),
        (_, Some(walk)) => walk.over(ir),
        _ => Vec::new(),
    }
}
