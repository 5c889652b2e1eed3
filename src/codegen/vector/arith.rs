//! The scalar operations as instructions, on scalars and on vectors alike; what takes a series or a table is in `math`.
//!
//! `f16` and `bf16` are held as `float`: arithmetic on them is done in 32 bits and rounded once, as torch does. No fast-math flag is set,
//! so NaN, infinities and zero signs are IEEE's. No instruction traps: a zero divisor is replaced (the quotient means nothing then).

use rinductor_scalar::{DType, Kind, ScalarOp};

use super::build::{Binary, Build, Convert, FloatPredicate, IntPredicate, Math, V};
use super::half;
use super::math;
use crate::codegen::rounding::is_exact;

/// The bits of `bf16` numbers that are held as `float`.
pub(super) fn bf16_bits<B: Build>(b: &B, v: V<B>) -> V<B> {
    let wide = b.like(v, b.int_type(32, 1));
    let bits = b.bitcast(v, wide);
    b.cast(Convert::Trunc, b.lshr(bits, b.int(wide, 16)), b.like(v, b.int_type(16, 1)))
}

/// `bf16` numbers from their bits.
pub(super) fn bf16_from_bits<B: Build>(b: &B, v: V<B>) -> V<B> {
    let wide = b.like(v, b.int_type(32, 1));
    let bits = b.shl(b.cast(Convert::ZExt, v, wide), b.int(wide, 16));
    b.bitcast(bits, b.like(v, b.float_type(32, 1)))
}

/// Rounds a `float` to the element type that it stands for: to nearest, ties to even.
pub(super) fn round<B: Build>(b: &B, v: V<B>, dtype: DType) -> V<B> {
    match dtype {
        DType::BF16 => {
            let wide = b.like(v, b.int_type(32, 1));
            let bits = b.bitcast(v, wide);
            let odd = b.and(b.lshr(bits, b.int(wide, 16)), b.int(wide, 1));
            let up = b.add(bits, b.add(odd, b.int(wide, 0x7fff)));
            let rounded = b.and(up, b.int(wide, 0xffff_0000u32 as i32 as i64));
            let nan = b.fcmp(FloatPredicate::UNO, v, v);
            let rounded = b.select(nan, b.int(wide, 0x7fc0_0000), rounded);
            b.bitcast(rounded, b.type_of(v))
        }
        DType::F16 => half::widen(b, half::narrow(b, v)),
        _ => v,
    }
}

/// A conversion as torch's `Tensor.to` does it.
pub(super) fn convert<B: Build>(b: &B, v: V<B>, from: DType, to: DType) -> V<B> {
    use super::emit::held_type;
    if from == to {
        return v;
    }
    let target = held_type(b, to, b.lanes(v));
    let unsigned = matches!(from.kind(), Kind::Bool | Kind::Unsigned);
    match (from.kind(), to.kind()) {
        (Kind::Float, Kind::Bool) => b.fcmp(FloatPredicate::UNE, v, b.float(b.type_of(v), 0.0)),
        (_, Kind::Bool) => b.icmp(IntPredicate::NE, v, b.int(b.type_of(v), 0)),
        (Kind::Float, Kind::Float) => {
            let v = match (from == DType::F64, to == DType::F64) {
                (true, false) => b.cast(Convert::FPTrunc, v, target),
                (false, true) => b.cast(Convert::FPExt, v, target),
                _ => v,
            };
            if from.size() < to.size() { v } else { round(b, v, to) }
        }
        (Kind::Float, _) => float_to_int(b, v, to),
        (_, Kind::Float) => round(b, b.cast(if unsigned { Convert::UIToFP } else { Convert::SIToFP }, v, target), to),
        _ if from.bits() > to.bits() => b.cast(Convert::Trunc, v, target),
        _ if from.bits() == to.bits() => v,
        _ => b.cast(if unsigned { Convert::ZExt } else { Convert::SExt }, v, target),
    }
}

