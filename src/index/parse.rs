//! From text to expressions. This project's spelling and sympy's are read alike, mixed or not.
//!
//! ```text
//! sum     = product (("+" | "-") product)*
//! product = unary (("*" | "/" | "//" | "%" | "floordiv" | "ceildiv" | "mod") unary)*
//! unary   = ("-" | "+")* power
//! power   = primary ("**" unary)?
//! primary = integer | name | "(" sum ")" | function "(" sum ("," sum)* ")"
//! ```
//!
//! An exact division (`s0/2`, `IntTrueDiv(s0, 2)`) has to become an integer again, by `floor`, `ceiling`,
//! `FloorToInt` or `CeilToInt` around it or because the divisor divides. A divisor may be 0, as passes over empty
//! tensors may write one; such an expression has no value.

use std::ops::Range as Span;

use logos::Logos;

use crate::construct::gcd;
use crate::expr::{Expr, Exprs};
use crate::lexer::Token;

/// How deep parentheses, calls and powers may nest.
pub const MAX_DEPTH: usize = 64;

/// How many words one expression may have. Canonical forms take quadratic time at worst, so this bounds the time
/// that a byte of text can cost.
const MAX_TOKENS: usize = 4096;

/// Up to so many words, an expression is within the limits in its canonical form too.
const SURELY_SMALL: usize = 64;

/// Why a text is not an expression.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ParseError {
    /// The bytes of the text that are at fault.
    pub span: Span<usize>,
    /// One sentence without a final stop.
    pub message: String,
}

type Result<T> = std::result::Result<T, ParseError>;

impl Exprs {
    /// The expression that `text` spells: `d0`, `d1`, … are dimensions, all other names symbols.
    pub fn parse(&mut self, text: &str) -> Result<Expr> {
        self.parse_with(text, |ex, name| {
            if let Some(d) = name.strip_prefix('d')
                && !d.is_empty()
                && d.bytes().all(|b| b.is_ascii_digit())
                && let Ok(d) = d.parse()
            {
                return Some(ex.dim(d));
            }
            (!name.starts_with('%')).then(|| ex.sym(name))
        })
    }

    /// The expression that `text` spells, where `name` says what each name (`s0`, `%i`) means; `None` is an error.
    pub fn parse_with(&mut self, text: &str, mut name: impl FnMut(&mut Exprs, &str) -> Option<Expr>) -> Result<Expr> {
        let mut tokens = Vec::new();
        for (token, span) in Token::lexer(text).spanned() {
            let Ok(token) = token else {
                let shown = text.get(span.clone()).unwrap_or("this");
                return Err(error(span, format!("'{shown}' does not belong in an index expression")));
            };
            if tokens.len() == MAX_TOKENS {
                return Err(error(span, format!("an index expression has at most {MAX_TOKENS} words")));
            }
            tokens.push((token, span));
        }
        let mut parser = Parser { ex: self, text, tokens, next: 0, depth: 0, name: &mut name };
        let start = 0;
        let value = parser.sum()?;
        if let Some((_, span)) = parser.tokens.get(parser.next) {
            return Err(error(span.clone(), format!("expected an operator, found '{}'", &text[span.clone()])));
        }
        let words = parser.tokens.len();
        let e = parser.integer(value, start)?;
        if words > SURELY_SMALL && !self.is_readable(e) {
            let message = format!("in canonical form this has over {MAX_TOKENS} words or nests over {MAX_DEPTH} deep");
            return Err(error(0..text.len(), message));
        }
        Ok(e)
    }

    /// Whether the text of `e` is within the limits of the parser.
    fn is_readable(&self, e: Expr) -> bool {
        let shown = self.display(e);
        let (mut words, mut depth, mut deepest) = (0, 1, 1);
        for token in Token::lexer(&shown) {
            words += 1;
            match token {
                Ok(Token::Open) => depth += 1,
                Ok(Token::Close) => depth -= 1,
                _ => {}
            }
            deepest = deepest.max(depth);
        }
        words <= MAX_TOKENS && deepest < MAX_DEPTH
    }
}

fn error(span: Span<usize>, message: impl Into<String>) -> ParseError {
    ParseError { span, message: message.into() }
}

/// A value while it is read: a quotient of two expressions, the divisor 1 where it is `None`.
#[derive(Clone, Copy)]
struct Ratio {
    over: Expr,
    under: Option<Expr>,
}

