//! A `kernels.func` as emitters read it: axes, buffers with their layouts, symbols. The body stays IR.

use crate::dialects::kernels;
use rinductor_index::{Expr, Exprs};
use rinductor_scalar::DType;
use rinductor_support::Diagnostic;
use smallvec::SmallVec;

use crate::ir::{AttrData, Block, DYNAMIC, FloatKind, Ir, Op, Signedness, Type, TypeData, Value};

/// How an axis is walked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AxisKind {
    /// Its steps are independent; the body runs once for each.
    Parallel,
    /// Walked by `kernels.reduce` and `kernels.for`.
    Reduce,
}

/// An axis of a kernel.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// How many points.
    pub extent: Expr,
    /// How many points one step takes.
    pub tile: u32,
    /// How many steps a loop over it takes before it asks whether it is done; 1: as the emitter likes.
    pub unroll: u32,
    /// How it is walked.
    pub kind: AxisKind,
}

/// Shape, strides and offset of a buffer, in elements.
#[derive(Clone, Debug)]
pub struct BufferLayout {
    /// Element type.
    pub dtype: DType,
    /// Sizes.
    pub sizes: SmallVec<[Expr; 4]>,
    /// Strides.
    pub strides: SmallVec<[Expr; 4]>,
    /// Offset from the start of the allocation.
    pub offset: Expr,
}

/// An argument of a kernel.
#[derive(Clone, Debug)]
pub enum Arg {
    /// A buffer: its number among the buffers.
    Buffer(usize, BufferLayout),
    /// A symbol: its number among the symbols, and its name.
    Symbol(usize, String),
}

/// A kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The op.
    pub op: Op,
    /// Its symbol.
    pub name: String,
    /// Its axes, in the order of writing.
    pub axes: Vec<Axis>,
    /// Its arguments, with the block arguments that stand for them.
    pub args: Vec<(Value, Arg)>,
    /// Memory that a step has for itself, numbered after the buffers.
    pub locals: Vec<(Value, BufferLayout)>,
    /// The block of its body.
    pub body: Block,
}

impl Kernel {
    /// Reads a `kernels.func`. `exprs` is an arena that has all expressions of `ir` (a clone of its own).
    pub fn read(ir: &Ir, exprs: &mut Exprs, op: Op) -> Result<Kernel, Diagnostic> {
        let error = |message: String| Diagnostic::error(ir.place(ir.op(op).loc), message);
        let func = kernels::FuncOp(op);
        let name = func.sym_name(ir).to_string();
        let body = ir.body(op).ok_or_else(|| error(format!("kernel @{name}: the body must be one block")))?;
        let mut list = Vec::new();
        for &item in func.axes(ir) {
            list.push(read_axis(ir, exprs, item).ok_or_else(|| {
                error(format!("kernel @{name}: an axis must have a name, an extent, a tile and a kind"))
            })?);
        }
        let mut args = Vec::new();
        let (mut buffers, mut symbols) = (0, 0);
        let arg_attrs = func.arg_attrs(ir);
        for (i, &v) in ir.block_args(body).iter().enumerate() {
            let ty = ir.value_type(v);
            if let TypeData::Index = ir.ty(ty) {
                let dict = arg_attrs.as_ref().and_then(|a| a.get(i)).map(|&a| ir.attr(a));
                let symbol = match dict {
                    Some(AttrData::Dict(d)) => ir.dict_get(*d, "aten.symbol").and_then(|a| ir.as_str(a)),
                    _ => None,
                };
                let symbol = symbol.map_or_else(|| format!("arg{i}"), str::to_string);
                args.push((v, Arg::Symbol(symbols, symbol)));
                symbols += 1;
            } else {
                let layout = buffer_layout(ir, exprs, ty).ok_or_else(|| {
                    error(format!("kernel @{name}: argument {i} is neither a buffer with a known layout nor an index"))
                })?;
                args.push((v, Arg::Buffer(buffers, layout)));
                buffers += 1;
            }
        }
        let mut locals = Vec::new();
        for local in ir.block_ops(body).filter(|&o| ir.is_op(o, kernels::LocalOp::NAME)) {
            let v = ir.result(local, 0);
            let layout = buffer_layout(ir, exprs, ir.value_type(v))
                .ok_or_else(|| error(format!("kernel @{name}: memory of a step has no known layout")))?;
            locals.push((v, layout));
        }
        Ok(Kernel { op, name, axes: list, args, locals, body })
    }

