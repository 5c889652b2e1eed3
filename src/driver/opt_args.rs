//! The command line of `rinductor-opt`.

use super::args::{self, flag};
use crate::pass::dump::{ChangeStyle, Which};
use crate::passes;
use clap::{Arg, ArgAction, ArgMatches, Command};

const PASSES: &str = "Passes (each runs in its place on the command line)";
const PRINTING: &str = "Printing between passes";
const CHECKING: &str = "Checking and finding faults";

/// The command line: the fixed options, and one for each pass.
pub fn command() -> Command {
    let mut command = args::common(Command::new("rinductor-opt"))
        .about("Reads IR, verifies it, runs passes over it, and prints it")
        .override_usage("rinductor-opt [OPTIONS] [INPUT]")
        .arg(args::input())
        .arg(args::output())
        .arg(
            Arg::new("passes")
                .short('p')
                .long("pass-pipeline")
                .action(ArgAction::Append)
                .value_name("PIPELINE")
                .help("Run passes: 'cse,loops-inline{max-reads=8},func.func(dce)'"),
        )
        .arg(
            Arg::new("pipeline")
                .long("pipeline")
                .action(ArgAction::Append)
                .value_name("NAME")
                .help("Run a named pipeline; --list-passes lists them"),
        )
        .arg(flag("list-passes", "List passes and named pipelines"))
        .arg(flag("list-dialects", "List the known dialects"))
        .arg(flag("split-input-file", "Read the parts between lines `// -----` as files of their own"))
        .arg(flag("no-implicit-module", "Refuse a text that is not one module").hide(true))
        .arg(flag("print-generic", "Print ops in their generic form").alias("mlir-print-op-generic"))
        .arg(flag("print-debuginfo", "Print locations").alias("mlir-print-debuginfo"));
    command = args::remarks(printing(command));
    command = checking(command);
    for pass in passes::TABLE {
        let arg = Arg::new(pass_id(pass.name()))
            .long(pass.name())
            .action(ArgAction::Append)
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("")
            .value_name("OPTIONS")
            .help(crate::pass::summary(*pass))
            .help_heading(PASSES);
        command = command.arg(arg);
    }
    command
}

fn printing(command: Command) -> Command {
    let which = |name: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .action(ArgAction::Append)
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("")
            .value_delimiter(',')
            .value_name("PASS")
            .help(help)
            .help_heading(PRINTING)
    };
    let choice = |name: &'static str, values: &'static [&'static str], help: &'static str| {
        Arg::new(name)
            .long(name)
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value(values[0])
            .value_parser(clap::builder::PossibleValuesParser::new(values))
            .help(help)
            .help_heading(PRINTING)
    };
    command
        .arg(
            which("print-ir-before", "Print the IR before a pass; without a name, before each")
                .alias("mlir-print-ir-before"),
        )
        .arg(
            which("print-ir-after", "Print the IR after a pass; without a name, after each")
                .alias("mlir-print-ir-after"),
        )
        .arg(
            flag("print-ir-before-all", "Print the IR before each pass")
                .alias("mlir-print-ir-before-all")
                .help_heading(PRINTING),
        )
        .arg(
            flag("print-ir-after-all", "Print the IR after each pass")
                .alias("mlir-print-ir-after-all")
                .help_heading(PRINTING),
        )
        .arg(
            choice(
                "print-ir-after-change",
                &["diff", "full"],
                "Print what a pass changed: as a diff, or the whole IR after it",
            )
            .alias("mlir-print-ir-after-change"),
        )
        .arg(
            flag("print-ir-after-failure", "Print the IR after a pass that failed")
                .alias("mlir-print-ir-after-failure")
                .help_heading(PRINTING),
        )
        .arg(
            flag("print-ir-module-scope", "Print the whole module, also where a pass ran on one function")
                .alias("mlir-print-ir-module-scope")
                .help_heading(PRINTING),
        )
        .arg(
            Arg::new("print-ir-tree-dir")
                .long("print-ir-tree-dir")
                .alias("mlir-print-ir-tree-dir")
                .value_name("DIR")
                .help("Print into files of a folder instead of standard error; after each pass if nothing else is said")
                .help_heading(PRINTING),
        )
        .arg(
            choice("timing", &["table", "json"], "Print how long each pass took, and how many ops it left")
                .alias("mlir-timing"),
        )
}

