//! Exponentials: `exp`, `exp2`, `expm1`, and the hyperbolic functions made of them.
//!
//! `x = n ln 2 + r`, a polynomial for `e^r`, then `2^n` in two factors, so that results below the normal range are rounded once.
//! The polynomials of `f32` are minimax fits (Remez), those of `f64` Taylor series.

use super::super::build::{Build, Convert, FloatPredicate, Math, V};
use super::lanes::F;

/// `ln 2` as two floats, the first with few bits, so that its products with small integers are exact.
const LN2_32: [f64; 2] = [0.693_359_375, -2.121_944_400_546_905_8e-4];
const LN2_64: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];
/// `(e^r - 1 - r) / r^2` for |r| <= ln 2 / 2.
const EXP_32: [f64; 5] = [0.001_381_440_4, 0.008_368_811, 0.041_668_396, 0.166_665_2, 0.499_999_94];
/// `(2^r - 1) / r` for |r| <= 1/2.
const EXP2_32: [f64; 7] =
    [1.531_522e-5, 1.546_736_5e-4, 0.001_333_343, 0.009_618_036, 0.055_504_11, 0.240_226_51, 0.693_147_18];
/// `(e^r - 1 - r) / r^2`.
const EXP_64: [f64; 12] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40320.0,
    1.0 / 5040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
];

/// `x * 2^n` for any `n` of a finite result, or one that overflows or vanishes.
fn scale<B: Build>(f: F<'_, B>, x: V<B>, n: V<B>) -> V<B> {
    if let Some(v) = f.scaled(x, n) {
        return v;
    }
    let half = f.b.ashr(n, f.i(1));
    f.mul(f.mul(x, f.pow2(half)), f.pow2(f.b.sub(n, half)))
}

/// `(n, r, e^r - 1 - r)` of `x = n ln 2 + r`.
fn reduce<B: Build>(f: F<'_, B>, x: V<B>) -> (V<B>, V<B>, V<B>) {
    let (ln2, p): ([f64; 2], &[f64]) = if f.bits == 64 { (LN2_64, &EXP_64) } else { (LN2_32, &EXP_32) };
    let (n, i) = f.round_small(f.mul(x, f.c(std::f64::consts::LOG2_E)));
    let r = f.fma(n, f.c(-ln2[0]), x);
    let r = f.fma(n, f.c(-ln2[1]), r);
    let p = f.mul(f.mul(r, r), f.poly(r, p));
    (i, r, p)
}

/// `e^x`.
pub(super) fn exp<B: Build>(f: F<'_, B>, x: V<B>) -> V<B> {
    // Beyond these the result is 0 or infinite.
    let (low, high) = if f.bits == 64 { (-750.0, 711.0) } else { (-105.0, 89.0) };
    let x = f.at_least(f.at_most(x, high), low);
    let (i, r, p) = reduce(f, x);
    scale(f, f.add(f.add(r, p), f.c(1.0)), i)
}

/// `2^x` of `f32`.
pub(super) fn exp2<B: Build>(f: F<'_, B>, x: V<B>) -> V<B> {
    let x = f.at_least(f.at_most(x, 129.0), -152.0);
    let (n, i) = f.round_small(x);
    let r = f.sub(x, n);
    scale(f, f.fma(f.poly(r, &EXP2_32), r, f.c(1.0)), i)
}

/// `e^x - 1` of `f32`.
pub(super) fn expm1<B: Build>(f: F<'_, B>, x: V<B>) -> V<B> {
    let y = f.at_least(f.at_most(x, 89.0), -20.0);
    let (i, r, p) = reduce(f, y);
    // Half of 2^n, which is there for n = 128 too.
    let s = f.pow2(f.b.sub(i, f.i(1)));
    let v = f.fma(f.add(r, p), s, f.sub(s, f.c(0.5)));
    // The sign of a zero is that of x.
    f.copysign(f.add(v, v), x)
}

