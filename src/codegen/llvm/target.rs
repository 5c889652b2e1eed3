//! The target: the machine at hand, or a named CPU.

use std::sync::Once;

use inkwell::OptimizationLevel;
use inkwell::targets::{
    CodeModel, InitializationConfig, RelocMode, Target, TargetMachine, TargetMachineOptions, TargetTriple,
};
use rinductor_support::Diagnostic;

use crate::codegen::vector::build::Machine;

/// What code is made for, and how.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `--target`: one of [`TARGETS`]; the machine at hand when not given.
    pub target: Option<String>,
    /// `--target-cpu`: a CPU name of LLVM's; the machine at hand, or the target's least, when not given.
    pub target_cpu: Option<String>,
    /// The pass pipeline in LLVM's notation; [`PASSES`] when not given.
    pub passes: Option<String>,
    /// How hard LLVM's code generator tries; [`CodegenLevel::Less`] is the default, measured in `docs/codegen-llvm.md`.
    pub level: CodegenLevel,
}

/// How hard LLVM's code generator tries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodegenLevel {
    /// `-O1` of llc.
    #[default]
    Less,
    /// `-O2` of llc.
    Default,
}

/// The default pass pipeline. The emitter hoists, unrolls and vectorizes by itself, so what is left is to put the math functions in place
/// and to clean up after it; measured against `default<O1>` and `default<O2>` in `docs/codegen-llvm.md`.
pub const PASSES: &str = "always-inline,function(early-cse,simplifycfg)";

/// A target by name.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// The name: `--target=NAME`.
    pub name: &'static str,
    /// What it is, for people.
    pub summary: &'static str,
    triple: &'static str,
    cpu: &'static str,
    features: &'static str,
    /// What the emitter needs to know of it.
    pub model: Machine,
}

const X86: Machine = Machine { vector_bits: 256, fma: true, f16c: true, masked_words: true, masked_bytes: false };
const SMALL: Machine = Machine { vector_bits: 128, fma: true, f16c: false, masked_words: false, masked_bytes: false };

/// The targets that have names.
pub static TARGETS: &[Named] = &[
    Named {
        name: "x86-64-v3",
        summary: "x86-64 with AVX2 and FMA: 256-bit vectors",
        triple: "x86_64-unknown-linux-gnu",
        cpu: "x86-64-v3",
        features: "",
        model: X86,
    },
    Named {
        name: "x86-64-v4",
        summary: "x86-64 with AVX-512: 512-bit vectors",
        triple: "x86_64-unknown-linux-gnu",
        cpu: "x86-64-v4",
        features: "",
        model: Machine { vector_bits: 512, masked_bytes: true, ..X86 },
    },
    Named {
        name: "aarch64",
        summary: "64-bit Arm with Neon: 128-bit vectors",
        triple: "aarch64-unknown-linux-gnu",
        cpu: "generic",
        features: "+neon",
        model: Machine { f16c: true, ..SMALL },
    },
    Named {
        name: "riscv64",
        summary: "64-bit RISC-V as every Linux has it (rv64gc): no vectors",
        triple: "riscv64-unknown-linux-gnu",
        cpu: "generic-rv64",
        features: "+m,+a,+f,+d,+c",
        model: SMALL,
    },
    Named {
        name: "riscv64-v",
        summary: "64-bit RISC-V with the vector extension: vectors of 128 bits or more",
        triple: "riscv64-unknown-linux-gnu",
        cpu: "generic-rv64",
        features: "+m,+a,+f,+d,+c,+v",
        model: SMALL,
    },
    Named {
        name: "wasm32",
        summary: "WebAssembly with SIMD: 128-bit vectors, 32-bit pointers",
        triple: "wasm32-unknown-unknown",
        cpu: "generic",
        features: "+simd128,+bulk-memory,+nontrapping-fptoint,+sign-ext,+mutable-globals",
        model: Machine { fma: false, ..SMALL },
    },
];

impl Named {
    /// The target of a name.
    pub fn find(name: &str) -> Option<&'static Named> {
        TARGETS.iter().find(|t| t.name == name)
    }
}

/// A target with what the emitter needs to know of it.
pub struct TargetInfo {
    /// LLVM's target machine.
    pub machine: TargetMachine,
    /// CPU name, for function attributes.
    pub cpu: String,
    /// CPU features, for function attributes.
    pub features: String,
    /// What the emitter needs to know.
    pub model: Machine,
}

