//! Orthogonal polynomials of whole degree n (its fraction is dropped), by their three-term recurrences; 0 for n < 0.

/// Runs p[k+1] = next(k, p[k], p[k-1]) from `p0` and `p1` to degree `n`; stops early once the value has left the
/// finite numbers, which it does not re-enter.
fn recur(n: f64, p0: f64, p1: f64, next: impl Fn(f64, f64, f64) -> f64) -> f64 {
    if n.is_nan() {
        return f64::NAN;
    }
    // A degree beyond 64 bits becomes a negative one where torch makes an integer of it.
    if !(0.0..9.2e18).contains(&n) {
        return 0.0;
    }
    let n = n as u64;
    if n == 0 {
        return p0;
    }
    let (mut before, mut p) = (p0, p1);
    for k in 1..n {
        if !p.is_finite() {
            break;
        }
        (before, p) = (p, next(k as f64, p, before));
    }
    p
}

/// Degree from which the trigonometric forms are used inside [-1, 1].
const HIGH: f64 = 9.0;

fn inside(x: f64, n: f64) -> bool {
    (HIGH..9.2e18).contains(&n) && x.abs() < 1.0
}

/// First kind: T1 = x; cos(n acos x) inside the interval.
pub(crate) fn chebyshev_t(x: f64, n: f64) -> f64 {
    if inside(x, n) { (n.trunc() * x.acos()).cos() } else { recur(n, 1.0, x, |_, p, q| 2.0 * x * p - q) }
}

/// Second kind: U1 = 2x; sin((n+1) acos x) / sin(acos x) inside the interval.
pub(crate) fn chebyshev_u(x: f64, n: f64) -> f64 {
    if inside(x, n) {
        let t = x.acos();
        ((n.trunc() + 1.0) * t).sin() / t.sin()
    } else {
        recur(n, 1.0, 2.0 * x, |_, p, q| 2.0 * x * p - q)
    }
}

/// Third kind: V1 = 2x - 1; cos((n+1/2) acos x) / cos(acos x / 2) inside the interval.
pub(crate) fn chebyshev_v(x: f64, n: f64) -> f64 {
    if inside(x, n) {
        let t = x.acos();
        ((n.trunc() + 0.5) * t).cos() / (t / 2.0).cos()
    } else {
        recur(n, 1.0, 2.0 * x - 1.0, |_, p, q| 2.0 * x * p - q)
    }
}

/// Fourth kind: W1 = 2x + 1; sin((n+1/2) acos x) / sin(acos x / 2) inside the interval.
pub(crate) fn chebyshev_w(x: f64, n: f64) -> f64 {
    if inside(x, n) {
        let t = x.acos();
        ((n.trunc() + 0.5) * t).sin() / (t / 2.0).sin()
    } else {
        recur(n, 1.0, 2.0 * x + 1.0, |_, p, q| 2.0 * x * p - q)
    }
}

/// Physicists' Hermite polynomials: H1 = 2x.
pub(crate) fn hermite_h(x: f64, n: f64) -> f64 {
    recur(n, 1.0, 2.0 * x, |k, p, q| 2.0 * x * p - 2.0 * k * q)
}

/// Probabilists' Hermite polynomials: He1 = x.
pub(crate) fn hermite_he(x: f64, n: f64) -> f64 {
    recur(n, 1.0, x, |k, p, q| x * p - k * q)
}

/// Laguerre polynomials: L1 = 1 - x.
pub(crate) fn laguerre_l(x: f64, n: f64) -> f64 {
    recur(n, 1.0, 1.0 - x, |k, p, q| ((2.0 * k + 1.0 - x) * p - k * q) / (k + 1.0))
}

/// Legendre polynomials: P1 = x.
pub(crate) fn legendre_p(x: f64, n: f64) -> f64 {
    recur(n, 1.0, x, |k, p, q| ((2.0 * k + 1.0) * x * p - k * q) / (k + 1.0))
}

#[cfg(test)]
mod tests {
    use super::super::assert_near;
    use super::*;

    #[test]
    fn low_degrees_are_the_written_polynomials() {
        for x in [-1.5, -0.3, 0.0, 0.7, 2.0f64] {
            assert_near(chebyshev_t(x, 3.0), 4.0 * x * x * x - 3.0 * x, 1e-12);
            assert_near(chebyshev_u(x, 2.0), 4.0 * x * x - 1.0, 1e-12);
            assert_near(chebyshev_v(x, 2.0), 4.0 * x * x - 2.0 * x - 1.0, 1e-12);
            assert_near(chebyshev_w(x, 2.0), 4.0 * x * x + 2.0 * x - 1.0, 1e-12);
            assert_near(hermite_h(x, 2.0), 4.0 * x * x - 2.0, 1e-12);
            assert_near(hermite_he(x, 3.0), x * x * x - 3.0 * x, 1e-12);
            assert_near(laguerre_l(x, 2.0), (x * x - 4.0 * x + 2.0) / 2.0, 1e-12);
            assert_near(legendre_p(x, 2.0), (3.0 * x * x - 1.0) / 2.0, 1e-12);
        }
        assert_eq!(legendre_p(0.5, -1.0), 0.0);
        assert_eq!(hermite_h(0.5, 0.9), 1.0);
    }

    #[test]
    fn trigonometric_forms_meet_the_recurrence() {
        let t = |x: f64| recur(12.0, 1.0, x, |_, p, q| 2.0 * x * p - q);
        assert_near(chebyshev_t(0.3, 12.0), t(0.3), 1e-11);
        let w = |x: f64| recur(12.0, 1.0, 2.0 * x + 1.0, |_, p, q| 2.0 * x * p - q);
        assert_near(chebyshev_w(0.3, 12.0), w(0.3), 1e-11);
    }
}
