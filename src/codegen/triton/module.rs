//! The module around the kernels: `call`, which takes a list of arguments, allocates, launches, calls what is extern, and returns the results.

use rinductor_index::{Atom, Expr};
use rinductor_support::{Diagnostic, FxHashMap, FxHashSet};

use super::alone;
use super::expr::{self, Text};
use super::external::{self, dtype_name};
use super::helpers::Helpers;
use super::kernel::{self, Width, Written};
use super::launch;
use super::names::{Names, identifier};
use super::reuse::Reuse;
use super::same;
use super::together;
use crate::codegen::kernel::{BufferLayout, buffer_layout, contiguous_strides};
use crate::dialects::loops::map_exprs;
use crate::dialects::{func, kernels, symbols};
use crate::ir::{AttrData, Block, Ir, Op, TypeData, Value};
use crate::pass::OpInfos;
use crate::text::dense;

/// The size that a symbol has among the random arguments of a module that runs by itself.
const EXAMPLE_SIZE: i64 = 128;

/// How much of a module is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// The kernels and `call`.
    Kernels,
    /// Also what makes it a program: random arguments, `--check` and `--bench`.
    Program,
}

/// The module of the one public function of `ir`, whose kernels have their tiles.
///
/// # Errors
/// What Triton cannot do: the diagnostic names the op and the place.
pub fn emit(ir: &Ir, infos: &dyn OpInfos, extent: Extent) -> Result<String, Diagnostic> {
    let mut helpers = Helpers::default();
    let mut written: FxHashMap<String, Written> = FxHashMap::default();
    // The kernels that stand in the module, by their texts without names, and in order.
    let mut known: FxHashMap<String, String> = FxHashMap::default();
    let mut order: Vec<String> = Vec::new();
    for op in ir.block_ops(ir.module_body()).filter(|&op| ir.is_op(op, kernels::FuncOp::NAME)) {
        let mut w = kernel::write(ir, op, &mut helpers)?;
        let whole = launch::decorator(&w) + &w.text;
        let name = kernels::FuncOp(op).sym_name(ir).to_string();
        match known.get(&same::without_names(&whole)) {
            Some(first) => w.name.clone_from(first),
            None => {
                known.insert(same::without_names(&whole), w.name.clone());
                order.push(name.clone());
            }
        }
        written.insert(name, w);
    }
    let functions: Vec<Op> = ir
        .block_ops(ir.module_body())
        .filter(|&op| ir.is_op(op, func::FuncOp::NAME) && ir.body(op).is_some())
        .filter(|&op| func::FuncOp(op).sym_visibility(ir) != Some("private"))
        .collect();
    let &[function] = &functions[..] else {
        let what = format!("the module has {} public functions; a Triton module is made of one", functions.len());
        let place = functions.get(1).map(|&f| ir.place(ir.op(f).loc)).unwrap_or_default();
        return Err(Diagnostic::error(place, what));
    };
    let mut host = Host::new(ir, function, infos, &written);
    let call = host.function()?;
    let arguments = host.arguments();
    let device = host.device_name();
    let mut text = String::new();
    for w in order.iter().filter_map(|n| written.get(n)) {
        let together = host.grouped.contains(&w.name);
        if host.alone.contains(&w.name) || !together {
            text += &format!("\n\n{}{}", launch::decorator(w), w.text);
        }
        if together {
            helpers.need("_pick");
            text += &format!("\n\n{}", together::text(w));
        }
    }
    let name = ir.symbol_name(function).unwrap_or("forward");
    let mut out = format!("\"\"\"The function {name}, as kernels for Triton: call(args) runs it.\"\"\"\n\n");
    if call.contains("@functools") {
        out += "import functools\n";
    }
    out += "import os\n\nimport torch\nimport triton\nimport triton.language as tl\n";
    if helpers.libdevice {
        out += "from triton.language.extra import libdevice\n";
    }
    out += &launch::preamble(&device, !written.is_empty(), !host.grouped.is_empty());
    out += &helpers.text();
    out += &text;
    out += &call;
    if extent == Extent::Program {
        out += alone::IMPORTS;
        out += &arguments;
        if helpers.libdevice {
            out += alone::INTERPRETED_LIBDEVICE;
        }
        out += alone::INTERPRETED;
        if helpers.libdevice {
            out += "    libdevice = InterpretedLibdevice()\n";
        }
        out += alone::PROGRAM;
    }
    Ok(out)
}

