//! The kernel of a group of pointwise nests and reductions.
//!
//! All reductions of one depth ([`Walks`]) share one walk over the reduced axes. What varies along the reduced axes is computed again in each
//! walk that needs it, or read back where an earlier walk stored it.

use super::axes;
use super::kernel::{Kernel, Scope};
use crate::dialects::loops::{Dims, NestKind};
use crate::dialects::{kernels, loops};
use crate::ir::{InsertPoint, Ir, Loc, Op, OpSpec, Type, Value};
use crate::sched::group::Group;
use crate::sched::nest::NestInfo;
use crate::sched::walks::{Walks, reads_back};
use rinductor_index::Expr;
use rinductor_support::FxHashMap;

/// A group on its way to a kernel.
struct Fused<'a> {
    group: &'a Group,
    infos: Vec<NestInfo>,
    /// Axis expression of each group axis.
    place: Vec<Expr>,
    kernel: Kernel,
    buffers: &'a FxHashMap<Value, Value>,
    /// What is stored, and under which name.
    outputs: Vec<(Value, String)>,
    walks: Walks,
    stored: Vec<Value>,
}

/// Results of members that are stored beside the outputs, because they are read again in later walks.
pub fn kept(ir: &mut Ir, group: &Group, outputs: &[(Value, String)]) -> Vec<Value> {
    let infos: Vec<NestInfo> = group.members.iter().filter_map(|&m| NestInfo::of(ir, m)).collect();
    let outputs: Vec<Value> = outputs.iter().map(|(v, _)| *v).collect();
    Walks::of(ir, group, &infos).kept(ir, &infos, &outputs)
}

/// Builds the kernel of a group before `func`, and returns the launch operands (made before `at`). `outputs`: member results to store, and `buffers`
/// holds where, as well as the buffers of all tensors that are read.
#[allow(clippy::too_many_arguments)] // one call site; a struct would only rename the parts
pub fn build(
    ir: &mut Ir,
    group: &Group,
    outputs: &[(Value, String)],
    buffers: &FxHashMap<Value, Value>,
    name: &str,
    func: Op,
    at: InsertPoint,
    loc: Loc,
) -> Vec<Value> {
    let infos: Vec<NestInfo> = group.members.iter().filter_map(|&m| NestInfo::of(ir, m)).collect();
    let by_member: Vec<(Op, Value)> = outputs.iter().filter_map(|(v, _)| ir.def_op(*v).map(|op| (op, *v))).collect();
    // Members read each other through registers, not through buffers, so only outside tensors count for the axes.
    let axes = axes::choose(ir, group, &infos, &by_member, &outside_buffers(ir, group, buffers, &by_member));
    let kernel = Kernel::new(ir, axes.axes, func, loc);
    let walks = Walks::of(ir, group, &infos);
    let mut fused = Fused {
        group,
        infos,
        place: axes.place,
        kernel,
        buffers,
        outputs: outputs.to_vec(),
        walks,
        stored: Vec::new(),
    };
    fused.emit(ir, loc);
    fused.kernel.finish(ir, name, at, loc)
}

/// Buffers of what is not made by a member, and of outputs (for their stores).
fn outside_buffers(
    ir: &Ir,
    group: &Group,
    buffers: &FxHashMap<Value, Value>,
    outputs: &[(Op, Value)],
) -> FxHashMap<Value, Value> {
    let made = |v: Value| ir.def_op(v).is_some_and(|op| group.members.contains(&op));
    buffers.iter().filter(|(v, _)| !made(**v) || outputs.iter().any(|o| o.1 == **v)).map(|(a, b)| (*a, *b)).collect()
}

