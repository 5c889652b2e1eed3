//! The pretty form of an op as data: what is printed and parsed in order, and which operands, properties and results its names mean.
//!
//! `text::assembly` parses and prints by it. A dialect file's `assembly` clause becomes one of these.

/// How many values a name means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Many {
    /// One.
    One,
    /// None or one.
    Optional,
    /// Any number.
    Any,
}

/// Where the type of an operand or result comes from when the form does not print it.
#[derive(Clone, PartialEq, Debug)]
pub enum TypeFrom {
    /// The form prints it.
    Printed,
    /// This type, as text.
    Fixed(Box<str>),
    /// That of another operand or result.
    Same(Box<str>),
    /// That of another operand or result, with this element type.
    Like(Box<str>, Box<str>),
    /// The element type of another operand or result.
    ElementOf(Box<str>),
    /// The type of a typed attribute: that of a constant's value.
    AttrType(Box<str>),
}

/// Operands or results of one name.
#[derive(Clone, Debug)]
pub struct Values {
    /// The name in the form.
    pub name: Box<str>,
    /// How many.
    pub many: Many,
    /// Where the type comes from.
    pub ty: TypeFrom,
}

/// How a property is spelled inside a form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spelled {
    /// As an attribute: `1 : i64`, `"text"`, `[…]`.
    Attr,
    /// An integer of this width without its type (64 for `i64`).
    Int(u32),
    /// An `index` integer without its type.
    IndexInt,
    /// A string without quotes: a word.
    Word,
    /// An array of strings as words with commas.
    Words,
    /// Nothing: the words around it say that it is there.
    Unit,
    /// `<nsw, nuw>` for `#arith.overflow<nsw, nuw>`: the attribute without the name that the property's `prefix` gives.
    Flags,
    /// `@name` for a string.
    SymbolName,
    /// A type without more.
    Type,
}

/// A property.
#[derive(Clone, Debug)]
pub struct Prop {
    /// Its name.
    pub name: Box<str>,
    /// How it is spelled where `$name` stands.
    pub spelled: Spelled,
    /// Not printed when it has this value (an attribute as text); parsed as absent.
    pub default: Option<Box<str>>,
    /// What stands before `<…>` in the attribute of [`Spelled::Flags`]: `#arith.fastmath`.
    pub prefix: Option<Box<str>>,
    /// The words of an enumeration that is kept as an `i64` or `i32` integer (the width): number i means word i.
    pub words: Option<(u32, Box<[Box<str>]>)>,
}

/// A region.
#[derive(Clone, Debug)]
pub struct RegionSpec {
    /// Its name.
    pub name: Box<str>,
    /// Whether the form leaves it out when it has no blocks.
    pub optional: bool,
}

/// The pretty form of an op with the signature that its names refer to.
#[derive(Clone, Debug, Default)]
pub struct Format {
    /// Operands in order.
    pub operands: Vec<Values>,
    /// Results in order.
    pub results: Vec<Values>,
    /// Properties.
    pub props: Vec<Prop>,
    /// Regions in order.
    pub regions: Vec<RegionSpec>,
    /// Successors in order.
    pub successors: Vec<(Box<str>, Many)>,
    /// Whether more than one operand name has a number that varies, so that `operandSegmentSizes` says them.
    pub segments: bool,
    /// Operands (a number) of which there are as many as an index map (a property's number) has dimensions: with it, the other numbers follow
    /// without `operandSegmentSizes`.
    pub counted: Option<(usize, usize)>,
    /// The form.
    pub items: Vec<Item>,
}

