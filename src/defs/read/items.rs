//! Definitions and their clauses.

use super::{Pair, Pairs, Reader, Rule};
use crate::ast::*;
use rinductor_support::Span;

impl Reader {
    pub(super) fn ident(&self, pair: &Pair<'_>) -> Ident {
        Ident { text: Str::from(pair.as_str()), span: self.span(pair) }
    }

    fn idents(&self, pairs: Pairs<'_>) -> Vec<Ident> {
        pairs.filter(|p| p.as_rule() == Rule::ident).map(|p| self.ident(&p)).collect()
    }

    pub(super) fn file(&mut self, pairs: Pairs<'_>) -> File {
        let mut file = File::default();
        for item in pairs.flat_map(Pair::into_inner).filter(|p| p.as_rule() == Rule::item) {
            self.item(item, &mut file);
        }
        file
    }

    fn item(&mut self, item: Pair<'_>, file: &mut File) {
        let span = self.span(&item);
        let (dialects, externs, ops, rules) =
            (file.dialects.len(), file.externs.len(), file.ops.len(), file.rules.len());
        self.definitions(item, file);
        let made = [
            (ItemKind::Declaration, file.dialects.get(dialects).map(|d| &d.name)),
            (ItemKind::Declaration, file.externs.get(externs).map(|d| &d.name)),
            (ItemKind::Op, file.ops.get(ops).map(|d| &d.name)),
            (ItemKind::Rules, file.rules.get(rules).map(|d| &d.name)),
        ];
        let made = made.into_iter().find_map(|(kind, name)| Some(Item { kind, name: name?.text.clone(), span }));
        file.items.extend(made);
    }

