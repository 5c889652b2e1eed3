//! The small language after a prefix: `-NEXT:`, `-COUNT-3{LITERAL}:` and the like.

use logos::{Lexer, Logos};

/// What a directive does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `CHECK` and `CHECK-COUNT`
    Plain,
    /// `CHECK-NEXT`
    Next,
    /// `CHECK-SAME`
    Same,
    /// `CHECK-NOT`
    Not,
    /// `CHECK-DAG`
    Dag,
    /// `CHECK-LABEL`
    Label,
    /// `CHECK-EMPTY`
    Empty,
    /// The end of the input, for what is to be checked before it.
    End,
}

/// A directive's kind with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directive {
    /// What it does.
    pub kind: Kind,
    /// How often its pattern must match; more than once only for [`Kind::Plain`].
    pub count: u32,
    /// Whether its pattern is taken as it stands.
    pub is_literal: bool,
}

impl Directive {
    /// A directive without modifiers.
    pub fn new(kind: Kind) -> Directive {
        Directive { kind, count: 1, is_literal: false }
    }

    /// Its name in messages.
    pub fn describe(&self, prefix: &str) -> String {
        let suffix = match self.kind {
            Kind::Plain if self.count > 1 => "-COUNT",
            Kind::Plain => "",
            Kind::Next => "-NEXT",
            Kind::Same => "-SAME",
            Kind::Not => "-NOT",
            Kind::Dag => "-DAG",
            Kind::Label => "-LABEL",
            Kind::Empty => "-EMPTY",
            Kind::End => return "implicit EOF".to_owned(),
        };
        format!("{prefix}{suffix}{}", if self.is_literal { "{LITERAL}" } else { "" })
    }

    /// Its name in the margin of the annotated input.
    pub fn abbreviation(&self) -> &'static str {
        match self.kind {
            Kind::Plain if self.count > 1 => "count",
            Kind::Plain => "check",
            Kind::Next => "next",
            Kind::Same => "same",
            Kind::Not => "not",
            Kind::Dag => "dag",
            Kind::Label => "label",
            Kind::Empty => "empty",
            Kind::End => "eof",
        }
    }
}

/// What stands after a prefix; places count from the end of the prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suffix {
    /// Nothing that makes it a directive.
    None,
    /// A directive, whose pattern starts at the place given.
    Directive(Directive, usize),
    /// An underscore where a hyphen is meant, in what would otherwise end at the place given.
    Misspelled(usize),
    /// `-NOT` with another suffix, which starts at the place given.
    BadNot(usize),
    /// A count that is none, found at the place given.
    BadCount(usize),
}

#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(utf8 = false)]
enum Token {
    #[token(":")]
    Colon,
    #[token("{")]
    Brace,
    #[token("-")]
    Hyphen,
    #[token("_")]
    Underscore,
    #[token("COUNT-")]
    Count,
    #[token("NEXT")]
    Next,
    #[token("SAME")]
    Same,
    #[token("NOT")]
    Not,
    #[token("DAG")]
    Dag,
    #[token("LABEL")]
    Label,
    #[token("EMPTY")]
    Empty,
    #[token("DAG-NOT:")]
    #[token("NOT-DAG:")]
    #[token("NEXT-NOT:")]
    #[token("NOT-NEXT:")]
    #[token("SAME-NOT:")]
    #[token("NOT-SAME:")]
    #[token("EMPTY-NOT:")]
    #[token("NOT-EMPTY:")]
    NotCombined,
}

#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(utf8 = false)]
#[logos(skip r"[ \t\n\x0b\x0c\r]+")]
enum Modifier {
    #[token("LITERAL")]
    Literal,
    #[token(",")]
    Comma,
    #[token("}:")]
    End,
}

/// Reads the suffix that stands at the start of `rest`.
pub fn suffix(rest: &[u8]) -> Suffix {
    let mut lexer = Token::lexer(rest);
    let is_misspelled = match lexer.next() {
        Some(Ok(Token::Colon)) => return Suffix::Directive(Directive::new(Kind::Plain), lexer.span().end),
        Some(Ok(Token::Brace)) => return modifiers(lexer, Directive::new(Kind::Plain)),
        Some(Ok(Token::Hyphen)) => false,
        Some(Ok(Token::Underscore)) => true,
        _ => return Suffix::None,
    };
    let found = after_hyphen(lexer);
    match found {
        Suffix::None => found,
        Suffix::Directive(_, end) | Suffix::BadNot(end) | Suffix::BadCount(end) if is_misspelled => {
            Suffix::Misspelled(end)
        }
        _ => found,
    }
}

