//! What a tensor compiler asks: views of views vanish, bounds are proved, strides are found, with static and symbolic sizes.

use rinductor_index::{Atom, Exprs, Ranges};

/// `d0`, `d1`, … are below these extents; symbols are at least 1.
fn setup(extents: &[&str]) -> (Exprs, Ranges) {
    let mut ex = Exprs::new();
    let mut env = Ranges::of_sizes(1);
    for (d, extent) in extents.iter().enumerate() {
        let extent = ex.parse(extent).unwrap();
        env.set_extent(d as u32, extent);
    }
    (ex, env)
}

#[track_caller]
fn simplifies(extents: &[&str], from: &str, to: &str) {
    let (mut ex, env) = setup(extents);
    let e = ex.parse(from).unwrap();
    let s = ex.simplify(e, &env);
    assert_eq!(ex.display(s), to, "{from} in {extents:?}");
}

#[test]
fn split_of_a_merge() {
    // [8, 16] viewed as [128], viewed as [8, 16].
    simplifies(&["8", "16"], "(16*d0 + d1) floordiv 16", "d0");
    simplifies(&["8", "16"], "(16*d0 + d1) mod 16", "d1");
    // [8, 16] as [128] as [32, 4].
    simplifies(&["32", "4"], "(4*d0 + d1) floordiv 16", "d0 floordiv 4");
    simplifies(&["32", "4"], "(4*d0 + d1) mod 16", "d1 + 4*(d0 mod 4)");
    // [4, 6, 5] as [120] and back.
    simplifies(&["4", "6", "5"], "(30*d0 + 5*d1 + d2) floordiv 5 mod 6", "d1");
    simplifies(&["4", "6", "5"], "(30*d0 + 5*d1 + d2) floordiv 30", "d0");
    simplifies(&["4", "6", "5"], "(30*d0 + 5*d1 + d2) mod 5", "d2");
}

#[test]
fn merge_of_a_split() {
    simplifies(&["128"], "16*(d0 floordiv 16) + d0 mod 16", "d0");
    simplifies(&["120"], "30*(d0 floordiv 30) + 5*(d0 floordiv 5 mod 6) + d0 mod 5", "d0");
    simplifies(&["120", "7"], "7*(30*(d0 floordiv 30) + 5*(d0 floordiv 5 mod 6) + d0 mod 5) + d1", "7*d0 + d1");
    simplifies(&["120", "s0"], "s0*(8*(d0 floordiv 8) + d0 mod 8) + d1", "d0*s0 + d1");
    simplifies(&["120", "s0"], "8*s0*(d0 floordiv 8) + s0*(d0 mod 8) + d1", "d0*s0 + d1");
    // Without knowing the extent.
    simplifies(&["s0"], "4*(d0 floordiv 4 mod 8) + d0 mod 4", "d0 mod 32");
    // A merged index taken apart another way, and put together.
    simplifies(&["9", "3"], "2*((3*d0 + d1) floordiv 2) + (3*d0 + d1) mod 2", "3*d0 + d1");
    simplifies(
        &["9", "3"],
        "8*((3*d0 + d1) floordiv 8) + 2*((3*d0 + d1) floordiv 2 mod 4) + (3*d0 + d1) mod 2",
        "3*d0 + d1",
    );
}