    fn definitions(&mut self, item: Pair<'_>, file: &mut File) {
        let mut doc = String::new();
        for pair in item.into_inner() {
            match pair.as_rule() {
                Rule::doc => doc_line(&mut doc, &pair),
                Rule::dialect => {
                    if let Some(name) = self.idents(pair.into_inner()).pop() {
                        file.dialects.push(DialectDef { name, doc: std::mem::take(&mut doc) });
                    }
                }
                Rule::extern_fn => {
                    let mut types = Vec::new();
                    let mut name = None;
                    for part in pair.into_inner() {
                        match part.as_rule() {
                            Rule::ident => name = Some(self.ident(&part)),
                            Rule::ty => types.push(self.ty(part)),
                            _ => {}
                        }
                    }
                    if let (Some(name), Some(result)) = (name, types.pop()) {
                        file.externs.push(ExternFn { name, params: types, result, doc: std::mem::take(&mut doc) });
                    }
                }
                Rule::op => {
                    if let Some(op) = self.op(pair, std::mem::take(&mut doc)) {
                        file.ops.push(op);
                    }
                }
                Rule::decompose | Rule::rule => {
                    let rule = self.rule(pair, std::mem::take(&mut doc), None);
                    file.rules.extend(rule);
                }
                Rule::rule_set => {
                    let mut inner = pair.into_inner().filter(|p| p.as_rule() != Rule::kw_set);
                    let set = inner.next().map(|p| Str::from(p.as_str()));
                    for entry in inner {
                        let mut doc = String::new();
                        for part in entry.into_inner() {
                            match part.as_rule() {
                                Rule::doc => doc_line(&mut doc, &part),
                                _ => file.rules.extend(self.rule(part, std::mem::take(&mut doc), set.clone())),
                            }
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn ty(&mut self, pair: Pair<'_>) -> crate::types::Ty {
        use crate::types::Ty;
        let span = self.span(&pair);
        let mut ty = Ty::Any;
        for part in pair.into_inner() {
            if part.as_rule() == Rule::ident {
                match Ty::of_word(part.as_str()) {
                    Some(found) if found != Ty::Var => ty = found,
                    _ => self.error(span, format!("'{}' is not a type", part.as_str())),
                }
            } else {
                ty = if part.as_str().starts_with('[') { Ty::list(ty) } else { Ty::option(ty) };
            }
        }
        ty
    }

    fn op(&mut self, pair: Pair<'_>, doc: String) -> Option<OpDef> {
        let span = self.span(&pair);
        let mut name = None;
        let mut signature = None;
        let mut clauses = Vec::new();
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::op_name => name = Some(self.ident(&part)),
                Rule::schema => signature = Some(Signature::Schema(self.schema(part))),
                Rule::signature => signature = Some(Signature::Named(self.named_signature(part))),
                Rule::clause => clauses.extend(part.into_inner()),
                _ => {}
            }
        }
        let mut op = OpDef {
            name: name?,
            doc,
            signature: signature?,
            traits: Vec::new(),
            lets: Vec::new(),
            types: Vec::new(),
            requires: Vec::new(),
            assembly: None,
            semantics: Vec::new(),
            span,
        };
        for clause in clauses {
            self.clause(clause, &mut op);
        }
        Some(op)
    }

    fn clause(&mut self, clause: Pair<'_>, op: &mut OpDef) {
        let span = self.span(&clause);
        match clause.as_rule() {
            Rule::traits => op.traits.extend(self.idents(clause.into_inner())),
            Rule::type_clause => {
                if !op.types.is_empty() {
                    self.error(span, format!("'{}' has a type clause already", op.name.text));
                }
                op.types = clause
                    .into_inner()
                    .filter(|p| p.as_rule() == Rule::type_rule)
                    .filter_map(|p| self.type_rule(p))
                    .collect();
            }
            Rule::require => {
                let mut message = Vec::new();
                let mut condition = None;
                for part in clause.into_inner() {
                    match part.as_rule() {
                        Rule::expr => condition = Some(self.expr(part)),
                        Rule::message => message = self.message(part),
                        _ => {}
                    }
                }
                op.requires.extend(condition.map(|condition| Require { condition, message, span }));
            }
            Rule::assembly => {
                if op.assembly.is_some() {
                    self.error(span, format!("'{}' has an assembly clause already", op.name.text));
                }
                op.assembly = Some(self.assembly(clause, span));
            }
            Rule::let_clause => {
                let mut binder = None;
                for part in clause.into_inner() {
                    match part.as_rule() {
                        Rule::binder => binder = Some(self.binder(part)),
                        Rule::expr => {
                            if let Some(binder) = binder.take() {
                                let value = self.expr(part);
                                op.lets.push((binder, value));
                            }
                        }
                        _ => {}
                    }
                }
            }
            Rule::value_clause => {
                if let Some(value) = clause.into_inner().find(|p| p.as_rule() == Rule::expr) {
                    let def = TensorDef::Value(self.expr(value));
                    op.semantics.push(Semantic { target: Target::All, def, span });
                }
            }
            Rule::named_def => {
                let mut names = Vec::new();
                let mut local = false;
                for part in clause.into_inner() {
                    match part.as_rule() {
                        Rule::kw_local => local = true,
                        Rule::ident => names.push(self.ident(&part)),
                        Rule::tensor_def => {
                            let names = std::mem::take(&mut names);
                            let target = if local { Target::Locals(names) } else { Target::Results(names) };
                            if let Some(def) = self.tensor_def(part) {
                                op.semantics.push(Semantic { target, def, span });
                            }
                        }
                        _ => {}
                    }
                }
            }
            Rule::tensor_def => {
                if let Some(def) = self.tensor_def(clause) {
                    op.semantics.push(Semantic { target: Target::All, def, span });
                }
            }
            _ => {}
        }
    }

    fn type_rule(&mut self, pair: Pair<'_>) -> Option<TypeRule> {
        let span = self.span(&pair);
        let mut rule =
            TypeRule { function: TypeFn::Int, args: Vec::new(), dtype: None, with: Vec::new(), each: None, span };
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::ident => match TypeFn::of_name(part.as_str()) {
                    Some(function) => rule.function = function,
                    None => {
                        let span = self.span(&part);
                        self.error(
                            span,
                            format!("'{}' is not a type function ({})", part.as_str(), TypeFn::names().join(", ")),
                        );
                        return None;
                    }
                },
                Rule::args => rule.args = self.plain_args(part),
                Rule::type_as => rule.dtype = part.into_inner().last().map(|p| self.expr(p)),
                Rule::type_with => rule.with = self.idents(part.into_inner()),
                Rule::type_for => {
                    let mut name = None;
                    for p in part.into_inner() {
                        match p.as_rule() {
                            Rule::ident => name = Some(self.ident(&p)),
                            Rule::expr => rule.each = name.take().map(|n| (n, self.expr(p))),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        Some(rule)
    }

    fn message(&mut self, pair: Pair<'_>) -> Vec<MessagePart> {
        pair.into_inner()
            .filter_map(|part| match part.as_rule() {
                Rule::message_text => Some(MessagePart::Text(unescape(part.as_str()))),
                Rule::interpolation => part.into_inner().next().map(|e| MessagePart::Value(self.expr(e))),
                _ => None,
            })
            .collect()
    }

    fn point_binder(&self, pair: Pair<'_>) -> PointBinder {
        let span = self.span(&pair);
        PointBinder { names: self.idents(pair.into_inner()), span }
    }

    fn element_binders(&self, pair: Pair<'_>) -> Vec<ElementBinder> {
        pair.into_inner()
            .filter_map(|p| {
                let mut names = self.idents(p.into_inner()).into_iter();
                Some(ElementBinder { name: names.next()?, tensor: names.next() })
            })
            .collect()
    }

    fn tensor_def(&mut self, pair: Pair<'_>) -> Option<TensorDef> {
        let def = pair.into_inner().next()?;
        let kind = def.as_rule();
        let mut binders = Vec::new();
        let mut point = PointBinder { names: Vec::new(), span: self.span(&def) };
        let mut each = None;
        let mut space = None;
        let mut flags: [Option<Expr>; 2] = [None, None];
        let mut when = None;
        let mut exprs = Vec::new();
        for part in def.into_inner() {
            match part.as_rule() {
                Rule::element_binders => binders = self.element_binders(part),
                Rule::point_binder => point = self.point_binder(part),
                Rule::list_binder => each = self.idents(part.into_inner()).pop(),
                Rule::point_space => space = part.into_inner().last().map(|p| self.expr(p)),
                Rule::scatter_when => when = part.into_inner().last().map(|p| self.expr(p)),
                Rule::sort_flag => {
                    let stable = part.as_str().starts_with("stable");
                    flags[usize::from(stable)] = part.into_inner().last().map(|p| self.expr(p));
                }
                Rule::expr => exprs.push(self.expr(part)),
                _ => {}
            }
        }
        let mut exprs = exprs.into_iter();
        let [descending, stable] = flags;
        Some(match kind {
            Rule::scalar_def => TensorDef::Scalar { binders, body: exprs.next()? },
            Rule::reduce_def => TensorDef::Reduce { binders, over: exprs.next()?, body: exprs.next()? },
            Rule::scan_def => TensorDef::Scan { binders, over: exprs.next()?, body: exprs.next()? },
            Rule::sort_def => TensorDef::Sort { binders, over: exprs.next()?, descending, stable, body: exprs.next()? },
            Rule::index_def => TensorDef::Index { point, each, body: exprs.next()? },
            Rule::point_def => TensorDef::Point { point, space, each, body: exprs.next()? },
            Rule::scatter_def => TensorDef::Scatter(Box::new(ScatterDef {
                point,
                space: exprs.next()?,
                base: exprs.next()?,
                at: exprs.next()?,
                mode: exprs.next()?,
                when,
                value: exprs.next()?,
            })),
            _ => return None,
        })
    }

    fn rule(&mut self, pair: Pair<'_>, doc: String, set: Option<Str>) -> Option<RuleDef> {
        let span = self.span(&pair);
        let decomposition = pair.as_rule() == Rule::decompose;
        let (mut name, mut pattern, mut replacement, mut condition) = (None, None, None, None);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::ident => name = Some(self.ident(&part)),
                Rule::op_pattern => pattern = self.op_pattern(part),
                Rule::expr => replacement = Some(self.expr(part)),
                Rule::where_clause => condition = part.into_inner().last().map(|p| self.expr(p)),
                _ => {}
            }
        }
        let pattern = pattern?;
        let dialect = pattern.op.text.split('.').next().unwrap_or("").to_owned();
        let set = set.unwrap_or_else(|| {
            Str::from(format!("{dialect}.{}", if decomposition { "decompositions" } else { "rules" }))
        });
        let name = name.unwrap_or_else(|| pattern.op.clone());
        Some(RuleDef { name, set, decomposition, doc, pattern, replacement: replacement?, condition, span })
    }

    fn op_pattern(&mut self, pair: Pair<'_>) -> Option<OpPattern> {
        let span = self.span(&pair);
        if !self.enter(span) {
            return None;
        }
        let (mut op, mut args, mut rest, mut result) = (None, Vec::new(), false, None);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::op_name => op = Some(self.ident(&part)),
                Rule::result_number => result = self.small(&part, &part.as_str()[1..]),
                Rule::pattern_arg => {
                    let at = self.span(&part);
                    let mut name = None;
                    for p in part.into_inner() {
                        match p.as_rule() {
                            Rule::pattern_rest => rest = true,
                            Rule::ident => name = Some(self.ident(&p)),
                            Rule::pattern => {
                                if rest {
                                    self.error(at, "nothing may follow '..'");
                                }
                                if let Some(pattern) = self.pattern(p) {
                                    args.push(PatternArg { name: name.take(), pattern });
                                }
                            }
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        self.leave();
        Some(OpPattern { op: op?, args, rest, result, span })
    }

    fn pattern(&mut self, pair: Pair<'_>) -> Option<Pattern> {
        let span = self.span(&pair);
        let inner = pair.into_inner().next()?;
        Some(match inner.as_rule() {
            Rule::op_pattern => Pattern::Op(Box::new(self.op_pattern(inner)?)),
            Rule::literal => Pattern::Literal(self.literal(inner), span),
            Rule::wildcard => Pattern::Any(span),
            Rule::pattern_list => {
                if !self.enter(span) {
                    return None;
                }
                let items = inner.into_inner().filter_map(|p| self.pattern(p)).collect();
                self.leave();
                Pattern::List(items, span)
            }
            _ => Pattern::Bind(self.ident(&inner)),
        })
    }

    /// Goes one level down; false (with an error) where expressions nest too deeply.
    pub(super) fn enter(&mut self, span: Span) -> bool {
        if self.depth >= super::MAX_DEPTH {
            self.error(span, format!("this is nested more than {} levels deep", super::MAX_DEPTH));
            return false;
        }
        self.depth += 1;
        true
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    pub(super) fn small(&mut self, pair: &Pair<'_>, digits: &str) -> Option<u32> {
        let number = digits.parse().ok();
        if number.is_none() {
            let span = self.span(pair);
            self.error(span, format!("{digits} is too large a number here"));
        }
        number
    }
}

fn doc_line(doc: &mut String, pair: &Pair<'_>) {
    let line = pair.as_str().trim_start_matches('/');
    if !doc.is_empty() {
        doc.push('\n');
    }
    doc.push_str(line.strip_prefix(' ').unwrap_or(line).trim_end());
}

/// The text that an escaped text means.
pub(super) fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => {}
            },
            (c, _) => out.push(c),
        }
    }
    out
}
