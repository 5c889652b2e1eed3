//! Options of passes: a struct whose fields are declared once, with type, default and help; and how they are read from `name=value`.

use std::fmt::Display;

/// What a user needs to know of one option.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OptionSpec {
    /// The name in pipelines: `max-reads`.
    pub name: String,
    /// What values it takes: `number`, `on|off`.
    pub kind: String,
    /// The default as it would be written.
    pub default: String,
    /// What it does, from the doc comment of the field.
    pub help: String,
}

/// A struct of options that [`pass_options!`](crate::pass_options) declared.
pub trait PassOptions: Default + Clone + Send + Sync + 'static {
    /// All options, in the order of the fields.
    fn specs() -> Vec<OptionSpec>;
    /// Sets one option from text.
    ///
    /// # Errors
    /// No such option, or the text is no value of its type: a sentence that says what would be.
    fn set(&mut self, name: &str, value: &str) -> Result<(), String>;
}

/// A type that the value of an option can have.
pub trait OptionValue: Sized {
    /// What values there are, for people: `number`, `true|false`.
    fn kind() -> String;
    /// Reads a value.
    ///
    /// # Errors
    /// The text is no such value; the message says what is wrong with it, without the text.
    fn read(text: &str) -> Result<Self, String>;
    /// Writes a value as it is read.
    fn show(&self) -> String;
}

macro_rules! number_values {
    ($($ty:ty: $kind:literal),*) => {$(
        impl OptionValue for $ty {
            fn kind() -> String {
                $kind.into()
            }
            fn read(text: &str) -> Result<Self, String> {
                text.trim().parse::<$ty>().map_err(|e| e.to_string())
            }
            fn show(&self) -> String {
                self.to_string()
            }
        }
    )*};
}
number_values! { u32: "number", u64: "number", usize: "number", i64: "integer", f64: "float" }

impl OptionValue for bool {
    fn kind() -> String {
        "true|false".into()
    }
    fn read(text: &str) -> Result<Self, String> {
        match text.trim() {
            "true" | "1" | "on" | "" => Ok(true),
            "false" | "0" | "off" => Ok(false),
            _ => Err("it is neither true nor false".into()),
        }
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl OptionValue for String {
    fn kind() -> String {
        "text".into()
    }
    fn read(text: &str) -> Result<Self, String> {
        Ok(text.to_string())
    }
    fn show(&self) -> String {
        self.clone()
    }
}

impl<T: OptionValue> OptionValue for Option<T> {
    fn kind() -> String {
        format!("{}|none", T::kind())
    }
    fn read(text: &str) -> Result<Self, String> {
        if text.trim() == "none" { Ok(None) } else { T::read(text).map(Some) }
    }
    fn show(&self) -> String {
        self.as_ref().map_or_else(|| "none".into(), OptionValue::show)
    }
}

impl<T: OptionValue> OptionValue for Vec<T> {
    fn kind() -> String {
        format!("{},…", T::kind())
    }
    fn read(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Vec::new());
        }
        text.split(',').map(T::read).collect()
    }
    fn show(&self) -> String {
        self.iter().map(OptionValue::show).collect::<Vec<_>>().join(",")
    }
}

/// Reads the value of one field; used by [`pass_options!`](crate::pass_options).
///
/// # Errors
/// The text is no value of the type.
pub fn read_value<T: OptionValue>(name: impl Display, text: &str) -> Result<T, String> {
    T::read(text).map_err(|why| format!("'{text}' is no value for the option '{name}' ({}): {why}", T::kind()))
}

/// The message for an option that is not there, with what there is.
pub fn unknown_option(name: &str, specs: &[OptionSpec]) -> String {
    if specs.is_empty() {
        return format!("there is no option '{name}': this pass takes none");
    }
    let names: Vec<&str> = specs.iter().map(|s| s.name.as_str()).collect();
    match closest(name, names.iter().copied()) {
        Some(near) => format!("there is no option '{name}'; did you mean '{near}'?"),
        None => format!("there is no option '{name}'; the options are {}", names.join(", ")),
    }
}

/// The candidate that is most like a misspelt word, if one is near enough.
pub fn closest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = word.chars().count().div_ceil(3);
    candidates.map(|c| (distance(word, c), c)).filter(|&(d, _)| d <= limit).min().map(|(_, c)| c)
}

