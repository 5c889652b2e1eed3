//! Typed views of ops, as Rust: what the build script writes for the ops that Rust code looks at by name.
//!
//! A view is a name and where the parts of an op stand; what it does with them is code of `dialects::view`.

use crate::assembly::{AsmDirective, AsmItem};
use crate::ast::{AttrDecl, AttrKind, Multiplicity, NamedSig, OpDef, RegionKind, SchemaSig, Signature};
use crate::schema::{Base, Literal, SchemaType};
use std::fmt::Write;

/// The views of some ops, one struct each.
pub fn views<'a>(ops: impl IntoIterator<Item = &'a OpDef>) -> String {
    let mut out = String::new();
    for op in ops {
        view(&mut out, op);
    }
    out
}

/// `SymSizeIntOp` of `aten.sym_size.int`.
pub fn type_name(op: &OpDef) -> String {
    let words = op.short_name().split(['.', '_']).filter(|w| !w.is_empty());
    let camel = words.map(|w| w[..1].to_uppercase() + &w[1..]);
    camel.collect::<String>() + "Op"
}

fn view(out: &mut String, op: &OpDef) {
    let (name, ty) = (&op.name.text, type_name(op));
    let doc = if op.doc.trim().is_empty() { format!("`{name}`.") } else { op.doc.clone() };
    for line in doc.lines() {
        let _ = writeln!(out, "/// {line}");
    }
    let _ = write!(
        out,
        "#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct {ty}(pub Op);

impl {ty} {{
    /// The op's name.
    pub const NAME: &'static str = \"{name}\";

    /// The view of an op, if it is a `{name}`.
    pub fn cast(ir: &Ir, op: Op) -> Option<Self> {{
        ir.is_op(op, Self::NAME).then_some(Self(op))
    }}
"
    );
    match &op.signature {
        Signature::Named(sig) => named(out, op, sig),
        Signature::Schema(sig) => schema(out, sig),
    }
    out.push_str("}\n\n");
}

/// One accessor: what it is in words, its name, its type, its body.
fn accessor(out: &mut String, what: &str, name: &str, ty: &str, body: &str) {
    let _ = write!(
        out,
        "\n    /// {what} `{name}`.\n    pub fn {name}(self, ir: &Ir) -> {ty} {{\n        {body}\n    }}\n"
    );
}

fn many(m: Multiplicity) -> &'static str {
    match m {
        Multiplicity::One => "Many::One",
        Multiplicity::Optional => "Many::Optional",
        Multiplicity::Many => "Many::Any",
    }
}

fn named(out: &mut String, op: &OpDef, sig: &NamedSig) {
    let groups: Vec<&str> = sig.operands.iter().map(|o| many(o.many)).collect();
    let counted = match counted(op, sig) {
        Some((group, map)) => format!("Some(({group}, \"{map}\"))"),
        None => "None".into(),
    };
    if !groups.is_empty() {
        let _ = write!(
            out,
            "\n    const OPERANDS: Groups = Groups {{ many: &[{}], counted: {counted} }};\n",
            groups.join(", ")
        );
    }
    for (k, o) in sig.operands.iter().enumerate() {
        let (ty, function) = match o.many {
            Multiplicity::One => ("Value", "one"),
            Multiplicity::Optional => ("Option<Value>", "optional"),
            Multiplicity::Many => ("Values", "many"),
        };
        let body = format!("view::{function}(ir, self.0, Self::OPERANDS, {k})");
        accessor(out, "Operand", &o.name.text, ty, &body);
    }
    for a in &sig.attrs {
        let (ty, function) = attr(a);
        accessor(out, "Property", &a.name.text, &ty, &format!("{function}(ir, self.0, \"{}\")", a.name.text));
    }
    for (k, r) in sig.regions.iter().enumerate() {
        let (ty, function) = match r.kind {
            RegionKind::Any => ("Region", "region"),
            RegionKind::Block | RegionKind::Graph => ("Block", "block"),
        };
        accessor(out, "Region", &r.name.text, ty, &format!("view::{function}(ir, self.0, {k})"));
    }
    for (k, r) in sig.results.iter().enumerate() {
        match r.many {
            Multiplicity::One => accessor(out, "Result", &r.name.text, "Value", &format!("ir.result(self.0, {k})")),
            // Of several names with numbers that vary nobody could tell which is which.
            _ if sig.results.len() == 1 => {
                accessor(out, "Results", &r.name.text, "Values", "ir.results(self.0).collect()");
            }
            _ => {}
        }
    }
}

/// The operands that an index map counts, as the pretty form says: their group, and the property.
pub fn counted<'a>(op: &'a OpDef, sig: &NamedSig) -> Option<(usize, &'a str)> {
    fn find(items: &[AsmItem]) -> Option<(&str, &str)> {
        items.iter().find_map(|item| match item {
            AsmItem::Directive { kind: AsmDirective::Subscript, args, .. } => match args.as_slice() {
                [AsmItem::Var { name: operands, .. }, AsmItem::Var { name: map, .. }] => Some((&**operands, &**map)),
                _ => None,
            },
            AsmItem::Group { items, otherwise, .. } => find(items).or_else(|| find(otherwise)),
            _ => None,
        })
    }
    let (operands, map) = find(&op.assembly.as_ref()?.items)?;
    Some((sig.operands.iter().position(|o| &*o.name.text == operands)?, map))
}

