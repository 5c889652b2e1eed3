//! The scalar vocabulary as Triton expressions. `f16`, `bf16` and 8-bit floats are held as `float32` and rounded after every op on them.

use rinductor_scalar::{DType, Kind, ScalarOp, SpecialFn};

use super::helpers::Helpers;
use crate::codegen::rounding::is_exact;

/// An operand: the text of an expression that needs no parentheses.
#[derive(Clone, Copy)]
pub(super) struct Arg<'a> {
    /// The expression.
    pub text: &'a str,
    /// Whether it is a number written out, whose type Triton takes from what it stands beside.
    pub literal: bool,
}

/// The type in which values of an element type are held.
pub(super) fn held(dtype: DType) -> &'static str {
    match dtype {
        DType::I1 => "tl.int1",
        DType::U8 => "tl.uint8",
        DType::I8 => "tl.int8",
        DType::I16 => "tl.int16",
        DType::I32 => "tl.int32",
        DType::I64 | DType::Index => "tl.int64",
        DType::F64 => "tl.float64",
        _ => "tl.float32",
    }
}

/// The type in memory.
pub(super) fn stored(dtype: DType) -> &'static str {
    match dtype {
        DType::F16 => "tl.float16",
        DType::BF16 => "tl.bfloat16",
        DType::F8E4M3FN => "tl.float8e4nv",
        DType::F8E5M2 => "tl.float8e5",
        d => held(d),
    }
}

/// Whether values are held in a wider type than they have.
pub(super) fn is_small_float(dtype: DType) -> bool {
    dtype.is_float() && !matches!(dtype, DType::F32 | DType::F64)
}

/// A held value in the type of memory.
pub(super) fn narrowed(text: &str, dtype: DType, h: &mut Helpers) -> String {
    match dtype {
        DType::F8E4M3FN => format!("{}({text})", h.need("_to_float8e4nv")),
        DType::F8E5M2 => format!("{}({text})", h.need("_to_float8e5")),
        DType::F16 | DType::BF16 => format!("{text}.to({})", stored(dtype)),
        _ => text.to_string(),
    }
}

/// A held value rounded to its type.
pub(super) fn rounded(text: &str, dtype: DType, h: &mut Helpers) -> String {
    if !is_small_float(dtype) {
        return text.to_string();
    }
    let inner = if text.contains(' ') && !text.ends_with(')') { format!("({text})") } else { text.to_string() };
    let inner = if needs_parentheses(&inner) { format!("({inner})") } else { inner };
    format!("{}.to(tl.float32)", narrowed(&inner, dtype, h))
}

/// Whether an expression must be put in parentheses before a method is called on it.
fn needs_parentheses(text: &str) -> bool {
    let mut depth = 0;
    for c in text.chars() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ' ' if depth == 0 => return true,
            _ => {}
        }
    }
    text.starts_with('-') || text.starts_with('~')
}

/// What an op computes on operands of type `dtype` (of the value operands, for `select`), rounded; None where Triton cannot.
pub(super) fn scalar(op: ScalarOp, dtype: DType, args: &[Arg], h: &mut Helpers) -> Option<String> {
    match dtype.kind() {
        Kind::Complex => None,
        Kind::Float => {
            let v = float(op, dtype, args, h)?;
            let rounds =
                !matches!(op.result_rule(), rinductor_scalar::ResultRule::Bool) && op != ScalarOp::FrexpExponent;
            Some(if rounds && !is_exact(op) { rounded(&v, dtype, h) } else { v })
        }
        _ => int(op, dtype, args, h),
    }
}

/// An operand with its type, where Triton could not tell it.
fn typed(a: Arg, dtype: DType) -> String {
    if a.literal { format!("tl.full((), {}, {})", a.text, held(dtype)) } else { a.text.to_string() }
}

/// A call of a function of one float or more.
fn call(name: &str, dtype: DType, args: &[Arg]) -> String {
    let list: Vec<String> = args.iter().map(|&a| typed(a, dtype)).collect();
    format!("{name}({})", list.join(", "))
}

