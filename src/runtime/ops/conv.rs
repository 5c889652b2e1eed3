//! Convolution and its gradients, plain and transposed, over one, two or three spatial dimensions.

use super::call::Call;
use super::conv_geometry::{Arguments, Geometry};
use super::conv_kernels::{forward, input_gradient, weight_gradient};
use super::gemm::Number;
use crate::runtime::error::Result;
use crate::runtime::tensor::{Tensor, contiguous_strides};
use rinductor_scalar::{DType, Kind};

/// The type a convolution is computed in: small floats in 32 bits, integers in 64.
fn compute_type(call: &Call<'_>, dtype: DType) -> Result<DType> {
    match dtype.kind() {
        Kind::Signed | Kind::Unsigned => Ok(DType::I64),
        Kind::Float if dtype == DType::F64 => Ok(DType::F64),
        Kind::Float => Ok(DType::F32),
        _ => Err(call.error(format!("there is no convolution of {dtype}"))),
    }
}

/// Strides with channels innermost.
fn channels_last_strides(sizes: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (2..sizes.len()).collect();
    order.insert(0, 0);
    order.push(1);
    let mut strides = vec![0; sizes.len()];
    let mut step = 1;
    for d in order.into_iter().rev() {
        strides[d] = step;
        step *= sizes[d].max(1);
    }
    strides
}

/// Whether a tensor of 4 or 5 dimensions lies with channels innermost, and not as well row-major.
fn is_channels_last(t: &Tensor) -> bool {
    if !(4..=5).contains(&t.rank()) || t.numel() == 0 {
        return false;
    }
    let wanted = channels_last_strides(t.sizes());
    let fits = (0..t.rank()).all(|d| t.sizes()[d] == 1 || t.strides()[d] == wanted[d]);
    // Sizes of 1 leave both readings open; the channel's stride then decides, as in torch.
    fits && (!t.is_contiguous() || t.strides()[1] == 1 && t.strides()[t.rank() - 1] != 1)
}

/// The strides eager PyTorch gives a result of this layout question.
fn suggested(sizes: &[usize], like: &[&Tensor]) -> Vec<usize> {
    if like.iter().any(|t| is_channels_last(t)) { channels_last_strides(sizes) } else { contiguous_strides(sizes) }
}

/// What one of the three kernels computes from two row-major operands into a third.
type Kernel<T> = fn(&Geometry, &[T], &[T], &mut [T]);

fn typed<T: Number>(g: &Geometry, kernel: Kernel<T>, a: &Tensor, b: &Tensor, out: &Tensor) -> Result<()> {
    let (a, b) = (a.read::<T>()?, b.read::<T>()?);
    let mut out = out.write::<T>()?;
    kernel(g, &a, &b, &mut out);
    Ok(())
}

/// Which kernel.
#[derive(Clone, Copy)]
enum Which {
    Forward,
    InputGradient,
    WeightGradient,
}

/// Runs a kernel on operands of any layout and type into `out`.
fn run(call: &Call<'_>, g: &Geometry, which: Which, a: &Tensor, b: &Tensor, out: &Tensor) -> Result<()> {
    if out.numel() == 0 {
        return Ok(());
    }
    let dtype = compute_type(call, a.dtype())?;
    let (a, b) = (a.to_dtype(dtype)?, b.to_dtype(dtype)?);
    let direct = out.dtype() == dtype && out.is_contiguous();
    let place = if direct { out.clone() } else { Tensor::zeros(dtype, out.sizes())? };
    macro_rules! with {
        ($t:ty) => {
            match which {
                Which::Forward => typed::<$t>(g, forward, &a, &b, &place)?,
                Which::InputGradient => typed::<$t>(g, input_gradient, &a, &b, &place)?,
                Which::WeightGradient => typed::<$t>(g, weight_gradient, &a, &b, &place)?,
            }
        };
    }
    match dtype {
        DType::F32 => with!(f32),
        DType::F64 => with!(f64),
        _ => with!(i64),
    }
    if direct { Ok(()) } else { out.copy_from(&place) }
}

/// Adds `bias[c]` to channel c.
fn add_bias(out: &Tensor, bias: &Tensor) -> Result<()> {
    let area: usize = out.sizes()[2..].iter().product();
    let channels = out.sizes()[1];
    if out.dtype() == DType::F32 && out.is_contiguous() {
        let bias = bias.to_vec::<f32>()?;
        let mut values = out.write::<f32>()?;
        for (i, plane) in values.chunks_mut(area.max(1)).enumerate() {
            let b = bias[i % channels];
            plane.iter_mut().for_each(|x| *x += b);
        }
        return Ok(());
    }
    let bias = bias.to_vec::<f64>()?;
    let mut values = out.to_vec::<f64>()?;
    for (i, plane) in values.chunks_mut(area.max(1)).enumerate() {
        let b = bias[i % channels];
        plane.iter_mut().for_each(|x| *x += b);
    }
    out.assign(&values)
}

