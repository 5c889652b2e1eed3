//! Sums, products, powers, minima and maxima in canonical form.
//!
//! A sum is flat, its like terms are collected, and a constant multiplies it through. A product is flat and
//! its like factors are collected; a sum in it stays a factor, with the greatest common divisor of its
//! coefficients and the sign of its first term taken out. [`Exprs::expand`](Exprs::expand) multiplies out.

use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::expr::{Expr, Exprs, Factor, Node, Term, Unfolded};

/// The greatest common divisor; `gcd(0, x) = x`.
pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

pub(crate) type Terms = SmallVec<[Term; 4]>;
pub(crate) type Factors = SmallVec<[Factor; 4]>;

/// A sum while it is collected. Wide, so that an intermediate value may leave `i64`.
#[derive(Default)]
pub(crate) struct Collect {
    pub terms: FxHashMap<Expr, i128>,
    pub constant: i128,
}

impl Collect {
    /// Adds `coefficient * e`. Fails where even 128 bits do not hold a coefficient.
    pub fn add(&mut self, ex: &Exprs, coefficient: i128, e: Expr) -> Option<()> {
        match ex.node(e) {
            Node::Const(c) => self.constant = self.constant.checked_add(coefficient.checked_mul(i128::from(*c))?)?,
            Node::Sum(terms, c) => {
                self.constant = self.constant.checked_add(coefficient.checked_mul(i128::from(*c))?)?;
                for t in terms {
                    self.add_term(coefficient.checked_mul(i128::from(t.coefficient))?, t.monomial)?;
                }
            }
            _ => self.add_term(coefficient, e)?,
        }
        Some(())
    }

    fn add_term(&mut self, coefficient: i128, monomial: Expr) -> Option<()> {
        let sum = self.terms.entry(monomial).or_insert(0);
        *sum = sum.checked_add(coefficient)?;
        Some(())
    }
}

impl Exprs {
    /// `e` as terms and a constant.
    pub(crate) fn split_sum(&self, e: Expr) -> (Terms, i64) {
        match self.node(e) {
            Node::Const(c) => (smallvec![], *c),
            Node::Sum(terms, c) => (Terms::from_slice(terms), *c),
            _ => (smallvec![Term { coefficient: 1, monomial: e }], 0),
        }
    }

    /// `e` as a coefficient and factors. A sum gives the common divisor of its coefficients, and what is left as a factor.
    pub(crate) fn split_product(&mut self, e: Expr) -> (i64, Factors) {
        match self.node(e) {
            Node::Const(c) => (*c, smallvec![]),
            Node::Product(factors) => (1, Factors::from_slice(factors)),
            Node::Sum(terms, 0) if terms.len() == 1 => {
                let Term { coefficient, monomial } = terms[0];
                (coefficient, self.split_product(monomial).1)
            }
            Node::Sum(terms, constant) => {
                let start = constant.unsigned_abs();
                let common = terms.iter().fold(start, |g, t| gcd(g, t.coefficient.unsigned_abs()));
                let content = match i64::try_from(common) {
                    Ok(g) if terms[0].coefficient < 0 => -g,
                    Ok(g) => g,
                    Err(_) => 1,
                };
                if content == 1 {
                    return (1, smallvec![Factor { base: e, power: 1 }]);
                }
                let divide = |c: i64| c.checked_div(content);
                let parts: Option<Terms> = terms
                    .iter()
                    .map(|t| Some(Term { coefficient: divide(t.coefficient)?, monomial: t.monomial }))
                    .collect();
                match (parts, divide(*constant)) {
                    (Some(parts), Some(constant)) => {
                        let base = self.sum_of_sorted(parts, constant);
                        (content, smallvec![Factor { base, power: 1 }])
                    }
                    _ => (1, smallvec![Factor { base: e, power: 1 }]),
                }
            }
            _ => (1, smallvec![Factor { base: e, power: 1 }]),
        }
    }

