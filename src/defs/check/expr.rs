//! The types of expressions.

use super::Checker;
use crate::ast::*;
use crate::builtins::{Builtin, Callee, FnType};
use crate::schema::Literal;
use crate::types::Ty;
use rinductor_support::Span;

impl Checker<'_> {
    /// The type of an expression. Errors are reported once: what is wrong has type any.
    pub(super) fn expr(&mut self, expr: &Expr) -> Ty {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Literal(literal) => literal_type(literal),
            ExprKind::Name(name) => match self.var(name) {
                Some(ty) => ty.clone(),
                None if crate::eval::dtype_of_word(name).is_some() => Ty::DType,
                None => {
                    let help = self.near(name);
                    self.error(span, format!("'{name}' is not defined{help}"));
                    Ty::Any
                }
            },
            ExprKind::Let { binder, value, body } => {
                let ty = self.expr(value);
                let depth = self.vars.len();
                self.bind_all(binder, &ty, value.span);
                let result = self.expr(body);
                self.vars.truncate(depth);
                result
            }
            ExprKind::If { cond, then, other } => {
                self.want(cond, &Ty::Bool);
                let a = self.narrowed(cond, true, |c| c.expr(then));
                let b = self.narrowed(cond, false, |c| c.expr(other));
                self.joined(&a, &b, span)
            }
            ExprKind::Match { on, arms } => {
                let on = self.expr(on);
                let mut result: Option<Ty> = None;
                let mut total = false;
                for arm in arms {
                    if total {
                        self.error(arm.body.span, "an arm after '_' is never reached");
                    }
                    total |= arm.values.is_empty();
                    for value in &arm.values {
                        let ty = literal_type(value);
                        if on.join(&ty).is_none() {
                            self.error(arm.body.span, format!("a pattern of type {ty} never matches {on}"));
                        }
                    }
                    let ty = self.expr(&arm.body);
                    result = Some(match result {
                        Some(old) => self.joined(&old, &ty, arm.body.span),
                        None => ty,
                    });
                }
                if !total {
                    self.error(span, "a match ends with '_ => …', so that it has a value for everything");
                }
                result.unwrap_or(Ty::Any)
            }
            ExprKind::First { binder, list, cond, body, other } => {
                let item = self.items_of(list);
                let depth = self.vars.len();
                self.bind_all(binder, &item, list.span);
                self.want(cond, &Ty::Bool);
                let value = self.narrowed(cond, true, |c| c.expr(body));
                self.vars.truncate(depth);
                match other {
                    Some(other) => {
                        let other = self.expr(other);
                        self.joined(&value, &other, span)
                    }
                    None => value,
                }
            }
            ExprKind::Fold { state, start, binder, list, body } => {
                let item = self.items_of(list);
                let mut ty = self.expr(start);
                // What is carried is of the first value's type at first, and of that of all of them from then on.
                loop {
                    let depth = self.vars.len();
                    self.bind_all(state, &ty, start.span);
                    self.bind_all(binder, &item, list.span);
                    let next = self.expr(body);
                    self.vars.truncate(depth);
                    let all = self.joined(&ty, &next, body.span);
                    if all == ty {
                        return all;
                    }
                    ty = all;
                }
            }
            ExprKind::Binary { op, lhs, rhs } => self.binary(*op, lhs, rhs, span),
            ExprKind::Neg(e) => self.number(e),
            ExprKind::Not(e) => {
                self.want(e, &Ty::Bool);
                Ty::Bool
            }
            ExprKind::Range(from, to) => {
                self.want(from, &Ty::Int);
                self.want(to, &Ty::Int);
                Ty::list(Ty::Int)
            }
            ExprKind::List(items) => {
                let mut result: Option<Ty> = None;
                for item in items {
                    let ty = self.list_item(item);
                    result = Some(match result {
                        Some(old) => self.joined(&old, &ty, item.expr.span),
                        None => ty,
                    });
                }
                Ty::list(result.unwrap_or(Ty::Any))
            }
            ExprKind::Tuple(items) => Ty::Tuple(items.iter().map(|e| self.expr(e)).collect()),
            ExprKind::Comprehension { body, binder, list, cond } => {
                let item = self.items_of(list);
                let depth = self.vars.len();
                self.bind_all(binder, &item, list.span);
                let ty = match cond {
                    Some(cond) => {
                        self.want(cond, &Ty::Bool);
                        self.narrowed(cond, true, |c| c.expr(body))
                    }
                    None => self.expr(body),
                };
                self.vars.truncate(depth);
                Ty::list(ty)
            }
            ExprKind::Aggregate { function, binder, space, body } => {
                let ty = match self.expr(space) {
                    Ty::Int => Ty::Int,
                    other => {
                        self.fit(&other, &Ty::list(Ty::Int), space.span);
                        Ty::list(Ty::Int)
                    }
                };
                let depth = self.vars.len();
                self.bind_all(binder, &ty, space.span);
                self.number(body);
                self.vars.truncate(depth);
                aggregate_type(*function)
            }
            ExprKind::Call { callee, args } => self.call(callee, args, span),
            ExprKind::OpCall { op, args } => {
                if !self.rewriting {
                    self.error(op.span, format!("'{}' is an op: ops stand in rules only", op.text));
                    return Ty::Any;
                }
                self.op_call(op, args)
            }
            ExprKind::Subscript { of, items } => self.subscript(of, items, span),
            ExprKind::Field { of, name } => {
                let of = self.expr(of);
                match (&of, &*name.text) {
                    (Ty::Moments, "mean" | "m2" | "count") => Ty::Scalar,
                    (Ty::Tuple(items), i) if i.parse::<usize>().is_ok_and(|i| i < items.len()) => {
                        items[i.parse::<usize>().unwrap_or(0)].clone()
                    }
                    (Ty::Any, _) => Ty::Any,
                    _ => {
                        self.error(name.span, format!("a value of type {of} has no field '{}'", name.text));
                        Ty::Any
                    }
                }
            }
        }
    }

    /// A name that may have been meant.
    fn near(&self, name: &str) -> String {
        let close = |other: &str| {
            other != name && (other.starts_with(name) || name.starts_with(other) || other.eq_ignore_ascii_case(name))
        };
        match self.vars.iter().rev().find(|(n, _)| close(n)) {
            Some((n, _)) => format!("; there is '{n}'"),
            None => String::new(),
        }
    }

    fn list_item(&mut self, item: &ListItem) -> Ty {
        if item.spread { self.items_of(&item.expr) } else { self.expr(&item.expr) }
    }

    /// The type of the items of a list.
    pub(super) fn items_of(&mut self, list: &Expr) -> Ty {
        match self.expr(list) {
            Ty::List(item) => *item,
            Ty::Any => Ty::Any,
            other => {
                self.error(list.span, format!("a list is needed here, not {other}"));
                Ty::Any
            }
        }
    }

    pub(super) fn bind_all(&mut self, binder: &Binder, ty: &Ty, span: Span) {
        match binder {
            Binder::One(name) => self.bind(name, ty.clone()),
            Binder::Each(names) => {
                let items: Vec<Ty> = match ty {
                    Ty::Tuple(items) if items.len() == names.len() => items.clone(),
                    Ty::List(item) => vec![(**item).clone(); names.len()],
                    Ty::Any => vec![Ty::Any; names.len()],
                    other => {
                        self.error(span, format!("{} names cannot hold a value of type {other}", names.len()));
                        vec![Ty::Any; names.len()]
                    }
                };
                for (name, ty) in names.iter().zip(items) {
                    self.bind(name, ty);
                }
            }
        }
    }

    /// Reports a value that does not fit.
    pub(super) fn fit(&mut self, ty: &Ty, want: &Ty, span: Span) {
        if !ty.fits(want) {
            let hint = match (ty, want) {
                (Ty::Option(inner), _) if inner.fits(want) => "; it may be none: give a default with 'or'",
                (Ty::Scalar, Ty::Int) => "; check, wrap or trust makes an index of it",
                (Ty::Tensor, Ty::Scalar | Ty::Number | Ty::Int) => "; its elements are t[point]",
                _ => "",
            };
            self.error(span, format!("a value of type {want} is needed here, not {ty}{hint}"));
        }
    }

    pub(super) fn want(&mut self, expr: &Expr, want: &Ty) -> Ty {
        let ty = self.expr(expr);
        self.fit(&ty, want, expr.span);
        ty
    }

    /// A number or scalar.
    pub(super) fn number(&mut self, expr: &Expr) -> Ty {
        let ty = self.want(expr, &Ty::Scalar);
        match ty {
            Ty::Bool => Ty::Scalar,
            ty if ty.is_scalar_like() => ty,
            _ => Ty::Any,
        }
    }

    pub(super) fn joined(&mut self, a: &Ty, b: &Ty, span: Span) -> Ty {
        a.join(b).unwrap_or_else(|| {
            self.error(span, format!("the value may be {a} or {b}, which have no type in common"));
            Ty::Any
        })
    }

    fn binary(&mut self, op: BinaryOp, lhs: &Expr, rhs: &Expr, span: Span) -> Ty {
        use BinaryOp::*;
        match op {
            Or => {
                let a = self.expr(lhs);
                if let Ty::Option(inner) = &a {
                    let b = self.expr(rhs);
                    return self.joined(inner, &b, span);
                }
                self.fit(&a, &Ty::Bool, lhs.span);
                let b = self.narrowed(lhs, false, |c| c.expr(rhs));
                self.fit(&b, &Ty::Bool, rhs.span);
                Ty::Bool
            }
            And => {
                self.want(lhs, &Ty::Bool);
                let b = self.narrowed(lhs, true, |c| c.expr(rhs));
                self.fit(&b, &Ty::Bool, rhs.span);
                Ty::Bool
            }
            Eq | Ne => {
                let (a, b) = (self.expr(lhs), self.expr(rhs));
                if a.join(&b).is_none() {
                    self.error(span, format!("{a} and {b} are never equal"));
                }
                Ty::Bool
            }
            Lt | Le | Gt | Ge => {
                self.number(lhs);
                self.number(rhs);
                Ty::Bool
            }
            In | NotIn => {
                let item = self.items_of(rhs);
                let ty = self.expr(lhs);
                if ty.join(&item).is_none() {
                    self.error(span, format!("a list of {item} never holds {ty}"));
                }
                Ty::Bool
            }
            Add | Sub | Mul | Div | FloorDiv | CeilDiv | Mod | Pow => {
                let (a, b) = (self.number(lhs), self.number(rhs));
                match (&a, &b) {
                    (Ty::Any, other) | (other, Ty::Any) => other.clone(),
                    (Ty::Scalar, _) | (_, Ty::Scalar) => Ty::Scalar,
                    (Ty::Int, Ty::Int) if op == Div => Ty::Number,
                    (Ty::Int, Ty::Int) => Ty::Int,
                    _ => Ty::Number,
                }
            }
        }
    }

    /// Runs `f` with what is known where a condition holds (or does not): `x != none` makes x a value.
    pub(super) fn narrowed<T>(&mut self, cond: &Expr, holds: bool, f: impl FnOnce(&mut Self) -> T) -> T {
        let mut names = Vec::new();
        self.not_none(cond, holds, &mut names);
        let depth = self.vars.len();
        for name in names {
            if let Some(Ty::Option(inner)) = self.var(&name) {
                let inner = (**inner).clone();
                self.vars.push((name, inner));
            }
        }
        let result = f(self);
        self.vars.truncate(depth);
        result
    }

    /// The names that are not none where a condition holds (or does not): `x != none`, and `x == y` for a y that is never none.
    fn not_none(&mut self, cond: &Expr, holds: bool, names: &mut Vec<Str>) {
        match &cond.kind {
            ExprKind::Not(e) => self.not_none(e, !holds, names),
            ExprKind::Binary { op: BinaryOp::And, lhs, rhs } if holds => {
                self.not_none(lhs, true, names);
                self.not_none(rhs, true, names);
            }
            ExprKind::Binary { op: BinaryOp::Or, lhs, rhs } if !holds => {
                self.not_none(lhs, false, names);
                self.not_none(rhs, false, names);
            }
            ExprKind::Binary { op: op @ (BinaryOp::Eq | BinaryOp::Ne), lhs, rhs } => {
                let equal = (*op == BinaryOp::Eq) == holds;
                for (one, other) in [(lhs, rhs), (rhs, lhs)] {
                    let ExprKind::Name(name) = &one.kind else { continue };
                    let none = matches!(other.kind, ExprKind::Literal(Literal::None));
                    if none && !equal || !none && equal && self.is_some(other) {
                        names.push(name.clone());
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether an expression is never none. What is wrong in it is reported where its type is asked for.
    fn is_some(&mut self, e: &Expr) -> bool {
        let reported = self.diagnostics.len();
        let ty = self.expr(e);
        self.diagnostics.truncate(reported);
        !matches!(ty, Ty::Option(_) | Ty::None | Ty::Any)
    }

    fn subscript(&mut self, of: &Expr, items: &[ListItem], span: Span) -> Ty {
        let of_ty = self.expr(of);
        let index: Vec<Ty> = items.iter().map(|i| self.list_item(i)).collect();
        match of_ty {
            Ty::List(item) => {
                // An item of a list that may hold none: a condition says that it does not, which is not followed here.
                let item = if let Ty::Option(inner) = *item { *inner } else { *item };
                match index.as_slice() {
                    [Ty::List(positions)] => {
                        self.fit(positions, &Ty::Int, span);
                        Ty::list(item)
                    }
                    [one] => {
                        self.fit(one, &Ty::Int, span);
                        item
                    }
                    _ => {
                        self.error(span, "a list has one subscript");
                        Ty::Any
                    }
                }
            }
            Ty::Tensor => {
                for (ty, item) in index.iter().zip(items) {
                    let ty = if let Ty::List(inner) = ty { inner } else { ty };
                    self.fit(ty, &Ty::Int, item.expr.span);
                }
                Ty::Scalar
            }
            Ty::Any => Ty::Any,
            other => {
                self.error(of.span, format!("a value of type {other} has no items"));
                Ty::Any
            }
        }
    }

    fn call(&mut self, callee: &Callee, args: &[Expr], span: Span) -> Ty {
        let types: Vec<Ty> = args.iter().map(|e| self.expr(e)).collect();
        match callee {
            Callee::Builtin(builtin) => {
                let reduces = Aggregate::of_name(builtin.name()).is_some() && types.len() == 1;
                if reduces && types[0].is_scalar_like() && types[0] != Ty::Any {
                    return self.implicit(builtin.name(), span);
                }
                self.builtin(*builtin, &types, span)
            }
            Callee::Aggregate(function) => {
                match types.as_slice() {
                    [one] => self.fit(one, &Ty::Scalar, span),
                    _ => self.error(span, "a reduction takes one value"),
                }
                self.implicit("a reduction", span);
                aggregate_type(*function)
            }
            Callee::Scalar(rinductor_scalar::ScalarOp::Bitcast) => {
                match types.as_slice() {
                    [a, b] => {
                        self.fit(a, &Ty::Scalar, span);
                        self.fit(b, &Ty::DType, span);
                    }
                    _ => self.error(span, "bitcast takes a scalar and a dtype"),
                }
                Ty::Scalar
            }
            Callee::Scalar(op) => {
                if types.len() != op.arity() {
                    self.error(span, format!("{op} takes {} arguments, not {}", op.arity(), types.len()));
                }
                for (ty, arg) in types.iter().zip(args) {
                    self.fit(ty, &Ty::Scalar, arg.span);
                }
                match types.as_slice() {
                    [Ty::Int] if *op == rinductor_scalar::ScalarOp::Abs => Ty::Int,
                    all if !all.contains(&Ty::Scalar) => Ty::Number,
                    _ => Ty::Scalar,
                }
            }
            Callee::Extern(name) => match self.library.extern_fn(name) {
                Some(function) => {
                    let ty = FnType { params: function.params.clone(), result: function.result.clone() };
                    self.apply(name, &[ty], &types, span)
                }
                None => {
                    self.error(span, format!("there is no function '{name}'"));
                    Ty::Any
                }
            },
        }
    }

    fn implicit(&mut self, name: &str, span: Span) -> Ty {
        if !self.reducing {
            self.error(
                span,
                format!(
                    "{name} of one value stands in reduce and scan clauses; elsewhere write {name}(r in SIZES) => …"
                ),
            );
            return Ty::Any;
        }
        Ty::Scalar
    }

    fn builtin(&mut self, builtin: Builtin, types: &[Ty], span: Span) -> Ty {
        self.apply(builtin.name(), builtin.types(), types, span)
    }

    fn apply(&mut self, name: &str, signatures: &[FnType], types: &[Ty], span: Span) -> Ty {
        'signatures: for signature in signatures {
            if signature.params.len() != types.len() {
                continue;
            }
            let mut var: Option<Ty> = None;
            for (want, ty) in signature.params.iter().zip(types) {
                if !unify(want, ty, &mut var) {
                    continue 'signatures;
                }
            }
            return subst(&signature.result, &var);
        }
        let shown = |types: &[Ty]| types.iter().map(Ty::to_string).collect::<Vec<_>>().join(", ");
        let wanted: Vec<String> = signatures.iter().map(|s| format!("({})", shown(&s.params))).collect();
        self.error(span, format!("{name} takes {}, not ({})", wanted.join(" or "), shown(types)));
        Ty::Any
    }
}

/// Whether an argument fits a parameter, where T is the same at each place.
fn unify(want: &Ty, ty: &Ty, var: &mut Option<Ty>) -> bool {
    match (want, ty) {
        (Ty::Var, ty) => match var {
            Some(old) => match old.join(ty) {
                Some(joined) => {
                    *var = Some(joined);
                    true
                }
                None => false,
            },
            None => {
                *var = Some(ty.clone());
                true
            }
        },
        (Ty::List(want), Ty::List(ty)) => unify(want, ty, var),
        (Ty::List(_), Ty::Any) => true,
        (want, ty) => ty.fits(want),
    }
}

fn subst(ty: &Ty, var: &Option<Ty>) -> Ty {
    match ty {
        Ty::Var => var.clone().unwrap_or(Ty::Any),
        Ty::List(item) => Ty::list(subst(item, var)),
        Ty::Option(item) => Ty::option(subst(item, var)),
        other => other.clone(),
    }
}

fn aggregate_type(function: Aggregate) -> Ty {
    if function == Aggregate::Welford { Ty::Moments } else { Ty::Scalar }
}

pub(super) fn literal_type(literal: &Literal) -> Ty {
    match literal {
        Literal::None => Ty::None,
        Literal::Bool(_) => Ty::Bool,
        Literal::Int(_) => Ty::Int,
        Literal::Float(_) => Ty::Float,
        Literal::Str(_) => Ty::Str,
        Literal::List(items) => Ty::list(items.first().map_or(Ty::Any, literal_type)),
    }
}
