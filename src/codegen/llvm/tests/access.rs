//! Loads and stores: strides, offsets, quotients and remainders, data as indices, guards, atomics, errors.

use rinductor_scalar::DType::{self, *};

use super::{bytes, ramp, run};
use crate::codegen::sample::Sample;

/// A transposition: one side runs along the lanes, the other strides.
#[test]
fn strides_and_offsets() {
    let mut k = Sample::new(&["x = 5 tile 1 parallel", "y = 21 tile 8 parallel"]);
    let a = k.strided(F32, &[5, 21], &[1, 5], 3);
    let out = k.strided(F32, &[5, 21], &[40, 1], 2);
    let back = k.strided(F32, &[5, 21], &[2, 11], 0);
    let (x, y) = (k.axis("x"), k.axis("y"));
    let v = k.load(a, &["d0", "d1"], &[x, y], None);
    k.store(v, out, &["d0", "d1"], &[x, y], None);
    k.store(v, back, &["d0", "d1"], &[x, y], None);
    let ir = k.finish();
    let (mut a, mut o, mut b) = (ramp(3 + 105), vec![-1f32; 200], vec![-1f32; 10 + 21 * 11]);
    run(&ir, &mut [bytes(&mut a), bytes(&mut o), bytes(&mut b)], &[]).expect("runs");
    for i in 0..5 {
        for j in 0..21 {
            assert_eq!(o[2 + i * 40 + j], a[3 + i + 5 * j]);
            assert_eq!(b[i * 2 + j * 11], a[3 + i + 5 * j]);
        }
    }
    assert_eq!(o.iter().filter(|&&v| v == -1.0).count(), 200 - 105, "nothing else is written");
}

/// Views that were flattened: `a[y floordiv 16, y mod 16]` runs along the lanes, `mod 12` does not.
#[test]
fn quotients_and_remainders() {
    for inner in [16i64, 12] {
        let n = 20 * inner;
        let mut k = Sample::new(&[&format!("y = {n} tile 8 parallel")]);
        let a = k.strided(F32, &[20, inner], &[100, 1], 0);
        let out = k.buffer(F32, &[&n.to_string()]);
        let rolled = k.buffer(F32, &[&n.to_string()]);
        let y = k.axis("y");
        let v = k.load(a, &[&format!("d0 floordiv {inner}"), &format!("d0 mod {inner}")], &[y], None);
        k.store(v, out, &["d0"], &[y], None);
        // Backward, and around the end.
        let w = k.load(a, &[&format!("19 - d0 floordiv {inner}"), &format!("(d0 - 5) mod {inner}")], &[y], None);
        k.store(w, rolled, &["d0"], &[y], None);
        let ir = k.finish();
        let (mut a, mut o, mut r) = (ramp(2000), vec![0f32; n as usize], vec![0f32; n as usize]);
        run(&ir, &mut [bytes(&mut a), bytes(&mut o), bytes(&mut r)], &[]).expect("runs");
        for i in 0..n {
            assert_eq!(o[i as usize], a[(i / inner * 100 + i % inner) as usize]);
            assert_eq!(r[i as usize], a[((19 - i / inner) * 100 + (i - 5).rem_euclid(inner)) as usize]);
        }
    }
}

