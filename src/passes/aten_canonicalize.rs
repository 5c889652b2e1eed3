//! Simplifies graphs by the rewrite rules of the dialect files: chains of views and conversions, operations that change nothing, constants.
//!
//! Rules stand in `dialects/aten.rules` and beside the ops; those of `--load-rules` are added to the sets that they name. Where a rule applies
//! the new value has the shape, dtype and layout of the old one, and shares no memory with another that the caller sees.
//!
//! Before:
//! ```mlir
//! func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
//!   %0 = "aten.permute"(%x) <{dims = array<i64: 1, 0>}> : (tensor<4x8xf32>) -> tensor<8x4xf32, #aten.layout<strides = [1, 8]>>
//!   %1 = "aten.permute"(%0) <{dims = array<i64: 1, 0>}> : (tensor<8x4xf32, #aten.layout<strides = [1, 8]>>) -> tensor<4x8xf32>
//!   %2 = "aten.neg"(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
//!   return %2 : tensor<4x8xf32>
//! }
//! ```
//! After:
//! ```mlir
//! func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
//!   %0 = "aten.neg"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
//!   return %0 : tensor<4x8xf32>
//! }
//! ```

use crate::ir::{Ir, Op};
use crate::pass::{Changed, Level, Pass, PassContext};
use crate::rewrite::{RuleSet, apply};
use crate::support::Diagnostic;
use rinductor_defs::RuleDef;

crate::pass_options! {
    /// Options of `aten-canonicalize`.
    pub struct Options {
        /// The sets whose rules are used.
        sets: Vec<String> = vec!["aten.rules".to_string(), "prims.rules".to_string()],
    }
}

/// The pass.
pub static PASS: Pass<Options> = Pass {
    name: "aten-canonicalize",
    source: include_str!("aten_canonicalize.rs"),
    on: None,
    needs: &[Level::Graph, Level::Loop],
    leaves: &[Level::Graph, Level::Loop],
    statistics: &[("applied", "rules that were applied"), ("erased", "ops that nobody used")],
    run,
};

fn run(ir: &mut Ir, root: Op, options: &Options, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
    rewrite_with(ir, root, cx, |rule| !rule.decomposition && options.sets.iter().any(|s| **s == *rule.set))
}

/// Rewrites everything below `root` with the rules that `wanted` accepts.
///
/// # Errors
/// A rule is wrong: the first of its errors, with the rest as notes.
pub fn rewrite_with(ir: &mut Ir, root: Op, cx: &mut PassContext, wanted: impl Fn(&RuleDef) -> bool) -> Result<Changed, Diagnostic> {
    let rules = RuleSet::compile(cx.infos, wanted).map_err(|mut wrong| {
        let rest = wrong.split_off(1);
        cx_emit(cx, rest);
        wrong.swap_remove(0)
    })?;
    let outcome = apply(ir, root, &rules, cx);
    cx.count("applied", outcome.rewrites);
    cx.count("erased", outcome.erased);
    Ok(outcome.changed().into())
}

fn cx_emit(cx: &mut PassContext, diagnostics: Vec<Diagnostic>) {
    for d in diagnostics {
        cx.emit(d);
    }
}
