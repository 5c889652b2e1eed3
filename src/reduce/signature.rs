//! Leaving out arguments and results of functions and kernels, also where they are called.

use crate::ir::{Attr, AttrData, Block, Ir, Op, Type, Value};

/// The functions and kernels of a module: ops with a signature and a body.
pub(super) fn functions(ir: &Ir) -> Vec<Op> {
    let has_body = |&op: &Op| ir.attr_of(op, "sym_name").is_some() && ir.body(op).is_some();
    ir.block_ops(ir.module_body()).filter(has_body).collect()
}

/// Adds an argument to the function whose entry block this is; none if it is no function's.
pub(super) fn add_argument(ir: &mut Ir, entry: Block, ty: Type) -> Option<Value> {
    let func = ir.block_region(entry).and_then(|r| ir.region_op(r))?;
    if !ir.is_op(func, "func.func") || ir.body(func) != Some(entry) || is_called(ir, func) {
        return None;
    }
    let value = ir.add_block_arg(entry, ty);
    if let Some(mut list) = list_of(ir, func, "arg_attrs") {
        let empty = ir.empty_dict();
        list.push(ir.make_attr(AttrData::Dict(empty)));
        set_list(ir, func, "arg_attrs", &list);
    }
    refresh(ir, func);
    Some(value)
}

/// Whether another op names the function.
fn is_called(ir: &Ir, func: Op) -> bool {
    !callers(ir, func).is_empty()
}

/// The ops that name a function.
fn callers(ir: &Ir, func: Op) -> Vec<Op> {
    let Some(name) = ir.symbol_name(func) else { return Vec::new() };
    let names = |attr: Attr| ir.as_symbol(attr).is_some_and(|n| ir.text(n) == name);
    let calls = |op: &Op| ir.dict(ir.op(*op).props).iter().chain(ir.dict(ir.op(*op).attrs)).any(|&(_, a)| names(a));
    ir.nested_ops(ir.module()).into_iter().filter(calls).collect()
}

/// Writes the type of a function anew, from its block and from what ends it.
fn refresh(ir: &mut Ir, func: Op) {
    let Some(entry) = ir.body(func) else { return };
    let Some(old) = ir.attr_of(func, "function_type").and_then(|a| ir.as_type(a)) else { return };
    let inputs: Vec<Type> = ir.block_args(entry).iter().map(|&v| ir.value_type(v)).collect();
    let returned = ir.last_op(entry).filter(|&op| ir.is_op(op, "func.return"));
    let results: Vec<Type> = match (returned, ir.ty(old)) {
        (Some(op), _) => ir.operands(op).map(|v| ir.value_type(v)).collect(),
        (None, crate::ir::TypeData::Function { results, .. }) => results.to_vec(),
        (None, _) => Vec::new(),
    };
    let ty = ir.function_type(&inputs, &results);
    let attr = ir.type_attr(ty);
    ir.set_prop(func, "function_type", Some(attr));
}

fn list_of(ir: &Ir, op: Op, name: &str) -> Option<Vec<Attr>> {
    match ir.attr(ir.attr_of(op, name)?) {
        AttrData::Array(list) => Some(list.to_vec()),
        _ => None,
    }
}

fn set_list(ir: &mut Ir, op: Op, name: &str, list: &[Attr]) {
    let attr = (!list.is_empty()).then(|| ir.array_attr(list));
    ir.set_prop(op, name, attr);
}

fn remove_from_list(ir: &mut Ir, op: Op, name: &str, i: usize) {
    if let Some(mut list) = list_of(ir, op, name)
        && i < list.len()
    {
        list.remove(i);
        set_list(ir, op, name, &list);
    }
}

/// Results of functions: function and number. Functions that are called keep theirs.
pub(super) fn results(ir: &Ir) -> Vec<(Op, usize)> {
    let mut units = Vec::new();
    for func in functions(ir).into_iter().filter(|&f| ir.is_op(f, "func.func") && !is_called(ir, f)) {
        let last = ir.body(func).and_then(|b| ir.last_op(b)).filter(|&op| ir.is_op(op, "func.return"));
        units.extend(last.into_iter().flat_map(|op| (0..ir.num_operands(op)).map(move |i| (func, i))));
    }
    units
}

