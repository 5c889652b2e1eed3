//! Compiling through the cache on disk: texts, and whatever else Python keeps there.

use crate::error::{error, sentence};
use crate::executable::PyExecutable;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rinductor::codegen::cpu::Cpu;
use rinductor::driver::cached::{self, Cached};
use rinductor::runtime::cache::{Key, Settings};
use std::sync::{Arc, Mutex, PoisonError};

/// Compiles the only public function of a text: what `Module.parse(text, name).run(pipeline).compile(threads=threads)` gives, but what any process has
/// compiled before is taken from the cache on disk (docs/python.md). What is wrong with that cache is a warning in the log `rinductor`.
#[pyfunction]
#[pyo3(signature = (text, name="<string>", pipeline="cpu", threads=0, backend=None))]
pub fn compile_text(
    py: Python<'_>,
    text: &str,
    name: &str,
    pipeline: &str,
    threads: usize,
    backend: Option<&str>,
) -> PyResult<PyExecutable> {
    let (cached, cpu) = (cache(py)?, cpu(py, backend)?);
    let made = py.detach(|| cached::compile_text(text, name, pipeline, cpu, cached.as_deref()));
    tell(py, cached.as_deref())?;
    let (executable, name) = made.map_err(|(wrong, sources)| error(py, &wrong, &sources))?;
    Ok(PyExecutable::new(executable.with_threads(threads), name, None))
}

/// What the cache calls the executable that `compile_text` makes of a text.
#[pyfunction]
#[pyo3(signature = (text, pipeline, backend=None))]
pub fn text_key(py: Python<'_>, text: &str, pipeline: &str, backend: Option<&str>) -> PyResult<String> {
    Ok(cached::text_key(text, pipeline, cpu(py, backend)?).to_string())
}

/// The executables that the cache has under keys that `text_key` has given; None if it has not all of them.
#[pyfunction]
#[pyo3(signature = (keys, backend=None))]
pub fn kept_executables(
    py: Python<'_>,
    keys: Vec<String>,
    backend: Option<&str>,
) -> PyResult<Option<Vec<PyExecutable>>> {
    let cpu = cpu(py, backend)?;
    let (Some(cached), Some(keys)) = (cache(py)?, keys.iter().map(|k| Key::parse(k)).collect::<Option<Vec<_>>>())
    else {
        return Ok(None);
    };
    let found = py.detach(|| cached::kept_all(&cached, &keys, cpu));
    tell(py, Some(&cached))?;
    Ok(found.map(|all| all.into_iter().map(|(e, name)| PyExecutable::new(e, name, None)).collect()))
}

/// The back end of a name; the usual one if none is given.
pub fn cpu(py: Python<'_>, backend: Option<&str>) -> PyResult<Cpu> {
    let Some(name) = backend else { return Ok(Cpu::default()) };
    Cpu::parse(name).map_err(|d| sentence(py, &d.message))
}

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
    let machine = cached::text_key("", "", Cpu::default()).to_string();
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
