//! What passes, dialects and ops there are, and what becomes of each op.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rinductor::defs::{OpDef, Signature};
use rinductor::dialects::aten::CopyOp;
use rinductor::driver::help::first_sentence;
use rinductor::driver::session::Dialects;
use rinductor::pass::summary;
use rinductor::passes;
use rinductor::runtime::extern_op;
use std::collections::HashSet;

/// The passes: name and what each does, in one sentence.
#[pyfunction]
pub fn list_passes(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for pass in passes::TABLE {
        dict.set_item(pass.name(), summary(*pass))?;
    }
    Ok(dict)
}

/// The dialects: name and what each holds, in one sentence.
#[pyfunction]
pub fn list_dialects(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for dialect in Dialects::builtin().library.dialects() {
        dict.set_item(&*dialect.name.text, first_sentence(&dialect.doc))?;
    }
    Ok(dict)
}

/// The ops of the graph level, and what becomes of each: `lowered` (to loops, and so to kernels), `decomposed` (written as other ops first), `extern`
/// (the runtime calls a function of its own), or `opaque` (only a host can compute it, see `Module.compile`).
#[pyfunction]
pub fn list_ops(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let dialects = Dialects::builtin();
    let library = &dialects.library;
    let rules = library.rules().iter().filter(|r| r.decomposition);
    let decomposed: HashSet<&str> = rules.map(|r| &*r.pattern.op.text).collect();
    let dict = PyDict::new(py);
    for name in library.op_names() {
        let Some(def) = library.op(name) else { continue };
        if !is_of_graph(def) {
            continue;
        }
        // What `aten.copy_` means stands in the passes: it is how a graph writes into its arguments.
        let fate = if !def.semantics.is_empty() || name == CopyOp::NAME {
            "lowered"
        } else if decomposed.contains(name) {
            "decomposed"
        } else if extern_op(name).is_some() {
            "extern"
        } else {
            "opaque"
        };
        dict.set_item(name, fate)?;
    }
    Ok(dict)
}

fn is_of_graph(def: &OpDef) -> bool {
    matches!(def.signature, Signature::Schema(_))
}
