//! All that was read from dialect files: the ops, rules and functions of a run, by name.

use crate::ast::{DialectDef, ExternFn, Ident, Item, ItemKind, OpDef, RuleDef, Str};
use crate::check;
use crate::read::{read, read_item};
use indexmap::IndexMap;
use rinductor_support::{Diagnostic, FxBuild, Severity, SourceMap, Span};
use std::sync::{Arc, OnceLock};

/// The ops, rules and functions that are known. Files add to it; nothing is ever taken out. What stands in it was checked: by
/// [`Library::load`], or, for the files that come with the compiler, when it was built; those are read again item by item, when one is
/// asked for.
#[derive(Clone, Debug, Default)]
pub struct Library {
    sources: SourceMap,
    dialects: IndexMap<Str, DialectDef>,
    externs: IndexMap<Str, ExternFn>,
    ops: IndexMap<Str, Entry, FxBuild>,
    /// The items that hold the rules of the files that came checked.
    rule_items: Vec<Item>,
    /// In the order read: those of `rule_items`, then those of files that were loaded.
    rules: OnceLock<Vec<RuleDef>>,
}

/// An op: where it stands, and its definition once it was read.
#[derive(Clone, Debug)]
struct Entry {
    item: Item,
    def: OnceLock<OpDef>,
}

/// A file that was read and checked without an error when the compiler was built.
#[derive(Clone, Copy, Debug)]
pub struct CheckedFile {
    /// The name that diagnostics show.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
    /// What it defines, in order: what, the name, and the bytes.
    pub items: &'static [(ItemKind, &'static str, u32, u32)],
}

impl Library {
    /// An empty library.
    pub fn new() -> Self {
        Self::default()
    }

    /// A library of files that were checked when the compiler was built.
    ///
    /// # Panics
    /// A file is not the one that was checked.
    pub fn of_checked(files: &[CheckedFile]) -> Self {
        let mut library = Self::default();
        for file in files {
            let id =
                library.sources.add(file.name, file.text).expect("a file that the compiler carries is no 4 GiB long");
            for &(kind, name, start, end) in file.items {
                let item = Item { kind, name: name.into(), span: Span { source: id, start, end } };
                match kind {
                    ItemKind::Declaration => {
                        let file = read_item(&library.sources, &item);
                        library.dialects.extend(file.dialects.into_iter().map(|d| (d.name.text.clone(), d)));
                        library.externs.extend(file.externs.into_iter().map(|f| (f.name.text.clone(), f)));
                    }
                    ItemKind::Op => drop(library.ops.insert(item.name.clone(), Entry { item, def: OnceLock::new() })),
                    ItemKind::Rules => library.rule_items.push(item),
                }
            }
        }
        library
    }

