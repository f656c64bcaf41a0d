//! The load generator of dbdyno: reads a job, makes load, writes events.
//!
//! `contract/README.md` is the description of both ends. The engine (`worker`) is a state machine
//! that does not know where time and replies come from: a server over sockets, or the fake with its
//! virtual clock.

pub mod canary;
#[cfg(test)]
mod chi_squared;
pub mod clock;
pub mod counter;
pub mod draw;
pub mod event;
pub mod expression;
pub mod fill;
pub mod job;
pub mod layout;
pub mod message;
pub mod null;
pub mod pace;
pub mod program;
pub mod record;
pub mod run;
pub mod samples;
pub mod session;
pub mod shared;
pub mod statement;
pub mod text;
pub mod timeline;
pub mod transaction_log;
pub mod value;
pub mod wire;
pub mod worker;
pub mod writer;
