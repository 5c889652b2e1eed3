//! Kernels that run in another process, for machines that are not this one: an emulator, a runtime of WebAssembly.
//!
//! The process reads calls from its standard input and answers on its standard output, all numbers in little-endian order:
//!
//! ```text
//! call    u32 kernel, u32 buffers, u32 symbols, u64 bytes; u64 offset of each buffer; i64 value of each symbol; the bytes
//! ask     u8 1, u32 function, u64 bits of three arguments          the answer is u64 bits
//! end     u8 2, i64 of each of the four fields of the error; the bytes
//! ```
//!
//! The memory of a call is all that its buffers reach, once each; buffers that overlap still do. Functions that are not the kernels' own are asked for.

use super::backend::{KernelCode, KernelFault};
use super::kernel::Kernel;
use super::vector::math::calls;
use crate::dialects::kernels;
use crate::ir::Ir;
use rinductor_index::{Atom, Expr, Exprs};
use rinductor_scalar::{ScalarOp, f64_binary, f64_unary};
use rinductor_support::Diagnostic;
use std::io::{Error, Read, Write};
use std::sync::{Mutex, PoisonError};

/// What a kernel that runs elsewhere is known by.
struct Remote {
    name: String,
    symbols: Vec<String>,
    /// Bytes of an element, sizes, strides and offset of each buffer.
    buffers: Vec<(u64, Vec<Expr>, Vec<Expr>, Expr)>,
}

/// The process at the other end.
pub struct Peer {
    /// Its standard input.
    pub to: Box<dyn Write + Send>,
    /// Its standard output.
    pub from: Box<dyn Read + Send>,
}

/// Kernels in another process.
pub struct RemoteKernels {
    kernels: Vec<Remote>,
    exprs: Exprs,
    peer: Mutex<Peer>,
}

