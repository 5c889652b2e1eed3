//! Loads and stores: a vector where lanes lie side by side, a scalar where they read the same element, else lane by lane.
//!
//! Nothing is read or written outside what the kernel says: inactive lanes of an access that no masked instruction does go to a
//! place on the stack, which holds zeros for loads, so that no branch is needed.

use rinductor_index::{Atom, Expr};
use rinductor_scalar::DType;
use rinductor_support::Diagnostic;

use super::arith;
use super::build::{Build, Convert, IntPredicate, Math, T, V};
use super::emit::{Emitter, is_supported};
use super::half;
use crate::codegen::kernel::index_map;
use crate::dialects::kernels;
use crate::ir::{Op, TypeData, Value};

/// Bytes of the two places on the stack, at least.
const NOWHERE_BYTES: u32 = 1024;
/// So many tiles are taken in one step at most (by reductions), of elements of 8 bytes at most.
const STEP_BYTES: u32 = 4 * 8;

/// What a load, a store or an atomic addresses.
#[derive(Clone)]
pub(super) struct Access {
    /// The buffer.
    pub buffer: usize,
    /// Its element type.
    pub dtype: DType,
    /// The element.
    pub offset: Expr,
    /// Where this is false nothing is read or written.
    pub guard: Option<Value>,
}

/// Which lanes are active.
#[derive(Clone, Copy)]
pub(super) enum Active<X> {
    All,
    /// All or none.
    Uniform(X),
    /// One bit a lane.
    Lanes(X),
    /// The first so many.
    First(u32),
}

/// The type of an element in memory.
pub(super) fn memory_type<B: Build>(b: &B, dtype: DType, lanes: u32) -> T<B> {
    match dtype {
        DType::F32 => b.float_type(32, lanes),
        DType::F64 => b.float_type(64, lanes),
        DType::F16 => b.float_type(16, lanes),
        d => b.int_type(d.size() as u32 * 8, lanes),
    }
}

/// What was read, as it is held.
pub(super) fn from_memory<B: Build>(b: &B, v: V<B>, dtype: DType) -> V<B> {
    match dtype {
        DType::I1 => b.icmp(IntPredicate::NE, v, b.int(b.type_of(v), 0)),
        DType::F16 => half::widen(b, v),
        DType::BF16 => arith::bf16_from_bits(b, v),
        _ => v,
    }
}

/// What is held, as it is written.
pub(super) fn to_memory<B: Build>(b: &B, v: V<B>, dtype: DType) -> V<B> {
    match dtype {
        DType::I1 => b.cast(Convert::ZExt, v, b.like(v, b.int_type(8, 1))),
        DType::F16 => half::narrow(b, v),
        DType::BF16 => arith::bf16_bits(b, v),
        _ => v,
    }
}

