//! The layouts that eager PyTorch gives to results.

use super::{Evaluator, TensorValue};
use rinductor_index::Expr as IndexExpr;
use std::cmp::Ordering;

impl Evaluator<'_> {
    /// Strides of a contiguous tensor: the product of max(size, 1) of the dimensions after each.
    pub(super) fn contiguous(&mut self, sizes: &[IndexExpr]) -> Vec<IndexExpr> {
        let order: Vec<usize> = (0..sizes.len()).rev().collect();
        self.dense(sizes, &order)
    }

    /// Strides of a dense tensor whose dimensions run in `order`, the fastest first.
    pub(super) fn dense(&mut self, sizes: &[IndexExpr], order: &[usize]) -> Vec<IndexExpr> {
        let one = self.exprs.int(1);
        let mut strides = vec![one; sizes.len()];
        let mut next = one;
        for &d in order {
            strides[d] = next;
            // Sizes that may be 0 count as 1; symbols are sizes that are not 0 or the facts say so.
            let size = if self.exprs.as_int(sizes[d]) == Some(0) { one } else { sizes[d] };
            next = self.exprs.mul(next, size);
        }
        strides
    }

    /// Dimension 1 fastest, then the last, …, the first.
    pub(super) fn channels_last(&mut self, sizes: &[IndexExpr]) -> Vec<IndexExpr> {
        if sizes.len() < 3 {
            return self.contiguous(sizes);
        }
        let mut order = vec![1];
        order.extend((2..sizes.len()).rev());
        order.push(0);
        self.dense(sizes, &order)
    }

    /// Whether a tensor of images or volumes lies with its channels fastest (`is_channels_last_strides_2d` in c10/core/MemoryFormat.h); not, where
    /// strides that are not known decide.
    pub(super) fn is_channels_last(&mut self, tensor: &TensorValue) -> bool {
        let order: &[usize] = match tensor.shape.len() {
            4 => &[1, 3, 2, 0],
            5 => &[1, 4, 3, 2, 0],
            _ => return false,
        };
        let zero = self.exprs.int(0);
        let mut least = zero;
        if self.same(tensor.strides[1], zero) != Some(false) {
            return false;
        }
        for &d in order {
            let (size, stride) = (tensor.shape[d], tensor.strides[d]);
            let small = self.exprs.prove_lt(stride, least, &self.facts) != Some(false);
            let ambiguous = d == 0 && self.same(least, tensor.strides[1]) != Some(false);
            if self.same(size, zero) == Some(true) || small || ambiguous {
                return false;
            }
            least = if self.is_one(size) { stride } else { self.exprs.mul(stride, size) };
        }
        true
    }

    fn order_of(&mut self, a: IndexExpr, b: IndexExpr) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        match self.exprs.prove_lt(a, b, &self.facts) {
            Some(true) => Ordering::Less,
            Some(false) => match self.exprs.prove_lt(b, a, &self.facts) {
                Some(true) => Ordering::Greater,
                _ => Ordering::Equal,
            },
            None => Ordering::Equal,
        }
    }

    /// Strides of the result of an elementwise op, as TensorIterator chooses them: the dimensions in the order of the first
    /// operand that tells them apart (`TensorIteratorBase::reorder_dimensions` in aten/src/ATen/TensorIterator.cpp).
    pub(super) fn elementwise_strides(&mut self, operands: &[&TensorValue], sizes: &[IndexExpr]) -> Vec<IndexExpr> {
        let rank = sizes.len();
        let zero = self.exprs.int(0);
        let mut all: Vec<Vec<IndexExpr>> = Vec::new();
        for operand in operands {
            if operand.shape.is_empty() || operand.strides.len() != operand.shape.len() {
                continue;
            }
            let start = rank.saturating_sub(operand.shape.len());
            let mut strides = vec![zero; rank];
            for (i, (size, stride)) in operand.shape.iter().zip(&operand.strides).enumerate() {
                if !(self.is_one(*size) && !self.is_one(sizes[start + i])) {
                    strides[start + i] = *stride;
                }
            }
            all.push(strides);
        }
        self.iterator_strides(&all, sizes)
    }

    /// The same from the strides of the operands alone, each with 0 where it does not vary.
    pub(super) fn iterator_strides(&mut self, all: &[Vec<IndexExpr>], sizes: &[IndexExpr]) -> Vec<IndexExpr> {
        let rank = sizes.len();
        let zero = self.exprs.int(0);
        let mut perm: Vec<usize> = (0..rank).rev().collect();
        for i in 1..rank {
            let mut moving = i;
            for other in (0..i).rev() {
                match self.should_swap(all, sizes, perm[other], perm[moving], zero) {
                    Ordering::Greater => {
                        perm.swap(other, moving);
                        moving = other;
                    }
                    Ordering::Less => break,
                    Ordering::Equal => {}
                }
            }
        }
        self.dense(sizes, &perm)
    }

    fn should_swap(
        &mut self,
        all: &[Vec<IndexExpr>],
        sizes: &[IndexExpr],
        a: usize,
        b: usize,
        zero: IndexExpr,
    ) -> Ordering {
        for strides in all {
            let (x, y) = (strides[a], strides[b]);
            if x == zero || y == zero {
                continue;
            }
            match self.order_of(x, y) {
                Ordering::Equal => {
                    if x == y && self.order_of(sizes[a], sizes[b]) == Ordering::Greater {
                        return Ordering::Greater;
                    }
                }
                decided => return decided,
            }
        }
        Ordering::Equal
    }

    /// Strides of a fresh tensor that keeps the layout of another (`torch.preserve_format`): its own if it is dense, else
    /// dense ones in the order of its strides.
    pub(super) fn dense_like(&mut self, tensor: &TensorValue, sizes: &[IndexExpr]) -> Vec<IndexExpr> {
        if tensor.strides.len() != sizes.len() {
            return self.contiguous(sizes);
        }
        if tensor.shape == sizes && self.is_dense(tensor) {
            return tensor.strides.clone();
        }
        self.elementwise_strides(&[tensor], sizes)
    }

    /// Whether the elements of a tensor fill their storage, each place once.
    fn is_dense(&mut self, tensor: &TensorValue) -> bool {
        let mut left: Vec<usize> = Vec::new();
        for d in 0..tensor.shape.len() {
            if !self.is_one(tensor.shape[d]) {
                left.push(d);
            }
        }
        let mut next = self.exprs.int(1);
        while !left.is_empty() {
            let Some(i) = left.iter().position(|&d| tensor.strides[d] == next) else { return false };
            let d = left.remove(i);
            next = self.exprs.mul(next, tensor.shape[d]);
        }
        true
    }

    /// Strides that give a tensor new sizes without a copy, or None (`computeStride` in aten/src/ATen/TensorUtils.cpp).
    pub(super) fn view_strides(
        &mut self,
        sizes: &[IndexExpr],
        strides: &[IndexExpr],
        new: &[IndexExpr],
    ) -> Option<Vec<IndexExpr>> {
        let one = self.exprs.int(1);
        if sizes.iter().any(|s| self.exprs.as_int(*s) == Some(0)) {
            return if sizes == new { Some(strides.to_vec()) } else { Some(self.contiguous(new)) };
        }
        if sizes.is_empty() {
            return Some(vec![one; new.len()]);
        }
        // A chunk of old dimensions that lie densely becomes a chunk of new ones.
        let mut out = vec![one; new.len()];
        let mut view = new.len();
        let mut old_numel = one;
        let mut new_numel = one;
        let mut base = strides[sizes.len() - 1];
        for d in (0..sizes.len()).rev() {
            old_numel = self.exprs.mul(old_numel, sizes[d]);
            let ends = d == 0 || {
                let within = self.exprs.mul(old_numel, base);
                let within = self.exprs.expand(within);
                !self.is_one(sizes[d - 1]) && {
                    let stride = self.exprs.expand(strides[d - 1]);
                    self.same(stride, within) != Some(true)
                }
            };
            if !ends {
                continue;
            }
            while view > 0 {
                let (a, b) = (self.exprs.expand(new_numel), self.exprs.expand(old_numel));
                let less = self.exprs.prove_lt(a, b, &self.facts).unwrap_or(self.same(a, b) != Some(true));
                if !(less || self.is_one(new[view - 1])) {
                    break;
                }
                view -= 1;
                let stride = self.exprs.mul(new_numel, base);
                out[view] = self.exprs.expand(stride);
                new_numel = self.exprs.mul(new_numel, new[view]);
            }
            let (a, b) = (self.exprs.expand(new_numel), self.exprs.expand(old_numel));
            if self.same(a, b) == Some(false) {
                return None;
            }
            if d > 0 {
                base = strides[d - 1];
                old_numel = one;
                new_numel = one;
            }
        }
        (view == 0).then_some(out)
    }
}
