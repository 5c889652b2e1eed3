//! The host function: what each op of the loop level becomes between kernels.

use super::kernel::is_tensor;
use super::{fused, layout, serial};
use crate::dialects::loops::{Nest, NestKind, sizes_of, strides_of};
use crate::dialects::{aten, func, kernels, loops};
use crate::ir::{Attr, AttrData, Dict, InsertPoint, Ir, Op, OpSpec, Type, TypeData, Value};
use crate::pass::OpInfos;
use crate::sched::group::{Group, Grouping, Limits};
use crate::sched::{Decision, Decisions};
use crate::support::Diagnostic;
use rinductor_defs::{OpDef, Signature};
use rinductor_support::FxHashMap;

/// What the pass did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// Kernels made.
    pub kernels: u64,
    /// Nests that became views.
    pub views: u64,
    /// Extern calls.
    pub externs: u64,
}

/// Forms the kernels of one function.
///
/// # Errors
/// An op that has no place at the kernel level, or a tensor with a size that has no expression.
pub fn form_function(
    ir: &mut Ir,
    func: Op,
    infos: &dyn OpInfos,
    decisions: Decisions,
) -> Result<(Outcome, Decisions), Diagnostic> {
    let Some(body) = ir.body(func) else {
        return Err(Diagnostic::error(ir.place(ir.op(func).loc), "'form-kernels' needs a function of one block"));
    };
    let mut former = Former {
        func,
        buffers: FxHashMap::default(),
        outcome: Outcome::default(),
        names: FxHashMap::default(),
        fresh: Vec::new(),
        written: Vec::new(),
        decisions,
    };
    for arg in ir.block_args(body).to_vec() {
        let ty = ir.value_type(arg);
        if is_tensor(ir, ty) {
            let buffer = layout::buffer_of(ir, ty).ok_or_else(|| unsized_tensor(ir, func, arg))?;
            ir.set_value_type(arg, buffer);
            former.buffers.insert(arg, arg);
        }
    }
    former.written =
        ir.block_op_list(body).into_iter().filter_map(|op| Some(aten::CopyOp::cast(ir, op)?.tensor(ir))).collect();
    for op in ir.block_op_list(body) {
        former.op(ir, op, infos)?;
    }
    former.finish(ir, body);
    Ok((former.outcome, former.decisions))
}

fn unsized_tensor(ir: &Ir, op: Op, value: Value) -> Diagnostic {
    let name = ir.value_name(value).unwrap_or("a value").to_string();
    Diagnostic::error(ir.place(ir.op(op).loc), format!("the type of %{name} has a size '?' without an expression"))
        .help("give it an #aten.layout<sizes = […]> that names its symbols")
}

struct Former {
    func: Op,
    /// The buffer of each tensor.
    buffers: FxHashMap<Value, Value>,
    outcome: Outcome,
    /// How often each kernel name was given.
    names: FxHashMap<String, usize>,
    /// Buffers that one op of this function made and that nothing else may alias: a scatter may write into them.
    fresh: Vec<Value>,
    /// Arguments that `aten.copy_` writes.
    written: Vec<Value>,
    /// What was decided, for remarks.
    decisions: Decisions,
}

impl Former {
    fn op(&mut self, ir: &mut Ir, op: Op, infos: &dyn OpInfos) -> Result<(), Diagnostic> {
        let name = ir.op_name(op).to_string();
        match name.as_str() {
            loops::FusionOp::NAME => self.fusion(ir, op),
            _ if name.starts_with("loops.") && NestKind::of(ir, op).is_some() => self.nest(ir, op),
            func::ReturnOp::NAME => self.returns(ir, op),
            aten::CopyOp::NAME => self.copy_into(ir, op),
            aten::ConstantOp::NAME => self.constant(ir, op),
            loops::SizeOp::NAME => {
                ir.rename_op(op, kernels::SizeOp::NAME);
                Ok(())
            }
            _ if name.starts_with("aten.") || name.starts_with("prims.") || name.starts_with("higher_order.") => {
                let def = infos.def(&name);
                // An op of which a rule alone says what it is has no kernel to call.
                if def.is_some_and(|d| d.semantics.is_empty())
                    && infos.rules().iter().any(|r| r.decomposition && *r.pattern.op.text == *name)
                {
                    let message = format!("'{name}' is defined by its decomposition alone, which was not applied");
                    return Err(Diagnostic::error(ir.place(ir.op(op).loc), message).help("run aten-decompose first"));
                }
                self.external(ir, op, &name, def)
            }
            _ => Ok(()), // host scalars: sizes and arithmetic on them, aten.none
        }
    }

