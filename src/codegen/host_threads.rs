//! The threads of a host program that runs OpenMP loops, as torch does: kernels are run by the same threads. Two teams would take each other's cores, since
//! both look out for work for a while after each loop.
//!
//! `GOMP_parallel` is what GCC's OpenMP runtime starts a parallel region with, and LLVM's has it too under that name: it calls a function on every thread of
//! a team, the caller's among them, and returns when all have returned.

use std::ffi::{c_uint, c_void};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

type Region = unsafe extern "C" fn(*mut c_void);
type Parallel = unsafe extern "C" fn(Region, *mut c_void, c_uint, c_uint);

/// `GOMP_parallel` of this process, or 0.
static PARALLEL: AtomicUsize = AtomicUsize::new(0);
/// The process in which it was found: a forked one has none of the threads.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Kernels are run by the threads of the OpenMP runtime of this process from now on; false if it has none. A process that was forked from one where this was
/// asked for keeps a team of its own: in it the runtime waits for threads that are not there.
pub fn use_openmp() -> bool {
    let process = std::process::id();
    if PROCESS.load(Ordering::Relaxed) != 0 {
        return PROCESS.load(Ordering::Relaxed) == process && PARALLEL.load(Ordering::Relaxed) != 0;
    }
    #[cfg(unix)]
    {
        // SAFETY: looks up a name in the libraries that the process has loaded.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"GOMP_parallel".as_ptr()) };
        PROCESS.store(process, Ordering::Relaxed);
        PARALLEL.store(found as usize, Ordering::Release);
        !found.is_null()
    }
    #[cfg(not(unix))]
    false
}

/// Parts of a kernel that threads take one after the other.
struct Parts<'a> {
    part: &'a (dyn Fn(usize) + Sync),
    count: usize,
    next: AtomicUsize,
}

/// What each thread of the team does.
unsafe extern "C" fn take_parts(parts: *mut c_void) {
    // SAFETY: `run` hands over parts that live until all threads have returned.
    let parts = unsafe { &*parts.cast::<Parts<'_>>() };
    loop {
        let k = parts.next.fetch_add(1, Ordering::Relaxed);
        if k >= parts.count {
            return;
        }
        (parts.part)(k);
    }
}

/// Runs `part` for each of `0..count` on the host's threads; false where there are none, and nothing was run.
pub(super) fn run(threads: usize, count: usize, part: &(dyn Fn(usize) + Sync)) -> bool {
    let found = PARALLEL.load(Ordering::Acquire);
    if found == 0 || PROCESS.load(Ordering::Relaxed) != std::process::id() {
        return false;
    }
    // SAFETY: the address is that of `GOMP_parallel`, whose type this is.
    let parallel = unsafe { std::mem::transmute::<usize, Parallel>(found) };
    let parts = Parts { part, count, next: AtomicUsize::new(0) };
    let threads = c_uint::try_from(threads.min(count)).unwrap_or(1);
    // SAFETY: the region returns on all threads before the call does, so that `parts` outlives it; `part` may be called by several threads.
    unsafe { parallel(take_parts, (&raw const parts).cast_mut().cast(), threads, 0) };
    true
}