/// The type of a property, and the function that reads it.
fn attr(a: &AttrDecl) -> (String, String) {
    let (ty, name) = match &a.kind {
        AttrKind::Bool | AttrKind::Unit => return ("bool".into(), "view::flag".into()),
        AttrKind::Int => ("i64", "int"),
        AttrKind::Str | AttrKind::SymbolName | AttrKind::Enum(_) => ("&str", "str"),
        AttrKind::SymbolRef => ("&str", "symbol"),
        AttrKind::Strs => ("Vec<&str>", "strs"),
        AttrKind::Ints => ("Vec<i64>", "ints"),
        AttrKind::IndexMap => ("&[Expr]", "index_map"),
        AttrKind::Dict => ("Dict", "dict"),
        AttrKind::Array => ("&[Attr]", "array"),
        _ => ("Attr", "attr"),
    };
    if a.optional || a.default.is_some() {
        (format!("Option<{ty}>"), format!("view::{name}"))
    } else {
        (ty.into(), format!("view::the_{name}"))
    }
}

/// Of a schema: tensors up to the first that may be absent or several, and what is no tensor, where a property gives it.
fn schema(out: &mut String, sig: &SchemaSig) {
    let plain = |t: &SchemaType| t.is_tensor() && !t.list && !t.optional();
    let mut fixed = true;
    for (k, p) in sig.params.iter().enumerate() {
        let name = &*p.name.text;
        // `self` is a word of Rust.
        let shown = if name == "self" { "tensor" } else { name };
        if p.ty.is_tensor() {
            fixed &= plain(&p.ty);
            if fixed {
                let _ = write!(
                    out,
                    "\n    /// Operand `{name}`.\n    pub fn {shown}(self, ir: &Ir) -> Value {{\n        ir.operand(self.0, {k})\n    }}\n"
                );
            }
            continue;
        }
        let (ty, function) = match (p.ty.base, p.ty.list, &p.default) {
            (Base::Bool, false, Some(Literal::Bool(false))) => ("bool", "flag"),
            (Base::Int | Base::SymInt, false, _) => ("Option<i64>", "int"),
            (Base::Int | Base::SymInt, true, _) => ("Option<Vec<i64>>", "ints"),
            (Base::Str, false, _) => ("Option<&str>", "str"),
            _ => ("Option<Attr>", "attr"),
        };
        accessor(out, "Property", shown, ty, &format!("view::{function}(ir, self.0, \"{name}\")"));
    }
    if sig.results.len() == 1 && !sig.results[0].ty.list {
        accessor(out, "Result", "result", "Value", "ir.result(self.0, 0)");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Library;

    fn of(text: &str) -> String {
        let mut library = Library::new();
        assert!(library.load("t.dialect", text).is_empty());
        views(library.ops())
    }

    #[test]
    fn parts_have_accessors_of_their_type() {
        let text = of("/// An element.
op a.load_it(buffer: memref, indices: index*, guard: i1?) attrs {map: index_map, wrap: unit?, note: str?, n: int} regions {body: block} -> (result: any) {
  assembly \"$buffer `[` subscript($indices, $map) `]` (if $guard^)? attr-dict $body\";
}");
        for part in [
            "/// An element.\n#[derive(Clone, Copy, PartialEq, Eq, Debug)]\npub struct LoadItOp(pub Op);",
            "pub const NAME: &'static str = \"a.load_it\";",
            "const OPERANDS: Groups = Groups { many: &[Many::One, Many::Any, Many::Optional], counted: Some((1, \"map\")) };",
            "pub fn buffer(self, ir: &Ir) -> Value {\n        view::one(ir, self.0, Self::OPERANDS, 0)",
            "pub fn indices(self, ir: &Ir) -> Values {",
            "pub fn guard(self, ir: &Ir) -> Option<Value> {",
            "pub fn map(self, ir: &Ir) -> &[Expr] {\n        view::the_index_map(ir, self.0, \"map\")",
            "pub fn wrap(self, ir: &Ir) -> bool {",
            "pub fn note(self, ir: &Ir) -> Option<&str> {",
            "pub fn n(self, ir: &Ir) -> i64 {",
            "pub fn body(self, ir: &Ir) -> Block {",
            "pub fn result(self, ir: &Ir) -> Value {",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn tensors_of_a_schema_have_a_place_up_to_the_first_that_varies() {
        let text = of("op a.x(Tensor self, int dim, Tensor? w, Tensor b, bool keep=False) -> Tensor;");
        for part in [
            "pub struct XOp(",
            "pub fn tensor(self",
            "pub fn dim(self, ir: &Ir) -> Option<i64>",
            "pub fn keep(self, ir: &Ir) -> bool",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(!text.contains("pub fn w(") && !text.contains("pub fn b("));
    }
}
