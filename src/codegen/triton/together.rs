//! Launches of one kernel on several sets of buffers, as an optimizer makes them for its tensors, in one launch: each program finds out whose it is.

use std::fmt::Write as _;

use super::kernel::Written;
use super::launch;
use super::module::Host;
use crate::dialects::kernels;
use crate::ir::{Op, TypeData, Value};
use rinductor_support::{Diagnostic, FxHashSet};

/// How many pointers a launch takes, so that torch's launcher takes it.
const POINTERS: usize = 108;
/// Points of a program.
const POINTS: u32 = 1024;
/// How many ops further on launches are looked for.
const AHEAD: usize = 512;

/// What an op of the host function does to memory.
#[derive(Clone, Default)]
pub(super) struct Effects {
    reads: FxHashSet<Value>,
    writes: FxHashSet<Value>,
}

impl Effects {
    fn add(&mut self, other: &Effects) {
        self.reads.extend(&other.reads);
        self.writes.extend(&other.writes);
    }

    /// Whether what these few effects come from may not change places with what the others come from.
    fn conflict(&self, other: &Effects) -> bool {
        let meets = |a: &FxHashSet<Value>, b: &FxHashSet<Value>| a.iter().any(|v| b.contains(v));
        meets(&self.writes, &other.writes) || meets(&self.writes, &other.reads) || meets(&self.reads, &other.writes)
    }
}

impl Host<'_> {
    /// The launches behind that of `ops[at]` which can be made with it, and the allocations that these need before.
    pub(super) fn companions(&self, ops: &[Op], effects: &[Effects], at: usize) -> (Vec<usize>, Vec<usize>) {
        let (mut launches, mut allocations) = (Vec::new(), Vec::new());
        let Some(first) = self.launched_kernel(ops[at]) else { return (launches, allocations) };
        let pointers = first.tensors.len().max(1);
        let mut between = effects[at].clone();
        let mut fresh: Vec<usize> = Vec::new();
        for k in at + 1..ops.len().min(at + AHEAD) {
            let op = ops[k];
            if (launches.len() + 2) * pointers > POINTERS {
                break;
            }
            match self.ir.op_name(op) {
                kernels::AllocOp::NAME if kernels::AllocOp(op).arena(&self.ir).is_none() => fresh.push(k),
                kernels::AllocOp::NAME => break,
                kernels::LaunchOp::NAME if !self.done.contains(&op) => {
                    let same = self
                        .launched_kernel(op)
                        .is_some_and(|w| w.name == first.name && programs(w) == programs(first));
                    if same && !effects[k].conflict(&between) {
                        launches.push(k);
                        allocations.append(&mut fresh);
                    }
                    between.add(&effects[k]);
                }
                _ => between.add(&effects[k]),
            }
        }
        (launches, allocations)
    }

    /// The launches of `ops[at]` and of its companions as one.
    pub(super) fn launch_together(&mut self, ops: &[Op], effects: &[Effects], at: usize) -> Result<bool, Diagnostic> {
        let (launches, allocations) = self.companions(ops, effects, at);
        if launches.is_empty() {
            return Ok(false);
        }
        for k in allocations {
            if self.done.insert(ops[k]) {
                self.op(ops[k])?;
            }
        }
        let mut groups: Vec<Vec<String>> = Vec::new();
        for k in std::iter::once(at).chain(launches.iter().copied()) {
            for (p, arg) in self.buffers_of(ops[k])?.into_iter().enumerate() {
                match groups.get_mut(p) {
                    Some(group) => group.push(arg),
                    None => groups.push(vec![arg]),
                }
            }
            self.done.insert(ops[k]);
        }
        let Some(w) = self.launched_kernel(ops[at]) else { return Ok(false) };
        let (called, base) = (name(w), w.name.clone());
        let (times, tile) = wider(w);
        let grid = programs(w).unwrap_or(1) / u64::from(times) * (launches.len() as u64 + 1);
        let groups: Vec<String> = groups.iter().map(|g| format!("({})", g.join(", "))).collect();
        let one = if groups.len() == 1 { "," } else { "" };
        self.lines.push(format!("{called}({grid}, index, stream, ({}{one}){tile})", groups.join(", ")));
        self.grouped.insert(base);
        Ok(true)
    }

    /// The kernel of a launch that could be made with others: one without numbers, whose grid is known.
    fn launched_kernel(&self, op: Op) -> Option<&Written> {
        if !self.ir.is_op(op, kernels::LaunchOp::NAME) {
            return None;
        }
        let w = self.written.get(kernels::LaunchOp(op).callee(&self.ir))?;
        let buffers =
            self.ir.operands(op).all(|v| matches!(self.ir.ty(self.ir.value_type(v)), TypeData::MemRef { .. }));
        (buffers && programs(w).is_some()).then_some(w)
    }

    /// What an op reads and writes.
    pub(super) fn effects(&self, op: Op) -> Effects {
        let mut effects = Effects::default();
        if matches!(self.ir.op_name(op), kernels::ViewOp::NAME | kernels::SizeOp::NAME) {
            return effects;
        }
        let written: FxHashSet<usize> = match self.ir.op_name(op) {
            kernels::LaunchOp::NAME => {
                let callee = self.ir.lookup_symbol(kernels::LaunchOp(op).callee(&self.ir));
                let args =
                    callee.and_then(|f| self.ir.body(f)).map(|b| self.ir.block_args(b).to_vec()).unwrap_or_default();
                let stores = callee.map(|f| self.ir.nested_ops(f)).unwrap_or_default();
                let stores = stores
                    .into_iter()
                    .filter(|&s| self.ir.is_op(s, kernels::StoreOp::NAME) || self.ir.is_op(s, kernels::AtomicOp::NAME));
                let places = stores.filter_map(|s| args.iter().position(|&a| a == self.ir.operand(s, 1)));
                places.collect()
            }
            // A library may do anything.
            _ => (0..self.ir.num_operands(op)).collect(),
        };
        for (k, v) in self.ir.operands(op).enumerate() {
            if matches!(self.ir.ty(self.ir.value_type(v)), TypeData::MemRef { .. }) {
                let root = self.root(v);
                effects.reads.insert(root);
                if written.contains(&k) {
                    effects.writes.insert(root);
                }
            }
        }
        effects
    }
}

