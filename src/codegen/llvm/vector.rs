//! LLVM IR as what the shared emitter of kernels builds with.

use inkwell::basic_block::BasicBlock;
use inkwell::module::Linkage;
use inkwell::values::{BasicValue as _, InstructionOpcode, InstructionValue, IntValue, PhiValue};

use super::abi;
use super::build::{LlvmBuild, Place, T, V, built};
use crate::codegen::vector::build::{
    Binary, Build, Convert, Counted, FloatPredicate, IntPredicate, Machine, Math, Opened,
};

/// A loop or a branch that is being built.
pub struct Open<'c> {
    /// The jump into it.
    enter: InstructionValue<'c>,
    /// Where it begins, and what follows it.
    inside: BasicBlock<'c>,
    after: BasicBlock<'c>,
    /// Where a second branch begins.
    other: Option<BasicBlock<'c>>,
    position: Option<PhiValue<'c>>,
    phis: Vec<PhiValue<'c>>,
    /// What was carried into it.
    carried: Vec<V<'c>>,
    counted: Option<Counted<V<'c>>>,
    /// It is known that it is entered.
    runs: bool,
}

impl<'c> LlvmBuild<'c> {
    /// What carried values are after a part of the code that may have been jumped over.
    fn merged(&self, open: &Open<'c>, pre: BasicBlock<'c>, new: &[V<'c>], latch: BasicBlock<'c>) -> Vec<V<'c>> {
        let pairs = open.carried.iter().zip(new);
        let merged = pairs.map(|(&c, &n)| {
            let phi = self.phi(c.get_type(), "");
            self.incoming(phi, c, pre);
            self.incoming(phi, n, latch);
            phi.as_basic_value()
        });
        merged.collect()
    }

    /// Emits before everything else of the function.
    fn in_entry<R>(&self, f: impl FnOnce(&Self) -> R) -> R {
        let saved = self.place();
        let function = self.current_block().get_parent().expect("the builder stands in a block of a function");
        let entry = function.get_first_basic_block().expect("the function has its entry block");
        match entry.get_first_instruction() {
            Some(i) => self.go_to(Place::Before(i)),
            None => self.at_end(entry),
        }
        let made = f(self);
        self.go_to(saved);
        made
    }

    /// The block that a jump stands in.
    fn block_of(&self, jump: InstructionValue<'c>) -> BasicBlock<'c> {
        jump.get_parent().expect("the jump stands in a block")
    }
}

impl<'c> Build for LlvmBuild<'c> {
    type V = V<'c>;
    type T = T<'c>;
    type Enter = InstructionValue<'c>;
    type Place = Place<'c>;
    type Open = Open<'c>;
    const NAME: &'static str = "LLVM";

