//! `Op` and `Value`: handles of what is in a module. A handle whose op was erased raises.

use crate::error::{error, sentence};
use crate::module::{PyModule, State};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rinductor::defs::Signature;
use rinductor::driver::session::Dialects;
use rinductor::ir::{Attr, Block, Def, Op, Value};
use rinductor::support::SourceMap;
use rinductor::support::diag::render::resolve;
use rinductor::text::{self, AttrText, PrintOptions};
use std::hash::{DefaultHasher, Hash, Hasher};

/// An operation of a module.
///
/// It stays the same operation while the module is changed, also by passes; once the operation is erased, using it raises `RinductorError`.
#[pyclass(frozen, name = "Op", module = "rinductor")]
pub struct PyOp {
    module: Py<PyModule>,
    op: Op,
}

/// A value of a module: a result of an operation or an argument of a block.
#[pyclass(frozen, name = "Value", module = "rinductor")]
pub struct PyValue {
    module: Py<PyModule>,
    value: Value,
}

/// A block of a region: arguments, then operations.
#[pyclass(frozen, name = "Block", module = "rinductor")]
pub struct PyBlock {
    module: Py<PyModule>,
    block: Block,
}

/// Handles of ops of a module.
pub fn handles(module: Bound<'_, PyModule>, ops: impl FnOnce(&State) -> Vec<Op>) -> PyResult<Vec<PyOp>> {
    let py = module.py();
    let list = module.get().with(py, |state| Ok(ops(state)))?;
    let module = module.unbind();
    Ok(list.into_iter().map(|op| PyOp { module: module.clone_ref(py), op }).collect())
}

impl PyOp {
    /// Does something with the op, which must be alive.
    fn with<R>(&self, py: Python<'_>, f: impl FnOnce(&mut State, Op) -> PyResult<R>) -> PyResult<R> {
        self.module.get().with(py, |state| {
            if !state.ir.has_op(self.op) {
                return Err(sentence(py, "the operation of this handle was erased"));
            }
            f(state, self.op)
        })
    }

    fn value(&self, py: Python<'_>, value: Value) -> PyValue {
        PyValue { module: self.module.clone_ref(py), value }
    }
}

/// The value of a handle, which must be of this module and alive.
fn checked(py: Python<'_>, module: &Py<PyModule>, value: &PyValue) -> PyResult<Value> {
    if !value.module.is(module) {
        return Err(sentence(py, "the value is of another module"));
    }
    module.get().with(py, |state| {
        if state.ir.has_value(value.value) {
            Ok(value.value)
        } else {
            Err(sentence(py, "what defines the value of this handle was erased"))
        }
    })
}

fn check_place(what: &str, i: usize, n: usize) -> PyResult<()> {
    if i < n { Ok(()) } else { Err(PyIndexError::new_err(format!("there is no {what} {i}, only {n}"))) }
}

