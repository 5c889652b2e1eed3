//! An op of a graph as the evaluator of dialect files sees it: the arguments of its schema, from operands and properties.
//!
//! `operandSegmentSizes` has one count for each parameter that is some form of Tensor, int or Scalar; without it every Tensor parameter has
//! one operand. A symbolic integer in a list has its place held by `i64::MIN`, and its value among the operands.

use super::kernels;
use super::{attr_scalar, dtype_of, loops, symbols};
use crate::ir::{Attr, AttrData, DYNAMIC, Dict, FloatKind, Ir, Op, Type, TypeData, Value};
use crate::support::Diagnostic;
use rinductor_defs::ast::{SchemaParam, SchemaSig};
use rinductor_defs::{Arg, Instance, Number, OpDef, ResultType, Signature, TensorArg, TensorType};

/// A call of an op that a dialect file defines: the op itself, or `kernels.extern` that stands for it.
#[derive(Clone, Debug)]
pub struct Call {
    /// The op in the IR.
    pub op: Op,
    /// The name of what is called.
    pub name: String,
    /// Its operands.
    pub operands: Vec<Value>,
    /// Its properties.
    pub props: Dict,
    /// Its results: of a `kernels.extern`, the buffers that it writes.
    pub results: Vec<Value>,
}

impl Call {
    /// The call that an op is.
    pub fn of(ir: &Ir, op: Op) -> Call {
        let all = ir.operand_list(op).to_vec();
        let Some(external) = kernels::ExternOp::cast(ir, op) else {
            let props = ir.op(op).props;
            let props = if ir.dict(props).is_empty() { ir.op(op).attrs } else { props };
            return Call {
                op,
                name: ir.op_name(op).to_string(),
                operands: all,
                props,
                results: ir.results(op).collect(),
            };
        };
        let split = all.len().saturating_sub(usize::try_from(external.outs(ir)).unwrap_or(0));
        Call {
            op,
            name: external.callee(ir).to_string(),
            operands: all[..split].to_vec(),
            props: external.properties(ir),
            results: all[split..].to_vec(),
        }
    }

    fn prop(&self, ir: &Ir, name: &str) -> Option<Attr> {
        ir.dict_get(self.props, name)
    }
}

/// The instance of an op of this definition.
///
/// # Errors
/// Operands or properties that do not fit the schema.
pub fn instance_of(ir: &mut Ir, op: Op, def: &OpDef) -> Result<Instance, Diagnostic> {
    let call = Call::of(ir, op);
    instance_of_call(ir, &call, def)
}

/// The instance of a call.
///
/// # Errors
/// Operands or properties that do not fit the schema.
pub fn instance_of_call(ir: &mut Ir, op: &Call, def: &OpDef) -> Result<Instance, Diagnostic> {
    let args = match &def.signature {
        Signature::Schema(sig) => schema_args(ir, op, sig)?,
        Signature::Named(sig) => {
            let mut args = Vec::new();
            for (k, &v) in op.operands.iter().enumerate() {
                args.push(operand_arg(ir, op, v, k)?);
            }
            for attr in &sig.attrs {
                args.push(match op.prop(ir, &attr.name.text) {
                    Some(value) => property(ir, value).ok_or_else(|| odd_property(ir, op, &attr.name.text))?,
                    None => Arg::Absent,
                });
            }
            args
        }
    };
    let mut results = Vec::new();
    for &r in &op.results {
        let ty = ir.value_type(r);
        match ir.ty(ty) {
            TypeData::Tensor { .. } | TypeData::MemRef { .. } => {
                let ty = tensor_type(ir, ty).ok_or_else(|| odd_tensor(ir, op, r))?;
                results.push(ResultType::Tensor(ty));
            }
            _ => results.push(ResultType::Int),
        }
    }
    Ok(Instance { args, results })
}

fn error(ir: &Ir, op: &Call, text: String) -> Diagnostic {
    Diagnostic::error(ir.place(ir.op(op.op).loc), format!("'{}': {text}", op.name))
}

fn odd_property(ir: &Ir, op: &Call, name: &str) -> Diagnostic {
    error(ir, op, format!("property '{name}' is no number, list of numbers, string or type"))
}

