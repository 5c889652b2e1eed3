//! Symbolic integers: which expression over symbols an `index` value is.

use super::loops;
use super::{aten, func, sym};
use crate::ir::{Def, Ir, Op, Value};
use rinductor_index::{Atom, Expr, Exprs, Range, Ranges, SymId};

/// The expression that an argument of a function binds (`aten.symbol = "s0"`, or an expression such as `"2*s0"`).
pub fn argument_symbol(ir: &mut Ir, func: Op, index: usize) -> Option<Expr> {
    let mut exprs = std::mem::take(&mut ir.exprs);
    let symbol = argument_symbol_in(ir, &mut exprs, func, index);
    ir.exprs = exprs;
    symbol
}

/// As [`argument_symbol`], in an arena of the caller's that has the symbols of the IR.
pub fn argument_symbol_in(ir: &Ir, exprs: &mut Exprs, func: Op, index: usize) -> Option<Expr> {
    let text = argument_attr(ir, func, index, "aten.symbol").and_then(|a| ir.as_str(a))?;
    exprs.parse(text).ok()
}

/// An attribute of an argument of a function (`arg_attrs`).
pub fn argument_attr(ir: &Ir, func: Op, index: usize, name: &str) -> Option<crate::ir::Attr> {
    let list = ir.attr_of(func, "arg_attrs")?;
    let crate::ir::AttrData::Array(items) = ir.attr(list) else { return None };
    let crate::ir::AttrData::Dict(dict) = ir.attr(*items.get(index)?) else { return None };
    ir.dict_get(*dict, name)
}

/// What is known of the symbols of a function: they are not negative unless an argument says so, and within its `aten.min` and `aten.max` (PyTorch,
/// which specialises 0 and 1, says 2 and more).
pub fn facts(ir: &mut Ir, func: Op) -> Ranges {
    let mut exprs = std::mem::take(&mut ir.exprs);
    let facts = facts_in(ir, &mut exprs, func);
    ir.exprs = exprs;
    facts
}

/// As [`facts`], in an arena of the caller's that has the symbols of the IR.
pub fn facts_in(ir: &Ir, exprs: &mut Exprs, func: Op) -> Ranges {
    let mut facts = exprs.facts();
    let args = ir.body(func).map_or(0, |b| ir.block_args(b).len());
    for k in 0..args {
        let Some(symbol) = argument_symbol_in(ir, exprs, func, k) else { continue };
        let Some(atom) = exprs.as_atom(symbol) else { continue };
        let bound = |name: &str| argument_attr(ir, func, k, name).and_then(|a| ir.as_int(a));
        let (lo, hi) = (bound("aten.min"), bound("aten.max"));
        if lo.is_some() || hi.is_some() {
            let lo = Some(lo.unwrap_or(0)).filter(|&lo| lo != i64::MIN);
            facts.set(atom, Range { lo, hi });
        }
    }
    facts
}

/// Takes note in the arena of expressions which symbols arguments let be negative (`aten.min` below 0): those of one name are one symbol in
/// all functions of a module.
pub fn note_signed(ir: &mut Ir) {
    for func in ir.ops_named(ir.module(), func::FuncOp::NAME) {
        let args = ir.body(func).map_or(0, |b| ir.block_args(b).len());
        for k in 0..args {
            let least = argument_attr(ir, func, k, "aten.min").and_then(|a| ir.as_int(a));
            if least.is_some_and(|n| n < 0)
                && let Some(symbol) = argument_symbol(ir, func, k)
                && let Some(Atom::Sym(symbol)) = ir.exprs.as_atom(symbol)
            {
                ir.exprs.set_signed(symbol);
            }
        }
    }
}

