//! Ops that are one of their operands, a constant, or a simpler op, whatever the values are.

use super::constant::{Const, known, known_int, make, sign_extend, width_of};
use super::fold::predicate;
use super::integer;
use crate::dialects::predicate_number;
use crate::ir::{InsertPoint, Ir, Op, Value};
use crate::rewrite::Edits;
use rinductor_scalar::Scalar;

/// What an op comes to.
enum Simpler {
    Value(Value),
    Const(Const),
    /// Another op on other operands, of the same result type.
    Op(&'static str, Vec<Value>),
    /// The same op with a constant in place of its second operand.
    Combined(Value, i64),
}

/// Simplifies an op by what holds for all values.
pub fn simplify(edits: &mut Edits<'_>, op: Op) -> bool {
    if edits.ir.num_results(op) != 1 {
        return false;
    }
    let result = edits.ir.result(op, 0);
    if let Some(simpler) = simpler(edits.ir, op) {
        return put(edits, op, result, simpler);
    }
    constants_right(edits, op)
}

fn put(edits: &mut Edits<'_>, op: Op, result: Value, simpler: Simpler) -> bool {
    // In a graph region an op may use its own result: it stays.
    let circular = match &simpler {
        Simpler::Value(v) | Simpler::Combined(v, _) => *v == result,
        Simpler::Op(_, operands) => operands.contains(&result),
        Simpler::Const(_) => false,
    };
    if circular {
        return false;
    }
    let (ty, loc) = (edits.ir.value_type(result), edits.ir.op(op).loc);
    let value = match simpler {
        Simpler::Value(v) => v,
        Simpler::Const(c) => match make(edits.ir, c, ty, op) {
            Some(v) => v,
            None => return false,
        },
        Simpler::Op(name, operands) => edits.ir.create_value(name, &operands, ty, &[], loc, InsertPoint::Before(op)),
        Simpler::Combined(x, c) => {
            let Some(c) = make(edits.ir, Const::Int(c), ty, op) else { return false };
            let name = edits.ir.op_name(op).to_string();
            edits.ir.create_value(&name, &[x, c], ty, &[], loc, InsertPoint::Before(op))
        }
    };
    if let Some(made) = edits.ir.def_op(value) {
        edits.visit(made);
    }
    edits.replace(op, &[value]);
    true
}

fn simpler(ir: &Ir, op: Op) -> Option<Simpler> {
    let operands = ir.operand_list(op);
    match (ir.op_name(op), operands.as_slice()) {
        ("arith.select", &[c, a, b]) => select(ir, c, a, b),
        ("arith.cmpi", &[a, b]) => compare(ir, op, a, b),
        (name @ ("arith.negf" | "scalar.neg" | "scalar.not"), &[x]) => {
            inner(ir, x, name).map(|d| Simpler::Value(ir.operand(d, 0)))
        }
        (name, &[a, b]) if name.starts_with("arith.") => {
            if width_of(ir, ir.value_type(a)).is_some() {
                integers(ir, name, a, b)
            } else {
                floats(ir, name, a, b)
            }
        }
        _ => None,
    }
}

/// The op that defines a value, if it has this name.
fn inner(ir: &Ir, value: Value, name: &str) -> Option<Op> {
    ir.def_op(value).filter(|&d| ir.is_op(d, name))
}

fn integers(ir: &Ir, name: &str, a: Value, b: Value) -> Option<Simpler> {
    let width = width_of(ir, ir.value_type(a))?;
    let zero = || Some(Simpler::Const(Const::Int(0)));
    let keep = || Some(Simpler::Value(a));
    if a == b {
        match name {
            "arith.subi" | "arith.xori" => return zero(),
            "arith.andi" | "arith.ori" | "arith.maxsi" | "arith.minsi" | "arith.maxui" | "arith.minui" => {
                return keep();
            }
            _ => {}
        }
    }
    let c = known_int(ir, b)?;
    // The one of a single bit is -1 where it is read as signed.
    let one = sign_extend(1, width);
    match name {
        "arith.addi" | "arith.subi" | "arith.ori" | "arith.xori" | "arith.shli" | "arith.shrsi" | "arith.shrui"
            if c == 0 =>
        {
            return keep();
        }
        "arith.muli" | "arith.divui" | "arith.ceildivui" if c == one => return keep(),
        "arith.divsi" | "arith.floordivsi" | "arith.ceildivsi" if c == 1 => return keep(),
        "arith.muli" | "arith.andi" if c == 0 => return zero(),
        "arith.andi" if c == -1 => return keep(),
        "arith.ori" if c == -1 => return Some(Simpler::Const(Const::Int(-1))),
        "arith.remui" if c == one => return zero(),
        "arith.remsi" if c == 1 => return zero(),
        _ => {}
    }
    // Two constants of one op that associates become one.
    if matches!(name, "arith.addi" | "arith.muli" | "arith.andi" | "arith.ori" | "arith.xori") {
        let d = inner(ir, a, name)?;
        let c2 = known_int(ir, ir.operand(d, 1))?;
        return Some(Simpler::Combined(ir.operand(d, 0), integer::eval(name, width, &[c2, c])?));
    }
    None
}

fn floats(ir: &Ir, name: &str, a: Value, b: Value) -> Option<Simpler> {
    if a == b && matches!(name, "arith.maximumf" | "arith.minimumf" | "arith.maxnumf" | "arith.minnumf") {
        return Some(Simpler::Value(a));
    }
    let Const::Float(c) = known(ir, b)? else { return None };
    let is = |x: f64| c == Scalar::from_f64(c.dtype(), x);
    match name {
        // Not x + 0.0, which is 0.0 for -0.0.
        "arith.addf" if is(-0.0) => Some(Simpler::Value(a)),
        "arith.subf" if is(0.0) => Some(Simpler::Value(a)),
        "arith.mulf" | "arith.divf" if is(1.0) => Some(Simpler::Value(a)),
        _ => None,
    }
}

fn select(ir: &Ir, c: Value, a: Value, b: Value) -> Option<Simpler> {
    if a == b {
        return Some(Simpler::Value(a));
    }
    if let Some(c) = known_int(ir, c) {
        return Some(Simpler::Value(if c & 1 != 0 { a } else { b }));
    }
    let same = |x: Value, y: Value| {
        x == y || known(ir, x).is_some_and(|k| Some(k) == known(ir, y)) && ir.value_type(x) == ir.value_type(y)
    };
    if same(a, b) {
        return Some(Simpler::Value(a));
    }
    // A choice that was made already with the same condition.
    if let Some(d) = inner(ir, a, "arith.select")
        && ir.operand(d, 0) == c
    {
        return Some(Simpler::Op("arith.select", vec![c, ir.operand(d, 1), b]));
    }
    if let Some(d) = inner(ir, b, "arith.select")
        && ir.operand(d, 0) == c
    {
        return Some(Simpler::Op("arith.select", vec![c, a, ir.operand(d, 2)]));
    }
    // A negated condition.
    if let Some(d) = inner(ir, c, "arith.xori")
        && known_int(ir, ir.operand(d, 1)) == Some(-1)
    {
        return Some(Simpler::Op("arith.select", vec![ir.operand(d, 0), b, a]));
    }
    if let Some(d) = inner(ir, c, "scalar.not") {
        return Some(Simpler::Op("arith.select", vec![ir.operand(d, 0), b, a]));
    }
    if ir.value_type(a) == ir.value_type(c) && width_of(ir, ir.value_type(a)) == Some(1) {
        match (known_int(ir, a), known_int(ir, b)) {
            (Some(-1), Some(0)) => return Some(Simpler::Value(c)),
            // c ? x : false
            (None, Some(0)) => return Some(Simpler::Op("arith.andi", vec![c, a])),
            // c ? true : x
            (Some(-1), None) => return Some(Simpler::Op("arith.ori", vec![c, b])),
            _ => {}
        }
    }
    None
}

fn compare(ir: &Ir, op: Op, a: Value, b: Value) -> Option<Simpler> {
    let p = predicate(ir, op)?;
    if a == b {
        let holds = integer::compare(p, 64, 0, 0)?;
        return Some(Simpler::Const(Const::Int(-i64::from(holds))));
    }
    // A truth value that was widened, compared with 0.
    if p == "ne"
        && known_int(ir, b) == Some(0)
        && let Some(d) = inner(ir, a, "arith.extui").or_else(|| inner(ir, a, "arith.extsi"))
    {
        let x = ir.operand(d, 0);
        if ir.value_type(x) == ir.value_type(ir.result(op, 0)) {
            return Some(Simpler::Value(x));
        }
    }
    None
}

/// Ops whose first two operands may change places.
const COMMUTE: &[&str] = &[
    "arith.addi",
    "arith.muli",
    "arith.andi",
    "arith.ori",
    "arith.xori",
    "arith.maxsi",
    "arith.minsi",
    "arith.maxui",
    "arith.minui",
    "arith.addf",
    "arith.mulf",
    "arith.maximumf",
    "arith.minimumf",
    "arith.maxnumf",
    "arith.minnumf",
];

/// What a comparison is with its operands in each other's place.
const SWAPPED: &[(&str, &str)] = &[
    ("eq", "eq"),
    ("ne", "ne"),
    ("slt", "sgt"),
    ("sle", "sge"),
    ("ult", "ugt"),
    ("ule", "uge"),
    ("oeq", "oeq"),
    ("one", "one"),
    ("ord", "ord"),
    ("ueq", "ueq"),
    ("une", "une"),
    ("uno", "uno"),
    ("olt", "ogt"),
    ("ole", "oge"),
];

/// Moves a constant from the left of an op to its right, where nothing else is constant.
fn constants_right(edits: &mut Edits<'_>, op: Op) -> bool {
    let ir = &mut *edits.ir;
    if ir.num_operands(op) != 2 {
        return false;
    }
    let (a, b) = (ir.operand(op, 0), ir.operand(op, 1));
    let constant = |ir: &Ir, v: Value| inner(ir, v, "arith.constant").is_some();
    if !constant(ir, a) || constant(ir, b) {
        return false;
    }
    let name = ir.op_name(op).to_string();
    if matches!(name.as_str(), "arith.cmpi" | "arith.cmpf") {
        let Some(p) = predicate(ir, op) else { return false };
        let other = SWAPPED.iter().find_map(|&(x, y)| {
            if x == p {
                Some(y)
            } else if y == p {
                Some(x)
            } else {
                None
            }
        });
        let Some(number) = other.and_then(|o| predicate_number(&name, o)) else { return false };
        let attr = ir.i64_attr(number);
        ir.set_prop(op, "predicate", Some(attr));
    } else if !COMMUTE.contains(&name.as_str()) {
        return false;
    }
    ir.set_operand(op, 0, b);
    ir.set_operand(op, 1, a);
    edits.changed(op);
    true
}