/// Edit distance (Levenshtein), one row at a time.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// Declares the options of a pass. The name in pipelines is the name of the field with `-` for `_`; the doc comment is the help.
///
/// ```
/// rinductor::pass_options! {
///     pub struct Options {
///         /// A producer that is read at more places is kept.
///         max_reads: usize = 8,
///     }
/// }
/// use rinductor::pass::PassOptions;
/// let mut options = Options::default();
/// options.set("max-reads", "3").unwrap();
/// assert_eq!(options.max_reads, 3);
/// ```
#[macro_export]
macro_rules! pass_options {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[doc = $doc:literal])+ $field:ident: $ty:ty = $default:expr,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        #[doc = "The options of this pass."]
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: $ty,)*
        }
        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }
        impl $crate::pass::PassOptions for $name {
            fn specs() -> Vec<$crate::pass::OptionSpec> {
                #[allow(unused_variables)] // a struct without fields has defaults that nobody reads
                let defaults = Self::default();
                vec![$($crate::pass::OptionSpec {
                    name: stringify!($field).replace('_', "-"),
                    kind: <$ty as $crate::pass::OptionValue>::kind(),
                    default: $crate::pass::OptionValue::show(&defaults.$field),
                    help: [$($doc),+].map(|line: &str| line.trim()).join(" "),
                },)*]
            }
            fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
                let field = name.replace('-', "_");
                $(if field == stringify!($field) {
                    self.$field = $crate::pass::options::read_value(name, value)?;
                    return Ok(());
                })*
                let _ = (value, field);
                Err($crate::pass::options::unknown_option(name, &Self::specs()))
            }
        }
    };
}

/// Declares an enum that is the value of an option: `option_enum! { pub enum Order { Bytes = "bytes", Program = "program" } }`.
#[macro_export]
macro_rules! option_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$vmeta:meta])* $variant:ident = $text:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {
            $($(#[$vmeta])* $variant,)+
        }
        impl $crate::pass::OptionValue for $name {
            fn kind() -> String {
                [$($text),+].join("|")
            }
            fn read(text: &str) -> Result<Self, String> {
                match text {
                    $($text => Ok(Self::$variant),)+
                    _ => Err(format!("it is none of {}", [$($text),+].join(", "))),
                }
            }
            fn show(&self) -> String {
                match self {
                    $(Self::$variant => $text,)+
                }
                .to_string()
            }
        }
    };
}

pass_options! {
    /// Options of a pass that has none.
    pub struct NoOptions {}
}

#[cfg(test)]
mod tests {
    use super::*;

    option_enum! {
        /// In which order.
        pub enum Order {
            /// By bytes.
            Bytes = "bytes",
            /// As written.
            Program = "program",
        }
    }
    pass_options! {
        pub struct Options {
            /// A producer that is read
            /// at more places is kept.
            max_reads: usize = 8,
            /// Order.
            order: Order = Order::Bytes,
            /// Sizes.
            tile_sizes: Vec<i64> = vec![1, 2],
            /// Limit.
            limit: Option<u32> = None,
            /// Check.
            check: bool = false,
        }
    }

    #[test]
    fn options_are_declared_once() {
        let specs = Options::specs();
        assert_eq!((specs[0].name.as_str(), specs[0].default.as_str()), ("max-reads", "8"));
        assert_eq!(specs[0].help, "A producer that is read at more places is kept.");
        assert_eq!((specs[1].kind.as_str(), specs[2].default.as_str()), ("bytes|program", "1,2"));
        assert_eq!((specs[3].kind.as_str(), specs[3].default.as_str()), ("number|none", "none"));
    }

    #[test]
    fn values_are_read_and_errors_say_what_would_do() {
        let mut o = Options::default();
        for (name, value) in
            [("max-reads", "3"), ("order", "program"), ("tile-sizes", "4,5,6"), ("limit", "7"), ("check", "true")]
        {
            o.set(name, value).unwrap();
        }
        assert_eq!((o.max_reads, o.order, o.tile_sizes.as_slice()), (3, Order::Program, &[4, 5, 6][..]));
        assert_eq!((o.limit, o.check), (Some(7), true));
        assert_eq!(o.set("max-read", "3").unwrap_err(), "there is no option 'max-read'; did you mean 'max-reads'?");
        assert_eq!(
            o.set("max-reads", "-3").unwrap_err(),
            "'-3' is no value for the option 'max-reads' (number): invalid digit found in string"
        );
        assert_eq!(
            o.set("order", "x").unwrap_err(),
            "'x' is no value for the option 'order' (bytes|program): it is none of bytes, program"
        );
        assert_eq!(NoOptions::default().set("x", "1").unwrap_err(), "there is no option 'x': this pass takes none");
    }
}
