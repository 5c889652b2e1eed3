//! Removes what has no effect and whose results nobody uses, and blocks that nothing reaches.
//!
//! Before:
//! ```mlir
//! func.func @f(%a: f32) -> f32 {
//!   %0 = arith.addf %a, %a : f32
//!   %1 = arith.mulf %0, %a : f32
//!   return %a : f32
//! }
//! ```
//! After:
//! ```mlir
//! func.func @f(%a: f32) -> f32 {
//!   return %a : f32
//! }
//! ```

use crate::ir::dominance::Dominance;
use crate::ir::{Ir, Op};
use crate::pass::{ANY, Changed, NoOptions, OpInfos, Pass, PassContext};
use crate::support::Diagnostic;

/// The pass.
pub static PASS: Pass = Pass {
    name: "dce",
    source: include_str!("dce.rs"),
    on: None,
    needs: ANY,
    leaves: ANY,
    statistics: &[("erased", "ops that were erased"), ("unreachable", "blocks that nothing reached")],
    run,
};

fn run(ir: &mut Ir, root: Op, _: &NoOptions, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
    let blocks = erase_unreachable_blocks(ir, root);
    let ops = erase_dead_ops(ir, root, cx.infos);
    cx.count("unreachable", blocks);
    cx.count("erased", ops);
    Ok((blocks + ops > 0).into())
}

/// Erases every op below `root` that has no effect and whose results nobody uses; says how many.
pub fn erase_dead_ops(ir: &mut Ir, root: Op, infos: &dyn OpInfos) -> u64 {
    // From the last op to the first, users go before what they use; what an erased op used is looked at again. An op with regions is
    // looked at after what is in them.
    let mut work = ir.nested_ops(root);
    let mut erased = 0;
    while let Some(op) = work.pop() {
        if !ir.is_live(op) || !ir.results(op).all(|v| ir.is_unused(v)) || !infos.is_pure(ir, op) {
            continue;
        }
        if ir.parent_block(op).is_none() || infos.of(ir, op).terminator {
            continue;
        }
        ir.walk(op, &mut |inner| {
            for v in ir.operands(inner) {
                work.extend(ir.def_op(v).filter(|&d| !ir.is_inside(d, op)));
            }
            erased += 1;
        });
        ir.erase(op);
    }
    erased
}

/// Erases the blocks below `root` that their region's entry does not reach; says how many.
fn erase_unreachable_blocks(ir: &mut Ir, root: Op) -> u64 {
    let mut ops = vec![root];
    ops.extend(ir.nested_ops(root));
    let mut count = 0;
    for op in ops {
        if !ir.is_live(op) {
            continue;
        }
        for region in ir.regions_of(op).to_vec() {
            if ir.blocks_of(region).len() < 2 {
                continue;
            }
            let dominance = Dominance::new(ir, region);
            let dead: Vec<_> = ir.blocks_of(region).iter().copied().filter(|&b| !dominance.is_reachable(b)).collect();
            // They may use each other's values: all uses go first.
            for &block in &dead {
                for op in ir.block_op_list(block) {
                    let mut inside = vec![op];
                    inside.extend(ir.nested_ops(op));
                    for op in inside {
                        ir.set_operands(op, &[]);
                    }
                }
            }
            for &block in &dead {
                ir.erase_block(block);
            }
            count += dead.len() as u64;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{InsertPoint, Loc, OpSpec};
    use crate::pass::infos::TestInfos;

    #[test]
    fn chains_go_and_effects_stay() {
        let mut ir = Ir::with_module();
        let end = InsertPoint::End(ir.module_body());
        let ty = ir.int_type(32);
        let a = ir.create_value("effect.a", &[], ty, &[], Loc::Unknown, end);
        let b = ir.create_value("pure.b", &[a], ty, &[], Loc::Unknown, end);
        ir.create_value("pure.c", &[b, b], ty, &[], Loc::Unknown, end);
        let region = ir.name("pure.region");
        let keeps = ir.create(OpSpec::named(region).results(&[ty]).regions(1), end);
        let block = ir.add_block(ir.regions_of(keeps)[0]);
        ir.create_op("effect.print", &[], &[], &[], Loc::Unknown, InsertPoint::End(block));
        let module = ir.module();
        assert_eq!(erase_dead_ops(&mut ir, module, &TestInfos), 2);
        assert_eq!(ir.count_ops(), 4);
        ir.erase_block(block);
        assert_eq!(erase_dead_ops(&mut ir, module, &TestInfos), 1);
    }

    #[test]
    fn unreachable_blocks_go_though_they_use_each_other() {
        let mut ir = Ir::with_module();
        let ty = ir.int_type(32);
        let name = ir.name("isolated.func");
        let func = ir.create(OpSpec::named(name).regions(1), InsertPoint::End(ir.module_body()));
        let region = ir.regions_of(func)[0];
        let [entry, a, b] = [(); 3].map(|()| ir.add_block(region));
        ir.create_op("end.ret", &[], &[], &[], Loc::Unknown, InsertPoint::End(entry));
        let x = ir.create_value("effect.x", &[], ty, &[], Loc::Unknown, InsertPoint::End(b));
        ir.create_op("effect.use", &[x], &[], &[], Loc::Unknown, InsertPoint::End(a));
        let module = ir.module();
        assert_eq!(erase_unreachable_blocks(&mut ir, module), 2);
        assert_eq!(ir.blocks_of(region), &[entry]);
    }
}
