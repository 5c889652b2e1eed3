//! Parts of pretty forms that no list of items says: index expressions over values, signatures of functions, axes, carried values.

use super::super::Parser;
use super::{PrettyOp, RegionArg};
use crate::ir::format::Many;
use crate::ir::{Attr, AttrData, Dict};
use crate::text::grammar::Rule;
use rinductor_index::Expr;

impl<'a> Parser<'a> {
    // ---- index expressions ----

    /// The text of an index expression up to a comma or closing bracket, or one of these words.
    pub(super) fn expr_text(&mut self, words: &[&str]) -> &'a str {
        self.skip_trivia();
        let text: &'a str = self.text;
        let rest = &text[self.pos..];
        let bytes = rest.as_bytes();
        let (mut depth, mut i) = (0usize, 0);
        while i < bytes.len() {
            match bytes[i] {
                b'(' => depth += 1,
                b')' if depth > 0 => depth -= 1,
                b',' if depth > 0 => {}
                b',' | b')' | b']' | b'}' | b'{' | b'[' | b'"' | b'=' | b':' => break,
                c if c.is_ascii_alphabetic() && (i == 0 || !is_word(bytes[i - 1])) => {
                    let end = bytes[i..].iter().position(|&b| !is_word(b)).map_or(bytes.len(), |n| i + n);
                    if words.contains(&&rest[i..end]) {
                        break;
                    }
                    i = end;
                    continue;
                }
                _ => {}
            }
            i += 1;
        }
        self.pos += i;
        rest[..i].trim_end()
    }

    /// Index expressions over values: the values, and the `#index.map` over them.
    pub(super) fn subscript(&mut self) -> Option<(Vec<&'a str>, Attr)> {
        let mut ids: Vec<&'a str> = Vec::new();
        let mut exprs: Vec<Expr> = Vec::new();
        self.skip_trivia();
        if !self.text[self.pos..].starts_with([']', ')']) {
            loop {
                let text = self.expr_text(&[]);
                exprs.push(self.expr_of_values(text, &mut ids)?);
                if !self.lit(",") {
                    break;
                }
            }
        }
        let order = crate::text::print::in_printed_order(&mut self.ir, &mut exprs, ids.len());
        let ids: Vec<&'a str> = order.iter().map(|&d| ids[d as usize]).collect();
        let attr = self.ir.index_map_attr(ids.len(), &exprs);
        Some((ids, attr))
    }

    pub(super) fn expr_of_values(&mut self, text: &'a str, ids: &mut Vec<&'a str>) -> Option<Expr> {
        self.expr_with(text, &mut |ex, name| {
            if !name.starts_with('%') {
                return Some(ex.sym(name));
            }
            let d = ids.iter().position(|i| *i == name).or_else(|| {
                // The name is found again in the text: what it is a part of lives as long as the text.
                let at = text.find(name)?;
                ids.push(&text[at..at + name.len()]);
                Some(ids.len() - 1)
            })?;
            Some(ex.dim(d as u32))
        })
    }

    // ---- custom forms ----

    pub(super) fn function_signature(&mut self, op: &mut PrettyOp<'a>) -> Option<()> {
        for visibility in ["private", "public", "nested"] {
            if self.word(visibility) {
                let (name, attr) = (self.ir.name("sym_visibility"), self.ir.string_attr(visibility));
                op.props.push((name, attr));
            }
        }
        let text = self.prefix(Rule::symbol_name)?.as_str();
        let symbol = self.symbol_name(text)?;
        let text = self.ir.text(symbol).to_string();
        let (name, attr) = (self.ir.name("sym_name"), self.ir.string_attr(&text));
        op.props.push((name, attr));
        let (mut inputs, mut arg_attrs) = (Vec::new(), Vec::new());
        self.expect("(")?;
        if !self.lit(")") {
            loop {
                let id = if self.ahead("%") {
                    let id = self.prefix(Rule::value_id)?.as_str();
                    self.expect(":")?;
                    id
                } else {
                    ""
                };
                let ty = self.type_here()?;
                inputs.push(ty);
                arg_attrs.push(if self.ahead("{") { self.dict_here()? } else { Dict::default() });
                let mut loc = None;
                if self.word_ahead("loc") {
                    let text = self.prefix(Rule::location)?.as_str();
                    loc = Some(self.loc_leaf(text)?);
                }
                op.args[0].push(RegionArg { id, ty, loc });
                if !self.lit(",") {
                    break;
                }
            }
            self.expect(")")?;
        }
        let (mut results, mut res_attrs) = (Vec::new(), Vec::new());
        if self.lit("->") {
            if self.lit("(") {
                if !self.lit(")") {
                    loop {
                        results.push(self.type_here()?);
                        res_attrs.push(if self.ahead("{") { self.dict_here()? } else { Dict::default() });
                        if !self.lit(",") {
                            break;
                        }
                    }
                    self.expect(")")?;
                }
            } else {
                results.push(self.type_here()?);
            }
        }
        let ty = self.ir.function_type(&inputs, &results);
        let (name, attr) = (self.ir.name("function_type"), self.ir.type_attr(ty));
        op.props.push((name, attr));
        for (key, list) in [("arg_attrs", arg_attrs), ("res_attrs", res_attrs)] {
            if list.iter().any(|d| !self.ir.dict(*d).is_empty()) {
                let items: Vec<Attr> = list.into_iter().map(|d| self.ir.make_attr(AttrData::Dict(d))).collect();
                let (name, attr) = (self.ir.name(key), self.ir.array_attr(&items));
                op.props.push((name, attr));
            }
        }
        Some(())
    }

    pub(super) fn axes(&mut self) -> Option<Attr> {
        let mut items = Vec::new();
        self.expect("{")?;
        if self.lit("}") {
            return Some(self.ir.array_attr(&[]));
        }
        loop {
            let axis = self.prefix(Rule::bare_id)?.as_str();
            self.expect("=")?;
            let text = self.expr_text(&["tile", "unroll", "parallel", "reduce"]);
            let extent = self.expr(text)?;
            let extent = self.ir.index_map_attr(0, &[extent]);
            let mut entries = vec![(self.ir.name("name"), self.ir.string_attr(axis)), (self.ir.name("extent"), extent)];
            for key in ["tile", "unroll"] {
                if self.word(key) {
                    let digits = self.prefix(Rule::number_text)?.as_str();
                    let ty = self.ir.int_type(64);
                    let number = self.number_of_type(digits, ty)?;
                    entries.push((self.ir.name(key), number));
                }
            }
            let kind = self.prefix(Rule::bare_id)?.as_str();
            entries.push((self.ir.name("kind"), self.ir.string_attr(kind)));
            let dict = self.ir.make_dict(entries);
            items.push(self.ir.make_attr(AttrData::Dict(dict)));
            if !self.lit(",") {
                break;
            }
        }
        self.expect("}")?;
        Some(self.ir.array_attr(&items))
    }

    pub(super) fn carry(&mut self, op: &mut PrettyOp<'a>, operands: usize, region: usize) -> Option<()> {
        if !self.word("carry") {
            return Some(());
        }
        self.expect("(")?;
        let (mut ids, mut inits) = (Vec::new(), Vec::new());
        loop {
            ids.push(self.prefix(Rule::value_id)?.as_str());
            self.expect("=")?;
            inits.push(self.prefix(Rule::value_use)?.as_str());
            if !self.lit(",") {
                break;
            }
        }
        self.expect(")")?;
        self.expect(":")?;
        let types = self.type_list_of(Many::Any, None)?;
        if types.len() != ids.len() {
            self.error(self.pos, format!("{} values are carried, but {} types are given", ids.len(), types.len()));
            return None;
        }
        op.args[region].extend(ids.into_iter().zip(types.iter()).map(|(id, &ty)| RegionArg { id, ty, loc: None }));
        op.operands[operands] = inits;
        if let Some(results) = op.result_types.first_mut() {
            *results = Some(types.clone());
        }
        op.operand_types[operands] = Some(types);
        Some(())
    }
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.' | b'%' | b'#')
}
