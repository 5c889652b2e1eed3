//! The state of emitting one kernel: what each value became, and where code may be put.
//!
//! Code is emitted once, at the outermost loop in which all that it uses is known: a *scope* is a loop body (or the function), its *level*
//! the number of scopes around it, and each scope remembers the instruction that enters it, before which code of the level above goes.

use crate::dialects::kernels;
use rinductor_index::{Atom, Expr, Exprs};
use rinductor_scalar::DType;
use rinductor_support::{Diagnostic, FxHashMap, FxHashSet};

use super::build::{Build, T, V};
use crate::codegen::kernel::{Arg, AxisKind, Kernel};
use crate::ir::{Def, Ir, Op, Value};

/// The dimension that stands for the lane number in an index expression of a kernel; below it are the axes.
pub(super) const LANE: u32 = 15;
/// The first dimension that stands for a value that is no index expression.
pub(super) const DATA: u32 = 16;

/// A value of the kernel as a value of the builder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Val<X> {
    /// One lane where the value does not vary along the tile axis, else as many as the current step takes.
    pub v: X,
    /// Element type. `f16` and `bf16` are held as `float`s that have such a value.
    pub dtype: DType,
    /// The scope that computes it.
    pub level: usize,
    /// That scope's number: a scope that is closed takes its values along.
    pub scope: u32,
}

/// A loop body, or the function.
pub(super) struct Scope<B: Build> {
    /// Code of the level above goes before this.
    pub enter: Option<B::Enter>,
    /// A number that no other scope has.
    pub id: u32,
    /// Index expressions that are computed, by expression and number of lanes.
    pub exprs: FxHashMap<(Expr, u32), V<B>>,
    /// Addresses that are computed: buffer and offset.
    pub addresses: FxHashMap<(usize, Expr), V<B>>,
    /// Whether the scope is known to run when the one around it does.
    pub runs: bool,
}

/// The state of emitting one kernel.
pub(super) struct Emitter<'a, B: Build> {
    /// The builder.
    pub b: &'a B,
    pub ir: &'a Ir,
    pub exprs: &'a mut Exprs,
    pub kernel: &'a Kernel,
    /// Where the function reports an index that is out of range.
    pub reports: V<B>,
    /// Base addresses of the buffers.
    pub buffers: Vec<V<B>>,
    /// Values of the symbols by name.
    pub symbols: FxHashMap<String, V<B>>,
    /// What was emitted for a value in a row.
    pub env: FxHashMap<(Value, u32), Val<V<B>>>,
    /// Values that are index expressions.
    pub index: FxHashMap<(Value, u32), Expr>,
    /// Values that stand as [`DATA`] dimensions in index expressions.
    pub data: Vec<(Value, u32)>,
    /// Where each axis stands: first position of the step, and the level at which it is known.
    pub axes: Vec<Option<(V<B>, usize)>>,
    pub scopes: Vec<Scope<B>>,
    next_scope: u32,
    /// Lanes of the tile axis in the current step.
    pub width: u32,
    /// Rows of the row axis in the current step; 1 where there is none.
    pub rows: u32,
    /// The row for which code is emitted.
    pub row: u32,
    /// Products that are not computed by themselves: each is added to a sum by a fused multiply-add.
    pub fused: FxHashSet<Op>,
    /// Which lanes lie inside the extent, in a partial step; known at the level beside it.
    pub mask: Option<(V<B>, usize)>,
    /// The number of lanes that lie inside, if it is a constant.
    pub mask_count: Option<u32>,
    /// The lowest level at which all lanes of a full step are known to lie inside: below it, nobody has asked yet whether the step is full.
    pub full_level: usize,
    /// Steps that are taken together.
    pub turn: Option<super::turn::Turn<B>>,
    /// Zeros on the stack: what is read where nothing may be read, and where stores of inactive lanes go.
    pub nowhere: Option<(V<B>, V<B>)>,
    /// Buffers that the kernel writes.
    pub written: Vec<bool>,
    /// Ops of the kernel that may fail, in order: an error says which.
    pub checks: Vec<Op>,
}

