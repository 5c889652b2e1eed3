//! Traversal without recursion: atoms, cost, substitution, evaluation, lowering.
//!
//! Operands stand before their users in the arena, so the nodes that an expression reaches, in the order
//! of their ids, are an order in which each can be computed from those before it.

use std::convert::Infallible;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::expr::{Atom, Expr, Exprs, Factor, Node, Term, Unfolded};

/// Why an expression has no value at some point.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EvalError {
    /// An atom was given no value.
    #[error("{0:?} has no value")]
    Unbound(Atom),
    /// A divisor is zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A part of the expression is not in `i64`.
    #[error("integer overflow")]
    Overflow,
}

/// What an expression is computed with: integers, instructions, text.
pub trait Lower {
    /// A computed value.
    type Value: Clone;
    /// Why a value cannot be computed.
    type Error;
    /// A constant.
    fn constant(&mut self, value: i64) -> Result<Self::Value, Self::Error>;
    /// An atom.
    fn atom(&mut self, atom: Atom) -> Result<Self::Value, Self::Error>;
    /// `a + b`.
    fn add(&mut self, a: Self::Value, b: Self::Value) -> Result<Self::Value, Self::Error>;
    /// `a - b`.
    fn sub(&mut self, a: Self::Value, b: Self::Value) -> Result<Self::Value, Self::Error>;
    /// `a * b`.
    fn mul(&mut self, a: Self::Value, b: Self::Value) -> Result<Self::Value, Self::Error>;
    /// `floor(a / b)`.
    fn floordiv(&mut self, a: Self::Value, b: Self::Value) -> Result<Self::Value, Self::Error>;
    /// `a - b * floor(a / b)`.
    fn modulo(&mut self, a: Self::Value, b: Self::Value) -> Result<Self::Value, Self::Error>;
    /// The lesser.
    fn min(&mut self, a: Self::Value, b: Self::Value) -> Result<Self::Value, Self::Error>;
    /// The greater.
    fn max(&mut self, a: Self::Value, b: Self::Value) -> Result<Self::Value, Self::Error>;
}

/// Evaluation in checked `i64`.
struct Evaluate<F>(F);

impl<F: FnMut(Atom) -> Option<i64>> Lower for Evaluate<F> {
    type Value = i64;
    type Error = EvalError;
    fn constant(&mut self, value: i64) -> Result<i64, EvalError> {
        Ok(value)
    }
    fn atom(&mut self, atom: Atom) -> Result<i64, EvalError> {
        (self.0)(atom).ok_or(EvalError::Unbound(atom))
    }
    fn add(&mut self, a: i64, b: i64) -> Result<i64, EvalError> {
        a.checked_add(b).ok_or(EvalError::Overflow)
    }
    fn sub(&mut self, a: i64, b: i64) -> Result<i64, EvalError> {
        a.checked_sub(b).ok_or(EvalError::Overflow)
    }
    fn mul(&mut self, a: i64, b: i64) -> Result<i64, EvalError> {
        a.checked_mul(b).ok_or(EvalError::Overflow)
    }
    fn floordiv(&mut self, a: i64, b: i64) -> Result<i64, EvalError> {
        floor_div(a, b).ok_or(if b == 0 { EvalError::DivisionByZero } else { EvalError::Overflow })
    }
    fn modulo(&mut self, a: i64, b: i64) -> Result<i64, EvalError> {
        floor_mod(a, b).ok_or(EvalError::DivisionByZero)
    }
    fn min(&mut self, a: i64, b: i64) -> Result<i64, EvalError> {
        Ok(a.min(b))
    }
    fn max(&mut self, a: i64, b: i64) -> Result<i64, EvalError> {
        Ok(a.max(b))
    }
}

/// Making the same expression in another arena; the names are those of the first.
struct Import<'a> {
    from: &'a Exprs,
    into: &'a mut Exprs,
}

