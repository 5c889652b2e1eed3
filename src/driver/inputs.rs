//! The arguments of a function that is to be run: made from a seed, or read from files, with symbols bound on the way.

use super::reference::Argument;
use crate::dialects::library::{self, Library};
use crate::dialects::loops::{sizes_of, strides_of};
use crate::dialects::{dtype_of, symbols};
use crate::index::{Atom, Expr, SymId};
use crate::ir::{Ir, Op, TypeData};
use crate::runtime::compare::{ExpectedGraph, read_expected};
use crate::runtime::{InputKind, Tensor, generate, npy, npz, safetensor};
use crate::scalar::DType;
use crate::support::{Diagnostic, FxHashMap, FxHashSet};
use std::path::Path;

/// Where arguments come from.
pub enum Source {
    /// The generator, from a seed.
    Seed(u64),
    /// Tensors of a file, by name.
    Tensors(Vec<(String, Tensor)>),
    /// Some tensors by name, and the generator for the others: whole numbers and truth values as well as floats, in this range if there is one.
    Mixed {
        /// The tensors.
        tensors: Vec<(String, Tensor)>,
        /// The seed.
        seed: u64,
        /// Least and greatest number.
        range: Option<(f64, f64)>,
    },
    /// A description of inputs and expected outputs.
    Expected(Box<ExpectedGraph>),
}

/// A function that is to be called, with what it takes. Made from what was read: passes keep the arguments.
#[derive(Clone)]
pub struct Callee {
    ir: Ir,
    func: Op,
    /// What it takes, in order.
    pub parameters: Vec<Parameter>,
    /// How the user gives a symbol its value, with `{}` for its name; empty if there is no way.
    advice: &'static str,
    /// The values of symbols for the last arguments.
    bound: FxHashMap<SymId, i64>,
}

impl Callee {
    /// The function `func` of `ir`.
    ///
    /// # Errors
    /// An argument of a type that no input can be made for: a sentence.
    pub fn new(ir: &Ir, func: Op) -> Result<Callee, String> {
        let mut ir = ir.clone();
        let parameters = signature(&mut ir, func)?;
        Ok(Callee { ir, func, parameters, advice: "", bound: FxHashMap::default() })
    }

    /// The same, with what is said of a symbol without a value: how the user gives it one, with `{}` for its name.
    #[must_use]
    pub fn advising(self, advice: &'static str) -> Callee {
        Callee { advice, ..self }
    }

    /// Whether a size or a number of an argument depends on this symbol.
    pub fn has_symbol(&self, name: &str) -> bool {
        let is_it =
            |&e: &Expr| self.ir.exprs.atoms(e).any(|a| matches!(a, Atom::Sym(s) if self.ir.exprs.sym_name(s) == name));
        self.parameters.iter().any(|p| match &p.kind {
            Kind::Tensor { sizes, strides, .. } => sizes.iter().chain(strides).any(is_it),
            Kind::Symbol(e) => e.iter().any(is_it),
        })
    }

    /// Fresh arguments: those that the generator makes have memory of their own. `symbols` are values of symbolic sizes.
    ///
    /// # Errors
    /// A symbol without a value, a missing or unfit tensor: a sentence.
    pub fn arguments(&mut self, source: &Source, symbols: &[(String, i64)]) -> Result<Vec<Argument>, String> {
        let mut bindings = Bindings { values: FxHashMap::default(), advice: self.advice };
        for (name, value) in symbols {
            bindings.values.insert(self.ir.exprs.sym_id(name), *value);
        }
        let made = make(&mut self.ir, self.func, &self.parameters, source, &mut bindings);
        self.bound = bindings.values;
        made
    }

    /// Checks the ops of the function at the sizes of the last arguments: what verification alone takes to hold.
    ///
    /// # Errors
    /// An error with a place for each op that cannot be computed.
    pub fn admit(&mut self, library: &Library) -> Result<(), Vec<Diagnostic>> {
        let value = |s: SymId| self.bound.get(&s).copied();
        let wrong = library::verify_call(&|name| library.op(name), &mut self.ir, self.func, &value);
        if wrong.is_empty() { Ok(()) } else { Err(wrong.into_iter().map(|(_, d)| d).collect()) }
    }
}

/// What a function takes at one place.
#[derive(Clone)]
pub struct Parameter {
    /// Its name, without `%`.
    pub name: String,
    /// What it is.
    pub kind: Kind,
}

/// What an argument is.
#[derive(Clone)]
pub enum Kind {
    /// A tensor or a buffer.
    Tensor {
        /// Element type.
        dtype: DType,
        /// Sizes.
        sizes: Vec<Expr>,
        /// Strides in elements.
        strides: Vec<Expr>,
    },
    /// A number, which is the value of this expression.
    Symbol(Option<Expr>),
}

