//! A module with the kernels of an `Ir`: equal kernels once.

use inkwell::context::Context;
use inkwell::passes::PassBuilderOptions;
use inkwell::values::FunctionValue;
use rinductor_index::Exprs;
use rinductor_support::{Diagnostic, FxHashMap};

use super::abi;
use super::build::{LlvmBuild, V};
use super::target::{Options, PASSES, TargetInfo};
use crate::codegen::kernel::{Arg, Kernel};
use crate::codegen::kernels;
use crate::codegen::vector::build::Build as _;
use crate::codegen::vector::{self, Given};
use crate::ir::Ir;

/// Emits kernels as one module. With `steps_functions` each gets a function that says how many steps it has.
pub(super) fn emit<'c>(
    ctx: &'c Context,
    ir: &Ir,
    target: &TargetInfo,
    kernels: &[Kernel],
    exprs: &mut Exprs,
    steps_functions: bool,
) -> Result<LlvmBuild<'c>, Diagnostic> {
    let build = LlvmBuild::new(ctx, "kernels", target.model);
    build.module.set_triple(&target.machine.get_triple());
    build.module.set_data_layout(&target.machine.get_target_data().get_data_layout());
    for kernel in kernels {
        emit_kernel(&build, ir, exprs, kernel)?;
        if steps_functions {
            emit_steps(&build, ir, exprs, kernel);
        }
    }
    for f in build.module.get_functions() {
        if f.count_basic_blocks() > 0 {
            build.add_attribute(f, "target-cpu", Some(&target.cpu));
            if !target.features.is_empty() {
                build.add_attribute(f, "target-features", Some(&target.features));
            }
        }
    }
    if let Err(e) = build.module.verify() {
        return Err(Diagnostic::error_nowhere(format!("the emitted LLVM IR does not verify: {}", e.to_string_lossy()))
            .help("this is a fault of rinductor's LLVM emitter; please report it with the kernels"));
    }
    Ok(build)
}

/// The name of each kernel with that of the function that has its code: that of the first of equal ones.
///
/// # Errors
/// A kernel that cannot be read.
pub fn functions(ir: &Ir) -> Result<Vec<(String, String)>, Diagnostic> {
    Ok(kernels::read(ir, false)?.infos.into_iter().map(|info| (info.name, info.function)).collect())
}

/// Runs the pass pipeline.
pub(super) fn optimize(build: &LlvmBuild, target: &TargetInfo, options: &Options) -> Result<(), Diagnostic> {
    let passes = options.passes.as_deref().unwrap_or(PASSES);
    let settings = PassBuilderOptions::create();
    build
        .module
        .run_passes(passes, &target.machine, settings)
        .map_err(|e| Diagnostic::error_nowhere(format!("LLVM's pass pipeline '{passes}': {}", e.to_string_lossy())))
}

/// The kernels of an IR as LLVM IR, before LLVM's passes.
pub fn emit_llvm_ir(ir: &Ir, options: &Options) -> Result<String, Diagnostic> {
    with_module(ir, options, |build, _| Ok(build.module.to_string()))
}

/// Calls `f` with a module of all kernels, those that a library has.
pub(super) fn with_module<R>(
    ir: &Ir,
    options: &Options,
    f: impl FnOnce(&LlvmBuild, &TargetInfo) -> Result<R, Diagnostic>,
) -> Result<R, Diagnostic> {
    let ctx = Context::create();
    let target = TargetInfo::new(options)?;
    let mut kernels = kernels::read(ir, false)?;
    let build = emit(&ctx, ir, &target, &kernels.distinct, &mut kernels.exprs, true)?;
    f(&build, &target)
}

/// What the function is given: `buffers`, `symbols`, `begin`, `end`, `error`.
fn given<'c>(b: &LlvmBuild<'c>, ir: &Ir, kernel: &Kernel, f: FunctionValue<'c>) -> Given<LlvmBuild<'c>> {
    let params = f.get_params();
    let (mut buffers, mut symbols) = (Vec::new(), FxHashMap::default());
    for (value, arg) in &kernel.args {
        match arg {
            Arg::Buffer(k, _) => {
                let at = b.element_ptr(b.ptr_type(), params[0], b.i64(*k as i64));
                let p = b.load(b.ptr_type(), at, b.pointer_bytes());
                buffers.push(b.named(p, ir.value_name(*value)));
            }
            Arg::Symbol(k, name) => {
                symbols.insert(name.clone(), symbol(b, params[1], *k, name));
            }
        }
    }
    Given { buffers, symbols, begin: params[2], end: params[3], reports: params[4] }
}

/// The symbol of a number, read from the list.
fn symbol<'c>(b: &LlvmBuild<'c>, list: V<'c>, number: usize, name: &str) -> V<'c> {
    let i = b.int_type(64, 1);
    let v = b.load(i, b.element_ptr(i, list, b.i64(number as i64)), 8);
    b.named(v, Some(name))
}

fn emit_kernel(b: &LlvmBuild, ir: &Ir, exprs: &mut Exprs, kernel: &Kernel) -> Result<(), Diagnostic> {
    let place = || ir.place(ir.op(kernel.op).loc);
    kernels::check(ir, exprs, kernel)?;
    if b.module.get_function(&kernel.name).is_some() {
        return Err(Diagnostic::error(place(), format!("kernel @{}: the name is taken", kernel.name)));
    }
    let f = abi::declare_kernel(b, &kernel.name);
    let entry = b.ctx.append_basic_block(f, "entry");
    b.at_end(entry);
    vector::emit_kernel(b, ir, exprs, kernel, given(b, ir, kernel, f))
}

/// `int64_t kernel_steps(const int64_t *symbols)`.
fn emit_steps(b: &LlvmBuild, ir: &Ir, exprs: &mut Exprs, kernel: &Kernel) {
    let f = b.declare(&format!("{}_steps", kernel.name), &[b.ptr_type()], Some(b.int_type(64, 1)));
    let entry = b.ctx.append_basic_block(f, "entry");
    b.at_end(entry);
    let steps = kernel.steps(exprs);
    let list: V = f.get_nth_param(0).expect("the function takes the symbols");
    let mut symbols = FxHashMap::default();
    for (_, arg) in &kernel.args {
        if let Arg::Symbol(k, name) = arg {
            symbols.insert(name.clone(), symbol(b, list, *k, name));
        }
    }
    let v = vector::emit_expr(b, ir, exprs, kernel, symbols, steps);
    b.ret(Some(v));
}