#[pymethods]
impl PyOp {
    /// The name, such as `aten.add.Tensor`.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |state, op| Ok(state.ir.op_name(op).to_string()))
    }

    /// Whether it was not erased.
    #[getter]
    fn is_alive(&self, py: Python<'_>) -> PyResult<bool> {
        self.module.get().with(py, |state| Ok(state.ir.has_op(self.op)))
    }

    /// The module it is in.
    #[getter]
    fn module(&self, py: Python<'_>) -> Py<PyModule> {
        self.module.clone_ref(py)
    }

    /// The operands.
    #[getter]
    fn operands(&self, py: Python<'_>) -> PyResult<Vec<PyValue>> {
        let list = self.with(py, |state, op| Ok(state.ir.operand_list(op)))?;
        Ok(list.into_iter().map(|v| self.value(py, v)).collect())
    }

    /// The results.
    #[getter]
    fn results(&self, py: Python<'_>) -> PyResult<Vec<PyValue>> {
        let list: Vec<Value> = self.with(py, |state, op| Ok(state.ir.results(op).collect()))?;
        Ok(list.into_iter().map(|v| self.value(py, v)).collect())
    }

    /// The attributes and properties, by name, as text.
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        self.with(py, |state, op| {
            let ir = &state.ir;
            for part in [ir.op(op).attrs, ir.op(op).props] {
                for &(name, value) in ir.dict(part) {
                    dict.set_item(ir.text(name), AttrText::of_attr(ir, value).to_string())?;
                }
            }
            Ok(())
        })?;
        Ok(dict)
    }

    /// An attribute or property as text; None if it has none of this name.
    fn get_attribute(&self, py: Python<'_>, name: &str) -> PyResult<Option<String>> {
        self.with(py, |state, op| Ok(state.ir.attr_of(op, name).map(|a| AttrText::of_attr(&state.ir, a).to_string())))
    }

    /// Sets an attribute or property from its text; None removes it.
    #[pyo3(signature = (name, text))]
    fn set_attribute(&self, py: Python<'_>, name: &str, text: Option<&str>) -> PyResult<()> {
        self.with(py, |state, op| {
            let value = match text {
                Some(text) => Some(read_attribute(py, state, text)?),
                None => None,
            };
            state.verified = false;
            let ir = &mut state.ir;
            let (props, attrs) = (ir.op(op).props, ir.op(op).attrs);
            if ir.dict_get(attrs, name).is_some() {
                ir.set_attr(op, name, value);
            } else if ir.dict_get(props, name).is_some() || is_property(&state.dialects, ir.op_name(op), name) {
                ir.set_prop(op, name, value);
            } else {
                ir.set_attr(op, name, value);
            }
            Ok(())
        })
    }

    /// Sets an operand.
    fn set_operand(&self, py: Python<'_>, index: usize, value: &PyValue) -> PyResult<()> {
        let value = checked(py, &self.module, value)?;
        self.with(py, |state, op| {
            check_place("operand", index, state.ir.num_operands(op))?;
            state.verified = false;
            state.ir.set_operand(op, index, value);
            Ok(())
        })
    }

    /// Puts values in place of the results wherever they are used: one value for each result, or an operation with as many results.
    #[pyo3(signature = (*values))]
    fn replace_all_uses_with(&self, py: Python<'_>, values: Vec<Bound<'_, PyAny>>) -> PyResult<()> {
        let mut list = Vec::new();
        for v in &values {
            if let Ok(op) = v.cast::<PyOp>() {
                for value in op.get().results(py)? {
                    list.push(checked(py, &self.module, &value)?);
                }
            } else if let Ok(value) = v.cast::<PyValue>() {
                list.push(checked(py, &self.module, value.get())?);
            } else {
                return Err(PyTypeError::new_err("expected a Value or an Op"));
            }
        }
        self.with(py, |state, op| {
            let results: Vec<Value> = state.ir.results(op).collect();
            if results.len() != list.len() {
                let text = format!("{} values cannot stand for {} results", list.len(), results.len());
                return Err(sentence(py, text));
            }
            state.verified = false;
            for (from, to) in results.into_iter().zip(list) {
                state.ir.replace_all_uses(from, to);
            }
            Ok(())
        })
    }

    /// Erases the operation with all that is nested in it. Its results must be unused.
    fn erase(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |state, op| {
            let ir = &mut state.ir;
            if ir.parent_block(op).is_none() {
                return Err(sentence(py, "the module itself cannot be erased"));
            }
            let used = ir.results(op).find_map(|v| ir.uses(v).next());
            if let Some((user, _)) = used {
                let text =
                    format!("'{}' is used by '{}': call replace_all_uses_with first", ir.op_name(op), ir.op_name(user));
                return Err(sentence(py, text));
            }
            state.verified = false;
            ir.erase(op);
            Ok(())
        })
    }

    /// The regions, each as a list of blocks.
    #[getter]
    fn regions(&self, py: Python<'_>) -> PyResult<Vec<Vec<PyBlock>>> {
        let list: Vec<Vec<Block>> = self.with(py, |state, op| {
            Ok(state.ir.regions_of(op).iter().map(|&r| state.ir.blocks_of(r).to_vec()).collect())
        })?;
        let block = |b: Block| PyBlock { module: self.module.clone_ref(py), block: b };
        Ok(list.into_iter().map(|blocks| blocks.into_iter().map(block).collect()).collect())
    }

    /// The operation whose region it is in; None for the module.
    #[getter]
    fn parent(&self, py: Python<'_>) -> PyResult<Option<PyOp>> {
        let parent = self.with(py, |state, op| Ok(state.ir.parent_op(op)))?;
        Ok(parent.map(|op| PyOp { module: self.module.clone_ref(py), op }))
    }

    /// Where it comes from: `(file, line, column)`, or None.
    #[getter]
    fn location(&self, py: Python<'_>) -> PyResult<Option<(String, u32, u32)>> {
        self.with(py, |state, op| Ok(resolve(&state.ir.place(state.ir.op(op).loc), &state.sources)))
    }

    /// The text of the operation.
    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |state, op| {
            let text = text::print_op(&state.ir, &state.dialects.registry, &PrintOptions::default(), op);
            Ok(text.trim_end().to_string())
        })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.module.get().with(py, |state| {
            let name = if state.ir.has_op(self.op) { state.ir.op_name(self.op) } else { "(erased)" };
            Ok(format!("<Op {name}>"))
        })
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyOp>().is_ok_and(|o| o.get().module.is(&self.module) && o.get().op == self.op)
    }

    fn __hash__(&self) -> u64 {
        hash(&self.module, self.op)
    }
}

