//! Printing the IR around passes: before, after, when it changed, after a failure; to a stream or into a folder.

use crate::ir::{Ir, Op};
use similar::TextDiff;
use std::path::PathBuf;

/// Some passes, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Which {
    /// None.
    #[default]
    None,
    /// All.
    All,
    /// Those of these names.
    Named(Vec<String>),
}

impl Which {
    /// Whether a pass is one of them.
    pub fn has(&self, pass: &str) -> bool {
        match self {
            Which::None => false,
            Which::All => true,
            Which::Named(names) => names.iter().any(|n| n == pass),
        }
    }
}

/// How a change is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeStyle {
    /// The IR after it.
    Full,
    /// A unified diff.
    Diff,
}

/// What is printed, and where.
#[derive(Clone, Debug, Default)]
pub struct DumpConfig {
    /// Before which passes.
    pub before: Which,
    /// After which passes.
    pub after: Which,
    /// After each pass that changed the IR.
    pub after_change: Option<ChangeStyle>,
    /// After a pass that failed.
    pub after_failure: bool,
    /// The whole module, also where a pass worked on one op of it.
    pub module_scope: bool,
    /// Into files of this folder instead of the stream.
    pub tree_dir: Option<PathBuf>,
}

impl DumpConfig {
    /// Whether the text before a pass is needed.
    pub fn wants_before(&self, pass: &str) -> bool {
        self.before.has(pass) || self.after_change.is_some()
    }

    /// Whether anything at all is printed.
    pub fn is_on(&self) -> bool {
        self.before != Which::None || self.after != Which::None || self.after_change.is_some() || self.after_failure
    }
}

/// The line above a print: `// -----// IR Dump After cse ('func.func' operation: @f) //----- //`.
pub fn title(when: &str, pass: &str, failed: bool, ir: &Ir, op: Op) -> String {
    let on = match ir.symbol_name(op) {
        Some(name) if op != ir.module() => format!(" ('{}' operation: @{name})", ir.op_name(op)),
        _ if op != ir.module() => format!(" ('{}' operation)", ir.op_name(op)),
        _ => String::new(),
    };
    let failed = if failed { " Failed" } else { "" };
    format!("// -----// IR Dump {when} {pass}{failed}{on} //----- //\n")
}

/// A unified diff of two prints, with three lines of context.
pub fn diff(before: &str, after: &str) -> String {
    TextDiff::from_lines(before, after).unified_diff().context_radius(3).header("before", "after").to_string()
}

/// The file of a print inside the folder: one folder for each op around, then the number of the execution and the pass.
pub fn tree_path(ir: &Ir, op: Op, number: u64, when: &str, pass: &str) -> PathBuf {
    let mut folders: Vec<String> = std::iter::successors(Some(op), |&o| ir.parent_op(o))
        .filter(|&o| o != ir.module())
        .map(|o| {
            let name = ir.op_name(o).replace('.', "_");
            let symbol = ir.symbol_name(o).unwrap_or("no-symbol-name");
            let symbol: String =
                symbol.chars().map(|c| if c.is_alphanumeric() || "_-.".contains(c) { c } else { '_' }).collect();
            format!("{name}_{symbol}")
        })
        .collect();
    folders.reverse();
    let mut path: PathBuf = folders.iter().collect();
    let suffix = if when == "Before" { "-before" } else { "" };
    path.push(format!("{number}_{pass}{suffix}.ir"));
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_shows_the_lines_around() {
        let text = diff("a\nb\nc\n", "a\nx\nc\n");
        assert_eq!(text, "--- before\n+++ after\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n");
    }
}
