//! Kernels made by hand, for tests: a builder with the properties that the text form would have.

use crate::dialects::kernels;
use rinductor_scalar::DType;

use crate::ir::attr::Layout;
use crate::ir::{
    Attr, AttrData, Block, DYNAMIC, FloatKind, InsertPoint, Ir, Loc, Op, OpSpec, Signedness, Type, TypeData, Value,
};

/// A kernel under construction.
pub(crate) struct Sample {
    pub ir: Ir,
    pub op: Op,
    pub block: Block,
    axes: Vec<(String, i64)>,
    /// Where ops go.
    pub at: InsertPoint,
    /// Axes that values vary on are read off the operands; this is the tile axis.
    tiled: Option<usize>,
}

impl Sample {
    /// A kernel `@k` over axes written `x = 100 tile 8 parallel`.
    pub fn new(axes: &[&str]) -> Sample {
        Sample::add(Ir::with_module(), "k", axes)
    }

    /// A further kernel in a module.
    pub fn add(mut ir: Ir, symbol: &str, axes: &[&str]) -> Sample {
        let mut list = Vec::new();
        let mut attrs = Vec::new();
        let mut tiled = None;
        for text in axes {
            let (name, rest) = text.split_once('=').expect("name = extent tile kind");
            let words: Vec<&str> = rest.split_whitespace().collect();
            let [extent @ .., "tile", tile, kind] = &words[..] else { panic!("extent tile N kind: {text}") };
            let e = ir.exprs.parse(&extent.join(" ")).expect("an extent");
            let tile: i64 = tile.parse().expect("a tile");
            let map = ir.index_map_attr(0, &[e]);
            let (n, k) = (ir.string_attr(name.trim()), ir.string_attr(kind));
            let t = ir.i64_attr(tile);
            let entries = [("name", n), ("extent", map), ("tile", t), ("kind", k)].map(|(n, a)| (ir.name(n), a));
            let dict = ir.make_dict(entries);
            attrs.push(ir.make_attr(AttrData::Dict(dict)));
            if tile > 1 {
                tiled = Some(list.len());
            }
            list.push((name.trim().to_string(), tile));
        }
        let axes_attr = ir.array_attr(&attrs);
        let name_attr = ir.string_attr(symbol);
        let props = [("axes", axes_attr), ("sym_name", name_attr)].map(|(n, a)| (ir.name(n), a));
        let props = ir.make_dict(props);
        let body = ir.module_body();
        let func = ir.name(kernels::FuncOp::NAME);
        let op = ir.create(OpSpec::named(func).props(props).regions(1), InsertPoint::End(body));
        let region = ir.regions_of(op)[0];
        let block = ir.add_block(region);
        Sample { ir, op, block, axes: list, at: InsertPoint::End(block), tiled }
    }

    pub fn element(&mut self, d: DType) -> Type {
        let ir = &mut self.ir;
        match d {
            DType::Index => ir.index_type(),
            DType::F16 => ir.float_type(FloatKind::f16),
            DType::BF16 => ir.float_type(FloatKind::bf16),
            DType::F32 => ir.float_type(FloatKind::f32),
            DType::F64 => ir.float_type(FloatKind::f64),
            DType::U8 => ir.make_type(TypeData::Integer { width: 8, sign: Signedness::Unsigned }),
            d => ir.int_type(d.bits()),
        }
    }

    /// A buffer argument; sizes as text, `s0` for a symbol.
    pub fn buffer(&mut self, d: DType, sizes: &[&str]) -> Value {
        let e = self.element(d);
        let exprs: Vec<_> = sizes.iter().map(|s| self.ir.exprs.parse(s).expect("a size")).collect();
        let shape: Vec<i64> = exprs.iter().map(|&e| self.ir.exprs.as_int(e).unwrap_or(DYNAMIC)).collect();
        let layout = shape.contains(&DYNAMIC).then(|| {
            let layout = Layout { sizes: Some(exprs.into()), ..Layout::default() };
            self.ir.make_attr(AttrData::Layout(layout))
        });
        let t = self.ir.memref_type(&shape, e, layout);
        self.ir.add_block_arg(self.block, t)
    }

    /// A buffer argument with strides and an offset.
    pub fn strided(&mut self, d: DType, sizes: &[i64], strides: &[i64], offset: i64) -> Value {
        let e = self.element(d);
        let layout = self.ir.make_attr(AttrData::Strided { strides: strides.into(), offset });
        let t = self.ir.memref_type(sizes, e, Some(layout));
        self.ir.add_block_arg(self.block, t)
    }

