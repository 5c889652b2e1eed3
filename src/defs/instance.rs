//! One op of a graph as the evaluator sees it: its arguments with shapes, dtypes and values, without the IR.

use crate::ast::Str;
use rinductor_index::Expr;
use rinductor_scalar::DType;

/// Shape, dtype and layout of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// The sizes.
    pub shape: Vec<Expr>,
    /// The dtype.
    pub dtype: DType,
    /// The strides, in elements, one a dimension.
    pub strides: Vec<Expr>,
    /// The position of the first element, in elements.
    pub offset: Expr,
}

/// A tensor that is an operand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorArg {
    /// Which of the op's SSA operands it is.
    pub operand: usize,
    /// Its type.
    pub ty: TensorType,
}

/// A Python number: constant, or a size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer; a size expression if it is symbolic.
    Int(Expr),
    /// A float.
    Float(f64),
    /// A bool.
    Bool(bool),
}

/// The argument of one parameter of the signature.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Arg {
    /// Not given: the default of the schema stands for it, or None where there is no default.
    #[default]
    Absent,
    /// None.
    None,
    /// A tensor.
    Tensor(TensorArg),
    /// A list of tensors, of which some may be None.
    Tensors(Vec<Option<TensorArg>>),
    /// A number, where the schema says a number or (as a wrapped number) Tensor.
    Number(Number),
    /// A list of integers.
    Ints(Vec<Expr>),
    /// A list of numbers.
    Numbers(Vec<Number>),
    /// A string: also memory formats, devices.
    Str(Str),
    /// A list of strings.
    Strs(Vec<Str>),
    /// A dtype.
    DType(DType),
}

/// One op of a graph.
#[derive(Clone, Debug, Default)]
pub struct Instance {
    /// One for each parameter of the schema; for a signature of names: the operands, then the properties. Missing ones
    /// at the end are absent.
    pub args: Vec<Arg>,
    /// The types of the results, where the graph states them; the semantics then compute these dtypes and shapes. Empty:
    /// they are inferred.
    pub results: Vec<ResultType>,
}

/// The type of a result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ResultType {
    /// A tensor.
    Tensor(TensorType),
    /// A symbolic integer.
    Int,
}

impl ResultType {
    /// The tensor type, if it is one.
    pub fn tensor(&self) -> Option<&TensorType> {
        match self {
            ResultType::Tensor(ty) => Some(ty),
            ResultType::Int => None,
        }
    }
}

impl Instance {
    /// Replaces every size, stride, offset and integer.
    pub fn map_exprs(&mut self, map: &mut dyn FnMut(Expr) -> Expr) {
        for arg in &mut self.args {
            match arg {
                Arg::Tensor(t) => t.ty.map_exprs(map),
                Arg::Tensors(list) => list.iter_mut().flatten().for_each(|t| t.ty.map_exprs(map)),
                Arg::Number(n) => n.map_exprs(map),
                Arg::Ints(list) => list.iter_mut().for_each(|e| *e = map(*e)),
                Arg::Numbers(list) => list.iter_mut().for_each(|n| n.map_exprs(map)),
                Arg::Absent | Arg::None | Arg::Str(_) | Arg::Strs(_) | Arg::DType(_) => {}
            }
        }
        for result in &mut self.results {
            if let ResultType::Tensor(ty) = result {
                ty.map_exprs(map);
            }
        }
    }
}

impl TensorType {
    fn map_exprs(&mut self, map: &mut dyn FnMut(Expr) -> Expr) {
        for e in self.shape.iter_mut().chain(&mut self.strides).chain([&mut self.offset]) {
            *e = map(*e);
        }
    }
}

impl Number {
    fn map_exprs(&mut self, map: &mut dyn FnMut(Expr) -> Expr) {
        if let Number::Int(e) = self {
            *e = map(*e);
        }
    }
}
