//! The language of `// run:` lines: what to call, with which arguments, and what must come out.
//!
//! ```text
//! // run: @forward(seed 7) ~= interp
//! // run: @forward(seed 7 in [0, 2], %index = [0, -1], s0 = 5) ~= interp with rtol 1e-3, atol 1e-6 at loops, kernels
//! // run: @clamp([-1.5, nan, 2.0]) == [0.0, nan, 1.0]
//! // run: @two("x.npy", 3.0) ~= [1.0], [[2, 3]]
//! // run: @pick([9]) fails "out of range"
//! ```

use logos::{Lexer, Logos};

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct RunLine {
    /// The function, without `@`.
    pub function: String,
    /// Arguments, by position among those that are given so, or by name (without `%`).
    pub arguments: Vec<(Option<String>, Value)>,
    /// Where the arguments come from that are not given.
    pub seed: Option<Seed>,
    /// Values of symbols.
    pub symbols: Vec<(String, i64)>,
    /// What must come out.
    pub expected: Expected,
    /// Relative tolerance, where it is not that of the type.
    pub rtol: Option<f64>,
    /// Absolute tolerance, where it is not that of the type.
    pub atol: Option<f64>,
    /// Where to run it; None for everywhere.
    pub at: Option<Vec<String>>,
}

/// Generated arguments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seed {
    /// The seed.
    pub seed: u64,
    /// The range of the numbers, where it is not that of the type.
    pub range: Option<(f64, f64)>,
}

/// What must come out of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// What the reference interpreter gives for the file as it is read. With `true`, bit for bit.
    Interpreter(bool),
    /// These results. With `true`, bit for bit (any NaN is a NaN).
    Values(Vec<Value>, bool),
    /// An error with this text in it.
    Failure(String),
}

/// A tensor as it is written.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Numbers in brackets, or one number.
    Literal(Literal),
    /// A `.npy` file, relative to the file with the line.
    File(String),
}

/// Numbers in brackets.
#[derive(Clone, Debug, PartialEq)]
pub struct Literal {
    /// The sizes. One number has none.
    pub sizes: Vec<usize>,
    /// The elements in row-major order.
    pub numbers: Vec<Number>,
}

/// One number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Written without a point; `true` and `false` are 1 and 0.
    Int(i64),
    /// Written with a point or an exponent, and `inf`, `nan`.
    Float(f64),
}

/// Most lists in each other: more than any tensor has axes.
const MOST_LISTS: usize = 64;

/// What is wrong, and the byte of the line's text that it is at.
pub type Wrong = (usize, String);

#[derive(Logos, Clone, Copy, Debug, PartialEq)]
#[logos(skip r"[ \t\r]+")]
enum Token {
    #[regex(r"@[A-Za-z0-9_$.]+")]
    Function,
    #[regex(r"%[A-Za-z0-9_$.]+")]
    Argument,
    #[regex(r"[-+]?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?")]
    #[regex(r"[-+](inf|nan)")]
    Number,
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*")]
    Word,
    #[regex(r#""[^"]*""#)]
    Text,
    #[token("(")]
    Open,
    #[token(")")]
    Close,
    #[token("[")]
    OpenList,
    #[token("]")]
    CloseList,
    #[token(",")]
    Comma,
    #[token("=")]
    Equals,
    #[token("~=")]
    Near,
    #[token("==")]
    Same,
}

/// Reads what stands after `run:`.
///
/// # Errors
/// What is wrong first.
pub fn parse(text: &str) -> Result<RunLine, Wrong> {
    let mut p = Parser { tokens: Token::lexer(text), text, next: None, at: 0 };
    p.advance()?;
    p.line()
}

struct Parser<'s> {
    tokens: Lexer<'s, Token>,
    text: &'s str,
    next: Option<Token>,
    at: usize,
}

impl<'s> Parser<'s> {
    fn advance(&mut self) -> Result<(), Wrong> {
        self.next = match self.tokens.next() {
            Some(Err(())) => {
                return Err((self.tokens.span().start, format!("'{}' is no part of a run line", self.tokens.slice())));
            }
            Some(Ok(token)) => Some(token),
            None => None,
        };
        self.at = if self.next.is_some() { self.tokens.span().start } else { self.text.trim_end().len() };
        Ok(())
    }

