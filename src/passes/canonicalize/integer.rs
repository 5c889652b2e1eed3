//! Integer arithmetic as `arith` defines it, on any width up to 64. What has no value there (a division by zero, one that overflows, a shift by
//! the width or more) is not folded.

use super::constant::{sign_extend, zero_extend};

/// The value of an op of `arith` on integers of a width, whose top bit is repeated in each operand and in the result.
pub fn eval(name: &str, width: u32, args: &[i64]) -> Option<i64> {
    let &[a, b] = args else { return None };
    let (ua, ub) = (zero_extend(a, width), zero_extend(b, width));
    let shift = || u32::try_from(ub).ok().filter(|&s| s < width);
    let in_range = |x: i128| i64::try_from(x).ok().filter(|&x| sign_extend(x, width) == x);
    let value = match name.strip_prefix("arith.")? {
        "addi" => a.wrapping_add(b),
        "subi" => a.wrapping_sub(b),
        "muli" => a.wrapping_mul(b),
        "divsi" if b != 0 => in_range(i128::from(a) / i128::from(b))?,
        "divui" => ua.checked_div(ub)? as i64,
        "remsi" if b != 0 => a.wrapping_rem(b),
        "remui" => ua.checked_rem(ub)? as i64,
        "floordivsi" if b != 0 => in_range(floor_div(a.into(), b.into()))?,
        "ceildivsi" if b != 0 => in_range(-floor_div(-i128::from(a), b.into()))?,
        "ceildivui" if ub != 0 => ua.div_ceil(ub) as i64,
        "andi" => a & b,
        "ori" => a | b,
        "xori" => a ^ b,
        "shli" => a << shift()?,
        "shrsi" => a >> shift()?,
        "shrui" => (ua >> shift()?) as i64,
        "maxsi" => a.max(b),
        "minsi" => a.min(b),
        "maxui" => ua.max(ub) as i64,
        "minui" => ua.min(ub) as i64,
        _ => return None,
    };
    Some(sign_extend(value, width))
}

/// Whether `arith.cmpi` of a predicate holds.
pub fn compare(predicate: &str, width: u32, a: i64, b: i64) -> Option<bool> {
    let (ua, ub) = (zero_extend(a, width), zero_extend(b, width));
    Some(match predicate {
        "eq" => a == b,
        "ne" => a != b,
        "slt" => a < b,
        "sle" => a <= b,
        "sgt" => a > b,
        "sge" => a >= b,
        "ult" => ua < ub,
        "ule" => ua <= ub,
        "ugt" => ua > ub,
        "uge" => ua >= ub,
        _ => return None,
    })
}

/// Whether `arith.cmpf` of a predicate holds.
pub fn compare_floats(predicate: &str, a: f64, b: f64) -> Option<bool> {
    let unordered = a.is_nan() || b.is_nan();
    Some(match predicate {
        "false" => false,
        "true" => true,
        "ord" => !unordered,
        "uno" => unordered,
        "oeq" => a == b,
        "ogt" => a > b,
        "oge" => a >= b,
        "olt" => a < b,
        "ole" => a <= b,
        "one" => !unordered && a != b,
        "ueq" => unordered || a == b,
        "ugt" => unordered || a > b,
        "uge" => unordered || a >= b,
        "ult" => unordered || a < b,
        "ule" => unordered || a <= b,
        "une" => a != b,
        _ => return None,
    })
}

/// Rounds towards minus infinity; `b` is not zero.
fn floor_div(a: i128, b: i128) -> i128 {
    let q = a / b;
    if a % b != 0 && (a < 0) != (b < 0) { q - 1 } else { q }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisions_round_as_they_are_named_and_have_no_value_at_the_extremes() {
        assert_eq!(eval("arith.ceildivsi", 8, &[-128, 7]), Some(-18));
        assert_eq!(eval("arith.floordivsi", 8, &[-7, 2]), Some(-4));
        assert_eq!(eval("arith.ceildivsi", 8, &[-7, 2]), Some(-3));
        assert_eq!(eval("arith.remsi", 8, &[-7, 3]), Some(-1));
        assert_eq!(eval("arith.divsi", 8, &[-128, -1]), None);
        assert_eq!(eval("arith.floordivsi", 64, &[i64::MIN, -1]), None);
        assert_eq!(eval("arith.ceildivsi", 64, &[i64::MIN, 1]), Some(i64::MIN));
        for op in ["divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui"] {
            assert_eq!(eval(&format!("arith.{op}"), 8, &[5, 0]), None, "{op}");
        }
        assert_eq!(eval("arith.divui", 8, &[-1, 2]), Some(127));
        assert_eq!(eval("arith.ceildivui", 64, &[-1, 2]), Some(i64::MIN));
        assert_eq!(eval("arith.remsi", 64, &[i64::MIN, -1]), Some(0));
    }

    /// Against the definition, for all pairs of 4-bit numbers.
    #[test]
    fn small_integers_by_enumeration() {
        let wrap = |x: i64| sign_extend(x, 4);
        for a in -8..8i64 {
            for b in -8..8i64 {
                assert_eq!(eval("arith.addi", 4, &[a, b]), Some(wrap(a + b)));
                assert_eq!(eval("arith.muli", 4, &[a, b]), Some(wrap(a * b)));
                let unsigned = (wrap(a) & 15, wrap(b) & 15);
                assert_eq!(eval("arith.maxui", 4, &[a, b]), Some(wrap(unsigned.0.max(unsigned.1))));
                assert_eq!(compare("ult", 4, a, b), Some(unsigned.0 < unsigned.1));
                let exact = (b != 0).then(|| (a as f64 / b as f64).floor() as i64).filter(|q| wrap(*q) == *q);
                assert_eq!(eval("arith.floordivsi", 4, &[a, b]), exact, "{a} {b}");
                let shifted = (0..4).contains(&b).then(|| wrap(a << b));
                assert_eq!(eval("arith.shli", 4, &[a, b]), shifted);
            }
        }
    }

    #[test]
    fn one_bit_integers_are_zero_or_minus_one() {
        let t = -1;
        assert_eq!(eval("arith.addi", 1, &[t, t]), Some(0));
        assert_eq!(eval("arith.subi", 1, &[0, t]), Some(t));
        assert_eq!(eval("arith.maxsi", 1, &[t, 0]), Some(0));
        assert_eq!(eval("arith.maxui", 1, &[t, 0]), Some(t));
        assert_eq!(eval("arith.divui", 1, &[t, t]), Some(t));
        assert_eq!(eval("arith.divsi", 1, &[t, t]), None);
        assert_eq!(compare("slt", 1, t, 0), Some(true));
        assert_eq!(compare("ult", 1, t, 0), Some(false));
    }
}
