//! Sorting along a dimension, and the greatest or least elements of it. NaN counts as greater than all numbers.

use super::call::Call;
use crate::runtime::error::Result;
use crate::runtime::tensor::Tensor;
use rayon::prelude::*;
use rinductor_scalar::DType;

/// Integers that are ordered as the elements are: floats by the bits of their magnitude, NaN last, and both zeros one.
fn keys(call: &Call<'_>, t: &Tensor) -> Result<Vec<i64>> {
    if t.dtype().is_complex() {
        return Err(call.error("complex numbers have no order"));
    }
    if !t.dtype().is_float() {
        return t.to_vec::<i64>();
    }
    let key = |x: f64| {
        if x.is_nan() {
            return i64::MAX;
        }
        let magnitude = (x.to_bits() & (u64::MAX >> 1)) as i64;
        if x < 0.0 { -magnitude } else { magnitude }
    };
    Ok(t.to_vec::<f64>()?.into_iter().map(key).collect())
}

/// The tensor with dimension `dim` last (a scalar has one of size 1).
fn dim_last(t: &Tensor, dim: usize) -> Result<Tensor> {
    let (mut sizes, mut strides) = (t.sizes().to_vec(), t.strides().to_vec());
    if sizes.is_empty() {
        (sizes, strides) = (vec![1], vec![1]);
    }
    let (size, stride) = (sizes.remove(dim), strides.remove(dim));
    sizes.push(size);
    strides.push(stride);
    t.as_strided(&sizes, &strides, t.offset())
}

/// Writes the elements that `order` names, `count` for each line, and their indices. Moves bits, so NaNs stay as they
/// are.
fn write(input: &Tensor, dim: usize, order: &[Vec<usize>], values: &Tensor, indices: &Tensor) -> Result<()> {
    let bits = match input.dtype().size() {
        1 => DType::U8,
        2 => DType::I16,
        4 => DType::I32,
        _ => DType::I64,
    };
    let lines = dim_last(input, dim)?.view_dtype(bits)?;
    let length = lines.sizes().last().copied().unwrap_or(1);
    let places = dim_last(values, dim)?.view_dtype(bits)?;
    macro_rules! moved {
        ($t:ty) => {{
            let data = lines.to_vec::<$t>()?;
            let picked = order.iter().enumerate().flat_map(|(l, o)| o.iter().map(move |i| l * length + i));
            let picked: Vec<$t> = picked.map(|p| data[p]).collect();
            places.assign(&picked)?;
        }};
    }
    match bits {
        DType::U8 => moved!(u8),
        DType::I16 => moved!(i16),
        DType::I32 => moved!(i32),
        _ => moved!(i64),
    }
    let flat: Vec<i64> = order.iter().flatten().map(|i| *i as i64).collect();
    dim_last(indices, dim)?.assign(&flat)
}

/// The lines along `dim`, each turned into an order by `f`.
fn orders(
    call: &Call<'_>,
    input: &Tensor,
    dim: usize,
    f: impl Fn(&[i64]) -> Vec<usize> + Sync + Send,
) -> Result<Vec<Vec<usize>>> {
    let lines = dim_last(input, dim)?;
    let length = lines.sizes().last().copied().unwrap_or(1);
    let keys = keys(call, &lines)?;
    if length == 0 {
        return Ok(Vec::new());
    }
    Ok(keys.par_chunks(length).map(&f).collect())
}

/// `sort(self, dim=-1, descending=False)` and `sort.stable(self, *, stable, dim=-1, descending=False)`: values and
/// indices; equal elements keep their order.
pub fn sort(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let input = call.input(0, "self")?;
    let dim = call.dim("dim", -1, input.rank())?;
    let descending = call.attrs.bool("descending").unwrap_or(false);
    let order = orders(call, input, dim, |keys| {
        let mut order: Vec<usize> = (0..keys.len()).collect();
        if descending {
            order.sort_by_key(|i| std::cmp::Reverse(keys[*i]));
        } else {
            order.sort_by_key(|i| keys[*i]);
        }
        order
    })?;
    let strides = input.strides_like();
    let values = call.output(0, input.dtype(), input.sizes(), &strides)?;
    let indices = call.output(1, DType::I64, input.sizes(), &strides)?;
    write(input, dim, &order, &values, &indices)?;
    Ok(vec![Some(values), Some(indices)])
}

/// `topk(self, k, dim=-1, largest=True, sorted=True)`: values and indices, in order; of equal elements the first.
pub fn topk(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let input = call.input(0, "self")?;
    let dim = call.dim("dim", -1, input.rank())?;
    let length = input.sizes().get(dim).copied().unwrap_or(1);
    let k = usize::try_from(call.int("k")?).ok().filter(|k| *k <= length);
    let k = k.ok_or_else(|| call.error(format!("k is not from 0 to {length}")))?;
    let largest = call.attrs.bool("largest").unwrap_or(true);
    let order = orders(call, input, dim, |keys| {
        let mut order: Vec<usize> = (0..keys.len()).collect();
        // Negation would overflow; the complement turns the order around as well.
        let rank = |i: &usize| (if largest { !keys[*i] } else { keys[*i] }, *i);
        if k > 0 && k < order.len() {
            order.select_nth_unstable_by_key(k - 1, rank);
        }
        order.truncate(k);
        order.sort_unstable_by_key(rank);
        order
    })?;
    let mut sizes = input.sizes().to_vec();
    if let Some(size) = sizes.get_mut(dim) {
        *size = k;
    } else if k == 0 {
        return Err(call.error("k = 0 of a scalar"));
    }
    let values = call.output_contiguous(0, input.dtype(), &sizes)?;
    let indices = call.output_contiguous(1, DType::I64, &sizes)?;
    write(input, dim, &order, &values, &indices)?;
    Ok(vec![Some(values), Some(indices)])
}
