//! Ids, nodes and the arena of expressions.

use crate::range::{Range, Ranges};
use std::num::NonZeroU32;

use hashbrown::HashTable;
use rustc_hash::FxHashMap;

/// An expression: an id in the [`Exprs`] that made it. Equal ids are equal canonical forms.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Expr(NonZeroU32);

impl Expr {
    /// The position of the node in its arena. Operands stand before what uses them.
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

impl std::fmt::Debug for Expr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Expr({})", self.0)
    }
}

/// A symbol of an [`Exprs`], such as the `s0` of a symbolic size.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SymId(u32);

/// What an expression varies with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Atom {
    /// A positional index: a loop index, a dimension, or an operand of the op that holds the expression.
    Dim(u32),
    /// A named integer, the same wherever it is written.
    Sym(SymId),
}

/// `coefficient * monomial`, a part of a sum. The monomial is neither a constant nor a sum.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Term {
    /// Never zero.
    pub coefficient: i64,
    /// An atom, a product, a quotient, a remainder, a minimum, a maximum or an unfolded operation.
    pub monomial: Expr,
}

/// `base ** power`, a part of a product. The base is neither a constant nor a product.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Factor {
    /// What is multiplied.
    pub base: Expr,
    /// At least 1.
    pub power: u32,
}

/// The operation of a [`Node::Unfolded`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unfolded {
    /// The sum of the operands.
    Sum,
    /// The product of the operands.
    Product,
    /// The only operand to this power.
    Power(u32),
}

/// What an expression is made of.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// A constant.
    Const(i64),
    /// A positional index.
    Dim(u32),
    /// A symbol.
    Sym(SymId),
    /// The terms, in order, plus a constant. Never a constant alone nor a monomial alone.
    Sum(Box<[Term]>, i64),
    /// Two or more factors, or one with a power above 1.
    Product(Box<[Factor]>),
    /// `floor(left / right)`. A constant right side is positive, or zero where the text said so.
    FloorDiv(Expr, Expr),
    /// `left - right * floor(left / right)`.
    Mod(Expr, Expr),
    /// The least of two or more.
    Min(Box<[Expr]>),
    /// The greatest of two or more.
    Max(Box<[Expr]>),
    /// An operation left as written, because a constant in its result would leave `i64`.
    Unfolded(Unfolded, Box<[Expr]>),
}

/// What is remembered of each node beside the node itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Info {
    /// A hash of the structure, the same in every arena.
    pub hash: u64,
    /// The number of atoms, constants and operations when written as a tree, saturating.
    pub weight: u32,
    /// Bit `d` is set if dimension `d` occurs; bit 63 if any from 63 on does.
    pub dims: u64,
    /// Whether a symbol occurs.
    pub syms: bool,
}

/// The arena of expressions and of the names of symbols.
#[derive(Clone, Default)]
pub struct Exprs {
    nodes: Vec<Node>,
    info: Vec<Info>,
    table: HashTable<u32>,
    names: Vec<String>,
    symbols: FxHashMap<String, SymId>,
    /// The symbols that are no sizes: they may be negative.
    signed: Vec<SymId>,
    pub(crate) quotients: FxHashMap<(Expr, Expr), Expr>,
    /// How deep the calls of `floordiv` and of the search for quotients in sums are.
    pub(crate) dividing: u32,
    pub(crate) recombining: u32,
}

impl std::fmt::Debug for Exprs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Exprs({} nodes, {} symbols)", self.nodes.len(), self.names.len())
    }
}

impl Exprs {
    /// An arena without expressions.
    pub fn new() -> Exprs {
        Exprs::default()
    }

    /// Takes note that a symbol is no size, and may be negative.
    pub fn set_signed(&mut self, symbol: SymId) {
        if !self.is_signed(symbol) {
            self.signed.push(symbol);
        }
    }

    /// Whether a symbol may be negative.
    pub fn is_signed(&self, symbol: SymId) -> bool {
        self.signed.contains(&symbol)
    }

    /// What holds of dimensions and symbols wherever they stand: they are not negative, but for symbols that are no sizes.
    pub fn facts(&self) -> Ranges {
        let mut facts = Ranges::of_sizes(0);
        for &symbol in &self.signed {
            facts.set(Atom::Sym(symbol), Range { lo: None, hi: None });
        }
        facts
    }

    /// How many different nodes were made.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether no node was made.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// What `e` is made of.
    pub fn node(&self, e: Expr) -> &Node {
        &self.nodes[e.index()]
    }

    pub(crate) fn info(&self, e: Expr) -> &Info {
        &self.info[e.index()]
    }

    /// The expression at a position that [`Expr::index`] gave.
    pub(crate) fn at(index: usize) -> Expr {
        let id = u32::try_from(index + 1).expect("fewer than 2^32 expressions fit in memory");
        Expr(NonZeroU32::new(id).expect("one more than an index is not zero"))
    }

    /// The node's id, new or old. The node has to be canonical already.
    pub(crate) fn intern(&mut self, node: Node) -> Expr {
        let info = self.describe(&node);
        let nodes = &self.nodes;
        if let Some(&found) = self.table.find(info.hash, |&i| nodes[i as usize] == node) {
            return Exprs::at(found as usize);
        }
        let e = Exprs::at(self.nodes.len());
        self.nodes.push(node);
        self.info.push(info);
        let infos = &self.info;
        self.table.insert_unique(info.hash, e.index() as u32, |&i| infos[i as usize].hash);
        e
    }

    /// The symbol of that name.
    pub fn sym_id(&mut self, name: &str) -> SymId {
        if let Some(&id) = self.symbols.get(name) {
            return id;
        }
        let id = SymId(u32::try_from(self.names.len()).expect("fewer than 2^32 names fit in memory"));
        self.names.push(name.to_owned());
        self.symbols.insert(name.to_owned(), id);
        id
    }

    /// The name of a symbol.
    pub fn sym_name(&self, id: SymId) -> &str {
        &self.names[id.0 as usize]
    }

    /// The symbol of that name as an expression.
    pub fn sym(&mut self, name: &str) -> Expr {
        let id = self.sym_id(name);
        self.intern(Node::Sym(id))
    }

    /// The positional index `index`.
    pub fn dim(&mut self, index: u32) -> Expr {
        self.intern(Node::Dim(index))
    }

    /// An atom as an expression.
    pub fn atom(&mut self, atom: Atom) -> Expr {
        match atom {
            Atom::Dim(d) => self.dim(d),
            Atom::Sym(s) => self.intern(Node::Sym(s)),
        }
    }

    /// A constant.
    pub fn int(&mut self, value: i64) -> Expr {
        self.intern(Node::Const(value))
    }

    /// The value, if `e` is a constant.
    pub fn as_int(&self, e: Expr) -> Option<i64> {
        match self.node(e) {
            Node::Const(c) => Some(*c),
            _ => None,
        }
    }

    /// The atom, if `e` is one.
    pub fn as_atom(&self, e: Expr) -> Option<Atom> {
        match self.node(e) {
            Node::Dim(d) => Some(Atom::Dim(*d)),
            Node::Sym(s) => Some(Atom::Sym(*s)),
            _ => None,
        }
    }

    /// Whether any dimension occurs in `e`.
    pub fn has_dims(&self, e: Expr) -> bool {
        self.info(e).dims != 0
    }

    /// Whether any symbol occurs in `e`.
    pub fn has_syms(&self, e: Expr) -> bool {
        self.info(e).syms
    }
}
