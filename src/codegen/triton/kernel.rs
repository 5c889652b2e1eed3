//! One kernel: its parameters, axes and the state of writing it. A program takes one tile of the parallel axes; walks are loops, or nothing where the
//! tile holds the whole axis.

use rinductor_index::{Atom, Expr, Exprs, Range, Ranges};
use rinductor_scalar::DType;
use rinductor_support::{Diagnostic, FxHashMap, FxHashSet};

use super::expr::{self, Text};
use super::helpers::Helpers;
use super::names::{Names, identifier, quoted};
use crate::codegen::kernel::{Arg, AxisKind, BufferLayout, Kernel, dtype_of};
use crate::dialects::kernels;
use crate::ir::{Ir, Loc, Op, Value};
use crate::support::diag::Place;

/// From this dimension on expressions stand for values from data.
const DATA: u32 = 64;

/// A value of the kernel: a variable, or a number written out.
#[derive(Clone, Debug)]
pub(super) struct Val {
    pub text: String,
    pub literal: bool,
    pub dtype: DType,
    /// The dimensions of the tile along which it varies, a bit each.
    pub dims: u32,
    /// The scope in which it was made.
    pub level: usize,
}

/// An axis while the kernel is written.
pub(super) struct AxisState {
    /// Its number among the axes with a tile.
    pub dim: Option<usize>,
    /// The name of its tile.
    pub block: String,
    /// How many points a step takes.
    pub tile: u32,
    /// The variable with the position, where it is known.
    pub position: Option<String>,
    /// The variable that says which lanes are inside, where not all are.
    pub mask: Option<String>,
    /// The scope that knows the position.
    pub level: usize,
    /// Whether one step holds the whole axis.
    pub whole: bool,
}

/// Lines at one depth, and what they have computed.
#[derive(Default)]
pub(super) struct Scope {
    pub lines: Vec<String>,
    pub memo: FxHashMap<String, Val>,
}

/// Which width offsets have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Width {
    /// 32 bits hold all.
    Narrow,
    /// Some do not fit 32 bits.
    Wide,
    /// It depends on the sizes of a call: the caller says it.
    Depends,
}

/// A kernel as text, and how it is launched.
pub(super) struct Written {
    /// What it is called.
    pub name: String,
    pub text: String,
    /// The element types of its buffers.
    pub tensors: Vec<DType>,
    /// The extents of the parallel axes with the points that a program takes.
    pub grid: Vec<(Expr, u32)>,
    /// Numbers of elements of which none may pass 2^31 where offsets are to have 32 bits.
    pub sizes: Vec<Expr>,
    pub width: Width,
    pub warps: u32,
    /// Whether it checks indices.
    pub checks: bool,
    /// The expressions are of this arena.
    pub exprs: Exprs,
}

/// The state of writing a kernel.
pub(super) struct Emit<'a> {
    pub ir: &'a Ir,
    pub exprs: Exprs,
    pub kernel: Kernel,
    pub h: &'a mut Helpers,
    pub names: Names,
    pub buffers: FxHashMap<Value, (String, BufferLayout)>,
    pub symbols: FxHashMap<String, String>,
    pub env: FxHashMap<Value, Val>,
    pub index: FxHashMap<Value, Expr>,
    pub data: Vec<Value>,
    pub scopes: Vec<Scope>,
    pub axes: Vec<AxisState>,
    /// Buffers that the kernel writes.
    pub written: FxHashSet<Value>,
    /// Buffers that were written since threads last waited for each other.
    pub dirty: FxHashSet<Value>,
    pub width: Width,
    pub checks: bool,
    /// The source line that was shown last.
    pub last_line: Option<String>,
    /// How often each buffer is still loaded.
    pub loads_left: FxHashMap<Value, usize>,
    /// Walks that an earlier one has computed.
    pub done: FxHashSet<Op>,
}

