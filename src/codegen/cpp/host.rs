//! The function that launches kernels, as C++: memory, launches, extern ops that have C++ code, results.
//!
//! Its caller gives memory for the results. What is computed in memory that is returned as it is, is computed there; other results are copied.

use std::collections::BTreeSet;
use std::fmt::Write;

use rinductor_index::{Atom, Expr, Exprs, Node, Unfolded};
use rinductor_scalar::{DType, ScalarOp, from_ir};
use rinductor_support::{Diagnostic, FxHashMap};

use super::names;
use super::signature::{Parameter, Signature};
use crate::codegen::kernel::{BufferLayout, buffer_layout, dtype_of};
use crate::codegen::kernels::{KernelInfo, Kernels};
use crate::codegen::sizes;
use crate::dialects::{func, kernels, symbols};
use crate::ir::{Ir, Op, TypeData, Value};

/// The function of a module that is called.
///
/// # Errors
/// There is not one alone.
pub fn function_of(ir: &Ir) -> Result<Op, Diagnostic> {
    let functions = ir.block_ops(ir.module_body()).filter(|&op| ir.is_op(op, func::FuncOp::NAME));
    let public: Vec<Op> = functions.filter(|&f| func::FuncOp(f).sym_visibility(ir) != Some("private")).collect();
    match public[..] {
        [one] => Ok(one),
        _ => Err(Diagnostic::error_nowhere(format!("a program has one public function, here are {}", public.len()))),
    }
}

/// The text of a function, and what it is called with.
pub struct Host {
    /// Its text, without its head.
    pub body: String,
    /// Constant data, before it.
    pub constants: String,
    /// Whether it calls extern ops.
    pub ops: bool,
    pub signature: Signature,
}

struct Writer<'a> {
    ir: &'a Ir,
    exprs: &'a mut Exprs,
    infos: &'a [KernelInfo],
    /// The functions of kernels by their symbols.
    functions: &'a FxHashMap<String, String>,
    body: String,
    constants: String,
    ops: bool,
    names: BTreeSet<String>,
    /// Where the memory of a buffer begins, and the allocation that it is in.
    buffers: FxHashMap<Value, (String, usize)>,
    written: Vec<bool>,
    numbers: FxHashMap<Value, Expr>,
    nothing: Vec<Value>,
    /// Results that are computed where the caller wants them.
    direct: FxHashMap<Value, String>,
}

