//! Values of emitted C++ before they are text: what each is made of, in which block it is defined, and what it is called.

use std::collections::BTreeSet;

/// A value: its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Value(pub u32);

/// What an element is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// An integer of so many bits, a truth value for 1.
    Int(u32),
    /// A float of so many bits. One of 16 is held as its bits.
    Float(u32),
    /// A pointer.
    Pointer,
}

/// The type of a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Type {
    /// Its elements.
    pub kind: Kind,
    /// How many there are; 1 for a scalar.
    pub lanes: u32,
}

impl Type {
    /// `int64_t`.
    pub const INDEX: Type = Type { kind: Kind::Int(64), lanes: 1 };

    /// The type in C++. Of a mask it is the one of masks over 32-bit elements, into which others are converted.
    pub fn text(self) -> String {
        let scalar = match self.kind {
            Kind::Int(1) => "bool",
            Kind::Int(8) => "int8_t",
            Kind::Int(16) | Kind::Float(16) => "int16_t",
            Kind::Int(32) => "int32_t",
            Kind::Int(_) => "int64_t",
            Kind::Float(32) => "float",
            Kind::Float(_) => "double",
            Kind::Pointer => "char *",
        };
        if self.lanes == 1 {
            return scalar.to_string();
        }
        let n = self.lanes;
        match self.kind {
            Kind::Int(1) => format!("Mask<4, {n}>"),
            Kind::Float(bits) if bits > 16 => format!("f{bits}x{n}"),
            Kind::Int(bits) | Kind::Float(bits) => format!("i{bits}x{n}"),
            Kind::Pointer => scalar.to_string(),
        }
    }

    /// A mask.
    pub fn is_mask(self) -> bool {
        self.kind == Kind::Int(1) && self.lanes > 1
    }

    /// An integer of less than 32 bits: arithmetic gives an `int`.
    pub fn is_short(self) -> bool {
        self.lanes == 1 && matches!(self.kind, Kind::Int(8 | 16) | Kind::Float(16))
    }
}

/// How tightly the outermost operator of a text binds: the lower the tighter.
pub type Binding = u8;

/// A name, a literal, a call.
pub const TIGHT: Binding = 0;
/// `-a`.
pub const UNARY: Binding = 1;
/// Anything, as between parentheses.
pub const LOOSE: Binding = 16;

