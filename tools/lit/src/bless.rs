//! Rewrites golden texts: the expected side of a `diff` that failed, and, where asked, CHECK lines of tests without any.
//!
//! Which side is expected: a part that `split-file` took out of the test, else a file of the source tree compared with
//! standard input or with a temporary file, else the file with `.expected` or `.golden` at the end of its name.

use std::path::{Path, PathBuf};

use crate::builtins::diff::Mismatch;
use crate::builtins::split_file;
use crate::draft::{self, Style};
use crate::files;
use crate::run::case::TestCase;
use crate::run::log::quoted;
use crate::shell::exec::CommandResult;

/// The first line of CHECK lines that `--draft` wrote.
pub const DRAFT_MARK: &str = "DRAFT: these checks were written from the output; read them, then delete this line";

/// Where an expected text is kept.
#[derive(Debug, PartialEq, Eq)]
enum Golden {
    File(PathBuf),
    /// The part of this name in this file.
    Part(PathBuf, String),
}

/// Mends the failing command of a test, and says what was done; none if it is not a comparison with a golden text.
pub fn mend(
    test: &TestCase,
    results: &[CommandResult],
    splits: &[(PathBuf, PathBuf)],
    draft: bool,
) -> Result<Option<String>, String> {
    let Some(result) = results.iter().rev().find(|r| r.exit != 0) else { return Ok(None) };
    if let Some(mismatch) = &result.mismatch {
        let Some((golden, text)) = golden(mismatch, test, splits) else { return Ok(None) };
        return match golden {
            Golden::File(path) => {
                files::write(&path, text).map_err(|e| format!("cannot bless {}: {e}", path.display()))?;
                Ok(Some(format!("blessed {}", path.display())))
            }
            Golden::Part(path, name) => {
                replace_part(&path, &name, text)?;
                Ok(Some(format!("blessed part '{name}' of {}", path.display())))
            }
        };
    }
    let Some(input) = result.unchecked.as_ref().filter(|_| draft) else { return Ok(None) };
    let style = Style { prefix: prefix_of(&result.words), mark: Some(DRAFT_MARK.to_string()), ..Style::default() };
    let path = &test.source;
    let source = std::fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    let groups = draft::draft(&String::from_utf8_lossy(input), &style);
    if groups.is_empty() {
        return Ok(None);
    }
    files::write(path, insert(&source, &groups).as_bytes())
        .map_err(|e| format!("cannot draft {}: {e}", path.display()))?;
    Ok(Some(format!("drafted checks in {}: read them before you trust them", path.display())))
}

/// What to say about a failing comparison that could be blessed.
pub fn hint(test: &TestCase, results: &[CommandResult], splits: &[(PathBuf, PathBuf)], command: &str) -> String {
    let Some(result) = results.iter().rev().find(|r| r.exit != 0) else { return String::new() };
    let path = quoted(&test.source.to_string_lossy());
    if result.mismatch.as_ref().is_some_and(|m| golden(m, test, splits).is_some()) {
        return format!("# to accept the new text: {command} --bless {path}\n");
    }
    if result.unchecked.is_some() {
        return format!("# to draft CHECK lines: {command} --bless --draft {path}\n");
    }
    String::new()
}

/// The golden text of a comparison, and what it should be.
fn golden<'m>(mismatch: &'m Mismatch, test: &TestCase, splits: &[(PathBuf, PathBuf)]) -> Option<(Golden, &'m [u8])> {
    let sides = [(&mismatch.left, &mismatch.right_text), (&mismatch.right, &mismatch.left_text)];
    let parts: Vec<_> = sides.iter().map(|(name, _)| part_of(name, test, splits)).collect();
    if let [Some((path, name)), None] | [None, Some((path, name))] = parts.as_slice() {
        let side = usize::from(parts[0].is_none());
        return Some((Golden::Part(path.clone(), name.clone()), sides[side].1));
    }
    let in_sources = |name: &str| {
        let path = Path::new(name);
        let temporary = path.iter().any(|part| part == "Output") || path.to_string_lossy().contains(".tmp");
        name != "-" && !temporary && path.starts_with(&test.config.source_root)
    };
    let marked = |name: &str| name.ends_with(".expected") || name.ends_with(".golden");
    for rule in [&in_sources as &dyn Fn(&str) -> bool, &marked] {
        match [rule(&mismatch.left), rule(&mismatch.right)] {
            [true, false] => return Some((Golden::File(sides[0].0.into()), sides[0].1)),
            [false, true] => return Some((Golden::File(sides[1].0.into()), sides[1].1)),
            _ => {}
        }
    }
    None
}

