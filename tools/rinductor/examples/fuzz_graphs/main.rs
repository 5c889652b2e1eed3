//! Fuzzes the levels and the machine code with random graphs: `fuzz_graphs SECONDS [SEED]`, or `fuzz_graphs --case SEED N` for one case.
//!
//! Graphs of 1 to 12 ops are made from the dialect files, so that a new op is covered as soon as it is declared; case N has op number N among others. What
//! the interpreter makes of the graph must come out again after each pass of the pipeline, and from the machine code. Which digits count is found by
//! running the graph with random rounding (`interp::rounding`): integers and what does not depend on rounding must be equal. A pass that
//! reports an error, a panic, a crash or a case without an end is a failure too.
//!
//! A failure is made smaller and written to `graph-SEED-N.ir`, with its inputs in `graph-SEED-N.npz`. With `--samples FOLDER` some graphs are
//! written there with inputs, results and tolerances, for a comparison with PyTorch by `tools/bench/eager.py`.

#[path = "../common/mod.rs"]
mod common;
mod generate;
mod graph;
mod reduce;
mod run;
mod write;

use common::random::Random;
use common::supervise::{Fuzzer, Limits};
use generate::Candidate;
use graph::Graph;
use rinductor::driver::session::Dialects;
use run::Outcome;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// The pipelines that graphs go through, the usual one most often.
const PIPELINES: &[&str] = &[
    "cpu",
    "cpu",
    "cpu",
    "cpu-debug",
    "aten-decompose,aten-canonicalize,lower-aten-to-loops,loops-fuse,form-kernels,kernels-tile{vector-bytes=16},plan-memory",
];

struct Graphs {
    seed: u64,
    dialects: Arc<Dialects>,
    candidates: Vec<Candidate>,
    samples: Option<PathBuf>,
    covered: BTreeSet<String>,
}

impl Graphs {
    fn make(&self, case: u64) -> Option<(Graph, String)> {
        let mut random = Random::new(self.seed, case);
        let passes = *random.pick(PIPELINES);
        let first = case as usize % self.candidates.len();
        let graph =
            (0..4).find_map(|_| generate::graph(&mut random, &self.dialects.library, &self.candidates, first))?;
        let passes =
            rinductor::driver::pipelines::PIPELINES.iter().find(|p| p.name == passes).map_or(passes, |p| p.text);
        Some((graph, passes.to_string()))
    }
}

impl Fuzzer for Graphs {
    fn counts(&self) -> &'static [&'static str] {
        &["graphs", "ops", "stopped by the graph itself", "elements compared", "elements"]
    }

    fn case(&mut self, case: u64, counts: &mut [u64]) -> Result<(), String> {
        let Some((graph, passes)) = self.make(case) else { return Ok(()) };
        counts[0] += 1;
        counts[1] += graph.nodes.len() as u64;
        match run::check(&graph, &passes, &self.dialects)? {
            Outcome::Traps => counts[2] += 1,
            Outcome::Agrees { compared, elements } => {
                counts[3] += compared;
                counts[4] += elements;
                self.covered.extend(graph.nodes.iter().map(|n| n.op.clone()));
                if let Some(folder) = &self.samples {
                    write::sample(&graph, folder, &format!("graph-{}-{case}", self.seed), &self.dialects)?;
                }
            }
        }
        Ok(())
    }

    fn save(&self, case: u64) -> String {
        let Some((graph, passes)) = self.make(case) else { return "no graph".into() };
        let name = format!("graph-{}-{case}", self.seed);
        write::reproducer(&graph, &passes, &name, &self.dialects)
    }

    fn smaller(&self, case: u64, message: &str) -> String {
        let Some((graph, passes)) = self.make(case) else { return "no graph".into() };
        let (graph, message) = reduce::reduce(&graph, &passes, &self.dialects, message.to_string());
        let name = format!("graph-{}-{case}", self.seed);
        format!("{}\n  smaller: {message}", write::reproducer(&graph, &passes, &name, &self.dialects))
    }

    fn end(&self) {
        let never: Vec<&str> =
            self.candidates.iter().map(Candidate::name).filter(|n| !self.covered.contains(*n)).collect();
        println!("{} of {} ops were run; not: {}", self.covered.len(), self.candidates.len(), never.join(" "));
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, other: u64| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(other);
    let dialects = Dialects::builtin();
    let candidates = generate::candidates(&dialects.library);
    let samples = args.iter().position(|a| a == "--samples").and_then(|k| args.get(k + 1)).map(PathBuf::from);
    let mut graphs = Graphs { seed: 1, dialects, candidates, samples, covered: BTreeSet::new() };
    if args.first().is_some_and(|a| a == "--case") {
        graphs.seed = number(1, 1);
        let mut counts = [0; 5];
        let result = graphs.case(number(2, 0), &mut counts);
        match result {
            Ok(()) => println!("right: {counts:?}"),
            Err(message) => {
                println!("{message}\n  {}", graphs.smaller(number(2, 0), &message));
                return ExitCode::FAILURE;
            }
        }
        return ExitCode::SUCCESS;
    }
    graphs.seed = number(1, 1);
    let limits = Limits {
        time: Duration::from_secs(number(0, 60)),
        hang: Duration::from_secs(60),
        memory: 8 << 20,
        failures: 60,
    };
    common::supervise::run(&mut graphs, &args, limits)
}
