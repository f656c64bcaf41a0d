//! What each thread asks of its allocator: the system's, counted.

#![allow(dead_code, reason = "not every test program uses all of it")]
#![expect(
    unsafe_code,
    reason = "an allocator can only be given by an unsafe trait"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static ASKED_BYTES: Cell<usize> = const { Cell::new(0) };
}

/// How often this thread has asked for memory.
pub(crate) fn allocations() -> u64 {
    ALLOCATIONS.get()
}

/// How many bytes this thread has asked for.
pub(crate) fn asked_bytes() -> usize {
    ASKED_BYTES.get()
}

fn count(bytes: usize) {
    ALLOCATIONS.with(|count| count.set(count.get() + 1));
    ASKED_BYTES.with(|asked| asked.set(asked.get().saturating_add(bytes)));
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count(bytes);
        // SAFETY: as above.
        unsafe { System.realloc(place, layout, bytes) }
    }
}
