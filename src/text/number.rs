//! Number literals: integers of any width in two's complement, floats of every format bit for bit.

use crate::ir::FloatKind;

/// Why a literal is not a value of its type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NumberError {
    /// It does not fit the type.
    OutOfRange,
    /// A literal of this kind cannot have that type.
    WrongKind,
    /// It has more digits than are read.
    TooLong,
}

/// Most digits that one integer literal may have: conversion takes quadratic time.
const MAX_DIGITS: usize = 20_000;

/// An integer without bounds: sign and magnitude, least limb first, no zero limb last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Big {
    negative: bool,
    limbs: Vec<u32>,
}

impl Big {
    /// Reads `-12` or `0x1F`.
    ///
    /// # Errors
    /// The text is too long.
    pub fn parse(text: &str) -> Result<Big, NumberError> {
        let (negative, body) = text.strip_prefix('-').map_or((false, text), |t| (true, t));
        let (radix, digits) = body.strip_prefix("0x").map_or((10, body), |t| (16, t));
        let digits = digits.trim_start_matches('0');
        if digits.len() > MAX_DIGITS {
            return Err(NumberError::TooLong);
        }
        let mut big = Big { negative, limbs: Vec::new() };
        let chunk = if radix == 10 { 9 } else { 7 };
        let bytes = digits.as_bytes();
        let mut i = 0;
        while i < bytes.len() {
            let n = chunk.min(bytes.len() - i);
            let value = bytes[i..i + n].iter().fold(0u32, |v, &b| v * radix + (b as char).to_digit(radix).unwrap_or(0));
            big.mul_add(radix.pow(n as u32), value);
            i += n;
        }
        big.negative &= !big.limbs.is_empty();
        Ok(big)
    }

    fn mul_add(&mut self, factor: u32, add: u32) {
        let mut carry = u64::from(add);
        for limb in &mut self.limbs {
            let v = u64::from(*limb) * u64::from(factor) + carry;
            *limb = v as u32;
            carry = v >> 32;
        }
        if carry != 0 {
            self.limbs.push(carry as u32);
        }
    }

    fn bits(&self) -> u64 {
        self.limbs.last().map_or(0, |l| self.limbs.len() as u64 * 32 - u64::from(l.leading_zeros()))
    }

    fn is_power_of_two(&self) -> bool {
        self.limbs.iter().map(|l| l.count_ones()).sum::<u32>() == 1
    }

    /// Whether the value, as it is written, is one of `width` bits: signed, unsigned, or (signless) either.
    pub fn fits(&self, width: u32, signed: bool, unsigned: bool) -> bool {
        let bits = self.bits();
        let width = u64::from(width);
        if self.negative {
            signed && (bits < width || (bits == width && self.is_power_of_two()))
        } else {
            (unsigned && bits <= width) || (signed && bits < width) || bits == 0
        }
    }

    /// The value in two's complement of `width` bits, read as signed: what a signless integer prints.
    pub fn wrap_signed(&self, width: u32) -> Big {
        if self.negative || self.bits() < u64::from(width) || width == 0 {
            return self.clone();
        }
        // 2^width - magnitude, negative: width is at most the number of bits of a literal that fits.
        let mut limbs = vec![0u32; width as usize / 32 + 1];
        limbs[width as usize / 32] = 1 << (width % 32);
        let mut borrow = 0i64;
        for (i, limb) in limbs.iter_mut().enumerate() {
            let v = i64::from(*limb) - i64::from(self.limbs.get(i).copied().unwrap_or(0)) - borrow;
            borrow = i64::from(v < 0);
            *limb = v as u32;
        }
        while limbs.last() == Some(&0) {
            limbs.pop();
        }
        let negative = !limbs.is_empty();
        Big { negative, limbs }
    }

    /// The low 64 bits in two's complement.
    pub fn low64(&self) -> i64 {
        let limb = |i: usize| u64::from(self.limbs.get(i).copied().unwrap_or(0));
        let magnitude = (limb(0) | limb(1) << 32) as i64;
        if self.negative { magnitude.wrapping_neg() } else { magnitude }
    }

    /// Decimal text.
    pub fn decimal(&self) -> String {
        let mut limbs = self.limbs.clone();
        let mut parts = Vec::new();
        while !limbs.is_empty() {
            let mut rest = 0u64;
            for limb in limbs.iter_mut().rev() {
                let v = rest << 32 | u64::from(*limb);
                *limb = (v / 1_000_000_000) as u32;
                rest = v % 1_000_000_000;
            }
            while limbs.last() == Some(&0) {
                limbs.pop();
            }
            parts.push(rest);
        }
        let mut text = String::new();
        if self.negative {
            text.push('-');
        }
        match parts.pop() {
            None => text.push('0'),
            Some(first) => {
                text.push_str(&first.to_string());
                for p in parts.iter().rev() {
                    text.push_str(&format!("{p:09}"));
                }
            }
        }
        text
    }
}

