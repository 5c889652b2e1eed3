//! What one instance of an op computes, as loop nests over scalar bodies: the common ground of the interpreter, the
//! lowering to loops and the folding of constants.
//!
//! A nest computes for each point of its space the scalars that its body yields. `Dim(0)`, `Dim(1)`, … of the index
//! expressions in a body are, in this order: the coordinates of the space, those of the reduction (or of the scanned
//! or sorted dimension, see [`NestKind`]), and then the indices that are read from tensors ([`Body::indirect`]).
//! Symbols are sizes. A nest reads operands and earlier nests only.

use rinductor_index::Expr;
use rinductor_scalar::{DType, Scalar, ScalarOp};

/// What an op computes.
#[derive(Clone, Debug, PartialEq)]
pub struct Semantics {
    /// In the order in which they can run.
    pub nests: Vec<Nest>,
    /// One for each result of the op.
    pub outputs: Vec<Output>,
}

/// Where a result comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the line of each variant says what its fields are")]
pub enum Output {
    /// Output `out` of nest `nest`, whose space is the result's shape and whose dtype is the result's.
    Nest { nest: usize, out: usize },
    /// A symbolic integer.
    Int(Expr),
    /// A constant number.
    Number(Scalar),
    /// Operand `operand` as it is.
    Operand(usize),
}

/// One loop nest.
#[derive(Clone, Debug, PartialEq)]
pub struct Nest {
    /// The sizes of what it computes.
    pub space: Vec<Expr>,
    /// How the body's values become outputs.
    pub kind: NestKind,
    /// What is computed at a point.
    pub body: Body,
    /// The dtypes of the outputs.
    pub outputs: Vec<DType>,
    /// The name that the dialect file gives to what it computes, for people.
    pub name: Option<crate::ast::Str>,
}

/// How the values that a body yields become the outputs of a nest.
#[derive(Clone, Debug, PartialEq)]
pub enum NestKind {
    /// The body yields the outputs.
    Pointwise,
    /// The body has further dimensions of sizes `over` after those of the space, and yields what is combined.
    Reduce {
        /// Sizes of the reduction.
        over: Vec<Expr>,
        /// How values are combined.
        combiner: Combiner,
    },
    /// The output at a point combines the body's values at all points that agree with it but in dimension `dim`, where
    /// they do not come after it. The body runs over the space itself.
    Scan {
        /// The dimension that it runs along.
        dim: usize,
        /// How values are combined.
        combiner: Combiner,
    },
    /// The body yields a key at each point of the space; along dimension `dim` the first output holds the keys in order,
    /// the second where each stood (i64). NaN is greater than all. Equal keys keep their order.
    Sort {
        /// The dimension that is sorted.
        dim: usize,
        /// Whether the greatest key comes first.
        descending: bool,
    },
    /// The output is operand or nest `base` (of sizes `space`) after the body, which runs over `updates`, combined its
    /// value in at `at`. `Dim(k)` in the body and in `at` are coordinates of `updates`.
    Scatter {
        /// What is updated.
        base: Source,
        /// The sizes of the updates.
        updates: Vec<Expr>,
        /// Where each update goes, one expression for each dimension of the space; may use the body's indirect indices.
        at: Vec<Expr>,
        /// How it is combined.
        mode: ScatterMode,
        /// The value of the body that says whether the update happens.
        when: Option<NodeId>,
    },
}

/// How the values of a reduction or scan are combined. Values have the dtype of the nest's output: sums and products of
/// f16 and bf16 are kept in f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Combiner {
    /// Sum, from 0.
    Add,
    /// Product, from 1.
    Mul,
    /// Maximum, from the lowest value; NaN if any value is.
    Max,
    /// Minimum, from the highest value; NaN if any value is.
    Min,
    /// Whether any is true (i1), from false.
    Or,
    /// Whether all are true (i1), from true.
    And,
    /// Outputs: the maximum, and the row-major position in the reduction of the first one (i64); NaN counts as
    /// greater than all.
    ArgMax,
    /// As ArgMax for the minimum; NaN counts as less than all.
    ArgMin,
    /// Outputs: mean, sum of squared differences from the mean, count (all in the dtype of the value).
    Welford,
    /// log(sum(exp(x))) without overflow, from -inf.
    LogSumExp,
}

