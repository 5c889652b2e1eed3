//! Kernels of nests whose points depend on each other: scans carry a value along one axis, scatters put points where data says.

use super::axes::axis_names;
use super::kernel::{Axis, Kernel, Scope};
use crate::dialects::loops::{Access, Dims, Nest, index_map};
use crate::dialects::{kernels, loops};
use crate::ir::{Attr, InsertPoint, Ir, Loc, Op, OpSpec, Type, TypeData, Value};
use crate::support::Diagnostic;
use rinductor_index::{Atom, Expr};
use rinductor_scalar::{DType, Scalar};
use rinductor_support::FxHashMap;

/// A kernel whose axes are the dimensions of a nest, the reduced ones innermost; and the axis expression of each dimension.
fn kernel_over(ir: &mut Ir, nest: &Nest, reduced: &[bool], func: Op, loc: Loc) -> (Kernel, Vec<Expr>) {
    let mut order: Vec<usize> = (0..nest.space.len()).collect();
    order.sort_by_key(|&d| (reduced[d], d));
    let names = axis_names(&order.iter().map(|&d| reduced[d]).collect::<Vec<_>>());
    let mut axes: Vec<Axis> =
        order.iter().zip(names).map(|(&d, name)| Axis { name, extent: nest.space[d], reduced: reduced[d] }).collect();
    if axes.iter().all(|a| a.reduced) {
        axes.insert(0, Axis { name: "x".into(), extent: ir.exprs.int(1), reduced: false });
    }
    let first = axes.len() - order.len();
    let place = (0..nest.space.len())
        .map(|d| {
            let k = order.iter().position(|&o| o == d).unwrap_or(0) + first;
            ir.exprs.dim(k as u32)
        })
        .collect();
    (Kernel::new(ir, axes, func, loc), place)
}

fn places(ir: &Ir, nest: &Nest, place: &[Expr]) -> FxHashMap<Value, Expr> {
    Dims::of_block(ir, nest.body).values.iter().copied().zip(place.iter().copied()).collect()
}

fn body(
    ir: &mut Ir,
    nest: &Nest,
    kernel: &mut Kernel,
    scope: &mut Scope,
    place: &[Expr],
    buffers: &FxHashMap<Value, Value>,
) {
    let place = places(ir, nest, place);
    let terminator = nest.terminator(ir);
    for op in ir.block_op_list(nest.body) {
        if op != terminator {
            kernel.scalar_op(ir, op, scope, &place, buffers, true);
        }
    }
}

/// `kernels.for` over the reduced axes, empty; its op and block.
fn walk_op(
    ir: &mut Ir,
    kernel: &Kernel,
    top: &Scope,
    carried: &[Value],
    extra: &[(&str, Attr)],
    loc: Loc,
) -> (Op, crate::ir::Block) {
    let types: Vec<Type> = carried.iter().map(|&v| ir.value_type(v)).collect();
    let name = ir.name(kernels::ForOp::NAME);
    let spec = OpSpec::named(name).operands(carried).results(&types).regions(1).loc(loc);
    let walk = ir.create(spec, InsertPoint::End(top.block));
    let over = kernel.reduced_names(ir);
    ir.set_prop(walk, "over", Some(over));
    for &(name, attr) in extra {
        ir.set_prop(walk, name, Some(attr));
    }
    let region = ir.regions_of(walk)[0];
    let block = ir.add_block(region);
    for &ty in &types {
        ir.add_block_arg(block, ty);
    }
    (walk, block)
}

/// The kernel of a scan. `outputs` are the buffers of its results.
///
/// # Errors
/// A combiner that cannot be carried yet.
#[allow(clippy::too_many_arguments)] // one call site
pub fn scan(
    ir: &mut Ir,
    nest: &Nest,
    outputs: &[Value],
    buffers: &FxHashMap<Value, Value>,
    name: &str,
    func: Op,
    at: InsertPoint,
) -> Result<Vec<Value>, Diagnostic> {
    let loc = ir.op(nest.op).loc;
    let scan = loops::ScanOp(nest.op);
    let (along, exclusive, reverse) = (scan.dim(ir) as usize, scan.exclusive(ir), scan.reverse(ir));
    let reduced: Vec<bool> = (0..nest.space.len()).map(|d| d == along).collect();
    let combiner = nest.combiner(ir).to_string();
    let element = ir.value_type(ir.result(nest.op, 0));
    let element = ir.element_type(element);
    let (mut kernel, place) = kernel_over(ir, nest, &reduced, func, loc);
    let mut top = kernel.top(ir, loc);
    let tile = kernel.tile(ir, element);
    let end = InsertPoint::End(top.block);
    let first = identity(ir, &combiner, element).ok_or_else(|| unsupported(ir, nest, &combiner))?;
    let first = crate::passes::util::constant(ir, first, tile, loc, end);
    let mut carried = vec![first];
    if matches!(combiner.as_str(), "argmax" | "argmin") {
        let i64 = ir.int_type(64);
        let (nowhere, tile) = (ir.int_attr(i64::MAX, i64), kernel.tile(ir, i64));
        carried.push(crate::passes::util::constant(ir, nowhere, tile, loc, end));
    }
    let extra: Vec<(&str, Attr)> = if reverse { vec![("reverse", ir.unit_attr())] } else { Vec::new() };
    let (_, block) = walk_op(ir, &kernel, &top, &carried, &extra, loc);
    let mut scope = kernel.walk(ir, &top, block, loc);
    body(ir, nest, &mut kernel, &mut scope, &place, buffers);
    let terminator = nest.terminator(ir);
    let new: Vec<Value> = ir.operands(terminator).map(|v| scope.map.get(&v).copied().unwrap_or(v)).collect();
    let old = ir.block_args(block).to_vec();
    let end = InsertPoint::End(block);
    let next = combine(ir, &combiner, &old, &new, loc, end).ok_or_else(|| unsupported(ir, nest, &combiner))?;
    let stored = if exclusive { &old } else { &next };
    for (k, &host) in outputs.iter().enumerate() {
        let name = ir.value_name(ir.result(nest.op, k)).map(str::to_string);
        kernel.store(ir, &scope, stored[k], host, &place, true, name.as_deref(), loc);
    }
    ir.create_op(kernels::YieldOp::NAME, &next, &[], &[], loc, end);
    top.map.clear();
    Ok(kernel.finish(ir, name, at, loc))
}

