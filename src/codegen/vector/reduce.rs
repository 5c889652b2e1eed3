//! Combiners: how the values of a reduction come together, lane by lane and then across lanes.

use rinductor_scalar::DType;

use super::arith;
use super::build::{Binary, Build, FloatPredicate, IntPredicate, Math, V};
use crate::codegen::combiner::Combiner;

impl Combiner {
    /// What nothing comes to.
    pub(super) fn identity<B: Build>(self, b: &B, dtype: DType, lanes: u32) -> Vec<V<B>> {
        let t = super::emit::held_type(b, dtype, lanes);
        let number = |x: f64| if dtype.is_float() { b.float(t, x) } else { b.int(t, x as i64) };
        let greatest = |max: bool| {
            if dtype.is_float() {
                b.float(t, if max { f64::INFINITY } else { f64::NEG_INFINITY })
            } else {
                b.int(t, if max { dtype.int_max() } else { dtype.int_min() }.unwrap_or(0))
            }
        };
        let far = b.int(b.int_type(64, lanes), i64::MAX);
        match self {
            Combiner::Add | Combiner::Or | Combiner::Xor => vec![number(0.0)],
            Combiner::Mul => vec![number(1.0)],
            Combiner::And => vec![b.int(t, -1)],
            Combiner::Maximum => vec![greatest(false)],
            Combiner::Minimum => vec![greatest(true)],
            Combiner::ArgMax => vec![greatest(false), far],
            Combiner::ArgMin => vec![greatest(true), far],
            Combiner::Welford => vec![number(0.0); 3],
        }
    }

    /// Two kept groups as one; `y` is of later points, or of other lanes.
    pub(super) fn combine<B: Build>(self, b: &B, dtype: DType, x: &[V<B>], y: &[V<B>]) -> Vec<V<B>> {
        let float = dtype.is_float();
        let op = |f: Binary, i: Binary| vec![b.binop(if float { f } else { i }, x[0], y[0])];
        match self {
            Combiner::Add if dtype == DType::I1 => vec![b.or(x[0], y[0])],
            Combiner::Mul if dtype == DType::I1 => vec![b.and(x[0], y[0])],
            Combiner::Add => op(Binary::FAdd, Binary::Add),
            Combiner::Mul => op(Binary::FMul, Binary::Mul),
            Combiner::And => vec![b.and(x[0], y[0])],
            Combiner::Or => vec![b.or(x[0], y[0])],
            Combiner::Xor => vec![b.xor(x[0], y[0])],
            Combiner::Maximum | Combiner::Minimum => {
                let max = self == Combiner::Maximum;
                let unsigned = matches!(dtype, DType::I1 | DType::U8);
                vec![match (float, max) {
                    (true, true) => greater(b, x[0], y[0]),
                    (true, false) => lesser(b, x[0], y[0]),
                    (_, true) => b.math(if unsigned { Math::UMax } else { Math::SMax }, &[x[0], y[0]]),
                    (_, false) => b.math(if unsigned { Math::UMin } else { Math::SMin }, &[x[0], y[0]]),
                }]
            }
            Combiner::ArgMax | Combiner::ArgMin => {
                let take = self.takes_second(b, dtype, x, y);
                vec![b.select(take, y[0], x[0]), b.select(take, y[1], x[1])]
            }
            Combiner::Welford => {
                let (mean, m2, n) = (x[0], x[1], x[2]);
                let delta = b.fsub(y[0], mean);
                let count = b.fadd(n, y[2]);
                // Two empty groups make an empty one, not 0 / 0.
                let zero = b.float(b.type_of(count), 0.0);
                let empty = b.fcmp(FloatPredicate::OEQ, count, zero);
                let share = b.select(empty, zero, b.fdiv(y[2], count));
                let step = b.fmul(delta, share);
                let cross = b.fmul(b.fmul(delta, step), n);
                vec![b.fadd(mean, step), b.fadd(b.fadd(m2, y[1]), cross), count]
            }
        }
    }

