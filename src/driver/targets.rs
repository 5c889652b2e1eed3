//! Kernels for other machines, linked with a program that runs them there, under an emulator or a runtime.

use crate::codegen::llvm::target::Named;
use crate::codegen::llvm::{self, Options};
use crate::codegen::remote::{Peer, RemoteKernels};
use crate::ir::Ir;
use crate::support::Diagnostic;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

/// How code for a target is linked and run.
struct Machine {
    /// The name of the target.
    name: &'static str,
    /// The compiler that links; none for WebAssembly, whose linker needs no program in C.
    cc: Option<&'static [&'static str]>,
    /// What runs the program.
    runner: &'static [&'static str],
}

/// The machines on which kernels can be run from here.
static MACHINES: &[Machine] = &[
    Machine { name: "x86-64-v3", cc: Some(&["cc"]), runner: &[] },
    Machine { name: "x86-64-v4", cc: Some(&["cc"]), runner: &[] },
    Machine { name: "aarch64", cc: Some(&["aarch64-linux-gnu-gcc", "-static"]), runner: &["qemu-aarch64"] },
    Machine { name: "riscv64", cc: Some(&["riscv64-linux-gnu-gcc", "-static"]), runner: &["qemu-riscv64"] },
    Machine {
        name: "riscv64-v",
        cc: Some(&["riscv64-linux-gnu-gcc", "-static"]),
        runner: &["qemu-riscv64", "-cpu", "rv64,v=true,vext_spec=v1.0"],
    },
    Machine { name: "wasm32", cc: None, runner: &["rinductor-wasm"] },
];

/// The program around the kernels, but for its table of kernels.
const PROGRAM: &str = include_str!("targets/program.c");

/// The linker of WebAssembly, under the names that it has.
const WASM_LINKERS: &[&str] = &["wasm-ld-22", "wasm-ld"];

/// The targets for which there is a machine, with what each is.
pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    MACHINES.iter().filter_map(|m| Some((m.name, Named::find(m.name)?.summary)))
}

/// A process that has the kernels of a module, with the folder that its program is in.
pub struct Process {
    child: Child,
    _folder: tempfile::TempDir,
    /// The kernels, to be called.
    pub kernels: Arc<RemoteKernels>,
}

impl Drop for Process {
    fn drop(&mut self) {
        // Its input is closed by now, at which it ends by itself; one that hangs is ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a process with the kernels of `ir` for a target.
///
/// # Errors
/// Kernels that LLVM does not compile for it, a linker or an emulator that is not there.
pub fn start(ir: &Ir, target: &str) -> Result<Process, Diagnostic> {
    let machine = MACHINES.iter().find(|m| m.name == target);
    let machine = machine.filter(|m| Named::find(m.name).is_some());
    let machine =
        machine.ok_or_else(|| Diagnostic::error_nowhere(format!("no machine runs kernels for '{target}'")))?;
    let options = Options { target: Some(target.to_string()), ..Options::default() };
    let object = llvm::emit_object(ir, &options)?;
    let failed = |e: std::io::Error| Diagnostic::error_nowhere(format!("cannot run kernels for {target}: {e}"));
    let folder = tempfile::tempdir().map_err(failed)?;
    let path = folder.path().join("kernels.o");
    std::fs::write(&path, object).map_err(failed)?;
    let functions = functions(ir)?;
    let program = match machine.cc {
        Some(cc) => link(folder.path(), &path, cc, &functions)?,
        None => link_wasm(folder.path(), &path)?,
    };
    let mut command = match machine.runner {
        [] => Command::new(&program),
        [first, rest @ ..] => {
            let mut command = Command::new(beside(first));
            command.args(rest).arg(&program);
            command
        }
    };
    if machine.cc.is_none() {
        command.args(&functions);
    }
    let name = machine.runner.first().copied().unwrap_or("the program");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|e| {
        Diagnostic::error_nowhere(format!("cannot run kernels for {target}: {name}: {e}"))
            .help("tools/targets installs what is needed")
    })?;
    let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(Diagnostic::error_nowhere(format!("cannot talk with {name}")));
    };
    let peer = Peer { to: Box::new(to), from: Box::new(std::io::BufReader::new(from)) };
    Ok(Process { child, _folder: folder, kernels: Arc::new(RemoteKernels::new(ir, peer)?) })
}

/// The function that has the code of each kernel, in the order of the module.
fn functions(ir: &Ir) -> Result<Vec<String>, Diagnostic> {
    llvm::functions(ir).map(|list| list.into_iter().map(|(_, function)| function).collect())
}

/// A program beside this one, else one in the PATH.
fn beside(name: &str) -> PathBuf {
    let here = std::env::current_exe().ok().and_then(|p| Some(p.parent()?.join(name)));
    here.filter(|p| p.exists()).unwrap_or_else(|| name.into())
}

/// Links kernels with the program in C.
fn link(folder: &Path, object: &Path, cc: &[&str], functions: &[String]) -> Result<PathBuf, Diagnostic> {
    let mut text = String::new();
    for (k, name) in functions.iter().enumerate() {
        let _ = writeln!(
            text,
            "void kernel_{k}(char *const *, const int64_t *, int64_t, int64_t, struct error *) __asm__(\"{name}\");"
        );
        let _ = writeln!(text, "int64_t steps_{k}(const int64_t *) __asm__(\"{name}_steps\");");
    }
    let rows: Vec<String> = (0..functions.len()).map(|k| format!("{{kernel_{k}, steps_{k}}}")).collect();
    let _ = writeln!(text, "const struct kernel kernels[] = {{{}}};", rows.join(", "));
    let (source, program) = (folder.join("program.c"), folder.join("program"));
    let failed = |what: String| Diagnostic::error_nowhere(format!("cannot link kernels: {what}"));
    let whole = PROGRAM.replacen("// KERNELS\n", &text, 1);
    std::fs::write(&source, whole).map_err(|e| failed(e.to_string()))?;
    let mut command = Command::new(cc[0]);
    command.args(&cc[1..]).arg("-O1").arg(&source).arg(object).arg("-lm").arg("-o").arg(&program);
    run(&mut command, cc[0]).map(|()| program)
}

/// Links kernels as a module of WebAssembly, which takes what it has not from outside.
fn link_wasm(folder: &Path, object: &Path) -> Result<PathBuf, Diagnostic> {
    let program = folder.join("kernels.wasm");
    let linker = WASM_LINKERS.iter().find(|l| Command::new(l).arg("--version").output().is_ok());
    let linker = linker.copied().unwrap_or(WASM_LINKERS[0]);
    let mut command = Command::new(linker);
    command
        .args(["--no-entry", "--export-all", "--allow-undefined", "--import-memory"])
        .arg(object)
        .arg("-o")
        .arg(&program);
    run(&mut command, linker).map(|()| program)
}

fn run(command: &mut Command, name: &str) -> Result<(), Diagnostic> {
    let failed = |what: String| Diagnostic::error_nowhere(format!("cannot link kernels: {name}: {what}"));
    match command.output() {
        Ok(out) if out.status.success() => Ok(()),
        Ok(out) => Err(failed(String::from_utf8_lossy(&out.stderr).trim().to_string())),
        Err(e) => Err(failed(e.to_string()).help("tools/targets installs what is needed")),
    }
}
