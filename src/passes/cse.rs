//! Replaces an op by an earlier one that computes the same: common subexpression elimination.
//!
//! Ops are the same when name, properties, attributes, operands and result types are, and so on inside their regions. Only ops without
//! effects take part. The earlier op must dominate the later one. Two tensors that the caller sees stay two.
//!
//! Before:
//! ```mlir
//! func.func @f(%a: f32, %b: f32) -> f32 {
//!   %0 = arith.addf %a, %b : f32
//!   %1 = arith.addf %b, %a : f32
//!   %2 = arith.mulf %0, %1 : f32
//!   return %2 : f32
//! }
//! ```
//! After:
//! ```mlir
//! func.func @f(%a: f32, %b: f32) -> f32 {
//!   %0 = arith.addf %a, %b : f32
//!   %2 = arith.mulf %0, %0 : f32
//!   return %2 : f32
//! }
//! ```

use crate::ir::dominance::Dominance;
use crate::ir::{Block, Ir, Op, Region, TypeData, Value};
use crate::pass::{ANY, Changed, NoOptions, OpInfos, Pass, PassContext};
use crate::rewrite::storage::{escapes, is_view};
use crate::support::{Diagnostic, EntityId, FxHashMap};

/// The pass.
pub static PASS: Pass = Pass {
    name: "cse",
    source: include_str!("cse.rs"),
    on: None,
    needs: ANY,
    leaves: ANY,
    statistics: &[("replaced", "ops that an earlier one replaced")],
    run,
};

fn run(ir: &mut Ir, root: Op, _: &NoOptions, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
    let mut replaced = 0;
    let mut scopes = Scopes::default();
    scopes.enter(ir, root, cx.infos);
    while let Some(op) = scopes.next(ir) {
        if let Some(key) = key_of(ir, op, cx.infos) {
            if let Some(earlier) = scopes.find(ir, &key) {
                if both_escape(ir, earlier, op, cx.infos) {
                    continue;
                }
                let values: Vec<Value> = ir.results(earlier).collect();
                ir.replace_op(op, &values);
                replaced += 1;
                continue;
            }
            scopes.add(key, op);
        }
        scopes.enter(ir, op, cx.infos);
    }
    cx.count("replaced", replaced);
    Ok((replaced > 0).into())
}

/// Whether the caller sees the tensors of both ops, or views of them: these must not become one tensor, of which a write would change both.
fn both_escape(ir: &Ir, a: Op, b: Op, infos: &dyn OpInfos) -> bool {
    let seen = |op: Op| {
        ir.results(op).any(|r| matches!(ir.ty(ir.value_type(r)), TypeData::Tensor { .. }) && escapes(ir, infos, r))
    };
    !is_view(ir, infos, b) && seen(b) && seen(a)
}

/// A key longer than this is not made: the cost of nested regions, whose ops stand in the key of every op around them, stays linear.
const LONGEST_KEY: usize = 1 << 14;

type Key = Box<[u64]>;

/// What an op computes, as numbers: equal for two ops just when one can stand for the other. None when the op has effects.
fn key_of(ir: &Ir, op: Op, infos: &dyn OpInfos) -> Option<Key> {
    if !infos.of(ir, op).pure || ir.num_results(op) == 0 {
        return None;
    }
    let mut key = Vec::new();
    // Values and blocks inside the op are numbered as they come; the top bit keeps them apart from those outside.
    let mut inside: FxHashMap<Value, u64> = FxHashMap::default();
    let mut blocks: FxHashMap<Block, u64> = FxHashMap::default();
    const INSIDE: u64 = 1 << 63;
    let mut work = vec![Step::Op(op)];
    while let Some(step) = work.pop() {
        if key.len() > LONGEST_KEY {
            return None;
        }
        let current = match step {
            Step::Op(current) => current,
            Step::Block(block) => {
                key.push(ir.block_args(block).len() as u64);
                for &arg in ir.block_args(block) {
                    key.push(ir.value_type(arg).index() as u64);
                    inside.insert(arg, INSIDE | inside.len() as u64);
                }
                let ops = ir.block_op_list(block);
                key.push(ops.len() as u64);
                work.extend(ops.into_iter().rev().map(Step::Op));
                continue;
            }
        };
        let traits = infos.of(ir, current);
        if !(traits.pure || current != op && traits.terminator) {
            return None;
        }
        let data = ir.op(current);
        key.extend([data.name.index(), data.props.index(), data.attrs.index()].map(|i| i as u64));
        let mut operands = Vec::with_capacity(ir.num_operands(current));
        for value in ir.operands(current) {
            operands.push(match inside.get(&value) {
                Some(&number) => number,
                // A value of the op's own regions that is not numbered yet comes later in a graph region: not handled.
                None if current != op && ir.def_block(value).is_some_and(|b| is_below(ir, b, op)) => return None,
                None => value.index() as u64,
            });
        }
        if traits.commutative {
            operands.sort_unstable();
        }
        key.push(operands.len() as u64);
        key.extend(operands);
        for result in ir.results(current) {
            key.push(ir.value_type(result).index() as u64);
            if current != op {
                inside.insert(result, INSIDE | inside.len() as u64);
            }
        }
        for successor in ir.successors(current) {
            key.push(*blocks.get(successor)?);
        }
        let at = work.len();
        for &region in ir.regions_of(current) {
            key.push(ir.blocks_of(region).len() as u64);
            for &block in ir.blocks_of(region) {
                blocks.insert(block, INSIDE | blocks.len() as u64);
                work.push(Step::Block(block));
            }
        }
        work[at..].reverse();
    }
    Some(key.into())
}