/// What a value is made of.
#[derive(Clone, Debug)]
pub enum Made {
    /// An integer, the same in all lanes.
    Int(i64),
    /// A float, the same in all lanes.
    Float(f64),
    /// A name that is declared: a parameter, a loop's position, what is carried. It may be assigned (`true`).
    Name(String, bool),
    /// `name(args)`.
    Call(String, Vec<Value>),
    /// `a op b`.
    Infix(&'static str, Binding, Value, Value),
    /// `op a`.
    Prefix(&'static str, Value),
    /// `c ? a : b`.
    Choice(Value, Value, Value),
    /// `a[k]`.
    Lane(Value, u32),
    /// All lanes the same.
    Splat(Value),
    /// Lanes one after the other; None where any value will do.
    Lanes(Vec<Option<Value>>),
    /// `base + offset`, in elements.
    Address(Value, Value),
}

/// A value.
#[derive(Clone, Debug)]
pub struct Node {
    pub ty: Type,
    pub made: Made,
    /// What the model calls it.
    pub name: Option<String>,
    /// It reads memory: it stays where it was built.
    pub reads: bool,
    /// The block in which it was built.
    pub block: usize,
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Statement {
    /// A value is computed here, if anything needs it.
    Define(Value),
    /// A line of text.
    Line(String),
    /// An expression for its effect.
    Do(Value),
    /// What the statements that follow are for.
    Comment(String),
    /// `for (int64_t name = start; condition; name += step) { body }`.
    For { position: String, counted: Counted, body: usize },
    /// `while (position < end) { body }`.
    While { position: String, end: Value, body: usize },
    /// `if (condition) { yes } else { no }`.
    If { condition: Value, yes: usize, no: Option<usize> },
    /// A variable with its first value; none is needed where it is assigned before it is read.
    Declare { name: String, ty: Type, value: Option<Value> },
    /// `name = value`.
    Assign { name: String, value: Value },
    /// Reports and returns where the value is true.
    Fail { bad: Value, error: Value, number: i64, value: Value, bound: Value },
}

/// The head of a counted loop.
#[derive(Clone, Debug)]
pub struct Counted {
    pub first: Value,
    pub start: Value,
    pub end: Value,
    pub step: i64,
    pub reverse: bool,
}

/// A function under construction.
#[derive(Default, Debug)]
pub struct Function {
    pub nodes: Vec<Node>,
    pub blocks: Vec<Vec<Statement>>,
    /// The block that statements go to.
    pub here: usize,
    /// Names that stand somewhere in the function.
    pub names: BTreeSet<String>,
    /// Names that mean something here, in the order in which they got a meaning.
    pub seen: Vec<String>,
    /// What is said about the next statement, and what was said last in each block.
    pub about: String,
    pub said: Vec<String>,
    /// The line of the last comment.
    pub nowhere: Option<(Value, Value)>,
}

impl Function {
    /// With an empty body.
    pub fn new() -> Function {
        Function { blocks: vec![Vec::new()], said: vec![String::new()], ..Function::default() }
    }

    /// A new block.
    pub fn block(&mut self) -> usize {
        self.blocks.push(Vec::new());
        self.said.push(String::new());
        self.blocks.len() - 1
    }

    /// A name like `hint` that nothing else has that means something here. Once all is built (`late`), that nothing else in the function has.
    pub fn fresh(&mut self, hint: &str, late: bool) -> String {
        let base = super::names::identifier(hint);
        let mut name = base.clone();
        let mut n = 0;
        while super::names::is_taken(&name) || self.seen.contains(&name) || (late && self.names.contains(&name)) {
            n += 1;
            name = format!("{base}_{n}");
        }
        self.seen.push(name.clone());
        if !late {
            self.names.insert(name.clone());
        }
        name
    }

    /// A value that is built here.
    pub fn push(&mut self, ty: Type, made: Made, reads: bool) -> Value {
        let v = Value(self.nodes.len() as u32);
        let block = self.here;
        let leaf = matches!(made, Made::Int(_) | Made::Float(_) | Made::Name(..));
        self.nodes.push(Node { ty, made, name: None, reads, block });
        if !leaf {
            self.say();
            self.blocks[block].push(Statement::Define(v));
        }
        v
    }

    /// A statement here.
    pub fn statement(&mut self, s: Statement) {
        self.say();
        self.blocks[self.here].push(s);
    }

    /// Puts what is to be said about the code that follows before it.
    fn say(&mut self) {
        if !self.about.is_empty() && self.said[self.here] != self.about {
            self.said[self.here].clone_from(&self.about);
            let text = self.about.clone();
            self.blocks[self.here].push(Statement::Comment(text));
        }
    }

    /// A value.
    pub fn node(&self, v: Value) -> &Node {
        &self.nodes[v.0 as usize]
    }

    /// What a value is made of.
    pub fn parts(&self, v: Value) -> Vec<Value> {
        match &self.node(v).made {
            Made::Int(_) | Made::Float(_) | Made::Name(..) => Vec::new(),
            Made::Call(_, args) => args.clone(),
            Made::Infix(_, _, a, b) | Made::Address(a, b) => vec![*a, *b],
            Made::Prefix(_, a) | Made::Lane(a, _) | Made::Splat(a) => vec![*a],
            Made::Choice(c, a, b) => vec![*c, *a, *b],
            Made::Lanes(all) => all.iter().flatten().copied().collect(),
        }
    }
}
