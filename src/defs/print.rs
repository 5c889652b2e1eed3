//! Semantics as text: what tests compare, and what a person reads who asks what an op computes.

use crate::semantics::*;
use rinductor_index::{Expr, Exprs};
use std::fmt::Write;

/// Every nest, with one line for each value of its body.
pub fn semantics(semantics: &Semantics, exprs: &Exprs) -> String {
    let mut out = String::new();
    for (i, nest) in semantics.nests.iter().enumerate() {
        print_nest(&mut out, i, nest, exprs);
    }
    let outputs: Vec<String> = semantics
        .outputs
        .iter()
        .map(|o| match o {
            Output::Nest { nest, out } => format!("n{nest}#{out}"),
            Output::Int(e) => exprs.display(*e),
            Output::Number(value) => format!("{value}"),
            Output::Operand(k) => format!("%{k}"),
        })
        .collect();
    line(&mut out, format_args!("return {}", outputs.join(", ")));
    out
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("writing to a string succeeds");
}

fn list(items: &[Expr], exprs: &Exprs) -> String {
    let items: Vec<String> = items.iter().map(|e| exprs.display(*e)).collect();
    format!("[{}]", items.join(", "))
}

fn source(source: Source) -> String {
    match source {
        Source::Operand(k) => format!("%{k}"),
        Source::Nest { nest, out } => format!("n{nest}#{out}"),
    }
}

fn print_nest(out: &mut String, number: usize, nest: &Nest, exprs: &Exprs) {
    let what = match &nest.kind {
        NestKind::Pointwise => "pointwise".to_owned(),
        NestKind::Reduce { over, combiner } => format!("reduce {} over {}", combiner.word(), list(over, exprs)),
        NestKind::Scan { dim, combiner } => format!("scan {} along {dim}", combiner.word()),
        NestKind::Sort { dim, descending } => {
            format!("sort {} along {dim}", if *descending { "descending" } else { "ascending" })
        }
        NestKind::Scatter { base, updates, at, mode, when } => {
            let when = when.map_or(String::new(), |w| format!(" when v{}", w.0));
            format!(
                "scatter {} {} into {} at {}{when}",
                mode.word(),
                list(updates, exprs),
                source(*base),
                list(at, exprs)
            )
        }
    };
    let dtypes: Vec<&str> = nest.outputs.iter().map(|d| d.ir_name()).collect();
    let name = nest.name.as_ref().map_or(String::new(), |n| format!(" // {n}"));
    line(out, format_args!("n{number} = {what} in {} -> {}{name}", list(&nest.space, exprs), dtypes.join(", ")));
    let loops = nest.space.len()
        + match &nest.kind {
            NestKind::Reduce { over, .. } => over.len(),
            _ => 0,
        };
    let loops = if let NestKind::Scatter { updates, .. } = &nest.kind { updates.len() } else { loops };
    for (i, node) in nest.body.nodes.iter().enumerate() {
        let text = match &node.kind {
            NodeKind::Const(value) => format!("{value}"),
            NodeKind::Index(e) => format!("index {}", exprs.display(*e)),
            NodeKind::Op { op, args } => {
                let args: Vec<String> = args.iter().map(|a| format!("v{}", a.0)).collect();
                format!("{op} {}", args.join(", "))
            }
            NodeKind::Load { source: s, at, guard } => {
                let guard = guard.map_or(String::new(), |g| format!(" if v{}", g.0));
                format!("load {}{}{guard}", source(*s), list(at, exprs))
            }
        };
        line(out, format_args!("  v{i} = {text} : {}", node.dtype));
    }
    for (i, indirect) in nest.body.indirect.iter().enumerate() {
        let how = match indirect.bounds {
            Bounds::Check => "check",
            Bounds::Wrap => "wrap",
            Bounds::Trust => "trust",
        };
        let guard = indirect.guard.map_or(String::new(), |g| format!(" if v{}", g.0));
        let size = exprs.display(indirect.size);
        line(out, format_args!("  d{} = {how} v{} in {size}{guard}", loops + i, indirect.value.0));
    }
    let yields: Vec<String> = nest.body.yields.iter().map(|y| format!("v{}", y.0)).collect();
    line(out, format_args!("  yield {}", yields.join(", ")));
}
