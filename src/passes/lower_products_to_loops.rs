//! Turns products of matrices into reductions over panels, where kernels of ours are faster than a library's.
//!
//! Before, with vector-bytes=16 when=always:
//! ```mlir
//! func.func @forward(%a: tensor<128x64xf32>, %b: tensor<64x8xf32>) -> tensor<128x8xf32> {
//!   %y = "aten.mm"(%a, %b) : (tensor<128x64xf32>, tensor<64x8xf32>) -> tensor<128x8xf32>
//!   return %y : tensor<128x8xf32>
//! }
//! ```
//! After:
//! ```mlir
//! func.func @forward(%a: tensor<128x64xf32>, %b: tensor<64x8xf32>) -> tensor<128x8xf32> {
//!   %panels = loops.pointwise (%i, %j, %k) in [1, 64, 8] packed -> tensor<1x64x8xf32> {
//!     %v = loops.load %b[%j, 8*%i + %k] : f32
//!     loops.yield %v : f32
//!   }
//!   %y = loops.reduce (%i, %j) in [128, 8] over (%r) in [64] with add -> tensor<128x8xf32> {
//!     %x = loops.load %a[%i, %r] : f32
//!     %w = loops.load %panels[%j floordiv 8, %r, %j mod 8] : f32
//!     %p = arith.mulf %x, %w : f32
//!     loops.yield %p : f32
//!   }
//!   return %y : tensor<128x8xf32>
//! }
//! ```
//! What follows (a bias, an activation, a residual) is then fused like any other nest. Where the rows of a product are those of a tensor with more
//! dimensions, before and after it, as in a linear layer, the reduction has these dimensions. `sched::product` says what panels are, and
//! `docs/matmul.md` when kernels are faster.

mod emit;

use crate::dialects::dtype_of;
use crate::dialects::func;
use crate::dialects::loops::{self, Dims, create_load, create_nest, create_yield, sizes_of};
use crate::ir::{AttrData, FloatKind, InsertPoint, Ir, Op, TypeData, Value};
use crate::pass::{Changed, Level, Pass, PassContext};
use crate::pass_options;
use crate::sched::{product, product_rule};
use crate::support::Diagnostic;
use rinductor_index::Expr;
use rinductor_scalar::Scalar;

crate::option_enum! {
    /// Which products become reductions.
    pub enum When {
        /// Those that were measured to be faster.
        Measured = "measured",
        /// All of floats of 32 or 64 bits.
        Always = "always",
        /// None.
        Never = "never",
    }
}

pass_options! {
    pub struct Options {
        /// Which products: `measured` (where kernels were measured to be faster), `always`, `never`.
        when: When = When::Measured,
        /// Width of a vector register in bytes; 0 for that of this machine.
        vector_bytes: i64 = 0,
    }
}

/// The pass.
pub static PASS: Pass<Options> = Pass {
    name: "lower-products-to-loops",
    source: include_str!("lower_products_to_loops.rs"),
    on: Some(func::FuncOp::NAME),
    needs: &[Level::Graph, Level::Loop],
    leaves: &[Level::Graph, Level::Loop],
    statistics: &[("lowered", "products that became reductions"), ("extern", "products that are left to a library")],
    run,
};

/// Ops that give a tensor other dimensions, with the same elements in the same order.
const RESHAPES: [&str; 3] = ["aten.view", "aten._unsafe_view", "aten.reshape"];

/// Which factor of a product.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Its rows are those of the product.
    First,
    /// Its columns are those of the product.
    Second,
}

/// `beta * start + alpha * (a x b)`, batch by batch.
struct Product {
    op: Op,
    start: Option<Value>,
    a: Value,
    b: Value,
    /// Whether there is a batch dimension.
    batched: bool,
    alpha: f64,
    beta: f64,
    /// Batch, rows, columns, summed.
    sizes: [Expr; 4],
}

