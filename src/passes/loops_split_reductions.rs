//! Splits reductions that have few results and many points into parts that a GPU can compute side by side, and a reduction of the parts.
//!
//! Before, with programs=4 points=16:
//! ```mlir
//! func.func @forward(%x: tensor<64xf32>) -> tensor<f32> {
//!   %s = loops.reduce () in [] over (%r) in [64] with add -> tensor<f32> {
//!     %v = loops.load %x[%r] : f32
//!     loops.yield %v : f32
//!   }
//!   return %s : tensor<f32>
//! }
//! ```
//! After:
//! ```mlir
//! func.func @forward(%x: tensor<64xf32>) -> tensor<f32> {
//!   %parts = loops.reduce (%i) in [4] over (%r) in [16] with add -> tensor<4xf32> {
//!     %v = loops.load %x[16*%i + %r] : f32
//!     loops.yield %v : f32
//!   }
//!   %s = loops.reduce () in [] over (%r) in [4] with add -> tensor<f32> {
//!     %w = loops.load %parts[%r] : f32
//!     loops.yield %w : f32
//!   }
//!   return %s : tensor<f32>
//! }
//! ```
//! Parts are of equal length, so that none needs a guard: an axis whose size has no divisor near the wanted number of parts is left whole. Parts of
//! sums of small floats are held in `f32`. Welford's combination is of three values a part, which no reduction takes: it is left whole.

use super::loops_inline::Copy;
use crate::dialects::func;
use crate::dialects::loops::{self, Dims, Nest, NestKind, create_load, create_nest, create_yield};
use crate::ir::{FloatKind, InsertPoint, Ir, Op, Type, TypeData, Value};
use crate::pass::{Changed, Level, Pass, PassContext};
use crate::pass_options;
use crate::sched::nest::NestInfo;
use crate::support::Diagnostic;

pass_options! {
    pub struct Options {
        /// How many programs keep the device busy.
        programs: i64 = 264,
        /// How many points a part has at least.
        points: i64 = 4096,
    }
}

/// The pass.
pub static PASS: Pass<Options> = Pass {
    name: "loops-split-reductions",
    source: include_str!("loops_split_reductions.rs"),
    on: Some(func::FuncOp::NAME),
    needs: &[Level::Loop],
    leaves: &[Level::Loop],
    statistics: &[("split", "reductions that were split")],
    run,
};

/// Neighbouring results that one program computes, where memory is contiguous along the results.
const COLUMNS: i64 = 32;

fn run(ir: &mut Ir, func: Op, options: &Options, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
    let Some(block) = ir.body(func) else { return Ok(Changed::No) };
    let mut split = 0;
    for op in ir.block_op_list(block) {
        if NestKind::of(ir, op) != Some(NestKind::Reduce) {
            continue;
        }
        let Some(info) = NestInfo::of(ir, op) else { continue };
        if let Some((axis, parts)) = choose(ir, &info, options) {
            cx.remark(ir, op, format!("split into {parts} parts along reduced dimension {axis}"));
            split_nest(ir, &info.nest, axis, parts);
            split += 1;
        }
    }
    cx.count("split", split);
    Ok((split > 0).into())
}

/// Along which reduced dimension to split, and into how many parts.
fn choose(ir: &Ir, info: &NestInfo, options: &Options) -> Option<(usize, i64)> {
    let nest = &info.nest;
    if nest.combiner(ir) == "welford" {
        return None;
    }
    let numbers =
        |list: &[rinductor_index::Expr]| -> Option<Vec<i64>> { list.iter().map(|&e| ir.exprs.as_int(e)).collect() };
    let (space, over) = (numbers(&nest.space)?, numbers(&nest.over)?);
    let results = space.iter().fold(1i64, |n, &e| n.saturating_mul(e));
    let points = over.iter().fold(1i64, |n, &e| n.saturating_mul(e));
    if results == 0 || points == 0 {
        return None;
    }
    // Where the innermost coordinate of a load is a kept dimension, a program takes several results.
    let columns = info.loads.iter().any(|load| {
        let last = load.exprs.last().and_then(|&e| ir.exprs.as_atom(e));
        matches!(last, Some(rinductor_index::Atom::Dim(d)) if (d as usize) < nest.space.len())
    });
    let (programs, least) = if columns {
        ((results + COLUMNS - 1) / COLUMNS, (options.points / COLUMNS / 2).max(1))
    } else {
        (results, options.points)
    };
    let wanted = (options.programs / programs).min(points / least);
    if wanted < 2 {
        return None;
    }
    // The longest dimension first.
    let mut order: Vec<usize> = (0..over.len()).collect();
    order.sort_by_key(|&d| (std::cmp::Reverse(over[d]), d));
    order.into_iter().find_map(|d| {
        let fits = |&n: &i64| n >= 2 && over[d] % n == 0;
        let near = (wanted / 2..=wanted * 2).filter(fits).min_by_key(|n| (n - wanted).abs());
        near.map(|n| (d, n))
    })
}

/// The type in which parts are held.
fn part_type(ir: &mut Ir, element: Type, combiner: &str) -> Type {
    let small = matches!(ir.ty(element), TypeData::Float(k) if FloatKind::bits(*k) < 32);
    if small && matches!(combiner, "add" | "mul") { ir.float_type(FloatKind::f32) } else { element }
}