/// How an update is combined with what stands in the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScatterMode {
    /// Replaces it. Of several updates at one place the last in row-major order stays.
    Set,
    /// Adds.
    Add,
    /// Multiplies.
    Mul,
    /// Keeps the greater (NaN wins).
    Max,
    /// Keeps the lesser (NaN wins).
    Min,
}

/// What is computed at a point: values in an order in which each uses earlier ones only.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// The values.
    pub nodes: Vec<Node>,
    /// Indices that are read from tensors: `indirect[k]` is `Dim(D + k)` in index expressions, where D is the number of
    /// loop dimensions of the body.
    pub indirect: Vec<Indirect>,
    /// What the body gives to its nest: the outputs, or what is combined.
    pub yields: Vec<NodeId>,
}

/// A value of a body, by position in [`Body::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The position.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A value with its dtype.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// The dtype.
    pub dtype: DType,
    /// How it is computed.
    pub kind: NodeKind,
}

/// How a value is computed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A constant.
    Const(Scalar),
    /// An index expression as a value (`Index`, cast where another dtype is needed).
    Index(Expr),
    /// A scalar operation. `Select` computes nothing that fails in the branch not taken, as loads have guards.
    Op {
        /// The operation.
        op: ScalarOp,
        /// Its operands.
        args: Box<[NodeId]>,
    },
    /// An element of a tensor.
    Load {
        /// The tensor.
        source: Source,
        /// One expression for each of its dimensions.
        at: Box<[Expr]>,
        /// Where this (i1) is false nothing is read, and the value (zero) is used by nobody. The index itself is then not
        /// checked either.
        guard: Option<NodeId>,
    },
}

/// A tensor that a body reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the line of each variant says what its fields are")]
pub enum Source {
    /// An operand of the op, counted over all its SSA operands.
    Operand(usize),
    /// An output of an earlier nest.
    Nest { nest: usize, out: usize },
}

/// An index that is a value of the body.
#[derive(Clone, Debug, PartialEq)]
pub struct Indirect {
    /// The value: an integer.
    pub value: NodeId,
    /// The number of places: the index is in 0..size.
    pub size: Expr,
    /// What is done about values that are not.
    pub bounds: Bounds,
    /// Where this (i1) is false the index is not used, and not checked.
    pub guard: Option<NodeId>,
}

/// What is done about an index out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bounds {
    /// It is an error when the op runs.
    Check,
    /// A negative value counts from the end; what is then out of range is an error.
    Wrap,
    /// It does not happen.
    Trust,
}

impl Body {
    /// A value.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }
}

impl Combiner {
    /// How many outputs it has.
    pub fn outputs(self) -> usize {
        match self {
            Combiner::ArgMax | Combiner::ArgMin => 2,
            Combiner::Welford => 3,
            _ => 1,
        }
    }
    /// Its word, as `loops.reduce … with` writes it.
    pub fn word(self) -> &'static str {
        match self {
            Combiner::Add => "add",
            Combiner::Mul => "mul",
            Combiner::Max => "maximum",
            Combiner::Min => "minimum",
            Combiner::Or => "or",
            Combiner::And => "and",
            Combiner::ArgMax => "argmax",
            Combiner::ArgMin => "argmin",
            Combiner::Welford => "welford",
            Combiner::LogSumExp => "logsumexp",
        }
    }
    /// The combiner of a word.
    pub fn of_word(word: &str) -> Option<Self> {
        use Combiner::*;
        [Add, Mul, Max, Min, Or, And, ArgMax, ArgMin, Welford, LogSumExp].into_iter().find(|c| c.word() == word)
    }
}

impl ScatterMode {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            ScatterMode::Set => "set",
            ScatterMode::Add => "add",
            ScatterMode::Mul => "mul",
            ScatterMode::Max => "max",
            ScatterMode::Min => "min",
        }
    }
    /// The mode of a word.
    pub fn of_word(word: &str) -> Option<Self> {
        use ScatterMode::*;
        [Set, Add, Mul, Max, Min].into_iter().find(|m| m.word() == word)
    }
}

impl Semantics {
    /// As text, for tests and for people: one line a value.
    pub fn display(&self, exprs: &rinductor_index::Exprs) -> String {
        crate::print::semantics(self, exprs)
    }
}
