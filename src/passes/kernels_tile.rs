//! Gives one axis of each kernel a tile: the body then works on vectors along it.
//!
//! Before, with vector-bytes=32:
//! ```mlir
//! kernels.func @k(%x: memref<100xf32>, %y: memref<100xf32>) axes {x = 100 tile 1 parallel} {
//!   %xi = kernels.axis x : vector<1xindex>
//!   %v = kernels.load %x[%xi] : vector<1xf32>
//!   %w = arith.addf %v, %v : vector<1xf32>
//!   kernels.store %w, %y[%xi] : vector<1xf32>
//! }
//! ```
//! After:
//! ```mlir
//! kernels.func @k(%x: memref<100xf32>, %y: memref<100xf32>) axes {x = 100 tile 8 parallel} {
//!   %xi = kernels.axis x : vector<8xindex>
//!   %v = kernels.load %x[%xi] : vector<8xf32>
//!   %w = arith.addf %v, %v : vector<8xf32>
//!   kernels.store %w, %y[%xi] : vector<8xf32>
//! }
//! ```
//! Which axis and how many points is decided in `sched::tile`. With `target=gpu` several axes get tiles, by `sched::tile_gpu`, and a scatter that
//! was walked in order becomes parallel.

mod order;
mod parallel;
mod scatter;

pub use parallel::is_atomic;

use crate::dialects::kernels::{self, Axis};
use crate::ir::{AttrData, InsertPoint, Ir, Op, Type, TypeData, Value};
use crate::pass::{Changed, Level, Pass, PassContext};
use crate::pass_options;
use crate::sched::{product, tile, tile_gpu};
use crate::support::Diagnostic;
use rinductor_support::{FxHashMap, FxHashSet};

crate::option_enum! {
    /// For what a kernel is tiled.
    pub enum Target {
        /// A CPU.
        Cpu = "cpu",
        /// A GPU.
        Gpu = "gpu",
    }
}

pass_options! {
    pub struct Options {
        /// For what: `cpu` (one tile, as wide as a vector register) or `gpu` (a tile on several axes).
        target: Target = Target::Cpu,
        /// Width of a vector register in bytes; 0 for that of this machine.
        vector_bytes: i64 = 0,
        /// How many threads may run a kernel; 0 for as many as this machine runs at once.
        threads: i64 = 0,
    }
}

/// The pass.
pub static PASS: Pass<Options> = Pass {
    name: "kernels-tile",
    source: include_str!("kernels_tile.rs"),
    on: Some(kernels::FuncOp::NAME),
    needs: &[Level::Kernel],
    leaves: &[Level::Kernel],
    statistics: &[("tiled", "kernels that got a tile")],
    run: tile,
};

/// Gives a kernel a tile where that pays.
///
/// # Errors
/// None.
pub fn tile(ir: &mut Ir, func: Op, options: &Options, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
    let Some(mut axes) = kernels::axes_of(ir, func) else { return Ok(Changed::No) };
    if axes.iter().any(|a| a.tile != 1) {
        return Ok(Changed::No); // tiled by hand or before
    }
    if !ir.ops_named(func, kernels::LocalOp::NAME).is_empty() {
        return Ok(Changed::No); // memory of a step is made for the steps that there are
    }
    if options.target == Target::Gpu {
        return Ok(for_gpu(ir, func, axes, cx));
    }
    let bytes = if options.vector_bytes > 0 { options.vector_bytes } else { host_vector_bytes() };
    if let Some(tiles) = product::choose(ir, func, &axes, bytes) {
        of_product(ir, func, axes, &tiles, cx);
        return Ok(Changed::Yes);
    }
    let Some(choice) = tile::choose(ir, func, &axes, bytes) else { return Ok(Changed::No) };
    cx.remark(ir, func, format!("tile {} on {}", choice.tile, choice.why));
    let cores = || std::thread::available_parallelism().map_or(1, |n| n.get() as i64);
    let threads = if options.threads > 0 { options.threads } else { cores() };
    let axis = match scatter::in_rows(ir, func, &mut axes, &choice, threads) {
        Some(axis) => axis,
        None => order::order(ir, func, &mut axes, choice.axis),
    };
    axes[axis].tile = choice.tile;
    kernels::set_axes(ir, func, &axes);
    widen(ir, func, &axes, axis);
    cx.count("tiled", 1);
    Ok(Changed::Yes)
}

