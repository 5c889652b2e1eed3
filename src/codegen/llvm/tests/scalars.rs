//! Every scalar operation on every element type against the scalar crate's evaluation.

use rinductor_scalar::{DType, Kind, ResultRule, Scalar, ScalarOp, eval, to_ir};

use super::{compile, run};
use crate::codegen::sample::Sample;
use crate::ir::Ir;

/// Interesting values of a type.
fn values(d: DType) -> Vec<Scalar> {
    match d.kind() {
        Kind::Bool => vec![Scalar::bool(false), Scalar::bool(true)],
        Kind::Float => [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            -2.5,
            1.5,
            3.0,
            7.25,
            -7.0,
            1e-3,
            100.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ]
        .iter()
        .map(|&x| Scalar::from_f64(d, x))
        .collect(),
        _ => [0, 1, 2, 3, 7, 100, -1, -2, -7, -100, d.int_min().unwrap_or(0), d.int_max().unwrap_or(0)]
            .iter()
            .map(|&x| Scalar::from_i64(d, x))
            .collect(),
    }
}

/// Whether two results are the same, or near for functions of floats.
fn agree(op: ScalarOp, got: Scalar, want: Scalar) -> bool {
    if got == want || (!got.dtype().is_float() && got.to_i64() == want.to_i64()) {
        return true;
    }
    let (x, y) = (got.to_f64(), want.to_f64());
    if x.is_nan() && y.is_nan() {
        return true;
    }
    let exact =
        matches!(op, ScalarOp::Add | ScalarOp::Sub | ScalarOp::Mul | ScalarOp::Div | ScalarOp::Sqrt | ScalarOp::Fma);
    let epsilon = got.dtype().epsilon().unwrap_or(0.0) * 4.0;
    got.dtype().is_float() && !exact && x.is_finite() && (x - y).abs() <= epsilon * y.abs()
}

/// The result type of an operation on a type.
fn result(op: ScalarOp, d: DType) -> DType {
    match op.result_rule() {
        ResultRule::Bool => DType::I1,
        ResultRule::Exponent => DType::I32,
        _ => d,
    }
}

