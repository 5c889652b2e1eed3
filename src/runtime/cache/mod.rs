//! The cache on disk: what was compiled is kept in a folder that processes share, by a key of everything that it depends on.
//!
//! | file | holds |
//! |---|---|
//! | `entry` | the bytes of an entry, and what is asked of them before they are used |
//! | here | the folder: finding, keeping, and removing what is oldest |
//!
//! An entry is a few parts of bytes. It is written to a temporary file that is renamed, so that it is there whole or not at all; of two processes
//! that keep the same key, the last wins. Nothing here is an error for who compiles: what does not work is a warning, and no entry.

mod entry;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

pub use entry::Key;

/// Names the folder.
pub const FOLDER: &str = "RINDUCTOR_CACHE_DIR";
/// `0` turns the cache off.
pub const SWITCH: &str = "RINDUCTOR_CACHE";
/// How many bytes the entries may have together: digits, and K, M, G or T.
pub const LIMIT: &str = "RINDUCTOR_CACHE_LIMIT";

/// The limit where none is given.
const DEFAULT_LIMIT: u64 = 4 << 30;
/// The end of the name of an entry.
const SUFFIX: &str = ".rinductor";
/// The end of the name of a file that becomes an entry.
const UNFINISHED: &str = ".rinductor-part";
/// An entry that is found is noted as used, but not more often than this.
const FRESH: Duration = Duration::from_secs(3600);

/// Where a cache is, and how large it may become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The folder.
    pub folder: PathBuf,
    /// How many bytes its entries may have together.
    pub limit: u64,
}

impl Settings {
    /// A folder with the limit that is usual.
    pub fn of(folder: PathBuf) -> Settings {
        Settings { folder, limit: DEFAULT_LIMIT }
    }

    /// What the variables of the environment say; None if there is to be no cache. `var` looks one up.
    ///
    /// # Errors
    /// A sentence: a variable that says nothing that is understood.
    pub fn from_variables(var: impl Fn(&str) -> Option<OsString>) -> Result<Option<Settings>, String> {
        let given = |name: &str| var(name).filter(|v| !v.is_empty());
        match given(SWITCH) {
            Some(v) if v == "0" => return Ok(None),
            Some(v) if v != "1" => return Err(format!("{SWITCH} is {v:?}; it can be 0 or 1")),
            _ => {}
        }
        let limit = match given(LIMIT) {
            Some(text) => text
                .to_str()
                .and_then(bytes_of)
                .ok_or_else(|| format!("{LIMIT} is {text:?}; it can be a number of bytes such as 500M or 4G"))?,
            None => DEFAULT_LIMIT,
        };
        // As the rules for such folders have it: a path that is not absolute says nothing.
        let absolute = |name: &str| given(name).map(PathBuf::from).filter(|p| p.is_absolute());
        let folder = given(FOLDER)
            .map(PathBuf::from)
            .or_else(|| absolute("XDG_CACHE_HOME").map(|p| p.join("rinductor")))
            .or_else(|| absolute("HOME").map(|p| p.join(".cache/rinductor")));
        Ok(folder.map(|folder| Settings { folder, limit }))
    }
}

