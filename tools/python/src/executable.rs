//! `Executable`: a compiled function that Python calls with arrays and tensors.

use crate::array;
use crate::error::{of_call, sentence};
use crate::torch::{Torch, integer};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use rinductor::runtime::exec::Executable;
use rinductor::runtime::{Argument, Attr, Attrs, HostCall, HostInput, HostOps, Returned, Tensor};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// A function of a module, compiled to machine code.
///
/// Call it with NumPy arrays or anything else that has `__dlpack__`, and ints for symbols (or leave the symbols out: they are bound from the
/// sizes of the tensors). Nothing is copied. Results are NumPy arrays where inputs were, tensors of PyTorch where inputs were, and
/// `rinductor.Tensor` otherwise. Several threads may call it at once.
#[pyclass(frozen, name = "Executable", module = "rinductor")]
pub struct PyExecutable {
    executable: Executable,
    name: String,
    parameters: Vec<Parameter>,
    host: Option<Arc<PyHost>>,
}

/// What it takes at one place.
struct Parameter {
    name: String,
    tensor: bool,
    written: bool,
}

impl PyExecutable {
    pub fn new(executable: Executable, name: String, host: Option<Arc<PyHost>>) -> Self {
        let parameters = executable
            .parameters()
            .map(|p| Parameter { name: p.name.to_string(), tensor: p.dtype.is_some(), written: p.written })
            .collect();
        PyExecutable { executable, name, parameters, host }
    }

    /// Runs it without holding the interpreter.
    fn run(&self, py: Python<'_>, arguments: &[Option<Argument>]) -> PyResult<Vec<Returned>> {
        py.detach(|| self.executable.run_bound(arguments)).map_err(|e| of_call(py, e))
    }

    fn wrong_number(&self, py: Python<'_>, given: usize) -> PyErr {
        let (tensors, symbols) = self.executable.arity();
        let takes = match symbols {
            0 => format!("{tensors} tensors"),
            n => format!("{tensors} tensors and the values of {n} symbols, or the tensors alone"),
        };
        sentence(py, format!("@{} takes {takes}; {given} arguments were given", self.name))
    }

    fn wrong_argument(&self, py: Python<'_>, p: &Parameter, e: PyErr) -> PyErr {
        PyTypeError::new_err(format!("argument %{} of @{}: {}", p.name, self.name, e.value(py)))
    }

    fn symbol(&self, object: &Bound<'_, PyAny>, p: &Parameter) -> PyResult<Argument> {
        let n = integer(object).ok_or_else(|| {
            let e = PyTypeError::new_err("expected the value of a symbol, an int");
            self.wrong_argument(object.py(), p, e)
        })?;
        Ok(Argument::Int(n))
    }
}