/// The host function while it is written.
pub(super) struct Host<'a> {
    pub ir: Ir,
    func: Op,
    infos: &'a dyn OpInfos,
    pub written: &'a FxHashMap<String, Written>,
    names: Names,
    /// Variables of buffers with memory of their own, and of views that were made.
    pub vars: FxHashMap<Value, String>,
    /// Symbols that are bound, with what computes them.
    bound: FxHashMap<String, String>,
    /// Buffers that wait for their first use to be allocated.
    waiting: FxHashSet<Value>,
    pub lines: Vec<String>,
    /// Which buffers take the memory of others.
    pub reuse: Reuse,
    /// Ops that were written before their turn.
    pub done: FxHashSet<Op>,
    /// Kernels that are launched for one set of buffers, and those that are for several.
    alone: FxHashSet<String>,
    pub grouped: FxHashSet<String>,
    /// Arguments whose memory kernels are given.
    launched: Vec<Value>,
    /// Functions for constant data, above `call`.
    constants: String,
    uses_strided: bool,
}

impl<'a> Host<'a> {
    fn new(ir: &Ir, func: Op, infos: &'a dyn OpInfos, written: &'a FxHashMap<String, Written>) -> Host<'a> {
        let mut names = Names::default();
        for name in written.keys() {
            names.fresh(&identifier(name));
        }
        Host {
            ir: ir.clone(),
            func,
            infos,
            written,
            names,
            vars: FxHashMap::default(),
            bound: FxHashMap::default(),
            waiting: FxHashSet::default(),
            lines: Vec::new(),
            reuse: Reuse::default(),
            done: FxHashSet::default(),
            alone: FxHashSet::default(),
            grouped: FxHashSet::default(),
            launched: Vec::new(),
            constants: String::new(),
            uses_strided: false,
        }
    }

    fn error(&self, op: Op, text: impl std::fmt::Display) -> Diagnostic {
        Diagnostic::error(self.ir.place(self.ir.op(op).loc), format!("'{}': {text}", self.ir.op_name(op)))
    }

    fn body(&self) -> Block {
        self.ir.body(self.func).expect("only functions with a body are written")
    }

    pub fn layout(&mut self, v: Value) -> Option<BufferLayout> {
        let ty = self.ir.value_type(v);
        let mut exprs = std::mem::take(&mut self.ir.exprs);
        let layout = buffer_layout(&self.ir, &mut exprs, ty);
        self.ir.exprs = exprs;
        layout
    }

    fn layout_at(&mut self, v: Value, op: Op) -> Result<BufferLayout, Diagnostic> {
        self.layout(v).ok_or_else(|| self.error(op, "a buffer whose sizes and strides are not all known"))
    }

    /// An expression of the host.
    fn expr(&self, e: Expr) -> Text {
        expr::on_host(&self.ir.exprs, e, |s| self.bound.get(s).cloned().unwrap_or_else(|| identifier(s)))
    }

    pub fn tuple(&self, list: &[Expr]) -> String {
        let items: Vec<String> = list.iter().map(|&e| self.expr(e).text).collect();
        if let [one] = &items[..] { format!("({one},)") } else { format!("({})", items.join(", ")) }
    }

    fn function(&mut self) -> Result<String, Diagnostic> {
        let body = self.body();
        let args = self.ir.block_args(body).to_vec();
        let mut params = Vec::new();
        for (k, &a) in args.iter().enumerate() {
            let hint = self.ir.value_name(a).map_or_else(|| format!("arg{k}"), str::to_string);
            let name = self.names.fresh(&hint);
            self.vars.insert(a, name.clone());
            params.push(name);
        }
        let checks = self.bind(&args)?;
        let binds = std::mem::take(&mut self.lines);
        let first =
            args.iter().copied().find(|&a| matches!(self.ir.ty(self.ir.value_type(a)), TypeData::MemRef { .. }));
        let index = match first {
            Some(a) => format!("{}.get_device()", self.vars[&a]),
            None => "index_of(DEVICE)".into(),
        };
        let ops = self.ir.block_op_list(body);
        let frees = self.last_uses(&ops);
        self.plan_reuse(&ops);
        let effects: Vec<_> = ops.iter().map(|&op| self.effects(op)).collect();
        for (k, &op) in ops.iter().enumerate() {
            if !self.done.contains(&op) && !self.launch_together(&ops, &effects, k)? {
                self.op(op)?;
            }
            let dead = frees.get(k).cloned().unwrap_or_default();
            let back = self.given_back(&ops, k, &dead);
            let gone: Vec<String> = back.iter().filter_map(|v| self.vars.get(v)).cloned().collect();
            if !gone.is_empty() && k + 1 < ops.len() {
                self.lines.push(format!("del {}", gone.join(", ")));
            }
        }
        let mut text = std::mem::take(&mut self.constants);
        if self.uses_strided {
            text += STRIDED;
        }
        let name = self.ir.symbol_name(self.func).unwrap_or("forward").to_string();
        let unpack = match &params[..] {
            [] => None,
            [one] => Some(format!("{one}, = args")),
            _ => Some(format!("{} = args", params.join(", "))),
        };
        let has = |word: &str| self.lines.iter().any(|l| l.contains(word));
        let (allocates, launches, names_device) = (has("empty("), has("stream, "), has("device"));
        let mut lines: Vec<String> = Vec::new();
        lines.extend(unpack.clone());
        lines.push(format!("if (index := {index}) != current_device():"));
        lines.push("    return elsewhere(index, args)".into());
        if unpack.is_some() {
            lines.push("args.clear()".into());
        }
        lines.extend(binds.iter().cloned());
        if allocates {
            lines.push("empty = empty_strided(index)".into());
        }
        if launches {
            lines.push("stream = current_stream(index)".into());
        }
        if names_device {
            lines.push("device = torch.device(\"cuda\", index) if index >= 0 else torch.device(\"cpu\")".into());
        }
        if !self.launched.is_empty() {
            let mut places = Vec::new();
            for v in self.launched.clone() {
                places.push(self.place_in_memory(v)?);
            }
            let all = places.join(" | ");
            let all = if places.len() == 1 && !all.contains(' ') { all } else { format!("({all})") };
            lines.push(format!("if {all} & 15:"));
            lines.push("    index = UNALIGNED".into());
        }
        lines.append(&mut self.lines);
        text += "\n\ndef check(args):\n    \"\"\"Raises an error if the arguments do not lie as the kernels expect.\"\"\"\n";
        if checks.is_empty() {
            text += "    pass\n";
        } else {
            for l in unpack.iter().chain(&binds).chain(&checks) {
                text += &format!("    {l}\n");
            }
        }
        text += &format!(
            "\n\ndef run(args):\n    \"\"\"Runs @{name} with arguments that were checked; the list is emptied, so that they are freed early.\"\"\"\n"
        );
        for l in &lines {
            text += &format!("    {l}\n");
        }
        text += &format!("\n\ndef call(args):\n    \"\"\"Checks the arguments, and runs @{name}.\"\"\"\n");
        text += "    check(args)\n    return run(args)\n";
        Ok(text)
    }

    /// The address from which kernels count in the memory of an argument.
    fn place_in_memory(&mut self, v: Value) -> Result<String, Diagnostic> {
        let (var, own) = (self.vars[&v].clone(), self.layout_at(v, self.func)?);
        Ok(match self.ir.exprs.as_int(own.offset) {
            Some(0) => format!("{var}.data_ptr()"),
            Some(n) => format!("{var}.data_ptr() - {}", n.saturating_mul(own.dtype.size() as i64)),
            None => format!("{var}.data_ptr() - {} * {}", self.expr(own.offset).factor_text(), own.dtype.size()),
        })
    }

    /// Where the function runs if no argument says it.
    fn device_name(&self) -> String {
        match self.ir.attr_of(self.func, "aten.device").map(|a| self.ir.attr(a)) {
            Some(AttrData::String(bytes)) if bytes.starts_with(b"cuda:") => String::from_utf8_lossy(bytes).into_owned(),
            _ => "cuda".into(),
        }
    }

    /// Binds symbols; gives the lines that check that tensors lie as their types say.
    fn bind(&mut self, args: &[Value]) -> Result<Vec<String>, Diagnostic> {
        for (k, &a) in args.iter().enumerate() {
            if !matches!(self.ir.ty(self.ir.value_type(a)), TypeData::Index) {
                continue;
            }
            let Some(e) = symbols::argument_symbol(&mut self.ir, self.func, k) else { continue };
            if let Some(Atom::Sym(s)) = self.ir.exprs.as_atom(e) {
                let name = self.ir.exprs.sym_name(s).to_string();
                let var = self.vars[&a].clone();
                self.bound.entry(name).or_insert(var);
            }
        }
        let mut layouts = Vec::new();
        for &a in args {
            if matches!(self.ir.ty(self.ir.value_type(a)), TypeData::MemRef { .. }) {
                let layout = self.layout_at(a, self.func)?;
                layouts.push((a, layout));
            }
        }
        for (a, layout) in &layouts {
            let var = self.vars[a].clone();
            for (list, what) in [(&layout.sizes, "size"), (&layout.strides, "stride")] {
                for (d, &e) in list.iter().enumerate() {
                    let Some(Atom::Sym(s)) = self.ir.exprs.as_atom(e) else { continue };
                    let name = self.ir.exprs.sym_name(s).to_string();
                    if !self.bound.contains_key(&name) {
                        let symbol = self.names.fresh(&name);
                        self.lines.push(format!("{symbol} = {var}.{what}({d})"));
                        self.bound.insert(name, symbol);
                    }
                }
            }
        }
        let mut checks = Vec::new();
        for (a, layout) in &layouts {
            let all = layout.sizes.iter().chain(&layout.strides).chain([&layout.offset]);
            let atoms: Vec<Atom> = all.flat_map(|&e| self.ir.exprs.atoms(e).collect::<Vec<_>>()).collect();
            for atom in atoms {
                if let Atom::Sym(s) = atom
                    && !self.bound.contains_key(self.ir.exprs.sym_name(s))
                {
                    let text = format!("no argument is the symbol {} by itself", self.ir.exprs.sym_name(s));
                    return Err(self.error(self.func, text));
                }
            }
            let (sizes, strides) = (self.tuple(&layout.sizes), self.tuple(&layout.strides));
            checks.push(format!("assert_size_stride({}, {sizes}, {strides})", self.vars[a]));
        }
        Ok(checks)
    }

    /// The buffer whose memory a value is in.
    pub fn root(&self, mut v: Value) -> Value {
        while let Some(op) = self.ir.def_op(v).filter(|&op| self.ir.is_op(op, kernels::ViewOp::NAME)) {
            v = self.ir.operand(op, 0);
        }
        v
    }

    /// After which op each buffer is used no more; arguments too, of which the device was asked before. What is returned stays.
    fn last_uses(&self, ops: &[Op]) -> Vec<Vec<Value>> {
        let mut last: FxHashMap<Value, usize> = FxHashMap::default();
        let mut order: Vec<Value> = Vec::new();
        let buffer = |v: Value| matches!(self.ir.ty(self.ir.value_type(v)), TypeData::MemRef { .. });
        for (k, &op) in ops.iter().enumerate() {
            for v in self.ir.operands(op).filter(|&v| buffer(v)) {
                let root = self.root(v);
                if last.insert(root, k).is_none() {
                    order.push(root);
                }
            }
        }
        let mut list = vec![Vec::new(); ops.len()];
        for v in order {
            let constant = self.ir.def_op(v).is_some_and(|op| self.ir.is_op(op, kernels::ConstantOp::NAME));
            if !constant {
                list[last[&v]].push(v);
            }
        }
        list
    }

    pub fn op(&mut self, op: Op) -> Result<(), Diagnostic> {
        match self.ir.op_name(op) {
            kernels::AllocOp::NAME => self.alloc(op),
            kernels::DeallocOp::NAME | kernels::ViewOp::NAME | kernels::SizeOp::NAME | kernels::NoneOp::NAME => Ok(()),
            kernels::LaunchOp::NAME => self.launch(op),
            kernels::ExternOp::NAME => self.external(op),
            kernels::CopyOp::NAME => {
                let (from, into) = (self.tensor(self.ir.operand(op, 0), op)?, self.tensor(self.ir.operand(op, 1), op)?);
                self.lines.push(format!("{into}.copy_({from})"));
                Ok(())
            }
            kernels::ConstantOp::NAME => self.constant(op),
            func::ReturnOp::NAME => self.returns(op),
            _ => {
                // Arithmetic on sizes is written where it is used.
                let whole = self.ir.results(op).all(|r| symbols::expr_of(&mut self.ir, r).is_some());
                if whole { Ok(()) } else { Err(self.error(op, "has no place in a Triton module")) }
            }
        }
    }

    fn alloc(&mut self, op: Op) -> Result<(), Diagnostic> {
        let v = self.ir.result(op, 0);
        let name = self.names.fresh(self.ir.value_name(v).unwrap_or("buffer"));
        self.vars.insert(v, name.clone());
        let Some(arena) = kernels::AllocOp(op).arena(&self.ir) else {
            self.waiting.insert(v);
            return Ok(());
        };
        let layout = self.layout_at(v, op)?;
        let place = kernels::AllocOp(op).offset(&self.ir).unwrap_or(0);
        let (sizes, strides, offset) =
            (self.tuple(&layout.sizes), self.tuple(&layout.strides), self.expr(layout.offset).text);
        let arena = self.tensor(arena, op)?;
        let bytes = layout.dtype.size();
        let dtype = dtype_name(layout.dtype);
        self.lines.push(format!(
            "{name} = {arena}[{place}:{arena}.numel() - ({arena}.numel() - {place}) % {bytes}].view({dtype}).as_strided({sizes}, {strides}, {place} // {bytes} + {offset})"
        ));
        Ok(())
    }

    /// Whether a buffer waits for its first use.
    pub fn is_waiting(&self, root: Value) -> bool {
        self.waiting.contains(&root)
    }

    /// Allocates a buffer now if it was not before.
    fn ready(&mut self, root: Value, op: Op) -> Result<(), Diagnostic> {
        if !self.waiting.remove(&root) {
            return Ok(());
        }
        let layout = self.layout_at(root, op)?;
        let name = self.vars[&root].clone();
        let lines = match self.taken(root) {
            Some(lines) => lines,
            None => vec![format!("{name} = {}", self.empty(&layout))],
        };
        self.lines.extend(lines);
        Ok(())
    }

    /// The text that allocates.
    fn empty(&mut self, layout: &BufferLayout) -> String {
        let plain = contiguous_strides(&mut self.ir.exprs, &layout.sizes);
        let (sizes, dtype) = (self.tuple(&layout.sizes), dtype_name(layout.dtype));
        let known = !layout.sizes.iter().any(|&e| self.ir.exprs.has_syms(e));
        // Of what has no elements torch's strides count empty dimensions as one.
        let strides = if plain == layout.strides && known {
            let sizes: Vec<i64> = layout.sizes.iter().map(|&e| self.ir.exprs.as_int(e).unwrap_or(1).max(1)).collect();
            let strides: Vec<Expr> = (0..sizes.len())
                .map(|d| self.ir.exprs.int(sizes[d + 1..].iter().fold(1i64, |a, &b| a.saturating_mul(b))))
                .collect();
            self.tuple(&strides)
        } else {
            self.tuple(&layout.strides)
        };
        format!("empty({sizes}, {strides}, {dtype})")
    }

    /// A variable with the tensor that a value is.
    fn tensor(&mut self, v: Value, op: Op) -> Result<String, Diagnostic> {
        let root = self.root(v);
        self.ready(root, op)?;
        let base = self.vars.get(&root).cloned().ok_or_else(|| self.error(op, "a buffer that nothing defines"))?;
        if root == v || self.ir.value_type(root) == self.ir.value_type(v) {
            return Ok(base);
        }
        let (own, view) = (self.layout_at(root, op)?, self.layout_at(v, op)?);
        let shift = self.ir.exprs.sub(view.offset, own.offset);
        let shift = match self.ir.exprs.as_int(shift) {
            Some(0) => String::new(),
            _ => format!(", {}", self.expr(shift).text),
        };
        Ok(format!("reinterpret({base}, {}, {}{shift})", self.tuple(&view.sizes), self.tuple(&view.strides)))
    }

    fn launch(&mut self, op: Op) -> Result<(), Diagnostic> {
        let name = kernels::LaunchOp(op).callee(&self.ir).to_string();
        let written = self.written;
        let Some(w) = written.get(&name) else { return Err(self.error(op, format!("no kernel @{name}"))) };
        let args = self.buffers_of(op)?;
        let mut integers = Vec::new();
        for v in self.ir.operand_list(op) {
            if matches!(self.ir.ty(self.ir.value_type(v)), TypeData::Index) {
                integers.push(self.integer(v, op)?);
            }
        }
        self.alone.insert(w.name.clone());
        let symbols = self.symbols_of(op, &name)?;
        let on_host =
            |e: Expr| expr::on_host(&w.exprs, e, |s| symbols.get(s).cloned().unwrap_or_else(|| identifier(s)));
        let mut steps: Vec<String> = Vec::new();
        for &(extent, tile) in &w.grid {
            match w.exprs.as_int(extent) {
                Some(n) => {
                    let n = (n.max(0) as u64).div_ceil(u64::from(tile));
                    if n != 1 {
                        steps.push(n.to_string());
                    }
                }
                None if tile == 1 => steps.push(on_host(extent).factor_text()),
                None => steps.push(format!("triton.cdiv({}, {tile})", on_host(extent).text)),
            }
        }
        // The grid of kernels whose sizes are known is a number.
        let numbers: Option<Vec<u64>> = steps.iter().map(|s| s.parse().ok()).collect();
        let grid = match numbers {
            Some(n) => n.into_iter().product::<u64>().to_string(),
            None => steps.join(" * "),
        };
        if w.width == Width::Depends {
            let sizes: Vec<String> = w.sizes.iter().map(|&e| on_host(e).text).collect();
            let most =
                if sizes.len() == 1 { on_host(w.sizes[0]).factor_text() } else { format!("max({})", sizes.join(", ")) };
            integers.push(format!("{most} >= 2**31 - 2**16"));
        }
        let tensors = if args.len() == 1 { format!("{},", args[0]) } else { args.join(", ") };
        let integers: String = integers.iter().map(|n| format!(", {n}")).collect();
        self.lines.push(format!("{}({grid}, index, stream, ({tensors}){integers})", w.name));
        Ok(())
    }

    /// What a launch is given as buffers.
    pub fn buffers_of(&mut self, op: Op) -> Result<Vec<String>, Diagnostic> {
        let mut args = Vec::new();
        let mut numbers = false;
        for v in self.ir.operand_list(op) {
            if matches!(self.ir.ty(self.ir.value_type(v)), TypeData::Index) {
                numbers = true;
                continue;
            }
            if numbers {
                return Err(self.error(op, "takes a buffer behind a number"));
            }
            let root = self.root(v);
            self.ready(root, op)?;
            let var = self.vars.get(&root).cloned();
            let var = var.ok_or_else(|| self.error(op, "a buffer that nothing defines"))?;
            let own = self.layout_at(root, op)?;
            if self.ir.def_op(root).is_none() && !self.launched.contains(&root) {
                self.launched.push(root);
            }
            // Kernels count from the start of the memory.
            args.push(if self.ir.exprs.as_int(own.offset) == Some(0) {
                var
            } else {
                let offset = self.expr(own.offset).factor_text();
                format!("reinterpret({var}, (1,), (1,), -{offset})")
            });
        }
        Ok(args)
    }

    /// What the symbols of a kernel are at a launch.
    fn symbols_of(&mut self, op: Op, name: &str) -> Result<FxHashMap<String, String>, Diagnostic> {
        let mut map = FxHashMap::default();
        let Some(callee) = self.ir.lookup_symbol(name) else { return Ok(map) };
        for (k, v) in self.ir.operand_list(op).into_iter().enumerate() {
            if !matches!(self.ir.ty(self.ir.value_type(v)), TypeData::Index) {
                continue;
            }
            let symbol = symbols::argument_symbol(&mut self.ir, callee, k).and_then(|e| self.ir.exprs.as_atom(e));
            if let Some(Atom::Sym(s)) = symbol {
                let symbol = self.ir.exprs.sym_name(s).to_string();
                let text = self.integer(v, op)?;
                map.insert(symbol, text);
            }
        }
        Ok(map)
    }

    /// An integer of the host as Python.
    fn integer(&mut self, v: Value, op: Op) -> Result<String, Diagnostic> {
        if let Some(var) = self.vars.get(&v) {
            return Ok(var.clone());
        }
        let size = self.ir.def_op(v).filter(|&d| self.ir.is_op(d, kernels::SizeOp::NAME));
        let e = match size {
            Some(d) => map_exprs(&self.ir, d, "map").first().copied(),
            None => symbols::expr_of(&mut self.ir, v),
        };
        let e = e.ok_or_else(|| self.error(op, "takes a number that is not made of sizes"))?;
        Ok(self.expr(e).text)
    }

    fn external(&mut self, op: Op) -> Result<(), Diagnostic> {
        let view = kernels::ExternOp(op);
        let callee = view.callee(&self.ir).to_string();
        let outs = usize::try_from(view.outs(&self.ir)).unwrap_or(0);
        let operands = self.ir.operand_list(op);
        let (ins, results) = operands.split_at(operands.len().saturating_sub(outs));
        let mut texts = Vec::new();
        for &v in ins {
            texts.push(match self.ir.ty(self.ir.value_type(v)) {
                TypeData::None => "None".into(),
                TypeData::MemRef { .. } => self.tensor(v, op)?,
                _ => self.integer(v, op)?,
            });
        }
        let props = match self.ir.attr_of(op, "properties").map(|a| self.ir.attr(a)) {
            Some(AttrData::Dict(d)) => *d,
            _ => self.ir.empty_dict(),
        };
        let call = external::call(&self.ir, &callee, self.infos.def(&callee), props, &texts);
        let call = call.map_err(|text| self.error(op, text))?;
        let mut targets = Vec::new();
        let mut after = Vec::new();
        for &v in results {
            if matches!(self.ir.ty(self.ir.value_type(v)), TypeData::None) {
                targets.push("_".to_string());
                continue;
            }
            let layout = self.layout_at(v, op)?;
            let root = self.root(v);
            if root == v && self.waiting.remove(&v) {
                // The op makes the memory; if it lies otherwise than it should, it is copied.
                let name = self.vars[&v].clone();
                if !external::lies_in_order(&callee) {
                    self.uses_strided = true;
                    after.push(format!("{name} = strided({name}, {})", self.tuple(&layout.strides)));
                    if !self.written.is_empty() && !external::makes_memory(&callee) {
                        after.push(format!("if {name}.data_ptr() & 15:"));
                        after.push("    index = UNALIGNED".into());
                    }
                }
                targets.push(name);
            } else {
                let name = self.names.fresh("result");
                let into = self.tensor(v, op)?;
                after.push(format!("{into}.copy_({name})"));
                targets.push(name);
            }
        }
        let list = targets.join(", ");
        self.lines.push(if targets.is_empty() { call } else { format!("{list} = {call}") });
        self.lines.append(&mut after);
        Ok(())
    }

    /// Constant data, made once for each device.
    fn constant(&mut self, op: Op) -> Result<(), Diagnostic> {
        let v = self.ir.result(op, 0);
        let layout = self.layout_at(v, op)?;
        let value = kernels::ConstantOp(op).value(&self.ir);
        let elements = dense::elements(&self.ir, value).map_err(|_| self.error(op, "the data cannot be read"))?;
        let function = self.names.fresh("constant");
        let dtype = dtype_name(layout.dtype);
        let items: Vec<String> = elements
            .iter()
            .map(|&bits| {
                let s = rinductor_scalar::Scalar::from_bits(layout.dtype, u128::from(bits as u64));
                if layout.dtype.is_float() { super::body::float_literal(s.to_f64()) } else { s.to_i64().to_string() }
            })
            .collect();
        if layout.dtype.is_complex() {
            return Err(self.error(op, "constants of complex numbers are not written"));
        }
        let (sizes, strides) = (self.tuple(&layout.sizes), self.tuple(&layout.strides));
        let points: usize =
            layout.sizes.iter().filter_map(|&e| self.ir.exprs.as_int(e)).map(|n| n.max(0) as usize).product();
        // One element may stand for all.
        let data = if items.len() == points {
            format!("[{}]", items.join(", "))
        } else {
            format!("[{}] * {points}", items.join(", "))
        };
        self.constants += &format!(
            "\n\n@functools.cache\ndef {function}(device):\n    data = torch.tensor({data}, dtype={dtype}, device=device).reshape({sizes})\n    return torch.empty_strided({sizes}, {strides}, dtype={dtype}, device=device).copy_(data)\n"
        );
        self.vars.insert(v, format!("{function}(device)"));
        Ok(())
    }

    fn returns(&mut self, op: Op) -> Result<(), Diagnostic> {
        let mut list = Vec::new();
        for v in self.ir.operand_list(op) {
            list.push(match self.ir.ty(self.ir.value_type(v)) {
                TypeData::MemRef { .. } => {
                    let root = self.root(v);
                    let constant = self.ir.def_op(root).is_some_and(|d| self.ir.is_op(d, kernels::ConstantOp::NAME));
                    let t = self.tensor(v, op)?;
                    if constant { format!("{t}.clone()") } else { t }
                }
                TypeData::None => "None".into(),
                _ => self.integer(v, op)?,
            });
        }
        let text = if let [one] = &list[..] { format!("({one},)") } else { format!("({})", list.join(", ")) };
        self.lines.push(format!("return {text}"));
        Ok(())
    }

    /// The function that makes random arguments.
    fn arguments(&mut self) -> String {
        let args = self.ir.block_args(self.body()).to_vec();
        let mut symbols: Vec<String> = Vec::new();
        let mut hints: FxHashMap<String, i64> = FxHashMap::default();
        let mut items = Vec::new();
        self.bound.clear();
        for (k, &a) in args.iter().enumerate() {
            if let Some(layout) = self.layout(a) {
                let all = layout.sizes.iter().chain(&layout.strides);
                for e in all.copied().collect::<Vec<_>>() {
                    for atom in self.ir.exprs.atoms(e) {
                        if let Atom::Sym(s) = atom {
                            symbols.push(identifier(self.ir.exprs.sym_name(s)));
                        }
                    }
                }
                let (sizes, strides) = (self.tuple(&layout.sizes), self.tuple(&layout.strides));
                items.push(format!("example({sizes}, {strides}, {}, device),", dtype_name(layout.dtype)));
                continue;
            }
            match symbols::argument_symbol(&mut self.ir, self.func, k) {
                Some(e) => {
                    let hint = symbols::argument_attr(&self.ir, self.func, k, "aten.hint");
                    for atom in self.ir.exprs.atoms(e) {
                        if let Atom::Sym(s) = atom {
                            if let Some(n) = hint.and_then(|a| self.ir.as_int(a))
                                && self.ir.exprs.as_atom(e) == Some(atom)
                            {
                                hints.insert(identifier(self.ir.exprs.sym_name(s)), n);
                            }
                            symbols.push(identifier(self.ir.exprs.sym_name(s)));
                        }
                    }
                    items.push(format!("{},", self.expr(e).text));
                }
                None => items.push("1,".into()),
            }
        }
        let mut seen = FxHashSet::default();
        symbols.retain(|s| seen.insert(s.clone()));
        let sizes: String =
            symbols.iter().map(|s| format!(", {s}={}", hints.get(s).copied().unwrap_or(EXAMPLE_SIZE))).collect();
        let mut text = format!(
            "\n\ndef inputs(device=DEVICE{sizes}):\n    \"\"\"Random arguments of call.\"\"\"\n    torch.manual_seed(0)\n"
        );
        if items.is_empty() {
            return text + "    return []\n";
        }
        text += "    return [\n";
        for item in items {
            text += &format!("        {item}\n");
        }
        text + "    ]\n"
    }
}

/// The function that lays out what an op of torch has made.
const STRIDED: &str = "

def strided(tensor, strides):
    \"\"\"The tensor with these strides: itself, if it has them.\"\"\"
    if tensor.stride() == strides:
        return tensor
    return torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device).copy_(tensor)
";
