//! The text of pipelines: `builtin.module(func.func(cse, loops-inline{max-reads=8}), symbol-dce)`.
//!
//! A name with a dot (or `any`) before parentheses is an op: what stands inside runs on every such op. A name without is a pass, or the name of a
//! pipeline that stands for its text. Options stand in braces, separated by spaces: `name=value`, `name` alone for `true`; a value with
//! spaces or braces in it is quoted, with `'` or `"`.

use super::options::closest;
use super::{AnyPass, RunFn};
use crate::support::{Diagnostic, SourceId, Span};
use logos::Logos;

/// A pipeline that is ready to run.
#[derive(Default)]
pub struct Pipeline {
    /// What to run, in order.
    pub steps: Vec<Step>,
}

/// One step of a pipeline.
pub enum Step {
    /// Run a pass.
    Pass(PassStep),
    /// Run steps on every op of a name directly below (or on the root, when the root is such an op).
    Nested {
        /// The name of the op; `any` for every op with regions.
        anchor: String,
        /// What to run on each.
        steps: Vec<Step>,
    },
}

/// A pass with its options.
pub struct PassStep {
    /// The pass.
    pub pass: &'static dyn AnyPass,
    /// The options that were given: name and value.
    pub options: Vec<(String, String)>,
    /// What it does, with these options.
    pub run: RunFn,
}

impl PassStep {
    /// The step as text that reads back to it: `loops-inline{max-reads=8}`.
    pub fn text(&self) -> String {
        let options: Vec<String> = self.options.iter().map(|(n, v)| format!("{n}={}", quoted(v))).collect();
        let name = self.pass.name();
        if options.is_empty() { name.to_string() } else { format!("{name}{{{}}}", options.join(" ")) }
    }
}

impl Pipeline {
    /// The pipeline as text that reads back to it.
    pub fn text(&self) -> String {
        let mut out = String::new();
        write_steps(&self.steps, &mut out);
        out
    }
}

fn write_steps(steps: &[Step], out: &mut String) {
    for (i, step) in steps.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        match step {
            Step::Pass(step) => out.push_str(&step.text()),
            Step::Nested { anchor, steps } => {
                out.push_str(anchor);
                out.push('(');
                write_steps(steps, out);
                out.push(')');
            }
        }
    }
}

fn quoted(value: &str) -> String {
    let plain = !value.is_empty() && !value.contains(|c: char| c.is_whitespace() || "{}'\"".contains(c));
    match (plain, value.contains('\'')) {
        (true, _) => value.to_string(),
        (false, false) => format!("'{value}'"),
        (false, true) => format!("\"{value}\""),
    }
}

/// The passes and named pipelines that a text may name.
#[derive(Clone, Copy)]
pub struct Catalog<'a> {
    /// Passes.
    pub passes: &'a [&'static dyn AnyPass],
    /// Named pipelines.
    pub pipelines: &'a [NamedPipeline],
}

/// A pipeline that has a name.
pub struct NamedPipeline {
    /// The name.
    pub name: &'static str,
    /// What it does, in one sentence without a full stop.
    pub summary: &'static str,
    /// Its text.
    pub text: &'static str,
}

impl Catalog<'_> {
    /// The pass of a name.
    pub fn pass(&self, name: &str) -> Option<&'static dyn AnyPass> {
        self.passes.iter().copied().find(|p| p.name() == name)
    }
}

#[derive(Logos, Clone, Copy, PartialEq, Debug)]
#[logos(skip r"[ \t\r\n]+")]
enum Token {
    #[regex(r"[A-Za-z_][A-Za-z0-9_.-]*")]
    Name,
    #[token("(")]
    Open,
    #[token(")")]
    Close,
    #[token(",")]
    Comma,
    #[token("{")]
    Options,
}

#[derive(Logos, Clone, Copy, PartialEq, Debug)]
#[logos(skip r"[ \t\r\n]+")]
enum OptionToken {
    #[regex(r"[A-Za-z_][A-Za-z0-9_.-]*")]
    Name,
    #[token("=")]
    Equals,
    #[token("}")]
    Close,
}

