//! Object code in memory: linked by LLVM's ORC, which also finds the C library's functions and those of `math::calls`.
//!
//! A process has one session of ORC: to start one asks the machine what it is, and makes what generates code, which linking does not need
//! again. What is loaded together has a library of its own in it, so that kernels of one name do not meet.

use std::ffi::{CStr, CString, c_void};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{OnceLock, mpsc};

use inkwell::llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use inkwell::llvm_sys::orc2::lljit::*;
use inkwell::llvm_sys::orc2::*;
use inkwell::memory_buffer::MemoryBuffer;
use rinductor_support::{Diagnostic, FxHashMap};

use crate::codegen::vector::math::calls;

/// Loaded code. It stays as long as this value.
pub struct Code {
    jit: &'static Session,
    dylib: LLVMOrcJITDylibRef,
}

// SAFETY: ORC's session is thread-safe, and the library is cleared once, when nobody has the code any more.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

/// The session of the process. It is never disposed of: code may run until the process ends.
struct Session(LLVMOrcLLJITRef);

// SAFETY: ORC's session is thread-safe.
unsafe impl Send for Session {}
// SAFETY: as above.
unsafe impl Sync for Session {}

impl Session {
    fn get() -> Result<&'static Session, Diagnostic> {
        static SESSION: OnceLock<Result<Session, Diagnostic>> = OnceLock::new();
        let start = || {
            super::target::initialize();
            let mut jit = MaybeUninit::uninit();
            // SAFETY: a null builder asks for the defaults; `jit` is written on success.
            unsafe {
                check(LLVMOrcCreateLLJIT(jit.as_mut_ptr(), null_mut()), "LLVM's JIT does not start")?;
                Ok(Session(jit.assume_init()))
            }
        };
        SESSION.get_or_init(start).as_ref().map_err(Clone::clone)
    }

    /// A new library, which sees the process and the functions of `math::calls`. ORC's C interface can empty it but not remove it.
    fn dylib(&self) -> Result<LLVMOrcJITDylibRef, Diagnostic> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = c_string(&format!("kernels.{}", NUMBER.fetch_add(1, Ordering::Relaxed)))?;
        let names = calls::all().into_iter().map(|(name, address)| Ok((c_string(name)?, address)));
        let names = names.collect::<Result<Vec<_>, Diagnostic>>()?;
        // SAFETY: all handles come from this session; names are copied; the unit and the generator pass into the library's ownership.
        unsafe {
            let library =
                LLVMOrcExecutionSessionCreateBareJITDylib(LLVMOrcLLJITGetExecutionSession(self.0), name.as_ptr());
            let pair = |(name, address): (CString, usize)| LLVMOrcCSymbolMapPair {
                Name: LLVMOrcLLJITMangleAndIntern(self.0, name.as_ptr()),
                Sym: LLVMJITEvaluatedSymbol {
                    Address: address as u64,
                    Flags: LLVMJITSymbolFlags { GenericFlags: 1, TargetFlags: 0 },
                },
            };
            let mut symbols: Vec<_> = names.into_iter().map(pair).collect();
            let unit = LLVMOrcAbsoluteSymbols(symbols.as_mut_ptr(), symbols.len());
            check(LLVMOrcJITDylibDefine(library, unit), "LLVM's JIT takes no symbols")?;
            let mut generator = MaybeUninit::uninit();
            let prefix = LLVMOrcLLJITGetGlobalPrefix(self.0);
            let made =
                LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(generator.as_mut_ptr(), prefix, None, null_mut());
            check(made, "LLVM's JIT does not see the process")?;
            LLVMOrcJITDylibAddGenerator(library, generator.assume_init());
            Ok(library)
        }
    }
}

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

fn c_string(text: &str) -> Result<CString, Diagnostic> {
    CString::new(text).map_err(|_| Diagnostic::error_nowhere("a kernel's name has a zero byte"))
}

/// What ORC says of a lookup.
type Found = Result<FxHashMap<String, usize>, Diagnostic>;

/// Hands on what was found; `to` is a boxed `Sender<Found>`, which is consumed.
extern "C" fn take(error: LLVMErrorRef, pairs: LLVMOrcCSymbolMapPairs, count: usize, to: *mut c_void) {
    let found = check(error, "the kernels are not in the compiled code").map(|()| {
        // SAFETY: without an error there are so many pairs, whose names live during this call.
        let one = |k: usize| unsafe {
            let pair = &*pairs.add(k);
            let name = CStr::from_ptr(LLVMOrcSymbolStringPoolEntryStr(pair.Name));
            (name.to_string_lossy().into_owned(), pair.Sym.Address as usize)
        };
        (0..count).map(one).collect()
    });
    // SAFETY: `addresses` has boxed it for this one call.
    let to = unsafe { Box::from_raw(to.cast::<mpsc::Sender<Found>>()) };
    // Who asked waits for the answer.
    let _ = to.send(found);
}

impl Code {
    /// Loads object files.
    pub fn load<O: AsRef<[u8]>>(objects: &[O]) -> Result<Code, Diagnostic> {
        let jit = Session::get()?;
        let code = Code { jit, dylib: jit.dylib()? };
        for object in objects {
            let buffer = MemoryBuffer::create_from_memory_range_copy(object.as_ref(), "kernels");
            // SAFETY: the buffer passes into the session's ownership, so the Rust handle of it is forgotten.
            unsafe {
                let added = LLVMOrcLLJITAddObjectFile(jit.0, code.dylib, buffer.as_mut_ptr());
                std::mem::forget(buffer);
                check(added, "LLVM's JIT does not take the object")?;
            }
        }
        Ok(code)
    }

    /// The addresses of functions, by their names.
    pub fn addresses(&self, names: &[&str]) -> Result<FxHashMap<String, usize>, Diagnostic> {
        if names.is_empty() {
            return Ok(FxHashMap::default());
        }
        let names = names.iter().map(|n| c_string(n)).collect::<Result<Vec<_>, _>>()?;
        // Another thread that asks at the same time may be the one that links these kernels: then the answer comes from there.
        let (sender, answer) = mpsc::channel::<Found>();
        let sender = Box::into_raw(Box::new(sender));
        // SAFETY: the library is the session's; the lists live until the call is over, and the names in them pass into its ownership; `take`
        // is called once.
        unsafe {
            let mut order = [LLVMOrcCJITDylibSearchOrderElement {
                JD: self.dylib,
                JDLookupFlags: LLVMOrcJITDylibLookupFlags::LLVMOrcJITDylibLookupFlagsMatchExportedSymbolsOnly,
            }];
            let mut wanted: Vec<_> = names
                .iter()
                .map(|n| LLVMOrcCLookupSetElement {
                    Name: LLVMOrcLLJITMangleAndIntern(self.jit.0, n.as_ptr()),
                    LookupFlags: LLVMOrcSymbolLookupFlags::LLVMOrcSymbolLookupFlagsRequiredSymbol,
                })
                .collect();
            LLVMOrcExecutionSessionLookup(
                LLVMOrcLLJITGetExecutionSession(self.jit.0),
                LLVMOrcLookupKind::LLVMOrcLookupKindStatic,
                order.as_mut_ptr(),
                order.len(),
                wanted.as_mut_ptr(),
                wanted.len(),
                take,
                sender.cast(),
            );
        }
        answer.recv().unwrap_or_else(|_| Err(Diagnostic::error_nowhere("LLVM's JIT did not answer")))
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: nothing runs the code any more; an error on the way out has nobody to go to.
        unsafe {
            let _ = LLVMOrcJITDylibClear(self.dylib);
        }
    }
}
