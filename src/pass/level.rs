//! The levels of the IR, which dialects each holds, and the check that a module keeps to them.

use crate::ir::{Ir, Op};
use crate::support::{Diagnostic, EntityId};

/// A level: what an IR may hold between two passes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Level {
    /// `func` and tensor ops: a value is an immutable tensor.
    Graph,
    /// `loops`: a value is a tensor defined point by point; extern ops are still tensor ops.
    Loop,
    /// `kernels`: block programs over buffers.
    Kernel,
}

/// What a pass that works on any IR needs and leaves.
pub const ANY: &[Level] = &[];

/// Dialects that belong to some levels only, with those levels. What is not named here (`builtin`, `func`, `arith`, `math`, `schedule`,
/// dialects of the user's) is at home at the levels that are open to it.
const HOMES: &[(&str, &[Level])] = &[
    ("aten", &[Level::Graph, Level::Loop]),
    ("prims", &[Level::Graph, Level::Loop]),
    ("loops", &[Level::Loop]),
    ("kernels", &[Level::Kernel]),
];

/// Dialects of every level.
const COMMON: &[&str] = &["builtin", "func", "arith", "math", "scalar", "sym", "schedule"];

impl Level {
    /// All levels, from the top.
    pub const ALL: [Level; 3] = [Level::Graph, Level::Loop, Level::Kernel];

    /// The word for it: `graph`, `loop`, `kernel`.
    pub fn word(self) -> &'static str {
        match self {
            Level::Graph => "graph",
            Level::Loop => "loop",
            Level::Kernel => "kernel",
        }
    }

    /// Whether ops of a dialect may stand at this level. Tensor dialects of the user's may stand where tensors are.
    pub fn holds(self, dialect: &str) -> bool {
        match HOMES.iter().find(|h| h.0 == dialect) {
            Some((_, levels)) => levels.contains(&self),
            None => self != Level::Kernel || COMMON.contains(&dialect),
        }
    }

    /// The highest level at which a module is complete; None when it mixes levels.
    pub fn of(ir: &Ir, root: Op) -> Option<Level> {
        let fits = levels_of(ir, root, |_, _| {});
        Level::ALL.into_iter().find(|&l| fits & bit(l) != 0)
    }
}

/// Whether everything below `root` may stand at a level.
pub fn fits(ir: &Ir, root: Op, level: Level) -> bool {
    levels_of(ir, root, |_, _| {}) & bit(level) != 0
}

fn bit(level: Level) -> u8 {
    1 << level as u8
}

/// The levels (as bits) that every op below `root` may stand at; `odd` is called for each op with the levels that it may stand at.
fn levels_of(ir: &Ir, root: Op, mut odd: impl FnMut(Op, u8)) -> u8 {
    let mut known: Vec<Option<u8>> = vec![None; ir.names.len()];
    let mut all = 0b111;
    ir.walk(root, &mut |op| {
        let name = ir.op(op).name;
        let bits = *known[name.index()].get_or_insert_with(|| {
            let dialect = dialect_of(ir.text(name));
            Level::ALL.into_iter().filter(|l| l.holds(dialect)).fold(0, |acc, l| acc | bit(l))
        });
        all &= bits;
        odd(op, bits);
    });
    all
}

/// The dialect in an op's name: what stands before the first dot.
pub fn dialect_of(name: &str) -> &str {
    name.split_once('.').map_or(name, |(dialect, _)| dialect)
}

/// Checks that everything below `root` may stand at one of `levels` (all of it at the same one; no levels: no condition).
///
/// # Errors
/// The first op that may not, with what the pass `who` says of levels (`needs` or `leaves`).
pub fn check(ir: &Ir, root: Op, levels: &[Level], who: &str) -> Result<(), Diagnostic> {
    if levels.is_empty() {
        return Ok(());
    }
    let wanted = levels.iter().fold(0, |acc, &l| acc | bit(l));
    let mut left = wanted;
    let mut offender = None;
    levels_of(ir, root, |op, bits| {
        if left & bits == 0 && offender.is_none() {
            offender = Some(op);
        }
        left &= bits;
    });
    let Some(op) = offender else { return Ok(()) };
    let words: Vec<&str> = levels.iter().map(|l| l.word()).collect();
    let name = ir.op_name(op);
    let homes: Vec<&str> = Level::ALL.into_iter().filter(|l| l.holds(dialect_of(name))).map(Level::word).collect();
    Err(Diagnostic::error(
        ir.place(ir.op(op).loc),
        format!("{who} the {} level, but '{name}' belongs to the {} level", words.join(" or "), homes.join(" or ")),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{InsertPoint, Loc};

    fn module(names: &[&str]) -> Ir {
        let mut ir = Ir::with_module();
        let end = InsertPoint::End(ir.module_body());
        for name in names {
            ir.create_op(name, &[], &[], &[], Loc::Unknown, end);
        }
        ir
    }

    #[test]
    fn the_level_is_that_of_the_dialects() {
        for (names, level) in [
            (&["aten.add.Tensor", "mine.op"][..], Some(Level::Graph)),
            (&["aten.mm", "loops.pointwise"], Some(Level::Loop)),
            (&["kernels.func", "arith.addf"], Some(Level::Kernel)),
            (&["kernels.func", "aten.mm"], None),
            (&["kernels.func", "mine.op"], None),
        ] {
            let ir = module(names);
            assert_eq!(Level::of(&ir, ir.module()), level, "{names:?}");
        }
    }

    #[test]
    fn the_first_op_of_another_level_is_named() {
        let ir = module(&["arith.addf", "loops.pointwise", "kernels.func"]);
        let error = check(&ir, ir.module(), &[Level::Loop], "'loops-inline' needs").unwrap_err();
        assert_eq!(
            error.message,
            "'loops-inline' needs the loop level, but 'kernels.func' belongs to the kernel level"
        );
        assert!(check(&ir, ir.module(), ANY, "x").is_ok());
        // Each op fits one of the levels, but not all the same one.
        assert!(check(&ir, ir.module(), &[Level::Loop, Level::Kernel], "x").is_err());
    }
}
