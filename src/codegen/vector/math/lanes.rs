//! A small notation for formulas over lanes of one float type.

use super::super::build::{Build, Convert, FloatPredicate, IntPredicate, Math, T, V};

/// Lanes of `float` or `double`, and the formulas over them.
pub(in super::super) struct F<'b, B: Build> {
    /// The builder.
    pub b: &'b B,
    /// The float type, with lanes.
    pub t: T<B>,
    /// Its bits.
    pub bits: u32,
}

impl<B: Build> Clone for F<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: Build> Copy for F<'_, B> {}

impl<'b, B: Build> F<'b, B> {
    /// Formulas over values like `x`.
    pub fn like(b: &'b B, x: V<B>) -> Self {
        let t = b.type_of(x);
        let bits = if b.lane_type(t) == b.float_type(64, 1) { 64 } else { 32 };
        F { b, t, bits }
    }
    /// The same lanes as `double`.
    pub fn double(self) -> Self {
        F { b: self.b, t: self.b.float_type(64, self.lanes()), bits: 64 }
    }
    /// The number of lanes.
    pub fn lanes(self) -> u32 {
        self.b.lanes_of(self.t)
    }
    /// The integer type of the same bits.
    pub fn int_type(self) -> T<B> {
        self.b.int_type(self.bits, self.lanes())
    }
    /// A constant.
    pub fn c(self, x: f64) -> V<B> {
        self.b.float(self.t, x)
    }
    /// An integer constant of the same bits.
    pub fn i(self, x: i64) -> V<B> {
        self.b.int(self.int_type(), x)
    }
    pub fn add(self, x: V<B>, y: V<B>) -> V<B> {
        self.b.fadd(x, y)
    }
    pub fn sub(self, x: V<B>, y: V<B>) -> V<B> {
        self.b.fsub(x, y)
    }
    pub fn mul(self, x: V<B>, y: V<B>) -> V<B> {
        self.b.fmul(x, y)
    }
    pub fn div(self, x: V<B>, y: V<B>) -> V<B> {
        self.b.fdiv(x, y)
    }
    /// `x * y + z`, rounded once where the machine can do that, else twice.
    pub fn fma(self, x: V<B>, y: V<B>, z: V<B>) -> V<B> {
        if self.b.machine().fma { self.b.math(Math::Fma, &[x, y, z]) } else { self.add(self.mul(x, y), z) }
    }
    pub fn abs(self, x: V<B>) -> V<B> {
        self.b.math(Math::Abs, &[x])
    }
    pub fn neg(self, x: V<B>) -> V<B> {
        self.b.fneg(x)
    }
    pub fn sqrt(self, x: V<B>) -> V<B> {
        self.b.math(Math::Sqrt, &[x])
    }
    pub fn copysign(self, x: V<B>, sign: V<B>) -> V<B> {
        self.b.math(Math::CopySign, &[x, sign])
    }
    pub fn select(self, c: V<B>, x: V<B>, y: V<B>) -> V<B> {
        self.b.select(c, x, y)
    }
    pub fn lt(self, x: V<B>, y: V<B>) -> V<B> {
        self.b.fcmp(FloatPredicate::OLT, x, y)
    }
    pub fn gt(self, x: V<B>, y: V<B>) -> V<B> {
        self.b.fcmp(FloatPredicate::OGT, x, y)
    }
    pub fn eq(self, x: V<B>, y: V<B>) -> V<B> {
        self.b.fcmp(FloatPredicate::OEQ, x, y)
    }
    pub fn nan(self, x: V<B>) -> V<B> {
        self.b.fcmp(FloatPredicate::UNO, x, x)
    }
    /// `x`, at most `c`; NaN stays.
    pub fn at_most(self, x: V<B>, c: f64) -> V<B> {
        self.select(self.gt(x, self.c(c)), self.c(c), x)
    }
    /// `x`, at least `c`; NaN stays.
    pub fn at_least(self, x: V<B>, c: f64) -> V<B> {
        self.select(self.lt(x, self.c(c)), self.c(c), x)
    }
    /// The polynomial with these coefficients, the highest power first, at `x`.
    pub fn poly(self, x: V<B>, coefficients: &[f64]) -> V<B> {
        let (first, rest) = coefficients.split_first().expect("a polynomial has a coefficient");
        rest.iter().fold(self.c(*first), |sum, &c| self.fma(sum, x, self.c(c)))
    }
    /// The bits as integers.
    pub fn to_bits(self, x: V<B>) -> V<B> {
        self.b.bitcast(x, self.int_type())
    }
    /// Floats of these bits.
    pub fn of_bits(self, i: V<B>) -> V<B> {
        self.b.bitcast(i, self.t)
    }
    /// An integer constant shifted.
    pub fn shl(self, i: V<B>, n: i64) -> V<B> {
        self.b.shl(i, self.i(n))
    }
    pub fn lshr(self, i: V<B>, n: i64) -> V<B> {
        self.b.lshr(i, self.i(n))
    }
    /// Bits of the mantissa: 23 or 52.
    pub fn mantissa(self) -> i64 {
        if self.bits == 64 { 52 } else { 23 }
    }
    /// `(n, 2^n as bits in place)`: `x` rounded to an integer, for |x| below 2^(mantissa - 2): as a float and as an integer.
    pub fn round_small(self, x: V<B>) -> (V<B>, V<B>) {
        // Adding 1.5 * 2^mantissa leaves the integer in the low bits of the sum.
        let magic = if self.bits == 64 { 6_755_399_441_055_744.0 } else { 12_582_912.0 };
        let t = self.add(x, self.c(magic));
        let n = self.sub(t, self.c(magic));
        let i = self.b.sub(self.to_bits(t), self.to_bits(self.c(magic)));
        (n, i)
    }
    /// `2^i` for an exponent of a normal number.
    pub fn pow2(self, i: V<B>) -> V<B> {
        let bias = if self.bits == 64 { 1023 } else { 127 };
        self.of_bits(self.shl(self.b.add(i, self.i(bias)), self.mantissa()))
    }
    /// `x * 2^i`, rounded once; None where there is no instruction for it.
    pub fn scaled(self, x: V<B>, i: V<B>) -> Option<V<B>> {
        if self.b.machine().vector_bits < 512 || self.lanes() < 4 {
            return None;
        }
        let int = self.b.int_type(32, self.lanes());
        let i = if self.bits == 64 { self.b.cast(Convert::Trunc, i, int) } else { i };
        self.b.scaled(x, i)
    }
    /// Whether there may be [`Build::table`] for these lanes.
    pub fn has_tables(self) -> bool {
        self.bits == 32 && self.b.machine().vector_bits == 512 && self.lanes().is_multiple_of(16)
    }
    /// Whether the lowest bit is set.
    pub fn odd(self, i: V<B>) -> V<B> {
        self.b.icmp(IntPredicate::NE, self.b.and(i, self.i(1)), self.i(0))
    }
    /// `float`s as `double`s.
    pub fn widen(self, x: V<B>) -> V<B> {
        self.b.cast(Convert::FPExt, x, self.double().t)
    }
    /// `double`s as these floats.
    pub fn narrow(self, x: V<B>) -> V<B> {
        self.b.cast(Convert::FPTrunc, x, self.t)
    }
}
