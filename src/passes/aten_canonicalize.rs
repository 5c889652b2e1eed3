//! Simplifies graphs by the rewrite rules of the dialect files: chains of views and conversions, operations that change nothing, constants.
//!
//! Rules stand in `dialects/aten.rules` and beside the ops; those of `--load-rules` are added to the sets that they name. Where a rule applies
//! the new value has the shape, dtype and layout of the old one, and shares no memory with another that the caller sees.
//!
//! Before:
//! ```mlir
//! func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
//!   %a = "aten.permute"(%x) <{dims = array<i64: 1, 0>}> : (tensor<4x8xf32>) -> tensor<8x4xf32, #aten.layout<strides = [1, 8]>>
//!   %b = "aten.permute"(%a) <{dims = array<i64: 1, 0>}> : (tensor<8x4xf32, #aten.layout<strides = [1, 8]>>) -> tensor<4x8xf32>
//!   %y = "aten.neg"(%b) : (tensor<4x8xf32>) -> tensor<4x8xf32>
//!   return %y : tensor<4x8xf32>
//! }
//! ```
//! After:
//! ```mlir
//! func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
//!   %y = "aten.neg"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
//!   return %y : tensor<4x8xf32>
//! }
//! ```

use crate::ir::{Ir, Op};
use crate::pass::{Changed, Level, Pass, PassContext};
use crate::rewrite::{Outcome, RuleRewriter, RuleSet, greedy};
use crate::support::{Diagnostic, Severity};
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
    let wanted = |rule: &RuleDef| !rule.decomposition && options.sets.iter().any(|s| **s == *rule.set);
    Ok(rewrite_with(ir, root, cx, wanted))
}

/// Rewrites everything below `root` with the rules that `wanted` accepts.
pub fn rewrite_with(ir: &mut Ir, root: Op, cx: &mut PassContext, wanted: impl Fn(&RuleDef) -> bool) -> Changed {
    let rules = RuleSet::compile(cx.infos, wanted);
    let outcome = apply(ir, root, &rules, cx);
    cx.count("applied", outcome.rewrites);
    cx.count("erased", outcome.erased);
    outcome.changed().into()
}

/// Rewrites everything below `root` with a set of rules. Each application is a remark of the pass, and so is the count of each rule.
fn apply(ir: &mut Ir, root: Op, rules: &RuleSet<'_>, cx: &mut PassContext<'_>) -> Outcome {
    let infos = cx.infos;
    let mut rewriter = RuleRewriter::new(rules, infos, cx.wants_remarks());
    let outcome = greedy(ir, root, infos, &mut rewriter);
    for at in rewriter.trace.take().unwrap_or_default() {
        let rule = &rules.rules[at.rule];
        let text = format!("{}: {}: {}", cx.pass(), rule.name(), at.text);
        let remark = Diagnostic::new(Severity::Remark, ir.place(at.loc), text);
        // Why a rule did not apply is seldom understood without the rule.
        cx.emit(if at.applied { remark } else { remark.note(rule.def.span, "the rule") });
    }
    if cx.wants_remarks() {
        for (rule, &n) in rules.rules.iter().zip(&rewriter.counts).filter(|(_, n)| **n > 0) {
            cx.remark(ir, root, format!("{}: applied {n} times", rule.name()));
        }
    }
    if outcome.stopped {
        let most = rules.rules.iter().zip(&rewriter.counts).max_by_key(|(_, n)| **n);
        let name = most.map_or("", |(r, _)| r.name());
        cx.warn(
            ir,
            root,
            format!("rules were stopped after {} applications; '{name}' was applied most", outcome.rewrites),
        );
    }
    outcome
}
