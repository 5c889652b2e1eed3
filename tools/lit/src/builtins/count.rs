//! `count N`: succeeds if standard input has N lines.

use super::Output;

/// Counts the newlines of `stdin`: as for LLVM's tool, text after the last of them is no line.
pub fn count(args: &[String], stdin: &[u8]) -> Output {
    let [expected] = args else {
        return Output::failed(2, "usage: count <expected line count>");
    };
    let Ok(expected) = expected.parse::<u64>() else {
        return Output::failed(2, format!("count: invalid line count '{expected}'"));
    };
    let lines = stdin.iter().filter(|&&b| b == b'\n').count() as u64;
    if lines == expected {
        return Output::default();
    }
    Output::failed(1, format!("Expected {expected} lines, got {lines}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        for (stdin, expected) in [("", "0"), ("a\n", "1"), ("a\nb", "1"), ("\n\n", "2")] {
            assert_eq!(count(&[expected.to_string()], stdin.as_bytes()).code, 0, "{stdin:?}");
            assert_eq!(count(&["7".to_string()], stdin.as_bytes()).code, 1, "{stdin:?}");
        }
        assert_eq!(count(&[], b"").code, 2);
        assert_eq!(count(&["x".to_string()], b"").code, 2);
    }
}
