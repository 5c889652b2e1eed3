//! Reading: what is read, where errors point, and that no bytes make it fail otherwise.

use super::*;
use crate::ast::*;
use crate::schema::{Base, Literal};

fn read_text(text: &str) -> (File, Vec<String>) {
    let mut sources = SourceMap::new();
    let id = sources.add("t.dialect", text).expect("small");
    let (file, diagnostics) = read(&sources, id);
    (file, diagnostics.iter().map(|d| d.headline(&sources)).collect())
}

fn one_op(text: &str) -> OpDef {
    let (mut file, errors) = read_text(text);
    assert_eq!(errors, Vec::<String>::new(), "{text}");
    file.ops.pop().expect("one op")
}

#[test]
fn schemas_are_pytorchs() {
    let op = one_op(
        "/// Sum. More.\nop aten.sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor;",
    );
    assert_eq!(
        (&*op.name.text, op.summary(), op.dialect(), op.short_name()),
        ("aten.sum.dim_IntList", "Sum.", "aten", "sum.dim_IntList")
    );
    let Signature::Schema(sig) = &op.signature else { panic!("a schema") };
    assert_eq!(sig.params.len(), 4);
    let dim = &sig.params[1].ty;
    assert_eq!(
        (dim.base, dim.list, dim.length, dim.optional(), dim.has_segment()),
        (Base::Int, true, Some(1), true, true)
    );
    assert_eq!(sig.params[2].default, Some(Literal::Bool(false)));
    assert!(sig.params[3].keyword_only && sig.params[3].ty.optional());

    let op = one_op(
        "op a.b(Tensor(a!)?[] xs, float eps=1e-05, str m='none', int[2] s=[1, -2], MemoryFormat? f=contiguous_format) -> (Tensor(a!) v, Tensor[] w);",
    );
    let Signature::Schema(sig) = &op.signature else { panic!("a schema") };
    let xs = &sig.params[0].ty;
    assert_eq!((xs.mutated(), xs.optional_item, xs.list, xs.optional_list), (true, true, true, false));
    assert_eq!(sig.params[1].default, Some(Literal::Float(1e-5)));
    assert_eq!(sig.params[3].default, Some(Literal::List(vec![Literal::Int(1), Literal::Int(-2)])));
    assert_eq!((&*sig.results[0].name, &*sig.results[1].name, sig.results[1].ty.list), ("v", "w", true));
}

#[test]
fn signatures_of_names() {
    let op = one_op(
        "op scf.while(init: any*, n: index | int_like?) attrs {a: enum(x, y) = x, b: ints?} regions {body: block, rest: any*} successors {next} -> (out: same(init)*) {
           traits pure, terminator;
           assembly \"$init (step $n^)? `(` type($init) `)` attr-dict-with-keyword custom<Head>($body, type($n)) : ($a^):(none)? [ -> ]\";
         }",
    );
    let Signature::Named(sig) = &op.signature else { panic!("names") };
    assert_eq!(
        (sig.operands.len(), sig.attrs.len(), sig.regions.len(), sig.successors.len(), sig.results.len()),
        (2, 2, 2, 1, 1)
    );
    assert_eq!(sig.operands[0].many, Multiplicity::Many);
    assert_eq!(sig.operands[1].many, Multiplicity::Optional);
    assert_eq!(sig.attrs[0].default, Some(Literal::Str("x".into())));
    assert!(matches!(&sig.results[0].constraint, Constraint::Same(of, _) if &**of == "init"));
    assert!(op.has_trait("terminator"));
    assert_eq!(op.assembly.expect("given").items.len(), 12);
}

