//! Steps on nests: computing them where they are read, and making one kernel of several.

use super::refusal::{Dependence, Refusal};
use crate::dialects::loops::{Access, Nest, NestKind};
use crate::dialects::{func, loops};
use crate::ir::{Ir, Op};
use crate::passes::loops_fuse::{build_fusion, inputs};
use crate::passes::loops_inline::inline_places;
use crate::sched::Decisions;
use crate::sched::group::{Grouping, Limits};
use crate::sched::inline::Uses;
use rinductor_support::FxHashMap;

/// Computes the points of a nest where they are read: by one reader, or by all.
///
/// # Errors
/// A point of the nest is no value by itself, or the reader does not read it.
pub fn inline(ir: &mut Ir, op: Op, reader: Option<Op>) -> Result<(), Refusal> {
    let nest = Nest::of(ir, op).ok_or_else(|| Refusal::new(format!("'{}' is no nest", ir.op_name(op))))?;
    let mut uses = Uses::of(ir, &nest);
    if let Some(reader) = reader {
        uses.places.retain(|place| ir.is_inside(place[0], reader));
        if uses.places.is_empty() {
            return Err(Refusal::new("the reader does not read it").note(ir, op, "this").note(
                ir,
                reader,
                "the reader",
            ));
        }
    }
    if nest.kind != NestKind::Pointwise {
        let refusal = Refusal::new(format!("a point of '{}' is not computed by itself", ir.op_name(op)));
        return Err(match uses.places.first() {
            Some(place) => {
                let why = "what it reads is known when all points are combined".to_string();
                refusal.forbidden(ir, &Dependence { source: op, sink: place[0], why })
            }
            None => refusal,
        });
    }
    inline_places(ir, &nest, &uses.places);
    if ir.results(op).all(|r| ir.is_unused(r)) {
        ir.erase(op);
    }
    Ok(())
}

/// Makes one `loops.fusion` of nests, in the order of the program; gives it. The block is to be sorted afterwards.
///
/// # Errors
/// They do not fit one kernel, or another op has to run between them.
pub fn fuse(ir: &mut Ir, ops: &[Op]) -> Result<Op, Refusal> {
    let Some(block) = ops.first().and_then(|&op| ir.parent_block(op)) else {
        return Err(Refusal::new("there is nothing to fuse"));
    };
    let members: Vec<Op> = ir.block_ops(block).filter(|op| ops.contains(op)).collect();
    if let Some(&op) = ops.iter().find(|op| !members.contains(op)) {
        return Err(Refusal::new("they stand in different functions or fusions").note(ir, op, "this one"));
    }
    if let Some(&op) = members.iter().find(|&&op| NestKind::of(ir, op).is_none()) {
        return Err(Refusal::new(format!("'{}' is no nest", ir.op_name(op))).note(ir, op, "here"));
    }
    if members.len() < 2 {
        return Err(Refusal::new("one nest is a kernel by itself"));
    }
    if let Some(dependence) = between(ir, block, &members) {
        return Err(Refusal::new("another op runs between them").forbidden(ir, &dependence));
    }
    if ir.parent_op(members[0]).is_none_or(|f| !ir.is_op(f, func::FuncOp::NAME)) {
        return Err(Refusal::new("they stand in a fusion already").note(ir, members[0], "here"));
    }
    fits(ir, &members)?;
    Ok(build_fusion(ir, &members))
}

/// An op outside of a group that needs a member and that a member needs.
fn between(ir: &Ir, block: crate::ir::Block, members: &[Op]) -> Option<Dependence> {
    // For each op outside that depends on a member: that member.
    let mut source: FxHashMap<Op, Op> = FxHashMap::default();
    for op in ir.block_ops(block) {
        let read = inputs(ir, op);
        if members.contains(&op) {
            if let Some(&through) = read.iter().find(|r| source.contains_key(*r)) {
                let name = ir.op_name(through);
                let why = format!("'{name}' runs when this has run, and before what reads its result");
                return Some(Dependence { source: source[&through], sink: op, why });
            }
        } else if let Some(from) =
            read.iter().find_map(|r| members.contains(r).then_some(*r).or(source.get(r).copied()))
        {
            source.insert(op, from);
        }
    }
    None
}

/// Whether nests make one kernel.
fn fits(ir: &mut Ir, members: &[Op]) -> Result<(), Refusal> {
    // Tried on a copy: grouping looks at the nests of a block.
    let mut copy = ir.clone();
    let fusion = build_fusion(&mut copy, members);
    let Some(body) = copy.body(fusion) else { return Ok(()) };
    let limits = Limits { members: usize::MAX, inputs: usize::MAX, distance: usize::MAX };
    let grouping = Grouping::run(&mut copy, body, limits, Decisions::new(true));
    let (groups, decisions) = (grouping.groups, grouping.decisions);
    let live: Vec<_> = groups.iter().filter(|g| !g.members.is_empty()).collect();
    let [first, second, ..] = live[..] else { return Ok(()) };
    let left = second.members[0];
    let place = copy.op(left).loc;
    let said = decisions.into_list().into_iter().rfind(|d| d.loc == place && d.text.contains("not fused"));
    let why = said.map_or_else(|| "they share no data".to_string(), |d| d.text);
    let refusal = Refusal::new(format!("the nests do not fit one kernel: {why}"));
    // A load of what another member makes is what they do not agree about.
    let loads = copy.nested_ops(left).into_iter().filter(|&op| copy.is_op(op, loops::LoadOp::NAME));
    let mut read: Vec<(Op, Op, bool)> = Vec::new();
    for load in loads {
        let access = Access::of(&copy, load, 1);
        if let Some(source) = copy.def_op(access.tensor()).filter(|s| first.members.contains(s)) {
            let plain = access.exprs.iter().all(|&e| copy.exprs.as_atom(e).is_some());
            read.push((source, load, plain));
        }
    }
    let read = read.iter().find(|r| !r.2).or(read.first());
    Err(match read {
        Some(&(source, sink, _)) => {
            let why = "it reads points that are computed elsewhere, or later".to_string();
            refusal.forbidden(ir, &Dependence { source, sink, why })
        }
        None => refusal.note(ir, first.members[0], "this").note(ir, left, "and this"),
    })
}
