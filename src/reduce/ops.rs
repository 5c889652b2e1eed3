//! Leaving out ops. Where a result is used, another value takes its place.

use super::signature;
use crate::ir::{AttrData, InsertPoint, Ir, Loc, Op, Type, TypeData, Value};

/// All ops inside of functions, but those that end a block without giving a value: a block may need them.
pub(super) fn all(ir: &Ir) -> Vec<Op> {
    inside(ir).into_iter().filter(|&op| !is_last(ir, op)).collect()
}

/// The ops that [`all`] leaves alone.
pub(super) fn last(ir: &Ir) -> Vec<Op> {
    inside(ir).into_iter().filter(|&op| is_last(ir, op)).collect()
}

fn inside(ir: &Ir) -> Vec<Op> {
    let top = ir.block_op_list(ir.module_body());
    top.into_iter().flat_map(|op| ir.nested_ops(op)).collect()
}

fn is_last(ir: &Ir, op: Op) -> bool {
    ir.num_results(op) == 0 && ir.next_op(op).is_none()
}

/// Leaves ops out; a function gets new arguments for the values that are missing then, so that what computed them can go too.
pub(super) fn cut(ir: &mut Ir, ops: &[Op]) -> bool {
    erase(ir, ops, |ir, op, ty| argument(ir, op, ty).or_else(|| operand(ir, op, ty)))
}

/// Leaves ops out; operands of theirs take the place of their results.
pub(super) fn bypass(ir: &mut Ir, ops: &[Op]) -> bool {
    erase(ir, ops, |ir, op, ty| operand(ir, op, ty).or_else(|| argument(ir, op, ty)))
}

fn erase(ir: &mut Ir, ops: &[Op], instead: fn(&mut Ir, Op, Type) -> Option<Value>) -> bool {
    let mut changed = false;
    // Users come before what they use, so that most results are unused when their turn comes.
    for &op in ops.iter().rev() {
        // It may have gone with the op around it.
        if !ir.is_live(op) || ir.parent_block(op).is_none() {
            continue;
        }
        let mut values = Vec::new();
        for result in ir.results(op) {
            if ir.is_unused(result) {
                values.push(result);
                continue;
            }
            let ty = ir.value_type(result);
            let value = instead(ir, op, ty).or_else(|| neighbour(ir, op, ty)).or_else(|| constant(ir, op, ty));
            values.extend(value);
        }
        if values.len() != ir.num_results(op) {
            continue;
        }
        for (i, &value) in values.iter().enumerate() {
            let result = ir.result(op, i);
            ir.replace_all_uses(result, value);
        }
        ir.erase(op);
        changed = true;
    }
    changed
}

/// An operand of the op.
fn operand(ir: &mut Ir, op: Op, ty: Type) -> Option<Value> {
    ir.operands(op).find(|&v| ir.value_type(v) == ty)
}

/// A new argument of the function, for an op directly in it.
fn argument(ir: &mut Ir, op: Op, ty: Type) -> Option<Value> {
    let block = ir.parent_block(op)?;
    signature::add_argument(ir, block, ty)
}

/// The nearest value before the op in its block and the blocks around it.
fn neighbour(ir: &mut Ir, op: Op, ty: Type) -> Option<Value> {
    let mut at = op;
    loop {
        let mut before = ir.prev_op(at);
        while let Some(other) = before {
            if let Some(value) = ir.results(other).find(|&v| ir.value_type(v) == ty) {
                return Some(value);
            }
            before = ir.prev_op(other);
        }
        let block = ir.parent_block(at)?;
        if let Some(&value) = ir.block_args(block).iter().find(|&&v| ir.value_type(v) == ty) {
            return Some(value);
        }
        at = ir.parent_op(at)?;
        // Kernels see nothing of what is around them.
        if ir.attr_of(at, "sym_name").is_some() {
            return None;
        }
    }
}

/// A constant before the op, for a number.
fn constant(ir: &mut Ir, op: Op, ty: Type) -> Option<Value> {
    let value = match ir.ty(ty) {
        TypeData::Integer { width: 1, .. } => ir.bool_attr(true),
        TypeData::Integer { .. } | TypeData::Index => ir.int_attr(1, ty),
        TypeData::Float(_) => ir.make_attr(AttrData::Float { bits: 0, ty }),
        _ => return None,
    };
    Some(ir.create_value("arith.constant", &[], ty, &[("value", value)], Loc::Unknown, InsertPoint::Before(op)))
}
