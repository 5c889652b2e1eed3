//! Running the host function of the kernel level: it is read once into a flat plan, which then costs little a call.
//!
//! | file | holds |
//! |---|---|
//! | `plan` | the function as a list of steps |
//! | `constant` | constant data |
//! | `bounds` | accesses that stay in their buffers at some sizes only |
//! | `overlap` | inputs that share memory |
//! | `host` | ops that the caller computes |
//! | here | a call: symbols bound from the sizes of the inputs, buffers, kernels, extern ops, results |

mod bounds;
mod constant;
mod host;
mod overlap;
mod plan;

pub use host::{HostCall, HostInput, HostOps};

use crate::dialects::{func, symbols};
use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rinductor_index::{Atom, SymId};
use rinductor_scalar::DType;
use rinductor_support::{Diagnostic, FxHashMap, FxHashSet};

use crate::codegen::backend::KernelCode;
use crate::codegen::threads;
use crate::ir::Ir;
use crate::runtime::error::{Result, RuntimeError};
use crate::runtime::{Attr, Attrs, Dims, Storage, Tensor};
use plan::{Input, Num, Operand, Output, Plan, Shape, Step};

/// An argument of a call.
#[derive(Clone, Debug)]
pub enum Argument {
    /// A tensor.
    Tensor(Tensor),
    /// The value of a symbol.
    Int(i64),
}

/// A result of a call.
#[derive(Clone, Debug)]
pub enum Returned {
    /// A tensor, with the strides that the function's type says.
    Tensor(Tensor),
    /// A size.
    Int(i64),
    /// None.
    Nothing,
}

/// What a function takes at one place.
#[derive(Clone, Copy, Debug)]
pub struct Parameter<'a> {
    /// Its name, without `%`.
    pub name: &'a str,
    /// The element type of a tensor; None for the value of a symbol.
    pub dtype: Option<DType>,
    /// Whether calls write into it.
    pub written: bool,
}

/// A function that can be called.
pub struct Executable {
    plan: Plan,
    code: Arc<dyn KernelCode>,
    host: Option<Arc<dyn HostOps>>,
    threads: AtomicUsize,
    /// Memory of earlier calls that nobody uses.
    pool: Mutex<Vec<Arc<Storage>>>,
    /// Values of symbols at which no kernel leaves a buffer.
    admitted: Mutex<FxHashSet<Vec<i64>>>,
}

/// How many values of symbols are remembered.
const ADMITTED: usize = 1024;

/// A buffer during a call.
#[derive(Clone)]
struct Buffer {
    tensor: Tensor,
    /// Where the type counts offsets from, in bytes from the start of the storage.
    base: isize,
}

impl Executable {
    /// Prepares function `name` of `ir`, which is at the kernel level, to run with the kernels of `code`.
    ///
    /// # Errors
    /// No such function, or one that the host cannot run.
    pub fn new(ir: &Ir, name: &str, code: Arc<dyn KernelCode>) -> std::result::Result<Executable, Diagnostic> {
        Executable::with_host(ir, name, code, None)
    }

    /// The same, with ops that the caller computes.
    ///
    /// # Errors
    /// As [`Executable::new`].
    pub fn with_host(
        ir: &Ir,
        name: &str,
        code: Arc<dyn KernelCode>,
        host: Option<Arc<dyn HostOps>>,
    ) -> std::result::Result<Executable, Diagnostic> {
        let func = ir.lookup_symbol(name).filter(|&f| ir.is_op(f, func::FuncOp::NAME));
        let func = func.ok_or_else(|| Diagnostic::error_nowhere(format!("there is no function @{name}")))?;
        let plan = plan::plan(ir, func, &*code, host.as_deref())?;
        Ok(Executable {
            plan,
            code,
            host,
            threads: AtomicUsize::new(0),
            pool: Mutex::default(),
            admitted: Mutex::default(),
        })
    }

