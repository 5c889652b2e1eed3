//! `Module`: IR as Python has it, with what is done to a whole module.

use crate::array;
use crate::error::{self, error, sentence};
use crate::executable::{PyExecutable, PyHost};
use crate::op::{PyOp, handles};
use crate::torch::integer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};
use rinductor::dialects::{func, kernels};
use rinductor::driver::inputs::{Callee, Kind, Source};
use rinductor::driver::session::{self, Dialects};
use rinductor::driver::{pipelines, reference, translate};
use rinductor::index::Atom;
use rinductor::ir::{Ir, Op};
use rinductor::pass::manager::Config;
use rinductor::pass::pipeline::{Pipeline, Step};
use rinductor::pass::{Level, OpInfos, level};
use rinductor::runtime::{HostOps, Returned, Tensor};
use rinductor::support::{Diagnostic, Severity, SourceMap};
use rinductor::text::{self, PrintOptions};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A module of IR: functions at any level, as text, passes and interpreters see them.
///
/// Make one with `Module.parse`. `str()` prints it.
#[pyclass(frozen, name = "Module", module = "rinductor")]
pub struct PyModule {
    /// None while passes run over it.
    state: Mutex<Option<State>>,
}

/// What a module is made of.
#[derive(Clone)]
pub struct State {
    pub ir: Ir,
    pub sources: SourceMap,
    pub dialects: Arc<Dialects>,
    /// Whether nothing was changed since it was verified.
    pub verified: bool,
}

impl State {
    fn print(&self, options: &PrintOptions) -> String {
        text::print(&self.ir, &self.dialects.registry, options)
    }

    /// All that is wrong with it.
    fn verify(&mut self) -> Vec<Diagnostic> {
        if self.verified {
            return Vec::new();
        }
        let root = self.ir.module();
        let wrong = self.dialects.verify(&mut self.ir, root);
        self.verified = wrong.is_empty();
        wrong
    }

    /// The function of a name; without one, the only public one.
    fn function(&self, name: Option<&str>) -> Result<Op, String> {
        let ir = &self.ir;
        let list = functions(ir);
        let names = || list.iter().filter_map(|&f| ir.symbol_name(f)).collect::<Vec<_>>().join(", ");
        match name {
            Some(name) => {
                let found = list.iter().find(|&&f| ir.symbol_name(f) == Some(name)).copied();
                found.ok_or_else(|| format!("there is no function '{name}'; there are: {}", names()))
            }
            None => {
                let public = |&op: &Op| func::FuncOp(op).sym_visibility(ir) != Some("private");
                match list.iter().copied().filter(public).collect::<Vec<_>>()[..] {
                    [only] => Ok(only),
                    [] => Err("the module has no public function".into()),
                    _ => Err(format!("there are several functions; function=… says which: {}", names())),
                }
            }
        }
    }
}

fn functions(ir: &Ir) -> Vec<Op> {
    ir.block_ops(ir.module_body()).filter(|&op| ir.is_op(op, func::FuncOp::NAME)).collect()
}

impl PyModule {
    pub fn new(state: State) -> PyModule {
        PyModule { state: Mutex::new(Some(state)) }
    }

    /// Does something with the module.
    pub fn with<R>(&self, py: Python<'_>, f: impl FnOnce(&mut State) -> PyResult<R>) -> PyResult<R> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.as_mut() {
            Some(state) => f(state),
            None => Err(sentence(py, "the module cannot be used while run() changes it")),
        }
    }

    /// A copy that was verified.
    fn verified(&self, py: Python<'_>) -> PyResult<State> {
        self.with(py, |state| {
            let wrong = state.verify();
            if wrong.is_empty() { Ok(state.clone()) } else { Err(error(py, &wrong, &state.sources)) }
        })
    }
}

