//! A scalar value together with its element type.

use crate::dtype::{DType, Kind};
use crate::round::{
    bf16_bits, bits_to_f8e4m3fn, bits_to_f8e5m2, f8e4m3fn_bits, f8e5m2_bits, f16_bits, float_to_i64, round_to,
};
use num_complex::Complex64;
use std::fmt;
use std::hash::{Hash, Hasher};

/// What a [`Scalar`] holds: the value, exactly.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// Integers and bools (0 or 1), in the range of the type.
    Int(i64),
    /// Floats, a value of the type.
    Float(f64),
    /// Complex numbers, both parts values of the type.
    Complex(Complex64),
}

/// A value of an element type. Two scalars are equal when they have one type and the same bits: a NaN equals itself,
/// and 0.0 differs from -0.0, so scalars can be hashed and interned.
#[derive(Clone, Copy)]
pub struct Scalar {
    dtype: DType,
    value: Value,
}

impl Scalar {
    /// The integer `x` in type `dtype`: wrapped to its width for integers, "not zero" for `I1`, rounded for floats.
    pub fn from_i64(dtype: DType, x: i64) -> Scalar {
        let value = match dtype.kind() {
            Kind::Bool | Kind::Signed | Kind::Unsigned => Value::Int(wrap(dtype, x)),
            Kind::Float => Value::Float(int_to_float_value(dtype, x)),
            Kind::Complex => Value::Complex(Complex64::new(int_to_float_value(dtype.real(), x), 0.0)),
        };
        Scalar { dtype, value }
    }

    /// The float `x` in type `dtype`, rounded once to nearest even; toward zero for integers (see [`float_to_i64`]).
    pub fn from_f64(dtype: DType, x: f64) -> Scalar {
        let value = match dtype.kind() {
            Kind::Bool | Kind::Signed | Kind::Unsigned => Value::Int(float_to_i64(dtype, x)),
            Kind::Float => Value::Float(round_to(dtype, x)),
            Kind::Complex => Value::Complex(Complex64::new(round_to(dtype, x), 0.0)),
        };
        Scalar { dtype, value }
    }

    /// The complex number `z` in type `dtype`; its real part where the type is not complex (`I1`: not zero).
    pub fn from_complex(dtype: DType, z: Complex64) -> Scalar {
        if dtype.is_complex() {
            let z = Complex64::new(round_to(dtype, z.re), round_to(dtype, z.im));
            Scalar { dtype, value: Value::Complex(z) }
        } else if dtype.is_bool() {
            Scalar::bool(z.re != 0.0 || z.im != 0.0)
        } else {
            Scalar::from_f64(dtype, z.re)
        }
    }

    /// A truth value.
    pub fn bool(x: bool) -> Scalar {
        Scalar { dtype: DType::I1, value: Value::Int(i64::from(x)) }
    }

    /// An `F32` of exactly this value.
    pub fn f32(x: f32) -> Scalar {
        Scalar { dtype: DType::F32, value: Value::Float(f64::from(x)) }
    }

    /// An `F64`.
    pub fn f64(x: f64) -> Scalar {
        Scalar { dtype: DType::F64, value: Value::Float(x) }
    }

    /// An `I64`.
    pub fn i64(x: i64) -> Scalar {
        Scalar { dtype: DType::I64, value: Value::Int(x) }
    }

    /// An `Index`.
    pub fn index(x: i64) -> Scalar {
        Scalar { dtype: DType::Index, value: Value::Int(x) }
    }

    /// Zero.
    pub fn zero(dtype: DType) -> Scalar {
        Scalar::from_i64(dtype, 0)
    }

    /// One.
    pub fn one(dtype: DType) -> Scalar {
        Scalar::from_i64(dtype, 1)
    }

    /// The least value: -infinity where the type has it, else the least finite one; `None` for complex types.
    pub fn lowest(dtype: DType) -> Option<Scalar> {
        match dtype.kind() {
            Kind::Complex => None,
            Kind::Float if dtype == DType::F8E4M3FN => Some(Scalar::from_f64(dtype, -448.0)),
            Kind::Float => Some(Scalar::from_f64(dtype, f64::NEG_INFINITY)),
            _ => dtype.int_min().map(|x| Scalar::from_i64(dtype, x)),
        }
    }

