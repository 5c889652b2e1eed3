//! A schedule as data: sequences of steps, read from the ops of the `schedule` dialect, and written as their text.

use crate::dialects::{loops, schedule};
use crate::ir::{Ir, Op, Value};
use crate::support::diag::Place;
use std::fmt::{self, Display};

/// Steps for a module at one level.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// Its symbol.
    pub name: String,
    /// Of an entry of a database, the key of the kernel that it is for.
    pub kernel: Option<String>,
    /// And the machine.
    pub machine: Option<String>,
    /// Whether it is for kernels; else for loops.
    pub on_kernels: bool,
    /// The op.
    pub op: Op,
    /// The steps.
    pub steps: Vec<Placed>,
}

/// A step and where it stands.
#[derive(Clone, Debug)]
pub struct Placed {
    /// For diagnostics.
    pub place: Place,
    /// The name of the op.
    pub name: &'static str,
    /// The handle that it gives.
    pub gives: Option<Value>,
    /// The handles that it takes.
    pub takes: Vec<Value>,
    /// What it does.
    pub step: Step,
}

/// What is said of the ops that are meant.
#[derive(Clone, Default, Debug)]
pub struct Pattern {
    /// The symbol of a kernel.
    pub kernel: Option<String>,
    /// The name of the op.
    pub kind: Option<String>,
    /// The name of a result.
    pub named: Option<String>,
    /// The symbol of the function that it stands in.
    pub function: Option<String>,
    /// A line of the model.
    pub at: Option<(String, i64)>,
}

/// A step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KernelStep {
    /// `schedule.split`: axis, size of a block, names.
    Split(String, i64, Option<(String, String)>),
    /// `schedule.tile`: axes and sizes of blocks.
    Tile(Vec<(String, i64)>),
    /// `schedule.reorder`.
    Reorder(Vec<String>),
    /// `schedule.vectorize`.
    Vectorize(String, i64),
    /// `schedule.unroll`.
    Unroll(String, i64),
    /// `schedule.parallel`.
    Parallel(String),
    /// `schedule.sequential`.
    Sequential(String),
    /// `schedule.cache_read`.
    CacheRead(String),
    /// `schedule.cache_write`.
    CacheWrite(String),
}

/// A step, at any level.
#[derive(Clone, Debug)]
pub enum Step {
    /// `schedule.match`.
    Match(Pattern),
    /// A step on kernels.
    Kernel(KernelStep),
    /// `schedule.inline`.
    Inline,
    /// `schedule.compute_at`.
    ComputeAt,
    /// `schedule.fuse`.
    Fuse,
}

impl Display for KernelStep {
    /// The step as text, on a handle `%k`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelStep::Split(axis, by, None) => write!(f, "schedule.split %k axis {axis} by {by}"),
            KernelStep::Split(axis, by, Some((outer, inner))) => {
                write!(f, "schedule.split %k axis {axis} by {by} into {outer}, {inner}")
            }
            KernelStep::Tile(blocks) => {
                let names: Vec<&str> = blocks.iter().map(|b| b.0.as_str()).collect();
                let sizes: Vec<String> = blocks.iter().map(|b| b.1.to_string()).collect();
                write!(f, "schedule.tile %k axes {} by [{}]", names.join(", "), sizes.join(", "))
            }
            KernelStep::Reorder(axes) => write!(f, "schedule.reorder %k axes {}", axes.join(", ")),
            KernelStep::Vectorize(axis, by) => write!(f, "schedule.vectorize %k axis {axis} by {by}"),
            KernelStep::Unroll(axis, by) => write!(f, "schedule.unroll %k axis {axis} by {by}"),
            KernelStep::Parallel(axis) => write!(f, "schedule.parallel %k axis {axis}"),
            KernelStep::Sequential(axis) => write!(f, "schedule.sequential %k axis {axis}"),
            KernelStep::CacheRead(buffer) => write!(f, "schedule.cache_read %k buffer {buffer}"),
            KernelStep::CacheWrite(buffer) => write!(f, "schedule.cache_write %k buffer {buffer}"),
        }
    }
}

