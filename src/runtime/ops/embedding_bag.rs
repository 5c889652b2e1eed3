//! Sums, means and maxima of rows of a table, bag by bag, and the gradient of the table.

use super::call::Call;
use crate::runtime::error::{Result, RuntimeError};
use crate::runtime::tensor::Tensor;
use rinductor_scalar::DType;

/// How the rows of a bag are joined.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Sum,
    Mean,
    Max,
}

fn mode(call: &Call<'_>) -> Result<Mode> {
    match call.attrs.int("mode").unwrap_or(0) {
        0 => Ok(Mode::Sum),
        1 => Ok(Mode::Mean),
        2 => Ok(Mode::Max),
        other => Err(call.error(format!("mode = {other} is not 0 (sum), 1 (mean) or 2 (max)"))),
    }
}

/// The bags: where each begins in the indices, and where the last ends.
fn bag_starts(call: &Call<'_>, offsets: &Tensor, indices: usize) -> Result<Vec<usize>> {
    let mut starts = Vec::new();
    let values = offsets.to_vec::<i64>()?;
    let last = call.attrs.bool("include_last_offset").unwrap_or(false);
    let bags = if last { values.len().saturating_sub(1) } else { values.len() };
    for offset in &values[..bags] {
        let start = usize::try_from(*offset).ok().filter(|s| *s <= indices && starts.last().is_none_or(|p| p <= s));
        starts.push(start.ok_or_else(|| {
            call.error(format!("offset {offset} is negative, decreasing, or beyond the {indices} indices"))
        })?);
    }
    if starts.first().is_some_and(|s| *s != 0) {
        return Err(call.error("the first offset must be 0"));
    }
    starts.push(indices);
    Ok(starts)
}

fn table_index(call: &Call<'_>, index: i64, rows: usize) -> Result<usize> {
    let found = usize::try_from(index).ok().filter(|i| *i < rows);
    found.ok_or(RuntimeError::Index { op: call.op, index, size: rows })
}

/// `_embedding_bag(weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
/// include_last_offset=False, padding_idx=-1) -> (output, offset2bag, bag_size, maximum_indices)`. As in eager mode on
/// CPU, offset2bag is empty for plain sums of floats up to 32 bits, and bag sizes are counted for means and maxima only.
pub fn embedding_bag(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let weight = call.input_of_rank(0, "weight", 2)?;
    let (indices, offsets) = (call.input_of_rank(1, "indices", 1)?, call.input_of_rank(2, "offsets", 1)?);
    let mode = mode(call)?;
    let [rows, width] = [weight.sizes()[0], weight.sizes()[1]];
    let padding = padding(call, rows);
    let starts = bag_starts(call, offsets, indices.numel())?;
    let bags = starts.len() - 1;
    let indices = indices.to_vec::<i64>()?;
    let factors = factors(call, 3, indices.len())?;
    if factors.is_some() && mode != Mode::Sum {
        return Err(call.error("per_sample_weights go with mode 0 (sum) only"));
    }
    // Rows are joined in 64 bits and rounded once.
    let wide = weight.to_dtype(if weight.dtype() == DType::F64 { DType::F64 } else { DType::F32 })?;
    let table = wide.to_vec::<f64>()?;
    let mut result = vec![0.0; bags * width];
    let mut offset2bag = vec![0i64; indices.len()];
    let mut bag_size = vec![0i64; bags];
    let mut maximum = vec![0i64; if mode == Mode::Max { bags * width } else { 0 }];
    for bag in 0..bags {
        let line = &mut result[bag * width..(bag + 1) * width];
        let mut count = 0i64;
        for i in starts[bag]..starts[bag + 1] {
            offset2bag[i] = bag as i64;
            let row = table_index(call, indices[i], rows)?;
            if Some(row) == padding {
                continue;
            }
            let source = &table[row * width..(row + 1) * width];
            match mode {
                Mode::Max => {
                    for (d, (x, y)) in line.iter_mut().zip(source).enumerate() {
                        if count == 0 || *y > *x || y.is_nan() && !x.is_nan() {
                            *x = *y;
                            maximum[bag * width + d] = row as i64;
                        }
                    }
                }
                _ => {
                    let factor = factors.as_ref().map_or(1.0, |f| f[i]);
                    line.iter_mut().zip(source).for_each(|(x, y)| *x += factor * y);
                }
            }
            count += 1;
        }
        if mode != Mode::Sum {
            bag_size[bag] = count;
        }
        if mode == Mode::Mean && count > 0 {
            line.iter_mut().for_each(|x| *x /= count as f64);
        }
    }
    let index_type = if offsets.dtype() == DType::I32 { DType::I32 } else { DType::I64 };
    let out = call.output_contiguous(0, weight.dtype(), &[bags, width])?;
    out.assign(&result)?;
    let plain = mode == Mode::Sum && padding.is_none() && weight.dtype() != DType::F64 && weight.strides()[1] == 1;
    let offset2bag = if plain { &[][..] } else { &offset2bag };
    let bags_of = call.output_contiguous(1, index_type, &[offset2bag.len()])?;
    bags_of.assign(offset2bag)?;
    let sizes_of = call.output_contiguous(2, index_type, &[bags])?;
    sizes_of.assign(&bag_size)?;
    let maxima = if mode == Mode::Max {
        let t = call.output_contiguous(3, index_type, &[bags, width])?;
        t.assign(&maximum)?;
        t
    } else {
        let t = call.output_contiguous(3, index_type, &[bags])?;
        t.assign(&bag_size)?;
        t
    };
    Ok(vec![Some(out), Some(bags_of), Some(sizes_of), Some(maxima)])
}

