//! The features of a suite: those that its configuration lists, and those that are found by looking, once and only
//! when a test asks.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::boolean::FeatureQuery;
use crate::tool::Environment;

/// How a feature is found. All conditions that are given must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// The feature.
    pub name: String,
    /// A command that must succeed.
    #[serde(default)]
    pub run: Vec<String>,
    /// A regular expression that the command's output must match somewhere.
    #[serde(default, rename = "match")]
    pub pattern: Option<String>,
    /// Paths of which at least one must exist.
    #[serde(default)]
    pub exists: Vec<String>,
    /// Programs that must all be found.
    #[serde(default)]
    pub tools: Vec<String>,
    /// A parameter (`-D`) that must have a value other than empty, `0`, `false`, `no` and `off`.
    #[serde(default)]
    pub param: Option<String>,
}

/// What probes look at.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ProbeContext {
    /// Where relative paths start.
    pub directory: PathBuf,
    /// The environment of the tests.
    pub environment: Environment,
    /// The parameters of the run.
    pub params: Environment,
    /// Programs that the suite maps to paths.
    pub programs: Vec<(String, PathBuf)>,
    /// Tools that are always there because the runner has them.
    pub built_in: Vec<String>,
}

/// The features of one configuration.
pub struct Features {
    listed: BTreeSet<String>,
    probes: Vec<(Probe, OnceLock<bool>)>,
    context: ProbeContext,
}

impl Features {
    /// Features that are listed, and features to be found.
    pub fn new(listed: impl IntoIterator<Item = String>, probes: &[Probe], context: ProbeContext) -> Features {
        let probes = probes.iter().map(|p| (p.clone(), OnceLock::new())).collect();
        Features { listed: listed.into_iter().collect(), probes, context }
    }

    /// Every feature that is there; this looks for all of them.
    pub fn all(&self) -> BTreeSet<String> {
        let found = self.probes.iter().filter(|p| self.holds(p)).map(|(p, _)| p.name.clone());
        self.listed.iter().cloned().chain(found).collect()
    }

    fn holds(&self, (probe, known): &(Probe, OnceLock<bool>)) -> bool {
        *known.get_or_init(|| self.context.holds(probe))
    }
}

impl FeatureQuery for Features {
    fn has(&self, name: &str) -> bool {
        self.listed.contains(name) || self.probes.iter().any(|p| p.0.name == name && self.holds(p))
    }

    fn any_match(&self, pattern: &Regex) -> bool {
        self.listed.iter().any(|name| pattern.is_match(name))
            || self.probes.iter().any(|p| pattern.is_match(&p.0.name) && self.holds(p))
    }
}

/// The features without some of them, as `limit_to_features` asks.
pub struct Without<'a>(pub &'a Features, pub &'a [String]);

impl FeatureQuery for Without<'_> {
    fn has(&self, name: &str) -> bool {
        !self.1.iter().any(|n| n == name) && self.0.has(name)
    }

    fn any_match(&self, pattern: &Regex) -> bool {
        self.0.all().iter().any(|name| !self.1.contains(name) && pattern.is_match(name))
    }
}

impl ProbeContext {
    fn holds(&self, probe: &Probe) -> bool {
        let path = self.environment.get("PATH").map_or("", String::as_str);
        let program = |name: &str| {
            let mapped = self.programs.iter().find(|(n, _)| n == name).map(|(_, p)| p.clone());
            mapped.or_else(|| crate::shell::process::find(name, &self.directory, path))
        };
        let exists = |p: &String| Path::new(&self.directory).join(p).exists();
        if !probe.exists.is_empty() && !probe.exists.iter().any(exists) {
            return false;
        }
        if !probe.tools.iter().all(|name| self.built_in.contains(name) || program(name).is_some()) {
            return false;
        }
        if let Some(param) = &probe.param {
            let off = ["", "0", "false", "no", "off"];
            if self.params.get(param).is_none_or(|v| off.contains(&v.to_lowercase().as_str())) {
                return false;
            }
        }
        let Some((name, args)) = probe.run.split_first() else { return true };
        let Some(program) = program(name) else { return false };
        let mut command = Command::new(program);
        command.args(args).current_dir(&self.directory).env_clear().envs(&self.environment).stdin(Stdio::null());
        let Ok(output) = command.output() else { return false };
        let text = [output.stdout, output.stderr].concat();
        let matches = |pattern: &String| Regex::new(pattern).is_ok_and(|r| r.is_match(&String::from_utf8_lossy(&text)));
        output.status.success() && probe.pattern.as_ref().is_none_or(matches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boolean::evaluate;

    #[test]
    fn probes_are_asked_for() {
        let probe = |name: &str, run: &[&str], pattern: Option<&str>| Probe {
            name: name.to_string(),
            run: run.iter().map(|s| s.to_string()).collect(),
            pattern: pattern.map(str::to_string),
            ..Probe::default()
        };
        let probes = [
            probe("said", &["echo", "LLVM version 22"], Some(r"version 2\d")),
            probe("unsaid", &["echo", "none"], Some("version")),
            probe("missing", &["no-such-program"], None),
            Probe { name: "root".to_string(), exists: vec!["/none".to_string(), "/".to_string()], ..Probe::default() },
            Probe { name: "big".to_string(), param: Some("big".to_string()), ..Probe::default() },
        ];
        let environment = Environment::from([("PATH".to_string(), "/usr/bin:/bin".to_string())]);
        let params = Environment::from([("big".to_string(), "1".to_string())]);
        let directory = PathBuf::from("/");
        let context = ProbeContext { directory, environment, params, ..ProbeContext::default() };
        let features = Features::new(["listed".to_string()], &probes, context);
        for (expression, expected) in [
            ("listed && said && root && big", true),
            ("unsaid || missing", false),
            ("{{.*said}}", true),
            ("{{miss.*}}", false),
        ] {
            assert_eq!(evaluate(expression, &features), Ok(expected), "{expression}");
        }
        assert_eq!(features.all().into_iter().collect::<Vec<_>>(), ["big", "listed", "root", "said"]);
        assert_eq!(evaluate("listed || said", &Without(&features, &["listed".into(), "said".into()])), Ok(false));
    }
}
