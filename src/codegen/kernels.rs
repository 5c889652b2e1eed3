//! All kernels of an `Ir`, as back ends for CPUs take them: equal ones once, with what is known of each beside its code.

use std::fmt::Write;

use rinductor_index::{Atom, Expr, Exprs};
use rinductor_support::{Diagnostic, FxHashMap};

use super::kept;
use super::kernel::{Kernel, index_map};
use crate::dialects::kernels;
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
pub struct Kernels {
    /// What is known of each kernel.
    pub infos: Vec<KernelInfo>,
    /// The kernels that are emitted: the first of equal ones.
    pub distinct: Vec<Kernel>,
    /// The expressions of `infos` and `distinct`.
    pub exprs: Exprs,
}

/// Reads all kernels of `ir`. With `kept` it may be what `kept::without_bodies` has made.
pub fn read(ir: &Ir, kept: bool) -> Result<Kernels, Diagnostic> {
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

/// Whether a back end for CPUs can have a kernel.
///
/// # Errors
/// It cannot: a sentence.
pub fn check(ir: &Ir, exprs: &Exprs, kernel: &Kernel) -> Result<(), Diagnostic> {
    let place = ir.place(ir.op(kernel.op).loc);
    if kernel.axes.len() > 14 {
        return Err(Diagnostic::error(
            place,
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
        return Err(Diagnostic::error(place, text));
    }
    if let Some(axis) = kernel.row_axis().map(|a| &kernel.axes[a]).filter(|a| a.tile > MAX_ROWS) {
        let text =
            format!("kernel @{}: at most {MAX_ROWS} rows, here axis {} has {}", kernel.name, axis.name, axis.tile);
        return Err(Diagnostic::error(place, text));
    }
    if let Some(axis) = kernel.axes.iter().find(|a| a.tile > MAX_TILE) {
        let text = format!(
            "kernel @{}: a CPU kernel has tiles of at most {MAX_TILE} points, here axis {} has {}",
            kernel.name, axis.name, axis.tile
        );
        return Err(Diagnostic::error(place, text));
    }
    if let Some(name) = unbound_symbol(ir, exprs, kernel) {
        let text = format!("kernel @{}: the symbol {name} is used, but no argument binds it", kernel.name);
        return Err(Diagnostic::error(place, text));
    }
    Ok(())
}

/// A symbol that the kernel uses without having it as an argument.
fn unbound_symbol(ir: &Ir, exprs: &Exprs, kernel: &Kernel) -> Option<String> {
    let mut used: Vec<Expr> = kernel.axes.iter().map(|a| a.extent).collect();
    for (_, layout) in kernel.buffers() {
        used.extend(layout.sizes.iter().chain(&layout.strides).copied().chain([layout.offset]));
    }
    ir.walk(kernel.op, &mut |op| used.extend(index_map(ir, op).unwrap_or_default()));
    let bound = kernel.symbols();
    let mut names =
        used.into_iter().filter(|&e| exprs.has_syms(e)).flat_map(|e| exprs.atoms(e)).filter_map(|a| match a {
            Atom::Sym(s) => Some(exprs.sym_name(s).to_string()),
            Atom::Dim(_) => None,
        });
    names.find(|n| !bound.contains(n))
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
pub fn cost(ir: &Ir, exprs: &mut Exprs, kernel: &Kernel) -> Expr {
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
