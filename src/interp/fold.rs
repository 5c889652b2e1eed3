//! Combiners of reductions and scans. Float sums, products and moments are kept in 64 bits and rounded once at the end.

use super::Trap;
use super::rounding::{Rounding, Spread};
use rinductor_scalar::{DType, Kind, Scalar, ScalarOp};

/// The position that an arg-reduction of no points gives.
const NOWHERE: i64 = i64::MAX;

/// The state of one combination.
#[derive(Clone, Debug)]
pub struct Fold {
    word: String,
    dtype: DType,
    /// What was combined: one value, or best and position, or mean, m2 and count.
    state: Vec<Scalar>,
    started: bool,
    /// What rounding errors depend on, if they are wanted.
    spread: Option<Spread>,
}

impl Fold {
    /// Before the first value; `dtype` is that of the (first) value.
    ///
    /// # Errors
    /// No such combiner.
    pub fn new(word: &str, dtype: DType) -> Result<Fold, Trap> {
        let f64_like =
            |x: f64| if dtype.kind() == Kind::Complex { Scalar::from_f64(DType::C128, x) } else { Scalar::f64(x) };
        let wide = matches!(dtype.kind(), Kind::Float | Kind::Complex);
        let state = match word {
            "add" | "or" | "xor" => vec![if wide { f64_like(0.0) } else { Scalar::zero(dtype) }],
            "mul" => vec![if wide { f64_like(1.0) } else { Scalar::one(dtype) }],
            "and" => vec![if dtype == DType::I1 { Scalar::bool(true) } else { Scalar::from_i64(dtype, -1) }],
            "maximum" => vec![Scalar::lowest(dtype).ok_or_else(|| Trap::new("complex numbers have no maximum"))?],
            "minimum" => vec![Scalar::highest(dtype).ok_or_else(|| Trap::new("complex numbers have no minimum"))?],
            "logsumexp" => vec![f64_like(f64::NEG_INFINITY)],
            "argmax" => {
                vec![
                    Scalar::lowest(dtype).ok_or_else(|| Trap::new("complex numbers have no maximum"))?,
                    Scalar::i64(NOWHERE),
                ]
            }
            "argmin" => vec![
                Scalar::highest(dtype).ok_or_else(|| Trap::new("complex numbers have no minimum"))?,
                Scalar::i64(NOWHERE),
            ],
            "welford" => vec![Scalar::f64(0.0); 3],
            other => return Err(Trap::new(format!("there is no combiner '{other}'"))),
        };
        Ok(Fold { word: word.to_string(), dtype, state, started: false, spread: None })
    }

    /// With the errors of a random rounding.
    #[must_use]
    pub fn rounded(mut self, rounding: Option<&Rounding>) -> Fold {
        let rounds = matches!(self.dtype.kind(), Kind::Float | Kind::Complex);
        self.spread = rounding.filter(|_| rounds).map(|r| Spread::new(r, self.dtype));
        self
    }

    /// How many values a combiner takes.
    pub fn takes(word: &str) -> usize {
        if matches!(word, "argmax" | "argmin") { 2 } else { 1 }
    }

    /// How many results a combiner gives.
    pub fn gives(word: &str) -> usize {
        match word {
            "argmax" | "argmin" => 2,
            "welford" => 3,
            _ => 1,
        }
    }

