//! Blocks of memory that were given back, to be given out again: large results are made in every call, and the system clears and maps memory slowly.

use super::storage::ALIGN;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Smaller blocks are not kept: the system has them at hand.
pub const LEAST: usize = 64 << 10;

/// How many bytes are kept at most.
const MOST: usize = 128 << 20;

/// What the system aligns all memory to.
const USUAL_ALIGN: usize = 16;

/// A block that is nobody's.
pub struct Block {
    /// What the system gave.
    base: NonNull<u8>,
    /// How many bytes it gave: those of the block, and some to align it.
    size: usize,
}

// SAFETY: a block is owned by whoever has it.
unsafe impl Send for Block {}
// SAFETY: nothing can be done with a shared one but to ask for its address.
unsafe impl Sync for Block {}

static FREE: Mutex<Vec<Block>> = Mutex::new(Vec::new());

impl Block {
    /// A block of at least `len` bytes, which hold anything. None if the system has not that much.
    pub fn take(len: usize) -> Option<Block> {
        if let Some(mut free) = free() {
            // One that is not much too large, so that a small result does not keep a large block.
            let fits = |b: &Block| b.len() >= len && b.len() <= len + len / 4;
            let best = (0..free.len()).filter(|&k| fits(&free[k])).min_by_key(|&k| free[k].len());
            if let Some(k) = best {
                return Some(free.swap_remove(k));
            }
        }
        let size = len.checked_add(ALIGN)?;
        let layout = Layout::from_size_align(size, USUAL_ALIGN).ok()?;
        // SAFETY: the layout's size is not zero. Asked for zeros of the usual alignment, the system gives pages that are not touched yet.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Block { base, size })
    }

    /// Gives it back.
    pub fn give(self) {
        let Some(mut free) = free() else { return self.end() };
        free.push(self);
        let mut kept: usize = free.iter().map(|b| b.size).sum();
        // The oldest are let go of first.
        let mut gone = Vec::new();
        while kept > MOST && !free.is_empty() {
            let block = free.remove(0);
            kept -= block.size;
            gone.push(block);
        }
        drop(free);
        gone.into_iter().for_each(Block::end);
    }

    /// The address, aligned to [`ALIGN`].
    pub fn start(&self) -> NonNull<u8> {
        let skip = self.base.as_ptr().align_offset(ALIGN);
        // SAFETY: less than `ALIGN`, by which the block is larger than asked for.
        unsafe { self.base.add(skip) }
    }

    /// How many bytes there are from the aligned address on.
    fn len(&self) -> usize {
        self.size - ALIGN
    }

    fn end(self) {
        if let Ok(layout) = Layout::from_size_align(self.size, USUAL_ALIGN) {
            // SAFETY: allocated with this very layout, and given back once.
            unsafe { dealloc(self.base.as_ptr(), layout) }
        }
    }
}

/// The list, unless somebody else has it: in a process that was forked that may be a thread that is not there.
fn free() -> Option<MutexGuard<'static, Vec<Block>>> {
    match FREE.try_lock() {
        Ok(list) => Some(list),
        Err(TryLockError::Poisoned(e)) => Some(PoisonError::into_inner(e)),
        Err(TryLockError::WouldBlock) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_aligned_and_given_out_again() {
        // A size that no other test asks for.
        let len = 3_333_333;
        let block = Block::take(len).expect("a few megabytes");
        let start = block.start();
        assert!((start.as_ptr() as usize).is_multiple_of(ALIGN) && block.len() >= len);
        block.give();
        let again = Block::take(len).expect("a few megabytes");
        assert_eq!(again.start(), start);
        let other = Block::take(len).expect("a few megabytes");
        assert_ne!(other.start(), start);
        again.give();
        other.give();
        assert!(Block::take(usize::MAX).is_none());
    }
}
