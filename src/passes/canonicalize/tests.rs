//! The pass on small texts: what is left of them.

use super::PASS;
use crate::dialects::library;
use crate::ir::Ir;
use crate::pass::{NoOptions, Pass, PassContext};
use crate::support::SourceMap;
use crate::text::{ParseOptions, PrintOptions, parse, print};

/// Runs passes on a text, and prints.
fn after(text: &str, passes: &[&Pass<NoOptions>]) -> String {
    let library = std::sync::Arc::new(library::builtin());
    let registry = library::registry(&library);
    let mut sources = SourceMap::default();
    let id = sources.add("test.ir", text).unwrap();
    let (ir, wrong) = parse(&sources, id, &ParseOptions::new(&registry).allow_unregistered(true));
    let mut ir: Ir = ir.unwrap_or_else(|| panic!("{wrong:?}"));
    for pass in passes {
        let mut cx = PassContext::new(*pass, &*library, false);
        let root = ir.module();
        (pass.run)(&mut ir, root, &NoOptions {}, &mut cx).unwrap();
        assert!(cx.finish().0.is_empty(), "a pass warned");
    }
    let wrong = crate::ir::verify::verify(&ir, &registry, ir.module());
    assert!(wrong.is_empty(), "{wrong:?}");
    print(&ir, &registry, &PrintOptions::default())
}

/// What the operand of `t.use` is after the pass on the body of a function of these arguments.
fn used(args: &str, body: &str) -> String {
    let text = after(&format!("func.func @f({args}) {{\n{body}\n  return\n}}\n"), &[&PASS]);
    let line = text.lines().find(|l| l.contains("\"t.use\"")).unwrap_or_else(|| panic!("{text}"));
    let operand = line.split(['(', ')']).nth(1).unwrap().to_string();
    match text.lines().find(|l| l.trim().starts_with(&format!("{operand} = "))) {
        Some(def) => def.trim().split_once(" = ").unwrap().1.to_string(),
        None => operand,
    }
}

#[test]
fn constants_are_folded_as_arith_says() {
    for (ty, op, a, b, want) in [
        ("i8", "arith.ceildivsi", "-128", "7", "arith.constant -18 : i8"),
        ("i8", "arith.floordivsi", "-7", "2", "arith.constant -4 : i8"),
        ("i8", "arith.divui", "-1", "2", "arith.constant 127 : i8"),
        ("i1", "arith.addi", "true", "true", "arith.constant false"),
        ("i1", "arith.maxsi", "true", "false", "arith.constant false"),
        ("i1", "arith.maxui", "true", "false", "arith.constant true"),
        ("f32", "arith.addf", "1.5", "2.0", "arith.constant 3.500000e+00 : f32"),
        ("f32", "math.atan2", "0.0", "1.0", "arith.constant 0.000000e+00 : f32"),
    ] {
        let typed =
            |v: &str| if ty == "i1" { format!("arith.constant {v}") } else { format!("arith.constant {v} : {ty}") };
        let body =
            format!("%a = {}\n%b = {}\n%c = {op} %a, %b : {ty}\n\"t.use\"(%c) : ({ty}) -> ()", typed(a), typed(b));
        assert_eq!(used("", &body), want, "{op} {a}, {b}");
    }
}

#[test]
fn divisions_without_a_value_stay() {
    for (op, a, b) in
        [("arith.divsi", "-128", "-1"), ("arith.divsi", "5", "0"), ("arith.remui", "5", "0"), ("arith.shli", "1", "8")]
    {
        let body = format!(
            "%a = arith.constant {a} : i8\n%b = arith.constant {b} : i8\n%c = {op} %a, %b : i8\n\"t.use\"(%c) : (i8) -> ()"
        );
        assert!(used("", &body).starts_with(op), "{op} {a}, {b}");
    }
}

#[test]
fn identities_keep_signed_zeros() {
    for (op, c, gone) in [
        ("arith.addf", "0.0", false),
        ("arith.addf", "-0.0", true),
        ("arith.subf", "0.0", true),
        ("arith.subf", "-0.0", false),
        ("arith.mulf", "1.0", true),
        ("arith.mulf", "0.0", false),
        ("arith.divf", "1.0", true),
    ] {
        let body = format!("%c = arith.constant {c} : f32\n%r = {op} %x, %c : f32\n\"t.use\"(%r) : (f32) -> ()");
        assert_eq!(used("%x: f32", &body) == "%x", gone, "{op} {c}");
    }
}

#[test]
fn choices() {
    let select =
        |body: &str| used("%g: i1, %a: i32, %b: i32, %c: i32", &format!("{body}\n\"t.use\"(%r) : (i32) -> ()"));
    assert_eq!(select("%r = arith.select %g, %a, %a : i32"), "%a");
    assert_eq!(
        select("%s = arith.select %g, %a, %b : i32\n%r = arith.select %g, %s, %c : i32"),
        "arith.select %g, %a, %c : i32"
    );
    assert_eq!(
        select("%s = arith.select %g, %a, %b : i32\n%r = arith.select %g, %c, %s : i32"),
        "arith.select %g, %c, %b : i32"
    );
    assert_eq!(
        select("%t = arith.constant true\n%n = arith.xori %g, %t : i1\n%r = arith.select %n, %a, %b : i32"),
        "arith.select %g, %b, %a : i32"
    );
}

