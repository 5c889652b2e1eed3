//! How many bytes a function at the kernel level must move, and how many its kernels do.
//!
//! Memory is seen through a cache of a given size. The axes of a kernel are loops, outermost first: the parallel axes in the order of writing, then
//! those that walks go over. What an access touches is counted once, and again for each point of an outer axis along which it does not vary if the
//! loops inside of that touch more than the cache holds. Walks that follow one another share what they touch if it fits; else each reads it again.

use super::cost;
use super::footprint::Kernel;
use crate::dialects::loops::{sizes_of, strides_of};
use crate::dialects::{func, kernels, symbols};
use crate::ir::{Block, Ir, Op, Type, Value};
use rinductor_index::{Atom, Expr};
use rinductor_support::FxHashMap;
use std::collections::BTreeMap;

/// Bytes that an op moves.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Bytes {
    /// From memory.
    pub read: u64,
    /// To memory.
    pub written: u64,
}

impl Bytes {
    /// Both.
    pub fn sum(self) -> u64 {
        self.read.saturating_add(self.written)
    }
}

/// What one launch of a kernel does with one of its buffers.
#[derive(Clone, Copy, Default, Debug)]
pub struct BufferUse {
    /// Bytes that are moved.
    pub moved: Bytes,
    /// Bytes that are touched at all, each counted once.
    pub touched: Bytes,
}

/// The sizes that symbols are taken to have.
#[derive(Clone, Debug, Default)]
pub struct Sizes {
    known: FxHashMap<Atom, i64>,
    /// Those that were asked for, by name.
    pub taken: BTreeMap<String, i64>,
}

impl Sizes {
    /// The hints of a function's arguments.
    fn of(ir: &mut Ir, func: Op) -> Sizes {
        let mut sizes = Sizes::default();
        let args = ir.body(func).map_or(0, |b| ir.block_args(b).len());
        for k in 0..args {
            let hint = symbols::argument_attr(ir, func, k, "aten.hint").and_then(|a| ir.as_int(a));
            let symbol = symbols::argument_symbol(ir, func, k).and_then(|e| ir.exprs.as_atom(e));
            if let (Some(symbol), Some(hint)) = (symbol, hint) {
                sizes.known.insert(symbol, hint);
            }
        }
        sizes
    }

    /// The size of a symbol: its hint, else a typical one.
    pub fn symbol(&mut self, ir: &Ir, atom: Atom) -> Option<i64> {
        let Atom::Sym(id) = atom else { return None };
        let size = self.known.get(&atom).copied().unwrap_or(cost::TYPICAL_SIZE);
        self.taken.insert(ir.exprs.sym_name(id).to_string(), size);
        Some(size)
    }

    /// A size as a number.
    pub fn number(&mut self, ir: &Ir, e: Expr) -> u64 {
        if let Some(n) = ir.exprs.as_int(e) {
            return n.max(0) as u64;
        }
        ir.exprs.eval(e, |atom| self.symbol(ir, atom)).map_or(1, |n| n.max(0) as u64)
    }

    /// The elements of a tensor or buffer that have a place of their own.
    pub fn elements(&mut self, ir: &mut Ir, ty: Type) -> u64 {
        let Some(sizes) = sizes_of(ir, ty) else { return 0 };
        let strides = strides_of(ir, ty).map(|s| s.0).unwrap_or_default();
        let repeated = |k: usize| strides.get(k).is_some_and(|&s| ir.exprs.as_int(s) == Some(0));
        sizes.iter().enumerate().fold(1u64, |n, (k, &e)| {
            let size = self.number(ir, e);
            n.saturating_mul(if repeated(k) { size.min(1) } else { size })
        })
    }

    fn bytes(&mut self, ir: &mut Ir, ty: Type) -> u64 {
        let element = ir.element_type(ty);
        self.elements(ir, ty).saturating_mul(cost::element_bytes(ir, element))
    }
}

/// What a function moves.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// What any code for it must: what it uses of its arguments and constants is read once; what it returns, and what it changes of its arguments, is
    /// written once.
    pub must: Bytes,
    /// Each launch of a kernel, with what it does with each operand.
    pub launches: Vec<(Op, Vec<BufferUse>)>,
    /// Each extern op and each copy: every operand is read once, every result written once.
    pub others: Vec<(Op, Bytes)>,
    /// Symbols, with the sizes that they are taken to have.
    pub taken: BTreeMap<String, i64>,
}

