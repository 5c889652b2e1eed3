//! File name patterns: `*`, `?` and `[…]`, never matching a leading dot.

use std::path::{Path, PathBuf};

/// The files that a pattern names, sorted, as absolute paths; the pattern itself if there are none.
pub fn expand(pattern: &str, cwd: &Path) -> Vec<String> {
    let absolute = cwd.join(pattern);
    let mut found = vec![PathBuf::from("/")];
    let parts: Vec<String> = absolute.iter().skip(1).map(|p| p.to_string_lossy().into_owned()).collect();
    for part in &parts {
        let special = part.contains(['*', '?', '[']);
        let mut next = Vec::new();
        for directory in &found {
            if !special {
                next.push(directory.join(part));
                continue;
            }
            let Ok(entries) = std::fs::read_dir(directory) else { continue };
            for entry in entries.flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                if (!name.starts_with('.') || part.starts_with('.')) && matches(part, &name) {
                    next.push(entry.path());
                }
            }
        }
        found = next;
    }
    let mut names: Vec<String> =
        found.into_iter().filter(|p| p.symlink_metadata().is_ok()).map(|p| p.to_string_lossy().into_owned()).collect();
    names.sort();
    if names.is_empty() { vec![pattern.to_string()] } else { names }
}

/// Whether a name matches a pattern as a whole. Takes time proportional to the product of their lengths.
pub fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        let step = match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
                continue;
            }
            Some('?') => Some(p + 1),
            Some('[') => class(&pattern, p, name[n]),
            Some(&c) if c == name[n] => Some(p + 1),
            _ => None,
        };
        match (step, star) {
            (Some(next), _) => {
                p = next;
                n += 1;
            }
            (None, Some((sp, sn))) => {
                p = sp + 1;
                n = sn + 1;
                star = Some((sp, sn + 1));
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

/// Matches one character against the class at `at`; gives the place after the class.
fn class(pattern: &[char], at: usize, c: char) -> Option<usize> {
    let negated = pattern.get(at + 1) == Some(&'!');
    let first = at + 1 + usize::from(negated);
    let end = (first + 1..pattern.len()).find(|&i| pattern[i] == ']');
    let Some(end) = end else {
        // No end: the bracket is a plain character.
        return (c == '[').then_some(at + 1);
    };
    let set = &pattern[first..end];
    let mut found = false;
    let mut i = 0;
    while i < set.len() {
        if i + 2 < set.len() && set[i + 1] == '-' {
            found |= (set[i]..=set[i + 2]).contains(&c);
            i += 3;
        } else {
            found |= set[i] == c;
            i += 1;
        }
    }
    (found != negated).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("*.ir", "a.ir", true),
            ("*.ir", "a.irx", false),
            ("a?c*", "abc", true),
            ("[a-c]x[!0-9]", "bxy", true),
            ("[a-c]x[!0-9]", "bx1", false),
            ("[", "[", true),
            ("*a*b*c*", "xxaxxbxxcxx", true),
            ("", "", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn files() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for name in ["b.ir", "a.ir", ".c.ir", "d.txt"] {
            std::fs::write(directory.path().join(name), "").expect("a file");
        }
        let names: Vec<String> = expand("*.ir", directory.path());
        let expected = ["a.ir", "b.ir"].map(|n| directory.path().join(n).to_string_lossy().into_owned());
        assert_eq!(names, expected);
        assert_eq!(expand("*.none", directory.path()), ["*.none"]);
    }
}
