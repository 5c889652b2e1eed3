//! The file of test times, `.lit_test_times.txt` in the directory of temporary files; the same as lit's.

use std::collections::BTreeMap;
use std::path::Path;

use crate::files;

const NAME: &str = ".lit_test_times.txt";

/// What is known of the last run of a test.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Previous {
    /// Seconds it took; 0 if unknown.
    pub elapsed: f64,
    /// Whether it failed.
    pub failed: bool,
}

/// The times of a suite by path. A failed test has a negative time.
pub type Times = BTreeMap<String, f64>;

/// Reads the times; a file that is not there, or lines that are no times, give nothing.
pub fn read(exec_root: &Path, source_root: &Path) -> Times {
    let text = [exec_root, source_root].iter().find_map(|d| std::fs::read_to_string(d.join(NAME)).ok());
    let line = |line: &str| {
        let (time, path) = line.split_once(' ')?;
        Some((path.to_string(), time.parse::<f64>().ok()?))
    };
    text.unwrap_or_default().lines().filter_map(line).collect()
}

/// What the times say of one test.
pub fn previous(times: &Times, path: &str) -> Previous {
    let time = times.get(path).copied().unwrap_or(0.0);
    Previous { elapsed: time.abs(), failed: time < 0.0 }
}

/// Notes a time.
pub fn note(times: &mut Times, path: &str, elapsed: f64, failed: bool) {
    times.insert(path.to_string(), if failed { (-elapsed).min(-1e-6) } else { elapsed });
}

/// Writes the times. That they cannot be written is no failure of the tests, so it is only reported.
pub fn write(exec_root: &Path, times: &Times) -> Result<(), String> {
    let text: String = times.iter().map(|(path, time)| format!("{time:e} {path}\n")).collect();
    let path = exec_root.join(NAME);
    files::write(&path, text.as_bytes()).map_err(|e| format!("could not save test times to {}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut times = Times::new();
        note(&mut times, "a b.ir", 1.5, false);
        note(&mut times, "c.ir", 0.0, true);
        write(directory.path(), &times).expect("writes");
        let read = read(directory.path(), Path::new("/none"));
        assert_eq!(previous(&read, "a b.ir"), Previous { elapsed: 1.5, failed: false });
        assert!(previous(&read, "c.ir").failed);
        assert_eq!(previous(&read, "new.ir"), Previous::default());
    }
}
