//! Where an argument is written: `aten.copy_` stands at the end of its function, so that every other value is what it was when it was computed,
//! in whatever order passes put the ops.

use super::{aten, func};
use crate::ir::{Def, Ir, Op};
use crate::support::Diagnostic;

/// Checks one `aten.copy_`: it writes an argument of the function that it stands in, and only others and the return come after it.
pub fn verify(ir: &Ir, op: Op) -> Option<Diagnostic> {
    let error = |text: &str| Diagnostic::error(ir.place(ir.op(op).loc), format!("'{}': {text}", ir.op_name(op)));
    let written = aten::CopyOp(op).tensor(ir);
    let in_function = ir.parent_op(op).is_some_and(|f| ir.is_op(f, func::FuncOp::NAME));
    if !in_function || !matches!(ir.def(written), Def::Arg(..)) {
        return Some(
            error("writes what is no argument of the function").help("put its source in place of what it writes"),
        );
    }
    let next = ir.next_op(op).filter(|&n| !ir.is_op(n, aten::CopyOp::NAME) && !ir.is_op(n, func::ReturnOp::NAME))?;
    Some(
        error("writes an argument before the end of the function")
            .note(ir.place(ir.op(next).loc), format!("'{}' comes after it", ir.op_name(next)))
            .help("put it before the return, and its source in place of later uses of the argument"),
    )
}
