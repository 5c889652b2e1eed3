//! Folds constants and removes what computes nothing, in every dialect: scalar ops, casts, guards, index expressions of loop nests, and ops
//! without effects whose results nobody uses.
//!
//! Integers wrap and divide as `arith` says (a division without a value stays); floats keep NaN, infinities and signed zeros: `x + 0.0` stays,
//! since it is not `x` for -0.0, and `x + -0.0` goes. A one-bit integer that is read as signed is 0 or -1. Constants go to the right of ops that
//! commute. Index expressions are simplified with the ranges of the nest's dimensions and of the function's symbols; an index from data that
//! is known to lie in its bounds becomes an index expression.
//!
//! Before:
//! ```mlir
//! func.func @f(%x: tensor<8xf32>) -> tensor<4xf32> {
//!   %y = loops.pointwise (%i) in [4] -> tensor<4xf32> {
//!     %g = arith.constant true
//!     %v = loops.load %x[%i mod 4] if %g : f32
//!     %one = arith.constant 1.0 : f32
//!     %w = arith.mulf %one, %v : f32
//!     loops.yield %w : f32
//!   }
//!   return %y : tensor<4xf32>
//! }
//! ```
//! After:
//! ```mlir
//! func.func @f(%x: tensor<8xf32>) -> tensor<4xf32> {
//!   %y = loops.pointwise (%i) in [4] -> tensor<4xf32> {
//!     %v = loops.load %x[%i] : f32
//!     loops.yield %v : f32
//!   }
//!   return %y : tensor<4xf32>
//! }
//! ```

pub mod casts;
pub mod constant;
pub mod fold;
pub mod identities;
pub mod integer;
pub mod nests;

use crate::ir::{Ir, Op};
use crate::pass::{ANY, Changed, NoOptions, Pass, PassContext};
use crate::rewrite::{Edits, Rewriter, greedy};
use crate::support::Diagnostic;

/// The pass.
pub static PASS: Pass = Pass {
    name: "canonicalize",
    source: include_str!("canonicalize.rs"),
    on: None,
    needs: ANY,
    leaves: ANY,
    statistics: &[("rewritten", "ops that were folded or simplified"), ("erased", "ops that nobody used")],
    run,
};

fn run(ir: &mut Ir, root: Op, _: &NoOptions, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
    let outcome = greedy(ir, root, cx.infos, &mut Canonicalizer::default());
    cx.count("rewritten", outcome.rewrites);
    cx.count("erased", outcome.erased);
    if outcome.stopped {
        cx.warn(ir, root, format!("canonicalization was stopped after {} rewrites", outcome.rewrites));
    }
    Ok(outcome.changed().into())
}

/// All rewrites of the pass.
#[derive(Default)]
pub struct Canonicalizer {
    nests: nests::Nests,
}

impl Rewriter for Canonicalizer {
    fn rewrite(&mut self, edits: &mut Edits<'_>, op: Op) -> bool {
        let name = edits.ir.op_name(op);
        if name.starts_with("loops.") {
            return self.nests.simplify(edits, op);
        }
        if !(name.starts_with("arith.") || name.starts_with("math.") || name.starts_with("scalar."))
            || name == "arith.constant"
        {
            return false;
        }
        fold::fold(edits, op) || identities::simplify(edits, op) || casts::simplify(edits, op)
    }
}

#[cfg(test)]
mod tests;
