//! Typed views of the `loops` dialect: nests, loads and the index expressions in them. `docs/levels.md` says what the ops mean.

use crate::ir::{Attr, AttrData, Block, InsertPoint, Ir, Loc, Op, OpSpec, Type, Value};
use rinductor_index::{Atom, Expr};
use rinductor_support::FxHashMap;

views!("loops_views.rs");

/// Which loop nest an op is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NestKind {
    /// `loops.pointwise`.
    Pointwise,
    /// `loops.reduce`.
    Reduce,
    /// `loops.scan`.
    Scan,
    /// `loops.sort`.
    Sort,
    /// `loops.scatter`.
    Scatter,
}

impl NestKind {
    /// The kind of an op by its name.
    pub fn of(ir: &Ir, op: Op) -> Option<NestKind> {
        Some(match ir.op_name(op) {
            PointwiseOp::NAME => NestKind::Pointwise,
            ReduceOp::NAME => NestKind::Reduce,
            ScanOp::NAME => NestKind::Scan,
            SortOp::NAME => NestKind::Sort,
            ScatterOp::NAME => NestKind::Scatter,
            _ => return None,
        })
    }
}

/// The expressions of an index-map property; empty when it is absent.
pub fn map_exprs(ir: &Ir, op: Op, name: &str) -> Vec<Expr> {
    match ir.attr_of(op, name).map(|a| ir.attr(a)) {
        Some(AttrData::IndexMap { exprs, .. }) => exprs.to_vec(),
        _ => Vec::new(),
    }
}

/// The dimensions of an index-map property.
pub fn map_dims(ir: &Ir, op: Op, name: &str) -> usize {
    match ir.attr_of(op, name).map(|a| ir.attr(a)) {
        Some(AttrData::IndexMap { dims, .. }) => *dims as usize,
        _ => 0,
    }
}

/// A loop nest with its sizes.
#[derive(Clone, Debug)]
pub struct Nest {
    /// The op.
    pub op: Op,
    /// Which nest.
    pub kind: NestKind,
    /// The sizes of the iteration space.
    pub space: Vec<Expr>,
    /// The sizes that a reduction combines over; empty for the others.
    pub over: Vec<Expr>,
    /// The body.
    pub body: Block,
}

impl Nest {
    /// The nest that an op is, if it is a well-formed one.
    pub fn of(ir: &Ir, op: Op) -> Option<Nest> {
        let kind = NestKind::of(ir, op)?;
        let (space, over) = (map_exprs(ir, op, "space"), map_exprs(ir, op, "over"));
        Some(Nest { op, kind, space, over, body: ir.body(op)? })
    }
    /// All sizes: the space, then what is reduced.
    pub fn sizes(&self) -> Vec<Expr> {
        self.space.iter().chain(&self.over).copied().collect()
    }
    /// The terminator: `loops.yield` or `loops.put`.
    ///
    /// # Panics
    /// On an empty body, which the verifier refuses.
    pub fn terminator(&self, ir: &Ir) -> Op {
        ir.last_op(self.body).expect("a verified body ends in a terminator")
    }
    /// The combiner of a reduce, scan or scatter.
    pub fn combiner<'a>(&self, ir: &'a Ir) -> &'a str {
        ir.attr_of(self.op, "combiner").and_then(|a| ir.as_str(a)).unwrap_or("set")
    }
    /// The loads in the body, in order.
    pub fn loads(&self, ir: &Ir) -> Vec<Op> {
        ir.block_ops(self.body).filter(|&o| ir.is_op(o, LoadOp::NAME)).collect()
    }
}

/// Numbers the `index` values of a body: block arguments first, as dimensions `0..n`, then others as they are met.
#[derive(Clone, Debug, Default)]
pub struct Dims {
    /// The value of each dimension.
    pub values: Vec<Value>,
    numbers: FxHashMap<Value, u32>,
}

impl Dims {
    /// The dimensions of a nest's body.
    pub fn of_block(ir: &Ir, body: Block) -> Dims {
        let mut dims = Dims::default();
        for &arg in ir.block_args(body) {
            dims.number(arg);
        }
        dims
    }
    /// The dimension of a value.
    pub fn number(&mut self, value: Value) -> u32 {
        *self.numbers.entry(value).or_insert_with(|| {
            self.values.push(value);
            self.values.len() as u32 - 1
        })
    }
}

