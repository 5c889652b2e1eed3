//! Ops that whoever calls a function computes: those that the runtime has not, or that the caller does better.

use crate::runtime::{Attrs, Tensor};

/// Computes extern ops in place of the runtime.
pub trait HostOps: Send + Sync {
    /// Whether it computes the op of this name; `native` says that the runtime can.
    fn computes(&self, name: &str, native: bool) -> bool;

    /// Computes an op: writes its results into the outputs of the call.
    ///
    /// # Errors
    /// Whatever the caller of the function is to get, in [`RuntimeError::Host`](crate::runtime::RuntimeError::Host).
    fn call(&self, call: &HostCall<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>>;
}

/// A call of an op that the host computes.
pub struct HostCall<'a> {
    /// The op's name in the IR, such as `aten.mm`.
    pub name: &'a str,
    /// The arguments that are no operands, by their schema names. Symbolic integers in lists have their values. Where operands do not stand for one
    /// argument each, `operandSegmentSizes` says how many each tensor, integer or number of the schema has; integers of lists count there,
    /// but are no inputs.
    pub attrs: &'a Attrs,
    /// The operands, in the order of the schema.
    pub inputs: &'a [HostInput],
    /// The buffers for the results; a result without one is not asked for.
    pub outputs: &'a [Option<Tensor>],
}

/// An operand of an op that the host computes.
#[derive(Clone, Debug)]
pub enum HostInput {
    /// A tensor over the memory of the running function.
    Tensor(Tensor),
    /// A symbolic integer.
    Int(i64),
    /// An argument that is None.
    Nothing,
}
