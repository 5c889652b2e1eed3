//! What the automatic scheduler does to a module, as a schedule: the text of `rinductor-translate --to=schedule`. And pipelines in which a schedule
//! stands in its place.

use super::pipelines;
use super::session::{self, Dialects};
use crate::dialects::kernels::{self, Axis};
use crate::dialects::{func, loops};
use crate::ir::{Ir, Op};
use crate::pass::pipeline::{Pipeline, Step};
use crate::pass::{Level, PassContext};
use crate::passes::apply_schedule::{KernelStep, apply_to_kernel, digest, sequences};
use crate::passes::{kernels_tile, loops_fuse, loops_inline};
use crate::sched::Decisions;
use crate::sched::group::Limits;
use crate::support::{Diagnostic, SourceMap};
use crate::text::{PrintOptions, names_in, print_op};
use rinductor_support::{FxHashMap, FxHashSet};
use std::fmt::Write;

/// The passes that decide, and the sequence of a schedule that says what each has decided.
const DECIDED: [(&str, &str); 3] = [("loops-inline", "inline"), ("loops-fuse", "fuse"), ("kernels-tile", "kernels")];

/// The schedule that the pipeline `cpu` gives a module, whatever its level: a sequence for each pass that decides. A module at the kernel level is one whose
/// kernels are not tiled yet.
///
/// # Errors
/// A pass failed.
pub fn automatic(ir: &Ir, dialects: &Dialects) -> Result<String, Diagnostic> {
    let mut ir = ir.clone();
    let mut sources = SourceMap::new();
    let steps = pipelines::read("<pipeline>", "cpu", &mut sources)?.steps;
    let first = match Level::of(&ir, ir.module()) {
        Some(Level::Kernel) => "kernels-tile",
        Some(Level::Loop) => "loops-inline",
        _ => "",
    };
    let from = steps.iter().position(|s| pass_name(s) == first).unwrap_or(0);
    let mut out = String::new();
    let mut names = Names::default();
    for step in steps.into_iter().skip(from) {
        let name = names.next(pass_name(&step));
        match (pass_name(&step), name) {
            ("loops-inline", Some(name)) => inline(&mut ir, dialects, &name, &mut out),
            ("loops-fuse", Some(name)) => fuse(&mut ir, dialects, &name, &mut out),
            ("kernels-tile", Some(name)) => {
                tile(&mut ir, dialects, &name, &mut out)?;
                break;
            }
            _ => {
                pipelines::run(&mut ir, &Pipeline { steps: vec![step] }, dialects, false).map_err(first_of)?;
            }
        }
    }
    Ok(out)
}

/// The names of the sequences for the passes of a pipeline: `inline`, and `inline_2` for the second pass of its name.
#[derive(Default)]
struct Names(FxHashMap<&'static str, usize>);

impl Names {
    /// The name for the next pass of a name, if it is one that decides.
    fn next(&mut self, pass: &str) -> Option<String> {
        let &(pass, sequence) = DECIDED.iter().find(|d| d.0 == pass)?;
        let count = self.0.entry(pass).or_insert(0);
        *count += 1;
        Some(if *count == 1 { sequence.to_string() } else { format!("{sequence}_{count}") })
    }
}

fn first_of(said: Vec<Diagnostic>) -> Diagnostic {
    said.into_iter().next().unwrap_or_else(|| Diagnostic::error_nowhere("a pass failed"))
}

/// The name of the pass that a step is; empty for others.
pub fn pass_name(step: &Step) -> &'static str {
    match step {
        Step::Pass(p) => p.pass.name(),
        Step::Nested { .. } => "",
    }
}

/// One sequence as text.
fn sequence(out: &mut String, name: &str, level: &str, body: &str) {
    let gap = if out.is_empty() { "" } else { "\n" };
    let _ = write!(out, "{gap}schedule.sequence @{name} on {level} {{\n{body}}}\n");
}

/// A word that can be the name of a value: that of an op, made free of what names may not hold.
fn handle(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    let name: String = name.chars().map(plain).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("v{name}") } else { name }
}

/// The names of the nests of a function: `%x:2` and `%x#1` are `x`.
fn nest_names(ir: &Ir, dialects: &Dialects, f: Op) -> FxHashMap<Op, String> {
    let shown = names_in(ir, &dialects.registry, f);
    let name = |op: Op| ir.results(op).next().map(|v| shown(v).split('#').next().unwrap_or("").to_string());
    ir.nested_ops(f).into_iter().filter_map(|op| Some((op, name(op)?))).collect()
}

/// Handles of a sequence, each of which is given once.
#[derive(Default)]
struct Handles(FxHashSet<String>);

impl Handles {
    /// A handle that is named after something.
    fn next(&mut self, name: &str) -> String {
        let base = handle(name);
        let numbered = (2..).map(|k| format!("{base}_{k}"));
        let free = std::iter::once(base.clone()).chain(numbered).find(|h| !self.0.contains(h)).unwrap_or(base);
        self.0.insert(free.clone());
        free
    }