/// An op that carries index expressions over operands: `loops.load`, `loops.index`, `loops.put`, `kernels.load`, …
#[derive(Clone, Debug)]
pub struct Access {
    /// The op.
    pub op: Op,
    /// The operands before the indices: the tensor of a load, the value of a put.
    pub leading: Vec<Value>,
    /// The `index` operands, dimension `k` of the expressions.
    pub index: Vec<Value>,
    /// One expression a coordinate.
    pub exprs: Vec<Expr>,
    /// The guard, if there is one.
    pub guard: Option<Value>,
}

impl Access {
    /// Reads an access whose indices begin at operand `leading`.
    pub fn of(ir: &Ir, op: Op, leading: usize) -> Access {
        let n = map_dims(ir, op, "map");
        let operands = ir.operand_list(op);
        let at = |range: std::ops::Range<usize>| operands.get(range).map(<[Value]>::to_vec).unwrap_or_default();
        Access {
            op,
            leading: at(0..leading),
            index: at(leading..leading + n),
            exprs: map_exprs(ir, op, "map"),
            guard: operands.get(leading + n).copied(),
        }
    }
    /// The tensor or buffer of a load.
    pub fn tensor(&self) -> Value {
        self.leading[0]
    }
    /// The expressions over the dimensions of `dims` instead of over this op's operands.
    pub fn in_dims(&self, ir: &mut Ir, dims: &mut Dims) -> Vec<Expr> {
        let with: Vec<(Atom, Expr)> = self
            .index
            .iter()
            .enumerate()
            .map(|(k, &v)| {
                let n = dims.number(v);
                (Atom::Dim(k as u32), ir.exprs.dim(n))
            })
            .collect();
        self.exprs.iter().map(|&e| ir.exprs.subst(e, &with)).collect()
    }
}

/// Turns expressions over `dims` into an index-map attribute over just the operands that occur, and those operands.
pub fn index_map(ir: &mut Ir, dims: &Dims, exprs: &[Expr]) -> (Attr, Vec<Value>) {
    let mut used: Vec<u32> = Vec::new();
    for &e in exprs {
        for atom in ir.exprs.atoms(e) {
            if let Atom::Dim(d) = atom
                && !used.contains(&d)
            {
                used.push(d);
            }
        }
    }
    used.sort_unstable();
    let with: Vec<(Atom, Expr)> =
        used.iter().enumerate().map(|(k, &d)| (Atom::Dim(d), ir.exprs.dim(k as u32))).collect();
    let mut exprs: Vec<Expr> = exprs.iter().map(|&e| ir.exprs.subst(e, &with)).collect();
    if used.len() > 1 {
        let order = crate::text::in_printed_order(ir, &mut exprs, used.len());
        used = order.iter().map(|&k| used[k as usize]).collect();
    }
    let operands = used.iter().map(|&d| dims.values[d as usize]).collect();
    (ir.index_map_attr(used.len(), &exprs), operands)
}

/// Gives an access the map of its indices, for the operands that it is to have.
pub fn set_index_map(ir: &mut Ir, access: &Access, map: Attr, operands: &[Value]) {
    ir.set_prop(access.op, "map", Some(map));
    if ir.attr_of(access.op, "operandSegmentSizes").is_some() {
        let (before, after) = (access.leading.len(), usize::from(access.guard.is_some()));
        let mut counts = vec![1; before];
        counts.extend([(operands.len() - before - after) as i64, after as i64]);
        let counts = ir.i32_array_attr(&counts);
        ir.set_prop(access.op, "operandSegmentSizes", Some(counts));
    }
}

/// Makes a `loops.load` (or another access of the same form, by name).
#[allow(clippy::too_many_arguments)] // the parts of one op
pub fn create_load(
    ir: &mut Ir,
    name: &str,
    tensor: Value,
    dims: &Dims,
    exprs: &[Expr],
    guard: Option<Value>,
    ty: Type,
    loc: Loc,
    at: InsertPoint,
) -> Value {
    let (map, index) = index_map(ir, dims, exprs);
    let operands: Vec<Value> = std::iter::once(tensor).chain(index).chain(guard).collect();
    ir.create_value(name, &operands, ty, &[("map", map)], loc, at)
}

