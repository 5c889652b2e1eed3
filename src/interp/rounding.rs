//! Random rounding: what a run gives when each operation that rounds gives a neighbour of what it should, chosen at random. Where several
//! such runs differ, the digits are those of rounding errors, and another order of summation or another library may give others; where they agree, a
//! difference is a fault. (Parker, "Monte Carlo arithmetic", 1997.)

use super::value::{Array, for_each_point};
use rinductor_scalar::{DType, Kind, Scalar, ScalarOp};
use std::cell::Cell;

/// A source of rounding errors.
#[derive(Clone, Debug)]
pub struct Rounding {
    state: Cell<u64>,
}

impl Rounding {
    /// The errors of a seed.
    pub fn new(seed: u64) -> Rounding {
        Rounding { state: Cell::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)) }
    }

    /// A number in [-1, 1).
    pub fn noise(&self) -> f64 {
        let mut z = self.state.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.state.set(z);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        (z >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// A float with an error of up to some units in the last place; anything else as it is. Zeros, infinities and NaN stay.
    pub fn moved(&self, value: Scalar, ulps: f64) -> Scalar {
        let dtype = value.dtype();
        let Some(epsilon) = dtype.real().epsilon() else { return value };
        match dtype.kind() {
            Kind::Float => Scalar::from_f64(dtype, value.to_f64() * (1.0 + ulps * epsilon * self.noise())),
            Kind::Complex => {
                let mut z = value.to_complex();
                z.re *= 1.0 + ulps * epsilon * self.noise();
                z.im *= 1.0 + ulps * epsilon * self.noise();
                Scalar::from_complex(dtype, z)
            }
            _ => value,
        }
    }

    /// The result of an operation: moved, unless the operation does not round these operands.
    pub fn of(&self, op: ScalarOp, args: &[Scalar], value: Scalar) -> Scalar {
        if !(value.dtype().is_float() || value.dtype().is_complex()) || exact(op, args, value) {
            return value;
        }
        // One unit moves a 16-bit number as far as rounding it once more does; functions of wider types err by some.
        self.moved(value, if value.dtype().is_reduced_float() { 1.5 } else { 3.0 })
    }

    /// A copy of a tensor with moved elements.
    pub fn moved_array(&self, a: &Array) -> Array {
        let Some(out) = Array::with_strides(a.dtype, &a.sizes, &a.strides) else { return a.clone() };
        for_each_point(&a.sizes, |i| a.get(i).is_some_and(|v| out.set(i, self.moved(v, 2.0))));
        out
    }
}

/// Whether a result is what the operation gives without rounding.
fn exact(op: ScalarOp, args: &[Scalar], value: Scalar) -> bool {
    use ScalarOp::*;
    let real = |k: usize| args.get(k).filter(|a| a.dtype().is_float()).map(|a| a.to_f64());
    match op {
        Neg | Minimum | Maximum | Fmin | Fmax | Select | Bitcast | Floor | Ceil | Trunc | Round | RoundAway | Sign
        | FloorDiv | TruncDiv | TruncRem | Copysign | Nextafter | FrexpMantissa | MakeComplex | RealPart | ImagPart
        | Conj => true,
        Abs => real(0).is_some(),
        Cast => args.first().is_some_and(|a| value.cast(a.dtype()).to_bits() == a.to_bits()),
        Add | Sub => match (real(0), real(1)) {
            (Some(a), Some(b)) => {
                let b = if op == Sub { -b } else { b };
                // What a sum in 64 bits loses (Knuth, "The Art of Computer Programming", 4.2.2).
                let sum = a + b;
                let other = sum - a;
                sum == value.to_f64() && (a - (sum - other)) + (b - other) == 0.0
            }
            _ => false,
        },
        Mul => match (real(0), real(1)) {
            (Some(a), Some(b)) => a.mul_add(b, -value.to_f64()) == 0.0,
            _ => false,
        },
        Div => match (real(0), real(1)) {
            (Some(a), Some(b)) => value.to_f64().mul_add(b, -a) == 0.0,
            _ => false,
        },
        _ => false,
    }
}

/// What a sum, a product or moments need to know of the values for the error of their result, whatever the order in which they are combined.
#[derive(Clone, Debug)]
pub struct Spread {
    rounding: Rounding,
    count: f64,
    magnitude: f64,
    whole: bool,
    /// What others keep the result in.
    kept: DType,
}

impl Spread {
    /// Of no values; `dtype` is that of the values.
    pub fn new(rounding: &Rounding, dtype: DType) -> Spread {
        let own = Rounding::new(rounding.noise().to_bits());
        // Sums of 16-bit numbers are kept in 32 bits.
        let kept = if dtype.is_reduced_float() { DType::F32 } else { dtype };
        Spread { rounding: own, count: 0.0, magnitude: 0.0, whole: true, kept }
    }

    /// The type in which a sum or product is kept.
    pub fn kept(&self) -> DType {
        self.kept
    }

    /// Takes note of a value, and gives it as moments take it.
    pub fn push(&mut self, x: Scalar) -> Scalar {
        let magnitude = if x.dtype().is_complex() { x.to_complex().norm() } else { x.to_f64().abs() };
        self.whole &= x.dtype().is_float() && x.to_f64().fract() == 0.0;
        self.count += 1.0;
        self.magnitude += magnitude;
        // Where the moments of something infinite lose what they were depends on the order.
        if magnitude.is_infinite() { Scalar::from_f64(x.dtype(), f64::NAN) } else { self.rounding.moved(x, 2.0) }
    }

    /// The result of a combination of the values so far.
    pub fn result(&self, op: ScalarOp, value: Scalar) -> Scalar {
        let Some(epsilon) = self.kept.real().epsilon() else { return value };
        if self.whole && self.magnitude.max(value.to_f64().abs()) * epsilon < 1.0 {
            return value;
        }
        let error = match op {
            ScalarOp::Add if self.magnitude.is_finite() => 4.0 * epsilon * self.magnitude,
            ScalarOp::Mul => epsilon * self.count * value.to_f64().abs(),
            _ => return value,
        };
        if !error.is_finite() {
            return value;
        }
        if value.dtype().is_complex() {
            let mut z = value.to_complex();
            z.re += error * self.rounding.noise();
            z.im += error * self.rounding.noise();
            return Scalar::from_complex(value.dtype(), z);
        }
        Scalar::from_f64(value.dtype(), value.to_f64() + error * self.rounding.noise())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_exact_stays_and_the_rest_moves_a_little() {
        let rounding = Rounding::new(3);
        let half = Scalar::f32(0.5);
        assert_eq!(rounding.of(ScalarOp::Add, &[half, half], Scalar::f32(1.0)), Scalar::f32(1.0));
        assert_eq!(rounding.of(ScalarOp::Mul, &[half, half], Scalar::f32(0.25)), Scalar::f32(0.25));
        let third = Scalar::f32(1.0 / 3.0);
        let args = [Scalar::f32(1.0), Scalar::f32(3.0)];
        let moved: Vec<f64> = (0..50).map(|_| rounding.of(ScalarOp::Div, &args, third).to_f64()).collect();
        assert!(moved.iter().any(|&x| x != third.to_f64()));
        assert!(moved.iter().all(|x| (x / third.to_f64() - 1.0).abs() < 5e-7), "{moved:?}");
    }

    #[test]
    fn sums_of_whole_numbers_have_no_error_in_any_order() {
        let rounding = Rounding::new(4);
        let mut whole = Spread::new(&rounding, DType::F32);
        let mut large = Spread::new(&rounding, DType::F32);
        for x in [1.0, -2.0, 5.0] {
            whole.push(Scalar::f32(x));
            large.push(Scalar::f32(x * 1e8));
        }
        assert_eq!(whole.result(ScalarOp::Add, Scalar::f64(4.0)), Scalar::f64(4.0));
        assert_ne!(large.result(ScalarOp::Add, Scalar::f64(4e8)), Scalar::f64(4e8));
    }
}
