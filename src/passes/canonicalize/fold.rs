//! Ops whose operands are all known.

use super::constant::{Const, known, make, sign_extend, width_of, zero_extend};
use super::integer;
use crate::dialects::{dtype_of, predicate_name};
use crate::ir::{Ir, Op, Type};
use crate::rewrite::Edits;
use rinductor_scalar::{DType, Kind, Scalar};

/// Puts a constant in place of an op whose operands are all constants.
pub fn fold(edits: &mut Edits<'_>, op: Op) -> bool {
    let ir = &*edits.ir;
    if ir.num_results(op) != 1 || ir.num_operands(op) == 0 || !ir.regions_of(op).is_empty() {
        return false;
    }
    let Some(args) = ir.operands(op).map(|v| known(ir, v)).collect::<Option<Vec<Const>>>() else { return false };
    let Some(value) = value_of(ir, op, &args) else { return false };
    let ty = ir.value_type(ir.result(op, 0));
    match make(edits.ir, value, ty, op) {
        Some(v) => {
            edits.replace(op, &[v]);
            true
        }
        None => false,
    }
}

/// The predicate of a comparison.
pub fn predicate(ir: &Ir, op: Op) -> Option<&'static str> {
    let number = ir.attr_of(op, "predicate").and_then(|a| ir.as_int(a))?;
    predicate_name(ir.op_name(op), number)
}

fn element_of(ir: &Ir, op: Op, operand: usize) -> Type {
    ir.element_type(ir.value_type(ir.operand(op, operand)))
}

/// What an op computes from constants; None where it has no value, or one that is not known here.
fn value_of(ir: &Ir, op: Op, args: &[Const]) -> Option<Const> {
    let name = ir.op_name(op);
    let from = element_of(ir, op, 0);
    let to = ir.element_type(ir.value_type(ir.result(op, 0)));
    let truth = |b: bool| Some(Const::Int(-i64::from(b)));
    match (name, args) {
        ("arith.select", [Const::Int(c), a, b]) => return Some(if c & 1 != 0 { *a } else { *b }),
        ("arith.cmpi", [Const::Int(a), Const::Int(b)]) => {
            return truth(integer::compare(predicate(ir, op)?, width_of(ir, from)?, *a, *b)?);
        }
        ("arith.cmpf", [Const::Float(a), Const::Float(b)]) => {
            return truth(integer::compare_floats(predicate(ir, op)?, a.to_f64(), b.to_f64())?);
        }
        (_, [one]) => {
            if let Some(value) = cast(ir, name, *one, from, to) {
                return Some(value);
            }
        }
        (_, [Const::Int(a), Const::Int(b)]) if name.starts_with("arith.") => {
            return Some(Const::Int(integer::eval(name, width_of(ir, from)?, &[*a, *b])?));
        }
        _ => {}
    }
    // The scalar vocabulary says the rest: floats, and `math` and `scalar` ops on integers.
    let (from, to) = (dtype_of(ir, from)?, dtype_of(ir, to)?);
    let scalars: Vec<Scalar> =
        args.iter().zip(ir.operands(op)).map(|(&a, v)| scalar(ir, a, ir.value_type(v))).collect::<Option<_>>()?;
    let s = match name {
        "scalar.cast" => rinductor_scalar::ScalarOp::Cast,
        _ => rinductor_scalar::from_ir(name, None, from)?,
    };
    constant(rinductor_scalar::eval(s, to, &scalars).ok()?)
}

fn scalar(ir: &Ir, value: Const, ty: Type) -> Option<Scalar> {
    match value {
        Const::Float(s) => Some(s),
        Const::Int(x) => Some(Scalar::from_i64(dtype_of(ir, ir.element_type(ty))?, x)),
    }
}

fn constant(s: Scalar) -> Option<Const> {
    Some(match s.dtype().kind() {
        Kind::Bool => Const::Int(-i64::from(s.is_true())),
        Kind::Signed | Kind::Unsigned => Const::Int(sign_extend(s.to_i64(), s.dtype().bits())),
        Kind::Float => Const::Float(s),
        Kind::Complex => return None,
    })
}

/// The conversions of `arith`.
fn cast(ir: &Ir, name: &str, value: Const, from: Type, to: Type) -> Option<Const> {
    let float = || dtype_of(ir, to).filter(|d| d.kind() == Kind::Float);
    Some(match (name, value) {
        ("arith.extsi" | "arith.trunci" | "arith.index_cast", Const::Int(x)) => {
            Const::Int(sign_extend(x, width_of(ir, to)?))
        }
        ("arith.extui" | "arith.index_castui", Const::Int(x)) => {
            let x = zero_extend(x, width_of(ir, from)?) as i64;
            Const::Int(sign_extend(x, width_of(ir, to)?))
        }
        ("arith.sitofp", Const::Int(x)) => Const::Float(Scalar::from_i64(float()?, x)),
        ("arith.uitofp", Const::Int(x)) => {
            let x = i64::try_from(zero_extend(x, width_of(ir, from)?)).ok()?;
            Const::Float(Scalar::from_i64(float()?, x))
        }
        ("arith.fptosi", Const::Float(s)) => Const::Int(whole(s, width_of(ir, to)?, true)?),
        ("arith.fptoui", Const::Float(s)) => Const::Int(whole(s, width_of(ir, to)?, false)?),
        ("arith.extf" | "arith.truncf", Const::Float(s)) => Const::Float(s.cast(float()?)),
        ("arith.bitcast", value) => {
            let bits = match value {
                Const::Int(x) => zero_extend(x, width_of(ir, from)?),
                Const::Float(s) => s.to_bits() as u64,
            };
            match (width_of(ir, to), float()) {
                (Some(width), _) => Const::Int(sign_extend(bits as i64, width)),
                (None, Some(d)) if d != DType::I1 => Const::Float(Scalar::from_bits(d, u128::from(bits))),
                _ => return None,
            }
        }
        _ => return None,
    })
}

/// A float without its fraction as an integer of a width; None where it does not fit, for which the conversion has no value.
fn whole(s: Scalar, width: u32, signed: bool) -> Option<i64> {
    let x = s.to_f64().trunc();
    let bits = width - u32::from(signed);
    let limit = 2f64.powi(bits as i32);
    let low = if signed { -limit } else { 0.0 };
    if !(x >= low && x < limit) {
        return None;
    }
    Some(sign_extend(if signed { x as i64 } else { x as u64 as i64 }, width))
}
