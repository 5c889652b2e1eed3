//! The evaluation of expressions.

use super::{EvalError, Evaluator, Reduction, Result, TensorSource, TensorValue, Value};
use crate::ast::*;
use crate::builtins::{Builtin, Callee};
use crate::semantics::{Combiner, NestKind, NodeId, NodeKind, Source};
use rinductor_index::Expr as IndexExpr;
use rinductor_scalar::{DType, ScalarOp};
use rinductor_support::Span;

/// The longest list that an expression may make.
const MAX_LIST: i64 = 1 << 16;

impl Evaluator<'_> {
    pub(super) fn expr(&mut self, expr: &Expr) -> Result<Value> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Literal(literal) => Ok(self.literal(literal)),
            ExprKind::Name(name) if self.undecided.contains(name) => {
                Err(EvalError { undecided: true, ..EvalError::new(span, format!("'{name}' is not known")) })
            }
            ExprKind::Name(name) => match self.lookup(name) {
                Some(value) => Ok(value.clone()),
                None => match dtype_of_word(name) {
                    Some(dtype) => Ok(Value::DType(dtype)),
                    None => Err(EvalError::new(span, format!("'{name}' is not defined"))),
                },
            },
            ExprKind::Let { binder, value, body } => {
                let depth = self.vars.len();
                let value = self.expr(value)?;
                self.bind(binder, value, span)?;
                let result = self.expr(body);
                self.vars.truncate(depth);
                result
            }
            ExprKind::If { cond, then, other } => self.conditional(cond, then, other, span),
            ExprKind::Match { on, arms } => {
                let on = self.expr(on)?;
                for arm in arms {
                    if arm.values.is_empty() {
                        return self.expr(&arm.body);
                    }
                    for value in &arm.values {
                        let value = self.literal(value);
                        if self.binary(BinaryOp::Eq, &on, &value, span)? == Value::Bool(true) {
                            return self.expr(&arm.body);
                        }
                    }
                }
                let shown = self.show(&on);
                Err(EvalError::new(span, format!("no arm of the match is for {shown}")))
            }
            ExprKind::First { binder, list, cond, body, other } => {
                let items = self.expr(list)?;
                let items = self.list_of(&items, list.span)?;
                self.first(&items, binder, cond, body, other.as_deref(), span)
            }
            ExprKind::Fold { state, start, binder, list, body } => {
                let items = self.expr(list)?;
                let items = self.list_of(&items, list.span)?;
                let mut value = self.expr(start)?;
                for item in items.iter() {
                    let depth = self.vars.len();
                    self.bind(state, value, start.span)?;
                    self.bind(binder, item.clone(), list.span)?;
                    value = self.expr(body)?;
                    self.vars.truncate(depth);
                }
                Ok(value)
            }
            ExprKind::Binary { op: op @ (BinaryOp::And | BinaryOp::Or), lhs, rhs } => self.logic(*op, lhs, rhs, span),
            ExprKind::Binary { op, lhs, rhs } => {
                let lhs = self.expr(lhs)?;
                let rhs = self.expr(rhs)?;
                self.binary(*op, &lhs, &rhs, span)
            }
            ExprKind::Neg(e) => {
                let value = self.expr(e)?;
                self.neg(&value, span)
            }
            ExprKind::Not(e) => {
                let value = self.expr(e)?;
                self.not(&value, span)
            }
            ExprKind::Range(from, to) => {
                let from = self.const_int(from)?;
                let to = self.const_int(to)?;
                if to.saturating_sub(from) > MAX_LIST {
                    return Err(EvalError::new(
                        span,
                        format!("a list of {} items is too long", to.saturating_sub(from)),
                    ));
                }
                let items: Vec<Value> = (from..to).map(|i| self.int(i)).collect();
                Ok(Value::list(items))
            }
            ExprKind::List(items) => Ok(Value::List(self.items(items)?.into())),
            ExprKind::Tuple(items) => {
                let items = items.iter().map(|e| self.expr(e)).collect::<Result<Vec<_>>>()?;
                Ok(Value::Tuple(items.into()))
            }
            ExprKind::Comprehension { body, binder, list, cond } => {
                self.comprehension(body, binder, list, cond.as_deref(), None, span)
            }
            ExprKind::Aggregate { function, binder, space, body } => {
                self.aggregate(*function, binder, space, body, span)
            }
            ExprKind::Call { callee: Callee::Builtin(of @ (Builtin::All | Builtin::Any)), args } if args.len() == 1 => {
                let list = match &args[0].kind {
                    ExprKind::Comprehension { body, binder, list, cond } => {
                        let decides = Some(*of == Builtin::Any);
                        self.comprehension(body, binder, list, cond.as_deref(), decides, args[0].span)?
                    }
                    _ => self.expr(&args[0])?,
                };
                self.call(*of, &[list], span)
            }
            ExprKind::Call { callee, args } => {
                let values = args.iter().map(|e| self.expr(e)).collect::<Result<Vec<_>>>()?;
                match callee {
                    Callee::Builtin(builtin) => self.call(*builtin, &values, span),
                    Callee::Aggregate(function) => self.implicit_aggregate(*function, &values, span),
                    Callee::Scalar(ScalarOp::Bitcast) => match values.as_slice() {
                        [value, Value::DType(dtype)] => {
                            let own = self.dtype_of(value, span)?;
                            let node = self.lift(value, own, span)?;
                            Ok(Value::Scalar { node: self.graph.op(ScalarOp::Bitcast, *dtype, &[node]), weak: false })
                        }
                        _ => Err(EvalError::new(span, "bitcast wants a scalar and a dtype")),
                    },
                    Callee::Scalar(op) => self.scalar_call(*op, &values, span),
                    Callee::Extern(name) => {
                        let found = self.externs.and_then(|e| e.call(name, &values, self.exprs));
                        match found {
                            Some(result) => result.map_err(|message| EvalError::new(span, message)),
                            None => Err(EvalError::new(span, format!("there is no function '{name}' here"))),
                        }
                    }
                }
            }
            ExprKind::OpCall { op, .. } => {
                Err(EvalError::new(op.span, format!("'{}' is an op: ops stand in rules only", op.text)))
            }
            ExprKind::Subscript { of, items } => {
                let of = self.expr(of)?;
                let index = self.items(items)?;
                self.subscript(&of, &index, span)
            }
            ExprKind::Field { of, name } => {
                let of = self.expr(of)?;
                self.field(&of, name)
            }
        }
    }

    /// The items of a comprehension. Items of this value decide (`any`, `all`): one of them is enough where others are not known.
    fn comprehension(
        &mut self,
        body: &Expr,
        binder: &Binder,
        list: &Expr,
        cond: Option<&Expr>,
        decides: Option<bool>,
        span: Span,
    ) -> Result<Value> {
        let list_value = self.expr(list)?;
        let items = self.list_of(&list_value, list.span)?;
        let depth = self.vars.len();
        let mut out = Vec::with_capacity(items.len());
        let mut unknown = None;
        for item in items.iter() {
            self.bind(binder, item.clone(), span)?;
            let keep = match cond {
                Some(cond) => self.static_bool(cond),
                None => Ok(true),
            };
            let value = keep.and_then(|keep| if keep { self.expr(body).map(Some) } else { Ok(None) });
            self.vars.truncate(depth);
            match value {
                Ok(Some(Value::Bool(b))) if decides == Some(b) => return Ok(Value::list([Value::Bool(b)])),
                Ok(value) => out.extend(value),
                Err(error) if error.undecided && decides.is_some() => unknown = Some(error),
                Err(error) => return Err(error),
            }
        }
        unknown.map_or_else(|| Ok(Value::List(out.into())), Err)
    }

    fn items(&mut self, items: &[ListItem]) -> Result<Vec<Value>> {
        let mut out = Vec::with_capacity(items.len());
        for item in items {
            let value = self.expr(&item.expr)?;
            if item.spread {
                out.extend(self.list_of(&value, item.expr.span)?.iter().cloned());
            } else {
                out.push(value);
            }
        }
        Ok(out)
    }

    /// A condition that has to be known when the op is compiled.
    pub(super) fn static_bool(&mut self, cond: &Expr) -> Result<bool> {
        match self.expr(cond)? {
            Value::Bool(b) => Ok(b),
            other => Err(EvalError::new(cond.span, format!("the condition is {}, not a known bool", other.kind()))),
        }
    }

    /// An integer that has to be a constant.
    pub(super) fn const_int(&mut self, expr: &Expr) -> Result<i64> {
        let value = self.expr(expr)?;
        self.constant(&value, expr.span)
    }

    /// With a guard: loads in `then` happen only where the condition holds, those in `other` only where it does not.
    fn conditional(&mut self, cond: &Expr, then: &Expr, other: &Expr, span: Span) -> Result<Value> {
        let cond = self.expr(cond)?;
        match cond {
            Value::Bool(true) => self.expr(then),
            Value::Bool(false) => self.expr(other),
            Value::Scalar { .. } => {
                let holds = self.truth(&cond, span)?;
                let fails = self.graph.op(ScalarOp::Not, DType::I1, &[holds]);
                let a = self.guarded(holds, |e| e.expr(then))?;
                let b = self.guarded(fails, |e| e.expr(other))?;
                self.select(&Value::Scalar { node: holds, weak: false }, &a, &b, span)
            }
            other => Err(EvalError::new(span, format!("the condition is {}, not a bool", other.kind()))),
        }
    }

    /// `first x in list where c => e else d`, as nested conditionals.
    fn first(
        &mut self,
        items: &[Value],
        binder: &Binder,
        cond: &Expr,
        body: &Expr,
        other: Option<&Expr>,
        span: Span,
    ) -> Result<Value> {
        // What is left of the list is read only where no earlier condition holds, which the guard says.
        let outer = self.guard;
        let depth = self.vars.len();
        let mut found: Vec<(Value, Value)> = Vec::new();
        let mut last = None;
        for (i, item) in items.iter().enumerate() {
            self.bind(binder, item.clone(), span)?;
            let holds = if i + 1 == items.len() && other.is_none() { Value::Bool(true) } else { self.expr(cond)? };
            match holds {
                Value::Bool(false) => {}
                Value::Bool(true) => last = Some(self.expr(body)?),
                holds => {
                    let node = self.truth(&holds, cond.span)?;
                    let value = self.guarded(node, |e| e.expr(body))?;
                    found.push((holds, value));
                    let fails = self.graph.op(ScalarOp::Not, DType::I1, &[node]);
                    self.guard = Some(match self.guard {
                        Some(guard) => self.graph.op(ScalarOp::And, DType::I1, &[guard, fails]),
                        None => fails,
                    });
                }
            }
            self.vars.truncate(depth);
            if last.is_some() {
                break;
            }
        }
        let last = match (last, other) {
            (Some(value), _) => Ok(value),
            (None, Some(other)) => self.expr(other),
            (None, None) => Err(EvalError::new(span, "the list is empty, and there is no else")),
        };
        self.guard = outer;
        let mut result = last?;
        for (holds, value) in found.into_iter().rev() {
            result = self.select(&holds, &value, &result, span)?;
        }
        Ok(result)
    }

    pub(super) fn guarded<T>(&mut self, guard: NodeId, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let outer = self.guard;
        self.guard = Some(match outer {
            Some(outer) => self.graph.op(ScalarOp::And, DType::I1, &[outer, guard]),
            None => guard,
        });
        let result = f(self);
        self.guard = outer;
        result
    }

    /// `and` and `or`; also `x or y` for an x that may be none.
    fn logic(&mut self, op: BinaryOp, lhs: &Expr, rhs: &Expr, span: Span) -> Result<Value> {
        let a = match self.expr(lhs) {
            // What is not known does not count if the other decides.
            Err(error) if error.undecided => {
                return match self.expr(rhs) {
                    Ok(Value::Bool(b)) if b == (op == BinaryOp::Or) => Ok(Value::Bool(b)),
                    _ => Err(error),
                };
            }
            a => a?,
        };
        match (op, &a) {
            (BinaryOp::And, Value::Bool(false)) | (BinaryOp::Or, Value::Bool(true)) => Ok(a),
            (_, Value::Bool(_)) | (BinaryOp::Or, Value::None) => self.expr(rhs),
            (_, Value::Scalar { .. }) => {
                // The second operand is read only where it decides.
                let mut holds = self.truth(&a, span)?;
                if op == BinaryOp::Or {
                    holds = self.graph.op(ScalarOp::Not, DType::I1, &[holds]);
                }
                let b = self.guarded(holds, |e| e.expr(rhs))?;
                self.binary(op, &a, &b, span)
            }
            (BinaryOp::Or, _) => Ok(a),
            _ => Err(EvalError::new(span, format!("'and' wants bools, not {}", a.kind()))),
        }
    }

    fn subscript(&mut self, of: &Value, index: &[Value], span: Span) -> Result<Value> {
        match of {
            Value::List(items) | Value::Tuple(items) => match index {
                [Value::List(positions)] => {
                    let picked = positions.iter().map(|p| self.item(items, p, span)).collect::<Result<Vec<_>>>()?;
                    Ok(Value::List(picked.into()))
                }
                [position] => self.item(items, position, span),
                _ => Err(EvalError::new(span, "a list has one subscript")),
            },
            Value::Tensor(tensor) => {
                let mut at = Vec::with_capacity(index.len());
                for value in index {
                    let items = if let Value::List(items) = value { items.to_vec() } else { vec![value.clone()] };
                    for item in items {
                        match item {
                            Value::Int(e) => at.push(e),
                            other => {
                                return Err(EvalError::new(
                                    span,
                                    format!("an index is {}; check, wrap or trust makes an index of it", other.kind()),
                                ));
                            }
                        }
                    }
                }
                self.load(tensor, at, span)
            }
            other => Err(EvalError::new(span, format!("{} has no items", other.kind()))),
        }
    }

    pub(super) fn item(&mut self, items: &[Value], position: &Value, span: Span) -> Result<Value> {
        let i = self.constant(position, span)?;
        let n = items.len() as i64;
        let at = if i < 0 { i + n } else { i };
        match usize::try_from(at).ok().and_then(|at| items.get(at)) {
            Some(item) => Ok(item.clone()),
            None => Err(EvalError::new(span, format!("a list of {n} items has no item {i}"))),
        }
    }

    /// The element of a tensor.
    pub(super) fn load(&mut self, tensor: &TensorValue, at: Vec<IndexExpr>, span: Span) -> Result<Value> {
        if at.len() != tensor.shape.len() {
            let message =
                format!("a tensor of {} dimensions has no element at {} coordinates", tensor.shape.len(), at.len());
            return Err(EvalError::new(span, message));
        }
        let source = match &tensor.source {
            TensorSource::Source(source) => *source,
            TensorSource::Number(value) => return Ok(value.clone()),
        };
        if !self.running {
            return Err(EvalError {
                undecided: true,
                ..EvalError::new(span, "the elements of a tensor are not known when the op is compiled")
            });
        }
        let kind = NodeKind::Load { source, at: at.into(), guard: self.guard };
        Ok(Value::Scalar { node: self.graph.add(tensor.dtype, kind), weak: false })
    }

    fn field(&mut self, of: &Value, name: &Ident) -> Result<Value> {
        match of {
            Value::Moments(nodes) => {
                let i = match &*name.text {
                    "mean" => 0,
                    "m2" => 1,
                    "count" => 2,
                    other => {
                        return Err(EvalError::new(name.span, format!("moments have mean, m2 and count, not {other}")));
                    }
                };
                Ok(Value::Scalar { node: nodes[i], weak: false })
            }
            Value::Tuple(items) => match name.text.parse::<usize>().ok().and_then(|i| items.get(i)) {
                Some(item) => Ok(item.clone()),
                None => Err(EvalError::new(name.span, format!("{} values have no value {}", items.len(), name.text))),
            },
            other => Err(EvalError::new(name.span, format!("{} has no field '{}'", other.kind(), name.text))),
        }
    }

    /// `sum(r in SPACE) => BODY`.
    fn aggregate(
        &mut self,
        function: Aggregate,
        binder: &Binder,
        space: &Expr,
        body: &Expr,
        span: Span,
    ) -> Result<Value> {
        let sizes = self.expr(space)?;
        let (sizes, one) = match &sizes {
            Value::Int(e) => (vec![*e], true),
            other => (self.int_list(other, space.span)?, false),
        };
        let dims = self.open(&sizes);
        let points: Vec<Value> = dims.iter().map(|d| Value::Int(self.exprs.dim(*d))).collect();
        let depth = self.vars.len();
        let point = match points.as_slice() {
            [only] if one => only.clone(),
            _ => Value::list(points),
        };
        self.bind(binder, point, span)?;
        self.scope.extend(&dims);
        let value = self.expr(body);
        self.scope.truncate(self.scope.len() - dims.len());
        self.vars.truncate(depth);
        self.combine(function, &value?, &dims, false, span)
    }

    /// `sum(x)` in a `reduce` or `scan` clause.
    pub(super) fn implicit_aggregate(&mut self, function: Aggregate, values: &[Value], span: Span) -> Result<Value> {
        let [value] = values else {
            return Err(EvalError::new(span, "a reduction takes one value"));
        };
        match self.reduction.clone() {
            Reduction::None => {
                Err(EvalError::new(span, "a reduction without 'in' stands in reduce and scan clauses only"))
            }
            Reduction::Reduce(dims) => self.combine(function, value, &dims, true, span),
            Reduction::Scan(dim) => {
                let (value, combiner) = self.combined(function, value, span)?;
                let space = self.scope.clone();
                let outputs = outputs_of(combiner, self.graph.dtype(value));
                let kind = NestKind::Scan { dim, combiner };
                let nest = self.push_nest(kind, &[value], &[], &space, &space, outputs.clone(), span)?;
                Ok(self.outputs_of_nest(nest, combiner, &outputs, &space))
            }
        }
    }

    /// The nest of a reduction over dims, and its value at the point of the scope.
    fn combine(&mut self, function: Aggregate, value: &Value, dims: &[u32], whole: bool, span: Span) -> Result<Value> {
        let (value, combiner) = self.combined(function, value, span)?;
        let free = self.graph.free_dims(&[value], &[], self.exprs);
        // Outside of reduce clauses only the dimensions that matter make the space of the nest, so that what is the same
        // for a whole row is computed once for it.
        let space: Vec<u32> =
            self.scope.iter().copied().filter(|d| !dims.contains(d) && (whole || free.contains(d))).collect();
        let over: Vec<IndexExpr> = dims.iter().map(|d| self.dims[*d as usize]).collect();
        let loops: Vec<u32> = space.iter().chain(dims).copied().collect();
        let outputs = outputs_of(combiner, self.graph.dtype(value));
        let kind = NestKind::Reduce { over, combiner };
        let nest = self.push_nest(kind, &[value], &[], &space, &loops, outputs.clone(), span)?;
        Ok(self.outputs_of_nest(nest, combiner, &outputs, &space))
    }

    fn outputs_of_nest(&mut self, nest: usize, combiner: Combiner, outputs: &[DType], space: &[u32]) -> Value {
        let at: Vec<IndexExpr> = space.iter().map(|d| self.exprs.dim(*d)).collect();
        let mut load = |out: usize| {
            let kind = NodeKind::Load { source: Source::Nest { nest, out }, at: at.clone().into(), guard: None };
            self.graph.add(outputs[out], kind)
        };
        match combiner {
            Combiner::Welford => Value::Moments([load(0), load(1), load(2)]),
            Combiner::ArgMax | Combiner::ArgMin => Value::Scalar { node: load(1), weak: false },
            _ => Value::Scalar { node: load(0), weak: false },
        }
    }

    /// The value that is combined, in the dtype that it is combined in.
    fn combined(&mut self, function: Aggregate, value: &Value, span: Span) -> Result<(NodeId, Combiner)> {
        let own = self.dtype_of(value, span)?;
        let wide = rinductor_scalar::opmath(own);
        let (combiner, dtype) = match function {
            Aggregate::Sum => (Combiner::Add, rinductor_scalar::sum_dtype(wide)),
            Aggregate::Prod => (Combiner::Mul, rinductor_scalar::sum_dtype(wide)),
            Aggregate::Max => (Combiner::Max, own),
            Aggregate::Min => (Combiner::Min, own),
            Aggregate::Any => (Combiner::Or, DType::I1),
            Aggregate::All => (Combiner::And, DType::I1),
            Aggregate::ArgMax => (Combiner::ArgMax, own),
            Aggregate::ArgMin => (Combiner::ArgMin, own),
            Aggregate::Welford => (Combiner::Welford, rinductor_scalar::int_to_float(wide)),
            Aggregate::LogSumExp => (Combiner::LogSumExp, rinductor_scalar::int_to_float(wide)),
        };
        let node = if dtype == DType::I1 { self.truth(value, span)? } else { self.lift(value, dtype, span)? };
        Ok((node, combiner))
    }

    /// The dtype that a number or scalar has by itself.
    pub(super) fn dtype_of(&self, value: &Value, span: Span) -> Result<DType> {
        match value {
            Value::Scalar { node, .. } => Ok(self.graph.dtype(*node)),
            Value::Bool(_) => Ok(DType::I1),
            Value::Int(_) => Ok(DType::I64),
            Value::Float(_) => Ok(DType::F32),
            Value::Tensor(t) => Ok(t.dtype),
            other => Err(EvalError::new(span, format!("{} has no dtype", other.kind()))),
        }
    }
}

fn outputs_of(combiner: Combiner, dtype: DType) -> Vec<DType> {
    match combiner {
        Combiner::ArgMax | Combiner::ArgMin => vec![dtype, DType::I64],
        Combiner::Welford => vec![dtype; 3],
        _ => vec![dtype],
    }
}

/// The dtypes by the names that the IR gives them; complex ones as `c64` and `c128`.
pub fn dtype_of_word(word: &str) -> Option<DType> {
    match word {
        "c64" => Some(DType::C64),
        "c128" => Some(DType::C128),
        _ => DType::from_ir_name(word),
    }
}
