//! Selection, order, limits, reports and what is shown.

use crate::common::{Ran, Suite};

fn suite() -> Suite {
    let suite = Suite::new(env!("CARGO_BIN_EXE_rinductor-lit"), "");
    suite.file("good-1.test", "RUN: true\n").file("good-2.test", "RUN: echo said\n");
    suite.file("bad-1.test", "RUN: echo why && false\n").file("sub/bad-2.test", "RUN: false\n");
    suite
}

fn names(ran: &Ran) -> Vec<&str> {
    ran.codes.keys().map(String::as_str).collect()
}

#[test]
fn selection() {
    let suite = suite();
    for (args, expected) in [
        (vec!["--filter", "GOOD"], vec!["good-1.test", "good-2.test"]),
        (vec!["--filter-out", "good|sub"], vec!["bad-1.test"]),
        (vec!["--shard", "2/2", "--order=lexical"], vec!["good-1.test", "sub/bad-2.test"]),
        (vec!["--num-shards=4", "--run-shard=1", "--order=lexical"], vec!["bad-1.test"]),
        (vec!["--max-tests=1", "--order=lexical"], vec!["bad-1.test"]),
        (vec!["--filter-failed"], vec!["bad-1.test", "sub/bad-2.test"]),
    ] {
        // The run before says which tests have failed.
        suite.run(&[]);
        let ran = suite.run(&args);
        assert_eq!(names(&ran), expected, "{args:?} {}", ran.stderr);
    }
}

#[test]
fn empty_selections() {
    let suite = suite();
    assert_eq!(suite.run(&["--filter=none"]).status, 2);
    assert_eq!(suite.run(&["--filter=none", "--allow-empty-runs"]).status, 0);
}

#[test]
fn environment_gives_options() {
    let suite = suite();
    let ran = suite.run_with(&[], &[("LIT_OPTS", "--filter 'good-1'")]);
    assert_eq!((names(&ran), ran.status), (vec!["good-1.test"], 0));
    let ran = suite.run_with(&[], &[("LIT_FILTER", "good"), ("LIT_FILTER_OUT", "-2")]);
    assert_eq!(names(&ran), ["good-1.test"]);
    let ran = suite.run_with(&[], &[("LIT_XFAIL", "bad-1.test;sub/bad-2.test")]);
    assert_eq!((ran.codes["bad-1.test"].as_str(), ran.status), ("XFAIL", 0));
}

#[test]
fn failures_come_first_the_next_time() {
    let suite = suite();
    suite.run(&["--order=lexical"]);
    let ran = suite.run(&["-j1", "-v"]);
    let lines: Vec<&str> = ran.stdout.lines().filter(|l| l.contains(" of 4)")).collect();
    assert!(lines[0].starts_with("FAIL") && lines[1].starts_with("FAIL"), "{lines:?}");
    assert!(lines[2].starts_with("PASS") && lines[3].starts_with("PASS"), "{lines:?}");
}

#[test]
fn limits_of_the_run() {
    let suite = suite();
    let ran = suite.run(&["--max-failures=1", "-j1", "--order=lexical"]);
    assert_eq!(names(&ran), ["bad-1.test"]);
    assert!(ran.stderr.contains("reached maximum number of test failures"), "{}", ran.stderr);
    suite.file("slow.test", "RUN: sleep 60\n");
    let ran = suite.run(&["--max-time=1", "--filter=slow"]);
    assert!(ran.stdout.contains("Skipped") && ran.stderr.contains("reached timeout"), "{}", ran.stdout);
}

#[test]
fn slow_tests_time_out() {
    let suite = suite();
    suite.file("slow.test", "RUN: sh -c 'sleep 60; true' | FileCheck %s\nCHECK: x\n");
    let ran = suite.run(&["--timeout=1", "--filter=slow|good"]);
    assert_eq!((ran.codes["slow.test"].as_str(), ran.codes["good-1.test"].as_str()), ("TIMEOUT", "PASS"));
    assert!(ran.logs["slow.test"].contains("Reached timeout of 1 seconds"), "{}", ran.logs["slow.test"]);
}

#[test]
fn what_is_shown() {
    let suite = suite();
    let shown = |args: &[&str]| suite.run(args).stdout;
    let plain = shown(&[]);
    assert!(plain.contains("FAIL: s :: bad-1.test") && !plain.contains("PASS:"), "{plain}");
    assert!(plain.contains("# | why") && plain.contains("Failed Tests (2):\n  s :: bad-1.test\n"), "{plain}");
    let quiet = shown(&["-q"]);
    assert!(!quiet.contains("# | why") && quiet.ends_with("2 passed, 2 failed\n"), "{quiet}");
    let all = shown(&["-a"]);
    assert!(all.contains("PASS: s :: good-2.test") && all.contains("# | said"), "{all}");
    let listed = shown(&["--show-pass"]);
    assert!(listed.contains("Passed Tests (2):\n  s :: good-1.test\n"), "{listed}");
    assert!(shown(&["--show-tests"]).contains("  s :: sub/bad-2.test\n"));
    assert!(shown(&["--show-suites"]).contains("  s - 4 tests\n"));
    assert!(shown(&["--time-tests"]).contains("Slowest Tests:"));
    assert_eq!(suite.run(&["--ignore-fail"]).status, 0);
    assert_eq!(suite.run(&["--no-execute"]).status, 0);
}

#[test]
fn reports() {
    let suite = suite();
    let (xml, trace) = (suite.path("r.xml"), suite.path("r.trace"));
    let text = |p: &std::path::Path| p.to_string_lossy().into_owned();
    suite.run(&["--xunit-xml-output", &text(&xml), "--time-trace-output", &text(&trace)]);
    let xml = suite.read("r.xml");
    assert!(xml.contains("tests=\"4\" failures=\"2\" skipped=\"0\""), "{xml}");
    assert!(suite.read("r.trace").contains("\"name\": \"s :: good-1.test\""));
}

#[test]
fn settings_reach_tests() {
    let settings = "substitutions = [['%tool', 'echo @{what}']]\n[params]\nwhat = 'default'\n[environment]\nA = 'set'\n\
                    [[feature]]\nname = 'found'\nrun = ['sh', '-c', 'echo version 3']\nmatch = 'version [0-9]'\n";
    let suite = Suite::new(env!("CARGO_BIN_EXE_rinductor-lit"), settings);
    suite.file("a.test", "REQUIRES: found\nRUN: %tool | FileCheck %s\nRUN: sh -c 'echo $A' | FileCheck %s --check-prefix=ENV\nCHECK: given\nENV: set\n");
    assert_eq!(suite.run(&["-Dwhat=given"]).codes["a.test"], "PASS");
    assert_eq!(suite.run(&[]).codes["a.test"], "FAIL");
    suite.file("sub/b.test", "RUN: false\n").file("sub/lit.local.toml", "unsupported = true\n");
    assert_eq!(suite.run(&[]).codes["sub/b.test"], "UNSUPPORTED");
    suite.file("sub/lit.local.toml", "nonsense = true\n");
    let ran = suite.run(&[]);
    assert!(ran.status == 2 && ran.stderr.contains("unknown field `nonsense`"), "{}", ran.stderr);
}
