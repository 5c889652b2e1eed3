//! Element types: sizes, kinds and the names they have in the IR, in torch and in numpy.

use serde::{Deserialize, Serialize};
use std::fmt;

/// An element type. `Index` is the type of sizes and of loop variables; it holds 64-bit signed integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DType {
    /// Truth value, one byte in memory (torch.bool).
    I1,
    /// Unsigned byte (torch.uint8).
    U8,
    /// Signed byte (torch.int8).
    I8,
    /// 16-bit signed integer.
    I16,
    /// 32-bit signed integer.
    I32,
    /// 64-bit signed integer.
    I64,
    /// IEEE binary16.
    F16,
    /// bfloat16: the upper half of a binary32.
    BF16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
    /// 8-bit float, 4 exponent and 3 mantissa bits, no infinities, one NaN pattern a sign.
    F8E4M3FN,
    /// 8-bit float, 5 exponent and 2 mantissa bits, with infinities.
    F8E5M2,
    /// Pair of `F32` (torch.complex64).
    C64,
    /// Pair of `F64` (torch.complex128).
    C128,
    /// Sizes and positions: a 64-bit signed integer.
    Index,
}

/// The kinds of element types, in torch's promotion order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `I1`.
    Bool,
    /// Unsigned integers.
    Unsigned,
    /// Signed integers, `Index` included.
    Signed,
    /// Real floating types.
    Float,
    /// Complex types.
    Complex,
}

impl DType {
    /// All element types, in declaration order.
    pub const ALL: [DType; 15] = [
        DType::I1,
        DType::U8,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
        DType::F8E4M3FN,
        DType::F8E5M2,
        DType::C64,
        DType::C128,
        DType::Index,
    ];

    /// Bytes of one element in memory.
    pub const fn size(self) -> usize {
        match self {
            DType::I1 | DType::U8 | DType::I8 | DType::F8E4M3FN | DType::F8E5M2 => 1,
            DType::I16 | DType::F16 | DType::BF16 => 2,
            DType::I32 | DType::F32 => 4,
            DType::I64 | DType::F64 | DType::C64 | DType::Index => 8,
            DType::C128 => 16,
        }
    }

    /// Bits of one value: 1 for `I1`, else eight times [`DType::size`].
    pub const fn bits(self) -> u32 {
        if matches!(self, DType::I1) { 1 } else { self.size() as u32 * 8 }
    }

    /// The kind.
    pub const fn kind(self) -> Kind {
        match self {
            DType::I1 => Kind::Bool,
            DType::U8 => Kind::Unsigned,
            DType::I8 | DType::I16 | DType::I32 | DType::I64 | DType::Index => Kind::Signed,
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 | DType::F8E4M3FN | DType::F8E5M2 => Kind::Float,
            DType::C64 | DType::C128 => Kind::Complex,
        }
    }

