//! Reads `lit.toml`, which makes a directory a test suite, and `lit.local.toml`, which changes settings below it.
//!
//! ```toml
//! name = "example"                     # shown before each test
//! suffixes = [".ir", ".test"]          # which files are tests
//! excludes = ["Inputs"]                # names of files and directories that hold none
//! exec_root = "../target/lit"          # where temporary files go; default: beside the tests
//! tool_dirs = ["../target/debug"]      # searched before PATH
//! features = ["always"]                # for REQUIRES and its like
//! substitutions = [["%{opt}", "rinductor-opt --verify-each"]]
//! timeout = 60                         # seconds for one test; 0 is no limit
//!
//! [tools]                              # names in RUN lines and what stands for them
//! FileCheck = ["FileCheck-22", "FileCheck"]
//!
//! [environment]
//! LC_ALL = "C"
//!
//! [[feature]]                          # a feature that is there if all conditions hold
//! name = "torch"
//! run = ["python3", "-c", "import torch"]
//!
//! [[format]]                           # tests that are no RUN lines
//! files = "exec/*.ir"
//! kind = "exec"
//! ```
//!
//! In strings, `@{name}` is a parameter of the run (`-D name=value`, or `[params]`), `@{root}` the directory of the suite.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::features::Probe;
use crate::shell::process;
use crate::tool::Environment;

/// One setting file as it is written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Option<String>,
    suffixes: Option<Vec<String>>,
    excludes: Option<Vec<String>>,
    exec_root: Option<String>,
    pipefail: Option<bool>,
    timeout: Option<u64>,
    in_process_timeout: Option<u64>,
    retries: Option<u32>,
    recursive_expansion_limit: Option<u32>,
    unsupported: Option<bool>,
    standalone: Option<bool>,
    #[serde(default)]
    preamble: Vec<String>,
    #[serde(default)]
    features: Vec<String>,
    #[serde(default)]
    limit_to_features: Vec<String>,
    #[serde(default)]
    tool_dirs: Vec<String>,
    #[serde(default)]
    path: Vec<String>,
    #[serde(default)]
    tools: BTreeMap<String, OneOrMany>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    #[serde(default)]
    pass_environment: Vec<String>,
    #[serde(default)]
    params: BTreeMap<String, String>,
    #[serde(default)]
    substitutions: Vec<(String, String)>,
    #[serde(default)]
    feature: Vec<Probe>,
    #[serde(default)]
    format: Vec<FormatRule>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

/// Which files are tests of another format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormatRule {
    /// A pattern for the path in the suite; `*` does not stop at `/`.
    pub files: String,
    /// The name of the format.
    pub kind: String,
}

/// The settings of a directory of tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// The name of the suite.
    pub name: String,
    /// The directory of `lit.toml`.
    pub source_root: PathBuf,
    /// Where temporary files go, laid out like the sources.
    pub exec_root: PathBuf,
    /// Ends of the names of test files.
    pub suffixes: Vec<String>,
    /// Names of files and directories that hold no tests.
    pub excludes: Vec<String>,
    /// Whether a pipeline fails when any of its commands does.
    pub pipefail: bool,
    /// Seconds for one test; 0 is no limit.
    pub timeout: u64,
    /// Seconds for one call of a tool in the process of the runner, where there is no other limit.
    pub in_process_timeout: u64,
    /// How often a failing test is tried again.
    pub retries: u32,
    /// Rounds of substitution in substitutions.
    pub recursive_expansion_limit: Option<u32>,
    /// Whether all tests here are unsupported.
    pub unsupported: bool,
    /// Whether tests here run only when they are named.
    pub standalone: bool,
    /// Commands that run before those of each test.
    pub preamble: Vec<String>,
    /// Features that are there.
    pub features: Vec<String>,
    /// Run only tests that need one of these.
    pub limit_to_features: Vec<String>,
    /// Features that must be looked for.
    pub probes: Vec<Probe>,
    /// Programs by the name that RUN lines use.
    pub programs: Vec<(String, PathBuf)>,
    /// The environment of the tests.
    pub environment: Environment,
    /// The substitutions, in order.
    pub substitutions: Vec<(String, String)>,
    /// Parameters of the run.
    pub params: Environment,
    /// Formats other than RUN lines.
    pub formats: Vec<FormatRule>,
}

/// What the command line says that suites need to know.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// `-D NAME=VALUE`.
    pub params: Environment,
    /// `--path`: directories before `PATH`.
    pub path: Vec<PathBuf>,
    /// `--timeout`.
    pub timeout: Option<u64>,
    /// `--max-retries-per-test`.
    pub retries: Option<u32>,
}

