//! The clauses of an op.

use super::{CONSTRAINTS, Checker, TRAITS, type_of_attr, type_of_operand, type_of_param};
use crate::assembly::{AsmDirective, AsmItem};
use crate::ast::*;
use crate::types::Ty;
use rinductor_support::Span;

impl Checker<'_> {
    pub(super) fn op(&mut self, op: &OpDef) {
        for name in &op.traits {
            if !TRAITS.iter().any(|(n, _)| **n == *name.text) {
                self.error(name.span, format!("there is no trait '{}'", name.text));
            }
        }
        self.signature(op);
        for (binder, value) in &op.lets {
            let ty = self.expr(value);
            self.bind_all(binder, &ty, value.span);
        }
        for rule in &op.types {
            self.type_rule(rule);
        }
        for require in &op.requires {
            self.want(&require.condition, &Ty::Bool);
            for part in &require.message {
                if let MessagePart::Value(e) = part {
                    self.expr(e);
                }
            }
        }
        if let Some(assembly) = &op.assembly {
            self.asm_items(op, &assembly.items);
        }
        let results = result_names(op);
        if let Signature::Schema(sig) = &op.signature
            && !op.types.is_empty()
            && op.types.len() != sig.results.len()
        {
            let (have, want) = (op.types.len(), sig.results.len());
            self.error(op.types[0].span, format!("{have} types for {want} results"));
        }
        let mut defined: Vec<Str> = Vec::new();
        for semantic in &op.semantics {
            self.semantic(op, semantic, &results, &mut defined);
        }
        if !op.semantics.is_empty() {
            for name in results.iter().filter(|r| !defined.contains(r)) {
                self.error(op.name.span, format!("no clause defines the result '{name}'"));
            }
        }
    }

    fn signature(&mut self, op: &OpDef) {
        let mut names: Vec<&Ident> = Vec::new();
        match &op.signature {
            Signature::Schema(sig) => {
                for param in &sig.params {
                    names.push(&param.name);
                    self.bind(&param.name, type_of_param(&param.ty));
                }
            }
            Signature::Named(sig) => {
                for operand in &sig.operands {
                    names.push(&operand.name);
                    self.constraint(sig, &operand.constraint);
                    self.bind(&operand.name, type_of_operand(operand));
                }
                for attr in &sig.attrs {
                    names.push(&attr.name);
                    self.bind(&attr.name, type_of_attr(attr));
                    if let (Some(crate::schema::Literal::Str(word)), AttrKind::Enum(words)) =
                        (&attr.default, &attr.kind)
                        && !words.contains(word)
                    {
                        self.error(attr.name.span, format!("the default '{word}' is not one of the words"));
                    }
                }
                names.extend(sig.regions.iter().map(|r| &r.name));
                names.extend(sig.successors.iter().map(|s| &s.0));
                for result in &sig.results {
                    names.push(&result.name);
                    self.constraint(sig, &result.constraint);
                }
            }
        }
        for (i, name) in names.iter().enumerate() {
            if names[..i].iter().any(|n| n.text == name.text) {
                self.error(name.span, format!("'{}' stands twice in the signature", name.text));
            }
        }
    }

    fn constraint(&mut self, sig: &NamedSig, constraint: &Constraint) {
        match constraint {
            Constraint::Named(word, span) => {
                let known = CONSTRAINTS.iter().any(|(w, _)| **w == **word);
                if !known && crate::eval::dtype_of_word(word).is_none() {
                    self.error(*span, format!("'{word}' is not a constraint"));
                }
            }
            Constraint::Same(of, span) | Constraint::Element(of, span) => self.value_name(sig, of, *span),
            Constraint::Like(of, element, span) => {
                self.value_name(sig, of, *span);
                self.constraint(sig, element);
            }
            Constraint::Of(_, element, _) => self.constraint(sig, element),
            Constraint::Either(all) => all.iter().for_each(|c| self.constraint(sig, c)),
        }
    }

    fn value_name(&mut self, sig: &NamedSig, name: &str, span: Span) {
        if !sig.operands.iter().chain(&sig.results).any(|o| *o.name.text == *name) {
            self.error(span, format!("'{name}' is not an operand or result"));
        }
    }

    fn type_rule(&mut self, rule: &TypeRule) {
        let depth = self.vars.len();
        if let Some((name, list)) = &rule.each {
            let item = self.items_of(list);
            self.bind(name, item);
        }
        let ints = Ty::list(Ty::Int);
        let want: Vec<Ty> = match rule.function {
            TypeFn::Promote | TypeFn::Float | TypeFn::Bool => Vec::new(),
            TypeFn::Like => vec![Ty::Tensor],
            TypeFn::Tensor => vec![ints.clone(), Ty::DType, ints],
            TypeFn::View => vec![ints.clone(), ints, Ty::Int],
            TypeFn::Reduced => vec![Ty::Tensor, Ty::Any, Ty::Bool],
            TypeFn::Int => Vec::new(),
        };
        let least = match rule.function {
            TypeFn::Promote | TypeFn::Float | TypeFn::Bool | TypeFn::Like | TypeFn::View => 1,
            TypeFn::Tensor => 2,
            TypeFn::Reduced => 3,
            TypeFn::Int => 0,
        };
        let any_number = matches!(rule.function, TypeFn::Promote | TypeFn::Float | TypeFn::Bool);
        if rule.args.len() < least || !any_number && rule.args.len() > want.len() {
            let given = rule.args.len();
            self.error(rule.span, format!("{} does not take {given} arguments", rule.function.name()));
        }
        for (i, arg) in rule.args.iter().enumerate() {
            let ty = self.expr(arg);
            if any_number {
                let ok = ty.is_scalar_like()
                    || [Ty::Tensor, Ty::option(Ty::Tensor), Ty::list(Ty::option(Ty::Tensor))]
                        .iter()
                        .any(|w| ty.fits(w));
                if !ok {
                    self.error(arg.span, format!("a tensor is needed here, not {ty}"));
                }
            } else if let Some(want) = want.get(i) {
                self.fit(&ty, want, arg.span);
            }
        }
        if let Some(dtype) = &rule.dtype {
            self.want(dtype, &Ty::DType);
        }
        for name in &rule.with {
            match self.var(&name.text).cloned() {
                Some(ty) => self.fit(&ty, &Ty::option(Ty::Tensor), name.span),
                None => self.error(name.span, format!("'{}' is not defined", name.text)),
            }
        }
        self.vars.truncate(depth);
    }

    fn semantic(&mut self, op: &OpDef, semantic: &Semantic, results: &[Str], defined: &mut Vec<Str>) {
        let names: Vec<Str> = match &semantic.target {
            Target::All => results.to_vec(),
            Target::Results(names) => {
                for name in names.iter().filter(|n| !results.contains(&n.text)) {
                    self.error(name.span, format!("'{}' is not a result ({})", name.text, results.join(", ")));
                }
                names.iter().map(|n| n.text.clone()).collect()
            }
            Target::Locals(names) => names.iter().map(|n| n.text.clone()).collect(),
        };
        let local = matches!(semantic.target, Target::Locals(_));
        if !local {
            for name in &names {
                if defined.contains(name) {
                    self.error(semantic.span, format!("the result '{name}' is defined already"));
                }
                defined.push(name.clone());
            }
        }
        let depth = self.vars.len();
        let each =
            matches!(&semantic.def, TensorDef::Index { each: Some(_), .. } | TensorDef::Point { each: Some(_), .. });
        let count = if each { 1 } else { names.len() };
        self.tensor_def(op, &semantic.def, count, local, semantic.span);
        self.vars.truncate(depth);
        if !matches!(semantic.def, TensorDef::Value(_)) {
            for name in names {
                self.vars.push((name, Ty::Tensor));
            }
        }
    }

    /// One value for each tensor that a clause defines.
    fn values(&mut self, body: &Expr, count: usize) {
        match (self.expr(body), count) {
            (Ty::Tuple(items), n) => {
                if items.len() != n {
                    self.error(body.span, format!("{} values for {n} tensors", items.len()));
                }
                for ty in items {
                    self.fit(&ty, &Ty::Scalar, body.span);
                }
            }
            (ty, 1) => self.fit(&ty, &Ty::Scalar, body.span),
            (Ty::Any, _) => {}
            (_, n) => self.error(body.span, format!("one value for {n} tensors")),
        }
    }

    fn point(&mut self, point: &PointBinder) {
        match point.names.as_slice() {
            [one] => self.bind(one, Ty::list(Ty::Int)),
            names => names.iter().for_each(|n| self.bind(n, Ty::Int)),
        }
    }

    fn elements(&mut self, op: &OpDef, binders: &[ElementBinder]) {
        let tensors: Vec<Str> = match &op.signature {
            Signature::Schema(sig) => {
                sig.params.iter().filter(|p| p.ty.is_tensor()).map(|p| p.name.text.clone()).collect()
            }
            Signature::Named(sig) => sig.operands.iter().map(|p| p.name.text.clone()).collect(),
        };
        for (i, binder) in binders.iter().enumerate() {
            let name = match (&binder.tensor, tensors.get(i)) {
                (Some(name), _) => name.text.clone(),
                (None, Some(name)) => name.clone(),
                (None, None) => {
                    self.error(
                        binder.name.span,
                        format!("'{}' has {} tensors, so this has nothing to stand for", op.name.text, tensors.len()),
                    );
                    continue;
                }
            };
            let ty = match self.var(&name) {
                Some(Ty::Tensor | Ty::Int | Ty::Any) => Ty::Scalar,
                Some(Ty::Option(inner)) if matches!(**inner, Ty::Tensor) => Ty::option(Ty::Scalar),
                Some(other) => {
                    let message = format!("'{name}' is {other}, not a tensor");
                    self.error(binder.name.span, message);
                    Ty::Any
                }
                None => {
                    self.error(binder.name.span, format!("'{name}' is not defined"));
                    Ty::Any
                }
            };
            self.bind(&binder.name, ty);
        }
    }

    fn tensor_def(&mut self, op: &OpDef, def: &TensorDef, count: usize, local: bool, span: Span) {
        let ints = Ty::list(Ty::Int);
        match def {
            TensorDef::Value(e) => {
                let ty = self.expr(e);
                if !(ty.fits(&Ty::Number) || ty == Ty::Tensor) {
                    self.error(e.span, format!("a symbolic integer or a number is needed here, not {ty}"));
                }
            }
            TensorDef::Scalar { binders, body } => {
                self.elements(op, binders);
                self.values(body, count);
            }
            TensorDef::Reduce { binders, over, body } | TensorDef::Scan { binders, over, body } => {
                let scan = matches!(def, TensorDef::Scan { .. });
                let ty = self.expr(over);
                let want = if scan { Ty::Int } else { Ty::option(Ty::list(Ty::Int)) };
                if !(ty.fits(&want) || !scan && ty.fits(&Ty::option(Ty::Int))) {
                    self.fit(&ty, &want, over.span);
                }
                self.elements(op, binders);
                self.reducing = true;
                self.values(body, count);
                self.reducing = false;
            }
            TensorDef::Sort { binders, over, descending, stable, body } => {
                self.want(over, &Ty::Int);
                for flag in [descending, stable].into_iter().flatten() {
                    self.want(flag, &Ty::Bool);
                }
                if count != 2 {
                    self.error(span, format!("sort gives the values and the indices, not {count} tensors"));
                }
                self.elements(op, binders);
                self.values(body, 1);
            }
            TensorDef::Index { point, each, body } => {
                if local {
                    self.error(span, "an index clause defines results; a local one is a point clause");
                }
                if let Some(each) = each {
                    self.bind(each, Ty::Int);
                }
                self.point(point);
                self.want(body, &ints);
            }
            TensorDef::Point { point, space, each, body } => {
                match space {
                    Some(space) => drop(self.want(space, &ints)),
                    None if local => self.error(span, "a local point clause says its sizes: point (i) in SIZES => …"),
                    None => {}
                }
                if let Some(each) = each {
                    self.bind(each, Ty::Int);
                }
                self.point(point);
                self.values(body, count);
            }
            TensorDef::Scatter(def) => {
                self.want(&def.space, &ints);
                self.want(&def.base, &Ty::Tensor);
                self.want(&def.mode, &Ty::Str);
                if count != 1 {
                    self.error(span, format!("scatter gives one tensor, not {count}"));
                }
                self.point(&def.point);
                self.want(&def.at, &ints);
                if let Some(when) = &def.when {
                    self.want(when, &Ty::Bool);
                }
                self.values(&def.value, 1);
            }
        }
    }

    fn asm_items(&mut self, op: &OpDef, items: &[AsmItem]) {
        for item in items {
            match item {
                AsmItem::Literal(..) => {}
                AsmItem::Var { name, span, .. } => self.asm_name(op, name, *span),
                AsmItem::Group { items, otherwise, .. } => {
                    self.asm_items(op, items);
                    self.asm_items(op, otherwise);
                }
                AsmItem::Custom { args, .. } => self.asm_items(op, args),
                AsmItem::Directive { kind, args, span, .. } => {
                    let counts = match kind {
                        AsmDirective::AttrDict
                        | AsmDirective::AttrDictWithKeyword
                        | AsmDirective::PropDict
                        | AsmDirective::Operands
                        | AsmDirective::Results
                        | AsmDirective::Regions
                        | AsmDirective::Successors => 0..=0,
                        AsmDirective::FunctionalType | AsmDirective::Subscript => 2..=2,
                        AsmDirective::Args => 1..=2,
                        AsmDirective::Type
                        | AsmDirective::SymbolName
                        | AsmDirective::Bare
                        | AsmDirective::Sizes
                        | AsmDirective::Ref => 1..=1,
                    };
                    if !counts.contains(&args.len()) {
                        self.error(*span, format!("this directive does not take {} arguments", args.len()));
                    }
                    self.asm_items(op, args);
                }
            }
        }
    }

    fn asm_name(&mut self, op: &OpDef, name: &str, span: Span) {
        let known = match &op.signature {
            Signature::Schema(sig) => {
                sig.params.iter().any(|p| *p.name.text == *name) || sig.results.iter().any(|r| *r.name == *name)
            }
            Signature::Named(sig) => {
                sig.operands.iter().chain(&sig.results).any(|o| *o.name.text == *name)
                    || sig.attrs.iter().any(|a| *a.name.text == *name)
                    || sig.regions.iter().any(|r| *r.name.text == *name)
                    || sig.successors.iter().any(|s| *s.0.text == *name)
            }
        };
        if !known {
            self.error(span, format!("'{}' has no '{name}'", op.name.text));
        }
    }
}

/// Names of the results.
pub(super) fn result_names(op: &OpDef) -> Vec<Str> {
    match &op.signature {
        Signature::Schema(sig) => sig.results.iter().map(|r| r.name.clone()).collect(),
        Signature::Named(sig) => sig.results.iter().map(|r| r.name.text.clone()).collect(),
    }
}

/// Whether what an op gives is one list, of as many tensors as it is about.
pub(super) fn gives_list(op: &OpDef) -> bool {
    matches!(&op.signature, Signature::Schema(sig) if matches!(sig.results.as_slice(), [one] if one.ty.list))
}
