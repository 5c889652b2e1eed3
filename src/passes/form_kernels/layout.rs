//! Tensors become buffers: the memref type of a tensor, dense layouts, and nests that are only views.

use crate::dialects::loops;
use crate::dialects::loops::{Access, Dims, Nest, contiguous_strides, sizes_of, strides_of};
use crate::ir::attr::Layout;
use crate::ir::{AttrData, DYNAMIC, Ir, Type, TypeData};
use rinductor_index::{Atom, Expr};

/// The memref of these sizes, strides and offset: `strided<…>` when all are numbers, else an `#aten.layout`; nothing when contiguous.
pub fn memref(ir: &mut Ir, element: Type, sizes: &[Expr], strides: &[Expr], offset: Expr) -> Type {
    let ints = |ir: &Ir, es: &[Expr]| es.iter().map(|&e| ir.exprs.as_int(e)).collect::<Option<Vec<i64>>>();
    let shape: Vec<i64> = sizes.iter().map(|&e| ir.exprs.as_int(e).unwrap_or(DYNAMIC)).collect();
    let contiguous = contiguous_strides(ir, sizes);
    let plain = contiguous == strides && ir.exprs.as_int(offset) == Some(0);
    let layout = match (ints(ir, sizes), ints(ir, strides), ir.exprs.as_int(offset)) {
        (Some(_), _, _) if plain => None,
        (Some(_), Some(strides), Some(offset)) => {
            Some(ir.make_attr(AttrData::Strided { strides: strides.into(), offset }))
        }
        (static_sizes, _, _) => {
            let layout = Layout {
                sizes: static_sizes.is_none().then(|| sizes.into()),
                strides: (contiguous != strides).then(|| strides.into()),
                offset: (ir.exprs.as_int(offset) != Some(0)).then_some(offset),
                device: None,
            };
            Some(ir.make_attr(AttrData::Layout(layout)))
        }
    };
    ir.memref_type(&shape, element, layout)
}

/// The buffer of an argument: laid out as its type says, from its own first element on (what is passed is where its data begins, whatever its
/// offset in a storage); None for what is no tensor or has a size without an expression.
pub fn buffer_of(ir: &mut Ir, ty: Type) -> Option<Type> {
    let TypeData::Tensor { element, .. } = *ir.ty(ty) else { return None };
    let sizes = sizes_of(ir, ty)?;
    let (strides, _) = strides_of(ir, ty)?;
    let zero = ir.exprs.int(0);
    Some(memref(ir, element, &sizes, &strides, zero))
}

/// The buffer that a computed tensor is written to: the strides of its type where these are dense (in any order of dimensions), else
/// contiguous; without an offset.
pub fn fresh_buffer_of(ir: &mut Ir, ty: Type) -> Option<Type> {
    let TypeData::Tensor { element, .. } = *ir.ty(ty) else { return None };
    let sizes = sizes_of(ir, ty)?;
    let (strides, _) = strides_of(ir, ty)?;
    let strides = if is_dense(ir, &sizes, &strides) { strides } else { contiguous_strides(ir, &sizes) };
    let zero = ir.exprs.int(0);
    Some(memref(ir, element, &sizes, &strides, zero))
}

/// Whether a tensor or buffer is known to have no elements.
pub fn is_empty(ir: &Ir, ty: Type) -> bool {
    ir.shape(ty).is_some_and(|shape| shape.contains(&0))
}

/// Whether strides give each element its own place without gaps, in some order of the dimensions.
pub fn is_dense(ir: &mut Ir, sizes: &[Expr], strides: &[Expr]) -> bool {
    if sizes.iter().any(|&s| ir.exprs.as_int(s) == Some(0)) {
        return true;
    }
    let mut left: Vec<usize> = (0..sizes.len()).filter(|&k| ir.exprs.as_int(sizes[k]) != Some(1)).collect();
    let mut expected = ir.exprs.int(1);
    while !left.is_empty() {
        let Some(at) = left.iter().position(|&k| strides[k] == expected) else { return false };
        let k = left.remove(at);
        expected = ir.exprs.mul(expected, sizes[k]);
        expected = ir.exprs.expand(expected);
    }
    true
}