/// Float to integer toward zero; out of range as x86-64 does it: the least value of 32 or 64 bits, smaller types take the low bits.
fn float_to_int<B: Build>(b: &B, v: V<B>, to: DType) -> V<B> {
    let lanes = b.lanes(v);
    let target = b.int_type(to.bits(), lanes);
    let bits = if matches!(to, DType::U8) || to.bits() == 64 { 64 } else { 32 };
    let whole = b.int_type(bits, lanes);
    let double = b.type_of(v) == b.float_type(64, lanes);
    let (least, end) = match bits {
        64 => (-(2f64.powi(63)), 2f64.powi(63)),
        _ => (-(2f64.powi(31)), 2f64.powi(31)),
    };
    let low = match (bits, double) {
        (32, true) => b.fcmp(FloatPredicate::OGT, v, b.float(b.type_of(v), least - 1.0)),
        _ => b.fcmp(FloatPredicate::OGE, v, b.float(b.type_of(v), least)),
    };
    let inside = b.and(low, b.fcmp(FloatPredicate::OLT, v, b.float(b.type_of(v), end)));
    let i = b.cast(Convert::FPToSI, v, whole);
    let i = b.select(inside, i, b.int(whole, if bits == 64 { i64::MIN } else { i32::MIN.into() }));
    b.cast(Convert::Trunc, i, target)
}

/// What a conversion op of `arith` other than torch's conversions computes; None for an op that is no conversion.
pub(super) fn convert_by_name<B: Build>(b: &B, name: &str, v: V<B>, from: DType, to: DType) -> Option<V<B>> {
    let target = super::emit::held_type(b, to, b.lanes(v));
    Some(match name {
        "arith.extsi" => b.cast(Convert::SExt, v, target),
        "arith.extui" => b.cast(Convert::ZExt, v, target),
        "arith.trunci" => b.cast(Convert::Trunc, v, target),
        "arith.index_cast" | "arith.index_castui" => {
            let unsigned = name.ends_with("ui") || from == DType::I1;
            let op = match from.bits().cmp(&to.bits()) {
                std::cmp::Ordering::Less if unsigned => Convert::ZExt,
                std::cmp::Ordering::Less => Convert::SExt,
                std::cmp::Ordering::Equal => return Some(v),
                std::cmp::Ordering::Greater => Convert::Trunc,
            };
            b.cast(op, v, target)
        }
        "arith.sitofp" => round(b, b.cast(Convert::SIToFP, v, target), to),
        "arith.uitofp" => round(b, b.cast(Convert::UIToFP, v, target), to),
        "arith.extf" | "arith.truncf" | "arith.fptosi" | "arith.fptoui" | "scalar.cast" => convert(b, v, from, to),
        "arith.bitcast" => bitcast(b, v, from, to),
        _ => return None,
    })
}

/// The same bits as another element type.
fn bitcast<B: Build>(b: &B, v: V<B>, from: DType, to: DType) -> V<B> {
    use super::access::{from_memory, memory_type, to_memory};
    let bits = to_memory(b, v, from);
    let bits = b.bitcast(bits, memory_type(b, to, b.lanes(v)));
    from_memory(b, bits, to)
}

/// `arith.cmpf` with any of MLIR's predicates, by number.
pub(super) fn compare_floats<B: Build>(b: &B, predicate: i64, x: V<B>, y: V<B>) -> Option<V<B>> {
    use FloatPredicate::*;
    const ALL: [FloatPredicate; 16] =
        [PredicateFalse, OEQ, OGT, OGE, OLT, OLE, ONE, ORD, UEQ, UGT, UGE, ULT, ULE, UNE, UNO, PredicateTrue];
    Some(b.fcmp(*ALL.get(usize::try_from(predicate).ok()?)?, x, y))
}

/// `arith.cmpi` with any of MLIR's predicates, by number.
pub(super) fn compare_ints<B: Build>(b: &B, predicate: i64, x: V<B>, y: V<B>) -> Option<V<B>> {
    use IntPredicate::*;
    const ALL: [IntPredicate; 10] = [EQ, NE, SLT, SLE, SGT, SGE, ULT, ULE, UGT, UGE];
    Some(b.icmp(*ALL.get(usize::try_from(predicate).ok()?)?, x, y))
}

