//! The one table between scalar operations and the names the IR has for them: `arith` and `math` where MLIR has the
//! operation, `complex` likewise, and `scalar.*` for what these lack.

use crate::dtype::{DType, Kind};
use crate::op::{Classes, ScalarOp, SpecialFn};
use std::collections::HashMap;
use std::sync::LazyLock;

/// An IR operation name and, for comparisons, its predicate (the `predicate` of `arith.cmpi` and `arith.cmpf`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IrName {
    /// `dialect.op`.
    pub name: &'static str,
    /// `slt`, `oeq`, …; `None` for all but comparisons.
    pub predicate: Option<&'static str>,
}

/// Which way a row is used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Both,
    /// Written for the operation, but read as another one.
    Write,
    /// Read as the operation, never written.
    Read,
}

struct Row {
    op: ScalarOp,
    classes: Classes,
    name: IrName,
    way: Way,
}

const fn row(op: ScalarOp, classes: Classes, name: &'static str) -> Row {
    Row { op, classes, name: IrName { name, predicate: None }, way: Way::Both }
}

const fn write(op: ScalarOp, classes: Classes, name: &'static str) -> Row {
    Row { op, classes, name: IrName { name, predicate: None }, way: Way::Write }
}

const fn read(op: ScalarOp, classes: Classes, name: &'static str) -> Row {
    Row { op, classes, name: IrName { name, predicate: None }, way: Way::Read }
}

const fn cmp(op: ScalarOp, classes: Classes, name: &'static str, predicate: &'static str) -> Row {
    Row { op, classes, name: IrName { name, predicate: Some(predicate) }, way: Way::Both }
}

use Classes as C;
use ScalarOp as S;

/// Unsigned integers and `I1`, which `arith` compares without a sign.
const NO_SIGN: Classes = Classes::of(Kind::Unsigned).with(Classes::BOOL);

