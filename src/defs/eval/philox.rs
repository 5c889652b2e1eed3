//! Philox4x32-10 as values of a body: what [`rinductor_scalar::philox4x32`] computes, in 64-bit integers that hold 32-bit words.

use super::graph::Graph;
use crate::semantics::NodeId;
use rinductor_scalar::philox::{KEY_STEPS, MULTIPLIERS, ROUNDS};
use rinductor_scalar::{DType, Scalar, ScalarOp};

/// The bits of a word.
const WORD: i64 = 0xffff_ffff;

impl Graph {
    /// The four words of a block, each in 0..2^32. The key is the seed, the counter has zeros above its 64 bits.
    pub(super) fn philox(&mut self, seed: NodeId, counter: NodeId) -> [NodeId; 4] {
        let zero = self.int(0);
        let (low, high) = self.halves(seed);
        let mut keys = [low, high];
        let (low, high) = self.halves(counter);
        let mut words = [low, high, zero, zero];
        for round in 0..ROUNDS {
            if round > 0 {
                for (key, step) in keys.iter_mut().zip(KEY_STEPS) {
                    let step = self.int(step.into());
                    let next = self.op(ScalarOp::Add, DType::I64, &[*key, step]);
                    *key = self.low_half(next);
                }
            }
            let [product0, product2] = [(words[0], MULTIPLIERS[0]), (words[2], MULTIPLIERS[1])].map(|(word, by)| {
                let by = self.int(by.into());
                let product = self.op(ScalarOp::Mul, DType::I64, &[word, by]);
                self.halves(product)
            });
            let first = self.mixed(product2.1, words[1], keys[0]);
            let third = self.mixed(product0.1, words[3], keys[1]);
            words = [first, product2.0, third, product0.0];
        }
        words
    }

    fn int(&mut self, value: i64) -> NodeId {
        self.scalar(Scalar::i64(value))
    }

    fn low_half(&mut self, value: NodeId) -> NodeId {
        let mask = self.int(WORD);
        self.op(ScalarOp::And, DType::I64, &[value, mask])
    }

    /// The lower and the upper word of 64 bits.
    fn halves(&mut self, value: NodeId) -> (NodeId, NodeId) {
        let width = self.int(32);
        // The shift repeats the sign, which the mask takes away.
        let upper = self.op(ScalarOp::Shr, DType::I64, &[value, width]);
        (self.low_half(value), self.low_half(upper))
    }

    fn mixed(&mut self, a: NodeId, b: NodeId, c: NodeId) -> NodeId {
        let both = self.op(ScalarOp::Xor, DType::I64, &[a, b]);
        self.op(ScalarOp::Xor, DType::I64, &[both, c])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_the_scalar_function() {
        for (seed, counter) in [(0, 0), (-1, -1), (i64::MIN, 1), (0x0123_4567_89ab_cdef, 1 << 40), (7, 0xffff_ffff)] {
            // Of constants, all is computed at once.
            let mut graph = Graph::default();
            let (key, at) = (graph.int(seed), graph.int(counter));
            let words = graph.philox(key, at).map(|word| graph.constant(word).map(Scalar::to_i64));
            let expected = rinductor_scalar::philox4x32(seed as u64, counter as u64);
            assert_eq!(words, expected.map(|word| Some(i64::from(word))), "block {counter} of seed {seed}");
        }
    }
}
