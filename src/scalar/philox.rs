//! The counter-based random numbers of the vocabulary: Philox 4x32 with ten rounds (Salmon et al., "Parallel random
//! numbers: as easy as 1, 2, 3", 2011). The key is the 64-bit seed, the counter the 64-bit offset followed by zeros:
//! for offsets below 2^32 the numbers of Triton's `tl.rand`, `tl.randn` and `tl.randint4x`.

/// The four words of the block at `offset`.
pub fn philox4x32(seed: u64, offset: u64) -> [u32; 4] {
    let (mut k0, mut k1) = (seed as u32, (seed >> 32) as u32);
    let mut c = [offset as u32, (offset >> 32) as u32, 0, 0];
    for _ in 0..10 {
        let a = u64::from(c[0]) * 0xD251_1F53;
        let b = u64::from(c[2]) * 0xCD9E_8D57;
        c = [(b >> 32) as u32 ^ c[1] ^ k0, b as u32, (a >> 32) as u32 ^ c[3] ^ k1, a as u32];
        k0 = k0.wrapping_add(0x9E37_79B9);
        k1 = k1.wrapping_add(0xBB67_AE85);
    }
    c
}

/// A word as a float in [0, 1): negative words are complemented, and 31 bits scaled by a factor that cannot reach 1.
pub fn to_uniform(word: u32) -> f32 {
    let x = word as i32;
    let x = if x < 0 { !x } else { x };
    x as f32 * 4.656_612_7e-10
}

/// The uniform number at `offset`, from the first word of its block.
pub fn rand_f32(seed: u64, offset: u64) -> f32 {
    to_uniform(philox4x32(seed, offset)[0])
}

/// The normal number at `offset`: Box and Muller's cosine of the first two words of its block.
pub fn randn_f32(seed: u64, offset: u64) -> f32 {
    let words = philox4x32(seed, offset);
    let u = to_uniform(words[0]).max(1.0e-7);
    let angle = std::f32::consts::TAU * to_uniform(words[1]);
    (-2.0 * u.ln()).sqrt() * angle.cos()
}

/// The integer at `offset` in [low, high): the first two words (the first one low) modulo the size of the range.
/// `None` if the range is empty.
pub fn rand_int64(seed: u64, offset: u64, low: i64, high: i64) -> Option<i64> {
    if high <= low {
        return None;
    }
    let words = philox4x32(seed, offset);
    let bits = u64::from(words[0]) | u64::from(words[1]) << 32;
    let size = high.wrapping_sub(low) as u64;
    Some(low.wrapping_add((bits % size) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        // The vectors published with Random123 for counter and key zero.
        assert_eq!(philox4x32(0, 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    }

    #[test]
    fn uniform_numbers_stay_below_one() {
        assert!(to_uniform(0x7fff_ffff) < 1.0);
        assert!(to_uniform(0x8000_0000) < 1.0);
        assert_eq!(to_uniform(0xffff_ffff), 0.0);
        let n = 20_000;
        let mean = (0..n).map(|i| f64::from(rand_f32(42, i))).sum::<f64>() / n as f64;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
        let normal: Vec<f64> = (0..n).map(|i| f64::from(randn_f32(42, i))).collect();
        let variance = normal.iter().map(|x| x * x).sum::<f64>() / n as f64;
        assert!((variance - 1.0).abs() < 0.05, "{variance}");
        assert!((0..100).all(|i| rand_int64(1, i, -3, 4).is_some_and(|x| (-3..4).contains(&x))));
        assert_eq!(rand_int64(1, 0, 3, 3), None);
    }
}
