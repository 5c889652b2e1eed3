//! The threads that run the parts of a kernel, with the thread that launches it among them.
//!
//! A kernel often takes less time than it takes to wake a thread. So the caller does not wait for anybody: it takes parts itself, the others take
//! what is left when they come, and who comes too late finds nothing to do. A thread that has run out of parts looks out for the next kernel for
//! a moment before it sleeps.
//!
//! There is one team in a process. While it works for one caller, others do their parts alone. In a process that was forked the threads are not there:
//! it makes a team of its own.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// How long a thread looks out for work before it sleeps.
const PATIENCE: Duration = Duration::from_micros(30);

/// The gate: the lowest byte counts the members inside, the highest bit says that it is open, what is between numbers the jobs.
const INSIDE: u64 = 0xff;
const JOB: u64 = 0x100;
const OPEN: u64 = 1 << 63;

/// The most members that a team may have: they must fit into the count of the gate.
const MOST: usize = 128;

/// The work that the team does.
#[derive(Clone, Copy)]
struct Job {
    /// The parts, as what runs one of them.
    part: *const (dyn Fn(usize) + Sync),
    /// How many there are.
    parts: usize,
    /// How many members may be inside.
    seats: u64,
}

struct Team {
    process: u32,
    gate: AtomicU64,
    /// The next part to do.
    next: AtomicUsize,
    /// Written by who has the turn while the gate is closed and nobody is inside; read by who is inside.
    job: UnsafeCell<Option<Job>>,
    /// Whose turn it is to give work, and the members.
    turn: Mutex<Vec<Member>>,
}

// SAFETY: the job is guarded by the gate, as its comment says.
unsafe impl Sync for Team {}
// SAFETY: as above; the pointer in the job is used only while the caller that it belongs to waits.
unsafe impl Send for Team {}

struct Member {
    thread: Thread,
    sleeps: Arc<AtomicBool>,
}

/// Runs `part` for each of `0..parts`, on at most `threads` threads. `part` must not panic.
pub fn run(threads: usize, parts: usize, part: &(dyn Fn(usize) + Sync)) {
    if threads > 1 && parts > 1 {
        if super::host_threads::run(threads, parts, part) {
            return;
        }
        let team = team();
        if let Some(turn) = team.turn() {
            return team.run(turn, threads, parts, part);
        }
    }
    (0..parts).for_each(part);
}

/// The team of this process.
fn team() -> &'static Team {
    static TEAM: AtomicPtr<Team> = AtomicPtr::new(std::ptr::null_mut());
    let process = std::process::id();
    loop {
        let now = TEAM.load(Ordering::Acquire);
        // SAFETY: what was stored was made from a box and is never freed.
        if let Some(team) = unsafe { now.as_ref() }
            && team.process == process
        {
            return team;
        }
        let made = Box::into_raw(Box::new(Team {
            process,
            gate: AtomicU64::new(0),
            next: AtomicUsize::new(0),
            job: UnsafeCell::new(None),
            turn: Mutex::new(Vec::new()),
        }));
        if TEAM.compare_exchange(now, made, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: made here, and nobody has seen it.
            drop(unsafe { Box::from_raw(made) });
        }
    }
}

