//! Parses a command line into pipelines joined by `;`, `&&` and `||`.

use crate::shell::lexer::{Token, Word, tokens};

/// One redirection: operator, file descriptor before it, and target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// `>`, `>>`, `<`, `>&`, `&>` and so on.
    pub op: &'static str,
    /// The number in `2>`.
    pub fd: Option<u32>,
    /// The word after it.
    pub target: Word,
}

/// One command of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The words; never empty.
    pub words: Vec<Word>,
    /// The redirections, in order.
    pub redirects: Vec<Redirect>,
}

/// Commands joined by `|`.
pub type Pipeline = Vec<Command>;

/// A line: a first pipeline, and more of them after operators. All operators bind alike, from left to right, as in lit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// The first pipeline.
    pub first: Pipeline,
    /// Operator and pipeline, in order.
    pub rest: Vec<(Join, Pipeline)>,
}

/// What joins two pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// `;`: the next runs in any case.
    Then,
    /// `&&`: the next runs if this succeeded.
    And,
    /// `||`: the next runs if this failed.
    Or,
    /// `&`, which the shell refuses when it comes to it.
    Background,
}

/// Parses a line; an error says what is wrong with it.
pub fn parse(text: &str) -> Result<CommandLine, String> {
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: &tokens, at: 0 };
    let first = parser.pipeline()?;
    let mut rest = Vec::new();
    while let Some(token) = parser.next() {
        let join = match token {
            Token::Op(";", None) => Join::Then,
            Token::Op("&&", None) => Join::And,
            Token::Op("||", None) => Join::Or,
            Token::Op("&", None) => Join::Background,
            other => return Err(format!("syntax error near unexpected token {other:?}")),
        };
        if parser.peek().is_none() {
            return Err("missing argument to an operator".to_string());
        }
        rest.push((join, parser.pipeline()?));
    }
    Ok(CommandLine { first, rest })
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Option<&'a Token> {
        let token = self.peek();
        self.at += usize::from(token.is_some());
        token
    }

    fn pipeline(&mut self) -> Result<Pipeline, String> {
        let mut commands = vec![self.command()?];
        while self.peek() == Some(&Token::Op("|", None)) {
            self.at += 1;
            commands.push(self.command()?);
        }
        Ok(commands)
    }

    fn command(&mut self) -> Result<Command, String> {
        let first = match self.next() {
            None => return Err("empty command!".to_string()),
            Some(Token::Op(op, _)) => return Err(format!("syntax error near unexpected token '{op}'")),
            Some(Token::Word(word)) => word.clone(),
        };
        let mut command = Command { words: vec![first], redirects: Vec::new() };
        loop {
            match self.peek() {
                None | Some(Token::Op("|" | ";" | "&" | "||" | "&&", _)) => return Ok(command),
                Some(Token::Word(word)) => {
                    self.at += 1;
                    command.words.push(word.clone());
                }
                Some(Token::Op(op, fd)) => {
                    self.at += 1;
                    match self.next() {
                        Some(Token::Word(target)) => {
                            command.redirects.push(Redirect { op, fd: *fd, target: target.clone() })
                        }
                        _ => return Err(format!("syntax error near token '{op}'")),
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structure() {
        let line = parse("a 1 2>&1 | b < x && c || d ; e").expect("parses");
        assert_eq!(line.first.len(), 2);
        assert_eq!(line.first[0].redirects[0].fd, Some(2));
        assert_eq!(line.first[1].redirects[0].op, "<");
        assert_eq!(line.rest.iter().map(|r| r.0).collect::<Vec<_>>(), [Join::And, Join::Or, Join::Then]);
    }

    #[test]
    fn errors() {
        for text in ["", "| a", "a ;", "a && | b", "a > ", "a > | b"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