    /// Allocates the buffer of a computed tensor before `op`.
    fn alloc(&mut self, ir: &mut Ir, value: Value, op: Op) -> Result<Value, Diagnostic> {
        let ty = ir.value_type(value);
        // What the function returns lies as its type says, whatever gaps that has.
        let returned = ir.uses(value).any(|(user, _)| ir.is_op(user, "func.return"));
        let ty = if returned { layout::buffer_of(ir, ty) } else { layout::fresh_buffer_of(ir, ty) };
        let ty = ty.ok_or_else(|| unsized_tensor(ir, op, value))?;
        let loc = ir.op(op).loc;
        let buffer = ir.create_value(kernels::AllocOp::NAME, &[], ty, &[], loc, InsertPoint::Before(op));
        ir.copy_value_name(value, buffer);
        self.buffers.insert(value, buffer);
        self.fresh.push(buffer);
        Ok(buffer)
    }

    /// A kernel name from the SSA names of what it makes, without their numbers: `add_var_mean_mul`, with a number if it was given before.
    fn kernel_name(&mut self, ir: &Ir, members: &[Op]) -> String {
        let mut words: Vec<String> = Vec::new();
        for &m in members {
            let Some(name) = ir.value_name(ir.result(m, 0)) else { continue };
            let word = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_' || c == '#').to_string();
            if !word.is_empty() && !words.contains(&word) {
                words.push(word);
            }
        }
        if words.len() > 4 {
            let last = words.pop().unwrap_or_default();
            words.truncate(3);
            words.push(last);
        }
        let base = if words.is_empty() { "kernel".to_string() } else { words.join("_") };
        let base: String = base.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
        loop {
            let n = self.names.entry(base.clone()).or_insert(0);
            let name = format!("{base}_{n}");
            *n += 1;
            if ir.lookup_symbol(&name).is_none() {
                return name;
            }
        }
    }

    fn launch(&mut self, ir: &mut Ir, name: &str, operands: &[Value], op: Op) {
        let (callee, loc) = (ir.symbol_attr(name), ir.op(op).loc);
        ir.create_op(kernels::LaunchOp::NAME, operands, &[], &[("callee", callee)], loc, InsertPoint::Before(op));
        self.outcome.kernels += 1;
    }

    fn fusion(&mut self, ir: &mut Ir, op: Op) -> Result<(), Diagnostic> {
        let Some(body) = ir.body(op) else { return Ok(()) };
        let group = whole_group(ir, body, op)?;
        let end = ir.last_op(body).expect("a verified fusion ends in loops.return");
        let returned = ir.operand_list(end);
        let mut outputs: Vec<(Value, String)> = Vec::new();
        for (k, &inner) in returned.iter().enumerate() {
            let result = ir.result(op, k);
            if let Some(&buffer) = self.buffers.get(&inner) {
                self.buffers.insert(result, buffer); // returned twice
                self.fresh.retain(|&b| b != buffer);
                continue;
            }
            let buffer = self.alloc(ir, result, op)?;
            self.buffers.insert(inner, buffer);
            outputs.push((inner, output_name(ir, result)));
        }
        for inner in fused::kept(ir, &group, &outputs) {
            self.alloc(ir, inner, op)?;
            if let Some(maker) = ir.def_op(inner) {
                let why =
                    "stored by its kernel and read back in a later walk, which costs less than to compute it again";
                self.decisions.say(|| Decision::of(ir, maker, why));
            }
            outputs.push((inner, output_name(ir, inner)));
        }
        self.group_kernel(ir, &group, &outputs, op);
        Ok(())
    }

