//! Functions that kernels call lane by lane and that no C library has.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::codegen::vector::math::calls;

/// The name in the file of a function of this crate.
pub fn of(name: &str) -> Option<&'static str> {
    Some(match name {
        calls::SPECIAL1 => "special1",
        calls::SPECIAL2 => "special2",
        calls::INT_POW => "int_pow",
        calls::INT_GCD => "int_gcd",
        _ => return None,
    })
}

/// The functions of this crate that are called, as pointers that [`link`] sets.
pub fn text(called: &BTreeSet<String>) -> String {
    let mut out = String::new();
    for &(name, ty) in POINTERS {
        if called.contains(name) {
            let _ = write!(
                out,
                "\n// What rinductor computes; its programs set it.\nstatic {};\n",
                ty.replace("NAME", name)
            );
        }
    }
    out
}

/// The same as functions of the file. The special functions have none: who calls them is refused before.
pub fn own(called: &BTreeSet<String>) -> String {
    let mut out = String::new();
    if called.contains("int_pow") {
        out.push_str(
            "
// A power that wraps; 0 for a negative exponent unless the base is 1 or -1.
static inline int64_t int_pow(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? 1 - 2 * (exponent & 1) : 0;
  uint64_t b = uint64_t(base), result = 1;
  for (; exponent > 0; exponent >>= 1, b *= b)
    if (exponent & 1) result *= b;
  return int64_t(result);
}
",
        );
    }
    if called.contains("int_gcd") {
        out.push_str(
            "
static inline int64_t int_gcd(int64_t a, int64_t b) {
  uint64_t x = a < 0 ? -uint64_t(a) : uint64_t(a), y = b < 0 ? -uint64_t(b) : uint64_t(b);
  while (y) {
    const uint64_t r = x % y;
    x = y;
    y = r;
  }
  return int64_t(x);
}
",
        );
    }
    out
}

/// The function that sets the pointers.
pub fn link(called: &BTreeSet<String>) -> String {
    let set: String = POINTERS
        .iter()
        .enumerate()
        .filter(|(_, p)| called.contains(p.0))
        .map(|(k, (name, ty))| format!("  kernels::{name} = ({})functions[{k}];\n", ty.replace("NAME", "")))
        .collect();
    if set.is_empty() {
        return set;
    }
    format!("\nextern \"C\" void {}(void *const *functions) {{\n{set}}}\n", super::module::LINK)
}

/// The functions in the order of `calls::all`, with their types.
const POINTERS: &[(&str, &str)] = &[
    ("special1", "double (*NAME)(int64_t, double)"),
    ("special2", "double (*NAME)(int64_t, double, double)"),
    ("int_pow", "int64_t (*NAME)(int64_t, int64_t)"),
    ("int_gcd", "int64_t (*NAME)(int64_t, int64_t)"),
];
