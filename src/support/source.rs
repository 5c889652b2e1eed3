//! Source files, and spans in them. Lines and columns are worked out only when somebody asks.

use std::sync::Arc;

/// Which file of a [`SourceMap`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct SourceId(pub u32);

/// Bytes `start..end` of a source file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Span {
    /// The file.
    pub source: SourceId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// Bytes `start..end` of `source`.
    pub fn new(source: SourceId, start: usize, end: usize) -> Self {
        // Sources of 4 GiB and more are refused when they are added.
        Self { source, start: start as u32, end: end as u32 }
    }
    /// From the start of `self` to the end of `other`.
    pub fn to(self, other: Span) -> Span {
        Span { end: other.end.max(self.end), ..self }
    }
}

#[derive(Clone, Debug)]
struct File {
    name: String,
    text: Arc<str>,
    /// Byte at which each line starts; made when first asked.
    lines: std::sync::OnceLock<Vec<u32>>,
    /// Line number of the first line of `text` in the file that the user sees (1 unless this is a split of a larger file).
    first_line: u32,
}

/// The texts that spans point into. A copy shares the texts.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<File>,
}

impl SourceMap {
    /// A map without files.
    pub fn new() -> Self {
        Self::default()
    }
    /// Adds a file. `name` is what diagnostics show.
    ///
    /// # Errors
    /// The text is 4 GiB or larger.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>) -> Result<SourceId, String> {
        self.add_part(name, text, 1)
    }
    /// Adds a part of a file that begins at line `first_line` of it.
    ///
    /// # Errors
    /// The text is 4 GiB or larger.
    pub fn add_part(
        &mut self,
        name: impl Into<String>,
        text: impl Into<Arc<str>>,
        first_line: u32,
    ) -> Result<SourceId, String> {
        let (name, text) = (name.into(), text.into());
        if u32::try_from(text.len()).is_err() {
            return Err(format!("{name}: a source of {} bytes is too large (limit 4 GiB)", text.len()));
        }
        self.files.push(File { name, text, lines: std::sync::OnceLock::new(), first_line });
        Ok(SourceId(self.files.len() as u32 - 1))
    }
    /// The name that diagnostics show.
    pub fn name(&self, id: SourceId) -> &str {
        self.files.get(id.0 as usize).map_or("<unknown>", |f| &f.name)
    }
    /// The whole text.
    pub fn text(&self, id: SourceId) -> &Arc<str> {
        static EMPTY: std::sync::LazyLock<Arc<str>> = std::sync::LazyLock::new(|| Arc::from(""));
        self.files.get(id.0 as usize).map_or(&EMPTY, |f| &f.text)
    }
    /// The text of a span (empty if it does not lie in the file on character boundaries).
    pub fn slice(&self, span: Span) -> &str {
        self.text(span.source).get(span.start as usize..span.end as usize).unwrap_or("")
    }
    /// Line and column (both from 1; the column counts characters, as mlir-opt's counts bytes of ASCII) of a byte offset.
    pub fn line_col(&self, id: SourceId, offset: u32) -> (u32, u32) {
        let Some(file) = self.files.get(id.0 as usize) else { return (0, 0) };
        let lines = self.line_starts(id);
        let line = lines.partition_point(|&start| start <= offset) - 1;
        let start = lines[line] as usize;
        let end = (offset as usize).min(file.text.len());
        let column = file.text.get(start..end).map_or(end.saturating_sub(start), |s| s.chars().count());
        (line as u32 + file.first_line, column as u32 + 1)
    }
    /// The byte at which each line starts; of an unknown file, that of one empty line.
    pub fn line_starts(&self, id: SourceId) -> &[u32] {
        let Some(file) = self.files.get(id.0 as usize) else { return &[0] };
        file.lines.get_or_init(|| std::iter::once(0).chain(memchr_newlines(&file.text).map(|i| i as u32 + 1)).collect())
    }
    /// The number (from 1) of the first line in the file that the user sees.
    pub fn first_line(&self, id: SourceId) -> u32 {
        self.files.get(id.0 as usize).map_or(1, |f| f.first_line)
    }
    /// The line (without its newline) that holds a byte offset.
    pub fn line_text(&self, id: SourceId, offset: u32) -> &str {
        let text = self.text(id);
        let offset = (offset as usize).min(text.len());
        let bytes = text.as_bytes();
        let start = bytes[..offset].iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
        let end = bytes[offset..].iter().position(|&b| b == b'\n').map_or(text.len(), |i| offset + i);
        text.get(start..end).unwrap_or("")
    }
    /// How many files there are.
    pub fn len(&self) -> usize {
        self.files.len()
    }
    /// Whether there are no files.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

fn memchr_newlines(text: &str) -> impl Iterator<Item = usize> + '_ {
    text.bytes().enumerate().filter(|&(_, b)| b == b'\n').map(|(i, _)| i)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one() {
        let mut map = SourceMap::new();
        let id = map.add("m.ir", "ab\nçd\n\nx").unwrap();
        assert_eq!(map.line_col(id, 0), (1, 1));
        assert_eq!(map.line_col(id, 5), (2, 2));
        assert_eq!(map.line_col(id, 8), (4, 1));
        assert_eq!(map.line_col(id, 99), (4, 2));
        assert_eq!(map.line_text(id, 5), "çd");
    }
}
