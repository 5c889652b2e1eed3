//! Reductions: every combiner, with the tiled axis reduced or not, sizes around the tile and the unrolled step.

use rinductor_scalar::DType::{self, *};

use super::{bytes, ramp, run};
use crate::codegen::sample::Sample;

const SIZES: [usize; 8] = [0, 1, 7, 8, 31, 32, 100, 321];

/// `out[x] = reduce over r of a[x, r]`, either axis tiled.
fn row_reduction(combiner: &str, d: DType, results: &[DType], tiled_reduce: bool) -> crate::ir::Ir {
    let (tx, tr) = if tiled_reduce { (1, 8) } else { (8, 1) };
    let mut k = Sample::new(&[&format!("x = s0 tile {tx} parallel"), &format!("r = s1 tile {tr} reduce")]);
    let a = k.buffer(d, &["s0", "s1"]);
    let outs: Vec<_> = results.iter().map(|&d| k.buffer(d, &["s0"])).collect();
    k.symbol("s0");
    k.symbol("s1");
    let x = k.axis("x");
    let v = k.reduce(&[combiner], &["r"], results, |k| {
        let r = k.axis("r");
        let v = k.load(a, &["d0", "d1"], &[x, r], None);
        if results.len() == 2 {
            let i = k.index("d0", &[r]);
            return vec![v, i];
        }
        vec![v]
    });
    for (v, out) in v.into_iter().zip(outs) {
        k.store(v, out, &["d0"], &[x], None);
    }
    k.finish()
}

