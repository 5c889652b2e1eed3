//! The types of the expression language.

use std::fmt;

/// The type of an expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    /// Not known: an argument that the checker already complained about, or any value (`any`).
    Any,
    /// `none`.
    None,
    /// A truth value, known when the op is instantiated or (as a scalar) when it runs.
    Bool,
    /// An integer: a constant, a size expression, a coordinate.
    Int,
    /// A float constant.
    Float,
    /// An int, a float or a bool constant: PyTorch's `Scalar`.
    Number,
    /// A string.
    Str,
    /// A dtype.
    DType,
    /// A value that is computed when the op runs, at a point.
    Scalar,
    /// A tensor: it has sizes, and elements at points.
    Tensor,
    /// What `welford` gives: `.mean`, `.m2`, `.count`.
    Moments,
    /// A list.
    List(Box<Ty>),
    /// A value or `none`.
    Option(Box<Ty>),
    /// Several values.
    Tuple(Vec<Ty>),
    /// In signatures of functions: any type, the same at each place of one call.
    Var,
}

impl Ty {
    /// A list of `item`.
    pub fn list(item: Ty) -> Ty {
        Ty::List(Box::new(item))
    }
    /// `inner` or none.
    pub fn option(inner: Ty) -> Ty {
        match inner {
            Ty::Option(_) | Ty::None | Ty::Any => inner,
            other => Ty::Option(Box::new(other)),
        }
    }
    /// The type that a word names, as in `extern fn` and in the signatures of the functions.
    pub fn of_word(word: &str) -> Option<Ty> {
        Some(match word {
            "any" => Ty::Any,
            "none" => Ty::None,
            "bool" => Ty::Bool,
            "int" => Ty::Int,
            "float" => Ty::Float,
            "number" => Ty::Number,
            "str" => Ty::Str,
            "dtype" => Ty::DType,
            "scalar" => Ty::Scalar,
            "tensor" => Ty::Tensor,
            "moments" => Ty::Moments,
            "T" => Ty::Var,
            _ => return None,
        })
    }
    /// Whether it is a value that a scalar can be made of.
    pub fn is_scalar_like(&self) -> bool {
        matches!(self, Ty::Any | Ty::Bool | Ty::Int | Ty::Float | Ty::Number | Ty::Scalar)
    }
    /// Whether a value of this type can stand where `want` is asked for.
    pub fn fits(&self, want: &Ty) -> bool {
        match (self, want) {
            (Ty::Any, _) | (_, Ty::Any | Ty::Var) => true,
            (a, b) if a == b => true,
            (Ty::Int | Ty::Float | Ty::Bool, Ty::Number) => true,
            (Ty::Int, Ty::Float) => true,
            (Ty::Int | Ty::Float | Ty::Bool | Ty::Number, Ty::Scalar) => true,
            // A comparison of scalars is a bool that is known when the op runs.
            (Ty::Scalar, Ty::Bool) => true,
            // A number may turn out to be either; the evaluator says when it is not what is needed.
            (Ty::Number, Ty::Int | Ty::Float | Ty::Bool) => true,
            (Ty::None, Ty::Option(_)) => true,
            (Ty::Option(a), Ty::Option(b)) => a.fits(b),
            (a, Ty::Option(b)) => a.fits(b),
            (Ty::List(a), Ty::List(b)) => a.fits(b),
            (Ty::Tuple(a), Ty::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.fits(b)),
            _ => false,
        }
    }
    /// The type of a value that is one or the other, or None if there is no such type.
    pub fn join(&self, other: &Ty) -> Option<Ty> {
        Some(match (self, other) {
            (Ty::Any, other) | (other, Ty::Any) => other.clone(),
            (Ty::None, other) | (other, Ty::None) => Ty::option(other.clone()),
            (Ty::Option(a), b) | (b, Ty::Option(a)) => {
                let b = if let Ty::Option(b) = b { b } else { b };
                Ty::option(a.join(b)?)
            }
            (Ty::List(a), Ty::List(b)) => Ty::list(a.join(b)?),
            (Ty::Tuple(a), Ty::Tuple(b)) if a.len() == b.len() => {
                Ty::Tuple(a.iter().zip(b).map(|(a, b)| a.join(b)).collect::<Option<_>>()?)
            }
            (a, b) if a == b => a.clone(),
            (a, b) if *a == Ty::Scalar && b.is_scalar_like() || *b == Ty::Scalar && a.is_scalar_like() => Ty::Scalar,
            (Ty::Int | Ty::Float | Ty::Number | Ty::Bool, Ty::Int | Ty::Float | Ty::Number | Ty::Bool) => Ty::Number,
            _ => return None,
        })
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ty::Any => f.write_str("any"),
            Ty::None => f.write_str("none"),
            Ty::Bool => f.write_str("bool"),
            Ty::Int => f.write_str("int"),
            Ty::Float => f.write_str("float"),
            Ty::Number => f.write_str("number"),
            Ty::Str => f.write_str("str"),
            Ty::DType => f.write_str("dtype"),
            Ty::Scalar => f.write_str("scalar"),
            Ty::Tensor => f.write_str("tensor"),
            Ty::Moments => f.write_str("moments"),
            Ty::Var => f.write_str("T"),
            Ty::List(item) => write!(f, "{item}[]"),
            Ty::Option(item) => write!(f, "{item}?"),
            Ty::Tuple(items) => {
                f.write_str("(")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str(")")
            }
        }
    }
}
