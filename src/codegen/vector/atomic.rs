//! `kernels.atomic`: what stands in memory is combined with a value.
//!
//! Where no two steps that may run at the same time reach one element, it is a load, a combiner and a store, of a whole vector if lanes lie side
//! by side. Elsewhere it is a loop of compare and exchange, in a function of its own.

use rinductor_scalar::DType;
use rinductor_support::Diagnostic;

use super::access::{Active, from_memory, memory_type, to_memory};
use super::arith;
use super::build::{Build, V};
use super::emit::Emitter;
use crate::codegen::combiner::Combiner;
use crate::dialects::kernels;
use crate::ir::Op;

impl<B: Build> Emitter<'_, B> {
    /// `kernels.atomic`.
    pub fn emit_atomic(&mut self, op: Op) -> Result<(), Diagnostic> {
        let a = self.access(op)?;
        let atomic = kernels::AtomicOp(op);
        let kind = atomic.combiner(self.ir);
        let combiner = Combiner::parse(kind).filter(|c| c.width() == 1);
        let combiner = combiner.ok_or_else(|| self.error(op, format!("'{kind}' is no combiner of one value")))?;
        let v = self.get(atomic.value(self.ir)).v;
        let b = self.b;
        let alone = self.is_alone(op);
        let update = |p: V<B>, v: V<B>| {
            if alone {
                let old = b.load(memory_type(b, a.dtype, 1), p, a.dtype.size() as u32);
                b.store(combined(b, combiner, a.dtype, old, v), p, a.dtype.size() as u32);
            } else {
                let name = format!("atomic.{}.{}", combiner.name(), a.dtype.ir_name());
                let bits = b.int_type(a.dtype.size() as u32 * 8, 1);
                b.atomic(&name, bits, memory_type(b, a.dtype, 1), p, v, |b, old, v| {
                    combined(b, combiner, a.dtype, old, v)
                });
            }
        };
        if !self.varies(a.offset) && b.lanes(v) == 1 {
            let p = self.address(a.buffer, a.dtype, a.offset);
            let p = match a.guard.map(|g| self.get(g).v) {
                None => p,
                Some(g) => {
                    let (_, scratch) = self.nowhere();
                    b.select(g, p, scratch)
                }
            };
            update(p, v);
            return Ok(());
        }
        let v = b.splat(v, self.width);
        let linear = self.linear(a.offset).filter(|l| {
            let base = l.base;
            !self.varies(base)
        });
        let active = self.active(a.guard);
        if let Some(l) = linear
            && alone
            && self.exprs.as_int(l.stride) == Some(1)
        {
            let mask = match active {
                Active::All => Some(None),
                Active::Lanes(mask) if self.has_masked(a.dtype) => Some(Some(mask)),
                Active::First(_) if self.has_masked(a.dtype) => self.mask.map(|(mask, _)| Some(mask)),
                _ => None,
            };
            if let Some(mask) = mask {
                let level = self.level();
                let old = self.load_contiguous(&a, l.base, level);
                let new = combined(b, combiner, a.dtype, old, v);
                let (p, align) = (self.address(a.buffer, a.dtype, l.base), a.dtype.size() as u32);
                match mask {
                    None => {
                        b.store(new, p, align);
                    }
                    Some(mask) => b.masked_store(new, p, mask, align),
                }
                return Ok(());
            }
        }
        let lanes = self.lane_addresses(&a, linear);
        for (k, &p) in lanes.iter().enumerate() {
            let k = k as u32;
            let p = match active {
                Active::All => p,
                Active::First(n) if k >= n => continue,
                Active::First(_) => p,
                Active::Uniform(g) => {
                    let (_, scratch) = self.nowhere();
                    b.select(g, p, scratch)
                }
                Active::Lanes(m) => {
                    let (_, scratch) = self.nowhere();
                    b.select(b.extract(m, k), p, scratch)
                }
            };
            update(p, b.extract(v, k));
        }
        Ok(())
    }

    /// Whether steps of the parallel axes reach different elements: coordinates tell the position on each of them.
    fn is_alone(&self, op: Op) -> bool {
        let Some(axes) = kernels::axes_of(self.ir, self.kernel.op) else { return false };
        let told = kernels::told_axes(self.ir, &axes, op);
        axes.iter()
            .enumerate()
            .all(|(k, a)| a.reduced || self.ir.exprs.as_int(a.extent) == Some(1) || told.contains(&k))
    }
}

/// What is to stand in memory: `old`, as it was read from there, combined with `v`.
fn combined<B: Build>(b: &B, combiner: Combiner, dtype: DType, old: V<B>, v: V<B>) -> V<B> {
    let old = from_memory(b, old, dtype);
    let new = arith::round(b, combiner.combine(b, dtype, &[old], &[v])[0], dtype);
    to_memory(b, new, dtype)
}
