//! Writes what an op computes as `loops` nests.

use crate::dialects::loops::{self, Dims, create_load, create_nest, create_yield, index_map};
use crate::dialects::sym;
use crate::dialects::{predicate_number, scalar_attr, symbols, type_of};
use crate::ir::attr::Layout;
use crate::ir::{Attr, AttrData, Block, DYNAMIC, InsertPoint, Ir, Loc, Op, Type, TypeData, Value};
use crate::support::Diagnostic;
use rinductor_defs::{Body, Bounds, Combiner, Nest, NestKind, NodeKind, Output, Semantics, Source};
use rinductor_index::{Atom, Expr};
use rinductor_scalar::{DType, Scalar, ScalarOp};

/// Puts nests in place of an op. `aliases[k]`: whether result `k` shares memory with an operand by the op's schema.
///
/// # Errors
/// What the loop level cannot say: complex constants, a combiner without a counterpart.
pub fn replace(ir: &mut Ir, op: Op, semantics: &Semantics, aliases: &[bool]) -> Result<(), Diagnostic> {
    let mut made: Vec<Vec<Value>> = Vec::new();
    let operands = ir.operand_list(op);
    let shares = |r: usize| aliases.get(r).copied().unwrap_or(false);
    for (k, nest) in semantics.nests.iter().enumerate() {
        let mut types = Vec::new();
        for (out, &dtype) in nest.outputs.iter().enumerate() {
            let result = semantics.outputs.iter().position(|o| *o == Output::Nest { nest: k, out });
            types.push(match result {
                Some(r) => ir.value_type(ir.result(op, r)),
                None => plain_tensor(ir, &nest.space, dtype),
            });
        }
        let emitter = Emitter { op, operands: &operands, made: &made, loc: ir.op(op).loc };
        let results = emitter.nest(ir, nest, &types)?;
        let copies = matches!(nest.kind, NestKind::Pointwise)
            && matches!(nest.body.nodes.as_slice(), [n] if matches!(n.kind, NodeKind::Load { guard: None, .. }));
        let result = semantics.outputs.iter().position(|o| *o == Output::Nest { nest: k, out: 0 });
        if copies && result.is_some_and(&shares) {
            mark_view(ir, results[0]);
        }
        made.push(results);
    }
    let mut values = Vec::new();
    for (r, output) in semantics.outputs.iter().enumerate() {
        values.push(match *output {
            Output::Nest { nest, out } => made[nest][out],
            Output::Operand(k) if shares(r) && ir.value_type(operands[k]) == ir.value_type(ir.result(op, r)) => {
                operands[k]
            }
            Output::Operand(k) => {
                let value = identity(ir, op, operands[k], r)?;
                if shares(r) {
                    mark_view(ir, value);
                }
                value
            }
            Output::Int(e) => {
                let (map, index, loc) = (ir.index_map_attr(0, &[e]), ir.index_type(), ir.op(op).loc);
                ir.create_value(loops::SizeOp::NAME, &[], index, &[("map", map)], loc, InsertPoint::Before(op))
            }
            Output::Number(s) => {
                let ty = ir.value_type(ir.result(op, r));
                let loc = ir.op(op).loc;
                constant(ir, op, s, ty, loc, InsertPoint::Before(op))?
            }
        });
    }
    ir.replace_op(op, &values);
    Ok(())
}

/// Says of a nest that was just made that it may be the tensor it reads, seen otherwise.
fn mark_view(ir: &mut Ir, value: Value) {
    let unit = ir.unit_attr();
    if let Some(nest) = ir.def_op(value) {
        ir.set_prop(nest, "view", Some(unit));
    }
}

/// A contiguous tensor of these sizes.
fn plain_tensor(ir: &mut Ir, space: &[Expr], dtype: DType) -> Type {
    let element = type_of(ir, dtype);
    let shape: Vec<i64> = space.iter().map(|&e| ir.exprs.as_int(e).unwrap_or(DYNAMIC)).collect();
    let encoding = shape.contains(&DYNAMIC).then(|| {
        let layout = Layout { sizes: Some(space.into()), ..Layout::default() };
        ir.make_attr(AttrData::Layout(layout))
    });
    ir.tensor_type(&shape, element, encoding)
}

/// The operand itself under the type of a result: a pointwise nest that only reads it.
fn identity(ir: &mut Ir, op: Op, operand: Value, result: usize) -> Result<Value, Diagnostic> {
    let ty = ir.value_type(ir.result(op, result));
    let loc = ir.op(op).loc;
    let Some(space) = loops::sizes_of(ir, ty) else {
        return Err(Diagnostic::error(ir.place(loc), format!("'{}': a result has no sizes", ir.op_name(op))));
    };
    let at = InsertPoint::Before(op);
    let (nest, body) = create_nest(ir, loops::PointwiseOp::NAME, &[], (&space, &[]), &[ty], &[], loc, at);
    let dims = Dims::of_block(ir, body);
    let exprs: Vec<Expr> = (0..space.len()).map(|d| ir.exprs.dim(d as u32)).collect();
    let element = ir.element_type(ty);
    let v = create_load(ir, loops::LoadOp::NAME, operand, &dims, &exprs, None, element, loc, InsertPoint::End(body));
    create_yield(ir, loops::YieldOp::NAME, &[v], loc, body);
    Ok(ir.result(nest, 0))
}

