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

use crate::codegen::vector::build::Build as _;
use crate::codegen::vector::build::Machine;

/// A scalar, a vector or a pointer.
pub type V<'c> = BasicValueEnum<'c>;
/// The type of a [`V`].
pub type T<'c> = BasicTypeEnum<'c>;

/// The builder.
pub struct LlvmBuild<'c> {
    /// The LLVM context.
    pub ctx: &'c Context,
    /// The module under construction.
    pub module: Module<'c>,
    /// What the target can do.
    pub machine: Machine,
    pub(super) b: Builder<'c>,
    place: Cell<Option<Place<'c>>>,
    /// Where the function ends after an error.
    pub(super) failed: Cell<Option<BasicBlock<'c>>>,
    /// Where the function ends, while its steps are being built.
    pub(super) done: Cell<Option<BasicBlock<'c>>>,
}

/// Where instructions go.
#[derive(Clone, Copy, Debug)]
pub enum Place<'c> {
    /// After the last instruction of a block.
    End(BasicBlock<'c>),
    /// Before an instruction.
    Before(InstructionValue<'c>),
}

pub(super) fn built<X>(result: Result<X, BuilderError>) -> X {
    result
        .expect("the builder stands in a block and the emitter gives operands of the types that the instruction takes")
}

impl<'c> LlvmBuild<'c> {
    /// A builder of a new module.
    pub fn new(ctx: &'c Context, name: &str, machine: Machine) -> Self {
        Self {
            ctx,
            module: ctx.create_module(name),
            machine,
            b: ctx.create_builder(),
            place: Cell::new(None),
            failed: Cell::new(None),
            done: Cell::new(None),
        }
    }
    /// The bytes of a pointer.
    pub fn pointer_bytes(&self) -> u32 {
        let layout = inkwell::targets::TargetData::create(&self.module.get_data_layout().as_str().to_string_lossy());
        layout.get_pointer_byte_size(None)
    }
    /// A binary instruction.
    pub fn instruction(&self, op: InstructionOpcode, a: V<'c>, b: V<'c>) -> V<'c> {
        built(self.b.build_binop(op, a, b, ""))
    }
    /// A binary index instruction: overflow does not happen (`nsw`).
    pub fn index_op(&self, op: InstructionOpcode, a: V<'c>, b: V<'c>) -> V<'c> {
        let v = self.instruction(op, a, b);
        if let Some(i) = v.as_instruction_value()
            && i.get_opcode() == op
        {
            i.set_no_signed_wrap_flag(true).expect("additions, subtractions and products have the flag");
        }
        v
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
    /// The lane whose number a value says.
    pub fn extract_at(&self, v: V<'c>, lane: V<'c>) -> V<'c> {
        match v {
            V::VectorValue(v) => built(self.b.build_extract_element(v, lane.into_int_value(), "")),
            v => v,
        }
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
