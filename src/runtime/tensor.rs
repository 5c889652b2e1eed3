//! Tensors at run time: an element type, sizes, strides and an offset over shared storage.

use super::element::Element;
use super::error::{Result, RuntimeError};
use super::storage::{Reading, Storage, Writing};
use half::{bf16, f16};
use num_complex::Complex;
use rinductor_scalar::{DType, Scalar};
use smallvec::SmallVec;
use std::sync::Arc;

/// Sizes or strides: a few numbers, without memory of their own.
pub type Dims = SmallVec<[usize; 6]>;

/// A tensor. Cloning it shares the memory. Sizes, strides and the offset count elements.
#[derive(Clone)]
pub struct Tensor {
    dtype: DType,
    sizes: Dims,
    strides: Dims,
    offset: usize,
    storage: Arc<Storage>,
}

/// Row-major strides; dimensions of size 0 count as 1, as in torch.
pub fn contiguous_strides(sizes: &[usize]) -> Vec<usize> {
    let mut strides = vec![1usize; sizes.len()];
    for d in (1..sizes.len()).rev() {
        strides[d - 1] = strides[d].saturating_mul(sizes[d].max(1));
    }
    strides
}

/// The number of elements; an error if it overflows.
fn count(sizes: &[usize]) -> Result<usize> {
    if sizes.contains(&0) {
        return Ok(0);
    }
    sizes
        .iter()
        .try_fold(1usize, |n, s| n.checked_mul(*s))
        .ok_or_else(|| RuntimeError::tensor(format!("a tensor of sizes {sizes:?} has too many elements")))
}

/// One more than the greatest position that a layout reaches, from its offset; 0 for no elements.
fn extent(sizes: &[usize], strides: &[usize]) -> Result<usize> {
    if sizes.contains(&0) {
        return Ok(0);
    }
    let last = sizes
        .iter()
        .zip(strides)
        .try_fold(0usize, |n, (size, stride)| (size - 1).checked_mul(*stride).and_then(|reach| n.checked_add(reach)));
    last.and_then(|n| n.checked_add(1))
        .ok_or_else(|| RuntimeError::tensor(format!("sizes {sizes:?} with strides {strides:?} reach too far")))
}

impl Tensor {
    /// A row-major tensor of zeros.
    pub fn zeros(dtype: DType, sizes: &[usize]) -> Result<Tensor> {
        Tensor::zeros_strided(dtype, sizes, &contiguous_strides(sizes))
    }

    /// A tensor of zeros with these strides, in storage just large enough.
    pub fn zeros_strided(dtype: DType, sizes: &[usize], strides: &[usize]) -> Result<Tensor> {
        count(sizes)?;
        let bytes = extent(sizes, strides)?.checked_mul(dtype.size());
        let bytes = bytes.ok_or_else(|| RuntimeError::tensor(format!("a tensor of sizes {sizes:?} is too large")))?;
        let storage = Arc::new(Storage::zeroed(bytes)?);
        Tensor::from_storage(dtype, sizes, strides, 0, storage)
    }

    /// A tensor over existing memory; an error if it reaches beyond.
    pub fn from_storage(
        dtype: DType,
        sizes: impl Into<Dims>,
        strides: impl Into<Dims>,
        offset: usize,
        storage: Arc<Storage>,
    ) -> Result<Tensor> {
        let (sizes, strides): (Dims, Dims) = (sizes.into(), strides.into());
        if sizes.len() != strides.len() {
            return Err(RuntimeError::tensor(format!("sizes {sizes:?} and strides {strides:?} differ in rank")));
        }
        count(&sizes)?;
        let reach = extent(&sizes, &strides)?;
        let end = offset.checked_add(reach).and_then(|n| n.checked_mul(dtype.size()));
        if reach > 0 && end.is_none_or(|end| end > storage.len()) {
            return Err(RuntimeError::tensor(format!(
                "sizes {sizes:?}, strides {strides:?}, offset {offset} of {dtype} reach beyond {} bytes",
                storage.len()
            )));
        }
        Ok(Tensor { dtype, sizes, strides, offset, storage })
    }

