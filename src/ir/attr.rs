//! Attributes and attribute dictionaries. Equal attributes are one [`Attr`].

use super::loc::Loc;
use super::types::{Signedness, Type, TypeData};
use super::{Ir, Op};
use rinductor_index::Expr;
use rinductor_support::{EntityId, Name, entity_id};

entity_id! {
    /// An interned attribute.
    pub struct Attr("attr");
    /// An interned dictionary of attributes.
    pub struct Dict("dict");
}

/// A dictionary: entries sorted by the text of their names, each name once.
pub type DictData = Box<[(Name, Attr)]>;

/// What an attribute is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum AttrData {
    /// `unit`.
    Unit,
    /// `true`, `false`.
    Bool(bool),
    /// `5 : i64`; a value of up to 64 bits.
    Integer {
        /// The value (of an unsigned 64-bit type: its bits).
        value: i64,
        /// `i64`, `index`, …
        ty: Type,
    },
    /// An integer wider than 64 bits: decimal text, as MLIR prints it.
    WideInteger {
        /// Decimal digits with an optional `-`.
        digits: Box<str>,
        /// The type.
        ty: Type,
    },
    /// `1.0 : f32`; a value of up to 64 bits, as the bits of its own format.
    Float {
        /// The bits of the value in the format of `ty`.
        bits: u64,
        /// The type.
        ty: Type,
    },
    /// A float of a format wider than 64 bits (`f80`, `f128`), as text.
    WideFloat {
        /// The literal.
        text: Box<str>,
        /// The type.
        ty: Type,
    },
    /// `"text"`: any bytes.
    String(Box<[u8]>),
    /// `"text" : type`.
    TypedString(Box<[u8]>, Type),
    /// `@root::@nested`.
    Symbol {
        /// First name.
        root: Name,
        /// Further names.
        nested: Box<[Name]>,
    },
    /// `[a, b]`.
    Array(Box<[Attr]>),
    /// `{a = 1}`.
    Dict(Dict),
    /// A type.
    Type(Type),
    /// `array<i64: 1, 2>`: integers and bools by value, floats by the bits of their format.
    DenseArray {
        /// `i1`, `i8` … `i64`, `f32`, `f64`.
        element: Type,
        /// Values.
        values: Box<[i64]>,
    },
    /// `dense<…> : tensor<…>`: the text between the angle brackets with the type; numbers are read when somebody needs them
    /// (`text::dense`).
    Dense {
        /// The text inside `dense<…>`.
        text: Box<str>,
        /// Tensor or vector type.
        ty: Type,
    },
    /// `sparse<…> : …` and `dense_resource<…> : …`, kept as text.
    Elements {
        /// `sparse` or `dense_resource`.
        kind: Box<str>,
        /// The text between the angle brackets.
        text: Box<str>,
        /// The type.
        ty: Type,
    },
    /// `affine_map<…>`, `affine_set<…>`: the text between the angle brackets.
    Affine {
        /// Whether it is a set.
        set: bool,
        /// The text.
        text: Box<str>,
    },
    /// `strided<[8, 1], offset: ?>`.
    Strided {
        /// Strides; [`super::DYNAMIC`] for `?`.
        strides: Box<[i64]>,
        /// Offset.
        offset: i64,
    },
    /// `loc(…)`.
    Loc(Loc),
    /// `distinct[3]<attr>`.
    Distinct {
        /// The number.
        id: u64,
        /// The attribute, or none for `<>`.
        attr: Option<Attr>,
    },
    /// `#aten.layout<sizes = […], strides = […], offset = …, device = "…">`: what torch knows of a tensor beyond its shape.
    Layout(Layout),
    /// `#index.map<(d0, d1) -> (d0 floordiv 4, s0*d1)>`: index expressions over operands (`d0`, `d1`, …) and named symbols.
    IndexMap {
        /// How many dimensions the expressions may use.
        dims: u32,
        /// The expressions.
        exprs: Box<[Expr]>,
    },
    /// An attribute of another dialect, as its text with the `#`.
    Dialect(Box<str>),
}