    fn machine(&self) -> Machine {
        self.machine
    }
    fn type_of(&self, v: V<'c>) -> T<'c> {
        v.get_type()
    }
    fn zero(&self, t: T<'c>) -> V<'c> {
        t.const_zero()
    }
    fn iota(&self, bits: u32, lanes: u32) -> V<'c> {
        self.int_list(bits, &(0..i64::from(lanes)).collect::<Vec<_>>())
    }
    fn as_truth(&self, v: V<'c>) -> Option<bool> {
        match v {
            V::IntValue(v) => v.get_zero_extended_constant().map(|k| k != 0),
            _ => None,
        }
    }
    fn int_type(&self, bits: u32, lanes: u32) -> T<'c> {
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
    fn float_type(&self, bits: u32, lanes: u32) -> T<'c> {
        let t = match bits {
            16 => self.ctx.f16_type(),
            32 => self.ctx.f32_type(),
            _ => self.ctx.f64_type(),
        };
        self.vector_of(t.into(), lanes)
    }
    fn ptr_type(&self) -> T<'c> {
        self.ctx.ptr_type(Default::default()).into()
    }
    fn vector_of(&self, t: T<'c>, lanes: u32) -> T<'c> {
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
    fn lanes_of(&self, t: T<'c>) -> u32 {
        match t {
            T::VectorType(v) => v.get_size(),
            _ => 1,
        }
    }
    fn lane_type(&self, t: T<'c>) -> T<'c> {
        match t {
            T::VectorType(v) => v.get_element_type(),
            other => other,
        }
    }
    fn int(&self, t: T<'c>, value: i64) -> V<'c> {
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
    fn float(&self, t: T<'c>, value: f64) -> V<'c> {
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
    fn as_const(&self, v: V<'c>) -> Option<i64> {
        match v {
            V::IntValue(i) => i.get_sign_extended_constant(),
            _ => None,
        }
    }
    fn poison(&self, t: T<'c>) -> V<'c> {
        match t {
            T::VectorType(v) => v.get_poison().into(),
            T::IntType(t) => t.get_poison().into(),
            T::FloatType(t) => t.get_poison().into(),
            other => other.const_zero(),
        }
    }
    fn iadd(&self, a: V<'c>, b: V<'c>) -> V<'c> {
        if self.as_const(a) == Some(0) {
            return b;
        }
        if self.as_const(b) == Some(0) {
            return a;
        }
        self.index_op(InstructionOpcode::Add, a, b)
    }
    fn isub(&self, a: V<'c>, b: V<'c>) -> V<'c> {
        self.index_op(InstructionOpcode::Sub, a, b)
    }
    fn imul(&self, a: V<'c>, b: V<'c>) -> V<'c> {
        match (self.as_const(a), self.as_const(b)) {
            (Some(1), _) => b,
            (_, Some(1)) => a,
            _ => self.index_op(InstructionOpcode::Mul, a, b),
        }
    }
    fn fneg(&self, a: V<'c>) -> V<'c> {
        match a {
            V::FloatValue(a) => built(self.b.build_float_neg(a, "")).into(),
            V::VectorValue(a) => built(self.b.build_float_neg(a, "")).into(),
            other => other,
        }
    }
    fn splat(&self, v: V<'c>, lanes: u32) -> V<'c> {
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
    fn extract(&self, v: V<'c>, lane: u32) -> V<'c> {
        match v {
            V::VectorValue(v) => {
                built(self.b.build_extract_element(v, self.ctx.i32_type().const_int(lane.into(), false), ""))
            }
            v => v,
        }
    }
    fn insert(&self, v: V<'c>, one: V<'c>, lane: u32) -> V<'c> {
        match v {
            V::VectorValue(v) => {
                built(self.b.build_insert_element(v, one, self.ctx.i32_type().const_int(lane.into(), false), "")).into()
            }
            _ => one,
        }
    }
    fn slice(&self, v: V<'c>, start: u32, count: u32) -> V<'c> {
        if self.lanes(v) == count {
            return v;
        }
        if count == 1 {
            return self.extract(v, start);
        }
        self.shuffle(v, v, &(start..start + count).map(i64::from).collect::<Vec<_>>())
    }
    fn element_ptr(&self, element: T<'c>, base: V<'c>, offset: V<'c>) -> V<'c> {
        if self.as_const(offset) == Some(0) {
            return base;
        }
        let at = offset.into_int_value();
        // SAFETY: only builds an instruction; that the index is inside the buffer is what a kernel promises.
        let p = unsafe { self.b.build_in_bounds_gep(element, base.into_pointer_value(), &[at], "") };
        built(p).into()
    }
    fn load(&self, t: T<'c>, ptr: V<'c>, align: u32) -> V<'c> {
        let v = built(self.b.build_load(t, ptr.into_pointer_value(), ""));
        if let Some(i) = v.as_instruction_value() {
            i.set_alignment(align).expect("a load takes an alignment that is a power of two");
        }
        v
    }
    fn named(&self, v: V<'c>, name: Option<&str>) -> V<'c> {
        if let Some(name) = name
            && let Some(i) = v.as_instruction_value()
            && i.get_name().is_none_or(|n| n.is_empty())
        {
            // A name is decoration: an instruction that takes none keeps its number.
            let _ = i.set_name(name);
        }
        v
    }
    fn binop(&self, op: Binary, a: V<'c>, b: V<'c>) -> V<'c> {
        debug_assert_eq!(a.get_type(), b.get_type(), "{op:?}");
        use InstructionOpcode as I;
        let op = match op {
            Binary::FAdd => I::FAdd,
            Binary::FSub => I::FSub,
            Binary::FMul => I::FMul,
            Binary::FDiv => I::FDiv,
            Binary::Add => I::Add,
            Binary::Sub => I::Sub,
            Binary::Mul => I::Mul,
            Binary::SDiv => I::SDiv,
            Binary::UDiv => I::UDiv,
            Binary::SRem => I::SRem,
            Binary::URem => I::URem,
            Binary::And => I::And,
            Binary::Or => I::Or,
            Binary::Xor => I::Xor,
            Binary::Shl => I::Shl,
            Binary::AShr => I::AShr,
            Binary::LShr => I::LShr,
        };
        self.instruction(op, a, b)
    }
    fn icmp(&self, p: IntPredicate, a: V<'c>, b: V<'c>) -> V<'c> {
        debug_assert_eq!(a.get_type(), b.get_type(), "{p:?}");
        use inkwell::IntPredicate as P;
        let p = match p {
            IntPredicate::EQ => P::EQ,
            IntPredicate::NE => P::NE,
            IntPredicate::SLT => P::SLT,
            IntPredicate::SLE => P::SLE,
            IntPredicate::SGT => P::SGT,
            IntPredicate::SGE => P::SGE,
            IntPredicate::ULT => P::ULT,
            IntPredicate::ULE => P::ULE,
            IntPredicate::UGT => P::UGT,
            IntPredicate::UGE => P::UGE,
        };
        match (a, b) {
            (V::IntValue(a), V::IntValue(b)) => built(self.b.build_int_compare(p, a, b, "")).into(),
            (V::PointerValue(a), V::PointerValue(b)) => built(self.b.build_int_compare(p, a, b, "")).into(),
            (a, b) => built(self.b.build_int_compare(p, a.into_vector_value(), b.into_vector_value(), "")).into(),
        }
    }
    fn fcmp(&self, p: FloatPredicate, a: V<'c>, b: V<'c>) -> V<'c> {
        debug_assert_eq!(a.get_type(), b.get_type(), "{p:?}");
        use inkwell::FloatPredicate as P;
        let p = match p {
            FloatPredicate::PredicateFalse => P::PredicateFalse,
            FloatPredicate::OEQ => P::OEQ,
            FloatPredicate::OGT => P::OGT,
            FloatPredicate::OGE => P::OGE,
            FloatPredicate::OLT => P::OLT,
            FloatPredicate::OLE => P::OLE,
            FloatPredicate::ONE => P::ONE,
            FloatPredicate::ORD => P::ORD,
            FloatPredicate::UEQ => P::UEQ,
            FloatPredicate::UGT => P::UGT,
            FloatPredicate::UGE => P::UGE,
            FloatPredicate::ULT => P::ULT,
            FloatPredicate::ULE => P::ULE,
            FloatPredicate::UNE => P::UNE,
            FloatPredicate::UNO => P::UNO,
            FloatPredicate::PredicateTrue => P::PredicateTrue,
        };
        match (a, b) {
            (V::FloatValue(a), V::FloatValue(b)) => built(self.b.build_float_compare(p, a, b, "")).into(),
            (a, b) => built(self.b.build_float_compare(p, a.into_vector_value(), b.into_vector_value(), "")).into(),
        }
    }
    fn select(&self, c: V<'c>, a: V<'c>, b: V<'c>) -> V<'c> {
        debug_assert_eq!(a.get_type(), b.get_type(), "select");
        match c {
            V::IntValue(c) => built(self.b.build_select(c, a, b, "")),
            c => built(self.b.build_select(c.into_vector_value(), a, b, "")),
        }
    }
    fn cast(&self, op: Convert, v: V<'c>, to: T<'c>) -> V<'c> {
        if v.get_type() == to {
            return v;
        }
        use InstructionOpcode as I;
        let op = match op {
            Convert::SExt => I::SExt,
            Convert::ZExt => I::ZExt,
            Convert::Trunc => I::Trunc,
            Convert::FPExt => I::FPExt,
            Convert::FPTrunc => I::FPTrunc,
            Convert::SIToFP => I::SIToFP,
            Convert::UIToFP => I::UIToFP,
            Convert::FPToSI => I::FPToSI,
            Convert::BitCast => I::BitCast,
        };
        built(self.b.build_cast(op, v, to, ""))
    }
    fn math(&self, f: Math, args: &[V<'c>]) -> V<'c> {
        let name = match f {
            Math::SMin => "llvm.smin",
            Math::SMax => "llvm.smax",
            Math::UMin => "llvm.umin",
            Math::UMax => "llvm.umax",
            Math::Abs => "llvm.fabs",
            Math::Sqrt => "llvm.sqrt",
            Math::Floor => "llvm.floor",
            Math::Ceil => "llvm.ceil",
            Math::Trunc => "llvm.trunc",
            Math::Rint => "llvm.rint",
            Math::CopySign => "llvm.copysign",
            Math::Fma => "llvm.fma",
            Math::Minimum => "llvm.minimum",
            Math::Maximum => "llvm.maximum",
            Math::AnyLane => "llvm.vector.reduce.or",
            Math::AllLanes => "llvm.vector.reduce.and",
        };
        self.intrinsic(name, &[args[0].get_type()], args)
    }
    fn scaled(&self, x: V<'c>, i: V<'c>) -> Option<V<'c>> {
        Some(self.intrinsic("llvm.ldexp", &[x.get_type(), i.get_type()], &[x, i]))
    }
    fn turns(&self) -> bool {
        true
    }
    fn turned(&self, rows: &[V<'c>]) -> Option<Vec<V<'c>>> {
        // Blocks of two, then of four, …: each round swaps the off-diagonal halves of the blocks.
        let mut rows = rows.to_vec();
        let n = rows.len();
        let mut half = 1;
        while half < n {
            for i in (0..n).filter(|i| i & half == 0) {
                let (a, b) = (rows[i], rows[i + half]);
                let upper = (0..n).map(|k| if k & half == 0 { k } else { n + k - half });
                let lower = (0..n).map(|k| if k & half == 0 { k + half } else { n + k });
                rows[i] = self.shuffle(a, b, &upper.map(|k| k as i64).collect::<Vec<_>>());
                rows[i + half] = self.shuffle(a, b, &lower.map(|k| k as i64).collect::<Vec<_>>());
            }
            half *= 2;
        }
        Some(rows)
    }
    fn table(&self, entries: &[f64; 16], i: V<'c>) -> Option<V<'c>> {
        let float = self.ctx.f32_type();
        let entries = entries.map(|e| float.const_float(e));
        let entries: V<'c> = inkwell::types::VectorType::const_vector(&entries).into();
        let permute = |k| self.intrinsic("llvm.x86.avx512.permvar.sf.512", &[], &[entries, self.slice(i, 16 * k, 16)]);
        let mut parts: Vec<V<'c>> = (0..self.lanes(i) / 16).map(permute).collect();
        while parts.len() > 1 {
            let all: Vec<i64> = (0..2 * i64::from(self.lanes(parts[0]))).collect();
            parts = parts.chunks(2).map(|p| self.shuffle(p[0], p[p.len() - 1], &all)).collect();
        }
        parts.pop()
    }
    fn store(&self, v: V<'c>, ptr: V<'c>, align: u32) {
        let i = built(self.b.build_store(ptr.into_pointer_value(), v));
        i.set_alignment(align).expect("a store takes an alignment that is a power of two");
    }
    fn masked_load(&self, t: T<'c>, p: V<'c>, mask: V<'c>, align: u32) -> V<'c> {
        self.masked("llvm.masked.load", &[t, self.ptr_type()], &[p, mask, t.const_zero()], 0, align)
            .expect("a masked load gives a value")
    }
    fn masked_store(&self, v: V<'c>, p: V<'c>, mask: V<'c>, align: u32) {
        self.masked("llvm.masked.store", &[v.get_type(), self.ptr_type()], &[v, p, mask], 1, align);
    }
    fn nowhere(&self, bytes: u32) -> (V<'c>, V<'c>) {
        self.in_entry(|b| {
            let t = b.vector_of(b.int_type(64, 1), bytes / 8);
            let zeros: V = b.alloca(t).into();
            let scratch: V = b.alloca(t).into();
            b.store(b.int(t, 0), zeros, 64);
            (zeros, scratch)
        })
    }
    fn local(&self, element: T<'c>, count: u32) -> V<'c> {
        use inkwell::types::BasicType;
        let t = element.array_type(count);
        self.in_entry(|b| b.alloca(t.into()).into())
    }
    fn atomic(
        &self,
        name: &str,
        bits: T<'c>,
        memory: T<'c>,
        ptr: V<'c>,
        v: V<'c>,
        update: impl FnOnce(&Self, V<'c>, V<'c>) -> V<'c>,
    ) {
        let name = format!("rinductor.{name}");
        if let Some(f) = self.module.get_function(&name) {
            self.call(f, &[ptr, v]);
            return;
        }
        let f = self.declare(&name, &[self.ptr_type(), v.get_type()], None);
        f.set_linkage(Linkage::Internal);
        let saved = self.place();
        let entry = self.ctx.append_basic_block(f, "entry");
        let again = self.ctx.append_basic_block(f, "again");
        let done = self.ctx.append_basic_block(f, "done");
        let params = f.get_params();
        let align = bits.into_int_type().get_bit_width() / 8;
        self.at_end(entry);
        let first = self.load(bits, params[0], align);
        self.jump(again);
        self.at_end(again);
        let old = self.phi(bits, "old");
        self.incoming(old, first, entry);
        let held = self.bitcast(old.as_basic_value(), memory);
        let new = self.bitcast(update(self, held, params[1]), bits);
        let (seen, exchanged) = self.cmpxchg(params[0], old.as_basic_value(), new);
        self.incoming(old, seen, again);
        self.branch(exchanged, done, again);
        self.at_end(done);
        self.ret(None);
        self.go_to(saved);
        self.call(f, &[ptr, v]);
    }
    fn by_lane(&self, name: &str, result: T<'c>, args: &[V<'c>]) -> V<'c> {
        let params: Vec<T> = args.iter().map(|a| self.lane_type(a.get_type())).collect();
        let f = self.declare(name, &params, Some(result));
        self.add_attribute(f, "nounwind", None);
        self.add_attribute(f, "willreturn", None);
        let lanes = args.iter().map(|&a| self.lanes(a)).max().unwrap_or(1);
        let mut all = self.poison(self.vector_of(result, lanes));
        for k in 0..lanes {
            let one: Vec<V> = args.iter().map(|&a| if self.lanes(a) == 1 { a } else { self.extract(a, k) }).collect();
            let v = self.call(f, &one).expect("the function has a result");
            all = self.insert(all, v, k);
        }
        all
    }
    fn placed(&self, name: &str, args: &[V<'c>], result: T<'c>, body: impl FnOnce(&Self, &[V<'c>]) -> V<'c>) -> V<'c> {
        let lanes = self.lanes(args[0]);
        let bits = if self.lane_type(args[0].get_type()) == self.float_type(64, 1) { 64 } else { 32 };
        let suffix = if lanes == 1 { format!("f{bits}") } else { format!("v{lanes}f{bits}") };
        let types: Vec<T> = args.iter().map(|a| a.get_type()).collect();
        let function = self.inline_function(&format!("rinductor.{name}.{suffix}"), &types, result, body);
        self.call(function, args).expect("the function has a result")
    }
    fn go_before(&self, enter: InstructionValue<'c>) -> Place<'c> {
        let saved = self.place();
        self.go_to(Place::Before(enter));
        saved
    }
    fn go_back(&self, place: Place<'c>) {
        self.go_to(place);
    }
    fn open_steps(&self, begin: V<'c>, end: V<'c>) -> InstructionValue<'c> {
        let (done, inside) = (self.block("done"), self.block("steps"));
        self.done.set(Some(done));
        let enter = self.branch(self.icmp(IntPredicate::SLT, begin, end), inside, done);
        self.at_end(inside);
        enter
    }
    fn close_steps(&self) {
        let done = self.done.take().expect("the steps were opened");
        self.jump(done);
        self.at_end(done);
        self.ret(None);
        if let Some(failed) = self.failed.take() {
            self.at_end(failed);
            self.ret(None);
        }
    }
    fn open_loop(&self, name: &str, counted: Counted<V<'c>>, carried: &[V<'c>]) -> Opened<Self> {
        let inside = self.block(&format!("for.{name}"));
        let after = self.block(&format!("end.{name}"));
        let enter = if counted.runs {
            self.jump(inside)
        } else {
            self.branch(self.icmp(IntPredicate::SLT, counted.first, counted.end), inside, after)
        };
        self.at_end(inside);
        let phis: Vec<_> =
            if counted.once { Vec::new() } else { carried.iter().map(|c| self.phi(c.get_type(), "")).collect() };
        let position = (!counted.once).then(|| self.phi(self.int_type(64, 1), name));
        let values = if counted.once { carried.to_vec() } else { phis.iter().map(|p| p.as_basic_value()).collect() };
        Opened {
            at: position.map_or(counted.start, |p| p.as_basic_value()),
            enter,
            carried: values,
            open: Open {
                enter,
                inside,
                after,
                other: None,
                position,
                phis,
                carried: carried.to_vec(),
                runs: counted.runs,
                counted: Some(counted),
            },
        }
    }
    fn close_loop(&self, open: Open<'c>, new: &[V<'c>]) -> Vec<V<'c>> {
        let latch = self.current_block();
        let pre = self.block_of(open.enter);
        if let (Some(position), Some(counted)) = (open.position, open.counted) {
            let at = position.as_basic_value();
            let step = self.i64(counted.step);
            let next = if counted.reverse { self.isub(at, step) } else { self.iadd(at, step) };
            self.incoming(position, counted.start, pre);
            self.incoming(position, next, latch);
            let again = match counted.reverse {
                true => self.icmp(IntPredicate::SGE, next, counted.first),
                false => self.icmp(IntPredicate::SLT, next, counted.end),
            };
            for ((phi, &c), &n) in open.phis.iter().zip(&open.carried).zip(new) {
                self.incoming(*phi, c, pre);
                self.incoming(*phi, n, latch);
            }
            self.branch(again, open.inside, open.after);
        } else {
            self.jump(open.after);
        }
        self.at_end(open.after);
        if open.runs { new.to_vec() } else { self.merged(&open, pre, new, latch) }
    }
    fn open_step(
        &self,
        name: &str,
        at: V<'c>,
        end: V<'c>,
        runs: bool,
        carried: &[V<'c>],
    ) -> (Open<'c>, InstructionValue<'c>) {
        // A loop whose second position lies beyond the end: the jump back is never taken, so it is not emitted.
        let inside = self.block(&format!("tail.{name}"));
        let after = self.block(&format!("end.{name}"));
        let enter =
            if runs { self.jump(inside) } else { self.branch(self.icmp(IntPredicate::SLT, at, end), inside, after) };
        self.at_end(inside);
        let (phis, carried) = (Vec::new(), carried.to_vec());
        (Open { enter, inside, after, other: None, position: None, phis, carried, counted: None, runs }, enter)
    }
    fn close_step(&self, open: Open<'c>, new: &[V<'c>]) -> Vec<V<'c>> {
        let latch = self.current_block();
        self.jump(open.after);
        self.at_end(open.after);
        let pre = self.block_of(open.enter);
        if open.runs { new.to_vec() } else { self.merged(&open, pre, new, latch) }
    }
    fn open_rows(&self, begin: V<'c>, positions: &[V<'c>]) -> Opened<Self> {
        let inside = self.block("row");
        let after = self.block("rows.end");
        let enter = self.jump(inside);
        self.at_end(inside);
        let t = self.int_type(64, 1);
        let position = self.phi(t, "step");
        let phis: Vec<_> = positions.iter().map(|_| self.phi(t, "")).collect();
        let carried = std::iter::once(begin).chain(positions.iter().copied()).collect();
        let values = phis.iter().map(|p| p.as_basic_value()).collect();
        let open = Open {
            enter,
            inside,
            after,
            other: None,
            position: Some(position),
            phis,
            carried,
            counted: None,
            runs: true,
        };
        Opened { open, enter, at: position.as_basic_value(), carried: values }
    }
    fn close_rows(&self, open: Open<'c>, next: V<'c>, positions: &[V<'c>], end: V<'c>) {
        let pre = self.block_of(open.enter);
        let latch = self.current_block();
        let news = std::iter::once(&next).chain(positions);
        for ((phi, &from), &new) in open.position.iter().chain(&open.phis).zip(&open.carried).zip(news) {
            self.incoming(*phi, from, pre);
            self.incoming(*phi, new, latch);
        }
        self.branch(self.icmp(IntPredicate::SLT, next, end), open.inside, open.after);
        self.at_end(open.after);
    }
    fn open_full(&self, c: V<'c>) -> (Open<'c>, InstructionValue<'c>) {
        let (inside, no, after) = (self.block("full"), self.block("partial"), self.block("joined"));
        let enter = self.branch(c, inside, no);
        self.at_end(inside);
        let open = Open {
            enter,
            inside,
            after,
            other: Some(no),
            position: None,
            phis: Vec::new(),
            carried: Vec::new(),
            counted: None,
            runs: true,
        };
        (open, enter)
    }
    fn otherwise(&self, open: &Open<'c>) {
        self.jump(open.after);
        self.at_end(open.other.expect("a branch has two sides"));
    }
    fn close_full(&self, open: Open<'c>) {
        self.jump(open.after);
        self.at_end(open.after);
    }
    fn either(&self, c: V<'c>, yes: impl FnOnce() -> V<'c>, no: impl FnOnce() -> V<'c>) -> V<'c> {
        let (inside, outside, joined) = (self.block("near"), self.block("far"), self.block("joined"));
        self.branch(c, inside, outside);
        self.at_end(inside);
        let v = yes();
        let inside_end = self.current_block();
        self.jump(joined);
        self.at_end(outside);
        let w = no();
        let outside_end = self.current_block();
        self.jump(joined);
        self.at_end(joined);
        let phi = self.phi(v.get_type(), "");
        self.incoming(phi, v, inside_end);
        self.incoming(phi, w, outside_end);
        phi.as_basic_value()
    }
    fn fail_if(&self, bad: V<'c>, error: V<'c>, number: i64, value: V<'c>, bound: V<'c>) {
        let lanes = self.lanes(bad);
        let any = if lanes == 1 { bad } else { self.math(Math::AnyLane, &[bad]) };
        let failed = match self.failed.get() {
            Some(failed) => failed,
            None => self.block("failed"),
        };
        self.failed.set(Some(failed));
        let (out, go_on) = (self.block("out_of_range"), self.block("in_range"));
        // Code that goes before a jump takes the jump along into a block of its own.
        let place = self.place();
        match place {
            Place::End(_) => {
                self.branch(any, out, go_on);
            }
            Place::Before(jump) => {
                let from = self.block_of(jump);
                jump.remove_from_basic_block();
                self.at_end(from);
                self.branch(any, out, go_on);
                self.at_end(go_on);
                self.put(&jump);
            }
        }
        self.at_end(out);
        let (value, bound) = if lanes == 1 {
            (value, bound)
        } else {
            let bits = self.bitcast(bad, self.int_type(lanes, 1));
            let first = self.intrinsic("llvm.cttz", &[bits.get_type()], &[bits, self.int(self.int_type(1, 1), 1)]);
            let first = match lanes.cmp(&32) {
                std::cmp::Ordering::Less => self.cast(Convert::ZExt, first, self.int_type(32, 1)),
                std::cmp::Ordering::Equal => first,
                std::cmp::Ordering::Greater => self.cast(Convert::Trunc, first, self.int_type(32, 1)),
            };
            (self.extract_at(value, first), self.extract_at(bound, first))
        };
        let report = abi::report_function(self);
        self.call(report, &[error, self.i64(number), value, bound]);
        self.jump(failed);
        match place {
            Place::End(_) => self.at_end(go_on),
            before => self.go_to(before),
        }
    }
}
