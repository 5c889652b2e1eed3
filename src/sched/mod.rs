//! Fusion and tiling decisions: what may be done (legality), what pays (cost), in what order. Passes carry the decisions out.

pub mod cost;
pub mod flow;
pub mod group;
pub mod inline;
pub mod memory;
pub mod nest;
pub mod scan;
pub mod tile;
pub mod tile_gpu;
pub mod walks;

/// Why something is not done: a sentence with the facts in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WhyNot(pub String);

impl WhyNot {
    /// A reason.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl std::fmt::Display for WhyNot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A decision about two ops, kept for `--remarks` and `--explain-fusion`.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The op that is asked about.
    pub op: crate::ir::Op,
    /// Where it comes from (the op may be gone when the remark is shown).
    pub loc: crate::ir::Loc,
    /// The sentence.
    pub text: String,
}
