//! What computing a point costs, in units of one addition, and how many bytes a tensor holds.

use crate::dialects::kernels;
use crate::dialects::loops::{self, Nest};
use crate::ir::{Block, FloatKind, Ir, Type, TypeData};
use rinductor_index::{Atom, Expr};

/// Cost of one scalar op by its name. Transcendentals take some ten to twenty instructions a vector; divisions and roots are long-latency ops.
pub fn op_cost(name: &str) -> u32 {
    match name {
        loops::LoadOp::NAME
        | kernels::LoadOp::NAME
        | kernels::AxisOp::NAME
        | kernels::IndexOp::NAME
        | kernels::BroadcastOp::NAME
        | loops::IndexOp::NAME
        | loops::YieldOp::NAME
        | loops::PutOp::NAME
        | "arith.constant"
        | loops::ReturnOp::NAME => 0,
        "arith.divf" | "math.sqrt" | "math.rsqrt" | "arith.divsi" | "arith.remsi" | "arith.remf"
        | "scalar.floor_rem" => 4,
        "math.floor" | "math.ceil" | "math.absf" | "math.absi" | "math.fma" | "math.trunc" | "math.roundeven"
        | "math.copysign" => 1,
        _ if name.starts_with("math.") || name.starts_with("scalar.") => 12,
        _ => 1,
    }
}

/// Cost of one point of a body.
pub fn body_cost(ir: &Ir, body: Block) -> u32 {
    ir.block_ops(body).map(|op| op_cost(ir.op_name(op))).sum()
}

/// Bytes of one element; 0 for what has no memory.
pub fn element_bytes(ir: &Ir, ty: Type) -> u64 {
    match ir.ty(ty) {
        TypeData::Integer { width, .. } => u64::from(width.div_ceil(8)),
        TypeData::Float(kind) => u64::from(FloatKind::bits(*kind).div_ceil(8)),
        TypeData::Complex(element) => 2 * element_bytes(ir, *element),
        TypeData::Index => 8,
        _ => 0,
    }
}

/// The size that a symbol is taken to have where only an estimate is wanted.
pub const TYPICAL_SIZE: i64 = 128;

/// A number for a size, symbols taken as [`TYPICAL_SIZE`].
pub fn estimate(ir: &Ir, e: Expr) -> u64 {
    ir.exprs.eval(e, |atom| matches!(atom, Atom::Sym(_)).then_some(TYPICAL_SIZE)).map_or(1, |n| n.max(0) as u64)
}

/// How many points a product of sizes has, saturating.
pub fn points(ir: &Ir, sizes: &[Expr]) -> u64 {
    sizes.iter().fold(1u64, |n, &e| n.saturating_mul(estimate(ir, e)))
}

/// Bytes of a tensor.
pub fn tensor_bytes(ir: &mut Ir, ty: Type) -> u64 {
    let element = ir.element_type(ty);
    let bytes = element_bytes(ir, element);
    match loops::sizes_of(ir, ty) {
        Some(sizes) => points(ir, &sizes).saturating_mul(bytes),
        None => bytes,
    }
}

/// Points that a nest visits: the space times what it reduces over.
pub fn nest_points(ir: &Ir, nest: &Nest) -> u64 {
    points(ir, &nest.space).saturating_mul(points(ir, &nest.over))
}
