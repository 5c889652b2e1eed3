//! The log of a test: its commands, what they wrote, and why they failed, in the form that lit gives it.

use crate::shell::exec::CommandResult;

/// How logs are written.
#[derive(Clone, Copy, Debug)]
pub struct LogStyle {
    /// Colour diffs.
    pub color: bool,
    /// Most characters of one output.
    pub limit: usize,
    /// The time limit of the test in seconds; 0 is none.
    pub timeout: u64,
}

/// The lines for one command.
pub fn command(result: &CommandResult, style: LogStyle) -> String {
    let bangs = result.words.iter().take_while(|w| *w == "!").count();
    let words: Vec<String> = result.words.iter().skip(bangs).map(|w| quoted(w)).collect();
    let mut out = format!("# executed command: {}{}\n", "! ".repeat(bangs), words.join(" "));
    let (stdout, stderr) = (String::from_utf8_lossy(&result.stdout), String::from_utf8_lossy(&result.stderr));
    let silent = stdout.trim().is_empty() && stderr.trim().is_empty();
    if result.exit == 0 && silent && !result.timed_out {
        return out;
    }
    for (name, text) in &result.outputs {
        out.push_str(&boxed(&format!("redirected output from '{name}'"), &String::from_utf8_lossy(text), style.limit));
    }
    if style.color && result.mismatch.is_some() {
        out.push_str(&boxed("command stdout", &colored_diff(&stdout), style.limit));
    } else {
        out.push_str(&boxed("command stdout", &stdout, style.limit));
    }
    out.push_str(&boxed("command stderr", &stderr, style.limit));
    if silent {
        out.push_str("# note: command had no output on stdout or stderr\n");
    }
    if result.exit != 0 {
        out.push_str(&format!("# error: command failed with exit status: {}\n", result.exit));
    }
    if style.timeout > 0 && result.timed_out {
        out.push_str("# error: command reached timeout: True\n");
    }
    out
}

/// A diff with removed lines red, added ones green.
pub fn colored_diff(diff: &str) -> String {
    let mut out = String::new();
    for line in diff.lines() {
        let color = match line.as_bytes().first() {
            _ if line.starts_with("---") || line.starts_with("+++") => "1",
            Some(b'-') => "31",
            Some(b'+') => "32",
            Some(b'@') => "36",
            _ => {
                out.push_str(line);
                out.push('\n');
                continue;
            }
        };
        out.push_str(&format!("\x1b[{color}m{line}\x1b[0m\n"));
    }
    out
}

/// Text without the escape sequences that set colours.
pub fn without_colors(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\x1b[") {
        out.push_str(&rest[..at]);
        let tail = &rest[at + 2..];
        let end = tail.find(|c: char| !(c.is_ascii_digit() || c == ';')).unwrap_or(tail.len());
        match tail[end..].strip_prefix('m') {
            Some(after) => rest = after,
            None => {
                out.push_str("\x1b[");
                rest = tail;
            }
        }
    }
    out.push_str(rest);
    out
}

fn boxed(title: &str, text: &str, limit: usize) -> String {
    const DASHES: usize = 30;
    if text.trim().is_empty() {
        return String::new();
    }
    let length = text.chars().count();
    let mut end = String::new();
    let shortened: String;
    let mut text = text;
    if length > limit {
        end = format!("data was truncated ({limit}/{length}) (change limit with -D output_limit=N)");
        shortened = text.chars().take(limit).chain("\n...\n".chars()).collect();
        text = &shortened;
    }
    let dashes = |s: &str| "-".repeat((DASHES - 4).saturating_sub(s.chars().count()));
    let mut out = format!("# .---{title}{}\n", dashes(title));
    // A colour that goes on over the end of a line does not reach into the frame.
    let mut color: Option<String> = None;
    for line in text.lines() {
        if color.is_some() {
            out.push_str("\x1b[0m");
        }
        out.push_str(&format!("# | {}{line}\n", color.as_deref().unwrap_or("")));
        color = color_after(line, color);
    }
    if color.is_some() {
        out.push_str("\x1b[0m");
    }
    out.push_str(&format!("# `---{end}{}\n", dashes(&end)));
    out
}

fn color_after(line: &str, before: Option<String>) -> Option<String> {
    let Some(start) = line.rfind("\x1b[") else { return before };
    let Some(length) = line[start + 2..].find('m') else { return before };
    let sequence = &line[start..start + 2 + length + 1];
    if sequence == "\x1b[m" || sequence == "\x1b[0m" { None } else { Some(sequence.to_string()) }
}

/// A word as a shell reads it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./-_".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', "'\"'\"'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_command() {
        let result = CommandResult {
            words: ["!", "a b", "c"].map(str::to_string).to_vec(),
            stdout: b"one\ntwo\n".to_vec(),
            exit: 1,
            ..CommandResult::default()
        };
        let text = command(&result, LogStyle { color: false, limit: 1000, timeout: 0 });
        let expected = "# executed command: ! 'a b' c\n# .---command stdout------------\n# | one\n# | two\n\
                        # `-----------------------------\n# error: command failed with exit status: 1\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn long_output_is_cut() {
        let text = boxed("t", &"x".repeat(50), 10);
        assert!(text.contains("# | xxxxxxxxxx\n# | ...\n"), "{text}");
        assert!(text.contains("data was truncated (10/50)"), "{text}");
    }

    #[test]
    fn colours_come_and_go() {
        let diff = "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n z\n";
        let colored = colored_diff(diff);
        assert!(colored.contains("\x1b[31m-x\x1b[0m\n\x1b[32m+y\x1b[0m\n z\n"), "{colored:?}");
        assert_eq!(without_colors(&colored), diff);
        assert_eq!(without_colors("\x1b[2Kx"), "\x1b[2Kx");
    }
}
