//! The closed set of scalar operations: names, arities, which kinds of types they take and what type they give.

use crate::dtype::{DType, Kind};
use std::fmt;

/// How the result type follows from the operand types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResultRule {
    /// All operands have one type, and so has the result.
    Same,
    /// All operands have one type; the result is `I1`.
    Bool,
    /// The operand is complex (or real); the result is the type of its parts.
    Real,
    /// Two real parts of one float type; the result is the complex type of them.
    MakeComplex,
    /// `(I1, T, T)`; the result is `T`.
    Select,
    /// The result type is stated with the operation, any type from any other.
    Stated,
    /// `(T, I32)`: a float and an exponent; the result is `T`.
    Scaled,
    /// A float; the result is an `I32` exponent.
    Exponent,
}

/// A set of kinds of types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Classes(u8);

impl Classes {
    /// `I1`.
    pub const BOOL: Classes = Classes(1);
    /// Unsigned integers.
    pub const UNSIGNED: Classes = Classes(2);
    /// Signed integers and `Index`.
    pub const SIGNED: Classes = Classes(4);
    /// Floats.
    pub const FLOAT: Classes = Classes(8);
    /// Complex types.
    pub const COMPLEX: Classes = Classes(16);
    /// Integers, `I1` not among them.
    pub const INT: Classes = Classes(6);
    /// Integers and `I1`.
    pub const INTEGRAL: Classes = Classes(7);
    /// Integers and floats.
    pub const NUMBER: Classes = Classes(14);
    /// All but complex types.
    pub const ORDERED: Classes = Classes(15);
    /// Integers, floats and complex types.
    pub const ARITH: Classes = Classes(30);
    /// Floats and complex types.
    pub const ANALYTIC: Classes = Classes(24);
    /// All types.
    pub const ANY: Classes = Classes(31);

    /// The class of one kind.
    pub const fn of(kind: Kind) -> Classes {
        match kind {
            Kind::Bool => Classes::BOOL,
            Kind::Unsigned => Classes::UNSIGNED,
            Kind::Signed => Classes::SIGNED,
            Kind::Float => Classes::FLOAT,
            Kind::Complex => Classes::COMPLEX,
        }
    }

    /// The union of two sets.
    pub const fn with(self, other: Classes) -> Classes {
        Classes(self.0 | other.0)
    }

    /// Whether types of this kind are in the set.
    pub const fn has(self, kind: Kind) -> bool {
        self.0 & Classes::of(kind).0 != 0
    }
}

