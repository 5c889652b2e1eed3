//! What the emitter of kernels builds with: straight-line code over scalars and vectors, loops and branches with carried values.
//!
//! `codegen::llvm` builds LLVM IR with it, `codegen::cpp` C++; so both have the same order of operations, and the same numbers.

use std::fmt::Debug;

use crate::ir::{Ir, Op};

/// A scalar, a vector or a pointer.
pub type V<B> = <B as Build>::V;
/// The type of a [`V`].
pub type T<B> = <B as Build>::T;

/// What the target can do, as far as the choice of instructions depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Bits of a vector register: 512, 256, 128.
    pub vector_bits: u32,
    /// Fused multiply-add of `f32` and `f64`.
    pub fma: bool,
    /// Conversion between `f16` and `f32`.
    pub f16c: bool,
    /// Masked loads and stores of 32 and 64-bit elements.
    pub masked_words: bool,
    /// Masked loads and stores of 8 and 16-bit elements.
    pub masked_bytes: bool,
}

/// Operations of two values without flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are LLVM's
pub enum Binary {
    FAdd,
    FSub,
    FMul,
    FDiv,
    Add,
    Sub,
    Mul,
    SDiv,
    UDiv,
    SRem,
    URem,
    And,
    Or,
    Xor,
    Shl,
    AShr,
    LShr,
}

/// Conversions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are LLVM's
pub enum Convert {
    SExt,
    ZExt,
    Trunc,
    FPExt,
    FPTrunc,
    SIToFP,
    UIToFP,
    FPToSI,
    BitCast,
}

/// Comparisons of floats: ordered ones are false where an operand is NaN, unordered ones true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are LLVM's
pub enum FloatPredicate {
    PredicateFalse,
    OEQ,
    OGT,
    OGE,
    OLT,
    OLE,
    ONE,
    ORD,
    UEQ,
    UGT,
    UGE,
    ULT,
    ULE,
    UNE,
    UNO,
    PredicateTrue,
}

/// Comparisons of integers and pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are LLVM's
pub enum IntPredicate {
    EQ,
    NE,
    SLT,
    SLE,
    SGT,
    SGE,
    ULT,
    ULE,
    UGT,
    UGE,
}

/// Functions that are an instruction, or a few, on most machines. They take and give the type of their first argument, but for the last two,
/// which take a mask and give a truth value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Math {
    /// The lesser of signed integers.
    SMin,
    /// The greater of signed integers.
    SMax,
    /// The lesser of unsigned integers.
    UMin,
    /// The greater of unsigned integers.
    UMax,
    /// The absolute value of a float.
    Abs,
    /// The square root.
    Sqrt,
    /// Rounded down.
    Floor,
    /// Rounded up.
    Ceil,
    /// Rounded toward zero.
    Trunc,
    /// Rounded to the nearest, ties to even.
    Rint,
    /// The first with the sign of the second.
    CopySign,
    /// `x * y + z` rounded once.
    Fma,
    /// The lesser float: NaN if either is, -0 below 0.
    Minimum,
    /// The greater float: NaN if either is, -0 below 0.
    Maximum,
    /// Whether any lane is set.
    AnyLane,
    /// Whether all lanes are set.
    AllLanes,
}

/// A loop over positions `first`, `first + step`, … below `end`.
#[derive(Clone, Copy, Debug)]
pub struct Counted<V> {
    /// The lowest position.
    pub first: V,
    /// The position of the first step: the highest one where the loop goes down.
    pub start: V,
    /// What all positions are below.
    pub end: V,
    /// From one position to the next.
    pub step: i64,
    /// From the last to the first.
    pub reverse: bool,
    /// It is known that there is a step.
    pub runs: bool,
    /// It is known that there is one step.
    pub once: bool,
}

/// A loop that was opened: what enters it, where it stands, the carried values in its body.
pub struct Opened<B: Build> {
    /// The loop, to close it.
    pub open: B::Open,
    /// Code of the level around it goes before this.
    pub enter: B::Enter,
    /// The position.
    pub at: B::V,
    /// The carried values.
    pub carried: Vec<B::V>,
}

