//! What the command lines of all programs have in common.

use super::{Io, program};
use crate::support::diag::render::Style;
use crate::support::{Diagnostic, SourceMap, diag::render};
use clap::{Arg, ArgAction, ArgMatches, Command};
use regex::Regex;
use std::path::Path;

/// Where the options about diagnostics stand in the help.
pub const DIAGNOSTICS: &str = "Diagnostics";
/// Where the options about dialects stand in the help.
pub const DIALECTS: &str = "Dialects";

/// Where the options about what passes say stand in the help.
pub const PASSES_SAY: &str = "What passes say";

/// The remarks that `--explain-fusion` shows: those of the passes that decide what is computed together, and what that moves.
pub const FUSION: &str = "^(loops-inline|loops-fuse|loops-split-reductions|form-kernels|kernels-split|kernels-join|kernels-keep|kernels-in-place|kernels-traffic): ";

/// The options that ask for remarks and counters.
pub fn remarks(command: Command) -> Command {
    command
        .arg(
            Arg::new("remarks")
                .long("remarks")
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("")
                .value_name("REGEX")
                .help("Show what passes say they did and did not do, and why; only remarks that match, if a regular expression is given")
                .help_heading(PASSES_SAY),
        )
        .arg(
            flag("explain-fusion", "Show for each pair of ops whether it was fused, and why; and the bytes that are moved")
                .help_heading(PASSES_SAY),
        )
        .arg(
            Arg::new("statistics")
                .long("statistics")
                .alias("mlir-pass-statistics")
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("table")
                .value_parser(["table", "json"])
                .help("Print what the passes counted")
                .help_heading(PASSES_SAY),
        )
}

/// Which remarks the command line asks for, if any.
///
/// # Errors
/// A regular expression is none.
pub fn wanted_remarks(matches: &ArgMatches) -> Result<Option<Regex>, String> {
    let mut wanted = Vec::new();
    if let Some(text) = matches.get_one::<String>("remarks") {
        Regex::new(text).map_err(|e| format!("--remarks: {e}"))?;
        wanted.push(format!("({text})"));
    }
    if matches.get_flag("explain-fusion") {
        wanted.push(FUSION.to_string());
    }
    match wanted.is_empty() {
        true => Ok(None),
        false => Regex::new(&wanted.join("|")).map(Some).map_err(|e| format!("--remarks: {e}")),
    }
}

/// Options that every program takes.
pub fn common(command: Command) -> Command {
    command
        .disable_help_flag(true)
        .disable_version_flag(true)
        .arg(
            Arg::new("diagnostics")
                .long("diagnostics")
                .value_parser(["rich", "short", "json"])
                .value_name("STYLE")
                .help("How diagnostics are shown: with the source line for people, one line each for editors, or JSON lines for tools")
                .default_value("rich")
                .help_heading(DIAGNOSTICS),
        )
        .arg(
            flag("allow-unregistered-dialect", "Read ops of dialects that are not known")
                .alias("allow-unregistered-dialects")
                .help_heading(DIALECTS),
        )
        .arg(
            Arg::new("load-dialect")
                .long("load-dialect")
                .action(ArgAction::Append)
                .value_name("FILE")
                .help("Read a dialect file; may be given several times")
                .help_heading(DIALECTS),
        )
        .arg(
            Arg::new("load-rules")
                .long("load-rules")
                .action(ArgAction::Append)
                .value_name("FILE")
                .help("Read a file of rewrite rules, which canonicalizing passes then apply too; may be given several times")
                .help_heading(DIALECTS),
        )
        .arg(
            Arg::new("help")
                .long("help")
                .short('h')
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("")
                .value_name("PASS")
                .help("Print this help, or that of a pass"),
        )
        .arg(flag("version", "Print the version"))
}

/// The file that a program reads: standard input if none is given.
pub fn input() -> Arg {
    Arg::new("input").value_name("INPUT").default_value("-").help("File to read; - for standard input")
}

