//! What a dialect file says, as data: operations with their signatures and clauses, rules, and expressions.
//! docs/dialect-files.md is the reference for the meaning of each form.

use crate::assembly::Assembly;
use crate::builtins::Callee;
use crate::schema::{Literal, SchemaType};
use rinductor_support::Span;
use std::sync::Arc;

/// An identifier or a string of a dialect file: cheap to clone, shared between threads.
pub type Str = Arc<str>;

/// A name with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Ident {
    /// The text.
    pub text: Str,
    /// Where it stands.
    pub span: Span,
}

/// All that one file defines, in its order.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// The dialects that it describes.
    pub dialects: Vec<DialectDef>,
    /// The functions that Rust provides.
    pub externs: Vec<ExternFn>,
    /// The operations.
    pub ops: Vec<OpDef>,
    /// Rewrite rules and decompositions; each names its set.
    pub rules: Vec<RuleDef>,
    /// Where all of these stand, in order.
    pub items: Vec<Item>,
}

/// What an item of a file defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// A dialect or an `extern fn`.
    Declaration,
    /// An operation.
    Op,
    /// A rule, a decomposition, or a set of them.
    Rules,
}

/// Where an item of a file stands: enough to read it again by itself.
#[derive(Clone, Debug)]
pub struct Item {
    /// What it defines.
    pub kind: ItemKind,
    /// The name of what it defines; of a decomposition that of its op.
    pub name: Str,
    /// The whole of it, its documentation included.
    pub span: Span,
}

/// `dialect NAME;` with the documentation before it.
#[derive(Clone, Debug)]
pub struct DialectDef {
    /// The name: the text before the first dot of its ops.
    pub name: Ident,
    /// Documentation, one paragraph a blank line.
    pub doc: String,
}

/// `extern fn NAME(types) -> type;`: a function that a host gives to the evaluator.
#[derive(Clone, Debug)]
pub struct ExternFn {
    /// The name, as called in expressions.
    pub name: Ident,
    /// Types of the arguments.
    pub params: Vec<crate::types::Ty>,
    /// Type of the result.
    pub result: crate::types::Ty,
    /// Documentation.
    pub doc: String,
}

/// One operation.
#[derive(Clone, Debug)]
pub struct OpDef {
    /// Full name, `dialect.op` or `aten.op.overload`.
    pub name: Ident,
    /// Documentation; its first sentence is the summary.
    pub doc: String,
    /// Operands, attributes, results.
    pub signature: Signature,
    /// Traits, in the order written.
    pub traits: Vec<Ident>,
    /// Values that the later clauses share, in order.
    pub lets: Vec<(Binder, Expr)>,
    /// Result types, one rule a result (empty: the types are not inferred).
    pub types: Vec<TypeRule>,
    /// What must hold, with the message of the error when it does not.
    pub requires: Vec<Require>,
    /// The pretty form.
    pub assembly: Option<Assembly>,
    /// What it computes, in order; empty if it is opaque.
    pub semantics: Vec<Semantic>,
    /// The whole definition.
    pub span: Span,
}

impl OpDef {
    /// Whether a trait is listed.
    pub fn has_trait(&self, name: &str) -> bool {
        self.traits.iter().any(|t| &*t.text == name)
    }
    /// The first sentence of the documentation.
    pub fn summary(&self) -> &str {
        let doc = self.doc.trim();
        doc.find(". ").or_else(|| doc.find(".\n")).map_or(doc, |end| &doc[..=end])
    }
    /// The dialect: the text before the first dot.
    pub fn dialect(&self) -> &str {
        self.name.text.split('.').next().unwrap_or("")
    }
    /// The names of the arguments in order: those of the schema; for a signature of names the operands, then the properties.
    pub fn argument_names(&self) -> Vec<&Str> {
        match &self.signature {
            Signature::Schema(sig) => sig.params.iter().map(|p| &p.name.text).collect(),
            Signature::Named(sig) => {
                sig.operands.iter().map(|o| &o.name.text).chain(sig.attrs.iter().map(|a| &a.name.text)).collect()
            }
        }
    }
    /// Which argument each argument of a call is: by its name, and without one by its position among those without. None: there is no
    /// such argument.
    pub fn argument_numbers<'n>(&self, call: impl IntoIterator<Item = Option<&'n Ident>>) -> Vec<Option<usize>> {
        let names = self.argument_names();
        let mut positions = 0..names.len();
        let number = |name: Option<&Ident>| match name {
            Some(name) => names.iter().position(|n| **n == name.text),
            None => positions.next(),
        };
        call.into_iter().map(number).collect()
    }
    /// The name without its dialect.
    pub fn short_name(&self) -> &str {
        self.name.text.split_once('.').map_or("", |(_, rest)| rest)
    }
}