/// A scalar operation on operands of type `dtype` (of the value operands, for `select`); all have the same number of lanes. `None` where
/// the back end lacks it.
pub(super) fn scalar<B: Build>(b: &B, op: ScalarOp, dtype: DType, args: &[V<B>]) -> Option<V<B>> {
    match dtype.kind() {
        Kind::Complex => None,
        Kind::Float => float(b, op, dtype, args).map(|v| {
            let rounds =
                !matches!(op.result_rule(), rinductor_scalar::ResultRule::Bool) && op != ScalarOp::FrexpExponent;
            if rounds && !is_exact(op) { round(b, v, dtype) } else { v }
        }),
        _ => int(b, op, dtype, args),
    }
}

fn float<B: Build>(b: &B, op: ScalarOp, dtype: DType, args: &[V<B>]) -> Option<V<B>> {
    use FloatPredicate::*;
    use ScalarOp::*;
    let x = args[0];
    let t = b.type_of(x);
    let constant = |c: f64| b.float(t, c);
    Some(match op {
        Add => b.fadd(x, args[1]),
        Sub => b.fsub(x, args[1]),
        Mul => b.fmul(x, args[1]),
        Div => b.fdiv(x, args[1]),
        Neg => b.fneg(x),
        Abs => b.math(Math::Abs, &[x]),
        Minimum => minimum(b, x, args[1]),
        Maximum => maximum(b, x, args[1]),
        Fmin => number_of(b, minimum(b, x, args[1]), x, args[1]),
        Fmax => number_of(b, maximum(b, x, args[1]), x, args[1]),
        Eq => b.fcmp(OEQ, x, args[1]),
        Ne => b.fcmp(UNE, x, args[1]),
        Lt => b.fcmp(OLT, x, args[1]),
        Le => b.fcmp(OLE, x, args[1]),
        Gt => b.fcmp(OGT, x, args[1]),
        Ge => b.fcmp(OGE, x, args[1]),
        Select => b.select(args[0], args[1], args[2]),
        Sqrt => b.math(Math::Sqrt, &[x]),
        Rsqrt => b.fdiv(constant(1.0), b.math(Math::Sqrt, &[x])),
        Reciprocal => b.fdiv(constant(1.0), x),
        Floor => b.math(Math::Floor, &[x]),
        Ceil => b.math(Math::Ceil, &[x]),
        Trunc => b.math(Math::Trunc, &[x]),
        Round => b.math(Math::Rint, &[x]),
        RoundAway => {
            // To the nearest, then one further where the half was rounded towards zero.
            let whole = b.math(Math::Trunc, &[x]);
            let half = b.fcmp(OGE, b.math(Math::Abs, &[b.fsub(x, whole)]), constant(0.5));
            let one = b.math(Math::CopySign, &[constant(1.0), x]);
            b.select(half, b.fadd(whole, one), whole)
        }
        Sign | Sgn => {
            let (one, zero) = (constant(1.0), constant(0.0));
            let negative = b.select(b.fcmp(OLT, x, zero), constant(-1.0), zero);
            b.select(b.fcmp(OGT, x, zero), one, negative)
        }
        Signbit => {
            let bits = b.int_type(if dtype == DType::F64 { 64 } else { 32 }, b.lanes(x));
            b.icmp(IntPredicate::SLT, b.bitcast(x, bits), b.int(bits, 0))
        }
        Isnan => b.fcmp(UNO, x, x),
        Isinf => b.fcmp(OEQ, b.math(Math::Abs, &[x]), constant(f64::INFINITY)),
        Isfinite => b.fcmp(ONE, b.math(Math::Abs, &[x]), constant(f64::INFINITY)),
        Fma => {
            if b.machine().fma || dtype == DType::F64 {
                b.math(Math::Fma, args)
            } else {
                math::fma_by_double(b, args)
            }
        }
        Copysign => b.math(Math::CopySign, args),
        RealPart | Conj => x,
        Angle => {
            let negative = b.select(b.fcmp(OLT, x, constant(0.0)), constant(std::f64::consts::PI), constant(0.0));
            b.select(b.fcmp(UNO, x, x), x, negative)
        }
        TruncDiv => b.math(Math::Trunc, &[b.fdiv(x, args[1])]),
        FloorDiv => floor_div(b, x, args[1]),
        FloorRem => {
            let r = math::remainder(b, x, args[1]);
            let zero = constant(0.0);
            let opposite = b.xor(b.fcmp(OLT, r, zero), b.fcmp(OLT, args[1], zero));
            let off = b.and(b.fcmp(UNE, r, zero), opposite);
            b.select(off, b.fadd(r, args[1]), r)
        }
        TruncRem => math::remainder(b, x, args[1]),
        Ldexp => math::ldexp(b, dtype, x, args[1]),
        Nextafter => next_after(b, dtype, x, args[1]),
        _ => return math::function(b, op, dtype, args),
    })
}

