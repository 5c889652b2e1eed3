//! Attributes from their pairs.

use super::Parser;
use crate::ir::attr::Layout;
use crate::ir::{Attr, AttrData, DYNAMIC, Dict, Signedness, Type, TypeData};
use crate::text::grammar::Rule;
use crate::text::number::{self, Big, NumberError};
use crate::text::print::AttrText;
use pest::iterators::Pair;
use rinductor_index::Expr;
use rinductor_support::Name;

impl<'a> Parser<'a> {
    /// An attribute.
    pub fn attr(&mut self, pair: Pair<'a, Rule>, depth: usize) -> Option<Attr> {
        let text = pair.as_str();
        self.depth(depth, text)?;
        let data = match pair.as_rule() {
            Rule::unit => AttrData::Unit,
            Rule::bool_attr => AttrData::Bool(text == "true"),
            Rule::number => return self.number(pair, depth),
            Rule::string_attr => {
                let mut inner = pair.into_inner();
                let bytes = unescape(inner.next()?.as_str());
                match inner.next() {
                    Some(t) => AttrData::TypedString(bytes.into(), self.ty(t, depth + 1)?),
                    None => AttrData::String(bytes.into()),
                }
            }
            Rule::symbol => {
                let names: Vec<Name> =
                    pair.into_inner().map(|p| self.symbol_name(p.as_str())).collect::<Option<_>>()?;
                AttrData::Symbol { root: names[0], nested: names[1..].into() }
            }
            Rule::array => {
                AttrData::Array(pair.into_inner().map(|p| self.attr(p, depth + 1)).collect::<Option<Vec<_>>>()?.into())
            }
            Rule::dict => AttrData::Dict(self.dict(pair, depth)?),
            Rule::dense_array => return self.dense_array(pair),
            Rule::dense => {
                let mut inner = pair.into_inner();
                let body = inner.next()?.as_str().trim();
                let ty = self.ty(inner.next()?, depth + 1)?;
                if let Err(why) = crate::text::dense::check(&self.ir, body, ty) {
                    let at = self.offset(text);
                    self.error(at, why);
                    return None;
                }
                AttrData::Dense { text: body.into(), ty }
            }
            Rule::elements => {
                let mut inner = pair.into_inner();
                let kind = inner.next()?.as_str();
                let body = inner.next()?.as_str().trim();
                let ty = self.ty(inner.next()?, depth + 1)?;
                AttrData::Elements { kind: kind.into(), text: body.into(), ty }
            }
            Rule::affine => {
                let mut inner = pair.into_inner();
                let set = inner.next()?.as_str() == "affine_set";
                AttrData::Affine { set, text: inner.next()?.as_str().trim().into() }
            }
            Rule::strided => {
                let (mut strides, mut offset) = (Vec::new(), 0);
                for p in pair.into_inner() {
                    let value = self.stride(p.as_str())?;
                    if p.as_rule() == Rule::offset { offset = value } else { strides.push(value) }
                }
                AttrData::Strided { strides: strides.into(), offset }
            }
            Rule::distinct => {
                let mut inner = pair.into_inner();
                let number = inner.next()?.as_str();
                let Ok(id) = number.parse() else {
                    let at = self.offset(number);
                    self.error(at, format!("'{number}' is too large a number"));
                    return None;
                };
                let attr = match inner.next() {
                    Some(p) => Some(self.attr(p, depth + 1)?),
                    None => None,
                };
                AttrData::Distinct { id, attr }
            }
            Rule::loc_attr => AttrData::Loc(self.loc_leaf(text)?),
            Rule::attr_alias => return self.alias(text, depth),
            Rule::layout => return self.layout(pair),
            Rule::index_map => return self.index_map(pair),
            Rule::dialect_attr => {
                let mut inner = pair.into_inner();
                let mut body = self.expand(inner.next()?.as_str(), depth)?;
                if let Some(t) = inner.next() {
                    let ty = self.ty(t, depth + 1)?;
                    body = format!("{body} : {}", AttrText::of_type(&self.ir, ty)).into();
                }
                AttrData::Dialect(body)
            }
            _ => AttrData::Type(self.ty(pair, depth)?),
        };
        Some(self.ir.make_attr(data))
    }

    /// `{a = 1, b}`.
    pub fn dict(&mut self, pair: Pair<'a, Rule>, depth: usize) -> Option<Dict> {
        let mut entries = Vec::new();
        let mut seen = rinductor_support::FxHashSet::default();
        let mut right = true;
        for entry in pair.into_inner() {
            let mut inner = entry.into_inner();
            let key = inner.next()?;
            let key_text = key.as_str();
            let name = if key.as_rule() == Rule::string {
                let text = self.utf8_string(key_text)?;
                self.ir.name(&text)
            } else {
                self.ir.name(key_text)
            };
            if !seen.insert(name) {
                let at = self.offset(key_text);
                self.error(at, format!("'{key_text}' stands in this dictionary already"));
                right = false;
                continue;
            }
            let value = match inner.next() {
                Some(v) => self.attr(v, depth + 1),
                None => Some(self.ir.unit_attr()),
            };
            match value {
                Some(v) => entries.push((name, v)),
                None => right = false,
            }
        }
        right.then(|| self.ir.make_dict(entries))
    }

