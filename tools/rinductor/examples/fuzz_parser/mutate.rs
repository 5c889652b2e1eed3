//! Random changes to texts. Most keep some of the structure (tokens, lines, balanced brackets), so that what comes out is often still read;
//! some are blind.

use crate::common::random::Random;

/// About as long as a text is made.
const LONGEST: usize = 256 << 10;

/// Words that the grammar gives a meaning, and what is at its edges.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "{", "}", "({", "})", "}, {", "(", ")", "[", "]", "<", ">", "<{", "}>", "->", ":", ",", "=", "\"", "\\", "\n", "//", "#", "!", "%", "^", "@", "::",
    "*", "+", "-", "?", "|", "/", ".", "...", "'", "`", "$", "&", ";", "~", "\t", "\r\n", "\r", "%x", "%x#1", "%0:2 = ", "^bb0", "^bb1:", "#a = ",
    "!t = ", "#a", "!t", "loc(", "loc(unknown)", "loc(\"a\":1:2)", "loc(callsite(\"a\" at ", "loc(fused<", "{-#", "#-}", "module {", "module @m {",
    "func.func @f(", "func.func private @f()", "return", "i32", "i1", "si8", "ui8", "i16777216", "f32", "bf16", "f8E4M3FN", "complex<f32>", "index", "none",
    "tensor<", "tensor<0x4xf32>", "4x?x", "0x", "memref<*x", "memref<4xf32, ", "vector<[4]x", "vector<f32>", "tuple<", "tuple<>", "() -> ", "(i32) -> ()",
    "dense<", "dense<[]>", "dense<\"0x00\">", "dense<[1, [2]]>", "dense_resource<a>", "sparse<", "array<i64: ", "array<i1>", "affine_map<",
    "affine_map<(d0)[s0] -> (d0 floordiv ", "affine_set<", "strided<", "strided<[1, ?], offset: ?>", "distinct[0]<", "opaque<",
    "#aten.layout<sizes = [s0]>", "#aten.layout<sizes = [s0], strides = [1], offset = ", "#index.map<(d0) -> (d0)>", "#index.map<(d0) -> (d0 floordiv 0)>",
    "0x7F", "-1", "0", "1", "-0", "1.0e5", "1.", "1e", "1.5e400", "0x7FC00000", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
    "18446744073709551616", "340282366920938463463374607431768211456", "00", "4294967296", "true", "false", "unit", "arith.addi ",
    "arith.constant 1 : i32", "math.exp %x fastmath<", "loops.load %x[%i, ", "loops.pointwise (%i) in [4] -> tensor<4xf32> {", "loops.yield", " floordiv ",
    " mod ", " ceildiv ", "max(", "min(", "kernels.for r ", "carry (", "axes {", "axes {x = 4 tile 1 parallel}", "\"t.op\"(", "\"t.op\"() : () -> ()",
    "() : () -> ()", " : () -> ()", "attributes {", "aten.add.Tensor %x, %x", "\"\\00\\FF\"", "\u{e9}", "\u{1F600}", "\u{202E}", "\0", "\u{FEFF}",
    "\u{FFFF}", "// -----\n",
];

/// What opens and closes something that nests.
const NESTS: &[(&str, &str)] = &[
    ("(", ")"),
    ("[", "]"),
    ("{", "}"),
    ("<", ">"),
    ("({", "})"),
    ("\"t.op\"() ({\n", "}) : () -> ()\n"),
    ("\"t.op\"() ({\n^bb0(%a: i32):\n", "}) : () -> ()\n"),
    ("module {\n", "}\n"),
    ("func.func @f() {\n", "}\n"),
    ("tuple<", ">"),
    ("complex<", ">"),
    ("vector<4x", ">"),
    ("tensor<4x", ">"),
    ("tensor<4xf32, ", ">"),
    ("memref<4x", ">"),
    ("() -> ", ""),
    ("(", ") -> ()"),
    ("!a.b<", ">"),
    ("#a.b<", ">"),
    ("{a = ", "}"),
    ("[a, ", "]"),
    ("dense<", ">"),
    ("dense<[", "]>"),
    ("array<i32: ", ">"),
    ("-", ""),
    ("-(", ")"),
    ("(d0 + ", ")"),
    ("max(1, ", ")"),
    ("affine_map<() -> (", ")>"),
    ("#index.map<() -> (", ")>"),
    ("loc(", ")"),
    ("callsite(", " at unknown)"),
    ("fused[", "]"),
    ("\"a\"(", ")"),
    ("distinct[1]<", ">"),
    ("@a::", ""),
    ("loops.pointwise (%i) in [4] -> tensor<4xf32> {\n", "}\n"),
    ("kernels.for r {\n", "}\n"),
    ("\"", "\""),
    ("\\\"", "\\\""),
];

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Class {
    Space,
    Word,
    Number,
    Text,
    Value,
    Block,
    Symbol,
    Alias,
    Mark,
}

