//! Puts buffers that nobody outside sees into one arena, at places that are reused once a buffer is dead.
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
//!   %a = kernels.alloc : memref<64xf32>
//!   kernels.launch @k(%x, %a) : memref<64xf32>, memref<64xf32>
//!   %b = kernels.alloc : memref<64xf32>
//!   kernels.launch @k(%a, %b) : memref<64xf32>, memref<64xf32>
//!   return %b : memref<64xf32>
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
//!   %arena = kernels.alloc : memref<256xi8>
//!   %a = kernels.alloc in %arena at 0 : memref<64xf32>
//!   kernels.launch @k(%x, %a) : memref<64xf32>, memref<64xf32>
//!   %b = kernels.alloc : memref<64xf32>
//!   kernels.launch @k(%a, %b) : memref<64xf32>, memref<64xf32>
//!   return %b : memref<64xf32>
//! }
//! ```
//! A buffer whose size is symbolic is not in the arena: it is given back by `kernels.dealloc` after its last use. What was planned before stays as it is.

use crate::dialects::loops::sizes_of;
use crate::dialects::{func, kernels};
use crate::ir::{Block, InsertPoint, Ir, Op, Value};
use crate::pass::{Changed, Level, NoOptions, Pass, PassContext};
use crate::sched::cost;
use crate::sched::memory::{Lifetime, place};
use crate::support::Diagnostic;
use rinductor_support::FxHashMap;

/// The pass.
pub static PASS: Pass = Pass {
    name: "plan-memory",
    source: include_str!("plan_memory.rs"),
    on: Some(func::FuncOp::NAME),
    needs: &[Level::Kernel],
    leaves: &[Level::Kernel],
    statistics: &[
        ("buffers", "buffers in the arena"),
        ("arena", "bytes of the arena"),
        ("unshared", "bytes that these buffers would take without reuse"),
        ("peak", "bytes of the arena and of returned buffers of known size"),
        ("freed", "buffers of symbolic size that are given back early"),
    ],
    run,
};

/// A buffer with the span of ops in which it is used.
struct Buffer {
    alloc: Op,
    /// Bytes, if they are known.
    bytes: Option<u64>,
    first: usize,
    last: usize,
    last_op: Op,
    escapes: bool,
    /// An arena, or given back already.
    planned: bool,
}

fn run(ir: &mut Ir, func: Op, _: &NoOptions, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
    let Some(body) = ir.body(func) else { return Ok(Changed::No) };
    let buffers = buffers_of(ir, body);
    let mut planned: Vec<&Buffer> = Vec::new();
    let (mut returned, mut freed) = (0u64, 0);
    for b in &buffers {
        match (b.escapes, b.bytes) {
            (true, bytes) => returned += bytes.unwrap_or(0),
            (false, Some(bytes)) if bytes > 0 => planned.push(b),
            (false, Some(_)) => {}
            (false, None) => {
                free_after(ir, b);
                freed += 1;
            }
        }
    }
    let lifetimes: Vec<Lifetime> =
        planned.iter().map(|b| Lifetime { bytes: b.bytes.unwrap_or(0), first: b.first, last: b.last }).collect();
    let (offsets, total) = place(&lifetimes);
    let changed = planned.len() + freed > 0;
    if let Some(&first) = planned.first() {
        let loc = ir.op(first.alloc).loc;
        let (i8, start) = (ir.int_type(8), InsertPoint::Start(body));
        let ty = ir.memref_type(&[total as i64], i8, None);
        let arena = ir.create_value(kernels::AllocOp::NAME, &[], ty, &[], loc, start);
        let name = ir.name("arena");
        ir.set_value_name(arena, Some(name));
        for (b, offset) in planned.iter().zip(offsets) {
            ir.set_operands(b.alloc, &[arena]);
            let offset = ir.i64_attr(offset as i64);
            ir.set_prop(b.alloc, "offset", Some(offset));
        }
    }
    cx.count("freed", freed as u64);
    cx.count("buffers", planned.len() as u64);
    cx.count("arena", total);
    cx.count("unshared", lifetimes.iter().map(|l| l.bytes).sum());
    cx.count("peak", total + returned);
    Ok(if changed { Changed::Yes } else { Changed::No })
}

/// The unplanned buffers of a function: neither in an arena, nor an arena, nor given back already. A view keeps its buffer alive.
fn buffers_of(ir: &mut Ir, body: Block) -> Vec<Buffer> {
    let mut root: FxHashMap<Value, usize> = FxHashMap::default();
    let mut buffers: Vec<Buffer> = Vec::new();
    for (at, op) in ir.block_op_list(body).into_iter().enumerate() {
        for v in ir.operand_list(op) {
            let Some(&b) = root.get(&v) else { continue };
            buffers[b].planned |= ir.is_op(op, kernels::AllocOp::NAME) || ir.is_op(op, kernels::DeallocOp::NAME);
            (buffers[b].last, buffers[b].last_op) = (at, op);
            buffers[b].escapes |= ir.is_op(op, func::ReturnOp::NAME);
            if ir.is_op(op, kernels::ViewOp::NAME) {
                root.insert(ir.result(op, 0), b);
            }
        }
        if ir.is_op(op, kernels::AllocOp::NAME) && ir.num_operands(op) == 0 {
            let buffer = ir.result(op, 0);
            let ty = ir.value_type(buffer);
            let element = cost::element_bytes(ir, ir.element_type(ty));
            let bytes = sizes_of(ir, ty).and_then(|sizes| {
                let mut n = element;
                for e in sizes {
                    n = n.checked_mul(u64::try_from(ir.exprs.as_int(e)?).ok()?)?;
                }
                Some(n)
            });
            root.insert(buffer, buffers.len());
            let (first, last, last_op) = (at, at, op);
            buffers.push(Buffer { alloc: op, bytes, first, last, last_op, escapes: false, planned: false });
        }
    }
    buffers.retain(|b| !b.planned);
    buffers
}

/// `kernels.dealloc` after the last op that uses a buffer.
fn free_after(ir: &mut Ir, buffer: &Buffer) {
    let last = buffer.last_op;
    let (value, loc) = (ir.result(buffer.alloc, 0), ir.op(last).loc);
    ir.create_op(kernels::DeallocOp::NAME, &[value], &[], &[], loc, InsertPoint::After(last));
}
