//! Where a function runs: each level that its module can be lowered to, and each back end that this build has.

use crate::codegen::backend::KernelCode;
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

/// Targets, which are places where they are asked for by name: machine code for the target, under an emulator. They run what `llvm` runs.
pub fn targets() -> Vec<(&'static str, &'static str)> {
    #[cfg(feature = "llvm")]
    return crate::driver::targets::names().collect();
    #[cfg(not(feature = "llvm"))]
    Vec::new()
}

/// Where code runs.
enum Machine {
    /// In this process.
    Here(Cpu),
    /// In a process for a target.
    #[cfg(feature = "llvm")]
    There(&'static str, Option<crate::driver::targets::Process>),
}

impl Machine {
    /// The machine of a place; None if it is no back end.
    fn of(name: &str) -> Option<Machine> {
        let here = Cpu::ALL.iter().find(|c| c.name() == name).map(|&cpu| Machine::Here(cpu));
        #[cfg(feature = "llvm")]
        let here = here
            .or_else(|| targets().into_iter().find(|t| t.0 == name).map(|(target, _)| Machine::There(target, None)));
        here
    }

    fn compile(&mut self, ir: &Ir) -> Result<Arc<dyn KernelCode>, Diagnostic> {
        match self {
            Machine::Here(cpu) => Ok(Arc::new(cpu.compile(ir)?.0)),
            #[cfg(feature = "llvm")]
            Machine::There(target, process) => {
                let started = process.insert(crate::driver::targets::start(ir, target)?);
                Ok(started.kernels.clone())
            }
        }
    }
}

/// The code of a module.
struct Code {
    machine: Machine,
    /// Its kernels, once they are compiled, or why they are not.
    kernels: Option<Result<Arc<dyn KernelCode>, Diagnostic>>,
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
        let code = Machine::of(name).map(|machine| Code { machine, kernels: None, functions: BTreeMap::new() });
        Self { name, module, dialects, code }
    }

    /// Whether a line that is to run at `place` is to run here.
    pub fn is(&self, place: &str) -> bool {
        place == self.name || place == "llvm" && targets().iter().any(|t| t.0 == self.name)
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
                let compile = || code.machine.compile(ir);
                let kernels = code.kernels.get_or_insert_with(compile).clone().map_err(one)?;
                let compiled = Compiled::with_code(ir, function, kernels).map_err(one)?;
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
    only: &[&str],
    dialects: &'a session::Dialects,
    sources: &mut SourceMap,
) -> Result<Vec<Stage<'a>>, Diagnostic> {
    // What nobody asks for is not lowered; targets must be asked for.
    let wants = |name: &str| only.is_empty() || only.contains(&name);
    let cpus: Vec<&'static str> = Cpu::ALL.iter().map(|c| c.name()).filter(|c| wants(c)).collect();
    let targets: Vec<&'static str> = targets().into_iter().map(|t| t.0).filter(|t| only.contains(t)).collect();
    let level = Level::of(ir, ir.module());
    let mut stages = Vec::new();
    let mut add = |name: &'static str, module| stages.push(Stage::new(name, module, dialects));
    match level {
        Some(Level::Graph) | None if wants("graph") => add("graph", reference(ir.clone(), dialects, sources)),
        Some(Level::Kernel) if wants("kernels") => add("kernels", Ok(ir.clone())),
        _ => {}
    }
    if level == Some(Level::Kernel) {
        cpus.iter().chain(&targets).for_each(|c| add(c, Ok(ir.clone())));
    }
    if !matches!(level, Some(Level::Graph | Level::Loop)) {
        return Ok(stages);
    }
    let is_forming = |s: &Step| matches!(s, Step::Pass(p) if p.pass.leaves() == [Level::Kernel]);
    let parts = |text: &str, sources: &mut SourceMap| -> Result<_, Diagnostic> {
        let mut steps = read(text, sources)?;
        let rest = steps.iter().position(is_forming).map_or(Vec::new(), |at| steps.split_off(at));
        Ok((steps, rest))
    };
    let (steps, rest) = parts("cpu", sources)?;
    let loops = lower(ir, steps, dialects);
    let lowered = |rest: Vec<Step>| loops.clone().and_then(|ir| lower(&ir, rest, dialects));
    if wants("loops") {
        add("loops", loops.clone());
    }
    let kernels = (wants("kernels") || !cpus.is_empty()).then(|| lowered(rest));
    if let Some(kernels) = kernels.clone().filter(|_| wants("kernels")) {
        add("kernels", kernels);
    }
    if wants("unfused") {
        add("unfused", lower(ir, read("cpu-debug", sources)?, dialects));
    }
    for (cpu, kernels) in cpus.into_iter().zip(kernels.iter().cycle()) {
        add(cpu, kernels.clone());
    }
    for target in targets {
        add(target, lowered(parts(&text_for(target), sources)?.1));
    }
    Ok(stages)
}

/// The text of the pipeline `cpu` with tiles as wide as the vectors of a target.
fn text_for(target: &str) -> String {
    let cpu = pipelines::PIPELINES.iter().find(|p| p.name == "cpu").map_or("cpu", |p| p.text);
    #[cfg(feature = "llvm")]
    if let Some(named) = crate::codegen::llvm::target::Named::find(target) {
        let bytes = named.model.vector_bits / 8;
        return cpu.replacen("kernels-tile", &format!("kernels-tile{{vector-bytes={bytes} threads=1}}"), 1);
    }
    let _ = target;
    cpu.to_string()
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
