//! Passes: what one is, what it may use while it runs, and the manager that runs pipelines of them.
//!
//! A pass is data plus one function:
//!
//! ```ignore
//! //! Removes what nobody uses.   <- the file's own comment is the pass's documentation
//! pub static PASS: Pass<NoOptions> = Pass {
//!     name: "dce",
//!     source: include_str!("dce.rs"),
//!     on: None,
//!     needs: ANY,
//!     leaves: ANY,
//!     statistics: &[("erased", "ops that were erased")],
//!     run,
//! };
//!
//! fn run(ir: &mut Ir, root: Op, options: &NoOptions, cx: &mut PassContext) -> Result<Changed, Diagnostic> { … }
//! ```

pub mod bisect;
pub mod context;
pub mod dump;
pub mod execution;
pub mod guard;
pub mod infos;
pub mod level;
pub mod manager;
pub mod options;
pub mod pipeline;
pub mod report;
pub mod reproducer;

pub use context::PassContext;
pub use infos::{OpInfos, OpTraits};
pub use level::{ANY, Level};
pub use options::{NoOptions, OptionSpec, OptionValue, PassOptions};

use crate::ir::{Ir, Op};
use crate::support::Diagnostic;

/// Whether a pass changed anything. A pass that is not sure says `Yes`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Changed {
    /// The IR is as it was.
    No,
    /// Something is different.
    Yes,
}

impl From<bool> for Changed {
    fn from(changed: bool) -> Self {
        if changed { Changed::Yes } else { Changed::No }
    }
}

impl std::ops::BitOr for Changed {
    type Output = Changed;
    fn bitor(self, other: Changed) -> Changed {
        (self == Changed::Yes || other == Changed::Yes).into()
    }
}

impl std::ops::BitOrAssign for Changed {
    fn bitor_assign(&mut self, other: Changed) {
        *self = *self | other;
    }
}

/// A pass. `O` is the struct of its options, declared with [`pass_options!`](crate::pass_options).
pub struct Pass<O = NoOptions> {
    /// Its name: also the name of its file and of its folder of tests, with `_` and `-` alike.
    pub name: &'static str,
    /// The text of its file (`include_str!`), whose `//!` comment is its documentation: the first sentence says what it does, and
    /// IR before and after shows it.
    pub source: &'static str,
    /// The op that it works on, `func.func` for instance; None for any op. In a pipeline over something else it runs on every such op
    /// directly below.
    pub on: Option<&'static str>,
    /// The module must be complete at one of these levels before it; [`ANY`] for no condition.
    pub needs: &'static [Level],
    /// And is complete at one of these after it.
    pub leaves: &'static [Level],
    /// The counters of [`PassContext::count`]: name and meaning.
    pub statistics: &'static [(&'static str, &'static str)],
    /// Does it, on `root` and what is below. An error stops the pipeline.
    pub run: fn(ir: &mut Ir, root: Op, options: &O, cx: &mut PassContext) -> Result<Changed, Diagnostic>,
}

/// What a pass does once its options are known.
pub type RunFn = Box<dyn Fn(&mut Ir, Op, &mut PassContext) -> Result<Changed, Diagnostic>>;

/// A pass whatever its options: what the table of passes holds.
pub trait AnyPass: Sync {
    /// Its name.
    fn name(&self) -> &'static str;
    /// The text of its file.
    fn source(&self) -> &'static str;
    /// The op that it works on.
    fn on(&self) -> Option<&'static str>;
    /// The levels that it needs.
    fn needs(&self) -> &'static [Level];
    /// The levels that it leaves.
    fn leaves(&self) -> &'static [Level];
    /// Its counters: name and meaning.
    fn statistics(&self) -> &'static [(&'static str, &'static str)];
    /// Its options.
    fn options(&self) -> Vec<OptionSpec>;
    /// The pass with values for its options (the rest have their defaults).
    ///
    /// # Errors
    /// Which of the values (by position) is wrong, and why.
    fn with_options(&self, values: &[(&str, &str)]) -> Result<RunFn, (usize, String)>;
}

impl<O: PassOptions> AnyPass for Pass<O> {
    fn name(&self) -> &'static str {
        self.name
    }
    fn source(&self) -> &'static str {
        self.source
    }
    fn on(&self) -> Option<&'static str> {
        self.on
    }
    fn needs(&self) -> &'static [Level] {
        self.needs
    }
    fn leaves(&self) -> &'static [Level] {
        self.leaves
    }
    fn statistics(&self) -> &'static [(&'static str, &'static str)] {
        self.statistics
    }
    fn options(&self) -> Vec<OptionSpec> {
        O::specs()
    }
    fn with_options(&self, values: &[(&str, &str)]) -> Result<RunFn, (usize, String)> {
        let mut options = O::default();
        for (i, (name, value)) in values.iter().enumerate() {
            options.set(name, value).map_err(|why| (i, why))?;
        }
        let run = self.run;
        Ok(Box::new(move |ir, root, cx| run(ir, root, &options, cx)))
    }
}

/// The documentation of a pass: the `//!` comment that its file opens with.
pub fn doc(pass: &dyn AnyPass) -> String {
    let lines = pass.source().lines().take_while(|l| l.starts_with("//!"));
    lines.map(|l| l[3..].strip_prefix(' ').unwrap_or(&l[3..])).collect::<Vec<_>>().join("\n")
}

/// The first sentence of the documentation, without its full stop.
pub fn summary(pass: &dyn AnyPass) -> String {
    let doc = doc(pass);
    let paragraph = doc.split("\n\n").next().unwrap_or("").replace('\n', " ");
    let sentence = paragraph.split_once(". ").map_or(paragraph.as_str(), |(first, _)| first);
    sentence.trim_end_matches(['.', ':']).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    static PASS: Pass = Pass {
        name: "nothing",
        source: "//! Does nothing. At all.\n//!\n//! More.\n\nuse x;\n",
        on: None,
        needs: ANY,
        leaves: ANY,
        statistics: &[],
        run: |_, _, _, _| Ok(Changed::No),
    };

    #[test]
    fn documentation_comes_from_the_file() {
        assert_eq!(summary(&PASS), "Does nothing");
        assert_eq!(doc(&PASS), "Does nothing. At all.\n\nMore.");
        assert_eq!(PASS.with_options(&[("x", "1")]).err().map(|e| e.0), Some(0));
    }
}
