//! Making ops: what an op is to be, and where it goes.

use super::attr::{Attr, Dict};
use super::loc::Loc;
use super::types::Type;
use super::{ARG_BIT, Block, BlockData, Ir, Op, OpData, Region, RegionData, Slice, UseData, Value, ValueData};
use rinductor_support::{EntityId, Name};
use smallvec::SmallVec;

/// What an op is to be. `OpSpec::named(name).operands(&[a, b]).results(&[t])`.
#[derive(Clone, Debug)]
pub struct OpSpec {
    /// `dialect.name`.
    pub name: Name,
    /// Operands.
    pub operands: SmallVec<[Value; 4]>,
    /// Result types.
    pub results: SmallVec<[Type; 2]>,
    /// Properties.
    pub props: Dict,
    /// Discardable attributes.
    pub attrs: Dict,
    /// How many (empty) regions.
    pub regions: usize,
    /// Successors.
    pub successors: SmallVec<[Block; 2]>,
    /// Location.
    pub loc: Loc,
}

impl OpSpec {
    /// An op of this name without anything.
    pub fn named(name: Name) -> Self {
        Self {
            name,
            operands: SmallVec::new(),
            results: SmallVec::new(),
            props: Dict::default(),
            attrs: Dict::default(),
            regions: 0,
            successors: SmallVec::new(),
            loc: Loc::Unknown,
        }
    }
    /// Adds operands.
    #[must_use]
    pub fn operands(mut self, operands: &[Value]) -> Self {
        self.operands.extend_from_slice(operands);
        self
    }
    /// Adds results.
    #[must_use]
    pub fn results(mut self, types: &[Type]) -> Self {
        self.results.extend_from_slice(types);
        self
    }
    /// Sets the properties.
    #[must_use]
    pub fn props(mut self, props: Dict) -> Self {
        self.props = props;
        self
    }
    /// Sets the discardable attributes.
    #[must_use]
    pub fn attrs(mut self, attrs: Dict) -> Self {
        self.attrs = attrs;
        self
    }
    /// Sets the number of regions.
    #[must_use]
    pub fn regions(mut self, n: usize) -> Self {
        self.regions = n;
        self
    }
    /// Sets the location.
    #[must_use]
    pub fn loc(mut self, loc: Loc) -> Self {
        self.loc = loc;
        self
    }
}

/// Where an op goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InsertPoint {
    /// Before this op.
    Before(Op),
    /// After this op.
    After(Op),
    /// First in a block.
    Start(Block),
    /// Last in a block.
    End(Block),
}

impl Ir {
    /// Makes an op that stands in no block yet.
    pub fn create_detached(&mut self, spec: OpSpec) -> Op {
        if self.dicts.is_empty() {
            self.empty_dict();
        }
        let op: Op = self.ops.next_id();
        let operands = Slice { start: self.uses.len() as u32, len: spec.operands.len() as u32 };
        for &value in &spec.operands {
            self.add_use(value, op);
        }
        let results = Slice { start: self.values.len() as u32, len: spec.results.len() as u32 };
        for (i, &ty) in spec.results.iter().enumerate() {
            let owner = op.index() as u32;
            self.values.push(ValueData { ty, name: None, owner, index: i as u32, first_use: None });
        }
        let regions = Slice { start: self.region_lists.len() as u32, len: spec.regions as u32 };
        for _ in 0..spec.regions {
            let region = self.regions.push(RegionData { parent: Some(op), blocks: SmallVec::new() });
            self.region_lists.push(region);
        }
        let successors = Slice { start: self.successor_lists.len() as u32, len: spec.successors.len() as u32 };
        self.successor_lists.extend_from_slice(&spec.successors);
        self.ops.push(OpData {
            name: spec.name,
            loc: spec.loc,
            attrs: spec.attrs,
            props: spec.props,
            operands,
            results,
            regions,
            successors,
            parent: None,
            prev: None,
            next: None,
            order: 0,
            dead: false,
        })
    }

    /// Makes an op that stands in no block yet, of regions that [`Ir::new_region`] made: for a parser, which reads regions before it knows
    /// the types of the op around them.
    pub fn create_with_regions(&mut self, spec: OpSpec, regions: &[Region]) -> Op {
        let op = self.create_detached(OpSpec { regions: 0, ..spec });
        self.ops[op].regions = Slice { start: self.region_lists.len() as u32, len: regions.len() as u32 };
        self.region_lists.extend_from_slice(regions);
        for &region in regions {
            self.regions[region].parent = Some(op);
        }
        op
    }

    /// A region without an op, for [`Ir::create_with_regions`].
    pub fn new_region(&mut self) -> Region {
        self.regions.push(RegionData::default())
    }

    /// A block without a region, for [`Ir::append_block`].
    pub fn new_block(&mut self) -> Block {
        self.blocks.push(BlockData::default())
    }

    /// Puts a block that has no region at the end of one.
    pub fn append_block(&mut self, region: Region, block: Block) {
        debug_assert!(self.blocks[block].parent.is_none(), "{block:?} stands in a region already");
        self.blocks[block].parent = Some(region);
        self.regions[region].blocks.push(block);
    }

    /// Makes an op at a place.
    pub fn create(&mut self, spec: OpSpec, at: InsertPoint) -> Op {
        let op = self.create_detached(spec);
        self.insert(op, at);
        op
    }

    /// Makes an op with one result by name: the common case in passes.
    pub fn create_value(
        &mut self,
        name: &str,
        operands: &[Value],
        result: Type,
        props: &[(&str, Attr)],
        loc: Loc,
        at: InsertPoint,
    ) -> Value {
        let op = self.create_op(name, operands, &[result], props, loc, at);
        self.result(op, 0)
    }

    /// Makes an op by name.
    pub fn create_op(
        &mut self,
        name: &str,
        operands: &[Value],
        results: &[Type],
        props: &[(&str, Attr)],
        loc: Loc,
        at: InsertPoint,
    ) -> Op {
        let name = self.names.intern(name);
        let entries: SmallVec<[(Name, Attr); 4]> = props.iter().map(|&(n, a)| (self.names.intern(n), a)).collect();
        let props = self.make_dict(entries);
        self.create(OpSpec::named(name).operands(operands).results(results).props(props).loc(loc), at)
    }

    /// Adds an empty block to a region.
    pub fn add_block(&mut self, region: Region) -> Block {
        let block = self.blocks.push(BlockData { parent: Some(region), ..BlockData::default() });
        self.regions[region].blocks.push(block);
        block
    }

    /// Adds an argument to a block.
    pub fn add_block_arg(&mut self, block: Block, ty: Type) -> Value {
        let index = self.blocks[block].args.len() as u32 | ARG_BIT;
        let owner = block.index() as u32;
        let value = self.values.push(ValueData { ty, name: None, owner, index, first_use: None });
        self.blocks[block].args.push(value);
        value
    }

    /// Makes a value that nobody defines yet, for a parser's forward references; [`Ir::replace_all_uses`] puts the real one in its place.
    pub fn placeholder(&mut self, ty: Type) -> Value {
        self.values.push(ValueData { ty, name: None, owner: u32::MAX - 1, index: ARG_BIT, first_use: None })
    }

    pub(crate) fn add_use(&mut self, value: Value, owner: Op) {
        let next = self.values[value].first_use;
        let id = self.uses.push(UseData { value, owner, prev: None, next });
        if let Some(next) = next {
            self.uses[next].prev = Some(id);
        }
        self.values[value].first_use = Some(id);
    }
}
