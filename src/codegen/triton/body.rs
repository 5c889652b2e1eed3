//! The ops of a kernel: each on the line at which its operands are known first, equal ones once.

use rinductor_index::Expr;
use rinductor_scalar::{DType, ScalarOp, from_ir};
use rinductor_support::Diagnostic;

use super::kernel::{Emit, Val};
use super::scalar::{self, Arg};
use crate::codegen::kernel::{dtype_of, index_map};
use crate::codegen::literal;
use crate::dialects::kernels;
use crate::ir::{Block, Op, TypeData, Value};

impl Emit<'_> {
    /// The ops of a block up to its terminator.
    pub fn block(&mut self, block: Block) -> Result<(), Diagnostic> {
        for op in self.ir.block_op_list(block) {
            self.op(op)?;
        }
        Ok(())
    }

    /// The element type of a value.
    pub fn dtype(&self, v: Value) -> DType {
        dtype_of(self.ir, self.ir.element_type(self.ir.value_type(v))).unwrap_or(DType::I64)
    }

    /// What a value is: a variable, a number, or an index expression written out.
    pub fn get(&mut self, v: Value) -> Val {
        if let Some(val) = self.env.get(&v) {
            return val.clone();
        }
        match self.index.get(&v).copied() {
            Some(e) => self.index_value(e, DType::Index),
            None => unreachable!("verified IR defines values before they are used"),
        }
    }

    /// An index expression as a value.
    fn index_value(&mut self, e: Expr, dtype: DType) -> Val {
        let (dims, level) = self.extent_of(e);
        if let Some(n) = self.exprs.as_int(e) {
            return Val { text: n.to_string(), literal: true, dtype, dims: 0, level: 0 };
        }
        let t = self.text(e);
        Val { text: t.tight(), literal: false, dtype, dims, level }
    }

    /// Gives a result a variable, or the one that has its value already.
    pub fn define(&mut self, result: Value, text: String, dtype: DType, dims: u32, level: usize) -> Val {
        if text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            // A variable already.
            let v = Val { text, literal: false, dtype, dims, level };
            self.env.insert(result, v.clone());
            return v;
        }
        let key = format!("{dtype} {text}");
        if let Some(v) = self.scopes[level].memo.get(&key).cloned() {
            self.env.insert(result, v.clone());
            return v;
        }
        let v = self.define_new(result, text, dtype, dims, level);
        self.scopes[level].memo.insert(key, v.clone());
        v
    }

    /// Gives a result a variable.
    pub fn define_new(&mut self, result: Value, text: String, dtype: DType, dims: u32, level: usize) -> Val {
        let hint = self.ir.value_name(result).unwrap_or("t").to_string();
        let name = self.names.fresh(&hint);
        let note = self.note(result);
        self.line_at(level, format!("{name} = {text}{note}"));
        let v = Val { text: name, literal: false, dtype, dims, level };
        self.env.insert(result, v.clone());
        v
    }

    /// The source line of a result as a comment, where it changes.
    fn note(&mut self, result: Value) -> String {
        let Some(op) = self.ir.def_op(result) else { return String::new() };
        let Some(line) = self.source_line(self.ir.op(op).loc) else { return String::new() };
        if self.last_line.as_deref() == Some(line.as_str()) {
            return String::new();
        }
        let note = format!("  # {line}");
        self.last_line = Some(line);
        note
    }

    /// One op.
    pub fn op(&mut self, op: Op) -> Result<(), Diagnostic> {
        let name = self.ir.op_name(op);
        match name {
            kernels::ReturnOp::NAME | kernels::YieldOp::NAME => Ok(()),
            kernels::StoreOp::NAME => self.store(op),
            kernels::AtomicOp::NAME => self.atomic(op),
            kernels::ReduceOp::NAME => self.reduce(op),
            kernels::ForOp::NAME => self.walk(op),
            kernels::LoadOp::NAME => self.load(op),
            kernels::PositionOp::NAME => self.check(op),
            kernels::LocalOp::NAME => Err(self.error(op, "memory of a step has no form in Triton")),
            kernels::AxisOp::NAME => {
                let axis = self.kernel.axis(kernels::AxisOp(op).axis(self.ir));
                let axis = axis.ok_or_else(|| self.error(op, "no such axis"))?;
                let alone = self.exprs.as_int(self.kernel.axes[axis].extent) == Some(1) && self.axes[axis].tile == 1;
                let e = if alone { self.exprs.int(0) } else { self.exprs.dim(axis as u32) };
                self.index.insert(self.ir.result(op, 0), e);
                Ok(())
            }
            kernels::IndexOp::NAME => {
                let e = self.mapped(op, 0).and_then(|m| m.first().copied());
                let e = e.ok_or_else(|| self.error(op, "no index expression"))?;
                let result = self.ir.result(op, 0);
                self.index.insert(result, e);
                let v = self.index_value(e, DType::I64);
                if v.literal {
                    self.env.insert(result, v);
                } else {
                    let t = if self.is_narrow(e) { self.text(e) } else { self.wide_text(e) };
                    // What does not vary may be a number of Python.
                    let text = if v.dims == 0 {
                        format!("tl.cast({}, tl.int64)", t.text)
                    } else {
                        format!("{}.to(tl.int64)", t.tight())
                    };
                    self.define(result, text, DType::I64, v.dims, v.level);
                }
                Ok(())
            }
            kernels::BroadcastOp::NAME => {
                let broadcast = kernels::BroadcastOp(op);
                let (from, result) = (broadcast.value(self.ir), broadcast.result(self.ir));
                if let Some(&e) = self.index.get(&from) {
                    self.index.insert(result, e);
                }
                if let Some(v) = self.env.get(&from).cloned() {
                    self.env.insert(result, v);
                }
                Ok(())
            }
            "arith.constant" => self.constant(op),
            _ => self.scalar_op(op),
        }
    }

    fn constant(&mut self, op: Op) -> Result<(), Diagnostic> {
        let result = self.ir.result(op, 0);
        let dtype = self.dtype(result);
        let value = self.ir.attr_of(op, "value").and_then(|a| literal::splat(self.ir, a, dtype));
        let text = match value.ok_or_else(|| self.error(op, "the constant must have one value in all lanes"))? {
            literal::Number::Int(i) if dtype == DType::I1 => (if i != 0 { "True" } else { "False" }).to_string(),
            literal::Number::Int(i) => i.to_string(),
            literal::Number::Float(x) => float_literal(x),
        };
        if dtype == DType::Index
            && let Ok(n) = text.parse()
        {
            let e = self.exprs.int(n);
            self.index.insert(result, e);
        }
        self.env.insert(result, Val { text, literal: true, dtype, dims: 0, level: 0 });
        Ok(())
    }

    /// An op of the scalar vocabulary.
    fn scalar_op(&mut self, op: Op) -> Result<(), Diagnostic> {
        let name = self.ir.op_name(op).to_string();
        if self.ir.num_results(op) != 1 || self.ir.num_operands(op) == 0 {
            return Err(self.error(op, "no op of a kernel"));
        }
        let operands: Vec<Value> = self.ir.operands(op).collect();
        let mut vals: Vec<Val> = operands.into_iter().map(|v| self.get(v)).collect();
        let result = self.ir.result(op, 0);
        let to = self.dtype(result);
        let value_type = if name == "arith.select" { vals[1].dtype } else { vals[0].dtype };
        // Numbers alone have no type: the first gets its own.
        if vals.iter().all(|v| v.literal) {
            vals[0].text = format!("tl.full((), {}, {})", vals[0].text, scalar::held(vals[0].dtype));
            vals[0].literal = false;
        }
        let dims = vals.iter().fold(0, |d, v| d | v.dims);
        let level = vals.iter().map(|v| v.level).max().unwrap_or(0);
        if name == "arith.divf" && self.divides_by_few(result, value_type, &vals) {
            let text = self.quotient(&vals[0], &vals[1]);
            let text = scalar::rounded(&text, to, self.h);
            self.define(result, text, to, dims, level);
            return Ok(());
        }
        if name == "math.erf" && (scalar::is_small_float(to) || to == DType::F32 && self.is_rounded_soon(result, 4)) {
            let text = format!("{}({})", self.h.need("_short_erf"), vals[0].text);
            let text = scalar::rounded(&text, to, self.h);
            self.define(result, text, to, dims, level);
            return Ok(());
        }
        let args: Vec<Arg> = vals.iter().map(|v| Arg { text: &v.text, literal: v.literal }).collect();
        let predicate = self.ir.attr_of(op, "predicate").and_then(|a| self.ir.as_int(a));
        let scalar_op = match from_ir(&name, None, value_type) {
            Some(ScalarOp::Bitcast) => None,
            op => op,
        };
        let text = match (name.as_str(), predicate) {
            ("arith.cmpf", Some(p)) => scalar::compare_floats(p, args[0].text, args[1].text),
            ("arith.cmpi", Some(p)) => scalar::compare_ints(p, value_type, [args[0], args[1]]),
            _ => match scalar_op {
                Some(s) => scalar::scalar(s, value_type, &args, self.h),
                None => scalar::convert_by_name(&name, args[0], value_type, to, self.h),
            },
        };
        let text = text.ok_or_else(|| self.error(op, format!("Triton has no such op on {value_type}")))?;
        if vals.iter().any(|v| v.text == text) {
            // Nothing to do, such as a conversion between types that are held alike.
            let v = vals.into_iter().find(|v| v.text == text).expect("one was just found");
            self.env.insert(result, Val { dtype: to, ..v });
            return Ok(());
        }
        self.define(result, text, to, dims, level);
        Ok(())
    }

    /// Whether many values are divided by one, and what comes of it is rounded to fewer digits than a product with an inverse has.
    fn divides_by_few(&self, result: Value, dtype: DType, vals: &[Val]) -> bool {
        let [x, y] = vals else { return false };
        let few = !x.literal && !y.literal && y.dims & x.dims == y.dims && y.dims != x.dims;
        let small = |v: Value| scalar::is_small_float(self.dtype(v));
        let rounds = |user: Op| self.ir.is_op(user, "arith.truncf") && small(self.ir.result(user, 0));
        few && (small(result) || dtype == DType::F32 && self.ir.uses(result).all(|(user, _)| rounds(user)))
    }

    /// Whether only sums and products come of a value before they are rounded to a smaller float.
    fn is_rounded_soon(&self, v: Value, steps: usize) -> bool {
        let small = |v: Value| scalar::is_small_float(self.dtype(v));
        steps > 0
            && self.ir.uses(v).next().is_some()
            && self.ir.uses(v).all(|(user, _)| match self.ir.op_name(user) {
                "arith.truncf" => small(self.ir.result(user, 0)),
                "arith.addf" | "arith.subf" | "arith.mulf" | "arith.negf" => {
                    self.is_rounded_soon(self.ir.result(user, 0), steps - 1)
                }
                _ => false,
            })
    }

    /// A quotient as a product with the inverse, which is computed once for each divisor. The divisor is scaled, so that no inverse is too large or loses digits.
    fn quotient(&mut self, x: &Val, y: &Val) -> String {
        let key = format!("inverse of {}", y.text);
        let (inverse, scale) = match self.scopes[y.level].memo.get(&key) {
            Some(v) => (format!("inverse_{}", v.text), v.text.clone()),
            None => {
                let scale = self.names.fresh("scale");
                let inverse = self.names.fresh(&format!("inverse_{scale}"));
                let f = self.h.need("_scale");
                self.line_at(y.level, format!("{scale} = {f}({})", y.text));
                self.line_at(y.level, format!("{inverse} = tl.div_rn(1.0, {} * {scale})", y.text));
                self.scopes[y.level].memo.insert(key, Val { text: scale.clone(), ..y.clone() });
                (inverse, scale)
            }
        };
        format!("({} * {inverse} * {scale})", x.text)
    }

    /// The expressions of an op's map over its operands from `first` on.
    pub fn mapped(&mut self, op: Op, first: usize) -> Option<Vec<Expr>> {
        let exprs = index_map(self.ir, op)?.to_vec();
        let operands: Vec<Value> = self.ir.operands(op).skip(first).collect();
        let mut with = Vec::new();
        for (d, v) in operands.into_iter().enumerate() {
            let t = self.ir.element_type(self.ir.value_type(v));
            if matches!(self.ir.ty(t), TypeData::Index) {
                with.push((rinductor_index::Atom::Dim(d as u32), self.index_expr(v)));
            }
        }
        Some(exprs.into_iter().map(|e| self.exprs.subst(e, &with)).collect())
    }
}

/// A float as Python writes it: the shortest digits that read back.
pub(super) fn float_literal(x: f64) -> String {
    if x.is_nan() {
        "float(\"nan\")".into()
    } else if x.is_infinite() {
        (if x > 0.0 { "float(\"inf\")" } else { "float(\"-inf\")" }).into()
    } else {
        format!("{x:?}")
    }
}
