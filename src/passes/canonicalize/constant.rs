//! Constants: what `arith.constant` says, read and written. A splat of a vector or tensor counts as its one number.

use crate::dialects::{dtype_of, type_of};
use crate::ir::{Attr, AttrData, InsertPoint, Ir, Loc, Op, Signedness, Type, TypeData, Value};
use rinductor_scalar::{Kind, Scalar};

/// A number that is known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Const {
    /// An integer, of any width up to 64 and sign: its bits, the top one repeated.
    Int(i64),
    /// A float.
    Float(Scalar),
}

/// The width of an integer or index type.
pub fn width_of(ir: &Ir, ty: Type) -> Option<u32> {
    match ir.ty(ir.element_type(ty)) {
        TypeData::Integer { width, .. } if (1..=64).contains(width) => Some(*width),
        TypeData::Index => Some(64),
        _ => None,
    }
}

/// The low `width` bits, the top one of them repeated.
pub fn sign_extend(x: i64, width: u32) -> i64 {
    let shift = 64 - width;
    x << shift >> shift
}

/// The low `width` bits as a number that is not negative.
pub fn zero_extend(x: i64, width: u32) -> u64 {
    (x as u64) << (64 - width) >> (64 - width)
}

/// The number that a value is, if an `arith.constant` defines it.
pub fn known(ir: &Ir, value: Value) -> Option<Const> {
    let op = ir.def_op(value)?;
    if !ir.is_op(op, "arith.constant") {
        return None;
    }
    of_attr(ir, ir.attr_of(op, "value")?)
}

/// The integer that a value is.
pub fn known_int(ir: &Ir, value: Value) -> Option<i64> {
    match known(ir, value)? {
        Const::Int(x) => Some(x),
        Const::Float(_) => None,
    }
}

fn of_attr(ir: &Ir, attr: Attr) -> Option<Const> {
    match ir.attr(attr) {
        AttrData::Bool(b) => Some(Const::Int(-i64::from(*b))),
        AttrData::Integer { value, ty } => Some(Const::Int(sign_extend(*value, width_of(ir, *ty)?))),
        AttrData::Float { bits, ty } => of_bits(ir, *bits, *ty),
        AttrData::Dense { ty, .. } => {
            let element = ir.element_type(*ty);
            match crate::text::dense::elements(ir, attr).ok()?.as_slice() {
                [bits] => of_bits(ir, *bits as u64, element),
                _ => None,
            }
        }
        _ => None,
    }
}

fn of_bits(ir: &Ir, bits: u64, ty: Type) -> Option<Const> {
    if let Some(width) = width_of(ir, ty) {
        return Some(Const::Int(sign_extend(bits as i64, width)));
    }
    let dtype = dtype_of(ir, ty)?;
    (dtype.kind() == Kind::Float).then(|| Const::Float(Scalar::from_bits(dtype, u128::from(bits))))
}

/// The attribute of a number as an element of a type; None where the type is neither integer nor float.
pub fn attr(ir: &mut Ir, value: Const, element: Type) -> Option<Attr> {
    Some(match (value, ir.ty(element).clone()) {
        (Const::Int(x), TypeData::Integer { width: 1, .. }) => ir.bool_attr(x & 1 != 0),
        (Const::Int(x), TypeData::Integer { width, sign: Signedness::Unsigned }) => {
            ir.int_attr(zero_extend(x, width) as i64, element)
        }
        (Const::Int(x), TypeData::Integer { width, .. }) => ir.int_attr(sign_extend(x, width), element),
        (Const::Int(x), TypeData::Index) => ir.int_attr(x, element),
        (Const::Float(s), TypeData::Float(_)) if dtype_of(ir, element) == Some(s.dtype()) => {
            let ty = type_of(ir, s.dtype());
            ir.make_attr(AttrData::Float { bits: s.to_bits() as u64, ty })
        }
        _ => return None,
    })
}

/// `arith.constant` before an op; None for a type that has no constants.
pub fn make(ir: &mut Ir, value: Const, ty: Type, before: Op) -> Option<Value> {
    let element = ir.element_type(ty);
    let scalar = attr(ir, value, element)?;
    let value = match ir.ty(ty) {
        TypeData::Vector { .. } | TypeData::Tensor { .. } => crate::passes::util::splat(ir, scalar, ty),
        TypeData::Integer { .. } | TypeData::Float(_) | TypeData::Index => scalar,
        _ => return None,
    };
    let loc: Loc = ir.op(before).loc;
    Some(ir.create_value("arith.constant", &[], ty, &[("value", value)], loc, InsertPoint::Before(before)))
}
