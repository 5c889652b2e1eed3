//! Random graphs, made from the definitions of the ops: what an op takes is read from its schema, and what it refuses is tried again.

use crate::common::random::Random;
use crate::graph::{Arg, Builder, Graph, Input, Node, Prop, Size};
use rinductor::defs::ast::SchemaParam;
use rinductor::defs::schema::Base;
use rinductor::defs::{OpDef, Signature};
use rinductor::dialects::library::Library;
use rinductor::scalar::{DType, Kind, Scalar};

const DTYPES: &[DType] = &[
    DType::F32,
    DType::F32,
    DType::F32,
    DType::F64,
    DType::F16,
    DType::BF16,
    DType::I64,
    DType::I32,
    DType::I16,
    DType::I8,
    DType::U8,
    DType::I1,
];

/// An op that graphs are made of, with the words that its definition compares strings with.
pub struct Candidate {
    def: OpDef,
    words: Vec<String>,
}

/// The ops of the graph level that can be run: those with a meaning in their definition or a decomposition, and the extern ops of the runtime.
pub fn candidates(library: &Library) -> Vec<Candidate> {
    let decomposed = |def: &OpDef| {
        let name = &*def.name.text;
        library.rules().iter().any(|r| r.decomposition && *r.pattern.op.text == *name)
    };
    let usable = |def: &&OpDef| {
        matches!(def.dialect(), "aten" | "prims")
            && matches!(&def.signature, Signature::Schema(sig) if sig.results.iter().all(|r| r.ty.is_tensor()))
            && def.has_trait("pure")
            && !["random", "inplace"].iter().any(|t| def.has_trait(t))
            && (!def.semantics.is_empty()
                || decomposed(def)
                || rinductor::runtime::ops::extern_op(&def.name.text).is_some())
            && !matches!(&*def.name.text, "aten.constant" | "aten.none" | "aten.copy_" | "prims.inductor_random")
    };
    library
        .ops()
        .filter(usable)
        .map(|def| {
            // The words stand in expressions, which can be of any kind; their debug text shows them all.
            let text = format!("{:?} {:?} {:?}", def.requires, def.semantics, def.types);
            let words = text.split("Str(\"").skip(1).filter_map(|t| Some(t.split_once('"')?.0.to_string()));
            let mut words: Vec<String> = words.filter(|w| !w.is_empty() && w.len() < 20).collect();
            words.sort();
            words.dedup();
            Candidate { def: def.clone(), words }
        })
        .collect()
}

impl Candidate {
    /// The op's name.
    pub fn name(&self) -> &str {
        &self.def.name.text
    }
}

struct Generator<'a, 'l> {
    random: &'a mut Random,
    builder: Builder<'l>,
    graph: Graph,
    /// The sizes that dimensions have, so that tensors fit each other.
    pool: Vec<Size>,
    shape: Vec<Size>,
    dtype: DType,
    /// How wild the elements are.
    special: bool,
}

/// A graph with an op of this number among the candidates; None if the op would take nothing that was tried.
pub fn graph(random: &mut Random, library: &Library, candidates: &[Candidate], first: usize) -> Option<Graph> {
    let symbolic = random.one_in(3);
    let mut symbols = Vec::new();
    let mut pool = Vec::new();
    for _ in 0..2 + random.below(2) {
        let n = match random.below(12) {
            0 => 0,
            1 | 2 => 1,
            3 => 5 + random.below(14) as i64,
            4 => 16,
            _ => 2 + random.below(4) as i64,
        };
        if symbolic && random.one_in(2) {
            symbols.push((n, random.one_in(2)));
            pool.push(Size::Symbol(symbols.len() - 1));
        } else {
            pool.push(Size::Known(n));
        }
    }
    // Empty tensors make everything empty, so most graphs have none.
    if !random.one_in(4) {
        pool.iter_mut().filter(|s| **s == Size::Known(0)).for_each(|s| *s = Size::Known(3));
    }
    let rank = [0, 1, 1, 2, 2, 2, 3, 3, 4][random.below(9)];
    let shape = (0..rank).map(|_| *random.pick(&pool)).collect();
    let dtype = *random.pick(DTYPES);
    let special = random.one_in(5);
    let builder = Builder::new(library, &symbols);
    let graph = Graph { symbols, ..Graph::default() };
    let mut g = Generator { random, builder, graph, pool, shape, dtype, special };
    let ops = 1 + if g.random.one_in(3) { 0 } else { g.random.below(12) };
    let at = g.random.below(ops);
    let mut found = false;
    for k in 0..ops {
        if k == at {
            found = (0..60).any(|_| g.node(&candidates[first]));
            if !found {
                return None;
            }
        } else {
            for _ in 0..8 {
                let k = g.random.below(candidates.len());
                if g.node(&candidates[k]) {
                    break;
                }
            }
        }
    }
    if !found {
        return None;
    }
    let total = g.builder.values.len();
    let inputs = g.graph.inputs.len();
    // What nothing reads is returned, and sometimes something else.
    let mut read = vec![false; total];
    for node in &g.graph.nodes {
        for arg in &node.args {
            if let Arg::Tensors(list) = arg {
                list.iter().for_each(|&v| read[v] = true);
            }
        }
    }
    for v in inputs..total {
        if !read[v] || g.random.one_in(8) {
            g.graph.outputs.push(v);
        }
    }
    // Inputs were made while ops were; values are numbered with the inputs first.
    Some(g.graph)
}

