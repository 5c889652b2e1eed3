//! Loop nests: index expressions simplified with what is known of the dimensions, guards that are known, indices from data that are none.

use super::constant::{Const, known_int, make, width_of};
use crate::dialects::loops::{Access, Dims, Nest, index_map, map_exprs};
use crate::dialects::symbols;
use crate::dialects::{func, loops};
use crate::ir::{Def, Ir, Op, TypeData, Value};
use crate::passes::util::zero_constant;
use crate::rewrite::Edits;
use rinductor_index::{Atom, Expr, Ranges};
use rinductor_support::FxHashMap;

/// What is known of the symbols of each function.
#[derive(Default)]
pub struct Nests {
    facts: FxHashMap<Op, Ranges>,
}

/// How many operands stand before the index operands of an access.
fn leading(name: &str) -> Option<usize> {
    match name {
        loops::LoadOp::NAME | loops::PutOp::NAME => Some(1),
        loops::IndexOp::NAME => Some(0),
        _ => None,
    }
}

impl Nests {
    /// Simplifies an op of a nest's body.
    pub fn simplify(&mut self, edits: &mut Edits<'_>, op: Op) -> bool {
        if guard_is_known(edits, op) {
            return true;
        }
        let name = edits.ir.op_name(op);
        match leading(name) {
            Some(n) => self.access(edits, op, n) || index_is_constant(edits, op),
            None if name == loops::PositionOp::NAME => self.position(edits, op),
            None => false,
        }
    }

    fn facts_at(&mut self, ir: &mut Ir, op: Op) -> Ranges {
        let func =
            std::iter::successors(ir.parent_op(op), |&o| ir.parent_op(o)).find(|&o| ir.is_op(o, func::FuncOp::NAME));
        match func {
            Some(func) => self.facts.entry(func).or_insert_with(|| symbols::facts(ir, func)).clone(),
            None => ir.exprs.facts(),
        }
    }

    /// What is known when dimension `k` of expressions is `index[k]`.
    fn ranges(&mut self, ir: &mut Ir, op: Op, index: &[Value]) -> Ranges {
        let mut ranges = self.facts_at(ir, op);
        for (k, &v) in index.iter().enumerate() {
            if let Some(extent) = extent_of(ir, v) {
                ranges.set_extent(k as u32, extent);
            }
        }
        ranges
    }

    /// Simplifies the expressions of an access, and leaves out operands that they do not use.
    fn access(&mut self, edits: &mut Edits<'_>, op: Op, leading: usize) -> bool {
        let ir = &mut *edits.ir;
        let access = Access::of(ir, op, leading);
        let mut dims = Dims::default();
        let before = access.in_dims(ir, &mut dims);
        let ranges = self.ranges(ir, op, &dims.values);
        let exprs: Vec<Expr> = before.iter().map(|&e| ir.exprs.simplify(e, &ranges)).collect();
        rewrite_access(edits, op, &access, &dims, &exprs)
    }

    /// An index from data that is an index expression within the bounds: its users use the expression.
    fn position(&mut self, edits: &mut Edits<'_>, op: Op) -> bool {
        let ir = &mut *edits.ir;
        if ir.num_results(op) != 1 {
            return false;
        }
        let mut dims = Dims::default();
        let e = match ir.operand_list(op).as_slice() {
            // Nothing is read where the guard is false, and the index is 0.
            [_, guard] if known_int(ir, *guard).is_some_and(|g| g & 1 == 0) => ir.exprs.int(0),
            &[value] => {
                let Some(e) = expression(ir, value, &mut dims) else { return false };
                let Some(&bound) = loops::PositionOp(op).bound(ir).first() else { return false };
                let ranges = self.ranges(ir, op, &dims.values);
                if ir.exprs.prove_in_bounds(e, bound, &ranges) != Some(true) {
                    return false;
                }
                e
            }
            _ => return false,
        };
        let result = ir.result(op, 0);
        let users = ir.users(result);
        if users.iter().any(|&u| leading(ir.op_name(u)).is_none()) {
            return false;
        }
        for user in users {
            let n = leading(edits.ir.op_name(user)).unwrap_or(0);
            let access = Access::of(edits.ir, user, n);
            // The dimensions of the expression keep their numbers; the user's come after them.
            let mut all = dims.clone();
            let exprs = access.in_dims(edits.ir, &mut all);
            let this = all.number(result);
            let exprs: Vec<Expr> = exprs.iter().map(|&x| edits.ir.exprs.subst(x, &[(Atom::Dim(this), e)])).collect();
            rewrite_access(edits, user, &access, &all, &exprs);
        }
        // It cannot stop the run, so nothing is lost.
        if edits.ir.is_unused(result) {
            edits.erase(op);
        }
        true
    }
}

