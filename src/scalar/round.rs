//! Rounding of 64-bit floats to the smaller formats (to nearest, ties to even, in one step) and their bit patterns.

use crate::dtype::DType;
use half::{bf16, f16};

/// Rounds `x` to the values of a float type, straight from 64 bits. Other types leave `x` as it is.
pub fn round_to(dtype: DType, x: f64) -> f64 {
    match dtype {
        DType::F32 | DType::C64 => x as f32 as f64,
        DType::F16 => f16::from_bits(f16_bits(x)).to_f64(),
        DType::BF16 => bf16::from_bits(bf16_bits(x)).to_f64(),
        DType::F8E4M3FN => bits_to_f8e4m3fn(f8e4m3fn_bits(x)),
        DType::F8E5M2 => bits_to_f8e5m2(f8e5m2_bits(x)),
        _ => x,
    }
}

/// A small float format. Conversions are written out here because those of hardware go through 32 bits and round twice.
struct Small {
    mantissa: i32,
    bias: i32,
    sign: u32,
    /// Pattern above which a rounded finite value overflows.
    max_pattern: u32,
    /// Pattern of overflow and infinity.
    overflow: u32,
    nan: u32,
}

const F16: Small = Small { mantissa: 10, bias: 15, sign: 0x8000, max_pattern: 0x7bff, overflow: 0x7c00, nan: 0x7e00 };
const BF16: Small = Small { mantissa: 7, bias: 127, sign: 0x8000, max_pattern: 0x7f7f, overflow: 0x7f80, nan: 0x7fc0 };
const E4M3FN: Small = Small { mantissa: 3, bias: 7, sign: 0x80, max_pattern: 0x7e, overflow: 0x7f, nan: 0x7f };
const E5M2: Small = Small { mantissa: 2, bias: 15, sign: 0x80, max_pattern: 0x7b, overflow: 0x7c, nan: 0x7f };

fn small_bits(f: &Small, x: f64) -> u32 {
    let sign = if x.is_sign_negative() { f.sign } else { 0 };
    if x.is_nan() {
        return sign | f.nan;
    }
    let a = x.abs();
    if a == 0.0 {
        return sign;
    }
    if a >= 2f64.powi(f.bias + 2) {
        return sign | f.overflow;
    }
    let exponent = ((a.to_bits() >> 52) as i32 - 1023).max(1 - f.bias);
    // In units of the last place the value is exact in 64 bits, and so is its rounding.
    let units = (a * 2f64.powi(f.mantissa - exponent)).round_ties_even() as u32;
    // Adding (not or-ing) lets a mantissa that rounds up carry into the exponent.
    let pattern = (((exponent + f.bias - 1) as u32) << f.mantissa) + units;
    sign | if pattern > f.max_pattern { f.overflow } else { pattern }
}

/// The binary16 pattern nearest to `x`.
pub fn f16_bits(x: f64) -> u16 {
    small_bits(&F16, x) as u16
}

/// The bfloat16 pattern nearest to `x`.
pub fn bf16_bits(x: f64) -> u16 {
    small_bits(&BF16, x) as u16
}

fn small_value(f: &Small, bits: u8, has_inf: bool) -> f64 {
    let sign = if bits & 0x80 != 0 { -1.0 } else { 1.0 };
    let p = u32::from(bits & 0x7f);
    if p > f.max_pattern {
        return if has_inf && p == f.overflow { sign * f64::INFINITY } else { f64::NAN };
    }
    let e = (p >> f.mantissa) as i32;
    let m = f64::from(p & ((1 << f.mantissa) - 1));
    let unit = 2f64.powi(-f.mantissa);
    let v = if e == 0 { m * unit * 2f64.powi(1 - f.bias) } else { (1.0 + m * unit) * 2f64.powi(e - f.bias) };
    sign * v
}

/// The 8-bit pattern (4 exponent bits, finite only) nearest to `x`; what overflows becomes NaN, as in torch.
pub fn f8e4m3fn_bits(x: f64) -> u8 {
    small_bits(&E4M3FN, x) as u8
}

/// The 8-bit pattern (5 exponent bits) nearest to `x`; what overflows becomes infinity.
pub fn f8e5m2_bits(x: f64) -> u8 {
    small_bits(&E5M2, x) as u8
}

