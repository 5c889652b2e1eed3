//! Matching with back references: alternatives are tried in order, with a stack of our own instead of recursion.

use super::class::is_word;
use super::program::{Inst, Pc, Program};
use super::submatch::Captures;

/// Most back references to an empty group that one attempt may pass: without a bound a loop around one might not end.
const MAX_EMPTY_BACKS: u32 = 100;

/// Most instructions that the attempts of one search may take: trying takes exponential time at worst, and what needs more
/// than this is taken not to match.
pub const MAX_STEPS: usize = 20_000_000;

/// A place to go on from.
#[derive(Clone, Copy)]
struct State {
    pc: Pc,
    at: usize,
    /// How many loops are open.
    level: usize,
    empty_backs: u32,
}

/// What a start or an end of a capture was before, or the start of a loop's last pass.
enum Undo {
    Start(u32, Option<usize>),
    End(u32, Option<usize>),
    Pass(usize, usize),
}

/// Matches the whole program to exactly the text from `from` to `to`, and gives the groups. `steps` is what is left of
/// [`MAX_STEPS`].
pub fn match_exactly(
    program: &Program,
    groups: u32,
    text: &[u8],
    (from, to): (usize, usize),
    steps: &mut usize,
) -> Option<Captures> {
    let mut attempt = Attempt {
        program,
        text,
        to,
        starts: vec![None; groups as usize + 1],
        ends: vec![None; groups as usize + 1],
        undo: Vec::new(),
        choices: Vec::new(),
        last_pass: Vec::new(),
    };
    let mut state = State { pc: 0, at: from, level: 0, empty_backs: 0 };
    loop {
        if attempt.follow(state, steps) {
            let mut captures: Captures =
                attempt.starts.iter().zip(&attempt.ends).map(|(start, end)| start.zip(*end)).collect();
            captures[0] = Some((from, to));
            return Some(captures);
        }
        let (choice, undo) = attempt.choices.pop()?;
        attempt.undo_to(undo);
        state = choice;
    }
}

struct Attempt<'a> {
    program: &'a Program,
    text: &'a [u8],
    to: usize,
    starts: Vec<Option<usize>>,
    ends: Vec<Option<usize>>,
    undo: Vec<Undo>,
    /// What to try next, with the length of `undo` then.
    choices: Vec<(State, usize)>,
    /// For each open loop where its last pass began: a pass that reads nothing is the last.
    last_pass: Vec<usize>,
}

impl Attempt<'_> {
    fn undo_to(&mut self, length: usize) {
        while self.undo.len() > length {
            match self.undo.pop() {
                Some(Undo::Start(group, old)) => self.starts[group as usize] = old,
                Some(Undo::End(group, old)) => self.ends[group as usize] = old,
                Some(Undo::Pass(level, old)) => self.last_pass[level] = old,
                None => return,
            }
        }
    }

    fn choice(&mut self, state: State) {
        self.choices.push((state, self.undo.len()));
    }

    fn begin_pass(&mut self, level: usize, at: usize) {
        if self.last_pass.len() <= level {
            self.last_pass.resize(level + 1, usize::MAX);
        }
        self.undo.push(Undo::Pass(level, self.last_pass[level]));
        self.last_pass[level] = at;
    }

    /// Follows one path to its end; says whether it is a match.
    fn follow(&mut self, mut state: State, steps: &mut usize) -> bool {
        let text = self.text;
        loop {
            let Some(left) = steps.checked_sub(1) else { return false };
            *steps = left;
            let at = state.at;
            let mut next = state.pc + 1;
            match self.program.insts[state.pc] {
                Inst::End => return at == self.to,
                Inst::Byte(byte) => {
                    if at == self.to || text[at] != byte {
                        return false;
                    }
                    state.at += 1;
                }
                Inst::Set(set) => {
                    if at == self.to || !self.program.sets[set as usize].contains(text[at]) {
                        return false;
                    }
                    state.at += 1;
                }
                // Unlike in the automaton, no line starts at the end of the text after its last line break.
                Inst::LineStart => {
                    if !(at == 0 || (at < text.len() && text[at - 1] == b'\n')) {
                        return false;
                    }
                }
                Inst::LineEnd => {
                    if !(at == text.len() || text[at] == b'\n') {
                        return false;
                    }
                }
                Inst::WordStart => {
                    if !(at < text.len() && is_word(text[at]) && (at == 0 || !is_word(text[at - 1]))) {
                        return false;
                    }
                }
                Inst::WordEnd => {
                    if !(at > 0 && is_word(text[at - 1]) && (at == text.len() || !is_word(text[at]))) {
                        return false;
                    }
                }
                Inst::Open(group) => {
                    self.undo.push(Undo::Start(group, self.starts[group as usize].replace(at)));
                }
                Inst::Close(group) => {
                    self.undo.push(Undo::End(group, self.ends[group as usize].replace(at)));
                }
                Inst::Fork(to) => self.choice(State { pc: to, ..state }),
                Inst::Jump(to) => next = to,
                Inst::LoopStart => {
                    state.level += 1;
                    self.begin_pass(state.level, at);
                }
                Inst::LoopEnd(body) => {
                    let leave = State { pc: next, level: state.level - 1, ..state };
                    if self.last_pass[state.level] == at {
                        state.level -= 1;
                    } else {
                        // Leaving must find the loops outside as they are now, so it is noted first.
                        self.choice(leave);
                        self.begin_pass(state.level, at);
                        next = body;
                    }
                }
                Inst::Back(group, after) => {
                    let (Some(start), Some(end)) = (self.starts[group as usize], self.ends[group as usize]) else {
                        return false;
                    };
                    // A group that is open again has a start beyond its last end: no text.
                    let again = text.get(start..end).unwrap_or_default();
                    if again.is_empty() {
                        state.empty_backs += 1;
                        if state.empty_backs > MAX_EMPTY_BACKS + 1 {
                            return false;
                        }
                    }
                    if !text[at..self.to].starts_with(again) {
                        return false;
                    }
                    state.at += again.len();
                    next = after;
                }
            }
            state.pc = next;
        }
    }
}
