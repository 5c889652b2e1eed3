//! When a kernel of ours computes a product of matrices faster than a library: a table of thresholds, measured (`docs/matmul.md`).

use super::WhyNot;
use super::product::Shape;

/// The least sizes of a product that is worth a kernel.
pub const LEAST: Shape = Shape { batch: 1, m: 24, n: 16, k: 8 };

/// The least width of vectors.
pub const VECTOR_BYTES: i64 = 64;

/// Whether a kernel is faster.
///
/// # Errors
/// Why it is not.
pub fn pays(s: Shape, vector_bytes: i64) -> Result<(), WhyNot> {
    if vector_bytes < VECTOR_BYTES {
        return Err(WhyNot::new(format!("vectors of {vector_bytes} bytes, and a kernel pays with {VECTOR_BYTES}")));
    }
    for (name, size, least) in [("rows", s.m, LEAST.m), ("columns", s.n, LEAST.n), ("summed points", s.k, LEAST.k)] {
        if size < least {
            return Err(WhyNot::new(format!("{size} {name}, and a kernel pays from {least} on")));
        }
    }
    Ok(())
}
