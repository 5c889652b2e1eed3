//! Rewriting under an environment, bottom up until nothing changes.
//!
//! The chief rule is that of a view of a view. Where `x = g*p + r` with `0 <= r < g`:
//! - `x floordiv (g*m) = p floordiv m`
//! - `x mod (g*m) = g*(p mod m) + r`
//!
//! The sums of `divmod` then put back together what a reshape took apart.

use crate::construct::{Terms, gcd};
use crate::divmod::{common_factors, without};
use crate::expr::{Expr, Exprs, Factor, Node};
use crate::prove::Prover;
use crate::range::{Analysis, Ranges};

/// How often an expression is gone through at most.
const ROUNDS: usize = 16;

/// Operands of a minimum or maximum that are compared with each other.
const COMPARED: usize = 8;

impl Exprs {
    /// An expression with the value of `e` at every point of the environment, and usually fewer operations.
    pub fn simplify(&mut self, e: Expr, env: &Ranges) -> Expr {
        let mut analysis = Analysis::new(env);
        let mut e = e;
        for _ in 0..ROUNDS {
            let next = self.rebuild(e, |ex, _, o| ex.simplify_node(o, &mut analysis));
            if next == e {
                break;
            }
            e = next;
        }
        e
    }

    fn simplify_node(&mut self, e: Expr, analysis: &mut Analysis) -> Expr {
        if let Some(c) = analysis.facts(self, e).exact() {
            return self.int(c);
        }
        match *self.node(e) {
            Node::Const(_) | Node::Dim(_) | Node::Sym(_) | Node::Unfolded(..) => e,
            Node::Sum(..) | Node::Product(_) => {
                let e = self.multiply_out(e, Exprs::has_dims);
                self.exact_quotients(e, analysis)
            }
            Node::FloorDiv(x, n) => self.simplify_division(e, x, n, false, analysis),
            Node::Mod(x, n) => self.simplify_division(e, x, n, true, analysis),
            Node::Min(ref args) => {
                let args = args.to_vec();
                self.simplify_extremum(e, &args, false, analysis)
            }
            Node::Max(ref args) => {
                let args = args.to_vec();
                self.simplify_extremum(e, &args, true, analysis)
            }
        }
    }

    /// `k*(x floordiv k)` is `x` where `k` divides `x`.
    fn exact_quotients(&mut self, e: Expr, analysis: &mut Analysis) -> Expr {
        let (terms, constant) = self.split_sum(e);
        let mut changed = false;
        let mut parts = Vec::with_capacity(terms.len());
        for t in terms {
            if let Node::FloorDiv(x, n) = *self.node(t.monomial)
                && let Some(k) = self.as_int(n)
                && k > 1
                && t.coefficient % k == 0
                && analysis.facts(self, x).divisible_by(k)
            {
                changed = true;
                parts.push((t.coefficient / k, x));
            } else {
                parts.push((t.coefficient, t.monomial));
            }
        }
        if changed { self.linear_sum(&parts, constant) } else { e }
    }

    fn simplify_division(&mut self, e: Expr, x: Expr, n: Expr, remainder: bool, analysis: &mut Analysis) -> Expr {
        let split = match self.as_int(n) {
            Some(k) if k > 1 => self.divide_by_int(x, k, remainder, analysis),
            Some(_) => None,
            None => self.divide_by_expr(x, n, remainder, analysis),
        };
        split.unwrap_or(e)
    }

