//! Work is bounded: deep and wide expressions, shared parts, text that means harm.

use rinductor_index::{Exprs, Ranges};

/// A chain of a hundred thousand operations, each on the one before.
#[test]
fn depth_takes_no_stack() {
    let mut ex = Exprs::new();
    let (mut e, step) = (ex.dim(0), ex.sym("s0"));
    for i in 0..100_000 {
        let next = if i % 2 == 0 { ex.modulo(e, step) } else { ex.floordiv(e, step) };
        let one = ex.dim(1);
        e = ex.add(next, one);
    }
    let value = ex.eval(e, |_| Some(3)).unwrap();
    assert_eq!(value, 4);
    let text = ex.display(e);
    assert!(text.len() > 1_000_000);
    assert!(ex.parse(&text).is_err(), "text of that size is refused");
    assert_eq!(ex.range(e, &Ranges::of_sizes(1)).lo, Some(0));
    let five = ex.int(5);
    let replaced = ex.subst(e, &[(rinductor_index::Atom::Dim(1), five)]);
    assert_eq!(ex.eval(replaced, |_| Some(3)), Ok(6));
}

/// A division that goes through all remainders within each other.
#[test]
fn division_takes_no_stack() {
    let mut ex = Exprs::new();
    let (k, moduli) = (ex.int(2), [ex.int(14), ex.int(6)]);
    let (mut plain, mut sums) = (ex.dim(0), ex.dim(0));
    for i in 0..50_000 {
        let other = ex.dim(1 + i % 7);
        plain = ex.modulo(plain, moduli[i as usize % 2]);
        let sum = ex.linear_sum(&[(1, sums), (2, other)], 0);
        sums = ex.modulo(sum, moduli[i as usize % 2]);
    }
    for e in [plain, sums] {
        let q = ex.floordiv(e, k);
        let (whole, half) = (ex.eval(e, |_| Some(11)).unwrap(), ex.eval(q, |_| Some(11)).unwrap());
        assert_eq!(whole.div_euclid(2), half);
    }
}

/// Sixty-four doublings: written out, 2^64 terms.
#[test]
fn shared_parts_are_visited_once() {
    let mut ex = Exprs::new();
    let mut e = ex.dim(0);
    let (seven, five) = (ex.int(7), ex.int(5));
    for _ in 0..64 {
        let (a, b) = (ex.modulo(e, seven), ex.floordiv(e, five));
        e = ex.mul(a, b);
        e = ex.add_int(e, 1);
    }
    let before = ex.len();
    ex.simplify(e, &Ranges::of_sizes(1));
    assert!(ex.len() < before + 20_000, "{} nodes", ex.len() - before);
    assert!(ex.cost(e) <= 64 * 4);
    assert!(ex.eval(e, |_| Some(100)).is_ok());
}

/// No text of the largest size makes more than a few nodes a word, and sums of many terms stay flat.
#[test]
fn nodes_are_bounded_by_words() {
    let many = |piece: &str, n: usize| vec![piece; n].join("");
    for text in [
        format!("0{}", many(" + s0 mod 7 + 7*(s0 floordiv 7)", 250)),
        format!("d0{}", many(" floordiv 3 mod 1000", 1000)),
        format!("d0{}", many("*(d1 + 1)", 600)),
        format!("d0{}", (0..600).map(|i| format!("*(d{i} + {i})")).collect::<String>()),
        format!("d0{}", (0..1000).map(|i| format!(" + {i}*d{i}")).collect::<String>()),
        format!("({}) floordiv 2 mod 3", (0..600).map(|i| format!("d{i} mod 4 + ")).collect::<String>() + "1"),
        format!("max(d0{})", (0..1000).map(|i| format!(", d{i} + {i}")).collect::<String>()),
    ] {
        let mut ex = Exprs::new();
        let e = ex.parse(&text).unwrap_or_else(|e| panic!("{}: {e}", &text[..40]));
        let words = text.split_whitespace().count() + text.matches(['*', '(']).count();
        assert!(ex.len() < 8 * words + 64, "{}: {} nodes for {words} words", &text[..40], ex.len());
        let again = ex.display(e);
        assert_eq!(ex.parse(&again), Ok(e), "{}", &text[..40]);
        ex.simplify(e, &Ranges::of_sizes(1));
        ex.expand(e);
    }
}

/// What is read can be written and read again, also where the canonical form is the larger.
#[test]
fn what_is_read_is_readable() {
    let mut ex = Exprs::new();
    for n in [10, 30, 100, 1000] {
        for piece in [" floordiv -2", " mod 14 mod 6", " mod -7", "*3*(s0 + s1) mod 7", " ceildiv s0"] {
            let text = format!("(d0{}) floordiv 2", piece.repeat(n));
            match ex.parse(&text) {
                Ok(e) => {
                    let shown = ex.display(e);
                    assert_eq!(ex.parse(&shown), Ok(e), "{n} times {piece}");
                }
                Err(e) => {
                    assert!(n > 30 && e.message.starts_with("in canonical form") || e.message.contains("words"), "{e}");
                }
            }
        }
    }
}

/// What a model's file repeats ten thousand times costs one node.
#[test]
fn equal_texts_share_their_nodes() {
    let mut ex = Exprs::new();
    let first = ex.parse("256*((((s53-1)//8))+1)**2").unwrap();
    let nodes = ex.len();
    for _ in 0..10_000 {
        assert_eq!(ex.parse("256*((((s53-1)//8))+1)**2"), Ok(first));
    }
    assert_eq!(ex.len(), nodes);
}
