//! The engine allocates nothing for an operation in steady state: neither on the fake nor over sockets.
//!
//! A worker runs on the test's own thread, whose allocations are counted from one request to the next. What may
//! allocate is a tick, once a second, and an error reply, for its text.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it stands"
)]

mod counted;
#[path = "../harness/mod.rs"]
mod harness;
#[path = "../harness/io_uring.rs"]
mod io_uring_here;
#[path = "../harness/memory.rs"]
mod memory;
mod mysql;
mod server;
mod steady;
#[path = "../harness/wire.rs"]
mod wire;
