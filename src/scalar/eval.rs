//! Evaluation of one scalar operation, with torch's meaning on every type.

use crate::dtype::{DType, Kind};
use crate::op::{ResultRule, ScalarOp};
use crate::value::{Scalar, Value};
use crate::{eval_complex, eval_float, eval_int};
use std::fmt;

/// Why an operation has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvalError {
    /// An integer quotient or remainder by zero.
    DivisionByZero(ScalarOp),
    /// Operand types or the stated result type do not fit the operation.
    Types {
        /// The operation.
        op: ScalarOp,
        /// The types of the operands.
        operands: Vec<DType>,
        /// The stated result type.
        result: DType,
    },
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EvalError::DivisionByZero(op) => write!(f, "{op}: integer division by zero"),
            EvalError::Types { op, operands, result } => {
                write!(f, "{op} does not take (")?;
                for (i, d) in operands.iter().enumerate() {
                    write!(f, "{}{d}", if i == 0 { "" } else { ", " })?;
                }
                write!(f, ") to {result}")
            }
        }
    }
}

impl std::error::Error for EvalError {}

/// Computes `op` on `args`. `result` is the type of the result: it decides for `cast` and `bitcast`, and must be
/// [`ScalarOp::result_dtype`] for the others.
///
/// Floats smaller than 32 bits compute in 32 bits and round once more; 32-bit results are the 64-bit ones rounded.
/// Errors are wrong types, integer division by zero, and `randint` over nothing.
pub fn eval(op: ScalarOp, result: DType, args: &[Scalar]) -> Result<Scalar, EvalError> {
    let types_error = || EvalError::Types { op, operands: args.iter().map(|a| a.dtype()).collect(), result };
    if op.result_rule() == ResultRule::Stated {
        return match (op, args) {
            (ScalarOp::Cast, [a]) => Ok(a.cast(result)),
            (ScalarOp::Bitcast, [a]) if a.dtype().size() == result.size() => Ok(Scalar::from_bits(result, a.to_bits())),
            _ => Err(types_error()),
        };
    }
    let mut dtypes = [DType::I1; 4];
    if args.len() > dtypes.len() {
        return Err(types_error());
    }
    for (d, a) in dtypes.iter_mut().zip(args) {
        *d = a.dtype();
    }
    if op.result_dtype(&dtypes[..args.len()]) != Some(result) {
        return Err(types_error());
    }
    if let (ScalarOp::Select, [c, a, b]) = (op, args) {
        return Ok(if c.is_true() { *a } else { *b });
    }
    let dtype = dtypes[0];
    let value = match dtype.kind() {
        Kind::Bool | Kind::Unsigned | Kind::Signed => {
            let mut ints = [0i64; 3];
            for (x, a) in ints.iter_mut().zip(args) {
                *x = a.to_i64();
            }
            eval_int::eval(op, dtype, ints)?.map(|x| Scalar::from_i64(result, x))
        }
        Kind::Float => eval_float::eval(op, dtype, result, args),
        Kind::Complex => {
            let mut parts = [num_complex::Complex64::default(); 3];
            for (x, a) in parts.iter_mut().zip(args) {
                *x = a.to_complex();
            }
            match eval_complex::eval(op, parts) {
                Some(Value::Complex(z)) => Some(Scalar::from_complex(result, z)),
                Some(Value::Float(x)) => Some(Scalar::from_f64(result, x)),
                Some(Value::Int(x)) => Some(Scalar::from_i64(result, x)),
                None => None,
            }
        }
    };
    value.ok_or_else(types_error)
}

