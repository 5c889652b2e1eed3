//! Cuts a kernel in two at a position from which on it does something else: what concatenation and padding ask of every point is then asked once.
//!
//! Before:
//! ```mlir
//! kernels.func @k(%a: memref<4096xf32>, %b: memref<4096xf32>, %y: memref<8192xf32>) axes {x = 8192 tile 1 parallel} {
//!   %xi = kernels.axis x : vector<1xindex>
//!   %n = kernels.index[%xi] : vector<1xi64>
//!   %end = arith.constant dense<4096> : vector<1xi64>
//!   %first = arith.cmpi slt, %n, %end : vector<1xi64>
//!   %v = kernels.load %a[%xi] if %first : vector<1xf32>
//!   %second = scalar.not %first : vector<1xi1>
//!   %w = kernels.load %b[%xi - 4096] if %second : vector<1xf32>
//!   %s = arith.select %first, %v, %w : vector<1xi1>, vector<1xf32>
//!   kernels.store %s, %y[%xi] : vector<1xf32>
//! }
//! func.func @f(%a: memref<4096xf32>, %b: memref<4096xf32>, %y: memref<8192xf32>) {
//!   kernels.launch @k(%a, %b, %y) : memref<4096xf32>, memref<4096xf32>, memref<8192xf32>
//!   return
//! }
//! ```
//! After:
//! ```mlir
//! kernels.func @k(%a: memref<4096xf32>, %b: memref<4096xf32>, %y: memref<8192xf32>) axes {x = 4096 tile 1 parallel} {
//!   %xi = kernels.axis x : vector<1xindex>
//!   %v = kernels.load %a[%xi] : vector<1xf32>
//!   kernels.store %v, %y[%xi] : vector<1xf32>
//! }
//! kernels.func @k_1(%a: memref<4096xf32>, %b: memref<4096xf32>, %y: memref<8192xf32>) axes {x = 4096 tile 1 parallel} {
//!   %xi = kernels.axis x : vector<1xindex>
//!   %w = kernels.load %b[%xi] : vector<1xf32>
//!   kernels.store %w, %y[%xi + 4096] : vector<1xf32>
//! }
//! func.func @f(%a: memref<4096xf32>, %b: memref<4096xf32>, %y: memref<8192xf32>) {
//!   kernels.launch @k(%a, %b, %y) : memref<4096xf32>, memref<4096xf32>, memref<8192xf32>
//!   kernels.launch @k_1(%a, %b, %y) : memref<4096xf32>, memref<4096xf32>, memref<8192xf32>
//!   return
//! }
//! ```
//! Kernels that reduce, walk, or check positions stay whole, and so do parts of few points.

use super::canonicalize::constant::{Const, known_int, make};
use super::canonicalize::fold::predicate;
use super::util::zero_constant;
use crate::dialects::func;
use crate::dialects::kernels::{self, Axis};
use crate::dialects::loops::{self, Access, Dims};
use crate::ir::edit::ValueMap;
use crate::ir::{InsertPoint, Ir, Op, TypeData, Value};
use crate::pass::{Changed, Level, NoOptions, Pass, PassContext};
use crate::support::Diagnostic;
use rinductor_index::Atom;

/// A part of fewer points is not worth a launch.
const LEAST: i64 = 4096;
/// Rows that are cut into shorter pieces are walked less well, and what both parts read is read twice.
const WIDTH: i64 = 256;
/// A kernel is cut at most so often.
const CUTS: usize = 8;

/// The pass.
pub static PASS: Pass = Pass {
    name: "kernels-split",
    source: include_str!("kernels_split.rs"),
    on: Some(func::FuncOp::NAME),
    needs: &[Level::Kernel],
    leaves: &[Level::Kernel],
    statistics: &[("cuts", "cuts through kernels")],
    run,
};

fn run(ir: &mut Ir, func: Op, _: &NoOptions, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
    let mut cuts = 0;
    for launch in ir.ops_named(func, kernels::LaunchOp::NAME) {
        let Some(kernel) = ir.lookup_symbol(kernels::LaunchOp(launch).callee(ir)) else { continue };
        if !is_used_once(ir, launch) || !is_plain(ir, kernel) {
            continue;
        }
        // The lower parts are done when they are cut off; the rest may be cut again.
        let (mut rest, mut at) = (kernel, launch);
        let base = ir.symbol_name(kernel).unwrap_or_default().to_string();
        for _ in 0..CUTS {
            let Some(cut) = find(ir, rest) else { break };
            let before = rest;
            (rest, at) = split(ir, rest, at, &cut, &base);
            if cx.wants_remarks() {
                let [first, second] = [before, rest].map(|k| ir.symbol_name(k).unwrap_or_default().to_string());
                let what = "below that position it asks no more which part it is in, and from there on neither";
                cx.remark(
                    ir,
                    at,
                    format!("@{first} is cut at {} of axis {}, @{second} has the rest: {what}", cut.at, cut.axis),
                );
            }
            cuts += 1;
        }
    }
    cx.count("cuts", cuts);
    Ok((cuts > 0).into())
}

