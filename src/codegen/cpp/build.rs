//! C++ as what the shared emitter of kernels builds with.
//!
//! Index arithmetic is folded where it is constant, since the emitter asks what is known; all else is left to the C++ compiler.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::node::{Counted, Function, Kind, Made, Statement, Type, Value};
use super::print::Printer;
use crate::codegen::vector::build::{
    self, Binary, Build, Convert, FloatPredicate, IntPredicate, Machine, Math, Opened,
};
use crate::ir::{Ir, Op};
use rinductor_support::FxHashMap;

/// The builder of a file.
pub struct CppBuild {
    machine: Machine,
    state: RefCell<State>,
    /// What is said of an op.
    about: fn(&Ir, Op) -> String,
}

/// What was built so far.
#[derive(Default)]
pub struct State {
    /// The function under construction.
    pub function: Function,
    /// Functions that kernels call, by name, in the order in which they were finished.
    pub placed: Vec<(String, String)>,
    /// The names of functions by what they are of.
    known: BTreeMap<String, String>,
    /// The types and the functions of the file.
    pub types: BTreeSet<(Kind, u32)>,
    pub called: BTreeSet<String>,
    /// Functions of C that are called: name and type.
    pub externals: BTreeMap<String, String>,
    /// Constants that were built in the function, so that equal ones are one value.
    constants: FxHashMap<(Type, i64), Value>,
}

/// A loop or a branch that is being built.
pub struct Open {
    outside: usize,
    inside: usize,
    other: Option<usize>,
    /// The variables of what is carried, and of where it stands.
    carried: Vec<String>,
    position: String,
    counted: Option<Counted>,
    kind: Shape,
    /// How many names meant something where it was opened.
    seen: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Loop,
    Once,
    Step(Option<Value>),
    Rows,
    Full(Value),
}

pub(super) const INDEX: Type = Type::INDEX;
pub(super) const TRUTH: Type = Type { kind: Kind::Int(1), lanes: 1 };

impl CppBuild {
    /// A builder of a new file.
    pub fn new(machine: Machine, about: fn(&Ir, Op) -> String) -> CppBuild {
        CppBuild { machine, state: RefCell::default(), about }
    }

    /// Starts a function with parameters of these names.
    pub fn start(&self, names: &[String]) {
        self.with(|s| {
            s.function = Function::new();
            s.function.names.extend(names.iter().cloned());
            s.function.seen.extend(names.iter().cloned());
            s.constants.clear();
        });
    }

    /// A parameter of the function.
    pub fn parameter(&self, name: &str, ty: Type) -> Value {
        self.push(ty, Made::Name(name.to_string(), false))
    }

    /// The text of the function's body, which gives `result` if it gives anything.
    pub fn finish(&self, result: Option<Value>) -> String {
        self.with(|s| {
            let mut f = std::mem::take(&mut s.function);
            let (text, types, called) = Printer::new(&mut f, result).body(result);
            s.types.extend(types);
            s.called.extend(called);
            s.constants.clear();
            text
        })
    }

    /// A name like `hint` for a parameter.
    pub fn fresh_name(&self, hint: &str) -> String {
        self.fresh(hint)
    }

    /// What was built.
    pub fn state(self) -> State {
        self.state.into_inner()
    }