impl Lower for Import<'_> {
    type Value = Expr;
    type Error = Infallible;
    fn constant(&mut self, value: i64) -> Result<Expr, Infallible> {
        Ok(self.into.int(value))
    }
    fn atom(&mut self, atom: Atom) -> Result<Expr, Infallible> {
        Ok(match atom {
            Atom::Dim(d) => self.into.dim(d),
            Atom::Sym(s) => self.into.sym(self.from.sym_name(s)),
        })
    }
    fn add(&mut self, a: Expr, b: Expr) -> Result<Expr, Infallible> {
        Ok(self.into.add(a, b))
    }
    fn sub(&mut self, a: Expr, b: Expr) -> Result<Expr, Infallible> {
        Ok(self.into.sub(a, b))
    }
    fn mul(&mut self, a: Expr, b: Expr) -> Result<Expr, Infallible> {
        Ok(self.into.mul(a, b))
    }
    fn floordiv(&mut self, a: Expr, b: Expr) -> Result<Expr, Infallible> {
        Ok(self.into.floordiv(a, b))
    }
    fn modulo(&mut self, a: Expr, b: Expr) -> Result<Expr, Infallible> {
        Ok(self.into.modulo(a, b))
    }
    fn min(&mut self, a: Expr, b: Expr) -> Result<Expr, Infallible> {
        Ok(self.into.min(&[a, b]))
    }
    fn max(&mut self, a: Expr, b: Expr) -> Result<Expr, Infallible> {
        Ok(self.into.max(&[a, b]))
    }
}

/// `floor(a / b)`; `None` if `b` is 0 or the result leaves `i64`.
pub(crate) fn floor_div(a: i64, b: i64) -> Option<i64> {
    let q = a.checked_div(b)?;
    Some(if a % b != 0 && (a < 0) != (b < 0) { q - 1 } else { q })
}

/// `a - b * floor(a / b)`; `None` if `b` is 0.
pub(crate) fn floor_mod(a: i64, b: i64) -> Option<i64> {
    if b == 0 {
        return None;
    }
    let r = a.wrapping_rem(b);
    Some(if r != 0 && (r < 0) != (b < 0) { r + b } else { r })
}

