//! `rinductor-wasm MODULE FUNCTION…`: runs kernels that are a module of WebAssembly, on calls from its standard input.
//!
//! How calls and answers are written is said in `src/codegen/remote.rs` of the compiler. FUNCTION is the name of each kernel's function, in the order of
//! the kernels' numbers. What the module has not itself, functions of the C library and of the compiler's, is asked for at the other end.

use std::io::{self, Read, Write};
use std::process::ExitCode;
use wasmtime::{Engine, Extern, Func, FuncType, Instance, Memory, MemoryType, Module, Store, Val, ValType};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The functions that the other end computes, by number: as `FUNCTIONS` of `src/codegen/remote.rs`.
const FUNCTIONS: &[&str] = &[
    "rinductor_special1",
    "rinductor_special2",
    "rinductor_int_pow",
    "rinductor_int_gcd",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "cbrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "erfc",
    "pow",
    "hypot",
    "fmod",
];

/// Bytes of a page of memory.
const PAGE: u64 = 65_536;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(module) = arguments.next() else {
        eprintln!("usage: rinductor-wasm MODULE FUNCTION...");
        return ExitCode::FAILURE;
    };
    match serve(&module, &arguments.collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("rinductor-wasm: {why}");
            ExitCode::FAILURE
        }
    }
}

/// An instance with its memory. The linker puts a stack and data first; calls have what follows.
struct Kernels {
    store: Store<()>,
    instance: Instance,
    memory: Memory,
    free: u64,
}

fn serve(file: &str, functions: &[String]) -> Result<()> {
    let engine = Engine::default();
    let module = Module::new(&engine, std::fs::read(file)?)?;
    let mut store = Store::new(&engine, ());
    let mut imports = Vec::new();
    let mut memory = None;
    for import in module.imports() {
        imports.push(match import.ty() {
            wasmtime::ExternType::Memory(ty) => {
                let made = Memory::new(&mut store, MemoryType::new(u32::try_from(ty.minimum())?, None))?;
                memory = Some(made);
                Extern::Memory(made)
            }
            wasmtime::ExternType::Func(ty) => Extern::Func(asking(&mut store, import.name(), ty)?),
            _ => {
                return Err(
                    format!("the module takes '{}', which is neither a memory nor a function", import.name()).into()
                );
            }
        });
    }
    let memory = memory.ok_or("the module takes no memory")?;
    let instance = Instance::new(&mut store, &module, &imports)?;
    let free = memory.data_size(&store) as u64;
    let mut kernels = Kernels { store, instance, memory, free };
    let mut input = io::stdin();
    loop {
        let mut head = [0; 12];
        match input.read_exact(&mut head) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        let word = |k: usize| u32::from_le_bytes([head[k], head[k + 1], head[k + 2], head[k + 3]]) as usize;
        let (kernel, buffers, symbols) = (word(0), word(4), word(8));
        let mut size = [0; 8];
        input.read_exact(&mut size)?;
        let size = u64::from_le_bytes(size);
        let mut offsets = vec![0; 8 * buffers];
        let mut values = vec![0; 8 * symbols];
        let mut bytes = vec![0; usize::try_from(size)?];
        input.read_exact(&mut offsets)?;
        input.read_exact(&mut values)?;
        input.read_exact(&mut bytes)?;
        let name = functions.get(kernel).ok_or("there is no such kernel")?;
        let error = kernels.call(name, &offsets, &values, &mut bytes)?;
        let mut out = io::stdout().lock();
        out.write_all(&[2])?;
        out.write_all(&error)?;
        out.write_all(&bytes)?;
        out.flush()?;
    }
}

impl Kernels {
    /// Runs all steps of a kernel. The memory of a call is: the error, the symbols, pointers to the buffers, the buffers.
    fn call(&mut self, name: &str, offsets: &[u8], symbols: &[u8], bytes: &mut [u8]) -> Result<[u8; 32]> {
        let error = self.free;
        let values = error + 32;
        let pointers = values + symbols.len() as u64;
        let start = (pointers + offsets.len() as u64 / 2).next_multiple_of(64);
        let end = start + bytes.len() as u64;
        let have = self.memory.data_size(&self.store) as u64;
        if end > have {
            self.memory.grow(&mut self.store, (end - have).div_ceil(PAGE))?;
        }
        let mut list = Vec::new();
        for offset in offsets.chunks_exact(8) {
            let offset = u64::from_le_bytes(offset.try_into()?);
            list.extend(u32::try_from(start + offset)?.to_le_bytes());
        }
        let data = self.memory.data_mut(&mut self.store);
        for (at, from) in [(error, &[0; 32][..]), (values, symbols), (pointers, &list), (start, bytes)] {
            data[at as usize..][..from.len()].copy_from_slice(from);
        }
        let [error, values, pointers] = [error, values, pointers].map(|at| at as i32);
        let steps = self.instance.get_typed_func::<i32, i64>(&mut self.store, &format!("{name}_steps"))?;
        let steps = steps.call(&mut self.store, values)?;
        let run = self.instance.get_typed_func::<(i32, i32, i64, i64, i32), ()>(&mut self.store, name)?;
        run.call(&mut self.store, (pointers, values, 0, steps, error))?;
        let data = self.memory.data(&self.store);
        bytes.copy_from_slice(&data[start as usize..][..bytes.len()]);
        Ok(data[error as usize..][..32].try_into()?)
    }
}

/// A function that the other end computes: one of the list, or the same for `f32`, whose name ends in `f`.
fn asking(store: &mut Store<()>, name: &str, ty: FuncType) -> Result<Func> {
    let known = |name: &str| FUNCTIONS.iter().position(|f| *f == name);
    let number = known(name).or_else(|| known(name.strip_suffix('f')?));
    let number = number.ok_or_else(|| format!("nobody has a function '{name}'"))? as u32;
    let kinds: Vec<ValType> = ty.results().collect();
    Ok(Func::new(store, ty, move |_, arguments, results| {
        let mut question = vec![1];
        question.extend(number.to_le_bytes());
        for k in 0..3 {
            let bits = match arguments.get(k) {
                Some(Val::I64(n)) => *n as u64,
                Some(Val::F64(bits)) => *bits,
                Some(Val::F32(bits)) => f64::from(f32::from_bits(*bits)).to_bits(),
                _ => 0,
            };
            question.extend(bits.to_le_bytes());
        }
        let mut out = io::stdout().lock();
        out.write_all(&question)?;
        out.flush()?;
        let mut answer = [0; 8];
        io::stdin().read_exact(&mut answer)?;
        let bits = u64::from_le_bytes(answer);
        for (result, kind) in results.iter_mut().zip(&kinds) {
            *result = match kind {
                ValType::I64 => Val::I64(bits as i64),
                ValType::F32 => Val::F32((f64::from_bits(bits) as f32).to_bits()),
                _ => Val::F64(bits),
            };
        }
        Ok(())
    }))
}
