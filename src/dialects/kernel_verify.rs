//! Checks of a block program that no signature says: axes, shapes along them, combiners, and that no access can leave its buffer where sizes are known.

use super::kernels::{self, Axis};
use super::loops::{map_exprs, sizes_of, strides_of};
use super::{dtype_of, func, host_verify, kernel_bounds, symbols};
use crate::ir::{AttrData, Ir, Op, Type, TypeData, Value};
use crate::support::Diagnostic;
use crate::text::AttrText;
use rinductor_index::{Atom, Expr, Exprs, Node};
use rinductor_support::{FxHashMap, FxHashSet};

/// The greatest tile of an axis.
pub const MAX_TILE: i64 = 8192;

/// The most bytes that a step of a kernel has for itself.
pub const MAX_LOCAL_BYTES: i64 = 64 << 10;

/// The most steps that a loop takes before it asks whether it is done.
pub const MAX_UNROLL: i64 = 64;

/// What is wrong with the kernel level below `root`, whose ops have the parts that their signatures say.
pub fn verify(ir: &mut Ir, root: Op) -> Vec<Diagnostic> {
    let kernels = ir.ops_named(ir.module(), kernels::FuncOp::NAME);
    let kernels = kernels.into_iter().filter_map(|op| Some((ir.symbol_name(op)?.to_string(), op))).collect();
    let mut report = Report { ir, kernels, wrong: Vec::new() };
    let all: Vec<Op> = std::iter::once(root).chain(report.ir.nested_ops(root)).collect();
    for op in all {
        match report.ir.op_name(op) {
            kernels::FuncOp::NAME => kernel(&mut report, op),
            func::FuncOp::NAME => host_verify::function(&mut report, op),
            name => {
                let inside = if OF_KERNELS.contains(&name) { kernels::FuncOp::NAME } else { continue };
                if !ancestors(report.ir, op).any(|o| report.ir.is_op(o, inside)) {
                    report.error(op, format!("stands outside of a '{inside}'"));
                }
            }
        }
    }
    report.wrong
}

/// Ops of a block program.
const OF_KERNELS: &[&str] = &[
    kernels::AxisOp::NAME,
    kernels::LocalOp::NAME,
    kernels::IndexOp::NAME,
    kernels::PositionOp::NAME,
    kernels::LoadOp::NAME,
    kernels::StoreOp::NAME,
    kernels::AtomicOp::NAME,
    kernels::BroadcastOp::NAME,
    kernels::ReduceOp::NAME,
    kernels::ForOp::NAME,
    kernels::YieldOp::NAME,
    kernels::ReturnOp::NAME,
];

/// The combiners of a reduction.
const COMBINERS: &[&str] = &["add", "mul", "maximum", "minimum", "and", "or", "xor", "argmax", "argmin", "welford"];

/// The ways to combine with what stands in a buffer.
const UPDATES: &[&str] = &["add", "mul", "maximum", "minimum", "max", "min", "and", "or", "xor"];

/// The IR with what was found wrong so far.
pub(super) struct Report<'a> {
    pub ir: &'a mut Ir,
    /// All kernels of the module by name.
    pub kernels: FxHashMap<String, Op>,
    pub wrong: Vec<Diagnostic>,
}

