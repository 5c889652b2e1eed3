//! `diff`: compares two files, or with `-r` two directories, and shows a unified diff.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

use super::{Output, options};
use crate::files;

/// The two sides of a comparison that found a difference, as they were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The left operand; `-` is standard input.
    pub left: String,
    /// The right operand.
    pub right: String,
    /// What the left is.
    pub left_text: Vec<u8>,
    /// What the right is.
    pub right_text: Vec<u8>,
}

/// A comparison to make.
struct Comparison {
    ignore_all_space: bool,
    ignore_space_change: bool,
    ignore_lines: Option<regex::bytes::Regex>,
    strip_cr: bool,
    context: usize,
}

/// Runs `diff [-wbu] [-U N] [-I REGEX] [-r] [--strip-trailing-cr] LEFT RIGHT`. Where two files differ, both texts are given too.
pub fn diff(args: &[String], stdin: &[u8], cwd: &Path) -> (Output, Option<Mismatch>) {
    let parsed = match options::parse(args, "wbuI:U:r", &["strip-trailing-cr"]) {
        Ok(parsed) => parsed,
        Err(e) => return (Output::failed(1, format!("Unsupported: 'diff': {e}")), None),
    };
    let mut how = Comparison {
        ignore_all_space: false,
        ignore_space_change: false,
        ignore_lines: None,
        strip_cr: false,
        context: 3,
    };
    let mut recursive = false;
    for (option, value) in &parsed.options {
        match option.as_str() {
            "-w" => how.ignore_all_space = true,
            "-b" => how.ignore_space_change = true,
            "-r" => recursive = true,
            "--strip-trailing-cr" => how.strip_cr = true,
            "-U" => match value.parse() {
                Ok(lines) => how.context = lines,
                Err(_) => return (Output::failed(1, format!("Error: invalid '-U' argument: {value}")), None),
            },
            "-I" => match regex::bytes::Regex::new(&format!("^(?:{value})")) {
                Ok(regex) => how.ignore_lines = Some(regex),
                Err(e) => return (Output::failed(1, format!("Error: invalid '-I' argument: {e}")), None),
            },
            // The diff is unified in any case.
            _ => {}
        }
    }
    let [left, right] = parsed.operands.as_slice() else {
        return (Output::failed(1, "Error: missing or extra operand"), None);
    };
    if recursive {
        if left == "-" || right == "-" {
            return (Output::failed(1, "Error: cannot recursively compare '-'"), None);
        }
        let mut output = Output::default();
        how.trees(&cwd.join(left), &cwd.join(right), &mut output);
        return (output, None);
    }
    let read = |name: &String| if name == "-" { Ok(stdin.to_vec()) } else { files::read(&cwd.join(name)) };
    let failed = |name: &String, e: std::io::Error| {
        (Output::failed(1, format!("Error: 'diff' command failed, {e}: '{name}'")), None)
    };
    let left_text = match read(left) {
        Ok(text) => text,
        Err(e) => return failed(left, e),
    };
    let right_text = match read(right) {
        Ok(text) => text,
        Err(e) => return failed(right, e),
    };
    match how.texts((left, &left_text), (right, &right_text)) {
        None => (Output::default(), None),
        Some(text) => {
            let mismatch = Mismatch { left: left.clone(), right: right.clone(), left_text, right_text };
            (Output { code: 1, stdout: text, stderr: Vec::new() }, Some(mismatch))
        }
    }
}

impl Comparison {
    /// The unified diff of two texts with their names; none if they are the same.
    fn texts(&self, (left_name, left): (&str, &[u8]), (right_name, right): (&str, &[u8])) -> Option<Vec<u8>> {
        if left == right {
            return None;
        }
        let (left, right) = (self.lines(left), self.lines(right));
        unified((left_name, &left), (right_name, &right), self.context)
    }

    fn lines(&self, text: &[u8]) -> Vec<Vec<u8>> {
        let kept = text
            .split_inclusive(|&b| b == b'\n')
            .filter(|line| !self.ignore_lines.as_ref().is_some_and(|regex| regex.is_match(line)));
        kept.map(|line| self.normal(line)).collect()
    }

    fn normal(&self, line: &[u8]) -> Vec<u8> {
        if self.ignore_all_space || self.ignore_space_change {
            let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            let separator: &[u8] = if self.ignore_all_space { b"" } else { b" " };
            let mut joined = words.collect::<Vec<_>>().join(separator);
            joined.push(b'\n');
            return joined;
        }
        match line.strip_suffix(b"\r\n") {
            Some(content) if self.strip_cr => [content, b"\n"].concat(),
            _ => line.to_vec(),
        }
    }