/// The sequences of a module that was verified.
pub fn sequences(ir: &Ir) -> Vec<Sequence> {
    let all = ir.block_ops(ir.module_body()).filter_map(|op| schedule::SequenceOp::cast(ir, op));
    all.map(|s| Sequence {
        name: s.sym_name(ir).to_string(),
        kernel: ir.attr_of(s.0, "kernel").and_then(|a| ir.as_str(a)).map(str::to_string),
        machine: ir.attr_of(s.0, "machine").and_then(|a| ir.as_str(a)).map(str::to_string),
        on_kernels: s.level(ir) == "kernels",
        op: s.0,
        steps: ir.body(s.0).map(|b| ir.block_ops(b).filter_map(|op| placed(ir, op)).collect()).unwrap_or_default(),
    })
    .collect()
}

fn placed(ir: &Ir, op: Op) -> Option<Placed> {
    let words = |list: Vec<&str>| list.into_iter().map(str::to_string).collect::<Vec<_>>();
    let (name, step) = match ir.op_name(op) {
        schedule::MatchOp::NAME => {
            let m = schedule::MatchOp(op);
            let text = |t: Option<&str>| t.map(str::to_string);
            let at = m.file(ir).map(|file| (file.to_string(), m.line(ir).unwrap_or(0)));
            let (kernel, kind, named) = (text(m.kernel(ir)), text(m.kind(ir)), text(m.named(ir)));
            let pattern = Pattern { kernel, kind, named, function: text(m.function(ir)), at };
            (schedule::MatchOp::NAME, Step::Match(pattern))
        }
        schedule::SplitOp::NAME => {
            let s = schedule::SplitOp(op);
            let into = s.into(ir).map(words).and_then(|n| Some((n.first()?.clone(), n.get(1)?.clone())));
            (schedule::SplitOp::NAME, Step::Kernel(KernelStep::Split(s.axis(ir).to_string(), s.by(ir), into)))
        }
        schedule::TileOp::NAME => {
            let sizes = loops::map_exprs(ir, op, "by").into_iter().map(|e| ir.exprs.as_int(e).unwrap_or(0));
            let axes = words(schedule::TileOp(op).axes(ir));
            let sizes: Vec<i64> = sizes.chain(std::iter::repeat(0)).take(axes.len()).collect();
            (schedule::TileOp::NAME, Step::Kernel(KernelStep::Tile(axes.into_iter().zip(sizes).collect())))
        }
        schedule::ReorderOp::NAME => {
            let axes = words(schedule::ReorderOp(op).axes(ir));
            (schedule::ReorderOp::NAME, Step::Kernel(KernelStep::Reorder(axes)))
        }
        schedule::VectorizeOp::NAME => {
            let s = schedule::VectorizeOp(op);
            (schedule::VectorizeOp::NAME, Step::Kernel(KernelStep::Vectorize(s.axis(ir).to_string(), s.by(ir))))
        }
        schedule::UnrollOp::NAME => {
            let s = schedule::UnrollOp(op);
            (schedule::UnrollOp::NAME, Step::Kernel(KernelStep::Unroll(s.axis(ir).to_string(), s.by(ir))))
        }
        schedule::ParallelOp::NAME => {
            let axis = schedule::ParallelOp(op).axis(ir).to_string();
            (schedule::ParallelOp::NAME, Step::Kernel(KernelStep::Parallel(axis)))
        }
        schedule::SequentialOp::NAME => {
            let axis = schedule::SequentialOp(op).axis(ir).to_string();
            (schedule::SequentialOp::NAME, Step::Kernel(KernelStep::Sequential(axis)))
        }
        schedule::CacheReadOp::NAME => {
            let buffer = schedule::CacheReadOp(op).buffer(ir).to_string();
            (schedule::CacheReadOp::NAME, Step::Kernel(KernelStep::CacheRead(buffer)))
        }
        schedule::CacheWriteOp::NAME => {
            let buffer = schedule::CacheWriteOp(op).buffer(ir).to_string();
            (schedule::CacheWriteOp::NAME, Step::Kernel(KernelStep::CacheWrite(buffer)))
        }
        schedule::InlineOp::NAME => (schedule::InlineOp::NAME, Step::Inline),
        schedule::ComputeAtOp::NAME => (schedule::ComputeAtOp::NAME, Step::ComputeAt),
        schedule::FuseOp::NAME => (schedule::FuseOp::NAME, Step::Fuse),
        _ => return None,
    };
    let place = ir.place(ir.op(op).loc);
    Some(Placed { place, name, gives: ir.results(op).next(), takes: ir.operand_list(op).to_vec(), step })
}
