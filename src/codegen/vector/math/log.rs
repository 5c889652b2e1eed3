//! Logarithms, and the inverse hyperbolic functions made of them.

use super::super::build::{Binary, Build, Convert, FloatPredicate, V};
use super::exp::in_double;
use super::lanes::F;

/// `(log(1 + f) - f + f^2 / 2) / f^3` for 1 + f between the square roots of 1/2 and 2 (minimax fit).
const LOG_32: [f64; 9] = [
    0.069_472_97,
    -0.118_648_37,
    0.118_939_32,
    -0.123_749_1,
    0.142_161_52,
    -0.166_695_91,
    0.200_022_32,
    -0.249_999_82,
    0.333_333_13,
];
const LN2_32: [f64; 2] = [0.693_359_375, -2.121_944_400_546_905_8e-4];
const LN2_64: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];

/// `(m, e)` with `x = m 2^e`, m between the square roots of 1/2 and 2; of a positive finite `x`.
fn split<B: Build>(f: F<'_, B>, x: V<B>) -> (V<B>, V<B>) {
    let b = f.b;
    let (least, up) = if f.bits == 64 { (f64::MIN_POSITIVE, 54) } else { (f64::from(f32::MIN_POSITIVE), 25) };
    // Denormals are scaled up.
    let tiny = f.lt(x, f.c(least));
    let x = f.select(tiny, f.mul(x, f.c(2f64.powi(up))), x);
    let shift = b.select(tiny, f.i(-i64::from(up)), f.i(0));
    // Subtracting sqrt(1/2) in the order of bit patterns puts the mantissa between sqrt(1/2) and sqrt(2).
    let root = f.to_bits(f.c(std::f64::consts::FRAC_1_SQRT_2));
    let over = b.sub(f.to_bits(x), root);
    let e = b.ashr(over, f.i(f.mantissa()));
    let m = b.sub(f.to_bits(x), f.shl(e, f.mantissa()));
    let e = b.cast(Convert::SIToFP, small_int(f, b.add(e, shift)), f.t);
    (f.of_bits(m), e)
}

/// 64-bit lanes that hold small numbers as 32-bit ones, which more machines convert.
fn small_int<B: Build>(f: F<'_, B>, i: V<B>) -> V<B> {
    if f.bits == 64 { f.b.cast(Convert::Trunc, i, f.b.int_type(32, f.lanes())) } else { i }
}

/// The special cases: 0, negative numbers, infinity and NaN.
fn special<B: Build>(f: F<'_, B>, x: V<B>, v: V<B>) -> V<B> {
    let zero = f.c(0.0);
    let v = f.select(f.eq(x, zero), f.c(f64::NEG_INFINITY), v);
    let v = f.select(f.lt(x, zero), f.c(f64::NAN), v);
    // Infinity, and NaN as it came.
    let far = f.b.fcmp(FloatPredicate::ULT, x, f.c(f64::INFINITY));
    let number = f.b.and(far, f.b.not(f.nan(x)));
    f.select(number, v, x)
}

/// `log x`.
pub(super) fn log<B: Build>(f: F<'_, B>, x: V<B>) -> V<B> {
    let (m, e) = split(f, x);
    let r = f.sub(m, f.c(1.0));
    let v = if f.bits == 32 {
        let z = f.mul(r, r);
        let p = f.mul(f.mul(z, r), f.poly(r, &LOG_32));
        let p = f.fma(e, f.c(LN2_32[1]), p);
        let p = f.fma(f.c(-0.5), z, p);
        f.fma(e, f.c(LN2_32[0]), f.add(r, p))
    } else {
        // log m = 2 atanh s with s = r / (2 + r), the first terms apart: r - (r^2/2 - s (r^2/2 + R)).
        let s = f.div(r, f.add(r, f.c(2.0)));
        let z = f.mul(s, s);
        let series: Vec<f64> = (1..=10).rev().map(|k| 2.0 / (2.0 * f64::from(k) + 1.0)).collect();
        let big = f.mul(z, f.poly(z, &series));
        let half = f.mul(f.mul(f.c(0.5), r), r);
        let low = f.fma(e, f.c(LN2_64[1]), f.mul(s, f.add(half, big)));
        f.fma(e, f.c(LN2_64[0]), f.sub(r, f.sub(half, low)))
    };
    special(f, x, v)
}

/// `log2 x`, `log10 x` and the like of `f32`: the logarithm in 64 bits times a factor.
pub(super) fn log_to_base<B: Build>(f: F<'_, B>, x: V<B>, factor: f64) -> V<B> {
    in_double(f, x, |d, w| d.mul(log(d, w), d.c(factor)))
}

