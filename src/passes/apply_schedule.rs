//! Does what a schedule says, step by step: a schedule in the module itself, or in a file.
//!
//! Before:
//! ```mlir
//! schedule.sequence @wide on kernels {
//!   %k = schedule.match kernel @add
//!   schedule.reorder %k axes x, y
//!   schedule.vectorize %k axis y by 8
//! }
//! kernels.func @add(%a: memref<64x16xf32, strided<[1, 64]>>, %c: memref<64x16xf32, strided<[1, 64]>>)
//!     axes {y = 64 tile 1 parallel, x = 16 tile 1 parallel} {
//!   %yi = kernels.axis y : vector<1x1xindex>
//!   %xi = kernels.axis x : vector<1x1xindex>
//!   %v = kernels.load %a[%yi, %xi] : vector<1x1xf32>
//!   %w = arith.addf %v, %v : vector<1x1xf32>
//!   kernels.store %w, %c[%yi, %xi] : vector<1x1xf32>
//! }
//! ```
//! After:
//! ```mlir
//! kernels.func @add(%a: memref<64x16xf32, strided<[1, 64]>>, %c: memref<64x16xf32, strided<[1, 64]>>)
//!     axes {x = 16 tile 1 parallel, y = 64 tile 8 parallel} {
//!   %yi = kernels.axis y : vector<1x8xindex>
//!   %xi = kernels.axis x : vector<1x1xindex>
//!   %v = kernels.load %a[%yi, %xi] : vector<1x8xf32>
//!   %w = arith.addf %v, %v : vector<1x8xf32>
//!   kernels.store %w, %c[%yi, %xi] : vector<1x8xf32>
//! }
//! ```
//! Only the sequences for the level of the module are done; those of the module itself are gone afterwards. A step that would change what is computed
//! is an error at the step, with the dependence that forbids it. `docs/schedules.md` says what there is.

mod axes;
mod cache;
mod kernel_steps;
mod key;
mod lanes;
mod matching;
mod nests;
mod refusal;
mod script;

pub use axes::{positions, split};
pub use kernel_steps::{apply as apply_to_kernel, block_name};
pub use key::{hash as digest, is_plain, key as kernel_key};
pub use refusal::Refusal;
pub use script::{KernelStep, Placed, Sequence, Step, sequences};

use super::{kernels_tile, loops_fuse};
use crate::dialects::{builtin, kernels};
use crate::ir::{Block, Ir, Op, Value};
use crate::pass::{Changed, Level, Pass, PassContext};
use crate::pass_options;
use crate::support::diag::Place;
use crate::support::diag::render::resolve;
use crate::support::{Diagnostic, Severity, SourceMap};
use crate::text::{ParseOptions, parse};
use matching::Candidates;
use rinductor_support::{FxHashMap, FxHashSet};

pass_options! {
    pub struct Options {
        /// A file of schedules; those in the module itself if it is empty.
        file: String = String::new(),
        /// A file that rinductor-tune has made: the schedules of the kernels that are known there.
        database: String = String::new(),
        /// Which machine's schedules of the database count; all if it is empty.
        machine: String = String::new(),
        /// What the files held when the pipeline was written, so that pipelines of different files differ in their text.
        digest: String = String::new(),
        /// The name of the only sequence that is to be done; all of the level if it is empty.
        sequence: String = String::new(),
        /// Kernels that no step is about are tiled as `kernels-tile` does it.
        others: bool = false,
    }
}

/// The pass.
pub static PASS: Pass<Options> = Pass {
    name: "apply-schedule",
    source: include_str!("apply_schedule.rs"),
    on: Some(builtin::ModuleOp::NAME),
    needs: &[Level::Loop, Level::Kernel],
    leaves: &[Level::Loop, Level::Kernel],
    statistics: &[
        ("steps", "steps that were done"),
        ("found", "kernels of the database"),
        ("tiled", "other kernels that got a tile"),
    ],
    run,
};

