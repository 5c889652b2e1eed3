//! Tools that crash, hang or shout do not take the run down, nor change the verdicts of other tests.
//!
//! This test is its own runner: it registers the tools, and the runner starts it again as worker and as tool.

mod common;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::Suite;
use rinductor_lit::{Extensions, ToolCall};

fn extensions() -> Extensions {
    let mut extensions = Extensions::default();
    extensions.tools.register("hello", |call: ToolCall<'_>| {
        i32::from(writeln!(call.stdout, "hello {} from {}", call.args.join(" "), call.cwd.display()).is_err())
    });
    extensions.tools.register("panics", |_: ToolCall<'_>| -> i32 { panic!("on purpose") });
    extensions.tools.register("aborts", |_: ToolCall<'_>| -> i32 { std::process::abort() });
    extensions.tools.register("exits", |_: ToolCall<'_>| -> i32 { std::process::exit(3) });
    extensions.tools.register("hangs", |_: ToolCall<'_>| -> i32 {
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    });
    extensions.tools.register("shouts", |_: ToolCall<'_>| {
        println!("this goes past the runner");
        0
    });
    extensions.tools.register("endless", |call: ToolCall<'_>| {
        while call.stdout.write_all(&[b'x'; 1 << 16]).is_ok() {}
        0
    });
    extensions.tools.register("overflows", |_: ToolCall<'_>| recurse(1));
    extensions
}

/// Never ends, but for the stack.
#[allow(unconditional_recursion, reason = "it is what is tested")]
fn recurse(depth: u64) -> i32 {
    let block = [depth; 512];
    std::hint::black_box(&block);
    recurse(depth + 1) + (block[depth as usize % 512] % 2) as i32
}

fn suite(tests: &[(&str, &str)], settings: &str) -> Suite {
    let program = std::env::current_exe().expect("this program has a path");
    let suite = Suite::new(program, settings);
    for (name, text) in tests {
        suite.file(&format!("{name}.test"), text);
    }
    for index in 0..40 {
        suite.file(&format!("good-{index}.test"), "RUN: hello | FileCheck %s\nCHECK: hello\n");
    }
    suite
}

fn expect(suite: &Suite, args: &[&str], expected: &[(&str, &str)]) -> common::Ran {
    let ran = suite.run(args);
    for (name, code) in expected {
        let name = format!("{name}.test");
        assert_eq!(ran.codes.get(&name).map(String::as_str), Some(*code), "{name}: {:?}", ran.logs.get(&name));
    }
    for index in 0..40 {
        let name = format!("good-{index}.test");
        assert_eq!(ran.codes.get(&name).map(String::as_str), Some("PASS"), "{name}: {:?}", ran.logs.get(&name));
    }
    ran
}

fn panics() {
    let suite = suite(
        &[
            ("panics", "RUN: panics\n"),
            ("panics-not", "RUN: not panics\n"),
            ("panics-crash", "RUN: not --crash panics\n"),
        ],
        "",
    );
    let ran = expect(&suite, &[], &[("panics", "FAIL"), ("panics-not", "FAIL"), ("panics-crash", "PASS")]);
    let log = &ran.logs["panics.test"];
    assert!(log.contains("panics: crashed: panicked: on purpose at ") && log.contains("robust.rs:"), "{log}");
}

fn deaths_of_the_worker() {
    let tests = [
        ("aborts", "RUN: aborts\n"),
        ("aborts-crash", "RUN: not --crash aborts\n"),
        ("exits", "RUN: exits\n"),
        ("exits-not", "RUN: not exits\n"),
        ("overflows", "RUN: overflows\n"),
        ("overflows-crash", "RUN: not --crash overflows\n"),
    ];
    let expected = [
        ("aborts", "FAIL"),
        ("aborts-crash", "PASS"),
        ("exits", "FAIL"),
        ("exits-not", "PASS"),
        ("overflows", "FAIL"),
        ("overflows-crash", "PASS"),
    ];
    let ran = expect(&suite(&tests, ""), &["-j3"], &expected);
    assert!(ran.logs["aborts.test"].contains("exit status: -6"), "{}", ran.logs["aborts.test"]);
    assert!(ran.logs["exits.test"].contains("exit status: 3"), "{}", ran.logs["exits.test"]);
}

fn hangs() {
    let tests = [("hangs-1", "RUN: hangs\n"), ("hangs-2", "RUN: hangs | FileCheck %s\n"), ("shouts", "RUN: shouts\n")];
    let expected = [("hangs-1", "TIMEOUT"), ("hangs-2", "TIMEOUT"), ("shouts", "PASS")];
    // More hanging tests than threads: threads are replaced.
    let ran = expect(&suite(&tests, ""), &["-j1", "--timeout=1"], &expected);
    assert!(ran.logs["hangs-1.test"].contains("does not come to an end"), "{}", ran.logs["hangs-1.test"]);
    expect(&suite(&tests, "in_process_timeout = 1\n"), &["-j2"], &expected);
    expect(&suite(&tests, ""), &["-j2", "--timeout=2", "--no-in-process"], &expected);
}