fn unsupported(ir: &Ir, nest: &Nest, combiner: &str) -> Diagnostic {
    let place = ir.place(ir.op(nest.op).loc);
    Diagnostic::error(place, format!("'loops.scan' with {combiner} has no kernel"))
        .help("decompose it into add, mul, maximum, minimum, logsumexp, argmax or argmin scans")
}

/// The value that changes nothing.
fn identity(ir: &mut Ir, combiner: &str, element: Type) -> Option<Attr> {
    let dtype = crate::dialects::dtype_of(ir, element)?;
    let value = match combiner {
        "add" | "or" | "xor" => Scalar::zero(dtype),
        "mul" => Scalar::one(dtype),
        "and" if dtype == DType::I1 => Scalar::bool(true),
        "and" => Scalar::from_i64(dtype, -1),
        "maximum" | "argmax" => Scalar::lowest(dtype)?,
        "minimum" | "argmin" => Scalar::highest(dtype)?,
        "logsumexp" => Scalar::lowest(dtype)?,
        _ => return None,
    };
    crate::dialects::scalar_attr(ir, value)
}

/// One step of a scan: the carried values after the new ones.
fn combine(ir: &mut Ir, combiner: &str, old: &[Value], new: &[Value], loc: Loc, at: InsertPoint) -> Option<Vec<Value>> {
    let ty = ir.value_type(old[0]);
    let element = ir.element_type(ty);
    let float = matches!(ir.ty(element), TypeData::Float(_));
    let unsigned = matches!(ir.ty(element), TypeData::Integer { width: 1, .. })
        || matches!(ir.ty(element), TypeData::Integer { sign: crate::ir::Signedness::Unsigned, .. });
    let op = match (combiner, float) {
        ("add", true) => "arith.addf",
        ("add", false) => "arith.addi",
        ("mul", true) => "arith.mulf",
        ("mul", false) => "arith.muli",
        ("maximum", true) => "arith.maximumf",
        ("minimum", true) => "arith.minimumf",
        ("maximum", false) => {
            if unsigned {
                "arith.maxui"
            } else {
                "arith.maxsi"
            }
        }
        ("minimum", false) => {
            if unsigned {
                "arith.minui"
            } else {
                "arith.minsi"
            }
        }
        ("and", false) => "arith.andi",
        ("or", false) => "arith.ori",
        ("xor", false) => "arith.xori",
        ("logsumexp", true) => return Some(vec![log_add_exp(ir, old[0], new[0], loc, at)]),
        ("argmax" | "argmin", _) => return arg_combine(ir, combiner == "argmax", (float, unsigned), old, new, loc, at),
        _ => return None,
    };
    Some(vec![ir.create_value(op, &[old[0], new[0]], ty, &[], loc, at)])
}

/// log(exp(a) + exp(b)) without overflow: max + log1p(exp(min - max)); of equal infinities, whose difference is no number, the maximum.
fn log_add_exp(ir: &mut Ir, a: Value, b: Value, loc: Loc, at: InsertPoint) -> Value {
    let ty = ir.value_type(a);
    let bool_ty = ir.int_type(1);
    let bool_ty = ir.with_element(ty, bool_ty);
    let binary = |ir: &mut Ir, name: &str, x, y| ir.create_value(name, &[x, y], ty, &[], loc, at);
    let high = binary(ir, "arith.maximumf", a, b);
    let low = binary(ir, "arith.minimumf", a, b);
    let apart = binary(ir, "arith.subf", low, high);
    let less = ir.create_value("math.exp", &[apart], ty, &[], loc, at);
    let more = ir.create_value("math.log1p", &[less], ty, &[], loc, at);
    let sum = binary(ir, "arith.addf", high, more);
    // MLIR's number of the predicate oeq is 1.
    let equal = ir.i64_attr(1);
    let gone = binary(ir, "arith.subf", high, high);
    let finite = ir.create_value("arith.cmpf", &[gone, gone], bool_ty, &[("predicate", equal)], loc, at);
    ir.create_value("arith.select", &[finite, sum, high], ty, &[], loc, at)
}

