//! Products of matrices and vectors: `mm`, `addmm`, `bmm`, `baddbmm`, `mv`, `addmv`, `dot`, `vdot`.

use super::call::Call;
use super::gemm::{Number, Sizes, gemm, is_injective};
use crate::runtime::error::Result;
use crate::runtime::tensor::Tensor;
use num_complex::Complex;
use rinductor_scalar::{DType, Kind, Scalar};

/// The terms of `alpha * a @ b + beta * start`, all of rank 3, `start` broadcast.
struct Product<'a> {
    a: &'a Tensor,
    b: &'a Tensor,
    start: Option<(&'a Tensor, Scalar)>,
    alpha: Scalar,
}

/// The type a product is computed in: small floats in 32 bits, integers in 64.
fn compute_type(call: &Call<'_>, dtype: DType) -> Result<DType> {
    Ok(match dtype.kind() {
        Kind::Bool => return Err(call.error("there are no products of truth values")),
        Kind::Signed | Kind::Unsigned => DType::I64,
        Kind::Float if dtype == DType::F64 => DType::F64,
        Kind::Float => DType::F32,
        Kind::Complex => dtype,
    })
}

fn three(t: &Tensor) -> [usize; 3] {
    let s = t.strides();
    [s[0], s[1], s[2]]
}

fn typed<T: Number>(p: &Product<'_>, out: &Tensor) -> Result<()> {
    let beta = match p.start {
        Some((start, beta)) if beta.is_true() => {
            out.copy_from(start)?;
            T::from_scalar(beta)
        }
        // With beta = 0 what is in `start` does not count, be it NaN.
        _ => T::default(),
    };
    let sizes = Sizes { batch: out.sizes()[0], m: out.sizes()[1], n: out.sizes()[2], k: p.a.sizes()[2] };
    let (a, b) = (p.a.read::<T>()?, p.b.read::<T>()?);
    let mut c = out.write::<T>()?;
    gemm(sizes, T::from_scalar(p.alpha), (&a, three(p.a)), (&b, three(p.b)), beta, (&mut c, three(out)));
    Ok(())
}

fn dispatch(p: &Product<'_>, dtype: DType, out: &Tensor) -> Result<()> {
    match dtype {
        DType::F32 => typed::<f32>(p, out),
        DType::F64 => typed::<f64>(p, out),
        DType::C64 => typed::<Complex<f32>>(p, out),
        DType::C128 => typed::<Complex<f64>>(p, out),
        _ => typed::<i64>(p, out),
    }
}

/// Computes a product of rank 3 into `out`.
fn compute(call: &Call<'_>, p: &Product<'_>, out: &Tensor) -> Result<()> {
    let [batch, m, k] = [p.a.sizes()[0], p.a.sizes()[1], p.a.sizes()[2]];
    if p.b.sizes()[0] != batch || p.b.sizes()[1] != k {
        return Err(call.error(format!("the sizes {:?} and {:?} do not fit", p.a.sizes(), p.b.sizes())));
    }
    if p.b.dtype() != p.a.dtype() || p.start.is_some_and(|(t, _)| t.dtype() != p.a.dtype()) {
        return Err(call.error(format!("the types {} and {} differ", p.a.dtype(), p.b.dtype())));
    }
    if let Some((start, _)) = p.start {
        // An error here says what does not fit before anything is computed.
        start.expand(&[batch, m, p.b.sizes()[2]])?;
    }
    let dtype = compute_type(call, p.a.dtype())?;
    if dtype == p.a.dtype() && out.dtype() == dtype && is_injective(out.sizes(), out.strides()) {
        return dispatch(p, dtype, out);
    }
    let (a, b) = (p.a.to_dtype(dtype)?, p.b.to_dtype(dtype)?);
    let start = p.start.map(|(t, beta)| t.to_dtype(dtype).map(|t| (t, beta))).transpose()?;
    let wide = Tensor::zeros(dtype, out.sizes())?;
    let start = start.as_ref().map(|(t, beta)| (t, *beta));
    dispatch(&Product { a: &a, b: &b, start, alpha: p.alpha }, dtype, &wide)?;
    out.copy_from(&wide)
}

/// The tensor with a dimension of size 1 put at `dim`.
fn unsqueeze(t: &Tensor, dim: usize) -> Result<Tensor> {
    let (mut sizes, mut strides) = (t.sizes().to_vec(), t.strides().to_vec());
    sizes.insert(dim, 1);
    strides.insert(dim, 1);
    t.as_strided(&sizes, &strides, t.offset())
}

/// alpha and beta; 1 where not given.
fn factor(call: &Call<'_>, name: &str) -> Scalar {
    call.attrs.number(name).unwrap_or(Scalar::i64(1))
}

/// `mm(self, mat2)`.
pub fn mm(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let (a, b) = (call.input_of_rank(0, "self", 2)?, call.input_of_rank(1, "mat2", 2)?);
    let out = call.output_contiguous(0, a.dtype(), &[a.sizes()[0], b.sizes()[1]])?;
    let p = Product { a: &unsqueeze(a, 0)?, b: &unsqueeze(b, 0)?, start: None, alpha: Scalar::i64(1) };
    compute(call, &p, &unsqueeze(&out, 0)?)?;
    Ok(vec![Some(out)])
}

