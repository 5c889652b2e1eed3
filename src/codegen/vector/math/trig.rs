//! Trigonometric functions of `f32` and their inverses, in 64 bits.

use super::super::build::{Build, FloatPredicate, IntPredicate, Math, V};
use super::exp::in_double;
use super::lanes::F;

/// pi / 2 as two numbers, the first of 25 bits, so that its products with the quarter turns counted below are exact.
const HALF_PI: [f64; 2] = [1.570_796_310_901_641_8, 1.589_325_477_352_819_6e-8];
/// Up to here the reduction by two numbers holds; beyond, the C library does it.
const REDUCED: f64 = 1.0e6;

/// `(n, r)` with `x = n pi / 2 + r`.
fn quarter_turns<B: Build>(d: F<'_, B>, x: V<B>) -> (V<B>, V<B>) {
    let (n, i) = d.round_small(d.mul(x, d.c(std::f64::consts::FRAC_2_PI)));
    let r = d.fma(n, d.c(-HALF_PI[0]), x);
    let r = d.fma(n, d.c(-HALF_PI[1]), r);
    (i, r)
}

fn sine<B: Build>(d: F<'_, B>, r: V<B>) -> V<B> {
    let z = d.mul(r, r);
    let series = [1.0 / 6_227_020_800.0, -1.0 / 39_916_800.0, 1.0 / 362_880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0];
    d.fma(d.mul(r, z), d.poly(z, &series), r)
}

fn cosine<B: Build>(d: F<'_, B>, r: V<B>) -> V<B> {
    let z = d.mul(r, r);
    let series = [1.0 / 479_001_600.0, -1.0 / 3_628_800.0, 1.0 / 40320.0, -1.0 / 720.0, 1.0 / 24.0, -0.5, 1.0];
    d.poly(z, &series)
}

/// What `formula` gives in the range of the reduction; beyond it, lane by lane what the C library's `name` gives.
fn with_far<B: Build>(f: F<'_, B>, x: V<B>, name: &str, formula: impl FnOnce(F<'_, B>, V<B>) -> V<B>) -> V<B> {
    let b = f.b;
    let near = b.fcmp(FloatPredicate::ULE, f.abs(x), f.c(REDUCED));
    let all = if f.lanes() == 1 { near } else { b.math(Math::AllLanes, &[near]) };
    b.either(all, || in_double(f, x, formula), || f.narrow(b.by_lane(name, b.float_type(64, 1), &[f.widen(x)])))
}

/// Whether bit `k` is set.
fn bit<B: Build>(d: F<'_, B>, i: V<B>, k: i64) -> V<B> {
    d.odd(d.lshr(i, k))
}

/// Sine.
pub(super) fn sin<B: Build>(f: F<'_, B>, x: V<B>) -> V<B> {
    with_far(f, x, "sin", |d, w| {
        let (n, r) = quarter_turns(d, w);
        let v = d.select(bit(d, n, 0), cosine(d, r), sine(d, r));
        let v = d.select(bit(d, n, 1), d.neg(v), v);
        // A zero keeps its sign.
        d.select(d.eq(w, d.c(0.0)), w, v)
    })
}

/// Cosine.
pub(super) fn cos<B: Build>(f: F<'_, B>, x: V<B>) -> V<B> {
    with_far(f, x, "cos", |d, w| {
        let (n, r) = quarter_turns(d, w);
        let v = d.select(bit(d, n, 0), sine(d, r), cosine(d, r));
        let negative = bit(d, d.b.add(n, d.i(1)), 1);
        d.select(negative, d.neg(v), v)
    })
}

/// Tangent.
pub(super) fn tan<B: Build>(f: F<'_, B>, x: V<B>) -> V<B> {
    with_far(f, x, "tan", |d, w| {
        let (n, r) = quarter_turns(d, w);
        let (s, c) = (sine(d, r), cosine(d, r));
        let odd = bit(d, n, 0);
        let v = d.div(d.select(odd, d.neg(c), s), d.select(odd, s, c));
        d.select(d.eq(w, d.c(0.0)), w, v)
    })
}

