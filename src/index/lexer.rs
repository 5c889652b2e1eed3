//! The words of expressions.

use logos::Logos;

/// A word; what it stands for is in the text it spans.
#[derive(Logos, Clone, Copy, PartialEq, Eq, Debug)]
#[logos(skip r"[ \t\r\n]+")]
pub(crate) enum Token {
    /// A decimal number.
    #[regex("[0-9]+")]
    Int,
    /// The name of a symbol, a function or an operator.
    #[regex("[A-Za-z_][A-Za-z0-9_.$]*")]
    Word,
    /// The name of a value; after an operand, `%` is the remainder and the rest a new word.
    #[regex(r"%[A-Za-z0-9_.$]+(#[0-9]+)?")]
    Value,
    /// The remainder.
    #[token("%")]
    Percent,
    /// Power.
    #[token("**")]
    Power,
    /// Product.
    #[token("*")]
    Star,
    /// Floor division.
    #[token("//")]
    Floor,
    /// Exact division.
    #[token("/")]
    Slash,
    /// Sum.
    #[token("+")]
    Plus,
    /// Difference.
    #[token("-")]
    Minus,
    /// Start of a group or of arguments.
    #[token("(")]
    Open,
    /// End of a group or of arguments.
    #[token(")")]
    Close,
    /// Between arguments.
    #[token(",")]
    Comma,
}