    fn divide_by_int(&mut self, x: Expr, k: i64, remainder: bool, analysis: &mut Analysis) -> Option<Expr> {
        let (terms, constant) = self.split_sum(x);
        let mut candidates = vec![k];
        for t in &terms {
            let g = gcd(t.coefficient.unsigned_abs(), k.unsigned_abs()) as i64;
            if g > 1 && g < k && !candidates.contains(&g) {
                candidates.push(g);
            }
        }
        candidates.sort_unstable_by(|a, b| b.cmp(a));
        for g in candidates {
            let mut multiples = Terms::new();
            let mut others = Terms::new();
            for &t in &terms {
                let divides = if g == k {
                    let term = self.scale(t.monomial, t.coefficient);
                    analysis.facts(self, term).divisible_by(k)
                } else {
                    t.coefficient % g == 0
                };
                if divides { multiples.push(t) } else { others.push(t) }
            }
            let partial = !multiples.is_empty() && !others.is_empty();
            let r = self.sum_of_sorted(others, constant);
            let facts = analysis.facts(self, r);
            let turn = facts.lo.div_euclid(i128::from(g));
            if turn == facts.hi.div_euclid(i128::from(g)) {
                let turn = i64::try_from(turn).ok()?;
                let r = self.linear_sum(&[(1, r)], turn.checked_mul(g)?.checked_neg()?);
                if g == k && remainder {
                    return Some(r);
                }
                let (p, m) = if g == k {
                    let p = self.sum_of_sorted(multiples, 0);
                    // The quotient of multiples stays a quotient, but without the rest.
                    if self.as_int(r) == Some(0) && turn == 0 {
                        return None;
                    }
                    let n = self.int(k);
                    let q = self.floordiv(p, n);
                    return Some(self.add_int(q, turn));
                } else {
                    multiples.iter_mut().for_each(|t| t.coefficient /= g);
                    (self.sum_of_sorted(multiples, turn), self.int(k / g))
                };
                if !remainder {
                    return Some(self.floordiv(p, m));
                }
                let p = self.modulo(p, m);
                return Some(self.linear_sum(&[(g, p), (1, r)], 0));
            }
            if g == k && partial {
                let n = self.int(k);
                let rest = if remainder { self.modulo(r, n) } else { self.floordiv(r, n) };
                if remainder {
                    return Some(rest);
                }
                let p = self.sum_of_sorted(multiples, 0);
                let p = self.floordiv(p, n);
                return Some(self.add(p, rest));
            }
        }
        None
    }

    fn divide_by_expr(&mut self, x: Expr, n: Expr, remainder: bool, analysis: &mut Analysis) -> Option<Expr> {
        if let (Node::FloorDiv(y, m), false) = (self.node(x).clone(), remainder)
            && analysis.facts(self, n).lo > 0
        {
            let n = self.mul(m, n);
            return Some(self.floordiv(y, n));
        }
        for g in self.divisors(n) {
            if analysis.facts(self, g).lo <= 0 {
                continue;
            }
            let (p, r) = self.divide_terms(x, g);
            if g != n && self.as_int(p) == Some(0) {
                continue;
            }
            let mut prover = Prover::new(analysis);
            if !prover.nonnegative(self, r) || !prover.lt(self, r, g) {
                continue;
            }
            let m = self.exact_division(n, g);
            if !remainder {
                return Some(self.floordiv(p, m));
            }
            let p = self.modulo(p, m);
            let p = self.mul(g, p);
            return Some(self.add(p, r));
        }
        None
    }

    /// `n`, and its parts of one factor or of all but one.
    fn divisors(&mut self, n: Expr) -> Vec<Expr> {
        let mut found = vec![n];
        let (c, factors) = self.split_product(n);
        let mut single: Vec<Expr> = Vec::new();
        if c.unsigned_abs() > 1 {
            single.push(self.int(c));
        }
        single.extend(factors.iter().map(|f: &Factor| f.base));
        if single.len() <= COMPARED {
            for &s in &single {
                found.push(self.exact_division(n, s));
            }
            found.extend(single);
        }
        found.retain(|&g| self.as_int(g) != Some(1));
        found
    }

    /// `n / g`, where `g` is one of the [`Exprs::divisors`] of `n`.
    fn exact_division(&mut self, n: Expr, g: Expr) -> Expr {
        let (cn, fna) = self.split_product(n);
        let (cg, fg) = self.split_product(g);
        debug_assert_eq!(common_factors(&fna, &fg).len(), fg.len());
        let m = self.product_of_factors(without(fna, &fg));
        self.scale(m, cn.checked_div(cg).unwrap_or(cn))
    }

    fn simplify_extremum(&mut self, e: Expr, args: &[Expr], greatest: bool, analysis: &mut Analysis) -> Expr {
        if args.len() > COMPARED {
            return e;
        }
        let mut kept: Vec<Expr> = Vec::with_capacity(args.len());
        for &a in args {
            let mut needless = false;
            let mut i = 0;
            while i < kept.len() {
                let (low, high) = if greatest { (a, kept[i]) } else { (kept[i], a) };
                if Prover::new(analysis).le(self, low, high) {
                    needless = true;
                    break;
                }
                if Prover::new(analysis).le(self, high, low) {
                    kept.remove(i);
                } else {
                    i += 1;
                }
            }
            if !needless {
                kept.push(a);
            }
        }
        if kept.len() == args.len() {
            return e;
        }
        if greatest { self.max(&kept) } else { self.min(&kept) }
    }
}
