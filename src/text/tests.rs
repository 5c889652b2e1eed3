//! What must hold of any text: printing and parsing give the IR back, all errors are reported, hostile texts end.

use super::{ParseOptions, PrintOptions, decode, parse, print, split};
use crate::dialects::library;
use crate::ir::Ir;
use crate::ir::registry::Registry;
use crate::ir::verify::verify;
use rinductor_support::SourceMap;

fn registry() -> Registry {
    library::registry(&std::sync::Arc::new(library::builtin()))
}

/// The IR of a text, or `line:column: message` of its errors.
fn read(text: &str) -> Result<Ir, Vec<String>> {
    let registry = registry();
    let mut sources = SourceMap::new();
    let id = sources.add("t.ir", text).expect("a test's text is short");
    let (ir, errors) = parse(&sources, id, &ParseOptions::new(&registry).allow_unregistered(true));
    let shown = |list: &[rinductor_support::Diagnostic]| {
        list.iter().map(|d| d.headline(&sources).trim_start_matches("t.ir:").replace(" error:", "")).collect::<Vec<_>>()
    };
    let Some(ir) = ir else { return Err(shown(&errors)) };
    let wrong = verify(&ir, &registry, ir.module());
    if wrong.is_empty() { Ok(ir) } else { Err(shown(&wrong)) }
}

fn right(text: &str) -> Ir {
    read(text).unwrap_or_else(|e| panic!("{e:#?}\n{text}"))
}

fn written(ir: &Ir, generic: bool) -> String {
    print(ir, &registry(), &PrintOptions { generic, ..PrintOptions::default() })
}

/// Both forms of a text read back to themselves, and to each other.
fn comes_back(text: &str) {
    let ir = right(text);
    let (pretty, generic) = (written(&ir, false), written(&ir, true));
    for form in [&pretty, &generic] {
        let again = right(form);
        assert_eq!(written(&again, false), pretty);
        assert_eq!(written(&again, true), generic);
    }
}

#[test]
fn golden_files_come_back() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/test/text");
    let mut read = 0;
    for entry in std::fs::read_dir(folder).expect("the folder of golden tests") {
        let path = entry.expect("an entry").path();
        if path.ends_with("errors.ir") {
            continue;
        }
        let (text, wrong) = decode(std::fs::read(&path).expect("a golden test"));
        assert!(wrong.is_empty());
        for (_, part) in split::split(&text) {
            comes_back(part);
            read += 1;
        }
    }
    assert!(read >= 2);
}

#[test]
fn names_change_only_where_they_clash() {
    let text = r#"
"t.a"() ({
  %v = "t.v"() : () -> i32
}, {
  %v = "t.v"() : () -> f32
  %w:2 = "t.w"() : () -> (i32, i32)
  "t.use"(%w#1) : (i32) -> ()
}) : () -> ()
"#;
    let mut ir = right(text);
    assert!(written(&ir, true).contains("%w:2 = \"t.w\"") && written(&ir, true).matches("%v = ").count() == 2);
    let ops = ir.ops_named(ir.module(), "t.v");
    let (first, second) = (ir.result(ops[0], 0), ir.result(ops[1], 0));
    let name = ir.name("w");
    ir.set_value_name(second, Some(name));
    ir.set_value_name(first, None);
    let out = written(&ir, true);
    assert!(
        out.contains("%0 = \"t.v\"")
            && out.contains("%w = \"t.v\"")
            && out.contains("%w_0:2 = \"t.w\"")
            && out.contains("%w_0#1")
    );
    comes_back(&out);
}

#[test]
fn forward_references_find_their_definition() {
    comes_back("\"t.a\"(%y#1) : (f32) -> ()\n%y:2 = \"t.b\"() : () -> (i32, f32)\n");
    assert_eq!(
        read("\"t.a\"(%y) : (f32) -> ()\n%y = \"t.b\"() : () -> i32\n").err().unwrap_or_default(),
        ["1:7: '%y' is used as f32, but it has the type i32"]
    );
    assert_eq!(
        read("\"t.a\"(%y) : (f32) -> ()\n\"t.a\"(%z) : (f32) -> ()\n").err().unwrap_or_default(),
        ["1:7: use of the undefined value '%y'", "2:7: use of the undefined value '%z'"]
    );
}

#[test]
fn an_isolated_region_sees_nothing_of_what_is_around_it() {
    let text = "%x = \"t.x\"() : () -> i32\nfunc.func @f() -> i32 {\n  return %x : i32\n}\n";
    assert_eq!(read(text).err().unwrap_or_default(), ["3:10: use of the undefined value '%x'"]);
    comes_back("%x = \"t.x\"() : () -> i32\nfunc.func @f(%x: f32) -> f32 {\n  return %x : f32\n}\n");
}

#[test]
fn dominance_is_checked_between_blocks_and_regions() {
    let text = r#"func.func @f(%c: i1) {
  "cf.cond_br"(%c)[^l, ^r] : (i1) -> ()
^l:
  %v = "t.def"() : () -> i32
  "cf.br"()[^j] : () -> ()
^r:
  "cf.br"()[^j] : () -> ()
^j:
  "t.use"(%v) : (i32) -> ()
  return
}
"#;
    let errors = read(text).err().unwrap_or_default();
    assert!(errors.len() == 1 && errors[0].starts_with("9:3") && errors[0].contains("does not dominate"), "{errors:?}");
    let after = text.replace("^j] : () -> ()\n^r", "^r] : () -> ()\n^r").replace("[^l, ^r]", "[^l, ^l]");
    assert!(read(&after).is_ok());
}