/// The test file and the name of the part, if a file is one that `split-file` took out of the test.
fn part_of(name: &str, test: &TestCase, splits: &[(PathBuf, PathBuf)]) -> Option<(PathBuf, String)> {
    let (source, inside) =
        splits.iter().find_map(|(source, directory)| Some((source, Path::new(name).strip_prefix(directory).ok()?)))?;
    let inside = inside.to_str()?;
    let text = std::fs::read(source).ok()?;
    let known = split_file::parts(&text).ok()?.iter().any(|part| part.name == inside);
    (known && source.starts_with(&test.config.source_root)).then(|| (source.clone(), inside.to_string()))
}

fn replace_part(path: &Path, name: &str, text: &[u8]) -> Result<(), String> {
    let failed = |e: &dyn std::fmt::Display| format!("cannot bless {}: {e}", path.display());
    let source = std::fs::read(path).map_err(|e| failed(&e))?;
    let parts = split_file::parts(&source).map_err(|(_, message)| failed(&message))?;
    let part = parts.iter().find(|part| part.name == name).ok_or_else(|| failed(&"the part is gone"))?;
    let mut out = source[..part.range.start].to_vec();
    out.extend_from_slice(text);
    // The next marker must begin a line.
    if part.range.end < source.len() && !text.is_empty() && !text.ends_with(b"\n") {
        return Err(failed(&"the new text ends without a newline, which a part before another cannot"));
    }
    out.extend_from_slice(&source[part.range.end..]);
    files::write(path, &out).map_err(|e| failed(&e))
}

/// The first prefix that a FileCheck command asks for.
fn prefix_of(words: &[String]) -> String {
    let mut words = words.iter().map(|w| w.trim_start_matches('-'));
    while let Some(word) = words.next() {
        for option in ["check-prefixes", "check-prefix", "prefix"] {
            let value = match word.strip_prefix(option) {
                Some("") => words.next(),
                Some(rest) => rest.strip_prefix('='),
                None => None,
            };
            if let Some(value) = value {
                return value.split(',').next().unwrap_or("CHECK").to_string();
            }
        }
    }
    "CHECK".to_string()
}

/// Puts each group of checks before the line that defines its symbol, or at the end.
fn insert(source: &str, groups: &[draft::Group]) -> String {
    let mut lines: Vec<String> = source.lines().map(str::to_string).collect();
    for group in groups {
        let defines = |line: &String| {
            let symbol = group.symbol.as_ref().map(|s| format!("@{s}("));
            let code = !line.trim_start().starts_with("//");
            symbol.is_some_and(|s| code && line.contains(&s) && line.trim_end().ends_with('{'))
        };
        let at = lines.iter().position(defines).unwrap_or(lines.len());
        lines.splice(at..at, group.lines.iter().cloned());
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes() {
        for (words, expected) in [
            (vec!["FileCheck", "x"], "CHECK"),
            (vec!["FileCheck", "--check-prefix=A"], "A"),
            (vec!["FileCheck", "-check-prefixes", "B,C"], "B"),
        ] {
            assert_eq!(prefix_of(&words.into_iter().map(str::to_string).collect::<Vec<_>>()), expected);
        }
    }

    #[test]
    fn parts_are_replaced_in_place() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("t");
        std::fs::write(&path, "// RUN\n//--- a\n1\n//--- b\n2\n").expect("writes");
        replace_part(&path, "a", b"one\nmore\n").expect("replaces");
        replace_part(&path, "b", b"two").expect("replaces");
        assert_eq!(std::fs::read_to_string(&path).expect("reads"), "// RUN\n//--- a\none\nmore\n//--- b\ntwo");
        assert!(replace_part(&path, "a", b"no newline").is_err());
    }

    #[test]
    fn drafts_stand_before_their_functions() {
        let group = |symbol: Option<&str>, line: &str| draft::Group {
            symbol: symbol.map(str::to_string),
            lines: vec![line.to_string()],
        };
        let source = "// RUN: x\nfunc.func @f() {\n}\n";
        let out = insert(source, &[group(Some("f"), "// CHECK-LABEL"), group(None, "// CHECK: rest")]);
        assert_eq!(out, "// RUN: x\n// CHECK-LABEL\nfunc.func @f() {\n}\n// CHECK: rest\n");
    }
}