/// Whether no other op launches the kernel of a launch.
fn is_used_once(ir: &Ir, launch: Op) -> bool {
    let callee = kernels::LaunchOp(launch).callee(ir);
    let all = ir.ops_named(ir.module(), kernels::LaunchOp::NAME);
    all.into_iter().filter(|&l| kernels::LaunchOp(l).callee(ir) == callee).count() == 1
}

/// Whether each point is computed by itself, and nothing but loads and stores touches memory.
pub(super) fn is_plain(ir: &Ir, kernel: Op) -> bool {
    ir.nested_ops(kernel).into_iter().all(|op| {
        let whole = matches!(ir.op_name(op), kernels::PositionOp::NAME | kernels::AtomicOp::NAME);
        !whole && ir.regions_of(op).is_empty()
    })
}

/// Where to cut: a comparison of the position on an axis with a number.
struct Cut {
    condition: Op,
    axis: usize,
    at: i64,
}

fn find(ir: &mut Ir, kernel: Op) -> Option<Cut> {
    let axes = kernels::axes_of(ir, kernel)?;
    let extents: Vec<i64> = axes.iter().map(|a| ir.exprs.as_int(a.extent)).collect::<Option<_>>()?;
    let points: i64 = extents.iter().try_fold(1i64, |n, &e| n.checked_mul(e))?;
    ir.ops_named(kernel, "arith.cmpi").into_iter().find_map(|condition| {
        let (axis, added) = compared_axis(ir, &axes, condition)?;
        let at = known_int(ir, ir.operand(condition, 1))?.checked_sub(added)?;
        let worth = |n: i64| n >= WIDTH && points / extents[axis] * n >= LEAST;
        let inside = at > 0 && at < extents[axis];
        (inside && worth(at) && worth(extents[axis] - at)).then_some(Cut { condition, axis, at })
    })
}

/// The axis whose position, with a number added, a comparison asks to be less than something; and that number.
fn compared_axis(ir: &mut Ir, axes: &[Axis], condition: Op) -> Option<(usize, i64)> {
    if predicate(ir, condition) != Some("slt") {
        return None;
    }
    let position = ir.def_op(ir.operand(condition, 0)).filter(|&op| ir.is_op(op, kernels::IndexOp::NAME))?;
    let access = Access::of(ir, position, 0);
    let ([e], [index]) = (&access.exprs[..], &access.index[..]) else { return None };
    let axis = kernels::axis_of(ir, axes, *index).filter(|&a| axes[a].tile == 1 && !axes[a].reduced)?;
    let (step, rest) = ir.exprs.linear_in(*e, Atom::Dim(0))?;
    (ir.exprs.as_int(step) == Some(1)).then_some((axis, ir.exprs.as_int(rest)?))
}

/// Makes the kernel that of the points before the cut, and another that of the rest; gives that and its launch.
fn split(ir: &mut Ir, kernel: Op, launch: Op, cut: &Cut, base: &str) -> (Op, Op) {
    let mut map = ValueMap::default();
    let place = ir.nested_ops(kernel).into_iter().position(|op| op == cut.condition);
    let rest = ir.clone_op(kernel, &mut map, InsertPoint::After(kernel));
    let name = (1..).map(|k| format!("{base}_{k}")).find(|n| ir.lookup_symbol(n).is_none()).unwrap_or_default();
    let symbol = ir.string_attr(&name);
    ir.set_prop(rest, "sym_name", Some(symbol));
    let next = ir.clone_op(launch, &mut ValueMap::default(), InsertPoint::After(launch));
    let callee = ir.symbol_attr(&name);
    ir.set_prop(next, "callee", Some(callee));
    let condition = place.and_then(|k| ir.nested_ops(rest).get(k).copied());
    let mut axes = kernels::axes_of(ir, kernel).unwrap_or_default();
    let extent = axes[cut.axis].extent;
    let at = ir.exprs.int(cut.at);
    axes[cut.axis].extent = at;
    kernels::set_axes(ir, kernel, &axes);
    axes[cut.axis].extent = ir.exprs.sub(extent, at);
    shift(ir, rest, &axes, cut);
    kernels::set_axes(ir, rest, &axes);
    decide(ir, kernel, cut.condition, true);
    if let Some(condition) = condition {
        decide(ir, rest, condition, false);
    }
    (rest, next)
}

