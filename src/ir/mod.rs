//! The IR: ops in blocks in regions, values with uses, interned types and attributes.
//!
//! Everything lives in one [`Ir`], named by small ids; `&mut Ir` is the only way to change anything. An erased op keeps its id (ids are
//! never given twice), so that a use of a dead id is noticed instead of naming something else.

pub mod attr;
pub mod build;
pub mod dominance;
pub mod edit;
pub mod format;
pub mod loc;
pub mod registry;
pub mod types;
pub mod verify;
pub mod walk;

pub use attr::{Attr, AttrData, Dict, DictData};
pub use build::{InsertPoint, OpSpec};
pub use loc::{Loc, LocData, LocId};
pub use types::{DYNAMIC, FloatKind, Signedness, Type, TypeData};

use rinductor_index::Exprs;
use rinductor_support::{FxHashMap, Interner, Name, Names, PrimaryMap, entity_id};
use smallvec::SmallVec;

entity_id! {
    /// An operation.
    pub struct Op("op");
    /// A block: arguments, then ops.
    pub struct Block("block");
    /// A region: a list of blocks, owned by an op.
    pub struct Region("region");
    /// An SSA value: a result of an op or an argument of a block.
    pub struct Value("value");
    /// One operand slot of one op: a use of a value.
    pub struct Use("use");
}

/// `start..start + len` of a pool.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Slice {
    pub start: u32,
    pub len: u32,
}

impl Slice {
    fn range(self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }
}

/// What an op is. Operands, regions and successors lie in pools of [`Ir`].
#[derive(Clone, Debug)]
pub struct OpData {
    /// `dialect.name`.
    pub name: Name,
    /// Where it comes from.
    pub loc: Loc,
    /// The attributes `{…}` that no definition asks for.
    pub attrs: Dict,
    /// The properties `<{…}>`: the attributes that the op's definition names.
    pub props: Dict,
    pub(crate) operands: Slice,
    pub(crate) results: Slice,
    pub(crate) regions: Slice,
    pub(crate) successors: Slice,
    pub(crate) parent: Option<Block>,
    pub(crate) prev: Option<Op>,
    pub(crate) next: Option<Op>,
    /// Position in the block, when the block says that positions are valid.
    pub(crate) order: u32,
    pub(crate) dead: bool,
}

/// What a block is.
#[derive(Clone, Debug, Default)]
pub struct BlockData {
    /// The label without `^`, if the text gave one.
    pub name: Option<Name>,
    pub(crate) args: SmallVec<[Value; 2]>,
    pub(crate) parent: Option<Region>,
    pub(crate) first: Option<Op>,
    pub(crate) last: Option<Op>,
    pub(crate) ordered: bool,
}

/// What a region is.
#[derive(Clone, Debug, Default)]
pub struct RegionData {
    pub(crate) parent: Option<Op>,
    pub(crate) blocks: SmallVec<[Block; 1]>,
}

/// Who defines a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Def {
    /// Result number `.1` of an op.
    Result(Op, u32),
    /// Argument number `.1` of a block.
    Arg(Block, u32),
}

/// What a value is.
#[derive(Clone, Debug)]
pub struct ValueData {
    /// Its type.
    pub ty: Type,
    /// The SSA name without `%`, if the text gave one or a pass did.
    pub name: Option<Name>,
    pub(crate) owner: u32,
    /// Index of the result or argument; the top bit says argument.
    pub(crate) index: u32,
    pub(crate) first_use: Option<Use>,
}

pub(crate) const ARG_BIT: u32 = 1 << 31;

/// One operand slot. Slots of one value form a list.
#[derive(Clone, Debug)]
pub(crate) struct UseData {
    pub value: Value,
    pub owner: Op,
    pub prev: Option<Use>,
    pub next: Option<Use>,
}

