//! The schedules that are tried for a kernel: what one decision changes in the automatic one, then others at random, from a seed.

use crate::dialects::kernels::{self, Axis};
use crate::ir::{Ir, Op, TypeData};
use crate::passes::apply_schedule::{KernelStep, block_name};

/// Sizes of blocks.
const BLOCKS: [i64; 5] = [8, 16, 32, 64, 128];
/// How many steps are taken in a row.
const UNROLLS: [i64; 4] = [1, 2, 4, 8];
/// How many orders of the parallel axes are tried.
const ORDERS: usize = 6;

/// Numbers that follow from a seed.
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed ^ 0x9e37_79b9_7f4a_7c15)
    }
    /// The next number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }
}

/// What is decided about a kernel: a number among the choices of each kind.
type Choice = [usize; 5];

/// The choices that there are.
pub struct Space {
    axes: Vec<Axis>,
    /// Blocks that axes are cut into: none, or an axis and a size.
    cuts: Vec<Option<(usize, i64)>>,
    /// Orders of the parallel axes, as numbers of permutations.
    orders: usize,
    /// Lanes: an axis and how many.
    lanes: Vec<(usize, i64)>,
    /// Buffers that are kept: none, or one that is read or written.
    kept: Vec<Option<KernelStep>>,
}

impl Space {
    /// The choices for a kernel that takes one point at a time; `lanes` fill a vector register with `f32`.
    pub fn of(ir: &Ir, func: Op, lanes: i64) -> Space {
        let axes = kernels::axes_of(ir, func).unwrap_or_default();
        let extent = |a: &Axis| ir.exprs.as_int(a.extent);
        let mut cuts = vec![None];
        for (k, a) in axes.iter().enumerate() {
            let Some(n) = extent(a) else { continue };
            cuts.extend(BLOCKS.iter().filter(|&&b| n % b == 0 && n > b).map(|&b| Some((k, b))));
        }
        let mut widths = Vec::new();
        for (k, a) in axes.iter().enumerate() {
            let most = extent(a).map_or(lanes * 8, |n| (n.max(1) as u64).next_power_of_two() as i64);
            let sizes = [1, lanes / 2, lanes, lanes * 2, lanes * 4, lanes * 8];
            widths.extend(sizes.iter().filter(|&&w| w >= 1 && w <= most).map(|&w| (k, w)));
        }
        let body = ir.body(func);
        let args = body.map(|b| ir.block_args(b).to_vec()).unwrap_or_default();
        let written = kernels::written(ir, func);
        let mut kept = vec![None];
        for (v, written) in args.into_iter().zip(written) {
            let buffer = matches!(ir.ty(ir.value_type(v)), TypeData::MemRef { .. });
            if let Some(name) = ir.value_name(v).filter(|_| buffer) {
                let name = name.to_string();
                kept.push(Some(if written { KernelStep::CacheWrite(name) } else { KernelStep::CacheRead(name) }));
            }
        }
        let parallel = axes.iter().filter(|a| !a.reduced).count();
        let orders = (1..=parallel + 1).product::<usize>().min(ORDERS);
        Space { axes, cuts, orders, lanes: widths, kept }
    }

    fn sizes(&self) -> Choice {
        [self.cuts.len(), self.orders, self.lanes.len(), UNROLLS.len(), self.kept.len()]
    }

    /// The steps of a choice. Some are refused: that is found by trying.
    fn steps(&self, choice: &Choice) -> Vec<KernelStep> {
        let [cut, order, lanes, unroll, kept] = *choice;
        let mut steps = Vec::new();
        let mut names: Vec<(String, bool)> = self.axes.iter().map(|a| (a.name.clone(), a.reduced)).collect();
        if let Some((axis, size)) = self.cuts[cut] {
            let (outer, inner) = (self.axes[axis].name.clone(), block_name(&self.axes, &self.axes[axis].name));
            names.insert(axis + 1, (inner.clone(), self.axes[axis].reduced));
            steps.push(KernelStep::Split(outer.clone(), size, Some((outer, inner))));
        }
        let parallel: Vec<String> = names.iter().filter(|n| !n.1).map(|n| n.0.clone()).collect();
        let permuted = permutation(&parallel, order);
        if permuted != parallel {
            steps.push(KernelStep::Reorder(permuted));
        }
        let (axis, width) = self.lanes[lanes];
        // Of an axis that is cut, the points of a block lie side by side.
        let axis = match self.cuts[cut] {
            Some((cut, _)) if cut == axis => block_name(&self.axes, &self.axes[axis].name),
            _ => self.axes[axis].name.clone(),
        };
        if width > 1 {
            steps.push(KernelStep::Vectorize(axis.clone(), width));
        }
        if UNROLLS[unroll] > 1 {
            steps.push(KernelStep::Unroll(axis, UNROLLS[unroll]));
        }
        steps.extend(self.kept[kept].clone());
        steps
    }

    /// The candidates in the order in which they are tried, `automatic` left out: each that one decision makes, from the choice that is nearest to the
    /// automatic one, and then as many at random as there are different ones, up to a number.
    pub fn candidates(&self, automatic: &[KernelStep], seed: u64, most: usize) -> Vec<Vec<KernelStep>> {
        let sizes = self.sizes();
        if sizes.contains(&0) {
            return Vec::new();
        }
        let near = self.nearest(automatic);
        let mut list: Vec<Vec<KernelStep>> = Vec::new();
        let mut add = |steps: Vec<KernelStep>| {
            if steps != automatic && !list.contains(&steps) {
                list.push(steps);
            }
        };
        for kind in [2, 3, 0, 1, 4] {
            for k in 0..sizes[kind] {
                let mut choice = near;
                choice[kind] = k;
                add(self.steps(&choice));
            }
        }
        let mut random = Random::new(seed);
        for _ in 0..most * 4 {
            let choice = sizes.map(|n| random.below(n));
            add(self.steps(&choice));
        }
        list.truncate(most);
        list
    }

    /// The choice with the lanes of the automatic schedule.
    fn nearest(&self, automatic: &[KernelStep]) -> Choice {
        let lanes = automatic.iter().find_map(|step| match step {
            KernelStep::Vectorize(axis, by) => {
                self.lanes.iter().position(|&(a, w)| w == *by && *axis == self.axes[a].name)
            }
            _ => None,
        });
        let cut = automatic.iter().find_map(|step| match step {
            KernelStep::Split(axis, by, _) => {
                self.cuts.iter().position(|c| c.is_some_and(|(a, size)| size == *by && self.axes[a].name == *axis))
            }
            _ => None,
        });
        [cut.unwrap_or(0), 0, lanes.unwrap_or(0), 0, 0]
    }
}

/// A permutation by its number: 0 is the order as it is.
fn permutation(names: &[String], number: usize) -> Vec<String> {
    let mut rest = names.to_vec();
    let mut out = Vec::new();
    let mut number = number;
    while !rest.is_empty() {
        // The last ones change first: what steps fastest matters most.
        let n = rest.len();
        out.push(rest.remove(n - 1 - number % n));
        number /= n;
    }
    out.reverse();
    out
}
