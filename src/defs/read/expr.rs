//! Expressions.

use super::items::unescape;
use super::{Pair, Reader, Rule};
use crate::ast::*;
use crate::builtins::{Builtin, Callee};
use crate::schema::Literal;
use rinductor_scalar::ScalarOp;
use rinductor_support::Span;

impl Reader {
    fn none(span: Span) -> Expr {
        Expr { kind: ExprKind::Literal(Literal::None), span }
    }

    /// An expression from any rule between `expr` and `primary`.
    pub(super) fn expr(&mut self, pair: Pair<'_>) -> Expr {
        // Most rules of the chain hold one part only: go down to where something stands.
        let mut pair = pair;
        while let Rule::expr
        | Rule::or_expr
        | Rule::and_expr
        | Rule::not_expr
        | Rule::compare
        | Rule::range
        | Rule::sum
        | Rule::product
        | Rule::unary
        | Rule::power
        | Rule::postfix
        | Rule::primary = pair.as_rule()
        {
            let mut inner = pair.clone().into_inner();
            match (inner.next(), inner.next()) {
                (Some(only), None) => pair = only,
                _ => break,
            }
        }
        let span = self.span(&pair);
        if !self.enter(span) {
            return Self::none(span);
        }
        let kind = self.kind(pair, span);
        self.leave();
        Expr { kind, span }
    }

    fn boxed(&mut self, pair: Option<Pair<'_>>, span: Span) -> Box<Expr> {
        Box::new(match pair {
            Some(pair) => self.expr(pair),
            None => Self::none(span),
        })
    }

