//! The interpreter with the runtime's tensors and extern ops: for `rinductor-run --interpret`, and for `--check-execution`.

use super::inputs::{self, Argument, Bindings, Returned, Source};
use crate::dialects::library::Library;
use crate::interp::value::{Array, for_each_point};
use crate::interp::{self, ExternArg, ExternCall, Externs, Input};
use crate::ir::{Ir, Op};
use crate::pass::execution::{Elements, Executor, Output};
use crate::runtime::{Attr, Attrs, Tensor, extern_op};
use crate::scalar::Scalar;
use crate::support::Diagnostic;
use std::any::Any;

/// Extern ops by the runtime.
struct RuntimeExterns;

impl Externs for RuntimeExterns {
    fn call(&self, call: &ExternCall) -> Result<Vec<Array>, String> {
        let op = extern_op(&call.name).ok_or_else(|| format!("there is no extern op '{}'", call.name))?;
        let mut attrs = Attrs::new();
        for (name, value) in &call.args {
            attrs.set(
                name,
                match value {
                    ExternArg::Int(x) => Attr::Int(*x),
                    ExternArg::Float(x) => Attr::Float(*x),
                    ExternArg::Bool(x) => Attr::Bool(*x),
                    ExternArg::Str(x) => Attr::Str(x.clone()),
                    ExternArg::Ints(x) => Attr::Ints(x.clone()),
                    ExternArg::Floats(x) => Attr::Floats(x.clone()),
                    ExternArg::Bools(x) => Attr::Bools(x.clone()),
                    ExternArg::DType(x) => Attr::DType(*x),
                },
            );
        }
        let tensors: Result<Vec<Option<Tensor>>, String> =
            call.tensors.iter().map(|a| a.as_ref().map(to_tensor).transpose()).collect();
        let results = op.run(&attrs, &tensors?).map_err(|e| e.to_string())?;
        let described = call.results.iter().map(Some).chain(std::iter::repeat(None));
        results
            .iter()
            .zip(described)
            .map(|(result, described)| match (result, described) {
                (Some(t), _) => to_array(t),
                // A result that was not asked for is not computed: its place is filled.
                (None, Some((dtype, sizes, strides))) => {
                    Array::with_strides(*dtype, sizes, strides).ok_or_else(|| "a result is too large".to_string())
                }
                (None, None) => Err(format!("'{}' gave no result where one is used", call.name)),
            })
            .collect()
    }
}

/// The interpreter's copy of a tensor, with the same strides.
fn to_array(t: &Tensor) -> Result<Array, String> {
    let list = |v: &[usize]| v.iter().map(|&n| n as i64).collect::<Vec<_>>();
    let array = Array::with_strides(t.dtype(), &list(t.sizes()), &list(t.strides()));
    let array = array.ok_or_else(|| format!("a tensor of sizes {:?} is too large for the interpreter", t.sizes()))?;
    let bytes = t.to_le_bytes().map_err(|e| e.to_string())?;
    let mut chunks = bytes.chunks_exact(t.dtype().size());
    for_each_point(&array.sizes.clone(), |index| {
        let scalar = chunks.next().and_then(|c| Scalar::read_le(t.dtype(), c));
        scalar.is_some_and(|s| array.set(index, s))
    });
    Ok(array)
}

/// The runtime's copy of an array, with the same strides.
fn to_tensor(a: &Array) -> Result<Tensor, String> {
    let list = |v: &[i64]| {
        v.iter().map(|&n| usize::try_from(n).map_err(|_| format!("{n} is no size"))).collect::<Result<Vec<_>, _>>()
    };
    let (sizes, strides) = (list(&a.sizes)?, list(&a.strides)?);
    let size = a.dtype.size();
    let mut bytes = vec![0; sizes.iter().product::<usize>() * size];
    for (chunk, s) in bytes.chunks_exact_mut(size).zip(a.elements()) {
        s.write_le(chunk);
    }
    let dense = Tensor::from_le_bytes(a.dtype, &sizes, &bytes).map_err(|e| e.to_string())?;
    if dense.strides() == strides {
        return Ok(dense);
    }
    let t = Tensor::zeros_strided(a.dtype, &sizes, &strides).map_err(|e| e.to_string())?;
    t.copy_from(&dense).map_err(|e| e.to_string())?;
    Ok(t)
}

