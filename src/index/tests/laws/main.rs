//! The laws of index expressions, by enumeration: random expressions with fixed seeds, all points of small ranges.

mod random;

use random::{Points, Random, Tree};
use rinductor_index::{Atom, EvalError, Expr, Exprs, Range, Ranges, Spelling};

/// How many expressions each law is tried on.
const COUNT: u64 = 3000;

/// Runs `law` on expressions of growing size; `law` gets the arena, the tree as generated, and its expression.
fn each(first_seed: u64, mut law: impl FnMut(&mut Exprs, &Tree, Expr, &mut Random, u64)) {
    let mut ex = Exprs::new();
    for seed in first_seed..first_seed + COUNT {
        let mut random = Random::new(seed);
        let tree = Tree::random(&mut random, 1 + (seed % 5) as u32);
        let e = tree.build(&mut ex);
        law(&mut ex, &tree, e, &mut random, seed);
        if seed % 500 == 0 {
            ex = Exprs::new();
        }
    }
}

fn env(ex: &mut Exprs, points: &Points) -> Ranges {
    let mut env = Ranges::new();
    for (i, name) in random::NAMES.iter().enumerate() {
        let atom = random::atom(ex, name);
        env.set(atom, Range::new(points.lo[i], points.hi[i]));
        env.set_congruence(atom, points.modulus[i], points.residue[i]);
    }
    env
}

fn value(ex: &Exprs, e: Expr, point: &[i64; 4]) -> Result<i64, EvalError> {
    ex.eval(e, |atom| {
        Some(match atom {
            Atom::Dim(d) => point[d as usize],
            Atom::Sym(s) => point[if ex.sym_name(s) == "s0" { 2 } else { 3 }],
        })
    })
}

#[test]
fn canonical_forms_keep_values() {
    each(1, |ex, tree, e, random, seed| {
        for point in Points::random(random).all() {
            if let Some(v) = tree.value(&point) {
                let v = i64::try_from(v).unwrap();
                assert_eq!(value(ex, e, &point), Ok(v), "seed {seed}: {tree:?} became {} at {point:?}", ex.display(e));
            }
        }
    });
}

#[test]
fn large_numbers_are_right_or_an_error() {
    let mut known = 0;
    each(80_001, |ex, _, _, random, seed| {
        let tree = Tree::random(random, 1 + (seed % 4) as u32).enlarged(random);
        let e = tree.build(ex);
        let shown = ex.display(e);
        assert_eq!(ex.parse(&shown), Ok(e), "seed {seed}: {tree:?}");
        let points = Points::random(random);
        let env = env(ex, &points);
        let (s, expanded, range) = (ex.simplify(e, &env), ex.expand(e), ex.range(e, &env));
        for point in points.all().step_by(7) {
            let Some(v) = tree.value(&point) else { continue };
            for e in [e, s, expanded] {
                match value(ex, e, &point) {
                    Ok(found) => {
                        known += 1;
                        assert_eq!(i128::from(found), v, "seed {seed}: {shown} became {} at {point:?}", ex.display(e));
                        assert!(
                            range.contains(found),
                            "seed {seed}: {shown} is {found} at {point:?}, not in {range:?}"
                        );
                    }
                    Err(error) => assert_eq!(error, EvalError::Overflow, "seed {seed}: {shown} at {point:?}"),
                }
            }
        }
    });
    assert!(known > 10 * COUNT, "only {known} values");
}

#[test]
fn simplification_keeps_values() {
    let mut smaller = 0;
    each(10_001, |ex, _, e, random, seed| {
        let points = Points::random(random);
        let env = env(ex, &points);
        let s = ex.simplify(e, &env);
        smaller += u64::from(ex.cost(s) < ex.cost(e));
        for point in points.all() {
            if let Ok(v) = value(ex, e, &point) {
                let shown = (ex.display(e), ex.display(s));
                assert_eq!(value(ex, s, &point), Ok(v), "seed {seed}: {shown:?} at {point:?} in {points:?}");
            }
        }
    });
    assert!(smaller > COUNT / 4, "only {smaller} expressions became smaller");
}

#[test]
fn simplification_is_idempotent() {
    each(20_001, |ex, _, e, random, seed| {
        let points = Points::random(random);
        let env = env(ex, &points);
        let once = ex.simplify(e, &env);
        let twice = ex.simplify(once, &env);
        let shown = [e, once, twice].map(|e| ex.display(e));
        assert_eq!(once, twice, "seed {seed}: {shown:?} in {points:?}");
    });
}

#[test]
fn ranges_and_congruences_hold() {
    each(30_001, |ex, _, e, random, seed| {
        let points = Points::random(random);
        let env = env(ex, &points);
        let (range, congruence) = (ex.range(e, &env), ex.congruence(e, &env));
        for point in points.all() {
            if let Ok(v) = value(ex, e, &point) {
                let holds = match congruence.modulus {
                    0 => v == congruence.residue,
                    m => v.rem_euclid(m) == congruence.residue,
                };
                let shown = ex.display(e);
                assert!(
                    range.contains(v) && holds,
                    "seed {seed}: {shown} is {v} at {point:?}: {range:?} {congruence:?}"
                );
            }
        }
    });
}