#[rustfmt::skip]
static ROWS: &[Row] = &[
    // Arithmetic. I1 addition is "or" for torch and "xor" for arith, so the two are kept apart by name.
    row(S::Add, C::INT, "arith.addi"), row(S::Add, C::FLOAT, "arith.addf"), row(S::Add, C::COMPLEX, "complex.add"),
    write(S::Add, C::BOOL, "arith.ori"), read(S::Xor, C::BOOL, "arith.addi"),
    row(S::Sub, C::INT, "arith.subi"), row(S::Sub, C::FLOAT, "arith.subf"), row(S::Sub, C::COMPLEX, "complex.sub"),
    write(S::Sub, C::BOOL, "arith.xori"), read(S::Xor, C::BOOL, "arith.subi"),
    row(S::Mul, C::INT, "arith.muli"), row(S::Mul, C::FLOAT, "arith.mulf"), row(S::Mul, C::COMPLEX, "complex.mul"),
    write(S::Mul, C::BOOL, "arith.andi"), read(S::And, C::BOOL, "arith.muli"),
    row(S::Div, C::FLOAT, "arith.divf"), row(S::Div, C::COMPLEX, "complex.div"),
    row(S::FloorDiv, C::SIGNED, "arith.floordivsi"), row(S::FloorDiv, C::FLOAT, "scalar.floor_div"),
    write(S::FloorDiv, C::UNSIGNED, "arith.divui"),
    row(S::TruncDiv, C::SIGNED, "arith.divsi"), row(S::TruncDiv, C::UNSIGNED, "arith.divui"),
    row(S::TruncDiv, C::FLOAT, "scalar.trunc_div"),
    row(S::CeilDiv, C::SIGNED, "arith.ceildivsi"), row(S::CeilDiv, C::UNSIGNED, "arith.ceildivui"),
    row(S::FloorRem, C::SIGNED, "scalar.floor_rem"), row(S::FloorRem, C::FLOAT, "scalar.floor_rem"),
    write(S::FloorRem, C::UNSIGNED, "arith.remui"), read(S::FloorRem, C::UNSIGNED, "scalar.floor_rem"),
    row(S::TruncRem, C::SIGNED, "arith.remsi"), row(S::TruncRem, C::UNSIGNED, "arith.remui"),
    row(S::TruncRem, C::FLOAT, "arith.remf"),
    row(S::Neg, C::INT, "scalar.neg"), row(S::Neg, C::FLOAT, "arith.negf"), row(S::Neg, C::COMPLEX, "complex.neg"),
    row(S::Abs, C::SIGNED, "math.absi"), row(S::Abs, C::FLOAT, "math.absf"), row(S::Abs, C::COMPLEX, "complex.abs"),
    row(S::Abs, NO_SIGN, "scalar.abs"),
    row(S::Minimum, C::FLOAT, "arith.minimumf"), row(S::Minimum, C::SIGNED, "arith.minsi"),
    row(S::Minimum, NO_SIGN, "arith.minui"),
    row(S::Maximum, C::FLOAT, "arith.maximumf"), row(S::Maximum, C::SIGNED, "arith.maxsi"),
    row(S::Maximum, NO_SIGN, "arith.maxui"),
    row(S::Fmin, C::FLOAT, "arith.minnumf"), write(S::Fmin, C::SIGNED, "arith.minsi"),
    write(S::Fmin, NO_SIGN, "arith.minui"),
    row(S::Fmax, C::FLOAT, "arith.maxnumf"), write(S::Fmax, C::SIGNED, "arith.maxsi"),
    write(S::Fmax, NO_SIGN, "arith.maxui"),
    row(S::Fma, C::FLOAT, "math.fma"), row(S::Fma, C::INT, "scalar.fma"),
    row(S::Gcd, C::INT, "scalar.gcd"),
    // Bits.
    row(S::And, C::INTEGRAL, "arith.andi"), row(S::Or, C::INTEGRAL, "arith.ori"),
    row(S::Xor, C::INTEGRAL, "arith.xori"), row(S::Not, C::INTEGRAL, "scalar.not"),
    row(S::Shl, C::INT, "arith.shli"), row(S::Shr, C::SIGNED, "arith.shrsi"), row(S::Shr, C::UNSIGNED, "arith.shrui"),
    // Comparisons.
    cmp(S::Eq, C::FLOAT, "arith.cmpf", "oeq"), cmp(S::Ne, C::FLOAT, "arith.cmpf", "une"),
    cmp(S::Lt, C::FLOAT, "arith.cmpf", "olt"), cmp(S::Le, C::FLOAT, "arith.cmpf", "ole"),
    cmp(S::Gt, C::FLOAT, "arith.cmpf", "ogt"), cmp(S::Ge, C::FLOAT, "arith.cmpf", "oge"),
    cmp(S::Eq, C::INTEGRAL, "arith.cmpi", "eq"), cmp(S::Ne, C::INTEGRAL, "arith.cmpi", "ne"),
    cmp(S::Lt, C::SIGNED, "arith.cmpi", "slt"), cmp(S::Le, C::SIGNED, "arith.cmpi", "sle"),
    cmp(S::Gt, C::SIGNED, "arith.cmpi", "sgt"), cmp(S::Ge, C::SIGNED, "arith.cmpi", "sge"),
    cmp(S::Lt, NO_SIGN, "arith.cmpi", "ult"), cmp(S::Le, NO_SIGN, "arith.cmpi", "ule"),
    cmp(S::Gt, NO_SIGN, "arith.cmpi", "ugt"), cmp(S::Ge, NO_SIGN, "arith.cmpi", "uge"),
    row(S::Eq, C::COMPLEX, "complex.eq"), row(S::Ne, C::COMPLEX, "complex.neq"),
    row(S::Select, C::ANY, "arith.select"),
    row(S::Isnan, C::FLOAT, "math.isnan"), row(S::Isnan, C::INTEGRAL, "scalar.isnan"),
    row(S::Isnan, C::COMPLEX, "scalar.isnan"),
    row(S::Isinf, C::FLOAT, "math.isinf"), row(S::Isinf, C::INTEGRAL, "scalar.isinf"),
    row(S::Isinf, C::COMPLEX, "scalar.isinf"),
    row(S::Isfinite, C::FLOAT, "math.isfinite"), row(S::Isfinite, C::INTEGRAL, "scalar.isfinite"),
    row(S::Isfinite, C::COMPLEX, "scalar.isfinite"),
    // Elementary functions.
    row(S::Exp, C::FLOAT, "math.exp"), row(S::Exp, C::COMPLEX, "complex.exp"),
    row(S::Exp2, C::FLOAT, "math.exp2"), row(S::Exp2, C::COMPLEX, "scalar.exp2"),
    row(S::Expm1, C::FLOAT, "math.expm1"), row(S::Expm1, C::COMPLEX, "complex.expm1"),
    row(S::Log, C::FLOAT, "math.log"), row(S::Log, C::COMPLEX, "complex.log"),
    row(S::Log1p, C::FLOAT, "math.log1p"), row(S::Log1p, C::COMPLEX, "complex.log1p"),
    row(S::Log2, C::FLOAT, "math.log2"), row(S::Log2, C::COMPLEX, "scalar.log2"),
    row(S::Log10, C::FLOAT, "math.log10"), row(S::Log10, C::COMPLEX, "scalar.log10"),
    row(S::Sqrt, C::FLOAT, "math.sqrt"), row(S::Sqrt, C::COMPLEX, "complex.sqrt"),
    row(S::Rsqrt, C::FLOAT, "math.rsqrt"), row(S::Rsqrt, C::COMPLEX, "complex.rsqrt"),
    row(S::Cbrt, C::FLOAT, "math.cbrt"),
    row(S::Reciprocal, C::ANALYTIC, "scalar.reciprocal"),
    row(S::Sin, C::FLOAT, "math.sin"), row(S::Sin, C::COMPLEX, "complex.sin"),
    row(S::Cos, C::FLOAT, "math.cos"), row(S::Cos, C::COMPLEX, "complex.cos"),
    row(S::Tan, C::FLOAT, "math.tan"), row(S::Tan, C::COMPLEX, "complex.tan"),
    row(S::Asin, C::FLOAT, "math.asin"), row(S::Asin, C::COMPLEX, "scalar.asin"),
    row(S::Acos, C::FLOAT, "math.acos"), row(S::Acos, C::COMPLEX, "scalar.acos"),
    row(S::Atan, C::FLOAT, "math.atan"), row(S::Atan, C::COMPLEX, "scalar.atan"),
    row(S::Atan2, C::FLOAT, "math.atan2"),
    row(S::Sinh, C::FLOAT, "math.sinh"), row(S::Sinh, C::COMPLEX, "scalar.sinh"),
    row(S::Cosh, C::FLOAT, "math.cosh"), row(S::Cosh, C::COMPLEX, "scalar.cosh"),
    row(S::Tanh, C::FLOAT, "math.tanh"), row(S::Tanh, C::COMPLEX, "complex.tanh"),
    row(S::Asinh, C::FLOAT, "math.asinh"), row(S::Asinh, C::COMPLEX, "scalar.asinh"),
    row(S::Acosh, C::FLOAT, "math.acosh"), row(S::Acosh, C::COMPLEX, "scalar.acosh"),
    row(S::Atanh, C::FLOAT, "math.atanh"), row(S::Atanh, C::COMPLEX, "scalar.atanh"),
    row(S::Erf, C::FLOAT, "math.erf"), row(S::Erfc, C::FLOAT, "math.erfc"),
    row(S::Pow, C::FLOAT, "math.powf"), row(S::Pow, C::INT, "math.ipowi"), row(S::Pow, C::COMPLEX, "complex.pow"),
    row(S::Floor, C::FLOAT, "math.floor"), row(S::Ceil, C::FLOAT, "math.ceil"),
    row(S::Trunc, C::FLOAT, "math.trunc"), row(S::Round, C::FLOAT, "math.roundeven"),
    row(S::RoundAway, C::FLOAT, "math.round"),
    row(S::Sign, C::ORDERED, "scalar.sign"), row(S::Sgn, C::COMPLEX, "complex.sign"),
    row(S::Sgn, C::ORDERED, "scalar.sgn"),
    row(S::Signbit, C::ORDERED, "scalar.signbit"),
    row(S::Copysign, C::FLOAT, "math.copysign"), row(S::Nextafter, C::FLOAT, "scalar.nextafter"),
    row(S::Hypot, C::FLOAT, "scalar.hypot"), row(S::Ldexp, C::FLOAT, "scalar.ldexp"),
    row(S::FrexpMantissa, C::FLOAT, "scalar.frexp_mantissa"), row(S::FrexpExponent, C::FLOAT, "scalar.frexp_exponent"),
    // Parts of complex numbers.
    row(S::MakeComplex, C::FLOAT, "complex.create"), row(S::RealPart, C::COMPLEX, "complex.re"),
    row(S::RealPart, C::FLOAT, "scalar.real"), row(S::ImagPart, C::COMPLEX, "complex.im"),
    row(S::Conj, C::COMPLEX, "complex.conj"), row(S::Conj, C::ORDERED, "scalar.conj"),
    row(S::Angle, C::COMPLEX, "complex.angle"), row(S::Angle, C::FLOAT, "scalar.angle"),
    // Bits of another type; `cast` has its own rules below.
    row(S::Bitcast, C::ANY, "arith.bitcast"),
];