fn tokens(text: &[u8]) -> Vec<(Class, std::ops::Range<usize>)> {
    let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$') || b >= 0x80;
    let mut out = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let run = |from: usize, ok: &dyn Fn(u8) -> bool| {
            text[from..].iter().position(|&b| !ok(b)).map_or(text.len(), |n| from + n)
        };
        let (class, end) = match text[at] {
            b' ' | b'\t' | b'\r' | b'\n' => (Class::Space, run(at, &|b| b.is_ascii_whitespace()).max(at + 1)),
            b'/' if text.get(at + 1) == Some(&b'/') => (Class::Space, run(at, &|b| b != b'\n')),
            b'"' => {
                let mut end = at + 1;
                while end < text.len() && text[end] != b'"' {
                    end += 1 + usize::from(text[end] == b'\\');
                }
                (Class::Text, (end + 1).min(text.len()))
            }
            b'%' => (Class::Value, run(at + 1, &|b| word(b) || b == b'#' || b == b'-')),
            b'^' => (Class::Block, run(at + 1, &word)),
            b'@' => (Class::Symbol, run(at + 1, &word)),
            b'#' | b'!' => (Class::Alias, run(at + 1, &word)),
            b'0'..=b'9' => {
                (Class::Number, run(at, &|b| b.is_ascii_hexdigit() || matches!(b, b'x' | b'.' | b'e' | b'+')))
            }
            b'-' if text.get(at + 1) == Some(&b'>') => (Class::Mark, at + 2),
            b if word(b) => (Class::Word, run(at, &word)),
            _ => (Class::Mark, at + 1),
        };
        out.push((class, at..end));
        at = end;
    }
    out
}

/// The text from one bracket to what closes it, among tokens.
fn group(text: &[u8], tokens: &[(Class, std::ops::Range<usize>)], open: usize) -> Option<std::ops::Range<usize>> {
    let mut depth = 0usize;
    for (class, range) in &tokens[open..] {
        if *class == Class::Mark && range.len() == 1 {
            match text[range.start] {
                b'(' | b'[' | b'{' | b'<' => depth += 1,
                b')' | b']' | b'}' | b'>' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        if depth == 0 {
            return (range.start > tokens[open].1.start).then_some(tokens[open].1.start..range.end);
        }
    }
    None
}

/// A balanced group of a text that begins with one of the brackets, or with any.
fn some_group(random: &mut Random, text: &[u8], bracket: Option<u8>) -> Option<std::ops::Range<usize>> {
    let tokens = tokens(text);
    let open: Vec<usize> = (0..tokens.len())
        .filter(|&k| {
            let b = text[tokens[k].1.start];
            tokens[k].0 == Class::Mark && bracket.map_or(matches!(b, b'(' | b'[' | b'{' | b'<'), |wanted| b == wanted)
        })
        .collect();
    if open.is_empty() {
        return None;
    }
    let k = *random.pick(&open);
    group(text, &tokens, k)
}

/// The texts to begin with.
pub struct Seeds {
    /// Texts without errors.
    pub read: Vec<Vec<u8>>,
    /// The others.
    pub others: Vec<Vec<u8>>,
}

impl Seeds {
    fn pick<'a>(&'a self, random: &mut Random) -> &'a [u8] {
        let others = self.read.is_empty() || !self.others.is_empty() && random.one_in(6);
        random.pick::<Vec<u8>>(if others { &self.others } else { &self.read })
    }
}

/// A piece of a text: about as long as seeds are, cut at line breaks.
fn piece<'a>(random: &mut Random, seeds: &'a Seeds) -> &'a [u8] {
    let seed = seeds.pick(random);
    if seed.len() <= 16 << 10 || random.one_in(50) {
        return seed;
    }
    let from = random.below(seed.len() - (8 << 10));
    let from = seed[from..].iter().position(|&b| b == b'\n').map_or(0, |n| from + n + 1);
    &seed[from..(from + (1 << 10) + random.below(8 << 10)).min(seed.len())]
}

fn number(random: &mut Random) -> Vec<u8> {
    match random.below(8) {
        0 => b"0".to_vec(),
        1 => format!("{}", 1u64 << random.below(64)).into_bytes(),
        2 => format!("-{}", 1u64 << random.below(64)).into_bytes(),
        3 => format!("{}", random.next()).into_bytes(),
        4 => b"9".repeat(1 << random.below(12)),
        5 => format!("0x{}", "F".repeat(1 << random.below(8))).into_bytes(),
        6 => format!("{}.{}e{}", random.below(10), random.next(), random.below(700) as i64 - 350).into_bytes(),
        _ => format!("{}", random.below(20)).into_bytes(),
    }
}

