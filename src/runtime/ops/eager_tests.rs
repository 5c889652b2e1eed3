//! Holds the extern ops against what eager PyTorch computed: `test/runtime/eager.json`, written by `eager.py` beside it.

use super::{Attr, Attrs, extern_op};
use crate::runtime::compare::Expectation;
use crate::runtime::seed::{InputKind, generate};
use crate::runtime::tensor::Tensor;
use rinductor_scalar::DType;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(untagged)]
enum Input {
    Literal {
        ints: Vec<i64>,
    },
    Generated {
        #[serde(flatten)]
        kind: InputKind,
        stream: u64,
        dtype: String,
        sizes: Vec<usize>,
        strides: Vec<usize>,
    },
}

#[derive(Deserialize)]
struct Case {
    op: String,
    attrs: serde_json::Map<String, Value>,
    inputs: Vec<Option<Input>>,
    outputs: Vec<Expectation>,
}

fn tensor(input: &Input) -> Tensor {
    match input {
        Input::Literal { ints } => Tensor::from_slice(&[ints.len()], ints),
        Input::Generated { kind, stream, dtype, sizes, strides } => {
            let dtype = DType::from_torch_name(dtype).expect("a type of torch");
            generate(*kind, 7, *stream, dtype, sizes, strides)
        }
    }
    .expect("inputs are small")
}

fn attr(value: &Value) -> Attr {
    match value {
        Value::Null => Attr::None,
        Value::Bool(b) => Attr::Bool(*b),
        Value::Number(n) => n.as_i64().map_or_else(|| Attr::Float(n.as_f64().expect("a number")), Attr::Int),
        Value::String(s) => Attr::Str(s.clone()),
        Value::Array(list) if list.iter().any(Value::is_boolean) => {
            Attr::Bools(list.iter().map(|b| b.as_bool() == Some(true)).collect())
        }
        Value::Array(list) => Attr::Ints(list.iter().map(|x| x.as_i64().expect("an integer")).collect()),
        Value::Object(_) => panic!("no attribute is a map"),
    }
}

/// Some backward ops take what the forward op gave, which `eager.py` computes as here.
fn complete(case: &Case, attrs: &mut Attrs, inputs: &mut Vec<Option<Tensor>>) {
    let forward = |name: &str, inputs: &[Option<Tensor>], attrs: &Attrs| {
        extern_op(name).expect("registered").run(attrs, inputs).expect("forward runs")
    };
    if case.op.ends_with("flash_attention_for_cpu_backward") {
        let results = forward("aten._scaled_dot_product_flash_attention_for_cpu", &inputs[1..], attrs);
        inputs.splice(4..4, results);
    } else if case.op == "aten._embedding_bag_backward" {
        let table = inputs.remove(3);
        let rows = table.as_ref().expect("a table").sizes()[0];
        let results = forward("aten._embedding_bag", &[table, inputs[1].clone(), inputs[2].clone()], attrs);
        inputs.extend(results.into_iter().skip(1));
        attrs.set("num_weights", Attr::Int(rows as i64));
    }
}

#[test]
fn extern_ops_agree_with_eager_pytorch() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/test/runtime/eager.json");
    let text = std::fs::read_to_string(path).expect("the reference is in the repository");
    let cases: Vec<Case> = serde_json::from_str(&text).expect("the reference is well-formed");
    assert!(cases.len() > 100);
    let mut wrong = Vec::new();
    for (n, case) in cases.iter().enumerate() {
        let mut attrs: Attrs = case.attrs.iter().map(|(name, value)| (name.clone(), attr(value))).collect();
        let mut inputs: Vec<Option<Tensor>> = case.inputs.iter().map(|i| i.as_ref().map(tensor)).collect();
        complete(case, &mut attrs, &mut inputs);
        let op = extern_op(&case.op).expect("registered");
        let what = format!("case {n}: {} {inputs:?} {:?}", case.op, case.attrs);
        let results = match op.run(&attrs, &inputs) {
            Ok(results) => results,
            Err(e) => {
                wrong.push(format!("{what}: {e}"));
                continue;
            }
        };
        assert_eq!(results.len(), op.results, "{what}");
        // Into given tensors of another layout the values must be the same.
        let given: Vec<Option<Tensor>> = results.iter().map(|r| r.as_ref().map(reversed)).collect();
        let into = op.run_into(&attrs, &inputs, &given).expect("runs again");
        for (i, (result, expected)) in results.iter().zip(&case.outputs).enumerate() {
            for w in expected.check(result.as_ref()).expect("sums") {
                wrong.push(format!("{what}: output {i}: {w}"));
            }
            if let (Some(a), Some(b)) = (result, &into[i]) {
                let d = crate::runtime::compare_tensors(b, a, 1e-5, expected.tolerance()).expect("same sizes");
                assert_eq!(d.beyond, 0, "{what}: output {i} differs when written into given memory");
            }
        }
    }
    assert!(wrong.is_empty(), "{} disagreements\n{}", wrong.len(), wrong.join("\n"));
}

/// An uninitialized tensor like this one with its dimensions in memory the other way around.
fn reversed(t: &Tensor) -> Tensor {
    let mut step = 1;
    let next = |size: &usize| {
        step *= size.max(&1);
        step / size.max(&1)
    };
    let strides: Vec<usize> = t.sizes().iter().map(next).collect();
    let out = Tensor::zeros_strided(t.dtype(), t.sizes(), &strides).expect("small");
    out.storage().write::<u8>().expect("nobody else").fill(0x41);
    out
}