/// The row that counts as absent.
fn padding(call: &Call<'_>, rows: usize) -> Option<usize> {
    let p = call.attrs.int("padding_idx").unwrap_or(-1);
    usize::try_from(p).ok().filter(|p| *p < rows)
}

fn factors(call: &Call<'_>, at: usize, indices: usize) -> Result<Option<Vec<f64>>> {
    let Some(t) = call.optional(at) else { return Ok(None) };
    if t.sizes() != [indices] {
        return Err(call.error(format!("per_sample_weights has sizes {:?} for {indices} indices", t.sizes())));
    }
    Ok(Some(t.to_vec::<f64>()?))
}

/// `_embedding_bag_backward(grad, indices, offsets, offset2bag, bag_size, maximum_indices, num_weights,
/// scale_grad_by_freq, mode, sparse, per_sample_weights, padding_idx=-1)`: the gradient of the table, dense.
pub fn embedding_bag_backward(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let (grad, indices) = (call.input_of_rank(0, "grad", 2)?, call.input_of_rank(1, "indices", 1)?);
    let (offsets, offset2bag) = (call.input_of_rank(2, "offsets", 1)?, call.input_of_rank(3, "offset2bag", 1)?);
    if call.attrs.bool("sparse").unwrap_or(false) {
        return Err(call.error("sparse gradients are not supported"));
    }
    let bag_of: Vec<i64> = if offset2bag.numel() == indices.numel() {
        offset2bag.to_vec()?
    } else {
        let starts = bag_starts(call, offsets, indices.numel())?;
        let bag = |(i, w): (usize, &[usize])| std::iter::repeat_n(i as i64, w[1] - w[0]);
        starts.windows(2).enumerate().flat_map(bag).collect()
    };
    backward(call, grad, indices, &bag_of, (4, 5, 6))
}

/// `_embedding_bag_dense_backward(grad, indices, offset2bag, bag_size, maximum_indices, num_weights,
/// scale_grad_by_freq, mode, per_sample_weights, padding_idx=-1)`.
pub fn embedding_bag_dense_backward(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let (grad, indices) = (call.input_of_rank(0, "grad", 2)?, call.input_of_rank(1, "indices", 1)?);
    let bag_of = call.input_of_rank(2, "offset2bag", 1)?.to_vec::<i64>()?;
    backward(call, grad, indices, &bag_of, (3, 4, 5))
}

/// `at` are the places of bag sizes, maximum indices and per-sample weights among the operands.
fn backward(
    call: &Call<'_>,
    grad: &Tensor,
    indices: &Tensor,
    bag_of: &[i64],
    at: (usize, usize, usize),
) -> Result<Vec<Option<Tensor>>> {
    let mode = mode(call)?;
    let rows = usize::try_from(call.int("num_weights")?).map_err(|_| call.error("num_weights is negative"))?;
    let [bags, width] = [grad.sizes()[0], grad.sizes()[1]];
    let padding = padding(call, rows);
    let indices = indices.to_vec::<i64>()?;
    if bag_of.len() != indices.len() {
        return Err(call.error(format!("{} bags are given for {} indices", bag_of.len(), indices.len())));
    }
    let factors = factors(call, at.2, indices.len())?;
    let out = call.output_contiguous(0, grad.dtype(), &[rows, width])?;
    let gradients = grad.to_vec::<f64>()?;
    let mut result = vec![0.0; rows.saturating_mul(width)];
    let place = |index: i64| table_index(call, index, rows);
    if mode == Mode::Max {
        let maxima = call.input(at.1, "maximum_indices")?;
        if maxima.sizes() != grad.sizes() {
            return Err(call.error(format!("maximum_indices has sizes {:?}", maxima.sizes())));
        }
        let sizes = call.input(at.0, "bag_size")?.to_vec::<i64>()?;
        for (i, row) in maxima.to_vec::<i64>()?.into_iter().enumerate() {
            if sizes.get(i / width).is_none_or(|n| *n > 0) {
                result[place(row)? * width + i % width] += gradients[i];
            }
        }
        out.assign(&result)?;
        return Ok(vec![Some(out)]);
    }
    let mut sizes = vec![0i64; bags];
    let mut frequency = vec![0u32; rows];
    for (index, bag) in indices.iter().zip(bag_of) {
        let row = place(*index)?;
        frequency[row] += 1;
        if Some(row) != padding {
            *sizes.get_mut(*bag as usize).ok_or(RuntimeError::Index { op: call.op, index: *bag, size: bags })? += 1;
        }
    }
    let by_frequency = call.attrs.bool("scale_grad_by_freq").unwrap_or(false);
    for (i, (index, bag)) in indices.iter().zip(bag_of).enumerate() {
        let row = place(*index)?;
        if Some(row) == padding {
            continue;
        }
        let mut factor = factors.as_ref().map_or(1.0, |f| f[i]);
        if mode == Mode::Mean {
            factor /= sizes[*bag as usize] as f64;
        }
        if by_frequency {
            factor /= f64::from(frequency[row]);
        }
        let source = &gradients[*bag as usize * width..(*bag as usize + 1) * width];
        result[row * width..(row + 1) * width].iter_mut().zip(source).for_each(|(x, g)| *x += factor * g);
    }
    out.assign(&result)?;
    Ok(vec![Some(out)])
}