/// Variables that tests get from the environment of the runner.
fn is_passed(name: &str) -> bool {
    const NAMES: [&str; 17] = [
        "HOME",
        "TERM",
        "LIBRARY_PATH",
        "LD_LIBRARY_PATH",
        "DYLD_LIBRARY_PATH",
        "LD_PRELOAD",
        "TMPDIR",
        "TMP",
        "TEMP",
        "TEMPDIR",
        "FILECHECK_OPTS",
        "SOURCE_DATE_EPOCH",
        "SSH_AUTH_SOCK",
        "CUDA_VISIBLE_DEVICES",
        "RUST_BACKTRACE",
        "LLVM_SYMBOLIZER_PATH",
        "LLVM_PROFILE_FILE",
    ];
    NAMES.contains(&name) || name.ends_with("SAN_OPTIONS") || name.ends_with("SAN_SYMBOLIZER_PATH")
}

/// Loads the suite whose `lit.toml` is `path`.
pub fn load_suite(path: &Path, given: &Given) -> Result<Config, String> {
    let file = read(path)?;
    let source_root = path.parent().unwrap_or(Path::new("/")).to_path_buf();
    let mut environment: Environment =
        std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?))).collect();
    let system_path = environment.get("PATH").cloned().unwrap_or_default();
    environment.retain(|name, value| !value.is_empty() && (is_passed(name) || file.pass_environment.contains(name)));
    environment.insert("LLVM_DISABLE_CRASH_REPORT".to_string(), "1".to_string());
    let mut config = Config {
        name: file.name.clone().unwrap_or_else(|| "<unnamed>".to_string()),
        exec_root: source_root.clone(),
        source_root,
        suffixes: Vec::new(),
        excludes: Vec::new(),
        pipefail: true,
        timeout: 0,
        in_process_timeout: 60,
        retries: given.retries.unwrap_or(0),
        recursive_expansion_limit: None,
        unsupported: false,
        standalone: false,
        preamble: Vec::new(),
        features: vec![
            format!("target={}-{}", std::env::consts::ARCH, std::env::consts::OS),
            format!("system-{}", std::env::consts::OS),
        ],
        limit_to_features: Vec::new(),
        probes: Vec::new(),
        programs: Vec::new(),
        environment,
        substitutions: Vec::new(),
        params: Environment::new(),
        formats: Vec::new(),
    };
    let directories = given.path.iter().map(|p| p.to_string_lossy().into_owned());
    config.environment.insert("PATH".to_string(), join(directories.chain([system_path])));
    config.overlay(&file, path, given)?;
    Ok(config)
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.filter(|p| !p.is_empty()).collect::<Vec<_>>().join(":")
}

fn read(path: &Path) -> Result<File, String> {
    let text =
        std::fs::read_to_string(path).map_err(|e| format!("unable to load config file '{}': {e}", path.display()))?;
    toml::from_str(&text).map_err(|e| format!("unable to parse config file '{}': {e}", path.display()))
}

impl Config {
    /// The settings with those of a `lit.local.toml` over them.
    pub fn with_local(&self, path: &Path, given: &Given) -> Result<Config, String> {
        let mut config = self.clone();
        config.overlay(&read(path)?, path, given)?;
        Ok(config)
    }

