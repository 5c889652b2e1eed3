//! Running the kernel level: buffers and launches of the host function, and block programs tile by tile, every lane by itself.

use super::fold::{Fold, update};
use super::program::{Instr, position, scalar_instr};
use super::value::{Array, for_each_point};
use super::{Interp, Trap, copy};
use crate::dialects::dtype_of;
use crate::dialects::kernels;
use crate::dialects::kernels::{Axis, axes_of, walked_axes};
use crate::dialects::loops::{Access, sizes_of, strides_of};
use crate::ir::{Block, Op, Value};
use rinductor_index::Atom;
use rinductor_scalar::Scalar;
use rinductor_support::FxHashMap;

/// A tile: one scalar a lane, row-major over its shape (1 or the tile of each axis).
#[derive(Clone, Debug)]
struct Tile {
    shape: Vec<i64>,
    lanes: Vec<Scalar>,
}

impl Tile {
    /// The lane that a lane of a larger tile sees: coordinates of axes on which this one does not vary are dropped.
    fn at(&self, lane: &[i64]) -> Scalar {
        let mut k = 0;
        for (&n, &i) in self.shape.iter().zip(lane) {
            k = k * n + if n == 1 { 0 } else { i };
        }
        self.lanes[k as usize]
    }
}

/// A kernel that runs.
struct Frame {
    axes: Vec<Axis>,
    extents: Vec<i64>,
    /// First position of the current step on each axis; None for an axis that is not walked now.
    start: Vec<Option<i64>>,
    tiles: FxHashMap<Value, Tile>,
    buffers: FxHashMap<Value, Array>,
}

