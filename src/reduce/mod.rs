//! Shrinks IR that shows a fault, as long as it still shows it: delta debugging.
//!
//! What can be left out of a module is a list of *units* of some kind (ops, results, attributes, sizes, …): an [`Edit`] counts them and leaves out
//! a range of them. [`reduce`] tries large ranges first, then halves of them, down to single units, kind after kind, until nothing more can be
//! left out. Every text that is tried has been read and verified, and the one that is kept has been judged interesting itself.
//!
//! The order of what is tried does not depend on time or threads: the same input gives the same result for any number of jobs.

mod ops;
mod parts;
mod signature;
mod sizes;

use crate::ir::Ir;
use crate::support::FxHashSet;
use std::hash::{BuildHasher, BuildHasherDefault};
use std::ops::Range;

/// What reduction asks of its surroundings.
pub trait Surroundings: Sync {
    /// Reads a text; none if it is wrong in any way.
    fn read(&self, text: &str) -> Option<Ir>;
    /// The text of a module.
    fn print(&self, ir: &Ir) -> String;
    /// Whether a text shows the fault. Called from several threads.
    fn is_interesting(&self, text: &str) -> bool;
    /// Hears of every module that is kept.
    ///
    /// # Errors
    /// The reduction is to end.
    fn keep(&self, text: &str) -> Result<(), String>;
}

/// How far a reduction is.
pub struct Progress {
    /// The kind of units that is left out now.
    pub edit: &'static str,
    /// How many ops are left.
    pub ops: usize,
    /// How long the text is.
    pub bytes: usize,
    /// How many texts were judged so far.
    pub judged: usize,
}

/// A module and its text.
pub struct State {
    ir: Ir,
    text: String,
}

/// A kind of units that can be left out.
trait Edit {
    /// What the units are, in one word or two.
    fn name(&self) -> &'static str;
    /// How many there are.
    fn count(&self, state: &State) -> usize;
    /// The text without the units of a range; none if that changes nothing.
    fn without(&self, state: &State, units: Range<usize>, surroundings: &dyn Surroundings) -> Option<String>;
    /// Whether a range of several units may be tried at once.
    fn in_ranges(&self) -> bool {
        true
    }
}

/// An edit of the IR: lists units, and leaves some of them out. The units are found again after each change.
struct IrEdit<U> {
    name: &'static str,
    units: fn(&Ir) -> Vec<U>,
    leave_out: fn(&mut Ir, &[U]) -> bool,
}

impl<U> Edit for IrEdit<U> {
    fn name(&self) -> &'static str {
        self.name
    }
    fn count(&self, state: &State) -> usize {
        (self.units)(&state.ir).len()
    }
    fn without(&self, state: &State, range: Range<usize>, surroundings: &dyn Surroundings) -> Option<String> {
        let mut ir = state.ir.clone();
        let units = (self.units)(&ir);
        let changed = (self.leave_out)(&mut ir, units.get(range)?);
        changed.then(|| surroundings.print(&ir))
    }
}

/// All kinds, in the order in which they are tried: what takes most away comes first.
fn edits() -> Vec<Box<dyn Edit>> {
    vec![
        Box::new(IrEdit { name: "functions", units: parts::symbols, leave_out: parts::erase_symbols }),
        Box::new(IrEdit {
            name: "results of functions",
            units: signature::results,
            leave_out: signature::drop_results,
        }),
        Box::new(IrEdit { name: "ops", units: ops::all, leave_out: ops::cut }),
        Box::new(IrEdit { name: "ops", units: ops::all, leave_out: ops::bypass }),
        Box::new(IrEdit { name: "last ops", units: ops::last, leave_out: ops::cut }),
        Box::new(IrEdit {
            name: "ops before results",
            units: signature::before_results,
            leave_out: signature::return_operands,
        }),
        Box::new(IrEdit {
            name: "arguments",
            units: signature::unused_arguments,
            leave_out: signature::drop_arguments,
        }),
        Box::new(IrEdit { name: "arguments", units: signature::mergeable, leave_out: signature::merge_arguments }),
        Box::new(IrEdit { name: "regions", units: parts::inlinable, leave_out: parts::inline_regions }),
        Box::new(IrEdit { name: "regions", units: parts::regions, leave_out: parts::empty_regions }),
        Box::new(IrEdit { name: "branches", units: parts::branches, leave_out: parts::drop_branches }),
        Box::new(IrEdit { name: "blocks", units: parts::unreached_blocks, leave_out: parts::erase_blocks }),
        Box::new(IrEdit { name: "results", units: parts::unused_results, leave_out: parts::drop_results }),
        Box::new(IrEdit { name: "operands", units: parts::operands, leave_out: parts::drop_operands }),
        Box::new(IrEdit { name: "operands", units: parts::operands, leave_out: parts::share_operands }),
        Box::new(IrEdit { name: "attributes", units: parts::attributes, leave_out: parts::drop_attributes }),
        Box::new(sizes::Sizes),
    ]
}

