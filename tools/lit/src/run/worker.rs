//! The worker process: runs tests on a pool of threads, and watches them.
//!
//! A test whose time is over has its processes killed. One that hangs in a tool of this process cannot be killed: it is
//! reported, its thread is left alone, and another thread takes its place; the process ends without waiting for it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::Extensions;
use crate::config::Config;
use crate::features::{Features, ProbeContext};
use crate::result::{Code, TestResult};
use crate::run::case::{Context, TestCase};
use crate::run::panics;
use crate::run::protocol::{Done, Job, Setup};
use crate::shell::process::Control;
use crate::toolbox::Toolbox;

/// Stack of the threads that run tests; deep recursion in a tool is no crash of the runner.
const STACK: usize = 64 << 20;

/// How long a stopped test may take to come to its end before its thread is given up.
const GRACE: Duration = Duration::from_secs(2);

struct Pool {
    setup: Setup,
    configs: Vec<(Arc<Config>, Arc<Features>)>,
    extensions: Extensions,
    toolbox: Toolbox,
    isolated: Toolbox,
    jobs: Mutex<Receiver<Job>>,
    answers: Mutex<UnixStream>,
    watched: Mutex<Vec<Arc<Watched>>>,
}

/// A running test, as the watcher sees it.
struct Watched {
    id: usize,
    control: Control,
    started: Instant,
    limit: Option<Duration>,
    in_process_limit: Duration,
    stopped: Mutex<Option<Instant>>,
    answered: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs as worker on the socket that is standard input, until the other side closes it.
pub fn main(extensions: Extensions) -> i32 {
    use std::os::fd::AsFd;
    let socket = match std::io::stdin().as_fd().try_clone_to_owned() {
        Ok(fd) => UnixStream::from(fd),
        Err(_) => return 2,
    };
    serve(extensions, socket).map_or(2, |()| 0)
}

fn serve(extensions: Extensions, socket: UnixStream) -> std::io::Result<()> {
    panics::keep_quiet();
    let mut lines = BufReader::new(socket.try_clone()?).lines();
    let Some(first) = lines.next() else { return Ok(()) };
    let setup: Setup = serde_json::from_str(&first?)?;
    let runner = std::env::current_exe().ok();
    let toolbox = Toolbox {
        registry: extensions.tools.clone(),
        isolated: setup.flags.no_in_process,
        runner,
        programs: Vec::new(),
    };
    let configs = setup.configs.iter().map(|config| {
        let context = ProbeContext {
            directory: config.source_root.clone(),
            environment: config.environment.clone(),
            params: setup.params.clone(),
            programs: config.programs.clone(),
            built_in: toolbox.registry.names().map(str::to_string).collect(),
        };
        let features = Features::new(config.features.clone(), &config.probes, context);
        (Arc::new(config.clone()), Arc::new(features))
    });
    let configs: Vec<_> = configs.collect();
    let (sender, receiver) = mpsc::channel();
    let pool = Arc::new(Pool {
        configs,
        extensions,
        isolated: Toolbox { isolated: true, ..toolbox.clone() },
        toolbox,
        jobs: Mutex::new(receiver),
        answers: Mutex::new(socket),
        watched: Mutex::default(),
        setup,
    });
    for _ in 0..pool.setup.threads {
        pool.add_thread();
    }
    let watcher = pool.clone();
    std::thread::spawn(move || watcher.watch());
    for line in lines.map_while(Result::ok) {
        let Ok(job) = serde_json::from_str::<Job>(&line) else { break };
        if sender.send(job).is_err() {
            break;
        }
    }
    // The supervisor is gone, so nobody waits for the tests that run: their processes are not left behind.
    for test in lock(&pool.watched).iter() {
        test.control.stop();
    }
    Ok(())
}

impl Pool {
    fn add_thread(self: &Arc<Self>) {
        let pool = self.clone();
        let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || pool.work());
        // Without thread the jobs stay where they are; the supervisor sees a worker that does not answer.
        drop(thread);
    }

