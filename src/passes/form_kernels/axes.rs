//! The axes of a group's kernel: neighbours that every access walks as one are merged, and the innermost is the one with the smallest steps.

use super::kernel::{Axis, linear};
use crate::dialects::loops;
use crate::dialects::loops::{Access, Dims};
use crate::ir::{Ir, Op, Value};
use crate::sched::group::Group;
use crate::sched::nest::NestInfo;
use rinductor_index::{Atom, Expr};
use rinductor_support::FxHashMap;

/// The axes of a kernel and where the group's axes went.
pub struct Axes {
    /// The kernel's axes.
    pub axes: Vec<Axis>,
    /// Each axis of the group as an expression over the kernel's axes.
    pub place: Vec<Expr>,
}

/// How one access varies with the axes of the group.
struct Steps {
    /// The step in elements along each axis, if the access is linear in all.
    linear: Option<Vec<Expr>>,
    /// The axes that occur at all.
    occurs: Vec<bool>,
    /// Whether it is a store.
    store: bool,
}

/// Chooses the axes. `outputs` are the values that the kernel stores, with the members that make them.
pub fn choose(
    ir: &mut Ir,
    group: &Group,
    infos: &[NestInfo],
    outputs: &[(Op, Value)],
    buffers: &FxHashMap<Value, Value>,
) -> Axes {
    let n = group.axes.len();
    let mut steps = Vec::new();
    for info in infos {
        let map = &group.maps[&info.nest.op];
        collect(ir, group, info, map, buffers, &mut steps);
    }
    for &(member, value) in outputs {
        let Some(&host) = buffers.get(&value) else { continue };
        let Some(info) = infos.iter().find(|i| i.nest.op == member) else { continue };
        let map = &group.maps[&member];
        let index: Vec<Expr> = (0..info.kept()).map(|k| axis_expr(ir, map[k])).collect();
        let ty = ir.value_type(host);
        let mut s = access_steps(ir, ty, &index, n, false);
        s.store = true;
        steps.push(s);
    }
    // `into[a]` is the axis that `a` was merged into; `extent` grows with it.
    let mut extent = group.axes.clone();
    let mut alive: Vec<bool> = extent.iter().map(|&e| ir.exprs.as_int(e) != Some(1)).collect();
    let covered: Vec<Vec<bool>> =
        infos.iter().map(|i| (0..n).map(|a| group.maps[&i.nest.op].contains(&Some(a))).collect()).collect();
    // The parts of a live axis, outermost first.
    let mut parts: Vec<Vec<usize>> = (0..n).map(|a| vec![a]).collect();
    // A buffer without elements has strides of 0, along which any axes look like one.
    let mut changed = !extent.iter().any(|&e| ir.exprs.as_int(e) == Some(0));
    while changed {
        changed = false;
        for outer in 0..n {
            for inner in 0..n {
                if outer == inner || !alive[outer] || !alive[inner] || group.reduced[outer] != group.reduced[inner] {
                    continue;
                }
                if covered.iter().any(|c| c[outer] != c[inner]) || !mergeable(ir, &steps, outer, inner, extent[inner]) {
                    continue;
                }
                extent[inner] = ir.exprs.mul(extent[outer], extent[inner]);
                alive[outer] = false;
                let mut list = std::mem::take(&mut parts[outer]);
                list.append(&mut parts[inner]);
                parts[inner] = list;
                changed = true;
            }
        }
    }
    let mut live: Vec<usize> = (0..n).filter(|&a| alive[a]).collect();
    // Parallel axes first, each kind with the largest steps of the stores (or of all accesses) outermost.
    live.sort_by_key(|&a| (group.reduced[a], std::cmp::Reverse(weight(ir, &steps, a)), a));
    let names = axis_names(&live.iter().map(|&a| group.reduced[a]).collect::<Vec<_>>());
    let mut axes: Vec<Axis> =
        live.iter().zip(names).map(|(&a, name)| Axis { name, extent: extent[a], reduced: group.reduced[a] }).collect();
    if group.has_reduction && !axes.iter().any(|a| a.reduced) {
        // All that is reduced has size 1: one step, in which the combination still happens.
        axes.push(Axis { name: "r".into(), extent: ir.exprs.int(1), reduced: true });
    }
    if axes.is_empty() {
        axes.push(Axis { name: "x".into(), extent: ir.exprs.int(1), reduced: false });
    }
    let zero = ir.exprs.int(0);
    let mut place = vec![zero; n];
    for (k, &a) in live.iter().enumerate() {
        // The innermost part carries the whole merged position; every access is linear in it, so that the outer parts can be 0.
        place[a] = ir.exprs.dim(k as u32);
    }
    Axes { axes, place }
}

