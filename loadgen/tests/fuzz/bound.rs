//! A bound on the memory that an input may cost, so that a length that a server only claims is seen to cost nothing.

use crate::memory::asked_bytes;

/// What an input of no bytes may ask for: buffers that are there from the start, and the text of an error.
const BASE_BYTES: usize = 16 << 10;

/// What each byte of an input may ask for in all: a NULL of four bytes becomes a text's place in a list that grows by
/// doubling, and a captured binary byte two digits.
const BYTES_PER_BYTE: usize = 64;

/// Runs something on an input of so many bytes, which must not ask for more memory than that is worth.
pub(crate) fn bounded<T>(input_bytes: usize, run: impl FnOnce() -> T) -> T {
    let before = asked_bytes();
    let outcome = run();
    let asked = asked_bytes() - before;
    assert!(
        asked <= BASE_BYTES + BYTES_PER_BYTE * input_bytes,
        "{asked} bytes asked for by an input of {input_bytes}"
    );
    outcome
}