/// `atan x` of 64-bit floats, for what is rounded to 32 bits then.
fn atan_wide<B: Build>(d: F<'_, B>, x: V<B>) -> V<B> {
    /// `(atan(x) / x - 1) / x^2` in z = x^2 up to tan(pi/8)^2 (minimax fit).
    const ATAN: [f64; 11] = [
        -0.017_819_831_115_045_467,
        0.038_007_177_333_891_61,
        -0.050_380_893_557_469_296,
        0.058_478_944_685_398_21,
        -0.066_631_497_993_868_85,
        0.076_920_689_853_033_5,
        -0.090_908_985_718_894_47,
        0.111_111_108_252_827_26,
        -0.142_857_142_813_615_5,
        0.199_999_999_999_691_34,
        -0.333_333_333_333_332_7,
    ];
    let one = d.c(1.0);
    let a = d.abs(x);
    // Above 1 the reciprocal, above tan(pi/8) turned by pi/4.
    let inverse = d.gt(a, one);
    let y = d.select(inverse, d.div(one, a), a);
    let middle = d.gt(y, d.c(0.414_213_562_373_095));
    let y = d.select(middle, d.div(d.sub(y, one), d.add(y, one)), y);
    let z = d.mul(y, y);
    let v = d.fma(d.mul(y, z), d.poly(z, &ATAN), y);
    let v = d.select(middle, d.add(v, d.c(std::f64::consts::FRAC_PI_4)), v);
    let v = d.select(inverse, d.sub(d.c(std::f64::consts::FRAC_PI_2), v), v);
    d.copysign(v, x)
}

/// Inverse tangent.
pub(super) fn atan<B: Build>(f: F<'_, B>, x: V<B>) -> V<B> {
    in_double(f, x, atan_wide)
}

fn asin_wide<B: Build>(d: F<'_, B>, x: V<B>) -> V<B> {
    let one = d.c(1.0);
    atan_wide(d, d.div(x, d.sqrt(d.mul(d.sub(one, x), d.add(one, x)))))
}

/// Inverse sine.
pub(super) fn asin<B: Build>(f: F<'_, B>, x: V<B>) -> V<B> {
    in_double(f, x, asin_wide)
}

/// Inverse cosine.
pub(super) fn acos<B: Build>(f: F<'_, B>, x: V<B>) -> V<B> {
    in_double(f, x, |d, w| d.sub(d.c(std::f64::consts::FRAC_PI_2), asin_wide(d, w)))
}

/// The angle of the point (`x`, `y`).
pub(super) fn atan2<B: Build>(f: F<'_, B>, y: V<B>, x: V<B>) -> V<B> {
    let b = f.b;
    let d = f.double();
    let (y, x) = (f.widen(y), f.widen(x));
    let (ay, ax) = (d.abs(y), d.abs(x));
    let infinite = d.c(f64::INFINITY);
    // Two infinities, or two zeros, have the angles of ones, or of a zero over a one.
    let both = b.and(d.eq(ay, infinite), d.eq(ax, infinite));
    let none = b.and(d.eq(ay, d.c(0.0)), d.eq(ax, d.c(0.0)));
    let q = d.div(ay, ax);
    let q = d.select(both, d.c(1.0), q);
    let q = d.select(none, d.c(0.0), q);
    let v = atan_wide(d, q);
    let left = b.icmp(IntPredicate::SLT, d.to_bits(x), d.i(0));
    let v = d.select(left, d.sub(d.c(std::f64::consts::PI), v), v);
    let v = d.copysign(v, y);
    let nan = b.or(d.nan(x), d.nan(y));
    f.narrow(d.select(nan, d.add(x, y), v))
}

/// `sqrt(x^2 + y^2)` without overflow; infinite if either is.
pub(super) fn hypot<B: Build>(f: F<'_, B>, x: V<B>, y: V<B>) -> V<B> {
    let d = f.double();
    let (x, y) = (f.widen(x), f.widen(y));
    let v = d.sqrt(d.fma(x, x, d.mul(y, y)));
    let infinite = d.c(f64::INFINITY);
    let far = d.b.or(d.eq(d.abs(x), infinite), d.eq(d.abs(y), infinite));
    f.narrow(d.select(far, infinite, v))
}