/// Names: parallel axes `…, z, y, x` with `x` innermost, reduced ones `r` or `r0, r1`.
pub fn axis_names(reduced: &[bool]) -> Vec<String> {
    let parallel = reduced.iter().filter(|r| !**r).count();
    let reductions = reduced.len() - parallel;
    let (mut p, mut r) = (0, 0);
    reduced
        .iter()
        .map(|&is_reduced| {
            if is_reduced {
                r += 1;
                return if reductions == 1 { "r".to_string() } else { format!("r{}", r - 1) };
            }
            p += 1;
            match parallel - p {
                0 => "x".to_string(),
                1 => "y".to_string(),
                2 => "z".to_string(),
                k => format!("w{}", k - 3),
            }
        })
        .collect()
}

fn axis_expr(ir: &mut Ir, axis: Option<usize>) -> Expr {
    match axis {
        Some(a) => ir.exprs.dim(a as u32),
        None => ir.exprs.int(0),
    }
}

/// The steps of all index expressions in a member's body.
fn collect(
    ir: &mut Ir,
    group: &Group,
    info: &NestInfo,
    map: &[Option<usize>],
    buffers: &FxHashMap<Value, Value>,
    steps: &mut Vec<Steps>,
) {
    let n = group.axes.len();
    // Nest dimensions become axes; indices from data get numbers past the axes.
    let mut dims = Dims::of_block(ir, info.nest.body);
    for op in ir.block_op_list(info.nest.body) {
        let leading = match ir.op_name(op) {
            loops::LoadOp::NAME => 1,
            loops::IndexOp::NAME => 0,
            _ => continue,
        };
        let access = Access::of(ir, op, leading);
        let exprs = access.in_dims(ir, &mut dims);
        let with: Vec<(Atom, Expr)> = (0..dims.values.len())
            .map(|d| {
                let e = if d < map.len() { axis_expr(ir, map[d]) } else { ir.exprs.dim((n + d) as u32) };
                (Atom::Dim(d as u32), e)
            })
            .collect();
        let index: Vec<Expr> = exprs.iter().map(|&e| ir.exprs.subst(e, &with)).collect();
        if leading == 0 {
            // A position as a number must not change: no axis in it may be merged.
            steps.push(Steps { linear: None, occurs: occurs(ir, &index, n), store: false });
        } else if let Some(&host) = buffers.get(&access.tensor()) {
            let ty = ir.value_type(host);
            let index: Vec<Expr> =
                index.into_iter().map(|e| crate::passes::util::simplify_in(ir, e, &group.axes)).collect();
            steps.push(access_steps(ir, ty, &index, n, access.guard.is_some()));
        }
    }
}

fn occurs(ir: &Ir, index: &[Expr], n: usize) -> Vec<bool> {
    (0..n).map(|a| index.iter().any(|&e| ir.exprs.contains(e, Atom::Dim(a as u32)))).collect()
}

fn access_steps(ir: &mut Ir, ty: crate::ir::Type, index: &[Expr], n: usize, guarded: bool) -> Steps {
    let occurs = occurs(ir, index, n);
    let linear = (!guarded).then(|| linear(ir, ty, index, n)).flatten().map(|(steps, _)| steps);
    Steps { linear, occurs, store: false }
}

/// Whether every access sees `outer` and `inner` as one axis `outer * extent + inner`, or neither.
fn mergeable(ir: &mut Ir, steps: &[Steps], outer: usize, inner: usize, extent: Expr) -> bool {
    steps.iter().all(|s| match &s.linear {
        Some(l) => {
            let wanted = ir.exprs.mul(l[inner], extent);
            ir.exprs.expand(wanted) == ir.exprs.expand(l[outer])
        }
        None => !s.occurs[outer] && !s.occurs[inner],
    })
}

/// How large the steps along an axis are: of the stores first, then over all accesses.
fn weight(ir: &Ir, steps: &[Steps], axis: usize) -> (u64, u64) {
    let sum = |stores: bool| {
        steps
            .iter()
            .filter(|s| !stores || s.store)
            .filter_map(|s| s.linear.as_ref())
            .map(|l| crate::sched::cost::estimate(ir, l[axis]))
            .fold(0u64, u64::saturating_add)
    };
    (sum(true), sum(false))
}