fn checking(command: Command) -> Command {
    let with_value = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help).help_heading(CHECKING)
    };
    command
        .arg(
            with_value("verify-each", "BOOL", "Verify the IR after each pass")
                .num_args(0..=1)
                .require_equals(true)
                .default_value("true")
                .default_missing_value("true")
                .value_parser(clap::builder::BoolishValueParser::new()),
        )
        .arg(
            with_value(
                "verify-diagnostics",
                "WHICH",
                "Compare diagnostics with the expected-error, -warning, -remark and -note comments",
            )
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("all")
            .value_parser(["all", "only-expected"]),
        )
        .arg(
            with_value(
                "check-execution",
                "SEED",
                "Interpret before and after each pass on the same inputs, and compare the results",
            )
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("0")
            .value_parser(clap::value_parser!(u64)),
        )
        .arg(
            with_value("bisect-limit", "N", "Run only the first N passes, and list them (-1: list all)")
                .allow_negative_numbers(true)
                .value_parser(clap::value_parser!(i64)),
        )
        .arg(
            with_value("reproducer", "FILE", "When a pass fails or panics, write a file that shows it again")
                .alias("mlir-pass-pipeline-crash-reproducer"),
        )
        .arg(flag("run-reproducer", "Run the pipeline that stands in the head of the input").help_heading(CHECKING))
}

fn pass_id(name: &str) -> String {
    format!("pass:{name}")
}

/// A piece of pipeline on the command line: the text of the option that it came by, and its own text.
pub struct Piece {
    /// The option, `-p` or `--cse`: errors are shown in it.
    pub option: String,
    /// What it says, as a pipeline.
    pub text: String,
}

/// The pieces of pipeline in the order of the command line.
pub fn pieces(matches: &ArgMatches) -> Vec<Piece> {
    let mut found: Vec<(usize, Piece)> = Vec::new();
    let mut collect = |id: &str, make: &dyn Fn(&str) -> Piece| {
        let (Some(indices), Some(values)) = (matches.indices_of(id), matches.get_many::<String>(id)) else { return };
        found.extend(indices.zip(values).map(|(i, v)| (i, make(v))));
    };
    collect("passes", &|v| Piece { option: "<pass-pipeline>".into(), text: v.to_string() });
    collect("pipeline", &|v| Piece { option: "<pipeline>".into(), text: v.to_string() });
    for pass in passes::TABLE {
        let name = pass.name();
        collect(&pass_id(name), &|v| {
            let text = if v.is_empty() { name.to_string() } else { format!("{name}{{{v}}}") };
            Piece { option: format!("<--{name}>"), text }
        });
    }
    found.sort_by_key(|f| f.0);
    found.into_iter().map(|f| f.1).collect()
}

/// The passes whose flags stand on the command line.
pub fn flagged_passes(matches: &ArgMatches) -> Vec<&'static str> {
    let given = |name: &str| matches.value_source(&pass_id(name)).is_some();
    passes::TABLE.iter().map(|p| p.name()).filter(|n| given(n)).collect()
}

/// The passes that `--print-ir-before[=…]` or `-after` names, with its `-all` form.
///
/// # Errors
/// There is no pass of a name.
pub fn which(matches: &ArgMatches, id: &str) -> Result<Which, String> {
    if matches.get_flag(&format!("{id}-all")) {
        return Ok(Which::All);
    }
    let Some(names) = matches.get_many::<String>(id) else { return Ok(Which::None) };
    let names: Vec<String> = names.cloned().collect();
    if names.iter().any(String::is_empty) {
        return Ok(Which::All);
    }
    match names.iter().find(|n| passes::find(n).is_none()) {
        Some(name) => Err(format!("--{id}: there is no pass '{name}'; --list-passes lists them")),
        None => Ok(Which::Named(names)),
    }
}

/// How `--print-ir-after-change` shows changes.
pub fn change_style(matches: &ArgMatches) -> Option<ChangeStyle> {
    matches.get_one::<String>("print-ir-after-change").map(|v| match v.as_str() {
        "full" => ChangeStyle::Full,
        _ => ChangeStyle::Diff,
    })
}
