//! What compiling costs, counted: instructions of LLVM IR for the kernels of a transformer.

use rinductor_scalar::DType::F32;

use super::super::target::{CodegenLevel, Options};
use super::{bytes, compile, ramp};
use crate::codegen::llvm::emit_llvm_ir;
use crate::codegen::sample::Sample;
use crate::ir::Ir;

/// `out = gelu(a + b)`, one row after the other.
pub(super) fn gelu(ir: Ir, name: &str, n: usize, m: usize) -> Ir {
    let (ns, ms) = (n.to_string(), m.to_string());
    let mut k = Sample::add(ir, name, &[&format!("x = {n} tile 1 parallel"), &format!("y = {m} tile 8 parallel")]);
    let (a, b, out) = (k.buffer(F32, &[&ns, &ms]), k.buffer(F32, &[&ms]), k.buffer(F32, &[&ns, &ms]));
    let (x, y) = (k.axis("x"), k.axis("y"));
    let (av, bv) = (k.load(a, &["d0", "d1"], &[x, y], None), k.load(b, &["d0"], &[y], None));
    let v = k.scalar("arith.addf", &[av, bv], F32);
    let (half, root, one) = (k.constant("0.5", F32), k.constant("0.70710678", F32), k.constant("1.0", F32));
    let h = k.scalar("arith.mulf", &[v, half], F32);
    let r = k.scalar("arith.mulf", &[v, root], F32);
    let e = k.scalar("math.erf", &[r], F32);
    let e = k.scalar("arith.addf", &[e, one], F32);
    let g = k.scalar("arith.mulf", &[h, e], F32);
    k.store(g, out, &["d0", "d1"], &[x, y], None);
    k.finish()
}

/// A softmax over the rows.
pub(super) fn softmax(ir: Ir, name: &str, n: usize, m: usize) -> Ir {
    let (ns, ms) = (n.to_string(), m.to_string());
    let mut k = Sample::add(ir, name, &[&format!("x = {n} tile 1 parallel"), &format!("r = {m} tile 8 reduce")]);
    let (a, out) = (k.buffer(F32, &[&ns, &ms]), k.buffer(F32, &[&ns, &ms]));
    let x = k.axis("x");
    let top = k.reduce(&["maximum"], &["r"], &[F32], |k| {
        let r = k.axis("r");
        vec![k.load(a, &["d0", "d1"], &[x, r], None)]
    })[0];
    let exp = |k: &mut Sample| {
        let r = k.axis("r");
        let v = k.load(a, &["d0", "d1"], &[x, r], None);
        let m = k.broadcast(top);
        let d = k.scalar("arith.subf", &[v, m], F32);
        (k.scalar("math.exp", &[d], F32), r)
    };
    let sum = k.reduce(&["add"], &["r"], &[F32], |k| vec![exp(k).0])[0];
    k.walk(&["r"], false, &[], |k, _| {
        let (e, r) = exp(k);
        let s = k.broadcast(sum);
        let q = k.scalar("arith.divf", &[e, s], F32);
        k.store(q, out, &["d0", "d1"], &[x, r], None);
        vec![]
    });
    k.finish()
}

/// A layer normalization of `a + b` with weight and bias.
pub(super) fn layer_norm(ir: Ir, name: &str, n: usize, m: usize) -> Ir {
    let (ns, ms) = (n.to_string(), m.to_string());
    let mut k = Sample::add(ir, name, &[&format!("x = {n} tile 1 parallel"), &format!("r = {m} tile 8 reduce")]);
    let (a, b) = (k.buffer(F32, &[&ns, &ms]), k.buffer(F32, &[&ns, &ms]));
    let (w, c, out) = (k.buffer(F32, &[&ms]), k.buffer(F32, &[&ms]), k.buffer(F32, &[&ns, &ms]));
    let x = k.axis("x");
    let sum = |k: &mut Sample| {
        let r = k.axis("r");
        let (av, bv) = (k.load(a, &["d0", "d1"], &[x, r], None), k.load(b, &["d0", "d1"], &[x, r], None));
        (k.scalar("arith.addf", &[av, bv], F32), r)
    };
    let stats = k.reduce(&["welford"], &["r"], &[F32, F32, F32], |k| vec![sum(k).0]);
    let variance = k.scalar("arith.divf", &[stats[1], stats[2]], F32);
    k.walk(&["r"], false, &[], |k, _| {
        let (v, r) = sum(k);
        let epsilon = k.constant("1.0e-5", F32);
        let (mean, variance) = (k.broadcast(stats[0]), k.broadcast(variance));
        let variance = k.scalar("arith.addf", &[variance, epsilon], F32);
        let s = k.scalar("math.rsqrt", &[variance], F32);
        let d = k.scalar("arith.subf", &[v, mean], F32);
        let d = k.scalar("arith.mulf", &[d, s], F32);
        let (wv, cv) = (k.load(w, &["d0"], &[r], None), k.load(c, &["d0"], &[r], None));
        let d = k.scalar("arith.mulf", &[d, wv], F32);
        let d = k.scalar("arith.addf", &[d, cv], F32);
        k.store(d, out, &["d0", "d1"], &[x, r], None);
        vec![]
    });
    k.finish()
}

