//! Kernels run through the JIT against what they mean.

#![allow(clippy::needless_range_loop)] // rows and columns are compared by their numbers

mod access;
mod cost;
mod math;
mod reduce;
mod scalars;

use rinductor_scalar::DType::*;

use super::target::Options;
use super::{CompiledKernels, emit_llvm_ir};
use crate::codegen::sample::Sample;
use crate::ir::Ir;

/// CPUs that every kernel is compiled for: the machine's, and one with nothing but what all have (run too: any x86-64 has it).
const CPUS: [Option<&str>; 2] = [None, Some("x86-64")];

pub(super) fn compile(ir: &Ir, cpu: Option<&str>) -> CompiledKernels {
    let options = Options { target_cpu: cpu.map(str::to_string), ..Options::default() };
    match CompiledKernels::compile(ir, &options) {
        Ok(k) => k,
        Err(e) => panic!("{}\n{}", e.message, emit_llvm_ir(ir, &options).unwrap_or_default()),
    }
}

/// Runs the kernel over buffers that are given as bytes of vectors.
pub(super) fn run(ir: &Ir, buffers: &mut [&mut [u8]], symbols: &[i64]) -> Result<(), String> {
    let originals: Vec<Vec<u8>> = buffers.iter().map(|b| b.to_vec()).collect();
    let mut first: Option<(Result<(), String>, Vec<Vec<u8>>)> = None;
    for cpu in CPUS {
        let kernels = compile(ir, cpu);
        for threads in [1, 3] {
            for (b, o) in buffers.iter_mut().zip(&originals) {
                b.copy_from_slice(o);
            }
            let pointers: Vec<*mut u8> = buffers.iter_mut().map(|b| b.as_mut_ptr()).collect();
            // SAFETY: the tests give buffers of the sizes that the kernel's types say.
            let r = unsafe { kernels.all()[0].run(&pointers, symbols, threads) }.map_err(|e| e.to_string());
            if first.is_none() {
                first = Some((r, buffers.iter().map(|b| b.to_vec()).collect()));
            }
        }
    }
    let (r, data) = first.expect("there is a CPU");
    for (b, d) in buffers.iter_mut().zip(data) {
        b.copy_from_slice(&d);
    }
    r
}

pub(super) fn bytes<T: Copy>(v: &mut [T]) -> &mut [u8] {
    // SAFETY: numbers without padding, any bytes of which are numbers.
    unsafe { std::slice::from_raw_parts_mut(v.as_mut_ptr().cast(), size_of_val(v)) }
}

pub(super) fn ramp(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919) % 1000) as f32 / 37.0 - 13.0).collect()
}

/// `out[x, y] = a[x, y] + b[y] * c[x]` over sizes with and without partial steps.
#[test]
fn pointwise_with_broadcasts_and_tails() {
    for (n, m) in [(1, 1), (3, 8), (5, 13), (2, 40), (7, 3)] {
        let (ns, ms) = (n.to_string(), m.to_string());
        let mut k = Sample::new(&[&format!("x = {n} tile 1 parallel"), &format!("y = {m} tile 8 parallel")]);
        let a = k.buffer(F32, &[&ns, &ms]);
        let b = k.buffer(F32, &[&ms]);
        let c = k.buffer(F32, &[&ns]);
        let out = k.buffer(F32, &[&ns, &ms]);
        let (x, y) = (k.axis("x"), k.axis("y"));
        let av = k.load(a, &["d0", "d1"], &[x, y], None);
        let bv = k.load(b, &["d0"], &[y], None);
        let cv = k.load(c, &["d0"], &[x], None);
        let cv = k.broadcast(cv);
        let p = k.scalar("arith.mulf", &[bv, cv], F32);
        let s = k.scalar("arith.addf", &[av, p], F32);
        k.store(s, out, &["d0", "d1"], &[x, y], None);
        let ir = k.finish();
        let (mut av, mut bv, mut cv, mut o) = (ramp(n * m), ramp(m), ramp(n), vec![0f32; n * m]);
        run(&ir, &mut [bytes(&mut av), bytes(&mut bv), bytes(&mut cv), bytes(&mut o)], &[]).expect("runs");
        for i in 0..n {
            for j in 0..m {
                assert_eq!(o[i * m + j], av[i * m + j] + bv[j] * cv[i], "{n}x{m} at {i},{j}");
            }
        }
    }
}

/// A softmax with the tiled axis reduced, symbolic sizes, several threads.
#[test]
fn softmax_with_symbols() {
    let mut k = Sample::new(&["x = s0 tile 1 parallel", "r = s1 tile 8 reduce"]);
    let a = k.buffer(F32, &["s0", "s1"]);
    let out = k.buffer(F32, &["s0", "s1"]);
    k.symbol("s0");
    k.symbol("s1");
    let x = k.axis("x");
    let m = k.reduce(&["maximum"], &["r"], &[F32], |k| {
        let r = k.axis("r");
        vec![k.load(a, &["d0", "d1"], &[x, r], None)]
    })[0];
    let shifted = |k: &mut Sample| {
        let r = k.axis("r");
        let v = k.load(a, &["d0", "d1"], &[x, r], None);
        let m = k.broadcast(m);
        let d = k.scalar("arith.subf", &[v, m], F32);
        (k.scalar("math.exp", &[d], F32), r)
    };
    let s = k.reduce(&["add"], &["r"], &[F32], |k| vec![shifted(k).0])[0];
    k.walk(&["r"], false, &[], |k, _| {
        let (e, r) = shifted(k);
        let s = k.broadcast(s);
        let q = k.scalar("arith.divf", &[e, s], F32);
        k.store(q, out, &["d0", "d1"], &[x, r], None);
        vec![]
    });
    let ir = k.finish();
    for (n, m) in [(1, 1), (4, 7), (100, 64), (33, 1000), (2, 0)] {
        let (mut a, mut o) = (ramp(n * m), vec![0f32; n * m]);
        run(&ir, &mut [bytes(&mut a), bytes(&mut o)], &[n as i64, m as i64]).expect("runs");
        for i in 0..n {
            let row = &a[i * m..(i + 1) * m];
            let max = row.iter().fold(f32::NEG_INFINITY, |a, &b| a.max(b));
            let sum: f64 = row.iter().map(|&v| f64::from(v - max).exp()).sum();
            for j in 0..m {
                let want = f64::from(row[j] - max).exp() / sum;
                let got = f64::from(o[i * m + j]);
                assert!((got - want).abs() <= 1e-5 * want + 1e-12, "{n}x{m} at {i},{j}: {got} {want}");
            }
        }
    }
}
