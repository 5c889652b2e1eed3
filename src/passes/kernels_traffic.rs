//! Counts the bytes that a function must move and those that its kernels move; it changes nothing.
//!
//! Before:
//! ```mlir
//! kernels.func @k(%x: memref<64xf32>, %y: memref<64xf32>) axes {x = 64 tile 1 parallel} {
//!   %xi = kernels.axis x : vector<1xindex>
//!   %v = kernels.load %x[%xi] : vector<1xf32>
//!   %w = math.exp %v : vector<1xf32>
//!   kernels.store %w, %y[%xi] : vector<1xf32>
//! }
//! func.func @f(%x: memref<64xf32>) -> memref<64xf32> {
//!   %y = kernels.alloc : memref<64xf32>
//!   kernels.launch @k(%x, %y) : memref<64xf32>, memref<64xf32>
//!   return %y : memref<64xf32>
//! }
//! ```
//! After:
//! ```mlir
//! kernels.func @k(%x: memref<64xf32>, %y: memref<64xf32>) axes {x = 64 tile 1 parallel} {
//!   %xi = kernels.axis x : vector<1xindex>
//!   %v = kernels.load %x[%xi] : vector<1xf32>
//!   %w = math.exp %v : vector<1xf32>
//!   kernels.store %w, %y[%xi] : vector<1xf32>
//! }
//! func.func @f(%x: memref<64xf32>) -> memref<64xf32> {
//!   %y = kernels.alloc : memref<64xf32>
//!   kernels.launch @k(%x, %y) : memref<64xf32>, memref<64xf32>
//!   return %y : memref<64xf32>
//! }
//! ```
//! The counters are for `--statistics`, and `--remarks` shows each launch; where nobody reads them, nothing is counted. A function must read what
//! it uses of its arguments once, and write once what it returns and what it changes of them. A kernel reads a buffer again where what it touches in
//! between is more than `cache` holds; an extern op reads its operands once. A symbolic size counts as its hint, or as 128 without one.

use crate::dialects::{func, kernels};
use crate::ir::{Ir, Op};
use crate::pass::{Changed, Level, Pass, PassContext};
use crate::pass_options;
use crate::sched::traffic::{BufferUse, Traffic};
use crate::support::Diagnostic;
use std::fmt::Write;

pass_options! {
    pub struct Options {
        /// Bytes that stay near a core.
        cache: u64 = 1_048_576,
    }
}

/// The pass.
pub static PASS: Pass<Options> = Pass {
    name: "kernels-traffic",
    source: include_str!("kernels_traffic.rs"),
    on: Some(func::FuncOp::NAME),
    needs: &[Level::Kernel],
    leaves: &[Level::Kernel],
    statistics: &[
        ("must", "bytes that functions must move"),
        ("moved", "bytes that are moved"),
        ("called", "those of them that extern ops and copies move"),
        ("percent", "what is moved, in percent of what must be"),
    ],
    run,
};

fn run(ir: &mut Ir, func: Op, options: &Options, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
    if !cx.wants_statistics() && !cx.wants_remarks() {
        return Ok(Changed::No);
    }
    let traffic = Traffic::of(ir, func, options.cache);
    let (must, called) = (traffic.must.sum(), traffic.in_calls());
    let moved = traffic.in_kernels().saturating_add(called);
    cx.count("must", must);
    cx.count("moved", moved);
    cx.count("called", called);
    cx.percent("percent", moved, must);
    if cx.wants_remarks() {
        for (launch, uses) in &traffic.launches {
            cx.remark(ir, *launch, describe(ir, *launch, uses));
        }
        let name = ir.symbol_name(func).unwrap_or_default().to_string();
        let mut text = format!("@{name} must move {must} bytes, and moves {moved}");
        if must > 0 {
            let _ = write!(text, ", {:.2} times as many", moved as f64 / must as f64);
        }
        let sizes: Vec<String> = traffic.taken.iter().map(|(name, n)| format!("{name} = {n}")).collect();
        if !sizes.is_empty() {
            let _ = write!(text, ", where {}", sizes.join(", "));
        }
        cx.remark(ir, func, text);
    }
    Ok(Changed::No)
}

/// What a launch moves, and what it moves more than once.
fn describe(ir: &Ir, launch: Op, uses: &[BufferUse]) -> String {
    let sum = |f: fn(&BufferUse) -> u64| uses.iter().fold(0u64, |n, u| n.saturating_add(f(u)));
    let (read, written) = (sum(|u| u.moved.read), sum(|u| u.moved.written));
    let mut text = format!("@{} reads {read} bytes and writes {written}", kernels::LaunchOp(launch).callee(ir));
    let mut again = Vec::new();
    for (v, u) in ir.operands(launch).zip(uses) {
        let name = ir.value_name(v).unwrap_or("a buffer");
        for (what, moved, touched) in
            [("reads", u.moved.read, u.touched.read), ("writes", u.moved.written, u.touched.written)]
        {
            if let Some(times) = moved.checked_div(touched).filter(|&n| n > 1) {
                again.push(format!("{what} %{name} {times} times"));
            }
        }
    }
    if !again.is_empty() {
        let _ = write!(text, ": it {}", again.join(", "));
    }
    text
}
