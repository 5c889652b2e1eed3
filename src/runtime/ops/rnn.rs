//! One layer of a long short-term memory, as PyTorch calls it for CPU.

use super::attention::Real;
use super::call::Call;
use super::gemm::{Sizes, gemm};
use crate::runtime::error::Result;
use crate::runtime::tensor::Tensor;
use rinductor_scalar::DType;

/// PyTorch's number for LSTM among its recurrent modes.
const LSTM: i64 = 2;

struct Layer<T> {
    steps: usize,
    batch: usize,
    inputs: usize,
    hidden: usize,
    reverse: bool,
    x: Vec<T>,
    w_input: Vec<T>,
    w_hidden: Vec<T>,
    bias: Vec<T>,
    h: Vec<T>,
    c: Vec<T>,
}

fn sigmoid<T: Real>(x: T) -> T {
    T::ONE / T::ONE.plus((T::default() - x).exp())
}

/// Through the sigmoid of twice the argument, whose error is that of the exponential.
fn tanh<T: Real>(x: T) -> T {
    let two = T::ONE.plus(T::ONE);
    two.times(sigmoid(two.times(x))) - T::ONE
}

/// The hidden states of all steps; `h` and `c` of the layer become the last ones. The gates stand in the order input,
/// forget, cell, output.
fn run<T: Real>(l: &mut Layer<T>) -> Vec<T> {
    let (n, h) = (l.batch, l.hidden);
    let gates = 4 * h;
    let zero = T::default();
    let mut all = vec![zero; l.steps * n * gates];
    all.chunks_mut(gates.max(1)).for_each(|line| line.copy_from_slice(&l.bias));
    gemm(
        Sizes { batch: 1, m: l.steps * n, n: gates, k: l.inputs },
        T::ONE,
        (&l.x, [0, l.inputs, 1]),
        (&l.w_input, [0, 1, l.inputs]),
        T::ONE,
        (&mut all, [0, gates, 1]),
    );
    let mut y = vec![zero; l.steps * n * h];
    for i in 0..l.steps {
        let step = if l.reverse { l.steps - 1 - i } else { i };
        let now = &mut all[step * n * gates..(step + 1) * n * gates];
        let sizes = Sizes { batch: 1, m: n, n: gates, k: h };
        gemm(sizes, T::ONE, (&l.h, [0, h, 1]), (&l.w_hidden, [0, 1, h]), T::ONE, (now, [0, gates, 1]));
        for b in 0..n {
            let g = &now[b * gates..(b + 1) * gates];
            for j in 0..h {
                let (input, forget) = (sigmoid(g[j]), sigmoid(g[h + j]));
                let (cell, output) = (tanh(g[2 * h + j]), sigmoid(g[3 * h + j]));
                let c = forget.times(l.c[b * h + j]).plus(input.times(cell));
                l.c[b * h + j] = c;
                l.h[b * h + j] = output.times(tanh(c));
            }
        }
        y[step * n * h..(step + 1) * n * h].copy_from_slice(&l.h);
    }
    y
}

fn typed<T: Real>(call: &Call<'_>, hidden: usize, outputs: [&Tensor; 3]) -> Result<()> {
    let x = call.input_of_rank(0, "input", 3)?;
    let data = |i: usize, name: &str| call.input(i, name)?.to_vec::<T>();
    let mut bias = vec![T::default(); 4 * hidden];
    if call.attrs.bool("has_biases").unwrap_or(true) {
        for (b, (p, q)) in bias.iter_mut().zip(data(3, "weight2")?.iter().zip(data(4, "weight3")?)) {
            *b = p.plus(q);
        }
    }
    let mut layer = Layer {
        steps: x.sizes()[0],
        batch: x.sizes()[1],
        inputs: x.sizes()[2],
        hidden,
        reverse: call.attrs.bool("reverse").unwrap_or(false),
        x: x.to_vec()?,
        w_input: data(1, "weight0")?,
        w_hidden: data(2, "weight1")?,
        bias,
        h: data(5, "hx")?,
        c: data(6, "cx")?,
    };
    let y = run(&mut layer);
    outputs[0].assign(&y)?;
    outputs[1].assign(&layer.h)?;
    outputs[2].assign(&layer.c)
}

/// `mkldnn_rnn_layer(input, weight0, weight1, weight2, weight3, hx, cx, reverse, batch_sizes, mode, hidden_size,
/// num_layers, has_biases, bidirectional, batch_first, train) -> (output, hy, cy, workspace)` for one direction of LSTM
/// outside training, on input of steps x batch x inputs. The workspace is empty.
pub fn mkldnn_rnn_layer(call: &Call<'_>) -> Result<Vec<Option<Tensor>>> {
    let x = call.input_of_rank(0, "input", 3)?;
    if call.int("mode")? != LSTM {
        return Err(call.error("only mode 2 (LSTM) is supported"));
    }
    for refused in ["bidirectional", "batch_first", "train"] {
        if call.attrs.bool(refused).unwrap_or(false) {
            return Err(call.error(format!("{refused} = true is not supported")));
        }
    }
    if call.attrs.ints("batch_sizes").is_some_and(|b| !b.is_empty()) || call.attrs.int("num_layers").unwrap_or(1) != 1 {
        return Err(call.error("packed batches and several layers are not supported"));
    }
    let hidden = usize::try_from(call.int("hidden_size")?).map_err(|_| call.error("hidden_size is negative"))?;
    let [steps, batch, inputs] = [x.sizes()[0], x.sizes()[1], x.sizes()[2]];
    let gates = hidden.checked_mul(4).ok_or_else(|| call.error("hidden_size is too large"))?;
    let biases = call.attrs.bool("has_biases").unwrap_or(true);
    let mut expected = vec![(1, "weight0", vec![gates, inputs]), (2, "weight1", vec![gates, hidden])];
    if biases {
        expected.extend([(3, "weight2", vec![gates]), (4, "weight3", vec![gates])]);
    }
    expected.extend([(5, "hx", vec![1, batch, hidden]), (6, "cx", vec![1, batch, hidden])]);
    for (i, name, sizes) in expected {
        let t = call.input(i, name)?;
        // Weights may come packed with other ranks; what counts is that they have these elements in this order.
        if t.numel() != sizes.iter().product::<usize>() || t.dtype() != x.dtype() {
            return Err(call.error(format!("{name} is {t:?}, expected {} {sizes:?}", x.dtype())));
        }
    }
    let out = call.output_contiguous(0, x.dtype(), &[steps, batch, hidden])?;
    let hy = call.output_contiguous(1, x.dtype(), &[1, batch, hidden])?;
    let cy = call.output_contiguous(2, x.dtype(), &[1, batch, hidden])?;
    let workspace = call.output_contiguous(3, DType::U8, &[0])?;
    match x.dtype() {
        DType::F64 => typed::<f64>(call, hidden, [&out, &hy, &cy])?,
        d if d.is_float() => typed::<f32>(call, hidden, [&out, &hy, &cy])?,
        d => return Err(call.error(format!("there is no LSTM of {d}"))),
    }
    Ok(vec![Some(out), Some(hy), Some(cy), Some(workspace)])
}
