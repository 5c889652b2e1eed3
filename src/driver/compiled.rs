//! Running a function at the kernel level as machine code, with the arguments and results of the interpreter's [`reference`](super::reference).

use super::reference::Argument;
use crate::codegen::llvm::{CompiledKernels, Options};
use crate::ir::Ir;
use crate::runtime::exec;
use crate::support::Diagnostic;
use std::sync::Arc;

/// A function that can be called.
pub struct Compiled {
    executable: exec::Executable,
    kernels: usize,
}

impl Compiled {
    /// Compiles the kernels of `ir` through LLVM, and prepares its function `name` to run.
    ///
    /// # Errors
    /// A kernel that the emitter cannot spell, a function that the host cannot run.
    pub fn new(ir: &Ir, name: &str) -> Result<Compiled, Diagnostic> {
        let code = CompiledKernels::compile(ir, &Options::default())?;
        let kernels = code.all().len();
        Ok(Compiled { executable: exec::Executable::new(ir, name, Arc::new(code))?, kernels })
    }

    /// How many kernels there are.
    pub fn kernels(&self) -> usize {
        self.kernels
    }

    /// Calls it. Arguments that it writes are changed.
    ///
    /// # Errors
    /// Arguments that do not fit, an index out of range, an extern op that fails.
    pub fn run(&self, arguments: &[Argument]) -> Result<Vec<Argument>, Diagnostic> {
        let inputs: Result<Vec<exec::Argument>, Diagnostic> = arguments
            .iter()
            .map(|a| match a {
                Argument::Tensor(t) => Ok(exec::Argument::Tensor(t.clone())),
                Argument::Int(n) => Ok(exec::Argument::Int(*n)),
                Argument::None => Err(Diagnostic::error_nowhere("an argument is None")),
            })
            .collect();
        let results = self.executable.run(&inputs?).map_err(|e| Diagnostic::error_nowhere(e.to_string()))?;
        let convert = |r| match r {
            exec::Returned::Tensor(t) => Argument::Tensor(t),
            exec::Returned::Int(n) => Argument::Int(n),
            exec::Returned::Nothing => Argument::None,
        };
        Ok(results.into_iter().map(convert).collect())
    }
}
