//! The three computations of convolution on row-major data: forward, the gradient of the input, the gradient of the
//! weight. Each gathers patches of the input into a matrix, block by block, and multiplies matrices; kernels that are
//! single points skip the gathering, and convolutions of single channels (depthwise) skip the matrices.

use super::conv_geometry::Geometry;
use super::gemm::{Number, Sizes, gemm};
use rayon::prelude::*;

/// Elements of a block of gathered patches, so that it stays in cache.
const BLOCK: usize = 1 << 18;

/// Calls `f(weight position, output row start, first x, past last x, input position of first x)` for each kernel
/// element and each row of outputs that reads inside the input, for one channel. x runs along the last dimension;
/// input positions step by the last stride.
fn for_each_row(g: &Geometry, mut f: impl FnMut(usize, usize, usize, usize, usize)) {
    let [_, kh, kw] = g.kernel;
    for k in 0..g.kernel_area() {
        let at = [k / (kh * kw), k / kw % kh, k % kw];
        let Some((x0, x1)) = valid(g, 2, at[2]) else { continue };
        let Some((y0, y1)) = valid(g, 1, at[1]) else { continue };
        let Some((z0, z1)) = valid(g, 0, at[0]) else { continue };
        let place = |d: usize, o: usize| o * g.stride[d] + at[d] * g.dilation[d] - g.padding[d];
        for z in z0..z1 {
            for y in y0..y1 {
                let input = (place(0, z) * g.input[1] + place(1, y)) * g.input[2] + place(2, x0);
                f(k, (z * g.output[1] + y) * g.output[2], x0, x1, input);
            }
        }
    }
}

/// The outputs along dimension `d` whose input at kernel element `k` is inside: from and past; `None` if there are none.
fn valid(g: &Geometry, d: usize, k: usize) -> Option<(usize, usize)> {
    let (shift, pad, stride) = (k * g.dilation[d], g.padding[d], g.stride[d]);
    let first = pad.saturating_sub(shift).div_ceil(stride);
    // o * stride + shift - pad <= input - 1
    let last = (g.input[d] + pad).checked_sub(shift + 1)? / stride;
    let end = (last + 1).min(g.output[d]);
    (first < end).then_some((first, end))
}

/// Gathers the patches of outputs `from..to` for one channel: row k of `out` (each `to - from` long) holds the input
/// under kernel element k, 0 outside.
fn gather<T: Number>(g: &Geometry, channel: &[T], from: usize, to: usize, out: &mut [T]) {
    let width = to - from;
    out.fill(T::default());
    for_each_row(g, |k, row, x0, x1, input| {
        let (start, end) = ((row + x0).max(from), (row + x1).min(to));
        if start >= end {
            return;
        }
        let step = g.stride[2];
        let source = input + (start - row - x0) * step;
        let line = &mut out[k * width + start - from..k * width + end - from];
        if step == 1 {
            line.copy_from_slice(&channel[source..source + line.len()]);
        } else {
            for (i, x) in line.iter_mut().enumerate() {
                *x = channel[source + i * step];
            }
        }
    });
}

/// The inverse of [`gather`]: adds patches to the input they come from.
fn scatter<T: Number>(g: &Geometry, patches: &[T], from: usize, to: usize, channel: &mut [T]) {
    let width = to - from;
    for_each_row(g, |k, row, x0, x1, input| {
        let (start, end) = ((row + x0).max(from), (row + x1).min(to));
        if start >= end {
            return;
        }
        let step = g.stride[2];
        let target = input + (start - row - x0) * step;
        let line = &patches[k * width + start - from..k * width + end - from];
        for (i, x) in line.iter().enumerate() {
            channel[target + i * step] = channel[target + i * step].plus(*x);
        }
    });
}

/// The length of a block of outputs.
fn block_length(g: &Geometry) -> usize {
    (BLOCK / g.depth().max(1)).max(64).min(g.output_area().max(1))
}

