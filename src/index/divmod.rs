//! Floor division and remainder, and the sums that undo them.
//!
//! What holds for all integers (with nonzero divisors) is applied here; what needs a range is in `simplify`.
//! With a positive constant `k`:
//! - `(a*k + b) floordiv k = a + b floordiv k` and `(a*k + b) mod k = b mod k`;
//! - a common divisor of the coefficients and `k` is taken out of both;
//! - `(x floordiv m) floordiv k = x floordiv (m*k)`, and `(x mod (k*m)) mod k = x mod k`;
//! - `(x mod (k*m)) floordiv k = (x floordiv k) mod m`.
//!
//! In a sum, `(x floordiv n)*n + x mod n` is `x`, and `((x floordiv n) mod m)*n + x mod n` is `x mod (n*m)`.

use std::ops::ControlFlow;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::construct::{Collect, Factors, Terms, gcd};
use crate::expr::{Expr, Exprs, Factor, Node, Term};
use crate::walk::{floor_div, floor_mod};

/// How far the search for a remainder's quotient may itself recombine sums.
const RECOMBINING: u32 = 4;

/// How deep the division of one expression may go into others before it is left as it stands. Text cannot nest so deep.
const DIVIDING: u32 = 4 * crate::MAX_DEPTH as u32;

/// How often a sum is searched again after something was recombined in it.
const PASSES: usize = 32;

impl Exprs {
    /// `floor(a / n)`.
    pub fn floordiv(&mut self, a: Expr, n: Expr) -> Expr {
        if let Some(&q) = self.quotients.get(&(a, n)) {
            return q;
        }
        if self.dividing == DIVIDING {
            return self.intern(Node::FloorDiv(a, n));
        }
        self.dividing += 1;
        let q = match (self.as_int(a), self.as_int(n)) {
            (_, Some(1)) => a,
            (_, Some(0)) => self.intern(Node::FloorDiv(a, n)),
            (Some(0), _) => a,
            (Some(x), Some(k)) => match floor_div(x, k) {
                Some(q) => self.int(q),
                None => self.intern(Node::FloorDiv(a, n)),
            },
            (_, Some(k)) if k > 0 => self.floordiv_int(a, k),
            (_, Some(i64::MIN)) => self.intern(Node::FloorDiv(a, n)),
            (_, Some(k)) => {
                let (a, n) = (self.neg(a), self.int(-k));
                self.floordiv(a, n)
            }
            (_, None) => self.floordiv_expr(a, n),
        };
        self.dividing -= 1;
        self.quotients.insert((a, n), q);
        q
    }

    /// `ceil(a / n)`.
    pub fn ceildiv(&mut self, a: Expr, n: Expr) -> Expr {
        if let Some(k) = self.as_int(n).filter(|&k| k > 0) {
            let a = self.add_int(a, k - 1);
            return self.floordiv(a, n);
        }
        let a = self.neg(a);
        let q = self.floordiv(a, n);
        self.neg(q)
    }

    fn floordiv_int(&mut self, a: Expr, k: i64) -> Expr {
        let (terms, constant) = self.split_sum(a);
        let (whole, mut rest): (Terms, Terms) = terms.into_iter().partition(|t| t.coefficient % k == 0);
        let quotients = whole.iter().map(|t| Term { coefficient: t.coefficient / k, ..*t }).collect();
        let (mut r, mut divisor) = (constant.rem_euclid(k), k);
        let quotient = self.sum_of_sorted(quotients, constant.div_euclid(k));
        let common = rest.iter().fold(k.unsigned_abs(), |g, t| gcd(g, t.coefficient.unsigned_abs()));
        let common = i64::try_from(common).expect("a divisor of k fits where k does");
        rest.iter_mut().for_each(|t| t.coefficient /= common);
        r /= common;
        divisor /= common;
        if rest.is_empty() {
            return quotient;
        }
        let tail = self.floordiv_rest(rest, r, divisor);
        self.add(quotient, tail)
    }

    /// A quotient that has neither a whole part nor a common divisor.
    fn floordiv_rest(&mut self, rest: Terms, r: i64, k: i64) -> Expr {
        if let [Term { coefficient: 1, monomial }] = rest[..] {
            match *self.node(monomial) {
                Node::FloorDiv(x, m) => {
                    let inner = self.as_int(m);
                    let shift = if r == 0 { Some(0) } else { inner.and_then(|m| m.checked_mul(r)) };
                    let product = inner.map_or(Some(0), |m| m.checked_mul(k));
                    if let (Some(shift), Some(_)) = (shift, product) {
                        let (x, n) = (self.add_int(x, shift), self.scale(m, k));
                        return self.floordiv(x, n);
                    }
                }
                Node::Mod(..) if r == 0 => {
                    if let Some(q) = self.floordiv_remainder(monomial, k) {
                        return q;
                    }
                }
                _ => {}
            }
        }
        let (a, k) = (self.sum_of_sorted(rest, r), self.int(k));
        self.intern(Node::FloorDiv(a, k))
    }

