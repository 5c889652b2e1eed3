//! The functions by which the conditions of rules ask about the graph. Rules declare them with `extern fn`:
//!
//! | function | says |
//! |---|---|
//! | `is_argument(tensor) -> bool` | the tensor is an argument of the function |
//! | `rounded(number, dtype) -> number` | the number as an element of that type |
//! | `holds_all(dtype, dtype) -> bool` | every value of the first type is one of the second |

use crate::ir::{Def, Ir, Value};
use rinductor_defs::eval::TensorSource;
use rinductor_defs::{Externs, Source, Value as Known};
use rinductor_index::Exprs;
use rinductor_scalar::{DType, Kind, Scalar};

/// Runs `f` with the arena of a graph and functions that ask about it. The arena is taken out of the graph meanwhile, so that both can be used.
pub fn with_graph<T>(ir: &mut Ir, slots: &[Value], f: impl FnOnce(&mut Exprs, &dyn Externs) -> T) -> T {
    let mut exprs = std::mem::take(&mut ir.exprs);
    let result = f(&mut exprs, &Graph { ir, slots });
    ir.exprs = exprs;
    result
}

struct Graph<'a> {
    ir: &'a Ir,
    slots: &'a [Value],
}

impl Graph<'_> {
    fn tensor(&self, value: &Known) -> Result<Value, String> {
        match value {
            Known::Tensor(t) => match &t.source {
                TensorSource::Source(Source::Operand(k)) => self.slots.get(*k).copied(),
                _ => None,
            },
            _ => None,
        }
        .ok_or_else(|| format!("{} is no tensor of the graph", value.kind()))
    }
}

impl Externs for Graph<'_> {
    fn call(&self, name: &str, args: &[Known], exprs: &mut Exprs) -> Option<Result<Known, String>> {
        Some(match (name, args) {
            ("is_argument", [t]) => self.tensor(t).map(|v| Known::Bool(matches!(self.ir.def(v), Def::Arg(..)))),
            ("rounded", [number, Known::DType(d)]) => rounded(number, *d, exprs),
            ("holds_all", [Known::DType(from), Known::DType(to)]) => Ok(Known::Bool(holds_all(*from, *to))),
            _ => return None,
        })
    }
}

fn rounded(number: &Known, dtype: DType, exprs: &mut Exprs) -> Result<Known, String> {
    let scalar = match number {
        Known::Int(e) => Scalar::from_i64(dtype, exprs.as_int(*e).ok_or("the number is not known")?),
        Known::Float(x) => Scalar::from_f64(dtype, *x),
        Known::Bool(b) => Scalar::from_i64(dtype, i64::from(*b)),
        other => return Err(format!("{} is no number", other.kind())),
    };
    Ok(match dtype.kind() {
        Kind::Bool => Known::Bool(scalar.is_true()),
        Kind::Signed | Kind::Unsigned => Known::Int(exprs.int(scalar.to_i64())),
        Kind::Float => Known::Float(scalar.to_f64()),
        Kind::Complex => return Err("complex numbers are no numbers of the language".into()),
    })
}

/// Whether every value of a type is a value of another: a conversion there and back changes nothing.
pub fn holds_all(from: DType, to: DType) -> bool {
    use DType::*;
    if from == to {
        return true;
    }
    match (from, to) {
        (I1, _) => true,
        (_, I1) => false,
        (F16 | BF16, F32) | (F16 | BF16 | F32, F64) | (F8E4M3FN | F8E5M2, F16 | BF16 | F32 | F64) => true,
        (C64, C128) | (F16 | BF16 | F32, C64) | (F16 | BF16 | F32 | F64, C128) => true,
        (U8 | I8, F16 | BF16 | F32 | F64 | C64 | C128) => true,
        (I16, F32 | F64 | C64 | C128) | (I32, F64 | C128) => true,
        (U8, I16 | I32 | I64 | Index)
        | (I8, I16 | I32 | I64 | Index)
        | (I16, I32 | I64 | Index)
        | (I32, I64 | Index) => true,
        (I64, Index) | (Index, I64) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By trial: every value of the small types, there and back.
    #[test]
    fn what_is_held_comes_back() {
        for from in
            [DType::I1, DType::U8, DType::I8, DType::I16, DType::F16, DType::BF16, DType::F8E4M3FN, DType::F8E5M2]
        {
            for to in DType::ALL {
                let all = (0..1u128 << (from.size() * 8)).all(|bits| {
                    let x = Scalar::from_bits(from, bits);
                    x.is_nan()
                        || x.cast(to).cast(from) == x && x.cast(to).is_true() == x.is_true()
                        || from == DType::I1 && bits > 1
                });
                if holds_all(from, to) {
                    assert!(all, "{from} in {to}");
                }
            }
        }
    }
}
