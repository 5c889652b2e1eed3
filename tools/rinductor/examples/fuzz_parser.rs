//! Fuzzes the reader and the writer: `fuzz_parser SECONDS [SEED] [FOLDER…]`. Seeds are the `.ir` files of the folders (test/text if none is
//! given), changed at random. Whatever the bytes: no panic, and what is read is written as a text that reads and writes the same.
//! A failure is written to `fuzz-SEED-N.ir`, with the seed that makes it again.

use rinductor::dialects::library;
use rinductor::ir::registry::Registry;
use rinductor::ir::verify::verify;
use rinductor::support::SourceMap;
use rinductor::text::{self, ParseOptions, PrintOptions};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// A counter-based generator (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Words that the grammar gives a meaning.
const WORDS: &[&str] = &[
    "{",
    "}",
    "({",
    "})",
    "}, {",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    "<{",
    "}>",
    "->",
    ":",
    ",",
    "=",
    "\"",
    "\\",
    "\n",
    "//",
    "#",
    "!",
    "%",
    "^",
    "@",
    "::",
    "%x",
    "%x#1",
    "%0:2 = ",
    "^bb0",
    "^bb1:",
    "#a = ",
    "!t = ",
    "#a",
    "!t",
    "loc(",
    "loc(unknown)",
    "{-#",
    "#-}",
    "module {",
    "func.func @f(",
    "return",
    "i32",
    "f32",
    "index",
    "tensor<",
    "4x?x",
    "memref<*x",
    "vector<[4]x",
    "tuple<",
    "dense<",
    "array<i64: ",
    "affine_map<",
    "strided<",
    "distinct[0]<",
    "#aten.layout<sizes = [s0]>",
    "#index.map<(d0) -> (d0)>",
    "0x7F",
    "-1",
    "1.0e5",
    "18446744073709551616",
    "true",
    "unit",
    "arith.addi ",
    "loops.load %x[%i, ",
    "floordiv",
    " mod ",
    "kernels.for r ",
    "carry (",
    "axes {",
    "\"t.op\"(",
    "() : () -> ()",
    "attributes {",
    "\u{e9}",
    "\0",
    "\u{FFFF}",
];

fn mutate(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..1 + random.below(6) {
        let at = random.below(bytes.len() + 1);
        let len = random.below(40).min(bytes.len() - at);
        match random.below(8) {
            0 => drop(bytes.drain(at..at + len)),
            1 => {
                let part = bytes[at..at + len].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, part);
            }
            2 if at < bytes.len() => bytes[at] = random.next() as u8,
            3 => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len());
                let to = from + random.below(200).min(other.len() - from);
                bytes.splice(at..at, other[from..to].iter().copied());
            }
            4 => {
                let word = WORDS[random.below(WORDS.len())].repeat(1 << random.below(11));
                bytes.splice(at..at, word.bytes());
            }
            5 => bytes.truncate(at),
            _ => {
                let word = WORDS[random.below(WORDS.len())];
                bytes.splice(at..at + len.min(8), word.bytes());
            }
        }
    }
    bytes
}

/// What one text gives: whether it was read; an error if a law does not hold.
fn check(bytes: &[u8], registry: &Registry) -> Result<bool, String> {
    let (text, _) = text::decode(bytes.to_vec());
    let read = |text: &str| {
        let mut sources = SourceMap::new();
        let id = sources.add("fuzz.ir", text).ok()?;
        let (ir, errors) = text::parse(&sources, id, &ParseOptions::new(registry).allow_unregistered(true));
        for e in &errors {
            let _line: String = e.headline(&sources);
        }
        ir
    };
    let Some(ir) = read(&text) else { return Ok(false) };
    let _problems = verify(&ir, registry, ir.module());
    for generic in [false, true] {
        let options = PrintOptions { generic, ..PrintOptions::default() };
        let once = text::print(&ir, registry, &options);
        let Some(again) = read(&once) else {
            return Err(format!("what was written (generic: {generic}) does not read"));
        };
        if text::print(&again, registry, &options) != once {
            return Err(format!("what was written (generic: {generic}) reads as something else"));
        }
    }
    Ok(true)
}

fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, other: u64| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(other);
    let (seconds, seed) = (number(0, 60), number(1, 1));
    let mut folders: Vec<String> = args.iter().skip(2).cloned().collect();
    if folders.is_empty() {
        folders.push("test/text".into());
    }
    let mut seeds = Vec::new();
    for folder in &folders {
        let mut paths: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
        paths.sort();
        seeds.extend(
            paths
                .iter()
                .filter(|p| p.extension().is_some_and(|e| e == "ir" || e == "mlir"))
                .filter_map(|p| std::fs::read(p).ok()),
        );
    }
    if seeds.is_empty() {
        eprintln!("no .ir files in {folders:?}");
        return std::process::ExitCode::FAILURE;
    }
    let registry = library::registry(&std::sync::Arc::new(library::builtin()));
    let mut random = Random(seed);
    let (mut runs, mut readable, mut failures) = (0u64, 0u64, 0u64);
    let mut slowest = Duration::ZERO;
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(seconds) {
        let bytes = mutate(&mut random, &seeds);
        let before = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| check(&bytes, &registry)));
        slowest = slowest.max(before.elapsed());
        runs += 1;
        let message = match result {
            Ok(Ok(read)) => {
                readable += u64::from(read);
                continue;
            }
            Ok(Err(message)) => message,
            Err(_) => "panic".to_string(),
        };
        failures += 1;
        let file = format!("fuzz-{seed}-{runs}.ir");
        let saved = std::fs::write(&file, &bytes).map_or("not saved", |()| "saved");
        eprintln!("{file} ({saved}): {message}");
        if failures >= 20 {
            break;
        }
    }
    println!(
        "{runs} texts, {readable} of them readable, slowest {} ms, seed {seed}: {failures} failures",
        slowest.as_millis()
    );
    if failures == 0 { std::process::ExitCode::SUCCESS } else { std::process::ExitCode::FAILURE }
}
