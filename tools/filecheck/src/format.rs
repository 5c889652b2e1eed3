//! How numbers are written: the formats `%u`, `%d`, `%x` and `%X` with precision and `#`.

use num_bigint::{BigInt, Sign};

/// The kind of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Kind {
    /// None given.
    #[default]
    None,
    /// `%u`
    Unsigned,
    /// `%d`
    Signed,
    /// `%X`
    UpperHex,
    /// `%x`
    LowerHex,
}

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Format {
    /// Its kind.
    pub kind: Kind,
    /// Least number of digits.
    pub precision: u32,
    /// Whether `0x` stands before the digits.
    pub alternate: bool,
}

impl Format {
    /// A format of a kind, without more.
    pub fn new(kind: Kind) -> Format {
        Format { kind, ..Format::default() }
    }

    /// Whether a format is given.
    pub fn is_some(&self) -> bool {
        self.kind != Kind::None
    }

    /// Its name in messages.
    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::None => "<none>",
            Kind::Unsigned => "%u",
            Kind::Signed => "%d",
            Kind::UpperHex => "%X",
            Kind::LowerHex => "%x",
        }
    }

    /// A regular expression for any number so written. With a precision the expression has a group of its own.
    pub fn wildcard(&self) -> String {
        let prefix = if self.alternate { "0x" } else { "" };
        let (sign, leading, digit) = match self.kind {
            Kind::None | Kind::Unsigned => ("", "[1-9][0-9]*", "[0-9]"),
            Kind::Signed => ("-?", "[1-9][0-9]*", "[0-9]"),
            Kind::UpperHex => ("", "[1-9A-F][0-9A-F]*", "[0-9A-F]"),
            Kind::LowerHex => ("", "[1-9a-f][0-9a-f]*", "[0-9a-f]"),
        };
        match self.precision {
            0 => format!("{prefix}{sign}{digit}+"),
            precision => format!("{prefix}{sign}({leading})?{digit}{{{precision}}}"),
        }
    }

    /// The number as this format writes it; `None` where it cannot write negative numbers.
    pub fn write(&self, value: &BigInt) -> Option<String> {
        let negative = value.sign() == Sign::Minus;
        if negative && self.kind != Kind::Signed {
            return None;
        }
        let digits = match self.kind {
            Kind::LowerHex => value.magnitude().to_str_radix(16),
            Kind::UpperHex => value.magnitude().to_str_radix(16).to_uppercase(),
            _ => value.magnitude().to_str_radix(10),
        };
        let zeros = "0".repeat((self.precision as usize).saturating_sub(digits.len()));
        Some(format!("{}{}{zeros}{digits}", if negative { "-" } else { "" }, if self.alternate { "0x" } else { "" }))
    }

    /// Reads a number that [`Format::wildcard`] matches.
    pub fn read(&self, text: &[u8]) -> Option<BigInt> {
        let (negative, text) = match text.strip_prefix(b"-") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let text = if self.alternate { text.strip_prefix(b"0x").unwrap_or(text) } else { text };
        let radix = if matches!(self.kind, Kind::UpperHex | Kind::LowerHex) { 16 } else { 10 };
        let value = BigInt::parse_bytes(text, radix)?;
        Some(if negative { -value } else { value })
    }
}
