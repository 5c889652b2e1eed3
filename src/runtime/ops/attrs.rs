//! The attributes of a call: a small typed map.

use rinductor_scalar::{DType, Scalar};

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Attr {
    /// An integer, a symbolic one's value too.
    Int(i64),
    /// A float.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A string.
    Str(String),
    /// A list of integers.
    Ints(Vec<i64>),
    /// A list of floats.
    Floats(Vec<f64>),
    /// A list of truth values.
    Bools(Vec<bool>),
    /// An element type.
    DType(DType),
    /// An argument that was given as None.
    None,
}

/// Attributes by schema name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attrs(Vec<(String, Attr)>);

impl Attrs {
    /// No attributes.
    pub fn new() -> Attrs {
        Attrs::default()
    }

    /// With one attribute more (or changed).
    pub fn with(mut self, name: &str, value: Attr) -> Attrs {
        self.set(name, value);
        self
    }

    /// Sets an attribute.
    pub fn set(&mut self, name: &str, value: Attr) {
        match self.0.iter_mut().find(|(n, _)| n == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// All attributes, in the order in which they were first set.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Attr)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The attribute of this name; one that is [`Attr::None`] counts as absent.
    pub fn get(&self, name: &str) -> Option<&Attr> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v).filter(|v| **v != Attr::None)
    }

    /// An integer (or a truth value as one).
    pub fn int(&self, name: &str) -> Option<i64> {
        match self.get(name)? {
            Attr::Int(x) => Some(*x),
            Attr::Bool(x) => Some(i64::from(*x)),
            _ => None,
        }
    }

    /// A number, of any kind, as a float.
    pub fn float(&self, name: &str) -> Option<f64> {
        match self.get(name)? {
            Attr::Float(x) => Some(*x),
            _ => self.int(name).map(|x| x as f64),
        }
    }

    /// A number, of any kind.
    pub fn number(&self, name: &str) -> Option<Scalar> {
        match self.get(name)? {
            Attr::Float(x) => Some(Scalar::f64(*x)),
            _ => self.int(name).map(Scalar::i64),
        }
    }

    /// A truth value (or an integer as one).
    pub fn bool(&self, name: &str) -> Option<bool> {
        match self.get(name)? {
            Attr::Bool(x) => Some(*x),
            Attr::Int(x) => Some(*x != 0),
            _ => None,
        }
    }

    /// A string.
    pub fn str(&self, name: &str) -> Option<&str> {
        if let Attr::Str(x) = self.get(name)? { Some(x) } else { None }
    }

    /// A list of integers (or one integer as a list).
    pub fn ints(&self, name: &str) -> Option<Vec<i64>> {
        match self.get(name)? {
            Attr::Ints(x) => Some(x.clone()),
            Attr::Int(x) => Some(vec![*x]),
            _ => None,
        }
    }

    /// A list of truth values.
    pub fn bools(&self, name: &str) -> Option<&[bool]> {
        if let Attr::Bools(x) = self.get(name)? { Some(x) } else { None }
    }

    /// An element type.
    pub fn dtype(&self, name: &str) -> Option<DType> {
        if let Attr::DType(x) = self.get(name)? { Some(*x) } else { None }
    }
}

impl<S: Into<String>> FromIterator<(S, Attr)> for Attrs {
    fn from_iter<I: IntoIterator<Item = (S, Attr)>>(attrs: I) -> Attrs {
        Attrs(attrs.into_iter().map(|(n, v)| (n.into(), v)).collect())
    }
}
