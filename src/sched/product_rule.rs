//! When a kernel of ours computes a product of matrices faster than a library: a table of thresholds, measured (`docs/matmul.md`).

use super::WhyNot;
use super::product::{FEW_ROWS, Shape};

/// The least width of vectors, in bytes.
pub const VECTOR_BYTES: i64 = 64;
/// The least number of rows where the second factor is read as it lies, and where it must be turned first: a few rows do not make up for that.
pub const ROWS: [i64; 2] = [4, 16];
/// The least number of columns: a vector.
pub const COLUMNS: i64 = 16;
/// The least number of points that are summed.
pub const SUMMED: i64 = 8;
/// The least number of summed points where each sum is computed by itself.
pub const DOT: i64 = 128;
/// The least number of elements of the second factor there.
pub const ELEMENTS: i64 = 1 << 18;

/// Whether a kernel is faster.
///
/// # Errors
/// Why it is not.
pub fn pays(s: Shape, vector_bytes: i64) -> Result<(), WhyNot> {
    if vector_bytes < VECTOR_BYTES {
        return Err(WhyNot::new(format!("vectors of {vector_bytes} bytes, and a kernel pays with {VECTOR_BYTES}")));
    }
    if s.m <= FEW_ROWS && s.turned && s.k >= DOT && s.n.saturating_mul(s.k) >= ELEMENTS {
        return Ok(());
    }
    let rows = ROWS[usize::from(!s.in_order)];
    for (name, size, least) in [("rows", s.m, rows), ("columns", s.n, COLUMNS), ("summed points", s.k, SUMMED)] {
        if size < least {
            return Err(WhyNot::new(format!("{size} {name}, and a kernel pays from {least} on")));
        }
    }
    Ok(())
}