/// A builder of code.
pub trait Build: Sized {
    /// A scalar, a vector or a pointer.
    type V: Copy + Debug;
    /// The type of one.
    type T: Copy + PartialEq + Debug;
    /// What enters a loop or a branch: code of the level around it can be put before it.
    type Enter: Copy;
    /// Where code is put.
    type Place: Copy;
    /// A loop or a branch that is being built.
    type Open;

    /// The name of the back end.
    const NAME: &'static str;

    /// What the target can do.
    fn machine(&self) -> Machine;
    /// Says which op the code that follows is for.
    fn about(&self, _ir: &Ir, _op: Op) {}

    // ---- types and constants ----

    /// `iN`, or a vector of it.
    fn int_type(&self, bits: u32, lanes: u32) -> Self::T;
    /// `float`, `double` or `half`, or a vector of it.
    fn float_type(&self, bits: u32, lanes: u32) -> Self::T;
    /// A pointer.
    fn ptr_type(&self) -> Self::T;
    /// So many lanes of a type of one.
    fn vector_of(&self, t: Self::T, lanes: u32) -> Self::T;
    /// The number of lanes of a type.
    fn lanes_of(&self, t: Self::T) -> u32;
    /// The type of one lane.
    fn lane_type(&self, t: Self::T) -> Self::T;
    /// The type of a value.
    fn type_of(&self, v: Self::V) -> Self::T;
    /// The number of lanes of a value.
    fn lanes(&self, v: Self::V) -> u32 {
        self.lanes_of(self.type_of(v))
    }
    /// The same lanes with another element type.
    fn like(&self, v: Self::V, element: Self::T) -> Self::T {
        self.vector_of(element, self.lanes(v))
    }
    /// An integer constant of a type (scalar or vector: the same in all lanes).
    fn int(&self, t: Self::T, value: i64) -> Self::V;
    /// A float constant of a type (scalar or vector: the same in all lanes).
    fn float(&self, t: Self::T, value: f64) -> Self::V;
    /// Zero of a type.
    fn zero(&self, t: Self::T) -> Self::V;
    /// An `i64` constant.
    fn i64(&self, value: i64) -> Self::V {
        self.int(self.int_type(64, 1), value)
    }
    /// `<0, 1, 2, …>` of an integer type; 0 for one lane.
    fn iota(&self, bits: u32, lanes: u32) -> Self::V;
    /// The constant value of an integer, if it is one.
    fn as_const(&self, v: Self::V) -> Option<i64>;
    /// The constant value of a truth value, if it is one.
    fn as_truth(&self, v: Self::V) -> Option<bool>;
    /// Any value of a type.
    fn poison(&self, t: Self::T) -> Self::V;

    // ---- arithmetic ----

