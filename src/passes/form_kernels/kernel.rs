//! Building one `kernels.func`: parameters, axes, and the translation of scalar bodies into tiles (of one point: `kernels-tile` widens them).

use super::layout::{self, is_empty, linear_offset, memref};
use crate::dialects::kernels;
use crate::dialects::loops;
use crate::dialects::loops::{Access, Dims, create_load, index_map, strides_of};
use crate::ir::edit::ValueMap;
use crate::ir::{Attr, AttrData, Block, InsertPoint, Ir, Loc, Op, OpSpec, Type, TypeData, Value};
use rinductor_index::{Atom, Expr};
use rinductor_support::FxHashMap;

/// An axis of the kernel that is built.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its name in the text.
    pub name: String,
    /// Its extent.
    pub extent: Expr,
    /// Whether loops of the body walk it (else it is parallel).
    pub reduced: bool,
}

/// A buffer that the kernel gets.
struct Param {
    /// What the caller passes.
    host: Value,
    /// The type under which the kernel sees it.
    ty: Type,
    /// The argument.
    arg: Value,
}

/// One kernel under construction.
pub struct Kernel {
    /// The axes, outermost first.
    pub axes: Vec<Axis>,
    /// The op.
    pub func: Op,
    /// Its block.
    pub block: Block,
    params: Vec<Param>,
}

/// Where in the kernel code is put: the positions on the axes that are known there, and the values that were made.
pub struct Scope {
    /// The block that grows.
    pub block: Block,
    /// The position on each axis, where it is known.
    pub positions: Vec<Option<Value>>,
    /// Values made here, by the loop-level value that they stand for.
    pub map: ValueMap,
}

impl Kernel {
    /// A kernel without parameters, put before `before` in the module.
    pub fn new(ir: &mut Ir, axes: Vec<Axis>, before: Op, loc: Loc) -> Kernel {
        let name = ir.name(kernels::FuncOp::NAME);
        let func = ir.create(OpSpec::named(name).regions(1).loc(loc), InsertPoint::Before(before));
        let region = ir.regions_of(func)[0];
        let block = ir.add_block(region);
        Kernel { axes, func, block, params: Vec::new() }
    }

    /// The scope of the kernel's own block, with the positions on the parallel axes.
    pub fn top(&self, ir: &mut Ir, loc: Loc) -> Scope {
        let mut scope = Scope { block: self.block, positions: vec![None; self.axes.len()], map: ValueMap::default() };
        for a in 0..self.axes.len() {
            if !self.axes[a].reduced {
                self.position(ir, a, &mut scope, loc);
            }
        }
        scope
    }

    /// The scope of a region that walks the reduced axes: inherits what the outer one knows.
    pub fn walk(&self, ir: &mut Ir, outer: &Scope, block: Block, loc: Loc) -> Scope {
        let mut scope = Scope { block, positions: outer.positions.clone(), map: outer.map.clone() };
        for a in 0..self.axes.len() {
            if self.axes[a].reduced {
                self.position(ir, a, &mut scope, loc);
            }
        }
        scope
    }

    fn position(&self, ir: &mut Ir, axis: usize, scope: &mut Scope, loc: Loc) {
        let index = ir.index_type();
        let ty = self.tile(ir, index);
        let name = ir.string_attr(&self.axes[axis].name);
        let v = ir.create_value(kernels::AxisOp::NAME, &[], ty, &[("axis", name)], loc, InsertPoint::End(scope.block));
        let ssa = ir.name(&format!("{}i", self.axes[axis].name));
        ir.set_value_name(v, Some(ssa));
        scope.positions[axis] = Some(v);
    }

    /// The vector of one point with this element.
    pub fn tile(&self, ir: &mut Ir, element: Type) -> Type {
        ir.vector_type(&vec![1; self.axes.len()], element)
    }

    /// The names of the reduced axes, as an attribute.
    pub fn reduced_names(&self, ir: &mut Ir) -> Attr {
        let names: Vec<Attr> = self
            .axes
            .iter()
            .filter(|a| a.reduced)
            .map(|a| a.name.clone())
            .collect::<Vec<_>>()
            .iter()
            .map(|n| ir.string_attr(n))
            .collect();
        ir.array_attr(&names)
    }

