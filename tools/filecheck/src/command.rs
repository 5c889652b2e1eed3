//! The program `rinductor-filecheck`, with its surroundings as arguments and its streams as values.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::arguments::{CheckRequest, PROGRAM, Request, read};
use crate::canonical::canonicalize_stream;
use crate::{Options, Outcome, Prepared, shown_name};

/// What the program reads apart from its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Directory that relative file names start from.
    pub directory: &'a Path,
    /// The standard input; read only when no `--input-file` names another, or it names `-`.
    pub stdin: &'a [u8],
    /// Value of the environment variable `FILECHECK_OPTS`, if set.
    pub filecheck_opts: Option<&'a str>,
    /// Whether the error stream is a terminal that shows colours.
    pub color: bool,
}

/// What the program would have written, and its exit code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finished {
    /// The exit code.
    pub code: i32,
    /// Text for the standard output.
    pub stdout: Vec<u8>,
    /// Text for the standard error.
    pub stderr: Vec<u8>,
}

/// Runs the program on `arguments` (without the program's name). Prints nothing and never exits.
pub fn run(arguments: &[String], surroundings: &Surroundings<'_>) -> Finished {
    let mut stdin = surroundings.stdin;
    run_with_stdin(arguments, surroundings, &mut stdin)
}

/// Like [`run`], with the standard input as a stream instead of [`Surroundings::stdin`]; it is never in memory as a whole
/// beside its canonical form.
pub fn run_with_stdin(arguments: &[String], surroundings: &Surroundings<'_>, stdin: &mut dyn Read) -> Finished {
    let failed = |stderr: String| Finished { code: 2, stderr: stderr.into_bytes(), ..Finished::default() };
    match read(arguments, surroundings.filecheck_opts) {
        Request::Show(text) => Finished { stdout: text.into_bytes(), ..Finished::default() },
        Request::ExplainDump => Finished { stdout: DUMP_HELP.into(), ..Finished::default() },
        // LLVM's option parser leaves with 1, its checks of what the options say with 2.
        Request::Wrong(text) if text.starts_with(PROGRAM) => Finished { code: 1, ..failed(text) },
        Request::Wrong(text) => failed(text),
        Request::Check(request) => check(*request, arguments, surroundings, stdin).unwrap_or_else(failed),
    }
}

/// The options that `arguments` (without the program's name) ask for, for [`crate::check`]; the names of files are kept as
/// the names of the texts. An error is what the program would say.
pub fn options(arguments: &[String]) -> Result<Options, String> {
    match read(arguments, None) {
        Request::Check(request) => {
            let CheckRequest { options, check_file, input_file } = *request;
            Ok(Options { check_name: check_file, input_name: input_file, ..options })
        }
        Request::Show(text) | Request::Wrong(text) => Err(text),
        Request::ExplainDump => Err(DUMP_HELP.to_owned()),
    }
}

fn check(
    request: CheckRequest,
    arguments: &[String],
    surroundings: &Surroundings<'_>,
    stdin: &mut dyn Read,
) -> Result<Finished, String> {
    let CheckRequest { mut options, check_file, input_file } = request;
    options.color |= surroundings.color;
    options.check_name.clone_from(&check_file);
    options.input_name.clone_from(&input_file);
    let finished =
        |outcome: Outcome| Finished { code: outcome.exit_code(), stderr: outcome.report, ..Finished::default() };
    let mut report = crate::message::Report::default();
    if crate::check_file::validate_prefixes(&options, &mut report).is_err() {
        return Ok(Finished { code: 2, stderr: report.text, ..Finished::default() });
    }
    let mut open = |name: &str| canonical_file(name, surroundings.directory, options.strict_whitespace, stdin);
    let (check_text, _) =
        open(&check_file).map_err(|error| format!("Could not open check file '{check_file}': {}\n", reason(&error)))?;
    let mut prepared = match Prepared::new(&options, check_text.into()) {
        Ok(prepared) => prepared,
        Err(outcome) => return Ok(finished(outcome)),
    };
    let shown = shown_name(&input_file);
    let before = String::from_utf8_lossy(&prepared.report.text).into_owned();
    let (input, length) = open(&input_file)
        .map_err(|error| format!("{before}Could not open input file '{shown}': {}\n", reason(&error)))?;
    if length == 0 && !options.allow_empty {
        let line: String = arguments.iter().map(|argument| format!(" {argument}")).collect();
        prepared.report.push(format!(
            "FileCheck error: '{shown}' is empty.\nFileCheck command line:  rinductor-filecheck{line}\n"
        ));
        return Ok(Finished { code: 2, stderr: prepared.report.text, ..Finished::default() });
    }
    Ok(finished(prepared.check(input.into())))
}

fn canonical_file(
    name: &str,
    directory: &Path,
    strict_whitespace: bool,
    stdin: &mut dyn Read,
) -> io::Result<(Vec<u8>, u64)> {
    if name == "-" {
        return canonicalize_stream(stdin, 0, strict_whitespace);
    }
    let file = File::open(directory.join(name))?;
    let size = file.metadata().map(|metadata| metadata.len()).unwrap_or(0);
    canonicalize_stream(file, usize::try_from(size).unwrap_or(0), strict_whitespace)
}

/// The system's words for an error, without the number that Rust adds.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// The explanation of the annotated input.
const DUMP_HELP: &str = "\
The following description was requested by -dump-input=help to explain the
input dump printed by FileCheck.

Options that bear on it:

  - -dump-input=<value> says when there is an input dump
  - -dump-input-filter=<value> picks the input lines
  - -dump-input-context=<N> adds lines around those
  - -v and -vv add annotations
  - -color adds colors here and to the dump

FILECHECK_OPTS may set them too, for example FILECHECK_OPTS='-dump-input-filter=all -vv -color'.

Input dump annotation format:

  - L:     the line L of the input; a blank stands for its line break
  - T:L    the only result of a pattern of type T on line L of the check file,
           or of implicit pattern number I where L is impI
  - T:L'N  the result number N of that pattern
  - ^~~    a good match (with -v)
  - !~~    a bad match, such as:
           - CHECK-NEXT on the line of the match before (an error)
           - CHECK-NOT found (an error)
           - CHECK-DAG overlapping an earlier match (discarded; with -vv)
  - X~~    where a search found nothing, such as:
           - CHECK-NEXT not found (an error)
           - CHECK-NOT not found (a success; with -vv)
           - CHECK-DAG not found after discarded matches (an error)
  - ?      the nearest match where none was found
  - ...    lines left out, as the filter and the context say
  - colors success, error, fuzzy match, discarded match, unmatched input
";