    /// The sum of terms that are sorted and collected already.
    pub(crate) fn sum_of_sorted(&mut self, terms: Terms, constant: i64) -> Expr {
        match (&terms[..], constant) {
            ([], c) => self.int(c),
            ([Term { coefficient: 1, monomial }], 0) => *monomial,
            _ => self.intern(Node::Sum(terms.into_boxed_slice(), constant)),
        }
    }

    /// The collected sum as it stands; `None` if a coefficient leaves `i64`.
    pub(crate) fn sum_of_collected(&mut self, sum: &Collect) -> Option<Expr> {
        let mut terms = Terms::new();
        for (&monomial, &c) in &sum.terms {
            if c != 0 {
                terms.push(Term { coefficient: i64::try_from(c).ok()?, monomial });
            }
        }
        terms.sort_unstable_by(|a, b| self.order(a.monomial, b.monomial));
        Some(self.sum_of_sorted(terms, i64::try_from(sum.constant).ok()?))
    }

    pub(crate) fn unfolded(&mut self, op: Unfolded, args: &[Expr]) -> Expr {
        let mut args = args.to_vec();
        args.sort_unstable_by(|&a, &b| self.order(a, b));
        self.intern(Node::Unfolded(op, args.into_boxed_slice()))
    }

    /// The sum of `coefficient * expression`, plus a constant.
    pub fn linear_sum(&mut self, parts: &[(i64, Expr)], constant: i64) -> Expr {
        let mut sum = Collect { constant: i128::from(constant), ..Collect::default() };
        let fits = parts.iter().try_for_each(|&(c, e)| sum.add(self, i128::from(c), e));
        if let Some(e) = fits.and_then(|()| self.finish_sum(sum)) {
            return e;
        }
        let mut args: Vec<Expr> = parts.iter().map(|&(c, e)| self.scale(e, c)).collect();
        if parts.iter().any(|p| p.0 != 1) {
            // A product that does not fit may stand as a term of a sum that does.
            let parts: Vec<(i64, Expr)> = args.iter().map(|&e| (1, e)).collect();
            return self.linear_sum(&parts, constant);
        }
        if constant != 0 {
            args.push(self.int(constant));
        }
        match args[..] {
            [only] => only,
            _ => self.unfolded(Unfolded::Sum, &args),
        }
    }

    /// The sum of all operands; 0 if there is none.
    pub fn sum(&mut self, operands: &[Expr]) -> Expr {
        let parts: SmallVec<[(i64, Expr); 4]> = operands.iter().map(|&e| (1, e)).collect();
        self.linear_sum(&parts, 0)
    }

    /// `a + b`.
    pub fn add(&mut self, a: Expr, b: Expr) -> Expr {
        self.linear_sum(&[(1, a), (1, b)], 0)
    }

    /// `a + c`.
    pub fn add_int(&mut self, a: Expr, c: i64) -> Expr {
        self.linear_sum(&[(1, a)], c)
    }

    /// `a - b`.
    pub fn sub(&mut self, a: Expr, b: Expr) -> Expr {
        self.linear_sum(&[(1, a), (-1, b)], 0)
    }

    /// `-a`.
    pub fn neg(&mut self, a: Expr) -> Expr {
        self.scale(a, -1)
    }

    /// `c * e`.
    pub fn scale(&mut self, e: Expr, c: i64) -> Expr {
        if c == 1 {
            return e;
        }
        if c == 0 {
            return self.int(0);
        }
        let (terms, constant) = self.split_sum(e);
        let scaled: Option<Terms> = terms
            .iter()
            .map(|t| Some(Term { coefficient: t.coefficient.checked_mul(c)?, monomial: t.monomial }))
            .collect();
        match (scaled, constant.checked_mul(c)) {
            (Some(terms), Some(constant)) => self.sum_of_sorted(terms, constant),
            _ => {
                let c = self.int(c);
                self.unfolded(Unfolded::Product, &[e, c])
            }
        }
    }

    /// `a * b`.
    pub fn mul(&mut self, a: Expr, b: Expr) -> Expr {
        self.product(&[a, b])
    }

