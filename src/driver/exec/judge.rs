//! Whether what came out of a run is what must: types, sizes, layouts, and elements within a tolerance or bit for bit.

use super::line::{Literal, Number};
use crate::driver::reference::Argument;
use crate::runtime::Tensor;
use crate::runtime::compare::compare_tensors;
use crate::scalar::{DType, Scalar};

/// How near elements must be.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tolerance {
    /// Bit for bit; any NaN is a NaN.
    pub exact: bool,
    /// Relative, where it is not that of the type.
    pub rtol: Option<f64>,
    /// Absolute, where it is not that of the type.
    pub atol: Option<f64>,
}

impl Tolerance {
    /// Relative and absolute tolerance for an element type: without others, those of PyTorch's `assert_close`.
    fn of(self, dtype: DType) -> (f64, f64) {
        let (rtol, atol) = match dtype {
            DType::F32 | DType::C64 => (1.3e-6, 1e-5),
            DType::F64 | DType::C128 => (1e-7, 1e-7),
            DType::F16 => (1e-3, 1e-5),
            DType::BF16 => (1.6e-2, 1e-5),
            // One unit in the last place.
            DType::F8E4M3FN => (0.125, 0.001_953_125),
            DType::F8E5M2 => (0.25, 0.000_015_258_789_062_5),
            _ => (0.0, 0.0),
        };
        (self.rtol.unwrap_or(rtol), self.atol.unwrap_or(atol))
    }
}

/// The tensor that a literal is.
///
/// # Errors
/// A number that the type has not: a sentence.
pub fn tensor(literal: &Literal, dtype: DType) -> Result<Tensor, String> {
    let width = dtype.size();
    let mut bytes = vec![0; width * literal.numbers.len()];
    for (number, place) in literal.numbers.iter().zip(bytes.chunks_exact_mut(width)) {
        let scalar = match *number {
            Number::Int(n) => {
                let scalar = Scalar::from_i64(dtype, n);
                if !dtype.is_float() && !dtype.is_complex() && scalar.to_i64() != n {
                    return Err(format!("{n} is not in the range of {dtype}"));
                }
                scalar
            }
            Number::Float(x) if dtype.is_float() || dtype.is_complex() => {
                let scalar = Scalar::from_f64(dtype, x);
                if x.is_finite() && dtype.is_float() && !scalar.to_f64().is_finite() {
                    return Err(format!("{x:?} is not in the range of {dtype}"));
                }
                scalar
            }
            Number::Float(x) => return Err(format!("{x:?} is no {dtype}")),
        };
        scalar.write_le(place);
    }
    Tensor::from_le_bytes(dtype, &literal.sizes, &bytes).map_err(|e| e.to_string())
}

/// Holds one value against what it must be. Gives the greatest difference, or what is wrong in a sentence. Layouts are compared with
/// `layout`.
///
/// # Errors
/// They differ.
pub fn hold(got: &Argument, want: &Argument, tolerance: Tolerance, layout: bool) -> Result<f64, String> {
    match (got, want) {
        (Argument::Tensor(got), Argument::Tensor(want)) => hold_tensors(got, want, tolerance, layout),
        (Argument::Int(got), Argument::Int(want)) if got == want => Ok(0.0),
        (Argument::None, Argument::None) => Ok(0.0),
        _ => Err(format!("{} instead of {}", show(got), show(want))),
    }
}

fn hold_tensors(got: &Tensor, want: &Tensor, tolerance: Tolerance, layout: bool) -> Result<f64, String> {
    let error = |e: crate::runtime::RuntimeError| e.to_string();
    // `[]` is what has no elements, whatever its sizes: they cannot be written.
    let nothing = !layout && want.sizes() == [0] && got.numel() == 0 && got.dtype() == want.dtype();
    if nothing {
        return Ok(0.0);
    }
    if (got.dtype(), got.sizes()) != (want.dtype(), want.sizes()) {
        return Err(format!("{}{:?} instead of {}{:?}", got.dtype(), got.sizes(), want.dtype(), want.sizes()));
    }
    let matters = |d: &usize| got.sizes()[*d] > 1;
    let same = |d: usize| got.strides()[d] == want.strides()[d];
    if layout && got.numel() > 0 && !(0..got.rank()).filter(matters).all(same) {
        return Err(format!("strides {:?} instead of {:?}", got.strides(), want.strides()));
    }
    if tolerance.exact {
        let (a, b) = (got.to_le_bytes().map_err(error)?, want.to_le_bytes().map_err(error)?);
        let width = got.dtype().size();
        let pairs = a.chunks_exact(width).zip(b.chunks_exact(width)).enumerate();
        let float = got.dtype().is_float();
        let is_nan = |bytes: &[u8]| float && Scalar::read_le(got.dtype(), bytes).is_some_and(|s| s.to_f64().is_nan());
        let wrong: Vec<usize> = pairs.filter(|(_, (x, y))| x != y && !(is_nan(x) && is_nan(y))).map(|p| p.0).collect();
        return match wrong.first() {
            None => Ok(0.0),
            Some(&at) => Err(difference(got, want, at, wrong.len(), None)),
        };
    }
    let (rtol, atol) = tolerance.of(want.dtype());
    let distance = compare_tensors(got, want, rtol, atol).map_err(error)?;
    match distance.beyond {
        0 => Ok(distance.max_abs),
        n => Err(difference(got, want, distance.at, n, Some((rtol, atol)))),
    }
}