impl<B: Build> Emitter<'_, B> {
    /// The expressions of an op's map over its operands from `first` on.
    pub fn mapped(&mut self, op: Op, first: usize) -> Option<Vec<Expr>> {
        let exprs = index_map(self.ir, op)?.to_vec();
        let operands: Vec<Value> = self.ir.operands(op).skip(first).collect();
        let mut with = Vec::new();
        for (d, v) in operands.into_iter().enumerate() {
            let t = self.ir.element_type(self.ir.value_type(v));
            if matches!(self.ir.ty(t), TypeData::Index) {
                with.push((Atom::Dim(d as u32), self.index_expr(v)));
            }
        }
        Some(exprs.into_iter().map(|e| self.exprs.subst(e, &with)).collect())
    }

    pub(super) fn access(&mut self, op: Op) -> Result<Access, Diagnostic> {
        let operands = self.ir.operand_list(op);
        let at = operands.iter().position(|&v| self.buffer_of(v).is_some());
        let Some((at, buffer)) = at.and_then(|p| Some((p, self.buffer_of(operands[p])?))) else {
            return Err(self.error(op, "the buffer must be an argument of the kernel, or its own"));
        };
        let layout = self.kernel.layout(buffer).expect("buffers are numbered by the arguments").clone();
        if !is_supported(layout.dtype) {
            return Err(self.error(op, format!("the {} back end has no {}", B::NAME, layout.dtype)));
        }
        let map = self.mapped(op, at + 1).unwrap_or_default();
        if map.len() != layout.sizes.len() {
            return Err(self.error(op, format!("{} indices for a buffer of rank {}", map.len(), layout.sizes.len())));
        }
        let mut parts = vec![(1, layout.offset)];
        for (e, stride) in map.iter().zip(&layout.strides) {
            parts.push((1, self.exprs.mul(*e, *stride)));
        }
        let offset = self.exprs.linear_sum(&parts, 0);
        let guard = operands.last().copied().filter(|&v| operands.len() > at + 1 && self.dtype(v) == DType::I1);
        Ok(Access { buffer, dtype: layout.dtype, offset, guard })
    }

    /// The address of an element whose offset is the same in all lanes.
    pub(super) fn address(&mut self, buffer: usize, dtype: DType, offset: Expr) -> V<B> {
        let base = self.buffers[buffer];
        if self.exprs.as_int(offset) == Some(0) {
            return base;
        }
        let level = self.expr_level(offset);
        if let Some(&p) = self.scopes[level].addresses.get(&(buffer, offset)) {
            return p;
        }
        // What outer levels know is added there.
        let mut outer = Vec::new();
        let mut here = Vec::new();
        let mut constant = 0;
        if let rinductor_index::Node::Sum(terms, c) = self.exprs.node(offset).clone() {
            constant = c;
            for t in terms.iter() {
                let inner = self.expr_level(t.monomial) == level;
                if inner { &mut here } else { &mut outer }.push((t.coefficient, t.monomial));
            }
        }
        let t = memory_type(self.b, dtype, 1);
        let p = if here.is_empty() || (outer.is_empty() && constant == 0) {
            let v = self.lower(offset);
            self.at_level(level, |s| s.b.element_ptr(t, base, v))
        } else {
            let outer = self.exprs.linear_sum(&outer, constant);
            let here = self.exprs.linear_sum(&here, 0);
            let p = self.address(buffer, dtype, outer);
            let v = self.lower(here);
            self.at_level(level, |s| s.b.element_ptr(t, p, v))
        };
        self.scopes[level].addresses.insert((buffer, offset), p);
        p
    }

    /// Where nothing is: zeros for loads, and a place for stores.
    pub(super) fn nowhere(&mut self) -> (V<B>, V<B>) {
        if let Some(n) = self.nowhere {
            return n;
        }
        let tile = self.kernel.axes.iter().map(|a| a.tile).max().unwrap_or(1);
        let (zeros, scratch) = self.b.nowhere((tile * STEP_BYTES).max(NOWHERE_BYTES));
        self.nowhere = Some((zeros, scratch));
        (zeros, scratch)
    }

    pub(super) fn active(&mut self, guard: Option<Value>) -> Active<V<B>> {
        let guard = guard.map(|g| self.get(g).v);
        let b = self.b;
        match (guard, self.mask) {
            (None, None) => Active::All,
            (None, Some((mask, _))) => self.mask_count.map_or(Active::Lanes(mask), Active::First),
            (Some(g), None) if b.lanes(g) == 1 => Active::Uniform(g),
            (Some(g), None) => Active::Lanes(g),
            (Some(g), Some((mask, _))) => Active::Lanes(b.and(b.splat(g, self.width), mask)),
        }
    }

    /// The lowest level at which it is known which lanes of the step lie inside.
    pub(super) fn lanes_level(&self) -> usize {
        self.mask.map_or(self.full_level, |(_, at)| at)
    }

    pub(super) fn has_masked(&self, dtype: DType) -> bool {
        if dtype.size() >= 4 { self.b.machine().masked_words } else { self.b.machine().masked_bytes }
    }

    /// `kernels.load`.
    pub fn emit_load(&mut self, op: Op) -> Result<(), Diagnostic> {
        let a = self.access(op)?;
        let result = self.ir.result(op, 0);
        let linear = self.linear(a.offset).filter(|l| {
            let base = l.base;
            !self.varies(base)
        });
        if let Some(v) = self.turned_load(op, &a, linear) {
            let v = from_memory(self.b, v, a.dtype);
            self.define(result, v, a.dtype, self.level());
            return Ok(());
        }
        // A load that nothing guards, of a buffer that the kernel leaves alone, goes up to where its address is known.
        let mut level = self.level();
        if a.guard.is_none() && !self.written[a.buffer] {
            level = self.expr_level(a.offset).max(self.lowest_safe_level());
        }
        let (v, level) = match linear {
            Some(l) if self.exprs.as_int(l.stride) == Some(0) => {
                let v = self.load_uniform(&a, l.base, level);
                (v, level)
            }
            Some(l) if self.exprs.as_int(l.stride) == Some(1) => {
                level = level.max(self.lanes_level());
                (self.load_contiguous(&a, l.base, level), level)
            }
            l => {
                level = level.max(self.lanes_level());
                let lanes = self.lane_addresses(&a, l);
                let v = self.at_level(level, |s| s.load_lanes(&a, &lanes));
                (v, level)
            }
        };
        let v = self.at_level(level, |s| from_memory(s.b, v, a.dtype));
        self.define(result, v, a.dtype, level);
        Ok(())
    }

    fn load_uniform(&mut self, a: &Access, offset: Expr, level: usize) -> V<B> {
        let b = self.b;
        let t = memory_type(b, a.dtype, 1);
        let align = a.dtype.size() as u32;
        let p = self.address(a.buffer, a.dtype, offset);
        let Some(g) = a.guard else {
            return self.at_level(level, |s| s.b.load(t, p, align));
        };
        // In a partial step the first lane is inside: the mask says nothing about an element that all lanes read.
        let g = self.get(g).v;
        let (zeros, _) = self.nowhere();
        if b.lanes(g) == 1 {
            return b.load(t, b.select(g, p, zeros), align);
        }
        let g = match self.mask {
            Some((mask, _)) => b.and(g, mask),
            None => g,
        };
        let any = b.math(Math::AnyLane, &[g]);
        let v = b.load(t, b.select(any, p, zeros), align);
        let zero = b.zero(b.like(g, t));
        b.select(g, b.splat(v, self.width), zero)
    }

    pub(super) fn load_contiguous(&mut self, a: &Access, base: Expr, level: usize) -> V<B> {
        let b = self.b;
        let width = self.width;
        let t = memory_type(b, a.dtype, width);
        let align = a.dtype.size() as u32;
        let p = self.address(a.buffer, a.dtype, base);
        match self.active(a.guard) {
            Active::All => self.at_level(level, |s| s.b.load(t, p, align)),
            Active::Uniform(g) => {
                let (zeros, _) = self.nowhere();
                b.load(t, b.select(g, p, zeros), align)
            }
            Active::Lanes(mask) if self.has_masked(a.dtype) => {
                self.at_level(level, |s| s.b.masked_load(t, p, mask, align))
            }
            Active::First(_) if self.has_masked(a.dtype) => {
                let (mask, _) = self.mask.expect("a partial step has a mask");
                self.at_level(level, |s| s.b.masked_load(t, p, mask, align))
            }
            _ => {
                let stride = self.exprs.int(1);
                let lanes = self.lane_addresses(a, Some(super::index::Linear { base, stride }));
                self.at_level(level, |s| s.load_lanes(a, &lanes))
            }
        }
    }

    /// The address of each lane, at the level at which all are known.
    pub(super) fn lane_addresses(&mut self, a: &Access, linear: Option<super::index::Linear>) -> Vec<V<B>> {
        let b = self.b;
        let t = memory_type(b, a.dtype, 1);
        let width = self.width;
        let level = self.expr_level(a.offset);
        match linear {
            Some(l) => {
                let p = self.address(a.buffer, a.dtype, l.base);
                let stride = self.lower(l.stride);
                self.at_level(level, |s| {
                    let b = s.b;
                    (0..width).map(|k| b.element_ptr(t, p, b.imul(b.i64(k.into()), stride))).collect()
                })
            }
            None => {
                let v = self.lower(a.offset);
                let base = self.buffers[a.buffer];
                self.at_level(level, |s| {
                    let b = s.b;
                    (0..width).map(|k| b.element_ptr(t, base, b.extract(b.splat(v, width), k))).collect()
                })
            }
        }
    }

    fn load_lanes(&mut self, a: &Access, lanes: &[V<B>]) -> V<B> {
        let b = self.b;
        let t = memory_type(b, a.dtype, 1);
        let align = a.dtype.size() as u32;
        let active = self.active(a.guard);
        let (zeros, _) = match active {
            Active::All | Active::First(_) => (b.zero(b.ptr_type()), b.zero(b.ptr_type())),
            _ => self.nowhere(),
        };
        let whole = memory_type(b, a.dtype, self.width);
        let mut all = match active {
            Active::First(_) => b.zero(whole),
            _ => b.poison(whole),
        };
        for (k, &p) in lanes.iter().enumerate() {
            let p = match active {
                Active::All => p,
                Active::First(n) if k as u32 >= n => continue,
                Active::First(_) => p,
                Active::Uniform(g) => b.select(g, p, zeros),
                Active::Lanes(m) => b.select(b.extract(m, k as u32), p, zeros),
            };
            all = b.insert(all, b.load(t, p, align), k as u32);
        }
        all
    }

    /// `kernels.store`.
    pub fn emit_store(&mut self, op: Op) -> Result<(), Diagnostic> {
        let a = self.access(op)?;
        let v = self.get(kernels::StoreOp(op).value(self.ir)).v;
        let b = self.b;
        let v = to_memory(b, v, a.dtype);
        let align = a.dtype.size() as u32;
        let varies = self.varies(a.offset);
        let value_varies = b.lanes(v) > 1;
        if !varies && !value_varies {
            let p = self.address(a.buffer, a.dtype, a.offset);
            let p = match a.guard.map(|g| self.get(g).v) {
                None => p,
                Some(g) => {
                    let g = if b.lanes(g) == 1 { g } else { b.math(Math::AnyLane, &[g]) };
                    let (_, scratch) = self.nowhere();
                    b.select(g, p, scratch)
                }
            };
            b.store(v, p, align);
            return Ok(());
        }
        let v = b.splat(v, self.width);
        let linear = self.linear(a.offset).filter(|l| {
            let base = l.base;
            !self.varies(base)
        });
        if self.turned_store(op, &a, linear, v) {
            return Ok(());
        }
        if let Some(l) = linear
            && self.exprs.as_int(l.stride) == Some(1)
        {
            let p = self.address(a.buffer, a.dtype, l.base);
            match self.active(a.guard) {
                Active::All => {
                    b.store(v, p, align);
                    return Ok(());
                }
                Active::Uniform(g) => {
                    let (_, scratch) = self.nowhere();
                    b.store(v, b.select(g, p, scratch), align);
                    return Ok(());
                }
                Active::Lanes(mask) if self.has_masked(a.dtype) => {
                    b.masked_store(v, p, mask, align);
                    return Ok(());
                }
                Active::First(n) => {
                    store_first(b, v, p, n, &a);
                    return Ok(());
                }
                Active::Lanes(_) => {}
            }
        }
        let lanes = self.lane_addresses(&a, linear);
        let active = self.active(a.guard);
        let scratch = match active {
            Active::All | Active::First(_) => None,
            _ => Some(self.nowhere().1),
        };
        for (k, &p) in lanes.iter().enumerate() {
            let k = k as u32;
            let p = match (active, scratch) {
                (Active::First(n), _) if k >= n => continue,
                (Active::Uniform(g), Some(s)) => b.select(g, p, s),
                (Active::Lanes(m), Some(s)) => b.select(b.extract(m, k), p, s),
                _ => p,
            };
            b.store(b.extract(v, k), p, align);
        }
        Ok(())
    }
}

/// Writes the first `n` lanes, in pieces whose sizes are powers of two.
fn store_first<B: Build>(b: &B, v: V<B>, p: V<B>, n: u32, a: &Access) {
    let t = memory_type(b, a.dtype, 1);
    let mut at = 0;
    while at < n {
        let piece = 1 << (n - at).ilog2();
        let to = b.element_ptr(t, p, b.i64(at.into()));
        b.store(b.slice(v, at, piece), to, a.dtype.size() as u32);
        at += piece;
    }
}
