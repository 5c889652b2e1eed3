//! Substitutions in command lines: `%s` and its like, those of the configuration, DEFINE, and `%if … %{ … %}`.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use regex::{NoExpand, Regex};

use crate::boolean::{self, FeatureQuery};
use crate::script::{Directive, Substitution};

/// A list of substitutions in the order in which they are applied; the first of a pair is a regular expression.
pub type Substitutions = Vec<(String, String)>;

/// Stands for `%%` while the other substitutions are made.
const PERCENT: &str = "#_MARKER_#";

/// A command line with all substitutions made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Where it comes from: `RUN: at line 3`.
    pub origin: String,
    /// The text for the shell.
    pub text: String,
}

/// The substitutions that every test has. `temp` is the base of temporary names, in the directory `Output`.
pub fn defaults(source: &Path, temp: &Path) -> Substitutions {
    let text = |p: &Path| p.to_string_lossy().into_owned();
    let name = |p: &Path| p.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let real = |p: &Path| {
        // A path that does not exist yet is resolved as far as it does exist.
        let mut existing = p;
        let mut tail = Vec::new();
        loop {
            if let Ok(found) = existing.canonicalize() {
                break tail.iter().rev().fold(found, |path, part| path.join(part));
            }
            match (existing.parent(), existing.file_name()) {
                (Some(parent), Some(last)) => {
                    tail.push(last);
                    existing = parent;
                }
                _ => break p.to_path_buf(),
            }
        }
    };
    let directory = source.parent().unwrap_or(Path::new("/"));
    let temp_name = temp.with_file_name(format!("{}.tmp", name(temp)));
    let temp_directory = temp.parent().unwrap_or(Path::new("/"));
    let stem = source.file_stem().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let mut list: Substitutions = [
        ("%{pathsep}", ":".to_string()),
        ("%basename_t", name(temp)),
        ("%{s:basename}", name(source)),
        ("%{s:stem}", stem),
        ("%{t:stem}", name(temp)),
        ("%{fs-src-root}", "/".to_string()),
        ("%{fs-tmp-root}", "/".to_string()),
        ("%{fs-sep}", "/".to_string()),
        ("%/et", text(&temp_name)),
    ]
    .map(|(a, b)| (a.to_string(), b))
    .to_vec();
    for (letter, path) in [("s", source), ("S", directory), ("p", directory), ("t", &temp_name), ("T", temp_directory)]
    {
        let plain = text(path);
        let resolved = text(&real(path));
        list.push((format!("%{letter}"), plain.clone()));
        list.push((format!("%/{letter}"), plain.clone()));
        list.push((format!("%{{{letter}:real}}"), resolved.clone()));
        list.push((format!("%{{/{letter}:real}}"), resolved));
        list.push((format!("%{{/{letter}:regex_replacement}}"), plain.replace('@', "\\@").replace('&', "\\&")));
        list.push((format!("%:{letter}"), plain.trim_start_matches('/').to_string()));
    }
    list
}

/// Makes all substitutions in a script, in the order of its lines. With a limit, substitutions apply to what
/// substitutions brought, until nothing changes; it is an error if more than `limit` rounds are needed.
pub fn apply(
    script: &[Directive],
    mut substitutions: Substitutions,
    features: &(impl FeatureQuery + ?Sized),
    limit: Option<u32>,
) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    for directive in script {
        match directive {
            Directive::Substitution(definition) => define(definition, &mut substitutions)?,
            Directive::Command { origin, text } => {
                let text = match limit {
                    None => once(text, &substitutions, features)?,
                    Some(limit) => to_fixed_point(text, &substitutions, features, limit)?,
                };
                lines.push(Line { origin: origin.clone(), text: text.replace(PERCENT, "%") });
            }
        }
    }
    Ok(lines)
}

fn define(definition: &Substitution, list: &mut Substitutions) -> Result<(), String> {
    let Substitution { new, name, value, location } = definition;
    let keyword = if *new { "DEFINE:" } else { "REDEFINE:" };
    let existing: Vec<usize> = (0..list.len()).filter(|&i| list[i].0.contains(name.as_str())).collect();
    let patterns: String = existing.iter().map(|&i| format!("\nExisting pattern: {}", list[i].0)).collect();
    match (*new, existing.as_slice()) {
        (true, []) => list.insert(0, (name.clone(), value.clone())),
        (true, _) => {
            return Err(format!(
                "Substitution whose pattern contains '{name}' is already defined before '{keyword}' directive \
                 {location}{patterns}"
            ));
        }
        (false, []) => {
            return Err(format!("No substitution for '{name}' is defined before '{keyword}' directive {location}"));
        }
        (false, [one]) if list[*one].0 == *name => list[*one].1 = value.clone(),
        (false, [_]) => {
            return Err(format!(
                "Existing substitution whose pattern contains '{name}' does not have the pattern specified by \
                 '{keyword}' directive {location}\nExpected pattern: {name}{patterns}"
            ));
        }
        (false, _) => {
            return Err(format!(
                "Multiple substitutions whose patterns contain '{name}' are defined before '{keyword}' directive \
                 {location}{patterns}"
            ));
        }
    }
    Ok(())
}

