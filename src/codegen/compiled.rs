//! Kernels that are compiled, and how they are run: steps split over a team of threads where there is enough to do.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use rinductor_index::{Atom, Expr, Exprs, SymId};
use rinductor_support::{Diagnostic, FxHashMap};

use super::abi::{KernelError, KernelFn};
use super::backend::{KernelCode, KernelFault};
use super::kernels::{KernelInfo, Kernels};
use super::{team, threads};

/// Nanoseconds of work below which a launch is not split further: what waking another thread costs, about twice.
const GRAIN: i64 = 10_000;

/// Where the time of a compilation went, summed over threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct CompileTimes {
    /// Emitting LLVM IR.
    pub emit: Duration,
    /// LLVM's passes.
    pub passes: Duration,
    /// LLVM's code generator.
    pub generate: Duration,
    /// Linking in memory.
    pub load: Duration,
}

/// All kernels of an IR, compiled.
pub struct CompiledKernels {
    kernels: Vec<CompiledKernel>,
    by_name: FxHashMap<String, usize>,
    /// How long it took.
    pub times: CompileTimes,
}

/// One kernel, compiled.
#[derive(Clone)]
pub struct CompiledKernel {
    info: Arc<KernelInfo>,
    run: KernelFn,
    steps: Count,
    cost: Count,
    _code: Arc<dyn Any + Send + Sync>,
}

/// A number that depends on the symbols.
#[derive(Clone)]
enum Count {
    Fixed(i64),
    Symbolic(Expr, Arc<Exprs>, Arc<Vec<SymId>>),
}

impl Count {
    fn new(e: Expr, exprs: &Arc<Exprs>, symbols: &Arc<Vec<SymId>>) -> Count {
        exprs.as_int(e).map_or_else(|| Count::Symbolic(e, exprs.clone(), symbols.clone()), Count::Fixed)
    }
    fn get(&self, values: &[i64]) -> Result<i64, String> {
        match self {
            Count::Fixed(n) => Ok(*n),
            Count::Symbolic(e, exprs, symbols) => {
                let value = |a: Atom| match a {
                    Atom::Sym(s) => symbols.iter().position(|&x| x == s).and_then(|i| values.get(i).copied()),
                    Atom::Dim(_) => None,
                };
                exprs.eval(*e, value).map_err(|e| e.to_string())
            }
        }
    }
}

impl CompiledKernels {
    /// Kernels whose functions are at these addresses, as long as there is `code`.
    ///
    /// # Errors
    /// A kernel has no address.
    pub fn link(
        kernels: Kernels,
        addresses: &FxHashMap<String, usize>,
        code: Arc<dyn Any + Send + Sync>,
        times: CompileTimes,
    ) -> Result<CompiledKernels, Diagnostic> {
        let Kernels { infos, mut exprs, .. } = kernels;
        let symbols: Vec<Arc<Vec<SymId>>> =
            infos.iter().map(|i| Arc::new(i.symbols.iter().map(|s| exprs.sym_id(s)).collect())).collect();
        let exprs = Arc::new(exprs);
        let mut kernels = Vec::new();
        let mut by_name = FxHashMap::default();
        for (info, symbols) in infos.into_iter().zip(symbols) {
            let address = *addresses.get(&info.function).ok_or_else(|| {
                Diagnostic::error_nowhere(format!("kernel @{} is not in the compiled code", info.function))
            })?;
            // SAFETY: the back end gave the function this type, and the code stays as long as `_code`.
            let run = unsafe { std::mem::transmute::<usize, KernelFn>(address) };
            by_name.insert(info.name.clone(), kernels.len());
            kernels.push(CompiledKernel {
                run,
                steps: Count::new(info.steps, &exprs, &symbols),
                cost: Count::new(info.cost, &exprs, &symbols),
                info: Arc::new(info),
                _code: code.clone(),
            });
        }
        Ok(CompiledKernels { kernels, by_name, times })
    }

    /// A kernel by its symbol.
    pub fn get(&self, name: &str) -> Option<&CompiledKernel> {
        self.by_name.get(name).map(|&i| &self.kernels[i])
    }

    /// All kernels, in the order of the IR.
    pub fn all(&self) -> &[CompiledKernel] {
        &self.kernels
    }
}

/// Addresses that are handed to other threads.
struct Shared(*const *mut u8, *const i64, *mut KernelError);
// SAFETY: the kernel reads the two lists, writes disjoint parts of the buffers in its steps, and writes the error by compare and exchange.
unsafe impl Sync for Shared {}

impl CompiledKernel {
    /// What is known of it.
    pub fn info(&self) -> &KernelInfo {
        &self.info
    }

    /// How many steps there are for these values of the symbols.
    pub fn steps(&self, symbols: &[i64]) -> Result<i64, String> {
        self.steps.get(symbols)
    }

    /// Runs all steps on at most `threads` threads (0: as many as the pool has).
    ///
    /// # Errors
    /// When an index is out of range, or the numbers of buffers and symbols are not the kernel's: a sentence.
    ///
    /// # Safety
    /// `buffers` are the starts of allocations that hold what the kernel's argument types say for these `symbols`.
    pub unsafe fn run(&self, buffers: &[*mut u8], symbols: &[i64], threads: usize) -> Result<(), KernelFault> {
        let info = &self.info;
        if buffers.len() != info.buffers || symbols.len() != info.symbols.len() {
            return Err(KernelFault::Call(format!(
                "kernel @{} takes {} buffers and {} symbols, got {} and {}",
                info.name,
                info.buffers,
                info.symbols.len(),
                buffers.len(),
                symbols.len()
            )));
        }
        let steps = self.steps.get(symbols)?;
        if steps <= 0 {
            // What the code computes before its steps may read buffers that are empty.
            return Ok(());
        }
        let mut error = KernelError::default();
        let shared = Shared(buffers.as_ptr(), symbols.as_ptr(), &mut error);
        let cost = if threads == 1 { 0 } else { self.cost.get(symbols).unwrap_or(1).max(1) };
        let parts = (steps.saturating_mul(cost) / GRAIN).min(steps);
        if parts <= 1 {
            // SAFETY: as the caller says.
            unsafe { (self.run)(shared.0, shared.1, 0, steps, shared.2) };
        } else {
            let shared = &shared;
            let threads = threads::count(threads);
            // A few parts a thread, so that a slow one does not hold up all.
            let parts = parts.min(4 * threads as i64);
            let at = |k: i64| (i128::from(steps) * i128::from(k) / i128::from(parts)) as i64;
            team::run(threads, parts as usize, &|k| {
                let k = k as i64;
                // SAFETY: as the caller says; the ranges are disjoint.
                unsafe { (self.run)(shared.0, shared.1, at(k), at(k + 1), shared.2) }
            });
        }
        if error.set != 0 {
            return Err(KernelFault::Index {
                kernel: info.name.clone(),
                index: error.value,
                size: error.bound,
                check: error.check,
            });
        }
        Ok(())
    }
}

impl KernelCode for CompiledKernels {
    fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    unsafe fn run(
        &self,
        kernel: usize,
        buffers: &[*mut u8],
        symbols: &[i64],
        threads: usize,
    ) -> Result<(), KernelFault> {
        let kernel = self.kernels.get(kernel).ok_or_else(|| "there is no such kernel".to_string())?;
        // SAFETY: as the caller says.
        unsafe { kernel.run(buffers, symbols, threads) }
    }
}
