//! `f16` from and to `f32`, also on machines that have no instruction for it.

use super::build::{Build, Convert, FloatPredicate, IntPredicate, V};

/// An `f16` as `f32`.
pub(super) fn widen<B: Build>(b: &B, v: V<B>) -> V<B> {
    let float = b.like(v, b.float_type(32, 1));
    if b.machine().f16c {
        return b.cast(Convert::FPExt, v, float);
    }
    let wide = b.like(v, b.int_type(32, 1));
    let int = |x: i64| b.int(wide, x);
    let bits = b.cast(Convert::ZExt, b.bitcast(v, b.like(v, b.int_type(16, 1))), wide);
    let sign = b.shl(b.and(bits, int(0x8000)), int(16));
    // Exponent and mantissa, where `f32` has them. The exponent counts from another number: a product puts that right, and is exact also
    // for denormals.
    let shifted = b.shl(b.and(bits, int(0x7fff)), int(13));
    let finite = b.bitcast(b.fmul(b.bitcast(shifted, float), b.float(float, 2f64.powi(112))), wide);
    let special = b.icmp(IntPredicate::SGE, shifted, int(0x0f80_0000));
    let magnitude = b.select(special, b.or(shifted, int(0x7f80_0000)), finite);
    b.bitcast(b.or(magnitude, sign), float)
}

/// An `f32` rounded to `f16`, to nearest with ties to even.
pub(super) fn narrow<B: Build>(b: &B, v: V<B>) -> V<B> {
    let half = b.like(v, b.float_type(16, 1));
    if b.machine().f16c {
        return b.cast(Convert::FPTrunc, v, half);
    }
    let (wide, float) = (b.like(v, b.int_type(32, 1)), b.type_of(v));
    let int = |x: i64| b.int(wide, x);
    let bits = b.bitcast(v, wide);
    let magnitude = b.and(bits, int(0x7fff_ffff));
    // Normal numbers: half of the last place is added, and a little less where the last bit is 0; a carry goes on to the exponent.
    let odd = b.and(b.lshr(magnitude, int(13)), int(1));
    let rebased = b.add(magnitude, int(0x0fff - 0x3800_0000));
    let normal = b.lshr(b.add(rebased, odd), int(13));
    // Denormal ones: the sum with 1/2 has the last place of f16's denormals, and is rounded by itself.
    let sum = b.fadd(b.bitcast(magnitude, float), b.float(float, 0.5));
    let small = b.sub(b.bitcast(sum, wide), int(0x3f00_0000));
    let finite = b.select(b.icmp(IntPredicate::SLT, magnitude, int(0x3880_0000)), small, normal);
    let infinite = b.icmp(IntPredicate::SGE, magnitude, int(0x4780_0000));
    let nan = b.fcmp(FloatPredicate::UNO, v, v);
    let result = b.select(nan, int(0x7e00), b.select(infinite, int(0x7c00), finite));
    let signed = b.or(result, b.and(b.lshr(bits, int(16)), int(0x8000)));
    b.bitcast(b.cast(Convert::Trunc, signed, b.like(v, b.int_type(16, 1))), half)
}
