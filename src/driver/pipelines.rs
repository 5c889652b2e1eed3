//! The pipelines that have names: `--pipeline=cpu`, or the name in the text of another.

use crate::pass::pipeline::{Catalog, NamedPipeline};

/// All named pipelines. Their text is read when one is used.
pub static PIPELINES: &[NamedPipeline] = &[
    NamedPipeline {
        name: "cpu",
        summary: "from the aten graph to kernels for the CPU, with memory planned",
        text: "aten-decompose,aten-canonicalize,cse,dce,lower-aten-to-loops,loops-inline,canonicalize,cse,dce,\
               loops-fuse,form-kernels,cse,dce,kernels-tile,plan-memory",
    },
    NamedPipeline {
        name: "cpu-debug",
        summary: "like cpu, but every op of the graph becomes its own kernel and every value its own buffer",
        text: "aten-decompose,lower-aten-to-loops,form-kernels,kernels-tile",
    },
    NamedPipeline {
        name: "gpu",
        summary: "from the aten graph to kernels whose tiles an emitter for the GPU chooses",
        text: "aten-decompose,aten-canonicalize,cse,dce,lower-aten-to-loops,loops-inline,canonicalize,cse,dce,\
               loops-fuse,form-kernels,cse,dce,plan-memory",
    },
];

/// What the text of a pipeline may name.
pub fn catalog() -> Catalog<'static> {
    Catalog { passes: crate::passes::TABLE, pipelines: PIPELINES }
}
