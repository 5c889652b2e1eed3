//! DLPack, the memory layout in which array libraries hand tensors to each other.

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use rinductor::runtime::{Dims, Storage, Tensor, contiguous_strides};
use rinductor::scalar::DType;
use std::any::Any;
use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

/// Where memory lies: a kind of device and its number.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Device {
    pub kind: i32,
    pub id: i32,
}

/// The device that is the processor.
pub const CPU: i32 = 1;
/// Kinds of devices whose memory the processor reads and writes: its own, and what is pinned for CUDA and ROCm.
const OF_HOST: [i32; 3] = [CPU, 3, 11];

/// An element type.
#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
pub struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

/// A tensor that somebody else owns.
#[repr(C)]
pub struct DLTensor {
    data: *mut c_void,
    device: Device,
    ndim: i32,
    dtype: DataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

impl DLTensor {
    /// Room for a tensor.
    pub fn empty() -> DLTensor {
        DLTensor {
            data: std::ptr::null_mut(),
            device: Device { kind: CPU, id: 0 },
            ndim: 0,
            dtype: DataType { code: 0, bits: 0, lanes: 1 },
            shape: std::ptr::null_mut(),
            strides: std::ptr::null_mut(),
            byte_offset: 0,
        }
    }
}

/// A tensor with its owner, as it was before version 1.
#[repr(C)]
pub struct Managed {
    tensor: DLTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// A tensor with its owner.
#[repr(C)]
pub struct ManagedVersioned {
    version: [u32; 2],
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    flags: u64,
    tensor: DLTensor,
}

const READ_ONLY: u64 = 1;
const NAME: &CStr = c"dltensor";
const NAME_VERSIONED: &CStr = c"dltensor_versioned";
const USED: &CStr = c"used_dltensor";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";

/// Element types with their codes in DLPack.
const TYPES: [(DType, u8, u8); 15] = [
    (DType::F32, 2, 32),
    (DType::I64, 0, 64),
    (DType::I1, 6, 8),
    (DType::BF16, 4, 16),
    (DType::F16, 2, 16),
    (DType::F64, 2, 64),
    (DType::I32, 0, 32),
    (DType::U8, 1, 8),
    (DType::I8, 0, 8),
    (DType::I16, 0, 16),
    (DType::C64, 5, 64),
    (DType::C128, 5, 128),
    (DType::F8E4M3FN, 10, 8),
    (DType::F8E5M2, 12, 8),
    (DType::Index, 0, 64),
];

fn data_type(dtype: DType) -> DataType {
    // All are in the table.
    let (_, code, bits) = TYPES.into_iter().find(|t| t.0 == dtype).unwrap_or(TYPES[0]);
    DataType { code, bits, lanes: 1 }
}

fn dtype_of(t: DataType) -> Option<DType> {
    TYPES.iter().find(|x| t.lanes == 1 && (x.1, x.2) == (t.code, t.bits)).map(|x| x.0)
}

/// The alignment that kernels expect of elements.
fn alignment(dtype: DType) -> usize {
    if dtype.is_complex() { dtype.size() / 2 } else { dtype.size() }
}

/// A tensor over memory of somebody else, of which `data` is the first element. The error is a sentence.
///
/// # Safety
/// While `owner` is alive, the memory that the sizes and strides reach may be read, and written where the caller of the tensor does.
pub unsafe fn borrow(
    dtype: DType,
    sizes: Dims,
    strides: Dims,
    data: *mut u8,
    owner: Box<dyn Any + Send + Sync>,
) -> Result<Tensor, String> {
    let empty = sizes.contains(&0);
    let mut last = Some(0usize);
    for (&n, &s) in sizes.iter().zip(&strides) {
        last = last.and_then(|l| n.saturating_sub(1).checked_mul(s).and_then(|r| l.checked_add(r)));
    }
    let bytes = if empty { Some(0) } else { last.and_then(|l| l.checked_add(1)?.checked_mul(dtype.size())) };
    let bytes = bytes.ok_or("the tensor reaches further than memory")?;
    let data = match NonNull::new(data) {
        Some(data) => data,
        None if bytes == 0 => NonNull::<u128>::dangling().cast(),
        None => return Err("the tensor has no memory".into()),
    };
    if bytes > 0 && !(data.as_ptr() as usize).is_multiple_of(alignment(dtype)) {
        return Err(format!("the memory is not aligned as elements of {dtype} must be: pass a copy"));
    }
    // SAFETY: as the caller says.
    let storage = unsafe { Storage::foreign(data, bytes, owner) };
    Tensor::from_storage(dtype, sizes, strides, 0, Arc::new(storage)).map_err(|e| e.to_string())
}

/// A tensor over the memory of a DLPack tensor. The error is a sentence.
///
/// # Safety
/// The tensor is as the standard says, and as [`borrow`] asks.
pub unsafe fn borrow_dl(t: &DLTensor, owner: Box<dyn Any + Send + Sync>) -> Result<Tensor, String> {
    if !OF_HOST.contains(&t.device.kind) {
        return Err(format!(
            "the tensor is on device {}:{} of DLPack, not in the processor's memory",
            t.device.kind, t.device.id
        ));
    }
    let dtype = dtype_of(t.dtype).ok_or_else(|| {
        format!("there is no element type for DLPack's code {} with {} bits", t.dtype.code, t.dtype.bits)
    })?;
    let rank = usize::try_from(t.ndim).map_err(|_| "the tensor has a negative rank")?;
    let list = |p: *const i64| {
        // SAFETY: the standard says that there is one for each dimension.
        let values = if rank == 0 { &[][..] } else { unsafe { std::slice::from_raw_parts(p, rank) } };
        values.iter().map(|&n| usize::try_from(n)).collect::<Result<Dims, _>>()
    };
    let sizes = list(t.shape).map_err(|_| "a size is negative")?;
    let strides = if t.strides.is_null() {
        contiguous_strides(&sizes).into()
    } else {
        list(t.strides).map_err(|_| "a stride is negative: pass a copy")?
    };
    let data = t.data.cast::<u8>().wrapping_add(t.byte_offset as usize);
    // SAFETY: as the caller says.
    unsafe { borrow(dtype, sizes, strides, data, owner) }
}

/// What an exported tensor points into.
struct Kept {
    shape: Vec<i64>,
    strides: Vec<i64>,
    _storage: Arc<Storage>,
}

impl Kept {
    fn of(t: &Tensor) -> (Kept, DLTensor) {
        let ints = |l: &[usize]| l.iter().map(|&n| n as i64).collect::<Vec<_>>();
        let mut kept = Kept { shape: ints(t.sizes()), strides: ints(t.strides()), _storage: t.storage().clone() };
        let tensor = DLTensor {
            data: t.as_ptr().cast(),
            device: Device { kind: CPU, id: 0 },
            ndim: kept.shape.len() as i32,
            dtype: data_type(t.dtype()),
            shape: kept.shape.as_mut_ptr(),
            strides: kept.strides.as_mut_ptr(),
            byte_offset: 0,
        };
        (kept, tensor)
    }
}

/// An exported tensor: what others see of it stands first, so that it has the address of the whole.
#[repr(C)]
struct Exported<M> {
    managed: M,
    _kept: Kept,
}

unsafe extern "C" fn delete<M>(managed: *mut M) {
    // SAFETY: made by `export` or `export_old`, and whoever takes it deletes it once.
    drop(unsafe { Box::from_raw(managed.cast::<Exported<M>>()) });
}

/// A tensor for another library, which must call its deleter once. It shares the memory.
pub fn export(t: &Tensor) -> *mut ManagedVersioned {
    let (kept, tensor) = Kept::of(t);
    let context = std::ptr::null_mut();
    let managed = ManagedVersioned { version: [1, 1], context, deleter: Some(delete), flags: 0, tensor };
    Box::into_raw(Box::new(Exported { managed, _kept: kept })).cast()
}

/// The same, as it was before version 1.
fn export_old(t: &Tensor) -> *mut Managed {
    let (kept, tensor) = Kept::of(t);
    let managed = Managed { tensor, context: std::ptr::null_mut(), deleter: Some(delete) };
    Box::into_raw(Box::new(Exported { managed, _kept: kept })).cast()
}

/// Gives an exported tensor back that nobody took.
///
/// # Safety
/// It was made by [`export`], and nobody has deleted it.
pub unsafe fn discard(managed: *mut ManagedVersioned) {
    // SAFETY: as the caller says.
    unsafe { delete(managed) }
}

/// A capsule with a tensor, as `__dlpack__` returns it; `versioned` for a caller that knows version 1.
pub fn capsule<'py>(py: Python<'py>, t: &Tensor, versioned: bool) -> PyResult<Bound<'py, PyAny>> {
    let (address, name, end): (*mut c_void, &CStr, ffi::PyCapsule_Destructor) = if versioned {
        (export(t).cast(), NAME_VERSIONED, drop_capsule_versioned)
    } else {
        (export_old(t).cast(), NAME, drop_capsule)
    };
    // SAFETY: the address is not null, the name is static, and the destructor takes capsules of this name.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyCapsule_New(address, name.as_ptr(), Some(end))) }
}

