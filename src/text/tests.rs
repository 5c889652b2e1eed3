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
fn bytes_that_are_not_utf8_are_reported() {
    let (text, wrong) = decode(b"ab\xFFc\xC3\xA9\xC3".to_vec());
    assert_eq!(text, "ab\u{FFFD}c\u{e9}\u{FFFD}");
    assert_eq!(wrong.iter().map(|w| w.0).collect::<Vec<_>>(), [2, 8]);
}