impl Team {
    fn turn(&self) -> Option<MutexGuard<'_, Vec<Member>>> {
        match self.turn.try_lock() {
            Ok(turn) => Some(turn),
            Err(TryLockError::Poisoned(e)) => Some(e.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn run(
        &'static self,
        mut members: MutexGuard<'_, Vec<Member>>,
        threads: usize,
        parts: usize,
        part: &(dyn Fn(usize) + Sync),
    ) {
        let helpers = (threads.min(parts) - 1).min(MOST);
        while members.len() < helpers {
            match self.hire() {
                Some(member) => members.push(member),
                None => break, // The system gives no more threads.
            }
        }
        // SAFETY: only the lifetime changes: nobody uses the pointer once the gate is closed and all are outside, which is before the end here.
        let part = unsafe {
            std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), *const (dyn Fn(usize) + Sync + 'static)>(part)
        };
        // SAFETY: the gate is closed and nobody is inside, since the last who had the turn waited for that.
        unsafe { *self.job.get() = Some(Job { part, parts, seats: helpers as u64 }) };
        self.next.store(0, Ordering::Relaxed);
        self.gate.fetch_add(JOB, Ordering::Relaxed);
        self.gate.fetch_or(OPEN, Ordering::SeqCst);
        let closing = Closing(&self.gate);
        for member in members.iter().take(helpers) {
            if member.sleeps.load(Ordering::SeqCst) {
                member.thread.unpark();
            }
        }
        // SAFETY: what `part` points to is borrowed until the end of this function.
        unsafe { self.work(part, parts) };
        drop(closing);
    }

    /// Does parts until there are none.
    ///
    /// # Safety
    /// `part` points to what is alive.
    unsafe fn work(&self, part: *const (dyn Fn(usize) + Sync), parts: usize) {
        loop {
            let k = self.next.fetch_add(1, Ordering::Relaxed);
            if k >= parts {
                return;
            }
            // SAFETY: as the caller says.
            unsafe { (*part)(k) };
        }
    }

    /// A new member.
    fn hire(&'static self) -> Option<Member> {
        let sleeps = Arc::new(AtomicBool::new(false));
        let flag = sleeps.clone();
        let made = std::thread::Builder::new().name("rinductor".into()).spawn(move || self.serve(&flag));
        Some(Member { thread: made.ok()?.thread().clone(), sleeps })
    }

    /// What a member does all its life.
    fn serve(&self, sleeps: &AtomicBool) {
        let mut last = 0;
        loop {
            let gate = self.wait(last, sleeps);
            // Whoever is counted in an open gate may look at the job: it stays until the count is 0 again.
            if self.gate.compare_exchange_weak(gate, gate + 1, Ordering::AcqRel, Ordering::Relaxed).is_err() {
                continue;
            }
            last = number(gate);
            // SAFETY: inside of the gate.
            if let Some(job) = unsafe { *self.job.get() }
                && (gate & INSIDE) < job.seats
            {
                // SAFETY: the caller waits until this member is outside.
                unsafe { self.work(job.part, job.parts) };
            }
            self.gate.fetch_sub(1, Ordering::Release);
        }
    }

    /// Waits for a job after the one of this number, and gives the gate as it was seen open.
    fn wait(&self, last: u64, sleeps: &AtomicBool) -> u64 {
        let fresh = |order| Some(self.gate.load(order)).filter(|&g| g & OPEN != 0 && number(g) != last);
        loop {
            let start = Instant::now();
            while start.elapsed() < PATIENCE {
                for _ in 0..32 {
                    if let Some(gate) = fresh(Ordering::Relaxed) {
                        return gate;
                    }
                    std::hint::spin_loop();
                }
            }
            sleeps.store(true, Ordering::SeqCst);
            if fresh(Ordering::SeqCst).is_none() {
                std::thread::park();
            }
            sleeps.store(false, Ordering::Relaxed);
        }
    }
}

/// Which job a gate belongs to.
fn number(gate: u64) -> u64 {
    gate & !OPEN & !INSIDE
}

/// Closes the gate at its end, and waits for who is inside.
struct Closing<'a>(&'a AtomicU64);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.fetch_and(!OPEN, Ordering::AcqRel);
        let mut turns = 0u32;
        while self.0.load(Ordering::Acquire) & INSIDE != 0 {
            turns += 1;
            if turns < 10_000 { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_runs_once() {
        for round in 0..2000usize {
            let (threads, parts) = (1 + round % 5, round % 23);
            let counts: Vec<AtomicUsize> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
            run(threads, parts, &|k| {
                counts[k].fetch_add(1, Ordering::Relaxed);
            });
            assert!(counts.iter().all(|c| c.load(Ordering::Relaxed) == 1), "{threads} threads, {parts} parts");
        }
    }

    #[test]
    fn several_callers_do_not_disturb_each_other() {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let sum = AtomicUsize::new(0);
                        run(3, 16, &|k| {
                            sum.fetch_add(k, Ordering::Relaxed);
                        });
                        assert_eq!(sum.load(Ordering::Relaxed), 120);
                    }
                });
            }
        });
    }

    #[test]
    fn others_help_with_long_parts() {
        // Held up to a second: on a busy machine a thread comes late.
        let mut helped = false;
        for _ in 0..20 {
            let me = std::thread::current().id();
            let others = AtomicUsize::new(0);
            run(2, 8, &|_| {
                if std::thread::current().id() != me {
                    others.fetch_add(1, Ordering::Relaxed);
                }
                std::thread::sleep(Duration::from_millis(5));
            });
            helped |= others.load(Ordering::Relaxed) > 0;
            if helped {
                break;
            }
        }
        assert!(helped, "nobody came");
    }
}
