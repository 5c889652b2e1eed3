//! The spellings that are read and the one that is written.

use rinductor_index::{Exprs, MAX_DEPTH, Spelling};

fn read(text: &str) -> String {
    let mut ex = Exprs::new();
    let e = ex.parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    ex.display(e)
}

fn refuse(text: &str) -> (std::ops::Range<usize>, String) {
    let mut ex = Exprs::new();
    match ex.parse(text) {
        Ok(e) => panic!("{text} was read as {}", ex.display(e)),
        Err(e) => (e.span, e.message),
    }
}

#[test]
fn canonical_text() {
    for (text, shown) in [
        ("2*s0 + 1", "2*s0 + 1"),
        ("1+s0*2", "2*s0 + 1"),
        ("s10 + s2 + d1 + d0", "d0 + d1 + s2 + s10"),
        ("s0 - s0", "0"),
        ("-s0", "-s0"),
        ("3 - s0*s1", "-s0*s1 + 3"),
        ("s0**2 + s0", "s0**2 + s0"),
        ("2*(s0 + 1)", "2*s0 + 2"),
        ("s1*(2*s0 + 2)", "2*s1*(s0 + 1)"),
        ("s1*(1 - s0)", "-s1*(s0 - 1)"),
        ("d0 floordiv 4", "d0 floordiv 4"),
        ("4*(d0 floordiv 4)", "4*(d0 floordiv 4)"),
        ("4*d0 floordiv 4", "d0"),
        ("d0 mod 4 + d1", "d1 + d0 mod 4"),
        ("-d0 floordiv 4", "(-d0) floordiv 4"),
        ("-(d0 floordiv 4)", "-(d0 floordiv 4)"),
        ("max(s0, 1)", "max(s0, 1)"),
        ("max(1, max(s0, 3), s0 + 2)", "max(s0 + 2, 3)"),
        ("min(s0, s0)", "s0"),
        ("(-7)//2", "-4"),
        ("-7//2", "-4"),
        ("-7 % 4", "1"),
        ("7 mod -4", "-1"),
        ("7 ceildiv 2", "4"),
        ("s0//-2", "(-s0) floordiv 2"),
        ("-2**2", "-4"),
        ("2**3**2", "512"),
    ] {
        assert_eq!(read(text), shown, "{text}");
    }
}

#[test]
fn sympy_spellings() {
    for (text, ours) in [
        ("s0//2", "s0 floordiv 2"),
        ("(s0//2)", "s0 floordiv 2"),
        ("Mod(s0, 8)", "s0 mod 8"),
        ("Mod(s0,8)", "s0 mod 8"),
        ("PythonMod(s0, 8)", "s0 mod 8"),
        ("s0%8", "s0 mod 8"),
        ("s0 % s1", "s0 mod s1"),
        ("s0%s1", "s0 mod s1"),
        ("Max(1,s0)", "max(s0, 1)"),
        ("Min(s0, s1)", "min(s0, s1)"),
        ("FloorDiv(s0, 2)", "s0 floordiv 2"),
        ("CleanDiv(s0, 2)", "s0 floordiv 2"),
        ("CeilToInt(IntTrueDiv(s0, 2))", "(s0 + 1) floordiv 2"),
        ("CeilToInt(s0/2)", "(s0 + 1) floordiv 2"),
        ("ceiling(s0/2 + s1/3)", "(3*s0 + 2*s1 + 5) floordiv 6"),
        ("floor(s0/2 - 1/2)", "(s0 + 1) floordiv 2 - 1"),
        ("FloorToInt(s0/s1)", "s0 floordiv s1"),
        ("2*s0/2", "s0"),
        ("ModularIndexing(s0, 4, 8)", "s0 floordiv 4 mod 8"),
        ("Pow(s0, 2)", "s0**2"),
        ("PowByNatural(s0, 2)", "s0**2"),
        ("256*((((s53-1)//8))+1)**2", "256*((s53 + 7) floordiv 8)**2"),
    ] {
        let mut ex = Exprs::new();
        let left = ex.parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        let right = ex.parse(ours).unwrap_or_else(|e| panic!("{ours}: {e}"));
        assert_eq!(left, right, "{text} is {}", ex.display(left));
    }
}