    /// The greatest value: infinity where the type has it, else the greatest finite one; `None` for complex types.
    pub fn highest(dtype: DType) -> Option<Scalar> {
        match dtype.kind() {
            Kind::Complex => None,
            Kind::Float if dtype == DType::F8E4M3FN => Some(Scalar::from_f64(dtype, 448.0)),
            Kind::Float => Some(Scalar::from_f64(dtype, f64::INFINITY)),
            _ => dtype.int_max().map(|x| Scalar::from_i64(dtype, x)),
        }
    }

    /// The element type.
    pub fn dtype(self) -> DType {
        self.dtype
    }

    /// The value.
    pub fn value(self) -> Value {
        self.value
    }

    /// The value as a 64-bit float (exact for floats; rounded for great integers; the real part of a complex).
    pub fn to_f64(self) -> f64 {
        match self.value {
            Value::Int(x) => x as f64,
            Value::Float(x) => x,
            Value::Complex(z) => z.re,
        }
    }

    /// The value as a complex number.
    pub fn to_complex(self) -> Complex64 {
        match self.value {
            Value::Complex(z) => z,
            _ => Complex64::new(self.to_f64(), 0.0),
        }
    }

    /// The value as an integer; floats toward zero (see [`float_to_i64`]).
    pub fn to_i64(self) -> i64 {
        match self.value {
            Value::Int(x) => x,
            Value::Float(x) => float_to_i64(DType::I64, x),
            Value::Complex(z) => float_to_i64(DType::I64, z.re),
        }
    }

    /// The integer, when the type is an integer or `I1`.
    pub fn as_int(self) -> Option<i64> {
        if let Value::Int(x) = self.value { Some(x) } else { None }
    }

    /// Not zero (NaN included).
    pub fn is_true(self) -> bool {
        match self.value {
            Value::Int(x) => x != 0,
            Value::Float(x) => x != 0.0,
            Value::Complex(z) => z.re != 0.0 || z.im != 0.0,
        }
    }

    /// A NaN (in either part).
    pub fn is_nan(self) -> bool {
        match self.value {
            Value::Int(_) => false,
            Value::Float(x) => x.is_nan(),
            Value::Complex(z) => z.is_nan(),
        }
    }

    /// Conversion as torch's `to(dtype)`: from 64-bit floats to those of 16 and 8 bits by way of 32.
    pub fn cast(self, dtype: DType) -> Scalar {
        match self.value {
            Value::Int(x) => Scalar::from_i64(dtype, x),
            Value::Float(x) if self.dtype == DType::F64 && dtype.is_float() && dtype.size() < 4 => {
                Scalar::from_f64(dtype, f64::from(x as f32))
            }
            Value::Float(x) => Scalar::from_f64(dtype, x),
            Value::Complex(z) => Scalar::from_complex(dtype, z),
        }
    }

    /// The bits of the value in memory, little end first in the low bits (a complex has its real part low).
    pub fn to_bits(self) -> u128 {
        match (self.value, self.dtype) {
            (Value::Int(x), d) => u128::from(x as u64 & (u64::MAX >> (64 - d.size() * 8))),
            (Value::Float(x), d) => u128::from(float_bits(d, x)),
            (Value::Complex(z), DType::C64) => {
                u128::from(float_bits(DType::F32, z.re)) | u128::from(float_bits(DType::F32, z.im)) << 32
            }
            (Value::Complex(z), _) => u128::from(z.re.to_bits()) | u128::from(z.im.to_bits()) << 64,
        }
    }

    /// The value with these bits in memory; bits beyond the type's size are ignored.
    pub fn from_bits(dtype: DType, bits: u128) -> Scalar {
        let low = bits as u64;
        let value = match dtype {
            DType::I1 => Value::Int(i64::from(low as u8 != 0)),
            DType::U8 | DType::I8 | DType::I16 | DType::I32 | DType::I64 | DType::Index => {
                Value::Int(wrap(dtype, low as i64))
            }
            DType::C64 => Value::Complex(Complex64::new(
                f64::from(f32::from_bits(low as u32)),
                f64::from(f32::from_bits((low >> 32) as u32)),
            )),
            DType::C128 => Value::Complex(Complex64::new(f64::from_bits(low), f64::from_bits((bits >> 64) as u64))),
            DType::F16 => Value::Float(half::f16::from_bits(low as u16).to_f64()),
            DType::BF16 => Value::Float(half::bf16::from_bits(low as u16).to_f64()),
            DType::F32 => Value::Float(f64::from(f32::from_bits(low as u32))),
            DType::F64 => Value::Float(f64::from_bits(low)),
            DType::F8E4M3FN => Value::Float(bits_to_f8e4m3fn(low as u8)),
            DType::F8E5M2 => Value::Float(bits_to_f8e5m2(low as u8)),
        };
        Scalar { dtype, value }
    }