#[pymethods]
impl PyModule {
    /// Reads and verifies a text. `name` is what messages call it; `load_dialects` are paths of dialect files to read before. With
    /// `allow_unregistered`, ops of unknown dialects are read too.
    #[staticmethod]
    #[pyo3(signature = (text, name="<string>", load_dialects=None, *, allow_unregistered=false))]
    fn parse(
        py: Python<'_>,
        text: &str,
        name: &str,
        load_dialects: Option<Vec<PathBuf>>,
        allow_unregistered: bool,
    ) -> PyResult<PyModule> {
        let mut files = Vec::new();
        for path in load_dialects.unwrap_or_default() {
            let shown = path.display().to_string();
            let text =
                std::fs::read_to_string(&path).map_err(|e| sentence(py, format!("cannot read '{shown}': {e}")))?;
            files.push((shown, text));
        }
        py.detach(|| {
            let (dialects, wrong) = Dialects::with_files(files.iter().map(|(n, t)| (n.as_str(), t.as_str())));
            let mut sources = dialects.library.sources().clone();
            if !wrong.is_empty() {
                return Err((wrong, sources));
            }
            let part = match sources.add(name, text) {
                Ok(part) => part,
                Err(why) => return Err((vec![Diagnostic::error_nowhere(why)], sources)),
            };
            let (ir, said) = match session::parse_part(&sources, part, &dialects, allow_unregistered) {
                Ok(read) => read,
                Err(wrong) => return Err((wrong, sources)),
            };
            let mut state = State { ir, sources, dialects, verified: false };
            let wrong = state.verify();
            if said.iter().chain(&wrong).any(|d| d.severity == Severity::Error) {
                return Err(([said, wrong].concat(), state.sources));
            }
            Ok(PyModule::new(state))
        })
        .map_err(|(wrong, sources)| error(py, &wrong, &sources))
    }