/// Operands, properties and results, in one of two styles.
#[derive(Clone, Debug)]
pub enum Signature {
    /// PyTorch's schema.
    Schema(SchemaSig),
    /// Names with constraints.
    Named(NamedSig),
}

/// A PyTorch schema.
#[derive(Clone, Debug)]
pub struct SchemaSig {
    /// Arguments in order.
    pub params: Vec<SchemaParam>,
    /// Results in order; `results[i].name` is empty if the schema gives none.
    pub results: Vec<SchemaResult>,
    /// The schema's text from `(` on, with white space made even.
    pub text: String,
}

/// One argument of a schema.
#[derive(Clone, Debug)]
pub struct SchemaParam {
    /// The name.
    pub name: Ident,
    /// The type.
    pub ty: SchemaType,
    /// The default.
    pub default: Option<Literal>,
    /// Whether it stands after `*`.
    pub keyword_only: bool,
}

/// One result of a schema.
#[derive(Clone, Debug)]
pub struct SchemaResult {
    /// The name, or `result` (`result0`, … when there are several).
    pub name: Str,
    /// The type.
    pub ty: SchemaType,
}

/// How many values stand for one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multiplicity {
    /// Exactly one.
    One,
    /// None or one (`?`).
    Optional,
    /// Any number (`*`).
    Many,
}

/// A signature of names with constraints.
#[derive(Clone, Debug, Default)]
pub struct NamedSig {
    /// Operands in order.
    pub operands: Vec<OperandDecl>,
    /// Properties.
    pub attrs: Vec<AttrDecl>,
    /// Regions.
    pub regions: Vec<RegionDecl>,
    /// Successor blocks.
    pub successors: Vec<(Ident, Multiplicity)>,
    /// Results in order.
    pub results: Vec<OperandDecl>,
}

/// An operand or a result.
#[derive(Clone, Debug)]
pub struct OperandDecl {
    /// The name.
    pub name: Ident,
    /// What types it may have.
    pub constraint: Constraint,
    /// How many there are.
    pub many: Multiplicity,
}

/// What types a value may have. Docs list the words of `Named`.
#[derive(Clone, Debug, PartialEq)]
pub enum Constraint {
    /// A class of types by its word: `float_like`, `index`, `any`.
    Named(Str, Span),
    /// The type of another operand or result.
    Same(Str, Span),
    /// The shape of another value with an element type: `like(x, i1)`.
    Like(Str, Box<Constraint>, Span),
    /// The element type of another value.
    Element(Str, Span),
    /// A container with a constraint on its element: `vector(float)`.
    Of(Str, Box<Constraint>, Span),
    /// Any of these.
    Either(Vec<Constraint>),
}

/// A property.
#[derive(Clone, Debug)]
pub struct AttrDecl {
    /// The name.
    pub name: Ident,
    /// What it holds.
    pub kind: AttrKind,
    /// Whether it may be absent without a default.
    pub optional: bool,
    /// What it is when absent.
    pub default: Option<Literal>,
}

/// What a property holds.
#[derive(Clone, Debug, PartialEq)]
pub enum AttrKind {
    /// Any attribute.
    Any,
    /// `1 : i64` or a typed integer.
    Int,
    /// A float attribute.
    Float,
    /// An integer, a float or a bool.
    Number,
    /// `true` or `false`.
    Bool,
    /// A string.
    Str,
    /// A type.
    Type,
    /// A function type.
    FunctionType,
    /// A symbol reference.
    SymbolRef,
    /// The name that the op defines in the symbol table.
    SymbolName,
    /// Stands for its presence.
    Unit,
    /// A list of integers.
    Ints,
    /// A list of floats.
    Floats,
    /// A list of bools.
    Bools,
    /// A list of strings.
    Strs,
    /// An array of any attributes.
    Array,
    /// A dictionary.
    Dict,
    /// An affine map.
    AffineMap,
    /// Index expressions over operands and symbols: `#index.map<…>`.
    IndexMap,
    /// One of these words, as in `enum(eq, ne)`; kept as a string, or as an integer where MLIR's dialect does.
    Enum(Vec<Str>),
    /// Several of these words, as in `flags(nnan, ninf)`.
    Flags(Vec<Str>),
}

