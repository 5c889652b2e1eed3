//! From IR to text. Nested regions are written from a stack of things to do, so that any depth can be printed.

mod attrs;
mod names;
mod pretty;

pub use attrs::AttrText;

use crate::ir::registry::Registry;
use crate::ir::{Block, Dict, Ir, Loc, Op, Region, Type, TypeData, Value};
use attrs::{result_types, ty};
pub(super) use names::Naming;
use pretty::PrettyPrint;
use rinductor_index::{Atom, Expr};
use rinductor_support::{FxHashMap, FxHashSet, Name};
use std::fmt::Write;

/// How IR is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrintOptions {
    /// Every op in generic form.
    pub generic: bool,
    /// With locations.
    pub debuginfo: bool,
    /// Without what stands in regions: an op on one line, for messages.
    pub skip_regions: bool,
}

/// Indents deeper than this are written as this one: what is printed stays linear in what is nested.
const MAX_INDENT: usize = 64;

enum Task<'a> {
    /// This op and those after it in its block; a last op of this name is left out.
    Ops(Option<Op>, Option<Name>, usize),
    Region(Region, RegionHow, usize),
    Block(Block, bool, Option<Name>, usize),
    Text(&'static str),
    /// Line break and indent, then text.
    Line(&'static str, usize),
    /// What follows the regions of an op in generic form.
    Tail(Op),
    Pretty(Box<PrettyPrint<'a>>),
    EndLine,
}

/// How a region is written.
#[derive(Clone, Copy, Default)]
struct RegionHow {
    /// Whether the arguments of its first block stand elsewhere.
    args_elsewhere: bool,
    /// Whether the region always has one block, so that an empty one needs no label.
    single: bool,
    /// An op without operands and attributes that is left out at its end.
    implicit: Option<Name>,
}

struct Printer<'a> {
    ir: &'a Ir,
    registry: &'a Registry,
    options: &'a PrintOptions,
    out: &'a mut String,
    naming: Naming,
    /// Functions in pretty form: in them the ops of `func` are written without their dialect.
    pretty_functions: FxHashSet<Op>,
    /// Texts that were written before.
    types: FxHashMap<Type, Box<str>>,
    dicts: FxHashMap<Dict, Box<str>>,
    infos: FxHashMap<Name, Option<&'a crate::ir::registry::OpInfo>>,
    tasks: Vec<Task<'a>>,
}

/// Writes an op with what is nested in it.
pub fn print(ir: &Ir, registry: &Registry, options: &PrintOptions, op: Op, out: &mut String) {
    let mut naming = Naming::default();
    // The results of the op itself, and what it uses, are named in the scope around it.
    if op != ir.module() {
        let around = std::iter::successors(ir.parent_op(op), |&o| ir.parent_op(o))
            .find(|&o| registry.op(ir.op_name(o)).is_some_and(|i| i.isolated));
        naming.scope(ir, registry, around.unwrap_or(ir.module()));
    }
    let mut p = Printer {
        ir,
        registry,
        options,
        out,
        naming,
        pretty_functions: FxHashSet::default(),
        types: FxHashMap::default(),
        dicts: FxHashMap::default(),
        infos: FxHashMap::default(),
        tasks: Vec::new(),
    };
    p.op(op, 0);
    p.work();
    if op == ir.module()
        && let Some(resources) = &ir.resources
    {
        p.out.push('\n');
        p.out.push_str(resources);
        p.out.push('\n');
    }
}

impl<'a> Printer<'a> {
    fn work(&mut self) {
        while let Some(task) = self.tasks.pop() {
            match task {
                Task::Text(text) => self.out.push_str(text),
                Task::EndLine => self.out.push('\n'),
                Task::Line(text, indent) => {
                    self.indent(indent);
                    self.out.push_str(text);
                }
                Task::Ops(op, implicit, indent) => {
                    if let Some(op) = op.filter(|&op| !self.left_out(op, implicit)) {
                        self.tasks.push(Task::Ops(self.ir.next_op(op), implicit, indent));
                        self.indent(indent);
                        self.op(op, indent);
                    }
                }
                Task::Block(block, label, implicit, indent) => {
                    if label {
                        self.indent(indent.saturating_sub(1));
                        self.label(block);
                    }
                    self.tasks.push(Task::Ops(self.ir.first_op(block), implicit, indent));
                }
                Task::Region(region, how, indent) => self.region(region, how, indent),
                Task::Tail(op) => self.tail(op),
                Task::Pretty(state) => self.pretty(state),
            }
        }
    }

    /// Whether an op is the terminator that a pretty form leaves out.
    fn left_out(&self, op: Op, implicit: Option<Name>) -> bool {
        let data = self.ir.op(op);
        implicit == Some(data.name)
            && self.ir.next_op(op).is_none()
            && self.ir.num_operands(op) == 0
            && self.ir.num_results(op) == 0
            && self.ir.regions_of(op).is_empty()
            && self.ir.successors(op).is_empty()
            && self.ir.dict(data.attrs).is_empty()
            && self.ir.dict(data.props).is_empty()
            && (!self.options.debuginfo || !matches!(data.loc, Loc::Id(_)))
    }

    fn indent(&mut self, indent: usize) {
        const SPACES: &str = "                                                                ";
        let mut left = 2 * indent.min(MAX_INDENT);
        while left > 0 {
            let n = left.min(SPACES.len());
            self.out.push_str(&SPACES[..n]);
            left -= n;
        }
    }

    fn info(&mut self, name: Name) -> Option<&'a crate::ir::registry::OpInfo> {
        let (registry, ir): (&'a Registry, &'a Ir) = (self.registry, self.ir);
        *self.infos.entry(name).or_insert_with(|| registry.op(ir.text(name)))
    }

    fn op(&mut self, op: Op, indent: usize) {
        let name = self.ir.op(op).name;
        let info = self.info(name);
        let has_regions = !self.ir.regions_of(op).is_empty();
        if has_regions && (op == self.ir.module() || info.is_some_and(|i| i.isolated)) {
            let (ir, registry) = (self.ir, self.registry);
            self.naming.scope(ir, registry, op);
        }
        if self.ir.num_results(op) > 0 {
            self.naming.head(self.ir, op, self.out);
            self.out.push_str(" = ");
        }
        if !self.options.generic
            && let Some(info) = info
            && let Some(format) = info.format.as_deref()
            && let Some(state) = self.pretty_start(op, format, indent)
        {
            self.tasks.push(Task::EndLine);
            self.pretty(Box::new(state));
            return;
        }
        self.generic(op, indent);
    }

    fn generic(&mut self, op: Op, indent: usize) {
        let data = self.ir.op(op);
        let name = self.ir.text(data.name);
        if name.contains(['"', '\\']) || name.chars().any(char::is_control) {
            attrs::string(name.as_bytes(), self.out).expect("a string takes all text");
        } else {
            self.out.push('"');
            self.out.push_str(name);
            self.out.push('"');
        }
        self.out.push('(');
        let ir = self.ir;
        for (i, v) in ir.operands(op).enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            self.naming.value(ir, v, self.out);
        }
        self.out.push(')');
        if !ir.successors(op).is_empty() {
            self.out.push('[');
            for (i, &b) in ir.successors(op).iter().enumerate() {
                if i > 0 {
                    self.out.push_str(", ");
                }
                self.naming.block(ir, b, self.out);
            }
            self.out.push(']');
        }
        if !ir.dict(data.props).is_empty() {
            self.out.push_str(" <");
            self.dict(data.props);
            self.out.push('>');
        }
        self.tasks.push(Task::EndLine);
        self.tasks.push(Task::Tail(op));
        let regions = ir.regions_of(op);
        if regions.is_empty() {
            return;
        }
        self.out.push_str(" (");
        self.tasks.push(Task::Text(")"));
        for (i, &region) in regions.iter().enumerate().rev() {
            if self.options.skip_regions {
                self.tasks.push(Task::Text("{...}"));
            } else {
                self.tasks.push(Task::Line("}", indent));
                self.tasks.push(Task::Region(region, RegionHow::default(), indent + 1));
                self.tasks.push(Task::Text("{\n"));
            }
            if i > 0 {
                self.tasks.push(Task::Text(", "));
            }
        }
    }

    fn tail(&mut self, op: Op) {
        let data = self.ir.op(op);
        if !self.ir.dict(data.attrs).is_empty() {
            self.out.push(' ');
            self.dict(data.attrs);
        }
        self.out.push_str(" : (");
        let ir = self.ir;
        for (i, v) in ir.operands(op).enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            self.ty(ir.value_type(v));
        }
        self.out.push_str(") -> ");
        match ir.num_results(op) {
            1 if !matches!(ir.ty(ir.value_type(ir.result(op, 0))), TypeData::Function { .. }) => {
                self.ty(ir.value_type(ir.result(op, 0)));
            }
            _ => {
                let types: Vec<Type> = ir.results(op).map(|v| ir.value_type(v)).collect();
                result_types(ir, &types, self.out).expect("a string takes all text");
            }
        }
        self.location(op);
    }

    fn location(&mut self, op: Op) {
        self.trailing_loc(self.ir.op(op).loc);
    }

    /// The location of a block argument.
    fn arg_location(&mut self, arg: Value) {
        self.trailing_loc(self.ir.arg_loc(arg));
    }

    fn trailing_loc(&mut self, loc: Loc) {
        if self.options.debuginfo {
            let text =
                if matches!(loc, Loc::Id(_)) { AttrText::of_loc(self.ir, loc).to_string() } else { "unknown".into() };
            write!(self.out, " loc({text})").expect("a string takes all text");
        }
    }

    fn ty(&mut self, t: Type) {
        if let Some(text) = self.types.get(&t) {
            self.out.push_str(text);
            return;
        }
        let start = self.out.len();
        ty(self.ir, t, self.out).expect("a string takes all text");
        self.types.insert(t, self.out[start..].into());
    }

    fn dict(&mut self, d: Dict) {
        if let Some(text) = self.dicts.get(&d) {
            self.out.push_str(text);
            return;
        }
        let start = self.out.len();
        attrs::dict(self.ir, d, self.out).expect("a string takes all text");
        self.dicts.insert(d, self.out[start..].into());
    }

    fn region(&mut self, region: Region, how: RegionHow, indent: usize) {
        let blocks = self.ir.blocks_of(region);
        for (i, &block) in blocks.iter().enumerate().rev() {
            let ir = self.ir;
            let label = if i > 0 {
                true
            } else {
                let given = how.args_elsewhere && !ir.block_args(block).is_empty();
                // A first block that is empty can only be seen by its label.
                let unseen = ir.first_op(block).is_none() && !how.single;
                !given && (!ir.block_args(block).is_empty() || ir.block(block).name.is_some() || unseen)
            };
            let implicit = how.implicit.filter(|_| i + 1 == blocks.len());
            self.tasks.push(Task::Block(block, label, implicit, indent));
        }
    }

    fn label(&mut self, block: Block) {
        let ir = self.ir;
        self.naming.block(ir, block, self.out);
        let args = ir.block_args(block);
        if !args.is_empty() {
            self.out.push('(');
            for (i, &arg) in args.iter().enumerate() {
                if i > 0 {
                    self.out.push_str(", ");
                }
                self.naming.value(ir, arg, self.out);
                self.out.push_str(": ");
                self.ty(ir.value_type(arg));
                self.arg_location(arg);
            }
            self.out.push(')');
        }
        self.out.push_str(":\n");
    }
}

