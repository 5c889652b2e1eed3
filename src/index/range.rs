//! What is known of a value: an interval and a congruence, and the environment that gives both for atoms.
//!
//! Intervals are computed wide, so that a bound that leaves `i64` is only lost and never wrong.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::expr::{Atom, Expr, Exprs, Node, Unfolded};

/// The values from `lo` to `hi`, both included; `None` is no bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Range {
    /// The least value.
    pub lo: Option<i64>,
    /// The greatest value.
    pub hi: Option<i64>,
}

impl Range {
    /// All integers.
    pub const ANY: Range = Range { lo: None, hi: None };

    /// The values from `lo` to `hi`, both included.
    pub fn new(lo: i64, hi: i64) -> Range {
        Range { lo: Some(lo), hi: Some(hi) }
    }

    /// `lo` and all above.
    pub fn at_least(lo: i64) -> Range {
        Range { lo: Some(lo), hi: None }
    }

    /// The value, if there is only one.
    pub fn exact(self) -> Option<i64> {
        self.lo.filter(|_| self.lo == self.hi)
    }

    /// Whether `value` is in it.
    pub fn contains(self, value: i64) -> bool {
        self.lo.is_none_or(|lo| lo <= value) && self.hi.is_none_or(|hi| value <= hi)
    }
}

/// `value mod modulus == residue`. Modulus 1 says nothing; modulus 0 says that the value is the residue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Congruence {
    /// Not negative.
    pub modulus: i64,
    /// From 0 to the modulus, where that is not 0.
    pub residue: i64,
}

/// What is known of atoms.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    known: FxHashMap<Atom, Known>,
    /// What is known of symbols that were not mentioned.
    symbols: Range,
    /// What is known of dimensions that were not mentioned.
    dims: Range,
}

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    range: Option<Range>,
    congruence: Option<(i64, i64)>,
    extent: Option<Expr>,
}

impl Ranges {
    /// Nothing is known.
    pub fn new() -> Ranges {
        Ranges::default()
    }

    /// Dimensions are at least 0 and symbols at least `size`, unless told otherwise.
    pub fn of_sizes(size: i64) -> Ranges {
        Ranges { known: FxHashMap::default(), symbols: Range::at_least(size), dims: Range::at_least(0) }
    }

    /// The atom is in `range`.
    pub fn set(&mut self, atom: Atom, range: Range) {
        self.known.entry(atom).or_default().range = Some(range);
    }

    /// `lo <= d[dim]`, and `d[dim] <= hi` if given.
    pub fn set_dim(&mut self, dim: u32, lo: i64, hi: Option<i64>) {
        self.set(Atom::Dim(dim), Range { lo: Some(lo), hi });
    }

    /// `0 <= d[dim] < extent`. The extent is an expression over symbols.
    pub fn set_extent(&mut self, dim: u32, extent: Expr) {
        self.known.entry(Atom::Dim(dim)).or_default().extent = Some(extent);
    }

    /// The extent that was given for a dimension.
    pub fn extent(&self, dim: u32) -> Option<Expr> {
        self.known.get(&Atom::Dim(dim))?.extent
    }

    /// `atom mod modulus == residue`; a modulus below 1 is ignored.
    pub fn set_congruence(&mut self, atom: Atom, modulus: i64, residue: i64) {
        if modulus >= 1 {
            self.known.entry(atom).or_default().congruence = Some((modulus, residue));
        }
    }

    /// The atom is a multiple of `divisor`.
    pub fn set_divisible(&mut self, atom: Atom, divisor: i64) {
        self.set_congruence(atom, divisor, 0);
    }

    /// What is known of the values of an atom.
    pub fn range(&self, atom: Atom) -> Range {
        self.known(atom).range.unwrap_or(Range::ANY)
    }

    fn known(&self, atom: Atom) -> Known {
        let mut known = self.known.get(&atom).copied().unwrap_or_default();
        known.range = known.range.or(Some(match atom {
            Atom::Dim(_) => self.dims,
            Atom::Sym(_) => self.symbols,
        }));
        known
    }
}

/// Beyond this, a bound counts as none.
const FAR: i128 = 1 << 100;

/// An interval and a congruence. Bounds at or beyond [`FAR`] are infinite.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Facts {
    pub lo: i128,
    pub hi: i128,
    pub modulus: i128,
    pub residue: i128,
}

impl Facts {
    const ANY: Facts = Facts { lo: -FAR, hi: FAR, modulus: 1, residue: 0 };

    fn exactly(value: i128) -> Facts {
        Facts { lo: value, hi: value, modulus: 0, residue: value }
    }

    /// The value, if only one is possible and `i64` holds it.
    pub fn exact(self) -> Option<i64> {
        if self.lo == self.hi { i64::try_from(self.lo).ok() } else { None }
    }

    pub fn divisible_by(self, k: i64) -> bool {
        let k = i128::from(k);
        k != 0 && self.modulus % k == 0 && self.residue % k == 0
    }

    pub fn range(self) -> Range {
        // A value in i64 cannot be beyond it, so a wider bound says nothing.
        Range { lo: i64::try_from(self.lo).ok(), hi: i64::try_from(self.hi).ok() }
    }

