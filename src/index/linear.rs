//! Strides, coefficients and products multiplied out.

use crate::expr::{Atom, Expr, Exprs, Node, Term};

/// How many terms a product may become.
const MAX_TERMS: usize = 256;

/// How large the result may be when written as a tree; what is larger stays as it was.
const MAX_WEIGHT: u32 = 4096;

impl Exprs {
    /// `e` as a sum of products without sums in them. Left as it is where the result would be very large.
    pub fn expand(&mut self, e: Expr) -> Expr {
        self.multiply_out(e, |_, _| true)
    }

    /// `e` with those products of sums multiplied out whose sums `which` chooses.
    pub(crate) fn multiply_out(&mut self, e: Expr, which: impl Fn(&Exprs, Expr) -> bool) -> Expr {
        let (terms, constant) = self.split_sum(e);
        let mut parts: Vec<(i64, Expr)> = Vec::new();
        let mut changed = false;
        for Term { coefficient, monomial } in terms {
            let start = parts.len();
            let (_, factors) = self.split_product(monomial);
            let chosen = |ex: &Exprs, base| matches!(ex.node(base), Node::Sum(..)) && which(ex, base);
            let (sums, kept): (Vec<_>, Vec<_>) = factors.into_iter().partition(|f| chosen(self, f.base));
            let kept = self.product_of_factors(kept.into_iter().collect());
            parts.push((coefficient, kept));
            for f in sums {
                let (inner, inner_constant) = self.split_sum(f.base);
                for _ in 0..f.power {
                    changed = true;
                    let so_far = parts.split_off(start);
                    if (inner.len() + 1).saturating_mul(so_far.len()) + start > MAX_TERMS {
                        return e;
                    }
                    for (c, m) in so_far {
                        for t in &inner {
                            let Some(c) = c.checked_mul(t.coefficient) else { return e };
                            parts.push((c, self.mul(m, t.monomial)));
                        }
                        if inner_constant != 0 {
                            let Some(c) = c.checked_mul(inner_constant) else { return e };
                            parts.push((c, m));
                        }
                    }
                }
            }
        }
        if !changed {
            return e;
        }
        let sum = self.linear_sum(&parts, constant);
        if self.info(sum).weight > MAX_WEIGHT.max(self.info(e).weight) { e } else { sum }
    }

    /// `(stride, rest)` with `e = stride * atom + rest`, where neither contains the atom; `None` if `e` is not of that form.
    pub fn linear_in(&mut self, e: Expr, atom: Atom) -> Option<(Expr, Expr)> {
        if !self.contains(e, atom) {
            return Some((self.int(0), e));
        }
        let e = self.multiply_out(e, |ex, sum| ex.contains(sum, atom));
        let (terms, constant) = self.split_sum(e);
        let (mut strides, mut rest) = (Vec::new(), Vec::new());
        for t in terms {
            if !self.contains(t.monomial, atom) {
                rest.push((t.coefficient, t.monomial));
                continue;
            }
            let (_, mut factors) = self.split_product(t.monomial);
            let at = factors.iter().position(|f| self.as_atom(f.base) == Some(atom))?;
            if factors.remove(at).power != 1 || factors.iter().any(|f| self.contains(f.base, atom)) {
                return None;
            }
            strides.push((t.coefficient, self.product_of_factors(factors)));
        }
        Some((self.linear_sum(&strides, 0), self.linear_sum(&rest, constant)))
    }

    /// The strides of `e` by the dimensions from 0 to `rank`, and what is left; `None` if `e` is not linear in all of them.
    pub fn strides(&mut self, e: Expr, rank: u32) -> Option<(Vec<Expr>, Expr)> {
        let mut strides = Vec::with_capacity(rank as usize);
        let mut rest = e;
        for d in 0..rank {
            let (stride, without) = self.linear_in(rest, Atom::Dim(d))?;
            if self.info(stride).dims != 0 {
                return None;
            }
            strides.push(stride);
            rest = without;
        }
        Some((strides, rest))
    }
}