/// A name and a predicate.
type NameKey = (&'static str, Option<&'static str>);

/// Rows by name and predicate.
static BY_NAME: LazyLock<HashMap<NameKey, Vec<&'static Row>>> = LazyLock::new(|| {
    let mut map: HashMap<_, Vec<&'static Row>> = HashMap::new();
    for row in ROWS.iter().filter(|r| r.way != Way::Write) {
        map.entry((row.name.name, row.name.predicate)).or_default().push(row);
    }
    map
});

/// The IR's name of `op` on operands of type `dtype` (of the value operands, for `select`). `None` if the operation
/// does not take that type, and for `cast`, whose name depends on both types: [`cast_to_ir`].
pub fn to_ir(op: ScalarOp, dtype: DType) -> Option<IrName> {
    if let ScalarOp::Special(f) = op {
        return dtype.is_float().then(|| IrName { name: f.ir_name(), predicate: None });
    }
    ROWS.iter().find(|r| r.op == op && r.way != Way::Read && r.classes.has(dtype.kind())).map(|r| r.name)
}

/// The operation that the IR's `name` (with `predicate`, for comparisons) means on operands of type `dtype`. `None`
/// if there is none; casts are read by [`cast_from_ir`].
pub fn from_ir(name: &str, predicate: Option<&str>, dtype: DType) -> Option<ScalarOp> {
    if let Some(rows) = BY_NAME.get(&(name, predicate)) {
        return rows.iter().find(|r| r.classes.has(dtype.kind())).map(|r| r.op);
    }
    let special = name.strip_prefix("scalar.").filter(|_| predicate.is_none() && dtype.is_float())?;
    SpecialFn::ALL.iter().find(|f| f.name() == special).map(|f| ScalarOp::Special(*f))
}

