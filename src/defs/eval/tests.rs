//! Instances of ops of the `aten` dialect, and what comes out.

use super::*;
use crate::instance::{Arg, Number, TensorArg, TensorType};
use crate::read::read;
use rinductor_scalar::DType;
use rinductor_support::SourceMap;

/// Files of `dialects`, one after the other.
macro_rules! dialects {
    ($($name:literal),+) => { concat!($(include_str!(concat!("../../../dialects/", $name, ".dialect")), "\n"),+) };
}

const ATEN: &str = dialects!(
    "aten",
    "aten_pointwise",
    "aten_activation",
    "aten_reduce",
    "aten_view",
    "aten_create",
    "aten_index",
    "aten_pool",
    "aten_pad",
    "aten_resample",
    "aten_foreach",
    "aten_scan"
);

struct Fixture {
    file: File,
    exprs: Exprs,
    operands: usize,
}

impl Fixture {
    fn new(text: &str) -> Self {
        let mut sources = SourceMap::new();
        let id = sources.add("t.dialect", text).expect("small");
        let (file, diagnostics) = read(&sources, id);
        let errors: Vec<String> = diagnostics.iter().map(|d| d.headline(&sources)).collect();
        assert_eq!(errors, Vec::<String>::new());
        Self { file, exprs: Exprs::new(), operands: 0 }
    }

    fn op(&self, name: &str) -> OpDef {
        self.file.ops.iter().find(|o| &*o.name.text == name).expect("an op of the file").clone()
    }

    fn size(&mut self, text: &str) -> IndexExpr {
        self.exprs.parse(text).expect("an expression")
    }

    fn ints(&mut self, items: &[i64]) -> Arg {
        Arg::Ints(items.iter().map(|i| self.exprs.int(*i)).collect())
    }

    fn int(&mut self, i: i64) -> Arg {
        Arg::Number(Number::Int(self.exprs.int(i)))
    }

    /// A contiguous tensor, `f32[2,s0]`.
    fn tensor_arg(&mut self, text: &str) -> TensorArg {
        let (dtype, sizes) = text.trim_end_matches(']').split_once('[').expect("dtype[sizes]");
        let shape: Vec<IndexExpr> = sizes.split(',').filter(|s| !s.is_empty()).map(|s| self.size(s)).collect();
        let mut strides = vec![self.exprs.int(1); shape.len()];
        for d in (0..shape.len().saturating_sub(1)).rev() {
            strides[d] = self.exprs.mul(strides[d + 1], shape[d + 1]);
        }
        let dtype = DType::from_ir_name(dtype).expect("a dtype");
        let offset = self.exprs.int(0);
        self.operands += 1;
        TensorArg { operand: self.operands - 1, ty: TensorType { shape, dtype, strides, offset } }
    }

    fn tensor(&mut self, text: &str) -> Arg {
        Arg::Tensor(self.tensor_arg(text))
    }

    fn types(&self, types: &[ResultType]) -> String {
        let list = |items: &[IndexExpr]| items.iter().map(|e| self.exprs.display(*e)).collect::<Vec<_>>().join(",");
        let shown: Vec<String> = types
            .iter()
            .map(|t| match t {
                ResultType::Tensor(t) => format!("{}[{}] strides [{}]", t.dtype, list(&t.shape), list(&t.strides)),
                ResultType::Int => "int".to_owned(),
            })
            .collect();
        shown.join("; ")
    }

    /// Result types and semantics as text.
    fn run(&mut self, name: &str, args: Vec<Arg>) -> (String, String) {
        let op = self.op(name);
        let instance = Instance { args, results: Vec::new() };
        let setting = Setting { facts: Ranges::of_sizes(2), externs: None };
        let types = verify(&op, &instance, &mut self.exprs, &setting).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        let types = types.unwrap_or_else(|| panic!("{name}: the types of the results are not known"));
        let semantics =
            instantiate(&op, &instance, &mut self.exprs, &setting).unwrap_or_else(|e| panic!("{name}: {e}"));
        self.operands = 0;
        (self.types(&types), semantics.display(&self.exprs))
    }

    fn broken(&mut self, name: &str, args: Vec<Arg>) -> Vec<String> {
        let op = self.op(name);
        let instance = Instance { args, results: Vec::new() };
        self.operands = 0;
        let broken = verify(&op, &instance, &mut self.exprs, &Setting::default()).err().unwrap_or_default();
        broken.into_iter().map(|e| e.message).collect()
    }
}

/// Compares with a golden file of `test/defs`, or writes it when `RINDUCTOR_BLESS` is set.
fn golden(file: &str, got: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../test/defs/").to_owned() + file;
    if std::env::var_os("RINDUCTOR_BLESS").is_some() {
        std::fs::write(&path, got).expect("test/defs can be written");
    }
    let want = std::fs::read_to_string(&path).unwrap_or_default();
    for (i, (got, want)) in got.lines().zip(want.lines()).enumerate() {
        assert_eq!(got, want, "line {} of {path}; bless with RINDUCTOR_BLESS=1 cargo test -p rinductor-defs", i + 1);
    }
    assert_eq!(got.lines().count(), want.lines().count(), "{path}");
}

