//! `rinductor-translate`: from IR to what is not IR, by one table of translations.

use super::program::{self, Program};
use super::session::Dialects;
use super::{Io, args, help};
use crate::codegen::cpp;
use crate::codegen::triton::Extent;
use crate::ir::Ir;
use crate::support::Diagnostic;
use clap::Command;
use std::path::Path;
use std::sync::Arc;

/// What a translation may be told.
#[derive(Clone, Default)]
pub struct Settings {
    /// `--target`.
    pub target: Option<String>,
    /// `--target-cpu`.
    pub target_cpu: Option<String>,
    /// The dialects that are known; those that come with the compiler if it does not say.
    pub dialects: Option<Arc<Dialects>>,
}

/// Makes the bytes of a translation.
pub type TranslateFn = fn(&Ir, &Settings) -> Result<Vec<u8>, Diagnostic>;

/// One translation.
pub struct Translation {
    /// The name: `--to=NAME`.
    pub name: &'static str,
    /// What it makes, in one sentence without a full stop.
    pub summary: &'static str,
    /// Whether that is text.
    pub text: bool,
    /// What makes it from IR.
    pub run: TranslateFn,
}

/// All translations of IR.
pub static TABLE: &[Translation] = &[
    #[cfg(feature = "llvm")]
    Translation { name: "asm", summary: "assembly of the kernels, by LLVM", text: true, run: llvm::assembly },
    #[cfg(feature = "llvm")]
    Translation {
        name: "llvm-ir",
        summary: "LLVM IR of the kernels, as the emitter writes it",
        text: true,
        run: llvm::ir,
    },
    #[cfg(feature = "llvm")]
    Translation {
        name: "llvm-ir-optimized",
        summary: "LLVM IR of the kernels after LLVM's passes",
        text: true,
        run: llvm::optimized,
    },
    #[cfg(feature = "llvm")]
    Translation { name: "object", summary: "an object file with the kernels", text: false, run: llvm::object },
    #[cfg(feature = "llvm")]
    Translation {
        name: "shared-lib",
        summary: "a shared library with the kernels",
        text: false,
        run: llvm::shared_library,
    },
    Translation {
        name: "cpp",
        summary: "one C++ file with the kernels and the function that launches them",
        text: true,
        run: cpp,
    },
    Translation { name: "cpp-kernels", summary: "the kernels alone as a C++ file", text: true, run: cpp_kernels },
    Translation {
        name: "schedule",
        summary: "the schedule that the pipeline cpu gives the module, for apply-schedule",
        text: true,
        run: schedule,
    },
    Translation {
        name: "triton",
        summary: "a Python module with the kernels in Triton and the function that runs them",
        text: true,
        run: triton,
    },
    Translation {
        name: "triton-kernels",
        summary: "the same without what makes the module a program: random arguments, --check and --bench",
        text: true,
        run: triton_kernels,
    },
];

fn cpp(ir: &Ir, settings: &Settings) -> Result<Vec<u8>, Diagnostic> {
    let machine = cpp::machine::of(settings.target_cpu.as_deref())?;
    cpp::emit(ir, machine, cpp::Extent::Program).map(|p| p.text.into_bytes())
}

fn cpp_kernels(ir: &Ir, settings: &Settings) -> Result<Vec<u8>, Diagnostic> {
    let machine = cpp::machine::of(settings.target_cpu.as_deref())?;
    cpp::emit(ir, machine, cpp::Extent::Kernels).map(|p| p.text.into_bytes())
}

fn schedule(ir: &Ir, settings: &Settings) -> Result<Vec<u8>, Diagnostic> {
    let dialects = settings.dialects.clone().unwrap_or_else(Dialects::builtin);
    super::schedule::automatic(ir, &dialects).map(String::into_bytes)
}

fn triton(ir: &Ir, settings: &Settings) -> Result<Vec<u8>, Diagnostic> {
    let dialects = settings.dialects.clone().unwrap_or_else(Dialects::builtin);
    crate::codegen::triton::emit(ir, &*dialects, Extent::Program).map(String::into_bytes)
}

fn triton_kernels(ir: &Ir, settings: &Settings) -> Result<Vec<u8>, Diagnostic> {
    let dialects = settings.dialects.clone().unwrap_or_else(Dialects::builtin);
    crate::codegen::triton::emit(ir, &*dialects, Extent::Kernels).map(String::into_bytes)
}

/// What is made of the compiler's own tables, without an input.
const DOCS: &[(&str, &str)] = &[("pass-docs", "documentation of all passes, in Markdown")];