    /// An operation of two values of one type.
    fn binop(&self, op: Binary, a: Self::V, b: Self::V) -> Self::V;
    /// `a + b` of indices: overflow does not happen.
    fn iadd(&self, a: Self::V, b: Self::V) -> Self::V;
    /// `a - b` of indices.
    fn isub(&self, a: Self::V, b: Self::V) -> Self::V;
    /// `a * b` of indices.
    fn imul(&self, a: Self::V, b: Self::V) -> Self::V;
    /// `a + b` of floats.
    fn fadd(&self, a: Self::V, b: Self::V) -> Self::V {
        self.binop(Binary::FAdd, a, b)
    }
    /// `a - b` of floats.
    fn fsub(&self, a: Self::V, b: Self::V) -> Self::V {
        self.binop(Binary::FSub, a, b)
    }
    /// `a * b` of floats.
    fn fmul(&self, a: Self::V, b: Self::V) -> Self::V {
        self.binop(Binary::FMul, a, b)
    }
    /// `a / b` of floats.
    fn fdiv(&self, a: Self::V, b: Self::V) -> Self::V {
        self.binop(Binary::FDiv, a, b)
    }
    /// `-a` of floats.
    fn fneg(&self, a: Self::V) -> Self::V;
    /// `a & b`.
    fn and(&self, a: Self::V, b: Self::V) -> Self::V {
        self.binop(Binary::And, a, b)
    }
    /// `a | b`.
    fn or(&self, a: Self::V, b: Self::V) -> Self::V {
        self.binop(Binary::Or, a, b)
    }
    /// `a ^ b`.
    fn xor(&self, a: Self::V, b: Self::V) -> Self::V {
        self.binop(Binary::Xor, a, b)
    }
    /// `!a`, bitwise.
    fn not(&self, a: Self::V) -> Self::V {
        self.xor(a, self.int(self.type_of(a), -1))
    }
    /// `a + b`, wrapping.
    fn add(&self, a: Self::V, b: Self::V) -> Self::V {
        self.binop(Binary::Add, a, b)
    }
    /// `a - b`, wrapping.
    fn sub(&self, a: Self::V, b: Self::V) -> Self::V {
        self.binop(Binary::Sub, a, b)
    }
    /// `a * b`, wrapping.
    fn mul(&self, a: Self::V, b: Self::V) -> Self::V {
        self.binop(Binary::Mul, a, b)
    }
    /// `a << n`.
    fn shl(&self, a: Self::V, n: Self::V) -> Self::V {
        self.binop(Binary::Shl, a, n)
    }
    /// `a >> n`, the sign kept.
    fn ashr(&self, a: Self::V, n: Self::V) -> Self::V {
        self.binop(Binary::AShr, a, n)
    }
    /// `a >> n`, zeros shifted in.
    fn lshr(&self, a: Self::V, n: Self::V) -> Self::V {
        self.binop(Binary::LShr, a, n)
    }
    /// A comparison of integers or pointers.
    fn icmp(&self, p: IntPredicate, a: Self::V, b: Self::V) -> Self::V;
    /// A comparison of floats.
    fn fcmp(&self, p: FloatPredicate, a: Self::V, b: Self::V) -> Self::V;
    /// `c ? a : b`, lane by lane or for all lanes.
    fn select(&self, c: Self::V, a: Self::V, b: Self::V) -> Self::V;
    /// A conversion.
    fn cast(&self, op: Convert, v: Self::V, to: Self::T) -> Self::V;
    /// The same bits as another type.
    fn bitcast(&self, v: Self::V, to: Self::T) -> Self::V {
        self.cast(Convert::BitCast, v, to)
    }
    /// The value with a name in the text.
    fn named(&self, v: Self::V, name: Option<&str>) -> Self::V;
    /// A function that is an instruction.
    fn math(&self, f: Math, args: &[Self::V]) -> Self::V;
    /// `x * 2^i` rounded once, of floats and 32-bit integers; None where the machine has no instruction for it.
    fn scaled(&self, _x: Self::V, _i: Self::V) -> Option<Self::V> {
        None
    }
    /// Whether there is [`Build::turned`].
    fn turns(&self) -> bool {
        false
    }
    /// As many vectors as each has lanes: vector i of lanes i, the transpose.
    fn turned(&self, _rows: &[Self::V]) -> Option<Vec<Self::V>> {
        None
    }
    /// The entries of a table of 16 `f32` at the lowest four bits of each lane of `i`, which are 16 or a multiple; None where the machine has no
    /// instruction for it.
    fn table(&self, _entries: &[f64; 16], _i: Self::V) -> Option<Self::V> {
        None
    }

    // ---- lanes ----

    /// The scalar in all lanes; a vector of that many lanes is itself.
    fn splat(&self, v: Self::V, lanes: u32) -> Self::V;
    /// One lane.
    fn extract(&self, v: Self::V, lane: u32) -> Self::V;
    /// The vector with one lane replaced.
    fn insert(&self, v: Self::V, one: Self::V, lane: u32) -> Self::V;
    /// `count` lanes from lane `start` on.
    fn slice(&self, v: Self::V, start: u32, count: u32) -> Self::V;

    // ---- memory ----

