//! From text to IR: windows of the text are matched against the grammar's `run`; a stack of open ops takes what comes out.

pub mod attrs;
pub mod leaf;
mod locs;
mod pretty;
mod recover;
mod scan;
mod scope;
mod structure;
mod types;

use super::ParseOptions;
use super::grammar::{IrGrammar, Rule};
use crate::ir::registry::OpInfo;
use crate::ir::{Attr, Dict, Ir, OpSpec, Region};
use leaf::{Alias, AliasState, Leaves};
use pest::Parser as _;
use rinductor_support::{Diagnostic, FxHashMap, Name, SourceId, SourceMap, Span};
use scope::Scopes;
use structure::{Frame, Kind};

/// How much text one piece of the structure is looked for in, at first.
const WINDOW: usize = 4 << 10;

/// The state of reading one text.
pub struct Parser<'a> {
    text: &'a str,
    source: SourceId,
    options: &'a ParseOptions<'a>,
    ir: Ir,
    diagnostics: Vec<Diagnostic>,
    scopes: Scopes,
    frames: Vec<Frame<'a>>,
    leaves: Leaves<'a>,
    /// What is known of the ops met so far.
    infos: FxHashMap<Name, Option<&'a OpInfo>>,
    /// Properties and attributes of an op's name as its definition has them, for those that were given.
    known: FxHashMap<(Name, Dict, Dict), (Dict, Dict)>,
    /// Where each alias definition begins and ends.
    alias_spans: FxHashMap<usize, usize>,
    alias_depth: usize,
    /// The first byte that was not read yet.
    pos: usize,
    /// Set when reading cannot go on.
    stop: bool,
    /// How many bytes failed matches may still look at.
    budget: usize,
}

/// Reads a text.
pub fn parse(sources: &SourceMap, source: SourceId, options: &ParseOptions<'_>) -> (Option<Ir>, Vec<Diagnostic>) {
    let text = sources.text(source).clone();
    let mut parser = Parser::new(&text, source, options, Ir::new());
    let top = parser.file();
    let Parser { mut ir, mut diagnostics, .. } = parser;
    diagnostics.sort_by_key(|d| match &d.place {
        rinductor_support::diag::Place::Span(s) => s.start,
        _ => 0,
    });
    if diagnostics.is_empty() {
        adopt_module(&mut ir, top);
        (Some(ir), diagnostics)
    } else {
        (None, diagnostics)
    }
}

/// Reads a text that is one attribute into an IR.
pub fn parse_attr(
    ir: &mut Ir,
    sources: &SourceMap,
    source: SourceId,
    options: &ParseOptions<'_>,
) -> Result<Attr, Vec<Diagnostic>> {
    let text = sources.text(source).clone();
    let mut parser = Parser::new(&text, source, options, std::mem::take(ir));
    let pair = parser.leaf(Rule::attr_only, &text).and_then(|p| p.into_inner().next());
    let attr = pair.and_then(|p| parser.attr(p, 0));
    let Parser { ir: with_attr, mut diagnostics, .. } = parser;
    *ir = with_attr;
    match attr {
        Some(attr) if diagnostics.is_empty() => Ok(attr),
        _ => {
            if diagnostics.is_empty() {
                diagnostics.push(Diagnostic::error(Span::new(source, 0, text.len()), "this is no attribute"));
            }
            Err(diagnostics)
        }
    }
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, source: SourceId, options: &'a ParseOptions<'a>, ir: Ir) -> Self {
        Parser {
            text,
            source,
            options,
            ir,
            diagnostics: Vec::new(),
            scopes: Scopes::new(),
            frames: Vec::new(),
            leaves: Leaves::default(),
            infos: FxHashMap::default(),
            known: FxHashMap::default(),
            alias_spans: FxHashMap::default(),
            alias_depth: 0,
            pos: 0,
            stop: false,
            budget: (64 << 20) + 8 * text.len(),
        }
    }
}

