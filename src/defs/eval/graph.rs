//! The values that bodies are made of, before they are cut into nests. All values of one op stand in one arena, in which
//! equal ones are one; loop dimensions and indirect indices have numbers of their own in it. So an inner reduction may
//! use a value of the body around it: it is computed anew in each nest that needs it.

use crate::semantics::{Body, Indirect, Node, NodeId, NodeKind};
use rinductor_index::{Atom, Expr as IndexExpr, Exprs, Ranges};
use rinductor_scalar::{DType, Scalar, ScalarOp};
use rinductor_support::{FxHashMap, FxHashSet};

/// The number of the first indirect index, among the dimensions of index expressions.
const INDIRECT: u32 = 1 << 20;

/// The arena.
#[derive(Default)]
pub(super) struct Graph {
    nodes: Vec<Node>,
    ids: FxHashMap<Node, NodeId>,
    indirect: Vec<Indirect>,
}

impl Graph {
    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    pub(super) fn dtype(&self, id: NodeId) -> DType {
        self.node(id).dtype
    }

    pub(super) fn constant(&self, id: NodeId) -> Option<Scalar> {
        match self.node(id).kind {
            NodeKind::Const(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn add(&mut self, dtype: DType, kind: NodeKind) -> NodeId {
        let node = Node { dtype, kind };
        if let Some(&id) = self.ids.get(&node) {
            return id;
        }
        let id = NodeId(u32::try_from(self.nodes.len()).expect("fewer than 2^32 values in one op"));
        self.nodes.push(node.clone());
        self.ids.insert(node, id);
        id
    }

    pub(super) fn scalar(&mut self, value: Scalar) -> NodeId {
        self.add(value.dtype(), NodeKind::Const(value))
    }

    /// An operation, computed at once if its operands are constants.
    pub(super) fn op(&mut self, op: ScalarOp, dtype: DType, args: &[NodeId]) -> NodeId {
        match (op, args) {
            (ScalarOp::Cast, [a]) if self.dtype(*a) == dtype => return *a,
            (ScalarOp::Select, [c, a, b]) => {
                if a == b {
                    return *a;
                }
                if let Some(c) = self.constant(*c) {
                    return if c.is_true() { *a } else { *b };
                }
            }
            (ScalarOp::And, [a, b]) if dtype == DType::I1 => {
                if a == b {
                    return *a;
                }
                for (known, other) in [(*a, *b), (*b, *a)] {
                    if let Some(value) = self.constant(known) {
                        return if value.is_true() { other } else { known };
                    }
                }
            }
            (ScalarOp::Not, [a]) if dtype == DType::I1 => {
                if let NodeKind::Op { op: ScalarOp::Not, args } = &self.node(*a).kind {
                    return args[0];
                }
            }
            _ => {}
        }
        let constants: Option<Vec<Scalar>> = args.iter().map(|a| self.constant(*a)).collect();
        if let Some(constants) = constants
            && let Ok(value) = rinductor_scalar::eval(op, dtype, &constants)
        {
            return self.scalar(value);
        }
        self.add(dtype, NodeKind::Op { op, args: args.into() })
    }

    pub(super) fn cast(&mut self, id: NodeId, dtype: DType) -> NodeId {
        self.op(ScalarOp::Cast, dtype, &[id])
    }

    /// The number, as a dimension of index expressions, of an index that is a value.
    pub(super) fn indirect(&mut self, indirect: Indirect) -> u32 {
        let k = self.indirect.iter().position(|i| *i == indirect).unwrap_or_else(|| {
            self.indirect.push(indirect);
            self.indirect.len() - 1
        });
        INDIRECT + k as u32
    }

    /// The values that the roots reach (the roots too), in order, and the indirect indices.
    fn reach(&self, roots: &[NodeId], extra: &[IndexExpr], exprs: &Exprs) -> (Vec<NodeId>, Vec<u32>) {
        let mut seen: FxHashSet<NodeId> = FxHashSet::default();
        let mut indirect: Vec<u32> = Vec::new();
        let mut stack: Vec<NodeId> = roots.to_vec();
        let mut index = |e: IndexExpr, stack: &mut Vec<NodeId>| {
            if !exprs.has_dims(e) {
                return;
            }
            for atom in exprs.atoms(e) {
                if let Atom::Dim(d) = atom
                    && d >= INDIRECT
                    && !indirect.contains(&d)
                {
                    indirect.push(d);
                    let entry = &self.indirect[(d - INDIRECT) as usize];
                    stack.push(entry.value);
                    stack.extend(entry.guard);
                }
            }
        };
        for e in extra {
            index(*e, &mut stack);
        }
        while let Some(id) = stack.pop() {
            if !seen.insert(id) {
                continue;
            }
            match &self.node(id).kind {
                NodeKind::Const(_) => {}
                NodeKind::Index(e) => index(*e, &mut stack),
                NodeKind::Op { args, .. } => stack.extend(args.iter().copied()),
                NodeKind::Load { at, guard, .. } => {
                    stack.extend(*guard);
                    for e in at {
                        index(*e, &mut stack);
                    }
                }
            }
        }
        let mut nodes: Vec<NodeId> = seen.into_iter().collect();
        nodes.sort_unstable();
        indirect.sort_unstable();
        (nodes, indirect)
    }

    /// The loop dimensions that values and expressions depend on.
    pub(super) fn free_dims(&self, roots: &[NodeId], extra: &[IndexExpr], exprs: &Exprs) -> FxHashSet<u32> {
        let (nodes, indirect) = self.reach(roots, extra, exprs);
        let mut dims = FxHashSet::default();
        let mut index = |e: IndexExpr| {
            if exprs.has_dims(e) {
                dims.extend(exprs.atoms(e).filter_map(|a| match a {
                    Atom::Dim(d) if d < INDIRECT => Some(d),
                    _ => None,
                }));
            }
        };
        for e in extra {
            index(*e);
        }
        for id in nodes {
            match &self.node(id).kind {
                NodeKind::Index(e) => index(*e),
                NodeKind::Load { at, .. } => at.iter().for_each(|e| index(*e)),
                NodeKind::Const(_) | NodeKind::Op { .. } => {}
            }
        }
        for d in indirect {
            index(self.indirect[(d - INDIRECT) as usize].size);
        }
        dims
    }

    /// The body that yields the roots, with `loops` as its dimensions, and the extra expressions in its terms.
    pub(super) fn body(
        &self,
        roots: &[NodeId],
        extra: &[IndexExpr],
        loops: &[u32],
        exprs: &mut Exprs,
        facts: &Ranges,
    ) -> (Body, Vec<IndexExpr>) {
        let (ids, indirect) = self.reach(roots, extra, exprs);
        let new_dim: FxHashMap<u32, u32> =
            loops.iter().chain(&indirect).enumerate().map(|(i, d)| (*d, i as u32)).collect();
        let new_id: FxHashMap<NodeId, NodeId> = ids.iter().enumerate().map(|(i, id)| (*id, NodeId(i as u32))).collect();
        let index = |e: IndexExpr, exprs: &mut Exprs| {
            if !exprs.has_dims(e) {
                return e;
            }
            let simple = exprs.simplify(e, facts);
            exprs.subst_with(simple, |exprs, atom| match atom {
                Atom::Dim(d) => new_dim.get(&d).map(|n| exprs.dim(*n)),
                Atom::Sym(_) => None,
            })
        };
        let mut body = Body { yields: roots.iter().map(|r| new_id[r]).collect(), ..Body::default() };
        for id in &ids {
            let node = self.node(*id);
            let kind = match &node.kind {
                NodeKind::Const(value) => NodeKind::Const(*value),
                NodeKind::Index(e) => NodeKind::Index(index(*e, exprs)),
                NodeKind::Op { op, args } => NodeKind::Op { op: *op, args: args.iter().map(|a| new_id[a]).collect() },
                NodeKind::Load { source, at, guard } => NodeKind::Load {
                    source: *source,
                    at: at.iter().map(|e| index(*e, exprs)).collect(),
                    guard: guard.map(|g| new_id[&g]),
                },
            };
            body.nodes.push(Node { dtype: node.dtype, kind });
        }
        for d in &indirect {
            let entry = &self.indirect[(d - INDIRECT) as usize];
            body.indirect.push(Indirect {
                value: new_id[&entry.value],
                size: entry.size,
                bounds: entry.bounds,
                guard: entry.guard.map(|g| new_id[&g]),
            });
        }
        let extra = extra.iter().map(|e| index(*e, exprs)).collect();
        (body, extra)
    }
}