fn run(ir: &mut Ir, module: Op, options: &Options, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
    let from_database = !options.database.is_empty();
    let all = match (options.file.is_empty(), from_database) {
        (false, _) => read(&options.file, cx)?,
        (true, false) => sequences(ir),
        (true, true) => Vec::new(),
    };
    let on_kernels = Level::of(ir, module) == Some(Level::Kernel);
    let wanted = |s: &Sequence| options.sequence.is_empty() || s.name == options.sequence;
    if !all.iter().any(wanted) && !options.sequence.is_empty() {
        let names: Vec<String> = all.iter().map(|s| format!("@{}", s.name)).collect();
        let there = if names.is_empty() { "none".to_string() } else { names.join(", ") };
        return Err(Diagnostic::error_nowhere(format!("there is no sequence @{}; there is {there}", options.sequence)));
    }
    let mut steps = 0;
    let mut touched: FxHashSet<Op> = FxHashSet::default();
    for sequence in all.into_iter().filter(|s| wanted(s) && s.on_kernels == on_kernels) {
        touched.extend(apply(ir, &sequence, None, cx)?);
        steps += sequence.steps.len() as u64;
        if options.file.is_empty() {
            ir.erase(sequence.op);
        }
    }
    cx.count("steps", steps);
    let mut changed = Changed::from(steps > 0);
    if from_database && on_kernels {
        let known = read(&options.database, cx)?;
        for kernel in ir.ops_named(module, kernels::FuncOp::NAME) {
            if !touched.contains(&kernel) && look_up(ir, kernel, &known, &options.machine, cx) {
                touched.insert(kernel);
                changed = Changed::Yes;
            }
        }
    }
    if options.others && on_kernels {
        for kernel in ir.ops_named(module, kernels::FuncOp::NAME) {
            if !touched.contains(&kernel) {
                changed |= kernels_tile::tile(ir, kernel, &kernels_tile::Options::default(), cx)?;
            }
        }
    }
    Ok(changed)
}

/// Does to a kernel what a database has for it; says whether that was so.
fn look_up(ir: &mut Ir, kernel: Op, known: &[Sequence], machine: &str, cx: &mut PassContext) -> bool {
    if !is_plain(ir, kernel) {
        return false;
    }
    let key = Some(kernel_key(ir, kernel));
    let fits = |s: &&Sequence| s.kernel == key && (machine.is_empty() || s.machine.as_deref() == Some(machine));
    let Some(sequence) = known.iter().find(fits) else { return false };
    let before = ir.clone();
    match apply(ir, sequence, Some(kernel), cx) {
        Ok(_) => {
            cx.remark(ir, kernel, format!("as @{} of the database says", sequence.name));
            cx.count("found", 1);
            true
        }
        Err(d) => {
            *ir = before;
            cx.warn(ir, kernel, format!("the schedule @{} is not used: {}", sequence.name, d.message));
            false
        }
    }
}

/// The sequences of a file.
fn read(file: &str, cx: &mut PassContext) -> Result<Vec<Sequence>, Diagnostic> {
    let nowhere = |message: String| Diagnostic::error_nowhere(message);
    let path = cx.folder.join(file);
    let text = std::fs::read_to_string(path).map_err(|e| nowhere(format!("cannot read the schedule '{file}': {e}")))?;
    let registry = cx.registry.ok_or_else(|| nowhere("a schedule in a file cannot be read here".into()))?;
    let mut sources = SourceMap::new();
    let id = sources.add(file, text).map_err(nowhere)?;
    let (ir, mut said) = parse(&sources, id, &ParseOptions::new(registry));
    let mut ir = ir.unwrap_or_default();
    if said.iter().all(|d| d.severity != Severity::Error) {
        let root = ir.module();
        said.extend(cx.infos.verify(&mut ir, root));
    }
    let mut errors = said.into_iter().filter(|d| d.severity == Severity::Error).map(|d| elsewhere(d, &sources));
    if let Some(first) = errors.next() {
        errors.for_each(|d| cx.emit(d));
        return Err(first);
    }
    let mut list = sequences(&ir);
    for step in list.iter_mut().flat_map(|s| &mut s.steps) {
        step.place = in_file(&step.place, &sources);
    }
    Ok(list)
}