    /// A symbol argument. All symbols have to be added after all buffers.
    pub fn symbol(&mut self, name: &str) -> Value {
        let t = self.ir.index_type();
        let v = self.ir.add_block_arg(self.block, t);
        let text = self.ir.string_attr(name);
        let key = self.ir.name("aten.symbol");
        let dict = self.ir.make_dict([(key, text)]);
        let dict = self.ir.make_attr(AttrData::Dict(dict));
        let empty = self.ir.empty_dict();
        let empty = self.ir.make_attr(AttrData::Dict(empty));
        let n = self.ir.block_args(self.block).len();
        let mut items = match self.ir.attr_of(self.op, "arg_attrs").map(|a| self.ir.attr(a).clone()) {
            Some(AttrData::Array(items)) => items.to_vec(),
            _ => Vec::new(),
        };
        items.resize(n - 1, empty);
        items.push(dict);
        let attr = self.ir.array_attr(&items);
        self.ir.set_prop(self.op, "arg_attrs", Some(attr));
        v
    }

    fn vector(&mut self, d: DType, varies: bool) -> Type {
        let e = self.element(d);
        let shape: Vec<i64> =
            self.axes.iter().enumerate().map(|(k, a)| if varies && self.tiled == Some(k) { a.1 } else { 1 }).collect();
        self.ir.vector_type(&shape, e)
    }

    fn varies(&self, v: Value) -> bool {
        self.ir.shape(self.ir.value_type(v)).is_some_and(|s| s.iter().any(|&n| n > 1))
    }

    /// The element type of a value.
    pub fn dtype(&self, v: Value) -> DType {
        super::kernel::dtype_of(&self.ir, self.ir.element_type(self.ir.value_type(v))).expect("an element type")
    }

    pub fn op(&mut self, name: &str, operands: &[Value], result: Type, props: &[(&str, Attr)]) -> Value {
        self.ir.create_value(name, operands, result, props, Loc::Unknown, self.at)
    }

    pub fn axis(&mut self, name: &str) -> Value {
        let varies = self.tiled.is_some_and(|t| self.axes[t].0 == name);
        let t = self.vector(DType::Index, varies);
        let a = self.ir.string_attr(name);
        self.op(kernels::AxisOp::NAME, &[], t, &[("axis", a)])
    }

    fn map(&mut self, texts: &[&str], dims: usize) -> Attr {
        let exprs: Vec<_> = texts.iter().map(|t| self.ir.exprs.parse(t).expect("an index")).collect();
        self.ir.index_map_attr(dims, &exprs)
    }

    /// `kernels.load`: `map` over `index`, with an optional guard.
    pub fn load(&mut self, buffer: Value, map: &[&str], index: &[Value], guard: Option<Value>) -> Value {
        let d = self.dtype(buffer);
        let varies = index.iter().chain(&guard).any(|&v| self.varies(v));
        let t = self.vector(d, varies);
        let m = self.map(map, index.len());
        let operands: Vec<Value> = [buffer].into_iter().chain(index.iter().copied()).chain(guard).collect();
        self.op(kernels::LoadOp::NAME, &operands, t, &[("map", m)])
    }

    pub fn store(&mut self, v: Value, buffer: Value, map: &[&str], index: &[Value], guard: Option<Value>) {
        let m = self.map(map, index.len());
        let operands: Vec<Value> = [v, buffer].into_iter().chain(index.iter().copied()).chain(guard).collect();
        self.ir.create_op(kernels::StoreOp::NAME, &operands, &[], &[("map", m)], Loc::Unknown, self.at);
    }

    pub fn atomic(&mut self, kind: &str, v: Value, buffer: Value, map: &[&str], index: &[Value]) {
        let m = self.map(map, index.len());
        let combiner = ("combiner", self.ir.string_attr(kind));
        let operands: Vec<Value> = [v, buffer].into_iter().chain(index.iter().copied()).collect();
        self.ir.create_op(kernels::AtomicOp::NAME, &operands, &[], &[("map", m), combiner], Loc::Unknown, self.at);
    }

    /// An op on scalars with the result of an element type.
    pub fn scalar(&mut self, name: &str, operands: &[Value], d: DType) -> Value {
        let varies = operands.iter().any(|&v| self.varies(v));
        let t = self.vector(d, varies);
        self.op(name, operands, t, &[])
    }