/// One module with all that it is made of.
#[derive(Clone, Default)]
pub struct Ir {
    /// Op names, attribute names, SSA names.
    pub names: Names,
    /// Types.
    pub types: Interner<Type, TypeData>,
    /// Attributes.
    pub attrs: Interner<Attr, AttrData>,
    /// Attribute dictionaries.
    pub dicts: Interner<Dict, DictData>,
    /// Locations that are more than a place in the text.
    pub locs: Interner<LocId, LocData>,
    /// Index expressions: sizes, strides, index maps.
    pub exprs: Exprs,
    /// `{-# … #-}` of the text, as it stood.
    pub resources: Option<Box<str>>,
    pub(crate) ops: PrimaryMap<Op, OpData>,
    pub(crate) blocks: PrimaryMap<Block, BlockData>,
    pub(crate) regions: PrimaryMap<Region, RegionData>,
    pub(crate) values: PrimaryMap<Value, ValueData>,
    pub(crate) uses: PrimaryMap<Use, UseData>,
    /// Where block arguments come from: few texts say so.
    pub(crate) arg_locs: FxHashMap<Value, Loc>,
    pub(crate) region_lists: Vec<Region>,
    pub(crate) successor_lists: Vec<Block>,
    pub(crate) module: Option<Op>,
}

impl Ir {
    /// An IR without a module: a parser or [`Ir::with_module`] gives it one.
    pub fn new() -> Self {
        let mut ir = Self::default();
        // `Dict::default` is the first one.
        ir.empty_dict();
        ir
    }

    /// An IR that holds an empty `builtin.module`.
    pub fn with_module() -> Self {
        let mut ir = Self::new();
        let name = ir.names.intern("builtin.module");
        let module = ir.create_detached(OpSpec::named(name).regions(1));
        ir.add_block(ir.regions_of(module)[0]);
        ir.module = Some(module);
        ir
    }

    /// The top-level `builtin.module`.
    ///
    /// # Panics
    /// Before a parser or [`Ir::set_module`] has set it.
    pub fn module(&self) -> Op {
        self.module.expect("a module is set when an Ir is made")
    }

    /// Makes a detached op the top-level module.
    pub fn set_module(&mut self, op: Op) {
        self.module = Some(op);
    }

    /// The block of the top-level module.
    pub fn module_body(&self) -> Block {
        let region = self.regions_of(self.module())[0];
        self.regions[region].blocks[0]
    }

    // ---- ops ----

