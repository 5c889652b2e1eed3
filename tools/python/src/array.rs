//! Arrays of any library in and out: NumPy's by its own interface, others by DLPack. `Tensor` is what a call gives back where no library is known.

use crate::dlpack;
use crate::error::sentence;
use pyo3::exceptions::{PyAttributeError, PyBufferError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use rinductor::runtime::{Argument, Returned, Tensor};
use rinductor::scalar::DType;
use std::sync::Arc;

/// A tensor in memory, which `numpy.asarray`, `numpy.from_dlpack` and `torch.from_dlpack` take without a copy.
#[pyclass(frozen, name = "Tensor", module = "rinductor")]
pub struct PyTensor(pub Tensor);

#[pymethods]
impl PyTensor {
    /// The sizes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.sizes())
    }

    /// The strides, in elements.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.strides())
    }

    /// The element type as IR writes it, such as `f32`.
    #[getter]
    fn dtype(&self) -> String {
        self.0.dtype().to_string()
    }

    /// A capsule for other libraries.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if stream.is_some() {
            return Err(PyBufferError::new_err("the processor's memory has no streams"));
        }
        if dl_device.is_some_and(|d| d.0 != dlpack::CPU) {
            return Err(PyBufferError::new_err("the tensor is in the processor's memory, and is not copied elsewhere"));
        }
        let copied = match copy {
            Some(true) => {
                let copy = Tensor::zeros_strided(self.0.dtype(), self.0.sizes(), self.0.strides());
                let copied = copy.and_then(|c| c.copy_from(&self.0).map(|()| c));
                Some(copied.map_err(|e| sentence(py, e.to_string()))?)
            }
            _ => None,
        };
        dlpack::capsule(py, copied.as_ref().unwrap_or(&self.0), max_version.is_some_and(|v| v.0 >= 1))
    }

    /// The kind of device and its number, as DLPack has them.
    fn __dlpack_device__(&self) -> (i32, i32) {
        (dlpack::CPU, 0)
    }

    /// NumPy's description of the memory; not for element types that NumPy has not.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let typestr = typestr(self.0.dtype())
            .ok_or_else(|| PyAttributeError::new_err(format!("NumPy has no element type {}", self.0.dtype())))?;
        let size = self.0.dtype().size();
        let strides: Vec<usize> = self.0.strides().iter().map(|s| s * size).collect();
        let dict = PyDict::new(py);
        dict.set_item("version", 3)?;
        dict.set_item("typestr", typestr)?;
        dict.set_item("shape", PyTuple::new(py, self.0.sizes())?)?;
        dict.set_item("strides", PyTuple::new(py, strides)?)?;
        dict.set_item("data", (self.0.as_ptr() as usize, false))?;
        Ok(dict)
    }

    fn __repr__(&self) -> String {
        format!("<Tensor {} {:?}>", self.0.dtype(), self.0.sizes())
    }
}

/// Element types with NumPy's names for them.
const TYPES: [(DType, &str); 12] = [
    (DType::F32, "<f4"),
    (DType::I64, "<i8"),
    (DType::I1, "|b1"),
    (DType::F16, "<f2"),
    (DType::F64, "<f8"),
    (DType::I32, "<i4"),
    (DType::U8, "|u1"),
    (DType::I8, "|i1"),
    (DType::I16, "<i2"),
    (DType::C64, "<c8"),
    (DType::C128, "<c16"),
    (DType::Index, "<i8"),
];

fn typestr(dtype: DType) -> Option<&'static str> {
    TYPES.iter().find(|t| t.0 == dtype).map(|t| t.1)
}

/// Whether an object is an array (or scalar) of NumPy.
pub fn is_numpy(object: &Bound<'_, PyAny>) -> bool {
    object.get_type().module().is_ok_and(|m| m.to_str().is_ok_and(|m| m == "numpy"))
}