/// A kernel `out[i] = op(a[i], b[i], c[i])`.
fn add_kernel(ir: Ir, name: &str, op: ScalarOp, d: DType, n: usize) -> Ir {
    let size = n.to_string();
    let mut k = Sample::add(ir, name, &[&format!("x = {n} tile 8 parallel")]);
    let args: Vec<_> = (0..3).map(|_| k.buffer(d, &[&size])).collect();
    let r = result(op, d);
    let out = k.buffer(r, &[&size]);
    let x = k.axis("x");
    let loaded: Vec<_> = args.iter().map(|&a| k.load(a, &["d0"], &[x], None)).collect();
    let name = to_ir(op, d).expect("the op takes the type");
    let v = match (op.result_rule(), name.predicate) {
        (ResultRule::Select, _) => {
            let c = k.scalar("scalar.cast", &[loaded[0]], DType::I1);
            let c = if d == DType::I1 { loaded[0] } else { c };
            k.scalar(name.name, &[c, loaded[1], loaded[2]], r)
        }
        (_, Some(p)) => {
            let list = if d.is_float() {
                vec![
                    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une",
                    "uno",
                ]
            } else {
                vec!["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]
            };
            let p = list.iter().position(|&x| x == p).expect("a predicate");
            k.compare(name.name, p as i64, loaded[0], loaded[1])
        }
        _ => k.scalar(name.name, &loaded[..op.arity()], r),
    };
    k.store(v, out, &["d0"], &[x], None);
    k.finish()
}

#[test]
fn operations_agree_with_the_scalar_crate() {
    let types = [
        DType::I1,
        DType::U8,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
    ];
    let mut faults = String::new();
    for d in types {
        let all = values(d);
        let n = (all.len() * all.len()).next_multiple_of(8);
        let mut ops = Vec::new();
        let mut ir = Ir::with_module();
        for op in ScalarOp::all() {
            let other = matches!(op.result_rule(), ResultRule::MakeComplex | ResultRule::Scaled | ResultRule::Stated);
            // The special functions are called in 64 bits whatever the type.
            let special = matches!(op, ScalarOp::Special(_)) && d != DType::F32;
            if op.classes().has(d.kind()) && !other && !special {
                ir = add_kernel(ir, &format!("k{}", ops.len()), op, d, n);
                ops.push(op);
            }
        }
        let kernels = compile(&ir, None);
        let pairs = all.iter().flat_map(|&a| all.iter().map(move |&b| (a, b)));
        let pairs: Vec<(Scalar, Scalar)> = pairs.cycle().take(n).collect();
        let column = |f: &dyn Fn(usize) -> Scalar| {
            let mut bytes = vec![0u8; n * d.size()];
            for i in 0..n {
                f(i).write_le(&mut bytes[i * d.size()..(i + 1) * d.size()]);
            }
            bytes
        };
        let third = |i: usize| all[(i * 5 + 3) % all.len()];
        let mut data = [column(&|i| pairs[i].0), column(&|i| pairs[i].1), column(&third)];
        for (j, &op) in ops.iter().enumerate() {
            let r = result(op, d);
            let mut out = vec![0u8; n * r.size()];
            let mut buffers: Vec<*mut u8> = data.iter_mut().map(|v| v.as_mut_ptr()).collect();
            buffers.push(out.as_mut_ptr());
            // SAFETY: all buffers have n elements of the types of the kernel.
            unsafe { kernels.all()[j].run(&buffers, &[], 1) }.expect("runs");
            let mut shown = 0;
            for i in 0..n {
                let args = [pairs[i].0, pairs[i].1, third(i)];
                let args = &args[..op.arity()];
                let want = match op.result_rule() {
                    ResultRule::Select => {
                        Ok(if pairs[i].0.cast(DType::I1).to_i64() != 0 { pairs[i].1 } else { third(i) })
                    }
                    _ => eval(op, r, args),
                };
                let Ok(want) = want else { continue };
                let got = Scalar::read_le(r, &out[i * r.size()..]).expect("within the buffer");
                if !agree(op, got, want) && shown < 3 {
                    shown += 1;
                    faults += &format!("{op} on {d}: {args:?} gives {got:?}, want {want:?}\n");
                }
            }
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

#[test]
fn conversions_agree_with_the_scalar_crate() {
    let types = [
        DType::I1,
        DType::U8,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
    ];
    let mut faults = String::new();
    for from in types {
        let mut all = values(from);
        if from.is_float() {
            all.extend(
                [300.0, -300.0, 70000.0, 3e9, -3e9, 1e19, -1e19, 2147483647.0, 65519.0, 1e-8]
                    .map(|x| Scalar::from_f64(from, x)),
            );
        }
        let n = all.len();
        let size = n.to_string();
        let mut k = Sample::new(&[&format!("x = {n} tile 8 parallel")]);
        let a = k.buffer(from, &[&size]);
        let outs: Vec<_> = types.iter().map(|&t| k.buffer(t, &[&size])).collect();
        let x = k.axis("x");
        let v = k.load(a, &["d0"], &[x], None);
        for (&out, &to) in outs.iter().zip(&types) {
            let w = if to == from { v } else { k.scalar("scalar.cast", &[v], to) };
            k.store(w, out, &["d0"], &[x], None);
        }
        let ir = k.finish();
        let mut bytes = vec![0u8; n * from.size()];
        for (i, s) in all.iter().enumerate() {
            s.write_le(&mut bytes[i * from.size()..(i + 1) * from.size()]);
        }
        let mut data = vec![bytes];
        data.extend(types.iter().map(|t| vec![0u8; n * t.size()]));
        let mut slices: Vec<&mut [u8]> = data.iter_mut().map(|v| &mut v[..]).collect();
        run(&ir, &mut slices, &[]).expect("runs");
        for (j, &to) in types.iter().enumerate() {
            for (i, &s) in all.iter().enumerate() {
                let want = s.cast(to);
                let got = Scalar::read_le(to, &data[1 + j][i * to.size()..]).expect("within the buffer");
                if !agree(ScalarOp::Add, got, want) {
                    faults += &format!("{from} to {to}: {s:?} gives {got:?}, want {want:?}\n");
                }
            }
        }
    }
    assert!(faults.is_empty(), "{faults}");
}