    fn group_kernel(&mut self, ir: &mut Ir, group: &Group, outputs: &[(Value, String)], op: Op) {
        if outputs.iter().all(|(v, _)| layout::is_empty(ir, ir.value_type(*v))) {
            return; // no points, no work
        }
        let name = self.kernel_name(ir, &group.members);
        let loc = ir.op(op).loc;
        let at = InsertPoint::Before(op);
        let operands = fused::build(ir, group, outputs, &self.buffers, &name, self.func, at, loc);
        self.launch(ir, &name, &operands, op);
    }

    fn nest(&mut self, ir: &mut Ir, op: Op) -> Result<(), Diagnostic> {
        let Some(nest) = Nest::of(ir, op) else { return Ok(()) };
        match nest.kind {
            NestKind::Pointwise if self.view(ir, &nest) => Ok(()),
            NestKind::Pointwise | NestKind::Reduce => {
                let group = Grouping::single(ir, op);
                let mut outputs = Vec::new();
                for result in ir.results(op) {
                    if !ir.is_unused(result) {
                        self.alloc(ir, result, op)?;
                        outputs.push((result, output_name(ir, result)));
                    }
                }
                self.group_kernel(ir, &group, &outputs, op);
                Ok(())
            }
            NestKind::Scan => {
                let mut outputs = Vec::new();
                for result in ir.results(op) {
                    outputs.push(self.alloc(ir, result, op)?);
                }
                if outputs.iter().all(|&v| layout::is_empty(ir, ir.value_type(v))) {
                    return Ok(());
                }
                let name = self.kernel_name(ir, &[op]);
                let operands =
                    serial::scan(ir, &nest, &outputs, &self.buffers, &name, self.func, InsertPoint::Before(op))?;
                self.launch(ir, &name, &operands, op);
                Ok(())
            }
            NestKind::Scatter => self.scatter(ir, &nest),
            NestKind::Sort => self.sort(ir, &nest),
        }
    }

    /// Makes a view of a nest that is one; false if it is not.
    fn view(&mut self, ir: &mut Ir, nest: &Nest) -> bool {
        if loops::PointwiseOp(nest.op).packed(ir) {
            return false;
        }
        let buffers = &self.buffers;
        let layout_of = |ir: &Ir, v: Value| buffers.get(&v).map(|&b| ir.value_type(b));
        let Some(view) = layout::as_view(ir, nest, &layout_of) else { return false };
        let result = ir.result(nest.op, 0);
        let returned = ir.uses(result).any(|(user, _)| ir.is_op(user, func::ReturnOp::NAME));
        // A library is faster on some layouts than on others: it gets the one that the graph says.
        let given = ir.uses(result).any(|(user, _)| {
            NestKind::of(ir, user).is_none()
                && !ir.is_op(user, func::ReturnOp::NAME)
                && !ir.is_op(user, aten::CopyOp::NAME)
        });
        if returned && !loops::PointwiseOp(nest.op).view(ir) {
            return false; // memory of its own, by the meaning of the op that it comes from
        }
        if returned || given {
            let wanted = strides_of(ir, ir.value_type(result));
            let fits = wanted.is_some_and(|(strides, _)| {
                layout::same_places(ir, &view.sizes, (&view.strides, view.offset), (&strides, view.offset))
            });
            if !fits {
                return false;
            }
        }
        let Some(&source) = self.buffers.get(&view.source) else { return false };
        // What the end of the function writes, or gives away, must not be what the copies there change before.
        let at_the_end = returned || ir.uses(result).any(|(user, _)| ir.is_op(user, aten::CopyOp::NAME));
        if at_the_end && self.is_written(ir, source) {
            return false;
        }
        let (element, loc) = (ir.element_type(ir.value_type(result)), ir.op(nest.op).loc);
        let ty = layout::memref(ir, element, &view.sizes, &view.strides, view.offset);
        let buffer = if ir.value_type(source) == ty {
            // Two tensors in one buffer, of which the first is still read.
            if !ir.has_one_use(view.source) {
                self.fresh.retain(|&b| b != source);
            }
            source
        } else {
            let v = ir.create_value(kernels::ViewOp::NAME, &[source], ty, &[], loc, InsertPoint::Before(nest.op));
            ir.copy_value_name(result, v);
            v
        };
        self.buffers.insert(result, buffer);
        self.outcome.views += 1;
        self.decisions.say(|| {
            let source = ir.value_name(view.source).unwrap_or("a tensor");
            Decision::of(ir, nest.op, format!("a view of %{source}: no bytes are moved"))
        });
        true
    }