    fn number(&mut self, pair: Pair<'a, Rule>, depth: usize) -> Option<Attr> {
        let mut inner = pair.into_inner();
        let text = inner.next()?.as_str();
        let ty = match inner.next() {
            Some(t) => self.ty(t, depth + 1)?,
            None if text.contains('.') => self.ir.float_type(crate::ir::FloatKind::f64),
            None => self.ir.int_type(64),
        };
        self.number_of_type(text, ty)
    }

    /// The attribute that a number literal is as a value of a type.
    pub fn number_of_type(&mut self, text: &'a str, ty: Type) -> Option<Attr> {
        let made = match self.ir.ty(ty) {
            TypeData::Float(kind) if kind.bits() > 64 => {
                let kind = *kind;
                if text.contains('.') || text.starts_with("0x") {
                    let text = if let Some(hex) = text.strip_prefix("0x") {
                        let digits = kind.bits() as usize / 4;
                        let body = hex.trim_start_matches('0').to_ascii_uppercase();
                        format!("0x{body:0>digits$}")
                    } else {
                        text.to_string()
                    };
                    Ok(AttrData::WideFloat { text: text.into(), ty })
                } else {
                    Err(NumberError::WrongKind)
                }
            }
            TypeData::Float(kind) => number::float_bits(*kind, text).map(|bits| AttrData::Float { bits, ty }),
            TypeData::Integer { width, sign } => integer(text, *width, *sign, ty),
            TypeData::Index => integer(text, 64, Signedness::Signless, ty),
            _ => Err(NumberError::WrongKind),
        };
        match made {
            Ok(data) => Some(self.ir.make_attr(data)),
            Err(why) => {
                let shown = AttrText::of_type(&self.ir, ty).to_string();
                let at = self.offset(text);
                let message = match why {
                    NumberError::OutOfRange => format!("{text} is out of the range of {shown}"),
                    NumberError::WrongKind => format!("{text} is not a number of type {shown}"),
                    NumberError::TooLong => "an integer literal has at most 20000 digits".to_string(),
                };
                self.error(at, message);
                None
            }
        }
    }

    fn dense_array(&mut self, pair: Pair<'a, Rule>) -> Option<Attr> {
        let mut inner = pair.into_inner();
        let element = self.ty(inner.next()?, 0)?;
        let mut values = Vec::new();
        for p in inner {
            let text = p.as_str();
            if text == "true" || text == "false" {
                values.push(i64::from(text == "true"));
                continue;
            }
            let attr = self.number_of_type(text, element)?;
            values.push(match self.ir.attr(attr) {
                AttrData::Integer { value, .. } => *value,
                AttrData::Bool(b) => (*b).into(),
                AttrData::Float { bits, .. } => *bits as i64,
                _ => {
                    let at = self.offset(text);
                    self.error(at, "an array has elements of up to 64 bits");
                    return None;
                }
            });
        }
        Some(self.ir.make_attr(AttrData::DenseArray { element, values: values.into() }))
    }

    fn stride(&mut self, text: &'a str) -> Option<i64> {
        if text == "?" {
            return Some(DYNAMIC);
        }
        let value = text.parse().ok();
        if value.is_none() {
            let at = self.offset(text);
            self.error(at, "a stride is less than 2^63");
        }
        value
    }

    fn layout(&mut self, pair: Pair<'a, Rule>) -> Option<Attr> {
        let mut layout = Layout::default();
        for field in pair.into_inner() {
            let whole = field.as_str();
            let mut inner = field.into_inner();
            let key = inner.next()?;
            let twice = match (key.as_rule(), key.as_str()) {
                (Rule::layout_list, word) => {
                    let list: Vec<Expr> = inner.map(|e| self.expr(e.as_str())).collect::<Option<_>>()?;
                    let slot = if word == "sizes" { &mut layout.sizes } else { &mut layout.strides };
                    slot.replace(list.into()).is_some()
                }
                (Rule::layout_offset, _) => {
                    let e = self.expr(inner.next()?.as_str())?;
                    layout.offset.replace(e).is_some()
                }
                _ => {
                    let device = self.utf8_string(inner.next()?.as_str())?;
                    layout.device.replace(self.ir.name(&device)).is_some()
                }
            };
            if twice {
                let at = self.offset(whole);
                self.error(at, format!("'{}' is given twice", key.as_str()));
                return None;
            }
        }
        Some(self.ir.make_attr(AttrData::Layout(layout)))
    }

    fn index_map(&mut self, pair: Pair<'a, Rule>) -> Option<Attr> {
        let (mut names, mut exprs): (Vec<&str>, Vec<Expr>) = (Vec::new(), Vec::new());
        for p in pair.into_inner() {
            if p.as_rule() == Rule::bare_id {
                names.push(p.as_str());
                continue;
            }
            let e = self.expr_with(p.as_str(), &mut |exprs, name| {
                Some(match names.iter().position(|n| *n == name) {
                    Some(d) => exprs.dim(d as u32),
                    None => exprs.sym(name),
                })
            })?;
            exprs.push(e);
        }
        Some(self.ir.index_map_attr(names.len(), &exprs))
    }

