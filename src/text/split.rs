//! `// -----` lines split a file into parts that are read one by one.

/// The parts of a text with the line (from 1) at which each begins. A text without a split line is one part.
pub fn split(text: &str) -> Vec<(u32, &str)> {
    let mut parts = Vec::new();
    let (mut start, mut first, mut at, mut line) = (0, 1, 0, 1);
    for full in text.split_inclusive('\n') {
        if full.trim_end() == "// -----" {
            parts.push((first, &text[start..at]));
            start = at + full.len();
            first = line + 1;
        }
        at += full.len();
        line += 1;
    }
    parts.push((first, &text[start..]));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_know_their_lines() {
        assert_eq!(split("a\nb\n// -----\nc\n"), [(1, "a\nb\n"), (4, "c\n")]);
        assert_eq!(split("// -----\n"), [(1, ""), (2, "")]);
        assert_eq!(split("x // -----\n"), [(1, "x // -----\n")]);
    }
}
