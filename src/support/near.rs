//! Names that may have been meant by one that is not known.

/// Longer names are not compared: the work grows with the product of the lengths.
const MAX_LEN: usize = 64;
/// How many names are proposed at most.
const MAX_NAMES: usize = 3;

/// The candidates nearest to a name, nearest first: those that it begins, and those that few changes of letters make of it.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    if name.is_empty() || name.len() > MAX_LEN {
        return Vec::new();
    }
    let limit = (name.len() / 4).clamp(1, 3);
    let mut found: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter(|c| *c != name && c.len() <= MAX_LEN)
        .filter_map(|c| {
            let rest = c.strip_prefix(name);
            let distance = if rest.is_some_and(|r| r.starts_with('.')) { 0 } else { distance(name, c, limit)? };
            Some((distance, c))
        })
        .collect();
    found.sort_unstable();
    found.truncate(MAX_NAMES);
    found.into_iter().map(|(_, c)| c).collect()
}

/// `did you mean 'a', 'b' or 'c'?`; None if nothing is near.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let names: Vec<String> = nearest(name, candidates).into_iter().map(|n| format!("'{n}'")).collect();
    let (last, first) = names.split_last()?;
    Some(match first {
        [] => format!("did you mean {last}?"),
        _ => format!("did you mean {} or {last}?", first.join(", ")),
    })
}

/// The number of letters to put in, take out, change or exchange with their neighbour that makes one name of the other, up to `limit`.
fn distance(a: &str, b: &str, limit: usize) -> Option<usize> {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = change.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        if row.iter().all(|&d| d > limit) {
            return None;
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().filter(|&d| d <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_come_first() {
        let names = ["aten.add.Tensor", "aten.add.Scalar", "aten.addmm", "aten.abs", "arith.addf", "arith.addi"];
        assert_eq!(nearest("arith.adf", names), ["arith.addf", "arith.addi"]);
        assert_eq!(nearest("aten.add", names), ["aten.add.Scalar", "aten.add.Tensor", "aten.abs"]);
        assert_eq!(nearest("aten.dad.Tensor", names), ["aten.add.Tensor"]);
        assert_eq!(nearest("tosa.matmul", names), Vec::<&str>::new());
        assert_eq!(did_you_mean("arith.adf", names).as_deref(), Some("did you mean 'arith.addf' or 'arith.addi'?"));
        assert_eq!(did_you_mean("xx", names), None);
        assert_eq!(nearest(&"a".repeat(100_000), names), Vec::<&str>::new());
    }
}
