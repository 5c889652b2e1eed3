//! Whether an op can be printed by its format: what would not read back as the same op keeps the generic form.

use super::super::{Printer, attrs, dim_order, dims_within};
use super::{PrettyPrint, count_of, function_type};
use crate::ir::format::{Custom, Item, Prop, Spelled, TypeFrom, Values};
use crate::ir::{Attr, AttrData, Op, Type, TypeData, Value};
use rinductor_support::Name;

impl<'a> Printer<'a> {
    /// Whether what the format prints reads back as the op.
    pub(super) fn sayable(&self, s: &PrettyPrint<'a>) -> bool {
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
            || (uses.dict
                && ir.dict(data.attrs).iter().all(|&(n, _)| known(n).is_none() && ir.text(n) != "operandSegmentSizes"));
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

/// Whether an anchor is there.
pub(super) fn present(p: &Printer<'_>, s: &PrettyPrint<'_>, item: &Item) -> bool {
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
        Item::Args { region, .. } => ir
            .regions_of(s.op)
            .get(*region)
            .and_then(|&r| ir.blocks_of(r).first())
            .is_some_and(|&b| !ir.block_args(b).is_empty()),
        Item::AttrDict { .. } => !ir.dict(ir.op(s.op).attrs).is_empty(),
        Item::PropDict => !ir.dict(ir.op(s.op).props).is_empty(),
        Item::Group { .. }
        | Item::Lit(_)
        | Item::Space
        | Item::Newline
        | Item::NoSpace
        | Item::Custom(Custom::Signature) => true,
    }
}

/// What the items of a format print of one op.
#[derive(Default)]
pub(super) struct Uses {
    pub(super) props: Vec<usize>,
    operands: Vec<usize>,
    operand_types: Vec<usize>,
    result_types: Vec<usize>,
    dict: bool,
    pub(super) prop_dict: bool,
    all_regions: bool,
    all_successors: bool,
    wrong: bool,
    right: bool,
}

impl Uses {
    pub(super) fn items(&mut self, items: &[Item], s: &PrettyPrint<'_>, p: &Printer<'_>) {
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
                Item::ResultTypes(i) => {
                    self.result_types.push(*i);
                    // How many there are is read from their list, which has one at least.
                    self.wrong |= s.results[*i].is_empty();
                }
                Item::AllOperandTypes => self.operand_types.extend(0..format.operands.len()),
                Item::AllResultTypes => {
                    self.result_types.extend(0..format.results.len());
                    self.wrong |= ir.num_results(s.op) == 0;
                }
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
                                || !dim_order(ir, exprs, list.len()).into_iter().eq(0..list.len() as u32)
                        }
                        _ => true,
                    };
                }
                Item::Args { region, count } => {
                    self.wrong |= !args_right(p, s.op, *region, count.map(|c| &*format.props[c].name))
                }
                Item::Custom(Custom::Signature) => {
                    for (i, prop) in format.props.iter().enumerate() {
                        if ["sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs"]
                            .contains(&&*prop.name)
                        {
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
                && items.iter().all(
                    |&a| matches!(ir.attr(a), AttrData::String(b) if std::str::from_utf8(b).is_ok_and(attrs::is_bare)),
                )
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
    let visibility =
        ir.attr_of(op, "sym_visibility").is_none_or(|a| matches!(ir.as_str(a), Some("private" | "public" | "nested")));
    args_right && dicts_right && visibility && ir.symbol_name(op).is_some()
}
