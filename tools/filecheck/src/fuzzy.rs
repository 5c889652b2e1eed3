//! The place in the input that looks most like what was not found.

/// How far from the start of the search places are tried.
const WINDOW: usize = 4096;
/// The longest pattern that is compared with a whole window.
const MAX_PATTERN: usize = 2048;
/// A place that is this far off is no help.
const WORST: f64 = 50.0;

/// The place in `text` where the least editing would give `example`, if one is near enough and not the very first. Each
/// further line counts as a hundredth of an edit.
pub fn nearest(text: &[u8], example: &[u8]) -> Option<usize> {
    let window = text.len().min(WINDOW);
    if WINDOW * MAX_PATTERN < window * example.len() {
        return None;
    }
    let mut best: Option<(usize, f64)> = None;
    let mut lines = 0u32;
    let mut rows = Vec::new();
    for at in 0..window {
        if text[at] == b'\n' {
            lines += 1;
        }
        if text[at] == b' ' || text[at] == b'\t' {
            continue;
        }
        let worst = best.map_or(WORST, |(_, quality)| quality);
        let skipped = f64::from(lines) / 100.0;
        let line = &text[at..text.len().min(at + example.len())];
        let line = &line[..memchr::memchr(b'\n', line).unwrap_or(line.len())];
        // No distance beyond this could be better.
        let bound = (worst - skipped).max(0.0).ceil() as usize;
        if let Some(distance) = distance_within(line, example, bound, &mut rows) {
            let quality = distance as f64 + skipped;
            if quality < worst {
                best = Some((at, quality));
            }
        }
    }
    best.map(|(at, _)| at).filter(|&at| at != 0)
}

/// The number of insertions, deletions and replacements between two texts, if it is at most `bound`.
fn distance_within(left: &[u8], right: &[u8], bound: usize, row: &mut Vec<usize>) -> Option<usize> {
    if left.len().abs_diff(right.len()) > bound {
        return None;
    }
    const FAR: usize = usize::MAX / 2;
    row.clear();
    row.extend((0..=right.len()).map(|column| if column <= bound { column } else { FAR }));
    for (number, &byte) in left.iter().enumerate() {
        // Only columns within `bound` of the diagonal can have a distance within it.
        let first = (number + 1).saturating_sub(bound);
        let last = right.len().min(number + 1 + bound);
        let mut diagonal = if first == 0 { row[0] } else { row[first - 1] };
        if first == 0 {
            row[0] = number + 1;
        } else {
            row[first - 1] = FAR;
        }
        let mut smallest = FAR;
        for column in first.max(1)..=last {
            let replaced = diagonal + usize::from(right[column - 1] != byte);
            diagonal = row[column];
            row[column] = replaced.min(row[column] + 1).min(row[column - 1] + 1);
            smallest = smallest.min(row[column]);
        }
        if smallest.min(if first == 0 { row[0] } else { FAR }) > bound {
            return None;
        }
        if let Some(beyond) = row.get_mut(last + 1) {
            *beyond = FAR;
        }
    }
    row.last().copied().filter(|&distance| distance <= bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain_distance(left: &[u8], right: &[u8]) -> usize {
        let mut row: Vec<usize> = (0..=right.len()).collect();
        for (number, byte) in left.iter().enumerate() {
            let mut diagonal = std::mem::replace(&mut row[0], number + 1);
            for column in 1..=right.len() {
                let replaced = diagonal + usize::from(right[column - 1] != *byte);
                diagonal = row[column];
                row[column] = replaced.min(row[column] + 1).min(row[column - 1] + 1);
            }
        }
        row[right.len()]
    }

    #[test]
    fn the_bounded_distance_is_the_distance() {
        let words = ["", "a", "abc", "abd", "xabc", "kitten", "sitting", "flaw", "lawn", "aaaaaaaa", "aabaabaa"];
        let mut row = Vec::new();
        for left in words {
            for right in words {
                let plain = plain_distance(left.as_bytes(), right.as_bytes());
                for bound in 0..10 {
                    let bounded = distance_within(left.as_bytes(), right.as_bytes(), bound, &mut row);
                    assert_eq!(bounded, Some(plain).filter(|&d| d <= bound), "{left} {right} {bound}");
                }
            }
        }
    }

    #[test]
    fn the_nearest_line_is_found() {
        assert_eq!(nearest(b"abc\nmul x\nadd y\n", b"add x"), Some(10));
        assert_eq!(nearest(b"add y\n", b"add x"), None);
        assert_eq!(nearest(b"", b"add x"), None);
    }
}
