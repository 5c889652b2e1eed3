//! The gamma function's family: logarithm, derivatives, the Hurwitz zeta function, the incomplete gamma functions.

use std::f64::consts::PI;

/// log |Γ(x)|; infinite at the poles.
pub(crate) fn lgamma(x: f64) -> f64 {
    if x.is_infinite() { f64::INFINITY } else { libm::lgamma(x) }
}

/// Bernoulli numbers B2, B4, … B24.
const BERNOULLI: [f64; 12] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
    43867.0 / 798.0,
    -174611.0 / 330.0,
    854513.0 / 138.0,
    -236364091.0 / 2730.0,
];

/// ψ(x): by recurrence to x >= 10, then the asymptotic series ln x - 1/2x - Σ B2k / (2k x^2k); by reflection for
/// negative x. NaN at the negative integers, infinite at zero, as torch has it.
pub(crate) fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return f64::INFINITY.copysign(-x);
    }
    if x < 0.0 {
        if x.trunc() == x {
            return f64::NAN;
        }
        // The tangent's period is taken off first, so that large arguments keep their fraction.
        return digamma(1.0 - x) - PI / (PI * x.fract()).tan();
    }
    let (mut x, mut result) = (x, 0.0);
    while x < 10.0 {
        result -= 1.0 / x;
        x += 1.0;
    }
    let (inv2, mut power, mut series) = (1.0 / (x * x), 1.0, 0.0);
    for (k, b) in BERNOULLI[..8].iter().enumerate() {
        power *= inv2;
        series += b / (2 * (k + 1)) as f64 * power;
    }
    result + x.ln() - 0.5 / x - series
}

/// The n-th derivative of ψ at x, for a whole n >= 0: (-1)^(n+1) n! ζ(n+1, x).
pub(crate) fn polygamma(n: f64, x: f64) -> f64 {
    if n == 0.0 {
        return digamma(x);
    }
    if n == 1.0 && x < 0.5 {
        let s = (PI * x).sin();
        return PI * PI / (s * s) - zeta(2.0, 1.0 - x);
    }
    let sign = if n % 2.0 == 0.0 { -1.0 } else { 1.0 };
    let factorial = if n < 171.0 { (1..=n as u32).map(f64::from).product() } else { lgamma(n + 1.0).exp() };
    sign * factorial * zeta(n + 1.0, x)
}

/// How far below zero [`zeta`] sums terms one by one.
const ZETA_LOWEST: f64 = -1.0e6;

/// Σ (k + q)^-s over k >= 0 by Euler and Maclaurin's formula. Infinite at s = 1 and at whole q <= 0; NaN for s < 1, for
/// negative q with a fractional s, and for q below -1e6.
pub(crate) fn zeta(s: f64, q: f64) -> f64 {
    if s.is_nan() || q.is_nan() || s < 1.0 {
        return f64::NAN;
    }
    if s == 1.0 {
        return f64::INFINITY;
    }
    if q <= 0.0 {
        if q == q.floor() {
            return f64::INFINITY;
        }
        if s != s.floor() || q < ZETA_LOWEST {
            return f64::NAN;
        }
    }
    let (mut a, mut sum) = (q, 0.0);
    while a < 10.0 {
        sum += a.powf(-s);
        a += 1.0;
    }
    let base = a.powf(-s);
    sum += base * a / (s - 1.0) + 0.5 * base;
    // The j-th correction is B2j / (2j)! · s (s+1) … (s+2j-2) · a^(-s-2j+1).
    let mut factor = s * base / a / 2.0;
    for (j, b) in BERNOULLI.iter().enumerate() {
        let term = b * factor;
        sum += term;
        if term.abs() < 1e-17 * sum.abs() {
            break;
        }
        let k = 2.0 * (j + 1) as f64;
        factor *= (s + k - 1.0) * (s + k) / (a * a * (k + 1.0) * (k + 2.0));
    }
    sum
}

/// x^a e^-x / Γ(a), without the cancellation of its logarithm when a is large.
fn gamma_density(a: f64, x: f64) -> f64 {
    if a < 20.0 {
        return (a * x.ln() - x - lgamma(a)).exp();
    }
    let mu = (x - a) / a;
    let exponent = if mu.abs() < 0.4 { a * (mu.ln_1p() - mu) } else { a * (x / a).ln() - (x - a) };
    let stirling = (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / (1680.0 * a * a)) / (a * a)) / (a * a)) / a;
    (a / (2.0 * PI)).sqrt() * (exponent - stirling).exp()
}

/// Terms after which the incomplete gamma functions stop.
const MAX_TERMS: usize = 200_000;

