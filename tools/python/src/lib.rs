//! The native half of the Python package `rinductor`: modules of IR, passes over them, and compiled functions that are called with arrays.
//!
//! | file | holds |
//! |---|---|
//! | `module` | `Module`: text, passes, translations, interpretation, compilation |
//! | `op` | `Op`, `Value`, `Block`: handles of what is in a module |
//! | `executable` | `Executable`, and ops that Python computes |
//! | `array`, `torch`, `dlpack` | tensors in and out, without copies |
//! | `cache` | the cache on disk: `compile_text`, and what Python keeps |
//! | `catalog` | what passes, dialects and ops there are |
//! | `error` | `RinductorError` |

mod array;
mod cache;
mod catalog;
mod dlpack;
mod error;
mod executable;
mod module;
mod op;
mod torch;

use pyo3::prelude::*;

/// The native half of `rinductor`.
#[pymodule]
mod _core {
    use super::*;

    #[pymodule_export]
    use super::array::PyTensor;
    #[pymodule_export]
    use super::cache::{compile_text, keep, kept, kept_executables, text_key};
    #[pymodule_export]
    use super::catalog::{
        list_dialects, list_ops, list_passes, op_treatment, product_refusal, tuned_pipeline, typical_size,
    };
    #[pymodule_export]
    use super::error::{Diagnostic, RinductorError};
    #[pymodule_export]
    use super::executable::PyExecutable;
    #[pymodule_export]
    use super::executable::use_host_threads;
    #[pymodule_export]
    use super::module::PyModule;
    #[pymodule_export]
    use super::op::{PyBlock, PyOp, PyValue};

    #[pymodule_init]
    fn init(m: &Bound<'_, pyo3::types::PyModule>) -> PyResult<()> {
        // A process that is forked from this one makes threads of its own.
        rinductor::codegen::threads::start();
        m.add("__version__", env!("CARGO_PKG_VERSION"))?;
        m.add("FUSION_REMARKS", rinductor::driver::args::FUSION)?;
        let none = pyo3::types::PyTuple::empty(m.py());
        m.py().get_type::<RinductorError>().setattr("diagnostics", none)
    }
}
