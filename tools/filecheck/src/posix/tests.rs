//! Tests of the engine.

use super::*;

fn find(pattern: &str, text: &str) -> Option<Vec<Option<(usize, usize)>>> {
    Regex::new(pattern.as_bytes(), false).expect("the pattern is valid").find(
        text.as_bytes(),
        true,
        &mut Scratch::default(),
    )
}

fn whole(pattern: &str, text: &str) -> Option<(usize, usize)> {
    find(pattern, text).and_then(|captures| captures[0])
}

#[test]
fn the_longest_of_the_leftmost_matches_wins() {
    assert_eq!(whole("a|ab", "xab"), Some((1, 3)));
    assert_eq!(whole("(foo|foobar)(bar)?", "foobar"), Some((0, 6)));
    assert_eq!(whole("b*", "abb"), Some((0, 0)));
}

#[test]
fn lines_bound_dots_and_complements() {
    assert_eq!(whole("a[^,]+", "ab\nc,"), Some((0, 2)));
    assert_eq!(whole("a.+", "ab\nc,"), Some((0, 2)));
    assert_eq!(whole("a[[:space:]]+b", "a\n\tb"), Some((0, 4)));
    assert_eq!(whole("^c$", "ab\nc\n"), Some((3, 4)));
}

#[test]
fn groups_take_what_leaves_the_rest_a_match() {
    assert_eq!(
        find("(a*)(ab|b)(.*)", "aabc").map(|c| c[1..].to_vec()),
        Some(vec![Some((0, 2)), Some((2, 3)), Some((3, 4))])
    );
    assert_eq!(find("(a|b)*", "abab").map(|c| c[1]), Some(Some((3, 4))));
    assert_eq!(find("x(y)?", "x").map(|c| c[1]), Some(None));
}

#[test]
fn back_references_repeat_the_text_of_a_group() {
    assert_eq!(whole("(a+)b\\1", "aabaaa"), Some((0, 5)));
    assert_eq!(whole("(a+)b\\1", "aaaba"), Some((2, 5)));
    assert_eq!(whole("(a*)*\\1b", "aab"), Some((0, 3)));
    assert_eq!(whole("(a|b)\\1", "abba"), Some((1, 3)));
}

#[test]
fn words_have_ends() {
    assert_eq!(whole("[[:<:]]b[[:>:]]", "ab b"), Some((3, 4)));
    assert_eq!(whole("[[:<:]]b[[:>:]]", "abc"), None);
}

#[test]
fn assertions_follow_each_other_as_often_as_they_are_written() {
    assert_eq!(whole("a$$", "a\n"), Some((0, 1)));
    assert_eq!(whole("a${2}", "a\n"), None);
    assert_eq!(whole("[[:<:]]^a", "a"), None);
    assert_eq!(whole("^[[:<:]]a", "a"), Some((0, 1)));
}

#[test]
fn counts_are_spelled_out() {
    assert_eq!(whole("^a{2,3}$", "aaa"), Some((0, 3)));
    assert_eq!(whole("^a{2,3}$", "aaaa"), None);
    assert_eq!(whole("^(ab){0,1}c{3}$", "ccc"), Some((0, 3)));
    assert_eq!(whole("a{2,}", "caaaa"), Some((1, 5)));
    assert_eq!(whole("a{b", "a{b"), Some((0, 3)));
}

#[test]
fn faults_are_named() {
    for (pattern, error) in [
        ("", RegexError::Empty),
        ("a||b", RegexError::Empty),
        ("a{0}", RegexError::Empty),
        ("(a", RegexError::Parentheses),
        ("a)", RegexError::Parentheses),
        ("[a", RegexError::Brackets),
        ("[b-a]", RegexError::Range),
        ("[[:word:]]", RegexError::CharacterClass),
        ("[[.nope.]]", RegexError::CollatingElement),
        ("*a", RegexError::RepetitionOperand),
        ("a**", RegexError::RepetitionOperand),
        ("^*", RegexError::RepetitionOperand),
        ("a{3,2}", RegexError::RepetitionCount),
        ("a{256}", RegexError::RepetitionCount),
        ("a{2", RegexError::Braces),
        ("a\\", RegexError::TrailingBackslash),
        ("(a)\\2", RegexError::BackReference),
        ("((((a{255}){255}){255}){255})", RegexError::TooLarge),
    ] {
        assert_eq!(Regex::new(pattern.as_bytes(), false).err(), Some(error), "{pattern}");
    }
    let deep = "(".repeat(100_000);
    assert_eq!(Regex::new(deep.as_bytes(), false).err(), Some(RegexError::TooLarge));
}