    fn kind(&mut self, pair: Pair<'_>, span: Span) -> ExprKind {
        match pair.as_rule() {
            Rule::ident => ExprKind::Name(Str::from(pair.as_str())),
            Rule::literal => ExprKind::Literal(self.literal(pair)),
            Rule::or_expr | Rule::and_expr | Rule::sum | Rule::product => self.chain(pair, span).kind,
            Rule::compare => self.chain(pair, span).kind,
            Rule::range => {
                let mut inner = pair.into_inner();
                let from = self.boxed(inner.next(), span);
                let to = self.boxed(inner.next(), span);
                ExprKind::Range(from, to)
            }
            Rule::power => {
                let mut inner = pair.into_inner();
                let lhs = self.boxed(inner.next(), span);
                let rhs = self.boxed(inner.next(), span);
                ExprKind::Binary { op: BinaryOp::Pow, lhs, rhs }
            }
            Rule::unary => ExprKind::Neg(self.boxed(pair.into_inner().last(), span)),
            Rule::negated => ExprKind::Not(self.boxed(pair.into_inner().last(), span)),
            Rule::postfix => self.postfix(pair, span).kind,
            Rule::paren => {
                let mut items: Vec<Expr> = pair.into_inner().map(|p| self.expr(p)).collect();
                if items.len() == 1 { items.remove(0).kind } else { ExprKind::Tuple(items) }
            }
            Rule::list => self.list(pair, span),
            Rule::call => self.call(pair, span),
            Rule::op_call => {
                let mut op = Ident { text: Str::from(""), span };
                let mut args = Vec::new();
                for part in pair.into_inner() {
                    match part.as_rule() {
                        Rule::op_name => op = self.ident(&part),
                        Rule::args => {
                            for (name, item) in self.args(part) {
                                args.push(OpArg { name, value: self.no_spread(item) });
                            }
                        }
                        _ => {}
                    }
                }
                ExprKind::OpCall { op, args }
            }
            Rule::let_expr => {
                let mut binder = None;
                let mut parts = Vec::new();
                for part in pair.into_inner() {
                    match part.as_rule() {
                        Rule::binder => binder = Some(self.binder(part)),
                        Rule::expr => parts.push(self.expr(part)),
                        _ => {}
                    }
                }
                let body = Box::new(parts.pop().unwrap_or_else(|| Self::none(span)));
                let value = Box::new(parts.pop().unwrap_or_else(|| Self::none(span)));
                ExprKind::Let { binder: binder.unwrap_or(Binder::Each(Vec::new())), value, body }
            }
            Rule::if_expr => {
                let mut parts = pair.into_inner().filter(|p| p.as_rule() == Rule::expr);
                let cond = self.boxed(parts.next(), span);
                let then = self.boxed(parts.next(), span);
                let other = self.boxed(parts.next(), span);
                ExprKind::If { cond, then, other }
            }
            Rule::first_expr => {
                let mut binder = None;
                let mut parts = Vec::new();
                for part in pair.into_inner() {
                    match part.as_rule() {
                        Rule::binder => binder = Some(self.binder(part)),
                        Rule::expr => parts.push(Box::new(self.expr(part))),
                        _ => {}
                    }
                }
                let mut parts = parts.into_iter();
                let mut next = || parts.next();
                let (list, cond, body, other) = (next(), next(), next(), next());
                let none = || Box::new(Self::none(span));
                ExprKind::First {
                    binder: binder.unwrap_or(Binder::Each(Vec::new())),
                    list: list.unwrap_or_else(none),
                    cond: cond.unwrap_or_else(none),
                    body: body.unwrap_or_else(none),
                    other,
                }
            }
            Rule::fold_expr => {
                let (mut binders, mut parts) = (Vec::new(), Vec::new());
                for part in pair.into_inner() {
                    match part.as_rule() {
                        Rule::binder => binders.push(self.binder(part)),
                        Rule::expr => parts.push(Box::new(self.expr(part))),
                        _ => {}
                    }
                }
                let (mut binders, mut parts) = (binders.into_iter(), parts.into_iter());
                let mut binder = || binders.next().unwrap_or(Binder::Each(Vec::new()));
                let mut next = || parts.next().unwrap_or_else(|| Box::new(Self::none(span)));
                let (state, start) = (binder(), next());
                ExprKind::Fold { state, start, binder: binder(), list: next(), body: next() }
            }
            Rule::match_expr => {
                let mut on = None;
                let mut arms = Vec::new();
                for part in pair.into_inner() {
                    match part.as_rule() {
                        Rule::or_expr => on = Some(self.expr(part)),
                        Rule::match_arm => {
                            let mut values = Vec::new();
                            for p in part.into_inner() {
                                match p.as_rule() {
                                    Rule::literal => values.push(self.literal(p)),
                                    Rule::expr => {
                                        let body = self.expr(p);
                                        arms.push(MatchArm { values: std::mem::take(&mut values), body });
                                    }
                                    _ => {}
                                }
                            }
                        }
                        _ => {}
                    }
                }
                ExprKind::Match { on: Box::new(on.unwrap_or_else(|| Self::none(span))), arms }
            }
            _ => {
                self.error(span, "this cannot stand in an expression");
                ExprKind::Literal(Literal::None)
            }
        }
    }

