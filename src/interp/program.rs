//! A body as a list of instructions, made from the IR or from what a dialect file says, and run once a point.

use super::Trap;
use super::rounding::Rounding;
use super::value::Array;
use crate::dialects::loops;
use crate::dialects::loops::{Access, Dims};
use crate::dialects::{attr_scalar, dtype_of, predicate_name};
use crate::ir::{Block, Ir, Op, Value};
use rinductor_defs as defs;
use rinductor_index::{Atom, Expr, Exprs};
use rinductor_scalar::{DType, Scalar, ScalarOp};
use rinductor_support::FxHashMap;

/// One instruction; its value has the number of its place in the list.
#[derive(Clone, Debug)]
pub enum Instr {
    /// A constant.
    Const(Scalar),
    /// The value of an index expression.
    Index(Expr),
    /// A scalar operation.
    Op(ScalarOp, DType, Vec<usize>),
    /// An element of tensor number `.0`, or zero where the guard is false.
    Load(usize, Vec<Expr>, Option<usize>, DType),
    /// Checks an index from data and gives it the next dimension number.
    Position {
        /// The value.
        value: usize,
        /// It must be below.
        size: Expr,
        /// Negative values count from the end.
        wrap: bool,
        /// Where this is false the index is 0 and not checked.
        guard: Option<usize>,
        /// The dimension that it becomes.
        dim: u32,
    },
}

/// A body.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The instructions.
    pub instrs: Vec<Instr>,
    /// What it yields.
    pub yields: Vec<usize>,
    /// The index expressions and guard of a `loops.put`.
    pub put: Option<(Vec<Expr>, Option<usize>)>,
    /// The tensors that it loads, when it comes from the IR.
    pub tensors: Vec<Value>,
    /// How many dimensions there are, with those of indices from data.
    pub dims: usize,
}

impl Program {
    /// Reads the body of a nest.
    ///
    /// # Errors
    /// An op that is no scalar op.
    pub fn of_block(ir: &mut Ir, block: Block) -> Result<Program, Trap> {
        let mut p = Program::default();
        let mut dims = Dims::of_block(ir, block);
        let mut numbers: FxHashMap<Value, usize> = FxHashMap::default();
        for op in ir.block_op_list(block) {
            // Constants may stand outside the body.
            for v in ir.operand_list(op) {
                if let Some(def) = ir.def_op(v).filter(|&d| !numbers.contains_key(&v) && ir.is_op(d, "arith.constant"))
                {
                    p.instrs.push(scalar_instr(ir, def, Vec::new())?);
                    numbers.insert(v, p.instrs.len() - 1);
                }
            }
            let find = |numbers: &FxHashMap<Value, usize>, v: Value| {
                numbers.get(&v).copied().ok_or_else(|| Trap::at(ir, op, "uses a value from outside its body"))
            };
            match ir.op_name(op) {
                loops::LoadOp::NAME => {
                    let access = Access::of(ir, op, 1);
                    let guard = access.guard.map(|g| find(&numbers, g)).transpose()?;
                    let tensor = access.tensor();
                    let t = p.tensors.iter().position(|&t| t == tensor).unwrap_or_else(|| {
                        p.tensors.push(tensor);
                        p.tensors.len() - 1
                    });
                    let dtype = result_dtype(ir, op)?;
                    let exprs = access.in_dims(ir, &mut dims);
                    p.instrs.push(Instr::Load(t, exprs, guard, dtype));
                }
                loops::IndexOp::NAME => {
                    let access = Access::of(ir, op, 0);
                    let exprs = access.in_dims(ir, &mut dims);
                    p.instrs.push(Instr::Index(*exprs.first().ok_or_else(|| Trap::at(ir, op, "has no expression"))?));
                }
                loops::PositionOp::NAME => {
                    let at = loops::PositionOp(op);
                    let value = find(&numbers, at.value(ir))?;
                    let guard = at.guard(ir).map(|g| find(&numbers, g)).transpose()?;
                    let size = *at.bound(ir).first().ok_or_else(|| Trap::at(ir, op, "has no bound"))?;
                    let wrap = at.wrap(ir);
                    let dim = dims.number(at.result(ir));
                    p.instrs.push(Instr::Position { value, size, wrap, guard, dim });
                }
                loops::YieldOp::NAME | loops::PutOp::NAME => {
                    let put = ir.is_op(op, loops::PutOp::NAME);
                    if put {
                        let access = Access::of(ir, op, 1);
                        p.yields.push(find(&numbers, access.tensor())?);
                        let guard = access.guard.map(|g| find(&numbers, g)).transpose()?;
                        p.put = Some((access.in_dims(ir, &mut dims), guard));
                    } else {
                        p.yields = ir.operands(op).map(|v| find(&numbers, v)).collect::<Result<_, _>>()?;
                    }
                    continue;
                }
                _ => {
                    let args: Vec<usize> = ir.operands(op).map(|v| find(&numbers, v)).collect::<Result<_, _>>()?;
                    p.instrs.push(scalar_instr(ir, op, args)?);
                }
            }
            numbers.insert(ir.result(op, 0), p.instrs.len() - 1);
        }
        p.dims = dims.values.len();
        Ok(p)
    }

