//! The sizes of a convolution in one form for one, two and three spatial dimensions.

use super::call::Call;
use crate::runtime::error::Result;

/// A convolution over three spatial dimensions (missing ones have size 1), from `input` with `channels_in` channels to
/// `output` with `channels_out`. A transposed convolution is described by the plain one it turns around.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geometry {
    /// Batch size.
    pub batch: usize,
    /// Groups that channels are split into.
    pub groups: usize,
    /// Channels of the input of one group.
    pub channels_in: usize,
    /// Channels of the output of one group.
    pub channels_out: usize,
    /// Spatial sizes of the input.
    pub input: [usize; 3],
    /// Spatial sizes of the output.
    pub output: [usize; 3],
    /// Sizes of the kernel.
    pub kernel: [usize; 3],
    /// Steps.
    pub stride: [usize; 3],
    /// Zeros thought around the input.
    pub padding: [usize; 3],
    /// Distance of kernel elements.
    pub dilation: [usize; 3],
}

impl Geometry {
    /// Elements of one channel of the input.
    pub fn input_area(&self) -> usize {
        self.input.iter().product()
    }

    /// Elements of one channel of the output.
    pub fn output_area(&self) -> usize {
        self.output.iter().product()
    }

    /// Elements of the kernel for one pair of channels.
    pub fn kernel_area(&self) -> usize {
        self.kernel.iter().product()
    }

    /// Weights that one output channel has.
    pub fn depth(&self) -> usize {
        self.channels_in * self.kernel_area()
    }

    /// Each output element reads the input element at its own place only.
    pub fn is_pointwise(&self) -> bool {
        self.kernel == [1; 3] && self.stride == [1; 3] && self.padding == [0; 3]
    }
}

/// The arguments of `convolution` and `convolution_backward` that are no tensors.
pub struct Arguments {
    stride: Vec<usize>,
    padding: Vec<usize>,
    dilation: Vec<usize>,
    output_padding: Vec<usize>,
    groups: usize,
    /// Whether it is a transposed convolution.
    pub transposed: bool,
}

impl Arguments {
    /// Reads the attributes of a call on inputs with `spatial` dimensions.
    pub fn read(call: &Call<'_>, spatial: usize) -> Result<Arguments> {
        let list = |name: &str, default: usize| -> Result<Vec<usize>> {
            let v = if call.attrs.get(name).is_some() { call.sizes(name)? } else { vec![default] };
            match v.len() {
                n if n == spatial => Ok(v),
                1 => Ok(vec![v[0]; spatial]),
                n => Err(call.error(format!("{name} has {n} entries for {spatial} dimensions"))),
            }
        };
        let groups = call.attrs.int("groups").unwrap_or(1);
        let a = Arguments {
            stride: list("stride", 1)?,
            padding: list("padding", 0)?,
            dilation: list("dilation", 1)?,
            output_padding: list("output_padding", 0)?,
            groups: usize::try_from(groups).unwrap_or(0),
            transposed: call.attrs.bool("transposed").unwrap_or(false),
        };
        if a.groups == 0 || a.stride.contains(&0) || a.dilation.contains(&0) {
            return Err(call.error("stride, dilation and groups must be positive"));
        }
        Ok(a)
    }

    /// The geometry for an input and a weight of these sizes (batch, channels, spatial…), the plain convolution's for a
    /// transposed one: its `input` is then what the transposed convolution gives.
    pub fn geometry(&self, call: &Call<'_>, input: &[usize], weight: &[usize]) -> Result<Geometry> {
        let spatial = self.stride.len();
        if input.len() != spatial + 2 || weight.len() != spatial + 2 {
            return Err(call.error(format!("input sizes {input:?} and weight sizes {weight:?} differ in rank")));
        }
        let misfit = || call.error(format!("input {input:?} and weight {weight:?} do not fit {} groups", self.groups));
        let weight_inputs = if self.transposed { weight[0] } else { weight[1] * self.groups };
        if input[1] != weight_inputs || !weight[0].is_multiple_of(self.groups) {
            return Err(misfit());
        }
        let lead = 3 - spatial;
        let mut g = Geometry {
            batch: input[0],
            groups: self.groups,
            channels_in: weight[1],
            channels_out: weight[0] / self.groups,
            input: [1; 3],
            output: [1; 3],
            kernel: [1; 3],
            stride: [1; 3],
            padding: [0; 3],
            dilation: [1; 3],
        };
        for d in 0..spatial {
            let (size, kernel) = (input[d + 2], weight[d + 2]);
            let (stride, padding, dilation) = (self.stride[d], self.padding[d], self.dilation[d]);
            let span = kernel.checked_sub(1).map(|k| k.saturating_mul(dilation) + 1).ok_or_else(misfit)?;
            let too_small = || call.error(format!("the kernel {weight:?} is larger than the padded input {input:?}"));
            let result = if self.transposed {
                (size.saturating_sub(1).saturating_mul(stride) + span + self.output_padding[d])
                    .checked_sub(2 * padding)
                    .filter(|_| size > 0)
            } else {
                (size.saturating_add(2 * padding)).checked_sub(span).map(|room| room / stride + 1)
            };
            let result = result.ok_or_else(too_small)?;
            (g.input[lead + d], g.output[lead + d]) = if self.transposed { (result, size) } else { (size, result) };
            g.kernel[lead + d] = kernel;
            g.stride[lead + d] = stride;
            g.padding[lead + d] = padding;
            g.dilation[lead + d] = dilation;
        }
        Ok(g)
    }
}
