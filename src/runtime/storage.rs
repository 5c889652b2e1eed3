//! The memory of tensors: an aligned block of bytes that several tensors may share, with a count of who looks at it.
//!
//! Reading and writing go through guards that are counted, so that safe code can never write what is being read. Kernels
//! of machine code get the bare pointer and are answerable themselves.

use super::element::Element;
use super::error::{Result, RuntimeError};
use super::recycle::{Block, LEAST};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::any::Any;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};

/// The alignment of every storage, in bytes: a cache line, and the widest vector register.
pub const ALIGN: usize = 64;

/// A block of initialized memory.
pub struct Storage {
    ptr: NonNull<u8>,
    len: usize,
    /// Readers, or -1 for a writer.
    users: AtomicIsize,
    keeper: Keeper,
}

/// What keeps a block.
enum Keeper {
    /// The storage itself, which allocated it.
    Own,
    /// A block that is given back for others to take; None once it was.
    Recycled(Option<Block>),
    /// The storage of which it is a part.
    Whole(#[allow(dead_code, reason = "it is held, and dropped last")] Arc<Storage>),
    /// Somebody else's object.
    Foreign(#[allow(dead_code, reason = "it is held, and dropped last")] Box<dyn Any + Send + Sync>),
}

// SAFETY: the block is kept by the storage; access is counted in an atomic (or promised by callers of `as_ptr` and `foreign`).
unsafe impl Send for Storage {}
// SAFETY: as above.
unsafe impl Sync for Storage {}

impl Storage {
    /// `len` bytes of zeros. An error if the system has not that much.
    pub fn zeroed(len: usize) -> Result<Storage> {
        let no_room = || RuntimeError::tensor(format!("no memory for a buffer of {len} bytes"));
        if len == 0 {
            // An aligned address that nobody reads from.
            return Ok(Storage {
                ptr: NonNull::<AlignedByte>::dangling().cast(),
                len,
                users: AtomicIsize::new(0),
                keeper: Keeper::Own,
            });
        }
        let layout = Layout::from_size_align(len, ALIGN).map_err(|_| no_room())?;
        // SAFETY: the layout's size is not zero.
        let ptr = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(no_room)?;
        Ok(Storage { ptr, len, users: AtomicIsize::new(0), keeper: Keeper::Own })
    }

    /// `len` bytes that hold anything: memory that was used before, if there is a block that fits. An error if the system has not that much.
    pub fn recycled(len: usize) -> Result<Storage> {
        if len < LEAST {
            return Storage::zeroed(len);
        }
        let block = Block::take(len);
        let block = block.ok_or_else(|| RuntimeError::tensor(format!("no memory for a buffer of {len} bytes")))?;
        Ok(Storage { ptr: block.start(), len, users: AtomicIsize::new(0), keeper: Keeper::Recycled(Some(block)) })
    }

    /// Memory that somebody else allocated, such as an array of another library: `len` bytes from `ptr`. `owner` keeps it; it is dropped with
    /// the storage. The address need not be aligned to [`ALIGN`]; to read or write elements it must be aligned as they are.
    ///
    /// # Safety
    /// While `owner` is alive, the bytes are there and initialized, and may be read and written from any thread. Nobody else may write them
    /// while they are read through the storage, nor read or write them while they are written through it: guards count only those who use this
    /// storage. If nothing may write them, neither may a caller of this storage: kernels and extern ops write what the function's type says.
    pub unsafe fn foreign(ptr: NonNull<u8>, len: usize, owner: Box<dyn Any + Send + Sync>) -> Storage {
        Storage { ptr, len, users: AtomicIsize::new(0), keeper: Keeper::Foreign(owner) }
    }

    /// A part of a storage as one of its own, `len` bytes from byte `start`. Access to it is counted apart from that of the whole and of
    /// other parts: parts that overlap must not be in use at the same time.
    pub fn part(whole: &Arc<Storage>, start: usize, len: usize) -> Result<Storage> {
        let inside = start.checked_add(len).is_some_and(|end| end <= whole.len);
        if !inside || !start.is_multiple_of(ALIGN) {
            return Err(RuntimeError::tensor(format!(
                "no part of {len} bytes at byte {start} of a storage of {} bytes, in steps of {ALIGN}",
                whole.len
            )));
        }
        // SAFETY: within the block, which `whole` keeps.
        let ptr = unsafe { whole.ptr.add(start) };
        Ok(Storage { ptr, len, users: AtomicIsize::new(0), keeper: Keeper::Whole(whole.clone()) })
    }

    /// The size in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the size is 0.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address, for machine code. Who writes through it must know that nobody holds a guard meanwhile.
    pub fn as_ptr(&self) -> *mut u8 {
        self.ptr.as_ptr()
    }

    /// Whether this block and another have bytes in common.
    pub fn overlaps(&self, other: &Storage) -> bool {
        let (a, b) = (self.ptr.as_ptr() as usize, other.ptr.as_ptr() as usize);
        a < b.saturating_add(other.len) && b < a.saturating_add(self.len)
    }

    /// An error if the block is not aligned as these elements are.
    fn aligned<T: Element>(&self) -> Result<()> {
        if self.ptr.cast::<T>().is_aligned() {
            return Ok(());
        }
        let name = T::DTYPE;
        Err(RuntimeError::tensor(format!(
            "the memory of a tensor is not aligned as elements of {name} must be: copy it"
        )))
    }

    /// The whole block as elements, to read. An error while somebody writes.
    pub fn read<T: Element>(&self) -> Result<Reading<'_, T>> {
        self.aligned::<T>()?;
        let mut users = self.users.load(Ordering::Acquire);
        loop {
            if users < 0 {
                return Err(RuntimeError::tensor("a buffer is read while it is written"));
            }
            match self.users.compare_exchange_weak(users, users + 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break,
                Err(now) => users = now,
            }
        }
        // SAFETY: aligned, initialized, in bounds; all patterns are values; no writer until the count drops.
        let data = unsafe { std::slice::from_raw_parts(self.ptr.as_ptr().cast::<T>(), self.len / size_of::<T>()) };
        Ok(Reading { data, storage: self })
    }

    /// The whole block as elements, to write. An error while somebody reads or writes.
    pub fn write<T: Element>(&self) -> Result<Writing<'_, T>> {
        self.aligned::<T>()?;
        if self.users.compare_exchange(0, -1, Ordering::AcqRel, Ordering::Acquire).is_err() {
            return Err(RuntimeError::tensor("a buffer is written while it is read or written"));
        }
        // SAFETY: as for reading, and the count says that there is no other guard until this one is dropped.
        let data = unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr().cast::<T>(), self.len / size_of::<T>()) };
        Ok(Writing { data, storage: self })
    }
}

