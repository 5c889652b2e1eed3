//! What the machine can do that emitted C++ is for: this one, or a level of x86-64.

use rinductor_support::Diagnostic;

use crate::codegen::vector::build::Machine;

/// The machine of a name; this one if there is none.
///
/// # Errors
/// The name is not known.
pub fn of(name: Option<&str>) -> Result<Machine, Diagnostic> {
    const fn machine(vector_bits: u32, fma: bool, masked_words: bool, masked_bytes: bool) -> Machine {
        Machine { vector_bits, fma, f16c: fma, masked_words, masked_bytes }
    }
    let (v2, v3, v4) =
        (machine(128, false, false, false), machine(256, true, true, false), machine(512, true, true, true));
    match name {
        None | Some("native") => Ok(match level() {
            4 => v4,
            3 => v3,
            0 => machine(128, true, false, false),
            _ => v2,
        }),
        Some("x86-64" | "x86-64-v2") => Ok(v2),
        Some("x86-64-v3") => Ok(v3),
        Some("x86-64-v4") => Ok(v4),
        Some(other) => Err(Diagnostic::error_nowhere(format!(
            "C++ is written for native, x86-64, x86-64-v2, x86-64-v3 or x86-64-v4, not for '{other}'"
        ))),
    }
}

/// The level of x86-64 that this machine has; 0 on another architecture.
fn level() -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        let v3 = has!("avx2") && has!("fma") && has!("f16c");
        let v4 = v3 && has!("avx512f") && has!("avx512bw") && has!("avx512vl") && has!("avx512dq");
        if v4 {
            4
        } else if v3 {
            3
        } else {
            2
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}
