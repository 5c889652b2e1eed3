//! The text of types, attributes and locations.

use crate::ir::attr::Layout;
use crate::ir::{Attr, AttrData, DYNAMIC, Dict, Ir, Loc, LocData, Signedness, Type, TypeData};
use crate::text::number;
use rinductor_index::Spelling;
use std::fmt::{self, Display, Write};

/// The text of a type, attribute or location.
pub struct AttrText<'a> {
    ir: &'a Ir,
    what: What,
}

enum What {
    Type(Type),
    Attr(Attr),
    Loc(Loc),
}

impl<'a> AttrText<'a> {
    /// Of a type.
    pub fn of_type(ir: &'a Ir, ty: Type) -> Self {
        Self { ir, what: What::Type(ty) }
    }
    /// Of an attribute.
    pub fn of_attr(ir: &'a Ir, attr: Attr) -> Self {
        Self { ir, what: What::Attr(attr) }
    }
    /// Of a location, without `loc(…)` around it.
    pub fn of_loc(ir: &'a Ir, loc: Loc) -> Self {
        Self { ir, what: What::Loc(loc) }
    }
}

impl Display for AttrText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            What::Type(t) => ty(self.ir, t, f),
            What::Attr(a) => attr(self.ir, a, f),
            What::Loc(l) => loc(self.ir, l, f),
        }
    }
}

/// Writes items with commas between.
pub fn list<T, W: Write + ?Sized>(
    items: impl IntoIterator<Item = T>,
    out: &mut W,
    mut one: impl FnMut(T, &mut W) -> fmt::Result,
) -> fmt::Result {
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            out.write_str(", ")?;
        }
        one(item, out)?;
    }
    Ok(())
}

fn dims(shape: &[i64], scalable: &[bool], out: &mut dyn Write) -> fmt::Result {
    for (i, &d) in shape.iter().enumerate() {
        match (d, scalable.get(i)) {
            (DYNAMIC, _) => out.write_str("?x")?,
            (d, Some(true)) => write!(out, "[{d}]x")?,
            (d, _) => write!(out, "{d}x")?,
        }
    }
    Ok(())
}

/// Writes a type.
pub fn ty(ir: &Ir, t: Type, out: &mut dyn Write) -> fmt::Result {
    match ir.ty(t) {
        TypeData::Integer { width, sign } => {
            let prefix = match sign {
                Signedness::Signless => "i",
                Signedness::Signed => "si",
                Signedness::Unsigned => "ui",
            };
            write!(out, "{prefix}{width}")
        }
        TypeData::Index => out.write_str("index"),
        TypeData::None => out.write_str("none"),
        TypeData::Float(kind) => out.write_str(kind.spelling()),
        TypeData::Complex(e) => {
            out.write_str("complex<")?;
            ty(ir, *e, out)?;
            out.write_char('>')
        }
        TypeData::Tuple(items) => {
            out.write_str("tuple<")?;
            list(items.iter(), out, |t, o| ty(ir, *t, o))?;
            out.write_char('>')
        }
        TypeData::Function { inputs, results } => {
            out.write_char('(')?;
            list(inputs.iter(), out, |t, o| ty(ir, *t, o))?;
            out.write_str(") -> ")?;
            result_types(ir, results, out)
        }
        TypeData::Tensor { shape, element, encoding } => {
            out.write_str("tensor<")?;
            dims(shape, &[], out)?;
            ty(ir, *element, out)?;
            if let Some(e) = encoding {
                out.write_str(", ")?;
                attr(ir, *e, out)?;
            }
            out.write_char('>')
        }
        TypeData::UnrankedTensor(element) => {
            out.write_str("tensor<*x")?;
            ty(ir, *element, out)?;
            out.write_char('>')
        }
        TypeData::MemRef { shape, element, layout, space } => {
            out.write_str("memref<")?;
            dims(shape, &[], out)?;
            ty(ir, *element, out)?;
            for a in layout.iter().chain(space) {
                out.write_str(", ")?;
                attr(ir, *a, out)?;
            }
            out.write_char('>')
        }
        TypeData::UnrankedMemRef { element, space } => {
            out.write_str("memref<*x")?;
            ty(ir, *element, out)?;
            if let Some(a) = space {
                out.write_str(", ")?;
                attr(ir, *a, out)?;
            }
            out.write_char('>')
        }
        TypeData::Vector { shape, scalable, element } => {
            out.write_str("vector<")?;
            dims(shape, scalable, out)?;
            ty(ir, *element, out)?;
            out.write_char('>')
        }
        TypeData::Dialect(text) => out.write_str(text),
    }
}

