//! A graph of aten ops as data: easy to make, to shrink, and to turn into IR with its inputs.

use rinductor::defs::{OpDef, ResultType, Setting, Signature, TensorType};
use rinductor::dialects::instance::instance_of;
use rinductor::dialects::library::Library;
use rinductor::dialects::{scalar_attr, type_of};
use rinductor::index::{Expr, Ranges};
use rinductor::interp::value::{Array, for_each_point};
use rinductor::ir::{Attr, AttrData, Block, InsertPoint, Ir, Loc, Op, OpSpec, Type, Value};
use rinductor::rewrite::types::ir_type;
use rinductor::scalar::{DType, Scalar};

/// A size: a number, or the symbol of this number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    Known(i64),
    Symbol(usize),
}

/// An argument of an op that is no tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Prop {
    Int(Size),
    Float(f64),
    Bool(bool),
    Str(String),
    Type(DType),
    Ints(Vec<Size>),
    Floats(Vec<f64>),
    Bools(Vec<bool>),
}

/// What stands at a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    Absent,
    Tensors(Vec<usize>),
    Prop(Prop),
}

/// One op. Its results are the values after those of the nodes before it.
#[derive(Clone, Debug)]
pub struct Node {
    pub op: String,
    /// One for each parameter of the schema.
    pub args: Vec<Arg>,
    pub results: usize,
}

/// An input: its elements and how they lie in memory.
#[derive(Clone, Debug)]
pub struct Input {
    pub dtype: DType,
    pub sizes: Vec<Size>,
    /// Dimensions from the one that lies outermost to the one that runs fastest.
    pub order: Vec<usize>,
    /// What the stride of each dimension is multiplied with: 0 for an expanded one, 2 for a slice.
    pub steps: Vec<i64>,
    /// In row-major order.
    pub elements: Vec<Scalar>,
}

/// A graph. Values are numbered: first the inputs, then the results of the nodes.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The values of the symbols, and whether each is an argument of its own.
    pub symbols: Vec<(i64, bool)>,
    pub inputs: Vec<Input>,
    pub nodes: Vec<Node>,
    pub outputs: Vec<usize>,
}

/// The IR of a graph.
pub struct Built {
    pub ir: Ir,
    pub func: Op,
    pub arguments: Vec<Argument>,
}

/// What a function is called with; each use makes its own copy.
#[derive(Clone)]
pub enum Argument {
    Int(i64),
    Tensor(Array),
}

/// IR that grows op by op.
pub struct Builder<'a> {
    library: &'a Library,
    pub ir: Ir,
    func: Op,
    body: Block,
    symbols: Vec<Option<Value>>,
    symbol_values: Vec<i64>,
    arguments: Vec<Argument>,
    arg_attrs: Vec<Attr>,
    pub values: Vec<Value>,
}

impl<'a> Builder<'a> {
    /// A function without ops, whose symbols are known.
    pub fn new(library: &'a Library, symbols: &[(i64, bool)]) -> Self {
        let mut ir = Ir::with_module();
        let name = ir.name("func.func");
        let func = ir.create(OpSpec::named(name).regions(1), InsertPoint::End(ir.module_body()));
        let region = ir.regions_of(func)[0];
        let body = ir.add_block(region);
        let mut b = Builder {
            library,
            ir,
            func,
            body,
            symbols: Vec::new(),
            symbol_values: symbols.iter().map(|s| s.0).collect(),
            arguments: Vec::new(),
            arg_attrs: Vec::new(),
            values: Vec::new(),
        };
        for (k, &(n, is_argument)) in symbols.iter().enumerate() {
            let value = is_argument.then(|| {
                let index = b.ir.index_type();
                let value = b.ir.add_block_arg(body, index);
                let name = b.ir.name(&format!("n{k}"));
                b.ir.set_value_name(value, Some(name));
                let (name, symbol) = (b.ir.name("aten.symbol"), b.ir.string_attr(&format!("s{k}")));
                let dict = b.ir.make_dict([(name, symbol)]);
                b.arg_attrs.push(b.ir.make_attr(AttrData::Dict(dict)));
                b.arguments.push(Argument::Int(n));
                value
            });
            b.symbols.push(value);
        }
        b
    }

