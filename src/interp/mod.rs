//! The reference interpreter: what each level means. It runs graphs by the definitions of dialect files, loop nests point by point, and kernels
//! tile by tile; no pass, scheduler or code generator is involved, so that comparing what is before a pass with what is after it says something.
//!
//! Extern ops (matmul, convolution, …) are called through [`Externs`].

pub mod fold;
mod kernel;
mod nest;
pub mod program;
pub mod rounding;
pub mod value;

use crate::dialects::infos::OpInfos;
use crate::dialects::instance::{Call, instance_of_call};
use crate::dialects::library::verify_call;
use crate::dialects::loops::{sizes_of, strides_of};
use crate::dialects::{aten, func, kernels, loops, sym};
use crate::dialects::{dtype_of, symbols};
use crate::ir::{Attr, AttrData, Ir, Loc, Op, TypeData, Value};
use crate::support::Diagnostic;
use rinductor_defs::{Arg, Number, OpDef};
use rinductor_index::{Atom, Expr, SymId};
use rinductor_scalar::{DType, Scalar};
use rinductor_support::FxHashMap;
use rounding::Rounding;
use value::Array;

/// Why a run stopped.
#[derive(Clone, Debug)]
pub struct Trap {
    /// What happened.
    pub message: String,
    /// At which op, once it is known.
    pub loc: Option<Loc>,
}

impl Trap {
    /// A trap at a place that the caller knows.
    pub fn new(message: impl Into<String>) -> Trap {
        Trap { message: message.into(), loc: None }
    }
    /// A trap at an op.
    pub fn at(ir: &Ir, op: Op, message: &str) -> Trap {
        Trap { message: format!("'{}' {message}", ir.op_name(op)), loc: Some(ir.op(op).loc) }
    }
    /// The trap, at an op if it has no place yet.
    #[must_use]
    pub fn or_at(self, ir: &Ir, op: Op) -> Trap {
        if self.loc.is_some() {
            return self;
        }
        Trap { message: format!("'{}': {}", ir.op_name(op), self.message), loc: Some(ir.op(op).loc) }
    }
}

/// An argument of an extern op that is no tensor.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // the variants are the kinds of arguments that a schema has
pub enum ExternArg {
    Int(i64),
    Float(f64),
    Bool(bool),
    Str(String),
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    Bools(Vec<bool>),
    DType(DType),
}

/// A call of an extern op.
#[derive(Clone, Debug)]
pub struct ExternCall {
    /// The op's name.
    pub name: String,
    /// One for each tensor argument of its schema, in order, lists flattened.
    pub tensors: Vec<Option<Array>>,
    /// The other arguments by name.
    pub args: Vec<(String, ExternArg)>,
    /// Dtype, sizes and strides of each result.
    pub results: Vec<(DType, Vec<i64>, Vec<i64>)>,
}

/// Extern ops.
pub trait Externs {
    /// Runs one.
    ///
    /// # Errors
    /// There is no such op, or it fails: a sentence.
    fn call(&self, call: &ExternCall) -> Result<Vec<Array>, String>;
}

/// What a function is called with.
#[derive(Clone, Debug)]
pub enum Input {
    /// A tensor.
    Tensor(Array),
    /// A symbolic integer.
    Int(i64),
}

/// What a function returns.
#[derive(Clone, Debug)]
pub enum Output {
    /// A tensor.
    Tensor(Array),
    /// An integer.
    Int(i64),
    /// None.
    None,
}

/// A run of one function.
pub struct Interp<'a> {
    ir: Ir,
    definitions: &'a dyn OpInfos,
    externs: &'a dyn Externs,
    arrays: FxHashMap<Value, Array>,
    numbers: FxHashMap<Value, i64>,
    symbols: FxHashMap<SymId, i64>,
    setting: rinductor_defs::Setting<'static>,
    rounding: Option<Rounding>,
}