    /// The text of the module.
    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        self.print(py, false, false)
    }

    /// The text of the module; `generic` for the form that needs no dialect to be read, `locations` for where each op comes from.
    #[pyo3(signature = (generic=false, locations=false))]
    fn print(&self, py: Python<'_>, generic: bool, locations: bool) -> PyResult<String> {
        let options = PrintOptions { generic, debuginfo: locations, ..PrintOptions::default() };
        self.with(py, |state| Ok(state.print(&options)))
    }

    /// A copy.
    fn clone(&self, py: Python<'_>) -> PyResult<PyModule> {
        self.with(py, |state| Ok(PyModule::new(state.clone())))
    }

    /// Raises `RinductorError` with all that is wrong, if anything is.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |state| {
            let wrong = state.verify();
            if wrong.is_empty() { Ok(()) } else { Err(error(py, &wrong, &state.sources)) }
        })
    }

    /// Runs passes: the text of a pipeline, such as `"cse,dce"`, or the name of one, such as `"cpu"`. Returns the module. If a pass fails, the module
    /// is as it was.
    ///
    /// `verify_each` verifies after each pass. `on_pass(name, before, after)` is called after each pass with the texts before and after it,
    /// `on_remark(diagnostic)` for what passes say they did and did not do, and why.
    #[pyo3(signature = (pipeline, verify_each=true, on_pass=None, on_remark=None))]
    fn run<'py>(
        slf: Bound<'py, Self>,
        pipeline: &str,
        verify_each: bool,
        on_pass: Option<Py<PyAny>>,
        on_remark: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        let py = slf.py();
        let module = slf.get();
        let mut lock = module.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(before) = lock.take() else {
            drop(lock);
            return Err(sentence(py, "the module cannot be used while run() changes it"));
        };
        drop(lock);
        let mut state = before.clone();
        let ran = py.detach(|| run_passes(&mut state, pipeline, verify_each, on_pass.as_ref(), on_remark.as_ref()));
        let kept = if ran.is_ok() { State { verified: verify_each && before.verified, ..state } } else { before };
        let result = ran.map_err(|e| match e {
            Stopped::Wrong(wrong, sources) => error(py, &wrong, &sources),
            Stopped::Raised(e) => e,
        });
        *module.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        result.map(|()| slf)
    }

    /// The names of the functions.
    fn functions(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |state| {
            let names = functions(&state.ir).into_iter().filter_map(|f| state.ir.symbol_name(f));
            Ok(names.map(str::to_string).collect())
        })
    }

    /// The operations at the top of the module, in order: functions and kernels.
    fn ops(slf: Bound<'_, Self>) -> PyResult<Vec<PyOp>> {
        handles(slf, |state| state.ir.block_op_list(state.ir.module_body()))
    }

    /// All operations, each before what is nested in it; the first is the module itself.
    fn walk(slf: Bound<'_, Self>) -> PyResult<Vec<PyOp>> {
        handles(slf, |state| {
            let mut list = Vec::new();
            state.ir.walk(state.ir.module(), &mut |op| list.push(op));
            list
        })
    }

    /// Runs a function on the reference interpreter, at whatever level it is, with arrays (ints for symbols, which may be left out). Returns a tuple of
    /// its results. Arrays that the function writes are changed.
    #[pyo3(signature = (*args, function=None))]
    fn interpret<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        function: Option<&str>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let mut state = self.verified(py)?;
        let func = state.function(function).map_err(|e| sentence(py, e))?;
        let call = interpreted_arguments(py, &mut state, func, args)?;
        let results = py
            .detach(|| reference::run(&state.ir, func, &call.arguments, &*state.dialects.library))
            .map_err(|d| error(py, &[d], &state.sources))?;
        write_back(&call).map_err(|e| sentence(py, e))?;
        let results: Vec<Returned> = results
            .into_iter()
            .map(|r| match r {
                reference::Argument::Tensor(t) => Returned::Tensor(t),
                reference::Argument::Int(n) => Returned::Int(n),
                reference::Argument::None => Returned::Nothing,
            })
            .collect();
        PyTuple::new(py, array::results(py, &results, &[], &[], call.numpy)?)
    }

    /// Translates the kernels of the module (of one function, if it is given) to `llvm-ir`, `llvm-ir-optimized`, `asm`, `triton`, `triton-kernels` (str), `object`
    /// or `shared-lib` (bytes).
    #[pyo3(signature = (target, function=None))]
    fn emit<'py>(&self, py: Python<'py>, target: &str, function: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
        let translation = translate::TABLE.iter().find(|t| t.name == target).ok_or_else(|| {
            let names: Vec<&str> = translate::TABLE.iter().map(|t| t.name).collect();
            sentence(py, format!("there is no target '{target}'; there are: {}", names.join(", ")))
        })?;
        let mut state = self.verified(py)?;
        if let Some(name) = function {
            let keep = state.function(Some(name)).map_err(|e| sentence(py, e))?;
            only(&mut state.ir, keep);
        }
        let bytes = py
            .detach(|| {
                let settings = translate::Settings { dialects: Some(state.dialects.clone()), ..Default::default() };
                (translation.run)(&state.ir, &settings)
            })
            .map_err(|d| error(py, &[d], &state.sources))?;
        if translation.text {
            let text = String::from_utf8(bytes).map_err(|e| PyValueError::new_err(e.to_string()))?;
            return Ok(PyString::new(py, &text).into_any());
        }
        Ok(PyBytes::new(py, &bytes).into_any())
    }

    /// Compiles a function whose module is at the kernel level (after `run("cpu")`) to machine code.
    ///
    /// `threads` is how many threads kernels may use; 0 for as many as there usually are. `extern(name, attrs, inputs, outputs)` computes ops that the
    /// runtime has not, and those named in `host_ops`: it gets tensors of PyTorch that share memory with the running function (None for an
    /// argument or a result that is not there, an int for a symbolic integer), and writes the outputs. `backend` is "llvm" or "cpp".
    #[pyo3(signature = (function=None, threads=0, *, r#extern=None, host_ops=None, backend=None))]
    fn compile(
        &self,
        py: Python<'_>,
        function: Option<&str>,
        threads: usize,
        r#extern: Option<Bound<'_, PyAny>>,
        host_ops: Option<Vec<String>>,
        backend: Option<&str>,
    ) -> PyResult<PyExecutable> {
        let cpu = crate::cache::cpu(py, backend)?;
        let state = self.verified(py)?;
        let func = state.function(function).map_err(|e| sentence(py, e))?;
        if !level::fits(&state.ir, state.ir.module(), Level::Kernel) {
            let d = Diagnostic::error_nowhere("the module has ops above the kernel level");
            return Err(error(py, &[d.help("run passes first: module.run('cpu')")], &state.sources));
        }
        let host = match r#extern {
            Some(callable) if callable.is_callable() => {
                let names = host_ops.unwrap_or_default().into_iter().collect();
                Some(Arc::new(PyHost::new(callable.unbind(), names)))
            }
            Some(_) => return Err(PyTypeError::new_err("extern must be callable")),
            None if host_ops.is_some_and(|l| !l.is_empty()) => {
                return Err(PyTypeError::new_err("host_ops needs extern, which computes them"));
            }
            None => None,
        };
        let name = state.ir.symbol_name(func).unwrap_or_default().to_string();
        let ops = host.clone().map(|h| h as Arc<dyn HostOps>);
        let made = py.detach(|| executable(&state.ir, &name, cpu, ops)).map_err(|d| error(py, &[d], &state.sources))?;
        Ok(PyExecutable::new(made.with_threads(threads), name, host))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |state| {
            let names: Vec<&str> = functions(&state.ir).into_iter().filter_map(|f| state.ir.symbol_name(f)).collect();
            Ok(format!("<Module with {} ops, functions: {}>", state.ir.count_ops(), names.join(", ")))
        })
    }
}

