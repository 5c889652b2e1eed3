//! Checks of the buffers of a host function: that each lies within its memory, lives as long as it is used, and is what a kernel takes.

use super::kernel_verify::Report;
use super::kernels;
use super::loops::{sizes_of, strides_of};
use super::{dtype_of, symbols};
use crate::ir::{Def, Ir, Op, Type, TypeData, Value};
use rinductor_index::Expr;
use rinductor_support::FxHashMap;

/// What is known of a buffer.
#[derive(Clone, Copy)]
struct Buffer {
    /// The buffer whose memory it is: itself for an allocation, an argument or a constant.
    root: Value,
    /// The arena in which the root lies.
    arena: Option<Value>,
}

/// Checks a function's ops on buffers.
pub(super) fn function(report: &mut Report, func: Op) {
    let Some(body) = report.ir.body(func) else { return };
    // A memref means what others want where no op of this level is.
    if !report.ir.block_ops(body).any(|op| report.ir.op_name(op).starts_with("kernels.")) {
        return;
    }
    let mut buffers: FxHashMap<Value, Buffer> = FxHashMap::default();
    let mut gone: FxHashMap<Value, Op> = FxHashMap::default();
    for &arg in &report.ir.block_args(body).to_vec() {
        let ty = report.ir.value_type(arg);
        if is_buffer(report.ir, ty) {
            let name = report.name(arg);
            report.buffer(func, &name, ty);
            buffers.insert(arg, Buffer { root: arg, arena: None });
        }
    }
    for op in report.ir.block_op_list(body) {
        for v in report.ir.operand_list(op) {
            let Some(b) = buffers.get(&v) else { continue };
            if gone.contains_key(&b.root) || b.arena.is_some_and(|a| gone.contains_key(&a)) {
                report.error(op, format!("uses {} after 'kernels.dealloc' of its memory", report.name(v)));
            }
        }
        match report.ir.op_name(op) {
            kernels::AllocOp::NAME => alloc(report, op, &mut buffers),
            kernels::ConstantOp::NAME => {
                let result = report.ir.result(op, 0);
                report.buffer(op, "the result", report.ir.value_type(result));
                buffers.insert(result, Buffer { root: result, arena: None });
            }
            kernels::ViewOp::NAME => view(report, op, &mut buffers),
            kernels::DeallocOp::NAME => {
                let v = kernels::DeallocOp(op).buffer(report.ir);
                let own = buffers.get(&v).is_some_and(|b| b.root == v && b.arena.is_none());
                let made = report.ir.def_op(v).is_some_and(|o| report.ir.is_op(o, kernels::AllocOp::NAME));
                if !own || !made {
                    report.error(op, format!("{} is no memory that 'kernels.alloc' made", report.name(v)));
                }
                gone.entry(v).or_insert(op);
            }
            kernels::CopyOp::NAME => copy(report, op),
            kernels::LaunchOp::NAME => launch(report, op),
            kernels::ExternOp::NAME => external(report, op),
            kernels::SizeOp::NAME => {
                let exprs = super::loops::map_exprs(report.ir, op, "map");
                if exprs.len() != 1 {
                    report.error(op, format!("has {} expressions, not one", exprs.len()));
                }
                report.divisions(op, &exprs);
            }
            _ => {}
        }
    }
}

fn is_buffer(ir: &Ir, ty: Type) -> bool {
    matches!(ir.ty(ty), TypeData::MemRef { .. })
}

/// The bytes from the start of the allocation that a buffer reaches; None where they are not known in advance. An error if no memory has them.
fn bytes(ir: &mut Ir, ty: Type) -> Result<Option<i64>, ()> {
    let (Some(sizes), Some((strides, offset))) = (sizes_of(ir, ty), strides_of(ir, ty)) else { return Ok(None) };
    let Some(dtype) = dtype_of(ir, ir.element_type(ty)) else { return Ok(None) };
    let int = |e: Expr| ir.exprs.as_int(e);
    let Some(sizes) = sizes.into_iter().map(int).collect::<Option<Vec<_>>>() else { return Ok(None) };
    if sizes.contains(&0) {
        return Ok(Some(0));
    }
    let (Some(strides), Some(offset)) = (strides.into_iter().map(int).collect::<Option<Vec<_>>>(), int(offset)) else {
        return Ok(None);
    };
    let mut last = Some(offset);
    for (n, s) in sizes.into_iter().zip(strides) {
        last = last.and_then(|l| (n - 1).checked_mul(s).and_then(|r| l.checked_add(r)));
    }
    let bytes = last.and_then(|l| l.checked_add(1)?.checked_mul(dtype.size() as i64));
    bytes.map(Some).ok_or(())
}

/// As [`bytes`], with an error at an op.
fn reach(report: &mut Report, op: Op, ty: Type) -> Option<i64> {
    match bytes(report.ir, ty) {
        Ok(n) => n,
        Err(()) => {
            report.error(op, format!("{} is larger than any memory", report.shown(ty)));
            None
        }
    }
}

