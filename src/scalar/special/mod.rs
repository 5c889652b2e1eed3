//! The special functions of the vocabulary, in 64-bit floats, to about 1e-13 relative away from their zeros.

mod bessel;
mod error_function;
mod gamma;
mod polynomial;

pub(crate) use bessel::{airy_ai, i0, i0e, i1, i1e, k0, k0e, k1, k1e, spherical_j0};
pub(crate) use error_function::{erfcx, erfinv, log_ndtr, ndtri};
pub(crate) use gamma::{digamma, igamma, igammac, lgamma, polygamma, zeta};
pub(crate) use polynomial::{
    chebyshev_t, chebyshev_u, chebyshev_v, chebyshev_w, hermite_h, hermite_he, laguerre_l, legendre_p,
};

#[cfg(test)]
pub(crate) fn assert_near(got: f64, want: f64, tolerance: f64) {
    let close = (got - want).abs() <= tolerance * want.abs().max(1e-300);
    assert!(close || got == want || (got.is_nan() && want.is_nan()), "{got} is not {want}");
}
