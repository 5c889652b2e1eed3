//! Running a program as a nondeterministic automaton: the longest match of any part of it from a given place.
//!
//! Time is linear in the text for a fixed program. This is the meaning of an expression; [`super::search`] only finds sooner
//! where to begin.

use super::class::is_word;
use super::program::{Inst, Pc, Program};

/// Memory that runs share.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    threads: Threads,
    next: Threads,
    pending: Vec<Pc>,
    /// Bytes read so far, over all runs: a measure of work.
    pub steps: usize,
}

/// A set of places that wait for a byte or for an assertion to hold.
#[derive(Clone, Debug, Default)]
struct Threads {
    waiting: Vec<Pc>,
    /// For each place the stamp of the set that it was last in.
    seen: Vec<u32>,
    stamp: u32,
}

impl Threads {
    fn clear(&mut self, size: usize) {
        self.waiting.clear();
        if self.seen.len() < size || self.stamp == u32::MAX {
            self.seen.clear();
            self.seen.resize(size, 0);
            self.stamp = 0;
        }
        self.stamp += 1;
    }

    fn insert(&mut self, pc: Pc) -> bool {
        let new = self.seen[pc] != self.stamp;
        self.seen[pc] = self.stamp;
        new
    }
}

/// What assertions say about a place between two bytes.
#[derive(Clone, Copy)]
struct Around {
    line_start: bool,
    line_end: bool,
    word_start: bool,
    word_end: bool,
}

impl Around {
    fn new(text: &[u8], at: usize) -> Around {
        let before = at.checked_sub(1).map(|i| text[i]);
        let after = text.get(at).copied();
        let word_before = before.is_some_and(is_word);
        let word_after = after.is_some_and(is_word);
        Around {
            line_start: before.is_none_or(|b| b == b'\n'),
            line_end: after.is_none_or(|b| b == b'\n'),
            word_start: !word_before && word_after,
            word_end: word_before && !word_after,
        }
    }
}

/// Whether the assertion of `pc`, if it is one on words, holds.
fn word_assertion_holds(program: &Program, pc: Pc, around: Around) -> bool {
    match program.insts[pc] {
        Inst::WordStart => around.word_start,
        Inst::WordEnd => around.word_end,
        _ => false,
    }
}

/// Adds `pc` and all that is reachable from it without reading; says whether `target` is. `lines` is `None` where no
/// assertion may be passed.
fn add(
    program: &Program,
    threads: &mut Threads,
    pending: &mut Vec<Pc>,
    pc: Pc,
    target: Pc,
    lines: Option<Around>,
) -> bool {
    let mut reached = false;
    pending.push(pc);
    while let Some(pc) = pending.pop() {
        if pc == target {
            reached = true;
            continue;
        }
        if !threads.insert(pc) {
            continue;
        }
        match program.insts[pc] {
            Inst::Byte(_) | Inst::Set(_) | Inst::WordStart | Inst::WordEnd => threads.waiting.push(pc),
            Inst::LineStart if lines.is_some_and(|around| around.line_start) => pending.push(pc + 1),
            Inst::LineEnd if lines.is_some_and(|around| around.line_end) => pending.push(pc + 1),
            Inst::LineStart | Inst::LineEnd | Inst::End => {}
            Inst::Open(_) | Inst::Close(_) | Inst::LoopStart | Inst::Back(..) => pending.push(pc + 1),
            Inst::Jump(to) => pending.push(to),
            Inst::Fork(to) | Inst::LoopEnd(to) => {
                pending.push(to);
                pending.push(pc + 1);
            }
        }
    }
    reached
}

/// The end of the longest match of the instructions from `start` up to `target`, from the place `from` in the text and not
/// beyond `limit`. Assertions look at the whole text.
pub fn longest(
    program: &Program,
    text: &[u8],
    (from, limit): (usize, usize),
    (start, target): (Pc, Pc),
    scratch: &mut Scratch,
) -> Option<usize> {
    let Scratch { threads, next, pending, steps } = scratch;
    let mut at = from;
    let mut best = None;
    let mut around = Around::new(text, at);
    threads.clear(program.insts.len());
    let mut reached = add(program, threads, pending, start, target, Some(around));
    loop {
        // LLVM's engine settles assertions on lines first, then passes one on words and no other at the same place.
        if around.word_start || around.word_end {
            for index in 0..threads.waiting.len() {
                let pc = threads.waiting[index];
                if word_assertion_holds(program, pc, around) {
                    reached |= add(program, threads, pending, pc + 1, target, None);
                }
            }
        }
        if reached {
            best = Some(at);
        }
        if at == limit || threads.waiting.is_empty() {
            return best;
        }
        let byte = text[at];
        at += 1;
        *steps += 1;
        around = Around::new(text, at);
        next.clear(program.insts.len());
        reached = false;
        for &pc in &threads.waiting {
            let reads = match program.insts[pc] {
                Inst::Byte(expected) => expected == byte,
                Inst::Set(set) => program.sets[set as usize].contains(byte),
                _ => false,
            };
            if reads {
                reached |= add(program, next, pending, pc + 1, target, Some(around));
            }
        }
        std::mem::swap(threads, next);
    }
}
