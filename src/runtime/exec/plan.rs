//! Reading the host function of the kernel level once, into a flat list of steps.

use crate::dialects::{func, kernels, symbols};
use rinductor_index::{Atom, Expr, Exprs, Range, Ranges, SymId};
use rinductor_scalar::DType;
use rinductor_support::{Diagnostic, FxHashMap};

use super::bounds::Symbolic;
use super::host::HostOps;
use crate::codegen::backend::KernelCode;
use crate::codegen::kernel::{BufferLayout, buffer_layout, dtype_of};
use crate::codegen::sizes;
use crate::ir::{AttrData, Ir, Op, TypeData, Value};
use crate::runtime::{Attr as CallAttr, Attrs, ExternOp, Tensor, extern_op};

/// A number that may depend on symbols: an index into the sizes that a call computes first.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Num {
    /// The same in every call.
    Fixed(i64),
    /// The `n`-th computed size.
    Size(usize),
}

/// What a buffer looks like.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Element type.
    pub dtype: DType,
    /// Sizes.
    pub sizes: Vec<Num>,
    /// Strides, in elements.
    pub strides: Vec<Num>,
    /// Offset from the start of the allocation, in elements.
    pub offset: Num,
}

/// An argument of the function.
#[derive(Clone, Debug)]
pub enum Input {
    /// A tensor for a slot; whether it is written.
    Tensor(usize, Shape, bool),
    /// A symbol's value.
    Symbol(SymId),
}

/// A result of the function.
#[derive(Clone, Debug)]
pub enum Output {
    /// The tensor in a slot.
    Tensor(usize),
    /// A copy of the tensor in a slot: constant data, which stays the plan's.
    Copy(usize),
    /// A number.
    Int(Num),
    /// None.
    Nothing,
}

/// One thing to do.
pub enum Step {
    /// A buffer of its own; `escapes` if it may live longer than the call.
    Alloc { slot: usize, shape: Shape, escapes: bool },
    /// A part of an arena from a byte on.
    Place { slot: usize, shape: Shape, arena: usize, offset: i64 },
    /// A buffer is not needed any more.
    Free { slot: usize },
    /// The same memory seen otherwise.
    View { from: usize, slot: usize, shape: Shape },
    /// Constant data, made when the plan was.
    Constant { slot: usize, tensor: Tensor },
    /// A kernel.
    Launch { kernel: usize, buffers: Vec<usize>, symbols: Vec<Num> },
    /// An extern op; numbers to put into its attributes first: name, place in a list.
    Extern {
        op: &'static ExternOp,
        inputs: Vec<Option<usize>>,
        outputs: Vec<Option<usize>>,
        attrs: Attrs,
        numbers: Vec<(String, Option<usize>, Num)>,
    },
    /// An op that the host computes; the numbers as for an extern op.
    Host {
        name: String,
        inputs: Vec<Operand>,
        outputs: Vec<Option<usize>>,
        attrs: Attrs,
        numbers: Vec<(String, Option<usize>, Num)>,
    },
    /// A copy between buffers.
    Copy { from: usize, to: usize },
}

/// An operand of an op that the host computes.
pub enum Operand {
    /// The tensor in a slot.
    Slot(usize),
    /// A number.
    Int(Num),
    /// None.
    Nothing,
}

/// A function as steps.
pub struct Plan {
    /// How many buffers there are.
    pub slots: usize,
    /// The arguments.
    pub inputs: Vec<Input>,
    /// Names of the arguments, for messages.
    pub input_names: Vec<String>,
    /// The results.
    pub outputs: Vec<Output>,
    /// What to do.
    pub steps: Vec<Step>,
    /// The expressions of the computed sizes.
    pub sizes: Vec<Expr>,
    /// Where expressions live.
    pub exprs: Exprs,
    /// What passes took to hold of the symbols.
    pub facts: Ranges,
    /// The symbols that are bound, by inputs of that size: symbol, argument, dimension.
    pub bindings: Vec<(SymId, usize, usize)>,
    /// Accesses of kernels whose bounds depend on symbols.
    pub accesses: Vec<Symbolic>,
}