/// One thing of a form. Names are those of the signature.
#[derive(Clone, PartialEq, Debug)]
pub enum Item {
    /// A keyword or punctuation.
    Lit(Box<str>),
    /// A space (` `) when printed.
    Space,
    /// A line break when printed.
    Newline,
    /// No space before what follows.
    NoSpace,
    /// `$name`: operands.
    Operands(usize),
    /// All operands.
    AllOperands,
    /// `$name`: a property.
    Prop(usize),
    /// `$name`: a region.
    Region {
        /// Which.
        index: usize,
        /// Whether the block's arguments are printed elsewhere in the form (else as `^bb0(…)`).
        args_elsewhere: bool,
    },
    /// All regions, separated by commas.
    AllRegions,
    /// `$name`: a successor.
    Successor(usize),
    /// All successors, separated by commas.
    AllSuccessors,
    /// `type($x)` of operands.
    OperandTypes(usize),
    /// `type($x)` of results.
    ResultTypes(usize),
    /// `type(operands)`.
    AllOperandTypes,
    /// `type(results)`.
    AllResultTypes,
    /// `functional-type(operands, results)`.
    FunctionalType,
    /// `attr-dict`, with the word `attributes` before it or not.
    AttrDict {
        /// With the word.
        keyword: bool,
    },
    /// `prop-dict`.
    PropDict,
    /// `(…)?`, `(…) : (…)?`: the first list if the anchor is present.
    Group {
        /// If it is.
        items: Vec<Item>,
        /// If it is not.
        otherwise: Vec<Item>,
        /// Which item of `items` (a number) tells.
        anchor: usize,
    },
    /// `args($region, $sizes)`: `(%i, %j)`: the next arguments of a region's first block, with the types where they are not `index`; as many as the property has entries, or all the rest.
    Args {
        /// Region.
        region: usize,
        /// Property whose length says how many.
        count: Option<usize>,
    },
    /// `sizes($operands, $static)`, `subscript($operands, $map)`: index expressions, comma-separated, in which operands stand as `%x`: a property `#index.map`.
    Subscript {
        /// The operands that the expressions use.
        operands: usize,
        /// The property.
        map: usize,
    },
    /// `custom<name>(…)`: Rust parses and prints it; the numbers of the properties, operands and regions that it is given.
    Custom(Custom),
}

/// The forms that no list of items says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Custom {
    /// `private? @name(%a: t {attrs}, …) -> (t {attrs})`: `sym_visibility`, `sym_name`, `function_type`, `arg_attrs`, `res_attrs`, and the
    /// arguments of the first region.
    Signature,
    /// `{x = 4096 tile 1 parallel, …}`: property number `.0`.
    Axes(usize),
    /// `carry (%c = %init, …) : types`, if there are any: loop-carried values: operands number `.0`, region number `.1`, whose last block
    /// arguments they are; the results have their types.
    Carry(usize, usize),
    /// `t`, or `c, t` where the type of operand number `.0` is not `i1`: the condition and the result of a select.
    SelectType(usize),
}

fn word(text: &str) -> Box<str> {
    text.into()
}

fn attr(name: &str, spelled: Spelled) -> Prop {
    Prop { name: word(name), spelled, default: None, prefix: None, words: None }
}

impl Format {
    /// `module @name attributes {…} { … }`.
    pub fn builtin_module() -> Self {
        Self {
            props: vec![attr("sym_name", Spelled::SymbolName)],
            regions: vec![RegionSpec { name: word("bodyRegion"), optional: false }],
            items: vec![
                Item::Group { items: vec![Item::Prop(0)], otherwise: Vec::new(), anchor: 0 },
                Item::AttrDict { keyword: true },
                Item::Region { index: 0, args_elsewhere: false },
            ],
            ..Self::default()
        }
    }
    /// `func.func private @name(…) -> … attributes {…} { … }`.
    pub fn func_func() -> Self {
        Self {
            regions: vec![RegionSpec { name: word("body"), optional: true }],
            props: ["sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs", "no_inline"]
                .map(|n| attr(n, Spelled::Attr))
                .into(),
            items: vec![
                Item::Custom(Custom::Signature),
                Item::AttrDict { keyword: true },
                Item::Region { index: 0, args_elsewhere: true },
            ],
            ..Self::default()
        }
    }
    /// `return %a, %b : t, t`.
    pub fn func_return() -> Self {
        Self {
            operands: vec![Values { name: word("operands"), many: Many::Any, ty: TypeFrom::Printed }],
            items: vec![
                Item::AttrDict { keyword: false },
                Item::Group {
                    items: vec![Item::Operands(0), Item::Lit(word(":")), Item::OperandTypes(0)],
                    otherwise: Vec::new(),
                    anchor: 0,
                },
            ],
            ..Self::default()
        }
    }
    /// `call @f(%a) : (t) -> t`.
    pub fn func_call() -> Self {
        Self {
            operands: vec![Values { name: word("operands"), many: Many::Any, ty: TypeFrom::Printed }],
            results: vec![Values { name: word("results"), many: Many::Any, ty: TypeFrom::Printed }],
            props: vec![attr("callee", Spelled::Attr)],
            items: vec![
                Item::Prop(0),
                Item::Lit(word("(")),
                Item::Operands(0),
                Item::Lit(word(")")),
                Item::AttrDict { keyword: false },
                Item::Lit(word(":")),
                Item::FunctionalType,
            ],
            ..Self::default()
        }
    }
}