macro_rules! ops {
    ($( $(#[doc = $doc:literal])+ $variant:ident = $name:literal, $arity:literal, $rule:ident, $classes:ident; )*) => {
        /// A scalar operation. What each computes is said for real numbers; floats smaller than 32 bits compute in
        /// 32 bits and round once, integers wrap.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ScalarOp {
            $( $(#[doc = $doc])+ $variant, )*
            /// A special function.
            Special(SpecialFn),
        }

        impl ScalarOp {
            /// All operations but the special functions (see [`SpecialFn::ALL`]).
            pub const BASIC: &'static [ScalarOp] = &[$(ScalarOp::$variant),*];

            /// The name in dialect files and messages, such as `floor_rem`.
            pub const fn name(self) -> &'static str {
                match self { $(ScalarOp::$variant => $name,)* ScalarOp::Special(f) => f.name() }
            }

            /// The number of operands.
            pub const fn arity(self) -> usize {
                match self { $(ScalarOp::$variant => $arity,)* ScalarOp::Special(f) => f.arity() }
            }

            /// How the result type follows from the operand types.
            pub const fn result_rule(self) -> ResultRule {
                match self { $(ScalarOp::$variant => ResultRule::$rule,)* ScalarOp::Special(_) => ResultRule::Same }
            }

            /// The types the operands may have (the value operands, for `select`).
            pub const fn classes(self) -> Classes {
                match self { $(ScalarOp::$variant => Classes::$classes,)* ScalarOp::Special(_) => Classes::FLOAT }
            }

            /// One line that says what it computes.
            pub const fn doc(self) -> &'static str {
                match self { $(ScalarOp::$variant => concat!($($doc),+),)* ScalarOp::Special(f) => f.doc() }
            }
        }
    };
}

ops! {
    /// a + b; "or" for I1.
    Add = "add", 2, Same, ANY;
    /// a - b; "xor" for I1.
    Sub = "sub", 2, Same, ANY;
    /// a * b; "and" for I1.
    Mul = "mul", 2, Same, ANY;
    /// a / b; floats and complex numbers only.
    Div = "div", 2, Same, ANALYTIC;
    /// Quotient rounded down, as Python's //.
    FloorDiv = "floor_div", 2, Same, NUMBER;
    /// Quotient rounded toward zero.
    TruncDiv = "trunc_div", 2, Same, NUMBER;
    /// Quotient rounded up; integers only.
    CeilDiv = "ceil_div", 2, Same, INT;
    /// Remainder with the sign of the divisor, as Python's % and torch.remainder.
    FloorRem = "floor_rem", 2, Same, NUMBER;
    /// Remainder with the sign of the dividend, as C's fmod and torch.fmod.
    TruncRem = "trunc_rem", 2, Same, NUMBER;
    /// -a.
    Neg = "neg", 1, Same, ARITH;
    /// |a|; the modulus, a real number, for complex types.
    Abs = "abs", 1, Real, ANY;
    /// The lesser; NaN if either is NaN, and -0 is less than 0.
    Minimum = "minimum", 2, Same, ORDERED;
    /// The greater; NaN if either is NaN, and -0 is less than 0.
    Maximum = "maximum", 2, Same, ORDERED;
    /// The lesser; a NaN operand loses.
    Fmin = "fmin", 2, Same, ORDERED;
    /// The greater; a NaN operand loses.
    Fmax = "fmax", 2, Same, ORDERED;
    /// Bitwise and.
    And = "and", 2, Same, INTEGRAL;
    /// Bitwise or.
    Or = "or", 2, Same, INTEGRAL;
    /// Bitwise exclusive or.
    Xor = "xor", 2, Same, INTEGRAL;
    /// Bitwise not; logical not for I1.
    Not = "not", 1, Same, INTEGRAL;
    /// a shifted left by b bits; 0 if b is negative or not less than the width.
    Shl = "shl", 2, Same, INT;
    /// a shifted right by b bits, keeping the sign of signed types; a b out of range shifts all value bits out.
    Shr = "shr", 2, Same, INT;
    /// a = b; false with a NaN.
    Eq = "eq", 2, Bool, ANY;
    /// a != b; true with a NaN.
    Ne = "ne", 2, Bool, ANY;
    /// a < b; false with a NaN.
    Lt = "lt", 2, Bool, ORDERED;
    /// a <= b; false with a NaN.
    Le = "le", 2, Bool, ORDERED;
    /// a > b; false with a NaN.
    Gt = "gt", 2, Bool, ORDERED;
    /// a >= b; false with a NaN.
    Ge = "ge", 2, Bool, ORDERED;
    /// b if a, else c.
    Select = "select", 3, Select, ANY;
    /// Conversion of the value to another type, as torch's Tensor.to.
    Cast = "cast", 1, Stated, ANY;
    /// The same bits as another type of the same size.
    Bitcast = "bitcast", 1, Stated, ANY;
    /// e to the a.
    Exp = "exp", 1, Same, ANALYTIC;
    /// 2 to the a.
    Exp2 = "exp2", 1, Same, ANALYTIC;
    /// exp(a) - 1 without cancellation.
    Expm1 = "expm1", 1, Same, ANALYTIC;
    /// Natural logarithm.
    Log = "log", 1, Same, ANALYTIC;
    /// log(1 + a) without cancellation.
    Log1p = "log1p", 1, Same, ANALYTIC;
    /// Logarithm to base 2.
    Log2 = "log2", 1, Same, ANALYTIC;
    /// Logarithm to base 10.
    Log10 = "log10", 1, Same, ANALYTIC;
    /// Square root.
    Sqrt = "sqrt", 1, Same, ANALYTIC;
    /// 1 / sqrt(a).
    Rsqrt = "rsqrt", 1, Same, ANALYTIC;
    /// Cube root.
    Cbrt = "cbrt", 1, Same, FLOAT;
    /// 1 / a.
    Reciprocal = "reciprocal", 1, Same, ANALYTIC;
    /// Sine.
    Sin = "sin", 1, Same, ANALYTIC;
    /// Cosine.
    Cos = "cos", 1, Same, ANALYTIC;
    /// Tangent.
    Tan = "tan", 1, Same, ANALYTIC;
    /// Inverse sine.
    Asin = "asin", 1, Same, ANALYTIC;
    /// Inverse cosine.
    Acos = "acos", 1, Same, ANALYTIC;
    /// Inverse tangent.
    Atan = "atan", 1, Same, ANALYTIC;
    /// The angle of the point (b, a).
    Atan2 = "atan2", 2, Same, FLOAT;
    /// Hyperbolic sine.
    Sinh = "sinh", 1, Same, ANALYTIC;
    /// Hyperbolic cosine.
    Cosh = "cosh", 1, Same, ANALYTIC;
    /// Hyperbolic tangent.
    Tanh = "tanh", 1, Same, ANALYTIC;
    /// Inverse hyperbolic sine.
    Asinh = "asinh", 1, Same, ANALYTIC;
    /// Inverse hyperbolic cosine.
    Acosh = "acosh", 1, Same, ANALYTIC;
    /// Inverse hyperbolic tangent.
    Atanh = "atanh", 1, Same, ANALYTIC;
    /// Error function.
    Erf = "erf", 1, Same, FLOAT;
    /// 1 - erf(a) without cancellation.
    Erfc = "erfc", 1, Same, FLOAT;
    /// a to the b; for integers a negative b gives 0 unless |a| is 1.
    Pow = "pow", 2, Same, ARITH;
    /// The greatest integer not above a.
    Floor = "floor", 1, Same, FLOAT;
    /// The least integer not below a.
    Ceil = "ceil", 1, Same, FLOAT;
    /// The integer part.
    Trunc = "trunc", 1, Same, FLOAT;
    /// The nearest integer, halves to the even one.
    Round = "round", 1, Same, FLOAT;
    /// The nearest integer, halves away from zero.
    RoundAway = "round_away", 1, Same, FLOAT;
    /// -1, 0 or 1; 0 for NaN.
    Sign = "sign", 1, Same, ORDERED;
    /// a / |a|, 0 at 0; `sign` for real types.
    Sgn = "sgn", 1, Same, ANY;
    /// The sign bit is set (of -0 and of some NaNs too).
    Signbit = "signbit", 1, Bool, ORDERED;
    /// a is NaN (in a part).
    Isnan = "isnan", 1, Bool, ANY;
    /// a is infinite (in a part).
    Isinf = "isinf", 1, Bool, ANY;
    /// a is neither NaN nor infinite.
    Isfinite = "isfinite", 1, Bool, ANY;
    /// a * b + c with one rounding; for integers the wrapped value.
    Fma = "fma", 3, Same, NUMBER;
    /// |a| with the sign of b.
    Copysign = "copysign", 2, Same, FLOAT;
    /// The next value of the type after a toward b.
    Nextafter = "nextafter", 2, Same, FLOAT;
    /// sqrt(a * a + b * b) without overflow.
    Hypot = "hypot", 2, Same, FLOAT;
    /// a * 2^b with one rounding.
    Ldexp = "ldexp", 2, Scaled, FLOAT;
    /// The m of a = m * 2^e with 0.5 <= |m| < 1.
    FrexpMantissa = "frexp_mantissa", 1, Same, FLOAT;
    /// The e of a = m * 2^e with 0.5 <= |m| < 1; 0 for 0, infinities and NaN.
    FrexpExponent = "frexp_exponent", 1, Exponent, FLOAT;
    /// Greatest common divisor, not negative.
    Gcd = "gcd", 2, Same, INT;
    /// The complex number a + bi.
    MakeComplex = "make_complex", 2, MakeComplex, FLOAT;
    /// The real part.
    RealPart = "real", 1, Real, ANALYTIC;
    /// The imaginary part.
    ImagPart = "imag", 1, Real, COMPLEX;
    /// The complex conjugate.
    Conj = "conj", 1, Same, ANY;
    /// The angle of a number in the complex plane: 0 or pi for real types, NaN for NaN.
    Angle = "angle", 1, Real, ANALYTIC;
}

macro_rules! specials {
    ($( $(#[doc = $doc:literal])+ $variant:ident = $name:literal, $arity:literal; )*) => {
        /// Functions of one or two floats that no usual instruction set or `math` op has. Each is a call of a
        /// function in the back ends.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum SpecialFn { $( $(#[doc = $doc])+ $variant, )* }

        impl SpecialFn {
            /// All special functions.
            pub const ALL: &'static [SpecialFn] = &[$(SpecialFn::$variant),*];

            /// The name in dialect files and messages; the IR writes `scalar.<name>`.
            pub const fn name(self) -> &'static str {
                match self { $(SpecialFn::$variant => $name,)* }
            }

            /// The IR's name.
            pub const fn ir_name(self) -> &'static str {
                match self { $(SpecialFn::$variant => concat!("scalar.", $name),)* }
            }

            /// The number of operands.
            pub const fn arity(self) -> usize {
                match self { $(SpecialFn::$variant => $arity,)* }
            }

            /// One line that says what it computes.
            pub const fn doc(self) -> &'static str {
                match self { $(SpecialFn::$variant => concat!($($doc),+),)* }
            }
        }
    };
}