    /// The argument under which the kernel sees `host` with type `ty`.
    pub fn param(&mut self, ir: &mut Ir, host: Value, ty: Type, name: Option<&str>) -> Value {
        if let Some(p) = self.params.iter().find(|p| p.host == host && p.ty == ty) {
            return p.arg;
        }
        let arg = ir.add_block_arg(self.block, ty);
        let name = name.map(|n| ir.name(n)).or(ir.value(host).name);
        ir.set_value_name(arg, name);
        self.params.push(Param { host, ty, arg });
        arg
    }

    /// How an access of `host` at `index` (over the axes, and over indices from data beyond them) is written: under the buffer's own type with
    /// the expressions as they are, or, where the place is linear in the axes, under a type that has just the axes it varies with.
    pub fn address(
        &mut self,
        ir: &mut Ir,
        host: Value,
        index: &[Expr],
        retype: bool,
        name: Option<&str>,
    ) -> (Value, Vec<Expr>) {
        let ty = ir.value_type(host);
        // In an empty buffer, and along an empty axis, indices count as 0: a type without them would say that there is something to read.
        let nothing = is_empty(ir, ty) || self.axes.iter().any(|a| ir.exprs.as_int(a.extent) == Some(0));
        let simple = if retype && !nothing { linear(ir, ty, index, self.axes.len()) } else { None };
        match simple {
            Some((strides, offset)) => {
                let element = ir.element_type(ty);
                let used: Vec<usize> =
                    (0..self.axes.len()).filter(|&a| ir.exprs.as_int(strides[a]) != Some(0)).collect();
                let sizes: Vec<Expr> = used.iter().map(|&a| self.axes[a].extent).collect();
                let strides: Vec<Expr> = used.iter().map(|&a| strides[a]).collect();
                let exprs = used.iter().map(|&a| ir.exprs.dim(a as u32)).collect();
                let ty = memref(ir, element, &sizes, &strides, offset);
                (self.param(ir, host, ty, name), exprs)
            }
            None => (self.param(ir, host, ty, name), index.to_vec()),
        }
    }

    /// The numbering of `index` values for a scope: dimension `a` is axis `a`.
    pub fn dims(&self, ir: &mut Ir, scope: &Scope) -> Dims {
        let mut dims = Dims::default();
        for position in &scope.positions {
            // An axis whose position is not known here is not used here either; its number must stay free.
            let value = position.unwrap_or_else(|| {
                let index = ir.index_type();
                ir.placeholder(index)
            });
            dims.number(value);
        }
        dims
    }

    /// Translates one scalar op of a nest's body. `place` gives the axis expression of each block argument; `read` the value of a load.
    pub fn scalar_op(
        &mut self,
        ir: &mut Ir,
        op: Op,
        scope: &mut Scope,
        place: &FxHashMap<Value, Expr>,
        buffers: &FxHashMap<Value, Value>,
        retype: bool,
    ) {
        let at = InsertPoint::End(scope.block);
        let loc = ir.op(op).loc;
        self.import_constants(ir, op, scope);
        match ir.op_name(op) {
            loops::LoadOp::NAME => {
                let access = Access::of(ir, op, 1);
                let Some(&host) = buffers.get(&access.tensor()) else { return };
                let (dims, exprs) = self.exprs_of(ir, &access, scope, place);
                let name = ir.value_name(access.tensor()).map(str::to_string);
                let (buffer, exprs) = self.address(ir, host, &exprs, retype && access.guard.is_none(), name.as_deref());
                let ty = ir.value_type(ir.result(op, 0));
                let ty = self.tile(ir, ty);
                let guard = access.guard.map(|g| scope.map.get(&g).copied().unwrap_or(g));
                let v = create_load(ir, kernels::LoadOp::NAME, buffer, &dims, &exprs, guard, ty, loc, at);
                self.bind(ir, op, v, scope);
            }
            loops::IndexOp::NAME => {
                let access = Access::of(ir, op, 0);
                let (dims, exprs) = self.exprs_of(ir, &access, scope, place);
                let (map, index) = index_map(ir, &dims, &exprs);
                let ty = ir.value_type(ir.result(op, 0));
                let ty = self.tile(ir, ty);
                let v = ir.create_value(kernels::IndexOp::NAME, &index, ty, &[("map", map)], loc, at);
                self.bind(ir, op, v, scope);
            }
            "arith.constant" => {
                let Some(value) = ir.attr_of(op, "value") else { return };
                let ty = ir.value_type(ir.result(op, 0));
                let ty = self.tile(ir, ty);
                let v = crate::passes::util::constant(ir, value, ty, loc, at);
                self.bind(ir, op, v, scope);
            }
            name => {
                let name = if name == loops::PositionOp::NAME {
                    kernels::PositionOp::NAME.to_string()
                } else {
                    name.to_string()
                };
                let operands: Vec<Value> = ir.operands(op).map(|v| scope.map.get(&v).copied().unwrap_or(v)).collect();
                let types: Vec<Type> = ir.results(op).map(|v| ir.value_type(v)).collect();
                let types: Vec<Type> = types.into_iter().map(|t| self.tile(ir, t)).collect();
                let (props, attrs) = (ir.op(op).props, ir.op(op).attrs);
                let name = ir.name(&name);
                let spec = OpSpec::named(name).operands(&operands).results(&types).props(props).attrs(attrs).loc(loc);
                let new = ir.create(spec, at);
                for k in 0..types.len() {
                    let (from, to) = (ir.result(op, k), ir.result(new, k));
                    ir.copy_value_name(from, to);
                    scope.map.insert(from, to);
                }
            }
        }
    }

