//! From the clauses of an op to loop nests.

use super::types::Computation;
use super::{EvalError, Evaluator, Reduction, Result, TensorSource, TensorValue, Value};
use crate::ast::*;
use crate::builtins::Callee;
use crate::instance::{Instance, ResultType};
use crate::semantics::{Nest, NestKind, NodeId, NodeKind, Output, ScatterMode, Semantics, Source};
use rinductor_index::Expr as IndexExpr;
use rinductor_scalar::DType;
use rinductor_support::Span;
use std::rc::Rc;

/// Where the values of a clause go.
struct Targets {
    /// Numbers of the results, or None for locals.
    results: Option<Vec<usize>>,
    names: Vec<Str>,
}

/// Whether a reduction gives a place instead of a value that it combined.
fn takes_position(body: &Expr) -> bool {
    match &body.kind {
        ExprKind::Call { callee: Callee::Aggregate(function), .. } => {
            matches!(function, Aggregate::ArgMax | Aggregate::ArgMin)
        }
        ExprKind::Let { body, .. } => takes_position(body),
        _ => false,
    }
}

impl Evaluator<'_> {
    pub(super) fn semantics(&mut self, op: &OpDef, instance: &Instance) -> Result<Semantics> {
        let results = match instance.results.as_slice() {
            [] => self.infer_results(op)?,
            stated => stated.to_vec(),
        };
        let computation = self.computation(op)?;
        let mut outputs: Vec<Option<Output>> = vec![None; results.len()];
        self.running = true;
        for semantic in &op.semantics {
            self.semantic(op, semantic, &results, &computation, &mut outputs)?;
        }
        let outputs: Option<Vec<Output>> = outputs.into_iter().collect();
        let Some(outputs) = outputs else {
            return Err(EvalError::new(op.span, format!("'{}' does not define all of its results", op.name.text)));
        };
        let mut semantics = Semantics { nests: std::mem::take(&mut self.nests), outputs };
        prune(&mut semantics);
        Ok(semantics)
    }

    fn targets(&self, op: &OpDef, semantic: &Semantic, results: usize) -> Result<Targets> {
        let names: Vec<Str> = match &op.signature {
            Signature::Schema(sig) => sig.results.iter().map(|r| r.name.clone()).collect(),
            Signature::Named(sig) => sig.results.iter().map(|r| r.name.text.clone()).collect(),
        };
        Ok(match &semantic.target {
            Target::All => Targets {
                results: Some((0..results).collect()),
                names: (0..results).map(|i| names.get(i).or(names.last()).cloned().unwrap_or_default()).collect(),
            },
            Target::Results(wanted) => {
                let mut numbers = Vec::new();
                for name in wanted {
                    match names.iter().position(|n| *n == name.text) {
                        Some(i) if i < results => numbers.push(i),
                        _ => return Err(EvalError::new(name.span, format!("'{}' is not a result", name.text))),
                    }
                }
                Targets { results: Some(numbers), names: wanted.iter().map(|n| n.text.clone()).collect() }
            }
            Target::Locals(names) => Targets { results: None, names: names.iter().map(|n| n.text.clone()).collect() },
        })
    }

    fn semantic(
        &mut self,
        op: &OpDef,
        semantic: &Semantic,
        results: &[ResultType],
        computation: &Computation,
        outputs: &mut [Option<Output>],
    ) -> Result<()> {
        let targets = self.targets(op, semantic, results.len())?;
        let span = semantic.span;
        // A clause with `for k` defines each result on its own.
        let each = match &semantic.def {
            TensorDef::Index { each, .. } | TensorDef::Point { each, .. } => each.as_ref(),
            _ => None,
        };
        if let (Some(each), Some(numbers)) = (each, &targets.results) {
            for (k, number) in numbers.iter().enumerate() {
                let value = self.int(k as i64);
                self.vars.push((each.text.clone(), value));
                let one = Targets { results: Some(vec![*number]), names: vec![targets.names[k].clone()] };
                let sources = self.define(op, &semantic.def, &one, results, computation, span)?;
                self.vars.pop();
                outputs[*number] = sources.into_iter().next();
            }
            return Ok(());
        }
        let sources = self.define(op, &semantic.def, &targets, results, computation, span)?;
        if sources.len() != targets.names.len() {
            let message = format!("the clause gives {} tensors for {} names", sources.len(), targets.names.len());
            return Err(EvalError::new(span, message));
        }
        for (i, output) in sources.into_iter().enumerate() {
            if let Some(numbers) = &targets.results {
                outputs[numbers[i]] = Some(output);
            }
            // Locals and results are tensors that later clauses may read.
            if let Output::Nest { nest, out } = output {
                let shape = self.nests[nest].space.clone();
                let dtype = self.nests[nest].outputs[out];
                let strides = self.contiguous(&shape);
                let offset = self.exprs.int(0);
                let source = TensorSource::Source(Source::Nest { nest, out });
                let value = Value::Tensor(Rc::new(TensorValue { source, shape, dtype, strides, offset }));
                self.vars.push((targets.names[i].clone(), value));
                self.nests[nest].name.get_or_insert_with(|| targets.names[i].clone());
            }
        }
        Ok(())
    }

    /// New dimensions of these sizes.
    pub(super) fn open(&mut self, sizes: &[IndexExpr]) -> Vec<u32> {
        sizes
            .iter()
            .map(|size| {
                let d = self.dims.len() as u32;
                self.dims.push(*size);
                match self.exprs.as_int(*size) {
                    // A dimension without points is no number: what it indexes stays an access that happens at none of them.
                    Some(0) => self.facts.set_dim(d, 0, None),
                    Some(n) => self.facts.set_dim(d, 0, Some((n - 1).max(0))),
                    None => self.facts.set_extent(d, *size),
                }
                d
            })
            .collect()
    }

    pub(super) fn bind_point(&mut self, point: &PointBinder, coordinates: &[IndexExpr]) -> Result<()> {
        if let [name] = point.names.as_slice() {
            self.vars.push((name.text.clone(), Value::ints(coordinates)));
            return Ok(());
        }
        if point.names.len() != coordinates.len() {
            let message = format!("{} names for a point of {} coordinates", point.names.len(), coordinates.len());
            return Err(EvalError::new(point.span, message));
        }
        for (name, e) in point.names.iter().zip(coordinates) {
            self.vars.push((name.text.clone(), Value::Int(*e)));
        }
        Ok(())
    }

    /// The tensors that the names of a clause stand for.
    fn bound_tensors(&self, op: &OpDef, binders: &[ElementBinder]) -> Result<Vec<(Str, Value)>> {
        let params: Vec<Str> = match &op.signature {
            Signature::Schema(sig) => {
                sig.params.iter().filter(|p| p.ty.is_tensor()).map(|p| p.name.text.clone()).collect()
            }
            Signature::Named(sig) => sig.operands.iter().map(|p| p.name.text.clone()).collect(),
        };
        binders
            .iter()
            .enumerate()
            .map(|(i, binder)| {
                let name = match &binder.tensor {
                    Some(name) => &name.text,
                    None => params.get(i).ok_or_else(|| {
                        EvalError::new(binder.name.span, format!("'{}' has no tensor argument {i}", op.name.text))
                    })?,
                };
                match self.lookup(name) {
                    Some(value @ (Value::Tensor(_) | Value::None | Value::Int(_))) => Ok((name.clone(), value.clone())),
                    _ => Err(EvalError::new(binder.name.span, format!("'{name}' is not a tensor"))),
                }
            })
            .collect()
    }

    /// Binds the elements of tensors at a point of the space that they broadcast to.
    fn bind_elements(
        &mut self,
        binders: &[ElementBinder],
        tensors: &[(Str, Value)],
        space: &[IndexExpr],
        point: &[IndexExpr],
        computation: &Computation,
        span: Span,
    ) -> Result<()> {
        for (binder, (name, value)) in binders.iter().zip(tensors) {
            let element = match value {
                Value::Tensor(t) => {
                    let at = self.broadcast_point(&t.shape, space, point);
                    self.load(t, at, span)?
                }
                other => other.clone(),
            };
            let element = match computation.dtype {
                Some(dtype) if element != Value::None && computation.operands.contains(name) => {
                    let one = match value {
                        Value::Tensor(t) => t.shape.iter().all(|&n| self.exprs.as_int(n) == Some(1)),
                        _ => true,
                    };
                    let dtype = if computation.wide_numbers && one { rinductor_scalar::opmath(dtype) } else { dtype };
                    Value::Scalar { node: self.lift(&element, dtype, span)?, weak: false }
                }
                _ => element,
            };
            self.vars.push((binder.name.text.clone(), element));
        }
        Ok(())
    }

    fn shapes_of(&mut self, tensors: &[(Str, Value)], span: Span) -> Result<Vec<IndexExpr>> {
        let shapes: Vec<Vec<IndexExpr>> = tensors
            .iter()
            .filter_map(|(_, v)| if let Value::Tensor(t) = v { Some(t.shape.clone()) } else { None })
            .collect();
        self.broadcast(&shapes, span)
    }

    fn define(
        &mut self,
        op: &OpDef,
        def: &TensorDef,
        targets: &Targets,
        results: &[ResultType],
        computation: &Computation,
        span: Span,
    ) -> Result<Vec<Output>> {
        let result = |i: usize| {
            let number = targets.results.as_ref().and_then(|r| r.get(i).copied())?;
            results.get(number).and_then(ResultType::tensor)
        };
        let dtypes: Vec<Option<DType>> = (0..targets.names.len()).map(|i| result(i).map(|t| t.dtype)).collect();
        let shape = result(0).map(|t| t.shape.clone());
        let depth = self.vars.len();
        let outputs = match def {
            TensorDef::Value(e) => match self.expr(e)? {
                Value::Int(e) => Ok(vec![Output::Int(e)]),
                Value::Tensor(t) => match t.source {
                    TensorSource::Source(Source::Operand(k)) => Ok(vec![Output::Operand(k)]),
                    TensorSource::Source(Source::Nest { nest, out }) => Ok(vec![Output::Nest { nest, out }]),
                    TensorSource::Number(_) => Err(EvalError::new(span, "a number is not a tensor")),
                },
                number @ (Value::Bool(_) | Value::Float(_)) => {
                    let dtype = if matches!(number, Value::Bool(_)) { DType::I1 } else { DType::F64 };
                    let node = self.lift(&number, dtype, span)?;
                    match self.graph.constant(node) {
                        Some(value) => Ok(vec![Output::Number(value)]),
                        None => Err(EvalError::new(span, "the value is not a constant")),
                    }
                }
                other => Err(EvalError::new(span, format!("{} is not a symbolic integer or a number", other.kind()))),
            },
            TensorDef::Scalar { binders, body } => {
                let tensors = self.bound_tensors(op, binders)?;
                let space = match shape {
                    Some(shape) => shape,
                    None => self.shapes_of(&tensors, span)?,
                };
                let dims = self.open(&space);
                let point: Vec<IndexExpr> = dims.iter().map(|d| self.exprs.dim(*d)).collect();
                self.scope = dims;
                self.bind_elements(binders, &tensors, &space, &point, computation, span)?;
                let value = self.expr(body)?;
                self.finish(&value, &dtypes, span)
            }
            TensorDef::Reduce { binders, over, body } => {
                let tensors = self.bound_tensors(op, binders)?;
                let full = self.shapes_of(&tensors, span)?;
                let over_value = self.expr(over)?;
                let reduced = self.dims_of(&over_value, full.len() as i64, over.span)?;
                let keep = shape.as_ref().is_none_or(|s| s.len() == full.len());
                let space = match shape {
                    Some(shape) => shape,
                    None => self.reduced_sizes(&full, &reduced, true),
                };
                if space.len() != self.reduced_sizes(&full, &reduced, keep).len() {
                    return Err(EvalError::new(
                        span,
                        "the result does not have the dimensions that the reduction leaves",
                    ));
                }
                let dims = self.open(&space);
                let sizes: Vec<IndexExpr> = reduced.iter().map(|d| full[*d as usize]).collect();
                let inner = self.open(&sizes);
                let mut kept = dims.iter();
                let mut point = Vec::with_capacity(full.len());
                for d in 0..full.len() {
                    let position = reduced.iter().position(|r| *r == d as i64);
                    let outer = if keep || position.is_none() { kept.next() } else { None };
                    point.push(match (position, outer) {
                        (Some(r), _) => self.exprs.dim(inner[r]),
                        (None, Some(d)) => self.exprs.dim(*d),
                        (None, None) => self.exprs.int(0),
                    });
                }
                self.scope = dims;
                // The dtype of a position is not one to compare the elements in.
                let as_they_are = Computation::default();
                let computation = if takes_position(body) { &as_they_are } else { computation };
                self.bind_elements(binders, &tensors, &full, &point, computation, span)?;
                self.reduction = Reduction::Reduce(inner);
                let value = self.expr(body);
                self.reduction = Reduction::None;
                self.finish(&value?, &dtypes, span)
            }
            TensorDef::Scan { binders, over, body } => {
                let tensors = self.bound_tensors(op, binders)?;
                let space = self.shapes_of(&tensors, span)?;
                let dim = self.const_int(over)?;
                let dim = self.dim(dim, space.len() as i64, over.span)?;
                let dims = self.open(&space);
                let point: Vec<IndexExpr> = dims.iter().map(|d| self.exprs.dim(*d)).collect();
                self.scope = dims;
                self.bind_elements(binders, &tensors, &space, &point, computation, span)?;
                // A tensor without dimensions has one element, which a scan leaves as it is.
                self.reduction =
                    if space.is_empty() { Reduction::Reduce(Vec::new()) } else { Reduction::Scan(dim as usize) };
                let value = self.expr(body);
                self.reduction = Reduction::None;
                self.finish(&value?, &dtypes, span)
            }
            TensorDef::Index { point, body, .. } => {
                let base = self.first_tensor(op, span)?;
                let Some(space) = shape else {
                    return Err(EvalError::new(span, "an index clause defines a result"));
                };
                let dims = self.open(&space);
                let coordinates: Vec<IndexExpr> = dims.iter().map(|d| self.exprs.dim(*d)).collect();
                self.scope = dims;
                self.bind_point(point, &coordinates)?;
                let at = self.expr(body)?;
                let at = self.int_list(&at, body.span)?;
                let value = self.load(&base, at, span)?;
                self.finish(&value, &dtypes, span)
            }
            TensorDef::Point { point, space, body, .. } => {
                let space = match (space, shape) {
                    (Some(e), _) => {
                        let sizes = self.expr(e)?;
                        self.int_list(&sizes, e.span)?
                    }
                    (None, Some(shape)) => shape,
                    (None, None) => return Err(EvalError::new(span, "a local point clause says its sizes with 'in'")),
                };
                let dims = self.open(&space);
                let coordinates: Vec<IndexExpr> = dims.iter().map(|d| self.exprs.dim(*d)).collect();
                self.scope = dims;
                self.bind_point(point, &coordinates)?;
                let value = self.expr(body)?;
                self.finish(&value, &dtypes, span)
            }
            TensorDef::Scatter(def) => self.scatter(def, shape, dtypes.first().copied().flatten(), span),
            TensorDef::Sort { binders, over, descending, stable, body } => {
                let tensors = self.bound_tensors(op, binders)?;
                let space = self.shapes_of(&tensors, span)?;
                let dim = self.const_int(over)?;
                let dim = self.dim(dim, space.len() as i64, over.span)?;
                let descending = match descending {
                    Some(e) => self.static_bool(e)?,
                    None => false,
                };
                // Sorting is always stable; the flag is there to be read.
                if let Some(e) = stable {
                    self.expr(e)?;
                }
                let dims = self.open(&space);
                let point: Vec<IndexExpr> = dims.iter().map(|d| self.exprs.dim(*d)).collect();
                self.scope = dims.clone();
                self.bind_elements(binders, &tensors, &space, &point, computation, span)?;
                let key = self.expr(body)?;
                let own = self.dtype_of(&key, span)?;
                let dtype = dtypes.first().copied().flatten().unwrap_or(own);
                let key = self.lift(&key, dtype, span)?;
                if space.is_empty() {
                    let zero = self.int(0);
                    let place = self.lift(&zero, DType::I64, span)?;
                    self.finish(
                        &Value::Tuple(
                            [Value::Scalar { node: key, weak: false }, Value::Scalar { node: place, weak: false }]
                                .into(),
                        ),
                        &[Some(dtype), Some(DType::I64)],
                        span,
                    )
                } else {
                    let kind = NestKind::Sort { dim: dim as usize, descending };
                    let nest = self.push_nest(kind, &[key], &[], &dims, &dims, vec![dtype, DType::I64], span)?;
                    Ok((0..2).map(|out| Output::Nest { nest, out }).collect())
                }
            }
        };
        self.vars.truncate(depth);
        self.scope.clear();
        outputs
    }

    fn scatter(
        &mut self,
        def: &ScatterDef,
        shape: Option<Vec<IndexExpr>>,
        dtype: Option<DType>,
        span: Span,
    ) -> Result<Vec<Output>> {
        let base = match self.expr(&def.base)? {
            Value::Tensor(t) => t,
            other => return Err(EvalError::new(def.base.span, format!("{} is not a tensor", other.kind()))),
        };
        let shape = shape.unwrap_or_else(|| base.shape.clone());
        let dtype = dtype.unwrap_or(base.dtype);
        if base.shape.len() != shape.len() {
            return Err(EvalError::new(def.base.span, "the base does not have the dimensions of the result"));
        }
        // The base in the dtype of the result.
        let source = match base.source {
            TensorSource::Source(source) if base.dtype == dtype => source,
            _ => {
                let dims = self.open(&shape);
                let point: Vec<IndexExpr> = dims.iter().map(|d| self.exprs.dim(*d)).collect();
                let at = self.broadcast_point(&base.shape, &shape, &point);
                let value = self.load(&base, at, span)?;
                let node = self.lift(&value, dtype, span)?;
                let nest = self.push_nest(NestKind::Pointwise, &[node], &[], &dims, &dims, vec![dtype], span)?;
                Source::Nest { nest, out: 0 }
            }
        };
        let mode = match self.expr(&def.mode)? {
            Value::Str(word) => ScatterMode::of_word(&word).ok_or_else(|| {
                EvalError::new(def.mode.span, format!("'{word}' is not a mode (set, add, mul, max, min)"))
            })?,
            other => return Err(EvalError::new(def.mode.span, format!("{} is not a mode", other.kind()))),
        };
        let updates = self.expr(&def.space)?;
        let updates = self.int_list(&updates, def.space.span)?;
        let dims = self.open(&updates);
        let coordinates: Vec<IndexExpr> = dims.iter().map(|d| self.exprs.dim(*d)).collect();
        self.scope = dims.clone();
        self.bind_point(&def.point, &coordinates)?;
        let mut when = None;
        if let Some(e) = &def.when {
            let cond = self.expr(e)?;
            if cond != Value::Bool(true) {
                when = Some(self.truth(&cond, e.span)?);
            }
        }
        let outer = self.guard;
        self.guard = when;
        let at = self.expr(&def.at);
        let value = self.expr(&def.value);
        self.guard = outer;
        let at = self.int_list(&at?, def.at.span)?;
        if at.len() != shape.len() {
            let message = format!("{} coordinates say where in a tensor of {} dimensions", at.len(), shape.len());
            return Err(EvalError::new(def.at.span, message));
        }
        let node = self.lift(&value?, dtype, def.value.span)?;
        let mut roots = vec![node];
        roots.extend(when);
        let kind = NestKind::Scatter { base: source, updates, at: at.clone(), mode, when };
        let space = self.open(&shape);
        let nest = self.push_nest(kind, &roots, &at, &space, &dims, vec![dtype], span)?;
        Ok(vec![Output::Nest { nest, out: 0 }])
    }

    /// Cuts a nest out of the graph. `loops` are the dimensions of its body.
    #[expect(clippy::too_many_arguments, reason = "each is one part of the nest")]
    pub(super) fn push_nest(
        &mut self,
        kind: NestKind,
        roots: &[NodeId],
        extra: &[IndexExpr],
        space: &[u32],
        loops: &[u32],
        outputs: Vec<DType>,
        span: Span,
    ) -> Result<usize> {
        let free = self.graph.free_dims(roots, extra, self.exprs);
        if free.iter().any(|d| !loops.contains(d)) {
            return Err(EvalError::new(span, "an element that is reduced over stands outside of the reduction"));
        }
        let (mut body, extra) = self.graph.body(roots, extra, loops, self.exprs, &self.facts);
        let mut kind = kind;
        if let NestKind::Scatter { at, when, .. } = &mut kind {
            *at = extra;
            if when.is_some() {
                *when = body.yields.pop();
            }
        }
        let space: Vec<IndexExpr> = space.iter().map(|d| self.dims[*d as usize]).collect();
        let nest = Nest { space, kind, body, outputs, name: None };
        // The same reduction written twice is one.
        if let Some(i) = self.nests.iter().position(|n| Nest { name: None, ..n.clone() } == nest) {
            return Ok(i);
        }
        self.nests.push(nest);
        Ok(self.nests.len() - 1)
    }

    /// The values at the point of the scope become outputs: of nests that computed them already, or of a new one.
    fn finish(&mut self, value: &Value, dtypes: &[Option<DType>], span: Span) -> Result<Vec<Output>> {
        let values = match value {
            Value::Tuple(items) => items.to_vec(),
            one => vec![one.clone()],
        };
        if values.len() != dtypes.len() {
            let message = format!("the clause computes {} values for {} tensors", values.len(), dtypes.len());
            return Err(EvalError::new(span, message));
        }
        let mut roots = Vec::new();
        for (value, dtype) in values.iter().zip(dtypes) {
            let own = self.dtype_of(value, span)?;
            roots.push(self.lift(value, dtype.unwrap_or(own), span)?);
        }
        let scope = self.scope.clone();
        let point: Vec<IndexExpr> = scope.iter().map(|d| self.exprs.dim(*d)).collect();
        let sizes: Vec<IndexExpr> = scope.iter().map(|d| self.dims[*d as usize]).collect();
        let ready: Vec<Option<Output>> = roots
            .iter()
            .map(|root| match &self.graph.node(*root).kind {
                NodeKind::Load { source: Source::Nest { nest, out }, at, guard: None }
                    if **at == *point && self.nests[*nest].space == sizes =>
                {
                    Some(Output::Nest { nest: *nest, out: *out })
                }
                _ => None,
            })
            .collect();
        let missing: Vec<NodeId> = roots.iter().zip(&ready).filter(|(_, r)| r.is_none()).map(|(n, _)| *n).collect();
        let mut next = 0;
        let nest = if missing.is_empty() {
            0
        } else {
            let outputs = missing.iter().map(|n| self.graph.dtype(*n)).collect();
            self.push_nest(NestKind::Pointwise, &missing, &[], &scope, &scope, outputs, span)?
        };
        Ok(ready
            .into_iter()
            .map(|r| {
                r.unwrap_or_else(|| {
                    next += 1;
                    Output::Nest { nest, out: next - 1 }
                })
            })
            .collect())
    }
}

