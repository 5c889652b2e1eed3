//! Pretty forms: an op's `assembly` clause as the format that the parser and printer work by.

use crate::ir::format::{Custom, Format, Item, Many, Prop, RegionSpec, Spelled, TypeFrom, Values};
use rinductor_defs::assembly::{AsmDirective, AsmItem};
use rinductor_defs::ast::{AttrKind, Constraint, Multiplicity, NamedSig, OperandDecl};
use rinductor_defs::schema::Literal;
use rinductor_defs::{OpDef, Signature};

/// The format of an op that has an `assembly` clause and a signature of names; None for others, which keep the generic form.
///
/// # Errors
/// A name or directive that has no meaning in a format: the sentence for the diagnostic at the clause.
pub fn format_of(def: &OpDef) -> Result<Option<Format>, String> {
    let (Some(assembly), Signature::Named(sig)) = (&def.assembly, &def.signature) else { return Ok(None) };
    let varying = sig.operands.iter().filter(|o| o.many != Multiplicity::One).count();
    let mut format = Format {
        operands: sig.operands.iter().map(values).collect(),
        results: sig.results.iter().map(values).collect(),
        props: sig.attrs.iter().map(|a| prop(def, a)).collect(),
        regions: sig.regions.iter().map(|r| RegionSpec { name: (*r.name.text).into(), optional: false }).collect(),
        successors: sig.successors.iter().map(|(n, m)| ((*n.text).into(), many(*m))).collect(),
        segments: varying > 1,
        counted: None,
        items: Vec::new(),
    };
    let mut builder = Builder { sig, format: &mut format };
    let items = builder.items(&assembly.items)?;
    // Types that the form prints are read from it; the others follow from the constraints.
    format.items = items;
    // Where index expressions say how many operands they use, nothing else need say it.
    let subscript = format.items.iter().find_map(|i| match i {
        Item::Subscript { operands, map } if *operands < sig.operands.len() => Some((*operands, *map)),
        _ => None,
    });
    if varying == 2 && subscript.is_some() {
        (format.counted, format.segments) = (subscript, false);
    }
    let printed = Printed::of(&format.items);
    for (k, o) in sig.operands.iter().enumerate() {
        if printed.operands.contains(&k) || printed.all_operands {
            format.operands[k].ty = TypeFrom::Printed;
        } else {
            format.operands[k].ty = type_from(o, sig, &format.operands[k].ty);
        }
    }
    for (k, r) in sig.results.iter().enumerate() {
        if printed.results.contains(&k) || printed.all_results {
            format.results[k].ty = TypeFrom::Printed;
        } else {
            format.results[k].ty = type_from(r, sig, &format.results[k].ty);
            // The type of a constant is that of its value.
            if def.has_trait("constant_like") && format.results[k].ty == TypeFrom::Printed {
                format.results[k].ty = TypeFrom::AttrType("value".into());
            }
        }
    }
    Ok(Some(format))
}

fn many(m: Multiplicity) -> Many {
    match m {
        Multiplicity::One => Many::One,
        Multiplicity::Optional => Many::Optional,
        Multiplicity::Many => Many::Any,
    }
}

fn values(o: &OperandDecl) -> Values {
    Values { name: (*o.name.text).into(), many: many(o.many), ty: TypeFrom::Printed }
}

fn prop(def: &OpDef, a: &rinductor_defs::ast::AttrDecl) -> Prop {
    // MLIR's dialects keep words as numbers, and flags as attributes of their own.
    let mlir = matches!(def.dialect(), "arith" | "math");
    let (words, prefix) = match &a.kind {
        AttrKind::Enum(words) if mlir => {
            let width = if &*a.name.text == "predicate" { 64 } else { 32 };
            (Some((width, words.iter().map(|w| (**w).into()).collect())), None)
        }
        AttrKind::Flags(_) => {
            let class = if &*a.name.text == "overflowFlags" { "overflow" } else { &a.name.text };
            let dialect = if mlir { "arith" } else { def.dialect() };
            (None, Some(format!("#{dialect}.{class}").into_boxed_str()))
        }
        _ => (None, None),
    };
    let spelled = match &a.kind {
        AttrKind::Int => Spelled::Int(64),
        AttrKind::SymbolName => Spelled::SymbolName,
        AttrKind::Type => Spelled::Type,
        AttrKind::Enum(_) => Spelled::Word,
        AttrKind::Flags(_) => Spelled::Flags,
        AttrKind::Unit => Spelled::Unit,
        _ => Spelled::Attr,
    };
    let default = match &a.default {
        Some(Literal::Int(n)) => Some(format!("{n} : i64").into()),
        Some(Literal::Bool(b)) => Some(b.to_string().into()),
        Some(Literal::None) if prefix.is_some() => Some(format!("{}<none>", prefix.as_deref().unwrap_or("")).into()),
        Some(Literal::Str(s)) if prefix.is_some() => Some(format!("{}<{s}>", prefix.as_deref().unwrap_or("")).into()),
        Some(Literal::Str(s)) => Some(format!("\"{s}\"").into()),
        _ => None,
    };
    Prop { name: (*a.name.text).into(), spelled, default, prefix, words }
}