/// What a reduction came to.
pub struct Reduced {
    /// The text of the smallest module that was found.
    pub text: String,
    /// How many ops it has.
    pub ops: usize,
    /// How many texts were judged.
    pub judged: usize,
}

/// Reduces a module that is interesting, judging up to `jobs` texts at a time. `progress` is called after each.
///
/// # Errors
/// [`Surroundings::keep`] ended it.
pub fn reduce(
    ir: Ir,
    jobs: usize,
    surroundings: &dyn Surroundings,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Reduced, String> {
    let text = surroundings.print(&ir);
    let mut search =
        Search { state: State { ir, text }, surroundings, progress, jobs, known: FxHashSet::default(), judged: 0 };
    loop {
        let before = search.state.text.len();
        let mut changed = false;
        for edit in edits() {
            changed |= search.exhaust(&*edit)?;
        }
        // A round that only trades one thing for another of the same length would go on for ever.
        if !changed || search.state.text.len() >= before {
            break;
        }
    }
    let ops = search.state.ir.count_ops();
    Ok(Reduced { text: search.state.text, ops, judged: search.judged })
}

struct Search<'a> {
    state: State,
    surroundings: &'a dyn Surroundings,
    progress: &'a mut dyn FnMut(&Progress),
    jobs: usize,
    /// Hashes of texts that are known not to be interesting, or not to be valid.
    known: FxHashSet<u64>,
    judged: usize,
}

impl Search<'_> {
    /// Leaves out all units of a kind that can be left out. Gives whether there were any.
    fn exhaust(&mut self, edit: &dyn Edit) -> Result<bool, String> {
        let mut count = edit.count(&self.state);
        let mut size = if edit.in_ranges() { count } else { 1 };
        let mut changed = false;
        while size > 0 && count > 0 {
            let mut at = 0;
            while at < count {
                let (found, tried) = self.first_of(edit, at, size, count);
                let (ops, bytes) = (self.state.ir.count_ops(), self.state.text.len());
                (self.progress)(&Progress { edit: edit.name(), ops, bytes, judged: self.judged });
                let Some((state, range)) = found else {
                    at += tried * size;
                    continue;
                };
                self.state = state;
                changed = true;
                self.surroundings.keep(&self.state.text)?;
                count = edit.count(&self.state);
                // What stood before the range was tried in vain; what stood after it has moved to its place.
                at = range.start;
            }
            size = size.min(count) / 2;
        }
        Ok(changed)
    }

    /// Tries up to `jobs` ranges from `at` on, and gives the first of them without which the module is still interesting, with the number of
    /// ranges that were tried.
    fn first_of(
        &mut self,
        edit: &dyn Edit,
        at: usize,
        size: usize,
        count: usize,
    ) -> (Option<(State, Range<usize>)>, usize) {
        let mut batch: Vec<(State, Range<usize>)> = Vec::new();
        let mut tried = 0;
        let mut start = at;
        while start < count && batch.len() < self.jobs.max(1) {
            let range = start..(start + size).min(count);
            start += size;
            tried += 1;
            let Some(text) = edit.without(&self.state, range.clone(), self.surroundings) else { continue };
            if text == self.state.text || !self.known.insert(hash(&text)) {
                continue;
            }
            let Some(ir) = self.surroundings.read(&text) else { continue };
            // What is judged is what would be kept: names are as a reader sees them.
            batch.push((State { ir, text }, range));
        }
        self.judged += batch.len();
        let judge = |state: &State| self.surroundings.is_interesting(&state.text);
        let verdicts: Vec<bool> = match &batch[..] {
            [] => Vec::new(),
            [(only, _)] => vec![judge(only)],
            several => std::thread::scope(|scope| {
                let threads: Vec<_> = several.iter().map(|(state, _)| scope.spawn(|| judge(state))).collect();
                threads.into_iter().map(|t| t.join().unwrap_or(false)).collect()
            }),
        };
        match verdicts.iter().position(|&v| v) {
            None => (None, tried),
            Some(i) => {
                // Those after it were judged against a module that is given up: they may be tried again.
                for (state, _) in &batch[i + 1..] {
                    self.known.remove(&hash(&state.text));
                }
                (Some(batch.swap_remove(i)), tried)
            }
        }
    }
}

fn hash(text: &str) -> u64 {
    BuildHasherDefault::<rustc_hash::FxHasher>::default().hash_one(text)
}

#[cfg(test)]
mod tests;
