//! The checker: names are defined, calls and operators have operands of fitting types, clauses define what the
//! signature promises, rules bind what they use. A definition that passes can still fail on one instance (a list
//! index that is out of range), never by an unknown name or a wrong kind of value.

mod clauses;
mod expr;
mod rules;

use crate::ast::*;
use crate::library::Library;
use crate::schema::{Base, SchemaType};
use crate::types::Ty;
use rinductor_support::{Diagnostic, Span};

/// The traits that an op may have, and what they say.
pub const TRAITS: &[(&str, &str)] = &[
    ("pure", "no side effects: may be removed, repeated, moved"),
    ("elementwise", "each point of the result depends on the same point of the operands"),
    ("commutative", "the first two operands may be exchanged"),
    ("idempotent", "f(f(x)) = f(x)"),
    ("involution", "f(f(x)) = x"),
    ("view", "the result shares the storage of the first operand"),
    ("inplace", "writes to an operand"),
    ("wide_numbers", "a number, or a tensor of one element, is not rounded to f16 or bf16 before"),
    ("random", "the result is not determined by the operands"),
    ("extern", "computed by a library kernel, even where there are semantics"),
    ("constant_like", "no operands, one constant result"),
    ("terminator", "ends a block"),
    ("return_like", "its operands are the results of the op around it"),
    ("symbol", "defines the symbol of its sym_name"),
    ("symbol_table", "its region is a scope of symbols"),
    ("isolated_from_above", "its regions use no value from outside"),
    ("single_block", "its regions have one block each"),
    ("no_terminator", "the blocks of its regions end without a terminator"),
    ("same_operands_and_result_type", "all operands and results have one type"),
    ("same_operands_and_result_shape", "all operands and results have one shape"),
    ("call_like", "calls the function that its symbol names"),
    ("function_like", "a function: symbol, function type, entry block with its arguments"),
    ("branch_like", "passes operands to its successors"),
    ("allocates", "its result is a new buffer"),
    ("reads", "reads memory"),
    ("writes", "writes memory"),
];

/// The words for classes of types, and what they mean.
pub const CONSTRAINTS: &[(&str, &str)] = &[
    ("any", "any type"),
    ("bool_like", "i1, or a vector or tensor of it"),
    ("int_like", "an integer or index, or a vector or tensor of them"),
    ("integer_like", "an integer, or a vector or tensor of them"),
    ("float_like", "a float, or a vector or tensor of floats"),
    ("complex_like", "a complex number, or a vector or tensor of them"),
    ("number_like", "an integer, index, float or complex number, or a vector or tensor of them"),
    ("index_like", "index, or a vector or tensor of it"),
    ("int", "an integer type"),
    ("float", "a float type"),
    ("complex", "a complex type"),
    ("number", "an integer, index, float or complex type"),
    ("function", "a function type"),
    ("tensor", "a tensor"),
    ("vector", "a vector"),
    ("memref", "a memref"),
    ("shaped", "a tensor, vector or memref"),
    ("none", "the none type"),
    ("handle", "a handle of a schedule: ops that its steps are about"),
];

/// Everything that is wrong with an op of the library.
pub fn op(library: &Library, op: &OpDef) -> Vec<Diagnostic> {
    let mut checker = Checker::new(library);
    checker.op(op);
    checker.diagnostics
}

/// Everything that is wrong with a rule.
pub fn rule(library: &Library, rule: &RuleDef) -> Vec<Diagnostic> {
    let mut checker = Checker::new(library);
    checker.rule(rule);
    checker.diagnostics
}

struct Checker<'a> {
    library: &'a Library,
    diagnostics: Vec<Diagnostic>,
    /// Variables, innermost last.
    vars: Vec<(Str, Ty)>,
    /// Whether `sum(x)` and its like have something to run over.
    reducing: bool,
    /// Whether ops may be called: in replacements.
    rewriting: bool,
}

impl<'a> Checker<'a> {
    fn new(library: &'a Library) -> Self {
        Self { library, diagnostics: Vec::new(), vars: Vec::new(), reducing: false, rewriting: false }
    }

    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error(span, message));
    }

    fn var(&self, name: &str) -> Option<&Ty> {
        self.vars.iter().rev().find(|(n, _)| **n == *name).map(|(_, t)| t)
    }

    fn bind(&mut self, name: &Ident, ty: Ty) {
        self.vars.push((name.text.clone(), ty));
    }
}

/// The type of an argument of a schema in expressions.
pub fn type_of_param(ty: &SchemaType) -> Ty {
    let base = match ty.base {
        Base::Tensor => Ty::Tensor,
        Base::Int | Base::SymInt => Ty::Int,
        Base::Scalar | Base::SymFloat => Ty::Number,
        Base::Float => Ty::Float,
        Base::Bool | Base::SymBool => Ty::Bool,
        Base::Str | Base::MemoryFormat | Base::Device | Base::Layout => Ty::Str,
        Base::ScalarType => Ty::DType,
        Base::Other => Ty::Any,
    };
    let item = if ty.optional_item { Ty::option(base) } else { base };
    match (ty.list, ty.optional_list) {
        (false, _) => item,
        (true, false) => Ty::list(item),
        (true, true) => Ty::option(Ty::list(item)),
    }
}

/// The type of an operand in expressions.
pub fn type_of_operand(operand: &OperandDecl) -> Ty {
    fn one(constraint: &Constraint) -> Ty {
        match constraint {
            Constraint::Named(word, _) if &**word == "index" => Ty::Int,
            Constraint::Named(word, _) if &**word == "float" => Ty::Float,
            Constraint::Either(all) if all.iter().all(|c| one(c) != Ty::Tensor) => Ty::Number,
            _ => Ty::Tensor,
        }
    }
    let one = one(&operand.constraint);
    match operand.many {
        Multiplicity::One => one,
        Multiplicity::Optional => Ty::option(one),
        Multiplicity::Many => Ty::list(one),
    }
}

/// The type of a property in expressions.
pub fn type_of_attr(attr: &AttrDecl) -> Ty {
    let ty = match attr.kind {
        AttrKind::Int => Ty::Int,
        AttrKind::Float => Ty::Float,
        AttrKind::Number => Ty::Number,
        AttrKind::Bool | AttrKind::Unit => Ty::Bool,
        AttrKind::Str | AttrKind::Enum(_) | AttrKind::SymbolRef | AttrKind::SymbolName => Ty::Str,
        AttrKind::Type => Ty::DType,
        AttrKind::Ints => Ty::list(Ty::Int),
        AttrKind::Floats => Ty::list(Ty::Float),
        AttrKind::Bools => Ty::list(Ty::Bool),
        AttrKind::Strs | AttrKind::Flags(_) => Ty::list(Ty::Str),
        AttrKind::Any
        | AttrKind::FunctionType
        | AttrKind::Array
        | AttrKind::Dict
        | AttrKind::AffineMap
        | AttrKind::IndexMap => Ty::Any,
    };
    if attr.optional && attr.default.is_none() { Ty::option(ty) } else { ty }
}

#[cfg(test)]
mod tests;