#[test]
fn hostile_texts_end_with_an_error_or_are_read() {
    let n = 100_000;
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(n), close.repeat(n));
    // Regions have no limit.
    let regions = format!("{}{}", "\"t.r\"() ({\n".repeat(n), "}) : () -> ()\n".repeat(n));
    assert_eq!(right(&regions).count_ops(), n + 1);
    for text in [
        format!("\"t.t\"() : () -> {}", deep("tuple<", ">")),
        format!("\"t.t\"() {{a = {}}} : () -> ()", deep("[", "]")),
        format!("\"t.t\"() {{a = {}}} : () -> ()", "[".repeat(n)),
        format!("\"t.t\"() {{a = #t.x{}}} : () -> ()", deep("<", ">")),
        format!("\"t.t\"() {{a = affine_map<{}>}} : () -> ()", "(".repeat(n)),
        format!("\"t.t\"() : () -> () loc({}", "fused[".repeat(n)),
        "module {\n".repeat(n),
        "{-#".repeat(n),
        "(".repeat(n),
        "\"".repeat(n),
        "%x = ".repeat(n),
        "}".repeat(n),
        (0..n).map(|i| format!("!a{} = tuple<!a{i}>\n", i + 1)).collect::<String>()
            + "!a0 = i32\n\"t.t\"() : () -> !a100000",
        (0..60).map(|i| format!("#a{} = [#a{i}, #a{i}]\n", i + 1)).collect::<String>()
            + "#a0 = 1 : i8\n\"t.t\"() {a = #a60} : () -> ()",
    ] {
        assert!(read(&text).is_err(), "{}", &text[..40]);
    }
}

