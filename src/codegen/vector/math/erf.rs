//! The error function and its complement, of `f32`.

use super::super::build::{Build, V};
use super::exp::exp;
use super::lanes::F;

/// `erf(x) / x - 1` in x^2, for |x| up to 0.9 (minimax fit).
const SMALL: [f64; 7] =
    [8.538_841e-5, -8.181_928e-4, 0.005_204_436, -0.026_860_753, 0.112_837_195, -0.376_126_35, 0.128_379_166];
/// `-log(erfc t) / t` for t from 0.88 to 3.95, where `erf` becomes 1 (minimax fit).
const BIG: [f64; 10] = [
    2.418_411e-7,
    -5.578_974e-6,
    5.492_310_8e-5,
    -2.853_936e-4,
    6.451_729e-4,
    0.001_653_160_2,
    -0.021_172_293,
    0.104_166_262,
    0.636_078_24,
    1.128_470_8,
];

/// The error function.
pub(super) fn erf<B: Build>(f: F<'_, B>, x: V<B>) -> V<B> {
    let a = f.abs(x);
    let z = f.mul(x, x);
    let small = f.fma(x, f.poly(z, &SMALL), x);
    let t = f.at_most(a, 3.95);
    let g = f.mul(t, f.poly(t, &BIG));
    let big = f.sub(f.c(1.0), exp(f, f.neg(g)));
    let big = f.copysign(big, x);
    f.select(f.lt(a, f.c(0.9)), small, f.select(f.nan(x), x, big))
}

/// `1 - erf x` without cancellation: in 64 bits, `e^-t^2` times a polynomial in (t - 3) / (t + 3), t = |x|.
pub(super) fn erfc<B: Build>(f: F<'_, B>, x: V<B>) -> V<B> {
    /// `e^(t^2) erfc t` (minimax fit to 10.2, beyond which the result vanishes).
    const SCALED: [f64; 15] = [
        8.334_413_576_538_593e-7,
        1.355_649_054_622_245e-6,
        -7.875_946_199_828_153e-6,
        -1.225_232_168_202_886_8e-5,
        6.414_223_162_449_728e-5,
        4.502_892_148_708_265e-5,
        -5.971_119_795_644_785e-4,
        7.077_912_401_049_497e-4,
        0.004_269_146_045_107_825,
        -0.024_392_504_037_579_63,
        0.071_665_836_435_782_89,
        -0.150_115_936_269_519_55,
        0.245_603_801_731_853_73,
        -0.326_233_560_046_458_5,
        0.179_001_151_181_325,
    ];
    let d = f.double();
    let w = f.widen(x);
    let t = d.at_most(d.abs(w), 10.2);
    let u = d.div(d.sub(t, d.c(3.0)), d.add(t, d.c(3.0)));
    let v = d.mul(exp(d, d.neg(d.mul(t, t))), d.poly(u, &SCALED));
    let v = d.select(d.lt(w, d.c(0.0)), d.sub(d.c(2.0), v), v);
    f.narrow(d.select(d.nan(w), w, v))
}
