//! Finds tests: the suite that a path belongs to, the settings of each directory, and the test files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::config::{self, Config, Given};

/// A test that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Index of its settings in [`Discovery::configs`].
    pub config: usize,
    /// Index of the suite's own settings, which tells suites apart.
    pub suite: usize,
    /// The path in the suite.
    pub path: Vec<String>,
}

/// The names of setting files.
#[derive(Clone, Debug)]
pub struct FileNames {
    /// Files that make a directory a suite, the first found first.
    pub suite: Vec<String>,
    /// The file that changes settings.
    pub local: String,
}

impl FileNames {
    /// The names for a prefix, normally `lit`.
    pub fn new(prefix: &str) -> FileNames {
        let suite = vec![format!("{prefix}.site.toml"), format!("{prefix}.toml")];
        FileNames { suite, local: format!("{prefix}.local.toml") }
    }
}

/// What was found below the paths of the command line.
pub struct Discovery<'a> {
    names: &'a FileNames,
    given: &'a Given,
    /// The settings, each used by one or more tests.
    pub configs: Vec<Config>,
    /// The tests.
    pub tests: Vec<Found>,
    /// What seemed odd.
    pub warnings: Vec<String>,
    suites: HashMap<PathBuf, usize>,
    locals: HashMap<(usize, PathBuf), usize>,
}

impl<'a> Discovery<'a> {
    /// An empty discovery.
    pub fn new(names: &'a FileNames, given: &'a Given) -> Self {
        let (configs, tests, warnings, suites, locals) = Default::default();
        Discovery { names, given, configs, tests, warnings, suites, locals }
    }

    /// Adds the tests at and below a path.
    pub fn add(&mut self, input: &Path) -> Result<(), String> {
        let current = std::env::current_dir().map_err(|e| format!("there is no current directory: {e}"))?;
        let path = config::normal(&current.join(input));
        let before = self.tests.len();
        match self.suite_of(&path)? {
            None => self.warnings.push(format!("unable to find test suite for '{}'", input.display())),
            Some((suite, inside)) => self.tests_below(suite, inside)?,
        }
        if self.tests.len() == before {
            self.warnings.push(format!("input '{}' contained no tests", input.display()));
        }
        Ok(())
    }

    /// The suite that a path is in, and the path inside of it.
    fn suite_of(&mut self, path: &Path) -> Result<Option<(usize, Vec<String>)>, String> {
        for directory in path.ancestors() {
            if directory.is_dir()
                && let Some(file) = self.suite_file(directory)
            {
                let suite = self.load(directory, &file)?;
                let inside = path.strip_prefix(directory).unwrap_or(Path::new(""));
                let inside = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
                return Ok(Some((suite, inside)));
            }
        }
        Ok(None)
    }

    fn suite_file(&self, directory: &Path) -> Option<PathBuf> {
        self.names.suite.iter().map(|name| directory.join(name)).find(|p| p.is_file())
    }

    fn load(&mut self, directory: &Path, file: &Path) -> Result<usize, String> {
        if let Some(&known) = self.suites.get(directory) {
            return Ok(known);
        }
        self.configs.push(config::load_suite(file, self.given)?);
        let suite = self.configs.len() - 1;
        self.suites.insert(directory.to_path_buf(), suite);
        Ok(suite)
    }

    /// The settings for a directory of a suite.
    fn local(&mut self, suite: usize, inside: &[String]) -> Result<usize, String> {
        let mut config = suite;
        let mut directory = self.configs[suite].source_root.clone();
        for depth in 0..=inside.len() {
            if depth > 0 {
                directory.push(&inside[depth - 1]);
            }
            let key = (suite, directory.clone());
            config = match self.locals.get(&key) {
                Some(&known) => known,
                None => {
                    let file = directory.join(&self.names.local);
                    let found = if file.is_file() {
                        let changed = self.configs[config].with_local(&file, self.given)?;
                        self.configs.push(changed);
                        self.configs.len() - 1
                    } else {
                        config
                    };
                    self.locals.insert(key, found);
                    found
                }
            };
        }
        Ok(config)
    }