/// The arguments that a function takes.
fn signature(ir: &mut Ir, func: Op) -> Result<Vec<Parameter>, String> {
    let body = ir.body(func).ok_or("the function has no body of one block")?;
    let args = ir.block_args(body).to_vec();
    let mut list = Vec::new();
    for (i, arg) in args.into_iter().enumerate() {
        let name = ir.value_name(arg).map_or_else(|| format!("arg{i}"), str::to_string);
        let ty = ir.value_type(arg);
        let kind = if matches!(ir.ty(ty), TypeData::Index | TypeData::Integer { .. }) {
            Kind::Symbol(symbols::argument_symbol(ir, func, i))
        } else {
            let element = ir.element_type(ty);
            let dtype = dtype_of(ir, element);
            match (dtype, sizes_of(ir, ty), strides_of(ir, ty)) {
                (Some(dtype), Some(sizes), Some((strides, _))) => Kind::Tensor { dtype, sizes, strides },
                _ => {
                    return Err(format!(
                        "no input can be made for argument %{name}: its type is no tensor of known rank"
                    ));
                }
            }
        };
        list.push(Parameter { name, kind });
    }
    Ok(list)
}

/// Reads what `--inputs` names: `seed:N`, an npz, npy or safetensors file, or a file of expected values, in which `graph` is looked up by
/// its id or, without one, by the name of the input file.
///
/// # Errors
/// A sentence.
pub fn read_source(spec: &str, graph: Option<&str>, file: &str, cwd: &Path) -> Result<Source, String> {
    if let Some(seed) = spec.strip_prefix("seed:") {
        return seed.parse().map(Source::Seed).map_err(|e| format!("--inputs: '{seed}' is no seed: {e}"));
    }
    if spec.ends_with(".json") {
        return expected_graph(spec, graph, file, cwd).map(|g| Source::Expected(Box::new(g)));
    }
    read_tensors(spec, cwd).map(Source::Tensors)
}

/// The tensors of a file, by name.
///
/// # Errors
/// A sentence.
pub fn read_tensors(name: &str, cwd: &Path) -> Result<Vec<(String, Tensor)>, String> {
    let path = cwd.join(name);
    match path.extension().and_then(|e| e.to_str()) {
        Some("npz") => npz::read_npz(&path).map_err(|e| e.to_string()),
        Some("safetensors") => safetensor::read_safetensors(&path).map_err(|e| e.to_string()),
        Some("npy") => npy::read_npy(&path).map(|t| vec![("arg0".to_string(), t)]).map_err(|e| e.to_string()),
        _ => Err(format!("'{name}' is neither seed:N nor a .npz, .npy, .safetensors or .json file")),
    }
}

/// The description of a graph in a file of expected values.
///
/// # Errors
/// A sentence.
pub fn expected_graph(spec: &str, graph: Option<&str>, file: &str, cwd: &Path) -> Result<ExpectedGraph, String> {
    let graphs = read_expected(&cwd.join(spec)).map_err(|e| e.to_string())?;
    let path = cwd.join(file);
    let fits = |g: &ExpectedGraph| match graph {
        Some(id) => g.id == id,
        None => path.ends_with(&g.file) || path.file_name() == Path::new(&g.file.replace('/', "_")).file_name(),
    };
    let n = graphs.len();
    graphs.into_iter().find(fits).ok_or_else(|| match graph {
        Some(id) => format!("'{spec}' describes {n} graphs, but none with the id '{id}'"),
        None => format!("'{spec}' describes {n} graphs, but none from '{file}'; --graph=ID names one"),
    })
}

/// What `--bind s0=4` says.
///
/// # Errors
/// A text that is no binding.
pub fn parse_binding(text: &str) -> Result<(String, i64), String> {
    let parts = text.split_once('=').and_then(|(name, value)| Some((name.trim(), value.trim().parse::<i64>().ok()?)));
    let (name, value) =
        parts.filter(|p| !p.0.is_empty()).ok_or_else(|| format!("--bind: '{text}' is not of the form s0=4"))?;
    Ok((name.to_string(), value))
}

/// The values of symbols.
struct Bindings {
    values: FxHashMap<SymId, i64>,
    /// How the user gives a symbol its value.
    advice: &'static str,
}

impl Bindings {
    /// Binds the symbol that an expression is, if it is one and has no value yet.
    fn bind(&mut self, ir: &Ir, e: Expr, value: i64) {
        if let Some(Atom::Sym(s)) = ir.exprs.as_atom(e) {
            self.values.entry(s).or_insert(value);
        }
    }

