//! A small notation for formulas over lanes of one float type.

use super::super::build::{Build, FloatPredicate, IntPredicate, T, V};
use inkwell::values::InstructionOpcode as I;

/// Lanes of `float` or `double`, and the formulas over them.
#[derive(Clone, Copy)]
pub(in super::super) struct F<'b, 'c> {
    /// The builder.
    pub b: &'b Build<'c>,
    /// The float type, with lanes.
    pub t: T<'c>,
    /// Its bits.
    pub bits: u32,
}

impl<'b, 'c> F<'b, 'c> {
    /// Formulas over values like `x`.
    pub fn like(b: &'b Build<'c>, x: V<'c>) -> Self {
        let t = x.get_type();
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
    pub fn int_type(self) -> T<'c> {
        self.b.int_type(self.bits, self.lanes())
    }
    /// A constant.
    pub fn c(self, x: f64) -> V<'c> {
        self.b.float(self.t, x)
    }
    /// An integer constant of the same bits.
    pub fn i(self, x: i64) -> V<'c> {
        self.b.int(self.int_type(), x)
    }
    pub fn add(self, x: V<'c>, y: V<'c>) -> V<'c> {
        self.b.fadd(x, y)
    }
    pub fn sub(self, x: V<'c>, y: V<'c>) -> V<'c> {
        self.b.fsub(x, y)
    }
    pub fn mul(self, x: V<'c>, y: V<'c>) -> V<'c> {
        self.b.fmul(x, y)
    }
    pub fn div(self, x: V<'c>, y: V<'c>) -> V<'c> {
        self.b.fdiv(x, y)
    }
    /// `x * y + z`, rounded once where the machine can do that, else twice.
    pub fn fma(self, x: V<'c>, y: V<'c>, z: V<'c>) -> V<'c> {
        if self.b.machine.fma { self.b.math("llvm.fma", &[x, y, z]) } else { self.add(self.mul(x, y), z) }
    }
    pub fn abs(self, x: V<'c>) -> V<'c> {
        self.b.math("llvm.fabs", &[x])
    }
    pub fn neg(self, x: V<'c>) -> V<'c> {
        self.b.fneg(x)
    }
    pub fn sqrt(self, x: V<'c>) -> V<'c> {
        self.b.math("llvm.sqrt", &[x])
    }
    pub fn copysign(self, x: V<'c>, sign: V<'c>) -> V<'c> {
        self.b.math("llvm.copysign", &[x, sign])
    }
    pub fn select(self, c: V<'c>, x: V<'c>, y: V<'c>) -> V<'c> {
        self.b.select(c, x, y)
    }
    pub fn lt(self, x: V<'c>, y: V<'c>) -> V<'c> {
        self.b.fcmp(FloatPredicate::OLT, x, y)
    }
    pub fn gt(self, x: V<'c>, y: V<'c>) -> V<'c> {
        self.b.fcmp(FloatPredicate::OGT, x, y)
    }
    pub fn eq(self, x: V<'c>, y: V<'c>) -> V<'c> {
        self.b.fcmp(FloatPredicate::OEQ, x, y)
    }
    pub fn nan(self, x: V<'c>) -> V<'c> {
        self.b.fcmp(FloatPredicate::UNO, x, x)
    }
    /// `x`, at most `c`; NaN stays.
    pub fn at_most(self, x: V<'c>, c: f64) -> V<'c> {
        self.select(self.gt(x, self.c(c)), self.c(c), x)
    }
    /// `x`, at least `c`; NaN stays.
    pub fn at_least(self, x: V<'c>, c: f64) -> V<'c> {
        self.select(self.lt(x, self.c(c)), self.c(c), x)
    }
    /// The polynomial with these coefficients, the highest power first, at `x`.
    pub fn poly(self, x: V<'c>, coefficients: &[f64]) -> V<'c> {
        let (first, rest) = coefficients.split_first().expect("a polynomial has a coefficient");
        rest.iter().fold(self.c(*first), |sum, &c| self.fma(sum, x, self.c(c)))
    }
    /// The bits as integers.
    pub fn to_bits(self, x: V<'c>) -> V<'c> {
        self.b.bitcast(x, self.int_type())
    }
    /// Floats of these bits.
    pub fn of_bits(self, i: V<'c>) -> V<'c> {
        self.b.bitcast(i, self.t)
    }
    /// An integer constant shifted.
    pub fn shl(self, i: V<'c>, n: i64) -> V<'c> {
        self.b.shl(i, self.i(n))
    }
    pub fn lshr(self, i: V<'c>, n: i64) -> V<'c> {
        self.b.lshr(i, self.i(n))
    }
    /// Bits of the mantissa: 23 or 52.
    pub fn mantissa(self) -> i64 {
        if self.bits == 64 { 52 } else { 23 }
    }
    /// `(n, 2^n as bits in place)`: `x` rounded to an integer, for |x| below 2^(mantissa - 2): as a float and as an integer.
    pub fn round_small(self, x: V<'c>) -> (V<'c>, V<'c>) {
        // Adding 1.5 * 2^mantissa leaves the integer in the low bits of the sum.
        let magic = if self.bits == 64 { 6_755_399_441_055_744.0 } else { 12_582_912.0 };
        let t = self.add(x, self.c(magic));
        let n = self.sub(t, self.c(magic));
        let i = self.b.sub(self.to_bits(t), self.to_bits(self.c(magic)));
        (n, i)
    }
    /// `2^i` for an exponent of a normal number.
    pub fn pow2(self, i: V<'c>) -> V<'c> {
        let bias = if self.bits == 64 { 1023 } else { 127 };
        self.of_bits(self.shl(self.b.add(i, self.i(bias)), self.mantissa()))
    }
    /// Whether the lowest bit is set.
    pub fn odd(self, i: V<'c>) -> V<'c> {
        self.b.icmp(IntPredicate::NE, self.b.and(i, self.i(1)), self.i(0))
    }
    /// `float`s as `double`s.
    pub fn widen(self, x: V<'c>) -> V<'c> {
        self.b.cast(I::FPExt, x, self.double().t)
    }
    /// `double`s as these floats.
    pub fn narrow(self, x: V<'c>) -> V<'c> {
        self.b.cast(I::FPTrunc, x, self.t)
    }
}