/// A capsule that was not used (its name says so) still has its tensor.
unsafe extern "C" fn drop_capsule(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls it with a capsule that is at its end; the name says that the tensor is still there.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, NAME.as_ptr()) != 0 {
            delete(ffi::PyCapsule_GetPointer(capsule, NAME.as_ptr()).cast::<Managed>());
        }
    }
}

unsafe extern "C" fn drop_capsule_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: as above.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, NAME_VERSIONED.as_ptr()) != 0 {
            delete(ffi::PyCapsule_GetPointer(capsule, NAME_VERSIONED.as_ptr()).cast::<ManagedVersioned>());
        }
    }
}

/// A tensor that was taken from a capsule: calls its deleter at the end.
struct Taken(NonNull<ManagedVersioned>);
struct TakenOld(NonNull<Managed>);

// SAFETY: the deleter of a DLPack tensor may be called from any thread.
unsafe impl Send for Taken {}
// SAFETY: nothing can be done with a shared one.
unsafe impl Sync for Taken {}
// SAFETY: as above.
unsafe impl Send for TakenOld {}
// SAFETY: as above.
unsafe impl Sync for TakenOld {}

impl Drop for Taken {
    fn drop(&mut self) {
        // Deleters of Python's objects need the interpreter; at its end there is nothing to give back.
        Python::try_attach(|_| {
            // SAFETY: the tensor was taken from its capsule, so that it is this owner's to delete.
            unsafe {
                if let Some(deleter) = self.0.as_ref().deleter {
                    deleter(self.0.as_ptr());
                }
            }
        });
    }
}

