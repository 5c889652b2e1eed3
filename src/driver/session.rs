//! What the programs share for the length of one run: the registry of dialects, and reading and verifying IR.

use super::io::read_input;
use crate::defs::OpDef;
use crate::dialects::library::{self, Library};
use crate::dialects::symbols;
use crate::ir::registry::Registry;
use crate::ir::verify::verify;
use crate::ir::{Ir, Op};
use crate::pass::manager::Sink;
use crate::pass::{OpInfos, OpTraits};
use crate::support::{Diagnostic, Severity, SourceId, SourceMap, Span};
use crate::text::{ParseOptions, parse, split::split};
use clap::ArgMatches;
use std::cell::RefCell;
use std::path::Path;
use std::sync::{Arc, LazyLock};

/// The dialects that are known in a run.
pub struct Dialects {
    /// Definitions of ops, and rewrite rules.
    pub library: Arc<Library>,
    /// What parser, printer and verifier need to know of them.
    pub registry: Registry,
}

impl Dialects {
    /// The dialects that come with the compiler, set up once in a process. The build script found their files to be right.
    pub fn builtin() -> Arc<Dialects> {
        static BUILTIN: LazyLock<Arc<Dialects>> = LazyLock::new(|| Arc::new(Dialects::of(library::builtin())));
        BUILTIN.clone()
    }

    fn of(library: Library) -> Dialects {
        let library = Arc::new(library);
        Dialects { registry: library::registry(&library), library }
    }

    /// The dialects that come with the compiler, and those and the rules in the files of `--load-dialect` and `--load-rules`. `sources` gets
    /// the texts of all of them: messages may point into dialect files as well as into the input.
    ///
    /// # Errors
    /// A file cannot be read, or is wrong: all errors of all files.
    pub fn load(matches: &ArgMatches, cwd: &Path, sources: &mut SourceMap) -> Result<Arc<Dialects>, Vec<Diagnostic>> {
        let mut files = Vec::new();
        let mut wrong = Vec::new();
        for id in ["load-dialect", "load-rules"] {
            for name in matches.get_many::<String>(id).into_iter().flatten() {
                let text = read_input(name, cwd, &mut std::io::empty()).and_then(|bytes| {
                    String::from_utf8(bytes).map_err(|_| format!("cannot read '{name}': it is not UTF-8"))
                });
                match text {
                    Ok(text) => files.push((name, text)),
                    Err(message) => wrong.push(Diagnostic::error_nowhere(message)),
                }
            }
        }
        let (dialects, more) = Dialects::with_files(files.iter().map(|(name, text)| (name.as_str(), text.as_str())));
        wrong.extend(more);
        *sources = dialects.library.sources().clone();
        if wrong.is_empty() { Ok(dialects) } else { Err(wrong) }
    }

    /// The dialects that come with the compiler, and those and the rules of some files, given by name and text; and what is wrong with the files.
    pub fn with_files<'f>(files: impl IntoIterator<Item = (&'f str, &'f str)>) -> (Arc<Dialects>, Vec<Diagnostic>) {
        let mut files = files.into_iter().peekable();
        if files.peek().is_none() {
            return (Dialects::builtin(), Vec::new());
        }
        let mut library = library::builtin();
        let wrong = files.flat_map(|(name, text)| library::load(&mut library, name, text)).collect();
        (Arc::new(Dialects::of(library)), wrong)
    }
}

impl OpInfos for Dialects {
    fn traits(&self, name: &str) -> Option<OpTraits> {
        self.library.traits(name)
    }
    fn def(&self, name: &str) -> Option<&OpDef> {
        self.library.op(name)
    }
    fn rules(&self) -> &[rinductor_defs::RuleDef] {
        self.library.rules()
    }
    fn verify(&self, ir: &mut Ir, root: Op) -> Vec<Diagnostic> {
        let wrong = verify(ir, &self.registry, root);
        // What definitions require is asked only of IR whose structure holds.
        if wrong.is_empty() { library::verify(&self.library, ir, root) } else { wrong }
    }
}

/// What passes say, kept until it can be shown.
#[derive(Default)]
pub struct Messages {
    /// In order.
    pub said: RefCell<Vec<Diagnostic>>,
    /// Whether remarks are kept too.
    pub remarks: bool,
}

impl Sink for Messages {
    fn diagnostic(&self, diagnostic: Diagnostic) {
        if self.remarks || diagnostic.severity != Severity::Remark {
            self.said.borrow_mut().push(diagnostic);
        }
    }
    fn text(&self, _: &str) {}
}

/// The input file, as the parts between split lines.
pub struct Input {
    /// The parts.
    pub parts: Vec<SourceId>,
    /// What is wrong with the bytes: by part, errors.
    pub wrong: Vec<(SourceId, Diagnostic)>,
}

/// Adds a text that was read to the sources, splitting it where asked.
///
/// # Errors
/// It is too large.
pub fn add(
    shown: &str,
    text: &str,
    bad_bytes: Vec<(u32, String)>,
    do_split: bool,
    sources: &mut SourceMap,
) -> Result<Input, String> {
    let list = if do_split { split(text) } else { vec![(1, text)] };
    let mut input = Input { parts: Vec::new(), wrong: Vec::new() };
    let mut bad = bad_bytes.into_iter().peekable();
    for (first_line, part) in list {
        let id = sources.add_part(shown, part, first_line)?;
        input.parts.push(id);
        let start = part.as_ptr() as usize - text.as_ptr() as usize;
        while let Some((at, message)) = bad.next_if(|(at, _)| (*at as usize) < start + part.len()) {
            let at = (at as usize).saturating_sub(start);
            input.wrong.push((id, Diagnostic::error(Span::new(id, at, at + 1), message)));
        }
    }
    Ok(input)
}

/// Parses one part.
///
/// # Errors
/// All that is wrong with it, in the order of the text.
pub fn parse_part(
    sources: &SourceMap,
    part: SourceId,
    dialects: &Dialects,
    allow_unregistered: bool,
) -> Result<(Ir, Vec<Diagnostic>), Vec<Diagnostic>> {
    let options = ParseOptions::new(&dialects.registry).allow_unregistered(allow_unregistered);
    let (ir, diagnostics) = parse(sources, part, &options);
    let mut ir = ir.ok_or_else(|| diagnostics.clone())?;
    symbols::note_signed(&mut ir);
    Ok((ir, diagnostics))
}