/// Checks a symbol's value in a call against what the compiler took to hold of it.
///
/// # Errors
/// The value is none that the function serves: a sentence.
pub fn admit(facts: &Ranges, exprs: &Exprs, symbol: SymId, value: i64) -> Result<(), String> {
    let range = facts.range(Atom::Sym(symbol));
    if range.contains(value) {
        return Ok(());
    }
    let name = exprs.sym_name(symbol);
    let from = range.lo.map_or(String::new(), |lo| format!(" from {lo}"));
    let to = range.hi.map_or(String::new(), |hi| format!(" to {hi}"));
    Err(format!(
        "the size {name} is {value}, but the function serves sizes{from}{to} (aten.min and aten.max of the argument that binds {name} say others)"
    ))
}

/// The expression that an `index` (or integer) value is, where it is made of symbols, sizes and constants; None where data or an op of
/// another kind decides it.
pub fn expr_of(ir: &mut Ir, value: Value) -> Option<Expr> {
    // Chains of sums are as deep as a graph is long only in odd inputs; those are refused rather than followed.
    expr_within(ir, value, 200)
}

fn expr_within(ir: &mut Ir, value: Value, depth: usize) -> Option<Expr> {
    let depth = depth.checked_sub(1)?;
    let op = match ir.def(value) {
        Def::Result(op, _) => op,
        Def::Arg(block, k) => {
            let func = ir.block_region(block).and_then(|r| ir.region_op(r))?;
            return argument_symbol(ir, func, k as usize);
        }
    };
    let operand = |ir: &mut Ir, i: usize| -> Option<Expr> {
        if i >= ir.num_operands(op) {
            return None;
        }
        let v = ir.operand(op, i);
        expr_within(ir, v, depth)
    };
    match ir.op_name(op) {
        "arith.constant" => {
            let v = ir.attr_of(op, "value").and_then(|a| ir.as_int(a))?;
            Some(ir.exprs.int(v))
        }
        "arith.addi"
        | "arith.subi"
        | "arith.muli"
        | "arith.floordivsi"
        | sym::ModOp::NAME
        | sym::SubOp::NAME
        | sym::AddOp::NAME
        | sym::MulOp::NAME
        | sym::FloordivOp::NAME
        | "arith.maxsi"
        | "arith.minsi" => {
            let (a, b) = (operand(ir, 0)?, operand(ir, 1)?);
            Some(match ir.op_name(op) {
                "arith.addi" | sym::AddOp::NAME => ir.exprs.add(a, b),
                "arith.subi" | sym::SubOp::NAME => ir.exprs.sub(a, b),
                "arith.muli" | sym::MulOp::NAME => ir.exprs.mul(a, b),
                sym::ModOp::NAME => ir.exprs.modulo(a, b),
                "arith.maxsi" => ir.exprs.max(&[a, b]),
                "arith.minsi" => ir.exprs.min(&[a, b]),
                _ => ir.exprs.floordiv(a, b),
            })
        }
        loops::SizeOp::NAME => loops::SizeOp(op).map(ir).first().copied(),
        aten::SymSizeIntOp::NAME => {
            let ty = ir.value_type(ir.operand(op, 0));
            let sizes = loops::sizes_of(ir, ty)?;
            let dim = aten::SymSizeIntOp(op).dim(ir)?;
            let dim = if dim < 0 { dim + sizes.len() as i64 } else { dim };
            sizes.get(usize::try_from(dim).ok()?).copied()
        }
        aten::SymStrideIntOp::NAME => {
            let ty = ir.value_type(ir.operand(op, 0));
            let (strides, _) = loops::strides_of(ir, ty)?;
            let dim = aten::SymStrideIntOp(op).dim(ir)?;
            let dim = if dim < 0 { dim + strides.len() as i64 } else { dim };
            strides.get(usize::try_from(dim).ok()?).copied()
        }
        aten::SymNumelOp::NAME => {
            let ty = ir.value_type(ir.operand(op, 0));
            let sizes = loops::sizes_of(ir, ty)?;
            Some(ir.exprs.product(&sizes))
        }
        aten::SymStorageOffsetOp::NAME => {
            let ty = ir.value_type(ir.operand(op, 0));
            loops::strides_of(ir, ty).map(|(_, offset)| offset)
        }
        _ => None,
    }
}