    /// Whether the second value of two (value, position) pairs is the better: greater (less), or NaN, or equal and earlier.
    fn takes_second<B: Build>(self, b: &B, dtype: DType, x: &[V<B>], y: &[V<B>]) -> V<B> {
        let max = self == Combiner::ArgMax;
        let earlier = b.icmp(IntPredicate::SLT, y[1], x[1]);
        if dtype.is_float() {
            let better = if max { FloatPredicate::OGT } else { FloatPredicate::OLT };
            let better = b.fcmp(better, y[0], x[0]);
            let (x_nan, y_nan) = (b.fcmp(FloatPredicate::UNO, x[0], x[0]), b.fcmp(FloatPredicate::UNO, y[0], y[0]));
            let equal = b.or(b.fcmp(FloatPredicate::OEQ, y[0], x[0]), b.and(x_nan, y_nan));
            let better = b.or(better, b.and(y_nan, b.not(x_nan)));
            return b.or(better, b.and(equal, earlier));
        }
        let better = match (matches!(dtype, DType::I1 | DType::U8), max) {
            (true, true) => IntPredicate::UGT,
            (true, false) => IntPredicate::ULT,
            (false, true) => IntPredicate::SGT,
            (false, false) => IntPredicate::SLT,
        };
        let equal = b.icmp(IntPredicate::EQ, y[0], x[0]);
        b.or(b.icmp(better, y[0], x[0]), b.and(equal, earlier))
    }

    /// Adds a point to what is kept. `mask` says which lanes have one; `count`, for `welford`, how many points each lane has after this
    /// one, where that is the same in all lanes.
    pub(super) fn step<B: Build>(
        self,
        b: &B,
        dtype: DType,
        kept: &[V<B>],
        point: &[V<B>],
        mask: Option<V<B>>,
        reciprocal: Option<V<B>>,
    ) -> Vec<V<B>> {
        let lanes = b.lanes(kept[0]);
        if self == Combiner::Welford {
            let t = b.type_of(kept[0]);
            let n = b.fadd(kept[2], b.float(t, 1.0));
            let delta = b.fsub(point[0], kept[0]);
            let step = match reciprocal {
                Some(r) => b.fmul(delta, b.splat(r, lanes)),
                None => b.fdiv(delta, n),
            };
            let mean = b.fadd(kept[0], step);
            let m2 = b.fadd(kept[1], b.fmul(delta, b.fsub(point[0], mean)));
            let new = [mean, m2, n];
            return match mask {
                Some(m) => new.iter().zip(kept).map(|(&n, &k)| b.select(m, n, k)).collect(),
                None => new.to_vec(),
            };
        }
        let mut point = point.to_vec();
        if let Some(m) = mask {
            let identity = self.identity(b, dtype, lanes);
            for (p, i) in point.iter_mut().zip(identity) {
                *p = b.select(m, *p, i);
            }
        }
        self.combine(b, dtype, kept, &point)
    }

    /// All lanes as one: halves onto halves.
    pub(super) fn across<B: Build>(self, b: &B, dtype: DType, kept: &[V<B>]) -> Vec<V<B>> {
        self.narrow(b, dtype, kept, 1)
    }

    /// The lanes combined until `lanes` are left.
    pub(super) fn narrow<B: Build>(self, b: &B, dtype: DType, kept: &[V<B>], lanes: u32) -> Vec<V<B>> {
        let mut kept = kept.to_vec();
        loop {
            let n = b.lanes(kept[0]);
            if n <= lanes {
                return kept;
            }
            if n.is_multiple_of(2) && (n / 2).is_multiple_of(lanes) {
                let low: Vec<V<B>> = kept.iter().map(|&k| b.slice(k, 0, n / 2)).collect();
                let high: Vec<V<B>> = kept.iter().map(|&k| b.slice(k, n / 2, n / 2)).collect();
                kept = self.combine(b, dtype, &low, &high);
                continue;
            }
            let mut all: Vec<V<B>> = kept.iter().map(|&k| b.slice(k, 0, lanes)).collect();
            for at in (lanes..n).step_by(lanes as usize) {
                let next: Vec<V<B>> = kept.iter().map(|&k| b.slice(k, at, lanes)).collect();
                all = self.combine(b, dtype, &all, &next);
            }
            return all;
        }
    }
}

/// The greater of two, NaN if either is. Zeros of either sign count as equal: a reduction may give either.
fn greater<B: Build>(b: &B, x: V<B>, y: V<B>) -> V<B> {
    // `x86` compiles "select(x > y, x, y)" to one instruction that gives y where one is NaN; a NaN in x is then put back.
    let v = b.select(b.fcmp(FloatPredicate::OGT, x, y), x, y);
    b.select(b.fcmp(FloatPredicate::UNO, x, x), x, v)
}

/// The lesser of two; see [`greater`].
fn lesser<B: Build>(b: &B, x: V<B>, y: V<B>) -> V<B> {
    let v = b.select(b.fcmp(FloatPredicate::OLT, x, y), x, y);
    b.select(b.fcmp(FloatPredicate::UNO, x, x), x, v)
}

/// Rounds what is kept to the type of the result.
pub(super) fn rounded<B: Build>(b: &B, v: V<B>, dtype: DType) -> V<B> {
    arith::round(b, v, dtype)
}
