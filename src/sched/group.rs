//! Which nests become one kernel: groups over common axes, grown in program order by the bytes that they save.
//!
//! A group has axes. Each member's dimensions are axes of the group (a dimension of size 1 may be none). Axes are parallel, or reduced: all
//! reductions of a group combine over the same set of axes. A member reads another's result only at the very point at which it stands
//! itself, so that a row of the parallel axes is computed by one program from start to end: softmax and layer normalisation are one group.

use super::cost;
use super::flow::Flow;
use super::nest::{Load, NestInfo};
use super::{Decision, Decisions, WhyNot, named, product};
use crate::dialects::loops::{self, NestKind};
use crate::dialects::{aten, func};
use crate::ir::{Block, Ir, Op, Value};
use rinductor_index::Expr;
use rinductor_support::{FxHashMap, FxHashSet};

/// Bounds on what a kernel may hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Members of a group.
    pub members: usize,
    /// Distinct tensors that a group may read from outside.
    pub inputs: usize,
    /// How many ops may stand between a group and a nest that joins it.
    pub distance: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { members: 64, inputs: 48, distance: 400 }
    }
}

/// The axis of each dimension of a member; None for a dimension of size 1 that follows no axis.
pub type AxisMap = Vec<Option<usize>>;

/// Nests that become one kernel.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// The members in program order.
    pub members: Vec<Op>,
    /// Sizes of the axes.
    pub axes: Vec<Expr>,
    /// Which axes are reduced; all false in a group without reductions.
    pub reduced: Vec<bool>,
    /// The axes of each member's dimensions.
    pub maps: FxHashMap<Op, AxisMap>,
    /// Whether there is a reduction.
    pub has_reduction: bool,
}

/// Whether a nest is a view that is free while what it views exists, and a kernel would store once more: extern ops alone take it, or it is given to the
/// caller of what an extern op has made.
fn is_free_view(ir: &Ir, op: Op) -> bool {
    let is_extern = |op: Op| ir.op_name(op).starts_with("aten.") && !ir.is_op(op, aten::CopyOp::NAME);
    if !ir.is_op(op, loops::PointwiseOp::NAME) || !loops::PointwiseOp(op).view(ir) {
        return false;
    }
    let users: Vec<Op> = ir.results(op).flat_map(|r| ir.uses(r).map(|(user, _)| user).collect::<Vec<_>>()).collect();
    let mut sources = ir.ops_named(op, loops::LoadOp::NAME).into_iter().map(|load| ir.def_op(ir.operand(load, 0)));
    let made_outside = sources.all(|source| source.is_some_and(is_extern));
    users.iter().all(|&user| is_extern(user) || made_outside && ir.is_op(user, func::ReturnOp::NAME))
}

/// Grows groups over the nests of one block.
pub struct Grouping<'a> {
    ir: &'a mut Ir,
    limits: Limits,
    infos: FxHashMap<Op, NestInfo>,
    /// The nests that are products of matrices.
    products: FxHashSet<Op>,
    flow: Flow,
    order: Vec<Op>,
    /// The groups; an absorbed one is empty.
    pub groups: Vec<Group>,
    group_of: FxHashMap<Op, usize>,
    /// Which groups read a tensor directly.
    readers: FxHashMap<Value, Vec<usize>>,
    /// What was decided, in order.
    pub decisions: Decisions,
}

