//! Programs outside of the runner: finding, starting and ending them.

use std::collections::HashMap;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::tool::Environment;

/// What a running test can be watched and stopped by. The thread that runs the test and the one that watches it share it.
#[derive(Default)]
pub struct Control {
    timed_out: AtomicBool,
    children: Mutex<Vec<u32>>,
    in_process_since: Mutex<Option<Instant>>,
    processes: AtomicU32,
    calls: AtomicU32,
}

impl Control {
    /// Whether the time of the test is over.
    pub fn timed_out(&self) -> bool {
        self.timed_out.load(Ordering::SeqCst)
    }

    /// Ends the test: its processes, with their descendants, are killed, and no more are started.
    pub fn stop(&self) {
        self.timed_out.store(true, Ordering::SeqCst);
        for pid in self.children.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            kill_tree(pid);
        }
    }

    /// How long a tool or a built-in command has been running in this process by now; none if none is.
    pub fn in_process_for(&self) -> Option<Duration> {
        self.in_process_since.lock().unwrap_or_else(PoisonError::into_inner).map(|since| since.elapsed())
    }

    /// Runs something in this process, which the watching thread then sees.
    pub fn in_process<T>(&self, work: impl FnOnce() -> T) -> T {
        let set = |since| *self.in_process_since.lock().unwrap_or_else(PoisonError::into_inner) = since;
        set(Some(Instant::now()));
        let done = work();
        set(None);
        done
    }

    /// Counts a tool that is called in this process.
    pub fn count_call(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// How many processes were started, and how many tools were called in this process.
    pub fn started(&self) -> (u32, u32) {
        (self.processes.load(Ordering::Relaxed), self.calls.load(Ordering::Relaxed))
    }

    fn add(&self, pid: u32) {
        self.processes.fetch_add(1, Ordering::Relaxed);
        self.children.lock().unwrap_or_else(PoisonError::into_inner).push(pid);
        // The time may have run out between the check before the start and now.
        if self.timed_out() {
            self.stop();
        }
    }

    fn remove(&self, pid: u32) {
        self.children.lock().unwrap_or_else(PoisonError::into_inner).retain(|&p| p != pid);
    }
}

/// What a process is given beside its arguments.
pub struct Setting<'a> {
    /// The working directory.
    pub cwd: &'a Path,
    /// The whole environment.
    pub env: &'a Environment,
    /// The umask set by the test.
    pub umask: Option<&'a str>,
    /// Limits set by the test: the letter of `ulimit` and its value in the unit of `ulimit`.
    pub limits: &'a [(char, String)],
}

/// A process with its streams connected.
pub struct Running {
    child: Child,
}

/// Starts a program. The first of `args` is what the program sees as its own name.
pub fn start(
    program: &Path,
    args: &[String],
    setting: &Setting<'_>,
    (stdin, stdout, stderr): (Stdio, Stdio, Stdio),
    control: &Control,
) -> io::Result<Running> {
    let (name, rest) = args.split_first().ok_or_else(|| io::Error::other("a command without words"))?;
    let mut command;
    if setting.umask.is_none() && setting.limits.is_empty() {
        command = Command::new(program);
        command.arg0(name).args(rest);
    } else {
        // Limits and umask belong to the process, so a shell sets them and becomes the program.
        let mut text = String::new();
        if let Some(umask) = setting.umask {
            text.push_str(&format!("umask {umask} && "));
        }
        for (letter, value) in setting.limits {
            text.push_str(&format!("ulimit -{letter} {value} && "));
        }
        text.push_str("exec \"$0\" \"$@\"");
        command = Command::new("/bin/sh");
        command.arg("-c").arg(text).arg(program).args(rest);
    }
    command.current_dir(setting.cwd).env_clear().envs(setting.env);
    command.stdin(stdin).stdout(stdout).stderr(stderr);
    let mut attempts = 0;
    let child = loop {
        match command.spawn() {
            Ok(child) => break child,
            // A program that the test has just written may for a moment still be open in a child of another thread.
            Err(e) if e.kind() == io::ErrorKind::ExecutableFileBusy && attempts < 50 => {
                attempts += 1;
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(e) => return Err(e),
        }
    };
    control.add(child.id());
    Ok(Running { child })
}

impl Running {
    /// Waits for the end and gives the exit status; that of a process ended by a signal is the signal's negative number.
    pub fn wait(mut self, control: &Control) -> i32 {
        let status = self.child.wait();
        control.remove(self.child.id());
        status.map_or(127, exit_code)
    }
}

fn exit_code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| -signal)).unwrap_or(127)
}

/// Finds a program as a shell does: a name with a slash is a path, another one is searched in `PATH`.
pub fn find(name: &str, cwd: &Path, path: &str) -> Option<PathBuf> {
    if name.is_empty() {
        return None;
    }
    if name.contains('/') {
        let candidate = cwd.join(name);
        return is_executable(&candidate).then_some(candidate);
    }
    path.split(':').filter(|d| !d.is_empty()).map(|d| cwd.join(d).join(name)).find(|p| is_executable(p))
}

/// Whether there is a program of this name.
pub fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// Kills a process and all that descend from it, where the system lists processes; else the process alone.
pub fn kill_tree(root: u32) {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse::<u32>().ok()) else { continue };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        // The name, in parentheses, may hold anything; state and parent follow the last of them.
        let parent = stat.rsplit(')').next().and_then(|t| t.split_whitespace().nth(1)).and_then(|p| p.parse().ok());
        if let Some(parent) = parent {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut doomed = vec![root];
    let mut next = 0;
    while let Some(&pid) = doomed.get(next) {
        doomed.extend(children.get(&pid).into_iter().flatten());
        next += 1;
    }
    for pid in doomed {
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stopping_ends_descendants() {
        let control = Control::default();
        let env = Environment::from([("PATH".to_string(), "/usr/bin:/bin".to_string())]);
        let setting = Setting { cwd: Path::new("/"), env: &env, umask: None, limits: &[] };
        let args = ["sh", "-c", "sleep 100 | sleep 100"].map(str::to_string);
        let shell = find("sh", Path::new("/"), "/usr/bin:/bin").expect("there is a shell");
        let streams = (Stdio::null(), Stdio::null(), Stdio::null());
        let running = start(&shell, &args, &setting, streams, &control).expect("starts");
        let begun = Instant::now();
        std::thread::sleep(Duration::from_millis(50));
        control.stop();
        assert_eq!(running.wait(&control), -9);
        assert!(begun.elapsed() < Duration::from_secs(50));
    }
}
