//! Inputs of a call that share memory with others: what a kernel writes into one at once would change what it reads from another.

use super::Argument;
use super::plan::Input;
use crate::runtime::Tensor;

/// The inputs that the function writes and that share memory with another input, by their places. Those work on copies.
pub fn shared(inputs: &[Input], arguments: &[Option<Argument>]) -> Vec<usize> {
    if !inputs.iter().any(|i| matches!(i, Input::Tensor(_, _, true))) {
        return Vec::new();
    }
    let mut spans: Vec<(usize, usize, usize)> = Vec::with_capacity(inputs.len());
    for (k, argument) in arguments.iter().enumerate() {
        if let Some(Argument::Tensor(t)) = argument
            && t.numel() > 0
        {
            let (low, high) = span(t);
            spans.push((low, high, k));
        }
    }
    spans.sort_unstable();
    let mut found = Vec::new();
    // Of those that begin before, the one that ends last: whoever overlaps any of them overlaps it, or is one of a pair that was found.
    let mut last: Option<(usize, usize)> = None;
    for (low, high, k) in spans {
        if let Some((end, other)) = last
            && low < end
        {
            found.extend([k, other]);
        }
        if last.is_none_or(|(end, _)| high > end) {
            last = Some((high, k));
        }
    }
    found.sort_unstable();
    found.dedup();
    found.retain(|&k| matches!(inputs.get(k), Some(Input::Tensor(_, _, true))));
    found
}

/// The addresses of the first byte of a tensor and of the one after its last.
fn span(t: &Tensor) -> (usize, usize) {
    let reach = t.sizes().iter().zip(t.strides()).map(|(&n, &stride)| (n - 1).saturating_mul(stride));
    let elements = reach.fold(1, usize::saturating_add);
    let first = t.as_ptr() as usize;
    (first, first.saturating_add(elements.saturating_mul(t.dtype().size())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::exec::plan::{Num, Shape};
    use rinductor_scalar::DType;

    fn input(written: bool) -> Input {
        Input::Tensor(0, Shape { dtype: DType::F32, sizes: vec![], strides: vec![], offset: Num::Fixed(0) }, written)
    }

    #[test]
    fn what_shares_memory_is_found() {
        let whole = Tensor::zeros_strided(DType::F32, &[100], &[1]).unwrap();
        let part = |from: usize, n: usize| Some(Argument::Tensor(whole.as_strided(&[n], &[1], from).unwrap()));
        let other = Some(Argument::Tensor(Tensor::zeros_strided(DType::F32, &[100], &[1]).unwrap()));
        let inputs = [input(true), input(false), input(true), input(true)];
        let found = |list: [Option<Argument>; 4]| shared(&inputs, &list);
        assert_eq!(found([part(0, 10), part(10, 10), part(20, 10), other.clone()]), [0usize; 0]);
        assert_eq!(found([part(0, 11), part(10, 10), part(20, 10), other.clone()]), [0]);
        assert_eq!(found([part(0, 100), part(10, 10), part(30, 10), other.clone()]), [0, 2]);
        assert_eq!(found([part(50, 10), other.clone(), part(0, 51), part(90, 10)]), [0, 2]);
        assert_eq!(found([part(5, 1), part(5, 1), None, other]), [0]);
        assert_eq!(shared(&inputs[1..2], &[part(0, 5)]), [0usize; 0]);
    }
}
