//! Makes one kernel of two that follow each other, step over the same axes and touch the same buffers: what one writes and the other reads at the same
//! place stays in a register, and is not written at all where nothing else reads it.
//!
//! Before:
//! ```mlir
//! kernels.func @k(%x: memref<64xf32>, %a: memref<64xf32>) axes {x = 64 tile 1 parallel} {
//!   %xi = kernels.axis x : vector<1xindex>
//!   %v = kernels.load %x[%xi] : vector<1xf32>
//!   %w = math.exp %v : vector<1xf32>
//!   kernels.store %w, %a[%xi] : vector<1xf32>
//! }
//! kernels.func @l(%a: memref<64xf32>, %y: memref<128xf32>) axes {x = 64 tile 1 parallel} {
//!   %xi = kernels.axis x : vector<1xindex>
//!   %v = kernels.load %a[%xi] : vector<1xf32>
//!   kernels.store %v, %y[%xi + 64] : vector<1xf32>
//! }
//! func.func @f(%x: memref<64xf32>, %y: memref<128xf32>) {
//!   %a = kernels.alloc : memref<64xf32>
//!   kernels.launch @k(%x, %a) : memref<64xf32>, memref<64xf32>
//!   kernels.launch @l(%a, %y) : memref<64xf32>, memref<128xf32>
//!   return
//! }
//! ```
//! After:
//! ```mlir
//! kernels.func @k(%x: memref<64xf32>, %y: memref<128xf32>) axes {x = 64 tile 1 parallel} {
//!   %xi = kernels.axis x : vector<1xindex>
//!   %v = kernels.load %x[%xi] : vector<1xf32>
//!   %w = math.exp %v : vector<1xf32>
//!   kernels.store %w, %y[%xi + 64] : vector<1xf32>
//! }
//! func.func @f(%x: memref<64xf32>, %y: memref<128xf32>) {
//!   kernels.launch @k(%x, %y) : memref<64xf32>, memref<128xf32>
//!   return
//! }
//! ```
//! Nests are fused before they are kernels (`loops-fuse`); this is for what became the same only when kernels were cut (`kernels-split`): the parts of a
//! concatenation. Kernels that reduce, walk, check positions or take symbols stay apart.

mod merge;

use super::kernels_split::is_plain;
use crate::dialects::kernels::{self, Axis};
use crate::dialects::loops::Access;
use crate::ir::{Block, Ir, Op, TypeData, Value};
use crate::pass::{Changed, Level, NoOptions, Pass, PassContext};
use crate::support::Diagnostic;
use rinductor_index::{Atom, Expr};
use rinductor_support::FxHashSet;

/// The pass.
pub static PASS: Pass = Pass {
    name: "kernels-join",
    source: include_str!("kernels_join.rs"),
    on: Some(crate::dialects::func::FuncOp::NAME),
    needs: &[Level::Kernel],
    leaves: &[Level::Kernel],
    statistics: &[("joined", "kernels that became part of the one before them")],
    run,
};

/// Buffers that a joined kernel may touch: each is a stream that the machine has to follow.
const MOST_BUFFERS: usize = 8;

/// Ops that a joined kernel may have.
const MOST_OPS: usize = 96;

fn run(ir: &mut Ir, func: Op, _: &NoOptions, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
    let Some(body) = ir.body(func) else { return Ok(Changed::No) };
    let mut used: FxHashSet<String> = FxHashSet::default();
    let mut shared: FxHashSet<String> = FxHashSet::default();
    for launch in ir.ops_named(ir.module(), kernels::LaunchOp::NAME) {
        let name = kernels::LaunchOp(launch).callee(ir).to_string();
        if !used.insert(name.clone()) {
            shared.insert(name);
        }
    }
    let mut joined = 0;
    let mut last: Option<Op> = None;
    for op in ir.block_op_list(body) {
        match ir.op_name(op) {
            kernels::AllocOp::NAME | kernels::ViewOp::NAME => {}
            kernels::LaunchOp::NAME if shared.contains(kernels::LaunchOp(op).callee(ir)) => last = None,
            kernels::LaunchOp::NAME => {
                let Some(first) = last.replace(op) else { continue };
                let said = cx.wants_remarks().then(|| kernels::LaunchOp(op).callee(ir).to_string());
                let verdict = match Pair::of(ir, first, op) {
                    Ok(pair) => {
                        joined += 1;
                        last = Some(pair.join(ir));
                        "becomes part of the kernel before it, with what both touch".to_string()
                    }
                    Err(why) => format!("stays apart from the kernel before it: {why}"),
                };
                if let (Some(name), Some(at)) = (said, last) {
                    cx.remark(ir, at, format!("@{name} {verdict}"));
                }
            }
            _ => last = None,
        }
    }
    cx.count("joined", joined);
    Ok((joined > 0).into())
}

/// A launch, its kernel and the kernel's body.
#[derive(Clone, Copy)]
struct Part {
    launch: Op,
    kernel: Op,
    body: Block,
}

impl Part {
    /// A launch whose kernel does each point by itself and takes buffers alone.
    fn of(ir: &Ir, launch: Op) -> Option<Part> {
        let kernel = ir.lookup_symbol(kernels::LaunchOp(launch).callee(ir))?;
        let body = ir.body(kernel)?;
        let buffers = ir.block_args(body).iter().all(|&a| matches!(ir.ty(ir.value_type(a)), TypeData::MemRef { .. }));
        (buffers && is_plain(ir, kernel) && ir.attr_of(kernel, "arg_attrs").is_none()).then_some(Part {
            launch,
            kernel,
            body,
        })
    }

