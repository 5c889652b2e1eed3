//! Which text each group of a match has, for expressions without back references.
//!
//! Each part of a sequence takes as much as leaves the rest a match, from left to right; a group is not a part but two marks
//! between parts. A loop's group has the text of the last pass, where each pass takes as much as it can. These are LLVM's rules
//! (its engine is Henry Spencer's); where they differ from POSIX's own, tests out there depend on these.

use super::program::{Inst, NodeKind, Pc, Program, Seq};
use super::simulate::{Scratch, longest};

/// Start and end of each group's text; group 0 is the whole match.
pub type Captures = Vec<Option<(usize, usize)>>;

/// Finds the groups of a match of the whole program from `from` to `to`.
pub fn submatches(
    program: &Program,
    groups: u32,
    text: &[u8],
    (from, to): (usize, usize),
    scratch: &mut Scratch,
) -> Captures {
    let mut finder = Finder {
        program,
        text,
        scratch,
        starts: vec![None; groups as usize + 1],
        ends: vec![None; groups as usize + 1],
    };
    finder.starts[0] = Some(from);
    finder.ends[0] = Some(to);
    finder.sequence(&program.tree, from, to);
    finder.starts.iter().zip(&finder.ends).map(|(start, end)| start.zip(*end)).collect()
}

struct Finder<'a> {
    program: &'a Program,
    text: &'a [u8],
    scratch: &'a mut Scratch,
    starts: Vec<Option<usize>>,
    ends: Vec<Option<usize>>,
}

impl Finder<'_> {
    fn longest(&mut self, from: usize, limit: usize, start: Pc, target: Pc) -> Option<usize> {
        longest(self.program, self.text, (from, limit), (start, target), self.scratch)
    }

    /// Assigns the text from `from` to `to`, which `seq` matches.
    fn sequence(&mut self, seq: &Seq, from: usize, to: usize) {
        let mut at = from;
        for (number, node) in seq.nodes.iter().enumerate() {
            match &node.kind {
                NodeKind::One => at += 1,
                NodeKind::Zero => {}
                NodeKind::Open(group) => self.starts[*group as usize] = Some(at),
                NodeKind::Close(group) => self.ends[*group as usize] = Some(at),
                NodeKind::Either(_) | NodeKind::Plus(_) | NodeKind::Maybe(_) => {
                    let next = seq.nodes.get(number + 1).map_or(seq.end, |node| node.start);
                    let Some(end) = self.share(at, to, node.start, next, seq.end) else { return };
                    self.inside(&node.kind, at, end);
                    at = end;
                }
            }
        }
    }

    /// The end of what the part from `start` to `next` takes, such that the part from `next` to `end` takes what is left.
    fn share(&mut self, from: usize, to: usize, start: Pc, next: Pc, end: Pc) -> Option<usize> {
        let mut limit = to;
        loop {
            let taken = self.longest(from, limit, start, next)?;
            if self.longest(taken, to, next, end) == Some(to) {
                return Some(taken);
            }
            limit = taken.checked_sub(1).filter(|&limit| limit >= from)?;
            // Where the rest begins with a certain byte, it can only begin where that byte is.
            let first = (next..end).find(|&pc| !matches!(self.program.insts[pc], Inst::Close(_)));
            if let Some(Inst::Byte(first)) = first.map(|pc| &self.program.insts[pc]) {
                while limit > from && self.text[limit] != *first {
                    limit -= 1;
                }
            }
        }
    }

    fn inside(&mut self, kind: &NodeKind, from: usize, to: usize) {
        match kind {
            NodeKind::Maybe(body) => {
                if self.longest(from, to, body.start(), body.end).is_some() {
                    self.sequence(body, from, to);
                }
            }
            NodeKind::Plus(body) => {
                let (mut previous, mut pass) = (from, from);
                let (start, end) = loop {
                    match self.longest(pass, to, body.start(), body.end) {
                        None => break (previous, pass),
                        Some(end) if end == pass => break (pass, pass),
                        Some(end) => (previous, pass) = (pass, end),
                    }
                };
                self.sequence(body, start, end);
            }
            NodeKind::Either(branches) => {
                if let Some(branch) = branches.iter().find(|b| self.longest(from, to, b.start(), b.end) == Some(to)) {
                    self.sequence(branch, from, to);
                }
            }
            NodeKind::One | NodeKind::Zero | NodeKind::Open(_) | NodeKind::Close(_) => {}
        }
    }
}