fn once(text: &str, list: &Substitutions, features: &(impl FeatureQuery + ?Sized)) -> Result<String, String> {
    let mut text = conditionals(&text.replace("%%", PERCENT), features)?;
    for (pattern, value) in list {
        text = text.replace("%%", PERCENT);
        text = Compiled::of(pattern)?.replace_all(&text, value);
    }
    Ok(text.trim().to_string())
}

fn to_fixed_point(
    text: &str,
    list: &Substitutions,
    features: &(impl FeatureQuery + ?Sized),
    limit: u32,
) -> Result<String, String> {
    // The first round also trims, so it does not count as a change.
    let mut before = text.to_string();
    let mut now = once(&before, list, features)?;
    let mut steps = 0;
    while now != before && steps < limit {
        before = now;
        now = once(&before, list, features)?;
        steps += 1;
    }
    if now != before {
        return Err(format!(
            "Recursive substitution of '{}' did not complete in the provided recursion limit ({limit})",
            text.trim()
        ));
    }
    Ok(now)
}

/// The left side of a substitution: plain text where it has no operator, which is the common and fast case.
enum Compiled {
    Text(String),
    Pattern(Regex),
}

impl Compiled {
    fn of(pattern: &str) -> Result<Arc<Compiled>, String> {
        static CACHE: LazyLock<Mutex<HashMap<String, Arc<Compiled>>>> = LazyLock::new(Mutex::default);
        let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = cache.get(pattern) {
            return Ok(found.clone());
        }
        let plain = literal_braces(pattern);
        let compiled = if regex_syntax_free(pattern) {
            Compiled::Text(pattern.to_string())
        } else {
            Compiled::Pattern(Regex::new(&plain).map_err(|e| format!("substitution pattern '{pattern}': {e}"))?)
        };
        let compiled = Arc::new(compiled);
        cache.insert(pattern.to_string(), compiled.clone());
        Ok(compiled)
    }

    fn replace_all(&self, text: &str, value: &str) -> String {
        match self {
            Compiled::Text(plain) if text.contains(plain.as_str()) => text.replace(plain.as_str(), value),
            Compiled::Text(_) => text.to_string(),
            Compiled::Pattern(regex) => regex.replace_all(text, NoExpand(value)).into_owned(),
        }
    }
}

/// Whether a pattern means itself: no operator, and no brace that could be a count.
fn regex_syntax_free(pattern: &str) -> bool {
    !pattern.is_empty() && !pattern.contains(['\\', '.', '+', '*', '?', '(', ')', '|', '[', ']', '^', '$']) && {
        literal_braces(pattern).matches("\\{").count() == pattern.matches('{').count()
    }
}

/// Escapes each `{` that begins no count (`{2}`, `{2,}`, `{,3}`), as Python reads it.
fn literal_braces(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut escaped = false;
    for (at, c) in pattern.char_indices() {
        if c == '{' && !escaped {
            let inner = pattern[at + 1..].split('}').next().unwrap_or("");
            let count = pattern[at + 1..].contains('}')
                && inner.bytes().any(|b| b.is_ascii_digit())
                && inner.bytes().all(|b| b.is_ascii_digit() || b == b',');
            if !count || at == 0 {
                out.push('\\');
            }
        }
        escaped = c == '\\' && !escaped;
        out.push(c);
    }
    out
}

/// Resolves `%if condition %{ then %} %else %{ otherwise %}`.
fn conditionals(text: &str, features: &(impl FeatureQuery + ?Sized)) -> Result<String, String> {
    if !text.contains("%if ") {
        return Ok(text.to_string());
    }
    let mut rest = text;
    branch(&mut rest, false, 0, features)
}