    /// Reads and checks a file and adds what it defines. What is wrong in it is reported and left out, so that a library is
    /// always sound.
    pub fn load(&mut self, name: &str, text: impl Into<Arc<str>>) -> Vec<Diagnostic> {
        let id = match self.sources.add(name, text) {
            Ok(id) => id,
            Err(e) => return vec![Diagnostic::error_nowhere(e)],
        };
        let (file, mut diagnostics) = read(&self.sources, id);
        for dialect in file.dialects {
            // A dialect may stand in several files; the first tells what it is.
            match self.dialects.get(&dialect.name.text) {
                Some(old) if old.name.span.source == id => {
                    diagnostics.push(twice("dialect", &dialect.name, old.name.span))
                }
                Some(_) => {}
                None => drop(self.dialects.insert(dialect.name.text.clone(), dialect)),
            }
        }
        for function in file.externs {
            match self.externs.get(&function.name.text) {
                // Each file of rules may declare the functions that it uses.
                Some(old) if old.params == function.params && old.result == function.result => {}
                Some(old) => diagnostics.push(twice("function", &function.name, old.name.span)),
                None => drop(self.externs.insert(function.name.text.clone(), function)),
            }
        }
        let mut fresh = Vec::new();
        let items = file.items.into_iter().filter(|i| i.kind == ItemKind::Op);
        for (op, item) in file.ops.into_iter().zip(items) {
            match self.op(&op.name.text) {
                Some(old) => diagnostics.push(twice("op", &op.name, old.name.span)),
                None => {
                    fresh.push(op.name.text.clone());
                    self.ops.insert(op.name.text.clone(), Entry { item, def: op.into() });
                }
            }
        }
        // Rules may name the ops of their file, wherever they stand; one that names an op that is wrong is not to blame.
        let errors: Vec<(Str, Vec<Diagnostic>)> = fresh
            .into_iter()
            .filter_map(|name| self.op(&name).map(|op| check::op(self, op)).map(|errors| (name, errors)))
            .collect();
        let mut rules = std::mem::take(&mut self.rules).into_inner().unwrap_or_else(|| self.read_rules());
        for rule in file.rules {
            let same = |r: &&RuleDef| r.set == rule.set && r.name.text == rule.name.text;
            if let Some(old) = rules.iter().find(same) {
                diagnostics.push(twice("rule", &rule.name, old.name.span));
                continue;
            }
            let errors = check::rule(self, &rule);
            if errors.is_empty() {
                rules.push(rule);
            }
            diagnostics.extend(errors);
        }
        self.rules = rules.into();
        for (name, errors) in errors {
            if errors.iter().any(|d| d.severity == Severity::Error) {
                self.ops.shift_remove(&name);
            }
            diagnostics.extend(errors);
        }
        // In the order of the text.
        diagnostics.sort_by_key(|d| match d.place {
            rinductor_support::diag::Place::Span(span) => span.start,
            _ => 0,
        });
        diagnostics
    }

    fn read_rules(&self) -> Vec<RuleDef> {
        self.rule_items.iter().flat_map(|item| read_item(&self.sources, item).rules).collect()
    }

    /// The texts that were read, for messages about them.
    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    /// The dialects, in the order read.
    pub fn dialects(&self) -> impl Iterator<Item = &DialectDef> {
        self.dialects.values()
    }

    /// A function that Rust provides.
    pub fn extern_fn(&self, name: &str) -> Option<&ExternFn> {
        self.externs.get(name)
    }

    /// The op of a full name.
    pub fn op(&self, name: &str) -> Option<&OpDef> {
        self.ops.get(name).map(|entry| self.def(entry))
    }

    fn def<'a>(&'a self, entry: &'a Entry) -> &'a OpDef {
        entry.def.get_or_init(|| {
            read_item(&self.sources, &entry.item).ops.pop().expect("an item that was checked to be an op is one")
        })
    }

    /// The full names of all ops, in the order read. No definition is read for it.
    pub fn op_names(&self) -> impl Iterator<Item = &str> {
        self.ops.keys().map(|name| &**name)
    }

    /// All ops, in the order read.
    pub fn ops(&self) -> impl Iterator<Item = &OpDef> {
        self.ops.values().map(|entry| self.def(entry))
    }

    /// The ops of a dialect, in the order read.
    pub fn ops_of<'a>(&'a self, dialect: &'a str) -> impl Iterator<Item = &'a OpDef> {
        let of = move |name: &str| name.strip_prefix(dialect).is_some_and(|rest| rest.starts_with('.'));
        self.ops.iter().filter(move |(name, _)| of(name)).map(|(_, entry)| self.def(entry))
    }

    /// Whether an op is written as other ops by a decomposition. Only rules that have its name in them are read for it.
    pub fn is_decomposed(&self, op: &str) -> bool {
        let of = |rule: &RuleDef| rule.decomposition && *rule.pattern.op.text == *op;
        // Files that were loaded have put their rules behind those that came checked.
        if let Some(rules) = self.rules.get() {
            return rules.iter().any(of);
        }
        let mut items = self.rule_items.iter().filter(|item| self.sources.slice(item.span).contains(op));
        items.any(|item| read_item(&self.sources, item).rules.iter().any(of))
    }

    /// Rewrite rules and decompositions, in the order read.
    pub fn rules(&self) -> &[RuleDef] {
        self.rules.get_or_init(|| self.read_rules())
    }
}

fn twice(what: &str, name: &Ident, old: Span) -> Diagnostic {
    Diagnostic::error(name.span, format!("{what} '{}' is defined already", name.text)).note(old, "here")
}
