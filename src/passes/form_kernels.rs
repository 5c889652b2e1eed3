//! Turns tensors into buffers, nests and fusions into kernels, and extern ops into calls.
//!
//! Before:
//! ```mlir
//! func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
//!   %e = loops.pointwise (%i, %j) in [4, 8] -> tensor<4x8xf32> {
//!     %v = loops.load %x[%i, %j] : f32
//!     %w = math.exp %v : f32
//!     loops.yield %w : f32
//!   }
//!   return %e : tensor<4x8xf32>
//! }
//! ```
//! After:
//! ```mlir
//! kernels.func @e_0(%x: memref<32xf32>, %e: memref<32xf32>) axes {x = 32 tile 1 parallel} {
//!   %xi = kernels.axis x : vector<1xindex>
//!   %v = kernels.load %x[%xi] : vector<1xf32>
//!   %w = math.exp %v : vector<1xf32>
//!   kernels.store %w, %e[%xi] : vector<1xf32>
//! }
//! func.func @forward(%x: memref<4x8xf32>) -> memref<4x8xf32> {
//!   %e = kernels.alloc : memref<4x8xf32>
//!   %x_0 = kernels.view %x : memref<4x8xf32> to memref<32xf32>
//!   %e_1 = kernels.view %e : memref<4x8xf32> to memref<32xf32>
//!   kernels.launch @e_0(%x_0, %e_1) : memref<32xf32>, memref<32xf32>
//!   return %e : memref<4x8xf32>
//! }
//! ```
//! A nest that only reads a tensor at other places becomes a view of its buffer where strides can say it. A result that the function
//! returns gets the strides that its type says.

mod axes;
mod fused;
mod host;
mod kernel;
mod layout;
mod serial;

use crate::dialects::func;
use crate::ir::{Ir, Op};
use crate::pass::{Changed, Level, NoOptions, Pass, PassContext};
use crate::sched::Decisions;
use crate::support::Diagnostic;

/// The pass.
pub static PASS: Pass = Pass {
    name: "form-kernels",
    source: include_str!("form_kernels.rs"),
    on: Some(func::FuncOp::NAME),
    needs: &[Level::Loop],
    leaves: &[Level::Kernel],
    statistics: &[("kernels", "kernels made"), ("views", "nests that became views"), ("externs", "extern calls")],
    run,
};

fn run(ir: &mut Ir, func: Op, _: &NoOptions, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
    let (outcome, decisions) = host::form_function(ir, func, cx.infos, Decisions::new(cx.wants_remarks()))?;
    super::util::explain(ir, decisions, cx);
    cx.count("kernels", outcome.kernels);
    cx.count("views", outcome.views);
    cx.count("externs", outcome.externs);
    Ok(Changed::Yes)
}