/// Exponent bits, mantissa bits, bias, and which patterns are not numbers, of the formats of up to 32 bits that Rust has no type for.
struct Mini {
    exponent: u32,
    mantissa: u32,
    bias: i32,
    /// Infinities and NaNs as in IEEE.
    ieee: bool,
    /// The single NaN is the pattern of negative zero.
    fnuz: bool,
    /// The pattern of all ones is NaN.
    fn_nan: bool,
}

fn mini(kind: FloatKind) -> Option<Mini> {
    use FloatKind::*;
    let m = |exponent, mantissa, bias, ieee, fnuz, fn_nan| Some(Mini { exponent, mantissa, bias, ieee, fnuz, fn_nan });
    match kind {
        f16 => m(5, 10, 15, true, false, false),
        bf16 => m(8, 7, 127, true, false, false),
        tf32 => m(8, 10, 127, true, false, false),
        f4E2M1FN => m(2, 1, 1, false, false, false),
        f6E2M3FN => m(2, 3, 1, false, false, false),
        f6E3M2FN => m(3, 2, 3, false, false, false),
        f8E3M4 => m(3, 4, 3, true, false, false),
        f8E4M3 => m(4, 3, 7, true, false, false),
        f8E4M3B11FNUZ => m(4, 3, 11, false, true, false),
        f8E4M3FN => m(4, 3, 7, false, false, true),
        f8E4M3FNUZ => m(4, 3, 8, false, true, false),
        f8E5M2 => m(5, 2, 15, true, false, false),
        f8E5M2FNUZ => m(5, 2, 16, false, true, false),
        f8E8M0FNU | f32 | f64 | f80 | f128 => None,
    }
}

/// The value of a bit pattern; None where the format is wider than 64 bits.
pub fn decode(kind: FloatKind, bits: u64) -> Option<f64> {
    match kind {
        FloatKind::f64 => return Some(f64::from_bits(bits)),
        FloatKind::f32 => return Some(f32::from_bits(bits as u32).into()),
        FloatKind::f8E8M0FNU => {
            return Some(if bits == 0xFF { f64::NAN } else { f64::exp2(bits as f64 - 127.0) });
        }
        _ => {}
    }
    let m = mini(kind)?;
    let negative = bits >> (m.exponent + m.mantissa) & 1 == 1;
    let e = (bits >> m.mantissa) & ((1 << m.exponent) - 1);
    let f = bits & ((1 << m.mantissa) - 1);
    let top = (1 << m.exponent) - 1;
    let sign = if negative { -1.0 } else { 1.0 };
    if m.ieee && e == top {
        return Some(if f == 0 { sign * f64::INFINITY } else { f64::NAN });
    }
    if (m.fnuz && negative && e == 0 && f == 0) || (m.fn_nan && e == top && f == (1 << m.mantissa) - 1) {
        return Some(f64::NAN);
    }
    let scale = f64::exp2(f64::from(e.max(1) as i32 - m.bias - m.mantissa as i32));
    let significand = if e == 0 { f } else { f | 1 << m.mantissa };
    Some(sign * significand as f64 * scale)
}

/// The bit pattern nearest to a value, ties to even; an infinity or the largest finite value where it is too large.
pub fn encode(kind: FloatKind, value: f64) -> Option<u64> {
    match kind {
        FloatKind::f64 => return Some(value.to_bits()),
        FloatKind::f32 => return Some((value as f32).to_bits().into()),
        FloatKind::f16 => return Some(half::f16::from_f64(value).to_bits().into()),
        FloatKind::bf16 => return Some(half::bf16::from_f64(value).to_bits().into()),
        FloatKind::f8E8M0FNU => {
            if value.is_nan() {
                return Some(0xFF);
            }
            return Some((value.abs().log2().round_ties_even() + 127.0).clamp(0.0, 254.0) as u64);
        }
        _ => {}
    }
    let m = mini(kind)?;
    let sign = u64::from(value.is_sign_negative()) << (m.exponent + m.mantissa);
    let top = (1u64 << m.exponent) - 1;
    let ones = (1u64 << m.mantissa) - 1;
    let nan = if m.ieee {
        top << m.mantissa | 1 << (m.mantissa - 1)
    } else if m.fnuz {
        1 << (m.exponent + m.mantissa)
    } else {
        top << m.mantissa | ones
    };
    if value.is_nan() {
        return Some(if m.fnuz { nan } else { sign | nan });
    }
    let magnitude = value.abs();
    // The largest finite pattern without sign.
    let largest = if m.ieee {
        (top << m.mantissa) - 1
    } else if m.fn_nan {
        (top << m.mantissa | ones) - 1
    } else {
        top << m.mantissa | ones
    };
    let pattern = if magnitude.is_infinite() {
        if m.ieee { top << m.mantissa } else { largest }
    } else if magnitude == 0.0 {
        0
    } else {
        let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(1 - m.bias);
        let units = (magnitude / f64::exp2(f64::from(exponent - m.mantissa as i32))).round_ties_even() as u64;
        // A rounded-up significand carries into the exponent by itself.
        let biased = (exponent + m.bias) as u64;
        let p = if units < 1 << m.mantissa { units } else { ((biased - 1) << m.mantissa) + units };
        if p > largest { if m.ieee { top << m.mantissa } else { largest } } else { p }
    };
    if m.fnuz && pattern == 0 {
        return Some(0);
    }
    Some(sign | pattern)
}