    /// Constants that a body takes from outside (`cse` shares them) are made again in the kernel.
    fn import_constants(&self, ir: &mut Ir, op: Op, scope: &mut Scope) {
        for v in ir.operand_list(op) {
            if scope.map.contains_key(&v) {
                continue;
            }
            let Some(def) = ir.def_op(v).filter(|&d| ir.is_op(d, "arith.constant")) else { continue };
            let Some(value) = ir.attr_of(def, "value") else { continue };
            let ty = ir.value_type(v);
            let ty = self.tile(ir, ty);
            let loc = ir.op(def).loc;
            let c = crate::passes::util::constant(ir, value, ty, loc, InsertPoint::End(scope.block));
            scope.map.insert(v, c);
        }
    }

    fn bind(&self, ir: &mut Ir, op: Op, value: Value, scope: &mut Scope) {
        let from = ir.result(op, 0);
        ir.copy_value_name(from, value);
        scope.map.insert(from, value);
    }

    /// The expressions of an access over the axes (dimensions from the number of axes on are indices from data).
    pub fn exprs_of(
        &self,
        ir: &mut Ir,
        access: &Access,
        scope: &Scope,
        place: &FxHashMap<Value, Expr>,
    ) -> (Dims, Vec<Expr>) {
        let mut dims = self.dims(ir, scope);
        let mut with = Vec::new();
        for (k, v) in access.index.iter().enumerate() {
            let e = match place.get(v) {
                Some(&e) => e,
                None => {
                    let value = scope.map.get(v).copied().unwrap_or(*v);
                    let n = dims.number(value);
                    ir.exprs.dim(n)
                }
            };
            with.push((Atom::Dim(k as u32), e));
        }
        let extents: Vec<Expr> = self.axes.iter().map(|a| a.extent).collect();
        let exprs = access
            .exprs
            .iter()
            .map(|&e| {
                let e = ir.exprs.subst(e, &with);
                crate::passes::util::simplify_in(ir, e, &extents)
            })
            .collect();
        (dims, exprs)
    }

    /// Stores a value at `index` (over the axes).
    #[allow(clippy::too_many_arguments)] // the parts of one op
    pub fn store(
        &mut self,
        ir: &mut Ir,
        scope: &Scope,
        value: Value,
        host: Value,
        index: &[Expr],
        retype: bool,
        name: Option<&str>,
        loc: Loc,
    ) {
        let (buffer, exprs) = self.address(ir, host, index, retype, name);
        let dims = self.dims(ir, scope);
        let (map, operands) = index_map(ir, &dims, &exprs);
        let operands: Vec<Value> = [value, buffer].into_iter().chain(operands).collect();
        ir.create_op(kernels::StoreOp::NAME, &operands, &[], &[("map", map)], loc, InsertPoint::End(scope.block));
    }