impl Generator<'_, '_> {
    /// Tries to add an op with random arguments.
    fn node(&mut self, candidate: &Candidate) -> bool {
        let Signature::Schema(sig) = &candidate.def.signature else { return false };
        // An attempt that fails must leave nothing: inputs are only added for one that does not.
        let before = (self.graph.clone(), self.builder.values.len());
        let mut shape = None;
        let mut args = Vec::new();
        for param in &sig.params {
            args.push(self.arg(param, &candidate.words, &mut shape));
        }
        let Some(graph) = self.rebuilt(candidate, args) else {
            self.graph = before.0;
            return false;
        };
        self.graph = graph;
        true
    }

    /// The graph with a further node, whose new inputs come before all nodes.
    fn rebuilt(&mut self, candidate: &Candidate, args: Vec<Arg>) -> Option<Graph> {
        let old_inputs = self.builder_inputs();
        let new_inputs = self.graph.inputs.len() - old_inputs;
        let move_up = |v: usize| if v < old_inputs { v } else { v + new_inputs };
        let mut graph = self.graph.clone();
        for node in &mut graph.nodes {
            for arg in &mut node.args {
                if let Arg::Tensors(list) = arg {
                    list.iter_mut().for_each(|v| *v = move_up(*v));
                }
            }
        }
        // In `args`, a number from FRESH on is a new input.
        let args: Vec<Arg> = args
            .into_iter()
            .map(|arg| match arg {
                Arg::Tensors(list) => Arg::Tensors(
                    list.into_iter().map(|v| if v >= FRESH { old_inputs + (v - FRESH) } else { move_up(v) }).collect(),
                ),
                other => other,
            })
            .collect();
        let mut builder = self.builder.fresh(&graph.symbols);
        graph.inputs.iter().for_each(|i| builder.input(i));
        for node in &graph.nodes {
            builder.node_named(&node.op, &node.args)?;
        }
        let results = builder.node(&candidate.def, &args)?;
        graph.nodes.push(Node { op: candidate.name().to_string(), args, results });
        self.builder = builder;
        Some(graph)
    }

    fn builder_inputs(&self) -> usize {
        self.builder.values.len() - self.graph.nodes.iter().map(|n| n.results).sum::<usize>()
    }

    fn known(&self, size: Size) -> i64 {
        match size {
            Size::Known(n) => n,
            Size::Symbol(k) => self.graph.symbols[k].0,
        }
    }

