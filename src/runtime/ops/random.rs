//! Random numbers. All come from the counter-based streams of [`rinductor_scalar::philox4x32`]: number i of seed s is a
//! function of (s, i) alone, so results do not depend on threads, order or fusion. They are not eager PyTorch's numbers.
//!
//! An op without a seed operand takes the attributes `generator_seed` and `generator_offset` (0 if absent), which the
//! caller advances: seed k of a call is the first two words (the first one low) of block `generator_offset + k` of the
//! stream `generator_seed`. `inductor_seeds` gives these; the other ops use the first of them for all their numbers.
//!
//! Element i (row-major) of `rand`, `inductor_random` in mode `rand` and `bernoulli` uses number `offset + i`. A row r of
//! `multinomial` over c categories uses, with replacement or for one sample, number `r * num_samples + j` for sample j,
//! and without replacement numbers `r * c …` to give each category a weight divided by an exponential variate, of which
//! the greatest are taken.

use super::call::Call;
use crate::runtime::error::Result;
use crate::runtime::tensor::Tensor;
use rayon::prelude::*;
use rinductor_scalar::{DType, philox4x32, rand_f32, rand_int64, randn_f32};

/// Elements that a thread takes at a time.
const CHUNK: usize = 1 << 13;

/// The k-th seed that the generator gives this call.
fn fresh_seed(call: &Call<'_>, k: u64) -> i64 {
    let attribute = |name: &str| call.attrs.int(name).unwrap_or(0) as u64;
    let words = philox4x32(attribute("generator_seed"), attribute("generator_offset").wrapping_add(k));
    (u64::from(words[0]) | u64::from(words[1]) << 32) as i64
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

/// `inductor_lookup_seed(seeds, index)`.
pub fn inductor_lookup_seed(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let seeds = call.input_of_rank(0, "seeds", 1)?.to_vec::<i64>()?;
    let index = call.int("index")?;
    let seed = usize::try_from(index).ok().and_then(|i| seeds.get(i)).copied();
    let seed = seed.ok_or(crate::runtime::RuntimeError::Index { op: call.op, index, size: seeds.len() })?;
    fill(call, DType::I64, &[], |_| seed)
}

fn seed_operand(call: &Call<'_>) -> Result<u64> {
    let seed = call.input(0, "seed")?;
    if seed.numel() != 1 || !seed.dtype().is_int() {
        return Err(call.error(format!("the seed is {seed:?}, not one integer")));
    }
    Ok(seed.to_vec::<i64>()?[0] as u64)
}

fn offset(call: &Call<'_>) -> u64 {
    call.attrs.int("offset").unwrap_or(0) as u64
}

/// `inductor_random(size, seed, mode, *, offset=0)`: mode `rand` or `randn`.
pub fn inductor_random(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let (seed, offset, sizes) = (seed_operand(call)?, offset(call), call.sizes("size")?);
    match call.attrs.str("mode") {
        Some("rand") => fill(call, DType::F32, &sizes, |i| rand_f32(seed, offset.wrapping_add(i))),
        Some("randn") => fill(call, DType::F32, &sizes, |i| randn_f32(seed, offset.wrapping_add(i))),
        other => Err(call.error(format!("mode {other:?} is not \"rand\" or \"randn\""))),
    }
}

fn bounds(call: &Call<'_>) -> Result<(i64, i64)> {
    let (low, high) = (call.attrs.int("low").unwrap_or(0), call.int("high")?);
    if low < high { Ok((low, high)) } else { Err(call.error(format!("no integer is in [{low}, {high})"))) }
}

/// `inductor_randint(low, high, size, seed, *, offset=0)`: 64-bit integers in [low, high).
pub fn inductor_randint(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let (seed, offset, (low, high)) = (seed_operand(call)?, offset(call), bounds(call)?);
    let sizes = call.sizes("size")?;
    fill(call, DType::I64, &sizes, |i| rand_int64(seed, offset.wrapping_add(i), low, high).unwrap_or(low))
}

/// `rand(size, *, dtype=None)`.
pub fn rand(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let (seed, sizes) = (fresh_seed(call, 0) as u64, call.sizes("size")?);
    fill(call, call.attrs.dtype("dtype").unwrap_or(DType::F32), &sizes, |i| rand_f32(seed, i))
}

/// `randn(size, *, dtype=None)`.
pub fn randn(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let (seed, sizes) = (fresh_seed(call, 0) as u64, call.sizes("size")?);
    fill(call, call.attrs.dtype("dtype").unwrap_or(DType::F32), &sizes, |i| randn_f32(seed, i))
}

/// `randint(high, size, *, dtype=int64)` and `randint.low(low, high, size, …)`.
pub fn randint(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let (seed, (low, high), sizes) = (fresh_seed(call, 0) as u64, bounds(call)?, call.sizes("size")?);
    let dtype = call.attrs.dtype("dtype").unwrap_or(DType::I64);
    fill(call, dtype, &sizes, |i| rand_int64(seed, i, low, high).unwrap_or(low))
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

/// `bernoulli(self)`: 1 with the probability that the element is.
pub fn bernoulli(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let input = call.input(0, "self")?;
    let p = input.to_vec::<f64>()?;
    if !p.iter().all(|p| (0.0..=1.0).contains(p)) {
        return Err(call.error("a probability is not in [0, 1]"));
    }
    let seed = fresh_seed(call, 0) as u64;
    fill(call, input.dtype(), input.sizes(), |i| f64::from(u8::from(f64::from(rand_f32(seed, i)) < p[i as usize])))
}

/// `bernoulli.p(self, p=0.5)`: 1 with probability p; the input gives the sizes and the type only.
pub fn bernoulli_p(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let input = call.input(0, "self")?;
    let p = call.attrs.float("p").unwrap_or(0.5);
    if !(0.0..=1.0).contains(&p) {
        return Err(call.error(format!("p = {p} is not in [0, 1]")));
    }
    let seed = fresh_seed(call, 0) as u64;
    fill(call, input.dtype(), input.sizes(), |i| f32::from(u8::from(f64::from(rand_f32(seed, i)) < p)))
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
                let target = f64::from(rand_f32(seed, (r * samples + j) as u64)) * sum;
                // The first category whose sum exceeds the target has a weight.
                picked.push(sums.partition_point(|s| *s <= target) as i64);
            }
        } else {
            let score = |c: usize| {
                let u = f64::from(rand_f32(seed, (r * categories + c) as u64));
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