/// The result types of a signature: one that is not a function type stands without parentheses.
pub fn result_types(ir: &Ir, results: &[Type], out: &mut dyn Write) -> fmt::Result {
    if let [one] = results
        && !matches!(ir.ty(*one), TypeData::Function { .. })
    {
        return ty(ir, *one, out);
    }
    out.write_char('(')?;
    list(results.iter(), out, |t, o| ty(ir, *t, o))?;
    out.write_char(')')
}

/// Writes an attribute.
pub fn attr(ir: &Ir, a: Attr, out: &mut dyn Write) -> fmt::Result {
    match ir.attr(a) {
        AttrData::Unit => out.write_str("unit"),
        AttrData::Bool(b) => write!(out, "{b}"),
        AttrData::Integer { value, ty: t } => {
            integer(ir, *value, *t, out)?;
            typed(ir, *t, out)
        }
        AttrData::WideInteger { digits, ty: t } => {
            out.write_str(digits)?;
            typed(ir, *t, out)
        }
        AttrData::Float { bits, ty: t } => {
            float(ir, *bits, *t, out)?;
            typed(ir, *t, out)
        }
        AttrData::WideFloat { text, ty: t } => {
            out.write_str(text)?;
            typed(ir, *t, out)
        }
        AttrData::String(bytes) => string(bytes, out),
        AttrData::TypedString(bytes, t) => {
            string(bytes, out)?;
            typed(ir, *t, out)
        }
        AttrData::Symbol { root, nested } => {
            symbol(ir.text(*root), out)?;
            for n in nested {
                out.write_str("::")?;
                symbol(ir.text(*n), out)?;
            }
            Ok(())
        }
        AttrData::Array(items) => {
            out.write_char('[')?;
            list(items.iter(), out, |a, o| attr(ir, *a, o))?;
            out.write_char(']')
        }
        AttrData::Dict(d) => dict(ir, *d, out),
        AttrData::Type(t) => ty(ir, *t, out),
        AttrData::DenseArray { element, values } => {
            out.write_str("array<")?;
            ty(ir, *element, out)?;
            if !values.is_empty() {
                out.write_str(": ")?;
            }
            list(values.iter(), out, |&v, o| match ir.ty(*element) {
                TypeData::Float(_) => float(ir, v as u64, *element, o),
                TypeData::Integer { width: 1, .. } => write!(o, "{}", v != 0),
                _ => integer(ir, v, *element, o),
            })?;
            out.write_char('>')
        }
        AttrData::Dense { text, ty: t } => {
            write!(out, "dense<{text}>")?;
            typed(ir, *t, out)
        }
        AttrData::Elements { kind, text, ty: t } => {
            write!(out, "{kind}<{text}>")?;
            typed(ir, *t, out)
        }
        AttrData::Affine { set, text } => write!(out, "affine_{}<{text}>", if *set { "set" } else { "map" }),
        AttrData::Strided { strides, offset } => {
            let one = |v: i64, o: &mut dyn Write| if v == DYNAMIC { o.write_char('?') } else { write!(o, "{v}") };
            out.write_str("strided<[")?;
            list(strides.iter(), out, |v, o| one(*v, o))?;
            out.write_char(']')?;
            if *offset != 0 {
                out.write_str(", offset: ")?;
                one(*offset, out)?;
            }
            out.write_char('>')
        }
        AttrData::Loc(l) => {
            out.write_str("loc(")?;
            loc(ir, *l, out)?;
            out.write_char(')')
        }
        AttrData::Distinct { id, attr: a } => {
            write!(out, "distinct[{id}]<")?;
            if let Some(a) = a {
                attr(ir, *a, out)?;
            }
            out.write_char('>')
        }
        AttrData::Layout(l) => layout(ir, l, out),
        AttrData::IndexMap { dims, exprs } => {
            out.write_str("#index.map<(")?;
            list(0..*dims, out, |d, o| write!(o, "d{d}"))?;
            out.write_str(") -> (")?;
            list(exprs.iter(), out, |e, o| ir.exprs.write(&mut Forward(o), *e, Spelling::Ours, |d| format!("d{d}")))?;
            out.write_str(")>")
        }
        AttrData::Dialect(text) => out.write_str(text),
    }
}

/// A sized writer over any writer.
pub struct Forward<'a>(pub &'a mut dyn Write);

impl Write for Forward<'_> {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        self.0.write_str(s)
    }
}

