//! What the generated views of ops are made of: where an operand of a name stands, and a property as the type that its kind says.
//!
//! Views are for IR that was verified. A required part that is not there is a fault of who made the op, and panics with the op's name.

use crate::ir::format::Many;
use crate::ir::{Attr, AttrData, Block, Dict, Ir, Op, Region, Value};
use rinductor_index::Expr;
use smallvec::SmallVec;
use std::ops::Range;

/// Some operands or results of an op.
pub type Values = SmallVec<[Value; 4]>;

/// How the operands of an op fall into those of each name.
#[derive(Clone, Copy, Debug)]
pub struct Groups {
    /// How many each name means.
    pub many: &'static [Many],
    /// The group whose number the dimensions of an index map give, and the property that holds the map.
    pub counted: Option<(usize, &'static str)>,
}

impl Groups {
    /// Where the operands of name number `k` stand.
    fn range(self, ir: &Ir, op: Op, k: usize) -> Range<usize> {
        let total = ir.num_operands(op);
        let counts = self.counts(ir, op, total);
        let start = counts[..k].iter().sum::<usize>().min(total);
        start..(start + counts[k]).min(total)
    }

    fn counts(self, ir: &Ir, op: Op, total: usize) -> SmallVec<[usize; 4]> {
        let fixed = self.many.iter().filter(|m| **m == Many::One).count();
        let varying = self.many.len() - fixed;
        let of_map = self.counted.map(|(group, map)| (group, counted(ir, op, map)));
        if varying > 1
            && of_map.is_none()
            && let Some(segments) = ir.operand_segments(op)
        {
            return segments.iter().map(|&n| usize::try_from(n).unwrap_or(0)).collect();
        }
        // What the fixed ones and the map leave goes to the one that is left.
        let mut left = total.saturating_sub(fixed + of_map.map_or(0, |(_, n)| n));
        let count = |(k, m): (usize, &Many)| match (m, of_map) {
            (Many::One, _) => 1,
            (_, Some((group, n))) if group == k => n,
            _ => std::mem::take(&mut left),
        };
        self.many.iter().enumerate().map(count).collect()
    }
}

/// The dimensions of an index map; 0 where there is none.
pub fn counted(ir: &Ir, op: Op, map: &str) -> usize {
    match ir.attr_of(op, map).map(|a| ir.attr(a)) {
        Some(AttrData::IndexMap { dims, .. }) => *dims as usize,
        _ => 0,
    }
}

/// The operand of a name that means one.
pub fn one(ir: &Ir, op: Op, groups: Groups, k: usize) -> Value {
    ir.operand(op, groups.range(ir, op, k).start)
}

/// The operand of a name that means none or one.
pub fn optional(ir: &Ir, op: Op, groups: Groups, k: usize) -> Option<Value> {
    groups.range(ir, op, k).next().map(|i| ir.operand(op, i))
}

/// The operands of a name that means any number.
pub fn many(ir: &Ir, op: Op, groups: Groups, k: usize) -> Values {
    groups.range(ir, op, k).map(|i| ir.operand(op, i)).collect()
}

/// A region.
pub fn region(ir: &Ir, op: Op, k: usize) -> Region {
    match ir.regions_of(op).get(k) {
        Some(&region) => region,
        None => panic!("'{}' has no region {k}", ir.op_name(op)),
    }
}

/// The one block of a region.
pub fn block(ir: &Ir, op: Op, k: usize) -> Block {
    match ir.blocks_of(region(ir, op, k)).first() {
        Some(&block) => block,
        None => panic!("region {k} of '{}' has no block", ir.op_name(op)),
    }
}

/// Whether a property stands for true: `true`, or a unit that is there.
pub fn flag(ir: &Ir, op: Op, name: &str) -> bool {
    ir.attr_of(op, name).is_some_and(|a| matches!(ir.attr(a), AttrData::Unit) || ir.as_bool(a) == Some(true))
}

/// Functions that read a property as a type: as it is, and one that must be there.
macro_rules! properties {
    ($($(#[doc = $doc:literal])+ $name:ident, $the:ident, $ty:ty, $read:expr;)+) => {
        $(
            $(#[doc = $doc])+
            pub fn $name<'a>(ir: &'a Ir, op: Op, name: &str) -> Option<$ty> {
                let read: fn(&'a Ir, Attr) -> Option<$ty> = $read;
                ir.attr_of(op, name).and_then(|a| read(ir, a))
            }
            $(#[doc = $doc])+
            ///
            /// # Panics
            /// It is not there, or something else.
            pub fn $the<'a>(ir: &'a Ir, op: Op, name: &str) -> $ty {
                match $name(ir, op, name) {
                    Some(value) => value,
                    None => panic!("'{}' has no property '{name}', or one of another kind", ir.op_name(op)),
                }
            }
        )+
    };
}

properties! {
    /// A property, whatever it is.
    attr, the_attr, Attr, |_, a| Some(a);
    /// An integer.
    int, the_int, i64, |ir, a| ir.as_int(a);
    /// A string.
    str, the_str, &'a str, |ir, a| ir.as_str(a);
    /// The name that a symbol reference without nested names has.
    symbol, the_symbol, &'a str, |ir, a| ir.as_symbol(a).map(|n| ir.text(n));
    /// Strings.
    strs, the_strs, Vec<&'a str>, |ir, a| match ir.attr(a) {
        AttrData::Array(items) => items.iter().map(|&i| ir.as_str(i)).collect(),
        _ => None,
    };
    /// Integers.
    ints, the_ints, Vec<i64>, |ir, a| ir.as_ints(a);
    /// The items of an array.
    array, the_array, &'a [Attr], |ir, a| match ir.attr(a) {
        AttrData::Array(items) => Some(&**items),
        _ => None,
    };
    /// A dictionary.
    dict, the_dict, Dict, |ir, a| match ir.attr(a) {
        AttrData::Dict(dict) => Some(*dict),
        _ => None,
    };
    /// The expressions of an index map.
    index_map, the_index_map, &'a [Expr], |ir, a| match ir.attr(a) {
        AttrData::IndexMap { exprs, .. } => Some(&**exprs),
        _ => None,
    };
}
