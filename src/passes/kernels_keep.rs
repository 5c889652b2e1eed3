//! Keeps what a walk computes at a price and a later walk over the same axes computes again: in the buffer that the later one writes there.
//!
//! Before:
//! ```mlir
//! kernels.func @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes {x = 8 tile 1 parallel, r = 64 tile 1 reduce} {
//!   %xi = kernels.axis x : vector<1x1xindex>
//!   %s = kernels.reduce add over r : vector<1x1xf32> {
//!     %ri = kernels.axis r : vector<1x1xindex>
//!     %v = kernels.load %x[%xi, %ri] : vector<1x1xf32>
//!     %e = math.exp %v : vector<1x1xf32>
//!     kernels.yield %e : vector<1x1xf32>
//!   }
//!   kernels.for r {
//!     %rj = kernels.axis r : vector<1x1xindex>
//!     %w = kernels.load %x[%xi, %rj] : vector<1x1xf32>
//!     %f = math.exp %w : vector<1x1xf32>
//!     %q = arith.divf %f, %s : vector<1x1xf32>
//!     kernels.store %q, %y[%xi, %rj] : vector<1x1xf32>
//!   }
//! }
//! func.func @f(%x: memref<8x64xf32>) -> memref<8x64xf32> {
//!   %y = kernels.alloc : memref<8x64xf32>
//!   kernels.launch @k(%x, %y) : memref<8x64xf32>, memref<8x64xf32>
//!   return %y : memref<8x64xf32>
//! }
//! ```
//! After:
//! ```mlir
//! kernels.func @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes {x = 8 tile 1 parallel, r = 64 tile 1 reduce} {
//!   %xi = kernels.axis x : vector<1x1xindex>
//!   %s = kernels.reduce add over r : vector<1x1xf32> {
//!     %ri = kernels.axis r : vector<1x1xindex>
//!     %v = kernels.load %x[%xi, %ri] : vector<1x1xf32>
//!     %e = math.exp %v : vector<1x1xf32>
//!     kernels.store %e, %y[%xi, %ri] : vector<1x1xf32>
//!     kernels.yield %e : vector<1x1xf32>
//!   }
//!   kernels.for r {
//!     %rj = kernels.axis r : vector<1x1xindex>
//!     %f = kernels.load %y[%xi, %rj] : vector<1x1xf32>
//!     %q = arith.divf %f, %s : vector<1x1xf32>
//!     kernels.store %q, %y[%xi, %rj] : vector<1x1xf32>
//!   }
//! }
//! func.func @f(%x: memref<8x64xf32>) -> memref<8x64xf32> {
//!   %y = kernels.alloc : memref<8x64xf32>
//!   kernels.launch @k(%x, %y) : memref<8x64xf32>, memref<8x64xf32>
//!   return %y : memref<8x64xf32>
//! }
//! ```
//! The buffer is one that the kernel writes once, each place in a step of its own, and reads nowhere, and no other argument is the same memory. What a
//! step of the parallel axes keeps has to stay in the nearer caches.

use crate::dialects::kernels::{self, Axis};
use crate::dialects::loops::Access;
use crate::ir::edit::ValueMap;
use crate::ir::{Block, Def, InsertPoint, Ir, Op, Value};
use crate::pass::{ANY, Changed, Level, NoOptions, Pass, PassContext};
use crate::sched::cost;
use crate::support::Diagnostic;
use rinductor_support::{FxHashMap, FxHashSet};

/// The pass.
pub static PASS: Pass = Pass {
    name: "kernels-keep",
    source: include_str!("kernels_keep.rs"),
    on: None,
    needs: ANY,
    leaves: &[Level::Kernel],
    statistics: &[("kept", "values that are kept instead of computed again")],
    run,
};

/// What computing again has to cost, in additions, for a store and a load to be cheaper.
const LEAST_COST: u32 = 8;

/// Bytes of a row that a step may keep: half of a second-level cache of today.
const MOST_BYTES: u64 = 256 << 10;

/// Points of a column, which take two cache lines each: they have to stay in the nearest cache. Measured for softmax over 256 rows (0.75 of the time) and
/// over 1024 (1.25).
const MOST_LINES: u64 = 384;

