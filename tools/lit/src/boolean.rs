//! Boolean expressions over features, as in REQUIRES, UNSUPPORTED, XFAIL and `%if`.
//!
//! `a && (b || !c)`, identifiers of letters, digits and `-+=._`, and `{{regex}}` parts that must match a whole
//! feature. `true` holds always.

use regex::Regex;

/// What an expression asks of the features.
pub trait FeatureQuery {
    /// Whether this feature is there.
    fn has(&self, name: &str) -> bool;
    /// Whether any feature that is there matches the expression as a whole.
    fn any_match(&self, pattern: &Regex) -> bool;
}

/// A plain set of names is a set of features.
impl FeatureQuery for [&str] {
    fn has(&self, name: &str) -> bool {
        self.contains(&name)
    }

    fn any_match(&self, pattern: &Regex) -> bool {
        self.iter().any(|name| pattern.is_match(name))
    }
}

/// Whether `text` holds with these features; an error says what is wrong with the expression.
pub fn evaluate(text: &str, features: &(impl FeatureQuery + ?Sized)) -> Result<bool, String> {
    let inner = || -> Result<bool, String> {
        let tokens = tokenize(text)?;
        let mut parser = Parser { tokens: &tokens, at: 0, features };
        let value = parser.or()?;
        match parser.peek() {
            None => Ok(value),
            Some(token) => Err(format!("expected: <end of expression>\nhave: '{token}'")),
        }
    };
    inner().map_err(|message| format!("{message}\nin expression: '{text}'"))
}

/// The identifiers and patterns that an expression names.
pub fn names(text: &str) -> Result<Vec<String>, String> {
    let tokens = tokenize(text)?;
    Ok(tokens.into_iter().filter(|t| is_match(t)).collect())
}

fn is_match(token: &str) -> bool {
    !matches!(token, "&&" | "||" | "!" | "(" | ")")
}

fn tokenize(text: &str) -> Result<Vec<String>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let length = if rest.starts_with("&&") || rest.starts_with("||") {
            2
        } else if rest.starts_with(['(', ')', '!']) {
            1
        } else {
            word_length(rest)
        };
        if length == 0 {
            return Err(format!("couldn't parse text: '{rest}'"));
        }
        tokens.push(rest[..length].to_string());
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

/// How many bytes of `text` are one identifier with its `{{…}}` parts.
fn word_length(text: &str) -> usize {
    let mut length = 0;
    while let Some(c) = text[length..].chars().next() {
        if c.is_ascii_alphanumeric() || "-+=._".contains(c) {
            length += 1;
        } else if let Some(inner) = text[length..].strip_prefix("{{") {
            // The shortest pattern of at least one character.
            let first = inner.chars().next().map_or(1, char::len_utf8);
            match inner.get(first..).and_then(|tail| tail.find("}}")) {
                Some(end) => length += 2 + first + end + 2,
                None => break,
            }
        } else {
            break;
        }
    }
    length
}

struct Parser<'a, F: ?Sized> {
    tokens: &'a [String],
    at: usize,
    features: &'a F,
}

impl<'a, F: FeatureQuery + ?Sized> Parser<'a, F> {
    fn peek(&self) -> Option<&'a str> {
        self.tokens.get(self.at).map(String::as_str)
    }

    fn accept(&mut self, token: &str) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }

    fn quoted(&self) -> String {
        self.peek().map_or_else(|| "<end of expression>".to_string(), |t| format!("'{t}'"))
    }

    fn or(&mut self) -> Result<bool, String> {
        let mut value = self.and()?;
        while self.accept("||") {
            let right = self.and()?;
            value = value || right;
        }
        Ok(value)
    }

    fn and(&mut self) -> Result<bool, String> {
        let mut value = self.not()?;
        while self.accept("&&") {
            let right = self.not()?;
            value = value && right;
        }
        Ok(value)
    }

    fn not(&mut self) -> Result<bool, String> {
        // Negations and parentheses are counted instead of recursed into, for no input to exhaust the stack.
        let mut negate = false;
        while self.accept("!") {
            negate = !negate;
        }
        let value = if self.accept("(") {
            if self.at > 1000 {
                return Err("the expression is nested too deeply".to_string());
            }
            let value = self.or()?;
            if !self.accept(")") {
                return Err(format!("expected: ')'\nhave: {}", self.quoted()));
            }
            value
        } else {
            match self.peek() {
                Some(token) if is_match(token) => {
                    self.at += 1;
                    self.matches(token)?
                }
                _ => return Err(format!("expected: '!', '(', '{{{{', or identifier\nhave: {}", self.quoted())),
            }
        };
        Ok(value != negate)
    }

    fn matches(&self, token: &str) -> Result<bool, String> {
        if !token.contains("{{") {
            return Ok(token == "true" || self.features.has(token));
        }
        let mut pattern = String::from("^(?:");
        let mut rest = token;
        while let Some(start) = rest.find("{{") {
            pattern.push_str(&regex::escape(&rest[..start]));
            let inner = &rest[start + 2..];
            // The tokenizer has found the end already.
            let end =
                inner.char_indices().skip(1).find(|&(i, _)| inner[i..].starts_with("}}")).map_or(inner.len(), |x| x.0);
            pattern.push_str("(?:");
            pattern.push_str(&inner[..end]);
            pattern.push(')');
            rest = inner.get(end + 2..).unwrap_or("");
        }
        pattern.push_str(&regex::escape(rest));
        pattern.push_str(")$");
        let pattern = Regex::new(&pattern).map_err(|e| format!("bad pattern '{token}': {e}"))?;
        Ok(pattern.is_match("true") || self.features.any_match(&pattern))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, features: &[&str]) -> bool {
        evaluate(text, features).expect(text)
    }

    #[test]
    fn operators_and_precedence() {
        for (text, expected) in [
            ("true || false", true),
            ("gpu && llvm", false),
            ("llvm && !gpu", true),
            ("!(gpu || triton) && llvm", true),
            ("gpu && gpu || llvm", true),
            ("gpu && (gpu || llvm)", false),
            ("!! llvm", true),
        ] {
            assert_eq!(value(text, &["llvm", "target=x86_64-linux"]), expected, "{text}");
        }
    }

    #[test]
    fn patterns_match_whole_features() {
        let features = ["target=x86_64-unknown-linux-gnu"];
        assert!(value("target={{x86_64-.+}}", &features));
        assert!(value("target={{(x86|arm).*}}-gnu", &features));
        assert!(!value("target={{x86_64}}", &features));
        assert!(!value("{{linux}}", &features));
        assert!(value("{{t.*}}", &[]), "`true` is a feature too");
    }

    #[test]
    fn errors_say_what_and_where() {
        for (text, message) in [
            ("ba#d", "couldn't parse text: '#d'\nin expression: 'ba#d'"),
            ("a b", "expected: <end of expression>\nhave: 'b'\nin expression: 'a b'"),
            ("a &&", "expected: '!', '(', '{{', or identifier\nhave: <end of expression>\nin expression: 'a &&'"),
            ("((a)", "expected: ')'\nhave: <end of expression>\nin expression: '((a)'"),
            ("a{{b", "couldn't parse text: '{{b'\nin expression: 'a{{b'"),
            ("{{}}", "couldn't parse text: '{{}}'\nin expression: '{{}}'"),
        ] {
            assert_eq!(evaluate(text, &[] as &[&str]).expect_err(text), message);
        }
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_crash() {
        let text = "(".repeat(100_000);
        assert!(evaluate(&text, &[] as &[&str]).is_err());
    }
}
