//! The C++ compiler that is found on this machine, and the libraries that it makes.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use rinductor_support::Diagnostic;

use super::flags::FLAGS;

/// Names of compilers, in the order in which they are tried. `CXX` comes before them.
const NAMES: &[&str] = &["g++", "clang++", "c++"];

/// A C++ compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// How it is called.
    pub program: String,
    /// The first line of what it says of itself.
    pub version: String,
}

impl Compiler {
    /// The compiler of this machine: the one that the variable `CXX` names, else the first that there is.
    ///
    /// # Errors
    /// There is none.
    pub fn find() -> Result<Compiler, Diagnostic> {
        static FOUND: OnceLock<Option<Compiler>> = OnceLock::new();
        let chosen = std::env::var("CXX").ok().filter(|c| !c.trim().is_empty());
        if let Some(program) = chosen {
            return Compiler::named(&program).ok_or_else(|| {
                Diagnostic::error_nowhere(format!("CXX names the C++ compiler '{program}', which does not run"))
                    .help("set CXX to a C++ compiler, or unset it")
            });
        }
        let found = FOUND.get_or_init(|| NAMES.iter().find_map(|n| Compiler::named(n)));
        found.clone().ok_or_else(|| {
            let text = format!("no C++ compiler is found: none of {} is there", NAMES.join(", "));
            Diagnostic::error_nowhere(text).help(
                "install GCC 12 or Clang 15, or later ones (Debian: apt install g++), or name one in the variable CXX",
            )
        })
    }

    fn named(program: &str) -> Option<Compiler> {
        let out = Command::new(program).arg("--version").output().ok().filter(|o| o.status.success())?;
        let text = String::from_utf8_lossy(&out.stdout);
        Some(Compiler { program: program.to_string(), version: text.lines().next().unwrap_or("").to_string() })
    }

    /// Everything beside the text that what it makes depends on.
    pub fn describe(&self) -> String {
        format!("{}; {}; {}", self.version, FLAGS.join(" "), features())
    }

    /// A shared library from a text.
    ///
    /// # Errors
    /// The compiler does not take the text, which is a fault of the emitter, or there is no place for files.
    pub fn shared_library(&self, text: &str, more: &[&str]) -> Result<Vec<u8>, Diagnostic> {
        let failed = |e: std::io::Error| Diagnostic::error_nowhere(format!("cannot compile C++: {e}"));
        let dir = tempfile::tempdir().map_err(failed)?;
        let (source, library) = (dir.path().join("kernels.cpp"), dir.path().join("kernels.so"));
        std::fs::write(&source, text).map_err(failed)?;
        self.run(&source, &library, more)?;
        std::fs::read(&library).map_err(failed)
    }

    /// Makes a shared library of a file.
    ///
    /// # Errors
    /// As [`Compiler::library`].
    pub fn run(&self, source: &Path, library: &Path, more: &[&str]) -> Result<(), Diagnostic> {
        let mut command = Command::new(&self.program);
        command.args(FLAGS).args(more).arg("-w").arg("-shared").arg("-o").arg(library).arg(source).arg("-lm");
        let out = command
            .output()
            .map_err(|e| Diagnostic::error_nowhere(format!("the C++ compiler '{}' does not run: {e}", self.program)))?;
        if out.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&out.stderr);
        let said: Vec<&str> = said.lines().filter(|l| l.contains("error")).take(5).collect();
        Err(Diagnostic::error_nowhere(format!("{} does not compile the emitted C++: {}", self.version, said.join("; ")))
            .help("GCC 12 or Clang 15 or later is needed; if that is what compiled it, this is a fault of rinductor's C++ emitter"))
    }
}

/// What `-march=native` means here.
fn features() -> String {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        let all = [
            ("sse4.2", has!("sse4.2")),
            ("avx", has!("avx")),
            ("avx2", has!("avx2")),
            ("fma", has!("fma")),
            ("f16c", has!("f16c")),
            ("bmi2", has!("bmi2")),
            ("avx512f", has!("avx512f")),
            ("avx512bw", has!("avx512bw")),
            ("avx512dq", has!("avx512dq")),
            ("avx512vl", has!("avx512vl")),
            ("avx512vbmi", has!("avx512vbmi")),
            ("avx512bf16", has!("avx512bf16")),
        ];
        all.iter().filter(|f| f.1).map(|f| f.0).collect::<Vec<_>>().join(",")
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::env::consts::ARCH.to_string()
}