#[test]
fn expressions_bind_as_they_look() {
    fn show(e: &Expr) -> String {
        match &e.kind {
            ExprKind::Binary { op, lhs, rhs } => format!("({} {} {})", show(lhs), op.sign(), show(rhs)),
            ExprKind::Neg(e) => format!("-{}", show(e)),
            ExprKind::Not(e) => format!("!{}", show(e)),
            ExprKind::Name(n) => n.to_string(),
            ExprKind::Literal(Literal::Int(i)) => i.to_string(),
            ExprKind::Literal(Literal::Float(x)) => format!("{x:?}"),
            ExprKind::Range(a, b) => format!("{}..{}", show(a), show(b)),
            ExprKind::If { cond, then, other } => format!("if {} {} {}", show(cond), show(then), show(other)),
            ExprKind::Subscript { of, items } => {
                format!("{}[{}]", show(of), items.iter().map(|i| show(&i.expr)).collect::<Vec<_>>().join(","))
            }
            ExprKind::Field { of, name } => format!("{}.{}", show(of), name.text),
            ExprKind::Aggregate { space, body, .. } => format!("agg {} => {}", show(space), show(body)),
            ExprKind::Comprehension { body, list, .. } => format!("[{} for {}]", show(body), show(list)),
            ExprKind::List(items) => format!("{items:?}").len().to_string(),
            other => format!("{other:?}"),
        }
    }
    for (text, want) in [
        ("a + b * c - d", "((a + (b * c)) - d)"),
        ("-a ** 2 ** 3", "-(a ** (2 ** 3))"),
        ("a - -1", "(a - -1)"),
        ("a or b and not c == d", "(a or (b and !(c == d)))"),
        ("a floordiv b % c ceildiv d", "(((a floordiv b) % c) ceildiv d)"),
        ("1 + if a then b else c + d", "(1 + if a b (c + d))"),
        ("w.mean[i, 0].m2", "w.mean[i,0].m2"),
        ("sum(r in k) => x[r] + 1", "agg k => (x[r] + 1)"),
        ("[i + 1 for d in 0..n - 1]", "[(i + 1) for 0..(n - 1)]"),
        ("a not in b", "(a not in b)"),
        ("1. + .5e3", ""),
        ("1.5e-3 + inf", "(0.0015 + inf)"),
    ] {
        let (file, errors) = read_text(&format!("op a.b(Tensor x) -> Tensor {{ value {text}; }}"));
        if want.is_empty() {
            assert_eq!(errors.len(), 1, "{text}");
            continue;
        }
        assert_eq!(errors, Vec::<String>::new(), "{text}");
        let TensorDef::Value(e) = &file.ops[0].semantics[0].def else { panic!("a value") };
        assert_eq!(show(e), want, "{text}");
    }
}

#[test]
fn syntax_errors_are_all_reported_where_they_stand() {
    let text = "/// One.\nop a.b(Tensor x) -> Tensor {\n  require x >;\n}\n\n/// Two.\nop a.c(Tensor x) -> Tensor;\nrule r: a.b(x) =>\nop a.d(Tensor x) -> Tensor { type nothing(x); }\n";
    let (file, errors) = read_text(text);
    assert_eq!(file.ops.len(), 2, "the ops without syntax errors are read");
    assert_eq!(
        errors,
        [
            "t.dialect:3:14: error: expected an expression, found ';'",
            "t.dialect:9:4: error: expected an operator or the end of the expression, found 'a'",
            "t.dialect:9:35: error: 'nothing' is not a type function (promote, float, bool, like, tensor, view, reduced, int)",
        ]
    );
}

#[test]
fn nesting_is_limited() {
    for (open, close) in
        [("(", ")"), ("[", "]"), ("-", ""), ("not ", ""), ("x[", "]"), ("if ", " then 1 else 1"), ("f(", ")")]
    {
        for depth in [40, 150, 5_000, 200_000] {
            let text =
                format!("op a.b(Tensor x) -> Tensor {{ value {}1{}; }}", open.repeat(depth), close.repeat(depth));
            let (_, errors) = read_text(&text);
            assert_eq!(errors.is_empty(), depth == 40, "{open} {depth}: {errors:?}");
        }
    }
    let long = format!("op a.b(Tensor x) -> Tensor {{ value {}1; }}", "1 + ".repeat(50_000));
    assert!(!read_text(&long).1.is_empty(), "a chain is a nest too");
}

#[test]
fn any_bytes_are_read_or_refused() {
    // Pieces of the language in random orders, and random bytes.
    const PIECES: [&str; 40] = [
        "op ",
        "a.b",
        "(",
        ")",
        "Tensor x",
        "->",
        " Tensor",
        "{",
        "}",
        ";",
        "require ",
        "\"m {x} \"",
        "scalar ",
        "=>",
        "x",
        "+",
        "[",
        "]",
        "for ",
        "in ",
        "if ",
        "then ",
        "else ",
        "let ",
        "=",
        "1",
        "0.5",
        "rule ",
        "r",
        ":",
        "///doc\n",
        "\n",
        ",",
        "..",
        "assembly ",
        "\"$x (a^)?\"",
        "match ",
        "set ",
        "é",
        "\u{0}",
    ];
    let mut state = 7u64;
    let mut next = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize
    };
    for _ in 0..3000 {
        let text: String = (0..next() % 30).map(|_| PIECES[next() % PIECES.len()]).collect();
        let (file, errors) = read_text(&text);
        assert!(file.ops.len() + file.rules.len() + errors.len() <= 60);
        let bytes: Vec<u8> = (0..next() % 40).map(|_| next() as u8).collect();
        read_text(&String::from_utf8_lossy(&bytes));
    }
}
