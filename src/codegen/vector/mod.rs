//! From a kernel to loops of vector code, over a builder of code: what the back ends for CPUs share.
//!
//! | file | holds |
//! |---|---|
//! | `build` | the builder's trait |
//! | `emit`, `axes`, `body` | the state of emitting a kernel, its loops, its ops |
//! | `index`, `access`, `atomic` | index expressions; loads and stores; what is combined in memory |
//! | `turn` | steps taken together, to transpose in registers |
//! | `arith`, `math`, `reduce` | scalar ops, functions, combiners |
//! | `rows` | kernels with two tiles: blocks of sums in registers |

mod access;
mod arith;
mod atomic;
mod axes;
mod body;
pub mod build;
mod emit;
mod half;
mod index;
pub mod math;
mod reduce;
mod rows;
mod turn;

use build::{Build, V};
use rinductor_index::{Expr, Exprs};
use rinductor_support::{Diagnostic, FxHashMap};

use crate::codegen::kernel::Kernel;
use crate::ir::Ir;

/// What a function that is a kernel was given.
pub struct Given<B: Build> {
    /// The starts of the buffers' allocations.
    pub buffers: Vec<V<B>>,
    /// The symbols by name.
    pub symbols: FxHashMap<String, V<B>>,
    /// The first step.
    pub begin: V<B>,
    /// The step after the last.
    pub end: V<B>,
    /// Where it reports an index that is out of range.
    pub reports: V<B>,
}

/// Builds the body of the function that runs steps of a kernel.
pub fn emit_kernel<B: Build>(
    b: &B,
    ir: &Ir,
    exprs: &mut Exprs,
    kernel: &Kernel,
    given: Given<B>,
) -> Result<(), Diagnostic> {
    let mut e = emit::Emitter::new(b, ir, exprs, kernel, given.reports);
    (e.buffers, e.symbols) = (given.buffers, given.symbols);
    for (_, layout) in &kernel.locals {
        let sizes = layout.sizes.iter().map(|&s| e.exprs.as_int(s).and_then(|n| u32::try_from(n).ok()));
        // The verifier holds them to sizes that are known and small.
        let elements: u32 = sizes.map(|n| n.unwrap_or(0)).product();
        e.buffers.push(b.local(access::memory_type(b, layout.dtype, 1), elements.max(1)));
    }
    e.parallel_steps(given.begin, given.end)
}

/// The value of an expression over symbols.
pub fn emit_expr<B: Build>(
    b: &B,
    ir: &Ir,
    exprs: &mut Exprs,
    kernel: &Kernel,
    symbols: FxHashMap<String, V<B>>,
    e: Expr,
) -> V<B> {
    let zero = b.i64(0);
    let mut emitter = emit::Emitter::new(b, ir, exprs, kernel, zero);
    emitter.symbols = symbols;
    emitter.lower(e)
}
