//! Symbolic integers as values of a graph: an `index` value for an expression over symbols.

use crate::dialects::symbols;
use crate::dialects::{aten, func, sym};
use crate::ir::{InsertPoint, Ir, Loc, Op, TypeData, Value};
use rinductor_index::{Atom, Expr, Lower};
use rinductor_support::FxHashMap;

/// The `index` values that are known to stand for expressions, at one place of a graph.
#[derive(Default)]
pub struct Sizes {
    known: FxHashMap<Expr, Value>,
}

impl Sizes {
    /// Notes the `index` operands of an op, which dominate what is made before its users.
    pub fn note_operands(&mut self, ir: &mut Ir, op: Op) {
        for v in ir.operand_list(op) {
            if matches!(ir.ty(ir.value_type(v)), TypeData::Index)
                && let Some(e) = symbols::expr_of(ir, v)
            {
                self.known.entry(e).or_insert(v);
            }
        }
    }

    /// A value for an expression, made before `at` if there is none yet. None where a symbol is bound by no argument of the function.
    pub fn value(&mut self, ir: &mut Ir, e: Expr, at: Op) -> Option<Value> {
        if let Some(&v) = self.known.get(&e) {
            return Some(v);
        }
        // The walk over an expression reads it from the arena; meanwhile ops are made in the IR that owns the arena.
        let exprs = std::mem::take(&mut ir.exprs);
        let loc = ir.op(at).loc;
        let v = exprs.lower(e, &mut Writer { ir, at, loc, exprs: &exprs });
        // What writing looked up in the emptied arena (types of arguments) was handed over separately, so nothing is lost.
        ir.exprs = exprs;
        let v = v.ok()?;
        self.known.insert(e, v);
        Some(v)
    }
}

/// Writes an expression as ops on `index`.
struct Writer<'a> {
    ir: &'a mut Ir,
    at: Op,
    loc: Loc,
    exprs: &'a rinductor_index::Exprs,
}

impl Writer<'_> {
    fn binary(&mut self, name: &str, a: Value, b: Value) -> Result<Value, ()> {
        let index = self.ir.index_type();
        Ok(self.ir.create_value(name, &[a, b], index, &[], self.loc, InsertPoint::Before(self.at)))
    }

    /// The argument that binds a symbol, else the size of a tensor argument.
    fn symbol(&mut self, name: &str) -> Option<Value> {
        let func = std::iter::successors(Some(self.at), |&op| self.ir.parent_op(op))
            .find(|&op| self.ir.is_op(op, func::FuncOp::NAME))?;
        let args = self.ir.block_args(self.ir.body(func)?).to_vec();
        for (k, &arg) in args.iter().enumerate() {
            let bound = symbols::argument_attr(self.ir, func, k, "aten.symbol").and_then(|a| self.ir.as_str(a));
            if bound == Some(name) {
                return Some(arg);
            }
        }
        for &arg in &args {
            if let Some(d) = self.size_that_is(arg, name) {
                let (index, dim) = (self.ir.index_type(), self.ir.i64_attr(d as i64));
                let at = InsertPoint::Before(self.at);
                return Some(self.ir.create_value(
                    aten::SymSizeIntOp::NAME,
                    &[arg],
                    index,
                    &[("dim", dim)],
                    self.loc,
                    at,
                ));
            }
        }
        None
    }

    /// Which size of a tensor is just this symbol.
    fn size_that_is(&self, value: Value, name: &str) -> Option<usize> {
        let TypeData::Tensor { encoding: Some(encoding), .. } = self.ir.ty(self.ir.value_type(value)) else {
            return None;
        };
        let crate::ir::AttrData::Layout(layout) = self.ir.attr(*encoding) else { return None };
        layout.sizes.as_ref()?.iter().position(|&e| match self.exprs.as_atom(e) {
            Some(Atom::Sym(id)) => self.exprs.sym_name(id) == name,
            _ => false,
        })
    }
}

impl Lower for Writer<'_> {
    type Value = Value;
    type Error = ();
    fn constant(&mut self, value: i64) -> Result<Value, ()> {
        let (index, attr) = (self.ir.index_type(), self.ir.index_attr(value));
        Ok(self.ir.create_value(
            "arith.constant",
            &[],
            index,
            &[("value", attr)],
            self.loc,
            InsertPoint::Before(self.at),
        ))
    }
    fn atom(&mut self, atom: Atom) -> Result<Value, ()> {
        match atom {
            Atom::Sym(id) => {
                let name = self.exprs.sym_name(id).to_string();
                self.symbol(&name).ok_or(())
            }
            Atom::Dim(_) => Err(()),
        }
    }
    fn add(&mut self, a: Value, b: Value) -> Result<Value, ()> {
        self.binary("arith.addi", a, b)
    }
    fn sub(&mut self, a: Value, b: Value) -> Result<Value, ()> {
        self.binary("arith.subi", a, b)
    }
    fn mul(&mut self, a: Value, b: Value) -> Result<Value, ()> {
        self.binary("arith.muli", a, b)
    }
    fn floordiv(&mut self, a: Value, b: Value) -> Result<Value, ()> {
        self.binary("arith.floordivsi", a, b)
    }
    fn modulo(&mut self, a: Value, b: Value) -> Result<Value, ()> {
        self.binary(sym::ModOp::NAME, a, b)
    }
    fn min(&mut self, a: Value, b: Value) -> Result<Value, ()> {
        self.binary("arith.minsi", a, b)
    }
    fn max(&mut self, a: Value, b: Value) -> Result<Value, ()> {
        self.binary("arith.maxsi", a, b)
    }
}
