//! `compile_text`: from a text to a compiled function in one step, through the cache on disk.

use crate::executable::PyExecutable;
use pyo3::prelude::*;

/// Compiles the only public function of a text: what `Module.parse(text, name).run(pipeline).compile(threads=threads)` gives, but what any process has
/// compiled before is taken from the cache on disk (docs/python.md). What is wrong with that cache is a warning in the log `rinductor`.
#[pyfunction]
#[pyo3(signature = (text, name="<string>", pipeline="cpu", threads=0))]
pub fn compile_text(py: Python<'_>, text: &str, name: &str, pipeline: &str, threads: usize) -> PyResult<PyExecutable> {
    of_text(py, text, name, pipeline, threads)
}

#[cfg(feature = "llvm")]
use with_llvm::of_text;

#[cfg(not(feature = "llvm"))]
fn of_text(py: Python<'_>, _: &str, _: &str, _: &str, _: usize) -> PyResult<PyExecutable> {
    Err(crate::error::sentence(py, "this build has no LLVM: use Module.interpret(), or build with the feature 'llvm'"))
}

#[cfg(feature = "llvm")]
mod with_llvm {
    use crate::error::error;
    use crate::executable::PyExecutable;
    use pyo3::prelude::*;
    use rinductor::driver::cached::{Cached, compile_text};
    use rinductor::runtime::cache::Settings;
    use std::sync::{Arc, Mutex, PoisonError};

    /// The cache that the environment has named last: it warns once of a folder that takes nothing.
    static CACHE: Mutex<Option<Arc<Cached>>> = Mutex::new(None);

    /// The cache that the environment names now, if there is to be one.
    fn cache(py: Python<'_>) -> PyResult<Option<Arc<Cached>>> {
        let settings = match Settings::from_variables(|name| std::env::var_os(name)) {
            Ok(Some(settings)) => settings,
            Ok(None) => return Ok(None),
            Err(why) => return warn(py, &format!("{why}; there is no cache")).map(|()| None),
        };
        let mut last = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_none_or(|c| *c.cache().settings() != settings) {
            *last = Some(Arc::new(Cached::new(settings)));
        }
        Ok(last.clone())
    }

    /// A warning in the log `rinductor`.
    fn warn(py: Python<'_>, text: &str) -> PyResult<()> {
        let log = py.import("logging")?.call_method1("getLogger", ("rinductor",))?;
        log.call_method1("warning", ("%s", text)).map(|_| ())
    }

    pub fn of_text(py: Python<'_>, text: &str, name: &str, pipeline: &str, threads: usize) -> PyResult<PyExecutable> {
        let cached = cache(py)?;
        let made = py.detach(|| compile_text(text, name, pipeline, cached.as_deref()));
        for text in cached.iter().flat_map(|c| c.cache().warnings()) {
            warn(py, &text)?;
        }
        let (executable, name) = made.map_err(|(wrong, sources)| error(py, &wrong, &sources))?;
        Ok(PyExecutable::new(executable.with_threads(threads), name, None))
    }
}
