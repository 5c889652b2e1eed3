//! Whether the body of a pointwise nest should stand where its result is read: what it costs to compute it there again, and what it saves.

use super::{WhyNot, cost, product};
use crate::dialects::loops;
use crate::dialects::loops::{Access, Dims, Nest, NestKind};
use crate::ir::{Ir, Op, Value};
use rinductor_index::Expr;
use rinductor_support::{FxHashMap, FxHashSet};

/// A reader that looks at less than one in so many of a nest's points hardly counts.
const FEW: u64 = 64;

/// Where the results of a nest are used.
pub struct Uses {
    /// Loads in other nests: those of one result at one place of one reader together, in the order of its body. What is computed again if
    /// the nest is inlined is computed once for each.
    pub places: Vec<Vec<Op>>,
    /// Different nests among the readers.
    pub readers: Vec<Op>,
    /// Uses that need the tensor itself: extern ops, returns, bases of scatters.
    pub others: usize,
}

impl Uses {
    /// Looks at all uses of a nest's results.
    pub fn of(ir: &mut Ir, nest: &Nest) -> Uses {
        let mut all: Vec<(Op, usize)> = ir.results(nest.op).flat_map(|r| ir.uses(r).collect::<Vec<_>>()).collect();
        all.sort();
        let mut uses = Uses { places: Vec::new(), readers: Vec::new(), others: 0 };
        let mut loads: FxHashSet<Op> = FxHashSet::default();
        for (user, operand) in all {
            let reader = if operand == 0 && ir.is_op(user, loops::LoadOp::NAME) { ir.parent_op(user) } else { None };
            let Some(reader) = reader.filter(|&r| NestKind::of(ir, r).is_some()) else {
                uses.others += 1;
                continue;
            };
            loads.insert(user);
            if !uses.readers.contains(&reader) {
                uses.readers.push(reader);
            }
        }
        for &reader in &uses.readers {
            let Some(body) = ir.body(reader) else { continue };
            let mut dims = Dims::of_block(ir, body);
            let mut number: FxHashMap<(Value, Vec<Expr>, Option<Value>), usize> = FxHashMap::default();
            for load in ir.block_op_list(body).into_iter().filter(|op| loads.contains(op)) {
                let access = Access::of(ir, load, 1);
                let place = (access.tensor(), access.in_dims(ir, &mut dims), access.guard);
                let next = uses.places.len();
                let k = *number.entry(place).or_insert(next);
                if k == next {
                    uses.places.push(Vec::new());
                }
                uses.places[k].push(load);
            }
        }
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
    if loops::PointwiseOp::cast(ir, nest.op).is_some_and(|p| p.packed(ir)) {
        return Err(WhyNot::new("it is packed: its order in memory is what its readers want"));
    }
    if !is_view(ir, nest) && uses.readers.iter().any(|&r| Nest::of(ir, r).is_some_and(|r| product::is_product(ir, &r)))
    {
        return Err(WhyNot::new("a product of matrices reads each of its points many times"));
    }
    let work = cost::body_cost(ir, nest.body);
    let reads = nest.loads(ir).len() as u32;
    if work <= 1 && reads <= 1 {
        return Ok(()); // a view, a cast, a constant: reading it costs more than making it
    }
    if uses.others > 0 {
        return Err(WhyNot::new("its tensor is wanted as a whole, by an extern op or the caller"));
    }
    if uses.places.is_empty() {
        return Ok(());
    }
    let own = cost::points(ir, &nest.space).max(1);
    let mut readers_points = 0u64;
    // Who reads a few of its points only, as a gather does, computes them at no cost.
    let mut large = 0;
    for &reader in &uses.readers {
        let Some(reader_nest) = Nest::of(ir, reader) else { continue };
        if is_view(ir, &reader_nest) && reader_needs_memory(ir, reader) {
            return Err(WhyNot::new("a reader is a view of it, which is free while its tensor exists"));
        }
        let places = uses.places.len().div_ceil(uses.readers.len()) as u64;
        let points = cost::nest_points(ir, &reader_nest).saturating_mul(places);
        readers_points = readers_points.saturating_add(points);
        large += usize::from(points.saturating_mul(FEW) > own);
    }
    let again = readers_points.div_ceil(own);
    if large > 1 && reads > max_reads {
        return Err(WhyNot::new(format!("{} nests read it, and it reads {reads} tensors", uses.readers.len())));
    }
    if again > 1 && u64::from(work).saturating_mul(again - 1) > 6 {
        return Err(WhyNot::new(format!("it would be computed {again} times, at a cost of {work} a point")));
    }
    if large > 1 && reads > 1 {
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