    fn interval(lo: i128, hi: i128) -> Facts {
        // A bound on the far side stays a bound, so that two of them never look like one value.
        Facts { lo: lo.clamp(-FAR, FAR - 1), hi: hi.clamp(1 - FAR, FAR), modulus: 1, residue: 0 }
    }

    fn with_congruence(mut self, modulus: Option<i128>, residue: Option<i128>) -> Facts {
        if let (Some(m), Some(r)) = (modulus, residue)
            && m.unsigned_abs() < 1 << 62
            && r.unsigned_abs() < FAR.unsigned_abs()
        {
            (self.modulus, self.residue) = (m.abs(), if m == 0 { r } else { r.rem_euclid(m.abs()) });
        }
        self.tight()
    }

    /// Bounds moved to the next value that the congruence admits.
    fn tight(mut self) -> Facts {
        let Facts { modulus: m, residue: r, .. } = self;
        if m > 1 {
            if self.lo > -FAR {
                self.lo += (r - self.lo).rem_euclid(m);
            }
            if self.hi < FAR {
                self.hi -= (self.hi - r).rem_euclid(m);
            }
        } else if m == 0 {
            (self.lo, self.hi) = (self.lo.max(r), self.hi.min(r));
        }
        if self.lo == self.hi {
            (self.modulus, self.residue) = (0, self.lo);
        }
        self
    }

    fn add(self, o: Facts) -> Facts {
        let m = gcd(self.modulus, o.modulus);
        let lo = if self.lo.min(o.lo) <= -FAR { -FAR } else { self.lo + o.lo };
        let hi = if self.hi.max(o.hi) >= FAR { FAR } else { self.hi + o.hi };
        Facts::interval(lo, hi).with_congruence(Some(m), Some(self.residue + o.residue))
    }

    fn mul(self, o: Facts) -> Facts {
        let bound = |a: i128, b: i128| match a.checked_mul(b) {
            Some(p) => p.clamp(-FAR, FAR),
            None => (a.signum() * b.signum()) * FAR,
        };
        let corners = [bound(self.lo, o.lo), bound(self.lo, o.hi), bound(self.hi, o.lo), bound(self.hi, o.hi)];
        let (lo, hi) = corners.iter().fold((FAR, -FAR), |(lo, hi), &c| (lo.min(c), hi.max(c)));
        let modulus = [(self.modulus, o.modulus), (self.modulus, o.residue), (self.residue, o.modulus)]
            .into_iter()
            .try_fold(0, |g, (a, b)| Some(gcd(g, a.checked_mul(b)?)));
        Facts::interval(lo, hi).with_congruence(modulus, self.residue.checked_mul(o.residue))
    }

    fn pow(self, mut n: u32) -> Facts {
        let even = n.is_multiple_of(2);
        let (mut result, mut base) = (Facts::exactly(1), self);
        while n > 0 {
            if n & 1 == 1 {
                result = result.mul(base);
            }
            base = base.mul(base);
            n >>= 1;
        }
        if even && result.lo < 0 {
            result.lo = 0;
            result = result.tight();
        }
        result
    }

    fn floordiv(self, b: Facts) -> Facts {
        if b.hi < 0 || (b.hi == 0 && b.lo < 0) {
            return self.mul(Facts::exactly(-1)).floordiv(b.mul(Facts::exactly(-1)));
        }
        if b.lo < 0 {
            let most = self.lo.abs().max(self.hi.abs());
            return Facts::interval(-most, most).tight();
        }
        let (near, far) = (b.lo.max(1), b.hi.max(1));
        let bound = |x: i128, towards_zero: bool| match x {
            x if x.abs() >= FAR && !(towards_zero && far >= FAR) => x,
            x => x.div_euclid(if towards_zero { far } else { near }),
        };
        let q = Facts::interval(bound(self.lo, self.lo >= 0), bound(self.hi, self.hi < 0));
        if b.lo == b.hi && self.modulus != 1 && self.modulus % near == 0 {
            return q.with_congruence(Some(self.modulus / near), Some(self.residue.div_euclid(near)));
        }
        q.tight()
    }

    fn modulo(self, b: Facts) -> Facts {
        if b.lo < 0 {
            if b.hi <= 0 {
                return self.mul(Facts::exactly(-1)).modulo(b.mul(Facts::exactly(-1))).mul(Facts::exactly(-1));
            }
            let lo = if b.lo <= -FAR { -FAR } else { b.lo + 1 };
            return Facts::interval(lo, if b.hi >= FAR { FAR } else { b.hi - 1 }).tight();
        }
        let (near, far) = (b.lo.max(1), b.hi.max(1));
        let mut r = Facts::interval(0, if far >= FAR { FAR } else { far - 1 });
        if self.lo >= 0 {
            r.hi = r.hi.min(self.hi);
            if self.hi < near {
                return self;
            }
        }
        if near != far {
            return r.tight();
        }
        let q = self.lo.div_euclid(near);
        if self.lo > -FAR && self.hi < FAR && q == self.hi.div_euclid(near) {
            (r.lo, r.hi) = (self.lo - q * near, self.hi - q * near);
        }
        r.with_congruence(Some(gcd(self.modulus, near)), Some(self.residue))
    }