#[pymethods]
impl PyExecutable {
    /// Calls the function.
    #[pyo3(signature = (*args))]
    fn __call__<'py>(&self, py: Python<'py>, args: &Bound<'py, PyTuple>) -> PyResult<Py<PyTuple>> {
        let tensors = self.parameters.iter().filter(|p| p.tensor).count();
        let all = args.len() == self.parameters.len();
        if !all && args.len() != tensors {
            return Err(self.wrong_number(py, args.len()));
        }
        let mut arguments = Vec::with_capacity(self.parameters.len());
        let mut objects = Vec::with_capacity(self.parameters.len());
        let mut given = args.iter();
        let torch = Torch::if_imported(py)?;
        let (mut numpy, mut of_torch) = (false, false);
        for p in &self.parameters {
            if !p.tensor && !all {
                arguments.push(None);
                objects.push(py.None().into_bound(py));
                continue;
            }
            let object = given.next().ok_or_else(|| self.wrong_number(py, args.len()))?;
            arguments.push(Some(if p.tensor {
                let taken = match torch.filter(|t| t.is_tensor(&object)) {
                    Some(torch) => {
                        of_torch = true;
                        torch.borrow(&object)
                    }
                    None => {
                        numpy |= array::is_numpy(&object);
                        array::borrow_argument(&object, p.written)
                    }
                };
                Argument::Tensor(taken.map_err(|e| self.wrong_argument(py, p, e))?)
            } else {
                self.symbol(&object, p)?
            }));
            objects.push(object);
        }
        let results = self.run(py, &arguments)?;
        let list = match torch.filter(|_| of_torch) {
            Some(torch) => torch.results(py, &results, &arguments, &objects)?,
            None => array::results(py, &results, &arguments, &objects, numpy)?,
        };
        Ok(PyTuple::new(py, list)?.unbind())
    }

    /// Calls the function with tensors of PyTorch and ints, one for each argument, and returns a list.
    ///
    /// `args` is emptied: the call owns what is in it. A result that is an input is that very tensor; other results are new tensors
    /// with the strides that the function's type says.
    fn call_torch<'py>(&self, py: Python<'py>, args: &Bound<'py, PyList>) -> PyResult<Bound<'py, PyList>> {
        let torch = Torch::get(py)?;
        if args.len() != self.parameters.len() {
            return Err(self.wrong_number(py, args.len()));
        }
        let mut arguments = Vec::with_capacity(self.parameters.len());
        let mut objects = Vec::with_capacity(self.parameters.len());
        for (p, object) in self.parameters.iter().zip(args.iter()) {
            arguments.push(Some(if p.tensor {
                Argument::Tensor(torch.borrow(&object).map_err(|e| self.wrong_argument(py, p, e))?)
            } else {
                self.symbol(&object, p)?
            }));
            objects.push(object);
        }
        args.del_slice(0, args.len())?;
        let results = self.run(py, &arguments)?;
        PyList::new(py, torch.results(py, &results, &arguments, &objects)?)
    }

    /// Sets how many threads kernels and extern ops may use in calls that begin from now on; 0 for as many as there usually are.
    fn set_threads(&self, threads: usize) {
        self.executable.set_threads(threads);
    }

    /// The name of the function.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// How many kernels a call runs.
    #[getter]
    fn kernels(&self) -> usize {
        self.executable.launches()
    }

    /// The arguments, in order: for each its name, whether it is a tensor (else the value of a symbol), and whether calls write into it.
    #[getter]
    fn parameters(&self) -> Vec<(&str, bool, bool)> {
        self.parameters.iter().map(|p| (p.name.as_str(), p.tensor, p.written)).collect()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Nobody else has the host, so that its callable is this object's.
        let callable = self.host.as_ref().and_then(|h| h.callable.try_lock().ok());
        callable.map_or(Ok(()), |c| visit.call(&*c))
    }

    fn __clear__(&self) {
        if let Some(host) = &self.host {
            drop(host.callable.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
    }

    fn __repr__(&self) -> String {
        let names: Vec<&str> = self.parameters.iter().map(|p| p.name.as_str()).collect();
        format!("<Executable @{}({})>", self.name, names.join(", "))
    }
}

/// A Python callable that computes ops.
pub struct PyHost {
    /// Called with name, attributes, inputs, outputs. None when the collector of garbage has taken it.
    callable: Mutex<Option<Py<PyAny>>>,
    /// The ops that it computes although the runtime can.
    names: HashSet<String>,
}

impl PyHost {
    pub fn new(callable: Py<PyAny>, names: HashSet<String>) -> PyHost {
        PyHost { callable: Mutex::new(Some(callable)), names }
    }
}

impl HostOps for PyHost {
    fn computes(&self, name: &str, native: bool) -> bool {
        !native || self.names.contains(name)
    }

    fn call(&self, call: &HostCall<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Python::attach(|py| self.call_attached(py, call)).map_err(Into::into)
    }
}

impl PyHost {
    fn call_attached(&self, py: Python<'_>, call: &HostCall<'_>) -> PyResult<()> {
        let torch = Torch::get(py)?;
        let mut inputs = Vec::with_capacity(call.inputs.len());
        for input in call.inputs {
            inputs.push(match input {
                HostInput::Tensor(t) => torch.give(py, t)?,
                HostInput::Int(n) => n.into_pyobject(py)?.into_any(),
                HostInput::Nothing => py.None().into_bound(py),
            });
        }
        let give = |t: &Option<Tensor>| match t {
            Some(t) => torch.give(py, t),
            None => Ok(py.None().into_bound(py)),
        };
        let outputs = call.outputs.iter().map(give).collect::<PyResult<Vec<_>>>()?;
        let attrs = attributes(py, torch, call.attrs)?;
        let callable = self.callable.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|c| c.clone_ref(py));
        let callable = callable.ok_or_else(|| sentence(py, format!("nobody computes {} any more", call.name)))?;
        callable.call1(py, (call.name, attrs, PyList::new(py, inputs)?, PyList::new(py, outputs)?))?;
        Ok(())
    }
}

/// Attributes as Python's values; an element type is a `torch.dtype`.
fn attributes<'py>(py: Python<'py>, torch: &Torch, attrs: &Attrs) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in attrs.iter() {
        match value {
            Attr::Int(n) => dict.set_item(name, n)?,
            Attr::Float(x) => dict.set_item(name, x)?,
            Attr::Bool(b) => dict.set_item(name, b)?,
            Attr::Str(s) => dict.set_item(name, s)?,
            Attr::Ints(l) => dict.set_item(name, l)?,
            Attr::Floats(l) => dict.set_item(name, l)?,
            Attr::Bools(l) => dict.set_item(name, l)?,
            Attr::DType(d) => dict.set_item(name, torch.dtype(py, *d)?)?,
            Attr::None => dict.set_item(name, py.None())?,
        }
    }
    Ok(dict)
}

/// Runs kernels on the threads of the OpenMP runtime that this process has loaded, as torch's own loops are; false if there is none.
#[pyfunction]
pub fn use_host_threads() -> bool {
    rinductor::codegen::host_threads::use_openmp()
}
