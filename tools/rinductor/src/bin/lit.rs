//! `rinductor-lit`: the test runner, with the programs of the compiler in its process.

use rinductor::driver::{Io, Main, PROGRAMS};
use rinductor_lit::{Extensions, InProcessTool, ToolCall};

/// A program of the compiler as a tool of the runner. It keeps no state and takes nothing from its environment.
///
/// `rinductor-reduce` is left to be a process: the script that it starts finds its programs by the environment of the test.
struct Program(Main);

impl InProcessTool for Program {
    fn run(&self, call: ToolCall<'_>) -> i32 {
        let mut stdin = call.stdin;
        let mut io = Io { stdin: &mut stdin, stdout: call.stdout, stderr: call.stderr, color: false };
        (self.0)(call.args, &mut io, call.cwd)
    }
}

fn main() {
    let mut extensions = Extensions::default();
    for &(name, main) in PROGRAMS.iter().filter(|p| p.0 != "rinductor-reduce") {
        extensions.tools.register(name, Program(main));
    }
    std::process::exit(rinductor_lit::main(std::env::args_os(), extensions));
}
