//! Checks an op against a signature of names: how many operands, results and regions it has, of which types, and what its properties hold.
//!
//! Views of ops rely on it: what a definition says is there is there.

use super::constraint;
use super::view::counted;
use crate::ir::{Attr, AttrData, Ir, Op};
use crate::support::Diagnostic;
use rinductor_defs::OpDef;
use rinductor_defs::ast::{AttrKind, Multiplicity, NamedSig, OperandDecl, RegionKind};
use smallvec::SmallVec;

/// Adds what is wrong with an op of this definition.
pub fn verify(ir: &Ir, op: Op, def: &OpDef, sig: &NamedSig, wrong: &mut Vec<Diagnostic>) {
    let mut error = |text: String| {
        wrong.push(Diagnostic::error(ir.place(ir.op(op).loc), format!("'{}': {text}", def.name.text)));
    };
    for a in &sig.attrs {
        match ir.attr_of(op, &a.name.text) {
            Some(attr) if fits(ir, attr, &a.kind) => {}
            Some(_) => error(format!("property '{}' is no {}", a.name.text, a.kind.words())),
            None if a.optional || a.default.is_some() || a.kind == AttrKind::Unit => {}
            None => error(format!("property '{}' is missing", a.name.text)),
        }
    }
    let operands = operands(ir, op, def, sig);
    let results = number("result", ir.num_results(op), &sig.results);
    match (operands, results) {
        (Ok(operands), Ok(results)) => {
            let mut texts = Vec::new();
            constraint::verify(ir, op, sig, &operands, &results, &mut texts);
            texts.into_iter().for_each(&mut error);
        }
        (operands, results) => [operands, results].into_iter().filter_map(Result::err).for_each(&mut error),
    }
    let regions = ir.regions_of(op);
    if regions.len() != sig.regions.len() && sig.regions.iter().all(|r| r.many == Multiplicity::One) {
        error(format!("has {}, not {}", times(regions.len(), "region"), sig.regions.len()));
        return;
    }
    for (decl, &region) in sig.regions.iter().zip(regions) {
        let blocks = ir.blocks_of(region).len();
        if decl.kind == RegionKind::Block && blocks != 1 {
            error(format!("region '{}' has {}, not one", decl.name.text, times(blocks, "block")));
        }
    }
}

/// `1 operand`, `2 operands`.
fn times(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// How many operands or results each name has, or what is wrong.
type Counts = Result<SmallVec<[usize; 4]>, String>;

/// The counts of operands or results, of which one name at most has a number that varies.
fn number(what: &str, n: usize, decls: &[OperandDecl]) -> Counts {
    let fixed = decls.iter().filter(|d| d.many == Multiplicity::One).count();
    let most = match (decls.len() - fixed, decls.iter().any(|d| d.many == Multiplicity::Many)) {
        (_, true) => usize::MAX,
        (optional, false) => fixed + optional,
    };
    if (fixed..=most).contains(&n) {
        return Ok(decls.iter().map(|d| if d.many == Multiplicity::One { 1 } else { n - fixed }).collect());
    }
    let wanted = match most {
        usize::MAX => format!("{fixed} at least"),
        _ if most == fixed => fixed.to_string(),
        _ => format!("{fixed} to {most}"),
    };
    Err(format!("has {}, not {wanted}", times(n, what)))
}

/// The counts of operands, of which several names may have numbers that vary.
fn operands(ir: &Ir, op: Op, def: &OpDef, sig: &NamedSig) -> Counts {
    let n = ir.num_operands(op);
    let alone = number("operand", n, &sig.operands);
    let varying = sig.operands.iter().filter(|o| o.many != Multiplicity::One).count();
    if alone.is_err() || varying < 2 {
        return alone;
    }
    let counts: SmallVec<[usize; 4]> = match rinductor_defs::views::counted(def, sig) {
        Some((group, map)) => {
            let mut left = n - (sig.operands.len() - varying);
            let mut counts = SmallVec::from_elem(1, sig.operands.len());
            counts[group] = counted(ir, op, map);
            let Some(rest) = left.checked_sub(counts[group]) else {
                return Err(format!(
                    "'{map}' has {}, but there are {left} operands for them",
                    times(counts[group], "dimension")
                ));
            };
            left = rest;
            for (k, o) in sig.operands.iter().enumerate() {
                if o.many != Multiplicity::One && k != group {
                    counts[k] = std::mem::take(&mut left);
                }
            }
            counts
        }
        None => {
            let Some(segments) = ir.operand_segments(op) else {
                return Err("operandSegmentSizes, the numbers of operands of each name, is missing".into());
            };
            segments.iter().map(|&n| usize::try_from(n).unwrap_or(usize::MAX)).collect()
        }
    };
    let sum = counts.iter().fold(0usize, |a, &b| a.saturating_add(b));
    if counts.len() != sig.operands.len() || sum != n {
        return Err(format!("operandSegmentSizes says {counts:?} of {n} operands for {} names", sig.operands.len()));
    }
    let misfit = sig.operands.iter().zip(&counts).find(|(o, n)| match o.many {
        Multiplicity::One => **n != 1,
        Multiplicity::Optional => **n > 1,
        Multiplicity::Many => false,
    });
    match misfit {
        Some((o, n)) => Err(format!("has {} for '{}'", times(*n, "operand"), o.name.text)),
        None => Ok(counts),
    }
}

/// Whether a property holds what its kind says.
fn fits(ir: &Ir, attr: Attr, kind: &AttrKind) -> bool {
    let data = ir.attr(attr);
    let string = matches!(data, AttrData::String(_) | AttrData::TypedString(..));
    let list = matches!(data, AttrData::DenseArray { .. } | AttrData::Array(_));
    match kind {
        AttrKind::Any | AttrKind::Flags(_) => true,
        AttrKind::Int => matches!(data, AttrData::Integer { .. }),
        AttrKind::Float => matches!(data, AttrData::Float { .. }),
        AttrKind::Number => matches!(data, AttrData::Integer { .. } | AttrData::Float { .. } | AttrData::Bool(_)),
        AttrKind::Bool => ir.as_bool(attr).is_some(),
        AttrKind::Unit => matches!(data, AttrData::Unit | AttrData::Bool(_)),
        AttrKind::Str | AttrKind::SymbolName => string,
        AttrKind::Type | AttrKind::FunctionType => matches!(data, AttrData::Type(_)),
        AttrKind::SymbolRef => matches!(data, AttrData::Symbol { .. }),
        AttrKind::Ints => ir.as_ints(attr).is_some(),
        AttrKind::Floats | AttrKind::Bools => list,
        AttrKind::Strs => {
            matches!(data, AttrData::Array(items) if items.iter().all(|&i| matches!(ir.attr(i), AttrData::String(_))))
        }
        AttrKind::Array => matches!(data, AttrData::Array(_)),
        AttrKind::Dict => matches!(data, AttrData::Dict(_)),
        AttrKind::AffineMap => matches!(data, AttrData::Affine { .. }),
        AttrKind::IndexMap => matches!(data, AttrData::IndexMap { .. }),
        // MLIR's dialects number their words.
        AttrKind::Enum(words) => match ir.as_str(attr) {
            Some(word) => words.iter().any(|w| **w == *word),
            None => matches!(data, AttrData::Integer { .. } | AttrData::Dialect(_)),
        },
    }
}
