//! The evaluator: what a definition says of one op of a graph.
//!
//! Evaluation is staged. What is known when the graph is compiled (properties, dtypes, sizes as expressions) is computed
//! away; what is known only when it runs becomes values of loop bodies. So `if approximate == "none" then … else …`
//! leaves no trace of the branch not taken, and `if x > 0 then … else …` becomes a select.

mod expr;
mod functions;
mod graph;
mod lists;
mod nests;
mod operators;
mod philox;
mod strides;
mod types;
mod value;

pub use expr::dtype_of_word;
pub use value::{TensorSource, TensorValue, Value};

use crate::ast::*;
use crate::instance::{Instance, ResultType};
use crate::semantics::{Nest, NodeId, Semantics};
use rinductor_index::{Expr as IndexExpr, Exprs, Ranges};
use rinductor_support::{Diagnostic, Span};

/// Why a definition says nothing of an op.
#[derive(Clone, Debug, PartialEq)]
pub struct EvalError {
    /// Where in the dialect file.
    pub span: Span,
    /// What is wrong with the op, with the values in it.
    pub message: String,
    /// Whether the answer depends on sizes that are not known: nothing is wrong then.
    pub undecided: bool,
}

impl EvalError {
    fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), undecided: false }
    }
    /// The error as a diagnostic at the definition.
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic::error(self.span, self.message.clone())
    }
}

impl std::fmt::Display for EvalError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for EvalError {}

type Result<T> = std::result::Result<T, EvalError>;

/// The functions that `extern fn` declares.
pub trait Externs {
    /// Calls the function. None if there is no function of that name.
    ///
    /// # Errors
    /// The function's own: a sentence with the facts in it.
    fn call(&self, name: &str, args: &[Value], exprs: &mut Exprs) -> Option<std::result::Result<Value, String>>;
}

/// What is known around an op.
#[derive(Clone, Default)]
pub struct Setting<'a> {
    /// What is known of the symbols.
    pub facts: Ranges,
    /// The functions that Rust provides.
    pub externs: Option<&'a dyn Externs>,
}

/// Whether an op is what its definition wants, and the types of its results; None for types that cannot be inferred from the op alone. What depends
/// on unknown sizes is taken to hold.
///
/// `let` and `require` clauses count in the order of the file, so that a requirement guards what stands below it.
///
/// # Errors
/// The requirements that do not hold, arguments that do not fit the signature or each other; each with its message.
pub fn verify(
    op: &OpDef,
    instance: &Instance,
    exprs: &mut Exprs,
    setting: &Setting<'_>,
) -> std::result::Result<Option<Vec<ResultType>>, Vec<EvalError>> {
    let mut evaluator = Evaluator::new(exprs, setting);
    if let Err(error) = evaluator.bind_parameters(op, instance) {
        return if error.undecided { Ok(None) } else { Err(vec![error]) };
    }
    let mut broken = Vec::new();
    let mut lets = op.lets.iter().peekable();
    for require in op.requires.iter().map(Some).chain([None]) {
        let before = |at: Span| require.is_none_or(|r| at.start < r.condition.span.start);
        while let Some((binder, value)) = lets.next_if(|(_, value)| before(value.span)) {
            match evaluator.expr(value).and_then(|value| evaluator.bind(binder, value, op.span)) {
                Ok(()) => {}
                Err(error) if error.undecided => evaluator.undecided.extend(binder.names().cloned()),
                // What cannot be computed is usually what a requirement above guards.
                Err(error) if broken.is_empty() => return Err(vec![error]),
                Err(_) => return Err(broken),
            }
        }
        let Some(require) = require else { break };
        match evaluator.expr(&require.condition) {
            Ok(Value::Bool(true)) => {}
            Ok(Value::Bool(false)) => broken.push(evaluator.message(require)),
            Ok(other) => {
                let shown = evaluator.show(&other);
                broken.push(EvalError::new(require.condition.span, format!("the condition is {shown}, not a bool")));
            }
            Err(error) if error.undecided => {}
            Err(error) if broken.is_empty() => broken.push(error),
            Err(_) => {}
        }
    }
    if !broken.is_empty() {
        return Err(broken);
    }
    match evaluator.infer_results(op) {
        Ok(types) => Ok(Some(types)),
        Err(error) if error.undecided => Ok(None),
        Err(error) => Err(vec![error]),
    }
}

