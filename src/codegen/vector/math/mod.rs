//! The elementary and the special functions.
//!
//! `f32` functions (and those of the smaller floats, which are held as `f32`) are vectorized: a function of LLVM IR per name and number
//! of lanes, put in place where it is called. The rest is called lane by lane: elementary functions of `f64` from the C library, the
//! others from this crate (`calls`). `docs/math.md` has the measured errors.

use rinductor_scalar::{DType, ScalarOp, SpecialFn};

use super::build::{Build, Convert, Math, V};

pub mod calls;
mod erf;
mod exp;
mod lanes;
mod log;
mod trig;

use lanes::F;

/// A function of the scalar vocabulary that is no instruction; None for what the back end lacks.
pub(super) fn function<B: Build>(b: &B, op: ScalarOp, dtype: DType, args: &[V<B>]) -> Option<V<B>> {
    if dtype.is_float() && dtype != DType::F64 {
        // Beyond this, what is rounded afterwards to 16 bits anyway takes the same functions.
        if let Some(v) = vectorized(b, op, args) {
            return Some(v);
        }
    } else if dtype == DType::F64 {
        let f = F::like(b, args[0]);
        match op {
            ScalarOp::Exp => return Some(placed(b, "exp", args, |b, a| exp::exp(F::like(b, a[0]), a[0]))),
            ScalarOp::Log => return Some(placed(b, "log", args, |b, a| log::log(F::like(b, a[0]), a[0]))),
            ScalarOp::FrexpMantissa => return Some(log::frexp(f, args[0]).0),
            ScalarOp::FrexpExponent => return Some(log::frexp(f, args[0]).1),
            _ => {}
        }
    }
    match op {
        ScalarOp::Special(f) => {
            let code = SpecialFn::ALL.iter().position(|&g| g == f)? as i64;
            let name = if f.arity() == 1 { calls::SPECIAL1 } else { calls::SPECIAL2 };
            Some(by_lane_in_double(b, name, Some(code), args))
        }
        _ if dtype.is_float() => {
            let name = libm_name(op)?;
            Some(by_lane_in_double(b, name, None, args))
        }
        ScalarOp::Pow | ScalarOp::Gcd => {
            let name = if op == ScalarOp::Pow { calls::INT_POW } else { calls::INT_GCD };
            let t = b.type_of(args[0]);
            let unsigned = matches!(dtype, DType::U8 | DType::I1);
            let wide = b.like(args[0], b.int_type(64, 1));
            let args: Vec<V<B>> =
                args.iter().map(|&a| b.cast(if unsigned { Convert::ZExt } else { Convert::SExt }, a, wide)).collect();
            let i = b.int_type(64, 1);
            let v = b.by_lane(name, i, &args);
            Some(b.cast(Convert::Trunc, v, t))
        }
        _ => None,
    }
}

/// A call of a function that is made of `formula` the first time, and put in place.
fn placed<B: Build>(b: &B, name: &str, args: &[V<B>], formula: impl FnOnce(&B, &[V<B>]) -> V<B>) -> V<B> {
    b.placed(name, args, b.type_of(args[0]), formula)
}