enum Step {
    Op(Op),
    Block(Block),
}

fn is_below(ir: &Ir, block: Block, op: Op) -> bool {
    let owner = ir.block_region(block).and_then(|r| ir.region_op(r));
    owner.is_some_and(|o| ir.is_inside(o, op))
}

/// The regions around the place where the pass is, and the ops in them that may stand for another.
#[derive(Default)]
struct Scopes {
    stack: Vec<Scope>,
    /// Per key, the ops met, each with the depth of its scope.
    seen: FxHashMap<Key, Vec<(usize, Op)>>,
    /// The keys added, to take them away when a scope is left.
    added: Vec<Key>,
}

struct Scope {
    blocks: Vec<Block>,
    /// Which block comes after the current one.
    next_block: usize,
    block: Option<Block>,
    next: Option<Op>,
    dominance: Option<Dominance>,
    /// How many keys were added when the scope was entered.
    added: usize,
    /// The first depth whose ops are visible here: what is inside an isolated op uses nothing from outside.
    visible_from: usize,
}

impl Scopes {
    fn enter(&mut self, ir: &Ir, op: Op, infos: &dyn OpInfos) {
        let isolated = infos.of(ir, op).isolated;
        let outer = self.stack.last().map_or(0, |s| s.visible_from);
        let regions: Vec<Region> = ir.regions_of(op).iter().rev().copied().collect();
        let base = self.stack.len();
        for region in regions {
            let blocks = ir.blocks_of(region).to_vec();
            let dominance = (blocks.len() > 1).then(|| Dominance::new(ir, region));
            // Sibling regions wait on the stack below, without a current block: nothing of theirs is visible yet.
            let visible_from = if isolated { base } else { outer };
            let added = self.added.len();
            self.stack.push(Scope { blocks, next_block: 0, block: None, next: None, dominance, added, visible_from });
        }
    }

    /// The next op to look at, leaving scopes that are done.
    fn next(&mut self, ir: &Ir) -> Option<Op> {
        loop {
            let scope = self.stack.last_mut()?;
            if let Some(op) = scope.next {
                scope.next = ir.next_op(op);
                return Some(op);
            }
            if let Some(&block) = scope.blocks.get(scope.next_block) {
                scope.next_block += 1;
                scope.block = Some(block);
                scope.next = ir.first_op(block);
                continue;
            }
            let keep = scope.added;
            let depth = self.stack.len() - 1;
            for key in self.added.drain(keep..) {
                if let Some(list) = self.seen.get_mut(&key) {
                    list.retain(|&(d, _)| d < depth);
                }
            }
            self.stack.pop();
        }
    }

    fn find(&self, ir: &Ir, key: &Key) -> Option<Op> {
        let visible_from = self.stack.last()?.visible_from;
        let list = self.seen.get(key)?;
        list.iter()
            .rev()
            .find(|&&(depth, op)| {
                let scope = &self.stack[depth];
                let (Some(here), Some(there)) = (scope.block, ir.parent_block(op)) else { return false };
                depth >= visible_from && scope.dominance.as_ref().is_none_or(|d| d.dominates(there, here))
            })
            .map(|&(_, op)| op)
    }