    /// `e ** power`; `0 ** 0` is 1.
    pub fn pow(&mut self, e: Expr, power: u32) -> Expr {
        match power {
            0 => self.int(1),
            1 => e,
            _ => match self.product_of_powers(&[(e, power)]) {
                Some(p) => p,
                None => self.unfolded(Unfolded::Power(power), &[e]),
            },
        }
    }

    /// The product of all operands; 1 if there is none.
    pub fn product(&mut self, operands: &[Expr]) -> Expr {
        if let [only] = operands {
            return *only;
        }
        let parts: SmallVec<[(Expr, u32); 4]> = operands.iter().map(|&e| (e, 1)).collect();
        match self.product_of_powers(&parts) {
            Some(p) => p,
            None => self.unfolded(Unfolded::Product, operands),
        }
    }

    /// `None` if the coefficient or a power leaves its type.
    fn product_of_powers(&mut self, parts: &[(Expr, u32)]) -> Option<Expr> {
        if parts.iter().any(|&(e, n)| n > 0 && self.as_int(e) == Some(0)) {
            return Some(self.int(0));
        }
        let mut coefficient: i64 = 1;
        let mut powers: FxHashMap<Expr, u32> = FxHashMap::default();
        for &(e, n) in parts {
            let (c, factors) = self.split_product(e);
            coefficient = coefficient.checked_mul(c.checked_pow(n)?)?;
            for f in factors {
                let power = powers.entry(f.base).or_insert(0);
                *power = power.checked_add(f.power.checked_mul(n)?)?;
            }
        }
        let factors = powers.into_iter().filter(|&(_, n)| n > 0).map(|(base, power)| Factor { base, power }).collect();
        let monomial = self.product_of_factors(factors);
        // A lone sum takes the coefficient in.
        let (terms, constant) = self.split_sum(monomial);
        let fits = terms.iter().map(|t| t.coefficient).chain([constant]).all(|c| c.checked_mul(coefficient).is_some());
        if fits { Some(self.scale(monomial, coefficient)) } else { None }
    }

    /// The product of collected factors, in any order.
    pub(crate) fn product_of_factors(&mut self, mut factors: Factors) -> Expr {
        match factors[..] {
            [] => self.int(1),
            [Factor { base, power: 1 }] => base,
            _ => {
                factors.sort_unstable_by(|a, b| self.order(a.base, b.base));
                self.intern(Node::Product(factors.into_boxed_slice()))
            }
        }
    }

    /// The least of the operands, of which there has to be one.
    pub fn min(&mut self, operands: &[Expr]) -> Expr {
        self.extremum(operands, false)
    }

    /// The greatest of the operands, of which there has to be one.
    pub fn max(&mut self, operands: &[Expr]) -> Expr {
        self.extremum(operands, true)
    }

    fn extremum(&mut self, operands: &[Expr], greatest: bool) -> Expr {
        debug_assert!(!operands.is_empty(), "a minimum or maximum of nothing");
        let mut flat: Vec<Expr> = Vec::with_capacity(operands.len());
        for &e in operands {
            match (self.node(e), greatest) {
                (Node::Min(args), false) | (Node::Max(args), true) => flat.extend(args.iter().copied()),
                _ => flat.push(e),
            }
        }
        // Of operands that differ by a constant, one is the extremum wherever they are evaluated.
        let mut best: FxHashMap<Expr, (i64, Expr)> = FxHashMap::default();
        for e in flat {
            let (terms, constant) = self.split_sum(e);
            let varying = self.sum_of_sorted(terms, 0);
            let held = best.entry(varying).or_insert((constant, e));
            if (constant > held.0) == greatest && constant != held.0 {
                *held = (constant, e);
            }
        }
        let mut args: Vec<Expr> = best.into_values().map(|(_, e)| e).collect();
        if let [only] = args[..] {
            return only;
        }
        args.sort_unstable_by(|&a, &b| self.order(a, b));
        let args = args.into_boxed_slice();
        self.intern(if greatest { Node::Max(args) } else { Node::Min(args) })
    }
}
