//! Softmax in one walk: where the text walks rows for their maximum and again for the sum of exponentials of differences to it, each lane keeps both.

use super::kernel::{Emit, Val};
use crate::codegen::combiner::Combiner;
use crate::dialects::kernels;
use crate::ir::{Op, Value};
use rinductor_scalar::DType;
use rinductor_support::Diagnostic;

impl Emit<'_> {
    /// The walk that sums the exponentials of what `maximum` walks, after its result was subtracted; None if no such walk follows in the block.
    pub fn sum_of_exponentials(&self, maximum: Op) -> Option<Op> {
        let ir = self.ir;
        let m = self.walked_value(maximum, Combiner::Maximum)?;
        if self.dtype(m) != DType::F32 {
            return None;
        }
        let result = ir.result(maximum, 0);
        let block = ir.parent_block(maximum)?;
        let later = ir.block_op_list(block).into_iter().skip_while(|&op| op != maximum).skip(1);
        later.filter(|&op| ir.is_op(op, kernels::ReduceOp::NAME)).find(|&sum| {
            let effect = |op: Op| matches!(ir.op_name(op), kernels::StoreOp::NAME | kernels::AtomicOp::NAME);
            if kernels::walked_axes(ir, sum) != kernels::walked_axes(ir, maximum)
                || ir.nested_ops(sum).into_iter().any(effect)
            {
                return false;
            }
            let Some(s) = self.walked_value(sum, Combiner::Add) else { return false };
            let Some(exp) = ir.def_op(s).filter(|&op| ir.is_op(op, "math.exp")) else { return false };
            let Some(sub) = ir.def_op(ir.operand(exp, 0)).filter(|&op| ir.is_op(op, "arith.subf")) else {
                return false;
            };
            self.without_broadcast(ir.operand(sub, 1)) == result && self.is_same(ir.operand(sub, 0), m)
        })
    }

    /// What a walk with this one combiner combines.
    fn walked_value(&self, op: Op, combiner: Combiner) -> Option<Value> {
        let ir = self.ir;
        let [name] = kernels::ReduceOp(op).combiners(ir)[..] else { return None };
        (Combiner::parse(name)? == combiner).then_some(())?;
        let end = ir.last_op(ir.body(op)?)?;
        ir.operands(end).next()
    }

    /// The value that a value is a broadcast of.
    fn without_broadcast(&self, mut v: Value) -> Value {
        while let Some(op) = self.ir.def_op(v).filter(|&op| self.ir.is_op(op, kernels::BroadcastOp::NAME)) {
            v = self.ir.operand(op, 0);
        }
        v
    }

    /// Whether two values of two walks over the same axes are computed alike from memory that the kernel does not write.
    fn is_same(&self, x: Value, y: Value) -> bool {
        let ir = self.ir;
        let (x, y) = (self.without_broadcast(x), self.without_broadcast(y));
        if x == y {
            return true;
        }
        let (Some(a), Some(b)) = (ir.def_op(x), ir.def_op(y)) else { return false };
        let whole = |op: Op| ir.num_results(op) == 1 && ir.regions_of(op).is_empty();
        if !whole(a) || !whole(b) || ir.op_name(a) != ir.op_name(b) || ir.value_type(x) != ir.value_type(y) {
            return false;
        }
        if (ir.op(a).props, ir.op(a).attrs) != (ir.op(b).props, ir.op(b).attrs)
            || ir.num_operands(a) != ir.num_operands(b)
        {
            return false;
        }
        if ir.is_op(a, kernels::LoadOp::NAME) && self.written.contains(&ir.operand(a, 0)) {
            return false;
        }
        ir.operands(a).zip(ir.operands(b)).all(|(p, q)| self.is_same(p, q))
    }

    /// Both walks as one, where one step does not hold the row.
    pub fn online(&mut self, maximum: Op, sum: Op, axes: &[usize]) -> Result<(), Diagnostic> {
        let ir = self.ir;
        let body = ir.body(maximum).ok_or_else(|| self.error(maximum, "the body must be one block"))?;
        let end = ir.last_op(body).ok_or_else(|| self.error(maximum, "the body is empty"))?;
        let yielded = ir.operand(end, 0);
        let over = axes.iter().fold(0, |d, &a| d | self.bit(a));
        let dims = over | self.dims_of_type(yielded);
        self.wait_before(maximum);
        // The loads of the second walk are none.
        for load in ir.ops_named(sum, kernels::LoadOp::NAME) {
            if let Some(n) = self.loads_left.get_mut(&ir.operand(load, 0)) {
                *n = n.saturating_sub(1);
            }
        }
        let (m, s) = (self.names.fresh("maximum"), self.names.fresh("exponentials"));
        let shape = self.shape(dims);
        self.line(format!("{m} = tl.full({shape}, float(\"-inf\"), tl.float32)"));
        self.line(format!("{s} = tl.full({shape}, 0.0, tl.float32)"));
        let headers = self.open_loops(axes, false);
        self.block(body)?;
        let (mask, _) = self.mask(over);
        let point = self.get(yielded);
        let point = self.filled(&point, &mask, "float(\"-inf\")", dims);
        let f = self.h.need("_online");
        self.line(format!("{m}, {s} = {f}({m}, {s}, {point})"));
        self.close_loops(headers);
        let level = self.scopes.len() - 1;
        let most = self.across(Combiner::Maximum, DType::F32, std::slice::from_ref(&m), dims, over).remove(0);
        let value = |text: String| Val { text, literal: false, dtype: DType::F32, dims: dims & !over, level };
        let most = self.define(ir.result(maximum, 0), most, DType::F32, dims & !over, level);
        self.h.libdevice = true;
        let scaled = format!("({s} * libdevice.exp({m} - {}))", most.text);
        let total = value(self.across(Combiner::Add, DType::F32, &[scaled], dims, over).remove(0));
        self.define(ir.result(sum, 0), total.text, DType::F32, total.dims, level);
        self.done.insert(sum);
        Ok(())
    }
}