/// The IR's name of the conversion between two different types. MLIR's ops are used where they mean torch's
/// conversion; `scalar.cast` is the rest: to `I1` ("not zero"), between floats of one width, and with complex types.
pub fn cast_to_ir(from: DType, to: DType) -> &'static str {
    let no_sign = matches!(from.kind(), Kind::Bool | Kind::Unsigned);
    match (from.kind(), to.kind()) {
        (_, Kind::Bool) | (Kind::Complex, _) | (_, Kind::Complex) => "scalar.cast",
        (Kind::Float, Kind::Float) if from.size() < to.size() => "arith.extf",
        (Kind::Float, Kind::Float) if from.size() > to.size() => "arith.truncf",
        (Kind::Float, Kind::Float) => "scalar.cast",
        (Kind::Float, Kind::Unsigned) => "arith.fptoui",
        // `arith` has no conversion between floats and `index`.
        (Kind::Float, Kind::Signed) if to == DType::Index => "scalar.cast",
        (_, Kind::Float) if from == DType::Index => "scalar.cast",
        (Kind::Float, Kind::Signed) => "arith.fptosi",
        (_, Kind::Float) if no_sign => "arith.uitofp",
        (_, Kind::Float) => "arith.sitofp",
        _ if from == DType::Index || to == DType::Index => {
            if no_sign {
                "arith.index_castui"
            } else {
                "arith.index_cast"
            }
        }
        _ if from.bits() > to.bits() => "arith.trunci",
        _ if from.bits() == to.bits() => "scalar.cast",
        _ if no_sign => "arith.extui",
        _ => "arith.extsi",
    }
}