/// The offset in elements of an access: `offset + Σ stride·index`.
pub fn linear_offset(ir: &mut Ir, (strides, offset): (&[Expr], Expr), index: &[Expr]) -> Expr {
    let mut sum = offset;
    for (&stride, &i) in strides.iter().zip(index) {
        let term = ir.exprs.mul(stride, i);
        sum = ir.exprs.add(sum, term);
    }
    ir.exprs.expand(sum)
}

/// A view: what a nest reads, and the sizes, strides and offset at which it reads it.
pub struct View {
    /// The tensor.
    pub source: crate::ir::Value,
    /// Sizes of the view.
    pub sizes: Vec<Expr>,
    /// Strides in elements.
    pub strides: Vec<Expr>,
    /// Offset in elements, from the start of the source's memory.
    pub offset: Expr,
}

/// The view that a pointwise nest is, if it only reads one tensor (whose buffer has type `layout_of`) at places that strides can say.
pub fn as_view(ir: &mut Ir, nest: &Nest, layout_of: &dyn Fn(&Ir, crate::ir::Value) -> Option<Type>) -> Option<View> {
    let ops = ir.block_op_list(nest.body);
    let [load, end] = ops[..] else { return None };
    if !ir.is_op(load, loops::LoadOp::NAME) || !ir.is_op(end, loops::YieldOp::NAME) || ir.num_operands(end) != 1 {
        return None;
    }
    let access = Access::of(ir, load, 1);
    if access.guard.is_some() {
        return None;
    }
    let mut dims = Dims::of_block(ir, nest.body);
    let index = access.in_dims(ir, &mut dims);
    if dims.values.len() != nest.space.len() {
        return None;
    }
    let ty = layout_of(ir, access.tensor())?;
    let (strides, offset) = strides_of(ir, ty)?;
    let lin = linear_offset(ir, (&strides, offset), &index);
    let lin = crate::passes::util::simplify_in(ir, lin, &nest.space);
    let mut rest = lin;
    let mut out = Vec::new();
    for k in 0..nest.space.len() {
        let (stride, next) = ir.exprs.linear_in(rest, Atom::Dim(k as u32))?;
        if !is_stride(ir, stride) {
            return None;
        }
        out.push(stride);
        rest = next;
    }
    // A dimension of size 1 has any stride: the one that a contiguous tensor would have reads best, and PyTorch ignores it.
    let natural = contiguous_strides(ir, &nest.space);
    for (k, stride) in out.iter_mut().enumerate() {
        if ir.exprs.as_int(nest.space[k]) == Some(1) {
            *stride = natural[k];
        }
    }
    Some(View { source: access.tensor(), sizes: nest.space.clone(), strides: out, offset: rest })
}

/// Whether an expression can be the stride of a buffer, which is not walked backwards: what is turned round is read by index, or copied.
pub fn is_stride(ir: &mut Ir, e: Expr) -> bool {
    let zero = ir.exprs.int(0);
    let facts = ir.exprs.facts();
    !ir.exprs.has_dims(e) && ir.exprs.prove_le(zero, e, &facts) == Some(true)
}

/// Whether two layouts put every element at the same place: strides of dimensions of size 1 do not matter.
pub fn same_places(ir: &Ir, sizes: &[Expr], a: (&[Expr], Expr), b: (&[Expr], Expr)) -> bool {
    let empty = sizes.iter().any(|&s| ir.exprs.as_int(s) == Some(0));
    empty || (a.1 == b.1 && (0..sizes.len()).all(|k| a.0[k] == b.0[k] || ir.exprs.as_int(sizes[k]) == Some(1)))
}