/// Runs a function of a module. Mutated inputs (`aten.copy_`) are mutated in the arrays that are passed.
///
/// # Errors
/// Inputs that do not fit, an op without meaning, or what stops a run: an index out of range, a division by zero.
pub fn run(
    ir: &Ir,
    func: Op,
    inputs: &[Input],
    definitions: &dyn OpInfos,
    externs: &dyn Externs,
) -> Result<Vec<Output>, Diagnostic> {
    run_rounding(ir, func, inputs, definitions, externs, None)
}

/// Runs a function of the graph or loop level as [`run`] does, with the errors of a random rounding.
///
/// # Errors
/// As [`run`].
pub fn run_rounding(
    ir: &Ir,
    func: Op,
    inputs: &[Input],
    definitions: &dyn OpInfos,
    externs: &dyn Externs,
    rounding: Option<Rounding>,
) -> Result<Vec<Output>, Diagnostic> {
    let mut interp = Interp {
        ir: ir.clone(),
        definitions,
        externs,
        arrays: FxHashMap::default(),
        numbers: FxHashMap::default(),
        symbols: FxHashMap::default(),
        setting: rinductor_defs::Setting::default(),
        rounding,
    };
    interp.setting.facts = symbols::facts(&mut interp.ir, func);
    interp.function(func, inputs).map_err(|t| {
        let place = t.loc.map(|l| ir.place(l)).unwrap_or_default();
        Diagnostic::error(place, t.message)
    })
}