    /// `(x mod (k*m)) floordiv k`, through as many remainders as are within each other.
    fn floordiv_remainder(&mut self, a: Expr, k: i64) -> Option<Expr> {
        let (mut x, mut moduli) = (a, Vec::new());
        while let Node::Mod(inner, m) = *self.node(x)
            && let Some(m) = self.as_int(m).filter(|m| *m > 0 && m % k == 0)
        {
            moduli.push(m / k);
            x = inner;
        }
        if moduli.is_empty() {
            return None;
        }
        let k = self.int(k);
        let mut q = self.floordiv(x, k);
        for m in moduli.into_iter().rev() {
            let m = self.int(m);
            q = self.modulo(q, m);
        }
        Some(q)
    }

    fn floordiv_expr(&mut self, a: Expr, n: Expr) -> Expr {
        let (content, _) = self.split_product(n);
        if content < 0 && content != i64::MIN {
            let (a, n) = (self.neg(a), self.neg(n));
            return self.floordiv(a, n);
        }
        if let Some((_, a, n)) = self.cancel(a, n) {
            return self.floordiv(a, n);
        }
        let (whole, rest) = self.divide_terms(a, n);
        if self.as_int(rest) == Some(0) {
            return whole;
        }
        let tail = self.intern(Node::FloorDiv(rest, n));
        self.add(whole, tail)
    }

    /// `a - n * floor(a / n)`.
    pub fn modulo(&mut self, a: Expr, n: Expr) -> Expr {
        match (self.as_int(a), self.as_int(n)) {
            (_, Some(1)) => self.int(0),
            (_, Some(0)) => self.intern(Node::Mod(a, n)),
            (Some(0), _) => a,
            (Some(x), Some(k)) => match floor_mod(x, k) {
                Some(r) => self.int(r),
                None => self.intern(Node::Mod(a, n)),
            },
            (_, Some(k)) if k > 0 => self.modulo_int(a, k),
            (_, Some(i64::MIN)) => self.intern(Node::Mod(a, n)),
            (_, Some(k)) => {
                let (a, n) = (self.neg(a), self.int(-k));
                let r = self.modulo(a, n);
                self.neg(r)
            }
            (_, None) => self.modulo_expr(a, n),
        }
    }

    fn modulo_int(&mut self, a: Expr, k: i64) -> Expr {
        let mut a = a;
        // Each turn takes away one layer of remainders that this one makes needless.
        let (mut terms, constant) = loop {
            let (terms, constant) = self.split_sum(a);
            // Coefficients above k stay: the quotient keeps them too, and `recombine` has to find that the two belong together.
            let terms: Terms = terms.into_iter().filter(|t| t.coefficient % k != 0).collect();
            let peeled: SmallVec<[(i64, Expr); 4]> = terms
                .iter()
                .map(|t| match *self.node(t.monomial) {
                    Node::Mod(x, m) if self.covers(t.coefficient, m, k) => (t.coefficient, x),
                    _ => (t.coefficient, t.monomial),
                })
                .collect();
            if peeled.iter().zip(&terms).all(|(p, t)| p.1 == t.monomial) {
                break (terms, constant.rem_euclid(k));
            }
            a = self.linear_sum(&peeled, constant.rem_euclid(k));
            if matches!(self.node(a), Node::Unfolded(..)) {
                break self.split_sum(a);
            }
        };
        if terms.is_empty() {
            return self.int(constant);
        }
        let common = terms.iter().fold(k.unsigned_abs(), |g, t| gcd(g, t.coefficient.unsigned_abs()));
        let common = i64::try_from(common).expect("a divisor of k fits where k does");
        if common == 1 {
            let (a, k) = (self.sum_of_sorted(terms, constant), self.int(k));
            return self.intern(Node::Mod(a, k));
        }
        terms.iter_mut().for_each(|t| t.coefficient /= common);
        let a = self.sum_of_sorted(terms, constant / common);
        let r = self.modulo_int(a, k / common);
        self.linear_sum(&[(common, r)], constant % common)
    }

    /// Whether `c * (x mod m)` and `c * x` have the same remainder by `k`.
    fn covers(&self, c: i64, m: Expr, k: i64) -> bool {
        self.as_int(m).is_some_and(|m| m != 0 && i128::from(c) * i128::from(m) % i128::from(k) == 0)
    }

