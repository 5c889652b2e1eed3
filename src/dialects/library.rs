//! The definitions that are known: those of the dialect files that come with the compiler, and those that a user loads.
//!
//! The build script checks the files of the compiler and notes where each definition stands, so that a run reads only the definitions that
//! it asks for. Files that a user loads are read and checked whole.

use super::format::format_of;
use super::instance::instance_of;
use super::signature;
use super::{aten, kernel_verify, kernels, mutation};
use crate::ir::registry::{OpInfo, Registry};
use crate::ir::{Ir, Op};
use rinductor_defs::ast::RegionKind;
use rinductor_defs::{Instance, OpDef, ResultType, Setting, Signature};
use rinductor_index::{Atom, SymId};
use rinductor_support::{Diagnostic, FxHashMap, Name};
use std::sync::Arc;

pub use rinductor_defs::Library;

/// What the build script writes: the files that it checked.
mod checked {
    use rinductor_defs::CheckedFile;
    use rinductor_defs::ast::ItemKind::{Declaration, Op, Rules};

    include!(concat!(env!("OUT_DIR"), "/checked.rs"));
}

/// What comes with the compiler.
pub fn builtin() -> Library {
    Library::of_checked(checked::FILES)
}

/// Reads a user's file and adds what it defines.
///
/// # Errors
/// All that is wrong with it, in the order of its text: what the checker of dialect files finds, and assembly clauses that make no form.
pub fn load(library: &mut Library, name: &str, text: &str) -> Vec<Diagnostic> {
    let known = library.op_names().count();
    let mut wrong = library.load(name, text);
    for def in library.op_names().skip(known).filter_map(|name| library.op(name)) {
        wrong.extend(form_error(def));
    }
    wrong
}

/// What is wrong with the assembly clause of an op beyond its syntax.
fn form_error(def: &OpDef) -> Option<Diagnostic> {
    let why = format_of(def).err()?;
    let span = def.assembly.as_ref().map_or(def.span, |a| a.span);
    Some(Diagnostic::error(span, format!("'{}': {why}", def.name.text)))
}

/// What parser, printer and verifier need to know of each op: worked out when it is asked for.
pub fn registry(library: &Arc<Library>) -> Registry {
    let mut registry = Registry::core();
    for dialect in library.dialects() {
        registry.add_dialect(&dialect.name.text);
    }
    let definitions = library.clone();
    let source = Arc::new(move |name: &str, core: &OpInfo| match definitions.op(name) {
        Some(def) => info_of(def, core),
        None => core.clone(),
    });
    for name in library.op_names() {
        registry.add_lazy_op(name, source.clone());
    }
    registry
}

fn info_of(def: &OpDef, core: &OpInfo) -> OpInfo {
    // Forms of files that are loaded were found to be right; those of the compiler's own are all asked for by a test.
    let format = format_of(def).ok().flatten().map(Arc::new);
    let has = |t: &str| def.has_trait(t);
    let graph = match &def.signature {
        Signature::Named(sig) => sig.regions.iter().any(|r| r.kind == RegionKind::Graph),
        Signature::Schema(_) => false,
    };
    OpInfo {
        terminator: core.terminator || has("terminator"),
        isolated: core.isolated || has("isolated_from_above"),
        symbol: core.symbol || has("symbol"),
        symbol_table: core.symbol_table || has("symbol_table"),
        graph_region: core.graph_region || graph || has("graph_region"),
        no_terminator: core.no_terminator || graph || has("no_terminator"),
        single_block: core.single_block || has("single_block"),
        implicit_terminator: match &*def.name.text {
            kernels::FuncOp::NAME => Some(kernels::ReturnOp::NAME.into()),
            kernels::ForOp::NAME => Some(kernels::YieldOp::NAME.into()),
            _ => core.implicit_terminator.clone(),
        },
        symbol_uses: symbol_uses(def),
        format: core.format.clone().or(format),
    }
}

/// Checks an op and every op in it against its definition: operands, properties, regions, requirements.
pub fn verify(library: &Library, ir: &mut Ir, root: Op) -> Vec<Diagnostic> {
    let mut wrong = Vec::new();
    let mut defs: FxHashMap<Name, Option<&OpDef>> = FxHashMap::default();
    let setting = Setting { facts: ir.exprs.facts(), externs: None };
    for op in std::iter::once(root).chain(ir.nested_ops(root)) {
        let def = *defs.entry(ir.op(op).name).or_insert_with(|| library.op(ir.op_name(op)));
        let Some(def) = def else { continue };
        if let Signature::Named(sig) = &def.signature {
            signature::verify(ir, op, def, sig, &mut wrong);
            continue;
        }
        match instance_of(ir, op, def) {
            Err(d) => wrong.push(d),
            Ok(instance) => {
                if ir.is_op(op, aten::CopyOp::NAME) {
                    wrong.extend(mutation::verify(ir, op));
                }
                for text in problems(ir, def, &instance, &setting) {
                    wrong.push(error_at(ir, op, &text));
                }
            }
        }
    }
    // It relies on the parts of ops that signatures say.
    if wrong.is_empty() {
        wrong = kernel_verify::verify(ir, root);
    }
    wrong
}

