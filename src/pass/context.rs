//! What a pass may use while it runs: facts about ops, messages, counters.

use super::OpInfos;
use super::report::Count;
use crate::ir::registry::Registry;
use crate::ir::{Ir, Op};
use crate::support::{Diagnostic, Severity};
use std::path::Path;

/// Handed to a pass each time it runs.
pub struct PassContext<'a> {
    /// Facts about ops.
    pub infos: &'a dyn OpInfos,
    /// How ops are read and written, where the pass may need to.
    pub registry: Option<&'a Registry>,
    /// The folder that names of files are relative to; that of the process if it is empty.
    pub folder: &'a Path,
    pass: &'static str,
    statistics: &'static [(&'static str, &'static str)],
    counts: Vec<Count>,
    diagnostics: Vec<Diagnostic>,
    remarks: bool,
    statistics_wanted: bool,
}

impl<'a> PassContext<'a> {
    /// A context for one run of a pass. `remarks` says whether anybody reads remarks.
    pub fn new(pass: &dyn super::AnyPass, infos: &'a dyn OpInfos, remarks: bool) -> Self {
        let statistics = pass.statistics();
        let counts = vec![Count::Sum(0); statistics.len()];
        let (registry, folder) = (None, Path::new(""));
        Self {
            infos,
            registry,
            folder,
            pass: pass.name(),
            statistics,
            counts,
            diagnostics: Vec::new(),
            remarks,
            statistics_wanted: false,
        }
    }

    /// The same, where somebody reads the counters.
    #[must_use]
    pub fn with_statistics(self, wanted: bool) -> Self {
        Self { statistics_wanted: wanted, ..self }
    }

    /// The same for a pass that may read files and texts.
    #[must_use]
    pub fn reading(self, registry: &'a Registry, folder: &'a Path) -> Self {
        Self { registry: Some(registry), folder, ..self }
    }

    /// The name of the pass that runs.
    pub fn pass(&self) -> &'static str {
        self.pass
    }

    /// Adds to a counter.
    ///
    /// # Panics
    /// The pass did not declare the counter in its `statistics`.
    pub fn count(&mut self, name: &str, n: u64) {
        self.add(name, Count::Sum(n));
    }

    /// Adds to a counter that says how many percent of `whole` the `part` is, over all executions together.
    ///
    /// # Panics
    /// The pass did not declare the counter in its `statistics`.
    pub fn percent(&mut self, name: &str, part: u64, whole: u64) {
        self.add(name, Count::Percent { part, whole });
    }

    fn add(&mut self, name: &str, count: Count) {
        let i = self.statistics.iter().position(|s| s.0 == name);
        self.counts[i.expect("a pass counts only what its statistics declare")].add(count);
    }

    /// Whether counters are shown: ask before working out what nothing else needs.
    pub fn wants_statistics(&self) -> bool {
        self.statistics_wanted
    }

    /// Whether remarks are shown: ask before working out an expensive one.
    pub fn wants_remarks(&self) -> bool {
        self.remarks
    }

    /// Says what the pass did or did not do at an op, and why.
    pub fn remark(&mut self, ir: &Ir, op: Op, message: impl Into<String>) {
        if self.remarks {
            let place = ir.place(ir.op(op).loc);
            self.diagnostics.push(Diagnostic::new(
                Severity::Remark,
                place,
                format!("{}: {}", self.pass, message.into()),
            ));
        }
    }

    /// Warns about an op.
    pub fn warn(&mut self, ir: &Ir, op: Op, message: impl Into<String>) {
        let place = ir.place(ir.op(op).loc);
        self.diagnostics.push(Diagnostic::new(Severity::Warning, place, message));
    }

    /// Adds a message of any kind; after an error the pipeline stops when the pass returns.
    pub fn emit(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Takes messages and counters, when the pass has run.
    pub fn finish(self) -> (Vec<Diagnostic>, Vec<Count>) {
        (self.diagnostics, self.counts)
    }
}
