//! Matrix products on slices: `matrixmultiply`'s kernels for 32- and 64-bit floats, plain loops for other types and for
//! products with few rows, split over threads in blocks of the result.

use crate::runtime::element::Element;
use num_complex::Complex;
use rayon::prelude::*;

/// A number with sums and products.
pub trait Number: Element + Default + PartialEq {
    /// One.
    const ONE: Self;
    /// a + b.
    fn plus(self, b: Self) -> Self;
    /// a * b.
    fn times(self, b: Self) -> Self;

    /// C = alpha A B + beta C on one thread, where C is not read if beta is 0.
    ///
    /// # Safety
    /// All elements that the sizes and strides reach from the three pointers are valid, and those of C are reached by
    /// nobody else meanwhile and each by one index only.
    #[expect(clippy::too_many_arguments, reason = "the classic interface of a matrix product")]
    unsafe fn kernel(
        m: usize,
        k: usize,
        n: usize,
        alpha: Self,
        a: *const Self,
        a_strides: [isize; 2],
        b: *const Self,
        b_strides: [isize; 2],
        beta: Self,
        c: *mut Self,
        c_strides: [isize; 2],
    ) {
        for i in 0..m as isize {
            for j in 0..n as isize {
                let mut sum = Self::default();
                for l in 0..k as isize {
                    // SAFETY: i, l and j are within the sizes.
                    let (x, y) = unsafe {
                        (*a.offset(i * a_strides[0] + l * a_strides[1]), *b.offset(l * b_strides[0] + j * b_strides[1]))
                    };
                    sum = sum.plus(x.times(y));
                }
                let at = c.wrapping_offset(i * c_strides[0] + j * c_strides[1]);
                let mut value = alpha.times(sum);
                if beta != Self::default() {
                    // SAFETY: i and j are within the sizes.
                    value = value.plus(beta.times(unsafe { *at }));
                }
                // SAFETY: as above.
                unsafe { *at = value };
            }
        }
    }
}

macro_rules! float_number {
    ($t:ty, $gemm:path) => {
        impl Number for $t {
            const ONE: $t = 1.0;
            fn plus(self, b: $t) -> $t {
                self + b
            }
            fn times(self, b: $t) -> $t {
                self * b
            }
            unsafe fn kernel(
                m: usize,
                k: usize,
                n: usize,
                alpha: $t,
                a: *const $t,
                [rsa, csa]: [isize; 2],
                b: *const $t,
                [rsb, csb]: [isize; 2],
                beta: $t,
                c: *mut $t,
                [rsc, csc]: [isize; 2],
            ) {
                // SAFETY: the caller promises what the kernel asks for.
                unsafe { $gemm(m, k, n, alpha, a, rsa, csa, b, rsb, csb, beta, c, rsc, csc) }
            }
        }
    };
}

float_number!(f32, matrixmultiply::sgemm);
float_number!(f64, matrixmultiply::dgemm);

impl Number for i64 {
    const ONE: i64 = 1;
    fn plus(self, b: i64) -> i64 {
        self.wrapping_add(b)
    }
    fn times(self, b: i64) -> i64 {
        self.wrapping_mul(b)
    }
}

macro_rules! complex_number {
    ($t:ty) => {
        impl Number for Complex<$t> {
            const ONE: Self = Complex { re: 1.0, im: 0.0 };
            fn plus(self, b: Self) -> Self {
                self + b
            }
            fn times(self, b: Self) -> Self {
                self * b
            }
        }
    };
}

complex_number!(f32);
complex_number!(f64);

/// The sizes of a batch of products: C[b] is m x n, A[b] m x k, B[b] k x n.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// How many products.
    pub batch: usize,
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
}

/// Matrices in a slice: strides of the batch, of rows and of columns.
pub type Strides = [usize; 3];

/// Multiplications below which threads cost more than they give.
const SERIAL: usize = 1 << 16;

/// The least rows or columns of a block that a thread takes.
const BLOCK: usize = 32;

/// The last position that matrices of these sizes reach, plus one.
fn reach(batch: usize, rows: usize, cols: usize, s: Strides) -> usize {
    if batch == 0 || rows == 0 || cols == 0 {
        return 0;
    }
    (batch - 1) * s[0] + (rows - 1) * s[1] + (cols - 1) * s[2] + 1
}

/// Whether no two indices lead to one position.
pub fn is_injective(sizes: &[usize], strides: &[usize]) -> bool {
    let mut dims: Vec<(usize, usize)> =
        strides.iter().zip(sizes).filter(|(_, size)| **size != 1).map(|(t, s)| (*t, *s)).collect();
    dims.sort_unstable();
    let mut covered = 1;
    for (stride, size) in dims {
        if size == 0 {
            return true;
        }
        if stride < covered {
            return false;
        }
        covered += stride * (size - 1);
    }
    true
}

/// A pointer that tasks share; each writes its own block only.
struct Shared<T>(*mut T);
// SAFETY: the tasks' blocks are disjoint, see `gemm`.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

