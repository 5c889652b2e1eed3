//! Fuzzes the reader, the verifier and the writer: `fuzz_parser SECONDS [SEED] [FOLDER…]`.
//!
//! Seeds are the `.ir` and `.mlir` files below the folders (test/text if none is given), part by part, changed at random (`mutate`). Whatever the bytes:
//! - no panic, no overflow of a stack of 2 MiB, no case without an end;
//! - errors are shown in each style;
//! - what is read is written, in pretty and in generic form, as texts that are read and written as the same, and have the same
//!   problems for the verifier;
//! - time is bounded by what is read and what is written.
//!
//! A failure is written to `fuzz-SEED-CASE.ir`; `fuzz_parser --case FILE` runs that one.

#[path = "../common/mod.rs"]
mod common;
mod mutate;

use common::random::Random;
use common::supervise::{Fuzzer, Limits, run};
use mutate::Seeds;
use rinductor::defs::Library;
use rinductor::dialects::library;
use rinductor::ir::Ir;
use rinductor::ir::registry::Registry;
use rinductor::ir::verify::verify;
use rinductor::support::diag::render::{Style, render};
use rinductor::support::{Diagnostic, SourceMap};
use rinductor::text::{self, ParseOptions, PrintOptions};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// CPU time of this thread.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0))
}

/// CPU time that reading, verifying or writing may take: some to begin with, and some for each byte.
fn allowed(bytes: usize) -> Duration {
    Duration::from_millis(400) + Duration::from_micros(4) * u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Runs a step and holds it to its time.
fn timed<T>(what: &str, bytes: impl Fn(&T) -> usize, step: impl FnOnce() -> T) -> Result<T, String> {
    let before = cpu();
    let result = step();
    let (spent, bytes) = (cpu().saturating_sub(before), bytes(&result));
    if spent > allowed(bytes) {
        return Err(format!("{what} took {} ms for {bytes} bytes", spent.as_millis()));
    }
    Ok(result)
}

/// What the verifiers say, without places: those differ from text to text.
fn problems(ir: &mut Ir, registry: &Registry, library: &Library) -> Vec<String> {
    let module = ir.module();
    let mut wrong = verify(ir, registry, module);
    if wrong.is_empty() {
        wrong = library::verify(library, ir, module);
    }
    let mut messages: Vec<String> = wrong.into_iter().map(|d| d.message).collect();
    messages.sort();
    messages
}

fn show(diagnostics: &[Diagnostic], sources: &SourceMap) {
    for style in [Style::Rich, Style::Short, Style::Json] {
        let _ = render(&diagnostics[..diagnostics.len().min(4)], sources, style, true);
    }
}

/// What one text gives: whether it was read, and whether it has no problems; an error if a law does not hold.
fn check(bytes: &[u8], library: &Library, registry: &Registry) -> Result<(bool, bool), String> {
    let (text, _) = text::decode(bytes.to_vec());
    let parse = |text: &str, by_grammar_alone: bool| {
        let mut sources = SourceMap::new();
        let id = sources.add("fuzz.ir", text).map_err(|e| vec![Diagnostic::error_nowhere(e)])?;
        let (ir, errors) = {
            let options = ParseOptions::new(registry).allow_unregistered(true);
            text::parse(&sources, id, &ParseOptions { by_grammar_alone, ..options })
        };
        show(&errors, &sources);
        ir.ok_or(errors)
    };
    let read = |text: &str| timed("reading", |_| text.len(), || parse(text, false));
    let mut ir = match (read(&text)?, parse(&text, true)) {
        (Ok(ir), Ok(other)) => {
            let options = PrintOptions { generic: true, debuginfo: true, ..PrintOptions::default() };
            if text::print(&ir, registry, &options) != text::print(&other, registry, &options) {
                return Err("the grammar alone reads something else".into());
            }
            ir
        }
        // Where and what the first error is may differ: a bracket that is not closed is met at another place.
        (Err(_), Err(_)) => return Ok((false, false)),
        (one, _) => return Err(format!("only one way reads it: {}", if one.is_ok() { "scanned" } else { "grammar" })),
    };
    let wrong = timed("verifying", |_| text.len(), || problems(&mut ir, registry, library))?;
    let write = |ir: &Ir, generic: bool, debuginfo: bool| {
        let options = PrintOptions { generic, debuginfo, ..PrintOptions::default() };
        timed("writing", |out: &String| text.len().max(out.len()), || text::print(ir, registry, &options))
    };
    // The generic form says all but places.
    let meaning = write(&ir, true, false)?;
    for (generic, debuginfo) in [(false, false), (true, false), (false, true)] {
        let once = write(&ir, generic, debuginfo)?;
        let how = format!("what was written (generic: {generic}, debuginfo: {debuginfo})");
        let mut again = read(&once)?.map_err(|e| format!("{how} does not read: {}", e[0].message))?;
        if write(&again, generic, debuginfo)? != once {
            return Err(format!("{how} reads as something else"));
        }
        if write(&again, true, false)? != meaning {
            return Err(format!("{how} means something else"));
        }
        // Messages name values, and where a name cannot be used twice what is written has another.
        let others = problems(&mut again, registry, library);
        if others.len() != wrong.len() {
            return Err(format!("{how} has problems {others:?}, the text {wrong:?}"));
        }
    }
    Ok((true, wrong.is_empty()))
}

struct Texts {
    seed: u64,
    seeds: Seeds,
    library: Arc<Library>,
    registry: Registry,
}

impl Texts {
    fn make(&self, case: u64) -> Vec<u8> {
        mutate::mutate(&mut Random::new(self.seed, case), &self.seeds)
    }
}

/// On a thread whose stack is as small as a program's may be.
fn on_small_stack<T: Send>(f: impl FnOnce() -> T + Send) -> Result<T, String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(2 << 20).spawn_scoped(scope, f);
        thread.map_err(|e| e.to_string())?.join().map_err(|_| "panic".to_string())
    })
}

