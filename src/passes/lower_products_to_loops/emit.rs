//! Writes the nests around the sums of a product: its panels, what is added, and the product with its rows as one dimension.

use super::{Product, Rows, Side};
use crate::dialects::loops::{self, Dims, create_load, create_nest, create_yield, sizes_of};
use crate::dialects::{dtype_of, predicate_number, scalar_attr};
use crate::ir::attr::Layout;
use crate::ir::{AttrData, DYNAMIC, InsertPoint, Ir, Loc, Type, Value};
use rinductor_index::Expr;
use rinductor_scalar::Scalar;

/// A factor in panels of so many columns (or rows, of the first factor).
pub fn pack(ir: &mut Ir, p: &Product, factor: Value, side: Side, width: i64, loc: Loc, at: InsertPoint) -> Value {
    let element = ir.element_type(ir.value_type(factor));
    let [batch, m, n, k] = p.sizes;
    let n = if side == Side::First { m } else { n };
    let w = ir.exprs.int(width);
    let count = ir.exprs.ceildiv(n, w);
    let mut space = if p.batched { vec![batch] } else { Vec::new() };
    space.extend([count, k, w]);
    let ty = plain_tensor(ir, &space, element);
    let unit = ir.unit_attr();
    let props = [("packed", unit)];
    let (op, body) = create_nest(ir, loops::PointwiseOp::NAME, &[], (&space, &[]), &[ty], &props, loc, at);
    let dims = Dims::of_block(ir, body);
    let end = InsertPoint::End(body);
    let first = space.len() - 3;
    let d: Vec<Expr> = (0..space.len()).map(|i| ir.exprs.dim(i as u32)).collect();
    let start = ir.exprs.mul(d[first], w);
    let column = ir.exprs.add(start, d[first + 2]);
    let rest = ir.exprs.modulo(n, w);
    let guard = (ir.exprs.as_int(rest) != Some(0)).then(|| {
        // Columns beyond the last are 0.
        let (i64, i1) = (ir.int_type(64), ir.int_type(1));
        let (map, index) = loops::index_map(ir, &dims, &[column]);
        let c = ir.create_value(loops::IndexOp::NAME, &index, i64, &[("map", map)], loc, end);
        let (map, _) = loops::index_map(ir, &dims, &[n]);
        let last = ir.create_value(loops::IndexOp::NAME, &[], i64, &[("map", map)], loc, end);
        let less = ir.i64_attr(predicate_number("arith.cmpi", "slt").unwrap_or(2));
        ir.create_value("arith.cmpi", &[c, last], i1, &[("predicate", less)], loc, end)
    });
    let mut index = d[..first].to_vec();
    let place = [d[first + 1], column];
    index.extend(if side == Side::First { [place[1], place[0]] } else { place });
    let v = create_load(ir, loops::LoadOp::NAME, factor, &dims, &index, guard, element, loc, end);
    create_yield(ir, loops::YieldOp::NAME, &[v], loc, body);
    let name = ir.name(if side == Side::First { "row_panels" } else { "panels" });
    let panels = ir.result(op, 0);
    ir.set_value_name(panels, Some(name));
    panels
}

/// Where an element of a factor stands in its panels: in a batch, of a column (or row), at a summed position.
pub fn in_panel(ir: &mut Ir, batch: &[Expr], column: Expr, summed: Expr, width: i64) -> Vec<Expr> {
    let w = ir.exprs.int(width);
    let place = [ir.exprs.floordiv(column, w), summed, ir.exprs.modulo(column, w)];
    batch.iter().copied().chain(place).collect()
}