fn alloc(report: &mut Report, op: Op, buffers: &mut FxHashMap<Value, Buffer>) {
    let result = report.ir.result(op, 0);
    let ty = report.ir.value_type(result);
    let alloc = kernels::AllocOp(op);
    let (arena, offset) = (alloc.arena(report.ir), alloc.offset(report.ir));
    buffers.insert(result, Buffer { root: result, arena });
    if !report.buffer(op, "the result", ty) {
        return;
    }
    let need = reach(report, op, ty);
    let (arena, offset) = match (arena, offset) {
        (Some(arena), Some(offset)) => (arena, offset),
        (None, None) => return,
        (Some(_), None) => return report.error(op, "has an arena, but no offset in it"),
        (None, Some(_)) => return report.error(op, "has an offset, but no arena"),
    };
    let of = report.ir.value_type(arena);
    let own = buffers.get(&arena).is_some_and(|b| b.root == arena && b.arena.is_none());
    let bytewise = report.ir.shape(of).is_some_and(|s| s.len() == 1)
        && dtype_of(report.ir, report.ir.element_type(of)).is_some_and(|d| d.size() == 1);
    if !own || !bytewise || !is_buffer(report.ir, of) {
        return report.error(op, format!("the arena {} is no buffer of bytes of its own", report.name(arena)));
    }
    let size = dtype_of(report.ir, report.ir.element_type(ty)).map_or(1, |d| d.size() as i64);
    if offset < 0 || offset % size != 0 {
        return report
            .error(op, format!("the offset {offset} is no multiple of {size}, the bytes of an element, from 0 on"));
    }
    if let (Some(need), Some(have)) = (need, reach(report, op, of))
        && offset.checked_add(need).is_none_or(|end| end > have)
    {
        report.error(op, format!("{need} bytes at {offset} do not fit into the {have} bytes of the arena"));
    }
}

fn view(report: &mut Report, op: Op, buffers: &mut FxHashMap<Value, Buffer>) {
    let (source, result) = (kernels::ViewOp(op).source(report.ir), report.ir.result(op, 0));
    let Some(&buffer) = buffers.get(&source) else {
        return report.error(op, format!("{} is no buffer of this function", report.name(source)));
    };
    buffers.insert(result, buffer);
    let ty = report.ir.value_type(result);
    if !report.buffer(op, "the result", ty) {
        return;
    }
    let root = report.ir.value_type(buffer.root);
    let empty = bytes(report.ir, report.ir.value_type(source)) == Ok(Some(0));
    // Behind what an argument's type says there may be more of its memory: the call knows.
    let known = !matches!(report.ir.def(buffer.root), Def::Arg(..));
    if let (Some(need), Ok(Some(have))) = (reach(report, op, ty), bytes(report.ir, root))
        && need > have
        && known
        && !empty
    {
        report.error(
            op,
            format!("reaches {need} bytes from the start of {}, which has {have}", report.name(buffer.root)),
        );
    }
}

fn copy(report: &mut Report, op: Op) {
    let (from, into) = (kernels::CopyOp(op).from(report.ir), kernels::CopyOp(op).into(report.ir));
    let types = [from, into].map(|v| report.ir.value_type(v));
    let [Some(a), Some(b)] = types.map(|t| if is_buffer(report.ir, t) { sizes_of(report.ir, t) } else { None }) else {
        return report.error(op, format!("{} or {} is no buffer of known sizes", report.name(from), report.name(into)));
    };
    let differ = |(&x, &y): (&Expr, &Expr)| matches!((report.ir.exprs.as_int(x), report.ir.exprs.as_int(y)), (Some(x), Some(y)) if x != y);
    if a.len() != b.len() || a.iter().zip(&b).any(differ) {
        let [a, b] = types.map(|t| report.shown(t));
        report.error(op, format!("{a} and {b} differ in their sizes"));
    }
}

fn launch(report: &mut Report, op: Op) {
    let launch = kernels::LaunchOp(op);
    let callee = launch.callee(report.ir).to_string();
    let Some(&kernel) = report.kernels.get(&callee) else {
        return report.error(op, format!("@{callee} is no kernel"));
    };
    let params = report.ir.body(kernel).map(|b| report.ir.block_args(b).to_vec()).unwrap_or_default();
    let args = launch.args(report.ir);
    if args.len() != params.len() {
        return report.error(op, format!("passes {} arguments, but @{callee} takes {}", args.len(), params.len()));
    }
    for (k, (&arg, &param)) in args.iter().zip(&params).enumerate() {
        let (given, wanted) = (report.ir.value_type(arg), report.ir.value_type(param));
        if given != wanted {
            let (name, given, wanted) = (report.name(arg), report.shown(given), report.shown(wanted));
            report.error(op, format!("passes {name} of {given}, but argument {k} of @{callee} is {wanted}"));
            continue;
        }
        let Some(symbol) = symbols::argument_symbol(report.ir, kernel, k) else { continue };
        let is = size_of(report.ir, arg);
        if let Some(is) = is.filter(|&is| is != symbol) {
            let (is, symbol) = (report.ir.exprs.display(is).to_string(), report.ir.exprs.display(symbol).to_string());
            report.error(op, format!("passes {is}, but argument {k} of @{callee} is {symbol}"));
        }
    }
}

/// The expression that an `index` value of a host function is, if that is known.
fn size_of(ir: &mut Ir, v: Value) -> Option<Expr> {
    match ir.def_op(v).and_then(|op| kernels::SizeOp::cast(ir, op)) {
        Some(size) => size.map(ir).first().copied(),
        None => symbols::expr_of(ir, v),
    }
}

fn external(report: &mut Report, op: Op) {
    let external = kernels::ExternOp(op);
    let (outs, args) = (external.outs(report.ir), external.args(report.ir));
    let (callee, n) = (external.callee(report.ir).to_string(), args.len());
    if usize::try_from(outs).is_ok_and(|o| o <= n) {
        return;
    }
    report.error(op, format!("{callee} writes {outs} buffers of {n} operands"));
}
