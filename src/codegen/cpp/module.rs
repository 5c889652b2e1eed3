//! A file with the kernels of an `Ir`: equal kernels once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use rinductor_index::Exprs;
use rinductor_scalar::DType;
use rinductor_support::diag::Place;
use rinductor_support::{Diagnostic, FxHashMap};

use super::build::{CppBuild, State};
use super::host::{self, Host};
use super::node::{Kind, Type};
use super::signature::Signature;
use super::{half, library, names, ops, prelude};
use crate::codegen::kernel::{Arg, AxisKind, Kernel};
use crate::codegen::kernels;
use crate::codegen::vector::build::Machine;
use crate::codegen::vector::{self, Given};
use crate::dialects::kernels as dialect;
use crate::ir::{Ir, Op};

/// A file has at least so many kernels: starting a compiler for fewer does not pay.
const KERNELS_A_FILE: usize = 4;

/// What a file holds beside the kernels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// For each kernel a function of the binary interface (`codegen::abi`).
    Kernels,
    /// The function that launches them, and what it needs.
    Program,
}

/// A file, and how its function is called.
pub struct Program {
    /// The file.
    pub text: String,
    /// The function's head; None where the file has kernels alone.
    pub signature: Option<Signature>,
}

/// The element of a buffer in C++.
pub fn element(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "f32",
        DType::F64 => "f64",
        d => match d.size() {
            1 => "i8",
            2 => "i16",
            4 => "i32",
            _ => "i64",
        },
    }
}

/// The source line that an op comes from, if it is known, with the op of the model.
fn about(ir: &Ir, op: Op) -> String {
    match ir.place(ir.op(op).loc) {
        Place::File { file, line, .. } => format!("{file}:{line}"),
        _ => String::new(),
    }
}

/// The function that takes the table of the functions that no C library has, in the order of `calls::all`.
pub const LINK: &str = "rinductor_link";

/// The symbol of a kernel's function.
pub fn symbol(kernel: &str) -> String {
    format!("kernel_{}", names::identifier(kernel))
}

/// The kernels of an IR as C++.
///
/// # Errors
/// A kernel that the emitter cannot spell, an op that has no C++ code.
pub fn emit(ir: &Ir, machine: Machine, extent: Extent) -> Result<Program, Diagnostic> {
    let mut all = kernels::read(ir, false)?;
    if extent == Extent::Kernels {
        let text = file(ir, &all.distinct, &mut all.exprs, machine, None)?;
        return Ok(Program { text, signature: None });
    }
    let mut taken = BTreeSet::new();
    let functions: FxHashMap<String, String> =
        all.distinct.iter().map(|k| (k.name.clone(), unique(&k.name, &mut taken))).collect();
    let func = host::function_of(ir)?;
    let host = host::write(ir, &mut all, func, &functions)?;
    let text = file(ir, &all.distinct, &mut all.exprs, machine, Some(&host))?;
    Ok(Program { text, signature: Some(host.signature) })
}

/// The same in a few files, so that as many threads can compile them.
///
/// # Errors
/// As [`emit`].
pub fn parts(ir: &Ir, machine: Machine, threads: usize) -> Result<Vec<String>, Diagnostic> {
    let mut all = kernels::read(ir, false)?;
    let share = all.distinct.len().div_ceil(threads.max(1)).max(KERNELS_A_FILE);
    let parts = all.distinct.chunks(share).map(|kernels| file(ir, kernels, &mut all.exprs, machine, None));
    parts.collect()
}

fn file(
    ir: &Ir,
    distinct: &[Kernel],
    exprs: &mut Exprs,
    machine: Machine,
    host: Option<&Host>,
) -> Result<String, Diagnostic> {
    let build = CppBuild::new(machine, about);
    let mut functions = BTreeMap::new();
    let mut texts = Vec::new();
    let mut taken = BTreeSet::new();
    for kernel in distinct {
        kernels::check(ir, exprs, kernel)?;
        let name = unique(&kernel.name, &mut taken);
        texts.push(function(&build, ir, exprs, kernel, &name)?);
        functions.insert(kernel.name.clone(), name);
    }
    let State { types, mut called, placed, externals, .. } = build.state();
    called.insert("Error".into());
    if host.is_some_and(|h| h.ops) {
        called.extend(["from_half", "to_half"].map(str::to_string));
    }
    let mut out = prelude::head(match host {
        Some(_) => "A function and its kernels, by rinductor.",
        None => "Kernels by rinductor.",
    });
    if host.is_some() {
        out.push_str("#include <stdio.h>\n#include <stdlib.h>\n#ifdef _OPENMP\n#include <omp.h>\n#endif\n");
    }
    if called.contains("from_half") || called.contains("to_half") {
        out.push_str(half::INCLUDE);
    }
    if !externals.is_empty() {
        out.push('\n');
    }
    for text in externals.values() {
        let _ = writeln!(out, "extern \"C\" {text} noexcept;");
    }
    out.push_str("\nnamespace kernels {\n");
    out.push_str(&prelude::text(&types, &called));
    out.push_str(&match host {
        Some(_) => library::own(&called),
        None => library::text(&called),
    });
    for (_, text) in &placed {
        let _ = write!(out, "\n{text}");
    }
    for text in &texts {
        let _ = write!(out, "\n{text}");
    }
    if let Some(host) = host {
        out.push_str(ops::HOST);
        if host.ops {
            out.push_str(ops::OPS);
        }
        if !host.constants.is_empty() {
            let _ = write!(out, "\n// Constant data.\n{}", host.constants);
        }
    }
    out.push_str("\n}  // namespace kernels\n");
    if let Some(host) = host {
        let head = host.signature.head();
        let _ = write!(out, "\nextern \"C\" {head} {{\n  using namespace kernels;\n{}}}\n", host.body);
    } else {
        out.push_str(&library::link(&called));
        out.push_str(
            "\n// A kernel runs steps `begin` to `end`. Of each buffer it gets the start of the allocation.\n",
        );
        for kernel in distinct {
            let _ = write!(out, "{}", entry(ir, kernel, &functions[&kernel.name]));
        }
    }
    Ok(out)
}