/// Leaves out the nests that no output needs.
fn prune(semantics: &mut Semantics) {
    let mut needed = vec![false; semantics.nests.len()];
    for output in &semantics.outputs {
        if let Output::Nest { nest, .. } = output {
            needed[*nest] = true;
        }
    }
    for i in (0..semantics.nests.len()).rev() {
        if needed[i] {
            each_source(&mut semantics.nests[i], &mut |source| {
                if let Source::Nest { nest, .. } = source {
                    needed[*nest] = true;
                }
            });
        }
    }
    let mut number = vec![0; needed.len()];
    let mut count = 0;
    for (i, keep) in needed.iter().enumerate() {
        number[i] = count;
        count += usize::from(*keep);
    }
    let mut keep = needed.iter();
    semantics.nests.retain(|_| *keep.next().unwrap_or(&true));
    for nest in &mut semantics.nests {
        each_source(nest, &mut |source| {
            if let Source::Nest { nest, .. } = source {
                *nest = number[*nest];
            }
        });
    }
    for output in &mut semantics.outputs {
        if let Output::Nest { nest, .. } = output {
            *nest = number[*nest];
        }
    }
}

fn each_source(nest: &mut Nest, f: &mut dyn FnMut(&mut Source)) {
    if let NestKind::Scatter { base, .. } = &mut nest.kind {
        f(base);
    }
    for node in &mut nest.body.nodes {
        if let NodeKind::Load { source, .. } = &mut node.kind {
            f(source);
        }
    }
}
