//! Loads, stores, atomics and checks of indices. What lies outside of an axis, or where a guard is false, is masked off.

use rinductor_index::Expr;
use rinductor_scalar::DType;
use rinductor_support::Diagnostic;

use super::kernel::{Emit, Val};
use super::scalar::{self, is_small_float};
use crate::dialects::kernels;
use crate::dialects::loops::Access as IrAccess;
use crate::ir::{Op, Value};
use crate::passes::kernels_tile::is_atomic;

/// What a load or a store addresses.
struct Access {
    buffer: Value,
    dtype: DType,
    /// The element.
    offset: Expr,
    guard: Option<Val>,
}

/// The text of an access.
struct Place {
    pointer: String,
    /// `, mask=…`, or nothing.
    mask: String,
    dims: u32,
    level: usize,
}

impl Emit<'_> {
    fn access(&mut self, op: Op, leading: usize) -> Result<Access, Diagnostic> {
        let ir = IrAccess::of(self.ir, op, leading);
        let buffer = *ir.leading.last().ok_or_else(|| self.error(op, "no buffer"))?;
        let Some((_, layout)) = self.buffers.get(&buffer).cloned() else {
            return Err(self.error(op, "the buffer must be an argument of the kernel"));
        };
        let map = self.mapped(op, leading).unwrap_or_default();
        let mut parts = vec![(1, layout.offset)];
        for (e, stride) in map.iter().zip(&layout.strides) {
            parts.push((1, self.exprs.mul(*e, *stride)));
        }
        let offset = self.exprs.linear_sum(&parts, 0);
        let offset = self.simplified(offset);
        let guard = ir.guard.map(|g| self.get(g));
        Ok(Access { buffer, dtype: layout.dtype, offset, guard })
    }

    /// Where an access goes, for lanes that vary along `dims` besides.
    fn place(&mut self, a: &Access, dims: u32) -> Place {
        let (own, mut level) = self.extent_of(a.offset);
        let all = own | dims | a.guard.as_ref().map_or(0, |g| g.dims);
        let name = self.buffers[&a.buffer].0.clone();
        let offset = self.text(a.offset);
        let mut pointer = if self.exprs.as_int(a.offset) == Some(0) {
            name
        } else {
            format!("{name} + {}", if offset.text.contains(" - ") { offset.tight() } else { offset.text.clone() })
        };
        if all != own {
            // A pointer a lane.
            pointer = format!("tl.broadcast_to({pointer}, {})", self.shape(all));
            if own == 0 && self.exprs.as_int(a.offset) == Some(0) {
                pointer = format!("{} + tl.zeros({}, tl.int32)", self.buffers[&a.buffer].0, self.shape(all));
            }
        }
        let (mut parts, at) = self.mask(all);
        level = level.max(at);
        if let Some(g) = &a.guard {
            parts.push(g.text.clone());
            level = level.max(g.level);
        }
        let mask = if parts.is_empty() { String::new() } else { format!(", mask={}", parts.join(" & ")) };
        Place { pointer, mask, dims: all, level }
    }

    /// `kernels.load`.
    pub fn load(&mut self, op: Op) -> Result<(), Diagnostic> {
        let a = self.access(op, 1)?;
        let result = self.ir.result(op, 0);
        let p = self.place(&a, 0);
        let innermost = self.scopes.len() - 1;
        // What the kernel writes is read where it stands; all else as early as the address is known.
        let written = self.written.contains(&a.buffer);
        let level = if written || a.guard.is_some() { innermost } else { p.level };
        let left = self.loads_left.get_mut(&a.buffer).map_or(0, |n| {
            *n = n.saturating_sub(1);
            *n
        });
        let guard = a.guard.as_ref().map_or("", |g| g.text.as_str());
        let key = format!("load {} {:?} {} {guard}", self.buffers[&a.buffer].0, a.offset, p.dims);
        for scope in self.scopes.iter().rev() {
            if let Some(v) = scope.memo.get(&key) {
                let v = v.clone();
                self.env.insert(result, v);
                return Ok(());
            }
        }
        let zero = match (&a.guard, a.dtype) {
            (None, _) => "",
            (_, DType::I1) => ", other=False",
            (_, d) if d.is_float() => ", other=0.0",
            _ => ", other=0",
        };
        // In a loop: what is read once more stays in the cache, what is not makes room.
        let hint = match (level > 0 && !written, left > 0) {
            (true, true) => ", eviction_policy=\"evict_last\"",
            (true, false) => ", eviction_policy=\"evict_first\"",
            _ => "",
        };
        if written && self.dirty.remove(&a.buffer) {
            self.dirty.clear();
            self.line_at(level, "tl.debug_barrier()".into());
        }
        let mut text = format!("tl.load({}{}{zero}{hint})", p.pointer, p.mask);
        if is_small_float(a.dtype) {
            text += ".to(tl.float32)";
        }
        let v = self.define_new(result, text, a.dtype, p.dims, level);
        self.scopes[level].memo.insert(key, v);
        Ok(())
    }

    /// `kernels.store`.
    pub fn store(&mut self, op: Op) -> Result<(), Diagnostic> {
        let a = self.access(op, 2)?;
        let v = self.get(kernels::StoreOp(op).value(self.ir));
        let p = self.place(&a, v.dims);
        let value = self.stored_value(&v, a.dtype);
        self.line(format!("tl.store({}, {value}{})", p.pointer, p.mask));
        self.forget_loads(a.buffer);
        // Later reads of the same place in this scope see what was stored.
        if a.guard.is_none() && v.dims == p.dims {
            let innermost = self.scopes.len() - 1;
            let key = format!("load {} {:?} {} ", self.buffers[&a.buffer].0, a.offset, p.dims);
            self.scopes[innermost].memo.insert(key, Val { dtype: a.dtype, ..v });
        }
        self.dirty.insert(a.buffer);
        Ok(())
    }

    /// What was loaded from a buffer may stand there no more.
    pub fn forget_loads(&mut self, buffer: Value) {
        let Some((name, _)) = self.buffers.get(&buffer) else { return };
        let name = format!("load {name} ");
        for scope in &mut self.scopes {
            scope.memo.retain(|k, _| !k.starts_with(&name));
        }
    }

    /// A value as it is stored.
    fn stored_value(&mut self, v: &Val, dtype: DType) -> String {
        if v.literal && dtype == DType::I1 {
            return format!("tl.full((), {}, tl.int1)", v.text);
        }
        if v.literal && is_small_float(dtype) && dtype.size() == 1 {
            return scalar::narrowed(&format!("tl.full((), {}, tl.float32)", v.text), dtype, self.h);
        }
        // `tl.store` rounds to the type of the pointer by itself, but for 8-bit floats, which it saturates.
        if dtype.size() == 1 && dtype.is_float() { scalar::narrowed(&v.text, dtype, self.h) } else { v.text.clone() }
    }

    /// `kernels.atomic`.
    pub fn atomic(&mut self, op: Op) -> Result<(), Diagnostic> {
        let a = self.access(op, 2)?;
        let atomic = kernels::AtomicOp(op);
        let v = self.get(atomic.value(self.ir));
        let combiner = atomic.combiner(self.ir).to_string();
        let p = self.place(&a, v.dims);
        let element = self.ir.element_type(self.ir.value_type(atomic.value(self.ir)));
        let name = match combiner.as_str() {
            "maximum" => "max",
            "minimum" => "min",
            other => other,
        };
        if is_atomic(self.ir, &combiner, element) {
            let mut value =
                if v.literal { format!("tl.full((), {}, {})", v.text, scalar::held(a.dtype)) } else { v.text.clone() };
            if is_small_float(a.dtype) {
                value = scalar::narrowed(&value, a.dtype, self.h);
            }
            if v.dims != p.dims {
                value = format!("tl.broadcast_to({value}, {})", self.shape(p.dims));
            }
            self.line(format!("tl.atomic_{name}({}, {value}{}, sem=\"relaxed\")", p.pointer, p.mask));
        } else {
            // One program goes through all points that may meet in one place, one after the other.
            let logical = a.dtype == DType::I1;
            let float = a.dtype.is_float();
            let function = match (name, logical) {
                ("add" | "or", true) | ("max", true) => "_or",
                ("mul" | "and", true) | ("min", true) => "_and",
                ("add", _) => "_add",
                ("mul", _) => "_mul",
                ("and", _) => "_and",
                ("or", _) => "_or",
                ("xor", _) => "_xor",
                ("max", _) => {
                    if float {
                        "_maximum"
                    } else {
                        "_greatest"
                    }
                }
                ("min", _) => {
                    if float {
                        "_minimum"
                    } else {
                        "_least"
                    }
                }
                _ => return Err(self.error(op, format!("Triton has no way '{combiner}' to combine"))),
            };
            let function = self.h.need(function);
            let old = self.names.fresh("old");
            let wide = if is_small_float(a.dtype) { ".to(tl.float32)" } else { "" };
            self.line(format!("{old} = tl.load({}{}){wide}", p.pointer, p.mask));
            let value =
                if v.literal { format!("tl.full((), {}, {})", v.text, scalar::held(a.dtype)) } else { v.text.clone() };
            let new =
                self.stored_value(&Val { text: format!("{function}({old}, {value})"), literal: false, ..v }, a.dtype);
            self.line("tl.debug_barrier()".into());
            self.line(format!("tl.store({}, {new}{})", p.pointer, p.mask));
            self.line("tl.debug_barrier()".into());
        }
        self.forget_loads(a.buffer);
        self.dirty.insert(a.buffer);
        Ok(())
    }

    /// `kernels.position`: an index from data, checked before it is used.
    pub fn check(&mut self, op: Op) -> Result<(), Diagnostic> {
        let position = kernels::PositionOp(op);
        let bound = *position.bound(self.ir).first().ok_or_else(|| self.error(op, "no bound"))?;
        let value = self.get(position.value(self.ir));
        let guard = position.guard(self.ir).map(|g| self.get(g));
        let bound = self.text(bound);
        let level = self.scopes.len() - 1;
        let dims = value.dims | guard.as_ref().map_or(0, |g| g.dims);
        let result = self.ir.result(op, 0);
        let mut text =
            if value.literal { format!("tl.full((), {}, tl.int64)", value.text) } else { value.text.clone() };
        if value.dtype != DType::I64 && value.dtype != DType::Index && !value.literal {
            text = format!("{text}.to(tl.int64)");
        }
        if position.wrap(self.ir) {
            let raw = self.names.fresh("index");
            self.line(format!("{raw} = {text}"));
            text = format!("tl.where({raw} < 0, {raw} + {}, {raw})", bound.factor_text());
        }
        let (mut inside, _) = self.mask(dims);
        if let Some(g) = &guard {
            inside.push(g.text.clone());
        }
        let at = self.names.fresh("position");
        self.line(format!("{at} = {text}"));
        let good = format!("({at} >= 0) & ({at} < {})", bound.text);
        let good = match inside.len() {
            0 => good,
            1 => format!("({good}) | ~{}", inside[0]),
            _ => format!("({good}) | ~({})", inside.join(" & ")),
        };
        let message = self.check_message(op);
        self.line(format!("tl.device_assert({good}, {message})"));
        self.checks = true;
        // Lanes that were not checked must not reach anywhere.
        let safe = if inside.is_empty() { at.clone() } else { format!("tl.where({}, {at}, 0)", inside.join(" & ")) };
        if safe == at {
            self.env.insert(result, Val { text: at, literal: false, dtype: DType::Index, dims, level });
        } else {
            let all = dims | self.mask_dims(&inside);
            self.define(result, safe, DType::Index, all, level);
        }
        Ok(())
    }

    /// The dimensions along which masks vary that are those of axes.
    fn mask_dims(&self, masks: &[String]) -> u32 {
        let of = |a: usize| self.axes[a].mask.as_ref().is_some_and(|m| masks.contains(m));
        (0..self.axes.len()).filter(|&a| of(a)).fold(0, |d, a| d | self.bit(a))
    }
}