    fn modulo_expr(&mut self, a: Expr, n: Expr) -> Expr {
        let (content, _) = self.split_product(n);
        if content < 0 && content != i64::MIN {
            let (a, n) = (self.neg(a), self.neg(n));
            let r = self.modulo(a, n);
            return self.neg(r);
        }
        if let Some((common, a, n)) = self.cancel(a, n) {
            let r = self.modulo(a, n);
            return self.mul(common, r);
        }
        let (_, rest) = self.divide_terms(a, n);
        if self.as_int(rest) == Some(0) {
            return rest;
        }
        if let Node::Mod(_, m) = *self.node(rest)
            && m == n
        {
            return rest;
        }
        self.intern(Node::Mod(rest, n))
    }

    /// A common divisor of `a` and `n`, positive in its constant part, with what it leaves of each; `None` if it is 1.
    fn cancel(&mut self, a: Expr, n: Expr) -> Option<(Expr, Expr, Expr)> {
        let (ca, mut fa) = self.split_product(a);
        let (cn, mut fna) = self.split_product(n);
        let (terms, constant) = self.split_sum(a);
        let mut spread = false;
        if terms.len() > 1 && constant == 0 {
            // A factor of every term is a factor of the sum.
            let mut shared = self.split_product(terms[0].monomial).1;
            for t in &terms[1..] {
                let of_term = self.split_product(t.monomial).1;
                shared = common_factors(&shared, &of_term);
            }
            if !common_factors(&shared, &fna).is_empty() {
                fa = shared;
                spread = true;
            }
        }
        let g = i64::try_from(gcd(ca.unsigned_abs(), cn.unsigned_abs())).ok()?;
        let common = common_factors(&fa, &fna);
        if g == 1 && common.is_empty() || g == 0 {
            return None;
        }
        let left = if spread {
            let parts: Vec<(i64, Expr)> = terms
                .iter()
                .map(|t| {
                    let of_term = self.split_product(t.monomial).1;
                    (t.coefficient / g, self.product_of_factors(without(of_term, &common)))
                })
                .collect();
            self.linear_sum(&parts, 0)
        } else {
            fa = without(fa, &common);
            let m = self.product_of_factors(fa);
            self.scale(m, ca / g)
        };
        fna = without(fna, &common);
        let m = self.product_of_factors(fna);
        let right = self.scale(m, cn / g);
        let m = self.product_of_factors(common);
        Some((self.scale(m, g), left, right))
    }

    /// `(q, r)` with `a = q*n + r`, `q` made of the terms of `a` that `n` divides.
    pub(crate) fn divide_terms(&mut self, a: Expr, n: Expr) -> (Expr, Expr) {
        let (cn, fna) = self.split_product(n);
        let (terms, constant) = self.split_sum(a);
        let mut quotients = Vec::new();
        let mut rest = Terms::new();
        for t in terms {
            let of_term = self.split_product(t.monomial).1;
            let divides = cn != 0 && t.coefficient.checked_rem(cn) == Some(0);
            if divides && common_factors(&of_term, &fna).len() == fna.len() && contains_all(&of_term, &fna) {
                let m = self.product_of_factors(without(of_term, &fna));
                quotients.push((t.coefficient / cn, m));
            } else {
                rest.push(t);
            }
        }
        let whole = self.linear_sum(&quotients, 0);
        (whole, self.sum_of_sorted(rest, constant))
    }

    /// The canonical sum: collected, with quotients and remainders that belong together put together.
    pub(crate) fn finish_sum(&mut self, mut sum: Collect) -> Option<Expr> {
        if self.recombining < RECOMBINING {
            self.recombining += 1;
            let done = (0..PASSES).try_for_each(|_| match self.recombine(&mut sum) {
                Some(true) => ControlFlow::Continue(()),
                Some(false) => ControlFlow::Break(Some(())),
                None => ControlFlow::Break(None),
            });
            self.recombining -= 1;
            if done == ControlFlow::Break(None) {
                return None;
            }
        }
        self.sum_of_collected(&sum)
    }