/// What an op breaks of its definition: sentences.
fn problems(ir: &mut Ir, def: &OpDef, instance: &Instance, setting: &Setting<'_>) -> Vec<String> {
    match rinductor_defs::verify(def, instance, &mut ir.exprs, setting) {
        Err(broken) => broken.into_iter().map(|e| e.message).collect(),
        // What depends on sizes that are not known yet is taken as it stands.
        Ok(None) => Vec::new(),
        Ok(Some(types)) => results(ir, &types, &instance.results).into_iter().collect(),
    }
}

fn error_at(ir: &Ir, op: Op, text: &str) -> Diagnostic {
    Diagnostic::error(ir.place(ir.op(op).loc), format!("'{}': {text}", ir.op_name(op)))
}

/// Checks what [`verify`] takes to hold, since it depends on sizes that only a call of the function says: `value` gives the symbols of the call.
/// Gives each op that cannot be computed then, with an error.
pub fn verify_call<'l>(
    def_of: &dyn Fn(&str) -> Option<&'l OpDef>,
    ir: &mut Ir,
    func: Op,
    value: &dyn Fn(SymId) -> Option<i64>,
) -> Vec<(Op, Diagnostic)> {
    let mut wrong = Vec::new();
    let setting = Setting::default();
    for op in ir.nested_ops(func) {
        let Some(def) = def_of(ir.op_name(op)) else { continue };
        if matches!(def.signature, Signature::Named(_)) {
            continue;
        }
        // What does not fit the schema was found by `verify`.
        let Ok(mut instance) = instance_of(ir, op, def) else { continue };
        let mut depends = false;
        instance.map_exprs(&mut |e| {
            ir.exprs.subst_with(e, |exprs, atom| {
                let Atom::Sym(s) = atom else { return None };
                let n = value(s)?;
                depends = true;
                Some(exprs.int(n))
            })
        });
        if depends {
            for text in problems(ir, def, &instance, &setting) {
                wrong.push((op, error_at(ir, op, &text)));
            }
        }
    }
    wrong
}

/// What is wrong with the stated results of an op whose definition says what they are: their number, element types, ranks and static sizes.
/// Strides are free: a pass or the text may choose them.
fn results(ir: &Ir, inferred: &[ResultType], stated: &[ResultType]) -> Option<String> {
    if inferred.len() != stated.len() {
        return Some(format!("has {} results, but its definition gives {}", stated.len(), inferred.len()));
    }
    inferred.iter().zip(stated).enumerate().find_map(|(k, (wanted, stated))| {
        let (wanted, stated) = (wanted.tensor()?, stated.tensor()?);
        if wanted.dtype != stated.dtype {
            return Some(format!("result {k} holds {}, but its definition gives {}", stated.dtype, wanted.dtype));
        }
        if wanted.shape.len() != stated.shape.len() {
            let (has, gives) = (stated.shape.len(), wanted.shape.len());
            return Some(format!("result {k} has {has} dimensions, but its definition gives {gives}"));
        }
        wanted.shape.iter().zip(&stated.shape).enumerate().find_map(|(d, (&w, &s))| {
            let (w, s) = (ir.exprs.as_int(w)?, ir.exprs.as_int(s)?);
            (w != s).then(|| format!("dimension {d} of result {k} has size {s}, but its definition gives {w}"))
        })
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_definition_of_the_compiler_is_there_and_has_a_form_that_is_right() {
        let library = builtin();
        let wrong: Vec<String> = library.ops().filter_map(form_error).map(|d| d.message).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
        for (name, def) in library.op_names().zip(library.ops()) {
            assert_eq!(name, &*def.name.text);
        }
        assert!(library.op_names().count() > 300 && library.rules().len() > 50);
    }

    #[test]
    fn definitions_point_into_their_file() {
        let library = builtin();
        for def in library.ops() {
            assert_eq!(library.sources().slice(def.name.span), &*def.name.text);
        }
        for rule in library.rules() {
            assert_eq!(library.sources().slice(rule.pattern.op.span), &*rule.pattern.op.text);
        }
    }
}