#[test]
fn symbolic_views() {
    simplifies(&["s0", "s1"], "(d0*s1 + d1) floordiv s1", "d0");
    simplifies(&["s0", "s1"], "(d0*s1 + d1) mod s1", "d1");
    simplifies(&["s0", "s1", "s2"], "((d0*s1 + d1)*s2 + d2) floordiv (s1*s2)", "d0");
    simplifies(&["s0", "s1", "s2"], "((d0*s1 + d1)*s2 + d2) mod (s1*s2)", "d1*s2 + d2");
    simplifies(&["s0", "s1", "s2"], "((d0*s1 + d1)*s2 + d2) floordiv s2 mod s1", "d1");
    simplifies(&["s0", "s1", "s2"], "((d0*s1 + d1)*s2 + d2) mod s2", "d2");
    simplifies(&["s0", "12", "64"], "(768*d0 + 64*d1 + d2) floordiv 768", "d0");
    simplifies(&["s0", "12", "s1"], "(12*s1*d0 + s1*d1 + d2) floordiv (12*s1)", "d0");
    simplifies(&["s0", "12", "s1"], "(12*s1*d0 + s1*d1 + d2) floordiv s1 mod 12", "d1");
    simplifies(&["s0", "(s1 - 1)//8 + 1"], "(d0*((s1 + 7)//8) + d1) mod ((s1 + 7)//8)", "d1");
    simplifies(&["s0", "s1 + 1"], "(d0*(s1 + 1) + d1) floordiv (s1 + 1)", "d0");
    simplifies(&["s0", "s0"], "s1*(d0 floordiv s1) + d0 mod s1", "d0");
    simplifies(&["s0*s1"], "s1*(d0 floordiv s1) + d0 mod s1", "d0");
}

#[test]
fn broadcast_and_single_points() {
    simplifies(&["1", "5"], "5*d0 + d1", "d1");
    simplifies(&["5"], "d0 mod 5", "d0");
    simplifies(&["5"], "d0 floordiv 5", "0");
    simplifies(&["5"], "(d0 - 5) floordiv 5", "-1");
    simplifies(&["5"], "max(d0, 0)", "d0");
    simplifies(&["5"], "min(max(d0 - 1, 0), 4)", "max(d0 - 1, 0)");
    simplifies(&[], "max(s0, 1)", "s0");
    simplifies(&[], "max(1, s0*s1)", "s0*s1");
    simplifies(&[], "max(s0, s0 + s1)", "s0 + s1");
}

#[test]
fn divisibility() {
    let (mut ex, mut env) = setup(&["s0", "s0"]);
    let s0 = ex.sym_id("s0");
    env.set_divisible(Atom::Sym(s0), 8);
    for (from, to) in [
        ("s0 mod 8", "0"),
        ("s0 mod 4", "0"),
        ("8*(s0 floordiv 8)", "s0"),
        ("16*(s0 floordiv 8)", "2*s0"),
        ("(s0*d0 + 3) mod 8", "3"),
        ("(s0 + 7) floordiv 8", "s0 floordiv 8"),
        ("8*((s0 + 7) floordiv 8)", "s0"),
        ("(s0*d0 + d1 mod 8) floordiv 8", "d0*s0 floordiv 8"),
    ] {
        let e = ex.parse(from).unwrap();
        let s = ex.simplify(e, &env);
        let to = ex.parse(to).map(|e| ex.display(e)).unwrap();
        assert_eq!(ex.display(s), to, "{from}");
    }
    let s0 = ex.sym("s0");
    let e = ex.scale(s0, 3);
    assert!(ex.divisible_by(e, 24, &env) && !ex.divisible_by(e, 16, &env) && !ex.divisible_by(e, 0, &env));
}

#[test]
fn bounds() {
    for (extents, index, size, proved) in [
        (&["8", "16"][..], "16*d0 + d1", "128", Some(true)),
        (&["8", "16"], "16*d0 + d1", "127", None),
        (&["8", "16"], "16*d0 + d1 + 128", "128", Some(false)),
        (&["8"], "d0 - 8", "8", Some(false)),
        (&["s0"], "d0", "s0", Some(true)),
        (&["s0"], "d0 + 1", "s0", None),
        (&["s0"], "d0 + s0", "s0", Some(false)),
        (&["s0", "s1"], "d0*s1 + d1", "s0*s1", Some(true)),
        (&["s0", "s1", "s2"], "(d0*s1 + d1)*s2 + d2", "s0*s1*s2", Some(true)),
        (&["s0"], "d0 floordiv 4", "s0 ceildiv 4", Some(true)),
        (&["s0"], "s1*(d0 floordiv s1)", "s0", Some(true)),
        (&["s0"], "4*(d0 floordiv 4)", "s0", Some(true)),
        (&["s0"], "d0 mod s1", "s1", Some(true)),
        (&["s0*s1"], "d0 floordiv s1", "s0", Some(true)),
        (&["s0*s1"], "d0 mod s1", "s0*s1", Some(true)),
        (&["s0"], "s0 - 1 - d0", "s0", Some(true)),
        (&["s0"], "min(d0 + 1, s0 - 1)", "s0", Some(true)),
        (&["s0"], "max(d0 - 1, 0)", "s0", Some(true)),
    ] {
        let (mut ex, env) = setup(extents);
        let (e, size) = (ex.parse(index).unwrap(), ex.parse(size).unwrap());
        let found = ex.prove_in_bounds(e, size, &env);
        assert_eq!(found, proved, "{index} below {} in {extents:?}", ex.display(size));
    }
}