    fn overlay(&mut self, file: &File, path: &Path, given: &Given) -> Result<(), String> {
        let directory = path.parent().unwrap_or(Path::new("/"));
        self.params.extend(file.params.clone());
        self.params.extend(given.params.clone());
        let mut error = None;
        let mut text = |s: &String| {
            expand(s, &self.params, &self.source_root).unwrap_or_else(|e| {
                error = Some(format!("config file '{}': {e}", path.display()));
                String::new()
            })
        };
        // Only plain settings are taken if the file does not give them; lists of names add up.
        if let Some(root) = &file.exec_root {
            self.exec_root = normal(&directory.join(text(root)));
        }
        let directories: Vec<PathBuf> = file.tool_dirs.iter().map(|d| normal(&directory.join(text(d)))).collect();
        let in_path = file.path.iter().map(|d| normal(&directory.join(text(d))).to_string_lossy().into_owned());
        let old_path = self.environment.remove("PATH").unwrap_or_default();
        let tools = directories.iter().map(|d| d.to_string_lossy().into_owned());
        let new_path = join(tools.chain(in_path.collect::<Vec<_>>()).chain([old_path]));
        for (name, candidates) in &file.tools {
            let candidates = match candidates {
                OneOrMany::One(one) => std::slice::from_ref(one),
                OneOrMany::Many(many) => many.as_slice(),
            };
            // A tool that is not found keeps its name, and a test that calls it says so.
            let found = candidates.iter().map(&mut text).find_map(|c| process::find(&c, directory, &new_path));
            if let Some(program) = found {
                self.programs.retain(|(n, _)| n != name);
                self.programs.push((name.clone(), program));
            }
        }
        self.environment.insert("PATH".to_string(), new_path);
        for (name, value) in &file.environment {
            self.environment.insert(name.clone(), text(value));
        }
        self.substitutions.extend(file.substitutions.iter().map(|(a, b)| (a.clone(), text(b))));
        self.preamble.extend(file.preamble.iter().map(&mut text));
        self.features.extend(file.features.iter().map(&mut text));
        for probe in &file.feature {
            let mut probe = probe.clone();
            probe.run.iter_mut().chain(&mut probe.exists).for_each(|s| *s = text(s));
            self.probes.push(probe);
        }
        self.limit_to_features.extend(file.limit_to_features.iter().cloned());
        // A directory's own rules come first.
        self.formats.splice(0..0, file.format.iter().cloned());
        let overridden = |mine: &mut Vec<String>, file: &Option<Vec<String>>| {
            if let Some(list) = file {
                mine.clone_from(list);
            }
        };
        overridden(&mut self.suffixes, &file.suffixes);
        overridden(&mut self.excludes, &file.excludes);
        self.pipefail = file.pipefail.unwrap_or(self.pipefail);
        self.timeout = given.timeout.or(file.timeout).unwrap_or(self.timeout);
        self.in_process_timeout = file.in_process_timeout.unwrap_or(self.in_process_timeout);
        self.retries = file.retries.unwrap_or(self.retries);
        self.recursive_expansion_limit = file.recursive_expansion_limit.or(self.recursive_expansion_limit);
        self.unsupported = file.unsupported.unwrap_or(self.unsupported);
        self.standalone = file.standalone.unwrap_or(self.standalone);
        error.map_or(Ok(()), Err)
    }

    /// The format of a test, by its path in the suite.
    pub fn format_of(&self, path: &str) -> &str {
        let rule = self.formats.iter().find(|rule| crate::shell::glob::matches(&rule.files, path));
        rule.map_or("sh", |rule| &rule.kind)
    }
}

/// Replaces `@{name}` by parameters.
fn expand(text: &str, params: &Environment, root: &Path) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("@{") {
        let tail = &rest[at + 2..];
        let end = tail.find('}').ok_or("'@{' without '}'")?;
        out.push_str(&rest[..at]);
        match &tail[..end] {
            "root" => out.push_str(&root.to_string_lossy()),
            name => out.push_str(params.get(name).ok_or(format!("there is no parameter '{name}'"))?),
        }
        rest = &tail[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

/// The path without `.` and `..`, by its text alone.
pub fn normal(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(out.pop()),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str, given: &Given) -> Result<Config, String> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("lit.toml");
        std::fs::write(&path, text).expect("writes");
        load_suite(&path, given)
    }

    #[test]
    fn parameters_and_defaults() {
        let text = "name = 'n'\nsubstitutions = [['%x', '@{x}'], ['%y', '@{y}']]\n[params]\nx = '1'\ny = '2'\n";
        let given = Given { params: [("x".to_string(), "9".to_string())].into(), ..Given::default() };
        let config = config(text, &given).expect("loads");
        assert_eq!(config.substitutions, [("%x", "9"), ("%y", "2")].map(|(a, b)| (a.to_string(), b.to_string())));
        assert!(config.pipefail);
    }

    #[test]
    fn errors_name_the_file() {
        for (text, message) in [
            ("nam = 'x'", "unknown field `nam`"),
            ("substitutions = [['%x', '@{none}']]", "there is no parameter 'none'"),
            ("suffixes = 3", "invalid type"),
        ] {
            let error = config(text, &Given::default()).expect_err(text);
            assert!(error.contains(message) && error.contains("lit.toml"), "{error}");
        }
    }

    #[test]
    fn local_settings_lie_over() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let suite = directory.path().join("lit.toml");
        let local = directory.path().join("lit.local.toml");
        std::fs::write(&suite, "suffixes = ['.ir']\nfeatures = ['a']\ntimeout = 5").expect("writes");
        std::fs::write(
            &local,
            "suffixes = ['.mlir']\nfeatures = ['b']\nunsupported = true\n[[format]]\nfiles = 'exec/*'\nkind = 'exec'",
        )
        .expect("writes");
        let given = Given::default();
        let config = load_suite(&suite, &given).and_then(|c| c.with_local(&local, &given)).expect("loads");
        assert_eq!(config.suffixes, [".mlir"]);
        assert!(config.features.contains(&"a".to_string()) && config.features.contains(&"b".to_string()));
        assert!(config.unsupported && config.timeout == 5);
        assert_eq!((config.format_of("exec/a/b.ir"), config.format_of("a.ir")), ("exec", "sh"));
    }
}
