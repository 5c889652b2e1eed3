//! What every layer uses: typed ids and arenas, interners, source positions and diagnostics.

pub mod diag;
pub mod id;
pub mod intern;
pub mod near;
pub mod source;

pub use diag::{Diagnostic, Note, Severity};
pub use id::{EntityId, PrimaryMap, SecondaryMap};
pub use intern::{Interner, Name, Names};
pub use source::{SourceId, SourceMap, Span};

/// A fast, deterministic hasher (no per-process seed: the same input gives the same order everywhere).
pub type FxBuild = std::hash::BuildHasherDefault<rustc_hash::FxHasher>;
/// A hash map with [`FxBuild`].
pub type FxHashMap<K, V> = hashbrown::HashMap<K, V, FxBuild>;
/// A hash set with [`FxBuild`].
pub type FxHashSet<K> = hashbrown::HashSet<K, FxBuild>;