fn branch(
    rest: &mut &str,
    nested: bool,
    depth: u32,
    features: &(impl FeatureQuery + ?Sized),
) -> Result<String, String> {
    if depth > 100 {
        return Err("%if substitutions are nested too deeply".to_string());
    }
    let mut out = String::new();
    while !rest.is_empty() {
        if nested && rest.starts_with("%}") {
            break;
        }
        if let Some(tail) = rest.strip_prefix("%if ") {
            let brace = tail.find("%{").ok_or("'%{' is missing for %if substitution")?;
            let condition = &tail[..brace];
            *rest = &tail[brace + 2..];
            let then = branch(rest, true, depth + 1, features)?;
            *rest = rest.strip_prefix("%}").ok_or("'%}' is missing for %if substitution")?;
            let mut otherwise = String::new();
            if let Some(tail) = rest.trim_start().strip_prefix("%else") {
                *rest = tail.trim_start().strip_prefix("%{").ok_or("'%{' is missing for %else substitution")?;
                otherwise = branch(rest, true, depth + 1, features)?;
                *rest = rest.strip_prefix("%}").ok_or("'%}' is missing for %else substitution")?;
            }
            out.push_str(if boolean::evaluate(condition, features)? { &then } else { &otherwise });
            continue;
        }
        // Plain text up to the next thing of interest; a `%if` without blank is text, so step over its first byte.
        let skip = usize::from(rest.starts_with("%if"));
        let stop = [Some("%if"), nested.then_some("%}")]
            .into_iter()
            .flatten()
            .filter_map(|stop| rest[skip..].find(stop).map(|at| at + skip))
            .min()
            .unwrap_or(rest.len());
        out.push_str(&rest[..stop]);
        *rest = &rest[stop..];
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(text: &str, list: &[(&str, &str)], limit: Option<u32>) -> Result<String, String> {
        let script = [Directive::Command { origin: String::new(), text: text.to_string() }];
        let list = list.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
        apply(&script, list, ["gpu", "target=x"].as_slice(), limit).map(|lines| lines[0].text.clone())
    }

    #[test]
    fn order_and_escapes() {
        let list = [("%a", "%b"), ("%b", "2"), ("%{c}", r"\1 $0"), (r"\bopt\b", "/bin/opt")];
        assert_eq!(expand("%a %%a %{c} opt optx", &list, None).as_deref(), Ok(r"2 %a \1 $0 /bin/opt optx"));
    }

    #[test]
    fn recursion_has_a_limit() {
        let list = [("%1", "stop"), ("%2", "%1"), ("%3", "%2")];
        assert_eq!(expand("%3", &list, None).as_deref(), Ok("%2"));
        assert_eq!(expand("%3", &list, Some(3)).as_deref(), Ok("stop"));
        let error = expand("%3", &list, Some(1)).expect_err("one round is not enough");
        assert!(error.contains("'%3' did not complete in the provided recursion limit (1)"), "{error}");
    }

    #[test]
    fn conditions() {
        for (text, expected) in [
            ("a %if gpu %{b%} c", "a b c"),
            ("%if llvm %{b%} %else %{c %if !llvm %{d%}%}", "c d"),
            ("%if target={{x|y}} %{b%}%else%{c%}", "b"),
            ("%iffy %}", "%iffy %}"),
            ("%if gpu %{%s%}", "file"),
        ] {
            assert_eq!(expand(text, &[("%s", "file")], None).as_deref(), Ok(expected), "{text}");
        }
        for text in ["%if gpu", "%if gpu %{ a", "%if gpu %{a%} %else b", "%if gpu gpu %{a%}"] {
            assert!(expand(text, &[], None).is_err(), "{text}");
        }
    }

    #[test]
    fn paths() {
        let list = defaults(Path::new("/t/sub/a.b.ir"), Path::new("/x/sub/Output/a.b.ir"));
        let script =
            [Directive::Command { origin: String::new(), text: "%s %S %t %T %:s %{s:stem} %basename_t".into() }];
        let lines = apply(&script, list, &[] as &[&str], None).expect("expands");
        let expected = "/t/sub/a.b.ir /t/sub /x/sub/Output/a.b.ir.tmp /x/sub/Output t/sub/a.b.ir a.b a.b.ir";
        assert_eq!(lines[0].text, expected);
    }

    #[test]
    fn redefinitions() {
        let define = |new, value: &str| {
            let (name, location) = ("%{x}".to_string(), "at line 1".to_string());
            Directive::Substitution(Substitution { new, name, value: value.to_string(), location })
        };
        let echo = Directive::Command { origin: String::new(), text: "%{x}".to_string() };
        let script = [define(true, "1"), echo.clone(), define(false, "2"), echo];
        let lines = apply(&script, Vec::new(), &[] as &[&str], None).expect("expands");
        assert_eq!(lines.iter().map(|l| l.text.as_str()).collect::<Vec<_>>(), ["1", "2"]);
        let twice = [define(true, "1"), define(true, "2")];
        assert!(apply(&twice, Vec::new(), &[] as &[&str], None).is_err());
        assert!(apply(&[define(false, "1")], Vec::new(), &[] as &[&str], None).is_err());
    }
}