/// The type of a value that the form does not print, from its constraint.
fn type_from(o: &OperandDecl, _sig: &NamedSig, fallback: &TypeFrom) -> TypeFrom {
    match &o.constraint {
        Constraint::Same(name, _) => TypeFrom::Same((**name).into()),
        Constraint::Like(name, inner, _) => match &**inner {
            Constraint::Named(word, _) => TypeFrom::Like((**name).into(), (**word).into()),
            _ => fallback.clone(),
        },
        Constraint::Element(name, _) => TypeFrom::ElementOf((**name).into()),
        Constraint::Named(word, _) => match &**word {
            "index" | "i1" | "i8" | "i16" | "i32" | "i64" | "f16" | "bf16" | "f32" | "f64" | "none" => {
                TypeFrom::Fixed((**word).into())
            }
            "handle" => TypeFrom::Fixed(super::constraint::HANDLE.into()),
            _ => fallback.clone(),
        },
        _ => fallback.clone(),
    }
}

/// Which types a form prints.
#[derive(Default)]
struct Printed {
    operands: Vec<usize>,
    results: Vec<usize>,
    all_operands: bool,
    all_results: bool,
}

impl Printed {
    fn of(items: &[Item]) -> Printed {
        let mut p = Printed::default();
        p.add(items);
        p
    }
    fn add(&mut self, items: &[Item]) {
        for item in items {
            match item {
                Item::OperandTypes(k) => self.operands.push(*k),
                Item::ResultTypes(k) => self.results.push(*k),
                Item::AllOperandTypes => self.all_operands = true,
                Item::AllResultTypes => self.all_results = true,
                Item::FunctionalType => (self.all_operands, self.all_results) = (true, true),
                Item::Group { items, otherwise, .. } => {
                    self.add(items);
                    self.add(otherwise);
                }
                _ => {}
            }
        }
    }
}

/// What a name of the signature is.
enum Named {
    Operand(usize),
    Result(usize),
    Prop(usize),
    Region(usize),
    Successor(usize),
}

struct Builder<'a> {
    sig: &'a NamedSig,
    format: &'a mut Format,
}

