//! Printing by an op's format. An op that the format cannot say is printed in generic form.

mod sayable;

use super::{Printer, RegionHow, Task, attrs};
use crate::ir::format::{Custom, Format, Item, Many, Prop, Spelled, Values};
use crate::ir::registry::OpInfo;
use crate::ir::{Attr, AttrData, Op, Region, Type, TypeData, Value};
use rinductor_index::Spelling;
use rinductor_support::Name;
use sayable::{Uses, present};
use std::fmt::Write;

/// An op in pretty form, as far as it was written.
pub struct PrettyPrint<'a> {
    op: Op,
    format: &'a Format,
    work: Vec<(&'a [Item], usize)>,
    operands: Vec<Vec<Value>>,
    results: Vec<Vec<Value>>,
    indent: usize,
    /// Whether the next item is set off by a space.
    space: bool,
    /// Whether punctuation was written last.
    punctuation: bool,
    /// Whether a keyword was written last.
    keyword: bool,
    /// How many arguments of each region's first block were written.
    args_done: Vec<usize>,
}

impl<'a> Printer<'a> {
    /// The state in which an op is printed by its format; None if the format cannot say it.
    pub fn pretty_start(&mut self, op: Op, format: &'a Format, indent: usize) -> Option<PrettyPrint<'a>> {
        let ir = self.ir;
        if self.naming.forward.contains(&op) {
            return None;
        }
        let counted = format.counted.map(|(group, map)| (group, dims_of(self, op, &format.props[map].name)));
        let operands = self.groups(op, &format.operands, ir.operands(op).collect(), format.segments, counted)?;
        let results = self.groups(op, &format.results, ir.results(op).collect(), false, None)?;
        let state = PrettyPrint {
            op,
            format,
            work: vec![(&format.items[..], 0)],
            operands,
            results,
            indent,
            space: false,
            punctuation: false,
            keyword: false,
            args_done: vec![0; format.regions.len().max(1)],
        };
        self.sayable(&state).then(|| {
            if ir.is_op(op, "func.func") {
                self.pretty_functions.insert(op);
            }
            let name = self.short_name(op);
            self.out.push_str(name);
            PrettyPrint { space: true, ..state }
        })
    }

    /// The name as it is printed: directly in modules without `builtin.`, and inside functions without `func.`.
    fn short_name(&self, op: Op) -> &'a str {
        let ir = self.ir;
        let name = ir.op_name(op);
        match name.split_once('.') {
            Some(("builtin", short)) if ir.parent_op(op).is_none_or(|p| ir.is_op(p, "builtin.module")) => short,
            Some(("func", short))
                if short != "func" && ir.parent_op(op).is_some_and(|p| self.pretty_functions.contains(&p)) =>
            {
                short
            }
            _ => name,
        }
    }

    /// Values by the names of the signature.
    fn groups(
        &self,
        op: Op,
        names: &[Values],
        values: Vec<Value>,
        segments: bool,
        counted: Option<(usize, usize)>,
    ) -> Option<Vec<Vec<Value>>> {
        let mut rest = values.into_iter();
        let mut lists = Vec::new();
        if segments {
            let sizes = self.ir.operand_segments(op)?;
            let named = names.iter().filter(|v| !v.name.is_empty()).count();
            if sizes.len() != named {
                return None;
            }
            for (v, n) in names.iter().zip(sizes.into_iter().chain(std::iter::repeat(0))) {
                let list: Vec<Value> = rest.by_ref().take(usize::try_from(n).ok()?).collect();
                let fits = match v.many {
                    Many::One => list.len() == 1,
                    Many::Optional => list.len() <= 1,
                    Many::Any => true,
                };
                if !fits || list.len() as i64 != n {
                    return None;
                }
                lists.push(list);
            }
        } else {
            let fixed = names.iter().filter(|v| v.many == Many::One).count();
            let mut extra = rest.len().checked_sub(fixed)?;
            for (i, v) in names.iter().enumerate() {
                let n = match v.many {
                    Many::One => 1,
                    Many::Optional => extra.min(1),
                    Many::Any => match counted {
                        Some((group, n)) if group == i => n.min(extra),
                        _ => extra,
                    },
                };
                if v.many != Many::One {
                    extra -= n;
                }
                lists.push(rest.by_ref().take(n).collect());
            }
        }
        rest.next().is_none().then_some(lists)
    }

