//! What a thread asks of its allocator, so that a length that a server only claims is seen to cost nothing.

#![expect(
    unsafe_code,
    reason = "an allocator can only be given by an unsafe trait"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counting the bytes that each thread asks for.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    static ASKED_BYTES: Cell<usize> = const { Cell::new(0) };
}

fn count(bytes: usize) {
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

/// What an input of no bytes may ask for: buffers that are there from the start, and the text of an error.
const BASE_BYTES: usize = 16 << 10;

/// What each byte of an input may ask for in all: a NULL of four bytes becomes a text's place in a list that grows by
/// doubling, and a captured binary byte two digits.
const BYTES_PER_BYTE: usize = 64;

/// Runs something on an input of so many bytes, which must not ask for more memory than that is worth.
pub(crate) fn bounded<T>(input_bytes: usize, run: impl FnOnce() -> T) -> T {
    let before = ASKED_BYTES.get();
    let outcome = run();
    let asked = ASKED_BYTES.get() - before;
    assert!(
        asked <= BASE_BYTES + BYTES_PER_BYTE * input_bytes,
        "{asked} bytes asked for by an input of {input_bytes}"
    );
    outcome
}
