//! Combiners of reductions: their names, and what they take and keep.

use rinductor_scalar::DType;

/// How two values become one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)] // the names are those of the text
pub enum Combiner {
    Add,
    Mul,
    Maximum,
    Minimum,
    And,
    Or,
    Xor,
    ArgMax,
    ArgMin,
    Welford,
}

impl Combiner {
    /// The combiner of a name.
    pub fn parse(name: &str) -> Option<Combiner> {
        use Combiner::*;
        [Add, Mul, Maximum, Minimum, And, Or, Xor, ArgMax, ArgMin, Welford].into_iter().find(|c| c.name() == name)
    }
    /// The name in the text.
    pub fn name(self) -> &'static str {
        match self {
            Combiner::Add => "add",
            Combiner::Mul => "mul",
            Combiner::Maximum => "maximum",
            Combiner::Minimum => "minimum",
            Combiner::And => "and",
            Combiner::Or => "or",
            Combiner::Xor => "xor",
            Combiner::ArgMax => "argmax",
            Combiner::ArgMin => "argmin",
            Combiner::Welford => "welford",
        }
    }
    /// How many values it keeps.
    pub fn width(self) -> usize {
        match self {
            Combiner::ArgMax | Combiner::ArgMin => 2,
            Combiner::Welford => 3,
            _ => 1,
        }
    }
    /// How many values it takes.
    pub fn takes(self) -> usize {
        if self == Combiner::Welford { 1 } else { self.width() }
    }
    /// The element types of what it keeps, for values of type `dtype`.
    pub fn kept(self, dtype: DType) -> Vec<DType> {
        match self {
            Combiner::ArgMax | Combiner::ArgMin => vec![dtype, DType::I64],
            Combiner::Welford => vec![dtype; 3],
            _ => vec![dtype],
        }
    }
}
