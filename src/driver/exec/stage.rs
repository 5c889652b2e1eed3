//! Where a function runs: each level that its module can be lowered to, and each back end that this build has.

use crate::codegen::compiled::CompiledKernels;
use crate::codegen::cpu::Cpu;
use crate::driver::compiled::Compiled;
use crate::driver::reference::{self, Argument};
use crate::driver::{pipelines, session};
use crate::ir::Ir;
use crate::pass::Level;
use crate::pass::pipeline::{Pipeline, Step};
use crate::support::{Diagnostic, SourceMap};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The names of all places, from the top, and what they are.
pub const PLACES: &[(&str, &str)] = &[
    ("graph", "the reference interpreter on the graph: what is read, after aten-decompose"),
    ("loops", "the reference interpreter on the loop level: the pipeline `cpu` up to form-kernels"),
    ("kernels", "the reference interpreter on the kernel level: the pipeline `cpu`"),
    ("unfused", "the reference interpreter on kernels of one op each: the pipeline `cpu-debug`"),
    ("llvm", "machine code from LLVM for what the pipeline `cpu` gives"),
    ("cpp", "machine code from the C++ compiler that is found, for the same"),
];

/// The code of a module.
struct Code {
    cpu: Cpu,
    /// Its kernels, once they are compiled, or why they are not.
    kernels: Option<Result<Arc<CompiledKernels>, Diagnostic>>,
    functions: BTreeMap<String, Compiled>,
}

/// One place, with the module as it is there.
pub struct Stage<'a> {
    /// Its name, one of [`PLACES`].
    pub name: &'static str,
    module: Result<Ir, Vec<Diagnostic>>,
    dialects: &'a session::Dialects,
    /// Compiled functions by name, where the place is a back end.
    code: Option<Code>,
}

impl<'a> Stage<'a> {
    fn new(name: &'static str, module: Result<Ir, Vec<Diagnostic>>, dialects: &'a session::Dialects) -> Self {
        let code = Cpu::ALL.iter().find(|c| c.name() == name).map(|&cpu| Code {
            cpu,
            kernels: None,
            functions: BTreeMap::new(),
        });
        Self { name, module, dialects, code }
    }

    /// Calls a function. Arguments that it writes are changed.
    ///
    /// # Errors
    /// The module cannot be lowered to this place, or the run stops.
    pub fn run(&mut self, function: &str, arguments: &[Argument]) -> Result<Vec<Argument>, Vec<Diagnostic>> {
        let ir = self.module.as_ref().map_err(Clone::clone)?;
        let one = |d: Diagnostic| vec![d];
        if let Some(code) = &mut self.code {
            if !code.functions.contains_key(function) {
                let compile = || code.cpu.compile(ir).map(|c| Arc::new(c.0));
                let kernels = code.kernels.get_or_insert_with(compile).clone().map_err(one)?;
                let compiled = Compiled::of(ir, function, kernels).map_err(one)?;
                code.functions.insert(function.to_string(), compiled);
            }
            return code.functions[function].run(arguments).map_err(one);
        }
        let gone = || one(Diagnostic::error_nowhere(format!("the passes removed the function '{function}'")));
        let func = ir.lookup_symbol(function).ok_or_else(gone)?;
        reference::run(ir, func, arguments, &*self.dialects.library).map_err(one)
    }
}

/// The module as the reference interpreter runs it: ops of the graph that no definition computes are decomposed.
///
/// # Errors
/// What the pass says.
pub fn reference(ir: Ir, dialects: &session::Dialects, sources: &mut SourceMap) -> Result<Ir, Vec<Diagnostic>> {
    match Level::of(&ir, ir.module()) {
        Some(Level::Graph) => lower(&ir, read("aten-decompose", sources).map_err(|d| vec![d])?, dialects),
        _ => Ok(ir),
    }
}

/// The places for a module at its level. A module that mixes levels, or is at the kernel level already, is not lowered.
///
/// # Errors
/// A pipeline of the compiler cannot be read, which its tests would have shown. That it cannot be run is an error of the place.
pub fn all<'a>(
    ir: &Ir,
    dialects: &'a session::Dialects,
    sources: &mut SourceMap,
) -> Result<Vec<Stage<'a>>, Diagnostic> {
    let level = Level::of(ir, ir.module());
    let mut stages = Vec::new();
    let mut add = |name: &'static str, module| stages.push(Stage::new(name, module, dialects));
    match level {
        Some(Level::Graph) | None => add("graph", reference(ir.clone(), dialects, sources)),
        Some(Level::Kernel) => add("kernels", Ok(ir.clone())),
        Some(Level::Loop) => {}
    }
    if level == Some(Level::Kernel) {
        Cpu::ALL.iter().for_each(|c| add(c.name(), Ok(ir.clone())));
    }
    if !matches!(level, Some(Level::Graph | Level::Loop)) {
        return Ok(stages);
    }
    let mut steps = read("cpu", sources)?;
    let is_forming = |s: &Step| matches!(s, Step::Pass(p) if p.pass.leaves() == [Level::Kernel]);
    let rest = steps.iter().position(is_forming).map_or(Vec::new(), |at| steps.split_off(at));
    let loops = lower(ir, steps, dialects);
    let kernels = loops.clone().and_then(|ir| lower(&ir, rest, dialects));
    add("loops", loops);
    add("kernels", kernels.clone());
    add("unfused", lower(ir, read("cpu-debug", sources)?, dialects));
    Cpu::ALL.iter().for_each(|c| add(c.name(), kernels.clone()));
    Ok(stages)
}

fn read(name: &str, sources: &mut SourceMap) -> Result<Vec<Step>, Diagnostic> {
    pipelines::read("<pipeline>", name, sources).map(|p| p.steps)
}

/// The module after some passes, each verified.
fn lower(ir: &Ir, steps: Vec<Step>, dialects: &session::Dialects) -> Result<Ir, Vec<Diagnostic>> {
    let mut ir = ir.clone();
    pipelines::run(&mut ir, &Pipeline { steps }, dialects, true)?;
    Ok(ir)
}
