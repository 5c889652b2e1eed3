//! The main of the test runner: from arguments to exit status.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::Extensions;
use crate::boolean;
use crate::config::Given;
use crate::discovery::{Discovery, FileNames, Found};
use crate::display::{self, Display, show};
use crate::features::{Features, ProbeContext};
use crate::files;
use crate::options::{Diagnostics, Level, Options, Order};
use crate::report::{self, Reported};
use crate::result::{Code, TestResult};
use crate::run::protocol::{Flags, Job, Marks, Setup};
use crate::run::{supervisor, worker};
use crate::script;
use crate::times::{self, Previous, Times};
use crate::tool::{Environment, ToolCall};
use crate::toolbox::AS_TOOL;

/// Runs the test runner and gives its exit status: 0 if no test failed, 1 if any did, 2 if there was nothing to run.
///
/// With the argument by which the runner starts itself again, it is a worker or one of the tools instead.
pub fn main(args: impl IntoIterator<Item = OsString>, extensions: Extensions) -> i32 {
    let args: Vec<OsString> = args.into_iter().collect();
    match args.get(1).and_then(|a| a.to_str()) {
        Some(supervisor::AS_WORKER) => return worker::main(extensions),
        Some(AS_TOOL) => return as_tool(&args[2..], &extensions),
        _ => {}
    }
    let options = match Options::parse_with_environment(args.iter().cloned()) {
        Ok(options) => options,
        Err(error) => {
            let _ = error.print();
            return error.exit_code();
        }
    };
    let program = args.first().map_or_else(|| "rinductor-lit".to_string(), |p| p.to_string_lossy().into_owned());
    run(&options, &program).unwrap_or_else(|message| {
        eprintln!("{program}: error: {message}");
        2
    })
}

/// Runs a tool as the process that this is.
fn as_tool(args: &[OsString], extensions: &Extensions) -> i32 {
    let args: Vec<String> = args.iter().map(|a| a.to_string_lossy().into_owned()).collect();
    let Some((tool, args)) = args.split_first().and_then(|(name, args)| Some((extensions.tools.get(name)?, args)))
    else {
        eprintln!("error: there is no such tool");
        return 127;
    };
    let mut stdin = Vec::new();
    let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    if let Err(error) = std::io::stdin().read_to_end(&mut stdin) {
        eprintln!("error: cannot read standard input: {error}");
        return 1;
    }
    let env: Environment =
        std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?))).collect();
    // Not kept until the end: where both streams are one, the order of what is written matters.
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    let call = ToolCall { args, stdin: &stdin, stdout: &mut out, stderr: &mut err, cwd: &cwd, env: &env };
    let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| tool.run(call)));
    let _ = std::io::stdout().flush();
    // A panic is a crash here too.
    code.unwrap_or_else(|_| std::process::abort())
}

/// A test with what is known of it.
struct Test {
    found: Found,
    name: String,
    path: String,
    previous: Previous,
    result: Option<TestResult>,
}

/// The exit status after an interruption, as a shell gives it.
const INTERRUPTED: i32 = 130;

