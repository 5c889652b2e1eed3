//! Suites of tests in a temporary directory, run with the program.

#![allow(dead_code, reason = "each test program uses its part")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory with tests.
pub struct Suite {
    directory: tempfile::TempDir,
    program: PathBuf,
}

/// What a run of the suite came to.
pub struct Ran {
    /// The exit status.
    pub status: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Result codes by path in the suite.
    pub codes: BTreeMap<String, String>,
    /// Logs by path in the suite.
    pub logs: BTreeMap<String, String>,
}

impl Suite {
    /// A suite with these settings, for this program.
    pub fn new(program: impl Into<PathBuf>, settings: &str) -> Suite {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let suite = Suite { directory, program: program.into() };
        suite.file("lit.toml", &format!("name = 's'\nsuffixes = ['.test']\n{settings}"));
        suite
    }

    /// Adds a file.
    pub fn file(&self, name: &str, text: &str) -> &Suite {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories are made");
        std::fs::write(path, text).expect("files are written");
        self
    }

    /// The text of a file.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("the file is there")
    }

    /// The path of a file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs the suite.
    pub fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, &[])
    }

    /// Runs the suite with variables in the environment.
    pub fn run_with(&self, args: &[&str], env: &[(&str, &str)]) -> Ran {
        let json = self.path("results.json");
        let _ = std::fs::remove_file(&json);
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("LIT_") || name == "FILECHECK_OPTS" || name == "CI" {
                command.env_remove(name);
            }
        }
        command.envs(env.iter().copied()).arg(self.directory.path()).args(args).arg("-o").arg(&json);
        let output = command.output().expect("the program runs");
        let mut ran = Ran {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            codes: BTreeMap::new(),
            logs: BTreeMap::new(),
        };
        for (name, code, log) in results(&json) {
            ran.logs.insert(name.clone(), log);
            ran.codes.insert(name, code);
        }
        ran
    }
}

/// Name, code and log of each test in a file of results.
fn results(json: &Path) -> Vec<(String, String, String)> {
    let Ok(text) = std::fs::read_to_string(json) else { return Vec::new() };
    let value: serde_json::Value = serde_json::from_str(&text).expect("the results are JSON");
    let text = |v: &serde_json::Value| v.as_str().unwrap_or_default().to_string();
    let test = |t: &serde_json::Value| {
        let name = text(&t["name"]);
        let path = name.split_once(" :: ").map_or(name.clone(), |(_, path)| path.to_string());
        (path, text(&t["code"]), text(&t["output"]))
    };
    value["tests"].as_array().expect("there is a list of tests").iter().map(test).collect()
}
