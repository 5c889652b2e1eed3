//! The walks over the reduced axes that the kernel of a group makes, and what is worth keeping in memory from one to the next.
//!
//! Reductions have a depth: 1, or one more than the deepest reduction that they depend on. All reductions of one depth share one walk, and what
//! is left of the outputs is stored in a last one.

use super::cost;
use super::group::Group;
use super::nest::NestInfo;
use crate::dialects::loops::NestKind;
use crate::ir::{Ir, Op, Value};
use rinductor_support::FxHashMap;
use std::collections::BTreeSet;

/// What is cheaper than this (in units of an addition) is computed again in each walk rather than kept in memory.
const KEPT_FROM: u32 = 64;

/// Whether what an earlier walk stored is read back: computing it again costs more.
pub fn reads_back(ir: &Ir, info: &NestInfo) -> bool {
    info.loads.len() > 1 || cost::body_cost(ir, info.nest.body) > 2
}

/// When the members of a group are computed.
#[derive(Clone, Debug, Default)]
pub struct Walks {
    /// The depth of a reduction, or of the deepest one that a member depends on.
    pub depth: FxHashMap<Op, usize>,
    /// Whether a member varies along the reduced axes: it is computed in walks, and not between them.
    pub full: FxHashMap<Op, bool>,
}

impl Walks {
    /// Depth and extent of each member, `infos` in program order.
    pub fn of(ir: &Ir, group: &Group, infos: &[NestInfo]) -> Walks {
        let mut walks = Walks::default();
        for info in infos {
            let op = info.nest.op;
            let map = &group.maps[&op];
            let read = info.loads.iter().filter_map(|load| ir.def_op(load.tensor));
            let mut depth = read.filter_map(|def| walks.depth.get(&def).copied()).max().unwrap_or(0);
            let reduce = info.nest.kind == NestKind::Reduce;
            if reduce {
                depth += 1;
            }
            walks.depth.insert(op, depth);
            let kept = &map[..info.kept()];
            let varies = kept.iter().flatten().any(|&a| group.reduced[a] && ir.exprs.as_int(group.axes[a]) != Some(1));
            walks.full.insert(op, varies && !reduce);
        }
        walks
    }

    /// The deepest reduction.
    pub fn deepest(&self) -> usize {
        self.depth.values().copied().max().unwrap_or(0)
    }

    /// Results that are no outputs, but are stored like one: what is needed in several walks and costs too much to be computed in each.
    pub fn kept(&self, ir: &Ir, infos: &[NestInfo], outputs: &[Value]) -> Vec<Value> {
        let mut needed: FxHashMap<Op, BTreeSet<usize>> = FxHashMap::default();
        let mut kept = Vec::new();
        for info in infos.iter().rev() {
            let op = info.nest.op;
            let mut walks = match self.full.get(&op) {
                Some(true) => needed.remove(&op).unwrap_or_default(),
                _ if info.nest.kind == NestKind::Reduce => BTreeSet::from([self.depth[&op]]),
                _ => continue,
            };
            // The first walk in which it can be stored; what is stored is read back in others.
            let first = self.depth[&op] + 1;
            let mut stored = ir.results(op).any(|v| outputs.contains(&v));
            if !stored && walks.len() > 1 && cost::body_cost(ir, info.nest.body) >= KEPT_FROM {
                kept.extend(ir.results(op).filter(|&v| !ir.is_unused(v)));
                stored = true;
            }
            if stored && self.full[&op] && reads_back(ir, info) {
                walks = BTreeSet::from([first]);
            }
            for def in info.loads.iter().filter_map(|load| ir.def_op(load.tensor)) {
                if self.full.get(&def) == Some(&true) {
                    needed.entry(def).or_default().extend(&walks);
                }
            }
        }
        kept
    }
}
