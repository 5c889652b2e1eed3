//! Products of matrices as sums in registers: which reductions are such, and how a kernel of one is tiled.
//!
//! A block of results is held in registers, `rows` by a few vectors; each step of the reduced axis reads one element of the first factor for each row and
//! the vectors of the second factor once. The second factor stands in memory in *panels* of as many columns as the block has, `[columns / panel][k][panel]`,
//! so that it is read in order.

use crate::dialects::kernels::{self, Axis};
use crate::dialects::loops::{self, Access, Dims, Nest, NestKind};
use crate::ir::{FloatKind, Ir, Op, Type, TypeData, Value};
use crate::sched::tile::varying_values;
use rinductor_index::{Atom, Expr, Node};

/// Vectors of a block of results in each row.
const VECTORS: i64 = 2;
/// Rows of a block of results where there are 32 vector registers, and where there are 16.
const ROWS: [i64; 2] = [8, 4];

/// How many columns a panel has.
pub fn panel(ir: &Ir, element: Type, vector_bytes: i64) -> i64 {
    let bytes = match ir.ty(element) {
        TypeData::Float(FloatKind::f64) => 8,
        _ => 4,
    };
    (VECTORS * vector_bytes / bytes).max(4)
}

/// Whether a nest is a sum of products of which each reads a factor's element at many points: what is put in place of such a load is computed that often.
pub fn is_product(ir: &mut Ir, nest: &Nest) -> bool {
    if nest.kind != NestKind::Reduce || nest.combiner(ir) != "add" || nest.space.len() < 2 {
        return false;
    }
    let yielded = ir.operand_list(nest.terminator(ir));
    let product = |ir: &Ir, v: Value| ir.def_op(v).filter(|&op| ir.is_op(op, "arith.mulf"));
    let [yielded] = yielded[..] else { return false };
    let Some(product) = product(ir, yielded) else { return false };
    let factors = ir.operand_list(product);
    let mut dims = Dims::of_block(ir, nest.body);
    let mut used: Vec<Vec<bool>> = Vec::new();
    for v in factors {
        let Some(load) = ir.def_op(v).filter(|&op| ir.is_op(op, loops::LoadOp::NAME)) else { return false };
        let exprs = Access::of(ir, load, 1).in_dims(ir, &mut dims);
        let uses = |d: usize| exprs.iter().any(|&e| ir.exprs.contains(e, Atom::Dim(d as u32)));
        used.push((0..nest.space.len()).map(uses).collect());
    }
    let alone = |a: usize, b: usize| (0..nest.space.len()).any(|d| used[a][d] && !used[b][d]);
    alone(0, 1) && alone(1, 0)
}

/// How the kernel of a product is tiled.
#[derive(Clone, Debug)]
pub struct Tiles {
    /// The axis whose points are lanes, and how many of a step.
    pub lanes: (usize, i64),
    /// The axis whose points are rows, and how many of a step.
    pub rows: (usize, i64),
}

/// Chooses for a kernel whose tiles are all 1; None where it is no product, or one whose second factor does not lie side by side along an axis.
pub fn choose(ir: &mut Ir, func: Op, axes: &[Axis], vector_bytes: i64) -> Option<Tiles> {
    let walks = ir.ops_named(func, kernels::ReduceOp::NAME);
    let [walk] = walks[..] else { return None };
    if !ir.ops_named(func, kernels::ForOp::NAME).is_empty() || !ir.ops_named(func, kernels::AtomicOp::NAME).is_empty() {
        return None;
    }
    let combiners = kernels::ReduceOp(walk).combiners(ir);
    if combiners != ["add"] {
        return None;
    }
    let end = ir.last_op(ir.body(walk)?)?;
    let product = ir.def_op(ir.operand(end, 0)).filter(|&op| ir.is_op(op, "arith.mulf"))?;
    let loads: Vec<Op> = ir.operand_list(product).into_iter().filter_map(|v| ir.def_op(v)).collect();
    let [a, b] = loads[..] else { return None };
    if !loads.iter().all(|&l| ir.is_op(l, kernels::LoadOp::NAME)) {
        return None;
    }
    let stores = ir.ops_named(func, kernels::StoreOp::NAME);
    let element = ir.element_type(ir.value_type(ir.result(a, 0)));
    let parallel: Vec<usize> = (0..axes.len()).filter(|&k| !axes[k].reduced).collect();
    let varying: Vec<_> = (0..axes.len()).map(|k| varying_values(ir, func, axes, k)).collect();
    let mut second: Option<Tiles> = None;
    for (x, y) in [(a, b), (b, a)] {
        let varies = |op: Op, axis: usize| varying[axis].contains(&ir.result(op, 0));
        let rows: Vec<usize> = parallel.iter().copied().filter(|&k| varies(x, k) && !varies(y, k)).collect();
        let lanes: Vec<usize> = parallel.iter().copied().filter(|&k| varies(y, k) && !varies(x, k)).collect();
        let (Some(&row), Some(&lane)) = (rows.iter().max_by_key(|&&k| extent(ir, &axes[k])), lanes.last()) else {
            continue;
        };
        let Some(width) = side_by_side(ir, axes, y, lane, panel(ir, element, vector_bytes)) else { continue };
        let contiguous = stores.iter().all(|&s| {
            let step = kernels::step_along(ir, axes, s, lane, &|v| varying[lane].contains(&v));
            step.is_some_and(|e| ir.exprs.as_int(e) == Some(1))
        });
        let many = ROWS[usize::from(vector_bytes < 64)] * panel(ir, element, vector_bytes) / width;
        let fits = extent(ir, &axes[row]).max(2) as u64;
        let most = many.clamp(2, 16).min(fits.next_power_of_two() as i64);
        let tiles = Tiles { lanes: (lane, width), rows: (row, most) };
        if contiguous {
            return Some(tiles);
        }
        // What lies side by side in memory is not written so: lanes are written one by one, if nothing better is found.
        second.get_or_insert(tiles);
    }
    second
}

