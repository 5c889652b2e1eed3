//! What is known of an output without keeping it: sums, a permutation-sensitive product, the first elements. The format
//! `rinductor-ref/1` holds such summaries of eager PyTorch's results.

use super::error::{Result, RuntimeError};
use super::seed::{InputKind, uniform};
use super::tensor::Tensor;
use rinductor_scalar::DType;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// The seed state of the weights of `dot`.
const DOT_STATE: u64 = 12345;

/// A summary of a tensor's elements in row-major order, computed in 64 bits.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The sum of the finite elements.
    pub sum: f64,
    /// The sum of their magnitudes.
    pub abs_sum: f64,
    /// The sum of xᵢ (2uᵢ - 1), where u is the generator of [`super::seed`] from state 12345.
    pub dot: f64,
    /// The greatest magnitude of a finite element.
    pub max_abs: f64,
    /// How many elements are NaN or infinite.
    pub nonfinite: usize,
    /// The first eight elements.
    pub first8: Vec<f64>,
}

impl Summary {
    /// Summarizes a tensor.
    pub fn of(tensor: &Tensor) -> Result<Summary> {
        let values = tensor.to_vec::<f64>()?;
        let mut s = Summary {
            sum: 0.0,
            abs_sum: 0.0,
            dot: 0.0,
            max_abs: 0.0,
            nonfinite: 0,
            first8: values.iter().take(8).copied().collect(),
        };
        for (i, x) in values.iter().enumerate() {
            if !x.is_finite() {
                s.nonfinite += 1;
                continue;
            }
            s.sum += x;
            s.abs_sum += x.abs();
            s.dot += x * (2.0 * uniform(DOT_STATE, i as u64) - 1.0);
            s.max_abs = s.max_abs.max(x.abs());
        }
        Ok(s)
    }
}

/// A number of a reference file: plain, or `{"float": "nan"}` for those that JSON lacks.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Number {
    Plain(f64),
    Named { float: String },
}

