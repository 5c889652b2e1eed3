//! FileCheck as a tool of the runner: the library's program with the streams and surroundings of a call.

use rinductor_filecheck::command::{self, Surroundings};

use crate::tool::{InProcessTool, ToolCall};

/// FileCheck, called in the process of the runner.
pub struct FileCheckTool;

impl InProcessTool for FileCheckTool {
    fn run(&self, call: ToolCall<'_>) -> i32 {
        let surroundings = Surroundings {
            directory: call.cwd,
            stdin: call.stdin,
            filecheck_opts: call.env.get("FILECHECK_OPTS").map(String::as_str),
            color: false,
        };
        let finished = command::run(call.args, &surroundings);
        // A full buffer is the only way for these to fail, and then there is nobody to tell.
        let _ = call.stdout.write_all(&finished.stdout);
        let _ = call.stderr.write_all(&finished.stderr);
        finished.code
    }

    fn reads_environment(&self) -> bool {
        true
    }
}
