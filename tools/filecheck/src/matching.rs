//! The order of things: blocks between labels, positive directives in sequence, and what each demands of the text before it.

use std::rc::Rc;

use crate::check_file::{Check, CheckFile};
use crate::directive::Kind;
use crate::finding::FindingKind;
use crate::pattern::Pattern;
use crate::run::{Match, Run};
use crate::verdicts::{Failed, Wanted};

/// Checks the whole input; says whether everything is met.
pub fn check_input(run: &mut Run<'_, '_>, file: &CheckFile) -> bool {
    let end = run.text().len();
    let mut passed = true;
    let mut rest = 0;
    let mut first = 0;
    loop {
        // A block ends with the next label, which is looked for before anything in the block.
        let label = (first..file.checks.len()).find(|&n| file.checks[n].pattern.directive.kind == Kind::Label);
        let (block_end, next) = match label {
            None => (end, file.checks.len()),
            Some(number) => match positive(run, &file.checks[number].pattern, rest, end) {
                Ok(found) => (found.end, number + 1),
                Err(Failed) => return false,
            },
        };
        if first != 0 && run.options.enable_var_scope {
            run.variables.forget_local();
        }
        let mut at = rest;
        for check in &file.checks[first..next] {
            match one(run, check, at, block_end) {
                Ok(found) => at = found.end,
                Err(Failed) => {
                    passed = false;
                    break;
                }
            }
        }
        rest = block_end;
        first = next;
        if label.is_none() {
            return passed;
        }
    }
}

/// Matches a positive pattern as often as it asks for, from `start` on.
fn positive(run: &mut Run<'_, '_>, pattern: &Pattern, start: usize, end: usize) -> Result<Match, Failed> {
    let mut whole = Match { start, end: start };
    for count in 1..=pattern.directive.count {
        let from = whole.end;
        let result = run.find(pattern, from, end);
        let found = run.report_result(Wanted::Yes, pattern, count, (from, end), result)?;
        if count == 1 {
            whole.start = found.start;
        }
        whole.end = found.end;
    }
    Ok(whole)
}

/// Checks one positive directive with all that stands before it.
fn one(run: &mut Run<'_, '_>, check: &Check, start: usize, end: usize) -> Result<Match, Failed> {
    let mut nots = Vec::new();
    let from = unordered(run, &check.before, &mut nots, start, end)?;
    let pattern = &check.pattern;
    let found = positive(run, pattern, from, end)?;
    let skipped = (from, found.start);
    if next_line(run, pattern, skipped).is_err() || same_line(run, pattern, skipped).is_err() {
        let span = run.span(found.start, found.end);
        run.found_on_wrong_line(pattern, span);
        return Err(Failed);
    }
    none_of(run, &nots, skipped)?;
    Ok(found)
}

/// How many lines end between two places, and where the second of those lines starts.
fn line_breaks(text: &[u8]) -> (usize, usize) {
    let (mut count, mut at, mut first) = (0, 0, 0);
    while let Some(found) = memchr::memchr2(b'\n', b'\r', &text[at..]) {
        at += found;
        // Two different ones in a row are one line's end.
        let is_pair = text.get(at + 1).is_some_and(|&next| (next == b'\n' || next == b'\r') && next != text[at]);
        at += if is_pair { 2 } else { 1 };
        count += 1;
        if count == 1 {
            first = at;
        }
    }
    (count, first)
}

fn next_line(run: &mut Run<'_, '_>, pattern: &Pattern, (from, to): (usize, usize)) -> Result<(), Failed> {
    let suffix = match pattern.directive.kind {
        Kind::Next => "NEXT",
        Kind::Empty => "EMPTY",
        _ => return Ok(()),
    };
    let (breaks, second_line) = line_breaks(&run.text()[from..to]);
    let problem = match breaks {
        1 => return Ok(()),
        0 => "is on the same line as previous match",
        _ => "is not on the line after the previous match",
    };
    let prefix = &run.prefixes[pattern.prefix];
    run.error(pattern, &format!("{prefix}-{suffix}: {problem}"));
    run.note(to, "'next' match was here");
    run.note(from, "previous match ended here");
    if breaks > 1 {
        run.note(from + second_line, "non-matching line after previous match is here");
    }
    Err(Failed)
}