fn run(options: &Options, program: &str) -> Result<i32, String> {
    let in_ci = std::env::var("CI").is_ok_and(|v| !["", "0", "false"].contains(&v.as_str()));
    if options.bless && in_ci {
        return Err("--bless rewrites what is expected, which is never done in CI (the variable CI is set)".to_string());
    }
    let shard = options.shard()?;
    let params: Environment = options
        .params
        .iter()
        .map(|p| p.split_once('=').map_or((p.clone(), String::new()), |(k, v)| (k.to_string(), v.to_string())))
        .collect();
    let given = Given {
        params: params.clone(),
        path: options.path.clone(),
        timeout: options.timeout,
        retries: options.max_retries_per_test,
    };
    let names = FileNames::new(&options.config_prefix);
    let mut discovery = Discovery::new(&names, &given);
    for path in &options.paths {
        discovery.add(path)?;
    }
    if options.diagnostic_level >= Diagnostics::Warning {
        for warning in &discovery.warnings {
            eprintln!("{program}: warning: {warning}");
        }
    }
    if discovery.tests.is_empty() {
        eprintln!("error: did not discover any tests for provided path(s)");
        return Ok(2);
    }
    if options.show_suites || options.show_tests || options.show_used_features {
        print!("{}", information(options, &discovery, &params)?);
        return Ok(0);
    }

    let mut suite_times: Vec<Option<Times>> = vec![None; discovery.configs.len()];
    let mut tests: Vec<Test> = Vec::new();
    for found in &discovery.tests {
        let suite = &discovery.configs[found.suite];
        let times = suite_times[found.suite].get_or_insert_with(|| times::read(&suite.exec_root, &suite.source_root));
        let path = found.path.join("/");
        let previous = times::previous(times, &path);
        tests.push(Test {
            name: format!("{} :: {path}", suite.name),
            found: found.clone(),
            path,
            previous,
            result: None,
        });
    }
    order(&mut tests, options);
    let mut selected: Vec<usize> = (0..tests.len()).filter(|&i| is_selected(&tests[i], options)).collect();
    if selected.is_empty() {
        let count = tests.len();
        eprint!("error: filter did not match any tests (of {count} discovered).  ");
        if options.allow_empty_runs {
            eprintln!("Suppressing error because '--allow-empty-runs' was specified.");
            return Ok(0);
        }
        eprintln!("Use '--allow-empty-runs' to suppress this error.");
        return Ok(2);
    }
    if let Some((run, count)) = shard {
        selected = selected.into_iter().skip(run - 1).step_by(count).collect();
        if selected.is_empty() {
            eprintln!("warning: shard does not contain any tests.  Consider decreasing the number of shards.");
            return Ok(0);
        }
        if options.diagnostic_level >= Diagnostics::Note {
            let (size, all) = (selected.len(), tests.len());
            eprintln!("{program}: note: Selecting shard {run}/{count} = size {size}/{all}");
        }
    }
    selected.truncate(options.max_tests.unwrap_or(usize::MAX));

    let begun = Instant::now();
    let end = execute(options, &discovery, params, &mut tests, &selected, program)?;
    let elapsed = begun.elapsed().as_secs_f64();
    if !options.skip_test_time_recording {
        record_times(&discovery, &tests, &mut suite_times, program);
    }
    let status = finish(options, &discovery, &tests, shard.map(|_| selected.as_slice()), elapsed)?;
    Ok(if end == supervisor::End::Interrupted { INTERRUPTED } else { status })
}

/// Runs the selected tests and notes their results; those of the others too.
fn execute(
    options: &Options,
    discovery: &Discovery<'_>,
    params: Environment,
    tests: &mut [Test],
    selected: &[usize],
    program: &str,
) -> Result<supervisor::End, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = options.jobs.filter(|&n| n > 0).unwrap_or(cores).min(selected.len());
    let color = display::use_color(options);
    let output_limit = params.get("output_limit").and_then(|n| n.parse().ok()).unwrap_or(10240);
    // Files that tools leave in the directory for temporary files go with it.
    let keep = std::env::var_os("LIT_PRESERVES_TMP").is_some();
    let temporary = if keep { None } else { tempfile::Builder::new().prefix("lit-tmp-").tempdir().ok() };
    let mut configs = discovery.configs.clone();
    if let Some(directory) = &temporary {
        for config in &mut configs {
            for name in ["TMPDIR", "TMP", "TEMP", "TEMPDIR"] {
                config.environment.insert(name.to_string(), directory.path().to_string_lossy().into_owned());
            }
        }
    }
    let flags = Flags {
        bless: options.bless,
        draft: options.draft,
        no_execute: options.no_execute,
        color,
        no_in_process: options.no_in_process,
        output_limit,
        command: program.to_string(),
    };
    let setup = Setup { threads, configs, params, flags };
    let jobs = selected.iter().map(|&id| {
        let (config, path) = (tests[id].found.config, tests[id].found.path.clone());
        Job { id, config, path, marks: marks(options, &tests[id]), isolated: false }
    });
    let jobs = jobs.collect();
    let deadline = options.max_time.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut display = Display::new(options, selected.len(), tests.len(), threads);
    let mut failures = 0;
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let registered = signal_hook::flag::register(signal, interrupted.clone());
        registered.map_err(|e| format!("cannot wait for signals: {e}"))?;
    }
    let end = supervisor::run(&setup, jobs, deadline, &interrupted, |id, result| {
        display.result(&tests[id].name, &result);
        failures += usize::from(result.code.is_failure());
        tests[id].result = Some(result);
        options.max_failures.is_none_or(|most| failures < most)
    })?;
    display.end();
    match end {
        supervisor::End::Complete => {}
        supervisor::End::OutOfTime => eprintln!("warning: reached timeout, skipping remaining tests"),
        supervisor::End::Stopped => {
            eprintln!("warning: reached maximum number of test failures, skipping remaining tests");
        }
        supervisor::End::Interrupted => eprintln!("  interrupted by user, skipping remaining tests"),
    }
    for &id in selected {
        tests[id].result.get_or_insert_with(|| TestResult::new(Code::Skipped, ""));
    }
    for test in tests {
        test.result.get_or_insert_with(|| TestResult::new(Code::Excluded, ""));
    }
    Ok(end)
}

