//! Runs the cases of a fuzzer in a child process and reports what the child does not survive: a signal, an abort (a stack that
//! overflowed), a case without an end.
//!
//! The child is this program with `--worker FROM STATE`: it writes the number of the case that it begins, and its counts, to the file STATE, and
//! reports failures itself. The parent reads STATE, ends a child that spends too much CPU time on one case, and starts another after that case.
//! Processor time is read from /proc, so the fuzzers run on Linux.

use std::fs::{File, read_to_string};
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::time::{Duration, Instant};

/// A fuzzer.
pub trait Fuzzer {
    /// The names of the counts that it keeps.
    fn counts(&self) -> &'static [&'static str];
    /// Runs one case and adds to the counts.
    ///
    /// # Errors
    /// What is wrong.
    fn case(&mut self, case: u64, counts: &mut [u64]) -> Result<(), String>;
    /// Writes what makes a case again, and gives the names of the files. Must not fail as the case does.
    fn save(&self, case: u64) -> String;
    /// As [`Fuzzer::save`] for a case that fails with a message: it may be made smaller.
    fn smaller(&self, case: u64, _message: &str) -> String {
        self.save(case)
    }
    /// Says at the end of a process what else there is to say.
    fn end(&self) {}
}

/// How long a run is, and what it gives up on.
pub struct Limits {
    /// How long cases are started.
    pub time: Duration,
    /// The CPU time after which a case counts as one without an end.
    pub hang: Duration,
    /// The address space of the child, in KiB.
    pub memory: u64,
    /// After so many failures the run ends.
    pub failures: u64,
}

/// CPU time of a process.
fn cpu_of(child: &Child) -> Option<Duration> {
    let text = read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 10))
}

/// Where a child stands: the case it works on, how many failed, its counts.
fn state(path: &Path) -> Option<(u64, u64, Vec<u64>)> {
    let text = read_to_string(path).ok()?;
    let mut numbers = text.split_whitespace().map_while(|n| n.parse().ok());
    Some((numbers.next()?, numbers.next()?, numbers.collect()))
}

/// The cases from `from` on, in this process: the child's side.
fn work(fuzzer: &mut dyn Fuzzer, from: u64, path: &Path, limits: &Limits) -> ExitCode {
    let Ok(file) = File::create(path) else { return ExitCode::FAILURE };
    let names = fuzzer.counts();
    let mut counts = vec![0u64; names.len()];
    let (start, mut failures) = (Instant::now(), 0);
    for case in from.. {
        let mut line = format!("{case:20} {failures:20}");
        counts.iter().for_each(|c| line.push_str(&format!(" {c:20}")));
        if file.write_all_at(line.as_bytes(), 0).is_err() {
            return ExitCode::FAILURE;
        }
        if start.elapsed() >= limits.time || failures >= limits.failures {
            break;
        }
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| fuzzer.case(case, &mut counts)));
        let message = match result {
            Ok(Ok(())) => continue,
            Ok(Err(message)) => message,
            Err(_) => "panic".to_string(),
        };
        failures += 1;
        println!("case {case}: {message}\n  {}", fuzzer.smaller(case, &message));
    }
    fuzzer.end();
    ExitCode::SUCCESS
}

/// A whole run. `args` are those of this process; `--worker` makes it the child of another.
pub fn run(fuzzer: &mut dyn Fuzzer, args: &[String], mut limits: Limits) -> ExitCode {
    if let [.., flag, from, left, path] = args
        && flag == "--worker"
    {
        limits.time = Duration::from_millis(left.parse().unwrap_or(0));
        return work(fuzzer, from.parse().unwrap_or(0), Path::new(path), &limits);
    }
    let Ok(program) = std::env::current_exe() else { return ExitCode::FAILURE };
    let path: PathBuf = std::env::temp_dir().join(format!("fuzz-{}", std::process::id()));
    let names = fuzzer.counts();
    let (start, mut from, mut failures) = (Instant::now(), 0, 0);
    let mut counts = vec![0; names.len()];
    while start.elapsed() < limits.time && failures < limits.failures {
        let left = (limits.time - start.elapsed()).as_millis().to_string();
        let mut command = Command::new("sh");
        command.args(["-c", r#"ulimit -v "$0"; exec "$@""#, &limits.memory.to_string()]).arg(&program).args(args);
        let Ok(mut child) = command.args(["--worker", &from.to_string(), &left]).arg(&path).spawn() else {
            eprintln!("cannot start {}", program.display());
            return ExitCode::FAILURE;
        };
        let (mut case, mut begun) = (from, Duration::ZERO);
        let (status, hangs) = loop {
            std::thread::sleep(Duration::from_millis(50));
            if let Ok(Some(status)) = child.try_wait() {
                break (status, false);
            }
            let (Some((now, ..)), Some(cpu)) = (state(&path), cpu_of(&child)) else { continue };
            if now != case {
                (case, begun) = (now, cpu);
            } else if cpu.saturating_sub(begun) > limits.hang {
                let _ = child.kill();
                if let Ok(status) = child.wait() {
                    break (status, true);
                }
            }
        };
        let Some((case, failed, some)) = state(&path) else {
            eprintln!("the child says nothing: {status}");
            return ExitCode::FAILURE;
        };
        counts.iter_mut().zip(some).for_each(|(all, one)| *all += one);
        failures += failed;
        from = case;
        if !status.success() {
            let how = match (hangs, status.signal()) {
                (true, _) => "no end".to_string(),
                (_, Some(signal)) => format!("signal {signal}"),
                _ => status.to_string(),
            };
            println!("case {case}: {how}\n  {}", fuzzer.save(case));
            failures += 1;
            from = case + 1;
        }
    }
    let _ = std::fs::remove_file(&path);
    let counts: Vec<String> = names.iter().zip(&counts).map(|(name, n)| format!("{n} {name}")).collect();
    println!("{from} cases ({}), {} s: {failures} failures", counts.join(", "), start.elapsed().as_secs());
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
