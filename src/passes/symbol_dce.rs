//! Removes private symbols that nothing refers to.
//!
//! A symbol stays when it is public, or when an op that stays refers to it by name.
//!
//! Before:
//! ```mlir
//! func.func private @unused() {
//!   return
//! }
//! func.func @f() {
//!   return
//! }
//! ```
//! After:
//! ```mlir
//! func.func @f() {
//!   return
//! }
//! ```

use crate::ir::{Attr, AttrData, Dict, Ir, Op};
use crate::pass::{ANY, Changed, NoOptions, Pass, PassContext};
use crate::support::{Diagnostic, FxHashMap, FxHashSet, Name};

/// The pass.
pub static PASS: Pass = Pass {
    name: "symbol-dce",
    source: include_str!("symbol_dce.rs"),
    on: None,
    needs: ANY,
    leaves: ANY,
    statistics: &[("erased", "symbols that were erased")],
    run,
};

fn run(ir: &mut Ir, root: Op, _: &NoOptions, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
    // Names, not symbols, are followed: two symbols of one name in different tables live or die together, which errs on the safe side.
    let mut private: FxHashMap<String, Vec<Op>> = FxHashMap::default();
    let nested = ir.nested_ops(root);
    for &op in &nested {
        if let Some(name) = private_symbol(ir, op) {
            private.entry(name).or_default().push(op);
        }
    }
    let dead_or_unknown: FxHashSet<Op> = private.values().flatten().copied().collect();
    // What is referred to outside of private symbols is alive; then what that refers to, and so on.
    let mut alive: FxHashSet<Op> = FxHashSet::default();
    let mut work = vec![root];
    while let Some(op) = work.pop() {
        let mut stack = vec![op];
        while let Some(op) = stack.pop() {
            let mut names = Vec::new();
            symbols_in_dict(ir, ir.op(op).props, &mut names);
            symbols_in_dict(ir, ir.op(op).attrs, &mut names);
            for name in names {
                for &target in private.get(ir.text(name)).into_iter().flatten() {
                    if alive.insert(target) {
                        work.push(target);
                    }
                }
            }
            for &region in ir.regions_of(op) {
                for &block in ir.blocks_of(region) {
                    stack.extend(ir.block_ops(block).filter(|inner| !dead_or_unknown.contains(inner)));
                }
            }
        }
    }
    let mut erased = 0;
    for op in nested {
        if dead_or_unknown.contains(&op) && !alive.contains(&op) && ir.is_live(op) {
            ir.erase(op);
            erased += 1;
        }
    }
    cx.count("erased", erased);
    Ok((erased > 0).into())
}

/// The name of a symbol that only its module sees.
fn private_symbol(ir: &Ir, op: Op) -> Option<String> {
    let name = ir.symbol_name(op)?;
    let visibility = ir.attr_of(op, "sym_visibility").and_then(|a| ir.as_str(a));
    (visibility == Some("private") && ir.num_results(op) == 0).then(|| name.to_string())
}

/// Every name in the symbol references of a dictionary.
fn symbols_in_dict(ir: &Ir, dict: Dict, names: &mut Vec<Name>) {
    let mut work: Vec<Attr> = ir.dict(dict).iter().map(|e| e.1).collect();
    while let Some(attr) = work.pop() {
        match ir.attr(attr) {
            AttrData::Symbol { root, nested } => {
                names.push(*root);
                names.extend_from_slice(nested);
            }
            AttrData::Array(items) => work.extend_from_slice(items),
            AttrData::Dict(dict) => work.extend(ir.dict(*dict).iter().map(|e| e.1)),
            AttrData::Distinct { attr: Some(inner), .. } => work.push(*inner),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{InsertPoint, Loc};
    use crate::pass::infos::NoInfos;

    #[test]
    fn private_symbols_that_only_the_dead_refer_to_go() {
        let mut ir = Ir::with_module();
        let end = InsertPoint::End(ir.module_body());
        // main -> a; dead <-> deader refer to each other only.
        for (name, private, calls) in
            [("main", false, "a"), ("a", true, "a"), ("dead", true, "deader"), ("deader", true, "dead")]
        {
            let sym_name = ir.make_attr(AttrData::String(name.as_bytes().into()));
            let root = ir.name(calls);
            let callee = ir.make_attr(AttrData::Symbol { root, nested: Box::new([]) });
            let callees = ir.array_attr(&[callee]);
            let visibility = ir.make_attr(AttrData::String(b"private".as_slice().into()));
            let mut props = vec![("sym_name", sym_name), ("callees", callees)];
            if private {
                props.push(("sym_visibility", visibility));
            }
            ir.create_op("func.func", &[], &[], &props, Loc::Unknown, end);
        }
        let mut cx = PassContext::new(&PASS, &NoInfos, false);
        let module = ir.module();
        assert_eq!(run(&mut ir, module, &NoOptions {}, &mut cx).unwrap(), Changed::Yes);
        assert_eq!(cx.finish().1[0].value(), 2);
        assert!(ir.lookup_symbol("a").is_some() && ir.lookup_symbol("dead").is_none());
    }
}