    /// The data of an op.
    pub fn op(&self, op: Op) -> &OpData {
        debug_assert!(!self.ops[op].dead, "{op:?} was erased");
        &self.ops[op]
    }
    /// The name of an op, `dialect.name`.
    pub fn op_name(&self, op: Op) -> &str {
        self.names.get(self.op(op).name)
    }
    /// Whether an op has this name.
    pub fn is_op(&self, op: Op, name: &str) -> bool {
        self.op_name(op) == name
    }
    /// Whether the op was not erased.
    pub fn is_live(&self, op: Op) -> bool {
        !self.ops[op].dead
    }
    /// Whether there is an op of this id that was not erased: for ids that were kept from elsewhere.
    pub fn has_op(&self, op: Op) -> bool {
        self.ops.get(op).is_some_and(|d| !d.dead)
    }
    /// Whether there is a value of this id, and what defines it was not erased.
    pub fn has_value(&self, value: Value) -> bool {
        if self.values.get(value).is_none() {
            return false;
        }
        match self.def(value) {
            Def::Result(op, _) => self.has_op(op),
            Def::Arg(block, _) => {
                self.block_region(block).and_then(|r| self.region_op(r)).is_some_and(|op| self.has_op(op))
            }
        }
    }
    /// How many operands an op has.
    pub fn num_operands(&self, op: Op) -> usize {
        self.op(op).operands.len as usize
    }
    /// Operand `i`.
    pub fn operand(&self, op: Op, i: usize) -> Value {
        self.uses[self.operand_use(op, i)].value
    }
    /// The slot of operand `i`.
    pub fn operand_use(&self, op: Op, i: usize) -> Use {
        let s = self.op(op).operands;
        assert!(i < s.len as usize, "operand {i} of {} in {}", s.len, self.op_name(op));
        rinductor_support::EntityId::from_index(s.start as usize + i)
    }
    /// All operands.
    pub fn operands(&self, op: Op) -> impl ExactSizeIterator<Item = Value> + DoubleEndedIterator + '_ {
        self.op(op).operands.range().map(|i| self.uses[rinductor_support::EntityId::from_index(i)].value)
    }
    /// All operands, in a list of their own (for when the IR is to be changed).
    pub fn operand_list(&self, op: Op) -> SmallVec<[Value; 4]> {
        self.operands(op).collect()
    }
    /// How many results an op has.
    pub fn num_results(&self, op: Op) -> usize {
        self.op(op).results.len as usize
    }
    /// Result `i`.
    pub fn result(&self, op: Op, i: usize) -> Value {
        let s = self.op(op).results;
        assert!(i < s.len as usize, "result {i} of {} in {}", s.len, self.op_name(op));
        rinductor_support::EntityId::from_index(s.start as usize + i)
    }
    /// All results: they are numbered consecutively.
    pub fn results(&self, op: Op) -> impl ExactSizeIterator<Item = Value> + DoubleEndedIterator + use<> {
        self.op(op).results.range().map(rinductor_support::EntityId::from_index)
    }
    /// The regions of an op.
    pub fn regions_of(&self, op: Op) -> &[Region] {
        &self.region_lists[self.op(op).regions.range()]
    }
    /// The successor blocks of a terminator.
    pub fn successors(&self, op: Op) -> &[Block] {
        &self.successor_lists[self.op(op).successors.range()]
    }
    /// The block that holds an op; None for the module and detached ops.
    pub fn parent_block(&self, op: Op) -> Option<Block> {
        self.op(op).parent
    }
    /// The op whose region holds this op.
    pub fn parent_op(&self, op: Op) -> Option<Op> {
        self.parent_block(op).and_then(|b| self.blocks[b].parent).and_then(|r| self.regions[r].parent)
    }
    /// The op after this one in its block.
    pub fn next_op(&self, op: Op) -> Option<Op> {
        self.op(op).next
    }
    /// The op before this one in its block.
    pub fn prev_op(&self, op: Op) -> Option<Op> {
        self.op(op).prev
    }

    // ---- blocks and regions ----

    /// The data of a block.
    pub fn block(&self, block: Block) -> &BlockData {
        &self.blocks[block]
    }
    /// Gives a block a label.
    pub fn set_block_name(&mut self, block: Block, name: Option<Name>) {
        self.blocks[block].name = name;
    }
    /// The arguments of a block.
    pub fn block_args(&self, block: Block) -> &[Value] {
        &self.blocks[block].args
    }
    /// The first op of a block.
    pub fn first_op(&self, block: Block) -> Option<Op> {
        self.blocks[block].first
    }
    /// The last op of a block: its terminator in a well-formed one.
    pub fn last_op(&self, block: Block) -> Option<Op> {
        self.blocks[block].last
    }
    /// The region that holds a block.
    pub fn block_region(&self, block: Block) -> Option<Region> {
        self.blocks[block].parent
    }
    /// The blocks of a region, the entry first.
    pub fn blocks_of(&self, region: Region) -> &[Block] {
        &self.regions[region].blocks
    }
    /// The op that owns a region.
    pub fn region_op(&self, region: Region) -> Option<Op> {
        self.regions[region].parent
    }
    /// The ops of a block, in order. The IR cannot be changed meanwhile: collect first, or use [`Ir::next_op`].
    pub fn block_ops(&self, block: Block) -> impl Iterator<Item = Op> + '_ {
        std::iter::successors(self.blocks[block].first, |&op| self.ops[op].next)
    }
    /// The ops of a block, in a list of their own.
    pub fn block_op_list(&self, block: Block) -> Vec<Op> {
        self.block_ops(block).collect()
    }
    /// The only block of the only region of an op, if that is how it is built.
    pub fn body(&self, op: Op) -> Option<Block> {
        match self.regions_of(op) {
            [r] => match self.blocks_of(*r) {
                [b] => Some(*b),
                _ => None,
            },
            _ => None,
        }
    }

    // ---- values ----

    /// The data of a value.
    pub fn value(&self, value: Value) -> &ValueData {
        &self.values[value]
    }
    /// The type of a value.
    pub fn value_type(&self, value: Value) -> Type {
        self.values[value].ty
    }
    /// Changes the type of a value.
    pub fn set_value_type(&mut self, value: Value, ty: Type) {
        self.values[value].ty = ty;
    }
    /// The SSA name of a value without `%`, if it has one.
    pub fn value_name(&self, value: Value) -> Option<&str> {
        self.values[value].name.map(|n| self.names.get(n))
    }
    /// Gives a value an SSA name (the printer makes names unique).
    pub fn set_value_name(&mut self, value: Value, name: Option<Name>) {
        self.values[value].name = name;
    }
    /// Gives `to` the name of `from`, if that has one.
    pub fn copy_value_name(&mut self, from: Value, to: Value) {
        if let Some(name) = self.values[from].name {
            self.values[to].name = Some(name);
        }
    }
    /// Who defines a value.
    pub fn def(&self, value: Value) -> Def {
        let v = &self.values[value];
        let owner = v.owner as usize;
        if v.index & ARG_BIT == 0 {
            Def::Result(rinductor_support::EntityId::from_index(owner), v.index)
        } else {
            Def::Arg(rinductor_support::EntityId::from_index(owner), v.index & !ARG_BIT)
        }
    }
    /// The op that defines a value; None for a block argument.
    pub fn def_op(&self, value: Value) -> Option<Op> {
        match self.def(value) {
            Def::Result(op, _) => Some(op),
            Def::Arg(..) => None,
        }
    }
    /// The block in which a value is defined.
    pub fn def_block(&self, value: Value) -> Option<Block> {
        match self.def(value) {
            Def::Result(op, _) => self.parent_block(op),
            Def::Arg(block, _) => Some(block),
        }
    }
    /// The uses of a value as (op, operand number), the latest added first.
    pub fn uses(&self, value: Value) -> impl Iterator<Item = (Op, usize)> + '_ {
        std::iter::successors(self.values[value].first_use, |&u| self.uses[u].next).map(|u| {
            let owner = self.uses[u].owner;
            (owner, rinductor_support::EntityId::index(u) - self.ops[owner].operands.start as usize)
        })
    }
    /// The ops that use a value, each once, in the order of their first such use in memory order of ids (deterministic).
    pub fn users(&self, value: Value) -> Vec<Op> {
        let mut users: Vec<Op> = self.uses(value).map(|(op, _)| op).collect();
        users.sort();
        users.dedup();
        users
    }
    /// Whether nothing uses a value.
    pub fn is_unused(&self, value: Value) -> bool {
        self.values[value].first_use.is_none()
    }
    /// Whether exactly one operand slot uses a value.
    pub fn has_one_use(&self, value: Value) -> bool {
        self.values[value].first_use.is_some_and(|u| self.uses[u].next.is_none())
    }

    // ---- names, counts ----

    /// Interns a name.
    pub fn name(&mut self, text: &str) -> Name {
        self.names.intern(text)
    }
    /// The text of a name.
    pub fn text(&self, name: Name) -> &str {
        self.names.get(name)
    }
    /// How many ops are alive below the module (with it).
    pub fn count_ops(&self) -> usize {
        let mut n = 0;
        self.walk(self.module(), &mut |_| n += 1);
        n
    }
}
