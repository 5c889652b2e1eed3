//! A counter-based generator (SplitMix64): a case is a function of the seed and its number, so any case can be made again by itself.

/// The generator of one case.
pub struct Random(u64);

impl Random {
    /// The generator of case `case` of a run.
    pub fn new(seed: u64, case: u64) -> Random {
        let mut random = Random(seed);
        random.0 = random.next().wrapping_add(case);
        random.0 = random.next();
        random
    }
    /// 64 random bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    /// A number in `0..n` (0 for an n of 0).
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
    /// One of the items.
    ///
    /// # Panics
    /// There is none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}
