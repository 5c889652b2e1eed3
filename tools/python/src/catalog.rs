//! What passes, dialects and ops there are, and what becomes of each op.

use crate::error::error;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rinductor::defs::{Library, Signature};
use rinductor::dialects::aten::CopyOp;
use rinductor::driver::database::Database;
use rinductor::driver::help::first_sentence;
use rinductor::driver::schedule;
use rinductor::driver::session::Dialects;
use rinductor::pass::summary;
use rinductor::passes;
use rinductor::passes::kernels_tile::host_vector_bytes;
use rinductor::runtime::extern_op;
use rinductor::sched::cost::TYPICAL_SIZE;
use rinductor::sched::product::Shape;
use rinductor::sched::product_rule;
use rinductor::support::SourceMap;

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
    // Asked for once, they are at hand for each op.
    let _ = dialects.library.rules();
    let dict = PyDict::new(py);
    for name in dialects.library.op_names() {
        if let Some(treatment) = treatment(&dialects.library, name) {
            dict.set_item(name, treatment)?;
        }
    }
    Ok(dict)
}

/// What becomes of one op of the graph level, as `list_ops` has it; None if there is no such op. It reads no other op's definition.
#[pyfunction]
pub fn op_treatment(name: &str) -> Option<&'static str> {
    treatment(&Dialects::builtin().library, name)
}

/// Why a product of matrices of these sizes is left to a library; None if a kernel is faster. Sizes that are not known are `typical_size()`; `in_order` is
/// whether the second factor is contiguous along its columns, `turned` whether along what is summed.
#[pyfunction]
pub fn product_refusal(batch: i64, m: i64, n: i64, k: i64, in_order: bool, turned: bool) -> Option<String> {
    product_rule::pays(Shape { batch, m, n, k, in_order, turned }, host_vector_bytes())
        .err()
        .map(|why| why.0.into_owned())
}

/// The size that a symbol is taken to have where only an estimate is wanted.
#[pyfunction]
pub fn typical_size() -> i64 {
    TYPICAL_SIZE
}

fn treatment(library: &Library, name: &str) -> Option<&'static str> {
    let def = library.op(name)?;
    if !matches!(def.signature, Signature::Schema(_)) {
        return None;
    }
    // What `aten.copy_` means stands in the passes: it is how a graph writes into its arguments.
    if !def.semantics.is_empty() || name == CopyOp::NAME {
        Some("lowered")
    } else if library.is_decomposed(name) {
        Some("decomposed")
    } else if extern_op(name).is_some() {
        Some("extern")
    } else {
        Some("opaque")
    }
}

/// The text of a pipeline in which kernels that a file of schedules knows are computed as it says. `schedules` is what the file holds.
#[pyfunction]
pub fn tuned_pipeline(py: Python<'_>, pipeline: &str, file: &str, schedules: &str) -> PyResult<String> {
    let mut sources = SourceMap::new();
    let dialects = Dialects::builtin();
    if let Err(wrong) = Database::read(file, schedules, &dialects, &mut sources) {
        return Err(error(py, &wrong, &sources));
    }
    schedule::pipeline_with_database(pipeline, file, schedules).map_err(|d| error(py, &[d], &sources))
}
