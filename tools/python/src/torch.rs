//! Tensors of PyTorch without copies, through the table of C functions that it has for DLPack where there is one. PyTorch is imported when the
//! first tensor comes.

use crate::dlpack::{self, DLTensor, ManagedVersioned};
use crate::error::sentence;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyTuple, PyType};
use rinductor::runtime::{Argument, Returned, Tensor};
use rinductor::scalar::DType;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// Makes an object of a tensor, which it takes if it succeeds (0).
type ToObject = unsafe extern "C" fn(*mut ManagedVersioned, *mut *mut c_void) -> c_int;
/// Says what an object's memory is like, and succeeds (0) if it can.
type FromObject = unsafe extern "C" fn(*mut c_void, *mut DLTensor) -> c_int;

/// The functions with which a library exchanges its tensors: `DLPackExchangeAPI`.
#[repr(C)]
struct Exchange {
    version: [u32; 2],
    previous: *const Exchange,
    allocate: *const c_void,
    managed_from_object: *const c_void,
    managed_to_object: Option<ToObject>,
    tensor_from_object: Option<FromObject>,
    stream: *const c_void,
}

/// What is used of PyTorch.
pub struct Torch {
    tensor_type: Py<PyType>,
    /// `torch._C._from_dlpack`.
    from_dlpack: Py<PyAny>,
    /// `(tensor, sizes, strides, offset)`: another view of the same storage.
    reinterpret: Option<Py<PyAny>>,
    /// Element types by their `torch.dtype`.
    dtypes: Vec<(Py<PyAny>, DType)>,
    to_object: Option<ToObject>,
    from_object: Option<FromObject>,
}

/// The names of element types in PyTorch.
const DTYPES: [(&str, DType); 14] = [
    ("float32", DType::F32),
    ("int64", DType::I64),
    ("bool", DType::I1),
    ("bfloat16", DType::BF16),
    ("float16", DType::F16),
    ("float64", DType::F64),
    ("int32", DType::I32),
    ("uint8", DType::U8),
    ("int8", DType::I8),
    ("int16", DType::I16),
    ("complex64", DType::C64),
    ("complex128", DType::C128),
    ("float8_e4m3fn", DType::F8E4M3FN),
    ("float8_e5m2", DType::F8E5M2),
];

impl Torch {
    /// PyTorch, imported now if it was not before.
    pub fn get(py: Python<'_>) -> PyResult<&'static Torch> {
        static TORCH: PyOnceLock<Torch> = PyOnceLock::new();
        TORCH.get_or_try_init(py, || Torch::load(py))
    }

    /// PyTorch, if the program has imported it.
    pub fn if_imported(py: Python<'_>) -> PyResult<Option<&'static Torch>> {
        let modules = py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?;
        if modules.contains(intern!(py, "torch"))? { Torch::get(py).map(Some) } else { Ok(None) }
    }

    fn load(py: Python<'_>) -> PyResult<Torch> {
        let torch = py.import("torch")?;
        let tensor_type = torch.getattr("Tensor")?.cast_into::<PyType>()?;
        let mut dtypes = Vec::new();
        for (name, dtype) in DTYPES {
            if let Ok(object) = torch.getattr(name) {
                dtypes.push((object.unbind(), dtype));
            }
        }
        let (to_object, from_object) = exchange(&tensor_type).unwrap_or_default();
        let guards = py.import("torch._C._dynamo.guards").and_then(|m| m.getattr("_reinterpret_tensor"));
        Ok(Torch {
            from_dlpack: torch.getattr("_C")?.getattr("_from_dlpack")?.unbind(),
            reinterpret: guards.ok().map(Bound::unbind),
            to_object,
            from_object,
            tensor_type: tensor_type.unbind(),
            dtypes,
        })
    }

    /// Whether an object is a tensor.
    pub fn is_tensor(&self, object: &Bound<'_, PyAny>) -> bool {
        // SAFETY: both are objects that are alive.
        unsafe { ffi::PyObject_TypeCheck(object.as_ptr(), self.tensor_type.as_ptr().cast()) != 0 }
    }

    /// The `torch.dtype` of an element type.
    pub fn dtype<'py>(&self, py: Python<'py>, dtype: DType) -> PyResult<Bound<'py, PyAny>> {
        let dtype = if dtype == DType::Index { DType::I64 } else { dtype };
        let found = self.dtypes.iter().find(|d| d.1 == dtype).map(|d| d.0.bind(py).clone());
        found.ok_or_else(|| sentence(py, format!("this PyTorch has no element type {dtype}")))
    }