    /// Says which nest is meant, and gives its handle. Names are those of one function: where there are several, it is said.
    fn matched(&mut self, ir: &Ir, kind: &str, function: Op, name: &str, out: &mut String) -> String {
        let handle = self.next(name);
        let several = ir.ops_named(ir.module(), func::FuncOp::NAME).len() > 1;
        let of = ir.symbol_name(function).filter(|_| several).map(|f| format!(" of @{f}")).unwrap_or_default();
        let _ = writeln!(out, "  %{handle} = schedule.match op \"{kind}\" named \"{name}\"{of}");
        handle
    }
}

fn inline(ir: &mut Ir, dialects: &Dialects, name: &str, out: &mut String) {
    let mut body = String::new();
    let mut handles = Handles::default();
    for f in ir.ops_named(ir.module(), func::FuncOp::NAME) {
        let Some(block) = ir.body(f) else { continue };
        let names = nest_names(ir, dialects, f);
        // What is inlined is a pointwise nest, and gone when that is known.
        for op in loops_inline::inline_block(ir, block, &loops_inline::Options::default(), Decisions::default()).chosen
        {
            let handle = handles.matched(ir, loops::PointwiseOp::NAME, f, &names[&op], &mut body);
            let _ = writeln!(body, "  schedule.inline %{handle}");
        }
    }
    sequence(out, name, "loops", &body);
}

fn fuse(ir: &mut Ir, dialects: &Dialects, name: &str, out: &mut String) {
    let mut body = String::new();
    let mut handles = Handles::default();
    for f in ir.ops_named(ir.module(), func::FuncOp::NAME) {
        let Some(block) = ir.body(f) else { continue };
        let names = nest_names(ir, dialects, f);
        for (fusion, members) in loops_fuse::fuse_block(ir, block, Limits::default(), Decisions::default()).made {
            let mut said = Vec::new();
            for &op in &members {
                said.push(format!("%{}", handles.matched(ir, ir.op_name(op), f, &names[&op], &mut body)));
            }
            let last = ir.results(fusion).next().and_then(|v| ir.value_name(v)).unwrap_or("kernel");
            let kernel = handles.next(&format!("{last}_kernel"));
            let _ = writeln!(body, "  %{kernel} = schedule.fuse {}", said.join(", "));
        }
    }
    sequence(out, name, "loops", &body);
}

fn tile(ir: &mut Ir, dialects: &Dialects, title: &str, out: &mut String) -> Result<(), Diagnostic> {
    let mut body = String::new();
    for kernel in ir.ops_named(ir.module(), kernels::FuncOp::NAME) {
        let name = kernels::FuncOp(kernel).sym_name(ir).to_string();
        let mut by_steps = ir.clone();
        let before = kernels::axes_of(ir, kernel).unwrap_or_default();
        let mut cx = PassContext::new(&kernels_tile::PASS, dialects, true);
        kernels_tile::tile(ir, kernel, &kernels_tile::Options::default(), &mut cx)?;
        let after = kernels::axes_of(ir, kernel).unwrap_or_default();
        let steps = difference(&mut by_steps, &before, &after);
        let same = |ir: &Ir| print_op(ir, &dialects.registry, &PrintOptions::default(), kernel);
        let done = steps.iter().try_for_each(|step| apply_to_kernel(&mut by_steps, kernel, step));
        let why = cx.finish().0.into_iter().next().map(|d| d.message.replace("kernels-tile: ", ""));
        if let Some(why) = why {
            let _ = writeln!(body, "  // {why}");
        }
        if done.is_err() || same(&by_steps) != same(ir) {
            let _ = writeln!(
                body,
                "  // What the automatic scheduler does to @{name} is not made of these steps: it is left to it."
            );
            continue;
        }
        let _ = writeln!(body, "  %{} = schedule.match kernel @{name}", handle(&name));
        for step in steps {
            let _ = writeln!(body, "  {}", step.to_string().replacen("%k", &format!("%{}", handle(&name)), 1));
        }
    }
    sequence(out, title, "kernels", &body);
    Ok(())
}

