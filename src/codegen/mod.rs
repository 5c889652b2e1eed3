//! Emitters: from the kernel level to what a machine or another compiler reads.

pub mod abi;
pub mod backend;
pub mod combiner;
pub mod compiled;
pub mod cpp;
pub mod cpu;
pub mod host_threads;
pub mod kept;
pub mod kernel;
pub mod kernels;
pub mod literal;
#[cfg(feature = "llvm")]
pub mod llvm;
pub mod remote;
pub mod rounding;
#[cfg(all(test, feature = "llvm"))]
pub(crate) mod sample;
pub mod sizes;
pub mod team;
pub mod threads;
pub mod triton;
pub mod vector;
