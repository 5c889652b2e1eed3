//! Accesses of kernels of which only the sizes of a call say whether they stay in their buffers. Those that need no sizes are the verifier's.

use crate::dialects::kernel_bounds::{self, Reach};
use crate::dialects::kernels;
use crate::ir::{Ir, TypeData};
use rinductor_index::{Atom, Exprs};

/// An access of a kernel, by the kernel's name.
pub type Symbolic = (String, Reach);

/// The accesses of all kernels that depend on symbols, and the expressions in which they are written, among them all of the IR.
pub fn symbolic(ir: &Ir) -> (Exprs, Vec<Symbolic>) {
    let takes_sizes = |&func: &crate::ir::Op| {
        let args = ir.body(func).map(|b| ir.block_args(b)).unwrap_or_default();
        args.iter().any(|&a| matches!(ir.ty(ir.value_type(a)), TypeData::Index))
    };
    let kernels: Vec<_> = ir.ops_named(ir.module(), kernels::FuncOp::NAME).into_iter().filter(takes_sizes).collect();
    if kernels.is_empty() {
        return (ir.exprs.clone(), Vec::new());
    }
    let mut ir = ir.clone();
    let mut list = Vec::new();
    for func in kernels {
        let Some(axes) = kernels::axes_of(&ir, func) else { continue };
        let name = ir.symbol_name(func).unwrap_or_default().to_string();
        for reach in kernel_bounds::reaches(&mut ir, func, &axes) {
            let mut parts = [reach.value, reach.size].into_iter().chain(reach.extents.iter().copied());
            if parts.any(|e| ir.exprs.atoms(e).any(|a| matches!(a, Atom::Sym(_)))) {
                list.push((name.clone(), reach));
            }
        }
    }
    (ir.exprs, list)
}

/// What is wrong with the accesses at these values of symbols, if anything is.
pub fn problem(exprs: &Exprs, accesses: &[Symbolic], symbol: &dyn Fn(Atom) -> Option<i64>) -> Option<String> {
    let mut exprs = exprs.clone();
    accesses.iter().find_map(|(kernel, reach)| {
        let found = kernel_bounds::outside(&mut exprs, reach, symbol)?;
        let (k, value, size) = (reach.coordinate, found.value, found.size);
        Some(format!("kernel @{kernel} accesses a buffer at {value} in dimension {k}, where it has the size {size}"))
    })
}
