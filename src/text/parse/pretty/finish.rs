//! The end of an op in pretty form: operands and result types from what was read and what follows from it.

use super::super::Parser;
use super::super::structure::{Parts, is_default};
use super::PrettyOp;
use crate::ir::format::{Many, TypeFrom};
use crate::ir::{AttrData, Region, Type, TypeData, Value};
use smallvec::SmallVec;

impl<'a> Parser<'a> {
    // ---- the end of an op ----

    pub(super) fn finish_pretty(&mut self, mut op: PrettyOp<'a>, loc: &'a str) -> Option<()> {
        let format = op.format;
        let loc = if loc.is_empty() { self.loc_at(op.offset) } else { self.loc_leaf(loc)? };
        if let Some((inputs, results)) = op.all_types.take() {
            if op.all_operands.is_some() {
                op.all_operand_types = Some(inputs);
            } else {
                let counts: usize = op.operands.iter().map(Vec::len).sum();
                if counts != inputs.len() {
                    self.error(op.offset, format!("{counts} operands, but {} operand types", inputs.len()));
                    return None;
                }
                let mut rest = inputs.into_iter();
                for (i, group) in op.operands.iter().enumerate() {
                    op.operand_types[i] = Some(rest.by_ref().take(group.len()).collect());
                }
            }
            match spread(&results, format.results.iter().map(|v| v.many)) {
                Some(lists) => op.result_types = lists.into_iter().map(Some).collect(),
                None => {
                    self.error(op.offset, format!("'{}' has another number of results", op.full_name));
                    return None;
                }
            }
        }
        if let Some(all) = op.all_operands.take() {
            let Some(lists) = spread(&all, format.operands.iter().map(|v| v.many)) else {
                self.error(op.offset, format!("'{}' has another number of operands", op.full_name));
                return None;
            };
            op.operands = lists;
            if let Some(types) = op.all_operand_types.take() {
                op.operand_types =
                    spread(&types, format.operands.iter().map(|v| v.many))?.into_iter().map(Some).collect();
            }
        }
        let values = self.operand_values(&op)?;
        let types = self.result_values(&op, &values)?;
        if format.segments {
            let named = |(i, _): &(usize, &Vec<Value>)| !format.operands[*i].name.is_empty();
            let sizes: Vec<i64> = values.iter().enumerate().filter(named).map(|(_, g)| g.len() as i64).collect();
            let (name, attr) = (self.ir.name("operandSegmentSizes"), self.ir.i32_array_attr(&sizes));
            op.props.push((name, attr));
        }
        let regions: Vec<Region> = op.regions.iter().flatten().copied().collect();
        op.props.retain(|&(n, a)| !is_default(&self.ir, format, n, a));
        let parts = Parts {
            name: op.name,
            results: op.results,
            operands: values.into_iter().flatten().collect(),
            types,
            props: self.ir.make_dict(std::mem::take(&mut op.props)),
            attrs: self.ir.make_dict(std::mem::take(&mut op.attrs)),
            successors: std::mem::take(&mut op.successors),
            loc,
            offset: op.offset,
        };
        self.finish_op(parts, &regions);
        Some(())
    }

    pub(super) fn operand_values(&mut self, op: &PrettyOp<'a>) -> Option<Vec<Vec<Value>>> {
        let format = op.format;
        let mut known: Vec<Option<Vec<Type>>> = op.operand_types.clone();
        for (i, group) in op.operands.iter().enumerate() {
            if let Some(types) = &known[i]
                && types.len() != group.len()
            {
                self.error(
                    op.offset,
                    format!("{} operands '{}', but {} types", group.len(), format.operands[i].name, types.len()),
                );
                return None;
            }
        }
        // Types that follow from other types, until nothing new follows.
        for _ in 0..format.operands.len() {
            for i in 0..known.len() {
                if known[i].is_none()
                    && let Some(ty) = self.derived(op, &format.operands[i].ty, &known)
                {
                    known[i] = Some(vec![ty; op.operands[i].len()]);
                }
            }
        }
        let mut values = Vec::new();
        for (i, group) in op.operands.iter().enumerate() {
            let mut list = Vec::new();
            for (k, &id) in group.iter().enumerate() {
                let value = match &known[i] {
                    Some(types) => self.operand(id, types[k])?,
                    None => {
                        let (name, index) = self.use_of(id)?;
                        match self.lookup(id, name, index)? {
                            Some(v) => v,
                            None => {
                                let at = self.offset(id);
                                self.error(
                                    at,
                                    format!(
                                        "'{id}' is used before its definition, where this form does not say its type"
                                    ),
                                );
                                return None;
                            }
                        }
                    }
                };
                list.push(value);
            }
            if known[i].is_none() {
                known[i] = Some(list.iter().map(|&v| self.ir.value_type(v)).collect());
            }
            values.push(list);
        }
        Some(values)
    }