    /// A row-major tensor of these elements, which must be as many as the sizes say.
    pub fn from_slice<T: Element>(sizes: &[usize], data: &[T]) -> Result<Tensor> {
        Tensor::from_slice_as(T::DTYPE, sizes, data)
    }

    /// [`Tensor::from_slice`] for an element type that `T` stands for, such as `I1` for bytes.
    pub fn from_slice_as<T: Element>(dtype: DType, sizes: &[usize], data: &[T]) -> Result<Tensor> {
        if count(sizes)? != data.len() {
            return Err(RuntimeError::tensor(format!("{} elements do not fill sizes {sizes:?}", data.len())));
        }
        let t = Tensor::zeros(dtype, sizes)?;
        t.write::<T>()?.copy_from_slice(data);
        Ok(t)
    }

    /// A tensor without dimensions.
    pub fn scalar(s: Scalar) -> Result<Tensor> {
        let t = Tensor::zeros(s.dtype(), &[])?;
        s.write_le(&mut t.storage.write::<u8>()?);
        Ok(t)
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The sizes.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The strides, in elements.
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    /// The position of the first element, in elements.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The memory.
    pub fn storage(&self) -> &Arc<Storage> {
        &self.storage
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.sizes.len()
    }

    /// The number of elements.
    pub fn numel(&self) -> usize {
        if self.sizes.contains(&0) { 0 } else { self.sizes.iter().product() }
    }

    /// The address of the first element, for machine code (see [`Storage::as_ptr`]).
    pub fn as_ptr(&self) -> *mut u8 {
        self.storage.as_ptr().wrapping_add(self.offset * self.dtype.size())
    }

    /// Whether the elements lie in row-major order without gaps (strides of dimensions of size 1 do not matter).
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        for (size, stride) in self.sizes.iter().zip(&self.strides).rev() {
            if *size == 0 {
                return true;
            }
            if *size != 1 {
                if *stride != expected {
                    return false;
                }
                expected *= size;
            }
        }
        true
    }

    /// The strides eager PyTorch gives a new tensor like this one (`empty_like`): its own if they fill memory without
    /// gaps, else dense ones with the dimensions in the same order.
    pub fn strides_like(&self) -> Vec<usize> {
        let dense = |order: &[usize]| {
            let mut strides = vec![1usize; self.rank()];
            let mut step = 1usize;
            for d in order {
                strides[*d] = step;
                step = step.saturating_mul(self.sizes[*d].max(1));
            }
            strides
        };
        let mut order: Vec<usize> = (0..self.rank()).rev().collect();
        order.sort_by_key(|d| self.strides[*d]);
        let strides = dense(&order);
        let same = (0..self.rank()).all(|d| self.sizes[d] == 1 || strides[d] == self.strides[d]);
        if same { self.strides.to_vec() } else { strides }
    }

