//! What the checker finds, and where.

use crate::library::Library;

fn check(text: &str) -> Vec<String> {
    let mut library = Library::new();
    let wrong = library.load("t.dialect", text);
    wrong.iter().map(|d| d.headline(library.sources())).collect()
}

const NONE: [&str; 0] = [];

#[test]
fn errors_of_expressions() {
    let value = |e: &str| {
        let errors = check(&format!("op a.b(Tensor self, int? n, str mode, int[] dims) -> SymInt {{ value {e}; }}"));
        errors.iter().map(|e| e.strip_prefix("t.dialect:1:").unwrap_or(e).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(value("rank(self) + (n or 1)"), NONE);
    assert_eq!(value("if n != none then n else 0"), NONE);
    assert_eq!(value("if n == none then 0 else len(dims[0..n])"), NONE);
    assert_eq!(value("selff"), ["69: error: 'selff' is not defined; there is 'self'"]);
    assert_eq!(
        value("n + 1"),
        ["69: error: a value of type scalar is needed here, not int?; it may be none: give a default with 'or'"]
    );
    assert_eq!(value("size(dims, 0)"), ["69: error: size takes (tensor, int), not (int[], int)"]);
    assert_eq!(
        value("self + 1"),
        ["69: error: a value of type scalar is needed here, not tensor; its elements are t[point]"]
    );
    assert_eq!(value("if mode then 1 else 2"), ["72: error: a value of type bool is needed here, not str"]);
    assert_eq!(value("if mode == 1 then 1 else 2"), ["72: error: str and int are never equal"]);
    assert_eq!(
        value("match mode { \"a\" => 1 }"),
        ["69: error: a match ends with '_ => …', so that it has a value for everything"]
    );
    assert_eq!(value("nothing(1)"), ["69: error: there is no function 'nothing'"]);
    assert_eq!(value("exp(1, 2)"), ["69: error: exp takes 1 arguments, not 2"]);
    assert_eq!(value("[1, mode][0]"), ["73: error: the value may be int or str, which have no type in common"]);
    assert_eq!(value("let (a, b) = mode; a"), ["82: error: 2 names cannot hold a value of type str"]);
    assert_eq!(value("aten.relu(self)"), ["69: error: 'aten.relu' is an op: ops stand in rules only"]);
    assert_eq!(
        value("sum(1.5)"),
        ["69: error: sum of one value stands in reduce and scan clauses; elsewhere write sum(r in SIZES) => …"]
    );
}

#[test]
fn errors_of_clauses() {
    assert_eq!(
        check(
            "op a.b(Tensor self, Tensor self) -> (Tensor x, Tensor y) {
  traits pure, quick;
  type   like(self), like(self), like(3);
  require rank(self) \"m {z}\";
  assembly \"$self $what attr-dict\";
  result x = scalar (a, b, c) => a;
  point (i) => self[cast(self[i], i64)];
}"
        ),
        [
            "t.dialect:1:28: error: 'self' stands twice in the signature",
            "t.dialect:2:16: error: there is no trait 'quick'",
            "t.dialect:3:10: error: 3 types for 2 results",
            "t.dialect:3:39: error: a value of type tensor is needed here, not int",
            "t.dialect:4:11: error: a value of type bool is needed here, not int",
            "t.dialect:4:26: error: 'z' is not defined",
            "t.dialect:5:19: error: 'a.b' has no 'what'",
            "t.dialect:6:28: error: 'a.b' has 2 tensors, so this has nothing to stand for",
            "t.dialect:7:3: error: the result 'x' is defined already",
            "t.dialect:7:16: error: one value for 2 tensors",
            "t.dialect:7:21: error: a value of type int is needed here, not scalar; check, wrap or trust makes an index of it",
        ]
    );
    assert_eq!(
        check("op a.b(x: float_like, y: same(z), w: floaty) -> same(x);"),
        [
            "t.dialect:1:26: error: 'z' is not an operand or result",
            "t.dialect:1:38: error: 'floaty' is not a constraint"
        ]
    );
    assert_eq!(
        check("op a.b(Tensor x) -> Tensor;\nop a.b(Tensor x) -> Tensor;"),
        ["t.dialect:2:4: error: op 'a.b' is defined already"]
    );
    assert_eq!(
        check("op a.b(Tensor x) -> (Tensor u, Tensor v) { result u = scalar (e) => e; }"),
        ["t.dialect:1:4: error: no clause defines the result 'v'"]
    );
}

#[test]
fn errors_of_rules() {
    let rule = |r: &str| {
        check(&format!(
            "op a.one(Tensor self, int[] dims, *, int k=0) -> Tensor {{ type like(self); }}\nop a.two(Tensor self) -> (Tensor, Tensor);\n{r}"
        ))
    };
    assert_eq!(rule("rule r: a.one(a.two(x).1, p, k = 3) => a.one(x, compose(p, [0])) where len(p) > 1;"), NONE);
    assert_eq!(rule("decompose a.two(x) => let y = a.one(x, []); (y, y);"), NONE);
    assert_eq!(rule("rule r: a.one(x, p) => a.one(y, p);"), ["t.dialect:3:30: error: 'y' is not defined"]);
    assert_eq!(
        rule("rule r: a.one(x) => x;"),
        ["t.dialect:3:9: error: the pattern does not say what 'dims' of 'a.one' is"]
    );
    assert_eq!(rule("rule r: a.one(x, ..) => a.none(x);"), ["t.dialect:3:25: error: there is no op 'a.none'"]);
    assert_eq!(
        rule("rule r: a.one(x, ..) => a.one(x);"),
        ["t.dialect:3:25: error: argument 'dims' of 'a.one' is missing"]
    );
    assert_eq!(rule("rule r: a.two(x) => x;"), ["t.dialect:3:21: error: a value of type tensor replaces 2 results"]);
    assert_eq!(
        rule("rule r: a.one(x, x) => x;"),
        ["t.dialect:3:18: error: 'x' is tensor at its first place and int[] here"]
    );
    assert_eq!(rule("rule r: a.two(a.two(x).2) => (x, x);"), ["t.dialect:3:15: error: 'a.two' has no result 2"]);
    assert_eq!(
        rule("rule r: a.one(x, ..).0 => x;"),
        ["t.dialect:3:9: error: the root of a pattern is replaced with all its results: '.0' does not belong here"]
    );
    assert_eq!(rule("rule r: a.two(x, y) => (x, x);"), ["t.dialect:3:9: error: 'a.two' has 1 argument"]);
    assert_eq!(
        rule("rule r: a.one(x, ..) => x where a.two(x) == 1;"),
        ["t.dialect:3:33: error: 'a.two' is an op: ops stand in rules only"]
    );
    assert_eq!(
        rule("rule r: a.two(x) => let y = a.two(x); y;"),
        ["t.dialect:3:29: error: a rule cannot make 'a.two': the types of its results are not inferred"]
    );
    assert_eq!(
        rule("op a.add(x: any, y: same(x)) -> same(x);\nrule r: a.one(x, ..) => a.add(x, x);"),
        ["t.dialect:4:25: error: 'a.add' has no schema, so a rule cannot make it"]
    );
    assert_eq!(
        rule("rule r: a.two(x) => (x, x);\nrule r: a.two(x) => (x, x);"),
        ["t.dialect:4:6: error: rule 'r' is defined already"]
    );
}

/// An argument may be none; where a condition says that it is equal to what is never none, it is not.
#[test]
fn an_equality_narrows() {
    let rule = |condition: &str| {
        check(&format!(
            "extern fn rounded(number, dtype) -> number;
op a.mul(Tensor self, Tensor other) -> Tensor {{ type promote(self, other); }}
op a.full(int[] size, Scalar value, *, ScalarType? dtype=None) -> Tensor;
rule r: a.mul(x, a.full(_, c, dtype=t)) => a.mul(x, rounded(c, t)) where {condition};"
        ))
    };
    assert_eq!(rule("t == dtype_of(x) and not is_complex(t)"), NONE);
    assert_eq!(rule("dtype_of(x) == t"), NONE);
    assert_eq!(rule("not (t != dtype_of(x))"), NONE);
    let open = ["t.dialect:4:53: error: rounded takes (number, dtype), not (number, dtype?)"];
    assert_eq!(rule("t != dtype_of(x)"), open);
    assert_eq!(rule("t == dtype_of(x) or rank(x) == 0"), open);
    assert_eq!(
        rule("is_complex(t) and t == dtype_of(x)"),
        ["t.dialect:4:74: error: is_complex takes (dtype), not (dtype?)"]
    );
}

/// Several files: what they share, and what none of them may say again.
#[test]
fn files_add_to_each_other() {
    let mut library = Library::new();
    let mut load = |name: &str, text: &str| {
        let wrong = library.load(name, text);
        let note = |d: &rinductor_support::Diagnostic| {
            d.notes
                .iter()
                .map(|n| rinductor_support::Diagnostic::error(n.place.clone(), &n.message).headline(library.sources()))
                .collect::<String>()
        };
        wrong.iter().map(|d| d.headline(library.sources()) + "; " + &note(d)).collect::<Vec<_>>()
    };
    assert_eq!(
        load("a.dialect", "dialect a;\nextern fn f(int) -> int;\nop a.one(Tensor x) -> Tensor { type like(x); }"),
        NONE
    );
    let more = "dialect a;\nextern fn f(int) -> int;\nop a.two(Tensor x) -> Tensor { type like(x); }\nrule r: a.two(x) => a.one(x);";
    assert_eq!(load("more.dialect", more), NONE);
    assert_eq!(
        load(
            "again.dialect",
            "extern fn f(int) -> bool;\nop a.one(Tensor x) -> Tensor;\nrule r: a.two(x) => a.one(x);"
        ),
        [
            "again.dialect:1:11: error: function 'f' is defined already; a.dialect:2:11: error: here",
            "again.dialect:2:4: error: op 'a.one' is defined already; a.dialect:3:4: error: here",
            "again.dialect:3:6: error: rule 'r' is defined already; more.dialect:4:6: error: here",
        ]
    );
    assert_eq!(
        load("twice.dialect", "dialect b;\ndialect b;"),
        ["twice.dialect:2:9: error: dialect 'b' is defined already; twice.dialect:1:9: error: here"]
    );
    // A rule that names an op that is wrong is not wrong for that.
    assert_eq!(
        load("wrong.dialect", "op c.op(Tensor x) -> Tensor { type like(y); }\nrule s: c.op(x) => x;"),
        ["wrong.dialect:1:41: error: 'y' is not defined; "]
    );
    assert!(library.op("c.op").is_none() && library.op("a.two").is_some());
}

/// The lists at the end of docs/dialect-files.md.
fn reference_lists() -> String {
    let mut out = String::from("## Traits\n\n| trait | meaning |\n|---|---|\n");
    for (name, meaning) in super::TRAITS {
        out.push_str(&format!("| `{name}` | {meaning} |\n"));
    }
    out.push_str("\n## Constraints\n\n| word | types |\n|---|---|\n");
    for (name, meaning) in super::CONSTRAINTS {
        out.push_str(&format!("| `{name}` | {meaning} |\n"));
    }
    out.push_str("\n## Functions\n\n| function | types | meaning |\n|---|---|---|\n");
    for (_, name, signatures, doc) in crate::builtins::FUNCTIONS {
        out.push_str(&format!("| `{name}` | `{}` | {} |\n", signatures.join("`, `"), doc.trim().replace('|', "\\|")));
    }
    out.push_str("\n## Scalar operations\n\n| name | meaning |\n|---|---|\n");
    for op in rinductor_scalar::ScalarOp::all() {
        out.push_str(&format!("| `{op}` | {} |\n", op.doc().trim().replace('|', "\\|")));
    }
    out
}

#[test]
fn the_reference_is_up_to_date_and_its_examples_are_sound() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/dialect-files.md");
    let text = std::fs::read_to_string(path).expect("the reference is there");
    let written = text.find("## Traits\n").map_or(text.len(), |at| at);
    let lists = reference_lists();
    if std::env::var_os("RINDUCTOR_BLESS").is_some() {
        std::fs::write(path, text[..written].to_owned() + &lists).expect("docs can be written");
    } else {
        assert!(text[written..] == lists, "{path} is old: RINDUCTOR_BLESS=1 cargo test -p rinductor-defs");
    }
    let mut library = Library::new();
    let mut blocks = 0;
    for (start, _) in text.match_indices("```dialect\n") {
        let rest = &text[start + 11..];
        let block = &rest[..rest.find("```").expect("a block ends")];
        let line = text[..start].matches('\n').count() + 1;
        let errors = library.load("docs/dialect-files.md", "\n".repeat(line) + block);
        let errors: Vec<String> = errors.iter().map(|d| d.headline(library.sources())).collect();
        assert_eq!(errors, NONE);
        blocks += 1;
    }
    assert!(blocks >= 7, "the examples are found");
}