impl Report<'_> {
    pub fn error(&mut self, op: Op, text: impl std::fmt::Display) {
        let d = Diagnostic::error(self.ir.place(self.ir.op(op).loc), format!("'{}': {text}", self.ir.op_name(op)));
        self.wrong.push(d);
    }

    pub fn shown(&self, ty: Type) -> String {
        AttrText::of_type(self.ir, ty).to_string()
    }

    /// The name of a value for a message.
    pub fn name(&self, v: Value) -> String {
        self.ir.value_name(v).map_or_else(|| "a value without a name".into(), |n| format!("%{n}"))
    }

    /// Says where expressions of an op divide by 0.
    pub fn divisions(&mut self, op: Op, exprs: &[Expr]) {
        if let Some(&e) = exprs.iter().find(|&&e| divides_by_zero(&self.ir.exprs, e)) {
            self.error(op, format!("{} divides by 0", self.ir.exprs.display(e)));
        }
    }

    /// Checks that a buffer type says its sizes and strides, and that those are not negative.
    pub fn buffer(&mut self, op: Op, what: &str, ty: Type) -> bool {
        let TypeData::MemRef { shape, element, .. } = self.ir.ty(ty) else {
            self.error(op, format!("{what} is {}, no buffer", self.shown(ty)));
            return false;
        };
        let (shape, element) = (shape.clone(), *element);
        let layout = sizes_of(self.ir, ty).and_then(|sizes| Some((sizes, strides_of(self.ir, ty)?)));
        let Some((sizes, (strides, offset))) = layout else {
            self.error(op, format!("{what} is {}, which does not say all sizes and strides", self.shown(ty)));
            return false;
        };
        let before = self.wrong.len();
        if dtype_of(self.ir, element).is_none() {
            self.error(op, format!("{what} is {}, which holds no elements of a tensor", self.shown(ty)));
        }
        if sizes.len() != shape.len() || strides.len() != shape.len() {
            self.error(op, format!("{what} is {}, whose layout is of another rank", self.shown(ty)));
        }
        for (list, word) in [(&sizes, "size"), (&strides, "stride"), (&vec![offset], "offset")] {
            if let Some(n) = list.iter().find_map(|&e| self.ir.exprs.as_int(e).filter(|&n| n < 0)) {
                self.error(op, format!("{what} is {}: the {word} {n} is negative", self.shown(ty)));
            }
            self.divisions(op, list);
        }
        self.wrong.len() == before
    }
}

/// The ops around an op, from inside out.
fn ancestors(ir: &Ir, op: Op) -> impl Iterator<Item = Op> + '_ {
    std::iter::successors(ir.parent_op(op), |&o| ir.parent_op(o))
}

fn divides_by_zero(exprs: &Exprs, e: Expr) -> bool {
    exprs.postorder(e).into_iter().any(|e| match *exprs.node(e) {
        Node::FloorDiv(_, by) | Node::Mod(_, by) => exprs.as_int(by) == Some(0),
        _ => false,
    })
}

/// A kernel whose axes are right.
struct Checker<'a, 'b> {
    report: &'a mut Report<'b>,
    func: Op,
    axes: Vec<Axis>,
}

fn kernel(report: &mut Report, func: Op) {
    let before = report.wrong.len();
    let args = report.ir.body(func).map(|b| report.ir.block_args(b).to_vec()).unwrap_or_default();
    let mut bound: FxHashSet<Atom> = FxHashSet::default();
    for (k, &arg) in args.iter().enumerate() {
        let ty = report.ir.value_type(arg);
        if !matches!(report.ir.ty(ty), TypeData::Index) {
            report.buffer(func, &report.name(arg), ty);
        } else if let Some(e) = symbols::argument_symbol(report.ir, func, k) {
            bound.extend(report.ir.exprs.as_atom(e));
        }
    }
    let axes = axes(report, func, &bound);
    if report.wrong.len() > before {
        return;
    }
    let mut checker = Checker { report, func, axes };
    for op in checker.report.ir.nested_ops(func) {
        checker.op(op);
    }
    // What an access reaches is worked out from ops that are right.
    if checker.report.wrong.len() == before {
        checker.bounds();
    }
}

/// Reads and checks the axes.
fn axes(report: &mut Report, func: Op, bound: &FxHashSet<Atom>) -> Vec<Axis> {
    let mut list: Vec<Axis> = Vec::new();
    for (k, item) in kernels::FuncOp(func).axes(report.ir).to_vec().into_iter().enumerate() {
        let ir = &*report.ir;
        let parts = match *ir.attr(item) {
            AttrData::Dict(d) => (|| {
                let name = ir.as_str(ir.dict_get(d, "name")?)?.to_string();
                let AttrData::IndexMap { dims: 0, exprs } = ir.attr(ir.dict_get(d, "extent")?) else { return None };
                let &[extent] = &exprs[..] else { return None };
                let tile = ir.as_int(ir.dict_get(d, "tile")?)?;
                let unroll = ir.dict_get(d, "unroll").map_or(Some(1), |n| ir.as_int(n))?;
                Some((name, extent, (tile, unroll), ir.as_str(ir.dict_get(d, "kind")?)?.to_string()))
            })(),
            _ => None,
        };
        let Some((name, extent, (tile, unroll), kind)) = parts else {
            report.error(func, format!("axis {k} has not a name, one extent over symbols, a tile and a kind"));
            continue;
        };
        if list.iter().any(|a| a.name == name) {
            report.error(func, format!("two axes have the name {name}"));
        }
        if !(1..=MAX_TILE).contains(&tile) || tile.count_ones() != 1 {
            report
                .error(func, format!("axis {name} has the tile {tile}, which is no power of two from 1 to {MAX_TILE}"));
        }
        if !(1..=MAX_UNROLL).contains(&unroll) {
            report.error(func, format!("axis {name} is unrolled by {unroll}, which is not from 1 to {MAX_UNROLL}"));
        }
        if kind != "parallel" && kind != "reduce" {
            report.error(func, format!("axis {name} has the kind '{kind}', which is neither parallel nor reduce"));
        }
        if let Some(n) = report.ir.exprs.as_int(extent).filter(|&n| n < 0) {
            report.error(func, format!("axis {name} has the extent {n}, which is negative"));
        }
        report.divisions(func, &[extent]);
        unbound(report, func, &[extent], bound);
        list.push(Axis { name, extent, tile, unroll, reduced: kind == "reduce" });
    }
    list
}

