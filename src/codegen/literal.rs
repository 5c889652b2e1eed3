//! Constants: the one value that all lanes of an attribute have.

use rinductor_scalar::{DType, Scalar};

use crate::ir::{Attr, AttrData, Ir};

/// A number of a constant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// An integer or a truth value.
    Int(i64),
    /// A float.
    Float(f64),
}

/// The value that an attribute has in all lanes, as a number of type `dtype`.
pub fn splat(ir: &Ir, attr: Attr, dtype: DType) -> Option<Number> {
    match ir.attr(attr) {
        AttrData::Bool(b) => Some(Number::Int((*b).into())),
        AttrData::Integer { value, .. } if dtype.is_float() => Some(Number::Float(*value as f64)),
        AttrData::Integer { value, .. } => Some(Number::Int(*value)),
        AttrData::Float { bits, ty } => {
            let kind = crate::codegen::kernel::dtype_of(ir, *ty)?;
            Some(Number::Float(float_of_bits(kind, *bits)))
        }
        AttrData::Dense { .. } => {
            // The text may say more digits than the type has: its elements are numbers of the type.
            let bits = *crate::text::dense::elements(ir, attr).ok()?.first()?;
            let value = Scalar::from_bits(dtype, u128::from(bits as u64));
            Some(if dtype.is_float() { Number::Float(value.to_f64()) } else { Number::Int(value.to_i64()) })
        }
        _ => None,
    }
}

/// The number that the bits of a float format are.
pub fn float_of_bits(dtype: DType, bits: u64) -> f64 {
    match dtype {
        DType::F64 => f64::from_bits(bits),
        DType::F16 => half::f16::from_bits(bits as u16).to_f64(),
        DType::BF16 => half::bf16::from_bits(bits as u16).to_f64(),
        DType::F8E4M3FN => rinductor_scalar::bits_to_f8e4m3fn(bits as u8),
        DType::F8E5M2 => rinductor_scalar::bits_to_f8e5m2(bits as u8),
        _ => f32::from_bits(bits as u32).into(),
    }
}