    /// A tensor over the memory of one of PyTorch's, which it keeps.
    pub fn borrow(&self, object: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        let wrong = |e: String| PyTypeError::new_err(e);
        if !self.is_tensor(object) {
            return Err(wrong(format!("expected a torch.Tensor, got {}", object.get_type().name()?)));
        }
        let owner = Box::new(object.clone().unbind());
        if let Some(read) = self.from_object {
            let mut t = DLTensor::empty();
            // SAFETY: the object is a tensor, there is room for the answer, and the interpreter is held.
            if unsafe { read(object.as_ptr().cast(), &mut t) } == 0 {
                // SAFETY: PyTorch filled it in, and the memory is that of the object, which is kept.
                let tensor = unsafe { dlpack::borrow_dl(&t, owner) }.map_err(wrong)?;
                // DLPack says nothing of them.
                refuse_lazy(object, tensor.dtype())?;
                return Ok(tensor);
            }
            drop(PyErr::take(object.py()));
        }
        self.borrow_by_attributes(object, owner)
    }

    /// As [`Torch::borrow`], for a tensor that DLPack does not take (one with a gradient), and for a PyTorch without the table.
    fn borrow_by_attributes(&self, object: &Bound<'_, PyAny>, owner: Box<Py<PyAny>>) -> PyResult<Tensor> {
        let py = object.py();
        let wrong = |e: String| PyTypeError::new_err(e);
        if !object.getattr(intern!(py, "is_cpu"))?.is_truthy()? {
            return Err(wrong(format!("the tensor is on {}, not on the cpu", object.getattr(intern!(py, "device"))?)));
        }
        if object.getattr(intern!(py, "layout"))?.str()?.to_str()? != "torch.strided" {
            return Err(wrong("the tensor is sparse: only strided tensors can be passed".into()));
        }
        let torch_dtype = object.getattr(intern!(py, "dtype"))?;
        let dtype = self.dtypes.iter().find(|d| d.0.as_ptr() == torch_dtype.as_ptr()).map(|d| d.1);
        let dtype = dtype.ok_or_else(|| wrong(format!("there is no element type for {torch_dtype}")))?;
        refuse_lazy(object, dtype)?;
        let sizes: Vec<usize> = object.call_method0(intern!(py, "size"))?.extract()?;
        let strides: Vec<usize> = object.call_method0(intern!(py, "stride"))?.extract()?;
        let data: usize = object.call_method0(intern!(py, "data_ptr"))?.extract()?;
        // SAFETY: that is what PyTorch says of the tensor, which is kept.
        unsafe { dlpack::borrow(dtype, sizes.into(), strides.into(), data as *mut u8, owner) }.map_err(wrong)
    }