impl Interp<'_> {
    /// An op of the host function at the kernel level.
    pub(super) fn kernel_op(&mut self, op: Op, name: &str) -> Result<(), Trap> {
        match name {
            kernels::AllocOp::NAME => {
                let result = self.ir.result(op, 0);
                let fresh = self.buffer_like(result)?;
                let alloc = kernels::AllocOp(op);
                let a = if let Some(arena) = alloc.arena(&self.ir) {
                    // A place in an arena: what the plan lets overlap does overlap here too.
                    self.tensor(arena)?.place_for(&fresh, alloc.offset(&self.ir).unwrap_or(0))
                } else {
                    fresh
                };
                self.bind(result, a);
                Ok(())
            }
            kernels::DeallocOp::NAME => Ok(()),
            kernels::ConstantOp::NAME => self.constant(op, kernels::ConstantOp(op).value(&self.ir)),
            kernels::CopyOp::NAME => {
                let op = kernels::CopyOp(op);
                copy(&self.tensor(op.from(&self.ir))?, &self.tensor(op.into(&self.ir))?)
            }
            kernels::ViewOp::NAME => {
                let result = self.ir.result(op, 0);
                let ty = self.ir.value_type(result);
                let (sizes, strides, offset) = self.layout(ty)?;
                let view = self.tensor(kernels::ViewOp(op).source(&self.ir))?.view(&sizes, &strides, offset);
                self.bind(result, view);
                Ok(())
            }
            kernels::LaunchOp::NAME => self.launch(op),
            _ => Err(Trap::at(&self.ir, op, "has no meaning for the interpreter")),
        }
    }

    fn layout(&mut self, ty: crate::ir::Type) -> Result<(Vec<i64>, Vec<i64>, i64), Trap> {
        let missing = || Trap::new("a buffer has a size or stride without an expression");
        let sizes = sizes_of(&mut self.ir, ty).ok_or_else(missing)?;
        let (strides, offset) = strides_of(&mut self.ir, ty).ok_or_else(missing)?;
        Ok((self.sizes(&sizes)?, self.sizes(&strides)?, self.size(offset)?))
    }

    fn buffer_like(&mut self, v: Value) -> Result<Array, Trap> {
        let ty = self.ir.value_type(v);
        let dtype = dtype_of(&self.ir, self.ir.element_type(ty)).ok_or_else(|| Trap::new("a buffer of no dtype"))?;
        let (sizes, strides, _) = self.layout(ty)?;
        Array::with_strides(dtype, &sizes, &strides).ok_or_else(|| Trap::new("a buffer is too large"))
    }

    fn launch(&mut self, op: Op) -> Result<(), Trap> {
        let launch = kernels::LaunchOp(op);
        let callee = launch.callee(&self.ir).to_string();
        let func = self.ir.lookup_symbol(&callee).ok_or_else(|| Trap::new(format!("there is no kernel @{callee}")))?;
        let body = self.ir.body(func).ok_or_else(|| Trap::new(format!("@{callee} has no body")))?;
        let axes = axes_of(&self.ir, func).ok_or_else(|| Trap::new(format!("@{callee} has malformed axes")))?;
        let extents = axes.iter().map(|a| self.size(a.extent)).collect::<Result<Vec<_>, _>>()?;
        let mut frame = Frame {
            start: vec![None; axes.len()],
            axes,
            extents,
            tiles: FxHashMap::default(),
            buffers: FxHashMap::default(),
        };
        for (&arg, v) in self.ir.block_args(body).to_vec().iter().zip(launch.args(&self.ir)) {
            if let Some(a) = self.arrays.get(&v) {
                let ty = self.ir.value_type(arg);
                let a = a.clone();
                let (sizes, strides, offset) = self.layout(ty)?;
                frame.buffers.insert(arg, a.view(&sizes, &strides, offset));
            }
        }
        let parallel: Vec<usize> = (0..frame.axes.len()).filter(|&a| !frame.axes[a].reduced).collect();
        self.steps(&mut frame, &parallel, false, &mut |this, frame| this.block(frame, body).map(|_| ()))
    }

    /// Runs `f` at every step of some axes, in row-major order.
    fn steps(
        &mut self,
        frame: &mut Frame,
        axes: &[usize],
        reverse: bool,
        f: &mut dyn FnMut(&mut Self, &mut Frame) -> Result<(), Trap>,
    ) -> Result<(), Trap> {
        let count = |a: usize| {
            let (extent, tile) = (frame.extents[a].max(0), frame.axes[a].tile);
            extent / tile + i64::from(extent % tile != 0)
        };
        let counts: Vec<i64> = axes.iter().map(|&a| count(a)).collect();
        let mut result = Ok(());
        for_each_point(&counts, |step| {
            for ((&a, &s), &n) in axes.iter().zip(step).zip(&counts) {
                let s = if reverse { n - 1 - s } else { s };
                frame.start[a] = Some(s * frame.axes[a].tile);
            }
            result = f(self, frame);
            result.is_ok()
        });
        for &a in axes {
            frame.start[a] = None;
        }
        result
    }

    fn shape_of(&self, v: Value) -> Vec<i64> {
        self.ir.shape(self.ir.value_type(v)).unwrap_or_default().to_vec()
    }

    /// Runs a block; returns what its terminator yields.
    fn block(&mut self, frame: &mut Frame, block: Block) -> Result<Vec<Value>, Trap> {
        for op in self.ir.block_op_list(block) {
            let name = self.ir.op_name(op).to_string();
            match name.as_str() {
                kernels::YieldOp::NAME | kernels::ReturnOp::NAME => return Ok(self.ir.operand_list(op).to_vec()),
                kernels::ReduceOp::NAME => self.reduce(frame, op),
                kernels::ForOp::NAME => self.walk(frame, op),
                kernels::StoreOp::NAME | kernels::AtomicOp::NAME => self.store(frame, op),
                kernels::LocalOp::NAME => {
                    let v = self.ir.result(op, 0);
                    self.buffer_like(v).map(|a| drop(frame.buffers.insert(v, a)))
                }
                _ => self.value_op(frame, op, &name),
            }
            .map_err(|t| t.or_at(&self.ir, op))?;
        }
        Err(Trap::new("a block of a kernel ends without a terminator"))
    }

    /// Whether a lane lies inside the axes on which it varies.
    fn active(&self, frame: &Frame, shape: &[i64], lane: &[i64]) -> bool {
        (0..shape.len()).all(|a| shape[a] == 1 || frame.start[a].is_none_or(|s| s + lane[a] < frame.extents[a]))
    }

    fn operand_tile(&self, frame: &Frame, v: Value) -> Result<Tile, Trap> {
        frame
            .tiles
            .get(&v)
            .cloned()
            .ok_or_else(|| Trap::new(format!("%{} has no value here", self.ir.value_name(v).unwrap_or("a value"))))
    }

    fn tiles(&self, frame: &Frame, values: &[Value]) -> Result<Vec<Tile>, Trap> {
        values.iter().map(|&v| self.operand_tile(frame, v)).collect()
    }

    /// The coordinates of an access at a lane.
    fn address(&self, access: &Access, index: &[Tile], lane: &[i64]) -> Result<Vec<i64>, Trap> {
        access
            .exprs
            .iter()
            .map(|&e| {
                self.ir
                    .exprs
                    .eval(e, |atom| match atom {
                        Atom::Dim(d) => index.get(d as usize).map(|t| t.at(lane).to_i64()),
                        Atom::Sym(_) => self.symbol(atom),
                    })
                    .map_err(|e| Trap::new(format!("index expression: {e}")))
            })
            .collect()
    }

    fn value_op(&mut self, frame: &mut Frame, op: Op, name: &str) -> Result<(), Trap> {
        let result = self.ir.result(op, 0);
        let shape = self.shape_of(result);
        let element = self.ir.element_type(self.ir.value_type(result));
        let dtype = dtype_of(&self.ir, element).ok_or_else(|| Trap::new("a tile of no dtype"))?;
        let mut lanes = Vec::new();
        let mut trap = Ok(());
        let mut each = |f: &mut dyn FnMut(&[i64]) -> Result<Scalar, Trap>| {
            for_each_point(&shape, |lane| {
                match f(lane) {
                    Ok(v) => lanes.push(v),
                    Err(t) => trap = Err(t),
                }
                trap.is_ok()
            });
        };
        match name {
            kernels::AxisOp::NAME => {
                let axis = kernels::axis_of(&self.ir, &frame.axes, result)
                    .ok_or_else(|| Trap::new("names an axis that the kernel does not have"))?;
                let start = frame.start[axis]
                    .ok_or_else(|| Trap::new("asks for the position on an axis that is not walked here"))?;
                each(&mut |lane| Ok(Scalar::index(start + lane.get(axis).copied().unwrap_or(0))));
            }
            kernels::LoadOp::NAME => {
                let access = Access::of(&self.ir, op, 1);
                let index = self.tiles(frame, &access.index)?;
                let guard = access.guard.map(|g| self.operand_tile(frame, g)).transpose()?;
                let buffer = frame
                    .buffers
                    .get(&access.tensor())
                    .cloned()
                    .ok_or_else(|| Trap::new("loads from what is no buffer"))?;
                each(&mut |lane| {
                    if !self.active(frame, &shape, lane) || guard.as_ref().is_some_and(|g| !g.at(lane).is_true()) {
                        return Ok(Scalar::zero(dtype));
                    }
                    let at = self.address(&access, &index, lane)?;
                    buffer
                        .get(&at)
                        .ok_or_else(|| Trap::new(format!("reads at {at:?} a buffer of sizes {:?}", buffer.sizes)))
                });
            }
            kernels::IndexOp::NAME => {
                let access = Access::of(&self.ir, op, 0);
                let index = self.tiles(frame, &access.index)?;
                each(&mut |lane| Ok(Scalar::i64(self.address(&access, &index, lane)?[0]).cast(dtype)));
            }
            kernels::PositionOp::NAME => {
                let op = kernels::PositionOp(op);
                let value = self.operand_tile(frame, op.value(&self.ir))?;
                let guard = op.guard(&self.ir).map(|g| self.operand_tile(frame, g)).transpose()?;
                let bound = *op.bound(&self.ir).first().ok_or_else(|| Trap::new("has no bound"))?;
                let (size, wrap) = (self.size(bound)?, op.wrap(&self.ir));
                each(&mut |lane| {
                    if !self.active(frame, &shape, lane) || guard.as_ref().is_some_and(|g| !g.at(lane).is_true()) {
                        return Ok(Scalar::index(0));
                    }
                    position(value.at(lane).to_i64(), size, wrap).map(Scalar::index)
                });
            }
            kernels::BroadcastOp::NAME => {
                let value = self.operand_tile(frame, kernels::BroadcastOp(op).value(&self.ir))?;
                each(&mut |lane| Ok(value.at(lane)));
            }
            _ => {
                let args = self.tiles(frame, &self.ir.operand_list(op))?;
                let numbers = (0..args.len()).collect();
                let instr = scalar_instr(&self.ir, op, numbers)?;
                each(&mut |lane| match &instr {
                    Instr::Const(s) => Ok(*s),
                    Instr::Op(s, d, _) => {
                        // Lanes beyond the extent hold anything; what they compute is used by nobody and must not stop the run.
                        let list: Vec<Scalar> = args.iter().map(|t| t.at(lane)).collect();
                        let active = self.active(frame, &shape, lane);
                        match rinductor_scalar::eval(*s, *d, &list) {
                            Ok(v) => Ok(v),
                            Err(_) if !active => Ok(Scalar::zero(dtype)),
                            Err(e) => Err(Trap::new(e.to_string())),
                        }
                    }
                    _ => Err(Trap::new("is no scalar op")),
                });
            }
        }
        trap?;
        frame.tiles.insert(result, Tile { shape, lanes });
        Ok(())
    }

    fn store(&mut self, frame: &mut Frame, op: Op) -> Result<(), Trap> {
        let access = Access::of(&self.ir, op, 2);
        let value = self.operand_tile(frame, access.leading[0])?;
        let index = self.tiles(frame, &access.index)?;
        let guard = access.guard.map(|g| self.operand_tile(frame, g)).transpose()?;
        let buffer =
            frame.buffers.get(&access.leading[1]).cloned().ok_or_else(|| Trap::new("stores to what is no buffer"))?;
        let mode = kernels::AtomicOp::cast(&self.ir, op).map_or("set", |op| op.combiner(&self.ir)).to_string();
        let mut trap = Ok(());
        for_each_point(&value.shape.clone(), |lane| {
            if !self.active(frame, &value.shape, lane) || guard.as_ref().is_some_and(|g| !g.at(lane).is_true()) {
                return true;
            }
            trap = (|| {
                let at = self.address(&access, &index, lane)?;
                let outside = || Trap::new(format!("writes at {at:?} a buffer of sizes {:?}", buffer.sizes));
                let old = buffer.get(&at).ok_or_else(outside)?;
                buffer.set(&at, update(&mode, old, value.at(lane))?);
                Ok(())
            })();
            trap.is_ok()
        });
        trap
    }

    fn walked(&self, frame: &Frame, op: Op) -> Result<Vec<usize>, Trap> {
        walked_axes(&self.ir, op)
            .iter()
            .map(|n| {
                frame.axes.iter().position(|a| a.name == *n).ok_or_else(|| Trap::new(format!("there is no axis {n}")))
            })
            .collect()
    }

    fn reduce(&mut self, frame: &mut Frame, op: Op) -> Result<(), Trap> {
        let body = self.ir.body(op).ok_or_else(|| Trap::new("has no body"))?;
        let over = self.walked(frame, op)?;
        let words: Vec<String> = kernels::ReduceOp(op).combiners(&self.ir).into_iter().map(str::to_string).collect();
        let results: Vec<Value> = self.ir.results(op).collect();
        let shapes: Vec<Vec<i64>> = results.iter().map(|&r| self.shape_of(r)).collect();
        // One fold for each lane of each combiner's first result.
        let mut folds: Vec<Vec<Fold>> = Vec::new();
        let mut first = 0;
        for word in &words {
            let element = self
                .ir
                .element_type(self.ir.value_type(*results.get(first).ok_or_else(|| Trap::new("has too few results"))?));
            let dtype = dtype_of(&self.ir, element).ok_or_else(|| Trap::new("a tile of no dtype"))?;
            let lanes: i64 = shapes[first].iter().product();
            folds.push((0..lanes).map(|_| Fold::new(word, dtype)).collect::<Result<_, _>>()?);
            first += Fold::gives(word);
        }
        self.steps(frame, &over, false, &mut |this, frame| {
            let yields = this.block(frame, body)?;
            let mut next = 0;
            let mut first = 0;
            for (c, word) in words.iter().enumerate() {
                let takes = Fold::takes(word);
                let tiles = this
                    .tiles(frame, yields.get(next..next + takes).ok_or_else(|| Trap::new("yields too few values"))?)?;
                next += takes;
                let result_shape = &shapes[first];
                first += Fold::gives(word);
                let mut trap = Ok(());
                for_each_point(&tiles[0].shape.clone(), |lane| {
                    if !this.active(frame, &tiles[0].shape, lane) {
                        return true;
                    }
                    let mut k = 0;
                    for (&n, &i) in result_shape.iter().zip(lane) {
                        k = k * n + if n == 1 { 0 } else { i };
                    }
                    let values: Vec<Scalar> = tiles.iter().map(|t| t.at(lane)).collect();
                    trap = folds[c][k as usize].push(&values, false);
                    trap.is_ok()
                });
                trap?;
            }
            Ok(())
        })?;
        let mut next = 0;
        for (c, word) in words.iter().enumerate() {
            let all: Vec<Vec<Scalar>> = folds[c].iter().map(Fold::results).collect();
            for r in 0..Fold::gives(word) {
                let lanes = all.iter().map(|v| v[r]).collect();
                let Some(&result) = results.get(next) else { return Err(Trap::new("has too few results")) };
                frame.tiles.insert(result, Tile { shape: shapes[next].clone(), lanes });
                next += 1;
            }
        }
        Ok(())
    }

    fn walk(&mut self, frame: &mut Frame, op: Op) -> Result<(), Trap> {
        let body = self.ir.body(op).ok_or_else(|| Trap::new("has no body"))?;
        let over = self.walked(frame, op)?;
        let args = self.ir.block_args(body).to_vec();
        let walk = kernels::ForOp(op);
        let mut carried = self.tiles(frame, &walk.carried(&self.ir))?;
        let reverse = walk.reverse(&self.ir);
        self.steps(frame, &over, reverse, &mut |this, frame| {
            for (&arg, tile) in args.iter().zip(&carried) {
                frame.tiles.insert(arg, tile.clone());
            }
            let yields = this.block(frame, body)?;
            carried = this.tiles(frame, &yields)?;
            Ok(())
        })?;
        for (r, tile) in self.ir.results(op).zip(carried) {
            frame.tiles.insert(r, tile);
        }
        Ok(())
    }
}
