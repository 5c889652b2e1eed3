//! torch's type promotion: pairs of types, and operands of which some are 0-d tensors or Python numbers.

use crate::dtype::{DType, Kind};

/// How much an operand weighs in promotion. A lesser rank changes the result only when its kind is higher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// A Python number where the schema says Tensor: `x * 0.5`.
    Wrapped,
    /// A tensor without dimensions.
    ZeroDim,
    /// A tensor with one dimension or more.
    Tensor,
}

/// One operand of a promotion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Its element type. A wrapped Python int is `I64`, float `F64`, bool `I1`, complex `C128`.
    pub dtype: DType,
    /// Its rank.
    pub rank: Rank,
}

/// The type that holds both (`torch.promote_types`). `None` where torch refuses: an 8-bit float with a different float.
/// `Index` counts as `I64` unless both are `Index`.
pub fn promote_types(a: DType, b: DType) -> Option<DType> {
    use DType::*;
    if a == b {
        return Some(a);
    }
    let plain = |d| if d == Index { I64 } else { d };
    let (a, b) = (plain(a), plain(b));
    if a == b {
        return Some(a);
    }
    let (low, high) = if a.kind() <= b.kind() { (a, b) } else { (b, a) };
    Some(match (low.kind(), high.kind()) {
        (Kind::Bool, _) => high,
        (Kind::Unsigned, Kind::Signed) => {
            if high == I8 {
                I16
            } else {
                high
            }
        }
        (Kind::Signed, Kind::Signed) => {
            if low.size() >= high.size() {
                low
            } else {
                high
            }
        }
        (Kind::Signed | Kind::Unsigned, Kind::Float | Kind::Complex) => high,
        (Kind::Float, Kind::Float) => {
            if low.is_f8() || high.is_f8() {
                return None;
            }
            match (low, high) {
                (F16, BF16) | (BF16, F16) => F32,
                _ if low.size() >= high.size() => low,
                _ => high,
            }
        }
        (Kind::Float, Kind::Complex) => {
            if low == F64 {
                C128
            } else {
                high
            }
        }
        _ => C128,
    })
}

/// Joins the result of a stronger category of operands with that of a weaker one (torch's `combine_categories`).
pub fn combine(higher: Option<DType>, lower: Option<DType>) -> Option<DType> {
    let (Some(h), Some(l)) = (higher, lower) else { return higher.or(lower) };
    if h.is_complex() {
        return Some(h);
    }
    if h.is_float() {
        return Some(if l.is_complex() { h.complex() } else { h });
    }
    if h.is_bool() || l.is_float() || l.is_complex() {
        return promote_types(h, l);
    }
    Some(h)
}

/// The type in which torch computes an elementwise op of these operands (`torch.result_type`), with `F32` as default
/// float type. `None` for no operands, or where [`promote_types`] refuses.
pub fn result_type(operands: &[Operand]) -> Option<DType> {
    let mut by_rank: [Option<DType>; 3] = [None; 3];
    for op in operands {
        let dtype = match (op.rank, op.dtype.kind()) {
            (Rank::Wrapped, Kind::Float) => DType::F32,
            (Rank::Wrapped, Kind::Complex) => DType::C64,
            _ => op.dtype,
        };
        let slot = &mut by_rank[op.rank as usize];
        *slot = match *slot {
            None => Some(dtype),
            Some(old) => Some(promote_types(old, dtype)?),
        };
    }
    combine(by_rank[2], combine(by_rank[1], by_rank[0]))
}

/// The type of an op that always computes in floats (`exp`, `div`): integers and bools become `F32`.
pub fn int_to_float(d: DType) -> DType {
    if d.is_float() || d.is_complex() { d } else { DType::F32 }
}

/// The type `sum`, `prod`, `cumsum` give without a `dtype` argument: integers and bools become `I64`.
pub fn sum_dtype(d: DType) -> DType {
    if d.is_float() || d.is_complex() { d } else { DType::I64 }
}

/// The type in which arithmetic on `d` is done before it is rounded: `F32` for smaller floats, else `d`.
pub fn opmath(d: DType) -> DType {
    if d.is_reduced_float() { DType::F32 } else { d }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DType::*;

    fn op(dtype: DType, rank: Rank) -> Operand {
        Operand { dtype, rank }
    }

    #[test]
    fn pairs() {
        assert_eq!(promote_types(U8, I8), Some(I16));
        assert_eq!(promote_types(I64, U8), Some(I64));
        assert_eq!(promote_types(F16, BF16), Some(F32));
        assert_eq!(promote_types(I64, F16), Some(F16));
        assert_eq!(promote_types(F64, C64), Some(C128));
        assert_eq!(promote_types(C128, C64), Some(C128));
        assert_eq!(promote_types(F8E5M2, F16), None);
        assert_eq!(promote_types(I32, F8E5M2), Some(F8E5M2));
        for a in DType::ALL {
            for b in DType::ALL {
                assert_eq!(promote_types(a, b), promote_types(b, a), "{a} {b}");
            }
        }
    }

    #[test]
    fn ranks() {
        use Rank::*;
        assert_eq!(result_type(&[op(F16, Tensor), op(F64, Wrapped)]), Some(F16));
        assert_eq!(result_type(&[op(I32, Tensor), op(F64, Wrapped)]), Some(F32));
        assert_eq!(result_type(&[op(I32, Tensor), op(I64, Wrapped)]), Some(I32));
        assert_eq!(result_type(&[op(F16, Tensor), op(F32, ZeroDim)]), Some(F16));
        assert_eq!(result_type(&[op(I32, Tensor), op(F64, ZeroDim)]), Some(F64));
        assert_eq!(result_type(&[op(I1, Tensor), op(I64, Wrapped)]), Some(I64));
        assert_eq!(result_type(&[op(I32, ZeroDim), op(I64, Wrapped)]), Some(I32));
        assert_eq!(result_type(&[op(F64, Tensor), op(C128, Wrapped)]), Some(C128));
        assert_eq!(result_type(&[op(F16, ZeroDim), op(F32, Tensor), op(F64, ZeroDim)]), Some(F32));
        assert_eq!(result_type(&[]), None);
    }
}