#[derive(Logos, Clone, Copy, PartialEq, Debug)]
enum ValueToken {
    #[regex(r#"[^ \t\r\n{}'"]+"#)]
    Plain,
    #[regex(r"'[^']*'")]
    #[regex(r#""[^"]*""#)]
    Quoted,
    #[token("{")]
    Braces,
}

/// Pipelines nested deeper, or naming one another deeper, are refused: each level costs stack.
const DEEPEST: usize = 64;

/// Reads the text of a pipeline; `source` is where `text` stands in the source map, for the errors.
///
/// # Errors
/// What is wrong with the text, pointing at the place.
pub fn parse(text: &str, source: SourceId, catalog: &Catalog) -> Result<Pipeline, Diagnostic> {
    let mut parser = Parser { lexer: Token::lexer(text), source, catalog, named: Vec::new() };
    let steps = parser.steps(0)?;
    Ok(Pipeline { steps })
}

struct Parser<'t, 'c> {
    lexer: logos::Lexer<'t, Token>,
    source: SourceId,
    catalog: &'c Catalog<'c>,
    /// The named pipelines whose text is being read.
    named: Vec<&'static str>,
}

impl<'t> Parser<'t, '_> {
    fn error(&self, span: std::ops::Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(Span::new(self.source, span.start, span.end), message)
    }

    fn next(&mut self) -> Result<Option<Token>, Diagnostic> {
        match self.lexer.next() {
            None => Ok(None),
            Some(Ok(token)) => Ok(Some(token)),
            Some(Err(())) => {
                let start = self.lexer.span().start;
                let c = self.lexer.source()[start..].chars().next().unwrap_or(' ');
                Err(self.error(start..start + c.len_utf8(), format!("'{c}' has no place in a pipeline")))
            }
        }
    }

    /// Reads steps up to the end of the text, or when nested up to the closing parenthesis.
    fn steps(&mut self, depth: usize) -> Result<Vec<Step>, Diagnostic> {
        let mut steps = Vec::new();
        if depth > DEEPEST {
            return Err(self.error(self.lexer.span(), format!("the pipeline is nested deeper than {DEEPEST} levels")));
        }
        let open = self.lexer.span();
        let mut token = self.next()?;
        loop {
            match token {
                Some(Token::Name) => {}
                None if depth == 0 && steps.is_empty() => return Ok(steps),
                Some(Token::Close) if depth > 0 && steps.is_empty() => return Ok(steps),
                None if depth > 0 => return Err(self.error(open, "this parenthesis is not closed")),
                _ => return Err(self.error(self.lexer.span(), "expected the name of a pass or of an op here")),
            }
            let (name, at) = (self.lexer.slice(), self.lexer.span());
            token = self.next()?;
            if token == Some(Token::Open) {
                if self.catalog.pass(name).is_some() {
                    return Err(self.error(at, format!("'{name}' is a pass: its options stand in braces {{}}")));
                }
                let inner = self.steps(depth + 1)?;
                steps.push(Step::Nested { anchor: name.to_string(), steps: inner });
                token = self.next()?;
            } else {
                let mut options = Vec::new();
                if token == Some(Token::Options) {
                    options = self.options()?;
                    token = self.next()?;
                }
                self.named_step(name, at, &options, depth, &mut steps)?;
            }
            match token {
                Some(Token::Comma) => token = self.next()?,
                Some(Token::Close) if depth > 0 => return Ok(steps),
                None if depth == 0 => return Ok(steps),
                None => return Err(self.error(open, "this parenthesis is not closed")),
                Some(Token::Close) => {
                    return Err(self.error(self.lexer.span(), "this parenthesis closes nothing"));
                }
                _ => return Err(self.error(self.lexer.span(), "expected ',' before the next pass")),
            }
        }
    }

    fn named_step(
        &mut self,
        name: &str,
        at: std::ops::Range<usize>,
        options: &[GivenOption<'t>],
        depth: usize,
        steps: &mut Vec<Step>,
    ) -> Result<(), Diagnostic> {
        if let Some(pass) = self.catalog.pass(name) {
            let values: Vec<(&str, &str)> = options.iter().map(|o| (o.name, o.value)).collect();
            let run = pass
                .with_options(&values)
                .map_err(|(i, why)| self.error(options[i].at.clone(), format!("'{name}': {why}")))?;
            let options = options.iter().map(|o| (o.name.to_string(), o.value.to_string())).collect();
            steps.push(Step::Pass(PassStep { pass, options, run }));
            return Ok(());
        }
        if let Some(named) = self.catalog.pipelines.iter().find(|p| p.name == name) {
            if let Some(option) = options.first() {
                return Err(self.error(option.at.clone(), format!("the pipeline '{name}' takes no options")));
            }
            if self.named.contains(&named.name) || depth + self.named.len() > DEEPEST {
                return Err(self.error(at, format!("the pipeline '{name}' names itself")));
            }
            let mut named_chain = self.named.clone();
            named_chain.push(named.name);
            let mut inner = Parser {
                lexer: Token::lexer(named.text),
                source: self.source,
                catalog: self.catalog,
                named: named_chain,
            };
            // What is wrong in the text of a named pipeline is shown where it is named.
            let inner_steps = inner
                .steps(0)
                .map_err(|d| self.error(at, format!("in the pipeline '{name}' ({}): {}", named.text, d.message)))?;
            steps.extend(inner_steps);
            return Ok(());
        }
        let near = self.catalog.passes.iter().map(|p| p.name()).chain(self.catalog.pipelines.iter().map(|p| p.name));
        let hint = if name.contains('.') {
            format!("; to run passes on such ops, write {name}(…)")
        } else {
            closest(name, near).map(|c| format!("; did you mean '{c}'?")).unwrap_or_default()
        };
        let d = self.error(at, format!("there is no pass '{name}'{hint}"));
        Err(if hint.is_empty() { d.help("--list-passes lists them") } else { d })
    }

    fn options(&mut self) -> Result<Vec<GivenOption<'t>>, Diagnostic> {
        let open = self.lexer.span();
        let mut lexer = self.lexer.clone().morph::<OptionToken>();
        let mut list = Vec::new();
        let mut token = lexer.next();
        loop {
            match token {
                Some(Ok(OptionToken::Close)) => {
                    self.lexer = lexer.morph();
                    return Ok(list);
                }
                Some(Ok(OptionToken::Name)) => {}
                None => return Err(self.error(open, "this brace is not closed")),
                Some(_) => {
                    let at = lexer.span();
                    return Err(self.error(at, "expected the name of an option, as in {name=value other=value}"));
                }
            }
            let (name, at) = (lexer.slice(), lexer.span());
            token = lexer.next();
            if token != Some(Ok(OptionToken::Equals)) {
                list.push(GivenOption { name, value: "true", at });
                continue;
            }
            let mut values = lexer.morph::<ValueToken>();
            let value = match values.next() {
                Some(Ok(ValueToken::Plain)) => values.slice(),
                Some(Ok(ValueToken::Quoted)) => &values.slice()[1..values.slice().len() - 1],
                Some(Ok(ValueToken::Braces)) => {
                    let rest = values.remainder();
                    let Some(length) = balanced(rest) else {
                        return Err(self.error(values.span(), "this brace is not closed"));
                    };
                    values.bump(length + 1);
                    &rest[..length]
                }
                _ => return Err(self.error(at, format!("the option '{name}' has no value after '='"))),
            };
            let at = at.start..values.span().end;
            list.push(GivenOption { name, value, at });
            lexer = values.morph();
            token = lexer.next();
        }
    }
}

