//! Constant data of `kernels.constant` as tensors.

use rinductor_scalar::DType;

use crate::codegen::kernel::dtype_of;
use crate::dialects::kernels;
use crate::ir::{Ir, Op};
use crate::runtime::Tensor;

/// The tensor of a `kernels.constant`.
///
/// # Errors
/// What is wrong with the constant.
pub fn tensor(ir: &Ir, op: Op) -> Result<Tensor, String> {
    let attr = kernels::ConstantOp(op).value(ir);
    let ty = ir.value_type(ir.result(op, 0));
    let dtype = dtype_of(ir, ir.element_type(ty)).ok_or("no element type of tensors")?;
    let shape = ir.shape(ty).ok_or("no shape")?;
    let sizes: Option<Vec<usize>> = shape.iter().map(|&n| usize::try_from(n).ok()).collect();
    let sizes = sizes.ok_or("a constant has known sizes")?;
    let numbers = crate::text::dense::elements(ir, attr)?;
    let (part, parts) = match dtype {
        DType::C64 => (4, 2),
        DType::C128 => (8, 2),
        d => (d.size(), 1),
    };
    let count: usize = sizes.iter().product::<usize>() * parts;
    let mut bytes = Vec::with_capacity(count * part);
    for k in 0..count {
        // One number stands for all.
        let n = numbers.get(if numbers.len() == count { k } else { k % parts }).copied().unwrap_or(0);
        bytes.extend_from_slice(&n.to_le_bytes()[..part]);
    }
    Tensor::from_le_bytes(dtype, &sizes, &bytes).map_err(|e| e.to_string())
}