fn extent(ir: &Ir, axis: &Axis) -> i64 {
    super::cost::estimate(ir, axis.extent) as i64
}

/// How many points of an axis a load has side by side: as many as a panel has where it reads panels, else `most`, if it is contiguous.
fn side_by_side(ir: &mut Ir, axes: &[Axis], load: Op, axis: usize, most: i64) -> Option<i64> {
    let access = Access::of(ir, load, 1);
    let mut dims = Dims::default();
    let exprs = access.in_dims(ir, &mut dims);
    let number = dims.values.iter().position(|&v| kernels::axis_of(ir, axes, v) == Some(axis))?;
    let last = *exprs.last()?;
    if let Node::Mod(x, n) = *ir.exprs.node(last)
        && ir.exprs.as_atom(x) == Some(Atom::Dim(number as u32))
    {
        return ir.exprs.as_int(n).filter(|n| n.count_ones() == 1);
    }
    let step = kernels::step_along(ir, axes, load, axis, &|_| false)?;
    let points = extent(ir, &axes[axis]).max(2) as u64;
    (ir.exprs.as_int(step) == Some(1)).then(|| most.min(points.next_power_of_two() as i64))
}

/// Rows from which on the second factor is copied into panels though it is contiguous along its columns: fewer do not read it often enough.
const MANY_ROWS: i64 = 64;
/// Rows up to which the sums of a product whose factors are both contiguous along what is summed are computed one by one, as any reduction: copying the second
/// factor would cost more than computing.
pub const FEW_ROWS: i64 = 2;
/// Columns from which on the first factor is copied into panels where it is contiguous along its rows, not along what is summed.
const MANY_COLUMNS: i64 = 64;
/// Rows of a panel of the first factor: a cache line.
const ROW_PANEL: i64 = 16;

/// Which factors of a product are copied into panels, and how wide these are.
#[derive(Clone, Copy, Debug)]
pub struct Panels {
    /// Rows of a panel of the first factor.
    pub rows: Option<i64>,
    /// Columns of a panel of the second factor.
    pub columns: Option<i64>,
}

/// Decides how the factors of a product of `m` rows and `n` columns are read.
pub fn plan(ir: &mut Ir, (a, b): (Value, Value), (m, n): (Expr, Expr), element: Type, vector_bytes: i64) -> Panels {
    let (m, n) = (super::cost::estimate(ir, m) as i64, super::cost::estimate(ir, n) as i64);
    let a_by_rows = last_steps(ir, a).is_some_and(|(row, column)| row == Some(1) && column != Some(1));
    if m <= FEW_ROWS && is_turned(ir, b) {
        return Panels { rows: None, columns: None };
    }
    Panels {
        rows: (a_by_rows && n >= MANY_COLUMNS).then_some(ROW_PANEL),
        columns: (!is_in_order(ir, b) || m > MANY_ROWS).then(|| panel(ir, element, vector_bytes)),
    }
}

/// The steps in memory along the last two dimensions, where they are numbers.
fn last_steps(ir: &mut Ir, v: Value) -> Option<(Option<i64>, Option<i64>)> {
    let (strides, _) = loops::strides_of(ir, ir.value_type(v))?;
    let [.., row, column] = strides[..] else { return None };
    Some((ir.exprs.as_int(row), ir.exprs.as_int(column)))
}

/// Whether a tensor is contiguous along its last but one dimension.
fn is_turned(ir: &mut Ir, v: Value) -> bool {
    last_steps(ir, v).is_some_and(|(row, _)| row == Some(1))
}

/// Whether a tensor is contiguous along its last dimension.
fn is_in_order(ir: &mut Ir, v: Value) -> bool {
    last_steps(ir, v).is_some_and(|(_, column)| column == Some(1))
}

/// What is known of a product when it is decided who computes it: sizes as numbers, unknown ones as [`super::cost::TYPICAL_SIZE`].
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// How many products.
    pub batch: i64,
    /// Rows of the first factor.
    pub m: i64,
    /// Columns of the second.
    pub n: i64,
    /// What is summed over.
    pub k: i64,
    /// Whether the second factor is contiguous along its columns.
    pub in_order: bool,
    /// Whether it is contiguous along what is summed.
    pub turned: bool,
}

/// The sizes (batch, rows, columns, summed) as numbers, with the second factor.
pub fn shape(ir: &mut Ir, sizes: [Expr; 4], b: Value) -> Shape {
    let [batch, m, n, k] = sizes.map(|e| super::cost::estimate(ir, e) as i64);
    Shape { batch, m, n, k, in_order: is_in_order(ir, b), turned: is_turned(ir, b) }
}
