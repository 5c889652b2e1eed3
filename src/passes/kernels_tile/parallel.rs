//! Scatters whose points are put in order become parallel where a GPU can combine them as they come: with atomics, or, where points replace what
//! stands there, in no order, as torch leaves it open on a GPU.

use crate::dialects::kernels::{self, Axis};
use crate::ir::{FloatKind, InsertPoint, Ir, Op, Signedness, Type, TypeData};

/// Makes the walk of a scatter parallel. `axes` are those of the kernel; says whether it did.
pub fn flatten(ir: &mut Ir, func: Op, axes: &mut [Axis]) -> bool {
    let Some(walk) = only_walk(ir, func) else { return false };
    let Some(body) = ir.body(walk) else { return false };
    let scatters = ir.nested_ops(walk).into_iter().all(|op| match ir.op_name(op) {
        kernels::AtomicOp::NAME => {
            let atomic = kernels::AtomicOp(op);
            let element = ir.element_type(ir.value_type(atomic.value(ir)));
            is_atomic(ir, atomic.combiner(ir), element)
        }
        _ => true,
    });
    if !scatters {
        return false;
    }
    for op in ir.block_op_list(body) {
        if ir.is_op(op, kernels::YieldOp::NAME) {
            ir.erase(op);
        } else {
            ir.move_op(op, InsertPoint::Before(walk));
        }
    }
    ir.erase(walk);
    for axis in axes {
        axis.reduced = false;
    }
    true
}

/// The one walk of a kernel that does nothing else, if it hands no values on.
pub fn only_walk(ir: &Ir, func: Op) -> Option<Op> {
    let walks: Vec<Op> = ir.nested_ops(func).into_iter().filter(|&op| !ir.regions_of(op).is_empty()).collect();
    let &[walk] = &walks[..] else { return None };
    let writes = |op: Op| ir.is_op(op, kernels::AtomicOp::NAME) || ir.is_op(op, kernels::StoreOp::NAME);
    let all = ir.nested_ops(func);
    let written: Vec<Op> = all.iter().copied().filter(|&op| writes(op)).collect();
    // What it writes is read by no step, and all of it is written in the walk.
    let is_written = |buffer| written.iter().any(|&w| ir.operand(w, 1) == buffer);
    let reads = all.iter().any(|&op| ir.is_op(op, kernels::LoadOp::NAME) && is_written(ir.operand(op, 0)));
    let inside = written.iter().all(|&op| ir.parent_op(op) == Some(walk));
    let scatter = !written.is_empty() && inside && !reads;
    (ir.is_op(walk, kernels::ForOp::NAME) && ir.num_operands(walk) == 0 && scatter).then_some(walk)
}

/// Whether a GPU combines this in memory by one instruction.
pub fn is_atomic(ir: &Ir, combiner: &str, element: Type) -> bool {
    match *ir.ty(element) {
        TypeData::Float(kind) => {
            combiner == "add" && matches!(kind, FloatKind::f16 | FloatKind::bf16 | FloatKind::f32 | FloatKind::f64)
        }
        TypeData::Integer { width: 32 | 64, sign } => match combiner {
            "add" | "and" | "or" | "xor" => true,
            "maximum" | "minimum" | "max" | "min" => sign != Signedness::Unsigned,
            _ => false,
        },
        _ => false,
    }
}
