//! The program as a value: options, files, streams and exit codes.

use std::path::{Path, PathBuf};

use rinductor_filecheck::command::{Finished, Surroundings, run};

/// A directory with files, which goes with the value.
struct Files(PathBuf);

impl Files {
    fn new(name: &str, files: &[(&str, &str)]) -> Files {
        let directory = std::env::temp_dir().join(format!("rinductor-filecheck-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("the temporary directory can be written");
        for (name, text) in files {
            std::fs::write(directory.join(name), text).expect("the temporary directory can be written");
        }
        Files(directory)
    }

    fn run(&self, arguments: &[&str], stdin: &str, filecheck_opts: Option<&str>) -> Finished {
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let directory: &Path = &self.0;
        run(&arguments, &Surroundings { directory, stdin: stdin.as_bytes(), filecheck_opts, color: false })
    }

    #[track_caller]
    fn says(&self, arguments: &[&str], stdin: &str, code: i32, text: &str) {
        let finished = self.run(arguments, stdin, None);
        let stderr = String::from_utf8_lossy(&finished.stderr).into_owned();
        assert_eq!(finished.code, code, "{stderr}");
        assert!(stderr.contains(text), "{stderr}");
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // Nothing depends on it being gone.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn one_dash_or_two_and_values_apart_or_not() {
    let files = Files::new("dashes", &[("t", "KEEP: x\n"), ("in", "x\n")]);
    for arguments in [
        &["t", "-check-prefix=KEEP", "-input-file=in"][..],
        &["--check-prefix", "KEEP", "--input-file", "in", "t"],
        &["-check-prefixes", "KEEP", "t", "-input-file", "in", "-allow-empty=false"],
        &["--check-prefix=KEEP", "-dump-input-context", "3", "--", "t"],
    ] {
        let finished = files.run(arguments, "x\n", None);
        assert_eq!((finished.code, finished.stderr.as_slice()), (0, &b""[..]), "{arguments:?}");
    }
}

#[test]
fn exit_codes_tell_a_mismatch_from_an_error() {
    let files = Files::new("codes", &[("t", "CHECK: x\n"), ("bad", "CHECK: {{(}}\n"), ("open", "CHECK: [[A:]b]]\n")]);
    files.says(&["t"], "x\n", 0, "");
    files.says(&["t"], "y\n", 1, "t:1:8: error: CHECK: expected string not found in input\nCHECK: x\n       ^\n");
    files.says(&["t"], "", 2, "FileCheck error: '<stdin>' is empty.\nFileCheck command line:  rinductor-filecheck t\n");
    files.says(&["t", "-allow-empty"], "", 1, "scanning from here");
    files.says(&["bad"], "x\n", 2, "bad:1:10: error: invalid regex: parentheses not balanced\n");
    files.says(&["open"], "x\n", 1, "missing closing \"]\" for regex variable");
    files.says(&["none"], "x\n", 2, "Could not open check file 'none': No such file or directory\n");
    files.says(&["t", "-input-file=none"], "x\n", 2, "Could not open input file 'none': No such file or directory\n");
    files.says(&[], "x\n", 2, "<check-file> not specified\n");
    files.says(&["t", "-nonesuch"], "x\n", 1, "Unknown command line argument '-nonesuch'");
    files.says(&["t", "-dump-input=maybe"], "x\n", 1, "for the --dump-input option: Cannot find option named 'maybe'!");
    files.says(&["t", "-DX"], "x\n", 2, "Missing equal sign in command-line definition '-DX'\n");
}

#[test]
fn the_environment_adds_options() {
    let files = Files::new("environment", &[("t", "CHECK: x\n")]);
    let loud = files.run(&["t"], "x\n", Some("-v --dump-input 'never'"));
    assert_eq!(loud.code, 0);
    assert!(String::from_utf8_lossy(&loud.stderr).contains("remark: CHECK: expected string found in input"));
}

#[test]
fn prefixes_are_checked() {
    let files = Files::new("prefixes", &[("t", "A: x\nB: y\n")]);
    files.says(&["t", "-check-prefixes=A,B"], "x\ny\n", 0, "");
    files.says(&["t", "-check-prefixes=A,C"], "x\n", 2, "error: no check strings found with prefix 'C:'\n");
    files.says(&["t", "-check-prefixes=A,C", "-allow-unused-prefixes"], "x\n", 0, "");
    files.says(&["t", "-check-prefixes=D,C"], "x\n", 2, "error: no check strings found with prefixes 'C:', 'D:'\n");
    files.says(&["t", "-check-prefixes=A,A"], "x\n", 2, "must be unique among check and comment prefixes: 'A'\n");
    files.says(&["t", "-check-prefix=A!"], "x\n", 2, "must start with a letter and contain only");
    files.says(&["t", "-check-prefix=A", "-comment-prefixes=B"], "x\n", 0, "");
}

#[test]
fn definitions_come_from_the_options() {
    let files =
        Files::new("define", &[("t", "CHECK: [[NAME]] has [[#SIZE*1]]\n"), ("u", "CHECK: [[NAME]] has [[#SIZE+1]]\n")]);
    files.says(&["u", "-DNAME=a.b", "-D#SIZE=7"], "a.b has 8\n", 0, "");
    files.says(&["u", "-DNAME=a.b", "-D#SIZE=7"], "axb has 8\n", 1, "note: with \"NAME\" equal to \"a.b\"");
    files.says(&["t", "-DNAME=a", "-D#SIZE=7"], "a has 7\n", 2, "unsupported operation '*'");
    files.says(&["u", "-DNAME=a"], "a has 8\n", 1, "error: undefined variable: SIZE");
    files.says(&["u", "-D#NAME=1", "-DNAME=a"], "a has 8\n", 2, "numeric variable with name 'NAME' already exists");
}

#[test]
fn a_failure_shows_where_and_what() {
    let check = "// CHECK: %[[R:[a-z]+]] = add\n// CHECK-NEXT: mul %[[R]], 2\n";
    let files = Files::new("failure", &[("t", check)]);
    let finished = files.run(&["t", "-v"], "%x = add\nmul %y, 2\nret\n", None);
    assert_eq!(finished.code, 1);
    let expected = "\
t:2:16: error: CHECK-NEXT: expected string not found in input
// CHECK-NEXT: mul %[[R]], 2
               ^
<stdin>:1:9: note: scanning from here
%x = add
        ^
<stdin>:1:9: note: with \"R\" equal to \"x\"
%x = add
        ^
<stdin>:2:1: note: possible intended match here
mul %y, 2
^

Input file: <stdin>
Check file: t

-dump-input=help explains the following input dump.

Input was:
<<<<<<
           1: %x = add 
check:1'0     ^~~~~~~~
check:1'1      ^        captured var \"R\"
next:2'0              X error: no match found
next:2'1                with \"R\" equal to \"x\"
           2: mul %y, 2 
next:2'0      ~~~~~~~~~~
next:2'2      ?          possible intended match
           3: ret 
next:2'0      ~~~~
>>>>>>
";
    assert_eq!(String::from_utf8_lossy(&finished.stderr), expected);
}

#[test]
fn other_styles_gather_a_failure_in_one_message() {
    let check = "CHECK: %[[R:[a-z]+]] = [[#N:]]\nCHECK: mul %[[R]], [[#N+1]]\n";
    let files = Files::new("styles", &[("t", check)]);
    let show = |style: &str| {
        let finished =
            files.run(&["t", "--dump-input=never", "--diagnostics", style], "%x = 4\nmul %y, 5 \u{e9}\n", None);
        assert_eq!(finished.code, 1);
        String::from_utf8_lossy(&finished.stderr).into_owned()
    };
    let rich = "\
error: CHECK: expected string not found in input
  --> t:2:8
  |
2 | CHECK: mul %[[R]], [[#N+1]]
  |        ^^^^^^^^^^^^^^^^^^^^
";
    assert!(show("rich").starts_with(rich), "{}", show("rich"));
    assert!(show("rich").contains("= R = \"x\"\n"), "{}", show("rich"));
    assert!(show("rich").contains("= N = 4\n"), "{}", show("rich"));
    assert!(show("short").starts_with("t:2:8: error: CHECK: expected string not found in input\n<stdin>:1:7: note: "));
    let json = "{\"severity\":\"error\",\"message\":\"CHECK: expected string not found in input\",\"file\":\"t\",\
                \"line\":2,\"column\":8,\"notes\":[{\"severity\":\"note\",\"message\":\"scanning from here\",";
    assert!(show("json").starts_with(json), "{}", show("json"));
}
