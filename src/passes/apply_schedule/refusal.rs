//! Why a step is refused: a sentence, and the dependence that forbids it, with the places of its two ends.

use crate::dialects::kernels::{self, Axis};
use crate::dialects::loops::Access;
use crate::ir::{Ir, Op, Value};
use crate::support::Diagnostic;
use crate::support::diag::Place;
use rinductor_index::{Atom, Expr};

/// A step that is not done.
#[derive(Clone, Debug)]
pub struct Refusal {
    message: String,
    notes: Vec<(Place, String)>,
}

/// What happens at `source` must happen before what happens at `sink`.
#[derive(Clone, Debug)]
pub struct Dependence {
    /// What is first.
    pub source: Op,
    /// What depends on it.
    pub sink: Op,
    /// In which way.
    pub why: String,
}

impl Refusal {
    /// A refusal.
    pub fn new(message: impl Into<String>) -> Refusal {
        Refusal { message: message.into(), notes: Vec::new() }
    }

    /// Adds what is said at an op.
    #[must_use]
    pub fn note(mut self, ir: &Ir, op: Op, text: impl Into<String>) -> Refusal {
        self.notes.push((ir.place(ir.op(op).loc), text.into()));
        self
    }

    /// Adds the dependence that forbids the step.
    #[must_use]
    pub fn forbidden(self, ir: &Ir, dependence: &Dependence) -> Refusal {
        let Dependence { source, sink, why } = dependence;
        let source_text = format!("the dependence from {} here: {why}", shown(ir, *source));
        self.note(ir, *source, source_text).note(ir, *sink, format!("to {} here", shown(ir, *sink)))
    }

    /// The error for a step that stands at a place.
    pub fn at(self, place: Place, step: &str) -> Diagnostic {
        let error = Diagnostic::error(place, format!("'{step}': {}", self.message));
        self.notes.into_iter().fold(error, |d, (place, text)| d.note(place, text))
    }
}

/// `%m = 'kernels.reduce'`.
fn shown(ir: &Ir, op: Op) -> String {
    let name = ir.results(op).find_map(|v| ir.value_name(v)).map(|n| format!("%{n} = ")).unwrap_or_default();
    format!("{name}'{}'", ir.op_name(op))
}

/// What forbids that the steps of a walk are taken in another order, or at once: it hands values on, or writes a place that another step writes or reads.
/// With `atomics`, what is combined in memory does so in any order.
pub fn kept_in_order(ir: &mut Ir, axes: &[Axis], walk: Op, atomics: bool) -> Option<Dependence> {
    if !ir.is_op(walk, kernels::ForOp::NAME) {
        return None;
    }
    let over: Vec<String> = kernels::walked_axes(ir, walk).into_iter().map(str::to_string).collect();
    if ir.num_operands(walk) > 0 {
        let body = ir.body(walk)?;
        let end = ir.last_op(body)?;
        let sink = ir.block_args(body).iter().find_map(|&v| ir.uses(v).next()).map_or(walk, |(user, _)| user);
        let source = ir.operands(end).find_map(|v| ir.def_op(v)).unwrap_or(end);
        return Some(Dependence { source, sink, why: format!("a step over {} hands it to the next", over.join(", ")) });
    }
    let walked: Vec<usize> = (0..axes.len()).filter(|&a| over.contains(&axes[a].name)).collect();
    let inside = ir.nested_ops(walk);
    let mut data = Vec::new();
    for &op in &inside {
        if ir.is_op(op, kernels::AtomicOp::NAME) && !atomics {
            let why = "steps may combine into one place, in the order in which they come";
            return Some(Dependence { source: op, sink: op, why: why.into() });
        }
        if !ir.is_op(op, kernels::StoreOp::NAME) {
            continue;
        }
        let place = coordinates(ir, axes, op, &mut data);
        let told = kernels::told_axes(ir, axes, op);
        if walked.iter().any(|a| !told.contains(a)) {
            let why = "two steps may write one place, and the later one stays";
            return Some(Dependence { source: op, sink: op, why: why.into() });
        }
        let buffer = kernels::StoreOp(op).buffer(ir);
        for &load in &inside {
            if ir.is_op(load, kernels::LoadOp::NAME)
                && kernels::LoadOp(load).buffer(ir) == buffer
                && coordinates(ir, axes, load, &mut data) != place
            {
                let why = "another step may write what this reads";
                return Some(Dependence { source: op, sink: load, why: why.into() });
            }
        }
    }
    None
}

/// The coordinates of an access over the axes, which are its dimensions; `data` are the values behind the dimensions after them.
pub fn coordinates(ir: &mut Ir, axes: &[Axis], op: Op, data: &mut Vec<Value>) -> Vec<Expr> {
    let Some(leading) = kernels::address_operands(ir.op_name(op)) else { return Vec::new() };
    let access = Access::of(ir, op, leading);
    let mut with = Vec::new();
    for (k, &v) in access.index.iter().enumerate() {
        let dim = kernels::axis_of(ir, axes, v).unwrap_or_else(|| {
            let at = data.iter().position(|&d| d == v).unwrap_or_else(|| {
                data.push(v);
                data.len() - 1
            });
            axes.len() + at
        });
        with.push((Atom::Dim(k as u32), ir.exprs.dim(dim as u32)));
    }
    access.exprs.iter().map(|&e| ir.exprs.subst(e, &with)).collect()
}