    /// A tensor of PyTorch over the memory of one of ours, which it keeps.
    pub fn give<'py>(&self, py: Python<'py>, t: &Tensor) -> PyResult<Bound<'py, PyAny>> {
        if let Some(make) = self.to_object {
            let managed = dlpack::export(t);
            let mut object = std::ptr::null_mut();
            // SAFETY: PyTorch takes the tensor if it succeeds; the interpreter is held.
            unsafe {
                if make(managed, &mut object) == 0 {
                    return Bound::from_owned_ptr_or_err(py, object.cast());
                }
                dlpack::discard(managed);
            }
            return Err(PyErr::fetch(py));
        }
        self.from_dlpack.bind(py).call1((dlpack::capsule(py, t, false)?,))
    }

    /// The results of a call as objects: an input that is returned as it is, a view of an input as a view of that tensor, others as new tensors.
    pub fn results<'py>(
        &self,
        py: Python<'py>,
        results: &[Returned],
        arguments: &[Option<Argument>],
        objects: &[Bound<'py, PyAny>],
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        // Storages that several results lie in, each as one tensor.
        let mut bases: Vec<(&Tensor, Bound<'py, PyAny>)> = Vec::new();
        let mut list = Vec::with_capacity(results.len());
        for r in results {
            let t = match r {
                Returned::Tensor(t) => t,
                Returned::Int(n) => {
                    list.push(n.into_pyobject(py)?.into_any());
                    continue;
                }
                Returned::Nothing => {
                    list.push(py.None().into_bound(py));
                    continue;
                }
            };
            // Memory of its own: what nearly all results have.
            if Arc::strong_count(t.storage()) == 1 && t.offset() == 0 {
                list.push(self.give(py, t)?);
                continue;
            }
            let same = |other: &Tensor| Arc::ptr_eq(other.storage(), t.storage());
            let input = arguments.iter().zip(objects).find_map(|(a, o)| match a {
                Some(Argument::Tensor(a)) if same(a) => Some((a, o)),
                _ => None,
            });
            if let Some((a, o)) = input {
                let alike = a.offset() == t.offset() && a.dtype() == t.dtype() && same_layout(a, t);
                list.push(if alike { o.clone() } else { self.view(py, o, a, t)? });
                continue;
            }
            let found = bases.iter().position(|b| same(b.0));
            let k = match found {
                Some(k) => k,
                None => {
                    let n = t.storage().len() / t.dtype().size();
                    let whole = t.as_strided(&[n], &[1], 0).map_err(|e| sentence(py, e.to_string()))?;
                    bases.push((t, self.give(py, &whole)?));
                    bases.len() - 1
                }
            };
            let view = self.view(py, &bases[k].1, bases[k].0, t)?;
            list.push(view);
        }
        Ok(list)
    }

    /// The tensor `t` as a view of `object`, a tensor of PyTorch over all of the storage of both.
    fn view<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        of: &Tensor,
        t: &Tensor,
    ) -> PyResult<Bound<'py, PyAny>> {
        if of.dtype() != t.dtype() {
            // PyTorch shares a storage between types only through its own views.
            return self.give(py, t);
        }
        let (sizes, strides) = (PyTuple::new(py, t.sizes())?, PyTuple::new(py, t.strides())?);
        match &self.reinterpret {
            Some(f) => f.bind(py).call1((object, sizes, strides, t.offset())),
            None => {
                let start: usize = object.call_method0(intern!(py, "storage_offset"))?.extract()?;
                object.call_method1(intern!(py, "as_strided"), (sizes, strides, start + t.offset()))
            }
        }
    }
}

/// An error for a tensor whose memory holds the conjugates or negatives of its elements.
fn refuse_lazy(object: &Bound<'_, PyAny>, dtype: DType) -> PyResult<()> {
    let py = object.py();
    let lazy = (dtype.is_complex() && object.call_method0(intern!(py, "is_conj"))?.is_truthy()?)
        || (dtype.is_float() && object.call_method0(intern!(py, "is_neg"))?.is_truthy()?);
    if lazy {
        let text = "the tensor is a lazy conjugate or negation: pass tensor.resolve_conj().resolve_neg()";
        return Err(PyTypeError::new_err(text));
    }
    Ok(())
}

/// Whether two tensors have the same sizes and strides; strides of dimensions without a second element do not matter.
fn same_layout(a: &Tensor, b: &Tensor) -> bool {
    a.sizes() == b.sizes() && (0..a.rank()).all(|d| a.sizes()[d] < 2 || a.strides()[d] == b.strides()[d])
}

/// The functions of `torch.Tensor`, if it has a table of version 1.
fn exchange(tensor_type: &Bound<'_, PyType>) -> Option<(Option<ToObject>, Option<FromObject>)> {
    let capsule = tensor_type.getattr("__dlpack_c_exchange_api__").ok()?;
    // SAFETY: a capsule of this name holds a table that lives as long as the process.
    let table = unsafe {
        let name = c"dlpack_exchange_api";
        if ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) == 0 {
            return None;
        }
        ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr()).cast::<Exchange>().as_ref()?
    };
    (table.version[0] == 1).then_some((table.managed_to_object, table.tensor_from_object))
}

/// The value of a symbol: an `int`, or what can stand for one.
pub fn integer(object: &Bound<'_, PyAny>) -> Option<i64> {
    if object.is_instance_of::<PyInt>() {
        object.extract().ok()
    } else {
        object.call_method0("__index__").ok()?.extract().ok()
    }
}
