//! The functions of the expression language.

use super::{EvalError, Evaluator, Result, TensorSource, TensorValue, Value};
use crate::ast::Aggregate;
use crate::builtins::Builtin;
use crate::semantics::{Bounds, Indirect};
use rinductor_index::Expr as IndexExpr;
use rinductor_scalar::{DType, Operand, Rank, Scalar, ScalarOp};
use rinductor_support::Span;
use std::rc::Rc;

impl Evaluator<'_> {
    fn tensor_of(&self, value: &Value, span: Span) -> Result<Rc<TensorValue>> {
        match value {
            Value::Tensor(t) => Ok(t.clone()),
            other => Err(EvalError::new(span, format!("{} is not a tensor", other.kind()))),
        }
    }

    fn dtype_value(&self, value: &Value, span: Span) -> Result<DType> {
        match value {
            Value::DType(d) => Ok(*d),
            other => Err(EvalError::new(span, format!("{} is not a dtype", other.kind()))),
        }
    }

    fn int_value(&mut self, value: &Value, span: Span) -> Result<IndexExpr> {
        self.as_index(value).ok_or_else(|| EvalError::new(span, format!("{} is not an int", value.kind())))
    }

    /// How a tensor or number takes part in promotion.
    pub(super) fn promotion_operand(&self, value: &Value, span: Span) -> Result<Operand> {
        Ok(match value {
            Value::Tensor(t) => Operand {
                dtype: t.dtype,
                rank: match (&t.source, t.shape.is_empty()) {
                    (TensorSource::Number(_), _) => Rank::Wrapped,
                    (_, true) => Rank::ZeroDim,
                    _ => Rank::Tensor,
                },
            },
            Value::Bool(_) => Operand { dtype: DType::I1, rank: Rank::Wrapped },
            Value::Int(_) => Operand { dtype: DType::I64, rank: Rank::Wrapped },
            Value::Float(_) => Operand { dtype: DType::F64, rank: Rank::Wrapped },
            other => return Err(EvalError::new(span, format!("{} has no dtype to promote", other.kind()))),
        })
    }

    pub(super) fn result_dtype(&self, values: &[Value], span: Span) -> Result<DType> {
        let operands = values.iter().map(|v| self.promotion_operand(v, span)).collect::<Result<Vec<_>>>()?;
        rinductor_scalar::result_type(&operands)
            .ok_or_else(|| EvalError::new(span, "there is no common dtype of the operands"))
    }

    /// A scalar operation that was called by its name.
    pub(super) fn scalar_call(&mut self, op: ScalarOp, values: &[Value], span: Span) -> Result<Value> {
        if let (ScalarOp::Abs, [Value::Int(e)]) = (op, values) {
            let negative = self.exprs.neg(*e);
            return Ok(Value::Int(self.exprs.max(&[*e, negative])));
        }
        self.scalar_op(op, values, span)
    }

    /// An index out of a value.
    fn index_of_value(&mut self, value: &Value, size: IndexExpr, bounds: Bounds, span: Span) -> Result<Value> {
        match value {
            Value::Int(e) => {
                // A constant, or a coordinate: negative constants count from the end.
                Ok(match (bounds, self.exprs.as_int(*e)) {
                    (Bounds::Wrap, Some(i)) if i < 0 => Value::Int(self.exprs.add(*e, size)),
                    _ => Value::Int(*e),
                })
            }
            Value::Scalar { node, .. } => {
                if let Some(known) = self.graph.constant(*node) {
                    let constant = self.int(known.to_i64());
                    return self.index_of_value(&constant, size, bounds, span);
                }
                if !(self.graph.dtype(*node).is_int() || self.graph.dtype(*node).is_bool()) {
                    let dtype = self.graph.dtype(*node);
                    return Err(EvalError::new(span, format!("an index is an integer, not {dtype}")));
                }
                let entry = Indirect { value: *node, size, bounds, guard: self.guard };
                let dim = self.graph.indirect(entry);
                match self.exprs.as_int(size) {
                    // There is one place at most, but whether the value says that place must be looked at: it is no constant.
                    Some(..=1) if bounds != Bounds::Trust => self.facts.set_dim(dim, 0, None),
                    _ => self.facts.set_extent(dim, size),
                }
                Ok(Value::Int(self.exprs.dim(dim)))
            }
            other => Err(EvalError::new(span, format!("{} is not an index", other.kind()))),
        }
    }

    fn min_max(&mut self, max: bool, args: &[Value], span: Span) -> Result<Value> {
        let items: Vec<Value> = match args {
            [Value::List(items)] => items.to_vec(),
            [_] => {
                return self.implicit_aggregate(if max { Aggregate::Max } else { Aggregate::Min }, args, span);
            }
            two => two.to_vec(),
        };
        let ints: Option<Vec<IndexExpr>> = items.iter().map(|v| self.as_index(v)).collect();
        if let Some(ints) = ints {
            if ints.is_empty() {
                return Err(EvalError::new(span, "an empty list has no greatest or least item"));
            }
            let e = if max { self.exprs.max(&ints) } else { self.exprs.min(&ints) };
            return Ok(Value::Int(self.exprs.simplify(e, &self.facts)));
        }
        let op = if max { ScalarOp::Maximum } else { ScalarOp::Minimum };
        let mut items = items.into_iter();
        let Some(mut result) = items.next() else {
            return Err(EvalError::new(span, "an empty list has no greatest item"));
        };
        for item in items {
            result = self.scalar_op(op, &[result, item], span)?;
        }
        Ok(result)
    }

    fn splice(&mut self, list: &Value, at: &Value, extra: i64, span: Span) -> Result<(Vec<Value>, usize)> {
        let items = self.list_of(list, span)?.to_vec();
        let n = items.len() as i64 + extra;
        let d = self.constant(at, span)?;
        let at = if d < 0 { d + n } else { d };
        if (0..n).contains(&at) {
            return Ok((items, at as usize));
        }
        Err(EvalError::new(span, format!("position {d} is not in a list of {n} items")))
    }

    fn as_number(&self, value: Scalar) -> Value {
        Value::Float(value.to_f64())
    }

    /// A call of a function of the language.
    pub(super) fn call(&mut self, function: Builtin, args: &[Value], span: Span) -> Result<Value> {
        use Builtin::*;
        let counts = function.types().iter().any(|t| t.params.len() == args.len());
        let aggregates = matches!(function, Sum | Prod | Any | All) && args.len() == 1;
        if !counts {
            return Err(EvalError::new(span, format!("{} does not take {} arguments", function.name(), args.len())));
        }
        if aggregates && matches!(args[0], Value::Scalar { .. } | Value::Bool(_) | Value::Float(_) | Value::Int(_)) {
            let aggregate = match function {
                Sum => Aggregate::Sum,
                Prod => Aggregate::Prod,
                Any => Aggregate::Any,
                _ => Aggregate::All,
            };
            return self.implicit_aggregate(aggregate, args, span);
        }
        match function {
            Rank => {
                let n = self.tensor_of(&args[0], span)?.shape.len();
                Ok(self.int(n as i64))
            }
            Sizes => Ok(Value::ints(&self.tensor_of(&args[0], span)?.shape)),
            Strides => Ok(Value::ints(&self.tensor_of(&args[0], span)?.strides)),
            Offset => Ok(Value::Int(self.tensor_of(&args[0], span)?.offset)),
            Size => {
                let t = self.tensor_of(&args[0], span)?;
                let d = self.constant(&args[1], span)?;
                let d = self.dim(d, t.shape.len() as i64, span)?;
                Ok(t.shape.get(d as usize).map_or_else(|| self.int(1), |e| Value::Int(*e)))
            }
            Numel => {
                let sizes = match &args[0] {
                    Value::Tensor(t) => t.shape.clone(),
                    list => self.int_list(list, span)?,
                };
                Ok(Value::Int(self.product(&sizes)))
            }
            DTypeOf => Ok(Value::DType(self.dtype_of(&args[0], span)?)),
            IsNumber => Ok(Value::Bool(matches!(self.tensor_of(&args[0], span)?.source, TensorSource::Number(_)))),
            IsConstant => {
                let e = self.int_value(&args[0], span)?;
                Ok(Value::Bool(self.exprs.as_int(e).is_some()))
            }
            Len => match &args[0] {
                Value::Str(s) => Ok(self.int(s.chars().count() as i64)),
                list => {
                    let n = self.list_of(list, span)?.len();
                    Ok(self.int(n as i64))
                }
            },
            Reverse => Ok(Value::list(self.list_of(&args[0], span)?.iter().rev().cloned())),
            Sorted => {
                let mut items = self.constants(&args[0], span)?;
                items.sort_unstable();
                Ok(self.ints(&items))
            }
            Repeat => {
                let n = self.constant(&args[1], span)?.clamp(0, 1 << 16);
                Ok(Value::list(vec![args[0].clone(); n as usize]))
            }
            Extend => {
                let items = self.list_of(&args[0], span)?;
                let n = self.constant(&args[1], span)?.clamp(0, 1 << 16) as usize;
                match items.len() {
                    len if len == n => Ok(args[0].clone()),
                    1 => Ok(Value::list(vec![items[0].clone(); n])),
                    len => Err(EvalError::new(span, format!("a list of {len} items stands where {n} are needed"))),
                }
            }
            Insert => {
                let (mut items, at) = self.splice(&args[0], &args[1], 1, span)?;
                items.insert(at, args[2].clone());
                Ok(Value::list(items))
            }
            Replace => {
                let (mut items, at) = self.splice(&args[0], &args[1], 0, span)?;
                items[at] = args[2].clone();
                Ok(Value::list(items))
            }
            Remove => {
                let items = self.list_of(&args[0], span)?;
                let n = items.len() as i64;
                let mut gone = self.constants(&args[1], span)?;
                for d in &mut gone {
                    *d = self.dim(*d, n, span)?;
                }
                let kept = items.iter().enumerate().filter(|(i, _)| !gone.contains(&(*i as i64)));
                Ok(Value::list(kept.map(|(_, v)| v.clone())))
            }
            IndexOf => {
                let items = self.list_of(&args[0], span)?;
                let at = items.iter().position(|v| *v == args[1]).map_or(-1, |i| i as i64);
                Ok(self.int(at))
            }
            Sum => {
                let items = self.int_list(&args[0], span)?;
                Ok(Value::Int(self.exprs.sum(&items)))
            }
            Prod => {
                let items = self.int_list(&args[0], span)?;
                Ok(Value::Int(self.product(&items)))
            }
            Max => self.min_max(true, args, span),
            Min => self.min_max(false, args, span),
            Any | All => {
                let mut result = Value::Bool(function == All);
                for item in self.list_of(&args[0], span)?.iter() {
                    result =
                        if function == All { self.and(&result, item, span)? } else { self.or(&result, item, span)? };
                }
                Ok(result)
            }
            Dim => {
                let (d, n) = (self.constant(&args[0], span)?, self.constant(&args[1], span)?);
                let d = self.dim(d, n, span)?;
                Ok(self.int(d))
            }
            Dims => {
                let n = self.constant(&args[1], span)?;
                let dims = self.dims_of(&args[0], n, span)?;
                Ok(self.ints(&dims))
            }
            IsUnique => {
                let mut items = self.constants(&args[0], span)?;
                let n = items.len();
                items.sort_unstable();
                items.dedup();
                Ok(Value::Bool(items.len() == n))
            }
            IsPermutation => {
                let n = self.constant(&args[1], span)?;
                let mut items = self.constants(&args[0], span)?;
                for d in &mut items {
                    if *d < 0 {
                        *d += n;
                    }
                }
                items.sort_unstable();
                Ok(Value::Bool(items.len() as i64 == n && items.iter().enumerate().all(|(i, d)| *d == i as i64)))
            }
            Inverse => {
                let p = self.permutation(&args[0], span)?;
                let mut inverse = vec![0; p.len()];
                for (i, d) in p.iter().enumerate() {
                    inverse[*d] = i as i64;
                }
                Ok(self.ints(&inverse))
            }
            Compose | Permuted => {
                let items = self.list_of(&args[0], span)?;
                let picks = self.list_of(&args[1], span)?;
                let picked = picks.iter().map(|p| self.item(&items, p, span)).collect::<Result<Vec<_>>>()?;
                Ok(Value::list(picked))
            }
            Broadcast => {
                let shapes: Vec<Value> =
                    if let [single] = args { self.list_of(single, span)?.to_vec() } else { args.to_vec() };
                let shapes = shapes.iter().map(|s| self.int_list(s, span)).collect::<Result<Vec<_>>>()?;
                Ok(Value::ints(&self.broadcast(&shapes, span)?))
            }
            CanExpand => {
                let from = self.int_list(&args[0], span)?;
                let to = self.int_list(&args[1], span)?;
                let start = to.len() as i64 - from.len() as i64;
                let fits = start >= 0
                    && from.iter().enumerate().all(|(i, f)| {
                        let t = to[start as usize + i];
                        self.is_one(*f) || self.same(*f, t) != Some(false)
                    });
                Ok(Value::Bool(fits))
            }
            Reduced => {
                let sizes = self.int_list(&args[0], span)?;
                let dims = self.dims_of(&args[1], sizes.len() as i64, span)?;
                let keep = args[2] == Value::Bool(true);
                Ok(Value::ints(&self.reduced_sizes(&sizes, &dims, keep)))
            }
            Contiguous => {
                let sizes = self.int_list(&args[0], span)?;
                Ok(Value::ints(&self.contiguous(&sizes)))
            }
            ChannelsLast => {
                let sizes = self.int_list(&args[0], span)?;
                Ok(Value::ints(&self.channels_last(&sizes)))
            }
            DenseLike => {
                let tensor = self.tensor_of(&args[0], span)?;
                let sizes = self.int_list(&args[1], span)?;
                Ok(Value::ints(&self.dense_like(&tensor, &sizes)))
            }
            IteratorStrides => {
                let sizes = self.int_list(&args[0], span)?;
                let lists = self.list_of(&args[1], span)?;
                let strides = lists.iter().map(|l| self.int_list(l, span)).collect::<Result<Vec<_>>>()?;
                if let Some(list) = strides.iter().find(|list| list.len() != sizes.len()) {
                    return Err(EvalError::new(span, format!("{} strides for {} sizes", list.len(), sizes.len())));
                }
                Ok(Value::ints(&self.iterator_strides(&strides, &sizes)))
            }
            SuggestedStrides => {
                let tensor = self.tensor_of(&args[0], span)?;
                let sizes = self.int_list(&args[1], span)?;
                let last = self.is_channels_last(&tensor);
                Ok(Value::ints(&if last { self.channels_last(&sizes) } else { self.contiguous(&sizes) }))
            }
            InferSize => {
                let sizes = self.int_list(&args[0], span)?;
                let n = self.int_value(&args[1], span)?;
                Ok(Value::ints(&self.infer_size(&sizes, n, span)?))
            }
            ViewStrides => {
                let sizes = self.int_list(&args[0], span)?;
                let strides = self.int_list(&args[1], span)?;
                let new = self.int_list(&args[2], span)?;
                Ok(self.view_strides(&sizes, &strides, &new).map_or(Value::None, |s| Value::ints(&s)))
            }
            Linear => {
                let point = self.int_list(&args[0], span)?;
                let sizes = self.int_list(&args[1], span)?;
                Ok(Value::Int(self.linear(&point, &sizes)))
            }
            Delinear => {
                let position = self.int_value(&args[0], span)?;
                let sizes = self.int_list(&args[1], span)?;
                Ok(Value::ints(&self.delinear(position, &sizes)))
            }
            PointOf => {
                let tensor = self.tensor_of(&args[0], span)?;
                let point = self.int_list(&args[1], span)?;
                Ok(Value::ints(&self.broadcast_point(&tensor.shape, &[], &point)))
            }
            Check | Wrap | Trust => {
                let size = self.int_value(&args[1], span)?;
                let bounds = match function {
                    Check => Bounds::Check,
                    Wrap => Bounds::Wrap,
                    _ => Bounds::Trust,
                };
                self.index_of_value(&args[0], size, bounds, span)
            }
            Cast => {
                let dtype = self.dtype_value(&args[1], span)?;
                let node = self.lift(&args[0], dtype, span)?;
                Ok(Value::Scalar { node, weak: false })
            }
            Float => match &args[0] {
                Value::Scalar { node, weak } => {
                    let own = self.graph.dtype(*node);
                    let dtype = if *weak { DType::F64 } else { rinductor_scalar::int_to_float(own) };
                    Ok(Value::Scalar { node: self.graph.cast(*node, dtype), weak: *weak })
                }
                other => match self.as_float(other) {
                    Some(x) => Ok(Value::Float(x)),
                    None => Ok(Value::Scalar { node: self.lift(other, DType::F64, span)?, weak: true }),
                },
            },
            Int => match &args[0] {
                Value::Float(x) => Ok(self.int(*x as i64)),
                Value::Scalar { node, weak } => {
                    Ok(Value::Scalar { node: self.graph.cast(*node, DType::I64), weak: *weak })
                }
                other => Ok(Value::Int(self.int_value(other, span)?)),
            },
            Bool => match &args[0] {
                Value::Float(x) => Ok(Value::Bool(*x != 0.0)),
                Value::Bool(b) => Ok(Value::Bool(*b)),
                other => {
                    let zero = self.int(0);
                    self.binary(crate::ast::BinaryOp::Ne, other, &zero, span)
                }
            },
            BitAnd | BitOr => {
                let op = if function == BitAnd { ScalarOp::And } else { ScalarOp::Or };
                self.scalar_op(op, args, span)
            }
            BitNot => self.scalar_op(ScalarOp::Not, args, span),
            Philox => {
                let seed = self.lift(&args[0], DType::I64, span)?;
                let counter = self.lift(&args[1], DType::I64, span)?;
                let words = self.graph.philox(seed, counter);
                Ok(Value::list(words.map(|node| Value::Scalar { node, weak: false })))
            }
            IsFloat | IsInt | IsBool => {
                let dtype = match &args[0] {
                    Value::DType(d) => *d,
                    other => self.dtype_of(other, span)?,
                };
                Ok(Value::Bool(match function {
                    IsFloat => dtype.is_float(),
                    IsInt => dtype.is_int(),
                    _ => dtype.is_bool(),
                }))
            }
            IsComplex => Ok(Value::Bool(self.dtype_value(&args[0], span)?.is_complex())),
            ItemSize => {
                let size = self.dtype_value(&args[0], span)?.size();
                Ok(self.int(size as i64))
            }
            ResultDType => {
                let values = if let [Value::List(items)] = args { items.to_vec() } else { args.to_vec() };
                Ok(Value::DType(self.result_dtype(&values, span)?))
            }
            PromoteTypes => {
                let (a, b) = (self.dtype_value(&args[0], span)?, self.dtype_value(&args[1], span)?);
                match rinductor_scalar::promote_types(a, b) {
                    Some(d) => Ok(Value::DType(d)),
                    None => Err(EvalError::new(span, format!("there is no common dtype of {a} and {b}"))),
                }
            }
            FloatDType => Ok(Value::DType(rinductor_scalar::int_to_float(self.dtype_value(&args[0], span)?))),
            SumDType => Ok(Value::DType(rinductor_scalar::sum_dtype(self.dtype_value(&args[0], span)?))),
            NumberDType => Ok(Value::DType(self.dtype_of(&args[0], span)?)),
            OpMath => Ok(Value::DType(rinductor_scalar::opmath(self.dtype_value(&args[0], span)?))),
            Lowest | Highest => {
                let dtype = self.dtype_value(&args[0], span)?;
                if let (Some(min), Some(max)) = (dtype.int_min(), dtype.int_max()) {
                    return Ok(self.int(if function == Lowest { min } else { max }));
                }
                let value = if function == Lowest { Scalar::lowest(dtype) } else { Scalar::highest(dtype) };
                match value {
                    Some(value) => Ok(self.as_number(value)),
                    None => Err(EvalError::new(span, format!("{dtype} is not ordered"))),
                }
            }
            Epsilon => {
                let dtype = self.dtype_value(&args[0], span)?;
                match dtype.epsilon() {
                    Some(x) => Ok(Value::Float(x)),
                    None => Err(EvalError::new(span, format!("{dtype} is not a float dtype"))),
                }
            }
        }
    }

    fn ints(&mut self, items: &[i64]) -> Value {
        let items: Vec<Value> = items.iter().map(|i| self.int(*i)).collect();
        Value::list(items)
    }

    /// A permutation, with its items counted from the first.
    fn permutation(&mut self, value: &Value, span: Span) -> Result<Vec<usize>> {
        let items = self.constants(value, span)?;
        let n = items.len() as i64;
        let mut seen = vec![false; items.len()];
        let mut out = Vec::with_capacity(items.len());
        for d in items {
            let at = if d < 0 { d + n } else { d };
            match usize::try_from(at).ok().and_then(|at| Some((at, seen.get_mut(at)?))) {
                Some((at, seen)) if !*seen => {
                    *seen = true;
                    out.push(at);
                }
                _ => {
                    let shown = self.show(value);
                    return Err(EvalError::new(span, format!("{shown} is not a permutation")));
                }
            }
        }
        Ok(out)
    }
}
