//! The threads that extern ops and the compiler run on, and how many a kernel gets (see `team`).
//!
//! The usual number of threads is that of rayon's own pool. For every other number there is a pool that is made when it is first asked for. The
//! threads of a pool are not there in a process that was forked: such a process makes pools of its own.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Arc, Mutex, OnceLock, TryLockError};

/// The process in which rayon's own pool works.
static HOME: OnceLock<u32> = OnceLock::new();

/// A pool, with the process that made it and its number of threads.
type Made = (u32, usize, Arc<ThreadPool>);

static POOLS: Mutex<Vec<Made>> = Mutex::new(Vec::new());

/// Says that this process may use rayon's own pool. The first call of [`run`] says so too: it is for a program that forks after other work.
pub fn start() {
    HOME.get_or_init(std::process::id);
}

/// How many threads a number stands for: 0 for as many as there usually are.
pub fn count(threads: usize) -> usize {
    if threads == 0 { rayon::current_num_threads() } else { threads }
}

/// Runs `f` so that parallel work in it has this number of threads; 0 for as many as there usually are. Inside of such work it runs as it is: on
/// the threads that are there.
pub fn run<R: Send>(threads: usize, f: impl FnOnce() -> R + Send) -> R {
    if rayon::current_thread_index().is_some() {
        return f();
    }
    let process = std::process::id();
    let home = *HOME.get_or_init(|| process) == process;
    // The number alone is known in a forked process too.
    let usual = rayon::current_num_threads();
    let threads = if threads == 0 { usual } else { threads };
    if home && threads == usual {
        return f();
    }
    match pool(process, threads) {
        Some(pool) => pool.install(f),
        // The system gives no more threads. In a forked process rayon's own pool would wait for ever, but there is nothing better to try.
        None => f(),
    }
}

/// The pool of a process with this number of threads.
fn pool(process: u32, threads: usize) -> Option<Arc<ThreadPool>> {
    let make = || ThreadPoolBuilder::new().num_threads(threads).build().ok().map(Arc::new);
    for _ in 0..1000 {
        let mut pools = match POOLS.try_lock() {
            Ok(pools) => pools,
            Err(TryLockError::Poisoned(e)) => e.into_inner(),
            Err(TryLockError::WouldBlock) => {
                std::thread::yield_now();
                continue;
            }
        };
        if let Some(found) = pools.iter().find(|p| p.0 == process && p.1 == threads) {
            return Some(found.2.clone());
        }
        // The threads of another process's pool cannot be ended here.
        let (own, others) = std::mem::take(&mut *pools).into_iter().partition(|p| p.0 == process);
        *pools = own;
        std::mem::forget::<Vec<Made>>(others);
        let made = make()?;
        pools.push((process, threads, made.clone()));
        return Some(made);
    }
    // A thread that was not forked along holds the lock.
    make()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_has_the_number_of_threads_that_was_asked_for() {
        assert_eq!(run(3, rayon::current_num_threads), 3);
        assert_eq!(run(1, || run(2, rayon::current_num_threads)), 1);
        assert_eq!(run(0, rayon::current_num_threads), rayon::current_num_threads());
        let (a, b) = (pool(std::process::id(), 3), pool(std::process::id(), 3));
        assert!(Arc::ptr_eq(&a.expect("made before"), &b.expect("made before")));
    }

    #[test]
    fn another_process_has_other_pools() {
        let mine = pool(std::process::id(), 2).expect("two threads");
        let other = pool(0, 2).expect("two threads");
        assert!(!Arc::ptr_eq(&mine, &other));
        assert_eq!(other.install(rayon::current_num_threads), 2);
    }
}
