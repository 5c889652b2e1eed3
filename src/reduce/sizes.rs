//! Making sizes smaller: a whole number, wherever it stands in the text, becomes a smaller one, alone or with its multiples.
//!
//! This works on text, since a size stands in many places at once (types of every value, strides, properties, index expressions), which must
//! fit each other; most of what comes out does not verify, and is dropped before anything is run.

use super::{Edit, State, Surroundings};
use std::collections::BTreeSet;
use std::ops::Range;

/// The edit.
pub(super) struct Sizes;

/// One try: a number, what it becomes, and whether its multiples become multiples of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shrink {
    from: u64,
    to: u64,
    multiples: bool,
}

impl Edit for Sizes {
    fn name(&self) -> &'static str {
        "sizes"
    }

    fn count(&self, state: &State) -> usize {
        shrinks(&state.text).len()
    }

    fn without(&self, state: &State, units: Range<usize>, _: &dyn Surroundings) -> Option<String> {
        let shrink = *shrinks(&state.text).get(units.start)?;
        let mut out = String::with_capacity(state.text.len());
        let mut done = 0;
        for (range, n) in numbers(&state.text) {
            let new = match shrink {
                Shrink { from, to, .. } if n == from => to,
                Shrink { from, to, multiples: true } if n % from == 0 => n / from * to,
                _ => continue,
            };
            out.push_str(&state.text[done..range.start]);
            out.push_str(&new.to_string());
            done = range.end;
        }
        out.push_str(&state.text[done..]);
        Some(out)
    }

    fn in_ranges(&self) -> bool {
        false
    }
}

/// All tries for a text, those of the largest numbers first.
fn shrinks(text: &str) -> Vec<Shrink> {
    let distinct: BTreeSet<u64> = numbers(text).map(|n| n.1).filter(|&n| n > 1).collect();
    let mut list = Vec::new();
    for &from in distinct.iter().rev() {
        let mut smaller = vec![1, 2, 3, from / 2];
        smaller.sort_unstable();
        smaller.dedup();
        for to in smaller.into_iter().filter(|&to| to > 0 && to < from) {
            list.push(Shrink { from, to, multiples: true });
            list.push(Shrink { from, to, multiples: false });
        }
    }
    list
}

/// The numbers of a text that may be sizes, from 1: not those in names, strings, floats and types of scalars.
fn numbers(text: &str) -> impl Iterator<Item = (Range<usize>, u64)> + '_ {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            let start = at;
            let c = bytes[at];
            if c == b'"' {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            } else if c.is_ascii_digit() {
                while at < bytes.len() && bytes[at].is_ascii_digit() {
                    at += 1;
                }
                let next = bytes.get(at).copied().unwrap_or(b' ');
                // `4x8xf32`: an x after a number begins the next dimension.
                let ends = !(next.is_ascii_alphanumeric() || matches!(next, b'.' | b'_')) || next == b'x';
                if let (true, Ok(n)) = (ends, text[start..at].parse())
                    && n > 0
                {
                    if next == b'x' {
                        at += 1;
                    }
                    return Some((start..start + text[start..].bytes().take_while(u8::is_ascii_digit).count(), n));
                }
                at = skip_word(bytes, at);
            } else if c.is_ascii_alphabetic() || matches!(c, b'%' | b'@' | b'^' | b'#' | b'_') {
                // `?x4xf32` has its x before the 4.
                let dimension = c == b'x' && start > 0 && bytes[start - 1] == b'?';
                at = if dimension { at + 1 } else { skip_word(bytes, at + 1) };
            } else {
                at += 1;
            }
        }
        None
    })
}

/// The end of a name or of a number that is none of ours.
fn skip_word(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(|&b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$' | b'#')) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_from_other_numbers() {
        let text = r#"%4 = "aten.op_7"(%arg12) <{dims = array<i64: 5, -6>, s = "8", f = 9.5, n = 3 : i64}> : (tensor<10x?x11xf32, #aten.layout<strides = [s0*12, 1]>>) -> vector<2xi8> loc(#loc13) ^bb14"#;
        let found: Vec<u64> = numbers(text).map(|n| n.1).collect();
        assert_eq!(found, [5, 6, 3, 10, 11, 12, 1, 2]);
        for (range, n) in numbers(text) {
            assert_eq!(text[range].parse(), Ok(n));
        }
    }

    #[test]
    fn large_numbers_come_first() {
        let list = shrinks("tensor<6x4xf32>");
        assert_eq!(list[0], Shrink { from: 6, to: 1, multiples: true });
        assert_eq!(list.last(), Some(&Shrink { from: 4, to: 3, multiples: false }));
        assert!(shrinks("1 0 1.5").is_empty());
    }
}
