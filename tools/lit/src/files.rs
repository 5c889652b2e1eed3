//! Streams and files of the runner: read up to a limit, so that no test takes all memory, and written whole or not at all.

use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::path::Path;

/// The most bytes that are kept of one stream or file of a test.
pub const MOST: usize = 256 << 20;

/// What is said of a stream that is longer than [`MOST`].
pub const TOO_LONG: &str = "it is longer than 256 MiB";

/// All that a stream gives. A longer one than [`MOST`] is an error.
pub fn read_all(stream: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(MOST as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > MOST { Err(io::Error::other(TOO_LONG)) } else { Ok(bytes) }
}

/// The bytes of a file, as [`read_all`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_all(File::open(path)?)
}

/// Writes a file by way of a temporary one beside it, so that it appears whole or stays as it was.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link stays a link: what it points to is replaced.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let old = path.metadata().ok();
    // A device or a pipe is written to, not replaced; a folder says so itself.
    if old.as_ref().is_some_and(|m| !m.is_file()) {
        return std::fs::write(&path, bytes);
    }
    if old.as_ref().is_some_and(|m| m.permissions().readonly()) {
        return Err(io::Error::other("it is read-only"));
    }
    let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".lit-").permissions(permissions(old)).tempfile_in(directory)?;
    file.write_all(bytes)?;
    file.persist(&path).map_err(|e| e.error)?;
    Ok(())
}

/// Those of the file that is replaced, or those of any new file, of which the mask of the process takes its part.
fn permissions(old: Option<Metadata>) -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    old.map_or_else(|| PermissionsExt::from_mode(0o666), |m| m.permissions())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_streams_are_refused() {
        assert_eq!(read_all(io::repeat(0)).expect_err("it has no end").to_string(), TOO_LONG);
        assert_eq!(read(Path::new("/dev/zero")).expect_err("it has no end").to_string(), TOO_LONG);
    }

    #[test]
    fn files_are_replaced_whole() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (path, link) = (directory.path().join("a"), directory.path().join("link"));
        write(&path, b"one").expect("writes");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o750)).expect("a mode");
        symlink(&path, &link).expect("a link");
        write(&link, b"two").expect("writes");
        assert!(link.is_symlink() && std::fs::read(&path).expect("reads") == b"two");
        assert_eq!(path.metadata().expect("it is there").permissions().mode() & 0o777, 0o750);
        assert_eq!(std::fs::read_dir(directory.path()).expect("reads").count(), 2, "nothing else is left");
        assert!(write(directory.path(), b"").is_err());
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o444)).expect("a mode");
        assert!(write(&path, b"three").is_err());
    }
}
