//! Every rule is run: graphs are generated from its pattern, rewritten by it alone, and what they compute before and after is compared.

#[path = "rules/generate.rs"]
mod generate;

use generate::{Random, Sample};
use rinductor::defs::RuleDef;
use rinductor::dialects::library::{self, Library};
use rinductor::interp::{self, Input, Output};
use rinductor::ir::{Ir, Op};
use rinductor::rewrite::{RuleRewriter, RuleSet, greedy};
use rinductor::scalar::{DType, Scalar};

/// Gives a seed; runs no other extern op.
struct OnlySeeds;
impl interp::Externs for OnlySeeds {
    fn call(&self, call: &interp::ExternCall) -> Result<Vec<interp::value::Array>, String> {
        if call.name != "prims.inductor_seed" {
            return Err(format!("{} is not run here", call.name));
        }
        let seed = interp::value::Array::with_strides(DType::I64, &[], &[]).ok_or("a number is too large")?;
        seed.set(&[], Scalar::i64(7));
        Ok(vec![seed])
    }
}

fn outputs(ir: &Ir, func: Op, inputs: &[Input], library: &Library) -> Result<Vec<Vec<Scalar>>, String> {
    let results = interp::run(ir, func, inputs, library, &OnlySeeds).map_err(|d| d.message)?;
    Ok(results
        .into_iter()
        .map(|r| match r {
            Output::Tensor(a) => a.elements(),
            Output::Int(n) => vec![Scalar::i64(n)],
            Output::None => Vec::new(),
        })
        .collect())
}

/// Whether two elements are the same. A decomposition may round otherwise.
fn same(a: Scalar, b: Scalar, tolerance: f64) -> bool {
    if a == b || a.is_nan() && b.is_nan() {
        return true;
    }
    let (x, y) = (a.to_f64(), b.to_f64());
    a.dtype() == b.dtype() && tolerance > 0.0 && (x - y).abs() <= tolerance * (1.0 + x.abs().max(y.abs()))
}

/// What running one rule came to.
enum Ran {
    /// It never applied to what was generated.
    Never,
    /// It applied, and nothing changed.
    Right,
    /// It changed what is computed.
    Wrong(String),
}

/// Runs one rule on graphs generated from its pattern.
fn run_rule(library: &Library, def: &RuleDef, tries: usize) -> Ran {
    let rules = RuleSet::compile(library, |r| std::ptr::eq(r, def));
    let decompositions = RuleSet::compile(library, |r| r.decomposition && def.decomposition);
    let mut random = Random::new(def.name.text.bytes().fold(7, |h, b| h.wrapping_mul(31).wrapping_add(u64::from(b))));
    let mut applied = 0;
    for _ in 0..tries {
        let Some(Sample { mut ir, func, inputs }) = generate::sample(&rules.rules[0].pattern, library, &mut random)
        else {
            continue;
        };
        let before = outputs(&ir, func, &inputs, library);
        let module = ir.module();
        let mut rewriter = RuleRewriter::new(&rules, library, false);
        greedy(&mut ir, module, library, &mut rewriter);
        if rewriter.counts[0] == 0 {
            continue;
        }
        // A decomposition may name ops that are decomposed themselves.
        greedy(&mut ir, module, library, &mut RuleRewriter::new(&decompositions, library, false));
        // An op that only its decomposition computes has nothing to compare with: it must run, with the types of the op.
        let computed = library.op(&def.pattern.op.text).is_some_and(|d| !d.semantics.is_empty());
        let before = match before {
            Ok(before) => before,
            Err(_) if def.decomposition && !computed => Vec::new(),
            Err(_) => continue,
        };
        let after = match outputs(&ir, func, &inputs, library) {
            Ok(after) => after,
            Err(why) => return Ran::Wrong(format!("it ran before, and now: {why}")),
        };
        let tolerance = if def.decomposition { 4e-2 } else { 0.0 };
        for (b, a) in before.iter().zip(&after) {
            let wrong = b.iter().zip(a).find(|(x, y)| !same(**x, **y, tolerance));
            if let Some((x, y)) = wrong {
                return Ran::Wrong(format!("{x:?} before, {y:?} after"));
            }
            if b.len() != a.len() {
                return Ran::Wrong("another number of elements".into());
            }
        }
        applied += 1;
        if applied >= 8 {
            break;
        }
    }
    if applied == 0 { Ran::Never } else { Ran::Right }
}

#[test]
fn every_rule_computes_what_it_replaces() {
    let library = library::builtin();
    let mut wrong = Vec::new();
    for def in library.rules() {
        // Extern ops are not run here.
        match run_rule(&library, def, 3000) {
            Ran::Right => {}
            Ran::Never => wrong.push(format!("{}: never applied to a generated graph", def.name.text)),
            Ran::Wrong(why) => wrong.push(format!("{}: {why}", def.name.text)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn wrong_rules_are_noticed() {
    let mut library = library::builtin();
    let errors = library.load(
        "wrong.rules",
        "rule add_zero_float: aten.add.Tensor(x, 0) => x;\n\
         rule sub_is_add: aten.sub.Tensor(x, y) => aten.add.Tensor(x, y);\n\
         rule convert_through: prims.convert_element_type(prims.convert_element_type(x, a), b) => prims.convert_element_type(x, b);\n",
    );
    assert!(errors.is_empty(), "{errors:?}");
    for name in ["add_zero_float", "sub_is_add", "convert_through"] {
        let def = library.rules().iter().find(|r| &*r.name.text == name).unwrap();
        assert!(matches!(run_rule(&library, def, 3000), Ran::Wrong(_)), "{name}");
    }
}

#[test]
fn rules_that_undo_each_other_are_stopped() {
    let mut library = library::builtin();
    let text = "set circle { rule one: aten.exp(x) => aten.log(x); rule two: aten.log(x) => aten.exp(x); }";
    assert!(library.load("circle.rules", text).is_empty());
    let rules = RuleSet::compile(&library, |r| &*r.set == "circle");
    let mut random = Random::new(1);
    let sample = std::iter::repeat_with(|| generate::sample(&rules.rules[0].pattern, &library, &mut random))
        .take(200)
        .flatten()
        .next();
    let mut ir = sample.expect("exp of something can be made").ir;
    let module = ir.module();
    let outcome = greedy(&mut ir, module, &library, &mut RuleRewriter::new(&rules, &library, false));
    assert!(outcome.stopped && outcome.rewrites >= 1000, "{outcome:?}");
}
