//! Types from their pairs.

use super::Parser;
use crate::ir::{Attr, AttrData, DYNAMIC, FloatKind, Signedness, Type, TypeData};
use crate::text::grammar::Rule;
use pest::iterators::Pair;

/// Sizes, and which of them are scalable.
struct Dims {
    unranked: bool,
    shape: Vec<i64>,
    scalable: Vec<bool>,
}

impl<'a> Parser<'a> {
    /// A type.
    pub fn ty(&mut self, pair: Pair<'a, Rule>, depth: usize) -> Option<Type> {
        self.depth(depth, pair.as_str())?;
        let text = pair.as_str();
        let data = match pair.as_rule() {
            Rule::word_type => return self.word_type(text),
            Rule::type_alias => {
                let attr = self.alias(text, depth)?;
                let ty = self.ir.as_type(attr);
                if ty.is_none() {
                    let at = self.offset(text);
                    self.error(at, format!("'{text}' is not a type"));
                }
                return ty;
            }
            Rule::dialect_type => TypeData::Dialect(self.expand(text, depth)?),
            Rule::function_type => {
                let mut lists = [Vec::new(), Vec::new()];
                for (i, part) in pair.into_inner().enumerate() {
                    lists[i.min(1)] = if part.as_rule() == Rule::type_parens {
                        part.into_inner().map(|t| self.ty(t, depth + 1)).collect::<Option<_>>()?
                    } else {
                        vec![self.ty(part, depth + 1)?]
                    };
                }
                let [inputs, results] = lists;
                TypeData::Function { inputs: inputs.into(), results: results.into() }
            }
            Rule::complex_type => TypeData::Complex(self.ty(pair.into_inner().next()?, depth + 1)?),
            Rule::tuple_type => {
                TypeData::Tuple(pair.into_inner().map(|t| self.ty(t, depth + 1)).collect::<Option<Vec<_>>>()?.into())
            }
            Rule::tensor_type => {
                let (dims, element, attrs) = self.shaped(pair, depth)?;
                let encoding = attrs.first().copied();
                if let Some(AttrData::Layout(layout)) = encoding.map(|a| self.ir.attr(a)) {
                    let ranks = [layout.sizes.as_deref(), layout.strides.as_deref()].map(|l| l.map(<[_]>::len));
                    if let Some(&len) = ranks.iter().flatten().find(|&&n| n != dims.shape.len()) {
                        let at = self.offset(text);
                        self.error(
                            at,
                            format!("a layout of {len} sizes or strides on a tensor of {} sizes", dims.shape.len()),
                        );
                        return None;
                    }
                }
                if dims.unranked {
                    TypeData::UnrankedTensor(element)
                } else {
                    TypeData::Tensor { shape: dims.shape.into(), element, encoding }
                }
            }
            Rule::memref_type => {
                let (dims, element, attrs) = self.shaped(pair, depth)?;
                let mut attrs = &attrs[..];
                let is_layout = attrs.first().is_some_and(|&a| {
                    matches!(
                        self.ir.attr(a),
                        AttrData::Affine { set: false, .. } | AttrData::Strided { .. } | AttrData::Layout(_)
                    )
                });
                let mut layout = None;
                if is_layout || attrs.len() > 1 {
                    layout = Some(attrs[0]);
                    attrs = &attrs[1..];
                }
                if attrs.len() > 1 {
                    let at = self.offset(text);
                    self.error(at, "a memref has a layout and a memory space at most");
                    return None;
                }
                let space = attrs.first().copied();
                if dims.unranked {
                    TypeData::UnrankedMemRef { element, space }
                } else {
                    TypeData::MemRef { shape: dims.shape.into(), element, layout, space }
                }
            }
            Rule::vector_type => {
                let (dims, element, _) = self.shaped(pair, depth)?;
                if dims.unranked || dims.shape.contains(&DYNAMIC) {
                    let at = self.offset(text);
                    self.error(at, "a vector has static sizes");
                    return None;
                }
                let scalable = if dims.scalable.contains(&true) { dims.scalable } else { Vec::new() };
                TypeData::Vector { shape: dims.shape.into(), scalable: scalable.into(), element }
            }
            rule => {
                let at = self.offset(text);
                self.error(at, format!("{rule:?} is not a type"));
                return None;
            }
        };
        Some(self.ir.make_type(data))
    }

    fn shaped(&mut self, pair: Pair<'a, Rule>, depth: usize) -> Option<(Dims, Type, Vec<Attr>)> {
        let mut inner = pair.into_inner();
        let dims = self.dims(inner.next()?)?;
        let element = self.ty(inner.next()?, depth + 1)?;
        let attrs = inner.map(|a| self.attr(a, depth + 1)).collect::<Option<Vec<_>>>()?;
        Some((dims, element, attrs))
    }

    fn dims(&mut self, pair: Pair<'a, Rule>) -> Option<Dims> {
        let mut dims = Dims { unranked: false, shape: Vec::new(), scalable: Vec::new() };
        for d in pair.into_inner() {
            if d.as_rule() == Rule::unranked {
                dims.unranked = true;
                continue;
            }
            let text = d.as_str();
            let number = text.trim_matches(['[', ']']);
            dims.scalable.push(text.starts_with('['));
            dims.shape.push(if text == "?" {
                DYNAMIC
            } else if let Ok(n) = number.parse::<i64>() {
                n
            } else {
                let at = self.offset(text);
                self.error(at, "a size is less than 2^63");
                return None;
            });
        }
        Some(dims)
    }

    fn word_type(&mut self, text: &'a str) -> Option<Type> {
        let data = match text {
            "index" => TypeData::Index,
            "none" => TypeData::None,
            _ => match FloatKind::ALL.iter().find(|k| k.spelling() == text) {
                Some(&kind) => TypeData::Float(kind),
                None => {
                    let (sign, digits) = match text {
                        t if t.starts_with("si") => (Signedness::Signed, &t[2..]),
                        t if t.starts_with("ui") => (Signedness::Unsigned, &t[2..]),
                        t if t.starts_with('i') => (Signedness::Signless, &t[1..]),
                        _ => (Signedness::Signless, ""),
                    };
                    let at = self.offset(text);
                    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                        self.error(at, format!("expected a type, found '{text}'"));
                        return None;
                    }
                    match digits.parse::<u32>() {
                        Ok(width) if width < 1 << 24 => TypeData::Integer { width, sign },
                        _ => {
                            self.error(at, "an integer type has at most 2^24 - 1 bits");
                            return None;
                        }
                    }
                }
            },
        };
        Some(self.ir.make_type(data))
    }
}
