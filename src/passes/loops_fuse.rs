//! Puts nests that become one kernel into one `loops.fusion`.
//!
//! Before:
//! ```mlir
//! func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
//!   %m = loops.reduce (%i) in [4] over (%r) in [8] with maximum -> tensor<4xf32> {
//!     %v = loops.load %x[%i, %r] : f32
//!     loops.yield %v : f32
//!   }
//!   %d = loops.pointwise (%i, %j) in [4, 8] -> tensor<4x8xf32> {
//!     %v = loops.load %x[%i, %j] : f32
//!     %w = loops.load %m[%i] : f32
//!     %s = arith.subf %v, %w : f32
//!     loops.yield %s : f32
//!   }
//!   return %d : tensor<4x8xf32>
//! }
//! ```
//! After:
//! ```mlir
//! func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
//!   %d = loops.fusion -> tensor<4x8xf32> {
//!     %m = loops.reduce (%i) in [4] over (%r) in [8] with maximum -> tensor<4xf32> {
//!       %v = loops.load %x[%i, %r] : f32
//!       loops.yield %v : f32
//!     }
//!     %d = loops.pointwise (%i, %j) in [4, 8] -> tensor<4x8xf32> {
//!       %v = loops.load %x[%i, %j] : f32
//!       %w = loops.load %m[%i] : f32
//!       %s = arith.subf %v, %w : f32
//!       loops.yield %s : f32
//!     }
//!     loops.return %d : tensor<4x8xf32>
//!   }
//!   return %d : tensor<4x8xf32>
//! }
//! ```
//! Which nests belong together is decided in `sched::group`.

use crate::dialects::{func, loops};
use crate::ir::{Block, InsertPoint, Ir, Op, OpSpec, Value};
use crate::pass::{Changed, Level, Pass, PassContext};
use crate::pass_options;
use crate::sched::Decisions;
use crate::sched::group::{Grouping, Limits};
use crate::support::Diagnostic;
use rinductor_support::FxHashMap;

pass_options! {
    pub struct Options {
        /// The most nests of one kernel.
        max_members: usize = 64,
        /// The most tensors that one kernel reads.
        max_inputs: usize = 48,
    }
}

/// The pass.
pub static PASS: Pass<Options> = Pass {
    name: "loops-fuse",
    source: include_str!("loops_fuse.rs"),
    on: Some(func::FuncOp::NAME),
    needs: &[Level::Loop],
    leaves: &[Level::Loop],
    statistics: &[("groups", "fusions made"), ("fused", "nests in them")],
    run,
};

fn run(ir: &mut Ir, root: Op, options: &Options, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
    let Some(block) = ir.body(root) else { return Ok(Changed::No) };
    let limits = Limits { members: options.max_members, inputs: options.max_inputs, ..Limits::default() };
    let outcome = fuse_block(ir, block, limits, Decisions::new(cx.wants_remarks()));
    cx.count("groups", outcome.groups);
    cx.count("fused", outcome.fused);
    super::util::explain(ir, outcome.decisions, cx);
    Ok((outcome.groups > 0).into())
}

/// What the pass did.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Groups of more than one nest.
    pub groups: u64,
    /// Nests in them.
    pub fused: u64,
    /// The fusions, each with its nests.
    pub made: Vec<(Op, Vec<Op>)>,
    /// Why each pair was or was not fused.
    pub decisions: Decisions,
}

/// Groups the nests of one block.
pub fn fuse_block(ir: &mut Ir, block: Block, limits: Limits, decisions: Decisions) -> Outcome {
    let grouping = Grouping::run(ir, block, limits, decisions);
    let (groups, decisions) = (grouping.groups, grouping.decisions);
    let mut outcome = Outcome { decisions, ..Outcome::default() };
    for group in groups.iter().filter(|g| g.members.len() > 1) {
        outcome.groups += 1;
        outcome.fused += group.members.len() as u64;
        let fusion = build_fusion(ir, &group.members);
        outcome.made.push((fusion, group.members.clone()));
    }
    sort_block(ir, block);
    outcome
}

/// Moves the members into a new `loops.fusion` at the place of the last one. Ops between them may then stand before what they use, until [`sort_block`].
pub fn build_fusion(ir: &mut Ir, members: &[Op]) -> Op {
    let last = members[members.len() - 1];
    let inside = |ir: &Ir, user: Op| members.iter().any(|&m| ir.is_inside(user, m));
    let mut outputs: Vec<Value> = Vec::new();
    for &member in members {
        for result in ir.results(member) {
            if ir.uses(result).any(|(user, _)| !inside(ir, user)) {
                outputs.push(result);
            }
        }
    }
    let types: Vec<_> = outputs.iter().map(|&v| ir.value_type(v)).collect();
    let locs: Vec<_> = members.iter().map(|&m| ir.op(m).loc).collect();
    let loc = ir.fused_loc(&locs);
    let name = ir.name(loops::FusionOp::NAME);
    let fusion = ir.create(OpSpec::named(name).results(&types).regions(1).loc(loc), InsertPoint::After(last));
    let region = ir.regions_of(fusion)[0];
    let body = ir.add_block(region);
    for &member in members {
        ir.move_op(member, InsertPoint::End(body));
    }
    for (k, &output) in outputs.iter().enumerate() {
        let result = ir.result(fusion, k);
        ir.copy_value_name(output, result);
        let uses: Vec<(Op, usize)> = ir.uses(output).filter(|&(user, _)| !ir.is_inside(user, fusion)).collect();
        for (user, operand) in uses {
            ir.set_operand(user, operand, result);
        }
    }
    loops::create_yield(ir, loops::ReturnOp::NAME, &outputs, loc, body);
    fusion
}

/// Puts the ops of a block into an order in which every definition stands before its uses: a fusion stands at its last member, and
/// an op between the members may use the first. Stable: what is in order already stays.
pub fn sort_block(ir: &mut Ir, block: Block) {
    let ops = ir.block_op_list(block);
    let position: FxHashMap<Op, usize> = ops.iter().enumerate().map(|(i, &op)| (op, i)).collect();
    let mut placed = vec![false; ops.len()];
    let mut opened = vec![false; ops.len()];
    let mut order: Vec<Op> = Vec::with_capacity(ops.len());
    for start in 0..ops.len() {
        let mut stack = vec![(start, false)];
        while let Some((i, ready)) = stack.pop() {
            if placed[i] {
                continue;
            }
            if ready {
                placed[i] = true;
                order.push(ops[i]);
                continue;
            }
            if std::mem::replace(&mut opened[i], true) {
                continue;
            }
            stack.push((i, true));
            for input in inputs(ir, ops[i]).into_iter().rev() {
                if let Some(&at) = position.get(&input)
                    && !opened[at]
                {
                    stack.push((at, false));
                }
            }
        }
    }
    if order != ops {
        for &op in &order {
            ir.move_op(op, InsertPoint::End(block));
        }
    }
}

/// The ops of the same block whose results an op (or what is nested in it) uses.
pub fn inputs(ir: &Ir, op: Op) -> Vec<Op> {
    let block = ir.parent_block(op);
    let mut list = Vec::new();
    ir.walk(op, &mut |inner| {
        for v in ir.operands(inner) {
            if let Some(def) = ir.def_op(v)
                && ir.parent_block(def) == block
                && !list.contains(&def)
            {
                list.push(def);
            }
        }
    });
    list
}