/// `tanh x` of `f32`: an odd polynomial near 0, else by way of `e^2x`.
pub(super) fn tanh<B: Build>(f: F<'_, B>, x: V<B>) -> V<B> {
    const SMALL: [f64; 6] =
        [0.002_130_106_8, -0.008_168_656, 0.021_700_16, -0.053_947_445, 0.133_332_21, -0.333_333_313];
    let a = f.abs(x);
    let z = f.mul(x, x);
    let small = f.fma(f.mul(x, z), f.poly(z, &SMALL), x);
    // From 10 on the result is 1.
    let e = exp(f, f.at_most(f.add(a, a), 20.0));
    let big = f.sub(f.c(1.0), f.div(f.c(2.0), f.add(e, f.c(1.0))));
    // The sign is that of x, of a zero too.
    f.copysign(f.select(f.lt(a, f.c(0.625)), small, f.select(f.nan(x), x, big)), x)
}

/// `sinh x` of `f32`, in 64 bits: a series near 0, else half the difference of exponentials.
pub(super) fn sinh<B: Build>(f: F<'_, B>, x: V<B>) -> V<B> {
    let d = f.double();
    let w = f.widen(x);
    let e = exp(d, w);
    let big = d.mul(d.c(0.5), d.sub(e, d.div(d.c(1.0), e)));
    let z = d.mul(w, w);
    let series = [1.0 / 39_916_800.0, 1.0 / 362_880.0, 1.0 / 5040.0, 1.0 / 120.0, 1.0 / 6.0];
    let small = d.fma(d.mul(w, z), d.poly(z, &series), w);
    f.narrow(d.select(d.lt(d.abs(w), d.c(0.5)), small, big))
}

/// `cosh x` of `f32`, in 64 bits.
pub(super) fn cosh<B: Build>(f: F<'_, B>, x: V<B>) -> V<B> {
    let d = f.double();
    let e = exp(d, f.widen(x));
    f.narrow(d.mul(d.c(0.5), d.add(e, d.div(d.c(1.0), e))))
}

/// `x` to the `y` of `f32`: `e^(y log |x|)` in 64 bits, then the signs and the special cases of the C standard.
pub(super) fn pow<B: Build>(f: F<'_, B>, x: V<B>, y: V<B>) -> V<B> {
    let b = f.b;
    let d = f.double();
    let (xd, yd) = (f.widen(x), f.widen(y));
    let ax = d.abs(xd);
    let one = d.c(1.0);
    let r = exp(d, d.mul(yd, super::log::log(d, ax)));
    let whole = b.math(Math::Trunc, &[yd]);
    let integer = d.eq(whole, yd);
    let half = d.mul(yd, d.c(0.5));
    let odd = b.and(integer, b.not(d.eq(b.math(Math::Trunc, &[half]), half)));
    let finite = |v: V<B>| b.fcmp(FloatPredicate::ONE, d.abs(v), d.c(f64::INFINITY));
    // A negative number to a broken power.
    let broken = b.and(b.and(d.lt(xd, d.c(0.0)), b.not(integer)), b.and(finite(xd), finite(yd)));
    let sign = d.copysign(one, xd);
    let r = d.select(odd, d.mul(r, sign), r);
    let r = d.select(broken, d.c(f64::NAN), r);
    // 1 to anything and anything to 0 is 1, NaN too; -1 to an infinity is 1.
    let far = d.eq(d.abs(yd), d.c(f64::INFINITY));
    let unit = b.or(b.or(d.eq(xd, one), d.eq(yd, d.c(0.0))), b.and(d.eq(ax, one), far));
    f.narrow(d.select(unit, one, r))
}

/// A float as a 64-bit float and back around a formula.
pub(super) fn in_double<B: Build>(f: F<'_, B>, x: V<B>, formula: impl FnOnce(F<'_, B>, V<B>) -> V<B>) -> V<B> {
    let w = f.widen(x);
    let v = formula(f.double(), w);
    f.b.cast(Convert::FPTrunc, v, f.t)
}