fn executable(
    ir: &Ir,
    name: &str,
    cpu: rinductor::codegen::cpu::Cpu,
    host: Option<Arc<dyn HostOps>>,
) -> Result<rinductor::runtime::exec::Executable, Diagnostic> {
    let code = cpu.compile(ir)?.0;
    rinductor::runtime::exec::Executable::with_host(ir, name, Arc::new(code), host)
}

/// Why passes did not run to the end.
enum Stopped {
    /// What they said, with the texts that it points into.
    Wrong(Vec<Diagnostic>, SourceMap),
    /// The hook of Python raised this.
    Raised(PyErr),
}

fn run_passes(
    state: &mut State,
    text: &str,
    verify_each: bool,
    on_pass: Option<&Py<PyAny>>,
    on_remark: Option<&Py<PyAny>>,
) -> Result<(), Stopped> {
    let wrong = state.verify();
    if !wrong.is_empty() {
        return Err(Stopped::Wrong(wrong, state.sources.clone()));
    }
    // The text of the pipeline need not be kept: no location points into it.
    let mut sources = state.sources.clone();
    let pipeline = match pipelines::read("<pipeline>", text, &mut sources) {
        Ok(pipeline) => pipeline,
        Err(d) => return Err(Stopped::Wrong(vec![d], sources)),
    };
    let run = |state: &mut State, pipeline: &Pipeline| {
        let config = Config { verify_each, remarks: on_remark.is_some(), ..Config::default() };
        let said = pipelines::run_with(&mut state.ir, pipeline, &state.dialects, &config)
            .map_err(|wrong| Stopped::Wrong(wrong, sources.clone()))?;
        let Some(hook) = on_remark else { return Ok(()) };
        Python::attach(|py| -> PyResult<()> {
            for d in said.iter().filter(|d| d.severity == Severity::Remark) {
                hook.call1(py, (error::Diagnostic::of(py, d, &sources)?,))?;
            }
            Ok(())
        })
        .map_err(Stopped::Raised)
    };
    let Some(hook) = on_pass else { return run(state, &pipeline) };
    let mut before = state.print(&PrintOptions::default());
    for step in single_steps(pipeline.steps) {
        let step = Pipeline { steps: vec![step] };
        run(state, &step)?;
        let after = state.print(&PrintOptions::default());
        Python::attach(|py| hook.call1(py, (step.text(), &before, &after))).map_err(Stopped::Raised)?;
        before = after;
    }
    Ok(())
}

/// Steps that hold one pass each.
fn single_steps(steps: Vec<Step>) -> Vec<Step> {
    let mut list = Vec::new();
    for step in steps {
        match step {
            Step::Pass(pass) => list.push(Step::Pass(pass)),
            Step::Nested { anchor, steps } => {
                let inner = single_steps(steps).into_iter();
                list.extend(inner.map(|step| Step::Nested { anchor: anchor.clone(), steps: vec![step] }));
            }
        }
    }
    list
}