/// An embedding: rows named by data, then elements named by data, with and without counting from the end.
#[test]
fn data_as_indices() {
    let mut k = Sample::new(&["x = s0 tile 1 parallel", "y = 13 tile 8 parallel"]);
    let table = k.buffer(F32, &["10", "13"]);
    let ids = k.buffer(I64, &["s0"]);
    let out = k.buffer(F32, &["s0", "13"]);
    let columns = k.buffer(I32, &["13"]);
    let out2 = k.buffer(F32, &["s0", "13"]);
    k.symbol("s0");
    let (x, y) = (k.axis("x"), k.axis("y"));
    let id = k.load(ids, &["d0"], &[x], None);
    let row = k.position(id, "10", true, None);
    let v = k.load(table, &["d0", "d1"], &[row, y], None);
    k.store(v, out, &["d0", "d1"], &[x, y], None);
    let c = k.load(columns, &["d0"], &[y], None);
    let c = k.position(c, "13", false, None);
    let w = k.load(table, &["d0", "d1"], &[row, c], None);
    k.store(w, out2, &["d0", "d1"], &[x, y], None);
    let ir = k.finish();
    let mut table = ramp(130);
    let mut ids: Vec<i64> = vec![3, -1, 9, 0, -10];
    let mut columns: Vec<i32> = (0..13).rev().collect();
    let (mut o, mut o2) = (vec![0f32; 65], vec![0f32; 65]);
    let mut go = |ids: &mut [i64], columns: &mut [i32]| {
        let r = run(&ir, &mut [bytes(&mut table), bytes(ids), bytes(&mut o), bytes(columns), bytes(&mut o2)], &[5]);
        for i in 0..5 {
            for j in 0..13 {
                if r.is_ok() {
                    let row = ids[i].rem_euclid(10) as usize;
                    assert_eq!(o[i * 13 + j], table[row * 13 + j]);
                    assert_eq!(o2[i * 13 + j], table[row * 13 + columns[j] as usize]);
                }
            }
        }
        r
    };
    go(&mut ids, &mut columns).expect("all in range");
    for bad in [10i64, -11, i64::MAX, i64::MIN] {
        let mut ids = ids.clone();
        ids[3] = bad;
        let e = go(&mut ids, &mut columns).expect_err("out of range");
        assert_eq!(e, format!("kernel @k: index {bad} is out of range for size 10 (check 0)"));
    }
    columns[11] = -1;
    let e = go(&mut ids, &mut columns).expect_err("out of range");
    assert_eq!(e, "kernel @k: index -1 is out of range for size 13 (check 1)");
}

/// Padding: what the guard excludes is 0, and is not read.
#[test]
fn guards() {
    for (d, tile) in [(F32, 8), (U8, 8), (F64, 4), (I1, 16), (BF16, 8)] {
        let mut k = Sample::new(&["x = 6 tile 1 parallel", &format!("y = 25 tile {tile} parallel")]);
        let a = k.buffer(d, &["4", "21"]);
        let out = k.buffer(d, &["6", "25"]);
        let (x, y) = (k.axis("x"), k.axis("y"));
        let inside = |k: &mut Sample, v, low: i64, end: i64| {
            let i = k.index("d0", &[v]);
            let (l, e) = (k.constant(&low.to_string(), I64), k.constant(&end.to_string(), I64));
            let (l, e) = (k.compare("arith.cmpi", 5, i, l), k.compare("arith.cmpi", 2, i, e));
            k.scalar("arith.andi", &[l, e], I1)
        };
        let gx = inside(&mut k, x, 1, 5);
        let gy = inside(&mut k, y, 2, 23);
        let g = k.scalar("arith.andi", &[gx, gy], I1);
        let v = k.load(a, &["d0 - 1", "d1 - 2"], &[x, y], Some(g));
        k.store(v, out, &["d0", "d1"], &[x, y], None);
        // Only the rows of the middle, by a guard that all lanes share.
        let rows = k.buffer(d, &["6", "25"]);
        k.store(v, rows, &["d0", "d1"], &[x, y], Some(gx));
        let some = k.buffer(d, &["6", "25"]);
        k.store(v, some, &["d0", "d1"], &[x, y], Some(g));
        let w = k.load(a, &["d0 - 1", "3"], &[x], Some(gx));
        let column = k.buffer(d, &["6"]);
        k.store(w, column, &["d0"], &[x], None);
        let ir = k.finish();
        let size = d.size();
        let mut a: Vec<u8> =
            (0..84 * size).map(|i| if d == I1 { (i % 3 == 0) as u8 } else { (i % 50 + 1) as u8 }).collect();
        let (mut o, mut r, mut s, mut c) =
            (vec![255u8; 150 * size], vec![77u8; 150 * size], vec![77u8; 150 * size], vec![255u8; 6 * size]);
        run(&ir, &mut [&mut a, &mut o, &mut r, &mut s, &mut c], &[]).expect("runs");
        for i in 0..6 {
            for j in 0..25 {
                let at = (i * 25 + j) * size;
                let in_row = (1..5).contains(&i);
                let inside = in_row && (2..23).contains(&j);
                let want = if inside { a[((i - 1) * 21 + j - 2) * size..][..size].to_vec() } else { vec![0; size] };
                assert_eq!(o[at..at + size], want[..], "{d} {i},{j}");
                assert_eq!(r[at..at + size], if in_row { want.clone() } else { vec![77; size] }[..], "{d} {i},{j}");
                assert_eq!(s[at..at + size], if inside { want.clone() } else { vec![77; size] }[..], "{d} {i},{j}");
            }
            let want =
                if (1..5).contains(&i) { a[((i - 1) * 21 + 3) * size..][..size].to_vec() } else { vec![0; size] };
            assert_eq!(c[i * size..(i + 1) * size], want[..]);
        }
    }
}

