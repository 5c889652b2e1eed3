//! The examples of the page for test authors pass.

use crate::common::Suite;

#[test]
fn examples_pass() {
    let page = include_str!("../../../../docs/testing.md");
    let suite = Suite::new(env!("CARGO_BIN_EXE_rinductor-lit"), "");
    let mut examples = 0;
    for block in page.split("```test\n").skip(1) {
        let text = block.split("```").next().unwrap_or_default();
        suite.file(&format!("example-{examples}.test"), text);
        examples += 1;
    }
    assert!(examples >= 3, "the page has examples");
    let ran = suite.run(&[]);
    for (name, code) in &ran.codes {
        assert_eq!(code, "PASS", "{name}: {}", ran.logs[name]);
    }
    assert_eq!(ran.codes.len(), examples);
}

#[test]
fn options_of_the_page_exist() {
    let page = include_str!("../../../../docs/testing.md");
    let help = std::process::Command::new(env!("CARGO_BIN_EXE_rinductor-lit")).arg("--help").output().expect("runs");
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    for option in ["--bless", "--draft", "--filter", "--timeout", "--no-in-process"] {
        assert!(page.contains(option) && help.contains(option), "{option}");
    }
}
