//! Rewriting: rules of dialect files matched and applied, and the driver that rewrites to a fixpoint.
//!
//! A rule is text beside the ops (`rule permute_permute: aten.permute(aten.permute(x, p), q) => aten.permute(x, compose(p, q));`), or in a
//! file of its own that `--load-rules` reads. [`RuleSet::compile`] takes the rules of some sets and indexes them by the op at
//! their root; [`greedy`] rewrites until nothing changes, with a [`RuleRewriter`] or with a [`Rewriter`] that is written in Rust.
//!
//! | file | holds |
//! |---|---|
//! | `pattern` | rules as the matcher works on them: ops and arguments looked up |
//! | `matcher` | one rule against one op: bindings |
//! | `build` | the ops of a replacement, their properties and inferred types |
//! | `sizes` | symbolic integers as values of the graph |
//! | `types` | the IR's type of an inferred tensor |
//! | `facts` | the functions by which conditions ask about the graph |
//! | `storage` | whose memory a tensor shares, so that no rule makes two tensors of the caller's one |
//! | `edits` | the IR while it is rewritten, with the list of ops to look at again |
//! | `driver` | the fixpoint; rules as one of its rewriters |

pub mod build;
pub mod driver;
pub mod edits;
pub mod facts;
pub mod matcher;
pub mod pattern;
pub mod sizes;
pub mod storage;
pub mod types;

pub use driver::{Match, Outcome, RuleRewriter, greedy};
pub use edits::{Edits, Rewriter};
pub use pattern::{Rule, RuleSet};
