//! The key of a kernel: what it computes and how it is stepped, whatever it and its values are called.

use crate::dialects::kernels;
use crate::ir::{Dict, Ir, Op, Value};
use crate::text::AttrText;
use rinductor_support::FxHashMap;
use std::fmt::Write;

/// A number of 128 bits, in hexadecimal, that kernels share which differ by names only.
pub fn key(ir: &Ir, func: Op) -> String {
    let mut text = String::new();
    let mut numbers: FxHashMap<Value, usize> = FxHashMap::default();
    let dict = |text: &mut String, d: Dict, top: bool| {
        let mut entries: Vec<_> = ir.dict(d).iter().map(|&(name, attr)| (ir.text(name), attr)).collect();
        entries.sort_unstable();
        // What a kernel writes is seen in its body.
        for (name, attr) in entries.into_iter().filter(|(n, _)| !(top && matches!(*n, "sym_name" | "sym_visibility"))) {
            let _ = write!(text, " {name}={}", AttrText::of_attr(ir, attr));
        }
    };
    let define = |text: &mut String, numbers: &mut FxHashMap<Value, usize>, v: Value| {
        let n = numbers.len();
        numbers.insert(v, n);
        let _ = write!(text, " %{n}:{}", AttrText::of_type(ir, ir.value_type(v)));
    };
    ir.walk(func, &mut |op| {
        let depth = std::iter::successors(ir.parent_op(op), |&o| ir.parent_op(o)).take_while(|&o| o != func).count();
        let _ = write!(text, "\n{depth} {}", ir.op_name(op));
        dict(&mut text, ir.op(op).props, op == func);
        if op != func {
            dict(&mut text, ir.op(op).attrs, false);
        }
        for v in ir.operands(op) {
            let n = numbers.get(&v).copied().unwrap_or(usize::MAX);
            let _ = write!(text, " {n}");
        }
        for v in ir.results(op) {
            define(&mut text, &mut numbers, v);
        }
        for &v in ir.body(op).map(|b| ir.block_args(b)).unwrap_or_default() {
            define(&mut text, &mut numbers, v);
        }
    });
    hash(&text)
}

/// Whether nothing has been decided about a kernel yet: it takes one point at a time, and has no memory of its own.
pub fn is_plain(ir: &Ir, func: Op) -> bool {
    let axes = kernels::axes_of(ir, func).unwrap_or_default();
    let single = axes.iter().all(|a| a.tile == 1 && a.unroll == 1);
    single && ir.ops_named(func, kernels::LocalOp::NAME).is_empty()
}

/// FNV-1a in 128 bits.
pub fn hash(text: &str) -> String {
    const PRIME: u128 = (1 << 88) + 0x13b;
    let hash = text
        .bytes()
        .fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |h, b| (h ^ u128::from(b)).wrapping_mul(PRIME));
    format!("{hash:032x}")
}
