//! The values of the expression language, and how the arguments of an op become values.

use super::{EvalError, Evaluator, Result};
use crate::ast::*;
use crate::instance::{Arg, Instance, Number, TensorArg};
use crate::schema::{Base, Literal, SchemaType};
use crate::semantics::{NodeId, Source};
use rinductor_index::Expr as IndexExpr;
use rinductor_scalar::DType;
use rinductor_support::Span;
use std::rc::Rc;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// None.
    None,
    /// A known truth value.
    Bool(bool),
    /// An integer expression over sizes, and in bodies over coordinates.
    Int(IndexExpr),
    /// A float constant.
    Float(f64),
    /// A string.
    Str(Str),
    /// A dtype.
    DType(DType),
    /// A value that is computed at run time. A weak one was made of sizes and constants only: like a Python number, it takes
    /// the dtype of what it is combined with.
    #[allow(missing_docs, reason = "said in the line of the variant")]
    Scalar { node: NodeId, weak: bool },
    /// What `welford` gives: mean, sum of squared differences, count.
    Moments([NodeId; 3]),
    /// A tensor.
    Tensor(Rc<TensorValue>),
    /// A list.
    List(Rc<[Value]>),
    /// Several values.
    Tuple(Rc<[Value]>),
}

/// A tensor that expressions ask for its sizes and elements.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorValue {
    /// Where its elements are.
    pub source: TensorSource,
    /// Its sizes.
    pub shape: Vec<IndexExpr>,
    /// Its dtype; for a wrapped number the dtype of the number.
    pub dtype: DType,
    /// Its strides.
    pub strides: Vec<IndexExpr>,
    /// The position of its first element.
    pub offset: IndexExpr,
}

/// Where the elements of a tensor are.
#[derive(Clone, Debug, PartialEq)]
pub enum TensorSource {
    /// An operand or a nest.
    Source(Source),
    /// A number that was given for a tensor: its one element.
    Number(Value),
}

impl Value {
    /// A list.
    pub fn list(items: impl IntoIterator<Item = Value>) -> Value {
        Value::List(items.into_iter().collect())
    }
    /// A list of integers.
    pub fn ints(items: &[IndexExpr]) -> Value {
        Value::list(items.iter().map(|e| Value::Int(*e)))
    }
    /// What kind of value it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::None => "none",
            Value::Bool(_) => "a bool",
            Value::Int(_) => "an int",
            Value::Float(_) => "a float",
            Value::Str(_) => "a string",
            Value::DType(_) => "a dtype",
            Value::Scalar { .. } => "a scalar",
            Value::Moments(_) => "moments",
            Value::Tensor(_) => "a tensor",
            Value::List(_) => "a list",
            Value::Tuple(_) => "a tuple",
        }
    }
}