fn odd_tensor(ir: &Ir, op: &Call, value: Value) -> Diagnostic {
    let name = ir.value_name(value).unwrap_or("a value").to_string();
    error(ir, op, format!("the type of %{name} has a size '?' without an expression, or an element that no tensor has"))
        .help("write #aten.layout<sizes = […]> with an expression for each '?'")
}

/// Shape, dtype and layout of a tensor type.
pub fn tensor_type(ir: &mut Ir, ty: Type) -> Option<TensorType> {
    let dtype = dtype_of(ir, ir.element_type(ty))?;
    let shape = loops::sizes_of(ir, ty)?;
    let (strides, offset) = loops::strides_of(ir, ty)?;
    Some(TensorType { shape, dtype, strides, offset })
}

/// An operand as an argument: a tensor, a symbolic integer, a number computed at run time (a tensor without dimensions), or None.
fn operand_arg(ir: &mut Ir, op: &Call, value: Value, operand: usize) -> Result<Arg, Diagnostic> {
    let ty = ir.value_type(value);
    Ok(match ir.ty(ty) {
        TypeData::None => Arg::None,
        TypeData::Tensor { .. } | TypeData::MemRef { .. } => {
            let ty = tensor_type(ir, ty).ok_or_else(|| odd_tensor(ir, op, value))?;
            Arg::Tensor(TensorArg { operand, ty })
        }
        TypeData::Index => match symbols::expr_of(ir, value) {
            Some(e) => Arg::Number(Number::Int(e)),
            None => {
                let name = ir.value_name(value).unwrap_or("an operand").to_string();
                return Err(error(ir, op, format!("%{name} is no expression of symbols and sizes")));
            }
        },
        _ => match dtype_of(ir, ty) {
            Some(dtype) => {
                let zero = ir.exprs.int(0);
                let ty = TensorType { shape: Vec::new(), dtype, strides: Vec::new(), offset: zero };
                Arg::Tensor(TensorArg { operand, ty })
            }
            None => return Err(error(ir, op, format!("operand {operand} is neither a tensor nor a number"))),
        },
    })
}

fn schema_args(ir: &mut Ir, op: &Call, sig: &SchemaSig) -> Result<Vec<Arg>, Diagnostic> {
    let operands = &op.operands;
    let counts = segment_counts(ir, op, sig, operands.len())?;
    let mut next = 0usize;
    let mut args = Vec::with_capacity(sig.params.len());
    for (param, count) in sig.params.iter().zip(counts) {
        let mine = next..next + count;
        next += count;
        let values = &operands[mine.clone()];
        args.push(param_arg(ir, op, param, values, mine.start)?);
    }
    Ok(args)
}

/// How many operands each parameter has.
fn segment_counts(ir: &Ir, op: &Call, sig: &SchemaSig, operands: usize) -> Result<Vec<usize>, Diagnostic> {
    let mut counts = vec![0usize; sig.params.len()];
    match op.prop(ir, "operandSegmentSizes").and_then(|a| ir.as_ints(a)) {
        Some(segments) => {
            let with: Vec<usize> = (0..sig.params.len()).filter(|&k| sig.params[k].ty.has_segment()).collect();
            if with.len() != segments.len() {
                return Err(error(
                    ir,
                    op,
                    format!(
                        "operandSegmentSizes has {} counts, but {} parameters can have operands",
                        segments.len(),
                        with.len()
                    ),
                ));
            }
            for (k, n) in with.into_iter().zip(segments) {
                counts[k] =
                    usize::try_from(n).map_err(|_| error(ir, op, format!("operandSegmentSizes has the count {n}")))?;
            }
        }
        None => {
            // Trailing tensors that were not passed have no operand; lists take what is left.
            let mut left = operands;
            for (k, param) in sig.params.iter().enumerate() {
                if param.ty.is_tensor() && left > 0 && op.prop(ir, &param.name.text).is_none() {
                    counts[k] = if param.ty.list { left } else { 1 };
                    left -= counts[k];
                }
            }
        }
    }
    let sum: usize = counts.iter().sum();
    if sum != operands {
        return Err(error(ir, op, format!("has {operands} operands, but its schema accounts for {sum}: {}", sig.text)));
    }
    Ok(counts)
}