    /// Writes items until the end or a region.
    pub fn pretty(&mut self, mut s: Box<PrettyPrint<'a>>) {
        while let Some((items, next)) = s.work.last_mut() {
            let Some(item) = items.get(*next) else {
                s.work.pop();
                continue;
            };
            *next += 1;
            if let Some((region, how)) = self.item(&mut s, item) {
                let indent = s.indent;
                self.tasks.push(Task::Pretty(s));
                if self.options.skip_regions {
                    self.out.push_str("{...}");
                } else {
                    self.tasks.push(Task::Line("}", indent));
                    self.tasks.push(Task::Region(region, how, indent + 1));
                    self.out.push_str("{\n");
                }
                return;
            }
        }
        self.location(s.op);
    }

    fn set_off(&mut self, s: &mut PrettyPrint<'a>) {
        if s.space || !s.punctuation {
            self.out.push(' ');
        }
        s.space = true;
        s.punctuation = false;
        s.keyword = false;
    }

    fn literal(&mut self, s: &mut PrettyPrint<'a>, text: &str) {
        let first = text.chars().next().unwrap_or(' ');
        let before = if text.len() != 1 && text != "->" {
            true
        } else if s.punctuation {
            !">)}],".contains(first)
        } else {
            !"<>(){}[],".contains(first) || (s.keyword && "[{".contains(first))
        };
        if s.space && before {
            self.out.push(' ');
        }
        self.out.push_str(text);
        s.space = text.len() != 1 || !"<({[".contains(first);
        s.punctuation = first != '_' && !first.is_ascii_alphabetic();
        s.keyword = !s.punctuation;
    }