impl Exprs {
    /// The direct operands of `e`, in order; terms give their monomials and factors their bases.
    pub fn operands(&self, e: Expr) -> impl Iterator<Item = Expr> + '_ {
        let (terms, factors, args, pair): (&[_], &[_], &[Expr], _) = match self.node(e) {
            Node::Const(_) | Node::Dim(_) | Node::Sym(_) => (&[], &[], &[], None),
            Node::Sum(t, _) => (t, &[], &[], None),
            Node::Product(f) => (&[], f, &[], None),
            Node::FloorDiv(a, b) | Node::Mod(a, b) => (&[], &[], &[], Some([*a, *b])),
            Node::Min(args) | Node::Max(args) | Node::Unfolded(_, args) => (&[], &[], args, None),
        };
        let terms = terms.iter().map(|t: &Term| t.monomial);
        let factors = factors.iter().map(|f: &Factor| f.base);
        terms.chain(factors).chain(args.iter().copied()).chain(pair.into_iter().flatten())
    }

    /// Every node that `e` reaches, operands before users, `e` last.
    pub fn postorder(&self, e: Expr) -> Vec<Expr> {
        let mut seen: FxHashSet<Expr> = FxHashSet::default();
        let mut found = vec![e];
        seen.insert(e);
        let mut next = 0;
        while let Some(&e) = found.get(next) {
            next += 1;
            found.extend(self.operands(e).filter(|&o| seen.insert(o)));
        }
        found.sort_unstable();
        found
    }

    /// The atoms that occur in `e`, each once, dimensions first.
    pub fn atoms(&self, e: Expr) -> impl Iterator<Item = Atom> + use<> {
        let mut atoms: Vec<Atom> = self.postorder(e).into_iter().filter_map(|o| self.as_atom(o)).collect();
        atoms.sort_unstable();
        atoms.into_iter()
    }

    /// Whether `atom` occurs in `e`.
    pub fn contains(&self, e: Expr, atom: Atom) -> bool {
        let info = self.info(e);
        match atom {
            Atom::Dim(d) if d < 63 => info.dims & (1 << d) != 0,
            Atom::Dim(_) if info.dims & (1 << 63) == 0 => false,
            Atom::Sym(_) if !info.syms => false,
            _ => self.atoms(e).any(|a| a == atom),
        }
    }

    /// How many integer operations compute `e`, each shared part once.
    pub fn cost(&self, e: Expr) -> usize {
        self.postorder(e)
            .into_iter()
            .map(|o| match self.node(o) {
                Node::Const(_) | Node::Dim(_) | Node::Sym(_) => 0,
                Node::Sum(terms, constant) => {
                    let scaled = terms.iter().filter(|t| t.coefficient.unsigned_abs() != 1).count();
                    terms.len() - 1 + usize::from(*constant != 0) + scaled
                }
                Node::Product(factors) => factors.iter().map(|f| steps_of_power(f.power) + 1).sum::<usize>() - 1,
                Node::FloorDiv(..) | Node::Mod(..) => 1,
                Node::Unfolded(Unfolded::Power(n), _) => steps_of_power(*n),
                Node::Min(args) | Node::Max(args) | Node::Unfolded(_, args) => args.len() - 1,
            })
            .sum()
    }

    /// Computes `e` bottom up, each shared part once.
    pub fn lower<L: Lower>(&self, e: Expr, with: &mut L) -> Result<L::Value, L::Error> {
        let mut values: FxHashMap<Expr, L::Value> = FxHashMap::default();
        for o in self.postorder(e) {
            let value = self.lower_node(o, &values, with)?;
            values.insert(o, value);
        }
        Ok(values.remove(&e).expect("the postorder ends with the expression"))
    }

    fn lower_node<L: Lower>(
        &self,
        e: Expr,
        values: &FxHashMap<Expr, L::Value>,
        with: &mut L,
    ) -> Result<L::Value, L::Error> {
        let get = |o: &Expr| values.get(o).expect("operands are computed before their users").clone();
        match self.node(e) {
            Node::Const(c) => with.constant(*c),
            Node::Dim(d) => with.atom(Atom::Dim(*d)),
            Node::Sym(s) => with.atom(Atom::Sym(*s)),
            Node::Sum(terms, constant) => {
                // What is added comes first, so that a difference needs no negation.
                let (plus, minus): (Vec<Term>, Vec<Term>) = terms.iter().partition(|t| t.coefficient > 0);
                let mut sum = None;
                for t in plus {
                    let term = scaled(with, get(&t.monomial), t.coefficient)?;
                    sum = Some(match sum {
                        None => term,
                        Some(s) => with.add(s, term)?,
                    });
                }
                if *constant > 0 || (sum.is_none() && *constant != 0) {
                    let c = with.constant(*constant)?;
                    sum = Some(match sum {
                        None => c,
                        Some(s) => with.add(s, c)?,
                    });
                }
                for t in minus {
                    sum = Some(match (sum, t.coefficient.checked_neg()) {
                        (Some(s), Some(c)) => {
                            let term = scaled(with, get(&t.monomial), c)?;
                            with.sub(s, term)?
                        }
                        (Some(s), None) => {
                            let term = scaled(with, get(&t.monomial), t.coefficient)?;
                            with.add(s, term)?
                        }
                        (None, _) => scaled(with, get(&t.monomial), t.coefficient)?,
                    });
                }
                let sum = sum.expect("a sum has a term");
                match constant.checked_neg() {
                    Some(c) if c > 0 && terms.iter().any(|t| t.coefficient > 0) => {
                        let c = with.constant(c)?;
                        with.sub(sum, c)
                    }
                    None if terms.iter().any(|t| t.coefficient > 0) => {
                        let c = with.constant(*constant)?;
                        with.add(sum, c)
                    }
                    _ => Ok(sum),
                }
            }
            Node::Product(factors) => {
                let mut product = None;
                for f in factors {
                    let p = power(with, get(&f.base), f.power)?;
                    product = Some(match product {
                        None => p,
                        Some(q) => with.mul(q, p)?,
                    });
                }
                Ok(product.expect("a product has a factor"))
            }
            Node::FloorDiv(a, b) => with.floordiv(get(a), get(b)),
            Node::Mod(a, b) => with.modulo(get(a), get(b)),
            Node::Unfolded(Unfolded::Power(n), args) => power(with, get(&args[0]), *n),
            node @ (Node::Min(args) | Node::Max(args) | Node::Unfolded(_, args)) => {
                let mut all = get(&args[0]);
                for o in &args[1..] {
                    all = match node {
                        Node::Min(_) => with.min(all, get(o)),
                        Node::Max(_) => with.max(all, get(o)),
                        Node::Unfolded(Unfolded::Sum, _) => with.add(all, get(o)),
                        _ => with.mul(all, get(o)),
                    }?;
                }
                Ok(all)
            }
        }
    }

    /// The value of `e` where `values` gives its atoms, in `i64`.
    pub fn eval(&self, e: Expr, values: impl FnMut(Atom) -> Option<i64>) -> Result<i64, EvalError> {
        self.lower(e, &mut Evaluate(values))
    }

    /// The expression `e` of another arena, in this one. Symbols are those of the same name.
    pub fn import(&mut self, from: &Exprs, e: Expr) -> Expr {
        let Ok(e) = from.lower(e, &mut Import { from, into: self });
        e
    }

    /// `e` with the atoms replaced, all at once.
    pub fn subst(&mut self, e: Expr, with: &[(Atom, Expr)]) -> Expr {
        let map: FxHashMap<Atom, Expr> = with.iter().copied().collect();
        self.subst_with(e, |_, atom| map.get(&atom).copied())
    }

    /// `e` with each atom replaced by what `with` gives for it, if anything.
    pub fn subst_with(&mut self, e: Expr, mut with: impl FnMut(&mut Exprs, Atom) -> Option<Expr>) -> Expr {
        // What a replacement made an atom is not replaced again.
        self.rebuild(e, |ex, old, new| match ex.as_atom(old) {
            Some(atom) => with(ex, atom).unwrap_or(new),
            None => new,
        })
    }

    /// `e` made anew bottom up, with `change` applied to each node, old and with its operands replaced.
    pub(crate) fn rebuild(&mut self, e: Expr, mut change: impl FnMut(&mut Exprs, Expr, Expr) -> Expr) -> Expr {
        let mut new: FxHashMap<Expr, Expr> = FxHashMap::default();
        for o in self.postorder(e) {
            let same = self.operands(o).all(|x| new[&x] == x);
            let rebuilt = if same { o } else { self.with_operands(o, |x| new[&x]) };
            let rebuilt = change(self, o, rebuilt);
            new.insert(o, rebuilt);
        }
        new[&e]
    }

    /// The node of `e` over other operands.
    pub(crate) fn with_operands(&mut self, e: Expr, map: impl Fn(Expr) -> Expr) -> Expr {
        match self.node(e).clone() {
            Node::Const(_) | Node::Dim(_) | Node::Sym(_) => e,
            Node::Sum(terms, constant) => {
                let parts: Vec<_> = terms.iter().map(|t| (t.coefficient, map(t.monomial))).collect();
                self.linear_sum(&parts, constant)
            }
            Node::Product(factors) => {
                let parts: Vec<_> = factors.iter().map(|f| self.pow(map(f.base), f.power)).collect();
                self.product(&parts)
            }
            Node::FloorDiv(a, b) => self.floordiv(map(a), map(b)),
            Node::Mod(a, b) => self.modulo(map(a), map(b)),
            Node::Min(args) => self.min(&args.iter().map(|&a| map(a)).collect::<Vec<_>>()),
            Node::Max(args) => self.max(&args.iter().map(|&a| map(a)).collect::<Vec<_>>()),
            Node::Unfolded(op, args) => {
                let args: Vec<_> = args.iter().map(|&a| map(a)).collect();
                match op {
                    Unfolded::Sum => self.sum(&args),
                    Unfolded::Product => self.product(&args),
                    Unfolded::Power(n) => self.pow(args[0], n),
                }
            }
        }
    }
}

fn scaled<L: Lower>(with: &mut L, value: L::Value, c: i64) -> Result<L::Value, L::Error> {
    if c == 1 {
        return Ok(value);
    }
    let c = with.constant(c)?;
    with.mul(value, c)
}

/// Multiplications that [`power`] makes.
fn steps_of_power(n: u32) -> usize {
    if n == 0 { 0 } else { (31 - n.leading_zeros() + n.count_ones() - 1) as usize }
}

/// `value ** n` by repeated squaring; `n` is at least 1.
fn power<L: Lower>(with: &mut L, value: L::Value, n: u32) -> Result<L::Value, L::Error> {
    let mut result = value.clone();
    for bit in (0..31 - n.leading_zeros()).rev() {
        result = with.mul(result.clone(), result)?;
        if n & (1 << bit) != 0 {
            result = with.mul(result, value.clone())?;
        }
    }
    Ok(result)
}
