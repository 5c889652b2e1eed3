//! The interpreter as `--check-execution` wants it.

use super::inputs::{Callee, Source};
use super::reference::{self, Argument};
use crate::dialects::library::Library;
use crate::ir::{Ir, Op};
use crate::pass::execution::{Elements, Executor, Output};
use crate::runtime::Tensor;
use crate::support::Diagnostic;
use std::any::Any;

/// The interpreter for `--check-execution`.
pub struct Checking<'a> {
    /// What ops mean.
    pub library: &'a Library,
}

impl Executor for Checking<'_> {
    fn inputs(&self, ir: &Ir, func: Op, seed: u64) -> Result<Box<dyn Any>, Diagnostic> {
        let place = ir.place(ir.op(func).loc);
        let made = Callee::new(ir, func).and_then(|mut callee| callee.arguments(&Source::Seed(seed), &[]));
        made.map(|arguments| Box::new(arguments) as Box<dyn Any>).map_err(|why| Diagnostic::error(place, why))
    }

    fn run(&self, ir: &Ir, func: Op, inputs: &dyn Any) -> Result<Vec<Output>, Diagnostic> {
        let place = || ir.place(ir.op(func).loc);
        let wrong = |why: String| Diagnostic::error(place(), why);
        let arguments = inputs.downcast_ref::<Vec<Argument>>().ok_or_else(|| wrong("these are no inputs".into()))?;
        // Each run gets copies, since it may change them.
        let copies = arguments.iter().map(reference::copy).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
        let results = reference::run(ir, func, &copies, self.library)?;
        let mut outputs = Vec::new();
        for (i, result) in results.iter().enumerate() {
            outputs.push(match result {
                Argument::Tensor(t) => output(format!("result {i}"), t).map_err(wrong)?,
                Argument::Int(n) => Output {
                    name: format!("result {i}"),
                    dtype: "index".into(),
                    shape: Vec::new(),
                    elements: Elements::Int(vec![*n]),
                },
                Argument::None => Output {
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