struct GivenOption<'t> {
    name: &'t str,
    value: &'t str,
    at: std::ops::Range<usize>,
}

/// How many bytes stand before the brace that closes one opened before `text`.
fn balanced(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (i, b) in text.bytes().enumerate() {
        match b {
            b'{' => depth += 1,
            b'}' if depth == 0 => return Some(i),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::{ANY, Changed, Pass};
    use crate::support::SourceMap;

    crate::pass_options! {
        pub struct Options {
            /// Reads.
            max_reads: usize = 8,
            /// Words.
            words: String = String::new(),
        }
    }
    static CSE: Pass = Pass {
        name: "cse",
        source: "",
        on: None,
        needs: ANY,
        leaves: ANY,
        statistics: &[],
        run: |_, _, _, _| Ok(Changed::No),
    };
    static INLINE: Pass<Options> = Pass {
        name: "loops-inline",
        source: "",
        on: None,
        needs: ANY,
        leaves: ANY,
        statistics: &[],
        run: |_, _, _, _| Ok(Changed::No),
    };
    const CATALOG: Catalog = Catalog {
        passes: &[&CSE, &INLINE],
        pipelines: &[
            NamedPipeline { name: "cpu", summary: "", text: "cse,loops-inline{max-reads=2}" },
            NamedPipeline { name: "gpu", summary: "", text: "cpu,func.func(cse)" },
            NamedPipeline { name: "odd", summary: "", text: "cse,odd" },
            NamedPipeline { name: "new", summary: "", text: "cse,tile" },
        ],
    };

    /// The pipeline printed back, or `column: message`.
    fn read(text: &str) -> String {
        let mut sources = SourceMap::new();
        let source = sources.add("pipeline", text).unwrap();
        match parse(text, source, &CATALOG) {
            Ok(p) => p.text(),
            Err(d) => {
                let (_, column) = match d.place {
                    crate::support::diag::Place::Span(s) => sources.line_col(source, s.start),
                    _ => (0, 0),
                };
                format!("{column}: {}", d.message)
            }
        }
    }

    #[test]
    fn pipelines_read_and_print_back() {
        for text in [
            "",
            "cse",
            "builtin.module(func.func(cse,loops-inline{max-reads=8}),cse)",
            "any()",
            "loops-inline{max-reads=1 words='a b'}",
        ] {
            assert_eq!(read(text), text);
        }
        assert_eq!(read(" cse , func.func( cse )"), "cse,func.func(cse)");
        assert_eq!(read("loops-inline{ words={a {b} c} max-reads=3 }"), "loops-inline{words='a {b} c' max-reads=3}");
        assert_eq!(read("gpu"), "cse,loops-inline{max-reads=2},func.func(cse)");
    }

    #[test]
    fn errors_point_at_the_place() {
        for (text, error) in [
            ("cse,", "5: expected the name of a pass or of an op here"),
            ("cse cse", "5: expected ',' before the next pass"),
            ("cse,cze", "5: there is no pass 'cze'; did you mean 'cse'?"),
            ("func.func(cse", "10: this parenthesis is not closed"),
            ("func.func(", "10: this parenthesis is not closed"),
            ("cse)", "4: this parenthesis closes nothing"),
            ("cse;", "4: ';' has no place in a pipeline"),
            ("cse(cse)", "1: 'cse' is a pass: its options stand in braces {}"),
            ("func.func", "1: there is no pass 'func.func'; to run passes on such ops, write func.func(…)"),
            ("cse{a=1}", "5: 'cse': there is no option 'a': this pass takes none"),
            (
                "loops-inline{max-reads=x}",
                "14: 'loops-inline': 'x' is no value for the option 'max-reads' (number): invalid digit found in string",
            ),
            ("loops-inline{max-reads=}", "14: the option 'max-reads' has no value after '='"),
            ("loops-inline{max-reads=1", "13: this brace is not closed"),
            ("loops-inline{=1}", "14: expected the name of an option, as in {name=value other=value}"),
            ("cpu{a}", "5: the pipeline 'cpu' takes no options"),
            ("odd", "1: in the pipeline 'odd' (cse,odd): the pipeline 'odd' names itself"),
            ("cse,new", "5: in the pipeline 'new' (cse,tile): there is no pass 'tile'"),
        ] {
            assert_eq!(read(text), error, "{text}");
        }
        assert!(read(&"any(".repeat(100_000)).ends_with("nested deeper than 64 levels"));
    }
}
