//! Puts the body of a pointwise nest where another nest loads its result.
//!
//! Before:
//! ```mlir
//! func.func @forward(%x: tensor<8xf32>) -> tensor<8xf32> {
//!   %a = loops.pointwise (%i) in [8] -> tensor<8xf32> {
//!     %v = loops.load %x[%i] : f32
//!     %w = math.exp %v : f32
//!     loops.yield %w : f32
//!   }
//!   %b = loops.pointwise (%i) in [8] -> tensor<8xf32> {
//!     %v = loops.load %a[%i] : f32
//!     %w = arith.negf %v : f32
//!     loops.yield %w : f32
//!   }
//!   return %b : tensor<8xf32>
//! }
//! ```
//! After:
//! ```mlir
//! func.func @forward(%x: tensor<8xf32>) -> tensor<8xf32> {
//!   %b = loops.pointwise (%i) in [8] -> tensor<8xf32> {
//!     %v = loops.load %x[%i] : f32
//!     %w = math.exp %v : f32
//!     %w_0 = arith.negf %w : f32
//!     loops.yield %w_0 : f32
//!   }
//!   return %b : tensor<8xf32>
//! }
//! ```
//! A view is such a nest too: inlining it turns a view of a view into one index expression.

use crate::dialects::loops::{Access, Dims, Nest, NestKind, index_map};
use crate::dialects::{func, loops};
use crate::ir::edit::ValueMap;
use crate::ir::{Block, InsertPoint, Ir, Op, Value};
use crate::pass::{Changed, Level, Pass, PassContext};
use crate::pass_options;
use crate::sched::inline::{Uses, pays};
use crate::sched::named;
use crate::sched::{Decision, Decisions, cost};
use crate::support::Diagnostic;
use rinductor_index::{Atom, Expr};
use rinductor_support::FxHashMap;

pass_options! {
    pub struct Options {
        /// A nest that reads more tensors than this is not copied into several readers.
        max_reads: u32 = 4,
    }
}

/// The pass.
pub static PASS: Pass<Options> = Pass {
    name: "loops-inline",
    source: include_str!("loops_inline.rs"),
    on: Some(func::FuncOp::NAME),
    needs: &[Level::Loop],
    leaves: &[Level::Loop],
    statistics: &[("inlined", "loads that were replaced by a body"), ("erased", "nests that nothing reads any more")],
    run,
};

fn run(ir: &mut Ir, root: Op, options: &Options, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
    let Some(block) = ir.body(root) else { return Ok(Changed::No) };
    let outcome = inline_block(ir, block, options, Decisions::new(cx.wants_remarks()));
    cx.count("inlined", outcome.inlined);
    cx.count("erased", outcome.erased);
    super::util::explain(ir, outcome.decisions, cx);
    Ok((outcome.inlined + outcome.erased > 0).into())
}

/// What the pass did.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Loads that were replaced by a body.
    pub inlined: u64,
    /// Nests that nothing reads any more.
    pub erased: u64,
    /// The nests that were put into their readers.
    pub chosen: Vec<Op>,
    /// Why each was inlined or stays.
    pub decisions: Decisions,
}

/// Inlines in one block.
pub fn inline_block(ir: &mut Ir, block: Block, options: &Options, decisions: Decisions) -> Outcome {
    let mut outcome = Outcome { decisions, ..Outcome::default() };
    for op in ir.block_op_list(block) {
        if NestKind::of(ir, op) != Some(NestKind::Pointwise) {
            continue;
        }
        let Some(nest) = Nest::of(ir, op) else { continue };
        let uses = Uses::of(ir, &nest);
        match pays(ir, &nest, &uses, options.max_reads) {
            Ok(()) => {
                say_inlined(ir, &nest, &uses, &mut outcome.decisions);
                outcome.inlined += inline_places(ir, &nest, &uses.places);
                outcome.chosen.push(op);
            }
            Err(why) => {
                for user in users(ir, op, &outcome.decisions) {
                    let text = format!("not inlined into {}: {why}", named(ir, user));
                    outcome.decisions.say(|| Decision::between(ir, op, user, text));
                }
            }
        }
        if ir.results(op).all(|r| ir.is_unused(r)) {
            ir.erase(op);
            outcome.erased += 1;
        }
    }
    outcome
}

