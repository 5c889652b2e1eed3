//! The pipelines that have names (`--pipeline=cpu`, or the name in the text of another), and running passes over a module.

use super::session::{Dialects, Messages};
use crate::ir::Ir;
use crate::pass::manager::{Config, Manager};
use crate::pass::pipeline::{self, Catalog, NamedPipeline, Pipeline};
use crate::pass::report::Statistics;
use crate::support::{Diagnostic, SourceMap};

/// All named pipelines. Their text is read when one is used.
pub static PIPELINES: &[NamedPipeline] = &[
    NamedPipeline {
        name: "cpu",
        summary: "from the aten graph to kernels for the CPU, with memory planned",
        text: "aten-decompose,aten-canonicalize,cse,dce,lower-products-to-loops,lower-aten-to-loops,loops-inline,\
               canonicalize,cse,dce,loops-inline,cse,dce,loops-fuse,form-kernels,cse,dce,kernels-split,\
               kernels-join,kernels-keep,kernels-in-place,kernels-tile,kernels-traffic,plan-memory",
    },
    NamedPipeline {
        name: "cpu-products",
        summary: "like cpu, but every product of matrices of floats becomes a kernel",
        text: "aten-decompose,aten-canonicalize,cse,dce,lower-products-to-loops{when=always},cpu",
    },
    NamedPipeline {
        name: "cpu-debug",
        summary: "like cpu, but every op of the graph becomes its own kernel and every value its own buffer",
        text: "aten-decompose,lower-aten-to-loops,form-kernels,kernels-tile",
    },
    NamedPipeline {
        name: "gpu",
        summary: "from the aten graph to kernels with the tiles of a GPU, every value in a buffer of its own",
        text: "aten-decompose,aten-canonicalize,cse,dce,lower-aten-to-loops,loops-inline,canonicalize,cse,dce,\
               loops-inline,cse,dce,loops-split-reductions,loops-fuse,form-kernels,cse,dce,kernels-in-place,\
               kernels-tile{target=gpu},kernels-traffic",
    },
];

/// What the text of a pipeline may name.
pub fn catalog() -> Catalog<'static> {
    Catalog { passes: crate::passes::TABLE, pipelines: PIPELINES }
}

/// Reads the text of a pipeline. `origin` is where diagnostics say that it stands.
///
/// # Errors
/// What is wrong with it.
pub fn read(origin: &str, text: &str, sources: &mut SourceMap) -> Result<Pipeline, Diagnostic> {
    let id = sources.add(origin, text).map_err(Diagnostic::error_nowhere)?;
    pipeline::parse(text, id, &catalog())
}

/// Runs passes over a module, and gives what they have said but for remarks. The module is verified after each pass where `verify_each` says so.
///
/// # Errors
/// A pass failed: what was said.
pub fn run(
    ir: &mut Ir,
    pipeline: &Pipeline,
    dialects: &Dialects,
    verify_each: bool,
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    run_with(ir, pipeline, dialects, &Config { verify_each, ..Config::default() })
}

/// The same, as `config` says; what passes have said has remarks in it if it asks for them.
///
/// # Errors
/// A pass failed: what was said.
pub fn run_with(
    ir: &mut Ir,
    pipeline: &Pipeline,
    dialects: &Dialects,
    config: &Config,
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    run_counting(ir, pipeline, dialects, config).map(|(said, _)| said)
}

/// The same, with what the passes counted.
///
/// # Errors
/// A pass failed: what was said.
pub fn run_counting(
    ir: &mut Ir,
    pipeline: &Pipeline,
    dialects: &Dialects,
    config: &Config,
) -> Result<(Vec<Diagnostic>, Statistics), Vec<Diagnostic>> {
    let messages = Messages { remarks: config.remarks, ..Messages::default() };
    let mut manager = Manager::new(&dialects.registry, dialects, config, &messages);
    let done = manager.run(ir, pipeline);
    let statistics = std::mem::take(&mut manager.statistics);
    let mut said = messages.said.take();
    match done {
        Ok(_) => Ok((said, statistics)),
        Err(failure) => {
            if said.is_empty() {
                said.push(Diagnostic::error_nowhere(failure.message));
            }
            Err(said)
        }
    }
}