/// Says which symbol of an expression no argument of the kernel binds.
fn unbound(report: &mut Report, op: Op, exprs: &[Expr], bound: &FxHashSet<Atom>) {
    for &e in exprs {
        for atom in report.ir.exprs.atoms(e) {
            if let Atom::Sym(s) = atom
                && !bound.contains(&atom)
            {
                report.error(op, format!("no argument of the kernel is the symbol {}", report.ir.exprs.sym_name(s)));
            }
        }
    }
}

impl Checker<'_, '_> {
    fn error(&mut self, op: Op, text: impl std::fmt::Display) {
        self.report.error(op, text);
    }

    fn axis(&self, name: &str) -> Option<usize> {
        self.axes.iter().position(|a| a.name == name)
    }

    /// The shape of a value that is a vector over the axes.
    fn shape(&self, v: Value) -> Option<Vec<i64>> {
        let ir = &*self.report.ir;
        let TypeData::Vector { shape, .. } = ir.ty(ir.value_type(v)) else { return None };
        let fits = shape.len() == self.axes.len() && shape.iter().zip(&self.axes).all(|(&n, a)| n == 1 || n == a.tile);
        fits.then(|| shape.to_vec())
    }

    fn element(&self, v: Value) -> Type {
        self.report.ir.element_type(self.report.ir.value_type(v))
    }

    fn is_index(&self, v: Value) -> bool {
        matches!(self.report.ir.ty(self.element(v)), TypeData::Index)
    }

    fn shown(&self, v: Value) -> String {
        format!("{} ({})", self.report.name(v), self.report.shown(self.report.ir.value_type(v)))
    }

    fn op(&mut self, op: Op) {
        let name = self.report.ir.op_name(op).to_string();
        if (name.starts_with("kernels.") || name.starts_with("func.")) && !OF_KERNELS.contains(&name.as_str()) {
            return self.error(op, "stands inside of a kernel");
        }
        if name == kernels::LocalOp::NAME {
            return self.local(op);
        }
        let mut values: Vec<Value> = self.report.ir.results(op).collect();
        if let Some(body) = self.report.ir.body(op) {
            values.extend(self.report.ir.block_args(body));
        }
        for v in values {
            if self.shape(v).is_none() {
                let axes: Vec<String> = self.axes.iter().map(|a| format!("1 or {} for {}", a.tile, a.name)).collect();
                self.error(op, format!("{} is no vector of the axes: {}", self.shown(v), axes.join(", ")));
            }
        }
        match name.as_str() {
            kernels::AxisOp::NAME => self.position_on_axis(op),
            kernels::IndexOp::NAME => {
                let result = self.report.ir.result(op, 0);
                let indices = kernels::IndexOp(op).indices(self.report.ir);
                self.map(op, &indices, None, Some(1), result);
            }
            kernels::PositionOp::NAME => self.position(op),
            kernels::LoadOp::NAME => {
                let (load, ir) = (kernels::LoadOp(op), &*self.report.ir);
                let (buffer, indices, guard) = (load.buffer(ir), load.indices(ir), load.guard(ir));
                self.access(op, buffer, &indices, guard, ir.result(op, 0));
            }
            kernels::StoreOp::NAME => {
                let (store, ir) = (kernels::StoreOp(op), &*self.report.ir);
                let (buffer, indices, guard) = (store.buffer(ir), store.indices(ir), store.guard(ir));
                self.access(op, buffer, &indices, guard, store.value(ir));
            }
            kernels::AtomicOp::NAME => {
                let (atomic, ir) = (kernels::AtomicOp(op), &*self.report.ir);
                let (buffer, indices, guard) = (atomic.buffer(ir), atomic.indices(ir), atomic.guard(ir));
                let combiner = atomic.combiner(ir).to_string();
                self.access(op, buffer, &indices, guard, atomic.value(ir));
                if !UPDATES.contains(&combiner.as_str()) {
                    self.error(
                        op,
                        format!("there is no way '{combiner}' to combine; there are {}", UPDATES.join(", ")),
                    );
                }
            }
            kernels::BroadcastOp::NAME => {
                let (from, to) = (kernels::BroadcastOp(op).value(self.report.ir), self.report.ir.result(op, 0));
                self.spreads(op, from, to);
                if self.element(from) != self.element(to) {
                    self.error(
                        op,
                        format!("{} and its result {} differ in their elements", self.shown(from), self.shown(to)),
                    );
                }
            }
            kernels::ReduceOp::NAME => self.reduce(op),
            kernels::ForOp::NAME => self.walk(op),
            kernels::YieldOp::NAME | kernels::ReturnOp::NAME => {}
            _ => self.elementwise(op),
        }
    }

