//! Whatever reads a server's bytes, or a text of the user's, takes any of them: it neither panics nor hangs, its memory
//! is bounded by what came, and where the reads cut it makes no difference.
//!
//! Each target explores for a few seconds. `BOLERO_RANDOM_TEST_TIME_MS=600000 cargo test --release --test fuzz` looks
//! further; a failure prints its input and the seed that makes it again (`BOLERO_RANDOM_SEED`).

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it stands"
)]

mod bound;
mod handshake;
#[path = "../harness/memory.rs"]
mod memory;
mod mysql;
mod reader;
mod stream;
mod text;
#[path = "../harness/wire.rs"]
mod wire;

use std::time::Duration;

/// How long each target explores when all tests run.
pub(crate) const EXPLORED: Duration = Duration::from_secs(3);
