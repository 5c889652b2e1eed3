//! What a run of FileCheck can be asked for: the options of the program as a plain value.

/// When the annotated input is added to the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum DumpInput {
    /// In no case.
    Never,
    /// When the check fails.
    #[default]
    Fail,
    /// In every case.
    Always,
}

/// Which lines of the input the annotated input shows, beside their context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DumpFilter {
    /// Lines where the annotation of an error begins.
    Error,
    /// Lines where any annotation begins.
    Annotation,
    /// All lines that an annotation covers.
    AnnotationFull,
    /// Every line.
    All,
}

/// The style of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Diagnostics {
    /// LLVM's, word for word.
    #[default]
    Llvm,
    /// Snippets, with the values of variables.
    Rich,
    /// One line for each message.
    Short,
    /// One JSON object on a line for each error or remark.
    Json,
}

/// The options of one check. `Options::default()` is what the program does without options.
#[derive(Clone, Debug)]
pub struct Options {
    /// Prefixes of directives; empty means `CHECK`.
    pub check_prefixes: Vec<String>,
    /// Prefixes that make the rest of a line a comment; empty means `COM` and `RUN`.
    pub comment_prefixes: Vec<String>,
    /// Patterns that may not stand anywhere between two positive matches.
    pub implicit_check_not: Vec<String>,
    /// Definitions, spelled `NAME=text` or `#NAME=expression`, as after `-D`.
    pub defines: Vec<String>,
    /// Accept an empty input.
    pub allow_empty: bool,
    /// Accept a prefix that no directive uses.
    pub allow_unused_prefixes: bool,
    /// Let the matches of one CHECK-DAG group overlap.
    pub allow_deprecated_dag_overlap: bool,
    /// Forget the variables whose names do not begin with `$` at each CHECK-LABEL.
    pub enable_var_scope: bool,
    /// Match without regard to ASCII case.
    pub ignore_case: bool,
    /// Let positive directives match whole lines only.
    pub match_full_lines: bool,
    /// Do not fold runs of blanks and tabs into one blank.
    pub strict_whitespace: bool,
    /// Report each match too (`-v`).
    pub verbose: bool,
    /// Report also what is of no use to most (`-vv`); implies `verbose`.
    pub very_verbose: bool,
    /// When to add the annotated input.
    pub dump_input: DumpInput,
    /// Which lines of it; `None` means `Error` for [`DumpInput::Fail`] and `All` for [`DumpInput::Always`].
    pub dump_input_filter: Option<DumpFilter>,
    /// How many lines around those.
    pub dump_input_context: usize,
    /// The least width of the column of labels in the annotated input.
    pub dump_input_label_width: usize,
    /// The style of messages.
    pub diagnostics: Diagnostics,
    /// Use terminal colours in the report.
    pub color: bool,
    /// Name of the check file in reports.
    pub check_name: String,
    /// Name of the input in reports.
    pub input_name: String,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            check_prefixes: Vec::new(),
            comment_prefixes: Vec::new(),
            implicit_check_not: Vec::new(),
            defines: Vec::new(),
            allow_empty: false,
            allow_unused_prefixes: false,
            allow_deprecated_dag_overlap: false,
            enable_var_scope: false,
            ignore_case: false,
            match_full_lines: false,
            strict_whitespace: false,
            verbose: false,
            very_verbose: false,
            dump_input: DumpInput::Fail,
            dump_input_filter: None,
            dump_input_context: 5,
            dump_input_label_width: 0,
            diagnostics: Diagnostics::Llvm,
            color: false,
            check_name: "<check file>".into(),
            input_name: "<stdin>".into(),
        }
    }
}
