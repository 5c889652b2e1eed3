//! Graphs that a pattern may match, with inputs: arguments by the schema, until everything verifies.

use rinductor::defs::ast::{SchemaParam, Str};
use rinductor::defs::schema::{Base, Literal};
use rinductor::defs::{ResultType, Setting, Signature, TensorType};
use rinductor::dialects::instance::instance_of;
use rinductor::dialects::library::Library;
use rinductor::interp::Input;
use rinductor::interp::value::{Array, for_each_point};
use rinductor::ir::{Attr, Block, InsertPoint, Ir, Loc, Op, OpSpec, Type, TypeData, Value};
use rinductor::rewrite::pattern::{Node, OpNode};
use rinductor::rewrite::types::ir_type;
use rinductor::scalar::{DType, Kind, Scalar};

/// Numbers that look random, the same each time (splitmix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// A function to rewrite, and what to call it with.
pub struct Sample {
    pub ir: Ir,
    pub func: Op,
    pub inputs: Vec<Input>,
}

/// What a variable of a pattern stands for in a generated graph.
#[derive(Clone)]
enum Bound {
    Value(Value),
    Attr(Option<Attr>),
}

struct Generator<'a> {
    ir: Ir,
    body: Block,
    library: &'a Library,
    random: &'a mut Random,
    vars: Vec<(Str, Bound)>,
    /// Shape and dtype that tensors have by preference, so that they fit each other.
    shape: Vec<i64>,
    dtype: DType,
    inputs: Vec<Input>,
}

/// A graph that has the ops of a pattern; None when what was tried does not verify.
pub fn sample(pattern: &OpNode<'_>, library: &Library, random: &mut Random) -> Option<Sample> {
    let mut ir = Ir::with_module();
    let name = ir.name("func.func");
    let func = ir.create(OpSpec::named(name).regions(1), InsertPoint::End(ir.module_body()));
    let region = ir.regions_of(func)[0];
    let body = ir.add_block(region);
    let rank = random.below(4);
    let shape = (0..rank).map(|_| random.pick(&[1, 2, 3, 4])).collect();
    let dtype = random.pick(&[
        DType::F32,
        DType::F32,
        DType::F64,
        DType::BF16,
        DType::F16,
        DType::I64,
        DType::I32,
        DType::U8,
        DType::I1,
    ]);
    let mut g = Generator { ir, body, library, random, vars: Vec::new(), shape, dtype, inputs: Vec::new() };
    let root = g.op(pattern)?;
    // Something uses the results, sometimes more than the caller.
    let mut results: Vec<Value> = g.ir.results(root).collect();
    if g.random.one_in(2) {
        results = results.into_iter().map(|v| g.used(v)).collect::<Option<_>>()?;
    }
    g.ir.create_op("func.return", &results, &[], &[], Loc::Unknown, InsertPoint::End(body));
    Some(Sample { ir: g.ir, func, inputs: g.inputs })
}