/// C = alpha A B + beta C for each of a batch, on all threads if it is worth it. C is not read if beta is 0.
///
/// # Panics
/// If a slice is shorter than the sizes and strides reach, or elements of C share a place: the callers build both from
/// checked tensors.
pub fn gemm<T: Number>(
    sizes: Sizes,
    alpha: T,
    (a, a_strides): (&[T], Strides),
    (b, b_strides): (&[T], Strides),
    beta: T,
    (c, c_strides): (&mut [T], Strides),
) {
    let Sizes { batch, m, n, k } = sizes;
    if batch == 0 || m == 0 || n == 0 {
        return;
    }
    assert!(reach(batch, m, k, a_strides) <= a.len(), "A is shorter than its sizes");
    assert!(reach(batch, k, n, b_strides) <= b.len(), "B is shorter than its sizes");
    assert!(reach(batch, m, n, c_strides) <= c.len(), "C is shorter than its sizes");
    assert!(is_injective(&[batch, m, n], &c_strides), "elements of C share a place");
    let threads = rayon::current_num_threads();
    let work = m.saturating_mul(n).saturating_mul(k.max(1));
    let parts = if threads == 1 || work.saturating_mul(batch) < SERIAL || batch >= 4 * threads {
        1
    } else {
        // Two parts a thread even out what the threads find of the machine.
        (2 * threads).div_ceil(batch).min(work.div_ceil(SERIAL / 2)).max(1)
    };
    let by_rows = m >= n;
    let (long, unit) = if by_rows { (m, BLOCK.min(m)) } else { (n, BLOCK.min(n)) };
    let chunk = long.div_ceil(parts).next_multiple_of(unit);
    let pieces = long.div_ceil(chunk);
    let shared = Shared(c.as_mut_ptr());
    let task = |t: usize| {
        let (which, piece) = (t / pieces, t % pieces);
        let (start, end) = (piece * chunk, long.min((piece + 1) * chunk));
        let (row, rows, col, cols) = if by_rows { (start, end - start, 0, n) } else { (0, m, start, end - start) };
        let a_at = which * a_strides[0] + row * a_strides[1];
        let b_at = which * b_strides[0] + col * b_strides[2];
        let c_at = which * c_strides[0] + row * c_strides[1] + col * c_strides[2];
        // No whole copy of the pointer's wrapper is captured, only the reference.
        let shared = &shared;
        let pointer = shared.0.wrapping_add(c_at);
        // SAFETY: the asserts above bound every position; blocks of different tasks are different rows, columns or
        // batch members of C, which share no place.
        unsafe {
            block(
                (rows, k, cols),
                alpha,
                (a.as_ptr().wrapping_add(a_at), a_strides),
                (b.as_ptr().wrapping_add(b_at), b_strides),
                beta,
                (pointer, c_strides),
            );
        }
    };
    let tasks = batch * pieces;
    if tasks == 1 || threads == 1 || work.saturating_mul(batch) < SERIAL {
        (0..tasks).for_each(task);
    } else {
        (0..tasks).into_par_iter().for_each(task);
    }
}

/// Rows up to which a product is done as sums of rows or dot products: packing the other matrix would cost more.
const FEW: usize = 4;

/// # Safety
/// As [`Number::kernel`].
unsafe fn block<T: Number>(
    (m, k, n): (usize, usize, usize),
    alpha: T,
    (a, sa): (*const T, Strides),
    (b, sb): (*const T, Strides),
    beta: T,
    (c, sc): (*mut T, Strides),
) {
    let two = |s: Strides| [s[1] as isize, s[2] as isize];
    if m <= FEW && n > FEW && k > 0 && (sb[1] == 1 || sb[2] == 1) {
        // SAFETY: promised by the caller.
        return unsafe { few_rows((m, k, n), alpha, (a, two(sa)), (b, two(sb)), beta, (c, two(sc))) };
    }
    if n <= FEW && m > FEW && k > 0 && (sa[1] == 1 || sa[2] == 1) {
        // Cᵀ = Bᵀ Aᵀ has few rows.
        let turned = |s: Strides| [s[2] as isize, s[1] as isize];
        // SAFETY: promised by the caller.
        return unsafe { few_rows((n, k, m), alpha, (b, turned(sb)), (a, turned(sa)), beta, (c, turned(sc))) };
    }
    // SAFETY: promised by the caller.
    unsafe { T::kernel(m, k, n, alpha, a, two(sa), b, two(sb), beta, c, two(sc)) }
}

/// Partial sums kept apart in a dot product, so that they can be vectors.
const LANES: usize = 16;

fn dot<T: Number>(x: &[T], y: &[T]) -> T {
    let mut lanes = [T::default(); LANES];
    let (xs, ys) = (x.chunks_exact(LANES), y.chunks_exact(LANES));
    let rest = xs.remainder().iter().zip(ys.remainder());
    let mut sum = rest.fold(T::default(), |s, (p, q)| s.plus(p.times(*q)));
    for (p, q) in xs.zip(ys) {
        for l in 0..LANES {
            lanes[l] = lanes[l].plus(p[l].times(q[l]));
        }
    }
    for l in lanes {
        sum = sum.plus(l);
    }
    sum
}