    /// Reads one element from the first [`DType::size`] bytes (little endian); `None` if there are fewer.
    pub fn read_le(dtype: DType, bytes: &[u8]) -> Option<Scalar> {
        let bytes = bytes.get(..dtype.size())?;
        let mut buf = [0u8; 16];
        buf[..bytes.len()].copy_from_slice(bytes);
        Some(Scalar::from_bits(dtype, u128::from_le_bytes(buf)))
    }

    /// Writes the element to the first [`DType::size`] bytes (little endian); false if there are fewer.
    pub fn write_le(self, bytes: &mut [u8]) -> bool {
        let n = self.dtype.size();
        match bytes.get_mut(..n) {
            Some(out) => {
                out.copy_from_slice(&self.to_bits().to_le_bytes()[..n]);
                true
            }
            None => false,
        }
    }
}

fn float_bits(dtype: DType, x: f64) -> u64 {
    match dtype {
        DType::F16 => u64::from(f16_bits(x)),
        DType::BF16 => u64::from(bf16_bits(x)),
        DType::F32 => u64::from((x as f32).to_bits()),
        DType::F8E4M3FN => u64::from(f8e4m3fn_bits(x)),
        DType::F8E5M2 => u64::from(f8e5m2_bits(x)),
        _ => x.to_bits(),
    }
}

/// Wraps to the width of an integer type; "not zero" for `I1`.
fn wrap(dtype: DType, x: i64) -> i64 {
    match dtype {
        DType::I1 => i64::from(x != 0),
        DType::U8 => i64::from(x as u8),
        DType::I8 => i64::from(x as i8),
        DType::I16 => i64::from(x as i16),
        DType::I32 => i64::from(x as i32),
        _ => x,
    }
}

/// An integer in a float type, as the machine converts it: straight to `F32` and `F64`, and to smaller types through
/// `F32` (as torch does).
fn int_to_float_value(dtype: DType, x: i64) -> f64 {
    match dtype {
        DType::F64 => x as f64,
        _ => round_to(dtype, f64::from(x as f32)),
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Scalar) -> bool {
        self.dtype == other.dtype && self.to_bits() == other.to_bits()
    }
}

impl Eq for Scalar {}

impl Hash for Scalar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.dtype.hash(state);
        self.to_bits().hash(state);
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}:{}", self.dtype)
    }
}

/// Shows the value alone: `true`, `3`, `0.5`, `(1 + 2i)`.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            Value::Int(x) if self.dtype.is_bool() => write!(f, "{}", x != 0),
            Value::Int(x) => write!(f, "{x}"),
            // `f32`'s own shortest digits, so that 0.1 does not become 0.10000000149011612.
            Value::Float(x) if self.dtype != DType::F64 => write!(f, "{:?}", x as f32),
            Value::Float(x) => write!(f, "{x:?}"),
            Value::Complex(z) => write!(f, "({:?} + {:?}i)", z.re, z.im),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_lead_back() {
        for d in DType::ALL {
            for x in [0.0, 1.0, 2.0, 96.0] {
                let s = Scalar::from_f64(d, x);
                assert_eq!(Scalar::from_bits(d, s.to_bits()), s);
                let mut buf = [0u8; 16];
                assert!(s.write_le(&mut buf));
                assert_eq!(Scalar::read_le(d, &buf), Some(s));
            }
            assert_eq!(Scalar::read_le(d, &[]), None);
        }
        assert_eq!(Scalar::from_i64(DType::I8, -1).to_bits(), 0xff);
    }

    #[test]
    fn conversions() {
        assert_eq!(Scalar::from_i64(DType::U8, -1).to_i64(), 255);
        assert_eq!(Scalar::from_i64(DType::I8, 200).to_i64(), -56);
        assert_eq!(Scalar::from_f64(DType::F32, 0.1).to_f64(), f64::from(0.1f32));
        assert_eq!(Scalar::f64(2.5).cast(DType::I1), Scalar::bool(true));
        assert_ne!(Scalar::f64(0.0), Scalar::f64(-0.0));
        assert_eq!(Scalar::f64(f64::NAN), Scalar::f64(f64::NAN));
        assert_eq!(Scalar::from_i64(DType::F16, 70000).to_f64(), f64::INFINITY);
        assert_eq!(Scalar::f32(0.1).to_string(), "0.1");
    }
}