/// Says what each reader of a nest gets in its place.
fn say_inlined(ir: &mut Ir, nest: &Nest, uses: &Uses, decisions: &mut Decisions) {
    if !decisions.wanted() {
        return;
    }
    let (work, ty) = (cost::body_cost(ir, nest.body), ir.value_type(ir.result(nest.op, 0)));
    let bytes = cost::tensor_bytes(ir, ty);
    let why = match uses.others {
        0 if work == 0 => "it only says where to read, or what number".to_string(),
        0 => format!("its {bytes} bytes are not written and not read back, at a cost of {work} a point"),
        _ => format!("making it costs {work} a point, less than to read it; others keep its {bytes} bytes"),
    };
    for &reader in &uses.readers {
        let text = format!("inlined into {}: {why}", named(ir, reader));
        decisions.say(|| Decision::between(ir, nest.op, reader, text));
    }
}

/// The nests and other ops that use the results of an op, in the order of the block; none where nobody asks.
fn users(ir: &Ir, op: Op, decisions: &Decisions) -> Vec<Op> {
    let mut all: Vec<Op> = Vec::new();
    if decisions.wanted() {
        let block = ir.parent_block(op);
        let outermost =
            |user| std::iter::successors(Some(user), |&o| ir.parent_op(o)).find(|&o| ir.parent_block(o) == block);
        all.extend(ir.results(op).flat_map(|r| ir.uses(r)).filter_map(|(user, _)| outermost(user)));
        all.sort();
        all.dedup();
    }
    all
}

/// Replaces loads of a pointwise nest's results, those at one place together, by copies of its body; gives how many were replaced.
pub fn inline_places(ir: &mut Ir, nest: &Nest, places: &[Vec<Op>]) -> u64 {
    let mut replaced = 0;
    for place in places {
        let Some(value) = inline_load(ir, nest, place[0]) else { continue };
        for &load in &place[1..] {
            ir.replace_op(load, &[value]);
        }
        replaced += place.len() as u64;
    }
    replaced
}

/// Replaces one load of a pointwise nest's result by a copy of its body; gives the value that stands for it.
pub fn inline_load(ir: &mut Ir, producer: &Nest, load: Op) -> Option<Value> {
    let access = Access::of(ir, load, 1);
    let result = ir.results(producer.op).position(|r| r == access.tensor())?;
    let consumer_body = ir.parent_block(load)?;
    let mut dims = Dims::of_block(ir, consumer_body);
    let at_exprs = access.in_dims(ir, &mut dims);
    let sizes = ir.parent_op(load).and_then(|op| Nest::of(ir, op)).map(|n| n.sizes()).unwrap_or_default();
    let mut copy = Copy { guard: access.guard, ..Copy::new(InsertPoint::Before(load), dims, sizes) };
    for (k, &arg) in ir.block_args(producer.body).to_vec().iter().enumerate() {
        copy.place.insert(arg, at_exprs[k]);
    }
    let terminator = producer.terminator(ir);
    for op in ir.block_op_list(producer.body) {
        if op != terminator {
            copy.op(ir, op);
        }
    }
    let yielded = ir.operand(terminator, result);
    let mut value = copy.map.get(&yielded).copied().unwrap_or(yielded);
    if let Some(guard) = access.guard
        && !zero_when_unguarded(ir, value, guard)
    {
        let ty = ir.value_type(value);
        let loc = ir.op(load).loc;
        let zero = super::util::zero_constant(ir, ty, loc, copy.at);
        value = ir.create_value("arith.select", &[guard, value, zero], ty, &[], loc, copy.at);
    }
    // A view of what is computed, or copied, is computed or a copy itself.
    if let Some(consumer) = ir.parent_op(load)
        && !loops::PointwiseOp(producer.op).view(ir)
    {
        ir.set_prop(consumer, "view", None);
    }
    ir.replace_op(load, &[value]);
    Some(value)
}