    /// An index expression over symbols alone.
    pub fn expr(&mut self, text: &'a str) -> Option<Expr> {
        self.expr_with(text, &mut |exprs, name| (!name.starts_with('%')).then(|| exprs.sym(name)))
    }

    /// An index expression whose names `name` explains.
    pub fn expr_with(
        &mut self,
        text: &'a str,
        name: &mut dyn FnMut(&mut rinductor_index::Exprs, &str) -> Option<Expr>,
    ) -> Option<Expr> {
        match self.ir.exprs.parse_with(text, name) {
            Ok(e) => Some(e),
            Err(e) => {
                let at = self.offset(text) + e.span.start;
                self.error(at, e.message);
                None
            }
        }
    }

    /// The name in `@name` or `@"name"`.
    pub fn symbol_name(&mut self, text: &'a str) -> Option<Name> {
        let body = &text[1..];
        if body.starts_with('"') {
            let name = self.utf8_string(body)?;
            return Some(self.ir.name(&name));
        }
        Some(self.ir.name(body))
    }

    /// The text of a string literal; names are UTF-8.
    pub fn utf8_string(&mut self, literal: &'a str) -> Option<String> {
        match String::from_utf8(unescape(literal)) {
            Ok(text) => Some(text),
            Err(_) => {
                let at = self.offset(literal);
                self.error(at, "a name is UTF-8");
                None
            }
        }
    }

    /// The text of a type or attribute of another dialect with the aliases in it written out.
    pub fn expand(&mut self, text: &'a str, depth: usize) -> Option<Box<str>> {
        if self.leaves.aliases.is_empty() || !text[1..].contains(['#', '!']) {
            return Some(text.into());
        }
        let bytes = text.as_bytes();
        let mut out = String::new();
        let (mut i, mut copied) = (1, 0);
        while i < bytes.len() {
            match bytes[i] {
                b'"' => {
                    i += 1;
                    while i < bytes.len() && bytes[i] != b'"' {
                        i += 1 + usize::from(bytes[i] == b'\\');
                    }
                }
                b'#' | b'!' => {
                    let end = bytes[i + 1..]
                        .iter()
                        .position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$')))
                        .map_or(bytes.len(), |n| i + 1 + n);
                    let dialect = matches!(bytes.get(end), Some(b'.' | b'<'));
                    let name = &text[i..end];
                    if !dialect && self.leaves.aliases.contains_key(name) {
                        let attr = self.alias(name, depth + 1)?;
                        out.push_str(&text[copied..i]);
                        out.push_str(&AttrText::of_attr(&self.ir, attr).to_string());
                        copied = end;
                    }
                    i = end.max(i + 1);
                    continue;
                }
                _ => {}
            }
            i += 1;
        }
        out.push_str(&text[copied..]);
        Some(out.into())
    }
}

fn integer(text: &str, width: u32, sign: Signedness, ty: Type) -> Result<AttrData, NumberError> {
    if text.contains('.') {
        return Err(NumberError::WrongKind);
    }
    let (signed, unsigned) = (sign != Signedness::Unsigned, sign != Signedness::Signed);
    // Most literals are short.
    let value = match text.parse::<i64>() {
        Ok(v) if width >= 64 && (v >= 0 || signed) => v,
        _ => {
            let big = Big::parse(text)?;
            if !big.fits(width, signed, unsigned) {
                return Err(NumberError::OutOfRange);
            }
            let big = if signed { big.wrap_signed(width) } else { big };
            if width > 64 {
                return Ok(AttrData::WideInteger { digits: big.decimal().into(), ty });
            }
            big.low64()
        }
    };
    if width > 64 {
        return Ok(AttrData::WideInteger { digits: value.to_string().into(), ty });
    }
    if width == 1 && sign == Signedness::Signless {
        return Ok(AttrData::Bool(value != 0));
    }
    Ok(AttrData::Integer { value, ty })
}

/// The bytes of a string literal with its quotes.
pub fn unescape(literal: &str) -> Vec<u8> {
    let body = literal.get(1..literal.len().saturating_sub(1)).unwrap_or("").as_bytes();
    let mut out = Vec::with_capacity(body.len());
    let mut i = 0;
    while i < body.len() {
        if body[i] != b'\\' {
            out.push(body[i]);
            i += 1;
            continue;
        }
        let hex = |b: Option<&u8>| b.and_then(|&b| (b as char).to_digit(16)).map(|d| d as u8);
        match (body.get(i + 1), hex(body.get(i + 1)), hex(body.get(i + 2))) {
            (_, Some(h), Some(l)) => {
                out.push(h << 4 | l);
                i += 3;
            }
            (Some(b'n'), ..) => {
                out.push(b'\n');
                i += 2;
            }
            (Some(b't'), ..) => {
                out.push(b'\t');
                i += 2;
            }
            (Some(&c), ..) => {
                out.push(c);
                i += 2;
            }
            (None, ..) => break,
        }
    }
    out
}