/// Results of functions that an op computes, each with the number of an operand of that op.
pub(super) fn before_results(ir: &Ir) -> Vec<(Op, usize, usize)> {
    let of = |&(func, i): &(Op, usize)| Some((func, i, definition(ir, func, i)?));
    let found = results(ir);
    let found = found.iter().filter_map(of);
    found.flat_map(|(func, i, op)| (0..ir.num_operands(op)).map(move |k| (func, i, k))).collect()
}

/// The op in the function that gives a result of it.
fn definition(ir: &Ir, func: Op, i: usize) -> Option<Op> {
    let body = ir.body(func)?;
    let op = ir.def_op(ir.operand(ir.last_op(body)?, i))?;
    (ir.parent_block(op) == Some(body)).then_some(op)
}

/// Lets functions return an operand of the op that gives a result, instead of the result: its type may be another.
pub(super) fn return_operands(ir: &mut Ir, units: &[(Op, usize, usize)]) -> bool {
    let mut done = None;
    for &(func, i, k) in units {
        let Some(last) = ir.body(func).and_then(|b| ir.last_op(b)) else { continue };
        // One operand of each result's op.
        if done == Some((func, i)) {
            continue;
        }
        if let Some(op) = definition(ir, func, i) {
            let value = ir.operand(op, k);
            ir.set_operand(last, i, value);
            refresh(ir, func);
            done = Some((func, i));
        }
    }
    done.is_some()
}

/// Leaves results out of functions.
pub(super) fn drop_results(ir: &mut Ir, units: &[(Op, usize)]) -> bool {
    for &(func, i) in units.iter().rev() {
        let Some(last) = ir.body(func).and_then(|b| ir.last_op(b)) else { continue };
        let mut values = ir.operand_list(last);
        values.remove(i);
        ir.set_operands(last, &values);
        remove_from_list(ir, func, "res_attrs", i);
        refresh(ir, func);
    }
    !units.is_empty()
}

/// Arguments of functions and kernels that nothing uses: function and number.
pub(super) fn unused_arguments(ir: &Ir) -> Vec<(Op, usize)> {
    arguments(ir, |value| ir.is_unused(value))
}

fn arguments(ir: &Ir, fits: impl Fn(Value) -> bool) -> Vec<(Op, usize)> {
    let mut units = Vec::new();
    for func in functions(ir) {
        let args = ir.body(func).map(|b| ir.block_args(b)).unwrap_or_default();
        units.extend((0..args.len()).filter(|&i| fits(args[i])).map(|i| (func, i)));
    }
    units
}

/// Leaves unused arguments out, and the operands of calls for them.
pub(super) fn drop_arguments(ir: &mut Ir, units: &[(Op, usize)]) -> bool {
    for &(func, i) in units.iter().rev() {
        let Some(entry) = ir.body(func) else { continue };
        let count = ir.block_args(entry).len();
        for caller in callers(ir, func) {
            let mut values = ir.operand_list(caller);
            if values.len() == count {
                values.remove(i);
                ir.set_operands(caller, &values);
            }
        }
        ir.remove_block_arg(entry, i);
        remove_from_list(ir, func, "arg_attrs", i);
        refresh(ir, func);
    }
    !units.is_empty()
}

/// Arguments that another of the same type before them could stand for.
pub(super) fn mergeable(ir: &Ir) -> Vec<(Op, usize)> {
    let mut units = arguments(ir, |value| !ir.is_unused(value));
    units.retain(|&(func, i)| first_like(ir, func, i).is_some());
    units
}

fn first_like(ir: &Ir, func: Op, i: usize) -> Option<Value> {
    let args = ir.body(func).map(|b| ir.block_args(b))?;
    args[..i].iter().copied().find(|&a| ir.value_type(a) == ir.value_type(args[i]))
}

/// Puts the first argument of the same type in the place of arguments.
pub(super) fn merge_arguments(ir: &mut Ir, units: &[(Op, usize)]) -> bool {
    let mut changed = false;
    for &(func, i) in units {
        if let (Some(first), Some(entry)) = (first_like(ir, func, i), ir.body(func)) {
            let arg = ir.block_args(entry)[i];
            ir.replace_all_uses(arg, first);
            changed = true;
        }
    }
    changed
}