    fn tests_below(&mut self, suite: usize, inside: Vec<String>) -> Result<(), String> {
        let root = self.configs[suite].source_root.clone();
        let path = inside.iter().fold(root, |path, part| path.join(part));
        if !path.exists() {
            return Ok(());
        }
        if !path.is_dir() {
            let config = self.local(suite, &inside[..inside.len() - 1])?;
            let name = inside.last().map_or("", String::as_str);
            if self.configs[config].standalone || self.is_test(config, name) {
                self.tests.push(Found { config, suite, path: inside });
            }
            return Ok(());
        }
        let config = self.local(suite, &inside)?;
        if self.configs[config].standalone {
            return Ok(());
        }
        let mut entries: Vec<(String, bool)> = std::fs::read_dir(&path)
            .map_err(|e| format!("cannot read '{}': {e}", path.display()))?
            .flatten()
            .map(|e| (e.file_name().to_string_lossy().into_owned(), e.path().is_dir()))
            .collect();
        entries.sort();
        for (name, directory) in entries {
            let mut inside = inside.clone();
            inside.push(name.clone());
            if !directory {
                if self.is_test(config, &name) {
                    self.tests.push(Found { config, suite, path: inside });
                }
                continue;
            }
            if ["Output", ".svn", ".git"].contains(&name.as_str()) || self.configs[config].excludes.contains(&name) {
                continue;
            }
            let directory = path.join(&name);
            match self.suite_file(&directory) {
                Some(file) => {
                    let nested = self.load(&directory, &file)?;
                    let before = self.tests.len();
                    self.tests_below(nested, Vec::new())?;
                    if self.tests.len() == before {
                        let name = &self.configs[nested].name;
                        self.warnings.push(format!("test suite '{name}' contained no tests"));
                    }
                }
                None => self.tests_below(suite, inside)?,
            }
        }
        Ok(())
    }

    fn is_test(&self, config: usize, name: &str) -> bool {
        let config = &self.configs[config];
        !name.starts_with('.')
            && !config.excludes.iter().any(|e| e == name)
            && config.suffixes.iter().any(|suffix| name.ends_with(suffix.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_and_local_settings() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let root = directory.path().canonicalize().expect("a real path");
        for (name, text) in [
            ("lit.toml", "name = 'top'\nsuffixes = ['.ir']\nexcludes = ['Inputs']"),
            ("a.ir", ""),
            (".hidden.ir", ""),
            ("a.txt", ""),
            ("Inputs/b.ir", ""),
            ("sub/lit.local.toml", "suffixes = ['.txt']"),
            ("sub/c.txt", ""),
            ("sub/c.ir", ""),
            ("sub/deep/d.txt", ""),
            ("nested/lit.toml", "name = 'nested'\nsuffixes = ['.ir']"),
            ("nested/e.ir", ""),
        ] {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("makes");
            std::fs::write(path, text).expect("writes");
        }
        let (names, given) = (FileNames::new("lit"), Given::default());
        let found = |input: &Path| {
            let mut discovery = Discovery::new(&names, &given);
            discovery.add(input).expect("finds");
            let name = |t: &Found| format!("{}:{}", discovery.configs[t.config].name, t.path.join("/"));
            (discovery.tests.iter().map(name).collect::<Vec<_>>(), discovery.warnings.len())
        };
        let all = ["top:a.ir", "nested:e.ir", "top:sub/c.txt", "top:sub/deep/d.txt"].map(str::to_string).to_vec();
        assert_eq!(found(&root), (all, 0));
        assert_eq!(found(&root.join("sub/deep")), (vec!["top:sub/deep/d.txt".to_string()], 0));
        assert_eq!(found(&root.join("nested/e.ir")), (vec!["nested:e.ir".to_string()], 0));
        assert_eq!(found(&root.join("none.ir")), (vec![], 1));
        assert_eq!(found(Path::new("/")).1, 2);
    }
}