impl Interp<'_> {
    fn function(&mut self, func: Op, inputs: &[Input]) -> Result<Vec<Output>, Trap> {
        let body = self.ir.body(func).ok_or_else(|| Trap::at(&self.ir, func, "has no body of one block"))?;
        let args = self.ir.block_args(body).to_vec();
        if args.len() != inputs.len() {
            return Err(Trap::at(&self.ir, func, &format!("takes {} arguments, not {}", args.len(), inputs.len())));
        }
        for (k, (&arg, input)) in args.iter().zip(inputs).enumerate() {
            match input {
                Input::Int(n) => {
                    self.numbers.insert(arg, *n);
                    if let Some(e) = symbols::argument_symbol(&mut self.ir, func, k) {
                        self.bind_symbol(e, *n);
                    }
                }
                Input::Tensor(a) => self.argument(func, k, arg, a)?,
            }
        }
        // A size that is a symbol by itself binds it; any other must agree.
        for (k, (&arg, input)) in args.iter().zip(inputs).enumerate() {
            if let Input::Tensor(a) = input {
                let ty = self.ir.value_type(arg);
                let sizes = sizes_of(&mut self.ir, ty).unwrap_or_default();
                for (d, (&e, &n)) in sizes.iter().zip(&a.sizes).enumerate() {
                    self.bind_symbol(e, n);
                    if self.size(e)? != n {
                        let text =
                            format!("argument {k}: size {d} is {n}, where its type says {}", self.ir.exprs.display(e));
                        return Err(Trap::at(&self.ir, func, &text));
                    }
                }
            }
        }
        self.admit(func)?;
        for op in self.ir.block_op_list(body) {
            if self.ir.is_op(op, func::ReturnOp::NAME) {
                return self.ir.operand_list(op).into_iter().map(|v| self.output(op, v)).collect();
            }
            self.op(op)?;
        }
        Err(Trap::at(&self.ir, func, "ends without func.return"))
    }

    /// Checks the symbols of this call: that they are what passes may take them to be, and that the ops can be computed at these sizes.
    fn admit(&mut self, func: Op) -> Result<(), Trap> {
        let mut bound: Vec<(SymId, i64)> = self.symbols.iter().map(|(&s, &n)| (s, n)).collect();
        bound.sort_unstable();
        for (symbol, n) in bound {
            symbols::admit(&self.setting.facts, &self.ir.exprs, symbol, n).map_err(|e| Trap::at(&self.ir, func, &e))?;
        }
        let (definitions, values) = (self.definitions, &self.symbols);
        let def = |name: &str| definitions.def(name);
        let wrong = verify_call(&def, &mut self.ir, func, &|s| values.get(&s).copied());
        match wrong.into_iter().next() {
            Some((op, d)) => Err(Trap { message: d.message, loc: Some(self.ir.op(op).loc) }),
            None => Ok(()),
        }
    }

    fn argument(&mut self, func: Op, k: usize, arg: Value, a: &Array) -> Result<(), Trap> {
        let ty = self.ir.value_type(arg);
        let dtype = dtype_of(&self.ir, self.ir.element_type(ty));
        let rank = self.ir.shape(ty).map(<[i64]>::len);
        if dtype != Some(a.dtype) || rank != Some(a.sizes.len()) {
            let text =
                format!("argument {k} is a tensor of {} and rank {}, which its type is not", a.dtype, a.sizes.len());
            return Err(Trap::at(&self.ir, func, &text));
        }
        self.arrays.insert(arg, a.clone());
        Ok(())
    }

    fn bind_symbol(&mut self, e: Expr, n: i64) {
        if let Some(Atom::Sym(id)) = self.ir.exprs.as_atom(e) {
            self.symbols.entry(id).or_insert(n);
        }
    }

    fn symbol(&self, atom: Atom) -> Option<i64> {
        match atom {
            Atom::Sym(id) => self.symbols.get(&id).copied(),
            Atom::Dim(_) => None,
        }
    }

    /// The value of an expression over symbols.
    pub(crate) fn size(&self, e: Expr) -> Result<i64, Trap> {
        self.ir
            .exprs
            .eval(e, |a| self.symbol(a))
            .map_err(|err| Trap::new(format!("the size {}: {err}", self.ir.exprs.display(e))))
    }

    pub(crate) fn tensor(&self, v: Value) -> Result<Array, Trap> {
        self.arrays.get(&v).cloned().ok_or_else(|| {
            let name = self.ir.value_name(v).unwrap_or("a value");
            Trap::new(format!("%{name} has no tensor"))
        })
    }

    pub(crate) fn bind(&mut self, v: Value, a: Array) {
        self.arrays.insert(v, a);
    }

    pub(crate) fn result_dtypes(&self, op: Op) -> Result<Vec<DType>, Trap> {
        self.ir
            .results(op)
            .map(|r| {
                let element = self.ir.element_type(self.ir.value_type(r));
                dtype_of(&self.ir, element).ok_or_else(|| Trap::at(&self.ir, op, "has a result that is no tensor"))
            })
            .collect()
    }

    fn output(&mut self, op: Op, v: Value) -> Result<Output, Trap> {
        if let Some(a) = self.arrays.get(&v).cloned() {
            return Ok(Output::Tensor(self.laid_out(v, a)?));
        }
        if let Some(n) = self.numbers.get(&v) {
            return Ok(Output::Int(*n));
        }
        match self.ir.ty(self.ir.value_type(v)) {
            TypeData::None => Ok(Output::None),
            _ => Err(Trap::at(&self.ir, op, "returns what has no value")),
        }
    }

    /// A returned tensor has the strides that its type says; a buffer has its own already.
    fn laid_out(&mut self, v: Value, a: Array) -> Result<Array, Trap> {
        let ty = self.ir.value_type(v);
        if !matches!(self.ir.ty(ty), TypeData::Tensor { .. }) {
            return Ok(a);
        }
        let Some((strides, _)) = strides_of(&mut self.ir, ty) else { return Ok(a) };
        let strides = self.sizes(&strides)?;
        if strides == a.strides {
            return Ok(a);
        }
        let out = Array::with_strides(a.dtype, &a.sizes, &strides).ok_or_else(|| Trap::new("a result is too large"))?;
        copy(&a, &out)?;
        Ok(out)
    }

    fn op(&mut self, op: Op) -> Result<(), Trap> {
        let name = self.ir.op_name(op).to_string();
        match name.as_str() {
            aten::NoneOp::NAME | kernels::NoneOp::NAME => Ok(()),
            aten::ConstantOp::NAME => self.constant(op, aten::ConstantOp(op).value(&self.ir)),
            aten::CopyOp::NAME => self.copy_into(op),
            loops::FusionOp::NAME => self.fusion(op),
            loops::SizeOp::NAME => self.one_size(op, loops::SizeOp(op).map(&self.ir).first().copied()),
            kernels::SizeOp::NAME => self.one_size(op, kernels::SizeOp(op).map(&self.ir).first().copied()),
            loops::PointwiseOp::NAME
            | loops::ReduceOp::NAME
            | loops::ScanOp::NAME
            | loops::SortOp::NAME
            | loops::ScatterOp::NAME => self.run_nest(op),
            kernels::ExternOp::NAME => self.call(op),
            _ if name.starts_with("kernels.") => self.kernel_op(op, &name).map_err(|t| t.or_at(&self.ir, op)),
            _ if name.starts_with("arith.") || name.starts_with("sym.") || name.starts_with("aten.sym_") => {
                self.number(op, &name)
            }
            _ => self.call(op),
        }
    }

    /// An op whose result is the value of a size expression.
    fn one_size(&mut self, op: Op, e: Option<Expr>) -> Result<(), Trap> {
        let n = self.size(e.ok_or_else(|| Trap::at(&self.ir, op, "has no expression"))?)?;
        self.numbers.insert(self.ir.result(op, 0), n);
        Ok(())
    }

    fn constant(&mut self, op: Op, attr: Attr) -> Result<(), Trap> {
        let AttrData::Dense { ty, .. } = *self.ir.attr(attr) else {
            return Err(Trap::at(&self.ir, op, "has a value that is no dense<…>"));
        };
        let bits = crate::text::dense::elements(&self.ir, attr).map_err(|e| Trap::at(&self.ir, op, &e))?;
        let dtype = self.result_dtypes(op)?[0];
        let sizes = self.ir.shape(ty).unwrap_or_default().to_vec();
        let a = Array::zeros(dtype, &sizes).ok_or_else(|| Trap::at(&self.ir, op, "is too large"))?;
        let mut k = 0;
        value::for_each_point(&sizes, |i| {
            // A splat has one element for all.
            let b = if bits.len() == 1 { bits[0] } else { bits.get(k).copied().unwrap_or(0) };
            k += 1;
            a.set(i, Scalar::from_bits(dtype, u128::from(b as u64)))
        });
        self.bind(self.ir.result(op, 0), a);
        Ok(())
    }

    fn copy_into(&mut self, op: Op) -> Result<(), Trap> {
        let (dst, src) = (self.tensor(self.ir.operand(op, 0))?, self.tensor(self.ir.operand(op, 1))?);
        copy(&src, &dst).map_err(|t| t.or_at(&self.ir, op))?;
        for r in self.ir.results(op) {
            self.bind(r, dst.clone());
        }
        Ok(())
    }

    fn fusion(&mut self, op: Op) -> Result<(), Trap> {
        let body = self.ir.body(op).ok_or_else(|| Trap::at(&self.ir, op, "has no body"))?;
        for inner in self.ir.block_op_list(body) {
            if self.ir.is_op(inner, loops::ReturnOp::NAME) {
                for (r, v) in self.ir.results(op).zip(self.ir.operand_list(inner)) {
                    let a = self.tensor(v)?;
                    self.bind(r, a);
                }
            } else {
                self.op(inner)?;
            }
        }
        Ok(())
    }

    /// Scalar ops between tensor ops: sizes, and numbers made of sizes (kept as tensors without dimensions).
    fn number(&mut self, op: Op, name: &str) -> Result<(), Trap> {
        let result = self.ir.result(op, 0);
        if matches!(self.ir.ty(self.ir.value_type(result)), TypeData::Index)
            && let Some(e) = symbols::expr_of(&mut self.ir, result)
        {
            let n = self.size(e)?;
            self.numbers.insert(result, n);
            return Ok(());
        }
        let operand = |this: &Self, v: Value| -> Result<Scalar, Trap> {
            if let Some(n) = this.numbers.get(&v) {
                return Ok(Scalar::i64(*n));
            }
            this.tensor(v)?.get(&[]).ok_or_else(|| Trap::at(&this.ir, op, "has a tensor as an operand"))
        };
        let args = self.ir.operand_list(op).iter().map(|&v| operand(self, v)).collect::<Result<Vec<_>, _>>()?;
        let float = |k: usize| args.get(k).map_or(0.0, |a| a.to_f64());
        let value = match name {
            sym::TruedivOp::NAME => Scalar::f64(float(0) / float(1)),
            sym::AddOp::NAME => Scalar::f64(float(0) + float(1)),
            sym::SubOp::NAME => Scalar::f64(float(0) - float(1)),
            sym::MulOp::NAME => Scalar::f64(float(0) * float(1)),
            sym::NegOp::NAME => Scalar::f64(-float(0)),
            sym::PowOp::NAME => Scalar::f64(float(0).powf(float(1))),
            sym::SymSqrtOp::NAME => Scalar::f64(float(0).sqrt()),
            sym::SymFloatOp::NAME => Scalar::f64(float(0)),
            _ => {
                let numbers: Vec<usize> = (0..args.len()).collect();
                match program::scalar_instr(&self.ir, op, numbers)? {
                    program::Instr::Const(s) => s,
                    program::Instr::Op(s, dtype, _) => {
                        rinductor_scalar::eval(s, dtype, &args).map_err(|e| Trap::at(&self.ir, op, &e.to_string()))?
                    }
                    _ => return Err(Trap::at(&self.ir, op, "has no meaning between tensors")),
                }
            }
        };
        if value.dtype() == DType::Index {
            self.numbers.insert(result, value.to_i64());
        } else {
            self.bind(result, Array::scalar(value));
        }
        Ok(())
    }

    /// An op by its definition, else an extern op.
    fn call(&mut self, op: Op) -> Result<(), Trap> {
        let call = Call::of(&self.ir, op);
        let trap = |d: Diagnostic, ir: &Ir| Trap { message: d.message, loc: Some(ir.op(op).loc) };
        let def = self.definitions.def(&call.name).ok_or_else(|| Trap {
            message: format!("'{}' is not declared in any dialect file", call.name),
            loc: Some(self.ir.op(op).loc),
        })?;
        let instance = instance_of_call(&mut self.ir, &call, def).map_err(|d| trap(d, &self.ir))?;
        let results = if def.semantics.is_empty() || self.ir.is_op(op, kernels::ExternOp::NAME) {
            let mut extern_call = self.extern_call(&call, &instance.args, def)?;
            if let Some(rounding) = &self.rounding {
                for t in extern_call.tensors.iter_mut().flatten() {
                    *t = rounding.moved_array(t);
                }
            }
            self.externs
                .call(&extern_call)
                .map_err(|e| Trap { message: format!("'{}': {e}", call.name), loc: Some(self.ir.op(op).loc) })?
        } else {
            let semantics = rinductor_defs::instantiate(def, &instance, &mut self.ir.exprs, &self.setting)
                .map_err(|e| Trap { message: format!("'{}': {e}", call.name), loc: Some(self.ir.op(op).loc) })?;
            let operands: Vec<Option<Array>> = call.operands.iter().map(|v| self.arrays.get(v).cloned()).collect();
            self.run_definition(&semantics, &operands).map_err(|t| t.or_at(&self.ir, op))?
        };
        if results.len() < call.results.len() {
            return Err(Trap::at(&self.ir, op, "gave fewer results than it has"));
        }
        for (&r, a) in call.results.iter().zip(results) {
            if matches!(self.ir.ty(self.ir.value_type(r)), TypeData::None) {
                continue;
            }
            if self.ir.is_op(op, kernels::ExternOp::NAME) {
                let out = self.tensor(r)?;
                copy(&a, &out).map_err(|t| t.or_at(&self.ir, op))?;
            } else if matches!(self.ir.ty(self.ir.value_type(r)), TypeData::Index) {
                self.numbers.insert(r, a.get(&[]).map_or(0, |s| s.to_i64()));
            } else {
                self.bind(r, a);
            }
        }
        Ok(())
    }

    fn extern_call(&mut self, call: &Call, args: &[Arg], def: &OpDef) -> Result<ExternCall, Trap> {
        let rinductor_defs::Signature::Schema(sig) = &def.signature else {
            return Err(Trap::at(&self.ir, call.op, "is no schema op, and has no semantics"));
        };
        let mut out =
            ExternCall { name: call.name.clone(), tensors: Vec::new(), args: Vec::new(), results: Vec::new() };
        for (param, arg) in sig.params.iter().zip(args) {
            let name = param.name.text.to_string();
            let number = |this: &Self, n: &Number| -> Result<ExternArg, Trap> {
                Ok(match *n {
                    Number::Int(e) => ExternArg::Int(this.size(e)?),
                    Number::Float(x) => ExternArg::Float(x),
                    Number::Bool(b) => ExternArg::Bool(b),
                })
            };
            match arg {
                Arg::Tensor(t) => out.tensors.push(Some(self.tensor(call.operands[t.operand])?)),
                Arg::Tensors(list) => {
                    for t in list {
                        out.tensors.push(match t {
                            Some(t) => Some(self.tensor(call.operands[t.operand])?),
                            None => None,
                        });
                    }
                }
                Arg::Absent | Arg::None if param.ty.is_tensor() => {
                    if !param.ty.list {
                        out.tensors.push(None);
                    }
                }
                Arg::Absent | Arg::None => {}
                Arg::Number(n) => out.args.push((name, number(self, n)?)),
                Arg::Ints(list) => {
                    let list = list.iter().map(|&e| self.size(e)).collect::<Result<Vec<_>, _>>()?;
                    out.args.push((name, ExternArg::Ints(list)));
                }
                Arg::Numbers(list) => {
                    let list = list.iter().map(|n| number(self, n)).collect::<Result<Vec<_>, _>>()?;
                    let bools: Vec<bool> =
                        list.iter().filter_map(|a| if let ExternArg::Bool(b) = a { Some(*b) } else { None }).collect();
                    let floats = list.iter().map(|a| match a {
                        ExternArg::Float(x) => *x,
                        ExternArg::Int(n) => *n as f64,
                        _ => 0.0,
                    });
                    out.args.push((
                        name,
                        if bools.len() == list.len() {
                            ExternArg::Bools(bools)
                        } else {
                            ExternArg::Floats(floats.collect())
                        },
                    ));
                }
                Arg::Str(s) => out.args.push((name, ExternArg::Str(s.to_string()))),
                Arg::Strs(_) => {}
                Arg::DType(d) => out.args.push((name, ExternArg::DType(*d))),
            }
        }
        for &r in &call.results {
            let ty = self.ir.value_type(r);
            let dtype = dtype_of(&self.ir, self.ir.element_type(ty)).unwrap_or(DType::I64);
            let sizes = sizes_of(&mut self.ir, ty).unwrap_or_default();
            let strides = strides_of(&mut self.ir, ty).map(|s| s.0).unwrap_or_default();
            out.results.push((dtype, self.sizes(&sizes)?, self.sizes(&strides)?));
        }
        Ok(out)
    }
}

/// Copies the elements of a tensor into another of the same sizes.
pub(crate) fn copy(from: &Array, to: &Array) -> Result<(), Trap> {
    if from.sizes != to.sizes {
        return Err(Trap::new(format!("copies a tensor of sizes {:?} into one of {:?}", from.sizes, to.sizes)));
    }
    let values = from.elements();
    let mut k = 0;
    value::for_each_point(&to.sizes, |i| {
        k += 1;
        values.get(k - 1).is_some_and(|&v| to.set(i, v))
    });
    Ok(())
}
