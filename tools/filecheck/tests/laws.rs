//! Laws that hold for every check file and input, tried on fixed random ones.

mod generate;

use std::time::{Duration, Instant};

use generate::{Random, case, regex};
use rinductor_filecheck::canonical::canonicalize;
use rinductor_filecheck::command::options;
use rinductor_filecheck::{DumpInput, Options, Verdict, check};

const ROUNDS: u64 = 1500;

/// The exit code of a case with more options.
fn code(case: &generate::Case, more: &[&str]) -> i32 {
    let more = more.iter().map(|argument| (*argument).to_owned());
    let arguments: Vec<String> = case.arguments.iter().cloned().chain(more).chain(["check.txt".to_owned()]).collect();
    match options(&arguments) {
        Ok(options) => check(&options, &case.check, &case.input).exit_code(),
        Err(_) => 2,
    }
}

#[test]
fn what_is_shown_does_not_change_the_verdict() {
    let mut codes = [0; 3];
    for seed in 0..ROUNDS {
        let case = case(seed);
        let plain = code(&case, &[]);
        codes[usize::try_from(plain).expect("exit codes are not negative")] += 1;
        for more in [
            &["-vv", "-dump-input=always"][..],
            &["-v", "-color"],
            &["-dump-input-filter=annotation"],
            &["-diagnostics=rich", "-v"],
            &["-diagnostics=json"],
        ] {
            assert_eq!(plain, code(&case, more), "seed {seed} with {more:?}");
        }
    }
    // The seeds must go on reaching all verdicts.
    assert!(codes.iter().all(|&count| count > ROUNDS / 20), "{codes:?}");
}

#[test]
fn canonical_texts_have_the_verdict_of_their_originals() {
    for seed in 0..ROUNDS {
        let case = case(seed + 1_000_000);
        let options = Options { dump_input: DumpInput::Never, allow_empty: true, ..Options::default() };
        let original = check(&options, &case.check, &case.input);
        let canonical = check(&options, &canonicalize(&case.check, false), &canonicalize(&case.input, false));
        assert_eq!(original.verdict, canonical.verdict, "seed {seed}");
        assert_eq!(original.report, canonical.report, "seed {seed}");
    }
}

#[test]
fn a_pattern_and_its_exclusion_have_opposite_verdicts() {
    let mut random = Random::new(7);
    let mut found = 0;
    for round in 0..ROUNDS {
        let text = regex(&mut random, 2);
        let input = case(round).input;
        let options = Options { allow_empty: true, ..Options::default() };
        let positive = check(&options, format!("CHECK: {{{{{text}}}}}\n").as_bytes(), &input).verdict;
        let negative = check(&options, format!("CHECK-NOT: {{{{{text}}}}}\n").as_bytes(), &input).verdict;
        let opposite = match positive {
            Verdict::Match => Verdict::Mismatch,
            Verdict::Mismatch => Verdict::Match,
            Verdict::Error => Verdict::Error,
        };
        assert_eq!(negative, opposite, "{text:?}");
        found += u64::from(positive == Verdict::Match);
    }
    assert!(found > ROUNDS / 10, "{found}");
}

#[test]
fn hostile_texts_are_answered_soon() {
    let start = Instant::now();
    let long = vec![b'a'; 1 << 20];
    let mut deep = b"CHECK: {{".to_vec();
    deep.extend(vec![b'('; 1 << 16]);
    deep.extend_from_slice(b"}}\n");
    let mut nested = b"CHECK: [[#".to_vec();
    nested.extend(vec![b'('; 1 << 16]);
    nested.extend_from_slice(b"]]\n");
    let sum = format!("CHECK: [[#1{}]]\n", "+1".repeat(1 << 16));
    let options = Options { dump_input: DumpInput::Never, ..Options::default() };
    for (text, input) in [
        (&deep[..], &b"a"[..]),
        (&nested, b"a"),
        (sum.as_bytes(), b"a"),
        (b"CHECK: {{(((a{255}){255}){255}){255}}}\n", b"a"),
        (b"CHECK: {{a*b}}\n", &long),
        (b"CHECK: {{(a|aa)*b}}\n", &long),
        (b"CHECK: {{(a*)*$}}\nCHECK-EMPTY:\n", &long),
        (b"CHECK: {{(a?){50}b}}\n", &long[..1000]),
        (b"CHECK: {{(a+)c\\1}}\n", &long[..2000]),
        (b"CHECK: {{((a*)*b*)*\\1\\1c}}\n", b"aaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbb"),
    ] {
        let outcome = check(&options, text, input);
        assert_ne!(outcome.verdict, Verdict::Match, "{}", String::from_utf8_lossy(&text[..text.len().min(60)]));
    }
    // A bound on runaway work, with much room for a slow machine.
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}
