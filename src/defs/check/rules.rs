//! Rewrite rules: patterns, replacements, conditions.

use super::clauses::result_names;
use super::expr::literal_type;
use super::{Checker, type_of_attr, type_of_operand, type_of_param};
use crate::ast::*;
use crate::types::Ty;
use rinductor_support::Span;

/// A parameter of an op as rules see it.
struct Param {
    name: Str,
    ty: Ty,
    /// Whether a call may leave it out.
    optional: bool,
}

fn params(op: &OpDef) -> Vec<Param> {
    match &op.signature {
        Signature::Schema(sig) => sig
            .params
            .iter()
            .map(|p| Param {
                name: p.name.text.clone(),
                ty: type_of_param(&p.ty),
                optional: p.default.is_some() || p.ty.optional(),
            })
            .collect(),
        Signature::Named(sig) => {
            let operands = sig.operands.iter().map(|o| Param {
                name: o.name.text.clone(),
                ty: type_of_operand(o),
                optional: o.many != Multiplicity::One,
            });
            let attrs = sig.attrs.iter().map(|a| Param {
                name: a.name.text.clone(),
                ty: type_of_attr(a),
                optional: a.default.is_some() || a.optional || a.kind == AttrKind::Unit,
            });
            operands.chain(attrs).collect()
        }
    }
}

impl Checker<'_> {
    pub(super) fn rule(&mut self, rule: &mut RuleDef) {
        self.pattern_op(&mut rule.pattern);
        if rule.decomposition {
            for arg in &rule.pattern.args {
                if !matches!(arg.pattern, Pattern::Bind(_) | Pattern::Any(_)) {
                    self.error(rule.pattern.span, "a decomposition names the arguments of its op, whatever they are");
                }
            }
        }
        if let Some(condition) = &rule.condition {
            self.want(condition, &Ty::Bool);
        }
        self.rewriting = true;
        let ty = self.expr(&rule.replacement);
        self.rewriting = false;
        let Some(op) = self.library.op(&rule.pattern.op.text) else { return };
        let count = if rule.pattern.result.is_some() { 1 } else { result_names(op).len() };
        match (&ty, count) {
            (Ty::Tuple(items), n) if items.len() == n => {}
            (Ty::Tuple(items), n) => {
                let message = format!("{} values replace {n} results", items.len());
                self.error(rule.replacement.span, message);
            }
            (ty, 1) if ty.fits(&Ty::Tensor) || ty.fits(&Ty::Number) => {}
            (Ty::Any, _) => {}
            (ty, n) => self.error(rule.replacement.span, format!("a value of type {ty} replaces {n} results")),
        }
    }

    /// Which parameter an argument is for.
    fn param_of(
        &mut self,
        op: &OpDef,
        params: &[Param],
        position: usize,
        name: Option<&Ident>,
        span: Span,
        used: &mut Vec<usize>,
    ) -> Option<usize> {
        let found = match name {
            Some(name) => params.iter().position(|p| p.name == name.text),
            None => (position < params.len()).then_some(position),
        };
        match (found, name) {
            (Some(i), _) if used.contains(&i) => {
                self.error(span, format!("argument '{}' of '{}' stands twice", params[i].name, op.name.text));
                None
            }
            (Some(i), _) => {
                used.push(i);
                Some(i)
            }
            (None, Some(name)) => {
                self.error(name.span, format!("'{}' has no argument '{}'", op.name.text, name.text));
                None
            }
            (None, None) => {
                self.error(span, format!("'{}' takes {} arguments", op.name.text, params.len()));
                None
            }
        }
    }

    fn pattern_op(&mut self, pattern: &mut OpPattern) {
        let library = self.library;
        let Some(op) = library.op(&pattern.op.text) else {
            self.error(pattern.op.span, format!("there is no op '{}'", pattern.op.text));
            return;
        };
        if let Some(result) = pattern.result
            && result as usize >= result_names(op).len()
        {
            self.error(pattern.span, format!("'{}' has no result {result}", op.name.text));
        }
        let params = params(op);
        let mut used = Vec::new();
        let mut position = 0;
        for arg in &mut pattern.args {
            let found = self.param_of(op, &params, position, arg.name.as_ref(), pattern.span, &mut used);
            position += usize::from(arg.name.is_none());
            if let Some(i) = found {
                arg.param = i;
                self.pattern(&mut arg.pattern, &params[i].ty);
            }
        }
        if !pattern.rest {
            for (i, param) in params.iter().enumerate() {
                if !param.optional && !used.contains(&i) {
                    let message = format!("the pattern does not say what '{}' of '{}' is", param.name, op.name.text);
                    self.error(pattern.span, message);
                }
            }
        }
    }

    fn pattern(&mut self, pattern: &mut Pattern, ty: &Ty) {
        match pattern {
            Pattern::Any(_) => {}
            Pattern::Bind(name) => match self.var(&name.text).cloned() {
                Some(old) if old.join(ty).is_none() => {
                    self.error(name.span, format!("'{}' is {old} at its first place and {ty} here", name.text));
                }
                Some(_) => {}
                None => self.bind(name, ty.clone()),
            },
            Pattern::Literal(literal, span) => {
                let literal = literal_type(literal);
                // A number may stand for a tensor: a wrapped number.
                if !literal.fits(ty) && !(literal.fits(&Ty::Number) && Ty::Tensor.fits(ty)) {
                    self.error(*span, format!("{literal} never stands for {ty}"));
                }
            }
            Pattern::List(items, span) => match ty {
                Ty::List(item) => items.iter_mut().for_each(|p| self.pattern(p, item)),
                Ty::Option(inner) if matches!(**inner, Ty::List(_)) => {
                    if let Ty::List(item) = &**inner {
                        items.iter_mut().for_each(|p| self.pattern(p, item));
                    }
                }
                _ => self.error(*span, format!("a list never stands for {ty}")),
            },
            Pattern::Op(inner) => {
                if !(Ty::Tensor.fits(ty) || Ty::Int.fits(ty)) {
                    self.error(inner.span, format!("the result of an op never stands for {ty}"));
                }
                self.pattern_op(inner);
            }
        }
    }

    /// The type of an op in a replacement: a tensor, or a tuple of the results.
    pub(super) fn op_call(&mut self, name: &Ident, args: &[OpArg]) -> Ty {
        let library = self.library;
        let Some(op) = library.op(&name.text) else {
            self.error(name.span, format!("there is no op '{}'", name.text));
            return Ty::Any;
        };
        let params = params(op);
        let mut used = Vec::new();
        let mut position = 0;
        for arg in args {
            let ty = self.expr(&arg.value);
            let found = self.param_of(op, &params, position, arg.name.as_ref(), arg.value.span, &mut used);
            position += usize::from(arg.name.is_none());
            if let Some(i) = found {
                let wrapped = ty.fits(&Ty::Number) && Ty::Tensor.fits(&params[i].ty);
                if !wrapped {
                    self.fit(&ty, &params[i].ty, arg.value.span);
                }
            }
        }
        for (i, param) in params.iter().enumerate() {
            if !param.optional && !used.contains(&i) {
                self.error(name.span, format!("argument '{}' of '{}' is missing", param.name, op.name.text));
            }
        }
        match result_names(op).len() {
            1 => Ty::Tensor,
            n => Ty::Tuple(vec![Ty::Tensor; n]),
        }
    }
}