/// Runs a function at any level. Arguments that it mutates are changed.
///
/// # Errors
/// What stops the run.
pub fn run(ir: &Ir, func: Op, arguments: &[Argument], library: &Library) -> Result<Vec<Returned>, Diagnostic> {
    let nowhere = |e: String| Diagnostic::error(ir.place(ir.op(func).loc), e);
    let mut arrays = Vec::new();
    for argument in arguments {
        arrays.push(match argument {
            Argument::Tensor(t) => Input::Tensor(to_array(t).map_err(nowhere)?),
            Argument::Int(n) => Input::Int(*n),
        });
    }
    let results = interp::run(ir, func, &arrays, library, &RuntimeExterns)?;
    for (argument, array) in arguments.iter().zip(&arrays) {
        if let (Argument::Tensor(t), Input::Tensor(a)) = (argument, array) {
            let after = to_tensor(a).map_err(nowhere)?;
            let same = after.to_le_bytes().ok() == t.to_le_bytes().ok();
            if !same {
                t.copy_from(&after).map_err(|e| nowhere(e.to_string()))?;
            }
        }
    }
    results
        .into_iter()
        .map(|r| match r {
            interp::Output::Tensor(a) => to_tensor(&a).map(Returned::Tensor).map_err(nowhere),
            interp::Output::Int(n) => Ok(Returned::Int(n)),
            interp::Output::None => Ok(Returned::Nothing),
        })
        .collect()
}

/// The interpreter for `--check-execution`.
pub struct Checking<'a> {
    /// What ops mean.
    pub library: &'a Library,
}

impl Executor for Checking<'_> {
    fn inputs(&self, ir: &Ir, func: Op, seed: u64) -> Result<Box<dyn Any>, Diagnostic> {
        let place = ir.place(ir.op(func).loc);
        let mut ir = ir.clone();
        let made = inputs::signature(&mut ir, func).and_then(|args| {
            let mut bindings = Bindings::default();
            inputs::make(&mut ir, func, &args, &Source::Seed(seed), &mut bindings)
        });
        made.map(|arguments| Box::new(arguments) as Box<dyn Any>).map_err(|why| Diagnostic::error(place, why))
    }

    fn run(&self, ir: &Ir, func: Op, inputs: &dyn Any) -> Result<Vec<Output>, Diagnostic> {
        let place = || ir.place(ir.op(func).loc);
        let wrong = |why: String| Diagnostic::error(place(), why);
        let arguments = inputs.downcast_ref::<Vec<Argument>>().ok_or_else(|| wrong("these are no inputs".into()))?;
        // Each run gets copies, since it may change them.
        let mut copies = Vec::new();
        for argument in arguments {
            copies.push(match argument {
                Argument::Int(n) => Argument::Int(*n),
                Argument::Tensor(t) => {
                    let copy = Tensor::zeros_strided(t.dtype(), t.sizes(), t.strides());
                    let copied = copy.and_then(|c| c.copy_from(t).map(|()| c));
                    Argument::Tensor(copied.map_err(|e| wrong(e.to_string()))?)
                }
            });
        }
        let results = run(ir, func, &copies, self.library)?;
        let mut outputs = Vec::new();
        for (i, result) in results.iter().enumerate() {
            outputs.push(match result {
                Returned::Tensor(t) => output(format!("result {i}"), t).map_err(wrong)?,
                Returned::Int(n) => Output {
                    name: format!("result {i}"),
                    dtype: "index".into(),
                    shape: Vec::new(),
                    elements: Elements::Int(vec![*n]),
                },
                Returned::Nothing => Output {
                    name: format!("result {i}"),
                    dtype: "none".into(),
                    shape: vec![0],
                    elements: Elements::Int(Vec::new()),
                },
            });
        }
        for (i, (copy, original)) in copies.iter().zip(arguments).enumerate() {
            if let (Argument::Tensor(c), Argument::Tensor(o)) = (copy, original)
                && c.to_le_bytes().ok() != o.to_le_bytes().ok()
            {
                outputs.push(output(format!("argument {i}, which is changed"), c).map_err(wrong)?);
            }
        }
        Ok(outputs)
    }
}

fn output(name: String, t: &Tensor) -> Result<Output, String> {
    let dtype = t.dtype();
    let elements = if dtype.is_complex() {
        let values = t.to_dtype(crate::scalar::DType::C128).and_then(|t| t.to_vec::<num_complex::Complex<f64>>());
        values.map(|v| Elements::Complex(v.into_iter().map(|z| (z.re, z.im)).collect()))
    } else if dtype.is_float() {
        t.to_vec::<f64>().map(Elements::Float)
    } else {
        t.to_vec::<i64>().map(Elements::Int)
    };
    Ok(Output {
        name,
        dtype: dtype.to_string(),
        shape: t.sizes().to_vec(),
        elements: elements.map_err(|e| e.to_string())?,
    })
}
