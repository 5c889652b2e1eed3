//! RUN lines and keywords, each with the verdict that LLVM's lit gives.

use crate::common::Suite;

/// Name, text and result code of a test.
const CASES: &[(&str, &str, &str)] = &[
    ("and", "RUN: true && echo a > %t\nRUN: count 1 < %t", "PASS"),
    ("and-fails", "RUN: false && true", "FAIL"),
    ("or", "RUN: false || echo a | count 1", "PASS"),
    ("then", "RUN: false ; true", "PASS"),
    ("left-to-right", "RUN: true || false && false", "FAIL"),
    ("background", "RUN: true & true", "UNRESOLVED"),
    ("pipe", "RUN: echo a | cat | cat | count 1", "PASS"),
    ("pipe-to-program", "RUN: echo b a | tr ' ' '\\n' | sort | head -n1 | FileCheck %s\nCHECK: {{^}}a{{$}}", "PASS"),
    ("pipefail", "RUN: false | true", "FAIL"),
    ("stderr", "RUN: sh -c 'echo e >&2' 2> %t\nRUN: FileCheck %s < %t\nCHECK: e", "PASS"),
    ("both-to-file", "RUN: sh -c 'echo o; echo e >&2' > %t 2>&1\nRUN: count 2 < %t", "PASS"),
    ("both-to-pipe", "RUN: sh -c 'echo o; echo e >&2' 2>&1 | count 2", "PASS"),
    ("both-at-once", "RUN: sh -c 'echo o; echo e >&2' &> %t\nRUN: count 2 < %t", "PASS"),
    ("stderr-only", "RUN: sh -c 'echo o; echo e >&2' 2>&1 > /dev/null | FileCheck %s\nCHECK: {{^}}e", "PASS"),
    ("append", "RUN: echo a > %t && echo b >> %t\nRUN: count 2 < %t", "PASS"),
    ("no-such-directory", "RUN: echo a > %t/none/x", "UNRESOLVED"),
    ("bad-redirect", "RUN: true 3> %t", "FAIL"),
    ("not-found", "RUN: no-such-program-here", "FAIL"),
    ("not", "RUN: not false", "PASS"),
    ("not-true", "RUN: not true", "FAIL"),
    ("not-not", "RUN: not not true", "PASS"),
    ("not-signal", "RUN: not sh -c 'kill -9 $$'", "FAIL"),
    ("not-crash", "RUN: not --crash sh -c 'kill -9 $$'", "PASS"),
    ("not-crash-exit", "RUN: not --crash false", "FAIL"),
    ("bang", "RUN: ! false", "PASS"),
    ("not-nothing", "RUN: not", "FAIL"),
    ("not-in-pipe", "RUN: not sh -c 'echo x; exit 3' | FileCheck %s\nCHECK: x", "PASS"),
    ("env", "RUN: env A=1 B=2 sh -c 'echo $A$B' | FileCheck %s\nCHECK: 12", "PASS"),
    ("env-unset", "RUN: env -u HOME sh -c 'echo [$HOME]' | FileCheck %s\nCHECK: {{\\[\\]}}", "PASS"),
    (
        "env-empty",
        "RUN: env -i A=1 /bin/sh -c 'echo [$LIT_CURRENT_TESTCASE]' | FileCheck %s\nCHECK: {{\\[\\]}}",
        "PASS",
    ),
    ("env-for-filecheck", "RUN: echo aB | env FILECHECK_OPTS=--ignore-case FileCheck %s\nCHECK: Ab", "PASS"),
    ("env-builtin", "RUN: env A=1 cd /", "FAIL"),
    ("export", "RUN: export A=5\nRUN: sh -c 'echo $A' | FileCheck %s\nCHECK: 5", "PASS"),
    ("current-test", "RUN: sh -c 'echo $LIT_CURRENT_TESTCASE' | FileCheck %s\nCHECK: s :: current-test.test", "PASS"),
    ("cd", "RUN: mkdir -p %t/d && cd %t/d && echo x > f\nRUN: cat %t/d/f | count 1", "PASS"),
    ("pushd", "RUN: pushd / && popd && pwd | FileCheck -DD=%S %s\nCHECK: [[D]]", "PASS"),
    ("popd-alone", "RUN: popd", "FAIL"),
    ("rm", "RUN: rm -rf %t && mkdir %t && rm -r %t && not cat %t", "PASS"),
    ("glob", "RUN: rm -rf %t && mkdir %t && echo 1 > %t/a.x && echo 2 > %t/b.x\nRUN: cat %t/*.x | count 2", "PASS"),
    ("glob-none", "RUN: cat %t.none/*.x", "FAIL"),
    ("quotes", "RUN: echo 'a  b' \"c\\\"d\" e\\ f | FileCheck --strict-whitespace %s\nCHECK: a  b c\"d e f", "PASS"),
    ("missing-quote", "RUN: echo 'a", "UNRESOLVED"),
    ("diff", "RUN: echo a > %t && echo a | diff %t -", "PASS"),
    ("diff-differs", "RUN: echo a > %t && echo b | diff %t -", "FAIL"),
    ("diff-not", "RUN: echo a > %t && echo b | not diff %t -", "PASS"),
    ("echo-escapes", "RUN: echo -e 'a\\nb' > %t && count 2 < %t", "PASS"),
    ("split", "RUN: split-file %s %t && count 1 < %t/a && count 2 < %t/d/b\n//--- a\n1\n//--- d/b\n1\n2", "PASS"),
    ("umask", "RUN: umask 077 && rm -f %t && touch %t && ls -l %t | FileCheck %s\nCHECK: -rw-------", "PASS"),
    ("ulimit", "RUN: ulimit -n 50\nRUN: sh -c 'ulimit -n' | FileCheck %s\nCHECK: {{^}}50", "PASS"),
    ("ulimit-bad", "RUN: ulimit -q 50", "FAIL"),
    ("colon", "RUN: : anything at all", "PASS"),
    ("readfile", "RUN: echo -n abc > %t\nRUN: echo %{readfile:%t} | FileCheck %s\nCHECK: {{^}}abc", "PASS"),
    ("continued", "RUN: echo a \\\nRUN:   b | \\\nRUN: FileCheck %s\nCHECK: a b", "PASS"),
    ("line", "RUN: echo %(line) %(line+2) | FileCheck %s\nCHECK: 1 3", "PASS"),
    ("percent", "RUN: echo %%s | FileCheck %s\nCHECK: %{{s}}", "PASS"),
    ("define", "DEFINE: %{x} = echo \\\nDEFINE:   one\nRUN: %{x} | FileCheck %s\nCHECK: one", "PASS"),
    ("define-twice", "DEFINE: %{x} = 1\nDEFINE: %{x} = 2\nRUN: true", "UNRESOLVED"),
    ("redefine", "DEFINE: %{x} = false\nREDEFINE: %{x} = true\nRUN: %{x}", "PASS"),
    ("if", "RUN: %if present %{ true %} %else %{ false %}", "PASS"),
    ("if-not", "RUN: %if absent %{ false %}", "PASS"),
    ("xfail", "RUN: false\nXFAIL: *", "XFAIL"),
    ("xfail-absent", "RUN: true\nXFAIL: absent", "PASS"),
    ("xpass", "RUN: true\nXFAIL: present", "XPASS"),
    ("requires", "RUN: true\nREQUIRES: present, system-linux || !absent", "PASS"),
    ("requires-absent", "RUN: false\nREQUIRES: absent", "UNSUPPORTED"),
    ("requires-bad", "RUN: true\nREQUIRES: a b", "UNRESOLVED"),
    ("unsupported", "RUN: false\nUNSUPPORTED: {{pres.*}}", "UNSUPPORTED"),
    ("end", "RUN: true\nEND.\nRUN: false", "PASS"),
    ("no-run", "nothing", "UNRESOLVED"),
    ("retries", "RUN: echo x >> %t && count 3 < %t\nALLOW_RETRIES: 5", "FLAKYPASS"),
    ("large", "RUN: seq 200000 | cat | tail -n 100000 | count 100000", "PASS"),
];

