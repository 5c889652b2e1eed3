//! Lets a kernel write an argument of the function itself, instead of a buffer that is copied into it afterwards.
//!
//! Before:
//! ```mlir
//! kernels.func @k(%p: memref<64xf32>, %y: memref<64xf32>) axes {x = 64 tile 1 parallel} {
//!   %xi = kernels.axis x : vector<1xindex>
//!   %v = kernels.load %p[%xi] : vector<1xf32>
//!   %w = math.exp %v : vector<1xf32>
//!   kernels.store %w, %y[%xi] : vector<1xf32>
//! }
//! func.func @f(%p: memref<64xf32>) {
//!   %a = kernels.alloc : memref<64xf32>
//!   kernels.launch @k(%p, %a) : memref<64xf32>, memref<64xf32>
//!   kernels.copy %a, %p : memref<64xf32>, memref<64xf32>
//!   return
//! }
//! ```
//! After:
//! ```mlir
//! kernels.func @k(%p: memref<64xf32>, %y: memref<64xf32>) axes {x = 64 tile 1 parallel} {
//!   %xi = kernels.axis x : vector<1xindex>
//!   %v = kernels.load %p[%xi] : vector<1xf32>
//!   %w = math.exp %v : vector<1xf32>
//!   kernels.store %w, %y[%xi] : vector<1xf32>
//! }
//! func.func @f(%p: memref<64xf32>) {
//!   kernels.launch @k(%p, %p) : memref<64xf32>, memref<64xf32>
//!   return
//! }
//! ```
//! Nothing may read the argument's old value after the kernel; the kernel itself reads an element of it only before it writes that same element,
//! each in one step of its own. A kernel that may stop at an index out of range leaves arguments as they were, so it is left alone.

use crate::dialects::kernels::{self, Axis};
use crate::dialects::loops::Access;
use crate::dialects::{func, kernels::ViewOp};
use crate::ir::{Block, Def, Ir, Op, Value};
use crate::pass::{Changed, Level, NoOptions, Pass, PassContext};
use crate::support::Diagnostic;
use rinductor_support::FxHashMap;

/// The pass.
pub static PASS: Pass = Pass {
    name: "kernels-in-place",
    source: include_str!("kernels_in_place.rs"),
    on: Some(func::FuncOp::NAME),
    needs: &[Level::Kernel],
    leaves: &[Level::Kernel],
    statistics: &[("written", "arguments that kernels write instead of copies")],
    run,
};

fn run(ir: &mut Ir, func: Op, _: &NoOptions, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
    let Some(body) = ir.body(func) else { return Ok(Changed::No) };
    let copies = ir.ops_named(func, kernels::CopyOp::NAME);
    if copies.is_empty() {
        return Ok(Changed::No);
    }
    let mut uses = Uses::of(ir, body);
    let mut written = 0;
    for copy in copies {
        let (from, to) = (ir.operand(copy, 0), ir.operand(copy, 1));
        if uses.may_write_at_once(ir, body, copy, from, to) {
            let alloc = ir.def_op(from);
            ir.erase(copy);
            ir.replace_all_uses(from, to);
            alloc.into_iter().for_each(|op| ir.erase(op));
            uses = Uses::of(ir, body);
            written += 1;
            say(ir, func, to, cx, "is written by its kernel at once");
        } else {
            say(
                ir,
                func,
                to,
                cx,
                "is copied into afterwards: it may be read where it would be written already, or others see the buffer",
            );
        }
    }
    cx.count("written", written);
    Ok((written > 0).into())
}

/// Says what becomes of a copy into an argument.
fn say(ir: &Ir, func: Op, to: Value, cx: &mut PassContext, what: &str) {
    if cx.wants_remarks() {
        let name = ir.value_name(to).unwrap_or("an argument").to_string();
        cx.remark(ir, func, format!("%{name} {what}"));
    }
}

/// Where the memory of each argument and allocation is used: the op's place in the function, the op, and which operand. Views are followed.
struct Uses {
    list: FxHashMap<Value, Vec<(usize, Op, usize)>>,
}

impl Uses {
    fn of(ir: &Ir, body: Block) -> Uses {
        let mut root: FxHashMap<Value, Value> = ir.block_args(body).iter().map(|&a| (a, a)).collect();
        let mut list: FxHashMap<Value, Vec<(usize, Op, usize)>> = FxHashMap::default();
        for (at, op) in ir.block_op_list(body).into_iter().enumerate() {
            for (k, v) in ir.operands(op).enumerate() {
                let Some(&r) = root.get(&v) else { continue };
                if ViewOp::cast(ir, op).is_some() {
                    root.insert(ir.result(op, 0), r);
                } else {
                    list.entry(r).or_default().push((at, op, k));
                }
            }
            if kernels::AllocOp::cast(ir, op).is_some() {
                let buffer = ir.result(op, 0);
                root.insert(buffer, buffer);
            }
        }
        Uses { list }
    }

    fn at(&self, root: Value) -> &[(usize, Op, usize)] {
        self.list.get(&root).map_or(&[], Vec::as_slice)
    }

