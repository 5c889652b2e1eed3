//! Scalar operations on integers and bools. Values come and go as 64-bit integers in the range of their type; the
//! caller wraps the result.

use crate::dtype::{DType, Kind};
use crate::eval::EvalError;
use crate::op::ScalarOp;

/// The value before wrapping; `Ok(None)` where the operation takes no integers.
pub(crate) fn eval(op: ScalarOp, dtype: DType, [a, b, c]: [i64; 3]) -> Result<Option<i64>, EvalError> {
    use ScalarOp::*;
    let logical = dtype.kind() == Kind::Bool;
    let nonzero = |x: i64| if x == 0 { Err(EvalError::DivisionByZero(op)) } else { Ok(x) };
    let bits = i64::from(dtype.bits());
    let value = match op {
        Add if logical => a | b,
        Sub if logical => a ^ b,
        Mul if logical => a & b,
        Not if logical => 1 - a,
        Add => a.wrapping_add(b),
        Sub => a.wrapping_sub(b),
        Mul => a.wrapping_mul(b),
        FloorDiv => {
            let b = nonzero(b)?;
            let q = a.wrapping_div(b);
            if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { q - 1 } else { q }
        }
        TruncDiv => a.wrapping_div(nonzero(b)?),
        CeilDiv => {
            let b = nonzero(b)?;
            let q = a.wrapping_div(b);
            if a.wrapping_rem(b) != 0 && (a < 0) == (b < 0) { q + 1 } else { q }
        }
        FloorRem => {
            let b = nonzero(b)?;
            let r = a.wrapping_rem(b);
            if r != 0 && (r < 0) != (b < 0) { r + b } else { r }
        }
        TruncRem => a.wrapping_rem(nonzero(b)?),
        Neg => a.wrapping_neg(),
        Abs => a.wrapping_abs(),
        Minimum | Fmin => a.min(b),
        Maximum | Fmax => a.max(b),
        And => a & b,
        Or => a | b,
        Xor => a ^ b,
        Not => !a,
        Shl if (0..bits).contains(&b) => a << b,
        Shl => 0,
        Shr if (0..bits).contains(&b) => a >> b,
        Shr => a >> 63,
        Eq => i64::from(a == b),
        Ne => i64::from(a != b),
        Lt => i64::from(a < b),
        Le => i64::from(a <= b),
        Gt => i64::from(a > b),
        Ge => i64::from(a >= b),
        Pow => power(a, b),
        Sign | Sgn => a.signum(),
        Signbit => i64::from(a < 0),
        Isnan | Isinf => 0,
        Isfinite => 1,
        Fma => a.wrapping_mul(b).wrapping_add(c),
        Gcd => gcd(a, b),
        Conj => a,
        _ => return Ok(None),
    };
    Ok(Some(value))
}

fn power(base: i64, exponent: i64) -> i64 {
    if exponent < 0 {
        return match base {
            1 => 1,
            -1 if exponent % 2 == 0 => 1,
            -1 => -1,
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

fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a as i64
}