/// The value of an `F8E4M3FN` pattern.
pub fn bits_to_f8e4m3fn(bits: u8) -> f64 {
    small_value(&E4M3FN, bits, false)
}

/// The value of an `F8E5M2` pattern.
pub fn bits_to_f8e5m2(bits: u8) -> f64 {
    small_value(&E5M2, bits, true)
}

/// Float to integer of `dtype`, toward zero. What torch leaves to the machine is what x86-64 does: NaN and values
/// beyond a signed type of 32 or 64 bits give its least value; smaller types take the low bits of the 32-bit
/// conversion, `U8` those of the 64-bit one; `I1` is "not zero".
pub fn float_to_i64(dtype: DType, x: f64) -> i64 {
    // 2^63, exact in 64-bit floats.
    let end = -(i64::MIN as f64);
    let to_i64 = || if (-end..end).contains(&x) { x as i64 } else { i64::MIN };
    let to_i32 = || if x > -2_147_483_649.0 && x < 2_147_483_648.0 { x as i32 } else { i32::MIN };
    match dtype {
        DType::I1 => i64::from(x != 0.0),
        DType::U8 => i64::from(to_i64() as u8),
        DType::I8 => i64::from(to_i32() as i8),
        DType::I16 => i64::from(to_i32() as i16),
        DType::I32 => i64::from(to_i32()),
        _ => to_i64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f8_patterns_lead_back_and_round_to_nearest() {
        for bits in 0..=255u8 {
            for (to, from) in
                [(f8e4m3fn_bits as fn(f64) -> u8, bits_to_f8e4m3fn as fn(u8) -> f64), (f8e5m2_bits, bits_to_f8e5m2)]
            {
                let v = from(bits);
                if !v.is_nan() {
                    assert_eq!(to(v), bits, "{v}");
                }
            }
        }
        assert_eq!(bits_to_f8e4m3fn(0x7e), 448.0);
        assert!(bits_to_f8e4m3fn(f8e4m3fn_bits(480.0)).is_nan());
        assert_eq!(bits_to_f8e4m3fn(f8e4m3fn_bits(464.0)), 448.0);
        assert_eq!(f8e5m2_bits(61440.0), 0x7c);
        assert_eq!(bits_to_f8e5m2(f8e5m2_bits(61439.0)), 57344.0);
        assert_eq!(bits_to_f8e4m3fn(f8e4m3fn_bits(1.0625)), 1.0);
        assert_eq!(bits_to_f8e4m3fn(f8e4m3fn_bits(1.1875)), 1.25);
        assert_eq!(f8e4m3fn_bits(0.000_976_562_5), 0);
        assert_eq!(f8e4m3fn_bits(0.000_976_6), 1);
    }

    #[test]
    fn halves_lead_back() {
        for bits in 0..=u16::MAX {
            let (f, b) = (f16::from_bits(bits), bf16::from_bits(bits));
            assert!(f.is_nan() || f16_bits(f.to_f64()) == bits);
            assert!(b.is_nan() || bf16_bits(b.to_f64()) == bits);
        }
    }

    #[test]
    fn halves_round_once() {
        // 1 + 2^-11 + 2^-40 lies just above a tie: rounding through f32 first would lose that and go to even.
        let x = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
        assert_eq!(round_to(DType::F16, x), 1.0 + 2f64.powi(-10));
        let y = 1.0 + 2f64.powi(-8) + 2f64.powi(-40);
        assert_eq!(round_to(DType::BF16, y), 1.0 + 2f64.powi(-7));
        assert_eq!(round_to(DType::F16, 65520.0), f64::INFINITY);
        assert_eq!(round_to(DType::F16, 65519.9), 65504.0);
    }

    #[test]
    fn floats_to_integers() {
        assert_eq!(float_to_i64(DType::U8, -1.5), 255);
        assert_eq!(float_to_i64(DType::I32, 3e9), i64::from(i32::MIN));
        assert_eq!(float_to_i64(DType::I64, f64::NAN), i64::MIN);
        assert_eq!(float_to_i64(DType::I8, 300.0), 44);
        assert_eq!(float_to_i64(DType::I1, f64::NAN), 1);
        assert_eq!(float_to_i64(DType::I32, -2_147_483_648.5), i64::from(i32::MIN));
    }
}
