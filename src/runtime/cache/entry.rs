//! What an entry of the cache is made of: marks of the format, its key, the lengths of its parts, the parts, and a checksum over all of it.
//!
//! Lengths, key and checksum are checked before a part is looked at, so that a file that was cut off, changed or written by another program is
//! found to be one.

use blake3::Hasher;
use std::fmt;

/// The first bytes of an entry, the last of them the number of the format.
const MARK: &[u8; 16] = b"rinductor cache\x01";
/// The bytes of a hash.
const HASH: usize = blake3::OUT_LEN;
/// An entry has at most so many parts.
const PARTS: usize = 1 << 16;

/// What an entry is kept under: a hash of all that it depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; HASH]);

impl Key {
    /// The key of what depends on these parts, each with its name, and on this very compiler: its version and its sources.
    pub fn of(parts: &[(&str, &[u8])]) -> Key {
        let mut hasher = Hasher::new();
        hasher.update(MARK);
        let compiler = [("version", env!("CARGO_PKG_VERSION")), ("sources", env!("RINDUCTOR_SOURCES"))];
        let compiler = compiler.iter().map(|(name, text)| (*name, text.as_bytes()));
        for (name, bytes) in compiler.chain(parts.iter().copied()) {
            // With its length, so that no other list of parts has the same bytes.
            for part in [name.as_bytes(), bytes] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
        }
        Key(*hasher.finalize().as_bytes())
    }

    /// The key that is written so.
    pub fn parse(text: &str) -> Option<Key> {
        blake3::Hash::from_hex(text).ok().map(|h| Key(*h.as_bytes()))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

/// The bytes of an entry.
pub fn write(key: &Key, parts: &[&[u8]]) -> Vec<u8> {
    let size = parts.iter().map(|p| p.len() + 8).sum::<usize>();
    let mut out = Vec::with_capacity(MARK.len() + 2 * HASH + 8 + size);
    out.extend_from_slice(MARK);
    out.extend_from_slice(&key.0);
    out.extend_from_slice(&(parts.len() as u64).to_le_bytes());
    for part in parts {
        out.extend_from_slice(&(part.len() as u64).to_le_bytes());
    }
    for part in parts {
        out.extend_from_slice(part);
    }
    let sum = blake3::hash(&out);
    out.extend_from_slice(sum.as_bytes());
    out
}

/// The parts of an entry.
///
/// # Errors
/// Why the bytes are no entry of this key.
pub fn read(bytes: &[u8], key: &Key) -> Result<Vec<Vec<u8>>, String> {
    let mut rest = bytes.strip_prefix(MARK).ok_or("it is no entry of this version's cache")?;
    let cut = || "it was cut off".to_string();
    let (held, after) = rest.split_at_checked(HASH).ok_or_else(cut)?;
    if held != key.0 {
        return Err("it belongs to another key".into());
    }
    rest = after;
    let mut number = || {
        let (n, after) = rest.split_first_chunk::<8>().ok_or_else(cut)?;
        rest = after;
        usize::try_from(u64::from_le_bytes(*n)).map_err(|_| cut())
    };
    let count = number()?;
    if count > PARTS {
        return Err(format!("it says that it has {count} parts"));
    }
    let lengths = (0..count).map(|_| number()).collect::<Result<Vec<usize>, String>>()?;
    let total = lengths.iter().try_fold(HASH, |sum, &n| sum.checked_add(n)).ok_or_else(cut)?;
    if rest.len() != total {
        return Err(format!("it has {} bytes after its lengths, which say {total}", rest.len()));
    }
    let (body, sum) = bytes.split_at(bytes.len() - HASH);
    if blake3::hash(body).as_bytes() != sum {
        return Err("its checksum is wrong".into());
    }
    let mut parts = Vec::with_capacity(count);
    for n in lengths {
        let (part, after) = rest.split_at(n);
        parts.push(part.to_vec());
        rest = after;
    }
    Ok(parts)
}