    /// Memory of a step: outside of loops, contiguous, of sizes that are known, and small.
    fn local(&mut self, op: Op) {
        let ir = &*self.report.ir;
        if ir.parent_op(op) != Some(self.func) {
            return self.error(op, "stands inside of a loop");
        }
        let ty = ir.value_type(ir.result(op, 0));
        let known = match ir.ty(ty) {
            TypeData::MemRef { shape, layout: None, element, .. } if shape.iter().all(|&n| n >= 0) => {
                let bytes = dtype_of(ir, *element).map(|d| i64::from(d.bits().div_ceil(8)));
                bytes.and_then(|b| shape.iter().try_fold(b, |n, &s| n.checked_mul(s)))
            }
            _ => None,
        };
        match known {
            Some(bytes) if bytes <= MAX_LOCAL_BYTES => {}
            Some(bytes) => self.error(op, format!("takes {bytes} bytes, more than the {MAX_LOCAL_BYTES} of a step")),
            None => self.error(op, "is no buffer without a layout, of known sizes"),
        }
    }

    /// A scalar op: every operand has the lanes of the result.
    fn elementwise(&mut self, op: Op) {
        if self.report.ir.num_results(op) != 1 {
            return;
        }
        let result = self.report.ir.result(op, 0);
        let Some(shape) = self.shape(result) else { return };
        for v in self.report.ir.operand_list(op) {
            if self.shape(v).is_some_and(|s| s != shape) || self.is_buffer(v) {
                self.error(op, format!("{} has other lanes than the result {}", self.shown(v), self.shown(result)));
            }
        }
    }

    fn is_buffer(&self, v: Value) -> bool {
        matches!(self.report.ir.ty(self.report.ir.value_type(v)), TypeData::MemRef { .. })
    }

    /// An operand that each lane of `to` reads one lane of: it has 1 or the size of `to` along each axis.
    fn spreads(&mut self, op: Op, from: Value, to: Value) {
        let Some(target) = self.shape(to) else { return };
        match self.shape(from) {
            Some(s) if s.iter().zip(&target).all(|(&n, &m)| n == 1 || n == m) => {}
            Some(_) => self
                .error(op, format!("{} varies along an axis on which {} does not", self.shown(from), self.shown(to))),
            None if self.is_buffer(from) || self.report.ir.shape(self.report.ir.value_type(from)).is_none() => {
                self.error(op, format!("{} is no vector", self.shown(from)));
            }
            None => {} // said where it is defined
        }
    }

    fn guard(&mut self, op: Op, guard: Option<Value>, lanes: Value) {
        let Some(guard) = guard else { return };
        self.spreads(op, guard, lanes);
        if self.report.ir.int_width(self.element(guard)).is_none_or(|(w, _)| w != 1) {
            self.error(op, format!("the guard {} is not of i1", self.shown(guard)));
        }
    }

    /// Indices and an index map for the lanes of a value.
    fn map(&mut self, op: Op, indices: &[Value], guard: Option<Value>, rank: Option<usize>, lanes: Value) {
        let exprs = map_exprs(self.report.ir, op, "map");
        if let Some(rank) = rank
            && exprs.len() != rank
        {
            self.error(op, format!("has {} index expressions, not {rank}", exprs.len()));
        }
        self.report.divisions(op, &exprs);
        for &v in indices {
            self.spreads(op, v, lanes);
            if !self.is_index(v) {
                self.error(op, format!("the index {} is not of index", self.shown(v)));
            }
        }
        self.guard(op, guard, lanes);
    }