    pub(super) fn result_values(&mut self, op: &PrettyOp<'a>, values: &[Vec<Value>]) -> Option<SmallVec<[Type; 2]>> {
        let format = op.format;
        let operands: Vec<Option<Vec<Type>>> =
            values.iter().map(|g| Some(g.iter().map(|&v| self.ir.value_type(v)).collect())).collect();
        let mut types = SmallVec::new();
        for (i, result) in format.results.iter().enumerate() {
            if let Some(list) = &op.result_types[i] {
                types.extend(list.iter().copied());
                continue;
            }
            match (self.derived(op, &result.ty, &operands), result.many) {
                (Some(ty), _) => types.push(ty),
                (None, Many::One) => {
                    self.error(op.offset, format!("the type of the result '{}' is not given", result.name));
                    return None;
                }
                (None, _) => {}
            }
        }
        Some(types)
    }

    /// The type that follows from types that are known.
    pub(super) fn derived(
        &mut self,
        op: &PrettyOp<'a>,
        from: &'a TypeFrom,
        operands: &[Option<Vec<Type>>],
    ) -> Option<Type> {
        let of = |name: &str| -> Option<Type> {
            let format = op.format;
            if let Some(i) = format.operands.iter().position(|v| &*v.name == name) {
                return operands[i].as_ref()?.first().copied();
            }
            let i = format.results.iter().position(|v| &*v.name == name)?;
            op.result_types[i].as_ref()?.first().copied()
        };
        match from {
            TypeFrom::Printed => None,
            TypeFrom::Fixed(text) => self.type_leaf(text),
            TypeFrom::Same(name) => of(name),
            TypeFrom::ElementOf(name) => of(name).map(|t| self.ir.element_type(t)),
            TypeFrom::Like(name, element) => {
                let shaped = of(name)?;
                let element = self.type_leaf(element)?;
                Some(self.ir.with_element(shaped, element))
            }
            TypeFrom::AttrType(prop) => {
                let name = self.ir.names.find(prop)?;
                let attr = op.props.iter().find(|(n, _)| *n == name)?.1;
                match self.ir.attr(attr) {
                    AttrData::Integer { ty, .. } | AttrData::Float { ty, .. } => Some(*ty),
                    AttrData::WideInteger { ty, .. } | AttrData::WideFloat { ty, .. } => Some(*ty),
                    AttrData::Dense { ty, .. } | AttrData::Elements { ty, .. } | AttrData::TypedString(_, ty) => {
                        Some(*ty)
                    }
                    AttrData::Bool(_) => {
                        Some(self.ir.make_type(TypeData::Integer { width: 1, sign: crate::ir::Signedness::Signless }))
                    }
                    _ => None,
                }
            }
        }
    }
}

/// A list split over groups of which at most one varies in number.
pub(super) fn spread<T: Clone>(list: &[T], groups: impl Iterator<Item = Many> + Clone) -> Option<Vec<Vec<T>>> {
    let fixed = groups.clone().filter(|m| *m == Many::One).count();
    let mut extra = list.len().checked_sub(fixed)?;
    let mut at = 0;
    let mut lists = Vec::new();
    for many in groups {
        let n = match many {
            Many::One => 1,
            Many::Optional => extra.min(1),
            Many::Any => extra,
        };
        if many != Many::One {
            extra -= n;
        }
        lists.push(list.get(at..at + n)?.to_vec());
        at += n;
    }
    (at == list.len()).then_some(lists)
}