fn run(ir: &mut Ir, root: Op, _: &NoOptions, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
    let mut launches: FxHashMap<Op, Vec<Op>> = FxHashMap::default();
    for launch in ir.ops_named(root, kernels::LaunchOp::NAME) {
        if let Some(kernel) = ir.lookup_symbol(kernels::LaunchOp(launch).callee(ir)) {
            launches.entry(kernel).or_default().push(launch);
        }
    }
    let mut kept = 0;
    for kernel in ir.ops_named(root, kernels::FuncOp::NAME) {
        let launches = launches.get(&kernel).map_or(&[][..], Vec::as_slice);
        if let (Some(axes), Some(body), false) = (kernels::axes_of(ir, kernel), ir.body(kernel), launches.is_empty()) {
            kept += Kernel { axes, body, launches }.keep(ir);
        }
    }
    cx.count("kept", kept);
    Ok((kept > 0).into())
}

struct Kernel<'a> {
    axes: Vec<Axis>,
    body: Block,
    launches: &'a [Op],
}

impl Kernel<'_> {
    fn keep(&self, ir: &mut Ir) -> u64 {
        let ops = ir.block_op_list(self.body);
        let mut kept = 0;
        for (k, &later) in ops.iter().enumerate() {
            if !ir.is_op(later, kernels::ForOp::NAME) || ir.num_operands(later) > 0 {
                continue;
            }
            let walked = kernels::walked_axes(ir, later);
            let same = |&&op: &&Op| ir.is_op(op, kernels::ReduceOp::NAME) && kernels::walked_axes(ir, op) == walked;
            let Some(&earlier) = ops[..k].iter().rev().find(same) else { continue };
            let stores: Vec<Op> = ir
                .ops_named(later, kernels::StoreOp::NAME)
                .into_iter()
                .filter(|&s| self.is_room(ir, s, later))
                .collect();
            kept += u64::from(stores.into_iter().any(|store| self.keep_in(ir, earlier, later, store)));
        }
        kept
    }

    /// Whether values may be kept where a store of `walk` writes.
    fn is_room(&self, ir: &Ir, store: Op, walk: Op) -> bool {
        let access = Access::of(ir, store, 2);
        let buffer = ir.operand(store, 1);
        let Some(argument) = ir.block_args(self.body).iter().position(|&a| a == buffer) else { return false };
        let told = kernels::told_axes(ir, &self.axes, store);
        let walked = kernels::walked_axes(ir, walk);
        let alone = self.axes.iter().enumerate().all(|(k, a)| {
            let taken = !a.reduced || walked.contains(&a.name.as_str());
            !taken || told.contains(&k) || ir.exprs.as_int(a.extent) == Some(1)
        });
        let points = self.axes.iter().filter(|a| walked.contains(&a.name.as_str()));
        let points = points.map(|a| cost::estimate(ir, a.extent)).fold(1, u64::saturating_mul);
        let last = access.exprs.len().checked_sub(1);
        let rows = last
            .is_some_and(|k| kernels::coordinate_axes(ir, &self.axes, store)[k].is_some_and(|a| self.axes[a].reduced));
        let near = if rows { points.saturating_mul(4) <= MOST_BYTES } else { points <= MOST_LINES };
        ir.parent_op(store) == Some(walk)
            && access.guard.is_none()
            && alone
            && near
            && ir.uses(buffer).count() == 1
            && self.launches.iter().all(|&launch| is_own(ir, launch, argument))
    }

    /// Keeps the dearest value of `store` that both walks compute, if one is dear enough.
    fn keep_in(&self, ir: &mut Ir, earlier: Op, later: Op, store: Op) -> bool {
        let (Some(first), Some(second)) = (ir.body(earlier), ir.body(later)) else { return false };
        let same = self.same_values(ir, first, second);
        let stored = ir.operand(store, 0);
        let ty = ir.value_type(stored);
        let element = ir.element_type(ir.value_type(ir.operand(store, 1)));
        let index = Access::of(ir, store, 2).index;
        // From the store back: the first value that is known is the dearest.
        let candidate = ir.block_op_list(second).into_iter().rev().find(|&op| {
            let [v] = ir.results(op).collect::<Vec<_>>()[..] else { return false };
            same.contains_key(&v)
                && ir.value_type(v) == ty
                && ir.element_type(ty) == element
                && cost_of(ir, second, v) >= LEAST_COST
        });
        let Some(again) = candidate else { return false };
        let value = ir.result(again, 0);
        // The place is known to both: there where the value is, and at the end of the earlier walk.
        let known = |ir: &mut Ir, v: Value| match ir.def(v) {
            Def::Result(op, _) if ir.parent_block(op) == Some(second) => {
                same.contains_key(&v) && ir.is_before(op, again)
            }
            Def::Result(op, _) => ir.parent_block(op) == Some(self.body) && ir.is_before(op, earlier),
            Def::Arg(block, _) => block == self.body,
        };
        if !index.iter().all(|&v| known(ir, v)) {
            return false;
        }
        let Some(end) = ir.last_op(first) else { return false };
        let mut map = ValueMap::default();
        map.insert(stored, same[&value]);
        for &v in &index {
            map.insert(v, same.get(&v).copied().unwrap_or(v));
        }
        ir.clone_op(store, &mut map, InsertPoint::Before(end));
        let operands: Vec<Value> = ir.operands(store).skip(1).collect();
        let loc = ir.op(again).loc;
        let Some(place) = ir.attr_of(store, "map") else { return false };
        let at = InsertPoint::After(again);
        let loaded = ir.create_value(kernels::LoadOp::NAME, &operands, ty, &[("map", place)], loc, at);
        ir.copy_value_name(value, loaded);
        ir.replace_all_uses(value, loaded);
        erase_unused(ir, second);
        true
    }

    /// For each value of the later body that the earlier one computes too, that one's.
    fn same_values(&self, ir: &Ir, first: Block, second: Block) -> FxHashMap<Value, Value> {
        let written: FxHashSet<Value> = ir
            .block_args(self.body)
            .iter()
            .copied()
            .filter(|&a| ir.uses(a).any(|(op, _)| !ir.is_op(op, kernels::LoadOp::NAME)))
            .collect();
        let key = |op: Op, operands: Vec<Value>| {
            let data = ir.op(op);
            let result = ir.value_type(ir.result(op, 0));
            (data.name, data.props, data.attrs, result, operands)
        };
        let plain = |op: Op| {
            ir.num_results(op) == 1
                && ir.regions_of(op).is_empty()
                && !(ir.is_op(op, kernels::LoadOp::NAME) && written.contains(&ir.operand(op, 0)))
        };
        let mut known = FxHashMap::default();
        for op in ir.block_ops(first).filter(|&op| plain(op)) {
            known.entry(key(op, ir.operand_list(op).to_vec())).or_insert_with(|| ir.result(op, 0));
        }
        let mut same: FxHashMap<Value, Value> = FxHashMap::default();
        for op in ir.block_ops(second).filter(|&op| plain(op)) {
            let operands = ir.operands(op).map(|v| same.get(&v).copied().unwrap_or(v)).collect();
            if let Some(&v) = known.get(&key(op, operands)) {
                same.insert(ir.result(op, 0), v);
            }
        }
        same
    }
}

