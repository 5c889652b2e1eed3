//! Rules as the matcher works on them: ops and arguments looked up. What is wrong with a rule was reported when its file was read
//! (`rinductor_defs::check`), so nothing can fail here.

use crate::dialects::infos::OpInfos;
use crate::support::FxHashMap;
use rinductor_defs::OpDef;
use rinductor_defs::ast::{OpPattern, Pattern, RuleDef, Str};
use rinductor_defs::schema::Literal;

/// A rule with its pattern.
pub struct Rule<'a> {
    /// The rule as it was read.
    pub def: &'a RuleDef,
    /// What it matches.
    pub pattern: OpNode<'a>,
}

impl Rule<'_> {
    /// The rule's name.
    pub fn name(&self) -> &str {
        &self.def.name.text
    }
}

/// An op of a pattern.
pub struct OpNode<'a> {
    /// Its definition.
    pub def: &'a OpDef,
    /// Patterns by number of the parameter.
    pub args: Vec<(usize, Node<'a>)>,
    /// Whether arguments without a pattern may be anything; else they have their defaults.
    pub rest: bool,
    /// Which result is meant.
    pub result: u32,
}

/// A pattern of an argument.
pub enum Node<'a> {
    /// Anything; the same name twice means the same value.
    Bind(&'a Str),
    /// Anything.
    Any,
    /// A constant.
    Literal(&'a Literal),
    /// A list with these items.
    List(Vec<Node<'a>>),
    /// A value that such an op defines.
    Op(OpNode<'a>),
}

/// The rules of some sets, by the op at their root.
#[derive(Default)]
pub struct RuleSet<'a> {
    /// All rules, in the order of reading.
    pub rules: Vec<Rule<'a>>,
    by_root: FxHashMap<&'a str, Vec<usize>>,
}

impl<'a> RuleSet<'a> {
    /// The rules that `wanted` accepts, in the order of reading.
    ///
    /// # Panics
    /// A rule names an op or an argument that is not there, which the checker of dialect files would have found.
    pub fn compile(infos: &'a dyn OpInfos, wanted: impl Fn(&RuleDef) -> bool) -> RuleSet<'a> {
        let mut set = RuleSet::default();
        for def in infos.rules().iter().filter(|r| wanted(r)) {
            set.add(Rule { def, pattern: op_node(&def.pattern, infos) });
        }
        set
    }

    /// Adds a rule; it is tried after those that are there.
    pub fn add(&mut self, rule: Rule<'a>) {
        self.by_root.entry(&rule.pattern.def.name.text).or_default().push(self.rules.len());
        self.rules.push(rule);
    }

    /// The numbers of the rules whose pattern has this op at its root.
    pub fn rooted_at(&self, op: &str) -> &[usize] {
        self.by_root.get(op).map_or(&[], |list| list)
    }
}

fn op_node<'a>(pattern: &'a OpPattern, infos: &'a dyn OpInfos) -> OpNode<'a> {
    let def = infos.def(&pattern.op.text).expect("the ops of a rule were checked");
    let numbers = def.argument_numbers(pattern.args.iter().map(|a| a.name.as_ref()));
    let args = numbers
        .into_iter()
        .zip(&pattern.args)
        .map(|(number, arg)| (number.expect("the arguments of a rule were checked"), node(&arg.pattern, infos)));
    OpNode { def, args: args.collect(), rest: pattern.rest, result: pattern.result.unwrap_or(0) }
}

fn node<'a>(pattern: &'a Pattern, infos: &'a dyn OpInfos) -> Node<'a> {
    match pattern {
        Pattern::Bind(name) => Node::Bind(&name.text),
        Pattern::Any(_) => Node::Any,
        Pattern::Literal(literal, _) => Node::Literal(literal),
        Pattern::List(items, _) => Node::List(items.iter().map(|i| node(i, infos)).collect()),
        Pattern::Op(op) => Node::Op(op_node(op, infos)),
    }
}
