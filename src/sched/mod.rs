//! Fusion and tiling decisions: what may be done (legality), what pays (cost), in what order. Passes carry the decisions out.

pub mod cost;
pub mod flow;
pub mod footprint;
pub mod group;
pub mod inline;
pub mod memory;
pub mod nest;
pub mod product;
pub mod product_rule;
pub mod scan;
pub mod tile;
pub mod tile_gpu;
pub mod traffic;
pub mod walks;

use crate::dialects::loops::NestKind;
use crate::ir::{Ir, Loc, Op};
use std::borrow::Cow;

/// Why something is not done: a sentence with the facts in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WhyNot(pub Cow<'static, str>);

impl WhyNot {
    /// A reason.
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self(text.into())
    }
}

impl std::fmt::Display for WhyNot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A decision about an op, mostly about it and another, kept for `--remarks` and `--explain-fusion`.
#[derive(Clone, Debug)]
pub struct Decision {
    /// Where the op comes from that is asked about (it may be gone when the remark is shown).
    pub loc: Loc,
    /// The sentence.
    pub text: String,
    /// The other op: where it comes from, and its name.
    pub other: Option<(Loc, String)>,
}

impl Decision {
    /// A decision about one op.
    pub fn of(ir: &Ir, op: Op, text: impl std::fmt::Display) -> Decision {
        Decision { loc: ir.op(op).loc, text: format!("{}: {text}", named(ir, op)), other: None }
    }

    /// A decision about an op and another.
    pub fn between(ir: &Ir, op: Op, other: Op, text: impl std::fmt::Display) -> Decision {
        Decision { other: Some((ir.op(other).loc, named(ir, other))), ..Decision::of(ir, op, text) }
    }
}

/// The decisions of one run of a pass, kept where somebody reads them.
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    wanted: bool,
    list: Vec<Decision>,
}

impl Decisions {
    /// None yet; and none ever where they are not `wanted`.
    pub fn new(wanted: bool) -> Decisions {
        Decisions { wanted, list: Vec::new() }
    }

    /// Whether somebody reads them: ask before finding out what is said nowhere else.
    pub fn wanted(&self) -> bool {
        self.wanted
    }

    /// Keeps a decision, which is put into words only if somebody reads it.
    pub fn say(&mut self, decision: impl FnOnce() -> Decision) {
        if self.wanted {
            self.list.push(decision());
        }
    }

    /// All, in order.
    pub fn into_list(self) -> Vec<Decision> {
        self.list
    }
}

/// What people call an op: the name of its result, with the op's own where it is no nest.
pub fn named(ir: &Ir, op: Op) -> String {
    let name = ir.results(op).find_map(|v| ir.value_name(v));
    match (name, NestKind::of(ir, op)) {
        _ if ir.is_op(op, crate::dialects::func::ReturnOp::NAME) => "the caller".to_string(),
        (Some(name), Some(_)) => format!("%{name}"),
        (Some(name), None) => format!("%{name} ({})", ir.op_name(op)),
        (None, _) => format!("a {}", ir.op_name(op)),
    }
}