    pub(super) fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.state.borrow_mut())
    }
    pub(super) fn push(&self, ty: Type, made: Made) -> Value {
        self.with(|s| s.function.push(ty, made, false))
    }
    pub(super) fn ty(&self, v: Value) -> Type {
        self.with(|s| s.function.node(v).ty)
    }
    pub(super) fn made(&self, v: Value) -> Made {
        self.with(|s| s.function.node(v).made.clone())
    }
    pub(super) fn call(&self, ty: Type, name: impl Into<String>, args: &[Value]) -> Value {
        self.push(ty, Made::Call(name.into(), args.to_vec()))
    }
    fn read(&self, ty: Type, name: impl Into<String>, args: &[Value]) -> Value {
        self.with(|s| s.function.push(ty, Made::Call(name.into(), args.to_vec()), true))
    }
    pub(super) fn infix(&self, ty: Type, op: &'static str, a: Value, b: Value) -> Value {
        let binding = match op {
            "*" | "/" | "%" => 3,
            "+" | "-" => 4,
            "<<" | ">>" => 5,
            "<" | "<=" | ">" | ">=" => 6,
            "==" | "!=" => 7,
            "&" => 8,
            "^" => 9,
            _ => 10,
        };
        self.push(ty, Made::Infix(op, binding, a, b))
    }
    fn name(&self, ty: Type, name: String, mutable: bool) -> Value {
        self.push(ty, Made::Name(name, mutable))
    }
    fn go(&self, block: usize) -> usize {
        self.with(|s| std::mem::replace(&mut s.function.here, block))
    }
    fn statement(&self, statement: Statement) {
        self.with(|s| s.function.statement(statement));
    }
    fn block(&self) -> usize {
        self.with(|s| s.function.block())
    }
    fn here(&self) -> usize {
        self.with(|s| s.function.here)
    }
    fn fresh(&self, hint: &str) -> String {
        self.with(|s| s.function.fresh(hint, false))
    }
    /// How many names mean something here.
    fn seen(&self) -> usize {
        self.with(|s| s.function.seen.len())
    }
    /// Names that came later mean nothing any more.
    fn forget(&self, seen: usize) {
        self.with(|s| s.function.seen.truncate(seen));
    }
    /// Both as constants.
    pub(super) fn constants(&self, a: Value, b: Value) -> Option<(i64, i64)> {
        self.as_const(a).zip(self.as_const(b))
    }
    /// The name of a function of scalars; of vectors it is the name alone.
    pub(super) fn typed(&self, name: &str, ty: Type) -> String {
        if ty.lanes > 1 { name.to_string() } else { format!("{name}<{}>", ty.text()) }
    }

    /// Declares the variables of what is carried into a loop or a branch.
    fn variables(&self, carried: &[Value], hint: &str) -> (Vec<String>, Vec<Value>) {
        let mut names = Vec::new();
        let mut values = Vec::new();
        for &c in carried {
            let (ty, name) = (self.ty(c), self.fresh(hint));
            self.statement(Statement::Declare { name: name.clone(), ty, value: Some(c) });
            values.push(self.name(ty, name.clone(), true));
            names.push(name);
        }
        (names, values)
    }

    /// Assigns all at once: what reads a variable that is assigned before is computed before.
    fn assign(&self, names: &[String], new: &[Value]) {
        let mut values = Vec::new();
        for (k, &v) in new.iter().enumerate() {
            let from_other = matches!(self.made(v), Made::Name(n, true) if n != names[k] && names.contains(&n));
            let needs = names.len() > 1
                && (from_other || !matches!(self.made(v), Made::Name(..) | Made::Int(_) | Made::Float(_)));
            values.push(if needs {
                let (ty, name) = (self.ty(v), self.fresh("next"));
                self.statement(Statement::Declare { name: name.clone(), ty, value: Some(v) });
                self.name(ty, name, false)
            } else {
                v
            });
        }
        for (name, value) in names.iter().zip(values) {
            self.statement(Statement::Assign { name: name.clone(), value });
        }
    }

    /// What variables hold from here on.
    fn held(&self, names: &[String], like: &[Value]) -> Vec<Value> {
        names.iter().zip(like).map(|(n, &v)| self.name(self.ty(v), n.clone(), true)).collect()
    }

    /// A function of C, declared.
    fn external(&self, name: &str, result: Type, args: &[Value]) -> String {
        let types: Vec<String> = args.iter().map(|&a| Type { lanes: 1, ..self.ty(a) }.text()).collect();
        let text = format!("{} {name}({})", Type { lanes: 1, ..result }.text(), types.join(", "));
        if let Some(own) = super::library::of(name) {
            self.with(|s| s.called.insert(own.to_string()));
            return own.to_string();
        }
        self.with(|s| s.externals.insert(name.to_string(), text));
        format!("::{name}")
    }
}

