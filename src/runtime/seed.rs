//! Generated inputs: a counter-based generator that any language can repeat in ten lines.
//!
//! Element i (0, 1, … in row-major order of the sizes, whatever the strides) comes from, in wrapping 64-bit arithmetic:
//!
//! ```text
//! S = seed * 1000003 + stream * 0x100000001
//! z = S + (i + 1) * 0x9E3779B97F4A7C15
//! z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9
//! z = (z ^ z >> 27) * 0x94D049BB133111EB
//! z = z ^ z >> 31
//! u = (z >> 11) * 2^-53
//! ```
//!
//! the generator of Steele, Lea and Flood ("Fast splittable pseudorandom number generators", 2014) started anew for each
//! element. [`InputKind`] says what is made of u.

use super::error::Result;
use super::tensor::Tensor;
use rinductor_scalar::{DType, Scalar};
use serde::Deserialize;

/// What an input's elements are made of u.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum InputKind {
    /// `lo + (hi - lo) * u`, rounded to the type.
    Uniform {
        /// The lower end.
        lo: f64,
        /// The upper end.
        hi: f64,
    },
    /// `lo + floor(u * (hi - lo + 1))`: a whole number from `lo` to `hi`.
    IntUniform {
        /// The least.
        lo: i64,
        /// The greatest.
        hi: i64,
    },
    /// `u < p`.
    Bernoulli {
        /// The probability of true.
        p: f64,
    },
    /// The same number everywhere; also a symbolic size.
    IntScalar {
        /// The number.
        value: i64,
    },
}

impl Default for InputKind {
    /// What an input is when nothing says more: uniform in [-1, 1).
    fn default() -> InputKind {
        InputKind::Uniform { lo: -1.0, hi: 1.0 }
    }
}

/// The state that a seed and a stream start from.
pub fn start(seed: u64, stream: u64) -> u64 {
    seed.wrapping_mul(1_000_003).wrapping_add(stream.wrapping_mul(0x1_0000_0001))
}

/// The number u of element `i`, in [0, 1).
pub fn uniform(start: u64, i: u64) -> f64 {
    let mut z = start.wrapping_add(i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    (z >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
}

impl InputKind {
    /// The element that u gives.
    fn element(self, dtype: DType, u: f64) -> Scalar {
        match self {
            InputKind::Uniform { lo, hi } => Scalar::from_f64(dtype, lo + (hi - lo) * u),
            InputKind::IntUniform { lo, hi } => {
                let span = (hi as f64 - lo as f64) + 1.0;
                Scalar::from_i64(dtype, lo.wrapping_add((u * span).floor() as i64))
            }
            InputKind::Bernoulli { p } => Scalar::bool(u < p).cast(dtype),
            InputKind::IntScalar { value } => Scalar::from_i64(dtype, value),
        }
    }
}

/// An input of this layout. A dimension of stride 0 has everywhere the element of index 0.
pub fn generate(
    kind: InputKind,
    seed: u64,
    stream: u64,
    dtype: DType,
    sizes: &[usize],
    strides: &[usize],
) -> Result<Tensor> {
    let tensor = Tensor::zeros_strided(dtype, sizes, strides)?;
    let state = start(seed, stream);
    if let (InputKind::Uniform { lo, hi }, DType::F32, true) = (kind, dtype, tensor.is_contiguous()) {
        // By far the most elements come this way.
        use rayon::prelude::*;
        let n = tensor.numel();
        let mut out = tensor.write::<f32>()?;
        out[..n].par_iter_mut().enumerate().with_min_len(1 << 14).for_each(|(i, x)| {
            *x = (lo + (hi - lo) * uniform(state, i as u64)) as f32;
        });
        drop(out);
        return Ok(tensor);
    }
    let unit = dtype.size();
    let positions: Vec<usize> = tensor.positions().collect();
    let mut bytes = tensor.storage().write::<u8>()?;
    // From the last to the first, so that the element of index 0 stays where several share a place.
    for (i, p) in positions.iter().enumerate().rev() {
        kind.element(dtype, uniform(state, i as u64)).write_le(&mut bytes[p * unit..]);
    }
    drop(bytes);
    Ok(tensor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_numbers() {
        let s = start(7, 1);
        assert_eq!(uniform(s, 0), 0.679_803_671_057_545_8);
        assert_eq!(uniform(s, 1), 0.877_642_111_171_716_1);
        let t = generate(InputKind::default(), 7, 1, DType::F32, &[2], &[1]).expect("small");
        assert_eq!(t.to_vec::<f32>().expect("f32"), [0.359_607_34, 0.755_284_25]);
    }

    #[test]
    fn layouts_do_not_change_the_elements() {
        let kind = InputKind::IntUniform { lo: -5, hi: 5 };
        let a = generate(kind, 3, 2, DType::I64, &[3, 4], &[4, 1]).expect("small");
        let b = generate(kind, 3, 2, DType::I64, &[3, 4], &[1, 3]).expect("small");
        assert_eq!(a.to_vec::<i64>().expect("i64"), b.to_vec::<i64>().expect("i64"));
        let c = generate(kind, 3, 2, DType::I64, &[3, 4], &[1, 0]).expect("small");
        let (a, c) = (a.to_vec::<i64>().expect("i64"), c.to_vec::<i64>().expect("i64"));
        assert_eq!((c[0], c[3], c[4], c[11]), (a[0], a[0], a[4], a[8]));
        assert!(a.iter().all(|x| (-5..=5).contains(x)));
        let p = generate(InputKind::Bernoulli { p: 0.25 }, 1, 1, DType::I1, &[1000], &[1]).expect("small");
        let ones: i64 = p.to_vec::<i64>().expect("converts").iter().sum();
        assert!((200..300).contains(&ones), "{ones}");
    }
}
