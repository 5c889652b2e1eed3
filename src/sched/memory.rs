//! Places in an arena for buffers whose lifetimes are known: greedy by size, each at the lowest place that is free for its whole life
//! (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020: "greedy by size for offset calculation").

/// Alignment of every place: a cache line, and the widest vector.
pub const ALIGNMENT: u64 = 64;

/// How long a buffer of some bytes is in use: from op `first` to op `last`, both included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lifetime {
    /// Bytes.
    pub bytes: u64,
    /// The op that makes it.
    pub first: usize,
    /// The last op that uses it.
    pub last: usize,
}

/// The offset of each buffer, and the bytes of the arena.
pub fn place(lifetimes: &[Lifetime]) -> (Vec<u64>, u64) {
    let mut order: Vec<usize> = (0..lifetimes.len()).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(lifetimes[i].bytes), i));
    let mut offsets = vec![0; lifetimes.len()];
    // Placed buffers by offset.
    let mut placed: Vec<usize> = Vec::new();
    let mut total = 0;
    for i in order {
        let l = lifetimes[i];
        let mut at = 0u64;
        for &p in &placed {
            let other = lifetimes[p];
            if other.last < l.first || l.last < other.first {
                continue;
            }
            if at + l.bytes <= offsets[p] {
                break;
            }
            at = at.max((offsets[p] + other.bytes).next_multiple_of(ALIGNMENT));
        }
        offsets[i] = at;
        total = total.max(at + l.bytes);
        let slot = placed.partition_point(|&p| offsets[p] <= at);
        placed.insert(slot, i);
    }
    (offsets, total.next_multiple_of(ALIGNMENT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_that_live_together_do_not_overlap_and_others_share() {
        let l = |bytes, first, last| Lifetime { bytes, first, last };
        let lives = [l(100, 0, 1), l(100, 1, 2), l(100, 2, 3), l(40, 0, 3), l(1000, 4, 5)];
        let (offsets, total) = place(&lives);
        assert_eq!(total, 1024);
        for i in 0..lives.len() {
            assert_eq!(offsets[i] % ALIGNMENT, 0);
            for j in 0..i {
                let (a, b) = (lives[i], lives[j]);
                let together = a.first <= b.last && b.first <= a.last;
                let apart = offsets[i] + a.bytes <= offsets[j] || offsets[j] + b.bytes <= offsets[i];
                assert!(!together || apart, "{i} and {j}");
            }
        }
    }
}