    /// The buffers of the host that it touches, with the ops that do.
    fn accesses(&self, ir: &Ir) -> Vec<(Value, Op)> {
        let args = ir.block_args(self.body);
        let at = |(k, &a): (usize, &Value)| ir.uses(a).map(move |(op, _)| (k, op)).collect::<Vec<_>>();
        let all = args.iter().enumerate().flat_map(at);
        all.map(|(k, op)| (ir.operand(self.launch, k), op)).collect()
    }
}

/// Two kernels that may become one.
struct Pair {
    first: Part,
    second: Part,
    /// Loads of the second and what the first stores there.
    known: Vec<(Op, Value)>,
}

impl Pair {
    fn of(ir: &mut Ir, first: Op, second: Op) -> Result<Pair, &'static str> {
        let plain = "one of them reduces, walks, checks positions, or takes symbols";
        let first = Part::of(ir, first).ok_or(plain)?;
        let second = Part::of(ir, second).ok_or(plain)?;
        let axes = kernels::axes_of(ir, first.kernel).ok_or(plain)?;
        let others = kernels::axes_of(ir, second.kernel).ok_or(plain)?;
        let same = |a: &Axis, b: &Axis| a.extent == b.extent && a.tile == 1 && b.tile == 1 && !a.reduced && !b.reduced;
        if axes.len() != others.len() || !axes.iter().zip(&others).all(|(a, b)| same(a, b)) {
            return Err("they step over different axes");
        }
        let (before, after) = (first.accesses(ir), second.accesses(ir));
        let buffers: FxHashSet<Value> = before.iter().chain(&after).map(|a| kernels::memory_of(ir, a.0)).collect();
        let ops = ir.block_op_list(first.body).len() + ir.block_op_list(second.body).len();
        if buffers.len() > MOST_BUFFERS || ops > MOST_OPS {
            return Err("together they would touch too many buffers or be too long");
        }
        let is_store = |ir: &Ir, op: Op| ir.is_op(op, kernels::StoreOp::NAME);
        let mut known = Vec::new();
        let mut shared = false;
        for &(x, a) in &before {
            for &(y, b) in &after {
                if kernels::memory_of(ir, x) != kernels::memory_of(ir, y) {
                    continue;
                }
                shared = true;
                match (is_store(ir, a), is_store(ir, b)) {
                    (false, false) => {}
                    (true, false) => {
                        let elsewhere = "what one writes the other reads at another place";
                        let here = place(ir, &axes, a).filter(|_| x == y).ok_or(elsewhere)?;
                        let there = place(ir, &others, b).ok_or(elsewhere)?;
                        let alone = kernels::told_axes(ir, &axes, a);
                        let all = axes.iter().enumerate();
                        let alone =
                            all.into_iter().all(|(k, x)| alone.contains(&k) || ir.exprs.as_int(x.extent) == Some(1));
                        let value = ir.operand(a, 0);
                        if here != there || !alone || ir.value_type(value) != ir.value_type(ir.result(b, 0)) {
                            return Err(elsewhere);
                        }
                        known.push((b, value));
                    }
                    (_, true) => {
                        let over = "the second writes what the first touches, not known to be at other places";
                        let one = place(ir, &axes, a).ok_or(over)?;
                        let other = place(ir, &others, b).ok_or(over)?;
                        if x != y || !apart(ir, &axes, &one, &other) {
                            return Err(over);
                        }
                    }
                }
            }
        }
        // What is stored twice is not known.
        let twice = |load: Op| known.iter().filter(|k| k.0 == load).count() > 1;
        if !shared || known.iter().any(|k| twice(k.0)) {
            return Err("they touch no buffer in common, or one is written twice");
        }
        Ok(Pair { first, second, known })
    }
}

/// The coordinates of an access that nothing guards, over the numbers of the axes.
fn place(ir: &mut Ir, axes: &[Axis], op: Op) -> Option<Vec<Expr>> {
    let access = Access::of(ir, op, kernels::address_operands(ir.op_name(op))?);
    if access.guard.is_some() {
        return None;
    }
    let mut with = Vec::new();
    for (k, &v) in access.index.iter().enumerate() {
        let axis = kernels::axis_of(ir, axes, v)?;
        with.push((Atom::Dim(k as u32), ir.exprs.dim(axis as u32)));
    }
    Some(access.exprs.iter().map(|&e| ir.exprs.subst(e, &with)).collect())
}

/// Whether no step reaches at `one` what any step reaches at `other`: on some axis that both walk alike they lie further apart than it is long.
fn apart(ir: &mut Ir, axes: &[Axis], one: &[Expr], other: &[Expr]) -> bool {
    one.iter().zip(other).any(|(&a, &b)| {
        (0..axes.len()).any(|k| {
            let (x, y) = (ir.exprs.linear_in(a, Atom::Dim(k as u32)), ir.exprs.linear_in(b, Atom::Dim(k as u32)));
            let (Some((x, x0)), Some((y, y0))) = (x, y) else { return false };
            let both = [x, x0, y, y0, axes[k].extent].map(|e| ir.exprs.as_int(e));
            matches!(both, [Some(1), Some(x0), Some(1), Some(y0), Some(n)] if x0.abs_diff(y0) >= n.unsigned_abs())
        })
    })
}
