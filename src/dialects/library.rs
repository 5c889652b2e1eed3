//! The definitions that are known: those of the dialect files that come with the compiler, and those that a user loads.

use super::format::format_of;
use super::instance::instance_of;
use crate::ir::Ir;
use crate::ir::registry::{OpInfo, Registry};
use rinductor_defs::ast::{RegionKind, RuleDef};
use rinductor_defs::{OpDef, Setting, Signature};
use rinductor_support::{Diagnostic, FxHashMap, SourceMap};
use std::sync::Arc;

/// The dialect files that come with the compiler, in the order in which they are read.
pub const FILES: &[(&str, &str)] = &[
    ("builtin.dialect", include_str!("../../dialects/builtin.dialect")),
    ("func.dialect", include_str!("../../dialects/func.dialect")),
    ("arith.dialect", include_str!("../../dialects/arith.dialect")),
    ("math.dialect", include_str!("../../dialects/math.dialect")),
    ("scalar.dialect", include_str!("../../dialects/scalar.dialect")),
    ("sym.dialect", include_str!("../../dialects/sym.dialect")),
    ("aten.dialect", include_str!("../../dialects/aten.dialect")),
    ("prims.dialect", include_str!("../../dialects/prims.dialect")),
    ("aten_composite.dialect", include_str!("../../dialects/aten_composite.dialect")),
    ("aten.rules", include_str!("../../dialects/aten.rules")),
    ("loops.dialect", include_str!("../../dialects/loops.dialect")),
    ("kernels.dialect", include_str!("../../dialects/kernels.dialect")),
];

/// Definitions by name.
#[derive(Default)]
pub struct Library {
    ops: FxHashMap<String, Arc<OpDef>>,
    dialects: Vec<(String, String)>,
    rules: Vec<RuleDef>,
    /// The texts that were read, for messages about them.
    pub sources: SourceMap,
}

impl Library {
    /// What comes with the compiler.
    ///
    /// # Errors
    /// A file is wrong: what a broken build would show.
    pub fn builtin() -> Result<Library, (Library, Vec<Diagnostic>)> {
        let mut library = Library::default();
        let mut wrong = Vec::new();
        for (name, text) in FILES {
            wrong.extend(library.load(name, text));
        }
        if wrong.is_empty() { Ok(library) } else { Err((library, wrong)) }
    }

    /// Reads a dialect file or a file of rules; what is right in it is known afterwards. A second definition of an op is an error.
    pub fn load(&mut self, name: &str, text: &str) -> Vec<Diagnostic> {
        let id = match self.sources.add(name, text) {
            Ok(id) => id,
            Err(e) => return vec![Diagnostic::error_nowhere(e)],
        };
        let (file, mut wrong) = rinductor_defs::read::read(&self.sources, id);
        for d in file.dialects {
            // A dialect may stand in several files; the first tells what it is.
            if !self.dialects.iter().any(|(name, _)| *name == *d.name.text) {
                self.dialects.push((d.name.text.to_string(), d.doc));
            }
        }
        for op in file.ops {
            let span = op.name.span;
            if let Some(old) = self.ops.insert(op.name.text.to_string(), Arc::new(op)) {
                wrong.push(
                    Diagnostic::error(span, format!("'{}' is defined already", old.name.text))
                        .note(old.name.span, "here"),
                );
            }
        }
        self.rules.extend(file.rules);
        wrong
    }

    /// The definition of an op.
    pub fn op(&self, name: &str) -> Option<&OpDef> {
        self.ops.get(name).map(|d| &**d)
    }

    /// All definitions, by name.
    pub fn ops(&self) -> Vec<&OpDef> {
        let mut list: Vec<&OpDef> = self.ops.values().map(|d| &**d).collect();
        list.sort_by(|a, b| a.name.text.cmp(&b.name.text));
        list
    }

    /// Rewrite rules and decompositions, in the order of reading.
    pub fn rules(&self) -> &[RuleDef] {
        &self.rules
    }

    /// The dialects with their documentation, in the order of reading.
    pub fn dialects(&self) -> &[(String, String)] {
        &self.dialects
    }

    /// What parser, printer and verifier need to know of each op.
    ///
    /// # Errors
    /// Assembly clauses that make no form.
    pub fn registry(&self) -> (Registry, Vec<Diagnostic>) {
        let mut registry = Registry::core();
        let mut wrong = Vec::new();
        for (name, _) in &self.dialects {
            registry.add_dialect(name);
        }
        for def in self.ops.values() {
            let format = match format_of(def) {
                Ok(f) => f.map(Arc::new),
                Err(why) => {
                    let span = def.assembly.as_ref().map_or(def.span, |a| a.span);
                    wrong.push(Diagnostic::error(span, format!("'{}': {why}", def.name.text)));
                    None
                }
            };
            let core = registry.op(&def.name.text).cloned().unwrap_or_default();
            let has = |t: &str| def.has_trait(t);
            let graph = match &def.signature {
                Signature::Named(sig) => sig.regions.iter().any(|r| r.kind == RegionKind::Graph),
                Signature::Schema(_) => false,
            };
            let info = OpInfo {
                terminator: core.terminator || has("terminator"),
                isolated: core.isolated || has("isolated_from_above"),
                symbol: core.symbol || has("symbol"),
                symbol_table: core.symbol_table || has("symbol_table"),
                graph_region: core.graph_region || graph || has("graph_region"),
                no_terminator: core.no_terminator || graph || has("no_terminator"),
                single_block: core.single_block || has("single_block"),
                implicit_terminator: match &*def.name.text {
                    "kernels.func" => Some("kernels.return".into()),
                    "kernels.for" => Some("kernels.yield".into()),
                    _ => core.implicit_terminator.clone(),
                },
                symbol_uses: symbol_uses(def),
                format: core.format.or(format),
                ..core
            };
            registry.add_op(&def.name.text, info);
        }
        wrong.sort_by_key(|d| d.message.clone());
        (registry, wrong)
    }

    /// Checks every op below the module against its definition: arguments, requirements, result types.
    pub fn verify(&self, ir: &mut Ir) -> Vec<Diagnostic> {
        let mut wrong = Vec::new();
        let setting = Setting { facts: rinductor_index::Ranges::of_sizes(0), externs: None };
        for op in ir.nested_ops(ir.module()) {
            let Some(def) = self.op(ir.op_name(op)) else { continue };
            if !matches!(def.signature, Signature::Schema(_)) {
                continue;
            }
            match instance_of(ir, op, def) {
                Err(d) => wrong.push(d),
                Ok(instance) => {
                    for e in rinductor_defs::verify(def, &instance, &mut ir.exprs, &setting) {
                        let text = format!("'{}': {}", ir.op_name(op), e.message);
                        wrong.push(Diagnostic::error(ir.place(ir.op(op).loc), text));
                    }
                }
            }
        }
        wrong
    }
}

/// The properties of an op that refer to symbols.
fn symbol_uses(def: &OpDef) -> Vec<Box<str>> {
    let Signature::Named(sig) = &def.signature else { return Vec::new() };
    sig.attrs
        .iter()
        .filter(|a| a.kind == rinductor_defs::ast::AttrKind::SymbolRef)
        .map(|a| (*a.name.text).into())
        .collect()
}
