//! From the text of a rule to what the matcher works on: ops and arguments are looked up, variables are accounted for. A rule that cannot be
//! right is refused here, with the place in its file.

use crate::dialects::infos::OpInfos;
use crate::support::{Diagnostic, FxHashMap};
use rinductor_defs::ast::{Binder, Expr, ExprKind, Ident, OpArg, OpPattern, Pattern, RuleDef, Str};
use rinductor_defs::schema::Literal;
use rinductor_defs::{OpDef, Signature};
use rinductor_scalar::DType;
use rinductor_support::Span;

/// A rule that was checked.
pub struct Rule<'a> {
    /// The rule as it was read.
    pub def: &'a RuleDef,
    /// What it matches.
    pub pattern: OpNode<'a>,
}

impl Rule<'_> {
    /// The rule's name.
    pub fn name(&self) -> &str {
        &self.def.name.text
    }
}

/// An op of a pattern.
pub struct OpNode<'a> {
    /// Its definition.
    pub def: &'a OpDef,
    /// Patterns by number of the parameter.
    pub args: Vec<(usize, Node<'a>)>,
    /// Whether arguments without a pattern may be anything; else they have their defaults.
    pub rest: bool,
    /// Which result is meant.
    pub result: u32,
}

/// A pattern of an argument.
pub enum Node<'a> {
    /// Anything; the same name twice means the same value.
    Bind(&'a Str),
    /// Anything.
    Any,
    /// A constant.
    Literal(&'a Literal),
    /// A list with these items.
    List(Vec<Node<'a>>),
    /// A value that such an op defines.
    Op(OpNode<'a>),
}

/// The rules of some sets, by the op at their root.
#[derive(Default)]
pub struct RuleSet<'a> {
    /// All rules, in the order of reading.
    pub rules: Vec<Rule<'a>>,
    by_root: FxHashMap<&'a str, Vec<usize>>,
}

impl<'a> RuleSet<'a> {
    /// The rules that `wanted` accepts, checked.
    ///
    /// # Errors
    /// What is wrong with each rule that is refused.
    pub fn compile(infos: &'a dyn OpInfos, wanted: impl Fn(&RuleDef) -> bool) -> Result<RuleSet<'a>, Vec<Diagnostic>> {
        let mut set = RuleSet::default();
        let mut wrong = Vec::new();
        for def in infos.rules().iter().filter(|r| wanted(r)) {
            match check(def, infos) {
                Ok(rule) => set.add(rule),
                Err(mut errors) => wrong.append(&mut errors),
            }
        }
        if wrong.is_empty() { Ok(set) } else { Err(wrong) }
    }

    /// Adds a rule; it is tried after those that are there.
    pub fn add(&mut self, rule: Rule<'a>) {
        self.by_root.entry(&rule.pattern.def.name.text).or_default().push(self.rules.len());
        self.rules.push(rule);
    }

    /// The numbers of the rules whose pattern has this op at its root.
    pub fn rooted_at(&self, op: &str) -> &[usize] {
        self.by_root.get(op).map_or(&[], |list| list)
    }
}

/// The names of the arguments of an op, in order: those of the schema; for a signature of names the operands, then the properties.
pub fn parameter_names(def: &OpDef) -> Vec<&Str> {
    match &def.signature {
        Signature::Schema(sig) => sig.params.iter().map(|p| &p.name.text).collect(),
        Signature::Named(sig) => {
            sig.operands.iter().map(|o| &o.name.text).chain(sig.attrs.iter().map(|a| &a.name.text)).collect()
        }
    }
}

/// Which parameter each argument of a call is, by position and name.
///
/// # Errors
/// The first argument that is none, at its place.
pub fn parameters<'n>(
    def: &OpDef,
    args: impl IntoIterator<Item = (Option<&'n Ident>, Span)>,
) -> Result<Vec<usize>, Diagnostic> {
    let names = parameter_names(def);
    let mut out: Vec<usize> = Vec::new();
    for (position, (name, span)) in args.into_iter().enumerate() {
        let k = match name {
            None => position,
            Some(name) => names.iter().position(|n| **n == name.text).ok_or_else(|| {
                Diagnostic::error(name.span, format!("'{}' has no argument '{}'", def.name.text, name.text))
            })?,
        };
        if k >= names.len() {
            let text = format!("'{}' has {} arguments", def.name.text, names.len());
            return Err(Diagnostic::error(span, text));
        }
        if out.contains(&k) {
            let text = format!("argument '{}' of '{}' is given twice", names[k], def.name.text);
            return Err(Diagnostic::error(span, text));
        }
        out.push(k);
    }
    Ok(out)
}

/// Checks one rule.
///
/// # Errors
/// All that is wrong with it.
pub fn check<'a>(def: &'a RuleDef, infos: &'a dyn OpInfos) -> Result<Rule<'a>, Vec<Diagnostic>> {
    let mut checker = Checker { infos, wrong: Vec::new(), vars: Vec::new() };
    let pattern = checker.op(&def.pattern);
    if let Some(k) = def.pattern.result {
        let text = format!("the root of a pattern is replaced with all its results: '.{k}' does not belong here");
        checker.wrong.push(Diagnostic::error(def.pattern.span, text));
    }
    if let Some(condition) = &def.condition {
        checker.expr(condition, false);
    }
    checker.expr(&def.replacement, true);
    match pattern {
        Some(pattern) if checker.wrong.is_empty() => Ok(Rule { def, pattern }),
        _ => Err(checker.wrong),
    }
}

struct Checker<'a> {
    infos: &'a dyn OpInfos,
    wrong: Vec<Diagnostic>,
    vars: Vec<Str>,
}

impl<'a> Checker<'a> {
    fn error(&mut self, span: Span, text: String) {
        self.wrong.push(Diagnostic::error(span, text));
    }

    fn def(&mut self, op: &Ident) -> Option<&'a OpDef> {
        let def = self.infos.def(&op.text);
        if def.is_none() {
            self.error(op.span, format!("there is no op '{}'", op.text));
        }
        def
    }

    fn op(&mut self, pattern: &'a OpPattern) -> Option<OpNode<'a>> {
        let def = self.def(&pattern.op)?;
        let spans = pattern.args.iter().map(|a| (a.name.as_ref(), pattern.span));
        let numbers = match parameters(def, spans) {
            Ok(numbers) => numbers,
            Err(d) => {
                self.wrong.push(d);
                return None;
            }
        };
        let mut args = Vec::new();
        for (number, arg) in numbers.into_iter().zip(&pattern.args) {
            args.push((number, self.node(&arg.pattern)?));
        }
        Some(OpNode { def, args, rest: pattern.rest, result: pattern.result.unwrap_or(0) })
    }

    fn node(&mut self, pattern: &'a Pattern) -> Option<Node<'a>> {
        Some(match pattern {
            Pattern::Bind(name) => {
                self.vars.push(name.text.clone());
                Node::Bind(&name.text)
            }
            Pattern::Any(_) => Node::Any,
            Pattern::Literal(literal, _) => Node::Literal(literal),
            Pattern::List(items, _) => Node::List(items.iter().map(|i| self.node(i)).collect::<Option<_>>()?),
            Pattern::Op(op) => Node::Op(self.op(op)?),
        })
    }

    fn bind(&mut self, binder: &Binder) {
        match binder {
            Binder::One(name) => self.vars.push(name.text.clone()),
            Binder::Each(names) => self.vars.extend(names.iter().map(|n| n.text.clone())),
        }
    }

    fn call(&mut self, op: &Ident, args: &[OpArg], ops: bool) {
        if !ops {
            self.error(op.span, "an op can only be made in the replacement of a rule".into());
        }
        if let Some(def) = self.def(op) {
            let spans = args.iter().map(|a| (a.name.as_ref(), a.value.span));
            if let Err(d) = parameters(def, spans) {
                self.wrong.push(d);
            }
        }
        for arg in args {
            self.expr(&arg.value, ops);
        }
    }

    /// Checks names in an expression; `ops`: whether it may make ops.
    fn expr(&mut self, expr: &Expr, ops: bool) {
        let depth = self.vars.len();
        match &expr.kind {
            ExprKind::Literal(_) => {}
            ExprKind::Name(name) => {
                let known = self.vars.contains(name) || DType::ALL.iter().any(|d| d.ir_name() == &**name);
                if !known {
                    self.error(expr.span, format!("the pattern binds no variable '{name}'"));
                }
            }
            ExprKind::OpCall { op, args } => self.call(op, args, ops),
            ExprKind::Let { binder, value, body } => {
                self.expr(value, ops);
                self.bind(binder);
                self.expr(body, ops);
            }
            ExprKind::If { cond, then, other } => {
                self.expr(cond, false);
                self.expr(then, ops);
                self.expr(other, ops);
            }
            ExprKind::Match { on, arms } => {
                self.expr(on, false);
                for arm in arms {
                    self.expr(&arm.body, ops);
                }
            }
            ExprKind::First { binder, list, cond, body, other } => {
                self.expr(list, false);
                if let Some(other) = other {
                    self.expr(other, false);
                }
                self.bind(binder);
                self.expr(cond, false);
                self.expr(body, false);
            }
            ExprKind::Binary { lhs, rhs, .. } => {
                self.expr(lhs, false);
                self.expr(rhs, false);
            }
            ExprKind::Neg(e) | ExprKind::Not(e) => self.expr(e, false),
            ExprKind::Range(from, to) => {
                self.expr(from, false);
                self.expr(to, false);
            }
            ExprKind::List(items) => items.iter().for_each(|i| self.expr(&i.expr, ops)),
            ExprKind::Tuple(items) => items.iter().for_each(|i| self.expr(i, ops)),
            ExprKind::Comprehension { body, binder, list, cond } => {
                self.expr(list, false);
                self.bind(binder);
                if let Some(cond) = cond {
                    self.expr(cond, false);
                }
                self.expr(body, ops);
            }
            ExprKind::Aggregate { binder, space, body, .. } => {
                self.expr(space, false);
                self.bind(binder);
                self.expr(body, false);
            }
            ExprKind::Call { args, .. } => args.iter().for_each(|a| self.expr(a, false)),
            ExprKind::Subscript { of, items } => {
                self.expr(of, ops);
                items.iter().for_each(|i| self.expr(&i.expr, false));
            }
            ExprKind::Field { of, .. } => self.expr(of, ops),
        }
        self.vars.truncate(depth);
    }
}