impl Build for CppBuild {
    type V = Value;
    type T = Type;
    type Enter = usize;
    type Place = usize;
    type Open = Open;
    const NAME: &'static str = "C++";

    fn machine(&self) -> Machine {
        self.machine
    }
    fn about(&self, ir: &Ir, op: Op) {
        let text = (self.about)(ir, op);
        if !text.is_empty() {
            self.with(|s| s.function.about = text);
        }
    }

    fn int_type(&self, bits: u32, lanes: u32) -> Type {
        Type { kind: Kind::Int(bits), lanes }
    }
    fn float_type(&self, bits: u32, lanes: u32) -> Type {
        Type { kind: Kind::Float(bits), lanes }
    }
    fn ptr_type(&self) -> Type {
        Type { kind: Kind::Pointer, lanes: 1 }
    }
    fn vector_of(&self, t: Type, lanes: u32) -> Type {
        if t.lanes == 1 { Type { lanes, ..t } } else { t }
    }
    fn lanes_of(&self, t: Type) -> u32 {
        t.lanes
    }
    fn lane_type(&self, t: Type) -> Type {
        Type { lanes: 1, ..t }
    }
    fn type_of(&self, v: Value) -> Type {
        self.ty(v)
    }
    fn int(&self, t: Type, value: i64) -> Value {
        let value = match t.kind {
            Kind::Int(1) => value & 1,
            Kind::Int(bits) if bits < 64 => value << (64 - bits) >> (64 - bits),
            _ => value,
        };
        if let Some(v) = self.with(|s| s.constants.get(&(t, value)).copied()) {
            return v;
        }
        let v = self.push(t, Made::Int(value));
        self.with(|s| s.constants.insert((t, value), v));
        v
    }
    fn float(&self, t: Type, value: f64) -> Value {
        self.push(t, Made::Float(if t.kind == Kind::Float(32) { f64::from(value as f32) } else { value }))
    }
    fn zero(&self, t: Type) -> Value {
        match t.kind {
            Kind::Float(32 | 64) => self.float(t, 0.0),
            _ => self.int(t, 0),
        }
    }
    fn iota(&self, bits: u32, lanes: u32) -> Value {
        let t = self.int_type(bits, lanes);
        if lanes == 1 { self.int(t, 0) } else { self.call(t, format!("iota<{}>", t.text()), &[]) }
    }
    fn as_const(&self, v: Value) -> Option<i64> {
        self.with(|s| match s.function.node(v) {
            n if n.ty.lanes > 1 => None,
            n => {
                if let Made::Int(i) = n.made {
                    Some(i)
                } else {
                    None
                }
            }
        })
    }
    fn as_truth(&self, v: Value) -> Option<bool> {
        self.as_const(v).map(|i| i != 0)
    }
    fn poison(&self, t: Type) -> Value {
        if t.lanes == 1 { self.zero(t) } else { self.push(t, Made::Lanes(vec![None; t.lanes as usize])) }
    }