fn float(op: ScalarOp, dtype: DType, args: &[Arg], h: &mut Helpers) -> Option<String> {
    use ScalarOp::*;
    let double = dtype == DType::F64;
    let x = args[0].text;
    let y = args.get(1).map_or("", |a| a.text);
    let quotient = |a: &str, b: &str| if double { format!("{a} / {b}") } else { format!("tl.div_rn({a}, {b})") };
    let mut library = |name: &str| {
        h.libdevice = true;
        call(&format!("libdevice.{name}"), dtype, args)
    };
    Some(match op {
        Add => format!("{x} + {y}"),
        Sub => format!("{x} - {y}"),
        Mul => format!("{x} * {y}"),
        Div => quotient(x, y),
        Reciprocal => quotient("1.0", x),
        Neg => format!("{x} * -1.0"),
        Abs => format!("tl.abs({x})"),
        Minimum => call(h.need("_minimum"), dtype, args),
        Maximum => call(h.need("_maximum"), dtype, args),
        Fmin => call("tl.minimum", dtype, args),
        Fmax => call("tl.maximum", dtype, args),
        Eq => format!("{x} == {y}"),
        Ne => format!("{x} != {y}"),
        Lt => format!("{x} < {y}"),
        Le => format!("{x} <= {y}"),
        Gt => format!("{x} > {y}"),
        Ge => format!("{x} >= {y}"),
        Select => select(dtype, args),
        Sqrt => format!("tl.sqrt{}({x})", if double { "" } else { "_rn" }),
        Rsqrt if double => format!("1.0 / tl.sqrt({x})"),
        Rsqrt => format!("tl.rsqrt({x})"),
        Floor => format!("tl.floor({x})"),
        Ceil => format!("tl.ceil({x})"),
        Trunc => library("trunc"),
        Round => library("rint"),
        RoundAway => library("round"),
        Sign | Sgn => call(h.need("_sign"), dtype, args),
        Signbit => format!("{} != 0", library("signbit")),
        Isnan => format!("{x} != {x}"),
        Isinf => format!("tl.abs({x}) == float(\"inf\")"),
        Isfinite => format!("tl.abs({x}) < float(\"inf\")"),
        Fma => call("tl.fma", dtype, args),
        Copysign => library("copysign"),
        RealPart | Conj => x.to_string(),
        Angle => call(h.need("_angle"), dtype, args),
        TruncDiv => {
            h.libdevice = true;
            format!("libdevice.trunc({})", quotient(x, y))
        }
        FloorDiv => call(h.need(if double { "_floor_div_float64" } else { "_floor_div_float" }), dtype, args),
        FloorRem => call(h.need("_floor_rem_float"), dtype, args),
        TruncRem => library("fmod"),
        Ldexp => {
            h.libdevice = true;
            format!("libdevice.ldexp({}, {})", typed(args[0], dtype), typed(args[1], DType::I32))
        }
        Nextafter if !is_small_float(dtype) => library("nextafter"),
        Nextafter => return None,
        FrexpMantissa => call(h.need("_frexp_mantissa"), dtype, args),
        FrexpExponent => call(h.need("_frexp_exponent"), dtype, args),
        Exp => library("exp"),
        Exp2 => library("exp2"),
        Expm1 => library("expm1"),
        Log => library("log"),
        Log1p => library("log1p"),
        Log2 => library("log2"),
        Log10 => library("log10"),
        Cbrt => library("cbrt"),
        Sin => library("sin"),
        Cos => library("cos"),
        Tan => library("tan"),
        Asin => library("asin"),
        Acos => library("acos"),
        Atan => library("atan"),
        Atan2 => library("atan2"),
        Sinh => library("sinh"),
        Cosh => library("cosh"),
        Tanh => library("tanh"),
        Asinh => library("asinh"),
        Acosh => library("acosh"),
        Atanh => library("atanh"),
        Erf => library("erf"),
        Erfc => library("erfc"),
        Pow => library("pow"),
        Hypot => library("hypot"),
        Special(f) => return special(f, dtype, args, h),
        // Of integers, or of complex numbers.
        And | Or | Xor | Not | Shl | Shr | CeilDiv | Gcd | ImagPart | MakeComplex => return None,
        // Written by `convert` and `bitcast`.
        Cast | Bitcast => return None,
    })
}

fn special(f: SpecialFn, dtype: DType, args: &[Arg], h: &mut Helpers) -> Option<String> {
    use SpecialFn::*;
    let mut library = |name: &str| {
        h.libdevice = true;
        Some(call(&format!("libdevice.{name}"), dtype, args))
    };
    match f {
        Lgamma => library("lgamma"),
        Erfinv => library("erfinv"),
        Erfcx => library("erfcx"),
        Ndtri => library("normcdfinv"),
        I0 => library("cyl_bessel_i0"),
        I1 => library("cyl_bessel_i1"),
        BesselJ0 => library("j0"),
        BesselJ1 => library("j1"),
        BesselY0 => library("y0"),
        BesselY1 => library("y1"),
        Digamma => Some(call(h.need("_digamma"), dtype, args)),
        LogNdtr => Some(call(h.need("_log_ndtr"), dtype, args)),
        I0e => Some(call(h.need("_i0e"), dtype, args)),
        I1e => Some(call(h.need("_i1e"), dtype, args)),
        SphericalJ0 => Some(call(h.need("_spherical_j0"), dtype, args)),
        Polygamma | Zeta | Igamma | Igammac | K0 | K1 | ScaledK0 | ScaledK1 | AiryAi | ChebyshevT | ChebyshevU
        | ChebyshevV | ChebyshevW | ShiftedChebyshevT | ShiftedChebyshevU | ShiftedChebyshevV | ShiftedChebyshevW
        | HermiteH | HermiteHe | LaguerreL | LegendreP => None,
    }
}