struct Planner<'a> {
    ir: &'a Ir,
    code: &'a dyn KernelCode,
    host: Option<&'a dyn HostOps>,
    exprs: Exprs,
    sizes: Vec<Expr>,
    slots: FxHashMap<Value, usize>,
    numbers: FxHashMap<Value, Expr>,
    /// Values that are none.
    nothing: Vec<Value>,
    /// By the number of a kernel: which of its buffers it writes.
    stores: FxHashMap<usize, Vec<bool>>,
    /// The allocation that a slot lies in.
    roots: Vec<usize>,
    steps: Vec<Step>,
}

/// Reads a function of the kernel level.
///
/// # Errors
/// An op that the host has not, a kernel or an extern op that does not exist, a buffer without a known layout.
pub fn plan(ir: &Ir, func: Op, code: &dyn KernelCode, host: Option<&dyn HostOps>) -> Result<Plan, Diagnostic> {
    let (exprs, accesses) = super::bounds::symbolic(ir);
    let mut p = Planner {
        ir,
        code,
        host,
        exprs,
        sizes: Vec::new(),
        slots: FxHashMap::default(),
        numbers: FxHashMap::default(),
        nothing: Vec::new(),
        stores: FxHashMap::default(),
        roots: Vec::new(),
        steps: Vec::new(),
    };
    let body = ir.body(func).ok_or_else(|| p.error(func, "the function must have one block"))?;
    let (mut inputs, mut bindings, mut input_names) = (Vec::new(), Vec::new(), Vec::new());
    let mut own_symbols = Vec::new();
    for (i, &arg) in ir.block_args(body).iter().enumerate() {
        input_names.push(ir.value_name(arg).map_or_else(|| i.to_string(), str::to_string));
        if matches!(ir.ty(ir.value_type(arg)), TypeData::Index) {
            // An argument that is an expression over other symbols only says what the index value is.
            let own = p.exprs.sym_id(&format!("arg{i}"));
            let e = symbols::argument_symbol_in(ir, &mut p.exprs, func, i);
            let e = e.unwrap_or_else(|| p.exprs.atom(Atom::Sym(own)));
            let symbol = if let Some(Atom::Sym(s)) = p.exprs.as_atom(e) { s } else { own };
            p.numbers.insert(arg, e);
            own_symbols.push(own);
            inputs.push(Input::Symbol(symbol));
            continue;
        }
        let layout = p.layout(func, arg)?;
        for (d, &e) in layout.sizes.iter().enumerate() {
            if let Some(Atom::Sym(s)) = p.exprs.as_atom(e) {
                bindings.push((s, i, d));
            }
        }
        let shape = p.shape(&layout);
        let slot = p.slot(arg, None);
        inputs.push(Input::Tensor(slot, shape, false));
    }
    let mut outputs = Vec::new();
    for op in ir.block_op_list(body) {
        if ir.is_op(op, func::ReturnOp::NAME) {
            for v in ir.operand_list(op) {
                outputs.push(p.output(op, v)?);
            }
        } else {
            p.op(op)?;
        }
    }
    // Memory that leaves the function is made anew in every call; inputs that are written are copied back if they had to be copied in.
    let escaping: Vec<usize> =
        outputs.iter().filter_map(|o| if let Output::Tensor(s) = o { Some(p.roots[*s]) } else { None }).collect();
    let mut written = vec![false; p.roots.len()];
    let constants: Vec<usize> =
        p.steps.iter().filter_map(|s| if let Step::Constant { slot, .. } = s { Some(*slot) } else { None }).collect();
    for output in &mut outputs {
        if let Output::Tensor(slot) = *output
            && constants.contains(&p.roots[slot])
        {
            *output = Output::Copy(slot);
        }
    }
    for step in &mut p.steps {
        match step {
            Step::Alloc { slot, escapes, .. } => *escapes = escaping.contains(slot),
            Step::Copy { to, .. } => written[p.roots[*to]] = true,
            Step::Launch { kernel, buffers, .. } => {
                let stores = p.stores.get(kernel).map_or(&[][..], |s| s);
                let stored = buffers.iter().zip(stores).filter(|s| *s.1);
                stored.for_each(|(&b, _)| written[p.roots[b]] = true);
            }
            Step::Extern { outputs, .. } | Step::Host { outputs, .. } => {
                outputs.iter().flatten().for_each(|&b| written[p.roots[b]] = true)
            }
            _ => {}
        }
    }
    for input in &mut inputs {
        if let Input::Tensor(slot, _, w) = input {
            *w = written[*slot];
        }
    }
    let mut facts = symbols::facts_in(ir, &mut p.exprs, func);
    for own in own_symbols {
        facts.set(Atom::Sym(own), Range::ANY);
    }
    Ok(Plan {
        slots: p.roots.len(),
        inputs,
        input_names,
        outputs,
        steps: p.steps,
        sizes: p.sizes,
        facts,
        exprs: p.exprs,
        bindings,
        accesses,
    })
}