/// Erases all functions but one, and the kernels that it does not launch.
fn only(ir: &mut Ir, keep: Op) {
    let launches = ir.ops_named(keep, kernels::LaunchOp::NAME);
    let used: HashSet<String> = launches.iter().map(|&l| kernels::LaunchOp(l).callee(ir).to_string()).collect();
    for op in ir.block_op_list(ir.module_body()) {
        let kept = op == keep || ir.symbol_name(op).is_some_and(|name| used.contains(name));
        if !kept && (ir.is_op(op, func::FuncOp::NAME) || ir.is_op(op, kernels::FuncOp::NAME)) {
            ir.erase(op);
        }
    }
}

/// The arguments of an interpreted call.
struct Interpreted {
    /// Copies of what was given, and numbers.
    arguments: Vec<reference::Argument>,
    /// What was given for each tensor, and whether it may only be read.
    originals: Vec<(String, Tensor, bool)>,
    /// Whether arrays of NumPy are among them.
    numpy: bool,
}

fn interpreted_arguments(
    py: Python<'_>,
    state: &mut State,
    func: Op,
    args: &Bound<'_, PyTuple>,
) -> PyResult<Interpreted> {
    let mut callee = Callee::new(&state.ir, func).map_err(|e| sentence(py, e))?;
    let tensors = callee.parameters.iter().filter(|p| matches!(p.kind, Kind::Tensor { .. })).count();
    let (given, takes) = (args.len(), callee.parameters.len());
    if given != takes && given != tensors {
        let text = format!("the function takes {takes} arguments ({tensors} tensors), {given} were given");
        return Err(sentence(py, text));
    }
    let (mut originals, mut symbols, mut numpy) = (Vec::new(), Vec::new(), false);
    let mut rest = args.iter();
    for p in &callee.parameters {
        let symbol = match &p.kind {
            Kind::Symbol(_) if given != takes => continue,
            Kind::Symbol(e) => Some(e),
            Kind::Tensor { .. } => None,
        };
        let Some(object) = rest.next() else { break };
        let Some(symbol) = symbol else {
            numpy |= array::is_numpy(&object);
            let (t, read_only) = array::borrow(&object)
                .map_err(|e| PyTypeError::new_err(format!("argument %{}: {}", p.name, e.value(py))))?;
            originals.push((p.name.clone(), t, read_only));
            continue;
        };
        let n = integer(&object).ok_or_else(|| PyTypeError::new_err(format!("argument %{} must be an int", p.name)))?;
        if let Some(Atom::Sym(s)) = symbol.and_then(|e| state.ir.exprs.as_atom(e)) {
            symbols.push((state.ir.exprs.sym_name(s).to_string(), n));
        }
    }
    let named = originals.iter().map(|(name, t, _)| (name.clone(), t.clone())).collect();
    let arguments = callee.arguments(&Source::Tensors(named), &symbols).map_err(|e| sentence(py, e))?;
    callee.admit(&state.dialects.library).map_err(|wrong| error(py, &wrong, &state.sources))?;
    // The interpreter writes back what it was given, changed or not.
    let arguments = arguments.iter().map(reference::copy).collect::<Result<Vec<_>, _>>();
    Ok(Interpreted { arguments: arguments.map_err(|e| sentence(py, e))?, originals, numpy })
}

/// Writes the tensors that a call has changed back into what was given.
fn write_back(call: &Interpreted) -> Result<(), String> {
    let tensors =
        call.arguments.iter().filter_map(|a| if let reference::Argument::Tensor(t) = a { Some(t) } else { None });
    for (now, (name, original, read_only)) in tensors.zip(&call.originals) {
        let bytes = |t: &Tensor| t.to_le_bytes().map_err(|e| e.to_string());
        if bytes(now)? == bytes(original)? {
            continue;
        }
        if *read_only {
            return Err(format!("the function writes into argument %{name}, but the array is read-only"));
        }
        original.copy_from(now).map_err(|e| e.to_string())?;
    }
    Ok(())
}