/// Makes LLVM's back end known to it, once.
pub(super) fn initialize() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let all = InitializationConfig::default();
        Target::initialize_x86(&all);
        Target::initialize_aarch64(&all);
        Target::initialize_riscv(&all);
        Target::initialize_webassembly(&all);
        // On another architecture this is the host's back end.
        let _ = Target::initialize_native(&InitializationConfig::default());
    });
}

impl Options {
    /// Everything beside the kernels that the code depends on: LLVM, the machine, these options.
    pub fn describe(&self) -> String {
        let (major, minor, patch) = inkwell::support::get_llvm_version();
        let triple = TargetMachine::get_default_triple();
        let (cpu, features) = (TargetMachine::get_host_cpu_name(), TargetMachine::get_host_cpu_features());
        format!("LLVM {major}.{minor}.{patch}; {}; {cpu}; {features}; {self:?}", triple.as_str().to_string_lossy())
    }
}

/// LLVM's name for the CPU of this machine.
pub fn host_cpu() -> String {
    TargetMachine::get_host_cpu_name().to_string()
}

impl TargetInfo {
    /// The target that the options name.
    pub fn new(options: &Options) -> Result<TargetInfo, Diagnostic> {
        initialize();
        let error = |m: String| Diagnostic::error_nowhere(format!("LLVM has no back end for this machine: {m}"));
        let named = match &options.target {
            Some(name) => Some(Named::find(name).ok_or_else(|| {
                let names: Vec<&str> = TARGETS.iter().map(|t| t.name).collect();
                Diagnostic::error_nowhere(format!("there is no target '{name}'; there are {}", names.join(", ")))
            })?),
            None => None,
        };
        let triple = named.map_or_else(TargetMachine::get_default_triple, |n| TargetTriple::create(n.triple));
        let target = Target::from_triple(&triple).map_err(|e| error(e.to_string()))?;
        let (cpu, features) = match (&options.target_cpu, named) {
            (Some(cpu), Some(named)) => (cpu.clone(), named.features.to_string()),
            (None, Some(named)) => (named.cpu.to_string(), named.features.to_string()),
            (Some(cpu), None) if *cpu != "native" => (cpu.clone(), String::new()),
            _ => (TargetMachine::get_host_cpu_name().to_string(), TargetMachine::get_host_cpu_features().to_string()),
        };
        // What is linked into a module of WebAssembly stays where it is put.
        let wasm = named.is_some_and(|n| n.triple.starts_with("wasm"));
        let settings = TargetMachineOptions::new()
            .set_cpu(&cpu)
            .set_features(&features)
            .set_level(match options.level {
                CodegenLevel::Less => OptimizationLevel::Less,
                CodegenLevel::Default => OptimizationLevel::Default,
            })
            .set_reloc_mode(if wasm { RelocMode::Static } else { RelocMode::PIC })
            .set_code_model(CodeModel::Default);
        let machine = target
            .create_target_machine_from_options(&triple, settings)
            .ok_or_else(|| error(format!("no target machine for the CPU '{cpu}'")))?;
        let model = match named {
            Some(named) if options.target_cpu.is_none() => named.model,
            _ => model_of(&machine, &cpu, &features),
        };
        Ok(TargetInfo { machine, cpu, features, model })
    }
}

/// What the CPU can do: from its feature list where there is one, else from its name.
fn model_of(machine: &TargetMachine, cpu: &str, features: &str) -> Machine {
    let triple = machine.get_triple();
    let x86 = triple.as_str().to_string_lossy().starts_with("x86_64");
    let named = |level: u8| match cpu {
        "x86-64-v4" | "skylake-avx512" | "icelake-server" | "sapphirerapids" | "znver4" | "znver5" | "cascadelake" => {
            true
        }
        "x86-64-v3" | "haswell" | "broadwell" | "skylake" | "znver1" | "znver2" | "znver3" | "alderlake" => level <= 3,
        _ => false,
    };
    let has = |f: &str, level: u8| {
        if features.is_empty() { named(level) } else { features.split(',').any(|x| x.strip_prefix('+') == Some(f)) }
    };
    if !x86 {
        // 128-bit vectors with fused multiply-add: AArch64 and its like.
        return Machine { vector_bits: 128, fma: true, f16c: true, masked_words: false, masked_bytes: false };
    }
    let avx512 = has("avx512f", 4) && has("avx512bw", 4) && has("avx512vl", 4);
    let avx2 = has("avx2", 3);
    Machine {
        vector_bits: if avx512 {
            512
        } else if avx2 {
            256
        } else {
            128
        },
        fma: has("fma", 3),
        f16c: has("f16c", 3),
        masked_words: avx2,
        masked_bytes: avx512,
    }
}