    /// The address `offset` elements of type `element` after `base` (inside the buffer).
    fn element_ptr(&self, element: Self::T, base: Self::V, offset: Self::V) -> Self::V;
    /// A load.
    fn load(&self, t: Self::T, ptr: Self::V, align: u32) -> Self::V;
    /// A store.
    fn store(&self, v: Self::V, ptr: Self::V, align: u32);
    /// Reads the lanes that `mask` has; the others are 0.
    fn masked_load(&self, t: Self::T, ptr: Self::V, mask: Self::V, align: u32) -> Self::V;
    /// Writes the lanes that `mask` has.
    fn masked_store(&self, v: Self::V, ptr: Self::V, mask: Self::V, align: u32);
    /// Two places of so many bytes that belong to the function: zeros to be read, and what is written in vain.
    fn nowhere(&self, bytes: u32) -> (Self::V, Self::V);
    /// A place of at least so many elements of a type, as memory holds them, that belongs to the function and is aligned like a cache line.
    fn local(&self, element: Self::T, count: u32) -> Self::V;
    /// Replaces what stands at `ptr` by `update` of it and `v`, until no other thread came between: a function of this name does it.
    /// `bits` is the integer type of the element's size, `memory` its type in memory.
    fn atomic(
        &self,
        name: &str,
        bits: Self::T,
        memory: Self::T,
        ptr: Self::V,
        v: Self::V,
        update: impl FnOnce(&Self, Self::V, Self::V) -> Self::V,
    );

    // ---- calls ----

    /// A function of C, called lane by lane. Arguments of one lane are the same in all.
    fn by_lane(&self, name: &str, result: Self::T, args: &[Self::V]) -> Self::V;
    /// A call of a function that is put in place where it is called; `body` builds it the first time that its name is used.
    fn placed(
        &self,
        name: &str,
        args: &[Self::V],
        result: Self::T,
        body: impl FnOnce(&Self, &[Self::V]) -> Self::V,
    ) -> Self::V;

    // ---- control ----

    /// Goes before what enters a loop or a branch; gives back where it was.
    fn go_before(&self, enter: Self::Enter) -> Self::Place;
    /// Goes back.
    fn go_back(&self, place: Self::Place);
    /// Opens the function's work: steps `begin` to `end`, if there are any.
    fn open_steps(&self, begin: Self::V, end: Self::V) -> Self::Enter;
    /// Ends the function.
    fn close_steps(&self);
    /// Opens a loop.
    fn open_loop(&self, name: &str, counted: Counted<Self::V>, carried: &[Self::V]) -> Opened<Self>;
    /// Closes a loop: the new values of what is carried. Gives what they are after it.
    fn close_loop(&self, open: Self::Open, new: &[Self::V]) -> Vec<Self::V>;
    /// Opens one step, taken if `at` is below `end` (with `runs`, in any case).
    fn open_step(
        &self,
        name: &str,
        at: Self::V,
        end: Self::V,
        runs: bool,
        carried: &[Self::V],
    ) -> (Self::Open, Self::Enter);
    /// Closes one step.
    fn close_step(&self, open: Self::Open, new: &[Self::V]) -> Vec<Self::V>;
    /// Opens a loop that counts from `begin` by as much as its body says, with positions that it carries. It has a step.
    fn open_rows(&self, begin: Self::V, positions: &[Self::V]) -> Opened<Self>;
    /// Closes it: where the next row begins, its positions, and what a row must begin below.
    fn close_rows(&self, open: Self::Open, next: Self::V, positions: &[Self::V], end: Self::V);
    /// Opens what is done where `c` holds.
    fn open_full(&self, c: Self::V) -> (Self::Open, Self::Enter);
    /// Ends that, and opens what is done elsewhere.
    fn otherwise(&self, open: &Self::Open);
    /// Ends both.
    fn close_full(&self, open: Self::Open);
    /// One of two values, each computed only where it is needed.
    fn either(&self, c: Self::V, yes: impl FnOnce() -> Self::V, no: impl FnOnce() -> Self::V) -> Self::V;
    /// Where any lane of `bad` is set, the function reports (number of the check, value, bound) to `error` and ends.
    fn fail_if(&self, bad: Self::V, error: Self::V, number: i64, value: Self::V, bound: Self::V);
}