fn constant(ir: &mut Ir, op: Op, s: Scalar, ty: Type, loc: Loc, at: InsertPoint) -> Result<Value, Diagnostic> {
    match scalar_attr(ir, s) {
        Some(value) => Ok(ir.create_value("arith.constant", &[], ty, &[("value", value)], loc, at)),
        None => {
            let text = format!("'{}': complex constants have no form at the loop level", ir.op_name(op));
            Err(Diagnostic::error(ir.place(ir.op(op).loc), text))
        }
    }
}

struct Emitter<'a> {
    op: Op,
    operands: &'a [Value],
    made: &'a [Vec<Value>],
    loc: Loc,
}

impl Emitter<'_> {
    fn source(&self, source: Source) -> Value {
        match source {
            Source::Operand(k) => self.operands[k],
            Source::Nest { nest, out } => self.made[nest][out],
        }
    }

    fn nest(&self, ir: &mut Ir, nest: &Nest, types: &[Type]) -> Result<Vec<Value>, Diagnostic> {
        let at = InsertPoint::Before(self.op);
        let none: &[Expr] = &[];
        let word = |ir: &mut Ir, w: &str| ("combiner", ir.string_attr(w));
        let unit = ir.unit_attr();
        let mut props: Vec<(&str, Attr)> = Vec::new();
        let mut bases: Vec<Value> = Vec::new();
        let (name, space, over): (&str, &[Expr], &[Expr]) = match &nest.kind {
            NestKind::Pointwise => (loops::PointwiseOp::NAME, &nest.space, none),
            NestKind::Reduce { over, combiner } => {
                props.push(word(ir, self.combiner(ir, *combiner)?));
                (loops::ReduceOp::NAME, &nest.space, over)
            }
            NestKind::Scan { dim, combiner } => {
                props.push(word(ir, combiner.word()));
                props.push(("dim", ir.i64_attr(*dim as i64)));
                (loops::ScanOp::NAME, &nest.space, none)
            }
            NestKind::Sort { dim, descending } => {
                props.push(("dim", ir.i64_attr(*dim as i64)));
                props.push(("stable", unit));
                if *descending {
                    props.push(("descending", unit));
                }
                (loops::SortOp::NAME, &nest.space, none)
            }
            NestKind::Scatter { base, updates, mode, .. } => {
                bases.push(self.source(*base));
                let mode = match mode.word() {
                    "max" => "maximum",
                    "min" => "minimum",
                    w => w,
                };
                props.push(word(ir, mode));
                (loops::ScatterOp::NAME, updates, none)
            }
        };
        let (nest_op, body) = create_nest(ir, name, &bases, (space, over), types, &props, self.loc, at);
        let dims = space.len() + over.len();
        let mut writer = BodyWriter::new(ir, self, &nest.body, body, dims);
        for id in 0..nest.body.nodes.len() {
            writer.node(ir, id)?;
        }
        if let NestKind::Scatter { at, when, .. } = &nest.kind {
            for &e in at {
                writer.positions(ir, e)?;
            }
            let value = writer.values[nest.body.yields[0].index()];
            let guard = when.map(|w| writer.values[w.index()]);
            let (map, index) = index_map(ir, &writer.dims, at);
            let operands: Vec<Value> = std::iter::once(value).chain(index).chain(guard).collect();
            ir.create_op(loops::PutOp::NAME, &operands, &[], &[("map", map)], self.loc, InsertPoint::End(body));
        } else {
            let mut yields: Vec<Value> = nest.body.yields.iter().map(|y| writer.values[y.index()]).collect();
            if yields.len() == 1 {
                yields.extend(arg_position(ir, nest, &writer));
            }
            create_yield(ir, loops::YieldOp::NAME, &yields, self.loc, body);
        }
        Ok(ir.results(nest_op).collect())
    }

    fn combiner(&self, ir: &Ir, combiner: Combiner) -> Result<&'static str, Diagnostic> {
        match combiner {
            Combiner::LogSumExp => Err(self.error(ir, "a combination by logsumexp has no form at the loop level")),
            other => Ok(other.word()),
        }
    }

    fn error(&self, ir: &Ir, text: &str) -> Diagnostic {
        Diagnostic::error(ir.place(self.loc), format!("'{}': {text}", ir.op_name(self.op)))
    }
}

