//! Comparisons that hold wherever the environment holds.
//!
//! A comparison is a sum that must not be negative. Its interval may settle it. Where not, the sum is made smaller
//! step by step, by what each part is at least or at most in terms of the others: a dimension is below its
//! extent, a remainder below its divisor, a quotient times its divisor near its numerator. At last every
//! part is written as its least value plus something, and if all coefficients are then positive, so is the sum.

use rustc_hash::FxHashMap;

use crate::expr::{Expr, Exprs, Node, Term};
use crate::range::{Analysis, Ranges};

/// How many sums one proof may look at.
const BUDGET: u32 = 64;

/// How many monomials a shifted product may have.
const MAX_MONOMIALS: usize = 128;

/// A search for a proof.
pub(crate) struct Prover<'a, 'b> {
    pub analysis: &'b mut Analysis<'a>,
    budget: u32,
}

impl<'a, 'b> Prover<'a, 'b> {
    pub fn new(analysis: &'b mut Analysis<'a>) -> Prover<'a, 'b> {
        Prover { analysis, budget: BUDGET }
    }

    /// Whether `a <= b` is proved.
    pub fn le(&mut self, ex: &mut Exprs, a: Expr, b: Expr) -> bool {
        let d = ex.sub(b, a);
        self.nonnegative(ex, d)
    }

    /// Whether `a < b` is proved.
    pub fn lt(&mut self, ex: &mut Exprs, a: Expr, b: Expr) -> bool {
        let d = ex.linear_sum(&[(1, b), (-1, a)], -1);
        self.nonnegative(ex, d)
    }

    /// Whether `e >= 0` is proved.
    pub fn nonnegative(&mut self, ex: &mut Exprs, e: Expr) -> bool {
        if self.budget == 0 {
            return false;
        }
        self.budget -= 1;
        let facts = self.analysis.facts(ex, e);
        if facts.lo >= 0 || facts.hi < 0 {
            return facts.lo >= 0;
        }
        let e = ex.expand(e);
        if self.analysis.facts(ex, e).lo >= 0 || self.shifted(ex, e) {
            return true;
        }
        let (terms, constant) = ex.split_sum(e);
        for (i, &term) in terms.iter().enumerate() {
            let rest: Vec<(i64, Expr)> =
                terms.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, t)| (t.coefficient, t.monomial)).collect();
            if let Some(proved) = self.by_cases(ex, term, &rest, constant) {
                return proved;
            }
            if let Some(bound) = self.bound_below(ex, term) {
                let mut parts = rest;
                parts.push((1, bound));
                let smaller = ex.linear_sum(&parts, constant);
                return self.nonnegative(ex, smaller);
            }
        }
        let bound = terms.iter().enumerate().find_map(|(i, &t)| Some((i, self.bound_quotient(ex, t)?)));
        let Some((i, bound)) = bound else { return false };
        let mut parts: Vec<(i64, Expr)> = terms.iter().map(|t| (t.coefficient, t.monomial)).collect();
        parts[i] = (1, bound);
        let smaller = ex.linear_sum(&parts, constant);
        self.nonnegative(ex, smaller)
    }

    /// Something not greater than a term `o*n*(x floordiv n)`, from `x - n + 1 <= n*(x floordiv n) <= x`.
    fn bound_quotient(&mut self, ex: &mut Exprs, term: Term) -> Option<Expr> {
        let (_, factors) = ex.split_product(term.monomial);
        for (i, f) in factors.iter().enumerate() {
            let Node::FloorDiv(x, n) = *ex.node(f.base) else { continue };
            if f.power != 1 || self.analysis.facts(ex, n).lo <= 0 {
                continue;
            }
            let mut others = factors.clone();
            others.remove(i);
            let others = ex.product_of_factors(others);
            let others = ex.scale(others, term.coefficient);
            let o = match (ex.as_int(others), ex.as_int(n)) {
                (Some(c), Some(k)) if c % k == 0 => ex.int(c / k),
                (Some(_), _) => continue,
                _ => match ex.divide_terms(others, n) {
                    (o, rest) if ex.as_int(rest) == Some(0) => o,
                    _ => continue,
                },
            };
            let sign = self.analysis.facts(ex, o);
            let inner = if sign.lo >= 0 {
                ex.linear_sum(&[(1, x), (-1, n)], 1)
            } else if sign.hi <= 0 {
                x
            } else {
                continue;
            };
            return Some(ex.mul(o, inner));
        }
        None
    }

    /// A quotient against the rest, exactly; an extremum against the rest, operand by operand.
    fn by_cases(&mut self, ex: &mut Exprs, term: Term, rest: &[(i64, Expr)], constant: i64) -> Option<bool> {
        let c = term.coefficient;
        match ex.node(term.monomial).clone() {
            Node::FloorDiv(x, n) if c.unsigned_abs() == 1 && self.analysis.facts(ex, n).lo > 0 => {
                let rest = ex.linear_sum(rest, constant);
                let scaled = ex.mul(rest, n);
                let d = if c == 1 {
                    // x floordiv n >= -rest
                    ex.add(x, scaled)
                } else {
                    // x floordiv n <= rest, that is x < (rest + 1) * n
                    ex.linear_sum(&[(1, scaled), (1, n), (-1, x)], -1)
                };
                Some(self.nonnegative(ex, d))
            }
            ref node @ (Node::Min(ref args) | Node::Max(ref args)) => {
                let all = (c < 0) == matches!(node, Node::Max(_));
                let mut test = |a: Expr| {
                    let mut parts = rest.to_vec();
                    parts.push((c, a));
                    let d = ex.linear_sum(&parts, constant);
                    self.nonnegative(ex, d)
                };
                Some(if all { args.iter().all(|&a| test(a)) } else { args.iter().any(|&a| test(a)) })
            }
            _ => None,
        }
    }

    /// For a term that is subtracted, something not greater than the term, in which its bounded part is gone.
    fn bound_below(&mut self, ex: &mut Exprs, term: Term) -> Option<Expr> {
        let (_, factors) = ex.split_product(term.monomial);
        for (i, f) in factors.iter().enumerate() {
            if f.power != 1 {
                continue;
            }
            let most = match *ex.node(f.base) {
                Node::Dim(d) => match self.analysis.env.extent(d) {
                    Some(extent) => ex.add_int(extent, -1),
                    None => continue,
                },
                Node::Mod(_, n) if ex.as_int(n).is_none() && self.analysis.facts(ex, n).lo > 0 => ex.add_int(n, -1),
                _ => continue,
            };
            let mut others = factors.clone();
            others.remove(i);
            let others = ex.product_of_factors(others);
            let others = ex.scale(others, term.coefficient);
            if self.analysis.facts(ex, others).hi > 0 {
                continue;
            }
            return Some(ex.mul(others, most));
        }
        None
    }

    /// Writes every factor as its least value plus something not negative, and looks at the coefficients.
    fn shifted(&mut self, ex: &mut Exprs, e: Expr) -> bool {
        let (terms, constant) = ex.split_sum(e);
        let mut sum = Polynomial::default();
        sum.insert(Vec::new(), i128::from(constant));
        for t in terms {
            let mut product = Polynomial::from_iter([(Vec::new(), i128::from(t.coefficient))]);
            for f in ex.split_product(t.monomial).1 {
                let Some(least) = self.analysis.facts(ex, f.base).range().lo else { return false };
                for _ in 0..f.power {
                    match times_shifted(&product, f.base, i128::from(least)) {
                        Some(p) => product = p,
                        None => return false,
                    }
                }
            }
            for (m, c) in product {
                let held = sum.entry(m).or_insert(0);
                match held.checked_add(c) {
                    Some(c) => *held = c,
                    None => return false,
                }
            }
        }
        sum.values().all(|&c| c >= 0)
    }
}