/// Checks types and rank of input and weight.
fn check(call: &Call<'_>, input: &Tensor, weight: &Tensor) -> Result<usize> {
    if input.dtype() != weight.dtype() {
        return Err(call.error(format!("input is {}, weight {}", input.dtype(), weight.dtype())));
    }
    match input.rank() {
        3..=5 => Ok(input.rank() - 2),
        _ => Err(call.error(format!("input sizes {:?} have not 1 to 3 spatial dimensions", input.sizes()))),
    }
}

/// `convolution(input, weight, bias?, stride, padding, dilation, transposed, output_padding, groups)`.
pub fn convolution(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let (input, weight, bias) = (call.input(0, "input")?, call.input(1, "weight")?, call.optional(2));
    let spatial = check(call, input, weight)?;
    let arguments = Arguments::read(call, spatial)?;
    let g = arguments.geometry(call, input.sizes(), weight.sizes())?;
    let mut sizes = vec![input.sizes()[0]];
    let (channels, space) = if arguments.transposed { (g.channels_in, g.input) } else { (g.channels_out, g.output) };
    sizes.push(channels * g.groups);
    sizes.extend(&space[3 - spatial..]);
    if let Some(bias) = bias
        && bias.sizes() != [sizes[1]]
    {
        return Err(call.error(format!("bias has sizes {:?} for {} channels", bias.sizes(), sizes[1])));
    }
    let out = call.output(0, input.dtype(), &sizes, &suggested(&sizes, &[input, weight]))?;
    let which = if arguments.transposed { Which::InputGradient } else { Which::Forward };
    let Some(bias) = bias else {
        run(call, &g, which, input, weight, &out)?;
        return Ok(vec![Some(out)]);
    };
    // The bias is added before small floats are rounded.
    let wide = compute_type(call, out.dtype())?;
    if wide == out.dtype() {
        run(call, &g, which, input, weight, &out)?;
        add_bias(&out, bias)?;
    } else {
        let place = Tensor::zeros(wide, &sizes)?;
        run(call, &g, which, input, weight, &place)?;
        add_bias(&place, bias)?;
        out.copy_from(&place)?;
    }
    Ok(vec![Some(out)])
}

/// `convolution_backward(grad_output, input, weight, bias_sizes?, stride, …, output_mask)`: gradients of input, weight
/// and bias; None where the mask says no.
pub fn convolution_backward(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let (grad, input, weight) = (call.input(0, "grad_output")?, call.input(1, "input")?, call.input(2, "weight")?);
    let spatial = check(call, input, weight)?;
    let arguments = Arguments::read(call, spatial)?;
    let g = arguments.geometry(call, input.sizes(), weight.sizes())?;
    let mut expected = vec![input.sizes()[0]];
    let (channels, space) = if arguments.transposed { (g.channels_in, g.input) } else { (g.channels_out, g.output) };
    expected.push(channels * g.groups);
    expected.extend(&space[3 - spatial..]);
    if grad.sizes() != expected || grad.dtype() != input.dtype() {
        return Err(call.error(format!("grad_output is {:?}, the output has sizes {expected:?}", grad)));
    }
    let mask = call.attrs.bools("output_mask").unwrap_or(&[true, true, true]);
    let wanted = |i: usize| mask.get(i).copied().unwrap_or(false);
    let mut results = vec![None, None, None];
    if wanted(0) {
        let strides = suggested(input.sizes(), &[input, weight]);
        let out = call.output(0, input.dtype(), input.sizes(), &strides)?;
        let which = if arguments.transposed { Which::Forward } else { Which::InputGradient };
        run(call, &g, which, grad, weight, &out)?;
        results[0] = Some(out);
    }
    if wanted(1) {
        let strides = suggested(weight.sizes(), &[input, weight]);
        let out = call.output(1, weight.dtype(), weight.sizes(), &strides)?;
        let (output, source) = if arguments.transposed { (input, grad) } else { (grad, input) };
        if g.batch == 0 {
            out.copy_from(&Tensor::zeros(out.dtype(), &[])?)?;
        } else {
            run(call, &g, Which::WeightGradient, output, source, &out)?;
        }
        results[1] = Some(out);
    }
    if wanted(2) {
        let out = call.output_contiguous(2, weight.dtype(), &[expected[1]])?;
        out.assign(&bias_gradient(grad)?)?;
        results[2] = Some(out);
    }
    Ok(results)
}

/// Sums over all but the channels, in 64 bits.
fn bias_gradient(grad: &Tensor) -> Result<Vec<f64>> {
    let area: usize = grad.sizes()[2..].iter().product();
    let mut sums = vec![0.0; grad.sizes()[1]];
    let channels = sums.len();
    let mut add = |i: usize, x: f64| sums[i / area % channels] += x;
    if grad.dtype() == DType::F32 {
        grad.to_vec::<f32>()?.iter().enumerate().for_each(|(i, x)| add(i, f64::from(*x)));
    } else {
        grad.to_vec::<f64>()?.iter().enumerate().for_each(|(i, x)| add(i, *x));
    }
    Ok(sums)
}
