//! Scaled dot-product attention on CPU: softmax(scale Q Kᵀ + mask) V, block of queries by block of queries.

use super::call::Call;
use super::gemm::{Number, Sizes, gemm};
use crate::runtime::error::Result;
use crate::runtime::tensor::Tensor;
use rayon::prelude::*;
use rinductor_scalar::DType;

/// Queries that one task takes.
const QUERIES: usize = 64;

/// What attention needs of a float beyond products.
pub trait Real: Number + PartialOrd + std::ops::Sub<Output = Self> + std::ops::Div<Output = Self> {
    /// Minus infinity.
    const LOWEST: Self;
    /// e to the x.
    fn exp(self) -> Self;
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// The nearest value.
    fn from_f64(x: f64) -> Self;
}

impl Real for f32 {
    const LOWEST: f32 = f32::NEG_INFINITY;
    fn exp(self) -> f32 {
        f32::exp(self)
    }
    fn ln(self) -> f32 {
        f32::ln(self)
    }
    fn from_f64(x: f64) -> f32 {
        x as f32
    }
}

impl Real for f64 {
    const LOWEST: f64 = f64::NEG_INFINITY;
    fn exp(self) -> f64 {
        f64::exp(self)
    }
    fn ln(self) -> f64 {
        f64::ln(self)
    }
    fn from_f64(x: f64) -> f64 {
        x
    }
}

/// Sizes of an attention: queries are batch x heads x queries x width, keys and values batch x heads x keys x width.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Batch size.
    pub batch: usize,
    /// Heads.
    pub heads: usize,
    /// Queries of a head.
    pub queries: usize,
    /// Keys of a head.
    pub keys: usize,
    /// Numbers of a query.
    pub width: usize,
}

/// The arguments forward and backward have in common.
pub struct Setting {
    /// The sizes.
    pub shape: Shape,
    /// What the products are multiplied with.
    pub scale: f64,
    /// Whether query i sees keys up to i only.
    pub causal: bool,
    /// What is added to the products, expanded to batch x heads x queries x keys, in the compute type.
    pub mask: Option<Tensor>,
    /// The type the work is done in.
    pub dtype: DType,
}

impl Setting {
    /// Checks the operands and reads the attributes. `mask` is the position of the mask among the operands.
    pub fn read(call: &Call<'_>, q: &Tensor, k: &Tensor, v: &Tensor, mask: usize) -> Result<Setting> {
        let [batch, heads, queries, width] = *q.sizes() else {
            return Err(call.error(format!("query has sizes {:?}, not 4 dimensions", q.sizes())));
        };
        let keys = k.sizes().get(2).copied().unwrap_or(0);
        let fits = [batch, heads, keys, width];
        if k.sizes() != fits || v.sizes() != fits {
            return Err(call.error(format!(
                "query {:?}, key {:?} and value {:?} do not fit",
                q.sizes(),
                k.sizes(),
                v.sizes()
            )));
        }
        if !q.dtype().is_float() || k.dtype() != q.dtype() || v.dtype() != q.dtype() {
            return Err(call.error("query, key and value must have one float type"));
        }
        if call.attrs.float("dropout_p").unwrap_or(0.0) != 0.0 {
            return Err(call.error("dropout_p must be 0"));
        }
        let dtype = if q.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
        let mask = match call.optional(mask) {
            None => None,
            Some(mask) => Some(additive(mask, dtype)?.expand(&[batch, heads, queries, keys])?),
        };
        let scale = call.attrs.float("scale").unwrap_or(1.0 / (width as f64).sqrt());
        let causal = call.attrs.bool("is_causal").unwrap_or(false);
        Ok(Setting { shape: Shape { batch, heads, queries, keys, width }, scale, causal, mask, dtype })
    }

    /// The strides of results of sizes batch x heads x n x width: heads next to each other within a position.
    pub fn strides(&self, n: usize) -> Vec<usize> {
        let Shape { heads, width, .. } = self.shape;
        vec![(n * heads * width).max(1), width.max(1), (heads * width).max(1), 1]
    }
}

/// A mask as numbers to add: a truth value that is false forbids.
fn additive(mask: &Tensor, dtype: DType) -> Result<Tensor> {
    if !mask.dtype().is_bool() {
        return mask.to_dtype(dtype);
    }
    let values: Vec<f64> = mask.to_vec::<u8>()?.iter().map(|b| if *b == 0 { f64::NEG_INFINITY } else { 0.0 }).collect();
    let t = Tensor::zeros(dtype, mask.sizes())?;
    t.assign(&values)?;
    Ok(t)
}

/// The strides of rank 4 within a head: rows and columns.
pub fn rows(t: &Tensor) -> [usize; 3] {
    [0, t.strides()[2], t.strides()[3]]
}

/// Where head `head` of batch member `b` begins in a tensor of rank 4.
pub fn head_start(t: &Tensor, b: usize, head: usize) -> usize {
    b * t.strides()[0] + head * t.strides()[1]
}

/// From position `p` on; empty past the end.
pub fn from<T>(data: &[T], p: usize) -> &[T] {
    data.get(p..).unwrap_or(&[])
}