/// `beta * start + alpha * sums`.
pub fn scaled(
    ir: &mut Ir,
    p: &Product,
    sums: Value,
    space: &[Expr],
    rows: Option<&Rows>,
    loc: Loc,
    at: InsertPoint,
) -> Value {
    let start = p.start.filter(|_| p.beta != 0.0);
    if start.is_none() && p.alpha == 1.0 {
        return sums;
    }
    let ty = ir.value_type(sums);
    let element = ir.element_type(ty);
    let (op, body) = create_nest(ir, loops::PointwiseOp::NAME, &[], (space, &[]), &[ty], &[], loc, at);
    let dims = Dims::of_block(ir, body);
    let end = InsertPoint::End(body);
    let d: Vec<Expr> = (0..space.len()).map(|i| ir.exprs.dim(i as u32)).collect();
    let times = |ir: &mut Ir, v: Value, factor: f64| {
        let dtype = dtype_of(ir, element).filter(|_| factor != 1.0);
        let Some(number) = dtype.and_then(|t| scalar_attr(ir, Scalar::from_f64(t, factor))) else { return v };
        let c = ir.create_value("arith.constant", &[], element, &[("value", number)], loc, end);
        ir.create_value("arith.mulf", &[v, c], element, &[], loc, end)
    };
    let v = create_load(ir, loops::LoadOp::NAME, sums, &dims, &d, None, element, loc, end);
    let mut v = times(ir, v, p.alpha);
    if let Some(start) = start {
        // The place in the result's own dimensions, of which `start` may lack some and have others of size 1.
        let (rest, leading) = (space.len() - 1, usize::from(p.batched));
        let row = rows.map_or(d[rest - 1], |r| flat(ir, &d[..rest], &r.sizes));
        let place: Vec<Expr> = d[..leading].iter().copied().chain([row, d[rest]]).collect();
        let sizes = sizes_of(ir, ir.value_type(start)).unwrap_or_default();
        let skipped = place.len() - sizes.len();
        let index: Vec<Expr> = sizes
            .iter()
            .zip(&place[skipped..])
            .map(|(&s, &e)| if ir.exprs.as_int(s) == Some(1) { ir.exprs.int(0) } else { e })
            .collect();
        let s = create_load(ir, loops::LoadOp::NAME, start, &dims, &index, None, element, loc, end);
        let s = times(ir, s, p.beta);
        v = ir.create_value("arith.addf", &[v, s], element, &[], loc, end);
    }
    create_yield(ir, loops::YieldOp::NAME, &[v], loc, body);
    ir.result(op, 0)
}

/// The number of a point among those of dimensions of these sizes.
pub fn flat(ir: &mut Ir, point: &[Expr], sizes: &[Expr]) -> Expr {
    let mut number = ir.exprs.int(0);
    for (&e, &size) in point.iter().zip(sizes) {
        let scaled = ir.exprs.mul(number, size);
        number = ir.exprs.add(scaled, e);
    }
    ir.exprs.expand(number)
}

/// The product with its rows as one dimension again.
pub fn joined(
    ir: &mut Ir,
    value: Value,
    rows: &[Expr],
    (m, n): (Expr, Expr),
    like: Value,
    loc: Loc,
    at: InsertPoint,
) -> Value {
    let ty = ir.value_type(like);
    let unit = ir.unit_attr();
    let props = [("view", unit)];
    let (op, body) = create_nest(ir, loops::PointwiseOp::NAME, &[], (&[m, n], &[]), &[ty], &props, loc, at);
    let dims = Dims::of_block(ir, body);
    let mut index = Vec::new();
    let mut left = ir.exprs.dim(0);
    for (k, &size) in rows.iter().enumerate().rev() {
        index.push(if k == 0 { left } else { ir.exprs.modulo(left, size) });
        left = ir.exprs.floordiv(left, size);
    }
    index.reverse();
    index.push(ir.exprs.dim(1));
    let (element, end) = (ir.element_type(ty), InsertPoint::End(body));
    let v = create_load(ir, loops::LoadOp::NAME, value, &dims, &index, None, element, loc, end);
    create_yield(ir, loops::YieldOp::NAME, &[v], loc, body);
    ir.result(op, 0)
}

/// A contiguous tensor of these sizes.
fn plain_tensor(ir: &mut Ir, space: &[Expr], element: Type) -> Type {
    let shape: Vec<i64> = space.iter().map(|&e| ir.exprs.as_int(e).unwrap_or(DYNAMIC)).collect();
    let encoding = shape.contains(&DYNAMIC).then(|| {
        let layout = Layout { sizes: Some(space.into()), ..Layout::default() };
        ir.make_attr(AttrData::Layout(layout))
    });
    ir.tensor_type(&shape, element, encoding)
}
