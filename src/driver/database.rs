//! The file that holds the best schedules that were found: sequences of the `schedule` dialect, each with the key of its kernel and the machine.
//!
//! ```mlir
//! schedule.sequence @k3f29 on kernels attributes {kernel = "3f29…", machine = "x86_64 znver4", microseconds = 9.1 : f64, untuned = 12.3 : f64} {
//!   %k = schedule.match op "kernels.func"
//!   schedule.vectorize %k axis x by 16
//! }
//! ```

use super::session::{self, Dialects};
use crate::passes::apply_schedule::{KernelStep, sequences};
use crate::support::{Diagnostic, SourceMap};
use std::fmt::Write;

/// What stands above the entries.
const HEAD: &str =
    "// Schedules that rinductor-tune found: for each kernel, by what it computes, and each machine the fastest one.\n";

/// A file of schedules.
#[derive(Clone, Default)]
pub struct Database {
    entries: Vec<Entry>,
}

/// One entry as text, with what it is found by.
#[derive(Clone)]
struct Entry {
    kernel: String,
    machine: String,
    text: String,
}

/// What was found for a kernel.
pub struct Found<'a> {
    /// The key of the kernel.
    pub kernel: &'a str,
    /// The machine.
    pub machine: &'a str,
    /// The name of the kernel where it was found.
    pub name: &'a str,
    /// The steps.
    pub steps: &'a [KernelStep],
    /// How long it took, and without the steps, in microseconds.
    pub times: (f64, f64),
}

impl Database {
    /// Reads the text of a file of this name; an empty text holds nothing.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn read(
        name: &str,
        text: &str,
        dialects: &Dialects,
        sources: &mut SourceMap,
    ) -> Result<Database, Vec<Diagnostic>> {
        let nowhere = |message: String| vec![Diagnostic::error_nowhere(message)];
        let id = sources.add(name, text).map_err(nowhere)?;
        let (ir, _) = session::parse_part(sources, id, dialects, false)?;
        let mut entries = Vec::new();
        for sequence in sequences(&ir) {
            let (Some(kernel), Some(machine)) = (sequence.kernel, sequence.machine) else {
                let d = Diagnostic::error(
                    ir.place(ir.op(sequence.op).loc),
                    "an entry needs the attributes 'kernel' and 'machine'",
                );
                return Err(vec![d]);
            };
            let text =
                crate::text::print_op(&ir, &dialects.registry, &crate::text::PrintOptions::default(), sequence.op);
            entries.push(Entry { kernel, machine, text: text.trim_end().to_string() });
        }
        Ok(Database { entries })
    }

    /// Whether there is an entry.
    pub fn has(&self, kernel: &str, machine: &str) -> bool {
        self.entries.iter().any(|e| e.kernel == kernel && e.machine == machine)
    }

    /// Puts what was found in the place of what is there for the kernel on this machine.
    pub fn put(&mut self, found: &Found) {
        self.entries.retain(|e| e.kernel != found.kernel || e.machine != found.machine);
        let mut text = format!(
            "schedule.sequence @k{}_{} on kernels attributes {{kernel = \"{}\", machine = \"{}\", microseconds = {:.3} : f64, name = \"{}\", untuned = {:.3} : f64}} {{\n  \
             %k = schedule.match op \"kernels.func\"\n",
            &found.kernel[..16.min(found.kernel.len())],
            self.number(found.machine),
            found.kernel,
            found.machine,
            found.times.0,
            found.name,
            found.times.1,
        );
        for step in found.steps {
            let _ = writeln!(text, "  {step}");
        }
        text.push('}');
        self.entries.push(Entry { kernel: found.kernel.to_string(), machine: found.machine.to_string(), text });
        self.entries.sort_by(|a, b| (&a.kernel, &a.machine).cmp(&(&b.kernel, &b.machine)));
    }

    /// A word for a machine: symbols of one kernel on several machines differ.
    fn number(&self, machine: &str) -> String {
        machine.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let entries: Vec<&str> = self.entries.iter().map(|e| e.text.as_str()).collect();
        format!("{HEAD}{}\n", entries.join("\n\n"))
    }
}
