//! Reproducers: one `.ir` file that shows a failure again. Its first lines are comments that carry the pipeline and the options.
//!
//! ```text
//! // rinductor-opt reproducer: rinductor-opt --run-reproducer FILE
//! // failure: 'cse' panicked: …
//! // pipeline: builtin.module(cse)
//! // option: --allow-unregistered-dialect
//! ```

/// What a reproducer carries besides the IR.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reproducer {
    /// The pipeline that fails on the IR.
    pub pipeline: String,
    /// Options of the tool that matter.
    pub options: Vec<String>,
    /// What went wrong.
    pub failure: String,
}

const HEAD: &str = "// rinductor-opt reproducer: rinductor-opt --run-reproducer FILE";

impl Reproducer {
    /// The file.
    pub fn write(&self, ir: &str) -> String {
        let failure = self.failure.replace('\n', " ");
        let mut out = format!("{HEAD}\n// failure: {failure}\n// pipeline: {}\n", self.pipeline);
        for option in &self.options {
            out.push_str(&format!("// option: {option}\n"));
        }
        out.push_str(ir);
        out
    }

    /// Reads the head of a file; None when it is no reproducer.
    pub fn read(text: &str) -> Option<Reproducer> {
        let mut lines = text.lines();
        if lines.next()?.trim_end() != HEAD {
            return None;
        }
        let mut r = Reproducer::default();
        for line in lines.map_while(|l| l.strip_prefix("// ")) {
            match line.split_once(": ") {
                Some(("failure", text)) => r.failure = text.to_string(),
                Some(("pipeline", text)) => r.pipeline = text.to_string(),
                Some(("option", text)) => r.options.push(text.to_string()),
                _ => {}
            }
        }
        Some(r)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_reads_back() {
        let r = Reproducer {
            pipeline: "builtin.module(cse,x{a='b c'})".into(),
            options: vec!["--verify-each=false".into(), "--load-dialect=my file".into()],
            failure: "'x' panicked: two lines".into(),
        };
        assert_eq!(Reproducer::read(&r.write("module {\n}\n")), Some(r));
        assert_eq!(Reproducer::read("module {}\n"), None);
    }
}