    /// Operands with operators between them (or none, for `and` and `or`), from left to right.
    fn chain(&mut self, pair: Pair<'_>, span: Span) -> Expr {
        let mut result: Option<Expr> = None;
        let mut op = BinaryOp::Add;
        let mut levels = 0;
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::kw_or => op = BinaryOp::Or,
                Rule::kw_and => op = BinaryOp::And,
                Rule::sum_op | Rule::product_op | Rule::compare_op => op = sign(part.as_str().trim_end()),
                _ => {
                    let rhs = self.expr(part);
                    result = Some(match result {
                        None => rhs,
                        Some(lhs) => {
                            // Each operand makes the tree one level deeper.
                            if !self.enter(rhs.span) {
                                self.depth -= levels;
                                return lhs;
                            }
                            levels += 1;
                            let span = lhs.span.to(rhs.span);
                            Expr { kind: ExprKind::Binary { op, lhs: Box::new(lhs), rhs: Box::new(rhs) }, span }
                        }
                    });
                }
            }
        }
        self.depth -= levels;
        result.unwrap_or_else(|| Self::none(span))
    }

    fn postfix(&mut self, pair: Pair<'_>, span: Span) -> Expr {
        let mut inner = pair.into_inner();
        let mut result = *self.boxed(inner.next(), span);
        let mut levels = 0;
        for part in inner {
            let end = self.span(&part);
            if !self.enter(end) {
                break;
            }
            levels += 1;
            let whole = result.span.to(end);
            let of = Box::new(result);
            let kind = if part.as_rule() == Rule::field {
                let name = Ident { text: Str::from(part.as_str().trim_start_matches('.').trim()), span: end };
                ExprKind::Field { of, name }
            } else {
                let mut items = Vec::new();
                for args in part.into_inner() {
                    for (name, item) in self.args(args) {
                        if let Some(name) = name {
                            self.error(name.span, "a subscript has no name");
                        }
                        items.push(item);
                    }
                }
                ExprKind::Subscript { of, items }
            };
            result = Expr { kind, span: whole };
        }
        self.depth -= levels;
        result
    }

    fn list(&mut self, pair: Pair<'_>, span: Span) -> ExprKind {
        let mut items = Vec::new();
        for part in pair.into_inner() {
            if part.as_rule() == Rule::list_item {
                items.push(self.list_item(part));
                continue;
            }
            // The rest of a comprehension, after its body.
            let mut binder = None;
            let mut parts = Vec::new();
            for p in part.into_inner() {
                match p.as_rule() {
                    Rule::binder => binder = Some(self.binder(p)),
                    Rule::expr => parts.push(self.expr(p)),
                    _ => {}
                }
            }
            let mut parts = parts.into_iter();
            let list = Box::new(parts.next().unwrap_or_else(|| Self::none(span)));
            let cond = parts.next().map(Box::new);
            let body = match items.pop() {
                Some(item) => self.no_spread(item),
                None => Self::none(span),
            };
            let binder = binder.unwrap_or(Binder::Each(Vec::new()));
            return ExprKind::Comprehension { body: Box::new(body), binder, list, cond };
        }
        ExprKind::List(items)
    }

    fn list_item(&mut self, pair: Pair<'_>) -> ListItem {
        let span = self.span(&pair);
        match pair.into_inner().next() {
            Some(p) if p.as_rule() == Rule::spread => {
                ListItem { spread: true, expr: *self.boxed(p.into_inner().next(), span) }
            }
            p => ListItem { spread: false, expr: *self.boxed(p, span) },
        }
    }

    fn no_spread(&mut self, item: ListItem) -> Expr {
        if item.spread {
            self.error(item.expr.span, "'...' stands in lists and subscripts only");
        }
        item.expr
    }

    fn args(&mut self, pair: Pair<'_>) -> Vec<(Option<Ident>, ListItem)> {
        let mut out = Vec::new();
        for arg in pair.into_inner() {
            let mut name = None;
            for part in arg.into_inner() {
                match part.as_rule() {
                    Rule::ident => name = Some(self.ident(&part)),
                    _ => out.push((name.take(), self.list_item(part))),
                }
            }
        }
        out
    }

    /// Arguments without names.
    pub(super) fn plain_args(&mut self, pair: Pair<'_>) -> Vec<Expr> {
        let mut out = Vec::new();
        for (name, item) in self.args(pair) {
            if let Some(name) = name {
                self.error(name.span, format!("arguments of functions have no names, but this says '{} ='", name.text));
            }
            out.push(self.no_spread(item));
        }
        out
    }

    fn call(&mut self, pair: Pair<'_>, span: Span) -> ExprKind {
        let mut name = None;
        let mut args = Vec::new();
        let mut body = None;
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::ident => name = Some(self.ident(&part)),
                Rule::args => args = self.plain_args(part),
                Rule::aggregate => body = part.into_inner().next().map(|p| self.expr(p)),
                _ => {}
            }
        }
        let Some(name) = name else { return ExprKind::Literal(Literal::None) };
        let Some(body) = body else {
            let callee = if let Some(builtin) = Builtin::of_name(&name.text) {
                Callee::Builtin(builtin)
            } else if let Some(op) = ScalarOp::from_name(&name.text) {
                Callee::Scalar(op)
            } else if let Some(function) = Aggregate::of_name(&name.text) {
                Callee::Aggregate(function)
            } else {
                Callee::Extern(name.text)
            };
            return ExprKind::Call { callee, args };
        };
        let Some(function) = Aggregate::of_name(&name.text) else {
            self.error(
                name.span,
                format!(
                    "'{}' does not reduce; sum, prod, max, min, any, all, argmax, argmin, welford and logsumexp do",
                    name.text
                ),
            );
            return ExprKind::Literal(Literal::None);
        };
        let binding = if args.len() == 1 { args.pop() } else { None };
        if let Some(Expr { kind: ExprKind::Binary { op: BinaryOp::In, lhs, rhs }, .. }) = binding {
            let binder = match lhs.kind {
                ExprKind::Name(text) => Some(Binder::One(Ident { text, span: lhs.span })),
                ExprKind::Tuple(items) => items
                    .into_iter()
                    .map(|e| match e.kind {
                        ExprKind::Name(text) => Some(Ident { text, span: e.span }),
                        _ => None,
                    })
                    .collect::<Option<_>>()
                    .map(Binder::Each),
                _ => None,
            };
            if let Some(binder) = binder {
                return ExprKind::Aggregate { function, binder, space: rhs, body: Box::new(body) };
            }
        }
        self.error(
            span,
            format!("write {}(r in SIZES) => …: before '=>' stands what the reduction runs over", name.text),
        );
        ExprKind::Literal(Literal::None)
    }

    pub(super) fn binder(&mut self, pair: Pair<'_>) -> Binder {
        let each = pair.as_str().starts_with('(');
        let mut names: Vec<Ident> = pair.into_inner().map(|p| self.ident(&p)).collect();
        match (each, names.len()) {
            (false, 1) => Binder::One(names.remove(0)),
            _ => Binder::Each(names),
        }
    }

    pub(super) fn literal(&mut self, pair: Pair<'_>) -> Literal {
        let span = self.span(&pair);
        let Some(inner) = pair.into_inner().next() else { return Literal::None };
        let text = inner.as_str();
        match inner.as_rule() {
            Rule::kw_true => Literal::Bool(true),
            Rule::kw_false => Literal::Bool(false),
            Rule::string => Literal::Str(Str::from(unescape(&text[1..text.len() - 1]))),
            Rule::float => float(text),
            Rule::integer => self.integer(text, span),
            _ => Literal::None,
        }
    }

    pub(super) fn integer(&mut self, text: &str, span: Span) -> Literal {
        match text.parse() {
            Ok(value) => Literal::Int(value),
            Err(_) => {
                self.error(span, format!("{text} does not fit in 64 bits"));
                Literal::Int(0)
            }
        }
    }
}

/// The grammar's floats are all floats of Rust.
pub(super) fn float(text: &str) -> Literal {
    Literal::Float(text.parse().unwrap_or(f64::NAN))
}

fn sign(text: &str) -> BinaryOp {
    match text {
        "+" => BinaryOp::Add,
        "-" => BinaryOp::Sub,
        "*" => BinaryOp::Mul,
        "/" => BinaryOp::Div,
        "floordiv" => BinaryOp::FloorDiv,
        "ceildiv" => BinaryOp::CeilDiv,
        "%" => BinaryOp::Mod,
        "==" => BinaryOp::Eq,
        "!=" => BinaryOp::Ne,
        "<" => BinaryOp::Lt,
        "<=" => BinaryOp::Le,
        ">" => BinaryOp::Gt,
        ">=" => BinaryOp::Ge,
        "in" => BinaryOp::In,
        _ => BinaryOp::NotIn,
    }
}
