//! Scalar operations on floats: each is a function of 64-bit floats whose result is rounded to the type, but for the
//! few where rounding twice would show.

use crate::dtype::DType;
use crate::op::{ScalarOp, SpecialFn};
use crate::round::round_to;
use crate::special;
use crate::value::Scalar;

/// The function of one 64-bit float that `op` computes before rounding. `None` for operations with another arity or
/// a result that is not a float. (Also good for typed loops over slices.)
pub fn f64_unary(op: ScalarOp) -> Option<fn(f64) -> f64> {
    use ScalarOp::*;
    Some(match op {
        Neg => |x| -x,
        Abs => f64::abs,
        Exp => f64::exp,
        Exp2 => f64::exp2,
        Expm1 => f64::exp_m1,
        Log => f64::ln,
        Log1p => f64::ln_1p,
        Log2 => f64::log2,
        Log10 => f64::log10,
        Sqrt => f64::sqrt,
        Rsqrt => |x| 1.0 / x.sqrt(),
        Cbrt => f64::cbrt,
        Reciprocal => |x| 1.0 / x,
        Sin => f64::sin,
        Cos => f64::cos,
        Tan => f64::tan,
        Asin => f64::asin,
        Acos => f64::acos,
        Atan => f64::atan,
        Sinh => f64::sinh,
        Cosh => f64::cosh,
        Tanh => f64::tanh,
        Asinh => libm::asinh,
        Acosh => |x| if x < 1.0 { f64::NAN } else { libm::acosh(x) },
        Atanh => libm::atanh,
        Erf => libm::erf,
        Erfc => libm::erfc,
        Floor => f64::floor,
        Ceil => f64::ceil,
        Trunc => f64::trunc,
        Round => f64::round_ties_even,
        RoundAway => f64::round,
        Sign | Sgn => |x| f64::from(i8::from(x > 0.0) - i8::from(x < 0.0)),
        FrexpMantissa => |x| if x == 0.0 || !x.is_finite() { x } else { libm::frexp(x).0 },
        RealPart | Conj => |x| x,
        Angle => |x| {
            if x.is_nan() {
                x
            } else if x < 0.0 {
                std::f64::consts::PI
            } else {
                0.0
            }
        },
        Special(f) => return special_unary(f),
        _ => return None,
    })
}

fn special_unary(f: SpecialFn) -> Option<fn(f64) -> f64> {
    use SpecialFn::*;
    Some(match f {
        Lgamma => special::lgamma,
        Digamma => special::digamma,
        Erfinv => special::erfinv,
        Erfcx => special::erfcx,
        Ndtri => special::ndtri,
        LogNdtr => special::log_ndtr,
        I0 => special::i0,
        I0e => special::i0e,
        I1 => special::i1,
        I1e => special::i1e,
        K0 => special::k0,
        K1 => special::k1,
        ScaledK0 => special::k0e,
        ScaledK1 => special::k1e,
        BesselJ0 => libm::j0,
        BesselJ1 => libm::j1,
        BesselY0 => libm::y0,
        BesselY1 => libm::y1,
        SphericalJ0 => special::spherical_j0,
        AiryAi => special::airy_ai,
        _ => return None,
    })
}

/// The function of two 64-bit floats that `op` computes before rounding; see [`f64_unary`]. `floor_div`, `trunc_div`
/// and `nextafter` round inside, so they are not among these.
pub fn f64_binary(op: ScalarOp) -> Option<fn(f64, f64) -> f64> {
    use ScalarOp::*;
    Some(match op {
        Add => |a, b| a + b,
        Sub => |a, b| a - b,
        Mul => |a, b| a * b,
        Div => |a, b| a / b,
        FloorRem => |a, b| {
            let r = a % b;
            if r != 0.0 && (r < 0.0) != (b < 0.0) { r + b } else { r }
        },
        TruncRem => |a, b| a % b,
        Minimum => minimum,
        Maximum => |a, b| -minimum(-a, -b),
        Fmin => f64::min,
        Fmax => f64::max,
        Atan2 => f64::atan2,
        Pow => f64::powf,
        Copysign => f64::copysign,
        Hypot => f64::hypot,
        Special(f) => return special_binary(f),
        _ => return None,
    })
}

