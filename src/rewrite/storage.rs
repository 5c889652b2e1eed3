//! Whose memory a tensor of a graph shares, and who sees it: a value that takes another's place must not let the caller see two tensors as one.

use crate::dialects::infos::OpInfos;
use crate::dialects::{aten, loops};
use crate::ir::{Def, Ir, Op, Value};
use rinductor_defs::Signature;

/// Whether the results of an op share memory with an operand. Of an op that is not known it may be so.
pub fn is_view(ir: &Ir, infos: &dyn OpInfos, op: Op) -> bool {
    if let Some(nest) = loops::PointwiseOp::cast(ir, op) {
        return nest.view(ir);
    }
    let Some(def) = infos.def(ir.op_name(op)) else { return true };
    let aliases = match &def.signature {
        Signature::Schema(sig) => sig.results.iter().any(|r| r.ty.alias.is_some()),
        Signature::Named(_) => false,
    };
    aliases || def.has_trait("view")
}

/// The tensor whose memory a value lies in: views are followed to what they are views of.
pub fn base(ir: &Ir, infos: &dyn OpInfos, value: Value) -> Value {
    let mut v = value;
    while let Def::Result(op, _) = ir.def(v)
        && is_view(ir, infos, op)
        && ir.num_operands(op) > 0
        && ir.operand(op, 0) != v
    {
        v = ir.operand(op, 0);
    }
    v
}

/// Whether the memory of a tensor is seen outside, or written: it or a view of it is returned, or goes to an op with effects.
pub fn escapes(ir: &Ir, infos: &dyn OpInfos, value: Value) -> bool {
    let mut work = vec![value];
    let mut seen = 0;
    while let Some(v) = work.pop() {
        for user in ir.users(v) {
            seen += 1;
            let traits = infos.of(ir, user);
            if !traits.pure || traits.terminator || seen > 1000 {
                return true;
            }
            if is_view(ir, infos, user) {
                work.extend(ir.results(user));
            }
            // At the loop level a view is a nest that reads.
            if let Some(nest) = ir.parent_op(user).and_then(|op| loops::PointwiseOp::cast(ir, op))
                && nest.view(ir)
            {
                work.extend(ir.results(nest.0));
            }
        }
    }
    false
}

/// Whether a tensor lies in memory that a pure op made and that nobody outside sees.
pub fn is_private(ir: &Ir, infos: &dyn OpInfos, value: Value) -> bool {
    let b = base(ir, infos, value);
    match ir.def(b) {
        // A constant lies in memory that the program holds from call to call.
        Def::Result(op, _) => infos.of(ir, op).pure && !ir.is_op(op, aten::ConstantOp::NAME) && !escapes(ir, infos, b),
        Def::Arg(..) => false,
    }
}

/// Whether `new` may take the place of `old`. `made`: the ops that were made for it.
pub fn may_replace(ir: &Ir, infos: &dyn OpInfos, old: Value, new: Value, made: &[Op]) -> bool {
    let (from, to) = (base(ir, infos, old), base(ir, infos, new));
    from == to
        || ir.def_op(to).is_some_and(|op| made.contains(&op))
        || !escapes(ir, infos, old)
        || is_private(ir, infos, new)
}