fn layout(ir: &Ir, l: &Layout, out: &mut dyn Write) -> fmt::Result {
    let expr = |e, o: &mut dyn Write| ir.exprs.write(&mut Forward(o), e, Spelling::Sympy, |d| format!("d{d}"));
    out.write_str("#aten.layout<")?;
    let mut sep = "";
    for (key, items) in [("sizes", &l.sizes), ("strides", &l.strides)] {
        if let Some(items) = items {
            write!(out, "{sep}{key} = [")?;
            list(items.iter(), out, |e, o| expr(*e, o))?;
            out.write_char(']')?;
            sep = ", ";
        }
    }
    if let Some(e) = l.offset {
        write!(out, "{sep}offset = ")?;
        expr(e, out)?;
        sep = ", ";
    }
    if let Some(d) = l.device {
        write!(out, "{sep}device = ")?;
        string(ir.text(d).as_bytes(), out)?;
    }
    out.write_char('>')
}

fn typed(ir: &Ir, t: Type, out: &mut dyn Write) -> fmt::Result {
    out.write_str(" : ")?;
    ty(ir, t, out)
}

/// Writes the digits of an integer of a type.
pub fn integer(ir: &Ir, value: i64, t: Type, out: &mut dyn Write) -> fmt::Result {
    match ir.ty(t) {
        TypeData::Integer { sign: Signedness::Unsigned, .. } => write!(out, "{}", value as u64),
        _ => write!(out, "{value}"),
    }
}

fn float(ir: &Ir, bits: u64, t: Type, out: &mut dyn Write) -> fmt::Result {
    match ir.ty(t) {
        TypeData::Float(kind) => out.write_str(&number::float_text(*kind, bits)),
        _ => write!(out, "0x{bits:X}"),
    }
}

/// Writes a string literal: UTF-8 as it is, other bytes and control characters as `\XX`.
pub fn string(bytes: &[u8], out: &mut dyn Write) -> fmt::Result {
    out.write_char('"')?;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' => out.write_str("\\22")?,
                '\\' => out.write_str("\\\\")?,
                c if c.is_control() => {
                    for b in c.encode_utf8(&mut [0; 4]).bytes() {
                        write!(out, "\\{b:02X}")?;
                    }
                }
                c => out.write_char(c)?,
            }
        }
        for b in chunk.invalid() {
            write!(out, "\\{b:02X}")?;
        }
    }
    out.write_char('"')
}

/// Whether a name needs no quotes.
pub fn is_bare(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.'))
}

/// Writes `@name`.
pub fn symbol(name: &str, out: &mut dyn Write) -> fmt::Result {
    out.write_char('@')?;
    if is_bare(name) { out.write_str(name) } else { string(name.as_bytes(), out) }
}

/// Writes `{a = 1, b}`.
pub fn dict(ir: &Ir, d: Dict, out: &mut dyn Write) -> fmt::Result {
    entries(ir, ir.dict(d).iter().copied(), out)
}

/// Writes the entries of a dictionary in braces.
pub fn entries(
    ir: &Ir,
    items: impl Iterator<Item = (rinductor_support::Name, Attr)>,
    out: &mut dyn Write,
) -> fmt::Result {
    out.write_char('{')?;
    list(items, out, |(name, a), o| {
        let name = ir.text(name);
        if is_bare(name) {
            o.write_str(name)?;
        } else {
            string(name.as_bytes(), o)?;
        }
        if matches!(ir.attr(a), AttrData::Unit) {
            return Ok(());
        }
        o.write_str(" = ")?;
        attr(ir, a, o)
    })?;
    out.write_char('}')
}

/// Writes a location without `loc(…)` around it.
pub fn loc(ir: &Ir, l: Loc, out: &mut dyn Write) -> fmt::Result {
    let Loc::Id(id) = l else { return out.write_str("unknown") };
    match ir.locs.get(id) {
        LocData::File { file, line, column, end } => {
            string(ir.text(*file).as_bytes(), out)?;
            write!(out, ":{line}:{column}")?;
            match end {
                None => Ok(()),
                Some((l, c)) if l == line => write!(out, " to :{c}"),
                Some((l, c)) => write!(out, " to {l}:{c}"),
            }
        }
        LocData::Named { name, child } => {
            string(ir.text(*name).as_bytes(), out)?;
            if *child == Loc::Unknown {
                return Ok(());
            }
            out.write_char('(')?;
            loc(ir, *child, out)?;
            out.write_char(')')
        }
        LocData::CallSite { callee, caller } => {
            out.write_str("callsite(")?;
            loc(ir, *callee, out)?;
            out.write_str(" at ")?;
            loc(ir, *caller, out)?;
            out.write_char(')')
        }
        LocData::Fused { metadata, locs } => {
            out.write_str("fused")?;
            if let Some(m) = metadata {
                out.write_char('<')?;
                attr(ir, *m, out)?;
                out.write_char('>')?;
            }
            out.write_char('[')?;
            list(locs.iter(), out, |l, o| loc(ir, *l, o))?;
            out.write_char(']')
        }
        LocData::Dialect(text) => out.write_str(text),
    }
}