#[test]
fn integer_identities() {
    let int = |body: &str| used("%a: i32, %b: i32", &format!("{body}\n\"t.use\"(%r) : (i32) -> ()"));
    assert_eq!(int("%z = arith.constant 0 : i32\n%r = arith.addi %z, %a : i32"), "%a");
    assert_eq!(int("%r = arith.subi %a, %a : i32"), "arith.constant 0 : i32");
    assert_eq!(int("%r = arith.andi %a, %a : i32"), "%a");
    assert_eq!(int("%m = arith.constant -1 : i32\n%r = arith.andi %a, %m : i32"), "%a");
    let chain = "%one = arith.constant 1 : i32\n%two = arith.constant 2 : i32\n%s = arith.addi %a, %one : i32\n%r = arith.addi %s, %two : i32";
    assert!(int(chain).starts_with("arith.addi %a, "));
    assert_eq!(used("%a: i32", "%p = arith.cmpi sle, %a, %a : i32\n\"t.use\"(%p) : (i1) -> ()"), "arith.constant true");
    assert!(
        used("%a: i32", "%c = arith.constant 3 : i32\n%p = arith.cmpi slt, %c, %a : i32\n\"t.use\"(%p) : (i1) -> ()")
            .starts_with("arith.cmpi sgt, %a, ")
    );
}

#[test]
fn conversions_there_and_back() {
    let cast =
        |ty: &str, body: &str| used("%h: f16, %f: f32, %i: i32", &format!("{body}\n\"t.use\"(%r) : ({ty}) -> ()"));
    assert_eq!(cast("f16", "%w = arith.extf %h : f16 to f32\n%r = arith.truncf %w : f32 to f16"), "%h");
    assert!(
        cast("f32", "%n = arith.truncf %f : f32 to f16\n%r = arith.extf %n : f16 to f32").starts_with("arith.extf")
    );
    assert_eq!(cast("i32", "%w = arith.extsi %i : i32 to i64\n%r = arith.trunci %w : i64 to i32"), "%i");
    assert_eq!(
        cast("i8", "%w = arith.extui %i : i32 to i64\n%r = arith.trunci %w : i64 to i8"),
        "arith.trunci %i : i32 to i8"
    );
    assert_eq!(
        cast("f64", "%w = arith.extf %h : f16 to f32\n%r = arith.extf %w : f32 to f64"),
        "arith.extf %h : f16 to f64"
    );
}

#[test]
fn bodies_of_nests() {
    let text = after(
        "func.func @f(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %y = loops.pointwise (%i, %j) in [8, 4] -> tensor<8x4xf32> {
    %g = arith.constant true
    %p = loops.index [%i] : i64
    %q = loops.position %p in [8] : i64
    %v = loops.load %x[%q, (%j + 4 * %i) mod 4] if %g : f32
    %w = loops.load %x[%i, %j] : f32
    %s = arith.addf %v, %w : f32
    loops.yield %s : f32
  }
  return %y : tensor<8x4xf32>
}
",
        &[&PASS, &crate::passes::cse::PASS, &crate::passes::dce::PASS],
    );
    assert_eq!(text.matches("loops.load").count(), 1, "{text}");
    assert!(!text.contains("loops.position") && !text.contains("loops.index") && !text.contains("constant"), "{text}");
    assert!(text.contains("loops.load %x[%i, %j]"), "{text}");
}

#[test]
fn an_index_that_may_be_out_of_bounds_is_still_checked() {
    let text = after(
        "func.func @f(%x: tensor<8xf32>) -> tensor<9xf32> {
  %y = loops.pointwise (%i) in [9] -> tensor<9xf32> {
    %p = loops.index [%i] : i64
    %q = loops.position %p in [8] : i64
    %v = loops.load %x[%q] : f32
    loops.yield %v : f32
  }
  return %y : tensor<9xf32>
}
",
        &[&PASS],
    );
    assert!(text.contains("loops.position"), "{text}");
}

#[test]
fn equal_nests_become_one_unless_the_caller_sees_both() {
    let nest = |name: &str| {
        format!(
            "  %{name} = loops.pointwise (%i) in [8] -> tensor<8xf32> {{
    %v = loops.load %x[%i] : f32
    %e = math.exp %v : f32
    loops.yield %e : f32
  }}\n"
        )
    };
    let read = "  %c = loops.pointwise (%i) in [8] -> tensor<8xf32> {
    %v = loops.load %b[%i] : f32
    %e = math.sin %v : f32
    loops.yield %e : f32
  }\n";
    let function = |read: &str, second: &str| {
        format!(
            "func.func @f(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {{\n{}{}{read}  return %a, %{second} : tensor<8xf32>, tensor<8xf32>\n}}\n",
            nest("a"),
            nest("b")
        )
    };
    let passes = [&PASS, &crate::passes::cse::PASS];
    let text = after(&function(read, "c"), &passes);
    assert_eq!(text.matches("math.exp").count(), 1, "{text}");
    assert!(text.contains("loops.load %a"), "{text}");
    let text = after(&function("", "b"), &passes);
    assert_eq!(text.matches("math.exp").count(), 2, "{text}");
    assert!(text.contains("return %a, %b"), "{text}");
}

#[test]
fn cycles_end() {
    let text = after(
        "%z = \"arith.constant\"() {value = 0 : i32} : () -> i32\n%s = \"arith.addi\"(%z, %s) : (i32, i32) -> i32\n\"t.use\"(%s) : (i32) -> ()\n",
        &[&PASS],
    );
    assert!(text.contains("t.use"), "{text}");
    let blocks = "\"func.func\"() ({
  %f = \"arith.constant\"() {value = true} : () -> i1
  \"cf.cond_br\"(%f)[^a, ^b] {operandSegmentSizes = array<i32: 1, 0, 0>} : (i1) -> ()
^a:
  \"cf.br\"()[^b] : () -> ()
^b:
  \"cf.br\"()[^a] : () -> ()
}) {sym_name = \"g\", function_type = () -> ()} : () -> ()\n";
    assert!(after(blocks, &[&PASS]).contains("cf.br"));
}