fn after_hyphen(mut lexer: Lexer<'_, Token>) -> Suffix {
    let kind = match lexer.next() {
        Some(Ok(Token::Count)) => return count(lexer),
        Some(Ok(Token::NotCombined)) => return Suffix::BadNot(lexer.span().start),
        Some(Ok(Token::Next)) => Kind::Next,
        Some(Ok(Token::Same)) => Kind::Same,
        Some(Ok(Token::Not)) => Kind::Not,
        Some(Ok(Token::Dag)) => Kind::Dag,
        Some(Ok(Token::Label)) => Kind::Label,
        Some(Ok(Token::Empty)) => Kind::Empty,
        _ => return Suffix::None,
    };
    colon_or_modifiers(lexer, Directive::new(kind))
}

fn colon_or_modifiers(mut lexer: Lexer<'_, Token>, directive: Directive) -> Suffix {
    match lexer.next() {
        Some(Ok(Token::Colon)) => Suffix::Directive(directive, lexer.span().end),
        Some(Ok(Token::Brace)) => modifiers(lexer, directive),
        _ => Suffix::None,
    }
}

fn count(mut lexer: Lexer<'_, Token>) -> Suffix {
    let start = lexer.span().end;
    let rest = lexer.remainder();
    let sign = usize::from(rest.first() == Some(&b'-'));
    let digits = rest[sign..].iter().take_while(|b| b.is_ascii_digit()).count();
    let text = std::str::from_utf8(&rest[..sign + digits]).unwrap_or_default();
    let Ok(count) = text.parse::<i64>() else { return Suffix::BadCount(start) };
    let end = start + sign + digits;
    match (u32::try_from(count).ok().filter(|&count| count > 0 && count <= i32::MAX as u32), rest.get(sign + digits)) {
        (Some(count), Some(b':' | b'{')) => {
            lexer.bump(sign + digits);
            colon_or_modifiers(lexer, Directive { count, ..Directive::new(Kind::Plain) })
        }
        _ => Suffix::BadCount(end),
    }
}

/// Reads what follows the opening brace.
fn modifiers(lexer: Lexer<'_, Token>, directive: Directive) -> Suffix {
    let start = lexer.span().end;
    let mut lexer = Modifier::lexer(lexer.remainder());
    loop {
        if lexer.next() != Some(Ok(Modifier::Literal)) {
            return Suffix::None;
        }
        match lexer.next() {
            Some(Ok(Modifier::Comma)) => {}
            Some(Ok(Modifier::End)) => {
                return Suffix::Directive(Directive { is_literal: true, ..directive }, start + lexer.span().end);
            }
            _ => return Suffix::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_told_apart() {
        let plain = |kind| Directive::new(kind);
        let literal = Directive { is_literal: true, ..plain(Kind::Next) };
        for (text, expected) in [
            (": x", Suffix::Directive(plain(Kind::Plain), 1)),
            ("-NEXT: x", Suffix::Directive(plain(Kind::Next), 6)),
            ("-NEXT{LITERAL}: x", Suffix::Directive(literal, 15)),
            ("-NEXT{ LITERAL , LITERAL }: x", Suffix::Directive(literal, 27)),
            ("-NEXT{}: x", Suffix::None),
            ("-NEXT x", Suffix::None),
            ("-COUNT-12: x", Suffix::Directive(Directive { count: 12, ..plain(Kind::Plain) }, 10)),
            ("-COUNT-0: x", Suffix::BadCount(8)),
            ("-COUNT--1: x", Suffix::BadCount(9)),
            ("-COUNT-x: x", Suffix::BadCount(7)),
            ("-COUNT-2", Suffix::BadCount(8)),
            ("-DAG-NOT: x", Suffix::BadNot(1)),
            ("_NEXT: x", Suffix::Misspelled(6)),
            ("_NEXT x", Suffix::None),
            ("-EMPTY:", Suffix::Directive(plain(Kind::Empty), 7)),
            ("", Suffix::None),
            ("1:", Suffix::None),
        ] {
            assert_eq!(suffix(text.as_bytes()), expected, "{text:?}");
        }
    }
}