fn same_line(run: &mut Run<'_, '_>, pattern: &Pattern, (from, to): (usize, usize)) -> Result<(), Failed> {
    if pattern.directive.kind != Kind::Same || line_breaks(&run.text()[from..to]).0 == 0 {
        return Ok(());
    }
    let prefix = &run.prefixes[pattern.prefix];
    run.error(pattern, &format!("{prefix}-SAME: is not on the same line as the previous match"));
    run.note(to, "'next' match was here");
    run.note(from, "previous match ended here");
    Err(Failed)
}

/// Checks that none of the patterns is between two places; all are tried.
fn none_of(run: &mut Run<'_, '_>, nots: &[Rc<Pattern>], (from, to): (usize, usize)) -> Result<(), Failed> {
    let mut outcome = Ok(());
    for pattern in nots {
        let result = run.find(pattern, from, to);
        if run.report_result(Wanted::No, pattern, 1, (from, to), result).is_err() {
            outcome = Err(Failed);
        }
    }
    outcome
}

/// Matches groups of -DAG patterns, in any order within a group and without overlap, and the -NOT patterns before each
/// group. The -NOT patterns after the last group are left in `nots`. Gives where the last group ends.
fn unordered(
    run: &mut Run<'_, '_>,
    before: &[Rc<Pattern>],
    nots: &mut Vec<Rc<Pattern>>,
    start: usize,
    end: usize,
) -> Result<usize, Failed> {
    let mut group_start = start;
    // Matches of the group, in order and apart.
    let mut taken: Vec<Match> = Vec::new();
    for (number, pattern) in before.iter().enumerate() {
        if pattern.directive.kind == Kind::Not {
            nots.push(pattern.clone());
            continue;
        }
        let found = apart(run, pattern, &mut taken, group_start, end)?;
        if !run.options.very_verbose {
            // A match that is wanted cannot fail here.
            run.report_match(Wanted::Yes, pattern, 1, found)?;
        }
        let is_last = before.get(number + 1).is_none_or(|next| next.directive.kind == Kind::Not);
        if is_last {
            if !nots.is_empty() {
                let first = taken.first().map_or(group_start, |found| found.start);
                none_of(run, nots, (group_start, first))?;
                nots.clear();
            }
            group_start = taken.last().map_or(group_start, |found| found.end);
            taken.clear();
        }
    }
    Ok(group_start)
}

/// Finds a match that overlaps none of those taken, and takes it.
fn apart(
    run: &mut Run<'_, '_>,
    pattern: &Pattern,
    taken: &mut Vec<Match>,
    start: usize,
    end: usize,
) -> Result<Match, Failed> {
    let mut from = start;
    // Matches taken before this one end before `from`.
    let mut index = 0;
    loop {
        let result = run.find(pattern, from, end);
        let found = match result {
            Ok(found) if !run.options.very_verbose => found,
            result => run.report_result(Wanted::Yes, pattern, 1, (from, end), result)?,
        };
        if run.options.allow_deprecated_dag_overlap {
            match taken.first_mut() {
                None => taken.push(found),
                Some(all) => {
                    all.start = all.start.min(found.start);
                    all.end = all.end.max(found.end);
                }
            }
            return Ok(found);
        }
        index += taken[index.min(taken.len())..].iter().take_while(|old| found.start >= old.end).count();
        let Some(old) = taken.get(index).copied().filter(|old| old.start < found.end) else {
            taken.insert(index, found);
            return Ok(found);
        };
        if run.options.very_verbose {
            if run.findings.is_some() {
                run.change_last_findings(FindingKind::Discarded);
            } else {
                let span = run.span(old.start, old.end);
                let text = "match discarded, overlaps earlier DAG match here";
                run.report.message(run.sources, crate::message::Severity::Note, span.loc(), text, Some(span));
            }
        }
        from = old.end;
        // The loop of LLVM goes on behind the match that was overlapped.
        index += 1;
    }
}
