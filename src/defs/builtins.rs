//! The functions of the expression language: their names, types and meaning. The list is closed;
//! docs/dialect-files.md carries it, and a test holds the two together.

use crate::ast::Str;
use crate::types::Ty;
use rinductor_scalar::ScalarOp;
use std::sync::LazyLock;

/// What a call calls.
#[derive(Clone, Debug, PartialEq)]
pub enum Callee {
    /// A function of [`FUNCTIONS`].
    Builtin(Builtin),
    /// A reduction over the dims of the `reduce` or `scan` clause that the call stands in.
    Aggregate(crate::ast::Aggregate),
    /// An operation of the scalar vocabulary, by its name.
    Scalar(ScalarOp),
    /// A function that Rust provides (`extern fn`); whether it is declared is the checker's question.
    Extern(Str),
}

macro_rules! builtins {
    ($($(#[doc = $doc:literal])+ $variant:ident $name:literal [$($sig:literal),+];)+) => {
        /// A function of the expression language.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Builtin { $($(#[doc = $doc])+ $variant,)+ }

        /// Each function: what it is, its name, its signatures, its meaning.
        pub static FUNCTIONS: &[(Builtin, &str, &[&str], &str)] =
            &[$((Builtin::$variant, $name, &[$($sig),+], concat!($($doc),+)),)+];
    };
}

builtins! {
    /// The number of dimensions.
    Rank "rank" ["(tensor) -> int"];
    /// The sizes of all dimensions.
    Sizes "sizes" ["(tensor) -> int[]"];
    /// The size of one dimension; negative numbers count from the last; 1 for a tensor without dimensions.
    Size "size" ["(tensor, int) -> int"];
    /// The strides, in elements.
    Strides "strides" ["(tensor) -> int[]"];
    /// The position of the first element in its storage, in elements.
    Offset "offset" ["(tensor) -> int"];
    /// The number of elements.
    Numel "numel" ["(tensor) -> int", "(int[]) -> int"];
    /// The dtype of the elements.
    DTypeOf "dtype_of" ["(tensor) -> dtype", "(scalar) -> dtype"];
    /// Whether a number was given where the schema says Tensor.
    IsNumber "is_number" ["(tensor) -> bool"];
    /// Whether the value is known when the op is compiled.
    IsConstant "is_constant" ["(int) -> bool"];
    /// The number of items.
    Len "len" ["(T[]) -> int", "(str) -> int"];
    /// The items in the opposite order.
    Reverse "reverse" ["(T[]) -> T[]"];
    /// The items in ascending order; constants only.
    Sorted "sorted" ["(int[]) -> int[]"];
    /// n times the same item.
    Repeat "repeat" ["(T, int) -> T[]"];
    /// The list if it has n items; n times its item if it has one.
    Extend "extend" ["(T[], int) -> T[]"];
    /// With the item put in before position d.
    Insert "insert" ["(T[], int, T) -> T[]"];
    /// Without the item at position d, or the items at several positions.
    Remove "remove" ["(T[], int) -> T[]", "(T[], int[]) -> T[]"];
    /// With the item at position d replaced.
    Replace "replace" ["(T[], int, T) -> T[]"];
    /// The first position of a constant in a list, or -1.
    IndexOf "index_of" ["(int[], int) -> int", "(str[], str) -> int"];
    /// The sum of the items.
    Sum "sum" ["(int[]) -> int"];
    /// The product of the items.
    Prod "prod" ["(int[]) -> int"];
    /// The greater of two values (NaN if one is), or the greatest of a list.
    Max "max" ["(int[]) -> int", "(int, int) -> int", "(scalar, scalar) -> scalar"];
    /// The lesser of two values (NaN if one is), or the least of a list.
    Min "min" ["(int[]) -> int", "(int, int) -> int", "(scalar, scalar) -> scalar"];
    /// Whether one item is true.
    Any "any" ["(bool[]) -> bool"];
    /// Whether all items are true.
    All "all" ["(bool[]) -> bool"];
    /// The dimension counted from the first, or an error if there is no such dimension: dim(-1, 3) = 2.
    Dim "dim" ["(int, int) -> int"];
    /// The dimensions counted from the first: dims([-1, 0], 3) = [2, 0]; all of them for none or an empty list.
    Dims "dims" ["(int[]?, int) -> int[]", "(int?, int) -> int[]"];
    /// Whether no item occurs twice.
    IsUnique "is_unique" ["(int[]) -> bool"];
    /// Whether the list, with negative items counted from the end, holds each of 0..n once.
    IsPermutation "is_permutation" ["(int[], int) -> bool"];
    /// The permutation that undoes one.
    Inverse "inverse" ["(int[]) -> int[]"];
    /// The permutation that is the same as p and then q.
    Compose "compose" ["(int[], int[]) -> int[]"];
    /// [list[d] for d in p], with negative positions counted from the end.
    Permuted "permuted" ["(T[], int[]) -> T[]"];
    /// The sizes that several sizes broadcast to; an error if they do not.
    Broadcast "broadcast" ["(int[], int[]) -> int[]", "(int[][]) -> int[]"];
    /// Whether the first sizes broadcast to the second.
    CanExpand "can_expand" ["(int[], int[]) -> bool"];
    /// The sizes that are left when dimensions are reduced: dropped, or kept with size 1.
    Reduced "reduced" ["(int[], int[], bool) -> int[]"];
    /// The strides of a contiguous tensor of these sizes.
    Contiguous "contiguous" ["(int[]) -> int[]"];
    /// The strides of a contiguous tensor whose dimension 1 runs fastest.
    ChannelsLast "channels_last" ["(int[]) -> int[]"];
    /// The strides of a dense tensor of these sizes whose dimensions lie in memory as in the tensor.
    DenseLike "dense_like" ["(tensor, int[]) -> int[]"];
    /// The strides that an op which walks over several tensors gives to a result of these sizes, from the strides of its operands (0 where one does not vary).
    IteratorStrides "iterator_strides" ["(int[], int[][]) -> int[]"];
    /// The strides of a tensor of these sizes in the memory format that a tensor suggests: channels_last if it lies so, else contiguous.
    SuggestedStrides "suggested_strides" ["(tensor, int[]) -> int[]"];
    /// With -1 replaced so that the product is n.
    InferSize "infer_size" ["(int[], int) -> int[]"];
    /// The strides that give a tensor of these sizes and strides new sizes without a copy, or none.
    ViewStrides "view_strides" ["(int[], int[], int[]) -> int[]?"];
    /// The row-major position of a point in a space.
    Linear "linear" ["(int[], int[]) -> int"];
    /// The point of a space at a row-major position.
    Delinear "delinear" ["(int, int[]) -> int[]"];
    /// Where an element of a tensor that was broadcast stands in it: the last rank(t) coordinates, 0 where the size is 1.
    PointOf "point_of" ["(tensor, int[]) -> int[]"];
    /// An index that is read from a tensor: an error when it runs if it is not in 0..n.
    Check "check" ["(scalar, int) -> int"];
    /// As check, but negative values count from n.
    Wrap "wrap" ["(scalar, int) -> int"];
    /// As check, for what is known to be in 0..n.
    Trust "trust" ["(scalar, int) -> int"];
    /// A value in another dtype.
    Cast "cast" ["(scalar, dtype) -> scalar"];
    /// The value as a float: a number, or an int or bool scalar as the default float.
    Float "float" ["(number) -> float", "(scalar) -> scalar"];
    /// The value as an integer, rounded toward zero.
    Int "int" ["(number) -> int", "(scalar) -> scalar"];
    /// Whether the value is not zero.
    Bool "bool" ["(number) -> bool", "(scalar) -> bool"];
    /// Bitwise and; `and` is of truth values.
    BitAnd "bitand" ["(scalar, scalar) -> scalar"];
    /// Bitwise or.
    BitOr "bitor" ["(scalar, scalar) -> scalar"];
    /// Bitwise not.
    BitNot "bitnot" ["(scalar) -> scalar"];
    /// Four random words, integers (i64) in 0..2^32: Philox4x32-10 of the key a and the counter b, 64 bits each.
    Philox "philox" ["(scalar, scalar) -> scalar[]"];
    /// Whether it is a floating-point dtype.
    IsFloat "is_float" ["(dtype) -> bool", "(number) -> bool"];
    /// Whether it is an integer dtype (bool is not).
    IsInt "is_int" ["(dtype) -> bool", "(number) -> bool"];
    /// Whether it is bool.
    IsBool "is_bool" ["(dtype) -> bool", "(number) -> bool"];
    /// Whether it is a complex dtype.
    IsComplex "is_complex" ["(dtype) -> bool"];
    /// Bytes an element.
    ItemSize "itemsize" ["(dtype) -> int"];
    /// torch's common dtype of tensors and wrapped numbers.
    ResultDType "result_dtype" ["(tensor, tensor) -> dtype", "(tensor, number) -> dtype", "(tensor[]) -> dtype"];
    /// torch's common dtype of two dtypes.
    PromoteTypes "promote_types" ["(dtype, dtype) -> dtype"];
    /// The dtype itself if it is a float or complex one, else the default float.
    FloatDType "float_dtype" ["(dtype) -> dtype"];
    /// i64 for integers and bool, else the dtype itself.
    SumDType "sum_dtype" ["(dtype) -> dtype"];
    /// The dtype of a number as a tensor: bool, i64 or the default float.
    NumberDType "number_dtype" ["(number) -> dtype"];
    /// The dtype that arithmetic is done in: f32 for f16 and bf16.
    OpMath "opmath" ["(dtype) -> dtype"];
    /// The least value of a dtype (-inf for floats).
    Lowest "lowest" ["(dtype) -> number"];
    /// The greatest value of a dtype (inf for floats).
    Highest "highest" ["(dtype) -> number"];
    /// The distance from 1 to the next greater value of a float dtype.
    Epsilon "epsilon" ["(dtype) -> float"];
}

/// A signature of a function.
#[derive(Clone, Debug)]
pub struct FnType {
    /// Types of the arguments.
    pub params: Vec<Ty>,
    /// Type of the result.
    pub result: Ty,
}

impl Builtin {
    /// The function of a name.
    pub fn of_name(name: &str) -> Option<Builtin> {
        static BY_NAME: LazyLock<rinductor_support::FxHashMap<&'static str, Builtin>> =
            LazyLock::new(|| FUNCTIONS.iter().map(|f| (f.1, f.0)).collect());
        BY_NAME.get(name).copied()
    }
    /// Its name.
    pub fn name(self) -> &'static str {
        FUNCTIONS[self as usize].1
    }
    /// Its signatures; a call fits one of them.
    pub fn types(self) -> &'static [FnType] {
        static TYPES: LazyLock<Vec<Vec<FnType>>> =
            LazyLock::new(|| FUNCTIONS.iter().map(|f| f.2.iter().filter_map(|s| signature(s)).collect()).collect());
        &TYPES[self as usize]
    }
}

/// Reads `(int[], int) -> int[]?`.
fn signature(text: &str) -> Option<FnType> {
    let (params, result) = text.split_once(") -> ")?;
    let params = params.strip_prefix('(')?.split(", ").map(ty).collect::<Option<_>>()?;
    Some(FnType { params, result: ty(result)? })
}

fn ty(text: &str) -> Option<Ty> {
    if let Some(item) = text.strip_suffix("[]") {
        Some(Ty::list(ty(item)?))
    } else if let Some(item) = text.strip_suffix('?') {
        Some(Ty::option(ty(item)?))
    } else {
        Ty::of_word(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signature_is_read() {
        for &(builtin, name, signatures, _) in FUNCTIONS {
            assert_eq!(builtin.types().len(), signatures.len(), "{name}");
            assert_eq!(Builtin::of_name(name), Some(builtin));
            for (read, written) in builtin.types().iter().zip(signatures) {
                let params: Vec<_> = read.params.iter().map(Ty::to_string).collect();
                assert_eq!(format!("({}) -> {}", params.join(", "), read.result), **written);
            }
        }
    }
}
