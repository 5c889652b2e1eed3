//! Operators: arithmetic on sizes and constants, and on values at run time with torch's promotion.

use super::{EvalError, Evaluator, Result, Value};
use crate::ast::BinaryOp;
use crate::semantics::{NodeId, NodeKind};
use rinductor_index::Expr as IndexExpr;
use rinductor_scalar::{Classes, DType, Kind, Operand, Rank, ResultRule, Scalar, ScalarOp};
use rinductor_support::Span;

impl Evaluator<'_> {
    /// A number or a scalar as a value of a dtype.
    pub(super) fn lift(&mut self, value: &Value, dtype: DType, span: Span) -> Result<NodeId> {
        match value {
            Value::Scalar { node, .. } => Ok(self.graph.cast(*node, dtype)),
            Value::Bool(b) => Ok(self.graph.scalar(Scalar::bool(*b).cast(dtype))),
            Value::Float(x) => Ok(self.graph.scalar(Scalar::from_f64(dtype, *x))),
            Value::Int(e) => {
                if let Some(i) = self.exprs.as_int(*e) {
                    return Ok(self.graph.scalar(Scalar::from_i64(dtype, i)));
                }
                self.need_running(span, "a size as a value")?;
                let node = self.graph.add(DType::Index, NodeKind::Index(*e));
                Ok(self.graph.cast(node, dtype))
            }
            other => Err(EvalError::new(span, format!("{} is not a number", other.kind()))),
        }
    }

    fn need_running(&self, span: Span, what: &str) -> Result<()> {
        if self.running {
            return Ok(());
        }
        Err(EvalError {
            undecided: true,
            ..EvalError::new(span, format!("{what} is not known when the op is compiled"))
        })
    }

    /// The dtype of a number or scalar, and how much it weighs in promotion.
    fn operand(&self, value: &Value, span: Span) -> Result<Operand> {
        Ok(match value {
            Value::Scalar { node, weak } => {
                Operand { dtype: self.graph.dtype(*node), rank: if *weak { Rank::Wrapped } else { Rank::Tensor } }
            }
            Value::Bool(_) => Operand { dtype: DType::I1, rank: Rank::Wrapped },
            Value::Int(_) => Operand { dtype: DType::I64, rank: Rank::Wrapped },
            Value::Float(_) => Operand { dtype: DType::F64, rank: Rank::Wrapped },
            other => return Err(EvalError::new(span, format!("{} is not a number", other.kind()))),
        })
    }

    /// The common dtype, and whether all are weak.
    fn common(&self, values: &[Value], span: Span) -> Result<(DType, bool)> {
        let operands = values.iter().map(|v| self.operand(v, span)).collect::<Result<Vec<_>>>()?;
        if operands.iter().all(|o| o.rank == Rank::Wrapped) {
            let float = operands.iter().any(|o| o.dtype.is_float());
            let int = operands.iter().any(|o| o.dtype.is_int());
            return Ok((
                if float {
                    DType::F64
                } else if int {
                    DType::I64
                } else {
                    DType::I1
                },
                true,
            ));
        }
        match rinductor_scalar::result_type(&operands) {
            Some(dtype) => Ok((dtype, false)),
            None => {
                let names: Vec<&str> = operands.iter().map(|o| o.dtype.ir_name()).collect();
                Err(EvalError::new(span, format!("there is no common dtype of {}", names.join(" and "))))
            }
        }
    }

    /// A scalar operation on numbers and scalars, with promotion.
    pub(super) fn scalar_op(&mut self, op: ScalarOp, values: &[Value], span: Span) -> Result<Value> {
        if values.len() != op.arity() {
            return Err(EvalError::new(span, format!("{op} takes {} operands, not {}", op.arity(), values.len())));
        }
        match op.result_rule() {
            ResultRule::Select => return self.select(&values[0], &values[1], &values[2], span),
            ResultRule::Stated => return Err(EvalError::new(span, format!("{op} needs a dtype"))),
            _ => {}
        }
        let uniform = if op.result_rule() == ResultRule::Scaled { &values[..1] } else { values };
        let (mut dtype, weak) = self.common(uniform, span)?;
        let classes = op.classes();
        if !classes.has(dtype.kind()) && dtype.kind() < Kind::Float {
            if is_rounding(op) {
                return Ok(values[0].clone());
            }
            if classes.has(Kind::Float) && !(classes == Classes::NUMBER || classes == Classes::ARITH) {
                dtype = if weak { DType::F64 } else { DType::F32 };
            } else {
                // Arithmetic on bools that has no bool form (neg, floor_div) is done in i64.
                dtype = DType::I64;
            }
        }
        if !is_exact(op) {
            dtype = rinductor_scalar::opmath(dtype);
        }
        let mut args = uniform.iter().map(|v| self.lift(v, dtype, span)).collect::<Result<Vec<_>>>()?;
        if let [_, scale] = values
            && op.result_rule() == ResultRule::Scaled
        {
            args.push(self.lift(scale, DType::I32, span)?);
        }
        let dtypes: Vec<DType> = args.iter().map(|a| self.graph.dtype(*a)).collect();
        let Some(result) = op.result_dtype(&dtypes) else {
            return Err(EvalError::new(span, format!("{op} is not defined for {dtype}")));
        };
        let node = self.graph_op(op, result, &args);
        Ok(self.known(node, weak))
    }

    fn graph_op(&mut self, op: ScalarOp, dtype: DType, args: &[NodeId]) -> NodeId {
        self.graph.op(op, dtype, args)
    }

    /// A weak value that turned out to be a constant is a number again.
    fn known(&mut self, node: NodeId, weak: bool) -> Value {
        if let Some(value) = self.graph.constant(node) {
            match value.dtype().kind() {
                Kind::Bool if weak => return Value::Bool(value.is_true()),
                Kind::Signed | Kind::Unsigned if weak => return self.int(value.to_i64()),
                Kind::Float if weak => return Value::Float(value.to_f64()),
                _ => {}
            }
        }
        Value::Scalar { node, weak }
    }

    /// A truth value at run time.
    pub(super) fn truth(&mut self, value: &Value, span: Span) -> Result<NodeId> {
        match value {
            Value::Scalar { node, .. } => {
                let dtype = self.graph.dtype(*node);
                if dtype == DType::I1 {
                    return Ok(*node);
                }
                let zero = self.graph.scalar(Scalar::zero(dtype));
                Ok(self.graph.op(ScalarOp::Ne, DType::I1, &[*node, zero]))
            }
            other => self.lift(other, DType::I1, span),
        }
    }

    /// `if cond then a else b` of a condition known at run time only.
    pub(super) fn select(&mut self, cond: &Value, a: &Value, b: &Value, span: Span) -> Result<Value> {
        if let Value::Bool(known) = cond {
            return Ok(if *known { a.clone() } else { b.clone() });
        }
        if let (Value::Tuple(x), Value::Tuple(y)) = (a, b)
            && x.len() == y.len()
        {
            let items =
                x.iter().zip(y.iter()).map(|(a, b)| self.select(cond, a, b, span)).collect::<Result<Vec<_>>>()?;
            return Ok(Value::Tuple(items.into()));
        }
        if a == b {
            return Ok(a.clone());
        }
        let cond = self.truth(cond, span)?;
        let pair = [a.clone(), b.clone()];
        let (dtype, weak) = self.common(&pair, span)?;
        let a = self.lift(a, dtype, span)?;
        let b = self.lift(b, dtype, span)?;
        let node = self.graph.op(ScalarOp::Select, dtype, &[cond, a, b]);
        Ok(Value::Scalar { node, weak })
    }

    /// An int constant for a known bool or int.
    pub(super) fn as_index(&mut self, value: &Value) -> Option<IndexExpr> {
        match value {
            Value::Int(e) => Some(*e),
            Value::Bool(b) => Some(self.exprs.int(i64::from(*b))),
            _ => None,
        }
    }

    /// A float constant for a known number.
    pub(super) fn as_float(&self, value: &Value) -> Option<f64> {
        match value {
            Value::Float(x) => Some(*x),
            Value::Bool(b) => Some(f64::from(u8::from(*b))),
            Value::Int(e) => self.exprs.as_int(*e).map(|i| i as f64),
            _ => None,
        }
    }

    /// An operator on two values (all but `and` and `or`, which compute their second operand only where it is needed).
    pub(super) fn binary(&mut self, op: BinaryOp, a: &Value, b: &Value, span: Span) -> Result<Value> {
        use BinaryOp::*;
        match op {
            Eq | Ne | Lt | Le | Gt | Ge => self.compare(op, a, b, span),
            In | NotIn => {
                let Value::List(items) = b else {
                    return Err(EvalError::new(span, format!("'{}' wants a list, not {}", op.sign(), b.kind())));
                };
                let mut found = Value::Bool(false);
                for item in items.iter() {
                    let equal = self.compare(Eq, a, item, span)?;
                    found = self.or(&found, &equal, span)?;
                }
                if op == NotIn { self.not(&found, span) } else { Ok(found) }
            }
            And => self.and(a, b, span),
            Or => self.or(a, b, span),
            Add | Sub | Mul | Div | FloorDiv | CeilDiv | Mod | Pow => self.arithmetic(op, a, b, span),
        }
    }

    pub(super) fn and(&mut self, a: &Value, b: &Value, span: Span) -> Result<Value> {
        match (a, b) {
            (Value::Bool(false), _) | (_, Value::Bool(false)) => Ok(Value::Bool(false)),
            (Value::Bool(true), other) | (other, Value::Bool(true)) => Ok(other.clone()),
            _ => {
                let args = [self.truth(a, span)?, self.truth(b, span)?];
                let node = self.graph.op(ScalarOp::And, DType::I1, &args);
                Ok(Value::Scalar { node, weak: false })
            }
        }
    }

    pub(super) fn or(&mut self, a: &Value, b: &Value, span: Span) -> Result<Value> {
        match (a, b) {
            (Value::Bool(true), _) | (_, Value::Bool(true)) => Ok(Value::Bool(true)),
            (Value::Bool(false), other) | (other, Value::Bool(false)) => Ok(other.clone()),
            _ => {
                let args = [self.truth(a, span)?, self.truth(b, span)?];
                let node = self.graph.op(ScalarOp::Or, DType::I1, &args);
                Ok(Value::Scalar { node, weak: false })
            }
        }
    }

    pub(super) fn not(&mut self, a: &Value, span: Span) -> Result<Value> {
        match a {
            Value::Bool(b) => Ok(Value::Bool(!b)),
            _ => {
                let arg = self.truth(a, span)?;
                let node = self.graph.op(ScalarOp::Not, DType::I1, &[arg]);
                Ok(Value::Scalar { node, weak: false })
            }
        }
    }

    fn compare(&mut self, op: BinaryOp, a: &Value, b: &Value, span: Span) -> Result<Value> {
        use BinaryOp::*;
        // Two truth values are equal as such.
        if let (Value::Bool(x), Value::Bool(y)) = (a, b) {
            return Ok(Value::Bool(ordered(op, x, y)));
        }
        if let (Some(x), Some(y)) = (self.as_index(a), self.as_index(b)) {
            let known = match op {
                Eq => self.exprs.prove_eq(x, y, &self.facts),
                Ne => self.exprs.prove_eq(x, y, &self.facts).map(|e| !e),
                Lt => self.exprs.prove_lt(x, y, &self.facts),
                Le => self.exprs.prove_le(x, y, &self.facts),
                Gt => self.exprs.prove_lt(y, x, &self.facts),
                _ => self.exprs.prove_le(y, x, &self.facts),
            };
            if let Some(known) = known {
                return Ok(Value::Bool(known));
            }
            let text = format!("whether {} {} {}", self.exprs.display(x), op.sign(), self.exprs.display(y));
            self.need_running(span, &text)?;
            return self.scalar_op(comparison(op), &[a.clone(), b.clone()], span);
        }
        if let (Some(x), Some(y)) = (self.as_float(a), self.as_float(b)) {
            return Ok(Value::Bool(ordered(op, &x, &y)));
        }
        let number = |v: &Value| matches!(v, Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Scalar { .. });
        if number(a) && number(b) {
            return self.scalar_op(comparison(op), &[a.clone(), b.clone()], span);
        }
        let equal = match (a, b) {
            (Value::List(x), Value::List(y)) | (Value::Tuple(x), Value::Tuple(y)) => {
                if x.len() != y.len() {
                    Value::Bool(false)
                } else {
                    let mut all = Value::Bool(true);
                    let mut unknown = None;
                    for (x, y) in x.iter().zip(y.iter()) {
                        match self.compare(Eq, x, y, span) {
                            Ok(equal) => all = self.and(&all, &equal, span)?,
                            // One pair that differs is enough.
                            Err(error) if error.undecided => unknown = Some(error),
                            Err(error) => return Err(error),
                        }
                    }
                    match unknown {
                        Some(error) if all != Value::Bool(false) => return Err(error),
                        _ => all,
                    }
                }
            }
            _ => Value::Bool(a == b),
        };
        match op {
            Eq => Ok(equal),
            Ne => self.not(&equal, span),
            _ => Err(EvalError::new(span, format!("'{}' does not order {} and {}", op.sign(), a.kind(), b.kind()))),
        }
    }

    fn arithmetic(&mut self, op: BinaryOp, a: &Value, b: &Value, span: Span) -> Result<Value> {
        use BinaryOp::*;
        if let (Some(x), Some(y)) = (self.as_index(a), self.as_index(b)) {
            match op {
                Add => return Ok(Value::Int(self.exprs.add(x, y))),
                Sub => return Ok(Value::Int(self.exprs.sub(x, y))),
                Mul => return Ok(Value::Int(self.exprs.mul(x, y))),
                FloorDiv | CeilDiv | Mod => {
                    if self.exprs.as_int(y) == Some(0) {
                        return Err(EvalError::new(span, "division by zero"));
                    }
                    return Ok(Value::Int(match op {
                        FloorDiv => self.exprs.floordiv(x, y),
                        CeilDiv => self.exprs.ceildiv(x, y),
                        _ => self.exprs.modulo(x, y),
                    }));
                }
                Pow => {
                    if let Some(power) = self.exprs.as_int(y).and_then(|p| u32::try_from(p).ok()) {
                        return Ok(Value::Int(self.exprs.pow(x, power)));
                    }
                }
                _ => {}
            }
        }
        if let (Some(x), Some(y)) = (self.as_float(a), self.as_float(b)) {
            return Ok(Value::Float(match op {
                Add => x + y,
                Sub => x - y,
                Mul => x * y,
                Div => x / y,
                FloorDiv => (x / y).floor(),
                CeilDiv => (x / y).ceil(),
                Mod => x - y * (x / y).floor(),
                _ => x.powf(y),
            }));
        }
        let values = [a.clone(), b.clone()];
        let op = match op {
            Add => ScalarOp::Add,
            Sub => ScalarOp::Sub,
            Mul => ScalarOp::Mul,
            Div => ScalarOp::Div,
            FloorDiv => ScalarOp::FloorDiv,
            CeilDiv => ScalarOp::CeilDiv,
            Mod => ScalarOp::FloorRem,
            _ => ScalarOp::Pow,
        };
        self.scalar_op(op, &values, span)
    }

    pub(super) fn neg(&mut self, a: &Value, span: Span) -> Result<Value> {
        match a {
            Value::Int(e) => Ok(Value::Int(self.exprs.neg(*e))),
            Value::Float(x) => Ok(Value::Float(-x)),
            other => self.scalar_op(ScalarOp::Neg, std::slice::from_ref(other), span),
        }
    }
}