impl<'a, B: Build> Emitter<'a, B> {
    pub fn new(b: &'a B, ir: &'a Ir, exprs: &'a mut Exprs, kernel: &'a Kernel, reports: V<B>) -> Self {
        let mut index = FxHashMap::default();
        for (v, arg) in &kernel.args {
            if let Arg::Symbol(_, name) = arg {
                index.insert((*v, 0), exprs.sym(name));
            }
        }
        let mut e = Emitter {
            b,
            ir,
            exprs,
            kernel,
            reports,
            buffers: Vec::new(),
            symbols: FxHashMap::default(),
            env: FxHashMap::default(),
            index,
            data: Vec::new(),
            axes: vec![None; kernel.axes.len()],
            scopes: Vec::new(),
            next_scope: 0,
            width: 1,
            rows: 1,
            row: 0,
            fused: FxHashSet::default(),
            mask: None,
            mask_count: None,
            full_level: 0,
            turn: None,
            nowhere: None,
            written: vec![false; kernel.buffers().count() + kernel.locals.len()],
            checks: Vec::new(),
        };
        ir.walk(kernel.op, &mut |op| {
            let name = ir.op_name(op);
            if name == kernels::StoreOp::NAME || name == kernels::AtomicOp::NAME {
                for v in ir.operands(op) {
                    if let Some(k) = e.buffer_of(v) {
                        e.written[k] = true;
                    }
                }
            } else if name == kernels::PositionOp::NAME {
                e.checks.push(op);
            }
        });
        e.open_scope(None, true);
        e
    }

    /// An error about an op.
    pub fn error(&self, op: Op, message: impl Into<String>) -> Diagnostic {
        let text = format!("kernel @{}, '{}': {}", self.kernel.name, self.ir.op_name(op), message.into());
        Diagnostic::error(self.ir.place(self.ir.op(op).loc), text)
    }

    /// The number of the buffer that a value is.
    pub fn buffer_of(&self, v: Value) -> Option<usize> {
        self.kernel.buffer_of(v)
    }

    // ---- scopes ----

    /// The current level.
    pub fn level(&self) -> usize {
        self.scopes.len() - 1
    }
    /// Opens a scope that `enter` enters.
    pub fn open_scope(&mut self, enter: Option<B::Enter>, runs: bool) {
        let id = self.next_scope;
        self.next_scope += 1;
        self.scopes.push(Scope { enter, id, exprs: FxHashMap::default(), addresses: FxHashMap::default(), runs });
    }
    /// Closes the innermost scope.
    pub fn close_scope(&mut self) {
        self.scopes.pop();
    }
    /// Emits at a level: before the scope inside it is entered.
    pub fn at_level<R>(&mut self, level: usize, f: impl FnOnce(&mut Self) -> R) -> R {
        if level >= self.level() {
            return f(self);
        }
        let enter =
            self.scopes[level + 1].enter.expect("all scopes but the function's have an instruction that enters them");
        let saved = self.b.go_before(enter);
        let r = f(self);
        self.b.go_back(saved);
        r
    }
    /// The level down to which code that must not run when a loop has no step may go up from the current one.
    pub fn lowest_safe_level(&self) -> usize {
        let mut level = self.level();
        while level > 0 && self.scopes[level].runs {
            level -= 1;
        }
        level
    }

    // ---- values ----

