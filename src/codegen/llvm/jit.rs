//! Kernels compiled in memory, by LLVM.

use std::sync::Arc;
use std::time::Instant;

use inkwell::context::Context;
use inkwell::targets::FileType;
use rayon::prelude::*;
use rinductor_index::Exprs;
use rinductor_support::Diagnostic;

use super::loader::Code;
use super::module;
use super::target::{Options, TargetInfo};
use crate::codegen::compiled::{CompileTimes, CompiledKernels};
use crate::codegen::kernel::Kernel;
use crate::codegen::kernels::{self, Kernels};
use crate::codegen::threads;
use crate::ir::Ir;

/// A thread compiles at least so many kernels: starting LLVM for fewer does not pay.
const KERNELS_A_THREAD: usize = 6;

impl CompiledKernels {
    /// Compiles all `kernels.func`s of `ir`, on as many threads as there are kernels for.
    pub fn compile(ir: &Ir, options: &Options) -> Result<CompiledKernels, Diagnostic> {
        CompiledKernels::compile_to_objects(ir, options).map(|(compiled, _)| compiled)
    }

    /// The same, with the objects that [`CompiledKernels::load`] takes.
    pub fn compile_to_objects(ir: &Ir, options: &Options) -> Result<(CompiledKernels, Vec<Vec<u8>>), Diagnostic> {
        let mut times = CompileTimes::default();
        let start = Instant::now();
        let read = kernels::read(ir, false)?;
        let (distinct, exprs) = (&read.distinct, &read.exprs);
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
        Ok((link(read, &objects, times)?, objects))
    }

    /// Takes the code of all `kernels.func`s of `ir`, with or without their bodies, from objects that were compiled for it.
    ///
    /// # Errors
    /// The objects have not the kernels, or are none.
    pub fn load<O: AsRef<[u8]>>(ir: &Ir, objects: &[O]) -> Result<CompiledKernels, Diagnostic> {
        link(kernels::read(ir, true)?, objects, CompileTimes::default())
    }
}

/// Loads objects that have the code of kernels.
fn link<O: AsRef<[u8]>>(
    kernels: Kernels,
    objects: &[O],
    mut times: CompileTimes,
) -> Result<CompiledKernels, Diagnostic> {
    let start = Instant::now();
    let code = Arc::new(Code::load(objects)?);
    let mut names: Vec<&str> = kernels.infos.iter().map(|i| i.function.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let addresses = code.addresses(&names)?;
    times.load = start.elapsed();
    CompiledKernels::link(kernels, &addresses, code, times)
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