fn special_binary(f: SpecialFn) -> Option<fn(f64, f64) -> f64> {
    use SpecialFn::*;
    Some(match f {
        Polygamma => special::polygamma,
        Zeta => special::zeta,
        Igamma => special::igamma,
        Igammac => special::igammac,
        ChebyshevT => special::chebyshev_t,
        ChebyshevU => special::chebyshev_u,
        ChebyshevV => special::chebyshev_v,
        ChebyshevW => special::chebyshev_w,
        ShiftedChebyshevT => |x, n| special::chebyshev_t(2.0 * x - 1.0, n),
        ShiftedChebyshevU => |x, n| special::chebyshev_u(2.0 * x - 1.0, n),
        ShiftedChebyshevV => |x, n| special::chebyshev_v(2.0 * x - 1.0, n),
        ShiftedChebyshevW => |x, n| special::chebyshev_w(2.0 * x - 1.0, n),
        HermiteH => special::hermite_h,
        HermiteHe => special::hermite_he,
        LaguerreL => special::laguerre_l,
        LegendreP => special::legendre_p,
        _ => return None,
    })
}

fn minimum(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if a == b {
        // Equal but for the sign of zero.
        if a.is_sign_negative() { a } else { b }
    } else if a < b {
        a
    } else {
        b
    }
}

/// Rounds as arithmetic on `dtype` does: small floats by way of 32 bits.
fn round(dtype: DType, x: f64) -> f64 {
    if dtype.is_reduced_float() { round_to(dtype, round_to(DType::F32, x)) } else { round_to(dtype, x) }
}

/// Division rounded down as torch computes it: from the remainder, so that the quotient is not off by one, each step
/// rounded to the type the arithmetic is done in.
fn floor_div(a: f64, b: f64, step: impl Fn(f64) -> f64) -> f64 {
    if b == 0.0 {
        return step(a / b);
    }
    let r = a % b;
    let mut q = step(step(a - r) / b);
    if r != 0.0 && (b < 0.0) != (r < 0.0) {
        q = step(q - 1.0);
    }
    if q == 0.0 {
        return 0f64.copysign(a / b);
    }
    let f = q.floor();
    if q - f > 0.5 { step(f + 1.0) } else { f }
}

/// The next value of the type after `a` toward `b`, found among bit patterns, which are ordered as magnitudes are.
fn nextafter(a: Scalar, b: Scalar) -> Scalar {
    let dtype = a.dtype();
    let (x, y) = (a.to_f64(), b.to_f64());
    if x.is_nan() || y.is_nan() {
        return Scalar::from_f64(dtype, f64::NAN);
    }
    if x == y {
        return b;
    }
    let sign = 1u128 << (dtype.bits() - 1);
    if x == 0.0 {
        return Scalar::from_bits(dtype, if y < 0.0 { sign | 1 } else { 1 });
    }
    let outward = (x < y) == (x > 0.0);
    Scalar::from_bits(dtype, if outward { a.to_bits() + 1 } else { a.to_bits() - 1 })
}

/// Evaluates on operands of type `dtype`; `None` where the operation takes no floats or other operands.
pub(crate) fn eval(op: ScalarOp, dtype: DType, result: DType, args: &[Scalar]) -> Option<Scalar> {
    use ScalarOp::*;
    let float = |x: f64| Some(Scalar::from_f64(result, round(result, x)));
    let truth = |x: bool| Some(Scalar::bool(x));
    let step = |x: f64| if dtype == DType::F64 { x } else { round_to(DType::F32, x) };
    match *args {
        [a] => {
            let x = a.to_f64();
            match op {
                Isnan => truth(x.is_nan()),
                Isinf => truth(x.is_infinite()),
                Isfinite => truth(x.is_finite()),
                Signbit => truth(x.is_sign_negative()),
                FrexpExponent => {
                    let e = if x == 0.0 || !x.is_finite() { 0 } else { libm::frexp(x).1 };
                    Some(Scalar::from_i64(result, i64::from(e)))
                }
                _ => float(f64_unary(op)?(x)),
            }
        }
        [a, b] => {
            let (x, y) = (a.to_f64(), b.to_f64());
            match op {
                Eq => truth(x == y),
                Ne => truth(x != y),
                Lt => truth(x < y),
                Le => truth(x <= y),
                Gt => truth(x > y),
                Ge => truth(x >= y),
                FloorDiv => float(floor_div(x, y, step)),
                TruncDiv => float(step(x / y).trunc()),
                Nextafter => Some(nextafter(a, b)),
                Ldexp => float(libm::ldexp(x, b.to_i64().clamp(-5000, 5000) as i32)),
                MakeComplex => Some(Scalar::from_complex(result, num_complex::Complex64::new(x, y))),
                _ => float(f64_binary(op)?(x, y)),
            }
        }
        [a, b, c] if op == Fma => {
            let (x, y, z) = (a.to_f64(), b.to_f64(), c.to_f64());
            // In 64 bits the sum would be rounded before it is rounded to 32.
            float(if dtype == DType::F64 { x.mul_add(y, z) } else { f64::from((x as f32).mul_add(y as f32, z as f32)) })
        }
        _ => None,
    }
}
