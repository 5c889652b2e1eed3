//! A function's blocks as text: what is used once is written where it is used, the rest gets a name.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::node::{Binding, Function, Kind, LOOSE, Made, Statement, TIGHT, Type, UNARY, Value};

/// Expressions that are longer get a name.
const LONG: usize = 88;
/// Index expressions that are shorter are written again where they are used.
const SHORT: usize = 40;

/// Functions that take a scalar for a vector if another argument is a vector.
const MIXED: &[&str] =
    &["fma", "copysign", "minimum", "maximum", "min", "max", "umin", "umax", "select", "ushr", "shl", "less_unsigned"];

/// The text of a function.
pub struct Printer<'f> {
    f: &'f mut Function,
    /// How often each value is used.
    uses: Vec<u32>,
    /// The block in which the only use is, and whether there is one.
    used_in: Vec<Option<usize>>,
    texts: Vec<Option<(String, Binding)>>,
    out: String,
    depth: usize,
    /// The types that were written.
    pub types: BTreeSet<(Kind, u32)>,
    /// The functions that were called.
    pub called: BTreeSet<String>,
}

impl PartialOrd for Kind {
    fn partial_cmp(&self, other: &Kind) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Kind {
    fn cmp(&self, other: &Kind) -> std::cmp::Ordering {
        let rank = |k: &Kind| match k {
            Kind::Int(n) => (0, *n),
            Kind::Float(n) => (1, *n),
            Kind::Pointer => (2, 0),
        };
        rank(self).cmp(&rank(other))
    }
}

impl<'f> Printer<'f> {
    /// Of a function whose result, if it has one, is `result`.
    pub fn new(f: &'f mut Function, result: Option<Value>) -> Self {
        let n = f.nodes.len();
        let mut p = Printer {
            f,
            uses: vec![0; n],
            used_in: vec![None; n],
            texts: vec![None; n],
            out: String::new(),
            depth: 1,
            types: BTreeSet::new(),
            called: BTreeSet::new(),
        };
        p.count(0);
        if let Some(r) = result {
            p.used(r, 0);
        }
        p
    }

    /// The text of the body, each line indented, and of the result.
    pub fn body(mut self, result: Option<Value>) -> (String, BTreeSet<(Kind, u32)>, BTreeSet<String>) {
        self.f.seen.clear();
        self.block(0);
        if let Some(r) = result {
            let text = self.full(r, LOOSE);
            self.line(&format!("return {text};"));
        }
        (self.out, self.types, self.called)
    }

    // ---- uses ----

    fn count(&mut self, block: usize) {
        for s in self.f.blocks[block].clone() {
            match s {
                Statement::Define(_) | Statement::Comment(_) | Statement::Line(_) => {}
                Statement::Do(v) | Statement::Assign { value: v, .. } => self.used(v, block),
                Statement::Declare { value, .. } => value.into_iter().for_each(|v| self.used(v, block)),
                Statement::For { counted, body, .. } => {
                    for v in [counted.first, counted.start, counted.end] {
                        // The head is read again in each round.
                        self.used(v, block);
                        self.used(v, block);
                    }
                    self.count(body);
                }
                Statement::While { end, body, .. } => {
                    self.used(end, block);
                    self.used(end, block);
                    self.count(body);
                }
                Statement::If { condition, yes, no } => {
                    self.used(condition, block);
                    self.count(yes);
                    no.into_iter().for_each(|b| self.count(b));
                }
                Statement::Fail { bad, error, value, bound, .. } => {
                    for v in [bad, bad, error, value, bound] {
                        self.used(v, block);
                    }
                }
            }
        }
    }

    fn used(&mut self, v: Value, block: usize) {
        let k = v.0 as usize;
        self.uses[k] += 1;
        self.used_in[k] = Some(block);
        if self.uses[k] == 1 {
            let here = self.f.node(v).block;
            for part in self.f.parts(v) {
                self.used(part, here);
            }
        }
    }

    // ---- statements ----

