//! One rule against one op: what its variables stand for, if it matches.

use super::facts::with_graph;
use super::pattern::{Node, OpNode, Rule};
use crate::dialects::instance::instance_of;
use crate::ir::{Def, Ir, Op, Value};
use crate::support::FxHashMap;
use rinductor_defs::ast::Str;
use rinductor_defs::eval::{TensorSource, TensorValue};
use rinductor_defs::schema::Literal;
use rinductor_defs::{Arg, Instance, OpDef, Setting, Signature, Source, Value as Known, eval_expr};
use rinductor_index::{Exprs, Ranges};
use std::rc::Rc;

/// What the variables of a rule stand for. A tensor is `Source::Operand(k)` for `slots[k]`.
#[derive(Clone, Default)]
pub struct Bindings {
    /// Values by name.
    pub vars: Vec<(Str, Known)>,
    /// The values of the graph that the tensors among them are.
    pub slots: Vec<Value>,
    /// The ops that the pattern matched, its root first.
    pub ops: Vec<Op>,
}

impl Bindings {
    /// The number of a value of the graph.
    pub fn slot(&mut self, value: Value) -> usize {
        self.slots.iter().position(|&v| v == value).unwrap_or_else(|| {
            self.slots.push(value);
            self.slots.len() - 1
        })
    }

    /// The value of the graph that a tensor is; None for a number that stands for one.
    pub fn graph_value(&self, value: &Known) -> Option<Value> {
        match value {
            Known::Tensor(t) => match &t.source {
                TensorSource::Source(Source::Operand(k)) => self.slots.get(*k).copied(),
                _ => None,
            },
            _ => None,
        }
    }

    /// An argument of an op, whose tensors are numbered by the op's operands, with tensors numbered by slots.
    fn adopt(&mut self, value: &Known, operands: &[Value]) -> Known {
        match value {
            Known::Tensor(t) => match &t.source {
                TensorSource::Source(Source::Operand(k)) => {
                    let slot = self.slot(operands[*k]);
                    Known::Tensor(Rc::new(TensorValue {
                        source: TensorSource::Source(Source::Operand(slot)),
                        ..(**t).clone()
                    }))
                }
                _ => value.clone(),
            },
            Known::List(items) => Known::List(items.iter().map(|i| self.adopt(i, operands)).collect()),
            _ => value.clone(),
        }
    }
}

/// The arguments of one op.
struct Args {
    instance: Instance,
    values: Vec<Known>,
    operands: Vec<Value>,
}

/// Matches rules; keeps what it learned of ops until the graph changes.
pub struct Matcher {
    facts: Ranges,
    args: FxHashMap<Op, Option<Rc<Args>>>,
}

impl Matcher {
    /// For a graph about whose symbols `facts` are known.
    pub fn new(facts: Ranges) -> Self {
        Self { facts, args: FxHashMap::default() }
    }

    /// Matches a rule at an op, its condition included.
    pub fn matches(&mut self, ir: &mut Ir, rule: &Rule<'_>, op: Op) -> Option<Bindings> {
        let mut b = Bindings::default();
        if !self.op(ir, &rule.pattern, op, &mut b) {
            return None;
        }
        let Some(condition) = &rule.def.condition else { return Some(b) };
        // What cannot be decided, or has no value (a dimension that is not there), does not hold.
        let holds = with_graph(ir, &b.slots, |exprs, externs| {
            eval_expr(condition, &b.vars, exprs, &Setting { facts: self.facts.clone(), externs: Some(externs) })
        });
        (holds == Ok(Known::Bool(true))).then_some(b)
    }

    fn args_of(&mut self, ir: &mut Ir, op: Op, def: &OpDef) -> Option<Rc<Args>> {
        if let Some(known) = self.args.get(&op) {
            return known.clone();
        }
        let setting = Setting { facts: self.facts.clone(), externs: None };
        let args = instance_of(ir, op, def).ok().and_then(|instance| {
            let named = rinductor_defs::arguments(def, &instance, &mut ir.exprs, &setting).ok()?;
            let values = named.into_iter().map(|(_, v)| v).collect();
            Some(Rc::new(Args { instance, values, operands: ir.operand_list(op).to_vec() }))
        });
        self.args.insert(op, args.clone());
        args
    }