fn is_depthwise(g: &Geometry) -> bool {
    g.channels_in == 1
}

/// Runs `f` on (group of a batch member, its slice of `out`), on all threads when there are enough of them; `f` is told
/// whether it may use threads itself.
fn for_each_group<T: Number>(out: &mut [T], size: usize, f: impl Fn(usize, &mut [T], bool) + Sync) {
    if size == 0 {
        return;
    }
    let groups = out.len() / size;
    if groups >= rayon::current_num_threads() {
        out.par_chunks_mut(size).enumerate().for_each(|(i, chunk)| f(i, chunk, false));
    } else {
        out.chunks_mut(size).enumerate().for_each(|(i, chunk)| f(i, chunk, true));
    }
}

/// Gathers the patches of all channels of a group.
fn gather_group<T: Number>(g: &Geometry, input: &[T], from: usize, to: usize, out: &mut [T], threads: bool) {
    let (area, rows) = (g.input_area(), g.kernel_area() * (to - from));
    let one = |(c, rows): (usize, &mut [T])| gather(g, &input[c * area..(c + 1) * area], from, to, rows);
    if threads {
        out.par_chunks_mut(rows).enumerate().for_each(one);
    } else {
        out.chunks_mut(rows).enumerate().for_each(one);
    }
}

/// `output[n, o] = Σ weight[o, c, k] input[n, c, place + k]`; `output` is overwritten.
pub fn forward<T: Number>(g: &Geometry, input: &[T], weight: &[T], output: &mut [T]) {
    let (area, depth) = (g.output_area(), g.depth());
    let input_size = g.channels_in * g.input_area();
    let weight_size = g.channels_out * depth;
    for_each_group(output, g.channels_out * area, |i, out, threads| {
        let input = &input[i * input_size..(i + 1) * input_size];
        let weight = &weight[i % g.groups * weight_size..(i % g.groups + 1) * weight_size];
        if is_depthwise(g) && !g.is_pointwise() {
            for (o, plane) in out.chunks_mut(area).enumerate() {
                plane.fill(T::default());
                let weight = &weight[o * depth..(o + 1) * depth];
                for_each_row(g, |k, row, x0, x1, at| {
                    let (w, step) = (weight[k], g.stride[2]);
                    let line = &mut plane[row + x0..row + x1];
                    if step == 1 {
                        for (y, x) in line.iter_mut().zip(&input[at..]) {
                            *y = y.plus(w.times(*x));
                        }
                    } else {
                        for (y, x) in line.iter_mut().zip(input[at..].iter().step_by(step)) {
                            *y = y.plus(w.times(*x));
                        }
                    }
                });
            }
            return;
        }
        let sizes = |n| Sizes { batch: 1, m: g.channels_out, n, k: depth };
        if g.is_pointwise() {
            gemm(
                sizes(area),
                T::ONE,
                (weight, [0, depth, 1]),
                (input, [0, area, 1]),
                T::default(),
                (out, [0, area, 1]),
            );
            return;
        }
        let block = block_length(g);
        let mut patches = vec![T::default(); depth * block];
        for from in (0..area).step_by(block) {
            let n = block.min(area - from);
            let patches = &mut patches[..depth * n];
            gather_group(g, input, from, from + n, patches, threads);
            let out = &mut out[from..];
            gemm(sizes(n), T::ONE, (weight, [0, depth, 1]), (patches, [0, n, 1]), T::default(), (out, [0, area, 1]));
        }
    });
}