impl Planner<'_> {
    fn error(&self, op: Op, message: impl Into<String>) -> Diagnostic {
        let text = format!("'{}': {}", self.ir.op_name(op), message.into());
        Diagnostic::error(self.ir.place(self.ir.op(op).loc), text)
    }

    fn slot(&mut self, value: Value, root: Option<usize>) -> usize {
        let slot = self.roots.len();
        self.roots.push(root.map_or(slot, |r| self.roots[r]));
        self.slots.insert(value, slot);
        slot
    }

    fn slot_of(&self, op: Op, v: Value) -> Result<usize, Diagnostic> {
        self.slots.get(&v).copied().ok_or_else(|| self.error(op, "an operand is no buffer of this function"))
    }

    fn layout(&mut self, op: Op, v: Value) -> Result<BufferLayout, Diagnostic> {
        buffer_layout(self.ir, &mut self.exprs, self.ir.value_type(v))
            .ok_or_else(|| self.error(op, "a buffer whose sizes or strides are not known"))
    }

    fn num(&mut self, e: Expr) -> Num {
        if let Some(n) = self.exprs.as_int(e) {
            return Num::Fixed(n);
        }
        let at = self.sizes.iter().position(|&x| x == e).unwrap_or_else(|| {
            self.sizes.push(e);
            self.sizes.len() - 1
        });
        Num::Size(at)
    }

    fn shape(&mut self, layout: &BufferLayout) -> Shape {
        Shape {
            dtype: layout.dtype,
            sizes: layout.sizes.iter().map(|&e| self.num(e)).collect(),
            strides: layout.strides.iter().map(|&e| self.num(e)).collect(),
            offset: self.num(layout.offset),
        }
    }

    fn output(&mut self, op: Op, v: Value) -> Result<Output, Diagnostic> {
        if let Some(&e) = self.numbers.get(&v) {
            return Ok(Output::Int(self.num(e)));
        }
        if self.nothing.contains(&v) {
            return Ok(Output::Nothing);
        }
        Ok(Output::Tensor(self.slot_of(op, v)?))
    }

    fn op(&mut self, op: Op) -> Result<(), Diagnostic> {
        let ir = self.ir;
        match ir.op_name(op) {
            kernels::AllocOp::NAME => {
                let result = ir.result(op, 0);
                let layout = self.layout(op, result)?;
                let shape = self.shape(&layout);
                let alloc = kernels::AllocOp(op);
                let Some(arena) = alloc.arena(ir) else {
                    let slot = self.slot(result, None);
                    self.steps.push(Step::Alloc { slot, shape, escapes: false });
                    return Ok(());
                };
                let arena = self.slot_of(op, arena)?;
                let offset = alloc.offset(ir).filter(|&o| o >= 0);
                let offset = offset.ok_or_else(|| self.error(op, "a place in an arena needs an offset"))?;
                // A place is memory of its own: that it is in an arena concerns the arena alone.
                let slot = self.slot(result, None);
                self.steps.push(Step::Place { slot, shape, arena, offset });
            }
            kernels::DeallocOp::NAME => {
                let slot = self.slot_of(op, kernels::DeallocOp(op).buffer(ir))?;
                self.steps.push(Step::Free { slot });
            }
            kernels::ViewOp::NAME => {
                let from = self.slot_of(op, kernels::ViewOp(op).source(ir))?;
                let result = ir.result(op, 0);
                let layout = self.layout(op, result)?;
                let shape = self.shape(&layout);
                let slot = self.slot(result, Some(from));
                self.steps.push(Step::View { from, slot, shape });
            }
            kernels::ConstantOp::NAME => {
                let result = ir.result(op, 0);
                let tensor = super::constant::tensor(ir, op).map_err(|e| self.error(op, e))?;
                let slot = self.slot(result, None);
                self.steps.push(Step::Constant { slot, tensor });
            }
            kernels::LaunchOp::NAME => self.launch(op)?,
            kernels::ExternOp::NAME => self.external(op)?,
            kernels::CopyOp::NAME => {
                let copy = kernels::CopyOp(op);
                let (from, to) = (self.slot_of(op, copy.from(ir))?, self.slot_of(op, copy.into(ir))?);
                self.steps.push(Step::Copy { from, to });
            }
            kernels::NoneOp::NAME => self.nothing.push(ir.result(op, 0)),
            _ => {
                let number = sizes::number(ir, &mut self.exprs, &self.numbers, op);
                let e = number.unwrap_or(Err("no op of the host function")).map_err(|m| self.error(op, m))?;
                self.numbers.insert(ir.result(op, 0), e);
            }
        }
        Ok(())
    }

    fn launch(&mut self, op: Op) -> Result<(), Diagnostic> {
        let ir = self.ir;
        let launch = kernels::LaunchOp(op);
        let name = launch.callee(ir);
        let kernel = self.code.find(name).ok_or_else(|| self.error(op, format!("there is no kernel @{name}")))?;
        let (mut buffers, mut symbols) = (Vec::new(), Vec::new());
        for v in launch.args(ir) {
            match self.numbers.get(&v).copied() {
                Some(e) => symbols.push(self.num(e)),
                None => buffers.push(self.slot_of(op, v)?),
            }
        }
        self.stores.entry(kernel).or_insert_with(|| stores(ir, name));
        self.steps.push(Step::Launch { kernel, buffers, symbols });
        Ok(())
    }

    fn external(&mut self, op: Op) -> Result<(), Diagnostic> {
        let ir = self.ir;
        let external = kernels::ExternOp(op);
        let name = external.callee(ir);
        let native = extern_op(name);
        let by_host = self.host.is_some_and(|h| h.computes(name, native.is_some()));
        if native.is_none() && !by_host {
            return Err(self
                .error(op, format!("there is no extern op {name} to run standalone"))
                .help("run the graph under torch, which has it"));
        }
        let operands = external.args(ir);
        let outs = usize::try_from(external.outs(ir)).unwrap_or(0);
        let outs = outs.min(operands.len());
        let (ins, outs) = operands.split_at(operands.len() - outs);
        let mut inputs = Vec::new();
        for &v in ins {
            inputs.push(if let Some(&e) = self.numbers.get(&v) {
                Operand::Int(self.num(e))
            } else if self.nothing.contains(&v) {
                Operand::Nothing
            } else {
                Operand::Slot(self.slot_of(op, v)?)
            });
        }
        // A result that is none is not computed.
        let output = |v: &Value| if self.nothing.contains(v) { Ok(None) } else { self.slot_of(op, *v).map(Some) };
        let outputs: Result<Vec<_>, _> = outs.iter().map(output).collect();
        let outputs = outputs?;
        let mut attrs = Attrs::new();
        // The places in lists that symbolic integers fill: they follow as operands.
        let mut places = Vec::new();
        for &(key, attr) in ir.dict(external.properties(ir)) {
            let key = ir.text(key);
            if key == "operandSegmentSizes" && !by_host {
                continue;
            }
            let value = call_attr(ir, attr)
                .ok_or_else(|| self.error(op, format!("the extern op takes no such value for {key}")))?;
            if let CallAttr::Ints(list) = &value {
                let symbolic = list.iter().enumerate().filter(|&(_, &n)| n == i64::MIN);
                places.extend(symbolic.map(|(k, _)| (key.to_string(), k)));
            }
            attrs.set(key, value);
        }
        let ints = inputs.iter().filter_map(|i| if let Operand::Int(n) = i { Some(*n) } else { None });
        let ints: Vec<Num> = ints.collect();
        if ints.len() < places.len() {
            let name = &places[ints.len()].0;
            return Err(self.error(op, format!("too few sizes for {name}")));
        }
        if ints.len() > places.len() && !(by_host && places.is_empty()) {
            return Err(
                self.error(op, format!("{name} takes a symbolic integer outside of a list: not supported by the host"))
            );
        }
        if !places.is_empty() {
            inputs.retain(|i| !matches!(i, Operand::Int(_)));
        }
        let numbers = places.into_iter().zip(ints).map(|((key, k), n)| (key, Some(k), n)).collect();
        self.steps.push(match native {
            Some(native) if !by_host => {
                let slot = |i| if let Operand::Slot(slot) = i { Some(slot) } else { None };
                let inputs = inputs.into_iter().map(slot).collect();
                Step::Extern { op: native, inputs, outputs, attrs, numbers }
            }
            _ => Step::Host { name: name.to_string(), inputs, outputs, attrs, numbers },
        });
        Ok(())
    }
}