impl Number {
    fn value(&self) -> f64 {
        match self {
            Number::Plain(x) => *x,
            // Rust reads `nan`, `inf` and `-inf`.
            Number::Named { float } => float.parse().unwrap_or(f64::NAN),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
struct Reference {
    sum: f64,
    abs_sum: f64,
    dot: f64,
    first8: Vec<Number>,
}

/// What a reference file says of one output.
#[derive(Clone, Debug, Deserialize)]
pub struct Expectation {
    dtype: Option<String>,
    shape: Option<Vec<usize>>,
    stride: Option<Vec<usize>>,
    #[serde(flatten)]
    numbers: Option<Reference>,
    #[serde(default)]
    max_abs: f64,
    #[serde(default)]
    nonfinite: usize,
    f64: Option<Reference>,
    max_abs_diff_f32_f64: Option<f64>,
}

/// One input of a graph of a reference file.
#[derive(Clone, Debug, Deserialize)]
pub struct ExpectedInput {
    /// The argument's name.
    pub name: String,
    /// What its elements are made of.
    #[serde(flatten)]
    pub kind: InputKind,
    /// The generator's stream.
    #[serde(default)]
    pub stream: u64,
}

/// What a reference file says of one graph.
#[derive(Clone, Debug, Deserialize)]
pub struct ExpectedGraph {
    /// The graph's name.
    pub id: String,
    /// Its file, relative to the reference file.
    pub file: String,
    /// The seed of its inputs.
    pub seed: u64,
    /// Its inputs, in order.
    pub inputs: Vec<ExpectedInput>,
    /// Its outputs, in order.
    pub outputs: Vec<Expectation>,
    /// Its inputs that are changed, by name, as they are after the call.
    #[serde(default)]
    pub mutated_inputs: BTreeMap<String, Expectation>,
}

#[derive(Deserialize)]
struct ReferenceFile {
    format: String,
    graphs: Vec<ExpectedGraph>,
}

/// Reads a file of the format `rinductor-ref/1`.
pub fn read_expected(path: &Path) -> Result<Vec<ExpectedGraph>> {
    let text = std::fs::read_to_string(path).map_err(|e| RuntimeError::io(path, e))?;
    let file: ReferenceFile = serde_json::from_str(&text).map_err(|e| RuntimeError::format(path, e.to_string()))?;
    if file.format != "rinductor-ref/1" {
        return Err(RuntimeError::format(path, format!("the format is '{}', not 'rinductor-ref/1'", file.format)));
    }
    Ok(file.graphs)
}

/// The error taken for the reference's own where it was not measured, relative to the greatest element.
const UNMEASURED: f64 = 1e-6;

impl Expectation {
    /// The distance that an element may have: ten times what 32 bits were measured to cost, and 2e-6 of the greatest
    /// element.
    pub fn tolerance(&self) -> f64 {
        10.0 * self.max_abs_diff_f32_f64.unwrap_or(UNMEASURED * self.max_abs) + 2e-6 * self.max_abs
    }

    /// Whether the output is a tensor (else it is None).
    pub fn is_tensor(&self) -> bool {
        self.dtype.is_some()
    }

    /// How far the listed elements and the greatest magnitude of an output are from what is expected, relative to the greatest magnitude. What
    /// is NaN or infinite on one side alone is infinitely far.
    ///
    /// # Errors
    /// The output cannot be read.
    pub fn distance(&self, output: &Tensor) -> Result<f64> {
        let Some(reference) = self.f64.as_ref().or(self.numbers.as_ref()) else { return Ok(0.0) };
        let got = Summary::of(output)?;
        let far = |want: f64, got: f64| {
            let same = want == got || (want.is_nan() && got.is_nan());
            let d = (want - got).abs();
            if same {
                0.0
            } else if d.is_nan() {
                f64::INFINITY
            } else {
                d
            }
        };
        let firsts = reference.first8.iter().zip(&got.first8).map(|(w, &g)| far(w.value(), g));
        let worst = firsts.chain([far(self.max_abs, got.max_abs)]).fold(0.0, f64::max);
        Ok(if self.max_abs > 0.0 { worst / self.max_abs } else { worst })
    }

    /// Holds an output against what is expected: a list of sentences, empty when all agrees. Element tolerances are
    /// [`Expectation::tolerance`], those of sums that times the square root of the number of elements.
    pub fn check(&self, output: Option<&Tensor>) -> Result<Vec<String>> {
        let mut wrong = self.check_values(output)?;
        if let (Some(tensor), Some(stride)) = (output, &self.stride)
            && stride.len() == tensor.rank()
            && !same_layout(tensor, stride)
        {
            wrong.push(format!("the strides are {:?}, expected {stride:?}", tensor.strides()));
        }
        Ok(wrong)
    }

    /// As [`Expectation::check`], whatever the strides: nobody sees those of a result that only a backward graph reads.
    pub fn check_values(&self, output: Option<&Tensor>) -> Result<Vec<String>> {
        let mut wrong = Vec::new();
        let (dtype, tensor) = match (&self.dtype, output) {
            (None, None) => return Ok(wrong),
            (None, Some(_)) => return Ok(vec!["a tensor where None is expected".into()]),
            (Some(_), None) => return Ok(vec!["None where a tensor is expected".into()]),
            (Some(dtype), Some(tensor)) => (dtype, tensor),
        };
        if tensor.dtype().torch_name() != dtype {
            wrong.push(format!("the type is {}, expected {dtype}", tensor.dtype().torch_name()));
        }
        if let Some(shape) = &self.shape
            && shape != tensor.sizes()
        {
            wrong.push(format!("the sizes are {:?}, expected {shape:?}", tensor.sizes()));
            return Ok(wrong);
        }
        let Some(reference) = self.f64.as_ref().or(self.numbers.as_ref()) else { return Ok(wrong) };
        let got = Summary::of(tensor)?;
        if got.nonfinite != self.nonfinite {
            wrong.push(format!("{} elements are NaN or infinite, expected {}", got.nonfinite, self.nonfinite));
        }
        let element = self.tolerance();
        let sums = element * (tensor.numel() as f64).sqrt().max(1.0);
        let mut hold = |what: &str, got: f64, want: f64, tolerance: f64| {
            let same = got == want || (got.is_nan() && want.is_nan());
            let near = (got - want).abs() <= tolerance;
            if !same && !near {
                wrong.push(format!("{what} is {got:e}, expected {want:e}, {tolerance:.1e} allowed"));
            }
        };
        for (i, want) in reference.first8.iter().enumerate() {
            hold(&format!("element {i}"), got.first8.get(i).copied().unwrap_or(f64::NAN), want.value(), element);
        }
        hold("the greatest magnitude", got.max_abs, self.max_abs, element);
        hold("sum", got.sum, reference.sum, sums);
        hold("dot", got.dot, reference.dot, sums);
        // Magnitudes do not cancel, so what each element may be off adds up where rounding goes one way.
        hold("abs_sum", got.abs_sum, reference.abs_sum, element * (tensor.numel() as f64).max(1.0));
        Ok(wrong)
    }
}

/// Strides agree where they matter: in dimensions of more than one element, of tensors that have elements.
fn same_layout(tensor: &Tensor, strides: &[usize]) -> bool {
    tensor.numel() == 0
        || (tensor.strides().len() == strides.len()
            && (0..strides.len()).all(|d| tensor.sizes()[d] <= 1 || tensor.strides()[d] == strides[d]))
}

/// How far two tensors are apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Distance {
    /// The greatest difference of two elements.
    pub max_abs: f64,
    /// Where it is, as a row-major number.
    pub at: usize,
    /// How many elements differ by more than `atol + rtol * |b|`, or only one of the two is NaN.
    pub beyond: usize,
}

/// Holds `a` against `b` element by element. An error if their sizes differ. Two NaNs agree, and equal infinities do.
pub fn compare_tensors(a: &Tensor, b: &Tensor, rtol: f64, atol: f64) -> Result<Distance> {
    if a.sizes() != b.sizes() {
        return Err(RuntimeError::tensor(format!("sizes {:?} and {:?} differ", a.sizes(), b.sizes())));
    }
    let mut d = Distance { max_abs: 0.0, at: 0, beyond: 0 };
    let mut hold = |i: usize, x: f64, y: f64, difference: f64| {
        if x == y && difference == 0.0 || (x.is_nan() && y.is_nan()) {
            return;
        }
        // Not "greater": a NaN on one side only is beyond, too.
        let within = difference <= atol + rtol * y.abs();
        if !within {
            d.beyond += 1;
        }
        if difference > d.max_abs || difference.is_nan() && !d.max_abs.is_nan() {
            (d.max_abs, d.at) = (difference, i);
        }
    };
    let integral = |t: &Tensor| !t.dtype().is_float() && !t.dtype().is_complex();
    if integral(a) && integral(b) {
        for (i, (x, y)) in a.to_vec::<i64>()?.into_iter().zip(b.to_vec::<i64>()?).enumerate() {
            hold(i, x as f64, y as f64, x.abs_diff(y) as f64);
        }
    } else if a.dtype().is_complex() || b.dtype().is_complex() {
        let values = |t: &Tensor| t.to_dtype(DType::C128)?.to_vec::<num_complex::Complex<f64>>();
        for (i, (x, y)) in values(a)?.into_iter().zip(values(b)?).enumerate() {
            hold(i, x.norm(), y.norm(), if x == y { 0.0 } else { (x - y).norm() });
        }
    } else {
        for (i, (x, y)) in a.to_vec::<f64>()?.into_iter().zip(b.to_vec::<f64>()?).enumerate() {
            hold(i, x, y, if x == y { 0.0 } else { (x - y).abs() });
        }
    }
    Ok(d)
}

/// Holds two archives against each other by name: one sentence for each disagreement.
pub fn compare_named(a: &[(String, Tensor)], b: &[(String, Tensor)], rtol: f64, atol: f64) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for (name, x) in a {
        let Some((_, y)) = b.iter().find(|(n, _)| n == name) else {
            wrong.push(format!("{name}: only in the first"));
            continue;
        };
        if x.dtype() != y.dtype() {
            wrong.push(format!("{name}: the types {} and {} differ", x.dtype(), y.dtype()));
        }
        if x.sizes() != y.sizes() {
            wrong.push(format!("{name}: the sizes {:?} and {:?} differ", x.sizes(), y.sizes()));
            continue;
        }
        let d = compare_tensors(x, y, rtol, atol)?;
        if d.beyond > 0 {
            wrong.push(format!(
                "{name}: {} of {} elements differ by more than {atol:e} + {rtol:e} |x|, most (by {:e}) element {}",
                d.beyond,
                x.numel(),
                d.max_abs,
                d.at
            ));
        }
    }
    for (name, _) in b.iter().filter(|(n, _)| a.iter().all(|(m, _)| m != n)) {
        wrong.push(format!("{name}: only in the second"));
    }
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{"format": "rinductor-ref/1", "graphs": [{"id": "g", "file": "g.ir", "seed": 7,
        "inputs": [{"name": "x", "kind": "uniform", "lo": -1, "hi": 1, "stream": 1},
                   {"name": "n", "kind": "int_scalar", "value": 4, "stream": 2}],
        "outputs": [{"dtype": "float32", "shape": [3], "stride": [1], "sum": 3.0, "abs_sum": 3.0,
                     "dot": 0.0, "max_abs": 2.0, "first8": [1.0, 2.0, {"float": "nan"}], "nonfinite": 1,
                     "max_abs_diff_f32_f64": 1e-7},
                    {"scalar": null}]}]}"#;

    #[test]
    fn outputs_are_held_against_a_reference() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("expected.json");
        let dot = (2.0 * uniform(DOT_STATE, 0) - 1.0) + 2.0 * (2.0 * uniform(DOT_STATE, 1) - 1.0);
        std::fs::write(&path, FILE.replace("\"dot\": 0.0", &format!("\"dot\": {dot}"))).expect("writes");
        let graphs = read_expected(&path).expect("reads");
        let g = &graphs[0];
        assert_eq!(g.inputs[0].kind, InputKind::default());
        assert_eq!(g.inputs[1].kind, InputKind::IntScalar { value: 4 });
        let t = Tensor::from_slice(&[3], &[1.0f32, 2.0, f32::NAN]).expect("fits");
        assert_eq!(g.outputs[0].check(Some(&t)).expect("sums"), Vec::<String>::new());
        assert_eq!(g.outputs[1].check(None).expect("nothing"), Vec::<String>::new());
        let swapped = Tensor::from_slice(&[3], &[2.0f32, 1.0, f32::NAN]).expect("fits");
        let wrong = g.outputs[0].check(Some(&swapped)).expect("sums");
        assert!(wrong.iter().any(|w| w.starts_with("dot")), "{wrong:?}");
        let finite = Tensor::from_slice(&[3], &[1.0f32, 2.0, 0.0]).expect("fits");
        assert_eq!(g.outputs[0].check(Some(&finite)).expect("sums").len(), 2);
        assert_eq!(g.outputs[0].check(None).expect("nothing").len(), 1);
        std::fs::write(&path, "{").expect("writes");
        assert!(read_expected(&path).is_err());
    }

    #[test]
    fn archives_are_held_against_each_other() {
        let t = |x: f32| Tensor::from_slice(&[2], &[1.0, x]).expect("fits");
        let a = vec![("x".to_owned(), t(2.0)), ("y".to_owned(), t(f32::NAN))];
        let b = vec![("x".to_owned(), t(2.001)), ("y".to_owned(), t(f32::NAN)), ("z".to_owned(), t(0.0))];
        assert_eq!(compare_named(&a, &b, 1e-2, 0.0).expect("same sizes"), ["z: only in the second"]);
        let wrong = compare_named(&a, &b, 1e-6, 0.0).expect("same sizes");
        assert!(wrong[0].starts_with("x: 1 of 2 elements differ"), "{wrong:?}");
        let i = |x: i64| Tensor::from_slice(&[1], &[x]).expect("fits");
        assert_eq!(compare_tensors(&i(i64::MAX), &i(i64::MAX - 1), 0.0, 0.0).expect("one").beyond, 1);
    }
}
