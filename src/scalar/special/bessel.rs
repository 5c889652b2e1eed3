//! Modified Bessel functions and the Airy function.

use std::f64::consts::{FRAC_PI_4, PI};

/// Where the power series of I hands over to the asymptotic one.
const I_FAR: f64 = 25.0;

/// exp(-x) I_order(x) for x >= 0 and order 0 or 1.
fn ie(order: u32, x: f64) -> f64 {
    if x < I_FAR {
        let q = x * x / 4.0;
        let start = if order == 0 { 1.0 } else { x / 2.0 };
        let (mut term, mut sum, mut k) = (start, start, 1.0);
        while term > 1e-18 * sum {
            term *= q / (k * (k + f64::from(order)));
            sum += term;
            k += 1.0;
        }
        return (-x).exp() * sum;
    }
    if x.is_nan() {
        return x;
    }
    // 1/sqrt(2πx) Σ Π ((2j-1)² - 4 order²) / (8x j): the terms shrink until about j = 2x.
    let mu = f64::from(4 * order * order);
    let (mut term, mut sum) = (1.0, 1.0);
    for j in 1..=30 {
        let odd = f64::from(2 * j - 1);
        term *= (odd * odd - mu) / (8.0 * x * f64::from(j));
        sum += term;
    }
    sum / (2.0 * PI * x).sqrt()
}

/// y exp(x), where exp(x) alone could overflow though the product does not.
fn scale_up(y: f64, x: f64) -> f64 {
    let half = (x / 2.0).exp();
    y * half * half
}

/// exp(-|x|) I0(x).
pub(crate) fn i0e(x: f64) -> f64 {
    ie(0, x.abs())
}

/// I0(x).
pub(crate) fn i0(x: f64) -> f64 {
    if x.is_infinite() { f64::INFINITY } else { scale_up(i0e(x), x.abs()) }
}

/// exp(-|x|) I1(x).
pub(crate) fn i1e(x: f64) -> f64 {
    let y = ie(1, x.abs());
    if x < 0.0 { -y } else { y }
}

/// I1(x).
pub(crate) fn i1(x: f64) -> f64 {
    if x.is_infinite() { x } else { scale_up(i1e(x), x.abs()) }
}

const EULER: f64 = 0.577_215_664_901_532_9;

/// exp(x) K_order(x) for real order, from ∫ exp(-x (cosh t - 1)) cosh(order t) dt by the trapezoidal rule, which
/// converges faster than any power of the step on this integrand. For x not near 0.
fn ke_integral(order: f64, x: f64) -> f64 {
    let h = 0.2f64.min(0.6 / x.sqrt());
    let (mut sum, mut t) = (0.5, h);
    loop {
        // cosh t - 1 = 2 sinh²(t/2) keeps small t exact.
        let s = (t / 2.0).sinh();
        let term = (-2.0 * x * s * s).exp() * (order * t).cosh();
        sum += term;
        if term < 1e-18 * sum {
            return sum * h;
        }
        t += h;
    }
}

/// Where the series of K around 0 hand over to the integral.
const K_NEAR: f64 = 2.0;

/// K_order(x) for 0 < x < 2 and order 0 or 1, from the power series with a logarithm.
fn k_series(order: u32, x: f64) -> f64 {
    let q = x * x / 4.0;
    let log = (x / 2.0).ln();
    let (mut power, mut sum) = (1.0, 0.0);
    // Digamma at k+1, beginning with k = 0.
    let mut psi = -EULER;
    for k in 0..40 {
        let k1 = f64::from(k + 1);
        sum += power * if order == 0 { psi - log } else { psi + psi + 1.0 / k1 - 2.0 * log };
        power *= q / (k1 * (k1 + f64::from(order)));
        psi += 1.0 / k1;
    }
    if order == 0 { sum } else { 1.0 / x - x / 4.0 * sum }
}

fn k_scaled(order: u32, x: f64) -> f64 {
    if x.is_nan() || x < 0.0 {
        f64::NAN
    } else if x == 0.0 {
        f64::INFINITY
    } else if x.is_infinite() {
        0.0
    } else if x < K_NEAR {
        x.exp() * k_series(order, x)
    } else {
        ke_integral(f64::from(order), x)
    }
}

/// exp(x) K0(x); NaN below 0.
pub(crate) fn k0e(x: f64) -> f64 {
    k_scaled(0, x)
}

/// K0(x); NaN below 0.
pub(crate) fn k0(x: f64) -> f64 {
    if x > 0.0 && x < K_NEAR { k_series(0, x) } else { (-x).exp() * k0e(x) }
}

/// exp(x) K1(x); NaN below 0.
pub(crate) fn k1e(x: f64) -> f64 {
    k_scaled(1, x)
}

/// K1(x); NaN below 0.
pub(crate) fn k1(x: f64) -> f64 {
    if x > 0.0 && x < K_NEAR { k_series(1, x) } else { (-x).exp() * k1e(x) }
}