/// Carries the alignment of an empty storage's address.
#[repr(align(64))]
struct AlignedByte(#[allow(dead_code, reason = "only its alignment is used")] u8);

impl Drop for Storage {
    fn drop(&mut self) {
        match &mut self.keeper {
            Keeper::Own if self.len > 0 => {
                if let Ok(layout) = Layout::from_size_align(self.len, ALIGN) {
                    // SAFETY: allocated with this very layout, and dropped once.
                    unsafe { dealloc(self.ptr.as_ptr(), layout) }
                }
            }
            Keeper::Recycled(block) => {
                if let Some(block) = block.take() {
                    block.give();
                }
            }
            _ => {}
        }
    }
}

/// A storage being read.
pub struct Reading<'a, T> {
    data: &'a [T],
    storage: &'a Storage,
}

impl<T> Deref for Reading<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.data
    }
}

impl<T> Drop for Reading<'_, T> {
    fn drop(&mut self) {
        self.storage.users.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A storage being written.
pub struct Writing<'a, T> {
    data: &'a mut [T],
    storage: &'a Storage,
}

impl<T> Deref for Writing<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.data
    }
}

impl<T> DerefMut for Writing<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.data
    }
}

impl<T> Drop for Writing<'_, T> {
    fn drop(&mut self) {
        self.storage.users.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_exclude_each_other() {
        let s = Storage::zeroed(100).expect("100 bytes");
        assert_eq!(s.as_ptr() as usize % ALIGN, 0);
        {
            let a = s.read::<f32>().expect("free");
            let b = s.read::<u8>().expect("two readers");
            assert_eq!((a.len(), b.len()), (25, 100));
            assert!(s.write::<u8>().is_err());
        }
        {
            let mut w = s.write::<u8>().expect("free again");
            w[0] = 1;
            assert!(s.read::<u8>().is_err());
            assert!(s.write::<u8>().is_err());
        }
        assert_eq!(s.read::<u8>().expect("free again")[0], 1);
        assert!(Storage::zeroed(usize::MAX).is_err());
        assert_eq!(Storage::zeroed(0).expect("nothing").read::<f64>().expect("free").len(), 0);
    }
    #[test]
    fn foreign_memory_is_kept_by_its_owner() {
        struct Owner(Box<[u8; 8]>, Arc<AtomicIsize>);
        impl Drop for Owner {
            fn drop(&mut self) {
                self.1.store(1, Ordering::Release);
            }
        }
        let dropped = Arc::new(AtomicIsize::new(0));
        let mut owner = Owner(Box::new([1; 8]), dropped.clone());
        let ptr = NonNull::from(&mut *owner.0).cast::<u8>();
        // SAFETY: the owner keeps the box, which nobody else looks at.
        let s = unsafe { Storage::foreign(ptr, 8, Box::new(owner)) };
        s.write::<u8>().expect("free")[7] = 5;
        assert_eq!(s.read::<u8>().expect("free")[..], [1, 1, 1, 1, 1, 1, 1, 5]);
        assert!(s.overlaps(&s) && !s.overlaps(&Storage::zeroed(8).expect("8 bytes")));
        // SAFETY: as above; a part of it.
        let odd = unsafe { Storage::foreign(ptr.add(1), 4, Box::new(())) };
        let why = odd.read::<i64>().err().map(|e| e.to_string()).unwrap_or_default();
        assert!(why.contains("aligned") && s.overlaps(&odd) && odd.read::<u8>().is_ok(), "{why}");
        assert_eq!(dropped.load(Ordering::Acquire), 0);
        drop(s);
        assert_eq!(dropped.load(Ordering::Acquire), 1);
    }
}
