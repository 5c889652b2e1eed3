//! Which elements the accesses of a kernel reach: each coordinate as an expression over the axes, and the search for a point at which it lies
//! outside its buffer.

use super::kernels::{self, Axis, PositionOp};
use super::loops::{Access, sizes_of};
use crate::ir::{Def, Ir, Op, Value};
use rinductor_index::{Atom, Expr, Exprs};

/// A coordinate of an access without a guard.
#[derive(Clone, Debug)]
pub struct Reach {
    /// The access.
    pub op: Op,
    /// Which coordinate.
    pub coordinate: usize,
    /// Its value: dimension `k` is the position on what `extents[k]` counts.
    pub value: Expr,
    /// The size of the buffer there.
    pub size: Expr,
    /// How many positions each dimension has: the axes of the kernel in order, then numbers that are read from data and checked.
    pub extents: Vec<Expr>,
    /// The axes that are walked at the access: where one has no points, nothing is accessed.
    pub walked: Vec<usize>,
}

/// A point at which a coordinate lies outside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outside {
    /// The value of the coordinate.
    pub value: i64,
    /// The size of the buffer there.
    pub size: i64,
    /// The positions: `(dimension, position)` of each dimension that the coordinate depends on.
    pub point: Vec<(usize, i64)>,
}

/// How many points a search looks at.
const POINTS: i64 = 1 << 14;

/// The coordinates of a kernel's accesses that have no guard and do not depend on what cannot be said in advance.
pub fn reaches(ir: &mut Ir, func: Op, axes: &[Axis]) -> Vec<Reach> {
    let mut list = Vec::new();
    for op in ir.nested_ops(func) {
        let Some(leading) = kernels::address_operands(ir.op_name(op)) else { continue };
        let access = Access::of(ir, op, leading);
        let Some(&buffer) = access.leading.last() else { continue };
        let Some(sizes) = sizes_of(ir, ir.value_type(buffer)) else { continue };
        if access.guard.is_some() || sizes.len() != access.exprs.len() {
            continue;
        }
        let mut extents: Vec<Expr> = axes.iter().map(|a| a.extent).collect();
        let mut with: Vec<(Atom, Option<Expr>)> = Vec::new();
        let mut positions: Vec<(Value, Expr)> = Vec::new();
        for (k, &v) in access.index.iter().enumerate() {
            let e = match kernels::axis_of(ir, axes, v) {
                Some(a) => Some(ir.exprs.dim(a as u32)),
                None => match positions.iter().find(|p| p.0 == v) {
                    Some(&(_, e)) => Some(e),
                    None => bound_of(ir, v).map(|bound| {
                        let e = ir.exprs.dim(extents.len() as u32);
                        extents.push(bound);
                        positions.push((v, e));
                        e
                    }),
                },
            };
            with.push((Atom::Dim(k as u32), e));
        }
        let walked = walked_at(ir, func, axes, op);
        for (coordinate, (&e, &size)) in access.exprs.iter().zip(&sizes).enumerate() {
            let known = with.iter().all(|&(atom, e2)| e2.is_some() || !ir.exprs.contains(e, atom));
            if !known {
                continue;
            }
            let with: Vec<(Atom, Expr)> = with.iter().filter_map(|&(a, e)| Some((a, e?))).collect();
            let value = ir.exprs.subst(e, &with);
            list.push(Reach { op, coordinate, value, size, extents: extents.clone(), walked: walked.clone() });
        }
    }
    list
}

/// The size below which `kernels.position` keeps a value.
fn bound_of(ir: &Ir, value: Value) -> Option<Expr> {
    let Def::Result(op, _) = ir.def(value) else { return None };
    PositionOp::cast(ir, op)?.bound(ir).first().copied()
}

/// The axes that are walked where an op stands: the parallel ones, and those of the loops around it.
pub fn walked_at(ir: &Ir, func: Op, axes: &[Axis], op: Op) -> Vec<usize> {
    let mut walked: Vec<usize> = (0..axes.len()).filter(|&a| !axes[a].reduced).collect();
    let mut inner = op;
    while let Some(outer) = ir.parent_op(inner).filter(|_| inner != func) {
        for name in kernels::walked_axes(ir, outer) {
            walked.extend(axes.iter().position(|a| a.name == name));
        }
        inner = outer;
    }
    walked
}

/// A point at which a coordinate lies outside its buffer, for these values of symbols. None where there is none, where one of the sizes is not known, and where
/// so many points would have to be looked at that none was found.
pub fn outside(exprs: &mut Exprs, reach: &Reach, symbol: &dyn Fn(Atom) -> Option<i64>) -> Option<Outside> {
    let number = |exprs: &Exprs, e: Expr| exprs.eval(e, symbol).ok();
    let size = number(exprs, reach.size)?;
    for &a in &reach.walked {
        if number(exprs, reach.extents[a])? <= 0 {
            return None;
        }
    }
    let mut dims: Vec<(usize, i64)> = Vec::new();
    let mut env = exprs.facts();
    let mut fixed = Vec::new();
    for atom in exprs.atoms(reach.value) {
        match atom {
            Atom::Dim(d) => {
                let n = number(exprs, *reach.extents.get(d as usize)?)?;
                if n <= 0 {
                    return None;
                }
                dims.push((d as usize, n));
                env.set_dim(d, 0, Some(n - 1));
            }
            Atom::Sym(_) => fixed.push((atom, exprs.int(symbol(atom)?))),
        }
    }
    let value = exprs.subst(reach.value, &fixed);
    let (zero, end) = (exprs.int(0), exprs.int(size));
    if exprs.prove_le(zero, value, &env) == Some(true) && exprs.prove_lt(value, end, &env) == Some(true) {
        return None;
    }
    let at = |exprs: &Exprs, point: &[i64]| {
        let of = |atom| dims.iter().zip(point).find(|(d, _)| atom == Atom::Dim(d.0 as u32)).map(|(_, &p)| p);
        let value = exprs.eval(value, of).ok()?;
        let named = || dims.iter().zip(point).map(|(d, &p)| (d.0, p)).collect();
        (!(0..size).contains(&value)).then(|| Outside { value, size, point: named() })
    };
    let all = dims.iter().try_fold(1i64, |n, d| n.checked_mul(d.1)).filter(|&n| n <= POINTS);
    if let Some(all) = all {
        return (0..all).find_map(|n| at(exprs, &point_of(&dims, n)));
    }
    let corners = 1i64 << dims.len().min(12);
    let corner = |n: i64| {
        dims.iter().enumerate().map(|(k, d)| if k < 12 && n >> k & 1 == 1 { d.1 - 1 } else { 0 }).collect::<Vec<_>>()
    };
    if let Some(found) = (0..corners).find_map(|n| at(exprs, &corner(n))) {
        return Some(found);
    }
    // Points in between, spread by a step that shares no factor with sizes of tensors.
    let some = |n: i64| {
        let mut rest = n.wrapping_mul(2_654_435_761);
        dims.iter()
            .map(|d| {
                rest = rest.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (rest >> 17).rem_euclid(d.1)
            })
            .collect::<Vec<_>>()
    };
    (0..POINTS).find_map(|n| at(exprs, &some(n)))
}

/// The `n`-th point of a space, the last dimension stepping fastest.
fn point_of(dims: &[(usize, i64)], mut n: i64) -> Vec<i64> {
    let mut point = vec![0; dims.len()];
    for (p, d) in point.iter_mut().zip(dims).rev() {
        *p = n % d.1;
        n /= d.1;
    }
    point
}
