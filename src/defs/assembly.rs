//! The pretty form of an op, as its `assembly` clause says: a list of things that are printed and parsed in order.

use crate::ast::Str;
use rinductor_support::Span;

/// The pretty form.
#[derive(Clone, Debug, PartialEq)]
pub struct Assembly {
    /// In order.
    pub items: Vec<AsmItem>,
    /// The clause.
    pub span: Span,
}

/// One thing of a pretty form.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the line of each variant says what its fields are")]
pub enum AsmItem {
    /// Printed as it stands: a keyword, punctuation, or the text between backquotes (`` ` ` `` is a space).
    Literal(Str, Span),
    /// `$name`: an operand, property, region or successor; `^` makes it the anchor of its group.
    Var { name: Str, anchor: bool, span: Span },
    /// `type($x)`, `args($body)`, `attr-dict`: see docs/dialect-files.md for the list.
    Directive { kind: AsmDirective, args: Vec<AsmItem>, anchor: bool, span: Span },
    /// `custom<name>($a)`: Rust prints and parses it.
    Custom { name: Str, args: Vec<AsmItem>, anchor: bool, span: Span },
    /// `(…)?`: printed if the anchor is present; `(…):(…)?` has another form if it is not.
    Group { items: Vec<AsmItem>, otherwise: Vec<AsmItem>, span: Span },
}

/// The directives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AsmDirective {
    /// `attr-dict`: `{name = value}` of what no `$name` prints; nothing if there is nothing.
    AttrDict,
    /// `attr-dict-with-keyword`: with the word `attributes` before it.
    AttrDictWithKeyword,
    /// `prop-dict`: `<{…}>`.
    PropDict,
    /// `type($x)`: the type (types, with commas, of a variadic one) of an operand or result.
    Type,
    /// `functional-type(operands, results)`: `(t, t) -> t`.
    FunctionalType,
    /// `operands`: all of them.
    Operands,
    /// `results`: all of them, inside `type` and `functional-type`.
    Results,
    /// `regions`: all of them.
    Regions,
    /// `successors`: all of them.
    Successors,
    /// `symbol-name($sym_name)`: `@name`.
    SymbolName,
    /// `args($body, $sizes)`: `(%i, %j)`, the names (and types, where they are not index) of the next arguments of the region's block, as many as `$sizes` has.
    Args,
    /// `sizes($dynamic, $static)`: `4096, %n`: a list whose sentinel entries are operands.
    Sizes,
    /// `subscript($operands, $map)`: `%i, 2 * %j + 1`: index expressions over operands.
    Subscript,
    /// `bare($word)`: a string or enum property printed without quotes.
    Bare,
    /// `ref($x)`: names something that another item already printed, for use by `custom`.
    Ref,
}

impl AsmDirective {
    /// The directive that a word names.
    pub fn of_word(word: &str) -> Option<Self> {
        Some(match word {
            "attr-dict" => AsmDirective::AttrDict,
            "attr-dict-with-keyword" => AsmDirective::AttrDictWithKeyword,
            "prop-dict" => AsmDirective::PropDict,
            "type" => AsmDirective::Type,
            "functional-type" => AsmDirective::FunctionalType,
            "operands" => AsmDirective::Operands,
            "results" => AsmDirective::Results,
            "regions" => AsmDirective::Regions,
            "successors" => AsmDirective::Successors,
            "symbol-name" => AsmDirective::SymbolName,
            "args" => AsmDirective::Args,
            "sizes" => AsmDirective::Sizes,
            "subscript" => AsmDirective::Subscript,
            "bare" => AsmDirective::Bare,
            "ref" => AsmDirective::Ref,
            _ => return None,
        })
    }
}