impl Fuzzer for Texts {
    fn counts(&self) -> &'static [&'static str] {
        &["read", "valid", "bytes"]
    }
    fn case(&mut self, case: u64, counts: &mut [u64]) -> Result<(), String> {
        let bytes = self.make(case);
        let (read, valid) = on_small_stack(|| check(&bytes, &self.library, &self.registry))??;
        counts[0] += u64::from(read);
        counts[1] += u64::from(valid);
        counts[2] += bytes.len() as u64;
        Ok(())
    }
    fn save(&self, case: u64) -> String {
        let file = format!("fuzz-{}-{case}.ir", self.seed);
        match std::fs::write(&file, self.make(case)) {
            Ok(()) => file,
            Err(e) => format!("{file} is not written: {e}"),
        }
    }
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    let mut paths: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|e| e == "ir" || e == "mlir") {
            out.push(path);
        }
    }
}

/// The parts of a file, between its split lines.
fn parts(bytes: &[u8]) -> Vec<Vec<u8>> {
    let (text, _) = text::decode(bytes.to_vec());
    text::split::split(&text).into_iter().map(|(_, part)| part.as_bytes().to_vec()).filter(|p| p.len() > 20).collect()
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let library = Arc::new(library::builtin());
    let registry = library::registry(&library);
    if let [flag, file] = args.as_slice()
        && flag == "--case"
    {
        let result = std::fs::read(file).map_err(|e| e.to_string());
        let result = result.and_then(|bytes| on_small_stack(|| check(&bytes, &library, &registry))?);
        println!("{result:?}");
        return if result.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let given = args.iter().position(|a| a == "--worker").unwrap_or(args.len());
    let number = |i: usize, other: u64| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(other);
    let mut paths = Vec::new();
    for folder in args[..given].get(2..).unwrap_or_default() {
        files(Path::new(folder), &mut paths);
    }
    if given <= 2 {
        files(Path::new("test/text"), &mut paths);
    }
    let all: Vec<Vec<u8>> = paths.iter().filter_map(|p| std::fs::read(p).ok()).flat_map(|b| parts(&b)).collect();
    if all.is_empty() {
        eprintln!("no .ir or .mlir files to begin with");
        return ExitCode::FAILURE;
    }
    // What is read already is the better start; the other files have words and forms that these lack.
    let readable = |bytes: &[u8]| {
        let mut sources = SourceMap::new();
        let id = sources.add("seed", String::from_utf8_lossy(bytes).into_owned()).ok()?;
        text::parse(&sources, id, &ParseOptions::new(&registry).allow_unregistered(true)).0
    };
    let (read, others) = all.into_iter().partition(|bytes| readable(bytes).is_some());
    let seeds = Seeds { read, others };
    let limits = Limits {
        time: Duration::from_secs(number(0, 60)),
        hang: Duration::from_secs(30),
        memory: 4 << 20,
        failures: 40,
    };
    run(&mut Texts { seed: number(1, 1), seeds, library, registry }, &args, limits)
}
