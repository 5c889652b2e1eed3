//! Functions that compiled kernels call lane by lane, and their names. An object or a library built from kernels that use them needs
//! these symbols when it is linked; the JIT maps them to the functions here.

use rinductor_scalar::{ScalarOp, SpecialFn, f64_binary, f64_unary};

/// `double rinductor_special1(int64_t code, double x)`: the special function of one argument with that number in `SpecialFn::ALL`.
pub const SPECIAL1: &str = "rinductor_special1";
/// `double rinductor_special2(int64_t code, double x, double y)`.
pub const SPECIAL2: &str = "rinductor_special2";
/// `int64_t rinductor_int_pow(int64_t base, int64_t exponent)`, wrapping; 0 for a negative exponent unless the base is 1 or -1.
pub const INT_POW: &str = "rinductor_int_pow";
/// `int64_t rinductor_int_gcd(int64_t a, int64_t b)`.
pub const INT_GCD: &str = "rinductor_int_gcd";

/// The special function of one argument with a number.
pub(crate) extern "C" fn special1(code: i64, x: f64) -> f64 {
    let f = usize::try_from(code).ok().and_then(|c| SpecialFn::ALL.get(c));
    f.and_then(|&f| f64_unary(ScalarOp::Special(f))).map_or(f64::NAN, |f| f(x))
}

/// The special function of two arguments with a number.
pub(crate) extern "C" fn special2(code: i64, x: f64, y: f64) -> f64 {
    let f = usize::try_from(code).ok().and_then(|c| SpecialFn::ALL.get(c));
    f.and_then(|&f| f64_binary(ScalarOp::Special(f))).map_or(f64::NAN, |f| f(x, y))
}

/// A power, wrapping.
pub(crate) extern "C" fn int_pow(base: i64, exponent: i64) -> i64 {
    if exponent < 0 {
        return match base {
            1 => 1,
            -1 => 1 - 2 * (exponent & 1),
            _ => 0,
        };
    }
    let (mut base, mut exponent, mut result) = (base, exponent, 1i64);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent >>= 1;
    }
    result
}

/// The greatest common divisor.
pub(crate) extern "C" fn int_gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a as i64
}

/// The functions with their names and addresses.
pub fn all() -> [(&'static str, usize); 4] {
    [
        (SPECIAL1, special1 as *const () as usize),
        (SPECIAL2, special2 as *const () as usize),
        (INT_POW, int_pow as *const () as usize),
        (INT_GCD, int_gcd as *const () as usize),
    ]
}