impl Fused<'_> {
    fn info(&self, op: Op) -> usize {
        self.infos.iter().position(|i| i.nest.op == op).expect("a member has its info")
    }

    fn member_of(&self, ir: &Ir, tensor: Value) -> Option<Op> {
        ir.def_op(tensor).filter(|op| self.group.members.contains(op))
    }

    fn emit(&mut self, ir: &mut Ir, loc: Loc) {
        let mut top = self.kernel.top(ir, loc);
        let deepest = self.walks.deepest();
        for depth in 0..=deepest {
            if depth > 0 {
                self.reduce_walk(ir, &mut top, depth, loc);
            }
            // What does not vary along the reduced axes and is known now.
            for k in 0..self.infos.len() {
                let op = self.infos[k].nest.op;
                if self.walks.depth[&op] == depth && !self.walks.full[&op] {
                    for v in ir.results(op) {
                        self.value(ir, v, &mut top);
                    }
                    self.store_results(ir, op, &top, loc);
                }
            }
        }
        self.final_walk(ir, &top, loc);
    }

    /// One walk that computes all reductions of a depth, and stores what varies along the reduced axes and is known by then.
    fn reduce_walk(&mut self, ir: &mut Ir, top: &mut Scope, depth: usize, loc: Loc) {
        let reductions: Vec<usize> = (0..self.infos.len())
            .filter(|&k| {
                self.infos[k].nest.kind == NestKind::Reduce && self.walks.depth[&self.infos[k].nest.op] == depth
            })
            .collect();
        if reductions.is_empty() {
            return;
        }
        let mut types: Vec<Type> = Vec::new();
        let mut combiners = Vec::new();
        for &k in &reductions {
            let nest = self.infos[k].nest.clone();
            let word = nest.combiner(ir).to_string();
            combiners.push(ir.string_attr(&word));
            for r in ir.results(nest.op) {
                let element = ir.value_type(r);
                let element = ir.element_type(element);
                types.push(self.kernel.tile(ir, element));
            }
        }
        let name = ir.name(kernels::ReduceOp::NAME);
        let walk = ir.create(OpSpec::named(name).results(&types).regions(1).loc(loc), InsertPoint::End(top.block));
        let (over, combiners) = (self.kernel.reduced_names(ir), ir.array_attr(&combiners));
        ir.set_prop(walk, "over", Some(over));
        ir.set_prop(walk, "combiners", Some(combiners));
        let region = ir.regions_of(walk)[0];
        let block = ir.add_block(region);
        let mut scope = self.kernel.walk(ir, top, block, loc);
        let mut yields = Vec::new();
        for &k in &reductions {
            yields.extend(self.body(ir, k, &mut scope));
        }
        self.store_full(ir, &mut scope, depth - 1, loc);
        ir.create_op(kernels::YieldOp::NAME, &yields, &[], &[], loc, InsertPoint::End(block));
        let mut results = ir.results(walk);
        for &k in &reductions {
            for r in ir.results(self.infos[k].nest.op) {
                if let Some(v) = results.next() {
                    ir.copy_value_name(r, v);
                    top.map.insert(r, v);
                }
            }
        }
    }

    /// The walk for outputs that vary along the reduced axes and depend on the last reductions.
    fn final_walk(&mut self, ir: &mut Ir, top: &Scope, loc: Loc) {
        let waiting = self.outputs.iter().any(|(v, _)| !self.stored.contains(v));
        if !waiting {
            return;
        }
        let name = ir.name(kernels::ForOp::NAME);
        let walk = ir.create(OpSpec::named(name).regions(1).loc(loc), InsertPoint::End(top.block));
        let over = self.kernel.reduced_names(ir);
        ir.set_prop(walk, "over", Some(over));
        let region = ir.regions_of(walk)[0];
        let block = ir.add_block(region);
        let mut scope = self.kernel.walk(ir, top, block, loc);
        self.store_full(ir, &mut scope, usize::MAX, loc);
        ir.create_op(kernels::YieldOp::NAME, &[], &[], &[], loc, InsertPoint::End(block));
    }

    /// Stores outputs that vary along the reduced axes, need no deeper reduction than `depth`, and were not stored yet.
    fn store_full(&mut self, ir: &mut Ir, scope: &mut Scope, depth: usize, loc: Loc) {
        for k in 0..self.infos.len() {
            let op = self.infos[k].nest.op;
            if !self.walks.full[&op] || self.walks.depth[&op] > depth {
                continue;
            }
            for v in ir.results(op) {
                if self.outputs.iter().any(|o| o.0 == v) && !self.stored.contains(&v) {
                    self.value(ir, v, scope);
                }
            }
            self.store_results(ir, op, scope, loc);
        }
    }

    fn store_results(&mut self, ir: &mut Ir, op: Op, scope: &Scope, loc: Loc) {
        for v in ir.results(op) {
            let Some(name) = self.outputs.iter().find(|o| o.0 == v).map(|o| o.1.clone()) else { continue };
            if self.stored.contains(&v) {
                continue;
            }
            let (Some(&value), Some(&host)) = (scope.map.get(&v), self.buffers.get(&v)) else { continue };
            self.stored.push(v);
            let index = self.index_of(ir, op);
            self.kernel.store(ir, scope, value, host, &index, true, Some(&name), loc);
        }
    }

    /// Where a member's result stands, over the kernel's axes.
    fn index_of(&self, ir: &mut Ir, op: Op) -> Vec<Expr> {
        let info = &self.infos[self.info(op)];
        let map = &self.group.maps[&op];
        (0..info.kept())
            .map(|k| match map[k] {
                Some(a) => self.place[a],
                None => ir.exprs.int(0),
            })
            .collect()
    }

    /// The value of a member's result in a scope: made before, read back, or computed here.
    fn value(&mut self, ir: &mut Ir, tensor: Value, scope: &mut Scope) -> Value {
        if let Some(&v) = scope.map.get(&tensor) {
            return v;
        }
        let op = self.member_of(ir, tensor).expect("only results of members are asked for");
        let k = self.info(op);
        let info = &self.infos[k];
        if self.walks.full[&op] && self.stored.contains(&tensor) && reads_back(ir, info) {
            let (index, loc) = (self.index_of(ir, op), ir.op(op).loc);
            let host = self.buffers[&tensor];
            let name = self.outputs.iter().find(|o| o.0 == tensor).map(|o| o.1.clone());
            let (buffer, exprs) = self.kernel.address(ir, host, &index, true, name.as_deref());
            let dims = self.kernel.dims(ir, scope);
            let element = ir.value_type(tensor);
            let element = ir.element_type(element);
            let ty = self.kernel.tile(ir, element);
            let at = InsertPoint::End(scope.block);
            let v = loops::create_load(ir, kernels::LoadOp::NAME, buffer, &dims, &exprs, None, ty, loc, at);
            ir.copy_value_name(tensor, v);
            scope.map.insert(tensor, v);
            return v;
        }
        let yields = self.body(ir, k, scope);
        for (r, v) in ir.results(op).zip(yields) {
            scope.map.insert(r, v);
        }
        scope.map[&tensor]
    }

    /// Emits the body of a member; returns what it yields.
    fn body(&mut self, ir: &mut Ir, k: usize, scope: &mut Scope) -> Vec<Value> {
        let nest = self.infos[k].nest.clone();
        let map = self.group.maps[&nest.op].clone();
        let zero = ir.exprs.int(0);
        let dims = Dims::of_block(ir, nest.body);
        let place: FxHashMap<Value, Expr> =
            dims.values.iter().enumerate().map(|(d, &v)| (v, map[d].map_or(zero, |a| self.place[a]))).collect();
        let terminator = nest.terminator(ir);
        for op in ir.block_op_list(nest.body) {
            if op == terminator {
                break;
            }
            if ir.is_op(op, loops::LoadOp::NAME) && self.member_of(ir, ir.operand(op, 0)).is_some() {
                let tensor = ir.operand(op, 0);
                let v = self.value(ir, tensor, scope);
                scope.map.insert(ir.result(op, 0), v);
            } else {
                self.kernel.scalar_op(ir, op, scope, &place, self.buffers, true);
            }
        }
        ir.operands(terminator).map(|v| scope.map.get(&v).copied().unwrap_or(v)).collect()
    }
}
