//! Which ops a `schedule.match` means.

use super::refusal::Refusal;
use super::script::Pattern;
use crate::dialects::loops::{self, NestKind};
use crate::dialects::{func, kernels};
use crate::ir::registry::Registry;
use crate::ir::{Ir, Op};
use crate::support::diag::Place;
use crate::text::names_in;
use rinductor_support::FxHashMap;

/// How many names a help lists.
const LISTED: usize = 8;

/// The ops that a schedule may be about, with the names by which it knows them: those of the text that it is applied to.
#[derive(Default)]
pub struct Candidates {
    ops: Vec<Op>,
    names: FxHashMap<Op, Vec<String>>,
}

impl Candidates {
    /// The kernels of a module, or one of them.
    pub fn kernels(ir: &Ir, only: Option<Op>) -> Candidates {
        let ops = only.map_or_else(|| ir.ops_named(ir.module(), kernels::FuncOp::NAME), |op| vec![op]);
        let names = ops.iter().map(|&op| (op, vec![kernels::FuncOp(op).sym_name(ir).to_string()])).collect();
        Candidates { ops, names }
    }

    /// The nests and fusions of a module.
    pub fn nests(ir: &Ir, registry: &Registry) -> Candidates {
        let mut all = Candidates::default();
        for f in ir.ops_named(ir.module(), func::FuncOp::NAME) {
            let shown = names_in(ir, registry, f);
            for op in ir.nested_ops(f) {
                if NestKind::of(ir, op).is_none() && !ir.is_op(op, loops::FusionOp::NAME) {
                    continue;
                }
                let mut names: Vec<String> = Vec::new();
                for v in ir.results(op) {
                    let text = shown(v);
                    let name = text.split('#').next().unwrap_or(&text).to_string();
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
                all.ops.push(op);
                all.names.insert(op, names);
            }
        }
        all
    }

    /// The first name of an op.
    pub fn name(&self, op: Op) -> Option<&str> {
        self.names.get(&op)?.first().map(String::as_str)
    }

    /// The ops that a pattern means.
    ///
    /// # Errors
    /// There are none.
    pub fn find(&self, ir: &Ir, pattern: &Pattern) -> Result<Vec<Op>, Refusal> {
        let named = |op: Op, name: &String| self.names.get(&op).is_some_and(|n| n.contains(name));
        let fits = |op: Op| {
            ir.is_live(op)
                && pattern.kernel.as_ref().is_none_or(|name| ir.is_op(op, kernels::FuncOp::NAME) && named(op, name))
                && pattern.kind.as_ref().is_none_or(|kind| ir.is_op(op, kind))
                && pattern.named.as_ref().is_none_or(|name| named(op, name))
                && pattern.function.as_ref().is_none_or(|name| stands_in(ir, op, name))
                && pattern.at.as_ref().is_none_or(|(file, line)| comes_from(ir, op, file, *line))
        };
        let found: Vec<Op> = self.ops.iter().copied().filter(|&op| fits(op)).collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let live = self.ops.iter().filter(|&&op| ir.is_live(op));
        let mut names: Vec<&str> = live.filter_map(|&op| self.name(op)).collect();
        let more = if names.len() > LISTED { ", …" } else { "" };
        names.truncate(LISTED);
        Err(Refusal::new(match names.is_empty() {
            true => "nothing matches: there is nothing at this level".to_string(),
            false => format!("nothing matches; there are {}{more}", names.join(", ")),
        }))
    }
}

/// Whether an op stands in the function of a name.
fn stands_in(ir: &Ir, op: Op, name: &str) -> bool {
    std::iter::successors(ir.parent_op(op), |&o| ir.parent_op(o))
        .any(|o| ir.is_op(o, func::FuncOp::NAME) && ir.symbol_name(o).is_some_and(|n| n == name))
}

/// Whether an op, or one inside of it, comes from a line of the model.
fn comes_from(ir: &Ir, op: Op, file: &str, line: i64) -> bool {
    let mut found = false;
    ir.walk(op, &mut |inner| {
        found |= ir.places(ir.op(inner).loc).iter().any(|place| match place {
            Place::File { file: f, line: l, .. } => {
                i64::from(*l) == line && (f == file || f.ends_with(&format!("/{file}")))
            }
            _ => false,
        });
    });
    found
}