    /// Whether what computes `from` may write `to` itself.
    fn may_write_at_once(&self, ir: &mut Ir, body: Block, copy: Op, from: Value, to: Value) -> bool {
        let argument = matches!(ir.def(to), Def::Arg(block, _) if block == body);
        let owned =
            ir.def_op(from).is_some_and(|op| kernels::AllocOp::cast(ir, op).is_some() && ir.num_operands(op) == 0);
        if !argument || !owned || ir.value_type(from) != ir.value_type(to) {
            return false;
        }
        let Some(&(end, ..)) = self.at(to).iter().find(|u| u.1 == copy) else { return false };
        let Some(&(start, launch, out)) = self.at(from).first() else { return false };
        // The buffer is written by its first user, a kernel, and read by others up to the copy or after it.
        let reads = |&(_, op, k): &(usize, Op, usize)| reads_alone(ir, op, k);
        if !ir.is_op(launch, kernels::LaunchOp::NAME) || !self.at(from)[1..].iter().all(reads) {
            return false;
        }
        // The old value is read before the kernel or by it, and the argument is written once.
        let before = |&(at, op, k): &(usize, Op, usize)| {
            let apart = at < start || at > end;
            op == copy || at == start || apart && reads_alone(ir, op, k) || ir.is_op(op, func::ReturnOp::NAME)
        };
        if !self.at(to).iter().all(before) {
            return false;
        }
        let readers: Vec<usize> = self.at(to).iter().filter(|u| u.1 == launch).map(|u| u.2).collect();
        writes_what_it_has_read(ir, launch, out, &readers)
    }
}

/// Whether an op only reads the memory of an operand, and hands it to nobody.
fn reads_alone(ir: &Ir, op: Op, operand: usize) -> bool {
    match ir.op_name(op) {
        kernels::LaunchOp::NAME => {
            kernel_of(ir, op).is_some_and(|(_, body)| accesses(ir, body, operand).iter().all(|&a| is_load(ir, a)))
        }
        kernels::CopyOp::NAME => operand == 0,
        kernels::ExternOp::NAME => {
            let outs = kernels::ExternOp(op).outs(ir).max(0) as usize;
            operand + outs < ir.num_operands(op)
        }
        _ => false,
    }
}

fn is_load(ir: &Ir, op: Op) -> bool {
    ir.is_op(op, kernels::LoadOp::NAME)
}

/// The kernel that a launch runs, and its body.
fn kernel_of(ir: &Ir, launch: Op) -> Option<(Op, Block)> {
    let kernel = ir.lookup_symbol(kernels::LaunchOp(launch).callee(ir))?;
    Some((kernel, ir.body(kernel)?))
}

/// The accesses of a kernel's argument.
fn accesses(ir: &Ir, body: Block, argument: usize) -> Vec<Op> {
    ir.block_args(body).get(argument).map_or_else(Vec::new, |&a| ir.uses(a).map(|(op, _)| op).collect())
}

/// Whether a kernel writes all of its argument `out`, and reads an element of the arguments `readers` only before it writes that one, in the same step.
fn writes_what_it_has_read(ir: &mut Ir, launch: Op, out: usize, readers: &[usize]) -> bool {
    let Some((kernel, body)) = kernel_of(ir, launch) else { return false };
    let Some(axes) = kernels::axes_of(ir, kernel) else { return false };
    if !ir.ops_named(kernel, kernels::PositionOp::NAME).is_empty() {
        return false;
    }
    let [store] = accesses(ir, body, out)[..] else { return false };
    if !ir.is_op(store, kernels::StoreOp::NAME) {
        return false;
    }
    let (place, guard) = place_of(ir, &axes, store);
    if guard.is_some() {
        return false;
    }
    if readers.is_empty() {
        return true;
    }
    let Some(place) = place.filter(|p| is_alone(ir, &axes, store, p)) else { return false };
    readers.iter().all(|&reader| {
        let types = [out, reader].map(|k| ir.value_type(ir.block_args(body)[k]));
        types[0] == types[1]
            && accesses(ir, body, reader).into_iter().all(|load| {
                is_load(ir, load)
                    && ir.parent_block(load) == ir.parent_block(store)
                    && ir.is_before(load, store)
                    && place_of(ir, &axes, load).0.as_ref() == Some(&place)
            })
    })
}

/// The axis that each coordinate of an access is the position of, if each is one; and the guard.
fn place_of(ir: &Ir, axes: &[Axis], op: Op) -> (Option<Vec<usize>>, Option<Value>) {
    let guard = kernels::address_operands(ir.op_name(op)).and_then(|leading| Access::of(ir, op, leading).guard);
    (kernels::coordinate_axes(ir, axes, op).into_iter().collect(), guard)
}

/// Whether no two steps write one place: it says the position on each axis that is walked there.
fn is_alone(ir: &Ir, axes: &[Axis], store: Op, place: &[usize]) -> bool {
    let around = std::iter::successors(ir.parent_op(store), |&op| ir.parent_op(op));
    let walked: Vec<&str> = around.flat_map(|op| kernels::walked_axes(ir, op)).collect();
    let distinct = place.iter().enumerate().all(|(k, a)| !place[..k].contains(a));
    let said = |(k, axis): (usize, &Axis)| {
        let taken = !axis.reduced || walked.contains(&axis.name.as_str());
        !taken || place.contains(&k) || ir.exprs.as_int(axis.extent) == Some(1)
    };
    distinct && axes.iter().enumerate().all(said)
}