/// The gradient of the input: `input[n, c, place + k] += weight[o, c, k] output[n, o]`; `input` is overwritten.
pub fn input_gradient<T: Number>(g: &Geometry, output: &[T], weight: &[T], input: &mut [T]) {
    let (area, depth, input_area) = (g.output_area(), g.depth(), g.input_area());
    let output_size = g.channels_out * area;
    let weight_size = g.channels_out * depth;
    for_each_group(input, g.channels_in * input_area, |i, out, threads| {
        let output = &output[i * output_size..(i + 1) * output_size];
        let weight = &weight[i % g.groups * weight_size..(i % g.groups + 1) * weight_size];
        if is_depthwise(g) && !g.is_pointwise() {
            out.fill(T::default());
            for (o, plane) in output.chunks(area).enumerate() {
                let weight = &weight[o * depth..(o + 1) * depth];
                for_each_row(g, |k, row, x0, x1, at| {
                    let (w, step) = (weight[k], g.stride[2]);
                    for (x, y) in out[at..].iter_mut().step_by(step).zip(&plane[row + x0..row + x1]) {
                        *x = x.plus(w.times(*y));
                    }
                });
            }
            return;
        }
        let sizes = |n| Sizes { batch: 1, m: depth, n, k: g.channels_out };
        if g.is_pointwise() {
            gemm(
                sizes(area),
                T::ONE,
                (weight, [0, 1, depth]),
                (output, [0, area, 1]),
                T::default(),
                (out, [0, area, 1]),
            );
            return;
        }
        out.fill(T::default());
        let block = block_length(g);
        let mut patches = vec![T::default(); depth * block];
        for from in (0..area).step_by(block) {
            let n = block.min(area - from);
            let patches = &mut patches[..depth * n];
            let column = &output[from..];
            gemm(sizes(n), T::ONE, (weight, [0, 1, depth]), (column, [0, area, 1]), T::default(), (patches, [0, n, 1]));
            let rows = g.kernel_area() * n;
            let one = |(channel, patches): (&mut [T], &[T])| scatter(g, patches, from, from + n, channel);
            if threads {
                out.par_chunks_mut(input_area).zip(patches.par_chunks(rows)).for_each(one);
            } else {
                out.chunks_mut(input_area).zip(patches.chunks(rows)).for_each(one);
            }
        }
    });
}

/// The gradient of the weight: `weight[o, c, k] = Σ output[n, o] input[n, c, place + k]`; `weight` is overwritten.
pub fn weight_gradient<T: Number>(g: &Geometry, output: &[T], input: &[T], weight: &mut [T]) {
    let (area, depth) = (g.output_area(), g.depth());
    let (output_size, input_size) = (g.channels_out * area, g.channels_in * g.input_area());
    for_each_group(weight, g.channels_out * depth, |group, weight, threads| {
        weight.fill(T::default());
        let block = block_length(g);
        let gathered = !g.is_pointwise() && !is_depthwise(g);
        let mut patches = vec![T::default(); if gathered { depth * block } else { 0 }];
        for n in 0..g.batch {
            let i = n * g.groups + group;
            let output = &output[i * output_size..(i + 1) * output_size];
            let input = &input[i * input_size..(i + 1) * input_size];
            let sizes = |k| Sizes { batch: 1, m: g.channels_out, n: depth, k };
            if g.is_pointwise() {
                let (o, x) = ((output, [0, area, 1]), (input, [0, 1, area]));
                gemm(sizes(area), T::ONE, o, x, T::ONE, (weight, [0, depth, 1]));
            } else if !gathered {
                for (o, plane) in output.chunks(area).enumerate() {
                    let weight = &mut weight[o * depth..(o + 1) * depth];
                    for_each_row(g, |k, row, x0, x1, at| {
                        let line = &plane[row + x0..row + x1];
                        let products = line.iter().zip(input[at..].iter().step_by(g.stride[2]));
                        weight[k] = products.fold(weight[k], |sum, (y, x)| sum.plus(y.times(*x)));
                    });
                }
            } else {
                for from in (0..area).step_by(block) {
                    let k = block.min(area - from);
                    let patches = &mut patches[..depth * k];
                    gather_group(g, input, from, from + k, patches, threads);
                    let (o, x) = ((&output[from..], [0, area, 1]), (&*patches, [0, 1, k]));
                    gemm(sizes(k), T::ONE, o, x, T::ONE, (weight, [0, depth, 1]));
                }
            }
        }
    });
}