/// `new` takes the place of `old` when it is at least as good (torch's cummax keeps the last of equals) or NaN.
fn arg_combine(
    ir: &mut Ir,
    max: bool,
    (float, unsigned): (bool, bool),
    old: &[Value],
    new: &[Value],
    loc: Loc,
    at: InsertPoint,
) -> Option<Vec<Value>> {
    let (&[best, where_best], &[value, here]) = (old, new) else { return None };
    let (ty, pos_ty) = (ir.value_type(best), ir.value_type(where_best));
    let bool_ty = ir.int_type(1);
    let bool_ty = ir.with_element(ty, bool_ty);
    // MLIR's numbers of the predicates: cmpf oge = 3, ole = 5, une = 13; cmpi sge = 5, sle = 3, uge = 9, ule = 7.
    let takes = if float {
        let predicate = ir.i64_attr(if max { 3 } else { 5 });
        let better = ir.create_value("arith.cmpf", &[value, best], bool_ty, &[("predicate", predicate)], loc, at);
        let une = ir.i64_attr(13);
        let nan = ir.create_value("arith.cmpf", &[value, value], bool_ty, &[("predicate", une)], loc, at);
        ir.create_value("arith.ori", &[better, nan], bool_ty, &[], loc, at)
    } else {
        let number = match (max, unsigned) {
            (true, false) => 5,
            (false, false) => 3,
            (true, true) => 9,
            (false, true) => 7,
        };
        let predicate = ir.i64_attr(number);
        ir.create_value("arith.cmpi", &[value, best], bool_ty, &[("predicate", predicate)], loc, at)
    };
    let best = ir.create_value("arith.select", &[takes, value, best], ty, &[], loc, at);
    let where_best = ir.create_value("arith.select", &[takes, here, where_best], pos_ty, &[], loc, at);
    Some(vec![best, where_best])
}

/// The kernel of a scatter into `out`, which holds the base already. Dimensions that are a coordinate of the target by themselves are parallel; the
/// others are walked in order, so that no two programs write one place and sums have one order.
pub fn scatter(
    ir: &mut Ir,
    nest: &Nest,
    out: Value,
    buffers: &FxHashMap<Value, Value>,
    name: &str,
    func: Op,
    at: InsertPoint,
) -> Vec<Value> {
    let loc = ir.op(nest.op).loc;
    let terminator = nest.terminator(ir);
    let put = Access::of(ir, terminator, 1);
    let mut dims = Dims::of_block(ir, nest.body);
    let target = put.in_dims(ir, &mut dims);
    let n = nest.space.len();
    let parallel = |ir: &Ir, d: usize| {
        let atom = Atom::Dim(d as u32);
        target.iter().filter(|&&e| ir.exprs.contains(e, atom)).count() == 1
            && target.iter().any(|&e| ir.exprs.as_atom(e) == Some(atom))
    };
    let reduced: Vec<bool> = (0..n).map(|d| !parallel(ir, d)).collect();
    let (mut kernel, place) = kernel_over(ir, nest, &reduced, func, loc);
    let top = kernel.top(ir, loc);
    let walks = reduced.iter().any(|&r| r);
    let block = if walks { walk_op(ir, &kernel, &top, &[], &[], loc).1 } else { top.block };
    let mut scope = if walks { kernel.walk(ir, &top, block, loc) } else { top };
    body(ir, nest, &mut kernel, &mut scope, &place, buffers);
    let block_places = places(ir, nest, &place);
    let (dims, exprs) = kernel.exprs_of(ir, &put, &scope, &block_places);
    let (map, index) = index_map(ir, &dims, &exprs);
    let value = scope.map.get(&put.tensor()).copied().unwrap_or(put.tensor());
    let guard = put.guard.map(|g| scope.map.get(&g).copied().unwrap_or(g));
    let out_ty = ir.value_type(out);
    let out_name = ir.value_name(ir.result(nest.op, 0)).map(str::to_string);
    let buffer = kernel.param(ir, out, out_ty, out_name.as_deref());
    let operands: Vec<Value> = [value, buffer].into_iter().chain(index).chain(guard).collect();
    let mode = nest.combiner(ir).to_string();
    let at_end = InsertPoint::End(block);
    if mode == "set" {
        ir.create_op(kernels::StoreOp::NAME, &operands, &[], &[("map", map)], loc, at_end);
    } else {
        let combiner = ir.string_attr(&mode);
        ir.create_op(kernels::AtomicOp::NAME, &operands, &[], &[("map", map), ("combiner", combiner)], loc, at_end);
    }
    if walks {
        ir.create_op(kernels::YieldOp::NAME, &[], &[], &[], loc, at_end);
    }
    kernel.finish(ir, name, at, loc)
}
