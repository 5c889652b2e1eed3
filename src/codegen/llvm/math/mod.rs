//! The elementary and the special functions.
//!
//! `f32` functions (and those of the smaller floats, which are held as `f32`) are vectorized: a function of LLVM IR per name and number
//! of lanes, put in place where it is called. The rest is called lane by lane: elementary functions of `f64` from the C library, the
//! others from this crate (`calls`). `docs/math.md` has the measured errors.

use rinductor_scalar::{DType, ScalarOp, SpecialFn};

use super::build::{Build, T, V};
use inkwell::values::InstructionOpcode as I;

pub(super) mod calls;
mod erf;
mod exp;
mod lanes;
mod log;
mod trig;

use lanes::F;

/// A function of the scalar vocabulary that is no instruction; None for what the back end lacks.
pub(super) fn function<'c>(b: &Build<'c>, op: ScalarOp, dtype: DType, args: &[V<'c>]) -> Option<V<'c>> {
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
            let t = args[0].get_type();
            let unsigned = matches!(dtype, DType::U8 | DType::I1);
            let wide = b.like(args[0], b.int_type(64, 1));
            let args: Vec<V> =
                args.iter().map(|&a| b.cast(if unsigned { I::ZExt } else { I::SExt }, a, wide)).collect();
            let i = b.int_type(64, 1);
            let v = by_lane(b, name, &[i, i], i, &args);
            Some(b.cast(I::Trunc, v, t))
        }
        _ => None,
    }
}

/// A call of `rinductor.NAME.vNfBITS`, made of `formula` the first time and put in place by LLVM.
fn placed<'c>(b: &Build<'c>, name: &str, args: &[V<'c>], formula: impl FnOnce(&Build<'c>, &[V<'c>]) -> V<'c>) -> V<'c> {
    let f = F::like(b, args[0]);
    let lanes = f.lanes();
    let suffix = if lanes == 1 { format!("f{}", f.bits) } else { format!("v{lanes}f{}", f.bits) };
    let types: Vec<T> = args.iter().map(|a| a.get_type()).collect();
    let function = b.inline_function(&format!("rinductor.{name}.{suffix}"), &types, f.t, formula);
    b.call(function, args).expect("the function has a result")
}

/// A function of `f32` without calls.
fn vectorized<'c>(b: &Build<'c>, op: ScalarOp, args: &[V<'c>]) -> Option<V<'c>> {
    use ScalarOp::*;
    type Unary = for<'b, 'c> fn(F<'b, 'c>, V<'c>) -> V<'c>;
    type Binary = for<'b, 'c> fn(F<'b, 'c>, V<'c>, V<'c>) -> V<'c>;
    let unary: Unary = match op {
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
            let binary: Binary = match op {
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

/// Calls a function for each lane.
pub(super) fn by_lane<'c>(b: &Build<'c>, name: &str, params: &[T<'c>], result: T<'c>, args: &[V<'c>]) -> V<'c> {
    let f = b.declare(name, params, Some(result));
    b.add_attribute(f, "nounwind", None);
    b.add_attribute(f, "willreturn", None);
    let lanes = args.iter().map(|&a| b.lanes(a)).max().unwrap_or(1);
    let mut all = b.poison(b.vector_of(result, lanes));
    for k in 0..lanes {
        let one: Vec<V> = args.iter().map(|&a| if b.lanes(a) == 1 { a } else { b.extract(a, k) }).collect();
        let v = b.call(f, &one).expect("the function has a result");
        all = b.insert(all, v, k);
    }
    all
}

/// Calls a function of doubles for each lane, with a code before the arguments.
fn by_lane_in_double<'c>(b: &Build<'c>, name: &str, code: Option<i64>, args: &[V<'c>]) -> V<'c> {
    let t = args[0].get_type();
    let double = b.float_type(64, 1);
    let wide = b.like(args[0], double);
    let mut all: Vec<V> = code.map(|c| b.i64(c)).into_iter().collect();
    all.extend(args.iter().map(|&a| b.cast(I::FPExt, a, wide)));
    let params: Vec<T> = all.iter().map(|a| b.lane_type(a.get_type())).collect();
    let v = by_lane(b, name, &params, double, &all);
    b.cast(I::FPTrunc, v, t)
}

/// The remainder of a division, with the sign of the dividend: exact.
pub(super) fn remainder<'c>(b: &Build<'c>, x: V<'c>, y: V<'c>) -> V<'c> {
    let double = b.float_type(64, 1);
    if b.lane_type(x.get_type()) == double {
        return by_lane(b, "fmod", &[double, double], double, &[x, y]);
    }
    let float = b.float_type(32, 1);
    by_lane(b, "fmodf", &[float, float], float, &[x, y])
}

/// `x * 2^n`, rounded once.
pub(super) fn ldexp<'c>(b: &Build<'c>, dtype: DType, x: V<'c>, n: V<'c>) -> V<'c> {
    let int = b.int_type(32, 1);
    if dtype == DType::F64 {
        let double = b.float_type(64, 1);
        return by_lane(b, "ldexp", &[double, int], double, &[x, n]);
    }
    // In 64 bits the product is exact wherever the smaller type has a number.
    let f = F::like(b, x);
    let d = f.double();
    let n = b.math("llvm.smax", &[b.math("llvm.smin", &[n, b.int(n.get_type(), 500)]), b.int(n.get_type(), -500)]);
    let n = b.cast(I::SExt, n, d.int_type());
    f.narrow(d.mul(f.widen(x), d.pow2(n)))
}

/// `x * y + z` rounded once, of `f32` on a machine without the instruction.
pub(super) fn fma_by_double<'c>(b: &Build<'c>, args: &[V<'c>]) -> V<'c> {
    let float = b.float_type(32, 1);
    by_lane(b, "fmaf", &[float, float, float], float, args)
}
