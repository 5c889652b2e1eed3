//! What a rule puts in place of what it matched: ops with operands, properties as the writing rules say, and inferred types.

use super::facts::with_graph;
use super::matcher::{Bindings, literal_is};
use super::sizes::Sizes;
use super::storage::may_replace;
use super::types::{device_of, ir_type};
use crate::dialects::aten;
use crate::dialects::infos::OpInfos;
use crate::dialects::instance::{Call, instance_of_call, tensor_type};
use crate::dialects::{scalar_attr, type_of};
use crate::ir::{Attr, AttrData, DYNAMIC, InsertPoint, Ir, Loc, Op, OpSpec, Type, TypeData, Value};
use rinductor_defs::ast::{Binder, Expr, ExprKind, Ident, OpArg, SchemaParam, SchemaSig, Str};
use rinductor_defs::eval::{TensorSource, TensorValue};
use rinductor_defs::schema::Base;
use rinductor_defs::{OpDef, ResultType, Setting, Signature, Source, TensorType, Value as Known, eval_expr};
use rinductor_index::Ranges;
use rinductor_scalar::{DType, Scalar};
use rinductor_support::Name;
use std::rc::Rc;

/// Builds one replacement before the root of what was matched.
pub struct Builder<'a> {
    ir: &'a mut Ir,
    infos: &'a dyn OpInfos,
    facts: &'a Ranges,
    root: Op,
    loc: Loc,
    device: Option<Name>,
    sizes: Sizes,
    bindings: Bindings,
    made: Vec<Op>,
}

/// Why there is no replacement: the rule does not apply here.
pub type WhyNot = String;

/// Builds the replacement of a match: one value for each result of the root, and the ops that were made.
///
/// # Errors
/// A type that cannot be inferred or is not that of the result, a size without a value. What was made is gone again then.
pub fn build(
    ir: &mut Ir,
    infos: &dyn OpInfos,
    facts: &Ranges,
    replacement: &Expr,
    bindings: Bindings,
) -> Result<(Vec<Value>, Vec<Op>), WhyNot> {
    let root = bindings.ops[0];
    let locs: Vec<Loc> = bindings.ops.iter().map(|&op| ir.op(op).loc).collect();
    let loc = ir.fused_loc(&locs);
    let device = ir.results(root).next().and_then(|r| device_of(ir, ir.value_type(r)));
    let mut sizes = Sizes::default();
    for &op in &bindings.ops {
        sizes.note_operands(ir, op);
    }
    let first = ir.prev_op(root);
    let mut builder = Builder { ir, infos, facts, root, loc, device, sizes, bindings, made: Vec::new() };
    let values = builder.expr(replacement).and_then(|v| builder.results(&v));
    let made = builder.made;
    values.map(|values| (values, made)).inspect_err(|_| {
        // Everything that was made stands between the op that was before the root and the root; users come after what they use.
        while let Some(op) = ir.prev_op(root)
            && Some(op) != first
        {
            ir.erase(op);
        }
    })
}

/// Whether an expression makes ops.
fn makes_ops(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::OpCall { .. } => true,
        ExprKind::Let { value, body, .. } => makes_ops(value) || makes_ops(body),
        ExprKind::If { then, other, .. } => makes_ops(then) || makes_ops(other),
        ExprKind::Match { arms, .. } => arms.iter().any(|a| makes_ops(&a.body)),
        ExprKind::List(items) => items.iter().any(|i| makes_ops(&i.expr)),
        ExprKind::Tuple(items) => items.iter().any(makes_ops),
        ExprKind::Comprehension { body, .. } => makes_ops(body),
        ExprKind::Subscript { of, .. } | ExprKind::Field { of, .. } => makes_ops(of),
        _ => false,
    }
}