    /// Whether a buffer is an argument that the function writes, or a view of one.
    fn is_written(&self, ir: &Ir, buffer: Value) -> bool {
        let mut root = buffer;
        while let Some(view) = ir.def_op(root).and_then(|d| kernels::ViewOp::cast(ir, d)) {
            root = ir.operand(view.0, 0);
        }
        self.written.contains(&root)
    }

    fn scatter(&mut self, ir: &mut Ir, nest: &Nest) -> Result<(), Diagnostic> {
        let op = nest.op;
        let base = ir.operand(op, 0);
        let Some(&base_buffer) = self.buffers.get(&base) else { return Ok(()) };
        let result = ir.result(op, 0);
        let loc = ir.op(op).loc;
        // A base that this op alone uses, in memory of its own, is written in place.
        let own = self.fresh.contains(&base_buffer) && ir.has_one_use(base) && {
            let wanted = layout::fresh_buffer_of(ir, ir.value_type(result));
            wanted == Some(ir.value_type(base_buffer))
        };
        let out = if own {
            self.buffers.insert(result, base_buffer);
            base_buffer
        } else {
            let out = self.alloc(ir, result, op)?;
            self.decisions
                .say(|| Decision::of(ir, op, "its base is copied first: others read it, or the caller owns it"));
            ir.create_op(kernels::CopyOp::NAME, &[base_buffer, out], &[], &[], loc, InsertPoint::Before(op));
            out
        };
        let name = self.kernel_name(ir, &[op]);
        let operands = serial::scatter(ir, nest, out, &self.buffers, &name, self.func, InsertPoint::Before(op));
        self.launch(ir, &name, &operands, op);
        Ok(())
    }

    /// A sort: its keys are computed by a kernel, then an extern op sorts them.
    fn sort(&mut self, ir: &mut Ir, nest: &Nest) -> Result<(), Diagnostic> {
        let op = nest.op;
        let loc = ir.op(op).loc;
        let keys_ty = ir.value_type(ir.result(op, 0));
        // The keys: the same body as a pointwise nest.
        let name = ir.name(loops::PointwiseOp::NAME);
        let space = ir.index_map_attr(0, &nest.space);
        let space_name = ir.name("space");
        let props = ir.make_dict([(space_name, space)]);
        let spec = OpSpec::named(name).results(&[keys_ty]).props(props).regions(1).loc(loc);
        let keys = ir.create(spec, InsertPoint::Before(op));
        let (from, to) = (ir.regions_of(op)[0], ir.regions_of(keys)[0]);
        ir.take_blocks(from, to);
        let key = ir.result(keys, 0);
        ir.copy_value_name(ir.result(op, 0), key);
        let key_nest = Nest::of(ir, keys).expect("a pointwise nest was just made");
        if !self.view(ir, &key_nest) {
            let group = Grouping::single(ir, keys);
            self.alloc(ir, key, keys)?;
            let outputs = [(key, output_name(ir, key))];
            self.group_kernel(ir, &group, &outputs, keys);
        }
        let mut operands = vec![self.buffers[&key]];
        for result in ir.results(op) {
            operands.push(self.alloc(ir, result, op)?);
        }
        let sort = loops::SortOp(op);
        let (dim, descending) = (sort.dim(ir), sort.descending(ir));
        let entries = [
            (ir.name("dim"), ir.i64_attr(dim)),
            (ir.name("descending"), ir.bool_attr(descending)),
            (ir.name("stable"), ir.bool_attr(true)),
        ];
        let dict = ir.make_dict(entries);
        self.call(ir, "aten.sort.stable", &operands, 2, dict, op);
        Ok(())
    }