/// `log(1 + u)` of 64-bit floats, for what is rounded to 32 bits then: the logarithm of the rounded sum with the rounding put back.
pub(super) fn log1p_wide<B: Build>(d: F<'_, B>, u: V<B>) -> V<B> {
    let w = d.add(u, d.c(1.0));
    let lost = d.sub(u, d.sub(w, d.c(1.0)));
    let v = d.add(log(d, w), d.div(lost, w));
    let v = d.select(d.eq(u, d.c(-1.0)), d.c(f64::NEG_INFINITY), v);
    d.select(d.eq(u, d.c(f64::INFINITY)), u, v)
}

/// `log(1 + x)` of `f32`.
pub(super) fn log1p<B: Build>(f: F<'_, B>, x: V<B>) -> V<B> {
    let v = in_double(f, x, log1p_wide);
    f.select(f.eq(x, f.c(0.0)), x, v)
}

/// Inverse hyperbolic sine of `f32`.
pub(super) fn asinh<B: Build>(f: F<'_, B>, x: V<B>) -> V<B> {
    let v = in_double(f, x, |d, w| {
        let a = d.abs(w);
        let z = d.mul(a, a);
        let root = d.sqrt(d.add(z, d.c(1.0)));
        log1p_wide(d, d.add(a, d.div(z, d.add(root, d.c(1.0)))))
    });
    let v = f.select(f.eq(f.abs(x), f.c(f64::INFINITY)), f.abs(x), v);
    f.copysign(v, x)
}

/// Inverse hyperbolic cosine of `f32`.
pub(super) fn acosh<B: Build>(f: F<'_, B>, x: V<B>) -> V<B> {
    let v = in_double(f, x, |d, w| {
        let t = d.sub(w, d.c(1.0));
        log1p_wide(d, d.add(t, d.sqrt(d.fma(t, t, d.add(t, t)))))
    });
    f.select(f.lt(x, f.c(1.0)), f.c(f64::NAN), v)
}

/// Inverse hyperbolic tangent of `f32`.
pub(super) fn atanh<B: Build>(f: F<'_, B>, x: V<B>) -> V<B> {
    let v = in_double(f, x, |d, w| {
        let a = d.abs(w);
        let u = d.div(d.add(a, a), d.sub(d.c(1.0), a));
        d.mul(d.c(0.5), log1p_wide(d, u))
    });
    f.copysign(v, x)
}

/// Cube root of `f32`: an estimate from a third of the exponent, then Newton's method in 64 bits.
pub(super) fn cbrt<B: Build>(f: F<'_, B>, x: V<B>) -> V<B> {
    let v = in_double(f, x, |d, w| {
        let b = d.b;
        let a = d.abs(w);
        // The high words, divided by three, with two thirds of the bias put back.
        let high = b.cast(Convert::Trunc, d.lshr(d.to_bits(a), 32), b.int_type(32, d.lanes()));
        let third = b.binop(Binary::UDiv, high, b.int(b.type_of(high), 3));
        let third = b.add(third, b.int(b.type_of(high), 715_094_163));
        let mut t = d.of_bits(d.shl(b.cast(Convert::ZExt, third, d.int_type()), 32));
        for _ in 0..3 {
            // Halley's step: t (t^3 + 2a) / (2 t^3 + a).
            let cube = d.mul(d.mul(t, t), t);
            let up = d.add(cube, d.add(a, a));
            let down = d.add(d.add(cube, cube), a);
            t = d.div(d.mul(t, up), down);
        }
        t
    });
    let v = f.copysign(v, x);
    let odd = f.b.or(f.eq(x, f.c(0.0)), f.b.or(f.nan(x), f.eq(f.abs(x), f.c(f64::INFINITY))));
    f.select(odd, x, v)
}

/// `(m, e)` with `x = m 2^e` and 1/2 <= |m| < 1; 0, infinities and NaN are themselves with e = 0.
pub(super) fn frexp<B: Build>(f: F<'_, B>, x: V<B>) -> (V<B>, V<B>) {
    let b = f.b;
    let (least, up, bias) =
        if f.bits == 64 { (f64::MIN_POSITIVE, 54, 1022) } else { (f64::from(f32::MIN_POSITIVE), 25, 126) };
    let a = f.abs(x);
    let tiny = f.lt(a, f.c(least));
    let y = f.select(tiny, f.mul(a, f.c(2f64.powi(up))), a);
    let shift = b.select(tiny, f.i(-i64::from(up) - bias), f.i(-bias));
    let bits = f.to_bits(y);
    let e = b.add(f.lshr(bits, f.mantissa()), shift);
    let mask = (1i64 << f.mantissa()) - 1;
    let m = f.of_bits(b.or(b.and(bits, f.i(mask)), f.i(bias << f.mantissa())));
    let m = f.copysign(m, x);
    let odd = b.or(f.eq(x, f.c(0.0)), b.not(f.lt(a, f.c(f64::INFINITY))));
    let e = b.select(odd, f.i(0), e);
    let narrow = b.int_type(32, f.lanes());
    (f.select(odd, x, m), b.cast(if f.bits == 64 { Convert::Trunc } else { Convert::BitCast }, e, narrow))
}