    fn trees(&self, left: &Path, right: &Path, output: &mut Output) {
        let kind = |path: &Path| path.symlink_metadata().map(|_| path.is_dir());
        match (kind(left), kind(right)) {
            (Ok(true), Ok(true)) => {
                let (ours, theirs) = (names(left), names(right));
                for name in ours.union(&theirs) {
                    let only = if !theirs.contains(name) {
                        left
                    } else if !ours.contains(name) {
                        right
                    } else {
                        self.trees(&left.join(name), &right.join(name), output);
                        continue;
                    };
                    output.code = 1;
                    let line = format!("Only in {}: {}\n", only.display(), name.display());
                    output.stdout.extend_from_slice(line.as_bytes());
                }
            }
            (Ok(left_directory), Ok(right_directory)) if left_directory != right_directory => {
                let describe = |path: &Path, directory: bool| {
                    let size = path.metadata().map_or(0, |m| m.len());
                    match (directory, size) {
                        (true, _) => "directory",
                        (false, 0) => "regular empty file",
                        _ => "regular file",
                    }
                };
                let (l, r) = (describe(left, left_directory), describe(right, right_directory));
                let line = format!("File {} is a {l} while file {} is a {r}\n", left.display(), right.display());
                output.code = 1;
                output.stdout.extend_from_slice(line.as_bytes());
            }
            _ => match (files::read(left), files::read(right)) {
                (Ok(a), Ok(b)) => {
                    let (a_name, b_name) = (left.to_string_lossy(), right.to_string_lossy());
                    if let Some(text) = self.texts((&a_name, &a), (&b_name, &b)) {
                        output.code = 1;
                        output.stdout.extend_from_slice(&text);
                    }
                }
                (Err(e), _) | (_, Err(e)) => {
                    output.code = 1;
                    output.stderr.extend_from_slice(format!("Error: 'diff' command failed, {e}\n").as_bytes());
                }
            },
        }
    }
}

fn names(directory: &Path) -> BTreeSet<PathBuf> {
    std::fs::read_dir(directory).into_iter().flatten().flatten().map(|e| PathBuf::from(e.file_name())).collect()
}

/// The unified diff of two lists of lines; none if they are the same.
pub fn unified(
    (left_name, left): (&str, &[Vec<u8>]),
    (right_name, right): (&str, &[Vec<u8>]),
    context: usize,
) -> Option<Vec<u8>> {
    let ops = capture_diff_slices(Algorithm::Myers, left, right);
    let groups = group_diff_ops(ops, context);
    if groups.iter().flatten().all(|op| matches!(op, DiffOp::Equal { .. })) {
        return None;
    }
    let mut out = format!("--- {left_name}\n+++ {right_name}\n").into_bytes();
    for group in groups {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let span = |start: usize, end: usize| match end - start {
            1 => (start + 1).to_string(),
            0 => format!("{start},0"),
            length => format!("{},{length}", start + 1),
        };
        let old = span(first.old_range().start, last.old_range().end);
        let new = span(first.new_range().start, last.new_range().end);
        out.extend_from_slice(format!("@@ -{old} +{new} @@\n").as_bytes());
        let mut lines = |mark: u8, lines: &[Vec<u8>]| {
            for line in lines {
                out.push(mark);
                out.extend_from_slice(line);
                if !line.ends_with(b"\n") {
                    out.extend_from_slice(b"\n\\ No newline at end of file\n");
                }
            }
        };
        for op in group {
            if let DiffOp::Equal { .. } = op {
                lines(b' ', &left[op.old_range()]);
            } else {
                lines(b'-', &left[op.old_range()]);
                lines(b'+', &right[op.new_range()]);
            }
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(args: &[&str], left: &str, right: &str) -> Output {
        let directory = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(directory.path().join("l"), left).expect("writes");
        let mut args: Vec<String> = args.iter().map(|a| a.to_string()).collect();
        args.extend(["l", "-"].map(str::to_string));
        diff(&args, right.as_bytes(), directory.path()).0
    }

    #[test]
    fn unified_text() {
        let output = run(&["-U1"], "a\nb\nc\nd\n", "a\nb\nX\nd");
        let expected = "--- l\n+++ -\n@@ -2,3 +2,3 @@\n b\n-c\n-d\n+X\n+d\n\\ No newline at end of file\n";
        assert_eq!((output.code, String::from_utf8_lossy(&output.stdout).as_ref()), (1, expected));
        assert_eq!(run(&[], "a\n", "a\n"), Output::default());
    }

    #[test]
    fn ways_to_be_equal() {
        for (args, left, right, code) in [
            (vec!["-w"], "a b\n", "ab\n", 0),
            (vec!["-b"], "a  b\n", "a b\n", 0),
            (vec!["-b"], "a b\n", "ab\n", 1),
            (vec!["--strip-trailing-cr"], "a\r\n", "a\n", 0),
            (vec![], "a\r\n", "a\n", 1),
            (vec!["-I", "#"], "#1\na\n", "#2\na\n", 0),
            (vec!["-I", "b"], "#1\na\n", "#2\na\n", 1),
        ] {
            assert_eq!(run(&args, left, right).code, code, "{args:?}");
        }
    }

    #[test]
    fn directories() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for (name, text) in [("l/same", "x"), ("r/same", "x"), ("l/only", ""), ("l/d/f", "1\n"), ("r/d/f", "2\n")] {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("makes");
            std::fs::write(path, text).expect("writes");
        }
        let args = ["-r", "l", "r"].map(str::to_string);
        let output = diff(&args, b"", directory.path()).0;
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.code, 1);
        assert!(text.contains("-1\n+2\n") && text.contains("Only in ") && text.contains(": only\n"), "{text}");
    }
}
