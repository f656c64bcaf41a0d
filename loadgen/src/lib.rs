//! The load generator of dbdyno: reads a job, makes load, writes events.
//!
//! `contract/README.md` is the description of both ends. The engine (`worker`) is a state machine
//! that does not know where time and replies come from: a server over sockets, or the fake with its
//! virtual clock.

pub mod canary;
pub mod fill;
pub mod job;
pub mod session;
pub mod value;