    fn eval(&self, ir: &Ir, e: Expr) -> Result<i64, String> {
        let value = |a: Atom| match a {
            Atom::Sym(s) => self.values.get(&s).copied(),
            Atom::Dim(_) => None,
        };
        ir.exprs.eval(e, value).map_err(|why| {
            let free: Vec<String> = ir
                .exprs
                .atoms(e)
                .filter(|&a| value(a).is_none())
                .map(|a| match a {
                    Atom::Sym(s) => ir.exprs.sym_name(s).to_string(),
                    Atom::Dim(d) => format!("d{d}"),
                })
                .collect();
            match free.first() {
                Some(name) => format!("the symbol {name} has no value{}", self.advice.replace("{}", name)),
                None => format!("{}: {why}", ir.exprs.display(e)),
            }
        })
    }

    fn sizes(&self, ir: &Ir, list: &[Expr]) -> Result<Vec<usize>, String> {
        list.iter()
            .map(|&e| {
                let n = self.eval(ir, e)?;
                usize::try_from(n).map_err(|_| format!("{} is {n}, which is no size", ir.exprs.display(e)))
            })
            .collect()
    }
}

/// Makes the arguments.
fn make(
    ir: &mut Ir,
    func: Op,
    args: &[Parameter],
    source: &Source,
    bindings: &mut Bindings,
) -> Result<Vec<Argument>, String> {
    match source {
        Source::Seed(seed) => {
            hints(ir, func, args, bindings);
            generate_all(ir, args, *seed, &|i| (InputKind::default(), i as u64 + 1), bindings)
        }
        Source::Mixed { tensors, seed, range } => {
            let found = find(args, tensors)?;
            bind_all(ir, args, &found, bindings)?;
            hints(ir, func, args, bindings);
            let one = |(i, (arg, tensor)): (usize, (&Parameter, Option<&Tensor>))| match (&arg.kind, tensor) {
                (Kind::Tensor { dtype, .. }, None) => {
                    let kind = kind_of(*dtype, *range);
                    generate_one(ir, arg, *seed, kind, i as u64 + 1, bindings)
                }
                _ => fit(ir, arg, tensor, bindings),
            };
            args.iter().zip(found).enumerate().map(one).collect()
        }
        Source::Expected(graph) => {
            if graph.inputs.len() != args.len() {
                return Err(format!(
                    "the function takes {} arguments, '{}' describes {}",
                    args.len(),
                    graph.id,
                    graph.inputs.len()
                ));
            }
            for (arg, input) in args.iter().zip(&graph.inputs) {
                if let (Kind::Symbol(Some(e)), InputKind::IntScalar { value }) = (&arg.kind, input.kind) {
                    bindings.bind(ir, *e, value);
                }
            }
            generate_all(ir, args, graph.seed, &|i| (graph.inputs[i].kind, graph.inputs[i].stream), bindings)
        }
        Source::Tensors(tensors) => from_tensors(ir, args, tensors, bindings),
    }
}

/// Symbols without a value take the hint of the argument that binds them: the size that the model was captured with.
fn hints(ir: &mut Ir, func: Op, args: &[Parameter], bindings: &mut Bindings) {
    for (i, arg) in args.iter().enumerate() {
        let hint = symbols::argument_attr(ir, func, i, "aten.hint").and_then(|a| ir.as_int(a));
        if let (Kind::Symbol(Some(e)), Some(hint)) = (&arg.kind, hint) {
            bindings.bind(ir, *e, hint);
        }
    }
}

/// What elements of a type are made of, where nothing else says it.
fn kind_of(dtype: DType, range: Option<(f64, f64)>) -> InputKind {
    match (dtype.is_bool(), dtype.is_float() || dtype.is_complex()) {
        (true, _) => InputKind::Bernoulli { p: 0.5 },
        (_, true) => range.map_or(InputKind::default(), |(lo, hi)| InputKind::Uniform { lo, hi }),
        _ => {
            let (lo, hi) = range.unwrap_or(if dtype == DType::U8 { (0.0, 16.0) } else { (-8.0, 8.0) });
            InputKind::IntUniform { lo: lo as i64, hi: hi as i64 }
        }
    }
}

fn generate_all(
    ir: &Ir,
    args: &[Parameter],
    seed: u64,
    how: &dyn Fn(usize) -> (InputKind, u64),
    bindings: &Bindings,
) -> Result<Vec<Argument>, String> {
    args.iter()
        .enumerate()
        .map(|(i, arg)| {
            let (kind, stream) = how(i);
            generate_one(ir, arg, seed, kind, stream, bindings)
        })
        .collect()
}

