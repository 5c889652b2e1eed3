//! The vectorized functions against 64-bit ones, densely: `docs/math.md` states the errors, this holds them to it.

use rinductor_scalar::{DType, ScalarOp, f64_binary, f64_unary, to_ir};

use super::{bytes, compile};
use crate::codegen::sample::Sample;
use crate::ir::Ir;

const DOC: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/math.md"));

/// `out[i] = op(a[i], …)` over `n` points.
fn kernel(op: ScalarOp, d: DType) -> Ir {
    let mut k = Sample::new(&["x = s0 tile 8 parallel"]);
    let args: Vec<_> = (0..op.arity()).map(|_| k.buffer(d, &["s0"])).collect();
    let out = k.buffer(d, &["s0"]);
    k.symbol("s0");
    let x = k.axis("x");
    let values: Vec<_> = args.into_iter().map(|a| k.load(a, &["d0"], &[x], None)).collect();
    let name = to_ir(op, d).expect("the op takes floats").name;
    let v = k.scalar(name, &values, d);
    k.store(v, out, &["d0"], &[x], None);
    k.finish()
}

/// Numbers of every exponent and sign, with the special ones and some round ones.
fn samples(step: usize) -> Vec<f32> {
    let mut v: Vec<f32> = (0..=u32::MAX).step_by(step).map(f32::from_bits).collect();
    let special = [
        0.0,
        f32::INFINITY,
        f32::NAN,
        1.0,
        f32::MIN_POSITIVE,
        f32::MAX,
        f32::from_bits(1),
        0.5,
        2.0,
        3.0,
        88.722_84,
        103.972_08,
        10.0,
    ];
    v.extend(special.iter().flat_map(|&x| [x, -x]));
    // Around 1 and in the usual range more densely.
    v.extend((0..40_000).map(|i| i as f32 / 1000.0 - 20.0));
    v.extend((0..20_000).map(|i| 1.0 + (i as f32 - 10_000.0) * 1.0e-6));
    v
}

/// The distance from the exact value in units of the last place of the `f32` next to it; infinite where a special value is another.
fn ulps(got: f32, want: f64) -> f64 {
    let rounded = want as f32;
    if rounded.is_nan() || got.is_nan() {
        return if rounded.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if rounded.is_infinite() || got.is_infinite() {
        // A result within two units of the overflow threshold may go either way.
        let edge =
            |x: f64| x.abs() >= f64::from(f32::MAX) * (1.0 - 3.0e-7) && x.abs() <= f64::from(f32::MAX) * (1.0 + 3.0e-7);
        return if got == rounded || edge(want) { 0.0 } else { f64::INFINITY };
    }
    if rounded == 0.0 && got == 0.0 {
        return if want != 0.0 || got.is_sign_negative() == rounded.is_sign_negative() { 0.0 } else { f64::INFINITY };
    }
    let exponent = want.abs().log2().floor().max(-126.0);
    (f64::from(got) - want).abs() / (exponent - 23.0).exp2()
}

struct Worst {
    ulps: f64,
    at: String,
}

fn measure(op: ScalarOp, cpu: Option<&str>) -> Worst {
    let ir = kernel(op, DType::F32);
    let kernels = compile(&ir, cpu);
    let (mut a, mut b) = (samples(if op.arity() == 1 { 8191 } else { 1_299_709 }), vec![0f32]);
    if op.arity() == 2 {
        let some: Vec<f32> = [samples(40_000_003), (-12..12).map(|i| i as f32 / 2.0).collect()].concat();
        let some: Vec<f32> = some
            .into_iter()
            .step_by(97)
            .chain((-6..6).map(|i| i as f32 / 2.0))
            .chain([f32::INFINITY, -0.0, f32::NAN, f32::NEG_INFINITY])
            .collect();
        let first: Vec<f32> = a
            .into_iter()
            .step_by(11)
            .chain([0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN])
            .collect();
        (a, b) = first.iter().flat_map(|&x| some.iter().map(move |&y| (x, y))).unzip();
    }
    let n = a.len();
    let mut out = vec![0f32; n];
    let mut buffers = vec![bytes(&mut a).as_mut_ptr()];
    if op.arity() == 2 {
        buffers.push(bytes(&mut b).as_mut_ptr());
    }
    buffers.push(bytes(&mut out).as_mut_ptr());
    // SAFETY: all buffers have n elements.
    unsafe { kernels.all()[0].run(&buffers, &[n as i64], 0) }.expect("runs");
    let mut worst = Worst { ulps: 0.0, at: String::new() };
    for i in 0..n {
        let want = match op.arity() {
            1 => f64_unary(op).expect("a function")(a[i].into()),
            _ => f64_binary(op).expect("a function")(a[i].into(), b[i].into()),
        };
        let u = ulps(out[i], want);
        if u > worst.ulps {
            let at = if op.arity() == 1 { format!("{:e}", a[i]) } else { format!("{:e}, {:e}", a[i], b[i]) };
            worst = Worst { ulps: u, at: format!("{at}: got {:e}, want {want:e}", out[i]) };
        }
    }
    worst
}

/// The rows of the table: name and bound.
fn table() -> Vec<(ScalarOp, f64)> {
    let rows = DOC.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let op = ScalarOp::BASIC.iter().find(|op| cells.get(1) == Some(&format!("`{}`", op.name()).as_str()))?;
        Some((*op, cells.get(2)?.parse().ok()?))
    });
    rows.collect()
}

#[test]
fn functions_are_as_exact_as_the_documentation_says() {
    let rows = table();
    assert!(rows.len() >= 25, "docs/math.md has {} rows", rows.len());
    let mut faults = String::new();
    for (op, bound) in rows {
        for cpu in [None, Some("x86-64")] {
            let worst = measure(op, cpu);
            println!("{:8} {:10} {:.3} ulp at {}", op.name(), cpu.unwrap_or("host"), worst.ulps, worst.at);
            if worst.ulps > bound {
                faults += &format!("{} on {}: {} ulp at {}\n", op.name(), cpu.unwrap_or("host"), worst.ulps, worst.at);
            }
        }
    }
    assert!(faults.is_empty(), "{faults}");
}
