//! Functions that Triton lacks, as `@triton.jit` functions beside the kernels: only those that a module uses are written.

use std::collections::BTreeSet;

/// The functions that a module uses.
#[derive(Default)]
pub(super) struct Helpers {
    used: BTreeSet<usize>,
    /// Whether functions of libdevice are used.
    pub libdevice: bool,
}

/// One function.
struct Helper {
    name: &'static str,
    /// Functions that it calls.
    needs: &'static [&'static str],
    /// Whether it calls libdevice.
    libdevice: bool,
    text: &'static str,
}

impl Helpers {
    /// Says that a function is used; gives its name.
    pub fn need(&mut self, name: &'static str) -> &'static str {
        let at = TABLE.iter().position(|h| h.name == name).expect("the emitter asks only for functions of the table");
        if self.used.insert(at) {
            self.libdevice |= TABLE[at].libdevice;
            for n in TABLE[at].needs {
                self.need(n);
            }
        }
        name
    }

    /// The text of all that are used, in the order of the table, in which what is called comes first.
    pub fn text(&self) -> String {
        self.used.iter().map(|&k| format!("\n\n@triton.jit\n{}", TABLE[k].text)).collect()
    }
}

const fn plain(name: &'static str, text: &'static str) -> Helper {
    Helper { name, needs: &[], libdevice: false, text }
}

const fn library(name: &'static str, needs: &'static [&'static str], text: &'static str) -> Helper {
    Helper { name, needs, libdevice: true, text }
}

/// All functions.
static TABLE: &[Helper] = &[
    plain(
        "_pick",
        "def _pick(pointers, which, ALIGNED: tl.constexpr):
    # One of several pointers of a type.
    at = pointers[0].to(tl.int64)
    for k in tl.static_range(1, len(pointers)):
        at = tl.where(which == k, pointers[k].to(tl.int64), at)
    return tl.multiple_of(at.to(pointers[0].dtype), ALIGNED)
",
    ),
    plain(
        "_scale",
        "def _scale(x):
    # A power of two that brings a number near one, if it is far from it.
    large = tl.abs(x) >= 18446744073709551616.0
    small = tl.abs(x) < 5.421010862427522e-20
    return tl.where(large, 5.421010862427522e-20, tl.where(small, 18446744073709551616.0, 1.0))
",
    ),
    plain(
        "_add",
        "def _add(x, y):
    return x + y
",
    ),
    plain(
        "_mul",
        "def _mul(x, y):
    return x * y
",
    ),
    plain(
        "_and",
        "def _and(x, y):
    return x & y
",
    ),
    plain(
        "_or",
        "def _or(x, y):
    return x | y
",
    ),
    plain(
        "_xor",
        "def _xor(x, y):
    return x ^ y
",
    ),
    plain(
        "_least",
        "def _least(x, y):
    return tl.minimum(x, y)
",
    ),
    plain(
        "_greatest",
        "def _greatest(x, y):
    return tl.maximum(x, y)
",
    ),
    plain(
        "_minimum",
        "def _minimum(x, y):
    # The lesser; NaN if either is.
    return tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL)
",
    ),
    plain(
        "_maximum",
        "def _maximum(x, y):
    # The greater; NaN if either is.
    return tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)
",
    ),
    library(
        "_online",
        &["_maximum"],
        "def _online(m, s, x):
    # A maximum and the sum of the exponentials of differences to it, with one more value: of two differences one is 0.
    e = libdevice.exp(-tl.abs(tl.where(x == m, 0.0, x - m)))
    return _maximum(m, x), tl.where(x > m, tl.fma(s, e, 1.0), s + e)
",
    ),
    plain(
        "_short_erf",
        "def _short_erf(x):
    # The error function to 5e-7, for what is rounded to fewer digits: a quotient of polynomials where it is not 1 or -1.
    s = x * x
    p = tl.fma(s, 0.000310702744172886, 0.0085886986926198)
    p = tl.fma(p, s, 0.06730318814516068)
    p = tl.fma(p, s, 0.3138416111469269)
    p = tl.fma(p, s, 1.1283775568008423)
    q = tl.fma(s, 1.8252179870614782e-05, 0.002179475501179695)
    q = tl.fma(q, s, 0.02467408776283264)
    q = tl.fma(q, s, 0.16353052854537964)
    q = tl.fma(q, s, 0.6114494204521179)
    q = tl.fma(q, s, 1.0)
    return tl.where(tl.abs(x) > 3.832, tl.where(x > 0, 1.0, -1.0), x * p / q)
",
    ),
    plain(
        "_first_max",
        "def _first_max(x, i, y, j):
    # The greater of two values with its position; NaN wins, the first of equals.
    equal = (x == y) | ((x != x) & (y != y))
    left = (x > y) | ((x != x) & (y == y)) | (equal & (i < j))
    return tl.where(left, x, y), tl.where(left, i, j)
",
    ),
    plain(
        "_first_min",
        "def _first_min(x, i, y, j):
    # The lesser of two values with its position; NaN wins, the first of equals.
    equal = (x == y) | ((x != x) & (y != y))
    left = (x < y) | ((x != x) & (y == y)) | (equal & (i < j))
    return tl.where(left, x, y), tl.where(left, i, j)
",
    ),
    plain(
        "_last_max",
        "def _last_max(x, i, y, j):
    # The greater of two values with its position; NaN wins, the last of equals. No value yet has the greatest position.
    later = (j > i) | (i == 9223372036854775807)
    equal = (x == y) | ((x != x) & (y != y))
    right = (y > x) | ((y != y) & (x == x)) | (equal & later)
    return tl.where(right, y, x), tl.where(right, j, i)
",
    ),
    plain(
        "_last_min",
        "def _last_min(x, i, y, j):
    # The lesser of two values with its position; NaN wins, the last of equals. No value yet has the greatest position.
    later = (j > i) | (i == 9223372036854775807)
    equal = (x == y) | ((x != x) & (y != y))
    right = (y < x) | ((y != y) & (x == x)) | (equal & later)
    return tl.where(right, y, x), tl.where(right, j, i)
",
    ),
    plain(
        "_welford",
        "def _welford(mean_x, m2_x, n_x, mean_y, m2_y, n_y):
    # Two groups as one: mean, sum of squared differences to it, count.
    delta = mean_y - mean_x
    n = n_x + n_y
    share = tl.where(n == 0, 0.0, n_y / n)
    return mean_x + delta * share, m2_x + m2_y + delta * delta * n_x * share, n
",
    ),
    plain(
        "_sign",
        "def _sign(x):
    return (x > 0).to(x.dtype) - (x < 0).to(x.dtype)
",
    ),
    plain(
        "_angle",
        "def _angle(x):
    # In the complex plane: 0 or pi, NaN for NaN.
    return tl.where(x != x, x, tl.where(x < 0, 3.141592653589793, 0.0).to(x.dtype))
",
    ),
    library(
        "_floor_rem_float",
        &[],
        "def _floor_rem_float(x, y):
    # The remainder with the sign of the divisor.
    r = libdevice.fmod(x, y)
    return tl.where((r != 0) & ((r < 0) != (y < 0)), r + y, r)
",
    ),
    library(
        "_floor_div_float",
        &[],
        "def _floor_div_float(x, y):
    # The quotient rounded down, from the remainder, as torch computes it.
    r = libdevice.fmod(x, y)
    q = tl.div_rn(x - r, y)
    q = tl.where((r != 0) & ((y < 0) != (r < 0)), q - 1.0, q)
    f = tl.floor(q)
    f = tl.where(q - f > 0.5, f + 1.0, f)
    plain = tl.div_rn(x, y)
    f = tl.where(q == 0, libdevice.copysign(q * 0.0, plain), f)
    return tl.where(y == 0, plain, f)
",
    ),
    library(
        "_floor_div_float64",
        &[],
        "def _floor_div_float64(x, y):
    # The quotient rounded down, from the remainder, as torch computes it.
    r = libdevice.fmod(x, y)
    q = (x - r) / y
    q = tl.where((r != 0) & ((y < 0) != (r < 0)), q - 1.0, q)
    f = tl.floor(q)
    f = tl.where(q - f > 0.5, f + 1.0, f)
    plain = x / y
    f = tl.where(q == 0, libdevice.copysign(q * 0.0, plain), f)
    return tl.where(y == 0, plain, f)
",
    ),
    library(
        "_frexp_exponent",
        &[],
        "def _frexp_exponent(x):
    # The e of x = m * 2**e with 0.5 <= |m| < 1.
    regular = (x != 0) & (tl.abs(x) < float(\"inf\"))
    return tl.where(regular, libdevice.ilogb(tl.where(regular, x, 1.0).to(x.dtype)) + 1, 0)
",
    ),
    library(
        "_frexp_mantissa",
        &["_frexp_exponent"],
        "def _frexp_mantissa(x):
    # In two steps: 2**-e may be no number where x is.
    e = _frexp_exponent(x)
    half = e >> 1
    return libdevice.ldexp(libdevice.ldexp(x, 0 - half), half - e)
",
    ),
    plain(
        "_trunc_div",
        "def _trunc_div(x, y):
    # A divisor of 0 counts as 1.
    return x // tl.where(y == 0, 1, y).to(x.dtype)
",
    ),
    plain(
        "_trunc_rem",
        "def _trunc_rem(x, y):
    # A divisor of 0 counts as 1.
    return x % tl.where(y == 0, 1, y).to(x.dtype)
",
    ),
    plain(
        "_floor_div",
        "def _floor_div(x, y):
    # Rounded down; Triton's // rounds toward zero. A divisor of 0 counts as 1.
    y = tl.where(y == 0, 1, y).to(x.dtype)
    q = x // y
    return tl.where((x - q * y != 0) & ((x < 0) != (y < 0)), q - 1, q).to(x.dtype)
",
    ),
    plain(
        "_floor_rem",
        "def _floor_rem(x, y):
    # With the sign of the divisor; Triton's % has that of the dividend. A divisor of 0 counts as 1.
    y = tl.where(y == 0, 1, y).to(x.dtype)
    r = x % y
    return tl.where((r != 0) & ((r < 0) != (y < 0)), r + y, r).to(x.dtype)
",
    ),
    plain(
        "_ceil_div",
        "def _ceil_div(x, y):
    # Rounded up. A divisor of 0 counts as 1.
    y = tl.where(y == 0, 1, y).to(x.dtype)
    q = x // y
    return tl.where((x - q * y != 0) & ((x < 0) == (y < 0)), q + 1, q).to(x.dtype)
",
    ),
    plain(
        "_shift_left",
        "def _shift_left(x, n):
    # 0 where n is negative or not less than the width.
    inside = (n >= 0) & (n < x.dtype.primitive_bitwidth)
    return tl.where(inside, x << tl.where(inside, n, 0).to(x.dtype), 0).to(x.dtype)
",
    ),
    plain(
        "_shift_right",
        "def _shift_right(x, n):
    # All value bits are shifted out where n is negative or not less than the width.
    last: tl.constexpr = x.dtype.primitive_bitwidth - 1
    inside = (n >= 0) & (n < x.dtype.primitive_bitwidth)
    return x >> tl.where(inside, n, last).to(x.dtype)
",
    ),
    plain(
        "_shift_right_unsigned",
        "def _shift_right_unsigned(x, n):
    # 0 where n is not less than the width.
    inside = n < x.dtype.primitive_bitwidth
    return tl.where(inside, x >> tl.where(inside, n, 0).to(x.dtype), 0).to(x.dtype)
",
    ),
    plain(
        "_int_pow_unsigned",
        "def _int_pow_unsigned(x, n):
    power = tl.full(x.shape, 1, x.dtype)
    for _ in tl.static_range(x.dtype.primitive_bitwidth):
        power = tl.where((n & 1) != 0, power * x, power).to(x.dtype)
        x = (x * x).to(x.dtype)
        n = n >> 1
    return power
",
    ),
    plain(
        "_int_pow",
        "def _int_pow(x, n):
    # A negative power is 0 unless |x| is 1.
    one = tl.where(x == 1, 1, tl.where(x == -1, 1 - 2 * (n & 1), 0))
    negative = n < 0
    power = tl.full(x.shape, 1, x.dtype)
    for _ in tl.static_range(x.dtype.primitive_bitwidth):
        power = tl.where((n & 1) != 0, power * x, power).to(x.dtype)
        x = (x * x).to(x.dtype)
        n = n >> 1
    return tl.where(negative, one, power).to(power.dtype)
",
    ),
    plain(
        "_gcd",
        "def _gcd(x, y):
    x, y = tl.abs(x), tl.abs(y)
    for _ in tl.static_range(x.dtype.primitive_bitwidth * 3 // 2):
        done = y == 0
        r = x % tl.where(done, 1, y).to(x.dtype)
        x = tl.where(done, x, y)
        y = tl.where(done, y, r)
    return x
",
    ),
    plain(
        "_to_float8e4nv",
        "def _to_float8e4nv(x):
    # Beyond the greatest number is NaN, as for torch.
    return tl.where(tl.abs(x) > 464.0, float(\"nan\"), x).to(tl.float8e4nv)
",
    ),
    plain(
        "_to_float8e5",
        "def _to_float8e5(x):
    # Rounded to nearest even in the bits of float32; beyond the greatest number is infinity, as for torch.
    bits = x.to(tl.uint32, bitcast=True)
    sign = (bits >> 24) & 0x80
    size = bits & 0x7FFFFFFF
    # Below 2**-14 numbers are multiples of 2**-16: adding 2**7 rounds to them.
    small = (tl.abs(x) + 128.0).to(tl.uint32, bitcast=True) - 0x43000000
    large = (size + 0x000FFFFF + ((size >> 21) & 1) - 0x38000000) >> 21
    large = tl.minimum(large, 0x7C)
    byte = tl.where(size < 0x38800000, small, large)
    byte = tl.where(x != x, 0x7F, byte) | sign
    return byte.to(tl.uint8).to(tl.float8e5, bitcast=True)
",
    ),
    library(
        "_digamma",
        &[],
        "def _digamma(x):
    # The derivative of log gamma: reflected to positive numbers, raised to 10 and more, then the asymptotic series.
    reflected = x <= 0
    pole = reflected & (x == tl.floor(x))
    fraction = x - tl.floor(x)
    tangent = libdevice.tan(3.141592653589793 * tl.where(fraction == 0, 0.5, fraction).to(x.dtype))
    y = tl.where(reflected, 1.0 - x, x)
    sum = y * 0.0
    for _ in tl.static_range(10):
        low = y < 10.0
        sum = tl.where(low, sum - 1.0 / y, sum)
        y = tl.where(low, y + 1.0, y)
    z = 1.0 / (y * y)
    series = z * (1.0 / 12.0 - z * (1.0 / 120.0 - z * (1.0 / 252.0 - z * (1.0 / 240.0 - z * (1.0 / 132.0 - z * (691.0 / 32760.0 - z / 12.0))))))
    value = sum + libdevice.log(y) - 0.5 / y - series
    value = tl.where(reflected, value - 3.141592653589793 / tangent, value)
    return tl.where(pole, tl.where(x == 0, libdevice.copysign(float(\"inf\") + x * 0.0, 0.0 - x), float(\"nan\")), value).to(x.dtype)
",
    ),
    library(
        "_log_ndtr",
        &[],
        "def _log_ndtr(x):
    # The logarithm of the normal distribution function.
    t = x * 0.7071067811865476
    low = libdevice.log(libdevice.erfcx(0.0 - t) * 0.5) - t * t
    return tl.where(x < -1.0, low, libdevice.log1p(libdevice.erfc(t) * -0.5))
",
    ),
    library(
        "_i0e",
        &[],
        "def _i0e(x):
    # exp(-|x|) i0(x): the asymptotic series where i0 is large.
    x = tl.abs(x)
    near = tl.minimum(x, 80.0)
    y = 0.125 / tl.maximum(x, 1.0)
    series = 1.0 + y * (1.0 + y * (4.5 + y * (37.5 + y * (459.375 + y * 7441.875))))
    far = series * libdevice.rsqrt(6.283185307179586 * tl.maximum(x, 1.0))
    return tl.where(x <= 80.0, libdevice.cyl_bessel_i0(near) * libdevice.exp(0.0 - near), far)
",
    ),
    library(
        "_i1e",
        &[],
        "def _i1e(x):
    # exp(-|x|) i1(x): the asymptotic series where i1 is large.
    size = tl.abs(x)
    near = tl.minimum(size, 80.0)
    y = 0.125 / tl.maximum(size, 1.0)
    series = 1.0 - y * (3.0 + y * (7.5 + y * (52.5 + y * (590.625 + y * 9095.625))))
    far = series * libdevice.rsqrt(6.283185307179586 * tl.maximum(size, 1.0))
    value = tl.where(size <= 80.0, libdevice.cyl_bessel_i1(near) * libdevice.exp(0.0 - near), far)
    return tl.where(x < 0, 0.0 - value, value)
",
    ),
    library(
        "_spherical_j0",
        &[],
        "def _spherical_j0(x):
    # sin(x) / x, by its series near 0.
    z = x * x
    near = 1.0 - z / 6.0 * (1.0 - z / 20.0 * (1.0 - z / 42.0 * (1.0 - z / 72.0)))
    far = libdevice.sin(x) / tl.where(x == 0, 1.0, x)
    return tl.where(tl.abs(x) < 0.5, near, tl.where(tl.abs(x) == float(\"inf\"), 0.0, far)).to(x.dtype)
",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_function_calls_stands_before_it() {
        for (k, helper) in TABLE.iter().enumerate() {
            for needed in helper.needs {
                assert!(TABLE[..k].iter().any(|h| h.name == *needed), "{} calls {needed}", helper.name);
            }
            assert!(helper.text.starts_with(&format!("def {}(", helper.name)));
            assert_eq!(helper.libdevice, helper.text.contains("libdevice."), "{}", helper.name);
        }
    }
}
