//! A broken or hostile server: whatever it does, a session and the generator end soon, with one clear line.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it stands"
)]

mod answers;
mod cancel;
mod encryption;
mod full;
mod handshake;
#[path = "../harness/io_uring.rs"]
mod io_uring_here;
mod mysql;
#[path = "../harness/process.rs"]
mod process;
mod program;
mod scram;
mod script;
mod storm;
#[path = "../harness/wire.rs"]
mod wire;
mod worker;