fn order(tests: &mut [Test], options: &Options) {
    match if options.shuffle { Order::Random } else { options.order } {
        Order::Lexical => tests.sort_by(|a, b| a.name.cmp(&b.name)),
        Order::Random => {
            use std::hash::{BuildHasher, RandomState};
            let state = RandomState::new();
            tests.sort_by_cached_key(|t| state.hash_one(&t.name));
        }
        Order::Smart => tests.sort_by(|a, b| {
            let slower = b.previous.elapsed.total_cmp(&a.previous.elapsed);
            b.previous.failed.cmp(&a.previous.failed).then(slower).then_with(|| a.name.cmp(&b.name))
        }),
    }
}

fn is_selected(test: &Test, options: &Options) -> bool {
    options.filter.as_ref().is_none_or(|f| f.is_match(&test.name))
        && !options.filter_out.as_ref().is_some_and(|f| f.is_match(&test.name))
        && (!options.filter_failed || test.previous.failed)
}

fn marks(options: &Options, test: &Test) -> Marks {
    let listed = |list: &[String]| list.iter().any(|entry| *entry == test.path || *entry == test.name);
    Marks {
        xfail: listed(&options.xfail),
        xfail_not: listed(&options.xfail_not),
        exclude_xfail: options.exclude_xfail,
        unsupported: listed(&options.unsupported),
        unsupported_not: listed(&options.unsupported_not),
    }
}

fn record_times(discovery: &Discovery<'_>, tests: &[Test], suite_times: &mut [Option<Times>], program: &str) {
    for test in tests {
        let times = &mut suite_times[test.found.suite];
        if let (Some(times), Some(result)) = (times, &test.result)
            && let Some(elapsed) = result.elapsed
        {
            times::note(times, &test.path, elapsed, result.code.is_failure());
        }
    }
    for (config, times) in discovery.configs.iter().zip(suite_times) {
        if let Some(times) = times
            && let Err(message) = times::write(&config.exec_root, times)
        {
            eprintln!("{program}: warning: {message}");
        }
    }
}

fn finish(
    options: &Options,
    discovery: &Discovery<'_>,
    tests: &[Test],
    shard: Option<&[usize]>,
    elapsed: f64,
) -> Result<i32, String> {
    let files: Vec<PathBuf> =
        tests.iter().map(|t| discovery.configs[t.found.suite].source_root.join(&t.path)).collect();
    let reported = |index: usize| {
        let test = &tests[index];
        let result = test.result.as_ref()?;
        let suite = discovery.configs[test.found.suite].name.as_str();
        Some(Reported { suite, path: &test.found.path, file: &files[index], result })
    };
    let all: Vec<Reported<'_>> = (0..tests.len()).filter_map(reported).collect();
    if let Some(slowest) = options.time_tests {
        let mut times: Vec<_> = all.iter().filter_map(|t| Some((t.name(), t.result.elapsed?))).collect();
        show(&report::histogram(&mut times, slowest));
    }
    show(&lists(options, &all));
    if options.line_level() == Level::All {
        show(&report::processes(&all));
    }
    let codes: Vec<Code> = all.iter().map(|t| t.result.code).collect();
    show(&report::summary(&codes, elapsed, options.terse_summary || options.quiet));

    // The tests of other shards are reported by other runs.
    let mut in_files: Vec<Reported<'_>> = match shard {
        Some(selected) => selected.iter().copied().filter_map(reported).collect(),
        None => all,
    };
    if options.report_failures_only {
        in_files.retain(|t| t.result.code.is_failure());
    }
    let write = |path: &Option<PathBuf>, text: &dyn Fn() -> String| match path {
        None => Ok(()),
        Some(path) => {
            files::write(path, text().as_bytes()).map_err(|e| format!("cannot write {}: {e}", path.display()))
        }
    };
    write(&options.output, &|| report::json(&in_files, elapsed))?;
    write(&options.xunit_xml_output, &|| report::xunit(&in_files, elapsed))?;
    write(&options.time_trace_output, &|| report::time_trace(&in_files))?;

    if codes.iter().any(|c| c.is_failure()) {
        if options.ignore_fail {
            eprintln!("\nExiting with status 0 instead of 1 because '--ignore-fail' was specified.");
            return Ok(0);
        }
        return Ok(1);
    }
    Ok(0)
}

