//! Running a function at the kernel level as machine code, with the arguments and results of the interpreter's [`reference`](super::reference).

use crate::codegen::backend::KernelCode;
use crate::codegen::compiled::CompiledKernels;
use crate::codegen::cpu::Cpu;
use crate::driver::reference::Argument;
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
    /// Compiles the kernels of `ir`, and prepares its function `name` to run.
    ///
    /// # Errors
    /// A kernel that the emitter cannot spell, a function that the host cannot run.
    pub fn new(ir: &Ir, name: &str, cpu: Cpu) -> Result<Compiled, Diagnostic> {
        Compiled::with_objects(ir, name, cpu).map(|(compiled, _)| compiled)
    }

    /// The same, with the objects that the kernels are in.
    ///
    /// # Errors
    /// As [`Compiled::new`].
    pub fn with_objects(ir: &Ir, name: &str, cpu: Cpu) -> Result<(Compiled, Vec<Vec<u8>>), Diagnostic> {
        let (code, objects) = cpu.compile(ir)?;
        Ok((Compiled::of(ir, name, Arc::new(code))?, objects))
    }

    /// Prepares function `name` of `ir` to run with kernels that are compiled.
    ///
    /// # Errors
    /// A function that the host cannot run.
    pub fn of(ir: &Ir, name: &str, code: Arc<CompiledKernels>) -> Result<Compiled, Diagnostic> {
        let kernels = code.all().len();
        Ok(Compiled { executable: exec::Executable::new(ir, name, code)?, kernels })
    }

    /// Prepares function `name` of `ir` to run with kernels that something else runs.
    ///
    /// # Errors
    /// A function that the host cannot run.
    pub fn with_code(ir: &Ir, name: &str, code: Arc<dyn KernelCode>) -> Result<Compiled, Diagnostic> {
        Ok(Compiled { executable: exec::Executable::new(ir, name, code)?, kernels: 0 })
    }

    /// The same, with this number of threads for a kernel; 0 for as many as there are.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Compiled {
        Compiled { executable: self.executable.with_threads(threads), ..self }
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
