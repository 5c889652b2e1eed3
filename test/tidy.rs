//! The repository keeps to its own rules: layers, sizes of files, the table of passes, licences of what it depends on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files below a folder, by path relative to the root, sorted.
fn files(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut work = vec![root().join(folder)];
    while let Some(dir) = work.pop() {
        let Ok(entries) = std::fs::read_dir(&dir) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            if path.is_dir() {
                if !hidden && entry.file_name() != "target" && entry.file_name() != "__pycache__" {
                    work.push(path);
                }
            } else {
                found.push(path.strip_prefix(root()).expect("the walk starts at the root").to_path_buf());
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn rust_files() -> Vec<PathBuf> {
    let mut all = files("src");
    all.extend(files("tools"));
    all.retain(|p| p.extension().is_some_and(|e| e == "rs"));
    all
}

/// Cells of the rows of the first table under a heading.
fn table(text: &str, heading: &str) -> Vec<Vec<String>> {
    let (_, after) = text.split_once(heading).unwrap_or_else(|| panic!("no heading '{heading}'"));
    let lines = after.lines().skip_while(|l| !l.starts_with('|')).take_while(|l| l.starts_with('|'));
    let cells = |l: &str| l.trim_matches('|').split('|').map(|c| c.trim().trim_matches('`').to_string()).collect();
    lines.skip(2).map(cells).collect()
}

fn assert_none(problems: Vec<String>) {
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

/// The layers that are crates: inside them `crate::` names no layer.
const CRATES: [&str; 4] = ["support", "index", "scalar", "defs"];

/// A module uses only the modules above it in the table of docs/architecture.md.
#[test]
fn layers_are_kept() {
    let doc = read(Path::new("docs/architecture.md"));
    let layers: Vec<String> = table(&doc, "## Layers").into_iter().map(|row| row[0].clone()).collect();
    let rank: BTreeMap<&str, usize> = layers.iter().enumerate().map(|(i, l)| (l.as_str(), i)).collect();
    assert!(rank.len() > 10, "the table of layers was not found");
    let mut problems = Vec::new();
    for layer in layers.iter().filter(|l| !root().join("src").join(l).is_dir()) {
        problems.push(format!("docs/architecture.md has a layer '{layer}', but there is no src/{layer}"));
    }
    for path in rust_files() {
        let mut parts = path.iter().map(|p| p.to_string_lossy());
        if parts.next().as_deref() != Some("src") {
            continue;
        }
        let module = parts.next().unwrap_or_default().trim_end_matches(".rs").to_string();
        // Tests may look anywhere, those in files of their own too.
        if module == "lib" || path.iter().any(|p| p == "tests" || p == "tests.rs") {
            continue;
        }
        let Some(&own) = rank.get(module.as_str()) else {
            problems.push(format!("{}: '{module}' is not in the table of layers", path.display()));
            continue;
        };
        // Tests may look anywhere; only `interp` is imported by nothing but `driver` and tests.
        let text = read(&path);
        let code = text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or("");
        for (number, line) in code.lines().enumerate().filter(|(_, l)| !l.trim_start().starts_with("//")) {
            let prefixes: &[&str] =
                if CRATES.contains(&module.as_str()) { &["rinductor_"] } else { &["crate::", "rinductor_"] };
            for used in uses(line, prefixes) {
                let Some(&other) = rank.get(used.as_str()) else { continue };
                if other > own {
                    problems.push(format!(
                        "{}:{}: '{module}' uses '{used}', which is below it",
                        path.display(),
                        number + 1
                    ));
                }
                if used == "interp" && module != "driver" && module != "interp" {
                    problems.push(format!("{}:{}: only 'driver' and tests use 'interp'", path.display(), number + 1));
                }
            }
        }
        if module == "interp" {
            for used in ["pass", "passes", "sched", "codegen", "rewrite"] {
                if code.contains(&format!("crate::{used}::")) {
                    problems.push(format!(
                        "{}: 'interp' uses '{used}': comparing the two would prove nothing",
                        path.display()
                    ));
                }
            }
        }
    }
    assert_none(problems);
}

/// The modules of the root crate and the library crates that a line names: `crate::ir::…`, `rinductor_index::…`.
fn uses(line: &str, prefixes: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for &prefix in prefixes {
        for (at, _) in line.match_indices(prefix) {
            // `$crate` in a macro is seen where the macro is used; `pub(in crate::…)` names no import.
            if line[..at].ends_with('$') || line[..at].ends_with("in ") {
                continue;
            }
            let rest = &line[at + prefix.len()..];
            if let Some(list) = rest.strip_prefix('{') {
                let names = list.split(['}', ';']).next().unwrap_or("").split(',');
                found.extend(names.map(|n| n.trim().split("::").next().unwrap_or("").to_string()));
                continue;
            }
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            found.push(name);
        }
    }
    found
}

/// A file has at most 800 lines and a pass 300, but for those excused by name, with a reason, in docs/architecture.md.
#[test]
fn files_stay_readable() {
    let doc = read(Path::new("docs/architecture.md"));
    let excused: BTreeSet<String> =
        table(&doc, "## Files that may be long").into_iter().map(|row| row[0].clone()).collect();
    let mut problems = Vec::new();
    for path in rust_files() {
        let text = read(&path);
        let name = path.to_string_lossy().to_string();
        let is_pass = text.contains("pub static PASS");
        // A pass is counted without its tests.
        let counted = if is_pass { text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or("") } else { &text };
        let (lines, limit) = (counted.lines().count(), if is_pass { 300 } else { 800 });
        if lines > limit && !excused.contains(&name) {
            problems.push(format!("{name}: {lines} lines; the limit is {limit}"));
        }
        if !text.starts_with("//!") && !name.ends_with("build.rs") {
            problems.push(format!("{name}: does not open with a //! comment that says what it holds"));
        }
    }
    for name in &excused {
        if !root().join(name).is_file() {
            problems.push(format!("docs/architecture.md excuses '{name}', which is not there"));
        }
    }
    assert_none(problems);
}

/// Every pass stands in the table, in a file of its name, with a folder of tests of its name.
#[test]
fn passes_have_files_and_tests() {
    let mut problems = Vec::new();
    let mut in_files = BTreeSet::new();
    for path in files("src/passes") {
        let text = read(&path);
        if !text.contains("pub static PASS") {
            continue;
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        in_files.insert(if stem == "mod" { folder.replace('_', "-") } else { stem.replace('_', "-") });
    }
    let in_table: BTreeSet<String> = rinductor::passes::TABLE.iter().map(|p| p.name().to_string()).collect();
    for name in in_files.symmetric_difference(&in_table) {
        problems.push(format!("the pass '{name}' is in the table or in a file of its name, but not in both"));
    }
    for name in &in_table {
        let tests = files(&format!("test/passes/{name}"));
        if !tests.iter().any(|p| p.extension().is_some_and(|e| e == "ir" || e == "mlir")) {
            problems.push(format!("test/passes/{name}/ holds no test of the pass '{name}'"));
        }
    }
    assert_none(problems);
}

/// No file names the machine it was written on, and no test is skipped.
#[test]
fn forbidden_words_do_not_occur() {
    // Spelled in pieces, so that this file passes.
    let everywhere = [
        concat!("/wor", "k/"),
        concat!("/ro", "ot/"),
        concat!("/tm", "p/bash"),
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
    ];
    let in_rust = [concat!("#[ign", "ore"), concat!("todo", "!("), concat!("unimpl", "emented!(")];
    let mut problems = Vec::new();
    for folder in ["src", "tools", "test", "docs", "dialects", "grammar", ".ci"] {
        for path in files(folder) {
            let Ok(text) = std::fs::read_to_string(root().join(&path)) else { continue };
            let rust = path.extension().is_some_and(|e| e == "rs");
            for word in everywhere.iter().chain(in_rust.iter().filter(|_| rust)) {
                if let Some(at) = text.find(word) {
                    let line = text[..at].matches('\n').count() + 1;
                    problems.push(format!("{}:{line}: '{word}' has no place here", path.display()));
                }
            }
        }
    }
    assert_none(problems);
}

/// docs/dependencies.md names every direct dependency with a reason, and every licence in the whole tree is one that it allows.
#[test]
fn dependencies_are_listed_with_licences() {
    let doc = read(Path::new("docs/dependencies.md"));
    let rows = table(&doc, "## Direct dependencies");
    let listed: BTreeSet<String> = rows.iter().map(|r| r[0].clone()).collect();
    let allowed: BTreeSet<String> = table(&doc, "## Licences").into_iter().map(|r| r[0].clone()).collect();
    let mut problems = Vec::new();
    for row in &rows {
        if row.last().is_none_or(|why| why.len() < 10) {
            problems.push(format!("docs/dependencies.md gives no reason for '{}'", row[0]));
        }
    }
    let mut used = BTreeSet::new();
    for path in [vec![PathBuf::from("Cargo.toml")], files("src"), files("tools")].concat() {
        if path.file_name().is_some_and(|n| n == "Cargo.toml") {
            used.extend(dependencies(&read(&path)));
        }
    }
    for name in used.iter().filter(|n| !n.starts_with("rinductor") && !listed.contains(*n)) {
        problems.push(format!("'{name}' is used but not in docs/dependencies.md"));
    }
    for name in listed.iter().filter(|n| !used.contains(*n)) {
        problems.push(format!("'{name}' is in docs/dependencies.md but not used"));
    }
    let output =
        Command::new(env!("CARGO")).args(["metadata", "--format-version=1", "--offline"]).current_dir(root()).output();
    let output = output.expect("cargo runs this test, so it can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo metadata gives JSON");
    for package in metadata["packages"].as_array().expect("cargo metadata lists packages") {
        let (name, licence) = (package["name"].as_str().unwrap_or(""), package["license"].as_str().unwrap_or("none"));
        // One of the alternatives must be allowed, and all parts of a conjunction.
        let fits = |l: &str| l.split(" AND ").all(|part| allowed.contains(part.trim_matches(['(', ')', ' '])));
        let alternatives = licence.replace('/', " OR ");
        let conjunction_of_choices = alternatives.split(" AND ").all(|c| c.split(" OR ").any(fits));
        if !(alternatives.split(" OR ").any(fits) || conjunction_of_choices) {
            problems.push(format!("the licence of '{name}' is '{licence}', which docs/dependencies.md does not allow"));
        }
    }
    assert_none(problems);
}

/// The names in the dependency sections of a manifest.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut inside = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.trim_end_matches(']').ends_with("dependencies") && !line.starts_with("[workspace");
            continue;
        }
        let name: String = line.chars().take_while(|c| c.is_alphanumeric() || "_-".contains(*c)).collect();
        if inside && !name.is_empty() {
            names.push(name);
        }
    }
    names
}