    fn binop(&self, op: Binary, a: Value, b: Value) -> Value {
        self.binary(op, a, b)
    }
    fn iadd(&self, a: Value, b: Value) -> Value {
        match (self.as_const(a), self.as_const(b)) {
            (Some(x), Some(y)) => self.int(self.ty(a), x.wrapping_add(y)),
            (Some(0), _) => b,
            (_, Some(0)) => a,
            (None, Some(y)) if y < 0 && self.ty(a) == INDEX => self.infix(INDEX, "-", a, self.i64(-y)),
            _ => self.infix(self.ty(a), "+", a, b),
        }
    }
    fn isub(&self, a: Value, b: Value) -> Value {
        match (self.as_const(a), self.as_const(b)) {
            (Some(x), Some(y)) => self.int(self.ty(a), x.wrapping_sub(y)),
            (_, Some(0)) => a,
            _ => self.infix(self.ty(a), "-", a, b),
        }
    }
    fn imul(&self, a: Value, b: Value) -> Value {
        match (self.as_const(a), self.as_const(b)) {
            (Some(x), Some(y)) => self.int(self.ty(a), x.wrapping_mul(y)),
            (Some(1), _) => b,
            (_, Some(1)) => a,
            (Some(0), _) => a,
            (_, Some(0)) => b,
            (Some(_), None) => self.infix(self.ty(a), "*", b, a),
            _ => self.infix(self.ty(a), "*", a, b),
        }
    }
    fn fneg(&self, a: Value) -> Value {
        self.push(self.ty(a), Made::Prefix("-", a))
    }
    fn icmp(&self, p: IntPredicate, a: Value, b: Value) -> Value {
        self.compared(p, a, b)
    }
    fn fcmp(&self, p: FloatPredicate, a: Value, b: Value) -> Value {
        self.float_compared(p, a, b)
    }
    fn select(&self, c: Value, a: Value, b: Value) -> Value {
        self.selected(c, a, b)
    }
    fn cast(&self, op: Convert, v: Value, to: Type) -> Value {
        self.converted(op, v, to)
    }
    fn named(&self, v: Value, name: Option<&str>) -> Value {
        if let Some(name) = name {
            self.with(|s| {
                let node = &mut s.function.nodes[v.0 as usize];
                if node.name.is_none() && !matches!(node.made, Made::Int(_) | Made::Float(_) | Made::Name(..)) {
                    node.name = Some(name.to_string());
                }
            });
        }
        v
    }
    fn scaled(&self, x: Value, i: Value) -> Option<Value> {
        Some(self.call(self.ty(x), "scaled", &[x, i]))
    }
    fn turns(&self) -> bool {
        true
    }
    fn turned(&self, rows: &[Value]) -> Option<Vec<Value>> {
        // Blocks of two, then of four, …: each round swaps the off-diagonal halves of the blocks.
        let mut rows = rows.to_vec();
        let mut half = 1;
        while half < rows.len() {
            for i in (0..rows.len()).filter(|i| i & half == 0) {
                let (a, b, t) = (rows[i], rows[i + half], self.ty(rows[i]));
                rows[i] = self.call(t, format!("upper<{half}>"), &[a, b]);
                rows[i + half] = self.call(t, format!("lower<{half}>"), &[a, b]);
            }
            half *= 2;
        }
        Some(rows)
    }
    fn table(&self, entries: &[f64; 16], i: Value) -> Option<Value> {
        let one = self.float_type(32, 1);
        let entries = entries.iter().map(|&e| Some(self.float(one, e))).collect();
        let table = self.push(Type { lanes: 16, ..one }, Made::Lanes(entries));
        Some(self.call(Type { kind: Kind::Float(32), ..self.ty(i) }, "table", &[table, i]))
    }
    fn math(&self, f: Math, args: &[Value]) -> Value {
        self.function_of(f, args)
    }

    fn splat(&self, v: Value, lanes: u32) -> Value {
        let t = self.ty(v);
        if lanes == 1 || t.lanes > 1 {
            return v;
        }
        let wide = Type { lanes, ..t };
        match self.made(v) {
            Made::Int(i) => self.int(wide, i),
            Made::Float(x) => self.float(wide, x),
            _ => self.push(wide, Made::Splat(v)),
        }
    }
    fn extract(&self, v: Value, lane: u32) -> Value {
        let t = self.ty(v);
        if t.lanes == 1 {
            return v;
        }
        let one = Type { lanes: 1, ..t };
        match self.made(v) {
            Made::Splat(s) => s,
            Made::Int(i) => self.int(one, i),
            Made::Float(x) => self.float(one, x),
            Made::Lanes(all) if all[lane as usize].is_some() => all[lane as usize].expect("it was looked at"),
            _ => self.push(one, Made::Lane(v, lane)),
        }
    }
    fn insert(&self, v: Value, one: Value, lane: u32) -> Value {
        self.inserted(v, one, lane)
    }
    fn slice(&self, v: Value, start: u32, count: u32) -> Value {
        self.sliced(v, start, count)
    }