/// Writes the function `func` of `ir`.
///
/// # Errors
/// An op that has no C++ code.
pub fn write(ir: &Ir, all: &mut Kernels, func: Op, functions: &FxHashMap<String, String>) -> Result<Host, Diagnostic> {
    let error = |op: Op, text: String| Diagnostic::error(ir.place(ir.op(op).loc), text);
    for kernel in &all.distinct {
        let mut special = None;
        ir.walk(kernel.op, &mut |op| {
            let dtype = ir.operands(op).next().and_then(|v| dtype_of(ir, ir.element_type(ir.value_type(v))));
            if matches!(from_ir(ir.op_name(op), None, dtype.unwrap_or(DType::F32)), Some(ScalarOp::Special(_))) {
                special = Some(op);
            }
        });
        if let Some(op) = special {
            let text = format!("kernel @{}: '{}' has no C++ code", kernel.name, ir.op_name(op));
            return Err(error(op, text).help("run it by rinductor-run --backend=cpp, which has the function"));
        }
    }
    let body = ir.body(func).ok_or_else(|| error(func, "the function must have one block".into()))?;
    let Kernels { infos, exprs, .. } = all;
    let mut w = Writer {
        ir,
        exprs,
        infos,
        functions,
        body: String::new(),
        constants: String::new(),
        ops: false,
        names: functions.values().cloned().collect(),
        buffers: FxHashMap::default(),
        written: Vec::new(),
        numbers: FxHashMap::default(),
        nothing: Vec::new(),
        direct: FxHashMap::default(),
    };
    w.names.extend(["message", "message_size", "error"].map(str::to_string));
    let mut parameters = Vec::new();
    let mut sizes: Vec<String> = Vec::new();
    let args = ir.block_args(body).to_vec();
    for (i, &arg) in args.iter().enumerate() {
        if matches!(ir.ty(ir.value_type(arg)), TypeData::Index) {
            let e = symbols::argument_symbol_in(ir, w.exprs, func, i);
            let e = e.unwrap_or_else(|| w.exprs.sym(&format!("arg{i}")));
            w.numbers.insert(arg, e);
            w.note_symbols(e, &mut sizes);
            continue;
        }
        let layout = w.layout(func, arg)?;
        layout.sizes.iter().chain(&layout.strides).for_each(|&e| w.note_symbols(e, &mut sizes));
        let name = w.fresh(ir.value_name(arg).unwrap_or("x"));
        let size = layout.dtype.size();
        let offset = w.text(layout.offset);
        let base =
            if offset == "0" { format!("(char *){name}") } else { format!("((char *){name} - {offset} * {size})") };
        let root = w.root();
        w.buffers.insert(arg, (base, root));
        parameters.push((root, w.parameter(name, &layout)));
    }
    let facts = symbols::facts_in(ir, w.exprs, func);
    for s in &sizes {
        w.names.insert(s.clone());
        let id = w.exprs.sym_id(s);
        let range = facts.range(Atom::Sym(id));
        let (lo, hi) = (range.lo, range.hi);
        let checks = [lo.map(|l| format!("{s} < {l}")), hi.map(|h| format!("{s} > {h}"))];
        let checks: Vec<String> = checks.into_iter().flatten().collect();
        if !checks.is_empty() {
            let why = format!("{s} is not a size that the function takes");
            w.line(&format!("if ({}) return fail(message, message_size, \"{why}\");", checks.join(" || ")));
        }
    }
    w.line("Error error = {0, 0, 0, 0};");
    let ops = ir.block_op_list(body);
    let returned: Vec<Value> = ops.last().map(|&r| ir.operand_list(r).to_vec()).unwrap_or_default();
    let mut results = Vec::new();
    for (k, &v) in returned.iter().enumerate() {
        let hint = ir.value_name(v).filter(|n| !n.starts_with(|c: char| c.is_ascii_digit()));
        let name = w.fresh(&hint.map_or_else(|| format!("result{k}"), |n| format!("{n}_out")));
        if matches!(ir.ty(ir.value_type(v)), TypeData::MemRef { .. }) {
            let layout = w.layout(func, v)?;
            let own = ir
                .def_op(v)
                .is_some_and(|op| ir.is_op(op, kernels::AllocOp::NAME) && kernels::AllocOp(op).arena(ir).is_none());
            if own && w.exprs.as_int(layout.offset) == Some(0) && returned.iter().filter(|&&r| r == v).count() == 1 {
                w.direct.insert(v, name.clone());
            }
            results.push(Some(w.parameter(name, &layout)));
        } else {
            let number = !ir.def_op(v).is_some_and(|op| ir.is_op(op, kernels::NoneOp::NAME));
            results.push(number.then(|| Parameter::number(name)));
        }
    }
    for &op in &ops {
        if !ir.is_op(op, func::ReturnOp::NAME) {
            w.op(op)?;
        }
    }
    for (&v, result) in returned.iter().zip(&results) {
        match (w.numbers.get(&v).copied(), result) {
            (Some(e), Some(r)) => {
                let e = w.text(e);
                w.line(&format!("*{} = {e};", r.name));
            }
            (None, Some(r)) if !w.direct.contains_key(&v) => {
                let layout = w.layout(func, v)?;
                let (from, _) = w.buffer(func, v)?;
                let from = w.start(&from, &layout);
                w.copy(
                    &layout,
                    &format!("(char *){}", r.name),
                    &layout.strides.clone(),
                    &from,
                    &layout.strides.clone(),
                );
            }
            _ => {}
        }
    }
    w.line("return 0;");
    let written = w.written.clone();
    let inputs = parameters.into_iter().map(|(root, p)| Parameter { written: written[root], ..p }).collect();
    let name = names::identifier(ir.symbol_name(func).unwrap_or("forward"));
    let least = sizes.iter().map(|s| (s.clone(), facts.range(Atom::Sym(w.exprs.sym_id(s))).lo.unwrap_or(0))).collect();
    let signature = Signature { name, inputs, sizes: least, results: results.into_iter().flatten().collect() };
    Ok(Host { body: w.body, constants: w.constants, ops: w.ops, signature })
}