    /// The number of an axis by name.
    pub fn axis(&self, name: &str) -> Option<usize> {
        self.axes.iter().position(|a| a.name == name)
    }

    /// The axis whose tile is the lanes of a vector: the one with a tile above 1 that is not taken in rows.
    pub fn tile_axis(&self) -> Option<usize> {
        let rows = self.row_axis();
        (0..self.axes.len()).find(|&a| self.axes[a].tile > 1 && Some(a) != rows)
    }

    /// Where several axes have a tile, the innermost parallel one: its tile is so many rows of lanes.
    pub fn row_axis(&self) -> Option<usize> {
        let several = self.axes.iter().filter(|a| a.tile > 1).count() > 1;
        let innermost = self.axes.iter().rposition(|a| a.kind == AxisKind::Parallel)?;
        (several && self.axes[innermost].tile > 1).then_some(innermost)
    }

    /// The buffers, in order.
    pub fn buffers(&self) -> impl Iterator<Item = (Value, &BufferLayout)> {
        self.args.iter().filter_map(|(v, a)| match a {
            Arg::Buffer(_, l) => Some((*v, l)),
            Arg::Symbol(..) => None,
        })
    }

    /// The layout of a buffer, or of memory of a step, by its number.
    pub fn layout(&self, number: usize) -> Option<&BufferLayout> {
        let buffers = self.buffers().map(|b| b.1);
        buffers.chain(self.locals.iter().map(|l| &l.1)).nth(number)
    }

    /// The number of a buffer, or of memory of a step.
    pub fn buffer_of(&self, value: Value) -> Option<usize> {
        let buffers = self.buffers().map(|b| b.0);
        buffers.chain(self.locals.iter().map(|l| l.0)).position(|v| v == value)
    }

    /// The names of the symbols, in order.
    pub fn symbols(&self) -> Vec<String> {
        let names = self.args.iter().filter_map(|(_, a)| match a {
            Arg::Symbol(_, s) => Some(s.clone()),
            Arg::Buffer(..) => None,
        });
        names.collect()
    }

    /// How many steps the parallel axes have together.
    pub fn steps(&self, exprs: &mut Exprs) -> Expr {
        let mut product = exprs.int(1);
        for axis in self.axes.iter().filter(|a| a.kind == AxisKind::Parallel) {
            let tile = exprs.int(axis.tile.into());
            let steps = exprs.ceildiv(axis.extent, tile);
            product = exprs.mul(product, steps);
        }
        product
    }
}

fn read_axis(ir: &Ir, exprs: &mut Exprs, attr: crate::ir::Attr) -> Option<Axis> {
    let AttrData::Dict(dict) = ir.attr(attr) else { return None };
    let name = ir.as_str(ir.dict_get(*dict, "name")?)?.to_string();
    let extent = ir.dict_get(*dict, "extent")?;
    let extent = match ir.attr(extent) {
        AttrData::IndexMap { exprs, .. } => *exprs.first()?,
        AttrData::Integer { value, .. } => exprs.int(*value),
        _ => return None,
    };
    let tile = match ir.dict_get(*dict, "tile") {
        Some(t) => u32::try_from(ir.as_int(t)?).ok().filter(|&t| t > 0)?,
        None => 1,
    };
    let unroll = match ir.dict_get(*dict, "unroll") {
        Some(n) => u32::try_from(ir.as_int(n)?).ok().filter(|&n| n > 0)?,
        None => 1,
    };
    let kind = match ir.as_str(ir.dict_get(*dict, "kind")?)? {
        "parallel" => AxisKind::Parallel,
        "reduce" => AxisKind::Reduce,
        _ => return None,
    };
    Some(Axis { name, extent, tile, unroll, kind })
}