/// Σ x^n / (a (a+1) … (a+n)), times the density: P(a, x), good for x up to about a.
fn lower_series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum, mut n) = (1.0, 1.0, a);
    for _ in 0..MAX_TERMS {
        n += 1.0;
        term *= x / n;
        sum += term;
        if term < 1e-17 * sum {
            break;
        }
    }
    gamma_density(a, x) * sum / a
}

/// Q(a, x) by Legendre's continued fraction, evaluated by Lentz's method; good for x above about a.
fn upper_fraction(a: f64, x: f64) -> f64 {
    let tiny = 1e-300;
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / tiny;
    let mut d = 1.0 / b;
    let mut h = d;
    for i in 1..MAX_TERMS {
        let k = i as f64;
        let an = -k * (k - a);
        b += 2.0;
        d = an * d + b;
        d = 1.0 / if d.abs() < tiny { tiny } else { d };
        c = b + an / c;
        c = if c.abs() < tiny { tiny } else { c };
        let delta = d * c;
        h *= delta;
        if (delta - 1.0).abs() < 1e-16 {
            break;
        }
    }
    gamma_density(a, x) * h
}

/// The lower regularized incomplete gamma function P(a, x).
pub(crate) fn igamma(a: f64, x: f64) -> f64 {
    match edge(a, x) {
        Some(p) => p,
        None if x <= a + 1.0 => lower_series(a, x),
        None => 1.0 - upper_fraction(a, x),
    }
}

/// The upper regularized incomplete gamma function Q(a, x).
pub(crate) fn igammac(a: f64, x: f64) -> f64 {
    match edge(a, x) {
        Some(p) => 1.0 - p,
        None if x <= a + 1.0 => 1.0 - lower_series(a, x),
        None => upper_fraction(a, x),
    }
}

/// P(a, x) where it needs no series.
fn edge(a: f64, x: f64) -> Option<f64> {
    if a.is_nan() || x.is_nan() || a < 0.0 || x < 0.0 || (a == 0.0 && x == 0.0) || (a.is_infinite() && x.is_infinite())
    {
        Some(f64::NAN)
    } else if a == 0.0 || x.is_infinite() {
        Some(1.0)
    } else if x == 0.0 || a.is_infinite() {
        Some(0.0)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::assert_near;
    use super::*;

    #[test]
    fn gamma_family() {
        const EULER: f64 = 0.577_215_664_901_532_9;
        assert_near(digamma(1.0), -EULER, 1e-15);
        assert_near(digamma(0.5), -EULER - 2.0 * 2f64.ln(), 1e-15);
        assert_near(digamma(-0.5), digamma(0.5) + 2.0, 1e-13);
        assert_eq!(digamma(0.0), f64::NEG_INFINITY);
        assert!(digamma(-3.0).is_nan());
        assert_near(zeta(2.0, 1.0), PI * PI / 6.0, 1e-15);
        assert_near(zeta(4.0, 1.0), PI.powi(4) / 90.0, 1e-15);
        assert_near(zeta(2.0, 0.5), PI * PI / 2.0, 1e-15);
        assert_near(zeta(1.1, 3.0), 10.584_448_464_950_81 - 1.0 - 0.5f64.powf(1.1), 1e-14);
        assert_near(polygamma(1.0, 0.25), 17.197_329_154_507_11, 1e-14);
        assert_near(polygamma(2.0, 1.0), -2.0 * 1.202_056_903_159_594_3, 1e-15);
        assert_eq!(lgamma(-1.0), f64::INFINITY);
    }

    #[test]
    fn incomplete_gamma() {
        // P(1, x) = 1 - e^-x, P(1/2, x) = erf(sqrt x), and the two functions add up to 1.
        for x in [0.01, 0.5, 1.0, 3.0, 20.0] {
            assert_near(igamma(1.0, x), -(-x).exp_m1(), 1e-14);
            assert_near(igammac(1.0, x), (-x).exp(), 1e-14);
            assert_near(igamma(0.5, x), libm::erf(x.sqrt()), 1e-14);
            assert_near(igammac(0.5, x), libm::erfc(x.sqrt()), 1e-13);
        }
        assert_near(igamma(100.0, 100.0), 0.513_298_798_279_148_6, 1e-13);
        assert_near(igamma(1e5, 1e5) + igammac(1e5, 1e5), 1.0, 1e-12);
        assert!(igamma(-1.0, 1.0).is_nan());
        assert_eq!(igamma(0.0, 1.0), 1.0);
        assert_eq!(igammac(2.0, f64::INFINITY), 0.0);
    }
}