/// sin(x) / x.
pub(crate) fn spherical_j0(x: f64) -> f64 {
    if x.is_infinite() {
        0.0
    } else if x.abs() < 1e-4 {
        1.0 - x * x / 6.0
    } else {
        x.sin() / x
    }
}

/// Ai(0) and -Ai'(0).
const AI0: f64 = 0.355_028_053_887_817_2;
const AI1: f64 = 0.258_819_403_792_806_8;

/// One step of y'' = x y from `x` by `h`, along the Taylor series of the solution through (y, y').
fn airy_step(x: f64, h: f64, y: f64, slope: f64) -> (f64, f64) {
    // (k+2)(k+1) a[k+2] = x a[k] + a[k-1]
    let mut a = [0.0; 32];
    (a[0], a[1]) = (y, slope);
    a[2] = x * y / 2.0;
    for k in 1..30 {
        a[k + 2] = (x * a[k] + a[k - 1]) / ((k + 2) * (k + 1)) as f64;
    }
    let (mut value, mut derivative) = (0.0, 0.0);
    for k in (0..32).rev() {
        value = value * h + a[k];
        if k > 0 {
            derivative = derivative * h + k as f64 * a[k];
        }
    }
    (value, derivative)
}

/// Ai(x): Taylor steps from 0 for -9 < x < 1, K of order 1/3 above, the oscillating asymptotic series below.
pub(crate) fn airy_ai(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x.is_infinite() {
        return 0.0;
    }
    let zeta = 2.0 / 3.0 * x.abs().powf(1.5);
    if x >= 1.0 {
        return (x / 3.0).sqrt() / PI * (-zeta).exp() * ke_integral(1.0 / 3.0, zeta);
    }
    if x > -9.0 {
        let steps = (x.abs() / 0.5).ceil().max(1.0);
        let h = x / steps;
        let (mut y, mut slope) = (AI0, -AI1);
        for k in 0..steps as usize {
            (y, slope) = airy_step(h * k as f64, h, y, slope);
        }
        return y;
    }
    // u[k] = Γ(3k + 1/2) / (54^k k! Γ(k + 1/2)); even ones go with the cosine, odd ones with the sine.
    let (mut u, mut even, mut odd) = (1.0, 1.0, 0.0);
    for k in 1..=16 {
        let n = f64::from(k);
        u *= (6.0 * n - 5.0) * (6.0 * n - 1.0) / (72.0 * n * zeta);
        match k % 4 {
            0 => even += u,
            1 => odd += u,
            2 => even -= u,
            _ => odd -= u,
        }
    }
    let angle = zeta - FRAC_PI_4;
    (angle.cos() * even + angle.sin() * odd) / (PI.sqrt() * x.abs().powf(0.25))
}

#[cfg(test)]
mod tests {
    use super::super::assert_near;
    use super::*;

    #[test]
    fn modified_bessel() {
        assert_near(i0(1.0), 1.266_065_877_752_008_4, 1e-15);
        assert_near(i1(1.0), 0.565_159_103_992_485, 1e-15);
        assert_near(i1(-1.0), -0.565_159_103_992_485, 1e-15);
        assert_near(i0e(24.999_999_9), i0e(25.000_000_1), 1e-8);
        assert_near(i0e(100.0), 0.039_944_379_299_096_68, 1e-14);
        assert_near(k0(1.0), 0.421_024_438_240_708_33, 1e-15);
        assert_near(k1(1.0), 0.601_907_230_197_234_6, 1e-15);
        assert_near(k0(2.5), 0.062_347_553_200_366_19, 1e-14);
        assert_near(k1e(2.0 - 1e-12), k1e(2.0), 1e-11);
        // I0 K1 + I1 K0 = 1 / x ties the two kinds together.
        for x in [0.1, 1.0, 3.0, 10.0, 24.0, 26.0, 300.0] {
            assert_near(i0e(x) * k1e(x) + i1e(x) * k0e(x), 1.0 / x, 1e-14);
        }
        assert!(k0(-1.0).is_nan());
        assert_eq!(k0(0.0), f64::INFINITY);
    }

    #[test]
    fn airy() {
        assert_near(airy_ai(0.0), AI0, 1e-15);
        assert_near(airy_ai(1.0), 0.135_292_416_312_881_4, 1e-14);
        assert_near(airy_ai(1.0 - 1e-12), airy_ai(1.0), 1e-11);
        assert_near(airy_ai(-2.0), 0.227_407_428_201_685_6, 1e-13);
        assert_near(airy_ai(-9.0 - 1e-12), airy_ai(-9.0 + 1e-12), 1e-9);
        assert_near(airy_ai(-8.9), -0.117_266_306_371_751_8, 1e-12);
        assert_near(airy_ai(-15.0), 0.278_217_490_870_829, 1e-13);
        assert_near(airy_ai(10.0), 1.104_753_255_289_868_6e-10, 1e-13);
        assert_near(spherical_j0(2.0), 2f64.sin() / 2.0, 1e-15);
    }
}
