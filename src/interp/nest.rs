//! Running loop nests: those of the `loops` dialect, and those that dialect files define.

use super::fold::{Fold, update};
use super::program::{Point, Program};
use super::value::{Array, for_each_point};
use super::{Interp, Trap};
use crate::dialects::loops::{self, Nest, NestKind};
use crate::ir::Op;
use rinductor_defs as defs;
use rinductor_index::Expr;
use rinductor_scalar::{DType, Scalar};

/// What kind of nest runs, with all that the kind needs.
enum Kind<'a> {
    Pointwise,
    Reduce { over: Vec<i64>, word: &'a str },
    Scan { dim: usize, word: &'a str, exclusive: bool, reverse: bool },
    Sort { dim: usize, descending: bool },
}

impl Interp<'_> {
    /// Sizes as numbers.
    pub(super) fn sizes(&self, exprs: &[Expr]) -> Result<Vec<i64>, Trap> {
        exprs.iter().map(|&e| self.size(e)).collect()
    }

    /// Runs a nest of the `loops` dialect.
    pub(super) fn run_nest(&mut self, op: Op) -> Result<(), Trap> {
        let nest = Nest::of(&self.ir, op).ok_or_else(|| Trap::at(&self.ir, op, "is no well-formed nest"))?;
        let program = Program::of_block(&mut self.ir, nest.body)?;
        let tensors = program.tensors.iter().map(|&t| self.tensor(t)).collect::<Result<Vec<_>, _>>()?;
        let space = self.sizes(&nest.space)?;
        let word = nest.combiner(&self.ir).to_string();
        let dtypes: Vec<DType> = self.result_dtypes(op)?;
        let dim = match nest.kind {
            NestKind::Scan => loops::ScanOp(op).dim(&self.ir),
            NestKind::Sort => loops::SortOp(op).dim(&self.ir),
            _ => 0,
        } as usize;
        if matches!(nest.kind, NestKind::Scan | NestKind::Sort) && dim >= space.len() {
            return Err(Trap::at(&self.ir, op, "runs along a dimension that it does not have"));
        }
        let results = match nest.kind {
            NestKind::Pointwise => self.nest(&program, &tensors, &space, Kind::Pointwise, &dtypes),
            NestKind::Reduce => {
                let over = self.sizes(&nest.over)?;
                self.nest(&program, &tensors, &space, Kind::Reduce { over, word: &word }, &dtypes)
            }
            NestKind::Scan => {
                let scan = loops::ScanOp(op);
                let (exclusive, reverse) = (scan.exclusive(&self.ir), scan.reverse(&self.ir));
                let kind = Kind::Scan { dim, word: &word, exclusive, reverse };
                self.nest(&program, &tensors, &space, kind, &dtypes)
            }
            NestKind::Sort => {
                let kind = Kind::Sort { dim, descending: loops::SortOp(op).descending(&self.ir) };
                self.nest(&program, &tensors, &space, kind, &dtypes)
            }
            NestKind::Scatter => {
                let base = self.tensor(self.ir.operand(op, 0))?;
                let (at, guard) =
                    program.put.clone().ok_or_else(|| Trap::at(&self.ir, op, "ends without loops.put"))?;
                self.scatter(&program, &tensors, &space, &base, &at, guard, &word).map(|a| vec![a])
            }
        };
        let results = results.map_err(|t| t.or_at(&self.ir, op))?;
        for (r, a) in self.ir.results(op).zip(results) {
            self.bind(r, a);
        }
        Ok(())
    }

    /// Runs what a dialect file says an op computes. `operands[k]` is SSA operand `k`, where it is a tensor.
    pub(super) fn run_definition(
        &mut self,
        semantics: &defs::Semantics,
        operands: &[Option<Array>],
    ) -> Result<Vec<Array>, Trap> {
        let mut made: Vec<Vec<Array>> = Vec::new();
        for nest in &semantics.nests {
            // Tensors by number: operands, then results of earlier nests in order.
            let mut tensors: Vec<Array> =
                operands.iter().map(|o| o.clone().unwrap_or_else(|| Array::scalar(Scalar::i64(0)))).collect();
            let mut starts = Vec::new();
            for results in &made {
                starts.push(tensors.len());
                tensors.extend(results.iter().cloned());
            }
            let number = |s: defs::Source| match s {
                defs::Source::Operand(k) => k,
                defs::Source::Nest { nest, out } => starts[nest] + out,
            };
            let space = self.sizes(&nest.space)?;
            let run = |this: &Self, extra: usize, kind: Kind<'_>| {
                let program = Program::of_definition(&nest.body, space.len() + extra, &number);
                this.nest(&program, &tensors, &space, kind, &nest.outputs)
            };
            made.push(match &nest.kind {
                defs::NestKind::Pointwise => run(self, 0, Kind::Pointwise)?,
                defs::NestKind::Reduce { over, combiner } => {
                    let over = self.sizes(over)?;
                    run(self, over.len(), Kind::Reduce { over, word: combiner.word() })?
                }
                defs::NestKind::Scan { dim, combiner } => {
                    run(self, 0, Kind::Scan { dim: *dim, word: combiner.word(), exclusive: false, reverse: false })?
                }
                defs::NestKind::Sort { dim, descending } => {
                    run(self, 0, Kind::Sort { dim: *dim, descending: *descending })?
                }
                defs::NestKind::Scatter { base, updates, at, mode, when } => {
                    let updates = self.sizes(updates)?;
                    let program = Program::of_definition(&nest.body, updates.len(), &number);
                    let guard = when.map(|w| Program::number_of(&nest.body, w));
                    let base = tensors[number(*base)].clone();
                    vec![self.scatter(&program, &tensors, &updates, &base, at, guard, mode.word())?]
                }
            });
        }
        semantics
            .outputs
            .iter()
            .map(|o| match *o {
                defs::Output::Nest { nest, out } => Ok(made[nest][out].clone()),
                defs::Output::Operand(k) => {
                    operands[k].clone().ok_or_else(|| Trap::new("a result is an operand that is no tensor"))
                }
                defs::Output::Int(e) => Ok(Array::scalar(Scalar::i64(self.size(e)?))),
                defs::Output::Number(s) => Ok(Array::scalar(s)),
            })
            .collect()
    }

    fn nest(
        &self,
        program: &Program,
        tensors: &[Array],
        space: &[i64],
        kind: Kind<'_>,
        dtypes: &[DType],
    ) -> Result<Vec<Array>, Trap> {
        let zeros = |d: &DType| Array::zeros(*d, space).ok_or_else(|| Trap::new("a result is too large"));
        let outputs = dtypes.iter().map(zeros).collect::<Result<Vec<_>, _>>()?;
        let symbols = |a| self.symbol(a);
        let rounding = self.rounding.as_ref();
        let point = Point { exprs: &self.ir.exprs, symbols: &symbols, tensors, rounding };
        let mut dims = vec![0i64; program.dims.max(space.len())];
        let mut values = Vec::new();
        let mut trap = Ok(());
        match kind {
            Kind::Pointwise => for_each_point(space, |i| {
                dims[..i.len()].copy_from_slice(i);
                trap = point.run(program, &mut dims, &mut values);
                for (out, &y) in outputs.iter().zip(&program.yields) {
                    if trap.is_ok() {
                        out.set(i, values[y]);
                    }
                }
                trap.is_ok()
            }),
            Kind::Reduce { over, word } => for_each_point(space, |i| {
                dims[..i.len()].copy_from_slice(i);
                trap = (|| {
                    let dtype = *dtypes.first().ok_or_else(|| Trap::new("a reduction has no result"))?;
                    let mut fold = Fold::new(word, dtype)?.rounded(rounding);
                    let mut inner = Ok(());
                    for_each_point(&over, |r| {
                        dims[i.len()..i.len() + r.len()].copy_from_slice(r);
                        inner = point.run(program, &mut dims, &mut values).and_then(|()| {
                            let list: Vec<Scalar> = program.yields.iter().map(|&y| values[y]).collect();
                            // A definition of an arg-reduction yields the value alone: the position is the row-major number.
                            let mut list = list;
                            if Fold::takes(word) == 2 && list.len() == 1 {
                                list.push(Scalar::i64(row_major(r, &over)));
                            }
                            fold.push(&list, false)
                        });
                        inner.is_ok()
                    });
                    inner?;
                    for (out, v) in outputs.iter().zip(fold.results()) {
                        out.set(i, v);
                    }
                    Ok(())
                })();
                trap.is_ok()
            }),
            Kind::Scan { dim, word, exclusive, reverse } => {
                let mut lines = space.to_vec();
                lines[dim] = 1;
                for_each_point(&lines, |line| {
                    trap = (|| {
                        let dtype = *dtypes.first().ok_or_else(|| Trap::new("a scan has no result"))?;
                        let mut fold = Fold::new(word, dtype)?.rounded(rounding);
                        let mut i = line.to_vec();
                        for step in 0..space[dim] {
                            i[dim] = if reverse { space[dim] - 1 - step } else { step };
                            dims[..i.len()].copy_from_slice(&i);
                            point.run(program, &mut dims, &mut values)?;
                            let mut list: Vec<Scalar> = program.yields.iter().map(|&y| values[y]).collect();
                            if Fold::takes(word) == 2 && list.len() == 1 {
                                list.push(Scalar::i64(i[dim]));
                            }
                            let before = fold.results();
                            fold.push(&list, true)?;
                            let now = if exclusive { before } else { fold.results() };
                            for (out, v) in outputs.iter().zip(now) {
                                out.set(&i, v);
                            }
                        }
                        Ok(())
                    })();
                    trap.is_ok()
                });
            }
            Kind::Sort { dim, descending } => {
                let mut lines = space.to_vec();
                lines[dim] = 1;
                for_each_point(&lines, |line| {
                    trap = (|| {
                        let mut i = line.to_vec();
                        let mut keys: Vec<(Scalar, i64)> = Vec::new();
                        for k in 0..space[dim] {
                            i[dim] = k;
                            dims[..i.len()].copy_from_slice(&i);
                            point.run(program, &mut dims, &mut values)?;
                            let y = *program.yields.first().ok_or_else(|| Trap::new("a sort yields nothing"))?;
                            keys.push((values[y], k));
                        }
                        keys.sort_by(|a, b| {
                            let order = key_order(a.0, b.0);
                            if descending { order.reverse() } else { order }
                        });
                        for (k, (key, from)) in keys.into_iter().enumerate() {
                            i[dim] = k as i64;
                            outputs[0].set(&i, key);
                            if let Some(positions) = outputs.get(1) {
                                positions.set(&i, Scalar::i64(from));
                            }
                        }
                        Ok(())
                    })();
                    trap.is_ok()
                });
            }
        }
        trap?;
        Ok(outputs)
    }

    #[allow(clippy::too_many_arguments)] // the parts of one nest
    fn scatter(
        &self,
        program: &Program,
        tensors: &[Array],
        updates: &[i64],
        base: &Array,
        at: &[Expr],
        guard: Option<usize>,
        mode: &str,
    ) -> Result<Array, Trap> {
        let out = Array::zeros(base.dtype, &base.sizes).ok_or_else(|| Trap::new("a result is too large"))?;
        for_each_point(&base.sizes, |i| base.get(i).is_some_and(|v| out.set(i, v)));
        let symbols = |a| self.symbol(a);
        let rounding = self.rounding.as_ref();
        let point = Point { exprs: &self.ir.exprs, symbols: &symbols, tensors, rounding };
        let mut dims = vec![0i64; program.dims.max(updates.len())];
        let mut values = Vec::new();
        let mut trap = Ok(());
        for_each_point(updates, |i| {
            dims[..i.len()].copy_from_slice(i);
            trap = (|| {
                point.run(program, &mut dims, &mut values)?;
                if guard.is_some_and(|g| !values[g].is_true()) {
                    return Ok(());
                }
                let index = at.iter().map(|&e| point.eval(e, &dims)).collect::<Result<Vec<_>, _>>()?;
                let y = *program.yields.first().ok_or_else(|| Trap::new("a scatter puts nothing"))?;
                let outside = || Trap::new(format!("writes at {index:?} a tensor of sizes {:?}", out.sizes));
                let old = out.get(&index).ok_or_else(outside)?;
                out.set(&index, update(mode, old, values[y])?);
                Ok(())
            })();
            trap.is_ok()
        });
        trap?;
        Ok(out)
    }
}

fn row_major(index: &[i64], sizes: &[i64]) -> i64 {
    index.iter().zip(sizes).fold(0, |n, (i, s)| n * s + i)
}

/// NaN is greater than all.
fn key_order(a: Scalar, b: Scalar) -> std::cmp::Ordering {
    if let (Some(x), Some(y)) = (a.as_int(), b.as_int()) {
        return x.cmp(&y);
    }
    match (a.is_nan(), b.is_nan()) {
        (true, true) => std::cmp::Ordering::Equal,
        (true, false) => std::cmp::Ordering::Greater,
        (false, true) => std::cmp::Ordering::Less,
        _ => a.to_f64().partial_cmp(&b.to_f64()).unwrap_or(std::cmp::Ordering::Equal),
    }
}