/// The lists of tests by result before the summary.
fn lists(options: &Options, tests: &[Reported<'_>]) -> String {
    let mut out = String::new();
    for code in Code::ALL {
        let asked = match code {
            Code::Excluded => options.show_excluded,
            Code::Skipped => options.show_skipped,
            Code::Unsupported => options.show_unsupported,
            Code::Pass => options.show_pass,
            Code::FlakyPass => options.show_flakypass,
            Code::Fixed => options.show_fixed,
            Code::XFail => options.show_xfail,
            _ => true,
        };
        let mut names: Vec<String> = tests
            .iter()
            .filter(|t| asked && t.result.code == code)
            .map(|t| if options.relative_paths { relative(t.file) } else { t.name() })
            .collect();
        if names.is_empty() {
            continue;
        }
        names.sort();
        let count = names.len();
        out.push_str(&format!("{}\n{} Tests ({count}):\n", "*".repeat(20), code.label()));
        out.extend(names.iter().map(|name| format!("  {name}\n")));
        out.push('\n');
    }
    out
}

fn relative(path: &Path) -> String {
    let current = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&current).unwrap_or(path).to_string_lossy().into_owned()
}

/// What `--show-suites`, `--show-tests` and `--show-used-features` show.
fn information(options: &Options, discovery: &Discovery<'_>, params: &Environment) -> Result<String, String> {
    let mut out = String::new();
    let suites: BTreeSet<usize> = discovery.tests.iter().map(|t| t.suite).collect();
    if options.show_suites {
        out.push_str("-- Test Suites --\n");
        for &suite in &suites {
            let config = &discovery.configs[suite];
            let count = discovery.tests.iter().filter(|t| t.suite == suite).count();
            let context = ProbeContext {
                directory: config.source_root.clone(),
                environment: config.environment.clone(),
                params: params.clone(),
                programs: config.programs.clone(),
                built_in: Vec::new(),
            };
            let features = Features::new(config.features.clone(), &config.probes, context).all();
            let features = features.into_iter().collect::<Vec<_>>().join(" ");
            let mut substitutions: Vec<String> =
                config.substitutions.iter().map(|(a, b)| format!("{a} => {b}")).collect();
            substitutions.sort();
            out.push_str(&format!("  {} - {count} tests\n", config.name));
            out.push_str(&format!("    Source Root: {}\n", config.source_root.display()));
            out.push_str(&format!("    Exec Root  : {}\n", config.exec_root.display()));
            out.push_str(&format!("    Available Features: {features}\n"));
            let separator = format!("\n{}", " ".repeat(29));
            out.push_str(&format!("    Available Substitutions: {}\n", substitutions.join(&separator)));
        }
    }
    let file = |test: &Found| discovery.configs[test.suite].source_root.join(test.path.join("/"));
    if options.show_tests {
        out.push_str("-- Available Tests --\n");
        let name = |t: &Found| format!("  {} :: {}\n", discovery.configs[t.suite].name, t.path.join("/"));
        let mut names: Vec<String> = discovery.tests.iter().map(name).collect();
        names.sort();
        out.extend(names);
    }
    if options.show_used_features {
        let mut used = BTreeSet::new();
        for test in &discovery.tests {
            let text = std::fs::read(file(test)).map_err(|e| format!("cannot read {}: {e}", file(test).display()))?;
            let script = script::parse(&text, false)?;
            for expression in script.xfail.iter().chain(&script.requires).chain(&script.unsupported) {
                if expression != "*" {
                    used.extend(boolean::names(expression)?);
                }
            }
        }
        out.push_str(&format!("{}\n", used.into_iter().collect::<Vec<_>>().join(" ")));
    }
    Ok(out)
}
