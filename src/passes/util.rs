//! What several passes need: constants, remarks, and simplification of index expressions inside a nest.

use crate::ir::{AttrData, InsertPoint, Ir, Loc, Type, TypeData, Value};
use crate::pass::PassContext;
use crate::sched::Decisions;
use crate::support::diag::Place;
use crate::support::{Diagnostic, Severity};
use rinductor_index::{Atom, Expr, Range};

/// Makes a remark of each decision.
pub fn explain(ir: &Ir, decisions: Decisions, cx: &mut PassContext) {
    for decision in decisions.into_list() {
        let text = format!("{}: {}", cx.pass(), decision.text);
        let remark = Diagnostic::new(Severity::Remark, ir.place(decision.loc), text);
        cx.emit(match decision.other {
            Some((loc, name)) if loc != decision.loc && ir.place(loc) != Place::None => {
                remark.note(ir.place(loc), format!("{name} is here"))
            }
            _ => remark,
        });
    }
}

/// `arith.constant 0` of a scalar or vector type.
pub fn zero_constant(ir: &mut Ir, ty: Type, loc: Loc, at: InsertPoint) -> Value {
    let element = ir.element_type(ty);
    let scalar = match ir.ty(element) {
        TypeData::Float(_) => ir.make_attr(AttrData::Float { bits: 0, ty: element }),
        TypeData::Integer { width: 1, .. } => ir.bool_attr(false),
        _ => ir.int_attr(0, element),
    };
    constant(ir, scalar, ty, loc, at)
}

/// `arith.constant` of a scalar attribute, as a splat when `ty` is a vector.
pub fn constant(ir: &mut Ir, scalar: crate::ir::Attr, ty: Type, loc: Loc, at: InsertPoint) -> Value {
    let value = if matches!(ir.ty(ty), TypeData::Vector { .. }) { splat(ir, scalar, ty) } else { scalar };
    ir.create_value("arith.constant", &[], ty, &[("value", value)], loc, at)
}

/// `dense<scalar> : vector type`.
pub fn splat(ir: &mut Ir, scalar: crate::ir::Attr, ty: Type) -> crate::ir::Attr {
    let bits = match ir.attr(scalar) {
        AttrData::Bool(b) => i64::from(*b),
        AttrData::Integer { value, .. } => *value,
        AttrData::Float { bits, .. } => *bits as i64,
        _ => 0,
    };
    let text = crate::text::dense::text(ir, &[bits], ty);
    ir.make_attr(AttrData::Dense { text: text.into(), ty })
}

/// An expression simplified with what is known of the dimensions of a nest: dimension `k` lies in `[0, sizes[k])`, so a symbol that is the size of
/// a dimension of the expression is at least 1 where that is computed.
pub fn simplify_in(ir: &mut Ir, e: Expr, sizes: &[Expr]) -> Expr {
    let mut ranges = ir.exprs.facts();
    for (k, &size) in sizes.iter().enumerate() {
        ranges.set_extent(k as u32, size);
    }
    for atom in ir.exprs.atoms(e) {
        if let Atom::Dim(d) = atom
            && let Some(size) = sizes.get(d as usize).and_then(|&size| ir.exprs.as_atom(size))
        {
            ranges.set(size, Range::at_least(1));
        }
    }
    ir.exprs.simplify(e, &ranges)
}
