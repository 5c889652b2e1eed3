//! The program `rinductor-draft-checks`: output of a tool on standard input, CHECK lines on standard output.

use std::io::Read;

use rinductor_lit::{ToolCall, draft};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut stdin = Vec::new();
    let asks_help = args.iter().any(|a| a.trim_start_matches('-').starts_with('h'));
    if !asks_help && let Err(error) = std::io::stdin().read_to_end(&mut stdin) {
        eprintln!("error: cannot read standard input: {error}");
        std::process::exit(1);
    }
    let (mut stdout, mut stderr) = (std::io::stdout(), std::io::stderr());
    let call = ToolCall {
        args: &args,
        stdin: &stdin,
        stdout: &mut stdout,
        stderr: &mut stderr,
        cwd: std::path::Path::new("."),
        env: &Default::default(),
    };
    std::process::exit(draft::run_tool(call));
}