    fn add(&mut self, key: Key, op: Op) {
        let depth = self.stack.len() - 1;
        self.seen.entry(key.clone()).or_default().push((depth, op));
        self.added.push(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{InsertPoint, Loc, OpSpec};
    use crate::pass::infos::TestInfos;

    fn cse(ir: &mut Ir) -> u64 {
        let mut cx = PassContext::new(&PASS, &TestInfos, false);
        let root = ir.module();
        run(ir, root, &NoOptions {}, &mut cx).unwrap();
        cx.finish().1[0].value()
    }

    fn value(ir: &mut Ir, name: &str, operands: &[Value], at: InsertPoint) -> Value {
        let ty = ir.int_type(32);
        ir.create_value(name, operands, ty, &[], Loc::Unknown, at)
    }

    #[test]
    fn equal_ops_become_one_and_effects_stay() {
        let mut ir = Ir::with_module();
        let end = InsertPoint::End(ir.module_body());
        let a = value(&mut ir, "effect.a", &[], end);
        let b = value(&mut ir, "effect.a", &[], end);
        let x = value(&mut ir, "comm.add", &[a, b], end);
        let y = value(&mut ir, "comm.add", &[b, a], end);
        let z = value(&mut ir, "pure.sub", &[a, b], end);
        let w = value(&mut ir, "pure.sub", &[b, a], end);
        let user = value(&mut ir, "effect.use", &[x, y, z, w], end);
        assert_eq!(cse(&mut ir), 1);
        let user = ir.def_op(user).unwrap();
        assert_eq!(ir.operand_list(user).as_slice(), &[x, x, z, w]);
    }

    /// `pure.loop { ^(i): yield op(i) }` twice with `op`, once with another.
    #[test]
    fn equal_regions_are_compared_inside() {
        let mut ir = Ir::with_module();
        let end = InsertPoint::End(ir.module_body());
        let ty = ir.int_type(32);
        let mut loops = Vec::new();
        for inner in ["pure.f", "pure.f", "pure.g", "effect.h", "effect.h"] {
            let name = ir.name("pure.loop");
            let op = ir.create(OpSpec::named(name).results(&[ty]).regions(1), end);
            let block = ir.add_block(ir.regions_of(op)[0]);
            let arg = ir.add_block_arg(block, ty);
            let v = value(&mut ir, inner, &[arg], InsertPoint::End(block));
            ir.create_op("end.yield", &[v], &[], &[], Loc::Unknown, InsertPoint::End(block));
            loops.push(ir.result(op, 0));
        }
        ir.create_op("effect.use", &loops, &[], &[], Loc::Unknown, end);
        assert_eq!(cse(&mut ir), 1);
        assert_eq!(ir.ops_named(ir.module(), "pure.loop").len(), 4);
    }

    /// Blocks a and b, neither of which dominates the other: an op of a does not stand for one of b, an op of the entry does for both.
    #[test]
    fn only_what_dominates_stands_for_another() {
        let mut ir = Ir::with_module();
        let f = ir.name("isolated.func");
        let body = ir.module_body();
        let outside = value(&mut ir, "pure.c", &[], InsertPoint::Start(body));
        let func = ir.create(OpSpec::named(f).regions(1), InsertPoint::End(body));
        let region = ir.regions_of(func)[0];
        let [entry, a, b] = [(); 3].map(|()| ir.add_block(region));
        let first = value(&mut ir, "pure.c", &[], InsertPoint::End(entry));
        let branch = ir.name("end.br");
        let mut spec = OpSpec::named(branch);
        spec.successors.extend([a, b]);
        ir.create(spec, InsertPoint::End(entry));
        let mut users = Vec::new();
        for block in [a, b] {
            let end = InsertPoint::End(block);
            let c = value(&mut ir, "pure.c", &[], end);
            let d = value(&mut ir, "pure.d", &[c], end);
            users.push(ir.create_op("end.ret", &[c, d], &[], &[], Loc::Unknown, end));
        }
        assert_eq!(cse(&mut ir), 2);
        assert_eq!((ir.operand(users[0], 0), ir.operand(users[1], 0)), (first, first));
        assert_ne!(ir.operand(users[0], 1), ir.operand(users[1], 1));
        assert!(ir.is_unused(outside));
    }
}