/// The position that an arg-reduction or arg-scan yields beside the value: the row-major number of the reduced point, or the place along the
/// scanned dimension.
fn arg_position(ir: &mut Ir, nest: &Nest, writer: &BodyWriter<'_>) -> Option<Value> {
    let is_arg = |c: Combiner| matches!(c, Combiner::ArgMax | Combiner::ArgMin);
    let position = match &nest.kind {
        NestKind::Reduce { over, combiner } if is_arg(*combiner) => {
            let mut position = ir.exprs.int(0);
            for (k, &size) in over.iter().enumerate() {
                let scaled = ir.exprs.mul(position, size);
                let d = ir.exprs.dim((nest.space.len() + k) as u32);
                position = ir.exprs.add(scaled, d);
            }
            ir.exprs.expand(position)
        }
        NestKind::Scan { dim, combiner } if is_arg(*combiner) => ir.exprs.dim(*dim as u32),
        _ => return None,
    };
    let (map, index) = index_map(ir, &writer.dims, &[position]);
    let i64 = ir.int_type(64);
    Some(ir.create_value(loops::IndexOp::NAME, &index, i64, &[("map", map)], writer.from.loc, writer.at()))
}

/// Writes one body.
struct BodyWriter<'a> {
    from: &'a Emitter<'a>,
    body: &'a Body,
    block: Block,
    /// The value of each node.
    values: Vec<Value>,
    dims: Dims,
    loop_dims: usize,
    /// Which indices from data exist already. They are numbered in `dims` by position in the definition.
    made: Vec<bool>,
}

impl<'a> BodyWriter<'a> {
    fn new(ir: &mut Ir, from: &'a Emitter<'a>, body: &'a Body, block: Block, loop_dims: usize) -> Self {
        let dims = Dims::of_block(ir, block);
        Self { from, body, block, values: Vec::new(), dims, loop_dims, made: vec![false; body.indirect.len()] }
    }

    fn at(&self) -> InsertPoint {
        InsertPoint::End(self.block)
    }

    fn node(&mut self, ir: &mut Ir, id: usize) -> Result<(), Diagnostic> {
        let node = &self.body.nodes[id];
        let (at, loc) = (self.at(), self.from.loc);
        let ty = if node.dtype == DType::Index { ir.int_type(64) } else { type_of(ir, node.dtype) };
        let value = match &node.kind {
            NodeKind::Const(s) => {
                let s = if s.dtype() == DType::Index { Scalar::i64(s.to_i64()) } else { *s };
                constant(ir, self.from.op, s, ty, loc, at)?
            }
            NodeKind::Index(e) => {
                self.positions(ir, *e)?;
                let (map, index) = index_map(ir, &self.dims, &[*e]);
                ir.create_value(loops::IndexOp::NAME, &index, ty, &[("map", map)], loc, at)
            }
            NodeKind::Op { op, args } => {
                let args: Vec<Value> = args.iter().map(|a| self.values[a.index()]).collect();
                self.scalar(ir, *op, id, &args, ty)?
            }
            NodeKind::Load { source, at: exprs, guard } => {
                for &e in exprs {
                    self.positions(ir, e)?;
                }
                let guard = guard.map(|g| self.values[g.index()]);
                let tensor = self.from.source(*source);
                if !matches!(ir.ty(ir.value_type(tensor)), TypeData::Tensor { .. }) {
                    let text = format!("operand of type {:?} is no tensor", ir.ty(ir.value_type(tensor)));
                    return Err(self.from.error(ir, &text));
                }
                create_load(ir, loops::LoadOp::NAME, tensor, &self.dims, exprs, guard, ty, loc, at)
            }
        };
        self.values.push(value);
        Ok(())
    }

    fn scalar(&mut self, ir: &mut Ir, op: ScalarOp, id: usize, args: &[Value], ty: Type) -> Result<Value, Diagnostic> {
        let of = |d: DType| if d == DType::Index { DType::I64 } else { d };
        let node = &self.body.nodes[id];
        let NodeKind::Op { args: ids, .. } = &node.kind else { return Ok(args[0]) };
        let (at, loc) = (self.at(), self.from.loc);
        if op == ScalarOp::Cast {
            let (from, to) = (of(self.body.node(ids[0]).dtype), of(node.dtype));
            if from == to {
                return Ok(args[0]);
            }
            return Ok(ir.create_value(rinductor_scalar::cast_to_ir(from, to), args, ty, &[], loc, at));
        }
        // A select is named by what it chooses between, the others by their first operand.
        let key = ids[if op == ScalarOp::Select { 1 } else { 0 }];
        let dtype = of(self.body.node(key).dtype);
        let Some(name) = rinductor_scalar::to_ir(op, dtype) else {
            return Err(self.from.error(ir, &format!("{op} of {dtype} has no form at the loop level")));
        };
        let mut props: Vec<(&str, Attr)> = Vec::new();
        if let Some(p) = name.predicate {
            let number = predicate_number(name.name, p).expect("the scalar table uses MLIR's predicates");
            props.push(("predicate", ir.i64_attr(number)));
        }
        Ok(ir.create_value(name.name, args, ty, &props, loc, at))
    }

