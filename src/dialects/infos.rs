//! What code that works on any dialect needs to know of an op.

use super::library::Library;
use crate::ir::{Ir, Op};
use crate::support::Diagnostic;

/// Facts about an op, from its definition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpTraits {
    /// Without effects: the same operands give the same results, and an unused one can go. Of an op with regions it says so of the op
    /// itself; what stands in the regions counts too.
    pub pure: bool,
    /// Ends a block.
    pub terminator: bool,
    /// Operands may change places.
    pub commutative: bool,
    /// What is inside uses no value from outside.
    pub isolated: bool,
}

/// Where the facts come from: the registry of dialects.
pub trait OpInfos {
    /// The facts about an op of this name; None for an op that is not known, about which nothing may be assumed.
    fn traits(&self, name: &str) -> Option<OpTraits>;
    /// The definition of an op in a dialect file; None for an op that is not known.
    fn def(&self, _name: &str) -> Option<&rinductor_defs::OpDef> {
        None
    }
    /// What is wrong with an op and what is nested in it: structure, and what definitions require.
    fn verify(&self, _ir: &mut Ir, _root: Op) -> Vec<Diagnostic> {
        Vec::new()
    }
    /// The rewrite rules and decompositions that were read, of all sets.
    fn rules(&self) -> &[rinductor_defs::RuleDef] {
        &[]
    }
}

impl OpInfos for Library {
    fn traits(&self, name: &str) -> Option<OpTraits> {
        self.op(name).map(|d| OpTraits {
            pure: d.has_trait("pure"),
            terminator: d.has_trait("terminator"),
            commutative: d.has_trait("commutative"),
            isolated: d.has_trait("isolated_from_above"),
        })
    }
    fn def(&self, name: &str) -> Option<&rinductor_defs::OpDef> {
        self.op(name)
    }
    fn rules(&self) -> &[rinductor_defs::RuleDef] {
        Library::rules(self)
    }
}

/// Nothing is known of any op.
pub struct NoInfos;

impl OpInfos for NoInfos {
    fn traits(&self, _: &str) -> Option<OpTraits> {
        None
    }
}

impl dyn OpInfos + '_ {
    /// The facts about an op; those of an unknown op are the careful ones.
    pub fn of(&self, ir: &Ir, op: Op) -> OpTraits {
        self.traits(ir.op_name(op)).unwrap_or_default()
    }

    /// Whether an op has no effects, nor has anything inside it.
    pub fn is_pure(&self, ir: &Ir, op: Op) -> bool {
        let mut pure = self.of(ir, op).pure;
        if pure && !ir.regions_of(op).is_empty() {
            ir.walk(op, &mut |inner| {
                let t = self.of(ir, inner);
                pure &= t.pure || t.terminator;
            });
        }
        pure
    }
}