    fn work(&self) {
        loop {
            let job = lock(&self.jobs).recv();
            let Ok(job) = job else { return };
            if !self.run(&job) {
                return;
            }
        }
    }

    /// Runs a job. Gives false if the watcher has given up this thread.
    fn run(&self, job: &Job) -> bool {
        let Some((config, features)) = self.configs.get(job.config) else { return true };
        let watched = Arc::new(Watched {
            id: job.id,
            control: Control::default(),
            started: Instant::now(),
            limit: (config.timeout > 0).then(|| Duration::from_secs(config.timeout)),
            in_process_limit: Duration::from_secs(config.in_process_timeout),
            stopped: Mutex::default(),
            answered: AtomicBool::new(false),
        });
        lock(&self.watched).push(watched.clone());
        let start = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64());
        let path = job.path.join("/");
        let test = TestCase {
            name: format!("{} :: {path}", config.name),
            source: config.source_root.join(&path),
            exec: config.exec_root.join(&path),
            path,
            config: config.clone(),
            features: features.clone(),
            marks: job.marks.clone(),
        };
        let mut toolbox = if job.isolated { self.isolated.clone() } else { self.toolbox.clone() };
        toolbox.programs.clone_from(&config.programs);
        let context = Context { toolbox: &toolbox, control: &watched.control, flags: &self.setup.flags };
        let format = config.format_of(&test.path);
        let mut result = match self.extensions.formats.iter().find(|f| f.kind() == format) {
            None => TestResult::new(Code::Unresolved, format!("there is no test format '{format}'")),
            Some(format) => catch_unwind(AssertUnwindSafe(|| format.run(&test, &context))).unwrap_or_else(|panic| {
                let message = format!("the test format {}", panics::describe(panic.as_ref()));
                TestResult::new(Code::Unresolved, message)
            }),
        };
        result.start = start;
        result.elapsed = Some(watched.started.elapsed().as_secs_f64());
        (result.processes, result.calls) = watched.control.started();
        lock(&self.watched).retain(|w| !Arc::ptr_eq(w, &watched));
        let mine = !watched.answered.swap(true, Ordering::SeqCst);
        if mine {
            self.answer(job.id, result);
        }
        mine
    }

    fn answer(&self, id: usize, result: TestResult) {
        if let Ok(mut line) = serde_json::to_vec(&Done { id, result }) {
            line.push(b'\n');
            // If the supervisor is gone there is nobody to answer.
            let _ = lock(&self.answers).write_all(&line);
        }
    }

    /// Ends tests whose time is over. Never returns.
    fn watch(self: &Arc<Self>) {
        loop {
            std::thread::sleep(Duration::from_millis(20));
            let running = lock(&self.watched).clone();
            for test in running {
                self.look_at(&test);
            }
        }
    }

    fn look_at(self: &Arc<Self>, test: &Arc<Watched>) {
        let stopped = *lock(&test.stopped);
        if let Some(stopped) = stopped {
            if stopped.elapsed() > GRACE && !test.answered.swap(true, Ordering::SeqCst) {
                lock(&self.watched).retain(|w| !Arc::ptr_eq(w, test));
                let seconds = test.started.elapsed().as_secs_f64();
                let what = "a command that runs in the process of the test runner does not come to an end";
                let advice = "run it with --no-in-process to see tools as processes of their own";
                let log = format!("Timeout: {what} (after {seconds:.1} seconds)\n{advice}\n");
                let mut result = TestResult::new(Code::Timeout, log);
                result.elapsed = Some(seconds);
                (result.processes, result.calls) = test.control.started();
                self.answer(test.id, result);
                self.add_thread();
            }
            return;
        }
        let over = test.limit.is_some_and(|limit| test.started.elapsed() > limit);
        let hangs = test.limit.is_none() && test.control.in_process_for().is_some_and(|t| t > test.in_process_limit);
        if over || hangs {
            *lock(&test.stopped) = Some(Instant::now());
            test.control.stop();
        }
    }
}