fn generate_one(
    ir: &Ir,
    arg: &Parameter,
    seed: u64,
    kind: InputKind,
    stream: u64,
    bindings: &Bindings,
) -> Result<Argument, String> {
    match &arg.kind {
        Kind::Symbol(Some(e)) => bindings.eval(ir, *e).map(Argument::Int),
        Kind::Symbol(None) => match kind {
            InputKind::IntScalar { value } => Ok(Argument::Int(value)),
            _ => Err(format!("the argument %{} is a number without a symbol; no value can be made for it", arg.name)),
        },
        Kind::Tensor { dtype, sizes, strides } => {
            let (sizes, strides) = (bindings.sizes(ir, sizes)?, bindings.sizes(ir, strides)?);
            let t = generate(kind, seed, stream, *dtype, &sizes, &strides);
            t.map(Argument::Tensor).map_err(|e| format!("the argument %{}: {e}", arg.name))
        }
    }
}

fn from_tensors(
    ir: &Ir,
    args: &[Parameter],
    tensors: &[(String, Tensor)],
    bindings: &mut Bindings,
) -> Result<Vec<Argument>, String> {
    let found = find(args, tensors)?;
    bind_all(ir, args, &found, bindings)?;
    args.iter().zip(found).map(|(arg, tensor)| fit(ir, arg, tensor, bindings)).collect()
}

/// The tensor for each argument: that of its name, or of its position (`arg0`).
fn find<'t>(args: &[Parameter], tensors: &'t [(String, Tensor)]) -> Result<Vec<Option<&'t Tensor>>, String> {
    let mut used = FxHashSet::default();
    let mut found = Vec::new();
    for (i, arg) in args.iter().enumerate() {
        let position = format!("arg{i}");
        let hit = tensors
            .iter()
            .position(|(n, _)| *n == arg.name)
            .or_else(|| tensors.iter().position(|(n, _)| *n == position));
        used.extend(hit);
        found.push(hit.map(|k| &tensors[k].1));
    }
    if let Some(k) = (0..tensors.len()).find(|k| !used.contains(k)) {
        let names: Vec<&str> = args.iter().map(|a| a.name.as_str()).collect();
        return Err(format!("the function has no argument '{}'; its arguments are {}", tensors[k].0, names.join(", ")));
    }
    Ok(found)
}

/// Binds the symbols that the tensors show.
fn bind_all(ir: &Ir, args: &[Parameter], found: &[Option<&Tensor>], bindings: &mut Bindings) -> Result<(), String> {
    for (arg, tensor) in args.iter().zip(found) {
        match (&arg.kind, tensor) {
            (Kind::Symbol(Some(e)), Some(t)) => bindings.bind(ir, *e, number(t)?),
            (Kind::Tensor { sizes, .. }, Some(t)) => {
                sizes.iter().zip(t.sizes()).for_each(|(&e, &n)| bindings.bind(ir, e, n as i64));
            }
            _ => {}
        }
    }
    Ok(())
}

/// An argument from the tensor that was given for it: its type must fit, and it is laid out as the type says.
fn fit(ir: &Ir, arg: &Parameter, tensor: Option<&Tensor>, bindings: &Bindings) -> Result<Argument, String> {
    let name = &arg.name;
    match (&arg.kind, tensor) {
        (Kind::Symbol(None), Some(t)) => number(t).map(Argument::Int),
        (Kind::Symbol(Some(e)), _) => bindings.eval(ir, *e).map(Argument::Int),
        (_, None) => Err(format!("the inputs have no '{name}'")),
        (Kind::Tensor { dtype, sizes, strides }, Some(t)) => {
            let (sizes, strides) = (bindings.sizes(ir, sizes)?, bindings.sizes(ir, strides)?);
            if t.dtype() != *dtype || t.sizes() != sizes {
                return Err(format!(
                    "the argument %{name} is {dtype}{sizes:?}, the input is {}{:?}",
                    t.dtype(),
                    t.sizes()
                ));
            }
            if t.strides() == strides {
                return Ok(Argument::Tensor(t.clone()));
            }
            let laid_out = Tensor::zeros_strided(*dtype, &sizes, &strides);
            laid_out
                .and_then(|l| l.copy_from(t).map(|()| Argument::Tensor(l)))
                .map_err(|e| format!("the argument %{name}: {e}"))
        }
    }
}

fn number(t: &Tensor) -> Result<i64, String> {
    if t.numel() != 1 {
        return Err(format!("a number is wanted, a tensor of sizes {:?} was given", t.sizes()));
    }
    t.to_vec::<i64>().map(|v| v[0]).map_err(|e| e.to_string())
}
