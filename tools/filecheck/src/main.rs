//! FileCheck, the program.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use rinductor_filecheck::command::{Surroundings, run_with_stdin};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    let filecheck_opts = std::env::var("FILECHECK_OPTS").ok();
    let surroundings = Surroundings {
        directory: Path::new(""),
        stdin: &[],
        filecheck_opts: filecheck_opts.as_deref(),
        color: std::io::stderr().is_terminal(),
    };
    let finished = run_with_stdin(&arguments, &surroundings, &mut std::io::stdin().lock());
    // There is nobody to tell if the streams are closed.
    let _ = std::io::stdout().write_all(&finished.stdout);
    let _ = std::io::stderr().write_all(&finished.stderr);
    ExitCode::from(u8::try_from(finished.code).unwrap_or(2))
}
