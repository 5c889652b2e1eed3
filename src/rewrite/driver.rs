//! The driver: rewrites until nothing changes, and the rules of dialect files as what it rewrites with.

use super::build::build;
use super::edits::{Edits, Rewriter};
use super::matcher::Matcher;
use super::pattern::RuleSet;
use crate::dialects::func;
use crate::dialects::infos::OpInfos;
use crate::dialects::symbols;
use crate::ir::{Ir, Op};
use rinductor_index::Ranges;
use rinductor_support::{FxHashMap, FxHashSet};

/// What a run of the driver did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// How many rewrites were done.
    pub rewrites: u64,
    /// How many dead ops were erased.
    pub erased: u64,
    /// Whether it stopped before nothing was left to do: some rewrites undo each other.
    pub stopped: bool,
}

impl Outcome {
    /// Whether anything is different.
    pub fn changed(self) -> bool {
        self.rewrites + self.erased > 0
    }
}

/// More rewrites than this for each op that there was at the start mean that they go in a circle.
const REWRITES_PER_OP: u64 = 32;
/// A small graph has this many more.
const MORE_REWRITES: u64 = 1000;

/// Rewrites everything below `root` until nothing changes: in the order of the text first, then whatever a rewrite may have made possible.
pub fn greedy(ir: &mut Ir, root: Op, infos: &dyn OpInfos, rewriter: &mut dyn Rewriter) -> Outcome {
    let mut edits = Edits::new(ir, root, infos);
    let limit = edits.waiting() as u64 * REWRITES_PER_OP + MORE_REWRITES;
    let mut outcome = Outcome::default();
    while let Some(op) = edits.next() {
        if rewriter.rewrite(&mut edits, op) {
            outcome.rewrites += 1;
            if outcome.rewrites >= limit {
                outcome.stopped = true;
                break;
            }
        }
    }
    outcome.erased = edits.erased();
    outcome
}

/// What a rule did where its pattern matched, for the trace.
pub struct Match {
    /// The rule's number in its set.
    pub rule: usize,
    /// What happened, in words: the ops before and after, or why nothing did.
    pub text: String,
    /// Whether it was applied.
    pub applied: bool,
    /// Where: the location of the root.
    pub loc: crate::ir::Loc,
}

/// Rewrites with the rules of a set.
pub struct RuleRewriter<'a> {
    rules: &'a RuleSet<'a>,
    infos: &'a dyn OpInfos,
    facts: FxHashMap<Op, Ranges>,
    /// How often each rule was applied.
    pub counts: Vec<u64>,
    /// What was done, and why not, where it is wanted.
    pub trace: Option<Vec<Match>>,
    /// Rules that were refused at an op, which is said once.
    refused: FxHashSet<(usize, Op)>,
}

impl<'a> RuleRewriter<'a> {
    /// Rewrites with these rules; `trace`: whether to keep what was done.
    pub fn new(rules: &'a RuleSet<'a>, infos: &'a dyn OpInfos, trace: bool) -> Self {
        let counts = vec![0; rules.rules.len()];
        Self {
            rules,
            infos,
            facts: FxHashMap::default(),
            counts,
            trace: trace.then(Vec::new),
            refused: FxHashSet::default(),
        }
    }

    /// What is known of the symbols around an op.
    fn facts_at(&mut self, ir: &mut Ir, op: Op) -> Ranges {
        let func =
            std::iter::successors(ir.parent_op(op), |&o| ir.parent_op(o)).find(|&o| ir.is_op(o, func::FuncOp::NAME));
        match func {
            Some(func) => self.facts.entry(func).or_insert_with(|| symbols::facts(ir, func)).clone(),
            None => ir.exprs.facts(),
        }
    }
}

impl Rewriter for RuleRewriter<'_> {
    fn rewrite(&mut self, edits: &mut Edits<'_>, op: Op) -> bool {
        let candidates = self.rules.rooted_at(edits.ir.op_name(op));
        if candidates.is_empty() {
            return false;
        }
        let facts = self.facts_at(edits.ir, op);
        let mut matcher = Matcher::new(facts.clone());
        for &k in candidates {
            let rule = &self.rules.rules[k];
            let Some(bindings) = matcher.matches(edits.ir, rule, op) else { continue };
            let before: Vec<String> = match self.trace {
                Some(_) => bindings.ops.iter().map(|&o| edits.ir.op_name(o).to_string()).collect(),
                None => Vec::new(),
            };
            let loc = edits.ir.op(op).loc;
            let (values, made) = match build(edits.ir, self.infos, &facts, &rule.def.replacement, bindings) {
                Ok(built) => built,
                Err(why) => {
                    if let Some(trace) = &mut self.trace
                        && self.refused.insert((k, op))
                    {
                        let text = format!("not applied to {}: {why}", before.join(", "));
                        trace.push(Match { rule: k, text, applied: false, loc });
                    }
                    continue;
                }
            };
            if values.iter().zip(edits.ir.results(op)).any(|(&v, r)| v == r) {
                continue;
            }
            if let Some(trace) = &mut self.trace {
                let after: Vec<&str> = made.iter().map(|&o| edits.ir.op_name(o)).collect();
                let after = if after.is_empty() { "a value that is there".to_string() } else { after.join(", ") };
                let text = format!("{} => {after}", before.join(", "));
                trace.push(Match { rule: k, text, applied: true, loc });
            }
            for &o in &made {
                edits.visit(o);
            }
            edits.replace(op, &values);
            self.counts[k] += 1;
            return true;
        }
        false
    }
}