#[test]
fn instances_of_aten_ops() {
    let mut f = Fixture::new(ATEN);
    let mut out = String::new();
    let mut show = |name: &str, args: &dyn Fn(&mut Fixture) -> Vec<Arg>| {
        let args = args(&mut f);
        let (types, semantics) = f.run(name, args);
        out.push_str(&format!("=== {name}: {types}\n{semantics}"));
    };
    show("aten.add.Tensor", &|f| vec![f.tensor("bf16[4,s0]"), f.tensor("f32[s0]")]);
    show("aten.add.Tensor", &|f| vec![f.tensor("i64[4]"), Arg::Number(Number::Float(0.5)), f.int(2)]);
    show("aten.gelu", &|f| vec![f.tensor("bf16[4]")]);
    show("aten.where.self", &|f| vec![f.tensor("i1[4,1]"), f.tensor("f32[3]"), f.tensor("f32[]")]);
    show("aten.sum.dim_IntList", &|f| {
        vec![f.tensor("bf16[4,5,s0]"), f.ints(&[-1, 0]), Arg::Number(Number::Bool(true))]
    });
    show("aten.var_mean.correction", &|f| {
        vec![f.tensor("f32[4,s0]"), f.ints(&[1]), f.int(0), Arg::Number(Number::Bool(true))]
    });
    show("aten.cumsum", &|f| vec![f.tensor("i1[4,5]"), f.int(-1)]);
    show("aten.sort", &|f| vec![f.tensor("f32[4,5]")]);
    show("aten.permute", &|f| vec![f.tensor("f32[2,3,s0]"), f.ints(&[2, 0, -2])]);
    show("aten.view", &|f| vec![f.tensor("f32[2,3,s0]"), f.ints(&[6, -1])]);
    show("aten.view", &|f| vec![f.tensor("f32[8,12]"), f.ints(&[2, 4, 3, 4])]);
    show("aten.embedding", &|f| vec![f.tensor("f32[100,16]"), f.tensor("i64[2,s0]")]);
    show("aten.index.Tensor", &|f| {
        let (a, b, c) = (f.tensor("f32[2,3,5,7]"), f.tensor_arg("i64[4,1]"), f.tensor_arg("i64[6]"));
        vec![a, Arg::Tensors(vec![None, Some(b), Some(c)])]
    });
    show("aten.index_put", &|f| {
        let (a, b) = (f.tensor("f32[10,3]"), f.tensor_arg("i64[4]"));
        vec![a, Arg::Tensors(vec![Some(b)]), f.tensor("f32[3]"), Arg::Number(Number::Bool(true))]
    });
    show("aten.cat", &|f| {
        let (a, b, c) = (f.tensor_arg("f32[2,3]"), f.tensor_arg("bf16[2,s0]"), f.tensor_arg("f32[2,1]"));
        vec![Arg::Tensors(vec![Some(a), Some(b), Some(c)]), f.int(1)]
    });
    show("aten.constant_pad_nd", &|f| vec![f.tensor("f32[2,3]"), f.ints(&[1, 2]), Arg::Number(Number::Float(0.5))]);
    show("aten.max_pool2d_with_indices", &|f| {
        vec![f.tensor("f32[1,8,32,32]"), f.ints(&[3, 3]), f.ints(&[2, 2]), f.ints(&[1, 1])]
    });
    golden("aten.txt", &out);
}

#[test]
fn requirements_are_sentences_with_the_values() {
    let mut f = Fixture::new(ATEN);
    assert_eq!(f.broken("aten.permute", Vec::new()), ["'aten.permute': argument 'self' is missing"]);
    let args = vec![f.tensor("f32[2,3,4]"), f.ints(&[0, 2, 2])];
    assert_eq!(f.broken("aten.permute", args), ["dims = [0, 2, 2] is not a permutation of 3 axes"]);
    let args = vec![f.tensor("f32[2]"), Arg::Str("fast".into())];
    assert_eq!(f.broken("aten.gelu", args), ["approximate must be none or tanh, got fast"]);
    let args = vec![f.tensor("f32[2]"), f.tensor("f32[3]"), Arg::Str("x".into())];
    assert_eq!(f.broken("aten.add.Tensor", args), ["'aten.add.Tensor': argument 'alpha' is a string, not a number"]);
    let args = vec![f.tensor("f32[2,s0]"), f.ints(&[5, -1, -1])];
    assert_eq!(f.broken("aten.view", args), ["only one size may be -1"]);
    let args = vec![f.tensor("f32[2]"), f.tensor("f32[3]")];
    assert_eq!(f.broken("aten.add.Tensor", args), ["sizes [2] and [3] do not broadcast"]);
    // Of sizes that are not known only some have to differ.
    let args = vec![f.tensor("f32[s0,2]"), f.tensor("f32[s1,3]")];
    assert_eq!(f.broken("aten.add.Tensor", args), ["sizes [s0, 2] and [s1, 3] do not broadcast"]);
}

#[test]
fn conditions_of_rules() {
    let mut f = Fixture::new(ATEN);
    let rule = f.file.rules.iter().find(|r| &*r.name.text == "permute_identity").expect("there").clone();
    let condition = rule.condition.expect("given");
    let value = |f: &mut Fixture, dims: &[i64]| {
        let arg = f.tensor_arg("f32[2,3]");
        let tensor = Value::Tensor(std::rc::Rc::new(TensorValue {
            source: TensorSource::Source(crate::semantics::Source::Operand(0)),
            shape: arg.ty.shape.clone(),
            dtype: arg.ty.dtype,
            strides: arg.ty.strides.clone(),
            offset: arg.ty.offset,
        }));
        let dims = Value::list(dims.iter().map(|d| Value::Int(f.exprs.int(*d))));
        let bindings = [(Str::from("x"), tensor), (Str::from("p"), dims)];
        eval_expr(&condition, &bindings, &mut f.exprs, &Setting::default()).map_err(|e| e.message)
    };
    assert_eq!(value(&mut f, &[0, -1]), Ok(Value::Bool(true)));
    assert_eq!(value(&mut f, &[1, 0]), Ok(Value::Bool(false)));
    assert_eq!(value(&mut f, &[0, 2]), Err("dimension 2 is not one of the 2 dimensions".to_owned()));
}
