//! The usual look of a piece of the structure, found by one walk over its bytes.
//!
//! The grammar says what is IR; this only spares the work of matching it where an op in generic form or the end of a region stands as the
//! printer writes it. What looks in any way different gives None, and the grammar reads it. A test holds the two against each other.

use super::structure::Head;
use smallvec::SmallVec;

/// What was found, and where it ends.
pub struct Scanned<'a> {
    pub piece: Piece<'a>,
    pub end: usize,
}

/// A piece of the structure.
pub enum Piece<'a> {
    /// An op in generic form without regions.
    Op(Head<'a>, Tail<'a>),
    /// What stands before the first region of an op, with its `({`.
    Start(Head<'a>),
    /// `})` with what follows the regions.
    End(Tail<'a>),
    /// `^label(…):`, with what stands in the parentheses.
    Label(&'a str, &'a str),
}

/// What stands after the regions of an op.
#[derive(Clone, Copy, Default)]
pub struct Tail<'a> {
    /// `{…}` or nothing.
    pub attrs: &'a str,
    /// `(…) -> …`.
    pub signature: &'a str,
    /// `loc(…)` or nothing.
    pub location: &'a str,
}

/// Brackets deeper than this are left to the grammar.
const DEPTH: usize = 32;

/// What a byte is inside balanced text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Plain,
    Open,
    Close,
    Quote,
    Minus,
    Slash,
}

const CLASS: [Class; 256] = {
    let mut table = [Class::Plain; 256];
    table[b'(' as usize] = Class::Open;
    table[b'[' as usize] = Class::Open;
    table[b'{' as usize] = Class::Open;
    table[b'<' as usize] = Class::Open;
    table[b')' as usize] = Class::Close;
    table[b']' as usize] = Class::Close;
    table[b'}' as usize] = Class::Close;
    table[b'>' as usize] = Class::Close;
    table[b'"' as usize] = Class::Quote;
    table[b'-' as usize] = Class::Minus;
    table[b'/' as usize] = Class::Slash;
    table
};

/// Bytes of words: 1 for those of `bare_char`, 2 for those of `id_char` alone.
const WORD: [u8; 256] = {
    let mut table = [0; 256];
    let mut b = 0;
    while b < 256 {
        if (b as u8).is_ascii_alphanumeric() || b as u8 == b'_' || b as u8 == b'$' || b as u8 == b'.' {
            table[b] = 1;
        }
        b += 1;
    }
    table[b'-' as usize] = 2;
    table
};

/// A cursor over the text.
struct Scan<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

/// The piece that begins at a byte, which is no white space.
pub fn scan(text: &str, at: usize) -> Option<Scanned<'_>> {
    let mut s = Scan { text, bytes: text.as_bytes(), at };
    match *s.bytes.get(at)? {
        b'%' | b'"' => s.op(),
        b'}' => {
            s.byte(b'}')?;
            s.byte(b')')?;
            s.spaces();
            let tail = s.tail()?;
            Some(Scanned { piece: Piece::End(tail), end: s.at })
        }
        b'^' => {
            s.at += 1;
            s.suffix()?;
            let id = s.since(at);
            let mut args = "";
            if s.peek()? == b'(' {
                let start = s.at;
                s.balanced()?;
                args = &text[start + 1..s.at - 1];
            }
            s.byte(b':')?;
            Some(Scanned { piece: Piece::Label(id, args), end: s.at })
        }
        _ => None,
    }
}

/// The arguments of a block, `%a: i32, %b: f32`, with the text of their types.
pub fn arguments(text: &str) -> Option<SmallVec<[(&str, &str); 4]>> {
    let mut s = Scan { text, bytes: text.as_bytes(), at: 0 };
    let mut list = SmallVec::new();
    loop {
        s.spaces();
        let start = s.at;
        s.byte(b'%')?;
        s.suffix()?;
        let id = s.since(start);
        s.byte(b':')?;
        s.spaces();
        let start = s.at;
        while let Some(b) = s.peek().filter(|&b| b != b',') {
            match CLASS[b as usize] {
                Class::Open => s.balanced()?,
                Class::Plain if b != b' ' => s.at += 1,
                // What else there may be, such as a location, is for the grammar.
                _ => return None,
            }
        }
        list.push((id, s.since(start)));
        if s.peek().is_none() {
            return Some(list);
        }
        s.at += 1;
    }
}

/// Whether an op in pretty form begins at a byte: a word, after the names of its results.
pub fn begins_word(text: &str, at: usize) -> bool {
    let at = after_results(text, at).unwrap_or(at);
    text.as_bytes().get(at).is_some_and(u8::is_ascii_alphabetic)
}

/// What follows the names of an op's results with their `=`, if a byte begins such names.
pub fn after_results(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut end = at;
    (bytes.get(at) == Some(&b'%')).then_some(())?;
    while bytes.get(end).is_some_and(|&b| WORD[b as usize] != 0 || matches!(b, b'%' | b':' | b',' | b' ')) {
        end += 1;
    }
    (bytes.get(end) == Some(&b'=')).then(|| super::after_trivia(text, end + 1))
}