/// The programs of a kernel, if their number is known.
fn programs(w: &Written) -> Option<u64> {
    w.grid.iter().try_fold(1u64, |n, &(extent, tile)| {
        let steps = u64::try_from(w.exprs.as_int(extent)?).ok()?.div_ceil(u64::from(tile));
        n.checked_mul(steps)
    })
}

/// How many times the tile of the kernel by itself one for several sets has: there are programs enough, and each finds out once whose it is.
/// As an option of the launch.
fn wider(w: &Written) -> (u32, String) {
    let none = (1, String::new());
    let mut tiled = w.grid.iter().filter(|g| g.1 > 1);
    let (Some(&(extent, tile)), None) = (tiled.next(), tiled.next()) else { return none };
    let Some(extent) = w.exprs.as_int(extent) else { return none };
    let mut blocks = w.text.match_indices("BLOCK: tl.constexpr");
    let (Some((at, _)), None) = (blocks.next(), blocks.next()) else { return none };
    let name = w.text[..at].rsplit(' ').next().unwrap_or_default();
    let times = [8, 4, 2].into_iter().find(|f| tile * f <= POINTS && extent % i64::from(tile * f) == 0);
    times.map_or(none, |f| (f, format!(", {name}BLOCK={}", tile * f)))
}

/// The name of the kernel for several sets of buffers.
pub(super) fn name(w: &Written) -> String {
    format!("{}_each", w.name)
}

/// The kernel for several sets of buffers: each parameter is a tuple of pointers, and so many programs are for each set.
pub(super) fn text(w: &Written) -> String {
    let mut lines = w.text.lines();
    let _ = lines.next();
    let header = lines.next().unwrap_or_default();
    let inside = header.split_once('(').map_or("", |h| h.1).trim_end_matches("):");
    let params: Vec<&str> = inside.split(", ").collect();
    let (buffers, tiles) = params.split_at(w.tensors.len().min(params.len()));
    let tuples: Vec<String> = buffers.iter().map(|b| format!("{b}_each")).collect();
    let all: Vec<&str> = tuples
        .iter()
        .map(String::as_str)
        .chain(["PROGRAMS: tl.constexpr", "ALIGNED: tl.constexpr"])
        .chain(tiles.iter().copied())
        .collect();
    let mut out = launch::decorator_together(w);
    let _ = writeln!(out, "@triton.jit\ndef {}({}):", name(w), all.join(", "));
    if let Some(comment) = lines.next() {
        out += comment;
        out.push('\n');
    }
    out += "    which = tl.program_id(0) // PROGRAMS\n";
    for (b, t) in buffers.iter().zip(&tuples) {
        let _ = writeln!(out, "    {b} = _pick({t}, which, ALIGNED)");
    }
    for line in lines {
        out += &line.replace("tl.program_id(0)", "(tl.program_id(0) % PROGRAMS)");
        out.push('\n');
    }
    out
}