impl Writer<'_> {
    fn error(&self, op: Op, text: impl Into<String>) -> Diagnostic {
        Diagnostic::error(self.ir.place(self.ir.op(op).loc), format!("'{}': {}", self.ir.op_name(op), text.into()))
    }
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.body, "  {text}");
    }
    fn fresh(&mut self, hint: &str) -> String {
        let base = names::identifier(hint);
        let mut name = base.clone();
        let mut n = 0;
        while names::is_taken(&name) || !self.names.insert(name.clone()) {
            n += 1;
            name = format!("{base}_{n}");
        }
        name
    }
    fn root(&mut self) -> usize {
        self.written.push(false);
        self.written.len() - 1
    }
    fn layout(&mut self, op: Op, v: Value) -> Result<BufferLayout, Diagnostic> {
        buffer_layout(self.ir, self.exprs, self.ir.value_type(v))
            .ok_or_else(|| self.error(op, "a buffer whose sizes or strides are not known"))
    }
    fn buffer(&self, op: Op, v: Value) -> Result<(String, usize), Diagnostic> {
        self.buffers.get(&v).cloned().ok_or_else(|| self.error(op, "an operand is no buffer of this function"))
    }
    /// Where the first element of a buffer is.
    fn start(&self, base: &str, layout: &BufferLayout) -> String {
        match self.text(layout.offset).as_str() {
            "0" => base.to_string(),
            offset => format!("{base} + ({offset}) * {}", layout.dtype.size()),
        }
    }
    fn parameter(&self, name: String, layout: &BufferLayout) -> Parameter {
        Parameter {
            name,
            dtype: layout.dtype,
            sizes: layout.sizes.iter().map(|&e| self.text(e)).collect(),
            strides: layout.strides.iter().map(|&e| self.text(e)).collect(),
            reach: self.reach(layout),
            written: false,
        }
    }
    fn note_symbols(&self, e: Expr, all: &mut Vec<String>) {
        for atom in self.exprs.atoms(e) {
            if let Atom::Sym(s) = atom {
                let name = self.exprs.sym_name(s).to_string();
                if !all.contains(&name) {
                    all.push(name);
                }
            }
        }
    }
    /// How many elements from the start of the memory to the last one.
    fn reach(&self, layout: &BufferLayout) -> String {
        let fixed = |e: &Expr| self.exprs.as_int(*e);
        let sizes: Option<Vec<i64>> = layout.sizes.iter().map(fixed).collect();
        let strides: Option<Vec<i64>> = layout.strides.iter().map(fixed).collect();
        if let (Some(sizes), Some(strides), Some(offset)) = (sizes, strides, fixed(&layout.offset)) {
            if sizes.contains(&0) {
                return "0".into();
            }
            let last: i64 = sizes.iter().zip(&strides).map(|(n, s)| (n - 1) * s).sum();
            return (offset + last + 1).to_string();
        }
        let terms = layout.sizes.iter().zip(&layout.strides);
        let terms = terms.map(|(&n, &s)| format!(" + ({} - 1) * ({})", self.text(n), self.text(s)));
        let empty: Vec<String> = layout.sizes.iter().map(|&n| format!("({}) == 0", self.text(n))).collect();
        let all: String = terms.collect();
        format!("(({}) ? 0 : {}{all} + 1)", empty.join(" || "), self.text(layout.offset))
    }

    /// An expression over symbols.
    fn text(&self, e: Expr) -> String {
        let exprs = &*self.exprs;
        let list = |name: &str, args: &[Expr]| {
            let texts = args.iter().map(|&a| self.text(a));
            texts.reduce(|a, b| format!("{name}({a}, {b})")).unwrap_or_else(|| "0".into())
        };
        match exprs.node(e) {
            Node::Const(c) => c.to_string(),
            Node::Dim(_) => "0".into(),
            Node::Sym(s) => exprs.sym_name(*s).to_string(),
            Node::Sum(terms, c) => {
                let mut text: Vec<String> = Vec::new();
                for t in terms.iter() {
                    let m = self.text(t.monomial);
                    text.push(if t.coefficient == 1 { m } else { format!("{} * {m}", t.coefficient) });
                }
                if *c != 0 {
                    text.push(c.to_string());
                }
                format!("({})", text.join(" + "))
            }
            Node::Product(factors) => {
                let all = factors.iter().flat_map(|f| std::iter::repeat_n(self.text(f.base), f.power as usize));
                all.collect::<Vec<_>>().join(" * ")
            }
            Node::FloorDiv(a, b) => format!("floordiv({}, {})", self.text(*a), self.text(*b)),
            Node::Mod(a, b) => format!("floormod({}, {})", self.text(*a), self.text(*b)),
            Node::Min(args) => list("least", args),
            Node::Max(args) => list("greatest", args),
            Node::Unfolded(op, args) => {
                let texts: Vec<String> = args.iter().map(|&a| self.text(a)).collect();
                match op {
                    Unfolded::Sum => format!("({})", texts.join(" + ")),
                    Unfolded::Product => format!("({})", texts.join(" * ")),
                    Unfolded::Power(n) => format!("({})", vec![texts[0].clone(); *n as usize].join(" * ")),
                }
            }
        }
    }

    fn op(&mut self, op: Op) -> Result<(), Diagnostic> {
        let ir = self.ir;
        match ir.op_name(op) {
            kernels::AllocOp::NAME => {
                let result = ir.result(op, 0);
                let layout = self.layout(op, result)?;
                let root = self.root();
                if let Some(name) = self.direct.get(&result) {
                    self.buffers.insert(result, (format!("(char *){name}"), root));
                    return Ok(());
                }
                let alloc = kernels::AllocOp(op);
                let base = if let Some(arena) = alloc.arena(ir) {
                    let (arena, _) = self.buffer(op, arena)?;
                    format!("({arena} + {})", alloc.offset(ir).unwrap_or(0))
                } else {
                    let name = self.fresh(ir.value_name(result).unwrap_or("memory"));
                    let bytes = format!("{} * {}", self.reach(&layout), layout.dtype.size());
                    self.line(&format!("Memory {name}({bytes});"));
                    self.line(&format!("if (!{name}.at) return fail(message, message_size, \"there is no memory\");"));
                    format!("{name}.at")
                };
                self.buffers.insert(result, (base, root));
            }
            kernels::DeallocOp::NAME => {}
            kernels::ViewOp::NAME => {
                let from = self.buffer(op, kernels::ViewOp(op).source(ir))?;
                self.buffers.insert(ir.result(op, 0), from);
            }
            kernels::ConstantOp::NAME => self.constant(op)?,
            kernels::LaunchOp::NAME => self.launch(op)?,
            kernels::ExternOp::NAME => self.external(op)?,
            kernels::CopyOp::NAME => {
                let copy = kernels::CopyOp(op);
                let (from, to) = (copy.from(ir), copy.into(ir));
                let (a, b) = (self.layout(op, from)?, self.layout(op, to)?);
                let ((x, _), (y, root)) = (self.buffer(op, from)?, self.buffer(op, to)?);
                self.written[root] = true;
                let (x, y) = (self.start(&x, &a), self.start(&y, &b));
                self.copy(&a, &y, &b.strides, &x, &a.strides);
            }
            kernels::NoneOp::NAME => self.nothing.push(ir.result(op, 0)),
            _ => {
                let number = sizes::number(ir, self.exprs, &self.numbers, op);
                let e = number.unwrap_or(Err("has no C++ code")).map_err(|m| self.error(op, m))?;
                self.numbers.insert(ir.result(op, 0), e);
            }
        }
        Ok(())
    }

    /// Copies the elements of a layout.
    fn copy(&mut self, layout: &BufferLayout, to: &str, to_strides: &[Expr], from: &str, from_strides: &[Expr]) {
        let list = |w: &Self, all: &[Expr]| {
            let texts: Vec<String> = all.iter().map(|&e| w.text(e)).collect();
            if texts.is_empty() { "0".to_string() } else { texts.join(", ") }
        };
        let (n, t, f) = (list(self, &layout.sizes), list(self, to_strides), list(self, from_strides));
        let (rank, size) = (layout.sizes.len(), layout.dtype.size());
        self.line(&format!("{{\n    const int64_t sizes[] = {{{n}}}, to[] = {{{t}}}, from[] = {{{f}}};"));
        self.line(&format!("  copy({rank}, sizes, {to}, to, {from}, from, {size});\n  }}"));
    }

    fn constant(&mut self, op: Op) -> Result<(), Diagnostic> {
        let ir = self.ir;
        let result = ir.result(op, 0);
        let layout = self.layout(op, result)?;
        let numbers =
            crate::text::dense::elements(ir, kernels::ConstantOp(op).value(ir)).map_err(|e| self.error(op, e))?;
        let count: i64 = layout.sizes.iter().filter_map(|&n| self.exprs.as_int(n)).product();
        let size = layout.dtype.size();
        let mut bytes = Vec::new();
        for k in 0..count.max(0) as usize {
            let n = numbers.get(if numbers.len() == count as usize { k } else { 0 }).copied().unwrap_or(0);
            bytes.extend(n.to_le_bytes()[..size].iter().map(u8::to_string));
        }
        let name = self.fresh(ir.value_name(result).unwrap_or("constant"));
        let bytes = if bytes.is_empty() { "0".to_string() } else { bytes.join(",") };
        let _ = writeln!(self.constants, "alignas(64) static const unsigned char {name}[] = {{{bytes}}};");
        let root = self.root();
        self.buffers.insert(result, (format!("(char *){name}"), root));
        Ok(())
    }

    fn launch(&mut self, op: Op) -> Result<(), Diagnostic> {
        let ir = self.ir;
        let launch = kernels::LaunchOp(op);
        let name = launch.callee(ir);
        let info = self.infos.iter().find(|i| i.name == name);
        let info = info.ok_or_else(|| self.error(op, format!("there is no kernel @{name}")))?;
        let kernel = ir.lookup_symbol(name).ok_or_else(|| self.error(op, "there is no such kernel"))?;
        let written = kernels::written(ir, kernel);
        let params = ir.body(kernel).map(|b| ir.block_args(b).to_vec()).unwrap_or_default();
        let (mut args, mut with, mut symbols) = (Vec::new(), Vec::new(), info.symbols.iter());
        for ((k, v), p) in launch.args(ir).into_iter().enumerate().zip(params) {
            if let Some(&e) = self.numbers.get(&v) {
                if let Some(s) = symbols.next() {
                    with.push((Atom::Sym(self.exprs.sym_id(s)), e));
                }
                args.push(self.text(e));
                continue;
            }
            let (base, root) = self.buffer(op, v)?;
            let dtype = dtype_of(ir, ir.element_type(ir.value_type(p))).unwrap_or(DType::F32);
            let writes = written.get(k).copied().unwrap_or(true);
            self.written[root] |= writes;
            let constant = if writes { "" } else { "const " };
            args.push(format!("({constant}{} *)({base})", super::module::element(dtype)));
        }
        let steps = self.exprs.subst(info.steps, &with);
        let cost = self.exprs.subst(info.cost, &with);
        let (steps, cost) = (self.text(steps), self.text(cost));
        let function = self.functions.get(&info.function).cloned().unwrap_or_default();
        if let rinductor_support::diag::Place::File { file, line, .. } = ir.place(ir.op(op).loc) {
            self.line(&format!("// {file}:{line}"));
        }
        self.line(&format!("run({steps}, {cost}, [&](int64_t begin, int64_t end) {{"));
        self.line(&format!("  {function}({}, begin, end, &error);", args.join(", ")));
        self.line("});");
        if !ir.ops_named(kernel, kernels::PositionOp::NAME).is_empty() {
            self.line(&format!("if (error.set) return out_of_range(message, message_size, \"{name}\", error);"));
        }
        Ok(())
    }

    /// The tensor of an extern op's operand with its strides, so many of them: those of dimensions that there are not are 0, in front.
    fn strided(&mut self, op: Op, v: Value, rank: usize) -> Result<(BufferLayout, String), Diagnostic> {
        let layout = self.layout(op, v)?;
        let (base, _) = self.buffer(op, v)?;
        let at = self.start(&base, &layout);
        let ty = self.c_type(op, layout.dtype)?;
        let missing = rank.saturating_sub(layout.sizes.len());
        let mut strides = vec!["0".to_string(); missing];
        for (&n, &s) in layout.sizes.iter().zip(&layout.strides) {
            strides.push(if self.exprs.as_int(n) == Some(1) { "0".into() } else { self.text(s) });
        }
        Ok((layout, format!("{{({ty} *)({at}), {{{}}}}}", strides.join(", "))))
    }

    fn c_type(&self, op: Op, dtype: DType) -> Result<&'static str, Diagnostic> {
        Ok(match dtype {
            DType::F32 => "float",
            DType::F64 => "double",
            DType::F16 => "Half",
            DType::BF16 => "Brain",
            DType::I64 => "int64_t",
            DType::I32 => "int32_t",
            other => return Err(self.error(op, format!("has no C++ code for {other}"))),
        })
    }

    fn external(&mut self, op: Op) -> Result<(), Diagnostic> {
        let ir = self.ir;
        let external = kernels::ExternOp(op);
        let callee = external.callee(ir).to_string();
        let operands: Vec<Value> = external.args(ir).into_iter().collect();
        let outs = usize::try_from(external.outs(ir)).unwrap_or(0).min(operands.len());
        let (ins, outs) = operands.split_at(operands.len() - outs);
        let props = ir.dict(external.properties(ir)).to_vec();
        let number = |name: &str, or: f64| {
            let attr = props.iter().find(|p| ir.text(p.0) == name).map(|p| p.1);
            attr.and_then(|a| crate::codegen::literal::splat(ir, a, DType::F64)).map_or(or, |n| match n {
                crate::codegen::literal::Number::Int(i) => i as f64,
                crate::codegen::literal::Number::Float(x) => x,
            })
        };
        let ints = |name: &str| props.iter().find(|p| ir.text(p.0) == name).and_then(|p| ir.as_ints(p.1));
        let truth = |name: &str| {
            props
                .iter()
                .find(|p| ir.text(p.0) == name)
                .is_some_and(|p| matches!(ir.attr(p.1), crate::ir::AttrData::Bool(true)))
        };
        self.ops = true;
        let (_, root) = self.buffer(op, *outs.first().ok_or_else(|| self.error(op, "no result"))?)?;
        self.written[root] = true;
        match callee.as_str() {
            "aten.mm" | "aten.bmm" | "aten.addmm" | "aten.baddbmm" => {
                let start = callee.contains("add");
                let (x, y) = if start { (ins[1], ins[2]) } else { (ins[0], ins[1]) };
                let (lx, tx) = self.strided(op, x, 3)?;
                let (ly, ty) = self.strided(op, y, 3)?;
                let (lo, to) = self.strided(op, outs[0], 3)?;
                let ts = if start { self.strided(op, ins[0], 3)?.1 } else { "{nullptr, {0}}".into() };
                let c = self.c_type(op, lo.dtype)?;
                let rank = lo.sizes.len();
                let batch = if rank == 3 { self.text(lo.sizes[0]) } else { "1".into() };
                let (m, n) = (self.text(lx.sizes[rank - 2]), self.text(ly.sizes[rank - 1]));
                let depth = self.text(lx.sizes[rank - 1]);
                let (beta, alpha) = (number("beta", 1.0), number("alpha", 1.0));
                self.line(&format!("// {callee}"));
                self.line(&format!(
                    "matmul<{c}>({batch}, {m}, {n}, {depth}, {tx}, {ty}, {to}, {ts}, {beta:?}, {alpha:?});"
                ));
            }
            "aten.convolution" if !truth("transposed") => self.convolution(op, ins, outs[0], &ints)?,
            _ => {
                let transposed = if callee == "aten.convolution" { " that is transposed" } else { "" };
                return Err(self
                    .error(op, format!("{callee}{transposed} has no C++ code"))
                    .help("run it by rinductor-run --backend=cpp, which has the op"));
            }
        }
        Ok(())
    }

    fn convolution(
        &mut self,
        op: Op,
        ins: &[Value],
        out: Value,
        ints: &dyn Fn(&str) -> Option<Vec<i64>>,
    ) -> Result<(), Diagnostic> {
        let rank = self.layout(op, ins[0])?.sizes.len();
        if !(3..=5).contains(&rank) || ints("stride").is_none() {
            return Err(self.error(op, "a convolution of this form has no C++ code"));
        }
        let space = rank - 2;
        // Dimensions of space that there are not come first.
        let five = |w: &mut Self, v: Value| -> Result<(BufferLayout, String), Diagnostic> {
            let (layout, _) = w.strided(op, v, 0)?;
            let (base, _) = w.buffer(op, v)?;
            let (at, ty) = (w.start(&base, &layout), w.c_type(op, layout.dtype)?);
            let all: Vec<String> = layout.strides.iter().map(|&s| w.text(s)).collect();
            let mut strides: Vec<String> = all[..2].to_vec();
            strides.extend(std::iter::repeat_n("0".to_string(), 3 - space));
            strides.extend(all[2..].iter().cloned());
            Ok((layout, format!("{{({ty} *)({at}), {{{}}}}}", strides.join(", "))))
        };
        let (x, tx) = five(self, ins[0])?;
        let (w, tw) = five(self, ins[1])?;
        let (o, to) = five(self, out)?;
        let bias = ins.get(2).copied().filter(|v| !self.nothing.contains(v));
        let tb = bias.map_or(Ok("{nullptr, {0}}".to_string()), |b| self.strided(op, b, 1).map(|s| s.1))?;
        let groups = self.ir.dict(kernels::ExternOp(op).properties(self.ir)).iter();
        let groups = groups.filter(|p| self.ir.text(p.0) == "groups").find_map(|p| self.ir.as_int(p.1)).unwrap_or(1);
        let spread = |list: Option<Vec<i64>>, or: i64| {
            let list = list.unwrap_or_default();
            let one = |k: usize| list.get(k).or(list.first()).copied().unwrap_or(or);
            let all = std::iter::repeat_n(or, 3 - space).chain((0..space).map(one));
            all.map(|n| n.to_string()).collect::<Vec<_>>().join(", ")
        };
        let sizes = |me: &Self, layout: &BufferLayout| {
            let all =
                std::iter::repeat_n("1".to_string(), 3 - space).chain(layout.sizes[2..].iter().map(|&n| me.text(n)));
            all.collect::<Vec<_>>().join(", ")
        };
        let (input, kernel, output) = (sizes(self, &x), sizes(self, &w), sizes(self, &o));
        let (stride, padding, dilation) =
            (spread(ints("stride"), 1), spread(ints("padding"), 0), spread(ints("dilation"), 1));
        let c = self.c_type(op, o.dtype)?;
        let (images, from, to_channels) = (self.text(x.sizes[0]), self.text(w.sizes[1]), self.text(o.sizes[1]));
        self.line("// aten.convolution");
        self.line(&format!(
            "convolution<{c}>({{{images}, {groups}, {from}, ({to_channels}) / {groups}, {{{input}}}, {{{kernel}}}, {{{output}}}, \
             {{{stride}}}, {{{padding}}}, {{{dilation}}}}}, {tx}, {tw}, {tb}, {to});"
        ));
        Ok(())
    }
}