impl Generator<'_> {
    /// What is computed from a value: then the value itself is not seen outside.
    fn used(&mut self, v: Value) -> Option<Value> {
        if !matches!(self.ir.ty(self.ir.value_type(v)), TypeData::Tensor { .. }) {
            return Some(v);
        }
        // Negation shows every bit: the sign of a zero, too.
        let bools =
            rinductor::dialects::dtype_of(&self.ir, self.ir.element_type(self.ir.value_type(v))) == Some(DType::I1);
        let name = self.ir.name(if bools { "aten.logical_not" } else { "aten.neg" });
        let op = self.make(OpSpec::named(name).operands(&[v]))?;
        Some(self.ir.result(op, 0))
    }

    /// Makes an op with inferred result types, if it verifies.
    fn make(&mut self, spec: OpSpec) -> Option<Op> {
        let name = self.ir.text(spec.name).to_string();
        let def = self.library.op(&name)?;
        let probe = self.ir.create_detached(spec.clone());
        let instance = instance_of(&mut self.ir, probe, def).ok()?;
        let setting = Setting { facts: rinductor::index::Ranges::of_sizes(0), externs: None };
        let types = rinductor::defs::verify(def, &instance, &mut self.ir.exprs, &setting).ok()??;
        let types: Vec<Type> = types
            .iter()
            .map(|t| match t {
                ResultType::Tensor(t) => ir_type(&mut self.ir, t, None),
                ResultType::Int => self.ir.index_type(),
            })
            .collect();
        Some(self.ir.create(spec.results(&types), InsertPoint::End(self.body)))
    }

    fn op(&mut self, node: &OpNode<'_>) -> Option<Op> {
        let Signature::Schema(sig) = &node.def.signature else { return None };
        let mut operands = Vec::new();
        let mut props = Vec::new();
        let mut counts = Vec::new();
        let mut segments = sig.params.iter().any(|p| p.ty.is_tensor() && (p.ty.list || p.ty.optional()));
        for (k, param) in sig.params.iter().enumerate() {
            let before = operands.len();
            let pattern = node.args.iter().find(|(n, _)| *n == k).map(|(_, p)| p);
            let attr = match pattern {
                Some(p) => self.arg(param, p, &mut operands)?,
                None if param.default.is_some() && (!node.rest || self.random.one_in(2)) => None,
                None => self.free(param, &mut operands)?,
            };
            segments |= param.ty.is_tensor() && attr.is_some();
            if let Some(a) = attr {
                props.push((self.ir.name(&param.name.text), a));
            }
            if param.ty.has_segment() {
                counts.push((operands.len() - before) as i64);
            }
        }
        if segments {
            let name = self.ir.name("operandSegmentSizes");
            props.push((name, self.ir.i32_array_attr(&counts)));
        }
        let props = self.ir.make_dict(props);
        let name = self.ir.name(&node.def.name.text);
        self.make(OpSpec::named(name).operands(&operands).props(props))
    }

    /// The argument that a pattern asks for: operands, or an attribute.
    fn arg(&mut self, param: &SchemaParam, node: &Node<'_>, operands: &mut Vec<Value>) -> Option<Option<Attr>> {
        match node {
            Node::Any => self.free(param, operands),
            Node::Bind(name) => {
                let bound = self.vars.iter().find(|(n, _)| n == *name).map(|(_, b)| b.clone());
                let bound = match bound {
                    Some(b) => b,
                    None => {
                        let mut mine = Vec::new();
                        let b = match (self.free(param, &mut mine)?, mine.as_slice()) {
                            (None, &[v]) => Bound::Value(v),
                            (attr, []) => Bound::Attr(attr),
                            _ => return None,
                        };
                        self.vars.push(((*name).clone(), b.clone()));
                        b
                    }
                };
                match bound {
                    Bound::Value(v) => {
                        operands.push(v);
                        Some(None)
                    }
                    Bound::Attr(a) => Some(a),
                }
            }
            Node::Literal(literal) => Some(self.literal(literal)),
            Node::List(items) => {
                for item in items {
                    let one = SchemaParam {
                        ty: rinductor::defs::schema::SchemaType { list: false, ..param.ty.clone() },
                        ..param.clone()
                    };
                    self.arg(&one, item, operands)?;
                }
                Some(None)
            }
            Node::Op(inner) => {
                let op = self.op(inner)?;
                operands.push(self.ir.result(op, inner.result as usize));
                Some(None)
            }
        }
    }

    fn literal(&mut self, literal: &Literal) -> Option<Attr> {
        match literal {
            Literal::Bool(b) => Some(self.ir.bool_attr(*b)),
            Literal::Int(n) => Some(self.ir.i64_attr(*n)),
            Literal::Float(x) => rinductor::dialects::scalar_attr(&mut self.ir, Scalar::f64(*x)),
            Literal::Str(s) => Some(self.ir.string_attr(s)),
            Literal::None | Literal::List(_) => None,
        }
    }

    /// An argument that may be anything.
    fn free(&mut self, param: &SchemaParam, operands: &mut Vec<Value>) -> Option<Option<Attr>> {
        let ty = &param.ty;
        if ty.optional() && self.random.one_in(3) {
            return Some(None);
        }
        if ty.is_tensor() {
            let n = if ty.list { 1 + self.random.below(3) } else { 1 };
            for _ in 0..n {
                let v = self.tensor(&param.name.text);
                operands.push(v);
            }
            return Some(None);
        }
        if ty.list {
            return Some(self.list(ty.base == Base::Float));
        }
        Some(match ty.base {
            Base::Int | Base::SymInt => {
                let n = self.random.below(7) as i64 - 3;
                Some(self.ir.i64_attr(n))
            }
            Base::Scalar => match self.random.below(4) {
                0 => Some(self.ir.i64_attr(2)),
                1 => Some(self.ir.bool_attr(true)),
                2 => self.literal(&Literal::Float(-0.3)),
                _ => self.literal(&Literal::Float(1.7)),
            },
            Base::Float => self.literal(&Literal::Float(0.37)),
            Base::Bool => {
                let b = self.random.one_in(2);
                Some(self.ir.bool_attr(b))
            }
            Base::ScalarType => {
                let d = if self.random.one_in(2) {
                    self.dtype
                } else {
                    self.random.pick(&[DType::F32, DType::F64, DType::BF16, DType::I64, DType::I32, DType::I1])
                };
                let ty = rinductor::dialects::type_of(&mut self.ir, d);
                Some(self.ir.type_attr(ty))
            }
            Base::MemoryFormat => Some(self.ir.string_attr("contiguous_format")),
            Base::Str => {
                let word = self.random.pick(&["none", "tanh"]);
                Some(self.ir.string_attr(word))
            }
            _ => None,
        })
    }

    /// A list of sizes, dimensions, … that may fit the shape.
    fn list(&mut self, floats: bool) -> Option<Attr> {
        if floats {
            return None;
        }
        let mut list = self.shape.clone();
        match self.random.below(8) {
            0 => {}
            // The last sizes.
            6 => drop(list.drain(..self.random.below(list.len() + 1))),
            // A permutation.
            1 | 2 => {
                list = (0..self.shape.len() as i64).collect();
                for k in (1..list.len()).rev() {
                    let j = self.random.below(k + 1);
                    list.swap(k, j);
                }
            }
            // The same number of elements in other sizes.
            3 => {
                let n: i64 = self.shape.iter().product();
                let a = self.random.pick(&(1..=n).filter(|a| n % a == 0).collect::<Vec<_>>());
                list = vec![a, n / a];
            }
            4 => list = vec![self.shape.iter().product()],
            // Sizes of 1 repeated.
            5 => {
                for n in &mut list {
                    if *n == 1 {
                        *n = self.random.pick(&[1, 3]);
                    }
                }
                if self.random.one_in(3) {
                    list.insert(0, 2);
                }
            }
            _ => {
                list = (0..self.shape.len() as i64).filter(|_| self.random.one_in(2)).collect();
            }
        }
        Some(self.ir.i64_array_attr(&list))
    }

    /// An argument of the function, with its input.
    fn tensor(&mut self, param: &str) -> Value {
        let mut shape = self.shape.clone();
        if self.random.one_in(4) {
            for n in &mut shape {
                if self.random.one_in(2) {
                    *n = 1;
                }
            }
        }
        let dtype = match param {
            "condition" => DType::I1,
            _ if self.random.one_in(6) => self.random.pick(&[DType::F32, DType::I64, DType::I1, DType::BF16]),
            _ => self.dtype,
        };
        // Contiguous, or with the last two dimensions in each other's place.
        let mut a = Array::zeros(dtype, &shape).expect("small");
        if shape.len() >= 2 && self.random.one_in(3) {
            let n = shape.len();
            shape.swap(n - 1, n - 2);
            a = Array::zeros(dtype, &shape).expect("small");
            let mut strides = a.strides.clone();
            shape.swap(n - 1, n - 2);
            strides.swap(n - 1, n - 2);
            a = a.view(&shape, &strides, 0);
        }
        let random = &mut *self.random;
        for_each_point(&shape, |i| a.set(i, element(dtype, random)));
        let ints = |ir: &mut Ir, list: &[i64]| list.iter().map(|&n| ir.exprs.int(n)).collect::<Vec<_>>();
        let ty = TensorType {
            shape: ints(&mut self.ir, &shape),
            dtype,
            strides: ints(&mut self.ir, &a.strides),
            offset: self.ir.exprs.int(0),
        };
        let ty = ir_type(&mut self.ir, &ty, None);
        self.inputs.push(Input::Tensor(a));
        self.ir.add_block_arg(self.body, ty)
    }
}

/// An element: special values among them.
fn element(dtype: DType, random: &mut Random) -> Scalar {
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.0];
    match dtype.kind() {
        Kind::Float if random.one_in(4) => Scalar::from_f64(dtype, random.pick(&special)),
        Kind::Float => Scalar::from_f64(dtype, random.below(2000) as f64 / 333.0 - 3.0),
        Kind::Bool => Scalar::bool(random.one_in(2)),
        _ if random.one_in(8) => Scalar::from_i64(dtype, random.pick(&[i64::MIN, i64::MAX, -1])),
        _ => Scalar::from_i64(dtype, random.below(9) as i64 - 4),
    }
}