/// The file that a program reads, which must be given.
pub fn required_input() -> Arg {
    required(Arg::new("input").value_name("INPUT").help("File to read; - for standard input"))
}

/// An argument that must be given, unless the line asks for no more than information.
pub fn required(arg: Arg) -> Arg {
    arg.required_unless_present_any(["help", "version"])
}

/// The file that a program writes.
pub fn output() -> Arg {
    Arg::new("output")
        .short('o')
        .long("output")
        .value_name("FILE")
        .default_value("-")
        .help("File to write, whole or not at all; - for standard output")
}

/// An option with a value.
pub fn value(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

/// An option without a value.
pub fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

/// The style that `--diagnostics` asks for.
pub fn style(matches: &ArgMatches) -> Style {
    match matches.get_one::<String>("diagnostics").map(String::as_str) {
        Some("short") => Style::Short,
        Some("json") => Style::Json,
        _ => Style::Rich,
    }
}

/// Parses a command line. LLVM's habit of one dash before a long name (`-cse`, `-split-input-file`) is understood.
///
/// # Errors
/// The exit code, when something is wrong with the line: standard error says what.
pub fn parse(command: &mut Command, args: &[String], io: &mut Io) -> Result<ArgMatches, i32> {
    command.build();
    let mut options_end = false;
    let normal: Vec<String> = args
        .iter()
        .map(|arg| {
            options_end |= arg == "--";
            let name = arg.strip_prefix('-').unwrap_or("").split('=').next().unwrap_or("");
            let is_long = name.chars().count() > 1 && !name.starts_with('-') && has_long(command, name);
            if is_long && !options_end { format!("-{arg}") } else { arg.clone() }
        })
        .collect();
    command.clone().no_binary_name(true).try_get_matches_from(normal).map_err(|e| {
        let text = e.render();
        let text = if io.color { text.ansi().to_string() } else { text.to_string() };
        // An error stream that is closed takes no message.
        let _ = io.stderr.write_all(text.as_bytes());
        1
    })
}

/// The beginning of a program: its arguments, and how it shows diagnostics.
///
/// # Errors
/// The exit code, when the line is wrong or asked for no more than information, which was shown.
pub fn start(command: &mut Command, args: &[String], io: &mut Io, cwd: &Path) -> Result<(ArgMatches, Style), i32> {
    let matches = parse(command, args, io)?;
    let style = style(&matches);
    match information(&matches, command) {
        Some(text) => Err(program::output("-", text, cwd, style, io)),
        None => Ok((matches, style)),
    }
}

fn has_long(command: &Command, name: &str) -> bool {
    command
        .get_arguments()
        .any(|a| a.get_long() == Some(name) || a.get_all_aliases().is_some_and(|l| l.contains(&name)))
}

/// The text of `--version`: with LLVM's version where it is built in.
pub fn version(program: &str) -> String {
    let llvm = if cfg!(feature = "llvm") { " with LLVM 22" } else { "" };
    format!("{program} {}{llvm}\n", env!("CARGO_PKG_VERSION"))
}

/// The text of `--help` and `--version`, if one of them is asked for.
pub fn information(matches: &ArgMatches, command: &mut Command) -> Option<String> {
    if matches.get_flag("version") {
        return Some(version(command.get_name()));
    }
    matches.get_one::<String>("help").map(|_| command.render_help().to_string())
}

/// Shows diagnostics on standard error.
pub fn show(diagnostics: &[Diagnostic], sources: &SourceMap, style: Style, io: &mut Io) {
    let text = render::render(diagnostics, sources, style, io.color);
    // An error stream that is closed takes no message.
    let _ = io.stderr.write_all(text.as_bytes());
}

/// Shows one error that no place in a text causes, and gives the exit code for it.
pub fn fail(message: impl Into<String>, style: Style, io: &mut Io) -> i32 {
    show(&[Diagnostic::error_nowhere(message)], &SourceMap::new(), style, io);
    1
}
