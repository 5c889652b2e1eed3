//! Answers what definitions give and what machine code computes, for `tools/bench/eager_calls.py`: `call_ops DIALECT-FILE…`.
//!
//! The dialects are those of the files, read when the program starts, so that a definition can be tried without a build. Standard input has one question a
//! line, and each answer ends with a line `.`:
//!
//! - `types FILE.ir`: a line for each op with a schema, in the order of the file. `types TYPE; TYPE` with strides, `refused MESSAGE` for a requirement that does
//!   not hold, `undefined MESSAGE` where the types are known but the definition cannot be computed, `unknown` where the types do not follow from
//!   the op alone. What the file states of results is not looked at.
//! - `run FILE.ir INPUTS OUTPUTS`: runs the function `calls` as machine code with the tensors of a safetensors file; `done`, or `failed MESSAGE`.

use rinductor::codegen::cpu::Cpu;
use rinductor::defs::{Setting, Signature};
use rinductor::dialects::instance::instance_of;
use rinductor::dialects::library::{self, Library};
use rinductor::driver::compiled::Compiled;
use rinductor::driver::inputs::{self, Callee};
use rinductor::driver::pipelines;
use rinductor::driver::reference::Argument;
use rinductor::driver::session::{Dialects, Messages};
use rinductor::index::Ranges;
use rinductor::ir::{Ir, Op};
use rinductor::pass::OpInfos;
use rinductor::pass::manager::{Config, Manager};
use rinductor::pass::pipeline;
use rinductor::rewrite::types::ir_type;
use rinductor::runtime::safetensor;
use rinductor::support::SourceMap;
use rinductor::text::{AttrText, ParseOptions, parse};
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

fn read(dialects: &Dialects, file: &str) -> Result<(Ir, SourceMap), String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("cannot read {file}: {e}"))?;
    let mut sources = dialects.library.sources().clone();
    let source = sources.add(file, text)?;
    let (ir, wrong) = parse(&sources, source, &ParseOptions::new(&dialects.registry));
    match (ir, wrong.first()) {
        (Some(ir), None) => Ok((ir, sources)),
        (_, wrong) => Err(wrong.map_or("nothing was read".into(), |d| d.headline(&sources))),
    }
}

/// What the definition of an op gives; None for an op without a schema.
fn types_of(dialects: &Dialects, ir: &mut Ir, op: Op) -> Option<String> {
    let def = dialects.library.op(ir.op_name(op))?;
    let Signature::Schema(_) = def.signature else { return None };
    let mut instance = match instance_of(ir, op, def) {
        Ok(instance) => instance,
        Err(d) => return Some(format!("refused {}", d.message)),
    };
    instance.results.clear();
    let setting = Setting { facts: Ranges::of_sizes(2), externs: None };
    let types = match rinductor::defs::verify(def, &instance, &mut ir.exprs, &setting) {
        Err(broken) => return Some(format!("refused {}", broken.first().map_or("", |e| e.message.as_str()))),
        Ok(None) => return Some("unknown".into()),
        Ok(Some(types)) => types,
    };
    let mut shown = Vec::new();
    for t in &types {
        shown.push(match t.tensor() {
            Some(t) => {
                let ty = ir_type(ir, t, None);
                AttrText::of_type(ir, ty).to_string()
            }
            None => "index".into(),
        });
    }
    if !def.semantics.is_empty() {
        instance.results = types;
        if let Err(e) = rinductor::defs::instantiate(def, &instance, &mut ir.exprs, &setting) {
            return Some(format!("undefined {}", e.message));
        }
    }
    Some(format!("types {}", shown.join("; ")))
}

fn types(dialects: &Dialects, file: &str) -> Result<String, String> {
    let (mut ir, _) = read(dialects, file)?;
    let ops = ir.nested_ops(ir.module());
    let lines: Vec<String> = ops.into_iter().filter_map(|op| types_of(dialects, &mut ir, op)).collect();
    Ok(lines.iter().map(|l| l.replace('\n', " ") + "\n").collect())
}

fn run(dialects: &Dialects, file: &str, from: &str, to: &str) -> Result<String, String> {
    let (mut ir, mut sources) = read(dialects, file)?;
    let root = ir.module();
    if let Some(d) = dialects.verify(&mut ir, root).first() {
        return Err(d.headline(&sources));
    }
    let func = ir.lookup_symbol("calls").ok_or("there is no function 'calls'")?;
    let here = Path::new(".");
    let source = inputs::read_source(from, None, file, here)?;
    let arguments = Callee::new(&ir, func)?.arguments(&source, &[])?;
    let body = ir.body(func).ok_or("the function has no body")?;
    let last = ir.last_op(body).ok_or("the function returns nothing")?;
    let names: Vec<String> = ir.operands(last).map(|v| ir.value_name(v).unwrap_or("").to_string()).collect();
    let id = sources.add("<pipeline>", "cpu")?;
    let steps = pipeline::parse("cpu", id, &pipelines::catalog()).map_err(|d| d.headline(&sources))?;
    let messages = Messages::default();
    let config = Config { verify_each: true, ..Config::default() };
    let passed = Manager::new(&dialects.registry, dialects, &config, &messages).run(&mut ir, &steps).is_ok();
    if !passed {
        return Err(messages.said.take().first().map_or("a pass failed".into(), |d| d.headline(&sources)));
    }
    let compiled = Compiled::new(&ir, "calls", Cpu::default()).map_err(|d| d.headline(&sources))?;
    let results = compiled.run(&arguments).map_err(|d| d.message)?;
    let mut tensors = Vec::new();
    for (name, result) in names.iter().zip(&results) {
        if let Argument::Tensor(t) = result {
            tensors.push((name.as_str(), t));
        }
    }
    safetensor::write_safetensors(Path::new(to), tensors).map_err(|e| e.to_string())?;
    Ok("done\n".into())
}

fn answer(dialects: &Dialects, line: &str) -> Result<String, String> {
    match line.split_whitespace().collect::<Vec<_>>()[..] {
        ["types", file] => types(dialects, file),
        ["run", file, from, to] => run(dialects, file, from, to),
        _ => Err(format!("'{line}' is no question")),
    }
}

fn main() -> ExitCode {
    let mut library = Library::new();
    for file in std::env::args().skip(1) {
        let wrong = match std::fs::read_to_string(&file) {
            Ok(text) => library::load(&mut library, &file, &text),
            Err(e) => {
                eprintln!("cannot read {file}: {e}");
                return ExitCode::FAILURE;
            }
        };
        for d in &wrong {
            eprintln!("{}", d.headline(library.sources()));
        }
        if !wrong.is_empty() {
            return ExitCode::FAILURE;
        }
    }
    let library = Arc::new(library);
    let dialects = Dialects { registry: library::registry(&library), library };
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let text = answer(&dialects, &line).unwrap_or_else(|e| format!("failed {}\n", e.replace('\n', " ")));
        let mut out = std::io::stdout().lock();
        if writeln!(out, "{text}.").and_then(|()| out.flush()).is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
