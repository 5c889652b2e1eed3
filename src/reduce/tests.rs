//! Reduction with a judge that is a function: what stays is what the judge asks for.

use super::*;
use crate::driver::session::{self, Dialects};
use crate::pass::OpInfos;
use crate::support::SourceMap;
use crate::text::{PrintOptions, print};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Judged<'a> {
    judge: &'a (dyn Fn(&str) -> bool + Sync),
    kept: AtomicUsize,
}

impl Surroundings for Judged<'_> {
    fn read(&self, text: &str) -> Option<Ir> {
        let dialects = Dialects::builtin();
        let mut sources = SourceMap::new();
        let part = sources.add("t.ir", text).unwrap();
        let (mut ir, _) = session::parse_part(&sources, part, &dialects, true).ok()?;
        let root = ir.module();
        dialects.verify(&mut ir, root).is_empty().then_some(ir)
    }
    fn print(&self, ir: &Ir) -> String {
        print(ir, &Dialects::builtin().registry, &PrintOptions::default())
    }
    fn is_interesting(&self, text: &str) -> bool {
        (self.judge)(text)
    }
    fn keep(&self, text: &str) -> Result<(), String> {
        assert!((self.judge)(text) && self.read(text).is_some(), "what is kept is interesting and right:\n{text}");
        self.kept.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// The text of what is left, without the module around it.
fn reduced(text: &str, judge: impl Fn(&str) -> bool + Sync) -> String {
    let mut last = String::new();
    for jobs in [1, 3] {
        let surroundings = Judged { judge: &judge, kept: AtomicUsize::new(0) };
        let ir = surroundings.read(text).expect("the text is right");
        let out = reduce(ir, jobs, &surroundings, &mut |_| {}).expect("nothing ends it").text;
        assert!(surroundings.kept.load(Ordering::Relaxed) > 0);
        assert!(last.is_empty() || last == out, "the number of jobs makes no difference");
        last = out;
    }
    let lines: Vec<&str> = last.lines().filter(|l| !["module {", "}"].contains(l)).map(|l| l.trim_start()).collect();
    lines.join("\n")
}

#[test]
fn ops_and_arguments_go() {
    let text = "func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %x : tensor<4xf32>\n}\n\
        func.func @f(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %z: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {\n\
        %0 = \"aten.exp\"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>\n\
        %1 = \"aten.add.Tensor\"(%0, %y) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>\n\
        %2 = \"aten.sin\"(%1) {note = \"kept by nobody\"} : (tensor<4x8xf32>) -> tensor<4x8xf32>\n\
        %3 = \"aten.mul.Tensor\"(%2, %z) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>\n\
        return %3, %0 : tensor<4x8xf32>, tensor<4x8xf32>\n}\n";
    let left = reduced(text, |t| t.contains("= \"aten.sin\"(%"));
    // Names are those of the values that are left.
    let sin = "\"aten.sin\"(%0) : (tensor<1x1xf32>) -> tensor<1x1xf32>";
    assert_eq!(left, format!("func.func @f(%0: tensor<1x1xf32>) {{\n%2 = {sin}\nreturn\n}}"));
}

#[test]
fn what_follows_goes_though_types_change() {
    let text = "module attributes {note = 1} {\nfunc.func @f(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {\n\
        %0 = \"aten.sin\"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>\n\
        %1 = \"aten.view\"(%0) <{size = array<i64: 8, 4>}> : (tensor<4x8xf32>) -> tensor<8x4xf32>\n\
        return %1 : tensor<8x4xf32>\n}\n}\n";
    let left = reduced(text, |t| t.contains("= \"aten.sin\"(%") && t.contains("return %"));
    assert!(!left.contains("aten.view") && !left.contains("note") && left.lines().count() == 4, "{left}");
}

#[test]
fn operands_results_attributes_and_regions_go() {
    let text = "%0:3 = \"t.make\"() {a = 1, b = 2} : () -> (i32, i32, i32)\n\
        %1 = \"t.use\"(%0#0, %0#1, %0#2) ({\n  \"t.inside\"(%0#0) : (i32) -> ()\n}, {\n  \"t.more\"() : () -> ()\n}) {c = [1, 2], d} : (i32, i32, i32) -> i32\n\
        \"t.end\"(%1) : (i32) -> ()\n";
    let left = reduced(text, |t| t.contains("t.use") && t.contains("t.inside") && t.contains("b = "));
    assert_eq!(
        left,
        "\"t.make\"() {b = 1 : i64} : () -> ()\n\"t.use\"() ({\n\"t.inside\"() : () -> ()\n}, {\n}) : () -> ()"
    );
}

#[test]
fn branches_and_blocks_go() {
    let text = "func.func @f(%c: i1, %x: i32) -> i32 {\n  \"cf.cond_br\"(%c, %x)[^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (i1, i32) -> ()\n\
        ^bb1(%y: i32):\n  \"t.here\"(%y) : (i32) -> ()\n  return %y : i32\n^bb2:\n  \"cf.br\"(%x)[^bb1] : (i32) -> ()\n}\n";
    let left = reduced(text, |t| t.contains("t.here") && t.contains("cf."));
    assert!(!left.contains("bb2") && !left.contains("cond_br") && left.contains("\"t.here\"() : () -> ()"), "{left}");
}

#[test]
fn scalars_inside_of_nests_get_stand_ins() {
    let text = "func.func @f(%x: tensor<64x32xf32>) -> tensor<64x32xf32> {\n\
        %0 = loops.pointwise (%i, %j) in [64, 32] -> tensor<64x32xf32> {\n\
        %v = loops.load %x[%i, %j] : f32\n%w = math.exp %v : f32\n%u = math.sin %w : f32\n%s = arith.addf %u, %v : f32\nloops.yield %s : f32\n}\n\
        return %0 : tensor<64x32xf32>\n}\n";
    let left = reduced(text, |t| t.contains("= math.sin %") && t.contains("= loops.pointwise ("));
    assert!(!left.contains("math.exp") && !left.contains("addf"), "{left}");
    assert!(!left.contains("64") && !left.contains("32x") && left.contains("in [1, 1]"), "{left}");
}
