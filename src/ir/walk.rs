//! Walking over nested ops, without recursion: nesting may be a hundred thousand deep.

use super::{Ir, Op};

impl Ir {
    /// Calls `f` for `root` and every op below it, an op before what is nested in it, blocks in order.
    pub fn walk(&self, root: Op, f: &mut dyn FnMut(Op)) {
        let mut stack = vec![root];
        while let Some(op) = stack.pop() {
            f(op);
            let at = stack.len();
            for &r in self.regions_of(op) {
                for &b in self.blocks_of(r) {
                    stack.extend(self.block_ops(b));
                }
            }
            stack[at..].reverse();
        }
    }

    /// All ops below `root` (without it), an op before what is nested in it.
    pub fn nested_ops(&self, root: Op) -> Vec<Op> {
        let mut list = Vec::new();
        self.walk(root, &mut |op| list.push(op));
        list.remove(0);
        list
    }

    /// All ops below `root` (without it) of one name.
    pub fn ops_named(&self, root: Op, name: &str) -> Vec<Op> {
        let mut list = Vec::new();
        self.walk(root, &mut |op| {
            if op != root && self.is_op(op, name) {
                list.push(op);
            }
        });
        list
    }

    /// Whether `inner` is `outer` or lies in a region of it.
    pub fn is_inside(&self, inner: Op, outer: Op) -> bool {
        std::iter::successors(Some(inner), |&op| self.parent_op(op)).any(|op| op == outer)
    }
}
