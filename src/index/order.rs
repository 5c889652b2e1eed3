//! The order of terms and factors: the same in every arena, whatever was made before.
//!
//! Dimensions come first, by number; then symbols, by name with numbers in it compared as numbers; then all
//! else, by size and, among equals, by a hash of the structure. A product is compared factor by factor.

use std::cmp::Ordering;

use crate::expr::{Expr, Exprs, Factor, Info, Node, Unfolded};

/// Mixes one word into a hash; the finalizer of splitmix64.
fn mix(hash: u64, word: u64) -> u64 {
    let mut z = (hash ^ word).wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Exprs {
    /// What is remembered of a node, from its operands.
    pub(crate) fn describe(&self, node: &Node) -> Info {
        let mut info = Info { hash: 0, weight: 1, dims: 0, syms: false };
        let word = |info: &mut Info, w: u64| info.hash = mix(info.hash, w);
        let operand = |info: &mut Info, e: Expr| {
            let o = self.info(e);
            info.hash = mix(info.hash, o.hash);
            info.weight = info.weight.saturating_add(o.weight);
            info.dims |= o.dims;
            info.syms |= o.syms;
        };
        match node {
            Node::Const(c) => {
                word(&mut info, 1);
                word(&mut info, *c as u64);
            }
            Node::Dim(d) => {
                word(&mut info, 2);
                word(&mut info, u64::from(*d));
                info.dims = 1 << (*d).min(63);
            }
            Node::Sym(s) => {
                word(&mut info, 3);
                for byte in self.sym_name(*s).bytes() {
                    word(&mut info, u64::from(byte));
                }
                info.syms = true;
            }
            Node::Sum(terms, constant) => {
                word(&mut info, 4);
                word(&mut info, *constant as u64);
                for t in terms {
                    word(&mut info, t.coefficient as u64);
                    operand(&mut info, t.monomial);
                }
            }
            Node::Product(factors) => {
                word(&mut info, 5);
                for f in factors {
                    word(&mut info, u64::from(f.power));
                    operand(&mut info, f.base);
                }
            }
            Node::FloorDiv(a, b) | Node::Mod(a, b) => {
                word(&mut info, if matches!(node, Node::Mod(..)) { 7 } else { 6 });
                operand(&mut info, *a);
                operand(&mut info, *b);
            }
            Node::Min(args) | Node::Max(args) => {
                word(&mut info, if matches!(node, Node::Max(..)) { 9 } else { 8 });
                args.iter().for_each(|&a| operand(&mut info, a));
            }
            Node::Unfolded(op, args) => {
                let tag = match op {
                    Unfolded::Sum => 10,
                    Unfolded::Product => 11,
                    Unfolded::Power(n) => 12 + u64::from(*n),
                };
                word(&mut info, tag);
                args.iter().for_each(|&a| operand(&mut info, a));
            }
        }
        info
    }

    /// The order in which terms of a sum, factors of a product and operands of a minimum stand.
    pub(crate) fn order(&self, a: Expr, b: Expr) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        let (fa, fb);
        let left = match self.node(a) {
            Node::Product(f) => &f[..],
            _ => {
                fa = [Factor { base: a, power: 1 }];
                &fa[..]
            }
        };
        let right = match self.node(b) {
            Node::Product(f) => &f[..],
            _ => {
                fb = [Factor { base: b, power: 1 }];
                &fb[..]
            }
        };
        for (x, y) in left.iter().zip(right) {
            // A higher power first: `s0**2 + s0`.
            let o = self.order_factor(x.base, y.base).then(y.power.cmp(&x.power));
            if o != Ordering::Equal {
                return o;
            }
        }
        right.len().cmp(&left.len())
    }

    fn order_factor(&self, a: Expr, b: Expr) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        match (self.node(a), self.node(b)) {
            (Node::Const(x), Node::Const(y)) => x.cmp(y),
            (Node::Dim(x), Node::Dim(y)) => x.cmp(y),
            (Node::Sym(x), Node::Sym(y)) => order_names(self.sym_name(*x), self.sym_name(*y)),
            (x, y) => rank(x).cmp(&rank(y)).then_with(|| {
                let (i, j) = (self.info(a), self.info(b));
                (i.weight, i.hash).cmp(&(j.weight, j.hash)).then(a.cmp(&b))
            }),
        }
    }
}

/// Constants last, since minima and maxima are the only places where one is ordered among others.
fn rank(node: &Node) -> u8 {
    match node {
        Node::Dim(_) => 0,
        Node::Sym(_) => 1,
        Node::Const(_) => 3,
        _ => 2,
    }
}

/// Compares names with a number at the end by that number: `s2` before `s10`.
fn order_names(a: &str, b: &str) -> Ordering {
    let split = |s: &str| s.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (i, j) = (split(a), split(b));
    let digits = |s: &str, at: usize| {
        let n = s[at..].trim_start_matches('0').to_owned();
        (n.len(), n)
    };
    a[..i].cmp(&b[..j]).then_with(|| digits(a, i).cmp(&digits(b, j))).then_with(|| a.cmp(b))
}
