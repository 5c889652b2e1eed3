//! Laws that hold for every check file and input, tried on fixed random ones.

mod generate;

use std::path::Path;
use std::time::{Duration, Instant};

use generate::{Random, case, regex};
use rinductor_filecheck::canonical::canonicalize;
use rinductor_filecheck::command::{Finished, Surroundings, run};
use rinductor_filecheck::{DumpInput, Options, Verdict, check};

const ROUNDS: u64 = 1500;

fn run_case(arguments: &[String], check_text: &[u8], input: &[u8], directory: &Path) -> Finished {
    std::fs::write(directory.join("check.txt"), check_text).expect("the temporary directory can be written");
    let surroundings = Surroundings { directory, stdin: input, filecheck_opts: None, color: false };
    let arguments: Vec<String> = arguments.iter().cloned().chain(["check.txt".to_owned()]).collect();
    run(&arguments, &surroundings)
}

fn scratch(name: &str) -> std::path::PathBuf {
    let directory = std::env::temp_dir().join(format!("rinductor-filecheck-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("the temporary directory can be written");
    directory
}

#[test]
fn what_is_shown_does_not_change_the_verdict() {
    let directory = scratch("shown");
    let mut codes = [0; 3];
    for seed in 0..ROUNDS {
        let case = case(seed);
        let plain = run_case(&case.arguments, &case.check, &case.input, &directory);
        codes[usize::try_from(plain.code).expect("exit codes are not negative")] += 1;
        for more in [&["-vv", "-dump-input=always"][..], &["-v", "-color"], &["-dump-input-filter=annotation"]] {
            let arguments: Vec<String> =
                case.arguments.iter().cloned().chain(more.iter().map(|a| (*a).to_owned())).collect();
            let other = run_case(&arguments, &case.check, &case.input, &directory);
            assert_eq!(plain.code, other.code, "seed {seed} with {more:?}");
        }
    }
    std::fs::remove_dir_all(&directory).expect("the temporary directory is ours");
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
    ] {
        let outcome = check(&options, text, input);
        assert_ne!(outcome.verdict, Verdict::Match, "{}", String::from_utf8_lossy(&text[..text.len().min(60)]));
    }
    // A bound on runaway work, with much room for a slow machine.
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}
