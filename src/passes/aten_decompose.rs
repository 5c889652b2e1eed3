//! Writes graph ops that no definition computes as ops that have one, by the `decompose` rules of the dialect files.
//!
//! An op whose definition says what it computes is left alone: it lowers exactly, without the rounding between the parts. With `all` it is
//! decomposed too.
//!
//! Before:
//! ```mlir
//! func.func @forward(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
//!   %z = "aten.rsub.Tensor"(%x, %y) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
//!   return %z : tensor<4x8xf32>
//! }
//! ```
//! After:
//! ```mlir
//! func.func @forward(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
//!   %z = "aten.sub.Tensor"(%y, %x) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
//!   return %z : tensor<4x8xf32>
//! }
//! ```

use crate::ir::{Ir, Op};
use crate::pass::{Changed, Level, Pass, PassContext};
use crate::passes::aten_canonicalize::rewrite_with;
use crate::support::Diagnostic;

crate::pass_options! {
    /// Options of `aten-decompose`.
    pub struct Options {
        /// Also decompose ops whose definition says what they compute.
        all: bool = false,
    }
}

/// The pass.
pub static PASS: Pass<Options> = Pass {
    name: "aten-decompose",
    source: include_str!("aten_decompose.rs"),
    on: None,
    needs: &[Level::Graph, Level::Loop],
    leaves: &[Level::Graph, Level::Loop],
    statistics: &[("applied", "decompositions that were applied"), ("erased", "ops that nobody used")],
    run,
};

fn run(ir: &mut Ir, root: Op, options: &Options, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
    let infos = cx.infos;
    Ok(rewrite_with(ir, root, cx, |rule| {
        let computed = infos.def(&rule.pattern.op.text).is_some_and(|d| !d.semantics.is_empty());
        rule.decomposition && (options.all || !computed)
    }))
}
