//! Walks: reductions whose accumulators are tiles, combined across lanes at the end; loops for effects; scans.

use rinductor_scalar::DType;
use rinductor_support::Diagnostic;

use super::kernel::{Emit, Val};
use super::scalar::{held, is_small_float, rounded};
use crate::codegen::combiner::Combiner;
use crate::dialects::kernels;
use crate::ir::{Op, Value};
use crate::sched::scan::{Scan, scan_of};

/// The longest axis that a scan takes in one step.
const SCAN_STEP: i64 = 2048;

impl Emit<'_> {
    fn walked(&self, op: Op) -> Result<Vec<usize>, Diagnostic> {
        let axes: Option<Vec<usize>> =
            kernels::walked_axes(self.ir, op).into_iter().map(|n| self.kernel.axis(n)).collect();
        axes.filter(|a| !a.is_empty()).ok_or_else(|| self.error(op, "walks no axis of the kernel"))
    }

    /// Threads wait for each other where a walk reads what others may have written.
    pub fn wait_before(&mut self, op: Op) {
        let reads = self.ir.ops_named(op, kernels::LoadOp::NAME);
        if reads.into_iter().any(|l| self.dirty.contains(&self.ir.operand(l, 0))) {
            self.line("tl.debug_barrier()".into());
            self.dirty.clear();
        }
    }

    /// What a walk of several steps writes is loaded anew in each of them.
    fn forget_written(&mut self, op: Op, axes: &[usize]) {
        if axes.iter().all(|&a| self.axes[a].whole) {
            return;
        }
        for op in self.ir.nested_ops(op) {
            if self.ir.is_op(op, kernels::StoreOp::NAME) || self.ir.is_op(op, kernels::AtomicOp::NAME) {
                self.forget_loads(self.ir.operand(op, 1));
            }
        }
    }

    /// Opens the loops over axes that one step does not hold; gives their headers.
    pub fn open_loops(&mut self, axes: &[usize], reverse: bool) -> Vec<String> {
        let mut headers = Vec::new();
        for &a in axes {
            if self.axes[a].whole {
                continue;
            }
            let extent = self.kernel.axes[a].extent;
            let end = self.text(extent);
            let tile = self.axes[a].tile;
            let name = self.kernel.axes[a].name.clone();
            self.open();
            let at = self.names.fresh(&format!("{name}_at"));
            if tile == 1 {
                headers.push(format!("for {at} in range(0, {}):", end.text));
                if reverse {
                    let start = format!("{} - 1 - {at}", end.factor_text());
                    self.position(a, Some(&start), false);
                } else {
                    self.axes[a].position = Some(at);
                    self.axes[a].level = self.scopes.len() - 1;
                }
                continue;
            }
            let block = self.axes[a].block.clone();
            headers.push(format!("for {at} in range(0, {}, {block}):", end.text));
            let start =
                if reverse { format!("((({} - 1) // {block}) * {block} - {at})", end.factor_text()) } else { at };
            self.position(a, Some(&start), false);
        }
        headers
    }

    pub fn close_loops(&mut self, headers: Vec<String>) {
        for header in headers.into_iter().rev() {
            self.close(header);
        }
    }

    /// `kernels.reduce`.
    pub fn reduce(&mut self, op: Op) -> Result<(), Diagnostic> {
        if self.done.contains(&op) {
            return Ok(());
        }
        let axes = self.walked(op)?;
        let loops = axes.iter().any(|&a| !self.axes[a].whole);
        if loops && let Some(sum) = self.sum_of_exponentials(op) {
            return self.online(op, sum, &axes);
        }
        let body = self.ir.body(op).ok_or_else(|| self.error(op, "the body must be one block"))?;
        let end = self.ir.last_op(body).ok_or_else(|| self.error(op, "the body is empty"))?;
        let yielded: Vec<Value> = self.ir.operands(end).collect();
        let over = axes.iter().fold(0, |d, &a| d | self.bit(a));
        let mut combiners = Vec::new();
        let mut at = 0;
        for name in kernels::ReduceOp(op).combiners(self.ir) {
            let c = Combiner::parse(name).ok_or_else(|| self.error(op, format!("no combiner '{name}'")))?;
            let values = yielded.get(at..at + c.takes()).ok_or_else(|| self.error(op, "too few values yielded"))?;
            at += c.takes();
            let dims = values.iter().fold(over, |d, &v| d | self.dims_of_type(v));
            combiners.push((c, self.dtype(values[0]), values.to_vec(), dims));
        }
        self.wait_before(op);
        self.forget_written(op, &axes);
        let mut results: Vec<Val> = Vec::new();
        if !loops {
            self.block(body)?;
            for (c, dtype, values, dims) in combiners {
                let points: Vec<Val> = values.iter().map(|&v| self.get(v)).collect();
                let level = self.scopes.len() - 1;
                let dims = points.iter().fold(over, |d, p| d | p.dims) | dims & over;
                let texts = if c == Combiner::Welford {
                    self.moments(&axes, dtype, &points[0], dims, over)
                } else {
                    let (mask, _) = self.mask(over);
                    let full: Vec<String> =
                        points.iter().zip(identity(c, dtype)).map(|(p, i)| self.filled(p, &mask, &i, dims)).collect();
                    self.across(c, dtype, &full, dims, over)
                };
                for (text, d) in texts.into_iter().zip(c.kept(dtype)) {
                    results.push(Val { text, literal: false, dtype: d, dims: dims & !over, level });
                }
            }
        } else {
            let mut kept: Vec<Vec<String>> = Vec::new();
            let even = self.same_lanes_each_step(&axes);
            for (c, dtype, _, dims) in &combiners {
                let mut names = Vec::new();
                for (k, (i, d)) in identity(*c, *dtype).into_iter().zip(c.kept(*dtype)).enumerate() {
                    let name = self.names.fresh(c.name());
                    let one = even && *c == Combiner::Welford && k == 2;
                    let shape = if one { "()".into() } else { self.shape(*dims) };
                    self.line(format!("{name} = tl.full({shape}, {i}, {})", held(d)));
                    names.push(name);
                }
                kept.push(names);
            }
            let headers = self.open_loops(&axes, false);
            self.block(body)?;
            let (mask, _) = self.mask(over);
            for ((c, dtype, values, _), names) in combiners.iter().zip(&kept) {
                let points: Vec<Val> = values.iter().map(|&v| self.get(v)).collect();
                if even && *c == Combiner::Welford {
                    self.even_step(names, &points[0].text);
                } else {
                    self.step(*c, *dtype, names, &points, &mask);
                }
            }
            self.close_loops(headers);
            for ((c, dtype, _, dims), names) in combiners.iter().zip(&kept) {
                let level = self.scopes.len() - 1;
                let names =
                    if even && *c == Combiner::Welford { self.even_moments(names, *dims, over) } else { names.clone() };
                let texts = self.across(*c, *dtype, &names, *dims, over);
                for (text, d) in texts.into_iter().zip(c.kept(*dtype)) {
                    results.push(Val { text, literal: false, dtype: d, dims: dims & !over, level });
                }
            }
        }
        for (r, v) in self.ir.results(op).zip(results) {
            if self.ir.is_unused(r) {
                continue;
            }
            let text = rounded(&v.text, v.dtype, self.h);
            self.define(r, text, v.dtype, v.dims, v.level);
        }
        Ok(())
    }

    /// Whether each step of a walk has points for the same lanes, so that their counts are one number.
    fn same_lanes_each_step(&self, axes: &[usize]) -> bool {
        axes.iter().all(|&a| {
            let extent = self.exprs.as_int(self.kernel.axes[a].extent);
            let tile = i64::from(self.axes[a].tile);
            self.axes[a].whole || tile == 1 || extent.is_some_and(|n| n % tile == 0)
        })
    }

    /// Adds a step's points to moments whose counts are one number; lanes outside have anything.
    fn even_step(&mut self, kept: &[String], p: &str) {
        let [mean, m2, n] = kept else { return };
        let (share, delta) = (self.names.fresh("share"), self.names.fresh("delta"));
        self.line(format!("{n} = {n} + 1.0"));
        self.line(format!("{share} = 1.0 / {n}"));
        self.line(format!("{delta} = {p} - {mean}"));
        self.line(format!("{mean} = {mean} + {delta} * {share}"));
        self.line(format!("{m2} = {m2} + {delta} * ({p} - {mean})"));
    }

    /// The moments after such steps, nothing in lanes outside.
    fn even_moments(&mut self, kept: &[String], dims: u32, over: u32) -> Vec<String> {
        let (mask, _) = self.mask(over);
        let mut full = kept.to_vec();
        if dims != 0 {
            full[2] = format!("tl.broadcast_to({}, {})", full[2], self.shape(dims));
        }
        if mask.is_empty() {
            return full;
        }
        full.into_iter().map(|text| format!("tl.where({}, {text}, 0.0)", mask.join(" & "))).collect()
    }

    /// The dimensions along which the type of a value varies.
    pub fn dims_of_type(&self, v: Value) -> u32 {
        let shape = self.ir.shape(self.ir.value_type(v)).unwrap_or_default();
        shape.iter().enumerate().filter(|(_, n)| **n > 1).fold(0, |d, (a, _)| d | self.bit(a))
    }

    /// A value in all lanes of `dims`, and what changes nothing in those outside.
    pub fn filled(&mut self, v: &Val, mask: &[String], identity: &str, dims: u32) -> String {
        let mut text = if v.literal { format!("tl.full((), {}, {})", v.text, held(v.dtype)) } else { v.text.clone() };
        if v.dims & dims != dims {
            text = format!("tl.broadcast_to({text}, {})", self.shape(dims));
        }
        if mask.is_empty() { text } else { format!("tl.where({}, {text}, {identity})", mask.join(" & ")) }
    }

    /// Adds a step's points to what is kept.
    fn step(&mut self, c: Combiner, dtype: DType, kept: &[String], points: &[Val], mask: &[String]) {
        let inside = mask.join(" & ");
        let put = |e: &mut Self, name: &str, text: String| {
            let line = if inside.is_empty() {
                format!("{name} = {text}")
            } else {
                format!("{name} = tl.where({inside}, {text}, {name})")
            };
            e.line(line);
        };
        let p = points[0].text.clone();
        let k = kept[0].as_str();
        let logical = dtype == DType::I1;
        match c {
            Combiner::Add | Combiner::Or | Combiner::Maximum if logical => put(self, k, format!("{k} | {p}")),
            Combiner::Mul | Combiner::And | Combiner::Minimum if logical => put(self, k, format!("{k} & {p}")),
            Combiner::Add => put(self, k, format!("{k} + {p}")),
            Combiner::Mul => put(self, k, format!("{k} * {p}")),
            Combiner::And => put(self, k, format!("{k} & {p}")),
            Combiner::Or => put(self, k, format!("{k} | {p}")),
            Combiner::Xor => put(self, k, format!("{k} ^ {p}")),
            Combiner::Maximum | Combiner::Minimum => {
                let f = self.pairwise(c, dtype);
                put(self, k, format!("{f}({k}, {p})"));
            }
            Combiner::ArgMax | Combiner::ArgMin => {
                let f = self.pairwise(c, dtype);
                let (best, at) = (self.names.fresh("best"), self.names.fresh("at"));
                self.line(format!("{best}, {at} = {f}({k}, {}, {p}, {})", kept[1], points[1].text));
                put(self, k, best);
                put(self, &kept[1], at);
            }
            Combiner::Welford => {
                let (n, delta, mean) = (self.names.fresh("n"), self.names.fresh("delta"), self.names.fresh("mean"));
                self.line(format!("{n} = {} + 1", kept[2]));
                self.line(format!("{delta} = {p} - {k}"));
                self.line(format!("{mean} = {k} + {delta} / {n}"));
                put(self, &kept[1], format!("{} + {delta} * ({p} - {mean})", kept[1]));
                put(self, k, mean);
                put(self, &kept[2], n);
            }
        }
    }

    /// The function that combines two values of a combiner.
    fn pairwise(&mut self, c: Combiner, dtype: DType) -> &'static str {
        let float = dtype.is_float();
        let name = match c {
            Combiner::Add | Combiner::Or if dtype == DType::I1 => "_or",
            Combiner::Mul | Combiner::And if dtype == DType::I1 => "_and",
            Combiner::Add => "_add",
            Combiner::Mul => "_mul",
            Combiner::And => "_and",
            Combiner::Or => "_or",
            Combiner::Xor => "_xor",
            Combiner::Maximum if float => "_maximum",
            Combiner::Minimum if float => "_minimum",
            Combiner::Maximum => "_greatest",
            Combiner::Minimum => "_least",
            Combiner::ArgMax => "_first_max",
            Combiner::ArgMin => "_first_min",
            Combiner::Welford => "_welford",
        };
        self.h.need(name)
    }

    /// All lanes along `over` as one. `full` vary along all of `dims`.
    pub fn across(&mut self, c: Combiner, dtype: DType, full: &[String], dims: u32, over: u32) -> Vec<String> {
        if over == 0 {
            return full.to_vec();
        }
        let all = dims & !over == 0;
        let steps: Vec<Option<usize>> = if all && full.len() == 1 {
            vec![None]
        } else if all {
            // Down to scalars, one dimension after the other.
            (0..self.rank()).rev().map(Some).collect()
        } else {
            (0..self.rank()).rev().filter(|d| over >> d & 1 == 1).map(Some).collect()
        };
        let mut now = full.to_vec();
        for step in steps {
            let axis = match step {
                None => String::new(),
                Some(d) if all => format!(", axis={d}"),
                Some(d) => format!(", axis={d}, keep_dims=True"),
            };
            let reduce_axis = match step {
                None => ", axis=None".to_string(),
                Some(_) => axis.clone(),
            };
            let x = now[0].clone();
            let back = |text: String| if dtype.bits() < 32 { format!("{text}.to({})", held(dtype)) } else { text };
            now = match c {
                _ if dtype == DType::I1 && full.len() == 1 => {
                    let f = match c {
                        Combiner::Mul | Combiner::And | Combiner::Minimum => "min",
                        Combiner::Xor => "xor_sum",
                        _ => "max",
                    };
                    vec![format!("(tl.{f}({x}.to(tl.int32){axis}) != 0)")]
                }
                Combiner::Add if dtype.is_float() || dtype.bits() >= 32 => vec![format!("tl.sum({x}{axis})")],
                Combiner::Add => vec![back(format!("tl.sum({x}.to(tl.int32){axis})"))],
                Combiner::Maximum if !dtype.is_float() => vec![back(format!("tl.max({x}{axis})"))],
                Combiner::Minimum if !dtype.is_float() => vec![back(format!("tl.min({x}{axis})"))],
                _ => {
                    let f = self.pairwise(c, dtype);
                    if full.len() == 1 {
                        vec![format!("tl.reduce({x}{reduce_axis}, combine_fn={f})")]
                    } else {
                        let names: Vec<String> = full.iter().map(|_| self.names.fresh(c.name())).collect();
                        let list = now.join(", ");
                        self.line(format!("{} = tl.reduce(({list}){reduce_axis}, combine_fn={f})", names.join(", ")));
                        names
                    }
                }
            };
        }
        now
    }

    /// Mean, sum of squared differences and count of what one step holds: in two passes over the tile.
    fn moments(&mut self, axes: &[usize], dtype: DType, v: &Val, dims: u32, over: u32) -> Vec<String> {
        let (mask, _) = self.mask(over);
        let mut n = self.exprs.int(1);
        for &a in axes {
            let extent = self.kernel.axes[a].extent;
            n = self.exprs.mul(n, extent);
        }
        let n = self.text(n).text;
        let full = self.filled(v, &mask, "0.0", dims);
        let sum = self.across(Combiner::Add, dtype, &[full], dims, over).remove(0);
        let mean = self.names.fresh("mean");
        self.line(format!("{mean} = {sum} / {n}"));
        let delta = self.names.fresh("delta");
        let centered = Val { text: format!("({} - {mean})", v.text), literal: false, ..v.clone() };
        let centered = Val { dims: v.dims | dims & !over, ..centered };
        let text = self.filled(&centered, &mask, "0.0", dims);
        self.line(format!("{delta} = {text}"));
        let m2 = self.across(Combiner::Add, dtype, &[format!("({delta} * {delta})")], dims, over).remove(0);
        vec![mean, m2, format!("tl.full((), {n}, {})", held(dtype))]
    }

    /// `kernels.for`.
    pub fn walk(&mut self, op: Op) -> Result<(), Diagnostic> {
        let axes = self.walked(op)?;
        let body = self.ir.body(op).ok_or_else(|| self.error(op, "the body must be one block"))?;
        self.wait_before(op);
        self.forget_written(op, &axes);
        if let Some(scan) = scan_of(self.ir, op)
            && self.axes[axes[0]].tile > 1
        {
            return self.scan(&scan, axes[0]);
        }
        let reverse = kernels::ForOp(op).reverse(self.ir);
        let args = self.ir.block_args(body).to_vec();
        let mut carried = Vec::new();
        for (v, &arg) in self.ir.operand_list(op).into_iter().zip(&args) {
            let dims = self.dims_of_type(arg);
            let init = self.get(v);
            let dtype = self.dtype(arg);
            let text = self.filled(&init, &[], "", dims);
            let name = self.names.fresh(self.ir.value_name(arg).unwrap_or("carried"));
            self.line(format!("{name} = {text}"));
            let level = self.scopes.len();
            self.env.insert(arg, Val { text: name.clone(), literal: false, dtype, dims, level });
            carried.push((name, dtype, dims));
        }
        let headers = self.open_loops(&axes, reverse);
        let deepest = self.scopes.len() - 1;
        for &arg in &args {
            if let Some(v) = self.env.get_mut(&arg) {
                v.level = deepest;
            }
        }
        self.block(body)?;
        let ends = self.ir.last_op(body).map(|end| self.ir.operand_list(end)).unwrap_or_default();
        if !carried.is_empty() {
            let texts: Vec<String> = ends
                .iter()
                .zip(&carried)
                .map(|(&v, c)| {
                    let v = self.get(v);
                    self.filled(&v, &[], "", c.2)
                })
                .collect();
            let names: Vec<&str> = carried.iter().map(|c| c.0.as_str()).collect();
            self.line(format!("{} = {}", names.join(", "), texts.join(", ")));
        }
        self.close_loops(headers);
        let level = self.scopes.len() - 1;
        for (r, (name, dtype, dims)) in self.ir.results(op).zip(carried) {
            self.env.insert(r, Val { text: name, literal: false, dtype, dims, level });
        }
        Ok(())
    }

    // ---- scans ----

    /// Gives the axes of scans that lanes can make together a tile.
    pub fn plan_scans(&mut self) {
        let tiled = self.axes.iter().filter(|a| a.tile > 1).count();
        for op in self.ir.ops_named(self.kernel.op, kernels::ForOp::NAME) {
            let Some(scan) = scan_of(self.ir, op) else { continue };
            if self.ir.parent_op(scan.op) != Some(self.kernel.op) {
                continue;
            }
            let Ok(axes) = self.walked(op) else { continue };
            let a = axes[0];
            let alone = self.ir.nested_ops(self.kernel.op).into_iter().filter(|&o| !self.ir.regions_of(o).is_empty());
            if tiled > 2 || self.axes[a].tile > 1 || alone.count() != 1 {
                continue;
            }
            let extent = self.exprs.as_int(self.kernel.axes[a].extent);
            let others: i64 = self.axes.iter().map(|a| i64::from(a.tile)).product();
            let room = (SCAN_STEP / others.max(1)).max(16);
            let tile = extent.map_or(room.min(1024), |n| (n.max(1) as u64).next_power_of_two() as i64).min(room);
            if tile > 1 {
                self.axes[a].tile = tile as u32;
                self.axes[a].whole = extent.is_some_and(|n| n <= tile && n > 0);
            }
        }
    }

    fn scan(&mut self, scan: &Scan, a: usize) -> Result<(), Diagnostic> {
        let ir = self.ir;
        let combiner = Combiner::parse(scan.combiner).ok_or_else(|| self.error(scan.op, "an unknown combiner"))?;
        let body = ir.body(scan.op).ok_or_else(|| self.error(scan.op, "the body must be one block"))?;
        let args = ir.block_args(body).to_vec();
        let reverse = kernels::ForOp(scan.op).reverse(ir);
        let over = self.bit(a);
        let dtypes: Vec<DType> = scan.points.iter().map(|&p| self.dtype(p)).collect();
        let dtype = dtypes[0];
        let f = match combiner {
            Combiner::ArgMax => self.h.need("_last_max"),
            Combiner::ArgMin => self.h.need("_last_min"),
            c => self.pairwise(c, dtype),
        };
        let others: u32 = self
            .axes
            .iter()
            .enumerate()
            .fold(0, |d, (k, s)| if k != a && s.dim.is_some() { d | self.bit(k) } else { d });
        let full = others | over;
        let mut carried = Vec::new();
        for (v, d) in ir.operand_list(scan.op).into_iter().zip(&dtypes) {
            let init = self.get(v);
            let name = self.names.fresh("carried");
            let text = self.filled(&Val { dtype: *d, ..init }, &[], "", others);
            self.line(format!("{name} = {text}"));
            carried.push(name);
        }
        let whole = self.axes[a].whole;
        let headers = self.open_loops(&[a], reverse);
        let level = self.scopes.len() - 1;
        for op in ir.block_op_list(body) {
            if scan.ops.contains(&op) {
                if scan.next.iter().any(|&n| ir.def_op(n) == Some(op)) && !self.env.contains_key(&scan.next[0]) {
                    self.scan_step(scan, (a, combiner, f), &carried, &dtypes, (full, over, level), (reverse, whole));
                }
                continue;
            }
            self.op(op)?;
        }
        self.close_loops(headers);
        let level = self.scopes.len() - 1;
        for ((r, name), &d) in ir.results(scan.op).zip(carried).zip(&dtypes) {
            self.env.insert(r, Val { text: name, literal: false, dtype: d, dims: others, level });
        }
        debug_assert_eq!(args.len(), dtypes.len());
        Ok(())
    }

    /// The combined values of a step, and what is carried on.
    fn scan_step(
        &mut self,
        scan: &Scan,
        (a, combiner, f): (usize, Combiner, &str),
        carried: &[String],
        dtypes: &[DType],
        (full, over, level): (u32, u32, usize),
        (reverse, whole): (bool, bool),
    ) {
        let (mask, _) = self.mask(over);
        let axis = self.axes[a].dim.unwrap_or(0);
        let mut points = Vec::new();
        for (&p, i) in scan.points.iter().zip(identity(combiner, dtypes[0])) {
            let v = self.get(p);
            // A position that nothing reaches loses against all.
            let text = self.filled(&v, &mask, &i, full);
            let name = self.names.fresh("point");
            self.line(format!("{name} = {text}"));
            points.push(name);
        }
        let tuple = |list: &[String]| if let [one] = list { one.clone() } else { format!("({})", list.join(", ")) };
        let back = if reverse { ", reverse=True" } else { "" };
        let locals: Vec<String> = points.iter().map(|_| self.names.fresh("scan")).collect();
        self.line(format!("{} = tl.associative_scan({}, {axis}, {f}{back})", locals.join(", "), tuple(&points)));
        let next: Vec<String> = points.iter().map(|_| self.names.fresh("next")).collect();
        self.line(format!("{} = {f}({}, {})", next.join(", "), carried.join(", "), locals.join(", ")));
        if !whole {
            let keep = if self.rank() == 1 { "axis=None".to_string() } else { format!("axis={axis}, keep_dims=True") };
            let totals: Vec<String> = points.iter().map(|_| self.names.fresh("total")).collect();
            self.line(format!("{} = tl.reduce({}, {keep}, combine_fn={f})", totals.join(", "), tuple(&points)));
            self.line(format!("{} = {f}({}, {})", carried.join(", "), carried.join(", "), totals.join(", ")));
        }
        for ((&n, name), &d) in scan.next.iter().zip(next).zip(dtypes) {
            let text = if is_small_float(d) {
                let text = rounded(&name, d, self.h);
                let v = self.names.fresh("next");
                self.line(format!("{v} = {text}"));
                v
            } else {
                name
            };
            self.env.insert(n, Val { text, literal: false, dtype: d, dims: full, level });
        }
    }
}

