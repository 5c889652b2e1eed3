//! The IR's type of a tensor whose shape, dtype and layout were inferred: what has its default is left out, as the writing rules say.

use crate::dialects::{loops, type_of};
use crate::ir::attr::Layout;
use crate::ir::{AttrData, DYNAMIC, Ir, Type, TypeData};
use rinductor_defs::TensorType;
use rinductor_support::Name;

/// The type of a tensor. `device` is given where it is not the function's.
pub fn ir_type(ir: &mut Ir, ty: &TensorType, device: Option<Name>) -> Type {
    let element = type_of(ir, ty.dtype);
    let shape: Vec<i64> = ty.shape.iter().map(|&e| ir.exprs.as_int(e).unwrap_or(DYNAMIC)).collect();
    let contiguous = loops::contiguous_strides(ir, &ty.shape);
    let layout = Layout {
        sizes: shape.contains(&DYNAMIC).then(|| ty.shape.clone().into()),
        strides: (ty.strides != contiguous).then(|| ty.strides.clone().into()),
        offset: (ir.exprs.as_int(ty.offset) != Some(0)).then_some(ty.offset),
        device,
    };
    let encoding = (!layout.is_default()).then(|| ir.make_attr(AttrData::Layout(layout)));
    ir.tensor_type(&shape, element, encoding)
}

/// The device that a tensor type states.
pub fn device_of(ir: &Ir, ty: Type) -> Option<Name> {
    let TypeData::Tensor { encoding: Some(encoding), .. } = ir.ty(ty) else { return None };
    match ir.attr(*encoding) {
        AttrData::Layout(layout) => layout.device,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialects::instance::tensor_type;
    use rinductor_scalar::DType;

    #[test]
    fn defaults_are_left_out_and_the_rest_leads_back() {
        let mut ir = Ir::with_module();
        let (s0, n4, n1, zero) = (ir.exprs.sym("s0"), ir.exprs.int(4), ir.exprs.int(1), ir.exprs.int(0));
        let plain = TensorType { shape: vec![n4], dtype: DType::F32, strides: vec![n1], offset: zero };
        let ty = ir_type(&mut ir, &plain, None);
        assert!(matches!(ir.ty(ty), TypeData::Tensor { encoding: None, .. }));
        assert_eq!(tensor_type(&mut ir, ty), Some(plain));
        let odd = TensorType { shape: vec![n4, s0], dtype: DType::BF16, strides: vec![n1, n4], offset: n4 };
        let ty = ir_type(&mut ir, &odd, None);
        assert_eq!(tensor_type(&mut ir, ty), Some(odd));
        assert_eq!(ir.shape(ty), Some(&[4, DYNAMIC][..]));
    }
}