    /// Combines a value in. `last_of_equals`: scans keep the last of equal values, reductions the first.
    ///
    /// # Errors
    /// Types that do not fit.
    pub fn push(&mut self, values: &[Scalar], last_of_equals: bool) -> Result<(), Trap> {
        let x = values[0];
        match self.word.as_str() {
            "argmax" | "argmin" => {
                let best = self.state[0];
                let (a, b) = if self.word == "argmax" { (x, best) } else { (best, x) };
                // Of equals the first: that with the least position, in whatever order the points come.
                let equal =
                    x.is_nan() && best.is_nan() || !x.is_nan() && !best.is_nan() && !greater(a, b) && !greater(b, a);
                let before = last_of_equals || values[1].to_i64() < self.state[1].to_i64();
                let better = !best.is_nan() && (x.is_nan() || greater(a, b));
                let takes = !self.started || better || equal && before;
                if takes {
                    self.state = vec![x, values[1]];
                }
            }
            "welford" => {
                let v = self.spread.as_mut().map_or(x, |s| s.push(x)).to_f64();
                let n = self.state[2].to_f64() + 1.0;
                let delta = v - self.state[0].to_f64();
                let mean = self.state[0].to_f64() + delta / n;
                let m2 = self.state[1].to_f64() + delta * (v - mean);
                self.state = vec![Scalar::f64(mean), Scalar::f64(m2), Scalar::f64(n)];
            }
            "logsumexp" => {
                let v = self.spread.as_mut().map_or(x, |s| s.push(x)).to_f64();
                self.state[0] = Scalar::f64(log_add_exp(self.state[0].to_f64(), v));
            }
            word => {
                let op = match word {
                    "add" => ScalarOp::Add,
                    "mul" => ScalarOp::Mul,
                    "maximum" => ScalarOp::Maximum,
                    "minimum" => ScalarOp::Minimum,
                    "and" => ScalarOp::And,
                    "or" => ScalarOp::Or,
                    _ => ScalarOp::Xor,
                };
                let dtype = self.state[0].dtype();
                let x = x.cast(dtype);
                let rounded = self.spread.as_mut().map(|spread| {
                    spread.push(x);
                    spread.kept()
                });
                self.state[0] =
                    rinductor_scalar::eval(op, dtype, &[self.state[0], x]).map_err(|e| Trap::new(e.to_string()))?;
                // What others keep in fewer bits may have left their range on the way.
                if let Some(kept) = rounded {
                    self.state[0] = self.state[0].cast(kept).cast(dtype);
                }
            }
        }
        self.started = true;
        Ok(())
    }

    /// The results so far.
    pub fn results(&self) -> Vec<Scalar> {
        match self.word.as_str() {
            "argmax" | "argmin" => self.state.clone(),
            word => {
                let op = if word == "mul" { ScalarOp::Mul } else { ScalarOp::Add };
                let sums = matches!(word, "add" | "mul");
                let moved = |s: &Scalar| match &self.spread {
                    Some(spread) if sums => spread.result(op, *s),
                    _ => *s,
                };
                self.state.iter().map(|s| moved(s).cast(self.dtype)).collect()
            }
        }
    }
}

/// log(exp(a) + exp(b)) without overflow; NaN if either is.
fn log_add_exp(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    let (low, high) = (a.min(b), a.max(b));
    // Of equal infinities the difference is no number.
    if high.is_infinite() { high } else { high + (low - high).exp().ln_1p() }
}

fn greater(a: Scalar, b: Scalar) -> bool {
    match (a.as_int(), b.as_int()) {
        (Some(x), Some(y)) => x > y,
        _ => a.to_f64() > b.to_f64(),
    }
}

/// How an update is combined with what stands in the base of a scatter.
///
/// # Errors
/// No such mode.
pub fn update(mode: &str, old: Scalar, new: Scalar) -> Result<Scalar, Trap> {
    let op = match mode {
        "set" => return Ok(new),
        "add" => ScalarOp::Add,
        "mul" => ScalarOp::Mul,
        "maximum" | "max" => ScalarOp::Maximum,
        "minimum" | "min" => ScalarOp::Minimum,
        "and" => ScalarOp::And,
        "or" => ScalarOp::Or,
        "xor" => ScalarOp::Xor,
        other => return Err(Trap::new(format!("there is no way '{other}' to combine an update"))),
    };
    rinductor_scalar::eval(op, old.dtype(), &[old, new.cast(old.dtype())]).map_err(|e| Trap::new(e.to_string()))
}