    fn element_ptr(&self, _: Type, base: Value, offset: Value) -> Value {
        if self.as_const(offset) == Some(0) {
            return base;
        }
        let t = self.ty(base);
        self.push(t, Made::Address(base, offset))
    }
    fn load(&self, t: Type, ptr: Value, _: u32) -> Value {
        self.read(t, format!("load<{}>", t.text()), &[ptr])
    }
    fn store(&self, v: Value, ptr: Value, _: u32) {
        let t = self.ty(v);
        let name = if t.lanes > 1 { "store".to_string() } else { format!("store<{}>", t.text()) };
        let call = self.call(t, name, &[ptr, v]);
        self.done(call);
    }
    fn masked_load(&self, t: Type, ptr: Value, mask: Value, _: u32) -> Value {
        self.read(t, format!("load_masked<{}>", t.text()), &[ptr, mask])
    }
    fn masked_store(&self, v: Value, ptr: Value, mask: Value, _: u32) {
        let call = self.call(self.ty(v), "store_masked", &[ptr, v, mask]);
        self.done(call);
    }
    fn nowhere(&self, bytes: u32) -> (Value, Value) {
        if let Some(found) = self.with(|s| s.function.nowhere) {
            return found;
        }
        let scratch = self.fresh("scratch");
        let p = self.ptr_type();
        let found = (self.name(p, "zeros".into(), false), self.name(p, scratch.clone(), false));
        self.with(|s| {
            s.called.insert("pick".into());
            s.function.nowhere = Some(found);
            // Before everything else.
            let text = format!("alignas(64) char {scratch}[{bytes}];");
            s.function.blocks[0].insert(0, Statement::Line(text));
        });
        found
    }
    fn local(&self, element: Type, count: u32) -> Value {
        let own = self.fresh("own");
        let found = self.name(self.ptr_type(), own.clone(), false);
        // Before everything else.
        let text = format!("alignas(64) {} {own}[{count}];", element.text());
        self.with(|s| s.function.blocks[0].insert(0, Statement::Line(text)));
        found
    }
    fn atomic(
        &self,
        name: &str,
        bits: Type,
        memory: Type,
        ptr: Value,
        v: Value,
        update: impl FnOnce(&Self, Value, Value) -> Value,
    ) {
        let (p, held) = (self.ptr_type(), self.ty(v));
        let name = self.function(&format!("{name}!"), name, |b, own| {
            b.start(&["at".into(), "value".into(), "old".into()]);
            let old = b.parameter("old", bits);
            let value = b.parameter("value", held);
            let seen = b.bitcast(old, memory);
            let new = b.bitcast(update(b, seen, value), bits);
            let body = b.finish(Some(new));
            let t = bits.text();
            format!(
                "// Combines what stands in memory with a value, until no other thread came between.\n\
                 static inline {t} {own}_of({t} old, {held} value) {{\n{body}}}\n\
                 static inline void {own}(void *at, {held} value) {{\n  typedef {t} __attribute__((may_alias)) Element;\n  \
                 Element *to = (Element *)at;\n  Element old = *to;\n  \
                 while (!__atomic_compare_exchange_n(to, &old, {own}_of(old, value), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {{\n  }}\n}}\n",
                held = held.text(),
            )
        });
        let call = self.call(p, name, &[ptr, v]);
        self.done(call);
    }

    fn by_lane(&self, name: &str, result: Type, args: &[Value]) -> Value {
        let name = self.external(name, result, args);
        let lanes = args.iter().map(|&a| self.ty(a).lanes).max().unwrap_or(1);
        if lanes == 1 {
            return self.call(result, name, args);
        }
        let t = Type { lanes, ..result };
        let f = self.push(self.ptr_type(), Made::Name(name, false));
        let all: Vec<Value> = std::iter::once(f).chain(args.iter().copied()).collect();
        self.call(t, format!("each<{}>", t.text()), &all)
    }
    fn placed(&self, name: &str, args: &[Value], result: Type, body: impl FnOnce(&Self, &[Value]) -> Value) -> Value {
        let types: Vec<Type> = args.iter().map(|&a| self.ty(a)).collect();
        let key = format!("{name} {types:?}");
        let name = self.function(&key, name, |b, own| {
            let names: Vec<String> = ["x", "y", "z"].iter().take(types.len()).map(|n| (*n).to_string()).collect();
            b.start(&names);
            let params: Vec<Value> = names.iter().zip(&types).map(|(n, &t)| b.parameter(n, t)).collect();
            let v = body(b, &params);
            let text = b.finish(Some(v));
            let list: Vec<String> = names.iter().zip(&types).map(|(n, t)| format!("{} {n}", t.text())).collect();
            b.with(|s| {
                s.types.extend(types.iter().chain([&result]).filter(|t| t.lanes > 1).map(|t| (t.kind, t.lanes)))
            });
            format!("static inline {} {own}({}) {{\n{text}}}\n", result.text(), list.join(", "))
        });
        self.call(result, name, args)
    }

