//! Relatives of the error function.

use std::f64::consts::{FRAC_2_SQRT_PI, PI, SQRT_2};

/// Steps of Halley's method; each triples the digits of a start good to two.
const STEPS: usize = 4;

/// The inverse of erfc on (0, 1].
fn erfcinv(q: f64) -> f64 {
    // Start: a rational function in sqrt(-2 log(q/2)), the leading growth of the tail.
    let t = (-2.0 * (0.5 * q).ln()).sqrt();
    let mut x = (t - (2.307_53 + 0.270_61 * t) / (1.0 + t * (0.992_29 + 0.044_81 * t))) / SQRT_2;
    for _ in 0..STEPS {
        let error = libm::erfc(x) - q;
        x += error / (FRAC_2_SQRT_PI * (-x * x).exp() - x * error);
    }
    x
}

/// The inverse of erf; infinite at ±1, NaN beyond.
pub(crate) fn erfinv(y: f64) -> f64 {
    let a = y.abs();
    if a >= 1.0 || y.is_nan() {
        return if a == 1.0 { f64::INFINITY.copysign(y) } else { f64::NAN };
    }
    if a > 0.5 {
        return erfcinv(1.0 - a).copysign(y);
    }
    let mut x = y / FRAC_2_SQRT_PI;
    for _ in 0..STEPS {
        let error = libm::erf(x) - y;
        let u = error / (FRAC_2_SQRT_PI * (-x * x).exp());
        x -= u / (1.0 + x * u);
    }
    x
}

/// exp(x²) erfc(x): from 10 on by the asymptotic series, below as written with the square's rounding error put back.
pub(crate) fn erfcx(x: f64) -> f64 {
    if x >= 10.0 {
        let inv = 1.0 / (2.0 * x * x);
        let (mut term, mut sum) = (1.0, 1.0);
        for k in 1..=12 {
            term *= -f64::from(2 * k - 1) * inv;
            sum += term;
        }
        return sum / (x * PI.sqrt());
    }
    let square = x * x;
    let rest = x.mul_add(x, -square);
    square.exp() * (1.0 + rest) * libm::erfc(x)
}

/// The inverse of the normal distribution function; infinite at 0 and 1, NaN outside.
pub(crate) fn ndtri(p: f64) -> f64 {
    if p.is_nan() || !(0.0..=1.0).contains(&p) {
        f64::NAN
    } else if p == 0.0 {
        f64::NEG_INFINITY
    } else if p == 1.0 {
        f64::INFINITY
    } else if p <= 0.5 {
        -SQRT_2 * erfcinv(2.0 * p)
    } else {
        SQRT_2 * erfcinv(2.0 * (1.0 - p))
    }
}

/// The logarithm of the normal distribution function.
pub(crate) fn log_ndtr(x: f64) -> f64 {
    let t = x / SQRT_2;
    if x < -1.0 { (erfcx(-t) / 2.0).ln() - t * t } else { (-libm::erfc(t) / 2.0).ln_1p() }
}

#[cfg(test)]
mod tests {
    use super::super::assert_near;
    use super::*;

    #[test]
    fn inverses_invert() {
        for x in [1e-10, 0.01, 0.3, 0.47, 0.5, 0.9, 1.7, 2.5, 3.5] {
            assert_near(erfinv(libm::erf(x)), x, if x < 2.0 { 1e-13 } else { 1e-8 });
            assert_near(erfinv(-libm::erf(x)), -x, if x < 2.0 { 1e-13 } else { 1e-8 });
        }
        for x in [-30.0, -8.0, -3.0, -0.5] {
            assert_near(ndtri(0.5 * libm::erfc(-x / SQRT_2)), x, 1e-13);
        }
        assert_near(ndtri(0.975), 1.959_963_984_540_054, 1e-14);
        assert!(ndtri(0.5).abs() < 1e-15);
        assert_eq!(erfinv(1.0), f64::INFINITY);
        assert!(erfinv(1.5).is_nan());
    }

    #[test]
    fn scaled_complement() {
        assert_near(erfcx(1.0), 0.427_583_576_155_807_05, 1e-14);
        assert_near(erfcx(9.999_999), erfcx(10.000_001), 1e-6);
        assert_near(erfcx(50.0), 0.011_281_536_265_323_77, 1e-14);
        assert_eq!(erfcx(-30.0), f64::INFINITY);
        assert_near(log_ndtr(-10.0), -53.231_285_150_512_47, 1e-14);
        assert_near(log_ndtr(0.0), -std::f64::consts::LN_2, 1e-14);
        assert_near(log_ndtr(-40.0), -804.608_442_013_753_8, 1e-14);
    }
}
