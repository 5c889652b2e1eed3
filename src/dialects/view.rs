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
            #[allow(clippy::needless_lifetimes)] // some of the types borrow
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

#[cfg(test)]
mod tests {
    use crate::dialects::{aten, func, kernels, library, loops};
    use crate::ir::{Ir, Op};
    use crate::support::SourceMap;
    use crate::text::{ParseOptions, parse};
    use std::sync::Arc;

    /// The IR of a text that the verifier has nothing against.
    fn read(text: &str) -> Ir {
        let library = Arc::new(library::builtin());
        let registry = library::registry(&library);
        let mut sources = SourceMap::new();
        let id = sources.add("t.ir", text).unwrap();
        let (ir, wrong) = parse(&sources, id, &ParseOptions::new(&registry));
        let mut ir = ir.unwrap_or_else(|| panic!("{wrong:?}"));
        let wrong = {
            let module = ir.module();
            library::verify(&library, &mut ir, module)
        };
        assert!(wrong.is_empty(), "{wrong:?}");
        ir
    }

    fn find(ir: &Ir, name: &str) -> Vec<Op> {
        ir.nested_ops(ir.module()).into_iter().filter(|&op| ir.is_op(op, name)).collect()
    }

    #[test]
    fn operands_are_found_by_what_the_index_map_counts() {
        let ir = read(
            "func.func @f(%t: tensor<4x4xf32>, %n: index, %g: i1) {
  %a = \"loops.load\"(%t, %n, %n, %g) <{map = #index.map<(d0, d1) -> (d0, d1)>}> : (tensor<4x4xf32>, index, index, i1) -> f32
  %b = \"loops.load\"(%t, %g) <{map = #index.map<() -> (0, s0)>}> : (tensor<4x4xf32>, i1) -> f32
  %c = \"loops.load\"(%t, %n) <{map = #index.map<(d0) -> (d0, 1)>}> : (tensor<4x4xf32>, index) -> f32
  return
}",
        );
        let loads: Vec<loops::LoadOp> =
            find(&ir, loops::LoadOp::NAME).into_iter().filter_map(|op| loops::LoadOp::cast(&ir, op)).collect();
        let body = func::FuncOp(find(&ir, func::FuncOp::NAME)[0]).body(&ir);
        let args = ir.block_args(ir.blocks_of(body)[0]).to_vec();
        let [t, n, g] = args[..] else { panic!("three arguments") };
        let parts: Vec<_> =
            loads.iter().map(|l| (l.tensor(&ir), l.indices(&ir).to_vec(), l.guard(&ir), l.map(&ir).len())).collect();
        assert_eq!(parts, [(t, vec![n, n], Some(g), 2), (t, vec![], Some(g), 2), (t, vec![n], None, 2)]);
    }

    #[test]
    fn properties_have_the_types_of_their_kinds() {
        let ir = read(
            "func.func private @g()
kernels.func @k(%x: memref<4xf32>) axes {x = 4 tile 1 parallel} {
  kernels.return
}
func.func @f(%x: memref<4xf32>, %t: tensor<4xf32>) {
  %a = kernels.alloc : memref<32xi8>
  %b = kernels.alloc in %a at 16 : memref<4xf32>
  kernels.launch @k(%x) : memref<4xf32>
  kernels.extern \"aten.neg\"(%x, %b) outs 1 {} : memref<4xf32>, memref<4xf32>
  %n = \"aten.sym_size.int\"(%t) <{dim = 0 : i64}> : (tensor<4xf32>) -> index
  return
}",
        );
        let one = |name: &str| find(&ir, name)[0];
        let launch = kernels::LaunchOp::cast(&ir, one(kernels::LaunchOp::NAME)).unwrap();
        assert_eq!((launch.callee(&ir), launch.args(&ir).len()), ("k", 1));
        let allocs: Vec<_> = find(&ir, kernels::AllocOp::NAME)
            .into_iter()
            .map(|op| (kernels::AllocOp(op).arena(&ir).is_some(), kernels::AllocOp(op).offset(&ir)))
            .collect();
        assert_eq!(allocs, [(false, None), (true, Some(16))]);
        let external = kernels::ExternOp(one(kernels::ExternOp::NAME));
        assert_eq!((external.callee(&ir), external.outs(&ir), external.args(&ir).len()), ("aten.neg", 1, 2));
        assert!(ir.dict(external.properties(&ir)).is_empty());
        let kernel = kernels::FuncOp(one(kernels::FuncOp::NAME));
        assert_eq!((kernel.sym_name(&ir), kernel.axes(&ir).len()), ("k", 1));
        let size = aten::SymSizeIntOp(one(aten::SymSizeIntOp::NAME));
        assert_eq!(size.dim(&ir), Some(0));
        let private = func::FuncOp(one(func::FuncOp::NAME));
        assert_eq!(private.sym_visibility(&ir), Some("private"));
        assert!(ir.blocks_of(private.body(&ir)).is_empty());
        assert_eq!(kernels::AllocOp::cast(&ir, launch.0), None);
    }
}