/// Writes a kernel.
pub(super) fn write(ir: &Ir, op: Op, h: &mut Helpers) -> Result<Written, Diagnostic> {
    let mut exprs = ir.exprs.clone();
    let kernel = Kernel::read(ir, &mut exprs, op)?;
    let mut e = Emit::new(ir, exprs, kernel, h);
    e.check_types()?;
    e.plan_scans();
    let tiled: Vec<usize> = (0..e.axes.len()).filter(|&a| e.axes[a].tile > 1).collect();
    for (k, &a) in tiled.iter().enumerate() {
        e.axes[a].dim = Some(k);
    }
    let sizes = e.choose_width();
    e.positions();
    e.block(e.kernel.body)?;
    let grid = e.parallel().into_iter().map(|a| (e.kernel.axes[a].extent, e.axes[a].tile)).collect();
    let points: u64 = e.axes.iter().map(|a| u64::from(a.tile)).product();
    let reduced = || e.axes.iter().zip(&e.kernel.axes).filter(|(_, a)| a.kind != AxisKind::Parallel);
    let work = match (reduced().next().is_some(), reduced().all(|(s, _)| s.whole)) {
        (false, _) => Work::Points,
        (true, true) => Work::Rows,
        (true, false) => Work::Steps,
    };
    let warps = warps(points, work);
    let name = identifier(&e.kernel.name);
    let tensors = e.kernel.buffers().map(|b| b.1.dtype).collect();
    let text = e.finish();
    Ok(Written { name, text, tensors, grid, sizes, width: e.width.clone(), warps, checks: e.checks, exprs: e.exprs })
}

/// What a program goes through.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    /// Points, in one step.
    Points,
    /// Whole rows, in one step.
    Rows,
    /// Rows, in several steps.
    Steps,
}

/// The warps of a program. Rows are combined across few warps, where lanes have 32 points each; steps want many loads on their way.
fn warps(points: u64, work: Work) -> u32 {
    match (points, work) {
        (0..=32, _) => 1,
        (33..=64, _) => 2,
        (65..=1024, Work::Rows) => 1,
        (1025..=2048, Work::Rows) => 2,
        (2049..=4096, Work::Rows) => 4,
        (4097..=8192, Work::Rows) => 8,
        (1025..=4096, Work::Steps) | (2049..=4096, _) => 8,
        (65..=2048, _) => 4,
        _ => 16,
    }
}