#[test]
fn proofs_hold() {
    let mut proved = 0;
    each(40_001, |ex, _, a, random, seed| {
        let tree = Tree::random(random, 2);
        let b = tree.build(ex);
        let points = Points::random(random);
        let mut env = env(ex, &points);
        // A dimension below a symbol, as in a loop over a symbolic size.
        let s0 = ex.sym("s0");
        env.set_extent(0, s0);
        let facts = [
            ("==", ex.prove_eq(a, b, &env)),
            ("<=", ex.prove_le(a, b, &env)),
            ("<", ex.prove_lt(a, b, &env)),
            ("in bounds of", ex.prove_in_bounds(a, b, &env)),
        ];
        proved += facts.iter().filter(|f| f.1.is_some()).count();
        for point in points.all().filter(|p| p[0] >= 0 && p[0] < p[2]) {
            let (Ok(x), Ok(y)) = (value(ex, a, &point), value(ex, b, &point)) else { continue };
            for (law, claim) in facts {
                let truth = match law {
                    "==" => x == y,
                    "<=" => x <= y,
                    "<" => x < y,
                    _ => (0..y).contains(&x),
                };
                let shown = (ex.display(a), law, ex.display(b));
                assert!(claim.is_none_or(|c| c == truth), "seed {seed}: {shown:?} at {point:?} in {points:?}");
            }
        }
    });
    assert!(proved as u64 > COUNT, "only {proved} facts were proved");
}

#[test]
fn linear_parts_and_expansions_add_up() {
    each(50_001, |ex, _, e, random, seed| {
        let expanded = ex.expand(e);
        let parts = ex.linear_in(e, Atom::Dim(0));
        for point in Points::random(random).all() {
            let Ok(v) = value(ex, e, &point) else { continue };
            let shown = ex.display(e);
            assert_eq!(value(ex, expanded, &point), Ok(v), "seed {seed}: {shown} is not {}", ex.display(expanded));
            if let Some((stride, rest)) = parts {
                let (Ok(s), Ok(r)) = (value(ex, stride, &point), value(ex, rest, &point)) else {
                    panic!("seed {seed}: {shown}: a part has no value at {point:?}");
                };
                assert_eq!(s * point[0] + r, v, "seed {seed}: {shown} at {point:?}");
                assert!(!ex.contains(stride, Atom::Dim(0)) && !ex.contains(rest, Atom::Dim(0)));
            }
        }
    });
}

#[test]
fn substitution_is_evaluation() {
    each(60_001, |ex, _, e, random, seed| {
        let with = Tree::random(random, 2);
        let new = with.build(ex);
        let s = ex.subst(e, &[(Atom::Dim(1), new)]);
        for point in Points::random(random).all() {
            let Some(inner) = with.value(&point) else { continue };
            let mut moved = point;
            moved[1] = i64::try_from(inner).unwrap();
            if let Ok(v) = value(ex, e, &moved) {
                let shown = (ex.display(e), ex.display(new), ex.display(s));
                assert_eq!(value(ex, s, &point), Ok(v), "seed {seed}: {shown:?} at {point:?}");
            }
        }
    });
}

#[test]
fn text_is_read_back() {
    each(70_001, |ex, _, e, _, seed| {
        for spelling in [Spelling::Ours, Spelling::Sympy] {
            let mut text = String::new();
            ex.write(&mut text, e, spelling, |d| format!("d{d}")).unwrap();
            let again = ex.parse(&text).unwrap_or_else(|e| panic!("seed {seed}: {text}: {e}"));
            assert_eq!(again, e, "seed {seed}: {text} was read as {}", ex.display(again));
            let mut fresh = Exprs::new();
            let again = fresh.parse(&text).unwrap();
            let mut second = String::new();
            fresh.write(&mut second, again, spelling, |d| format!("d{d}")).unwrap();
            assert_eq!(second, text, "seed {seed}");
        }
    });
}

#[test]
fn import_is_the_same_expression() {
    each(90_001, |ex, _, e, _, seed| {
        let mut other = Exprs::new();
        other.sym("s1");
        let there = other.import(ex, e);
        assert_eq!(other.display(there), ex.display(e), "seed {seed}");
        assert_eq!(ex.import(&other, there), e, "seed {seed}: {}", ex.display(e));
    });
}

#[test]
fn no_text_panics() {
    let words = [
        "d0",
        "s0",
        "s1",
        "%i",
        "%3",
        "1",
        "0",
        "7",
        "9223372036854775807",
        "9223372036854775808",
        "+",
        "-",
        "*",
        "**",
        "/",
        "//",
        "%",
        "(",
        ")",
        ",",
        "Mod(",
        "Max(",
        "floor(",
        "CeilToInt(",
        "IntTrueDiv(",
        "floordiv",
        "mod",
        "ceildiv",
        "min(",
        "é",
        "\0",
        ".",
        " ",
    ];
    let mut ex = Exprs::new();
    let mut read = 0;
    for seed in 0..20_000 {
        let mut random = Random::new(seed);
        let count = 1 + random.below(12);
        let text: String = (0..count).map(|_| words[random.below(words.len() as u64) as usize]).collect();
        match ex.parse(&text) {
            Ok(e) => {
                read += 1;
                let shown = ex.display(e);
                assert!(!shown.is_empty());
                let mut env = Ranges::of_sizes(1);
                env.set_dim(0, 0, Some(9));
                ex.simplify(e, &env);
            }
            Err(e) => assert!(e.span.start <= e.span.end && e.span.end <= text.len(), "{text}: {:?}", e.span),
        }
    }
    assert!(read > 200, "only {read} texts were expressions");
}
