//! Random expressions as trees, with their values by definition, and random environments.

use rinductor_index::{Atom, Expr, Exprs};

/// The atoms of the trees, in the order of the coordinates of a point.
pub const NAMES: [&str; 4] = ["d0", "d1", "s0", "s1"];

/// The atom of one of the [`NAMES`].
pub fn atom(ex: &mut Exprs, name: &str) -> Atom {
    match name {
        "d0" => Atom::Dim(0),
        "d1" => Atom::Dim(1),
        _ => Atom::Sym(ex.sym_id(name)),
    }
}

/// A generator of numbers (splitmix64).
pub struct Random(u64);

impl Random {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0xD134_2543_DE82_EF95))
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }

    fn within(&mut self, lo: i64, hi: i64) -> i64 {
        lo + self.below((hi - lo + 1) as u64) as i64
    }
}

/// An expression as written.
#[derive(Debug)]
pub enum Tree {
    Int(i64),
    Atom(usize),
    Binary(&'static str, Box<Tree>, Box<Tree>),
}

const OPERATIONS: [&str; 12] = ["+", "+", "-", "*", "*", "floordiv", "floordiv", "mod", "mod", "ceildiv", "min", "max"];

impl Tree {
    /// A tree at most `depth` deep.
    pub fn random(r: &mut Random, depth: u32) -> Tree {
        if depth == 0 || r.below(8) == 0 {
            return if r.below(3) == 0 { Tree::Int(r.within(-4, 9)) } else { Tree::Atom(r.below(4) as usize) };
        }
        // One in six is a number taken apart by a divisor and put together again, as a reshape of a reshape does.
        if r.below(6) == 0 {
            let n = [2, 4, 6, 8][r.below(4) as usize];
            let seed = r.below(u64::MAX);
            let x = || Box::new(Tree::random(&mut Random::new(seed), depth - 1));
            let int = |n| Box::new(Tree::Int(n));
            let quotient = Box::new(Tree::Binary("floordiv", x(), int(n)));
            let whole = Box::new(Tree::Binary("*", quotient, int(n)));
            return Tree::Binary("+", whole, Box::new(Tree::Binary("mod", x(), int(n))));
        }
        let op = OPERATIONS[r.below(OPERATIONS.len() as u64) as usize];
        let left = Box::new(Tree::random(r, depth - 1));
        let right = match op {
            "floordiv" | "mod" | "ceildiv" if r.below(4) > 0 => {
                let k = [2, 3, 4, 6, 8, 12, -2, 1][r.below(8) as usize];
                Box::new(if r.below(4) == 0 { Tree::Atom(2 + r.below(2) as usize) } else { Tree::Int(k) })
            }
            "*" if r.below(2) == 0 => Box::new(Tree::Int(r.within(-3, 8))),
            _ => Box::new(Tree::random(r, depth - 1)),
        };
        Tree::Binary(op, left, right)
    }

    /// The same tree, its numbers replaced by some near the ends of `i64`.
    pub fn enlarged(self, r: &mut Random) -> Tree {
        const LARGE: [i64; 8] = [i64::MIN, i64::MIN + 1, i64::MAX, i64::MAX - 1, 1 << 62, -(1 << 62), 1 << 32, -1];
        match self {
            Tree::Int(_) if r.below(2) == 0 => Tree::Int(LARGE[r.below(8) as usize]),
            Tree::Binary(op, a, b) => {
                let (a, b) = (a.enlarged(r), b.enlarged(r));
                Tree::Binary(op, Box::new(a), Box::new(b))
            }
            other => other,
        }
    }

    /// The tree as an expression.
    pub fn build(&self, ex: &mut Exprs) -> Expr {
        match self {
            Tree::Int(c) => ex.int(*c),
            Tree::Atom(i) => {
                let atom = atom(ex, NAMES[*i]);
                ex.atom(atom)
            }
            Tree::Binary(op, a, b) => {
                let (a, b) = (a.build(ex), b.build(ex));
                match *op {
                    "+" => ex.add(a, b),
                    "-" => ex.sub(a, b),
                    "*" => ex.mul(a, b),
                    "floordiv" => ex.floordiv(a, b),
                    "ceildiv" => ex.ceildiv(a, b),
                    "mod" => ex.modulo(a, b),
                    "min" => ex.min(&[a, b]),
                    _ => ex.max(&[a, b]),
                }
            }
        }
    }

    /// The value by the definitions of the operations; `None` where a divisor is zero or `i128` does not hold a part.
    pub fn value(&self, point: &[i64; 4]) -> Option<i128> {
        let (op, a, b) = match self {
            Tree::Int(c) => return Some(i128::from(*c)),
            Tree::Atom(i) => return Some(i128::from(point[*i])),
            Tree::Binary(op, a, b) => (*op, a.value(point)?, b.value(point)?),
        };
        match op {
            "+" => a.checked_add(b),
            "-" => a.checked_sub(b),
            "*" => a.checked_mul(b),
            "min" => Some(a.min(b)),
            "max" => Some(a.max(b)),
            _ if b == 0 => None,
            "floordiv" => Some(floor(a, b)),
            "ceildiv" => Some(-floor(a.checked_neg()?, b)),
            _ => Some(if a % b != 0 && (a < 0) != (b < 0) { a % b + b } else { a % b }),
        }
    }
}

fn floor(a: i128, b: i128) -> i128 {
    let q = a / b;
    if a % b != 0 && (a < 0) != (b < 0) { q - 1 } else { q }
}

/// The points of a box whose coordinates have given remainders.
#[derive(Debug)]
pub struct Points {
    pub lo: [i64; 4],
    pub hi: [i64; 4],
    pub modulus: [i64; 4],
    pub residue: [i64; 4],
}

impl Points {
    /// Dimensions from about 0, symbols from about 1, some negative, some with few remainders.
    pub fn random(r: &mut Random) -> Points {
        let mut p = Points { lo: [0, 0, 1, 1], hi: [0; 4], modulus: [1; 4], residue: [0; 4] };
        for i in 0..4 {
            if r.below(5) == 0 {
                p.lo[i] = r.within(-5, 3);
            }
            let mut width = r.within(0, 5);
            if r.below(4) == 0 {
                p.modulus[i] = [2, 4, 8, 3][r.below(4) as usize];
                p.residue[i] = if r.below(2) == 0 { 0 } else { r.within(0, p.modulus[i] - 1) };
                width = 2 * p.modulus[i];
            }
            p.hi[i] = p.lo[i] + width;
        }
        p
    }

    /// All points.
    pub fn all(&self) -> impl Iterator<Item = [i64; 4]> + '_ {
        let axis =
            move |i: usize| (self.lo[i]..=self.hi[i]).filter(move |v| v.rem_euclid(self.modulus[i]) == self.residue[i]);
        axis(0)
            .flat_map(move |a| axis(1).flat_map(move |b| axis(2).flat_map(move |c| axis(3).map(move |d| [a, b, c, d]))))
    }
}
