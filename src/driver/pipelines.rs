//! The pipelines that have names: `--pipeline=cpu`, or the name in the text of another.

use crate::pass::pipeline::{Catalog, NamedPipeline};

/// All named pipelines. Their text is read when one is used.
pub static PIPELINES: &[NamedPipeline] = &[
    NamedPipeline {
        name: "cpu",
        summary: "from the aten graph to kernels for the CPU, with memory planned",
        text: "aten-decompose,aten-canonicalize,cse,dce,lower-aten-to-loops,canonicalize,cse,\
               loops-inline,loops-fuse,form-kernels,kernels-tile,plan-memory",
    },
    NamedPipeline {
        name: "cpu-debug",
        summary: "like cpu, but every op of the graph becomes its own kernel and every value its own buffer",
        text: "aten-decompose,lower-aten-to-loops,form-kernels,kernels-tile",
    },
    NamedPipeline {
        name: "gpu",
        summary: "from the aten graph to kernels for the GPU",
        text: "aten-decompose,aten-canonicalize,cse,dce,lower-aten-to-loops,canonicalize,cse,\
               loops-inline,loops-fuse,form-kernels,kernels-tile{target=gpu},plan-memory",
    },
];

/// What the text of a pipeline may name.
pub fn catalog() -> Catalog<'static> {
    Catalog { passes: crate::passes::TABLE, pipelines: PIPELINES }
}