fn hash(module: &Py<PyModule>, id: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    (module.as_ptr() as usize, id).hash(&mut hasher);
    hasher.finish()
}

/// Reads an attribute into the module.
fn read_attribute(py: Python<'_>, state: &mut State, text: &str) -> PyResult<Attr> {
    let mut sources = SourceMap::new();
    let id = sources.add("<attribute>", text).map_err(|e| sentence(py, e))?;
    text::parse_attr(&mut state.ir, &sources, id, &state.dialects.registry).map_err(|e| error(py, &e, &sources))
}

/// Whether the definition of an op names a property so.
fn is_property(dialects: &Dialects, op: &str, name: &str) -> bool {
    dialects.library.op(op).is_some_and(|def| match &def.signature {
        Signature::Schema(sig) => sig.params.iter().any(|p| &*p.name.text == name),
        Signature::Named(sig) => sig.attrs.iter().any(|a| &*a.name.text == name),
    })
}

impl PyValue {
    fn with<R>(&self, py: Python<'_>, f: impl FnOnce(&mut State, Value) -> PyResult<R>) -> PyResult<R> {
        let value = checked(py, &self.module, self)?;
        self.module.get().with(py, |state| f(state, value))
    }
}

#[pymethods]
impl PyValue {
    /// The name without `%`; None if it has none.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |state, v| Ok(state.ir.value_name(v).map(str::to_string)))
    }

    /// The type, as text.
    #[getter(r#type)]
    fn ty(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |state, v| Ok(AttrText::of_type(&state.ir, state.ir.value_type(v)).to_string()))
    }

    /// The operation of which it is a result; None for an argument of a block.
    #[getter]
    fn owner(&self, py: Python<'_>) -> PyResult<Option<PyOp>> {
        let op = self.with(py, |state, v| Ok(state.ir.def_op(v)))?;
        Ok(op.map(|op| PyOp { module: self.module.clone_ref(py), op }))
    }

    /// Which result or argument it is, from 0.
    #[getter]
    fn index(&self, py: Python<'_>) -> PyResult<u32> {
        self.with(py, |state, v| {
            Ok(match state.ir.def(v) {
                Def::Result(_, i) | Def::Arg(_, i) => i,
            })
        })
    }

    /// The operations that use it, each once.
    #[getter]
    fn users(&self, py: Python<'_>) -> PyResult<Vec<PyOp>> {
        let list = self.with(py, |state, v| Ok(state.ir.users(v)))?;
        Ok(list.into_iter().map(|op| PyOp { module: self.module.clone_ref(py), op }).collect())
    }

    /// Puts another value in its place wherever it is used.
    fn replace_all_uses_with(&self, py: Python<'_>, value: &PyValue) -> PyResult<()> {
        let to = checked(py, &self.module, value)?;
        self.with(py, |state, from| {
            state.verified = false;
            state.ir.replace_all_uses(from, to);
            Ok(())
        })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.module.get().with(py, |state| {
            if !state.ir.has_value(self.value) {
                return Ok("<Value (erased)>".to_string());
            }
            let name = state.ir.value_name(self.value).unwrap_or("");
            let ty = AttrText::of_type(&state.ir, state.ir.value_type(self.value));
            Ok(format!("<Value %{name} : {ty}>"))
        })
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyValue>().is_ok_and(|o| o.get().module.is(&self.module) && o.get().value == self.value)
    }

    fn __hash__(&self) -> u64 {
        hash(&self.module, self.value)
    }
}

impl PyBlock {
    fn with<R>(&self, py: Python<'_>, f: impl FnOnce(&mut State, Block) -> PyResult<R>) -> PyResult<R> {
        self.module.get().with(py, |state| {
            let ir = &state.ir;
            let owner = ir.block_region(self.block).and_then(|r| ir.region_op(r));
            if !owner.is_some_and(|op| ir.has_op(op)) {
                return Err(sentence(py, "the block of this handle was erased"));
            }
            f(state, self.block)
        })
    }
}

#[pymethods]
impl PyBlock {
    /// The arguments.
    #[getter]
    fn arguments(&self, py: Python<'_>) -> PyResult<Vec<PyValue>> {
        let list = self.with(py, |state, b| Ok(state.ir.block_args(b).to_vec()))?;
        Ok(list.into_iter().map(|value| PyValue { module: self.module.clone_ref(py), value }).collect())
    }

    /// The operations, in order.
    #[getter]
    fn ops(&self, py: Python<'_>) -> PyResult<Vec<PyOp>> {
        let list = self.with(py, |state, b| Ok(state.ir.block_op_list(b)))?;
        Ok(list.into_iter().map(|op| PyOp { module: self.module.clone_ref(py), op }).collect())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |state, b| Ok(format!("<Block with {} operations>", state.ir.block_ops(b).count())))
    }
}