/// The lesser; NaN if either is, and -0 below 0.
pub(super) fn minimum<B: Build>(b: &B, x: V<B>, y: V<B>) -> V<B> {
    b.math(Math::Minimum, &[x, y])
}

/// The greater; NaN if either is, and -0 below 0.
pub(super) fn maximum<B: Build>(b: &B, x: V<B>, y: V<B>) -> V<B> {
    b.math(Math::Maximum, &[x, y])
}

/// `v`, or the other operand where one is NaN.
fn number_of<B: Build>(b: &B, v: V<B>, x: V<B>, y: V<B>) -> V<B> {
    let v = b.select(b.fcmp(FloatPredicate::UNO, x, x), y, v);
    b.select(b.fcmp(FloatPredicate::UNO, y, y), x, v)
}

/// Division rounded down as torch computes it, from the remainder.
fn floor_div<B: Build>(b: &B, x: V<B>, y: V<B>) -> V<B> {
    use FloatPredicate::*;
    let t = b.type_of(x);
    let (zero, one, half) = (b.float(t, 0.0), b.float(t, 1.0), b.float(t, 0.5));
    let r = math::remainder(b, x, y);
    let q = b.fdiv(b.fsub(x, r), y);
    let opposite = b.xor(b.fcmp(OLT, y, zero), b.fcmp(OLT, r, zero));
    let off = b.and(b.fcmp(UNE, r, zero), opposite);
    let q = b.select(off, b.fsub(q, one), q);
    let f = b.math(Math::Floor, &[q]);
    let f = b.select(b.fcmp(OGT, b.fsub(q, f), half), b.fadd(f, one), f);
    let plain = b.fdiv(x, y);
    let f = b.select(b.fcmp(OEQ, q, zero), b.math(Math::CopySign, &[zero, plain]), f);
    b.select(b.fcmp(OEQ, y, zero), plain, f)
}

/// The next value of the type after `x` toward `y`: bit patterns are ordered as magnitudes are.
fn next_after<B: Build>(b: &B, dtype: DType, x: V<B>, y: V<B>) -> V<B> {
    use super::access::{from_memory, to_memory};
    use FloatPredicate::*;
    let t = b.like(x, b.int_type(dtype.size() as u32 * 8, 1));
    let zero = b.float(b.type_of(x), 0.0);
    let bits = b.bitcast(to_memory(b, x, dtype), t);
    let outward = b.icmp(IntPredicate::EQ, b.fcmp(OLT, x, y), b.fcmp(OGT, x, zero));
    let moved = b.add(bits, b.select(outward, b.int(t, 1), b.int(t, -1)));
    // From a zero to the least number of the other's sign.
    let least = b.select(b.fcmp(OLT, y, zero), b.int(t, i64::MIN >> (64 - dtype.bits())), b.int(t, 0));
    let moved = b.select(b.fcmp(OEQ, x, zero), b.or(least, b.int(t, 1)), moved);
    let memory = super::access::memory_type(b, dtype, b.lanes(x));
    let v = from_memory(b, b.bitcast(moved, memory), dtype);
    let v = b.select(b.fcmp(OEQ, x, y), y, v);
    b.select(b.fcmp(UNO, x, y), b.fadd(x, y), v)
}