    /// Reads the body of a nest of a dialect file. `source` numbers the tensors.
    pub fn of_definition(body: &defs::Body, loop_dims: usize, source: &dyn Fn(defs::Source) -> usize) -> Program {
        let mut p = Program { dims: loop_dims + body.indirect.len(), ..Program::default() };
        // Indices from data are checked as soon as their value is known; later values then have other numbers than in the definition.
        let mut number = vec![0usize; body.nodes.len()];
        for (id, node) in body.nodes.iter().enumerate() {
            let instr = match &node.kind {
                defs::NodeKind::Const(s) => Instr::Const(*s),
                defs::NodeKind::Index(e) => Instr::Index(*e),
                defs::NodeKind::Op { op, args } => {
                    Instr::Op(*op, node.dtype, args.iter().map(|a| number[a.index()]).collect())
                }
                defs::NodeKind::Load { source: s, at, guard } => {
                    Instr::Load(source(*s), at.to_vec(), guard.map(|g| number[g.index()]), node.dtype)
                }
            };
            p.instrs.push(instr);
            number[id] = p.instrs.len() - 1;
            for (k, indirect) in body.indirect.iter().enumerate() {
                let ready = indirect.value.index().max(indirect.guard.map_or(0, |g| g.index()));
                if ready == id {
                    p.instrs.push(Instr::Position {
                        value: number[indirect.value.index()],
                        size: indirect.size,
                        wrap: indirect.bounds == defs::Bounds::Wrap,
                        guard: indirect.guard.map(|g| number[g.index()]),
                        dim: (loop_dims + k) as u32,
                    });
                }
            }
        }
        p.yields = body.yields.iter().map(|y| number[y.index()]).collect();
        if body.yields.is_empty() {
            p.yields.clear();
        }
        p
    }

    /// The number that the node of a definition has among the instructions.
    pub fn number_of(body: &defs::Body, node: defs::NodeId) -> usize {
        let before = body
            .indirect
            .iter()
            .filter(|i| i.value.index().max(i.guard.map_or(0, |g| g.index())) < node.index())
            .count();
        node.index() + before
    }
}

fn result_dtype(ir: &Ir, op: Op) -> Result<DType, Trap> {
    let ty = ir.element_type(ir.value_type(ir.result(op, 0)));
    dtype_of(ir, ty).ok_or_else(|| Trap::at(ir, op, "has a result of a type that no tensor holds"))
}

/// The instruction of an `arith`, `math`, `scalar` or `complex` op.
///
/// # Errors
/// An op that is none of these.
pub fn scalar_instr(ir: &Ir, op: Op, args: Vec<usize>) -> Result<Instr, Trap> {
    let name = ir.op_name(op);
    if ir.num_results(op) != 1 {
        return Err(Trap::at(ir, op, "is no scalar op"));
    }
    let result = result_dtype(ir, op)?;
    if name == "arith.constant" {
        let value = ir.attr_of(op, "value").and_then(|a| match ir.attr(a) {
            crate::ir::AttrData::Dense { ty, .. } => {
                let bits = crate::text::dense::elements(ir, a).ok()?;
                let dtype = dtype_of(ir, ir.element_type(*ty))?;
                Some(Scalar::from_bits(dtype, u128::from(*bits.first()? as u64)))
            }
            _ => attr_scalar(ir, a),
        });
        return value.map(Instr::Const).ok_or_else(|| Trap::at(ir, op, "has no number as its value"));
    }
    let operand_dtype = |i: usize| {
        (i < ir.num_operands(op)).then(|| dtype_of(ir, ir.element_type(ir.value_type(ir.operand(op, i))))).flatten()
    };
    let key = operand_dtype(usize::from(name == "arith.select")).unwrap_or(result);
    if rinductor_scalar::cast_from_ir(name, key, result).is_some() {
        return Ok(Instr::Op(ScalarOp::Cast, result, args));
    }
    let predicate = ir.attr_of(op, "predicate").and_then(|a| ir.as_int(a)).and_then(|n| predicate_name(name, n));
    match rinductor_scalar::from_ir(name, predicate, key) {
        Some(s) => Ok(Instr::Op(s, result, args)),
        None => Err(Trap::at(ir, op, "has no meaning for the interpreter on these types")),
    }
}

