//! Index expressions: what a position in a tensor, a size or a stride is as a formula over loop
//! indices and size symbols.
//!
//! An [`Expr`] is an id in an [`Exprs`] arena. Expressions are hash-consed and canonical, so `==` on ids
//! is equality of canonical forms. Values are mathematical integers: folding that would leave `i64` is
//! not done, and [`Exprs::eval`] reports it. Division and remainder are Python's (`floor`, and the
//! remainder has the divisor's sign); a divisor is taken to be nonzero everywhere.
//!
//! | file | holds |
//! |---|---|
//! | `expr` | ids, nodes, the arena |
//! | `order` | the order of terms and factors, the same in every arena |
//! | `construct` | sums, products, powers, minima and maxima in canonical form |
//! | `divmod` | floor division and remainder, and what undoes them |
//! | `walk` | traversal without recursion: atoms, substitution, evaluation, lowering |
//! | `range` | intervals, congruences and the environment that gives them for atoms |
//! | `simplify` | rewriting under an environment |
//! | `prove` | comparisons under an environment |
//! | `linear` | strides, coefficients, expansion of products |
//! | `lexer`, `parse`, `print` | text, in this project's spelling and in sympy's |
//!
//! ```
//! use rinductor_index::{Exprs, Ranges};
//! let mut ex = Exprs::new();
//! let view = ex.parse("(4*d0 + d1) floordiv 4").unwrap();
//! let mut env = Ranges::new();
//! env.set_dim(1, 0, Some(3));
//! assert_eq!(ex.simplify(view, &env), ex.dim(0));
//! ```

mod construct;
mod divmod;
mod expr;
mod lexer;
mod linear;
mod order;
mod parse;
mod print;
mod prove;
mod range;
mod simplify;
mod walk;

pub use expr::{Atom, Expr, Exprs, Factor, Node, SymId, Term, Unfolded};
pub use parse::{MAX_DEPTH, ParseError};
pub use print::Spelling;
pub use range::{Congruence, Range, Ranges};
pub use walk::{EvalError, Lower};
