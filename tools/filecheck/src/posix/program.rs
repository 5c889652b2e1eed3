//! The instructions that an expression compiles to, with the tree of places in them that captures are found by.

use super::class::ByteSet;
use super::parse::{Anchors, Item, size};

/// Place of an instruction.
pub type Pc = usize;

/// One instruction; each is followed by the next one unless it says otherwise.
#[derive(Clone, Debug)]
pub enum Inst {
    /// Reads this byte.
    Byte(u8),
    /// Reads a byte of the set with this number.
    Set(u32),
    /// Goes on at the start of the text or of a line.
    LineStart,
    /// Goes on at the end of the text or of a line.
    LineEnd,
    /// Goes on where a word begins.
    WordStart,
    /// Goes on where a word ends.
    WordEnd,
    /// Notes where a group begins.
    Open(u32),
    /// Notes where a group ends.
    Close(u32),
    /// Goes on with the next instruction, or else here.
    Fork(Pc),
    /// Goes on here.
    Jump(Pc),
    /// Begins a loop.
    LoopStart,
    /// Goes on with the loop's body, which begins here, or else leaves the loop.
    LoopEnd(Pc),
    /// Reads the group's text again and goes on at the place given; where groups are unknown, the instructions from the next
    /// one to that place stand in for it.
    Back(u32, Pc),
    /// The expression has matched.
    End,
}

/// A sequence of nodes: the whole expression, an alternative or the body of a loop.
#[derive(Clone, Debug)]
pub struct Seq {
    /// Its parts in order.
    pub nodes: Vec<Node>,
    /// The place after its last instruction.
    pub end: Pc,
}

/// A part of a sequence.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its first instruction.
    pub start: Pc,
    /// What it is.
    pub kind: NodeKind,
}

/// The kinds of [`Node`].
#[derive(Clone, Debug)]
pub enum NodeKind {
    /// Reads one byte.
    One,
    /// Reads nothing.
    Zero,
    /// The start of a group.
    Open(u32),
    /// The end of a group.
    Close(u32),
    /// One of several.
    Either(Vec<Seq>),
    /// Once or more.
    Plus(Seq),
    /// Once or not at all.
    Maybe(Seq),
}

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its instructions; the last is [`Inst::End`].
    pub insts: Vec<Inst>,
    /// The sets that they name.
    pub sets: Vec<ByteSet>,
    /// The same as a tree.
    pub tree: Seq,
    /// How often assertions on lines stand in the expression as written.
    pub anchors: Anchors,
    /// Whether LLVM's engine takes its way for large expressions, in which assertions can follow each other.
    pub is_large: bool,
}

/// Most operations, with the two ends, of an expression whose states LLVM's engine keeps in one word.
const MAX_SMALL: usize = 64;

impl Program {
    /// Compiles parsed items.
    pub fn new(items: &[Item], anchors: Anchors) -> Program {
        let mut program = Program {
            insts: Vec::new(),
            sets: Vec::new(),
            tree: Seq { nodes: Vec::new(), end: 0 },
            anchors,
            is_large: size(items) + 2 > MAX_SMALL,
        };
        program.tree = program.sequence(items);
        program.insts.push(Inst::End);
        program
    }

    fn sequence(&mut self, items: &[Item]) -> Seq {
        let nodes = items.iter().map(|item| Node { start: self.insts.len(), kind: self.item(item) }).collect();
        Seq { nodes, end: self.insts.len() }
    }

    fn item(&mut self, item: &Item) -> NodeKind {
        let (inst, kind) = match item {
            Item::Byte(byte) => (Inst::Byte(*byte), NodeKind::One),
            Item::Set(set) => (Inst::Set(self.set(set)), NodeKind::One),
            Item::LineStart => (Inst::LineStart, NodeKind::Zero),
            Item::LineEnd => (Inst::LineEnd, NodeKind::Zero),
            Item::WordStart => (Inst::WordStart, NodeKind::Zero),
            Item::WordEnd => (Inst::WordEnd, NodeKind::Zero),
            Item::Open(group) => (Inst::Open(*group), NodeKind::Open(*group)),
            Item::Close(group) => (Inst::Close(*group), NodeKind::Close(*group)),
            Item::Either(branches) => return self.either(branches),
            Item::Plus(body) => {
                self.insts.push(Inst::LoopStart);
                let start = self.insts.len();
                let body = self.sequence(body);
                (Inst::LoopEnd(start), NodeKind::Plus(body))
            }
            Item::Maybe(body) => {
                let fork = self.insts.len();
                self.insts.push(Inst::Fork(0));
                let body = self.sequence(body);
                self.insts[fork] = Inst::Fork(self.insts.len());
                return NodeKind::Maybe(body);
            }
            Item::Back(group, content) => {
                let back = self.insts.len();
                self.insts.push(Inst::Back(*group, 0));
                self.sequence(content);
                self.insts[back] = Inst::Back(*group, self.insts.len());
                // Captures with back references are found by trying, not by the tree.
                return NodeKind::Zero;
            }
        };
        self.insts.push(inst);
        kind
    }

    fn either(&mut self, branches: &[Vec<Item>]) -> NodeKind {
        let mut jumps = Vec::new();
        let mut compiled = Vec::new();
        for (number, branch) in branches.iter().enumerate() {
            let fork = self.insts.len();
            let is_last = number + 1 == branches.len();
            if !is_last {
                self.insts.push(Inst::Fork(0));
            }
            compiled.push(self.sequence(branch));
            jumps.push(self.insts.len());
            self.insts.push(Inst::Jump(0));
            if !is_last {
                self.insts[fork] = Inst::Fork(self.insts.len());
            }
        }
        let end = self.insts.len();
        for jump in jumps {
            self.insts[jump] = Inst::Jump(end);
        }
        NodeKind::Either(compiled)
    }

    fn set(&mut self, set: &ByteSet) -> u32 {
        let number = self.sets.iter().position(|known| known == set).unwrap_or_else(|| {
            self.sets.push(*set);
            self.sets.len() - 1
        });
        number as u32
    }
}

impl Seq {
    /// First instruction of the sequence.
    pub fn start(&self) -> Pc {
        self.nodes.first().map_or(self.end, |node| node.start)
    }
}
