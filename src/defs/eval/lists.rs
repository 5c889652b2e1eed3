//! Lists, and the arithmetic of shapes.

use super::{EvalError, Evaluator, Result, Value};
use rinductor_index::Expr as IndexExpr;
use rinductor_support::Span;
use std::rc::Rc;

impl Evaluator<'_> {
    /// The items of a list.
    pub(super) fn list_of(&self, value: &Value, span: Span) -> Result<Rc<[Value]>> {
        match value {
            Value::List(items) | Value::Tuple(items) => Ok(items.clone()),
            other => Err(EvalError::new(span, format!("{} is not a list", other.kind()))),
        }
    }

    /// A list of integers. An integer counts as a list of one.
    pub(super) fn int_list(&mut self, value: &Value, span: Span) -> Result<Vec<IndexExpr>> {
        if let Value::Int(e) = value {
            return Ok(vec![*e]);
        }
        let items = self.list_of(value, span)?;
        items
            .iter()
            .map(|v| {
                self.as_index(v).ok_or_else(|| EvalError::new(span, format!("the list holds {}, not an int", v.kind())))
            })
            .collect()
    }

    /// A known integer.
    pub(super) fn constant(&mut self, value: &Value, span: Span) -> Result<i64> {
        let Some(e) = self.as_index(value) else {
            return Err(EvalError::new(span, format!("{} is not an int", value.kind())));
        };
        let e = if self.exprs.as_int(e).is_none() { self.exprs.simplify(e, &self.facts) } else { e };
        match self.exprs.as_int(e) {
            Some(i) => Ok(i),
            None => {
                let message = format!("{} has to be known when the op is compiled", self.exprs.display(e));
                Err(EvalError { undecided: true, ..EvalError::new(span, message) })
            }
        }
    }

    pub(super) fn constants(&mut self, value: &Value, span: Span) -> Result<Vec<i64>> {
        if let Value::Int(_) = value {
            return Ok(vec![self.constant(value, span)?]);
        }
        let items = self.list_of(value, span)?;
        items.iter().map(|v| self.constant(v, span)).collect()
    }

    /// A dimension counted from the first. A tensor without dimensions has a dimension 0 for this.
    pub(super) fn dim(&self, d: i64, rank: i64, span: Span) -> Result<i64> {
        let n = rank.max(1);
        if (-n..n).contains(&d) {
            return Ok(if d < 0 { d + n } else { d });
        }
        Err(EvalError::new(span, format!("dimension {d} is not one of the {rank} dimensions")))
    }

    /// Dimensions counted from the first; all for none or an empty list. Of a tensor without dimensions: none.
    pub(super) fn dims_of(&mut self, dims: &Value, rank: i64, span: Span) -> Result<Vec<i64>> {
        let listed = match dims {
            Value::None => Vec::new(),
            other => self.constants(other, span)?,
        };
        if listed.is_empty() {
            return Ok((0..rank).collect());
        }
        let mut out = Vec::new();
        for d in listed {
            let d = self.dim(d, rank, span)?;
            if out.contains(&d) {
                return Err(EvalError::new(span, format!("dimension {d} stands twice in the list of dimensions")));
            }
            out.push(d);
        }
        if rank == 0 {
            out.clear();
        }
        Ok(out)
    }

    /// Whether two sizes are known to be equal.
    pub(super) fn same(&mut self, a: IndexExpr, b: IndexExpr) -> Option<bool> {
        if a == b { Some(true) } else { self.exprs.prove_eq(a, b, &self.facts) }
    }

    pub(super) fn is_one(&mut self, e: IndexExpr) -> bool {
        let one = self.exprs.int(1);
        self.same(e, one) == Some(true)
    }

    /// The sizes that shapes broadcast to. Sizes that are not known to differ are taken to be the same.
    pub(super) fn broadcast(&mut self, shapes: &[Vec<IndexExpr>], span: Span) -> Result<Vec<IndexExpr>> {
        let rank = shapes.iter().map(Vec::len).max().unwrap_or(0);
        let one = self.exprs.int(1);
        let mut out = vec![one; rank];
        for shape in shapes {
            let start = rank - shape.len();
            for (i, &size) in shape.iter().enumerate() {
                let current = out[start + i];
                if self.is_one(size) || current == size {
                    continue;
                }
                if self.is_one(current) {
                    out[start + i] = size;
                    continue;
                }
                if self.same(current, size) == Some(false) {
                    let shown: Vec<String> = shapes
                        .iter()
                        .map(|s| {
                            format!("[{}]", s.iter().map(|e| self.exprs.display(*e)).collect::<Vec<_>>().join(", "))
                        })
                        .collect();
                    return Err(EvalError::new(span, format!("sizes {} do not broadcast", shown.join(" and "))));
                }
                // A constant says more than a symbol that it has to be equal to.
                if self.exprs.as_int(size).is_some() {
                    out[start + i] = size;
                }
            }
        }
        Ok(out)
    }

    /// Where an element at `point` of the broadcast space stands in a tensor of sizes `shape`.
    pub(super) fn broadcast_point(
        &mut self,
        shape: &[IndexExpr],
        space: &[IndexExpr],
        point: &[IndexExpr],
    ) -> Vec<IndexExpr> {
        let start = point.len().saturating_sub(shape.len());
        let zero = self.exprs.int(0);
        (0..shape.len())
            .map(|i| {
                let at = start + i;
                let stretched = self.is_one(shape[i]) && space.get(at).is_none_or(|s| !self.is_one(*s));
                if stretched { zero } else { point.get(at).copied().unwrap_or(zero) }
            })
            .collect()
    }

    pub(super) fn product(&mut self, items: &[IndexExpr]) -> IndexExpr {
        self.exprs.product(items)
    }

    /// Row-major position of a point.
    pub(super) fn linear(&mut self, point: &[IndexExpr], sizes: &[IndexExpr]) -> IndexExpr {
        let mut position = self.exprs.int(0);
        for (p, size) in point.iter().zip(sizes) {
            let scaled = self.exprs.mul(position, *size);
            position = self.exprs.add(scaled, *p);
        }
        let expanded = self.exprs.expand(position);
        self.exprs.simplify(expanded, &self.facts)
    }

    /// The point at a row-major position.
    pub(super) fn delinear(&mut self, position: IndexExpr, sizes: &[IndexExpr]) -> Vec<IndexExpr> {
        let mut out = Vec::with_capacity(sizes.len());
        for (d, size) in sizes.iter().enumerate() {
            let below = self.product(&sizes[d + 1..]);
            let mut coordinate = self.exprs.floordiv(position, below);
            if d > 0 {
                coordinate = self.exprs.modulo(coordinate, *size);
            }
            out.push(self.exprs.simplify(coordinate, &self.facts));
        }
        out
    }

    /// With -1 replaced so that the product is `n`.
    pub(super) fn infer_size(&mut self, sizes: &[IndexExpr], n: IndexExpr, span: Span) -> Result<Vec<IndexExpr>> {
        let mut out = sizes.to_vec();
        let open: Vec<usize> = (0..out.len()).filter(|&i| self.exprs.as_int(out[i]) == Some(-1)).collect();
        match open[..] {
            [] => {}
            [i] => {
                let others: Vec<IndexExpr> =
                    out.iter().copied().enumerate().filter(|(j, _)| *j != i).map(|(_, e)| e).collect();
                let rest = self.product(&others);
                if self.exprs.as_int(rest) == Some(0) {
                    return Err(EvalError::new(span, "-1 cannot be inferred, since another size is 0"));
                }
                let quotient = self.exprs.floordiv(n, rest);
                out[i] = self.exprs.simplify(quotient, &self.facts);
            }
            _ => return Err(EvalError::new(span, "only one size may be -1")),
        }
        let product = self.product(&out);
        let (expanded, n) = (self.exprs.expand(product), self.exprs.expand(n));
        if self.same(expanded, n) == Some(false) {
            let shown = self.show(&Value::ints(sizes));
            return Err(EvalError::new(span, format!("{} elements do not have sizes {shown}", self.exprs.display(n))));
        }
        Ok(out)
    }

    pub(super) fn reduced_sizes(&mut self, sizes: &[IndexExpr], dims: &[i64], keep: bool) -> Vec<IndexExpr> {
        let one = self.exprs.int(1);
        sizes
            .iter()
            .enumerate()
            .filter_map(|(d, size)| match (dims.contains(&(d as i64)), keep) {
                (false, _) => Some(*size),
                (true, true) => Some(one),
                (true, false) => None,
            })
            .collect()
    }
}