impl ScalarOp {
    /// [`eval`] for the operations whose result type follows from the operands (all but `cast` and `bitcast`).
    pub fn apply(self, args: &[Scalar]) -> Result<Scalar, EvalError> {
        let dtypes: Vec<DType> = args.iter().map(|a| a.dtype()).collect();
        let result = self.result_dtype(&dtypes);
        // Without a result type the evaluation reports the operand types; the stated type is then only for the text.
        eval(self, result.unwrap_or(dtypes.first().copied().unwrap_or(DType::I1)), args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex64;

    fn ints(op: ScalarOp, d: DType, a: i64, b: i64) -> Result<i64, EvalError> {
        op.apply(&[Scalar::from_i64(d, a), Scalar::from_i64(d, b)]).map(|s| s.to_i64())
    }

    fn floats(op: ScalarOp, d: DType, args: &[f64]) -> f64 {
        let args: Vec<Scalar> = args.iter().map(|x| Scalar::from_f64(d, *x)).collect();
        op.apply(&args).map(|s| s.to_f64()).expect("types fit")
    }

    #[test]
    fn every_op_evaluates_on_every_type_it_takes() {
        for op in ScalarOp::all() {
            for d in DType::ALL.into_iter().filter(|d| op.classes().has(d.kind())) {
                let mut args = vec![Scalar::one(d); op.arity()];
                match op.result_rule() {
                    ResultRule::Select => args[0] = Scalar::bool(true),
                    ResultRule::Scaled => args[1] = Scalar::one(DType::I32),
                    ResultRule::MakeComplex if d.is_f8() => continue,
                    ResultRule::Stated => {
                        assert_eq!(eval(op, d, &args), Ok(args[0]));
                        continue;
                    }
                    _ => {}
                }
                let got = op.apply(&args);
                assert!(got.is_ok(), "{op} on {d}: {got:?}");
            }
        }
    }

    #[test]
    fn integer_division_has_torchs_signs() {
        use ScalarOp::*;
        for (a, b, floor, trunc, frem, trem) in [(7, -2, -4, -3, -1, 1), (-7, 2, -4, -3, 1, -1), (-7, -2, 3, 3, -1, -1)]
        {
            assert_eq!(ints(FloorDiv, DType::I32, a, b), Ok(floor));
            assert_eq!(ints(TruncDiv, DType::I32, a, b), Ok(trunc));
            assert_eq!(ints(FloorRem, DType::I32, a, b), Ok(frem));
            assert_eq!(ints(TruncRem, DType::I32, a, b), Ok(trem));
            assert_eq!(floats(FloorRem, DType::F32, &[a as f64, b as f64]), frem as f64);
            assert_eq!(floats(TruncRem, DType::F32, &[a as f64, b as f64]), trem as f64);
            assert_eq!(floats(FloorDiv, DType::F32, &[a as f64, b as f64]), floor as f64);
            assert_eq!(floats(TruncDiv, DType::F32, &[a as f64, b as f64]), trunc as f64);
        }
        assert_eq!(ints(TruncDiv, DType::I32, i64::from(i32::MIN), -1), Ok(i64::from(i32::MIN)));
        assert_eq!(ints(FloorDiv, DType::I64, i64::MIN, -1), Ok(i64::MIN));
        assert_eq!(ints(FloorRem, DType::I64, i64::MIN, -1), Ok(0));
        assert_eq!(ints(CeilDiv, DType::I32, 7, 2), Ok(4));
        assert_eq!(ints(CeilDiv, DType::I32, -7, 2), Ok(-3));
        assert_eq!(ints(FloorRem, DType::U8, 7, 0), Err(EvalError::DivisionByZero(FloorRem)));
    }

    #[test]
    fn integers_wrap() {
        use ScalarOp::*;
        assert_eq!(ints(Add, DType::U8, 200, 100), Ok(44));
        assert_eq!(ints(Mul, DType::I8, 100, 3), Ok(44));
        assert_eq!(ints(Sub, DType::U8, 1, 2), Ok(255));
        assert_eq!(ints(Shl, DType::I8, 1, 7), Ok(-128));
        assert_eq!(ints(Shl, DType::I8, 1, 8), Ok(0));
        assert_eq!(ints(Shr, DType::I8, -128, 100), Ok(-1));
        assert_eq!(ints(Shr, DType::U8, 128, 100), Ok(0));
        assert_eq!(ints(Pow, DType::I32, 3, 21), Ok(i64::from(3i32.wrapping_pow(21))));
        assert_eq!(ints(Pow, DType::I32, -1, -3), Ok(-1));
        assert_eq!(ints(Pow, DType::I32, 2, -1), Ok(0));
        assert_eq!(ints(Add, DType::I1, 1, 1), Ok(1));
        assert_eq!(Neg.apply(&[Scalar::from_i64(DType::U8, 1)]).map(|s| s.to_i64()), Ok(255));
        assert_eq!(Not.apply(&[Scalar::from_i64(DType::U8, 1)]).map(|s| s.to_i64()), Ok(254));
        assert_eq!(Not.apply(&[Scalar::bool(true)]), Ok(Scalar::bool(false)));
    }

    #[test]
    fn nan_and_zero_follow_ieee() {
        use ScalarOp::*;
        let nan = f64::NAN;
        assert!(floats(Minimum, DType::F32, &[1.0, nan]).is_nan());
        assert!(floats(Maximum, DType::F32, &[nan, 1.0]).is_nan());
        assert_eq!(floats(Fmin, DType::F32, &[1.0, nan]), 1.0);
        assert_eq!(floats(Fmax, DType::F32, &[nan, 1.0]), 1.0);
        assert!(floats(Minimum, DType::F32, &[0.0, -0.0]).is_sign_negative());
        assert!(floats(Maximum, DType::F32, &[-0.0, 0.0]).is_sign_positive());
        assert_eq!(floats(Sign, DType::F32, &[nan]), 0.0);
        assert_eq!(floats(Ne, DType::F32, &[nan, nan]), 1.0);
        assert_eq!(floats(Eq, DType::F32, &[nan, nan]), 0.0);
        assert_eq!(floats(Signbit, DType::F32, &[-0.0]), 1.0);
        assert_eq!(floats(FloorDiv, DType::F32, &[1.0, 0.0]), f64::INFINITY);
        assert!(floats(FloorDiv, DType::F32, &[-0.0, 2.0]).is_sign_negative());
    }

    #[test]
    fn floats_round_as_their_type() {
        use ScalarOp::*;
        assert_eq!(floats(Add, DType::F16, &[2048.0, 1.0]), 2048.0);
        assert_eq!(floats(Exp, DType::F32, &[1.0]), f64::from(std::f32::consts::E));
        assert_eq!(floats(Round, DType::F32, &[2.5]), 2.0);
        assert_eq!(floats(RoundAway, DType::F32, &[2.5]), 3.0);
        let tiny = 2f64.powi(-23);
        // The product needs 25 bits: only one rounding keeps what cancellation leaves.
        assert_eq!(floats(Fma, DType::F32, &[1.0 + tiny, 1.0 + tiny, -(1.0 + 2.0 * tiny)]), tiny * tiny);
        assert_eq!(floats(Nextafter, DType::F32, &[1.0, 2.0]), 1.0 + tiny);
        assert_eq!(floats(Nextafter, DType::BF16, &[1.0, 0.0]), 1.0 - 2f64.powi(-8));
        assert_eq!(floats(Nextafter, DType::F32, &[0.0, -1.0]), -f64::from(f32::from_bits(1)));
        assert_eq!(floats(FrexpMantissa, DType::F32, &[-6.0]), -0.75);
        assert_eq!(FrexpExponent.apply(&[Scalar::f32(-6.0)]), Ok(Scalar::from_i64(DType::I32, 3)));
    }

    #[test]
    fn complex_numbers() {
        let z = |re, im| Scalar::from_complex(DType::C64, Complex64::new(re, im));
        assert_eq!(ScalarOp::Mul.apply(&[z(1.0, 2.0), z(3.0, -1.0)]), Ok(z(5.0, 5.0)));
        assert_eq!(ScalarOp::Div.apply(&[z(5.0, 5.0), z(3.0, -1.0)]), Ok(z(1.0, 2.0)));
        assert_eq!(ScalarOp::Abs.apply(&[z(3.0, 4.0)]), Ok(Scalar::f32(5.0)));
        assert_eq!(ScalarOp::Sgn.apply(&[z(0.0, 0.0)]), Ok(z(0.0, 0.0)));
        assert_eq!(ScalarOp::Tanh.apply(&[z(1000.0, 1.0)]), Ok(z(1.0, 0.0)));
        assert_eq!(ScalarOp::MakeComplex.apply(&[Scalar::f32(1.0), Scalar::f32(2.0)]), Ok(z(1.0, 2.0)));
    }

    #[test]
    fn wrong_types_are_errors() {
        let e = ScalarOp::Add.apply(&[Scalar::f32(1.0), Scalar::f64(1.0)]).expect_err("two types");
        assert_eq!(e.to_string(), "add does not take (f32, f64) to f32");
        assert!(ScalarOp::Add.apply(&[]).is_err());
        assert!(eval(ScalarOp::Bitcast, DType::F32, &[Scalar::f64(1.0)]).is_err());
        assert_eq!(
            eval(ScalarOp::Bitcast, DType::I32, &[Scalar::f32(1.0)]),
            Ok(Scalar::from_i64(DType::I32, 0x3f80_0000))
        );
    }
}