    /// The elements from the first to the last one that the tensor reaches, to read: element `[i, j]` is at
    /// `i * strides[0] + j * strides[1]`.
    pub fn read<T: Element>(&self) -> Result<Window<Reading<'_, T>>> {
        self.check::<T>()?;
        let reach = extent(&self.sizes, &self.strides)?;
        Ok(Window { guard: self.storage.read::<T>()?, start: self.start(reach), len: reach })
    }

    /// As [`Tensor::read`], to write.
    pub fn write<T: Element>(&self) -> Result<Window<Writing<'_, T>>> {
        self.check::<T>()?;
        let reach = extent(&self.sizes, &self.strides)?;
        Ok(Window { guard: self.storage.write::<T>()?, start: self.start(reach), len: reach })
    }

    /// An empty tensor may have an offset outside its storage.
    fn start(&self, reach: usize) -> usize {
        if reach == 0 { 0 } else { self.offset }
    }

    fn check<T: Element>(&self) -> Result<()> {
        if T::stands_for(self.dtype) {
            Ok(())
        } else {
            Err(RuntimeError::tensor(format!("a tensor of {} is not one of {}", self.dtype, T::DTYPE)))
        }
    }

    /// A view with other sizes, strides and offset of the same memory; an error if it reaches beyond.
    pub fn as_strided(&self, sizes: &[usize], strides: &[usize], offset: usize) -> Result<Tensor> {
        Tensor::from_storage(self.dtype, sizes, strides, offset, self.storage.clone())
    }

    /// A view of the same bytes as elements of another type of the same size.
    pub fn view_dtype(&self, dtype: DType) -> Result<Tensor> {
        if dtype.size() != self.dtype.size() {
            return Err(RuntimeError::tensor(format!("{} cannot be seen as {dtype}: the sizes differ", self.dtype)));
        }
        Ok(Tensor { dtype, ..self.clone() })
    }

    /// A view with dimension `a` and `b` exchanged. Both must be dimensions of the tensor.
    pub fn transpose(&self, a: usize, b: usize) -> Result<Tensor> {
        if a >= self.rank() || b >= self.rank() {
            return Err(RuntimeError::tensor(format!("no dimensions {a} and {b} in sizes {:?}", self.sizes)));
        }
        let mut t = self.clone();
        t.sizes.swap(a, b);
        t.strides.swap(a, b);
        Ok(t)
    }

    /// A view of the `index`-th slice along dimension `dim`, which is dropped.
    pub fn select(&self, dim: usize, index: usize) -> Result<Tensor> {
        if dim >= self.rank() || index >= self.sizes[dim] {
            return Err(RuntimeError::tensor(format!("no slice {index} of dimension {dim} in sizes {:?}", self.sizes)));
        }
        let mut t = self.clone();
        t.offset += index * t.strides[dim];
        t.sizes.remove(dim);
        t.strides.remove(dim);
        Ok(t)
    }

    /// A view in which dimensions of size 1 are repeated to these sizes, and new ones stand in front.
    pub fn expand(&self, sizes: &[usize]) -> Result<Tensor> {
        let refuse = || RuntimeError::tensor(format!("sizes {:?} do not expand to {sizes:?}", self.sizes));
        let lead = sizes.len().checked_sub(self.rank()).ok_or_else(refuse)?;
        let mut strides = vec![0; sizes.len()];
        for d in 0..self.rank() {
            if self.sizes[d] == sizes[lead + d] {
                strides[lead + d] = self.strides[d];
            } else if self.sizes[d] != 1 {
                return Err(refuse());
            }
        }
        self.as_strided(sizes, &strides, self.offset)
    }

    /// A view of a row-major tensor with other sizes of the same number of elements.
    pub fn reshape(&self, sizes: &[usize]) -> Result<Tensor> {
        if count(sizes)? != self.numel() || !self.is_contiguous() {
            return Err(RuntimeError::tensor(format!("sizes {:?} cannot be seen as {sizes:?}", self.sizes)));
        }
        self.as_strided(sizes, &contiguous_strides(sizes), self.offset)
    }

    /// Positions of all elements in row-major order, relative to the first.
    pub fn positions(&self) -> Positions {
        Positions {
            sizes: self.sizes.to_vec(),
            strides: self.strides.to_vec(),
            index: vec![0; self.rank()],
            position: 0,
            left: self.numel(),
        }
    }

    /// All elements in row-major order, converted to `T`.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        if T::stands_for(self.dtype) && (T::DTYPE == self.dtype || !self.dtype.is_f8()) {
            let data = self.read::<T>()?;
            return Ok(self.gather(&data));
        }
        macro_rules! through {
            ($t:ty, $convert:expr) => {{
                let data = self.read::<$t>()?;
                let convert: fn($t) -> Scalar = $convert;
                Ok(self.positions().map(|p| T::from_scalar(convert(data[p]))).collect())
            }};
        }
        match self.dtype {
            DType::I1 => through!(u8, |x| Scalar::bool(x != 0)),
            DType::U8 => through!(u8, |x| Scalar::from_i64(DType::U8, i64::from(x))),
            DType::F8E4M3FN => through!(u8, |x| Scalar::from_bits(DType::F8E4M3FN, u128::from(x))),
            DType::F8E5M2 => through!(u8, |x| Scalar::from_bits(DType::F8E5M2, u128::from(x))),
            DType::I8 => through!(i8, |x| Scalar::from_i64(DType::I8, i64::from(x))),
            DType::I16 => through!(i16, |x| Scalar::from_i64(DType::I16, i64::from(x))),
            DType::I32 => through!(i32, |x| Scalar::from_i64(DType::I32, i64::from(x))),
            DType::I64 | DType::Index => through!(i64, Scalar::i64),
            DType::F16 => through!(f16, |x| Scalar::f64(f64::from(x.to_f32()))),
            DType::BF16 => through!(bf16, |x| Scalar::f64(f64::from(x.to_f32()))),
            DType::F32 => through!(f32, Scalar::f32),
            DType::F64 => through!(f64, Scalar::f64),
            DType::C64 => through!(Complex<f32>, |z| Scalar::from_complex(
                DType::C128,
                Complex::new(f64::from(z.re), f64::from(z.im))
            )),
            DType::C128 => through!(Complex<f64>, |z| Scalar::from_complex(DType::C128, z)),
        }
    }

    fn gather<T: Copy>(&self, data: &[T]) -> Vec<T> {
        if self.is_contiguous() {
            return data[..self.numel()].to_vec();
        }
        let mut out = Vec::with_capacity(self.numel());
        // Runs along the last dimension are the common case.
        if let (Some(inner), Some(stride)) = (self.sizes.last().copied(), self.strides.last().copied()) {
            let rows = Positions {
                sizes: self.sizes[..self.rank() - 1].to_vec(),
                strides: self.strides[..self.rank() - 1].to_vec(),
                index: vec![0; self.rank() - 1],
                position: 0,
                left: self.numel().checked_div(inner).unwrap_or(0),
            };
            for p in rows {
                if stride == 1 {
                    out.extend_from_slice(&data[p..p + inner]);
                } else {
                    out.extend((0..inner).map(|i| data[p + i * stride]));
                }
            }
        }
        out
    }

    /// Writes `values`, in row-major order, to the elements, each converted to the tensor's type.
    pub fn assign<T: Element>(&self, values: &[T]) -> Result<()> {
        if values.len() != self.numel() {
            return Err(RuntimeError::tensor(format!("{} elements do not fill sizes {:?}", values.len(), self.sizes)));
        }
        if T::DTYPE == self.dtype {
            let mut out = self.write::<T>()?;
            if self.is_contiguous() {
                out[..values.len()].copy_from_slice(values);
            } else {
                for (p, x) in self.positions().zip(values) {
                    out[p] = *x;
                }
            }
            return Ok(());
        }
        let source = Tensor::from_slice(&[values.len()], values)?;
        macro_rules! into {
            ($t:ty) => {{
                let converted = source.to_vec::<$t>()?;
                let mut out = self.write::<$t>()?;
                for (p, x) in self.positions().zip(converted) {
                    out[p] = x;
                }
            }};
        }
        match self.dtype {
            DType::I1 | DType::F8E4M3FN | DType::F8E5M2 => {
                let wide = source.to_vec::<f64>()?;
                let mut out = self.write::<u8>()?;
                for (p, x) in self.positions().zip(wide) {
                    out[p] = Scalar::f64(x).cast(self.dtype).to_bits() as u8;
                }
            }
            DType::U8 => into!(u8),
            DType::I8 => into!(i8),
            DType::I16 => into!(i16),
            DType::I32 => into!(i32),
            DType::I64 | DType::Index => into!(i64),
            DType::F16 => into!(f16),
            DType::BF16 => into!(bf16),
            DType::F32 => into!(f32),
            DType::F64 => into!(f64),
            DType::C64 => into!(Complex<f32>),
            DType::C128 => into!(Complex<f64>),
        }
        Ok(())
    }

    /// Writes another tensor's elements, broadcast to this one's sizes and converted to its type.
    pub fn copy_from(&self, source: &Tensor) -> Result<()> {
        let source = source.expand(&self.sizes)?;
        macro_rules! copy {
            ($t:ty) => {{
                let values = source.to_vec::<$t>()?;
                self.assign_bits(&values)
            }};
        }
        if source.dtype == self.dtype {
            // Same type: move the bits, whatever they mean.
            return match self.dtype.size() {
                1 => self.view_dtype(DType::U8)?.copy_bytes::<u8>(&source.view_dtype(DType::U8)?),
                2 => self.view_dtype(DType::I16)?.copy_bytes::<i16>(&source.view_dtype(DType::I16)?),
                4 => self.view_dtype(DType::I32)?.copy_bytes::<i32>(&source.view_dtype(DType::I32)?),
                8 => self.view_dtype(DType::I64)?.copy_bytes::<i64>(&source.view_dtype(DType::I64)?),
                _ => copy!(Complex<f64>),
            };
        }
        match source.dtype.kind() {
            rinductor_scalar::Kind::Complex => copy!(Complex<f64>),
            rinductor_scalar::Kind::Float => copy!(f64),
            _ => copy!(i64),
        }
    }

    fn assign_bits<T: Element>(&self, values: &[T]) -> Result<()> {
        self.assign(values)
    }

    fn copy_bytes<T: Element>(&self, source: &Tensor) -> Result<()> {
        let values = source.to_vec::<T>()?;
        self.assign(&values)
    }

    /// A row-major copy (or the tensor itself, when it is row-major).
    pub fn contiguous(&self) -> Result<Tensor> {
        if self.is_contiguous() {
            return Ok(self.clone());
        }
        let t = Tensor::zeros(self.dtype, &self.sizes)?;
        t.copy_from(self)?;
        Ok(t)
    }

    /// A row-major copy in another type (or the tensor itself, when it is both already).
    pub fn to_dtype(&self, dtype: DType) -> Result<Tensor> {
        if dtype == self.dtype {
            return self.contiguous();
        }
        let t = Tensor::zeros(dtype, &self.sizes)?;
        t.copy_from(self)?;
        Ok(t)
    }

    /// The element at an index.
    pub fn get(&self, index: &[usize]) -> Result<Scalar> {
        if index.len() != self.rank() || index.iter().zip(&self.sizes).any(|(i, s)| i >= s) {
            return Err(RuntimeError::tensor(format!("index {index:?} is not in sizes {:?}", self.sizes)));
        }
        let position = self.offset + index.iter().zip(&self.strides).map(|(i, s)| i * s).sum::<usize>();
        let bytes = self.storage.read::<u8>()?;
        let start = position * self.dtype.size();
        Scalar::read_le(self.dtype, &bytes[start..])
            .ok_or_else(|| RuntimeError::tensor(format!("index {index:?} is beyond the memory")))
    }

    /// All elements in row-major order, as bytes (little endian).
    pub fn to_le_bytes(&self) -> Result<Vec<u8>> {
        let t = self.contiguous()?;
        let bytes = t.storage.read::<u8>()?;
        let start = t.offset * t.dtype.size();
        let len = t.numel() * t.dtype.size();
        Ok(if len == 0 { Vec::new() } else { bytes[start..start + len].to_vec() })
    }

    /// A row-major tensor from bytes (little endian), which must be as many as the sizes say.
    pub fn from_le_bytes(dtype: DType, sizes: &[usize], bytes: &[u8]) -> Result<Tensor> {
        let wanted = count(sizes)?.checked_mul(dtype.size());
        if wanted != Some(bytes.len()) {
            return Err(RuntimeError::tensor(format!("{} bytes do not fill sizes {sizes:?} of {dtype}", bytes.len())));
        }
        let t = Tensor::zeros(dtype, sizes)?;
        t.storage.write::<u8>()?.copy_from_slice(bytes);
        if dtype.is_bool() {
            // Any byte but 0 is true; keep to 0 and 1 as the rest of the program does.
            t.storage.write::<u8>()?.iter_mut().for_each(|b| *b = u8::from(*b != 0));
        }
        Ok(t)
    }
}