impl<'a> Grouping<'a> {
    /// Looks at all nests of a block and groups them.
    pub fn run(ir: &'a mut Ir, block: Block, limits: Limits, decisions: Decisions) -> Grouping<'a> {
        let order = ir.block_op_list(block);
        let mut infos = FxHashMap::default();
        for &op in &order {
            if let Some(info) = NestInfo::of(ir, op) {
                infos.insert(op, info);
            }
        }
        let products =
            order.iter().copied().filter(|o| infos.get(o).is_some_and(|i| product::is_product(ir, &i.nest))).collect();
        let flow = Flow::new(ir, &order, &infos);
        let mut this = Grouping {
            ir,
            limits,
            infos,
            products,
            flow,
            order,
            groups: Vec::new(),
            group_of: FxHashMap::default(),
            readers: FxHashMap::default(),
            decisions,
        };
        for op in this.order.clone() {
            this.say_apart(op);
            if this.infos.get(&op).is_some_and(NestInfo::groups) && !is_free_view(this.ir, op) {
                this.place(op);
            }
        }
        this
    }

    /// The group of one nest by itself.
    pub fn single(ir: &mut Ir, op: Op) -> Group {
        let info = NestInfo::of(ir, op).expect("the caller has a nest");
        Self::alone(&info)
    }

    fn alone(info: &NestInfo) -> Group {
        let (axes, kept) = (info.sizes.clone(), info.kept());
        Group {
            members: vec![info.nest.op],
            reduced: (0..axes.len()).map(|k| k >= kept).collect(),
            maps: [(info.nest.op, (0..axes.len()).map(Some).collect())].into_iter().collect(),
            axes,
            has_reduction: info.nest.kind == NestKind::Reduce,
        }
    }

    /// Puts a nest into the group that saves most, or into a new one.
    fn place(&mut self, op: Op) {
        let mut best: Option<(u64, usize, AxisMap, Vec<bool>)> = None;
        for (group, saved) in self.candidates(op) {
            match self.may_join(op, group) {
                Ok((map, reduced)) => match &best {
                    Some(b) if saved <= b.0 => {
                        let better = format!("{} saves {} bytes, it {saved}", self.group_name(b.1), b.0);
                        self.say(op, group, |name| format!("not fused with {name}: {better}"));
                    }
                    _ => best = Some((saved, group, map, reduced)),
                },
                Err(why) => {
                    self.say(op, group, |name| format!("not fused with {name}: {why}; it would save {saved} bytes"))
                }
            }
        }
        let group = match best {
            Some((saved, group, map, reduced)) => {
                self.say(op, group, |name| format!("fused with {name}: saves {saved} bytes"));
                let g = &mut self.groups[group];
                self.flow.join(op, g.members[0]);
                g.members.push(op);
                g.maps.insert(op, map);
                g.reduced = reduced;
                group
            }
            None => {
                self.groups.push(Self::alone(&self.infos[&op]));
                self.groups.len() - 1
            }
        };
        self.groups[group].has_reduction |= self.infos[&op].nest.kind == NestKind::Reduce;
        self.group_of.insert(op, group);
        for load in &self.infos[&op].loads {
            let list = self.readers.entry(load.tensor).or_default();
            if list.last() != Some(&group) {
                list.push(group);
            }
        }
    }

    /// Groups that share data with a nest, with the bytes that sharing saves; the latest first among equals.
    fn candidates(&mut self, op: Op) -> Vec<(usize, u64)> {
        let mut saved: Vec<(usize, u64)> = Vec::new();
        let mut add = |group: usize, bytes: u64| match saved.iter_mut().find(|s| s.0 == group) {
            Some(s) => s.1 += bytes,
            None => saved.push((group, bytes)),
        };
        let mut tensors: Vec<Value> = Vec::new();
        for load in &self.infos[&op].loads {
            if !tensors.contains(&load.tensor) {
                tensors.push(load.tensor);
            }
        }
        let bytes_of = |ir: &mut Ir, v: Value| cost::tensor_bytes(ir, ir.value_type(v)).max(1);
        let made: u64 = self.ir.results(op).collect::<Vec<_>>().into_iter().map(|v| bytes_of(self.ir, v)).sum();
        let read: u64 = tensors.iter().map(|&v| bytes_of(self.ir, v)).sum();
        // What is made of almost nothing, as random numbers are of a seed, saves nothing beside others that read the same: it is worth
        // more where it is read.
        let shares = read.saturating_mul(64) >= made;
        for tensor in tensors {
            let bytes = bytes_of(self.ir, tensor);
            if let Some(&g) = self.ir.def_op(tensor).and_then(|d| self.group_of.get(&d)) {
                add(g, 2 * bytes); // neither written (if nobody else reads it) nor read again
            }
            for &g in self.readers.get(&tensor).into_iter().flatten().rev().take(4).filter(|_| shares) {
                add(g, bytes);
            }
        }
        saved.sort_by_key(|&(group, bytes)| (std::cmp::Reverse(bytes), std::cmp::Reverse(group)));
        saved.truncate(8);
        saved
    }

    /// Whether a nest may join a group, with its axes and the group's reduced axes afterwards.
    fn may_join(&mut self, op: Op, group: usize) -> Result<(AxisMap, Vec<bool>), WhyNot> {
        let g = &self.groups[group];
        if g.members.len() >= self.limits.members {
            return Err(WhyNot::new(format!("it holds {} nests already", g.members.len())));
        }
        let (Some(&last), Some(&first)) = (g.members.last(), g.members.first()) else {
            return Err(WhyNot::new("it is empty"));
        };
        if self.infos[&op].nest.kind == NestKind::Reduce
            && g.has_reduction
            && (self.products.contains(&op) || g.members.iter().any(|m| self.products.contains(m)))
        {
            return Err(WhyNot::new("a product of matrices takes the registers that there are for its sums"));
        }
        let between = self.flow.position(op) - self.flow.position(last);
        if between > self.limits.distance {
            return Err(WhyNot::new(format!("{between} ops stand between")));
        }
        let map = self.map_axes(op, group)?;
        let info = &self.infos[&op];
        // Loads of members' results must be at the same point.
        for load in &info.loads {
            let Some(def) = self.ir.def_op(load.tensor) else { continue };
            if self.group_of.get(&def) == Some(&group) {
                self.same_point(load, &map, def, group)?;
            }
        }
        let reduced = self.reduced_after(op, &map, group)?;
        let mut inputs: Vec<Value> = Vec::new();
        for member in self.groups[group].members.iter().copied().chain([op]) {
            for load in &self.infos[&member].loads {
                let inside = self.ir.def_op(load.tensor).is_some_and(|d| self.group_of.get(&d) == Some(&group));
                if !inside && !inputs.contains(&load.tensor) {
                    inputs.push(load.tensor);
                }
            }
        }
        if inputs.len() > self.limits.inputs {
            return Err(WhyNot::new(format!("the kernel would read {} tensors", inputs.len())));
        }
        self.flow.may_join(op, first)?;
        Ok((map, reduced))
    }

    /// The axis of each dimension of a nest, from the loads that it shares with the group.
    fn map_axes(&mut self, op: Op, group: usize) -> Result<AxisMap, WhyNot> {
        let info = &self.infos[&op];
        let g = &self.groups[group];
        let n = info.sizes.len();
        let one = |e: Expr| self.ir.exprs.as_int(e) == Some(1);
        let mut map: AxisMap = vec![None; n];
        let set = |dim: usize, axis: usize, map: &mut AxisMap| -> Result<(), WhyNot> {
            if info.sizes[dim] != g.axes[axis] {
                return Ok(()); // another size: the shared tensor is broadcast along it in one of the two
            }
            match map[dim] {
                Some(old) if old != axis => Err(WhyNot::new("the two walk shared data in different orders")),
                _ => {
                    map[dim] = Some(axis);
                    Ok(())
                }
            }
        };
        for load in &info.loads {
            let Some(mine) = load.plain(self.ir, n) else { continue };
            let def = self.ir.def_op(load.tensor);
            if let Some(def) = def.filter(|d| self.group_of.get(d) == Some(&group)) {
                let theirs = &g.maps[&def];
                for (k, dim) in mine.iter().enumerate() {
                    if let (Some(dim), Some(axis)) = (*dim, theirs[k]) {
                        set(dim, axis, &mut map)?;
                    }
                }
                continue;
            }
            // A sibling that reads the same tensor.
            for &member in &g.members {
                let other = &self.infos[&member];
                for theirs in other.loads.iter().filter(|l| l.tensor == load.tensor) {
                    let Some(plain) = theirs.plain(self.ir, other.sizes.len()) else { continue };
                    for (a, b) in mine.iter().zip(&plain) {
                        if let (Some(dim), Some(their_dim)) = (*a, *b)
                            && let Some(axis) = g.maps[&member][their_dim]
                            && map[dim].is_none()
                        {
                            set(dim, axis, &mut map)?;
                        }
                    }
                }
            }
        }
        // What no load decides takes the axes that are left, in order, where the sizes agree.
        for dim in 0..n {
            if map[dim].is_some() || one(info.sizes[dim]) {
                continue;
            }
            let free = (0..g.axes.len()).find(|&a| !map.contains(&Some(a)) && g.axes[a] == info.sizes[dim]);
            let Some(axis) = free else {
                return Err(WhyNot::new(format!(
                    "dimension {dim} of size {} is no axis of the group",
                    self.ir.exprs.display(info.sizes[dim])
                )));
            };
            map[dim] = Some(axis);
        }
        let mut seen = vec![false; g.axes.len()];
        for axis in map.iter().flatten() {
            if std::mem::replace(&mut seen[*axis], true) {
                return Err(WhyNot::new("two dimensions would be one axis"));
            }
        }
        Ok(map)
    }

    /// A load of a member's result must be at the point where the reader stands. A dimension of size 1 has one point, whatever axis stands for it
    /// (a reduction that keeps its dimension has an axis of its own there, its reader a constant 0).
    fn same_point(&self, load: &Load, map: &AxisMap, def: Op, group: usize) -> Result<(), WhyNot> {
        let Some(plain) = load.plain(self.ir, map.len()) else {
            return Err(WhyNot::new("it reads the group's result at another point than its own"));
        };
        if load.guarded {
            return Err(WhyNot::new("it reads the group's result under a guard"));
        }
        for (k, dim) in plain.iter().enumerate() {
            let theirs = self.groups[group].maps[&def][k];
            let mine = dim.and_then(|d| map[d]);
            let size_one = self.ir.exprs.as_int(self.infos[&def].nest.space[k]) == Some(1);
            if mine != theirs && !size_one {
                return Err(WhyNot::new(format!(
                    "it reads coordinate {k} of the group's result at another point than its own"
                )));
            }
        }
        Ok(())
    }

    /// The reduced axes when `op` joins: the same for all reductions; a pointwise member covers all parallel axes, and all reduced ones or none.
    fn reduced_after(&self, op: Op, map: &AxisMap, group: usize) -> Result<Vec<bool>, WhyNot> {
        let g = &self.groups[group];
        let info = &self.infos[&op];
        let one = |axis: usize| self.ir.exprs.as_int(g.axes[axis]) == Some(1);
        let mut reduced = g.reduced.clone();
        if info.nest.kind == NestKind::Reduce {
            let mine: Vec<usize> = map[info.kept()..].iter().flatten().copied().collect();
            let wanted: Vec<bool> = (0..g.axes.len()).map(|a| mine.contains(&a)).collect();
            if g.has_reduction {
                if (0..g.axes.len()).any(|a| wanted[a] != reduced[a] && !one(a)) {
                    return Err(WhyNot::new("it reduces over other axes than the group"));
                }
            } else {
                reduced = wanted;
            }
        }
        let any_reduced = g.has_reduction || info.nest.kind == NestKind::Reduce;
        // Every member (and the new one) must cover the parallel axes, and the reduced ones wholly or not at all.
        let members = g.members.iter().map(|m| (*m, &g.maps[m])).chain([(op, map)]);
        for (member, axes) in members {
            let covered = |a: usize| axes.contains(&Some(a));
            for a in 0..g.axes.len() {
                if !reduced[a] && !covered(a) && !one(a) {
                    return Err(WhyNot::new("a member would be computed more than once along a parallel axis"));
                }
            }
            let red: Vec<usize> = (0..g.axes.len()).filter(|&a| reduced[a] && any_reduced && !one(a)).collect();
            let count = red.iter().filter(|&&a| covered(a)).count();
            if count != 0 && count != red.len() {
                return Err(WhyNot::new("a member covers only a part of the reduced axes"));
            }
            let member_info = &self.infos[&member];
            if member_info.nest.kind == NestKind::Reduce
                && axes[..member_info.kept()].iter().flatten().any(|&a| reduced[a] && !one(a))
            {
                return Err(WhyNot::new("a reduction keeps an axis that another reduces"));
            }
        }
        Ok(reduced)
    }

    fn group_name(&self, group: usize) -> String {
        format!("the group of {}", named(self.ir, self.groups[group].members[0]))
    }

    /// Says what was decided about a nest and a group, whose name `text` gets.
    fn say(&mut self, op: Op, group: usize, text: impl FnOnce(String) -> String) {
        if self.decisions.wanted() {
            let (text, first) = (text(self.group_name(group)), self.groups[group].members[0]);
            self.decisions.say(|| Decision::between(self.ir, op, first, text));
        }
    }

    /// Says why an op is not fused with what makes its tensors, where one of the two can be in no group.
    fn say_apart(&mut self, op: Op) {
        if !self.decisions.wanted() || self.ir.is_op(op, func::ReturnOp::NAME) {
            return;
        }
        let groups = |o: Op| self.infos.get(&o).is_some_and(NestInfo::groups);
        let mut read: Vec<Value> = self.ir.operands(op).collect();
        read.extend(self.infos.get(&op).into_iter().flat_map(|info| info.loads.iter().map(|l| l.tensor)));
        let mut makers: Vec<Op> = read.iter().filter_map(|&v| self.ir.def_op(v)).collect();
        makers.sort();
        makers.dedup();
        for maker in makers {
            let alone = match (groups(maker), groups(op)) {
                (true, false) => op,
                (false, true) => maker,
                _ => continue,
            };
            let name = self.ir.op_name(alone);
            let what = match name.strip_prefix("loops.") {
                Some("size") => continue,
                Some(kind) => format!("a {kind} has a kernel of its own"),
                None if name.contains("constant") || !name.contains("aten.") && !name.contains("prims.") => continue,
                None => format!("{name} is no loop nest, it is called"),
            };
            let text = format!("not fused with {}: {what}", named(self.ir, maker));
            self.decisions.say(|| Decision::between(self.ir, op, maker, text));
        }
    }
}
