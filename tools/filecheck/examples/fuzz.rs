//! Compares verdicts and reports with another FileCheck on random pairs of a check file and an input.
//!
//!     cargo run --example fuzz -p rinductor-filecheck -- FileCheck-22 20000 [FIRST-SEED [reports|all]]
//!
//! Prints each pair with another verdict (or with another report too, or all pairs), with its seed and both reports; then counts. A pair on which the other
//! program crashes or takes ten seconds is counted apart. Leaves with 1 if a verdict differs or ours panics.

#[path = "../tests/generate/mod.rs"]
mod generate;

use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use generate::{Case, case};
use rinductor_filecheck::command::{Finished, Surroundings, run};

/// What the other program did.
enum Theirs {
    Finished(i32, Vec<u8>),
    Crashed,
    Slow,
}

/// Which pairs are printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// Those with another verdict.
    Verdicts,
    /// Those with another report too.
    Reports,
    /// All.
    All,
}

#[derive(Default)]
struct Counts {
    codes: [AtomicU64; 3],
    verdicts: AtomicU64,
    reports: AtomicU64,
    panics: AtomicU64,
    crashes: AtomicU64,
    slow: AtomicU64,
}

fn arguments(case: &Case) -> Vec<String> {
    let files = ["check.txt", "--input-file", "input.txt"].map(str::to_owned);
    case.arguments.iter().cloned().chain(files).collect()
}

fn theirs(program: &str, directory: &Path, case: &Case) -> std::io::Result<Theirs> {
    let error_file = directory.join("stderr.txt");
    let mut child = Command::new(program)
        .args(arguments(case))
        .current_dir(directory)
        .env_remove("FILECHECK_OPTS")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&error_file)?)
        .spawn()?;
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if start.elapsed() > Duration::from_secs(10) {
            child.kill()?;
            child.wait()?;
            return Ok(Theirs::Slow);
        }
        std::thread::sleep(Duration::from_micros(300));
    };
    let report = std::fs::read(&error_file)?;
    Ok(status.code().filter(|&code| code <= 2).map_or(Theirs::Crashed, |code| Theirs::Finished(code, report)))
}

fn ours(directory: &Path, case: &Case) -> Option<Finished> {
    let surroundings = Surroundings { directory, stdin: &[], filecheck_opts: None, color: false };
    std::panic::catch_unwind(|| run(&arguments(case), &surroundings)).ok()
}

fn compare(program: &str, directory: &Path, seed: u64, counts: &Counts, shown: Shown) -> std::io::Result<()> {
    let case = case(seed);
    std::fs::write(directory.join("check.txt"), &case.check)?;
    std::fs::write(directory.join("input.txt"), &case.input)?;
    let count = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
    let show = |title: &str, parts: &[(&str, &[u8])]| {
        let mut out = std::io::stdout().lock();
        let mut text = format!("==== {title}: seed {seed}, {:?}\n", case.arguments).into_bytes();
        for (name, part) in [("check", &case.check[..]), ("input", &case.input[..])].iter().chain(parts) {
            text.extend(format!("---- {name}\n{}\n", part.escape_ascii().to_string().replace("\\n", "\n")).bytes());
        }
        out.write_all(&text)
    };
    let Some(ours) = ours(directory, &case) else {
        count(&counts.panics);
        return show("panic", &[]);
    };
    match theirs(program, directory, &case)? {
        Theirs::Crashed => {
            count(&counts.crashes);
        }
        Theirs::Slow => {
            count(&counts.slow);
        }
        Theirs::Finished(code, report) => {
            count(&counts.codes[code as usize]);
            let strip =
                |text: &[u8]| String::from_utf8_lossy(text).replace("rinductor-filecheck", "").replace(program, "");
            if code != ours.code {
                count(&counts.verdicts);
                show(&format!("verdict {code}, ours {}", ours.code), &[("theirs", &report), ("ours", &ours.stderr)])?;
            } else if strip(&report) != strip(&ours.stderr) {
                count(&counts.reports);
                if shown != Shown::Verdicts {
                    show("report", &[("theirs", &report), ("ours", &ours.stderr)])?;
                }
            } else if shown == Shown::All {
                show(&format!("same {code}"), &[("both", &report)])?;
            }
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [program, rounds, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: fuzz FILECHECK ROUNDS [FIRST-SEED [reports|all]]");
        return ExitCode::from(2);
    };
    let rounds: u64 = rounds.parse().unwrap_or(1000);
    let first: u64 = rest.first().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let shown = match rest.get(1).map(String::as_str) {
        Some("all") => Shown::All,
        Some("reports") => Shown::Reports,
        _ => Shown::Verdicts,
    };
    let counts = Counts::default();
    let next = AtomicU64::new(0);
    std::panic::set_hook(Box::new(|_| {}));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for number in 0..threads {
            let (counts, next) = (&counts, &next);
            scope.spawn(move || {
                let directory = std::env::temp_dir().join(format!("filecheck-fuzz-{}-{number}", std::process::id()));
                std::fs::create_dir_all(&directory).expect("the temporary directory can be written");
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= rounds {
                        break;
                    }
                    if let Err(error) = compare(program, &directory, first + index, counts, shown) {
                        eprintln!("seed {}: {error}", first + index);
                    }
                }
                // What is left behind in the temporary directory is small.
                let _ = std::fs::remove_dir_all(&directory);
            });
        }
    });
    let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let [matched, mismatched, faulty] = counts.codes.each_ref().map(get);
    println!(
        "{rounds} pairs: {matched} match, {mismatched} do not, {faulty} are faulty; verdicts that differ {}, panics {}, \
         reports that differ {}; the other program crashed on {} and was slow on {}",
        get(&counts.verdicts),
        get(&counts.panics),
        get(&counts.reports),
        get(&counts.crashes),
        get(&counts.slow)
    );
    ExitCode::from(u8::from(get(&counts.verdicts) + get(&counts.panics) > 0))
}