/// Whether a value is a load under this very guard, and so zero where the guard is false.
fn zero_when_unguarded(ir: &Ir, value: Value, guard: Value) -> bool {
    ir.def_op(value).is_some_and(|op| ir.is_op(op, loops::LoadOp::NAME) && Access::of(ir, op, 1).guard == Some(guard))
}

/// A copy of a body at another place of the iteration space.
pub(super) struct Copy {
    at: InsertPoint,
    guard: Option<Value>,
    dims: Dims,
    sizes: Vec<Expr>,
    /// What was copied.
    pub map: ValueMap,
    /// Where the block arguments of the copied body are.
    pub place: FxHashMap<Value, Expr>,
}

impl Copy {
    /// A copy that goes to `at`, in a body with these dimensions, of these sizes.
    pub fn new(at: InsertPoint, dims: Dims, sizes: Vec<Expr>) -> Copy {
        Copy { at, guard: None, dims, sizes, map: ValueMap::default(), place: FxHashMap::default() }
    }

    /// Copies one op.
    pub fn op(&mut self, ir: &mut Ir, op: Op) {
        match ir.op_name(op) {
            loops::LoadOp::NAME => self.access(ir, op, 1, true),
            loops::IndexOp::NAME => self.access(ir, op, 0, false),
            loops::PositionOp::NAME => self.position(ir, op),
            _ => {
                ir.clone_op(op, &mut self.map, self.at);
            }
        }
    }

    fn access(&mut self, ir: &mut Ir, op: Op, leading: usize, guarded: bool) {
        let access = Access::of(ir, op, leading);
        let mut with = Vec::new();
        for (k, v) in access.index.iter().enumerate() {
            let place = match self.place.get(v) {
                Some(&e) => e,
                None => {
                    let value = self.map.get(v).copied().unwrap_or(*v);
                    let n = self.dims.number(value);
                    ir.exprs.dim(n)
                }
            };
            with.push((Atom::Dim(k as u32), place));
        }
        let exprs: Vec<Expr> = access
            .exprs
            .iter()
            .map(|&e| {
                let e = ir.exprs.subst(e, &with);
                super::util::simplify_in(ir, e, &self.sizes)
            })
            .collect();
        let (map, index) = index_map(ir, &self.dims, &exprs);
        let guard = if guarded { self.guards(ir, op, access.guard) } else { None };
        let leading = access.leading.iter().map(|v| self.map.get(v).copied().unwrap_or(*v));
        let operands: Vec<Value> = leading.chain(index).chain(guard).collect();
        let (name, loc) = (ir.op_name(op).to_string(), ir.op(op).loc);
        let old = ir.result(op, 0);
        let new = ir.create_value(&name, &operands, ir.value_type(old), &[("map", map)], loc, self.at);
        ir.copy_value_name(old, new);
        self.map.insert(old, new);
    }

    fn position(&mut self, ir: &mut Ir, op: Op) {
        let v = ir.operand(op, 0);
        let v = self.map.get(&v).copied().unwrap_or(v);
        let own = (ir.num_operands(op) > 1).then(|| ir.operand(op, 1));
        let guard = self.guards(ir, op, own);
        let operands: Vec<Value> = std::iter::once(v).chain(guard).collect();
        let copied = ir.clone_op(op, &mut self.map, self.at);
        ir.set_operands(copied, &operands);
    }

    /// The guard of the load that is replaced and the copied op's own, both.
    fn guards(&mut self, ir: &mut Ir, op: Op, own: Option<Value>) -> Option<Value> {
        let own = own.map(|g| self.map.get(&g).copied().unwrap_or(g));
        match (self.guard, own) {
            (Some(a), Some(b)) if a != b => {
                let (ty, loc) = (ir.value_type(a), ir.op(op).loc);
                Some(ir.create_value("arith.andi", &[a, b], ty, &[], loc, self.at))
            }
            (a, b) => a.or(b),
        }
    }
}
