//! Turns every graph op whose dialect file says what it computes into loop nests; the others stay as extern ops.
//!
//! Before:
//! ```mlir
//! func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
//!   %exp = "aten.exp"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
//!   return %exp : tensor<4x8xf32>
//! }
//! ```
//! After:
//! ```mlir
//! func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
//!   %exp = loops.pointwise (%i, %j) in [4, 8] -> tensor<4x8xf32> {
//!     %0 = loops.load %x[%i, %j] : f32
//!     %1 = math.exp %0 : f32
//!     loops.yield %1 : f32
//!   }
//!   return %exp : tensor<4x8xf32>
//! }
//! ```
//! Symbolic integers become `loops.size` with an expression over symbols; a number that is computed from them becomes a tensor without
//! dimensions.

mod emit;

use crate::dialects::instance::instance_of;
use crate::dialects::symbols;
use crate::dialects::{aten, func, loops};
use crate::ir::{InsertPoint, Ir, Op, TypeData, Value};
use crate::pass::{Changed, Level, NoOptions, Pass, PassContext};
use crate::support::Diagnostic;
use rinductor_defs::{OpDef, Setting, Signature};

/// The pass.
pub static PASS: Pass = Pass {
    name: "lower-aten-to-loops",
    source: include_str!("lower_aten_to_loops.rs"),
    on: Some(func::FuncOp::NAME),
    needs: &[Level::Graph, Level::Loop],
    leaves: &[Level::Loop],
    statistics: &[
        ("lowered", "ops that became nests"),
        ("nests", "nests made"),
        ("extern", "ops that stay as extern ops"),
    ],
    run,
};

fn run(ir: &mut Ir, root: Op, _: &NoOptions, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
    let Some(body) = ir.body(root) else { return Ok(Changed::No) };
    let mut changed = Changed::No;
    let setting = Setting { facts: symbols::facts(ir, root), externs: None };
    for op in ir.block_op_list(body) {
        let name = ir.op_name(op).to_string();
        if name.starts_with("loops.")
            || name.starts_with("func.")
            || name == aten::NoneOp::NAME
            || name == aten::ConstantOp::NAME
        {
            continue;
        }
        if lower_sizes(ir, op) || lower_number(ir, op)? {
            changed = Changed::Yes;
            continue;
        }
        let Some(def) = cx.infos.def(&name) else { continue };
        if def.semantics.is_empty() {
            if !def.has_trait("pure") || def.has_trait("extern") {
                cx.count("extern", 1);
            }
            continue;
        }
        if !ir.results(op).any(|r| matches!(ir.ty(ir.value_type(r)), TypeData::Tensor { .. })) {
            continue; // a scalar op of the host
        }
        let instance = instance_of(ir, op, def)?;
        let semantics = rinductor_defs::instantiate(def, &instance, &mut ir.exprs, &setting).map_err(|e| {
            Diagnostic::error(ir.place(ir.op(op).loc), format!("'{name}': {e}")).note(e.span, "in its definition")
        })?;
        let aliases = result_aliases(def, ir.num_results(op));
        cx.count("nests", semantics.nests.len() as u64);
        cx.count("lowered", 1);
        emit::replace(ir, op, &semantics, &aliases)?;
        changed = Changed::Yes;
    }
    Ok(changed)
}

/// Whether each of the results shares memory with an argument, as the schema's alias annotations say; a list of tensors is as many results.
fn result_aliases(def: &OpDef, results: usize) -> Vec<bool> {
    match &def.signature {
        Signature::Schema(sig) if sig.results.len() == 1 => vec![sig.results[0].ty.alias.is_some(); results],
        Signature::Schema(sig) => sig.results.iter().map(|r| r.ty.alias.is_some()).collect(),
        Signature::Named(sig) => vec![def.has_trait("view"); sig.results.len()],
    }
}

/// An op whose results are symbolic integers: each becomes `loops.size` of its expression.
fn lower_sizes(ir: &mut Ir, op: Op) -> bool {
    let name = ir.op_name(op);
    if !(name.starts_with("sym.") || name.starts_with("aten.sym_")) || ir.num_results(op) != 1 {
        return false;
    }
    let result = ir.result(op, 0);
    if !matches!(ir.ty(ir.value_type(result)), TypeData::Index) {
        return false;
    }
    let Some(e) = symbols::expr_of(ir, result) else { return false };
    let size = size_value(ir, e, op);
    ir.replace_op(op, &[size]);
    true
}

/// `loops.size [e] : index` before `op`.
fn size_value(ir: &mut Ir, e: rinductor_index::Expr, op: Op) -> Value {
    let (map, index, loc) = (ir.index_map_attr(0, &[e]), ir.index_type(), ir.op(op).loc);
    ir.create_value(loops::SizeOp::NAME, &[], index, &[("map", map)], loc, InsertPoint::Before(op))
}

/// An op that computes a number from symbolic integers (`sym.truediv`, …): a pointwise nest without dimensions.
fn lower_number(ir: &mut Ir, op: Op) -> Result<bool, Diagnostic> {
    if !ir.op_name(op).starts_with("sym.") || ir.num_results(op) != 1 {
        return Ok(false);
    }
    let ty = ir.value_type(ir.result(op, 0));
    if !matches!(ir.ty(ty), TypeData::Float(_)) {
        return Ok(false);
    }
    emit::number(ir, op)?;
    Ok(true)
}