    fn go_before(&self, enter: usize) -> usize {
        self.go(enter)
    }
    fn go_back(&self, place: usize) {
        self.go(place);
    }
    fn open_steps(&self, _: Value, _: Value) -> usize {
        // Who calls a kernel has a step.
        let (outside, inside) = (self.here(), self.block());
        self.go(inside);
        outside
    }
    fn close_steps(&self) {
        let inside = self.go(0);
        self.with(|s| {
            let statements = std::mem::take(&mut s.function.blocks[inside]);
            for s in &mut s.function.nodes {
                if s.block == inside {
                    s.block = 0;
                }
            }
            s.function.blocks[0].extend(statements);
        });
    }
    fn open_loop(&self, name: &str, c: build::Counted<Value>, carried: &[Value]) -> Opened<Self> {
        let outside = self.here();
        let mut seen = self.seen();
        let (names, values, at, position) = if c.once {
            (Vec::new(), carried.to_vec(), c.start, String::new())
        } else {
            let (names, values) = self.variables(carried, "acc");
            let position = self.fresh(name);
            seen = self.seen() - 1;
            let at = self.name(INDEX, position.clone(), false);
            (names, values, at, position)
        };
        let inside = self.block();
        self.go(inside);
        let counted = Counted { first: c.first, start: c.start, end: c.end, step: c.step, reverse: c.reverse };
        let kind = if c.once { Shape::Once } else { Shape::Loop };
        let open = Open { outside, inside, other: None, carried: names, position, counted: Some(counted), kind, seen };
        Opened { open, enter: outside, at, carried: values }
    }
    fn close_loop(&self, open: Open, new: &[Value]) -> Vec<Value> {
        if open.kind == Shape::Once {
            // What is carried has to be seen after it: no block of its own.
            self.splice(open.outside, open.inside);
            return new.to_vec();
        }
        self.assign(&open.carried, new);
        self.forget(open.seen);
        self.go(open.outside);
        let counted = open.counted.expect("a loop counts");
        self.statement(Statement::For { position: open.position, counted, body: open.inside });
        self.held(&open.carried, new)
    }
    fn open_step(&self, _: &str, at: Value, end: Value, runs: bool, carried: &[Value]) -> (Open, usize) {
        let outside = self.here();
        let condition = (!runs).then(|| self.icmp(IntPredicate::SLT, at, end));
        let (names, _) = if runs { (Vec::new(), Vec::new()) } else { self.variables(carried, "acc") };
        let (inside, seen) = (self.block(), self.seen());
        self.go(inside);
        let kind = Shape::Step(condition);
        (
            Open { outside, inside, other: None, carried: names, position: String::new(), counted: None, kind, seen },
            outside,
        )
    }
    fn close_step(&self, open: Open, new: &[Value]) -> Vec<Value> {
        let Shape::Step(Some(condition)) = open.kind else {
            self.splice(open.outside, open.inside);
            return new.to_vec();
        };
        self.assign(&open.carried, new);
        self.forget(open.seen);
        self.go(open.outside);
        self.statement(Statement::If { condition, yes: open.inside, no: None });
        self.held(&open.carried, new)
    }
    fn open_rows(&self, begin: Value, positions: &[Value]) -> Opened<Self> {
        let outside = self.here();
        let (mut names, values) = self.variables(&[begin], "step");
        let position = names[0].clone();
        let (more, carried) = self.variables(positions, "at");
        names.extend(more);
        let (inside, seen) = (self.block(), self.seen());
        self.go(inside);
        let at = values[0];
        let open =
            Open { outside, inside, other: None, carried: names, position, counted: None, kind: Shape::Rows, seen };
        Opened { open, enter: outside, at, carried }
    }
    fn close_rows(&self, open: Open, next: Value, positions: &[Value], end: Value) {
        let new: Vec<Value> = std::iter::once(next).chain(positions.iter().copied()).collect();
        self.assign(&open.carried, &new);
        self.forget(open.seen);
        self.go(open.outside);
        self.statement(Statement::While { position: open.position, end, body: open.inside });
    }
    fn open_full(&self, c: Value) -> (Open, usize) {
        let outside = self.here();
        let (inside, other) = (self.block(), self.block());
        self.go(inside);
        let open = Open {
            outside,
            inside,
            other: Some(other),
            carried: Vec::new(),
            position: String::new(),
            counted: None,
            kind: Shape::Full(c),
            seen: self.seen(),
        };
        (open, outside)
    }
    fn otherwise(&self, open: &Open) {
        self.forget(open.seen);
        self.go(open.other.expect("a branch has two sides"));
    }
    fn close_full(&self, open: Open) {
        self.forget(open.seen);
        self.go(open.outside);
        if let Shape::Full(condition) = open.kind {
            self.statement(Statement::If { condition, yes: open.inside, no: open.other });
        }
    }
    fn either(&self, c: Value, yes: impl FnOnce() -> Value, no: impl FnOnce() -> Value) -> Value {
        let outside = self.here();
        let name = self.fresh("chosen");
        let (a, b) = (self.block(), self.block());
        self.go(a);
        let v = yes();
        self.statement(Statement::Assign { name: name.clone(), value: v });
        self.go(b);
        let w = no();
        self.statement(Statement::Assign { name: name.clone(), value: w });
        self.go(outside);
        let ty = self.ty(v);
        self.statement(Statement::Declare { name: name.clone(), ty, value: None });
        self.statement(Statement::If { condition: c, yes: a, no: Some(b) });
        self.name(ty, name, true)
    }
    fn fail_if(&self, bad: Value, error: Value, number: i64, value: Value, bound: Value) {
        self.statement(Statement::Fail { bad, error, number, value, bound });
    }
}

