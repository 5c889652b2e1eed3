//! Tensors of the interpreter: shared memory with sizes, strides and an offset, read and written one scalar at a time.

use rinductor_scalar::{DType, Scalar};
use std::cell::RefCell;
use std::rc::Rc;

/// A tensor or a buffer.
#[derive(Clone, Debug)]
pub struct Array {
    /// Element type.
    pub dtype: DType,
    /// Sizes.
    pub sizes: Vec<i64>,
    /// Strides in elements.
    pub strides: Vec<i64>,
    /// Offset in elements.
    pub offset: i64,
    /// Where the allocation begins in the memory, in elements: not 0 for a buffer in an arena.
    base: i64,
    memory: Rc<RefCell<Vec<u8>>>,
}

/// The largest tensor that the interpreter makes, in bytes: it is for small things, and bad sizes must not exhaust memory.
const MAX_BYTES: i64 = 1 << 34;

impl Array {
    /// A contiguous tensor of zeros; None when it would be too large.
    pub fn zeros(dtype: DType, sizes: &[i64]) -> Option<Array> {
        let mut strides = vec![1i64; sizes.len()];
        for k in (1..sizes.len()).rev() {
            strides[k - 1] = strides[k].checked_mul(sizes[k].max(1))?;
        }
        Self::with_strides(dtype, sizes, &strides)
    }

    /// A tensor of zeros with these strides, which are not negative.
    pub fn with_strides(dtype: DType, sizes: &[i64], strides: &[i64]) -> Option<Array> {
        let mut reach = 1i64;
        for (&n, &s) in sizes.iter().zip(strides) {
            if n < 0 || s < 0 {
                return None;
            }
            reach = reach.checked_add((n - 1).max(0).checked_mul(s)?)?;
        }
        let bytes = reach.checked_mul(dtype.size() as i64).filter(|&b| b <= MAX_BYTES)?;
        Some(Array {
            dtype,
            sizes: sizes.to_vec(),
            strides: strides.to_vec(),
            offset: 0,
            base: 0,
            memory: Rc::new(RefCell::new(vec![0; bytes as usize])),
        })
    }

    /// A tensor without dimensions.
    pub fn scalar(value: Scalar) -> Array {
        let a = Self::zeros(value.dtype(), &[]).expect("one element is not too large");
        a.set(&[], value);
        a
    }

    /// The same allocation under another shape, the offset counted from its start; places outside it are noticed when they are read.
    #[must_use]
    pub fn view(&self, sizes: &[i64], strides: &[i64], offset: i64) -> Array {
        Array { sizes: sizes.to_vec(), strides: strides.to_vec(), offset: self.base + offset, ..self.clone() }
    }

    /// The type of `like` over this memory, from a byte offset on (a multiple of the element size).
    #[must_use]
    pub fn place_for(&self, like: &Array, bytes: i64) -> Array {
        let base = bytes / like.dtype.size() as i64;
        Array { offset: base, base, memory: self.memory.clone(), ..like.clone() }
    }

    /// How many elements there are.
    pub fn numel(&self) -> i64 {
        self.sizes.iter().product()
    }

    /// The element at an index; None outside.
    pub fn get(&self, index: &[i64]) -> Option<Scalar> {
        let at = self.place(index)?;
        Scalar::read_le(self.dtype, self.memory.borrow().get(at..at + self.dtype.size())?)
    }

    /// Writes the element at an index (the value is of the tensor's dtype); false outside.
    pub fn set(&self, index: &[i64], value: Scalar) -> bool {
        let Some(at) = self.place(index) else { return false };
        match self.memory.borrow_mut().get_mut(at..at + self.dtype.size()) {
            Some(bytes) => value.cast(self.dtype).write_le(bytes),
            None => false,
        }
    }

    fn place(&self, index: &[i64]) -> Option<usize> {
        if index.len() != self.sizes.len() {
            return None;
        }
        let mut at = self.offset;
        for ((&i, &n), &s) in index.iter().zip(&self.sizes).zip(&self.strides) {
            if i < 0 || i >= n {
                return None;
            }
            at += i * s;
        }
        usize::try_from(at).ok()?.checked_mul(self.dtype.size())
    }

    /// All elements, in row-major order.
    pub fn elements(&self) -> Vec<Scalar> {
        let mut out = Vec::new();
        for_each_point(&self.sizes, |i| {
            out.extend(self.get(i));
            true
        });
        out
    }
}

/// Calls `f` for each point of a space in row-major order, until it says false.
pub fn for_each_point(sizes: &[i64], mut f: impl FnMut(&[i64]) -> bool) {
    if sizes.iter().any(|&n| n <= 0) {
        return;
    }
    let mut point = vec![0; sizes.len()];
    loop {
        if !f(&point) {
            return;
        }
        let mut k = sizes.len();
        loop {
            if k == 0 {
                return;
            }
            k -= 1;
            point[k] += 1;
            if point[k] < sizes[k] {
                break;
            }
            point[k] = 0;
        }
    }
}