/// What torch knows of a tensor beyond its shape. A field that is not given has its default.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Layout {
    /// Sizes, when one is symbolic.
    pub sizes: Option<Box<[Expr]>>,
    /// Strides in elements, when they are not the contiguous ones.
    pub strides: Option<Box<[Expr]>>,
    /// Offset in elements, when it is not 0.
    pub offset: Option<Expr>,
    /// Device, when it is not the function's.
    pub device: Option<Name>,
}

impl Layout {
    /// Whether nothing is given.
    pub fn is_default(&self) -> bool {
        self.sizes.is_none() && self.strides.is_none() && self.offset.is_none() && self.device.is_none()
    }
}

impl Ir {
    /// The data of an attribute.
    pub fn attr(&self, attr: Attr) -> &AttrData {
        self.attrs.get(attr)
    }
    /// Interns an attribute.
    pub fn make_attr(&mut self, data: AttrData) -> Attr {
        self.attrs.intern(data)
    }
    /// Interns a dictionary: sorts it; of entries with the same name the last stays.
    pub fn make_dict(&mut self, entries: impl IntoIterator<Item = (Name, Attr)>) -> Dict {
        let mut list: Vec<(Name, Attr)> = entries.into_iter().collect();
        // A stable sort, so that of equal names the last given stands last.
        list.sort_by(|a, b| self.names.get(a.0).cmp(self.names.get(b.0)));
        list.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 = later.1;
            }
            same
        });
        self.dicts.intern(list.into())
    }
    /// The empty dictionary.
    pub fn empty_dict(&mut self) -> Dict {
        self.dicts.intern(Box::new([]))
    }
    /// The entries of a dictionary, sorted by name.
    pub fn dict(&self, dict: Dict) -> &[(Name, Attr)] {
        self.dicts.get(dict)
    }
    /// An entry of a dictionary.
    pub fn dict_get(&self, dict: Dict, name: &str) -> Option<Attr> {
        self.dict(dict).iter().find(|e| self.names.get(e.0) == name).map(|e| e.1)
    }
    /// The property or attribute of this name (generic text may give a property in either place).
    pub fn attr_of(&self, op: Op, name: &str) -> Option<Attr> {
        let data = self.op(op);
        self.dict_get(data.props, name).or_else(|| self.dict_get(data.attrs, name))
    }
    /// Sets or removes a property.
    pub fn set_prop(&mut self, op: Op, name: &str, value: Option<Attr>) {
        let dict = self.op(op).props;
        self.ops[op].props = self.edit_dict(dict, name, value);
    }
    /// Sets or removes a discardable attribute.
    pub fn set_attr(&mut self, op: Op, name: &str, value: Option<Attr>) {
        let dict = self.op(op).attrs;
        self.ops[op].attrs = self.edit_dict(dict, name, value);
    }
    fn edit_dict(&mut self, dict: Dict, name: &str, value: Option<Attr>) -> Dict {
        let name = self.names.intern(name);
        let mut entries: Vec<_> = self.dict(dict).iter().copied().filter(|e| e.0 != name).collect();
        entries.extend(value.map(|v| (name, v)));
        self.make_dict(entries)
    }

    // ---- making ----

    /// `value : ty`.
    pub fn int_attr(&mut self, value: i64, ty: Type) -> Attr {
        self.attrs.intern(AttrData::Integer { value, ty })
    }
    /// `value : i64`.
    pub fn i64_attr(&mut self, value: i64) -> Attr {
        let ty = self.int_type(64);
        self.int_attr(value, ty)
    }
    /// `value : index`.
    pub fn index_attr(&mut self, value: i64) -> Attr {
        let ty = self.index_type();
        self.int_attr(value, ty)
    }
    /// `true` or `false`.
    pub fn bool_attr(&mut self, value: bool) -> Attr {
        self.attrs.intern(AttrData::Bool(value))
    }
    /// `"text"`.
    pub fn string_attr(&mut self, text: &str) -> Attr {
        self.attrs.intern(AttrData::String(text.as_bytes().into()))
    }
    /// `@name`.
    pub fn symbol_attr(&mut self, name: &str) -> Attr {
        let root = self.names.intern(name);
        self.attrs.intern(AttrData::Symbol { root, nested: Box::new([]) })
    }
    /// A type as an attribute.
    pub fn type_attr(&mut self, ty: Type) -> Attr {
        self.attrs.intern(AttrData::Type(ty))
    }
    /// `unit`.
    pub fn unit_attr(&mut self) -> Attr {
        self.attrs.intern(AttrData::Unit)
    }
    /// `[…]`.
    pub fn array_attr(&mut self, items: &[Attr]) -> Attr {
        self.attrs.intern(AttrData::Array(items.into()))
    }
    /// `array<i64: …>`.
    pub fn i64_array_attr(&mut self, values: &[i64]) -> Attr {
        let element = self.int_type(64);
        self.attrs.intern(AttrData::DenseArray { element, values: values.into() })
    }
    /// `array<i32: …>`.
    pub fn i32_array_attr(&mut self, values: &[i64]) -> Attr {
        let element = self.int_type(32);
        self.attrs.intern(AttrData::DenseArray { element, values: values.into() })
    }
    /// `#index.map<(d0, …) -> (…)>`.
    pub fn index_map_attr(&mut self, dims: usize, exprs: &[Expr]) -> Attr {
        self.attrs.intern(AttrData::IndexMap { dims: dims as u32, exprs: exprs.into() })
    }

    // ---- reading ----

    /// The value of an integer or bool attribute.
    pub fn as_int(&self, attr: Attr) -> Option<i64> {
        match self.attr(attr) {
            AttrData::Integer { value, .. } => Some(*value),
            AttrData::Bool(b) => Some((*b).into()),
            _ => None,
        }
    }
    /// The value of a bool attribute (also `1 : i1`).
    pub fn as_bool(&self, attr: Attr) -> Option<bool> {
        match self.attr(attr) {
            AttrData::Bool(b) => Some(*b),
            AttrData::Integer { value, ty } if matches!(self.ty(*ty), TypeData::Integer { width: 1, .. }) => {
                Some(*value != 0)
            }
            _ => None,
        }
    }
    /// The text of a string attribute, if it is UTF-8.
    pub fn as_str(&self, attr: Attr) -> Option<&str> {
        match self.attr(attr) {
            AttrData::String(bytes) | AttrData::TypedString(bytes, _) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }
    /// The root of a symbol reference without nested names.
    pub fn as_symbol(&self, attr: Attr) -> Option<Name> {
        match self.attr(attr) {
            AttrData::Symbol { root, nested } if nested.is_empty() => Some(*root),
            _ => None,
        }
    }
    /// The type in a type attribute.
    pub fn as_type(&self, attr: Attr) -> Option<Type> {
        match self.attr(attr) {
            AttrData::Type(ty) => Some(*ty),
            _ => None,
        }
    }
    /// The numbers of a dense integer array or of an array of integers.
    pub fn as_ints(&self, attr: Attr) -> Option<Vec<i64>> {
        match self.attr(attr) {
            AttrData::DenseArray { values, .. } => Some(values.to_vec()),
            AttrData::Array(items) => items.iter().map(|&a| self.as_int(a)).collect(),
            _ => None,
        }
    }
    /// The operand counts of each group of an op (`operandSegmentSizes`).
    pub fn operand_segments(&self, op: Op) -> Option<Vec<i64>> {
        self.attr_of(op, "operandSegmentSizes").and_then(|a| self.as_ints(a))
    }
    /// The width and sign of an integer type.
    pub fn int_width(&self, ty: Type) -> Option<(u32, Signedness)> {
        match self.ty(ty) {
            TypeData::Integer { width, sign } => Some((*width, *sign)),
            _ => None,
        }
    }
    /// The symbol that an op defines (`sym_name`).
    pub fn symbol_name(&self, op: Op) -> Option<&str> {
        self.attr_of(op, "sym_name").and_then(|a| self.as_str(a))
    }
    /// The op directly in the module that defines a symbol.
    pub fn lookup_symbol(&self, name: &str) -> Option<Op> {
        self.block_ops(self.module_body()).find(|&op| self.symbol_name(op) == Some(name))
    }
}

impl Default for Dict {
    /// The empty dictionary: every [`Ir`] interns it first.
    fn default() -> Self {
        Dict::from_index(0)
    }
}
