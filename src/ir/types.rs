//! Builtin types. Equal types are one [`Type`].

use super::Ir;
use super::attr::Attr;
use rinductor_support::entity_id;

entity_id! {
    /// An interned type.
    pub struct Type("type");
}

/// A size that the type does not say (`?`).
pub const DYNAMIC: i64 = i64::MIN;

/// The sign that an integer type says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Signedness {
    /// `i8`.
    Signless,
    /// `si8`.
    Signed,
    /// `ui8`.
    Unsigned,
}

/// Floating-point formats. Names are the text's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(non_camel_case_types, missing_docs)] // the variants are spelled as MLIR spells the types
pub enum FloatKind {
    f16,
    bf16,
    f32,
    f64,
    f80,
    f128,
    tf32,
    f4E2M1FN,
    f6E2M3FN,
    f6E3M2FN,
    f8E3M4,
    f8E4M3,
    f8E4M3B11FNUZ,
    f8E4M3FN,
    f8E4M3FNUZ,
    f8E5M2,
    f8E5M2FNUZ,
    f8E8M0FNU,
}

impl FloatKind {
    /// All formats.
    pub const ALL: [FloatKind; 18] = {
        use FloatKind::*;
        [
            f16,
            bf16,
            f32,
            f64,
            f80,
            f128,
            tf32,
            f4E2M1FN,
            f6E2M3FN,
            f6E3M2FN,
            f8E3M4,
            f8E4M3,
            f8E4M3B11FNUZ,
            f8E4M3FN,
            f8E4M3FNUZ,
            f8E5M2,
            f8E5M2FNUZ,
            f8E8M0FNU,
        ]
    };
    /// The text: `f32`.
    pub fn spelling(self) -> &'static str {
        use FloatKind::*;
        match self {
            f16 => "f16",
            bf16 => "bf16",
            f32 => "f32",
            f64 => "f64",
            f80 => "f80",
            f128 => "f128",
            tf32 => "tf32",
            f4E2M1FN => "f4E2M1FN",
            f6E2M3FN => "f6E2M3FN",
            f6E3M2FN => "f6E3M2FN",
            f8E3M4 => "f8E3M4",
            f8E4M3 => "f8E4M3",
            f8E4M3B11FNUZ => "f8E4M3B11FNUZ",
            f8E4M3FN => "f8E4M3FN",
            f8E4M3FNUZ => "f8E4M3FNUZ",
            f8E5M2 => "f8E5M2",
            f8E5M2FNUZ => "f8E5M2FNUZ",
            f8E8M0FNU => "f8E8M0FNU",
        }
    }
    /// Width in bits.
    pub fn bits(self) -> u32 {
        use FloatKind::*;
        match self {
            f16 | bf16 => 16,
            f32 => 32,
            f64 => 64,
            f80 => 80,
            f128 => 128,
            tf32 => 19,
            f4E2M1FN => 4,
            f6E2M3FN | f6E3M2FN => 6,
            f8E3M4 | f8E4M3 | f8E4M3B11FNUZ | f8E4M3FN | f8E4M3FNUZ | f8E5M2 | f8E5M2FNUZ | f8E8M0FNU => 8,
        }
    }
}

/// What a type is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TypeData {
    /// `i32`, `si8`, `ui8`; width up to 2^24 - 1.
    Integer {
        /// Bits.
        width: u32,
        /// Sign.
        sign: Signedness,
    },
    /// `index`.
    Index,
    /// `none`.
    None,
    /// `f32`.
    Float(FloatKind),
    /// `complex<f32>`.
    Complex(Type),
    /// `tuple<…>`.
    Tuple(Box<[Type]>),
    /// `(…) -> …`.
    Function {
        /// Arguments.
        inputs: Box<[Type]>,
        /// Results.
        results: Box<[Type]>,
    },
    /// `tensor<2x?xf32, encoding>`.
    Tensor {
        /// Sizes; [`DYNAMIC`] for `?`.
        shape: Box<[i64]>,
        /// Element.
        element: Type,
        /// Encoding, such as `#aten.layout<…>`.
        encoding: Option<Attr>,
    },
    /// `tensor<*xf32>`.
    UnrankedTensor(Type),
    /// `memref<2x?xf32, layout, space>`.
    MemRef {
        /// Sizes; [`DYNAMIC`] for `?`.
        shape: Box<[i64]>,
        /// Element.
        element: Type,
        /// Layout: a strided layout or an affine map.
        layout: Option<Attr>,
        /// Memory space.
        space: Option<Attr>,
    },
    /// `memref<*xf32, space>`.
    UnrankedMemRef {
        /// Element.
        element: Type,
        /// Memory space.
        space: Option<Attr>,
    },
    /// `vector<4x[8]xf32>`.
    Vector {
        /// Sizes.
        shape: Box<[i64]>,
        /// Which sizes are scalable; empty when none is.
        scalable: Box<[bool]>,
        /// Element.
        element: Type,
    },
    /// A type of another dialect, as its text with the `!`, for example `!llvm.ptr<1>`.
    Dialect(Box<str>),
}

