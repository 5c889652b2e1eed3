//! The types of PyTorch's schema strings, and literals.

use crate::ast::Str;

/// A constant in a dialect file.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `none`, or `None` in a schema.
    None,
    /// `true`.
    Bool(bool),
    /// `3`.
    Int(i64),
    /// `0.5`, `inf`.
    Float(f64),
    /// `"text"`; in schemas also a bare word, such as `contiguous_format`.
    Str(Str),
    /// `[0, 1]`, in schemas only.
    List(Vec<Literal>),
}

/// The base of a schema type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// `Tensor`
    Tensor,
    /// `int`
    Int,
    /// `SymInt`
    SymInt,
    /// `SymBool`
    SymBool,
    /// `SymFloat`
    SymFloat,
    /// `Scalar`: an int, a float or a bool.
    Scalar,
    /// `float`
    Float,
    /// `bool`
    Bool,
    /// `str`
    Str,
    /// `ScalarType`: a dtype.
    ScalarType,
    /// `MemoryFormat`: a word.
    MemoryFormat,
    /// `Device`: a word.
    Device,
    /// `Layout`: a word, always dropped.
    Layout,
    /// `Generator`, `Storage`, `Stream`, `Dimname`: never in a graph.
    Other,
}

/// A schema type: `Tensor(a!)?[]`, `int[1]?`.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaType {
    /// The base.
    pub base: Base,
    /// Whether an item of the list may be None, for lists; whether the value may be, else.
    pub optional_item: bool,
    /// Whether it is a list.
    pub list: bool,
    /// The length of the list: a single number stands for that many (`int[1]`).
    pub length: Option<u32>,
    /// Whether the list as a whole may be None.
    pub optional_list: bool,
    /// The alias annotation: `a!`, `a`.
    pub alias: Option<Str>,
}

impl SchemaType {
    /// Whether None may stand for the whole argument.
    pub fn optional(&self) -> bool {
        if self.list { self.optional_list } else { self.optional_item }
    }
    /// Whether it is some form of Tensor.
    pub fn is_tensor(&self) -> bool {
        self.base == Base::Tensor
    }
    /// Whether `operandSegmentSizes` has a count for it: some form of Tensor, int, SymInt or Scalar, and what PyTorch keeps as an int:
    /// dtypes, layouts and memory formats.
    pub fn has_segment(&self) -> bool {
        use Base::*;
        matches!(self.base, Tensor | Int | SymInt | Scalar | ScalarType | Layout | MemoryFormat)
    }
    /// Whether the op writes to the argument (`a!`).
    pub fn mutated(&self) -> bool {
        self.alias.as_ref().is_some_and(|a| a.contains('!'))
    }
}

impl Base {
    /// The base that a word names; `grammar/dialect.pest` lists the words.
    pub fn of_word(word: &str) -> Base {
        match word {
            "Tensor" => Base::Tensor,
            "int" | "DeviceIndex" => Base::Int,
            "SymInt" => Base::SymInt,
            "SymBool" => Base::SymBool,
            "SymFloat" => Base::SymFloat,
            "Scalar" => Base::Scalar,
            "float" => Base::Float,
            "bool" => Base::Bool,
            "str" => Base::Str,
            "ScalarType" => Base::ScalarType,
            "MemoryFormat" => Base::MemoryFormat,
            "Device" => Base::Device,
            "Layout" => Base::Layout,
            _ => Base::Other,
        }
    }
}
