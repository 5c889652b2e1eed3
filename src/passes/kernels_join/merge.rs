//! Two kernels become one: the ops of the second stand behind those of the first, and buffers that nothing reads any more go.

use super::{Pair, Part};
use crate::dialects::kernels::{self, Axis};
use crate::ir::edit::ValueMap;
use crate::ir::{Block, InsertPoint, Ir, Op, Value};

impl Pair {
    /// Puts the second kernel into the first, and gives the launch of both.
    pub(super) fn join(self, ir: &mut Ir) -> Op {
        let Pair { first, second, known } = self;
        let mut operands = ir.operand_list(first.launch).to_vec();
        let mut map = ValueMap::default();
        for (k, arg) in ir.block_args(second.body).to_vec().into_iter().enumerate() {
            if ir.is_unused(arg) {
                continue;
            }
            let buffer = ir.operand(second.launch, k);
            let at = operands.iter().position(|&v| v == buffer);
            let mine = match at {
                Some(at) => ir.block_args(first.body)[at],
                None => {
                    operands.push(buffer);
                    let mine = ir.add_block_arg(first.body, ir.value_type(arg));
                    ir.copy_value_name(arg, mine);
                    mine
                }
            };
            map.insert(arg, mine);
        }
        let end = ir.last_op(first.body);
        let (names, others) = (kernels::axes_of(ir, first.kernel), kernels::axes_of(ir, second.kernel));
        let (names, others) = (names.unwrap_or_default(), others.unwrap_or_default());
        for op in ir.block_op_list(second.body) {
            if ir.is_op(op, kernels::ReturnOp::NAME) {
                continue;
            }
            if let Some(&(_, value)) = known.iter().find(|k| k.0 == op) {
                map.insert(ir.result(op, 0), value);
                continue;
            }
            if let Some(axis) = ir.results(op).next().and_then(|v| kernels::axis_of(ir, &others, v))
                && let Some(mine) = position(ir, first.body, &names, axis)
            {
                map.insert(ir.result(op, 0), mine);
                continue;
            }
            let at = end.map_or(InsertPoint::End(first.body), InsertPoint::Before);
            let copy = ir.clone_op(op, &mut map, at);
            if let Some(axis) = ir.results(op).next().and_then(|v| kernels::axis_of(ir, &others, v)) {
                let name = ir.string_attr(&names[axis].name);
                ir.set_prop(copy, "axis", Some(name));
            }
        }
        let at = InsertPoint::Before(second.launch);
        ir.move_op(first.launch, at);
        ir.set_operands(first.launch, &operands);
        ir.erase(second.launch);
        ir.erase(second.kernel);
        drop_unread(ir, first);
        first.launch
    }
}

/// The position on an axis that a body asks for already.
fn position(ir: &Ir, body: Block, axes: &[Axis], axis: usize) -> Option<Value> {
    let mut all = ir.block_ops(body).filter(|&op| ir.is_op(op, kernels::AxisOp::NAME)).map(|op| ir.result(op, 0));
    all.find(|&v| kernels::axis_of(ir, axes, v) == Some(axis))
}

/// Erases stores to buffers that nothing reads, with the buffers, and what was computed for them alone.
fn drop_unread(ir: &mut Ir, part: Part) {
    for k in (0..ir.num_operands(part.launch)).rev() {
        let (buffer, arg) = (ir.operand(part.launch, k), ir.block_args(part.body)[k]);
        let own = ir.def_op(buffer).filter(|&op| kernels::AllocOp::cast(ir, op).is_some() && ir.num_operands(op) == 0);
        let own = own.filter(|_| ir.uses(buffer).count() == 1);
        let stores: Vec<Op> = ir.uses(arg).map(|(op, _)| op).collect();
        let unread = stores.iter().all(|&op| ir.is_op(op, kernels::StoreOp::NAME));
        if !(unread && (own.is_some() || stores.is_empty())) {
            continue;
        }
        stores.into_iter().for_each(|op| ir.erase(op));
        ir.remove_block_arg(part.body, k);
        let mut operands = ir.operand_list(part.launch).to_vec();
        operands.remove(k);
        ir.set_operands(part.launch, &operands);
        own.into_iter().for_each(|op| ir.erase(op));
    }
    for op in ir.block_op_list(part.body).into_iter().rev() {
        if ir.num_results(op) > 0 && ir.results(op).all(|r| ir.is_unused(r)) {
            ir.erase(op);
        }
    }
    let types: Vec<_> = ir.block_args(part.body).iter().map(|&a| ir.value_type(a)).collect();
    let function = ir.function_type(&types, &[]);
    let function = ir.type_attr(function);
    ir.set_prop(part.kernel, "function_type", Some(function));
}
