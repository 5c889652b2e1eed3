//! Running a function on the reference interpreter with the runtime's tensors and extern ops.

use crate::dialects::infos::OpInfos;
use crate::interp::rounding::Rounding;
use crate::interp::value::{Array, for_each_point};
use crate::interp::{self, ExternArg, ExternCall, Externs, Input, Output};
use crate::ir::{Ir, Op};
use crate::rewrite::{RuleRewriter, RuleSet, greedy};
use crate::runtime::ops::{Attr, Attrs, extern_op};
use crate::runtime::tensor::Tensor;
use crate::support::Diagnostic;

/// An argument or result of a function.
#[derive(Clone, Debug)]
pub enum Argument {
    /// A tensor.
    Tensor(Tensor),
    /// A symbolic integer.
    Int(i64),
    /// None.
    None,
}

/// An argument with memory of its own, of the same layout.
///
/// # Errors
/// The tensor cannot be read.
pub fn copy(argument: &Argument) -> Result<Argument, String> {
    Ok(match argument {
        Argument::Int(n) => Argument::Int(*n),
        Argument::None => Argument::None,
        Argument::Tensor(t) => {
            let copy = Tensor::zeros_strided(t.dtype(), t.sizes(), t.strides());
            let copied = copy.and_then(|c| c.copy_from(t).map(|()| c));
            Argument::Tensor(copied.map_err(|e| e.to_string())?)
        }
    })
}

/// The interpreter's form of a tensor: a copy with the same sizes and strides.
pub fn to_array(t: &Tensor) -> Result<Array, String> {
    let ints = |list: &[usize]| list.iter().map(|&n| n as i64).collect::<Vec<_>>();
    let (sizes, strides) = (ints(t.sizes()), ints(t.strides()));
    let a = Array::with_strides(t.dtype(), &sizes, &strides).ok_or("a tensor is too large for the interpreter")?;
    let mut failed = None;
    for_each_point(&sizes, |i| {
        let index: Vec<usize> = i.iter().map(|&n| n as usize).collect();
        match t.get(&index) {
            Ok(v) => {
                a.set(i, v);
            }
            Err(e) => failed = Some(e.to_string()),
        }
        failed.is_none()
    });
    failed.map_or(Ok(a), Err)
}

/// A runtime tensor with the elements and strides of the interpreter's.
pub fn to_tensor(a: &Array) -> Result<Tensor, String> {
    let sizes: Vec<usize> = a.sizes.iter().map(|&n| n as usize).collect();
    let strides: Option<Vec<usize>> = a.strides.iter().map(|&n| usize::try_from(n).ok()).collect();
    let e = |e: crate::runtime::RuntimeError| e.to_string();
    let rows = Tensor::zeros(a.dtype, &sizes).map_err(e)?;
    {
        let mut bytes = rows.storage().write::<u8>().map_err(e)?;
        let width = a.dtype.size();
        for (k, v) in a.elements().into_iter().enumerate() {
            let place = bytes.get_mut(k * width..(k + 1) * width).ok_or("a tensor reaches outside its memory")?;
            v.write_le(place);
        }
    }
    match strides {
        Some(s) if s != rows.strides() => {
            let t = Tensor::zeros_strided(a.dtype, &sizes, &s).map_err(e)?;
            t.copy_from(&rows).map_err(e)?;
            Ok(t)
        }
        _ => Ok(rows),
    }
}

/// The runtime's extern ops.
pub struct RuntimeExterns;

impl Externs for RuntimeExterns {
    fn call(&self, call: &ExternCall) -> Result<Vec<Array>, String> {
        let op = extern_op(&call.name).ok_or("there is no extern op of this name")?;
        let mut attrs = Attrs::new();
        for (name, value) in &call.args {
            attrs.set(
                name,
                match value {
                    ExternArg::Int(n) => Attr::Int(*n),
                    ExternArg::Float(x) => Attr::Float(*x),
                    ExternArg::Bool(b) => Attr::Bool(*b),
                    ExternArg::Str(s) => Attr::Str(s.clone()),
                    ExternArg::Ints(l) => Attr::Ints(l.clone()),
                    ExternArg::Floats(l) => Attr::Floats(l.clone()),
                    ExternArg::Bools(l) => Attr::Bools(l.clone()),
                    ExternArg::DType(d) => Attr::DType(*d),
                },
            );
        }
        let inputs =
            call.tensors.iter().map(|t| t.as_ref().map(to_tensor).transpose()).collect::<Result<Vec<_>, _>>()?;
        let results = op.run(&attrs, &inputs).map_err(|e| e.to_string())?;
        let mut arrays = Vec::new();
        for (k, r) in results.iter().enumerate() {
            arrays.push(match r {
                Some(t) => to_array(t)?,
                None => {
                    let (dtype, sizes, _) = call.results.get(k).ok_or("an extern op left out a result")?;
                    Array::zeros(*dtype, sizes).ok_or("a result is too large")?
                }
            });
        }
        Ok(arrays)
    }
}

/// Interprets a function with the runtime's extern ops. An op that has no definition but a decomposition means what that says: it is written so
/// before (the interpreter itself knows no rewriting).
///
/// # Errors
/// As [`interp::run`].
pub fn interpret(
    ir: &Ir,
    func: Op,
    inputs: &[Input],
    definitions: &dyn OpInfos,
    rounding: Option<Rounding>,
) -> Result<Vec<Output>, Diagnostic> {
    let undefined = |name: &str| definitions.def(name).is_some_and(|d| d.semantics.is_empty());
    if !ir.nested_ops(func).iter().any(|&op| undefined(ir.op_name(op))) {
        return interp::run_rounding(ir, func, inputs, definitions, &RuntimeExterns, rounding);
    }
    let mut ir = ir.clone();
    let rules = RuleSet::compile(definitions, |r| r.decomposition && undefined(&r.pattern.op.text));
    greedy(&mut ir, func, definitions, &mut RuleRewriter::new(&rules, definitions, false));
    interp::run_rounding(&ir, func, inputs, definitions, &RuntimeExterns, rounding)
}

/// Runs a function; mutated arguments are written back into the tensors that were passed.
///
/// # Errors
/// As [`interp::run`], and tensors that cannot be read.
pub fn run(ir: &Ir, func: Op, arguments: &[Argument], definitions: &dyn OpInfos) -> Result<Vec<Argument>, Diagnostic> {
    let odd = |e: String| Diagnostic::error_nowhere(e);
    let mut inputs = Vec::new();
    for a in arguments {
        inputs.push(match a {
            Argument::Tensor(t) => Input::Tensor(to_array(t).map_err(odd)?),
            Argument::Int(n) => Input::Int(*n),
            Argument::None => return Err(Diagnostic::error_nowhere("an argument is None")),
        });
    }
    let outputs = interpret(ir, func, &inputs, definitions, None)?;
    for (a, i) in arguments.iter().zip(&inputs) {
        if let (Argument::Tensor(t), Input::Tensor(now)) = (a, i) {
            let now = to_tensor(now).map_err(odd)?;
            t.copy_from(&now).map_err(|e| odd(e.to_string()))?;
        }
    }
    outputs
        .into_iter()
        .map(|o| {
            Ok(match o {
                Output::Tensor(a) => Argument::Tensor(to_tensor(&a).map_err(odd)?),
                Output::Int(n) => Argument::Int(n),
                Output::None => Argument::None,
            })
        })
        .collect()
}
