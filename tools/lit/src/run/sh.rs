//! The format of tests with RUN lines.

use std::path::Path;

use crate::bless;
use crate::boolean;
use crate::features::Without;
use crate::result::{Code, TestResult};
use crate::run::case::{Context, TestCase, TestFormat};
use crate::run::log::{self, LogStyle};
use crate::script::{self, Directive, Script};
use crate::shell::exec::{CommandResult, Shell, ShellError};
use crate::shell::parser::{self, CommandLine};
use crate::substitute::{self, Line};

/// Tests with RUN lines.
pub struct ShFormat;

/// One run of all commands.
struct Attempt {
    code: Code,
    exit: i32,
    log: String,
    results: Vec<CommandResult>,
    splits: Vec<(std::path::PathBuf, std::path::PathBuf)>,
}

impl TestFormat for ShFormat {
    fn kind(&self) -> &str {
        "sh"
    }

    fn run(&self, test: &TestCase, context: &Context<'_>) -> TestResult {
        run(test, context).unwrap_or_else(|message| TestResult::new(Code::Unresolved, message))
    }
}

fn run(test: &TestCase, context: &Context<'_>) -> Result<TestResult, String> {
    if test.config.unsupported {
        return Ok(TestResult::new(Code::Unsupported, "Test is unsupported"));
    }
    let text = std::fs::read(&test.source).map_err(|e| format!("cannot read {}: {e}", test.source.display()))?;
    let script = script::parse(&text, test.config.preamble.is_empty())?;
    let expected_failure = expects_failure(test, &script)?;
    if test.marks.exclude_xfail && expected_failure {
        return Ok(TestResult::new(Code::Excluded, "excluding XFAIL tests"));
    }
    if let Some(result) = unsupported(test, &script)? {
        return Ok(result);
    }
    if context.flags.no_execute {
        return Ok(TestResult::new(Code::Pass, ""));
    }
    let directory = test.exec.parent().unwrap_or(Path::new("/"));
    let base = directory.join("Output").join(test.exec.file_name().unwrap_or_default());
    std::fs::create_dir_all(directory.join("Output"))
        .map_err(|e| format!("cannot make the directory of temporary files: {e}"))?;

    let preamble = test
        .config
        .preamble
        .iter()
        .map(|text| Directive::Command { origin: "preamble command line".to_string(), text: text.clone() });
    let directives: Vec<Directive> = preamble.chain(script.directives.iter().cloned()).collect();
    let mut substitutions = test.config.substitutions.clone();
    substitutions.extend(substitute::defaults(&test.source, &base));
    let limit = test.config.recursive_expansion_limit;
    let lines = substitute::apply(&directives, substitutions, &*test.features, limit)?;
    let lines = match parse(&lines) {
        Ok(lines) => lines,
        Err(message) => {
            return Ok(TestResult::new(Code::Unresolved, full_log(1, None, &format!("# {message}\n"))));
        }
    };

    let allowed = 1 + script.allowed_retries.unwrap_or(test.config.retries);
    let mut attempts = 0;
    let mut notes = Vec::new();
    let mut attempt = loop {
        let attempt = once(test, context, &lines, directory);
        attempts += 1;
        if attempt.code != Code::Fail || attempts >= allowed {
            break attempt;
        }
    };
    if attempts > 1 && attempt.code == Code::Pass {
        attempt.code = Code::FlakyPass;
    }
    if context.flags.bless && attempt.code == Code::Fail && !expected_failure {
        // Each round mends one comparison, for a test ends at the first that fails.
        for _ in 0..lines.len() + 1 {
            let Some(note) = bless::mend(test, &attempt.results, &attempt.splits, context.flags.draft)? else { break };
            notes.push(note);
            attempt = once(test, context, &lines, directory);
            if attempt.code == Code::Pass {
                attempt.code = Code::Fixed;
            }
            if attempt.code != Code::Fail {
                break;
            }
        }
    } else if attempt.code == Code::Fail {
        attempt.log.push_str(&bless::hint(test, &attempt.results, &attempt.splits, &context.flags.command));
    }
    let timeout = (attempt.code == Code::Timeout).then_some(test.config.timeout);
    let mut result = TestResult::new(attempt.code, full_log(attempt.exit, timeout, &attempt.log));
    result.attempts = attempts;
    result.max_attempts = allowed;
    result.notes = notes;
    Ok(result.with_expected_failure(expected_failure))
}

fn full_log(exit: i32, timeout: Option<u64>, log: &str) -> String {
    let timeout = timeout.map_or_else(String::new, |t| format!("Timeout: Reached timeout of {t} seconds\n"));
    format!("Exit Code: {exit}\n{timeout}\nCommand Output (stdout):\n--\n{log}\n--\n")
}