/// A number of bytes such as `4G`.
fn bytes_of(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match &text[digits.len()..] {
        "" => 1,
        "K" | "k" => 1 << 10,
        "M" | "m" => 1 << 20,
        "G" | "g" => 1 << 30,
        "T" | "t" => 1 << 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// A folder of entries.
pub struct Cache {
    settings: Settings,
    /// Whether the folder was found to be one that entries are read from.
    checked: AtomicBool,
    /// Whether nothing is kept any more, because it did not work.
    full: AtomicBool,
    /// Bytes that may be written before the folder is looked at again.
    room: AtomicU64,
    warnings: Mutex<Vec<String>>,
}

impl Cache {
    /// The cache in a folder, which is made when the first entry is kept.
    pub fn new(settings: Settings) -> Cache {
        Cache {
            settings,
            checked: AtomicBool::new(false),
            full: AtomicBool::new(false),
            room: AtomicU64::new(0),
            warnings: Mutex::default(),
        }
    }

    /// Where it is, and how large it may become.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What was found to be wrong since this was last asked: sentences for the user.
    pub fn warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn warn(&self, text: String) {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    /// The file of a key.
    pub fn path(&self, key: &Key) -> PathBuf {
        self.settings.folder.join(format!("{key}{SUFFIX}"))
    }

    /// The parts of the entry of a key, if there is one. One that is not as it was written is removed, with a warning.
    pub fn find(&self, key: &Key) -> Option<Vec<Vec<u8>>> {
        let path = self.path(key);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return None,
            Err(e) => {
                self.warn(format!("the cache cannot read '{}': {e}", path.display()));
                return None;
            }
        };
        if !self.is_trusted() {
            return None;
        }
        match entry::read(&bytes, key) {
            Ok(parts) => {
                note_use(&path);
                Some(parts)
            }
            Err(why) => {
                self.remove(key, &why);
                None
            }
        }
    }

    /// Removes the entry of a key, with a warning that says why.
    pub fn remove(&self, key: &Key, why: &str) {
        let path = self.path(key);
        self.warn(format!("the cache entry '{}' is not used: {why}; it is removed", path.display()));
        // Another process may have removed it, or put a good one there: then that is compiled again.
        let _ = fs::remove_file(path);
    }

    /// Keeps parts under a key. What does not work is a warning, and then nothing is kept any more.
    pub fn keep(&self, key: &Key, parts: &[&[u8]]) {
        if self.full.load(Ordering::Relaxed) {
            return;
        }
        let bytes = entry::write(key, parts);
        let kept = make_folder(&self.settings.folder)
            .and_then(|()| if self.is_trusted() { self.write(key, &bytes) } else { Ok(()) });
        if let Err(e) = kept {
            self.full.store(true, Ordering::Relaxed);
            let folder = self.settings.folder.display();
            self.warn(format!(
                "the cache keeps nothing in '{folder}': {e}; {FOLDER} names another folder, {SWITCH}=0 turns it off"
            ));
            return;
        }
        let size = bytes.len() as u64;
        let took = self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| room.checked_sub(size));
        if took.is_err() {
            self.tidy(key);
        }
    }

    fn write(&self, key: &Key, bytes: &[u8]) -> std::io::Result<()> {
        let mut file = tempfile::Builder::new().suffix(UNFINISHED).tempfile_in(&self.settings.folder)?;
        file.write_all(bytes)?;
        file.persist(self.path(key)).map_err(|e| e.error)?;
        Ok(())
    }

    /// Whether entries of the folder may be run: not if anyone at all may put some there.
    fn is_trusted(&self) -> bool {
        if self.checked.load(Ordering::Relaxed) {
            return true;
        }
        let folder = &self.settings.folder;
        if !fs::metadata(folder).is_ok_and(|m| others_write(&m)) {
            self.checked.store(true, Ordering::Relaxed);
            return true;
        }
        if !self.full.swap(true, Ordering::Relaxed) {
            let folder = folder.display();
            self.warn(format!("the cache in '{folder}' is not used: all users may write there, and entries are code; 'chmod o-w' helps"));
        }
        false
    }

    /// Removes the entries that were not used for longest, until what is left is well below the limit, and files that nobody finished.
    fn tidy(&self, newest: &Key) {
        let Ok(list) = fs::read_dir(&self.settings.folder) else { return };
        let newest = self.path(newest);
        let now = SystemTime::now();
        let mut entries = Vec::new();
        for file in list.flatten() {
            let (name, Ok(about)) = (file.file_name(), file.metadata()) else { continue };
            let used = about.modified().unwrap_or(now);
            let name = name.to_string_lossy();
            if name.ends_with(UNFINISHED) && now.duration_since(used).is_ok_and(|age| age > FRESH) {
                let _ = fs::remove_file(file.path());
            } else if name.ends_with(SUFFIX) && about.is_file() {
                entries.push((file.path() == newest, used, file.path(), about.len()));
            }
        }
        entries.sort();
        let limit = self.settings.limit;
        let mut size: u64 = entries.iter().map(|e| e.3).sum();
        if size > limit {
            for (_, _, path, bytes) in entries {
                if size <= limit / 8 * 7 {
                    break;
                }
                if fs::remove_file(path).is_ok() {
                    size -= bytes;
                }
            }
        }
        // Other processes write too: this one looks again before it alone could have filled what is left.
        self.room.store(limit.saturating_sub(size) / 8, Ordering::Relaxed);
    }
}

/// Makes a folder that only its user enters.
fn make_folder(folder: &Path) -> std::io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(unix)]
fn others_write(about: &fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o002 != 0
}

#[cfg(not(unix))]
fn others_write(_: &fs::Metadata) -> bool {
    false
}

/// Makes an entry one of the last that are removed.
fn note_use(path: &Path) {
    let now = SystemTime::now();
    let Ok(file) = fs::File::open(path) else { return };
    let last = file.metadata().and_then(|m| m.modified());
    if last.is_ok_and(|t| now.duration_since(t).is_ok_and(|age| age > FRESH)) {
        // Who may read it but not change it leaves it as it is.
        let _ = file.set_modified(now);
    }
}