/// The bits of a literal: decimal, or `0x…` with the bits themselves.
///
/// # Errors
/// An integer literal, or bits beyond the width.
pub fn float_bits(kind: FloatKind, text: &str) -> Result<u64, NumberError> {
    if let Some(hex) = text.strip_prefix("0x") {
        let bits = u64::from_str_radix(hex, 16).map_err(|_| NumberError::OutOfRange)?;
        if kind.bits() < 64 && bits >> kind.bits() != 0 {
            return Err(NumberError::OutOfRange);
        }
        return Ok(bits);
    }
    if text.starts_with("-0x") || !text.contains('.') {
        return Err(NumberError::WrongKind);
    }
    if kind == FloatKind::f32 {
        return text.parse::<f32>().map(|v| v.to_bits().into()).map_err(|_| NumberError::WrongKind);
    }
    let value: f64 = text.parse().map_err(|_| NumberError::WrongKind)?;
    encode(kind, value).ok_or(NumberError::WrongKind)
}

/// The text of a float: six decimals in scientific form as MLIR writes it where that reads back as the same bits, else the shortest
/// that does, else (infinities, NaN) the bits.
pub fn float_text(kind: FloatKind, bits: u64) -> String {
    if let Some(value) = decode(kind, bits).filter(|v| v.is_finite()) {
        for text in [scientific(&format!("{value:.6e}"), true), scientific(&shortest(kind, value), false)] {
            if float_bits(kind, &text) == Ok(bits) {
                return text;
            }
        }
    }
    format!("0x{bits:0width$X}", width = kind.bits().div_ceil(4) as usize)
}

fn shortest(kind: FloatKind, value: f64) -> String {
    if kind == FloatKind::f32 { format!("{:e}", value as f32) } else { format!("{value:e}") }
}

/// Rust's `1.5e-7` and `1e0` as MLIR's `1.500000e-07` (`padded`) or `1.5e-7`, always with a point.
fn scientific(text: &str, padded: bool) -> String {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let point = if mantissa.contains('.') { "" } else { ".0" };
    if !padded {
        return format!("{mantissa}{point}e{exponent}");
    }
    let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |d| ('-', d));
    format!("{mantissa}{point}e{sign}{digits:0>2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_integers_wrap_and_print() {
        let n = Big::parse("0xFFFFFFFFFFFFFFFFFFFF").unwrap();
        assert_eq!(n.decimal(), "1208925819614629174706175");
        assert!(n.fits(80, true, true) && !n.fits(79, true, true));
        assert_eq!(n.wrap_signed(80).decimal(), "-1");
        let min = Big::parse("-170141183460469231731687303715884105728").unwrap();
        assert!(min.fits(128, true, true) && !min.fits(127, true, true) && !min.fits(128, false, true));
        assert_eq!(min.decimal(), "-170141183460469231731687303715884105728");
        assert_eq!(Big::parse("-0").unwrap().decimal(), "0");
        assert_eq!(Big::parse("200").unwrap().wrap_signed(8).low64(), -56);
        assert!(Big::parse("255").unwrap().fits(8, true, true) && !Big::parse("256").unwrap().fits(8, true, true));
    }

    #[test]
    fn every_pattern_of_a_small_float_comes_back() {
        for kind in FloatKind::ALL.into_iter().filter(|k| k.bits() <= 16 && *k != FloatKind::f8E8M0FNU) {
            for bits in 0..1u64 << kind.bits() {
                let value = decode(kind, bits).unwrap();
                assert_eq!(float_bits(kind, &float_text(kind, bits)), Ok(bits), "{kind:?} {bits:#x}");
                if !value.is_nan() {
                    assert_eq!(encode(kind, value), Some(bits), "{kind:?} {bits:#x} {value}");
                }
            }
        }
    }

    #[test]
    fn floats_print_as_mlir_prints_them() {
        let f32 = |v: f32| float_text(FloatKind::f32, v.to_bits().into());
        assert_eq!([f32(1.0), f32(-0.0), f32(1e-5)], ["1.000000e+00", "-0.000000e+00", "1.000000e-05"]);
        assert_eq!([f32(16777216.0), f32(f32::INFINITY)], ["1.6777216e7", "0x7F800000"]);
        assert_eq!(float_text(FloatKind::f64, f64::NAN.to_bits()), "0x7FF8000000000000");
    }
}