/// The operation of a cast the IR writes as `name` between these types: [`ScalarOp::Cast`] when it means torch's
/// conversion there, else `None` (`arith.trunci` to `i1` keeps the low bit, `arith.extui` of a signed type adds zeros).
pub fn cast_from_ir(name: &str, from: DType, to: DType) -> Option<ScalarOp> {
    (name == "scalar.cast" || cast_to_ir(from, to) == name).then_some(ScalarOp::Cast)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_op_has_one_name_on_each_type_it_takes_and_it_leads_back() {
        for op in ScalarOp::all().filter(|op| *op != ScalarOp::Cast) {
            for dtype in DType::ALL.into_iter().filter(|d| op.classes().has(d.kind())) {
                let name = to_ir(op, dtype).unwrap_or_else(|| panic!("{op} on {dtype} has no name"));
                let back = from_ir(name.name, name.predicate, dtype);
                let written_only = ROWS.iter().any(|r| r.op == op && r.way == Way::Write && r.name == name);
                assert!(back == Some(op) || written_only, "{op} on {dtype}: {name:?} reads as {back:?}");
            }
        }
    }

    #[test]
    fn no_name_is_read_two_ways() {
        for (name, rows) in BY_NAME.iter() {
            for dtype in DType::ALL {
                let n = rows.iter().filter(|r| r.classes.has(dtype.kind())).count();
                // `arith.addi` on I1 is listed for INT and BOOL apart, `arith.andi` covers I1 itself.
                assert!(n <= 1, "{name:?} on {dtype} has {n} meanings");
            }
        }
    }

    #[test]
    fn booleans_keep_both_meanings_of_addition() {
        assert_eq!(to_ir(ScalarOp::Add, DType::I1).map(|n| n.name), Some("arith.ori"));
        assert_eq!(from_ir("arith.addi", None, DType::I1), Some(ScalarOp::Xor));
        assert_eq!(from_ir("arith.cmpi", Some("ult"), DType::U8), Some(ScalarOp::Lt));
        assert_eq!(from_ir("arith.cmpi", Some("ult"), DType::I8), None);
        assert_eq!(from_ir("scalar.lgamma", None, DType::F32), Some(ScalarOp::Special(SpecialFn::Lgamma)));
    }

    #[test]
    fn casts() {
        assert_eq!(cast_to_ir(DType::F16, DType::BF16), "scalar.cast");
        assert_eq!(cast_to_ir(DType::I1, DType::F32), "arith.uitofp");
        assert_eq!(cast_to_ir(DType::I64, DType::Index), "arith.index_cast");
        assert_eq!(cast_from_ir("arith.trunci", DType::I32, DType::I1), None);
        assert_eq!(cast_from_ir("arith.extui", DType::I8, DType::I32), None);
        assert_eq!(cast_from_ir("arith.extui", DType::U8, DType::I32), Some(ScalarOp::Cast));
    }
}
