//! The variables of a check: texts and numbers that one directive captures and others use.

use std::collections::HashMap;

use num_bigint::BigInt;

use crate::format::Format;
use crate::source::Span;

/// Number of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(u32);

/// A numeric variable.
#[derive(Clone, Debug)]
pub struct Number {
    /// The format that its definition gives it.
    pub format: Format,
    /// The line of the directive that defines it first.
    pub line: Option<usize>,
    /// What it is now, if anything.
    pub value: Option<BigInt>,
    /// Where that was captured, if it was.
    pub captured: Option<Span>,
}

#[derive(Debug)]
struct Entry {
    name: Vec<u8>,
    /// A string variable of this name is defined somewhere before.
    is_text: bool,
    text: Option<Span>,
    /// The numeric variable of this name, once it is mentioned.
    number: Option<Number>,
}

impl Entry {
    /// Whether the variable outlives the block that a CHECK-LABEL ends.
    fn is_global(&self) -> bool {
        self.name.first() == Some(&b'$')
    }
}

/// All variables by name.
#[derive(Debug, Default)]
pub struct Variables {
    names: HashMap<Vec<u8>, Name>,
    entries: Vec<Entry>,
}

impl Variables {
    /// The number of a name.
    pub fn name(&mut self, name: &[u8]) -> Name {
        if let Some(&known) = self.names.get(name) {
            return known;
        }
        let new = Name(self.entries.len() as u32);
        self.names.insert(name.to_vec(), new);
        self.entries.push(Entry { name: name.to_vec(), is_text: false, text: None, number: None });
        new
    }

    /// The name with a number.
    pub fn spelling(&self, name: Name) -> &[u8] {
        &self.entries[name.0 as usize].name
    }

    /// Whether a string variable of this name is defined in what has been read.
    pub fn is_text(&self, name: Name) -> bool {
        self.entries[name.0 as usize].is_text
    }

    /// Notes that there is a definition of a string variable.
    pub fn declare_text(&mut self, name: Name) {
        self.entries[name.0 as usize].is_text = true;
    }

    /// The text of a variable.
    pub fn text(&self, name: Name) -> Option<Span> {
        self.entries[name.0 as usize].text
    }

    /// Gives a variable its text.
    pub fn set_text(&mut self, name: Name, text: Span) {
        self.entries[name.0 as usize].text = Some(text);
    }

    /// The numeric variable of a name, if one was mentioned.
    pub fn number(&self, name: Name) -> Option<&Number> {
        self.entries[name.0 as usize].number.as_ref()
    }

    /// The numeric variable of a name, made where there is none.
    pub fn number_or_insert(&mut self, name: Name, format: Format, line: Option<usize>) -> &mut Number {
        let slot = &mut self.entries[name.0 as usize].number;
        slot.get_or_insert(Number { format, line, value: None, captured: None })
    }

    /// Gives a numeric variable its value.
    pub fn set_number(&mut self, name: Name, value: BigInt, captured: Option<Span>) {
        if let Some(number) = &mut self.entries[name.0 as usize].number {
            number.value = Some(value);
            number.captured = captured;
        }
    }

    /// All names with the texts or the numbers that they stand for now.
    pub fn values(&self) -> impl Iterator<Item = (&[u8], Option<Span>, Option<&BigInt>)> {
        let visible = self.entries.iter().filter(|entry| entry.name != b"@LINE");
        visible
            .map(|entry| {
                (entry.name.as_slice(), entry.text, entry.number.as_ref().and_then(|number| number.value.as_ref()))
            })
            .filter(|(_, text, number)| text.is_some() || number.is_some())
    }

    /// Forgets all variables whose names do not begin with `$`.
    pub fn forget_local(&mut self) {
        for entry in self.entries.iter_mut().filter(|entry| !entry.is_global()) {
            entry.text = None;
            if let Some(number) = &mut entry.number {
                number.value = None;
                number.captured = None;
            }
        }
    }
}