#[test]
fn a_long_search_gives_what_a_short_one_gives() {
    // So many failing attempts that the automaton takes over.
    let text = format!("{}ab{}", "a\n".repeat(200_000), "a".repeat(100));
    let regex = Regex::new(b"a+b|aba+", false).expect("the pattern is valid");
    let captures = regex.find(text.as_bytes(), false, &mut Scratch::default());
    assert_eq!(captures, Some(vec![Some((400_000, 400_102))]));
    let tail = "a".repeat(300_000);
    assert_eq!(whole("a*b", &tail), None);
}

/// All strings of up to four letters, against a matcher that tries every way.
#[test]
fn the_engine_agrees_with_plain_enumeration() {
    fn matches(items: &[Item], text: &[u8], at: usize, then: &mut dyn FnMut(usize) -> bool) -> bool {
        let Some((item, rest)) = items.split_first() else { return then(at) };
        match item {
            Item::Byte(b) => text.get(at) == Some(b) && matches(rest, text, at + 1, then),
            Item::Set(set) => text.get(at).is_some_and(|&b| set.contains(b)) && matches(rest, text, at + 1, then),
            Item::LineStart => (at == 0 || text[at - 1] == b'\n') && matches(rest, text, at, then),
            Item::LineEnd => (at == text.len() || text[at] == b'\n') && matches(rest, text, at, then),
            Item::Either(branches) => {
                branches.iter().any(|branch| matches(branch, text, at, &mut |at| matches(rest, text, at, then)))
            }
            Item::Plus(body) => matches(body, text, at, &mut |end| {
                matches(rest, text, end, then) || (end > at && matches(items, text, end, then))
            }),
            Item::Maybe(body) => {
                matches(body, text, at, &mut |at| matches(rest, text, at, then)) || matches(rest, text, at, then)
            }
            Item::Open(_) | Item::Close(_) => matches(rest, text, at, then),
            Item::WordStart | Item::WordEnd | Item::Back(..) => false,
        }
    }
    let patterns = [
        "a|ab",
        "(a|ab)(c|b)*",
        "(a*b*)*c",
        "a?b+$",
        "^b|a.",
        "[^a]b{1,2}",
        "(ab|ba)+a?",
        "(a|b$)+",
        "c*$",
        "(^a|b)*b",
    ];
    let mut texts: Vec<String> = vec![String::new()];
    for _ in 0..4 {
        let longer: Vec<String> = texts.iter().flat_map(|t| ["a", "b", "c", "\n"].map(|l| format!("{t}{l}"))).collect();
        texts.extend(longer);
        texts.dedup();
    }
    for pattern in patterns {
        let regex = Regex::new(pattern.as_bytes(), false).expect("the pattern is valid");
        for text in &texts {
            let bytes = text.as_bytes();
            let expected = (0..=bytes.len()).find_map(|start| {
                let mut ends = Vec::new();
                matches(&regex.items, bytes, start, &mut |end| {
                    ends.push(end);
                    false
                });
                ends.into_iter().max().map(|end| (start, end))
            });
            let found = regex.find(bytes, true, &mut Scratch::default()).and_then(|captures| captures[0]);
            assert_eq!(found, expected, "{pattern:?} on {text:?}");
            let automaton = regex.automaton().expect("the pattern is small").find(bytes).map(|m| m.start());
            assert_eq!(automaton, expected.map(|(start, _)| start), "{pattern:?} on {text:?}");
        }
    }
}
