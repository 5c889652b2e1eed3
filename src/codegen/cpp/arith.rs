//! Operations of one or two values in C++.

use super::build::{CppBuild, INDEX, TRUTH};
use super::node::{Kind, Made, Type, Value};
use crate::codegen::vector::build::{Binary, Build, Convert, FloatPredicate, IntPredicate, Math};

impl CppBuild {
    /// An operation of two values.
    pub(super) fn binary(&self, op: Binary, a: Value, b: Value) -> Value {
        let t = self.ty(a);
        let vector = t.lanes > 1;
        let truth = t.kind == Kind::Int(1);
        if let Some((x, y)) = self.constants(a, b) {
            let folded = match op {
                Binary::And => Some(x & y),
                Binary::Or => Some(x | y),
                Binary::Xor => Some(x ^ y),
                Binary::SDiv | Binary::UDiv if y > 0 && x >= 0 => Some(x / y),
                Binary::SRem | Binary::URem if y > 0 && x >= 0 => Some(x % y),
                Binary::Add if t == INDEX => Some(x.wrapping_add(y)),
                _ => None,
            };
            if let Some(v) = folded {
                return self.int(t, v);
            }
        }
        match op {
            Binary::FAdd => self.infix(t, "+", a, b),
            Binary::FSub => self.infix(t, "-", a, b),
            Binary::FMul => self.infix(t, "*", a, b),
            Binary::FDiv => self.infix(t, "/", a, b),
            Binary::Add if vector => self.infix(t, "+", a, b),
            Binary::Sub if vector => self.infix(t, "-", a, b),
            Binary::Mul if vector => self.infix(t, "*", a, b),
            Binary::Add => self.call(t, self.typed("add", t), &[a, b]),
            Binary::Sub => self.call(t, self.typed("sub", t), &[a, b]),
            Binary::Mul => self.call(t, self.typed("mul", t), &[a, b]),
            Binary::SDiv => self.infix(t, "/", a, b),
            Binary::SRem => self.infix(t, "%", a, b),
            // Indices are not negative.
            Binary::UDiv if t.kind == Kind::Int(64) => self.infix(t, "/", a, b),
            Binary::URem if t.kind == Kind::Int(64) => self.infix(t, "%", a, b),
            Binary::UDiv => self.call(t, self.typed("udiv", t), &[a, b]),
            Binary::URem => self.call(t, self.typed("urem", t), &[a, b]),
            Binary::Xor if matches!(self.made(b), Made::Int(-1)) => self.push(t, Made::Prefix("~", a)),
            Binary::Xor if truth && matches!(self.made(b), Made::Int(1)) => self.push(t, Made::Prefix("!", a)),
            Binary::Xor if truth && !vector => self.infix(t, "!=", a, b),
            Binary::And if truth && !vector => self.infix(t, "&", a, b),
            Binary::And => self.infix(t, "&", a, b),
            Binary::Or => self.infix(t, "|", a, b),
            Binary::Xor => self.infix(t, "^", a, b),
            Binary::Shl => self.call(t, self.typed("shl", t), &[a, b]),
            Binary::LShr => self.call(t, self.typed("ushr", t), &[a, b]),
            Binary::AShr => self.infix(t, ">>", a, b),
        }
    }
    /// A comparison of integers.
    pub(super) fn compared(&self, p: IntPredicate, a: Value, b: Value) -> Value {
        use IntPredicate::*;
        let t = self.ty(a);
        let r = Type { kind: Kind::Int(1), lanes: t.lanes };
        if let Some((x, y)) = self.constants(a, b)
            && t == INDEX
        {
            let (ux, uy) = (x as u64, y as u64);
            let c = match p {
                EQ => x == y,
                NE => x != y,
                SLT => x < y,
                SLE => x <= y,
                SGT => x > y,
                SGE => x >= y,
                ULT => ux < uy,
                ULE => ux <= uy,
                UGT => ux > uy,
                UGE => ux >= uy,
            };
            return self.int(r, c.into());
        }
        if t.kind == Kind::Int(1) && t.lanes > 1 {
            // Masks are compared as what they are: sets of lanes.
            let differ = self.infix(r, "^", a, b);
            return match p {
                NE => differ,
                EQ => self.not(differ),
                ULT | SGT => self.and(self.not(a), b),
                UGT | SLT => self.and(a, self.not(b)),
                ULE | SGE => self.or(self.not(a), b),
                UGE | SLE => self.or(a, self.not(b)),
            };
        }
        match p {
            EQ => self.infix(r, "==", a, b),
            NE => self.infix(r, "!=", a, b),
            SLT => self.infix(r, "<", a, b),
            SLE => self.infix(r, "<=", a, b),
            SGT => self.infix(r, ">", a, b),
            SGE => self.infix(r, ">=", a, b),
            // Truth values are ordered as they are written.
            ULT | UGT | ULE | UGE if t.kind == Kind::Int(1) => {
                let op = match p {
                    ULT => "<",
                    UGT => ">",
                    ULE => "<=",
                    _ => ">=",
                };
                self.infix(r, op, a, b)
            }
            ULT => self.call(r, self.typed("less_unsigned", t), &[a, b]),
            UGT => self.call(r, self.typed("less_unsigned", t), &[b, a]),
            ULE => self.not(self.call(r, self.typed("less_unsigned", t), &[b, a])),
            UGE => self.not(self.call(r, self.typed("less_unsigned", t), &[a, b])),
        }
    }
    /// A comparison of floats.
    pub(super) fn float_compared(&self, p: FloatPredicate, a: Value, b: Value) -> Value {
        use FloatPredicate::*;
        let r = Type { kind: Kind::Int(1), lanes: self.ty(a).lanes };
        let nan = |x| self.call(r, "is_nan", &[x]);
        match p {
            PredicateFalse => self.int(r, 0),
            PredicateTrue => self.int(r, 1),
            OEQ => self.infix(r, "==", a, b),
            OGT => self.infix(r, ">", a, b),
            OGE => self.infix(r, ">=", a, b),
            OLT => self.infix(r, "<", a, b),
            OLE => self.infix(r, "<=", a, b),
            UNE => self.infix(r, "!=", a, b),
            ONE => self.or(self.infix(r, "<", a, b), self.infix(r, ">", a, b)),
            UNO if a == b => nan(a),
            UNO => self.or(nan(a), nan(b)),
            ORD => self.not(self.fcmp(UNO, a, b)),
            UEQ => self.not(self.fcmp(ONE, a, b)),
            UGT => self.not(self.infix(r, "<=", a, b)),
            UGE => self.not(self.infix(r, "<", a, b)),
            ULT => self.not(self.infix(r, ">=", a, b)),
            ULE => self.not(self.infix(r, ">", a, b)),
        }
    }
    /// One of two values.
    pub(super) fn selected(&self, c: Value, a: Value, b: Value) -> Value {
        let (ct, t) = (self.ty(c), self.ty(a));
        if let Some(c) = self.as_truth(c) {
            return if c { a } else { b };
        }
        if a == b {
            return a;
        }
        if t.is_mask() && ct.lanes > 1 {
            return self.or(self.and(c, a), self.and(self.not(c), b));
        }
        if t.kind == Kind::Pointer {
            return self.call(t, "pick", &[c, a, b]);
        }
        if ct.lanes > 1 { self.call(t, "select", &[c, a, b]) } else { self.push(t, Made::Choice(c, a, b)) }
    }
    /// A conversion.
    pub(super) fn converted(&self, op: Convert, v: Value, to: Type) -> Value {
        let from = self.ty(v);
        if from == to {
            return v;
        }
        if to.lanes == 1
            && let Made::Int(i) = self.made(v)
        {
            // Constants of indices.
            match (op, from.kind, to.kind) {
                (Convert::SExt | Convert::Trunc, _, Kind::Int(_)) => return self.int(to, i),
                (Convert::ZExt, Kind::Int(1), Kind::Int(_)) => return self.int(to, i),
                _ => {}
            }
        }
        let half = Kind::Float(16);
        match op {
            Convert::BitCast if from.kind == half || to.kind == half => self.retyped(v, to),
            Convert::BitCast if to.lanes > 1 => self.call(to, format!("bits_of<{}>", to.text()), &[v]),
            Convert::BitCast => self.call(to, format!("bits<{}>", to.text()), &[v]),
            Convert::FPExt if from.kind == half => self.call(to, "from_half", &[v]),
            Convert::FPTrunc if to.kind == half => self.call(to, "to_half", &[v]),
            _ if to.is_mask() => {
                // The lowest bit.
                let one = self.int(from, 1);
                self.icmp(IntPredicate::NE, self.and(v, one), self.int(from, 0))
            }
            _ if to.kind == Kind::Int(1) => {
                let one = self.int(from, 1);
                self.icmp(IntPredicate::NE, self.infix(from, "&", v, one), self.int(from, 0))
            }
            _ if from.is_mask() => {
                let yes = match op {
                    Convert::SExt | Convert::SIToFP => -1,
                    _ => 1,
                };
                let (yes, no) = match to.kind {
                    Kind::Float(_) => (self.float(to, yes as f64), self.float(to, 0.0)),
                    _ => (self.int(to, yes), self.int(to, 0)),
                };
                self.call(to, "select", &[v, yes, no])
            }
            _ if from.kind == Kind::Int(1) && matches!(op, Convert::SExt | Convert::SIToFP) => {
                let plain = self.call(to, to.text(), &[v]);
                self.push(to, Made::Prefix("-", plain))
            }
            Convert::ZExt | Convert::UIToFP if from.kind != Kind::Int(1) => {
                let bits = if let Kind::Int(bits) = from.kind { bits } else { 64 };
                if to.lanes > 1 {
                    // As the signed numbers that they are in a wider type, without what the sign has added.
                    let wide = Type {
                        kind: if let Kind::Int(_) = to.kind { to.kind } else { Kind::Int((2 * bits).min(64)) },
                        ..to
                    };
                    let w = self.call(wide, format!("convert<{}>", wide.text()), &[v]);
                    let mask = self.int(wide, if bits < 64 { (1 << bits) - 1 } else { -1 });
                    let low = self.infix(wide, "&", w, mask);
                    return if wide == to { low } else { self.call(to, format!("convert<{}>", to.text()), &[low]) };
                }
                let unsigned = self.call(to, format!("uint{bits}_t"), &[v]);
                self.call(to, to.text(), &[unsigned])
            }
            _ if to.lanes > 1 => self.call(to, format!("convert<{}>", to.text()), &[v]),
            _ => self.call(to, to.text(), &[v]),
        }
    }
    /// A function that is an instruction.
    pub(super) fn function_of(&self, f: Math, args: &[Value]) -> Value {
        let t = self.ty(args[0]);
        if t == INDEX
            && args.len() == 2
            && let Some((x, y)) = self.constants(args[0], args[1])
        {
            match f {
                Math::SMin => return self.int(t, x.min(y)),
                Math::SMax => return self.int(t, x.max(y)),
                _ => {}
            }
        }
        if t.kind == Kind::Int(1) {
            // The lesser of truth values is their conjunction.
            match f {
                Math::UMin => return self.and(args[0], args[1]),
                Math::UMax => return self.or(args[0], args[1]),
                Math::AnyLane => return self.call(TRUTH, "any", args),
                Math::AllLanes => return self.not(self.call(TRUTH, "any", &[self.not(args[0])])),
                _ => {}
            }
        }
        let name = match f {
            Math::SMin => self.typed("min", t),
            Math::SMax => self.typed("max", t),
            Math::UMin => self.typed("umin", t),
            Math::UMax => self.typed("umax", t),
            Math::Abs => "abs".into(),
            Math::Sqrt => "sqrt".into(),
            Math::Floor => "floor".into(),
            Math::Ceil => "ceil".into(),
            Math::Trunc => "trunc".into(),
            Math::Rint => "rint".into(),
            Math::CopySign => "copysign".into(),
            Math::Fma => "fma".into(),
            Math::Minimum => "minimum".into(),
            Math::Maximum => "maximum".into(),
            Math::AnyLane | Math::AllLanes => "any".into(),
        };
        self.call(t, name, args)
    }
    /// A vector with one lane replaced.
    pub(super) fn inserted(&self, v: Value, one: Value, lane: u32) -> Value {
        let t = self.ty(v);
        if t.lanes == 1 {
            return one;
        }
        let mut all = match self.made(v) {
            Made::Lanes(all) => all,
            Made::Int(0) => vec![None; t.lanes as usize],
            Made::Float(0.0) => vec![None; t.lanes as usize],
            _ => (0..t.lanes).map(|k| Some(self.extract(v, k))).collect(),
        };
        all[lane as usize] = Some(one);
        self.push(t, Made::Lanes(all))
    }
    /// Some lanes of a vector.
    pub(super) fn sliced(&self, v: Value, start: u32, count: u32) -> Value {
        let t = self.ty(v);
        if t.lanes == count {
            return v;
        }
        if count == 1 {
            return self.extract(v, start);
        }
        let part = Type { lanes: count, ..t };
        match self.made(v) {
            Made::Int(i) => self.int(part, i),
            Made::Float(x) => self.float(part, x),
            Made::Splat(s) => self.push(part, Made::Splat(s)),
            _ if t.is_mask() => self.call(part, format!("slice_mask<{count}, {start}>"), &[v]),
            _ => self.call(part, format!("slice<{}, {start}>", part.text()), &[v]),
        }
    }
}