specials! {
    /// log |Γ(a)|.
    Lgamma = "lgamma", 1;
    /// The derivative of log Γ.
    Digamma = "digamma", 1;
    /// The a-th derivative of digamma at b, for a whole a >= 0.
    Polygamma = "polygamma", 2;
    /// The Hurwitz zeta function Σ (k + b)^-a.
    Zeta = "zeta", 2;
    /// The inverse of erf.
    Erfinv = "erfinv", 1;
    /// exp(a²) erfc(a).
    Erfcx = "erfcx", 1;
    /// The inverse of the normal distribution function.
    Ndtri = "ndtri", 1;
    /// The logarithm of the normal distribution function.
    LogNdtr = "log_ndtr", 1;
    /// The lower regularized incomplete gamma function P(a, b).
    Igamma = "igamma", 2;
    /// The upper regularized incomplete gamma function Q(a, b).
    Igammac = "igammac", 2;
    /// Modified Bessel function of the first kind, order 0.
    I0 = "i0", 1;
    /// exp(-|a|) i0(a).
    I0e = "i0e", 1;
    /// Modified Bessel function of the first kind, order 1.
    I1 = "i1", 1;
    /// exp(-|a|) i1(a).
    I1e = "i1e", 1;
    /// Modified Bessel function of the second kind, order 0.
    K0 = "modified_bessel_k0", 1;
    /// Modified Bessel function of the second kind, order 1.
    K1 = "modified_bessel_k1", 1;
    /// exp(a) modified_bessel_k0(a).
    ScaledK0 = "scaled_modified_bessel_k0", 1;
    /// exp(a) modified_bessel_k1(a).
    ScaledK1 = "scaled_modified_bessel_k1", 1;
    /// Bessel function of the first kind, order 0.
    BesselJ0 = "bessel_j0", 1;
    /// Bessel function of the first kind, order 1.
    BesselJ1 = "bessel_j1", 1;
    /// Bessel function of the second kind, order 0.
    BesselY0 = "bessel_y0", 1;
    /// Bessel function of the second kind, order 1.
    BesselY1 = "bessel_y1", 1;
    /// sin(a) / a, 1 at 0.
    SphericalJ0 = "spherical_bessel_j0", 1;
    /// The Airy function Ai.
    AiryAi = "airy_ai", 1;
    /// Chebyshev polynomial of the first kind of degree b at a.
    ChebyshevT = "chebyshev_polynomial_t", 2;
    /// Chebyshev polynomial of the second kind of degree b at a.
    ChebyshevU = "chebyshev_polynomial_u", 2;
    /// Chebyshev polynomial of the third kind of degree b at a.
    ChebyshevV = "chebyshev_polynomial_v", 2;
    /// Chebyshev polynomial of the fourth kind of degree b at a.
    ChebyshevW = "chebyshev_polynomial_w", 2;
    /// Chebyshev polynomial of the first kind of degree b at 2a - 1.
    ShiftedChebyshevT = "shifted_chebyshev_polynomial_t", 2;
    /// Chebyshev polynomial of the second kind of degree b at 2a - 1.
    ShiftedChebyshevU = "shifted_chebyshev_polynomial_u", 2;
    /// Chebyshev polynomial of the third kind of degree b at 2a - 1.
    ShiftedChebyshevV = "shifted_chebyshev_polynomial_v", 2;
    /// Chebyshev polynomial of the fourth kind of degree b at 2a - 1.
    ShiftedChebyshevW = "shifted_chebyshev_polynomial_w", 2;
    /// Physicists' Hermite polynomial of degree b at a.
    HermiteH = "hermite_polynomial_h", 2;
    /// Probabilists' Hermite polynomial of degree b at a.
    HermiteHe = "hermite_polynomial_he", 2;
    /// Laguerre polynomial of degree b at a.
    LaguerreL = "laguerre_polynomial_l", 2;
    /// Legendre polynomial of degree b at a.
    LegendreP = "legendre_polynomial_p", 2;
}

