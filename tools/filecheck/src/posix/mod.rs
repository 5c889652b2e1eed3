//! POSIX extended regular expressions as LLVM matches them: leftmost and longest, on bytes, with back references, and with
//! LLVM's choice among the captures that are possible.
//!
//! [`parse`] reads an expression, [`program`] compiles it, [`simulate`] defines what matches, [`search`] and [`automaton`] find
//! where to look, [`submatch`] and [`backtrack`] find the groups.

mod automaton;
mod backtrack;
mod class;
mod parse;
mod program;
mod search;
mod simulate;
mod submatch;

use std::cell::OnceCell;

use regex_automata::meta;

pub use parse::RegexError;
pub use simulate::Scratch;
pub use submatch::Captures;

use parse::Item;
use program::Program;
use search::Plan;

/// A compiled expression. No line break is matched by `.` or by a complemented bracket, and `^` and `$` match at lines.
#[derive(Debug)]
pub struct Regex {
    items: Vec<Item>,
    program: Program,
    groups: u32,
    has_back_references: bool,
    plan: Plan,
    automaton: OnceCell<Option<meta::Regex>>,
}

impl Regex {
    /// Compiles an expression.
    pub fn new(pattern: &[u8], ignore_case: bool) -> Result<Regex, RegexError> {
        let parsed = parse::parse(pattern, ignore_case, true)?;
        let program = Program::new(&parsed.items, parsed.anchors);
        let plan = Plan::new(&parsed.items, &program);
        Ok(Regex {
            items: parsed.items,
            program,
            groups: parsed.groups,
            has_back_references: parsed.has_back_references,
            plan,
            automaton: OnceCell::new(),
        })
    }

    /// Checks an expression and counts its groups.
    pub fn count_groups(pattern: &[u8]) -> Result<u32, RegexError> {
        parse::parse(pattern, false, false).map(|parsed| parsed.groups)
    }

    /// Finds the leftmost longest match in `text`, with its groups if `with_groups`; else the groups are absent.
    pub fn find(&self, text: &[u8], with_groups: bool, scratch: &mut Scratch) -> Option<Captures> {
        if self.has_back_references {
            return self.find_with_back_references(text, scratch);
        }
        let (start, end) = self.plan.find(self, text, 0, scratch)?;
        if with_groups && self.groups > 0 {
            Some(submatch::submatches(&self.program, self.groups, text, (start, end), scratch))
        } else {
            Some(vec![Some((start, end))])
        }
    }

    /// Tries each match that would be one without the back references, at each start from the longest on.
    fn find_with_back_references(&self, text: &[u8], scratch: &mut Scratch) -> Option<Captures> {
        let mut from = 0;
        let mut steps = backtrack::MAX_STEPS;
        loop {
            let (start, longest) = self.plan.find(self, text, from, scratch)?;
            let mut end = Some(longest);
            while let Some(to) = end {
                if let Some(captures) =
                    backtrack::match_exactly(&self.program, self.groups, text, (start, to), &mut steps)
                {
                    return Some(captures);
                }
                let shorter = to.checked_sub(1).filter(|&limit| limit >= start);
                end = shorter.and_then(|limit| self.longest_to(text, start, limit, scratch));
            }
            if steps == 0 {
                return None;
            }
            if start == text.len() {
                // LLVM's engine takes the empty match at the end of the text without trying the back references.
                let mut captures = vec![None; self.groups as usize + 1];
                captures[0] = Some((start, start));
                return Some(captures);
            }
            from = start + 1;
        }
    }

    /// End of the longest match that begins at `start`.
    fn longest(&self, text: &[u8], start: usize, scratch: &mut Scratch) -> Option<usize> {
        self.longest_to(text, start, text.len(), scratch)
    }

    fn longest_to(&self, text: &[u8], start: usize, limit: usize, scratch: &mut Scratch) -> Option<usize> {
        simulate::longest(&self.program, text, (start, limit), (0, self.program.tree.end), scratch)
    }

    fn automaton(&self) -> Option<&meta::Regex> {
        self.automaton.get_or_init(|| automaton::build(&self.items)).as_ref()
    }
}

#[cfg(test)]
mod tests;