    fn call(&mut self, ir: &mut Ir, callee: &str, operands: &[Value], outs: usize, properties: Dict, op: Op) {
        let (callee, outs, loc) = (ir.string_attr(callee), ir.i64_attr(outs as i64), ir.op(op).loc);
        let properties = ir.make_attr(AttrData::Dict(properties));
        let props: [(&str, Attr); 3] = [("callee", callee), ("outs", outs), ("properties", properties)];
        ir.create_op(kernels::ExternOp::NAME, operands, &[], &props, loc, InsertPoint::Before(op));
        self.outcome.externs += 1;
    }

    fn external(&mut self, ir: &mut Ir, op: Op, name: &str, def: Option<&OpDef>) -> Result<(), Diagnostic> {
        if name == aten::NoneOp::NAME {
            ir.rename_op(op, kernels::NoneOp::NAME);
            return Ok(());
        }
        let (given, props) = explicit_operands(ir, op, def);
        let mut operands = Vec::new();
        for v in given {
            operands.push(self.buffers.get(&v).copied().unwrap_or(v));
        }
        let mut outs = 0;
        for result in ir.results(op) {
            let ty = ir.value_type(result);
            if matches!(ir.ty(ty), TypeData::None) {
                // A gradient that nobody asked for: the extern op computes none.
                let loc = ir.op(op).loc;
                let none = ir.create_value(kernels::NoneOp::NAME, &[], ty, &[], loc, InsertPoint::Before(op));
                self.buffers.insert(result, none);
                operands.push(none);
                outs += 1;
                continue;
            }
            if !is_tensor(ir, ty) {
                let text = format!("'{name}' returns what is no tensor, and has no kernel");
                return Err(Diagnostic::error(ir.place(ir.op(op).loc), text));
            }
            operands.push(self.alloc(ir, result, op)?);
            outs += 1;
        }
        self.call(ir, name, &operands, outs, props, op);
        Ok(())
    }

    fn constant(&mut self, ir: &mut Ir, op: Op) -> Result<(), Diagnostic> {
        let result = ir.result(op, 0);
        let ty = layout::fresh_buffer_of(ir, ir.value_type(result)).ok_or_else(|| unsized_tensor(ir, op, result))?;
        let value = aten::ConstantOp(op).value(ir);
        let loc = ir.op(op).loc;
        let buffer =
            ir.create_value(kernels::ConstantOp::NAME, &[], ty, &[("value", value)], loc, InsertPoint::Before(op));
        ir.copy_value_name(result, buffer);
        self.buffers.insert(result, buffer);
        Ok(())
    }

    /// `aten.copy_ %dst, %src`: the epilogue that writes a mutated input.
    fn copy_into(&mut self, ir: &mut Ir, op: Op) -> Result<(), Diagnostic> {
        let copy = aten::CopyOp(op);
        let (dst, src) = (copy.tensor(ir), copy.src(ir));
        let (Some(&to), Some(&from)) = (self.buffers.get(&dst), self.buffers.get(&src)) else { return Ok(()) };
        let (a, b) = (sizes_of(ir, ir.value_type(from)), sizes_of(ir, ir.value_type(to)));
        let same = a == b && ir.element_type(ir.value_type(from)) == ir.element_type(ir.value_type(to));
        if !same {
            let text = "'aten.copy_' that converts or broadcasts has no kernel".to_string();
            return Err(
                Diagnostic::error(ir.place(ir.op(op).loc), text).help("convert and expand its source before it")
            );
        }
        let loc = ir.op(op).loc;
        ir.create_op(kernels::CopyOp::NAME, &[from, to], &[], &[], loc, InsertPoint::Before(op));
        for result in ir.results(op) {
            self.buffers.insert(result, to);
        }
        Ok(())
    }

