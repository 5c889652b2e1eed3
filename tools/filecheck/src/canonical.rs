//! What is done to both texts before anything is looked for: `\r\n` becomes `\n`, and runs of blanks and tabs one blank.

use std::borrow::Cow;
use std::io::{self, Read};

/// Rewrites a text that comes in pieces.
#[derive(Debug)]
pub struct Canonicalizer {
    strict_whitespace: bool,
    output: Vec<u8>,
    in_blanks: bool,
    after_return: bool,
}

impl Canonicalizer {
    /// Begins a text. With `strict_whitespace` blanks and tabs are left as they are.
    pub fn new(strict_whitespace: bool, capacity: usize) -> Canonicalizer {
        Canonicalizer { strict_whitespace, output: Vec::with_capacity(capacity), in_blanks: false, after_return: false }
    }

    /// Adds a piece.
    pub fn push(&mut self, mut piece: &[u8]) {
        while let Some(&first) = piece.first() {
            if self.after_return {
                self.after_return = false;
                if first != b'\n' {
                    self.output.push(b'\r');
                }
            }
            if self.in_blanks {
                let blanks = piece.iter().take_while(|&&b| b == b' ' || b == b'\t').count();
                piece = &piece[blanks..];
                self.in_blanks = piece.is_empty();
                continue;
            }
            let plain = self.plain_length(piece);
            self.output.extend_from_slice(&piece[..plain]);
            piece = &piece[plain..];
            match piece.first() {
                Some(b'\r') => self.after_return = true,
                Some(_) => {
                    self.output.push(b' ');
                    self.in_blanks = true;
                }
                None => {}
            }
            piece = piece.get(1..).unwrap_or_default();
        }
    }

    /// How much of the piece stays as it is: up to a return, a tab or a second blank.
    fn plain_length(&self, piece: &[u8]) -> usize {
        if self.strict_whitespace {
            return memchr::memchr(b'\r', piece).unwrap_or(piece.len());
        }
        let mut after_blank = false;
        for (at, &byte) in piece.iter().enumerate() {
            match byte {
                b' ' if after_blank => return at - 1,
                b' ' => after_blank = true,
                b'\t' if after_blank => return at - 1,
                b'\t' | b'\r' => return at,
                _ => after_blank = false,
            }
        }
        // A blank at the end may be the first of a run that goes on in the next piece.
        piece.len() - usize::from(after_blank)
    }

    /// Ends the text.
    pub fn finish(mut self) -> Vec<u8> {
        if self.after_return {
            self.output.push(b'\r');
        }
        self.output
    }
}

/// The canonical form of a text, which is the text itself where nothing is to be done.
pub fn canonicalize(text: &[u8], strict_whitespace: bool) -> Cow<'_, [u8]> {
    let mut canonicalizer = Canonicalizer::new(strict_whitespace, 0);
    let plain = canonicalizer.plain_length(text);
    if plain == text.len() {
        return Cow::Borrowed(text);
    }
    canonicalizer.output.reserve(text.len());
    canonicalizer.push(text);
    Cow::Owned(canonicalizer.finish())
}

/// The canonical form of a stream, with its original length; the original is never in memory as a whole.
pub fn canonicalize_stream(
    mut stream: impl Read,
    size_hint: usize,
    strict_whitespace: bool,
) -> io::Result<(Vec<u8>, u64)> {
    let mut canonicalizer = Canonicalizer::new(strict_whitespace, size_hint);
    let mut piece = vec![0; 1 << 16];
    let mut length = 0;
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return Ok((canonicalizer.finish(), length)),
            Ok(read) => {
                length += read as u64;
                canonicalizer.push(&piece[..read]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_fold_and_returns_before_line_breaks_go() {
        let text: &[u8] = b"a \t b\r\n\tc\rd\r\r\n  \xff x\r";
        assert_eq!(&*canonicalize(text, false), b"a b\n c\rd\r\n \xff x\r");
        assert_eq!(&*canonicalize(text, true), b"a \t b\n\tc\rd\r\n  \xff x\r");
        assert!(matches!(canonicalize(b"a b\n", false), Cow::Borrowed(_)));
    }

    #[test]
    fn a_stream_folds_over_the_ends_of_its_pieces() {
        let text = b"a  b\t\r\n \t c\r\r\n x \r".repeat(3);
        for strict in [false, true] {
            let whole = canonicalize(&text, strict).into_owned();
            for size in 1..text.len() {
                let mut pieces = Canonicalizer::new(strict, 0);
                text.chunks(size).for_each(|piece| pieces.push(piece));
                assert_eq!(pieces.finish(), whole, "pieces of {size}");
            }
        }
    }
}