impl From<Expr> for Ratio {
    fn from(over: Expr) -> Ratio {
        Ratio { over, under: None }
    }
}

type Names<'a> = &'a mut dyn FnMut(&mut Exprs, &str) -> Option<Expr>;

struct Parser<'a> {
    ex: &'a mut Exprs,
    text: &'a str,
    tokens: Vec<(Token, Span<usize>)>,
    next: usize,
    depth: usize,
    name: Names<'a>,
}

/// An operator of a product.
#[derive(Clone, Copy, PartialEq)]
enum Operator {
    Times,
    Exact,
    Floor,
    Ceil,
    Mod,
}

impl Parser<'_> {
    fn peek(&self) -> Option<Token> {
        self.tokens.get(self.next).map(|t| t.0)
    }

    /// Where the next word starts, or where the text ends.
    fn here(&self) -> usize {
        self.tokens.get(self.next).map_or(self.text.len(), |t| t.1.start)
    }

    /// The bytes from `start` to the end of the last word taken.
    fn since(&self, start: usize) -> Span<usize> {
        let end = self.next.checked_sub(1).map_or(start, |last| self.tokens[last].1.end);
        start..end.max(start)
    }

    fn word(&self) -> &str {
        self.tokens.get(self.next).map_or("", |t| &self.text[t.1.clone()])
    }

    fn take(&mut self, token: Token) -> bool {
        let found = self.peek() == Some(token);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, token: Token, what: &str) -> Result<()> {
        if self.take(token) {
            return Ok(());
        }
        Err(self.expected(what))
    }

    fn expected(&self, what: &str) -> ParseError {
        match self.tokens.get(self.next) {
            Some((_, span)) => error(span.clone(), format!("expected {what}, found '{}'", self.word())),
            None => error(self.text.len()..self.text.len(), format!("expected {what}, found the end")),
        }
    }

    fn enter(&mut self) -> Result<()> {
        if self.depth == MAX_DEPTH {
            let at = self.here();
            return Err(error(at..at, format!("index expressions nest at most {MAX_DEPTH} deep")));
        }
        self.depth += 1;
        Ok(())
    }

    fn sum(&mut self) -> Result<Ratio> {
        self.enter()?;
        let start = self.here();
        let first = self.product()?;
        let mut parts = vec![(1, first)];
        loop {
            let sign = match self.peek() {
                Some(Token::Plus) => 1,
                Some(Token::Minus) => -1,
                _ => break,
            };
            self.next += 1;
            parts.push((sign, self.product()?));
        }
        self.depth -= 1;
        if let [(1, only)] = parts[..] {
            return Ok(only);
        }
        self.add(&parts, start)
    }

    /// A sum of quotients. Only numbers are brought to a common divisor: anything else would be written twice.
    fn add(&mut self, parts: &[(i64, Ratio)], start: usize) -> Result<Ratio> {
        let mut under: Option<Expr> = None;
        let mut whole = false;
        for (_, r) in parts {
            match (under, r.under) {
                (_, None) => whole = true,
                (None, Some(u)) => under = Some(u),
                (Some(a), Some(b)) if a == b => {}
                (Some(a), Some(b)) => {
                    let common = self.ex.as_int(a).zip(self.ex.as_int(b)).and_then(|(a, b)| {
                        let g = i64::try_from(gcd(a.unsigned_abs(), b.unsigned_abs())).ok()?;
                        (a / g).checked_mul(b)
                    });
                    let Some(common) = common else {
                        return Err(error(self.since(start), "a sum of quotients with different divisors"));
                    };
                    under = Some(self.ex.int(common));
                }
            }
        }
        let mut scaled = Vec::with_capacity(parts.len());
        for &(sign, r) in parts {
            let factor = match (under, r.under) {
                (a, b) if a == b => 1,
                (Some(a), None) => self.ex.as_int(a).unwrap_or(0),
                (Some(a), Some(b)) => self.ex.as_int(a).zip(self.ex.as_int(b)).map_or(0, |(a, b)| a / b),
                (None, _) => 0,
            };
            if factor == 0 {
                let why =
                    if whole { "a quotient by an expression is added to an integer" } else { "a quotient overflows" };
                return Err(error(self.since(start), why));
            }
            let over = self.ex.scale(r.over, factor);
            scaled.push((sign, over));
        }
        Ok(Ratio { over: self.ex.linear_sum(&scaled, 0), under })
    }

    /// The operator that stands next, if one of a product does.
    fn operator(&mut self) -> Option<Operator> {
        let op = match self.peek()? {
            Token::Star => Operator::Times,
            Token::Slash => Operator::Exact,
            Token::Floor => Operator::Floor,
            Token::Percent => Operator::Mod,
            Token::Word => match self.word() {
                "floordiv" => Operator::Floor,
                "ceildiv" => Operator::Ceil,
                "mod" => Operator::Mod,
                _ => return None,
            },
            Token::Value => {
                // `a%b`: the remainder, and `b` is read next.
                let span = &mut self.tokens[self.next].1;
                span.start += 1;
                let rest = &self.text[span.clone()];
                let mut lexer = Token::lexer(rest);
                let (first, whole) = (lexer.next(), lexer.span().len() == rest.len());
                match first {
                    Some(Ok(token)) if whole => self.tokens[self.next].0 = token,
                    _ => {
                        self.tokens[self.next].1.start -= 1;
                        return None;
                    }
                }
                return Some(Operator::Mod);
            }
            _ => return None,
        };
        self.next += 1;
        Some(op)
    }

    fn product(&mut self) -> Result<Ratio> {
        let start = self.here();
        // The sign of the first factor is the product's, as it is printed: negating the factor might overflow.
        let (mut negative, first) = self.signed()?;
        let mut over = vec![first.over];
        let mut under: Vec<Expr> = first.under.into_iter().collect();
        while let Some(op) = self.operator() {
            let right_start = self.here();
            let right = self.unary()?;
            if op == Operator::Times {
                over.push(right.over);
                under.extend(right.under);
                continue;
            }
            if op == Operator::Exact {
                under.push(right.over);
                over.extend(right.under);
                continue;
            }
            let right = self.integer(right, right_start)?;
            let left = self.signed_product(&over, negative);
            negative = false;
            let value = match op {
                Operator::Mod => {
                    let left = self.ratio(left, &under);
                    let left = self.integer(left, start)?;
                    self.ex.modulo(left, right)
                }
                _ => {
                    under.push(right);
                    let right = self.ex.product(&under);
                    if op == Operator::Ceil { self.ex.ceildiv(left, right) } else { self.ex.floordiv(left, right) }
                }
            };
            over = vec![value];
            under.clear();
        }
        let over = self.signed_product(&over, negative);
        Ok(self.ratio(over, &under))
    }

    fn signed_product(&mut self, factors: &[Expr], negative: bool) -> Expr {
        let product = self.ex.product(factors);
        if negative { self.ex.neg(product) } else { product }
    }

    fn ratio(&mut self, over: Expr, under: &[Expr]) -> Ratio {
        if under.is_empty() {
            return over.into();
        }
        Ratio { over, under: Some(self.ex.product(under)) }
    }

    /// The value as an integer expression.
    fn integer(&mut self, r: Ratio, start: usize) -> Result<Expr> {
        let Some(under) = r.under else { return Ok(r.over) };
        let rest = self.ex.modulo(r.over, under);
        if self.ex.as_int(rest) == Some(0) {
            return Ok(self.ex.floordiv(r.over, under));
        }
        Err(error(self.since(start), "a quotient that may not be an integer: write floordiv, floor or CeilToInt"))
    }

    fn unary(&mut self) -> Result<Ratio> {
        let (negative, value) = self.signed()?;
        if !negative {
            return Ok(value);
        }
        Ok(Ratio { over: self.ex.neg(value.over), under: value.under })
    }

    /// Signs and a power, and whether the signs leave a minus.
    fn signed(&mut self) -> Result<(bool, Ratio)> {
        let mut negative = false;
        loop {
            match self.peek() {
                Some(Token::Minus) => negative = !negative,
                Some(Token::Plus) => {}
                _ => break,
            }
            self.next += 1;
        }
        // The least i64 is read with its sign, since its digits alone are out of range.
        if negative && self.word() == "9223372036854775808" {
            self.next += 1;
            return Ok((false, self.ex.int(i64::MIN).into()));
        }
        Ok((negative, self.power()?))
    }

    fn power(&mut self) -> Result<Ratio> {
        let start = self.here();
        let base = self.primary()?;
        if !self.take(Token::Power) {
            return Ok(base);
        }
        self.enter()?;
        let exponent_start = self.here();
        let exponent = self.unary()?;
        let exponent = self.integer(exponent, exponent_start)?;
        self.depth -= 1;
        let base = self.integer(base, start)?;
        self.raise(base, exponent, exponent_start)
    }

    fn raise(&mut self, base: Expr, exponent: Expr, start: usize) -> Result<Ratio> {
        match self.ex.as_int(exponent).map(u32::try_from) {
            Some(Ok(n)) => Ok(self.ex.pow(base, n).into()),
            _ => Err(error(self.since(start), "an exponent has to be a number from 0 to 4294967295")),
        }
    }

    fn primary(&mut self) -> Result<Ratio> {
        let start = self.here();
        match self.peek() {
            Some(Token::Int) => {
                let Ok(value) = self.word().parse::<i64>() else {
                    return Err(error(self.tokens[self.next].1.clone(), "an integer is out of range"));
                };
                self.next += 1;
                Ok(self.ex.int(value).into())
            }
            Some(Token::Open) => {
                self.next += 1;
                let value = self.sum()?;
                self.expect(Token::Close, "')'")?;
                Ok(value)
            }
            Some(token @ (Token::Word | Token::Value)) => {
                let span = self.tokens[self.next].1.clone();
                let text = self.text;
                let name = &text[span.clone()];
                self.next += 1;
                if token == Token::Word && self.take(Token::Open) {
                    let mut args = Vec::new();
                    loop {
                        args.push(self.sum()?);
                        if !self.take(Token::Comma) {
                            break;
                        }
                    }
                    self.expect(Token::Close, "',' or ')'")?;
                    return self.call(name, span, &args, start);
                }
                match (self.name)(self.ex, name) {
                    Some(e) => Ok(e.into()),
                    None => Err(error(span, format!("nothing here is named '{name}'"))),
                }
            }
            _ => Err(self.expected("an index expression")),
        }
    }

    fn call(&mut self, name: &str, span: Span<usize>, args: &[Ratio], start: usize) -> Result<Ratio> {
        match (name, args) {
            ("floor" | "FloorToInt", [r]) => {
                return Ok(r.under.map_or(r.over, |u| self.ex.floordiv(r.over, u)).into());
            }
            ("ceiling" | "CeilToInt", [r]) => {
                return Ok(r.under.map_or(r.over, |u| self.ex.ceildiv(r.over, u)).into());
            }
            ("Identity", [r]) => return Ok(*r),
            _ => {}
        }
        let mut whole = Vec::with_capacity(args.len());
        for &r in args {
            whole.push(self.integer(r, start)?);
        }
        let value = match (name, &whole[..]) {
            ("max" | "Max", args) => self.ex.max(args),
            ("min" | "Min", args) => self.ex.min(args),
            ("FloorDiv" | "CleanDiv", &[a, b]) => self.ex.floordiv(a, b),
            ("CeilDiv", &[a, b]) => self.ex.ceildiv(a, b),
            ("Mod" | "PythonMod", &[a, b]) => self.ex.modulo(a, b),
            ("ModularIndexing", &[a, b, c]) => {
                let q = self.ex.floordiv(a, b);
                self.ex.modulo(q, c)
            }
            ("IntTrueDiv", &[over, under]) => return Ok(Ratio { over, under: Some(under) }),
            ("Pow" | "PowByNatural", &[a, b]) => return self.raise(a, b, start),
            ("floor" | "FloorToInt" | "ceiling" | "CeilToInt" | "Identity", _) => return Err(arguments(span, name, 1)),
            ("ModularIndexing", _) => return Err(arguments(span, name, 3)),
            ("FloorDiv" | "CleanDiv" | "CeilDiv" | "Mod" | "PythonMod" | "IntTrueDiv" | "Pow" | "PowByNatural", _) => {
                return Err(arguments(span, name, 2));
            }
            _ => return Err(error(span, format!("'{name}' is not a function of index expressions"))),
        };
        Ok(value.into())
    }
}

fn arguments(span: Span<usize>, name: &str, wanted: usize) -> ParseError {
    error(span, format!("'{name}' takes {wanted} argument{}", if wanted == 1 { "" } else { "s" }))
}
