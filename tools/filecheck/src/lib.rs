//! FileCheck as a library: checks a text against the directives in a check file, as LLVM 22's program does.
//!
//! [`check`] is the pure function, from two texts to an [`Outcome`]. [`command::run`] is the whole program (arguments, files,
//! exit code) with its streams as values, for a test runner that calls it in its own process.
//!
//! The way of a check: [`canonical`] rewrites both texts, `check_file` reads the directives (`directive`, `pattern`, `block`),
//! `matching` goes through them in order, `run` matches one pattern (`posix` is the engine for regular expressions),
//! `verdicts` reports the result, `annotate` shows the input with all results.

mod annotate;
mod arguments;
mod block;
pub mod canonical;
mod check_file;
pub mod command;
mod directive;
mod expression;
mod finding;
mod format;
mod fuzzy;
mod matching;
mod message;
mod options;
mod outcome;
mod pattern;
mod posix;
mod run;
mod source;
mod styles;
mod variables;
mod verdicts;

use std::borrow::Cow;

pub use options::{Diagnostics, DumpFilter, DumpInput, Options};
pub use outcome::{Outcome, Verdict};

use check_file::{CheckFile, Unreadable};
use message::Report;
use source::Sources;
use variables::Variables;

/// Checks `input` against the directives in `check_text`. Neither needs to be UTF-8. Prints nothing and never exits.
///
/// ```
/// use rinductor_filecheck::{Options, check};
/// let outcome = check(&Options::default(), b"CHECK: add [[X:%[a-z]+]]\nCHECK-NEXT: mul [[X]]\n", b"add %a\nmul %a\n");
/// assert!(outcome.passed());
/// ```
pub fn check(options: &Options, check_text: &[u8], input: &[u8]) -> Outcome {
    let mut prepared = match Prepared::new(options, canonical::canonicalize(check_text, options.strict_whitespace)) {
        Ok(prepared) => prepared,
        Err(outcome) => return outcome,
    };
    if input.is_empty() && !options.allow_empty {
        prepared.report.push(format!("FileCheck error: '{}' is empty.\n", shown_name(&options.input_name)));
        return Outcome::new(Verdict::Error, prepared.report.text);
    }
    prepared.check(canonical::canonicalize(input, options.strict_whitespace))
}

/// The name of a file in messages; the standard input's is `-` among the arguments.
fn shown_name(name: &str) -> &str {
    if name == "-" { "<stdin>" } else { name }
}

/// A check whose directives have been read.
struct Prepared<'a> {
    options: &'a Options,
    sources: Sources<'a>,
    variables: Variables,
    file: CheckFile,
    report: Report,
}

impl<'a> Prepared<'a> {
    /// Reads the directives of a canonical text.
    fn new(options: &'a Options, check_text: Cow<'a, [u8]>) -> Result<Prepared<'a>, Outcome> {
        let mut report = Report { color: options.color, diagnostics: options.diagnostics, ..Report::default() };
        let mut sources = Sources::default();
        let mut variables = Variables::default();
        let read = check_file::validate_prefixes(options, &mut report).and_then(|()| {
            sources.add(&options.check_name, check_text);
            check_file::read(options, &mut sources, &mut variables, &mut report)
        });
        match read {
            Ok(file) => Ok(Prepared { options, sources, variables, file, report }),
            Err(Unreadable { exits_as_mismatch }) => {
                report.flush(&sources);
                Err(Outcome { exits_as_mismatch, ..Outcome::new(Verdict::Error, report.text) })
            }
        }
    }

    /// Checks a canonical input.
    fn check(mut self, input: Cow<'a, [u8]>) -> Outcome {
        let options = self.options;
        let input = self.sources.add(&options.input_name, input);
        let report = std::mem::take(&mut self.report);
        let variables = std::mem::take(&mut self.variables);
        let mut run = run::Run::new(&self.sources, input, options, &self.file.prefixes, variables, report);
        let passed = matching::check_input(&mut run, &self.file);
        let run::Run { mut report, findings, .. } = run;
        report.flush(&self.sources);
        let is_shown = match options.dump_input {
            DumpInput::Never => false,
            DumpInput::Fail => !passed,
            DumpInput::Always => true,
        };
        if is_shown {
            report.push(format!(
                "\nInput file: {}\nCheck file: {}\n\n-dump-input=help explains the following input dump.\n\n",
                shown_name(&options.input_name),
                options.check_name
            ));
            let default_filter =
                if options.dump_input == DumpInput::Always { DumpFilter::All } else { DumpFilter::Error };
            let view = annotate::View {
                filter: options.dump_input_filter.unwrap_or(default_filter),
                context: options.dump_input_context,
                label_width: options.dump_input_label_width,
                verbose: options.verbose || options.very_verbose,
            };
            let findings = findings.unwrap_or_default();
            annotate::annotate(&mut report, &self.sources, (input, &self.file.implicit), &findings, view);
        }
        Outcome::new(if passed { Verdict::Match } else { Verdict::Mismatch }, report.text)
    }
}
