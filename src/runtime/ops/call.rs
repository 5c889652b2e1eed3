//! One call of an extern op, as its implementation sees it.

use super::attrs::Attrs;
use crate::runtime::error::{Result, RuntimeError};
use crate::runtime::tensor::{Tensor, contiguous_strides};
use rinductor_scalar::DType;

/// The arguments of a call, and where its results go.
pub struct Call<'a> {
    /// The op's name, for messages.
    pub op: &'static str,
    /// The attributes.
    pub attrs: &'a Attrs,
    inputs: &'a [Option<Tensor>],
    outputs: &'a [Option<Tensor>],
}

impl<'a> Call<'a> {
    pub(super) fn new(
        op: &'static str,
        attrs: &'a Attrs,
        inputs: &'a [Option<Tensor>],
        outputs: &'a [Option<Tensor>],
    ) -> Call<'a> {
        Call { op, attrs, inputs, outputs }
    }

    /// An error of this call.
    pub fn error(&self, what: impl Into<String>) -> RuntimeError {
        RuntimeError::call(self.op, what)
    }

    /// The `i`-th tensor argument, if given.
    pub fn optional(&self, i: usize) -> Option<&'a Tensor> {
        self.inputs.get(i).and_then(Option::as_ref)
    }

    /// The `i`-th tensor argument.
    pub fn input(&self, i: usize, name: &str) -> Result<&'a Tensor> {
        self.optional(i).ok_or_else(|| self.error(format!("the tensor '{name}' is missing")))
    }

    /// The `i`-th tensor argument, which must have this rank.
    pub fn input_of_rank(&self, i: usize, name: &str, rank: usize) -> Result<&'a Tensor> {
        let t = self.input(i, name)?;
        if t.rank() != rank {
            return Err(self.error(format!("'{name}' has sizes {:?}, not {rank} dimensions", t.sizes())));
        }
        Ok(t)
    }

    /// An integer attribute.
    pub fn int(&self, name: &str) -> Result<i64> {
        self.attrs.int(name).ok_or_else(|| self.error(format!("the attribute '{name}' is missing")))
    }

    /// A list of sizes (integers that are not negative).
    pub fn sizes(&self, name: &str) -> Result<Vec<usize>> {
        let ints = self.attrs.ints(name).ok_or_else(|| self.error(format!("the attribute '{name}' is missing")))?;
        ints.iter()
            .map(|x| usize::try_from(*x).map_err(|_| self.error(format!("{name} = {ints:?} has a negative entry"))))
            .collect()
    }

    /// A dimension attribute, counted from the end if negative, of a tensor of this rank (a scalar has one).
    pub fn dim(&self, name: &str, default: i64, rank: usize) -> Result<usize> {
        let dim = self.attrs.int(name).unwrap_or(default);
        let rank = rank.max(1) as i64;
        let d = if dim < 0 { dim + rank } else { dim };
        if (0..rank).contains(&d) {
            Ok(d as usize)
        } else {
            Err(self.error(format!("{name} = {dim} is not a dimension of {rank}")))
        }
    }

    /// Where the `i`-th result goes: the given tensor, or a new one with `strides`. What is in it is not zero.
    pub fn output(&self, i: usize, dtype: DType, sizes: &[usize], strides: &[usize]) -> Result<Tensor> {
        match self.outputs.get(i).and_then(Option::as_ref) {
            Some(out) => {
                Call::check_output(self.op, out, dtype, sizes)?;
                Ok(out.clone())
            }
            None => Tensor::zeros_strided(dtype, sizes, strides),
        }
    }

    /// [`Call::output`] with row-major strides.
    pub fn output_contiguous(&self, i: usize, dtype: DType, sizes: &[usize]) -> Result<Tensor> {
        self.output(i, dtype, sizes, &contiguous_strides(sizes))
    }

    pub(super) fn check_output(op: &'static str, out: &Tensor, dtype: DType, sizes: &[usize]) -> Result<()> {
        if out.dtype() == dtype && out.sizes() == sizes {
            return Ok(());
        }
        Err(RuntimeError::call(
            op,
            format!("the output is {} {:?}, the result {dtype} {sizes:?}", out.dtype(), out.sizes()),
        ))
    }
}