    fn access(&mut self, op: Op, buffer: Value, indices: &[Value], guard: Option<Value>, value: Value) {
        if !self.is_buffer(buffer) {
            return self.error(op, format!("{} is no buffer", self.shown(buffer)));
        }
        let rank = self.report.ir.shape(self.report.ir.value_type(buffer)).map(<[i64]>::len);
        self.map(op, indices, guard, rank, value);
        if self.element(buffer) != self.element(value) {
            self.error(
                op,
                format!("{} and the buffer {} differ in their elements", self.shown(value), self.shown(buffer)),
            );
        }
    }

    fn position_on_axis(&mut self, op: Op) {
        let name = kernels::AxisOp(op).axis(self.report.ir).to_string();
        let result = self.report.ir.result(op, 0);
        let Some(axis) = self.axis(&name) else {
            let names: Vec<&str> = self.axes.iter().map(|a| a.name.as_str()).collect();
            return self.error(op, format!("the kernel has no axis {name}; it has {}", names.join(", ")));
        };
        if !kernel_bounds::walked_at(self.report.ir, self.func, &self.axes, op).contains(&axis) {
            self.error(op, format!("nothing walks the axis {name} here"));
        }
        if !self.is_index(result) {
            self.error(op, format!("the result {} is not of index", self.shown(result)));
        }
        if let Some(shape) = self.shape(result)
            && (0..shape.len()).any(|a| shape[a] != if a == axis { self.axes[a].tile } else { 1 })
        {
            let tile = self.axes[axis].tile;
            self.error(
                op,
                format!("the result {} has not {tile} along {name} and 1 along the others", self.shown(result)),
            );
        }
    }

    fn position(&mut self, op: Op) {
        let (position, ir) = (kernels::PositionOp(op), &*self.report.ir);
        let (value, guard, result) = (position.value(ir), position.guard(ir), ir.result(op, 0));
        let bound = map_exprs(ir, op, "bound");
        if bound.len() != 1 || bound.iter().any(|&e| ir.exprs.atoms(e).any(|a| matches!(a, Atom::Dim(_)))) {
            self.error(op, "has not one bound over symbols");
        }
        self.report.divisions(op, &bound);
        self.spreads(op, value, result);
        self.guard(op, guard, result);
        if !self.is_index(result) {
            self.error(op, format!("the result {} is not of index", self.shown(result)));
        }
    }

    /// The axes that a loop walks: those of the kernel that are reduced, each once and not walked already.
    fn walked(&mut self, op: Op) -> Vec<usize> {
        let names: Vec<String> = kernels::walked_axes(self.report.ir, op).into_iter().map(str::to_string).collect();
        let around = match self.report.ir.parent_op(op) {
            Some(_) => kernel_bounds::walked_at(self.report.ir, self.func, &self.axes, op),
            None => Vec::new(),
        };
        let mut walked = Vec::new();
        for name in names {
            match self.axis(&name) {
                None => self.error(op, format!("the kernel has no axis {name}")),
                Some(a) if !self.axes[a].reduced => {
                    self.error(op, format!("axis {name} is parallel: it is walked around the whole kernel"))
                }
                Some(a) if around.contains(&a) || walked.contains(&a) => {
                    self.error(op, format!("axis {name} is walked already"))
                }
                Some(a) => walked.push(a),
            }
        }
        walked
    }

    /// What the body of a loop yields.
    fn yields(&mut self, op: Op) -> Option<Vec<Value>> {
        let end = self.report.ir.body(op).and_then(|b| self.report.ir.last_op(b));
        match end.filter(|&e| self.report.ir.is_op(e, kernels::YieldOp::NAME)) {
            Some(end) => Some(self.report.ir.operand_list(end).to_vec()),
            None => {
                self.error(op, format!("its body does not end in '{}'", kernels::YieldOp::NAME));
                None
            }
        }
    }

