//! Numeric expressions of `[[#...]]`: what they are and what they come to.

use num_bigint::{BigInt, Sign};

use crate::format::Format;
use crate::source::{Loc, Span};
use crate::variables::{Name, Variables};

/// A fault of the check file or of an option, with its place.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Where.
    pub loc: Loc,
    /// What.
    pub text: Vec<u8>,
    /// Whether LLVM ends this message with an empty line.
    pub spaced: bool,
    /// Whether LLVM leaves with the exit code of a mismatch.
    pub exits_as_mismatch: bool,
}

impl Fault {
    /// A fault of a pattern.
    pub fn new(loc: Loc, text: impl Into<Vec<u8>>) -> Fault {
        Fault { loc, text: text.into(), spaced: false, exits_as_mismatch: false }
    }

    /// A fault inside a substitution block.
    pub fn in_block(span: Span, text: impl Into<Vec<u8>>) -> Fault {
        Fault { spaced: true, ..Fault::new(span.loc(), text) }
    }
}

/// Two-operand functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// `+` and `add`
    Add,
    /// `-` and `sub`
    Sub,
    /// `mul`
    Mul,
    /// `div`, towards zero
    Div,
    /// `max`
    Max,
    /// `min`
    Min,
}

impl Function {
    /// The function with a name.
    pub fn named(name: &[u8]) -> Option<Function> {
        Some(match name {
            b"add" => Function::Add,
            b"div" => Function::Div,
            b"max" => Function::Max,
            b"min" => Function::Min,
            b"mul" => Function::Mul,
            b"sub" => Function::Sub,
            _ => return None,
        })
    }

    fn apply(self, left: BigInt, right: BigInt) -> Option<BigInt> {
        Some(match self {
            Function::Add => left + right,
            Function::Sub => left - right,
            Function::Mul => left * right,
            Function::Div if right.sign() == Sign::NoSign => return None,
            Function::Div => left / right,
            Function::Max => left.max(right),
            Function::Min => left.min(right),
        })
    }
}

/// An expression with the range of its text.
#[derive(Clone, Debug)]
pub struct Expression {
    /// Where it stands.
    pub span: Span,
    /// What it is.
    pub kind: ExpressionKind,
}

/// The kinds of [`Expression`].
#[derive(Clone, Debug)]
pub enum ExpressionKind {
    /// A number.
    Literal(BigInt),
    /// The value of a numeric variable.
    Variable(Name),
    /// A function of two.
    Apply(Function, Box<Expression>, Box<Expression>),
}

/// Why an expression has no value.
#[derive(Clone, Copy, Debug)]
pub enum NoValue {
    /// A division by zero, or a negative number in a format without sign.
    Overflow,
    /// The variable named here has no value.
    Undefined(Span),
}

impl Expression {
    /// Its value now. All causes are given where there are several.
    pub fn value(&self, variables: &Variables) -> Result<BigInt, Vec<NoValue>> {
        match &self.kind {
            ExpressionKind::Literal(value) => Ok(value.clone()),
            ExpressionKind::Variable(name) => variables
                .number(*name)
                .and_then(|number| number.value.clone())
                .ok_or_else(|| vec![NoValue::Undefined(self.span)]),
            ExpressionKind::Apply(function, left, right) => match (left.value(variables), right.value(variables)) {
                (Ok(left), Ok(right)) => function.apply(left, right).ok_or_else(|| vec![NoValue::Overflow]),
                (left, right) => Err(left.err().into_iter().chain(right.err()).flatten().collect()),
            },
        }
    }

    /// The format that follows from its variables; none where it has none.
    pub fn format(&self, variables: &Variables, text: &dyn Fn(Span) -> Vec<u8>) -> Result<Format, Fault> {
        match &self.kind {
            ExpressionKind::Literal(_) => Ok(Format::default()),
            ExpressionKind::Variable(name) => {
                Ok(variables.number(*name).map(|number| number.format).unwrap_or_default())
            }
            ExpressionKind::Apply(_, left, right) => {
                let left_format = left.format(variables, text)?;
                let right_format = right.format(variables, text)?;
                if left_format.is_some() && right_format.is_some() && left_format != right_format {
                    let mut message = b"implicit format conflict between '".to_vec();
                    message.extend(text(left.span));
                    message.extend(format!("' ({}) and '", left_format.name()).bytes());
                    message.extend(text(right.span));
                    message.extend(format!("' ({}), need an explicit format specifier", right_format.name()).bytes());
                    return Err(Fault::in_block(self.span, message));
                }
                Ok(if left_format.is_some() { left_format } else { right_format })
            }
        }
    }
}

/// A `[[#...]]` block as parsed.
#[derive(Clone, Debug)]
pub struct NumericBlock {
    /// The expression, unless any number is to match.
    pub expression: Option<Expression>,
    /// The format to write or to read.
    pub format: Format,
    /// The variable that it defines.
    pub defines: Option<Name>,
}