/// Products with few rows of A, where B has unit stride one way.
///
/// # Safety
/// As [`Number::kernel`].
unsafe fn few_rows<T: Number>(
    (m, k, n): (usize, usize, usize),
    alpha: T,
    (a, sa): (*const T, [isize; 2]),
    (b, sb): (*const T, [isize; 2]),
    beta: T,
    (c, sc): (*mut T, [isize; 2]),
) {
    let at = |p: *const T, s: [isize; 2], i: usize, j: usize| p.wrapping_offset(i as isize * s[0] + j as isize * s[1]);
    let store = |i: usize, j: usize, sum: T| {
        let place = at(c, sc, i, j).cast_mut();
        let mut value = alpha.times(sum);
        if beta != T::default() {
            // SAFETY: an element of C.
            value = value.plus(beta.times(unsafe { *place }));
        }
        // SAFETY: an element of C.
        unsafe { *place = value };
    };
    // SAFETY: elements of A, each row gathered once.
    let rows: Vec<Vec<T>> = (0..m).map(|i| (0..k).map(|l| unsafe { *at(a, sa, i, l) }).collect()).collect();
    if sb[0] == 1 {
        for j in 0..n {
            // SAFETY: column j of B, k elements side by side.
            let column = unsafe { std::slice::from_raw_parts(at(b, sb, 0, j), k) };
            for (i, row) in rows.iter().enumerate() {
                store(i, j, dot(row, column));
            }
        }
        return;
    }
    let mut sums = vec![vec![T::default(); n]; m];
    for l in 0..k {
        // SAFETY: row l of B, n elements side by side.
        let line = unsafe { std::slice::from_raw_parts(at(b, sb, l, 0), n) };
        for (row, sum) in rows.iter().zip(&mut sums) {
            let x = row[l];
            for (s, y) in sum.iter_mut().zip(line) {
                *s = s.plus(x.times(*y));
            }
        }
    }
    for (i, sum) in sums.iter().enumerate() {
        for (j, s) in sum.iter().enumerate() {
            store(i, j, *s);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Number + std::fmt::Debug>(from: fn(i64) -> T, near: fn(T, T) -> bool) {
        for (batch, m, n, k) in [(1, 1, 300, 70), (1, 300, 2, 70), (3, 5, 7, 11), (2, 70, 65, 33), (1, 3, 4, 0)] {
            for (row_major_a, row_major_b, row_major_c) in
                [(true, true, true), (false, true, false), (true, false, true)]
            {
                let strides = |rows: usize, cols: usize, row_major: bool| {
                    if row_major { [rows * cols, cols, 1] } else { [rows * cols, 1, rows] }
                };
                let (sa, sb, sc) = (strides(m, k, row_major_a), strides(k, n, row_major_b), strides(m, n, row_major_c));
                let values = |len: usize, salt: i64| -> Vec<T> {
                    (0..len as i64).map(|i| from((i * 37 + salt) % 7 - 3)).collect()
                };
                let (a, b, mut c) = (values(batch * m * k, 1), values(batch * k * n, 2), values(batch * m * n, 3));
                let before = c.clone();
                let (alpha, beta) = (from(2), from(3));
                gemm(Sizes { batch, m, n, k }, alpha, (&a, sa), (&b, sb), beta, (&mut c, sc));
                for t in 0..batch {
                    for i in 0..m {
                        for j in 0..n {
                            let mut sum = T::default();
                            for l in 0..k {
                                let x = a[t * sa[0] + i * sa[1] + l * sa[2]];
                                sum = sum.plus(x.times(b[t * sb[0] + l * sb[1] + j * sb[2]]));
                            }
                            let at = t * sc[0] + i * sc[1] + j * sc[2];
                            let want = alpha.times(sum).plus(beta.times(before[at]));
                            assert!(near(c[at], want), "{m}x{n}x{k} [{i},{j}]: {:?} is not {want:?}", c[at]);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn products_are_sums_of_products() {
        check::<f32>(|x| x as f32, |a, b| (a - b).abs() < 1e-3);
        check::<f64>(|x| x as f64, |a, b| (a - b).abs() < 1e-9);
        check::<i64>(|x| x, |a, b| a == b);
        check::<Complex<f32>>(|x| Complex::new(x as f32, 1.0), |a, b| (a - b).norm() < 1e-2);
    }

    #[test]
    fn injective_layouts() {
        assert!(is_injective(&[2, 3], &[3, 1]));
        assert!(is_injective(&[2, 3], &[1, 2]));
        assert!(!is_injective(&[2, 3], &[1, 1]));
        assert!(!is_injective(&[2], &[0]));
        assert!(is_injective(&[1], &[0]));
    }
}