/// Which buffers a kernel writes.
fn stores(ir: &Ir, kernel: &str) -> Vec<bool> {
    let Some(func) = ir.lookup_symbol(kernel) else { return Vec::new() };
    let args = ir.body(func).map_or(&[][..], |b| ir.block_args(b));
    let written = args.iter().zip(kernels::written(ir, func));
    written.filter(|(a, _)| matches!(ir.ty(ir.value_type(**a)), TypeData::MemRef { .. })).map(|(_, w)| w).collect()
}

/// A property as an attribute of an extern call.
fn call_attr(ir: &Ir, attr: crate::ir::Attr) -> Option<CallAttr> {
    Some(match ir.attr(attr) {
        AttrData::Bool(b) => CallAttr::Bool(*b),
        AttrData::Integer { value, .. } => CallAttr::Int(*value),
        AttrData::Float { bits, ty } => {
            CallAttr::Float(crate::codegen::literal::float_of_bits(dtype_of(ir, *ty)?, *bits))
        }
        AttrData::String(_) => CallAttr::Str(ir.as_str(attr)?.to_string()),
        AttrData::Type(t) => CallAttr::DType(dtype_of(ir, *t)?),
        AttrData::Unit => CallAttr::Bool(true),
        AttrData::DenseArray { element, values } => match dtype_of(ir, *element)? {
            DType::I1 => CallAttr::Bools(values.iter().map(|&v| v != 0).collect()),
            d if d.is_float() => {
                CallAttr::Floats(values.iter().map(|&v| crate::codegen::literal::float_of_bits(d, v as u64)).collect())
            }
            _ => CallAttr::Ints(values.to_vec()),
        },
        AttrData::Array(items) if items.is_empty() => CallAttr::Ints(Vec::new()),
        AttrData::Array(_) => CallAttr::Ints(ir.as_ints(attr)?),
        _ => return None,
    })
}
