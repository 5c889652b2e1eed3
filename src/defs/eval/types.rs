//! Type rules: the shape, dtype and strides of results.

use super::{EvalError, Evaluator, Result, TensorValue, Value};
use crate::ast::*;
use crate::instance::{ResultType, TensorType};
use rinductor_index::Expr as IndexExpr;
use rinductor_scalar::DType;
use rinductor_support::Span;
use std::rc::Rc;

/// How the elements of the operands of an op are converted before it computes.
#[derive(Clone, Debug, Default)]
pub(super) struct Computation {
    /// The dtype, if the type rule says one.
    pub dtype: Option<DType>,
    /// The names of the operands that are converted.
    pub operands: Vec<Str>,
    /// Whether a number, or a tensor of one element, keeps the precision that the op computes with.
    pub wide_numbers: bool,
}

impl Evaluator<'_> {
    /// The types of all results, as the type clause says.
    pub(super) fn infer_results(&mut self, op: &OpDef) -> Result<Vec<ResultType>> {
        let results = match &op.signature {
            Signature::Schema(sig) => sig.results.len(),
            Signature::Named(sig) => return self.infer_named(op, sig),
        };
        if op.types.is_empty() && results > 0 {
            let message = format!("'{}' has no type clause: the types of its results have to be stated", op.name.text);
            return Err(EvalError { undecided: true, ..EvalError::new(op.span, message) });
        }
        let mut out = Vec::new();
        for rule in &op.types {
            match &rule.each {
                None => out.push(self.type_rule(op, rule)?.0),
                Some((name, list)) => {
                    let items = self.expr(list)?;
                    for item in self.list_of(&items, list.span)?.iter() {
                        self.vars.push((name.text.clone(), item.clone()));
                        let ty = self.type_rule(op, rule);
                        self.vars.pop();
                        out.push(ty?.0);
                    }
                }
            }
        }
        Ok(out)
    }

    /// Results of the ops with names: those whose constraint is the type of an operand.
    fn infer_named(&mut self, op: &OpDef, sig: &NamedSig) -> Result<Vec<ResultType>> {
        if !op.types.is_empty() {
            let mut out = Vec::new();
            for rule in &op.types {
                out.push(self.type_rule(op, rule)?.0);
            }
            return Ok(out);
        }
        sig.results
            .iter()
            .map(|result| {
                let (of, dtype) = match &result.constraint {
                    Constraint::Same(of, _) => (of, None),
                    Constraint::Like(of, element, _) => match &**element {
                        Constraint::Named(word, _) => (of, super::expr::dtype_of_word(word)),
                        _ => (of, None),
                    },
                    Constraint::Named(word, _) if &**word == "index" => return Ok(ResultType::Int),
                    _ => {
                        let message = format!("the type of result '{}' has to be stated", result.name.text);
                        return Err(EvalError { undecided: true, ..EvalError::new(op.span, message) });
                    }
                };
                match self.lookup(of) {
                    Some(Value::Tensor(t)) => Ok(ResultType::Tensor(TensorType {
                        shape: t.shape.clone(),
                        dtype: dtype.unwrap_or(t.dtype),
                        strides: t.strides.clone(),
                        offset: t.offset,
                    })),
                    Some(Value::Int(_)) => Ok(ResultType::Int),
                    _ => Err(EvalError::new(op.span, format!("'{of}' is not a tensor, so the result has no type"))),
                }
            })
            .collect()
    }

    /// How the op computes, from the rule of its first result.
    pub(super) fn computation(&mut self, op: &OpDef) -> Result<Computation> {
        let Some(rule) = op.types.first() else { return Ok(Computation::default()) };
        if !matches!(rule.function, TypeFn::Promote | TypeFn::Float | TypeFn::Bool | TypeFn::Reduced) {
            return Ok(Computation::default());
        }
        let dtype = match self.type_rule(op, rule) {
            Ok((_, dtype)) => dtype,
            // Sizes do not matter here.
            Err(error) if error.undecided => return Ok(Computation::default()),
            Err(error) => return Err(error),
        };
        let operands = rule.args.iter().filter_map(|a| match &a.kind {
            ExprKind::Name(name) => Some(name.clone()),
            _ => None,
        });
        Ok(Computation { dtype, operands: operands.collect(), wide_numbers: op.has_trait("wide_numbers") })
    }

    fn tensors(&mut self, args: &[Expr]) -> Result<Vec<Rc<TensorValue>>> {
        let mut out = Vec::new();
        for arg in args {
            match self.expr(arg)? {
                Value::Tensor(t) => out.push(t),
                Value::List(items) => out.extend(items.iter().filter_map(|v| match v {
                    Value::Tensor(t) => Some(t.clone()),
                    _ => None,
                })),
                Value::None | Value::Int(_) | Value::Float(_) | Value::Bool(_) => {}
                other => return Err(EvalError::new(arg.span, format!("{} is not a tensor", other.kind()))),
            }
        }
        Ok(out)
    }

    /// The type of one result, and the dtype that the operands are converted to.
    fn type_rule(&mut self, op: &OpDef, rule: &TypeRule) -> Result<(ResultType, Option<DType>)> {
        let span = rule.span;
        let arity = match rule.function {
            TypeFn::Promote | TypeFn::Float | TypeFn::Bool => 1..=usize::MAX,
            TypeFn::Like => 1..=1,
            TypeFn::Tensor => 2..=3,
            TypeFn::View => 1..=3,
            TypeFn::Reduced => 3..=3,
            TypeFn::Int => 0..=0,
        };
        if !arity.contains(&rule.args.len()) {
            let message = format!("{} does not take {} arguments", rule.function.name(), rule.args.len());
            return Err(EvalError::new(span, message));
        }
        let stated = match &rule.dtype {
            Some(e) => match self.expr(e)? {
                Value::DType(d) => Some(d),
                other => return Err(EvalError::new(e.span, format!("{} is not a dtype", other.kind()))),
            },
            None => None,
        };
        let zero = self.exprs.int(0);
        let tensor = |shape, dtype, strides, offset| ResultType::Tensor(TensorType { shape, dtype, strides, offset });
        match rule.function {
            TypeFn::Int => Ok((ResultType::Int, None)),
            TypeFn::Promote | TypeFn::Float | TypeFn::Bool => {
                let values = rule.args.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>>>()?;
                let flat: Vec<Value> = values
                    .iter()
                    .flat_map(|v| if let Value::List(items) = v { items.to_vec() } else { vec![v.clone()] })
                    .filter(|v| *v != Value::None)
                    .collect();
                let common = self.result_dtype(&flat, span)?;
                let compute = match (rule.function, stated) {
                    (TypeFn::Bool, _) | (TypeFn::Promote, None) => common,
                    (TypeFn::Float, None) => rinductor_scalar::int_to_float(common),
                    (_, Some(dtype)) => dtype,
                    _ => common,
                };
                let dtype = if rule.function == TypeFn::Bool { stated.unwrap_or(DType::I1) } else { compute };
                // Those that only take part in the shape come first, as the condition of `where` does.
                let mut tensors = Vec::new();
                for name in &rule.with {
                    match self.lookup(&name.text).cloned() {
                        Some(Value::Tensor(t)) => tensors.push(t),
                        Some(Value::None) => {}
                        _ => return Err(EvalError::new(name.span, format!("'{}' is not a tensor", name.text))),
                    }
                }
                tensors.extend(self.tensors(&rule.args)?);
                let shapes: Vec<Vec<IndexExpr>> = tensors.iter().map(|t| t.shape.clone()).collect();
                let shape = self.broadcast(&shapes, span)?;
                let operands: Vec<&TensorValue> = tensors.iter().map(|t| &**t).collect();
                let strides = self.elementwise_strides(&operands, &shape);
                Ok((tensor(shape, dtype, strides, zero), Some(compute)))
            }
            TypeFn::Like => {
                let Some(t) = self.tensors(&rule.args)?.pop() else {
                    return Err(EvalError::new(span, "like wants a tensor"));
                };
                let strides = self.dense_like(&t, &t.shape.clone());
                Ok((tensor(t.shape.clone(), stated.unwrap_or(t.dtype), strides, zero), None))
            }
            TypeFn::Tensor => {
                let shape = self.expr(&rule.args[0])?;
                let shape = self.int_list(&shape, span)?;
                let dtype = match self.expr(&rule.args[1])? {
                    Value::DType(d) => stated.unwrap_or(d),
                    other => return Err(EvalError::new(rule.args[1].span, format!("{} is not a dtype", other.kind()))),
                };
                let strides = match rule.args.get(2) {
                    Some(e) => {
                        let strides = self.expr(e)?;
                        self.int_list(&strides, e.span)?
                    }
                    None => self.contiguous(&shape),
                };
                if strides.len() != shape.len() {
                    return Err(EvalError::new(span, format!("{} strides for {} sizes", strides.len(), shape.len())));
                }
                Ok((tensor(shape, dtype, strides, zero), None))
            }
            TypeFn::Reduced => {
                let Some(t) = self.tensors(&rule.args[..1])?.pop() else {
                    return Err(EvalError::new(span, "reduced wants a tensor"));
                };
                let dims = self.expr(&rule.args[1])?;
                let dims = self.dims_of(&dims, t.shape.len() as i64, rule.args[1].span)?;
                let keep = self.static_bool(&rule.args[2])?;
                let shape = self.reduced_sizes(&t.shape, &dims, keep);
                let dtype = stated.unwrap_or(t.dtype);
                let strides = self.contiguous(&shape);
                Ok((tensor(shape, dtype, strides, zero), Some(dtype)))
            }
            TypeFn::View => self.view_type(op, rule, stated, span),
        }
    }

    /// `view(shape[, strides, offset])`: strides that are not given follow from the index clause.
    fn view_type(
        &mut self,
        op: &OpDef,
        rule: &TypeRule,
        stated: Option<DType>,
        span: Span,
    ) -> Result<(ResultType, Option<DType>)> {
        let base = self.first_tensor(op, span)?;
        let shape = self.expr(&rule.args[0])?;
        let shape = self.int_list(&shape, span)?;
        let mut layout = None;
        if let Some(e) = rule.args.get(1) {
            let strides = self.expr(e)?;
            let strides = self.int_list(&strides, e.span)?;
            let offset = match rule.args.get(2) {
                Some(e) => {
                    let value = self.expr(e)?;
                    self.as_index(&value).ok_or_else(|| EvalError::new(e.span, "an offset is an int"))?
                }
                None => base.offset,
            };
            layout = Some((strides, offset));
        } else if let Some(index) = op.semantics.iter().find_map(|s| match &s.def {
            TensorDef::Index { point, each, body } => Some((point, each, body)),
            _ => None,
        }) {
            let (point, each, body) = index;
            let depth = self.vars.len();
            if let (Some(each), Some((name, _))) = (each, &rule.each)
                && let Some(value) = self.lookup(&name.text).cloned()
            {
                // The index clause counts the results; the rule runs over a list that it may name otherwise.
                if matches!(value, Value::Int(_)) {
                    self.vars.push((each.text.clone(), value));
                }
            }
            let dims = self.open(&shape);
            let coordinates: Vec<IndexExpr> = dims.iter().map(|d| self.exprs.dim(*d)).collect();
            self.bind_point(point, &coordinates)?;
            let at = self.expr(body);
            self.vars.truncate(depth);
            let at = self.int_list(&at?, body.span)?;
            layout = self.layout_of(&base, &at, &dims);
        }
        let Some((strides, offset)) = layout else {
            let message =
                "the strides of this view do not follow from its index clause; the type clause has to give them";
            return Err(EvalError::new(span, message));
        };
        if strides.len() != shape.len() {
            return Err(EvalError::new(span, format!("{} strides for {} sizes", strides.len(), shape.len())));
        }
        let ty = TensorType { shape, dtype: stated.unwrap_or(base.dtype), strides, offset };
        Ok((ResultType::Tensor(ty), None))
    }

    /// Strides and offset of the elements at `at` of a tensor, if they are linear in the dims.
    fn layout_of(&mut self, base: &TensorValue, at: &[IndexExpr], dims: &[u32]) -> Option<(Vec<IndexExpr>, IndexExpr)> {
        let mut position = base.offset;
        for (e, stride) in at.iter().zip(&base.strides) {
            let scaled = self.exprs.mul(*e, *stride);
            position = self.exprs.add(position, scaled);
        }
        let mut rest = self.exprs.expand(position);
        let mut strides = Vec::new();
        for d in dims {
            let (stride, other) = self.exprs.linear_in(rest, rinductor_index::Atom::Dim(*d))?;
            strides.push(stride);
            rest = other;
        }
        Some((strides, rest))
    }

    /// The first argument that is a tensor.
    pub(super) fn first_tensor(&self, op: &OpDef, span: Span) -> Result<Rc<TensorValue>> {
        let first = match &op.signature {
            Signature::Schema(sig) => sig.params.iter().find(|p| p.ty.is_tensor()).map(|p| &p.name.text),
            Signature::Named(sig) => sig.operands.first().map(|p| &p.name.text),
        };
        match first.and_then(|name| self.lookup(name)) {
            Some(Value::Tensor(t)) => Ok(t.clone()),
            _ => Err(EvalError::new(span, format!("'{}' has no tensor to be a view of", op.name.text))),
        }
    }
}