    /// An argument; `shape` is that of the op's first tensor, once it is known.
    fn arg(&mut self, param: &SchemaParam, words: &[String], shape: &mut Option<Vec<i64>>) -> Arg {
        let ty = &param.ty;
        let name = &*param.name.text;
        if param.default.is_some() && self.random.one_in(2) || ty.optional() && self.random.one_in(3) {
            return Arg::Absent;
        }
        if ty.is_tensor() {
            if !ty.list && shape.is_some() && self.random.one_in(12) {
                return self.scalar();
            }
            let n = if ty.list { 1 + self.random.below(3) } else { 1 };
            let list: Vec<usize> = (0..n).map(|_| self.tensor(name, shape)).collect();
            return Arg::Tensors(list);
        }
        let empty = Vec::new();
        let sizes: &[i64] = shape.as_ref().unwrap_or(&empty);
        let rank = sizes.len() as i64;
        if ty.list {
            return match ty.base {
                Base::Float => Arg::Prop(Prop::Floats((0..1 + self.random.below(2)).map(|_| 1.5).collect())),
                Base::Bool => Arg::Prop(Prop::Bools((0..sizes.len()).map(|_| self.random.one_in(2)).collect())),
                _ => Arg::Prop(Prop::Ints(self.ints(name, ty.length, sizes))),
            };
        }
        match ty.base {
            Base::Int | Base::SymInt => {
                let small = self.random.below(7) as i64 - 3;
                let n = if name.contains("dim") || name == "axis" {
                    if self.random.one_in(10) {
                        small
                    } else {
                        self.random.below(2 * rank.max(1) as usize) as i64 - rank.max(1)
                    }
                } else if matches!(name, "start" | "end" | "index" | "length") && self.random.one_in(2) {
                    let n = sizes.get(self.random.below(sizes.len().max(1))).copied().unwrap_or(1);
                    self.random.below(2 * n.max(1) as usize + 2) as i64 - n.max(1)
                } else if self.random.one_in(12) {
                    *self.random.pick(&[i64::MAX, i64::MIN + 1, 100])
                } else if self.random.one_in(3) {
                    small
                } else {
                    1 + self.random.below(4) as i64
                };
                Arg::Prop(Prop::Int(Size::Known(n)))
            }
            Base::Scalar | Base::SymFloat => self.scalar(),
            Base::Float => Arg::Prop(Prop::Float(*self.random.pick(&[0.37, 1.0, 0.0, 1e-5, 2.5, -0.5]))),
            Base::Bool | Base::SymBool => Arg::Prop(Prop::Bool(self.random.one_in(2))),
            Base::ScalarType => {
                let dtype = if self.random.one_in(2) { self.dtype } else { *self.random.pick(DTYPES) };
                Arg::Prop(Prop::Type(dtype))
            }
            Base::MemoryFormat => {
                let word = *self.random.pick(&["contiguous_format", "preserve_format", "channels_last"]);
                Arg::Prop(Prop::Str(word.to_string()))
            }
            Base::Str if !words.is_empty() => Arg::Prop(Prop::Str(self.random.pick(words).clone())),
            Base::Device => Arg::Prop(Prop::Str("cpu".into())),
            _ => Arg::Absent,
        }
    }

