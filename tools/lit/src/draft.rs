//! Drafts CHECK lines from the output of a tool: one line of output, one directive, with variables for SSA names.
//!
//! ```text
//! func.func @f(%x: tensor<4xf32>) {          // CHECK-LABEL: func.func @f(
//!   %0 = aten.relu %x : tensor<4xf32>   ->   // CHECK-SAME:    %[[X:[0-9a-zA-Z_]+]]: tensor<4xf32>) {
//! }                                          // CHECK-NEXT:    %[[V0:.*]] = aten.relu %[[X]] : tensor<4xf32>
//! ```

use std::collections::HashMap;
use std::io::Write;

use crate::tool::ToolCall;

/// How checks are drafted.
#[derive(Clone, Debug)]
pub struct Style {
    /// What begins a comment line.
    pub comment: String,
    /// The prefix of the directives.
    pub prefix: String,
    /// A line that says that these checks are a draft, put before each group.
    pub mark: Option<String>,
}

impl Default for Style {
    fn default() -> Style {
        Style { comment: "//".to_string(), prefix: "CHECK".to_string(), mark: None }
    }
}

/// The checks for one function (or for what stands outside of functions).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The symbol that the function defines.
    pub symbol: Option<String>,
    /// The directives, as comment lines without newline.
    pub lines: Vec<String>,
}

/// Drafts the checks of a whole output.
pub fn draft(output: &str, style: &Style) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut names = Names::default();
    let mut first_of_group = true;
    let mut blank = false;
    for line in output.lines() {
        let text = line.trim_end();
        if text.trim().is_empty() {
            blank = true;
            continue;
        }
        let symbol = defined_symbol(text);
        let starts_file = text.trim() == "// -----";
        if starts_file {
            // The split marker belongs to the tool's options, not to what it computes.
            blank = true;
            continue;
        }
        if symbol.is_some() || groups.is_empty() {
            groups.push(Group { symbol: symbol.clone(), lines: Vec::new() });
            first_of_group = true;
            names = Names::default();
        }
        let Some(group) = groups.last_mut() else { continue };
        let Style { comment, prefix, .. } = style;
        if let (Some(_), Some(open)) = (&symbol, text.find('(')) {
            group.lines.push(format!("{comment} {prefix}-LABEL: {}", escape(text[..=open].trim_start())));
            let rest = names.replace(&text[open + 1..]);
            group.lines.push(format!("{comment} {prefix}-SAME: {rest}"));
        } else {
            let directive = if first_of_group || blank { prefix.clone() } else { format!("{prefix}-NEXT") };
            let indent = &text[..text.len() - text.trim_start().len()];
            group.lines.push(format!("{comment} {directive}: {indent}{}", names.replace(text.trim_start())));
        }
        first_of_group = false;
        blank = false;
    }
    if let Some(mark) = &style.mark {
        for group in &mut groups {
            group.lines.insert(0, format!("{} {mark}", style.comment));
        }
    }
    groups
}

/// The symbol of an operation with a body that begins on this line: `func.func @f(…) … {`.
fn defined_symbol(line: &str) -> Option<String> {
    let words = line.trim_start();
    let head = &words[..words.find('(')?];
    let at = head.find('@')?;
    let defines = head[..at].trim_end().chars().all(|c| c.is_alphanumeric() || "._ ".contains(c));
    (defines && head[..at].ends_with(' ') && line.trim_end().ends_with('{')).then(|| head[at + 1..].trim().to_string())
}

/// Text that FileCheck takes literally: `[[` and `{{` would begin a variable or an expression. The sign for bytes that are no UTF-8 stands for
/// anything.
fn escape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (literal, length) = match rest.get(..2) {
            Some("[[") => ("{{\\[\\[}}", 2),
            Some("{{") => ("{{\\{\\{}}", 2),
            _ if c == char::REPLACEMENT_CHARACTER => ("{{.+}}", c.len_utf8()),
            _ => (&rest[..c.len_utf8()], c.len_utf8()),
        };
        out.push_str(literal);
        rest = &rest[length..];
    }
    out
}

/// The variables that stand for SSA names so far.
#[derive(Default)]
struct Names {
    of: HashMap<String, String>,
    taken: HashMap<String, usize>,
}

impl Names {
    /// Replaces SSA names and block labels: the first occurrence defines a variable, later ones use it.
    fn replace(&mut self, text: &str) -> String {
        let mut out = String::new();
        let (mut plain, mut at, mut quoted) = (0, 0, false);
        while let Some(c) = text[at..].chars().next() {
            quoted ^= c == '"';
            let after = at + c.len_utf8();
            let end = text[after..]
                .find(|c: char| !(c.is_ascii_alphanumeric() || "_$.-".contains(c)))
                .map_or(text.len(), |length| after + length);
            if quoted || !(c == '%' || c == '^') || end == after {
                at = after;
                continue;
            }
            out.push_str(&escape(&text[plain..at]));
            let name = &text[at..end];
            match self.of.get(name) {
                Some(variable) => out.push_str(&format!("{c}[[{variable}]]")),
                None => {
                    let variable = self.fresh(name);
                    out.push_str(&format!("{c}[[{variable}:[0-9a-zA-Z_$.-]+]]"));
                    self.of.insert(name.to_string(), variable);
                }
            }
            (plain, at) = (end, end);
        }
        out.push_str(&escape(&text[plain..]));
        out
    }

    fn fresh(&mut self, name: &str) -> String {
        let plain: String =
            name[1..].chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
        let base = if plain.starts_with(|c: char| c.is_ascii_digit()) { format!("V{plain}") } else { plain };
        let base = if name.starts_with('^') { format!("{base}_BLOCK") } else { base };
        let count = self.taken.entry(base.clone()).or_insert(0);
        *count += 1;
        if *count == 1 { base } else { format!("{base}_{count}") }
    }
}

/// The tool `rinductor-draft-checks [--check-prefix=P] [--comment=C]`: reads output on standard input, writes checks.
pub fn run_tool(call: ToolCall<'_>) -> i32 {
    let mut style = Style::default();
    for arg in call.args {
        let long = arg.trim_start_matches('-');
        match long.split_once('=') {
            Some(("check-prefix", value)) => style.prefix = value.to_string(),
            Some(("comment", value)) => style.comment = value.to_string(),
            _ => {
                let usage = "usage: TOOL ... | rinductor-draft-checks [--check-prefix=CHECK] [--comment=//]\n\n\
                             Reads the output of a tool and writes CHECK lines for it, with variables for SSA names.\n";
                let help = long == "help" || long == "h";
                let stream: &mut dyn Write = if help { call.stdout } else { call.stderr };
                let _ = stream.write_all(usage.as_bytes());
                return i32::from(!help);
            }
        }
    }
    let text = String::from_utf8_lossy(call.stdin);
    let groups: Vec<String> = draft(&text, &style).iter().map(|g| g.lines.join("\n") + "\n").collect();
    i32::from(call.stdout.write_all(groups.join("\n").as_bytes()).is_err())
}
