//! Extern ops: operations that are called rather than compiled, under their aten names.
//!
//! An op takes one optional tensor for each tensor argument of its schema, in schema order (trailing ones may be left
//! out), and all other arguments as attributes under their schema names, symbolic integers as plain ones. It gives one
//! optional tensor for each result.

mod attention;
mod attention_backward;
mod attrs;
mod call;
mod conv;
mod conv_geometry;
mod conv_kernels;
#[cfg(test)]
mod eager_tests;
mod embedding_bag;
mod gemm;
mod matmul;
mod random;
mod rnn;
mod sort;

pub use attrs::{Attr, Attrs};
pub use call::Call;

use super::error::Result;
use super::tensor::Tensor;

/// One extern op.
pub struct ExternOp {
    /// Its name in the IR, such as `aten.mm` or `aten.sort.stable`.
    pub name: &'static str,
    /// How many results it has.
    pub results: usize,
    /// Whether the same arguments give the same results (random ops too, whose state is an argument).
    pub pure: bool,
    compute: fn(&Call<'_>) -> Result<Vec<Option<Tensor>>>,
}

impl ExternOp {
    /// Computes the results into new tensors, with the strides eager PyTorch gives them.
    pub fn run(&self, attrs: &Attrs, inputs: &[Option<Tensor>]) -> Result<Vec<Option<Tensor>>> {
        (self.compute)(&Call::new(self.name, attrs, inputs, &[]))
    }

    /// Computes the results into these tensors, which must have the types and sizes of the results and may have any
    /// strides; a None is computed into a new tensor or not at all. Returns all results.
    pub fn run_into(
        &self,
        attrs: &Attrs,
        inputs: &[Option<Tensor>],
        outputs: &[Option<Tensor>],
    ) -> Result<Vec<Option<Tensor>>> {
        if !shares_memory(inputs, outputs) {
            return (self.compute)(&Call::new(self.name, attrs, inputs, outputs));
        }
        // What is read must not be written meanwhile, so such results are computed apart and copied.
        let mut results = self.run(attrs, inputs)?;
        for (result, output) in results.iter_mut().zip(outputs) {
            if let (Some(r), Some(o)) = (result.as_ref(), output) {
                Call::check_output(self.name, o, r.dtype(), r.sizes())?;
                o.copy_from(r)?;
                *result = Some(o.clone());
            }
        }
        Ok(results)
    }
}

/// Whether an output has memory in common with an input or with another output.
fn shares_memory(inputs: &[Option<Tensor>], outputs: &[Option<Tensor>]) -> bool {
    outputs.iter().flatten().enumerate().any(|(i, o)| {
        let same = |t: &Tensor| t.storage().overlaps(o.storage());
        inputs.iter().flatten().any(same) || outputs.iter().flatten().skip(i + 1).any(same)
    })
}

const fn op(name: &'static str, results: usize, compute: fn(&Call<'_>) -> Result<Vec<Option<Tensor>>>) -> ExternOp {
    ExternOp { name, results, pure: true, compute }
}

static OPS: &[ExternOp] = &[
    op("aten.mm", 1, matmul::mm),
    op("aten._int_mm", 1, matmul::int_mm),
    op("aten.addmm", 1, matmul::addmm),
    op("aten.bmm", 1, matmul::bmm),
    op("aten.baddbmm", 1, matmul::baddbmm),
    op("aten.mv", 1, matmul::mv),
    op("aten.addmv", 1, matmul::addmv),
    op("aten.dot", 1, matmul::dot),
    op("aten.vdot", 1, matmul::vdot),
    op("aten.convolution", 1, conv::convolution),
    op("aten.convolution_backward", 3, conv::convolution_backward),
    op("aten._scaled_dot_product_flash_attention_for_cpu", 2, attention::attention),
    op("aten._scaled_dot_product_flash_attention_for_cpu_backward", 3, attention_backward::attention_backward),
    op("aten._embedding_bag", 4, embedding_bag::embedding_bag),
    op("aten._embedding_bag_forward_only", 4, embedding_bag::embedding_bag),
    op("aten._embedding_bag_backward", 1, embedding_bag::embedding_bag_backward),
    op("aten._embedding_bag_dense_backward", 1, embedding_bag::embedding_bag_dense_backward),
    op("aten.mkldnn_rnn_layer", 4, rnn::mkldnn_rnn_layer),
    op("aten.sort", 2, sort::sort),
    op("aten.sort.stable", 2, sort::sort),
    op("aten.topk", 2, sort::topk),
    op("prims.inductor_seeds", 1, random::inductor_seeds),
    op("prims.inductor_seed", 1, random::inductor_seed),
    op("aten.randperm", 1, random::randperm),
    op("aten.multinomial", 1, random::multinomial),
];

/// The extern op of this IR name, if there is one.
pub fn extern_op(name: &str) -> Option<&'static ExternOp> {
    OPS.iter().find(|op| op.name == name)
}

/// The names of all extern ops.
pub fn extern_op_names() -> impl Iterator<Item = &'static str> {
    OPS.iter().map(|op| op.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_calls_without_arguments_are_errors() {
        for (i, op) in OPS.iter().enumerate() {
            assert!(OPS[..i].iter().all(|other| other.name != op.name), "{} twice", op.name);
            let generated = op.name.starts_with("prims.inductor_seed");
            let result = op.run(&Attrs::new(), &[]);
            assert!(result.is_err() || generated, "{} needs arguments", op.name);
        }
        assert!(extern_op("aten.nothing").is_none());
    }

    #[test]
    fn outputs_may_share_memory_with_inputs() {
        let a = Tensor::from_slice(&[2, 2], &[1f32, 2.0, 3.0, 4.0]).expect("fits");
        let mm = extern_op("aten.mm").expect("registered");
        let args = [Some(a.clone()), Some(a.clone())];
        mm.run_into(&Attrs::new(), &args, &[Some(a.clone())]).expect("a copy is made");
        assert_eq!(a.to_vec::<f32>().expect("f32"), [7.0, 10.0, 15.0, 22.0]);
        let out = Tensor::zeros_strided(rinductor_scalar::DType::F32, &[2, 2], &[1, 2]).expect("small");
        mm.run_into(&Attrs::new(), &args, &[Some(out.clone())]).expect("any strides");
        assert_eq!(out.to_vec::<f32>().expect("f32"), [199.0, 290.0, 435.0, 634.0]);
        let wrong = Tensor::zeros(rinductor_scalar::DType::F32, &[3, 2]).expect("small");
        assert!(mm.run_into(&Attrs::new(), &args, &[Some(wrong)]).is_err());
    }
}
