//! Where a match may begin: by a literal that every match has, by the first byte, by the start of a line, or, after much
//! fruitless trying, by an automaton of `regex-automata`.

use memchr::{memchr, memmem, memrchr};
use regex_automata::Input;

use super::Regex;
use super::class::ByteSet;
use super::parse::Item;
use super::program::{Inst, Program};
use super::simulate::Scratch;

/// How many bytes attempts that fail may read before the automaton is built; building it costs about as much.
const PATIENCE: usize = 1 << 16;

/// A plan for finding matches.
#[derive(Debug)]
pub struct Plan {
    kind: Kind,
    /// What a match can begin with; `None` if it can be empty.
    first: Option<ByteSet>,
    /// Whether there are assertions that the automaton would take otherwise than LLVM: those on words, and repeated ones.
    is_odd: bool,
}

#[derive(Debug)]
enum Kind {
    /// Every match begins with these bytes.
    Prefix(memmem::Finder<'static>),
    /// Every match has these bytes and stays on a line.
    OnLine(memmem::Finder<'static>),
    /// Every match begins at the start of a line.
    LineStart,
    /// Nothing is known.
    Any,
}

impl Plan {
    /// Makes the plan for an expression.
    pub fn new(items: &[Item], program: &Program) -> Plan {
        let Literals { prefix, longest } = literals(items);
        let kind = if longest.len() > prefix.len() && !items.iter().any(may_cross_lines) {
            Kind::OnLine(memmem::Finder::new(&longest).into_owned())
        } else if !prefix.is_empty() {
            Kind::Prefix(memmem::Finder::new(&prefix).into_owned())
        } else if matches!(items.first(), Some(Item::LineStart)) {
            Kind::LineStart
        } else {
            Kind::Any
        };
        let has_words = program.insts.iter().any(|inst| matches!(inst, Inst::WordStart | Inst::WordEnd));
        let anchors = program.insts.iter().filter(|inst| matches!(inst, Inst::LineStart | Inst::LineEnd)).count();
        let written = program.anchors.line_starts + program.anchors.line_ends;
        Plan { kind, first: first_bytes(program), is_odd: has_words || anchors > written }
    }

    /// The leftmost match that begins at `from` or later, and of those the longest.
    pub fn find(&self, regex: &Regex, text: &[u8], from: usize, scratch: &mut Scratch) -> Option<(usize, usize)> {
        let patience = scratch.steps.saturating_add(PATIENCE);
        let mut at = from;
        while let Some((start, stop)) = self.candidates(text, at) {
            for start in start..=stop {
                if self.first.is_some_and(|first| text.get(start).is_none_or(|&byte| !first.contains(byte))) {
                    continue;
                }
                if let Some(end) = regex.longest(text, start, scratch) {
                    return Some((start, end));
                }
                if scratch.steps > patience
                    && !self.is_odd
                    && start < text.len()
                    && let Some(automaton) = regex.automaton()
                {
                    let found = automaton.find(Input::new(text).range(start + 1..))?.start();
                    return regex.longest(text, found, scratch).map(|end| (found, end));
                }
            }
            at = stop + 1;
        }
        None
    }

    /// The next places that a match can begin at, from `at` on: first and last.
    fn candidates(&self, text: &[u8], at: usize) -> Option<(usize, usize)> {
        let rest = text.get(at..)?;
        match &self.kind {
            Kind::Prefix(literal) => literal.find(rest).map(|i| (at + i, at + i)),
            Kind::OnLine(literal) => {
                let found = at + literal.find(rest)?;
                let start = memrchr(b'\n', &text[at..found]).map_or(at, |i| at + i + 1);
                // Further on the line only if the literal occurs there again.
                Some((start, found))
            }
            Kind::LineStart if at == 0 || text[at - 1] == b'\n' => Some((at, at)),
            Kind::LineStart => memchr(b'\n', rest).map(|i| (at + i + 1, at + i + 1)),
            Kind::Any => match self.first {
                Some(first) => rest.iter().position(|&byte| first.contains(byte)).map(|i| (at + i, at + i)),
                None => Some((at, at)),
            },
        }
    }
}

/// Bytes that every match has one after the other.
#[derive(Default)]
struct Literals {
    /// At its beginning.
    prefix: Vec<u8>,
    /// Anywhere; the longest such run.
    longest: Vec<u8>,
}

fn literals(items: &[Item]) -> Literals {
    let mut found = Literals::default();
    let mut run = Vec::new();
    let mut in_prefix = true;
    for item in items.iter().map(Some).chain([None]) {
        match item {
            Some(Item::Byte(byte)) => run.push(*byte),
            Some(Item::Open(_) | Item::Close(_)) => {}
            _ => {
                if in_prefix {
                    found.prefix.clone_from(&run);
                    in_prefix = false;
                }
                if run.len() > found.longest.len() {
                    found.longest.clone_from(&run);
                }
                run.clear();
            }
        }
    }
    found
}

fn may_cross_lines(item: &Item) -> bool {
    match item {
        Item::Byte(byte) => *byte == b'\n',
        Item::Set(set) => set.contains(b'\n'),
        Item::Either(branches) => branches.iter().flatten().any(may_cross_lines),
        Item::Plus(body) | Item::Maybe(body) | Item::Back(_, body) => body.iter().any(may_cross_lines),
        Item::LineStart | Item::LineEnd | Item::WordStart | Item::WordEnd | Item::Open(_) | Item::Close(_) => false,
    }
}

/// The bytes that a match can begin with, taking every assertion to hold; `None` if a match can be empty.
fn first_bytes(program: &Program) -> Option<ByteSet> {
    let mut first = ByteSet::default();
    let mut seen = vec![false; program.insts.len()];
    let mut pending = vec![0];
    while let Some(pc) = pending.pop() {
        if std::mem::replace(&mut seen[pc], true) {
            continue;
        }
        match program.insts[pc] {
            Inst::Byte(byte) => first.insert(byte),
            Inst::Set(set) => first = first.union(&program.sets[set as usize]),
            Inst::End => return None,
            Inst::Jump(to) => pending.push(to),
            Inst::Fork(to) | Inst::LoopEnd(to) => pending.extend([pc + 1, to]),
            Inst::LineStart
            | Inst::LineEnd
            | Inst::WordStart
            | Inst::WordEnd
            | Inst::Open(_)
            | Inst::Close(_)
            | Inst::LoopStart
            | Inst::Back(..) => pending.push(pc + 1),
        }
    }
    Some(first)
}