/// Whether the memory of a launch's argument is an allocation that no other argument shows.
fn is_own(ir: &Ir, launch: Op, argument: usize) -> bool {
    let roots: Vec<Value> = ir.operands(launch).map(|v| kernels::memory_of(ir, v)).collect();
    let own = roots[argument];
    ir.def_op(own).is_some_and(|op| kernels::AllocOp::cast(ir, op).is_some() && ir.num_operands(op) == 0)
        && roots.iter().enumerate().all(|(k, &r)| k == argument || r != own)
}

/// What computing a value in its block costs, in additions.
fn cost_of(ir: &Ir, block: Block, v: Value) -> u32 {
    let mut seen: FxHashSet<Op> = FxHashSet::default();
    let mut work = vec![v];
    let mut sum = 0u32;
    while let Some(v) = work.pop() {
        if let Some(op) = ir.def_op(v).filter(|&op| ir.parent_block(op) == Some(block))
            && seen.insert(op)
        {
            sum = sum.saturating_add(cost::op_cost(ir.op_name(op)));
            work.extend(ir.operands(op));
        }
    }
    sum
}

/// Erases loads and computations of which nothing is used.
fn erase_unused(ir: &mut Ir, block: Block) {
    for op in ir.block_op_list(block).into_iter().rev() {
        let plain = ir.num_results(op) > 0 && ir.regions_of(op).is_empty() && !ir.is_op(op, kernels::PositionOp::NAME);
        if plain && ir.results(op).all(|r| ir.is_unused(r)) {
            ir.erase(op);
        }
    }
}