#[test]
fn written_for_sympy() {
    let mut ex = Exprs::new();
    let e = ex.parse("4*(d0 floordiv 4) + max(d0 mod s0, 1)*s1").unwrap();
    let mut text = String::new();
    ex.write(&mut text, e, Spelling::Sympy, |d| format!("i{d}")).unwrap();
    assert_eq!(text, "s1*Max(Mod(i0, s0), 1) + 4*(i0//4)");
}

#[test]
fn names_are_resolved_by_the_caller() {
    let mut ex = Exprs::new();
    let names = |ex: &mut Exprs, name: &str| match name {
        "%i" => Some(ex.dim(0)),
        "%4" => Some(ex.dim(1)),
        "s0" => Some(ex.sym("s0")),
        _ => None,
    };
    let e = ex.parse_with("%4*s0 + %i%4 + %i%s0", names).unwrap();
    assert_eq!(ex.display(e), "d1*s0 + d0 mod 4 + d0 mod s0");
    let error = ex.parse_with("1 + %j", names).unwrap_err();
    assert_eq!((error.span, error.message.as_str()), (4..6, "nothing here is named '%j'"));
}

#[test]
fn refusals_say_where() {
    for (text, span, message) in [
        ("", 0..0, "expected an index expression, found the end"),
        ("s0 +", 4..4, "expected an index expression, found the end"),
        ("s0 s1", 3..5, "expected an operator, found 's1'"),
        ("(s0", 3..3, "expected ')', found the end"),
        ("s0 ? 1", 3..4, "'?' does not belong in an index expression"),
        ("s0/2 + 1", 0..8, "a quotient that may not be an integer: write floordiv, floor or CeilToInt"),
        ("1/s0 + 1/s1", 0..11, "a sum of quotients with different divisors"),
        ("s0**s1", 4..6, "an exponent has to be a number from 0 to 4294967295"),
        ("s0**-1", 4..6, "an exponent has to be a number from 0 to 4294967295"),
        ("foo(s0)", 0..3, "'foo' is not a function of index expressions"),
        ("Mod(s0)", 0..3, "'Mod' takes 2 arguments"),
        ("9223372036854775808", 0..19, "an integer is out of range"),
    ] {
        assert_eq!(refuse(text), (span, message.to_owned()), "{text}");
    }
}

#[test]
fn depth_is_bounded() {
    for open in ["(", "Mod(1, ", "2**(", "-("] {
        let text = open.repeat(100_000);
        let text = text.get(..12_000).unwrap_or(&text);
        let error = refuse(text);
        assert!(error.1.contains("nest at most") || error.1.contains("words"), "{open}: {}", error.1);
    }
    let deep = |n: usize| format!("{}s0{}", "Mod(".repeat(n), ", 7)".repeat(n));
    assert_eq!(read(&deep(MAX_DEPTH - 1)), "s0 mod 7");
    assert_eq!(refuse(&deep(MAX_DEPTH)).0, 4 * MAX_DEPTH..4 * MAX_DEPTH);
    assert!(refuse(&"1+".repeat(1 << 20)).1.contains("4096"));
}

#[test]
fn overflow_is_kept_as_written() {
    for text in [
        "9223372036854775807 + 1",
        "-9223372036854775808*-1",
        "s0 + (9223372036854775807 + 1)",
        "3**4000000000",
        "(4611686018427387904*s0)*4",
        "(-9223372036854775808) floordiv -1",
        "-9223372036854775808*s0",
        "s0 + -9223372036854775808*s1",
    ] {
        let mut ex = Exprs::new();
        let e = ex.parse(text).unwrap();
        let shown = ex.display(e);
        assert_eq!(ex.parse(&shown).unwrap(), e, "{text}: {shown}");
    }
}
