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

/// `erf((k + r) / 3.8)` for |r| <= 1/2 and k = 0..16, where it becomes 1: coefficients of r^5, r^4, …, one in each lane for each k (minimax fits).
#[rustfmt::skip]
const PIECES: [[f64; 16]; 6] = [
    [
        0.00013984, 9.6344724e-05, -3.3448097e-07, -7.3737494e-05, -8.3920881e-05, -4.8598144e-05, -8.2866227e-06, 1.3097284e-05,
        1.5942083e-05, 1.0706056e-05, 5.2380606e-06, 2.0166203e-06, 6.319932e-07, 1.6422754e-07, 3.5789991e-08, 6.5911347e-09,
    ],
    [
        0.0, 0.00062852574, 0.00087410834, 0.00066675496, 0.00024696786, -9.4435614e-05, -0.0002317522, -0.00021070297,
        -0.00013257412, -6.4699983e-05, -2.5583555e-05, -8.3784944e-06, -2.3019611e-06, -5.3499264e-07, -1.0577569e-07, -1.7864718e-08,
    ],
    [
        -0.00685412, -0.0055100401, -0.0023174221, 0.00090602587, 0.0027524401, 0.0029886987, 0.0022584649, 0.0013326267,
        0.00064091006, 0.00025659276, 8.6557433e-05, 2.4791228e-05, 6.0599909e-06, 1.2688889e-06, 2.2820907e-07, 3.5326313e-08,
    ],
    [
        0.0, -0.01918746, -0.0311762, -0.033078063, -0.027161475, -0.018204786, -0.010198469, -0.0048360848,
        -0.0019558675, -0.00067792885, -0.00020205477, -5.1906401e-05, -1.1513201e-05, -2.2078402e-06, -3.6642029e-07, -5.267227e-08,
    ],
    [
        0.29694188, 0.27707392, 0.22509627, 0.15921696, 0.098052517, 0.052574672, 0.024543857, 0.0099760229,
        0.0035303722, 0.0010877573, 0.00029180452, 6.8155459e-05, 1.3859833e-05, 2.4539413e-06, 3.7828534e-07, 5.0771988e-08,
    ],
    [
        0.0, 0.29022735, 0.54331887, 0.73578513, 0.86341935, 0.93722862, 0.97444898, 0.99081606,
        0.99709195, 0.99919027, 0.99980205, 0.99995756, 0.99999201, 0.99999869, 0.99999982, 1.0,
    ],
];

/// The error function.
pub(super) fn erf<B: Build>(f: F<'_, B>, x: V<B>) -> V<B> {
    by_pieces(f, x).unwrap_or_else(|| by_exp(f, x))
}

/// A polynomial for each of 16 pieces of the axis, whose coefficients are taken from tables in registers; None where the machine has no such tables.
fn by_pieces<B: Build>(f: F<'_, B>, x: V<B>) -> Option<V<B>> {
    if !f.has_tables() {
        return None;
    }
    let t = f.mul(f.at_most(f.abs(x), 4.0), f.c(3.8));
    let (n, k) = f.round_small(t);
    let r = f.sub(t, n);
    let [first, rest @ ..] = &PIECES;
    let mut v = f.b.table(first, k)?;
    for coefficients in rest {
        v = f.fma(v, r, f.b.table(coefficients, k)?);
    }
    Some(f.copysign(v, x))
}

/// An odd polynomial near 0, else 1 minus a power of e.
fn by_exp<B: Build>(f: F<'_, B>, x: V<B>) -> V<B> {
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
