//! Conversions of conversions, where nothing is lost between.

use crate::dialects::dtype_of;
use crate::ir::{InsertPoint, Ir, Op, Type, Value};
use crate::rewrite::Edits;
use crate::rewrite::facts::holds_all;

use super::constant::width_of;

/// What a chain of two conversions comes to.
enum Short {
    /// The value at its start.
    Value(Value),
    /// One conversion of the value at its start.
    Op(&'static str, Value),
}

/// Shortens a conversion of a conversion.
pub fn simplify(edits: &mut Edits<'_>, op: Op) -> bool {
    let Some(short) = shortened(edits.ir, op) else { return false };
    let result = edits.ir.result(op, 0);
    // In a graph region a chain may lead back to its end.
    if matches!(short, Short::Value(v) | Short::Op(_, v) if v == result) {
        return false;
    }
    let value = match short {
        Short::Value(v) => v,
        Short::Op(name, from) => {
            let (ty, loc) = (edits.ir.value_type(result), edits.ir.op(op).loc);
            let v = edits.ir.create_value(name, &[from], ty, &[], loc, InsertPoint::Before(op));
            if let Some(made) = edits.ir.def_op(v) {
                edits.visit(made);
            }
            v
        }
    };
    edits.replace(op, &[value]);
    true
}

fn shortened(ir: &Ir, op: Op) -> Option<Short> {
    if ir.num_operands(op) != 1 || ir.num_results(op) != 1 {
        return None;
    }
    let (name, x) = (ir.op_name(op), ir.operand(op, 0));
    let to = ir.value_type(ir.result(op, 0));
    if ir.value_type(x) == to && matches!(name, "scalar.cast" | "arith.bitcast") {
        return Some(Short::Value(x));
    }
    let inner = ir.def_op(x)?;
    if ir.num_operands(inner) != 1 || ir.num_results(inner) != 1 {
        return None;
    }
    let start = ir.operand(inner, 0);
    let from = ir.value_type(start);
    let same = from == to;
    let width = |ty: Type| width_of(ir, ty);
    if same && torch_cast(ir, inner) && torch_cast(ir, op) && exact(ir, from, ir.value_type(x)) {
        return Some(Short::Value(start));
    }
    match (ir.op_name(inner), name) {
        ("arith.extf", "arith.extf") => Some(Short::Op("arith.extf", start)),
        ("arith.extsi", "arith.extsi") => Some(Short::Op("arith.extsi", start)),
        ("arith.extui", "arith.extui" | "arith.extsi") => Some(Short::Op("arith.extui", start)),
        ("arith.trunci", "arith.trunci") => Some(Short::Op("arith.trunci", start)),
        (extend @ ("arith.extsi" | "arith.extui"), "arith.trunci") => {
            let (a, c) = (width(from)?, width(to)?);
            Some(match a.cmp(&c) {
                std::cmp::Ordering::Equal if same => Short::Value(start),
                std::cmp::Ordering::Equal => return None,
                std::cmp::Ordering::Greater => Short::Op("arith.trunci", start),
                std::cmp::Ordering::Less if extend == "arith.extsi" => Short::Op("arith.extsi", start),
                std::cmp::Ordering::Less => Short::Op("arith.extui", start),
            })
        }
        // `index` has 64 bits here: nothing that is narrower loses anything in it.
        ("arith.index_cast", "arith.index_cast") | ("arith.index_castui", "arith.index_castui")
            if same && width(ir.value_type(x))? >= width(to)? =>
        {
            Some(Short::Value(start))
        }
        ("arith.bitcast", "arith.bitcast") if same => Some(Short::Value(start)),
        _ => None,
    }
}

/// Whether every value of one element type is one of another.
fn exact(ir: &Ir, from: Type, through: Type) -> bool {
    let dtype = |ty| dtype_of(ir, ir.element_type(ty));
    match (dtype(from), dtype(through)) {
        (Some(a), Some(b)) => holds_all(a, b),
        _ => false,
    }
}

/// Whether an op converts values as torch does.
fn torch_cast(ir: &Ir, op: Op) -> bool {
    let dtype = |v| dtype_of(ir, ir.element_type(ir.value_type(v)));
    match (dtype(ir.operand(op, 0)), dtype(ir.result(op, 0))) {
        (Some(from), Some(to)) => rinductor_scalar::cast_from_ir(ir.op_name(op), from, to).is_some(),
        _ => false,
    }
}