/// Makes an empty nest op with its body block (arguments made, no terminator). `props` come beside `space` and `over`.
pub fn create_nest(
    ir: &mut Ir,
    name: &str,
    operands: &[Value],
    (space, over): (&[Expr], &[Expr]),
    results: &[Type],
    props: &[(&str, Attr)],
    loc: Loc,
    at: InsertPoint,
) -> (Op, Block) {
    let mut entries: Vec<_> = props.iter().map(|&(n, a)| (ir.name(n), a)).collect();
    let space_attr = ir.index_map_attr(0, space);
    entries.push((ir.name("space"), space_attr));
    if name == ReduceOp::NAME {
        let over_attr = ir.index_map_attr(0, over);
        entries.push((ir.name("over"), over_attr));
    }
    let props = ir.make_dict(entries);
    let name = ir.name(name);
    let op = ir.create(OpSpec::named(name).operands(operands).results(results).props(props).regions(1).loc(loc), at);
    let region = ir.regions_of(op)[0];
    let body = ir.add_block(region);
    let index = ir.index_type();
    for k in 0..space.len() + over.len() {
        let arg = ir.add_block_arg(body, index);
        let name = if k < space.len() { dim_name(k, "ijklmn") } else { dim_name(k - space.len(), "rstuvw") };
        let name = ir.name(&name);
        ir.set_value_name(arg, Some(name));
    }
    (op, body)
}

fn dim_name(k: usize, letters: &str) -> String {
    letters.chars().nth(k).map_or_else(|| format!("{}{k}", &letters[..1]), String::from)
}

/// Ends a body with `loops.yield` (or another terminator).
pub fn create_yield(ir: &mut Ir, name: &str, values: &[Value], loc: Loc, block: Block) -> Op {
    ir.create_op(name, values, &[], &[], loc, InsertPoint::End(block))
}

/// The sizes of a tensor as expressions: from its layout, else from its type. None when a `?` has no expression.
pub fn sizes_of(ir: &mut Ir, ty: Type) -> Option<Vec<Expr>> {
    let (shape, encoding) = match ir.ty(ty) {
        crate::ir::TypeData::Tensor { shape, encoding, .. } => (shape.clone(), *encoding),
        crate::ir::TypeData::MemRef { shape, layout, .. } => (shape.clone(), *layout),
        _ => return None,
    };
    if let Some(AttrData::Layout(l)) = encoding.map(|a| ir.attr(a))
        && let Some(sizes) = &l.sizes
    {
        return Some(sizes.to_vec());
    }
    shape.iter().map(|&n| (n != crate::ir::DYNAMIC).then(|| ir.exprs.int(n))).collect()
}

/// Strides and offset of a tensor or buffer as expressions: from its layout, else contiguous.
pub fn strides_of(ir: &mut Ir, ty: Type) -> Option<(Vec<Expr>, Expr)> {
    let sizes = sizes_of(ir, ty)?;
    let encoding = match ir.ty(ty) {
        crate::ir::TypeData::Tensor { encoding, .. } => *encoding,
        crate::ir::TypeData::MemRef { layout, .. } => *layout,
        _ => return None,
    };
    let zero = ir.exprs.int(0);
    match encoding.map(|a| ir.attr(a).clone()) {
        Some(AttrData::Layout(l)) => {
            let strides = match l.strides {
                Some(s) => s.to_vec(),
                None => contiguous_strides(ir, &sizes),
            };
            Some((strides, l.offset.unwrap_or(zero)))
        }
        Some(AttrData::Strided { strides, offset }) => {
            if strides.contains(&crate::ir::DYNAMIC) || offset == crate::ir::DYNAMIC {
                return None;
            }
            Some((strides.iter().map(|&s| ir.exprs.int(s)).collect(), ir.exprs.int(offset)))
        }
        _ => Some((contiguous_strides(ir, &sizes), zero)),
    }
}

/// Row-major strides, `stride[i]` = product of `max(size[j], 1)` for `j > i`, as PyTorch counts them.
pub fn contiguous_strides(ir: &mut Ir, sizes: &[Expr]) -> Vec<Expr> {
    let one = ir.exprs.int(1);
    let mut strides = vec![one; sizes.len()];
    let mut step = one;
    for k in (0..sizes.len()).rev() {
        strides[k] = step;
        let size = match ir.exprs.as_int(sizes[k]) {
            Some(n) => ir.exprs.int(n.max(1)),
            // A symbol of a captured graph is at least 2 unless it says otherwise (PyTorch specialises 0 and 1).
            None => sizes[k],
        };
        step = ir.exprs.mul(step, size);
    }
    strides
}