impl AttrKind {
    /// What it holds, in words: `integer`.
    pub fn words(&self) -> &'static str {
        match self {
            AttrKind::Any => "any attribute",
            AttrKind::Int => "integer",
            AttrKind::Float => "float",
            AttrKind::Number => "number",
            AttrKind::Bool => "bool",
            AttrKind::Str => "string",
            AttrKind::Type => "type",
            AttrKind::FunctionType => "function type",
            AttrKind::SymbolRef => "reference to a symbol",
            AttrKind::SymbolName => "name of a symbol",
            AttrKind::Unit => "unit",
            AttrKind::Ints => "list of integers",
            AttrKind::Floats => "list of floats",
            AttrKind::Bools => "list of bools",
            AttrKind::Strs => "list of strings",
            AttrKind::Array => "array",
            AttrKind::Dict => "dictionary",
            AttrKind::AffineMap => "affine map",
            AttrKind::IndexMap => "index map",
            AttrKind::Enum(_) => "word that it may be",
            AttrKind::Flags(_) => "set of flags",
        }
    }
}

/// A region.
#[derive(Clone, Debug)]
pub struct RegionDecl {
    /// The name.
    pub name: Ident,
    /// `any` blocks, or exactly one `block`.
    pub kind: RegionKind,
    /// How many there are.
    pub many: Multiplicity,
}

/// What a region may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionKind {
    /// Any number of blocks, none included.
    Any,
    /// Exactly one block.
    Block,
    /// Exactly one block, for graphs: no terminator needed.
    Graph,
}

/// `require CONDITION "message with {expressions}"`.
#[derive(Clone, Debug)]
pub struct Require {
    /// What must hold.
    pub condition: Expr,
    /// What is said when it does not.
    pub message: Vec<MessagePart>,
    /// The clause.
    pub span: Span,
}

/// A piece of a message.
#[derive(Clone, Debug)]
pub enum MessagePart {
    /// As it stands.
    Text(String),
    /// The value of an expression.
    Value(Expr),
}

/// `FUNCTION(args) as DTYPE with names for k in RANGE`: the type of a result.
#[derive(Clone, Debug)]
pub struct TypeRule {
    /// What kind of type.
    pub function: TypeFn,
    /// Its arguments.
    pub args: Vec<Expr>,
    /// A dtype that replaces the function's.
    pub dtype: Option<Expr>,
    /// Tensors that take part in the shape and strides but not in the dtype.
    pub with: Vec<Ident>,
    /// For a list of results: the variable, and the list that it runs over.
    pub each: Option<(Ident, Expr)>,
    /// The clause.
    pub span: Span,
}

/// The functions of type rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeFn {
    /// `promote(a, b, …)`: broadcast shape, torch's common dtype.
    Promote,
    /// `float(a, …)`: as promote, integers and bools become the default float.
    Float,
    /// `bool(a, …)`: broadcast shape, dtype bool; the operands are compared in their common dtype.
    Bool,
    /// `like(a)`: shape, dtype and (dense) strides of a.
    Like,
    /// `tensor(shape, dtype[, strides])`.
    Tensor,
    /// `view(shape[, strides, offset])`: dtype and storage of the first tensor.
    View,
    /// `reduced(a, dims, keepdim)`.
    Reduced,
    /// `int()`: a symbolic integer, not a tensor.
    Int,
}

impl TypeFn {
    const ALL: [(&'static str, TypeFn); 8] = [
        ("promote", TypeFn::Promote),
        ("float", TypeFn::Float),
        ("bool", TypeFn::Bool),
        ("like", TypeFn::Like),
        ("tensor", TypeFn::Tensor),
        ("view", TypeFn::View),
        ("reduced", TypeFn::Reduced),
        ("int", TypeFn::Int),
    ];
    /// The function of a word.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|(_, f)| *f)
    }
    /// Its word.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, f)| *f == self).map_or("", |(n, _)| n)
    }
    /// All words.
    pub fn names() -> Vec<&'static str> {
        Self::ALL.iter().map(|(n, _)| *n).collect()
    }
}

/// One definition of a tensor: a result of the op, or a local that later clauses read.
#[derive(Clone, Debug)]
pub struct Semantic {
    /// Whose definition it is.
    pub target: Target,
    /// How it is computed.
    pub def: TensorDef,
    /// The clause.
    pub span: Span,
}

/// Whose definition a clause is.
#[derive(Clone, Debug)]
pub enum Target {
    /// All results of the op, in order.
    All,
    /// These results.
    Results(Vec<Ident>),
    /// New tensors that only later clauses see.
    Locals(Vec<Ident>),
}

/// `x` or `x = tensor` in the parentheses of `scalar`, `reduce`, `scan`, `sort`.
#[derive(Clone, Debug)]
pub struct ElementBinder {
    /// The element's name.
    pub name: Ident,
    /// The tensor, if not the one of the same position.
    pub tensor: Option<Ident>,
}