/// What a program runs in.
pub struct Point<'a> {
    /// Index expressions.
    pub exprs: &'a Exprs,
    /// Values of symbols.
    pub symbols: &'a dyn Fn(Atom) -> Option<i64>,
    /// The tensors by number.
    pub tensors: &'a [Array],
    /// The errors of operations, if they round at random.
    pub rounding: Option<&'a Rounding>,
}

impl Point<'_> {
    /// The value of an expression at `dims`.
    ///
    /// # Errors
    /// Overflow, or a symbol without value.
    pub fn eval(&self, e: Expr, dims: &[i64]) -> Result<i64, Trap> {
        self.exprs
            .eval(e, |atom| match atom {
                Atom::Dim(d) => dims.get(d as usize).copied(),
                Atom::Sym(_) => (self.symbols)(atom),
            })
            .map_err(|e| Trap::new(format!("index expression: {e}")))
    }

    /// Runs a program at a point; `dims` has room for the indices from data. The values of all instructions are left in `values`.
    ///
    /// # Errors
    /// Division by zero, an index out of range.
    pub fn run(&self, p: &Program, dims: &mut [i64], values: &mut Vec<Scalar>) -> Result<(), Trap> {
        values.clear();
        for instr in &p.instrs {
            let v = match instr {
                Instr::Const(s) => *s,
                Instr::Index(e) => Scalar::i64(self.eval(*e, dims)?),
                Instr::Op(op, dtype, args) => {
                    let mut list: smallvec::SmallVec<[Scalar; 4]> = args.iter().map(|&a| values[a]).collect();
                    // Index values are 64-bit integers here.
                    let dtype = if *dtype == DType::Index { DType::I64 } else { *dtype };
                    for a in &mut list {
                        if a.dtype() == DType::Index {
                            *a = a.cast(DType::I64);
                        }
                    }
                    let v = rinductor_scalar::eval(*op, dtype, &list).map_err(|e| Trap::new(e.to_string()))?;
                    self.rounding.map_or(v, |r| r.of(*op, &list, v))
                }
                Instr::Load(t, at, guard, dtype) => {
                    if guard.is_some_and(|g| !values[g].is_true()) {
                        Scalar::zero(*dtype)
                    } else {
                        let mut index: smallvec::SmallVec<[i64; 6]> = smallvec::SmallVec::new();
                        for &e in at {
                            index.push(self.eval(e, dims)?);
                        }
                        let array = &self.tensors[*t];
                        array.get(&index).ok_or_else(|| {
                            Trap::new(format!("reads at {index:?} a tensor of sizes {:?}", array.sizes))
                        })?
                    }
                }
                Instr::Position { value, size, wrap, guard, dim } => {
                    let v = if guard.is_some_and(|g| !values[g].is_true()) {
                        0
                    } else {
                        position(values[*value].to_i64(), self.eval(*size, dims)?, *wrap)?
                    };
                    dims[*dim as usize] = v;
                    Scalar::i64(v)
                }
            };
            values.push(v);
        }
        Ok(())
    }
}

/// An index from data, checked.
///
/// # Errors
/// It is out of range.
pub fn position(value: i64, size: i64, wrap: bool) -> Result<i64, Trap> {
    let v = if wrap && value < 0 { value.saturating_add(size) } else { value };
    if (0..size).contains(&v) {
        Ok(v)
    } else {
        Err(Trap::new(format!("index {value} is out of range for a dimension of size {size}")))
    }
}