/// What the op computes.
///
/// # Errors
/// The op has no semantics, an argument does not fit, or the definition needs a size that is not known.
pub fn instantiate(op: &OpDef, instance: &Instance, exprs: &mut Exprs, setting: &Setting<'_>) -> Result<Semantics> {
    if op.semantics.is_empty() {
        return Err(EvalError::new(op.span, format!("'{}' has no semantics", op.name.text)));
    }
    let mut evaluator = Evaluator::new(exprs, setting);
    evaluator.bind_args(op, instance)?;
    evaluator.semantics(op, instance)
}

/// The arguments of an op by name, in the order of its signature, with defaults in place of what is absent.
///
/// # Errors
/// An argument does not fit the signature.
pub fn arguments(
    op: &OpDef,
    instance: &Instance,
    exprs: &mut Exprs,
    setting: &Setting<'_>,
) -> Result<Vec<(Str, Value)>> {
    let mut evaluator = Evaluator::new(exprs, setting);
    evaluator.bind_parameters(op, instance)?;
    Ok(evaluator.vars)
}

/// The value of an expression: a rule's condition, or a property that a rule computes.
///
/// # Errors
/// As the expression says: a list index out of range, a dimension that does not exist.
pub fn eval_expr(expr: &Expr, bindings: &[(Str, Value)], exprs: &mut Exprs, setting: &Setting<'_>) -> Result<Value> {
    let mut evaluator = Evaluator::new(exprs, setting);
    evaluator.vars.extend(bindings.iter().cloned());
    evaluator.expr(expr)
}

/// The state of one evaluation.
struct Evaluator<'a> {
    exprs: &'a mut Exprs,
    /// What is known of symbols, and of the dimensions and indirect indices that were opened.
    facts: Ranges,
    externs: Option<&'a dyn Externs>,
    /// Variables, innermost last.
    vars: Vec<(Str, Value)>,
    /// Names whose values depend on sizes that are not known.
    undecided: Vec<Str>,
    graph: graph::Graph,
    nests: Vec<Nest>,
    /// Sizes of all dimensions that were opened, by their number in the graph.
    dims: Vec<IndexExpr>,
    /// The dimensions of the point that is being computed, outermost first.
    scope: Vec<u32>,
    /// What must hold at the place that is being computed (i1).
    guard: Option<NodeId>,
    /// Whether values that are known only at run time may be made.
    running: bool,
    /// What `sum(x)` and its like mean here.
    reduction: Reduction,
}

/// What an aggregate without dimensions of its own (`sum(x)`) runs over.
#[derive(Clone, Debug, Default)]
enum Reduction {
    /// Nothing: it is an error.
    #[default]
    None,
    /// The dimensions of a `reduce` clause.
    Reduce(Vec<u32>),
    /// The dimension of a `scan` clause, by position in the space.
    Scan(usize),
}

impl<'a> Evaluator<'a> {
    fn new(exprs: &'a mut Exprs, setting: &Setting<'a>) -> Self {
        Self {
            exprs,
            facts: setting.facts.clone(),
            externs: setting.externs,
            vars: Vec::new(),
            undecided: Vec::new(),
            graph: graph::Graph::default(),
            nests: Vec::new(),
            dims: Vec::new(),
            scope: Vec::new(),
            guard: None,
            running: false,
            reduction: Reduction::None,
        }
    }

    fn message(&mut self, require: &Require) -> EvalError {
        let mut text = String::new();
        for part in &require.message {
            match part {
                MessagePart::Text(t) => text.push_str(t),
                MessagePart::Value(e) => match self.expr(e) {
                    Ok(value) => text.push_str(&self.show(&value)),
                    Err(_) => text.push('?'),
                },
            }
        }
        EvalError::new(require.span, text)
    }

    fn lookup(&self, name: &str) -> Option<&Value> {
        self.vars.iter().rev().find(|(n, _)| **n == *name).map(|(_, v)| v)
    }
}

#[cfg(test)]
mod tests;