/// How a tensor is computed.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the line of each variant says what its fields are")]
pub enum TensorDef {
    /// `scalar (x, y) => E`: point by point with broadcasting and promotion.
    Scalar { binders: Vec<ElementBinder>, body: Expr },
    /// `reduce (x) over DIMS => E`: E holds `sum(x)`, `max(x)`, … over the dims.
    Reduce { binders: Vec<ElementBinder>, over: Expr, body: Expr },
    /// `scan (x) over DIM => E`: E holds one `sum(x)`, … that runs along the dim.
    Scan { binders: Vec<ElementBinder>, over: Expr, body: Expr },
    /// `index (i) => [..]`: output point to input point of the first tensor.
    Index { point: PointBinder, each: Option<Ident>, body: Expr },
    /// `point (i) in SHAPE => E`.
    Point { point: PointBinder, space: Option<Expr>, each: Option<Ident>, body: Expr },
    /// `scatter (i) in SHAPE into BASE at [..] with MODE when COND => E`.
    Scatter(Box<ScatterDef>),
    /// `sort (x) over DIM descending D stable S => KEY`: the sorted keys and where they came from.
    Sort { binders: Vec<ElementBinder>, over: Expr, descending: Option<Expr>, stable: Option<Expr>, body: Expr },
    /// `value E`: a symbolic integer or a number, not a tensor.
    Value(Expr),
}

/// The parts of `scatter`.
#[derive(Clone, Debug)]
pub struct ScatterDef {
    /// Names of the point.
    pub point: PointBinder,
    /// The space that the updates run over.
    pub space: Expr,
    /// The tensor that is updated.
    pub base: Expr,
    /// Where in the base.
    pub at: Expr,
    /// `"set"`, `"add"`, `"mul"`, `"max"`, `"min"`.
    pub mode: Expr,
    /// Updates for which it does not hold are skipped.
    pub when: Option<Expr>,
    /// What is combined in.
    pub value: Expr,
}

/// `(i)` names the whole point as a list; `(n, c, h, w)` names its coordinates.
#[derive(Clone, Debug)]
pub struct PointBinder {
    /// The names.
    pub names: Vec<Ident>,
    /// Where.
    pub span: Span,
}

/// What `let`, comprehensions and aggregates bind: one name, or one name for each item of a list or tuple.
#[derive(Clone, Debug)]
pub enum Binder {
    /// The whole value.
    One(Ident),
    /// Its items.
    Each(Vec<Ident>),
}

impl Binder {
    /// The names that it binds.
    pub fn names(&self) -> impl Iterator<Item = &Str> {
        let names = match self {
            Binder::One(name) => std::slice::from_ref(name),
            Binder::Each(names) => names,
        };
        names.iter().map(|name| &name.text)
    }
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the line of each variant says what its fields are")]
pub enum ExprKind {
    /// A constant.
    Literal(Literal),
    /// A variable, an argument of the op, or a named constant.
    Name(Str),
    /// `let x = value; body`.
    Let { binder: Binder, value: Box<Expr>, body: Box<Expr> },
    /// `if c then a else b`.
    If { cond: Box<Expr>, then: Box<Expr>, other: Box<Expr> },
    /// `match e { "a" | "b" => x, _ => y }`.
    Match { on: Box<Expr>, arms: Vec<MatchArm> },
    /// `first k in list where c => e else d`: e for the first item for which c holds. Without `else` the last item needs no
    /// condition.
    First { binder: Binder, list: Box<Expr>, cond: Box<Expr>, body: Box<Expr>, other: Option<Box<Expr>> },
    /// `fold s = start for k in list => e`: s is start, then e for each item in turn.
    Fold { state: Binder, start: Box<Expr>, binder: Binder, list: Box<Expr>, body: Box<Expr> },
    /// Two operands.
    Binary { op: BinaryOp, lhs: Box<Expr>, rhs: Box<Expr> },
    /// `-x`.
    Neg(Box<Expr>),
    /// `not x`.
    Not(Box<Expr>),
    /// `a..b`: the list of the integers from a up to b, without b.
    Range(Box<Expr>, Box<Expr>),
    /// `[a, ...b]`.
    List(Vec<ListItem>),
    /// `(a, b)`.
    Tuple(Vec<Expr>),
    /// `[e for x in list if c]`.
    Comprehension { body: Box<Expr>, binder: Binder, list: Box<Expr>, cond: Option<Box<Expr>> },
    /// `sum(r in [k]) => e`: a reduction inside an expression.
    Aggregate { function: Aggregate, binder: Binder, space: Box<Expr>, body: Box<Expr> },
    /// `f(a, b)`.
    Call { callee: Callee, args: Vec<Expr> },
    /// `aten.add.Tensor(a, b, alpha = 2)`: an operation, in rules only.
    OpCall { op: Ident, args: Vec<OpArg> },
    /// `x[i, j]` or `x[point]`: an item of a list, or an element of a tensor.
    Subscript { of: Box<Expr>, items: Vec<ListItem> },
    /// `w.mean`.
    Field { of: Box<Expr>, name: Ident },
}

/// `"a" | "b" => e`.
#[derive(Clone, Debug)]
pub struct MatchArm {
    /// The values; empty for `_`.
    pub values: Vec<Literal>,
    /// The result.
    pub body: Expr,
}

/// `e` or `...e`.
#[derive(Clone, Debug)]
pub struct ListItem {
    /// Whether the items of the list are meant.
    pub spread: bool,
    /// The item or the list.
    pub expr: Expr,
}

/// An argument of an operation in a rule.
#[derive(Clone, Debug)]
pub struct OpArg {
    /// `name = `, if given.
    pub name: Option<Ident>,
    /// The value.
    pub value: Expr,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is its own sign")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    CeilDiv,
    Mod,
    Pow,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
    In,
    NotIn,
}

impl BinaryOp {
    /// As it is written.
    pub fn sign(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::FloorDiv => "floordiv",
            BinaryOp::CeilDiv => "ceildiv",
            BinaryOp::Mod => "%",
            BinaryOp::Pow => "**",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::And => "and",
            BinaryOp::Or => "or",
            BinaryOp::In => "in",
            BinaryOp::NotIn => "not in",
        }
    }
}

