//! Index expressions as Python: on the host, where `//` rounds down, and in kernels, where it rounds toward zero.

use rinductor_index::{Atom, Expr, Exprs, Lower};
use std::convert::Infallible;

use super::helpers::Helpers;

/// How tightly a text binds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
pub(super) enum Binds {
    Sum,
    Product,
    Word,
}

/// A text that computes an integer.
#[derive(Clone)]
pub(super) struct Text {
    pub text: String,
    pub binds: Binds,
    /// Whether it is known not to be negative.
    nonnegative: bool,
}

impl Text {
    /// A name or a number.
    pub fn word(text: impl Into<String>, nonnegative: bool) -> Text {
        Text { text: text.into(), binds: Binds::Word, nonnegative }
    }
    /// The text where a product or a method call is written around it.
    pub fn tight(&self) -> String {
        if self.binds == Binds::Word { self.text.clone() } else { format!("({})", self.text) }
    }
    /// The text where it is a factor, or is added to or subtracted from.
    pub fn factor_text(&self) -> String {
        self.factor()
    }
    fn factor(&self) -> String {
        if self.binds == Binds::Sum { format!("({})", self.text) } else { self.text.clone() }
    }
}

/// Writes expressions. `atom` names what they are made of.
struct Writer<'a, F> {
    atom: F,
    /// In a kernel: the functions that it uses.
    kernel: Option<&'a mut Helpers>,
}

impl<F: FnMut(Atom) -> Text> Lower for Writer<'_, F> {
    type Value = Text;
    type Error = Infallible;
    fn constant(&mut self, value: i64) -> Result<Text, Infallible> {
        let binds = if value < 0 { Binds::Product } else { Binds::Word };
        Ok(Text { text: value.to_string(), binds, nonnegative: value >= 0 })
    }
    fn atom(&mut self, atom: Atom) -> Result<Text, Infallible> {
        Ok((self.atom)(atom))
    }
    fn add(&mut self, a: Text, b: Text) -> Result<Text, Infallible> {
        let text = format!("{} + {}", a.text, b.text);
        Ok(Text { text, binds: Binds::Sum, nonnegative: a.nonnegative && b.nonnegative })
    }
    fn sub(&mut self, a: Text, b: Text) -> Result<Text, Infallible> {
        Ok(Text { text: format!("{} - {}", a.text, b.factor()), binds: Binds::Sum, nonnegative: false })
    }
    fn mul(&mut self, a: Text, b: Text) -> Result<Text, Infallible> {
        let right = if b.binds == Binds::Word { b.text.clone() } else { b.tight() };
        let text = format!("{} * {right}", a.factor());
        Ok(Text { text, binds: Binds::Product, nonnegative: a.nonnegative && b.nonnegative })
    }
    fn floordiv(&mut self, a: Text, b: Text) -> Result<Text, Infallible> {
        Ok(self.divide(a, b, "//", "_floor_div"))
    }
    fn modulo(&mut self, a: Text, b: Text) -> Result<Text, Infallible> {
        let nonnegative = b.nonnegative;
        Ok(Text { nonnegative, ..self.divide(a, b, "%", "_floor_rem") })
    }
    fn min(&mut self, a: Text, b: Text) -> Result<Text, Infallible> {
        let name = if self.kernel.is_some() { "tl.minimum" } else { "min" };
        let nonnegative = a.nonnegative && b.nonnegative;
        Ok(Text::word(format!("{name}({}, {})", a.text, b.text), nonnegative))
    }
    fn max(&mut self, a: Text, b: Text) -> Result<Text, Infallible> {
        let name = if self.kernel.is_some() { "tl.maximum" } else { "max" };
        let nonnegative = a.nonnegative || b.nonnegative;
        Ok(Text::word(format!("{name}({}, {})", a.text, b.text), nonnegative))
    }
}

impl<F: FnMut(Atom) -> Text> Writer<'_, F> {
    fn divide(&mut self, a: Text, b: Text, sign: &str, function: &'static str) -> Text {
        let nonnegative = a.nonnegative && b.nonnegative;
        match &mut self.kernel {
            Some(h) if !nonnegative => Text::word(format!("{}({}, {})", h.need(function), a.text, b.text), false),
            _ => Text { text: format!("{} {sign} {}", a.factor(), b.tight()), binds: Binds::Product, nonnegative },
        }
    }
}

/// An expression of the host function.
pub(super) fn on_host(exprs: &Exprs, e: Expr, mut symbol: impl FnMut(&str) -> String) -> Text {
    let atom = |a: Atom| match a {
        Atom::Sym(s) => Text::word(symbol(exprs.sym_name(s)), true),
        Atom::Dim(d) => Text::word(format!("d{d}"), true),
    };
    lowered(exprs, e, Writer { atom, kernel: None })
}

/// An expression of a kernel.
pub(super) fn in_kernel(exprs: &Exprs, e: Expr, helpers: &mut Helpers, atom: impl FnMut(Atom) -> Text) -> Text {
    lowered(exprs, e, Writer { atom, kernel: Some(helpers) })
}

fn lowered<F: FnMut(Atom) -> Text>(exprs: &Exprs, e: Expr, mut writer: Writer<'_, F>) -> Text {
    match exprs.lower(e, &mut writer) {
        Ok(text) => text,
        Err(never) => match never {},
    }
}