    fn reduce(&mut self, op: Op) {
        let walked = self.walked(op);
        let words: Vec<String> =
            kernels::ReduceOp(op).combiners(self.report.ir).iter().map(|w| w.to_string()).collect();
        for word in words.iter().filter(|w| !COMBINERS.contains(&w.as_str())) {
            self.error(op, format!("there is no combiner '{word}'; there are {}", COMBINERS.join(", ")));
        }
        let Some(yields) = self.yields(op) else { return };
        let results: Vec<Value> = self.report.ir.results(op).collect();
        let takes = |w: &str| if matches!(w, "argmax" | "argmin") { 2 } else { 1 };
        let gives = |w: &str| if w == "welford" { 3 } else { takes(w) };
        let (taken, given): (usize, usize) =
            (words.iter().map(|w| takes(w)).sum(), words.iter().map(|w| gives(w)).sum());
        if yields.len() != taken || results.len() != given {
            let (y, r) = (yields.len(), results.len());
            return self.error(
                op,
                format!(
                    "{} takes {taken} values and gives {given}, but {y} are yielded and {r} are results",
                    words.join(", ")
                ),
            );
        }
        let (mut y, mut r) = (0, 0);
        for word in &words {
            let (from, to) = (&yields[y..y + takes(word)], &results[r..r + gives(word)]);
            (y, r) = (y + takes(word), r + gives(word));
            for (k, &result) in to.iter().enumerate() {
                let value = from[k.min(from.len() - 1)];
                self.reduced(op, &walked, value, result);
            }
        }
    }

    /// A yielded value has the tile along the walked axes, its result 1; along the others they are the same.
    fn reduced(&mut self, op: Op, walked: &[usize], value: Value, result: Value) {
        if self.element(value) != self.element(result) {
            self.error(
                op,
                format!("{} and the result {} differ in their elements", self.shown(value), self.shown(result)),
            );
        }
        let (Some(from), Some(to)) = (self.shape(value), self.shape(result)) else { return };
        for a in 0..from.len() {
            let right = if walked.contains(&a) { from[a] == self.axes[a].tile && to[a] == 1 } else { from[a] == to[a] };
            if !right {
                let (name, tile) = (self.axes[a].name.clone(), self.axes[a].tile);
                let rule = if walked.contains(&a) { format!("the tile {tile} and 1") } else { "the same".into() };
                let (value, result) = (self.shown(value), self.shown(result));
                self.error(op, format!("along {name}, the yielded {value} and the result {result} must have {rule}"));
            }
        }
    }

    fn walk(&mut self, op: Op) {
        let walked = self.walked(op);
        let Some(yields) = self.yields(op) else { return };
        let ir = &*self.report.ir;
        let starts = kernels::ForOp(op).carried(ir).to_vec();
        let inside = ir.body(op).map(|b| ir.block_args(b).to_vec()).unwrap_or_default();
        let results: Vec<Value> = ir.results(op).collect();
        let counts = [starts.len(), inside.len(), yields.len(), results.len()];
        if counts.iter().any(|&n| n != counts[0]) {
            let [s, i, y, r] = counts;
            return self
                .error(op, format!("carries {s} values, but its body has {i}, {y} are yielded, and {r} are results"));
        }
        for k in 0..starts.len() {
            let ty = |v: Value| self.report.ir.value_type(v);
            if let Some(&other) = [inside[k], yields[k], results[k]].iter().find(|&&v| ty(v) != ty(starts[k])) {
                self.error(
                    op,
                    format!("the carried {} and {} differ in type", self.shown(starts[k]), self.shown(other)),
                );
            }
            if let Some(shape) = self.shape(starts[k])
                && let Some(&a) = walked.iter().find(|&&a| shape[a] != 1)
            {
                let name = self.axes[a].name.clone();
                self.error(op, format!("the carried {} varies along {name}, which is walked", self.shown(starts[k])));
            }
        }
    }

    /// Coordinates of known range that leave their buffer.
    fn bounds(&mut self) {
        for reach in kernel_bounds::reaches(self.report.ir, self.func, &self.axes) {
            let Some(found) = kernel_bounds::outside(&mut self.report.ir.exprs, &reach, &|_| None) else { continue };
            let at: Vec<String> = found
                .point
                .iter()
                .map(|&(d, p)| match self.axes.get(d) {
                    Some(a) => format!("{} = {p}", a.name),
                    None => format!("a position {p}"),
                })
                .collect();
            let at = if at.is_empty() { String::new() } else { format!(" at {}", at.join(", ")) };
            let (k, value, size) = (reach.coordinate, found.value, found.size);
            self.error(reach.op, format!("index {k} is {value}{at}, but the buffer has the size {size} there"));
        }
    }
}
