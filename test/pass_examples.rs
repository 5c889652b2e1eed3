//! The IR before and after in the documentation of each pass is what the pass really does.

use rinductor::driver::session::Dialects;
use rinductor::ir::Ir;
use rinductor::pass::{AnyPass, OpInfos, PassContext, doc};
use rinductor::support::{SourceMap, diag::render};
use rinductor::text::{ParseOptions, PrintOptions, parse, print};

/// The blocks of IR in a text, each with the last line of text before it.
fn blocks(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut last = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() == "```mlir" {
            let body: Vec<&str> = lines.by_ref().take_while(|l| l.trim() != "```").collect();
            found.push((std::mem::take(&mut last), body.join("\n")));
        } else if !line.trim().is_empty() {
            last = line.trim().to_string();
        }
    }
    found
}

fn read(text: &str, dialects: &Dialects, pass: &dyn AnyPass) -> Ir {
    let mut sources = SourceMap::new();
    let id = sources.add(format!("documentation of {}", pass.name()), text).expect("it is short");
    let (ir, mut wrong) = parse(&sources, id, &ParseOptions::new(&dialects.registry));
    let mut ir = ir.unwrap_or_default();
    if wrong.is_empty() {
        let root = ir.module();
        wrong = dialects.verify(&mut ir, root);
    }
    assert!(wrong.is_empty(), "{}", render::render(&wrong, &sources, render::Style::Rich, false));
    ir
}

/// The text with SSA names by order of appearance: what a pass calls a new value is not what its example is about.
fn renamed(text: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..=at]);
        rest = &rest[at + 1..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let name = &rest[..end];
        let number = names.iter().position(|n| *n == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        out.push_str(&format!("v{number}"));
        rest = &rest[end..];
    }
    out + rest
}

#[test]
fn examples_are_what_passes_do() {
    let mut examples = 0;
    let dialects = Dialects::builtin();
    for pass in rinductor::passes::TABLE {
        let mut before = None;
        for (title, text) in blocks(&doc(*pass)) {
            // `Before:`, or `Before, with max-reads=2:`.
            if let Some(rest) = title.strip_prefix("Before") {
                let options = rest.trim_end_matches(':').strip_prefix(", with ").unwrap_or("").to_string();
                before = Some((text, options));
                continue;
            }
            if !title.starts_with("After") {
                continue;
            }
            let (text_before, options) =
                before.take().unwrap_or_else(|| panic!("{}: After without Before", pass.name()));
            let values: Vec<(&str, &str)> = options.split_whitespace().filter_map(|o| o.split_once('=')).collect();
            let run = pass.with_options(&values).unwrap_or_else(|e| panic!("{}: {}", pass.name(), e.1));
            let mut ir = read(&text_before, &dialects, *pass);
            let module = ir.module();
            let targets = match pass.on() {
                Some(name) if name != "builtin.module" => ir.ops_named(module, name),
                _ => vec![module],
            };
            for target in targets {
                let mut cx = PassContext::new(*pass, &*dialects, false);
                run(&mut ir, target, &mut cx).unwrap_or_else(|e| panic!("{}: {}", pass.name(), e.message));
            }
            let show = |ir: &Ir| renamed(&print(ir, &dialects.registry, &PrintOptions::default()));
            let expected = show(&read(&text, &dialects, *pass));
            let got = show(&ir);
            assert!(got == expected, "{}: the pass gives\n{got}\nits documentation says\n{expected}", pass.name());
            examples += 1;
        }
    }
    assert!(examples >= rinductor::passes::TABLE.len() - 1, "only {examples} examples were found"); // test-failure changes nothing
}
