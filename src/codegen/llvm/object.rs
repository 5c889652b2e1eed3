//! Kernels as object files and as shared libraries, for programs that link them.

use std::path::Path;
use std::process::Command;

use inkwell::targets::FileType;
use rinductor_support::Diagnostic;

use super::module;
use super::target::Options;
use crate::ir::Ir;

/// An object file with the kernels of `ir`; `abi` says how they are called, `math::calls` which symbols they may need.
pub fn emit_object(ir: &Ir, options: &Options) -> Result<Vec<u8>, Diagnostic> {
    generate(ir, options, FileType::Object)
}

/// The same as assembly.
pub fn emit_assembly(ir: &Ir, options: &Options) -> Result<String, Diagnostic> {
    Ok(String::from_utf8_lossy(&generate(ir, options, FileType::Assembly)?).into_owned())
}

fn generate(ir: &Ir, options: &Options, kind: FileType) -> Result<Vec<u8>, Diagnostic> {
    module::with_module(ir, options, |build, target| {
        module::optimize(build, target, options)?;
        let buffer = target
            .machine
            .write_to_memory_buffer(&build.module, kind)
            .map_err(|e| Diagnostic::error_nowhere(format!("LLVM's code generator: {}", e.to_string_lossy())))?;
        Ok(buffer.as_slice().to_vec())
    })
}

/// The LLVM IR after the passes: what the code generator gets.
pub fn emit_optimized_llvm_ir(ir: &Ir, options: &Options) -> Result<String, Diagnostic> {
    module::with_module(ir, options, |build, target| {
        module::optimize(build, target, options)?;
        Ok(build.module.to_string())
    })
}

/// Writes a shared library with the kernels of `ir` to `path`, linked by the C compiler or the linker that is found.
pub fn emit_shared_library(ir: &Ir, options: &Options, path: &Path) -> Result<(), Diagnostic> {
    let object = emit_object(ir, options)?;
    let error = |what: String| Diagnostic::error_nowhere(what);
    let dir = tempfile::tempdir().map_err(|e| error(format!("no temporary directory: {e}")))?;
    let object_path = dir.path().join("kernels.o");
    std::fs::write(&object_path, object).map_err(|e| error(format!("{}: {e}", object_path.display())))?;
    // In this order; the first that exists links.
    let linkers: [(&str, &[&str]); 6] = [
        ("cc", &["-shared"]),
        ("clang", &["-shared"]),
        ("gcc", &["-shared"]),
        ("clang-22", &["-shared"]),
        ("ld.lld-22", &["-shared"]),
        ("ld.lld", &["-shared"]),
    ];
    for (linker, flags) in linkers {
        let mut command = Command::new(linker);
        command.args(flags).arg(&object_path).arg("-lm").arg("-o").arg(path);
        match command.output() {
            Ok(out) if out.status.success() => return Ok(()),
            Ok(out) => {
                let text = String::from_utf8_lossy(&out.stderr);
                return Err(error(format!("{linker} does not link {}: {}", path.display(), text.trim())));
            }
            Err(_) => {}
        }
    }
    let names: Vec<&str> = linkers.iter().map(|l| l.0).collect();
    Err(error(format!("no linker for a shared library: none of {} is found", names.join(", ")))
        .help("install a C compiler (Debian: apt install gcc) or LLVM's linker (apt install lld-22)"))
}