fn expects_failure(test: &TestCase, script: &Script) -> Result<bool, String> {
    if test.marks.xfail_not {
        return Ok(false);
    }
    if test.marks.xfail {
        return Ok(true);
    }
    for expression in &script.xfail {
        let holds = expression == "*"
            || boolean::evaluate(expression, &*test.features).map_err(|e| format!("Error in XFAIL list:\n{e}"))?;
        if holds {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The result of a test that is not to be run here.
fn unsupported(test: &TestCase, script: &Script) -> Result<Option<TestResult>, String> {
    let mut missing = Vec::new();
    for expression in &script.requires {
        if !boolean::evaluate(expression, &*test.features).map_err(|e| format!("Error in REQUIRES list:\n{e}"))? {
            missing.push(expression.clone());
        }
    }
    if !missing.is_empty() {
        let message = format!("Test requires the following unavailable features: {}", missing.join(", "));
        let mut result = TestResult::new(Code::Unsupported, message);
        result.missing_features = missing;
        return Ok(Some(result));
    }
    let mut present = Vec::new();
    if !test.marks.unsupported_not {
        for expression in &script.unsupported {
            if boolean::evaluate(expression, &*test.features).map_err(|e| format!("Error in UNSUPPORTED list:\n{e}"))? {
                present.push(expression.clone());
            }
        }
        if test.marks.unsupported {
            present.push("lit-unsupported-marker".to_string());
        }
    }
    if !present.is_empty() {
        let list = present.join(", ");
        let message = format!("Test does not support the following features and/or targets: {list}");
        return Ok(Some(TestResult::new(Code::Unsupported, message)));
    }
    let limits = &test.config.limit_to_features;
    if !limits.is_empty() {
        let without = Without(&test.features, limits);
        let mut needs_limits = false;
        for expression in &script.requires {
            needs_limits |= !boolean::evaluate(expression, &without)?;
        }
        if !needs_limits {
            let list = limits.join(", ");
            let message = format!("Test does not require any of the features specified in limit_to_features: {list}");
            return Ok(Some(TestResult::new(Code::Unsupported, message)));
        }
    }
    Ok(None)
}

/// A line ready to run; none if substitutions left nothing of it.
type Ready = (Line, Option<CommandLine>);

fn parse(lines: &[Line]) -> Result<Vec<Ready>, String> {
    let one = |line: &Line| {
        if line.text.is_empty() {
            return Ok((line.clone(), None));
        }
        let parsed = parser::parse(&line.text);
        let parsed = parsed.map_err(|e| format!("shell parser error on {}: {}\n# {e}", line.origin, line.text))?;
        Ok((line.clone(), Some(parsed)))
    };
    lines.iter().map(one).collect()
}

fn once(test: &TestCase, context: &Context<'_>, lines: &[Ready], cwd: &Path) -> Attempt {
    let style =
        LogStyle { color: context.flags.color, limit: context.flags.output_limit, timeout: test.config.timeout };
    let mut env = test.config.environment.clone();
    env.insert("LIT_CURRENT_TESTCASE".to_string(), test.name.clone());
    let mut shell = Shell::new(cwd.to_path_buf(), env, context.toolbox, context.control, test.config.pipefail);
    let mut log = String::new();
    let mut exit = 0;
    let mut code = Code::Pass;
    let mut all = Vec::new();
    for (line, parsed) in lines {
        log.push_str(&format!("# {}\n", line.origin));
        let Some(parsed) = parsed else {
            log.push_str("has no command after substitutions\n");
            continue;
        };
        log.push_str(&line.text);
        log.push('\n');
        let status = shell.run(parsed);
        let mut results = std::mem::take(&mut shell.results);
        match status {
            Ok(status) => exit = status.unwrap_or(0),
            Err(ShellError::Command(words, message)) => {
                exit = 127;
                let stderr = message.into_bytes();
                results.push(CommandResult { words, stderr, exit, ..CommandResult::default() });
            }
            Err(ShellError::Unresolved(message)) => {
                exit = 1;
                code = Code::Unresolved;
                log.push_str(&format!("# error: {message}\n"));
            }
        }
        log.extend(results.iter().map(|result| log::command(result, style)));
        all.extend(results);
        if context.control.timed_out() {
            code = Code::Timeout;
            break;
        }
        if exit != 0 {
            break;
        }
    }
    if exit != 0 && code == Code::Pass {
        code = Code::Fail;
    }
    Attempt { code, exit, log, results: all, splits: shell.splits }
}
