//! `rinductor-translate --to=package`: a folder with a model's function that needs neither Python nor PyTorch nor this compiler.
//!
//! It is written under another name, and gets its own when all of it is there.

use std::path::Path;

use crate::codegen::cpp::{self, Compiler, Extent};
use crate::codegen::vector::build::Machine;
use crate::ir::Ir;
use crate::support::Diagnostic;

/// Writes the package of the only public function of `ir`.
///
/// # Errors
/// An op that has no C++ code, no C++ compiler, a folder that cannot be written or that is there already with something in it.
pub fn write(ir: &Ir, machine: Machine, folder: &Path) -> Result<(), Diagnostic> {
    let failed = |e: std::io::Error| Diagnostic::error_nowhere(format!("cannot write {}: {e}", folder.display()));
    if folder.read_dir().is_ok_and(|mut d| d.next().is_some()) || folder.is_file() {
        return Err(Diagnostic::error_nowhere(format!("{} is there already", folder.display())));
    }
    let program = cpp::emit(ir, machine, Extent::Program)?;
    let signature = program.signature.ok_or_else(|| Diagnostic::error_nowhere("a program has a function"))?;
    let compiler = Compiler::find()?;
    let beside = folder.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(beside).map_err(failed)?;
    let dir = tempfile::Builder::new().prefix(".package").tempdir_in(beside).map_err(failed)?;
    let name = &signature.name;
    let source = dir.path().join(format!("{name}.cpp"));
    let library = format!("lib{name}.so");
    std::fs::write(&source, &program.text).map_err(failed)?;
    std::fs::write(dir.path().join(format!("{name}.h")), signature.header()).map_err(failed)?;
    std::fs::write(dir.path().join("main.c"), signature.main()).map_err(failed)?;
    std::fs::write(dir.path().join("Makefile"), makefile(name)).map_err(failed)?;
    compiler.run(&source, &dir.path().join(&library), &["-fopenmp"])?;
    if folder.is_dir() {
        std::fs::remove_dir(folder).map_err(failed)?;
    }
    let made = dir.keep();
    std::fs::rename(&made, folder).map_err(|e| {
        // What is left goes too; the error that counts is the first.
        let _ = std::fs::remove_dir_all(&made);
        failed(e)
    })
}

/// How the program is built, and the library again.
fn makefile(name: &str) -> String {
    let compile = cpp::flags::SHOWN.trim_start_matches("g++ ");
    format!(
        "# make: the program main, which calls {name} of lib{name}.so. make lib{name}.so CXX=…: the library for another machine.\n\
         main: main.c {name}.h lib{name}.so\n\t$(CC) -O2 -o main main.c -L. -l{name} -Wl,-rpath,'$$ORIGIN'\n\n\
         lib{name}.so: {name}.cpp\n\t$(CXX) {compile} -o lib{name}.so {name}.cpp -lm\n"
    )
}