impl Ir {
    /// The data of a type.
    pub fn ty(&self, ty: Type) -> &TypeData {
        self.types.get(ty)
    }
    /// Interns a type.
    pub fn make_type(&mut self, data: TypeData) -> Type {
        self.types.intern(data)
    }
    /// `iN`.
    pub fn int_type(&mut self, width: u32) -> Type {
        self.types.intern(TypeData::Integer { width, sign: Signedness::Signless })
    }
    /// `index`.
    pub fn index_type(&mut self) -> Type {
        self.types.intern(TypeData::Index)
    }
    /// `none`.
    pub fn none_type(&mut self) -> Type {
        self.types.intern(TypeData::None)
    }
    /// `f32` and the like.
    pub fn float_type(&mut self, kind: FloatKind) -> Type {
        self.types.intern(TypeData::Float(kind))
    }
    /// A ranked tensor.
    pub fn tensor_type(&mut self, shape: &[i64], element: Type, encoding: Option<Attr>) -> Type {
        self.types.intern(TypeData::Tensor { shape: shape.into(), element, encoding })
    }
    /// A buffer.
    pub fn memref_type(&mut self, shape: &[i64], element: Type, layout: Option<Attr>) -> Type {
        self.types.intern(TypeData::MemRef { shape: shape.into(), element, layout, space: None })
    }
    /// A fixed vector.
    pub fn vector_type(&mut self, shape: &[i64], element: Type) -> Type {
        self.types.intern(TypeData::Vector { shape: shape.into(), scalable: Box::new([]), element })
    }
    /// `(inputs) -> results`.
    pub fn function_type(&mut self, inputs: &[Type], results: &[Type]) -> Type {
        self.types.intern(TypeData::Function { inputs: inputs.into(), results: results.into() })
    }
    /// The element of a tensor, memref or vector; any other type is its own element.
    pub fn element_type(&self, ty: Type) -> Type {
        match self.ty(ty) {
            TypeData::Tensor { element, .. }
            | TypeData::UnrankedTensor(element)
            | TypeData::MemRef { element, .. }
            | TypeData::UnrankedMemRef { element, .. }
            | TypeData::Vector { element, .. } => *element,
            _ => ty,
        }
    }
    /// The sizes of a tensor, memref or vector.
    pub fn shape(&self, ty: Type) -> Option<&[i64]> {
        match self.ty(ty) {
            TypeData::Tensor { shape, .. } | TypeData::MemRef { shape, .. } | TypeData::Vector { shape, .. } => {
                Some(shape)
            }
            _ => None,
        }
    }
    /// The same shaped type with another element.
    pub fn with_element(&mut self, ty: Type, element: Type) -> Type {
        let data = match self.ty(ty).clone() {
            TypeData::Tensor { shape, encoding, .. } => TypeData::Tensor { shape, element, encoding },
            TypeData::UnrankedTensor(_) => TypeData::UnrankedTensor(element),
            TypeData::MemRef { shape, layout, space, .. } => TypeData::MemRef { shape, element, layout, space },
            TypeData::UnrankedMemRef { space, .. } => TypeData::UnrankedMemRef { element, space },
            TypeData::Vector { shape, scalable, .. } => TypeData::Vector { shape, scalable, element },
            _ => return element,
        };
        self.types.intern(data)
    }
}
