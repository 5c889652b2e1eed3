//! The parser for POSIX extended regular expressions, with the extensions of LLVM's: back references and word boundaries.
//!
//! A group is not a node of its own: its two ends stand in the sequence that holds them. This is how LLVM's engine assigns
//! text to groups (see [`super::submatch`]), and it decides which of several possible captures a user sees.

use std::fmt;

use super::class::{ByteSet, named_character, named_class};

/// Most items that an expression may expand to, and deepest nesting; beyond either it is refused as too large.
const MAX_ITEMS: usize = 1 << 21;
const MAX_DEPTH: usize = 1000;
/// The largest count in `{m,n}`.
const MAX_COUNT: u32 = 255;
const UNBOUNDED: u32 = MAX_COUNT + 1;

/// Why a regular expression is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegexError {
    /// An unknown name in `[. .]` or `[= =]`.
    CollatingElement,
    /// An unknown name in `[: :]`.
    CharacterClass,
    /// A backslash at the end.
    TrailingBackslash,
    /// A back reference to a group that is not closed before it.
    BackReference,
    /// A bracket expression without its end.
    Brackets,
    /// A parenthesis without its counterpart.
    Parentheses,
    /// A count without its closing brace.
    Braces,
    /// Counts out of order or too large.
    RepetitionCount,
    /// A range whose ends are out of order.
    Range,
    /// A repetition without an operand.
    RepetitionOperand,
    /// An empty alternative.
    Empty,
    /// The expression is larger than any that is of use.
    TooLarge,
}

impl fmt::Display for RegexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RegexError::CollatingElement => "invalid collating element",
            RegexError::CharacterClass => "invalid character class",
            RegexError::TrailingBackslash => "trailing backslash (\\)",
            RegexError::BackReference => "invalid backreference number",
            RegexError::Brackets => "brackets ([ ]) not balanced",
            RegexError::Parentheses => "parentheses not balanced",
            RegexError::Braces => "braces not balanced",
            RegexError::RepetitionCount => "invalid repetition count(s)",
            RegexError::Range => "invalid character range",
            RegexError::RepetitionOperand => "repetition-operator operand invalid",
            RegexError::Empty => "empty (sub)expression",
            RegexError::TooLarge => "out of memory",
        })
    }
}

/// One item of a sequence.
#[derive(Clone, Debug)]
pub enum Item {
    /// Exactly this byte.
    Byte(u8),
    /// One byte of the set.
    Set(ByteSet),
    /// The start of the text or of a line.
    LineStart,
    /// The end of the text or of a line.
    LineEnd,
    /// A word begins here.
    WordStart,
    /// A word ends here.
    WordEnd,
    /// The start of a group, counted from one.
    Open(u32),
    /// The end of a group.
    Close(u32),
    /// One of the sequences; the first that fits counts for captures.
    Either(Vec<Vec<Item>>),
    /// The sequence once or more.
    Plus(Vec<Item>),
    /// The sequence (always one [`Item::Plus`]) or nothing.
    Maybe(Vec<Item>),
    /// The text of a group again; with the group's content, which is what it may be as far as an automaton can tell.
    Back(u32, Vec<Item>),
}

/// A parsed expression.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// Its items.
    pub items: Vec<Item>,
    /// How many groups it has.
    pub groups: u32,
    /// Whether it has back references.
    pub has_back_references: bool,
    /// How often `^` and `$` stand in it as written.
    pub anchors: Anchors,
}

/// Counts of the assertions on lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Anchors {
    /// Of `^`.
    pub line_starts: usize,
    /// Of `$`.
    pub line_ends: usize,
}