/// Counts the position on the axis from the cut.
fn shift(ir: &mut Ir, kernel: Op, axes: &[Axis], cut: &Cut) {
    for op in ir.nested_ops(kernel) {
        let leading = match ir.op_name(op) {
            kernels::IndexOp::NAME => 0,
            name => match kernels::address_operands(name) {
                Some(n) => n,
                None => continue,
            },
        };
        let access = Access::of(ir, op, leading);
        let mut dims = Dims::default();
        let mut exprs = access.in_dims(ir, &mut dims);
        for (k, &v) in dims.values.clone().iter().enumerate() {
            if kernels::axis_of(ir, axes, v) == Some(cut.axis) {
                let (d, at) = (ir.exprs.dim(k as u32), ir.exprs.int(cut.at));
                let position = ir.exprs.add(d, at);
                exprs = exprs.into_iter().map(|e| ir.exprs.subst(e, &[(Atom::Dim(k as u32), position)])).collect();
            }
        }
        let (map, index) = loops::index_map(ir, &dims, &exprs);
        let operands: Vec<Value> = access.leading.iter().copied().chain(index).chain(access.guard).collect();
        loops::set_index_map(ir, &access, map, &operands);
        ir.set_operands(op, &operands);
    }
}

/// Puts what a condition is found to be in its place, and removes what that makes useless.
fn decide(ir: &mut Ir, kernel: Op, condition: Op, truth: bool) {
    replace(ir, condition, truth);
    for op in ir.nested_ops(kernel) {
        match ir.op_name(op) {
            "scalar.not" => {
                if let Some(x) = known_int(ir, ir.operand(op, 0)) {
                    replace(ir, op, x & 1 == 0);
                }
            }
            "arith.select" => {
                if let Some(x) = known_int(ir, ir.operand(op, 0)) {
                    let chosen = ir.operand(op, if x & 1 != 0 { 1 } else { 2 });
                    ir.replace_op(op, &[chosen]);
                }
            }
            name @ ("arith.andi" | "arith.ori") => {
                let neutral = name == "arith.andi";
                for (k, other) in [(0, 1), (1, 0)] {
                    if ir.is_live(op)
                        && is_condition(ir, op)
                        && let Some(x) = known_int(ir, ir.operand(op, k))
                    {
                        let result = if (x & 1 != 0) == neutral { other } else { k };
                        let value = ir.operand(op, result);
                        ir.replace_op(op, &[value]);
                    }
                }
            }
            kernels::LoadOp::NAME => guard(ir, op),
            _ => {}
        }
    }
    for op in ir.nested_ops(kernel).into_iter().rev() {
        let effect = matches!(ir.op_name(op), kernels::StoreOp::NAME | kernels::ReturnOp::NAME);
        if !effect && ir.results(op).all(|r| ir.is_unused(r)) {
            ir.erase(op);
        }
    }
}

/// Whether an op gives conditions, not numbers.
fn is_condition(ir: &Ir, op: Op) -> bool {
    let element = ir.element_type(ir.value_type(ir.result(op, 0)));
    matches!(ir.ty(element), TypeData::Integer { width: 1, .. })
}

/// Puts a constant in the place of an op with one result of `i1`.
fn replace(ir: &mut Ir, op: Op, truth: bool) {
    let ty = ir.value_type(ir.result(op, 0));
    if let Some(value) = make(ir, Const::Int(-i64::from(truth)), ty, op) {
        ir.replace_op(op, &[value]);
    }
}

/// A load whose guard is known has none, or is 0.
fn guard(ir: &mut Ir, op: Op) {
    let access = Access::of(ir, op, 1);
    let Some(known) = access.guard.and_then(|g| known_int(ir, g)) else { return };
    if known & 1 == 0 {
        let (ty, loc) = (ir.value_type(ir.result(op, 0)), ir.op(op).loc);
        let zero = zero_constant(ir, ty, loc, InsertPoint::Before(op));
        ir.replace_op(op, &[zero]);
        return;
    }
    let mut operands = ir.operand_list(op);
    operands.pop();
    let map = ir.attr_of(op, "map");
    if let Some(map) = map {
        loops::set_index_map(ir, &Access { guard: None, ..access }, map, &operands);
    }
    ir.set_operands(op, &operands);
}