/// The steps from axes to other axes of the same kernel.
pub fn difference(ir: &mut Ir, before: &[Axis], after: &[Axis]) -> Vec<KernelStep> {
    let mut steps = Vec::new();
    let mut now: Vec<Axis> = before.to_vec();
    let find = |axes: &[Axis], name: &str| axes.iter().position(|a| a.name == name);
    for new in after.iter().filter(|a| find(before, &a.name).is_none()) {
        let whole = |ir: &mut Ir, old: &Axis, blocks: &Axis| ir.exprs.mul(blocks.extent, new.extent) == old.extent;
        let cut = (0..now.len()).find(|&k| {
            find(after, &now[k].name)
                .is_some_and(|a| new.name.starts_with(&now[k].name) && whole(ir, &now[k], &after[a]))
        });
        let (Some(k), Some(size)) = (cut, ir.exprs.as_int(new.extent)) else { continue };
        let name = now[k].name.clone();
        if let Some(a) = find(after, &name) {
            now[k].extent = after[a].extent;
        }
        now.insert(k + 1, Axis { tile: 1, reduced: now[k].reduced, ..new.clone() });
        steps.push(KernelStep::Split(name.clone(), size, Some((name, new.name.clone()))));
    }
    for new in after {
        let Some(k) = find(&now, &new.name).filter(|&k| now[k].reduced != new.reduced) else { continue };
        let mut moved = now.remove(k);
        moved.reduced = new.reduced;
        if new.reduced {
            now.push(moved);
            steps.push(KernelStep::Sequential(new.name.clone()));
        } else {
            let first = now.iter().position(|a| a.reduced).unwrap_or(now.len());
            now.insert(first, moved);
            steps.push(KernelStep::Parallel(new.name.clone()));
        }
    }
    let names = |axes: &[Axis]| axes.iter().map(|a| a.name.clone()).collect::<Vec<_>>();
    if names(&now) != names(after) {
        steps.push(KernelStep::Reorder(names(after)));
    }
    for axis in after {
        if axis.tile != 1 {
            steps.push(KernelStep::Vectorize(axis.name.clone(), axis.tile));
        }
        if axis.unroll != 1 {
            steps.push(KernelStep::Unroll(axis.name.clone(), axis.unroll));
        }
    }
    steps
}

/// The text of a pipeline in which the sequences of a schedule take the places of the passes that decide: `@inline` that of `loops-inline`, `@fuse` that of
/// `loops-fuse`, and `@kernels` that of `kernels-tile` for the kernels that it is about. `schedule` is the text of the file `file`.
///
/// # Errors
/// What is wrong with one of the texts.
pub fn pipeline_with(pipeline: &str, file: &str, schedule: &str, dialects: &Dialects) -> Result<String, Diagnostic> {
    let mut sources = SourceMap::new();
    let id = sources.add(file, schedule).map_err(Diagnostic::error_nowhere)?;
    let (ir, _) = session::parse_part(&sources, id, dialects, false).map_err(first_of)?;
    let mut left: Vec<String> = sequences(&ir).into_iter().map(|s| s.name).collect();
    let mut read = pipelines::read("<pipeline>", pipeline, &mut sources)?;
    let mut names = Names::default();
    let digest = digest(schedule);
    for step in &mut read.steps {
        let Some(sequence) = names.next(pass_name(step)).filter(|name| left.contains(name)) else { continue };
        let others = if pass_name(step) == "kernels-tile" { " others=true" } else { "" };
        let text = format!("apply-schedule{{file='{file}' sequence={sequence}{others} digest={digest}}}");
        if let Some(new) = pipelines::read("<schedule>", &text, &mut sources)?.steps.pop() {
            *step = new;
        }
        left.retain(|name| *name != sequence);
    }
    if let Some(name) = left.first() {
        let text = format!("the pipeline has no pass in whose place the sequence @{name} could stand");
        return Err(Diagnostic::error_nowhere(text).help("@inline, @fuse and @kernels stand for loops-inline, loops-fuse and kernels-tile; @inline_2 for the second of its name"));
    }
    Ok(read.text())
}

/// The text of a pipeline in which kernels that a database of schedules knows are tiled as it says. `text` is what the file holds.
///
/// # Errors
/// What is wrong with the pipeline.
pub fn pipeline_with_database(pipeline: &str, file: &str, text: &str) -> Result<String, Diagnostic> {
    let mut sources = SourceMap::new();
    let mut steps = Vec::new();
    for step in pipelines::read("<pipeline>", pipeline, &mut sources)?.steps {
        if pass_name(&step) == "kernels-tile" {
            let digest = digest(text);
            // With options of its own, the pass does the others itself.
            let plain = matches!(&step, Step::Pass(p) if p.options.is_empty());
            let machine = machine();
            let apply =
                format!("apply-schedule{{database='{file}' machine='{machine}' digest={digest} others={plain}}}");
            steps.extend(pipelines::read("<schedules>", &apply, &mut sources)?.steps);
            if plain {
                continue;
            }
        }
        steps.push(step);
    }
    Ok(Pipeline { steps }.text())
}

/// The machine, for databases of schedules.
pub fn machine() -> String {
    #[cfg(feature = "llvm")]
    let cpu = crate::codegen::llvm::host_cpu();
    #[cfg(not(feature = "llvm"))]
    let cpu = format!("with vectors of {} bytes", kernels_tile::host_vector_bytes());
    format!("{} {cpu}", std::env::consts::ARCH)
}
