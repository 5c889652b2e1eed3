//! Counter-based random numbers: Philox 4x32 with ten rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
//! The key is the 64-bit seed, the counter the 64-bit offset followed by zeros, so that block i of seed s is a function of (s, i) alone.

/// How often a block is mixed.
pub const ROUNDS: usize = 10;
/// By what the first and the third word are multiplied in each round.
pub const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
/// What is added to the words of the key from one round to the next.
pub const KEY_STEPS: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// The four words of the block at `offset`.
pub fn philox4x32(seed: u64, offset: u64) -> [u32; 4] {
    block([seed as u32, (seed >> 32) as u32], [offset as u32, (offset >> 32) as u32, 0, 0])
}

/// The four words that a key makes of a counter.
fn block(mut key: [u32; 2], mut words: [u32; 4]) -> [u32; 4] {
    for _ in 0..ROUNDS {
        let a = u64::from(words[0]) * u64::from(MULTIPLIERS[0]);
        let b = u64::from(words[2]) * u64::from(MULTIPLIERS[1]);
        words = [(b >> 32) as u32 ^ words[1] ^ key[0], b as u32, (a >> 32) as u32 ^ words[3] ^ key[1], a as u32];
        key = [key[0].wrapping_add(KEY_STEPS[0]), key[1].wrapping_add(KEY_STEPS[1])];
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        // The vectors published with Random123: zeros, ones, the digits of pi.
        assert_eq!(philox4x32(0, 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(block([!0; 2], [!0; 4]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        let counter = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
        let words = block([0xa409_3822, 0x299f_31d0], counter);
        assert_eq!(words, [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
    }
}