impl ScalarOp {
    /// All operations, the special functions last.
    pub fn all() -> impl Iterator<Item = ScalarOp> {
        ScalarOp::BASIC.iter().copied().chain(SpecialFn::ALL.iter().map(|f| ScalarOp::Special(*f)))
    }

    /// The operation of this name.
    pub fn from_name(name: &str) -> Option<ScalarOp> {
        ScalarOp::all().find(|op| op.name() == name)
    }

    /// The type of the result, from the operand types. `None` when the operand types do not fit, and for the
    /// operations whose result type is stated (`cast`, `bitcast`).
    pub fn result_dtype(self, operands: &[DType]) -> Option<DType> {
        if operands.len() != self.arity() {
            return None;
        }
        let values = if self == ScalarOp::Select { &operands[1..] } else { operands };
        let first = values[0];
        let rule = self.result_rule();
        let uniform =
            matches!(rule, ResultRule::Same | ResultRule::Bool | ResultRule::Select | ResultRule::MakeComplex);
        if !self.classes().has(first.kind()) || (uniform && values.iter().any(|d| *d != first)) {
            return None;
        }
        match rule {
            ResultRule::Same => Some(first),
            ResultRule::Bool => Some(DType::I1),
            ResultRule::Real => Some(first.real()),
            ResultRule::MakeComplex => {
                matches!(first, DType::F32 | DType::F64 | DType::F16 | DType::BF16).then(|| first.complex())
            }
            ResultRule::Select => operands[0].is_bool().then_some(first),
            ResultRule::Scaled => (operands[1] == DType::I32).then_some(first),
            ResultRule::Exponent => Some(DType::I32),
            ResultRule::Stated => None,
        }
    }

