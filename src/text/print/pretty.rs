//! Printing by an op's format. An op that the format cannot say is printed in generic form.

use super::{Printer, RegionHow, Task, attrs, dims_within};
use crate::ir::format::{Custom, Format, Item, Many, Prop, Spelled, TypeFrom, Values};
use crate::ir::registry::OpInfo;
use crate::ir::{Attr, AttrData, Op, Region, Type, TypeData, Value};
use rinductor_index::Spelling;
use rinductor_support::Name;
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
        let operands = self.groups(op, &format.operands, ir.operands(op).collect(), format.segments)?;
        let results = self.groups(op, &format.results, ir.results(op).collect(), false)?;
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

    /// The name as it is printed: without `builtin.`, and inside functions without `func.`.
    fn short_name(&self, op: Op) -> &'a str {
        let ir = self.ir;
        let name = ir.op_name(op);
        match name.split_once('.') {
            Some(("builtin", short)) => short,
            Some(("func", short)) if short != "func" && ir.parent_op(op).is_some_and(|p| self.pretty_functions.contains(&p)) => short,
            _ => name,
        }
    }

    /// Values by the names of the signature.
    fn groups(&self, op: Op, names: &[Values], values: Vec<Value>, segments: bool) -> Option<Vec<Vec<Value>>> {
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
            for v in names {
                let n = match v.many {
                    Many::One => 1,
                    Many::Optional => extra.min(1),
                    Many::Any => extra,
                };
                if v.many != Many::One {
                    extra -= n;
                }
                lists.push(rest.by_ref().take(n).collect());
            }
        }
        rest.next().is_none().then_some(lists)
    }

    /// Whether what the format prints reads back as the op.
    fn sayable(&self, s: &PrettyPrint<'a>) -> bool {
        let (ir, op) = (self.ir, s.op);
        let data = ir.op(op);
        let mut uses = Uses::default();
        uses.items(&s.format.items, s, self);
        let known = |n: Name| {
            let text = ir.text(n);
            s.format.props.iter().position(|p| &*p.name == text)
        };
        // Every property is printed by an item or may stand in the dictionary.
        let props_right = ir.dict(data.props).iter().all(|&(n, _)| match known(n) {
            Some(i) => uses.props.contains(&i) || uses.dict || uses.prop_dict,
            None => (ir.text(n) == "operandSegmentSizes" && s.format.segments) || uses.prop_dict,
        });
        let attrs_right = ir.dict(data.attrs).is_empty()
            || (uses.dict && ir.dict(data.attrs).iter().all(|&(n, _)| known(n).is_none() && ir.text(n) != "operandSegmentSizes"));
        let regions_right = if uses.all_regions {
            !ir.regions_of(op).is_empty() || s.format.regions.is_empty()
        } else {
            ir.regions_of(op).len() == s.format.regions.len()
        };
        let successors_right = uses.all_successors || ir.successors(op).len() == s.format.successors.len();
        let operands_right = s.format.operands.iter().enumerate().all(|(i, v)| {
            let printed = uses.operands.contains(&i) || s.operands[i].is_empty();
            printed && (uses.operand_types.contains(&i) || s.operands[i].iter().all(|&v2| self.derivable(s, &v.ty, v2)))
        });
        let results_right = s.format.results.iter().enumerate().all(|(i, v)| {
            uses.result_types.contains(&i)
                || s.results[i].is_empty()
                || (v.ty != TypeFrom::Printed && s.results[i].iter().all(|&v2| self.derivable(s, &v.ty, v2)))
        });
        uses.right && props_right && attrs_right && regions_right && successors_right && operands_right && results_right
    }

    /// Whether the type of a value is the one that follows from the others.
    fn derivable(&self, s: &PrettyPrint<'a>, from: &TypeFrom, value: Value) -> bool {
        let ir = self.ir;
        let is = ir.value_type(value);
        let of = |name: &str| -> Option<Type> {
            let at = |names: &[Values], lists: &[Vec<Value>]| {
                let i = names.iter().position(|v| &*v.name == name)?;
                lists[i].first().map(|&v| ir.value_type(v))
            };
            at(&s.format.operands, &s.operands).or_else(|| at(&s.format.results, &s.results))
        };
        match from {
            TypeFrom::Printed => true,
            TypeFrom::Fixed(text) => attrs::AttrText::of_type(ir, is).to_string() == **text,
            TypeFrom::Same(name) => of(name) == Some(is),
            TypeFrom::ElementOf(name) => of(name).map(|t| ir.element_type(t)) == Some(is),
            TypeFrom::Like(name, element) => {
                attrs::AttrText::of_type(ir, ir.element_type(is)).to_string() == **element
                    && of(name).is_some_and(|t| with_element(ir, t, ir.element_type(is)) == Some(is))
            }
            TypeFrom::AttrType(prop) => ir.attr_of(s.op, prop).is_some_and(|a| match ir.attr(a) {
                AttrData::Integer { ty, .. }
                | AttrData::Float { ty, .. }
                | AttrData::WideInteger { ty, .. }
                | AttrData::WideFloat { ty, .. }
                | AttrData::Dense { ty, .. }
                | AttrData::Elements { ty, .. }
                | AttrData::TypedString(_, ty) => *ty == is,
                AttrData::Bool(_) => matches!(ir.ty(is), TypeData::Integer { width: 1, .. }),
                _ => false,
            }),
        }
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
                let list: Vec<Value> =
                    if *item == Item::AllOperandTypes { ir.operands(s.op).collect() } else { ir.results(s.op).collect() };
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
        let all = ir.regions_of(s.op).get(region).and_then(|&r| ir.blocks_of(r).first()).map_or(&[][..], |&b| ir.block_args(b));
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
                        attrs::list(exprs.iter(), self.out, |e, o| ir.exprs.write(o, *e, Spelling::Ours, |d| format!("d{d}")))
                            .expect("a string takes all text");
                    }
                    if let Some(tile) = ir.dict_get(*d, "tile").and_then(|a| ir.as_int(a)) {
                        write!(self.out, " tile {tile}").expect("a string takes all text");
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
        }
        self.out.push(')');
        if !results.is_empty() {
            self.out.push_str(" -> ");
            let plain = results.len() == 1
                && res_attrs.is_empty()
                && !matches!(ir.ty(results[0]), TypeData::Function { .. });
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

/// The type that is another with this element, if there is such a type.
fn with_element(ir: &crate::ir::Ir, t: Type, element: Type) -> Option<Type> {
    let mut data = ir.ty(t).clone();
    match &mut data {
        TypeData::Tensor { element: e, .. }
        | TypeData::UnrankedTensor(e)
        | TypeData::MemRef { element: e, .. }
        | TypeData::UnrankedMemRef { element: e, .. }
        | TypeData::Vector { element: e, .. } => *e = element,
        _ => return Some(element),
    }
    ir.types.find(&data)
}

/// How many entries a property has: arguments, in the forms that name arguments by it.
fn count_of(p: &Printer<'_>, op: Op, prop: &str) -> usize {
    match p.ir.attr_of(op, prop).map(|a| p.ir.attr(a)) {
        Some(AttrData::IndexMap { exprs, .. }) => exprs.len(),
        Some(AttrData::Array(items)) => items.len(),
        Some(AttrData::DenseArray { values, .. }) => values.len(),
        _ => 0,
    }
}

/// Whether an anchor is there.
fn present(p: &Printer<'_>, s: &PrettyPrint<'_>, item: &Item) -> bool {
    let ir = p.ir;
    let prop = |i: usize| ir.attr_of(s.op, &s.format.props[i].name).is_some();
    match item {
        Item::Operands(i) | Item::OperandTypes(i) => !s.operands[*i].is_empty(),
        Item::ResultTypes(i) => !s.results[*i].is_empty(),
        Item::AllOperands | Item::AllOperandTypes => ir.num_operands(s.op) > 0,
        Item::AllResultTypes | Item::FunctionalType => ir.num_results(s.op) > 0,
        Item::Prop(i) | Item::Custom(Custom::Axes(i)) => prop(*i),
        Item::Subscript { map, .. } => prop(*map),
        Item::Custom(Custom::SelectType(_)) => true,
        Item::Custom(Custom::Carry(i, _)) => !s.operands[*i].is_empty(),
        Item::Region { index, .. } => ir.regions_of(s.op).get(*index).is_some_and(|&r| !ir.blocks_of(r).is_empty()),
        Item::AllRegions => !ir.regions_of(s.op).is_empty(),
        Item::Successor(i) => ir.successors(s.op).len() > *i,
        Item::AllSuccessors => !ir.successors(s.op).is_empty(),
        Item::Args { region, .. } => {
            ir.regions_of(s.op).get(*region).and_then(|&r| ir.blocks_of(r).first()).is_some_and(|&b| !ir.block_args(b).is_empty())
        }
        Item::AttrDict { .. } => !ir.dict(ir.op(s.op).attrs).is_empty(),
        Item::PropDict => !ir.dict(ir.op(s.op).props).is_empty(),
        Item::Group { .. } | Item::Lit(_) | Item::Space | Item::Newline | Item::NoSpace | Item::Custom(Custom::Signature) => true,
    }
}

/// What the items of a format print of one op.
#[derive(Default)]
struct Uses {
    props: Vec<usize>,
    operands: Vec<usize>,
    operand_types: Vec<usize>,
    result_types: Vec<usize>,
    dict: bool,
    prop_dict: bool,
    all_regions: bool,
    all_successors: bool,
    wrong: bool,
    right: bool,
}

impl Uses {
    fn items(&mut self, items: &[Item], s: &PrettyPrint<'_>, p: &Printer<'_>) {
        self.walk(items, s, p);
        self.right = !self.wrong;
    }

    fn walk(&mut self, items: &[Item], s: &PrettyPrint<'_>, p: &Printer<'_>) {
        let (ir, format) = (p.ir, s.format);
        for item in items {
            match item {
                Item::Operands(i) => self.operands.push(*i),
                Item::AllOperands => self.operands.extend(0..format.operands.len()),
                Item::Prop(i) => {
                    self.props.push(*i);
                    self.wrong |= !prop_right(p, &format.props[*i], ir.attr_of(s.op, &format.props[*i].name));
                }
                Item::OperandTypes(i) => self.operand_types.push(*i),
                Item::ResultTypes(i) => self.result_types.push(*i),
                Item::AllOperandTypes => self.operand_types.extend(0..format.operands.len()),
                Item::AllResultTypes => self.result_types.extend(0..format.results.len()),
                Item::FunctionalType => {
                    self.operand_types.extend(0..format.operands.len());
                    self.result_types.extend(0..format.results.len());
                }
                Item::AttrDict { .. } => self.dict = true,
                Item::PropDict => self.prop_dict = true,
                Item::AllRegions => self.all_regions = true,
                Item::AllSuccessors => self.all_successors = true,
                Item::Group { items, otherwise, anchor } => {
                    let list = if present(p, s, &items[*anchor]) { items } else { otherwise };
                    self.walk(list, s, p);
                }
                Item::Subscript { operands, map } => {
                    self.operands.push(*operands);
                    self.props.push(*map);
                    let list = &s.operands[*operands];
                    let plain = |v: &Value| !p.naming.value_text(ir, *v).contains('-');
                    self.wrong |= match ir.attr_of(s.op, &format.props[*map].name).map(|a| ir.attr(a)) {
                        Some(AttrData::IndexMap { dims, exprs }) => {
                            *dims as usize != list.len()
                                || !exprs.iter().all(|&e| dims_within(ir, e, list.len()))
                                || !list.iter().all(plain)
                                || super::dim_order(ir, exprs, list.len()).len() != list.len()
                        }
                        _ => true,
                    };
                }
                Item::Args { region, count } => self.wrong |= !args_right(p, s.op, *region, count.map(|c| &*format.props[c].name)),
                Item::Custom(Custom::Signature) => {
                    for (i, prop) in format.props.iter().enumerate() {
                        if ["sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs"].contains(&&*prop.name) {
                            self.props.push(i);
                        }
                    }
                    self.wrong |= !signature_right(p, s.op);
                }
                Item::Custom(Custom::Axes(i)) => self.props.push(*i),
                Item::Custom(Custom::SelectType(condition)) => {
                    self.operand_types.push(*condition);
                    self.result_types.push(0);
                }
                Item::Custom(Custom::Carry(i, region)) => {
                    self.operands.push(*i);
                    self.operand_types.push(*i);
                    self.result_types.push(0);
                    let types = |list: &[Value]| list.iter().map(|&v| ir.value_type(v)).collect::<Vec<_>>();
                    let block = ir.regions_of(s.op).get(*region).and_then(|&r| ir.blocks_of(r).first());
                    let args = block.map_or(&[][..], |&b| ir.block_args(b));
                    let (inits, results) = (types(&s.operands[*i]), s.results.first().map_or(Vec::new(), |r| types(r)));
                    self.wrong |= types(args) != inits || results != inits;
                }
                Item::Region { index, args_elsewhere } => {
                    let region = ir.regions_of(s.op).get(*index);
                    let blocks = region.map_or(&[][..], |&r| ir.blocks_of(r));
                    // Where a form names the arguments, the region has a block to which they belong.
                    self.wrong |= *args_elsewhere && blocks.is_empty() && !format.regions[*index].optional;
                }
                Item::Lit(_) | Item::Space | Item::Newline | Item::NoSpace | Item::Successor(_) => {}
            }
        }
    }
}

/// Whether a property is what its spelling reads back.
fn prop_right(p: &Printer<'_>, prop: &Prop, attr: Option<Attr>) -> bool {
    let ir = p.ir;
    let Some(attr) = attr else { return false };
    if let Some((width, words)) = &prop.words {
        return matches!(ir.attr(attr), AttrData::Integer { value, ty }
            if (0..words.len() as i64).contains(value) && matches!(ir.ty(*ty), TypeData::Integer { width: w, .. } if w == width));
    }
    match (prop.spelled, ir.attr(attr)) {
        (Spelled::Attr, _) => true,
        (Spelled::Int(1), AttrData::Bool(_)) | (Spelled::Type, AttrData::Type(_)) => true,
        (Spelled::Int(w), AttrData::Integer { ty, .. }) => {
            matches!(ir.ty(*ty), TypeData::Integer { width, sign: crate::ir::Signedness::Signless } if *width == w)
        }
        (Spelled::IndexInt, AttrData::Integer { ty, .. }) => matches!(ir.ty(*ty), TypeData::Index),
        (Spelled::Word, AttrData::String(b)) => std::str::from_utf8(b).is_ok_and(attrs::is_bare),
        (Spelled::Words, AttrData::Array(items)) => {
            !items.is_empty()
                && items.iter().all(|&a| matches!(ir.attr(a), AttrData::String(b) if std::str::from_utf8(b).is_ok_and(attrs::is_bare)))
        }
        (Spelled::Unit, AttrData::Unit) => true,
        (Spelled::Flags, AttrData::Dialect(text)) => prop
            .prefix
            .as_deref()
            .and_then(|p| text.strip_prefix(p))
            .and_then(|t| t.strip_prefix('<'))
            .and_then(|t| t.strip_suffix('>'))
            .is_some_and(|t| t.split(", ").all(attrs::is_bare)),
        (Spelled::SymbolName, AttrData::String(b)) => std::str::from_utf8(b).is_ok(),
        _ => false,
    }
}

fn args_right(p: &Printer<'_>, op: Op, region: usize, count: Option<&str>) -> bool {
    let ir = p.ir;
    let Some(&region) = ir.regions_of(op).get(region) else { return false };
    let Some(&block) = ir.blocks_of(region).first() else { return false };
    count.is_none_or(|prop| count_of(p, op, prop) <= ir.block_args(block).len())
}

fn signature_right(p: &Printer<'_>, op: Op) -> bool {
    let ir = p.ir;
    let Some((inputs, results)) = function_type(ir, op) else { return false };
    let block = ir.regions_of(op).first().and_then(|&r| ir.blocks_of(r).first());
    let args_right = block.is_none_or(|&b| {
        let args = ir.block_args(b);
        args.len() == inputs.len() && args.iter().zip(inputs).all(|(&a, &t)| ir.value_type(a) == t)
    });
    let dicts_right = [("arg_attrs", inputs.len()), ("res_attrs", results.len())].iter().all(|(key, n)| {
        ir.attr_of(op, key).is_none_or(|a| match ir.attr(a) {
            AttrData::Array(items) => {
                let dicts = items.iter().filter_map(|&i| match ir.attr(i) {
                    AttrData::Dict(d) => Some(!ir.dict(*d).is_empty()),
                    _ => None,
                });
                let dicts: Vec<bool> = dicts.collect();
                dicts.len() == *n && items.len() == *n && dicts.contains(&true)
            }
            _ => false,
        })
    });
    let visibility = ir.attr_of(op, "sym_visibility").is_none_or(|a| matches!(ir.as_str(a), Some("private" | "public" | "nested")));
    args_right && dicts_right && visibility && ir.symbol_name(op).is_some()
}
