//! Which scalar ops need no rounding to a small float type.

use rinductor_scalar::ScalarOp;

/// Whether the result of numbers of a small type is a number of that type without rounding.
pub fn is_exact(op: ScalarOp) -> bool {
    use ScalarOp::*;
    matches!(
        op,
        Nextafter
            | Neg
            | Abs
            | Minimum
            | Maximum
            | Fmin
            | Fmax
            | Select
            | Floor
            | Ceil
            | Trunc
            | Round
            | RoundAway
            | Sign
            | Sgn
            | Copysign
            | RealPart
            | Conj
    )
}
