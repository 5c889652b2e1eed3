//! Cases in which other implementations of FileCheck give another verdict than LLVM's.

use rinductor_filecheck::{Options, Verdict, check};

fn verdict(check_text: &str, input: impl AsRef<[u8]>) -> Verdict {
    check(&Options::default(), check_text.as_bytes(), input.as_ref()).verdict
}

#[track_caller]
fn accepts(check_text: &str, input: impl AsRef<[u8]>) {
    let outcome = check(&Options::default(), check_text.as_bytes(), input.as_ref());
    assert_eq!(outcome.verdict, Verdict::Match, "{}", String::from_utf8_lossy(&outcome.report));
}

#[track_caller]
fn rejects(check_text: &str, input: impl AsRef<[u8]>) {
    assert_eq!(verdict(check_text, input), Verdict::Mismatch);
}

#[track_caller]
fn refuses(check_text: &str, input: impl AsRef<[u8]>) {
    assert_eq!(verdict(check_text, input), Verdict::Error);
}

#[test]
fn one_occurrence_does_not_serve_two_dags() {
    rejects("CHECK-DAG: load %p\nCHECK-DAG: load %p\n", "load %p\nstore %p\n");
    accepts("CHECK-DAG: load %p\nCHECK-DAG: load %p\n", "load %p\nload %p\n");
}

#[test]
fn next_takes_the_first_match_even_on_the_line_before() {
    rejects("CHECK: begin\nCHECK-NEXT: fence\n", "begin fence\nfence\n");
    accepts("CHECK: begin\nCHECK-NEXT: fence\n", "begin\nfence\n");
}

#[test]
fn a_complement_stays_on_its_line() {
    rejects("CHECK: call({{[^;]+}};\n", "call(a\nb;\n");
    accepts("CHECK: call({{[^;]+}};\n", "call(a b;\n");
}

#[test]
fn a_capture_ends_at_its_bracket_and_checks_go_on() {
    accepts("CHECK: let [[NAME:[^ ]+]]\nCHECK: use [[NAME]]\n", "let v7 =\nuse v7\n");
    rejects("CHECK: let [[NAME:[^ ]+]]\nCHECK: use [[NAME]]\n", "let v7 =\nuse v8\n");
}

#[test]
fn white_space_folds() {
    accepts("CHECK: one two\n", "one \t  two\n");
    accepts("CHECK: one    two\n", "one two\n");
    let strict = Options { strict_whitespace: true, ..Options::default() };
    assert_eq!(check(&strict, b"CHECK: one two\n", b"one  two\n").verdict, Verdict::Mismatch);
}

#[test]
fn an_empty_line_may_end_the_input() {
    accepts("CHECK: last\nCHECK-EMPTY:\n", "last\n\n");
    accepts("CHECK: last\nCHECK-EMPTY:\n", "last\n");
    rejects("CHECK: last\nCHECK-EMPTY:\n", "last\nmore\n");
}

#[test]
fn a_back_reference_repeats_a_group() {
    accepts("CHECK: {{([a-z]+) = \\1}}\n", "xy = xy\n");
    rejects("CHECK: {{([a-z]+) = \\1;}}\n", "xy = yx;\n");
    accepts("CHECK: [[R:r[0-9]+]] = [[R]] + 1\n", "r1 = r2 + 1\nr3 = r3 + 1\n");
}

#[test]
fn a_capture_is_as_long_as_it_can_be() {
    accepts("CHECK: <[[T:i|i1|i16]]\nCHECK: [[T]]>\n", "<i16\ni16>\n");
    rejects("CHECK: <[[T:i|i1|i16]]\nCHECK: ={{ }}[[T]]>\n", "<i16\n= i1>\n");
}

#[test]
fn escapes_of_other_dialects_are_letters() {
    rejects("CHECK: n{{\\d}}\n", "n5\n");
    accepts("CHECK: n{{\\d}}\n", "nd\n");
    rejects("CHECK: {{\\w+}}\n", "five\n");
    accepts("CHECK: {{\\bus}}\n", "bus\n");
    rejects("CHECK: {{^\\bus}}\n", "us\n");
}

#[test]
fn neither_text_needs_to_be_utf_8() {
    accepts("CHECK: value\n", b"\xff\xfe value \xc3(\n");
    let outcome = check(&Options::default(), b"CHECK: \xe9t\xe9\n", b"un \xe9t\xe9\n");
    assert!(outcome.passed());
    let outcome = check(&Options::default(), b"CHECK: [[V:.\xe9+]]\nCHECK: [[V]]\n", b"\xe8\xe9\xe9\n \xe8\xe9\xe9\n");
    assert!(outcome.passed());
}

#[test]
fn numbers_can_be_reckoned_with() {
    accepts("CHECK: at [[#LINE0:]]\nCHECK: at [[#LINE0 + 2]]\n", "at 40\nat 42\n");
    rejects("CHECK: at [[#LINE0:]]\nCHECK: at [[#LINE0 + 2]]\n", "at 40\nat 41\n");
    accepts("CHECK: [[#%#.4x,A:]]\nCHECK: [[#%X,mul(A,2)]]\n", "0x00ff\n1FE\n");
    accepts("CHECK: [[#BIG:]]\nCHECK: [[#BIG+1]]\n", "99999999999999999999999999\n100000000000000000000000000\n");
}

#[test]
fn faults_of_the_check_file_are_refused() {
    refuses("CHECK: line [[ @LINE]]\n", "line 1\n");
    accepts("CHECK: line [[@LINE]]\n", "line 1\n");
    refuses("CHECK: a\nCHECK-DAG-NOT: b\n", "a\n");
    refuses("CHECK: a\nCHECK-NOT-DAG: b\n", "a\n");
}

#[test]
fn an_undefined_number_fails_even_where_nothing_may_match() {
    rejects("CHECK: a\nCHECK-NOT: slot [[#NOWHERE+1]]\n", "a\n");
    rejects("CHECK: a\nCHECK-NOT: slot [[NOWHERE]]\n", "a\n");
}
