//! Splits a command line into words and operators, with lit's quoting rules.

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The text, quotes and escapes resolved.
    pub text: String,
    /// Whether it has an unquoted `*` or `?`, so that it names files.
    pub glob: bool,
}

/// A word or an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A word.
    Word(Word),
    /// An operator, with the number of the file descriptor before a redirection (`2>`).
    Op(&'static str, Option<u32>),
}

/// All tokens of a line; an error says what is wrong with it.
pub fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let chars: Vec<char> = text.chars().collect();
    let mut lexer = Lexer { chars: &chars, at: 0 };
    let mut tokens = Vec::new();
    while let Some(c) = lexer.peek() {
        if c.is_whitespace() {
            lexer.at += 1;
        } else {
            tokens.push(lexer.token()?);
        }
    }
    Ok(tokens)
}

struct Lexer<'a> {
    chars: &'a [char],
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek();
        self.at += usize::from(c.is_some());
        c
    }

    /// Takes the character if it is next; the line may not end here.
    fn accept(&mut self, c: char) -> Result<bool, String> {
        match self.peek() {
            None => Err("the line ends with an operator".to_string()),
            Some(next) if next == c => {
                self.at += 1;
                Ok(true)
            }
            Some(_) => Ok(false),
        }
    }

    fn token(&mut self) -> Result<Token, String> {
        let c = self.next().ok_or("the line ends early")?;
        let op = match c {
            ';' => ";",
            '|' if self.accept('|')? => "||",
            '|' => "|",
            '&' if self.accept('&')? => "&&",
            '&' if self.accept('>')? => "&>",
            '&' => "&",
            '>' if self.accept('&')? => ">&",
            '>' if self.accept('>')? => ">>",
            '>' => ">",
            '<' if self.accept('&')? => "<&",
            '<' if self.accept('>')? => "<<",
            '<' => "<",
            _ => return self.word(c),
        };
        Ok(Token::Op(op, None))
    }

    fn word(&mut self, first: char) -> Result<Token, String> {
        if let Some(word) = self.plain_word() {
            return Ok(Token::Word(word));
        }
        let mut text = String::new();
        let (mut quoted_glob, mut glob) = (false, false);
        if first == '"' || first == '\'' {
            text = self.quoted(first)?;
        } else {
            text.push(first);
        }
        while let Some(c) = self.peek() {
            match c {
                _ if c.is_whitespace() || "|&;".contains(c) => break,
                '<' | '>' => {
                    // `2>` is one token; anything else before `>` is a word of its own.
                    let Some(number) = digits(&text) else { break };
                    return match self.token()? {
                        Token::Op(op, _) => Ok(Token::Op(op, Some(number))),
                        Token::Word(_) => Err("a redirection was expected".to_string()),
                    };
                }
                '"' | '\'' => {
                    self.at += 1;
                    let part = self.quoted(c)?;
                    quoted_glob |= part.contains(['*', '?']);
                    text.push_str(&part);
                }
                '\\' => {
                    self.at += 1;
                    match self.next() {
                        Some(escaped) => text.push(escaped),
                        None => return Ok(Token::Word(Word { text, glob: false })),
                    }
                }
                _ => {
                    glob |= c == '*' || c == '?';
                    self.at += 1;
                    text.push(c);
                }
            }
        }
        if quoted_glob && glob {
            return Err("a word has glob characters both inside and outside of quotes".to_string());
        }
        Ok(Token::Word(Word { text, glob }))
    }

    /// A word up to the next blank, if it has nothing special in it. The first character is taken already.
    fn plain_word(&mut self) -> Option<Word> {
        let start = self.at - 1;
        let mut end = start;
        let mut glob = false;
        while let Some(&c) = self.chars.get(end) {
            if c.is_whitespace() {
                break;
            }
            if "|&<>'\";\\".contains(c) {
                return None;
            }
            glob |= c == '*' || c == '?';
            end += 1;
        }
        self.at = end;
        Some(Word { text: self.chars[start..end].iter().collect(), glob })
    }

    fn quoted(&mut self, quote: char) -> Result<String, String> {
        let mut text = String::new();
        while let Some(c) = self.next() {
            match c {
                _ if c == quote => return Ok(text),
                '\\' if quote == '"' => match self.next() {
                    Some(escaped @ ('"' | '\\' | '$')) => text.push(escaped),
                    Some(other) => text.extend(['\\', other]),
                    None => return Err("the line ends in the middle of a quoted word".to_string()),
                },
                _ => text.push(c),
            }
        }
        Err("a quote is missing at the end".to_string())
    }
}

fn digits(text: &str) -> Option<u32> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let show = |token: Token| match token {
            Token::Word(Word { text, glob: false }) => format!("[{text}]"),
            Token::Word(Word { text, glob: true }) => format!("*[{text}]"),
            Token::Op(op, None) => op.to_string(),
            Token::Op(op, Some(fd)) => format!("{fd}{op}"),
        };
        tokens(text).map(|list| list.into_iter().map(show).collect::<Vec<_>>().join(" ")).unwrap_or_else(|e| e)
    }

    #[test]
    fn words_and_operators() {
        for (text, expected) in [
            ("a|b||c&&d;e", "[a] | [b] || [c] && [d] ; [e]"),
            ("a 2>&1 >x 2>>y <z &>w >& v", "[a] 2>& [1] > [x] 2>> [y] < [z] &> [w] >& [v]"),
            ("a12>x", "[a12] > [x]"),
            (r#"'a b'"c"d\ e"#, "[a bcd e]"),
            (r#""a\"b\\c\$d\n" 'a\b'"#, r#"[a"b\c$d\n] [a\b]"#),
            ("*.ir a?b 'c*d'", "*[*.ir] *[a?b] [c*d]"),
            ("''", "[]"),
            ("a'*'*", "a word has glob characters both inside and outside of quotes"),
            ("a |", "the line ends with an operator"),
            ("'open", "a quote is missing at the end"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }
}
