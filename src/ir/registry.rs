//! What is known about ops by their names: traits, checks, pretty forms. Dialect files fill it; the verifier, the parser and the printer read it.

use super::format::Format;
use rinductor_support::{FxHashMap, FxHashSet};
use std::sync::{Arc, OnceLock};

/// Works out what is known of an op when it is first asked for, from its name and what was known before.
pub type InfoFn = Arc<dyn Fn(&str, &OpInfo) -> OpInfo + Send + Sync>;

/// What is known about the ops of one name.
#[derive(Clone, Default)]
pub struct OpInfo {
    /// Ends its block.
    pub terminator: bool,
    /// Its regions use no value from outside.
    pub isolated: bool,
    /// It may define a symbol by `sym_name`.
    pub symbol: bool,
    /// The symbols of its region are unique, and looked up in it.
    pub symbol_table: bool,
    /// In its regions a value may be used before its definition.
    pub graph_region: bool,
    /// Its blocks need no terminator.
    pub no_terminator: bool,
    /// Each of its regions has at most one block.
    pub single_block: bool,
    /// The terminator, without operands, that the pretty form leaves out.
    pub implicit_terminator: Option<Box<str>>,
    /// Properties that refer to symbols which must exist.
    pub symbol_uses: Vec<Box<str>>,
    /// The pretty form.
    pub format: Option<Arc<Format>>,
}

#[derive(Clone, Default)]
struct Entry {
    /// What was added; what `source` starts from.
    added: OpInfo,
    source: Option<InfoFn>,
    /// What `source` gave.
    found: OnceLock<OpInfo>,
}

/// The known ops and dialects.
#[derive(Clone, Default)]
pub struct Registry {
    ops: FxHashMap<Box<str>, Entry>,
    dialects: FxHashSet<Box<str>>,
}

impl Registry {
    /// Knows nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Knows the ops without which nothing can be written: `builtin.module`, `func.func`, `func.return`, `func.call`. Dialect files add the
    /// rest.
    pub fn core() -> Self {
        let mut r = Self::new();
        let base = OpInfo::default;
        r.add_op(
            "builtin.module",
            OpInfo {
                isolated: true,
                symbol: true,
                symbol_table: true,
                graph_region: true,
                no_terminator: true,
                single_block: true,
                format: Some(Arc::new(Format::builtin_module())),
                ..base()
            },
        );
        let func = Format::func_func();
        r.add_op("func.func", OpInfo { isolated: true, symbol: true, format: Some(Arc::new(func)), ..base() });
        r.add_op("func.return", OpInfo { terminator: true, format: Some(Arc::new(Format::func_return())), ..base() });
        let callee = vec!["callee".into()];
        r.add_op("func.call", OpInfo { format: Some(Arc::new(Format::func_call())), symbol_uses: callee, ..base() });
        r
    }

    /// Makes a dialect known: its ops need no `--allow-unregistered-dialect`.
    pub fn add_dialect(&mut self, name: &str) {
        self.dialects.insert(name.into());
    }
    /// Makes an op known, and its dialect; replaces what was known of it.
    pub fn add_op(&mut self, name: &str, info: OpInfo) {
        self.add_dialect(name.split('.').next().unwrap_or(name));
        self.ops.insert(name.into(), Entry { added: info, ..Entry::default() });
    }
    /// Makes an op known, and its dialect. What is known of it is asked for when it is needed.
    pub fn add_lazy_op(&mut self, name: &str, source: InfoFn) {
        let dialect = name.split('.').next().unwrap_or(name);
        if !self.has_dialect(dialect) {
            self.add_dialect(dialect);
        }
        self.ops.entry_ref(name).or_default().source = Some(source);
    }
    /// What is known of an op.
    pub fn op(&self, name: &str) -> Option<&OpInfo> {
        let entry = self.ops.get(name)?;
        Some(match &entry.source {
            Some(source) => entry.found.get_or_init(|| source(name, &entry.added)),
            None => &entry.added,
        })
    }
    /// The name of a known op, as the registry holds it.
    pub fn op_key(&self, name: &str) -> Option<&str> {
        self.ops.get_key_value(name).map(|(key, _)| &**key)
    }
    /// Whether a dialect is known.
    pub fn has_dialect(&self, name: &str) -> bool {
        self.dialects.contains(name)
    }
    /// The names of all known ops, sorted.
    pub fn op_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.ops.keys().map(|n| &**n).collect();
        names.sort_unstable();
        names
    }
}
