//! A module with the kernels of an `Ir`: equal kernels once.

use crate::dialects::kernels;
use std::fmt::Write;

use inkwell::context::Context;
use inkwell::passes::PassBuilderOptions;
use inkwell::values::FunctionValue;
use rinductor_index::{Atom, Expr, Exprs};
use rinductor_support::{Diagnostic, FxHashMap};

use super::abi;
use super::build::{LlvmBuild, V};
use super::kept;
use super::target::{Options, PASSES, TargetInfo};
use crate::codegen::kernel::{Arg, Kernel};
use crate::codegen::vector::build::Build as _;
use crate::codegen::vector::{self, Given};
use crate::ir::{Ir, Op, Value};

/// The greatest tile that is a vector.
const MAX_TILE: u32 = 1024;
/// The most rows of a step.
const MAX_ROWS: u32 = 16;

/// What is known of a kernel beside its code.
#[derive(Clone, Debug)]
pub struct KernelInfo {
    /// Its symbol in the IR.
    pub name: String,
    /// The function that has its code: the first of equal kernels.
    pub function: String,
    /// How many buffers it takes.
    pub buffers: usize,
    /// The names of the symbols it takes, in order.
    pub symbols: Vec<String>,
    /// How many steps there are.
    pub steps: Expr,
    /// About how many nanoseconds a step takes, as an expression over the symbols.
    pub cost: Expr,
}

/// The kernels of an IR, read: which of them need code, and what is known of all.
pub(super) struct Kernels {
    /// What is known of each kernel.
    pub infos: Vec<KernelInfo>,
    /// The kernels that are emitted: the first of equal ones.
    pub distinct: Vec<Kernel>,
    /// The expressions of `infos` and `distinct`.
    pub exprs: Exprs,
}

/// Reads all kernels of `ir`. With `kept` it may be what `kept::without_bodies` has made.
pub(super) fn read(ir: &Ir, kept: bool) -> Result<Kernels, Diagnostic> {
    let mut exprs = ir.exprs.clone();
    let (mut infos, mut distinct) = (Vec::new(), Vec::new());
    let mut seen: FxHashMap<String, String> = FxHashMap::default();
    for op in ir.block_ops(ir.module_body()).filter(|&op| ir.is_op(op, kernels::FuncOp::NAME)) {
        let kernel = Kernel::read(ir, &mut exprs, op)?;
        let steps = kernel.steps(&mut exprs);
        let (function, cost) = match kept::code_of(ir, op).filter(|_| kept) {
            Some((function, cost)) => (function, exprs.int(cost)),
            None => (
                seen.entry(canonical(ir, &kernel)).or_insert_with(|| kernel.name.clone()).clone(),
                cost(ir, &mut exprs, &kernel),
            ),
        };
        infos.push(KernelInfo {
            name: kernel.name.clone(),
            function: function.clone(),
            buffers: kernel.buffers().count(),
            symbols: kernel.symbols(),
            steps,
            cost,
        });
        if function == kernel.name {
            distinct.push(kernel);
        }
    }
    Ok(Kernels { infos, distinct, exprs })
}

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
    let mut kernels = read(ir, false)?;
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
                let p = b.load(b.ptr_type(), b.element_ptr(b.ptr_type(), params[0], b.i64(*k as i64)), 8);
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
    if kernel.axes.len() > 14 {
        return Err(Diagnostic::error(
            place(),
            format!("kernel @{}: {} axes, at most 14 are supported", kernel.name, kernel.axes.len()),
        ));
    }
    let tiled: Vec<&str> = kernel.axes.iter().filter(|a| a.tile > 1).map(|a| a.name.as_str()).collect();
    if tiled.len() > 2 || (tiled.len() == 2 && kernel.row_axis().is_none()) {
        let text = format!(
            "kernel @{}: on a CPU two axes may have a tile above 1 where one is the innermost parallel axis, else one, here {}",
            kernel.name,
            tiled.join(" and ")
        );
        return Err(Diagnostic::error(place(), text));
    }
    if let Some(axis) = kernel.row_axis().map(|a| &kernel.axes[a]).filter(|a| a.tile > MAX_ROWS) {
        let text =
            format!("kernel @{}: at most {MAX_ROWS} rows, here axis {} has {}", kernel.name, axis.name, axis.tile);
        return Err(Diagnostic::error(place(), text));
    }
    if let Some(axis) = kernel.axes.iter().find(|a| a.tile > MAX_TILE) {
        let text = format!(
            "kernel @{}: a CPU kernel has tiles of at most {MAX_TILE} points, here axis {} has {}",
            kernel.name, axis.name, axis.tile
        );
        return Err(Diagnostic::error(place(), text));
    }
    if let Some(name) = unbound_symbol(ir, exprs, kernel) {
        let text = format!("kernel @{}: the symbol {name} is used, but no argument binds it", kernel.name);
        return Err(Diagnostic::error(place(), text));
    }
    if b.module.get_function(&kernel.name).is_some() {
        return Err(Diagnostic::error(place(), format!("kernel @{}: the name is taken", kernel.name)));
    }
    let f = abi::declare_kernel(b, &kernel.name);
    let entry = b.ctx.append_basic_block(f, "entry");
    b.at_end(entry);
    vector::emit_kernel(b, ir, exprs, kernel, given(b, ir, kernel, f))
}

