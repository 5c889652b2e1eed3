//! Signatures: PyTorch's schemas, and names with constraints.

use super::{Pair, Reader, Rule};
use crate::ast::*;
use crate::schema::{Base, Literal, SchemaType};

impl Reader {
    pub(super) fn schema(&mut self, pair: Pair<'_>) -> SchemaSig {
        let text = pair.as_str().split_whitespace().collect::<Vec<_>>().join(" ");
        let (mut params, mut results, mut keyword_only) = (Vec::new(), Vec::new(), false);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::schema_param => {
                    let (mut ty, mut name, mut default) = (None, None, None);
                    for p in part.into_inner() {
                        match p.as_rule() {
                            Rule::keyword_only => keyword_only = true,
                            Rule::schema_type => ty = Some(self.schema_type(p)),
                            Rule::ident => name = Some(self.ident(&p)),
                            Rule::schema_default => default = Some(self.schema_default(p)),
                            _ => {}
                        }
                    }
                    if let (Some(ty), Some(name)) = (ty, name) {
                        params.push(SchemaParam { name, ty, default, keyword_only });
                    }
                }
                Rule::schema_results => results = self.schema_results(part),
                _ => {}
            }
        }
        SchemaSig { params, results, text }
    }

    fn schema_results(&mut self, pair: Pair<'_>) -> Vec<SchemaResult> {
        let mut out: Vec<(Option<Str>, SchemaType)> = Vec::new();
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::schema_type => out.push((None, self.schema_type(part))),
                Rule::schema_result => {
                    let mut ty = None;
                    let mut name = None;
                    for p in part.into_inner() {
                        match p.as_rule() {
                            Rule::schema_type => ty = Some(self.schema_type(p)),
                            Rule::ident => name = Some(Str::from(p.as_str())),
                            _ => {}
                        }
                    }
                    out.extend(ty.map(|ty| (name, ty)));
                }
                _ => {}
            }
        }
        let many = out.len() > 1;
        out.into_iter()
            .enumerate()
            .map(|(i, (name, ty))| {
                let name = name.unwrap_or_else(|| if many { format!("result{i}") } else { "result".to_owned() }.into());
                SchemaResult { name, ty }
            })
            .collect()
    }

    fn schema_type(&mut self, pair: Pair<'_>) -> SchemaType {
        let mut ty = SchemaType {
            base: Base::Other,
            optional_item: false,
            list: false,
            length: None,
            optional_list: false,
            alias: None,
        };
        for part in pair.into_inner() {
            let text = part.as_str();
            match part.as_rule() {
                Rule::schema_base => ty.base = Base::of_word(text.trim()),
                Rule::alias => ty.alias = Some(Str::from(&text[1..text.len() - 1])),
                Rule::schema_suffix if text.starts_with('[') => {
                    let span = self.span(&part);
                    if ty.list {
                        self.error(span, "lists of lists are not in PyTorch's schemas");
                    }
                    ty.list = true;
                    if let Some(length) = part.clone().into_inner().next() {
                        ty.length = self.small(&part, length.as_str());
                    }
                }
                _ if ty.list => ty.optional_list = true,
                _ => ty.optional_item = true,
            }
        }
        ty
    }

    pub(super) fn schema_default(&mut self, pair: Pair<'_>) -> Literal {
        let span = self.span(&pair);
        let list = pair.as_str().starts_with('[');
        let mut items = Vec::new();
        if !self.enter(span) {
            return Literal::None;
        }
        for part in pair.into_inner() {
            let text = part.as_str();
            items.push(match part.as_rule() {
                Rule::schema_default => self.schema_default(part),
                Rule::float => super::expr::float(text),
                Rule::integer => self.integer(text, span),
                Rule::string => Literal::Str(Str::from(super::items::unescape(&text[1..text.len() - 1]))),
                Rule::single_string => Literal::Str(Str::from(&text[1..text.len() - 1])),
                _ => match text {
                    "None" => Literal::None,
                    "True" => Literal::Bool(true),
                    "False" => Literal::Bool(false),
                    word => Literal::Str(Str::from(word)),
                },
            });
        }
        self.leave();
        match (list, items.len()) {
            (false, 1) => items.remove(0),
            // `none` and the like, which the grammar keeps apart from names.
            (false, _) => Literal::None,
            _ => Literal::List(items),
        }
    }

    pub(super) fn named_signature(&mut self, pair: Pair<'_>) -> NamedSig {
        let mut sig = NamedSig::default();
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::operand_decl => sig.operands.extend(self.operand(part)),
                Rule::attr_decls => {
                    for p in part.into_inner().filter(|p| p.as_rule() == Rule::attr_decl) {
                        sig.attrs.extend(self.attr(p));
                    }
                }
                Rule::region_decls => {
                    for p in part.into_inner().filter(|p| p.as_rule() == Rule::region_decl) {
                        sig.regions.extend(self.region(p));
                    }
                }
                Rule::successor_decls => {
                    for p in part.into_inner().filter(|p| p.as_rule() == Rule::successor_decl) {
                        let many = multiplicity(&p);
                        if let Some(name) = p.into_inner().next() {
                            sig.successors.push((self.ident(&name), many));
                        }
                    }
                }
                Rule::result_decls => self.results(part, &mut sig),
                _ => {}
            }
        }
        sig
    }

    fn results(&mut self, pair: Pair<'_>, sig: &mut NamedSig) {
        let span = self.span(&pair);
        let mut many = Multiplicity::One;
        let mut only = None;
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::operand_decl => sig.results.extend(self.operand(part)),
                Rule::constraint => only = Some(self.constraint(part)),
                Rule::multiplicity => many = multiplicity_of(part.as_str()),
                _ => {}
            }
        }
        if let Some(constraint) = only {
            sig.results.push(OperandDecl { name: Ident { text: Str::from("result"), span }, constraint, many });
        }
    }

    fn operand(&mut self, pair: Pair<'_>) -> Option<OperandDecl> {
        let (mut name, mut constraint, mut many) = (None, None, Multiplicity::One);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::ident => name = Some(self.ident(&part)),
                Rule::constraint => constraint = Some(self.constraint(part)),
                Rule::multiplicity => many = multiplicity_of(part.as_str()),
                _ => {}
            }
        }
        Some(OperandDecl { name: name?, constraint: constraint?, many })
    }

    fn constraint(&mut self, pair: Pair<'_>) -> Constraint {
        let span = self.span(&pair);
        if !self.enter(span) {
            return Constraint::Named(Str::from("any"), span);
        }
        let mut atoms: Vec<Constraint> = pair.into_inner().map(|p| self.constraint_atom(p)).collect();
        self.leave();
        if atoms.len() == 1 { atoms.remove(0) } else { Constraint::Either(atoms) }
    }

    fn constraint_atom(&mut self, pair: Pair<'_>) -> Constraint {
        let span = self.span(&pair);
        let mut word = Str::from("any");
        let mut args = Vec::new();
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::ident => word = Str::from(part.as_str()),
                _ => args.push(self.constraint(part)),
            }
        }
        let mut args = args.into_iter();
        match (&*word, args.next(), args.next(), args.next()) {
            (_, None, None, None) => Constraint::Named(word, span),
            ("same", Some(Constraint::Named(of, _)), None, None) => Constraint::Same(of, span),
            ("element", Some(Constraint::Named(of, _)), None, None) => Constraint::Element(of, span),
            ("like", Some(Constraint::Named(of, _)), Some(element), None) => {
                Constraint::Like(of, Box::new(element), span)
            }
            ("vector" | "tensor" | "memref", Some(element), None, None) => {
                Constraint::Of(word, Box::new(element), span)
            }
            _ => {
                self.error(
                    span,
                    "write same(x), element(x), like(x, constraint), vector(constraint), tensor(constraint) or memref(constraint)",
                );
                Constraint::Named(Str::from("any"), span)
            }
        }
    }

    fn attr(&mut self, pair: Pair<'_>) -> Option<AttrDecl> {
        let (mut name, mut kind, mut optional, mut default) = (None, AttrKind::Any, false, None);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::ident => name = Some(self.ident(&part)),
                Rule::attr_kind => kind = self.attr_kind(part),
                Rule::multiplicity => optional = true,
                Rule::schema_default => default = Some(self.schema_default(part)),
                _ => {}
            }
        }
        Some(AttrDecl { name: name?, kind, optional, default })
    }

    fn attr_kind(&mut self, pair: Pair<'_>) -> AttrKind {
        let span = self.span(&pair);
        let mut words: Vec<Str> = pair.into_inner().map(|p| Str::from(p.as_str())).collect();
        if words.is_empty() {
            return AttrKind::Any;
        }
        let word = words.remove(0);
        match (&*word, words.is_empty()) {
            ("enum", false) => AttrKind::Enum(words),
            ("flags", false) => AttrKind::Flags(words),
            ("any", true) => AttrKind::Any,
            ("int", true) => AttrKind::Int,
            ("float", true) => AttrKind::Float,
            ("number", true) => AttrKind::Number,
            ("bool", true) => AttrKind::Bool,
            ("str", true) => AttrKind::Str,
            ("type", true) => AttrKind::Type,
            ("function_type", true) => AttrKind::FunctionType,
            ("symbol_ref", true) => AttrKind::SymbolRef,
            ("symbol_name", true) => AttrKind::SymbolName,
            ("unit", true) => AttrKind::Unit,
            ("ints", true) => AttrKind::Ints,
            ("floats", true) => AttrKind::Floats,
            ("bools", true) => AttrKind::Bools,
            ("strs", true) => AttrKind::Strs,
            ("array", true) => AttrKind::Array,
            ("dict", true) => AttrKind::Dict,
            ("affine_map", true) => AttrKind::AffineMap,
            ("index_map", true) => AttrKind::IndexMap,
            _ => {
                self.error(span, format!("'{word}' is not a kind of property"));
                AttrKind::Any
            }
        }
    }

    fn region(&mut self, pair: Pair<'_>) -> Option<RegionDecl> {
        let many = multiplicity(&pair);
        let mut idents = pair.into_inner().filter(|p| p.as_rule() == Rule::ident);
        let name = self.ident(&idents.next()?);
        let kind = idents.next()?;
        let kind = match kind.as_str() {
            "any" => RegionKind::Any,
            "block" => RegionKind::Block,
            "graph" => RegionKind::Graph,
            other => {
                let span = self.span(&kind);
                self.error(span, format!("'{other}' is not a kind of region (any, block, graph)"));
                RegionKind::Any
            }
        };
        Some(RegionDecl { name, kind, many })
    }
}

fn multiplicity(pair: &Pair<'_>) -> Multiplicity {
    pair.clone()
        .into_inner()
        .find(|p| p.as_rule() == Rule::multiplicity)
        .map_or(Multiplicity::One, |p| multiplicity_of(p.as_str()))
}

fn multiplicity_of(text: &str) -> Multiplicity {
    match text.trim() {
        "*" => Multiplicity::Many,
        "?" => Multiplicity::Optional,
        _ => Multiplicity::One,
    }
}
