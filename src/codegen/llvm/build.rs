//! A thin layer over the LLVM instruction builder: one value type for scalars and vectors, and no results to unwrap.
//!
//! LLVM's builder folds constants by itself, so the code that emits need not.

use std::cell::Cell;

use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::basic_block::BasicBlock;
use inkwell::builder::{Builder, BuilderError};
use inkwell::context::Context;
use inkwell::intrinsics::Intrinsic;
use inkwell::module::{Linkage, Module};
use inkwell::types::{BasicMetadataTypeEnum, BasicType, BasicTypeEnum};
use inkwell::values::{
    BasicMetadataValueEnum, BasicValue, BasicValueEnum, FunctionValue, InstructionOpcode, InstructionValue, IntValue,
    PhiValue, PointerValue, VectorValue,
};
pub use inkwell::{FloatPredicate, IntPredicate};

/// A scalar, a vector or a pointer.
pub type V<'c> = BasicValueEnum<'c>;
/// The type of a [`V`].
pub type T<'c> = BasicTypeEnum<'c>;

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

/// The builder.
pub struct Build<'c> {
    /// The LLVM context.
    pub ctx: &'c Context,
    /// The module under construction.
    pub module: Module<'c>,
    /// What the target can do.
    pub machine: Machine,
    b: Builder<'c>,
    place: Cell<Option<Place<'c>>>,
}