#[test]
fn what_looks_as_usual_is_read_as_the_grammar_reads_it() {
    let registry = registry();
    let read = |text: &str, by_grammar_alone: bool| {
        let mut sources = SourceMap::new();
        let id = sources.add("t.ir", text).expect("a test's text is short");
        let options = ParseOptions::new(&registry).allow_unregistered(true);
        let (ir, errors) = parse(&sources, id, &ParseOptions { by_grammar_alone, ..options });
        let all = PrintOptions { generic: true, debuginfo: true, ..PrintOptions::default() };
        match ir {
            Some(ir) => print(&ir, &registry, &all),
            None => errors.iter().map(|d| d.headline(&sources) + "\n").collect(),
        }
    };
    for text in [
        "%a = \"t.a\"() : () -> i32\n\"t.b\"(%a) : (i32) -> ()\n",
        "%a:2, %b = \"t.a\"() <{k = \"}>\"}> {a = [1, 2]} : () -> (i32, f32, index)\n\"t.b\"(%a#1, %b) : (f32, index) -> ()",
        // The location stands on the next line, behind a comment.
        "\"t.a\"() : () -> ()\n  // where\n  loc(\"x\":1:2)\n",
        "\"t.a\"() : () -> () loc(\"x\":1:2)\n\"t.b\"() : () -> ()\n",
        "\"t.a\"() ({\n  \"t.b\"() : () -> ()\n}, {\n^b(%x: i32):\n  \"t.c\"(%x)[^b] : (i32) -> ()\n}) {z} : () -> ()\n",
        "\"t.a\"() {m = affine_map<(d0) -> (d0 floordiv 2)>} : () -> !t.x<a -> b>\n",
        "\"t.a\"() {m = affine_set<(d0) : (d0 >= 0)>} : () -> ()\n",
        "\"t.a\"() {s = \"a\\22b\"} : () -> ()\n",
        "\"t.a\"() : () -> () \"t.b\"() : () -> ()\n",
        "\"t.a\" ( ) : ( ) -> ( )\n",
        "\"t.a\"() // no more\n : () -> ()\n",
        "\"t.a\"() : () -> i32x\n",
        "\"t.a\"() : () -> ((i32) -> f32)\n",
        "\"\"() : () -> ()\n}) : () -> ()\n\"t.a\"(%y) : () -> ()\n",
        "%0x = \"t.a\"() : () -> i32\n%-- = \"t.a\"() : () -> i32\n",
        "%a , \"t.a\"() : () -> i32\n",
        "\"t.r\"() ({\n^a(%x: i32, %y: tensor<2xf32, #t.x<a -> b>>):\n  \"t.b\"()[^c] : () -> ()\n^c:\n}) : () -> ()\n",
        "\"t.r\"() ({\n^a(%x: i32 loc(\"f\":1:1), %y : f32,%z: (i32) -> f32):\n}) : () -> ()\n^b:\n",
        "\"t.r\"() ({\n^a (%x: i32):\n^b( ):\n^c(%x: i32,):\n}) : () -> ()\n",
        "\"t.a\"() {a = (1)} : () -> ()\n\"t.b\"() : () -> tensor<]>\n",
    ] {
        assert_eq!(read(text, false), read(text, true), "{text}");
    }
}

#[test]
fn a_list_of_no_types_is_not_left_to_a_pretty_form() {
    comes_back("\"builtin.unrealized_conversion_cast\"() : () -> ()\n");
}

#[test]
fn what_is_wrong_but_readable_comes_back_too() {
    let registry = registry();
    // The first return is not the last op; what follows it begins like an operand. A property with the value that holds without it is no property.
    let text = "func.func @f() {\n  return\n  %a = \"t.a\"() : () -> f32\n  %b = math.exp %a fastmath<none> : f32\n  return\n}\n";
    let read = |text: &str| {
        let mut sources = SourceMap::new();
        let id = sources.add("t.ir", text).expect("a test's text is short");
        parse(&sources, id, &ParseOptions::new(&registry).allow_unregistered(true)).0
    };
    let ir = read(text).expect("it can be read");
    let (pretty, generic) = (written(&ir, false), written(&ir, true));
    assert!(!generic.contains("fastmath"), "{generic}");
    for form in [&pretty, &generic] {
        let again = read(form).expect("what was written can be read");
        assert_eq!((written(&again, false), written(&again, true)), (pretty.clone(), generic.clone()));
    }
}

#[test]
fn long_types_over_several_lines_are_read_whole() {
    for n in [100, 3_000, 100_000] {
        let lines = "a \"\\00\",\n".repeat(n);
        let text = format!("\"t.a\"() : () -> !t.x<[{lines}]>\n\"t.b\"() : () -> () loc(\"f\":1:{n})\n");
        let ir = right(&text);
        assert!(written(&ir, true).contains(&format!("!t.x<[{lines}]>")), "{n}");
    }
}

#[test]
fn time_grows_with_the_text_alone() {
    let n = 60_000;
    let start = std::time::Instant::now();
    // Before each of these regions a dictionary might stand; each of these definitions goes on to the end of the text.
    assert!(read(&format!("{}{}", "kernels.for r {\n".repeat(n), "}\n".repeat(n))).is_ok());
    assert!(read(&"#a = #t.a<\n".repeat(n)).is_err());
    assert!(read(&"%x = arith.addi %y,\n".repeat(n)).is_err());
    // A quadratic step takes minutes.
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

#[test]
fn bytes_that_are_not_utf8_are_reported() {
    let (text, wrong) = decode(b"ab\xFFc\xC3\xA9\xC3".to_vec());
    assert_eq!(text, "ab\u{FFFD}c\u{e9}\u{FFFD}");
    assert_eq!(wrong.iter().map(|w| w.0).collect::<Vec<_>>(), [2, 8]);
}
