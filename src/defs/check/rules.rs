//! Rewrite rules: patterns, replacements, conditions.

use super::clauses::{gives_list, result_names};
use super::expr::literal_type;
use super::{Checker, type_of_attr, type_of_operand, type_of_param};
use crate::ast::*;
use crate::types::Ty;
use rinductor_support::near::did_you_mean;
use rinductor_support::{Diagnostic, Span};

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

/// `1 argument`, `2 arguments`.
fn arguments(n: usize) -> String {
    format!("{n} argument{}", if n == 1 { "" } else { "s" })
}

impl<'a> Checker<'a> {
    pub(super) fn rule(&mut self, rule: &RuleDef) {
        self.pattern_op(&rule.pattern);
        if let Some(k) = rule.pattern.result {
            let text = format!("the root of a pattern is replaced with all its results: '.{k}' does not belong here");
            self.error(rule.pattern.span, text);
        }
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
        let ty = match &rule.condition {
            Some(condition) => self.narrowed(condition, true, |c| c.expr(&rule.replacement)),
            None => self.expr(&rule.replacement),
        };
        self.rewriting = false;
        let Some(op) = self.library.op(&rule.pattern.op.text) else { return };
        match (&ty, result_names(op).len()) {
            (Ty::Tuple(items), n) if items.len() == n => {}
            (Ty::Tuple(items), n) => {
                let message = format!("{} values replace {n} results", items.len());
                self.error(rule.replacement.span, message);
            }
            (ty, 1) if ty.fits(&Ty::Tensor) || ty.fits(&Ty::Number) => {}
            (Ty::List(item), 1) if gives_list(op) && item.fits(&Ty::Tensor) => {}
            (Ty::Any, _) => {}
            (ty, n) => self.error(rule.replacement.span, format!("a value of type {ty} replaces {n} results")),
        }
    }

    /// Notes which parameter an argument is for, or says why it is for none.
    fn param_of(
        &mut self,
        op: &OpDef,
        params: &[Param],
        number: Option<usize>,
        name: Option<&Ident>,
        span: Span,
        used: &mut Vec<usize>,
    ) -> Option<usize> {
        match (number, name) {
            (Some(i), _) if used.contains(&i) => {
                self.error(span, format!("argument '{}' of '{}' stands twice", params[i].name, op.name.text));
                None
            }
            (Some(i), _) => {
                used.push(i);
                Some(i)
            }
            (None, Some(name)) => {
                let near = did_you_mean(&name.text, params.iter().map(|p| &*p.name));
                let wrong = Diagnostic::error(name.span, format!("'{}' has no argument '{}'", op.name.text, name.text));
                self.diagnostics.push(Diagnostic { help: near, ..wrong });
                None
            }
            (None, None) => {
                self.error(span, format!("'{}' has {}", op.name.text, arguments(params.len())));
                None
            }
        }
    }

    /// The definition of an op that a rule names.
    fn named_op(&mut self, name: &Ident) -> Option<&'a OpDef> {
        let library = self.library;
        let def = library.op(&name.text);
        if def.is_none() {
            let near = did_you_mean(&name.text, library.op_names());
            let wrong = Diagnostic::error(name.span, format!("there is no op '{}'", name.text));
            self.diagnostics.push(Diagnostic { help: near, ..wrong });
        }
        def
    }

    fn pattern_op(&mut self, pattern: &OpPattern) {
        let Some(op) = self.named_op(&pattern.op) else {
            // What its arguments bind is not to blame where it is used.
            return pattern.args.iter().for_each(|arg| self.pattern(&arg.pattern, &Ty::Any));
        };
        if let Some(result) = pattern.result
            && result as usize >= result_names(op).len()
        {
            self.error(pattern.span, format!("'{}' has no result {result}", op.name.text));
        }
        let params = params(op);
        let mut used = Vec::new();
        let numbers = op.argument_numbers(pattern.args.iter().map(|a| a.name.as_ref()));
        for (number, arg) in numbers.into_iter().zip(&pattern.args) {
            let found = self.param_of(op, &params, number, arg.name.as_ref(), pattern.span, &mut used);
            if let Some(i) = found {
                self.pattern(&arg.pattern, &params[i].ty);
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

    fn pattern(&mut self, pattern: &Pattern, ty: &Ty) {
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
                Ty::Any => items.iter().for_each(|p| self.pattern(p, ty)),
                Ty::List(item) => items.iter().for_each(|p| self.pattern(p, item)),
                Ty::Option(inner) if matches!(**inner, Ty::List(_)) => {
                    if let Ty::List(item) = &**inner {
                        items.iter().for_each(|p| self.pattern(p, item));
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
        let Some(op) = self.named_op(name) else { return Ty::Any };
        match &op.signature {
            Signature::Named(_) => {
                self.error(name.span, format!("'{}' has no schema, so a rule cannot make it", op.name.text));
            }
            Signature::Schema(sig) if op.types.is_empty() && !sig.results.is_empty() => {
                let text = format!("a rule cannot make '{}': the types of its results are not inferred", op.name.text);
                let wrong = Diagnostic::error(name.span, text);
                self.diagnostics.push(wrong.note(op.name.span, "its definition has no type clause"));
            }
            Signature::Schema(_) => {}
        }
        let params = params(op);
        let mut used = Vec::new();
        let numbers = op.argument_numbers(args.iter().map(|a| a.name.as_ref()));
        for (number, arg) in numbers.into_iter().zip(args) {
            let ty = self.expr(&arg.value);
            let found = self.param_of(op, &params, number, arg.name.as_ref(), arg.value.span, &mut used);
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