/// `_int_mm(self, mat2)`: 8-bit integers, 32-bit sums.
pub fn int_mm(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let (a, b) = (call.input_of_rank(0, "self", 2)?, call.input_of_rank(1, "mat2", 2)?);
    let out = call.output_contiguous(0, DType::I32, &[a.sizes()[0], b.sizes()[1]])?;
    let p = Product { a: &unsqueeze(a, 0)?, b: &unsqueeze(b, 0)?, start: None, alpha: Scalar::i64(1) };
    compute(call, &p, &unsqueeze(&out, 0)?)?;
    Ok(vec![Some(out)])
}

/// `addmm(self, mat1, mat2, *, beta=1, alpha=1)`.
pub fn addmm(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let (start, a, b) = (call.input(0, "self")?, call.input_of_rank(1, "mat1", 2)?, call.input_of_rank(2, "mat2", 2)?);
    let out = call.output_contiguous(0, a.dtype(), &[a.sizes()[0], b.sizes()[1]])?;
    let p = Product {
        a: &unsqueeze(a, 0)?,
        b: &unsqueeze(b, 0)?,
        start: Some((start, factor(call, "beta"))),
        alpha: factor(call, "alpha"),
    };
    compute(call, &p, &unsqueeze(&out, 0)?)?;
    Ok(vec![Some(out)])
}

/// `bmm(self, mat2)`.
pub fn bmm(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let (a, b) = (call.input_of_rank(0, "self", 3)?, call.input_of_rank(1, "mat2", 3)?);
    let out = call.output_contiguous(0, a.dtype(), &[a.sizes()[0], a.sizes()[1], b.sizes()[2]])?;
    compute(call, &Product { a, b, start: None, alpha: Scalar::i64(1) }, &out)?;
    Ok(vec![Some(out)])
}

/// `baddbmm(self, batch1, batch2, *, beta=1, alpha=1)`.
pub fn baddbmm(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let start = call.input(0, "self")?;
    let (a, b) = (call.input_of_rank(1, "batch1", 3)?, call.input_of_rank(2, "batch2", 3)?);
    let out = call.output_contiguous(0, a.dtype(), &[a.sizes()[0], a.sizes()[1], b.sizes()[2]])?;
    let p = Product { a, b, start: Some((start, factor(call, "beta"))), alpha: factor(call, "alpha") };
    compute(call, &p, &out)?;
    Ok(vec![Some(out)])
}

/// `mv(self, vec)`.
pub fn mv(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let (a, x) = (call.input_of_rank(0, "self", 2)?, call.input_of_rank(1, "vec", 1)?);
    let out = call.output_contiguous(0, a.dtype(), &[a.sizes()[0]])?;
    let x = unsqueeze(&unsqueeze(x, 1)?, 0)?;
    let p = Product { a: &unsqueeze(a, 0)?, b: &x, start: None, alpha: Scalar::i64(1) };
    compute(call, &p, &unsqueeze(&unsqueeze(&out, 1)?, 0)?)?;
    Ok(vec![Some(out)])
}

/// `addmv(self, mat, vec, *, beta=1, alpha=1)`.
pub fn addmv(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let (start, a, x) = (call.input(0, "self")?, call.input_of_rank(1, "mat", 2)?, call.input_of_rank(2, "vec", 1)?);
    let out = call.output_contiguous(0, a.dtype(), &[a.sizes()[0]])?;
    let start = unsqueeze(start, start.rank())?;
    let x = unsqueeze(&unsqueeze(x, 1)?, 0)?;
    let p = Product {
        a: &unsqueeze(a, 0)?,
        b: &x,
        start: Some((&start, factor(call, "beta"))),
        alpha: factor(call, "alpha"),
    };
    compute(call, &p, &unsqueeze(&unsqueeze(&out, 1)?, 0)?)?;
    Ok(vec![Some(out)])
}

/// `dot(self, tensor)`.
pub fn dot(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let (x, y) = (call.input_of_rank(0, "self", 1)?, call.input_of_rank(1, "tensor", 1)?);
    inner(call, x, y)
}

/// `vdot(self, other)`: the conjugate of the first vector.
pub fn vdot(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let (x, y) = (call.input_of_rank(0, "self", 1)?, call.input_of_rank(1, "other", 1)?);
    if !x.dtype().is_complex() {
        return inner(call, x, y);
    }
    let conjugates: Vec<Complex<f64>> = x.to_vec::<Complex<f64>>()?.iter().map(Complex::conj).collect();
    let turned = Tensor::zeros(x.dtype(), x.sizes())?;
    turned.assign(&conjugates)?;
    inner(call, &turned, y)
}

fn inner(call: &Call<'_>, x: &Tensor, y: &Tensor) -> Result<Vec<Option<Tensor>>> {
    let out = call.output_contiguous(0, x.dtype(), &[])?;
    let a = unsqueeze(&unsqueeze(x, 0)?, 0)?;
    let b = unsqueeze(&unsqueeze(y, 1)?, 0)?;
    let place = out.as_strided(&[1, 1, 1], &[1, 1, 1], out.offset())?;
    compute(call, &Product { a: &a, b: &b, start: None, alpha: Scalar::i64(1) }, &place)?;
    Ok(vec![Some(out)])
}