impl<'a> Scan<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn byte(&mut self, b: u8) -> Option<()> {
        (self.peek()? == b).then(|| self.at += 1)
    }

    fn spaces(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    fn since(&self, start: usize) -> &'a str {
        &self.text[start..self.at]
    }

    fn op(&mut self) -> Option<Scanned<'a>> {
        let mut head = Head { offset: self.at, ..Head::default() };
        let start = self.at;
        while self.peek()? == b'%' || self.at > start {
            self.byte(b'%')?;
            self.suffix()?;
            if self.peek()? == b':' {
                self.at += 1;
                self.digits()?;
            }
            self.spaces();
            match self.peek()? {
                b',' => self.at += 1,
                b'=' => {
                    self.at += 1;
                    head.results = self.since(start);
                    self.spaces();
                    break;
                }
                _ => return None,
            }
            self.spaces();
        }
        head.name = self.string()?;
        head.uses = self.uses()?;
        self.spaces();
        if self.peek()? == b'<' {
            let start = self.at;
            if self.bytes.get(start + 1) != Some(&b'{') {
                return None;
            }
            self.balanced()?;
            head.props = self.since(start);
            if !head.props.ends_with("}>") {
                return None;
            }
            self.spaces();
        }
        if self.peek()? == b'(' {
            self.at += 1;
            self.byte(b'{')?;
            return Some(Scanned { piece: Piece::Start(head), end: self.at });
        }
        let tail = self.tail()?;
        Some(Scanned { piece: Piece::Op(head, tail), end: self.at })
    }

    /// Attributes, signature and location.
    fn tail(&mut self) -> Option<Tail<'a>> {
        let mut tail = Tail::default();
        if self.peek()? == b'{' {
            let start = self.at;
            self.balanced()?;
            tail.attrs = self.since(start);
            self.spaces();
        }
        self.byte(b':')?;
        self.spaces();
        let start = self.at;
        if self.peek()? != b'(' {
            return None;
        }
        self.balanced()?;
        self.spaces();
        self.byte(b'-')?;
        self.byte(b'>')?;
        self.spaces();
        if self.peek()? == b'(' {
            self.balanced()?;
        } else {
            if self.peek()? == b'!' {
                self.at += 1;
            }
            let word = self.at;
            while self.peek().is_some_and(|b| WORD[b as usize] == 1) {
                self.at += 1;
            }
            if self.at == word {
                return None;
            }
            if self.peek() == Some(b'<') {
                self.balanced()?;
            }
        }
        tail.signature = self.since(start);
        let end = self.at;
        self.spaces();
        if self.bytes[self.at..].starts_with(b"loc(") {
            let start = self.at;
            self.at += 3;
            self.balanced()?;
            tail.location = self.since(start);
            return Some(tail);
        }
        // The line ends here, and the next does not begin with the location.
        if self.peek().is_some_and(|b| b != b'\n') {
            return None;
        }
        let next = super::after_trivia(self.text, self.at);
        if self.bytes[next..].starts_with(b"loc") {
            return None;
        }
        self.at = end;
        Some(tail)
    }

    /// `"name"`, without escapes.
    fn string(&mut self) -> Option<&'a str> {
        let start = self.at;
        self.byte(b'"')?;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' | b'\n' => return None,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some(self.since(start))
    }

    /// `(%a, %b#1)`.
    fn uses(&mut self) -> Option<&'a str> {
        let start = self.at;
        self.byte(b'(')?;
        if self.peek()? != b')' {
            loop {
                self.byte(b'%')?;
                self.suffix()?;
                if self.peek()? == b'#' {
                    self.at += 1;
                    self.digits()?;
                }
                match self.peek()? {
                    b',' => self.at += 1,
                    b')' => break,
                    _ => return None,
                }
                self.spaces();
            }
        }
        self.at += 1;
        Some(self.since(start))
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    /// A name after its mark: a number, or a word.
    fn suffix(&mut self) -> Option<()> {
        if self.peek()?.is_ascii_digit() {
            self.digits()?;
            // What else may follow a number is for the grammar.
            return (WORD[self.peek()? as usize] == 0).then_some(());
        }
        let start = self.at;
        while self.peek().is_some_and(|b| WORD[b as usize] != 0) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    /// From a bracket to what closes it.
    fn balanced(&mut self) -> Option<()> {
        let mut closers = [0u8; DEPTH];
        let mut depth = 0;
        loop {
            let b = self.peek()?;
            match CLASS[b as usize] {
                Class::Plain => {}
                Class::Open => {
                    *closers.get_mut(depth)? = match b {
                        b'(' => b')',
                        b'[' => b']',
                        b'{' => b'}',
                        _ => b'>',
                    };
                    depth += 1;
                }
                Class::Close => {
                    depth -= 1;
                    if closers[depth] != b || b == b'>' && self.bytes.get(self.at + 1) == Some(&b'=') {
                        return None;
                    }
                    if depth == 0 {
                        self.at += 1;
                        return Some(());
                    }
                }
                Class::Quote => {
                    self.string()?;
                    continue;
                }
                Class::Minus => {
                    if self.bytes.get(self.at + 1) == Some(&b'>') {
                        self.at += 1;
                    }
                }
                Class::Slash => {
                    if self.bytes.get(self.at + 1) == Some(&b'/') {
                        return None;
                    }
                }
            }
            self.at += 1;
        }
    }
}