/// The element type that an IR type is, if it is one.
pub fn dtype_of(ir: &Ir, ty: Type) -> Option<DType> {
    Some(match ir.ty(ty) {
        TypeData::Index => DType::Index,
        TypeData::Integer { width: 1, .. } => DType::I1,
        TypeData::Integer { width: 8, sign: Signedness::Unsigned } => DType::U8,
        TypeData::Integer { width: 8, .. } => DType::I8,
        TypeData::Integer { width: 16, .. } => DType::I16,
        TypeData::Integer { width: 32, .. } => DType::I32,
        TypeData::Integer { width: 64, .. } => DType::I64,
        TypeData::Float(FloatKind::f16) => DType::F16,
        TypeData::Float(FloatKind::bf16) => DType::BF16,
        TypeData::Float(FloatKind::f32) => DType::F32,
        TypeData::Float(FloatKind::f64) => DType::F64,
        TypeData::Float(FloatKind::f8E4M3FN) => DType::F8E4M3FN,
        TypeData::Float(FloatKind::f8E5M2) => DType::F8E5M2,
        TypeData::Complex(t) => match ir.ty(*t) {
            TypeData::Float(FloatKind::f32) => DType::C64,
            TypeData::Float(FloatKind::f64) => DType::C128,
            _ => return None,
        },
        _ => return None,
    })
}

/// The layout of a `memref` or a tensor type; None where it does not say all sizes and strides.
pub fn buffer_layout(ir: &Ir, exprs: &mut Exprs, ty: Type) -> Option<BufferLayout> {
    let (shape, element, layout) = match ir.ty(ty) {
        TypeData::MemRef { shape, element, layout, .. } => (shape, *element, *layout),
        TypeData::Tensor { shape, element, encoding } => (shape, *element, *encoding),
        _ => return None,
    };
    let dtype = dtype_of(ir, element)?;
    let mut sizes: SmallVec<[Option<Expr>; 4]> = shape.iter().map(|&n| (n != DYNAMIC).then(|| exprs.int(n))).collect();
    let mut strides: Option<SmallVec<[Expr; 4]>> = None;
    let mut offset = exprs.int(0);
    match layout.map(|a| ir.attr(a)) {
        None => {}
        Some(AttrData::Strided { strides: s, offset: o }) => {
            if s.contains(&DYNAMIC) || *o == DYNAMIC {
                return None;
            }
            strides = Some(s.iter().map(|&n| exprs.int(n)).collect());
            offset = exprs.int(*o);
        }
        Some(AttrData::Layout(l)) => {
            if let Some(s) = &l.sizes {
                sizes = s.iter().map(|&e| Some(e)).collect();
            }
            strides = l.strides.as_ref().map(|s| s.iter().copied().collect());
            offset = l.offset.unwrap_or(offset);
        }
        Some(_) => return None,
    }
    let sizes: SmallVec<[Expr; 4]> = sizes.into_iter().collect::<Option<_>>()?;
    let strides = match strides {
        Some(s) if s.len() == sizes.len() => s,
        Some(_) => return None,
        None => contiguous_strides(exprs, &sizes),
    };
    Some(BufferLayout { dtype, sizes, strides, offset })
}

/// The strides of a row-major buffer, as torch gives them: a size of 0 counts as 1.
pub fn contiguous_strides(exprs: &mut Exprs, sizes: &[Expr]) -> SmallVec<[Expr; 4]> {
    let mut strides: SmallVec<[Expr; 4]> = SmallVec::new();
    let mut stride = exprs.int(1);
    for &n in sizes.iter().rev() {
        strides.push(stride);
        if exprs.as_int(n) != Some(0) {
            stride = exprs.mul(stride, n);
        }
    }
    strides.reverse();
    strides
}

/// The index map among the properties of an op: the expressions, over the op's trailing `index` operands.
pub fn index_map(ir: &Ir, op: Op) -> Option<&[Expr]> {
    let data = ir.op(op);
    let all = ir.dict(data.props).iter().chain(ir.dict(data.attrs));
    all.map(|e| e.1).find_map(|a| match ir.attr(a) {
        AttrData::IndexMap { exprs, .. } => Some(&exprs[..]),
        _ => None,
    })
}