    fn op(&mut self, ir: &mut Ir, node: &OpNode<'_>, op: Op, b: &mut Bindings) -> bool {
        if ir.op_name(op) != &*node.def.name.text || b.ops.len() > 64 {
            return false;
        }
        let Some(args) = self.args_of(ir, op, node.def) else { return false };
        b.ops.push(op);
        let before = b.clone();
        if self.op_args(ir, node, &args, b, false) {
            return true;
        }
        let swaps = node.def.has_trait("commutative") && args.values.len() >= 2;
        if swaps {
            *b = before;
            return self.op_args(ir, node, &args, b, true);
        }
        false
    }

    /// Matches the arguments; `swapped`: with the first two in each other's place.
    fn op_args(&mut self, ir: &mut Ir, node: &OpNode<'_>, args: &Args, b: &mut Bindings, swapped: bool) -> bool {
        if !node.rest {
            let given = |k: usize| node.args.iter().any(|(n, _)| *n == k);
            let others = (0..args.values.len()).filter(|&k| !given(k));
            if !others.into_iter().all(|k| is_default(node.def, args, k, &ir.exprs)) {
                return false;
            }
        }
        for (k, pattern) in &node.args {
            let k = match (swapped, *k) {
                (true, 0) => 1,
                (true, 1) => 0,
                (_, k) => k,
            };
            let Some(value) = args.values.get(k) else { return false };
            let value = b.adopt(value, &args.operands);
            if !self.node(ir, pattern, &value, b) {
                return false;
            }
        }
        true
    }

    fn node(&mut self, ir: &mut Ir, node: &Node<'_>, value: &Known, b: &mut Bindings) -> bool {
        match node {
            Node::Any => true,
            Node::Bind(name) => match b.vars.iter().find(|(n, _)| n == *name) {
                Some((_, bound)) => bound == value,
                None => {
                    b.vars.push(((*name).clone(), value.clone()));
                    true
                }
            },
            Node::Literal(literal) => literal_is(literal, value, &ir.exprs),
            Node::List(items) => match value {
                Known::List(values) if values.len() == items.len() => {
                    items.iter().zip(values.iter()).all(|(item, v)| self.node(ir, item, v, b))
                }
                _ => false,
            },
            Node::Op(inner) => {
                let Some(v) = b.graph_value(value) else { return false };
                match ir.def(v) {
                    Def::Result(op, k) => k == inner.result && self.op(ir, inner, op, b),
                    Def::Arg(..) => false,
                }
            }
        }
    }
}

/// Whether an argument that a pattern does not mention has its default.
fn is_default(def: &OpDef, args: &Args, k: usize, exprs: &Exprs) -> bool {
    if matches!(args.instance.args.get(k), None | Some(Arg::Absent | Arg::None)) {
        return true;
    }
    let default = match &def.signature {
        Signature::Schema(sig) => sig.params[k].default.as_ref(),
        Signature::Named(sig) => k.checked_sub(sig.operands.len()).and_then(|a| sig.attrs[a].default.as_ref()),
    };
    match default {
        Some(default) => literal_is(default, &args.values[k], exprs),
        None => args.values[k] == Known::None,
    }
}

/// Whether a value is a constant. An int and a float are different even where they are equal, and so are 0.0 and -0.0.
pub fn literal_is(literal: &Literal, value: &Known, exprs: &Exprs) -> bool {
    match (literal, value) {
        (_, Known::Tensor(t)) => match &t.source {
            TensorSource::Number(number) => literal_is(literal, number, exprs),
            TensorSource::Source(_) => false,
        },
        (Literal::None, Known::None) => true,
        (Literal::Bool(a), Known::Bool(b)) => a == b,
        (Literal::Int(a), Known::Int(e)) => exprs.as_int(*e) == Some(*a),
        (Literal::Float(a), Known::Float(b)) => a.to_bits() == b.to_bits(),
        (Literal::Str(a), Known::Str(b)) => a == b,
        (Literal::Str(a), Known::DType(b)) => rinductor_scalar::DType::from_torch_name(a) == Some(*b),
        (Literal::List(a), Known::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| literal_is(a, b, exprs))
        }
        // `int[2] padding=0`: one number stands for a list.
        (single, Known::List(b)) => !b.is_empty() && b.iter().all(|b| literal_is(single, b, exprs)),
        _ => false,
    }
}