/// A product of matrices: lanes along one axis, rows along another, which are stepped last: a panel of the second factor stays in cache for all rows.
fn of_product(ir: &mut Ir, func: Op, mut axes: Vec<Axis>, tiles: &product::Tiles, cx: &mut PassContext) {
    let (lanes, rows) = (axes[tiles.lanes.0].name.clone(), axes[tiles.rows.0].name.clone());
    cx.remark(
        ir,
        func,
        format!("a product: tile {} on axis {lanes}, {} rows on axis {rows}", tiles.lanes.1, tiles.rows.1),
    );
    let last = |a: &Axis| (a.reduced, a.name == rows, a.name == lanes);
    axes.sort_by_key(last);
    for (name, tile) in [(lanes, tiles.lanes.1), (rows, tiles.rows.1)] {
        let axis = axes.iter().position(|a| a.name == name).expect("sorting keeps the axes");
        let varying = tile::varying_values(ir, func, &axes, axis);
        axes[axis].tile = tile;
        Widen { axes: &axes, axis, varying, widened: FxHashMap::default() }.run(ir, func);
    }
    kernels::set_axes(ir, func, &axes);
    cx.count("tiled", 1);
}

fn for_gpu(ir: &mut Ir, func: Op, mut axes: Vec<Axis>, cx: &mut PassContext) -> Changed {
    let flat = parallel::flatten(ir, func, &mut axes);
    let choice = tile_gpu::choose(ir, func, &axes);
    cx.remark(ir, func, format!("tiles {:?}: {}", choice.tiles, choice.why));
    for (axis, &tile) in choice.tiles.iter().enumerate().filter(|(_, t)| **t > 1) {
        axes[axis].tile = tile;
        widen(ir, func, &axes, axis);
    }
    if axes.iter().all(|a| a.tile == 1) && !flat {
        return Changed::No;
    }
    kernels::set_axes(ir, func, &axes);
    cx.count("tiled", 1);
    Changed::Yes
}

/// Gives the values of a kernel that vary along an axis the tile that the axis has got, where they had 1.
pub fn widen(ir: &mut Ir, func: Op, axes: &[Axis], axis: usize) {
    let varying = tile::varying_values(ir, func, axes, axis);
    Widen { axes, axis, varying, widened: FxHashMap::default() }.run(ir, func);
}

/// The width of the widest vector registers of this machine.
pub fn host_vector_bytes() -> i64 {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            return 64;
        }
        if std::arch::is_x86_feature_detected!("avx") {
            return 32;
        }
    }
    16
}

struct Widen<'a> {
    axes: &'a [Axis],
    axis: usize,
    varying: FxHashSet<Value>,
    /// Values that were broadcast, by block: the broadcast stands right after the definition.
    widened: FxHashMap<Value, Value>,
}