fn instructions(ir: &Ir) -> usize {
    let text =
        emit_llvm_ir(ir, &Options { target_cpu: Some("x86-64-v3".into()), ..Options::default() }).expect("emits");
    text.lines().filter(|l| l.starts_with("  ") && !l.trim().is_empty()).count()
}

/// Bounds on what the emitter makes of a kernel, the math functions included: LLVM's time goes with it.
#[test]
fn emitted_instructions_are_few() {
    for (name, ir, bound) in [
        ("gelu", gelu(Ir::with_module(), "k", 128, 3072), 110),
        ("softmax", softmax(Ir::with_module(), "k", 1536, 128), 260),
        ("layer_norm", layer_norm(Ir::with_module(), "k", 128, 768), 230),
    ] {
        let n = instructions(&ir);
        println!("{name}: {n} instructions");
        assert!(n <= bound, "{name}: {n} instructions of LLVM IR, at most {bound} were expected");
        assert!(n >= 40, "{name}: {n} instructions cannot be all of it");
    }
}

/// Forty kernels of one module, and equal ones compiled once; the times are printed.
#[test]
fn forty_kernels_in_one_module() {
    let mut ir = Ir::with_module();
    for i in 0..13 {
        ir = gelu(ir, &format!("gelu_{i}"), 128 + i, 3072);
        ir = softmax(ir, &format!("softmax_{i}"), 1536 + i, 128);
        ir = layer_norm(ir, &format!("norm_{i}"), 128 + i, 768);
        ir = layer_norm(ir, &format!("norm_again_{i}"), 128 + i, 768);
    }
    for (passes, level) in [
        (None, CodegenLevel::Less),
        (None, CodegenLevel::Default),
        (Some("always-inline"), CodegenLevel::Less),
        (Some("always-inline,function(early-cse,simplifycfg)"), CodegenLevel::Less),
        (Some("default<O1>"), CodegenLevel::Default),
        (Some("default<O2>"), CodegenLevel::Default),
    ] {
        let options = Options { passes: passes.map(str::to_string), level, ..Options::default() };
        let start = cpu_time();
        let k = crate::codegen::llvm::CompiledKernels::compile(&ir, &options).expect("compiles");
        println!("{passes:?} {level:?}: {:.3} s of CPU, {:?}", (cpu_time() - start) * 1e-9, k.times);
        let function = |name: &str| k.get(name).expect("all kernels are there").info().function.clone();
        assert_eq!(function("norm_again_3"), "norm_3");
        assert_ne!(function("norm_4"), "norm_3");
        let (n, m) = (1536, 128);
        let (mut a, mut o) = (ramp(n * m), vec![0f32; n * m]);
        let buffers = [bytes(&mut a).as_mut_ptr(), bytes(&mut o).as_mut_ptr()];
        // SAFETY: both buffers have the sizes of the kernel's types.
        unsafe { k.get("softmax_0").expect("is there").run(&buffers, &[], 1) }.expect("runs");
        let sum: f32 = o[..m].iter().sum();
        assert!((sum - 1.0).abs() < 1e-5, "{passes:?}: {sum}");
        speeds(&k, passes.unwrap_or("ours"));
    }
    assert_eq!(compile(&ir, None).all().len(), 52);
}

/// Nanoseconds of CPU time of the process: of this test when it runs alone.
#[cfg(target_os = "linux")]
fn cpu_time() -> f64 {
    #[repr(C)]
    struct Time {
        seconds: i64,
        nanoseconds: i64,
    }
    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut Time) -> i32;
    }
    let mut time = Time { seconds: 0, nanoseconds: 0 };
    // SAFETY: clock 2 is the process's on Linux; the struct is that of the 64-bit C library.
    unsafe { clock_gettime(2, &mut time) };
    time.seconds as f64 * 1e9 + time.nanoseconds as f64
}

/// Nanoseconds of the clock, where the process's own time is asked for otherwise.
#[cfg(not(target_os = "linux"))]
fn cpu_time() -> f64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0.0, |d| d.as_nanos() as f64)
}

/// Prints how fast the kernels run on one thread.
fn speeds(k: &crate::codegen::llvm::CompiledKernels, passes: &str) {
    let mut all: Vec<Vec<f32>> = (0..5).map(|_| ramp(256 * 3072)).collect();
    let p: Vec<*mut u8> = all.iter_mut().map(|v| bytes(v).as_mut_ptr()).collect();
    for (name, buffers, points) in [("gelu_0", 3, 128 * 3072), ("softmax_0", 2, 1536 * 128), ("norm_0", 5, 128 * 768)] {
        let kernel = k.get(name).expect("is there");
        let mut best = f64::INFINITY;
        for _ in 0..20 {
            let start = cpu_time();
            // SAFETY: all buffers are larger than the kernel's types say.
            unsafe { kernel.run(&p[..buffers], &[], 1) }.expect("runs");
            best = best.min((cpu_time() - start) * 1e-9);
        }
        println!("  {passes:12} {name:10} {:7.1} us, {:.3} ns a point", best * 1e6, best * 1e9 / points as f64);
    }
}