impl<'a> Emit<'a> {
    fn new(ir: &'a Ir, exprs: Exprs, kernel: Kernel, h: &'a mut Helpers) -> Emit<'a> {
        let mut names = Names::default();
        let (mut buffers, mut symbols) = (FxHashMap::default(), FxHashMap::default());
        let mut written = FxHashSet::default();
        let mut loads_left: FxHashMap<Value, usize> = FxHashMap::default();
        ir.walk(kernel.op, &mut |op| match ir.op_name(op) {
            kernels::StoreOp::NAME | kernels::AtomicOp::NAME => {
                written.insert(ir.operand(op, 1));
            }
            kernels::LoadOp::NAME => *loads_left.entry(ir.operand(op, 0)).or_default() += 1,
            _ => {}
        });
        let axes = kernel.axes.iter().map(|a| {
            let extent = exprs.as_int(a.extent);
            AxisState {
                dim: None,
                block: names.fresh(&format!("{}BLOCK", identifier(&a.name).to_uppercase())),
                tile: a.tile,
                position: None,
                mask: None,
                level: 0,
                whole: a.kind == AxisKind::Reduce && extent.is_some_and(|n| n <= i64::from(a.tile) && n > 0),
            }
        });
        let axes: Vec<AxisState> = axes.collect();
        for (v, arg) in &kernel.args {
            match arg {
                Arg::Buffer(k, layout) => {
                    let hint = ir.value_name(*v).map_or_else(|| format!("buffer{k}"), str::to_string);
                    buffers.insert(*v, (names.fresh(&hint), layout.clone()));
                }
                Arg::Symbol(_, s) => {
                    symbols.insert(s.clone(), names.fresh(s));
                }
            }
        }
        Emit {
            ir,
            exprs,
            kernel,
            h,
            names,
            buffers,
            symbols,
            env: FxHashMap::default(),
            index: FxHashMap::default(),
            data: Vec::new(),
            scopes: vec![Scope::default()],
            axes,
            written,
            dirty: FxHashSet::default(),
            width: Width::Narrow,
            checks: false,
            last_line: None,
            loads_left,
            done: FxHashSet::default(),
        }
    }

    /// An error at an op.
    pub fn error(&self, op: Op, text: impl std::fmt::Display) -> Diagnostic {
        let ir = self.ir;
        let place = match ir.place(ir.op(op).loc) {
            Place::None => ir.place(ir.op(self.kernel.op).loc),
            place => place,
        };
        Diagnostic::error(place, format!("kernel @{}: '{}': {text}", self.kernel.name, ir.op_name(op)))
    }

    /// Refuses element types that Triton has not.
    fn check_types(&self) -> Result<(), Diagnostic> {
        let ir = self.ir;
        for (v, layout) in self.kernel.buffers() {
            if layout.dtype.is_complex() {
                let name = ir.value_name(v).unwrap_or("a buffer");
                return Err(self.error(self.kernel.op, format!("%{name}: Triton has no {} elements", layout.dtype)));
            }
        }
        for op in ir.nested_ops(self.kernel.op) {
            for r in ir.results(op) {
                match dtype_of(ir, ir.element_type(ir.value_type(r))) {
                    Some(d) if !d.is_complex() => {}
                    _ => return Err(self.error(op, "Triton has no values of the result's element type")),
                }
            }
        }
        Ok(())
    }

    /// The numbers of the parallel axes.
    fn parallel(&self) -> Vec<usize> {
        (0..self.axes.len()).filter(|&a| self.kernel.axes[a].kind == AxisKind::Parallel).collect()
    }

    /// How many dimensions a tile has.
    pub fn rank(&self) -> usize {
        self.axes.iter().filter(|a| a.dim.is_some()).count()
    }

    /// The shape of a tile that varies along some dimensions.
    pub fn shape(&self, dims: u32) -> String {
        if dims == 0 {
            return "()".into();
        }
        let mut blocks: Vec<&AxisState> = self.axes.iter().filter(|a| a.dim.is_some()).collect();
        blocks.sort_by_key(|a| a.dim);
        let one = |a: &&AxisState| {
            let k = a.dim.unwrap_or(0);
            if dims >> k & 1 == 1 { a.block.clone() } else { "1".into() }
        };
        format!("[{}]", blocks.iter().map(one).collect::<Vec<_>>().join(", "))
    }

    /// The bit of an axis among the dimensions of a tile.
    pub fn bit(&self, axis: usize) -> u32 {
        self.axes[axis].dim.map_or(0, |d| 1 << d)
    }

    /// The lanes of an axis: `tl.arange`, put along its dimension.
    pub fn lanes(&self, axis: usize) -> String {
        let a = &self.axes[axis];
        let rank = self.rank();
        let range = format!("tl.arange(0, {})", a.block);
        if rank == 1 {
            return range;
        }
        let along: Vec<&str> = (0..rank).map(|d| if Some(d) == a.dim { ":" } else { "None" }).collect();
        format!("{range}[{}]", along.join(", "))
    }

    /// The elements that the offsets of a kernel reach, and whether they need 64 bits.
    fn choose_width(&mut self) -> Vec<Expr> {
        const LIMIT: i64 = i32::MAX as i64;
        let layouts: Vec<BufferLayout> = self.kernel.buffers().map(|b| b.1.clone()).collect();
        let mut sizes = Vec::new();
        for l in layouts {
            let mut end = l.offset;
            for (&n, &stride) in l.sizes.iter().zip(&l.strides) {
                let span = self.exprs.mul(n, stride);
                end = self.exprs.add(end, span);
            }
            sizes.push(end);
        }
        let mut points = self.exprs.int(1);
        for a in 0..self.axes.len() {
            let extent = self.kernel.axes[a].extent;
            points = self.exprs.mul(points, extent);
        }
        sizes.push(points);
        let mut open = Vec::new();
        for e in sizes {
            match self.exprs.as_int(e) {
                // A step may run past the end.
                Some(n) if n > LIMIT - 65536 => self.width = Width::Wide,
                Some(_) => {}
                None if !open.contains(&e) => open.push(e),
                None => {}
            }
        }
        if self.width == Width::Narrow && !open.is_empty() {
            self.width = Width::Depends;
        }
        open
    }

    /// The positions on the parallel axes, and on the axes that one step holds.
    fn positions(&mut self) {
        let parallel = self.parallel();
        if self.width == Width::Depends {
            let symbols: Vec<String> = self.kernel.symbols().iter().map(|s| self.symbols[s].clone()).collect();
            self.line("if WIDE:".into());
            for s in symbols {
                self.line(format!("    {s} = tl.cast({s}, tl.int64)"));
            }
        }
        let moving: Vec<usize> = parallel
            .iter()
            .copied()
            .filter(|&a| {
                let steps = self.exprs.as_int(self.kernel.axes[a].extent).map(|n| n <= i64::from(self.axes[a].tile));
                steps != Some(true)
            })
            .collect();
        let program = self.names.fresh("program");
        if !moving.is_empty() {
            let wide = if self.width == Width::Wide { ".to(tl.int64)" } else { "" };
            self.line(format!("{program} = tl.program_id(0){wide}"));
            if self.width == Width::Depends {
                self.line("if WIDE:".into());
                self.line(format!("    {program} = {program}.to(tl.int64)"));
            }
        }
        // The innermost axis steps fastest.
        let mut rest = program;
        let mut starts: FxHashMap<usize, String> = FxHashMap::default();
        for (k, &a) in moving.iter().enumerate().rev() {
            if k == 0 {
                starts.insert(a, rest.clone());
                break;
            }
            let steps = self.steps(a);
            starts.insert(a, format!("({rest} % {steps})"));
            let outer = self.names.fresh("outer");
            self.line(format!("{outer} = {rest} // {steps}"));
            rest = outer;
        }
        for &a in &parallel {
            let start = starts.get(&a).cloned();
            self.position(a, start.as_deref(), true);
        }
        for a in 0..self.axes.len() {
            if self.axes[a].whole {
                self.position(a, None, false);
            }
        }
    }

    /// How many steps an axis has.
    fn steps(&mut self, a: usize) -> String {
        let extent = self.text(self.kernel.axes[a].extent);
        if self.axes[a].tile == 1 {
            extent.tight()
        } else {
            format!("tl.cdiv({}, {})", extent.text, self.axes[a].block)
        }
    }

    /// Defines the position of an axis from the number of its step (`scaled`), or from where the step begins.
    pub fn position(&mut self, a: usize, start: Option<&str>, scaled: bool) {
        let name = self.kernel.axes[a].name.clone();
        let level = self.scopes.len() - 1;
        let extent = self.kernel.axes[a].extent;
        let tile = self.axes[a].tile;
        if tile == 1 {
            let text = start.unwrap_or("0").to_string();
            let word = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            let position = if start.is_some() && !word {
                let v = self.names.fresh(&format!("{name}i"));
                self.line(format!("{v} = {}", strip(&text)));
                v
            } else {
                text
            };
            let state = &mut self.axes[a];
            state.position = Some(position);
            state.level = level;
            return;
        }
        let lanes = self.lanes(a);
        let block = self.axes[a].block.clone();
        let mut text = match start {
            Some(s) if scaled => format!("{s} * {block} + {lanes}"),
            Some(s) => format!("{s} + {lanes}"),
            None => lanes,
        };
        let wide = start.is_some() && scaled;
        if !wide && self.width == Width::Wide {
            text = format!("({text}).to(tl.int64)");
        }
        let v = self.names.fresh(&format!("{name}i"));
        self.line(format!("{v} = {text}"));
        if !wide && self.width == Width::Depends {
            self.line("if WIDE:".into());
            self.line(format!("    {v} = {v}.to(tl.int64)"));
        }
        let full = self.exprs.as_int(extent).is_some_and(|n| n % i64::from(tile) == 0 && n > 0);
        let mask = (!full).then(|| {
            let end = self.text(extent);
            let m = self.names.fresh(&format!("{name}m"));
            self.line(format!("{m} = {v} < {}", end.text));
            m
        });
        let state = &mut self.axes[a];
        state.position = Some(v);
        state.mask = mask;
        state.level = level;
    }

    /// An index expression as text.
    pub fn text(&mut self, e: Expr) -> Text {
        let Emit { exprs, h, axes, symbols, data, env, ir, .. } = self;
        expr::in_kernel(exprs, e, h, |atom| match atom {
            Atom::Dim(d) if d >= DATA => {
                let v = data[(d - DATA) as usize];
                let checked = ir.def_op(v).is_some_and(|op| ir.is_op(op, kernels::PositionOp::NAME));
                Text::word(env.get(&v).map_or("0", |v| v.text.as_str()), checked)
            }
            Atom::Dim(d) => Text::word(axes[d as usize].position.as_deref().unwrap_or("0"), true),
            Atom::Sym(s) => {
                let name = exprs.sym_name(s);
                Text::word(symbols.get(name).map_or(name, String::as_str), !exprs.is_signed(s))
            }
        })
    }

    /// Along which dimensions an expression varies, and from which scope on it is known.
    pub fn extent_of(&self, e: Expr) -> (u32, usize) {
        let mut dims = 0;
        let mut level = 0;
        for atom in self.exprs.atoms(e) {
            match atom {
                Atom::Dim(d) if d >= DATA => {
                    if let Some(v) = self.env.get(&self.data[(d - DATA) as usize]) {
                        dims |= v.dims;
                        level = level.max(v.level);
                    }
                }
                Atom::Dim(d) => {
                    dims |= self.bit(d as usize);
                    level = level.max(self.axes[d as usize].level);
                }
                Atom::Sym(_) => {}
            }
        }
        (dims, level)
    }

    /// The expression that an index value is.
    pub fn index_expr(&mut self, v: Value) -> Expr {
        if let Some(&e) = self.index.get(&v) {
            return e;
        }
        let k = self.data.iter().position(|&d| d == v).unwrap_or_else(|| {
            self.data.push(v);
            self.data.len() - 1
        });
        self.exprs.dim(DATA + k as u32)
    }

    /// An index expression as text that is computed in 64 bits.
    pub fn wide_text(&mut self, e: Expr) -> Text {
        let Emit { exprs, h, axes, symbols, data, env, .. } = self;
        let word = |text: &str| {
            let number = text.parse::<i64>().is_ok();
            Text::word(if number { text.to_string() } else { format!("tl.cast({text}, tl.int64)") }, false)
        };
        expr::in_kernel(exprs, e, h, |atom| match atom {
            Atom::Dim(d) if d >= DATA => word(env.get(&data[(d - DATA) as usize]).map_or("0", |v| v.text.as_str())),
            Atom::Dim(d) => word(axes[d as usize].position.as_deref().unwrap_or("0")),
            Atom::Sym(s) => {
                let name = exprs.sym_name(s);
                word(symbols.get(name).map_or(name, String::as_str))
            }
        })
    }

    /// Whether 32 bits hold an expression, and all that it is made of, wherever the axes reach.
    pub fn is_narrow(&self, e: Expr) -> bool {
        let ranges = self.ranges();
        let inside = |n: Option<i64>| n.is_some_and(|n| i32::try_from(n).is_ok());
        self.exprs.postorder(e).into_iter().map(|e| self.exprs.range(e, &ranges)).all(|r| inside(r.lo) && inside(r.hi))
    }

    /// A simpler expression that is equal wherever the axes reach.
    pub fn simplified(&mut self, e: Expr) -> Expr {
        let ranges = self.ranges();
        self.exprs.simplify(e, &ranges)
    }

    /// What is known of positions, symbols and checked indices.
    fn ranges(&self) -> Ranges {
        let mut ranges = self.exprs.facts();
        for (k, a) in self.kernel.axes.iter().enumerate() {
            ranges.set_extent(k as u32, a.extent);
        }
        for (k, &v) in self.data.iter().enumerate() {
            let checked = self.ir.def_op(v).is_some_and(|op| self.ir.is_op(op, kernels::PositionOp::NAME));
            if checked {
                ranges.set(Atom::Dim(DATA + k as u32), Range { lo: Some(0), hi: None });
            }
        }
        ranges
    }

    /// Which lanes are inside along these dimensions, and from which scope on that is known.
    pub fn mask(&self, dims: u32) -> (Vec<String>, usize) {
        let mut parts = Vec::new();
        let mut level = 0;
        for (a, state) in self.axes.iter().enumerate() {
            if let Some(m) = &state.mask
                && self.bit(a) & dims != 0
            {
                parts.push(m.clone());
                level = level.max(state.level);
            }
        }
        (parts, level)
    }

    /// A line in the innermost scope.
    pub fn line(&mut self, text: String) {
        let level = self.scopes.len() - 1;
        self.line_at(level, text);
    }

    /// A line in a scope.
    pub fn line_at(&mut self, level: usize, text: String) {
        self.scopes[level].lines.push(text);
    }

    /// Begins the body of a loop.
    pub fn open(&mut self) {
        self.scopes.push(Scope::default());
    }

    /// Ends the body of a loop, and writes it below its header.
    pub fn close(&mut self, header: String) {
        let scope = self.scopes.pop().expect("what was opened is closed");
        let level = self.scopes.len();
        for a in &mut self.axes {
            if a.position.is_some() && a.level >= level {
                a.position = None;
                a.mask = None;
            }
        }
        self.line(header);
        for l in scope.lines {
            self.line(format!("    {l}"));
        }
    }

    /// The source line that an op comes from, if it is known.
    pub fn source_line(&self, loc: Loc) -> Option<String> {
        match self.ir.place(loc) {
            Place::File { file, line, .. } => Some(format!("{file}:{line}")),
            _ => None,
        }
    }

    /// The whole text.
    fn finish(&mut self) -> String {
        let mut params: Vec<String> = Vec::new();
        for (v, arg) in &self.kernel.args {
            params.push(match arg {
                Arg::Buffer(..) => self.buffers[v].0.clone(),
                Arg::Symbol(_, s) => self.symbols[s].clone(),
            });
        }
        if self.width == Width::Depends {
            params.push("WIDE: tl.constexpr".into());
        }
        for a in self.axes.iter().filter(|a| a.dim.is_some()) {
            params.push(format!("{}: tl.constexpr = {}", a.block, a.tile));
        }
        let mut text = format!("@triton.jit\ndef {}({}):\n", identifier(&self.kernel.name), params.join(", "));
        let axes = self.kernel.axes.iter().zip(&self.axes).map(|(a, s)| {
            let kind = if a.kind == AxisKind::Parallel { "" } else { " reduced" };
            format!(
                "{} of {}{kind}{}",
                a.name,
                self.exprs.display(a.extent),
                if s.tile > 1 { format!(" by {}", s.tile) } else { String::new() }
            )
        });
        let axes: Vec<String> = axes.collect();
        text += &format!("    # {}\n", axes.join(", "));
        let lines = std::mem::take(&mut self.scopes[0].lines);
        if lines.is_empty() {
            text += "    pass\n";
        }
        for l in lines {
            text += "    ";
            text += &l;
            text.push('\n');
        }
        text
    }

    /// A message for an index that is out of range.
    pub fn check_message(&self, op: Op) -> String {
        let at = match self.source_line(self.ir.op(op).loc) {
            Some(line) => format!("{line}: index out of range (kernel {})", self.kernel.name),
            None => format!("index out of range (kernel {})", self.kernel.name),
        };
        quoted(&at)
    }
}

/// A text without the parentheses around all of it.
fn strip(text: &str) -> &str {
    text.strip_prefix('(').and_then(|t| t.strip_suffix(')')).unwrap_or(text)
}
