//! Graphs as files: `.ir` with the inputs beside it.

use crate::graph::{Argument, Built, Graph};
use crate::run;
use rinductor::driver::reference::to_tensor;
use rinductor::driver::session::Dialects;
use rinductor::interp::value::{Array, for_each_point};
use rinductor::runtime::{Tensor, npz};
use rinductor::scalar::{DType, Scalar};
use rinductor::text::{self, PrintOptions};
use std::path::Path;

fn ir_text(built: &Built, dialects: &Dialects, generic: bool) -> String {
    text::print(&built.ir, &dialects.registry, &PrintOptions { generic, ..PrintOptions::default() })
}

/// The inputs by the names of the arguments.
fn inputs(built: &Built) -> Result<Vec<(String, Tensor)>, String> {
    let body = built.ir.body(built.func).ok_or("the function has no body")?;
    let names = built.ir.block_args(body).iter().map(|&v| built.ir.value_name(v).unwrap_or("").to_string());
    let tensor = |a: &Argument| match a {
        Argument::Int(n) => to_tensor(&Array::scalar(Scalar::i64(*n))),
        Argument::Tensor(a) => to_tensor(a),
    };
    names.zip(&built.arguments).map(|(name, a)| Ok((name, tensor(a)?))).collect()
}

/// Writes a graph that fails, and says how to see it.
pub fn reproducer(graph: &Graph, passes: &str, name: &str, dialects: &Dialects) -> String {
    let Some(built) = graph.build(&dialects.library) else { return "the graph cannot be built".into() };
    let head = format!("// rinductor-opt {name}.ir -p '{passes}' | rinductor-run - --inputs {name}.npz\n");
    let written = std::fs::write(format!("{name}.ir"), head + &ir_text(&built, dialects, false)).is_ok()
        && inputs(&built).is_ok_and(|list| {
            let list: Vec<(&str, &Tensor)> = list.iter().map(|(n, t)| (n.as_str(), t)).collect();
            npz::write_npz(Path::new(&format!("{name}.npz")), list).is_ok()
        });
    if written { format!("{name}.ir, {name}.npz ({passes})") } else { format!("{name}.ir cannot be written") }
}

/// An array whose elements every reader of npz knows: floats in 64 bits, integers in 64 bits.
fn plain(a: &Array, value: impl Fn(usize, Scalar) -> Scalar, dtype: DType) -> Result<Tensor, String> {
    let out = Array::zeros(dtype, &a.sizes).ok_or("too large")?;
    let mut k = 0;
    for_each_point(&a.sizes, |i| {
        k += 1;
        a.get(i).is_some_and(|v| out.set(i, value(k - 1, v)))
    });
    to_tensor(&out)
}

/// Writes a graph in generic form with its inputs, results and the tolerances of these.
///
/// # Errors
/// A file that cannot be written.
pub fn sample(graph: &Graph, folder: &Path, name: &str, dialects: &Dialects) -> Result<(), String> {
    let built = graph.build(&dialects.library).ok_or("the graph cannot be built")?;
    let reference = run::reference(&built, dialects)?;
    let wide = |a: &Array| {
        let dtype = match a.dtype {
            d if d.is_complex() => DType::C128,
            d if d.is_float() => DType::F64,
            DType::I1 => DType::I1,
            _ => DType::I64,
        };
        plain(a, move |_, v| v.cast(dtype), dtype)
    };
    let mut list: Vec<(String, Tensor)> = Vec::new();
    for (k, a) in built.arguments.iter().enumerate() {
        list.push((
            format!("in{k}"),
            match a {
                Argument::Int(n) => wide(&Array::scalar(Scalar::i64(*n)))?,
                Argument::Tensor(a) => wide(a)?,
            },
        ));
    }
    for (k, (a, t)) in reference.results.iter().zip(&reference.tolerance).enumerate() {
        list.push((format!("out{k}"), wide(a)?));
        let tolerance = |i: usize, _| Scalar::f64(t[i].unwrap_or(f64::INFINITY));
        list.push((format!("tol{k}"), plain(a, tolerance, DType::F64)?));
    }
    let list: Vec<(&str, &Tensor)> = list.iter().map(|(n, t)| (n.as_str(), t)).collect();
    npz::write_npz(&folder.join(format!("{name}.npz")), list).map_err(|e| e.to_string())?;
    std::fs::write(folder.join(format!("{name}.ir")), ir_text(&built, dialects, true)).map_err(|e| e.to_string())
}
