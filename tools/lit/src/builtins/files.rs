//! `cat`, `mkdir` and `rm`.

use std::path::Path;

use super::{Output, options};
use crate::files;

/// `cat [-v] [FILE…]`; without files, standard input.
pub fn cat(args: &[String], stdin: &[u8], cwd: &Path) -> Output {
    let parsed = match options::parse(args, "v", &["show-nonprinting"]) {
        Ok(parsed) => parsed,
        Err(e) => return Output::failed(1, format!("Unsupported: 'cat':  {e}")),
    };
    if parsed.operands.is_empty() {
        return Output::text(stdin);
    }
    let mut out = Vec::new();
    for name in &parsed.operands {
        let content = if name == "-" { Ok(stdin.to_vec()) } else { files::read(&cwd.join(name)) };
        match content {
            Ok(content) if parsed.options.is_empty() => out.extend_from_slice(&content),
            Ok(content) => show_nonprinting(&content, &mut out),
            Err(e) => {
                return Output { code: 1, stdout: out, stderr: format!("cat: {name}: {e}\n").into_bytes() };
            }
        }
    }
    Output::text(out)
}

/// Caret and `M-` notation for what is not printable ASCII, tab or newline.
fn show_nonprinting(content: &[u8], out: &mut Vec<u8>) {
    for &byte in content {
        let mut byte = byte;
        if byte == b'\t' || byte == b'\n' {
            out.push(byte);
            continue;
        }
        if byte > 127 {
            byte -= 128;
            out.extend_from_slice(b"M-");
        }
        match byte {
            0..32 => out.extend_from_slice(&[b'^', byte + 64]),
            127 => out.extend_from_slice(b"^?"),
            _ => out.push(byte),
        }
    }
}

/// `mkdir [-p] DIRECTORY…`. An error is one of usage, which ends the script.
pub fn mkdir(args: &[String], cwd: &Path) -> Result<Output, String> {
    let parsed = options::parse(args, "p", &[]).map_err(|e| format!("Unsupported: 'mkdir':  {e}"))?;
    if parsed.operands.is_empty() {
        return Err("Error: 'mkdir' is missing an operand".to_string());
    }
    let mut output = Output::default();
    for name in &parsed.operands {
        let path = cwd.join(name);
        let made = if !parsed.options.is_empty() {
            std::fs::create_dir_all(&path)
        } else if path.is_dir() {
            Ok(())
        } else {
            std::fs::create_dir(&path)
        };
        if let Err(e) = made {
            output.code = 1;
            output.stderr.extend_from_slice(format!("Error: 'mkdir' command failed, {e}: '{name}'\n").as_bytes());
        }
    }
    Ok(output)
}

/// `rm [-frR] PATH…`. An error is one of usage, which ends the script.
pub fn rm(args: &[String], cwd: &Path) -> Result<Output, String> {
    let parsed = options::parse(args, "frR", &["recursive"]).map_err(|e| format!("Unsupported: 'rm':  {e}"))?;
    if parsed.operands.is_empty() {
        return Err("Error: 'rm' is missing an operand".to_string());
    }
    let force = parsed.options.iter().any(|(o, _)| o == "-f");
    let recursive = parsed.options.iter().any(|(o, _)| o != "-f");
    let mut output = Output::default();
    for name in &parsed.operands {
        let path = cwd.join(name);
        let removed = match path.symlink_metadata() {
            Err(_) if force => Ok(()),
            Err(e) => Err(e.to_string()),
            Ok(meta) if meta.is_dir() && !recursive => Err(format!("{} is a directory", path.display())),
            Ok(meta) if meta.is_dir() => std::fs::remove_dir_all(&path).map_err(|e| e.to_string()),
            Ok(_) => std::fs::remove_file(&path).map_err(|e| e.to_string()),
        };
        if let Err(e) = removed {
            output.code = 1;
            output.stderr.extend_from_slice(format!("Error: 'rm' command failed, {e}: '{name}'\n").as_bytes());
        }
    }
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(args: &[&str]) -> Vec<String> {
        args.iter().map(|a| a.to_string()).collect()
    }

    #[test]
    fn cat_shows_and_joins() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(directory.path().join("a"), b"a\x01\xc3\xa9\x7f\n").expect("writes");
        assert_eq!(cat(&strings(&["-v", "a"]), b"", directory.path()).stdout, b"a^AM-CM-)^?\n");
        assert_eq!(cat(&strings(&[]), b"x", directory.path()).stdout, b"x");
        assert_eq!(cat(&strings(&["a", "none"]), b"", directory.path()).code, 1);
        assert_eq!(cat(&strings(&["-q"]), b"", directory.path()).code, 1);
    }

    #[test]
    fn directories_come_and_go() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let cwd = directory.path();
        assert_eq!(mkdir(&strings(&["a/b"]), cwd).expect("runs").code, 1);
        assert_eq!(mkdir(&strings(&["-p", "a/b", "a/b"]), cwd).expect("runs").code, 0);
        assert_eq!(rm(&strings(&["a"]), cwd).expect("runs").code, 1);
        assert_eq!(rm(&strings(&["-rf", "a", "none"]), cwd).expect("runs").code, 0);
        assert!(!cwd.join("a").exists());
        assert_eq!(rm(&strings(&["none"]), cwd).expect("runs").code, 1);
        assert!(rm(&strings(&["-q"]), cwd).is_err());
        assert!(mkdir(&strings(&[]), cwd).is_err());
    }
}