/// A symbol that the kernel uses without having it as an argument.
fn unbound_symbol(ir: &Ir, exprs: &Exprs, kernel: &Kernel) -> Option<String> {
    let mut used: Vec<Expr> = kernel.axes.iter().map(|a| a.extent).collect();
    for (_, layout) in kernel.buffers() {
        used.extend(layout.sizes.iter().chain(&layout.strides).copied().chain([layout.offset]));
    }
    ir.walk(kernel.op, &mut |op| used.extend(crate::codegen::kernel::index_map(ir, op).unwrap_or_default()));
    let bound = kernel.symbols();
    let mut names =
        used.into_iter().filter(|&e| exprs.has_syms(e)).flat_map(|e| exprs.atoms(e)).filter_map(|a| match a {
            Atom::Sym(s) => Some(exprs.sym_name(s).to_string()),
            Atom::Dim(_) => None,
        });
    names.find(|n| !bound.contains(n))
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

/// A text that is equal for kernels that do the same: all but names and locations.
fn canonical(ir: &Ir, kernel: &Kernel) -> String {
    let mut numbers: FxHashMap<Value, usize> = FxHashMap::default();
    let mut text = String::new();
    let number = |numbers: &mut FxHashMap<Value, usize>, v: Value| {
        let n = numbers.len();
        *numbers.entry(v).or_insert(n)
    };
    let write_props = |text: &mut String, op: Op, top: bool| {
        let data = ir.op(op);
        for &(name, attr) in ir.dict(data.props).iter().chain(ir.dict(data.attrs)) {
            let name = ir.text(name);
            if !(top && matches!(name, "sym_name" | "sym_visibility")) {
                // Attributes are interned: the same id is the same attribute.
                let _ = write!(text, " {name}={attr:?}");
            }
        }
    };
    for &(v, _) in &kernel.args {
        let _ = write!(text, "{}:{:?},", number(&mut numbers, v), ir.value_type(v));
    }
    write_props(&mut text, kernel.op, true);
    ir.walk(kernel.op, &mut |op| {
        if op == kernel.op {
            return;
        }
        let depth = std::iter::successors(ir.parent_op(op), |&o| ir.parent_op(o)).count();
        let _ = write!(text, "\n{depth} {}", ir.op_name(op));
        write_props(&mut text, op, false);
        for v in ir.operands(op) {
            let _ = write!(text, " %{}", number(&mut numbers, v));
        }
        for r in ir.results(op) {
            let _ = write!(text, " ->%{}:{:?}", number(&mut numbers, r), ir.value_type(r));
        }
        for &r in ir.regions_of(op) {
            for &block in ir.blocks_of(r) {
                for &a in ir.block_args(block) {
                    let _ = write!(text, " ^%{}:{:?}", number(&mut numbers, a), ir.value_type(a));
                }
            }
        }
    });
    text
}

/// About how long a step of the parallel axes takes: the ops, each as often as its walks repeat it, a quarter of a nanosecond each.
pub(super) fn cost(ir: &Ir, exprs: &mut Exprs, kernel: &Kernel) -> Expr {
    let mut sum = exprs.int(4);
    let mut list: Vec<(Op, Expr)> = Vec::new();
    let one = exprs.int(1);
    list.extend(ir.block_ops(kernel.body).map(|o| (o, one)));
    while let Some((op, times)) = list.pop() {
        let name = ir.op_name(op);
        let weight = match name {
            kernels::AxisOp::NAME
            | kernels::BroadcastOp::NAME
            | "arith.constant"
            | kernels::YieldOp::NAME
            | kernels::ReturnOp::NAME => 0,
            _ if name.starts_with("math.") => 8,
            _ if name.starts_with("scalar.") => 16,
            _ => 2,
        };
        sum = exprs.linear_sum(&[(1, sum), (weight, times)], 0);
        if let Some(body) = ir.body(op) {
            let mut inner = times;
            for axis in kernels::walked_axes(ir, op) {
                if let Some(a) = kernel.axis(axis) {
                    let tile = exprs.int(kernel.axes[a].tile.into());
                    let steps = exprs.ceildiv(kernel.axes[a].extent, tile);
                    inner = exprs.mul(inner, steps);
                }
            }
            list.extend(ir.block_ops(body).map(|o| (o, inner)));
        }
    }
    let four = exprs.int(4);
    exprs.floordiv(sum, four)
}