fn param_arg(ir: &mut Ir, op: &Call, param: &SchemaParam, values: &[Value], first: usize) -> Result<Arg, Diagnostic> {
    let name = &param.name.text;
    if param.ty.is_tensor() {
        if param.ty.list {
            let mut list = Vec::new();
            for (k, &v) in values.iter().enumerate() {
                list.push(match operand_arg(ir, op, v, first + k)? {
                    Arg::Tensor(t) => Some(t),
                    Arg::None => None,
                    _ => return Err(error(ir, op, format!("'{name}' holds what is no tensor"))),
                });
            }
            return Ok(Arg::Tensors(list));
        }
        if let Some(&v) = values.first() {
            return operand_arg(ir, op, v, first);
        }
    } else if !param.ty.list
        && let Some(&v) = values.first()
    {
        return operand_arg(ir, op, v, first);
    }
    let Some(attr) = op.prop(ir, name) else { return Ok(Arg::Absent) };
    let arg = property(ir, attr).ok_or_else(|| odd_property(ir, op, name))?;
    match arg {
        Arg::Ints(list) if !values.is_empty() => fill_symbols(ir, op, name, attr, list, values),
        // `dim = array<i64: 1>` and `dim = 1 : i64` both stand for `int[1]`.
        Arg::Number(Number::Int(e)) if param.ty.list => {
            let n = param.ty.length.unwrap_or(1) as usize;
            Ok(Arg::Ints(vec![e; n]))
        }
        other => Ok(other),
    }
}

/// Puts the values of symbolic integers at the places that the list holds for them.
fn fill_symbols(
    ir: &mut Ir,
    op: &Call,
    name: &str,
    attr: Attr,
    mut list: Vec<rinductor_index::Expr>,
    values: &[Value],
) -> Result<Arg, Diagnostic> {
    let numbers = ir.as_ints(attr).unwrap_or_default();
    let mut next = values.iter();
    for (k, n) in numbers.iter().enumerate() {
        if *n == DYNAMIC {
            let Some(&v) = next.next() else {
                return Err(error(ir, op, format!("'{name}' has more places for symbolic integers than operands")));
            };
            list[k] = symbols::expr_of(ir, v).ok_or_else(|| {
                error(ir, op, format!("an operand of '{name}' is no expression of symbols and sizes"))
            })?;
        }
    }
    if next.next().is_some() {
        return Err(error(ir, op, format!("'{name}' has more operands than places for symbolic integers")));
    }
    Ok(Arg::Ints(list))
}

/// A property as an argument.
fn property(ir: &mut Ir, attr: Attr) -> Option<Arg> {
    Some(match ir.attr(attr).clone() {
        AttrData::Unit => Arg::Number(Number::Bool(true)),
        AttrData::Bool(b) => Arg::Number(Number::Bool(b)),
        AttrData::Integer { value, .. } => Arg::Number(Number::Int(ir.exprs.int(value))),
        AttrData::Float { .. } => Arg::Number(Number::Float(attr_scalar(ir, attr)?.to_f64())),
        AttrData::String(_) => Arg::Str(ir.as_str(attr)?.into()),
        AttrData::Type(ty) => Arg::DType(dtype_of(ir, ty)?),
        AttrData::DenseArray { element, values } => match ir.ty(element) {
            TypeData::Integer { width: 1, .. } => Arg::Numbers(values.iter().map(|&b| Number::Bool(b != 0)).collect()),
            TypeData::Float(FloatKind::f32) => {
                Arg::Numbers(values.iter().map(|&b| Number::Float(f64::from(f32::from_bits(b as u32)))).collect())
            }
            TypeData::Float(_) => {
                Arg::Numbers(values.iter().map(|&b| Number::Float(f64::from_bits(b as u64))).collect())
            }
            _ => Arg::Ints(values.iter().map(|&n| ir.exprs.int(n)).collect()),
        },
        AttrData::Array(items) => {
            let mut strings = Vec::new();
            let mut numbers = Vec::new();
            for &item in &*items {
                match property(ir, item)? {
                    Arg::Str(s) => strings.push(s),
                    Arg::Number(n) => numbers.push(n),
                    _ => return None,
                }
            }
            if strings.is_empty() { Arg::Numbers(numbers) } else { Arg::Strs(strings) }
        }
        _ => return None,
    })
}
