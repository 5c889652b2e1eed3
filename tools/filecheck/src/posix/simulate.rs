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

/// Adds `pc` and all that is reachable from it without reading or asserting; says whether `target` is.
fn add(program: &Program, threads: &mut Threads, pending: &mut Vec<Pc>, pc: Pc, target: Pc) -> bool {
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
            Inst::Byte(_) | Inst::Set(_) | Inst::LineStart | Inst::LineEnd | Inst::WordStart | Inst::WordEnd => {
                threads.waiting.push(pc)
            }
            Inst::End => {}
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

/// Passes the assertions that hold; says whether `target` is reached.
///
/// This follows LLVM's engine to the letter: assertions on lines come first, one after the other as often as they are written
/// (`$` twice, but `${2}` once), then one on words. In a large expression any number of the same kind can follow.
fn pass_assertions(
    program: &Program,
    threads: &mut Threads,
    pending: &mut Vec<Pc>,
    target: Pc,
    around: Around,
) -> bool {
    let mut reached = false;
    let mut pass = |rounds: usize, holds: &dyn Fn(&Inst) -> bool| {
        let mut done = 0;
        for _ in 0..rounds {
            let known = threads.waiting.len();
            let mut index = done;
            while index < if program.is_large { threads.waiting.len() } else { known } {
                let pc = threads.waiting[index];
                if holds(&program.insts[pc]) {
                    reached |= add(program, threads, pending, pc + 1, target);
                }
                index += 1;
            }
            done = known;
            if threads.waiting.len() == known {
                break;
            }
        }
    };
    let starts = if around.line_start { program.anchors.line_starts } else { 0 };
    let ends = if around.line_end { program.anchors.line_ends } else { 0 };
    pass(starts + ends, &|inst| match inst {
        Inst::LineStart => around.line_start,
        Inst::LineEnd => around.line_end,
        _ => false,
    });
    if around.word_start || around.word_end {
        pass(1, &|inst| match inst {
            Inst::WordStart => around.word_start,
            Inst::WordEnd => around.word_end,
            _ => false,
        });
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
    let mut reached = add(program, threads, pending, start, target);
    loop {
        reached |= pass_assertions(program, threads, pending, target, around);
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
                reached |= add(program, next, pending, pc + 1, target);
            }
        }
        std::mem::swap(threads, next);
    }
}
