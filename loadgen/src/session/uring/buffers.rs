//! Buffers that the kernel takes by itself for what it receives, from a ring that it shares with us.
//!
//! The unsafe calls rest on this. The kernel writes only to buffers that it was given, and reads only their ring. Both
//! stay until the process ends, because an io_uring is taken down some time after it has been closed.
#![expect(
    unsafe_code,
    reason = "the kernel writes to memory that it is given here"
)]

use io_uring::Submitter;
use io_uring::types::BufRingEntry;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

const PAGE_BYTES: usize = 4096;

/// Buffers and their ring.
pub struct Buffers {
    ring: NonNull<BufRingEntry>,
    memory: NonNull<u8>,
    count: u16,
    tail: u16,
}

impl Buffers {
    /// By what receives name them.
    pub const GROUP: u16 = 0;

    /// Room of each: no power of two, as the beginnings of all would share few sets of the processor's cache.
    pub const BYTES: u32 = (16 << 10) + 64;

    /// Makes so many, a power of two, and tells the kernel of them.
    ///
    /// # Errors
    /// Where the kernel refuses them.
    pub fn register(submitter: &Submitter<'_>, count: u16) -> io::Result<Self> {
        let ring = kept(usize::from(count) * size_of::<BufRingEntry>()).cast();
        let mut buffers = Self {
            ring,
            memory: kept(usize::from(count) * Self::BYTES as usize),
            count,
            tail: 0,
        };
        // SAFETY: so many entries lie there, at the beginning of a page, and stay.
        unsafe {
            submitter.register_buf_ring_with_flags(ring.as_ptr() as u64, count, Self::GROUP, 0)?;
        }
        (0..count).for_each(|buffer| buffers.give(buffer));
        Ok(buffers)
    }

    /// Where a buffer begins.
    fn begin(&self, buffer: u16) -> NonNull<u8> {
        assert!(buffer < self.count, "the kernel names no other buffer");
        // SAFETY: the buffer lies in the memory.
        unsafe { self.memory.add(usize::from(buffer) * Self::BYTES as usize) }
    }

    /// Returns what the kernel has written to a buffer that it has taken: so many bytes.
    ///
    /// # Panics
    /// Where there is no such buffer.
    #[inline]
    #[must_use]
    pub fn read(&self, buffer: u16, length: usize) -> &[u8] {
        let length = length.min(Self::BYTES as usize);
        // SAFETY: the memory is there, zeroed or written by the kernel, which writes no more before the buffer is given to
        // it again; this borrow forbids that.
        unsafe { std::slice::from_raw_parts(self.begin(buffer).as_ptr(), length) }
    }

    /// Gives the kernel a buffer.
    ///
    /// # Panics
    /// Where there is no such buffer.
    #[inline]
    pub fn give(&mut self, buffer: u16) {
        let place = usize::from(self.tail % self.count);
        let begin = self.begin(buffer).as_ptr() as u64;
        // SAFETY: the place is in the ring, and the kernel does not read it before the tail is beyond it.
        let entry = unsafe { self.ring.add(place).as_mut() };
        entry.set_addr(begin);
        entry.set_len(Self::BYTES);
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail lies in the ring's memory. The kernel reads it, this thread alone writes it.
        let tail = unsafe { &*BufRingEntry::tail(self.ring.as_ptr()).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
    }
}

/// Zeroed memory from the beginning of a page on, which stays until the process ends.
fn kept(bytes: usize) -> NonNull<u8> {
    let memory = vec![0; bytes + PAGE_BYTES].leak();
    let begin = memory.as_ptr().align_offset(PAGE_BYTES);
    NonNull::from(&mut memory[begin..]).cast()
}