    fn line(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        for _ in 0..self.depth {
            self.out.push_str("  ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn nested(&mut self, block: usize) {
        self.depth += 1;
        let seen = self.f.seen.len();
        self.block(block);
        self.f.seen.truncate(seen);
        self.depth -= 1;
    }

    fn block(&mut self, block: usize) {
        let mut comment: Option<String> = None;
        for s in self.f.blocks[block].clone() {
            let before = self.out.len();
            match s {
                Statement::Comment(text) => {
                    comment = Some(text);
                    continue;
                }
                Statement::Line(text) => self.line(&text),
                Statement::Define(v) => self.define(v, block),
                Statement::Do(v) => {
                    let text = self.full(v, LOOSE);
                    self.line(&format!("{text};"));
                }
                Statement::Assign { name, value } => {
                    let text = self.full(value, LOOSE);
                    if text != name {
                        self.line(&format!("{name} = {text};"));
                    }
                }
                Statement::Declare { name, ty, value } => {
                    let ty = self.type_text(ty);
                    let value = value.map_or(String::new(), |v| format!(" = {}", self.full(v, LOOSE)));
                    self.line(&format!("{ty} {name}{value};"));
                }
                Statement::For { position, counted: c, body } => {
                    let (start, step) = (self.full(c.start, LOOSE), c.step);
                    let head = if c.reverse {
                        let first = self.full(c.first, 5);
                        format!("int64_t {position} = {start}; {position} >= {first}; {position} -= {step}")
                    } else {
                        let end = self.full(c.end, 5);
                        let next = if step == 1 { format!("++{position}") } else { format!("{position} += {step}") };
                        format!("int64_t {position} = {start}; {position} < {end}; {next}")
                    };
                    self.line(&format!("for ({head}) {{"));
                    self.nested(body);
                    self.line("}");
                }
                Statement::While { position, end, body } => {
                    let end = self.full(end, 5);
                    self.line(&format!("while ({position} < {end}) {{"));
                    self.nested(body);
                    self.line("}");
                }
                Statement::If { condition, yes, no } => {
                    let c = self.full(condition, LOOSE);
                    self.line(&format!("if ({c}) {{"));
                    self.nested(yes);
                    if let Some(no) = no {
                        self.line("} else {");
                        self.nested(no);
                    }
                    self.line("}");
                }
                Statement::Fail { bad, error, number, value, bound } => {
                    let vector = self.f.node(bad).ty.lanes > 1;
                    let [b, e, v, n] = [bad, error, value, bound].map(|x| self.full(x, LOOSE));
                    if vector {
                        self.called.insert("any".into());
                        self.called.insert("first_of".into());
                        self.line(&format!(
                            "if (any({b})) return report({e}, {number}, first_of({b}, {v}), first_of({b}, {n}));"
                        ));
                    } else {
                        self.line(&format!("if ({b}) return report({e}, {number}, {v}, {n});"));
                    }
                    self.called.insert("report".into());
                }
            }
            if self.out.len() > before
                && let Some(text) = comment.take()
            {
                let indent = "  ".repeat(self.depth);
                let lines: String = text.lines().map(|l| format!("{indent}// {l}\n")).collect();
                self.out.insert_str(before, &lines);
            }
        }
    }

    fn define(&mut self, v: Value, block: usize) {
        let k = v.0 as usize;
        if self.uses[k] == 0 {
            return;
        }
        let (text, binding) = self.made(v);
        let node = self.f.node(v);
        let once = self.uses[k] == 1 && self.used_in[k] == Some(block);
        let named = node.name.as_deref().is_some_and(|n| !n.starts_with(|c: char| c.is_ascii_digit()));
        let free = match &node.made {
            Made::Address(..) => text.len() <= LONG && !self.changes(v),
            Made::Splat(_) | Made::Lane(..) => text.len() <= SHORT && !self.changes(v),
            Made::Infix(..) if node.ty == Type::INDEX => text.len() <= SHORT && !self.changes(v) && !named,
            _ => false,
        };
        if free || (once && !node.reads && !named && text.len() <= LONG) {
            self.texts[k] = Some((text, binding));
            return;
        }
        let ty = node.ty;
        let hint = match (&node.name, ty.kind) {
            (Some(name), _) => name.clone(),
            (None, Kind::Int(1)) => "is".into(),
            (None, Kind::Pointer) => "at".into(),
            _ => "t".into(),
        };
        let name = self.f.fresh(&hint, true);
        let ty = if ty.is_mask() || ty.kind == Kind::Pointer { "auto".into() } else { self.type_text(ty) };
        self.line(&format!("const {ty} {name} = {text};"));
        self.texts[k] = Some((name, TIGHT));
    }

    /// Whether what it is made of may be assigned, or be read from memory, other than by a name that is given to it.
    fn changes(&self, v: Value) -> bool {
        if self.texts[v.0 as usize].as_ref().is_some_and(|t| t.1 == TIGHT && !t.0.contains(['(', '['])) {
            return matches!(self.f.node(v).made, Made::Name(_, true));
        }
        let node = self.f.node(v);
        match &node.made {
            Made::Name(_, mutable) => *mutable,
            _ => node.reads || self.f.parts(v).into_iter().any(|p| self.changes(p)),
        }
    }

    // ---- expressions ----

    fn type_text(&mut self, ty: Type) -> String {
        if ty.lanes > 1 {
            self.types.insert((ty.kind, ty.lanes));
        }
        ty.text()
    }

    /// A value whose type can be seen, between operators that bind as tightly as `most` or tighter.
    fn full(&mut self, v: Value, most: Binding) -> String {
        let (text, binding) = match self.texts[v.0 as usize].clone() {
            Some(t) => t,
            None => self.made(v),
        };
        if binding > most { format!("({text})") } else { text }
    }

    /// The same; a scalar stands for lanes that are all the same.
    fn bare(&mut self, v: Value, most: Binding) -> String {
        let node = self.f.node(v);
        if node.ty.lanes > 1
            && !node.ty.is_mask()
            && self.texts[v.0 as usize].as_ref().is_none_or(|t| t.0.contains('('))
        {
            match node.made.clone() {
                Made::Splat(scalar) => return self.full(scalar, most),
                Made::Int(_) | Made::Float(_) => {
                    let (text, binding) = literal(&node.made, Type { lanes: 1, ..node.ty });
                    return if binding > most { format!("({text})") } else { text };
                }
                _ => {}
            }
        }
        self.full(v, most)
    }

    /// Whether a value is the same in all lanes and can be written as a scalar.
    fn is_same(&self, v: Value) -> bool {
        matches!(self.f.node(v).made, Made::Splat(_) | Made::Int(_) | Made::Float(_))
    }

    fn made(&mut self, v: Value) -> (String, Binding) {
        let node = self.f.node(v).clone();
        match &node.made {
            Made::Int(_) | Made::Float(_) => {
                let (text, binding) = literal(&node.made, Type { lanes: 1, ..node.ty });
                if node.ty.lanes == 1 {
                    return (text, binding);
                }
                (format!("{}({text})", self.type_text(node.ty)), TIGHT)
            }
            Made::Name(name, _) => (name.clone(), TIGHT),
            Made::Call(name, args) if node.ty.lanes == 1 && name.starts_with("load<") && self.is_place(args[0]) => {
                (self.place(args[0]), TIGHT)
            }
            Made::Call(name, args) if node.ty.lanes == 1 && name.starts_with("store<") && self.is_place(args[0]) => {
                let (to, value) = (self.place(args[0]), self.full(args[1], LOOSE));
                (format!("{to} = {value}"), LOOSE)
            }
            Made::Call(name, args) => {
                let plain = name.split('<').next().unwrap_or(name);
                self.called.insert(plain.to_string());
                self.template_types(name);
                let mixed = MIXED.contains(&plain)
                    && args
                        .iter()
                        .any(|&a| !self.is_same(a) && self.f.node(a).ty.lanes > 1 && !self.f.node(a).ty.is_mask());
                let texts: Vec<String> =
                    args.iter().map(|&a| if mixed { self.bare(a, LOOSE) } else { self.full(a, LOOSE) }).collect();
                (format!("{name}({})", texts.join(", ")), TIGHT)
            }
            Made::Infix(op, binding, a, b) => {
                let mixed = node.ty.lanes > 1 || self.f.node(*a).ty.lanes > 1;
                // People do not know how tightly these bind.
                let unclear = matches!(*op, "&" | "|" | "^" | ">>");
                let chained = |p: &Self, v: Value| matches!(p.f.node(v).made, Made::Infix(o, ..) if o == *op && p.texts[v.0 as usize].as_ref().is_none_or(|t| t.1 != TIGHT));
                let left = if unclear && !chained(self, *a) { UNARY } else { *binding };
                let right = if unclear { UNARY } else { binding - 1 };
                let (x, y) = match (mixed, self.is_same(*a), self.is_same(*b)) {
                    (true, true, false) => (self.bare(*a, left), self.full(*b, right)),
                    (true, false, true) => (self.full(*a, left), self.bare(*b, right)),
                    _ => (self.full(*a, left), self.full(*b, right)),
                };
                let text = format!("{x} {op} {y}");
                self.called.insert((*op).to_string());
                if node.ty.is_short() { (format!("{}({text})", node.ty.text()), TIGHT) } else { (text, *binding) }
            }
            Made::Prefix(op, a) => {
                let text = self.full(*a, TIGHT);
                self.called.insert(format!("prefix {op}"));
                let text = format!("{op}{text}");
                if node.ty.is_short() { (format!("{}({text})", node.ty.text()), TIGHT) } else { (text, UNARY) }
            }
            Made::Choice(c, a, b) => {
                let [c, a, b] = [*c, *a, *b].map(|x| self.full(x, 11));
                (format!("{c} ? {a} : {b}"), 13)
            }
            Made::Lane(a, k) => (format!("{}[{k}]", self.full(*a, TIGHT)), TIGHT),
            Made::Splat(a) => {
                let inner = self.full(*a, LOOSE);
                (format!("{}({inner})", self.type_text(node.ty)), TIGHT)
            }
            Made::Lanes(all) => {
                let texts: Vec<String> = all.iter().map(|l| l.map_or("0".into(), |l| self.full(l, LOOSE))).collect();
                let ty = self.type_text(node.ty);
                self.called.insert("lanes".into());
                let lane = Type { lanes: 1, ..node.ty }.text();
                (format!("lanes<{ty}, {lane}>({{{}}})", texts.join(", ")), TIGHT)
            }
            Made::Address(base, offset) => {
                let (x, y) = (self.full(*base, 4), self.full(*offset, 4));
                let y = if y.starts_with('-') { format!("({y})") } else { y };
                (format!("{x} + {y}"), 4)
            }
        }
    }

    /// Whether an address is an element of a buffer.
    fn is_place(&self, at: Value) -> bool {
        match &self.f.node(at).made {
            Made::Address(base, _) => self.is_place(*base),
            Made::Name(name, _) => name != "zeros",
            _ => false,
        }
    }

    /// An element of a buffer.
    fn place(&mut self, at: Value) -> String {
        match self.f.node(at).made.clone() {
            Made::Address(base, offset) if self.texts[at.0 as usize].as_ref().is_none_or(|t| t.1 != TIGHT) => {
                let (x, y) = (self.full(base, TIGHT), self.full(offset, LOOSE));
                format!("{x}[{y}]")
            }
            _ => format!("*{}", self.full(at, TIGHT)),
        }
    }

    /// The types that the arguments of a template name.
    fn template_types(&mut self, call: &str) {
        let Some(inside) = call.split_once('<').map(|c| c.1) else { return };
        for word in inside.split(|c: char| !c.is_ascii_alphanumeric()) {
            let found = word.split_at_checked(1).and_then(|(kind, rest)| {
                let (bits, lanes) = rest.split_once('x')?;
                let (bits, lanes) = (bits.parse().ok()?, lanes.parse().ok()?);
                match kind {
                    "f" => Some((Kind::Float(bits), lanes)),
                    "i" => Some((Kind::Int(bits), lanes)),
                    _ => None,
                }
            });
            self.types.extend(found);
        }
    }
}

/// A constant of one lane.
fn literal(made: &Made, ty: Type) -> (String, Binding) {
    let mut text = String::new();
    match (made, ty.kind) {
        (Made::Int(i), Kind::Int(1)) => text.push_str(if *i == 0 { "false" } else { "true" }),
        (Made::Int(i), Kind::Int(64)) if *i == i64::MIN => text.push_str("INT64_MIN"),
        (Made::Int(i), Kind::Int(64)) if *i == i64::MAX => text.push_str("INT64_MAX"),
        (Made::Int(i), Kind::Int(32)) if *i == i64::from(i32::MIN) => text.push_str("INT32_MIN"),
        (Made::Int(i), Kind::Int(64)) if i32::try_from(*i).is_err() => {
            let _ = write!(text, "INT64_C({i})");
        }
        (Made::Int(i), Kind::Pointer) if *i == 0 => text.push_str("nullptr"),
        (Made::Int(i), _) => {
            let _ = write!(text, "{i}");
        }
        (Made::Float(x), kind) => {
            let single = kind == Kind::Float(32);
            if x.is_nan() {
                text.push_str(if single { "__builtin_nanf(\"\")" } else { "__builtin_nan(\"\")" });
            } else if x.is_infinite() {
                text.push_str(if *x < 0.0 { "-" } else { "" });
                text.push_str(if single { "__builtin_inff()" } else { "__builtin_inf()" });
            } else if single {
                let _ = write!(text, "{:?}f", *x as f32);
            } else {
                let _ = write!(text, "{x:?}");
            }
        }
        _ => text.push('0'),
    }
    let binding = if text.starts_with('-') { UNARY } else { TIGHT };
    (text, binding)
}
