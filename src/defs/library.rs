//! All that was read from dialect files: the ops, rules and functions of a run, by name.

use crate::ast::{DialectDef, ExternFn, OpDef, RuleDef, Str};
use indexmap::IndexMap;
use rinductor_support::{Diagnostic, Severity, SourceId, SourceMap};

/// The ops, rules and functions that are known. Files add to it; nothing is ever taken out.
#[derive(Clone, Debug, Default)]
pub struct Library {
    /// By name, in the order read.
    pub dialects: IndexMap<Str, DialectDef>,
    /// By name, in the order read.
    pub externs: IndexMap<Str, ExternFn>,
    /// By full name, in the order read.
    pub ops: IndexMap<Str, OpDef>,
    /// In the order read.
    pub rules: Vec<RuleDef>,
}

impl Library {
    /// An empty library.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads and checks a file and adds what it defines. What is wrong in it is reported and left out, so that a library is
    /// always sound.
    pub fn load(&mut self, sources: &SourceMap, id: SourceId) -> Vec<Diagnostic> {
        let (file, mut diagnostics) = crate::read::read(sources, id);
        for dialect in file.dialects {
            match self.dialects.get(&dialect.name.text) {
                Some(old) => diagnostics.push(twice("dialect", &dialect.name, old.name.span)),
                None => drop(self.dialects.insert(dialect.name.text.clone(), dialect)),
            }
        }
        for function in file.externs {
            match self.externs.get(&function.name.text) {
                Some(old) => diagnostics.push(twice("function", &function.name, old.name.span)),
                None => drop(self.externs.insert(function.name.text.clone(), function)),
            }
        }
        let mut fresh = Vec::new();
        for op in file.ops {
            match self.ops.get(&op.name.text) {
                Some(old) => diagnostics.push(twice("op", &op.name, old.name.span)),
                None => {
                    fresh.push(op.name.text.clone());
                    self.ops.insert(op.name.text.clone(), op);
                }
            }
        }
        for name in fresh {
            let errors = crate::check::op(self, &self.ops[&name]);
            if errors.iter().any(|d| d.severity == Severity::Error) {
                self.ops.shift_remove(&name);
            }
            diagnostics.extend(errors);
        }
        for mut rule in file.rules {
            let same = |r: &&RuleDef| r.set == rule.set && r.name.text == rule.name.text;
            if let Some(old) = self.rules.iter().find(same) {
                diagnostics.push(twice("rule", &rule.name, old.name.span));
                continue;
            }
            let errors = crate::check::rule(self, &mut rule);
            if errors.is_empty() {
                self.rules.push(rule);
            }
            diagnostics.extend(errors);
        }
        diagnostics
    }

    /// The op of a full name.
    pub fn op(&self, name: &str) -> Option<&OpDef> {
        self.ops.get(name)
    }

    /// The ops of a dialect, in the order read.
    pub fn ops_of<'a>(&'a self, dialect: &'a str) -> impl Iterator<Item = &'a OpDef> {
        self.ops.values().filter(move |op| op.dialect() == dialect)
    }

    /// The rules of a set, in the order read.
    pub fn rules_of<'a>(&'a self, set: &'a str) -> impl Iterator<Item = &'a RuleDef> {
        self.rules.iter().filter(move |rule| &*rule.set == set)
    }
}

fn twice(what: &str, name: &crate::ast::Ident, old: rinductor_support::Span) -> Diagnostic {
    Diagnostic::error(name.span, format!("{what} '{}' is defined already", name.text)).note(old, "here")
}
