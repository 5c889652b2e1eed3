//! What passes that work on any dialect need to know of an op: facts that the definitions give.

pub use crate::dialects::infos::{NoInfos, OpInfos, OpTraits};

/// Facts for the tests of passes: ops of `pure.` are pure, those of `comm.` also commute, those of `end.` end a block.
#[cfg(test)]
pub(crate) struct TestInfos;

#[cfg(test)]
impl OpInfos for TestInfos {
    fn traits(&self, name: &str) -> Option<OpTraits> {
        let dialect = super::level::dialect_of(name);
        Some(OpTraits {
            pure: matches!(dialect, "pure" | "comm"),
            terminator: dialect == "end",
            commutative: dialect == "comm",
            isolated: dialect == "isolated",
        })
    }
}