    /// Sets how many threads kernels and extern ops may use; 0 for as many as there usually are.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        self.set_threads(threads);
        self
    }

    /// As [`Executable::with_threads`], for the calls that begin from now on.
    pub fn set_threads(&self, threads: usize) {
        self.threads.store(threads, Ordering::Relaxed);
    }

    /// What it takes, in order.
    pub fn parameters(&self) -> impl ExactSizeIterator<Item = Parameter<'_>> {
        self.plan.inputs.iter().zip(&self.plan.input_names).map(|(input, name)| match input {
            Input::Tensor(_, shape, written) => Parameter { name, dtype: Some(shape.dtype), written: *written },
            Input::Symbol(_) => Parameter { name, dtype: None, written: false },
        })
    }

    /// How many kernels a call runs.
    pub fn launches(&self) -> usize {
        self.plan.steps.iter().filter(|s| matches!(s, Step::Launch { .. })).count()
    }

    /// How many results it gives.
    pub fn results(&self) -> usize {
        self.plan.outputs.len()
    }

    /// How many tensors it takes, and how many symbols.
    pub fn arity(&self) -> (usize, usize) {
        let tensors = self.plan.inputs.iter().filter(|i| matches!(i, Input::Tensor(..))).count();
        (tensors, self.plan.inputs.len() - tensors)
    }

    /// Calls it with tensors alone: symbols are bound from their sizes.
    ///
    /// # Errors
    /// As [`Executable::run`].
    pub fn run_tensors(&self, tensors: &[Tensor]) -> Result<Vec<Returned>> {
        let mut tensors = tensors.iter();
        let mut arguments = Vec::new();
        for (input, name) in self.plan.inputs.iter().zip(&self.plan.input_names) {
            arguments.push(match input {
                Input::Tensor(..) => {
                    let t =
                        tensors.next().ok_or_else(|| RuntimeError::tensor(format!("no tensor for input %{name}")))?;
                    Some(Argument::Tensor(t.clone()))
                }
                Input::Symbol(_) => None,
            });
        }
        if tensors.next().is_some() {
            return Err(RuntimeError::tensor(format!(
                "the function takes {} tensors, more were given",
                self.arity().0
            )));
        }
        self.run_bound(&arguments)
    }

    /// Calls it. Inputs that the function writes are changed.
    ///
    /// # Errors
    /// Inputs that do not fit the function's type, an index out of range, an extern op that fails.
    pub fn run(&self, arguments: &[Argument]) -> Result<Vec<Returned>> {
        self.run_bound(&arguments.iter().cloned().map(Some).collect::<Vec<_>>())
    }

    /// Calls it; a symbol without a value gets it from the sizes of the tensors.
    ///
    /// # Errors
    /// As [`Executable::run`].
    pub fn run_bound(&self, arguments: &[Option<Argument>]) -> Result<Vec<Returned>> {
        if arguments.len() != self.plan.inputs.len() {
            let text = format!("the function takes {} arguments, got {}", self.plan.inputs.len(), arguments.len());
            return Err(RuntimeError::tensor(text));
        }
        let sizes = self.sizes(arguments)?;
        let mut call = Call {
            executable: self,
            threads: self.threads.load(Ordering::Relaxed),
            sizes,
            buffers: vec![None; self.plan.slots],
            pool: std::mem::take(&mut *self.pool.lock().unwrap_or_else(PoisonError::into_inner)),
            taken: Vec::new(),
            copied: Vec::new(),
        };
        let result = call.run(arguments);
        // Memory that only this call had goes back.
        call.buffers.clear();
        let Call { mut pool, taken, .. } = call;
        pool.extend(taken);
        pool.retain(|s| Arc::strong_count(s) == 1);
        *self.pool.lock().unwrap_or_else(PoisonError::into_inner) = pool;
        result
    }

    /// The computed sizes of a call.
    fn sizes(&self, arguments: &[Option<Argument>]) -> Result<Vec<i64>> {
        if self.plan.sizes.is_empty() {
            return Ok(Vec::new());
        }
        let mut values: FxHashMap<SymId, i64> = FxHashMap::default();
        for (input, argument) in self.plan.inputs.iter().zip(arguments) {
            if let (Input::Symbol(s), Some(Argument::Int(n))) = (input, argument) {
                values.insert(*s, *n);
            }
        }
        for &(symbol, input, dim) in &self.plan.bindings {
            if let Some(Argument::Tensor(t)) = &arguments[input]
                && let Some(&n) = t.sizes().get(dim)
            {
                values.entry(symbol).or_insert(n as i64);
            }
        }
        let exprs = &self.plan.exprs;
        let mut bound: Vec<(SymId, i64)> = values.iter().map(|(&s, &n)| (s, n)).collect();
        bound.sort_unstable();
        for &(symbol, n) in &bound {
            symbols::admit(&self.plan.facts, exprs, symbol, n).map_err(RuntimeError::tensor)?;
        }
        let value = |a: Atom| if let Atom::Sym(s) = a { values.get(&s).copied() } else { None };
        if !self.plan.accesses.is_empty() {
            let key: Vec<i64> = bound.iter().map(|b| b.1).collect();
            let mut admitted = self.admitted.lock().unwrap_or_else(PoisonError::into_inner);
            if !admitted.contains(&key) {
                if let Some(problem) = bounds::problem(exprs, &self.plan.accesses, &value) {
                    return Err(RuntimeError::tensor(problem));
                }
                if admitted.len() >= ADMITTED {
                    admitted.clear();
                }
                admitted.insert(key);
            }
        }
        let all = self.plan.sizes.iter().map(|&e| {
            exprs.eval(e, value).map_err(|_| {
                RuntimeError::tensor(format!("the size {} has no value: no input binds its symbols", exprs.display(e)))
            })
        });
        all.collect()
    }
}

