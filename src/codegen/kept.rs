//! Modules beside code that was compiled from them: kernels without their bodies, and what was read off the bodies as attributes.
//!
//! ```mlir
//! kernels.func @add_1(%x: memref<8xf32>, …) axes {…}
//!     attributes {kernels.code = "add_0", kernels.cost = 12 : i64, kernels.writes = array<i64: 2>} { }
//! ```
//! Who loads the code needs no more of them. Kernels that take symbols stay whole: what sizes a call may bring is found in their bodies.
//! The attributes are believed where objects are loaded that were made with them, and nowhere else: a text could name code of other arguments.

use super::kernels::{self as all, Kernels};
use crate::dialects::kernels;
use crate::ir::{Ir, Op};
use rinductor_support::Diagnostic;

/// The name of the function that has a kernel's code.
const CODE: &str = "kernels.code";
/// About how many nanoseconds a step takes.
const COST: &str = "kernels.cost";

/// What who loads compiled code needs of a module whose kernels were compiled.
///
/// # Errors
/// A kernel that cannot be read; then nothing was compiled from the module either.
pub fn without_bodies(ir: &Ir) -> Result<Ir, Diagnostic> {
    let Kernels { infos, exprs, .. } = all::read(ir, false)?;
    let mut short = ir.clone();
    for info in infos.iter().filter(|i| i.symbols.is_empty()) {
        let (Some(cost), Some(func)) = (exprs.as_int(info.cost), short.lookup_symbol(&info.name)) else { continue };
        let Some(body) = short.body(func) else { continue };
        let written = kernels::written(ir, func).into_iter().enumerate().filter(|w| w.1);
        let written: Vec<i64> = written.map(|(k, _)| k as i64).collect();
        let ops: Vec<Op> = short.block_ops(body).collect();
        for op in ops.into_iter().rev().filter(|&op| !ir.is_op(op, kernels::ReturnOp::NAME)) {
            short.erase(op);
        }
        let (code, cost) = (short.string_attr(&info.function), short.i64_attr(cost));
        short.set_attr(func, CODE, Some(code));
        short.set_attr(func, COST, Some(cost));
        let written = short.i64_array_attr(&written);
        short.set_attr(func, kernels::WRITES, Some(written));
    }
    Ok(short)
}

/// Of a kernel whose body was left out, the function that has its code and what a step costs.
pub fn code_of(ir: &Ir, func: Op) -> Option<(String, i64)> {
    let code = ir.attr_of(func, CODE).and_then(|a| ir.as_str(a))?;
    let cost = ir.attr_of(func, COST).and_then(|a| ir.as_int(a))?;
    Some((code.to_string(), cost))
}