    pub fn compare(&mut self, name: &str, predicate: i64, x: Value, y: Value) -> Value {
        let varies = self.varies(x) || self.varies(y);
        let t = self.vector(DType::I1, varies);
        let p = self.ir.i64_attr(predicate);
        self.op(name, &[x, y], t, &[("predicate", p)])
    }

    pub fn constant(&mut self, text: &str, d: DType) -> Value {
        let t = self.vector(d, true);
        let a = self.ir.make_attr(AttrData::Dense { text: text.into(), ty: t });
        self.op("arith.constant", &[], t, &[("value", a)])
    }

    pub fn index(&mut self, text: &str, index: &[Value]) -> Value {
        let varies = index.iter().any(|&v| self.varies(v));
        let t = self.vector(DType::I64, varies);
        let m = self.map(&[text], index.len());
        self.op(kernels::IndexOp::NAME, index, t, &[("map", m)])
    }

    pub fn position(&mut self, v: Value, bound: &str, wrap: bool, guard: Option<Value>) -> Value {
        let varies = self.varies(v);
        let t = self.vector(DType::Index, varies);
        let m = self.map(&[bound], 0);
        let mut props = vec![("bound", m)];
        if wrap {
            props.push(("wrap", self.ir.unit_attr()));
        }
        let operands: Vec<Value> = [v].into_iter().chain(guard).collect();
        self.op(kernels::PositionOp::NAME, &operands, t, &props)
    }

    pub fn broadcast(&mut self, v: Value) -> Value {
        let d = self.dtype(v);
        let t = self.vector(d, true);
        self.op(kernels::BroadcastOp::NAME, &[v], t, &[])
    }

    fn region(&mut self, op: Op) -> Block {
        let region = self.ir.regions_of(op)[0];
        self.ir.add_block(region)
    }

    fn strings(&mut self, items: &[&str]) -> Attr {
        let items: Vec<Attr> = items.iter().map(|s| self.ir.string_attr(s)).collect();
        self.ir.array_attr(&items)
    }

    /// `kernels.reduce`; the body gives the yielded values. Results vary where the tiled axis is not reduced.
    pub fn reduce(
        &mut self,
        combiners: &[&str],
        over: &[&str],
        results: &[DType],
        body: impl FnOnce(&mut Self) -> Vec<Value>,
    ) -> Vec<Value> {
        let varies = self.tiled.is_some_and(|t| !over.contains(&self.axes[t].0.as_str()));
        let types: Vec<Type> = results.iter().map(|&d| self.vector(d, varies)).collect();
        let (c, o) = (self.strings(combiners), self.strings(over));
        let props = [("combiners", c), ("over", o)].map(|(n, a)| (self.ir.name(n), a));
        let props = self.ir.make_dict(props);
        let name = self.ir.name(kernels::ReduceOp::NAME);
        let op = self.ir.create(OpSpec::named(name).results(&types).props(props).regions(1), self.at);
        let block = self.region(op);
        let saved = std::mem::replace(&mut self.at, InsertPoint::End(block));
        let yielded = body(self);
        self.ir.create_op(kernels::YieldOp::NAME, &yielded, &[], &[], Loc::Unknown, self.at);
        self.at = saved;
        self.ir.results(op).collect()
    }

    /// `kernels.for` with carried values.
    pub fn walk(
        &mut self,
        over: &[&str],
        reverse: bool,
        carry: &[Value],
        body: impl FnOnce(&mut Self, &[Value]) -> Vec<Value>,
    ) {
        let o = self.strings(over);
        let mut props = vec![(self.ir.name("over"), o)];
        if reverse {
            props.push((self.ir.name("reverse"), self.ir.unit_attr()));
        }
        let props = self.ir.make_dict(props);
        let name = self.ir.name(kernels::ForOp::NAME);
        let op = self.ir.create(OpSpec::named(name).operands(carry).props(props).regions(1), self.at);
        let block = self.region(op);
        let types: Vec<Type> = carry.iter().map(|&v| self.ir.value_type(v)).collect();
        let args: Vec<Value> = types.into_iter().map(|t| self.ir.add_block_arg(block, t)).collect();
        let saved = std::mem::replace(&mut self.at, InsertPoint::End(block));
        let yielded = body(self, &args);
        self.ir.create_op(kernels::YieldOp::NAME, &yielded, &[], &[], Loc::Unknown, self.at);
        self.at = saved;
    }

    /// The IR, with the kernel ended.
    pub fn finish(mut self) -> Ir {
        self.ir.create_op(kernels::ReturnOp::NAME, &[], &[], &[], Loc::Unknown, InsertPoint::End(self.block));
        self.ir
    }
}
