//! The texts that a report may point into, and places in them.

use std::cell::OnceCell;

/// A text with a name.
#[derive(Debug)]
pub struct Buffer<'a> {
    /// Its name in reports.
    pub name: String,
    /// Its bytes.
    pub text: std::borrow::Cow<'a, [u8]>,
    /// Places of its line breaks; found when first asked for.
    breaks: OnceCell<Vec<usize>>,
}

/// Number of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(pub u32);

/// The check file is always the first buffer.
pub const CHECK_FILE: BufferId = BufferId(0);

/// A place in a buffer, in bytes from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Loc {
    /// The buffer.
    pub buffer: BufferId,
    /// The place, at most the buffer's length.
    pub offset: usize,
}

/// A range of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The buffer.
    pub buffer: BufferId,
    /// Where it starts.
    pub start: usize,
    /// Where it ends; not part of it.
    pub end: usize,
}

impl Span {
    /// Its first place.
    pub fn loc(&self) -> Loc {
        Loc { buffer: self.buffer, offset: self.start }
    }

    /// The empty range at its start.
    pub fn at_start(&self) -> Span {
        Span { end: self.start, ..*self }
    }

    /// A part of it, by offsets from its start.
    pub fn part(&self, start: usize, end: usize) -> Span {
        Span { buffer: self.buffer, start: self.start + start, end: self.start + end }
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }
}

/// A line and a column, both counted from one, the column in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// All buffers of one check.
#[derive(Debug, Default)]
pub struct Sources<'a> {
    buffers: Vec<Buffer<'a>>,
}

impl<'a> Sources<'a> {
    /// Adds a buffer.
    pub fn add(&mut self, name: &str, text: std::borrow::Cow<'a, [u8]>) -> BufferId {
        // The program reads its standard input under the name "-".
        let name = if name == "-" { "<stdin>" } else { name };
        self.buffers.push(Buffer { name: name.to_owned(), text, breaks: OnceCell::new() });
        BufferId(self.buffers.len() as u32 - 1)
    }

    /// A buffer.
    pub fn buffer(&self, id: BufferId) -> &Buffer<'a> {
        &self.buffers[id.0 as usize]
    }

    /// All buffers in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &Buffer<'a>> {
        self.buffers.iter()
    }

    /// The bytes of a range.
    pub fn bytes(&self, span: Span) -> &[u8] {
        &self.buffer(span.buffer).text[span.start..span.end]
    }

    /// The line and the column of a place. A carriage return ends a line for the column but not for the line.
    pub fn position(&self, loc: Loc) -> Position {
        let buffer = self.buffer(loc.buffer);
        let breaks = buffer.breaks.get_or_init(|| memchr::memchr_iter(b'\n', &buffer.text).collect());
        let line = breaks.partition_point(|&at| at < loc.offset) + 1;
        let start = memchr::memrchr2(b'\n', b'\r', &buffer.text[..loc.offset]).map_or(0, |at| at + 1);
        Position { line, column: loc.offset - start + 1 }
    }

    /// The line that a place is on, without its end.
    pub fn line(&self, loc: Loc) -> Span {
        let text = &self.buffer(loc.buffer).text;
        let start = memchr::memrchr2(b'\n', b'\r', &text[..loc.offset]).map_or(0, |at| at + 1);
        let end = memchr::memchr2(b'\n', b'\r', &text[loc.offset..]).map_or(text.len(), |at| loc.offset + at);
        Span { buffer: loc.buffer, start, end }
    }
}