fn select(dtype: DType, args: &[Arg]) -> String {
    let (a, b) = (args[1], args[2]);
    // Two numbers written out have no type of their own.
    let first = if a.literal && b.literal { typed(a, dtype) } else { a.text.to_string() };
    format!("tl.where({}, {first}, {})", args[0].text, b.text)
}

fn int(op: ScalarOp, dtype: DType, args: &[Arg], h: &mut Helpers) -> Option<String> {
    use ScalarOp::*;
    let logical = dtype == DType::I1;
    let unsigned = matches!(dtype.kind(), Kind::Bool | Kind::Unsigned);
    let x = args[0].text;
    let y = args.get(1).map_or("", |a| a.text);
    Some(match op {
        Add if logical => format!("{x} | {y}"),
        Sub if logical => format!("{x} ^ {y}"),
        Mul if logical => format!("{x} & {y}"),
        Add => format!("{x} + {y}"),
        Sub => format!("{x} - {y}"),
        Mul => format!("{x} * {y}"),
        FloorDiv | TruncDiv if unsigned => call(h.need("_trunc_div"), dtype, args),
        FloorRem | TruncRem if unsigned => call(h.need("_trunc_rem"), dtype, args),
        TruncDiv => call(h.need("_trunc_div"), dtype, args),
        TruncRem => call(h.need("_trunc_rem"), dtype, args),
        FloorDiv => call(h.need("_floor_div"), dtype, args),
        FloorRem => call(h.need("_floor_rem"), dtype, args),
        CeilDiv => call(h.need("_ceil_div"), dtype, args),
        Neg => format!("0 - {x}"),
        Abs if unsigned => x.to_string(),
        Abs => format!("tl.abs({x})"),
        Minimum | Fmin if logical => format!("{x} & {y}"),
        Maximum | Fmax if logical => format!("{x} | {y}"),
        Minimum | Fmin => format!("tl.minimum({x}, {y})"),
        Maximum | Fmax => format!("tl.maximum({x}, {y})"),
        And => format!("{x} & {y}"),
        Or => format!("{x} | {y}"),
        Xor => format!("{x} ^ {y}"),
        Not => format!("~{x}"),
        Shl | Shr if args[1].literal && y.parse().is_ok_and(|n: i64| (0..i64::from(dtype.bits())).contains(&n)) => {
            format!("{x} {} {y}", if op == Shl { "<<" } else { ">>" })
        }
        Shl => call(h.need("_shift_left"), dtype, args),
        Shr => call(h.need(if unsigned { "_shift_right_unsigned" } else { "_shift_right" }), dtype, args),
        Eq => format!("{x} == {y}"),
        Ne => format!("{x} != {y}"),
        Lt => format!("{x} < {y}"),
        Le => format!("{x} <= {y}"),
        Gt => format!("{x} > {y}"),
        Ge => format!("{x} >= {y}"),
        Select => select(dtype, args),
        Sign | Sgn => call(h.need("_sign"), dtype, args),
        Signbit if unsigned => format!("{x} != {x}"),
        Signbit => format!("{x} < 0"),
        Isnan | Isinf => format!("{x} != {x}"),
        Isfinite => format!("{x} == {x}"),
        Fma => format!("{x} * {y} + {}", args[2].text),
        Gcd => call(h.need("_gcd"), dtype, args),
        Pow => call(h.need(if unsigned { "_int_pow_unsigned" } else { "_int_pow" }), dtype, args),
        Conj | RealPart => x.to_string(),
        Div | Cast | Bitcast | Exp | Exp2 | Expm1 | Log | Log1p | Log2 | Log10 | Sqrt | Rsqrt | Cbrt | Reciprocal
        | Sin | Cos | Tan | Asin | Acos | Atan | Atan2 | Sinh | Cosh | Tanh | Asinh | Acosh | Atanh | Erf | Erfc
        | Floor | Ceil | Trunc | Round | RoundAway | Copysign | Nextafter | Hypot | Ldexp | FrexpMantissa
        | FrexpExponent | MakeComplex | ImagPart | Angle | Special(_) => return None,
    })
}

