//! Kernels compiled as C++: the libraries that a compiler makes, in memory.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;
use rinductor_support::{Diagnostic, FxHashMap};

use super::{Compiler, machine, module};
use crate::codegen::compiled::{CompileTimes, CompiledKernels};
use crate::codegen::kernels::{self, Kernels};
use crate::codegen::threads;
use crate::codegen::vector::math::calls;
use crate::ir::Ir;

unsafe extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlclose(library: *mut c_void) -> c_int;
    fn dlerror() -> *const c_char;
}

const NOW: c_int = 2;

/// A library that is loaded. It stays as long as this value.
struct Library(*mut c_void);

// SAFETY: the functions of the loader may be called on any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: it was opened, and who has an address in it has this value too.
        unsafe { dlclose(self.0) };
    }
}

/// The last error of the loader.
fn loader_error() -> String {
    // SAFETY: the text, if there is one, stays until the next call of the loader on this thread.
    let text = unsafe { dlerror().as_ref().map(|t| CStr::from_ptr(t).to_string_lossy().into_owned()) };
    text.unwrap_or_else(|| "it says no reason".to_string())
}

impl Library {
    fn open(bytes: &[u8]) -> Result<Library, Diagnostic> {
        let failed = |e: String| Diagnostic::error_nowhere(format!("cannot load compiled C++: {e}"));
        let dir = tempfile::tempdir().map_err(|e| failed(e.to_string()))?;
        let path = dir.path().join("kernels.so");
        std::fs::write(&path, bytes).map_err(|e| failed(e.to_string()))?;
        let name = CString::new(path.as_os_str().as_encoded_bytes()).map_err(|e| failed(e.to_string()))?;
        // SAFETY: the name ends with a zero. What runs when it is loaded is what the C++ compiler adds.
        let library = unsafe { dlopen(name.as_ptr(), NOW) };
        // The file is not needed any more: the mapping stays.
        if library.is_null() { Err(failed(loader_error())) } else { Ok(Library(library)) }
    }

    fn address(&self, name: &str) -> Option<usize> {
        let name = CString::new(name).ok()?;
        // SAFETY: the library is open, and the name ends with a zero.
        let at = unsafe { dlsym(self.0, name.as_ptr()) } as usize;
        (at != 0).then_some(at)
    }
}

impl CompiledKernels {
    /// Compiles all `kernels.func`s of `ir` as C++, with the libraries that [`CompiledKernels::load_cpp`] takes.
    ///
    /// # Errors
    /// A kernel that the emitter cannot spell; no compiler.
    pub fn compile_cpp(ir: &Ir) -> Result<(CompiledKernels, Vec<Vec<u8>>), Diagnostic> {
        let mut times = CompileTimes::default();
        let start = Instant::now();
        let compiler = Compiler::find()?;
        let texts = module::parts(ir, machine::of(None)?, threads::count(0))?;
        times.emit = start.elapsed();
        let start = Instant::now();
        let libraries: Result<Vec<Vec<u8>>, Diagnostic> =
            threads::run(0, || texts.par_iter().map(|text| compiler.shared_library(text, &[])).collect());
        times.generate = start.elapsed();
        let libraries = libraries?;
        Ok((link(kernels::read(ir, false)?, &libraries, times)?, libraries))
    }

    /// Takes the code of all `kernels.func`s of `ir`, with or without their bodies, from libraries that were compiled for it.
    ///
    /// # Errors
    /// The libraries have not the kernels, or are none.
    pub fn load_cpp<O: AsRef<[u8]>>(ir: &Ir, libraries: &[O]) -> Result<CompiledKernels, Diagnostic> {
        link(kernels::read(ir, true)?, libraries, CompileTimes::default())
    }
}

fn link<O: AsRef<[u8]>>(
    kernels: Kernels,
    libraries: &[O],
    mut times: CompileTimes,
) -> Result<CompiledKernels, Diagnostic> {
    let start = Instant::now();
    let libraries: Result<Vec<Library>, Diagnostic> = libraries.iter().map(|l| Library::open(l.as_ref())).collect();
    let libraries = libraries?;
    let functions: Vec<usize> = calls::all().iter().map(|f| f.1).collect();
    for library in &libraries {
        if let Some(at) = library.address(module::LINK) {
            // SAFETY: the emitter gave the function this type.
            let link = unsafe { std::mem::transmute::<usize, extern "C" fn(*const usize)>(at) };
            link(functions.as_ptr());
        }
    }
    let mut addresses: FxHashMap<String, usize> = FxHashMap::default();
    for info in &kernels.infos {
        let symbol = module::symbol(&info.function);
        if let Some(at) = libraries.iter().find_map(|l| l.address(&symbol)) {
            addresses.insert(info.function.clone(), at);
        }
    }
    times.load = start.elapsed();
    CompiledKernels::link(kernels, &addresses, Arc::new(libraries), times)
}
