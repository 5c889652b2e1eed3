//! Leaving out parts of ops: operands, results, attributes, regions, blocks; and whole symbols.

use crate::ir::{Block, InsertPoint, Ir, Op, OpSpec, Region, Value};
use crate::support::FxHashSet;

fn inside(ir: &Ir) -> Vec<Op> {
    ir.nested_ops(ir.module())
}

/// The ops directly in the module.
pub(super) fn symbols(ir: &Ir) -> Vec<Op> {
    ir.block_op_list(ir.module_body())
}

/// Erases ops of the module. Who calls them is not asked: what does not verify then is not kept.
pub(super) fn erase_symbols(ir: &mut Ir, ops: &[Op]) -> bool {
    for &op in ops.iter().rev() {
        if ir.results(op).all(|v| ir.is_unused(v)) {
            ir.erase(op);
        }
    }
    !ops.is_empty()
}

/// Operands: op and number. Those of what ends a function are its results, which go elsewhere.
pub(super) fn operands(ir: &Ir) -> Vec<(Op, usize)> {
    let ops = inside(ir).into_iter().filter(|&op| !ir.is_op(op, "func.return"));
    ops.flat_map(|op| (0..ir.num_operands(op)).map(move |i| (op, i))).collect()
}

/// Leaves operands out, where an op takes any number of them or not all.
pub(super) fn drop_operands(ir: &mut Ir, units: &[(Op, usize)]) -> bool {
    for &(op, i) in units.iter().rev() {
        let mut values = ir.operand_list(op);
        values.remove(i);
        let segments = ir.operand_segments(op);
        ir.set_operands(op, &values);
        if let Some(mut segments) = segments {
            let mut end = 0;
            let group = segments.iter().position(|&n| {
                end += n;
                (i as i64) < end
            });
            if let Some(group) = group {
                segments[group] -= 1;
            }
            let attr = ir.i32_array_attr(&segments);
            ir.set_prop(op, "operandSegmentSizes", Some(attr));
        }
    }
    !units.is_empty()
}

/// Puts the first argument of the block that has the same type in the place of operands, so that what gave them may go.
pub(super) fn share_operands(ir: &mut Ir, units: &[(Op, usize)]) -> bool {
    let mut changed = false;
    for &(op, i) in units {
        let old = ir.operand(op, i);
        let first = |ir: &Ir| -> Option<Value> {
            let args = ir.block_args(ir.parent_block(op)?);
            args.iter().copied().find(|&a| ir.value_type(a) == ir.value_type(old))
        };
        if let Some(new) = first(ir).filter(|&new| new != old) {
            ir.set_operand(op, i, new);
            changed = true;
        }
    }
    changed
}

/// Results that nothing uses: op and number.
pub(super) fn unused_results(ir: &Ir) -> Vec<(Op, usize)> {
    let results = |op: Op| ir.results(op).enumerate().filter(|&(_, v)| ir.is_unused(v)).map(move |(i, _)| (op, i));
    inside(ir).into_iter().flat_map(|op| results(op).collect::<Vec<_>>()).collect()
}

/// Makes ops anew without some of their results.
pub(super) fn drop_results(ir: &mut Ir, units: &[(Op, usize)]) -> bool {
    for chunk in units.chunk_by(|a, b| a.0 == b.0) {
        let op = chunk[0].0;
        let kept: Vec<Value> =
            ir.results(op).enumerate().filter(|(i, _)| !chunk.iter().any(|u| u.1 == *i)).map(|r| r.1).collect();
        let data = ir.op(op).clone();
        let spec = OpSpec {
            name: data.name,
            operands: ir.operand_list(op),
            results: kept.iter().map(|&v| ir.value_type(v)).collect(),
            props: data.props,
            attrs: data.attrs,
            regions: ir.regions_of(op).len(),
            successors: ir.successors(op).iter().copied().collect(),
            loc: data.loc,
        };
        let new = ir.create(spec, InsertPoint::Before(op));
        for (from, to) in ir.regions_of(op).to_vec().into_iter().zip(ir.regions_of(new).to_vec()) {
            ir.take_blocks(from, to);
        }
        for (i, &value) in kept.iter().enumerate() {
            let result = ir.result(new, i);
            ir.copy_value_name(value, result);
            ir.replace_all_uses(value, result);
        }
        ir.erase(op);
    }
    !units.is_empty()
}

/// Attributes and properties: op, name, and whether it is a property.
pub(super) fn attributes(ir: &Ir) -> Vec<(Op, String, bool)> {
    // Without these no function is one.
    let needed = ["sym_name", "function_type", "operandSegmentSizes"];
    let mut units = Vec::new();
    for op in [ir.module()].into_iter().chain(inside(ir)) {
        for (dict, is_property) in [(ir.op(op).props, true), (ir.op(op).attrs, false)] {
            let names = ir.dict(dict).iter().map(|&(name, _)| ir.text(name));
            units.extend(names.filter(|n| !needed.contains(n)).map(|n| (op, n.to_string(), is_property)));
        }
    }
    units
}

/// Leaves attributes out.
pub(super) fn drop_attributes(ir: &mut Ir, units: &[(Op, String, bool)]) -> bool {
    for (op, name, is_property) in units {
        if *is_property { ir.set_prop(*op, name, None) } else { ir.set_attr(*op, name, None) }
    }
    !units.is_empty()
}