fn split_nest(ir: &mut Ir, nest: &Nest, axis: usize, parts: i64) {
    let (loc, at) = (ir.op(nest.op).loc, InsertPoint::Before(nest.op));
    let kept = nest.space.len();
    let combiner = nest.combiner(ir).to_string();
    let word = ir.string_attr(&combiner);
    let count = ir.exprs.int(parts);
    let length = ir.exprs.floordiv(nest.over[axis], count);
    let mut over = nest.over.clone();
    over[axis] = length;
    let space: Vec<_> = std::iter::once(count).chain(nest.space.iter().copied()).collect();
    let results: Vec<Value> = ir.results(nest.op).collect();
    let elements: Vec<Type> = results.iter().map(|&r| ir.element_type(ir.value_type(r))).collect();
    let held: Vec<Type> = elements.iter().map(|&e| part_type(ir, e, &combiner)).collect();
    let sizes: Vec<i64> = nest.space.iter().filter_map(|&e| ir.exprs.as_int(e)).collect();
    let part_sizes: Vec<i64> = std::iter::once(parts).chain(sizes.iter().copied()).collect();
    let types: Vec<Type> = held.iter().map(|&e| ir.tensor_type(&part_sizes, e, None)).collect();
    // The parts: the body at its place in its part.
    let props = [("combiner", word)];
    let (first, body) = create_nest(ir, loops::ReduceOp::NAME, &[], (&space, &over), &types, &props, loc, at);
    let dims = Dims::of_block(ir, body);
    let all: Vec<_> = space.iter().chain(&over).copied().collect();
    let mut copy = Copy::new(InsertPoint::End(body), dims, all);
    for (k, arg) in ir.block_args(nest.body).to_vec().into_iter().enumerate() {
        let mut place = ir.exprs.dim(k as u32 + 1);
        if k == kept + axis {
            let part = ir.exprs.dim(0);
            let start = ir.exprs.mul(part, length);
            place = ir.exprs.add(start, place);
        }
        copy.place.insert(arg, place);
    }
    let terminator = nest.terminator(ir);
    for op in ir.block_op_list(nest.body) {
        if op != terminator {
            copy.op(ir, op);
        }
    }
    let mut yields = Vec::new();
    for (k, v) in ir.operand_list(terminator).into_iter().enumerate() {
        let v = copy.map.get(&v).copied().unwrap_or(v);
        let wide = held.get(k).copied().filter(|&h| h != elements[k]);
        yields.push(match wide {
            Some(h) => ir.create_value("arith.extf", &[v], h, &[], loc, InsertPoint::End(body)),
            None => v,
        });
    }
    create_yield(ir, loops::YieldOp::NAME, &yields, loc, body);
    // The reduction of the parts.
    let totals: Vec<Type> = held
        .iter()
        .zip(&results)
        .map(|(&h, &r)| {
            let ty = ir.value_type(r);
            ir.with_element(ty, h)
        })
        .collect();
    let (second, body) = create_nest(ir, loops::ReduceOp::NAME, &[], (&nest.space, &[count]), &totals, &props, loc, at);
    let dims = Dims::of_block(ir, body);
    let exprs: Vec<_> = std::iter::once(kept).chain(0..kept).map(|d| ir.exprs.dim(d as u32)).collect();
    let mut yields = Vec::new();
    for (k, &ty) in held.iter().enumerate() {
        let part = ir.result(first, k);
        yields.push(create_load(ir, loops::LoadOp::NAME, part, &dims, &exprs, None, ty, loc, InsertPoint::End(body)));
    }
    create_yield(ir, loops::YieldOp::NAME, &yields, loc, body);
    for (k, &r) in results.iter().enumerate() {
        let total = ir.result(second, k);
        ir.copy_value_name(r, total);
        let value = if held[k] == elements[k] { total } else { narrowed(ir, total, r, &nest.space, nest.op) };
        ir.replace_all_uses(r, value);
    }
    ir.erase(nest.op);
}

/// A sum in `f32` as the type that it is to have.
fn narrowed(ir: &mut Ir, total: Value, like: Value, space: &[rinductor_index::Expr], before: Op) -> Value {
    let (ty, loc) = (ir.value_type(like), ir.op(before).loc);
    let at = InsertPoint::Before(before);
    let (op, body) = create_nest(ir, loops::PointwiseOp::NAME, &[], (space, &[]), &[ty], &[], loc, at);
    let dims = Dims::of_block(ir, body);
    let exprs: Vec<_> = (0..space.len()).map(|d| ir.exprs.dim(d as u32)).collect();
    let (wide, element) = (ir.element_type(ir.value_type(total)), ir.element_type(ty));
    let end = InsertPoint::End(body);
    let v = create_load(ir, loops::LoadOp::NAME, total, &dims, &exprs, None, wide, loc, end);
    let v = ir.create_value("arith.truncf", &[v], element, &[], loc, end);
    create_yield(ir, loops::YieldOp::NAME, &[v], loc, body);
    ir.result(op, 0)
}