impl Widen<'_> {
    fn run(&mut self, ir: &mut Ir, func: Op) {
        let ops = ir.nested_ops(func);
        for &op in &ops {
            for v in ir.results(op) {
                self.retype(ir, v);
            }
            if let Some(body) = ir.body(op) {
                for v in ir.block_args(body).to_vec() {
                    self.retype(ir, v);
                }
            }
        }
        for &op in &ops {
            self.operands(ir, op);
        }
        // Constants of which only wide copies are used.
        for &op in &ops {
            if ir.is_op(op, "arith.constant") && ir.is_unused(ir.result(op, 0)) {
                ir.erase(op);
            }
        }
    }

    fn retype(&self, ir: &mut Ir, v: Value) {
        if self.varying.contains(&v) {
            let ty = ir.value_type(v);
            let wide = self.wide(ir, ty);
            ir.set_value_type(v, wide);
        }
    }

    /// The vector type with the tile on the tiled axis.
    fn wide(&self, ir: &mut Ir, ty: Type) -> Type {
        let TypeData::Vector { shape, element, .. } = ir.ty(ty).clone() else { return ty };
        let mut shape = shape.to_vec();
        if let Some(size) = shape.get_mut(self.axis) {
            *size = self.axes[self.axis].tile;
        }
        ir.vector_type(&shape, element)
    }

    /// Makes the operands of an op agree: what does not vary is broadcast where the others vary.
    fn operands(&mut self, ir: &mut Ir, op: Op) {
        let name = ir.op_name(op).to_string();
        let wants: Vec<usize> = match name.as_str() {
            // Addresses and guards are broadcast by meaning.
            kernels::LoadOp::NAME
            | kernels::IndexOp::NAME
            | kernels::PositionOp::NAME
            | kernels::AxisOp::NAME
            | kernels::ReduceOp::NAME => Vec::new(),
            kernels::StoreOp::NAME | kernels::AtomicOp::NAME => {
                if ir.operands(op).skip(2).any(|v| self.varying.contains(&v)) { vec![0] } else { Vec::new() }
            }
            kernels::ForOp::NAME => {
                (0..ir.num_operands(op)).filter(|&k| self.varying.contains(&ir.result(op, k))).collect()
            }
            kernels::YieldOp::NAME => self.yields(ir, op),
            _ if ir.results(op).any(|r| self.varying.contains(&r)) => (0..ir.num_operands(op)).collect(),
            _ => Vec::new(),
        };
        for k in wants {
            let v = ir.operand(op, k);
            if !self.varying.contains(&v) {
                let wide = self.broadcast(ir, v);
                ir.set_operand(op, k, wide);
            }
        }
    }

    /// Which yielded values must be wide: all of a reduction over the tiled axis, and those whose result varies.
    fn yields(&self, ir: &Ir, op: Op) -> Vec<usize> {
        let Some(parent) = ir.parent_op(op) else { return Vec::new() };
        let n = ir.num_operands(op);
        let any = ir.operands(op).any(|v| self.varying.contains(&v));
        if ir.is_op(parent, kernels::ReduceOp::NAME) {
            let over = kernels::walked_axes(ir, parent).contains(&self.axes[self.axis].name.as_str());
            return if over || any { (0..n).collect() } else { Vec::new() };
        }
        (0..n).filter(|&k| self.varying.contains(&ir.result(parent, k))).collect()
    }

    fn broadcast(&mut self, ir: &mut Ir, v: Value) -> Value {
        if let Some(&w) = self.widened.get(&v) {
            return w;
        }
        let narrow = ir.value_type(v);
        let wide = self.wide(ir, narrow);
        let at = match ir.def(v) {
            crate::ir::Def::Result(op, _) => InsertPoint::After(op),
            crate::ir::Def::Arg(block, _) => InsertPoint::Start(block),
        };
        let loc = ir.def_op(v).map(|op| ir.op(op).loc).unwrap_or_default();
        let constant = ir.def_op(v).filter(|&op| ir.is_op(op, "arith.constant")).and_then(|op| ir.attr_of(op, "value"));
        let w = match constant.map(|a| ir.attr(a).clone()) {
            Some(AttrData::Dense { text, .. }) => {
                let value = ir.make_attr(AttrData::Dense { text, ty: wide });
                ir.create_value("arith.constant", &[], wide, &[("value", value)], loc, at)
            }
            Some(_) | None => ir.create_value(kernels::BroadcastOp::NAME, &[v], wide, &[], loc, at),
        };
        ir.copy_value_name(v, w);
        self.widened.insert(v, w);
        w
    }
}
