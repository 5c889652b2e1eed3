//! Which kernels are the same but for names: layers of a model give many, and each would be compiled by itself.

use std::collections::HashMap;

/// The text of a kernel with its variables numbered in the order in which they appear, and without comments. Two kernels with equal texts do the same.
///
/// What is called, what is behind a dot, what a keyword argument is called, and functions beside the kernels, which begin with `_`, keep their names; so does
/// what is in quotes.
pub(super) fn without_names(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut quoted: Option<char> = None;
    let lines = text.lines().filter(|l| !l.trim_start().starts_with('#'));
    for line in lines {
        let mut rest = line;
        let mut last = ' ';
        while let Some(c) = rest.chars().next() {
            let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            if quoted.is_none() && length > 0 {
                let (word, behind) = rest.split_at(length);
                let number = c.is_ascii_digit() || last == '.';
                let called = behind.starts_with('(') && !line.starts_with("def ");
                let keyword = behind.starts_with('=');
                if number || called || keyword || c == '_' || PYTHON.contains(&word) {
                    out.push_str(word);
                } else {
                    let next = numbers.len();
                    out.push('$');
                    out.push_str(&numbers.entry(word).or_insert(next).to_string());
                }
                last = word.chars().next_back().unwrap_or(' ');
                rest = behind;
                continue;
            }
            match quoted {
                Some(q) if c == q => quoted = None,
                None if c == '"' || c == '\'' => quoted = Some(c),
                _ => {}
            }
            out.push(c);
            last = c;
            rest = &rest[c.len_utf8()..];
        }
        out.push('\n');
    }
    out
}

/// Words of Python in kernels.
const PYTHON: &[&str] =
    &["def", "for", "in", "if", "else", "elif", "and", "or", "not", "True", "False", "None", "return"];

#[cfg(test)]
mod tests {
    use super::without_names;

    #[test]
    fn names_do_not_matter_but_what_is_done_does() {
        let kernel = |name: &str, x: &str, f: &str| {
            format!(
                "def {name}({x}, out, XBLOCK: tl.constexpr = 8):\n    # {name}\n    t = tl.{f}({x} + 1e-3, mask=m)\n    tl.store(out, t)\n"
            )
        };
        let same = without_names(&kernel("a_0", "x", "load"));
        assert_eq!(same, without_names(&kernel("b_1", "y", "load")));
        assert_ne!(same, without_names(&kernel("a_0", "x", "exp")));
        assert_ne!(same, without_names(&kernel("a_0", "out", "load")));
        assert_ne!(without_names("assert_(\"a x\")"), without_names("assert_(\"a y\")"));
    }
}