    fn extremum(self, o: Facts, greatest: bool) -> Facts {
        let pick = |a: i128, b: i128| if greatest { a.max(b) } else { a.min(b) };
        let m = gcd(gcd(self.modulus, o.modulus), self.residue - o.residue);
        Facts::interval(pick(self.lo, o.lo), pick(self.hi, o.hi)).with_congruence(Some(m), Some(self.residue))
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    // Only the least i128 has an absolute value that does not fit; nothing here computes with it.
    i128::try_from(a).unwrap_or(1)
}

/// Facts under one environment, each computed once.
pub(crate) struct Analysis<'a> {
    pub env: &'a Ranges,
    facts: FxHashMap<Expr, Facts>,
    extents: u32,
}

impl<'a> Analysis<'a> {
    pub fn new(env: &'a Ranges) -> Analysis<'a> {
        Analysis { env, facts: FxHashMap::default(), extents: 0 }
    }

    pub fn facts(&mut self, ex: &Exprs, e: Expr) -> Facts {
        if let Some(&f) = self.facts.get(&e) {
            return f;
        }
        // Only what is not known yet is walked.
        let mut seen = FxHashSet::default();
        let mut found = vec![e];
        let mut next = 0;
        while let Some(&o) = found.get(next) {
            next += 1;
            found.extend(ex.operands(o).filter(|o| !self.facts.contains_key(o) && seen.insert(*o)));
        }
        found.sort_unstable();
        for o in found {
            let f = self.of_node(ex, o);
            self.facts.insert(o, f);
        }
        self.facts[&e]
    }

    fn of_atom(&mut self, ex: &Exprs, atom: Atom) -> Facts {
        let known = self.env.known(atom);
        let range = known.range.unwrap_or_default();
        let mut f = Facts::interval(range.lo.map_or(-FAR, i128::from), range.hi.map_or(FAR, i128::from));
        // An extent over dimensions that have extents in turn is followed a little, which also ends cycles.
        if let Some(extent) = known.extent
            && self.extents < 4
        {
            self.extents += 1;
            let extent = self.facts(ex, extent);
            self.extents -= 1;
            f.lo = f.lo.max(0);
            // Of a dimension without points nothing is said: if it were 0, what it indexes would seem to be read at every other point.
            if extent.hi < FAR && extent.hi > f.lo {
                f.hi = f.hi.min(extent.hi - 1);
            }
        }
        let (m, r) = known.congruence.unwrap_or((1, 0));
        f.with_congruence(Some(i128::from(m)), Some(i128::from(r)))
    }

    fn of_node(&mut self, ex: &Exprs, e: Expr) -> Facts {
        let get = |o: &Expr| self.facts.get(o).copied().unwrap_or(Facts::ANY);
        match ex.node(e) {
            Node::Const(c) => Facts::exactly(i128::from(*c)),
            Node::Dim(d) => self.of_atom(ex, Atom::Dim(*d)),
            Node::Sym(s) => self.of_atom(ex, Atom::Sym(*s)),
            Node::Sum(terms, constant) => terms.iter().fold(Facts::exactly(i128::from(*constant)), |f, t| {
                f.add(get(&t.monomial).mul(Facts::exactly(i128::from(t.coefficient))))
            }),
            Node::Product(factors) => factors.iter().fold(Facts::exactly(1), |f, x| f.mul(get(&x.base).pow(x.power))),
            Node::FloorDiv(a, b) => get(a).floordiv(get(b)),
            Node::Mod(a, b) => get(a).modulo(get(b)),
            node @ (Node::Min(args) | Node::Max(args)) => {
                let greatest = matches!(node, Node::Max(_));
                args[1..].iter().fold(get(&args[0]), |f, a| f.extremum(get(a), greatest))
            }
            Node::Unfolded(op, args) => match op {
                Unfolded::Sum => args.iter().fold(Facts::exactly(0), |f, a| f.add(get(a))),
                Unfolded::Product => args.iter().fold(Facts::exactly(1), |f, a| f.mul(get(a))),
                Unfolded::Power(n) => get(&args[0]).pow(*n),
            },
        }
    }
}

impl Exprs {
    /// The values that `e` may take.
    pub fn range(&self, e: Expr, env: &Ranges) -> Range {
        Analysis::new(env).facts(self, e).range()
    }

    /// What is known of the remainders of `e`.
    pub fn congruence(&self, e: Expr, env: &Ranges) -> Congruence {
        let f = Analysis::new(env).facts(self, e);
        match (i64::try_from(f.modulus), i64::try_from(f.residue)) {
            (Ok(modulus), Ok(residue)) => Congruence { modulus, residue },
            _ => Congruence { modulus: 1, residue: 0 },
        }
    }

    /// Whether `e` is known to be a multiple of `k`.
    pub fn divisible_by(&self, e: Expr, k: i64, env: &Ranges) -> bool {
        Analysis::new(env).facts(self, e).divisible_by(k)
    }
}