/// A function of `f32` without calls.
fn vectorized<B: Build>(b: &B, op: ScalarOp, args: &[V<B>]) -> Option<V<B>> {
    use ScalarOp::*;
    type Unary<B> = for<'b> fn(F<'b, B>, V<B>) -> V<B>;
    type Pair<B> = for<'b> fn(F<'b, B>, V<B>, V<B>) -> V<B>;
    let unary: Unary<B> = match op {
        Exp => exp::exp,
        Exp2 => exp::exp2,
        Expm1 => exp::expm1,
        Log => log::log,
        Log1p => log::log1p,
        Log2 => |f, x| log::log_to_base(f, x, std::f64::consts::LOG2_E),
        Log10 => |f, x| log::log_to_base(f, x, std::f64::consts::LOG10_E),
        Cbrt => log::cbrt,
        Sin => trig::sin,
        Cos => trig::cos,
        Tan => trig::tan,
        Asin => trig::asin,
        Acos => trig::acos,
        Atan => trig::atan,
        Sinh => exp::sinh,
        Cosh => exp::cosh,
        Tanh => exp::tanh,
        Asinh => log::asinh,
        Acosh => log::acosh,
        Atanh => log::atanh,
        Erf => erf::erf,
        Erfc => erf::erfc,
        FrexpMantissa => return Some(log::frexp(F::like(b, args[0]), args[0]).0),
        FrexpExponent => return Some(log::frexp(F::like(b, args[0]), args[0]).1),
        Atan2 | Pow | Hypot => {
            let binary: Pair<B> = match op {
                Atan2 => trig::atan2,
                Pow => exp::pow,
                _ => trig::hypot,
            };
            return Some(placed(b, op.name(), args, |b, a| binary(F::like(b, a[0]), a[0], a[1])));
        }
        _ => return None,
    };
    Some(placed(b, op.name(), args, |b, a| unary(F::like(b, a[0]), a[0])))
}

/// The C library's name of an elementary function.
fn libm_name(op: ScalarOp) -> Option<&'static str> {
    use ScalarOp::*;
    Some(match op {
        Exp => "exp",
        Exp2 => "exp2",
        Expm1 => "expm1",
        Log => "log",
        Log1p => "log1p",
        Log2 => "log2",
        Log10 => "log10",
        Cbrt => "cbrt",
        Sin => "sin",
        Cos => "cos",
        Tan => "tan",
        Asin => "asin",
        Acos => "acos",
        Atan => "atan",
        Atan2 => "atan2",
        Sinh => "sinh",
        Cosh => "cosh",
        Tanh => "tanh",
        Asinh => "asinh",
        Acosh => "acosh",
        Atanh => "atanh",
        Erf => "erf",
        Erfc => "erfc",
        Pow => "pow",
        Hypot => "hypot",
        _ => return None,
    })
}

/// Calls a function of doubles for each lane, with a code before the arguments.
fn by_lane_in_double<B: Build>(b: &B, name: &str, code: Option<i64>, args: &[V<B>]) -> V<B> {
    let t = b.type_of(args[0]);
    let double = b.float_type(64, 1);
    let wide = b.like(args[0], double);
    let mut all: Vec<V<B>> = code.map(|c| b.i64(c)).into_iter().collect();
    all.extend(args.iter().map(|&a| b.cast(Convert::FPExt, a, wide)));
    let v = b.by_lane(name, double, &all);
    b.cast(Convert::FPTrunc, v, t)
}

/// The remainder of a division, with the sign of the dividend: exact.
pub(super) fn remainder<B: Build>(b: &B, x: V<B>, y: V<B>) -> V<B> {
    let double = b.float_type(64, 1);
    if b.lane_type(b.type_of(x)) == double {
        return b.by_lane("fmod", double, &[x, y]);
    }
    let float = b.float_type(32, 1);
    b.by_lane("fmodf", float, &[x, y])
}

/// `x * 2^n`, rounded once.
pub(super) fn ldexp<B: Build>(b: &B, dtype: DType, x: V<B>, n: V<B>) -> V<B> {
    if dtype == DType::F64 {
        let double = b.float_type(64, 1);
        return b.by_lane("ldexp", double, &[x, n]);
    }
    // In 64 bits the product is exact wherever the smaller type has a number.
    let f = F::like(b, x);
    let d = f.double();
    let n = b.math(Math::SMax, &[b.math(Math::SMin, &[n, b.int(b.type_of(n), 500)]), b.int(b.type_of(n), -500)]);
    let n = b.cast(Convert::SExt, n, d.int_type());
    f.narrow(d.mul(f.widen(x), d.pow2(n)))
}

/// `x * y + z` rounded once, of `f32` on a machine without the instruction.
pub(super) fn fma_by_double<B: Build>(b: &B, args: &[V<B>]) -> V<B> {
    let float = b.float_type(32, 1);
    b.by_lane("fmaf", float, args)
}
