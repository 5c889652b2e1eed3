//! Typed views of the dialects that passes work on, what dialect files say of an op, and the `extern fn`s of dialect files.

/// The views of a dialect's ops that the build script writes: one struct an op, which gives its parts by the names of its definition.
macro_rules! views {
    ($file:literal) => {
        pub use ops::*;

        #[allow(unused_imports)] // not each dialect has ops with all kinds of parts
        mod ops {
            use crate::dialects::view::{self, Groups, Values};
            use crate::ir::format::Many;
            use crate::ir::{Attr, Block, Dict, Ir, Op, Region, Value};
            use rinductor_index::Expr;

            include!(concat!(env!("OUT_DIR"), "/", $file));
        }
    };
}

pub mod constraint;
pub mod format;
mod host_verify;
pub mod infos;
pub mod instance;
pub mod kernel_bounds;
pub mod kernel_verify;
pub mod kernels;
pub mod library;
pub mod loops;
pub mod mutation;
pub mod signature;
pub mod symbols;
pub mod view;

/// Views of ops of the `aten` dialect.
pub mod aten {
    views!("aten_views.rs");
}
/// Views of the ops of the `builtin` dialect.
pub mod builtin {
    views!("builtin_views.rs");
}
/// Views of the ops of the `func` dialect.
pub mod func {
    views!("func_views.rs");
}
/// Views of the ops of the `schedule` dialect.
pub mod schedule {
    views!("schedule_views.rs");
}
/// Views of the ops of the `sym` dialect.
pub mod sym {
    views!("sym_views.rs");
}

use crate::ir::{Attr, AttrData, FloatKind, Ir, Signedness, Type, TypeData};
use rinductor_scalar::{DType, Scalar};

/// The dtype of an element type; None for a type that no tensor holds.
pub fn dtype_of(ir: &Ir, ty: Type) -> Option<DType> {
    Some(match ir.ty(ty) {
        TypeData::Integer { width: 1, .. } => DType::I1,
        TypeData::Integer { width: 8, sign: Signedness::Unsigned } => DType::U8,
        TypeData::Integer { width: 8, .. } => DType::I8,
        TypeData::Integer { width: 16, .. } => DType::I16,
        TypeData::Integer { width: 32, .. } => DType::I32,
        TypeData::Integer { width: 64, .. } => DType::I64,
        TypeData::Float(FloatKind::f16) => DType::F16,
        TypeData::Float(FloatKind::bf16) => DType::BF16,
        TypeData::Float(FloatKind::f32) => DType::F32,
        TypeData::Float(FloatKind::f64) => DType::F64,
        TypeData::Float(FloatKind::f8E4M3FN) => DType::F8E4M3FN,
        TypeData::Float(FloatKind::f8E5M2) => DType::F8E5M2,
        TypeData::Complex(element) => match ir.ty(*element) {
            TypeData::Float(FloatKind::f32) => DType::C64,
            TypeData::Float(FloatKind::f64) => DType::C128,
            _ => return None,
        },
        TypeData::Index => DType::Index,
        _ => return None,
    })
}

/// The element type of a dtype.
pub fn type_of(ir: &mut Ir, dtype: DType) -> Type {
    let float = |ir: &mut Ir, kind| ir.float_type(kind);
    match dtype {
        DType::I1 => ir.int_type(1),
        DType::U8 => ir.make_type(TypeData::Integer { width: 8, sign: Signedness::Unsigned }),
        DType::I8 => ir.int_type(8),
        DType::I16 => ir.int_type(16),
        DType::I32 => ir.int_type(32),
        DType::I64 => ir.int_type(64),
        DType::F16 => float(ir, FloatKind::f16),
        DType::BF16 => float(ir, FloatKind::bf16),
        DType::F32 => float(ir, FloatKind::f32),
        DType::F64 => float(ir, FloatKind::f64),
        DType::F8E4M3FN => float(ir, FloatKind::f8E4M3FN),
        DType::F8E5M2 => float(ir, FloatKind::f8E5M2),
        DType::C64 => {
            let element = float(ir, FloatKind::f32);
            ir.make_type(TypeData::Complex(element))
        }
        DType::C128 => {
            let element = float(ir, FloatKind::f64);
            ir.make_type(TypeData::Complex(element))
        }
        DType::Index => ir.index_type(),
    }
}

/// A scalar as a typed attribute; None for a complex number, which builtin attributes cannot hold.
pub fn scalar_attr(ir: &mut Ir, value: Scalar) -> Option<Attr> {
    let dtype = value.dtype();
    let ty = type_of(ir, dtype);
    match dtype.kind() {
        rinductor_scalar::Kind::Complex => None,
        rinductor_scalar::Kind::Float => Some(ir.make_attr(AttrData::Float { bits: value.to_bits() as u64, ty })),
        rinductor_scalar::Kind::Bool => Some(ir.bool_attr(value.is_true())),
        _ => Some(ir.int_attr(value.to_i64(), ty)),
    }
}

/// The scalar of a typed number attribute.
pub fn attr_scalar(ir: &Ir, attr: Attr) -> Option<Scalar> {
    match ir.attr(attr) {
        AttrData::Bool(b) => Some(Scalar::bool(*b)),
        AttrData::Integer { value, ty } => Some(Scalar::from_i64(dtype_of(ir, *ty)?, *value)),
        AttrData::Float { bits, ty } => Some(Scalar::from_bits(dtype_of(ir, *ty)?, u128::from(*bits))),
        _ => None,
    }
}

/// The predicates of `arith.cmpf`, by MLIR's numbers.
const FLOAT_PREDICATES: [&str; 16] =
    ["false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"];
/// The predicates of `arith.cmpi`, by MLIR's numbers.
const INT_PREDICATES: [&str; 10] = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"];

fn predicates(op: &str) -> &'static [&'static str] {
    if op == "arith.cmpf" { &FLOAT_PREDICATES } else { &INT_PREDICATES }
}

/// The number by which MLIR writes a predicate of `arith.cmpf` or `arith.cmpi`.
pub fn predicate_number(op: &str, predicate: &str) -> Option<i64> {
    predicates(op).iter().position(|&p| p == predicate).map(|k| k as i64)
}

/// The predicate that a number stands for.
pub fn predicate_name(op: &str, number: i64) -> Option<&'static str> {
    predicates(op).get(usize::try_from(number).ok()?).copied()
}