/// `scale q kᵀ + mask` for queries `first..first + n` of a head, as n rows of `keys` numbers; minus infinity where a
/// causal query does not see.
#[expect(clippy::too_many_arguments, reason = "the operands of one head, with where they begin")]
pub fn scores<T: Real>(
    s: &Setting,
    q: (&[T], &Tensor),
    k: (&[T], &Tensor),
    mask: Option<&[T]>,
    (b, head): (usize, usize),
    first: usize,
    n: usize,
    out: &mut [T],
) {
    let Shape { keys, width, .. } = s.shape;
    let q_at = head_start(q.1, b, head) + first * q.1.strides()[2];
    let [_, row, column] = rows(k.1);
    gemm(
        Sizes { batch: 1, m: n, n: keys, k: width },
        T::from_f64(s.scale),
        (from(q.0, q_at), rows(q.1)),
        (from(k.0, head_start(k.1, b, head)), [0, column, row]),
        T::default(),
        (out, [0, keys, 1]),
    );
    if let (Some(data), Some(mask)) = (mask, &s.mask) {
        let [_, row, column] = rows(mask);
        let at = head_start(mask, b, head) + first * row;
        for (i, line) in out.chunks_mut(keys).enumerate() {
            for (j, x) in line.iter_mut().enumerate() {
                *x = x.plus(data[at + i * row + j * column]);
            }
        }
    }
    if s.causal {
        for (i, line) in out.chunks_mut(keys).enumerate() {
            let sees = (first + i + 1).min(keys);
            line[sees..].fill(T::LOWEST);
        }
    }
}

/// Turns scores into weights that add up to 1, and gives the logarithm of the sum of exponentials. A row that sees
/// nothing gets weights 0 and, as in eager mode, the logarithm 0.
fn softmax<T: Real>(line: &mut [T]) -> T {
    let mut max = T::LOWEST;
    for x in line.iter() {
        // A NaN is never greater: it shows in the sum instead.
        if *x > max {
            max = *x;
        }
    }
    if max == T::LOWEST && line.iter().all(|x| *x == T::LOWEST) {
        line.fill(T::default());
        return T::default();
    }
    let mut sum = T::default();
    for x in line.iter_mut() {
        *x = (*x - max).exp();
        sum = sum.plus(*x);
    }
    let share = T::ONE / sum;
    for x in line.iter_mut() {
        *x = x.times(share);
    }
    max.plus(sum.ln())
}

/// A block's first query, its rows of the output, and its logarithms of sums.
type Block<T> = (usize, Vec<T>, Vec<T>);

fn typed<T: Real>(s: &Setting, q: &Tensor, k: &Tensor, v: &Tensor, out: &Tensor, lse: &Tensor) -> Result<()> {
    let Shape { batch, heads, queries, keys, width } = s.shape;
    let blocks = queries.div_ceil(QUERIES);
    let mask = s.mask.as_ref().map(|m| m.read::<T>()).transpose()?;
    let mask = mask.as_deref();
    let (qd, kd, vd) = (q.read::<T>()?, k.read::<T>()?, v.read::<T>()?);
    let (qd, kd, vd): (&[T], &[T], &[T]) = (&qd, &kd, &vd);
    let done: Vec<Block<T>> = (0..batch * heads * blocks)
        .into_par_iter()
        .map(|task| {
            let (which, block) = (task / blocks, task % blocks);
            let (b, head) = (which / heads, which % heads);
            let first = block * QUERIES;
            let n = QUERIES.min(queries - first);
            let mut weights = vec![T::default(); n * keys];
            if keys > 0 {
                scores(s, (qd, q), (kd, k), mask, (b, head), first, n, &mut weights);
            }
            let sums = (0..n).map(|i| softmax(&mut weights[i * keys..(i + 1) * keys])).collect();
            let mut rows_out = vec![T::default(); n * width];
            gemm(
                Sizes { batch: 1, m: n, n: width, k: keys },
                T::ONE,
                (&weights, [0, keys, 1]),
                (from(vd, head_start(v, b, head)), rows(v)),
                T::default(),
                (&mut rows_out, [0, width, 1]),
            );
            (task, rows_out, sums)
        })
        .collect();
    // One after the other, so that outputs of any layout are written safely; copying is little beside the products.
    let mut place = out.write::<T>()?;
    let mut place_sums = lse.write::<T>()?;
    for (task, rows_out, sums) in done {
        let (which, first) = (task / blocks, task % blocks * QUERIES);
        let (b, head) = (which / heads, which % heads);
        for (i, sum) in sums.iter().enumerate() {
            let t = lse.strides();
            place_sums[b * t[0] + head * t[1] + (first + i) * t[2]] = *sum;
            let at = head_start(out, b, head) + (first + i) * out.strides()[2];
            for (j, x) in rows_out[i * width..(i + 1) * width].iter().enumerate() {
                place[at + j * out.strides()[3]] = *x;
            }
        }
    }
    Ok(())
}

/// `_scaled_dot_product_flash_attention_for_cpu(query, key, value, dropout_p=0, is_causal=False, *, attn_mask=None,
/// scale=None) -> (output, logsumexp)`.
pub fn attention(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let (q, k, v) = (call.input(0, "query")?, call.input(1, "key")?, call.input(2, "value")?);
    let s = Setting::read(call, q, k, v, 3)?;
    let Shape { batch, heads, queries, .. } = s.shape;
    let out = call.output(0, q.dtype(), q.sizes(), &q.strides_like())?;
    let lse_strides = [(queries * heads).max(1), 1, heads.max(1)];
    let lse = call.output(1, s.dtype, &[batch, heads, queries], &lse_strides)?;
    let results = vec![Some(out.clone()), Some(lse.clone())];
    if out.numel() == 0 {
        return Ok(results);
    }
    if q.dtype() == DType::F64 {
        typed::<f64>(&s, q, k, v, &out, &lse)?;
    } else if q.dtype() == DType::F32 {
        typed::<f32>(&s, q, k, v, &out, &lse)?;
    } else {
        let (q, k, v) = (q.to_dtype(s.dtype)?, k.to_dtype(s.dtype)?, v.to_dtype(s.dtype)?);
        let wide = Tensor::zeros(s.dtype, out.sizes())?;
        typed::<f32>(&s, &q, &k, &v, &wide, &lse)?;
        out.copy_from(&wide)?;
    }
    Ok(results)
}
