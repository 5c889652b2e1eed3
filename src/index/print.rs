//! The text of expressions, in this project's spelling or in sympy's.

use std::fmt;

use crate::expr::{Atom, Expr, Exprs, Factor, Node, Term, Unfolded};

/// How operations are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Spelling {
    /// `2*s0 + 1`, `d0 floordiv 4`, `d0 mod 4`, `max(a, b)`.
    #[default]
    Ours,
    /// `2*s0 + 1`, `d0//4`, `Mod(d0, 4)`, `Max(a, b)`.
    Sympy,
}

/// What stands around an expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Nothing,
    /// `+` or `-`.
    Sum,
    /// `*`, on the left.
    Product,
    /// `floordiv` or `mod`, on the right: a chain of these needs no parentheses, however long it is.
    Quotient,
    /// What takes one word, a call, or parentheses.
    Operand,
}

/// How tightly an expression binds, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Binds {
    Sum,
    /// What multiplies as a whole: `2*(a floordiv b)` is not `2*a floordiv b`.
    Quotient,
    Product,
    Word,
}

/// A piece of text still to write.
enum Piece {
    Expr(Expr, Around),
    Text(&'static str),
    Int(i64),
    Power(u32),
}

impl Exprs {
    /// The text of `e` in [`Spelling::Ours`], dimensions as `d0`, `d1`, …
    pub fn display(&self, e: Expr) -> String {
        let mut text = String::new();
        self.write(&mut text, e, Spelling::Ours, |d| format!("d{d}")).expect("a string takes all text");
        text
    }

    /// Writes `e`; `dim` names the dimensions.
    pub fn write(
        &self,
        out: &mut impl fmt::Write,
        e: Expr,
        spelling: Spelling,
        dim: impl Fn(u32) -> String,
    ) -> fmt::Result {
        let mut todo = vec![Piece::Expr(e, Around::Nothing)];
        while let Some(piece) = todo.pop() {
            match piece {
                Piece::Text(t) => out.write_str(t)?,
                Piece::Int(c) => write!(out, "{c}")?,
                Piece::Power(n) => write!(out, "**{n}")?,
                Piece::Expr(e, around) => match self.as_atom(e) {
                    Some(Atom::Dim(d)) => out.write_str(&dim(d))?,
                    Some(Atom::Sym(s)) => out.write_str(self.sym_name(s))?,
                    None => {
                        let at = todo.len();
                        self.pieces(e, around, spelling, &mut todo);
                        todo[at..].reverse();
                    }
                },
            }
        }
        Ok(())
    }

    fn pieces(&self, e: Expr, around: Around, spelling: Spelling, out: &mut Vec<Piece>) {
        let sympy = spelling == Spelling::Sympy;
        let node = self.node(e);
        let binds = match node {
            Node::Const(c) if *c < 0 => Binds::Sum,
            Node::Sum(terms, 0) if terms.len() == 1 && terms[0].coefficient > 0 => Binds::Product,
            Node::Sum(..) | Node::Unfolded(Unfolded::Sum, _) => Binds::Sum,
            Node::Product(_) => Binds::Product,
            Node::Mod(..) if sympy => Binds::Word,
            Node::FloorDiv(..) | Node::Mod(..) | Node::Unfolded(..) => Binds::Quotient,
            _ => Binds::Word,
        };
        let enclosed = match around {
            Around::Nothing => false,
            Around::Sum => binds <= Binds::Sum,
            Around::Product => binds <= Binds::Quotient,
            Around::Quotient => binds <= Binds::Product && !matches!(node, Node::FloorDiv(..) | Node::Mod(..)),
            Around::Operand => binds <= Binds::Product,
        };
        if enclosed {
            out.push(Piece::Text("("));
        }
        match node {
            Node::Const(c) => out.push(Piece::Int(*c)),
            Node::Dim(_) | Node::Sym(_) => out.push(Piece::Expr(e, around)),
            Node::Sum(terms, constant) => sum_pieces(terms, *constant, out),
            Node::Product(factors) => {
                for (i, &Factor { base, power }) in factors.iter().enumerate() {
                    if i > 0 {
                        out.push(Piece::Text("*"));
                    }
                    out.push(Piece::Expr(base, Around::Operand));
                    if power > 1 {
                        out.push(Piece::Power(power));
                    }
                }
            }
            Node::Mod(a, b) if sympy => call("Mod(", &[*a, *b], out),
            Node::FloorDiv(a, b) | Node::Mod(a, b) => {
                out.push(Piece::Expr(*a, Around::Quotient));
                out.push(Piece::Text(match (node, sympy) {
                    (Node::Mod(..), _) => " mod ",
                    (_, true) => "//",
                    (_, false) => " floordiv ",
                }));
                out.push(Piece::Expr(*b, Around::Operand));
            }
            Node::Min(args) => call(if sympy { "Min(" } else { "min(" }, args, out),
            Node::Max(args) => call(if sympy { "Max(" } else { "max(" }, args, out),
            Node::Unfolded(op, args) => {
                for (i, &a) in args.iter().enumerate() {
                    if i > 0 {
                        out.push(Piece::Text(if *op == Unfolded::Sum { " + " } else { "*" }));
                    }
                    out.push(Piece::Expr(a, Around::Operand));
                }
                if let Unfolded::Power(n) = op {
                    out.push(Piece::Power(*n));
                }
            }
        }
        if enclosed {
            out.push(Piece::Text(")"));
        }
    }
}

fn call(name: &'static str, args: &[Expr], out: &mut Vec<Piece>) {
    out.push(Piece::Text(name));
    for (i, &a) in args.iter().enumerate() {
        if i > 0 {
            out.push(Piece::Text(", "));
        }
        out.push(Piece::Expr(a, Around::Nothing));
    }
    out.push(Piece::Text(")"));
}

fn sum_pieces(terms: &[Term], constant: i64, out: &mut Vec<Piece>) {
    for (i, &Term { coefficient, monomial }) in terms.iter().enumerate() {
        let mut shown = coefficient;
        if i > 0 {
            // The least i64 has no positive counterpart to subtract.
            let minus = coefficient.checked_neg().filter(|c| *c > 0);
            out.push(Piece::Text(if minus.is_some() { " - " } else { " + " }));
            shown = minus.unwrap_or(coefficient);
        }
        match shown {
            1 if i > 0 || terms.len() > 1 || constant != 0 => out.push(Piece::Expr(monomial, Around::Sum)),
            1 => out.push(Piece::Expr(monomial, Around::Nothing)),
            -1 => {
                out.push(Piece::Text("-"));
                out.push(Piece::Expr(monomial, Around::Product));
            }
            c => {
                out.push(Piece::Int(c));
                out.push(Piece::Text("*"));
                out.push(Piece::Expr(monomial, Around::Product));
            }
        }
    }
    match constant {
        0 => {}
        c if c > 0 || c == i64::MIN => out.extend([Piece::Text(" + "), Piece::Int(c)]),
        c => out.extend([Piece::Text(" - "), Piece::Int(-c)]),
    }
}