/// Reductions inside expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aggregate {
    /// Sum.
    Sum,
    /// Product.
    Prod,
    /// Maximum; NaN if any is.
    Max,
    /// Minimum; NaN if any is.
    Min,
    /// Whether any is true.
    Any,
    /// Whether all are true.
    All,
    /// The first place of the maximum, NaN above all.
    ArgMax,
    /// The first place of the minimum, NaN below all.
    ArgMin,
    /// `.mean`, `.m2` (sum of squared differences from the mean) and `.count`.
    Welford,
    /// log(sum(exp(x))), computed without overflow.
    LogSumExp,
}

impl Aggregate {
    /// The function that a word names.
    pub fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "sum" => Aggregate::Sum,
            "prod" => Aggregate::Prod,
            "max" => Aggregate::Max,
            "min" => Aggregate::Min,
            "any" => Aggregate::Any,
            "all" => Aggregate::All,
            "argmax" => Aggregate::ArgMax,
            "argmin" => Aggregate::ArgMin,
            "welford" => Aggregate::Welford,
            "logsumexp" => Aggregate::LogSumExp,
            _ => return None,
        })
    }
}

/// A rewrite rule.
#[derive(Clone, Debug)]
pub struct RuleDef {
    /// Its name; a decomposition has the name of its op.
    pub name: Ident,
    /// The set it belongs to: as declared, or `DIALECT.rules` and `DIALECT.decompositions`.
    pub set: Str,
    /// Whether it is written `decompose`.
    pub decomposition: bool,
    /// Documentation.
    pub doc: String,
    /// What is matched.
    pub pattern: OpPattern,
    /// What replaces it: one value for each result of the pattern's op.
    pub replacement: Expr,
    /// What must hold.
    pub condition: Option<Expr>,
    /// The whole rule.
    pub span: Span,
}

/// An operation in a pattern.
#[derive(Clone, Debug)]
pub struct OpPattern {
    /// Its name.
    pub op: Ident,
    /// Patterns of its arguments in schema order. What is not mentioned must have its default, unless `rest`.
    pub args: Vec<PatternArg>,
    /// Whether `..` ends the arguments: the others may be anything.
    pub rest: bool,
    /// Which of its results is meant (`.1`).
    pub result: Option<u32>,
    /// Where.
    pub span: Span,
}

/// One argument of a pattern.
#[derive(Clone, Debug)]
pub struct PatternArg {
    /// `name = `, if given.
    pub name: Option<Ident>,
    /// What must stand there.
    pub pattern: Pattern,
}

/// What must stand at an argument.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// Anything; the same name twice means the same value.
    Bind(Ident),
    /// Anything.
    Any(Span),
    /// This constant.
    Literal(Literal, Span),
    /// These items.
    List(Vec<Pattern>, Span),
    /// A value that such an operation defines.
    Op(Box<OpPattern>),
}
