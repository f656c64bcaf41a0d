//! The null server's program, and the generator's against it: jobs of the contract, how it ends, how the generator scales.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it stands"
)]

#[path = "../harness/io_uring.rs"]
mod io_uring_here;
mod jobs;
mod mysql;
mod pauses;
#[path = "../harness/process.rs"]
mod process;
mod programs;
mod scale;
mod serving;
mod unread;
#[path = "../harness/wire.rs"]
mod wire;
