//! Golden texts: shown as a diff, rewritten with --bless; CHECK lines drafted with --draft.

use crate::common::Suite;

fn suite() -> Suite {
    let suite = Suite::new(env!("CARGO_BIN_EXE_rinductor-lit"), "");
    suite.file("file.test", "RUN: echo new | diff %s.expected -\n").file("file.test.expected", "old\n");
    suite.file(
        "part.test",
        "RUN: split-file %s %t && echo new > %t.out && diff -u %t/want %t.out\n//--- want\nold\n//--- after\nkept\n",
    );
    suite.file("two.test", "RUN: echo 1 | diff %S/one.golden -\nRUN: echo 2 | diff %S/two.golden -\n");
    suite.file("one.golden", "").file("two.golden", "");
    suite
}

#[test]
fn a_failure_shows_diff_and_command() {
    let suite = suite();
    let ran = suite.run(&["--color=always"]);
    assert_eq!(ran.codes["file.test"], "FAIL");
    assert!(ran.stdout.contains("\x1b[31m-old\x1b[0m\n# | \x1b[32m+new\x1b[0m\n"), "{}", ran.stdout);
    assert!(ran.logs["file.test"].contains("--bless"), "{}", ran.logs["file.test"]);
    assert!(!ran.logs["file.test"].contains('\x1b'), "files have no colours");
    assert_eq!(suite.read("file.test.expected"), "old\n", "nothing is rewritten unasked");
}

#[test]
fn bless_rewrites_and_runs_again() {
    let suite = suite();
    let ran = suite.run(&["--bless"]);
    for name in ["file.test", "part.test", "two.test"] {
        assert_eq!(ran.codes[name], "FIXED", "{}", ran.logs[name]);
    }
    assert_eq!(suite.read("file.test.expected"), "new\n");
    assert!(suite.read("part.test").ends_with("//--- want\nnew\n//--- after\nkept\n"));
    assert_eq!((suite.read("one.golden"), suite.read("two.golden")), ("1\n".to_string(), "2\n".to_string()));
    assert_eq!(ran.stdout.lines().last(), Some("3 passed, 0 failed"));
    let again = suite.run(&[]);
    assert!(again.codes.values().all(|code| code == "PASS"));
}

#[test]
fn bless_leaves_the_rest_alone() {
    let suite = Suite::new(env!("CARGO_BIN_EXE_rinductor-lit"), "");
    suite.file("x.test", "RUN: echo new | diff %s.expected -\nXFAIL: *\n").file("x.test.expected", "old\n");
    suite.file("y.test", "RUN: echo a > %t.1 && echo b > %t.2 && diff %t.1 %t.2\n");
    let ran = suite.run(&["--bless"]);
    assert_eq!((ran.codes["x.test"].as_str(), ran.codes["y.test"].as_str()), ("XFAIL", "FAIL"));
    assert_eq!(suite.read("x.test.expected"), "old\n");
}

#[test]
fn drafts_are_marked_and_pass() {
    let suite = Suite::new(env!("CARGO_BIN_EXE_rinductor-lit"), "");
    let program = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n  %0 = aten.relu %x : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n";
    let text = format!("// RUN: cat %s.in | FileCheck %s\n{program}");
    suite.file("d.test", &text).file("d.test.in", program);
    let ran = suite.run(&["--bless"]);
    assert_eq!((ran.codes["d.test"].as_str(), suite.read("d.test")), ("FAIL", text));
    let ran = suite.run(&["--bless", "--draft"]);
    assert_eq!(ran.codes["d.test"], "FIXED", "{}", ran.logs["d.test"]);
    let drafted = suite.read("d.test");
    assert!(drafted.contains("// DRAFT: "), "{drafted}");
    assert!(drafted.contains("// CHECK-LABEL: func.func @f(\n"), "{drafted}");
    assert!(drafted.contains("%[[V0:[0-9a-zA-Z_$.-]+]] = aten.relu %[[X]] : tensor<4xf32>"), "{drafted}");
    suite.file("d.test.in", &program.replace("relu %x", "relu %y"));
    assert_eq!(suite.run(&[]).codes["d.test"], "FAIL", "the draft checks something");
}

#[test]
fn nothing_is_blessed_in_ci() {
    let suite = suite();
    for option in ["--bless", "--update-tests"] {
        let ran = suite.run_with(&[option], &[("CI", "true")]);
        assert_eq!((ran.status, ran.codes.len()), (2, 0));
        assert!(ran.stderr.contains("--bless rewrites what is expected, which is never done in CI"), "{}", ran.stderr);
    }
    assert_eq!(suite.read("file.test.expected"), "old\n");
    assert_eq!(suite.run_with(&["--bless"], &[("CI", "false")]).status, 0);
}