    fn slice(&self) -> &'s str {
        if self.next.is_some() { self.tokens.slice() } else { "" }
    }

    fn wrong<T>(&self, wanted: &str) -> Result<T, Wrong> {
        let found = if self.next.is_some() { format!("'{}'", self.slice()) } else { "the end of the line".to_string() };
        Err((self.at, format!("{wanted} is wanted, {found} was found")))
    }

    fn take(&mut self, token: Token, wanted: &str) -> Result<&'s str, Wrong> {
        if self.next != Some(token) {
            return self.wrong(wanted);
        }
        let slice = self.slice();
        self.advance()?;
        Ok(slice)
    }

    fn takes(&mut self, token: Token) -> Result<bool, Wrong> {
        let there = self.next == Some(token);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    fn takes_word(&mut self, word: &str) -> Result<bool, Wrong> {
        let there = self.next == Some(Token::Word) && self.slice() == word;
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    fn line(&mut self) -> Result<RunLine, Wrong> {
        let function = self.take(Token::Function, "a function, like @forward,")?[1..].to_string();
        let mut line = RunLine {
            function,
            arguments: Vec::new(),
            seed: None,
            symbols: Vec::new(),
            expected: Expected::Interpreter(false),
            rtol: None,
            atol: None,
            at: None,
        };
        self.take(Token::Open, "'('")?;
        if !self.takes(Token::Close)? {
            loop {
                self.argument(&mut line)?;
                if !self.takes(Token::Comma)? {
                    break;
                }
            }
            self.take(Token::Close, "',' or ')'")?;
        }
        line.expected = self.expected()?;
        loop {
            if self.takes_word("with")? {
                loop {
                    let tolerance = match self.slice() {
                        "rtol" => &mut line.rtol,
                        "atol" => &mut line.atol,
                        _ => return self.wrong("rtol or atol"),
                    };
                    let name = self.slice();
                    self.advance()?;
                    let at = self.at;
                    let number = self.float()?;
                    if !(number.is_finite() && number >= 0.0) {
                        return Err((at, "a tolerance is a number from 0".to_string()));
                    }
                    if tolerance.replace(number).is_some() {
                        return Err((at, format!("there are two values of {name}")));
                    }
                    if !self.takes(Token::Comma)? {
                        break;
                    }
                }
            } else if line.at.is_none() && self.takes_word("at")? {
                let mut names = vec![self.take(Token::Word, "the name of a level")?.to_string()];
                while self.takes(Token::Comma)? {
                    names.push(self.take(Token::Word, "the name of a level")?.to_string());
                }
                line.at = Some(names);
            } else if self.next.is_none() {
                return Ok(line);
            } else {
                return self.wrong("'with', 'at' or the end of the line");
            }
        }
    }

    fn argument(&mut self, line: &mut RunLine) -> Result<(), Wrong> {
        match (self.next, self.slice()) {
            (Some(Token::Word), "seed") => {
                let at = self.at;
                self.advance()?;
                let seed = self.take(Token::Number, "a number")?;
                let seed = seed.parse().map_err(|_| (at, format!("'{seed}' is no seed")))?;
                let range = if self.takes_word("in")? {
                    let at = self.at;
                    self.take(Token::OpenList, "'['")?;
                    let low = self.float()?;
                    self.take(Token::Comma, "','")?;
                    let range = (low, self.float()?);
                    self.take(Token::CloseList, "']'")?;
                    if !(range.0.is_finite() && range.1.is_finite() && range.0 <= range.1) {
                        return Err((at, "a range goes from its least to its greatest number".to_string()));
                    }
                    Some(range)
                } else {
                    None
                };
                if line.seed.replace(Seed { seed, range }).is_some() {
                    return Err((at, "there are two seeds".to_string()));
                }
            }
            (Some(Token::Argument), name) => {
                if line.arguments.iter().any(|(other, _)| other.as_deref() == Some(&name[1..])) {
                    return Err((self.at, format!("there are two values for {name}")));
                }
                self.advance()?;
                self.take(Token::Equals, "'='")?;
                line.arguments.push((Some(name[1..].to_string()), self.value()?));
            }
            (Some(Token::Word), name) if !["inf", "nan", "true", "false"].contains(&name) => {
                if line.symbols.iter().any(|(other, _)| other == name) {
                    return Err((self.at, format!("there are two values for {name}")));
                }
                self.advance()?;
                self.take(Token::Equals, "'='")?;
                match self.number()? {
                    Number::Int(n) => line.symbols.push((name.to_string(), n)),
                    Number::Float(_) => return self.wrong("a whole number"),
                }
            }
            _ => line.arguments.push((None, self.value()?)),
        }
        Ok(())
    }

    fn expected(&mut self) -> Result<Expected, Wrong> {
        if self.takes_word("fails")? {
            let at = self.at;
            let text = self.take(Token::Text, "a text in quotes")?.trim_matches('"');
            if text.is_empty() {
                return Err((at, "some text of the error is wanted".to_string()));
            }
            return Ok(Expected::Failure(text.to_string()));
        }
        let exact = match self.next {
            Some(Token::Near) => false,
            Some(Token::Same) => true,
            _ => return self.wrong("'~=', '==' or 'fails'"),
        };
        self.advance()?;
        if self.takes_word("interp")? {
            return Ok(Expected::Interpreter(exact));
        }
        let mut values = vec![self.value()?];
        while self.takes(Token::Comma)? {
            values.push(self.value()?);
        }
        Ok(Expected::Values(values, exact))
    }

    fn value(&mut self) -> Result<Value, Wrong> {
        if self.next == Some(Token::Text) {
            return Ok(Value::File(self.take(Token::Text, "a file")?.trim_matches('"').to_string()));
        }
        if self.next != Some(Token::OpenList) {
            let number = self.number()?;
            return Ok(Value::Literal(Literal { sizes: Vec::new(), numbers: vec![number] }));
        }
        let mut literal = Literal { sizes: Vec::new(), numbers: Vec::new() };
        // How many items the open lists have so far, the outermost first.
        let mut open: Vec<usize> = Vec::new();
        // Whether an item comes next, and how many lists are around a number.
        let mut item = true;
        let mut leaf = None;
        loop {
            if item && self.next == Some(Token::OpenList) {
                if leaf.is_some_and(|depth| open.len() >= depth) {
                    return self.wrong("a number");
                }
                if open.len() == MOST_LISTS {
                    return Err((self.at, format!("there are more than {MOST_LISTS} lists in each other")));
                }
                self.advance()?;
                open.push(0);
                continue;
            }
            let empty = open.last() == Some(&0);
            if (!item || empty) && self.next == Some(Token::CloseList) {
                let at = self.at;
                self.advance()?;
                let (depth, size) = (open.len() - 1, open.pop().unwrap_or(0));
                // The first list to end at a depth says the size; those inside of it have ended before it.
                match literal.sizes.get(depth) {
                    None => {
                        literal.sizes.resize(depth + 1, usize::MAX);
                        literal.sizes[depth] = size;
                    }
                    Some(&usize::MAX) => literal.sizes[depth] = size,
                    Some(&known) if known != size => {
                        return Err((at, format!("this list has {size} items, another of its depth {known}")));
                    }
                    Some(_) => {}
                }
                let Some(outer) = open.last_mut() else { break };
                *outer += 1;
                item = false;
            } else if !item && self.next == Some(Token::Comma) {
                self.advance()?;
                item = true;
                continue;
            } else if item {
                if literal.sizes.len() > open.len() {
                    return self.wrong("a list");
                }
                let number = self.number()?;
                literal.numbers.push(number);
                leaf = Some(open.len());
                if let Some(count) = open.last_mut() {
                    *count += 1;
                }
                item = false;
            } else {
                return self.wrong("',' or ']'");
            }
        }
        Ok(Value::Literal(literal))
    }

    fn number(&mut self) -> Result<Number, Wrong> {
        let (at, slice) = (self.at, self.slice());
        let number = match (self.next, slice) {
            (Some(Token::Word), "true") => Number::Int(1),
            (Some(Token::Word), "false") => Number::Int(0),
            (Some(Token::Word), "inf" | "nan") | (Some(Token::Number), _) => match slice.parse() {
                Ok(n) => Number::Int(n),
                Err(_) => match slice.parse::<f64>() {
                    Ok(x) if x.is_infinite() && !slice.ends_with("inf") => {
                        return Err((at, format!("{slice} is not in the range of f64")));
                    }
                    Ok(x) => Number::Float(x),
                    Err(_) => return Err((at, format!("'{slice}' is no number"))),
                },
            },
            _ => return self.wrong("a number"),
        };
        self.advance()?;
        Ok(number)
    }

    fn float(&mut self) -> Result<f64, Wrong> {
        Ok(match self.number()? {
            Number::Int(n) => n as f64,
            Number::Float(x) => x,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(sizes: &[usize], numbers: &[Number]) -> Value {
        Value::Literal(Literal { sizes: sizes.to_vec(), numbers: numbers.to_vec() })
    }

    #[test]
    fn all_parts_are_read() {
        let line = parse(
            r#" @f.g(seed 7 in [0, 2.5], %i = [0, -1], s0 = 5, "a.npy") ~= interp with rtol 1e-3, atol 0 at loops, llvm"#,
        );
        let line = line.unwrap();
        assert_eq!((line.function.as_str(), line.symbols.as_slice()), ("f.g", [("s0".to_string(), 5)].as_slice()));
        assert_eq!(line.seed, Some(Seed { seed: 7, range: Some((0.0, 2.5)) }));
        assert_eq!(
            line.arguments,
            [
                (Some("i".to_string()), literal(&[2], &[Number::Int(0), Number::Int(-1)])),
                (None, Value::File("a.npy".to_string())),
            ]
        );
        assert_eq!((line.expected, line.rtol, line.atol), (Expected::Interpreter(false), Some(1e-3), Some(0.0)));
        assert_eq!(line.at, Some(vec!["loops".to_string(), "llvm".to_string()]));
    }

    #[test]
    fn literals_have_sizes() {
        for (text, sizes, count) in [
            ("1.5", vec![], 1),
            ("[]", vec![0], 0),
            ("[[], []]", vec![2, 0], 0),
            ("[[1, 2, 3], [4, 5, 6]]", vec![2, 3], 6),
            ("[[[true]]]", vec![1, 1, 1], 1),
        ] {
            let line = parse(&format!("@f() == {text}")).unwrap();
            let Expected::Values(values, true) = line.expected else { panic!("{text}") };
            let [Value::Literal(l)] = &values[..] else { panic!("{text}") };
            assert_eq!((&l.sizes, l.numbers.len()), (&sizes, count), "{text}");
        }
        let special = parse("@f() ~= [nan, -inf, -0.0, 9223372036854775807]").unwrap();
        let Expected::Values(values, false) = special.expected else { panic!() };
        let [Value::Literal(l)] = &values[..] else { panic!() };
        let [Number::Float(a), Number::Float(b), Number::Float(c), Number::Int(d)] = l.numbers[..] else { panic!() };
        assert!(a.is_nan() && b == f64::NEG_INFINITY && c == 0.0 && c.is_sign_negative() && d == i64::MAX);
    }

    #[test]
    fn errors_say_where() {
        for (text, at, message) in [
            ("f()", 0, "a function, like @forward, is wanted, 'f' was found"),
            ("@f(seed)", 7, "a number is wanted, ')' was found"),
            ("@f()", 4, "'~=', '==' or 'fails' is wanted, the end of the line was found"),
            ("@f() ~= [1, [2]]", 12, "a number is wanted, '[' was found"),
            ("@f() ~= [[1], 2]", 14, "a list is wanted, '2' was found"),
            ("@f() ~= [[1], [2, 3]]", 19, "this list has 2 items, another of its depth 1"),
            ("@f() ~= [1 2]", 11, "',' or ']' is wanted, '2' was found"),
            ("@f() ~= [1,]", 11, "a number is wanted, ']' was found"),
            ("@f() ~= interp always", 15, "'with', 'at' or the end of the line is wanted, 'always' was found"),
            ("@f(seed 1, seed 2) ~= interp", 11, "there are two seeds"),
            ("@f(;) ~= interp", 3, "';' is no part of a run line"),
            ("@f(seed 1 in [2, 1]) ~= interp", 13, "a range goes from its least to its greatest number"),
            ("@f(seed 1 in [0, inf]) ~= interp", 13, "a range goes from its least to its greatest number"),
            ("@f(%x = 1, %x = 2) ~= interp", 11, "there are two values for %x"),
            ("@f(s0 = 1, s0 = 2) ~= interp", 11, "there are two values for s0"),
            ("@f(1e999) ~= interp", 3, "1e999 is not in the range of f64"),
            ("@f() fails \"\"", 11, "some text of the error is wanted"),
            ("@f() ~= interp with rtol -1", 25, "a tolerance is a number from 0"),
            ("@f() ~= interp with atol inf", 25, "a tolerance is a number from 0"),
            ("@f() ~= interp with rtol nan", 25, "a tolerance is a number from 0"),
            ("@f() ~= interp with rtol 1, rtol 2", 33, "there are two values of rtol"),
            ("@f() ~= interp at llvm at loops", 23, "'with', 'at' or the end of the line is wanted, 'at' was found"),
            (&format!("@f({}", "[".repeat(100_000)), 67, "there are more than 64 lists in each other"),
        ] {
            assert_eq!(parse(text), Err((at, message.to_string())), "{text}");
        }
    }
}
