//! The back ends that make machine code of kernels, by name.

use rinductor_support::Diagnostic;

use super::compiled::CompiledKernels;
use super::cpp::Compiler;
use crate::ir::Ir;

/// A back end for the CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cpu {
    /// LLVM, in the process.
    Llvm,
    /// C++, and the C++ compiler that is found.
    Cpp,
}

impl Default for Cpu {
    /// LLVM, in builds that have it.
    fn default() -> Self {
        if cfg!(feature = "llvm") { Cpu::Llvm } else { Cpu::Cpp }
    }
}

impl Cpu {
    /// Those that this build has, the usual one first.
    pub const ALL: &'static [Cpu] = if cfg!(feature = "llvm") { &[Cpu::Llvm, Cpu::Cpp] } else { &[Cpu::Cpp] };

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Cpu::Llvm => "llvm",
            Cpu::Cpp => "cpp",
        }
    }

    /// The back end of a name.
    ///
    /// # Errors
    /// This build has none of that name.
    pub fn parse(name: &str) -> Result<Cpu, Diagnostic> {
        let all: Vec<&str> = Cpu::ALL.iter().map(|c| c.name()).collect();
        Cpu::ALL.iter().copied().find(|c| c.name() == name).ok_or_else(|| {
            Diagnostic::error_nowhere(format!("there is no back end '{name}' for the CPU, there is {}", all.join(", ")))
        })
    }

    /// Compiles all `kernels.func`s of `ir`. With them come the objects that [`Cpu::load`] takes.
    ///
    /// # Errors
    /// A kernel that the emitter cannot spell; nothing that compiles.
    pub fn compile(self, ir: &Ir) -> Result<(CompiledKernels, Vec<Vec<u8>>), Diagnostic> {
        match self {
            #[cfg(feature = "llvm")]
            Cpu::Llvm => CompiledKernels::compile_to_objects(ir, &super::llvm::Options::default()),
            #[cfg(not(feature = "llvm"))]
            Cpu::Llvm => Err(no_llvm()),
            Cpu::Cpp => CompiledKernels::compile_cpp(ir),
        }
    }

    /// Takes the code of all `kernels.func`s of `ir`, with or without their bodies, from objects that were compiled for it.
    ///
    /// # Errors
    /// The objects have not the kernels, or are none.
    pub fn load<O: AsRef<[u8]>>(self, ir: &Ir, objects: &[O]) -> Result<CompiledKernels, Diagnostic> {
        match self {
            #[cfg(feature = "llvm")]
            Cpu::Llvm => CompiledKernels::load(ir, objects),
            #[cfg(not(feature = "llvm"))]
            Cpu::Llvm => Err(no_llvm()),
            Cpu::Cpp => CompiledKernels::load_cpp(ir, objects),
        }
    }

    /// Everything beside the kernels that the code depends on.
    pub fn describe(self) -> String {
        match self {
            #[cfg(feature = "llvm")]
            Cpu::Llvm => super::llvm::Options::default().describe(),
            #[cfg(not(feature = "llvm"))]
            Cpu::Llvm => String::new(),
            Cpu::Cpp => Compiler::find().map_or_else(|d| d.message, |c| format!("C++; {}", c.describe())),
        }
    }
}

#[cfg(not(feature = "llvm"))]
fn no_llvm() -> Diagnostic {
    Diagnostic::error_nowhere("this build has no LLVM: use the back end 'cpp', or build with the feature 'llvm'")
}
