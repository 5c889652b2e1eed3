//! The arguments of the program, read with clap: options have one dash or two, as LLVM's programs take them.

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::options::{Diagnostics, DumpFilter, DumpInput, Options};

/// What the arguments ask for.
#[derive(Debug)]
pub enum Request {
    /// A check.
    Check(Box<CheckRequest>),
    /// A text for the standard output: help or the version.
    Show(String),
    /// The explanation of the annotated input.
    ExplainDump,
    /// Nothing that can be done; the text says why.
    Wrong(String),
}

/// A check to make.
#[derive(Debug)]
pub struct CheckRequest {
    /// Its options, without the names of files.
    pub options: Options,
    /// The check file; `-` is the standard input.
    pub check_file: String,
    /// The input; `-` is the standard input.
    pub input_file: String,
}

/// Options that take a value; `-D` is apart, since its value follows at once.
const VALUED: &[&str] = &[
    "check-prefix",
    "check-prefixes",
    "comment-prefixes",
    "color",
    "diagnostics",
    "dump-input",
    "dump-input-context",
    "dump-input-filter",
    "dump-input-label-width",
    "implicit-check-not",
    "input-file",
];

/// Options that are on or off.
const FLAGS: &[(&str, &str)] = &[
    ("allow-deprecated-dag-overlap", "Let the matches of one CHECK-DAG group overlap (deprecated)"),
    ("allow-empty", "Accept an empty input"),
    ("allow-unused-prefixes", "Accept prefixes that the check file does not use"),
    ("enable-var-scope", "Forget variables without '$' at each CHECK-LABEL"),
    ("ignore-case", "Match without regard to case"),
    ("match-full-lines", "Match whole lines only, but for white space at their ends"),
    ("strict-whitespace", "Take blanks and tabs as they are"),
    ("v", "Report each match too"),
    ("vv", "Report also discarded matches and the absence of what is excluded; implies -v"),
];

fn command() -> Command {
    let valued = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).action(ArgAction::Append).help(help).allow_hyphen_values(true)
    };
    let mut command = Command::new("rinductor-filecheck")
        .about("Checks a text against the directives in a check file, as LLVM's FileCheck does")
        .after_help("Options may have one dash or two. FILECHECK_OPTS may hold options too.")
        .version(env!("CARGO_PKG_VERSION"))
        .no_binary_name(true)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .args_override_self(true)
        .arg(Arg::new("check-file").value_name("check-file").action(ArgAction::Append).help("The check file"))
        .arg(valued("D", "VAR=VALUE", "Define a string variable, or a number with -D#VAR=EXPRESSION"))
        .arg(
            valued("check-prefixes", "string,...", "Prefixes of directives [default: CHECK]")
                .visible_alias("check-prefix"),
        )
        .arg(valued("comment-prefixes", "string,...", "Prefixes of comments [default: COM,RUN]"))
        .arg(valued("implicit-check-not", "pattern", "Let this pattern stand nowhere between positive matches"))
        .arg(valued("input-file", "filename", "The text to check [default: the standard input]"))
        .arg(valued(
            "dump-input",
            "value",
            "When to show the annotated input: help, always, fail or never [default: fail]",
        ))
        .arg(valued("dump-input-context", "N", "Lines to show around those that the filter picks [default: 5]"))
        .arg(valued(
            "dump-input-filter",
            "value",
            "Lines to show: all, annotation-full, annotation or error [default: error, or all if always shown]",
        ))
        .arg(valued("dump-input-label-width", "N", "Least width of the column of labels").hide(true))
        .arg(valued("diagnostics", "style", "Style of messages: llvm, rich, short or json [default: llvm]"))
        .arg(Arg::new("color").long("color").value_name("bool").action(ArgAction::Append).help("Use colours"))
        .arg(Arg::new("help").long("help").action(ArgAction::SetTrue).help("Show this"))
        .arg(Arg::new("version").long("version").action(ArgAction::SetTrue).help("Show the version"));
    for &(name, help) in FLAGS {
        command = command.arg(Arg::new(name).long(name).value_name("bool").action(ArgAction::Append).help(help));
    }
    command
}

