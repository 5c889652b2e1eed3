//! Dominance between the blocks of one region (Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", 2001).

use super::{Block, Ir, Region};
use rinductor_support::FxHashMap;

/// The dominator tree of a region's blocks.
#[derive(Debug, Default)]
pub struct Dominance {
    /// Position of a reachable block in reverse post order.
    order: FxHashMap<Block, u32>,
    /// Where each position lies in a walk over the tree, and where the walk over its subtree ends: block a dominates b if b's number
    /// lies in a's interval.
    intervals: Vec<(u32, u32)>,
}

impl Dominance {
    /// Computes the tree. Takes time linear in blocks and edges for the control flow that programs have.
    pub fn new(ir: &Ir, region: Region) -> Self {
        let blocks = ir.blocks_of(region);
        let Some(&entry) = blocks.first() else { return Self::default() };
        let successors = |b: Block| ir.last_op(b).map_or(&[][..], |op| ir.successors(op));
        // Post order, with an explicit stack.
        let mut post = Vec::new();
        let mut seen: FxHashMap<Block, ()> = FxHashMap::default();
        let mut stack = vec![(entry, 0usize)];
        seen.insert(entry, ());
        while let Some((b, i)) = stack.pop() {
            match successors(b).get(i) {
                Some(&s) => {
                    stack.push((b, i + 1));
                    if ir.block_region(s) == Some(region) && seen.insert(s, ()).is_none() {
                        stack.push((s, 0));
                    }
                }
                None => post.push(b),
            }
        }
        post.reverse();
        let order: FxHashMap<Block, u32> = post.iter().enumerate().map(|(i, &b)| (b, i as u32)).collect();
        let mut preds = vec![Vec::new(); post.len()];
        for (i, &b) in post.iter().enumerate() {
            for s in successors(b) {
                if let Some(&k) = order.get(s) {
                    preds[k as usize].push(i as u32);
                }
            }
        }
        const NONE: u32 = u32::MAX;
        let mut idom = vec![NONE; post.len()];
        idom[0] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for i in 1..post.len() {
                let mut new = NONE;
                for &p in &preds[i] {
                    if idom[p as usize] == NONE {
                        continue;
                    }
                    new = if new == NONE { p } else { meet(&idom, p, new) };
                }
                if idom[i] != new {
                    idom[i] = new;
                    changed = true;
                }
            }
        }
        // A dominator has a lower position than what it dominates, so sizes of subtrees add up from the end.
        let mut size = vec![1u32; post.len()];
        for i in (1..post.len()).rev() {
            size[idom[i] as usize] += size[i];
        }
        let mut next = vec![1u32; post.len()];
        let mut intervals = vec![(0, size[0]); post.len()];
        for i in 1..post.len() {
            let parent = idom[i] as usize;
            let start = next[parent];
            next[parent] += size[i];
            next[i] = start + 1;
            intervals[i] = (start, start + size[i]);
        }
        Self { order, intervals }
    }

    /// Whether every path from the entry to `b` goes through `a`. An unreachable block is dominated by every block.
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        if a == b {
            return true;
        }
        let Some(&kb) = self.order.get(&b) else { return true };
        let Some(&ka) = self.order.get(&a) else { return false };
        let (start, end) = self.intervals[ka as usize];
        (start..end).contains(&self.intervals[kb as usize].0)
    }

    /// Whether the entry reaches a block.
    pub fn is_reachable(&self, block: Block) -> bool {
        self.order.contains_key(&block)
    }
}

fn meet(idom: &[u32], mut a: u32, mut b: u32) -> u32 {
    while a != b {
        while a > b {
            a = idom[a as usize];
        }
        while b > a {
            b = idom[b as usize];
        }
    }
    a
}
