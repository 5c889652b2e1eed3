//! Streams and files of the programs: inputs read whole, outputs written whole or not at all.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// The streams of a program.
pub struct Io<'a> {
    /// Standard input.
    pub stdin: &'a mut dyn Read,
    /// Standard output.
    pub stdout: &'a mut dyn Write,
    /// Standard error.
    pub stderr: &'a mut dyn Write,
    /// Whether standard error shows colours.
    pub color: bool,
}

impl Io<'_> {
    /// The same streams, for a call inside.
    pub fn reborrow(&mut self) -> Io<'_> {
        Io { stdin: &mut *self.stdin, stdout: &mut *self.stdout, stderr: &mut *self.stderr, color: self.color }
    }
}

/// A program: its arguments, streams and directory give its exit code.
pub type Main = fn(&[String], &mut Io, &Path) -> i32;

/// Runs a main with the process's own arguments, streams and directory; gives its exit code. Arguments that are not UTF-8 are an error.
pub fn run_main(main: Main) -> i32 {
    use std::io::IsTerminal;
    let mut stderr = std::io::stderr();
    let mut args = Vec::new();
    for arg in std::env::args_os().skip(1) {
        match arg.into_string() {
            Ok(arg) => args.push(arg),
            Err(arg) => {
                // Nothing is left to do when the error stream is closed.
                let _ = writeln!(stderr, "error: the argument '{}' is not UTF-8", arg.to_string_lossy());
                return 1;
            }
        }
    }
    let color = stderr.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let cwd = std::env::current_dir().unwrap_or_default();
    let mut stdout = std::io::stdout().lock();
    let mut io = Io { stdin: &mut std::io::stdin(), stdout: &mut stdout, stderr: &mut stderr, color };
    main(&args, &mut io, &cwd)
}

/// The bytes of an input: a file, or standard input for `-`.
///
/// # Errors
/// A sentence that names the file.
pub fn read_input(name: &str, cwd: &Path, stdin: &mut dyn Read) -> Result<Vec<u8>, String> {
    if name == "-" {
        let mut bytes = Vec::new();
        return match stdin.read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(e) => Err(format!("cannot read standard input: {e}")),
        };
    }
    let path = cwd.join(name);
    if path.is_dir() {
        return Err(format!("cannot read '{name}': it is a directory"));
    }
    std::fs::read(&path).map_err(|e| format!("cannot read '{name}': {}", plain(&e)))
}

/// The name that diagnostics show for an input.
pub fn display_name(name: &str) -> &str {
    if name == "-" { "<stdin>" } else { name }
}

/// Writes an output: a file, or standard output for `-`. A file appears whole or stays as it was.
///
/// # Errors
/// A sentence that names the file.
pub fn write_output(name: &str, bytes: &[u8], cwd: &Path, stdout: &mut dyn Write) -> Result<(), String> {
    if name == "-" {
        return match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            // Who reads us has seen enough (`| head`): that is no failure of ours.
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            Err(e) => Err(format!("cannot write to standard output: {e}")),
            Ok(()) => Ok(()),
        };
    }
    write_file(&cwd.join(name), bytes).map_err(|e| format!("cannot write '{name}': {}", plain(&e)))
}

/// Writes a file by way of a temporary one beside it.
fn write_file(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    // A link stays a link: what it points to is replaced.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    match std::fs::metadata(&path) {
        Ok(m) if m.is_dir() => return Err(std::io::Error::other("it is a directory")),
        // A device or a pipe is written to, not replaced.
        Ok(m) if !m.is_file() => return std::fs::write(&path, bytes),
        Ok(m) if m.permissions().readonly() => return Err(std::io::Error::other("it is read-only")),
        _ => {}
    }
    let dir = path.parent().filter(|p| !p.as_os_str().is_empty()).map_or_else(|| PathBuf::from("."), Path::to_path_buf);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".rinductor-");
    #[cfg(unix)]
    let permissions = {
        use std::os::unix::fs::PermissionsExt;
        // As any newly made file: the process's mask takes away what it must.
        std::fs::Permissions::from_mode(0o666)
    };
    #[cfg(unix)]
    builder.permissions(permissions);
    let mut file = builder.tempfile_in(&dir)?;
    file.write_all(bytes)?;
    if let Ok(old) = std::fs::metadata(&path) {
        file.as_file().set_permissions(old.permissions())?;
    }
    file.persist(&path).map_err(|e| e.error)?;
    Ok(())
}

/// The message of an error of the system, without its number.
pub(super) fn plain(e: &std::io::Error) -> String {
    let text = e.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_and_replaced_whole() {
        let dir = tempfile::tempdir().unwrap();
        let cwd = dir.path();
        let mut out = Vec::new();
        write_output("a.ir", b"one", cwd, &mut out).unwrap();
        write_output("a.ir", b"two", cwd, &mut out).unwrap();
        write_output("-", b"three", cwd, &mut out).unwrap();
        assert_eq!(read_input("a.ir", cwd, &mut std::io::empty()).unwrap(), b"two");
        assert_eq!((out.as_slice(), std::fs::read_dir(cwd).unwrap().count()), (b"three".as_slice(), 1));
        assert_eq!(read_input("-", cwd, &mut &b"in"[..]).unwrap(), b"in");
    }

    #[test]
    fn errors_name_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let cwd = dir.path();
        let read = |name| read_input(name, cwd, &mut std::io::empty()).unwrap_err();
        assert_eq!(read("."), "cannot read '.': it is a directory");
        assert_eq!(read("none.ir"), "cannot read 'none.ir': no such file or directory");
        let write = |name| write_output(name, b"", cwd, &mut Vec::new()).unwrap_err();
        assert_eq!(write("."), "cannot write '.': it is a directory");
        assert_eq!(write("no/dir.ir"), "cannot write 'no/dir.ir': no such file or directory");
    }
}