/// `3.5 instead of 3.0 at [1, 2]; 4 of 12 elements are beyond rtol 1e-5, atol 1e-6`.
fn difference(got: &Tensor, want: &Tensor, at: usize, count: usize, tolerance: Option<(f64, f64)>) -> String {
    let mut index = vec![0; got.rank()];
    let mut rest = at;
    for d in (0..got.rank()).rev() {
        (index[d], rest) = (rest % got.sizes()[d], rest / got.sizes()[d]);
    }
    let element = |t: &Tensor| t.get(&index).map_or_else(|e| e.to_string(), |s| s.to_string());
    let beyond = match tolerance {
        Some((rtol, atol)) => format!("are beyond rtol {rtol:e}, atol {atol:e}"),
        None => "differ".to_string(),
    };
    format!("{} instead of {} at {index:?}; {count} of {} elements {beyond}", element(got), element(want), got.numel())
}

fn show(a: &Argument) -> String {
    match a {
        Argument::Tensor(t) => format!("{}{:?}", t.dtype(), t.sizes()),
        Argument::Int(n) => n.to_string(),
        Argument::None => "None".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(dtype: DType, numbers: &[Number]) -> Argument {
        let literal = Literal { sizes: vec![numbers.len()], numbers: numbers.to_vec() };
        Argument::Tensor(tensor(&literal, dtype).unwrap())
    }

    #[test]
    fn differences_are_said() {
        let floats = |list: &[f64]| of(DType::F32, &list.iter().map(|&x| Number::Float(x)).collect::<Vec<_>>());
        let near = Tolerance::default();
        let exact = Tolerance { exact: true, ..near };
        let (a, b) = (floats(&[0.0, f64::NAN, 1.0]), floats(&[-0.0, f64::NAN, 1.000001]));
        assert!(hold(&a, &b, near, true).unwrap() > 0.0);
        assert_eq!(hold(&a, &b, exact, true).unwrap_err(), "0.0 instead of -0.0 at [0]; 2 of 3 elements differ");
        assert_eq!(hold(&a, &a, exact, true), Ok(0.0));
        let wrong = hold(&floats(&[f64::NAN]), &floats(&[1.0]), near, true).unwrap_err();
        assert_eq!(wrong, "NaN instead of 1.0 at [0]; 1 of 1 elements are beyond rtol 1.3e-6, atol 1e-5");
        assert_eq!(hold(&a, &of(DType::I32, &[Number::Int(1)]), near, true).unwrap_err(), "f32[3] instead of i32[1]");
        assert_eq!(hold(&Argument::Int(1), &Argument::None, near, true).unwrap_err(), "1 instead of None");
    }

    #[test]
    fn numbers_must_fit_the_type() {
        let one = |n| Literal { sizes: vec![], numbers: vec![n] };
        assert_eq!(tensor(&one(Number::Int(300)), DType::U8).unwrap_err(), "300 is not in the range of ui8");
        assert_eq!(tensor(&one(Number::Float(1.5)), DType::I64).unwrap_err(), "1.5 is no i64");
        assert_eq!(tensor(&one(Number::Float(1e39)), DType::F32).unwrap_err(), "1e39 is not in the range of f32");
        assert!(tensor(&one(Number::Int(3)), DType::F16).is_ok());
        assert!(tensor(&one(Number::Float(f64::INFINITY)), DType::F16).is_ok());
    }

    #[test]
    fn an_empty_list_is_any_tensor_without_elements() {
        let empty = |sizes: &[usize]| Argument::Tensor(Tensor::zeros(DType::F32, sizes).unwrap());
        let exact = Tolerance { exact: true, ..Tolerance::default() };
        assert_eq!(hold(&empty(&[0, 3]), &empty(&[0]), exact, false), Ok(0.0));
        assert!(hold(&empty(&[0, 3]), &empty(&[0]), exact, true).is_err());
        assert!(hold(&of(DType::F32, &[Number::Int(1)]), &empty(&[0]), exact, false).is_err());
    }
}