/// A conversion as torch's `Tensor.to` does it.
pub(super) fn convert(a: Arg, from: DType, to: DType, h: &mut Helpers) -> Option<String> {
    if from == to {
        return Some(a.text.to_string());
    }
    let x = typed(a, from);
    Some(match (from.kind(), to.kind()) {
        (Kind::Complex, _) | (_, Kind::Complex) => return None,
        (_, Kind::Bool) => format!("{x} != 0"),
        (Kind::Float, Kind::Float) if to == DType::F64 => format!("{x}.to(tl.float64)"),
        (Kind::Float, Kind::Float) => {
            let v = if from == DType::F64 { format!("{x}.to(tl.float32)") } else { x };
            if from.size() < to.size() { v } else { rounded(&v, to, h) }
        }
        // As torch does it: by way of a type into which all values of the small one fit.
        (Kind::Float, Kind::Unsigned) => format!("{x}.to(tl.int64).to({})", held(to)),
        (Kind::Float, _) if to.bits() < 32 => format!("{x}.to(tl.int32).to({})", held(to)),
        (Kind::Float, _) => format!("{x}.to({})", held(to)),
        (_, Kind::Float) => rounded(&format!("{x}.to({})", held(to)), to, h),
        _ => format!("{x}.to({})", held(to)),
    })
}

/// What a conversion op of `arith` that is not torch's conversion computes.
pub(super) fn convert_by_name(name: &str, a: Arg, from: DType, to: DType, h: &mut Helpers) -> Option<String> {
    if rinductor_scalar::cast_from_ir(name, from, to).is_some() {
        return convert(a, from, to, h);
    }
    let x = typed(a, from);
    Some(match name {
        "arith.bitcast" => {
            let bits = if is_small_float(from) { narrowed(&x, from, h) } else { x };
            let v = format!("{bits}.to({}, bitcast=True)", stored(to));
            if is_small_float(to) { format!("{v}.to(tl.float32)") } else { v }
        }
        "arith.trunci" if to == DType::I1 => format!("({x} & 1) != 0"),
        "arith.extsi" if from == DType::I1 => format!("0 - {x}.to({})", held(to)),
        "arith.extui" if !matches!(from, DType::I1 | DType::U8) => {
            format!("{x}.to(tl.uint{}, bitcast=True).to({})", from.bits(), held(to))
        }
        "arith.extsi" | "arith.extui" | "arith.trunci" | "arith.index_cast" | "arith.index_castui" => {
            format!("{x}.to({})", held(to))
        }
        "arith.extf" | "arith.truncf" | "arith.fptosi" | "arith.fptoui" | "arith.sitofp" => {
            return convert(a, from, to, h);
        }
        // The number without a sign that these bits are.
        "arith.uitofp" if !matches!(from, DType::I1 | DType::U8) => {
            rounded(&format!("{x}.to(tl.uint{}, bitcast=True).to({})", from.bits(), held(to)), to, h)
        }
        "arith.uitofp" => return convert(a, from, to, h),
        _ => return None,
    })
}

/// `arith.cmpf` with any of MLIR's predicates, by number.
pub(super) fn compare_floats(predicate: i64, x: &str, y: &str) -> Option<String> {
    let number = format!("({x} == {x}) & ({y} == {y})");
    let nan = format!("({x} != {x}) | ({y} != {y})");
    Some(match predicate {
        0 => format!("({x} != {x}) & ({x} == {x})"),
        1 => format!("{x} == {y}"),
        2 => format!("{x} > {y}"),
        3 => format!("{x} >= {y}"),
        4 => format!("{x} < {y}"),
        5 => format!("{x} <= {y}"),
        6 => format!("({x} < {y}) | ({x} > {y})"),
        7 => number,
        8 => format!("({x} == {y}) | {nan}"),
        9 => format!("({x} > {y}) | {nan}"),
        10 => format!("({x} >= {y}) | {nan}"),
        11 => format!("({x} < {y}) | {nan}"),
        12 => format!("({x} <= {y}) | {nan}"),
        13 => format!("{x} != {y}"),
        14 => nan,
        15 => format!("({x} == {x}) | ({x} != {x})"),
        _ => return None,
    })
}

/// `arith.cmpi` with any of MLIR's predicates, by number.
pub(super) fn compare_ints(predicate: i64, dtype: DType, args: [Arg; 2]) -> Option<String> {
    let [x, y] = args.map(|a| a.text);
    let words = ["==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">="];
    let word = *words.get(usize::try_from(predicate).ok()?)?;
    let unsigned = matches!(dtype.kind(), Kind::Bool | Kind::Unsigned);
    let wants_unsigned = predicate >= 6;
    if predicate < 2 || unsigned == wants_unsigned {
        return Some(format!("{x} {word} {y}"));
    }
    if dtype == DType::I1 {
        // As numbers with a sign, true is -1.
        return Some(format!("{y} {word} {x}"));
    }
    let sign = if wants_unsigned { "uint" } else { "int" };
    let bits = dtype.bits();
    let cast = |a: Arg| format!("{}.to(tl.{sign}{bits}, bitcast=True)", typed(a, dtype));
    Some(format!("{} {word} {}", cast(args[0]), cast(args[1])))
}
