//! Does something wrong on purpose, at every op of a name: for tests of what happens around a pass that fails.
//!
//! `how=wrong` plants a miscompile: the op gets the name `to` and computes something else.

use crate::ir::{Ir, Op};
use crate::pass::{ANY, Changed, Pass, PassContext};
use crate::support::Diagnostic;

crate::option_enum! {
    /// What goes wrong.
    pub enum How {
        /// An error is returned.
        Error = "error",
        /// A warning and a remark are given, and nothing fails.
        Remark = "remark",
        /// The pass panics.
        Panic = "panic",
        /// The op is put before what it uses.
        Invalid = "invalid",
        /// The op becomes another.
        Wrong = "wrong",
    }
}

crate::pass_options! {
    pub struct Options {
        /// What goes wrong.
        how: How = How::Error,
        /// The name of the ops.
        from: String = "aten.add.Tensor".into(),
        /// The name that they get.
        to: String = "aten.sub.Tensor".into(),
    }
}

/// The pass.
pub static PASS: Pass<Options> = Pass {
    name: "test-failure",
    source: include_str!("test_failure.rs"),
    on: None,
    needs: ANY,
    leaves: ANY,
    statistics: &[("met", "ops of the name")],
    run,
};

fn run(ir: &mut Ir, root: Op, options: &Options, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
    let ops = ir.ops_named(root, &options.from);
    cx.count("met", ops.len() as u64);
    for &op in &ops {
        match options.how {
            How::Error => {
                let place = ir.place(ir.op(op).loc);
                return Err(Diagnostic::error(place, format!("'{}' is where this pass fails", options.from)));
            }
            How::Remark => {
                cx.warn(ir, op, format!("'{}' is here", options.from));
                cx.remark(ir, op, "nothing was done, since nothing was asked");
            }
            How::Panic => panic!("'{}' is where this pass panics", options.from),
            How::Invalid => {
                let block = ir.parent_block(op).and_then(|b| ir.first_op(b));
                if let Some(first) = block.filter(|&f| f != op) {
                    ir.move_op(op, crate::ir::InsertPoint::Before(first));
                }
            }
            How::Wrong => ir.rename_op(op, &options.to),
        }
    }
    Ok((!ops.is_empty() && options.how != How::Remark).into())
}
