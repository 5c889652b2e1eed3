//! The flow of data between kernels, and whether a kernel would have to wait for itself.
//!
//! Each op of a block is a node; the members of a group are one node together. Ops are known by their position in the block.

use super::WhyNot;
use super::nest::NestInfo;
use crate::ir::{Ir, Op, Value};
use rinductor_support::{FxHashMap, FxHashSet};

/// A search that visits more ops than this gives up: what shares data over such a distance is better left apart.
const MOST_VISITS: usize = 4_000;

/// Nodes and what they read.
#[derive(Debug)]
pub struct Flow {
    position: FxHashMap<Op, usize>,
    inputs: Vec<Vec<usize>>,
    users: Vec<Vec<usize>>,
    /// The first position of the node of each position.
    node: Vec<usize>,
    /// The positions of each node, at its first one.
    members: Vec<Vec<usize>>,
    /// The last position in a node or in anything that it reads, directly or through others; at its first position.
    latest: Vec<usize>,
}

impl Flow {
    /// Each op of a block by itself.
    pub fn new(ir: &Ir, order: &[Op], infos: &FxHashMap<Op, NestInfo>) -> Flow {
        let n = order.len();
        let position: FxHashMap<Op, usize> = order.iter().enumerate().map(|(i, &op)| (op, i)).collect();
        let mut users = vec![Vec::new(); n];
        let mut inputs = Vec::with_capacity(n);
        for (i, op) in order.iter().enumerate() {
            let mut values: Vec<Value> = ir.operand_list(*op).to_vec();
            if let Some(info) = infos.get(op) {
                values.extend(info.loads.iter().map(|l| l.tensor));
            }
            let mut read: Vec<usize> =
                values.iter().filter_map(|&v| position.get(&ir.def_op(v)?).copied()).filter(|&p| p < i).collect();
            read.sort_unstable();
            read.dedup();
            for &p in &read {
                users[p].push(i);
            }
            inputs.push(read);
        }
        // What an op reads comes before it.
        Flow {
            position,
            inputs,
            users,
            node: (0..n).collect(),
            members: (0..n).map(|i| vec![i]).collect(),
            latest: (0..n).collect(),
        }
    }

    /// The place of an op in its block.
    pub fn position(&self, op: Op) -> usize {
        self.position[&op]
    }

    /// Puts an op into the node of another, which comes before it.
    pub fn join(&mut self, op: Op, member: Op) {
        let (at, node) = (self.position[&op], self.node[self.position[&member]]);
        self.node[at] = node;
        self.members[node].push(at);
        // Whatever reads the node waits for the new member too.
        let mut stack = vec![node];
        while let Some(raised) = stack.pop() {
            if self.latest[raised] >= at && raised != node {
                continue;
            }
            self.latest[raised] = self.latest[raised].max(at);
            for &m in &self.members[raised] {
                stack.extend(self.users[m].iter().map(|&u| self.node[u]).filter(|&u| u != node && self.latest[u] < at));
            }
        }
    }

    /// Whether an op may join the node of `member`: it reads nothing that depends on the node through others.
    ///
    /// # Errors
    /// It does, or the flow is too long to be followed.
    pub fn may_join(&self, op: Op, member: Op) -> Result<(), WhyNot> {
        let group = self.node[self.position[&member]];
        let mut seen: FxHashSet<usize> = FxHashSet::default();
        let mut stack: Vec<usize> = self.inputs[self.position[&op]].iter().map(|&i| self.node[i]).collect();
        stack.retain(|&n| n != group);
        let mut visits = 0;
        while let Some(current) = stack.pop() {
            // Nothing in the group, whose first op stands at `group`, is among what this node waits for.
            if self.latest[current] < group || !seen.insert(current) {
                continue;
            }
            for &m in &self.members[current] {
                for &input in &self.inputs[m] {
                    let node = self.node[input];
                    if node == group {
                        return Err(WhyNot::new("an op outside the group stands between them in the flow of data"));
                    }
                    stack.push(node);
                }
                visits += 1;
            }
            if visits > MOST_VISITS {
                return Err(WhyNot::new("too many ops stand between them in the flow of data"));
            }
        }
        Ok(())
    }
}
