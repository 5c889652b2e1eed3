//! Kernels compiled in memory, and how they are run: steps split over a pool of threads where there is enough to do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use inkwell::context::Context;
use inkwell::targets::FileType;
use rayon::prelude::*;
use rinductor_index::{Atom, Expr, Exprs, SymId};
use rinductor_support::{Diagnostic, FxHashMap};

use super::abi::{KernelError, KernelFn};
use super::loader::Code;
use super::module::{self, KernelInfo};
use super::target::{Options, TargetInfo};
use crate::codegen::backend::{KernelCode, KernelFault};
use crate::codegen::kernel::Kernel;
use crate::codegen::{team, threads};
use crate::ir::Ir;

/// Nanoseconds of work below which a launch is not split further: what waking another thread costs, about twice.
const GRAIN: i64 = 10_000;

/// A thread compiles at least so many kernels: starting LLVM for fewer does not pay.
const KERNELS_A_THREAD: usize = 6;

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
    _code: Arc<Code>,
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
    /// Compiles all `kernels.func`s of `ir`, on as many threads as there are kernels for.
    pub fn compile(ir: &Ir, options: &Options) -> Result<CompiledKernels, Diagnostic> {
        CompiledKernels::compile_to_objects(ir, options).map(|(compiled, _)| compiled)
    }

    /// The same, with the objects that [`CompiledKernels::load`] takes.
    pub fn compile_to_objects(ir: &Ir, options: &Options) -> Result<(CompiledKernels, Vec<Vec<u8>>), Diagnostic> {
        let mut times = CompileTimes::default();
        let start = Instant::now();
        let kernels = module::read(ir, false)?;
        let (distinct, exprs) = (&kernels.distinct, &kernels.exprs);
        times.emit = start.elapsed();
        let parts: Vec<Result<(Vec<u8>, CompileTimes), Diagnostic>> = threads::run(0, || {
            let share = distinct.len().div_ceil(rayon::current_num_threads().max(1)).max(KERNELS_A_THREAD);
            distinct.par_chunks(share).map(|kernels| generate(ir, options, kernels, exprs.clone())).collect()
        });
        let mut objects = Vec::new();
        for part in parts {
            let (object, t) = part?;
            objects.push(object);
            times.emit += t.emit;
            times.passes += t.passes;
            times.generate += t.generate;
        }
        Ok((CompiledKernels::link(kernels, &objects, times)?, objects))
    }

    /// Takes the code of all `kernels.func`s of `ir`, with or without their bodies, from objects that were compiled for it.
    ///
    /// # Errors
    /// The objects have not the kernels, or are none.
    pub fn load<O: AsRef<[u8]>>(ir: &Ir, objects: &[O]) -> Result<CompiledKernels, Diagnostic> {
        CompiledKernels::link(module::read(ir, true)?, objects, CompileTimes::default())
    }

    fn link<O: AsRef<[u8]>>(
        kernels: module::Kernels,
        objects: &[O],
        mut times: CompileTimes,
    ) -> Result<CompiledKernels, Diagnostic> {
        let start = Instant::now();
        let module::Kernels { infos, mut exprs, .. } = kernels;
        let code = Arc::new(Code::load(objects)?);
        let symbols: Vec<Arc<Vec<SymId>>> =
            infos.iter().map(|i| Arc::new(i.symbols.iter().map(|s| exprs.sym_id(s)).collect())).collect();
        let exprs = Arc::new(exprs);
        let mut kernels = Vec::new();
        let mut by_name = FxHashMap::default();
        let mut names: Vec<&str> = infos.iter().map(|i| i.function.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let addresses = code.addresses(&names)?;
        for (info, symbols) in infos.into_iter().zip(symbols) {
            let address = *addresses.get(&info.function).ok_or_else(|| {
                Diagnostic::error_nowhere(format!("kernel @{} is not in the compiled code", info.function))
            })?;
            // SAFETY: the emitter gave the function this type, and the code stays as long as `_code`.
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
        times.load = start.elapsed();
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

/// Compiles some kernels to an object.
fn generate(
    ir: &Ir,
    options: &Options,
    kernels: &[Kernel],
    mut exprs: Exprs,
) -> Result<(Vec<u8>, CompileTimes), Diagnostic> {
    let mut times = CompileTimes::default();
    let start = Instant::now();
    let ctx = Context::create();
    let target = TargetInfo::new(options)?;
    let build = module::emit(&ctx, ir, &target, kernels, &mut exprs, false)?;
    times.emit = start.elapsed();
    let start = Instant::now();
    module::optimize(&build, &target, options)?;
    times.passes = start.elapsed();
    let start = Instant::now();
    let object = target
        .machine
        .write_to_memory_buffer(&build.module, FileType::Object)
        .map_err(|e| Diagnostic::error_nowhere(format!("LLVM's code generator: {}", e.to_string_lossy())))?;
    times.generate = start.elapsed();
    Ok((object.as_slice().to_vec(), times))
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