#[test]
fn comparisons_of_sizes() {
    let (mut ex, env) = setup(&[]);
    let mut parse = |text: &str| ex.parse(text).unwrap();
    let cases = [
        (parse("s0*s1 + s1"), parse("s1*(s0 + 1)"), Some(true)),
        (parse("(s0 + s1)**2"), parse("s0**2 + 2*s0*s1 + s1**2"), Some(true)),
        (parse("s0"), parse("s0 + 1"), Some(false)),
        (parse("s0"), parse("s1"), None),
        (parse("2*s0"), parse("2*s1 + 1"), Some(false)),
        (parse("s0 + s1"), parse("s0"), Some(false)),
        (parse("((s0 - 1)//8) + 1"), parse("CeilToInt(IntTrueDiv(s0, 8))"), Some(true)),
        (parse("max(1, s0)"), parse("s0"), Some(true)),
    ];
    for (a, b, equal) in cases {
        assert_eq!(ex.prove_eq(a, b, &env), equal, "{} and {}", ex.display(a), ex.display(b));
    }
    let (a, b) = (ex.parse("s0 + s1 - 1").unwrap(), ex.parse("s0*s1").unwrap());
    assert_eq!(ex.prove_le(a, b, &env), Some(true), "(s0 - 1)*(s1 - 1) is not negative");
}

#[test]
fn strides_of_an_index() {
    let (mut ex, _) = setup(&[]);
    let e = ex.parse("((d0*s1 + d1)*s2 + d2)*2 + d0 + s3 - 1").unwrap();
    let (strides, rest) = ex.strides(e, 4).unwrap();
    let shown: Vec<String> = strides.into_iter().chain([rest]).map(|e| ex.display(e)).collect();
    assert_eq!(shown, ["2*s1*s2 + 1", "2*s2", "2", "0", "s3 - 1"]);
    for not_linear in ["d0*d1", "d0 mod 4", "d0**2", "max(d0, 1)"] {
        let e = ex.parse(not_linear).unwrap();
        assert_eq!(ex.strides(e, 2), None, "{not_linear}");
    }
    let e = ex.parse("d1 mod 4 + 3*d0").unwrap();
    let (stride, rest) = ex.linear_in(e, Atom::Dim(0)).unwrap();
    assert_eq!((ex.display(stride), ex.display(rest)), ("3".to_owned(), "d1 mod 4".to_owned()));
}

#[test]
fn atoms_and_cost() {
    let (mut ex, _) = setup(&[]);
    let e = ex.parse("2*d1 + (d1 + s0) floordiv 4").unwrap();
    let s0 = ex.sym_id("s0");
    assert_eq!(ex.atoms(e).collect::<Vec<_>>(), [Atom::Dim(1), Atom::Sym(s0)]);
    assert_eq!(ex.cost(e), 4);
    let replaced = {
        let five = ex.int(5);
        ex.subst(e, &[(Atom::Sym(s0), five)])
    };
    assert_eq!(ex.display(replaced), "2*d1 + (d1 + 1) floordiv 4 + 1");
    // All at once: the new d0 is not the old one.
    let (d0, e) = (ex.dim(0), ex.parse("max(d0 - 1, s0)").unwrap());
    let next = ex.add_int(d0, 1);
    let replaced = ex.subst(e, &[(Atom::Dim(0), next)]);
    assert_eq!(ex.display(replaced), "max(d0, s0)");
}