impl Builder<'_> {
    /// The value of an expression, making the ops that it names.
    fn expr(&mut self, expr: &Expr) -> Result<Known, WhyNot> {
        if !makes_ops(expr) {
            return self.known(expr);
        }
        match &expr.kind {
            ExprKind::OpCall { op, args } => self.call(op, args),
            ExprKind::Let { binder, value, body } => {
                let depth = self.bindings.vars.len();
                let value = self.expr(value)?;
                self.bind(binder, value)?;
                let result = self.expr(body);
                self.bindings.vars.truncate(depth);
                result
            }
            ExprKind::If { cond, then, other } => match self.known(cond)? {
                Known::Bool(true) => self.expr(then),
                Known::Bool(false) => self.expr(other),
                other => Err(format!("a condition is {}, not a bool", other.kind())),
            },
            ExprKind::Match { on, arms } => {
                let on = self.known(on)?;
                let arm = arms
                    .iter()
                    .find(|arm| arm.values.is_empty() || arm.values.iter().any(|l| literal_is(l, &on, &self.ir.exprs)));
                match arm {
                    Some(arm) => self.expr(&arm.body),
                    None => Err("no arm of a match is for the value".into()),
                }
            }
            ExprKind::Tuple(items) => {
                let items = items.iter().map(|i| self.expr(i)).collect::<Result<Vec<_>, _>>()?;
                Ok(Known::Tuple(items.into()))
            }
            ExprKind::List(items) => {
                let mut out = Vec::new();
                for item in items {
                    match self.expr(&item.expr)? {
                        Known::List(list) if item.spread => out.extend(list.iter().cloned()),
                        value => out.push(value),
                    }
                }
                Ok(Known::List(out.into()))
            }
            ExprKind::Comprehension { body, binder, list, cond } => {
                let Known::List(items) = self.known(list)? else {
                    return Err("a comprehension runs over no list".into());
                };
                let mut out = Vec::new();
                for item in items.iter() {
                    let depth = self.bindings.vars.len();
                    self.bind(binder, item.clone())?;
                    let keep = match cond {
                        Some(cond) => self.known(cond)? == Known::Bool(true),
                        None => true,
                    };
                    if keep {
                        out.push(self.expr(body)?);
                    }
                    self.bindings.vars.truncate(depth);
                }
                Ok(Known::List(out.into()))
            }
            ExprKind::Field { of, name } => {
                let of = self.expr(of)?;
                item(&of, name.text.parse().ok())
            }
            ExprKind::Subscript { of, items } => {
                let of = self.expr(of)?;
                let index = match items.as_slice() {
                    [one] => self.known(&one.expr)?,
                    _ => return Err("one result of an op is taken by one number".into()),
                };
                let index = match index {
                    Known::Int(e) => self.ir.exprs.as_int(e).and_then(|i| usize::try_from(i).ok()),
                    _ => None,
                };
                item(&of, index)
            }
            _ => Err("ops cannot be made inside this expression".into()),
        }
    }

    fn bind(&mut self, binder: &Binder, value: Known) -> Result<(), WhyNot> {
        match (binder, value) {
            (Binder::One(name), value) => self.bindings.vars.push((name.text.clone(), value)),
            (Binder::Each(names), Known::Tuple(items) | Known::List(items)) if items.len() == names.len() => {
                self.bindings.vars.extend(names.iter().zip(items.iter()).map(|(n, v)| (n.text.clone(), v.clone())));
            }
            (Binder::Each(names), _) => return Err(format!("a value does not fall into {} parts", names.len())),
        }
        Ok(())
    }

    /// The value of an expression that makes no ops.
    fn known(&mut self, expr: &Expr) -> Result<Known, WhyNot> {
        let (vars, facts) = (&self.bindings.vars, self.facts);
        with_graph(self.ir, &self.bindings.slots, |exprs, externs| {
            eval_expr(expr, vars, exprs, &Setting { facts: facts.clone(), externs: Some(externs) })
        })
        .map_err(|e| e.message)
    }

    /// A value of the graph as a tensor of the language.
    fn tensor(&mut self, value: Value, ty: TensorType) -> Known {
        let slot = self.bindings.slot(value);
        Known::Tensor(Rc::new(TensorValue {
            source: TensorSource::Source(Source::Operand(slot)),
            shape: ty.shape,
            dtype: ty.dtype,
            strides: ty.strides,
            offset: ty.offset,
        }))
    }

    /// Makes an op.
    fn call(&mut self, op: &Ident, args: &[OpArg]) -> Result<Known, WhyNot> {
        let def = self.infos.def(&op.text).ok_or_else(|| format!("there is no op '{}'", op.text))?;
        let numbers = def.argument_numbers(args.iter().map(|a| a.name.as_ref()));
        let Signature::Schema(sig) = &def.signature else {
            return Err(format!("'{}' has no schema, so a rule cannot make it", op.text));
        };
        let mut values: Vec<Option<Known>> = vec![None; sig.params.len()];
        for (k, arg) in numbers.into_iter().zip(args) {
            values[k.ok_or_else(|| format!("'{}' has no such argument", op.text))?] = Some(self.expr(&arg.value)?);
        }
        let (operands, props) = self.arguments(sig, &values)?;
        let name = self.ir.name(&op.text);
        let entries: Vec<_> = props.into_iter().map(|(n, a)| (self.ir.name(&n), a)).collect();
        let props = self.ir.make_dict(entries);
        let call =
            Call { op: self.root, name: op.text.to_string(), operands: operands.clone(), props, results: Vec::new() };
        let instance = instance_of_call(self.ir, &call, def).map_err(|d| d.message)?;
        let setting = Setting { facts: self.facts.clone(), externs: None };
        let types = match rinductor_defs::verify(def, &instance, &mut self.ir.exprs, &setting) {
            Ok(Some(types)) => types,
            Ok(None) => return Err(format!("the types of the results of '{}' cannot be inferred", op.text)),
            Err(broken) => return Err(broken.into_iter().map(|e| e.message).collect::<Vec<_>>().join("; ")),
        };
        let results: Vec<Type> = types
            .iter()
            .map(|t| match t {
                ResultType::Tensor(t) => ir_type(self.ir, t, self.device),
                ResultType::Int => self.ir.index_type(),
            })
            .collect();
        let spec = OpSpec::named(name).operands(&operands).results(&results).props(props).loc(self.loc);
        let made = self.ir.create(spec, InsertPoint::Before(self.root));
        self.made.push(made);
        self.op_results(made, types, def)
    }

    fn op_results(&mut self, op: Op, types: Vec<ResultType>, def: &OpDef) -> Result<Known, WhyNot> {
        let mut values = Vec::new();
        for (k, ty) in types.into_iter().enumerate() {
            let value = self.ir.result(op, k);
            values.push(match ty {
                ResultType::Tensor(ty) => self.tensor(value, ty),
                ResultType::Int => {
                    let e = crate::dialects::symbols::expr_of(self.ir, value);
                    Known::Int(e.ok_or_else(|| format!("'{}' gives a number that is no expression", def.name.text))?)
                }
            });
        }
        let list = matches!(&def.signature, Signature::Schema(sig) if sig.results.len() == 1 && sig.results[0].ty.list);
        Ok(match values.len() {
            1 if !list => values.swap_remove(0),
            _ if list => Known::List(values.into()),
            _ => Known::Tuple(values.into()),
        })
    }

    /// Operands and properties of an op, from a value for each parameter.
    fn arguments(
        &mut self,
        sig: &SchemaSig,
        values: &[Option<Known>],
    ) -> Result<(Vec<Value>, Vec<(Str, Attr)>), WhyNot> {
        let mut operands = Vec::new();
        let mut props = Vec::new();
        let mut counts = Vec::new();
        let mut segments = sig.params.iter().any(|p| p.ty.is_tensor() && (p.ty.list || p.ty.optional()));
        for (param, value) in sig.params.iter().zip(values) {
            let before = operands.len();
            // What is the default is left out, as if it had not been passed.
            let default = |v: &Known| param.default.as_ref().is_some_and(|d| literal_is(d, v, &self.ir.exprs));
            if let Some(value) = value.as_ref().filter(|v| param.ty.is_tensor() || !default(v)) {
                let attr = self.argument(param, value, &mut operands)?;
                let tensor = param.ty.is_tensor();
                // A symbolic integer or a wrapped number: then the counts are needed to tell which operand is what.
                segments |= if tensor { attr.is_some() } else { operands.len() > before };
                props.extend(attr.map(|a| (param.name.text.clone(), a)));
            }
            if param.ty.has_segment() {
                counts.push((operands.len() - before) as i64);
            }
        }
        if segments {
            let counts = self.ir.i32_array_attr(&counts);
            props.push(("operandSegmentSizes".into(), counts));
        }
        Ok((operands, props))
    }

    /// One argument: operands, or an attribute.
    fn argument(
        &mut self,
        param: &SchemaParam,
        value: &Known,
        operands: &mut Vec<Value>,
    ) -> Result<Option<Attr>, WhyNot> {
        match value {
            Known::None => Ok(None),
            Known::Tensor(t) if param.ty.is_tensor() => match &t.source {
                TensorSource::Number(number) => self.attribute(param, number, operands).map(Some),
                TensorSource::Source(_) => {
                    operands.push(self.bindings.graph_value(value).ok_or("a tensor is none of the graph")?);
                    Ok(None)
                }
            },
            Known::List(items) if param.ty.is_tensor() => {
                for item in items.iter() {
                    let v = match item {
                        Known::None => self.none(),
                        other => self.bindings.graph_value(other).ok_or("a list of tensors holds something else")?,
                    };
                    operands.push(v);
                }
                Ok(None)
            }
            Known::Int(e) if self.ir.exprs.as_int(*e).is_none() => {
                operands.push(self.size(*e)?);
                Ok(None)
            }
            other => self.attribute(param, other, operands).map(Some),
        }
    }

    fn none(&mut self) -> Value {
        let none = self.ir.none_type();
        let op = self.ir.create_op(aten::NoneOp::NAME, &[], &[none], &[], self.loc, InsertPoint::Before(self.root));
        self.made.push(op);
        self.ir.result(op, 0)
    }

    fn size(&mut self, e: rinductor_index::Expr) -> Result<Value, WhyNot> {
        let v = self.sizes.value(self.ir, e, self.root);
        v.ok_or_else(|| format!("no value of the graph gives the size {}", self.ir.exprs.display(e)))
    }

    /// A number, string, dtype or list as the property that the writing rules make of it.
    fn attribute(&mut self, param: &SchemaParam, value: &Known, operands: &mut Vec<Value>) -> Result<Attr, WhyNot> {
        let float = |ir: &mut Ir, x: f64| scalar_attr(ir, Scalar::f64(x)).ok_or_else(String::new);
        Ok(match value {
            Known::Bool(b) => self.ir.bool_attr(*b),
            Known::Float(x) => float(self.ir, *x)?,
            Known::Int(e) => {
                let n = self.ir.exprs.as_int(*e).ok_or("a size that is not known stands where a property is")?;
                if param.ty.base == Base::Float { float(self.ir, n as f64)? } else { self.ir.i64_attr(n) }
            }
            Known::Str(s) => self.ir.string_attr(s),
            Known::DType(d) => {
                let ty = type_of(self.ir, *d);
                self.ir.type_attr(ty)
            }
            Known::List(items) => self.list(param, items, operands)?,
            other => return Err(format!("{} cannot be a property", other.kind())),
        })
    }

    fn list(&mut self, param: &SchemaParam, items: &[Known], operands: &mut Vec<Value>) -> Result<Attr, WhyNot> {
        let all = |f: fn(&Known) -> bool| !items.is_empty() && items.iter().all(f);
        if all(|i| matches!(i, Known::Str(_))) {
            let attrs: Vec<Attr> = items
                .iter()
                .filter_map(|i| if let Known::Str(s) = i { Some(self.ir.string_attr(s)) } else { None })
                .collect();
            return Ok(self.ir.array_attr(&attrs));
        }
        let mut values = Vec::new();
        let element = if all(|i| matches!(i, Known::Bool(_))) {
            self.ir.int_type(1)
        } else if param.ty.base == Base::Float || items.iter().any(|i| matches!(i, Known::Float(_))) {
            type_of(self.ir, DType::F64)
        } else {
            self.ir.int_type(64)
        };
        let floats = matches!(self.ir.ty(element), TypeData::Float(_));
        for item in items {
            values.push(match item {
                Known::Bool(b) => i64::from(*b),
                Known::Float(x) => x.to_bits() as i64,
                Known::Int(e) => match self.ir.exprs.as_int(*e) {
                    Some(n) if floats => (n as f64).to_bits() as i64,
                    Some(n) => n,
                    None => {
                        operands.push(self.size(*e)?);
                        DYNAMIC
                    }
                },
                other => return Err(format!("a list holds {}", other.kind())),
            });
        }
        Ok(self.ir.make_attr(AttrData::DenseArray { element, values: values.into() }))
    }

    /// The values that take the place of the root's results: of the same types.
    fn results(&mut self, value: &Known) -> Result<Vec<Value>, WhyNot> {
        let n = self.ir.num_results(self.root);
        let parts: Vec<Known> = match value {
            Known::Tuple(items) | Known::List(items) => items.to_vec(),
            one => vec![one.clone()],
        };
        if parts.len() != n {
            return Err(format!("the replacement has {} values, the op {n} results", parts.len()));
        }
        let mut out = Vec::new();
        for (k, part) in parts.iter().enumerate() {
            let wanted = self.ir.value_type(self.ir.result(self.root, k));
            let value = match part {
                Known::Int(e) => self.size(*e)?,
                other => self
                    .bindings
                    .graph_value(other)
                    .ok_or_else(|| format!("{} takes the place of a tensor", other.kind()))?,
            };
            self.fit(value, wanted)?;
            if !may_replace(self.ir, self.infos, self.ir.result(self.root, k), value, &self.made) {
                return Err("the caller would see the memory of another tensor".into());
            }
            out.push(value);
        }
        Ok(out)
    }

    /// Checks that a value has the type of what it replaces. An op that was just made and is no view lays its result out as is wanted.
    fn fit(&mut self, value: Value, wanted: Type) -> Result<(), WhyNot> {
        let have = self.ir.value_type(value);
        if have == wanted {
            return Ok(());
        }
        let (Some(a), Some(b)) = (tensor_type(self.ir, have), tensor_type(self.ir, wanted)) else {
            return Err("the replacement has another type".into());
        };
        let equal = |this: &mut Self, x: &[rinductor_index::Expr], y: &[rinductor_index::Expr]| {
            x.len() == y.len()
                && x.iter().zip(y).all(|(&x, &y)| x == y || this.ir.exprs.prove_eq(x, y, this.facts) == Some(true))
        };
        if a.dtype != b.dtype || !equal(self, &a.shape, &b.shape) {
            return Err("the replacement has another dtype or shape".into());
        }
        let same_layout = equal(self, &a.strides, &b.strides) && equal(self, &[a.offset], &[b.offset]);
        let made = self.ir.def_op(value).filter(|op| self.made.contains(op));
        let view = made.is_some_and(|op| self.infos.def(self.ir.op_name(op)).is_none_or(|d| d.has_trait("view")));
        match made {
            Some(_) if same_layout || !view => {
                self.ir.set_value_type(value, wanted);
                Ok(())
            }
            None if same_layout && device_of(self.ir, have) == device_of(self.ir, wanted) => Ok(()),
            _ => Err("the replacement has another layout".into()),
        }
    }
}

fn item(of: &Known, index: Option<usize>) -> Result<Known, WhyNot> {
    match of {
        Known::Tuple(items) | Known::List(items) => index.and_then(|i| items.get(i)).cloned(),
        _ => None,
    }
    .ok_or_else(|| "there is no such result".into())
}