    /// Remembers what a value became.
    pub fn define(&mut self, value: Value, v: V<B>, dtype: DType, level: usize) {
        let level = level.min(self.level());
        self.b.named(v, self.ir.value_name(value));
        let scope = self.scopes[level].id;
        let key = self.key(value);
        self.env.insert(key, Val { v, dtype, level, scope });
    }
    /// Whether what was emitted for a value can be used here.
    pub fn is_valid(&self, val: &Val<V<B>>) -> bool {
        self.scopes.get(val.level).is_some_and(|s| s.id == val.scope)
    }
    /// What a value became.
    pub fn get(&mut self, value: Value) -> Val<V<B>> {
        let key = self.key(value);
        if let Some(&val) = self.env.get(&key)
            && self.is_valid(&val)
        {
            return val;
        }
        if let Some(&e) = self.index.get(&key) {
            let v = self.lower(e);
            let level = self.expr_level(e);
            let dtype = self.dtype(value);
            return Val { v, dtype, level, scope: self.scopes[level].id };
        }
        // The operand of an op that the IR's verifier let pass dominates it, so it was emitted in a scope that is still open.
        let name = self.ir.value_name(value).unwrap_or("?").to_string();
        unreachable!("%{name} is used before it is emitted");
    }
    /// The element type of a value.
    pub fn dtype(&self, value: Value) -> DType {
        let element = self.ir.element_type(self.ir.value_type(value));
        crate::codegen::kernel::dtype_of(self.ir, element).unwrap_or(DType::Index)
    }
    /// The operands of an op at the level where all are known, with the same number of lanes.
    pub fn operands(&mut self, op: Op) -> (Vec<Val<V<B>>>, usize, u32) {
        let vals: Vec<Val<V<B>>> = self.ir.operand_list(op).iter().map(|&v| self.get(v)).collect();
        let level = vals.iter().map(|v| v.level).max().unwrap_or(0);
        let lanes = vals.iter().map(|v| self.b.lanes(v.v)).max().unwrap_or(1);
        (vals, level, lanes)
    }
    /// The type in which lanes of an element type are held.
    pub fn held(&self, dtype: DType, lanes: u32) -> T<B> {
        held_type(self.b, dtype, lanes)
    }
    /// The level of an operand's expression or value.
    pub fn atom_level(&mut self, atom: Atom) -> usize {
        match atom {
            Atom::Sym(_) => 0,
            Atom::Dim(LANE) => 0,
            Atom::Dim(d) if d < LANE => self.axes[d as usize].map_or(0, |a| a.1),
            Atom::Dim(d) => self.data_value(d).level,
        }
    }
    /// The value that stands as a [`DATA`] dimension.
    pub fn data_value(&mut self, d: u32) -> Val<V<B>> {
        let (value, row) = self.data[(d - DATA) as usize];
        let saved = std::mem::replace(&mut self.row, row);
        let v = self.get(value);
        self.row = saved;
        v
    }
    /// The index expression that an `index` value is; a new dimension for one that is none.
    pub fn index_expr(&mut self, value: Value) -> Expr {
        let key = self.key(value);
        if let Some(&e) = self.index.get(&key) {
            return e;
        }
        if let Def::Result(op, _) = self.ir.def(value)
            && matches!(self.ir.op_name(op), kernels::BroadcastOp::NAME | "arith.index_cast" | "arith.index_castui")
        {
            let from = self.ir.operand(op, 0);
            let from_key = self.key(from);
            if self.index.contains_key(&from_key) || self.ir.is_op(op, kernels::BroadcastOp::NAME) {
                return self.index_expr(from);
            }
        }
        let k = self.data.iter().position(|&d| d == key).unwrap_or_else(|| {
            self.data.push(key);
            self.data.len() - 1
        });
        self.exprs.dim(DATA + k as u32)
    }
    /// Whether the tile of an axis is the lanes of a vector.
    pub fn is_tiled(&self, axis: usize) -> bool {
        self.kernel.tile_axis() == Some(axis)
    }
    /// The parallel axes.
    pub fn parallel_axes(&self) -> Vec<usize> {
        (0..self.kernel.axes.len()).filter(|&a| self.kernel.axes[a].kind == AxisKind::Parallel).collect()
    }
}

/// The type in which lanes of an element type are held.
pub(super) fn held_type<B: Build>(b: &B, dtype: DType, lanes: u32) -> T<B> {
    match dtype {
        DType::I1 => b.int_type(1, lanes),
        DType::F16 | DType::BF16 | DType::F32 => b.float_type(32, lanes),
        DType::F64 => b.float_type(64, lanes),
        d => b.int_type(d.bits(), lanes),
    }
}

/// Whether the emitter has the element type.
pub(super) fn is_supported(dtype: DType) -> bool {
    !dtype.is_complex() && !dtype.is_f8()
}