    /// One search through a sum; whether anything was put together. `None` on overflow.
    fn recombine(&mut self, sum: &mut Collect) -> Option<bool> {
        sum.terms.retain(|_, c| *c != 0);
        let mut quotients = 0;
        let mut remainders: Vec<Remainder> = Vec::new();
        for &monomial in sum.terms.keys() {
            match self.node(monomial) {
                Node::FloorDiv(..) => quotients += 1,
                Node::Mod(x, n) => remainders.push(Remainder { monomial, x: *x, n: *n, others: None }),
                Node::Product(factors) => {
                    for (i, f) in factors.iter().enumerate() {
                        match self.node(f.base) {
                            Node::FloorDiv(..) => quotients += 1,
                            Node::Mod(x, n) if f.power == 1 => {
                                remainders.push(Remainder { monomial, x: *x, n: *n, others: Some(i) });
                            }
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        if remainders.is_empty() || remainders.len() + quotients < 2 {
            return Some(false);
        }
        remainders.sort_unstable_by(|a, b| self.order(a.monomial, b.monomial).then(a.others.cmp(&b.others)));
        let mut by_numerator: FxHashMap<(Expr, Expr), Vec<(Expr, i64)>> = FxHashMap::default();
        for r in &remainders {
            if let Some(m) = self.as_int(r.n).filter(|m| *m > 0) {
                let others = self.others(r);
                by_numerator.entry((others, r.x)).or_default().push((r.monomial, m));
            }
        }
        let mut changed = false;
        for r in &remainders {
            let Some(&c) = sum.terms.get(&r.monomial) else { continue };
            let others = self.others(r);
            let q = self.floordiv(r.x, r.n);
            let scaled = self.product(&[others, r.n, q]);
            let found = match self.split_sum(scaled) {
                (terms, 0) if terms.len() == 1 => {
                    let wanted = c.checked_mul(i128::from(terms[0].coefficient))?;
                    (sum.terms.get(&terms[0].monomial) == Some(&wanted)).then_some((terms[0].monomial, r.x))
                }
                _ => None,
            };
            let found = match found {
                Some(found) => Some(found),
                None => self.wider_remainder(sum, r, c, (others, q), &by_numerator)?,
            };
            if let Some((partner, whole)) = found {
                sum.terms.remove(&r.monomial);
                sum.terms.remove(&partner);
                let joined = self.product(&[others, whole]);
                sum.add(self, c, joined)?;
                changed = true;
            }
        }
        Some(changed)
    }

    /// The term `((x floordiv n) mod m) * n` that goes with `x mod n`, and `x mod (n*m)`. The outer `None` is overflow.
    fn wider_remainder(
        &mut self,
        sum: &Collect,
        r: &Remainder,
        c: i128,
        key: (Expr, Expr),
        by_numerator: &FxHashMap<(Expr, Expr), Vec<(Expr, i64)>>,
    ) -> Option<Option<(Expr, Expr)>> {
        for &(_, m) in by_numerator.get(&key).into_iter().flatten() {
            let divisor = self.int(m);
            let digit = self.modulo(key.1, divisor);
            let scaled = self.product(&[key.0, r.n, digit]);
            let (terms, constant) = self.split_sum(scaled);
            if terms.len() != 1 || constant != 0 || terms[0].monomial == r.monomial {
                continue;
            }
            let wanted = c.checked_mul(i128::from(terms[0].coefficient))?;
            if sum.terms.get(&terms[0].monomial) == Some(&wanted) {
                let n = self.scale(r.n, m);
                return Some(Some((terms[0].monomial, self.modulo(r.x, n))));
            }
        }
        Some(None)
    }

    /// The factors of a term beside the remainder.
    fn others(&mut self, r: &Remainder) -> Expr {
        match (r.others, self.node(r.monomial)) {
            (Some(i), Node::Product(factors)) => {
                let mut factors = Factors::from_slice(factors);
                factors.remove(i);
                self.product_of_factors(factors)
            }
            _ => self.int(1),
        }
    }
}

/// A term `others * (x mod n)`.
struct Remainder {
    monomial: Expr,
    x: Expr,
    n: Expr,
    /// Where the remainder stands among the factors, if the term is a product.
    others: Option<usize>,
}

/// The factors of both, each with the lesser power.
pub(crate) fn common_factors(a: &Factors, b: &Factors) -> Factors {
    let power_in_b = |base| b.iter().find(|f| f.base == base).map(|f| f.power);
    a.iter().filter_map(|f| Some(Factor { base: f.base, power: f.power.min(power_in_b(f.base)?) })).collect()
}

/// Whether every factor of `b` is in `a` with at least its power.
fn contains_all(a: &Factors, b: &Factors) -> bool {
    b.iter().all(|f| a.iter().any(|g| g.base == f.base && g.power >= f.power))
}

/// `a / b`, where `b` divides `a`.
pub(crate) fn without(a: Factors, b: &Factors) -> Factors {
    a.into_iter()
        .filter_map(|f| {
            let taken = b.iter().find(|g| g.base == f.base).map_or(0, |g| g.power);
            (f.power > taken).then_some(Factor { base: f.base, power: f.power - taken })
        })
        .collect()
}