/// The functions that the other end may ask for, by number.
pub const FUNCTIONS: &[&str] = &[
    calls::SPECIAL1,
    calls::SPECIAL2,
    calls::INT_POW,
    calls::INT_GCD,
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

/// The alignment of memory at the other end, and so of what is sent.
const ALIGNMENT: u64 = 64;

impl RemoteKernels {
    /// The kernels of a module, numbered in its order, behind a process that has their code.
    ///
    /// # Errors
    /// A kernel that no emitter reads.
    pub fn new(ir: &Ir, peer: Peer) -> Result<RemoteKernels, Diagnostic> {
        let mut exprs = ir.exprs.clone();
        let mut list = Vec::new();
        for op in ir.block_ops(ir.module_body()).filter(|&op| ir.is_op(op, kernels::FuncOp::NAME)) {
            let kernel = Kernel::read(ir, &mut exprs, op)?;
            let buffers = kernel
                .buffers()
                .map(|(_, l)| (l.dtype.size() as u64, l.sizes.to_vec(), l.strides.to_vec(), l.offset))
                .collect();
            list.push(Remote { name: kernel.name.clone(), symbols: kernel.symbols(), buffers });
        }
        Ok(RemoteKernels { kernels: list, exprs, peer: Mutex::new(peer) })
    }

    /// The bytes that each buffer of a kernel reaches, from the start of its allocation.
    fn reach(&self, kernel: &Remote, symbols: &[i64]) -> Option<Vec<u64>> {
        let value = |e: Expr| {
            let symbol = |atom| match atom {
                Atom::Sym(id) => {
                    let name = self.exprs.sym_name(id);
                    kernel.symbols.iter().position(|s| s == name).and_then(|k| symbols.get(k).copied())
                }
                Atom::Dim(_) => None,
            };
            self.exprs.eval(e, symbol).ok()
        };
        let reach = |(bytes, sizes, strides, offset): &(u64, Vec<Expr>, Vec<Expr>, Expr)| {
            let mut last = value(*offset)?;
            for (&size, &stride) in sizes.iter().zip(strides) {
                let size = value(size)?;
                if size == 0 {
                    return Some(0);
                }
                last += (size - 1) * value(stride)?.max(0);
            }
            Some((last.max(0) as u64 + 1) * bytes)
        };
        kernel.buffers.iter().map(reach).collect()
    }
}

/// A piece of memory with its place in what is sent.
struct Piece {
    start: u64,
    end: u64,
    offset: u64,
}

/// What buffers reach, each byte once, in the order of addresses; each piece is aligned as it is here.
fn pieces(buffers: &[*mut u8], reach: &[u64]) -> (Vec<Piece>, u64) {
    let mut spans: Vec<(u64, u64)> = buffers.iter().zip(reach).map(|(&b, &n)| (b as u64, b as u64 + n)).collect();
    spans.sort_unstable();
    let mut list: Vec<Piece> = Vec::new();
    let mut size = 0;
    for (start, end) in spans {
        match list.last_mut() {
            Some(last) if start <= last.end => {
                size += end.saturating_sub(last.end);
                last.end = last.end.max(end);
            }
            _ => {
                let offset = u64::next_multiple_of(size, ALIGNMENT) + start % ALIGNMENT;
                size = offset + (end - start);
                list.push(Piece { start, end, offset });
            }
        }
    }
    (list, size)
}

impl KernelCode for RemoteKernels {
    fn find(&self, name: &str) -> Option<usize> {
        self.kernels.iter().position(|k| k.name == name)
    }

    unsafe fn run(&self, kernel: usize, buffers: &[*mut u8], symbols: &[i64], _: usize) -> Result<(), KernelFault> {
        let known = self.kernels.get(kernel).ok_or_else(|| format!("there is no kernel {kernel}"))?;
        let reach = self.reach(known, symbols).filter(|r| r.len() == buffers.len());
        let reach = reach.ok_or_else(|| format!("kernel @{}: its buffers have no size", known.name))?;
        let (pieces, size) = pieces(buffers, &reach);
        let mut memory = vec![0u8; size as usize];
        for p in &pieces {
            // SAFETY: the caller says that the buffers hold what the kernel's types say, which is what they reach.
            let here = unsafe { std::slice::from_raw_parts(p.start as *const u8, (p.end - p.start) as usize) };
            memory[p.offset as usize..][..here.len()].copy_from_slice(here);
        }
        let place = |b: &*mut u8| {
            let piece = pieces.iter().find(|p| p.start <= *b as u64 && *b as u64 <= p.end);
            piece.map_or(0, |p| p.offset + (*b as u64 - p.start))
        };
        let mut call = Vec::with_capacity(64 + memory.len());
        for n in [kernel, buffers.len(), symbols.len()] {
            call.extend((n as u32).to_le_bytes());
        }
        call.extend(size.to_le_bytes());
        buffers.iter().for_each(|b| call.extend(place(b).to_le_bytes()));
        symbols.iter().for_each(|s| call.extend(s.to_le_bytes()));
        call.extend(&memory);
        let mut peer = self.peer.lock().unwrap_or_else(PoisonError::into_inner);
        let error = converse(&mut peer, &call, &mut memory).map_err(|e| format!("kernel @{}: {e}", known.name))?;
        for p in &pieces {
            let there = &memory[p.offset as usize..][..(p.end - p.start) as usize];
            // SAFETY: as above; no other thread uses the buffers of a call.
            unsafe { std::ptr::copy_nonoverlapping(there.as_ptr(), p.start as *mut u8, there.len()) };
        }
        match error {
            [0, ..] => Ok(()),
            [_, check, index, size] => Err(KernelFault::Index { kernel: known.name.clone(), index, size, check }),
        }
    }
}

/// Sends a call, answers what is asked, and takes the memory and the error that come back.
fn converse(peer: &mut Peer, call: &[u8], memory: &mut [u8]) -> Result<[i64; 4], Error> {
    peer.to.write_all(call)?;
    peer.to.flush()?;
    loop {
        let [kind] = take::<1>(peer)?;
        if kind == 1 {
            let function = u32::from_le_bytes(take(peer)?);
            let arguments = [take(peer)?, take(peer)?, take(peer)?].map(u64::from_le_bytes);
            let name = FUNCTIONS.get(function as usize).copied().unwrap_or_default();
            let answer = answer(name, arguments).ok_or_else(|| Error::other(format!("no function {name} is known")))?;
            peer.to.write_all(&answer.to_le_bytes())?;
            peer.to.flush()?;
        } else {
            let error = [take(peer)?, take(peer)?, take(peer)?, take(peer)?].map(i64::from_le_bytes);
            peer.from.read_exact(memory)?;
            return Ok(error);
        }
    }
}

fn take<const N: usize>(peer: &mut Peer) -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    peer.from.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// What a function gives for the bits of its arguments.
fn answer(name: &str, bits: [u64; 3]) -> Option<u64> {
    let [x, y, z] = bits.map(f64::from_bits);
    let double = match name {
        calls::SPECIAL1 => calls::special1(bits[0] as i64, y),
        calls::SPECIAL2 => calls::special2(bits[0] as i64, y, z),
        calls::INT_POW => return Some(calls::int_pow(bits[0] as i64, bits[1] as i64) as u64),
        calls::INT_GCD => return Some(calls::int_gcd(bits[0] as i64, bits[1] as i64) as u64),
        "fmod" => x % y,
        _ => {
            let op = ScalarOp::from_name(name)?;
            f64_unary(op).map(|f| f(x)).or_else(|| f64_binary(op).map(|f| f(x, y)))?
        }
    };
    Some(double.to_bits())
}