/// Where instructions go.
#[derive(Clone, Copy, Debug)]
pub enum Place<'c> {
    /// After the last instruction of a block.
    End(BasicBlock<'c>),
    /// Before an instruction.
    Before(InstructionValue<'c>),
}

fn built<X>(result: Result<X, BuilderError>) -> X {
    result
        .expect("the builder stands in a block and the emitter gives operands of the types that the instruction takes")
}

impl<'c> Build<'c> {
    /// A builder of a new module.
    pub fn new(ctx: &'c Context, name: &str, machine: Machine) -> Self {
        Self { ctx, module: ctx.create_module(name), machine, b: ctx.create_builder(), place: Cell::new(None) }
    }

    // ---- types and constants ----

    /// `iN`, or a vector of it.
    pub fn int_type(&self, bits: u32, lanes: u32) -> T<'c> {
        let t = match bits {
            1 => self.ctx.bool_type(),
            8 => self.ctx.i8_type(),
            16 => self.ctx.i16_type(),
            32 => self.ctx.i32_type(),
            64 => self.ctx.i64_type(),
            n => self
                .ctx
                .custom_width_int_type(std::num::NonZeroU32::new(n).expect("no integer has zero bits"))
                .expect("a width that LLVM has"),
        };
        self.vector_of(t.into(), lanes)
    }
    /// `float`, `double` or `half`, or a vector of it.
    pub fn float_type(&self, bits: u32, lanes: u32) -> T<'c> {
        let t = match bits {
            16 => self.ctx.f16_type(),
            32 => self.ctx.f32_type(),
            _ => self.ctx.f64_type(),
        };
        self.vector_of(t.into(), lanes)
    }
    /// `ptr`.
    pub fn ptr_type(&self) -> T<'c> {
        self.ctx.ptr_type(Default::default()).into()
    }
    /// `<lanes x t>`; `t` itself for one lane.
    pub fn vector_of(&self, t: T<'c>, lanes: u32) -> T<'c> {
        if lanes == 1 {
            return t;
        }
        match t {
            T::IntType(t) => t.vec_type(lanes).into(),
            T::FloatType(t) => t.vec_type(lanes).into(),
            T::PointerType(t) => t.vec_type(lanes).into(),
            other => other,
        }
    }
    /// The number of lanes of a type.
    pub fn lanes_of(&self, t: T<'c>) -> u32 {
        match t {
            T::VectorType(v) => v.get_size(),
            _ => 1,
        }
    }
    /// The number of lanes of a value.
    pub fn lanes(&self, v: V<'c>) -> u32 {
        self.lanes_of(v.get_type())
    }
    /// The type of one lane.
    pub fn lane_type(&self, t: T<'c>) -> T<'c> {
        match t {
            T::VectorType(v) => v.get_element_type(),
            other => other,
        }
    }
    /// The same lanes with another element type.
    pub fn like(&self, v: V<'c>, element: T<'c>) -> T<'c> {
        self.vector_of(element, self.lanes(v))
    }
    /// An integer constant of a type (scalar or vector: the same in all lanes).
    pub fn int(&self, t: T<'c>, value: i64) -> V<'c> {
        match t {
            T::IntType(t) => t.const_int(value as u64, true).into(),
            T::VectorType(v) => {
                let one = self.int(v.get_element_type(), value).into_int_value();
                let all: Vec<IntValue> = vec![one; v.get_size() as usize];
                inkwell::types::VectorType::const_vector(&all).into()
            }
            other => other.const_zero(),
        }
    }
    /// A float constant of a type (scalar or vector: the same in all lanes).
    pub fn float(&self, t: T<'c>, value: f64) -> V<'c> {
        match t {
            T::FloatType(t) => t.const_float(value).into(),
            T::VectorType(v) => {
                let one = self.float(v.get_element_type(), value).into_float_value();
                let all = vec![one; v.get_size() as usize];
                inkwell::types::VectorType::const_vector(&all).into()
            }
            other => other.const_zero(),
        }
    }
    /// An `i64` constant.
    pub fn i64(&self, value: i64) -> V<'c> {
        self.ctx.i64_type().const_int(value as u64, true).into()
    }
    /// `<0, 1, 2, …>` of an integer type; 0 for one lane.
    pub fn iota(&self, bits: u32, lanes: u32) -> V<'c> {
        self.int_list(bits, &(0..i64::from(lanes)).collect::<Vec<_>>())
    }
    /// A constant vector of integers (a scalar for one).
    pub fn int_list(&self, bits: u32, values: &[i64]) -> V<'c> {
        let t = self.int_type(bits, 1).into_int_type();
        match values {
            [one] => t.const_int(*one as u64, true).into(),
            _ => {
                let all: Vec<IntValue> = values.iter().map(|&v| t.const_int(v as u64, true)).collect();
                inkwell::types::VectorType::const_vector(&all).into()
            }
        }
    }
    /// The constant value of an integer, if it is one.
    pub fn as_const(&self, v: V<'c>) -> Option<i64> {
        match v {
            V::IntValue(i) => i.get_sign_extended_constant(),
            _ => None,
        }
    }
    /// Poison of a type.
    pub fn poison(&self, t: T<'c>) -> V<'c> {
        match t {
            T::VectorType(v) => v.get_poison().into(),
            T::IntType(t) => t.get_poison().into(),
            T::FloatType(t) => t.get_poison().into(),
            other => other.const_zero(),
        }
    }

    // ---- arithmetic ----

    /// A binary instruction without flags.
    pub fn binop(&self, op: InstructionOpcode, a: V<'c>, b: V<'c>) -> V<'c> {
        debug_assert_eq!(a.get_type(), b.get_type(), "{op:?}");
        built(self.b.build_binop(op, a, b, ""))
    }
    /// A binary index instruction: overflow does not happen (`nsw`).
    fn index_op(&self, op: InstructionOpcode, a: V<'c>, b: V<'c>) -> V<'c> {
        let v = self.binop(op, a, b);
        if let Some(i) = v.as_instruction_value()
            && i.get_opcode() == op
        {
            i.set_no_signed_wrap_flag(true).expect("additions, subtractions and products have the flag");
        }
        v
    }
    /// `a + b` of indices.
    pub fn iadd(&self, a: V<'c>, b: V<'c>) -> V<'c> {
        if self.as_const(a) == Some(0) {
            return b;
        }
        if self.as_const(b) == Some(0) {
            return a;
        }
        self.index_op(InstructionOpcode::Add, a, b)
    }
    /// `a - b` of indices.
    pub fn isub(&self, a: V<'c>, b: V<'c>) -> V<'c> {
        self.index_op(InstructionOpcode::Sub, a, b)
    }
    /// `a * b` of indices.
    pub fn imul(&self, a: V<'c>, b: V<'c>) -> V<'c> {
        match (self.as_const(a), self.as_const(b)) {
            (Some(1), _) => b,
            (_, Some(1)) => a,
            _ => self.index_op(InstructionOpcode::Mul, a, b),
        }
    }
    /// `a + b` of floats.
    pub fn fadd(&self, a: V<'c>, b: V<'c>) -> V<'c> {
        self.binop(InstructionOpcode::FAdd, a, b)
    }
    /// `a - b` of floats.
    pub fn fsub(&self, a: V<'c>, b: V<'c>) -> V<'c> {
        self.binop(InstructionOpcode::FSub, a, b)
    }
    /// `a * b` of floats.
    pub fn fmul(&self, a: V<'c>, b: V<'c>) -> V<'c> {
        self.binop(InstructionOpcode::FMul, a, b)
    }
    /// `a / b` of floats.
    pub fn fdiv(&self, a: V<'c>, b: V<'c>) -> V<'c> {
        self.binop(InstructionOpcode::FDiv, a, b)
    }
    /// `-a`.
    pub fn fneg(&self, a: V<'c>) -> V<'c> {
        match a {
            V::FloatValue(a) => built(self.b.build_float_neg(a, "")).into(),
            V::VectorValue(a) => built(self.b.build_float_neg(a, "")).into(),
            other => other,
        }
    }
    /// `a & b`.
    pub fn and(&self, a: V<'c>, b: V<'c>) -> V<'c> {
        self.binop(InstructionOpcode::And, a, b)
    }
    /// `a | b`.
    pub fn or(&self, a: V<'c>, b: V<'c>) -> V<'c> {
        self.binop(InstructionOpcode::Or, a, b)
    }
    /// `a ^ b`.
    pub fn xor(&self, a: V<'c>, b: V<'c>) -> V<'c> {
        self.binop(InstructionOpcode::Xor, a, b)
    }
    /// `!a`, bitwise.
    pub fn not(&self, a: V<'c>) -> V<'c> {
        let ones = self.int(a.get_type(), -1);
        self.xor(a, ones)
    }
    /// `a + b`, wrapping.
    pub fn add(&self, a: V<'c>, b: V<'c>) -> V<'c> {
        self.binop(InstructionOpcode::Add, a, b)
    }
    /// `a - b`, wrapping.
    pub fn sub(&self, a: V<'c>, b: V<'c>) -> V<'c> {
        self.binop(InstructionOpcode::Sub, a, b)
    }
    /// `a * b`, wrapping.
    pub fn mul(&self, a: V<'c>, b: V<'c>) -> V<'c> {
        self.binop(InstructionOpcode::Mul, a, b)
    }
    /// `a << n`.
    pub fn shl(&self, a: V<'c>, n: V<'c>) -> V<'c> {
        self.binop(InstructionOpcode::Shl, a, n)
    }
    /// `a >> n`, the sign kept.
    pub fn ashr(&self, a: V<'c>, n: V<'c>) -> V<'c> {
        self.binop(InstructionOpcode::AShr, a, n)
    }
    /// `a >> n`, zeros shifted in.
    pub fn lshr(&self, a: V<'c>, n: V<'c>) -> V<'c> {
        self.binop(InstructionOpcode::LShr, a, n)
    }
    /// A comparison of integers or pointers.
    pub fn icmp(&self, p: IntPredicate, a: V<'c>, b: V<'c>) -> V<'c> {
        debug_assert_eq!(a.get_type(), b.get_type(), "{p:?}");
        match (a, b) {
            (V::IntValue(a), V::IntValue(b)) => built(self.b.build_int_compare(p, a, b, "")).into(),
            (V::PointerValue(a), V::PointerValue(b)) => built(self.b.build_int_compare(p, a, b, "")).into(),
            (a, b) => built(self.b.build_int_compare(p, a.into_vector_value(), b.into_vector_value(), "")).into(),
        }
    }
    /// A comparison of floats.
    pub fn fcmp(&self, p: FloatPredicate, a: V<'c>, b: V<'c>) -> V<'c> {
        debug_assert_eq!(a.get_type(), b.get_type(), "{p:?}");
        match (a, b) {
            (V::FloatValue(a), V::FloatValue(b)) => built(self.b.build_float_compare(p, a, b, "")).into(),
            (a, b) => built(self.b.build_float_compare(p, a.into_vector_value(), b.into_vector_value(), "")).into(),
        }
    }
    /// `c ? a : b`, lane by lane or for all lanes.
    pub fn select(&self, c: V<'c>, a: V<'c>, b: V<'c>) -> V<'c> {
        debug_assert_eq!(a.get_type(), b.get_type(), "select");
        match c {
            V::IntValue(c) => built(self.b.build_select(c, a, b, "")),
            c => built(self.b.build_select(c.into_vector_value(), a, b, "")),
        }
    }
    /// A conversion.
    pub fn cast(&self, op: InstructionOpcode, v: V<'c>, to: T<'c>) -> V<'c> {
        if v.get_type() == to {
            return v;
        }
        built(self.b.build_cast(op, v, to, ""))
    }
    /// The same bits as another type.
    pub fn bitcast(&self, v: V<'c>, to: T<'c>) -> V<'c> {
        self.cast(InstructionOpcode::BitCast, v, to)
    }
    /// The value with a name in the printed IR.
    pub fn named(&self, v: V<'c>, name: Option<&str>) -> V<'c> {
        if let Some(name) = name
            && let Some(i) = v.as_instruction_value()
            && i.get_name().is_none_or(|n| n.is_empty())
        {
            // A name is decoration: an instruction that takes none keeps its number.
            let _ = i.set_name(name);
        }
        v
    }

    // ---- lanes ----

    /// The scalar in all lanes; a vector of that many lanes is itself.
    pub fn splat(&self, v: V<'c>, lanes: u32) -> V<'c> {
        if lanes == 1 || matches!(v, V::VectorValue(_)) {
            return v;
        }
        let constant = match v {
            V::IntValue(i) if i.is_const() => true,
            V::FloatValue(f) if f.is_const() => true,
            _ => false,
        };
        if constant {
            return match v {
                V::IntValue(i) => inkwell::types::VectorType::const_vector(&vec![i; lanes as usize]).into(),
                v => inkwell::types::VectorType::const_vector(&vec![v.into_float_value(); lanes as usize]).into(),
            };
        }
        let t = self.vector_of(v.get_type(), lanes);
        let one = self.insert(self.poison(t), v, 0);
        self.shuffle(one, one, &vec![0; lanes as usize])
    }
    /// One lane.
    pub fn extract(&self, v: V<'c>, lane: u32) -> V<'c> {
        match v {
            V::VectorValue(v) => {
                built(self.b.build_extract_element(v, self.ctx.i32_type().const_int(lane.into(), false), ""))
            }
            v => v,
        }
    }
    /// The lane whose number a value says.
    pub fn extract_at(&self, v: V<'c>, lane: V<'c>) -> V<'c> {
        match v {
            V::VectorValue(v) => built(self.b.build_extract_element(v, lane.into_int_value(), "")),
            v => v,
        }
    }
    /// The vector with one lane replaced.
    pub fn insert(&self, v: V<'c>, one: V<'c>, lane: u32) -> V<'c> {
        match v {
            V::VectorValue(v) => {
                built(self.b.build_insert_element(v, one, self.ctx.i32_type().const_int(lane.into(), false), "")).into()
            }
            _ => one,
        }
    }
    /// Lanes of two vectors, one after the other, by number.
    pub fn shuffle(&self, a: V<'c>, b: V<'c>, lanes: &[i64]) -> V<'c> {
        let mask = match lanes {
            [_] => {
                let one = self.ctx.i32_type().const_int(lanes[0] as u64, false);
                inkwell::types::VectorType::const_vector(&[one])
            }
            _ => self.int_list(32, lanes).into_vector_value(),
        };
        let (a, b): (VectorValue, VectorValue) = (a.into_vector_value(), b.into_vector_value());
        built(self.b.build_shuffle_vector(a, b, mask, "")).into()
    }
    /// `count` lanes from lane `start` on.
    pub fn slice(&self, v: V<'c>, start: u32, count: u32) -> V<'c> {
        if self.lanes(v) == count {
            return v;
        }
        if count == 1 {
            return self.extract(v, start);
        }
        self.shuffle(v, v, &(start..start + count).map(i64::from).collect::<Vec<_>>())
    }

    // ---- memory ----

    /// The address `offset` elements of type `element` after `base` (inside the buffer).
    pub fn element_ptr(&self, element: T<'c>, base: V<'c>, offset: V<'c>) -> V<'c> {
        if self.as_const(offset) == Some(0) {
            return base;
        }
        let at = offset.into_int_value();
        // SAFETY: only builds an instruction; that the index is inside the buffer is what a kernel promises.
        let p = unsafe { self.b.build_in_bounds_gep(element, base.into_pointer_value(), &[at], "") };
        built(p).into()
    }
    /// A load.
    pub fn load(&self, t: T<'c>, ptr: V<'c>, align: u32) -> V<'c> {
        let v = built(self.b.build_load(t, ptr.into_pointer_value(), ""));
        if let Some(i) = v.as_instruction_value() {
            i.set_alignment(align).expect("a load takes an alignment that is a power of two");
        }
        v
    }
    /// A store.
    pub fn store(&self, v: V<'c>, ptr: V<'c>, align: u32) -> InstructionValue<'c> {
        let i = built(self.b.build_store(ptr.into_pointer_value(), v));
        i.set_alignment(align).expect("a store takes an alignment that is a power of two");
        i
    }
    /// A slot on the stack.
    pub fn alloca(&self, t: T<'c>) -> PointerValue<'c> {
        built(self.b.build_alloca(t, ""))
    }
    /// A compare and exchange; the old value and whether it was exchanged.
    pub fn cmpxchg(&self, ptr: V<'c>, old: V<'c>, new: V<'c>) -> (V<'c>, V<'c>) {
        let order = inkwell::AtomicOrdering::Monotonic;
        let pair = built(self.b.build_cmpxchg(ptr.into_pointer_value(), old, new, order, order));
        (built(self.b.build_extract_value(pair, 0, "")), built(self.b.build_extract_value(pair, 1, "")))
    }

    // ---- calls ----

    /// A call of an intrinsic that is overloaded on these types.
    pub fn intrinsic(&self, name: &str, types: &[T<'c>], args: &[V<'c>]) -> V<'c> {
        let f = Intrinsic::find(name).and_then(|i| i.get_declaration(&self.module, types));
        self.call(f.expect("the emitter names intrinsics that LLVM has"), args).expect("these intrinsics give a value")
    }
    /// A masked load or store; argument `pointer` is aligned to `align` bytes.
    pub fn masked(&self, name: &str, types: &[T<'c>], args: &[V<'c>], pointer: u32, align: u32) -> Option<V<'c>> {
        let f = Intrinsic::find(name).and_then(|i| i.get_declaration(&self.module, types));
        let f = f.expect("the emitter names intrinsics that LLVM has");
        let args: Vec<BasicMetadataValueEnum> = args.iter().map(|&a| a.into()).collect();
        let call = built(self.b.build_call(f, &args, ""));
        call.set_alignment_attribute(AttributeLoc::Param(pointer), align);
        call.try_as_basic_value().basic()
    }
    /// An intrinsic that is overloaded on the type of its first argument.
    pub fn math(&self, name: &str, args: &[V<'c>]) -> V<'c> {
        self.intrinsic(name, &[args[0].get_type()], args)
    }
    /// A call.
    pub fn call(&self, f: FunctionValue<'c>, args: &[V<'c>]) -> Option<V<'c>> {
        let args: Vec<BasicMetadataValueEnum> = args.iter().map(|&a| a.into()).collect();
        let call = built(self.b.build_call(f, &args, ""));
        call.set_call_convention(f.get_call_conventions());
        call.try_as_basic_value().basic()
    }
    /// A function of this module by name, declared when it is not there yet.
    pub fn declare(&self, name: &str, args: &[T<'c>], result: Option<T<'c>>) -> FunctionValue<'c> {
        if let Some(f) = self.module.get_function(name) {
            return f;
        }
        let args: Vec<BasicMetadataTypeEnum> = args.iter().map(|&a| a.into()).collect();
        let t = match result {
            Some(r) => r.fn_type(&args, false),
            None => self.ctx.void_type().fn_type(&args, false),
        };
        self.module.add_function(name, t, None)
    }
    /// A function that only this module sees and that is put in place where it is called; `body` emits it the first time.
    pub fn inline_function(
        &self,
        name: &str,
        args: &[T<'c>],
        result: T<'c>,
        body: impl FnOnce(&Self, &[V<'c>]) -> V<'c>,
    ) -> FunctionValue<'c> {
        if let Some(f) = self.module.get_function(name) {
            return f;
        }
        let f = self.declare(name, args, Some(result));
        f.set_linkage(Linkage::Internal);
        self.add_attribute(f, "alwaysinline", None);
        let saved = self.place();
        let entry = self.ctx.append_basic_block(f, "entry");
        self.go_to(Place::End(entry));
        let params: Vec<V> = f.get_params();
        let v = body(self, &params);
        self.ret(Some(v));
        self.go_to(saved);
        f
    }
    /// Adds an attribute to a function: an enum attribute of LLVM's without a value, or any string attribute with one.
    pub fn add_attribute(&self, f: FunctionValue<'c>, name: &str, value: Option<&str>) {
        let attribute = match value {
            Some(value) => self.ctx.create_string_attribute(name, value),
            None => self.ctx.create_enum_attribute(Attribute::get_named_enum_kind_id(name), 0),
        };
        f.add_attribute(AttributeLoc::Function, attribute);
    }

    // ---- blocks ----

    /// A new block at the end of the function that is being emitted.
    pub fn block(&self, name: &str) -> BasicBlock<'c> {
        let here = self.current_block();
        let f = here.get_parent().expect("the builder stands in a block of a function");
        self.ctx.append_basic_block(f, name)
    }
    /// The block in which the builder stands.
    pub fn current_block(&self) -> BasicBlock<'c> {
        self.b.get_insert_block().expect("the builder stands in a block")
    }
    /// Where the next instruction goes.
    pub fn place(&self) -> Place<'c> {
        self.place.get().expect("the builder was given a place")
    }
    /// Says where the next instruction goes.
    pub fn go_to(&self, place: Place<'c>) {
        match place {
            Place::End(block) => self.b.position_at_end(block),
            Place::Before(i) => self.b.position_before(&i),
        }
        self.place.set(Some(place));
    }
    /// Goes to the end of a block.
    pub fn at_end(&self, block: BasicBlock<'c>) {
        self.go_to(Place::End(block));
    }
    /// An unconditional jump.
    pub fn jump(&self, to: BasicBlock<'c>) -> InstructionValue<'c> {
        built(self.b.build_unconditional_branch(to))
    }
    /// A conditional jump.
    pub fn branch(&self, c: V<'c>, yes: BasicBlock<'c>, no: BasicBlock<'c>) -> InstructionValue<'c> {
        built(self.b.build_conditional_branch(c.into_int_value(), yes, no))
    }
    /// Puts an instruction that was taken out of its block here.
    pub fn put(&self, i: &InstructionValue<'c>) {
        self.b.insert_instruction(i, None);
    }
    /// A return.
    pub fn ret(&self, v: Option<V<'c>>) {
        match v {
            Some(v) => built(self.b.build_return(Some(&v))),
            None => built(self.b.build_return(None)),
        };
    }
    /// A phi; [`Build::incoming`] adds what comes in.
    pub fn phi(&self, t: T<'c>, name: &str) -> PhiValue<'c> {
        built(self.b.build_phi(t, name))
    }
    /// Adds a value that comes into a phi.
    pub fn incoming(&self, phi: PhiValue<'c>, v: V<'c>, from: BasicBlock<'c>) {
        phi.add_incoming(&[(&v as &dyn BasicValue, from)]);
    }
}
