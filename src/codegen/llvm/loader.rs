//! Object code in memory: linked by LLVM's ORC, which also finds the C library's functions and those of `math::calls`.

use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;

use inkwell::llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use inkwell::llvm_sys::orc2::lljit::*;
use inkwell::llvm_sys::orc2::*;
use inkwell::memory_buffer::MemoryBuffer;
use rinductor_support::Diagnostic;

use super::math::calls;

/// Loaded code. It stays as long as this value.
pub struct Code {
    jit: LLVMOrcLLJITRef,
}

// SAFETY: ORC's session is thread-safe, and after loading only addresses are asked of it.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

fn check(error: LLVMErrorRef, what: &str) -> Result<(), Diagnostic> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: a non-null error is consumed once, here; its message is a C string that is ours to free.
    let message = unsafe {
        let text = LLVMGetErrorMessage(error);
        let message = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(text);
        message
    };
    Err(Diagnostic::error_nowhere(format!("{what}: {message}")))
}

impl Code {
    /// Loads object files.
    pub fn load<O: AsRef<[u8]>>(objects: &[O]) -> Result<Code, Diagnostic> {
        // Without kernels nothing has asked for a target before.
        super::target::initialize();
        let mut jit = MaybeUninit::uninit();
        // SAFETY: a null builder asks for the defaults; `jit` is written on success.
        let jit = unsafe {
            check(LLVMOrcCreateLLJIT(jit.as_mut_ptr(), std::ptr::null_mut()), "LLVM's JIT does not start")?;
            jit.assume_init()
        };
        let code = Code { jit };
        // SAFETY: all handles come from this JIT; the objects' buffers and the definitions pass into its ownership, so the Rust handles
        // of the buffers are forgotten.
        unsafe {
            let library = LLVMOrcLLJITGetMainJITDylib(jit);
            let mut symbols: Vec<LLVMOrcCSymbolMapPair> = Vec::new();
            for (name, address) in calls::all() {
                let name = CString::new(name).expect("the names of our functions have no zero byte");
                symbols.push(LLVMOrcCSymbolMapPair {
                    Name: LLVMOrcLLJITMangleAndIntern(jit, name.as_ptr()),
                    Sym: LLVMJITEvaluatedSymbol {
                        Address: address as u64,
                        Flags: LLVMJITSymbolFlags { GenericFlags: 1, TargetFlags: 0 },
                    },
                });
            }
            let unit = LLVMOrcAbsoluteSymbols(symbols.as_mut_ptr(), symbols.len());
            check(LLVMOrcJITDylibDefine(library, unit), "LLVM's JIT takes no symbols")?;
            let mut generator = MaybeUninit::uninit();
            let prefix = LLVMOrcLLJITGetGlobalPrefix(jit);
            let made = LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
                generator.as_mut_ptr(),
                prefix,
                None,
                std::ptr::null_mut(),
            );
            check(made, "LLVM's JIT does not see the process")?;
            LLVMOrcJITDylibAddGenerator(library, generator.assume_init());
            for object in objects {
                let buffer = MemoryBuffer::create_from_memory_range_copy(object.as_ref(), "kernels");
                let added = LLVMOrcLLJITAddObjectFile(jit, library, buffer.as_mut_ptr());
                std::mem::forget(buffer);
                check(added, "LLVM's JIT does not take the object")?;
            }
        }
        Ok(code)
    }

    /// The address of a function.
    pub fn address(&self, name: &str) -> Result<usize, Diagnostic> {
        let text = CString::new(name).map_err(|_| Diagnostic::error_nowhere("a kernel's name has a zero byte"))?;
        let mut address = 0;
        // SAFETY: the JIT is alive; `address` is written on success.
        let found = unsafe { LLVMOrcLLJITLookup(self.jit, &mut address, text.as_ptr()) };
        check(found, &format!("kernel @{name} is not in the compiled code"))?;
        Ok(address as usize)
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: made by `LLVMOrcCreateLLJIT` and disposed of once; an error on the way out has nobody to go to.
        unsafe {
            let _ = LLVMOrcDisposeLLJIT(self.jit);
        }
    }
}