#[test]
fn sums_and_extremes() {
    for tiled_reduce in [true, false] {
        for name in ["add", "maximum", "minimum", "mul"] {
            let ir = row_reduction(name, F32, &[F32], tiled_reduce);
            for m in SIZES {
                let n = 11;
                let mut a = ramp(n * m);
                if name == "mul" {
                    a.iter_mut().for_each(|v| *v = 1.0 + *v * 0.001);
                }
                // A NaN in row 3 wins over everything.
                if m > 5 {
                    a[3 * m + m / 2] = f32::NAN;
                }
                let mut o = vec![0f32; n];
                run(&ir, &mut [bytes(&mut a), bytes(&mut o)], &[n as i64, m as i64]).expect("runs");
                for i in 0..n {
                    let row = a[i * m..(i + 1) * m].iter().map(|&v| f64::from(v));
                    let nan = a[i * m..(i + 1) * m].iter().any(|v| v.is_nan());
                    let want = match name {
                        "add" => row.sum::<f64>(),
                        "mul" => row.product::<f64>(),
                        "maximum" => row.fold(f64::NEG_INFINITY, f64::max),
                        _ => row.fold(f64::INFINITY, f64::min),
                    };
                    let got = f64::from(o[i]);
                    if nan {
                        assert!(got.is_nan(), "{name} {m}");
                    } else {
                        assert!(
                            got == want || (got - want).abs() <= 1e-4 * want.abs().max(1.0),
                            "{name} {m}: {got} {want}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn positions_of_extremes_are_the_first() {
    for tiled_reduce in [true, false] {
        for name in ["argmax", "argmin"] {
            let ir = row_reduction(name, F32, &[F32, I64], tiled_reduce);
            for m in SIZES.into_iter().skip(1) {
                let n = 9;
                // Few distinct values, so that there are ties; a row of infinities; two NaN in one row.
                let mut a: Vec<f32> = (0..n * m).map(|i| ((i * 7919) % 5) as f32).collect();
                let worst = if name == "argmax" { f32::NEG_INFINITY } else { f32::INFINITY };
                a[2 * m..3 * m].fill(worst);
                a[5 * m + m / 2] = f32::NAN;
                a[5 * m + m - 1] = f32::NAN;
                let (mut o, mut p) = (vec![0f32; n], vec![0i64; n]);
                run(&ir, &mut [bytes(&mut a), bytes(&mut o), bytes(&mut p)], &[n as i64, m as i64]).expect("runs");
                for i in 0..n {
                    let row = &a[i * m..(i + 1) * m];
                    let better = |x: f32, y: f32| if name == "argmax" { x > y } else { x < y };
                    let mut best = 0;
                    for j in 1..m {
                        if (row[j].is_nan() && !row[best].is_nan()) || better(row[j], row[best]) {
                            best = j;
                        }
                    }
                    assert_eq!(p[i], best as i64, "{name} {m} row {i} {row:?}");
                    assert!(o[i] == row[best] || row[best].is_nan(), "{name} {m}");
                }
            }
        }
    }
}

#[test]
fn welford_gives_mean_and_squares() {
    for tiled_reduce in [true, false] {
        let ir = row_reduction("welford", F32, &[F32, F32, F32], tiled_reduce);
        for m in SIZES {
            let n = 10;
            let mut a: Vec<f32> = ramp(n * m).iter().map(|v| v + 1000.0).collect();
            let (mut mean, mut m2, mut count) = (vec![0f32; n], vec![0f32; n], vec![0f32; n]);
            run(&ir, &mut [bytes(&mut a), bytes(&mut mean), bytes(&mut m2), bytes(&mut count)], &[n as i64, m as i64])
                .expect("runs");
            for i in 0..n {
                let row: Vec<f64> = a[i * m..(i + 1) * m].iter().map(|&v| v.into()).collect();
                let want = row.iter().sum::<f64>() / m.max(1) as f64;
                let squares: f64 = row.iter().map(|v| (v - want) * (v - want)).sum();
                assert_eq!(count[i], m as f32);
                assert!((f64::from(mean[i]) - want).abs() < 1e-3, "{m}: {} {want}", mean[i]);
                assert!((f64::from(m2[i]) - squares).abs() <= 2e-3 * squares + 1e-3, "{m}: {} {squares}", m2[i]);
            }
        }
    }
}

#[test]
fn integers_and_bools() {
    for tiled_reduce in [true, false] {
        for name in ["add", "mul", "maximum", "minimum", "and", "or", "xor"] {
            let ir = row_reduction(name, I64, &[I64], tiled_reduce);
            let (n, m) = (9, 37);
            let mut a: Vec<i64> = (0..n * m).map(|i| ((i * 7919) % 1000) as i64 - 500).collect();
            let mut o = vec![0i64; n];
            run(&ir, &mut [bytes(&mut a), bytes(&mut o)], &[n as i64, m as i64]).expect("runs");
            for i in 0..n {
                let row = a[i * m..(i + 1) * m].iter().copied();
                let want = match name {
                    "add" => row.fold(0, i64::wrapping_add),
                    "mul" => row.fold(1, i64::wrapping_mul),
                    "maximum" => row.fold(i64::MIN, i64::max),
                    "minimum" => row.fold(i64::MAX, i64::min),
                    "and" => row.fold(-1, |x, y| x & y),
                    "or" => row.fold(0, |x, y| x | y),
                    _ => row.fold(0, |x, y| x ^ y),
                };
                assert_eq!(o[i], want, "{name}");
            }
        }
        for name in ["and", "or", "add", "maximum"] {
            let ir = row_reduction(name, I1, &[I1], tiled_reduce);
            let (n, m) = (9, 21);
            let mut a: Vec<u8> = (0..n * m).map(|i| u8::from(i / m == 4 || (i % 17 == 3 && i / m != 2))).collect();
            let mut o = vec![9u8; n];
            run(&ir, &mut [bytes(&mut a), bytes(&mut o)], &[n as i64, m as i64]).expect("runs");
            for i in 0..n {
                let row = &a[i * m..(i + 1) * m];
                let want = if name == "and" { row.iter().all(|&v| v == 1) } else { row.contains(&1) };
                assert_eq!(o[i], u8::from(want), "{name} {row:?}");
            }
        }
    }
}

/// Two combiners in one walk over two axes, the inner one tiled.
#[test]
fn several_axes_and_combiners() {
    let mut k = Sample::new(&["x = 5 tile 1 parallel", "r = 6 tile 1 reduce", "q = 45 tile 8 reduce"]);
    let a = k.buffer(F32, &["6", "5", "45"]);
    let (sum, max) = (k.buffer(F32, &["5"]), k.buffer(F32, &["5"]));
    let x = k.axis("x");
    let v = k.reduce(&["add", "maximum"], &["r", "q"], &[F32, F32], |k| {
        let (r, q) = (k.axis("r"), k.axis("q"));
        let v = k.load(a, &["d0", "d1", "d2"], &[r, x, q], None);
        let e = k.scalar("arith.mulf", &[v, v], F32);
        vec![e, v]
    });
    k.store(v[0], sum, &["d0"], &[x], None);
    k.store(v[1], max, &["d0"], &[x], None);
    let ir = k.finish();
    let (mut a, mut s, mut m) = (ramp(6 * 5 * 45), vec![0f32; 5], vec![0f32; 5]);
    run(&ir, &mut [bytes(&mut a), bytes(&mut s), bytes(&mut m)], &[]).expect("runs");
    for i in 0..5 {
        let all: Vec<f64> =
            (0..6).flat_map(|r| a[(r * 5 + i) * 45..(r * 5 + i + 1) * 45].iter().map(|&v| f64::from(v))).collect();
        let want: f64 = all.iter().map(|v| v * v).sum();
        assert!((f64::from(s[i]) - want).abs() < 1e-4 * want, "{} {want}", s[i]);
        assert_eq!(f64::from(m[i]), all.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    }
}

/// A running sum along the rows, forward and backward, the lanes side by side.
#[test]
fn scans_carry() {
    for reverse in [false, true] {
        let mut k = Sample::new(&["x = 19 tile 8 parallel", "r = s0 tile 1 reduce"]);
        let a = k.buffer(F32, &["s0", "19"]);
        let out = k.buffer(F32, &["s0", "19"]);
        k.symbol("s0");
        let x = k.axis("x");
        let zero = k.constant("0.0", F32);
        k.walk(&["r"], reverse, &[zero], |k, carried| {
            let r = k.axis("r");
            let v = k.load(a, &["d0", "d1"], &[r, x], None);
            let s = k.scalar("arith.addf", &[carried[0], v], F32);
            k.store(s, out, &["d0", "d1"], &[r, x], None);
            vec![s]
        });
        let ir = k.finish();
        for m in [0usize, 1, 5] {
            let (mut a, mut o) = (ramp(m * 19), vec![0f32; m * 19]);
            run(&ir, &mut [bytes(&mut a), bytes(&mut o)], &[m as i64]).expect("runs");
            for i in 0..19 {
                let mut s = 0f32;
                for j in 0..m {
                    let j = if reverse { m - 1 - j } else { j };
                    s += a[j * 19 + i];
                    assert_eq!(o[j * 19 + i], s);
                }
            }
        }
    }
}