/// Endless output, and input, take no endless memory.
fn floods() {
    let tests = [
        ("endless", "RUN: endless\n"),
        ("endless-not", "RUN: not endless\n"),
        ("process", "RUN: yes\n"),
        ("between", "RUN: yes | count 3\n"),
        ("file", "RUN: cat /dev/zero | count 0\n"),
        ("device", "RUN: sh -c 'exit 1' > /dev/full\n"),
        ("head", "RUN: yes | head -n 1 > /dev/null; true\n"),
    ];
    let expected = [
        ("endless", "FAIL"),
        ("endless-not", "FAIL"),
        ("process", "FAIL"),
        ("between", "UNRESOLVED"),
        ("file", "FAIL"),
        ("device", "FAIL"),
        ("head", "PASS"),
    ];
    let ran = expect(&suite(&tests, ""), &["-j1", "--timeout=100"], &expected);
    for name in ["endless", "process", "between", "file"] {
        let log = &ran.logs[&format!("{name}.test")];
        assert!(log.contains("it is longer than 256 MiB"), "{name}: {}", &log[log.len().saturating_sub(1000)..]);
    }
}

/// What ends the worker from outside of it is found, and no other test is blamed.
fn killers() {
    let killer = "RUN: sh -c 'kill -9 $PPID'\n";
    let tests = [("killer-1", killer), ("killer-2", killer), ("slow", "RUN: sleep 0.2\n")];
    let expected = [("killer-1", "UNRESOLVED"), ("killer-2", "UNRESOLVED"), ("slow", "PASS")];
    expect(&suite(&tests, ""), &["-j6"], &expected);
}

fn hanging_files() {
    let tests = [("fifo", "RUN: rm -f %t && mkfifo %t && cat %t\n")];
    expect(&suite(&tests, "in_process_timeout = 1\n"), &["-j2"], &[("fifo", "TIMEOUT")]);
}

/// A run that is interrupted says what came of it so far; one that is killed leaves no process behind either.
fn interruptions() {
    use rustix::process::{Pid, Signal, kill_process};
    for (signal, status) in [(Signal::INT, Some(130)), (Signal::TERM, Some(130)), (Signal::KILL, None)] {
        let tests = [("sleeps", "RUN: sh -c 'echo $$ > %S/pid; exec sleep 100'\n"), ("waits", "RUN: sleep 100\n")];
        let suite = suite(&tests, "");
        let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
        command.arg(suite.path("")).args(["-j1", "--order=lexical"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("the runner starts");
        let begun = Instant::now();
        let pid = loop {
            let text = std::fs::read_to_string(suite.path("pid")).unwrap_or_default();
            match text.strip_suffix('\n').and_then(|t| t.parse::<u32>().ok()) {
                Some(pid) => break pid,
                None => assert!(begun.elapsed() < Duration::from_secs(60), "the test does not start"),
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let runner = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process");
        kill_process(runner, signal).expect("it is there");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), status, "{signal:?}");
        if status.is_some() {
            let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(out.contains("Skipped:  2 (4.76%)") && out.contains("40 passed, 0 failed"), "{out}");
            assert!(err.contains("interrupted by user, skipping remaining tests"), "{err}");
        }
        while Path::new(&format!("/proc/{pid}")).exists() {
            assert!(begun.elapsed() < Duration::from_secs(60), "a process of a test is left behind");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn surroundings() {
    let suite = suite(
        &[
            ("cwd", "RUN: cd / && hello a b | FileCheck %s\nCHECK: hello a b from /{{$}}\n"),
            ("env", "RUN: env A=1 hello | FileCheck %s\nCHECK: hello\n"),
            ("merged", "RUN: hello x 2>&1 | FileCheck %s\nCHECK: hello x\n"),
        ],
        "",
    );
    expect(&suite, &[], &[("cwd", "PASS"), ("env", "PASS"), ("merged", "PASS")]);
}

fn main() {
    let mut args = std::env::args_os();
    // With a path or one of its own arguments this is the runner; with none, or those of `cargo test`, the test.
    let own = args.nth(1).is_some_and(|a| {
        let a = a.to_string_lossy();
        a.starts_with('/') || a.starts_with("--as-")
    });
    if own {
        std::process::exit(rinductor_lit::main(std::env::args_os(), extensions()));
    }
    for (name, test) in [
        ("panics", panics as fn()),
        ("deaths_of_the_worker", deaths_of_the_worker),
        ("hangs", hangs),
        ("floods", floods),
        ("killers", killers),
        ("hanging_files", hanging_files),
        ("interruptions", interruptions),
        ("surroundings", surroundings),
    ] {
        test();
        println!("test {name} ... ok");
    }
}