fn run(ir: &mut Ir, root: Op, options: &Options, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
    let Some(body) = ir.body(root) else { return Ok(Changed::No) };
    let bytes = if options.vector_bytes > 0 { options.vector_bytes } else { super::kernels_tile::host_vector_bytes() };
    let mut changed = Changed::No;
    // Lowering one erases what reshapes its result, which is no product.
    let products: Vec<Op> = ir.block_ops(body).filter(|&op| operands(ir.op_name(op)).is_some()).collect();
    for op in products {
        let Some(p) = read(ir, op) else { continue };
        let shape = product::shape(ir, p.sizes, p.b);
        let decided = match options.when {
            When::Never => continue,
            When::Always => Ok(()),
            When::Measured => product_rule::pays(shape, bytes),
        };
        if let Err(why) = decided {
            cx.remark(ir, op, format!("left to a library: {why}"));
            cx.count("extern", 1);
            continue;
        }
        lower(ir, &p, bytes);
        cx.count("lowered", 1);
        changed = Changed::Yes;
    }
    Ok(changed)
}

/// Of an op that is a product, which operand the first factor is, and whether there is a batch dimension.
fn operands(name: &str) -> Option<(usize, bool)> {
    match name {
        "aten.mm" => Some((0, false)),
        "aten.bmm" => Some((0, true)),
        "aten.addmm" => Some((1, false)),
        "aten.baddbmm" => Some((1, true)),
        _ => None,
    }
}

/// The product that an op is, if its elements are floats of 32 or 64 bits.
fn read(ir: &mut Ir, op: Op) -> Option<Product> {
    let (first, batched) = operands(ir.op_name(op))?;
    let start = (first > 0).then(|| ir.operand(op, 0));
    let (a, b) = (ir.operand(op, first), ir.operand(op, first + 1));
    let result = ir.result(op, 0);
    let element = ir.element_type(ir.value_type(result));
    if !matches!(ir.ty(element), TypeData::Float(FloatKind::f32 | FloatKind::f64)) {
        return None;
    }
    let (a_sizes, b_sizes) = (sizes_of(ir, ir.value_type(a))?, sizes_of(ir, ir.value_type(b))?);
    let [.., m, k] = a_sizes[..] else { return None };
    let n = *b_sizes.last()?;
    let batch = if batched { a_sizes[0] } else { ir.exprs.int(1) };
    let number = |name: &str| match ir.attr_of(op, name).map(|a| ir.attr(a)) {
        None => Some(1.0),
        Some(AttrData::Integer { value, .. }) => Some(*value as f64),
        Some(AttrData::Float { bits, ty }) => Some(Scalar::from_bits(dtype_of(ir, *ty)?, u128::from(*bits)).to_f64()),
        _ => None,
    };
    let (alpha, beta) = (number("alpha")?, number("beta")?);
    Some(Product { op, start, a, b, batched, alpha, beta, sizes: [batch, m, n, k] })
}