/// The name that messages on options begin with, as those who read them expect it.
pub const PROGRAM: &str = "FileCheck";

/// What an option's name has before it in messages.
fn dashes(name: &str) -> &'static str {
    if name.len() == 1 { "-" } else { "--" }
}

/// Brings one argument, and the next if it is its value, to the form that clap reads: two dashes, and `=` before a value.
/// Gives the number of arguments used, or what is wrong.
fn normalize(arguments: &[String], normalized: &mut Vec<OsString>) -> Result<usize, String> {
    let argument = &arguments[0];
    let Some(option) = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-')).filter(|o| !o.is_empty())
    else {
        normalized.push(argument.into());
        return Ok(1);
    };
    let (name, value) = match option.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (option, None),
    };
    if FLAGS.iter().any(|(flag, _)| *flag == name) || name == "color" {
        let value = match value {
            None | Some("" | "true" | "TRUE" | "True" | "1") => "true",
            Some("false" | "FALSE" | "False" | "0") => "false",
            Some(other) => {
                let dashes = dashes(name);
                return Err(format!(
                    "for the {dashes}{name} option: '{other}' is invalid value for boolean argument! Try 0 or 1\n"
                ));
            }
        };
        normalized.push(format!("--{name}={value}").into());
        return Ok(1);
    }
    if VALUED.contains(&name) {
        return match (value, arguments.get(1)) {
            (Some(value), _) => {
                normalized.push(format!("--{name}={value}").into());
                Ok(1)
            }
            (None, Some(value)) => {
                normalized.push(format!("--{name}={value}").into());
                Ok(2)
            }
            (None, None) => Err(format!("for the --{name} option: requires a value!\n")),
        };
    }
    if matches!(name, "help" | "h" | "help-hidden" | "help-list" | "help-list-hidden") && value.is_none() {
        normalized.push("--help".into());
        return Ok(1);
    }
    if name == "version" && value.is_none() {
        normalized.push("--version".into());
        return Ok(1);
    }
    if let Some(define) = option.strip_prefix('D') {
        if define.is_empty() {
            return Err("for the -D option: requires a value!\n".into());
        }
        normalized.push(format!("--D={define}").into());
        return Ok(1);
    }
    Err(format!("Unknown command line argument '{argument}'.  Try: 'rinductor-filecheck --help'\n"))
}

/// Reads the arguments, after those of `FILECHECK_OPTS`.
pub fn read(arguments: &[String], filecheck_opts: Option<&str>) -> Request {
    // A quote that is left open ends with the text.
    let words = filecheck_opts.map(|text| {
        ["", "\"", "'", "\\"]
            .iter()
            .find_map(|end| shell_words::split(&format!("{text}{end}")).ok())
            .unwrap_or_default()
    });
    let from_environment = words.unwrap_or_default();
    let all: Vec<String> = from_environment.into_iter().chain(arguments.iter().cloned()).collect();
    let mut normalized = Vec::new();
    let mut at = 0;
    while at < all.len() {
        if all[at] == "--" {
            normalized.extend(all[at..].iter().map(OsString::from));
            break;
        }
        match normalize(&all[at..], &mut normalized) {
            Ok(used) => at += used,
            Err(text) => return Request::Wrong(format!("{PROGRAM}: {text}")),
        }
    }
    match command().try_get_matches_from(normalized) {
        Ok(matches) => request(&matches),
        Err(error) => Request::Wrong(error.to_string()),
    }
}

fn values(matches: &ArgMatches, name: &str) -> Vec<String> {
    matches.get_many::<String>(name).into_iter().flatten().cloned().collect()
}

fn request(matches: &ArgMatches) -> Request {
    if matches.get_flag("help") {
        return Request::Show(command().render_help().to_string());
    }
    if matches.get_flag("version") {
        return Request::Show(command().render_version());
    }
    match check_request(matches) {
        Ok(request) => request,
        Err(text) => Request::Wrong(text),
    }
}