/// What nothing comes to.
fn identity(c: Combiner, dtype: DType) -> Vec<String> {
    let float = dtype.is_float();
    let number = |n: i64| if float { format!("{n}.0") } else { n.to_string() };
    let greatest = |max: bool| {
        if float {
            (if max { "float(\"inf\")" } else { "float(\"-inf\")" }).to_string()
        } else if dtype == DType::I1 {
            (if max { "True" } else { "False" }).to_string()
        } else {
            (if max { dtype.int_max() } else { dtype.int_min() }).unwrap_or(0).to_string()
        }
    };
    let far = i64::MAX.to_string();
    match c {
        Combiner::Add | Combiner::Or | Combiner::Xor if dtype == DType::I1 => vec!["False".into()],
        Combiner::Mul | Combiner::And if dtype == DType::I1 => vec!["True".into()],
        Combiner::Add | Combiner::Or | Combiner::Xor => vec![number(0)],
        Combiner::Mul => vec![number(1)],
        Combiner::And if dtype == DType::U8 => vec!["255".into()],
        Combiner::And => vec!["-1".into()],
        Combiner::Maximum => vec![greatest(false)],
        Combiner::Minimum => vec![greatest(true)],
        Combiner::ArgMax => vec![greatest(false), far],
        Combiner::ArgMin => vec![greatest(true), far],
        Combiner::Welford => vec![number(0); 3],
    }
}