impl Evaluator<'_> {
    /// A value as messages show it.
    pub(super) fn show(&self, value: &Value) -> String {
        let list = |items: &[Value]| items.iter().map(|v| self.show(v)).collect::<Vec<_>>().join(", ");
        match value {
            Value::None => "none".to_owned(),
            Value::Bool(b) => b.to_string(),
            Value::Int(e) => self.exprs.display(*e),
            Value::Float(x) => format!("{x:?}"),
            Value::Str(s) => s.to_string(),
            Value::DType(d) => d.ir_name().to_owned(),
            Value::Scalar { .. } => "a value known when the op runs".to_owned(),
            Value::Moments(_) => "moments".to_owned(),
            Value::Tensor(t) => {
                let sizes: Vec<String> = t.shape.iter().map(|e| self.exprs.display(*e)).collect();
                format!("a tensor of sizes [{}]", sizes.join(", "))
            }
            Value::List(items) => format!("[{}]", list(items)),
            Value::Tuple(items) => format!("({})", list(items)),
        }
    }

    pub(super) fn int(&mut self, value: i64) -> Value {
        Value::Int(self.exprs.int(value))
    }

    pub(super) fn literal(&mut self, literal: &Literal) -> Value {
        match literal {
            Literal::None => Value::None,
            Literal::Bool(b) => Value::Bool(*b),
            Literal::Int(i) => self.int(*i),
            Literal::Float(x) => Value::Float(*x),
            Literal::Str(s) => Value::Str(s.clone()),
            Literal::List(items) => {
                let items: Vec<Value> = items.iter().map(|i| self.literal(i)).collect();
                Value::list(items)
            }
        }
    }

    fn number(&mut self, number: Number) -> Value {
        match number {
            Number::Int(e) => Value::Int(e),
            Number::Float(x) => Value::Float(x),
            Number::Bool(b) => Value::Bool(b),
        }
    }

    fn tensor(&mut self, arg: &TensorArg) -> Value {
        Value::Tensor(Rc::new(TensorValue {
            source: TensorSource::Source(Source::Operand(arg.operand)),
            shape: arg.ty.shape.clone(),
            dtype: arg.ty.dtype,
            strides: arg.ty.strides.clone(),
            offset: arg.ty.offset,
        }))
    }

    fn wrapped(&mut self, number: Value) -> Value {
        let dtype = match number {
            Value::Bool(_) => DType::I1,
            Value::Float(_) => DType::F64,
            _ => DType::I64,
        };
        let offset = self.exprs.int(0);
        Value::Tensor(Rc::new(TensorValue {
            source: TensorSource::Number(number),
            shape: Vec::new(),
            dtype,
            strides: Vec::new(),
            offset,
        }))
    }

    fn plain_arg(&mut self, arg: &Arg) -> Value {
        match arg {
            Arg::Absent | Arg::None => Value::None,
            Arg::Tensor(t) => self.tensor(t),
            Arg::Tensors(items) => {
                let items: Vec<Value> =
                    items.iter().map(|t| t.as_ref().map_or(Value::None, |t| self.tensor(t))).collect();
                Value::list(items)
            }
            Arg::Number(n) => self.number(*n),
            Arg::Ints(items) => Value::ints(items),
            Arg::Numbers(items) => {
                let items: Vec<Value> = items.iter().map(|n| self.number(*n)).collect();
                Value::list(items)
            }
            Arg::Str(s) => Value::Str(s.clone()),
            Arg::Strs(items) => Value::list(items.iter().cloned().map(Value::Str)),
            Arg::DType(d) => Value::DType(*d),
        }
    }

    /// Makes variables of the arguments and of the `let` clauses.
    pub(super) fn bind_args(&mut self, op: &OpDef, instance: &Instance) -> Result<()> {
        self.bind_parameters(op, instance)?;
        for (binder, value) in &op.lets {
            let value = self.expr(value)?;
            self.bind(binder, value, op.span)?;
        }
        Ok(())
    }

    /// Makes variables of the arguments.
    pub(super) fn bind_parameters(&mut self, op: &OpDef, instance: &Instance) -> Result<()> {
        const ABSENT: &Arg = &Arg::Absent;
        let arg = |i: usize| instance.args.get(i).unwrap_or(ABSENT);
        match &op.signature {
            Signature::Schema(sig) => {
                for (i, param) in sig.params.iter().enumerate() {
                    let value = self.schema_arg(op, param, arg(i))?;
                    self.vars.push((param.name.text.clone(), value));
                }
            }
            Signature::Named(sig) => {
                for (i, operand) in sig.operands.iter().enumerate() {
                    let value = self.plain_arg(arg(i));
                    self.vars.push((operand.name.text.clone(), value));
                }
                for (i, attr) in sig.attrs.iter().enumerate() {
                    let value = match (arg(sig.operands.len() + i), &attr.default) {
                        (Arg::Absent, Some(default)) => self.literal(default),
                        (arg, _) => self.plain_arg(arg),
                    };
                    self.vars.push((attr.name.text.clone(), value));
                }
            }
        }
        Ok(())
    }

    fn schema_arg(&mut self, op: &OpDef, param: &SchemaParam, arg: &Arg) -> Result<Value> {
        let value = match (arg, &param.default) {
            (Arg::Absent, Some(default)) => {
                let value = self.literal(default);
                match (param.ty.base, value) {
                    (Base::ScalarType, Value::Str(word)) => {
                        DType::from_torch_name(&word).map_or(Value::Str(word), Value::DType)
                    }
                    (_, value) => value,
                }
            }
            (arg, _) => self.plain_arg(arg),
        };
        let ty = &param.ty;
        if value == Value::None {
            // An optional argument that is absent is None.
            return if ty.optional() || *arg == Arg::None && ty.base == Base::Other || ty.base == Base::Layout {
                Ok(value)
            } else {
                Err(EvalError::new(
                    param.name.span,
                    format!("'{}': argument '{}' is missing", op.name.text, param.name.text),
                ))
            };
        }
        if ty.list {
            return match value {
                Value::List(_) if !matches!(ty.base, Base::Float) => Ok(value),
                Value::List(items) => Ok(value_list_of_floats(self, &items)),
                // One number stands for a list of the stated length.
                single => Ok(Value::list(vec![single; ty.length.unwrap_or(1) as usize])),
            };
        }
        match (&value, ty.base) {
            (Value::Tensor(_), Base::Tensor) => Ok(value),
            (Value::Int(_) | Value::Float(_) | Value::Bool(_), Base::Tensor) => Ok(self.wrapped(value)),
            (Value::Int(_), Base::Int | Base::SymInt)
            | (Value::Int(_) | Value::Float(_) | Value::Bool(_), Base::Scalar | Base::SymFloat)
            | (Value::Float(_), Base::Float)
            | (Value::Bool(_), Base::Bool | Base::SymBool)
            | (Value::Str(_), Base::Str | Base::MemoryFormat | Base::Device | Base::Layout)
            | (Value::DType(_), Base::ScalarType)
            | (_, Base::Other) => Ok(value),
            (Value::Int(e), Base::Float) => match self.exprs.as_int(*e) {
                Some(i) => Ok(Value::Float(i as f64)),
                None => Ok(value),
            },
            (Value::Bool(b), Base::Int | Base::SymInt) => Ok(self.int(i64::from(*b))),
            _ => Err(EvalError::new(
                param.name.span,
                format!(
                    "'{}': argument '{}' is {}, not {}",
                    op.name.text,
                    param.name.text,
                    value.kind(),
                    base_word(ty)
                ),
            )),
        }
    }

    /// Binds names to a value.
    pub(super) fn bind(&mut self, binder: &Binder, value: Value, span: Span) -> Result<()> {
        match binder {
            Binder::One(name) => self.vars.push((name.text.clone(), value)),
            Binder::Each(names) => {
                let (Value::List(items) | Value::Tuple(items)) = &value else {
                    return Err(EvalError::new(span, format!("{} cannot be taken apart", value.kind())));
                };
                if items.len() != names.len() {
                    return Err(EvalError::new(
                        span,
                        format!("{} names cannot hold {} values", names.len(), items.len()),
                    ));
                }
                for (name, item) in names.iter().zip(items.iter()) {
                    self.vars.push((name.text.clone(), item.clone()));
                }
            }
        }
        Ok(())
    }
}

fn value_list_of_floats(evaluator: &Evaluator<'_>, items: &[Value]) -> Value {
    Value::list(items.iter().map(|v| match v {
        Value::Int(e) => evaluator.exprs.as_int(*e).map_or(v.clone(), |i| Value::Float(i as f64)),
        other => other.clone(),
    }))
}

fn base_word(ty: &SchemaType) -> &'static str {
    match ty.base {
        Base::Tensor => "a tensor or a number",
        Base::Int | Base::SymInt => "an int",
        Base::Scalar | Base::SymFloat => "a number",
        Base::Float => "a float",
        Base::Bool | Base::SymBool => "a bool",
        Base::ScalarType => "a dtype",
        _ => "a string",
    }
}
