//! Whether the body of a pointwise nest should stand where its result is read: what it costs to compute it there again, and what it saves.

use super::{WhyNot, cost};
use crate::dialects::loops;
use crate::dialects::loops::{Access, Dims, Nest, NestKind};
use crate::ir::{Ir, Op, Value};
use rinductor_index::Expr;

/// Where the results of a nest are used.
pub struct Uses {
    /// Loads in other nests.
    pub loads: Vec<Op>,
    /// Different nests among the readers.
    pub readers: Vec<Op>,
    /// Different places read, over all readers: what is computed again if the nest is inlined.
    pub places: usize,
    /// Uses that need the tensor itself: extern ops, returns, bases of scatters.
    pub others: usize,
}

impl Uses {
    /// Looks at all uses of a nest's results.
    pub fn of(ir: &mut Ir, nest: &Nest) -> Uses {
        let mut all: Vec<(Op, usize)> = ir.results(nest.op).flat_map(|r| ir.uses(r).collect::<Vec<_>>()).collect();
        all.sort();
        let mut uses = Uses { loads: Vec::new(), readers: Vec::new(), places: 0, others: 0 };
        let mut places: Vec<(Op, Vec<Expr>, Option<Value>)> = Vec::new();
        for (user, operand) in all {
            let reader = if operand == 0 && ir.is_op(user, loops::LoadOp::NAME) { ir.parent_op(user) } else { None };
            let Some(reader_nest) = reader.and_then(|r| Nest::of(ir, r)) else {
                uses.others += 1;
                continue;
            };
            uses.loads.push(user);
            if !uses.readers.contains(&reader_nest.op) {
                uses.readers.push(reader_nest.op);
            }
            let access = Access::of(ir, user, 1);
            let exprs = access.in_dims(ir, &mut Dims::of_block(ir, reader_nest.body));
            let place = (reader_nest.op, exprs, access.guard);
            if !places.contains(&place) {
                places.push(place);
            }
        }
        uses.places = places.len();
        uses
    }
}

/// Whether a nest only reads one tensor at other indices: a view.
fn is_view(ir: &Ir, nest: &Nest) -> bool {
    nest.kind == NestKind::Pointwise
        && ir.block_ops(nest.body).all(|o| ir.is_op(o, loops::LoadOp::NAME) || ir.is_op(o, loops::YieldOp::NAME))
}

/// Whether inlining a nest into all its readers is worth it. A nest that reads more than `max_reads` tensors is not copied into several.
///
/// # Errors
/// Why it is not.
pub fn pays(ir: &mut Ir, nest: &Nest, uses: &Uses, max_reads: u32) -> Result<(), WhyNot> {
    let work = cost::body_cost(ir, nest.body);
    let reads = nest.loads(ir).len() as u32;
    if work <= 1 && reads <= 1 {
        return Ok(()); // a view, a cast, a constant: reading it costs more than making it
    }
    if uses.others > 0 {
        return Err(WhyNot::new("its tensor is wanted as a whole, by an extern op or the caller"));
    }
    if uses.loads.is_empty() {
        return Ok(());
    }
    let own = cost::points(ir, &nest.space).max(1);
    let mut readers_points = 0u64;
    for &reader in &uses.readers {
        let Some(reader_nest) = Nest::of(ir, reader) else { continue };
        if is_view(ir, &reader_nest) && reader_needs_memory(ir, reader) {
            return Err(WhyNot::new("a reader is a view of it, which is free while its tensor exists"));
        }
        let places = uses.places.div_ceil(uses.readers.len()) as u64;
        readers_points = readers_points.saturating_add(cost::nest_points(ir, &reader_nest).saturating_mul(places));
    }
    let again = readers_points.div_ceil(own);
    if uses.readers.len() > 1 && reads > max_reads {
        return Err(WhyNot::new(format!("{} nests read it, and it reads {reads} tensors", uses.readers.len())));
    }
    if again > 1 && u64::from(work).saturating_mul(again - 1) > 6 {
        return Err(WhyNot::new(format!("it would be computed {again} times, at a cost of {work} a point")));
    }
    if uses.readers.len() > 1 && reads > 1 {
        return Err(WhyNot::new(format!(
            "{} nests read it: each would read {reads} tensors in its place",
            uses.readers.len()
        )));
    }
    Ok(())
}

/// Whether the result of a view is wanted as a tensor: by something that is not a load.
fn reader_needs_memory(ir: &Ir, op: Op) -> bool {
    ir.results(op).any(|r| ir.uses(r).any(|(user, operand)| operand != 0 || !ir.is_op(user, loops::LoadOp::NAME)))
}
