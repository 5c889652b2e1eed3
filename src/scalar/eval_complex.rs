//! Scalar operations on complex numbers, computed on pairs of 64-bit floats.

use crate::op::ScalarOp;
use crate::value::Value;
use num_complex::Complex64;

/// The value before rounding (a float for moduli, parts and angles; an integer for truth values); `None` where the
/// operation takes no complex numbers.
pub(crate) fn eval(op: ScalarOp, [a, b, _]: [Complex64; 3]) -> Option<Value> {
    use ScalarOp::*;
    let one = Complex64::new(1.0, 0.0);
    let value = match op {
        Abs => return Some(Value::Float(a.re.hypot(a.im))),
        RealPart => return Some(Value::Float(a.re)),
        ImagPart => return Some(Value::Float(a.im)),
        Angle => return Some(Value::Float(a.im.atan2(a.re))),
        Eq => return Some(Value::Int(i64::from(a == b))),
        Ne => return Some(Value::Int(i64::from(a != b))),
        Isnan => return Some(Value::Int(i64::from(a.re.is_nan() || a.im.is_nan()))),
        Isinf => return Some(Value::Int(i64::from(a.re.is_infinite() || a.im.is_infinite()))),
        Isfinite => return Some(Value::Int(i64::from(a.re.is_finite() && a.im.is_finite()))),
        Add => a + b,
        Sub => a - b,
        Mul => a * b,
        Div => divide(a, b),
        Neg => -a,
        Conj => a.conj(),
        Sgn => {
            let r = a.re.hypot(a.im);
            if r == 0.0 { Complex64::new(0.0, 0.0) } else { a / r }
        }
        Exp => a.exp(),
        Exp2 => (a * std::f64::consts::LN_2).exp(),
        Expm1 => {
            let s = (a.im / 2.0).sin();
            Complex64::new(a.re.exp_m1() * a.im.cos() - 2.0 * s * s, a.re.exp() * a.im.sin())
        }
        Log => logarithm(a),
        Log1p => log1p(a),
        Log2 => logarithm(a) / std::f64::consts::LN_2,
        Log10 => logarithm(a) / std::f64::consts::LN_10,
        Sqrt => a.sqrt(),
        Rsqrt => divide(one, a.sqrt()),
        Reciprocal => divide(one, a),
        Pow => power(a, b),
        Sin => a.sin(),
        Cos => a.cos(),
        Tan => {
            // tan z = -i tanh(iz)
            let t = tanh(Complex64::new(-a.im, a.re));
            Complex64::new(t.im, -t.re)
        }
        Asin => a.asin(),
        Acos => a.acos(),
        Atan => a.atan(),
        Sinh => a.sinh(),
        Cosh => a.cosh(),
        Tanh => tanh(a),
        Asinh => a.asinh(),
        Acosh => a.acosh(),
        Atanh => a.atanh(),
        _ => return None,
    };
    Some(Value::Complex(value))
}

/// Quotient by Smith's method, which scales by the greater part of the divisor so that squares do not overflow.
fn divide(a: Complex64, b: Complex64) -> Complex64 {
    if b.re.abs() >= b.im.abs() {
        if b.re == 0.0 && b.im == 0.0 {
            return Complex64::new(a.re / b.re, a.im / b.re);
        }
        let r = b.im / b.re;
        let d = b.re + b.im * r;
        Complex64::new((a.re + a.im * r) / d, (a.im - a.re * r) / d)
    } else {
        let r = b.re / b.im;
        let d = b.re * r + b.im;
        Complex64::new((a.re * r + a.im) / d, (a.im * r - a.re) / d)
    }
}

fn logarithm(a: Complex64) -> Complex64 {
    Complex64::new(a.re.hypot(a.im).ln(), a.im.atan2(a.re))
}

fn log1p(a: Complex64) -> Complex64 {
    // |1 + a|² - 1 = 2 re + re² + im², which keeps small parts.
    let excess = a.re * (2.0 + a.re) + a.im * a.im;
    let re = if excess.abs() < 0.5 { 0.5 * excess.ln_1p() } else { (1.0 + a.re).hypot(a.im).ln() };
    Complex64::new(re, a.im.atan2(1.0 + a.re))
}

fn power(a: Complex64, b: Complex64) -> Complex64 {
    if b.re == 0.0 && b.im == 0.0 {
        return Complex64::new(1.0, 0.0);
    }
    if a.re == 0.0 && a.im == 0.0 {
        let nan = Complex64::new(f64::NAN, f64::NAN);
        return if b.re > 0.0 { Complex64::new(0.0, 0.0) } else { nan };
    }
    if b.im == 0.0 && b.re.fract() == 0.0 && b.re.abs() <= 64.0 {
        // Repeated multiplication is closer than a logarithm for the exponents that occur.
        let p = a.powu(b.re.abs() as u32);
        return if b.re < 0.0 { divide(Complex64::new(1.0, 0.0), p) } else { p };
    }
    (logarithm(a) * b).exp()
}

fn tanh(a: Complex64) -> Complex64 {
    if a.re.abs() > 20.0 {
        // sinh(2 re) and cosh(2 re) agree to all digits there; what is left of the imaginary part decays with both.
        let im = 2.0 * (2.0 * a.im).sin() * (-2.0 * a.re.abs()).exp();
        return Complex64::new(1f64.copysign(a.re), im);
    }
    let d = (2.0 * a.re).cosh() + (2.0 * a.im).cos();
    Complex64::new((2.0 * a.re).sinh() / d, (2.0 * a.im).sin() / d)
}
