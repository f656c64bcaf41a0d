//! The generator's program against a real server: what it sends, what it says, and how it ends.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it stands"
)]

mod connections;
mod endings;
mod generator;
#[path = "../harness/io_uring.rs"]
mod io_uring_here;
#[path = "../harness/process.rs"]
mod process;
mod progress;
mod queue;
mod retries;
mod sending;
#[path = "../postgres_session/server.rs"]
#[allow(
    dead_code,
    reason = "shared with the tests of sessions, which use more of it"
)]
mod server;
mod sleeping;
mod tables;