impl std::fmt::Debug for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tensor({}, {:?}, strides {:?}, offset {})", self.dtype, self.sizes, self.strides, self.offset)
    }
}

/// The elements a tensor reaches, under a guard of its storage.
pub struct Window<G> {
    guard: G,
    start: usize,
    len: usize,
}

impl<T, G: std::ops::Deref<Target = [T]>> std::ops::Deref for Window<G> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.guard[self.start..self.start + self.len]
    }
}

impl<T, G: std::ops::DerefMut<Target = [T]>> std::ops::DerefMut for Window<G> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.guard[self.start..self.start + self.len]
    }
}

/// Iterates over the positions of a tensor's elements.
pub struct Positions {
    sizes: Vec<usize>,
    strides: Vec<usize>,
    index: Vec<usize>,
    position: usize,
    left: usize,
}

impl Iterator for Positions {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let now = self.position;
        for d in (0..self.sizes.len()).rev() {
            self.index[d] += 1;
            self.position += self.strides[d];
            if self.index[d] < self.sizes[d] {
                break;
            }
            self.position -= self.index[d] * self.strides[d];
            self.index[d] = 0;
        }
        Some(now)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_share_memory() {
        let t = Tensor::from_slice(&[2, 3], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]).expect("fits");
        let u = t.transpose(0, 1).expect("two dimensions");
        assert_eq!(u.to_vec::<f32>().expect("f32"), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert_eq!(u.select(0, 1).expect("in range").to_vec::<i64>().expect("converts"), [2, 5]);
        u.assign(&[0f32, 1.0, 2.0, 3.0, 4.0, 5.0]).expect("six");
        assert_eq!(t.to_vec::<f64>().expect("converts"), [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
        let e = t.select(1, 0).expect("column").reshape(&[2]);
        assert!(e.is_err(), "a column is not row-major");
        assert_eq!(u.strides_like(), [1, 3]);
        assert_eq!(u.as_strided(&[3, 1], &[1, 6], 0).expect("in range").strides_like(), [1, 6]);
        assert_eq!(t.as_strided(&[2, 2], &[1, 3], 0).expect("in range").strides_like(), [1, 2]);
        let row = t.select(0, 1).expect("row").expand(&[2, 3]).expect("repeats");
        assert_eq!(row.strides(), [0, 1]);
        assert_eq!(row.to_vec::<f32>().expect("f32"), [1.0, 3.0, 5.0, 1.0, 3.0, 5.0]);
    }

    #[test]
    fn bad_shapes_are_errors() {
        assert!(Tensor::zeros(DType::F32, &[usize::MAX, 2]).is_err());
        assert!(Tensor::zeros(DType::F32, &[1 << 40, 1 << 20]).is_err());
        let t = Tensor::zeros(DType::F32, &[4]).expect("small");
        assert!(t.as_strided(&[3], &[2], 0).is_err());
        assert!(t.as_strided(&[2], &[2], 2).is_err());
        assert!(t.as_strided(&[0], &[2], 100).is_ok());
        assert!(t.select(0, 4).is_err());
        assert!(t.read::<i32>().is_err());
        assert!(Tensor::from_slice(&[2], &[1f32]).is_err());
    }

    #[test]
    fn all_types_convert() {
        for d in DType::ALL {
            let t = Tensor::zeros(d, &[3]).expect("small");
            t.assign(&[0i64, 1, 1]).expect("three");
            assert_eq!(t.to_vec::<f64>().expect("converts"), [0.0, 1.0, 1.0], "{d}");
            assert_eq!(t.get(&[1]).expect("in range"), Scalar::one(d));
            let back = Tensor::from_le_bytes(d, &[3], &t.to_le_bytes().expect("reads")).expect("fits");
            assert_eq!(back.to_vec::<i64>().expect("converts"), [0, 1, 1]);
            let copy = Tensor::zeros_strided(d, &[3], &[2]).expect("small");
            copy.copy_from(&t).expect("same sizes");
            assert_eq!(copy.to_vec::<f64>().expect("converts"), [0.0, 1.0, 1.0]);
        }
        let z = Tensor::zeros(DType::F32, &[0, 3]).expect("empty");
        assert_eq!(z.to_vec::<f32>().expect("f32"), Vec::<f32>::new());
        assert_eq!(z.strides(), [3, 1]);
    }
}