    /// A real floating type.
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), Kind::Float)
    }

    /// A complex type.
    pub const fn is_complex(self) -> bool {
        matches!(self.kind(), Kind::Complex)
    }

    /// An integer type, `I1` not among them (torch's `is_integral(include_bool=False)`).
    pub const fn is_int(self) -> bool {
        matches!(self.kind(), Kind::Signed | Kind::Unsigned)
    }

    /// `I1`.
    pub const fn is_bool(self) -> bool {
        matches!(self, DType::I1)
    }

    /// A float of fewer than 32 bits, whose arithmetic is done in `F32`.
    pub const fn is_reduced_float(self) -> bool {
        matches!(self, DType::F16 | DType::BF16 | DType::F8E4M3FN | DType::F8E5M2)
    }

    /// An 8-bit float.
    pub const fn is_f8(self) -> bool {
        matches!(self, DType::F8E4M3FN | DType::F8E5M2)
    }

    /// The type of the parts of a complex type; any other type is itself.
    pub const fn real(self) -> DType {
        match self {
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            other => other,
        }
    }

    /// The complex type whose parts hold this float (`F16`, `BF16` and `F8` go to `C64`); a complex type is itself.
    pub const fn complex(self) -> DType {
        match self {
            DType::F64 | DType::C128 => DType::C128,
            _ => DType::C64,
        }
    }

    /// How the IR writes the type.
    pub const fn ir_name(self) -> &'static str {
        match self {
            DType::I1 => "i1",
            DType::U8 => "ui8",
            DType::I8 => "i8",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::F8E4M3FN => "f8E4M3FN",
            DType::F8E5M2 => "f8E5M2",
            DType::C64 => "complex<f32>",
            DType::C128 => "complex<f64>",
            DType::Index => "index",
        }
    }

    /// The type the IR writes as `name`.
    pub fn from_ir_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|d| d.ir_name() == name)
    }

    /// torch's name, without `torch.`. `Index` is `int64`.
    pub const fn torch_name(self) -> &'static str {
        match self {
            DType::I1 => "bool",
            DType::U8 => "uint8",
            DType::I8 => "int8",
            DType::I16 => "int16",
            DType::I32 => "int32",
            DType::I64 | DType::Index => "int64",
            DType::F16 => "float16",
            DType::BF16 => "bfloat16",
            DType::F32 => "float32",
            DType::F64 => "float64",
            DType::F8E4M3FN => "float8_e4m3fn",
            DType::F8E5M2 => "float8_e5m2",
            DType::C64 => "complex64",
            DType::C128 => "complex128",
        }
    }

    /// The type torch calls `name`, with or without `torch.`, torch's other names included (`float`, `half`, `long`).
    pub fn from_torch_name(name: &str) -> Option<DType> {
        let name = name.strip_prefix("torch.").unwrap_or(name);
        Some(match name {
            "float" => DType::F32,
            "double" => DType::F64,
            "half" => DType::F16,
            "long" => DType::I64,
            "int" => DType::I32,
            "short" => DType::I16,
            "cfloat" => DType::C64,
            "cdouble" => DType::C128,
            _ => return DType::ALL.into_iter().find(|d| *d != DType::Index && d.torch_name() == name),
        })
    }

    /// numpy's type string (`<f4`); `None` for the types numpy lacks (`BF16` and the 8-bit floats).
    pub const fn numpy_name(self) -> Option<&'static str> {
        Some(match self {
            DType::I1 => "|b1",
            DType::U8 => "|u1",
            DType::I8 => "|i1",
            DType::I16 => "<i2",
            DType::I32 => "<i4",
            DType::I64 | DType::Index => "<i8",
            DType::F16 => "<f2",
            DType::F32 => "<f4",
            DType::F64 => "<f8",
            DType::C64 => "<c8",
            DType::C128 => "<c16",
            DType::BF16 | DType::F8E4M3FN | DType::F8E5M2 => return None,
        })
    }

    /// The least integer value (0 for `I1`); `None` for floats and complex types.
    pub const fn int_min(self) -> Option<i64> {
        Some(match self {
            DType::I1 | DType::U8 => 0,
            DType::I8 => i8::MIN as i64,
            DType::I16 => i16::MIN as i64,
            DType::I32 => i32::MIN as i64,
            DType::I64 | DType::Index => i64::MIN,
            _ => return None,
        })
    }

    /// The greatest integer value (1 for `I1`); `None` for floats and complex types.
    pub const fn int_max(self) -> Option<i64> {
        Some(match self {
            DType::I1 => 1,
            DType::U8 => 255,
            DType::I8 => i8::MAX as i64,
            DType::I16 => i16::MAX as i64,
            DType::I32 => i32::MAX as i64,
            DType::I64 | DType::Index => i64::MAX,
            _ => return None,
        })
    }

    /// The distance from 1 to the next greater value of a float type (of the parts, for complex types).
    pub const fn epsilon(self) -> Option<f64> {
        Some(match self {
            DType::F16 => 0.000_976_562_5,
            DType::BF16 => 0.007_812_5,
            DType::F32 | DType::C64 => f32::EPSILON as f64,
            DType::F64 | DType::C128 => f64::EPSILON,
            DType::F8E4M3FN => 0.125,
            DType::F8E5M2 => 0.25,
            _ => return None,
        })
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.ir_name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for d in DType::ALL {
            assert_eq!(DType::from_ir_name(d.ir_name()), Some(d));
            let back = if d == DType::Index { DType::I64 } else { d };
            assert_eq!(DType::from_torch_name(d.torch_name()), Some(back));
        }
        assert_eq!(DType::from_torch_name("torch.half"), Some(DType::F16));
        assert_eq!(DType::from_ir_name("u8"), None);
    }
}
