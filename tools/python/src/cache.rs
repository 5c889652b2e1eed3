//! Compiling through the cache on disk: texts, and whatever else Python keeps there.

use crate::executable::PyExecutable;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rinductor::runtime::cache::{Key, Settings};
use std::sync::{Arc, Mutex, PoisonError};

/// Compiles the only public function of a text: what `Module.parse(text, name).run(pipeline).compile(threads=threads)` gives, but what any process has
/// compiled before is taken from the cache on disk (docs/python.md). What is wrong with that cache is a warning in the log `rinductor`.
#[pyfunction]
#[pyo3(signature = (text, name="<string>", pipeline="cpu", threads=0))]
pub fn compile_text(py: Python<'_>, text: &str, name: &str, pipeline: &str, threads: usize) -> PyResult<PyExecutable> {
    of_text(py, text, name, pipeline, threads)
}

#[cfg(feature = "llvm")]
use with_llvm::{Cached, of_text};
#[cfg(feature = "llvm")]
pub use with_llvm::{kept_executables, text_key};
#[cfg(not(feature = "llvm"))]
use without::{Cached, of_text};
#[cfg(not(feature = "llvm"))]
pub use without::{kept_executables, text_key};

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

/// Warns of what a cache has found to be wrong.
fn tell(py: Python<'_>, cached: Option<&Cached>) -> PyResult<()> {
    cached.iter().flat_map(|c| c.cache().warnings()).try_for_each(|text| warn(py, &text))
}

/// The key of what Python keeps. What is kept of a graph names executables, which are for one kind of machine: so is this.
fn key_of(parts: &[Vec<u8>]) -> Key {
    let machine = text_key("", "");
    let parts = parts.iter().map(|p| ("python", p.as_slice()));
    Key::of(&std::iter::once(("machine", machine.as_bytes())).chain(parts).collect::<Vec<_>>())
}

/// The bytes that were kept for these parts of a key.
#[pyfunction]
pub fn kept(py: Python<'_>, parts: Vec<Vec<u8>>) -> PyResult<Option<Bound<'_, PyBytes>>> {
    let Some(cached) = cache(py)? else { return Ok(None) };
    let key = key_of(&parts);
    let found = py.detach(|| cached.cache().find(&key));
    tell(py, Some(&cached))?;
    Ok(found.as_ref().and_then(|parts| parts.first()).map(|bytes| PyBytes::new(py, bytes)))
}

/// Keeps bytes for these parts of a key.
#[pyfunction]
pub fn keep(py: Python<'_>, parts: Vec<Vec<u8>>, value: &[u8]) -> PyResult<()> {
    let Some(cached) = cache(py)? else { return Ok(()) };
    py.detach(|| cached.cache().keep(&key_of(&parts), &[value]));
    tell(py, Some(&cached))
}

/// No machine code is made, so none is kept.
#[cfg(not(feature = "llvm"))]
mod without {
    use crate::error::sentence;
    use crate::executable::PyExecutable;
    use pyo3::prelude::*;
    use rinductor::runtime::cache::{Cache, Settings};

    pub struct Cached {
        cache: Cache,
    }

    impl Cached {
        pub fn new(settings: Settings) -> Cached {
            Cached { cache: Cache::new(settings) }
        }

        pub fn cache(&self) -> &Cache {
            &self.cache
        }
    }

    pub fn of_text(py: Python<'_>, _: &str, _: &str, _: &str, _: usize) -> PyResult<PyExecutable> {
        Err(sentence(py, "this build has no LLVM: use Module.interpret(), or build with the feature 'llvm'"))
    }

    #[pyfunction]
    pub fn text_key(text: &str, pipeline: &str) -> String {
        format!("{pipeline}:{text}")
    }

    #[pyfunction]
    pub fn kept_executables(_keys: Vec<String>) -> Option<Vec<PyExecutable>> {
        None
    }
}

#[cfg(feature = "llvm")]
mod with_llvm {
    use super::{cache, tell};
    use crate::error::error;
    use crate::executable::PyExecutable;
    use pyo3::prelude::*;
    pub use rinductor::driver::cached::Cached;
    use rinductor::driver::cached::{self, compile_text};
    use rinductor::runtime::cache::Key;

    pub fn of_text(py: Python<'_>, text: &str, name: &str, pipeline: &str, threads: usize) -> PyResult<PyExecutable> {
        let cached = cache(py)?;
        let made = py.detach(|| compile_text(text, name, pipeline, cached.as_deref()));
        tell(py, cached.as_deref())?;
        let (executable, name) = made.map_err(|(wrong, sources)| error(py, &wrong, &sources))?;
        Ok(PyExecutable::new(executable.with_threads(threads), name, None))
    }

    /// What the cache calls the executable that `compile_text` makes of a text.
    #[pyfunction]
    pub fn text_key(text: &str, pipeline: &str) -> String {
        cached::text_key(text, pipeline).to_string()
    }

    /// The executables that the cache has under keys that `text_key` has given; None if it has not all of them.
    #[pyfunction]
    pub fn kept_executables(py: Python<'_>, keys: Vec<String>) -> PyResult<Option<Vec<PyExecutable>>> {
        let (Some(cached), Some(keys)) = (cache(py)?, keys.iter().map(|k| Key::parse(k)).collect::<Option<Vec<_>>>())
        else {
            return Ok(None);
        };
        let found = py.detach(|| cached::kept_all(&cached, &keys));
        tell(py, Some(&cached))?;
        Ok(found.map(|all| all.into_iter().map(|(e, name)| PyExecutable::new(e, name, None)).collect()))
    }
}
