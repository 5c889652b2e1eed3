//! The numbers that machine code draws from seeds: the blocks of Philox that the definition says, and statistics that random numbers have.
#![cfg(feature = "llvm")]

use rinductor::codegen::cpu::Cpu;
use rinductor::driver::compiled::Compiled;
use rinductor::driver::pipelines;
use rinductor::driver::reference::Argument;
use rinductor::driver::session::Dialects;
use rinductor::runtime::Element;
use rinductor::runtime::tensor::Tensor;
use rinductor::support::diag::render;
use rinductor::text::{ParseOptions, parse};
use rinductor_scalar::philox4x32;

/// How many numbers are drawn of a seed.
const N: usize = 1 << 19;
const SEEDS: [i64; 5] = [0, 1, 2, -1, 0x0123_4567_89ab_cdef];

/// The results of an op of `prims` that takes a seed and gives N numbers: of each seed.
fn draw<T: Element>(op: &str, properties: &str, dtype: &str) -> Vec<Vec<T>> {
    let text = format!(
        "func.func @forward(%seed: tensor<i64>) -> tensor<{N}x{dtype}> {{\n  \
         %r = \"prims.{op}\"(%seed) <{{size = array<i64: {N}>, {properties}}}> : (tensor<i64>) -> tensor<{N}x{dtype}>\n  \
         return %r : tensor<{N}x{dtype}>\n}}\n"
    );
    let dialects = Dialects::builtin();
    let mut sources = dialects.library.sources().clone();
    let id = sources.add("graph", text).expect("small");
    let (ir, wrong) = parse(&sources, id, &ParseOptions::new(&dialects.registry));
    assert!(wrong.is_empty(), "{}", render::render(&wrong, &sources, render::Style::Short, false));
    let mut ir = ir.expect("it was read");
    let cpu = pipelines::read("cpu", "cpu", &mut sources).expect("a pipeline of this name");
    pipelines::run(&mut ir, &cpu, &dialects, true).unwrap_or_else(|wrong| panic!("{wrong:?}"));
    let compiled = Compiled::new(&ir, "forward", Cpu::default()).expect("it compiles");
    SEEDS
        .iter()
        .map(|&seed| {
            let seed = Tensor::from_slice(&[], &[seed]).expect("small");
            match compiled.run(&[Argument::Tensor(seed)]).expect("it runs").as_slice() {
                [Argument::Tensor(t)] => t.to_vec::<T>().expect("of this dtype"),
                other => panic!("{other:?} is not one tensor"),
            }
        })
        .collect()
}

/// Within five standard deviations: of the few hundred numbers that are looked at here, none should be beyond.
#[track_caller]
fn near(what: &str, got: f64, expected: f64, deviation: f64) {
    assert!((got - expected).abs() < 5.0 * deviation, "{what} is {got}, not {expected} within 5 x {deviation}");
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    values.sum::<f64>() / N as f64
}

/// Chi-square of counts that should be equal has a mean of one less than there are, and twice that as its variance.
#[track_caller]
fn equidistributed(what: &str, bins: usize, places: impl Iterator<Item = usize>) {
    let mut counts = vec![0u32; bins];
    places.for_each(|p| counts[p] += 1);
    let expected = N as f64 / bins as f64;
    let chi: f64 = counts.iter().map(|&c| (f64::from(c) - expected).powi(2) / expected).sum();
    near(&format!("chi-square of {what}"), chi, bins as f64 - 1.0, (2.0 * bins as f64).sqrt());
}

/// Correlations of standardized numbers, with neighbours and between seeds.
#[track_caller]
fn uncorrelated(standard: &[Vec<f64>]) {
    let deviation = 1.0 / (N as f64).sqrt();
    for (k, x) in standard.iter().enumerate() {
        for lag in [1, 2, 3, 4, 8, 16, 1024] {
            let r = mean(x.iter().zip(&x[lag..]).map(|(a, b)| a * b));
            near(&format!("the correlation of seed {} at a distance of {lag}", SEEDS[k]), r, 0.0, deviation);
        }
        for (j, y) in standard.iter().enumerate().skip(k + 1) {
            let r = mean(x.iter().zip(y).map(|(a, b)| a * b));
            near(&format!("the correlation of seeds {} and {}", SEEDS[k], SEEDS[j]), r, 0.0, deviation);
        }
    }
}

#[test]
fn uniform_numbers() {
    let all = draw::<f32>("inductor_random", "mode = \"rand\"", "f32");
    for (&seed, numbers) in SEEDS.iter().zip(&all) {
        for (i, &x) in numbers.iter().enumerate() {
            let word = philox4x32(seed as u64, i as u64)[0];
            assert_eq!(x, (word >> 8) as f32 / 16_777_216.0, "number {i} of seed {seed}");
            assert!((0.0..1.0).contains(&x));
        }
        near("the mean", mean(numbers.iter().map(|&x| f64::from(x))), 0.5, (1.0 / 12.0 / N as f64).sqrt());
        let variance = mean(numbers.iter().map(|&x| (f64::from(x) - 0.5).powi(2)));
        near("the variance", variance, 1.0 / 12.0, (1.0 / 180.0 / N as f64).sqrt());
        equidistributed("the upper bits", 256, numbers.iter().map(|&x| (x * 256.0) as usize));
        equidistributed("the lower bits", 256, numbers.iter().map(|&x| (x * 16_777_216.0) as usize % 256));
    }
    let scale = 12f64.sqrt();
    uncorrelated(&all.iter().map(|x| x.iter().map(|&x| (f64::from(x) - 0.5) * scale).collect()).collect::<Vec<_>>());
}

#[test]
fn normal_numbers() {
    let all = draw::<f32>("inductor_random", "mode = \"randn\"", "f32");
    let all: Vec<Vec<f64>> = all.iter().map(|x| x.iter().map(|&x| f64::from(x)).collect()).collect();
    for numbers in &all {
        let moment = |k: i32| mean(numbers.iter().map(|x| x.powi(k)));
        let deviation = |variance: f64| (variance / N as f64).sqrt();
        near("the mean", moment(1), 0.0, deviation(1.0));
        near("the variance", moment(2), 1.0, deviation(2.0));
        near("the third moment", moment(3), 0.0, deviation(15.0));
        near("the fourth moment", moment(4), 3.0, deviation(96.0));
        // The quartiles of the normal distribution are at 0 and at 0.67449 from it.
        let quartile = |x: f64| usize::from(x > -0.674_489_75) + usize::from(x > 0.0) + usize::from(x > 0.674_489_75);
        equidistributed("the quartiles", 4, numbers.iter().map(|&x| quartile(x)));
    }
    uncorrelated(&all);
}

#[test]
fn integers() {
    for (low, high) in [(0, 6), (-100, 1), (0, 1 << 40), (i64::MIN + 1, i64::MAX)] {
        let all = draw::<i64>("inductor_randint", &format!("low = {low} : i64, high = {high} : i64"), "i64");
        let size = u128::from(high.wrapping_sub(low) as u64);
        for (&seed, numbers) in SEEDS.iter().zip(&all) {
            for (i, &x) in numbers.iter().enumerate() {
                let [w0, w1, w2, _] = philox4x32(seed as u64, i as u64).map(u128::from);
                let scaled = (((w2 << 32) | w1) * size + ((w0 * size) >> 32)) >> 64;
                assert_eq!(x, low.wrapping_add(scaled as i64), "number {i} of seed {seed} in [{low}, {high})");
            }
            if size < 1000 {
                equidistributed("integers", size as usize, numbers.iter().map(|&x| (x - low) as usize));
            }
        }
    }
}