/// One change.
fn change(random: &mut Random, bytes: &mut Vec<u8>, seeds: &Seeds) {
    let at = random.below(bytes.len() + 1);
    let len = random.below(40).min(bytes.len() - at);
    match random.below(20) {
        // Blind.
        0 => drop(bytes.drain(at..at + len)),
        1 if at < bytes.len() => bytes[at] = random.next() as u8,
        2 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        3 => bytes.truncate(at),
        4 => {
            let other = seeds.pick(random);
            let from = random.below(other.len() + 1);
            let to = from + random.below(200).min(other.len() - from);
            bytes.splice(at..at, other[from..to].iter().copied());
        }
        5 => {
            let word = random.pick(WORDS).as_bytes();
            bytes.splice(at..at + len.min(8), word.iter().copied());
        }
        // Lines.
        6 | 7 => {
            let mut lines: Vec<&[u8]> = bytes.split_inclusive(|&b| b == b'\n').collect();
            let count = 1 + random.below(3);
            let from = random.below(lines.len() + 1);
            let to = (from + count).min(lines.len());
            match random.below(4) {
                0 => drop(lines.drain(from..to)),
                1 => lines[from..].rotate_left(to - from),
                2 => {
                    let some = lines[from..to].to_vec();
                    let most = if random.one_in(8) { 13 } else { 4 };
                    let times = 1 << random.below(most);
                    let times = times.min(1 + LONGEST / (1 + some.iter().map(|l| l.len()).sum::<usize>()));
                    lines.splice(from..from, some.repeat(times));
                }
                _ => {
                    let other = piece(random, seeds);
                    let some: Vec<&[u8]> = other.split_inclusive(|&b| b == b'\n').collect();
                    let first = random.below(some.len() + 1);
                    let some = &some[first..(first + 1 + random.below(6)).min(some.len())];
                    lines.splice(from..to, some.iter().copied());
                }
            }
            *bytes = lines.concat();
        }
        // Nesting.
        8 | 9 => {
            let (open, close) = *random.pick(NESTS);
            let most = if random.one_in(4) { 15 } else { 6 };
            let depth = 1 << random.below(most);
            let depth = depth.min(1 + LONGEST / (open.len() + close.len()));
            let range = some_group(random, bytes, None).filter(|_| !random.one_in(3)).unwrap_or(at..at);
            let unbalanced = random.one_in(4);
            let closes = if unbalanced { random.below(2 * depth) } else { depth };
            let new = [open.repeat(depth).as_bytes(), &bytes[range.clone()], close.repeat(closes).as_bytes()].concat();
            bytes.splice(range, new);
        }
        10 => {
            let word = random.pick(WORDS).repeat(1 << random.below(11));
            bytes.splice(at..at, word.bytes());
        }
        // Groups and tokens.
        11..=13 => {
            let Some(range) = some_group(random, bytes, None) else { return };
            let bracket = bytes[range.start];
            let other = if random.one_in(3) { bytes.clone() } else { piece(random, seeds).to_vec() };
            let wanted = if random.one_in(10) { None } else { Some(bracket) };
            let Some(from) = some_group(random, &other, wanted) else { return };
            bytes.splice(range, other[from].iter().copied());
        }
        14..=16 => {
            let all = tokens(bytes);
            if all.is_empty() {
                return;
            }
            let (class, range) = random.pick(&all).clone();
            if class == Class::Number && random.one_in(2) {
                bytes.splice(range, number(random));
                return;
            }
            let other = if random.one_in(2) { bytes.clone() } else { piece(random, seeds).to_vec() };
            let same: Vec<_> = tokens(&other).into_iter().filter(|t| t.0 == class).collect();
            if !same.is_empty() {
                let from = random.pick(&same).1.clone();
                bytes.splice(range, other[from].iter().copied());
            }
        }
        17 | 18 => {
            let all = tokens(bytes);
            if all.len() < 2 {
                return;
            }
            let k = random.below(all.len() - 1);
            let (a, b) = (all[k].1.clone(), all[k + 1].1.clone());
            match random.below(3) {
                0 => drop(bytes.drain(a)),
                1 => {
                    let twice = bytes[a.clone()].repeat(2);
                    bytes.splice(a, twice);
                }
                _ => bytes[a.start..b.end].rotate_left(a.len()),
            }
        }
        _ => {
            let other = piece(random, seeds);
            bytes.extend_from_slice(if random.one_in(2) { b"\n// -----\n" } else { b"\n" });
            bytes.extend_from_slice(other);
        }
    }
}

/// A text made of the seeds; of at most [`LONGEST`] bytes and one change.
pub fn mutate(random: &mut Random, seeds: &Seeds) -> Vec<u8> {
    let mut bytes = piece(random, seeds).to_vec();
    let changes = if random.one_in(2) { 1 } else { 1 + random.below(5) };
    for _ in 0..changes {
        change(random, &mut bytes, seeds);
        if bytes.len() > LONGEST {
            break;
        }
    }
    bytes
}