/// One call.
struct Call<'a> {
    executable: &'a Executable,
    threads: usize,
    sizes: Vec<i64>,
    buffers: Vec<Option<Buffer>>,
    pool: Vec<Arc<Storage>>,
    taken: Vec<Arc<Storage>>,
    /// Inputs that were copied because of their strides, to be copied back: the original, the copy.
    copied: Vec<(Tensor, Tensor)>,
}

impl Call<'_> {
    fn num(&self, n: Num) -> Result<i64> {
        match n {
            Num::Fixed(n) => Ok(n),
            Num::Size(k) => self.sizes.get(k).copied().ok_or_else(|| RuntimeError::tensor("a size has no value")),
        }
    }

    fn nums(&self, list: &[Num]) -> Result<Dims> {
        let number = |n: &Num| {
            let n = self.num(*n)?;
            usize::try_from(n).map_err(|_| RuntimeError::tensor(format!("{n} is no size or stride of a buffer")))
        };
        list.iter().map(number).collect()
    }

    fn buffer(&self, slot: usize) -> Result<&Buffer> {
        self.buffers[slot].as_ref().ok_or_else(|| RuntimeError::tensor("a buffer is used after it was given back"))
    }

    fn run(&mut self, arguments: &[Option<Argument>]) -> Result<Vec<Returned>> {
        let executable = self.executable;
        let plan = &executable.plan;
        let shared = overlap::shared(&plan.inputs, arguments);
        for (k, (input, argument)) in plan.inputs.iter().zip(arguments).enumerate() {
            if let Input::Tensor(slot, shape, written) = input {
                let Some(Argument::Tensor(t)) = argument else {
                    return Err(RuntimeError::tensor(format!("input %{} must be a tensor", plan.input_names[k])));
                };
                self.buffers[*slot] =
                    Some(self.input(t, shape, *written, shared.contains(&k), &plan.input_names[k])?);
            }
        }
        for step in &plan.steps {
            self.step(step)?;
        }
        for (original, copy) in std::mem::take(&mut self.copied) {
            original.copy_from(&copy)?;
        }
        let outputs = plan.outputs.iter().map(|o| {
            Ok(match o {
                Output::Tensor(slot) => Returned::Tensor(self.buffer(*slot)?.tensor.clone()),
                Output::Copy(slot) => {
                    let t = &self.buffer(*slot)?.tensor;
                    let copy = Tensor::zeros_strided(t.dtype(), t.sizes(), t.strides())?;
                    copy.copy_from(t)?;
                    Returned::Tensor(copy)
                }
                Output::Int(n) => Returned::Int(self.num(*n)?),
                Output::Nothing => Returned::Nothing,
            })
        });
        outputs.collect()
    }

    /// An input as the function's type wants it: itself, or a copy with those strides; a copy too where it is `shared` with another.
    fn input(&mut self, t: &Tensor, shape: &Shape, written: bool, shared: bool, name: &str) -> Result<Buffer> {
        let (sizes, strides) = (self.nums(&shape.sizes)?, self.nums(&shape.strides)?);
        if t.dtype() != shape.dtype || t.sizes() != &sizes[..] {
            return Err(RuntimeError::tensor(format!(
                "input %{name} is {} of sizes {:?}, the function takes {} of sizes {sizes:?}",
                t.dtype(),
                t.sizes(),
                shape.dtype
            )));
        }
        // Strides of dimensions without a second element do not matter.
        let same = t.numel() == 0 || (0..sizes.len()).all(|d| sizes[d] == 1 || t.strides()[d] == strides[d]);
        let t = if same && !shared {
            t.clone()
        } else {
            let copy = Tensor::zeros_strided(t.dtype(), &sizes, &strides)?;
            copy.copy_from(t)?;
            if written {
                self.copied.push((t.clone(), copy.clone()));
            }
            copy
        };
        let offset = self.num(shape.offset)?;
        let base = (t.offset() as i64 - offset) as isize * t.dtype().size() as isize;
        Ok(Buffer { tensor: t, base })
    }

    /// Memory that no result keeps: from an earlier call if it fits.
    fn memory(&mut self, bytes: usize) -> Result<Arc<Storage>> {
        let fits = |s: &Arc<Storage>| s.len() >= bytes && s.len() <= bytes.saturating_mul(2).max(4096);
        let best = (0..self.pool.len()).filter(|&k| fits(&self.pool[k])).min_by_key(|&k| self.pool[k].len());
        let storage = match best {
            Some(k) => self.pool.swap_remove(k),
            None => Arc::new(Storage::zeroed(bytes)?),
        };
        self.taken.push(storage.clone());
        Ok(storage)
    }

    fn step(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Alloc { slot, shape, escapes } => {
                let (sizes, strides) = (self.nums(&shape.sizes)?, self.nums(&shape.strides)?);
                let offset = self.num(shape.offset)? as usize;
                let bytes = reach(&sizes, &strides, offset)?.saturating_mul(shape.dtype.size());
                // What is in it is written by the steps, here as in memory of earlier calls.
                let storage = if *escapes { Arc::new(Storage::recycled(bytes)?) } else { self.memory(bytes)? };
                let tensor = Tensor::from_storage(shape.dtype, sizes, strides, offset, storage)?;
                self.buffers[*slot] = Some(Buffer { tensor, base: 0 });
            }
            Step::Place { slot, shape, arena, offset } => {
                let (sizes, strides) = (self.nums(&shape.sizes)?, self.nums(&shape.strides)?);
                let start = self.num(shape.offset)? as usize;
                let bytes = reach(&sizes, &strides, start)?.saturating_mul(shape.dtype.size());
                let arena = self.buffer(*arena)?;
                let at = usize::try_from(*offset).unwrap_or(usize::MAX);
                let part = Storage::part(arena.tensor.storage(), at, bytes)?;
                let tensor = Tensor::from_storage(shape.dtype, sizes, strides, start, Arc::new(part))?;
                self.buffers[*slot] = Some(Buffer { tensor, base: 0 });
            }
            Step::Free { slot } => {
                if let Some(b) = self.buffers[*slot].take() {
                    let storage = b.tensor.storage().clone();
                    drop(b);
                    // Only this list and the variable here: nobody sees the memory any more.
                    if let Some(k) = self.taken.iter().position(|s| Arc::ptr_eq(s, &storage))
                        && Arc::strong_count(&storage) == 2
                    {
                        self.pool.push(self.taken.swap_remove(k));
                    }
                }
            }
            Step::View { from, slot, shape } => {
                let (sizes, strides) = (self.nums(&shape.sizes)?, self.nums(&shape.strides)?);
                let offset = self.num(shape.offset)? as isize;
                let size = shape.dtype.size() as isize;
                let source = self.buffer(*from)?;
                let base = source.base;
                let start = usize::try_from(base / size + offset)
                    .map_err(|_| RuntimeError::tensor("a view starts before its memory"))?;
                // A dimension without elements may be gone from the view (one element for each of an expanded tensor). Nothing that is computed
                // depends on what is there, but a kernel may read it before its loops.
                if source.tensor.numel() == 0 {
                    let tensor = Tensor::zeros_strided(shape.dtype, &sizes, &strides)?;
                    self.buffers[*slot] = Some(Buffer { tensor, base: 0 });
                    return Ok(());
                }
                let tensor = Tensor::from_storage(shape.dtype, sizes, strides, start, source.tensor.storage().clone())?;
                self.buffers[*slot] = Some(Buffer { tensor, base });
            }
            Step::Constant { slot, tensor } => {
                self.buffers[*slot] = Some(Buffer { tensor: tensor.clone(), base: 0 });
            }
            Step::Launch { kernel, buffers, symbols } => self.launch(*kernel, buffers, symbols)?,
            Step::Extern { op, inputs, outputs, attrs, numbers } => {
                let inputs = self.tensors(inputs)?;
                let outputs = self.tensors(outputs)?;
                let attrs = self.filled(attrs, numbers)?;
                threads::run(self.threads, || op.run_into(&attrs, &inputs, &outputs))?;
            }
            Step::Host { name, inputs, outputs, attrs, numbers } => {
                let input = |i: &Operand| {
                    Ok(match i {
                        Operand::Slot(slot) => HostInput::Tensor(self.buffer(*slot)?.tensor.clone()),
                        Operand::Int(n) => HostInput::Int(self.num(*n)?),
                        Operand::Nothing => HostInput::Nothing,
                    })
                };
                let inputs: Vec<HostInput> = inputs.iter().map(input).collect::<Result<_>>()?;
                let outputs = self.tensors(outputs)?;
                let attrs = self.filled(attrs, numbers)?;
                let host = self.executable.host.as_ref();
                let host = host.ok_or_else(|| RuntimeError::tensor(format!("nobody computes {name}")))?;
                host.call(&HostCall { name, attrs: &attrs, inputs: &inputs, outputs: &outputs })
                    .map_err(|source| RuntimeError::Host { op: name.clone(), source })?;
            }
            Step::Copy { from, to } => {
                let (from, to) = (self.buffer(*from)?, self.buffer(*to)?);
                to.tensor.copy_from(&from.tensor)?;
            }
        }
        Ok(())
    }

    fn tensors(&self, slots: &[Option<usize>]) -> Result<Vec<Option<Tensor>>> {
        slots.iter().map(|slot| slot.map(|s| self.buffer(s).map(|b| b.tensor.clone())).transpose()).collect()
    }

    /// Attributes with the values of their symbolic integers.
    fn filled<'a>(&self, attrs: &'a Attrs, numbers: &[(String, Option<usize>, Num)]) -> Result<Cow<'a, Attrs>> {
        let mut attrs = Cow::Borrowed(attrs);
        for (name, place, n) in numbers {
            let n = self.num(*n)?;
            match (place, attrs.ints(name)) {
                (Some(k), Some(mut list)) => {
                    list[*k] = n;
                    attrs.to_mut().set(name, Attr::Ints(list));
                }
                _ => attrs.to_mut().set(name, Attr::Int(n)),
            }
        }
        Ok(attrs)
    }

    fn launch(&self, kernel: usize, buffers: &[usize], symbols: &[Num]) -> Result<()> {
        let mut addresses: smallvec::SmallVec<[*mut u8; 16]> = smallvec::SmallVec::new();
        for &slot in buffers {
            let b = self.buffer(slot)?;
            addresses.push(b.tensor.storage().as_ptr().wrapping_offset(b.base));
        }
        let mut values: smallvec::SmallVec<[i64; 4]> = smallvec::SmallVec::new();
        for &n in symbols {
            values.push(self.num(n)?);
        }
        // SAFETY: each buffer was made or checked against the type with which the kernel is launched, for these symbols; nobody holds a
        // guard of the storages, because inputs are borrowed by the caller for reading at most through clones that this crate made.
        let ran = unsafe { self.executable.code.run(kernel, &addresses, &values, self.threads) };
        ran.map_err(RuntimeError::Kernel)
    }
}

/// One more than the last element of a layout, from the start of the allocation.
fn reach(sizes: &[usize], strides: &[usize], offset: usize) -> Result<usize> {
    if sizes.contains(&0) {
        return Ok(0);
    }
    let mut last = Some(offset);
    for (&n, &s) in sizes.iter().zip(strides) {
        last = last.and_then(|l| (n - 1).checked_mul(s).and_then(|r| l.checked_add(r)));
    }
    last.and_then(|l| l.checked_add(1))
        .ok_or_else(|| RuntimeError::tensor(format!("a buffer of sizes {sizes:?} is too large")))
}

#[cfg(all(test, feature = "llvm"))]
mod tests;
