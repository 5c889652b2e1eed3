//! What scheduling must know of one nest: its loads as expressions over its own dimensions.

use crate::dialects::loops::{Access, Dims, Nest, NestKind};
use crate::ir::{Ir, Op, Value};
use rinductor_index::{Atom, Expr};

/// One load of a nest.
#[derive(Clone, Debug)]
pub struct Load {
    /// The `loops.load`.
    pub op: Op,
    /// What is read.
    pub tensor: Value,
    /// One expression a coordinate, over the nest's dimensions (dimensions past them are indices from data).
    pub exprs: Vec<Expr>,
    /// Whether it has a guard.
    pub guarded: bool,
}

impl Load {
    /// For each coordinate the nest dimension that it is, or None for a coordinate that is 0; None if some coordinate is neither.
    pub fn plain(&self, ir: &Ir, dims: usize) -> Option<Vec<Option<usize>>> {
        self.exprs
            .iter()
            .map(|&e| match (ir.exprs.as_int(e), ir.exprs.as_atom(e)) {
                (Some(0), _) => Some(None),
                (_, Some(Atom::Dim(d))) if (d as usize) < dims => Some(Some(d as usize)),
                _ => None,
            })
            .collect()
    }
}

/// A nest with its loads.
#[derive(Clone, Debug)]
pub struct NestInfo {
    /// The nest.
    pub nest: Nest,
    /// Its sizes: space, then what is reduced.
    pub sizes: Vec<Expr>,
    /// Its loads.
    pub loads: Vec<Load>,
}

impl NestInfo {
    /// Reads a nest.
    pub fn of(ir: &mut Ir, op: Op) -> Option<NestInfo> {
        let nest = Nest::of(ir, op)?;
        let mut dims = Dims::of_block(ir, nest.body);
        let mut loads = Vec::new();
        for load in nest.loads(ir) {
            let access = Access::of(ir, load, 1);
            let exprs = access.in_dims(ir, &mut dims);
            loads.push(Load { op: load, tensor: access.tensor(), exprs, guarded: access.guard.is_some() });
        }
        let sizes = nest.sizes();
        Some(NestInfo { nest, sizes, loads })
    }
    /// Whether it is a pointwise nest or a reduction: what groups are made of.
    pub fn groups(&self) -> bool {
        matches!(self.nest.kind, NestKind::Pointwise | NestKind::Reduce)
    }
    /// How many of the dimensions are kept (not reduced).
    pub fn kept(&self) -> usize {
        self.nest.space.len()
    }
}