/// A tensor over the memory of an array, which it keeps; and whether it may only be read.
pub fn borrow(object: &Bound<'_, PyAny>) -> PyResult<(Tensor, bool)> {
    let py = object.py();
    if let Ok(tensor) = object.cast::<PyTensor>() {
        return Ok((tensor.get().0.clone(), false));
    }
    match object.getattr_opt(intern!(py, "__array_interface__"))? {
        Some(interface) if is_numpy(object) => of_numpy(object, &interface),
        _ if object.hasattr(intern!(py, "__dlpack__"))? => dlpack::import(object),
        _ => {
            let ty = object.get_type();
            Err(PyTypeError::new_err(format!("expected an array, got {}, which has no __dlpack__", ty.name()?)))
        }
    }
}

/// The same for an argument that a call writes into if `written` says so.
pub fn borrow_argument(object: &Bound<'_, PyAny>, written: bool) -> PyResult<Tensor> {
    match borrow(object)? {
        (_, true) if written => {
            Err(PyTypeError::new_err("the function writes into this argument, but the array is read-only"))
        }
        (tensor, _) => Ok(tensor),
    }
}

fn of_numpy(object: &Bound<'_, PyAny>, interface: &Bound<'_, PyAny>) -> PyResult<(Tensor, bool)> {
    let wrong = |e: String| PyTypeError::new_err(e);
    let name: String = interface.get_item("typestr")?.extract()?;
    let dtype = TYPES.iter().find(|t| t.1 == name).map(|t| t.0);
    let dtype = dtype.ok_or_else(|| wrong(format!("there is no element type for NumPy's '{name}'")))?;
    let (data, read_only): (usize, bool) = interface.get_item("data")?.extract()?;
    let sizes: Vec<usize> = interface.get_item("shape")?.extract()?;
    let strides = interface.get_item("strides")?;
    let strides = if strides.is_none() {
        rinductor::runtime::contiguous_strides(&sizes)
    } else {
        let bytes: Vec<i64> = strides.extract()?;
        let size = dtype.size() as i64;
        let element = |&b: &i64| (b >= 0 && b % size == 0).then_some((b / size) as usize);
        let elements: Option<Vec<usize>> = bytes.iter().map(element).collect();
        elements
            .ok_or_else(|| wrong(format!("strides of {bytes:?} bytes are negative or split elements: pass a copy")))?
    };
    // SAFETY: that is what NumPy says of the array, which is kept.
    let tensor = unsafe {
        dlpack::borrow(dtype, sizes.into(), strides.into(), data as *mut u8, Box::new(object.clone().unbind()))
    };
    Ok((tensor.map_err(wrong)?, read_only))
}

/// The results of a call as objects: an input that is returned is that object; others are arrays of NumPy if it is asked for and has the type.
pub fn results<'py>(
    py: Python<'py>,
    results: &[Returned],
    arguments: &[Option<Argument>],
    objects: &[Bound<'py, PyAny>],
    numpy: bool,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let asarray = if numpy { Some(py.import("numpy")?.getattr("asarray")?) } else { None };
    let one = |r: &Returned| match r {
        Returned::Int(n) => Ok(n.into_pyobject(py)?.into_any()),
        Returned::Nothing => Ok(py.None().into_bound(py)),
        Returned::Tensor(t) => {
            let is_it = |a: &Tensor| {
                let layout = (a.offset(), a.dtype(), a.sizes(), a.strides());
                Arc::ptr_eq(a.storage(), t.storage()) && layout == (t.offset(), t.dtype(), t.sizes(), t.strides())
            };
            let input = arguments.iter().zip(objects).find(|(a, _)| matches!(a, Some(Argument::Tensor(a)) if is_it(a)));
            if let Some((_, object)) = input {
                return Ok(object.clone());
            }
            let object = Bound::new(py, PyTensor(t.clone()))?.into_any();
            match &asarray {
                Some(asarray) if typestr(t.dtype()).is_some() => asarray.call1((object,)),
                _ => Ok(object),
            }
        }
    };
    results.iter().map(one).collect()
}
