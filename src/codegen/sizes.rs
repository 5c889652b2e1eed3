//! The sizes that a host function computes, as index expressions.

use rinductor_index::{Expr, Exprs};
use rinductor_support::FxHashMap;

use crate::dialects::kernels;
use crate::ir::{Ir, Op, Value};

/// The number that an op of the host gives, from those it is made of; None for an op that gives no number.
///
/// # Errors
/// It is a number that the host does not compute.
pub fn number(
    ir: &Ir,
    exprs: &mut Exprs,
    numbers: &FxHashMap<Value, Expr>,
    op: Op,
) -> Option<Result<Expr, &'static str>> {
    let number = match ir.op_name(op) {
        kernels::SizeOp::NAME => kernels::SizeOp(op).map(ir).first().copied().ok_or("no expression"),
        "arith.constant" => {
            let n = ir.attr_of(op, "value").and_then(|a| ir.as_int(a));
            n.map(|n| exprs.int(n)).ok_or("only integers are computed by the host")
        }
        name @ ("arith.addi" | "arith.subi" | "arith.muli" | "arith.floordivsi" | "arith.index_cast") => {
            let args: Option<Vec<Expr>> = ir.operands(op).map(|v| numbers.get(&v).copied()).collect();
            match (name, args.as_deref()) {
                (_, None) => Err("the host computes with sizes alone"),
                ("arith.addi", Some(&[a, b])) => Ok(exprs.add(a, b)),
                ("arith.subi", Some(&[a, b])) => Ok(exprs.sub(a, b)),
                ("arith.muli", Some(&[a, b])) => Ok(exprs.mul(a, b)),
                ("arith.floordivsi", Some(&[a, b])) => Ok(exprs.floordiv(a, b)),
                ("arith.index_cast", Some(&[a])) => Ok(a),
                _ => Err("wrong number of operands"),
            }
        }
        _ => return None,
    };
    Some(number)
}