/// Parses `pattern`. With `newline`, neither `.` nor a complemented bracket matches a line break.
pub fn parse(pattern: &[u8], ignore_case: bool, newline: bool) -> Result<Parsed, RegexError> {
    let mut parser = Parser {
        text: pattern,
        at: 0,
        ignore_case,
        newline,
        groups: 0,
        contents: Default::default(),
        has_back_references: false,
        depth: 0,
        expanded: 0,
        anchors: Anchors::default(),
    };
    let items = parser.alternatives(false)?;
    Ok(Parsed {
        items,
        groups: parser.groups,
        has_back_references: parser.has_back_references,
        anchors: parser.anchors,
    })
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    ignore_case: bool,
    newline: bool,
    groups: u32,
    /// Contents of the groups 1 to 9, once they are closed.
    contents: [Option<Vec<Item>>; 10],
    has_back_references: bool,
    depth: usize,
    /// How many items repetitions and back references have added.
    expanded: usize,
    anchors: Anchors,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn peek_second(&self) -> Option<u8> {
        self.text.get(self.at + 1).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn sees(&self, text: &[u8]) -> bool {
        self.text[self.at..].starts_with(text)
    }

    fn eat_all(&mut self, text: &[u8]) -> bool {
        let there = self.sees(text);
        self.at += if there { text.len() } else { 0 };
        there
    }

    /// Whether a repetition operator stands here; `{` is one only before a digit.
    fn at_repetition(&self) -> bool {
        match self.peek() {
            Some(b'*' | b'+' | b'?') => true,
            Some(b'{') => self.peek_second().is_some_and(|b| b.is_ascii_digit()),
            _ => false,
        }
    }

    fn alternatives(&mut self, in_group: bool) -> Result<Vec<Item>, RegexError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(RegexError::TooLarge);
        }
        let mut branches = Vec::new();
        let last = loop {
            let mut items = Vec::new();
            while self.peek().is_some_and(|b| b != b'|' && !(in_group && b == b')')) {
                self.repeated_atom(&mut items)?;
            }
            if items.is_empty() {
                return Err(RegexError::Empty);
            }
            if !self.eat(b'|') {
                break items;
            }
            branches.push(items);
        };
        self.depth -= 1;
        if branches.is_empty() {
            return Ok(last);
        }
        branches.push(last);
        Ok(vec![Item::Either(branches)])
    }

    fn repeated_atom(&mut self, items: &mut Vec<Item>) -> Result<(), RegexError> {
        let start = items.len();
        let is_caret = self.peek() == Some(b'^');
        self.atom(items)?;
        if !self.at_repetition() {
            return Ok(());
        }
        let operator = self.next();
        if is_caret {
            return Err(RegexError::RepetitionOperand);
        }
        let operand = items.split_off(start);
        match operator {
            Some(b'*') => items.push(Item::Maybe(vec![Item::Plus(operand)])),
            Some(b'+') => items.push(Item::Plus(operand)),
            Some(b'?') => items.push(Item::Either(vec![operand, Vec::new()])),
            _ => {
                let from = self.count()?;
                let to = if !self.eat(b',') {
                    from
                } else if self.peek().is_some_and(|b| b.is_ascii_digit()) {
                    let to = self.count()?;
                    if from > to {
                        return Err(RegexError::RepetitionCount);
                    }
                    to
                } else {
                    UNBOUNDED
                };
                let copies = if to == UNBOUNDED { from.max(1) } else { to.max(1) };
                self.expand(size(&operand).saturating_mul(copies as usize))?;
                repeat(items, operand, from, to);
                if !self.eat(b'}') {
                    let closed = self.text[self.at..].contains(&b'}');
                    return Err(if closed { RegexError::RepetitionCount } else { RegexError::Braces });
                }
            }
        }
        if self.at_repetition() { Err(RegexError::RepetitionOperand) } else { Ok(()) }
    }

    fn atom(&mut self, items: &mut Vec<Item>) -> Result<(), RegexError> {
        match self.next() {
            Some(b'(') => {
                if self.peek().is_none() {
                    return Err(RegexError::Parentheses);
                }
                self.groups += 1;
                let group = self.groups;
                let content = if self.peek() == Some(b')') { Vec::new() } else { self.alternatives(true)? };
                if let Some(slot) = self.contents.get_mut(group as usize) {
                    *slot = Some(content.clone());
                }
                items.push(Item::Open(group));
                items.extend(content);
                items.push(Item::Close(group));
                if !self.eat(b')') {
                    return Err(RegexError::Parentheses);
                }
            }
            Some(b')') => return Err(RegexError::Parentheses),
            Some(b'^') => {
                self.anchors.line_starts += 1;
                items.push(Item::LineStart);
            }
            Some(b'$') => {
                self.anchors.line_ends += 1;
                items.push(Item::LineEnd);
            }
            Some(b'|') => return Err(RegexError::Empty),
            Some(b'*' | b'+' | b'?') => return Err(RegexError::RepetitionOperand),
            Some(b'.') => {
                let mut set = ByteSet::default().complement();
                if self.newline {
                    set.remove(b'\n');
                }
                items.push(Item::Set(set));
            }
            Some(b'[') => items.push(self.bracket()?),
            Some(b'\\') => match self.next() {
                None => return Err(RegexError::TrailingBackslash),
                Some(digit @ b'1'..=b'9') => {
                    let group = usize::from(digit - b'0');
                    let content = self.contents[group].clone().ok_or(RegexError::BackReference)?;
                    self.expand(size(&content))?;
                    items.push(Item::Back(group as u32, content));
                    self.has_back_references = true;
                }
                Some(byte) => items.push(self.ordinary(byte)),
            },
            Some(b'{') if self.peek().is_some_and(|b| b.is_ascii_digit()) => {
                return Err(RegexError::RepetitionOperand);
            }
            Some(byte) => items.push(self.ordinary(byte)),
            None => return Err(RegexError::Empty),
        }
        Ok(())
    }

    fn expand(&mut self, items: usize) -> Result<(), RegexError> {
        self.expanded = self.expanded.saturating_add(items);
        if self.expanded > MAX_ITEMS { Err(RegexError::TooLarge) } else { Ok(()) }
    }

    fn ordinary(&self, byte: u8) -> Item {
        if self.ignore_case && byte.is_ascii_alphabetic() {
            let mut set = ByteSet::default();
            set.insert(byte);
            Item::Set(set.with_both_cases())
        } else {
            Item::Byte(byte)
        }
    }

    fn count(&mut self) -> Result<u32, RegexError> {
        let start = self.at;
        let mut count = 0;
        while let Some(digit) = self.peek().filter(|b| b.is_ascii_digit() && count <= MAX_COUNT) {
            count = count * 10 + u32::from(digit - b'0');
            self.at += 1;
        }
        if self.at == start || count > MAX_COUNT { Err(RegexError::RepetitionCount) } else { Ok(count) }
    }

    fn bracket(&mut self) -> Result<Item, RegexError> {
        if self.eat_all(b"[:<:]]") {
            return Ok(Item::WordStart);
        }
        if self.eat_all(b"[:>:]]") {
            return Ok(Item::WordEnd);
        }
        let mut set = ByteSet::default();
        let complemented = self.eat(b'^');
        if self.eat(b']') {
            set.insert(b']');
        } else if self.eat(b'-') {
            set.insert(b'-');
        }
        while self.peek().is_some_and(|b| b != b']') && !self.sees(b"-]") {
            self.bracket_term(&mut set)?;
        }
        if self.eat(b'-') {
            set.insert(b'-');
        }
        if !self.eat(b']') {
            return Err(RegexError::Brackets);
        }
        if self.ignore_case {
            set = set.with_both_cases();
        }
        if complemented {
            set = set.complement();
            if self.newline {
                set.remove(b'\n');
            }
        }
        let mut members = set.iter();
        match (members.next(), members.next()) {
            (Some(only), None) => Ok(self.ordinary(only)),
            _ => Ok(Item::Set(set)),
        }
    }

    fn bracket_term(&mut self, set: &mut ByteSet) -> Result<(), RegexError> {
        if self.peek() == Some(b'-') {
            return Err(RegexError::Range);
        }
        if self.eat_all(b"[:") {
            match self.peek() {
                None => return Err(RegexError::Brackets),
                Some(b'-' | b']') => return Err(RegexError::CharacterClass),
                Some(_) => {}
            }
            let start = self.at;
            while self.peek().is_some_and(|b| b.is_ascii_alphabetic()) {
                self.at += 1;
            }
            let class = named_class(&self.text[start..self.at]).ok_or(RegexError::CharacterClass)?;
            *set = set.union(&class);
            if self.peek().is_none() {
                return Err(RegexError::Brackets);
            }
            return if self.eat_all(b":]") { Ok(()) } else { Err(RegexError::CharacterClass) };
        }
        if self.eat_all(b"[=") {
            match self.peek() {
                None => return Err(RegexError::Brackets),
                Some(b'-' | b']') => return Err(RegexError::CollatingElement),
                Some(_) => {}
            }
            set.insert(self.collating_element(b"=]")?);
            self.at += 2;
            return Ok(());
        }
        let first = self.bracket_symbol()?;
        let mut last = first;
        if self.peek() == Some(b'-') && self.peek_second().is_some_and(|b| b != b']') {
            self.at += 1;
            last = if self.eat(b'-') { b'-' } else { self.bracket_symbol()? };
        }
        // Characters are signed where LLVM's tests were written, and the order of a range follows that.
        let (first, last) = (first.cast_signed(), last.cast_signed());
        if first > last {
            return Err(RegexError::Range);
        }
        (first..=last).for_each(|b| set.insert(b.cast_unsigned()));
        Ok(())
    }

    fn bracket_symbol(&mut self) -> Result<u8, RegexError> {
        if self.eat_all(b"[.") {
            let symbol = self.collating_element(b".]")?;
            self.at += 2;
            return Ok(symbol);
        }
        self.next().ok_or(RegexError::Brackets)
    }

    /// Reads up to `end`, which is known to follow when this succeeds.
    fn collating_element(&mut self, end: &[u8]) -> Result<u8, RegexError> {
        let start = self.at;
        while self.peek().is_some() && !self.sees(end) {
            self.at += 1;
        }
        if self.peek().is_none() {
            return Err(RegexError::Brackets);
        }
        named_character(&self.text[start..self.at]).ok_or(RegexError::CollatingElement)
    }
}

/// Appends `operand{from,to}`, spelled out.
fn repeat(items: &mut Vec<Item>, operand: Vec<Item>, mut from: u32, mut to: u32) {
    if to == 0 {
        return;
    }
    if from == 0 {
        let mut some = Vec::new();
        repeat(&mut some, operand, 1, to);
        items.push(Item::Either(vec![some, Vec::new()]));
        return;
    }
    while from > 1 {
        items.extend(operand.iter().cloned());
        from -= 1;
        to = if to == UNBOUNDED { to } else { to - 1 };
    }
    if to == UNBOUNDED {
        items.push(Item::Plus(operand));
        return;
    }
    while to > 1 {
        items.push(Item::Either(vec![operand.clone(), Vec::new()]));
        to -= 1;
    }
    items.extend(operand);
}

/// How many operations LLVM's engine has for these items.
pub fn size(items: &[Item]) -> usize {
    items
        .iter()
        .map(|item| match item {
            Item::Either(branches) => branches.iter().map(|branch| 2 + size(branch)).sum(),
            Item::Plus(body) | Item::Maybe(body) | Item::Back(_, body) => 2 + size(body),
            _ => 1,
        })
        .sum()
}