fn check_request(matches: &ArgMatches) -> Result<Request, String> {
    let list = |name: &str| -> Vec<String> {
        values(matches, name).iter().flat_map(|value| value.split(',')).map(str::to_owned).collect()
    };
    let flag = |name: &str| values(matches, name).last().is_some_and(|value| value == "true");
    let numbers = |name: &str| -> Result<Vec<usize>, String> {
        let parse = |value: &String| {
            value.parse::<u32>().map(|number| number as usize).map_err(|_| {
                format!("{PROGRAM}: for the --{name} option: '{value}' value invalid for uint argument!\n")
            })
        };
        values(matches, name).iter().map(parse).collect()
    };
    let unknown =
        |name: &str, value: &str| format!("{PROGRAM}: for the --{name} option: Cannot find option named '{value}'!\n");
    let mut explains = false;
    let mut dump_input: Option<DumpInput> = None;
    for value in values(matches, "dump-input") {
        let when = match value.as_str() {
            "help" => {
                explains = true;
                continue;
            }
            "always" => DumpInput::Always,
            "fail" => DumpInput::Fail,
            "never" => DumpInput::Never,
            _ => return Err(unknown("dump-input", &value)),
        };
        dump_input = dump_input.max(Some(when));
    }
    let mut dump_input_filter = None;
    for value in values(matches, "dump-input-filter") {
        let filter = match value.as_str() {
            "all" => DumpFilter::All,
            "annotation-full" => DumpFilter::AnnotationFull,
            "annotation" => DumpFilter::Annotation,
            "error" => DumpFilter::Error,
            _ => return Err(unknown("dump-input-filter", &value)),
        };
        dump_input_filter = dump_input_filter.max(Some(filter));
    }
    let diagnostics = match values(matches, "diagnostics").last().map(String::as_str) {
        None | Some("llvm") => Diagnostics::Llvm,
        Some("rich") => Diagnostics::Rich,
        Some("short") => Diagnostics::Short,
        Some("json") => Diagnostics::Json,
        Some(other) => return Err(unknown("diagnostics", other)),
    };
    let contexts = numbers("dump-input-context")?;
    let widths = numbers("dump-input-label-width")?;
    if explains {
        return Ok(Request::ExplainDump);
    }
    let files = values(matches, "check-file");
    let check_file = match files.as_slice() {
        [] => return Err("<check-file> not specified\n".into()),
        [only] => only.clone(),
        [_, second, ..] => {
            return Err(format!("{PROGRAM}: Too many positional arguments specified! Cannot take '{second}'\n"));
        }
    };
    let defines = values(matches, "D");
    let mut faults = String::new();
    for define in &defines {
        match define.find('=') {
            None => faults.push_str(&format!("Missing equal sign in command-line definition '-D{define}'\n")),
            Some(0) => faults.push_str(&format!("Missing variable name in command-line definition '-D{define}'\n")),
            Some(_) => {}
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let options = Options {
        check_prefixes: list("check-prefixes"),
        comment_prefixes: list("comment-prefixes"),
        implicit_check_not: values(matches, "implicit-check-not"),
        defines,
        allow_empty: flag("allow-empty"),
        allow_unused_prefixes: flag("allow-unused-prefixes"),
        allow_deprecated_dag_overlap: flag("allow-deprecated-dag-overlap"),
        enable_var_scope: flag("enable-var-scope"),
        ignore_case: flag("ignore-case"),
        match_full_lines: flag("match-full-lines"),
        strict_whitespace: flag("strict-whitespace"),
        verbose: flag("v"),
        very_verbose: flag("vv"),
        dump_input: dump_input.unwrap_or_default(),
        dump_input_filter,
        dump_input_context: contexts.into_iter().max().unwrap_or(5),
        dump_input_label_width: widths.last().copied().unwrap_or(0),
        diagnostics,
        color: values(matches, "color").last().is_some_and(|value| value == "true"),
        ..Options::default()
    };
    let input_file = values(matches, "input-file").pop().unwrap_or_else(|| "-".into());
    Ok(Request::Check(Box::new(CheckRequest { options, check_file, input_file })))
}