impl CppBuild {
    /// A call for its effect.
    fn done(&self, call: Value) {
        self.with(|s| {
            s.function.blocks[s.function.here].pop();
            s.function.statement(Statement::Do(call));
        });
    }

    /// A half as its bits, or the other way round: it is held as them.
    pub(super) fn retyped(&self, v: Value, to: Type) -> Value {
        self.call(to, if to.lanes > 1 { to.text() } else { "int16_t".into() }, &[v])
    }

    /// Puts a block that runs once in place.
    fn splice(&self, outside: usize, inside: usize) {
        self.go(outside);
        self.with(|s| {
            let statements = std::mem::take(&mut s.function.blocks[inside]);
            for n in &mut s.function.nodes {
                if n.block == inside {
                    n.block = outside;
                }
            }
            s.function.blocks[outside].extend(statements);
        });
    }

    /// The name of a function of the file that is made the first time.
    fn function(&self, key: &str, hint: &str, make: impl FnOnce(&Self, &str) -> String) -> String {
        if let Some(name) = self.with(|s| s.known.get(key).cloned()) {
            return name;
        }
        let base = super::names::identifier(hint);
        // Functions of different vectors may have one name.
        let name = if super::prelude::is_name(&base) || key.ends_with('!') { format!("{base}_of") } else { base };
        self.with(|s| s.known.insert(key.to_string(), name.clone()));
        let saved = self.with(|s| (std::mem::take(&mut s.function), std::mem::take(&mut s.constants)));
        let text = make(self, &name);
        self.with(|s| {
            (s.function, s.constants) = saved;
            s.placed.push((name.clone(), text));
        });
        name
    }
}