impl Traffic {
    /// Looks at a function, with a cache of so many bytes.
    pub fn of(ir: &mut Ir, func: Op, cache: u64) -> Traffic {
        let Some(body) = ir.body(func) else { return Traffic::default() };
        let mut host = Host { sizes: Sizes::of(ir, func), cache, ..Host::default() };
        let mut traffic = Traffic::default();
        for op in ir.block_op_list(body) {
            match ir.op_name(op) {
                kernels::LaunchOp::NAME => {
                    let uses = host.launch(ir, op);
                    traffic.launches.push((op, uses));
                }
                kernels::CopyOp::NAME | kernels::ExternOp::NAME => {
                    let bytes = host.called(ir, op);
                    traffic.others.push((op, bytes));
                }
                kernels::ViewOp::NAME => {
                    let root = host.root(ir.operand(op, 0));
                    host.roots.insert(ir.result(op, 0), root);
                }
                func::ReturnOp::NAME => {
                    let roots = ir.operands(op).map(|v| host.root(v)).collect();
                    traffic.must = host.must(ir, body, roots);
                }
                _ => {}
            }
        }
        traffic.taken = host.sizes.taken;
        traffic
    }

    /// What kernels move.
    pub fn in_kernels(&self) -> u64 {
        let uses = self.launches.iter().flat_map(|(_, uses)| uses);
        uses.fold(0, |n, u| n.saturating_add(u.moved.sum()))
    }

    /// What extern ops and copies move.
    pub fn in_calls(&self) -> u64 {
        self.others.iter().fold(0, |n, (_, b)| n.saturating_add(b.sum()))
    }
}

/// The function around the kernels.
#[derive(Default)]
struct Host {
    sizes: Sizes,
    cache: u64,
    /// The buffer that a view looks into.
    roots: FxHashMap<Value, Value>,
    /// What was touched of each buffer, by the type that it was seen with: twice the same is one.
    touched: FxHashMap<Value, FxHashMap<Type, Bytes>>,
    kernels: FxHashMap<Op, Vec<BufferUse>>,
}

impl Host {
    fn root(&self, v: Value) -> Value {
        self.roots.get(&v).copied().unwrap_or(v)
    }

    fn touch(&mut self, ir: &Ir, v: Value, bytes: Bytes) {
        let seen = self.touched.entry(self.root(v)).or_default().entry(ir.value_type(v)).or_default();
        seen.read = seen.read.max(bytes.read);
        seen.written = seen.written.max(bytes.written);
    }

    fn launch(&mut self, ir: &mut Ir, op: Op) -> Vec<BufferUse> {
        let Some(kernel) = ir.lookup_symbol(kernels::LaunchOp(op).callee(ir)) else { return Vec::new() };
        let uses = match self.kernels.get(&kernel) {
            Some(uses) => uses.clone(),
            None => {
                let uses = Kernel::read(ir, kernel, &mut self.sizes).map(|k| k.uses(self.cache)).unwrap_or_default();
                self.kernels.entry(kernel).or_insert(uses).clone()
            }
        };
        for (v, u) in ir.operand_list(op).into_iter().zip(&uses) {
            self.touch(ir, v, u.touched);
        }
        uses
    }

    fn called(&mut self, ir: &mut Ir, op: Op) -> Bytes {
        let operands = ir.operand_list(op);
        let outs = if ir.is_op(op, kernels::CopyOp::NAME) { 1 } else { kernels::ExternOp(op).outs(ir).max(0) as usize };
        let mut all = Bytes::default();
        for (k, &v) in operands.iter().enumerate() {
            let n = self.sizes.bytes(ir, ir.value_type(v));
            let is_out = k + outs >= operands.len();
            let bytes = if is_out { Bytes { read: 0, written: n } } else { Bytes { read: n, written: 0 } };
            self.touch(ir, v, bytes);
            all =
                Bytes { read: all.read.saturating_add(bytes.read), written: all.written.saturating_add(bytes.written) };
        }
        all
    }

    /// What must be moved for what was touched of arguments and constants, and for what is returned.
    fn must(&mut self, ir: &mut Ir, body: Block, returned: Vec<Value>) -> Bytes {
        let mut must = Bytes::default();
        let mut outside: Vec<Value> = ir.block_args(body).to_vec();
        let constants = ir.block_ops(body).filter(|&op| ir.is_op(op, kernels::ConstantOp::NAME));
        outside.extend(constants.map(|op| ir.result(op, 0)).collect::<Vec<_>>());
        for &v in &outside {
            let all = self.sizes.bytes(ir, ir.value_type(v));
            let seen = self.touched.get(&v).into_iter().flat_map(FxHashMap::values);
            let (read, written) =
                seen.fold((0u64, 0u64), |(r, w), b| (r.saturating_add(b.read), w.saturating_add(b.written)));
            must.read = must.read.saturating_add(read.min(all));
            must.written = must.written.saturating_add(written.min(all));
        }
        let mut counted: Vec<Value> = outside;
        for v in returned {
            if !counted.contains(&v) {
                must.written = must.written.saturating_add(self.sizes.bytes(ir, ir.value_type(v)));
                counted.push(v);
            }
        }
        must
    }
}
