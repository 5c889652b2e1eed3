//! The Rust types that stand for element types in memory.

use half::{bf16, f16};
use num_complex::Complex;
use rinductor_scalar::{DType, Scalar};

/// A type whose values may be any bytes, and that stands for one or more element types.
///
/// # Safety
/// Every bit pattern of the size is a value, the alignment is at most 64, and there is no padding.
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// The element type a new tensor of these has.
    const DTYPE: DType;

    /// Whether a tensor of type `dtype` holds these.
    fn stands_for(dtype: DType) -> bool {
        dtype == Self::DTYPE
    }

    /// The nearest value, as [`Scalar::cast`] converts.
    fn from_scalar(s: Scalar) -> Self;
}

macro_rules! element {
    ($t:ty, $dtype:expr, $($also:pat_param)|+, $from:expr) => {
        // SAFETY: a primitive number (or a pair of one): all patterns are values, aligned to at most 16, unpadded.
        unsafe impl Element for $t {
            const DTYPE: DType = $dtype;
            fn stands_for(dtype: DType) -> bool {
                matches!(dtype, $($also)|+)
            }
            fn from_scalar(s: Scalar) -> $t {
                let from: fn(Scalar) -> $t = $from;
                from(s)
            }
        }
    };
}

// Bytes also stand for truth values (0 or 1) and for the patterns of 8-bit floats.
element!(u8, DType::U8, DType::U8 | DType::I1 | DType::F8E4M3FN | DType::F8E5M2, |s| s.cast(DType::U8).to_i64() as u8);
element!(i8, DType::I8, DType::I8, |s| s.cast(DType::I8).to_i64() as i8);
element!(i16, DType::I16, DType::I16, |s| s.cast(DType::I16).to_i64() as i16);
element!(i32, DType::I32, DType::I32, |s| s.cast(DType::I32).to_i64() as i32);
element!(i64, DType::I64, DType::I64 | DType::Index, |s| s.cast(DType::I64).to_i64());
element!(f16, DType::F16, DType::F16, |s| f16::from_bits(s.cast(DType::F16).to_bits() as u16));
element!(bf16, DType::BF16, DType::BF16, |s| bf16::from_bits(s.cast(DType::BF16).to_bits() as u16));
element!(f32, DType::F32, DType::F32, |s| s.to_f64() as f32);
element!(f64, DType::F64, DType::F64, |s| s.to_f64());
element!(Complex<f32>, DType::C64, DType::C64, |s| {
    let z = s.to_complex();
    Complex::new(z.re as f32, z.im as f32)
});
element!(Complex<f64>, DType::C128, DType::C128, |s| s.to_complex());