/// Atomic additions into few elements, from several threads.
#[test]
fn atomics() {
    fn check<T: Copy + PartialEq + std::fmt::Debug>(d: DType, one: T, zero: T, want: T) {
        let mut k = Sample::new(&["x = 3000 tile 8 parallel"]);
        let ids = k.buffer(I64, &["3000"]);
        let ones = k.buffer(d, &["1"]);
        let out = k.buffer(d, &["30"]);
        let x = k.axis("x");
        let id = k.load(ids, &["d0"], &[x], None);
        let at = k.position(id, "30", false, None);
        let v = k.load(ones, &["0"], &[], None);
        k.atomic("add", v, out, &["d0"], &[at]);
        let ir = k.finish();
        let mut ids: Vec<i64> = (0..3000).map(|i| i * 7 % 30).collect();
        let (mut ones, mut o) = (vec![one], vec![zero; 30]);
        run(&ir, &mut [bytes(&mut ids), bytes(&mut ones), bytes(&mut o)], &[]).expect("runs");
        assert_eq!(o, vec![want; 30], "{d}");
    }
    check(F32, 1f32, 0.0, 100.0);
    check(F64, 1f64, 0.0, 100.0);
    check(I64, 1i64, 0, 100);
    check(I32, 1i32, 0, 100);
    check(I16, 1i16, 0, 100);
    check(U8, 1u8, 0, 100);
    check(BF16, half::bf16::ONE, half::bf16::ZERO, half::bf16::from_f32(100.0));
    check(F16, half::f16::ONE, half::f16::ZERO, half::f16::from_f32(100.0));
}

/// `out[y, x] = a[index[x], y]`, with the tiled axis outside: what depends on it alone is read before the loop over the other axis, and a
/// partial step reads no index beyond the last, though there is memory. `wild` stands there.
#[test]
fn lanes_beyond_an_outer_tiled_axis_are_not_read() {
    for n in [3, 16, 17, 30, 33] {
        let (m, wild) = (4, 1i64 << 40);
        let ns = n.to_string();
        let mut k = Sample::new(&[&format!("x = {n} tile 16 parallel"), &format!("y = {m} tile 1 parallel")]);
        let index = k.buffer(I64, &[&ns]);
        let a = k.buffer(F32, &[&ns, "4"]);
        let out = k.buffer(F32, &["4", &ns]);
        let (x, y) = (k.axis("x"), k.axis("y"));
        let i = k.load(index, &["d0"], &[x], None);
        let at = k.position(i, &ns, false, None);
        let v = k.load(a, &["d0", "d1"], &[at, y], None);
        k.store(v, out, &["d0", "d1"], &[y, x], None);
        let ir = k.finish();
        let mut at: Vec<i64> = (0..n).map(|i| (i * 7 + 2) % n).chain([wild; 16]).collect();
        let (mut a, mut o) = (ramp((n * m) as usize), vec![0f32; (n * m) as usize]);
        run(&ir, &mut [bytes(&mut at), bytes(&mut a), bytes(&mut o)], &[]).expect("all indices lie inside");
        for i in 0..n {
            for j in 0..m {
                let from = (i * 7 + 2) % n;
                assert_eq!(o[(j * n + i) as usize], a[(from * m + j) as usize], "{n} at {i},{j}");
            }
        }
    }
}