    fn scalar(&mut self) -> Arg {
        Arg::Prop(match self.random.below(8) {
            0 => Prop::Int(Size::Known(2)),
            1 => Prop::Int(Size::Known(self.random.below(9) as i64 - 4)),
            2 => Prop::Bool(self.random.one_in(2)),
            3 => Prop::Float(-0.3),
            4 => Prop::Float(1.7),
            5 => Prop::Float(*self.random.pick(&[0.0, -0.0, 1.0, 2.0, 3.0, 0.5, -1.0])),
            6 if self.special => {
                Prop::Float(*self.random.pick(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e30, 1e-40]))
            }
            _ => Prop::Float(self.random.below(4000) as f64 / 1000.0 - 2.0),
        })
    }

    /// A list of sizes, dimensions, widths, … that may fit the shape.
    fn ints(&mut self, name: &str, length: Option<u32>, sizes: &[i64]) -> Vec<Size> {
        let rank = sizes.len();
        let mut list: Vec<i64> = sizes.to_vec();
        let numel: i64 = sizes.iter().product();
        if matches!(name, "kernel_size" | "stride" | "padding" | "dilation" | "output_padding" | "pad" | "output_size")
        {
            let n = match length {
                Some(n) => n as usize,
                None => 1 + self.random.below(4),
            };
            let low = -i64::from(name == "pad" && self.random.one_in(4))
                + i64::from(matches!(name, "kernel_size" | "stride" | "dilation" | "output_size"));
            return (0..n).map(|_| Size::Known(low + self.random.below(3) as i64)).collect();
        }
        match self.random.below(9) {
            // Some dimensions.
            0 | 1 => {
                list = (0..rank as i64).filter(|_| self.random.one_in(2)).collect();
                if self.random.one_in(2) {
                    list.iter_mut().for_each(|d| *d -= rank as i64);
                }
            }
            // A permutation.
            2 | 3 => {
                list = (0..rank as i64).collect();
                for k in (1..list.len()).rev() {
                    let j = self.random.below(k + 1);
                    list.swap(k, j);
                }
            }
            // The same number of elements in other sizes.
            4 | 5 => {
                let factors: Vec<i64> = (1..=numel).filter(|a| numel % a == 0).collect();
                if numel > 0 {
                    let a = *self.random.pick(&factors);
                    list = match self.random.below(4) {
                        0 => vec![numel],
                        1 => vec![a, -1],
                        2 => vec![a, 1, numel / a],
                        _ => vec![a, numel / a],
                    };
                }
            }
            // Sizes of 1 repeated.
            6 => {
                for n in &mut list {
                    if *n == 1 {
                        *n = 1 + self.random.below(3) as i64;
                    } else if self.random.one_in(4) {
                        *n = -1;
                    }
                }
                if self.random.one_in(3) {
                    list.insert(0, 2);
                }
            }
            // Small numbers: repeats, shifts.
            7 => {
                let n = length.map_or(rank, |n| n as usize);
                list = (0..n).map(|_| self.random.below(4) as i64 - i64::from(self.random.one_in(4))).collect();
            }
            _ => {}
        }
        list.into_iter()
            .map(|n| {
                let symbol = (0..self.graph.symbols.len()).find(|&k| self.graph.symbols[k] == (n, true));
                match symbol {
                    Some(k) if self.random.one_in(2) => Size::Symbol(k),
                    _ => Size::Known(n),
                }
            })
            .collect()
    }

    /// A value that is there, or a new input.
    fn tensor(&mut self, param: &str, shape: &mut Option<Vec<i64>>) -> usize {
        let there = self.builder.values.len();
        let index = matches!(param, "index" | "indices" | "target" | "offsets");
        if there > 0 && !index && param != "condition" && self.random.below(10) < 6 {
            // The newest values are taken most often, so that chains form.
            let back = self.random.below(there).min(self.random.below(there));
            let v = there - 1 - back;
            if let Some((_, sizes)) = self.builder.tensor(v) {
                shape.get_or_insert(sizes);
                return v;
            }
        }
        let mut sizes = self.shape.clone();
        match self.random.below(8) {
            0 => sizes.iter_mut().for_each(|s| {
                if self.random.one_in(2) {
                    *s = Size::Known(1);
                }
            }),
            1 => drop(sizes.drain(..self.random.below(sizes.len() + 1))),
            2 | 3 => {
                let rank = self.random.below(5);
                sizes = (0..rank).map(|_| *self.random.pick(&self.pool)).collect();
            }
            _ => {}
        }
        let dtype = match param {
            "condition" | "mask" => DType::I1,
            _ if index => DType::I64,
            _ if self.random.one_in(8) => *self.random.pick(DTYPES),
            _ => self.dtype,
        };
        let rank = sizes.len();
        let mut order: Vec<usize> = (0..rank).collect();
        let mut steps = vec![1i64; rank];
        if self.random.one_in(3) {
            for k in (1..rank).rev() {
                let j = self.random.below(k + 1);
                order.swap(k, j);
            }
        }
        if self.random.one_in(8) && rank > 0 {
            steps[self.random.below(rank)] = 2;
        }
        if self.random.one_in(8) && rank > 0 {
            steps[self.random.below(rank)] = 0;
        }
        while sizes.iter().map(|&s| self.known(s)).product::<i64>() > 2048 {
            sizes
                .iter_mut()
                .max_by_key(|s| match s {
                    Size::Known(n) => *n,
                    Size::Symbol(_) => i64::MAX,
                })
                .into_iter()
                .for_each(|s| *s = Size::Known(1));
        }
        let numbers: Vec<i64> = sizes.iter().map(|&s| self.known(s)).collect();
        let bound = self.pool.iter().map(|&s| self.known(s)).filter(|&n| n > 0).min().unwrap_or(1);
        let count = numbers.iter().product::<i64>() as usize;
        let style = self.random.below(5);
        let mut elements: Vec<Scalar> =
            (0..count)
                .map(|_| {
                    if index {
                        Scalar::i64(self.random.below(bound as usize) as i64)
                    } else {
                        self.element(dtype, style)
                    }
                })
                .collect();
        if index && self.random.one_in(4) {
            elements.iter_mut().filter(|_| self.random.one_in(4)).for_each(|e| *e = Scalar::i64(-1));
        }
        shape.get_or_insert(numbers);
        self.graph.inputs.push(Input { dtype, sizes, order, steps, elements });
        FRESH + self.graph.inputs.len() - 1 - self.builder_inputs()
    }

    fn element(&mut self, dtype: DType, style: usize) -> Scalar {
        const SPECIAL: [f64; 9] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.0, -1.0, 1e30, 1e-40];
        let u = (self.random.next() >> 11) as f64 / (1u64 << 53) as f64;
        match dtype.kind() {
            Kind::Float if self.special && self.random.one_in(4) => {
                Scalar::from_f64(dtype, *self.random.pick(&SPECIAL))
            }
            Kind::Float => Scalar::from_f64(
                dtype,
                match style {
                    0 => self.random.below(9) as f64 - 4.0,
                    1 => 0.1 + 3.0 * u,
                    2 => 20.0 * u - 10.0,
                    _ => 4.0 * u - 2.0,
                },
            ),
            Kind::Bool => Scalar::bool(self.random.one_in(2)),
            Kind::Unsigned => Scalar::from_i64(dtype, self.random.below(if style == 0 { 256 } else { 6 }) as i64),
            _ if self.special && self.random.one_in(6) => {
                Scalar::from_i64(dtype, *self.random.pick(&[i64::MIN, i64::MAX, -1, 1 << 31, 1 << 53]))
            }
            _ => Scalar::from_i64(dtype, self.random.below(9) as i64 - 4),
        }
    }
}

/// Numbers of inputs that are new in an attempt.
const FRESH: usize = 1 << 32;
