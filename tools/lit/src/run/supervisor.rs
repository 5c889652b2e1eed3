//! Gives tests to a worker process and collects their results. If the worker dies, the tests that it had are run again
//! with their tools as processes of their own, by a new worker; and if that dies too, one at a time, to find the one that kills it.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::result::{Code, TestResult};
use crate::run::protocol::{Done, Job, Setup};

/// The argument by which the runner's own program becomes a worker.
pub const AS_WORKER: &str = "--as-worker";

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All tests have results.
    Complete,
    /// The time of the whole run was over.
    OutOfTime,
    /// The receiver of results wanted no more.
    Stopped,
    /// The user wanted no more.
    Interrupted,
}

struct Worker {
    child: Child,
    socket: UnixStream,
    answers: Receiver<Done>,
}

impl Worker {
    fn start(setup: &[u8]) -> Result<Worker, String> {
        use std::os::unix::process::CommandExt;
        let failed = |e: std::io::Error| format!("cannot start a worker process: {e}");
        let program = std::env::current_exe().map_err(failed)?;
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let mut command = Command::new(program);
        // Standard error is a pipe, as it is for a tool that is a process: a terminal there would change the width of help texts.
        command.arg(AS_WORKER).stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null()).stderr(Stdio::piped());
        // A group of its own: the signals of the terminal are for this process, which then ends the worker.
        command.process_group(0);
        let mut child = command.spawn().map_err(failed)?;
        if let Some(mut stderr) = child.stderr.take() {
            std::thread::spawn(move || drop(std::io::copy(&mut stderr, &mut std::io::stderr())));
        }
        // The command holds the other end of the socket; without this, the end of the worker would not be seen.
        drop(command);
        let reader = BufReader::new(ours.try_clone().map_err(failed)?);
        let (sender, answers) = mpsc::channel();
        std::thread::spawn(move || {
            for line in reader.lines().map_while(Result::ok) {
                let Ok(done) = serde_json::from_str(&line) else { break };
                if sender.send(done).is_err() {
                    break;
                }
            }
        });
        let mut worker = Worker { child, socket: ours, answers };
        // A worker that is dead already shows when its answers end.
        let _ = worker.socket.write_all(setup);
        Ok(worker)
    }

    fn send(&mut self, job: &Job) {
        if let Ok(mut line) = serde_json::to_vec(job) {
            line.push(b'\n');
            let _ = self.socket.write_all(&line);
        }
    }

    /// Ends the worker, with all processes of its tests.
    fn stop(mut self) {
        crate::shell::process::kill_tree(self.child.id());
        let _ = self.child.wait();
    }
}

/// How often to look whether the user wants no more.
const PAUSE: Duration = Duration::from_millis(100);

/// Runs the jobs. `on_result` gets each result as it comes, and says whether to go on; so does `interrupted`.
pub fn run(
    setup: &Setup,
    jobs: Vec<Job>,
    deadline: Option<Instant>,
    interrupted: &AtomicBool,
    mut on_result: impl FnMut(usize, TestResult) -> bool,
) -> Result<End, String> {
    let mut first = serde_json::to_vec(setup).map_err(|e| e.to_string())?;
    first.push(b'\n');
    let mut queue = VecDeque::from(jobs);
    let mut running: BTreeMap<usize, Job> = BTreeMap::new();
    let mut worker = Worker::start(&first)?;
    // A few more than there are threads, so that no thread waits for the way to here and back.
    let window = setup.threads + setup.threads.min(16);
    // How many of the next jobs run alone.
    let mut alone = 0_usize;
    let end = loop {
        if interrupted.load(Ordering::SeqCst) {
            break End::Interrupted;
        }
        while running.len() < if alone > 0 { 1 } else { window }
            && let Some(job) = queue.pop_front()
        {
            worker.send(&job);
            running.insert(job.id, job);
        }
        if running.is_empty() {
            break End::Complete;
        }
        let wait = deadline.map_or(PAUSE, |d| d.saturating_duration_since(Instant::now()).min(PAUSE));
        match worker.answers.recv_timeout(wait) {
            Ok(done) => {
                if running.remove(&done.id).is_some() {
                    alone = alone.saturating_sub(1);
                    if !on_result(done.id, done.result) {
                        break End::Stopped;
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) if deadline.is_some_and(|d| Instant::now() >= d) => break End::OutOfTime,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                worker.stop();
                let mut stop = false;
                // Tools that are processes do not end the worker; what a test does to it all the same is found by running it alone.
                let isolated = running.values().all(|job| job.isolated);
                let found = isolated && running.len() == 1;
                if isolated && !found {
                    alone = running.len();
                } else if found {
                    alone = alone.saturating_sub(1);
                }
                for (id, job) in std::mem::take(&mut running) {
                    if found {
                        let message = "the process of the test runner ended while this test alone was running in it";
                        stop |= !on_result(id, TestResult::new(Code::Unresolved, message));
                    } else {
                        queue.push_front(Job { isolated: true, ..job });
                    }
                }
                worker = Worker::start(&first)?;
                if stop {
                    break End::Stopped;
                }
            }
        }
    };
    worker.stop();
    Ok(end)
}
