//! Seeds, shuffles and draws by weight. All come from the counter-based blocks of [`rinductor_scalar::philox4x32`]: block i of seed s is a
//! function of (s, i) alone, so results do not depend on threads or order. They are not eager PyTorch's numbers. Other random ops are
//! defined by `prims.inductor_random` and `prims.inductor_randint`, in the same blocks.
//!
//! An op takes the attributes `generator_seed` and `generator_offset` (0 if absent), which the caller advances: seed k of a call is the first
//! two words (the first one low) of block `generator_offset + k` of the seed `generator_seed`. `inductor_seeds` gives these; the other ops use
//! the first of them for all their numbers.
//!
//! A row r of `multinomial` over c categories uses, with replacement or for one sample, number `r * num_samples + j` for sample j,
//! and without replacement numbers `r * c …` to give each category a weight divided by an exponential variate, of which
//! the greatest are taken.

use super::call::Call;
use crate::runtime::error::Result;
use crate::runtime::tensor::Tensor;
use rayon::prelude::*;
use rinductor_scalar::{DType, philox4x32};

/// Elements that a thread takes at a time.
const CHUNK: usize = 1 << 13;

/// The first two words of a block, the first one low.
fn bits(seed: u64, i: u64) -> u64 {
    let words = philox4x32(seed, i);
    u64::from(words[0]) | u64::from(words[1]) << 32
}

/// The k-th seed that the generator gives this call.
fn fresh_seed(call: &Call<'_>, k: u64) -> i64 {
    let attribute = |name: &str| call.attrs.int(name).unwrap_or(0) as u64;
    bits(attribute("generator_seed"), attribute("generator_offset").wrapping_add(k)) as i64
}

/// The i-th uniform number of a seed, in [0, 1).
fn uniform(seed: u64, i: u64) -> f64 {
    (bits(seed, i) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Fills a result with `f(i)`.
fn fill<T>(call: &Call<'_>, dtype: DType, sizes: &[usize], f: impl Fn(u64) -> T + Sync) -> Result<Vec<Option<Tensor>>>
where
    T: crate::runtime::Element,
{
    let out = call.output_contiguous(0, dtype, sizes)?;
    let n = out.numel();
    if T::DTYPE == dtype && out.is_contiguous() {
        let mut values = out.write::<T>()?;
        values[..n].par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(i, x)| *x = f(i as u64));
    } else {
        let values: Vec<T> = (0..n).into_par_iter().with_min_len(CHUNK).map(|i| f(i as u64)).collect();
        out.assign(&values)?;
    }
    Ok(vec![Some(out)])
}

/// `inductor_seeds(count)`: seeds as a vector of 64-bit integers.
pub fn inductor_seeds(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let count = usize::try_from(call.int("count")?).map_err(|_| call.error("count is negative"))?;
    fill(call, DType::I64, &[count], |k| fresh_seed(call, k))
}

/// `inductor_seed()`: one seed.
pub fn inductor_seed(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    fill(call, DType::I64, &[], |k| fresh_seed(call, k))
}

/// `randperm(n, *, dtype=int64)`: the numbers below n in the order of their blocks of random words.
pub fn randperm(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let n = usize::try_from(call.int("n")?).map_err(|_| call.error("n is negative"))?;
    // Allocated first: it refuses an n that no memory holds.
    let out = call.output_contiguous(0, call.attrs.dtype("dtype").unwrap_or(DType::I64), &[n])?;
    let seed = fresh_seed(call, 0) as u64;
    let mut order: Vec<i64> = (0..n as i64).collect();
    order.sort_by_cached_key(|i| philox4x32(seed, *i as u64));
    out.assign(&order)?;
    Ok(vec![Some(out)])
}

/// `multinomial(self, num_samples, replacement=False)`: indices of categories with these weights.
pub fn multinomial(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let input = call.input(0, "self")?;
    let (rows, categories) = match *input.sizes() {
        [c] => (1, c),
        [r, c] => (r, c),
        _ => return Err(call.error(format!("weights of sizes {:?} are not a vector or a matrix", input.sizes()))),
    };
    let samples = usize::try_from(call.int("num_samples")?).map_err(|_| call.error("num_samples is negative"))?;
    let replacement = call.attrs.bool("replacement").unwrap_or(false);
    let mut sizes = input.sizes().to_vec();
    sizes[input.rank() - 1] = samples;
    let out = call.output_contiguous(0, DType::I64, &sizes)?;
    let weights = input.to_vec::<f64>()?;
    let seed = fresh_seed(call, 0) as u64;
    let mut picked = Vec::new();
    for r in 0..rows {
        let line = &weights[r * categories..(r + 1) * categories];
        if !line.iter().all(|w| w.is_finite() && *w >= 0.0) {
            return Err(call.error("a weight is negative, infinite or NaN"));
        }
        let positive = line.iter().filter(|w| **w > 0.0).count();
        if samples > 0 && positive == 0 || !replacement && samples > positive {
            return Err(call.error(format!("{samples} samples of {positive} categories that have a weight")));
        }
        if replacement || samples == 1 {
            let mut sum = 0.0;
            let sums: Vec<f64> = line.iter().map(|w| (sum += w, sum).1).collect();
            for j in 0..samples {
                let target = uniform(seed, (r * samples + j) as u64) * sum;
                // The first category whose sum exceeds the target has a weight.
                picked.push(sums.partition_point(|s| *s <= target) as i64);
            }
        } else {
            let score = |c: usize| {
                let u = uniform(seed, (r * categories + c) as u64);
                line[c] / -(-u).ln_1p().min(-f64::MIN_POSITIVE)
            };
            let mut order: Vec<(f64, usize)> = (0..categories).map(|c| (score(c), c)).collect();
            order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            picked.extend(order[..samples].iter().map(|(_, c)| *c as i64));
        }
    }
    out.assign(&picked)?;
    Ok(vec![Some(out)])
}
