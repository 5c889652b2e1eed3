//! The project's golden tests run in the process of the runner, and give the same verdicts as with tools that are processes.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::Suite;

/// The verdict of each golden test below a folder of `test/`, with the numbers of processes and of tools called in process.
fn golden_tests(folder: &str, args: &[&str]) -> Vec<(String, String, u64, u64)> {
    let program = Path::new(env!("CARGO_BIN_EXE_rinductor-lit"));
    let tests: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test").join(folder);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let json = directory.path().join("results.json");
    let tools = program.parent().expect("the program lies in a directory");
    let mut command = Command::new(program);
    command.arg(tests).args(args).arg("-o").arg(&json).arg("-D").arg(format!("tools={}", tools.display()));
    // The files of this run are kept apart from those of another.
    command.arg("-D").arg(format!("exec_root={}", directory.path().join("out").display()));
    let output = command.output().expect("the runner runs");
    let text = std::fs::read_to_string(&json);
    let text = text.unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
    let value: serde_json::Value = serde_json::from_str(&text).expect("the results are JSON");
    let number = |v: &serde_json::Value| v.as_u64().expect("a number");
    let word = |v: &serde_json::Value| v.as_str().expect("a word").to_string();
    let tests = value["tests"].as_array().expect("a list").iter();
    tests.map(|t| (word(&t["name"]), word(&t["code"]), number(&t["processes"]), number(&t["calls"]))).collect()
}

#[test]
fn golden_tests_start_no_process() {
    let ran = golden_tests("passes", &[]);
    assert!(ran.len() >= 15, "{ran:?}");
    for (name, code, processes, calls) in &ran {
        assert_eq!(code, "PASS", "{name}");
        assert!(*processes == 0 && *calls > 0, "{name}: {processes} processes, {calls} calls");
    }
}

#[test]
fn processes_give_the_same_verdicts() {
    let verdicts = |ran: Vec<(String, String, u64, u64)>| {
        let mut list: Vec<_> = ran.into_iter().map(|t| (t.0, t.1)).collect();
        list.sort();
        list
    };
    let isolated = golden_tests("driver", &["--no-in-process"]);
    assert!(isolated.iter().all(|t| t.3 == 0 && t.2 > 0), "{isolated:?}");
    assert_eq!(verdicts(golden_tests("driver", &[])), verdicts(isolated));
}

#[test]
fn the_tools_of_the_compiler_are_there() {
    let suite = Suite::new(env!("CARGO_BIN_EXE_rinductor-lit"), "");
    let here = rinductor::driver::PROGRAMS.iter().filter(|p| p.0 != "rinductor-reduce");
    let count = here.clone().count() + 1;
    for (name, _) in here {
        suite.file(&format!("{name}.test"), &format!("RUN: {name} --help | FileCheck %s\nCHECK: {name}\n"));
    }
    // A pass that panics is an error of the tool; the run goes on either way.
    suite.file(
        "panic.test",
        "RUN: not rinductor-opt %s.ir '-p=test-failure{how=panic from=func.func}' 2>&1 | FileCheck %s\nCHECK: panic\n",
    );
    suite.file("panic.test.ir", "func.func @f() {\n  return\n}\n");
    let ran = suite.run(&["-v"]);
    for (name, code) in &ran.codes {
        assert_eq!(code, "PASS", "{name}: {}", ran.logs[name]);
    }
    let line = format!("{count} of {count} tests ran without a process, {} tools in process, 0 processes", 2 * count);
    assert!(ran.stdout.lines().any(|l| l == line), "{}", ran.stdout);
}