    fn returns(&mut self, ir: &mut Ir, op: Op) -> Result<(), Diagnostic> {
        for (i, v) in ir.operand_list(op).into_iter().enumerate() {
            if let Some(&buffer) = self.buffers.get(&v) {
                ir.set_operand(op, i, buffer);
            }
        }
        Ok(())
    }

    /// Removes the loop level, and gives the function its new type.
    fn finish(&mut self, ir: &mut Ir, body: crate::ir::Block) {
        // From the end, with the nests that `sort` made for its keys among them: what an op reads is unused once the op is gone.
        for op in ir.block_op_list(body).into_iter().rev() {
            let name = ir.op_name(op);
            let old = ["loops.", "aten.", "prims.", "higher_order."].iter().any(|level| name.starts_with(level));
            if old && ir.results(op).all(|r| ir.is_unused(r)) {
                ir.erase(op);
            }
        }
        let inputs: Vec<Type> = ir.block_args(body).iter().map(|&a| ir.value_type(a)).collect();
        let results: Vec<Type> = match ir.last_op(body) {
            Some(end) => ir.operands(end).map(|v| ir.value_type(v)).collect(),
            None => Vec::new(),
        };
        let ty = ir.function_type(&inputs, &results);
        let attr = ir.type_attr(ty);
        ir.set_prop(self.func, "function_type", Some(attr));
    }
}

/// The operands of an extern op with `kernels.none` for each optional tensor that was not passed, so that an operand's place says which argument it
/// is; and the properties with the counts that then hold.
fn explicit_operands(ir: &mut Ir, op: Op, def: Option<&OpDef>) -> (Vec<Value>, Dict) {
    let (given, props) = (ir.operand_list(op).to_vec(), ir.op(op).props);
    let (Some(Signature::Schema(sig)), Some(counts)) = (def.map(|d| &d.signature), ir.operand_segments(op)) else {
        return (given, props);
    };
    let with_counts: Vec<_> = sig.params.iter().filter(|p| p.ty.has_segment()).collect();
    if with_counts.len() != counts.len() {
        return (given, props);
    }
    let loc = ir.op(op).loc;
    let mut next = given.into_iter();
    let (mut operands, mut new_counts) = (Vec::new(), Vec::new());
    for (param, &n) in with_counts.iter().zip(&counts) {
        let missing = n == 0 && param.ty.is_tensor() && !param.ty.list && ir.attr_of(op, &param.name.text).is_none();
        if missing {
            let ty = ir.none_type();
            operands.push(ir.create_value(kernels::NoneOp::NAME, &[], ty, &[], loc, InsertPoint::Before(op)));
        } else {
            operands.extend(next.by_ref().take(n.max(0) as usize));
        }
        new_counts.push(if missing { 1 } else { n });
    }
    let key = ir.name("operandSegmentSizes");
    let counts = ir.i32_array_attr(&new_counts);
    let entries: Vec<_> = ir.dict(props).iter().copied().filter(|e| e.0 != key).chain([(key, counts)]).collect();
    let props = ir.make_dict(entries);
    (operands, props)
}

fn output_name(ir: &Ir, value: Value) -> String {
    ir.value_name(value).map_or_else(|| "out".to_string(), |n| n.replace('#', "_"))
}

/// The single group that the nests of a fusion make.
fn whole_group(ir: &mut Ir, body: crate::ir::Block, op: Op) -> Result<Group, Diagnostic> {
    let limits = Limits { members: usize::MAX, inputs: usize::MAX, distance: usize::MAX };
    let groups = Grouping::run(ir, body, limits, Decisions::default()).groups;
    if let Ok([group]) = <[Group; 1]>::try_from(groups) {
        return Ok(group);
    }
    // Once more, for the reasons.
    let decisions = Grouping::run(ir, body, limits, Decisions::new(true)).decisions;
    let place = ir.place(ir.op(op).loc);
    let mut d = Diagnostic::error(place, "the nests of this 'loops.fusion' do not fit one kernel");
    for decision in decisions.into_list().into_iter().filter(|d| d.text.contains("not fused")) {
        d = d.note(ir.place(decision.loc), decision.text);
    }
    Err(d)
}