/// An integer value as an expression over the dimensions of `dims`: `loops.index`, or a constant.
fn expression(ir: &mut Ir, value: Value, dims: &mut Dims) -> Option<Expr> {
    if let Some(n) = known_int(ir, value) {
        return Some(ir.exprs.int(n));
    }
    let op = ir.def_op(value).filter(|&d| ir.is_op(d, loops::IndexOp::NAME))?;
    // A narrow type could have cut the value off.
    if width_of(ir, ir.value_type(value))? < 64 {
        return None;
    }
    Access::of(ir, op, 0).in_dims(ir, dims).first().copied()
}

/// How many values an `index` value takes: from 0 up to, not including, this.
fn extent_of(ir: &mut Ir, value: Value) -> Option<Expr> {
    match ir.def(value) {
        Def::Arg(block, k) => {
            let op = ir.block_region(block).and_then(|r| ir.region_op(r))?;
            Nest::of(ir, op)?.sizes().get(k as usize).copied()
        }
        Def::Result(op, _) => loops::PositionOp::cast(ir, op)?.bound(ir).first().copied(),
    }
}

/// Gives an access other expressions, over `dims`; false when they are what it has.
fn rewrite_access(edits: &mut Edits<'_>, op: Op, access: &Access, dims: &Dims, exprs: &[Expr]) -> bool {
    let ir = &mut *edits.ir;
    let (map, index) = index_map(ir, dims, exprs);
    let operands: Vec<Value> = access.leading.iter().copied().chain(index).chain(access.guard).collect();
    if ir.attr_of(op, "map") == Some(map) && ir.operand_list(op).as_slice() == operands.as_slice() {
        return false;
    }
    loops::set_index_map(ir, access, map, &operands);
    edits.set_operands(op, &operands);
    true
}

/// `loops.index` of a constant is a constant.
fn index_is_constant(edits: &mut Edits<'_>, op: Op) -> bool {
    let ir = &mut *edits.ir;
    if !ir.is_op(op, loops::IndexOp::NAME) {
        return false;
    }
    let exprs = map_exprs(ir, op, "map");
    let Some(n) = exprs.first().and_then(|&e| ir.exprs.as_int(e)) else { return false };
    let ty = ir.value_type(ir.result(op, 0));
    match make(ir, Const::Int(n), ty, op) {
        Some(v) => {
            edits.replace(op, &[v]);
            true
        }
        None => false,
    }
}

/// A guard that is always true goes; a load whose guard never is gives 0.
fn guard_is_known(edits: &mut Edits<'_>, op: Op) -> bool {
    let ir = &mut *edits.ir;
    let name = ir.op_name(op).to_string();
    let guard = match name.as_str() {
        loops::PositionOp::NAME => (ir.num_operands(op) > 1).then(|| ir.operand(op, 1)),
        _ => match leading(&name) {
            Some(n) => Access::of(ir, op, n).guard,
            None => None,
        },
    };
    let Some(known) = guard.and_then(|g| known_int(ir, g)) else { return false };
    if known & 1 != 0 {
        let mut operands = ir.operand_list(op);
        operands.pop();
        if let Some(mut counts) = ir.operand_segments(op) {
            if let Some(last) = counts.last_mut() {
                *last = 0;
            }
            let counts = ir.i32_array_attr(&counts);
            ir.set_prop(op, "operandSegmentSizes", Some(counts));
        }
        edits.set_operands(op, &operands);
        return true;
    }
    // A complex number has no constant.
    let element = |ir: &Ir| ir.ty(ir.element_type(ir.value_type(ir.result(op, 0)))).clone();
    if name != loops::LoadOp::NAME || matches!(element(ir), TypeData::Complex(_)) {
        return false;
    }
    let (ty, loc) = (ir.value_type(ir.result(op, 0)), ir.op(op).loc);
    let zero = zero_constant(ir, ty, loc, crate::ir::InsertPoint::Before(op));
    edits.replace(op, &[zero]);
    true
}