/// What becomes a folder.
const FOLDERS: &[(&str, &str)] =
    &[("package", "a folder (--output) with a shared library, its C header, a small program, and the C++ text")];

fn command() -> Command {
    let names = TABLE.iter().map(|t| (t.name, t.summary)).chain(DOCS.iter().chain(FOLDERS).copied());
    let values = names.map(|(name, summary)| clap::builder::PossibleValue::new(name).help(summary));
    args::common(Command::new("rinductor-translate"))
        .about("Translates IR at the kernel level to other languages, and the compiler's tables to documentation")
        .override_usage("rinductor-translate --to=WHAT [OPTIONS] [INPUT]")
        .arg(args::input())
        .arg(args::output())
        .arg(
            args::required(args::value("to", "WHAT", "What to make"))
                .value_parser(clap::builder::PossibleValuesParser::new(values)),
        )
        .args(targets())
        .arg(args::value(
            "target-cpu",
            "CPU",
            "CPU to make code for, by LLVM's name; this machine's, or what all of the target have, if not given",
        ))
}

/// `--target`, where there is something to make code with.
fn targets() -> Option<clap::Arg> {
    #[cfg(feature = "llvm")]
    {
        use crate::codegen::llvm::target::TARGETS;
        let values = TARGETS.iter().map(|t| clap::builder::PossibleValue::new(t.name).help(t.summary));
        let help = "Machine to make asm, llvm-ir, llvm-ir-optimized and object for; this one if not given";
        let values = clap::builder::PossibleValuesParser::new(values);
        Some(args::value("target", "TARGET", help).value_parser(values))
    }
    #[cfg(not(feature = "llvm"))]
    None
}

/// The program. Gives its exit code.
pub fn main_translate(args: &[String], io: &mut Io, cwd: &Path) -> i32 {
    program::main(command(), args, io, cwd, &mut |program: &mut Program, io: &mut Io| {
        let to = program.text("to").unwrap_or("");
        if to == "package" {
            let output = program.text("output").filter(|&o| o != "-");
            let output = output.ok_or_else(|| "--to=package writes a folder: name it by --output".to_string())?;
            let folder = program.cwd.join(output);
            let machine = cpp::machine::of(program.text("target-cpu"))?;
            super::package::write(&program.module(io)?.0, machine, &folder)?;
            return Ok(0);
        }
        let bytes = if to == "pass-docs" {
            help::pass_docs().into_bytes()
        } else {
            let translation = TABLE.iter().find(|t| t.name == to);
            let translation = translation.ok_or_else(|| format!("there is no translation '{to}'"))?;
            let settings = Settings {
                target: program.matches.try_get_one::<String>("target").ok().flatten().cloned(),
                target_cpu: program.text("target-cpu").map(str::to_string),
                dialects: Some(program.dialects.clone()),
            };
            (translation.run)(&program.module(io)?.0, &settings)?
        };
        program.write(program.text("output").unwrap_or("-"), bytes, io)?;
        Ok(0)
    })
}

#[cfg(feature = "llvm")]
mod llvm {
    use super::Settings;
    use crate::codegen::llvm::{self, Options};
    use crate::ir::Ir;
    use crate::support::Diagnostic;

    fn options(settings: &Settings) -> Options {
        let (target, target_cpu) = (settings.target.clone(), settings.target_cpu.clone());
        Options { target, target_cpu, ..Options::default() }
    }
    pub fn ir(ir: &Ir, settings: &Settings) -> Result<Vec<u8>, Diagnostic> {
        llvm::emit_llvm_ir(ir, &options(settings)).map(String::into_bytes)
    }
    pub fn optimized(ir: &Ir, settings: &Settings) -> Result<Vec<u8>, Diagnostic> {
        llvm::emit_optimized_llvm_ir(ir, &options(settings)).map(String::into_bytes)
    }
    pub fn assembly(ir: &Ir, settings: &Settings) -> Result<Vec<u8>, Diagnostic> {
        llvm::emit_assembly(ir, &options(settings)).map(String::into_bytes)
    }
    pub fn object(ir: &Ir, settings: &Settings) -> Result<Vec<u8>, Diagnostic> {
        llvm::emit_object(ir, &options(settings))
    }
    pub fn shared_library(ir: &Ir, settings: &Settings) -> Result<Vec<u8>, Diagnostic> {
        let failed = |e: std::io::Error| Diagnostic::error_nowhere(format!("cannot make a shared library: {e}"));
        let dir = tempfile::tempdir().map_err(failed)?;
        let path = dir.path().join("kernels.so");
        llvm::emit_shared_library(ir, &options(settings), &path)?;
        std::fs::read(&path).map_err(failed)
    }
}