    fn values(&mut self, values: &[Value]) {
        for (i, &v) in values.iter().enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            self.naming.value(self.ir, v, self.out);
        }
    }

    fn types_of(&mut self, values: &[Value]) {
        for (i, &v) in values.iter().enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            self.ty(self.ir.value_type(v));
        }
    }

    /// Writes one item; a region is given back.
    fn item(&mut self, s: &mut PrettyPrint<'a>, item: &'a Item) -> Option<(Region, RegionHow)> {
        let ir = self.ir;
        match item {
            Item::Lit(text) => self.literal(s, text),
            Item::Space => {
                self.out.push(' ');
                s.space = false;
            }
            Item::Newline => {
                self.out.push('\n');
                self.indent(s.indent + 1);
                s.space = false;
            }
            Item::NoSpace => {
                s.space = false;
                s.punctuation = true;
            }
            Item::Operands(i) => {
                if !s.operands[*i].is_empty() {
                    self.set_off(s);
                    let list = s.operands[*i].clone();
                    self.values(&list);
                }
            }
            Item::AllOperands => {
                let list: Vec<Value> = ir.operands(s.op).collect();
                if !list.is_empty() {
                    self.set_off(s);
                    self.values(&list);
                }
            }
            Item::Prop(i) => {
                let prop = &s.format.props[*i];
                if let Some(attr) = ir.attr_of(s.op, &prop.name).filter(|_| prop.spelled != Spelled::Unit) {
                    if prop.spelled != Spelled::Flags {
                        self.set_off(s);
                    }
                    self.prop(prop, attr);
                }
            }
            Item::Region { index, args_elsewhere } => {
                let region = *ir.regions_of(s.op).get(*index)?;
                if s.format.regions[*index].optional && ir.blocks_of(region).is_empty() {
                    return None;
                }
                self.set_off(s);
                let elsewhere = *args_elsewhere || s.args_done[*index] > 0;
                return Some((region, self.how(s.op, elsewhere)));
            }
            Item::AllRegions => {
                // One region at a time; the item comes again for the next.
                let done = s.args_done[0];
                let region = *ir.regions_of(s.op).get(done)?;
                if done > 0 {
                    self.out.push(',');
                }
                self.set_off(s);
                s.args_done[0] += 1;
                if let Some(work) = s.work.last_mut() {
                    work.1 -= 1;
                }
                return Some((region, self.how(s.op, false)));
            }
            Item::Successor(i) => {
                self.set_off(s);
                self.naming.block(ir, *ir.successors(s.op).get(*i)?, self.out);
            }
            Item::AllSuccessors => {
                self.set_off(s);
                for (i, &b) in ir.successors(s.op).iter().enumerate() {
                    if i > 0 {
                        self.out.push_str(", ");
                    }
                    self.naming.block(ir, b, self.out);
                }
            }
            Item::OperandTypes(i) => {
                let list = s.operands[*i].clone();
                if !list.is_empty() {
                    self.set_off(s);
                    self.types_of(&list);
                }
            }
            Item::ResultTypes(i) => {
                let list = s.results[*i].clone();
                if !list.is_empty() {
                    self.set_off(s);
                    self.types_of(&list);
                }
            }
            Item::AllOperandTypes | Item::AllResultTypes => {
                let list: Vec<Value> = if *item == Item::AllOperandTypes {
                    ir.operands(s.op).collect()
                } else {
                    ir.results(s.op).collect()
                };
                if !list.is_empty() {
                    self.set_off(s);
                    self.types_of(&list);
                }
            }
            Item::FunctionalType => {
                self.set_off(s);
                self.out.push('(');
                let list: Vec<Value> = ir.operands(s.op).collect();
                self.types_of(&list);
                self.out.push_str(") -> ");
                let types: Vec<Type> = ir.results(s.op).map(|v| ir.value_type(v)).collect();
                attrs::result_types(ir, &types, self.out).expect("a string takes all text");
            }
            Item::AttrDict { keyword } => self.attr_dict(s, *keyword),
            Item::PropDict => {
                let props = ir.op(s.op).props;
                if !ir.dict(props).is_empty() {
                    self.set_off(s);
                    self.out.push('<');
                    self.dict(props);
                    self.out.push('>');
                }
            }
            Item::Group { items, otherwise, anchor } => {
                let list = if present(self, s, &items[*anchor]) { items } else { otherwise };
                s.work.push((list, 0));
            }
            Item::Args { region, count } => {
                self.set_off(s);
                let args = self.args(s, *region, *count);
                self.out.push('(');
                for (i, &arg) in args.iter().enumerate() {
                    if i > 0 {
                        self.out.push_str(", ");
                    }
                    self.naming.value(ir, arg, self.out);
                    if !matches!(ir.ty(ir.value_type(arg)), TypeData::Index) {
                        self.out.push_str(": ");
                        self.ty(ir.value_type(arg));
                    }
                }
                self.out.push(')');
            }
            Item::Subscript { operands, map } => {
                if let Some(AttrData::IndexMap { exprs, .. }) =
                    ir.attr_of(s.op, &s.format.props[*map].name).map(|a| ir.attr(a))
                {
                    if !exprs.is_empty() {
                        self.set_off(s);
                    }
                    let list = &s.operands[*operands];
                    let naming = &self.naming;
                    let name = |d: u32| {
                        let mut text = String::new();
                        naming.value(ir, list[d as usize], &mut text);
                        text
                    };
                    attrs::list(exprs.iter(), self.out, |e, o| ir.exprs.write(o, *e, Spelling::Ours, name))
                        .expect("a string takes all text");
                }
            }
            Item::Custom(custom) => self.custom(s, *custom),
        }
        None
    }

    fn how(&mut self, op: Op, args_elsewhere: bool) -> RegionHow {
        let info: Option<&OpInfo> = self.info(self.ir.op(op).name);
        RegionHow {
            args_elsewhere,
            single: info.is_some_and(|i| i.single_block),
            implicit: info.and_then(|i| i.implicit_terminator.as_deref()).and_then(|t| self.ir.names.find(t)),
        }
    }

    fn args(&self, s: &mut PrettyPrint<'a>, region: usize, count: Option<usize>) -> Vec<Value> {
        let ir = self.ir;
        let all = ir
            .regions_of(s.op)
            .get(region)
            .and_then(|&r| ir.blocks_of(r).first())
            .map_or(&[][..], |&b| ir.block_args(b));
        let done = s.args_done[region];
        let n = count.map_or(all.len() - done, |p| count_of(self, s.op, &s.format.props[p].name));
        s.args_done[region] = (done + n).min(all.len());
        all.get(done..done + n).unwrap_or(&[]).to_vec()
    }

    fn prop(&mut self, prop: &Prop, attr: Attr) {
        let ir = self.ir;
        if let Some((_, words)) = &prop.words
            && let Some(i) = ir.as_int(attr)
            && let Some(word) = words.get(i as usize)
        {
            self.out.push_str(word);
            return;
        }
        let text = match (prop.spelled, ir.attr(attr)) {
            (Spelled::Int(_) | Spelled::IndexInt, AttrData::Integer { value, ty }) => {
                let mut text = String::new();
                attrs::integer(ir, *value, *ty, &mut text).expect("a string takes all text");
                text
            }
            (Spelled::Words, AttrData::Array(items)) => {
                items.iter().filter_map(|&a| ir.as_str(a)).collect::<Vec<_>>().join(", ")
            }
            (Spelled::Flags, AttrData::Dialect(text)) => {
                text.strip_prefix(prop.prefix.as_deref().unwrap_or("#")).unwrap_or(text).to_string()
            }
            (Spelled::Word, AttrData::String(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
            (Spelled::SymbolName, AttrData::String(bytes)) => {
                let mut text = String::new();
                attrs::symbol(&String::from_utf8_lossy(bytes), &mut text).expect("a string takes all text");
                text
            }
            _ => attrs::AttrText::of_attr(ir, attr).to_string(),
        };
        self.out.push_str(&text);
    }

    fn attr_dict(&mut self, s: &mut PrettyPrint<'a>, keyword: bool) {
        let ir = self.ir;
        let mut uses = Uses::default();
        uses.items(&s.format.items, s, self);
        let data = ir.op(s.op);
        let left = |n: Name| {
            let text = ir.text(n);
            text != "operandSegmentSizes"
                && s.format.props.iter().position(|p| &*p.name == text).is_none_or(|i| !uses.props.contains(&i))
        };
        let mut list: Vec<(Name, Attr)> = if uses.prop_dict {
            Vec::new()
        } else {
            ir.dict(data.props).iter().copied().filter(|&(n, _)| left(n)).collect()
        };
        list.extend_from_slice(ir.dict(data.attrs));
        if list.is_empty() {
            return;
        }
        list.sort_by(|a, b| ir.text(a.0).cmp(ir.text(b.0)));
        self.set_off(s);
        if keyword {
            self.out.push_str("attributes ");
        }
        attrs::entries(ir, list.into_iter(), self.out).expect("a string takes all text");
    }

    fn custom(&mut self, s: &mut PrettyPrint<'a>, custom: Custom) {
        let ir = self.ir;
        match custom {
            Custom::Signature => self.signature(s),
            Custom::Axes(prop) => {
                self.set_off(s);
                self.out.push('{');
                let items = match ir.attr_of(s.op, &s.format.props[prop].name).map(|a| ir.attr(a)) {
                    Some(AttrData::Array(items)) => &items[..],
                    _ => &[],
                };
                for (i, &item) in items.iter().enumerate() {
                    let AttrData::Dict(d) = ir.attr(item) else { continue };
                    let text = |key: &str| ir.dict_get(*d, key).and_then(|a| ir.as_str(a)).unwrap_or("");
                    let comma = if i > 0 { ", " } else { "" };
                    write!(self.out, "{comma}{} = ", text("name")).expect("a string takes all text");
                    if let Some(AttrData::IndexMap { exprs, .. }) = ir.dict_get(*d, "extent").map(|a| ir.attr(a)) {
                        attrs::list(exprs.iter(), self.out, |e, o| {
                            ir.exprs.write(o, *e, Spelling::Ours, |d| format!("d{d}"))
                        })
                        .expect("a string takes all text");
                    }
                    for key in ["tile", "unroll"] {
                        if let Some(number) = ir.dict_get(*d, key).and_then(|a| ir.as_int(a)) {
                            write!(self.out, " {key} {number}").expect("a string takes all text");
                        }
                    }
                    write!(self.out, " {}", text("kind")).expect("a string takes all text");
                }
                self.out.push('}');
            }
            Custom::SelectType(condition) => {
                self.set_off(s);
                let condition = ir.value_type(s.operands[condition][0]);
                if !matches!(ir.ty(condition), TypeData::Integer { width: 1, .. }) {
                    self.ty(condition);
                    self.out.push_str(", ");
                }
                self.ty(ir.value_type(s.results[0][0]));
            }
            Custom::Carry(operands, region) => {
                let inits = s.operands[operands].clone();
                if inits.is_empty() {
                    return;
                }
                self.set_off(s);
                let args = self.args(s, region, None);
                self.out.push_str("carry (");
                for (i, (&arg, &init)) in args.iter().zip(&inits).enumerate() {
                    if i > 0 {
                        self.out.push_str(", ");
                    }
                    self.naming.value(ir, arg, self.out);
                    self.out.push_str(" = ");
                    self.naming.value(ir, init, self.out);
                }
                self.out.push_str(") : ");
                self.types_of(&inits);
            }
        }
    }

    fn signature(&mut self, s: &mut PrettyPrint<'a>) {
        let ir = self.ir;
        let op = s.op;
        if let Some(v) = ir.attr_of(op, "sym_visibility").and_then(|a| ir.as_str(a)) {
            self.set_off(s);
            self.out.push_str(v);
        }
        self.set_off(s);
        attrs::symbol(ir.symbol_name(op).unwrap_or(""), self.out).expect("a string takes all text");
        let Some((inputs, results)) = function_type(ir, op) else { return };
        let dicts = |key: &str| match ir.attr_of(op, key).map(|a| ir.attr(a)) {
            Some(AttrData::Array(items)) => &items[..],
            _ => &[],
        };
        let block = ir.regions_of(op).first().and_then(|&r| ir.blocks_of(r).first());
        s.args_done[0] = block.map_or(0, |&b| ir.block_args(b).len());
        let (arg_attrs, res_attrs) = (dicts("arg_attrs"), dicts("res_attrs"));
        self.out.push('(');
        for (i, &t) in inputs.iter().enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            if let Some(&b) = block {
                self.naming.value(ir, ir.block_args(b)[i], self.out);
                self.out.push_str(": ");
            }
            self.ty(t);
            self.arg_dict(arg_attrs.get(i).copied());
            if let Some(&b) = block {
                self.arg_location(ir.block_args(b)[i]);
            }
        }
        self.out.push(')');
        if !results.is_empty() {
            self.out.push_str(" -> ");
            let plain =
                results.len() == 1 && res_attrs.is_empty() && !matches!(ir.ty(results[0]), TypeData::Function { .. });
            if !plain {
                self.out.push('(');
            }
            for (i, &t) in results.iter().enumerate() {
                if i > 0 {
                    self.out.push_str(", ");
                }
                self.ty(t);
                self.arg_dict(res_attrs.get(i).copied());
            }
            if !plain {
                self.out.push(')');
            }
        }
    }

    fn arg_dict(&mut self, attr: Option<Attr>) {
        if let Some(AttrData::Dict(d)) = attr.map(|a| self.ir.attr(a))
            && !self.ir.dict(*d).is_empty()
        {
            self.out.push(' ');
            self.dict(*d);
        }
    }
}

/// The function type of a function-like op.
fn function_type(ir: &crate::ir::Ir, op: Op) -> Option<(&[Type], &[Type])> {
    let ty = ir.attr_of(op, "function_type").and_then(|a| ir.as_type(a))?;
    match ir.ty(ty) {
        TypeData::Function { inputs, results } => Some((inputs, results)),
        _ => None,
    }
}

/// How many entries a property has: arguments, in the forms that name arguments by it.
/// How many dimensions an index map has.
fn dims_of(p: &Printer<'_>, op: Op, prop: &str) -> usize {
    match p.ir.attr_of(op, prop).map(|a| p.ir.attr(a)) {
        Some(AttrData::IndexMap { dims, .. }) => *dims as usize,
        _ => 0,
    }
}

fn count_of(p: &Printer<'_>, op: Op, prop: &str) -> usize {
    match p.ir.attr_of(op, prop).map(|a| p.ir.attr(a)) {
        Some(AttrData::IndexMap { exprs, .. }) => exprs.len(),
        Some(AttrData::Array(items)) => items.len(),
        Some(AttrData::DenseArray { values, .. }) => values.len(),
        _ => 0,
    }
}