    /// Makes the indices from data that an expression uses.
    fn positions(&mut self, ir: &mut Ir, e: Expr) -> Result<(), Diagnostic> {
        let wanted: Vec<usize> = ir
            .exprs
            .atoms(e)
            .filter_map(|a| match a {
                Atom::Dim(d) => (d as usize).checked_sub(self.loop_dims),
                Atom::Sym(_) => None,
            })
            .collect();
        for k in wanted {
            // Numbers must follow the definition, so that every index up to this one is made.
            for j in 0..=k {
                if std::mem::replace(&mut self.made[j], true) {
                    continue;
                }
                let indirect = &self.body.indirect[j];
                let Some(&value) = self.values.get(indirect.value.index()) else {
                    return Err(self.from.error(ir, "an index is used before the value that it is read from"));
                };
                let guard = indirect.guard.map(|g| self.values[g.index()]);
                let bound = ir.index_map_attr(0, &[indirect.size]);
                let mut props = vec![("bound", bound)];
                let unit = ir.unit_attr();
                if indirect.bounds == Bounds::Wrap {
                    props.push(("wrap", unit));
                }
                let operands: Vec<Value> = std::iter::once(value).chain(guard).collect();
                let index = ir.index_type();
                let (at, loc) = (self.at(), self.from.loc);
                let v = ir.create_value(loops::PositionOp::NAME, &operands, index, &props, loc, at);
                self.dims.number(v);
            }
        }
        Ok(())
    }
}

/// A number computed from symbolic integers and other such numbers: a pointwise nest without dimensions.
///
/// # Errors
/// An op on numbers that the scalar vocabulary lacks.
pub fn number(ir: &mut Ir, op: Op) -> Result<(), Diagnostic> {
    let loc = ir.op(op).loc;
    let name = match ir.op_name(op) {
        sym::TruedivOp::NAME => "arith.divf",
        sym::AddOp::NAME => "arith.addf",
        sym::SubOp::NAME => "arith.subf",
        sym::MulOp::NAME => "arith.mulf",
        sym::NegOp::NAME => "arith.negf",
        sym::PowOp::NAME => "math.powf",
        sym::SymSqrtOp::NAME => "math.sqrt",
        sym::SymFloatOp::NAME => "",
        other => {
            let text = format!("'{other}' on numbers has no form at the loop level");
            return Err(Diagnostic::error(ir.place(loc), text).help("compute it before the graph"));
        }
    };
    let f64 = ir.float_type(crate::ir::FloatKind::f64);
    let ty = ir.tensor_type(&[], f64, None);
    let operands = ir.operand_list(op);
    let (nest, body) =
        create_nest(ir, loops::PointwiseOp::NAME, &[], (&[], &[]), &[ty], &[], loc, InsertPoint::Before(op));
    let at = InsertPoint::End(body);
    let dims = Dims::default();
    let mut args = Vec::new();
    for v in operands {
        let is_tensor = matches!(ir.ty(ir.value_type(v)), TypeData::Tensor { .. });
        args.push(if is_tensor {
            create_load(ir, loops::LoadOp::NAME, v, &dims, &[], None, f64, loc, at)
        } else if let Some(value) = float_constant(ir, v) {
            ir.create_value("arith.constant", &[], f64, &[("value", value)], loc, at)
        } else if let Some(e) = symbols::expr_of(ir, v) {
            let (map, i64) = (ir.index_map_attr(0, &[e]), ir.int_type(64));
            let i = ir.create_value(loops::IndexOp::NAME, &[], i64, &[("map", map)], loc, at);
            ir.create_value("arith.sitofp", &[i], f64, &[], loc, at)
        } else {
            let text = format!("'{}': an operand is neither a size nor a number made of sizes", ir.op_name(op));
            return Err(Diagnostic::error(ir.place(loc), text));
        });
    }
    let value = if name.is_empty() { args[0] } else { ir.create_value(name, &args, f64, &[], loc, at) };
    create_yield(ir, loops::YieldOp::NAME, &[value], loc, body);
    let result = ir.result(nest, 0);
    ir.replace_op(op, &[result]);
    Ok(())
}

/// The attribute of a value that is an `arith.constant` of a float type.
fn float_constant(ir: &Ir, v: Value) -> Option<Attr> {
    let op = ir.def_op(v).filter(|&op| ir.is_op(op, "arith.constant"))?;
    ir.attr_of(op, "value").filter(|&a| matches!(ir.attr(a), AttrData::Float { .. }))
}
