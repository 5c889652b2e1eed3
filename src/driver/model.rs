//! A graph together with what it must compute: inputs as its description says, and results of any level held against it.

use super::inputs::{Callee, Source};
use super::reference::Argument;
use crate::ir::{Ir, Op};
use crate::runtime::Tensor;
use crate::runtime::compare::{Expectation, ExpectedGraph};

/// A graph as it was read, and its description.
pub struct Model {
    callee: Callee,
    expected: Box<ExpectedGraph>,
    /// The results whose strides the user sees; None for all.
    visible: Option<Vec<i64>>,
}

/// What came of holding results against a description.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// One sentence for each disagreement.
    pub wrong: Vec<String>,
    /// The greatest [`Expectation::distance`] of all outputs.
    pub distance: f64,
}

impl Model {
    /// The graph of function `func` of `ir`, which is as it was read.
    ///
    /// # Errors
    /// An argument of a type that no input can be made for.
    pub fn new(ir: &Ir, func: Op, expected: ExpectedGraph) -> Result<Model, String> {
        let callee = Callee::new(ir, func)?;
        let visible = ir.attr_of(func, "aten.user_visible_outputs").and_then(|a| ir.as_ints(a));
        Ok(Model { callee, expected: Box::new(expected), visible })
    }

    /// Fresh arguments: a run may change them.
    ///
    /// # Errors
    /// The description does not fit the function.
    pub fn arguments(&self) -> Result<Vec<Argument>, String> {
        self.callee.clone().arguments(&Source::Expected(self.expected.clone()), &[])
    }

    /// Holds results, and arguments as they are after the run, against the description.
    ///
    /// # Errors
    /// A tensor cannot be read.
    pub fn judge(&self, arguments: &[Argument], results: &[Argument]) -> Result<Verdict, String> {
        let mut verdict = Verdict::default();
        if results.len() != self.expected.outputs.len() {
            let (n, want) = (results.len(), self.expected.outputs.len());
            verdict.wrong.push(format!("{n} results, {want} are expected"));
            return Ok(verdict);
        }
        for (i, (want, got)) in self.expected.outputs.iter().zip(results).enumerate() {
            let seen = self.visible.as_ref().is_none_or(|v| v.contains(&(i as i64)));
            let got = tensor(got);
            let wrong = if seen { want.check(got) } else { want.check_values(got) };
            verdict.add(&format!("result {i}"), want, got, wrong.map_err(|e| e.to_string())?)?;
        }
        for (name, want) in &self.expected.mutated_inputs {
            let got = self.callee.parameters.iter().position(|p| p.name == *name).and_then(|k| arguments.get(k));
            let got = got.and_then(tensor);
            let wrong = want.check(got).map_err(|e| e.to_string())?;
            verdict.add(&format!("argument {name} after the run"), want, got, wrong)?;
        }
        Ok(verdict)
    }
}

impl Verdict {
    fn add(&mut self, what: &str, want: &Expectation, got: Option<&Tensor>, wrong: Vec<String>) -> Result<(), String> {
        self.wrong.extend(wrong.into_iter().map(|w| format!("{what}: {w}")));
        if let Some(got) = got.filter(|_| want.is_tensor()) {
            self.distance = self.distance.max(want.distance(got).map_err(|e| e.to_string())?);
        }
        Ok(())
    }
}

fn tensor(a: &Argument) -> Option<&Tensor> {
    match a {
        Argument::Tensor(t) => Some(t),
        _ => None,
    }
}