/// A place as one of a file whose text is not at hand.
fn in_file(place: &Place, sources: &SourceMap) -> Place {
    match resolve(place, sources) {
        Some((file, line, column)) => Place::File { file, line, column },
        None => Place::None,
    }
}

fn elsewhere(mut d: Diagnostic, sources: &SourceMap) -> Diagnostic {
    d.place = in_file(&d.place, sources);
    for note in &mut d.notes {
        note.place = in_file(&note.place, sources);
    }
    d
}

/// Does the steps of a sequence, on all that there is or on one kernel; gives the ops that they were about.
fn apply(ir: &mut Ir, sequence: &Sequence, only: Option<Op>, cx: &mut PassContext) -> Result<Vec<Op>, Diagnostic> {
    let candidates = match (sequence.on_kernels, cx.registry) {
        (true, _) => Candidates::kernels(ir, only),
        (false, Some(registry)) => Candidates::nests(ir, registry),
        (false, None) => return Err(Diagnostic::error_nowhere("names of nests are not known here")),
    };
    let mut handles: FxHashMap<Value, Vec<Op>> = FxHashMap::default();
    let mut unsorted: Vec<Block> = Vec::new();
    for step in &sequence.steps {
        let targets: Vec<Vec<Op>> = step.takes.iter().map(|v| handles.get(v).cloned().unwrap_or_default()).collect();
        let given = perform(ir, sequence, &candidates, &step.step, &targets, &mut unsorted)
            .map_err(|refusal| refusal.at(step.place.clone(), step.name))?;
        if let Some(handle) = step.gives {
            handles.insert(handle, given);
        }
    }
    for block in unsorted {
        loops_fuse::sort_block(ir, block);
    }
    Ok(handles.into_values().flatten().collect())
}

/// Does one step; gives the ops of the handle that it defines.
fn perform(
    ir: &mut Ir,
    sequence: &Sequence,
    candidates: &Candidates,
    step: &Step,
    targets: &[Vec<Op>],
    unsorted: &mut Vec<Block>,
) -> Result<Vec<Op>, Refusal> {
    let gone = |ir: &Ir| {
        let dead = targets.iter().flatten().any(|&op| !ir.is_live(op));
        if dead { Err(Refusal::new("an earlier step left nothing of what the handle means")) } else { Ok(()) }
    };
    let level = |on_kernels: bool| {
        let word = |k: bool| if k { "kernels" } else { "loops" };
        let (is, of) = (word(sequence.on_kernels), word(on_kernels));
        let wrong = || Err(Refusal::new(format!("this is a step on {of}, and the sequence is on {is}")));
        if sequence.on_kernels == on_kernels { Ok(()) } else { wrong() }
    };
    let each = || targets.first().into_iter().flatten().copied();
    match step {
        Step::Match(pattern) => return candidates.find(ir, pattern),
        Step::Kernel(step) => {
            level(true)?;
            for kernel in each() {
                apply_to_kernel(ir, kernel, step)?;
            }
        }
        Step::Inline => {
            level(false)?;
            gone(ir)?;
            for nest in each() {
                nests::inline(ir, nest, None)?;
            }
        }
        Step::ComputeAt => {
            level(false)?;
            gone(ir)?;
            for nest in each() {
                for &reader in targets.get(1).into_iter().flatten() {
                    nests::inline(ir, nest, Some(reader))?;
                }
            }
        }
        Step::Fuse => {
            level(false)?;
            gone(ir)?;
            let all: Vec<Op> = targets.iter().flatten().copied().collect();
            let fusion = nests::fuse(ir, &all)?;
            unsorted.extend(ir.parent_block(fusion).filter(|b| !unsorted.contains(b)));
            return Ok(vec![fusion]);
        }
    }
    Ok(Vec::new())
}
