//! Index expressions as instructions: each part at the outermost level at which it is known, divisions as the signs allow.

use crate::dialects::kernels;
use rinductor_index::{Atom, Expr, Node};

use super::build::{Binary, Build, IntPredicate, Math, V};
use super::emit::{DATA, Emitter, LANE};
use crate::ir::Def;

/// An offset that moves by a fixed amount from lane to lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Linear {
    /// The value in lane 0.
    pub base: Expr,
    /// What each lane adds.
    pub stride: Expr,
}

impl<B: Build> Emitter<'_, B> {
    /// The level at which an expression is known.
    pub fn expr_level(&mut self, e: Expr) -> usize {
        let atoms: Vec<Atom> = self.exprs.atoms(e).collect();
        atoms.into_iter().map(|a| self.atom_level(a)).max().unwrap_or(0)
    }

    /// Whether the lanes of an expression differ.
    pub fn varies(&mut self, e: Expr) -> bool {
        let atoms: Vec<Atom> = self.exprs.atoms(e).collect();
        atoms.into_iter().any(|a| match a {
            Atom::Dim(LANE) => self.width > 1,
            Atom::Dim(d) if d >= DATA => {
                let v = self.data_value(d).v;
                self.b.lanes(v) > 1
            }
            _ => false,
        })
    }

    /// The value of an expression: a scalar, or a vector where the lanes differ.
    pub fn lower(&mut self, e: Expr) -> V<B> {
        if let Some(c) = self.exprs.as_int(e) {
            return self.b.i64(c);
        }
        let lanes = if self.varies(e) { self.width } else { 1 };
        let level = self.expr_level(e);
        if let Some(&v) = self.scopes[level].exprs.get(&(e, lanes)) {
            return v;
        }
        let v = self.at_level(level, |s| s.lower_node(e, lanes));
        self.scopes[level].exprs.insert((e, lanes), v);
        v
    }

    fn lower_node(&mut self, e: Expr, lanes: u32) -> V<B> {
        let b = self.b;
        match self.exprs.node(e).clone() {
            Node::Const(c) => b.splat(b.i64(c), lanes),
            Node::Dim(LANE) => b.iota(64, lanes),
            Node::Dim(d) if d < LANE => self.axes[d as usize].map_or_else(|| b.i64(0), |a| a.0),
            Node::Dim(d) => self.data_value(d).v,
            Node::Sym(s) => {
                let name = self.exprs.sym_name(s);
                *self.symbols.get(name).expect("a kernel whose symbols are not all bound is refused before")
            }
            Node::Sum(terms, constant) => {
                // Terms of outer levels first, so that their sum is computed there.
                let mut parts: Vec<(usize, bool, Expr)> = Vec::new();
                for t in terms.iter() {
                    let term = self.exprs.scale(t.monomial, t.coefficient);
                    let varies = self.varies(term);
                    parts.push((self.expr_level(term), varies, term));
                }
                parts.sort_by_key(|p| (p.0, p.1));
                if let [(_, _, only)] = parts[..] {
                    // One term with a coefficient, or with a constant.
                    let v = if constant != 0 { self.lower(only) } else { self.lower_scaled(&terms[0]) };
                    let v = b.splat(v, lanes);
                    return if constant != 0 { b.iadd(v, b.int(b.type_of(v), constant)) } else { v };
                }
                let (_, _, last) = parts.pop().expect("a sum has terms");
                let rest: Vec<(i64, Expr)> = parts.iter().map(|p| (1, p.2)).collect();
                let rest = self.exprs.linear_sum(&rest, constant);
                let (x, y) = (self.lower(rest), self.lower(last));
                b.iadd(b.splat(x, lanes), b.splat(y, lanes))
            }
            Node::Product(factors) => {
                let mut flat: Vec<(usize, Expr)> = Vec::new();
                for f in factors.iter() {
                    let level = self.expr_level(f.base);
                    flat.extend(std::iter::repeat_n((level, f.base), f.power as usize));
                }
                flat.sort_by_key(|p| p.0);
                let (_, last) = flat.pop().expect("a product has factors");
                if flat.is_empty() {
                    return self.lower(last);
                }
                let rest: Vec<Expr> = flat.iter().map(|p| p.1).collect();
                let rest = self.exprs.product(&rest);
                let (x, y) = (self.lower(rest), self.lower(last));
                b.imul(b.splat(x, lanes), b.splat(y, lanes))
            }
            Node::FloorDiv(x, y) => self.divide(x, y, lanes, false),
            Node::Mod(x, y) => self.divide(x, y, lanes, true),
            Node::Min(args) | Node::Max(args) => {
                let least = matches!(self.exprs.node(e), Node::Min(_));
                let mut all: Option<V<B>> = None;
                for &a in args.iter() {
                    let v = self.lower(a);
                    let v = b.splat(v, lanes);
                    all = Some(match all {
                        None => v,
                        Some(w) => b.math(if least { Math::SMin } else { Math::SMax }, &[w, v]),
                    });
                }
                all.expect("a minimum is of two or more")
            }
            Node::Unfolded(op, args) => {
                let values: Vec<V<B>> = args.iter().map(|&a| self.lower(a)).map(|v| b.splat(v, lanes)).collect();
                match op {
                    rinductor_index::Unfolded::Sum => values.into_iter().reduce(|x, y| b.add(x, y)),
                    rinductor_index::Unfolded::Product => values.into_iter().reduce(|x, y| b.mul(x, y)),
                    rinductor_index::Unfolded::Power(n) => {
                        std::iter::repeat_n(values[0], n as usize).reduce(|x, y| b.mul(x, y))
                    }
                }
                .expect("an operation has operands")
            }
        }
    }

    /// `coefficient * monomial` as one multiplication.
    fn lower_scaled(&mut self, term: &rinductor_index::Term) -> V<B> {
        let v = self.lower(term.monomial);
        if term.coefficient == -1 {
            return self.b.isub(self.b.int(self.b.type_of(v), 0), v);
        }
        self.b.imul(v, self.b.int(self.b.type_of(v), term.coefficient))
    }

    /// `floor(x / y)` or the remainder of it.
    fn divide(&mut self, x: Expr, y: Expr, lanes: u32, remainder: bool) -> V<B> {
        use Binary::{SDiv, SRem, UDiv, URem};
        let b = self.b;
        let plain = self.is_nonnegative(x, 0) && self.is_nonnegative(y, 0);
        let (xv, yv) = (self.lower(x), self.lower(y));
        let (xv, yv) = (b.splat(xv, lanes), b.splat(yv, lanes));
        if plain {
            return b.binop(if remainder { URem } else { UDiv }, xv, yv);
        }
        let zero = b.int(b.type_of(xv), 0);
        let rem = b.binop(SRem, xv, yv);
        let opposite = b.icmp(IntPredicate::SLT, b.xor(xv, yv), zero);
        let inexact = b.icmp(IntPredicate::NE, rem, zero);
        let off = b.and(opposite, inexact);
        if remainder {
            return b.select(off, b.add(rem, yv), rem);
        }
        let q = b.binop(SDiv, xv, yv);
        b.select(off, b.sub(q, b.int(b.type_of(xv), 1)), q)
    }

    /// Whether an expression is never negative, as far as its form shows. Sizes are not negative, nor are positions.
    pub fn is_nonnegative(&self, e: Expr, depth: u32) -> bool {
        if depth > 16 {
            return false;
        }
        let again = |e: &Expr| self.is_nonnegative(*e, depth + 1);
        match self.exprs.node(e) {
            Node::Const(c) => *c >= 0,
            Node::Sym(s) => !self.exprs.is_signed(*s),
            Node::Dim(d) if *d < DATA => true,
            Node::Dim(d) => match self.ir.def(self.data[(*d - DATA) as usize].0) {
                Def::Result(op, _) => self.ir.is_op(op, kernels::PositionOp::NAME),
                Def::Arg(..) => false,
            },
            Node::Sum(terms, c) => {
                let negative = terms.iter().any(|t| t.coefficient < 0) || *c < 0;
                if !negative {
                    return terms.iter().all(|t| again(&t.monomial));
                }
                self.lower_bound(e, depth + 1).is_some_and(|l| l >= 0)
            }
            Node::Product(factors) => factors.iter().all(|f| f.power % 2 == 0 || again(&f.base)),
            Node::FloorDiv(a, b) => again(a) && again(b),
            Node::Mod(_, b) => again(b),
            Node::Min(args) => args.iter().all(again),
            Node::Max(args) => args.iter().any(again),
            Node::Unfolded(..) => false,
        }
    }

    /// A number that an expression is never below.
    fn lower_bound(&self, e: Expr, depth: u32) -> Option<i128> {
        if self.is_simple(e) {
            return if self.is_nonnegative(e, depth) { Some(0) } else { None };
        }
        match self.exprs.node(e) {
            Node::Sum(terms, c) => terms.iter().try_fold(i128::from(*c), |sum, t| {
                let k = i128::from(t.coefficient);
                let bound =
                    if k >= 0 { self.lower_bound(t.monomial, depth + 1)? } else { self.upper_bound(t.monomial)? };
                sum.checked_add(k.checked_mul(bound)?)
            }),
            Node::Const(c) => Some(i128::from(*c)),
            _ => None,
        }
    }

    fn is_simple(&self, e: Expr) -> bool {
        !matches!(self.exprs.node(e), Node::Sum(..) | Node::Const(_))
    }

    /// A number that an expression never exceeds.
    fn upper_bound(&self, e: Expr) -> Option<i128> {
        match self.exprs.node(e) {
            Node::Const(c) => Some(i128::from(*c)),
            Node::Dim(LANE) => Some(i128::from(self.width) - 1),
            Node::Dim(d) if *d < LANE => {
                // Past the extent lie at most the lanes of one step.
                let axis = &self.kernel.axes[*d as usize];
                Some(i128::from(self.exprs.as_int(axis.extent)?) - 1)
            }
            Node::Mod(_, n) => Some(i128::from(self.exprs.as_int(*n).filter(|n| *n > 0)?) - 1),
            Node::FloorDiv(a, n) => {
                let n = i128::from(self.exprs.as_int(*n).filter(|n| *n > 0)?);
                Some(self.upper_bound(*a)?.div_euclid(n))
            }
            Node::Sum(terms, c) => terms.iter().try_fold(i128::from(*c), |sum, t| {
                let k = i128::from(t.coefficient);
                let bound = if k >= 0 { self.upper_bound(t.monomial)? } else { self.lower_bound(t.monomial, 8)? };
                sum.checked_add(k.checked_mul(bound)?)
            }),
            _ => None,
        }
    }

    /// How an expression moves along the lanes, if it does so by a fixed amount.
    pub fn linear(&mut self, e: Expr) -> Option<Linear> {
        let zero = self.exprs.int(0);
        if self.width == 1 {
            let base = self.exprs.subst(e, &[(Atom::Dim(LANE), zero)]);
            return Some(Linear { base, stride: zero });
        }
        if !self.exprs.contains(e, Atom::Dim(LANE)) {
            return Some(Linear { base: e, stride: zero });
        }
        match self.exprs.node(e).clone() {
            Node::Dim(_) => Some(Linear { base: zero, stride: self.exprs.int(1) }),
            Node::Sum(terms, c) => {
                let (mut bases, mut strides) = (Vec::new(), Vec::new());
                for t in terms.iter() {
                    let l = self.linear(t.monomial)?;
                    bases.push((t.coefficient, l.base));
                    strides.push((t.coefficient, l.stride));
                }
                Some(Linear { base: self.exprs.linear_sum(&bases, c), stride: self.exprs.linear_sum(&strides, 0) })
            }
            Node::Product(factors) => {
                let mut rest = Vec::new();
                let mut moving = None;
                for f in factors.iter() {
                    if self.exprs.contains(f.base, Atom::Dim(LANE)) {
                        if f.power > 1 || moving.is_some() {
                            return None;
                        }
                        moving = Some(self.linear(f.base)?);
                    } else {
                        rest.push(self.exprs.pow(f.base, f.power));
                    }
                }
                let l = moving?;
                let rest = self.exprs.product(&rest);
                Some(Linear { base: self.exprs.mul(rest, l.base), stride: self.exprs.mul(rest, l.stride) })
            }
            // Within a step, a quotient stays and a remainder runs on where the step does not cross a multiple of the divisor.
            Node::FloorDiv(x, n) => {
                let l = self.within_multiple(x, n)?;
                Some(Linear { base: self.exprs.floordiv(l.base, n), stride: zero })
            }
            Node::Mod(x, n) => {
                let l = self.within_multiple(x, n)?;
                Some(Linear { base: self.exprs.modulo(l.base, n), stride: l.stride })
            }
            _ => None,
        }
    }

    /// `x` as a linear expression whose lanes lie between two multiples of the constant `n`.
    fn within_multiple(&mut self, x: Expr, n: Expr) -> Option<Linear> {
        let n = self.exprs.as_int(n).filter(|&n| n > 0)?;
        let l = self.linear(x)?;
        let stride = self.exprs.as_int(l.stride).filter(|&s| s >= 0)?;
        let (steps, offset) = self.granularity(l.base);
        let unit = gcd(steps, n);
        let last = offset.rem_euclid(unit).checked_add(stride.checked_mul(i64::from(self.width) - 1)?)?;
        (last < unit).then_some(l)
    }

    /// `(g, c)` such that the expression is `c` plus a multiple of `g`.
    fn granularity(&self, e: Expr) -> (i64, i64) {
        let of_atom = |e: Expr| match self.exprs.node(e) {
            Node::Dim(d) if *d < LANE && self.is_tiled(*d as usize) => i64::from(self.width),
            _ => 1,
        };
        match self.exprs.node(e) {
            Node::Const(c) => (0, *c),
            Node::Sum(terms, c) => {
                let g = terms.iter().fold(0, |g, t| gcd(g, t.coefficient.saturating_mul(of_atom(t.monomial))));
                (g, *c)
            }
            _ => (of_atom(e), 0),
        }
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.saturating_abs(), b.saturating_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