    /// Another function of the same library.
    pub fn fresh(&self, symbols: &[(i64, bool)]) -> Builder<'a> {
        Builder::new(self.library, symbols)
    }

    /// As [`Builder::node`], by the name of the op.
    pub fn node_named(&mut self, name: &str, args: &[Arg]) -> Option<usize> {
        self.node(self.library.op(name)?, args)
    }

    fn size(&mut self, size: Size) -> Expr {
        match size {
            Size::Known(n) => self.ir.exprs.int(n),
            Size::Symbol(k) => self.ir.exprs.sym(&format!("s{k}")),
        }
    }

    fn number(&self, size: Size) -> i64 {
        match size {
            Size::Known(n) => n,
            Size::Symbol(k) => self.symbol_values[k],
        }
    }

    /// Adds an argument with its tensor.
    pub fn input(&mut self, input: &Input) {
        let shape: Vec<Expr> = input.sizes.iter().map(|&s| self.size(s)).collect();
        let sizes: Vec<i64> = input.sizes.iter().map(|&s| self.number(s)).collect();
        let mut strides = vec![self.ir.exprs.int(1); shape.len()];
        let mut numbers = vec![1i64; shape.len()];
        let (mut stride, mut number) = (self.ir.exprs.int(1), 1);
        let one = self.ir.exprs.int(1);
        for &d in input.order.iter().rev() {
            let step = self.ir.exprs.int(input.steps[d]);
            strides[d] = self.ir.exprs.mul(stride, step);
            numbers[d] = number * input.steps[d];
            // An expanded dimension takes no room; another takes at least that of one element.
            if input.steps[d] > 0 {
                let room = if self.ir.exprs.as_int(shape[d]) == Some(0) { one } else { shape[d] };
                let room = self.ir.exprs.mul(room, step);
                stride = self.ir.exprs.mul(stride, room);
                number *= sizes[d].max(1) * input.steps[d];
            }
        }
        let offset = self.ir.exprs.int(0);
        let ty = TensorType { shape, dtype: input.dtype, strides, offset };
        let ty = ir_type(&mut self.ir, &ty, None);
        let array = Array::with_strides(input.dtype, &sizes, &numbers).expect("inputs are small");
        let mut k = 0;
        for_each_point(&sizes, |i| {
            k += 1;
            // All points of an expanded dimension are one element: the first.
            let first = i.iter().zip(&input.steps).all(|(&i, &step)| step > 0 || i == 0);
            !first || array.set(i, input.elements[k - 1])
        });
        let value = self.ir.add_block_arg(self.body, ty);
        let name = self.ir.name(&format!("x{}", self.values.len()));
        self.ir.set_value_name(value, Some(name));
        let none = self.ir.empty_dict();
        self.arg_attrs.push(self.ir.make_attr(AttrData::Dict(none)));
        self.arguments.push(Argument::Tensor(array));
        self.values.push(value);
    }

    fn attr(&mut self, prop: &Prop, operands: &mut Vec<Value>) -> Option<Attr> {
        Some(match prop {
            Prop::Int(Size::Known(n)) => self.ir.i64_attr(*n),
            Prop::Int(Size::Symbol(k)) => {
                operands.push(self.symbols[*k]?);
                return None;
            }
            Prop::Float(x) => scalar_attr(&mut self.ir, Scalar::f64(*x))?,
            Prop::Bool(b) => self.ir.bool_attr(*b),
            Prop::Str(s) => self.ir.string_attr(s),
            Prop::Type(d) => {
                let ty = type_of(&mut self.ir, *d);
                self.ir.type_attr(ty)
            }
            Prop::Ints(list) => {
                let mut numbers = Vec::new();
                for size in list {
                    numbers.push(match size {
                        Size::Known(n) => *n,
                        Size::Symbol(k) => {
                            operands.push(self.symbols[*k]?);
                            i64::MIN
                        }
                    });
                }
                self.ir.i64_array_attr(&numbers)
            }
            Prop::Floats(list) => {
                let element = type_of(&mut self.ir, DType::F64);
                let values = list.iter().map(|x| x.to_bits() as i64).collect();
                self.ir.make_attr(AttrData::DenseArray { element, values })
            }
            Prop::Bools(list) => {
                let element = self.ir.int_type(1);
                let values = list.iter().map(|&b| i64::from(b)).collect();
                self.ir.make_attr(AttrData::DenseArray { element, values })
            }
        })
    }

    /// Adds an op whose result types are inferred; says how many results it has, or None if its definition does not take these arguments.
    pub fn node(&mut self, def: &OpDef, args: &[Arg]) -> Option<usize> {
        let Signature::Schema(sig) = &def.signature else { return None };
        let (mut operands, mut props, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        let mut segments = sig.params.iter().any(|p| p.ty.is_tensor() && (p.ty.list || p.ty.optional()));
        for (param, arg) in sig.params.iter().zip(args) {
            let before = operands.len();
            match arg {
                Arg::Absent => {}
                Arg::Tensors(list) => operands.extend(list.iter().map(|&v| self.values[v])),
                Arg::Prop(prop) => {
                    let attr = self.attr(prop, &mut operands);
                    segments |= operands.len() > before || param.ty.is_tensor();
                    if attr.is_none() && operands.len() == before {
                        return None;
                    }
                    props.extend(attr.map(|a| (self.ir.name(&param.name.text), a)));
                }
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
        let name = self.ir.name(&def.name.text);
        let spec = OpSpec::named(name).operands(&operands).props(props);
        let probe = self.ir.create_detached(spec.clone());
        let instance = instance_of(&mut self.ir, probe, def);
        self.ir.erase(probe);
        let mut instance = instance.ok()?;
        let setting = Setting { facts: Ranges::of_sizes(0), externs: None };
        let types = rinductor::defs::verify(def, &instance, &mut self.ir.exprs, &setting).ok()??;
        if types.len() != sig.results.len() && !sig.results.iter().any(|r| r.ty.list) {
            return None;
        }
        let mut ir_types: Vec<Type> = Vec::new();
        for ty in &types {
            let ResultType::Tensor(ty) = ty else { return None };
            let numel = ty.shape.iter().try_fold(1i64, |n, &e| n.checked_mul(self.value_of(e)?))?;
            if numel > 2048 || ty.shape.len() > 6 {
                return None;
            }
            ir_types.push(ir_type(&mut self.ir, ty, None));
        }
        // Not all that has no meaning is refused by a requirement.
        if !def.semantics.is_empty() {
            instance.results = types;
            rinductor::defs::instantiate(def, &instance, &mut self.ir.exprs, &setting).ok()?;
        }
        let op = self.ir.create(spec.results(&ir_types), InsertPoint::End(self.body));
        let results: Vec<Value> = self.ir.results(op).collect();
        for &r in &results {
            let name = self.ir.name(&format!("v{}", self.values.len()));
            self.ir.set_value_name(r, Some(name));
            self.values.push(r);
        }
        Some(results.len())
    }

    /// What an expression over the symbols is for the inputs of this graph.
    fn value_of(&self, e: Expr) -> Option<i64> {
        let value = |atom| match atom {
            rinductor::index::Atom::Sym(id) => {
                let text = self.ir.exprs.sym_name(id);
                text.strip_prefix('s').and_then(|k| self.symbol_values.get(k.parse::<usize>().ok()?)).copied()
            }
            rinductor::index::Atom::Dim(_) => None,
        };
        self.ir.exprs.eval(e, value).ok().filter(|&n| n >= 0)
    }

    /// Dtype and sizes of a value, as numbers.
    pub fn tensor(&mut self, value: usize) -> Option<(DType, Vec<i64>)> {
        let ty = self.ir.value_type(self.values[value]);
        let ty = rinductor::dialects::instance::tensor_type(&mut self.ir, ty)?;
        let sizes = ty.shape.iter().map(|&e| self.value_of(e)).collect::<Option<_>>()?;
        Some((ty.dtype, sizes))
    }

    /// The function with its end.
    pub fn finish(mut self, outputs: &[usize]) -> Built {
        let results: Vec<Value> = outputs.iter().map(|&v| self.values[v]).collect();
        self.ir.create_op("func.return", &results, &[], &[], Loc::Unknown, InsertPoint::End(self.body));
        let types = |ir: &Ir, list: &[Value]| list.iter().map(|&v| ir.value_type(v)).collect::<Vec<_>>();
        let arguments = self.ir.block_args(self.body).to_vec();
        let (inputs, outputs) = (types(&self.ir, &arguments), types(&self.ir, &results));
        let ty = self.ir.function_type(&inputs, &outputs);
        let (ty, name) = (self.ir.type_attr(ty), self.ir.string_attr("forward"));
        let device = self.ir.string_attr("cpu");
        self.ir.set_prop(self.func, "function_type", Some(ty));
        self.ir.set_prop(self.func, "sym_name", Some(name));
        self.ir.set_attr(self.func, "aten.device", Some(device));
        if self.symbols.iter().any(Option::is_some) {
            let attrs = self.ir.array_attr(&self.arg_attrs);
            self.ir.set_prop(self.func, "arg_attrs", Some(attrs));
        }
        Built { ir: self.ir, func: self.func, arguments: self.arguments }
    }
}

impl Graph {
    /// The IR of the graph; None if an op does not take its arguments (any more).
    pub fn build(&self, library: &Library) -> Option<Built> {
        let mut b = Builder::new(library, &self.symbols);
        self.inputs.iter().for_each(|i| b.input(i));
        for node in &self.nodes {
            let results = b.node(library.op(&node.op)?, &node.args)?;
            if results != node.results {
                return None;
            }
        }
        Some(b.finish(&self.outputs))
    }

    /// The first value of each node.
    fn starts(&self) -> Vec<usize> {
        let mut next = self.inputs.len();
        let mut starts = Vec::new();
        for node in &self.nodes {
            starts.push(next);
            next += node.results;
        }
        starts
    }

    /// Without nodes and inputs that no output needs.
    pub fn without_dead(&self) -> Graph {
        let starts = self.starts();
        let total = starts.last().zip(self.nodes.last()).map_or(self.inputs.len(), |(s, n)| s + n.results);
        let mut needed = vec![false; total];
        self.outputs.iter().for_each(|&v| needed[v] = true);
        let mut keep = vec![false; self.nodes.len()];
        for (k, node) in self.nodes.iter().enumerate().rev() {
            keep[k] = (starts[k]..starts[k] + node.results).any(|v| needed[v]);
            if keep[k] {
                for arg in &node.args {
                    if let Arg::Tensors(list) = arg {
                        list.iter().for_each(|&v| needed[v] = true);
                    }
                }
            }
        }
        let mut number = vec![usize::MAX; total];
        let mut next = 0;
        let mut out = Graph { symbols: self.symbols.clone(), ..Graph::default() };
        for (k, input) in self.inputs.iter().enumerate() {
            // A symbol without an argument of its own is bound by the sizes of the inputs.
            let binds = input.sizes.iter().any(|s| matches!(s, Size::Symbol(k) if !self.symbols[*k].1));
            if needed[k] || binds {
                number[k] = next;
                next += 1;
                out.inputs.push(input.clone());
            }
        }
        for (k, node) in self.nodes.iter().enumerate() {
            if keep[k] {
                for v in starts[k]..starts[k] + node.results {
                    number[v] = next;
                    next += 1;
                }
                let mut node = node.clone();
                for arg in &mut node.args {
                    if let Arg::Tensors(list) = arg {
                        list.iter_mut().for_each(|v| *v = number[*v]);
                    }
                }
                out.nodes.push(node);
            }
        }
        out.outputs = self.outputs.iter().map(|&v| number[v]).collect();
        out
    }

    /// With a node replaced by inputs that hold what it gave, in the given order of memory.
    pub fn with_inputs_for(&self, node: usize, results: Vec<Input>) -> Graph {
        let starts = self.starts();
        let (first, count) = (starts[node], self.nodes[node].results);
        let inputs = self.inputs.len();
        let renumber = |v: usize| match v {
            v if v < inputs => v,
            v if v < first => v + count,
            v if v < first + count => inputs + (v - first),
            v => v,
        };
        let mut out = self.clone();
        out.inputs.extend(results);
        out.nodes.remove(node);
        for n in &mut out.nodes {
            for arg in &mut n.args {
                if let Arg::Tensors(list) = arg {
                    list.iter_mut().for_each(|v| *v = renumber(*v));
                }
            }
        }
        out.outputs.iter_mut().for_each(|v| *v = renumber(*v));
        out
    }
}