fn lower(ir: &mut Ir, p: &Product, vector_bytes: i64) {
    let (loc, at) = (ir.op(p.op).loc, InsertPoint::Before(p.op));
    let result = ir.result(p.op, 0);
    let element = ir.element_type(ir.value_type(result));
    let [batch, m, n, k] = p.sizes;
    let plan = product::plan(ir, (p.a, p.b), (m, n), element, vector_bytes);
    let second = plan.columns.map(|width| emit::pack(ir, p, p.b, Side::Second, width, loc, at));
    let first = plan.rows.map(|width| emit::pack(ir, p, p.a, Side::First, width, loc, at));
    // The rows, as more dimensions where what reads the product has them.
    let rows = if p.batched { None } else { split_rows(ir, result, m, n) };
    let mut space = if p.batched { vec![batch] } else { Vec::new() };
    space.extend(rows.as_ref().map_or_else(|| vec![m], |r| r.sizes.clone()));
    space.push(n);
    let whole = rows.as_ref().filter(|_| first.is_none()).and_then(|r| before_reshape(ir, p.a, &r.sizes, k));
    let ty = rows.as_ref().map_or(ir.value_type(result), |r| ir.value_type(ir.result(r.readers[0], 0)));
    // The sums.
    let word = ir.string_attr("add");
    let props = [("combiner", word)];
    let (sums, body) = create_nest(ir, loops::ReduceOp::NAME, &[], (&space, &[k]), &[ty], &props, loc, at);
    let dims = Dims::of_block(ir, body);
    let end = InsertPoint::End(body);
    let d: Vec<Expr> = (0..=space.len()).map(|i| ir.exprs.dim(i as u32)).collect();
    let (column, summed) = (d[space.len() - 1], d[space.len()]);
    let batch_index: Vec<Expr> = if p.batched { vec![d[0]] } else { Vec::new() };
    let row = match &rows {
        Some(r) => emit::flat(ir, &d[..space.len() - 1], &r.sizes),
        None => d[space.len() - 2],
    };
    let (tensor, index) = match (first.zip(plan.rows), whole) {
        (Some((panels, width)), _) => (panels, emit::in_panel(ir, &batch_index, row, summed, width)),
        (None, Some(a)) => (a, d[..space.len() - 1].iter().copied().chain([summed]).collect()),
        (None, None) => (p.a, batch_index.iter().copied().chain([row, summed]).collect()),
    };
    let x = create_load(ir, loops::LoadOp::NAME, tensor, &dims, &index, None, element, loc, end);
    let (tensor, index) = match second.zip(plan.columns) {
        Some((panels, width)) => (panels, emit::in_panel(ir, &batch_index, column, summed, width)),
        None => (p.b, batch_index.iter().copied().chain([summed, column]).collect()),
    };
    let y = create_load(ir, loops::LoadOp::NAME, tensor, &dims, &index, None, element, loc, end);
    let xy = ir.create_value("arith.mulf", &[x, y], element, &[], loc, end);
    create_yield(ir, loops::YieldOp::NAME, &[xy], loc, body);
    let sums = ir.result(sums, 0);
    ir.copy_value_name(result, sums);
    let value = emit::scaled(ir, p, sums, &space, rows.as_ref(), loc, at);
    match rows {
        None => ir.replace_op(p.op, &[value]),
        Some(r) => {
            for reader in r.readers {
                ir.replace_op(reader, &[value]);
            }
            if ir.is_unused(result) {
                ir.erase(p.op);
            } else {
                let whole = emit::joined(ir, value, &r.sizes, (m, n), result, loc, at);
                ir.replace_op(p.op, &[whole]);
            }
        }
    }
}

/// The rows of a product as dimensions that its readers give them.
struct Rows {
    sizes: Vec<Expr>,
    readers: Vec<Op>,
}

/// The dimensions that the first reader that reshapes the result gives to its rows.
fn split_rows(ir: &mut Ir, result: Value, m: Expr, n: Expr) -> Option<Rows> {
    let mut rows: Option<Rows> = None;
    for op in ir.users(result) {
        if !RESHAPES.contains(&ir.op_name(op)) {
            continue;
        }
        let Some(sizes) = sizes_of(ir, ir.value_type(ir.result(op, 0))) else { continue };
        let Some((&last, leading)) = sizes.split_last() else { continue };
        if last != n || leading.len() < 2 || ir.exprs.product(leading) != m {
            continue;
        }
        match &mut rows {
            None => rows = Some(Rows { sizes: leading.to_vec(), readers: vec![op] }),
            Some(r) if r.sizes == leading => r.readers.push(op),
            Some(_) => {}
        }
    }
    rows
}

/// The tensor that a factor is a reshape of, if it has these rows.
fn before_reshape(ir: &mut Ir, a: Value, rows: &[Expr], k: Expr) -> Option<Value> {
    let op = ir.def_op(a).filter(|&op| RESHAPES.contains(&ir.op_name(op)))?;
    let source = ir.operand(op, 0);
    let sizes = sizes_of(ir, ir.value_type(source))?;
    (sizes.split_last() == Some((&k, rows))).then_some(source)
}