impl<'a> Parser<'a> {
    fn span(&self, at: usize) -> Span {
        // The character there is what is shown; none at the end of the text.
        let end = self.text.get(at..).and_then(|t| t.chars().next()).map_or(at, |c| at + c.len_utf8());
        Span::new(self.source, at, end)
    }

    /// Reports an error at a byte.
    fn error(&mut self, at: usize, message: impl Into<String>) {
        let place = self.span(at);
        self.report(Diagnostic::error(place, message));
    }

    fn report(&mut self, d: Diagnostic) {
        if self.stop {
            return;
        }
        self.diagnostics.push(d);
        if self.diagnostics.len() >= self.options.max_errors {
            self.stop = true;
            let place = self.span(self.pos.min(self.text.len()));
            self.diagnostics.push(Diagnostic::error(place, "too many errors; the rest is not read"));
        }
    }

    /// Reports an error after which nothing more is read.
    fn fatal(&mut self, at: usize, message: &str) {
        self.error(at, message);
        self.stop = true;
    }

    /// Goes over white space and comments.
    fn skip_trivia(&mut self) {
        self.pos = after_trivia(self.text, self.pos);
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    fn file(&mut self) -> Region {
        self.find_aliases();
        let region = self.ir.new_region();
        let block = self.ir.add_block(region);
        self.frames.push(Frame::new(Kind::File, region, block, self.scopes.mark(), 0));
        while !self.stop {
            self.skip_trivia();
            let Some(byte) = self.peek() else { break };
            match byte {
                b'#' | b'!' => match self.alias_spans.get(&self.pos) {
                    Some(&end) => self.pos = end,
                    None => self.alias_here(),
                },
                b'{' if self.text[self.pos..].starts_with("{-#") => self.resources(),
                b'}' if self.frames.last().is_some_and(Frame::is_pretty) => self.pretty_region_end(),
                _ => self.run(),
            }
        }
        self.end_of_file();
        region
    }

    /// Finds all alias definitions: they may be used before they stand.
    fn find_aliases(&mut self) {
        let mut start = 0;
        for line in self.text.split_inclusive('\n') {
            if self.stop {
                return;
            }
            let indent = line.len() - line.trim_start().len();
            if matches!(line.as_bytes().get(indent), Some(b'#' | b'!')) {
                self.alias_definition(start + indent);
            }
            start += line.len();
        }
    }

    fn alias_definition(&mut self, at: usize) {
        let rest = &self.text[at..];
        // A line inside a longer attribute may begin like this too.
        let name_len =
            rest[1..].find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$')).unwrap_or(rest.len() - 1);
        if !rest[1 + name_len..].trim_start_matches([' ', '\t']).starts_with('=') {
            return;
        }
        match IrGrammar::parse(Rule::alias_def, rest) {
            Ok(mut pairs) => {
                let Some(pair) = pairs.next() else { return };
                let end = at + pair.as_str().len();
                let mut inner = pair.into_inner();
                let (Some(name), Some(body)) = (inner.next(), inner.next()) else { return };
                let (name, body) = (name.as_str().trim_end(), body.as_str().trim_end());
                self.alias_spans.insert(at, end);
                if self.leaves.aliases.insert(name, Alias { body, state: AliasState::Unread }).is_some() {
                    self.error(at, format!("redefinition of '{name}'"));
                }
            }
            Err(e) => {
                self.grammar_error(&e, at, rest.len());
                let end = rest.find('\n').map_or(self.text.len(), |n| at + n);
                self.alias_spans.insert(at, end);
            }
        }
    }

    /// `#` or `!` where an op may stand, but no definition of an alias.
    fn alias_here(&mut self) {
        self.error(self.pos, "expected an operation or the definition of an alias, `#name = …` or `!name = …`");
        self.pos = line_end(self.text, self.pos);
    }

    fn resources(&mut self) {
        match IrGrammar::parse(Rule::resources, &self.text[self.pos..]) {
            Ok(pairs) => {
                let text = pairs.as_str();
                if self.frames.len() > 1 {
                    self.error(self.pos, "`{-#` stands at the end of a file");
                }
                self.ir.resources = Some(text.into());
                self.pos += text.len();
            }
            Err(_) => self.fatal(self.pos, "`{-#` is not closed by `#-}`"),
        }
    }

    /// Reads one op, label or end of a region.
    fn run(&mut self) {
        if !self.options.by_grammar_alone
            && let Some(scanned) = scan::scan(self.text, self.pos)
        {
            let end = scanned.end;
            if self.scanned(scanned.piece, end) {
                self.pos = end;
                return;
            }
        }
        // A match that fails costs more than a look at the first word.
        let pretty = scan::begins_word(self.text, self.pos);
        if pretty && self.pretty_op() {
            return;
        }
        let mut size = WINDOW;
        loop {
            let start = self.pos;
            let end = match start.checked_add(size) {
                Some(end) if end < self.text.len() => line_end(self.text, end),
                _ => self.text.len(),
            };
            let last_window = end == self.text.len();
            let window = &self.text[start..end];
            if let Ok(mut pairs) = IrGrammar::parse(Rule::piece, window) {
                let Some(piece) = pairs.next().and_then(|p| p.into_inner().next()) else { return };
                let to = start + piece.as_span().end();
                // What follows the window might belong to the piece, as does a bracket whose other end is not in the window.
                let next = after_trivia(self.text, to);
                let cut = next >= end || self.text[next..].starts_with(['<', '(', '[']);
                if last_window || !cut && !self.text[next..].starts_with("loc") {
                    if self.piece(piece) {
                        self.pos = to;
                    } else {
                        self.explain(window);
                    }
                    return;
                }
            } else if !pretty && self.pretty_op() {
                return;
            }
            if !last_window {
                size = size.saturating_mul(16);
                self.budget = self.budget.saturating_sub(size);
                if self.budget > 0 {
                    continue;
                }
            }
            self.explain(window);
            return;
        }
    }

    /// Says why no piece begins here, and goes on after it.
    fn explain(&mut self, window: &'a str) {
        let start = self.pos;
        if self.budget < window.len() {
            self.fatal(start, "too many errors in long operations; the rest is not read");
            return;
        }
        self.budget -= window.len() / 16;
        match IrGrammar::parse(Rule::piece, window) {
            Ok(_) => self.error(start, "expected an operation"),
            Err(e) => self.grammar_error(&e, start, window.len()),
        }
        self.recover(start);
    }
}

/// The first byte from `pos` on that is neither white space nor in a comment.
pub fn after_trivia(text: &str, mut pos: usize) -> usize {
    let bytes = text.as_bytes();
    loop {
        match bytes.get(pos) {
            Some(b' ' | b'\t' | b'\n' | b'\r') => pos += 1,
            Some(b'/') if bytes.get(pos + 1) == Some(&b'/') => pos = line_end(text, pos),
            _ => return pos,
        }
    }
}

/// The line break that ends the line of a byte, or the end of the text.
pub fn line_end(text: &str, pos: usize) -> usize {
    text.as_bytes()[pos..].iter().position(|&b| b == b'\n').map_or(text.len(), |n| pos + n)
}

/// Makes the module of a text that was read: the only `builtin.module` at its top, or one around everything.
fn adopt_module(ir: &mut Ir, top: Region) {
    let block = ir.blocks_of(top)[0];
    if let Some(first) = ir.first_op(block)
        && ir.last_op(block) == Some(first)
        && ir.blocks_of(top).len() == 1
        && ir.is_op(first, "builtin.module")
        && ir.body(first).is_some()
        && ir.num_results(first) == 0
    {
        ir.detach(first);
        ir.set_module(first);
        return;
    }
    let name = ir.names.intern("builtin.module");
    let module = ir.create_with_regions(OpSpec::named(name), &[top]);
    ir.set_module(module);
}