/// The dimensions that expressions use, in the order in which their text names them first.
pub fn dim_order(ir: &Ir, exprs: &[Expr], count: usize) -> Vec<u32> {
    let mut order = Vec::new();
    let mut used = vec![false; count];
    for &e in exprs {
        // Dimensions are written with a mark that nothing else has.
        let mut text = String::new();
        let written = ir.exprs.write(&mut text, e, rinductor_index::Spelling::Ours, |d| format!("%{d} "));
        written.expect("a string takes all text");
        for part in text.split('%').skip(1) {
            let digits = part.split(' ').next().unwrap_or("");
            if let Ok(d) = digits.parse::<u32>()
                && let Some(u) = used.get_mut(d as usize)
                && !std::mem::replace(u, true)
            {
                order.push(d);
            }
        }
    }
    order
}

/// Numbers the dimensions of expressions in the order in which their text names them, so that printing and parsing change nothing. Gives the old
/// number of each; dimensions that do not occur are left out.
pub fn in_printed_order(ir: &mut Ir, exprs: &mut [Expr], count: usize) -> Vec<u32> {
    let mut olds: Vec<u32> = (0..count as u32).collect();
    // Other numbers may change the order of terms, and so the text.
    for _ in 0..4 {
        let order = dim_order(ir, exprs, olds.len());
        if order.len() == olds.len() && order.iter().enumerate().all(|(i, &d)| i == d as usize) {
            break;
        }
        let mut place = vec![0; olds.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old as usize] = new as u32;
        }
        for e in exprs.iter_mut() {
            *e = ir.exprs.subst_with(*e, |ex, atom| match atom {
                Atom::Dim(d) => Some(ex.dim(place[d as usize])),
                Atom::Sym(_) => None,
            });
        }
        olds = order.iter().map(|&d| olds[d as usize]).collect();
    }
    olds
}

/// Whether an expression has dimensions beyond a count.
fn dims_within(ir: &Ir, e: Expr, count: usize) -> bool {
    ir.exprs.atoms(e).all(|a| !matches!(a, Atom::Dim(d) if d as usize >= count))
}