    /// Completes the kernel: its name, axes and terminator. Returns the host's launch operands, made as views before `at`.
    pub fn finish(self, ir: &mut Ir, name: &str, at: InsertPoint, loc: Loc) -> Vec<Value> {
        let axes: Vec<_> = self
            .axes
            .iter()
            .map(|a| kernels::Axis { name: a.name.clone(), extent: a.extent, tile: 1, unroll: 1, reduced: a.reduced })
            .collect();
        kernels::set_axes(ir, self.func, &axes);
        ir.create_op(kernels::ReturnOp::NAME, &[], &[], &[], loc, InsertPoint::End(self.block));
        let symbols = self.symbols(ir);
        let mut types: Vec<Type> = self.params.iter().map(|p| p.ty).collect();
        let mut arg_attrs = vec![ir.empty_dict(); types.len()];
        let index = ir.index_type();
        for &symbol in &symbols {
            let text = ir.exprs.display(symbol);
            let arg = ir.add_block_arg(self.block, index);
            let name = ir.name(&text);
            ir.set_value_name(arg, Some(name));
            types.push(index);
            let (key, value) = (ir.name("aten.symbol"), ir.string_attr(&text));
            arg_attrs.push(ir.make_dict([(key, value)]));
        }
        let function = ir.function_type(&types, &[]);
        let (sym, ty) = (ir.string_attr(name), ir.type_attr(function));
        ir.set_prop(self.func, "sym_name", Some(sym));
        ir.set_prop(self.func, "function_type", Some(ty));
        if !symbols.is_empty() {
            let dicts: Vec<Attr> = arg_attrs.into_iter().map(|d| ir.make_attr(AttrData::Dict(d))).collect();
            let list = ir.array_attr(&dicts);
            ir.set_prop(self.func, "arg_attrs", Some(list));
        }
        let mut operands = Vec::new();
        for p in self.params {
            operands.push(if ir.value_type(p.host) == p.ty {
                p.host
            } else {
                let v = ir.create_value(kernels::ViewOp::NAME, &[p.host], p.ty, &[], loc, at);
                ir.copy_value_name(p.host, v);
                v
            });
        }
        for symbol in symbols {
            let map = ir.index_map_attr(0, &[symbol]);
            operands.push(ir.create_value(kernels::SizeOp::NAME, &[], index, &[("map", map)], loc, at));
        }
        operands
    }

    /// The symbols that the kernel's axes, types and expressions use, by name.
    fn symbols(&self, ir: &mut Ir) -> Vec<Expr> {
        let mut exprs: Vec<Expr> = self.axes.iter().map(|a| a.extent).collect();
        for p in &self.params {
            if let Some(sizes) = loops::sizes_of(ir, p.ty) {
                exprs.extend(sizes);
            }
            if let Some((strides, offset)) = strides_of(ir, p.ty) {
                exprs.extend(strides);
                exprs.push(offset);
            }
        }
        for op in ir.nested_ops(self.func) {
            exprs.extend(loops::map_exprs(ir, op, "map"));
            exprs.extend(loops::map_exprs(ir, op, "bound"));
        }
        let mut ids = Vec::new();
        for e in exprs {
            for atom in ir.exprs.atoms(e) {
                if let Atom::Sym(id) = atom
                    && !ids.contains(&id)
                {
                    ids.push(id);
                }
            }
        }
        ids.sort_by_key(|&id| ir.exprs.sym_name(id).to_string());
        ids.into_iter().map(|id| ir.exprs.atom(Atom::Sym(id))).collect()
    }
}

/// The stride along each of `axes` axes and the offset of an access, if it is linear in them alone and strides of a buffer can say it.
pub fn linear(ir: &mut Ir, ty: Type, index: &[Expr], axes: usize) -> Option<(Vec<Expr>, Expr)> {
    let (strides, offset) = strides_of(ir, ty)?;
    let mut rest = linear_offset(ir, (&strides, offset), index);
    let mut out = Vec::new();
    for a in 0..axes {
        let (stride, next) = ir.exprs.linear_in(rest, Atom::Dim(a as u32))?;
        if !layout::is_stride(ir, stride) {
            return None;
        }
        out.push(stride);
        rest = next;
    }
    let negative = ir.exprs.as_int(rest).is_some_and(|n| n < 0);
    (!ir.exprs.has_dims(rest) && !negative).then_some((out, rest))
}

/// Whether a type is a tensor.
pub fn is_tensor(ir: &Ir, ty: Type) -> bool {
    matches!(ir.ty(ty), TypeData::Tensor { .. })
}
