//! Names of Python: what IR calls a value, made an identifier that nothing else in its function has.

use std::collections::HashSet;

/// Words that a name must not be: Python's, and what the emitted code calls.
const TAKEN: &[&str] = &[
    "False",
    "None",
    "True",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "class",
    "continue",
    "def",
    "del",
    "elif",
    "else",
    "except",
    "finally",
    "for",
    "from",
    "global",
    "if",
    "import",
    "in",
    "is",
    "lambda",
    "nonlocal",
    "not",
    "or",
    "pass",
    "raise",
    "return",
    "try",
    "while",
    "with",
    "yield",
    "match",
    "case",
    "type",
    "CUDA",
    "Launched",
    "assert_size_stride",
    "check",
    "current_device",
    "current_stream",
    "elsewhere",
    "empty_strided",
    "index",
    "index_of",
    "launched",
    "run",
    "stream",
    "abs",
    "args",
    "bool",
    "call",
    "device",
    "empty",
    "float",
    "functools",
    "int",
    "libdevice",
    "list",
    "max",
    "min",
    "print",
    "range",
    "strided",
    "str",
    "sum",
    "tl",
    "torch",
    "triton",
    "tuple",
    "WIDE",
    "cdiv",
    "as_strided",
    "reinterpret",
    "launch",
    "prepare",
    "static_launcher",
    "MOST_ARGUMENTS",
    "UNALIGNED",
    "Together",
    "launched_together",
    "DEVICE",
    "INPUTS",
    "main",
    "os",
    "sys",
];

/// The names of one function.
#[derive(Clone, Default)]
pub(super) struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// A name for what IR calls `hint`: that, if it is free, else with a number.
    pub fn fresh(&mut self, hint: &str) -> String {
        let base = identifier(hint);
        let mut name = base.clone();
        let mut n = 0;
        while TAKEN.contains(&name.as_str()) || !self.taken.insert(name.clone()) {
            n += 1;
            name = format!("{base}_{n}");
        }
        name
    }
}

/// A text as an identifier.
pub(super) fn identifier(text: &str) -> String {
    let mut name: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || name.starts_with("__") {
        name = format!("v{}", name.trim_start_matches('_'));
    }
    name
}

/// A text as a string literal of Python.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push_str(&format!("\\x{:02x}", c as u32 & 0xff)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_identifiers_and_differ() {
        let mut names = Names::default();
        assert_eq!(names.fresh("x"), "x");
        assert_eq!(names.fresh("x"), "x_1");
        assert_eq!(names.fresh("0"), "v0");
        assert_eq!(names.fresh("a.b#1"), "a_b_1");
        assert_eq!(names.fresh("tl"), "tl_1");
        assert_eq!(quoted("a\"\n"), "\"a\\\"\\n\"");
    }
}