impl Builder<'_> {
    fn find(&self, name: &str) -> Result<Named, String> {
        let s = self.sig;
        if let Some(k) = s.operands.iter().position(|o| &*o.name.text == name) {
            return Ok(Named::Operand(k));
        }
        if let Some(k) = s.results.iter().position(|o| &*o.name.text == name) {
            return Ok(Named::Result(k));
        }
        if let Some(k) = s.attrs.iter().position(|a| &*a.name.text == name) {
            return Ok(Named::Prop(k));
        }
        if let Some(k) = s.regions.iter().position(|r| &*r.name.text == name) {
            return Ok(Named::Region(k));
        }
        if let Some(k) = s.successors.iter().position(|(n, _)| &*n.text == name) {
            return Ok(Named::Successor(k));
        }
        Err(format!("the assembly names ${name}, which the signature does not have"))
    }

    fn items(&mut self, items: &[AsmItem]) -> Result<Vec<Item>, String> {
        let mut out = Vec::new();
        for item in items {
            out.push(self.item(item)?);
        }
        Ok(out)
    }

    fn item(&mut self, item: &AsmItem) -> Result<Item, String> {
        Ok(match item {
            AsmItem::Literal(text, _) if text.trim().is_empty() => Item::Space,
            AsmItem::Literal(text, _) => Item::Lit((**text).into()),
            AsmItem::Var { name, .. } => match self.find(name)? {
                Named::Operand(k) => Item::Operands(k),
                Named::Result(_) => {
                    return Err(format!("the assembly prints ${name}, a result: results stand before the op's name"));
                }
                Named::Prop(k) => Item::Prop(k),
                Named::Region(index) => Item::Region { index, args_elsewhere: self.args_elsewhere() },
                Named::Successor(k) => Item::Successor(k),
            },
            AsmItem::Directive { kind, args, .. } => self.directive(*kind, args)?,
            AsmItem::Custom { name, args, .. } => self.custom(name, args)?,
            AsmItem::Group { items, otherwise, .. } => {
                let anchor = items.iter().position(is_anchor).unwrap_or(0);
                let (items, otherwise) = (self.items(items)?, self.items(otherwise)?);
                Item::Group { items, otherwise, anchor }
            }
        })
    }

    /// Whether the form prints the arguments of its region by itself.
    fn args_elsewhere(&self) -> bool {
        fn prints_args(items: &[Item]) -> bool {
            items.iter().any(|i| match i {
                Item::Args { .. } | Item::Custom(Custom::Signature | Custom::Carry(..)) => true,
                Item::Group { items, otherwise, .. } => prints_args(items) || prints_args(otherwise),
                _ => false,
            })
        }
        // Items are built in order, and what prints arguments stands before the region.
        self.format.items.iter().any(|i| prints_args(std::slice::from_ref(i)))
    }

    fn name_of(arg: Option<&AsmItem>) -> Result<&str, String> {
        match arg {
            Some(AsmItem::Var { name, .. }) => Ok(name),
            _ => Err("a directive of the assembly lacks a $name".into()),
        }
    }

    fn prop(&self, arg: Option<&AsmItem>) -> Result<usize, String> {
        let name = Self::name_of(arg)?;
        match self.find(name)? {
            Named::Prop(k) => Ok(k),
            _ => Err(format!("${name} is no property")),
        }
    }

    fn operands(&self, arg: Option<&AsmItem>) -> Result<usize, String> {
        let name = Self::name_of(arg)?;
        match self.find(name)? {
            Named::Operand(k) => Ok(k),
            _ => Err(format!("${name} is no operand")),
        }
    }

    /// The group of operands that expressions over symbols alone use: one that is always empty.
    fn no_operands(&mut self) -> usize {
        let real = self.sig.operands.len();
        if self.format.operands.len() == real {
            self.format.operands.push(Values { name: "".into(), many: Many::Any, ty: TypeFrom::Fixed("index".into()) });
        }
        real
    }

    fn region(&self, arg: Option<&AsmItem>) -> Result<usize, String> {
        let name = Self::name_of(arg)?;
        match self.find(name)? {
            Named::Region(k) => Ok(k),
            _ => Err(format!("${name} is no region")),
        }
    }

    fn directive(&mut self, kind: AsmDirective, args: &[AsmItem]) -> Result<Item, String> {
        Ok(match kind {
            AsmDirective::AttrDict => Item::AttrDict { keyword: false },
            AsmDirective::AttrDictWithKeyword => Item::AttrDict { keyword: true },
            AsmDirective::PropDict => Item::PropDict,
            AsmDirective::Type => match args.first() {
                Some(AsmItem::Directive { kind: AsmDirective::Operands, .. }) => Item::AllOperandTypes,
                Some(AsmItem::Directive { kind: AsmDirective::Results, .. }) => Item::AllResultTypes,
                other => {
                    let name = Self::name_of(other)?;
                    match self.find(name)? {
                        Named::Operand(k) => Item::OperandTypes(k),
                        Named::Result(k) => Item::ResultTypes(k),
                        _ => return Err(format!("${name} has no type")),
                    }
                }
            },
            AsmDirective::FunctionalType => Item::FunctionalType,
            AsmDirective::Operands => Item::AllOperands,
            AsmDirective::Regions => Item::AllRegions,
            AsmDirective::Successors => Item::AllSuccessors,
            AsmDirective::SymbolName => {
                let k = self.prop(args.first())?;
                self.format.props[k].spelled = Spelled::SymbolName;
                Item::Prop(k)
            }
            AsmDirective::Bare => {
                let k = self.prop(args.first())?;
                self.format.props[k].spelled = Spelled::Word;
                Item::Prop(k)
            }
            AsmDirective::Args => {
                let count = if args.len() > 1 { Some(self.prop(args.get(1))?) } else { None };
                Item::Args { region: self.region(args.first())?, count }
            }
            AsmDirective::Sizes => Item::Subscript { operands: self.no_operands(), map: self.prop(args.first())? },
            AsmDirective::Subscript => {
                Item::Subscript { operands: self.operands(args.first())?, map: self.prop(args.get(1))? }
            }
            AsmDirective::Results | AsmDirective::Ref => {
                return Err("'results' and 'ref' stand only inside other directives".into());
            }
        })
    }

    fn custom(&mut self, name: &str, args: &[AsmItem]) -> Result<Item, String> {
        if name == "words" {
            let k = self.prop(args.first())?;
            self.format.props[k].spelled = Spelled::Words;
            return Ok(Item::Prop(k));
        }
        Ok(Item::Custom(match name {
            "signature" | "FunctionLike" => Custom::Signature,
            "SelectType" => match args.first() {
                Some(AsmItem::Directive { args, .. }) => Custom::SelectType(self.operands(args.first())?),
                _ => return Err("SelectType names the condition and the result".into()),
            },
            "axes" => Custom::Axes(self.prop(args.first())?),
            "carry" => Custom::Carry(self.operands(args.first())?, self.region(args.get(1))?),
            other => return Err(format!("there is no custom form '{other}'")),
        }))
    }
}

fn is_anchor(item: &AsmItem) -> bool {
    match item {
        AsmItem::Var { anchor, .. } | AsmItem::Directive { anchor, .. } | AsmItem::Custom { anchor, .. } => *anchor,
        AsmItem::Literal(..) | AsmItem::Group { .. } => false,
    }
}
