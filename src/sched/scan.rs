//! Scans as kernels write them: a walk that combines what it carries with one value a point, which lanes can do together.

use crate::dialects::kernels;
use crate::ir::{Ir, Op, Value};

/// A scan.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The `kernels.for`.
    pub op: Op,
    /// How values are combined, by the name that reductions have for it; `argmax` and `argmin` give the last of equals.
    pub combiner: &'static str,
    /// What is combined with the carried values.
    pub points: Vec<Value>,
    /// The combined values, which the body yields.
    pub next: Vec<Value>,
    /// The ops of the combination.
    pub ops: Vec<Op>,
}

/// The scan that a `kernels.for` is: over one axis, with a known combination, of which nothing but the combined values is used.
pub fn scan_of(ir: &Ir, op: Op) -> Option<Scan> {
    let [_] = kernels::walked_axes(ir, op)[..] else { return None };
    // Of equals the last wins, which backward is the first.
    if kernels::ForOp(op).reverse(ir) && ir.num_operands(op) > 1 {
        return None;
    }
    let body = ir.body(op)?;
    let args = ir.block_args(body).to_vec();
    let end = ir.last_op(body)?;
    let next: Vec<Value> = ir.operands(end).collect();
    if args.is_empty() || next.len() != args.len() {
        return None;
    }
    let (combiner, points, ops) = match args[..] {
        [carried] => {
            let def = ir.def_op(next[0])?;
            let combiner = match ir.op_name(def) {
                "arith.addf" | "arith.addi" => "add",
                "arith.mulf" | "arith.muli" => "mul",
                "arith.maximumf" | "arith.maxsi" | "arith.maxui" => "maximum",
                "arith.minimumf" | "arith.minsi" | "arith.minui" => "minimum",
                "arith.andi" => "and",
                "arith.ori" => "or",
                "arith.xori" => "xor",
                _ => return None,
            };
            let (x, y) = (ir.operand(def, 0), ir.operand(def, 1));
            let point = if x == carried {
                y
            } else if y == carried {
                x
            } else {
                return None;
            };
            (combiner, vec![point], vec![def])
        }
        [best, at] => positioned(ir, &next, best, at)?,
        _ => return None,
    };
    // The carried values are used by the combination alone, so that what is stored is what was combined.
    let inside = |v: Value| ir.users(v).iter().all(|u| ops.contains(u));
    let flat = ir.nested_ops(op).iter().all(|&o| ir.regions_of(o).is_empty());
    let own = args.iter().all(|&a| inside(a)) && points.iter().all(|p| !args.contains(p));
    (flat && own).then_some(Scan { op, combiner, points, next, ops })
}

/// `select(new >= best or new is NaN, ...)` of a value and a position: torch's cummax and cummin.
fn positioned(ir: &Ir, next: &[Value], best: Value, at: Value) -> Option<(&'static str, Vec<Value>, Vec<Op>)> {
    let (value, place) = (ir.def_op(next[0])?, ir.def_op(next[1])?);
    if !ir.is_op(value, "arith.select") || !ir.is_op(place, "arith.select") {
        return None;
    }
    let takes = ir.operand(value, 0);
    if ir.operand(place, 0) != takes || ir.operand(value, 2) != best || ir.operand(place, 2) != at {
        return None;
    }
    let (new, here) = (ir.operand(value, 1), ir.operand(place, 1));
    let test = ir.def_op(takes)?;
    let mut ops = vec![value, place, test];
    let predicate_of = |op: Op| ir.attr_of(op, "predicate").and_then(|a| ir.as_int(a));
    let mut compare = test;
    let with_nan = ir.is_op(test, "arith.ori");
    if with_nan {
        let (better, nan) = (ir.def_op(ir.operand(test, 0))?, ir.def_op(ir.operand(test, 1))?);
        // une and uno of a number with itself.
        let asks = ir.is_op(nan, "arith.cmpf") && ir.operand_list(nan)[..] == [new, new];
        if !asks || !matches!(predicate_of(nan), Some(13 | 14)) {
            return None;
        }
        ops.extend([better, nan]);
        compare = better;
    }
    if ir.operand_list(compare)[..] != [new, best] || ir.is_op(compare, "arith.cmpf") != with_nan {
        return None;
    }
    let predicate = predicate_of(compare)?;
    // MLIR's numbers of the predicates: cmpf oge = 3, ole = 5; cmpi sge = 5, sle = 3, uge = 9, ule = 7.
    let combiner = match (ir.op_name(compare), predicate) {
        ("arith.cmpf", 3) | ("arith.cmpi", 5 | 9) => "argmax",
        ("arith.cmpf", 5) | ("arith.cmpi", 3 | 7) => "argmin",
        _ => return None,
    };
    Some((combiner, vec![new, here], ops))
}