fn int<B: Build>(b: &B, op: ScalarOp, dtype: DType, args: &[V<B>]) -> Option<V<B>> {
    use IntPredicate::*;
    use ScalarOp::*;
    let logical = dtype == DType::I1;
    let unsigned = matches!(dtype.kind(), Kind::Bool | Kind::Unsigned);
    let x = if op == Select { args[1] } else { args[0] };
    let t = b.type_of(x);
    let constant = |c: i64| b.int(t, c);
    let compare = |signed, no_sign| b.icmp(if unsigned { no_sign } else { signed }, args[0], args[1]);
    let truth = |yes: bool| b.int(b.int_type(1, b.lanes(x)), i64::from(yes));
    Some(match op {
        Add if logical => b.or(x, args[1]),
        Sub if logical => b.xor(x, args[1]),
        Mul if logical => b.and(x, args[1]),
        Add => b.add(x, args[1]),
        Sub => b.sub(x, args[1]),
        Mul => b.mul(x, args[1]),
        FloorDiv | TruncDiv | CeilDiv | FloorRem | TruncRem => divide(b, op, unsigned, x, args[1]),
        Neg => b.sub(constant(0), x),
        Abs if unsigned => x,
        Abs => b.select(b.icmp(SLT, x, constant(0)), b.sub(constant(0), x), x),
        Minimum | Fmin => b.math(if unsigned { Math::UMin } else { Math::SMin }, args),
        Maximum | Fmax => b.math(if unsigned { Math::UMax } else { Math::SMax }, args),
        And => b.and(x, args[1]),
        Or => b.or(x, args[1]),
        Xor => b.xor(x, args[1]),
        Not => b.not(x),
        Shl | Shr => {
            let bits = constant(dtype.bits().into());
            let inside = b.icmp(ULT, args[1], bits);
            let n = b.select(inside, args[1], constant(0));
            match (op, unsigned) {
                (Shl, _) => b.select(inside, b.shl(x, n), constant(0)),
                (_, true) => b.select(inside, b.lshr(x, n), constant(0)),
                _ => b.ashr(x, b.select(inside, args[1], constant(i64::from(dtype.bits()) - 1))),
            }
        }
        Eq => b.icmp(EQ, x, args[1]),
        Ne => b.icmp(NE, x, args[1]),
        Lt => compare(SLT, ULT),
        Le => compare(SLE, ULE),
        Gt => compare(SGT, UGT),
        Ge => compare(SGE, UGE),
        Select => b.select(args[0], args[1], args[2]),
        Sign | Sgn if unsigned => {
            let positive = b.icmp(NE, x, constant(0));
            b.cast(if dtype.bits() == 1 { Convert::BitCast } else { Convert::ZExt }, positive, t)
        }
        Sign | Sgn => {
            let negative = b.ashr(x, constant(i64::from(dtype.bits()) - 1));
            b.or(negative, b.cast(Convert::ZExt, b.icmp(SGT, x, constant(0)), t))
        }
        Signbit if unsigned => truth(false),
        Signbit => b.icmp(SLT, x, constant(0)),
        Isnan | Isinf => truth(false),
        Isfinite => truth(true),
        Fma => b.add(b.mul(x, args[1]), args[2]),
        Conj => x,
        _ => return math::function(b, op, dtype, args),
    })
}

/// Division and remainder of integers with torch's signs. A zero divisor counts as 1, the least number by -1 wraps.
fn divide<B: Build>(b: &B, op: ScalarOp, unsigned: bool, x: V<B>, y: V<B>) -> V<B> {
    use IntPredicate::*;
    use ScalarOp::*;
    let t = b.type_of(x);
    let (zero, one) = (b.int(t, 0), b.int(t, 1));
    let y = b.select(b.icmp(EQ, y, zero), one, y);
    if unsigned {
        return match op {
            FloorRem | TruncRem => b.binop(Binary::URem, x, y),
            CeilDiv => {
                let q = b.binop(Binary::UDiv, x, y);
                let inexact = b.icmp(NE, b.binop(Binary::URem, x, y), zero);
                b.add(q, b.select(inexact, one, zero))
            }
            _ => b.binop(Binary::UDiv, x, y),
        };
    }
    // x / -1 is -x, which wraps where the instruction would trap.
    let minus = b.icmp(EQ, y, b.int(t, -1));
    let safe = b.select(minus, one, y);
    let q = b.select(minus, b.sub(zero, x), b.binop(Binary::SDiv, x, safe));
    let r = b.sub(x, b.mul(q, y));
    let inexact = b.icmp(NE, r, zero);
    let opposite = b.icmp(SLT, b.xor(x, y), zero);
    match op {
        TruncDiv => q,
        TruncRem => r,
        FloorDiv => b.select(b.and(inexact, opposite), b.sub(q, one), q),
        FloorRem => b.select(b.and(inexact, opposite), b.add(r, y), r),
        _ => b.select(b.and(inexact, b.not(opposite)), b.add(q, one), q),
    }
}