#[test]
fn verdicts_are_those_of_lit() {
    let suite = Suite::new(env!("CARGO_BIN_EXE_rinductor-lit"), "features = ['present']\n");
    for (name, text, _) in CASES {
        suite.file(&format!("{name}.test"), &format!("{text}\n"));
    }
    let ran = suite.run(&[]);
    for (name, _, code) in CASES {
        let file = format!("{name}.test");
        let log = ran.logs.get(&file).map_or("", String::as_str);
        assert_eq!(ran.codes.get(&file).map(String::as_str), Some(*code), "{name}: {log}");
    }
    assert_eq!(ran.codes.len(), CASES.len());
    assert_eq!(ran.status, 1);
    let passed = CASES.iter().filter(|c| ["PASS", "FLAKYPASS", "XFAIL"].contains(&c.2)).count();
    let unsupported = CASES.iter().filter(|c| c.2 == "UNSUPPORTED").count();
    let failed = CASES.len() - passed - unsupported;
    assert_eq!(ran.stdout.lines().last(), Some(format!("{passed} passed, {failed} failed").as_str()));
}

#[test]
fn tools_as_processes_give_the_same_verdicts() {
    let suite = Suite::new(env!("CARGO_BIN_EXE_rinductor-lit"), "features = ['present']\n");
    for (name, text, _) in CASES.iter().filter(|c| c.1.contains("FileCheck")) {
        suite.file(&format!("{name}.test"), &format!("{text}\n"));
    }
    let together = suite.run(&[]).codes;
    assert!(together.len() > 10);
    assert_eq!(suite.run(&["--no-in-process"]).codes, together);
}