/// Coefficients by monomial; a monomial is its factors in order, each as often as it occurs. Not an [`Expr`], since
/// a factor here stands for what it exceeds its least value by, of which the laws of quotients do not hold.
type Polynomial = FxHashMap<Vec<Expr>, i128>;

/// `p * (base + least)`; `None` if it overflows or becomes large.
fn times_shifted(p: &Polynomial, base: Expr, least: i128) -> Option<Polynomial> {
    if p.len() > MAX_MONOMIALS {
        return None;
    }
    let mut product = Polynomial::default();
    for (m, &c) in p {
        let mut longer = m.clone();
        longer.insert(longer.partition_point(|&f| f < base), base);
        for (m, c) in [(longer, c), (m.clone(), c.checked_mul(least)?)] {
            let held = product.entry(m).or_insert(0);
            *held = held.checked_add(c)?;
        }
    }
    Some(product)
}

impl Exprs {
    fn decide(&mut self, yes: Expr, no: Expr, env: &Ranges) -> Option<bool> {
        let mut analysis = Analysis::new(env);
        if Prover::new(&mut analysis).nonnegative(self, yes) {
            return Some(true);
        }
        Prover::new(&mut analysis).nonnegative(self, no).then_some(false)
    }

    /// Whether `a <= b` at every point, or at none; `None` if neither is known.
    pub fn prove_le(&mut self, a: Expr, b: Expr, env: &Ranges) -> Option<bool> {
        let yes = self.sub(b, a);
        let no = self.linear_sum(&[(1, a), (-1, b)], -1);
        self.decide(yes, no, env)
    }

    /// Whether `a < b` at every point, or at none; `None` if neither is known.
    pub fn prove_lt(&mut self, a: Expr, b: Expr, env: &Ranges) -> Option<bool> {
        Some(!self.prove_le(b, a, env)?)
    }

    /// Whether `a == b` at every point, or at none; `None` if neither is known.
    pub fn prove_eq(&mut self, a: Expr, b: Expr, env: &Ranges) -> Option<bool> {
        let d = self.sub(a, b);
        let d = self.expand(d);
        let d = self.simplify(d, env);
        let d = self.expand(d);
        if self.as_int(d) == Some(0) {
            return Some(true);
        }
        let mut analysis = Analysis::new(env);
        let facts = analysis.facts(self, d);
        let misses_zero = match facts.modulus {
            0 | 1 => false,
            m => facts.residue % m != 0,
        };
        if facts.lo > 0 || facts.hi < 0 || misses_zero {
            return Some(false);
        }
        let (above, minus) = (self.add_int(d, -1), self.neg(d));
        let below = self.add_int(minus, -1);
        for apart in [above, below] {
            if Prover::new(&mut analysis).nonnegative(self, apart) {
                return Some(false);
            }
        }
        let (low, high) = (minus, d);
        let both = [low, high].into_iter().all(|e| Prover::new(&mut analysis).nonnegative(self, e));
        both.then_some(true)
    }

    /// Whether `0 <= e < extent` at every point, or at none; `None` if neither is known.
    pub fn prove_in_bounds(&mut self, e: Expr, extent: Expr, env: &Ranges) -> Option<bool> {
        let zero = self.int(0);
        match (self.prove_le(zero, e, env), self.prove_lt(e, extent, env)) {
            (Some(true), Some(true)) => Some(true),
            (Some(false), _) | (_, Some(false)) => Some(false),
            _ => None,
        }
    }
}