fn ordered<T: PartialOrd>(op: BinaryOp, x: &T, y: &T) -> bool {
    match op {
        BinaryOp::Eq => x == y,
        BinaryOp::Ne => x != y,
        BinaryOp::Lt => x < y,
        BinaryOp::Le => x <= y,
        BinaryOp::Gt => x > y,
        _ => x >= y,
    }
}

fn comparison(op: BinaryOp) -> ScalarOp {
    match op {
        BinaryOp::Eq => ScalarOp::Eq,
        BinaryOp::Ne => ScalarOp::Ne,
        BinaryOp::Lt => ScalarOp::Lt,
        BinaryOp::Le => ScalarOp::Le,
        BinaryOp::Gt => ScalarOp::Gt,
        _ => ScalarOp::Ge,
    }
}

/// Rounding to integers leaves integers as they are.
fn is_rounding(op: ScalarOp) -> bool {
    matches!(op, ScalarOp::Floor | ScalarOp::Ceil | ScalarOp::Trunc | ScalarOp::Round | ScalarOp::RoundAway)
}

/// Operations that never round, so that small floats need not be widened first, and those whose result depends on the
/// dtype itself.
fn is_exact(op: ScalarOp) -> bool {
    use ScalarOp::*;
    matches!(
        op,
        Neg | Abs
            | Minimum
            | Maximum
            | Fmin
            | Fmax
            | Eq
            | Ne
            | Lt
            | Le
            | Gt
            | Ge
            | Select
            | Sign
            | Sgn
            | Signbit
            | Isnan
            | Isinf
            | Isfinite
            | Copysign
            | Nextafter
            | Floor
            | Ceil
            | Trunc
            | Round
            | RoundAway
    )
}