impl Drop for TakenOld {
    fn drop(&mut self) {
        Python::try_attach(|_| {
            // SAFETY: as above.
            unsafe {
                if let Some(deleter) = self.0.as_ref().deleter {
                    deleter(self.0.as_ptr());
                }
            }
        });
    }
}

/// A tensor over the memory of an object that has `__dlpack__`, and whether it may only be read.
pub fn import(object: &Bound<'_, PyAny>) -> PyResult<(Tensor, bool)> {
    let py = object.py();
    let kwargs = pyo3::types::PyDict::new(py);
    kwargs.set_item("max_version", (1, 1))?;
    let capsule = match object.call_method("__dlpack__", (), Some(&kwargs)) {
        // Older libraries do not know the argument.
        Err(e) if e.is_instance_of::<pyo3::exceptions::PyTypeError>(py) => object.call_method0("__dlpack__")?,
        other => other?,
    };
    let wrong = |e: String| PyBufferError::new_err(e);
    // SAFETY: a capsule of one of these names holds such a tensor, which is whose who renames the capsule.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule.as_ptr(), NAME_VERSIONED.as_ptr()) != 0 {
            let p = ffi::PyCapsule_GetPointer(capsule.as_ptr(), NAME_VERSIONED.as_ptr()).cast::<ManagedVersioned>();
            let p = NonNull::new(p).ok_or_else(|| wrong("an empty DLPack capsule".into()))?;
            ffi::PyCapsule_SetName(capsule.as_ptr(), USED_VERSIONED.as_ptr());
            let owner = Box::new(Taken(p));
            if p.as_ref().version[0] != 1 {
                return Err(wrong(format!("DLPack's version {} is not known, only 1", p.as_ref().version[0])));
            }
            let read_only = p.as_ref().flags & READ_ONLY != 0;
            Ok((borrow_dl(&p.as_ref().tensor, owner).map_err(wrong)?, read_only))
        } else if ffi::PyCapsule_IsValid(capsule.as_ptr(), NAME.as_ptr()) != 0 {
            let p = ffi::PyCapsule_GetPointer(capsule.as_ptr(), NAME.as_ptr()).cast::<Managed>();
            let p = NonNull::new(p).ok_or_else(|| wrong("an empty DLPack capsule".into()))?;
            ffi::PyCapsule_SetName(capsule.as_ptr(), USED.as_ptr());
            Ok((borrow_dl(&p.as_ref().tensor, Box::new(TakenOld(p))).map_err(wrong)?, false))
        } else {
            Err(wrong("__dlpack__ gave no DLPack capsule".into()))
        }
    }
}
