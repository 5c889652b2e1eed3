//! `split-file`: writes the parts of a file, each after a line such as `//--- name`, as files of their own.

use std::path::Path;

use super::{Output, options};
use crate::files;

/// One part of a split file.
#[derive(Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// The name after the marker.
    pub name: &'a str,
    /// Number of the marker line, from 1.
    pub line: usize,
    /// Where the text of the part starts and ends, in bytes of the whole.
    pub range: std::ops::Range<usize>,
}

/// The name on a marker line: any one character or `//`, then `--- `, then the name.
fn marker(line: &[u8]) -> Option<&[u8]> {
    let length = if line.starts_with(b"//") { 6 } else { 5 };
    (line.len() >= length && &line[length - 4..length] == b"--- ").then(|| &line[length..])
}

/// The parts of a file; an error is number of the line (0 for the whole) and message.
pub fn parts(text: &[u8]) -> Result<Vec<Part<'_>>, (usize, String)> {
    let mut parts: Vec<Part<'_>> = Vec::new();
    let mut start = 0;
    let mut names = std::collections::HashSet::new();
    for (index, line) in text.split_inclusive(|&b| b == b'\n').enumerate() {
        let end = start + line.len();
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(name) = marker(line) {
            let number = index + 1;
            let name = std::str::from_utf8(name).map_err(|_| (number, "part name is not UTF-8".to_string()))?;
            if name.is_empty() {
                return Err((number, "empty part name".to_string()));
            }
            if name.starts_with(char::is_whitespace) || name.ends_with(char::is_whitespace) {
                return Err((number, "part name cannot have leading or trailing space".to_string()));
            }
            if !names.insert(name) {
                return Err((number, format!("part name '{name}' occurs more than once")));
            }
            if let Some(last) = parts.last_mut() {
                last.range.end = start;
            }
            parts.push(Part { name, line: number, range: end..text.len() });
        }
        start = end;
    }
    if parts.is_empty() { Err((0, "no part separator was found".to_string())) } else { Ok(parts) }
}

const USAGE: &str = "usage: split-file [--leading-lines] INPUT OUTPUT-DIRECTORY\n\n\
                     Writes the parts of a file, each after a line like '//--- name', as files of their own.\n\
                     With --leading-lines, lines keep their numbers.\n";

/// Runs `split-file [--leading-lines] INPUT OUTPUT-DIRECTORY`.
pub fn split_file(args: &[String], stdin: &[u8], cwd: &Path) -> Output {
    let message = |m: String| Output::failed(1, format!("split-file: error: {m}"));
    let parsed = match options::parse(args, "", &["leading-lines", "no-leading-lines", "help"]) {
        Ok(parsed) => parsed,
        Err(e) => return message(e),
    };
    if parsed.options.iter().any(|(name, _)| name == "--help") {
        return Output::text(USAGE);
    }
    let [input, output] = parsed.operands.as_slice() else {
        return message("an input file and an output directory are needed".to_string());
    };
    let leading = parsed.options.last().is_some_and(|(name, _)| name == "--leading-lines");
    let text = match if input == "-" { Ok(stdin.to_vec()) } else { files::read(&cwd.join(input)) } {
        Ok(text) => text,
        Err(e) => return message(format!("{input}: {e}")),
    };
    let parts = match parts(&text) {
        Ok(parts) => parts,
        Err((0, m)) => return message(format!("{input}: {m}")),
        Err((line, m)) => return message(format!("{input}:{line}: {m}")),
    };
    let directory = cwd.join(output);
    // A plain file in the way of the directory goes; a directory stays as it is, as in LLVM.
    if directory.is_file()
        && let Err(e) = std::fs::remove_file(&directory)
    {
        return message(format!("{output}: {e}"));
    }
    let newline =
        if text.split_inclusive(|&b| b == b'\n').next().is_some_and(|l| l.ends_with(b"\r\n")) { "\r\n" } else { "\n" };
    for part in parts {
        let path = directory.join(part.name);
        let mut content = if leading { newline.repeat(part.line).into_bytes() } else { Vec::new() };
        content.extend_from_slice(&text[part.range]);
        let written =
            path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&path, content));
        if let Err(e) = written {
            return message(format!("{}: {e}", path.display()));
        }
    }
    Output::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_file() {
        let text = b"head\n//--- a\n1\n2\n#--- b/c\n//--- d\nlast";
        let found = parts(text).expect("splits");
        let shown: Vec<(&str, usize, &[u8])> = found.iter().map(|p| (p.name, p.line, &text[p.range.clone()])).collect();
        assert_eq!(shown, [("a", 2, b"1\n2\n".as_slice()), ("b/c", 5, b""), ("d", 6, b"last")]);
    }

    #[test]
    fn errors() {
        for (text, line) in [("x", 0), ("//--- ", 1), ("//---  a", 1), ("//--- a\n//--- a", 2)] {
            assert_eq!(parts(text.as_bytes()).expect_err(text).0, line, "{text}");
        }
    }

    #[test]
    fn files_are_written() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(directory.path().join("in"), "#--- a\n1\n#--- b/c\n2\n").expect("writes");
        let args = ["--leading-lines", "in", "out"].map(str::to_string);
        assert_eq!(split_file(&args, b"", directory.path()), Output::default());
        assert_eq!(std::fs::read(directory.path().join("out/a")).expect("reads"), b"\n1\n");
        assert_eq!(std::fs::read(directory.path().join("out/b/c")).expect("reads"), b"\n\n\n2\n");
    }
}