    /// What a reduction with this operation starts from (`add` 0, `mul` 1, `maximum` the lowest value, `and` all
    /// ones…). `None` if it has no neutral element in `dtype`.
    pub fn identity(self, dtype: DType) -> Option<crate::Scalar> {
        use crate::Scalar;
        if !self.classes().has(dtype.kind()) {
            return None;
        }
        match self {
            ScalarOp::Add | ScalarOp::Or | ScalarOp::Xor | ScalarOp::Gcd => Some(Scalar::zero(dtype)),
            ScalarOp::Mul => Some(Scalar::one(dtype)),
            ScalarOp::Minimum | ScalarOp::Fmin => Scalar::highest(dtype),
            ScalarOp::Maximum | ScalarOp::Fmax => Scalar::lowest(dtype),
            ScalarOp::And if dtype.is_bool() => Some(Scalar::bool(true)),
            ScalarOp::And => Some(Scalar::from_i64(dtype, -1)),
            _ => None,
        }
    }
}

impl fmt::Display for ScalarOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_distinct_and_lead_back() {
        let mut seen = HashSet::new();
        for op in ScalarOp::all() {
            assert!(seen.insert(op.name()), "{op} twice");
            assert_eq!(ScalarOp::from_name(op.name()), Some(op));
            assert!(!op.doc().is_empty());
        }
    }

    #[test]
    fn result_types() {
        use DType::*;
        assert_eq!(ScalarOp::Abs.result_dtype(&[C64]), Some(F32));
        assert_eq!(ScalarOp::Lt.result_dtype(&[F16, F16]), Some(I1));
        assert_eq!(ScalarOp::Lt.result_dtype(&[C64, C64]), None);
        assert_eq!(ScalarOp::Add.result_dtype(&[F16, F32]), None);
        assert_eq!(ScalarOp::Select.result_dtype(&[I1, U8, U8]), Some(U8));
        assert_eq!(ScalarOp::Select.result_dtype(&[U8, U8, U8]), None);
        assert_eq!(ScalarOp::Cast.result_dtype(&[U8]), None);
        assert_eq!(ScalarOp::Div.result_dtype(&[I32, I32]), None);
        assert_eq!(ScalarOp::Maximum.identity(F32).map(|s| s.to_f64()), Some(f64::NEG_INFINITY));
        assert_eq!(ScalarOp::And.identity(U8).map(|s| s.to_i64()), Some(255));
    }
}