/// An identifier that no other function of the file has.
fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    let base = names::identifier(name);
    let mut name = base.clone();
    let mut n = 0;
    while names::is_taken(&name) || !taken.insert(name.clone()) {
        n += 1;
        name = format!("{base}_{n}");
    }
    name
}

/// The function of a kernel.
fn function(build: &CppBuild, ir: &Ir, exprs: &mut Exprs, kernel: &Kernel, name: &str) -> Result<String, Diagnostic> {
    build.start(&["begin".into(), "end".into(), "error".into()]);
    let written = dialect::written(ir, kernel.op);
    let (mut params, mut buffers, mut symbols) = (Vec::new(), Vec::new(), FxHashMap::default());
    let pointer = Type { kind: Kind::Pointer, lanes: 1 };
    for (k, (value, arg)) in kernel.args.iter().enumerate() {
        match arg {
            Arg::Buffer(_, layout) => {
                let name = build.fresh_name(ir.value_name(*value).unwrap_or("buffer"));
                let constant = if written.get(k).copied().unwrap_or(true) { "" } else { "const " };
                params.push(format!("{constant}{} *{name}", element(layout.dtype)));
                buffers.push(build.parameter(&name, pointer));
            }
            Arg::Symbol(_, symbol) => {
                let name = build.fresh_name(symbol);
                params.push(format!("int64_t {name}"));
                symbols.insert(symbol.clone(), build.parameter(&name, Type::INDEX));
            }
        }
    }
    params.extend(["int64_t begin".into(), "int64_t end".into(), "Error *error".into()]);
    let given = Given {
        buffers,
        symbols,
        begin: build.parameter("begin", Type::INDEX),
        end: build.parameter("end", Type::INDEX),
        reports: build.parameter("error", pointer),
    };
    vector::emit_kernel(build, ir, exprs, kernel, given)?;
    let body = build.finish(None);
    let axes = kernel.axes.iter().map(|a| {
        let kind = if a.kind == AxisKind::Parallel { "" } else { " reduced" };
        let tile = if a.tile > 1 { format!(" by {}", a.tile) } else { String::new() };
        format!("{} of {}{kind}{tile}", a.name, exprs.display(a.extent))
    });
    let axes: Vec<String> = axes.collect();
    let unused = if body.contains("error") { "" } else { "  (void)error;\n" };
    let steps = if body.contains("begin") { "" } else { "  (void)begin, (void)end;\n" };
    Ok(format!("// {}\nstatic void {name}({}) {{\n{unused}{steps}{body}}}\n", axes.join(", "), params.join(", ")))
}

/// The function of the binary interface that calls a kernel.
fn entry(ir: &Ir, kernel: &Kernel, name: &str) -> String {
    let written = dialect::written(ir, kernel.op);
    let mut args = Vec::new();
    for (k, (_, arg)) in kernel.args.iter().enumerate() {
        args.push(match arg {
            Arg::Buffer(i, layout) => {
                let constant = if written.get(k).copied().unwrap_or(true) { "" } else { "const " };
                format!("({constant}kernels::{} *)buffers[{i}]", element(layout.dtype))
            }
            Arg::Symbol(i, _) => format!("symbols[{i}]"),
        });
    }
    args.extend(["begin".into(), "end".into(), "error".into()]);
    format!(
        "extern \"C\" void {symbol}(char *const *buffers, const int64_t *symbols, int64_t begin, int64_t end, kernels::Error *error) {{\n  \
         (void)buffers, (void)symbols;\n  \
         kernels::{name}({});\n}}\n",
        args.join(", "),
        symbol = symbol(&kernel.name)
    )
}
