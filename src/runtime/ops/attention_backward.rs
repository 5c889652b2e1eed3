//! The gradients of scaled dot-product attention.

use super::attention::{Real, Setting, Shape, from, head_start, rows, scores};
use super::call::Call;
use super::gemm::{Sizes, gemm};
use crate::runtime::error::Result;
use crate::runtime::tensor::Tensor;
use rayon::prelude::*;
use rinductor_scalar::DType;

/// The operands, of rank 4 but the last, in the compute type.
struct Operands<'a> {
    grad: &'a Tensor,
    q: &'a Tensor,
    k: &'a Tensor,
    v: &'a Tensor,
    out: &'a Tensor,
    lse: &'a Tensor,
}

/// The gradients of queries, keys and values of one head, row-major.
type HeadGradients<T> = [Vec<T>; 3];

/// With P = exp(S - lse) and δ = rowsum(dO O): dV = Pᵀ dO, dS = P (dO Vᵀ - δ) scale, dQ = dS K, dK = dSᵀ Q.
fn typed<T: Real>(s: &Setting, o: &Operands<'_>, results: [&Tensor; 3]) -> Result<()> {
    let Shape { batch, heads, queries, keys, width } = s.shape;
    let mask = s.mask.as_ref().map(|m| m.read::<T>()).transpose()?;
    let mask = mask.as_deref();
    let guards = (o.grad.read::<T>()?, o.q.read::<T>()?, o.k.read::<T>()?, o.v.read::<T>()?);
    let (grad, q, k, v): (&[T], &[T], &[T], &[T]) = (&guards.0, &guards.1, &guards.2, &guards.3);
    let guards = (o.out.read::<T>()?, o.lse.read::<T>()?);
    let (out, lse): (&[T], &[T]) = (&guards.0, &guards.1);
    let product = |m, n, k| Sizes { batch: 1, m, n, k };
    let (zero, scale) = (T::default(), T::from_f64(s.scale));
    let done: Vec<HeadGradients<T>> = (0..batch * heads)
        .into_par_iter()
        .map(|which| {
            let (b, head) = (which / heads, which % heads);
            let at = |t: &Tensor| head_start(t, b, head);
            let mut p = vec![zero; queries * keys];
            scores(s, (q, o.q), (k, o.k), mask, (b, head), 0, queries, &mut p);
            for (i, line) in p.chunks_mut(keys).enumerate() {
                let t = o.lse.strides();
                let sum = lse[b * t[0] + head * t[1] + i * t[2]];
                for x in line {
                    // A query that sees nothing has no weights.
                    *x = if *x == T::LOWEST { zero } else { (*x - sum).exp() };
                }
            }
            let mut dv = vec![zero; keys * width];
            let grad_head = (from(grad, at(o.grad)), rows(o.grad));
            gemm(product(keys, width, queries), T::ONE, (&p, [0, 1, keys]), grad_head, zero, (&mut dv, [0, width, 1]));
            let mut ds = vec![zero; queries * keys];
            let [_, row, column] = rows(o.v);
            let turned = (from(v, at(o.v)), [0, column, row]);
            gemm(product(queries, keys, width), T::ONE, grad_head, turned, zero, (&mut ds, [0, keys, 1]));
            for i in 0..queries {
                let (g, y) = (at(o.grad) + i * o.grad.strides()[2], at(o.out) + i * o.out.strides()[2]);
                let delta = (0..width).fold(zero, |sum, j| {
                    sum.plus(grad[g + j * o.grad.strides()[3]].times(out[y + j * o.out.strides()[3]]))
                });
                for (d, w) in ds[i * keys..(i + 1) * keys].iter_mut().zip(&p[i * keys..]) {
                    *d = w.times(*d - delta);
                }
            }
            let mut dq = vec![zero; queries * width];
            let k_head = (from(k, at(o.k)), rows(o.k));
            gemm(product(queries, width, keys), scale, (&ds, [0, keys, 1]), k_head, zero, (&mut dq, [0, width, 1]));
            let mut dk = vec![zero; keys * width];
            let q_head = (from(q, at(o.q)), rows(o.q));
            gemm(product(keys, width, queries), scale, (&ds, [0, 1, keys]), q_head, zero, (&mut dk, [0, width, 1]));
            [dq, dk, dv]
        })
        .collect();
    for (which, gradients) in done.into_iter().enumerate() {
        for (gradient, result) in gradients.into_iter().zip(results) {
            let head = result.select(0, which / heads)?.select(0, which % heads)?;
            head.assign(&gradient)?;
        }
    }
    Ok(())
}

/// `_scaled_dot_product_flash_attention_for_cpu_backward(grad_out, query, key, value, out, logsumexp, dropout_p,
/// is_causal, *, attn_mask=None, scale=None) -> (grad_query, grad_key, grad_value)`.
pub fn attention_backward(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let grad = call.input(0, "grad_out")?;
    let (q, k, v) = (call.input(1, "query")?, call.input(2, "key")?, call.input(3, "value")?);
    let (out, lse) = (call.input(4, "out")?, call.input_of_rank(5, "logsumexp", 3)?);
    let s = Setting::read(call, q, k, v, 6)?;
    let Shape { batch, heads, queries, keys, .. } = s.shape;
    if grad.sizes() != q.sizes() || out.sizes() != q.sizes() || lse.sizes() != [batch, heads, queries] {
        return Err(call.error(format!("grad_out {grad:?}, out {out:?} and logsumexp {lse:?} do not fit the query")));
    }
    let results = [
        call.output(0, q.dtype(), q.sizes(), &s.strides(queries))?,
        call.output(1, k.dtype(), k.sizes(), &s.strides(keys))?,
        call.output(2, v.dtype(), v.sizes(), &s.strides(keys))?,
    ];
    if q.numel() == 0 || k.numel() == 0 {
        for r in &results {
            r.copy_from(&Tensor::zeros(r.dtype(), &[])?)?;
        }
        return Ok(results.into_iter().map(Some).collect());
    }
    let [dq, dk, dv] = &results;
    let lse = &lse.to_dtype(s.dtype)?;
    if q.dtype() == s.dtype && grad.dtype() == s.dtype && out.dtype() == s.dtype {
        let o = Operands { grad, q, k, v, out, lse };
        match s.dtype {
            DType::F64 => typed::<f64>(&s, &o, [dq, dk, dv])?,
            _ => typed::<f32>(&s, &o, [dq, dk, dv])?,
        }
    } else {
        let wide = |t: &Tensor| t.to_dtype(s.dtype);
        let (grad, q, k, v, out) = (&wide(grad)?, &wide(q)?, &wide(k)?, &wide(v)?, &wide(out)?);
        let o = Operands { grad, q, k, v, out, lse };
        match s.dtype {
            DType::F64 => typed::<f64>(&s, &o, [dq, dk, dv])?,
            _ => typed::<f32>(&s, &o, [dq, dk, dv])?,
        }
    }
    Ok(results.into_iter().map(Some).collect())
}