/// Ops whose one block could stand in their place: it has no arguments, and ends with a value for each result.
pub(super) fn inlinable(ir: &Ir) -> Vec<Op> {
    let fits = |&op: &Op| {
        let &[region] = ir.regions_of(op) else { return false };
        let &[block] = ir.blocks_of(region) else { return false };
        let Some(last) = ir.last_op(block) else { return false };
        let types = |mut values: Vec<Value>| values.drain(..).map(|v| ir.value_type(v)).collect::<Vec<_>>();
        ir.block_args(block).is_empty()
            && ir.attr_of(op, "sym_name").is_none()
            && types(ir.operand_list(last).to_vec()) == types(ir.results(op).collect())
    };
    inside(ir).into_iter().filter(fits).collect()
}

/// Puts what stands in the region of an op in its place.
pub(super) fn inline_regions(ir: &mut Ir, ops: &[Op]) -> bool {
    // What is inside comes first, so that each block is complete when it is moved.
    for &op in ops.iter().rev() {
        let block = ir.blocks_of(ir.regions_of(op)[0])[0];
        let mut body = ir.block_op_list(block);
        let Some(last) = body.pop() else { continue };
        for inner in body {
            ir.move_op(inner, InsertPoint::Before(op));
        }
        let values = ir.operand_list(last);
        ir.replace_op(op, &values);
    }
    !ops.is_empty()
}

/// Regions with something in them, but for bodies of functions.
pub(super) fn regions(ir: &Ir) -> Vec<(Op, Region)> {
    let ops = inside(ir).into_iter().filter(|&op| ir.attr_of(op, "sym_name").is_none());
    let full =
        |op: Op| ir.regions_of(op).iter().copied().filter(|&r| !ir.blocks_of(r).is_empty()).map(move |r| (op, r));
    ops.flat_map(|op| full(op).collect::<Vec<_>>()).collect()
}

/// Takes everything out of regions.
pub(super) fn empty_regions(ir: &mut Ir, units: &[(Op, Region)]) -> bool {
    for &(_, region) in units.iter().rev() {
        let blocks = ir.blocks_of(region).to_vec();
        // Uses between the blocks go first.
        for op in blocks.iter().flat_map(|&b| ir.block_op_list(b)).collect::<Vec<_>>() {
            for inner in ir.nested_ops(op) {
                ir.set_operands(inner, &[]);
            }
            ir.set_operands(op, &[]);
        }
        for block in blocks.into_iter().rev() {
            ir.erase_block(block);
        }
    }
    !units.is_empty()
}

/// Branches with several targets: op, and the number of the target that stays.
pub(super) fn branches(ir: &Ir) -> Vec<(Op, usize)> {
    let several = inside(ir).into_iter().filter(|&op| ir.successors(op).len() > 1 && ir.num_results(op) == 0);
    several.flat_map(|op| (0..ir.successors(op).len()).map(move |i| (op, i))).collect()
}

/// Makes branches go to one target always.
pub(super) fn drop_branches(ir: &mut Ir, units: &[(Op, usize)]) -> bool {
    for &(op, i) in units {
        if !ir.is_live(op) {
            continue;
        }
        let target = ir.successors(op)[i];
        // The operands for the targets stand last, a group for each.
        let count = ir.successors(op).len();
        let values = ir.operand_list(op);
        let operands = match ir.operand_segments(op) {
            Some(segments) if segments.len() >= count => {
                let first = segments.len() - count + i;
                let start = segments[..first].iter().sum::<i64>() as usize;
                values.get(start..start + segments[first] as usize).unwrap_or_default().to_vec()
            }
            _ => Vec::new(),
        };
        let name = ir.name("cf.br");
        let mut spec = OpSpec::named(name).operands(&operands).loc(ir.op(op).loc);
        spec.successors.push(target);
        ir.create(spec, InsertPoint::Before(op));
        ir.erase(op);
    }
    !units.is_empty()
}

/// Blocks that no branch names, but for the first of each region.
pub(super) fn unreached_blocks(ir: &Ir) -> Vec<Block> {
    let ops = inside(ir);
    let reached: FxHashSet<Block> = ops.iter().flat_map(|&op| ir.successors(op).iter().copied()).collect();
    let regions = ops.iter().flat_map(|&op| ir.regions_of(op).iter().copied());
    let later = regions.flat_map(|r| ir.blocks_of(r).iter().copied().skip(1).collect::<Vec<_>>());
    // What it defines may be used by other blocks that nothing reaches; they go first.
    let unused = |&block: &Block| {
        let own = |v: Value| ir.uses(v).all(|(user, _)| is_in(ir, user, block));
        ir.block_args(block).iter().all(|&v| own(v)) && ir.block_ops(block).all(|op| ir.results(op).all(own))
    };
    later.filter(|b| !reached.contains(b)).filter(unused).collect()
}

fn is_in(ir: &Ir, op: Op, block: Block) -> bool {
    std::iter::successors(Some(op), |&o| ir.parent_op(o)).any(|o| ir.parent_block(o) == Some(block))
}

/// Erases blocks.
pub(super) fn erase_blocks(ir: &mut Ir, blocks: &[Block]) -> bool {
    for &block in blocks.iter().rev() {
        ir.erase_block(block);
    }
    !blocks.is_empty()
}
